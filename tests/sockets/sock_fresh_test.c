/* SPDX-License-Identifier: MIT */
/* Messages that do not wait for ever: a newer one takes their place (conflate), or they
 * become too old (send_age_max_ms). What is dropped is counted, and memory stays where
 * it is. */
#include "net.h"

#include <stdio.h>
#include <unistd.h>

static net n;

static sennit_sock_opts
conflating(void)
{
    sennit_sock_opts opts = net_opts();

    opts.conflate = true;
    return opts;
}

static void
send_number(sennit_sock *sock, uint32_t number)
{
    char text[16];

    snprintf(text, sizeof text, "%u", number);
    net_send(sock, text);
}

/* Both directions: what was taken out of the queue is in exactly one counter. */
static uint64_t
conflated(const sennit_sock *sock)
{
    return net_stats(sock).dropped_conflated_msgs;
}

/* ---- the sender keeps the newest --------------------------------------- */

static void
a_sender_that_conflates_keeps_only_the_newest_for_a_late_peer(void **state)
{
    static const sennit_sock_type pairs[][2] = {
        { SENNIT_PUSH, SENNIT_PULL },
        { SENNIT_DEALER, SENNIT_DEALER },
    };

    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        for (size_t i = 0; i < 2; i++) {
            sennit_sock_opts opts = conflating();
            const char *endpoint = net_vacant((transport)via);
            sennit_sock *from;
            sennit_sock *to;

            net_open(&n);
            from = net_sock(&n, pairs[i][0], &opts);
            net_connect(from, endpoint);
            for (uint32_t number = 1; number <= 5000; number++)
                send_number(from, number);
            assert_int_equal(net_stats(from).queued_msgs, 1);
            assert_int_equal(conflated(from), 4999);
            to = net_sock(&n, pairs[i][1], NULL);
            assert_int_equal(sennit_sock_bind(to, endpoint), SENNIT_OK);
            assert_string_equal(net_recv(to), "5000");
            assert_string_equal(net_recv_flags(to, SENNIT_DONTWAIT), "EAGAIN");
            net_close(&n);
        }
    }
}

/* Each subscriber's queue by itself (D06c): all end on the newest value. */
static void
every_subscriber_of_a_publisher_that_conflates_ends_on_the_newest(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock_opts opts = conflating();
        static char body[2000];
        sennit_sock *subs[3];
        sennit_sock *pub;

        net_open(&n);
        pub = net_sock(&n, SENNIT_PUB, &opts);
        (void)net_bind(pub, (transport)via);
        for (int i = 0; i < 3; i++) {
            subs[i] = net_sock(&n, SENNIT_SUB, NULL);
            net_subscribe(subs[i], "");
            net_connect(subs[i], sennit_sock_last_endpoint(pub));
        }
        assert_int_equal(sennit_sock_wait_subscriptions(pub, 3, DEADLINE_MS), SENNIT_OK);
        for (uint32_t number = 1; number <= 5000; number++) {
            memcpy(body, &number, sizeof number);
            assert_int_equal(sennit_sock_send_bytes(pub, body, sizeof body, 0),
                             SENNIT_OK);
        }
        for (int i = 0; i < 3; i++) {
            uint32_t number = 0;
            uint32_t last = 0;
            size_t size;

            while (number != 5000) {
                assert_int_equal(
                    sennit_sock_recv_bytes(subs[i], body, sizeof body, &size, 0),
                    SENNIT_OK);
                memcpy(&number, body, sizeof number);
                assert_true(number > last);
                last = number;
            }
        }
        assert_int_equal(net_stats(pub).dropped_hwm_msgs, 0);
        assert_true(conflated(pub) > 0);
        assert_int_equal(net_stats(pub).delivered_msgs + net_stats(pub).queued_msgs +
                             conflated(pub),
                         3 * 5000);
        net_close(&n);
    }
}

