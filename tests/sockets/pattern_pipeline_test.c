/* SPDX-License-Identifier: MIT */
/* PUSH, PULL, DEALER and PAIR over fake peers. */
#include "fake.h"
#include "rng.h"

#include <stdio.h>

static fake f;

static void
pull_takes_one_message_of_each_peer_in_turn(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_PULL, false);
    for (int i = 0; i < 3; i++)
        fake_join(&f, i, "");
    fake_offer(&f, 0, "a1;a2|more;a3");
    fake_offer(&f, 1, "b1");
    fake_offer(&f, 2, "c1;c2");
    assert_string_equal(fake_recv(&f), "a1");
    assert_string_equal(fake_recv(&f), "b1");
    assert_string_equal(fake_recv(&f), "c1");
    assert_string_equal(fake_recv(&f), "a2|more");
    assert_string_equal(fake_recv(&f), "c2");
    assert_string_equal(fake_recv(&f), "a3");
    assert_string_equal(fake_recv(&f), "EAGAIN");
    fake_close(&f);
}

static void
a_peer_that_always_has_more_does_not_starve_the_others(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_PULL, false);
    fake_join(&f, 0, "");
    fake_join(&f, 1, "");
    fake_offer(&f, 0, "x;x");
    for (int round = 0; round < 50; round++) {
        fake_offer(&f, 0, "x");
        fake_offer(&f, 1, "y");
        assert_string_equal(fake_recv(&f), "x");
        assert_string_equal(fake_recv(&f), "y");
    }
    fake_close(&f);
}

static void
pull_refuses_to_send_and_push_to_receive(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_PULL, false);
    fake_join(&f, 0, "");
    assert_int_equal(fake_send_frame(&f, "x", false), SENNIT_ENOTSUP);
    fake_close(&f);
    fake_open(&f, SENNIT_PUSH, false);
    fake_join(&f, 0, "");
    fake_offer(&f, 0, "x");
    assert_string_equal(fake_recv(&f), "ENOTSUP");
    fake_close(&f);
}

static void
push_deals_whole_messages_to_the_peers_in_turn(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_PUSH, false);
    for (int i = 0; i < 3; i++)
        fake_join(&f, i, "");
    fake_send(&f, "1");
    fake_send(&f, "2|two");
    fake_send(&f, "3");
    fake_send(&f, "4");
    assert_string_equal(fake_out(&f, 0), "1;4;");
    assert_string_equal(fake_out(&f, 1), "2|two;");
    assert_string_equal(fake_out(&f, 2), "3;");
    fake_close(&f);
}

static void
push_passes_over_a_full_peer_until_it_has_room(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_PUSH, false);
    f.peers[0].hwm = 1;
    fake_join(&f, 0, "");
    fake_join(&f, 1, "");
    for (int i = 0; i < 4; i++)
        fake_send(&f, "m");
    assert_string_equal(fake_out(&f, 0), "m;");
    assert_string_equal(fake_out(&f, 1), "m;m;m;");
    fake_drain(&f, 0, 1);
    fake_send(&f, "n");
    fake_send(&f, "n");
    assert_string_equal(fake_out(&f, 0), "m;n;");
    assert_string_equal(fake_out(&f, 1), "m;m;m;n;");
    fake_close(&f);
}

static void
push_without_room_anywhere_would_block_and_takes_nothing(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_PUSH, false);
    assert_int_equal(fake_send_frame(&f, "x", false), SENNIT_EAGAIN);
    assert_int_equal(sni_pattern_ready(&f.pattern), 0);
    f.peers[0].hwm = 2;
    fake_join(&f, 0, "");
    assert_int_equal(sni_pattern_ready(&f.pattern), SENNIT_WRITABLE);
    fake_send(&f, "1");
    fake_send(&f, "2");
    assert_int_equal(fake_send_frame(&f, "3", false), SENNIT_EAGAIN);
    assert_int_equal(sni_pattern_ready(&f.pattern), 0);
    fake_drain(&f, 0, 1);
    assert_int_equal(sni_pattern_ready(&f.pattern), SENNIT_WRITABLE);
    fake_send(&f, "3");
    assert_string_equal(fake_out(&f, 0), "1;2;3;");
    fake_close(&f);
}

static void
a_message_that_was_begun_is_finished_even_at_the_mark(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_PUSH, false);
    f.peers[0].hwm = 1;
    fake_join(&f, 0, "");
    assert_int_equal(fake_send_frame(&f, "a", true), SENNIT_OK);
    assert_int_equal(sni_pattern_ready(&f.pattern), SENNIT_WRITABLE);
    assert_int_equal(fake_send_frame(&f, "b", true), SENNIT_OK);
    assert_int_equal(fake_send_frame(&f, "c", false), SENNIT_OK);
    assert_int_equal(fake_send_frame(&f, "d", false), SENNIT_EAGAIN);
    assert_string_equal(fake_out(&f, 0), "a|b|c;");
    fake_close(&f);
}

