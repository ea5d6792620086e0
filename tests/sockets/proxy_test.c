/* SPDX-License-Identifier: MIT */
/* The proxy between sockets of one loop: what goes in comes out whole, and what cannot
 * move costs nothing and stops nothing else. */
#include "net.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>

#include "rng.h"
#include "sennit/proxy.h"

#define NS_PER_MS UINT64_C(1000000)

typedef struct rig {
    net n;
    sennit_sock *front;
    sennit_sock *back;
    sennit_proxy *proxy;
    char front_at[128];
    char back_at[128];
} rig;

static void
rig_open(rig *r, sennit_sock_type front, sennit_sock_type back, transport via,
         const sennit_sock_opts *opts, sennit_sock *captures)
{
    if (captures == NULL)
        net_open(&r->n);
    r->front = net_sock(&r->n, front, opts);
    r->back = net_sock(&r->n, back, opts);
    snprintf(r->front_at, sizeof r->front_at, "%s", net_bind(r->front, via));
    snprintf(r->back_at, sizeof r->back_at, "%s", net_bind(r->back, via));
    assert_int_equal(sennit_proxy_open(&r->proxy, r->front, r->back, captures),
                     SENNIT_OK);
}

static void
rig_close(rig *r)
{
    sennit_proxy_close(r->proxy);
    net_close(&r->n);
}

static sennit_sock *
joined(rig *r, sennit_sock_type type, const char *endpoint, const sennit_sock_opts *opts)
{
    sennit_sock *sock = net_sock(&r->n, type, opts);

    net_connect(sock, endpoint);
    NET_UNTIL(&r->n, net_stats(sock).connections == 1);
    return sock;
}

static sennit_proxy_stats
stats_of(const rig *r)
{
    sennit_proxy_stats stats;

    sennit_proxy_get_stats(r->proxy, &stats);
    return stats;
}

/* ---- what passes -------------------------------------------------------- */

static void
requests_and_replies_of_many_pass(void **state)
{
    enum { CLIENTS = 5, WORKERS = 3, ROUNDS = 40 };

    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        rig r;
        sennit_sock *clients[CLIENTS];
        sennit_sock *workers[WORKERS];
        unsigned served[WORKERS] = { 0 };
        char text[64];

        rig_open(&r, SENNIT_ROUTER, SENNIT_DEALER, (transport)via, NULL, NULL);
        for (int i = 0; i < WORKERS; i++)
            workers[i] = joined(&r, SENNIT_REP, r.back_at, NULL);
        for (int i = 0; i < CLIENTS; i++)
            clients[i] = joined(&r, SENNIT_REQ, r.front_at, NULL);
        for (int round = 0; round < ROUNDS; round++) {
            unsigned answered = 0;

            for (int i = 0; i < CLIENTS; i++) {
                snprintf(text, sizeof text, "%d|of %d", round, i);
                net_send(clients[i], text);
            }
            /* Answered with what was asked, by whichever worker gets it. */
            NET_DOING(&r.n, answered == CLIENTS)
            {
                for (int i = 0; i < WORKERS; i++) {
                    char request[64];

                    if (!(sennit_sock_ready(workers[i]) & SENNIT_READABLE))
                        continue;
                    snprintf(request, sizeof request, "%s", net_recv(workers[i]));
                    net_send(workers[i], request);
                    served[i]++;
                    answered++;
                }
            }
            for (int i = 0; i < CLIENTS; i++) {
                snprintf(text, sizeof text, "%d|of %d", round, i);
                assert_string_equal(net_recv(clients[i]), text);
            }
        }
        for (int i = 0; i < WORKERS; i++)
            assert_true(served[i] > 0);
        assert_int_equal(stats_of(&r).front_received.msgs, CLIENTS * ROUNDS);
        assert_int_equal(stats_of(&r).front_sent.msgs, CLIENTS * ROUNDS);
        assert_int_equal(stats_of(&r).back_received.msgs, CLIENTS * ROUNDS);
        assert_int_equal(stats_of(&r).back_sent.msgs, CLIENTS * ROUNDS);
        rig_close(&r);
    }
}

/* Sizes where bodies are held, copied or referenced differently. */
static const size_t sizes[] = { 0, 1, 55, 56, 255, 256, 4095, 4096, 70000, 0 };
#define SIZES (sizeof sizes / sizeof sizes[0])

static uint8_t body[70000 + SIZES];

static void
send_shapes(sennit_sock *sock, size_t from)
{
    for (size_t i = from; i < SIZES; i++)
        assert_int_equal(sennit_sock_send_bytes(sock, body + i, sizes[i],
                                                i + 1 < SIZES ? SENNIT_MORE : 0),
                         SENNIT_OK);
}

static void
recv_shapes(sennit_sock *sock, size_t from)
{
    sennit_msg msg;

    sennit_msg_init(&msg);
    for (size_t i = from; i < SIZES; i++) {
        assert_int_equal(sennit_sock_recv(sock, &msg, 0), SENNIT_OK);
        assert_int_equal(sennit_msg_size(&msg), sizes[i]);
        assert_int_equal(sennit_msg_more(&msg), i + 1 < SIZES);
        if (sizes[i] > 0)
            assert_memory_equal(sennit_msg_data(&msg), body + i, sizes[i]);
    }
    sennit_msg_fini(&msg);
}

static void
frames_of_every_size_pass_and_are_counted(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        rig r;
        sennit_sock *push;
        sennit_sock *pull;
        sennit_proxy_stats stats;
        uint64_t msgs = 0;
        uint64_t frames = 0;
        uint64_t bytes = 0;

        rig_open(&r, SENNIT_PULL, SENNIT_PUSH, (transport)via, NULL, NULL);
        push = joined(&r, SENNIT_PUSH, r.front_at, NULL);
        pull = joined(&r, SENNIT_PULL, r.back_at, NULL);
        for (size_t from = 0; from < SIZES; from++) {
            send_shapes(push, from);
            recv_shapes(pull, from);
            msgs++;
            for (size_t i = from; i < SIZES; i++) {
                frames++;
                bytes += sizes[i];
            }
        }
        stats = stats_of(&r);
        assert_int_equal(stats.front_received.msgs, msgs);
        assert_int_equal(stats.front_received.frames, frames);
        assert_int_equal(stats.front_received.bytes, bytes);
        assert_memory_equal(&stats.back_sent, &stats.front_received,
                            sizeof stats.back_sent);
        assert_int_equal(stats.back_received.frames, 0);
        assert_int_equal(stats.front_sent.frames, 0);
        rig_close(&r);
    }
}

