/* SPDX-License-Identifier: MIT */
/* Whole scenarios over sockets with the k-th allocation failing, for every k. Whatever
 * fails: every call succeeds or says ENOMEM, messages come out whole, in order and not
 * twice, connections come back, and in the end nothing is live. */
#include "net.h"

#include <stdio.h>

typedef struct scenario {
    const char *name;
    sennit_sock_type sender;
    sennit_sock_type receiver;
    transport via;
    bool sender_binds;
} scenario;

typedef struct run {
    net n;
    test_alloc *alloc;
    const scenario *what;
    sennit_sock *from;
    sennit_sock *to;
    sennit_time started;
    uint32_t next; /* number to be sent */
    uint32_t last; /* number that was received */
    char endpoint[128];
} run;

static sennit_sock *
open_sock(run *r, sennit_sock_type type, const char *identity)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *sock;
    sennit_err err;

    opts.reconnect_max_ms = 1;
    opts.identity_size = (uint8_t)strlen(identity);
    memcpy(opts.identity, identity, opts.identity_size);
    WORKS(err, sennit_sock_open(&sock, r->n.loop, type, &opts));
    return sock;
}

static void
open_run(run *r, test_alloc *alloc, const scenario *what)
{
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;
    sennit_bytes all = { NULL, 0 };
    sennit_err err;

    r->alloc = alloc;
    r->what = what;
    opts.allocator = &alloc->allocator;
    WORKS(err, sennit_loop_open(&r->n.loop, &opts));
    r->started = sennit_loop_now(r->n.loop);
    r->from = open_sock(r, what->sender, what->sender == SENNIT_STREAM ? "" : "from");
    r->to = open_sock(r, what->receiver, what->receiver == SENNIT_STREAM ? "" : "to");
    if (what->receiver == SENNIT_SUB || what->receiver == SENNIT_XSUB) {
        TWICE(err, sennit_sock_subscribe(r->to, all));
        assert_int_equal(err, SENNIT_OK);
    }
}

static void
bind_and_connect(run *r)
{
    sennit_sock *binder = r->what->sender_binds ? r->from : r->to;
    sennit_sock *connecter = r->what->sender_binds ? r->to : r->from;
    const char *wanted = r->what->via == TCP   ? "tcp://127.0.0.1:*"
                         : r->what->via == IPC ? "ipc://*"
                                               : "inproc://memory";
    sennit_err err;

    WORKS(err, sennit_sock_bind(binder, wanted));
    snprintf(r->endpoint, sizeof r->endpoint, "%s", sennit_sock_last_endpoint(binder));
    WORKS(err, sennit_sock_connect(connecter, r->endpoint));
}

static void
turn(run *r)
{
    sennit_time waited = sennit_loop_now(r->n.loop) - r->started;

    assert_int_equal(sennit_loop_turn(r->n.loop, 1), SENNIT_OK);
    if (waited > (sennit_time)DEADLINE_MS * 1000000u)
        fail_msg("%s: failure %llu of %llu: nothing arrives any more", r->what->name,
                 (unsigned long long)r->alloc->fail_at,
                 (unsigned long long)r->alloc->requests);
}

/* A message: its number in frames that are inline, copied, referenced and empty. */
#define FRAMES 4
static const size_t frame_sizes[FRAMES] = { 4, 300, 5000, 0 };

static sennit_err
send_frame(sennit_sock *sock, const uint8_t *body, size_t size, bool more)
{
    sennit_msg msg;
    sennit_err err;

    assert_int_equal(sennit_msg_init_copy(&msg, body, size), SENNIT_OK);
    TWICE(err, sennit_sock_send(sock, &msg, SENNIT_DONTWAIT | (more ? SENNIT_MORE : 0)));
    sennit_msg_fini(&msg);
    return err;
}

/* EAGAIN: not now. Everything else must work. */
static sennit_err
send_number(run *r, uint32_t number)
{
    uint8_t body[5000];
    sennit_err err;

    memset(body, (int)number, sizeof body);
    memcpy(body, &number, sizeof number);
    if (r->what->sender == SENNIT_ROUTER) {
        err = send_frame(r->from, (const uint8_t *)"to", 2, true);
        assert_int_equal(err, SENNIT_OK);
    }
    for (int i = 0; i < FRAMES; i++) {
        err = send_frame(r->from, body, frame_sizes[i], i + 1 < FRAMES);
        if (i == 0 && err == SENNIT_EAGAIN)
            return err;
        if (err)
            fail_msg("%s: frame %d of %u: %s", r->what->name, i, number,
                     sennit_err_name(err));
    }
    return SENNIT_OK;
}

