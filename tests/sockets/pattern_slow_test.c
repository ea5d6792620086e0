/* SPDX-License-Identifier: MIT */
/* Publishers over fake peers: whom a publication goes to, what becomes of it when a
 * subscriber has no room, and what that costs. */
#include <stdio.h>

#include "base/limits.h"
#include "fake.h"

static fake f;

/* Peer 0 has room for one message, the others for any number; all want "a". */
static void
open_with(sennit_slow_policy policy, int peers)
{
    fake_open(&f, SENNIT_PUB, false);
    f.opts.slow_subscriber = policy;
    f.peers[0].hwm = 1;
    for (int i = 0; i < peers; i++) {
        fake_join(&f, i, "");
        fake_hear(&f, i, true, "a");
    }
}

/* ---- policies ---------------------------------------------------------- */

static void
drop_new_makes_only_the_full_peer_miss_it(void **state)
{
    (void)state;
    open_with(SENNIT_SLOW_DROP_NEW, 3);
    fake_send(&f, "a1");
    fake_send(&f, "a2|rest");
    assert_string_equal(fake_out(&f, 0), "a1;");
    for (int i = 1; i < 3; i++)
        assert_string_equal(fake_out(&f, i), "a1;a2|rest;");
    assert_int_equal(f.peers[0].missed, 1);
    assert_int_equal(f.stats.dropped_hwm_msgs, 1);
    fake_drain(&f, 0, 1);
    fake_send(&f, "a3");
    assert_string_equal(fake_out(&f, 0), "a1;a3;");
    assert_int_equal(f.peers[0].missed, 1);
    fake_close(&f);
}

/* Several in a row: none of those behind a full one is skipped. */
static void
full_peers_anywhere_among_others_harm_nobody(void **state)
{
    (void)state;
    for (unsigned full = 0; full < 32; full++) {
        open_with(SENNIT_SLOW_DROP_NEW, 5);
        for (int i = 0; i < 5; i++)
            f.peers[i].peer.writable = !(full & 1u << i);
        fake_send(&f, "a|b");
        for (int i = 0; i < 5; i++) {
            assert_string_equal(fake_out(&f, i), full & 1u << i ? "" : "a|b;");
            assert_int_equal(f.peers[i].missed, (full >> i) & 1);
        }
        fake_close(&f);
    }
}

static void
drop_old_and_conflate_make_room_in_the_queue(void **state)
{
    static const sennit_slow_policy policies[] = { SENNIT_SLOW_DROP_OLD,
                                                   SENNIT_SLOW_CONFLATE };

    (void)state;
    for (int i = 0; i < 2; i++) {
        open_with(policies[i], 2);
        f.peers[0].droppable = 1;
        fake_send(&f, "a1");
        fake_send(&f, "a2");
        assert_string_equal(fake_out(&f, 0), "a1;a2;");
        assert_int_equal(f.peers[0].missed, 0);
        assert_int_equal(f.stats.dropped_slow_msgs, 1);
        fake_close(&f);
    }
}

/* The whole queue is with the kernel already. */
static void
where_no_room_can_be_made_the_new_one_is_missed(void **state)
{
    (void)state;
    open_with(SENNIT_SLOW_DROP_OLD, 2);
    fake_send(&f, "a1");
    fake_send(&f, "a2|rest");
    assert_string_equal(fake_out(&f, 0), "a1;");
    assert_string_equal(fake_out(&f, 1), "a1;a2|rest;");
    assert_int_equal(f.peers[0].missed, 1);
    fake_close(&f);
}

static void
disconnect_ends_the_connection_of_the_full_peer_with_a_reason(void **state)
{
    (void)state;
    open_with(SENNIT_SLOW_DISCONNECT, 2);
    fake_send(&f, "a1");
    assert_null(f.peers[0].ended);
    fake_send(&f, "a2");
    assert_string_equal(f.peers[0].ended, "too slow for what it subscribed to");
    assert_int_equal(f.peers[0].ended_err, SENNIT_ECLOSED);
    assert_false(f.peers[0].flushed);
    assert_int_equal(f.peers[0].missed, 1);
    assert_null(f.peers[1].ended);
    assert_string_equal(fake_out(&f, 1), "a1;a2;");
    fake_close(&f);
}

