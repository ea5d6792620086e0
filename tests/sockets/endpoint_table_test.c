/* SPDX-License-Identifier: MIT */
/* The grammar of endpoints as a table: each row bound and connected by its text alone,
 * with the error and the reason it gets. Then the same through a socket, whose
 * sennit_loop_why() has to say it. */
#include "net.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "core/endpoint.h"
#include "suite.h"

typedef struct want {
    sennit_err err;
    const char *why; /* a part of it; NULL when it succeeds */
} want;

typedef struct row {
    const char *name;
    const char *text;
    want bind;
    want connect;
} row;

#define GOOD                                                                             \
    {                                                                                    \
        SENNIT_OK, NULL                                                                  \
    }
#define BAD(why)                                                                         \
    {                                                                                    \
        SENNIT_EINVAL, why                                                               \
    }
#define ABSENT(why)                                                                      \
    {                                                                                    \
        SENNIT_ENOTSUP, why                                                              \
    }
#define LONG(why)                                                                        \
    {                                                                                    \
        SENNIT_ENAMETOOLONG, why                                                         \
    }

#define X10  "xxxxxxxxxx"
#define X50  X10 X10 X10 X10 X10
#define X100 X50 X50
#define X250 X100 X100 X50

static const row rows[] = {
    /* Transports. */
    { "nothing", "", BAD("does not begin"), BAD("does not begin") },
    { "a transport alone", "tcp", BAD("does not begin"), BAD("does not begin") },
    { "an address alone", "127.0.0.1:5555", BAD("does not begin"),
      BAD("does not begin") },
    { "a foreign scheme", "http://127.0.0.1:80", BAD("does not begin"),
      BAD("does not begin") },
    { "capitals", "TCP://127.0.0.1:5555", BAD("does not begin"), BAD("does not begin") },
    { "a blank in front", " tcp://127.0.0.1:5555", BAD("does not begin"),
      BAD("does not begin") },
    { "udp", "udp://127.0.0.1:5555", ABSENT("udp is not"), ABSENT("udp is not") },
    { "ws", "ws://127.0.0.1:5555/", ABSENT("ws is not"), ABSENT("ws is not") },
    { "wss", "wss://127.0.0.1:5555/", ABSENT("wss is not"), ABSENT("wss is not") },
    { "tipc", "tipc://{1,0,0}", ABSENT("tipc is not"), ABSENT("tipc is not") },
    { "pgm", "pgm://eth0;239.1.1.1:5555", ABSENT("pgm is not"), ABSENT("pgm is not") },
    { "epgm", "epgm://eth0;239.1.1.1:5555", ABSENT("epgm is not"),
      ABSENT("epgm is not") },
    { "norm", "norm://239.1.1.1:5555", ABSENT("norm is not"), ABSENT("norm is not") },
    { "vmci", "vmci://1:5555", ABSENT("vmci is not"), ABSENT("vmci is not") },
    { "vsock", "vsock://1:5555", ABSENT("vsock is not"), ABSENT("vsock is not") },

    /* Ports. */
    { "tcp without anything", "tcp://", BAD("no :PORT"), BAD("no :PORT") },
    { "no port", "tcp://127.0.0.1", BAD("no :PORT"), BAD("no :PORT") },
    { "an empty port", "tcp://127.0.0.1:", BAD("number up to 65535"),
      BAD("number up to 65535") },
    { "the largest port", "tcp://127.0.0.1:65535", GOOD, GOOD },
    { "a port too large", "tcp://127.0.0.1:65536", BAD("number up to 65535"),
      BAD("number up to 65535") },
    { "a port that wraps", "tcp://127.0.0.1:4294967376", BAD("number up to 65535"),
      BAD("number up to 65535") },
    { "a negative port", "tcp://127.0.0.1:-1", BAD("number up to 65535"),
      BAD("number up to 65535") },
    { "a port with a sign", "tcp://127.0.0.1:+80", BAD("number up to 65535"),
      BAD("number up to 65535") },
    { "a port in hex", "tcp://127.0.0.1:0x50", BAD("number up to 65535"),
      BAD("number up to 65535") },
    { "a port with a blank", "tcp://127.0.0.1: 80", BAD("number up to 65535"),
      BAD("number up to 65535") },
    { "a port with letters behind", "tcp://127.0.0.1:80x", BAD("number up to 65535"),
      BAD("number up to 65535") },
    { "a port with zeros in front", "tcp://127.0.0.1:00080", GOOD, GOOD },
    { "a service's name", "tcp://127.0.0.1:http", BAD("number up to 65535"),
      BAD("number up to 65535") },
    { "port 0", "tcp://127.0.0.1:0", GOOD, BAD("0 is no port") },
    { "port *", "tcp://127.0.0.1:*", GOOD, BAD("`*` is no port") },
    { "port **", "tcp://127.0.0.1:**", BAD("number up to 65535"),
      BAD("number up to 65535") },

    /* IPv4. */
    { "IPv4", "tcp://127.0.0.1:5555", GOOD, GOOD },
    { "every address", "tcp://*:5555", GOOD, BAD("`*` is no host") },
    { "every address and port", "tcp://*:*", GOOD, BAD("`*` is no host") },
    { "every address in numbers", "tcp://0.0.0.0:5555", GOOD, GOOD },
    { "an octet too large", "tcp://127.0.0.256:5555", BAD("not an IPv4"),
      BAD("not an IPv4") },
    { "three octets", "tcp://127.0.1:5555", BAD("not an IPv4"), BAD("not an IPv4") },
    { "five octets", "tcp://1.2.3.4.5:5555", BAD("not an IPv4"), BAD("not an IPv4") },
    { "one number", "tcp://2130706433:5555", BAD("not an IPv4"), BAD("not an IPv4") },
    { "IPv4 in brackets", "tcp://[127.0.0.1]:5555", BAD("not an IPv6"),
      BAD("not an IPv6") },
    { "no host", "tcp://:5555", BAD("no host"), BAD("no host") },
    { "a blank for a host", "tcp:// :5555", BAD("character"), BAD("character") },
    { "a blank behind the host", "tcp://127.0.0.1 :5555", BAD("character"),
      BAD("character") },

    /* IPv6. */
    { "IPv6", "tcp://[::1]:5555", GOOD, GOOD },
    { "IPv6 at length", "tcp://[1234:5678:9abc:def0:0fed:cba9:8765:4321]:5555", GOOD,
      GOOD },
    { "IPv6 with capitals", "tcp://[FE80::ABCD]:5555", GOOD, GOOD },
    { "IPv6 with IPv4 inside", "tcp://[::ffff:127.0.0.1]:5555", GOOD, GOOD },
    { "IPv6 without brackets", "tcp://::1:5555", GOOD, GOOD },
    { "IPv6 and no port", "tcp://[::1]", BAD("brackets"), BAD("brackets") },
    { "IPv6 that is not closed", "tcp://[::1:5555", BAD("brackets"), BAD("brackets") },
    { "IPv6 that is not opened", "tcp://::1]:5555", BAD("not an IPv6"),
      BAD("not an IPv6") },
    { "empty brackets", "tcp://[]:5555", BAD("brackets"), BAD("brackets") },
    { "two pairs of brackets", "tcp://[[::1]]:5555", BAD("not an IPv6"),
      BAD("not an IPv6") },
    { "nonsense in brackets", "tcp://[nonsense]:5555", BAD("not an IPv6"),
      BAD("not an IPv6") },
    { "a star in brackets", "tcp://[*]:5555", BAD("not an IPv6"), BAD("not an IPv6") },
    { "two double colons", "tcp://[1::2::3]:5555", BAD("not an IPv6"),
      BAD("not an IPv6") },
    { "a group too large", "tcp://[12345::]:5555", BAD("not an IPv6"),
      BAD("not an IPv6") },
    { "a zone by name", "tcp://[fe80::1%eth0]:5555", GOOD, GOOD },
    { "a zone by number", "tcp://[fe80::1%3]:5555", GOOD, GOOD },
    { "a zone of an alias", "tcp://[fe80::1%eth0.1]:5555", GOOD, GOOD },
    { "an empty zone", "tcp://[fe80::1%]:5555", BAD("no zone"), BAD("no zone") },
    { "zone 0", "tcp://[fe80::1%0]:5555", BAD("zone is not the number"),
      BAD("zone is not the number") },
    { "a zone too large", "tcp://[fe80::1%2147483648]:5555",
      BAD("zone is not the number"), BAD("zone is not the number") },
    { "a zone that only begins as a number", "tcp://[fe80::1%3x]:5555",
      BAD("zone is not the number"), BAD("zone is not the number") },
    { "a zone too long", "tcp://[fe80::1%abcdefghijklmnop]:5555", BAD("zone is longer"),
      BAD("zone is longer") },
    { "a zone with a blank", "tcp://[fe80::1%e th]:5555", BAD("zone is not the name"),
      BAD("zone is not the name") },

    /* Names; whether there is such a host or interface is found out elsewhere. */
    { "localhost", "tcp://localhost:5555", GOOD, GOOD },
    { "a name", "tcp://example.org:5555", GOOD, GOOD },
    { "a name that ends in a dot", "tcp://example.org.:5555", GOOD, GOOD },
    { "a name with a hyphen and an underscore", "tcp://a-b_c.example:5555", GOOD, GOOD },
    { "a name that begins with digits", "tcp://3com:5555", GOOD, GOOD },
    { "a name of 253 octets", "tcp://" X250 "xyz:5555", GOOD, GOOD },
    { "a name of 254 octets", "tcp://" X250 "xxyz:5555", LONG("253"), LONG("253") },
    { "a name with a blank", "tcp://in val.id:5555", BAD("character"), BAD("character") },
    { "a name with a slash", "tcp://example.org/x:5555", BAD("character"),
      BAD("character") },
    { "a name with a percent sign", "tcp://example.org%1:5555", BAD("character"),
      BAD("character") },
    { "a name with an at", "tcp://me@example.org:5555", BAD("character"),
      BAD("character") },
    { "a name beyond ASCII", "tcp://caf\xc3\xa9:5555", BAD("character"),
      BAD("character") },
    { "an endpoint that is too long", "tcp://" X250 X250 ":5555", LONG("too long"),
      LONG("too long") },

    /* Sources. */
    { "a source", "tcp://127.0.0.1;127.0.0.1:5555", BAD("only a connect"), GOOD },
    { "a source and its port", "tcp://127.0.0.1:1234;127.0.0.1:5555",
      BAD("only a connect"), GOOD },
    { "a source that chooses its port", "tcp://127.0.0.1:*;127.0.0.1:5555",
      BAD("only a connect"), GOOD },
    { "a source with port 0", "tcp://127.0.0.1:0;localhost:1234", BAD("only a connect"),
      GOOD },
    { "localhost as the source", "tcp://localhost:5555;localhost:1235",
      BAD("only a connect"), GOOD },
    { "an interface as the source", "tcp://lo:5555;localhost:1235", BAD("only a connect"),
      GOOD },
    { "an interface alone as the source", "tcp://lo;example.org:1235",
      BAD("only a connect"), GOOD },
    { "any source", "tcp://*:0;127.0.0.1:5555", BAD("only a connect"), GOOD },
    { "an IPv6 source", "tcp://[::1];[::1]:5555", BAD("only a connect"), GOOD },
    { "an IPv6 source and its port", "tcp://[::1]:1234;[::1]:5555", BAD("only a connect"),
      GOOD },
    { "an empty source", "tcp://;127.0.0.1:5555", BAD("only a connect"),
      BAD("no source") },
    { "two sources", "tcp://127.0.0.1;127.0.0.1;127.0.0.1:5555", BAD("only a connect"),
      BAD("character") },
    { "a source and nothing else", "tcp://127.0.0.1:0;", BAD("only a connect"),
      BAD("no :PORT") },
    { "a source with a port too large", "tcp://127.0.0.1:65536;127.0.0.1:5555",
      BAD("only a connect"), BAD("number up to 65535") },

    /* ipc and inproc. */
    { "ipc without a path", "ipc://", BAD("no path"), BAD("no path") },
    { "a path", "ipc:///run/s", GOOD, GOOD },
    { "a relative path", "ipc://s", GOOD, GOOD },
    { "a path with everything in it", "ipc:///a b:c;d*\xc3\xa9", GOOD, GOOD },
    { "a fresh path", "ipc://*", GOOD, BAD("`*` is no path") },
    { "a path of 107 octets", "ipc:///" X100 "xxxxxx", GOOD, GOOD },
    { "a path of 108 octets", "ipc:///" X100 "xxxxxxx", LONG("107"), LONG("107") },
    { "an abstract name", "ipc://@name", GOOD, GOOD },
    { "an empty abstract name", "ipc://@", BAD("no path"), BAD("no path") },
    { "an abstract name of 106 octets", "ipc://@" X100 "xxxxxx", GOOD, GOOD },
    { "an abstract name of 107 octets", "ipc://@" X100 "xxxxxxx", LONG("107"),
      LONG("107") },
    { "inproc without a name", "inproc://", BAD("no name"), BAD("no name") },
    { "inproc", "inproc://a b:*", GOOD, GOOD },
    { "an inproc name of 255 octets", "inproc://" X250 "xxxxx", GOOD, GOOD },
    { "an inproc name of 256 octets", "inproc://" X250 "xxxxxx", LONG("255"),
      LONG("255") },
};

