/* SPDX-License-Identifier: MIT */
/* Every pair of socket types, over every transport, bound at either end; and bodies
 * of every kind. */
#include "net.h"

#include <stdio.h>

#include "suite.h"

typedef struct pair_row {
    sennit_sock_type binder;
    sennit_sock_type connecter;
} pair_row;

static const pair_row pairs[] = {
    { SENNIT_PAIR, SENNIT_PAIR },     { SENNIT_PUB, SENNIT_SUB },
    { SENNIT_SUB, SENNIT_PUB },       { SENNIT_REQ, SENNIT_REP },
    { SENNIT_REP, SENNIT_REQ },       { SENNIT_REQ, SENNIT_ROUTER },
    { SENNIT_ROUTER, SENNIT_REQ },    { SENNIT_REP, SENNIT_DEALER },
    { SENNIT_DEALER, SENNIT_REP },    { SENNIT_DEALER, SENNIT_ROUTER },
    { SENNIT_ROUTER, SENNIT_DEALER }, { SENNIT_DEALER, SENNIT_DEALER },
    { SENNIT_ROUTER, SENNIT_ROUTER }, { SENNIT_PUSH, SENNIT_PULL },
    { SENNIT_PULL, SENNIT_PUSH },     { SENNIT_XPUB, SENNIT_SUB },
    { SENNIT_SUB, SENNIT_XPUB },      { SENNIT_PUB, SENNIT_XSUB },
    { SENNIT_XSUB, SENNIT_PUB },      { SENNIT_XPUB, SENNIT_XSUB },
    { SENNIT_XSUB, SENNIT_XPUB },
};

#define PAIRS (sizeof pairs / sizeof pairs[0])
#define TYPES (SENNIT_PUSH + 1)

/* What the first end sends so that the other receives `body`, and what that sees. */
static void
say(sennit_sock *from, sennit_sock *to, const char *body)
{
    sennit_sock_type sender = sennit_sock_get_type(from);
    sennit_sock_type receiver = sennit_sock_get_type(to);
    char sent[256];
    char seen[256];

    /* Identities are the names of the types; both ends are told apart by 2. */
    snprintf(sent, sizeof sent, "%s%s%s",
             sender == SENNIT_ROUTER ? (receiver == SENNIT_ROUTER ? "to|" : "peer|")
             : sender == SENNIT_DEALER && receiver == SENNIT_REP ? "|"
                                                                 : "",
             sender == SENNIT_ROUTER && receiver == SENNIT_REQ ? "|" : "", body);
    snprintf(seen, sizeof seen, "%s%s%s",
             receiver == SENNIT_ROUTER ? (sender == SENNIT_ROUTER ? "from|" : "peer|")
             : receiver == SENNIT_DEALER && sender == SENNIT_REP ? "|"
                                                                 : "",
             receiver == SENNIT_ROUTER && sender == SENNIT_REQ ? "|" : "", body);
    net_send(from, sent);
    assert_string_equal(net_recv(to), seen);
}

static bool
publishes(sennit_sock_type type)
{
    return type == SENNIT_PUB || type == SENNIT_XPUB;
}

static void
talk(net *n, sennit_sock *a, sennit_sock *b)
{
    sennit_sock_type type = sennit_sock_get_type(a);
    bool answers;

    if (type == SENNIT_SUB || type == SENNIT_XSUB || type == SENNIT_PULL ||
        type == SENNIT_REP) {
        talk(n, b, a);
        return;
    }
    if (publishes(type)) {
        net_subscribe(b, "");
        NET_UNTIL(n, net_stats(a).subscriptions == 1);
    }
    if (type == SENNIT_ROUTER && sennit_sock_get_type(b) == SENNIT_REQ) {
        talk(n, b, a);
        return;
    }
    answers = !publishes(type) && type != SENNIT_PUSH &&
              !(type == SENNIT_ROUTER && sennit_sock_get_type(b) == SENNIT_ROUTER);
    for (int i = 0; i < 3; i++) {
        say(a, b, "one frame");
        if (answers)
            say(b, a, "and back");
        say(a, b, "three||frames");
        if (answers)
            say(b, a, "");
    }
}

