/* SPDX-License-Identifier: MIT */
/* Options of the kernel, seen where they have to be: the library's descriptors are this
 * process's, so the test asks the kernel for theirs. And who is let in. */
#include "net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/filter.h"
#include "suite.h"

static net n;

/* ---- the library's descriptors ----------------------------------------- */

typedef struct ends {
    struct sockaddr_in6 local; /* big enough for both families */
    struct sockaddr_in6 peer;
    socklen_t size;
} ends;

static bool
read_ends(int fd, ends *out)
{
    socklen_t peer_size = sizeof out->peer;

    memset(out, 0, sizeof *out);
    out->size = sizeof out->local;
    return getsockname(fd, (struct sockaddr *)&out->local, &out->size) == 0 &&
           getpeername(fd, (struct sockaddr *)&out->peer, &peer_size) == 0;
}

/* The descriptor at the other end of `raw`. */
static int
other_end(int raw)
{
    ends ours;
    ends theirs;

    assert_true(read_ends(raw, &ours));
    for (int fd = 3; fd < 1024; fd++) {
        if (fd != raw && read_ends(fd, &theirs) &&
            memcmp(&ours.local, &theirs.peer, ours.size) == 0 &&
            memcmp(&ours.peer, &theirs.local, ours.size) == 0)
            return fd;
    }
    fail_msg("no descriptor at the other end");
    return -1;
}

static int
listening_at(const char *endpoint)
{
    unsigned port = (unsigned)atoi(strrchr(endpoint, ':') + 1);

    for (int fd = 3; fd < 1024; fd++) {
        struct sockaddr_in6 local;
        socklen_t size = sizeof local;
        int listening = 0;
        socklen_t int_size = sizeof listening;

        if (getsockname(fd, (struct sockaddr *)&local, &size) == 0 &&
            ntohs(local.sin6_port) == port &&
            getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &int_size) == 0 &&
            listening)
            return fd;
    }
    fail_msg("nobody listens at %s", endpoint);
    return -1;
}

static int
option_of(int fd, int level, int name)
{
    int value = -1;
    socklen_t size = sizeof value;

    assert_int_equal(getsockopt(fd, level, name, &value, &size), 0);
    return value;
}

/* ---- each option, on each path ----------------------------------------- */

typedef struct row {
    const char *name;
    size_t field; /* an int of sennit_sock_opts */
    int value;
    bool alive; /* with tcp_keepalive */
    bool only6;
    int level;
    int option;
    int expected;
} row;

#define FIELD(field) offsetof(sennit_sock_opts, field)

static const row rows[] = {
    { "tcp_keepalive on", FIELD(tcp_keepalive), 1, false, false, SOL_SOCKET, SO_KEEPALIVE,
      1 },
    { "tcp_keepalive off", FIELD(tcp_keepalive), 0, false, false, SOL_SOCKET,
      SO_KEEPALIVE, 0 },
    { "tcp_keepalive_count", FIELD(tcp_keepalive_count), 7, true, false, IPPROTO_TCP,
      TCP_KEEPCNT, 7 },
    { "tcp_keepalive_idle_s", FIELD(tcp_keepalive_idle_s), 77, true, false, IPPROTO_TCP,
      TCP_KEEPIDLE, 77 },
    { "tcp_keepalive_interval_s", FIELD(tcp_keepalive_interval_s), 8, true, false,
      IPPROTO_TCP, TCP_KEEPINTVL, 8 },
    { "tcp_user_timeout_ms", FIELD(tcp_user_timeout_ms), 12345, false, false, IPPROTO_TCP,
      TCP_USER_TIMEOUT, 12345 },
    { "tos", FIELD(tos), 0x28, false, false, IPPROTO_IP, IP_TOS, 0x28 },
    { "tos over IPv6", FIELD(tos), 0x28, false, true, IPPROTO_IPV6, IPV6_TCLASS, 0x28 },
    { "priority", FIELD(priority), 5, false, false, SOL_SOCKET, SO_PRIORITY, 5 },
    { "busy_poll_us", FIELD(busy_poll_us), 50, false, false, SOL_SOCKET, SO_BUSY_POLL,
      50 },
    /* The kernel doubles it for its own use. */
    { "kernel_send_bytes", FIELD(kernel_send_bytes), 20000, false, false, SOL_SOCKET,
      SO_SNDBUF, 40000 },
    { "kernel_recv_bytes", FIELD(kernel_recv_bytes), 20000, false, false, SOL_SOCKET,
      SO_RCVBUF, 40000 },
    { "TCP_NODELAY, whatever is set", FIELD(tcp_keepalive), 1, false, false, IPPROTO_TCP,
      TCP_NODELAY, 1 },
};

