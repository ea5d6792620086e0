/* SPDX-License-Identifier: MIT */
/* What one message may cost, for every pair of socket types, every way between them and
 * every size: memory taken from malloc, calls to the kernel, octets copied. The clock is
 * the test's, so the numbers are the same on any machine. */
#include "net.h"
#include "suite.h"

#include "base/channel.h"
#include "base/limits.h"
#include "core/loop.h"
#include "kernel_calls.h"

/* ---- counting ------------------------------------------------------------ */

static struct {
    bool on;
    unsigned blocks;
    uint64_t copied;
} counted;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

void *
__wrap_malloc(size_t size)
{
    counted.blocks += counted.on;
    return __real_malloc(size);
}

void *
__wrap_calloc(size_t count, size_t size)
{
    counted.blocks += counted.on;
    return __real_calloc(count, size);
}

void *
__wrap_realloc(void *memory, size_t size)
{
    counted.blocks += counted.on;
    return __real_realloc(memory, size);
}

#ifndef NDEBUG
void __real_sni_body_copy(void *to, const void *from, size_t size);
void __wrap_sni_body_copy(void *to, const void *from, size_t size);

void
__wrap_sni_body_copy(void *to, const void *from, size_t size)
{
    counted.copied += counted.on ? size : 0;
    __real_sni_body_copy(to, from, size);
}
#endif

/* ---- two sockets --------------------------------------------------------- */

enum way {
    TCP_EPOLL,
    IPC_EPOLL,
#ifdef SENNIT_WITH_URING
    IPC_URING,
#endif
    ONE_LOOP,
    TWO_LOOPS,
    WAYS
};

static const char *const way_names[WAYS] = {
    [TCP_EPOLL] = "tcp",           [IPC_EPOLL] = "ipc",
#ifdef SENNIT_WITH_URING
    [IPC_URING] = "ipc, io_uring",
#endif
    [ONE_LOOP] = "inproc",         [TWO_LOOPS] = "inproc between loops",
};

enum manner {
    ONE_WAY,   /* what `a` sends `b` receives */
    AND_BACK,  /* ... and answers */
    NAMED,     /* ... where `b` knows `a` by a name */
    BOTH_NAMED /* ... and `a` knows `b`, and frames are octets: STREAM */
};

static const struct pair {
    const char *name;
    sennit_sock_type a; /* connects */
    sennit_sock_type b; /* binds */
    enum manner manner;
} pairs[] = {
    { "PUSH to PULL", SENNIT_PUSH, SENNIT_PULL, ONE_WAY },
    { "PUB to SUB", SENNIT_PUB, SENNIT_SUB, ONE_WAY },
    { "XPUB to XSUB", SENNIT_XPUB, SENNIT_XSUB, ONE_WAY },
    { "PAIR to PAIR", SENNIT_PAIR, SENNIT_PAIR, ONE_WAY },
    { "REQ and REP", SENNIT_REQ, SENNIT_REP, AND_BACK },
    { "DEALER and ROUTER", SENNIT_DEALER, SENNIT_ROUTER, NAMED },
    { "STREAM and STREAM", SENNIT_STREAM, SENNIT_STREAM, BOTH_NAMED },
};

#define PAIRS (sizeof pairs / sizeof pairs[0])

static const size_t sizes[] = { 16, 64, 1024, 16384, 65536, 1048576 };

#define SIZES (sizeof sizes / sizeof sizes[0])

/* One exchange, to be made again and again. */
static struct {
    const struct pair *pair;
    enum way way;
    size_t size;
    sennit_context *context;
    sennit_loop *loops[2]; /* of `a`, of `b`; the same twice */
    sennit_sock *a;
    sennit_sock *b;
    uint8_t name[SENNIT_IDENTITY_MAX]; /* of `b`, as `a` knows it: STREAM */
    size_t name_size;
    sni_io_ops ops;
    sennit_time now;
} x;

static uint8_t body[1048576];

static bool
is_uring(void)
{
#ifdef SENNIT_WITH_URING
    return x.way == IPC_URING;
#else
    return false;
#endif
}

/* Every look at the clock is long after the last one: nothing is gathered. */
static sennit_time
slow_now(sni_io *self)
{
    (void)self;
    x.now += 10 * SNI_GATHER_NS;
    return x.now;
}

/* Stands still: looking after others now and then is no cost of a message. */
static sennit_time
slow_now_coarse(sni_io *self)
{
    (void)self;
    return 1;
}

static sennit_loop *
open_loop(void)
{
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;
    sennit_loop *loop;

    opts.backend = is_uring() ? SENNIT_BACKEND_URING : SENNIT_BACKEND_EPOLL;
    opts.context = x.context;
    assert_int_equal(sennit_loop_open(&loop, &opts), SENNIT_OK);
    x.ops = *loop->io->ops;
    x.ops.now = slow_now;
    x.ops.now_coarse = slow_now_coarse;
    loop->io->ops = &x.ops;
    return loop;
}

