/* SPDX-License-Identifier: MIT */
/* inproc between loops of different threads: what is true step by step
 * (inproc_loops_test.c) is true at any speed. D07b, D29 and D32 are those of the list of
 * cases. */
#include "crew.h"

#include <stdatomic.h>
#include <stdio.h>

#include "rng.h"

static sennit_context *
open_context(void)
{
    sennit_context *context;

    assert_int_equal(sennit_context_open(&context, NULL), SENNIT_OK);
    return context;
}

/* ---- traffic ----------------------------------------------------------- */

static void
serve(hand *h)
{
    sennit_sock *rep = crew_sock(h->loop, SENNIT_REP);
    uint64_t number;

    CHECK_ERR(sennit_sock_bind(rep, "inproc://serve"), SENNIT_OK);
    for (uint64_t i = 0; i < 10000; i++) {
        CHECK_ERR(crew_recv(rep, &number, 0), SENNIT_OK);
        CHECK(number == i);
        CHECK_ERR(crew_send(rep, number + 1, 0), SENNIT_OK);
    }
    /* The last answer is read before the loop goes. */
    CHECK_ERR(crew_recv(rep, &number, 0), SENNIT_OK);
    sennit_sock_close(rep);
}

static void
requests_and_replies_go_round_10000_times(void **state)
{
    sennit_context *context = open_context();
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;
    sennit_loop *loop;
    sennit_sock *req;
    uint64_t number;
    hand h;

    (void)state;
    crew_start(&h, context, serve, NULL);
    opts.context = context;
    assert_int_equal(sennit_loop_open(&loop, &opts), SENNIT_OK);
    req = crew_sock(loop, SENNIT_REQ);
    assert_int_equal(sennit_sock_connect(req, "inproc://serve"), SENNIT_OK);
    for (uint64_t i = 0; i < 10000; i++) {
        CHECK_ERR(crew_send(req, i, 0), SENNIT_OK);
        CHECK_ERR(crew_recv(req, &number, 0), SENNIT_OK);
        assert_int_equal(number, i + 1);
    }
    CHECK_ERR(crew_send(req, 0, 0), SENNIT_OK);
    crew_join(&h);
    crew_check_law(req);
    sennit_loop_close(loop);
    assert_int_equal(sennit_context_close(context), SENNIT_OK);
}

#define STREAM 1000000u

/* Every 1000th has a second frame that is too large to be inline. */
static void
pour(hand *h)
{
    sennit_sock *push = crew_sock(h->loop, SENNIT_PUSH);
    static const uint8_t large[5000] = { 7 };

    CHECK_ERR(sennit_sock_connect(push, "inproc://stream"), SENNIT_OK);
    for (uint64_t i = 0; i < STREAM; i++) {
        bool more = i % 1000 == 0;

        CHECK_ERR(crew_send(push, i, more ? SENNIT_MORE : 0), SENNIT_OK);
        if (more)
            CHECK_ERR(sennit_sock_send_bytes(push, large, sizeof large, 0), SENNIT_OK);
    }
    crew_check_law(push);
    sennit_sock_close(push);
}

static void
drink(hand *h)
{
    sennit_sock *pull = crew_sock(h->loop, SENNIT_PULL);

    CHECK_ERR(sennit_sock_bind(pull, "inproc://stream"), SENNIT_OK);
    for (uint64_t i = 0; i < STREAM; i++) {
        sennit_msg msg;
        uint64_t number;

        sennit_msg_init(&msg);
        CHECK_ERR(sennit_sock_recv(pull, &msg, 0), SENNIT_OK);
        memcpy(&number, sennit_msg_data(&msg), sizeof number);
        CHECK(number == i);
        if (sennit_msg_more(&msg)) {
            CHECK_ERR(sennit_sock_recv(pull, &msg, 0), SENNIT_OK);
            CHECK(sennit_msg_size(&msg) == 5000);
            CHECK(((uint8_t *)sennit_msg_data(&msg))[0] == 7);
        }
        sennit_msg_fini(&msg);
    }
    sennit_sock_close(pull);
}