static sennit_sock_opts
opts_of(const row *r)
{
    sennit_sock_opts opts = net_opts();

    memcpy((char *)&opts + r->field, &r->value, sizeof r->value);
    if (r->alive)
        opts.tcp_keepalive = 1;
    return opts;
}

static void
check_option(const row *r, int fd, const char *where)
{
    int value = option_of(fd, r->level, r->option);

    if (value != r->expected)
        fail_msg("%s of what is %s: %d instead of %d", r->name, where, value,
                 r->expected);
}

static int
raw_connect6(const char *endpoint)
{
    struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
                                .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

    in6.sin6_port = htons((uint16_t)atoi(strrchr(endpoint, ':') + 1));
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&in6, sizeof in6), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    return fd;
}

static int
raw_listen6(char endpoint[64])
{
    struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
                                .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    socklen_t size = sizeof in6;
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&in6, sizeof in6), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&in6, &size), 0);
    snprintf(endpoint, 64, "tcp://[::1]:%u", ntohs(in6.sin6_port));
    return fd;
}

/* Machines without IPv6 have the rows over IPv4 only. */
static bool
has_ipv6(void)
{
    struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
                                .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool has = fd >= 0 && bind(fd, (struct sockaddr *)&in6, sizeof in6) == 0;

    if (fd >= 0)
        close(fd);
    return has;
}

static void
check_bound(const row *r, bool v6)
{
    sennit_sock_opts opts = opts_of(r);
    sennit_sock *pull = net_sock(&n, SENNIT_PULL, &opts);
    sennit_event event;
    int raw;

    assert_int_equal(sennit_sock_bind(pull, v6 ? "tcp://[::1]:*" : "tcp://127.0.0.1:*"),
                     SENNIT_OK);
    check_option(r, listening_at(sennit_sock_last_endpoint(pull)), "listening");
    raw = v6 ? raw_connect6(sennit_sock_last_endpoint(pull))
             : raw_connect(sennit_sock_last_endpoint(pull));
    event = net_event(&n, pull, SENNIT_EVENT_ACCEPTED);
    assert_int_equal(event.err, SENNIT_OK);
    check_option(r, other_end(raw), "accepted");
    close(raw);
    sennit_sock_close(pull);
}

static void
check_connected(const row *r, bool v6)
{
    sennit_sock_opts opts = opts_of(r);
    sennit_sock *push = net_sock(&n, SENNIT_PUSH, &opts);
    char endpoint[64];
    int listener = v6 ? raw_listen6(endpoint) : raw_listen(endpoint);

    net_connect(push, endpoint);
    /* And again after a loss: reconnecting is the same path. */
    for (int i = 0; i < 2; i++) {
        int raw = raw_accept(&n, listener);

        check_option(r, other_end(raw), i == 0 ? "connected" : "connected again");
        close(raw);
    }
    sennit_sock_close(push);
    close(listener);
}

static void
check_row(void **state)
{
    const row *r = *state;

    net_open(&n);
    if (!r->only6) {
        check_bound(r, false);
        check_connected(r, false);
    }
    if (has_ipv6()) {
        check_bound(r, true);
        check_connected(r, true);
    }
    net_close(&n);
}

