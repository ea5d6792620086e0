/* SPDX-License-Identifier: MIT */
#include "net.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

const char *const transport_names[TRANSPORTS] = { "tcp", "ipc", "inproc" };

/* ---- loop and sockets -------------------------------------------------- */

sennit_sock_opts
net_opts(void)
{
    sennit_sock_opts opts = SENNIT_SOCK_OPTS_DEFAULT;

    opts.send_timeout_ms = DEADLINE_MS;
    opts.recv_timeout_ms = DEADLINE_MS;
    opts.linger_ms = 0;
    opts.reconnect_min_ms = 1;
    opts.reconnect_max_ms = 10;
    return opts;
}

void
net_open(net *n)
{
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;

    test_alloc_init(&n->alloc);
    opts.allocator = &n->alloc.allocator;
    assert_int_equal(sennit_loop_open(&n->loop, &opts), SENNIT_OK);
}

void
net_close(net *n)
{
    sennit_loop_close(n->loop);
    assert_int_equal(n->alloc.live_blocks, 0);
}

sennit_sock *
net_sock(net *n, sennit_sock_type type, const sennit_sock_opts *opts)
{
    sennit_sock_opts defaults = net_opts();
    sennit_sock *sock;

    assert_int_equal(
        sennit_sock_open(&sock, n->loop, type, opts != NULL ? opts : &defaults),
        SENNIT_OK);
    return sock;
}

sennit_sock *
net_named(net *n, sennit_sock_type type, const char *identity)
{
    sennit_sock_opts opts = net_opts();

    opts.identity_size = (uint8_t)strlen(identity);
    memcpy(opts.identity, identity, opts.identity_size);
    return net_sock(n, type, &opts);
}

sennit_bytes
net_bytes(const char *text)
{
    return (sennit_bytes){ (const uint8_t *)text, strlen(text) };
}

void
net_subscribe(sennit_sock *sock, const char *topic)
{
    assert_int_equal(sennit_sock_subscribe(sock, net_bytes(topic)), SENNIT_OK);
}

static const char *
fresh_name(const char *prefix)
{
    static unsigned counter;
    static char name[64];

    snprintf(name, sizeof name, "%s%d-%u", prefix, (int)getpid(), counter++);
    return name;
}

const char *
net_fresh(transport via)
{
    return via == TCP   ? "tcp://127.0.0.1:*"
           : via == IPC ? "ipc://*"
                        : fresh_name("inproc://n");
}

const char *
net_bind(sennit_sock *sock, transport via)
{
    assert_int_equal(sennit_sock_bind(sock, net_fresh(via)), SENNIT_OK);
    return sennit_sock_last_endpoint(sock);
}

const char *
net_vacant(transport via)
{
    static char endpoint[64];
    int fd;

    if (via == INPROC)
        return fresh_name("inproc://vacant");
    if (via == IPC)
        return fresh_name("ipc://@sennit-test-");
    fd = raw_listen(endpoint);
    close(fd);
    return endpoint;
}

void
net_connect(sennit_sock *sock, const char *endpoint)
{
    assert_int_equal(sennit_sock_connect(sock, endpoint), SENNIT_OK);
}

void
net_join(net *n, sennit_sock *binder, sennit_sock *connecter, transport via)
{
    uint64_t bound = net_stats(binder).connections;
    uint64_t connected = net_stats(connecter).connections;

    net_connect(connecter, net_bind(binder, via));
    NET_UNTIL(n, net_stats(binder).connections > bound &&
                     net_stats(connecter).connections > connected);
}

void
net_turn(net *n, sennit_time started, const char *awaited)
{
    sennit_err err = sennit_loop_turn(n->loop, 20);

    if (err != SENNIT_EINTR)
        assert_int_equal(err, SENNIT_OK);
    if (sennit_loop_now(n->loop) - started > (sennit_time)DEADLINE_MS * 1000000u)
        fail_msg("not within %d ms: %s", DEADLINE_MS, awaited);
}

bool
net_has_event(sennit_sock *sock, sennit_event_kind kind, sennit_event *out)
{
    while (sennit_sock_next_event(sock, out) == SENNIT_OK)
        if (out->kind == kind)
            return true;
    return false;
}

