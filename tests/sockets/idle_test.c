/* SPDX-License-Identifier: MIT */
/* What a connection costs over which nothing goes: memory, timers, calls to the kernel;
 * and what it costs to make one. Two loops, so that each side is counted for itself. */
#include "net.h"
#include "suite.h"

#include <limits.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/limits.h"
#include "kernel_calls.h"

#define IDLE 10000u

/* What malloc itself needs for each block, at most. */
#define PER_BLOCK 16u

/* At or below 2 KiB, the allocator's own included. */
#define BUDGET_BYTES 2048u

/* Who connects keeps an endpoint for each, and a ROUTER a name: this is both. */
#define BUDGET_BYTES_CONNECTING_ROUTER 2240u

/* Connects are under way at a time: less than a backlog. */
#define UNDER_WAY 64u

typedef struct side {
    test_alloc alloc;
    sennit_loop *loop;
    size_t before; /* octets, when half of the connections were there */
    kernel_calls calls;
} side;

static struct {
    side server;
    side client;
    sennit_sock *listener;
    sennit_sock_type type;  /* of those that connect */
    sennit_sock *connecter; /* with all connections, or the last one */
    char endpoint[128];
    unsigned connected;
} w;

/* A REQ or DEALER has one connection to an endpoint. */
static bool
connects_once(void)
{
    return w.type == SENNIT_REQ || w.type == SENNIT_DEALER || w.type == SENNIT_SUB;
}

static sennit_sock_opts
quiet(void)
{
    sennit_sock_opts opts = net_opts();

    opts.events_max = 1;
    return opts;
}

static void
open_side(side *of, sennit_backend backend)
{
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;

    test_alloc_init(&of->alloc);
    opts.allocator = &of->alloc.allocator;
    opts.backend = backend;
    assert_int_equal(sennit_loop_open(&of->loop, &opts), SENNIT_OK);
}

static void
open_world(sennit_backend backend)
{
    memset(&w, 0, sizeof w);
    open_side(&w.server, backend);
    open_side(&w.client, backend);
}

static void
close_world(void)
{
    sennit_loop_close(w.client.loop);
    sennit_loop_close(w.server.loop);
    assert_int_equal(w.client.alloc.live_blocks, 0);
    assert_int_equal(w.server.alloc.live_blocks, 0);
}

static sennit_sock *
open_sock(sennit_loop *loop, sennit_sock_type type)
{
    sennit_sock_opts opts = quiet();
    sennit_sock *sock;

    assert_int_equal(sennit_sock_open(&sock, loop, type, &opts), SENNIT_OK);
    return sock;
}

static void
listen_at(sennit_sock_type type, sennit_sock_type connects, const char *endpoint)
{
    w.type = connects;
    w.listener = open_sock(w.server.loop, type);
    assert_int_equal(sennit_sock_bind(w.listener, endpoint), SENNIT_OK);
    snprintf(w.endpoint, sizeof w.endpoint, "%s", sennit_sock_last_endpoint(w.listener));
    w.connecter = open_sock(w.client.loop, connects);
}

static uint64_t
connections(const sennit_sock *sock)
{
    sennit_sock_stats stats;

    sennit_sock_get_stats(sock, &stats);
    return stats.connections;
}

static bool
all_ready(void)
{
    return connections(w.listener) == w.connected &&
           connections(w.connecter) == (connects_once() ? 1 : w.connected);
}

static void
turn(side *of)
{
    kernel = (kernel_calls){ 0 };
    assert_int_equal(sennit_loop_turn(of->loop, 0), SENNIT_OK);
    kernel_calls_move(&of->calls);
}

static void
turn_both(void)
{
    turn(&w.client);
    turn(&w.server);
}

static void
settle(void)
{
    sennit_time started = sennit_loop_now(w.server.loop);

    while (!all_ready()) {
        turn_both();
        if (sennit_loop_now(w.server.loop) - started > DEADLINE_MS * UINT64_C(1000000))
            fail_msg("%u of %u connections are READY", (unsigned)connections(w.listener),
                     w.connected);
    }
    /* Nothing tells that the last octets have come: these turns find nothing. */
    for (int i = 0; i < 4; i++)
        turn_both();
}

static void
connect_up_to(unsigned count)
{
    while (w.connected < count) {
        if (connects_once() && w.connected > 0)
            w.connecter = open_sock(w.client.loop, w.type);
        kernel = (kernel_calls){ 0 };
        assert_int_equal(sennit_sock_connect(w.connecter, w.endpoint), SENNIT_OK);
        kernel_calls_move(&w.client.calls);
        w.connected++;
        if (w.connected % UNDER_WAY == 0 || w.connected == count || connects_once())
            settle();
    }
}