static void
check(const row *r, bool listening)
{
    const want *wanted = listening ? &r->bind : &r->connect;
    const char *why = NULL;
    sni_endpoint out;
    sni_endpoint before;
    sennit_err err;

    memset(&out, 0x5a, sizeof out);
    memcpy(&before, &out, sizeof out);
    err = sni_endpoint_parse(r->text, listening, &out, &why);
    if (err != wanted->err)
        fail_msg("%s: %s instead of %s (%s)", listening ? "bind" : "connect",
                 sennit_err_name(err), sennit_err_name(wanted->err), why);
    if (err == SENNIT_OK) {
        assert_null(why);
        return;
    }
    assert_memory_equal(&out, &before, sizeof out);
    assert_non_null(why);
    if (strstr(why, wanted->why) == NULL)
        fail_msg("%s: \"%s\" does not say \"%s\"", listening ? "bind" : "connect", why,
                 wanted->why);
}

static void
check_row(void **state)
{
    check(*state, true);
    check(*state, false);
}

/* Every text that is not taken is not taken by a socket either, which says why. */
static void
a_socket_says_what_was_wrong_with_the_endpoint(void **state)
{
    net n;
    sennit_sock *sock;

    (void)state;
    net_open(&n);
    sock = net_sock(&n, SENNIT_ROUTER, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const row *r = &rows[i];
        sennit_event event;

        if (r->bind.err != SENNIT_OK) {
            assert_int_equal(sennit_sock_bind(sock, r->text), r->bind.err);
            assert_non_null(strstr(sennit_loop_why(n.loop), r->bind.why));
            assert_true(net_has_event(sock, SENNIT_EVENT_BIND_FAILED, &event));
            assert_int_equal(event.err, r->bind.err);
            assert_non_null(strstr(event.reason, r->bind.why));
            assert_memory_equal(event.endpoint, r->text, strnlen(r->text, 111));
        }
        if (r->connect.err != SENNIT_OK) {
            assert_int_equal(sennit_sock_connect(sock, r->text), r->connect.err);
            assert_non_null(strstr(sennit_loop_why(n.loop), r->connect.why));
        }
    }
    assert_int_equal(sennit_sock_bind(sock, NULL), SENNIT_EINVAL);
    assert_string_equal(sennit_loop_why(n.loop), "the endpoint is NULL");
    assert_int_equal(sennit_sock_connect(sock, NULL), SENNIT_EINVAL);
    assert_int_equal(sennit_sock_unbind(sock, NULL), SENNIT_EINVAL);
    assert_int_equal(sennit_sock_disconnect(sock, NULL), SENNIT_EINVAL);
    net_close(&n);
}

