/* SPDX-License-Identifier: MIT */
/* inproc between loops, closed before both ends have met: what was sent is left to the
 * binder that was asked, unless linger_ms is 0, and nobody waits. */
#include "duo.h"

#include <stdio.h>

static sennit_sock_opts
lingering(int linger_ms)
{
    sennit_sock_opts opts = net_opts();

    opts.linger_ms = linger_ms;
    return opts;
}

/* A PUSH of the second loop has sent `count` messages to the PULL of the first, which has
 * not heard of it yet. */
static sennit_sock *
ask(duo *d, int linger_ms, unsigned count)
{
    sennit_sock_opts opts = lingering(linger_ms);
    sennit_sock *push = net_sock(&d->b, SENNIT_PUSH, &opts);
    char text[16];

    net_connect(push, "inproc://x");
    for (unsigned i = 0; i < count; i++) {
        snprintf(text, sizeof text, "%u", i);
        net_send(push, text);
    }
    return push;
}

static sennit_sock *
bound(duo *d)
{
    sennit_sock *pull = net_sock(&d->a, SENNIT_PULL, NULL);

    assert_int_equal(sennit_sock_bind(pull, "inproc://x"), SENNIT_OK);
    return pull;
}

/* A PULL that is bound, and the PUSH that has asked it. */
static sennit_sock *
open_asked(duo *d, sennit_sock **pull, int linger_ms, unsigned count)
{
    duo_open(d);
    *pull = bound(d);
    return ask(d, linger_ms, count);
}

/* What ask() has sent, all of it in its order. */
static void
all_arrive(duo *d, sennit_sock *pull, unsigned count)
{
    char text[16];

    for (unsigned i = 0; i < count; i++) {
        snprintf(text, sizeof text, "%u", i);
        assert_string_equal(duo_recv(d, pull), text);
    }
}

static void
what_was_sent_before_the_binder_looked_arrives_though_the_sender_has_closed(void **state)
{
    static const int lingers[] = { 30000, -1 };
    sennit_event event;
    duo d;

    (void)state;
    for (size_t i = 0; i < sizeof lingers / sizeof lingers[0]; i++) {
        sennit_sock *pull;

        sennit_sock_close(open_asked(&d, &pull, lingers[i], 2));
        all_arrive(&d, pull, 2);
        DUO_UNTIL(&d, net_has_event(pull, SENNIT_EVENT_DISCONNECTED, &event));
        assert_int_equal(net_stats(pull).connections, 0);
        duo_close(&d);
    }
}

/* The binder has accepted, and the sender has not seen it. */
static void
what_was_sent_before_both_have_met_arrives_too(void **state)
{
    sennit_sock *pull;
    sennit_sock *push;
    duo d;

    (void)state;
    push = open_asked(&d, &pull, 30000, 1);
    for (int i = 0; i < 5; i++)
        assert_int_equal(sennit_loop_turn(d.a.loop, 0), SENNIT_OK);
    sennit_sock_close(push);
    all_arrive(&d, pull, 1);
    duo_close(&d);
}

/* Bound when it goes, though its loop has not heard of that. What was sent of a message
 * without an end stays behind. */
static void
a_sender_that_goes_before_it_heard_of_the_bind_leaves_what_it_sent(void **state)
{
    duo d;

    (void)state;
    for (int how = 0; how < 4; how++) {
        sennit_sock *push;
        sennit_sock *pull;

        duo_open(&d);
        push = ask(&d, 30000, 2);
        if (how & 2)
            assert_int_equal(sennit_sock_send_bytes(push, "half", 4, SENNIT_MORE),
                             SENNIT_OK);
        pull = bound(&d);
        if (how & 1) {
            assert_int_equal(sennit_sock_disconnect(push, "inproc://x"), SENNIT_OK);
            if (how & 2)
                assert_int_equal(sennit_sock_send_bytes(push, "tail", 4, 0), SENNIT_OK);
            assert_int_equal(net_stats(push).dropped_disconnect_msgs, how >> 1);
            assert_int_equal(net_stats(push).queued_msgs, 2);
            net_check_law(push);
        } else {
            sennit_sock_close(push);
        }
        all_arrive(&d, pull, 2);
        DUO_UNTIL(&d, net_stats(pull).connections == 0);
        assert_false(sennit_sock_ready(pull) & SENNIT_READABLE);
        duo_close(&d);
    }
}