static void
pair_talks(void **state)
{
    const pair_row *row = *state;

    for (int via = 0; via < TRANSPORTS; via++) {
        bool routers = row->binder == SENNIT_ROUTER && row->connecter == SENNIT_ROUTER;
        net n;
        sennit_sock *binder;
        sennit_sock *connecter;

        net_open(&n);
        binder = net_named(&n, row->binder, routers ? "from" : "peer");
        connecter = net_named(&n, row->connecter, routers ? "to" : "peer");
        net_join(&n, binder, connecter, (transport)via);
        talk(&n, binder, connecter);
        if (!publishes(row->binder) && !publishes(row->connecter)) {
            net_check_law(binder);
            net_check_law(connecter);
        }
        sennit_sock_close(binder);
        sennit_sock_close(connecter);
        net_close(&n);
    }
}

static bool
go_together(int a, int b)
{
    for (size_t i = 0; i < PAIRS; i++)
        if ((int)pairs[i].binder == a && (int)pairs[i].connecter == b)
            return true;
    return false;
}

/* Both monitors say why; over inproc the connect itself does. */
static void
types_that_do_not_go_together_refuse_each_other(void **state)
{
    (void)state;
    for (int a = 0; a < TYPES; a++) {
        for (int b = 0; b < TYPES; b++) {
            net n;
            sennit_sock *binder;
            sennit_sock *connecter;
            sennit_event event;

            if (go_together(a, b))
                continue;
            net_open(&n);
            binder = net_sock(&n, (sennit_sock_type)a, NULL);
            connecter = net_sock(&n, (sennit_sock_type)b, NULL);
            net_connect(connecter, net_bind(binder, TCP));
            event = net_event(&n, binder, SENNIT_EVENT_HANDSHAKE_FAILED);
            assert_int_equal(event.err, SENNIT_EPROTO);
            assert_string_equal(event.reason, "socket types do not go together");
            event = net_event(&n, connecter, SENNIT_EVENT_HANDSHAKE_FAILED);
            assert_true(event.reason[0] != '\0');
            assert_int_equal(net_stats(binder).connections, 0);
            sennit_sock_close(connecter);
            connecter = net_sock(&n, (sennit_sock_type)b, NULL);
            assert_int_equal(sennit_sock_connect(connecter, net_bind(binder, INPROC)),
                             SENNIT_EPROTO);
            net_close(&n);
        }
    }
}

/* ---- bodies ------------------------------------------------------------ */

/* Sizes around every border: inline, short head, copied or referenced, one block,
 * many. */
static const size_t sizes[] = { 0,    1,    54,    55,    56,     255,     256,
                                4095, 4096, 65535, 65536, 131072, 1u << 20 };

static void
fill(uint8_t *body, size_t size, unsigned seed)
{
    for (size_t i = 0; i < size; i++)
        body[i] = (uint8_t)(seed + i * 31 + i / 256);
}

static void
expect_body(sennit_sock *sock, size_t size, unsigned seed, bool more)
{
    uint8_t *wanted = malloc(size + 1);
    sennit_msg msg;

    assert_non_null(wanted);
    fill(wanted, size, seed);
    sennit_msg_init(&msg);
    assert_int_equal(sennit_sock_recv(sock, &msg, 0), SENNIT_OK);
    assert_int_equal(sennit_msg_size(&msg), size);
    assert_int_equal(sennit_msg_more(&msg), more);
    if (size > 0)
        assert_memory_equal(sennit_msg_data(&msg), wanted, size);
    sennit_msg_fini(&msg);
    free(wanted);
}

static void
send_body(sennit_sock *sock, size_t size, unsigned seed, bool more)
{
    sennit_msg msg;

    assert_int_equal(sennit_msg_init_size(&msg, size), SENNIT_OK);
    fill(sennit_msg_data(&msg), size, seed);
    assert_int_equal(sennit_sock_send(sock, &msg, more ? SENNIT_MORE : 0), SENNIT_OK);
    sennit_msg_fini(&msg);
}