static void
pour_or_drink(hand *h)
{
    (h->number ? pour : drink)(h);
}

static void
a_million_messages_arrive_in_order(void **state)
{
    sennit_context *context = open_context();
    hand hands[2];

    (void)state;
    crew_run(hands, 2, context, pour_or_drink, NULL);
    assert_int_equal(sennit_context_close(context), SENNIT_OK);
}

#define SUBSCRIBERS 4u
#define NEWS        2000u

static void
publish(hand *h)
{
    sennit_sock *pub = crew_sock(h->loop, SENNIT_PUB);
    sennit_sock_opts opts;

    sennit_sock_get_opts(pub, &opts);
    opts.send_hwm_msgs = 0;
    CHECK_ERR(sennit_sock_set_opts(pub, &opts), SENNIT_OK);
    CHECK_ERR(sennit_sock_bind(pub, "inproc://news"), SENNIT_OK);
    for (;;) {
        sennit_sock_stats stats;

        sennit_sock_get_stats(pub, &stats);
        if (stats.subscriptions == 2 * SUBSCRIBERS)
            break;
        CHECK_ERR(sennit_loop_turn(h->loop, CREW_DEADLINE_MS), SENNIT_OK);
    }
    for (unsigned i = 0; i < NEWS; i++)
        for (unsigned k = 0; k < SUBSCRIBERS; k++) {
            char text[16];

            snprintf(text, sizeof text, "%u:%u", k, i);
            CHECK_ERR(sennit_sock_send_bytes(pub, text, strlen(text), 0), SENNIT_OK);
        }
    CHECK_ERR(sennit_sock_send_bytes(pub, "end", 3, 0), SENNIT_OK);
    sennit_sock_close(pub);
}

static void
subscribe(hand *h)
{
    sennit_sock *sub = crew_sock(h->loop, SENNIT_SUB);
    char text[16];
    size_t size;

    snprintf(text, sizeof text, "%u:", h->number - 1);
    CHECK_ERR(
        sennit_sock_subscribe(sub, (sennit_bytes){ (const uint8_t *)text, strlen(text) }),
        SENNIT_OK);
    CHECK_ERR(sennit_sock_connect(sub, "inproc://news"), SENNIT_OK);
    CHECK_ERR(sennit_sock_subscribe(sub, (sennit_bytes){ (const uint8_t *)"end", 3 }),
              SENNIT_OK);
    for (unsigned i = 0; i < NEWS; i++) {
        char expected[16];

        snprintf(expected, sizeof expected, "%u:%u", h->number - 1, i);
        CHECK_ERR(sennit_sock_recv_bytes(sub, text, sizeof text, &size, 0), SENNIT_OK);
        CHECK(size == strlen(expected) && memcmp(text, expected, size) == 0);
    }
    CHECK_ERR(sennit_sock_recv_bytes(sub, text, sizeof text, &size, 0), SENNIT_OK);
    CHECK(size == 3 && memcmp(text, "end", 3) == 0);
    sennit_sock_close(sub);
}

static void
publish_or_subscribe(hand *h)
{
    (h->number ? subscribe : publish)(h);
}

static void
each_subscriber_gets_what_it_asked_for(void **state)
{
    sennit_context *context = open_context();
    hand hands[1 + SUBSCRIBERS];

    (void)state;
    crew_run(hands, 1 + SUBSCRIBERS, context, publish_or_subscribe, NULL);
    assert_int_equal(sennit_context_close(context), SENNIT_OK);
}

/* ---- shutdown ---------------------------------------------------------- */

