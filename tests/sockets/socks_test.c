/* SPDX-License-Identifier: MIT */
/* SOCKS5: the state machine against rows of octets, cut at every octet, and whole
 * connects through a proxy that says what the test has written down for it. */
#include "net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/socks.h"
#include "suite.h"

#define BYTES(text) text, sizeof(text) - 1

/* ---- octets ------------------------------------------------------------ */

typedef struct row {
    const char *name;
    const char *user; /* NULL: without an account */
    const char *host; /* "": 127.0.0.1 */
    const char *heard;
    size_t heard_size;
    const char *said; /* all of it, in order */
    size_t said_size;
    sni_socks_state state;
    sennit_err err;
    const char *reason;
} row;

#define METHODS "\x05\x01\x00"
#define BOTH    "\x05\x02\x00\x02"
#define ACCOUNT "\x01\x03joe\x06secret"
#define TO_HOST "\x05\x01\x00\x03\x09host.test\x15\xb3"
#define TO_V4   "\x05\x01\x00\x01\x7f\x00\x00\x01\x15\xb3"
#define BOUND4  "\x00\x01\x7f\x00\x00\x01\x00\x50"

static const row rows[] = {
    { "a host is sent unresolved", NULL, "host.test", BYTES("\x05\x00\x05\x00" BOUND4),
      BYTES(METHODS TO_HOST), SNI_SOCKS_DONE, SENNIT_OK, "" },
    { "an address is sent as one", NULL, "", BYTES("\x05\x00\x05\x00" BOUND4),
      BYTES(METHODS TO_V4), SNI_SOCKS_DONE, SENNIT_OK, "" },
    { "an answer with an IPv6 address", NULL, "",
      BYTES("\x05\x00\x05\x00\x00\x04"
            "0123456789abcdef"
            "\x00\x50"),
      BYTES(METHODS TO_V4), SNI_SOCKS_DONE, SENNIT_OK, "" },
    { "an answer with a name", NULL, "",
      BYTES("\x05\x00\x05\x00\x00\x03\x04name\x00\x50"), BYTES(METHODS TO_V4),
      SNI_SOCKS_DONE, SENNIT_OK, "" },
    { "an answer with an empty name", NULL, "",
      BYTES("\x05\x00\x05\x00\x00\x03\x00\x00\x50"), BYTES(METHODS TO_V4), SNI_SOCKS_DONE,
      SENNIT_OK, "" },
    { "an account that is asked for", "joe", "host.test",
      BYTES("\x05\x02\x01\x00\x05\x00" BOUND4), BYTES(BOTH ACCOUNT TO_HOST),
      SNI_SOCKS_DONE, SENNIT_OK, "" },
    { "an account that is not asked for", "joe", "host.test",
      BYTES("\x05\x00\x05\x00" BOUND4), BYTES(BOTH TO_HOST), SNI_SOCKS_DONE, SENNIT_OK,
      "" },
    { "an account that is refused", "joe", "host.test", BYTES("\x05\x02\x01\x01"),
      BYTES(BOTH ACCOUNT), SNI_SOCKS_BROKEN, SENNIT_EACCES,
      "the proxy refused socks_username" },
    { "an account's answer of another version", "joe", "host.test",
      BYTES("\x05\x02\x05\x00"), BYTES(BOTH ACCOUNT), SNI_SOCKS_BROKEN, SENNIT_EPROTO,
      "the proxy's answer to the account is none" },
    { "no method without an account", NULL, "", BYTES("\x05\xff"), BYTES(METHODS),
      SNI_SOCKS_BROKEN, SENNIT_EACCES, "the proxy wants an account: socks_username" },
    { "no method in spite of an account", "joe", "", BYTES("\x05\xff"), BYTES(BOTH),
      SNI_SOCKS_BROKEN, SENNIT_EACCES, "the proxy accepts no method we have" },
    { "a method that was not offered", NULL, "", BYTES("\x05\x02"), BYTES(METHODS),
      SNI_SOCKS_BROKEN, SENNIT_EPROTO, "the proxy chose a method it was not offered" },
    { "SOCKS4", NULL, "", BYTES("\x04\x5a"), BYTES(METHODS), SNI_SOCKS_BROKEN,
      SENNIT_EPROTO, "the proxy does not speak SOCKS5" },
    { "HTTP", NULL, "", BYTES("HT"), BYTES(METHODS), SNI_SOCKS_BROKEN, SENNIT_EPROTO,
      "the proxy does not speak SOCKS5" },
    { "a reply of another version", NULL, "", BYTES("\x05\x00\x04\x00\x00\x01\x7f"),
      BYTES(METHODS TO_V4), SNI_SOCKS_BROKEN, SENNIT_EPROTO,
      "the proxy's reply is not of SOCKS5" },
    { "a reply with an address of no kind", NULL, "",
      BYTES("\x05\x00\x05\x00\x00\x02\x7f"), BYTES(METHODS TO_V4), SNI_SOCKS_BROKEN,
      SENNIT_EPROTO, "the proxy's reply has an address of no kind" },
#define REPLY(code, err, reason)                                                         \
    {                                                                                    \
        reason, NULL, "", BYTES("\x05\x00\x05" code "\x00\x01\x00"),                     \
            BYTES(METHODS TO_V4), SNI_SOCKS_BROKEN, err, reason                          \
    }
    REPLY("\x01", SENNIT_EIO, "the proxy failed"),
    REPLY("\x02", SENNIT_EACCES, "the proxy's rules do not allow this connection"),
    REPLY("\x03", SENNIT_EHOSTUNREACH, "the proxy cannot reach the network"),
    REPLY("\x04", SENNIT_EHOSTUNREACH, "the proxy cannot reach the host"),
    REPLY("\x05", SENNIT_ECONNREFUSED, "the host refused the proxy's connection"),
    REPLY("\x06", SENNIT_ETIMEDOUT, "the host is too far from the proxy (TTL)"),
    REPLY("\x07", SENNIT_ENOTSUP, "the proxy does not do CONNECT"),
    REPLY("\x08", SENNIT_ENOTSUP, "the proxy does not do addresses of this kind"),
    REPLY("\x09", SENNIT_EPROTO, "the proxy's reply code is none of SOCKS5"),
    REPLY("\xff", SENNIT_EPROTO, "the proxy's reply code is none of SOCKS5"),
};

