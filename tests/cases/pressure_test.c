/* SPDX-License-Identifier: MIT */
/* Cases D04, D05, D06, D23 and D35: marks, slow peers, whole messages, fairness. */
#include "net.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static net n;

/* `size` letters and a zero; the caller frees them. */
static char *
body_of(size_t size)
{
    char *body = malloc(size + 1);

    assert_non_null(body);
    memset(body, 'b', size);
    body[size] = '\0';
    return body;
}

/* ---- D04: the mark is obeyed ------------------------------------------- */

static void
D04_a_what_a_reader_leaves_unread_stops_its_sender_near_both_marks(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *sender;
    sennit_sock *reader;
    char *body = body_of(1 << 20);
    int accepted = 0;
    sennit_time still;

    (void)state;
    net_open(&n);
    opts.send_hwm_msgs = 2;
    opts.recv_hwm_msgs = 2;
    opts.kernel_send_bytes = 16384;
    opts.kernel_recv_bytes = 16384;
    sender = net_sock(&n, SENNIT_DEALER, &opts);
    reader = net_sock(&n, SENNIT_DEALER, &opts);
    net_join(&n, sender, reader, TCP);
    /* Until nothing moves any more: a second without an accepted message. */
    still = sennit_loop_now(n.loop);
    while (sennit_loop_now(n.loop) - still < 1000000000u) {
        if (sennit_sock_send_bytes(sender, body, 1 << 20, SENNIT_DONTWAIT) == SENNIT_OK) {
            accepted++;
            still = sennit_loop_now(n.loop);
        }
        assert_int_equal(sennit_loop_turn(n.loop, 5), SENNIT_OK);
    }
    assert_in_range(accepted, 2, 2 + 2 + 2);
    free(body);
    net_close(&n);
}