static void
block_sends_to_all_or_to_nobody(void **state)
{
    (void)state;
    open_with(SENNIT_SLOW_BLOCK, 2);
    fake_send(&f, "a1|rest");
    assert_int_equal(fake_send_frame(&f, "a2", true), SENNIT_EAGAIN);
    assert_int_equal(fake_send_frame(&f, "a2", true), SENNIT_EAGAIN);
    assert_string_equal(fake_out(&f, 1), "a1|rest;");
    /* What the full peer does not want goes out. */
    fake_send(&f, "b");
    fake_drain(&f, 0, 1);
    fake_send(&f, "a2|rest");
    assert_string_equal(fake_out(&f, 0), "a1|rest;a2|rest;");
    assert_string_equal(fake_out(&f, 1), "a1|rest;a2|rest;");
    assert_int_equal(f.stats.dropped_hwm_msgs, 0);
    fake_close(&f);
}

/* It takes nothing for good: waiting for it would be for ever. */
static void
a_peer_that_is_leaving_does_not_block(void **state)
{
    (void)state;
    open_with(SENNIT_SLOW_BLOCK, 2);
    fake_send(&f, "a1");
    sni_pattern_retire(&f.peers[0].peer);
    fake_send(&f, "a2");
    assert_string_equal(fake_out(&f, 0), "a1;");
    assert_string_equal(fake_out(&f, 1), "a1;a2;");
    assert_int_equal(f.peers[0].missed, 0);
    fake_close(&f);
}

static void
without_memory_to_choose_block_sends_to_nobody_and_can_be_repeated(void **state)
{
    (void)state;
    open_with(SENNIT_SLOW_BLOCK, 2);
    test_alloc_fail_at(&f.alloc, 1);
    assert_int_equal(fake_send_frame(&f, "a", false), SENNIT_ENOMEM);
    assert_string_equal(fake_out(&f, 0), "");
    fake_send(&f, "a");
    assert_string_equal(fake_out(&f, 0), "a;");
    assert_string_equal(fake_out(&f, 1), "a;");
    assert_int_equal(f.stats.dropped_memory_msgs, 0);
    fake_close(&f);
}

/* The mark is looked at where a message begins. */
static void
a_peer_that_fills_up_within_a_message_gets_all_of_it(void **state)
{
    (void)state;
    open_with(SENNIT_SLOW_DROP_NEW, 2);
    assert_int_equal(fake_send_frame(&f, "a", true), SENNIT_OK);
    f.peers[0].peer.writable = false;
    assert_int_equal(fake_send_frame(&f, "b", false), SENNIT_OK);
    assert_string_equal(fake_out(&f, 0), "a|b;");
    assert_int_equal(f.peers[0].missed, 0);
    fake_close(&f);
}

/* ---- inverted ---------------------------------------------------------- */

static void
inverted_a_publication_goes_to_those_whose_topics_do_not_match(void **state)
{
    static const sennit_sock_type types[] = { SENNIT_PUB, SENNIT_XPUB };

    (void)state;
    for (int i = 0; i < 2; i++) {
        fake_open(&f, types[i], false);
        f.opts.invert_matching = true;
        for (int p = 0; p < 3; p++)
            fake_join(&f, p, "");
        fake_hear(&f, 0, true, "a");
        fake_hear(&f, 0, true, "ab");
        fake_hear(&f, 1, true, "b");
        fake_send(&f, "abc|b");
        fake_send(&f, "b");
        assert_string_equal(fake_out(&f, 0), "b;");
        assert_string_equal(fake_out(&f, 1), "abc|b;");
        assert_string_equal(fake_out(&f, 2), "abc|b;b;");
        fake_close(&f);
    }
}

static void
inverted_nobody_gets_it_before_its_handshake(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_PUB, false);
    f.opts.invert_matching = true;
    assert_int_equal(sni_pattern_attach(&f.pattern, &f.peers[0].peer), SENNIT_OK);
    fake_send(&f, "a");
    assert_string_equal(fake_out(&f, 0), "");
    assert_int_equal(f.stats.dropped_no_peer_msgs, 1);
    fake_close(&f);
}

static void
an_inverted_subscriber_receives_what_does_not_match(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_SUB, false);
    f.opts.invert_matching = true;
    assert_int_equal(sni_pattern_subscribe(&f.pattern, true, SNI_BYTES_OF("a")),
                     SENNIT_OK);
    fake_join(&f, 0, "");
    fake_offer(&f, 0, "abc|x;b|a;");
    assert_string_equal(fake_recv_all(&f), "b|a;;");
    assert_int_equal(f.stats.dropped_filtered_msgs, 1);
    fake_close(&f);
}