static void
bodies_pass_without_a_copy(void **state)
{
    rig r;
    sennit_sock *push;
    sennit_sock *pull;
    sennit_msg msg;

    (void)state;
    rig_open(&r, SENNIT_PULL, SENNIT_PUSH, INPROC, NULL, NULL);
    push = joined(&r, SENNIT_PUSH, r.front_at, NULL);
    pull = joined(&r, SENNIT_PULL, r.back_at, NULL);
    assert_int_equal(sennit_msg_init_user(&msg, body, sizeof body, NULL, NULL),
                     SENNIT_OK);
    assert_int_equal(sennit_sock_send(push, &msg, 0), SENNIT_OK);
    assert_int_equal(sennit_sock_recv(pull, &msg, 0), SENNIT_OK);
    assert_ptr_equal(sennit_msg_data(&msg), body);
    sennit_msg_fini(&msg);
    rig_close(&r);
}

/* More than the queues of all three sockets hold, so that it must wait and go on. */
static void
a_long_stream_passes_full_queues_in_order(void **state)
{
    enum { MESSAGES = 5000 };

    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock_opts opts = net_opts();
        rig r;
        sennit_sock *push;
        sennit_sock *pull;
        unsigned sent = 0;
        unsigned received = 0;

        opts.send_hwm_msgs = 7;
        opts.recv_hwm_msgs = 5;
        rig_open(&r, SENNIT_PULL, SENNIT_PUSH, (transport)via, &opts, NULL);
        push = joined(&r, SENNIT_PUSH, r.front_at, &opts);
        pull = joined(&r, SENNIT_PULL, r.back_at, &opts);
        NET_DOING(&r.n, received == MESSAGES)
        {
            unsigned number;
            size_t size;

            while (sent < MESSAGES &&
                   sennit_sock_send_bytes(push, &sent, sizeof sent, SENNIT_DONTWAIT) ==
                       SENNIT_OK)
                sent++;
            while (sennit_sock_recv_bytes(pull, &number, sizeof number, &size,
                                          SENNIT_DONTWAIT) == SENNIT_OK)
                assert_int_equal(number, received++);
        }
        assert_int_equal(stats_of(&r).back_sent.msgs, MESSAGES);
        assert_int_equal(stats_of(&r).dropped_msgs, 0);
        rig_close(&r);
    }
}

/* A broker: subscriptions go one way, publications the other. The publisher sends only
 * what somebody behind the broker wants. */
static void
topics_and_publications_pass_a_broker(void **state)
{
    static const sennit_bytes a = { (const uint8_t *)"a", 1 };
    static const sennit_bytes b = { (const uint8_t *)"b", 1 };

    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        rig r;
        sennit_sock *pub;
        sennit_sock *late;
        sennit_sock *sub;

        rig_open(&r, SENNIT_XSUB, SENNIT_XPUB, (transport)via, NULL, NULL);
        pub = joined(&r, SENNIT_PUB, r.front_at, NULL);
        sub = joined(&r, SENNIT_SUB, r.back_at, NULL);
        assert_int_equal(sennit_sock_subscribe(sub, a), SENNIT_OK);
        assert_int_equal(sennit_sock_subscribe(sub, b), SENNIT_OK);
        NET_UNTIL(&r.n, net_stats(pub).subscriptions == 2);
        net_send(pub, "c|nobody's");
        net_send(pub, "a1|one");
        net_send(pub, "b2||two");
        assert_string_equal(net_recv(sub), "a1|one");
        assert_string_equal(net_recv(sub), "b2||two");
        assert_int_equal(net_stats(pub).dropped_no_peer_msgs, 1);
        /* A publisher that comes later is told what is wanted already. */
        late = joined(&r, SENNIT_PUB, r.front_at, NULL);
        NET_UNTIL(&r.n, net_stats(late).subscriptions == 2);
        net_send(late, "a|late");
        assert_string_equal(net_recv(sub), "a|late");
        assert_int_equal(sennit_sock_unsubscribe(sub, a), SENNIT_OK);
        NET_UNTIL(&r.n, net_stats(pub).subscriptions == 1);
        /* And what a subscriber wanted that is gone is wanted no more. */
        sennit_sock_close(sub);
        NET_UNTIL(&r.n, net_stats(pub).subscriptions == 0);
        assert_int_equal(stats_of(&r).front_received.msgs, 3);
        assert_int_equal(stats_of(&r).back_sent.msgs, 3);
        assert_int_equal(stats_of(&r).back_received.msgs, 4);
        assert_int_equal(stats_of(&r).front_sent.msgs, 4);
        rig_close(&r);
    }
}

static void
one_socket_may_be_front_and_back(void **state)
{
    static const struct {
        sennit_sock_type sock;
        sennit_sock_type peer;
    } pairs[] = {
        { SENNIT_DEALER, SENNIT_DEALER }, { SENNIT_ROUTER, SENNIT_DEALER },
        { SENNIT_PAIR, SENNIT_PAIR },     { SENNIT_REP, SENNIT_REQ },
        { SENNIT_REP, SENNIT_DEALER },
    };

    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        /* What the DEALER has to put in front for a REP. */
        const char *message =
            pairs[i].sock == SENNIT_REP && pairs[i].peer == SENNIT_DEALER
                ? "|an|echo||of all"
                : "an|echo||of all";
        rig r;
        sennit_sock *peer;

        net_open(&r.n);
        r.front = net_sock(&r.n, pairs[i].sock, NULL);
        snprintf(r.front_at, sizeof r.front_at, "%s", net_bind(r.front, TCP));
        assert_int_equal(sennit_proxy_open(&r.proxy, r.front, r.front, NULL), SENNIT_OK);
        peer = joined(&r, pairs[i].peer, r.front_at, NULL);
        for (int k = 0; k < 20; k++) {
            net_send(peer, message);
            assert_string_equal(net_recv(peer), message);
        }
        assert_int_equal(stats_of(&r).front_received.msgs, 20);
        assert_int_equal(stats_of(&r).back_sent.msgs, 20);
        rig_close(&r);
    }
}

static void
rep_and_req_go_in_lock_step(void **state)
{
    rig r;
    sennit_sock *client;
    sennit_sock *server;

    (void)state;
    rig_open(&r, SENNIT_REP, SENNIT_REQ, TCP, NULL, NULL);
    client = joined(&r, SENNIT_REQ, r.front_at, NULL);
    server = joined(&r, SENNIT_REP, r.back_at, NULL);
    for (int i = 0; i < 20; i++) {
        net_send(client, "question|");
        assert_string_equal(net_recv(server), "question|");
        net_send(server, "|answer");
        assert_string_equal(net_recv(client), "|answer");
    }
    rig_close(&r);
}

/* ---- D31 ---------------------------------------------------------------- */

static void
at(void *arg)
{
    *(bool *)arg = true;
}

static uint64_t
cpu_ns(void)
{
    struct timespec now;

    assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), 0);
    return (uint64_t)now.tv_sec * 1000 * NS_PER_MS + (uint64_t)now.tv_nsec;
}

