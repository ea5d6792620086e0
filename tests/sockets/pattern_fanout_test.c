/* SPDX-License-Identifier: MIT */
/* PUB and SUB over fake peers. */
#include "base/limits.h"
#include "fake.h"

static fake f;

static sennit_bytes
text(const char *string)
{
    return sni_bytes(string, strlen(string));
}

static void
hear(int i, bool on, const char *topic)
{
    assert_int_equal(
        sni_pattern_subscription(&f.pattern, &f.peers[i].peer, on, text(topic)),
        SENNIT_OK);
}

/* ---- PUB --------------------------------------------------------------- */

static void
pub_sends_to_those_whose_prefix_the_first_frame_has(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_PUB, false);
    for (int i = 0; i < 4; i++)
        fake_join(&f, i, "");
    hear(0, true, "");
    hear(1, true, "news");
    hear(2, true, "news.sport");
    fake_send(&f, "news|sport");
    fake_send(&f, "news.sport.9|x");
    fake_send(&f, "new");
    assert_string_equal(fake_out(&f, 0), "news|sport;news.sport.9|x;new;");
    assert_string_equal(fake_out(&f, 1), "news|sport;news.sport.9|x;");
    assert_string_equal(fake_out(&f, 2), "news.sport.9|x;");
    assert_string_equal(fake_out(&f, 3), "");
    fake_close(&f);
}

static void
pub_sends_one_copy_however_many_topics_match(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_PUB, false);
    fake_join(&f, 0, "");
    hear(0, true, "");
    hear(0, true, "a");
    hear(0, true, "ab");
    assert_int_equal(f.stats.subscriptions, 3);
    fake_send(&f, "abc");
    assert_string_equal(fake_out(&f, 0), "abc;");
    fake_close(&f);
}

/* libzmq sends n subscribes and one cancel, so a peer's topics are a set. */
static void
one_cancel_ends_what_was_subscribed_twice_by_the_same_peer(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_PUB, false);
    fake_join(&f, 0, "");
    fake_join(&f, 1, "");
    hear(0, true, "a");
    hear(0, true, "a");
    hear(1, true, "a");
    hear(0, false, "a");
    hear(0, false, "a");
    hear(0, false, "never heard of");
    fake_send(&f, "a");
    assert_string_equal(fake_out(&f, 0), "");
    assert_string_equal(fake_out(&f, 1), "a;");
    assert_int_equal(f.stats.subscriptions, 1);
    fake_close(&f);
}

static void
pub_counts_what_nobody_wanted_and_what_a_full_peer_missed(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_PUB, false);
    fake_send(&f, "into the void");
    f.peers[0].hwm = 1;
    fake_join(&f, 0, "");
    fake_join(&f, 1, "");
    hear(0, true, "a");
    hear(1, true, "a");
    fake_send(&f, "b");
    fake_send(&f, "a|1");
    fake_send(&f, "a|2");
    assert_string_equal(fake_out(&f, 0), "a|1;");
    assert_string_equal(fake_out(&f, 1), "a|1;a|2;");
    assert_int_equal(f.stats.dropped_no_peer_msgs, 2);
    assert_int_equal(f.stats.dropped_hwm_msgs, 1);
    assert_int_equal(sni_pattern_ready(&f.pattern), SENNIT_WRITABLE);
    fake_close(&f);
}

static void
who_matched_the_first_frame_gets_the_whole_message_and_nobody_else(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_PUB, false);
    for (int i = 0; i < 3; i++)
        fake_join(&f, i, "");
    hear(0, true, "a");
    hear(2, true, "a");
    assert_int_equal(fake_send_frame(&f, "a", true), SENNIT_OK);
    hear(0, false, "a");
    hear(1, true, "");
    assert_int_equal(fake_send_frame(&f, "b", true), SENNIT_OK);
    fake_leave(&f, 2);
    assert_int_equal(fake_send_frame(&f, "c", false), SENNIT_OK);
    assert_string_equal(fake_out(&f, 0), "a|b|c;");
    assert_string_equal(fake_out(&f, 1), "");
    fake_close(&f);
}

static void
a_peer_that_comes_back_has_to_subscribe_again(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_PUB, false);
    fake_join(&f, 0, "");
    hear(0, true, "a");
    sni_pattern_disconnected(&f.pattern, &f.peers[0].peer, true);
    assert_int_equal(f.stats.subscriptions, 0);
    assert_int_equal(
        sni_pattern_connected(&f.pattern, &f.peers[0].peer, sni_bytes(NULL, 0)),
        SENNIT_OK);
    fake_send(&f, "a");
    hear(0, true, "a");
    fake_send(&f, "a2");
    assert_string_equal(fake_out(&f, 0), "a2;");
    fake_close(&f);
}