static void
what_is_not_asked_for_is_left_to_the_system(void **state)
{
    int fresh = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sennit_sock *push;
    char endpoint[64];
    int listener;
    int raw;

    (void)state;
    net_open(&n);
    listener = raw_listen(endpoint);
    push = net_sock(&n, SENNIT_PUSH, NULL);
    net_connect(push, endpoint);
    raw = raw_accept(&n, listener);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const row *r = &rows[i];

        /* Buffers are tuned by the kernel once there is a connection. */
        if (r->only6 || r->option == TCP_NODELAY || r->option == SO_SNDBUF ||
            r->option == SO_RCVBUF)
            continue;
        assert_int_equal(option_of(other_end(raw), r->level, r->option),
                         option_of(fresh, r->level, r->option));
    }
    close(fresh);
    close(raw);
    close(listener);
    net_close(&n);
}

static void
every_stream_is_without_delay(void **state)
{
    sennit_sock *pull;
    sennit_sock *push;
    unsigned seen = 0;

    (void)state;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    push = net_sock(&n, SENNIT_PUSH, NULL);
    for (int i = 0; i < 3; i++)
        net_join(&n, pull, push, TCP);
    for (int fd = 3; fd < 256; fd++) {
        ends both;

        if (read_ends(fd, &both)) {
            assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_NODELAY), 1);
            seen++;
        }
    }
    assert_int_equal(seen, 6);
    net_close(&n);
}

/* Who connected again, and what an XPUB accepted from an XSUB: no path forgets it. */
static void
R37_a_reconnect_is_without_delay_too(void **state)
{
    sennit_sock *xpub;
    sennit_sock *xsub;
    char endpoint[64];
    int listener = raw_listen(endpoint);

    (void)state;
    net_open(&n);
    xsub = net_sock(&n, SENNIT_XSUB, NULL);
    net_connect(xsub, endpoint);
    for (int i = 0; i < 3; i++) {
        int raw = raw_accept(&n, listener);

        raw_handshake(&n, raw, "XPUB", NULL);
        NET_UNTIL(&n, net_stats(xsub).connections == 1);
        assert_int_equal(option_of(other_end(raw), IPPROTO_TCP, TCP_NODELAY), 1);
        close(raw);
        NET_UNTIL(&n, net_stats(xsub).connections == 0);
    }
    xpub = net_sock(&n, SENNIT_XPUB, NULL);
    for (int i = 0; i < 3; i++) {
        int raw = raw_connect(net_bind(xpub, TCP));

        raw_handshake(&n, raw, "XSUB", NULL);
        NET_UNTIL(&n, net_stats(xpub).connections == 1);
        assert_int_equal(option_of(other_end(raw), IPPROTO_TCP, TCP_NODELAY), 1);
        close(raw);
        NET_UNTIL(&n, net_stats(xpub).connections == 0);
    }
    close(listener);
    net_close(&n);
}

static void
a_changed_option_counts_for_the_next_connection(void **state)
{
    sennit_sock *pull;
    sennit_sock_opts opts;
    int first;
    int second;

    (void)state;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    net_bind(pull, TCP);
    first = raw_connect(sennit_sock_last_endpoint(pull));
    net_event(&n, pull, SENNIT_EVENT_ACCEPTED);
    sennit_sock_get_opts(pull, &opts);
    opts.tos = 0x10;
    assert_int_equal(sennit_sock_set_opts(pull, &opts), SENNIT_OK);
    second = raw_connect(sennit_sock_last_endpoint(pull));
    net_event(&n, pull, SENNIT_EVENT_ACCEPTED);
    assert_int_equal(option_of(other_end(first), IPPROTO_IP, IP_TOS), 0);
    assert_int_equal(option_of(other_end(second), IPPROTO_IP, IP_TOS), 0x10);
    close(first);
    close(second);
    net_close(&n);
}