/* Turns the loop for so long, as an application would that has nothing else to do, and
 * checks that it did so asleep: below 5 % of the time, and hardly woken. */
static void
check_sleeps(rig *r, uint64_t ms, unsigned turns_max)
{
    uint64_t cpu = cpu_ns();
    unsigned turns = 0;
    sennit_timer timer;
    bool over = false;

    memset(&timer, 0, sizeof timer);
    assert_int_equal(sennit_timer_start(r->n.loop, &timer, ms * NS_PER_MS, at, &over),
                     SENNIT_OK);
    while (!over) {
        assert_int_equal(sennit_loop_turn(r->n.loop, -1), SENNIT_OK);
        turns++;
    }
    cpu = cpu_ns() - cpu;
    if (cpu > ms * NS_PER_MS / 20)
        fail_msg("%llu ms of processor in %llu ms", (unsigned long long)(cpu / NS_PER_MS),
                 (unsigned long long)ms);
    if (turns > turns_max)
        fail_msg("%u turns with nothing to do", turns);
}

static void
d31a(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        rig r;
        sennit_sock *client;
        sennit_sock *worker;

        rig_open(&r, SENNIT_ROUTER, SENNIT_DEALER, (transport)via, NULL, NULL);
        client = joined(&r, SENNIT_REQ, r.front_at, NULL);
        net_send(client, "waiting");
        NET_UNTIL(&r.n, sennit_sock_ready(r.front) & SENNIT_READABLE);
        check_sleeps(&r, 3000, 20);
        /* It is still in the front's queue, where its high-water mark sees it. */
        assert_int_equal(stats_of(&r).front_received.msgs, 0);
        worker = joined(&r, SENNIT_REP, r.back_at, NULL);
        assert_string_equal(net_recv(worker), "waiting");
        net_send(worker, "served");
        assert_string_equal(net_recv(client), "served");
        rig_close(&r);
    }
}

/* Sends to the front until the back takes no more. */
static void
fill(rig *r, sennit_sock *client)
{
    while (sennit_sock_send_bytes(client, body, sizeof body, SENNIT_DONTWAIT) ==
           SENNIT_OK)
        ;
    NET_DOING(&r->n, !(sennit_sock_ready(r->back) & SENNIT_WRITABLE))
    while (sennit_sock_send_bytes(client, body, sizeof body, SENNIT_DONTWAIT) ==
           SENNIT_OK)
        ;
}

static void
d31b(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock_opts opts = net_opts();
        rig r;
        sennit_sock *client;
        sennit_sock *worker;
        sennit_msg msg;
        sennit_msg identity;
        sennit_time sent;
        unsigned late = 0;

        opts.send_hwm_msgs = 2;
        opts.recv_hwm_msgs = 2;
        rig_open(&r, SENNIT_ROUTER, SENNIT_DEALER, (transport)via, &opts, NULL);
        client = joined(&r, SENNIT_DEALER, r.front_at, &opts);
        worker = joined(&r, SENNIT_DEALER, r.back_at, &opts);
        fill(&r, client);
        /* The worker takes one request, to know the client, and no more. */
        sennit_msg_init(&msg);
        sennit_msg_init(&identity);
        assert_int_equal(sennit_sock_recv(worker, &identity, 0), SENNIT_OK);
        assert_int_equal(sennit_sock_recv(worker, &msg, 0), SENNIT_OK);
        sennit_msg_fini(&msg);
        fill(&r, client);
        for (int i = 0; i < 20; i++) {
            sennit_msg copy;

            sennit_msg_init(&copy);
            sennit_msg_copy(&copy, &identity);
            sent = sennit_loop_now(r.n.loop);
            assert_int_equal(sennit_sock_send(worker, &copy, SENNIT_MORE), SENNIT_OK);
            net_send(worker, "reply");
            assert_string_equal(net_recv(client), "reply");
            late += sennit_loop_now(r.n.loop) - sent > 50 * NS_PER_MS;
        }
        /* One may be late because this machine was busy; a way that stalls is always. */
        if (late > 2)
            fail_msg("%s: %u of 20 replies took more than 50 ms", transport_names[via],
                     late);
        assert_false(sennit_sock_ready(r.back) & SENNIT_WRITABLE);
        check_sleeps(&r, 1000, 20);
        sennit_msg_fini(&identity);
        rig_close(&r);
    }
}

static const char *
order(rig *r, sennit_sock *req, const char *command)
{
    sennit_time sent = sennit_loop_now(r->n.loop);
    const char *answer;

    net_send(req, command);
    answer = net_recv(req);
    sent = sennit_loop_now(r->n.loop) - sent;
    if (sent > 200 * NS_PER_MS)
        fail_msg("%s obeyed after %llu ms", command,
                 (unsigned long long)(sent / NS_PER_MS));
    return answer;
}

static sennit_sock *
steer(rig *r, sennit_sock_type control_type, sennit_sock_type peer_type)
{
    sennit_sock *control = net_sock(&r->n, control_type, NULL);
    sennit_sock *peer = net_sock(&r->n, peer_type, NULL);

    net_join(&r->n, control, peer, INPROC);
    assert_int_equal(sennit_proxy_steer(r->proxy, control), SENNIT_OK);
    return peer;
}

static void
d31c(void **state)
{
    rig r;
    sennit_sock *client;
    sennit_sock *req;
    sennit_sock *worker;
    sennit_err why = SENNIT_EIO;

    (void)state;
    rig_open(&r, SENNIT_ROUTER, SENNIT_DEALER, TCP, NULL, NULL);
    client = joined(&r, SENNIT_REQ, r.front_at, NULL);
    req = steer(&r, SENNIT_REP, SENNIT_REQ);
    net_send(client, "pending");
    NET_UNTIL(&r.n, sennit_sock_ready(r.front) & SENNIT_READABLE);
    assert_string_equal(order(&r, req, "PAUSE"), "");
    assert_true(stats_of(&r).paused);
    check_sleeps(&r, 500, 20);
    assert_string_equal(order(&r, req, "RESUME"), "");
    assert_false(stats_of(&r).paused);
    check_sleeps(&r, 500, 20);
    worker = joined(&r, SENNIT_REP, r.back_at, NULL);
    assert_string_equal(net_recv(worker), "pending");
    net_send(worker, "done");
    assert_string_equal(net_recv(client), "done");
    sennit_sock_close(worker);
    net_send(client, "pending again");
    NET_UNTIL(&r.n, sennit_sock_ready(r.front) & SENNIT_READABLE);
    assert_string_equal(order(&r, req, "TERMINATE"), "");
    assert_true(sennit_proxy_ended(r.proxy, &why));
    assert_int_equal(why, SENNIT_OK);
    /* The sockets are the caller's again, and what was pending is there. */
    assert_true(sennit_sock_ready(r.front) & SENNIT_READABLE);
    rig_close(&r);
}