static void
bodies_of_every_size_arrive_as_they_were(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        net n;
        sennit_sock *push;
        sennit_sock *pull;

        net_open(&n);
        push = net_sock(&n, SENNIT_PUSH, NULL);
        pull = net_sock(&n, SENNIT_PULL, NULL);
        net_join(&n, pull, push, (transport)via);
        for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
            send_body(push, sizes[i], i, false);
        for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
            expect_body(pull, sizes[i], i, false);
        net_check_law(push);
        net_close(&n);
    }
}

static void
one_message_of_frames_of_every_size_arrives_as_it_was(void **state)
{
    size_t count = sizeof sizes / sizeof sizes[0];

    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        net n;
        sennit_sock *push;
        sennit_sock *pull;

        net_open(&n);
        push = net_sock(&n, SENNIT_PUSH, NULL);
        pull = net_sock(&n, SENNIT_PULL, NULL);
        net_join(&n, push, pull, (transport)via);
        for (int round = 0; round < 3; round++) {
            for (unsigned i = 0; i < count; i++)
                send_body(push, sizes[i], i, i + 1 < count);
            for (unsigned i = 0; i < count; i++)
                expect_body(pull, sizes[i], i, i + 1 < count);
        }
        assert_int_equal(net_stats(pull).received_msgs, 3);
        net_close(&n);
    }
}

static void
a_message_of_thousands_of_frames_arrives_whole(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        net n;
        sennit_sock *push;
        sennit_sock *pull;

        net_open(&n);
        push = net_sock(&n, SENNIT_PUSH, NULL);
        pull = net_sock(&n, SENNIT_PULL, NULL);
        net_join(&n, pull, push, (transport)via);
        for (unsigned i = 0; i < 20000; i++)
            send_body(push, i % 90, i, i < 19999);
        for (unsigned i = 0; i < 20000; i++)
            expect_body(pull, i % 90, i, i < 19999);
        net_close(&n);
    }
}

/* With both allocators: the test's, which outlives the loop, and malloc's. */
static void
a_message_may_outlive_the_loop_it_came_through(void **state)
{
    static const size_t kept[] = { 10, 100, 1000, 5000, 100000, 300000 };

    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        for (int plain = 0; plain < 2; plain++) {
            sennit_msg msgs[6];
            sennit_sock *push;
            sennit_sock *pull;
            net n;

            if (plain)
                assert_int_equal(sennit_loop_open(&n.loop, NULL), SENNIT_OK);
            else
                net_open(&n);
            push = net_sock(&n, SENNIT_PUSH, NULL);
            pull = net_sock(&n, SENNIT_PULL, NULL);
            net_join(&n, pull, push, (transport)via);
            for (unsigned i = 0; i < 6; i++) {
                send_body(push, kept[i], i, false);
                sennit_msg_init(&msgs[i]);
                assert_int_equal(sennit_sock_recv(pull, &msgs[i], 0), SENNIT_OK);
            }
            sennit_loop_close(n.loop);
            for (unsigned i = 0; i < 6; i++) {
                assert_int_equal(sennit_msg_size(&msgs[i]), kept[i]);
                assert_int_equal(((uint8_t *)sennit_msg_data(&msgs[i]))[1],
                                 (uint8_t)(i + 31));
                sennit_msg_fini(&msgs[i]);
            }
            if (!plain)
                assert_int_equal(n.alloc.live_blocks, 0);
        }
    }
}

/* ---- user memory ------------------------------------------------------- */

typedef struct lent {
    uint8_t body[8192];
    unsigned released;
} lent;

static void
give_back(void *data, void *arg)
{
    lent *l = arg;

    assert_ptr_equal(data, l->body);
    l->released++;
}