static void
the_backlog_is_the_kernel_s(void **state)
{
    sennit_sock_opts opts = net_opts();
    struct tcp_info info;
    socklen_t size = sizeof info;
    sennit_sock *pull;

    (void)state;
    opts.backlog = 17;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, &opts);
    net_bind(pull, TCP);
    assert_int_equal(getsockopt(listening_at(sennit_sock_last_endpoint(pull)),
                                IPPROTO_TCP, TCP_INFO, &info, &size),
                     0);
    /* Of a listener this is the longest queue it may have. */
    assert_int_equal(info.tcpi_sacked, 17);
    net_close(&n);
}

static void
a_device_is_bound_to(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *pull;
    sennit_sock *push;
    char device[16];
    socklen_t size = sizeof device;

    (void)state;
    opts.bind_device = "lo";
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, &opts);
    push = net_sock(&n, SENNIT_PUSH, &opts);
    net_join(&n, pull, push, TCP);
    assert_int_equal(getsockopt(listening_at(sennit_sock_last_endpoint(pull)), SOL_SOCKET,
                                SO_BINDTODEVICE, device, &size),
                     0);
    assert_string_equal(device, "lo");
    for (int fd = 3, seen = 0; seen < 2; fd++) {
        ends both;

        assert_true(fd < 256);
        if (!read_ends(fd, &both))
            continue;
        seen++;
        size = sizeof device;
        assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, &size), 0);
        assert_string_equal(device, "lo");
    }
    net_close(&n);
}

/* Whoever binds must have asked for it, the first one too. */
static void
an_endpoint_is_shared_by_those_that_all_reuse_the_port(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *pulls[2];
    sennit_sock *alone;
    sennit_sock *push;
    char endpoint[64];

    (void)state;
    net_open(&n);
    alone = net_sock(&n, SENNIT_PULL, NULL);
    opts.tcp_reuse_port = true;
    for (int i = 0; i < 2; i++)
        pulls[i] = net_sock(&n, SENNIT_PULL, &opts);
    snprintf(endpoint, sizeof endpoint, "%s", net_bind(pulls[0], TCP));
    assert_int_equal(option_of(listening_at(endpoint), SOL_SOCKET, SO_REUSEPORT), 1);
    assert_int_equal(sennit_sock_bind(alone, endpoint), SENNIT_EADDRINUSE);
    assert_int_equal(sennit_sock_bind(pulls[1], endpoint), SENNIT_OK);
    assert_string_equal(sennit_sock_last_endpoint(pulls[1]), endpoint);
    push = net_sock(&n, SENNIT_PUSH, NULL);
    for (int i = 0; i < 2; i++) {
        net_connect(push, endpoint);
        NET_UNTIL(&n, net_stats(push).connections == 1);
        /* Whichever it got: the other one has it when that has gone. */
        assert_int_equal(
            net_stats(pulls[0]).connections + net_stats(pulls[1]).connections, 1);
        net_send(push, "hello");
        NET_UNTIL(&n, (sennit_sock_ready(pulls[0]) | sennit_sock_ready(pulls[1])) &
                          SENNIT_READABLE);
        assert_int_equal(
            sennit_sock_unbind(pulls[net_stats(pulls[1]).connections], endpoint),
            SENNIT_OK);
        assert_int_equal(sennit_sock_disconnect(push, endpoint), SENNIT_OK);
        NET_UNTIL(&n, net_stats(push).connections == 0);
        for (int k = 0; k < 2; k++)
            (void)net_recv_flags(pulls[k], SENNIT_DONTWAIT);
    }
    net_close(&n);
    net_open(&n);
    alone = net_sock(&n, SENNIT_PULL, NULL);
    snprintf(endpoint, sizeof endpoint, "%s", net_bind(alone, TCP));
    pulls[0] = net_sock(&n, SENNIT_PULL, &opts);
    assert_int_equal(sennit_sock_bind(pulls[0], endpoint), SENNIT_EADDRINUSE);
    /* A path is nothing that is shared. */
    assert_int_equal(sennit_sock_bind(pulls[0], "ipc://*"), SENNIT_OK);
    assert_int_equal(sennit_sock_bind(alone, sennit_sock_last_endpoint(pulls[0])),
                     SENNIT_EADDRINUSE);
    net_close(&n);
}