static sennit_sock *
open_sock(sennit_loop *loop, sennit_sock_type type)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *sock;

    opts.send_timeout_ms = -1;
    opts.recv_timeout_ms = -1;
    opts.handshake_timeout_ms = 0;
    opts.stream_notify = opts.stream_notify && type != SENNIT_STREAM;
    assert_int_equal(sennit_sock_open(&sock, loop, type, &opts), SENNIT_OK);
    return sock;
}

static bool
is_ready(const sennit_sock *sock)
{
    sennit_sock_stats stats;

    sennit_sock_get_stats(sock, &stats);
    return stats.connections > 0 &&
           (stats.subscriptions > 0 ||
            (x.pair->a != SENNIT_PUB && x.pair->a != SENNIT_XPUB));
}

static void
settle(void)
{
    for (int i = 0; i < 100000 && !(is_ready(x.a) && is_ready(x.b)); i++)
        for (int end = 0; end < 2; end++)
            assert_int_equal(sennit_loop_turn(x.loops[end], 0), SENNIT_OK);
    assert_true(is_ready(x.a) && is_ready(x.b));
}

static void
open_pair(const struct pair *pair, enum way way)
{
    sennit_peer peer;

    memset(&x, 0, sizeof x);
    x.pair = pair;
    x.way = way;
    x.now = 1000000000;
    if (way == TWO_LOOPS)
        assert_int_equal(sennit_context_open(&x.context, NULL), SENNIT_OK);
    x.loops[0] = open_loop();
    x.loops[1] = way == TWO_LOOPS ? open_loop() : x.loops[0];
    x.a = open_sock(x.loops[0], pair->a);
    x.b = open_sock(x.loops[1], pair->b);
    if (pair->b == SENNIT_SUB || pair->b == SENNIT_XSUB)
        assert_int_equal(sennit_sock_subscribe(x.b, sni_bytes(NULL, 0)), SENNIT_OK);
    net_connect(x.a, net_bind(x.b, way == TCP_EPOLL                      ? TCP
                                   : way == ONE_LOOP || way == TWO_LOOPS ? INPROC
                                                                         : IPC));
    settle();
    if (pair->manner != BOTH_NAMED)
        return;
    assert_int_equal(sennit_sock_get_peers(x.a, &peer, 1), 1);
    memcpy(x.name, peer.identity, peer.identity_size);
    x.name_size = peer.identity_size;
}

static void
close_pair(void)
{
    sennit_loop_close(x.loops[0]);
    if (x.way == TWO_LOOPS) {
        sennit_loop_close(x.loops[1]);
        assert_int_equal(sennit_context_close(x.context), SENNIT_OK);
    }
}

/* ---- one exchange -------------------------------------------------------- */

static void
send_body(sennit_sock *sock)
{
    assert_int_equal(sennit_sock_send_bytes(sock, body, x.size, 0), SENNIT_OK);
}

static void
receive(sennit_sock *sock, sennit_msg *msg)
{
    assert_int_equal(sennit_sock_recv(sock, msg, 0), SENNIT_OK);
}

/* Without frames a body comes in pieces, each under the sender's name, which stays in
 * `name`. */
static void
receive_body(sennit_sock *sock, bool named, sennit_msg *name)
{
    size_t got = 0;
    sennit_msg msg;

    sennit_msg_init(&msg);
    while (got < x.size) {
        if (named)
            receive(sock, name);
        receive(sock, &msg);
        got += sennit_msg_size(&msg);
    }
    assert_int_equal(got, x.size);
    sennit_msg_fini(&msg);
}

static void
exchange(void)
{
    enum manner manner = x.pair->manner;
    sennit_msg name;

    sennit_msg_init(&name);
    if (manner == BOTH_NAMED)
        assert_int_equal(sennit_sock_send_bytes(x.a, x.name, x.name_size, SENNIT_MORE),
                         SENNIT_OK);
    send_body(x.a);
    receive_body(x.b, manner >= NAMED, &name);
    if (manner == ONE_WAY)
        return;
    if (manner >= NAMED)
        assert_int_equal(sennit_sock_send(x.b, &name, SENNIT_MORE), SENNIT_OK);
    send_body(x.b);
    receive_body(x.a, manner == BOTH_NAMED, &name);
    sennit_msg_fini(&name);
}

/* ---- budgets ------------------------------------------------------------- */

#define COUNTED 20u

/* By then every block, queue and ring has been needed that will be. */
static unsigned
warm_up(void)
{
    return x.size <= 1024 ? 3000 : x.size <= 65536 ? 100 : 10;
}