static size_t
held(const side *of)
{
    return of->alloc.live_bytes + PER_BLOCK * of->alloc.live_blocks;
}

static size_t
held_each(const side *of, unsigned count)
{
    return (held(of) - of->before) / count;
}

/* The loops have nothing to do, now or at any time. */
static void
check_asleep(sennit_backend backend)
{
    assert_int_equal(sennit_loop_timeout_ms(w.server.loop), -1);
    assert_int_equal(sennit_loop_timeout_ms(w.client.loop), -1);
    w.server.calls = w.client.calls = (kernel_calls){ 0 };
    turn_both();
    /* io_uring looks into memory. */
    assert_string_equal(kernel_calls_each(&w.server.calls, 1),
                        backend == SENNIT_BACKEND_EPOLL ? "1 epoll_wait" : "");
    assert_string_equal(kernel_calls_each(&w.client.calls, 1),
                        backend == SENNIT_BACKEND_EPOLL ? "1 epoll_wait" : "");
}

/* ---- memory -------------------------------------------------------------- */

/* One frame: a message, or the last of one. */
static void
carry(sennit_sock *from, sennit_sock *to)
{
    sennit_msg msg;

    sennit_msg_init(&msg);
    assert_int_equal(sennit_sock_send_bytes(from, "x", 1, 0), SENNIT_OK);
    sennit_sock_flush(from);
    assert_int_equal(sennit_sock_recv(to, &msg, 0), SENNIT_OK);
    sennit_msg_fini(&msg);
}

static void
push(void)
{
    carry(w.connecter, w.listener);
}

static void
ask_the_listener(void)
{
    carry(w.connecter, w.listener);
    carry(w.listener, w.connecter);
}

/* By a DEALER. */
static void
ask_router(sennit_sock *dealer, sennit_sock *router)
{
    sennit_msg identity;
    size_t size;
    char body;

    sennit_msg_init(&identity);
    assert_int_equal(sennit_sock_send_bytes(dealer, "x", 1, 0), SENNIT_OK);
    sennit_sock_flush(dealer);
    assert_int_equal(sennit_sock_recv(router, &identity, 0), SENNIT_OK);
    assert_int_equal(sennit_sock_recv_bytes(router, &body, 1, &size, 0), SENNIT_OK);
    assert_int_equal(sennit_sock_send(router, &identity, SENNIT_MORE), SENNIT_OK);
    carry(router, dealer);
}

static void
ask_the_listening_router(void)
{
    ask_router(w.connecter, w.listener);
}

static void
ask_the_connecting_router(void)
{
    ask_router(w.listener, w.connecter);
}

/* To a topic of its own. Only what it gets tells that the publisher knows of it. */
static void
subscribe(void)
{
    sennit_time started = sennit_loop_now(w.client.loop);
    sennit_err err = SENNIT_EAGAIN;
    char topic[32];

    snprintf(topic, sizeof topic, "sensors/%u/temperature", w.connected);
    net_subscribe(w.connecter, topic);
    while (err == SENNIT_EAGAIN) {
        char body[32];
        size_t size;

        if (sennit_loop_now(w.client.loop) - started > DEADLINE_MS * UINT64_C(1000000))
            fail_msg("nothing of %s came", topic);
        assert_int_equal(sennit_sock_send_bytes(w.listener, topic, strlen(topic), 0),
                         SENNIT_OK);
        turn_both();
        err = sennit_sock_recv_bytes(w.connecter, body, sizeof body, &size,
                                     SENNIT_DONTWAIT);
    }
    assert_int_equal(err, SENNIT_OK);
}