static void
open_row(sni_socks *socks, const row *r)
{
    static const sni_address address = { .kind = SNI_ADDRESS_TCP4,
                                         .ip = { 127, 0, 0, 1 },
                                         .port = 5555 };

    sni_socks_open(socks, r->host, &address, r->user, r->user != NULL ? "secret" : NULL);
}

/* Writes at most `step` octets at a time. */
static size_t
drain(sni_socks *socks, uint8_t *said, size_t said_size, size_t step)
{
    sennit_bytes out;

    while ((out = sni_socks_output(socks)).size > 0) {
        size_t size = out.size < step ? out.size : step;

        assert_int_equal(sni_socks_wanted(socks), 0);
        memcpy(said + said_size, out.data, size);
        said_size += size;
        sni_socks_wrote(socks, size);
    }
    return said_size;
}

/* The same whatever the cuts are, and never a word more is wanted than the proxy owes. */
static void
run_row(const row *r, size_t step)
{
    uint8_t said[1024];
    sni_socks socks;
    size_t said_size = 0;
    size_t heard = 0;
    sennit_err err = SENNIT_OK;

    open_row(&socks, r);
    for (;;) {
        size_t size;

        said_size = drain(&socks, said, said_size, step);
        size = sni_socks_wanted(&socks);
        if (size == 0)
            break;
        if (size > step)
            size = step;
        assert_true(size <= r->heard_size - heard);
        err = sni_socks_feed(&socks,
                             (sennit_bytes){ (const uint8_t *)r->heard + heard, size });
        heard += size;
    }
    assert_int_equal(heard, r->heard_size);
    assert_int_equal(said_size, r->said_size);
    assert_memory_equal(said, r->said, r->said_size);
    assert_int_equal(socks.state, r->state);
    assert_int_equal(err, r->err);
    assert_string_equal(socks.reason, r->reason);
}