/* One who was asked has gone, and the next is not asked yet. */
static void
what_was_given_back_goes_to_the_next_though_the_sender_has_closed(void **state)
{
    sennit_sock *push;
    sennit_sock *pull;
    duo d;

    (void)state;
    push = open_asked(&d, &pull, 30000, 2);
    sennit_sock_close(pull);
    duo_settle(&d);
    assert_int_equal(net_stats(push).queued_msgs, 2);
    pull = bound(&d);
    sennit_sock_close(push);
    all_arrive(&d, pull, 2);
    duo_close(&d);
}

static void
a_disconnect_lets_the_binder_have_what_was_sent(void **state)
{
    sennit_event event;
    sennit_sock *pull;
    sennit_sock *push;
    duo d;

    (void)state;
    push = open_asked(&d, &pull, 30000, 2);
    assert_int_equal(sennit_sock_disconnect(push, "inproc://x"), SENNIT_OK);
    assert_int_equal(sennit_sock_disconnect(push, "inproc://x"), SENNIT_ENOENT);
    assert_int_equal(net_try_send(push, "late", SENNIT_DONTWAIT), SENNIT_EAGAIN);
    assert_int_equal(net_stats(push).queued_msgs, 2);
    net_check_law(push);
    all_arrive(&d, pull, 2);
    DUO_UNTIL(&d, net_has_event(push, SENNIT_EVENT_DISCONNECTED, &event));
    assert_int_equal(net_stats(push).delivered_msgs, 2);
    assert_int_equal(net_stats(push).dropped_disconnect_msgs, 0);
    assert_int_equal(net_stats(push).queued_msgs, 0);
    assert_int_equal(sennit_sock_get_peers(push, NULL, 0), 0);
    net_check_law(push);
    /* It can be made again. */
    net_connect(push, "inproc://x");
    net_send(push, "again");
    assert_string_equal(duo_recv(&d, pull), "again");
    duo_close(&d);
}

/* Closed before all of that: what was asked for is still left to the binder. */
static void
one_that_has_disconnected_may_close(void **state)
{
    sennit_sock *pull;
    sennit_sock *push;
    duo d;

    (void)state;
    push = open_asked(&d, &pull, 30000, 1);
    assert_int_equal(sennit_sock_disconnect(push, "inproc://x"), SENNIT_OK);
    sennit_sock_close(push);
    all_arrive(&d, pull, 1);
    duo_close(&d);
}

/* The binder goes before it looked: there is nobody else to have it. */
static void
what_a_disconnect_leaves_is_dropped_and_told_if_nobody_takes_it(void **state)
{
    sennit_event event;
    sennit_sock *pull;
    sennit_sock *push;
    duo d;

    (void)state;
    push = open_asked(&d, &pull, 30000, 2);
    assert_int_equal(sennit_sock_disconnect(push, "inproc://x"), SENNIT_OK);
    assert_int_equal(sennit_sock_unbind(pull, "inproc://x"), SENNIT_OK);
    DUO_UNTIL(&d, net_has_event(push, SENNIT_EVENT_HANDSHAKE_FAILED, &event));
    assert_int_equal(event.err, SENNIT_ECONNREFUSED);
    assert_int_equal(net_stats(push).dropped_disconnect_msgs, 2);
    net_check_law(push);
    duo_close(&d);
}

/* A ROUTER that knows that identity already: who is there to hear of it counts. */
static void
what_a_refused_peer_has_left_is_dropped_and_told(void **state)
{
    (void)state;
    for (int closed = 0; closed < 2; closed++) {
        sennit_sock_opts opts = lingering(30000);
        sennit_event event;
        sennit_sock *router;
        sennit_sock *second;
        const char *endpoint;
        duo d;

        opts.identity[0] = 'A';
        opts.identity_size = 1;
        duo_open(&d);
        router = net_sock(&d.a, SENNIT_ROUTER, NULL);
        second = net_sock(&d.b, SENNIT_DEALER, &opts);
        endpoint = duo_join(&d, router, net_named(&d.b, SENNIT_DEALER, "A"));
        net_connect(second, endpoint);
        net_send(second, "of two|frames");
        net_send(second, "one");
        if (closed) {
            sennit_sock_close(second);
            DUO_UNTIL(&d, net_has_event(router, SENNIT_EVENT_HANDSHAKE_FAILED, &event));
            assert_int_equal(net_stats(router).dropped_unread_msgs, 2);
        } else {
            assert_int_equal(sennit_sock_disconnect(second, endpoint), SENNIT_OK);
            DUO_UNTIL(&d, net_has_event(second, SENNIT_EVENT_HANDSHAKE_FAILED, &event));
            assert_int_equal(net_stats(second).dropped_disconnect_msgs, 2);
            assert_int_equal(net_stats(second).delivered_msgs, 0);
            net_check_law(second);
        }
        assert_int_equal(event.err, SENNIT_EEXIST);
        net_check_law(router);
        duo_close(&d);
    }
}