/* What was asked for and cannot be had is an error that names it. */
static void
an_option_that_is_refused_is_named(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *pull;
    sennit_sock *push;
    sennit_event event;

    (void)state;
    opts.bind_device = "nosuchdev0";
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, &opts);
    assert_int_equal(sennit_sock_bind(pull, "tcp://127.0.0.1:*"), SENNIT_ENODEV);
    assert_string_equal(sennit_loop_why(n.loop), "bind_device was refused by the system");
    event = net_event(&n, pull, SENNIT_EVENT_BIND_FAILED);
    assert_string_equal(event.reason, "bind_device was refused by the system");
    push = net_sock(&n, SENNIT_PUSH, &opts);
    net_connect(push, "tcp://127.0.0.1:9");
    event = net_event(&n, push, SENNIT_EVENT_CONNECT_FAILED);
    assert_int_equal(event.err, SENNIT_ENODEV);
    assert_string_equal(event.reason, "bind_device was refused by the system");
    /* It is tried again: devices come and go. */
    net_event(&n, push, SENNIT_EVENT_RETRYING);
    /* Over ipc there is no device. */
    assert_int_equal(sennit_sock_bind(pull, "ipc://*"), SENNIT_OK);
    net_close(&n);
}

/* Linux takes at most 32767 seconds and 127 probes. */
static void
a_number_that_is_refused_is_named(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *pull;
    sennit_err err;

    (void)state;
    opts.tcp_keepalive = 1;
    opts.tcp_keepalive_idle_s = 40000;
    net_open(&n);
    err = sennit_sock_open(&pull, n.loop, SENNIT_PULL, &opts);
    if (err == SENNIT_OK)
        err = sennit_sock_bind(pull, "tcp://127.0.0.1:*");
    assert_int_equal(err, SENNIT_EINVAL);
    assert_memory_equal(sennit_loop_why(n.loop), "tcp_keepalive_idle_s", 20);
    net_close(&n);
}

/* The same for what is asked for after the bind, and must be set on each connection. */
static void
an_accepted_connection_without_its_options_is_no_connection(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *pull;
    sennit_event event;
    int raw;

    (void)state;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    net_bind(pull, TCP);
    opts.tcp_keepalive = 1;
    opts.tcp_keepalive_idle_s = 40000;
    assert_int_equal(sennit_sock_set_opts(pull, &opts), SENNIT_OK);
    raw = raw_connect(sennit_sock_last_endpoint(pull));
    event = net_event(&n, pull, SENNIT_EVENT_ACCEPT_FAILED);
    assert_int_equal(event.err, SENNIT_EINVAL);
    assert_string_equal(event.reason, "tcp_keepalive_idle_s was refused by the system");
    raw_until_closed(&n, raw);
    close(raw);
    opts.tcp_keepalive_idle_s = 4000;
    assert_int_equal(sennit_sock_set_opts(pull, &opts), SENNIT_OK);
    raw = raw_connect(sennit_sock_last_endpoint(pull));
    raw_handshake(&n, raw, "PUSH", NULL);
    NET_UNTIL(&n, net_stats(pull).connections == 1);
    assert_int_equal(option_of(other_end(raw), IPPROTO_TCP, TCP_KEEPIDLE), 4000);
    close(raw);
    net_close(&n);
}

/* ---- sources ----------------------------------------------------------- */

static void
expect_source(const char *source, int listener, const char *target, const char *from,
              unsigned port)
{
    sennit_sock *push = net_sock(&n, SENNIT_PUSH, NULL);
    char endpoint[128];
    char text[INET_ADDRSTRLEN];
    struct sockaddr_in peer;
    socklen_t size = sizeof peer;
    int raw;

    snprintf(endpoint, sizeof endpoint, "tcp://%s;%s", source, target + 6);
    net_connect(push, endpoint);
    raw = raw_accept(&n, listener);
    assert_int_equal(getpeername(raw, (struct sockaddr *)&peer, &size), 0);
    assert_string_equal(inet_ntop(AF_INET, &peer.sin_addr, text, sizeof text), from);
    if (port != 0)
        assert_int_equal(ntohs(peer.sin_port), port);
    close(raw);
    sennit_sock_close(push);
}