typedef struct ending {
    sem_t running;
    sennit_context *context;
    sennit_time begun;
} ending;

static sennit_time
monotonic(void)
{
    struct timespec now;

    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    return (sennit_time)now.tv_sec * 1000 * NS_PER_MS + (sennit_time)now.tv_nsec;
}

static void
tell(void *arg)
{
    sem_post(arg);
}

static void *
shut_down(void *arg)
{
    ending *e = arg;

    while (sem_wait(&e->running) != 0)
        ;
    e->begun = monotonic();
    sennit_context_shutdown(e->context);
    return NULL;
}

static void
d31d(void **state)
{
    rig r;
    ending e;
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;
    sennit_sock *client;
    pthread_t thread;
    sennit_err why = SENNIT_OK;

    (void)state;
    assert_int_equal(sem_init(&e.running, 0, 0), 0);
    assert_int_equal(sennit_context_open(&e.context, NULL), SENNIT_OK);
    test_alloc_init(&r.n.alloc);
    opts.allocator = &r.n.alloc.allocator;
    opts.context = e.context;
    assert_int_equal(sennit_loop_open(&r.n.loop, &opts), SENNIT_OK);
    r.front = net_sock(&r.n, SENNIT_ROUTER, NULL);
    r.back = net_sock(&r.n, SENNIT_DEALER, NULL);
    snprintf(r.front_at, sizeof r.front_at, "%s", net_bind(r.front, TCP));
    assert_int_equal(sennit_proxy_open(&r.proxy, r.front, r.back, NULL), SENNIT_OK);
    client = joined(&r, SENNIT_REQ, r.front_at, NULL);
    net_send(client, "pending");
    assert_int_equal(pthread_create(&thread, NULL, shut_down, &e), 0);
    assert_int_equal(sennit_loop_post(r.n.loop, tell, &e.running), SENNIT_OK);
    assert_int_equal(sennit_proxy_run(r.proxy), SENNIT_ETERM);
    assert_int_equal(pthread_join(thread, NULL), 0);
    if (monotonic() - e.begun > 200 * NS_PER_MS)
        fail_msg("shut down after more than 200 ms");
    assert_true(sennit_proxy_ended(r.proxy, &why));
    assert_int_equal(why, SENNIT_ETERM);
    rig_close(&r);
    assert_int_equal(sennit_context_close(e.context), SENNIT_OK);
    sem_destroy(&e.running);
}

/* ---- steering ----------------------------------------------------------- */

static void
a_rep_answers_whatever_it_is_told(void **state)
{
    rig r;
    sennit_sock *req;

    (void)state;
    rig_open(&r, SENNIT_PULL, SENNIT_PUSH, INPROC, NULL, NULL);
    req = steer(&r, SENNIT_REP, SENNIT_REQ);
    assert_string_equal(order(&r, req, "pause"), "");
    assert_string_equal(order(&r, req, ""), "");
    assert_string_equal(order(&r, req, "PAUSED"), "");
    assert_string_equal(order(&r, req, "PAUSE|"), "");
    assert_string_equal(order(&r, req, "|PAUSE"), "");
    assert_string_equal(order(&r, req, "TERMINATE|x"), "");
    assert_false(stats_of(&r).paused);
    assert_false(sennit_proxy_ended(r.proxy, NULL));
    rig_close(&r);
}

static void
recv_statistics(sennit_sock *sock, uint64_t numbers[8])
{
    sennit_msg msg;

    sennit_msg_init(&msg);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(sennit_sock_recv(sock, &msg, 0), SENNIT_OK);
        assert_int_equal(sennit_msg_size(&msg), sizeof numbers[0]);
        assert_int_equal(sennit_msg_more(&msg), i < 7);
        memcpy(&numbers[i], sennit_msg_data(&msg), sizeof numbers[0]);
    }
    sennit_msg_fini(&msg);
}

static void
statistics_are_eight_numbers_that_count_frames(void **state)
{
    static const struct {
        sennit_sock_type control;
        sennit_sock_type peer;
    } pairs[] = { { SENNIT_REP, SENNIT_REQ },
                  { SENNIT_PAIR, SENNIT_PAIR },
                  { SENNIT_DEALER, SENNIT_DEALER } };

    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        /* The ROUTER's identity frames have 5 octets. */
        static const uint64_t wanted[8] = { 3, 5 + 7, 4, 5 + 7, 4, 5 + 7, 3, 5 + 7 };
        rig r;
        sennit_sock *client;
        sennit_sock *worker;
        sennit_sock *peer;
        sennit_msg identity;
        uint64_t numbers[8];

        rig_open(&r, SENNIT_ROUTER, SENNIT_DEALER, TCP, NULL, NULL);
        peer = steer(&r, pairs[i].control, pairs[i].peer);
        client = joined(&r, SENNIT_DEALER, r.front_at, NULL);
        worker = joined(&r, SENNIT_DEALER, r.back_at, NULL);
        net_send(client, "hello|to");
        sennit_msg_init(&identity);
        assert_int_equal(sennit_sock_recv(worker, &identity, 0), SENNIT_OK);
        assert_string_equal(net_recv(worker), "hello|to");
        assert_int_equal(sennit_sock_send(worker, &identity, SENNIT_MORE), SENNIT_OK);
        net_send(worker, "hel|l|oto");
        assert_string_equal(net_recv(client), "hel|l|oto");
        net_send(peer, "STATISTICS");
        recv_statistics(peer, numbers);
        for (int k = 0; k < 8; k++)
            assert_int_equal(numbers[k], wanted[k]);
        /* Also while it is paused. */
        net_send(peer, "PAUSE");
        if (pairs[i].control == SENNIT_REP)
            assert_string_equal(net_recv(peer), "");
        net_send(peer, "STATISTICS");
        recv_statistics(peer, numbers);
        rig_close(&r);
    }
}

static void
a_control_that_only_receives_is_obeyed_without_an_answer(void **state)
{
    static const struct {
        sennit_sock_type control;
        sennit_sock_type peer;
    } pairs[] = { { SENNIT_PULL, SENNIT_PUSH }, { SENNIT_PAIR, SENNIT_PAIR } };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        rig r;
        sennit_sock *peer;

        rig_open(&r, SENNIT_PULL, SENNIT_PUSH, INPROC, NULL, NULL);
        peer = steer(&r, pairs[i].control, pairs[i].peer);
        net_send(peer, "STATISTICS");
        net_send(peer, "PAUSE");
        NET_UNTIL(&r.n, stats_of(&r).paused);
        net_send(peer, "nonsense");
        net_send(peer, "RESUME");
        NET_UNTIL(&r.n, !stats_of(&r).paused);
        net_send(peer, "TERMINATE");
        assert_int_equal(sennit_proxy_run(r.proxy), SENNIT_OK);
        rig_close(&r);
    }
}