static void
wait_for_ever(hand *h)
{
    static const sennit_sock_type types[] = { SENNIT_PAIR, SENNIT_REP, SENNIT_ROUTER };
    unsigned round = *(unsigned *)h->arg;
    sennit_sock_opts opts = crew_opts();
    sennit_sock *sock;
    uint64_t number;

    memcpy(opts.identity, "me", 2);
    opts.identity_size = 2;
    opts.recv_timeout_ms = -1;
    /* The shutdown may have come already. */
    if (sennit_sock_open(&sock, h->loop, types[round % 3], &opts) != SENNIT_OK)
        return;
    if (sennit_sock_connect(sock, "inproc://nobody") == SENNIT_OK)
        CHECK_ERR(crew_recv(sock, &number, 0), SENNIT_ETERM);
    sennit_sock_close(sock);
}

static void
d32a_shutdown_with_pending_connects_1000_times(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 1000; round++) {
        sennit_context *context = open_context();
        hand h;

        crew_start(&h, context, wait_for_ever, &round);
        sennit_context_shutdown(context);
        sennit_context_shutdown(context);
        crew_join(&h);
        assert_int_equal(sennit_context_close(context), SENNIT_OK);
    }
}

typedef struct blocked {
    atomic_bool about_to; /* block */
    uint64_t returned_ms;
    sennit_sock *sock;
} blocked;

static void
block_in_recv(hand *h)
{
    blocked *b = h->arg;
    sennit_sock *pull = crew_sock(h->loop, SENNIT_PULL);
    uint64_t number;

    CHECK_ERR(sennit_sock_bind(pull, "inproc://blocked"), SENNIT_OK);
    atomic_store(&b->about_to, true);
    CHECK_ERR(crew_recv(pull, &number, 0), SENNIT_ETERM);
    b->returned_ms = crew_ms();
    CHECK_ERR(crew_recv(pull, &number, 0), SENNIT_ETERM);
    CHECK_ERR(sennit_loop_run(h->loop), SENNIT_ETERM);
    sennit_sock_close(pull);
}

/* The quickest of them, because others run on this machine too; none may hang. */
static void
d07b_a_blocked_call_returns_within_100_ms_of_the_shutdown(void **state)
{
    uint64_t quickest = UINT64_MAX;

    (void)state;
    for (int round = 0; round < 50; round++) {
        sennit_context *context = open_context();
        blocked b = { .about_to = false };
        uint64_t began;
        hand h;

        crew_start(&h, context, block_in_recv, &b);
        while (!atomic_load(&b.about_to))
            ;
        began = crew_ms();
        sennit_context_shutdown(context);
        crew_join(&h);
        assert_int_equal(sennit_context_close(context), SENNIT_OK);
        if (b.returned_ms - began < quickest)
            quickest = b.returned_ms - began;
        assert_true(b.returned_ms - began < CREW_DEADLINE_MS);
    }
    assert_true(quickest < 100);
}

static void
close_it(void *arg)
{
    sennit_sock_close(arg);
}

static void
block_until_closed(hand *h)
{
    blocked *b = h->arg;
    uint64_t number;

    b->sock = crew_sock(h->loop, SENNIT_PULL);
    CHECK_ERR(sennit_sock_bind(b->sock, "inproc://blocked"), SENNIT_OK);
    atomic_store(&b->about_to, true);
    CHECK_ERR(crew_recv(b->sock, &number, 0), SENNIT_ECLOSED);
}

static void
d29_a_blocked_call_returns_when_another_thread_posts_a_close(void **state)
{
    (void)state;
    for (int round = 0; round < 100; round++) {
        sennit_context *context = open_context();
        blocked b = { .about_to = false };
        uint64_t number;
        hand h;

        crew_start(&h, context, block_until_closed, &b);
        while (!atomic_load(&b.about_to))
            ;
        /* What belongs to another thread is refused, not used. */
        assert_int_equal(crew_recv(b.sock, &number, 0), SENNIT_ETHREAD);
        assert_int_equal(crew_send(b.sock, 1, 0), SENNIT_ETHREAD);
        assert_int_equal(sennit_sock_bind(b.sock, "inproc://x"), SENNIT_ETHREAD);
        assert_int_equal(sennit_sock_connect(b.sock, "inproc://x"), SENNIT_ETHREAD);
        assert_int_equal(sennit_loop_turn(h.loop, 0), SENNIT_ETHREAD);
        assert_int_equal(sennit_loop_post(h.loop, close_it, b.sock), SENNIT_OK);
        crew_join(&h);
        assert_int_equal(sennit_context_close(context), SENNIT_OK);
    }
}

