/* SPDX-License-Identifier: MIT */
/* STREAM over fake peers. The counter of names begins at "abc0" here. */
#include "fake.h"

static fake f;

static void
open_with(int peers, bool notify)
{
    f.random = 0x61626330;
    fake_open(&f, SENNIT_STREAM, false);
    f.opts.stream_notify = notify;
    for (int i = 0; i < peers; i++)
        fake_join(&f, i, "");
}

static void
bytes_are_received_behind_the_name_of_their_connection(void **state)
{
    (void)state;
    open_with(2, false);
    fake_offer(&f, 0, "hello");
    fake_offer(&f, 1, "GET /");
    assert_string_equal(fake_recv_all(&f), "-abc0|hello;-abc1|GET /;");
    fake_close(&f);
}

static void
what_is_sent_behind_a_name_goes_there_all_of_it(void **state)
{
    (void)state;
    open_with(2, false);
    fake_send(&f, "-abc1|a");
    fake_send(&f, "-abc0|a|b");
    fake_send(&f, "-abc0||c|");
    assert_string_equal(fake_out(&f, 0), "a|b;c|;");
    assert_string_equal(fake_out(&f, 1), "a;");
    assert_null(f.peers[0].ended);
    fake_close(&f);
}

static void
exactly_a_name_and_an_empty_frame_closes_behind_what_was_sent(void **state)
{
    (void)state;
    open_with(2, false);
    fake_send(&f, "-abc0|last words");
    fake_send(&f, "-abc0|");
    assert_string_equal(f.peers[0].ended, "closed by the application");
    assert_int_equal(f.peers[0].ended_err, SENNIT_OK);
    assert_true(f.peers[0].flushed);
    assert_string_equal(fake_out(&f, 0), "last words;");
    fake_send(&f, "-abc1||");
    assert_null(f.peers[1].ended);
    fake_close(&f);
}

static void
an_unknown_name_and_none_at_all_are_told_and_nothing_is_sent(void **state)
{
    (void)state;
    open_with(1, false);
    assert_int_equal(fake_send_frame(&f, "-abc1", true), SENNIT_EHOSTUNREACH);
    assert_int_equal(fake_send_frame(&f, "", true), SENNIT_EHOSTUNREACH);
    assert_int_equal(fake_send_frame(&f, "-abc0", false), SENNIT_EHOSTUNREACH);
    fake_send(&f, "-abc0|x");
    assert_string_equal(fake_out(&f, 0), "x;");
    fake_lose(&f, 0);
    assert_int_equal(fake_send_frame(&f, "-abc0", true), SENNIT_EHOSTUNREACH);
    fake_close(&f);
}

static void
a_full_connection_would_block_and_is_not_a_missing_one(void **state)
{
    (void)state;
    open_with(0, false);
    f.peers[0].hwm = 1;
    fake_join(&f, 0, "");
    assert_int_equal(sni_pattern_ready(&f.pattern), SENNIT_WRITABLE);
    fake_send(&f, "-abc0|x");
    assert_int_equal(fake_send_frame(&f, "-abc0", true), SENNIT_EAGAIN);
    assert_int_equal(sni_pattern_ready(&f.pattern), 0);
    fake_drain(&f, 0, 1);
    fake_send(&f, "-abc0|y");
    assert_string_equal(fake_out(&f, 0), "x;y;");
    fake_close(&f);
}

static void
connections_and_their_ends_are_received_as_empty_bytes(void **state)
{
    (void)state;
    open_with(2, true);
    assert_string_equal(fake_recv_all(&f), "-abc0|;-abc1|;");
    fake_offer(&f, 0, "x");
    fake_lose(&f, 0);
    assert_string_equal(fake_recv_all(&f), "-abc0|x;-abc0|;");
    /* A connect that comes back is another connection. */
    fake_return(&f, 0, "");
    assert_string_equal(fake_recv_all(&f), "-abc2|;");
    fake_close(&f);
}

static void
without_notify_only_bytes_are_received(void **state)
{
    (void)state;
    open_with(1, false);
    fake_lose(&f, 0);
    assert_string_equal(fake_recv(&f), "EAGAIN");
    fake_close(&f);
}