static void
a_flood_of_commands_does_not_stop_the_forwarding(void **state)
{
    rig r;
    sennit_sock *peer;
    sennit_sock *push;
    sennit_sock *pull;

    (void)state;
    rig_open(&r, SENNIT_PULL, SENNIT_PUSH, INPROC, NULL, NULL);
    peer = steer(&r, SENNIT_PULL, SENNIT_PUSH);
    push = joined(&r, SENNIT_PUSH, r.front_at, NULL);
    pull = joined(&r, SENNIT_PULL, r.back_at, NULL);
    for (int i = 0; i < 1000; i++)
        net_send(peer, i % 2 ? "nonsense" : "RESUME");
    net_send(push, "through");
    assert_string_equal(net_recv(pull), "through");
    rig_close(&r);
}

static void
paused_it_takes_nothing_and_resumed_it_goes_on(void **state)
{
    rig r;
    sennit_sock *push;
    sennit_sock *pull;

    (void)state;
    rig_open(&r, SENNIT_PULL, SENNIT_PUSH, TCP, NULL, NULL);
    push = joined(&r, SENNIT_PUSH, r.front_at, NULL);
    pull = joined(&r, SENNIT_PULL, r.back_at, NULL);
    sennit_proxy_pause(r.proxy);
    sennit_proxy_pause(r.proxy);
    net_send(push, "one");
    NET_UNTIL(&r.n, sennit_sock_ready(r.front) & SENNIT_READABLE);
    check_sleeps(&r, 200, 20);
    assert_int_equal(stats_of(&r).front_received.msgs, 0);
    sennit_proxy_resume(r.proxy);
    assert_string_equal(net_recv(pull), "one");
    rig_close(&r);
}

/* A broker that may not lose: a subscriber that does not read stops the publishers, and
 * only them. The publisher has room for some topics then, but not for this one. */
static void
a_subscriber_that_blocks_a_broker_is_waited_for_asleep(void **state)
{
    sennit_sock_opts opts = net_opts();
    rig r;
    sennit_sock *push;
    sennit_sock *sub;
    sennit_sock *req;
    unsigned sent = 0;
    unsigned received = 0;

    (void)state;
    net_open(&r.n);
    opts.send_hwm_msgs = 2;
    opts.recv_hwm_msgs = 2;
    r.front = net_sock(&r.n, SENNIT_PULL, &opts);
    opts.slow_subscriber = SENNIT_SLOW_BLOCK;
    r.back = net_sock(&r.n, SENNIT_XPUB, &opts);
    opts.slow_subscriber = SENNIT_SLOW_DROP_NEW;
    snprintf(r.front_at, sizeof r.front_at, "%s", net_bind(r.front, INPROC));
    snprintf(r.back_at, sizeof r.back_at, "%s", net_bind(r.back, INPROC));
    assert_int_equal(sennit_proxy_open(&r.proxy, r.front, r.back, NULL), SENNIT_OK);
    req = steer(&r, SENNIT_REP, SENNIT_REQ);
    push = joined(&r, SENNIT_PUSH, r.front_at, &opts);
    sub = joined(&r, SENNIT_SUB, r.back_at, &opts);
    net_subscribe(sub, "");
    NET_UNTIL(&r.n, net_stats(r.back).subscriptions == 1);
    NET_DOING(&r.n, !(sennit_sock_ready(push) & SENNIT_WRITABLE) && sent > 0)
    while (net_try_send(push, "news", SENNIT_DONTWAIT) == SENNIT_OK)
        sent++;
    check_sleeps(&r, 500, 500 / 2 + 20);
    assert_string_equal(order(&r, req, "PAUSE"), "");
    assert_string_equal(order(&r, req, "RESUME"), "");
    for (; received < sent; received++)
        assert_string_equal(net_recv(sub), "news");
    assert_int_equal(stats_of(&r).dropped_msgs, 0);
    rig_close(&r);
}

/* Others of the loop get their turn, however much there is to forward. */
static void
a_turn_forwards_a_bounded_burst(void **state)
{
    enum { MESSAGES = 900, BURST = 256 };
    sennit_sock_opts opts = net_opts();
    rig r;
    sennit_sock *push;
    uint64_t before;

    (void)state;
    opts.recv_hwm_msgs = 0;
    rig_open(&r, SENNIT_PULL, SENNIT_PUSH, INPROC, &opts, NULL);
    push = joined(&r, SENNIT_PUSH, r.front_at, &opts);
    (void)joined(&r, SENNIT_PULL, r.back_at, &opts);
    sennit_proxy_pause(r.proxy);
    for (int i = 0; i < MESSAGES; i++)
        net_send(push, "x");
    sennit_proxy_resume(r.proxy);
    for (before = 0; before < MESSAGES; before = stats_of(&r).back_sent.msgs) {
        assert_int_equal(sennit_loop_turn(r.n.loop, 0), SENNIT_OK);
        assert_true(stats_of(&r).back_sent.msgs > before);
        assert_true(stats_of(&r).back_sent.msgs - before <= BURST);
    }
    rig_close(&r);
}

/* ---- capture ------------------------------------------------------------ */

static void
the_capture_gets_every_message_of_both_ways_whole(void **state)
{
    static const struct {
        sennit_sock_type capture;
        sennit_sock_type reader;
    } pairs[] = { { SENNIT_PUSH, SENNIT_PULL },
                  { SENNIT_PAIR, SENNIT_PAIR },
                  { SENNIT_DEALER, SENNIT_DEALER },
                  { SENNIT_PUB, SENNIT_SUB } };

    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        rig r;
        sennit_sock *captures;
        sennit_sock *reader;
        sennit_sock *a;
        sennit_sock *b;

        net_open(&r.n);
        captures = net_sock(&r.n, pairs[i].capture, NULL);
        reader = net_sock(&r.n, pairs[i].reader, NULL);
        if (pairs[i].reader == SENNIT_SUB)
            net_subscribe(reader, "");
        net_join(&r.n, captures, reader, TCP);
        if (pairs[i].reader == SENNIT_SUB)
            NET_UNTIL(&r.n, net_stats(captures).subscriptions == 1);
        rig_open(&r, SENNIT_DEALER, SENNIT_DEALER, TCP, NULL, captures);
        a = joined(&r, SENNIT_DEALER, r.front_at, NULL);
        b = joined(&r, SENNIT_DEALER, r.back_at, NULL);
        net_send(a, "there||and");
        assert_string_equal(net_recv(b), "there||and");
        net_send(b, "back|again|");
        assert_string_equal(net_recv(a), "back|again|");
        assert_string_equal(net_recv(reader), "there||and");
        assert_string_equal(net_recv(reader), "back|again|");
        assert_int_equal(stats_of(&r).captured_msgs, 2);
        assert_int_equal(stats_of(&r).missed_msgs, 0);
        rig_close(&r);
    }
}