sennit_event
net_event(net *n, sennit_sock *sock, sennit_event_kind kind)
{
    sennit_time started = sennit_loop_now(n->loop);
    sennit_event event;

    while (!net_has_event(sock, kind, &event))
        net_turn(n, started, sennit_event_name(kind));
    return event;
}

sennit_sock_stats
net_stats(const sennit_sock *sock)
{
    sennit_sock_stats stats;

    sennit_sock_get_stats(sock, &stats);
    return stats;
}

sennit_peer
net_only_peer(const sennit_sock *sock)
{
    sennit_peer peer;

    assert_int_equal(sennit_sock_get_peers(sock, &peer, 1), 1);
    return peer;
}

/* ---- messages ---------------------------------------------------------- */

sennit_err
net_try_send(sennit_sock *sock, const char *message, unsigned flags)
{
    const char *at = message;

    for (;;) {
        size_t size = strcspn(at, "|");
        bool more = at[size] == '|';
        sennit_msg msg;
        sennit_err err;

        assert_int_equal(sennit_msg_init_copy(&msg, at, size), SENNIT_OK);
        err = sennit_sock_send(sock, &msg, flags | (more ? SENNIT_MORE : 0));
        /* Moved on success, untouched on failure. */
        assert_int_equal(sennit_msg_size(&msg), err ? size : 0);
        sennit_msg_fini(&msg);
        if (err || !more)
            return err;
        at += size + 1;
    }
}

void
net_send(sennit_sock *sock, const char *message)
{
    sennit_err err = net_try_send(sock, message, 0);

    if (err)
        fail_msg("send of \"%s\": %s", message, sennit_err_name(err));
}

const char *
net_recv_flags(sennit_sock *sock, unsigned flags)
{
    static char text[4096];
    size_t used = 0;
    bool more = true;

    while (more) {
        sennit_msg msg;
        sennit_err err;

        sennit_msg_init(&msg);
        err = sennit_sock_recv(sock, &msg, flags);
        if (err)
            return sennit_err_name(err);
        more = sennit_msg_more(&msg);
        used += (size_t)snprintf(text + used, sizeof text - used, "%.*s%s",
                                 (int)sennit_msg_size(&msg),
                                 (const char *)sennit_msg_data(&msg), more ? "|" : "");
        assert_true(used < sizeof text);
        sennit_msg_fini(&msg);
    }
    return text;
}

const char *
net_recv(sennit_sock *sock)
{
    sennit_loop *loop = sennit_sock_get_loop(sock);
    sennit_time started = sennit_loop_now(loop);
    const char *text = net_recv_flags(sock, 0);

    /* What is only found when the time is up was not waited for. */
    if (sennit_loop_now(loop) - started >= (sennit_time)DEADLINE_MS * 1000000u)
        fail_msg("\"%s\" only after the timeout", text);
    return text;
}

void
net_check_law(const sennit_sock *sock)
{
    sennit_sock_stats s = net_stats(sock);
    uint64_t dropped = s.dropped_no_peer_msgs + s.dropped_hwm_msgs +
                       s.dropped_disconnect_msgs + s.dropped_memory_msgs +
                       s.dropped_slow_msgs + s.dropped_conflated_msgs +
                       s.dropped_expired_msgs;

    if (s.sent_msgs != s.delivered_msgs + s.queued_msgs + dropped)
        fail_msg("accepted %llu, delivered %llu, queued %llu, dropped: no peer %llu, "
                 "hwm %llu, disconnect %llu, memory %llu, slow %llu, conflated %llu, "
                 "expired %llu",
                 (unsigned long long)s.sent_msgs, (unsigned long long)s.delivered_msgs,
                 (unsigned long long)s.queued_msgs,
                 (unsigned long long)s.dropped_no_peer_msgs,
                 (unsigned long long)s.dropped_hwm_msgs,
                 (unsigned long long)s.dropped_disconnect_msgs,
                 (unsigned long long)s.dropped_memory_msgs,
                 (unsigned long long)s.dropped_slow_msgs,
                 (unsigned long long)s.dropped_conflated_msgs,
                 (unsigned long long)s.dropped_expired_msgs);
}

/* ---- raw peers --------------------------------------------------------- */

const uint8_t raw_greeting[64] = {
    0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 1, 'N', 'U', 'L', 'L',
};