static void
a_connect_may_be_given_a_name(void **state)
{
    (void)state;
    open_with(0, true);
    assert_int_equal(sennit_msg_init_copy(&f.peers[0].peer.identity, "web", 3),
                     SENNIT_OK);
    f.peers[0].peer.assigned = true;
    assert_int_equal(sni_pattern_attach(&f.pattern, &f.peers[0].peer), SENNIT_OK);
    fake_send(&f, "web|GET");
    fake_return(&f, 0, "");
    assert_string_equal(fake_recv(&f), "web|");
    assert_string_equal(fake_out(&f, 0), "GET;");
    fake_lose(&f, 0);
    fake_return(&f, 0, "");
    assert_string_equal(fake_recv_all(&f), "web|;web|;");
    fake_close(&f);
}

static void
the_rest_of_what_is_sent_is_swallowed_when_the_connection_goes(void **state)
{
    (void)state;
    open_with(2, false);
    assert_int_equal(fake_send_frame(&f, "-abc0", true), SENNIT_OK);
    assert_int_equal(fake_send_frame(&f, "a", true), SENNIT_OK);
    fake_leave(&f, 0);
    assert_int_equal(fake_send_frame(&f, "", false), SENNIT_OK);
    assert_int_equal(f.stats.dropped_disconnect_msgs, 1);
    fake_send(&f, "-abc1|x");
    assert_string_equal(fake_out(&f, 1), "x;");
    fake_close(&f);
}

/* Who answers at the same endpoint next is somebody else. */
static void
what_was_addressed_to_a_lost_connection_does_not_go_to_the_next(void **state)
{
    (void)state;
    for (int empty = 0; empty < 2; empty++) {
        open_with(1, false);
        assert_int_equal(fake_send_frame(&f, "-abc0", true), SENNIT_OK);
        if (empty)
            assert_int_equal(fake_send_frame(&f, "", true), SENNIT_OK);
        sni_pattern_disconnected(&f.pattern, &f.peers[0].peer, true);
        fake_return(&f, 0, "");
        assert_int_equal(fake_send_frame(&f, "x", false), SENNIT_OK);
        assert_string_equal(fake_out(&f, 0), "");
        assert_false(f.pattern.silent);
        assert_int_equal(f.stats.dropped_disconnect_msgs, 1);
        fake_close(&f);
    }
}

static void
a_push_that_failed_can_be_repeated(void **state)
{
    (void)state;
    open_with(1, false);
    assert_int_equal(fake_send_frame(&f, "-abc0", true), SENNIT_OK);
    f.pushes_failing = 1;
    assert_int_equal(fake_send_frame(&f, "x", false), SENNIT_ENOMEM);
    assert_int_equal(fake_send_frame(&f, "x", false), SENNIT_OK);
    assert_string_equal(fake_out(&f, 0), "x;");
    fake_close(&f);
}

static void
bytes_come_and_go(void)
{
    open_with(2, true);
    fake_offer(&f, 0, "x");
    fake_leave(&f, 1);
    /* Names that found no memory are passed over. */
    assert_int_equal(strlen(fake_recv_all(&f)), strlen("-abc0|;") * 3 + 8);
    fake_close(&f);
}

static void
a_stream_survives_every_failed_allocation(void **state)
{
    (void)state;
    fake_every_failure(&f, bytes_come_and_go);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_received_behind_the_name_of_their_connection),
        cmocka_unit_test(what_is_sent_behind_a_name_goes_there_all_of_it),
        cmocka_unit_test(exactly_a_name_and_an_empty_frame_closes_behind_what_was_sent),
        cmocka_unit_test(an_unknown_name_and_none_at_all_are_told_and_nothing_is_sent),
        cmocka_unit_test(a_full_connection_would_block_and_is_not_a_missing_one),
        cmocka_unit_test(connections_and_their_ends_are_received_as_empty_bytes),
        cmocka_unit_test(without_notify_only_bytes_are_received),
        cmocka_unit_test(a_connect_may_be_given_a_name),
        cmocka_unit_test(the_rest_of_what_is_sent_is_swallowed_when_the_connection_goes),
        cmocka_unit_test(what_was_addressed_to_a_lost_connection_does_not_go_to_the_next),
        cmocka_unit_test(a_push_that_failed_can_be_repeated),
        cmocka_unit_test(a_stream_survives_every_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