static void
check_row(void **state)
{
    const row *r = *state;

    for (size_t step = 1; step <= r->heard_size + 1; step++)
        run_row(r, step);
}

/* Wherever it hangs up. */
static void
a_proxy_that_closes_breaks_the_connect(void **state)
{
    const row *r = &rows[5];

    (void)state;
    for (size_t cut = 0; cut < r->heard_size; cut++) {
        uint8_t said[1024];
        sni_socks socks;
        size_t heard = 0;

        open_row(&socks, r);
        while (heard < cut) {
            (void)drain(&socks, said, 0, sizeof said);
            assert_int_equal(
                sni_socks_feed(&socks,
                               (sennit_bytes){ (const uint8_t *)r->heard + heard, 1 }),
                SENNIT_OK);
            heard++;
        }
        (void)drain(&socks, said, 0, sizeof said);
        assert_int_equal(sni_socks_feed(&socks, (sennit_bytes){ NULL, 0 }),
                         SENNIT_ECONNRESET);
        assert_string_equal(socks.reason, "the proxy closed the connection");
        assert_int_equal(sni_socks_wanted(&socks), 0);
        assert_int_equal(sni_socks_output(&socks).size, 0);
    }
}

static void
names_and_accounts_may_be_as_long_as_they_can_be(void **state)
{
    static const sni_address address = { .port = 1 };
    char longest[256];
    uint8_t said[1024];
    sni_socks socks;

    (void)state;
    memset(longest, 'x', 255);
    longest[255] = '\0';
    sni_socks_open(&socks, longest, &address, longest, longest);
    assert_int_equal(drain(&socks, said, 0, 7), 4);
    assert_int_equal(
        sni_socks_feed(&socks, (sennit_bytes){ (const uint8_t *)"\x05\x02", 2 }),
        SENNIT_OK);
    assert_int_equal(drain(&socks, said, 0, 7), 513);
    assert_int_equal(said[1], 255);
    assert_int_equal(said[257], 255);
    assert_int_equal(
        sni_socks_feed(&socks, (sennit_bytes){ (const uint8_t *)"\x01\x00", 2 }),
        SENNIT_OK);
    assert_int_equal(drain(&socks, said, 0, 7), 4 + 1 + 255 + 2);
}

/* ---- whole connects ---------------------------------------------------- */

/* A proxy in the test's thread: what it reads is compared, what it says is written down;
 * then octets pass both ways. */
typedef struct proxy {
    int listener;
    char endpoint[64];
    int client;
    int server;
    size_t skip; /* octets of the client that are for the proxy */
} proxy;

static void
proxy_open(proxy *p)
{
    p->listener = raw_listen(p->endpoint);
    p->client = p->server = -1;
    p->skip = 0;
}

static void
proxy_close(proxy *p)
{
    if (p->client >= 0)
        close(p->client);
    if (p->server >= 0)
        close(p->server);
    close(p->listener);
}

static void
expect(net *n, proxy *p, const char *wanted, size_t size)
{
    uint8_t heard[1024];

    raw_read(n, p->client, heard, size);
    assert_memory_equal(heard, wanted, size);
}

static bool
pass(int from, int to)
{
    uint8_t data[4096];
    ssize_t size = recv(from, data, sizeof data, MSG_DONTWAIT);

    return size > 0 && send(to, data, (size_t)size, MSG_NOSIGNAL) == size;
}

static void
relay(proxy *p)
{
    while (pass(p->client, p->server) || pass(p->server, p->client))
        continue;
}

static sennit_sock_opts
proxied(const proxy *p)
{
    sennit_sock_opts opts = net_opts();

    opts.socks_proxy = p->endpoint + 6;
    return opts;
}

