/* SPDX-License-Identifier: MIT */
/* What a message may cost: allocations and calls to the kernel, counted in a backend
 * around epoll. The clock is the test's, so the numbers are the same on any machine:
 * whether sends are gathered depends on it and on nothing else. */
#include "net.h"

#include <unistd.h>

#include "base/limits.h"
#include "core/loop.h"

static struct {
    const sni_io_ops *real;
    sni_io_ops ops;
    sennit_time now;
    sennit_time step; /* what each look at the clock takes */
    unsigned sends;
    unsigned recvs;
    unsigned reaps;
    unsigned nothing;    /* reaps that brought nothing */
    size_t crumb;        /* the kernel takes no more than this at a time; 0: all */
    sennit_time send_ns; /* what a send to the kernel takes */
    bool lonely;         /* nothing ends a wait but its time, which is up at once */
} io;

static void
count_done(const sni_op *op)
{
    io.recvs += op->kind == SNI_OP_RECV;
}

static bool
counting_submit(sni_io *self, sni_op *op)
{
    static sennit_bytes crumb;
    bool is_done;

    if (io.crumb > 0 && op->kind == SNI_OP_SEND) {
        crumb = op->parts[0];
        crumb.size = crumb.size < io.crumb ? crumb.size : io.crumb;
        op->parts = &crumb;
        op->parts_count = 1;
    }
    is_done = io.real->submit(self, op);

    io.sends += op->kind == SNI_OP_SEND;
    io.now += op->kind == SNI_OP_SEND ? io.send_ns : 0;
    if (is_done)
        count_done(op);
    return is_done;
}

static int
counting_reap(sni_io *self, sni_op **done, int done_max, sennit_time until)
{
    int count;

    if (io.lonely && until > io.now) {
        io.now = until;
        until = 0;
    }
    /* Real waits end by themselves: what is awaited here has been sent. */
    count = io.real->reap(self, done, done_max, until == 0 ? 0 : SENNIT_NEVER);
    io.reaps++;
    io.nothing += count == 0;
    for (int i = 0; i < count; i++)
        count_done(done[i]);
    return count;
}

static sennit_time
counting_now(sni_io *self)
{
    (void)self;
    io.now += io.step;
    return io.now;
}

/* Stands still: looking after others now and then is no cost of a message. */
static sennit_time
counting_now_coarse(sni_io *self)
{
    (void)self;
    return 1;
}

static sennit_err
open_counting(sni_io **out, const sennit_allocator *alloc, sni_pool *recv_blocks,
              void *arg)
{
    sennit_err err = sni_io_epoll_open(out, alloc, recv_blocks);

    (void)arg;
    if (err)
        return err;
    io.real = (*out)->ops;
    io.ops = *io.real;
    io.ops.submit = counting_submit;
    io.ops.reap = counting_reap;
    io.ops.now = counting_now;
    io.ops.now_coarse = counting_now_coarse;
    (*out)->ops = &io.ops;
    return SENNIT_OK;
}

static void
reset_counts(void)
{
    io.sends = 0;
    io.recvs = 0;
    io.reaps = 0;
    io.nothing = 0;
}

static void
open_net(net *n)
{
    test_alloc_init(&n->alloc);
    io.now = 1000000000;
    io.step = 0;
    assert_int_equal(
        sni_loop_open_with(&n->loop, &n->alloc.allocator, open_counting, NULL),
        SENNIT_OK);
}

static net n;

static sennit_sock *
endless(sennit_sock_type type)
{
    sennit_sock_opts opts = net_opts();

    opts.send_timeout_ms = -1;
    opts.recv_timeout_ms = -1;
    opts.handshake_timeout_ms = 0;
    opts.send_hwm_msgs = 0;
    opts.recv_hwm_msgs = 0;
    return net_sock(&n, type, &opts);
}

/* Both endless, and joined. */
static void
open_pair(transport via, sennit_sock_type binds, sennit_sock **binder,
          sennit_sock_type connects, sennit_sock **connecter)
{
    open_net(&n);
    *connecter = endless(connects);
    *binder = endless(binds);
    net_join(&n, *binder, *connecter, via);
}

static uint8_t body[64];

static void
send_64(sennit_sock *sock)
{
    assert_int_equal(sennit_sock_send_bytes(sock, body, sizeof body, 0), SENNIT_OK);
}

