/* SPDX-License-Identifier: MIT */
/* ROUTER over fake peers. */
#include "fake.h"

static fake f;

static void
router_puts_the_sender_in_front(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_ROUTER, false);
    fake_join(&f, 0, "alice");
    fake_join(&f, 1, "bob");
    fake_offer(&f, 0, "hello|there");
    fake_offer(&f, 1, "");
    assert_string_equal(fake_recv(&f), "alice|hello|there");
    assert_string_equal(fake_recv(&f), "bob|");
    fake_close(&f);
}

static void
router_takes_the_first_frame_as_the_receiver(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_ROUTER, false);
    fake_join(&f, 0, "alice");
    fake_join(&f, 1, "bob");
    fake_send(&f, "bob|x");
    fake_send(&f, "alice||y");
    assert_string_equal(fake_out(&f, 0), "|y;");
    assert_string_equal(fake_out(&f, 1), "x;");
    fake_close(&f);
}

static void
peers_without_an_identity_get_one_of_five_octets_each_its_own(void **state)
{
    sni_msg msg;

    (void)state;
    f.random = 0xfffffffe; /* the counter wraps between the two */
    fake_open(&f, SENNIT_ROUTER, false);
    for (int i = 0; i < 3; i++) {
        static const uint8_t expected[3][5] = {
            { 0, 0xff, 0xff, 0xff, 0xfe },
            { 0, 0xff, 0xff, 0xff, 0xff },
            { 0, 0, 0, 0, 0 },
        };
        sni_peer *peer = fake_join(&f, i, "");

        assert_int_equal(sennit_msg_size(&peer->identity), 5);
        assert_memory_equal(sennit_msg_data(&peer->identity), expected[i], 5);
        fake_offer(&f, i, "x");
        sennit_msg_init(sni_msg_public(&msg));
        assert_int_equal(sni_pattern_recv(&f.pattern, &msg), SENNIT_OK);
        assert_true(msg.more);
        assert_int_equal(msg.peer, (uint32_t)i + 1);
        assert_memory_equal(sennit_msg_data(sni_msg_public(&msg)), expected[i], 5);
        /* What was received can be sent back as it is. */
        assert_int_equal(sni_pattern_send(&f.pattern, &msg, true), SENNIT_OK);
        assert_string_equal(fake_recv(&f), "x");
        assert_int_equal(fake_send_frame(&f, "y", false), SENNIT_OK);
        assert_string_equal(fake_out(&f, i), "y;");
    }
    fake_close(&f);
    f.random = 0;
}

static void
an_identity_in_use_is_refused_until_its_owner_has_gone(void **state)
{
    sni_peer *second;

    (void)state;
    fake_open(&f, SENNIT_ROUTER, false);
    fake_join(&f, 0, "same");
    second = &f.peers[1].peer;
    assert_int_equal(sni_pattern_attach(&f.pattern, second), SENNIT_OK);
    assert_int_equal(sni_pattern_connected(&f.pattern, second, SNI_BYTES_OF("same")),
                     SENNIT_EEXIST);
    assert_false(second->connected);
    fake_send(&f, "same|first");
    assert_string_equal(fake_out(&f, 0), "first;");
    fake_leave(&f, 1);
    fake_send(&f, "same|still");
    assert_string_equal(fake_out(&f, 0), "first;still;");
    fake_leave(&f, 0);
    fake_join(&f, 1, "same");
    fake_send(&f, "same|second");
    assert_string_equal(fake_out(&f, 1), "second;");
    fake_close(&f);
}

static void
a_message_for_nobody_is_dropped_whole_and_counted(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_ROUTER, false);
    fake_join(&f, 0, "alice");
    fake_send(&f, "bob|alice|x");
    fake_send(&f, "|x");
    fake_send(&f, "alic|x");
    fake_send(&f, "alice2|x");
    assert_string_equal(fake_out(&f, 0), "");
    assert_int_equal(f.stats.dropped_no_peer_msgs, 4);
    fake_send(&f, "alice|x");
    assert_string_equal(fake_out(&f, 0), "x;");
    fake_close(&f);
}

static void
a_message_of_only_an_identity_is_dropped_and_counted(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_ROUTER, false);
    fake_join(&f, 0, "alice");
    fake_send(&f, "alice");
    fake_send(&f, "alice|x");
    assert_string_equal(fake_out(&f, 0), "x;");
    assert_int_equal(f.stats.dropped_no_peer_msgs, 1);
    fake_close(&f);
}