/* Through the proxy, octet by octet; the server's greeting comes right behind its
 * reply. */
static void
through_a_proxy(const char *host, const char *request, size_t request_size,
                const char *user)
{
    static const char reply[] = "\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00";
    net n;
    proxy p;
    sennit_sock_opts opts;
    sennit_sock *pull;
    sennit_sock *push;
    char endpoint[64];

    proxy_open(&p);
    net_open(&n);
    opts = proxied(&p);
    opts.socks_username = user;
    opts.socks_password = user != NULL ? "secret" : NULL;
    pull = net_sock(&n, SENNIT_PULL, NULL);
    net_bind(pull, TCP);
    push = net_sock(&n, SENNIT_PUSH, &opts);
    snprintf(endpoint, sizeof endpoint, "tcp://%s:5555", host);
    net_connect(push, endpoint);
    net_send(push, "waits");
    p.client = raw_accept(&n, p.listener);
    if (user != NULL) {
        expect(&n, &p, BYTES(BOTH));
        raw_write(&n, p.client, "\x05\x02", 2);
        expect(&n, &p, BYTES(ACCOUNT));
        raw_write(&n, p.client, "\x01\x00", 2);
    } else {
        expect(&n, &p, BYTES(METHODS));
        raw_write(&n, p.client, "\x05", 1);
        assert_int_equal(sennit_loop_turn(n.loop, 1), SENNIT_OK);
        raw_write(&n, p.client, "\x00", 1);
    }
    expect(&n, &p, request, request_size);
    for (size_t i = 0; i + 2 < sizeof reply; i++) {
        raw_write(&n, p.client, reply + i, 1);
        for (int k = 0; k < 3; k++)
            assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
        assert_int_equal(net_stats(push).connections, 0);
    }
    /* The last octet of the reply and the first of the peer come together. */
    p.server = raw_connect(sennit_sock_last_endpoint(pull));
    {
        uint8_t data[256] = { 0 };
        ssize_t size = -1;
        sennit_time started = sennit_loop_now(n.loop);

        while ((size = recv(p.server, data + 1, sizeof data - 1, MSG_DONTWAIT)) < 0)
            net_turn(&n, started, "the server's greeting");
        raw_write(&n, p.client, data, (size_t)size + 1);
    }
    NET_UNTIL(&n, (relay(&p),
                   net_stats(push).connections == 1 && net_stats(pull).connections == 1));
    NET_UNTIL(&n, (relay(&p), sennit_sock_ready(pull) & SENNIT_READABLE));
    assert_string_equal(net_recv(pull), "waits");
    proxy_close(&p);
    net_close(&n);
}

static void
a_connect_goes_through_the_proxy(void **state)
{
    (void)state;
    through_a_proxy("127.0.0.1", BYTES(TO_V4), NULL);
}

static void
the_proxy_looks_the_host_up(void **state)
{
    (void)state;
    through_a_proxy("host.test", BYTES(TO_HOST), NULL);
}

static void
the_proxy_gets_the_account(void **state)
{
    (void)state;
    through_a_proxy("host.test", BYTES(TO_HOST), "joe");
}

static void
localhost_is_the_proxy_s(void **state)
{
    (void)state;
    through_a_proxy("localhost", BYTES("\x05\x01\x00\x03\x09localhost\x15\xb3"), NULL);
}

static void
an_ipv6_address_is_sent_as_one(void **state)
{
    (void)state;
    through_a_proxy("[2001:db8::1]",
                    BYTES("\x05\x01\x00\x04\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01"
                          "\x15\xb3"),
                    NULL);
}