/* ---- what comes out ---------------------------------------------------- */

static sni_endpoint
parsed(const char *text, bool listening)
{
    const char *why = NULL;
    sni_endpoint out;

    if (sni_endpoint_parse(text, listening, &out, &why) != SENNIT_OK)
        fail_msg("%s: %s", text, why);
    return out;
}

static void
addresses_are_what_the_text_says(void **state)
{
    static const uint8_t v4[4] = { 192, 0, 2, 33 };
    static const uint8_t v6[16] = { 0x20, 0x01, 0x0d, 0xb8, [15] = 9 };
    sni_endpoint at;

    (void)state;
    at = parsed("tcp://192.0.2.33:5555", false);
    assert_int_equal(at.host.address.kind, SNI_ADDRESS_TCP4);
    assert_memory_equal(at.host.address.ip, v4, 4);
    assert_int_equal(at.host.address.port, 5555);
    assert_true(at.host.known);
    assert_false(at.has_source);
    at = parsed("tcp://[2001:db8::9%7]:1", false);
    assert_int_equal(at.host.address.kind, SNI_ADDRESS_TCP6);
    assert_memory_equal(at.host.address.ip, v6, 16);
    assert_int_equal(at.host.address.scope, 7);
    assert_string_equal(at.host.zone, "");
    at = parsed("tcp://[2001:db8::9%eth7]:1", false);
    assert_int_equal(at.host.address.scope, 0);
    assert_string_equal(at.host.zone, "eth7");
    at = parsed("tcp://some.host:80", false);
    assert_false(at.host.known);
    assert_string_equal(at.host.name, "some.host");
    assert_int_equal(at.host.address.port, 80);
    at = parsed("tcp://localhost:80", false);
    assert_true(at.host.known);
    assert_string_equal(at.host.name, "localhost");
    at = parsed("tcp://*:*", true);
    assert_true(at.host.any);
    assert_int_equal(at.host.address.port, 0);
    at = parsed("tcp://eth0:77;[::1]:80", false);
    assert_true(at.has_source);
    assert_string_equal(at.source.name, "eth0");
    assert_int_equal(at.source.address.port, 77);
    assert_int_equal(at.host.address.kind, SNI_ADDRESS_TCP6);
    at = parsed("ipc://@x", true);
    assert_true(at.host.address.abstract);
    assert_string_equal(at.host.address.path, "x");
    at = parsed("inproc://x", true);
    assert_int_equal(at.kind, SNI_ENDPOINT_INPROC);
    assert_string_equal(at.name, "x");
}