/* ---- races ------------------------------------------------------------- */

#define COUPLES 50u

static void
bind_or_connect(hand *h)
{
    bool binds = h->number < COUPLES;
    sennit_sock *sock = crew_sock(h->loop, SENNIT_PAIR);
    char endpoint[32];
    uint64_t number;

    snprintf(endpoint, sizeof endpoint, "inproc://%u", h->number % COUPLES);
    if (binds)
        CHECK_ERR(sennit_sock_bind(sock, endpoint), SENNIT_OK);
    else
        CHECK_ERR(sennit_sock_connect(sock, endpoint), SENNIT_OK);
    for (uint64_t i = 0; i < 20; i++)
        CHECK_ERR(crew_send(sock, i, 0), SENNIT_OK);
    for (uint64_t i = 0; i < 20; i++) {
        CHECK_ERR(crew_recv(sock, &number, 0), SENNIT_OK);
        CHECK(number == i);
    }
    crew_check_law(sock);
    sennit_sock_close(sock);
}

static void
d32b_50_binders_and_50_connecters_at_once(void **state)
{
    sennit_context *context = open_context();
    static hand hands[2 * COUPLES];

    (void)state;
    crew_run(hands, 2 * COUPLES, context, bind_or_connect, NULL);
    assert_int_equal(sennit_context_close(context), SENNIT_OK);
}

static void
undo(hand *h)
{
    sennit_sock *sock = crew_sock(h->loop, SENNIT_PAIR);

    for (unsigned round = 0; round < 300; round++) {
        sennit_err err = h->number ? sennit_sock_connect(sock, "inproc://undone")
                                   : sennit_sock_bind(sock, "inproc://undone");

        CHECK(err == SENNIT_OK || (h->number && err == SENNIT_EEXIST));
        err = crew_send(sock, round, SENNIT_DONTWAIT);
        CHECK(err == SENNIT_OK || err == SENNIT_EAGAIN);
        for (unsigned turns = round % 4; turns > 0; turns--)
            CHECK_ERR(sennit_loop_turn(h->loop, 0), SENNIT_OK);
        err = h->number ? sennit_sock_disconnect(sock, "inproc://undone")
                        : sennit_sock_unbind(sock, "inproc://undone");
        CHECK(err == SENNIT_OK || err == SENNIT_ENOENT);
        crew_check_law(sock);
        /* A pair that parted takes another peer when what it got is read. */
        for (uint64_t number; crew_recv(sock, &number, SENNIT_DONTWAIT) == SENNIT_OK;)
            ;
    }
    sennit_sock_close(sock);
}

static void
d32d_unbind_and_disconnect_in_parallel_find_it_or_not(void **state)
{
    sennit_context *context = open_context();
    hand hands[2];

    (void)state;
    crew_run(hands, 2, context, undo, NULL);
    assert_int_equal(sennit_context_close(context), SENNIT_OK);
}

/* ---- chaos ------------------------------------------------------------- */

#define CHAOTICS 4u
#define KEPT     6u

typedef struct tally {
    atomic_ullong delivered;
    atomic_ullong received;
} tally;

typedef struct chaos {
    hand *hand;
    tally *tally;
    test_rng rng;
    struct {
        sennit_sock *sock;
        bool begun; /* a message whose end is to come */
    } kept[KEPT];
} chaos;

static unsigned
below(chaos *c, unsigned bound)
{
    return (unsigned)test_rng_below(&c->rng, bound);
}