static void
D04_b_a_mark_that_is_set_after_connect_counts_at_once(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *push;

    (void)state;
    net_open(&n);
    push = net_sock(&n, SENNIT_PUSH, &opts);
    net_connect(push, net_vacant(TCP));
    sennit_sock_get_opts(push, &opts);
    opts.send_hwm_msgs = 3;
    assert_int_equal(sennit_sock_set_opts(push, &opts), SENNIT_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(net_try_send(push, "a|b", SENNIT_DONTWAIT), SENNIT_OK);
    assert_int_equal(net_try_send(push, "x", SENNIT_DONTWAIT), SENNIT_EAGAIN);
    opts.send_hwm_msgs = 5;
    assert_int_equal(sennit_sock_set_opts(push, &opts), SENNIT_OK);
    assert_int_equal(net_try_send(push, "a|b", SENNIT_DONTWAIT), SENNIT_OK);
    assert_int_equal(net_try_send(push, "a|b", SENNIT_DONTWAIT), SENNIT_OK);
    assert_int_equal(net_try_send(push, "x", SENNIT_DONTWAIT), SENNIT_EAGAIN);
    /* Below what is queued nothing is dropped, only nothing more is taken. */
    opts.send_hwm_msgs = 1;
    assert_int_equal(sennit_sock_set_opts(push, &opts), SENNIT_OK);
    assert_int_equal(net_stats(push).queued_msgs, 5);
    assert_int_equal(net_try_send(push, "x", SENNIT_DONTWAIT), SENNIT_EAGAIN);
    net_close(&n);
}

static void
D04_c_without_marks_nothing_is_dropped(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *pub;
    sennit_sock *sub;
    char text[32];

    (void)state;
    net_open(&n);
    opts.send_hwm_msgs = 0;
    opts.recv_hwm_msgs = 0;
    pub = net_sock(&n, SENNIT_PUB, &opts);
    sub = net_sock(&n, SENNIT_SUB, &opts);
    net_subscribe(sub, "");
    net_join(&n, pub, sub, TCP);
    NET_UNTIL(&n, net_stats(pub).subscriptions == 1);
    for (int i = 0; i < 10000; i++) {
        snprintf(text, sizeof text, "%d", i);
        net_send(pub, text);
    }
    for (int i = 0; i < 10000; i++) {
        snprintf(text, sizeof text, "%d", i);
        assert_string_equal(net_recv(sub), text);
    }
    net_close(&n);
}

/* ---- D05: full and gone ------------------------------------------------ */

static void
close_it(void *arg)
{
    sennit_sock_close(arg);
}

/* Queues for X until no more is taken. */
static void
fill(sennit_sock *router, const char *message)
{
    sennit_time since = sennit_loop_now(n.loop);

    /* What the kernel takes meanwhile makes room: full is what stays full. */
    while (sennit_loop_now(n.loop) - since < 200000000u) {
        if (net_try_send(router, message, SENNIT_DONTWAIT) == SENNIT_OK)
            since = sennit_loop_now(n.loop);
        assert_int_equal(sennit_loop_turn(n.loop, 5), SENNIT_OK);
    }
    assert_int_equal(net_try_send(router, message, SENNIT_DONTWAIT), SENNIT_EAGAIN);
}

static void
full_and_gone(transport via)
{
    sennit_sock_opts opts = net_opts();
    sennit_timer timer = { 0 };
    sennit_sock *router;
    sennit_sock *peer;
    char *message = body_of(100000);

    net_open(&n);
    memcpy(message, "X|", 2);
    message[99999] = '\0';
    opts.send_hwm_msgs = 1;
    opts.recv_hwm_msgs = 1;
    opts.router_mandatory = true;
    router = net_sock(&n, SENNIT_ROUTER, &opts);
    opts.router_mandatory = false;
    opts.identity_size = 1;
    opts.identity[0] = 'X';
    peer = net_sock(&n, SENNIT_DEALER, &opts);
    net_join(&n, router, peer, via);
    fill(router, message);
    assert_int_equal(sennit_timer_start(n.loop, &timer, 50000000u, close_it, peer),
                     SENNIT_OK);
    /* Waits, until the peer has gone. */
    assert_int_equal(net_try_send(router, message, 0), SENNIT_EHOSTUNREACH);
    /* Gone before, and not full: at once. */
    assert_int_equal(net_try_send(router, "X|y", 0), SENNIT_EHOSTUNREACH);
    free(message);
    net_close(&n);
}

static void
D05_a_send_that_waits_for_room_ends_when_the_peer_is_gone_tcp(void **state)
{
    (void)state;
    full_and_gone(TCP);
}

static void
D05_a_send_that_waits_for_room_ends_when_the_peer_is_gone_ipc(void **state)
{
    (void)state;
    full_and_gone(IPC);
}

static void
D05_a_send_that_waits_for_room_ends_when_the_peer_is_gone_inproc(void **state)
{
    (void)state;
    full_and_gone(INPROC);
}

/* ---- D06: one slow subscriber ------------------------------------------ */

#define PUBLICATIONS 20000

/* A subscriber to everything that only its own thread would read; here nobody does. */
static sennit_sock *
subscriber(const sennit_sock_opts *opts, const char *endpoint)
{
    sennit_sock *sub = net_sock(&n, SENNIT_SUB, opts);

    net_subscribe(sub, "");
    net_connect(sub, endpoint);
    return sub;
}

static void
D06_a_a_subscriber_that_does_not_read_costs_the_others_nothing(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *pub;
    sennit_sock *fast;
    sennit_sock *slow;
    char *body = body_of(1024);
    char got[1024];
    const char *endpoint;
    size_t size;

    (void)state;
    net_open(&n);
    opts.send_hwm_msgs = 100;
    opts.recv_hwm_msgs = 100;
    opts.kernel_send_bytes = 16384;
    opts.kernel_recv_bytes = 16384;
    pub = net_sock(&n, SENNIT_PUB, &opts);
    endpoint = net_bind(pub, TCP);
    fast = subscriber(&opts, endpoint);
    slow = subscriber(&opts, endpoint);
    NET_UNTIL(&n, net_stats(pub).subscriptions == 2);
    for (int i = 0; i < PUBLICATIONS; i++) {
        memcpy(body, &i, sizeof i);
        assert_int_equal(sennit_sock_send_bytes(pub, body, 1024, SENNIT_DONTWAIT),
                         SENNIT_OK);
        assert_int_equal(sennit_sock_recv_bytes(fast, got, sizeof got, &size, 0),
                         SENNIT_OK);
        assert_memory_equal(got, body, sizeof i);
    }
    assert_true(net_stats(pub).dropped_hwm_msgs > 0);
    assert_int_equal(net_stats(pub).dropped_hwm_msgs + net_stats(pub).delivered_msgs +
                         net_stats(pub).queued_msgs,
                     2 * PUBLICATIONS);
    /* Both marks, the kernel and one window for the slow one; nothing that grows. */
    assert_true(n.alloc.peak_bytes < 2 * 100 * 1100 + (16u << 20));
    (void)slow;
    free(body);
    net_close(&n);
}

static void
D06_b_without_drops_the_publisher_waits_and_nobody_misses_anything(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *pub;
    sennit_sock *fast;
    sennit_sock *slow;
    char *body = body_of(1024);
    char got[1024];
    const char *endpoint;
    size_t size;
    int accepted = 0;
    int received = 0;
    sennit_time still;

    (void)state;
    net_open(&n);
    opts.send_hwm_msgs = 10;
    opts.recv_hwm_msgs = 10;
    opts.kernel_send_bytes = 16384;
    opts.kernel_recv_bytes = 16384;
    opts.slow_subscriber = SENNIT_SLOW_BLOCK;
    pub = net_sock(&n, SENNIT_PUB, &opts);
    opts.slow_subscriber = SENNIT_SLOW_DROP_NEW;
    endpoint = net_bind(pub, TCP);
    fast = subscriber(&opts, endpoint);
    slow = subscriber(&opts, endpoint);
    NET_UNTIL(&n, net_stats(pub).subscriptions == 2);
    still = sennit_loop_now(n.loop);
    while (sennit_loop_now(n.loop) - still < 300000000u) {
        memcpy(body, &accepted, sizeof accepted);
        if (sennit_sock_send_bytes(pub, body, 1024, SENNIT_DONTWAIT) == SENNIT_OK) {
            accepted++;
            still = sennit_loop_now(n.loop);
        }
        assert_int_equal(sennit_loop_turn(n.loop, 1), SENNIT_OK);
        while (sennit_sock_recv_bytes(fast, got, sizeof got, &size, SENNIT_DONTWAIT) ==
               SENNIT_OK) {
            assert_memory_equal(got, &received, sizeof received);
            received++;
        }
    }
    assert_int_equal(received, accepted);
    assert_int_equal(net_stats(pub).dropped_hwm_msgs, 0);
    assert_int_equal(sennit_sock_send_bytes(pub, body, 1024, SENNIT_DONTWAIT),
                     SENNIT_EAGAIN);
    for (int i = 0; i < accepted; i++) {
        assert_int_equal(sennit_sock_recv_bytes(slow, got, sizeof got, &size, 0),
                         SENNIT_OK);
        assert_memory_equal(got, &i, sizeof i);
    }
    free(body);
    net_close(&n);
}

static void
D06_c_each_subscriber_of_a_conflating_publisher_ends_on_the_newest(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *pub;
    sennit_sock *subs[3];
    const char *endpoint;
    char text[32];

    (void)state;
    net_open(&n);
    opts.conflate = true;
    pub = net_sock(&n, SENNIT_PUB, &opts);
    endpoint = net_bind(pub, TCP);
    for (int i = 0; i < 3; i++)
        subs[i] = subscriber(&opts, endpoint);
    NET_UNTIL(&n, net_stats(pub).subscriptions == 3);
    for (int i = 0; i <= 1000; i++) {
        snprintf(text, sizeof text, "%d", i);
        net_send(pub, text);
    }
    for (int i = 0; i < 3; i++) {
        const char *last;

        do
            last = net_recv(subs[i]);
        while (strcmp(last, "1000") != 0);
        assert_string_equal(net_recv_flags(subs[i], SENNIT_DONTWAIT), "EAGAIN");
    }
    assert_int_equal(net_try_send(pub, "torn|message", 0), SENNIT_ENOTSUP);
    net_send(pub, "whole");
    for (int i = 0; i < 3; i++)
        assert_string_equal(net_recv(subs[i]), "whole");
    net_close(&n);
}

/* ---- D23: all frames or none ------------------------------------------- */

static void
one_of_two_dies_in_the_middle(sennit_sock_type sender_type, sennit_sock_type type)
{
    for (int round = 0; round < 100; round++) {
        sennit_sock *sender;
        sennit_sock *a;
        sennit_sock *b;
        const char *endpoint;
        char text[64];
        int more = 0;

        net_open(&n);
        sender = net_sock(&n, sender_type, NULL);
        a = net_sock(&n, type, NULL);
        b = net_sock(&n, type, NULL);
        endpoint = net_bind(sender, TCP);
        net_connect(a, endpoint);
        net_connect(b, endpoint);
        NET_UNTIL(&n, net_stats(sender).connections == 2);
        assert_int_equal(sennit_sock_send_bytes(sender, "head", 4, SENNIT_MORE),
                         SENNIT_OK);
        if (round % 2 == 0)
            assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
        sennit_sock_close(round % 4 < 2 ? a : b);
        (void)net_event(&n, sender, SENNIT_EVENT_DISCONNECTED);
        /* Swallowed to its end if it was that peer's, sent if it was the other's. */
        assert_int_equal(sennit_sock_send_bytes(sender, "tail", 4, 0), SENNIT_OK);
        for (int i = 0; i < 3; i++) {
            snprintf(text, sizeof text, "whole|%d", i);
            net_send(sender, text);
        }
        for (int i = 0; i < 3; more++) {
            const char *got = net_recv(round % 4 < 2 ? b : a);

            if (strcmp(got, "head|tail") == 0)
                continue;
            snprintf(text, sizeof text, "whole|%d", i++);
            assert_string_equal(got, text);
        }
        assert_in_range(more, 3, 4);
        assert_int_equal(net_stats(sender).dropped_disconnect_msgs, 4 - more);
        net_check_law(sender);
        net_close(&n);
    }
}

static void
D23_a_the_rest_of_a_message_follows_its_beginning_or_nobody_dealer(void **state)
{
    (void)state;
    one_of_two_dies_in_the_middle(SENNIT_DEALER, SENNIT_DEALER);
}

static void
D23_a_the_rest_of_a_message_follows_its_beginning_or_nobody_push(void **state)
{
    (void)state;
    one_of_two_dies_in_the_middle(SENNIT_PUSH, SENNIT_PULL);
}

static void
D23_b_a_message_that_meets_the_mark_in_the_middle_is_finished(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *push;
    sennit_sock *pull;

    (void)state;
    net_open(&n);
    opts.send_hwm_msgs = 1;
    push = net_sock(&n, SENNIT_PUSH, &opts);
    net_connect(push, net_vacant(TCP));
    for (int i = 0; i < 9; i++)
        assert_int_equal(
            sennit_sock_send_bytes(push, "f", 1, SENNIT_MORE | SENNIT_DONTWAIT),
            SENNIT_OK);
    assert_int_equal(sennit_sock_send_bytes(push, "f", 1, SENNIT_DONTWAIT), SENNIT_OK);
    assert_int_equal(sennit_sock_send_bytes(push, "f", 1, SENNIT_MORE | SENNIT_DONTWAIT),
                     SENNIT_EAGAIN);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    assert_int_equal(sennit_sock_bind(pull, sennit_sock_last_endpoint(push)), SENNIT_OK);
    assert_string_equal(net_recv(pull), "f|f|f|f|f|f|f|f|f|f");
    net_close(&n);
}

static void
D23_c_ten_thousand_frames_are_one_message(void **state)
{
    sennit_sock *push;
    sennit_sock *pull;

    (void)state;
    net_open(&n);
    push = net_sock(&n, SENNIT_PUSH, NULL);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    net_join(&n, push, pull, TCP);
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 10000; i++)
            assert_int_equal(
                sennit_sock_send_bytes(push, &i, sizeof i, i < 9999 ? SENNIT_MORE : 0),
                SENNIT_OK);
        for (int i = 0; i < 10000; i++) {
            sennit_msg frame;

            sennit_msg_init(&frame);
            assert_int_equal(sennit_sock_recv(pull, &frame, 0), SENNIT_OK);
            assert_int_equal(sennit_msg_size(&frame), sizeof i);
            assert_memory_equal(sennit_msg_data(&frame), &i, sizeof i);
            assert_int_equal(sennit_msg_more(&frame), i < 9999);
            sennit_msg_fini(&frame);
        }
    }
    net_close(&n);
}