static sennit_err
recv_frame(run *r, sennit_msg *msg)
{
    sennit_err err;

    TWICE(err, sennit_sock_recv(r->to, msg, SENNIT_DONTWAIT));
    if (err != SENNIT_EAGAIN)
        assert_int_equal(err, SENNIT_OK);
    return err;
}

/* The next whole message must be newer than `*last`. False: nothing there. */
static bool
recv_number(run *r, uint32_t *last)
{
    uint32_t number = 0;
    sennit_msg msg;

    sennit_msg_init(&msg);
    if (r->what->receiver == SENNIT_ROUTER) {
        if (recv_frame(r, &msg) != SENNIT_OK)
            return false;
        assert_int_equal(sennit_msg_size(&msg), 4);
        assert_memory_equal(sennit_msg_data(&msg), "from", 4);
        assert_true(sennit_msg_more(&msg));
    }
    for (int i = 0; i < FRAMES; i++) {
        uint8_t expected[5000];

        if (recv_frame(r, &msg) != SENNIT_OK) {
            if (i > 0 || r->what->receiver == SENNIT_ROUTER)
                fail_msg("%s: failure %llu: %u ends after %d frames", r->what->name,
                         (unsigned long long)r->alloc->fail_at, number, i);
            return false;
        }
        if (i == 0) {
            assert_int_equal(sennit_msg_size(&msg), sizeof number);
            memcpy(&number, sennit_msg_data(&msg), sizeof number);
            if (number <= *last)
                fail_msg("%s: failure %llu: %u after %u", r->what->name,
                         (unsigned long long)r->alloc->fail_at, number, *last);
        }
        memset(expected, (int)number, sizeof expected);
        memcpy(expected, &number, sizeof number);
        if (sennit_msg_size(&msg) != frame_sizes[i] ||
            (frame_sizes[i] > 0 &&
             memcmp(sennit_msg_data(&msg), expected, frame_sizes[i]) != 0) ||
            sennit_msg_more(&msg) != (i + 1 < FRAMES))
            fail_msg("%s: failure %llu: frame %d of %u is another's", r->what->name,
                     (unsigned long long)r->alloc->fail_at, i, number);
    }
    sennit_msg_fini(&msg);
    *last = number;
    return true;
}

/* Inside a turn, so that they gather in the queues until its end. */
static void
send_some(void *arg)
{
    run *r = arg;

    do {
        if (send_number(r, r->next) != SENNIT_OK)
            break;
    } while (++r->next <= r->last + 12);
}

/* Numbers go one way until the fortieth has arrived, or one that was sent after it. */
static void
numbers_go_one_way(test_alloc *alloc, void *arg)
{
    run r;

    open_run(&r, alloc, arg);
    r.next = 1;
    r.last = 0;
    bind_and_connect(&r);
    while (r.last < 40) {
        assert_int_equal(sennit_loop_post(r.n.loop, send_some, &r), SENNIT_OK);
        turn(&r);
        while (recv_number(&r, &r.last))
            continue;
    }
    if (r.what->sender != SENNIT_PUB && r.what->sender != SENNIT_XPUB)
        net_check_law(r.from);
    sennit_loop_close(r.n.loop);
}

/* The sender has closed; the receiver is in the middle of a message when it hears of
 * it, and takes the rest from what was kept of the connection. */