static void
a_connect_comes_from_its_source(void **state)
{
    char endpoint[64];
    char source[64];
    unsigned port;
    int listener = raw_listen(endpoint);

    (void)state;
    port = (unsigned)atoi(strrchr(net_vacant(TCP), ':') + 1);
    net_open(&n);
    expect_source("127.0.0.5", listener, endpoint, "127.0.0.5", 0);
    expect_source("127.0.0.5:*", listener, endpoint, "127.0.0.5", 0);
    expect_source("lo", listener, endpoint, "127.0.0.1", 0);
    expect_source("localhost:0", listener, endpoint, "127.0.0.1", 0);
    snprintf(source, sizeof source, "127.0.0.6:%u", port);
    expect_source(source, listener, endpoint, "127.0.0.6", port);
    snprintf(source, sizeof source, "*:%u", port);
    expect_source(source, listener, endpoint, "127.0.0.1", port);
    net_close(&n);
    close(listener);
}

static void
a_source_that_is_not_ours_fails_the_attempt_or_the_call(void **state)
{
    sennit_sock *push;
    sennit_event event;

    (void)state;
    net_open(&n);
    push = net_sock(&n, SENNIT_PUSH, NULL);
    net_connect(push, "tcp://192.0.2.1;127.0.0.1:9");
    event = net_event(&n, push, SENNIT_EVENT_CONNECT_FAILED);
    assert_int_equal(event.err, SENNIT_EADDRNOTAVAIL);
    assert_string_equal(event.reason, "the source address is not available");
    net_connect(push, "tcp://[::1];127.0.0.1:9");
    do
        event = net_event(&n, push, SENNIT_EVENT_CONNECT_FAILED);
    while (event.endpoint[6] != '[');
    assert_int_equal(event.err, SENNIT_EADDRNOTAVAIL);
    assert_string_equal(event.reason,
                        "the source address and the host's are not of one family");
    assert_int_equal(sennit_sock_connect(push, "tcp://nosuchif0;127.0.0.1:9"),
                     SENNIT_ENODEV);
    net_close(&n);
}

/* ---- who is let in ----------------------------------------------------- */

typedef struct network_row {
    const char *text;
    const char *in; /* NULL: the text is none */
    const char *out;
} network_row;

static const network_row networks[] = {
    { "10.0.0.0/8", "10.255.1.2", "11.0.0.1" },
    { "10.1.2.3/8", "10.255.1.2", "9.255.255.255" },
    { "192.168.1.7", "192.168.1.7", "192.168.1.8" },
    { "192.168.1.7/32", "192.168.1.7", "192.168.1.6" },
    { "192.168.0.0/23", "192.168.1.255", "192.168.2.0" },
    { "128.0.0.0/1", "255.0.0.1", "127.0.0.1" },
    { "0.0.0.0/0", "1.2.3.4", "::1" },
    { "::/0", "::1", "1.2.3.4" },
    { "fe80::/10", "febf::1", "fec0::1" },
    { "2001:db8::1", "2001:db8::1", "2001:db8::2" },
    { "2001:db8::/127", "2001:db8::1", "2001:db8::2" },
    { "", NULL, NULL },
    { "/8", NULL, NULL },
    { "10.0.0.0/", NULL, NULL },
    { "10.0.0.0/33", NULL, NULL },
    { "10.0.0.0/-1", NULL, NULL },
    { "10.0.0.0/8x", NULL, NULL },
    { "10.0.0.0/ 8", NULL, NULL },
    { "10.0.0.0/0008", NULL, NULL },
    { "10.0.0/8", NULL, NULL },
    { "::1/129", NULL, NULL },
    { "::1/1000", NULL, NULL },
    { "[::1]", NULL, NULL },
    { "localhost", NULL, NULL },
    { "10.0.0.0/8/8", NULL, NULL },
};

