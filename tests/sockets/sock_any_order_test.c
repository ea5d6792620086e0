/* SPDX-License-Identifier: MIT */
/* Sockets of every type, opened, bound, connected, used, undone and closed in any
 * order, callbacks that close their own socket among them. Nothing is expected but
 * that nothing breaks: no sanitizer report, no leak, no hang, and that what was
 * accepted is accounted for. A seed that fails is printed; it fails again alone. */
#include "sennit_test.h"

#include <stdio.h>

#include "fail_alloc.h"
#include "rng.h"
#include "sennit/sennit.h"

#define SOCKS_MAX     24
#define ENDPOINTS_MAX 48
#define SEEDS         12
#define STEPS         2500

typedef struct chaos {
    test_rng rng;
    sennit_loop *loop;
    sennit_sock *socks[SOCKS_MAX];
    size_t count;
    char endpoints[ENDPOINTS_MAX][160];
    size_t endpoints_count;
} chaos;

static uint8_t body[200000];

static size_t
below(chaos *c, size_t bound)
{
    return (size_t)test_rng_below(&c->rng, bound);
}

static void
close_one(chaos *c, sennit_sock *sock)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->socks[i] == sock)
            c->socks[i] = c->socks[--c->count];
    sennit_sock_close(sock);
}

static void
read_some(chaos *c, sennit_sock *sock, size_t frames, unsigned flags)
{
    sennit_msg msg;

    (void)c;
    sennit_msg_init(&msg);
    while (frames-- > 0 && sennit_sock_recv(sock, &msg, flags) == SENNIT_OK)
        ;
    sennit_msg_fini(&msg);
}

static void
on_ready(sennit_sock *sock, unsigned ready, void *arg)
{
    chaos *c = arg;
    sennit_event event;

    if (ready & SENNIT_EVENTS)
        while (sennit_sock_next_event(sock, &event) == SENNIT_OK)
            ;
    read_some(c, sock, 5, SENNIT_DONTWAIT);
    if (below(c, 200) == 0)
        close_one(c, sock);
}

static void
open_one(chaos *c)
{
    sennit_sock_opts opts = SENNIT_SOCK_OPTS_DEFAULT;
    sennit_sock_type type = (sennit_sock_type)below(c, 9);
    sennit_sock *sock;

    if (c->count == SOCKS_MAX)
        return;
    opts.send_hwm_msgs = (int)below(c, 3) * 7;
    opts.recv_hwm_msgs = (int)below(c, 3) * 5;
    opts.linger_ms = (int)below(c, 20);
    opts.reconnect_min_ms = 1;
    opts.reconnect_max_ms = (int)below(c, 20) + 1;
    opts.send_timeout_ms = (int)below(c, 3);
    opts.recv_timeout_ms = (int)below(c, 3);
    opts.handshake_timeout_ms = (int)below(c, 200);
    opts.router_mandatory = type == SENNIT_ROUTER && below(c, 2);
    if (below(c, 3) == 0) {
        opts.identity_size = 1;
        opts.identity[0] = (uint8_t)('a' + below(c, 3));
    }
    assert_int_equal(sennit_sock_open(&sock, c->loop, type, &opts), SENNIT_OK);
    c->socks[c->count++] = sock;
    if (below(c, 2) == 0)
        sennit_sock_on_ready(sock, SENNIT_READABLE | SENNIT_WRITABLE | SENNIT_EVENTS,
                             on_ready, c);
}

static void
bind_one(chaos *c, sennit_sock *sock)
{
    static const char *const places[] = { "tcp://127.0.0.1:*", "ipc://*", "inproc://a",
                                          "inproc://b", "inproc://c" };

    if (c->endpoints_count == ENDPOINTS_MAX)
        c->endpoints_count = ENDPOINTS_MAX / 2;
    if (sennit_sock_bind(sock, places[below(c, 5)]) == SENNIT_OK)
        snprintf(c->endpoints[c->endpoints_count++], sizeof c->endpoints[0], "%s",
                 sennit_sock_last_endpoint(sock));
}

static void
send_some(chaos *c, sennit_sock *sock)
{
    for (size_t n = below(c, 30) + 1; n > 0; n--) {
        size_t size = below(c, 20) == 0 ? below(c, sizeof body) : below(c, 100);
        unsigned flags = (below(c, 5) == 0 ? SENNIT_MORE : 0) |
                         (below(c, 10) == 0 ? 0 : SENNIT_DONTWAIT);
        uint8_t identity = (uint8_t)('a' + below(c, 3));

        body[0] = (uint8_t)below(c, 2);
        if (below(c, 4) == 0)
            (void)!sennit_sock_send_bytes(sock, &identity, 1,
                                          SENNIT_MORE | SENNIT_DONTWAIT);
        (void)!sennit_sock_send_bytes(sock, body, size, flags);
    }
}

static void
subscribe_some(chaos *c, sennit_sock *sock)
{
    uint8_t topic[2] = { (uint8_t)below(c, 2), (uint8_t)below(c, 2) };
    sennit_bytes prefix = { topic, below(c, 3) };

    if (below(c, 2) == 0)
        (void)sennit_sock_subscribe(sock, prefix);
    else
        (void)sennit_sock_unsubscribe(sock, prefix);
}

static void
step(chaos *c)
{
    size_t what = below(c, 100);
    sennit_sock *sock;
    const char *endpoint;

    if (what < 6 || c->count == 0) {
        open_one(c);
        return;
    }
    sock = c->socks[below(c, c->count)];
    endpoint = c->endpoints_count == 0 ? "inproc://a"
                                       : c->endpoints[below(c, c->endpoints_count)];
    if (what < 12)
        bind_one(c, sock);
    else if (what < 20)
        (void)!sennit_sock_connect(sock, endpoint);
    else if (what < 22)
        (void)sennit_sock_disconnect(sock, endpoint);
    else if (what < 24)
        (void)sennit_sock_unbind(sock, endpoint);
    else if (what < 27)
        close_one(c, sock);
    else if (what < 30)
        subscribe_some(c, sock);
    else if (what < 65)
        send_some(c, sock);
    else if (what < 92)
        read_some(c, sock, 20, below(c, 10) == 0 ? 0 : SENNIT_DONTWAIT);
    else
        (void)sennit_loop_turn(c->loop, (int)below(c, 2));
}

static void
any_order_of_operations_leaves_everything_whole(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        test_alloc alloc;
        sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;
        chaos c = { .rng = { seed } };

        print_message("seed %u\n", (unsigned)seed);
        test_alloc_init(&alloc);
        opts.allocator = &alloc.allocator;
        assert_int_equal(sennit_loop_open(&c.loop, &opts), SENNIT_OK);
        for (int i = 0; i < STEPS; i++)
            step(&c);
        sennit_loop_close(c.loop);
        assert_int_equal((int)alloc.live_blocks, 0);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(any_order_of_operations_leaves_everything_whole),
};

SENNIT_TEST_MAIN(tests)