static void
a_topic_beyond_the_bound_is_refused(void **state)
{
    size_t size = 1024 * 1024;
    uint8_t *topic = calloc(1, size + 1);

    (void)state;
    assert_non_null(topic);
    fake_open(&f, SENNIT_PUB, false);
    fake_join(&f, 0, "");
    assert_int_equal(sni_pattern_subscription(&f.pattern, &f.peers[0].peer, true,
                                              sni_bytes(topic, size)),
                     SENNIT_OK);
    assert_null(f.peers[0].ended);
    assert_int_equal(sni_pattern_subscription(&f.pattern, &f.peers[0].peer, true,
                                              sni_bytes(topic, size + 1)),
                     SENNIT_OK);
    assert_string_equal(f.peers[0].ended, "subscription longer than 1 MiB");
    assert_int_equal(f.peers[0].ended_err, SENNIT_EMSGSIZE);
    assert_int_equal(f.stats.subscriptions, 1);
    fake_close(&f);
    free(topic);
}

/* Twice the same counts once. */
static void
more_topics_than_a_peer_may_hold_are_refused(void **state)
{
    uint8_t topic[4];
    uint32_t i;

    (void)state;
    fake_open(&f, SENNIT_PUB, false);
    fake_join(&f, 0, "");
    fake_join(&f, 1, "");
    /* Instead of hearing a million of them first. */
    f.peers[0].peer.topics = SNI_TOPICS_PER_PEER_MAX - 100;
    for (i = 0; f.peers[0].ended == NULL; i++) {
        sni_put_u32(topic, i);
        assert_int_equal(sni_pattern_subscription(&f.pattern, &f.peers[0].peer, true,
                                                  sni_bytes(topic, sizeof topic)),
                         SENNIT_OK);
        if (i % 10 == 1) {
            hear(0, true, "again");
            hear(0, true, "again");
            hear(0, false, "again");
            hear(0, false, "again");
        }
    }
    assert_string_equal(f.peers[0].ended, "more subscriptions than a peer may hold");
    assert_int_equal(f.peers[0].ended_err, SENNIT_EMSGSIZE);
    assert_int_equal(i, 101);
    hear(1, true, "another peer has its own bound");
    sni_pattern_disconnected(&f.pattern, &f.peers[0].peer, true);
    hear(0, true, "after a reconnect it begins anew");
    assert_int_equal(f.stats.subscriptions, 2);
    fake_close(&f);
}

/* However few they are. */
static void
topics_that_are_longer_together_than_a_peer_may_hold_are_refused(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_PUB, false);
    fake_join(&f, 0, "");
    hear(0, true, "a");
    assert_int_equal(f.peers[0].peer.subscriber->topic_bytes, 1);
    /* Instead of hearing 64 MiB first. */
    f.peers[0].peer.subscriber->topic_bytes = SNI_TOPIC_BYTES_PER_PEER_MAX - 3;
    for (int i = 0; i < 10; i++) {
        hear(0, true, "bc");
        hear(0, true, "bc");
        hear(0, false, "bc");
    }
    hear(0, true, "def");
    assert_null(f.peers[0].ended);
    hear(0, true, "g");
    assert_string_equal(f.peers[0].ended, "more subscriptions than a peer may hold");
    assert_int_equal(f.peers[0].ended_err, SENNIT_EMSGSIZE);
    fake_close(&f);
}

static void
no_memory_to_match_drops_that_copy_and_counts_it(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_PUB, false);
    fake_join(&f, 0, "");
    hear(0, true, "");
    test_alloc_fail_at(&f.alloc, 1);
    fake_send(&f, "a|lost");
    fake_send(&f, "b");
    assert_string_equal(fake_out(&f, 0), "b;");
    assert_int_equal(f.stats.dropped_memory_msgs, 1);
    fake_close(&f);
}

static void
pub_does_not_receive_and_sub_does_not_send(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_PUB, false);
    assert_string_equal(fake_recv(&f), "ENOTSUP");
    fake_close(&f);
    fake_open(&f, SENNIT_SUB, false);
    assert_int_equal(fake_send_frame(&f, "x", false), SENNIT_ENOTSUP);
    fake_close(&f);
}