static void
the_rest_is_read_after_the_sender_has_gone(test_alloc *alloc, void *arg)
{
    uint32_t last = 0;
    run r;

    open_run(&r, alloc, arg);
    bind_and_connect(&r);
    while (net_stats(r.to).connections == 0 || net_stats(r.from).connections == 0)
        turn(&r);
    for (uint32_t number = 1; number <= 20;) {
        if (send_number(&r, number) == SENNIT_OK)
            number++;
        else
            turn(&r);
    }
    sennit_sock_flush(r.from);
    while (!recv_number(&r, &last))
        turn(&r);
    while (net_stats(r.from).queued_msgs > 0 && net_stats(r.from).connections > 0)
        turn(&r);
    for (int i = 0; i < 5; i++)
        turn(&r);
    /* The first two frames of the next message, if it is there. */
    {
        sennit_msg msg;
        uint32_t number = 0;
        int frames = 0;

        sennit_msg_init(&msg);
        while (frames < 2 && recv_frame(&r, &msg) == SENNIT_OK) {
            if (frames++ == 0)
                memcpy(&number, sennit_msg_data(&msg), sizeof number);
        }
        sennit_sock_close(r.from);
        /* A receiver that had to stop receiving, because the window it got was full
         * of unread messages, does not hear it: the rest then comes from the
         * connection, and all that follows holds as well. */
        for (int i = 0; i < 200 && net_stats(r.to).connections > 0; i++)
            turn(&r);
        for (int i = frames; frames > 0 && i < FRAMES; i++) {
            assert_int_equal(recv_frame(&r, &msg), SENNIT_OK);
            assert_int_equal(sennit_msg_size(&msg), frame_sizes[i]);
            assert_int_equal(sennit_msg_more(&msg), i + 1 < FRAMES);
            if (frame_sizes[i] > 0)
                assert_memory_equal(sennit_msg_data(&msg), &number, sizeof number);
        }
        if (frames > 0) {
            assert_true(number > last);
            last = number;
        }
        sennit_msg_fini(&msg);
    }
    while (recv_number(&r, &last))
        continue;
    sennit_loop_close(r.n.loop);
}

/* A request, its answer, again and again. */
static void
round_trips(test_alloc *alloc, void *arg)
{
    unsigned done = 0;
    uint32_t asked = 0;
    bool waiting = false;
    run r;

    open_run(&r, alloc, arg);
    bind_and_connect(&r);
    while (done < 5) {
        uint32_t number;
        size_t size;
        uint8_t body[300];
        sennit_err err;

        memset(body, 0, sizeof body);
        if (!waiting) {
            uint32_t next = asked + 1;

            memcpy(body, &next, sizeof next);
            err = send_frame(r.from, body, sizeof body, false);
            if (err == SENNIT_OK) {
                asked = next;
                waiting = true;
            } else {
                assert_int_equal(err, SENNIT_EAGAIN);
            }
        }
        TWICE(err,
              sennit_sock_recv_bytes(r.to, body, sizeof body, &size, SENNIT_DONTWAIT));
        if (err == SENNIT_OK) {
            assert_int_equal(size, sizeof body);
            assert_int_equal(send_frame(r.to, body, sizeof body, false), SENNIT_OK);
        } else {
            assert_int_equal(err, SENNIT_EAGAIN);
        }
        turn(&r);
        if (!waiting)
            continue;
        TWICE(err,
              sennit_sock_recv_bytes(r.from, body, sizeof body, &size, SENNIT_DONTWAIT));
        if (err == SENNIT_OK) {
            memcpy(&number, body, sizeof number);
            assert_int_equal(number, asked);
            waiting = false;
            done++;
        } else if (err == SENNIT_ECONNRESET) {
            waiting = false;
        } else {
            assert_int_equal(err, SENNIT_EAGAIN);
        }
        /* A request ends with its connection or not at all. */
        assert_int_equal(net_stats(r.to).dropped_memory_msgs, 0);
    }
    sennit_loop_close(r.n.loop);
}

/* All that an option costs memory for, at both ends: copies of what it points to, a first
 * message, properties, timers of age and of heartbeats, messages that are moved. */
static sennit_sock_opts
all_opts(sennit_sock_type type)
{
    static const sennit_property property = { "X-Name", { (const uint8_t *)"me", 2 } };
    sennit_sock_opts opts = net_opts();

    opts.reconnect_max_ms = 1;
    opts.properties = &property;
    opts.properties_count = 1;
    opts.heartbeat_interval_ms = 1;
    opts.heartbeat_timeout_ms = 0;
    opts.send_age_max_ms = 1000;
    opts.recv_batch_bytes = 1024;
    opts.conflate = true;
    if (type == SENNIT_DEALER) {
        opts.hello = (sennit_bytes){ (const uint8_t *)"H", 1 };
        opts.hiccup = (sennit_bytes){ (const uint8_t *)"L", 1 };
    }
    return opts;
}