int
raw_connect(const char *endpoint)
{
    int fd;

    if (strncmp(endpoint, "ipc://", 6) == 0) {
        struct sockaddr_un un = { .sun_family = AF_UNIX };

        snprintf(un.sun_path, sizeof un.sun_path, "%s", endpoint + 6);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_true(fd >= 0);
        assert_int_equal(connect(fd, (struct sockaddr *)&un, sizeof un), 0);
    } else {
        struct sockaddr_in in4 = { .sin_family = AF_INET };
        unsigned port;
        int on = 1;

        assert_int_equal(sscanf(endpoint, "tcp://127.0.0.1:%u", &port), 1);
        in4.sin_port = htons((uint16_t)port);
        in4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_true(fd >= 0);
        assert_int_equal(connect(fd, (struct sockaddr *)&in4, sizeof in4), 0);
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    return fd;
}

int
raw_listen(char endpoint[64])
{
    struct sockaddr_in in4 = { .sin_family = AF_INET };
    socklen_t size = sizeof in4;
    int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    assert_true(fd >= 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    in4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (struct sockaddr *)&in4, sizeof in4), 0);
    assert_int_equal(listen(fd, 64), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&in4, &size), 0);
    snprintf(endpoint, 64, "tcp://127.0.0.1:%u", ntohs(in4.sin_port));
    return fd;
}

int
raw_accept(net *n, int listener)
{
    sennit_time started = sennit_loop_now(n->loop);
    int fd;

    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) < 0)
        net_turn(n, started, "a connection");
    return fd;
}

void
raw_write(net *n, int fd, const void *data, size_t size)
{
    sennit_time started = sennit_loop_now(n->loop);
    const uint8_t *at = data;

    while (size > 0) {
        ssize_t written = send(fd, at, size, MSG_NOSIGNAL);

        if (written < 0 && (errno == EPIPE || errno == ECONNRESET))
            return; /* the other end had enough; whether it should is checked there */
        if (written < 0) {
            assert_int_equal(errno, EAGAIN);
            net_turn(n, started, "room to write");
            continue;
        }
        at += written;
        size -= (size_t)written;
    }
}

void
raw_read(net *n, int fd, void *data, size_t size)
{
    sennit_time started = sennit_loop_now(n->loop);
    uint8_t *at = data;

    while (size > 0) {
        ssize_t got = recv(fd, at, size, 0);

        if (got == 0)
            fail_msg("closed with %zu bytes still to come", size);
        if (got < 0) {
            assert_int_equal(errno, EAGAIN);
            net_turn(n, started, "bytes");
            continue;
        }
        at += got;
        size -= (size_t)got;
    }
}

void
raw_until_closed(net *n, int fd)
{
    sennit_time started = sennit_loop_now(n->loop);
    uint8_t sink[4096];
    ssize_t got;

    while ((got = recv(fd, sink, sizeof sink, 0)) != 0) {
        if (got < 0 && errno != EAGAIN)
            return;
        if (got < 0)
            net_turn(n, started, "the end of the connection");
    }
}

size_t
raw_ready(uint8_t *out, const char *type, const char *identity)
{
    size_t type_size = strlen(type);
    size_t identity_size = identity != NULL ? strlen(identity) : 0;
    size_t used = 0;

    memcpy(out, "\x04\x00\x05READY\x0bSocket-Type\x00\x00\x00", 23);
    used = 23;
    out[used++] = (uint8_t)type_size;
    memcpy(out + used, type, type_size);
    used += type_size;
    if (identity != NULL) {
        memcpy(out + used, "\x08Identity\x00\x00\x00", 12);
        used += 12;
        out[used++] = (uint8_t)identity_size;
        memcpy(out + used, identity, identity_size);
        used += identity_size;
    }
    assert_true(used - 2 < 256);
    out[1] = (uint8_t)(used - 2);
    return used;
}

void
raw_handshake(net *n, int fd, const char *type, const char *identity)
{
    uint8_t ready[256];
    uint8_t theirs[64 + 256];
    size_t size = raw_ready(ready, type, identity);

    raw_write(n, fd, raw_greeting, sizeof raw_greeting);
    raw_write(n, fd, ready, size);
    raw_read(n, fd, theirs, 64 + 2);
    raw_read(n, fd, theirs + 66, theirs[65]);
}

unsigned
open_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned count = 0;

    assert_non_null(dir);
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}