static void
recv_64(sennit_sock *sock)
{
    size_t size;

    assert_int_equal(sennit_sock_recv_bytes(sock, body, sizeof body, &size, 0),
                     SENNIT_OK);
    assert_int_equal(size, sizeof body);
}

static void
send_many(sennit_sock *sock, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        send_64(sock);
}

static void
recv_many(sennit_sock *sock, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        recv_64(sock);
}

static void
round_trips(sennit_sock *req, sennit_sock *rep, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        send_64(req);
        recv_64(rep);
        send_64(rep);
        recv_64(req);
    }
}

/* Longer between two messages than sends are gathered: the idle case. */
static void
a_round_trip_is_one_send_one_receive_and_one_wait_at_each_end(void **state)
{
    (void)state;
    for (int via = 0; via < INPROC; via++) {
        sennit_sock *req;
        sennit_sock *rep;

        open_pair((transport)via, SENNIT_REP, &rep, SENNIT_REQ, &req);
        io.step = 10 * SNI_GATHER_NS;
        round_trips(req, rep, 10);
        reset_counts();
        round_trips(req, rep, 1000);
        assert_int_equal(io.sends, 2000);
        assert_int_equal(io.recvs, 2000);
        assert_true(io.reaps <= 2000);
        net_close(&n);
    }
}

static void
a_round_trip_allocates_nothing(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock *req;
        sennit_sock *rep;
        uint64_t before;

        open_pair((transport)via, SENNIT_REP, &rep, SENNIT_REQ, &req);
        io.step = 10 * SNI_GATHER_NS;
        round_trips(req, rep, 100);
        before = n.alloc.requests;
        round_trips(req, rep, 1000);
        assert_int_equal(n.alloc.requests - before, 0);
        net_close(&n);
    }
}

/* No time passes in a burst: everything behind the first message is one batch after
 * the other. */
static void
a_burst_of_ten_thousand_takes_less_than_a_hundred_sends(void **state)
{
    (void)state;
    for (int via = 0; via < INPROC; via++) {
        sennit_sock *push;
        sennit_sock *pull;

        open_pair((transport)via, SENNIT_PULL, &pull, SENNIT_PUSH, &push);
        reset_counts();
        send_many(push, 10000);
        recv_many(pull, 10000);
        assert_true(io.sends < 100);
        assert_true(io.recvs < 100);
        assert_true(io.reaps < 100);
        net_close(&n);
    }
}

/* How often the kernel is asked for 12,000 small messages, ten microseconds for 16 of
 * them, when each time takes `send_ns`. */
static unsigned
sends_of_a_long_burst(sennit_time send_ns)
{
    sennit_sock *push;
    sennit_sock *pull;
    unsigned sends;

    open_pair(TCP, SENNIT_PULL, &pull, SENNIT_PUSH, &push);
    io.step = 10000;
    io.send_ns = send_ns;
    reset_counts();
    send_many(push, 12000);
    sends = io.sends;
    recv_many(pull, 12000);
    io.step = io.send_ns = 0;
    net_close(&n);
    return sends;
}

static void
the_longer_a_flush_takes_the_more_is_gathered_for_it(void **state)
{
    unsigned quick = sends_of_a_long_burst(0);

    (void)state;
    assert_in_range(quick, 40, 60);
    assert_in_range(sends_of_a_long_burst(100000), 20, 30);
    /* But not without end: 800 messages are sent in half a millisecond. */
    assert_in_range(sends_of_a_long_burst(100000000), 15, 20);
}

/* The gathering of sends and the size of receives are what they were set to. */
static void
a_batch_is_as_large_as_it_was_set(void **state)
{
    (void)state;
    for (int via = 0; via < INPROC; via++) {
        sennit_sock_opts opts = net_opts();
        sennit_sock *push;
        sennit_sock *pull;

        opts.send_batch_bytes = 1024;
        opts.recv_batch_bytes = 2048;
        opts.send_hwm_msgs = 0;
        opts.recv_hwm_msgs = 0;
        open_net(&n);
        push = net_sock(&n, SENNIT_PUSH, &opts);
        pull = net_sock(&n, SENNIT_PULL, &opts);
        net_join(&n, pull, push, (transport)via);
        reset_counts();
        /* Heads of 2: 16 messages are 1056 octets. */
        send_many(push, 1600);
        sennit_sock_flush(push);
        assert_in_range(io.sends, 80, 110);
        recv_many(pull, 1600);
        /* 105600 octets. */
        assert_true(io.recvs >= 52);
        net_close(&n);
    }
}