static void
D23_d_a_message_whose_sender_ends_in_the_middle_never_was(void **state)
{
    sennit_sock *pull;
    sennit_sock *push;
    const char *endpoint;
    int fd;

    (void)state;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    endpoint = net_bind(pull, TCP);
    fd = raw_connect(endpoint);
    raw_handshake(&n, fd, "PUSH", NULL);
    raw_write(&n, fd, "\x01\x04half\x01\x03way", 11);
    close(fd);
    (void)net_event(&n, pull, SENNIT_EVENT_DISCONNECTED);
    push = net_sock(&n, SENNIT_PUSH, NULL);
    net_connect(push, endpoint);
    net_send(push, "whole");
    assert_string_equal(net_recv(pull), "whole");
    assert_int_equal(net_stats(pull).received_msgs, 1);
    net_close(&n);
}

/* ---- D35: nobody starves ----------------------------------------------- */

static void
D35_a_quiet_peer_comes_after_at_most_two_messages_of_a_flood(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *pull;
    sennit_sock *flood;
    sennit_sock *quiet;
    const char *endpoint;

    (void)state;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    endpoint = net_bind(pull, TCP);
    flood = net_sock(&n, SENNIT_PUSH, &opts);
    quiet = net_sock(&n, SENNIT_PUSH, &opts);
    net_connect(flood, endpoint);
    net_connect(quiet, endpoint);
    NET_UNTIL(&n, net_stats(pull).connections == 2);
    for (int round = 0; round < 50; round++) {
        int before = 0;
        sennit_peer peers[2];
        bool here = false;

        while (net_try_send(flood, "flood", SENNIT_DONTWAIT) == SENNIT_OK)
            continue;
        net_send(quiet, "quiet");
        /* Once it is at the socket ... */
        while (!here) {
            assert_int_equal(sennit_loop_turn(n.loop, 5), SENNIT_OK);
            assert_int_equal(sennit_sock_get_peers(pull, peers, 2), 2);
            here = peers[0].unread_msgs > 0 && peers[1].unread_msgs > 0;
        }
        /* ... at most two of the other's come first. */
        while (strcmp(net_recv(pull), "quiet") != 0)
            before++;
        assert_in_range(before, 0, 2);
    }
    net_close(&n);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(D04_a_what_a_reader_leaves_unread_stops_its_sender_near_both_marks),
    cmocka_unit_test(D04_b_a_mark_that_is_set_after_connect_counts_at_once),
    cmocka_unit_test(D04_c_without_marks_nothing_is_dropped),
    cmocka_unit_test(D05_a_send_that_waits_for_room_ends_when_the_peer_is_gone_tcp),
    cmocka_unit_test(D05_a_send_that_waits_for_room_ends_when_the_peer_is_gone_ipc),
    cmocka_unit_test(D05_a_send_that_waits_for_room_ends_when_the_peer_is_gone_inproc),
    cmocka_unit_test(D06_a_a_subscriber_that_does_not_read_costs_the_others_nothing),
    cmocka_unit_test(D06_b_without_drops_the_publisher_waits_and_nobody_misses_anything),
    cmocka_unit_test(D06_c_each_subscriber_of_a_conflating_publisher_ends_on_the_newest),
    cmocka_unit_test(D23_a_the_rest_of_a_message_follows_its_beginning_or_nobody_dealer),
    cmocka_unit_test(D23_a_the_rest_of_a_message_follows_its_beginning_or_nobody_push),
    cmocka_unit_test(D23_b_a_message_that_meets_the_mark_in_the_middle_is_finished),
    cmocka_unit_test(D23_c_ten_thousand_frames_are_one_message),
    cmocka_unit_test(D23_d_a_message_whose_sender_ends_in_the_middle_never_was),
    cmocka_unit_test(D35_a_quiet_peer_comes_after_at_most_two_messages_of_a_flood),
};

SENNIT_TEST_MAIN(tests)