/* ---- cost -------------------------------------------------------------- */

#define CROWD 100000

static void
hear_many(int i, const char *prefix, int count)
{
    char topic[24];

    for (int n = 0; n < count; n++) {
        snprintf(topic, sizeof topic, "%s%d", prefix, n);
        fake_hear(&f, i, true, topic);
    }
}

/* Nodes looked at for one publication. */
static uint64_t
visits_of(const char *message)
{
    uint64_t before = f.pattern.topics.visits;

    fake_send(&f, message);
    return f.pattern.topics.visits - before;
}

static void
matching_costs_no_more_with_more_topics(void **state)
{
    uint64_t few;
    uint64_t many;

    (void)state;
    fake_open(&f, SENNIT_PUB, false);
    fake_join(&f, 0, "");
    fake_join(&f, 1, "");
    hear_many(0, "news.", 10);
    few = visits_of("news.7");
    hear_many(1, "weather.", CROWD);
    hear_many(1, "news.7 and no other ", 1000);
    many = visits_of("news.7");
    assert_true(few > 0);
    /* At most one node for each octet. */
    assert_true(many <= few + 2);
    assert_true(visits_of("weather.99999") <= sizeof "weather.99999");
    fake_close(&f);
}

static void
a_peer_that_leaves_costs_its_own_topics_and_not_those_of_others(void **state)
{
    uint64_t before;

    (void)state;
    fake_open(&f, SENNIT_PUB, false);
    fake_join(&f, 0, "");
    fake_join(&f, 1, "");
    hear_many(0, "", CROWD);
    hear_many(1, "shared with ", 10);
    hear_many(0, "shared with ", 10);
    before = f.pattern.topics.visits;
    fake_leave(&f, 1);
    assert_true(f.pattern.topics.visits - before <= 10);
    assert_int_equal(f.stats.subscriptions, CROWD + 10);
    assert_int_equal(f.stats.topics, CROWD + 10);
    fake_close(&f);
}

/* ---- conflate ---------------------------------------------------------- */

/* "Multipart is refused up front, never torn" (D06). */
static void
a_socket_that_conflates_refuses_messages_of_several_frames(void **state)
{
    static const sennit_sock_type types[] = { SENNIT_PUB, SENNIT_PUSH, SENNIT_DEALER };

    (void)state;
    for (int i = 0; i < 3; i++) {
        fake_open(&f, types[i], false);
        f.opts.conflate = true;
        fake_join(&f, 0, "");
        if (types[i] == SENNIT_PUB)
            fake_hear(&f, 0, true, "");
        assert_int_equal(fake_send_frame(&f, "a", true), SENNIT_ENOTSUP);
        fake_send(&f, "b");
        assert_string_equal(fake_out(&f, 0), "b;");
        fake_close(&f);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drop_new_makes_only_the_full_peer_miss_it),
        cmocka_unit_test(full_peers_anywhere_among_others_harm_nobody),
        cmocka_unit_test(drop_old_and_conflate_make_room_in_the_queue),
        cmocka_unit_test(where_no_room_can_be_made_the_new_one_is_missed),
        cmocka_unit_test(disconnect_ends_the_connection_of_the_full_peer_with_a_reason),
        cmocka_unit_test(block_sends_to_all_or_to_nobody),
        cmocka_unit_test(a_peer_that_is_leaving_does_not_block),
        cmocka_unit_test(
            without_memory_to_choose_block_sends_to_nobody_and_can_be_repeated),
        cmocka_unit_test(a_peer_that_fills_up_within_a_message_gets_all_of_it),
        cmocka_unit_test(inverted_a_publication_goes_to_those_whose_topics_do_not_match),
        cmocka_unit_test(inverted_nobody_gets_it_before_its_handshake),
        cmocka_unit_test(an_inverted_subscriber_receives_what_does_not_match),
        cmocka_unit_test(matching_costs_no_more_with_more_topics),
        cmocka_unit_test(a_peer_that_leaves_costs_its_own_topics_and_not_those_of_others),
        cmocka_unit_test(a_socket_that_conflates_refuses_messages_of_several_frames),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