static void
drop_sock(chaos *c, unsigned at)
{
    sennit_sock *sock = c->kept[at].sock;
    sennit_sock_stats stats;

    /* A ROUTER counts what it drops at the first frame. */
    if (c->kept[at].begun)
        CHECK_ERR(crew_send(sock, 0, SENNIT_DONTWAIT), SENNIT_OK);
    crew_check_law(sock);
    sennit_sock_get_stats(sock, &stats);
    atomic_fetch_add(&c->tally->delivered, stats.delivered_msgs);
    atomic_fetch_add(&c->tally->received, stats.received_msgs);
    sennit_sock_close(sock);
    c->kept[at].sock = NULL;
    c->kept[at].begun = false;
}

static void
take_sock(chaos *c, unsigned at)
{
    static const sennit_sock_type types[] = { SENNIT_PAIR, SENNIT_PUSH, SENNIT_PULL,
                                              SENNIT_DEALER, SENNIT_ROUTER };
    sennit_sock_opts opts = crew_opts();

    opts.send_hwm_msgs = (int)below(c, 4) * 3;
    opts.recv_hwm_msgs = (int)below(c, 4) * 2;
    CHECK_ERR(
        sennit_sock_open(&c->kept[at].sock, c->hand->loop, types[below(c, 5)], &opts),
        SENNIT_OK);
}

static void
send_some(chaos *c, unsigned at)
{
    sennit_err err = SENNIT_OK;

    for (unsigned i = below(c, 20); i > 0 && err == SENNIT_OK; i--) {
        bool more = below(c, 8) == 0;

        err = crew_send(c->kept[at].sock, i, SENNIT_DONTWAIT | (more ? SENNIT_MORE : 0));
        if (err == SENNIT_OK)
            c->kept[at].begun = more;
    }
    CHECK(err == SENNIT_OK || err == SENNIT_EAGAIN || err == SENNIT_ENOTSUP);
}

static void
receive_some(chaos *c, unsigned at)
{
    sennit_err err = SENNIT_OK;
    sennit_msg msg;

    sennit_msg_init(&msg);
    for (unsigned i = below(c, 20); i > 0 && err == SENNIT_OK; i--)
        err = sennit_sock_recv(c->kept[at].sock, &msg, SENNIT_DONTWAIT);
    sennit_msg_fini(&msg);
    CHECK(err == SENNIT_OK || err == SENNIT_EAGAIN || err == SENNIT_ENOTSUP);
}

static void
do_something(chaos *c)
{
    static const char *const names[] = { "inproc://a", "inproc://b", "inproc://c" };
    const char *name = names[below(c, 3)];
    unsigned at = below(c, KEPT);
    sennit_err err;

    if (c->kept[at].sock == NULL)
        take_sock(c, at);
    switch (below(c, 8)) {
    case 0:
        err = sennit_sock_bind(c->kept[at].sock, name);
        CHECK(err == SENNIT_OK || err == SENNIT_EADDRINUSE);
        break;
    case 1:
        err = sennit_sock_connect(c->kept[at].sock, name);
        CHECK(err == SENNIT_OK || err == SENNIT_EPROTO || err == SENNIT_EEXIST);
        break;
    case 2:
        err = below(c, 2) ? sennit_sock_unbind(c->kept[at].sock, name)
                          : sennit_sock_disconnect(c->kept[at].sock, name);
        CHECK(err == SENNIT_OK || err == SENNIT_ENOENT);
        break;
    case 3:
        drop_sock(c, at);
        break;
    case 4:
    case 5:
        send_some(c, at);
        break;
    case 6:
        receive_some(c, at);
        break;
    default:
        CHECK_ERR(sennit_loop_turn(c->hand->loop, 0), SENNIT_OK);
    }
}

static void
go_wild(hand *h)
{
    chaos c = { .hand = h, .tally = h->arg, .rng = { 12345 + h->number } };

    for (unsigned i = 0; i < 20000; i++)
        do_something(&c);
    for (unsigned i = 0; i < KEPT; i++)
        if (c.kept[i].sock != NULL)
            drop_sock(&c, i);
}