static void
a_capture_that_is_full_misses_and_stalls_nothing(void **state)
{
    enum { MESSAGES = 200 };
    sennit_sock_opts opts = net_opts();
    rig r;
    sennit_sock *captures;
    sennit_sock *reader;
    sennit_sock *push;
    sennit_sock *pull;
    uint64_t captured;

    (void)state;
    net_open(&r.n);
    opts.send_hwm_msgs = 3;
    opts.recv_hwm_msgs = 3;
    captures = net_sock(&r.n, SENNIT_PUSH, &opts);
    reader = net_sock(&r.n, SENNIT_PULL, &opts);
    rig_open(&r, SENNIT_PULL, SENNIT_PUSH, INPROC, NULL, captures);
    push = joined(&r, SENNIT_PUSH, r.front_at, NULL);
    pull = joined(&r, SENNIT_PULL, r.back_at, NULL);
    /* Nobody is there. */
    net_send(push, "a|b");
    assert_string_equal(net_recv(pull), "a|b");
    assert_int_equal(stats_of(&r).missed_msgs, 1);
    /* Somebody is there and does not read. */
    net_join(&r.n, captures, reader, INPROC);
    for (int i = 0; i < MESSAGES; i++) {
        net_send(push, "c|d|e");
        assert_string_equal(net_recv(pull), "c|d|e");
    }
    captured = stats_of(&r).captured_msgs;
    assert_true(captured > 0);
    assert_true(captured < MESSAGES);
    assert_int_equal(captured + stats_of(&r).missed_msgs, MESSAGES + 1);
    for (uint64_t i = 0; i < captured; i++)
        assert_string_equal(net_recv(reader), "c|d|e");
    assert_string_equal(net_recv_flags(reader, SENNIT_DONTWAIT), "EAGAIN");
    rig_close(&r);
}

/* ---- peers that go ------------------------------------------------------ */

static void
a_reply_to_a_client_that_is_gone_is_dropped_and_counted(void **state)
{
    sennit_sock_opts opts = net_opts();
    rig r;
    sennit_sock *client;
    sennit_sock *worker;
    sennit_msg identity;

    (void)state;
    net_open(&r.n);
    opts.router_mandatory = true;
    r.front = net_sock(&r.n, SENNIT_ROUTER, &opts);
    r.back = net_sock(&r.n, SENNIT_DEALER, NULL);
    snprintf(r.front_at, sizeof r.front_at, "%s", net_bind(r.front, TCP));
    snprintf(r.back_at, sizeof r.back_at, "%s", net_bind(r.back, TCP));
    assert_int_equal(sennit_proxy_open(&r.proxy, r.front, r.back, NULL), SENNIT_OK);
    worker = joined(&r, SENNIT_DEALER, r.back_at, NULL);
    client = joined(&r, SENNIT_DEALER, r.front_at, NULL);
    net_send(client, "x");
    sennit_msg_init(&identity);
    assert_int_equal(sennit_sock_recv(worker, &identity, 0), SENNIT_OK);
    assert_string_equal(net_recv(worker), "x");
    sennit_sock_close(client);
    NET_UNTIL(&r.n, net_stats(r.front).connections == 0);
    /* Others are there, so that the front has room. */
    client = joined(&r, SENNIT_DEALER, r.front_at, NULL);
    assert_int_equal(sennit_sock_send(worker, &identity, SENNIT_MORE), SENNIT_OK);
    net_send(worker, "too|late");
    NET_UNTIL(&r.n, stats_of(&r).dropped_msgs == 1);
    assert_false(sennit_proxy_ended(r.proxy, NULL));
    net_send(client, "y");
    assert_int_equal(sennit_sock_recv(worker, &identity, 0), SENNIT_OK);
    assert_string_equal(net_recv(worker), "y");
    assert_int_equal(sennit_sock_send(worker, &identity, SENNIT_MORE), SENNIT_OK);
    net_send(worker, "in time");
    assert_string_equal(net_recv(client), "in time");
    sennit_msg_fini(&identity);
    rig_close(&r);
}

/* With router_mandatory it is full for this client and not for that one. */
static void
a_full_client_of_a_mandatory_router_is_waited_for_asleep(void **state)
{
    sennit_sock_opts opts = net_opts();
    rig r;
    sennit_sock *slow;
    sennit_sock *other;
    sennit_sock *worker;
    unsigned sent = 0;
    unsigned received = 0;

    (void)state;
    net_open(&r.n);
    opts.send_hwm_msgs = 2;
    opts.recv_hwm_msgs = 2;
    opts.router_mandatory = true;
    r.front = net_sock(&r.n, SENNIT_ROUTER, &opts);
    opts.router_mandatory = false;
    r.back = net_sock(&r.n, SENNIT_DEALER, &opts);
    snprintf(r.front_at, sizeof r.front_at, "%s", net_bind(r.front, INPROC));
    snprintf(r.back_at, sizeof r.back_at, "%s", net_bind(r.back, INPROC));
    assert_int_equal(sennit_proxy_open(&r.proxy, r.front, r.back, NULL), SENNIT_OK);
    memcpy(opts.identity, "slow", 4);
    opts.identity_size = 4;
    slow = joined(&r, SENNIT_DEALER, r.front_at, &opts);
    memcpy(opts.identity, "other", 5);
    opts.identity_size = 5;
    other = joined(&r, SENNIT_DEALER, r.front_at, &opts);
    opts.identity_size = 0;
    worker = joined(&r, SENNIT_DEALER, r.back_at, &opts);
    NET_DOING(&r.n, !(sennit_sock_ready(worker) & SENNIT_WRITABLE))
    while (net_try_send(worker, "slow|x", SENNIT_DONTWAIT) == SENNIT_OK)
        sent++;
    check_sleeps(&r, 500, 500 / 2 + 20); /* it looks every 2 ms */
    /* The other way goes on meanwhile. */
    net_send(other, "y");
    assert_string_equal(net_recv(worker), "other|y");
    for (; received < sent; received++)
        assert_string_equal(net_recv(slow), "x");
    assert_int_equal(stats_of(&r).dropped_msgs, 0);
    rig_close(&r);
}

/* ---- wrong calls -------------------------------------------------------- */