static void
a_source_address_is_the_connection_s_to_the_proxy(void **state)
{
    net n;
    proxy p;
    sennit_sock_opts opts;
    sennit_sock *push;
    sennit_event event;

    (void)state;
    proxy_open(&p);
    net_open(&n);
    opts = proxied(&p);
    push = net_sock(&n, SENNIT_PUSH, &opts);
    net_connect(push, "tcp://127.0.0.9;host.test:5555");
    p.client = raw_accept(&n, p.listener);
    {
        struct sockaddr_in from;
        socklen_t size = sizeof from;

        assert_int_equal(getpeername(p.client, (struct sockaddr *)&from, &size), 0);
        assert_int_equal(ntohl(from.sin_addr.s_addr), 0x7f000009);
    }
    event = net_event(&n, push, SENNIT_EVENT_CONNECTING);
    assert_string_equal(event.address, p.endpoint + 6);
    proxy_close(&p);
    net_close(&n);
}

/* Every row that breaks: the connect goes on trying, with the reason. */
static void
what_a_proxy_says_wrongly_only_fails_the_attempt(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const row *r = &rows[i];
        net n;
        proxy p;
        sennit_sock_opts opts;
        sennit_sock *push;
        sennit_event event;

        if (r->state != SNI_SOCKS_BROKEN || r->user != NULL)
            continue;
        proxy_open(&p);
        net_open(&n);
        opts = proxied(&p);
        push = net_sock(&n, SENNIT_PUSH, &opts);
        net_connect(push, "tcp://127.0.0.1:5555");
        p.client = raw_accept(&n, p.listener);
        raw_write(&n, p.client, r->heard, r->heard_size);
        event = net_event(&n, push, SENNIT_EVENT_CONNECT_FAILED);
        assert_int_equal(event.err, r->err);
        assert_string_equal(event.reason, r->reason);
        raw_until_closed(&n, p.client);
        close(p.client);
        net_event(&n, push, SENNIT_EVENT_RETRYING);
        p.client = raw_accept(&n, p.listener);
        proxy_close(&p);
        net_close(&n);
    }
}

static sennit_err
twice_here(void *arg, const char *host, bool ipv6, sennit_ip found[SENNIT_RESOLVED_MAX],
           size_t *found_count)
{
    (void)arg;
    (void)host;
    (void)ipv6;
    for (size_t i = 0; i < 2; i++)
        found[i] = (sennit_ip){ .octets = { 127, 0, 0, 1 } };
    *found_count = 2;
    return SENNIT_OK;
}

static void
a_proxy_that_fails_at_one_address_is_tried_at_the_next(void **state)
{
    sennit_loop_opts loop_opts = SENNIT_LOOP_OPTS_DEFAULT;
    net n;
    proxy p;
    sennit_sock_opts opts;
    sennit_sock *push;
    sennit_event event;
    char named[64];

    (void)state;
    proxy_open(&p);
    test_alloc_init(&n.alloc);
    loop_opts.allocator = &n.alloc.allocator;
    loop_opts.resolver.resolve = twice_here;
    assert_int_equal(sennit_loop_open(&n.loop, &loop_opts), SENNIT_OK);
    opts = proxied(&p);
    snprintf(named, sizeof named, "proxy.test%s", strrchr(p.endpoint, ':'));
    opts.socks_proxy = named;
    push = net_sock(&n, SENNIT_PUSH, &opts);
    net_connect(push, "tcp://127.0.0.1:5555");
    for (int i = 0; i < 2; i++) {
        p.client = raw_accept(&n, p.listener);
        raw_write(&n, p.client, "HT", 2);
        event = net_event(&n, push, SENNIT_EVENT_CONNECT_FAILED);
        assert_string_equal(event.reason, "the proxy does not speak SOCKS5");
        raw_until_closed(&n, p.client);
        close(p.client);
    }
    net_event(&n, push, SENNIT_EVENT_RETRYING);
    p.client = raw_accept(&n, p.listener);
    proxy_close(&p);
    net_close(&n);
}