static void
sockets_that_come_and_go_at_random_lose_and_invent_nothing(void **state)
{
    sennit_context *context = open_context();
    hand hands[CHAOTICS];
    tally t = { 0 };

    (void)state;
    crew_run(hands, CHAOTICS, context, go_wild, &t);
    assert_int_equal(sennit_context_close(context), SENNIT_OK);
    /* What was delivered and not received lay with a socket that closed. */
    assert_true(atomic_load(&t.received) <= atomic_load(&t.delivered));
    assert_true(atomic_load(&t.received) > 0);
}

/* ---- turns ------------------------------------------------------------- */

typedef struct flood {
    atomic_bool over;
    atomic_bool begun;
} flood;

/* Subscribes and unsubscribes as fast as it can. */
static void
churn(hand *h)
{
    sennit_sock *xsub = crew_sock(h->loop, SENNIT_XSUB);
    flood *f = h->arg;
    char topic[200];
    sennit_bytes prefix = { (const uint8_t *)topic, sizeof topic };

    memset(topic, 't', sizeof topic);
    CHECK_ERR(sennit_sock_connect(xsub, "inproc://flood"), SENNIT_OK);
    CHECK_ERR(sennit_sock_wait_connections(xsub, 1, CREW_DEADLINE_MS), SENNIT_OK);
    while (!atomic_load(&f->over)) {
        CHECK_ERR(sennit_sock_subscribe(xsub, prefix), SENNIT_OK);
        CHECK_ERR(sennit_sock_unsubscribe(xsub, prefix), SENNIT_OK);
        atomic_store(&f->begun, true);
    }
    sennit_sock_close(xsub);
}

/* If a turn went on for as long as there is something to hear, the flood would never be
 * told that it is over. */
static void
a_subscriber_that_never_stops_does_not_keep_a_publisher_from_its_turn(void **state)
{
    sennit_context *context = open_context();
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;
    uint64_t until = crew_ms() + CREW_DEADLINE_MS;
    flood f;
    sennit_loop *loop;
    sennit_sock *pub;
    hand h;

    (void)state;
    atomic_init(&f.over, false);
    atomic_init(&f.begun, false);
    opts.context = context;
    assert_int_equal(sennit_loop_open(&loop, &opts), SENNIT_OK);
    pub = crew_sock(loop, SENNIT_PUB);
    assert_int_equal(sennit_sock_bind(pub, "inproc://flood"), SENNIT_OK);
    crew_start(&h, context, churn, &f);
    while (!atomic_load(&f.begun)) {
        CHECK(crew_ms() < until);
        CHECK_ERR(sennit_loop_turn(loop, 10), SENNIT_OK);
    }
    for (int i = 0; i < 200; i++) {
        CHECK(crew_ms() < until);
        CHECK_ERR(sennit_loop_turn(loop, 10), SENNIT_OK);
    }
    atomic_store(&f.over, true);
    crew_join(&h);
    sennit_loop_close(loop);
    assert_int_equal(sennit_context_close(context), SENNIT_OK);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(requests_and_replies_go_round_10000_times),
    cmocka_unit_test(a_million_messages_arrive_in_order),
    cmocka_unit_test(each_subscriber_gets_what_it_asked_for),
    cmocka_unit_test(
        a_subscriber_that_never_stops_does_not_keep_a_publisher_from_its_turn),
    cmocka_unit_test(d32a_shutdown_with_pending_connects_1000_times),
    cmocka_unit_test(d32b_50_binders_and_50_connecters_at_once),
    cmocka_unit_test(d32d_unbind_and_disconnect_in_parallel_find_it_or_not),
    cmocka_unit_test(d07b_a_blocked_call_returns_within_100_ms_of_the_shutdown),
    cmocka_unit_test(d29_a_blocked_call_returns_when_another_thread_posts_a_close),
    cmocka_unit_test(sockets_that_come_and_go_at_random_lose_and_invent_nothing),
};

SENNIT_TEST_MAIN(tests)