static void
a_message_of_several_frames_is_refused_at_its_first(void **state)
{
    sennit_sock_opts opts = conflating();
    sennit_sock *push;
    sennit_msg msg;

    (void)state;
    net_open(&n);
    push = net_sock(&n, SENNIT_PUSH, &opts);
    net_connect(push, net_vacant(TCP));
    assert_int_equal(sennit_msg_init_copy(&msg, "first", 5), SENNIT_OK);
    assert_int_equal(sennit_sock_send(push, &msg, SENNIT_MORE), SENNIT_ENOTSUP);
    assert_string_equal(sennit_loop_why(n.loop),
                        "conflate is for messages of a single frame");
    assert_int_equal(sennit_msg_size(&msg), 5);
    assert_int_equal(sennit_sock_send(push, &msg, 0), SENNIT_OK);
    net_close(&n);
}

/* ---- the receiver keeps the newest ------------------------------------- */

static sennit_sock *
receiver_of(sennit_sock_type type, sennit_sock *from, transport via)
{
    sennit_sock_opts opts = conflating();
    sennit_sock *to;

    opts.recv_hwm_msgs = 1;
    to = net_sock(&n, type, &opts);
    if (type == SENNIT_SUB)
        net_subscribe(to, "");
    net_join(&n, from, to, via);
    return to;
}

static uint64_t
arrived(const sennit_sock *to)
{
    return conflated(to) + net_stats(to).received_msgs;
}

/* It goes on reading, whatever its marks are: nothing stands behind in the kernel. */
static void
a_receiver_that_conflates_has_the_newest_and_little_memory(void **state)
{
    static const sennit_sock_type pairs[][2] = {
        { SENNIT_PUSH, SENNIT_PULL },
        { SENNIT_PUB, SENNIT_SUB },
        { SENNIT_DEALER, SENNIT_DEALER },
    };

    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        for (size_t i = 0; i < 3; i++) {
            static char body[1000];
            sennit_sock *from;
            sennit_sock *to;
            uint32_t number;
            size_t size;
            size_t before = 0;

            net_open(&n);
            from = net_sock(&n, pairs[i][0], NULL);
            to = receiver_of(pairs[i][1], from, (transport)via);
            NET_UNTIL(&n,
                      pairs[i][0] != SENNIT_PUB || net_stats(from).subscriptions == 1);
            for (number = 1; number <= 20000; number++) {
                memcpy(body, &number, sizeof number);
                assert_int_equal(sennit_sock_send_bytes(from, body, sizeof body, 0),
                                 SENNIT_OK);
                /* A publisher drops what its peer has no time to read. */
                if (number % 100 == 0)
                    NET_UNTIL(&n, arrived(to) + 1 >= number);
                if (number == 1000)
                    before = n.alloc.peak_bytes;
            }
            NET_UNTIL(&n, arrived(to) + 1 == 20000);
            assert_true(n.alloc.peak_bytes < before + 300u * 1024u);
            assert_int_equal(sennit_sock_recv_bytes(to, body, sizeof body, &size, 0),
                             SENNIT_OK);
            memcpy(&number, body, sizeof number);
            assert_int_equal(number, 20000);
            assert_string_equal(net_recv_flags(to, SENNIT_DONTWAIT), "EAGAIN");
            net_close(&n);
        }
    }
}

/* What was only looked at, for sennit_sock_ready(), is no message that was received. */
static void
a_look_at_the_socket_does_not_keep_an_old_message(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock *push;
        sennit_sock *pull;

        net_open(&n);
        push = net_sock(&n, SENNIT_PUSH, NULL);
        pull = receiver_of(SENNIT_PULL, push, (transport)via);
        net_send(push, "old");
        NET_UNTIL(&n, sennit_sock_ready(pull) & SENNIT_READABLE);
        net_send(push, "new");
        NET_UNTIL(&n, conflated(pull) == 1);
        assert_true(sennit_sock_ready(pull) & SENNIT_READABLE);
        assert_string_equal(net_recv(pull), "new");
        assert_string_equal(net_recv_flags(pull, SENNIT_DONTWAIT), "EAGAIN");
        net_close(&n);
    }
}

/* A message that is half read is not dropped, nor is what comes meanwhile taken for newer
 * than it. What came before its end and what is there at its end then give way to the
 * newest, at however many turns they arrived. */