static bool
by_stream(void)
{
    return x.way != ONE_LOOP && x.way != TWO_LOOPS;
}

#ifndef NDEBUG

/* Octets copied in one direction, at most. A small body is copied into the batch, and
 * into the message that is received; from 56 octets on only while there is little else in
 * the window. One of SNI_COPY_MAX_BYTES or more is copied out of the caller's memory
 * only, which sennit_sock_send() would spare, and one that is larger than a window also
 * has the octets that came before its length was known. */
static size_t
copied_max(void)
{
    size_t max = x.size;

    if (by_stream() && x.size < SNI_COPY_MAX_BYTES)
        max = 2 * x.size;
    /* What is published in a loop is first copied for all who get it. */
    if (!by_stream() && x.size < SNI_COPY_MAX_BYTES &&
        (x.pair->a == SENNIT_PUB || x.pair->a == SENNIT_XPUB))
        max = 2 * x.size;
    /* Into what passes between the threads, from where it was, and out of that. */
    if (x.way == TWO_LOOPS && x.size <= SNI_CHANNEL_COPY_MAX)
        max += x.size;
    if (by_stream() && x.size > SNI_RECV_BYTES)
        max += SNI_RECV_BYTES;
    return max;
}

static void
check_copied(void)
{
    size_t directions = x.pair->manner == ONE_WAY ? 1 : 2;
    size_t copied = counted.copied / (COUNTED * directions);

    if (copied < (x.size < 56 ? copied_max() : x.size) || copied > copied_max())
        fail_msg("%zu octets: %zu copied, not %zu", x.size, copied, copied_max());
}

#endif

/* A loop that was not waiting is not woken for what another one sends it: it looks. */
static const char *
calls(void)
{
    bool back = x.pair->manner != ONE_WAY;

    if (!by_stream())
        return "";
    if (is_uring())
        return back ? "2 io_uring_submit_and_wait_timeout, 2 sendmsg"
                    : "1 io_uring_submit_and_wait_timeout, 1 sendmsg";
    return back ? "2 epoll_wait, 2 recv, 2 sendmsg" : "1 epoll_wait, 1 recv, 1 sendmsg";
}

/* Whether one receive brings it, wherever in a block that is aimed. */
static bool
comes_at_once(void)
{
    return x.pair->a == SENNIT_STREAM ? x.size <= 1024 : x.size <= 65536;
}

static void
check_size(size_t size)
{
    x.size = size;
    for (unsigned i = warm_up(); i > 0; i--)
        exchange();
    kernel = (kernel_calls){ 0 };
    counted.blocks = 0;
    counted.copied = 0;
    counted.on = true;
    for (unsigned i = 0; i < COUNTED; i++)
        exchange();
    counted.on = false;
    if (counted.blocks > 0)
        fail_msg("%zu octets: %u blocks taken in %u exchanges", size, counted.blocks,
                 COUNTED);
#ifndef NDEBUG
    check_copied();
#endif
    if (!comes_at_once())
        return;
    if (strcmp(kernel_calls_each(&kernel, COUNTED), calls()) != 0)
        fail_msg("%zu octets: %s", size, kernel_calls_each(&kernel, COUNTED));
}

typedef struct row {
    const struct pair *pair;
    enum way way;
} row;

static void
check_pair(void **state)
{
    const row *r = *state;

    open_pair(r->pair, r->way);
    for (size_t i = 0; i < SIZES; i++)
        check_size(sizes[i]);
    close_pair();
}

/* ---- gathered bodies ----------------------------------------------------- */

static unsigned released;

static void
release(void *data, void *arg)
{
    (void)data;
    (void)arg;
    released++;
}

static void
user_part(sennit_msg *msg, size_t at, size_t size)
{
    assert_int_equal(sennit_msg_init_user(msg, body + at, size, release, NULL),
                     SENNIT_OK);
}

/* Two large parts stay where they are and a small one is copied into the batch; what
 * comes is one piece because that is how it was received. */