static void
every_wrong_call_has_its_own_error(void **state)
{
    rig r;
    net other;
    sennit_sock *foreign;
    sennit_sock *pub;
    sennit_sock *push;
    sennit_sock *pull;
    sennit_sock *rep;
    sennit_sock *req;
    sennit_sock *stream;
    sennit_proxy *none = NULL;

    (void)state;
    rig_open(&r, SENNIT_ROUTER, SENNIT_DEALER, INPROC, NULL, NULL);
    net_open(&other);
    foreign = net_sock(&other, SENNIT_DEALER, NULL);
    pub = net_sock(&r.n, SENNIT_PUB, NULL);
    push = net_sock(&r.n, SENNIT_PUSH, NULL);
    pull = net_sock(&r.n, SENNIT_PULL, NULL);
    rep = net_sock(&r.n, SENNIT_REP, NULL);
    req = net_sock(&r.n, SENNIT_REQ, NULL);
    stream = net_sock(&r.n, SENNIT_STREAM, NULL);
    assert_int_equal(sennit_proxy_open(&none, NULL, r.back, NULL), SENNIT_EINVAL);
    assert_int_equal(sennit_proxy_open(&none, r.front, NULL, NULL), SENNIT_EINVAL);
    assert_int_equal(sennit_proxy_open(&none, r.front, foreign, NULL), SENNIT_EINVAL);
    assert_int_equal(sennit_proxy_open(&none, r.front, r.back, foreign), SENNIT_EINVAL);
    assert_int_equal(sennit_proxy_open(&none, r.front, r.back, r.back), SENNIT_EEXIST);
    assert_int_equal(sennit_proxy_open(&none, r.front, r.back, r.front), SENNIT_EEXIST);
    assert_int_equal(sennit_proxy_open(&none, r.front, r.back, pull), SENNIT_ENOTSUP);
    assert_int_equal(sennit_proxy_open(&none, r.front, r.back, rep), SENNIT_ENOTSUP);
    assert_int_equal(sennit_proxy_open(&none, pub, push, NULL), SENNIT_ENOTSUP);
    assert_int_equal(sennit_proxy_open(&none, pull, pull, NULL), SENNIT_ENOTSUP);
    assert_int_equal(sennit_proxy_open(&none, req, req, NULL), SENNIT_ENOTSUP);
    assert_int_equal(sennit_proxy_open(&none, stream, r.back, NULL), SENNIT_ENOTSUP);
    assert_int_equal(sennit_proxy_open(&none, r.front, stream, NULL), SENNIT_ENOTSUP);
    assert_int_equal(sennit_proxy_open(&none, stream, stream, NULL), SENNIT_ENOTSUP);
    assert_null(none);
    assert_int_equal(sennit_proxy_steer(r.proxy, NULL), SENNIT_EINVAL);
    assert_int_equal(sennit_proxy_steer(r.proxy, foreign), SENNIT_EINVAL);
    assert_int_equal(sennit_proxy_steer(r.proxy, r.front), SENNIT_EEXIST);
    assert_int_equal(sennit_proxy_steer(r.proxy, pub), SENNIT_ENOTSUP);
    assert_int_equal(sennit_proxy_steer(r.proxy, rep), SENNIT_OK);
    assert_int_equal(sennit_proxy_steer(r.proxy, rep), SENNIT_ESTATE);
    sennit_proxy_stop(r.proxy);
    sennit_proxy_stop(r.proxy);
    assert_int_equal(sennit_proxy_steer(r.proxy, rep), SENNIT_ESTATE);
    assert_int_equal(sennit_proxy_run(r.proxy), SENNIT_OK);
    /* Which lets go of its sockets. */
    assert_int_equal(sennit_proxy_open(&none, rep, r.back, NULL), SENNIT_OK);
    sennit_proxy_close(none);
    sennit_proxy_close(NULL);
    net_close(&other);
    rig_close(&r);
}

/* Whichever it is: front, back, capture or control. */
static void
a_socket_that_is_closed_ends_the_proxy(void **state)
{
    (void)state;
    for (int which = 0; which < 4; which++) {
        sennit_sock *socks[4];
        sennit_proxy *proxy;
        sennit_err why;
        net n;

        net_open(&n);
        socks[0] = net_sock(&n, SENNIT_PULL, NULL);
        socks[1] = net_sock(&n, SENNIT_PUSH, NULL);
        socks[2] = net_sock(&n, SENNIT_PUB, NULL);
        socks[3] = net_sock(&n, SENNIT_PAIR, NULL);
        assert_int_equal(sennit_proxy_open(&proxy, socks[0], socks[1], socks[2]),
                         SENNIT_OK);
        assert_int_equal(sennit_proxy_steer(proxy, socks[3]), SENNIT_OK);
        assert_false(sennit_proxy_ended(proxy, &why));
        sennit_sock_close(socks[which]);
        assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
        assert_true(sennit_proxy_ended(proxy, &why));
        assert_int_equal(why, SENNIT_ECLOSED);
        assert_int_equal(sennit_proxy_run(proxy), SENNIT_ECLOSED);
        sennit_proxy_close(proxy);
        net_close(&n);
    }
}

static void
close_it(void *arg)
{
    rig *r = arg;

    sennit_proxy_close(r->proxy);
    r->proxy = NULL;
}

static void
it_may_be_closed_in_a_callback_between_messages(void **state)
{
    rig r;
    sennit_sock *push;

    (void)state;
    rig_open(&r, SENNIT_PULL, SENNIT_PUSH, TCP, NULL, NULL);
    push = joined(&r, SENNIT_PUSH, r.front_at, NULL);
    for (int i = 0; i < 500; i++)
        net_send(push, "x");
    assert_int_equal(sennit_loop_post(r.n.loop, close_it, &r), SENNIT_OK);
    NET_UNTIL(&r.n, r.proxy == NULL);
    NET_UNTIL(&r.n, sennit_sock_ready(r.front) & SENNIT_READABLE);
    rig_close(&r);
}

/* ---- memory ------------------------------------------------------------- */

/* A delimiter, and bodies of all sizes behind it. */
#define ECHO_FRAMES 20u

static size_t
echo_size(size_t frame)
{
    return frame * 300;
}