static const struct idle_row {
    const char *name;
    sennit_sock_type binds;
    sennit_sock_type connects; /* with all connections of one socket, or ... */
    unsigned most;             /* ... with a socket each: fewer will do */
    const char *endpoint;
    sennit_backend backend;
    void (*exchange)(void); /* by each connection before it is idle; NULL: nothing */
} idle_rows[] = {
    { "PULL, tcp", SENNIT_PULL, SENNIT_PUSH, IDLE, "tcp://127.0.0.1:0",
      SENNIT_BACKEND_EPOLL, NULL },
    { "PUSH, ipc", SENNIT_PUSH, SENNIT_PULL, 2000, "ipc://*", SENNIT_BACKEND_EPOLL,
      NULL },
#ifdef SENNIT_WITH_URING
    { "PULL, tcp, io_uring", SENNIT_PULL, SENNIT_PUSH, 2000, "tcp://127.0.0.1:0",
      SENNIT_BACKEND_URING, NULL },
#endif
    { "ROUTER", SENNIT_ROUTER, SENNIT_DEALER, 1000, "tcp://127.0.0.1:0",
      SENNIT_BACKEND_EPOLL, NULL },
    { "REP", SENNIT_REP, SENNIT_REQ, 1000, "ipc://*", SENNIT_BACKEND_EPOLL, NULL },
    { "DEALER", SENNIT_DEALER, SENNIT_REP, 1000, "tcp://127.0.0.1:0",
      SENNIT_BACKEND_EPOLL, NULL },
    { "XPUB", SENNIT_XPUB, SENNIT_SUB, 1000, "tcp://127.0.0.1:0", SENNIT_BACKEND_EPOLL,
      NULL },
    { "PUB", SENNIT_PUB, SENNIT_XSUB, 1000, "ipc://*", SENNIT_BACKEND_EPOLL, NULL },
    { "ROUTER that has answered", SENNIT_ROUTER, SENNIT_DEALER, 1000, "tcp://127.0.0.1:0",
      SENNIT_BACKEND_EPOLL, ask_the_listening_router },
    { "REP that has answered", SENNIT_REP, SENNIT_REQ, 1000, "tcp://127.0.0.1:0",
      SENNIT_BACKEND_EPOLL, ask_the_listener },
    { "DEALER that was answered", SENNIT_DEALER, SENNIT_ROUTER, 1000, "tcp://127.0.0.1:0",
      SENNIT_BACKEND_EPOLL, ask_the_connecting_router },
    { "PULL that has received", SENNIT_PULL, SENNIT_PUSH, 1000, "tcp://127.0.0.1:0",
      SENNIT_BACKEND_EPOLL, push },
    { "PUB with a subscription each", SENNIT_PUB, SENNIT_SUB, 1000, "tcp://127.0.0.1:0",
      SENNIT_BACKEND_EPOLL, subscribe },
#ifdef SENNIT_WITH_URING
    { "ROUTER that has answered, io_uring", SENNIT_ROUTER, SENNIT_DEALER, 1000,
      "tcp://127.0.0.1:0", SENNIT_BACKEND_URING, ask_the_listening_router },
    { "REP that has answered, io_uring", SENNIT_REP, SENNIT_REQ, 1000,
      "tcp://127.0.0.1:0", SENNIT_BACKEND_URING, ask_the_listener },
    { "DEALER that was answered, io_uring", SENNIT_DEALER, SENNIT_ROUTER, 1000,
      "tcp://127.0.0.1:0", SENNIT_BACKEND_URING, ask_the_connecting_router },
    { "PULL that has received, io_uring", SENNIT_PULL, SENNIT_PUSH, 1000,
      "tcp://127.0.0.1:0", SENNIT_BACKEND_URING, push },
    { "PUB with a subscription each, io_uring", SENNIT_PUB, SENNIT_SUB, 1000,
      "tcp://127.0.0.1:0", SENNIT_BACKEND_URING, subscribe },
#endif
};

/* Two descriptors each, and some for everything else. */
static unsigned
as_many_as_may_be_open(unsigned most)
{
    struct rlimit limit;
    unsigned count;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    count = (unsigned)(limit.rlim_max - 100) / 2;
    assert_in_range(count, 500, UINT_MAX);
    return count < most ? count : most;
}

static void
make(const struct idle_row *row, unsigned count)
{
    if (row->exchange == NULL || !connects_once())
        connect_up_to(count);
    /* By turns over all connections, those that were there too. */
    for (unsigned i = 0; row->exchange != NULL && !connects_once() && i < count; i++)
        row->exchange();
    while (w.connected < count) {
        connect_up_to(w.connected + 1);
        row->exchange();
    }
    turn_both();
}

static void
check_idle(void **state)
{
    const struct idle_row *row = *state;
    unsigned count = as_many_as_may_be_open(row->most);
    size_t each;

    open_world(row->backend);
    listen_at(row->binds, row->connects, row->endpoint);
    make(row, count / 2);
    w.server.before = held(&w.server);
    w.client.before = held(&w.client);
    make(row, count);
    each = held_each(&w.server, count - count / 2);
    if (each > BUDGET_BYTES)
        fail_msg("%zu octets at the end that listens", each);
    each = held_each(&w.client, count - count / 2);
    if (!connects_once() &&
        each > (row->connects == SENNIT_ROUTER ? BUDGET_BYTES_CONNECTING_ROUTER
                                               : BUDGET_BYTES))
        fail_msg("%zu octets at the end that connects", each);
    check_asleep(row->backend);
    close_world();
}