static sennit_err
lend(sennit_sock *sock, lent *l, unsigned flags)
{
    sennit_msg msg;
    sennit_err err;

    memset(l->body, 7, sizeof l->body);
    l->released = 0;
    assert_int_equal(sennit_msg_init_user(&msg, l->body, sizeof l->body, give_back, l),
                     SENNIT_OK);
    err = sennit_sock_send(sock, &msg, flags);
    if (err)
        assert_int_equal(l->released, 0);
    sennit_msg_fini(&msg);
    return err;
}

static void
user_memory_is_released_once_when_it_was_sent(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        static lent l;
        net n;
        sennit_sock *push;
        sennit_sock *pull;
        sennit_msg msg;

        net_open(&n);
        push = net_sock(&n, SENNIT_PUSH, NULL);
        pull = net_sock(&n, SENNIT_PULL, NULL);
        net_join(&n, pull, push, (transport)via);
        assert_int_equal(lend(push, &l, 0), SENNIT_OK);
        sennit_msg_init(&msg);
        assert_int_equal(sennit_sock_recv(pull, &msg, 0), SENNIT_OK);
        assert_int_equal(sennit_msg_size(&msg), sizeof l.body);
        sennit_msg_fini(&msg);
        NET_UNTIL(&n, l.released > 0);
        net_close(&n);
        assert_int_equal(l.released, 1);
    }
}

static void
user_memory_is_released_once_when_the_send_was_refused(void **state)
{
    static lent l;
    net n;
    sennit_sock *push;

    (void)state;
    net_open(&n);
    push = net_sock(&n, SENNIT_PUSH, NULL);
    assert_int_equal(lend(push, &l, SENNIT_DONTWAIT), SENNIT_EAGAIN);
    assert_int_equal(l.released, 1);
    net_close(&n);
    assert_int_equal(l.released, 1);
}

static void
user_memory_is_released_once_when_nobody_wanted_it(void **state)
{
    static lent l;
    net n;

    (void)state;
    net_open(&n);
    assert_int_equal(lend(net_sock(&n, SENNIT_PUB, NULL), &l, 0), SENNIT_OK);
    assert_int_equal(l.released, 1);
    net_close(&n);
    assert_int_equal(l.released, 1);
}

/* Queued for somebody who never comes, and the socket is closed. */
static void
user_memory_is_released_once_when_it_was_still_queued_at_close(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        static lent first;
        static lent rest;
        net n;
        sennit_sock *push;

        net_open(&n);
        push = net_sock(&n, SENNIT_PUSH, NULL);
        net_connect(push, net_vacant((transport)via));
        assert_int_equal(lend(push, &first, SENNIT_MORE), SENNIT_OK);
        assert_int_equal(lend(push, &rest, 0), SENNIT_OK);
        assert_int_equal(first.released, 0);
        assert_int_equal(rest.released, 0);
        sennit_sock_close(push);
        net_close(&n);
        assert_int_equal(first.released, 1);
        assert_int_equal(rest.released, 1);
    }
}

static void
user_memory_is_released_once_when_its_peer_goes_before_the_last_frame(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        static lent first;
        static lent rest;
        net n;
        sennit_sock *push;
        sennit_sock *pull;

        net_open(&n);
        push = net_sock(&n, SENNIT_PUSH, NULL);
        pull = net_sock(&n, SENNIT_PULL, NULL);
        net_join(&n, push, pull, (transport)via);
        assert_int_equal(lend(push, &first, SENNIT_MORE), SENNIT_OK);
        sennit_sock_close(pull);
        NET_UNTIL(&n, net_stats(push).connections == 0);
        assert_int_equal(lend(push, &rest, 0), SENNIT_OK);
        net_check_law(push);
        net_close(&n);
        assert_int_equal(first.released, 1);
        assert_int_equal(rest.released, 1);
    }
}