/* What goes to many is not taken from one that ends: it misses the rest of a message. */
static void
a_disconnect_in_the_middle_of_a_publication_sends_nothing_torn(void **state)
{
    sennit_sock_opts opts = lingering(30000);
    sennit_sock *xsub;
    sennit_sock *xpub;
    duo d;

    (void)state;
    duo_open(&d);
    xpub = net_sock(&d.a, SENNIT_XPUB, NULL);
    xsub = net_sock(&d.b, SENNIT_XSUB, &opts);
    assert_int_equal(sennit_sock_bind(xpub, "inproc://x"), SENNIT_OK);
    net_connect(xsub, "inproc://x");
    net_send(xsub, "whole");
    for (int i = 0; i < 2; i++)
        assert_int_equal(sennit_sock_send_bytes(xsub, "half", 4, SENNIT_MORE), SENNIT_OK);
    assert_int_equal(sennit_sock_disconnect(xsub, "inproc://x"), SENNIT_OK);
    assert_int_equal(sennit_sock_send_bytes(xsub, "tail", 4, 0), SENNIT_OK);
    assert_int_equal(net_stats(xsub).dropped_disconnect_msgs, 1);
    net_check_law(xsub);
    assert_string_equal(duo_recv(&d, xpub), "whole");
    DUO_UNTIL(&d, net_stats(xpub).connections == 0);
    assert_string_equal(net_recv_flags(xpub, SENNIT_DONTWAIT), "EAGAIN");
    net_check_law(xsub);
    duo_close(&d);
}

/* The binder's thread does something else: nobody waits for it. */
static void
a_whole_loop_may_be_gone_before_the_binder_looks(void **state)
{
    sennit_sock *pull;
    duo d;

    (void)state;
    (void)open_asked(&d, &pull, -1, 2);
    sennit_loop_close(d.b.loop);
    NET_UNTIL(&d.a, sennit_sock_ready(pull) & SENNIT_READABLE);
    assert_string_equal(net_recv(pull), "0");
    assert_string_equal(net_recv(pull), "1");
    NET_UNTIL(&d.a, net_stats(pull).connections == 0);
    sennit_loop_close(d.a.loop);
    assert_int_equal(sennit_context_close(d.context), SENNIT_OK);
}

static void
without_linger_what_was_sent_too_early_is_dropped_and_counted(void **state)
{
    sennit_sock *push;
    sennit_sock *pull;
    duo d;

    (void)state;
    push = open_asked(&d, &pull, 0, 3);
    assert_int_equal(sennit_sock_disconnect(push, "inproc://x"), SENNIT_OK);
    assert_int_equal(net_stats(push).dropped_disconnect_msgs, 3);
    net_check_law(push);
    duo_settle(&d);
    assert_false(sennit_sock_ready(pull) & SENNIT_READABLE);
    assert_int_equal(net_stats(pull).connections, 0);
    duo_close(&d);
}

static void
a_binder_may_go_without_having_looked(void **state)
{
    duo d;

    (void)state;
    for (int how = 0; how < 2; how++) {
        sennit_sock *pull;

        sennit_sock_close(open_asked(&d, &pull, -1, 1));
        if (how == 0)
            assert_int_equal(sennit_sock_unbind(pull, "inproc://x"), SENNIT_OK);
        sennit_loop_close(d.a.loop);
        sennit_loop_close(d.b.loop);
        assert_int_equal(sennit_context_close(d.context), SENNIT_OK);
    }
}

static void
a_context_that_is_shut_down_is_closed_without_waiting(void **state)
{
    duo d;

    (void)state;
    for (int before = 0; before < 2; before++) {
        sennit_sock *push;

        duo_open(&d);
        (void)bound(&d);
        push = ask(&d, -1, 1);
        if (!before)
            sennit_sock_close(push);
        sennit_context_shutdown(d.context);
        sennit_loop_close(d.b.loop);
        sennit_loop_close(d.a.loop);
        assert_int_equal(sennit_context_close(d.context), SENNIT_OK);
    }
}

/* As within a loop: a connect without a bind has nobody to wait for. */
static void
what_waits_for_a_name_that_nobody_has_bound_is_dropped(void **state)
{
    sennit_sock *push;
    duo d;

    (void)state;
    duo_open(&d);
    push = ask(&d, -1, 2);
    assert_int_equal(sennit_sock_disconnect(push, "inproc://x"), SENNIT_OK);
    assert_int_equal(net_stats(push).dropped_disconnect_msgs, 2);
    net_check_law(push);
    duo_close(&d);
}