/* The block that a message was received into is not kept for the next one. */
static void
a_connection_that_has_carried_a_message_costs_no_more(void **state)
{
    enum { PEERS = 200 };
    size_t blocks;
    sennit_msg msg;

    (void)state;
    open_world(SENNIT_BACKEND_EPOLL);
    listen_at(SENNIT_PULL, SENNIT_PUSH, "ipc://*");
    connect_up_to(PEERS);
    sennit_msg_init(&msg);
    blocks = w.server.alloc.live_bytes;
    for (unsigned i = 0; i < PEERS; i++) {
        assert_int_equal(sennit_sock_send_bytes(w.connecter, "x", 1, 0), SENNIT_OK);
        sennit_sock_flush(w.connecter);
        assert_int_equal(sennit_sock_recv(w.listener, &msg, 0), SENNIT_OK);
    }
    turn_both();
    /* One more may be kept by the loop, for all of them. */
    assert_true(w.server.alloc.live_bytes < blocks + 2 * SNI_RECV_BYTES);
    check_asleep(SENNIT_BACKEND_EPOLL);
    close_world();
}

/* Nor is the ring of segments that an answer, or any other message, was queued in. */
static void
a_connection_that_has_sent_a_message_costs_no_more(void **state)
{
    enum { PEERS = 1000 };
    unsigned peers = as_many_as_may_be_open(PEERS);
    size_t before;
    size_t grown;
    sennit_msg msg;

    (void)state;
    open_world(SENNIT_BACKEND_EPOLL);
    listen_at(SENNIT_PUSH, SENNIT_PULL, "ipc://*");
    connect_up_to(peers);
    sennit_msg_init(&msg);
    before = held(&w.server);
    for (unsigned i = 0; i < peers; i++) {
        assert_int_equal(sennit_sock_send_bytes(w.listener, "x", 1, 0), SENNIT_OK);
        sennit_sock_flush(w.listener);
        assert_int_equal(sennit_sock_recv(w.connecter, &msg, 0), SENNIT_OK);
    }
    turn_both();
    grown = held(&w.server) - before;
    /* What the loop keeps for all of them. */
    if (grown / peers > PER_BLOCK)
        fail_msg("%zu octets more for each", grown / peers);
    check_asleep(SENNIT_BACKEND_EPOLL);
    close_world();
}

/* ---- making one ---------------------------------------------------------- */

/* Over a unix socket what one end has written the other can read at once, so the numbers
 * are the same on any machine. How often is waited is the test's doing. */
static void
making_a_connection_costs_as_many_calls_and_blocks_as_written_here(void **state)
{
    enum { FIRST = 10, COUNTED = 100 };
    uint64_t server_blocks;
    uint64_t client_blocks;

    (void)state;
    open_world(SENNIT_BACKEND_EPOLL);
    listen_at(SENNIT_PULL, SENNIT_PUSH, "ipc://*");
    for (unsigned i = 1; i <= FIRST; i++)
        connect_up_to(i);
    w.server.calls = w.client.calls = (kernel_calls){ 0 };
    server_blocks = w.server.alloc.requests;
    client_blocks = w.client.alloc.requests;
    for (unsigned i = 1; i <= COUNTED; i++)
        connect_up_to(FIRST + i);
    w.server.calls.epoll_wait = w.client.calls.epoll_wait = 0;
    assert_string_equal(kernel_calls_each(&w.server.calls, COUNTED),
                        "2 accept4, 1 epoll_ctl, 2 getsockopt, 2 recv, 3 sendmsg");
    assert_string_equal(
        kernel_calls_each(&w.client.calls, COUNTED),
        "1 connect, 1 epoll_ctl, 1 getpeername, 1 getsockname, 2 getsockopt, 3 recv, "
        "3 sendmsg, 1 socket");
    assert_int_equal((w.server.alloc.requests - server_blocks) / COUNTED, 7);
    assert_int_equal((w.client.alloc.requests - client_blocks) / COUNTED, 9);
    close_world();
}

int
main(void)
{
    static const struct CMUnitTest others[] = {
        cmocka_unit_test(a_connection_that_has_carried_a_message_costs_no_more),
        cmocka_unit_test(a_connection_that_has_sent_a_message_costs_no_more),
        cmocka_unit_test(
            making_a_connection_costs_as_many_calls_and_blocks_as_written_here),
    };
    static test_suite suite;

    TEST_SUITE_ROWS(&suite, "an_idle_connection_costs_two_kibibytes: ", idle_rows,
                    check_idle);
    TEST_SUITE_ADD(&suite, others);
    return test_suite_run(&suite);
}