static void
a_message_that_is_half_read_is_read_to_its_end(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        for (int before = 0; before <= 11; before++) {
            sennit_sock *push;
            sennit_sock *pull;
            sennit_msg msg;

            net_open(&n);
            push = net_sock(&n, SENNIT_PUSH, NULL);
            pull = receiver_of(SENNIT_PULL, push, (transport)via);
            net_send(push, "1|2|3");
            sennit_msg_init(&msg);
            assert_int_equal(sennit_sock_recv(pull, &msg, 0), SENNIT_OK);
            assert_true(sennit_msg_more(&msg));
            sennit_msg_fini(&msg);
            for (int i = 1; i <= 11; i++) {
                net_send(push, i <= 10 ? "4|5" : "6|7");
                sennit_sock_flush(push);
                NET_UNTIL(&n, i != before || net_only_peer(pull).unread_msgs > 1);
            }
            /* The rest is known to be there, and is not yet received. */
            assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
            assert_string_equal(net_recv(pull), "2|3");
            NET_UNTIL(&n, arrived(pull) == 11);
            assert_string_equal(net_recv(pull), "6|7");
            net_close(&n);
        }
    }
}

/* ---- age ---------------------------------------------------------------- */

static void
what_waited_too_long_is_dropped_and_counted(void **state)
{
    sennit_sock_opts opts = net_opts();
    const char *endpoint = net_vacant(TCP);
    sennit_sock *push;
    sennit_sock *pull;

    (void)state;
    opts.send_age_max_ms = 20;
    net_open(&n);
    push = net_sock(&n, SENNIT_PUSH, &opts);
    net_connect(push, endpoint);
    for (int i = 0; i < 10; i++)
        net_send(push, "old");
    assert_int_equal(net_stats(push).queued_msgs, 10);
    NET_UNTIL(&n, net_stats(push).dropped_expired_msgs == 10);
    assert_int_equal(net_stats(push).queued_msgs, 0);
    assert_int_equal(net_stats(push).queued_bytes, 0);
    net_check_law(push);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    assert_int_equal(sennit_sock_bind(pull, endpoint), SENNIT_OK);
    NET_UNTIL(&n, net_stats(push).connections == 1);
    net_send(push, "new");
    assert_string_equal(net_recv(pull), "new");
    net_close(&n);
}

static void
nothing_is_dropped_before_its_time(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *push;
    sennit_time sent;

    (void)state;
    opts.send_age_max_ms = 50;
    net_open(&n);
    push = net_sock(&n, SENNIT_PUSH, &opts);
    net_connect(push, net_vacant(TCP));
    sent = sennit_loop_now(n.loop);
    net_send(push, "x");
    NET_UNTIL(&n, net_stats(push).dropped_expired_msgs == 1);
    assert_true(sennit_loop_now(n.loop) - sent >= 50u * 1000000u);
    net_close(&n);
}

/* A full queue of old messages is room for new ones. */
static void
a_sender_that_waits_goes_on_when_old_messages_are_gone(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *push;

    (void)state;
    opts.send_age_max_ms = 20;
    opts.send_hwm_msgs = 2;
    net_open(&n);
    push = net_sock(&n, SENNIT_PUSH, &opts);
    net_connect(push, net_vacant(TCP));
    for (int i = 0; i < 10; i++)
        net_send(push, "x");
    net_check_law(push);
    net_close(&n);
}

/* It counts at once, also for what waits already, which is then as old as the option. */
static void
an_age_limit_that_is_set_later_counts_for_what_waits(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *push;
    sennit_time set_at;

    (void)state;
    net_open(&n);
    push = net_sock(&n, SENNIT_PUSH, &opts);
    net_connect(push, net_vacant(TCP));
    for (int i = 0; i < 5; i++)
        net_send(push, "x");
    opts.send_age_max_ms = 30;
    assert_int_equal(sennit_sock_set_opts(push, &opts), SENNIT_OK);
    set_at = sennit_loop_now(n.loop);
    NET_UNTIL(&n, net_stats(push).dropped_expired_msgs == 5);
    assert_true(sennit_loop_now(n.loop) - set_at >= 30u * 1000000u);
    /* And no more once it is taken away. */
    opts.send_age_max_ms = 0;
    assert_int_equal(sennit_sock_set_opts(push, &opts), SENNIT_OK);
    net_send(push, "y");
    for (int i = 0; i < 3; i++)
        net_event(&n, push, SENNIT_EVENT_RETRYING);
    assert_int_equal(net_stats(push).queued_msgs, 1);
    net_check_law(push);
    net_close(&n);
}