static void
addresses_are_written_as_they_are_read(void **state)
{
    static const char *const texts[] = { "tcp://127.0.0.1:5555", "tcp://[::1]:1",
                                         "tcp://[fe80::1%3]:65535", "ipc:///run/s",
                                         "ipc://@name" };
    char text[SNI_ENDPOINT_TEXT_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        sni_endpoint at = parsed(texts[i], false);

        sni_address_text(&at.host.address, text);
        assert_string_equal(text, texts[i]);
    }
}

static void
a_proxy_is_a_host_and_a_port(void **state)
{
    static const char *const bad[] = { "",       "proxy",    "proxy:",  ":1080",
                                       "*:1080", "proxy:0",  "proxy:*", "pro xy:1080",
                                       "a;b:80", "proxy:1x", "[::1]" };
    sni_host host;
    const char *why;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(sni_endpoint_parse_proxy(bad[i], &host, &why), SENNIT_EINVAL);
    assert_int_equal(sni_endpoint_parse_proxy("proxy.example:1080", &host, &why),
                     SENNIT_OK);
    assert_string_equal(host.name, "proxy.example");
    assert_int_equal(host.address.port, 1080);
    assert_int_equal(sni_endpoint_parse_proxy("[::1]:1080", &host, &why), SENNIT_OK);
    assert_true(host.known);
}

int
main(void)
{
    static const struct CMUnitTest fixed[] = {
        cmocka_unit_test(a_socket_says_what_was_wrong_with_the_endpoint),
        cmocka_unit_test(addresses_are_what_the_text_says),
        cmocka_unit_test(addresses_are_written_as_they_are_read),
        cmocka_unit_test(a_proxy_is_a_host_and_a_port),
    };
    static test_suite suite;

    TEST_SUITE_ROWS(&suite, "", rows, check_row);
    TEST_SUITE_ADD(&suite, fixed);
    return test_suite_run(&suite);
}