static void
a_proxy_that_is_silent_is_left_after_the_connect_timeout(void **state)
{
    net n;
    proxy p;
    sennit_sock_opts opts;
    sennit_sock *push;
    sennit_event event;

    (void)state;
    proxy_open(&p);
    net_open(&n);
    opts = proxied(&p);
    opts.connect_timeout_ms = 50;
    push = net_sock(&n, SENNIT_PUSH, &opts);
    net_connect(push, "tcp://127.0.0.1:5555");
    p.client = raw_accept(&n, p.listener);
    expect(&n, &p, BYTES(METHODS));
    raw_write(&n, p.client, "\x05", 1);
    event = net_event(&n, push, SENNIT_EVENT_CONNECT_FAILED);
    assert_int_equal(event.err, SENNIT_ETIMEDOUT);
    raw_until_closed(&n, p.client);
    proxy_close(&p);
    net_close(&n);
}

/* Without connect_timeout_ms there is a time for the handshake, which is not begun. */
static void
a_proxy_that_is_silent_is_left_after_the_handshake_timeout(void **state)
{
    net n;
    proxy p;
    sennit_sock_opts opts;
    sennit_sock *push;
    sennit_event event;

    (void)state;
    proxy_open(&p);
    net_open(&n);
    opts = proxied(&p);
    opts.connect_timeout_ms = 0;
    opts.handshake_timeout_ms = 50;
    push = net_sock(&n, SENNIT_PUSH, &opts);
    net_connect(push, "tcp://127.0.0.1:5555");
    p.client = raw_accept(&n, p.listener);
    expect(&n, &p, BYTES(METHODS));
    event = net_event(&n, push, SENNIT_EVENT_CONNECT_FAILED);
    assert_int_equal(event.err, SENNIT_ETIMEDOUT);
    assert_string_equal(event.reason,
                        "the proxy did not connect within handshake_timeout_ms");
    raw_until_closed(&n, p.client);
    close(p.client);
    net_event(&n, push, SENNIT_EVENT_RETRYING);
    p.client = raw_accept(&n, p.listener);
    proxy_close(&p);
    net_close(&n);
}

static void
a_socket_closes_in_the_middle_of_speaking_to_a_proxy(void **state)
{
    net n;
    proxy p;
    sennit_sock_opts opts;
    sennit_sock *push;

    (void)state;
    proxy_open(&p);
    net_open(&n);
    opts = proxied(&p);
    push = net_sock(&n, SENNIT_PUSH, &opts);
    net_connect(push, "tcp://127.0.0.1:5555");
    p.client = raw_accept(&n, p.listener);
    expect(&n, &p, BYTES(METHODS));
    sennit_sock_close(push);
    raw_until_closed(&n, p.client);
    net_close(&n);
    proxy_close(&p);
}

static void
ipc_and_inproc_go_past_the_proxy(void **state)
{
    static const transport vias[] = { IPC, INPROC };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        net n;
        proxy p;
        sennit_sock_opts opts;
        sennit_sock *pull;
        sennit_sock *push;

        proxy_open(&p);
        net_open(&n);
        opts = proxied(&p);
        pull = net_sock(&n, SENNIT_PULL, NULL);
        push = net_sock(&n, SENNIT_PUSH, &opts);
        net_join(&n, pull, push, vias[i]);
        assert_int_equal(accept(p.listener, NULL, NULL), -1);
        assert_int_equal(errno, EAGAIN);
        proxy_close(&p);
        net_close(&n);
    }
}

static bool
is_closed(int fd)
{
    uint8_t octet;
    ssize_t size = recv(fd, &octet, 1, MSG_DONTWAIT | MSG_PEEK);

    return size == 0 || (size < 0 && errno != EAGAIN);
}

/* A proxy that takes everybody there, as often as they come. */
typedef struct busy_proxy {
    proxy p;
    const char *server;
} busy_proxy;