/* ---- SUB --------------------------------------------------------------- */

static void
sub_tells_publishers_of_the_first_and_the_last_of_each_prefix(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_SUB, false);
    fake_join(&f, 0, "");
    assert_int_equal(sni_pattern_subscribe(&f.pattern, true, text("a")), SENNIT_OK);
    assert_int_equal(sni_pattern_subscribe(&f.pattern, true, text("a")), SENNIT_OK);
    assert_int_equal(sni_pattern_subscribe(&f.pattern, true, text("b")), SENNIT_OK);
    assert_int_equal(sni_pattern_subscribe(&f.pattern, false, text("a")), SENNIT_OK);
    assert_string_equal(f.peers[0].told, "+a+b");
    assert_int_equal(f.stats.subscriptions, 2);
    assert_int_equal(sni_pattern_subscribe(&f.pattern, false, text("a")), SENNIT_OK);
    assert_int_equal(sni_pattern_subscribe(&f.pattern, false, text("a")), SENNIT_ENOENT);
    assert_string_equal(f.peers[0].told, "+a+b-a");
    assert_int_equal(f.stats.subscriptions, 1);
    fake_close(&f);
}

static void
sub_tells_a_publisher_that_comes_later_or_again_everything(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_SUB, false);
    assert_int_equal(sni_pattern_subscribe(&f.pattern, true, text("b")), SENNIT_OK);
    assert_int_equal(sni_pattern_subscribe(&f.pattern, true, text("a")), SENNIT_OK);
    assert_int_equal(sni_pattern_subscribe(&f.pattern, true, text("a")), SENNIT_OK);
    fake_join(&f, 0, "");
    assert_string_equal(f.peers[0].told, "+a+b");
    sni_pattern_disconnected(&f.pattern, &f.peers[0].peer, true);
    assert_int_equal(sni_pattern_subscribe(&f.pattern, true, text("c")), SENNIT_OK);
    assert_string_equal(f.peers[0].told, "+a+b");
    assert_int_equal(
        sni_pattern_connected(&f.pattern, &f.peers[0].peer, sni_bytes(NULL, 0)),
        SENNIT_OK);
    assert_string_equal(f.peers[0].told, "+a+b+a+b+c");
    fake_close(&f);
}

static void
sub_filters_what_it_did_not_ask_for_and_counts_it(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_SUB, false);
    assert_int_equal(sni_pattern_subscribe(&f.pattern, true, text("a")), SENNIT_OK);
    fake_join(&f, 0, "");
    fake_offer(&f, 0, "b|a;a1|b;;ab|x|y");
    assert_string_equal(fake_recv(&f), "a1|b");
    assert_string_equal(fake_recv(&f), "ab|x|y");
    assert_string_equal(fake_recv(&f), "EAGAIN");
    assert_int_equal(f.stats.dropped_filtered_msgs, 2);
    fake_close(&f);
}

static void
what_is_filtered_out_is_not_readable(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_SUB, false);
    fake_join(&f, 0, "");
    fake_offer(&f, 0, "b");
    assert_int_equal(sni_pattern_ready(&f.pattern), 0);
    assert_int_equal(f.stats.dropped_filtered_msgs, 1);
    fake_close(&f);
}

static void
no_memory_to_skip_does_not_let_the_tail_through(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 4; k++) {
        const char *got;

        fake_open(&f, SENNIT_SUB, false);
        assert_int_equal(sni_pattern_subscribe(&f.pattern, true, text("a")), SENNIT_OK);
        fake_join(&f, 0, "");
        fake_offer(&f, 0, "b|a tail|a tail;a|good");
        f.pulls_before = k;
        f.pulls_failing = 1;
        while (strcmp(got = fake_recv(&f), "ENOMEM") == 0)
            continue;
        assert_string_equal(got, "a|good");
        assert_int_equal(f.stats.dropped_filtered_msgs, 1);
        fake_close(&f);
    }
}

/* A subscribe that was reported as failed is not there, and trying again works. */
static void
a_subscribe_that_failed_can_be_repeated(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_SUB, false);
    fake_join(&f, 0, "");
    f.tells_failing = 1;
    assert_int_equal(sni_pattern_subscribe(&f.pattern, true, text("a")), SENNIT_ENOMEM);
    assert_int_equal(f.stats.subscriptions, 0);
    assert_int_equal(sni_pattern_subscribe(&f.pattern, true, text("a")), SENNIT_OK);
    assert_string_equal(f.peers[0].told, "+a");
    assert_int_equal(sni_pattern_subscribe(&f.pattern, false, text("a")), SENNIT_OK);
    assert_string_equal(f.peers[0].told, "+a-a");
    fake_close(&f);
}