static void
open_with_all(run *r, test_alloc *alloc, const scenario *what)
{
    sennit_loop_opts loop_opts = SENNIT_LOOP_OPTS_DEFAULT;
    sennit_sock_opts from = all_opts(what->sender);
    sennit_sock_opts to = all_opts(what->receiver);
    sennit_err err;

    r->alloc = alloc;
    r->what = what;
    loop_opts.allocator = &alloc->allocator;
    WORKS(err, sennit_loop_open(&r->n.loop, &loop_opts));
    r->started = sennit_loop_now(r->n.loop);
    WORKS(err, sennit_sock_open(&r->from, r->n.loop, what->sender, &from));
    WORKS(err, sennit_sock_open(&r->to, r->n.loop, what->receiver, &to));
    if (what->receiver == SENNIT_SUB) {
        TWICE(err, sennit_sock_subscribe(r->to, (sennit_bytes){ NULL, 0 }));
        assert_int_equal(err, SENNIT_OK);
    }
}

/* Numbers of one frame; the newest always comes through. */
static void
the_newest_comes_through(test_alloc *alloc, void *arg)
{
    uint32_t sent = 0;
    uint32_t last = 0;
    sennit_peer peer;
    run r;

    open_with_all(&r, alloc, arg);
    bind_and_connect(&r);
    while (last < 20) {
        sennit_sock_opts opts;
        uint32_t number = 0;
        uint8_t body[300];
        size_t size;
        sennit_err err;

        /* Some are lost with a connection. */
        sent++;
        memset(body, 0, sizeof body);
        memcpy(body, &sent, sizeof sent);
        (void)send_frame(r.from, body, sizeof body, false);
        turn(&r);
        TWICE(err,
              sennit_sock_recv_bytes(r.to, body, sizeof body, &size, SENNIT_DONTWAIT));
        if (err == SENNIT_OK && size == sizeof body) {
            memcpy(&number, body, sizeof number);
            assert_true(number > last);
            last = number;
        }
        (void)sennit_sock_get_peers(r.to, &peer, 1);
        sennit_sock_get_opts(r.from, &opts);
        opts.send_age_max_ms = 1000 + (int)(last % 2);
        TWICE(err, sennit_sock_set_opts(r.from, &opts));
        assert_int_equal(err, SENNIT_OK);
    }
    sennit_loop_close(r.n.loop);
}

/* [identity, bytes] one way; the connecter says by what the other is known. */
static void
bytes_come_through(test_alloc *alloc, void *arg)
{
    bool arrived = false;
    sennit_err err;
    run r;

    open_run(&r, alloc, arg);
    WORKS(err, sennit_sock_bind(r.to, "tcp://127.0.0.1:*"));
    WORKS(err, sennit_sock_connect_as(r.from, sennit_sock_last_endpoint(r.to),
                                      (sennit_bytes){ (const uint8_t *)"them", 4 }));
    while (!arrived) {
        sennit_msg msg;

        if (send_frame(r.from, (const uint8_t *)"them", 4, true) == SENNIT_OK)
            (void)send_frame(r.from, (const uint8_t *)"some bytes", 10, false);
        turn(&r);
        sennit_msg_init(&msg);
        while (recv_frame(&r, &msg) == SENNIT_OK)
            arrived = arrived || (!sennit_msg_more(&msg) && sennit_msg_size(&msg) > 0);
        sennit_msg_fini(&msg);
        /* And what the connecter itself is told. */
        sennit_msg_init(&msg);
        TWICE(err, sennit_sock_recv(r.from, &msg, SENNIT_DONTWAIT));
        sennit_msg_fini(&msg);
    }
    sennit_loop_close(r.n.loop);
}

static const scenario newest[] = {
    { "PUSH to PULL with every option", SENNIT_PUSH, SENNIT_PULL, TCP, false },
    { "bound PUB to SUB with every option", SENNIT_PUB, SENNIT_SUB, TCP, true },
    { "DEALER to DEALER with every option", SENNIT_DEALER, SENNIT_DEALER, IPC, false },
};

static const scenario streams[] = {
    { "STREAM to STREAM", SENNIT_STREAM, SENNIT_STREAM, TCP, false },
};

