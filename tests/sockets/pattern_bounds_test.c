/* SPDX-License-Identifier: MIT */
/* What one look at the input may cost, and what is left of a peer that goes. */
#include "base/limits.h"
#include "fake.h"

static fake f;

static sennit_bytes
text(const char *string)
{
    return sni_bytes(string, strlen(string));
}

/* ---- peers that go ----------------------------------------------------- */

/* Within a process subscriptions are heard before the join is done, and the join
 * may find no memory. */
static void
a_publisher_forgets_the_topics_of_a_peer_that_never_connected(void **state)
{
    sni_peer *peer = &f.peers[0].peer;

    (void)state;
    fake_open(&f, SENNIT_PUB, false);
    fake_join(&f, 1, "");
    assert_int_equal(sni_pattern_attach(&f.pattern, peer), SENNIT_OK);
    assert_int_equal(sni_pattern_subscription(&f.pattern, peer, true, text("a")),
                     SENNIT_OK);
    assert_int_equal(f.stats.subscriptions, 1);
    sni_pattern_detach(&f.pattern, peer);
    assert_int_equal(f.stats.subscriptions, 0);
    fake_send(&f, "a");
    assert_string_equal(fake_out(&f, 0), "");
    assert_int_equal(f.stats.dropped_no_peer_msgs, 1);
    fake_close(&f);
}

/* In the middle of a message, too: it is one of those that matched. */
static void
a_publisher_forgets_such_a_peer_in_the_middle_of_a_message(void **state)
{
    sni_peer *peer = &f.peers[0].peer;

    (void)state;
    fake_open(&f, SENNIT_PUB, false);
    assert_int_equal(sni_pattern_attach(&f.pattern, peer), SENNIT_OK);
    assert_int_equal(sni_pattern_subscription(&f.pattern, peer, true, text("a")),
                     SENNIT_OK);
    assert_int_equal(fake_send_frame(&f, "a", true), SENNIT_OK);
    sni_pattern_detach(&f.pattern, peer);
    assert_int_equal(fake_send_frame(&f, "b", false), SENNIT_OK);
    assert_string_equal(fake_out(&f, 0), "a|");
    assert_int_equal(f.stats.subscriptions, 0);
    fake_close(&f);
}

/* ---- input nobody asked for -------------------------------------------- */

/* `count` messages of peer `i`, as many at a time as a script may be long. */
static void
flood(int i, const char *message, size_t count)
{
    for (; count > 0; count--)
        fake_offer(&f, i, message);
}

/* `count` messages in all before what peer 2 will send: the peers take turns, and it
 * has the most. */
static void
flood_ahead_of_peer_2(const char *message, size_t count)
{
    for (int i = 0; i < 3; i++) {
        fake_join(&f, i, "");
        flood(i, message, i < 2 ? count / 3 : count - 2 * (count / 3));
    }
}

static uint64_t
thrown_away(void)
{
    return f.stats.dropped_filtered_msgs + f.stats.dropped_malformed_msgs;
}

/* Receives until there is something or nothing is left; checks that no call threw
 * away more than it may. Returns what came last, and the calls it took. */
static const char *
recv_patiently(unsigned *calls)
{
    const char *got;
    uint64_t before;

    *calls = 0;
    do {
        before = thrown_away();
        got = fake_recv(&f);
        assert_true(thrown_away() - before <= SNI_FETCH_FRAMES_MAX);
        ++*calls;
    } while (strcmp(got, "EAGAIN") == 0 && sni_pattern_pending(&f.pattern));
    assert_false(sni_pattern_pending(&f.pattern));
    return got;
}

static void
sub_gives_others_a_turn_while_it_filters(void **state)
{
    unsigned calls;

    (void)state;
    fake_open(&f, SENNIT_SUB, false);
    assert_int_equal(sni_pattern_subscribe(&f.pattern, true, text("a")), SENNIT_OK);
    for (int i = 0; i < 3; i++) {
        fake_join(&f, i, "");
        flood(i, "b|x", 110);
    }
    fake_offer(&f, 0, "a|good");
    assert_false(sni_pattern_pending(&f.pattern));
    assert_string_equal(recv_patiently(&calls), "a|good");
    assert_int_equal(calls, 660 / SNI_FETCH_FRAMES_MAX + 1);
    assert_string_equal(recv_patiently(&calls), "EAGAIN");
    assert_int_equal(f.stats.dropped_filtered_msgs, 330);
    fake_close(&f);
}

static void
what_lies_behind_the_bound_becomes_readable_by_looking_again(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_SUB, false);
    assert_int_equal(sni_pattern_subscribe(&f.pattern, true, text("a")), SENNIT_OK);
    for (int i = 0; i < 2; i++) {
        fake_join(&f, i, "");
        flood(i, "b", 200);
    }
    fake_offer(&f, 0, "a");
    assert_int_equal(sni_pattern_ready(&f.pattern), 0);
    assert_true(sni_pattern_pending(&f.pattern));
    assert_int_equal(f.stats.dropped_filtered_msgs, SNI_FETCH_FRAMES_MAX);
    assert_int_equal(sni_pattern_ready(&f.pattern), SENNIT_READABLE);
    assert_false(sni_pattern_pending(&f.pattern));
    assert_string_equal(fake_recv(&f), "a");
    fake_close(&f);
}