static sni_peer_name
peer_at(const char *ip)
{
    sni_peer_name peer = { .uid = -1, .gid = -1, .pid = -1 };
    bool v6 = strchr(ip, ':') != NULL;

    peer.address.kind = v6 ? SNI_ADDRESS_TCP6 : SNI_ADDRESS_TCP4;
    assert_int_equal(inet_pton(v6 ? AF_INET6 : AF_INET, ip, peer.address.ip), 1);
    return peer;
}

static void
networks_are_read_and_matched(void **state)
{
    (void)state;
    net_open(&n);
    for (size_t i = 0; i < sizeof networks / sizeof networks[0]; i++) {
        const network_row *r = &networks[i];
        sennit_sock_opts opts = net_opts();
        sennit_sock *sock;
        sni_network network;
        sni_peer_name peer;
        const char *why = NULL;

        opts.tcp_accept = &r->text;
        opts.tcp_accept_count = 1;
        if (sni_network_parse(r->text, &network) != (r->in != NULL))
            fail_msg("\"%s\"", r->text);
        assert_int_equal(sennit_sock_open(&sock, n.loop, SENNIT_PULL, &opts),
                         r->in != NULL ? SENNIT_OK : SENNIT_EINVAL);
        if (r->in == NULL) {
            assert_memory_equal(sennit_loop_why(n.loop), "tcp_accept", 10);
            continue;
        }
        peer = peer_at(r->in);
        assert_true(sni_filter_admits(&opts, &peer, &why));
        assert_null(why);
        peer = peer_at(r->out);
        assert_false(sni_filter_admits(&opts, &peer, &why));
        assert_string_equal(why, "refused: its address is in none of tcp_accept");
    }
    net_close(&n);
}

static unsigned
local_port(int fd)
{
    struct sockaddr_in local;
    socklen_t size = sizeof local;

    assert_int_equal(getsockname(fd, (struct sockaddr *)&local, &size), 0);
    return ntohs(local.sin_port);
}

static void
strangers_are_shown_out_and_told_of(void **state)
{
    static const char *const accepted[] = { "10.0.0.0/8", "127.0.0.2/31" };
    sennit_sock_opts opts = net_opts();
    sennit_sock *pull;
    sennit_sock *push;
    sennit_event event;
    char endpoint[128];
    char from[32];
    int raw;

    (void)state;
    opts.tcp_accept = accepted;
    opts.tcp_accept_count = 2;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, &opts);
    net_bind(pull, TCP);
    raw = raw_connect(sennit_sock_last_endpoint(pull));
    raw_until_closed(&n, raw);
    event = net_event(&n, pull, SENNIT_EVENT_ACCEPT_FAILED);
    assert_int_equal(event.err, SENNIT_EACCES);
    assert_int_equal(event.delay_ms, 0);
    assert_string_equal(event.reason, "refused: its address is in none of tcp_accept");
    snprintf(from, sizeof from, "127.0.0.1:%u", local_port(raw));
    assert_string_equal(event.address, from);
    close(raw);
    push = net_sock(&n, SENNIT_PUSH, NULL);
    snprintf(endpoint, sizeof endpoint, "tcp://127.0.0.3;%s",
             sennit_sock_last_endpoint(pull) + 6);
    net_connect(push, endpoint);
    net_send(push, "a friend");
    assert_string_equal(net_recv(pull), "a friend");
    net_close(&n);
}

static void
an_ipv4_peer_of_a_dual_listener_is_matched_as_ipv4(void **state)
{
    static const char *const accepted[] = { "127.0.0.0/8" };
    sennit_sock_opts opts = net_opts();
    sennit_sock *pull;
    sennit_sock *push;
    char endpoint[64];

    (void)state;
    opts.tcp_accept = accepted;
    opts.tcp_accept_count = 1;
    opts.ipv6 = true;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, &opts);
    assert_int_equal(sennit_sock_bind(pull, "tcp://*:*"), SENNIT_OK);
    push = net_sock(&n, SENNIT_PUSH, NULL);
    snprintf(endpoint, sizeof endpoint, "tcp://127.0.0.1%s",
             strrchr(sennit_sock_last_endpoint(pull), ':'));
    net_connect(push, endpoint);
    NET_UNTIL(&n, net_stats(pull).connections == 1);
    net_close(&n);
}