static void
echo_scenario(test_alloc *alloc, void *arg)
{
    sennit_loop_opts loop_opts = SENNIT_LOOP_OPTS_DEFAULT;
    sennit_sock_opts opts = net_opts();
    sennit_sock *rep;
    sennit_sock *dealer;
    sennit_proxy *proxy;
    sennit_msg msg;
    net n;
    sennit_err err;

    (void)arg;
    loop_opts.allocator = &alloc->allocator;
    WORKS(err, sennit_loop_open(&n.loop, &loop_opts));
    WORKS(err, sennit_sock_open(&rep, n.loop, SENNIT_REP, &opts));
    WORKS(err, sennit_sock_open(&dealer, n.loop, SENNIT_DEALER, &opts));
    WORKS(err, sennit_sock_bind(rep, "inproc://echo"));
    WORKS(err, sennit_sock_connect(dealer, "inproc://echo"));
    WORKS(err, sennit_proxy_open(&proxy, rep, rep, NULL));
    sennit_msg_init(&msg);
    for (int round = 0; round < 3; round++) {
        uint64_t dropped = net_stats(rep).dropped_memory_msgs;

        for (size_t i = 0; i < ECHO_FRAMES; i++)
            WORKS(err, sennit_sock_send_bytes(dealer, body, echo_size(i),
                                              i + 1 < ECHO_FRAMES ? SENNIT_MORE : 0));
        NET_UNTIL(&n, sennit_sock_ready(dealer) & SENNIT_READABLE ||
                          net_stats(rep).dropped_memory_msgs > dropped);
        /* A REP that cannot keep an envelope drops the request, and counts it. */
        if (net_stats(rep).dropped_memory_msgs > dropped)
            continue;
        for (size_t i = 0; i < ECHO_FRAMES; i++) {
            WORKS(err, sennit_sock_recv(dealer, &msg, SENNIT_DONTWAIT));
            assert_int_equal(sennit_msg_size(&msg), echo_size(i));
            assert_int_equal(sennit_msg_more(&msg), i + 1 < ECHO_FRAMES);
        }
    }
    sennit_msg_fini(&msg);
    assert_false(sennit_proxy_ended(proxy, NULL));
    sennit_proxy_close(proxy);
    sennit_loop_close(n.loop);
}

/* Sends to the front and receives from the back until all have passed. */
static void
pass_all(net *n, sennit_sock *from, sennit_sock *to, unsigned count)
{
    unsigned sent = 0;
    unsigned received = 0;
    sennit_msg msg;
    sennit_err err;

    sennit_msg_init(&msg);
    NET_DOING(n, received == count)
    {
        while (sent < count && sennit_sock_ready(from) & SENNIT_WRITABLE) {
            size_t size = sent % 5 == 0 ? 9000 : 90;

            WORKS(err, sennit_sock_send_bytes(from, body, size, SENNIT_MORE));
            WORKS(err, sennit_sock_send_bytes(from, &sent, sizeof sent, 0));
            sent++;
        }
        while (sennit_sock_ready(to) & SENNIT_READABLE) {
            unsigned number;

            do
                WORKS(err, sennit_sock_recv(to, &msg, SENNIT_DONTWAIT));
            while (sennit_msg_more(&msg));
            assert_int_equal(sennit_msg_size(&msg), sizeof number);
            memcpy(&number, sennit_msg_data(&msg), sizeof number);
            assert_int_equal(number, received++);
        }
    }
    sennit_msg_fini(&msg);
}

static void
memory_scenario(test_alloc *alloc, void *arg)
{
    static const sennit_sock_type types[] = { SENNIT_ROUTER, SENNIT_DEALER, SENNIT_PUSH,
                                              SENNIT_DEALER, SENNIT_DEALER, SENNIT_PULL };
    static const char *const names[] = { "inproc://front", "inproc://back",
                                         "inproc://capture" };
    sennit_loop_opts loop_opts = SENNIT_LOOP_OPTS_DEFAULT;
    sennit_sock_opts opts = net_opts();
    sennit_sock *socks[6];
    sennit_proxy *proxy;
    sennit_proxy_stats stats;
    net n;
    sennit_err err;

    (void)arg;
    loop_opts.allocator = &alloc->allocator;
    WORKS(err, sennit_loop_open(&n.loop, &loop_opts));
    for (int i = 0; i < 6; i++)
        WORKS(err, sennit_sock_open(&socks[i], n.loop, types[i], &opts));
    for (int i = 0; i < 3; i++) {
        WORKS(err, sennit_sock_bind(socks[i], names[i]));
        WORKS(err, sennit_sock_connect(socks[3 + i], names[i]));
    }
    WORKS(err, sennit_proxy_open(&proxy, socks[0], socks[1], socks[2]));
    pass_all(&n, socks[3], socks[4], 30);
    sennit_proxy_get_stats(proxy, &stats);
    assert_int_equal(stats.back_sent.msgs, 30);
    assert_int_equal(stats.dropped_msgs, 0);
    assert_int_equal(stats.captured_msgs + stats.missed_msgs, 30);
    assert_true(stats.missed_msgs <= alloc->failed);
    assert_false(sennit_proxy_ended(proxy, NULL));
    sennit_proxy_close(proxy);
    sennit_loop_close(n.loop);
}

static void
a_proxy_survives_every_failed_allocation(void **state)
{
    (void)state;
    assert_true(test_alloc_every_failure(memory_scenario, NULL) >= 20);
    assert_true(test_alloc_every_failure(echo_scenario, NULL) >= 20);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(requests_and_replies_of_many_pass),
    cmocka_unit_test(frames_of_every_size_pass_and_are_counted),
    cmocka_unit_test(bodies_pass_without_a_copy),
    cmocka_unit_test(a_long_stream_passes_full_queues_in_order),
    cmocka_unit_test(topics_and_publications_pass_a_broker),
    cmocka_unit_test(one_socket_may_be_front_and_back),
    cmocka_unit_test(rep_and_req_go_in_lock_step),
    { "D31 a: without a worker it sleeps, and serves what waits when one comes", d31a,
      NULL, NULL, NULL },
    { "D31 b: workers that are full do not hold up replies", d31b, NULL, NULL, NULL },
    { "D31 c: pause, resume and stop are obeyed with a message pending", d31c, NULL, NULL,
      NULL },
    { "D31 d: it ends with its context", d31d, NULL, NULL, NULL },
    cmocka_unit_test(a_rep_answers_whatever_it_is_told),
    cmocka_unit_test(statistics_are_eight_numbers_that_count_frames),
    cmocka_unit_test(a_control_that_only_receives_is_obeyed_without_an_answer),
    cmocka_unit_test(a_flood_of_commands_does_not_stop_the_forwarding),
    cmocka_unit_test(paused_it_takes_nothing_and_resumed_it_goes_on),
    cmocka_unit_test(a_turn_forwards_a_bounded_burst),
    cmocka_unit_test(a_subscriber_that_blocks_a_broker_is_waited_for_asleep),
    cmocka_unit_test(a_socket_that_is_closed_ends_the_proxy),
    cmocka_unit_test(the_capture_gets_every_message_of_both_ways_whole),
    cmocka_unit_test(a_capture_that_is_full_misses_and_stalls_nothing),
    cmocka_unit_test(a_reply_to_a_client_that_is_gone_is_dropped_and_counted),
    cmocka_unit_test(a_full_client_of_a_mandatory_router_is_waited_for_asleep),
    cmocka_unit_test(every_wrong_call_has_its_own_error),
    cmocka_unit_test(it_may_be_closed_in_a_callback_between_messages),
    cmocka_unit_test(a_proxy_survives_every_failed_allocation),
};

int
main(void)
{
    for (size_t i = 0; i < sizeof body; i++)
        body[i] = (uint8_t)(i * 31 + i / 256);
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