static void
the_rest_of_a_message_is_swallowed_when_its_peer_goes(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_PUSH, false);
    fake_join(&f, 0, "");
    fake_join(&f, 1, "");
    assert_int_equal(fake_send_frame(&f, "lost", true), SENNIT_OK);
    fake_leave(&f, 0);
    assert_int_equal(fake_send_frame(&f, "lost", true), SENNIT_OK);
    assert_int_equal(fake_send_frame(&f, "lost", false), SENNIT_OK);
    fake_send(&f, "next|one");
    assert_string_equal(fake_out(&f, 1), "next|one;");
    assert_int_equal(f.stats.dropped_disconnect_msgs, 1);
    fake_close(&f);
}

static void
the_message_of_another_peer_is_untouched_when_one_goes(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_PUSH, false);
    fake_join(&f, 0, "");
    fake_join(&f, 1, "");
    assert_int_equal(fake_send_frame(&f, "a", true), SENNIT_OK);
    fake_leave(&f, 1);
    assert_int_equal(fake_send_frame(&f, "b", false), SENNIT_OK);
    assert_string_equal(fake_out(&f, 0), "a|b;");
    assert_int_equal(f.stats.dropped_disconnect_msgs, 0);
    fake_close(&f);
}

static void
a_retired_peer_takes_no_more_and_can_still_be_read(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_DEALER, false);
    fake_join(&f, 0, "");
    fake_offer(&f, 0, "a|b;c");
    sni_pattern_retire(&f.peers[0].peer);
    assert_int_equal(fake_send_frame(&f, "x", false), SENNIT_EAGAIN);
    assert_string_equal(fake_recv(&f), "a|b");
    assert_string_equal(fake_recv(&f), "c");
    fake_close(&f);
}

static void
dealer_adds_and_removes_nothing(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_DEALER, false);
    fake_join(&f, 0, "");
    fake_send(&f, "|body|");
    assert_string_equal(fake_out(&f, 0), "|body|;");
    fake_offer(&f, 0, "||");
    assert_string_equal(fake_recv(&f), "||");
    fake_close(&f);
}

static void
pair_refuses_a_second_peer_until_the_first_has_gone(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_PAIR, false);
    fake_join(&f, 0, "");
    assert_int_equal(sni_pattern_attach(&f.pattern, &f.peers[1].peer), SENNIT_EEXIST);
    fake_send(&f, "a");
    fake_leave(&f, 0);
    fake_join(&f, 1, "");
    fake_send(&f, "b");
    assert_string_equal(fake_out(&f, 1), "b;");
    fake_close(&f);
}

/* A failed push leaves the frame with the caller; pushed again, the message comes
 * out once and whole, whichever frame failed. */
static void
a_push_that_failed_can_be_repeated_at_every_frame(void **state)
{
    static const sennit_sock_type types[] = { SENNIT_PUSH, SENNIT_DEALER, SENNIT_PAIR };
    static const char *const frames[] = { "a", "", "c", "d" };

    (void)state;
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        for (unsigned k = 0; k < 4; k++) {
            fake_open(&f, types[t], false);
            fake_join(&f, 0, "");
            if (types[t] != SENNIT_PAIR)
                fake_join(&f, 1, "");
            f.pushes_before = k;
            f.pushes_failing = 1;
            for (unsigned i = 0; i < 4; i++) {
                sennit_err err = fake_send_frame(&f, frames[i], i < 3);

                assert_int_equal(err, i == k ? SENNIT_ENOMEM : SENNIT_OK);
                if (err)
                    assert_int_equal(fake_send_frame(&f, frames[i], i < 3), SENNIT_OK);
            }
            assert_string_equal(fake_out(&f, 0), "a||c|d;");
            assert_string_equal(fake_out(&f, 1), "");
            fake_close(&f);
        }
    }
}

static void
a_pull_that_failed_can_be_repeated_at_every_frame(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 4; k++) {
        char text[64] = "";
        bool more = true;

        fake_open(&f, SENNIT_PULL, false);
        fake_join(&f, 0, "");
        fake_join(&f, 1, "");
        fake_offer(&f, 0, "a|b|c|d");
        fake_offer(&f, 1, "e");
        f.pulls_before = k;
        f.pulls_failing = 1;
        while (more) {
            sni_msg msg;
            sennit_err err;

            sennit_msg_init(sni_msg_public(&msg));
            err = sni_pattern_recv(&f.pattern, &msg);
            if (err) {
                assert_int_equal(err, SENNIT_ENOMEM);
                continue;
            }
            strncat(text, sennit_msg_data(sni_msg_public(&msg)),
                    sennit_msg_size(sni_msg_public(&msg)));
            more = msg.more;
            sennit_msg_fini(sni_msg_public(&msg));
        }
        assert_string_equal(text, "abcd");
        assert_string_equal(fake_recv(&f), "e");
        fake_close(&f);
    }
}