static void
a_stream_of_messages_allocates_nothing(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock *push;
        sennit_sock *pull;
        uint64_t before = 0;

        open_pair((transport)via, SENNIT_PULL, &pull, SENNIT_PUSH, &push);
        for (int round = 0; round < 20; round++) {
            if (round == 10)
                before = n.alloc.requests;
            send_many(push, 1000);
            recv_many(pull, 1000);
        }
        assert_int_equal(n.alloc.requests - before, 0);
        net_close(&n);
    }
}

static void
send_100(void *arg)
{
    send_many(arg, 100);
}

/* A kernel that takes everything, a little at a time: nobody else would have a turn
 * before a long queue was through. */
static void
no_connection_keeps_a_turn_to_itself(void **state)
{
    (void)state;
    for (int via = 0; via < INPROC; via++) {
        sennit_sock *push[2];
        sennit_sock *pull;

        open_net(&n);
        pull = endless(SENNIT_PULL);
        for (int i = 0; i < 2; i++) {
            push[i] = endless(SENNIT_PUSH);
            net_join(&n, pull, push[i], (transport)via);
        }
        io.crumb = 70; /* a message and a little */
        for (int i = 0; i < 2; i++)
            assert_int_equal(sennit_loop_post(n.loop, send_100, push[i]), SENNIT_OK);
        reset_counts();
        assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
        /* As many in a row, once when they are flushed and once when they go on. */
        assert_in_range(io.sends, 2, 2 * 2 * SNI_SENDS_IN_A_ROW);
        for (int i = 0; i < 2; i++)
            assert_in_range(net_stats(push[i]).delivered_msgs, 1, 20);
        recv_many(pull, 200);
        io.crumb = 0;
        net_close(&n);
    }
}

/* Fairness is for turns: a flush leaves nothing that the kernel would take. */
static void
a_flush_writes_also_what_had_stopped_to_let_others_have_a_turn(void **state)
{
    (void)state;
    for (int via = 0; via < INPROC; via++) {
        sennit_sock *push;
        sennit_sock *pull;

        open_pair((transport)via, SENNIT_PULL, &pull, SENNIT_PUSH, &push);
        io.crumb = 70;
        assert_int_equal(sennit_loop_post(n.loop, send_100, push), SENNIT_OK);
        assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
        assert_in_range(net_stats(push).queued_msgs, 1, 99);
        sennit_sock_flush(push);
        assert_int_equal(net_stats(push).queued_msgs, 0);
        recv_many(pull, 100);
        io.crumb = 0;
        net_close(&n);
    }
}

/* A look stopped in the middle of what is not wanted, and then the application waits for
 * something else. */
static void
input_that_is_left_does_not_keep_a_call_that_waits_awake(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock *dealer;
        sennit_sock *rep;

        open_pair((transport)via, SENNIT_REP, &rep, SENNIT_DEALER, &dealer);
        for (int i = 0; i < 1000; i++)
            net_send(dealer, "no delimiter");
        NET_UNTIL(&n, net_only_peer(rep).unread_msgs == 1000);
        assert_string_equal(net_recv_flags(rep, SENNIT_DONTWAIT), "EAGAIN");
        assert_true(net_only_peer(rep).unread_msgs > 0);
        io.lonely = true;
        io.step = 1000000;
        reset_counts();
        assert_int_equal(sennit_sock_wait_connections(rep, 2, 1000), SENNIT_EAGAIN);
        assert_in_range(io.reaps, 1, 3);
        io.lonely = false;
        net_close(&n);
    }
}

/* Both ends of connections over which nothing is under way; their peers do not close. The
 * last octets that were sent are acknowledged by the message behind them. */