static void
serve(busy_proxy *b)
{
    static const uint8_t answers[] = "\x05\x00\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00";
    proxy *p = &b->p;
    int client = accept4(p->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (client >= 0) {
        if (p->client >= 0)
            close(p->client);
        if (p->server >= 0)
            close(p->server);
        p->client = client;
        p->server = raw_connect(b->server);
        assert_int_equal(send(client, answers, sizeof answers - 1, MSG_NOSIGNAL),
                         sizeof answers - 1);
        p->skip = sizeof METHODS - 1 + sizeof TO_HOST - 1;
    }
    if (p->client < 0)
        return;
    /* One end that closes closes the other. */
    if (is_closed(p->client) || is_closed(p->server)) {
        close(p->client);
        close(p->server);
        p->client = p->server = -1;
        return;
    }
    while (p->skip > 0) {
        uint8_t sink[64];
        ssize_t size = recv(p->client, sink, p->skip < 64 ? p->skip : 64, MSG_DONTWAIT);

        if (size <= 0)
            return;
        p->skip -= (size_t)size;
    }
    relay(p);
}

static void
connect_through(test_alloc *alloc, void *arg)
{
    sennit_loop_opts loop_opts = SENNIT_LOOP_OPTS_DEFAULT;
    sennit_sock_opts opts;
    sennit_sock *pull = NULL;
    sennit_sock *push = NULL;
    busy_proxy b;
    sennit_err err;
    net n;

    (void)arg;
    proxy_open(&b.p);
    opts = proxied(&b.p);
    loop_opts.allocator = &alloc->allocator;
    err = sennit_loop_open(&n.loop, &loop_opts);
    if (err == SENNIT_OK) {
        sennit_sock_opts plain = net_opts();

        err = sennit_sock_open(&pull, n.loop, SENNIT_PULL, &plain);
        if (err == SENNIT_OK)
            err = sennit_sock_open(&push, n.loop, SENNIT_PUSH, &opts);
        if (err == SENNIT_OK)
            err = sennit_sock_bind(pull, "tcp://127.0.0.1:*");
        if (err == SENNIT_OK)
            err = sennit_sock_connect(push, "tcp://host.test:5555");
        if (err == SENNIT_OK) {
            b.server = sennit_sock_last_endpoint(pull);
            NET_UNTIL(&n, (serve(&b), net_stats(push).connections == 1 &&
                                          net_stats(pull).connections == 1));
        }
        sennit_loop_close(n.loop);
    }
    assert_true(err == SENNIT_OK || err == SENNIT_ENOMEM);
    proxy_close(&b.p);
}

static void
a_connect_through_a_proxy_survives_every_failed_allocation(void **state)
{
    (void)state;
    assert_true(test_alloc_every_failure(connect_through, NULL) > 10);
}

int
main(void)
{
    static const struct CMUnitTest fixed[] = {
        cmocka_unit_test(a_proxy_that_closes_breaks_the_connect),
        cmocka_unit_test(names_and_accounts_may_be_as_long_as_they_can_be),
        cmocka_unit_test(a_connect_goes_through_the_proxy),
        cmocka_unit_test(the_proxy_looks_the_host_up),
        cmocka_unit_test(the_proxy_gets_the_account),
        cmocka_unit_test(localhost_is_the_proxy_s),
        cmocka_unit_test(an_ipv6_address_is_sent_as_one),
        cmocka_unit_test(a_source_address_is_the_connection_s_to_the_proxy),
        cmocka_unit_test(what_a_proxy_says_wrongly_only_fails_the_attempt),
        cmocka_unit_test(a_proxy_that_fails_at_one_address_is_tried_at_the_next),
        cmocka_unit_test(a_proxy_that_is_silent_is_left_after_the_connect_timeout),
        cmocka_unit_test(a_proxy_that_is_silent_is_left_after_the_handshake_timeout),
        cmocka_unit_test(a_socket_closes_in_the_middle_of_speaking_to_a_proxy),
        cmocka_unit_test(ipc_and_inproc_go_past_the_proxy),
        cmocka_unit_test(a_connect_through_a_proxy_survives_every_failed_allocation),
    };
    static test_suite suite;

    TEST_SUITE_ROWS(&suite, "", rows, check_row);
    TEST_SUITE_ADD(&suite, fixed);
    return test_suite_run(&suite);
}