static const scenario one_way[] = {
    { "PUSH to PULL over tcp", SENNIT_PUSH, SENNIT_PULL, TCP, false },
    { "bound PUSH to PULL over tcp", SENNIT_PUSH, SENNIT_PULL, TCP, true },
    { "PUSH to PULL over ipc", SENNIT_PUSH, SENNIT_PULL, IPC, false },
    { "PUSH to PULL over inproc", SENNIT_PUSH, SENNIT_PULL, INPROC, false },
    { "bound PUB to SUB over tcp", SENNIT_PUB, SENNIT_SUB, TCP, true },
    { "PUB to bound SUB over tcp", SENNIT_PUB, SENNIT_SUB, TCP, false },
    { "bound PUB to SUB over inproc", SENNIT_PUB, SENNIT_SUB, INPROC, true },
    { "DEALER to ROUTER over tcp", SENNIT_DEALER, SENNIT_ROUTER, TCP, false },
    { "DEALER to ROUTER over inproc", SENNIT_DEALER, SENNIT_ROUTER, INPROC, false },
    { "bound ROUTER to DEALER over tcp", SENNIT_ROUTER, SENNIT_DEALER, TCP, true },
    { "ROUTER to bound DEALER over tcp", SENNIT_ROUTER, SENNIT_DEALER, TCP, false },
    { "PAIR to PAIR over tcp", SENNIT_PAIR, SENNIT_PAIR, TCP, false },
    { "bound XPUB to SUB over tcp", SENNIT_XPUB, SENNIT_SUB, TCP, true },
    { "XPUB to bound XSUB over tcp", SENNIT_XPUB, SENNIT_XSUB, TCP, false },
    { "bound PUB to XSUB over inproc", SENNIT_PUB, SENNIT_XSUB, INPROC, true },
};

static const scenario gone[] = {
    { "PUSH gone, PULL bound, over tcp", SENNIT_PUSH, SENNIT_PULL, TCP, false },
    { "PUSH gone, PULL connected, over tcp", SENNIT_PUSH, SENNIT_PULL, TCP, true },
    { "PUSH gone over inproc", SENNIT_PUSH, SENNIT_PULL, INPROC, false },
};

static const scenario trips[] = {
    { "REQ asks REP over tcp", SENNIT_REQ, SENNIT_REP, TCP, false },
    { "bound REQ asks REP over tcp", SENNIT_REQ, SENNIT_REP, TCP, true },
    { "REQ asks REP over ipc", SENNIT_REQ, SENNIT_REP, IPC, false },
    { "REQ asks REP over inproc", SENNIT_REQ, SENNIT_REP, INPROC, false },
};

static void
survives(void **state, void (*what)(test_alloc *alloc, void *arg))
{
    uint64_t runs = test_alloc_every_failure(what, *state);

    assert_true(runs > 10);
}

static void
one_way_survives(void **state)
{
    survives(state, numbers_go_one_way);
}

static void
gone_survives(void **state)
{
    survives(state, the_rest_is_read_after_the_sender_has_gone);
}

static void
newest_survives(void **state)
{
    survives(state, the_newest_comes_through);
}

static void
streams_survive(void **state)
{
    survives(state, bytes_come_through);
}

static void
trips_survive(void **state)
{
    survives(state, round_trips);
}

#define COUNT(rows) (sizeof(rows) / sizeof(rows)[0])
#define TESTS                                                                            \
    (COUNT(one_way) + COUNT(gone) + COUNT(trips) + COUNT(newest) + COUNT(streams))

static struct CMUnitTest
test_of(const scenario *what, CMUnitTestFunction check, char name[96])
{
    void *state;

    memcpy(&state, &what, sizeof state); /* cmocka's state is not const */
    snprintf(name, 96, "%s, with every allocation failing once", what->name);
    return (struct CMUnitTest){ name, check, NULL, NULL, state };
}

int
main(void)
{
    static char names[TESTS][96];
    struct CMUnitTest tests[TESTS];
    size_t count = 0;

    for (size_t i = 0; i < COUNT(one_way); i++, count++)
        tests[count] = test_of(&one_way[i], one_way_survives, names[count]);
    for (size_t i = 0; i < COUNT(gone); i++, count++)
        tests[count] = test_of(&gone[i], gone_survives, names[count]);
    for (size_t i = 0; i < COUNT(trips); i++, count++)
        tests[count] = test_of(&trips[i], trips_survive, names[count]);
    for (size_t i = 0; i < COUNT(newest); i++, count++)
        tests[count] = test_of(&newest[i], newest_survives, names[count]);
    for (size_t i = 0; i < COUNT(streams); i++, count++)
        tests[count] = test_of(&streams[i], streams_survive, names[count]);
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