/* Readiness that could not be looked at for want of memory must not read as "nothing
 * there": nobody would come back for it. */
static void
no_memory_to_look_still_counts_as_readable(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_PULL, false);
    fake_join(&f, 0, "");
    fake_offer(&f, 0, "a");
    f.pulls_failing = 1;
    assert_int_equal(sni_pattern_ready(&f.pattern), SENNIT_READABLE);
    assert_string_equal(fake_recv(&f), "a");
    assert_int_equal(sni_pattern_ready(&f.pattern), 0);
    fake_close(&f);
}

static void
looking_whether_something_is_readable_loses_nothing(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_PULL, false);
    fake_join(&f, 0, "");
    fake_offer(&f, 0, "a|b;c");
    assert_int_equal(sni_pattern_ready(&f.pattern), SENNIT_READABLE);
    assert_int_equal(sni_pattern_ready(&f.pattern), SENNIT_READABLE);
    assert_string_equal(fake_recv(&f), "a|b");
    assert_int_equal(sni_pattern_ready(&f.pattern), SENNIT_READABLE);
    assert_string_equal(fake_recv(&f), "c");
    assert_int_equal(sni_pattern_ready(&f.pattern), 0);
    fake_close(&f);
}

/* Against a model: per peer a counter of what it offered and what came out. Every
 * message comes out once, in its peer's order, and nobody with something waiting is
 * passed over more than once. */
static void
any_sequence_is_fair_and_keeps_each_peers_order(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        test_rng rng = { seed };
        unsigned offered[5] = { 0 };
        unsigned taken[5] = { 0 };
        unsigned passed[5] = { 0 };
        char text[64];

        fake_open(&f, SENNIT_PULL, false);
        for (int i = 0; i < 5; i++)
            fake_join(&f, i, "");
        for (int step = 0; step < 1500; step++) {
            unsigned i = (unsigned)test_rng_below(&rng, 5);
            const char *got;
            unsigned from;
            unsigned number;

            if (test_rng_chance(&rng, 50) && f.peers[i].in_count < 20 &&
                f.peers[i].in_first + f.peers[i].in_count + 2 < FAKE_FRAMES_MAX) {
                snprintf(text, sizeof text, "%u %u%s", i, offered[i]++,
                         test_rng_chance(&rng, 30) ? "|tail" : "");
                fake_offer(&f, (int)i, text);
                continue;
            }
            got = fake_recv(&f);
            if (sscanf(got, "%u %u", &from, &number) != 2) {
                assert_string_equal(got, "EAGAIN");
                for (int p = 0; p < 5; p++)
                    if (offered[p] != taken[p])
                        fail_msg("seed %llu: peer %d is not read",
                                 (unsigned long long)seed, p);
                continue;
            }
            if (number != taken[from]++)
                fail_msg("seed %llu step %d: out of order", (unsigned long long)seed,
                         step);
            passed[from] = 0;
            for (unsigned p = 0; p < 5; p++)
                if (p != from && offered[p] > taken[p] && ++passed[p] > 5)
                    fail_msg("seed %llu step %d: peer %u waits", (unsigned long long)seed,
                             step, p);
        }
        fake_close(&f);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pull_takes_one_message_of_each_peer_in_turn),
        cmocka_unit_test(a_peer_that_always_has_more_does_not_starve_the_others),
        cmocka_unit_test(pull_refuses_to_send_and_push_to_receive),
        cmocka_unit_test(push_deals_whole_messages_to_the_peers_in_turn),
        cmocka_unit_test(push_passes_over_a_full_peer_until_it_has_room),
        cmocka_unit_test(push_without_room_anywhere_would_block_and_takes_nothing),
        cmocka_unit_test(a_message_that_was_begun_is_finished_even_at_the_mark),
        cmocka_unit_test(the_rest_of_a_message_is_swallowed_when_its_peer_goes),
        cmocka_unit_test(the_message_of_another_peer_is_untouched_when_one_goes),
        cmocka_unit_test(a_retired_peer_takes_no_more_and_can_still_be_read),
        cmocka_unit_test(dealer_adds_and_removes_nothing),
        cmocka_unit_test(pair_refuses_a_second_peer_until_the_first_has_gone),
        cmocka_unit_test(a_push_that_failed_can_be_repeated_at_every_frame),
        cmocka_unit_test(a_pull_that_failed_can_be_repeated_at_every_frame),
        cmocka_unit_test(no_memory_to_look_still_counts_as_readable),
        cmocka_unit_test(looking_whether_something_is_readable_loses_nothing),
        cmocka_unit_test(any_sequence_is_fair_and_keeps_each_peers_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