static void
closing_what_is_idle_waits_for_nobody(void **state)
{
    enum { PEERS = 10 };
    int fds[2 * PEERS];
    char endpoint[64];
    sennit_sock_opts opts = net_opts();
    sennit_sock *dealer;
    sennit_time before;

    (void)state;
    open_net(&n);
    opts.linger_ms = 30000;
    opts.handshake_timeout_ms = 0;
    dealer = net_sock(&n, SENNIT_DEALER, &opts);
    for (int i = 0; i < PEERS; i++) {
        int listener = raw_listen(endpoint);

        net_connect(dealer, endpoint);
        fds[i] = raw_accept(&n, listener);
        close(listener);
        fds[PEERS + i] = raw_connect(net_bind(dealer, i % 2 ? TCP : IPC));
    }
    for (int i = 0; i < 2 * PEERS; i++) {
        raw_handshake(&n, fds[i], "DEALER", "");
        raw_write(&n, fds[i], "\0\1x", 3);
        assert_string_equal(net_recv(dealer), "x");
    }
    io.lonely = true;
    before = io.now;
    sennit_sock_close(dealer);
    net_close(&n);
    io.lonely = false;
    assert_int_equal(io.now - before, 0);
    for (int i = 0; i < 2 * PEERS; i++)
        close(fds[i]);
}

static void
turn_a_few_times(void)
{
    for (int i = 0; i < 5; i++)
        assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
}

/* What waits for the kernel is taken back because it is too old, and in the same moment
 * an answer is overdue: the peer is no less held up for that. */
static void
what_is_taken_back_from_the_kernel_does_not_make_its_peer_silent(void **state)
{
    static const uint8_t large[1 << 16];

    (void)state;
    for (int via = 0; via < INPROC; via++) {
        sennit_sock_opts opts = net_opts();
        sennit_sock *push;
        int fd;

        open_net(&n);
        opts.heartbeat_interval_ms = 1000;
        opts.send_age_max_ms = 500;
        opts.handshake_timeout_ms = 0;
        push = net_sock(&n, SENNIT_PUSH, &opts);
        fd = raw_connect(net_bind(push, (transport)via));
        raw_handshake(&n, fd, "PULL", NULL);
        assert_int_equal(net_stats(push).connections, 1);
        io.now += 1000000000;
        turn_a_few_times();
        for (int i = 0; i < 200; i++)
            assert_int_equal(sennit_sock_send_bytes(push, large, sizeof large, 0),
                             SENNIT_OK);
        turn_a_few_times();
        assert_true(net_stats(push).queued_msgs > 1);
        io.now += 3000000000;
        turn_a_few_times();
        assert_true(net_stats(push).dropped_expired_msgs > 0);
        assert_int_equal(net_stats(push).connections, 1);
        close(fd);
        net_close(&n);
    }
}

static void
an_idle_connection_costs_little_memory(void **state)
{
    sennit_sock *router;
    size_t before;

    (void)state;
    open_net(&n);
    router = endless(SENNIT_ROUTER);
    for (int i = 0; i < 100; i++)
        net_join(&n, router, endless(SENNIT_DEALER), TCP);
    before = n.alloc.live_bytes;
    for (int i = 0; i < 100; i++)
        net_join(&n, router, endless(SENNIT_DEALER), TCP);
    /* A listener, a socket, and both ends of a connection, the monitors' rings with
     * them. */
    assert_true((n.alloc.live_bytes - before) / 100 < 16000);
    net_close(&n);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_round_trip_is_one_send_one_receive_and_one_wait_at_each_end),
        cmocka_unit_test(a_round_trip_allocates_nothing),
        cmocka_unit_test(a_burst_of_ten_thousand_takes_less_than_a_hundred_sends),
        cmocka_unit_test(the_longer_a_flush_takes_the_more_is_gathered_for_it),
        cmocka_unit_test(a_batch_is_as_large_as_it_was_set),
        cmocka_unit_test(a_stream_of_messages_allocates_nothing),
        cmocka_unit_test(no_connection_keeps_a_turn_to_itself),
        cmocka_unit_test(a_flush_writes_also_what_had_stopped_to_let_others_have_a_turn),
        cmocka_unit_test(input_that_is_left_does_not_keep_a_call_that_waits_awake),
        cmocka_unit_test(closing_what_is_idle_waits_for_nobody),
        cmocka_unit_test(
            what_is_taken_back_from_the_kernel_does_not_make_its_peer_silent),
        cmocka_unit_test(an_idle_connection_costs_little_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