/* Nothing waits at that moment; what is sent later is not dropped by the old limit. */
static void
an_age_limit_that_is_taken_from_an_empty_queue_is_gone(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *push;
    sennit_sock *pull;
    const char *endpoint;
    sennit_time until;

    (void)state;
    net_open(&n);
    opts.send_age_max_ms = 20;
    push = net_sock(&n, SENNIT_PUSH, &opts);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    endpoint = net_bind(pull, TCP);
    net_connect(push, endpoint);
    NET_UNTIL(&n, net_stats(push).connections == 1);
    net_send(push, "x");
    assert_string_equal(net_recv(pull), "x");
    NET_UNTIL(&n, net_stats(push).queued_msgs == 0);
    opts.send_age_max_ms = 0;
    assert_int_equal(sennit_sock_set_opts(push, &opts), SENNIT_OK);
    sennit_sock_close(pull);
    NET_UNTIL(&n, net_stats(push).connections == 0);
    net_send(push, "y");
    until = sennit_loop_now(n.loop) + 100u * 1000000u;
    NET_UNTIL(&n, sennit_loop_now(n.loop) >= until);
    assert_int_equal(net_stats(push).queued_msgs, 1);
    assert_int_equal(net_stats(push).dropped_expired_msgs, 0);
    net_close(&n);
}

/* The kernel takes nothing, and gives back what no byte was taken of. */
static void
what_waits_for_the_kernel_becomes_too_old_as_well(void **state)
{
    static uint8_t body[1000];
    sennit_sock_opts opts = net_opts();
    sennit_sock *push;
    int fd;

    (void)state;
    net_open(&n);
    opts.send_age_max_ms = 200;
    opts.kernel_send_bytes = 4096;
    push = net_sock(&n, SENNIT_PUSH, &opts);
    net_bind(push, TCP);
    fd = raw_connect(sennit_sock_last_endpoint(push));
    raw_handshake(&n, fd, "PULL", "");
    NET_UNTIL(&n, net_stats(push).connections == 1);
    do {
        for (int i = 0; i < 10; i++)
            assert_int_equal(sennit_sock_send_bytes(push, body, sizeof body, 0),
                             SENNIT_OK);
        sennit_sock_flush(push);
    } while (net_stats(push).queued_msgs < 900);
    /* Only one that was begun is still there. */
    NET_UNTIL(&n, net_stats(push).queued_msgs <= 1);
    assert_true(net_stats(push).dropped_expired_msgs > 0);
    net_check_law(push);
    close(fd);
    net_close(&n);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sender_that_conflates_keeps_only_the_newest_for_a_late_peer),
        cmocka_unit_test(
            every_subscriber_of_a_publisher_that_conflates_ends_on_the_newest),
        cmocka_unit_test(a_message_of_several_frames_is_refused_at_its_first),
        cmocka_unit_test(a_receiver_that_conflates_has_the_newest_and_little_memory),
        cmocka_unit_test(a_look_at_the_socket_does_not_keep_an_old_message),
        cmocka_unit_test(a_message_that_is_half_read_is_read_to_its_end),
        cmocka_unit_test(what_waited_too_long_is_dropped_and_counted),
        cmocka_unit_test(nothing_is_dropped_before_its_time),
        cmocka_unit_test(a_sender_that_waits_goes_on_when_old_messages_are_gone),
        cmocka_unit_test(an_age_limit_that_is_set_later_counts_for_what_waits),
        cmocka_unit_test(what_waits_for_the_kernel_becomes_too_old_as_well),
        cmocka_unit_test(an_age_limit_that_is_taken_from_an_empty_queue_is_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