/* ---- handshakes_max ---------------------------------------------------- */

/* Somebody opens connections and says nothing. */
static void
the_oldest_of_too_many_handshakes_gives_way(void **state)
{
    enum { MAX = 3 };
    sennit_sock_opts opts = net_opts();
    sennit_sock *pull;
    sennit_event event;
    int raw[MAX + 2];

    (void)state;
    opts.handshakes_max = MAX;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, &opts);
    net_bind(pull, TCP);
    for (int i = 0; i < MAX; i++) {
        raw[i] = raw_connect(sennit_sock_last_endpoint(pull));
        net_event(&n, pull, SENNIT_EVENT_ACCEPTED);
    }
    assert_false(net_has_event(pull, SENNIT_EVENT_HANDSHAKE_FAILED, &event));
    /* The one that is READY does not count, so one more has room. */
    raw_handshake(&n, raw[0], "PUSH", NULL);
    NET_UNTIL(&n, net_stats(pull).connections == 1);
    raw[MAX] = raw_connect(sennit_sock_last_endpoint(pull));
    net_event(&n, pull, SENNIT_EVENT_ACCEPTED);
    assert_false(net_has_event(pull, SENNIT_EVENT_HANDSHAKE_FAILED, &event));
    /* And the next has the place of the oldest. */
    raw[MAX + 1] = raw_connect(sennit_sock_last_endpoint(pull));
    event = net_event(&n, pull, SENNIT_EVENT_HANDSHAKE_FAILED);
    assert_int_equal(event.err, SENNIT_ETIMEDOUT);
    assert_string_equal(event.reason, "too many unfinished handshakes");
    raw_until_closed(&n, raw[1]);
    for (int i = 2; i < MAX + 2; i++)
        raw_handshake(&n, raw[i], "PUSH", NULL);
    NET_UNTIL(&n, net_stats(pull).connections == MAX + 1);
    assert_int_equal(net_stats(pull).handshakes_failed, 1);
    for (int i = 0; i < MAX + 2; i++)
        close(raw[i]);
    net_close(&n);
}

int
main(void)
{
    static const struct CMUnitTest fixed[] = {
        cmocka_unit_test(what_is_not_asked_for_is_left_to_the_system),
        cmocka_unit_test(every_stream_is_without_delay),
        cmocka_unit_test(R37_a_reconnect_is_without_delay_too),
        cmocka_unit_test(a_changed_option_counts_for_the_next_connection),
        cmocka_unit_test(the_backlog_is_the_kernel_s),
        cmocka_unit_test(an_endpoint_is_shared_by_those_that_all_reuse_the_port),
        cmocka_unit_test(a_device_is_bound_to),
        cmocka_unit_test(an_option_that_is_refused_is_named),
        cmocka_unit_test(a_number_that_is_refused_is_named),
        cmocka_unit_test(an_accepted_connection_without_its_options_is_no_connection),
        cmocka_unit_test(a_connect_comes_from_its_source),
        cmocka_unit_test(a_source_that_is_not_ours_fails_the_attempt_or_the_call),
        cmocka_unit_test(networks_are_read_and_matched),
        cmocka_unit_test(strangers_are_shown_out_and_told_of),
        cmocka_unit_test(an_ipv4_peer_of_a_dual_listener_is_matched_as_ipv4),
        cmocka_unit_test(the_oldest_of_too_many_handshakes_gives_way),
    };
    static test_suite suite;

    TEST_SUITE_ROWS(&suite, "", rows, check_row);
    TEST_SUITE_ADD(&suite, fixed);
    return test_suite_run(&suite);
}