static void
the_parts_of_a_gathered_body_are_not_copied(void **state)
{
    enum { LARGE = 20000, SMALL = 10 };
    sennit_msg parts[3];
    sennit_msg msg;

    (void)state;
    open_pair(&pairs[0], IPC_EPOLL);
    for (size_t i = 0; i < sizeof body; i++)
        body[i] = (uint8_t)(i * 13 + i / 251);
    for (int i = 0; i < 3; i++) {
        released = 0;
        user_part(&parts[0], 0, LARGE);
        user_part(&parts[1], LARGE, SMALL);
        user_part(&parts[2], LARGE + SMALL, LARGE);
        assert_int_equal(sennit_msg_init_gather(&msg, parts, 3), SENNIT_OK);
        counted.copied = 0;
        counted.on = true;
        kernel = (kernel_calls){ 0 };
        assert_int_equal(sennit_sock_send(x.a, &msg, 0), SENNIT_OK);
        assert_int_equal(sennit_sock_recv(x.b, &msg, 0), SENNIT_OK);
        counted.on = false;
        assert_string_equal(kernel_calls_each(&kernel, 1),
                            "1 epoll_wait, 1 recv, 1 sendmsg");
        assert_int_equal(released, 3);
#ifndef NDEBUG
        assert_int_equal(counted.copied, SMALL);
#endif
        assert_int_equal(sennit_msg_size(&msg), 2 * LARGE + SMALL);
        assert_memory_equal(sennit_msg_data(&msg), body, 2 * LARGE + SMALL);
        sennit_msg_fini(&msg);
    }
    close_pair();
}

#ifdef SENNIT_WITH_URING
/* ---- one message to many ------------------------------------------------- */

#define SUBSCRIBERS 32u

/* Over io_uring one call takes it to all, whoever begins that: the send, who asks for it,
 * or a turn, which also waits. */
static void
a_publication_to_32_subscribers_is_one_call_to_the_kernel(void **state)
{
    const char *const hello = "hello";
    sennit_loop_opts there = SENNIT_LOOP_OPTS_DEFAULT;
    sennit_sock *subs[SUBSCRIBERS];
    sennit_sock_stats stats;
    char endpoint[128];
    sennit_msg msg;

    (void)state;
    sennit_msg_init(&msg);
    memset(&x, 0, sizeof x);
    x.now = 1000000000;
    x.way = IPC_URING;
    x.loops[0] = open_loop();
    there.backend = SENNIT_BACKEND_EPOLL;
    assert_int_equal(sennit_loop_open(&x.loops[1], &there), SENNIT_OK);
    x.a = open_sock(x.loops[0], SENNIT_PUB);
    snprintf(endpoint, sizeof endpoint, "%s", net_bind(x.a, IPC));
    for (unsigned i = 0; i < SUBSCRIBERS; i++) {
        subs[i] = open_sock(x.loops[1], SENNIT_SUB);
        assert_int_equal(sennit_sock_subscribe(subs[i], sni_bytes(NULL, 0)), SENNIT_OK);
        net_connect(subs[i], endpoint);
    }
    do {
        for (int end = 0; end < 2; end++)
            assert_int_equal(sennit_loop_turn(x.loops[end], 0), SENNIT_OK);
        sennit_sock_get_stats(x.a, &stats);
    } while (stats.subscriptions < SUBSCRIBERS);
    for (int k = 0; k < 10; k++) {
        kernel = (kernel_calls){ 0 };
        assert_int_equal(sennit_sock_send_bytes(x.a, hello, 5, 0), SENNIT_OK);
        if (k % 2 == 0) {
            sennit_sock_flush(x.a);
            assert_string_equal(kernel_calls_each(&kernel, 1),
                                "1 io_uring_submit_and_get_events");
        } else {
            assert_int_equal(sennit_loop_turn(x.loops[0], 0), SENNIT_OK);
            assert_int_equal(kernel.sendmsg, 0);
            assert_in_range(kernel.io_uring_submit_and_get_events, 1, 2);
        }
        for (unsigned i = 0; i < SUBSCRIBERS; i++) {
            receive(subs[i], &msg);
            assert_int_equal(sennit_msg_size(&msg), 5);
        }
    }
    sennit_msg_fini(&msg);
    sennit_loop_close(x.loops[0]);
    sennit_loop_close(x.loops[1]);
}
#endif

int
main(void)
{
    static const struct CMUnitTest others[] = {
#ifdef SENNIT_WITH_URING
        cmocka_unit_test(a_publication_to_32_subscribers_is_one_call_to_the_kernel),
#endif
        cmocka_unit_test(the_parts_of_a_gathered_body_are_not_copied),
    };
    static test_suite suite;
    static row rows[PAIRS * WAYS];
    size_t count = 0;

    for (size_t i = 0; i < PAIRS; i++) {
        for (int way = 0; way < WAYS; way++) {
            row *r = &rows[count++];
            char name[80];

            *r = (row){ &pairs[i], (enum way)way };
            if (pairs[i].a == SENNIT_STREAM && (way == ONE_LOOP || way == TWO_LOOPS))
                continue; /* there is no STREAM over inproc */
            snprintf(name, sizeof name, "%s, %s", pairs[i].name, way_names[way]);
            test_suite_row(&suite, "a_message_costs_what_it_must: ", name, check_pair, r);
        }
    }
    TEST_SUITE_ADD(&suite, others);
    return test_suite_run(&suite);
}