static void
user_memory_of_a_publication_is_released_once_after_the_last_copy(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        static lent l;
        net n;
        sennit_sock *pub;
        sennit_sock *subs[3];

        net_open(&n);
        pub = net_sock(&n, SENNIT_PUB, NULL);
        for (int i = 0; i < 3; i++) {
            subs[i] = net_sock(&n, SENNIT_SUB, NULL);
            net_subscribe(subs[i], "");
            net_join(&n, subs[i], pub, (transport)via);
        }
        NET_UNTIL(&n, net_stats(pub).subscriptions == 3);
        assert_int_equal(lend(pub, &l, 0), SENNIT_OK);
        for (int i = 0; i < 3; i++) {
            sennit_msg msg;

            sennit_msg_init(&msg);
            assert_int_equal(sennit_sock_recv(subs[i], &msg, 0), SENNIT_OK);
            assert_int_equal(sennit_msg_size(&msg), sizeof l.body);
            sennit_msg_fini(&msg);
        }
        NET_UNTIL(&n, l.released > 0);
        assert_int_equal(net_stats(pub).delivered_msgs, 3);
        net_close(&n);
        assert_int_equal(l.released, 1);
    }
}

/* Alone, behind others that are gathered, and between frames of one message. */
static void
an_empty_body_may_be_nowhere(void **state)
{
    static const char *const expected[] = { "", "first", "", "", "last", "a||c" };

    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock *push;
        sennit_sock *pull;
        sennit_msg msg;
        net n;

        net_open(&n);
        push = net_sock(&n, SENNIT_PUSH, NULL);
        pull = net_sock(&n, SENNIT_PULL, NULL);
        net_join(&n, pull, push, (transport)via);
        assert_int_equal(sennit_sock_send_bytes(push, NULL, 0, 0), SENNIT_OK);
        net_send(push, "first");
        assert_int_equal(sennit_sock_send_bytes(push, NULL, 0, 0), SENNIT_OK);
        assert_int_equal(sennit_msg_init_copy(&msg, NULL, 0), SENNIT_OK);
        assert_int_equal(sennit_sock_send(push, &msg, 0), SENNIT_OK);
        net_send(push, "last");
        assert_int_equal(sennit_sock_send_bytes(push, "a", 1, SENNIT_MORE), SENNIT_OK);
        assert_int_equal(sennit_sock_send_bytes(push, NULL, 0, SENNIT_MORE), SENNIT_OK);
        assert_int_equal(sennit_sock_send_bytes(push, "c", 1, 0), SENNIT_OK);
        for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
            assert_string_equal(net_recv(pull), expected[i]);
        net_close(&n);
    }
}

int
main(void)
{
    static const struct CMUnitTest fixed[] = {
        cmocka_unit_test(types_that_do_not_go_together_refuse_each_other),
        cmocka_unit_test(bodies_of_every_size_arrive_as_they_were),
        cmocka_unit_test(one_message_of_frames_of_every_size_arrives_as_it_was),
        cmocka_unit_test(a_message_of_thousands_of_frames_arrives_whole),
        cmocka_unit_test(an_empty_body_may_be_nowhere),
        cmocka_unit_test(a_message_may_outlive_the_loop_it_came_through),
        cmocka_unit_test(user_memory_is_released_once_when_it_was_sent),
        cmocka_unit_test(user_memory_is_released_once_when_the_send_was_refused),
        cmocka_unit_test(user_memory_is_released_once_when_nobody_wanted_it),
        cmocka_unit_test(user_memory_is_released_once_when_it_was_still_queued_at_close),
        cmocka_unit_test(
            user_memory_is_released_once_when_its_peer_goes_before_the_last_frame),
        cmocka_unit_test(
            user_memory_of_a_publication_is_released_once_after_the_last_copy),
    };
    static test_suite suite;

    for (size_t i = 0; i < PAIRS; i++) {
        char name[64];

        snprintf(name, sizeof name, "a bound %s talks with a connecting %s",
                 sennit_sock_type_name(pairs[i].binder),
                 sennit_sock_type_name(pairs[i].connecter));
        test_suite_row(&suite, "", name, pair_talks, &pairs[i]);
    }
    TEST_SUITE_ADD(&suite, fixed);
    return test_suite_run(&suite);
}