/* The same the other way round: who is told OK is not sent what it gave up. */
static void
an_unsubscribe_that_failed_can_be_repeated(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_SUB, false);
    fake_join(&f, 0, "");
    assert_int_equal(sni_pattern_subscribe(&f.pattern, true, text("a")), SENNIT_OK);
    f.tells_failing = 1;
    assert_int_equal(sni_pattern_subscribe(&f.pattern, false, text("a")), SENNIT_ENOMEM);
    assert_int_equal(f.stats.subscriptions, 1);
    assert_null(f.peers[0].ended);
    fake_offer(&f, 0, "still");
    fake_offer(&f, 0, "a");
    assert_string_equal(fake_recv(&f), "a");
    assert_int_equal(sni_pattern_subscribe(&f.pattern, false, text("a")), SENNIT_OK);
    assert_string_equal(f.peers[0].told, "+a-a");
    assert_int_equal(f.stats.subscriptions, 0);
    fake_close(&f);
}

/* What one publisher knows cannot be taken back without memory: another that cannot be
 * told loses its connection, and is told everything on the next. */
static void
a_publisher_that_cannot_be_told_as_others_were_has_to_come_again(void **state)
{
    (void)state;
    for (unsigned step = 0; step < 2; step++) {
        bool on = step == 0;

        fake_open(&f, SENNIT_SUB, false);
        for (int i = 0; i < 3; i++)
            fake_join(&f, i, "");
        assert_int_equal(sni_pattern_subscribe(&f.pattern, true, text("b")), SENNIT_OK);
        if (!on)
            assert_int_equal(sni_pattern_subscribe(&f.pattern, true, text("a")),
                             SENNIT_OK);
        f.tells_before = 1;
        f.tells_failing = 1;
        assert_int_equal(sni_pattern_subscribe(&f.pattern, on, text("a")), SENNIT_OK);
        assert_null(f.peers[0].ended);
        assert_string_equal(f.peers[1].ended, "no memory for a subscription");
        assert_int_equal(f.peers[1].ended_err, SENNIT_ENOMEM);
        assert_null(f.peers[2].ended);
        assert_string_equal(f.peers[2].told, on ? "+b+a" : "+b+a-a");
        fake_lose(&f, 1);
        f.peers[1].told[0] = '\0';
        fake_return(&f, 1, "");
        assert_string_equal(f.peers[1].told, on ? "+a+b" : "+b");
        fake_close(&f);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pub_sends_to_those_whose_prefix_the_first_frame_has),
        cmocka_unit_test(pub_sends_one_copy_however_many_topics_match),
        cmocka_unit_test(one_cancel_ends_what_was_subscribed_twice_by_the_same_peer),
        cmocka_unit_test(pub_counts_what_nobody_wanted_and_what_a_full_peer_missed),
        cmocka_unit_test(
            who_matched_the_first_frame_gets_the_whole_message_and_nobody_else),
        cmocka_unit_test(a_peer_that_comes_back_has_to_subscribe_again),
        cmocka_unit_test(more_topics_than_a_peer_may_hold_are_refused),
        cmocka_unit_test(a_topic_beyond_the_bound_is_refused),
        cmocka_unit_test(
            topics_that_are_longer_together_than_a_peer_may_hold_are_refused),
        cmocka_unit_test(no_memory_to_match_drops_that_copy_and_counts_it),
        cmocka_unit_test(pub_does_not_receive_and_sub_does_not_send),
        cmocka_unit_test(sub_tells_publishers_of_the_first_and_the_last_of_each_prefix),
        cmocka_unit_test(sub_tells_a_publisher_that_comes_later_or_again_everything),
        cmocka_unit_test(sub_filters_what_it_did_not_ask_for_and_counts_it),
        cmocka_unit_test(what_is_filtered_out_is_not_readable),
        cmocka_unit_test(no_memory_to_skip_does_not_let_the_tail_through),
        cmocka_unit_test(a_subscribe_that_failed_can_be_repeated),
        cmocka_unit_test(an_unsubscribe_that_failed_can_be_repeated),
        cmocka_unit_test(
            a_publisher_that_cannot_be_told_as_others_were_has_to_come_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