static void
a_message_for_a_full_peer_is_dropped_whole_and_counted(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_ROUTER, false);
    f.peers[0].hwm = 1;
    fake_join(&f, 0, "alice");
    fake_join(&f, 1, "bob");
    fake_send(&f, "alice|1");
    fake_send(&f, "alice|2|rest");
    fake_send(&f, "bob|3");
    assert_string_equal(fake_out(&f, 0), "1;");
    assert_string_equal(fake_out(&f, 1), "3;");
    assert_int_equal(f.stats.dropped_hwm_msgs, 1);
    fake_drain(&f, 0, 1);
    fake_send(&f, "alice|4");
    assert_string_equal(fake_out(&f, 0), "1;4;");
    fake_close(&f);
}

static void
a_mandatory_router_reports_an_unknown_peer_and_sends_nothing(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_ROUTER, true);
    fake_join(&f, 0, "alice");
    assert_int_equal(fake_send_frame(&f, "bob", true), SENNIT_EHOSTUNREACH);
    assert_int_equal(f.stats.dropped_no_peer_msgs, 0);
    fake_send(&f, "alice|x");
    assert_string_equal(fake_out(&f, 0), "x;");
    fake_close(&f);
}

static void
a_mandatory_router_would_block_at_a_full_peer(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_ROUTER, true);
    f.peers[0].hwm = 1;
    fake_join(&f, 0, "alice");
    fake_send(&f, "alice|1");
    assert_int_equal(fake_send_frame(&f, "alice", true), SENNIT_EAGAIN);
    fake_drain(&f, 0, 1);
    fake_send(&f, "alice|2");
    assert_string_equal(fake_out(&f, 0), "1;2;");
    fake_close(&f);
}

/* "What would not block right now": with every peer full nothing can be sent. */
static void
a_mandatory_router_is_writable_only_while_some_peer_has_room(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_ROUTER, true);
    assert_int_equal(sni_pattern_ready(&f.pattern), 0);
    f.peers[0].hwm = 1;
    f.peers[1].hwm = 1;
    fake_join(&f, 0, "alice");
    fake_join(&f, 1, "bob");
    fake_send(&f, "alice|1");
    assert_int_equal(sni_pattern_ready(&f.pattern), SENNIT_WRITABLE);
    fake_send(&f, "bob|1");
    assert_int_equal(sni_pattern_ready(&f.pattern), 0);
    fake_drain(&f, 1, 1);
    assert_int_equal(sni_pattern_ready(&f.pattern), SENNIT_WRITABLE);
    fake_close(&f);
}

static void
the_rest_of_a_message_is_swallowed_when_its_receiver_goes(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_ROUTER, true);
    fake_join(&f, 0, "alice");
    fake_join(&f, 1, "bob");
    assert_int_equal(fake_send_frame(&f, "alice", true), SENNIT_OK);
    assert_int_equal(fake_send_frame(&f, "a", true), SENNIT_OK);
    fake_leave(&f, 0);
    assert_int_equal(fake_send_frame(&f, "bob", true), SENNIT_OK);
    assert_int_equal(fake_send_frame(&f, "b", false), SENNIT_OK);
    assert_string_equal(fake_out(&f, 1), "");
    assert_int_equal(f.stats.dropped_disconnect_msgs, 1);
    fake_send(&f, "bob|x");
    assert_string_equal(fake_out(&f, 1), "x;");
    fake_close(&f);
}

static void
messages_of_one_who_left_keep_its_name(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_ROUTER, false);
    fake_join(&f, 0, "alice");
    fake_offer(&f, 0, "a|b;c");
    sni_pattern_disconnected(&f.pattern, &f.peers[0].peer, true);
    sni_pattern_retire(&f.peers[0].peer);
    assert_string_equal(fake_recv(&f), "alice|a|b");
    assert_string_equal(fake_recv(&f), "alice|c");
    fake_send(&f, "alice|x");
    assert_int_equal(f.stats.dropped_no_peer_msgs, 1);
    fake_close(&f);
}