/* A publisher hears only so much in one turn, and the end last. */
static void
a_publisher_hears_all_that_was_said_before_the_end(void **state)
{
    sennit_sock_opts opts = lingering(30000);
    sennit_sock *xpub;
    sennit_sock *xsub;
    char text[16];
    duo d;

    (void)state;
    opts.send_hwm_msgs = opts.recv_hwm_msgs = 0;
    duo_open(&d);
    xpub = net_sock(&d.a, SENNIT_XPUB, &opts);
    xsub = net_sock(&d.b, SENNIT_XSUB, &opts);
    (void)duo_join(&d, xpub, xsub);
    for (int i = 0; i < 3000; i++) {
        snprintf(text, sizeof text, "%d", i);
        net_send(xsub, text);
    }
    sennit_sock_close(xsub);
    for (int i = 0; i < 3000; i++) {
        snprintf(text, sizeof text, "%d", i);
        assert_string_equal(duo_recv(&d, xpub), text);
    }
    DUO_UNTIL(&d, net_stats(xpub).connections == 0);
    duo_close(&d);
}

/* ---- half a message ---------------------------------------------------- */

/* A bind in the middle of a message waits for its end; and if there was no memory for the
 * rest, for nothing. */
static void
a_message_given_up_in_the_middle_holds_no_binder_up(void **state)
{
    sennit_sock_opts opts = lingering(0);
    sennit_sock *xpub;
    sennit_sock *xsub;
    duo d;

    (void)state;
    duo_open(&d);
    xsub = net_sock(&d.b, SENNIT_XSUB, &opts);
    xpub = net_sock(&d.a, SENNIT_XPUB, &opts);
    net_connect(xsub, "inproc://x");
    /* Of an XSUB a frame leaves when the next one comes. */
    for (int i = 0; i < 2; i++)
        assert_int_equal(sennit_sock_send_bytes(xsub, "half", 4, SENNIT_MORE), SENNIT_OK);
    assert_int_equal(sennit_sock_bind(xpub, "inproc://x"), SENNIT_OK);
    duo_settle(&d);
    assert_int_equal(net_stats(xsub).connections, 0);
    d.shared.fail_at = d.shared.requests + 1;
    d.shared.fail_count = UINT64_MAX;
    for (int i = 0; i < 1000 && net_stats(xsub).dropped_memory_msgs == 0; i++)
        assert_int_equal(sennit_sock_send_bytes(xsub, "half", 4, SENNIT_MORE), SENNIT_OK);
    d.shared.fail_at = 0;
    assert_int_equal(net_stats(xsub).dropped_memory_msgs, 1);
    DUO_UNTIL(&d, net_stats(xpub).connections == 1);
    assert_int_equal(sennit_sock_send_bytes(xsub, "end", 3, 0), SENNIT_OK);
    net_check_law(xsub);
    duo_close(&d);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            what_was_sent_before_the_binder_looked_arrives_though_the_sender_has_closed),
        cmocka_unit_test(what_was_sent_before_both_have_met_arrives_too),
        cmocka_unit_test(
            a_sender_that_goes_before_it_heard_of_the_bind_leaves_what_it_sent),
        cmocka_unit_test(
            what_was_given_back_goes_to_the_next_though_the_sender_has_closed),
        cmocka_unit_test(a_disconnect_lets_the_binder_have_what_was_sent),
        cmocka_unit_test(one_that_has_disconnected_may_close),
        cmocka_unit_test(what_a_disconnect_leaves_is_dropped_and_told_if_nobody_takes_it),
        cmocka_unit_test(what_a_refused_peer_has_left_is_dropped_and_told),
        cmocka_unit_test(a_disconnect_in_the_middle_of_a_publication_sends_nothing_torn),
        cmocka_unit_test(a_whole_loop_may_be_gone_before_the_binder_looks),
        cmocka_unit_test(without_linger_what_was_sent_too_early_is_dropped_and_counted),
        cmocka_unit_test(a_binder_may_go_without_having_looked),
        cmocka_unit_test(a_context_that_is_shut_down_is_closed_without_waiting),
        cmocka_unit_test(what_waits_for_a_name_that_nobody_has_bound_is_dropped),
        cmocka_unit_test(a_publisher_hears_all_that_was_said_before_the_end),
        cmocka_unit_test(a_message_given_up_in_the_middle_holds_no_binder_up),
    };

    return cmocka_run_group_tests_name("inproc linger", tests, NULL, NULL) == 0 ? 0 : 1;
}