/* The bound may fall anywhere in a message: at each of its frames, and at its end. */
static void
the_bound_does_not_cut_a_message(void **state)
{
    (void)state;
    for (size_t ahead = SNI_FETCH_FRAMES_MAX - 6; ahead <= SNI_FETCH_FRAMES_MAX;
         ahead++) {
        unsigned calls;

        fake_open(&f, SENNIT_SUB, false);
        assert_int_equal(sni_pattern_subscribe(&f.pattern, true, text("a")), SENNIT_OK);
        flood_ahead_of_peer_2("b", ahead);
        fake_offer(&f, 2, "b|a|a|a|a;a|good|a");
        assert_string_equal(recv_patiently(&calls), "a|good|a");
        assert_int_equal(calls, ahead + 5 >= SNI_FETCH_FRAMES_MAX ? 2 : 1);
        assert_string_equal(recv_patiently(&calls), "EAGAIN");
        assert_int_equal(f.stats.dropped_filtered_msgs, ahead + 1);
        fake_close(&f);
    }
}

static void
req_gives_others_a_turn_while_it_drops(void **state)
{
    unsigned calls;

    (void)state;
    fake_open(&f, SENNIT_REQ, false);
    for (int i = 0; i < 4; i++)
        fake_join(&f, i, "");
    fake_send(&f, "question");
    assert_string_equal(fake_out(&f, 0), "|question;");
    flood(0, "no delimiter|x", 100);
    for (int i = 1; i < 4; i++)
        flood(i, "|not asked", 100);
    fake_offer(&f, 0, "|answer");
    assert_string_equal(recv_patiently(&calls), "answer");
    assert_true(calls > 1);
    fake_send(&f, "next");
    fake_close(&f);
}

/* The loss is told when everything that may be the reply has been looked at. */
static void
req_hears_of_a_lost_request_behind_the_bound(void **state)
{
    unsigned calls;

    (void)state;
    fake_open(&f, SENNIT_REQ, false);
    for (int i = 0; i < 3; i++)
        fake_join(&f, i, "");
    fake_send(&f, "question");
    for (int i = 1; i < 3; i++)
        flood(i, "|not asked", 128);
    sni_pattern_disconnected(&f.pattern, &f.peers[0].peer, true);
    assert_string_equal(recv_patiently(&calls), "ECONNRESET");
    assert_true(calls > 1);
    fake_close(&f);
}

/* Only what is there now is dropped, and all of it, however long it takes. */
static void
req_sends_over_any_number_of_stale_replies(void **state)
{
    unsigned calls;

    (void)state;
    fake_open(&f, SENNIT_REQ, false);
    for (int i = 0; i < 4; i++) {
        fake_join(&f, i, "");
        flood(i, "|stale", 120);
    }
    fake_send(&f, "question");
    assert_int_equal(f.stats.dropped_filtered_msgs, 480);
    fake_offer(&f, 0, "|answer");
    assert_string_equal(recv_patiently(&calls), "answer");
    assert_int_equal(calls, 1);
    fake_close(&f);
}

static void
rep_gives_others_a_turn_while_it_drops(void **state)
{
    unsigned calls;

    (void)state;
    fake_open(&f, SENNIT_REP, false);
    for (int i = 0; i < 3; i++) {
        fake_join(&f, i, "");
        flood(i, "x|no delimiter", 120);
    }
    fake_offer(&f, 0, "id||question");
    assert_string_equal(recv_patiently(&calls), "question");
    assert_true(calls > 1);
    assert_int_equal(f.stats.dropped_malformed_msgs, 360);
    fake_send(&f, "answer");
    assert_string_equal(fake_out(&f, 0), "id||answer;");
    fake_close(&f);
}

/* The bound may fall within the envelope of a good request. */
static void
rep_goes_on_with_an_envelope_where_it_stopped(void **state)
{
    (void)state;
    for (size_t ahead = SNI_FETCH_FRAMES_MAX - 6; ahead <= SNI_FETCH_FRAMES_MAX;
         ahead++) {
        unsigned calls;

        fake_open(&f, SENNIT_REP, false);
        flood_ahead_of_peer_2("x", ahead);
        fake_offer(&f, 2, "a|b|c|d||question|more");
        assert_string_equal(recv_patiently(&calls), "question|more");
        assert_int_equal(calls, ahead + 4 >= SNI_FETCH_FRAMES_MAX ? 2 : 1);
        fake_send(&f, "answer");
        assert_string_equal(fake_out(&f, 2), "a|b|c|d||answer;");
        assert_int_equal(f.stats.dropped_malformed_msgs, ahead);
        fake_close(&f);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sub_gives_others_a_turn_while_it_filters),
        cmocka_unit_test(what_lies_behind_the_bound_becomes_readable_by_looking_again),
        cmocka_unit_test(the_bound_does_not_cut_a_message),
        cmocka_unit_test(req_gives_others_a_turn_while_it_drops),
        cmocka_unit_test(req_hears_of_a_lost_request_behind_the_bound),
        cmocka_unit_test(req_sends_over_any_number_of_stale_replies),
        cmocka_unit_test(rep_gives_others_a_turn_while_it_drops),
        cmocka_unit_test(rep_goes_on_with_an_envelope_where_it_stopped),
        cmocka_unit_test(a_publisher_forgets_the_topics_of_a_peer_that_never_connected),
        cmocka_unit_test(a_publisher_forgets_such_a_peer_in_the_middle_of_a_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