static void
a_push_that_failed_can_be_repeated_at_every_frame(void **state)
{
    static const char *const frames[] = { "alice", "a", "b" };

    (void)state;
    for (unsigned k = 0; k < 2; k++) {
        fake_open(&f, SENNIT_ROUTER, false);
        fake_join(&f, 0, "alice");
        f.pushes_before = k;
        f.pushes_failing = 1;
        for (unsigned i = 0; i < 3; i++)
            if (fake_send_frame(&f, frames[i], i < 2) != SENNIT_OK)
                assert_int_equal(fake_send_frame(&f, frames[i], i < 2), SENNIT_OK);
        assert_int_equal(f.pushes_failing, 0);
        assert_string_equal(fake_out(&f, 0), "a|b;");
        fake_close(&f);
    }
}

static void
a_pull_that_failed_does_not_part_the_sender_from_the_body(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_ROUTER, false);
    fake_join(&f, 0, "alice");
    fake_offer(&f, 0, "a;b");
    f.pulls_failing = 1;
    assert_string_equal(fake_recv(&f), "ENOMEM");
    assert_string_equal(fake_recv(&f), "alice|a");
    assert_string_equal(fake_recv(&f), "alice|b");
    fake_close(&f);
}

/* Long identities need memory: refused without it, and nothing is left behind. */
static void
no_memory_to_name_a_peer_refuses_it_and_names_it_later(void **state)
{
    char name[201] = { 0 };
    uint64_t k;

    (void)state;
    memset(name, 'n', sizeof name - 1);
    for (k = 1;; k++) {
        sni_peer *peer;
        sennit_err err;
        bool failed;

        fake_open(&f, SENNIT_ROUTER, false);
        peer = &f.peers[0].peer;
        assert_int_equal(sni_pattern_attach(&f.pattern, peer), SENNIT_OK);
        test_alloc_fail_at(&f.alloc, k);
        err = sni_pattern_connected(&f.pattern, peer, sni_bytes(name, 200));
        failed = f.alloc.failed > 0;
        assert_int_equal(err, failed ? SENNIT_ENOMEM : SENNIT_OK);
        if (failed)
            assert_int_equal(
                sni_pattern_connected(&f.pattern, peer, sni_bytes(name, 200)), SENNIT_OK);
        assert_ptr_equal(sni_trie_find(&f.pattern.identities, sni_bytes(name, 200)),
                         peer);
        fake_close(&f);
        if (!failed)
            break;
    }
    assert_true(k > 1);
}

/* Who answers at the same endpoint next is somebody else. */
static void
what_was_addressed_to_a_lost_connection_does_not_go_to_the_next(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_ROUTER, false);
    fake_join(&f, 0, "A");
    assert_int_equal(fake_send_frame(&f, "A", true), SENNIT_OK);
    sni_pattern_disconnected(&f.pattern, &f.peers[0].peer, true);
    fake_return(&f, 0, "B");
    assert_int_equal(fake_send_frame(&f, "for A", false), SENNIT_OK);
    assert_string_equal(fake_out(&f, 0), "");
    assert_int_equal(f.stats.dropped_disconnect_msgs, 1);
    fake_send(&f, "B|for B");
    assert_string_equal(fake_out(&f, 0), "for B;");
    fake_close(&f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(router_puts_the_sender_in_front),
        cmocka_unit_test(router_takes_the_first_frame_as_the_receiver),
        cmocka_unit_test(peers_without_an_identity_get_one_of_five_octets_each_its_own),
        cmocka_unit_test(an_identity_in_use_is_refused_until_its_owner_has_gone),
        cmocka_unit_test(a_message_for_nobody_is_dropped_whole_and_counted),
        cmocka_unit_test(a_message_of_only_an_identity_is_dropped_and_counted),
        cmocka_unit_test(a_message_for_a_full_peer_is_dropped_whole_and_counted),
        cmocka_unit_test(a_mandatory_router_reports_an_unknown_peer_and_sends_nothing),
        cmocka_unit_test(a_mandatory_router_would_block_at_a_full_peer),
        cmocka_unit_test(a_mandatory_router_is_writable_only_while_some_peer_has_room),
        cmocka_unit_test(the_rest_of_a_message_is_swallowed_when_its_receiver_goes),
        cmocka_unit_test(messages_of_one_who_left_keep_its_name),
        cmocka_unit_test(a_push_that_failed_can_be_repeated_at_every_frame),
        cmocka_unit_test(a_pull_that_failed_does_not_part_the_sender_from_the_body),
        cmocka_unit_test(no_memory_to_name_a_peer_refuses_it_and_names_it_later),
        cmocka_unit_test(what_was_addressed_to_a_lost_connection_does_not_go_to_the_next),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
