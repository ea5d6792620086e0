/* SPDX-License-Identifier: MIT */
/* XSUB over fake peers: subscriptions in messages, messages upstream, everything in. */
#include "fake.h"

static fake f;

static void
open_with(int peers)
{
    fake_open(&f, SENNIT_XSUB, false);
    for (int i = 0; i < peers; i++)
        fake_join(&f, i, "");
}

static sennit_err
subscribe(bool on, const char *topic)
{
    return sni_pattern_subscribe(&f.pattern, on, sni_bytes(topic, strlen(topic)));
}

static void
xsub_subscribes_by_messages_of_01_and_00(void **state)
{
    (void)state;
    open_with(2);
    fake_send(&f, "+a");
    fake_send(&f, "+");
    fake_send(&f, "-a");
    for (int i = 0; i < 2; i++) {
        assert_string_equal(f.peers[i].told, "+a+-a");
        assert_string_equal(fake_out(&f, i), "");
    }
    assert_int_equal(f.stats.subscriptions, 1);
    assert_int_equal(f.stats.topics, 1);
    fake_close(&f);
}

/* Every subscribe goes on, for those behind an XPUB that is verbose. */
static void
xsub_counts_and_passes_on_the_last_unsubscribe(void **state)
{
    (void)state;
    open_with(1);
    fake_send(&f, "+a");
    fake_send(&f, "+a");
    fake_send(&f, "-a");
    assert_string_equal(f.peers[0].told, "+a+a");
    fake_send(&f, "-a");
    assert_string_equal(f.peers[0].told, "+a+a-a");
    fake_send(&f, "-a");
    fake_send(&f, "-never heard of");
    assert_string_equal(f.peers[0].told, "+a+a-a");
    assert_int_equal(f.stats.subscriptions, 0);
    fake_close(&f);
}

static void
xsub_may_pass_on_every_unsubscribe(void **state)
{
    (void)state;
    open_with(1);
    f.opts.xsub_verbose_unsubscribe = true;
    fake_send(&f, "+a");
    fake_send(&f, "+a");
    fake_send(&f, "-a");
    fake_send(&f, "-a");
    fake_send(&f, "-a");
    assert_string_equal(f.peers[0].told, "+a+a-a-a");
    fake_close(&f);
}

static void
xsub_subscribes_by_calls_as_well(void **state)
{
    (void)state;
    open_with(1);
    assert_int_equal(subscribe(true, "a"), SENNIT_OK);
    fake_send(&f, "-a");
    assert_string_equal(f.peers[0].told, "+a-a");
    assert_int_equal(subscribe(false, "a"), SENNIT_ENOENT);
    fake_close(&f);
}

static void
xsub_tells_each_publisher_that_comes_all_of_it_once(void **state)
{
    (void)state;
    open_with(0);
    fake_send(&f, "+b");
    fake_send(&f, "+a");
    fake_send(&f, "+a");
    fake_join(&f, 0, "");
    assert_string_equal(f.peers[0].told, "+a+b");
    fake_lose(&f, 0);
    fake_send(&f, "-b");
    fake_return(&f, 0, "");
    assert_string_equal(f.peers[0].told, "+a+b+a");
    fake_close(&f);
}

static void
xsub_sends_what_is_no_subscription_to_all_publishers(void **state)
{
    (void)state;
    open_with(2);
    fake_send(&f, "hello|there");
    fake_send(&f, "");
    for (int i = 0; i < 2; i++)
        assert_string_equal(fake_out(&f, i), "hello|there;;");
    fake_close(&f);
}

static void
xsub_counts_what_it_cannot_send(void **state)
{
    (void)state;
    open_with(0);
    fake_send(&f, "to nobody|at all");
    assert_int_equal(f.stats.dropped_no_peer_msgs, 1);
    f.peers[0].hwm = 1;
    fake_join(&f, 0, "");
    fake_join(&f, 1, "");
    fake_send(&f, "1");
    fake_send(&f, "2|3");
    assert_string_equal(fake_out(&f, 0), "1;");
    assert_string_equal(fake_out(&f, 1), "1;2|3;");
    assert_int_equal(f.peers[0].missed, 1);
    /* Subscriptions are never subject to a high-water mark. */
    fake_send(&f, "+a");
    assert_string_equal(f.peers[0].told, "+a");
    fake_close(&f);
}

typedef struct mixed_row {
    const char *name;
    const char *message;
    bool only_first;
    const char *out;
    const char *told;
} mixed_row;

static const mixed_row mixed_rows[] = {
    { "every frame sent may be a subscription", "+a|+b|-a", false, "", "+a+b-a" },
    { "frames around a subscription are one message", "x|+a|y", false, "x|y;", "+a" },
    { "a subscription may end what is sent", "x|y|+a", false, "x|y;", "+a" },
    { "a subscription may begin what is sent", "+a|x", false, "x;", "+a" },
    { "one frame before a subscription is a message", "x|+a", false, "x;", "+a" },
    { "with only_first_subscribe the rest is a message", "+a|-b|c", true, "-b|c;", "+a" },
    { "with only_first_subscribe later frames are sent", "x|+a", true, "x|+a;", "" },
};

static void
xsub_sends_a_mixed_message(void **state)
{
    const mixed_row *row = *state;

    open_with(2);
    f.opts.only_first_subscribe = row->only_first;
    fake_send(&f, row->message);
    fake_send(&f, "next");
    for (int i = 0; i < 2; i++) {
        char expected[64];

        strcpy(expected, row->out);
        strcat(expected, "next;");
        assert_string_equal(fake_out(&f, i), expected);
        assert_string_equal(f.peers[i].told, row->told);
    }
    assert_int_equal(f.stats.dropped_no_peer_msgs, 0);
    fake_close(&f);
}

static void
a_publisher_that_comes_within_a_message_gets_none_of_it(void **state)
{
    (void)state;
    open_with(2);
    assert_int_equal(fake_send_frame(&f, "a", true), SENNIT_OK);
    fake_join(&f, 2, "");
    fake_leave(&f, 1);
    assert_int_equal(fake_send_frame(&f, "b", true), SENNIT_OK);
    assert_int_equal(fake_send_frame(&f, "c", false), SENNIT_OK);
    assert_string_equal(fake_out(&f, 0), "a|b|c;");
    assert_string_equal(fake_out(&f, 2), "");
    fake_close(&f);
}

static void
what_is_kept_of_an_unfinished_message_goes_with_the_socket(void **state)
{
    (void)state;
    open_with(1);
    assert_int_equal(fake_send_frame(&f, "a", true), SENNIT_OK);
    fake_close(&f);
}

static void
xsub_receives_everything_in_turn(void **state)
{
    (void)state;
    open_with(2);
    fake_offer(&f, 0, "not asked for;b|c");
    fake_offer(&f, 1, "x");
    assert_string_equal(fake_recv_all(&f), "not asked for;x;b|c;");
    fake_close(&f);
}

static void
xsub_is_always_writable(void **state)
{
    (void)state;
    open_with(0);
    assert_int_equal(sni_pattern_ready(&f.pattern), SENNIT_WRITABLE);
    fake_close(&f);
}

static void
a_subscribe_without_memory_is_not_there_and_can_be_repeated(void **state)
{
    (void)state;
    open_with(1);
    f.tells_failing = 1;
    assert_int_equal(fake_send_frame(&f, "+a", false), SENNIT_ENOMEM);
    assert_int_equal(f.stats.subscriptions, 0);
    fake_send(&f, "+a");
    assert_string_equal(f.peers[0].told, "+a");
    f.tells_failing = 1;
    assert_int_equal(fake_send_frame(&f, "+a", false), SENNIT_ENOMEM);
    fake_send(&f, "-a");
    assert_int_equal(f.stats.subscriptions, 0);
    fake_close(&f);
}

static void
a_topic_over_the_bound_is_refused_and_nothing_sent(void **state)
{
    size_t size = 1024 * 1024 + 2;
    sennit_msg msg;

    (void)state;
    open_with(1);
    assert_int_equal(sennit_msg_init_size(&msg, size), SENNIT_OK);
    memset(sennit_msg_data(&msg), 1, size);
    assert_int_equal(sni_pattern_send(&f.pattern, sni_msg_of(&msg), false),
                     SENNIT_EMSGSIZE);
    assert_int_equal(sennit_msg_size(&msg), size);
    sennit_msg_fini(&msg);
    fake_close(&f);
}

#define MIXED (sizeof mixed_rows / sizeof mixed_rows[0])

int
main(void)
{
    struct CMUnitTest rows[MIXED];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(xsub_subscribes_by_messages_of_01_and_00),
        cmocka_unit_test(xsub_counts_and_passes_on_the_last_unsubscribe),
        cmocka_unit_test(xsub_may_pass_on_every_unsubscribe),
        cmocka_unit_test(xsub_subscribes_by_calls_as_well),
        cmocka_unit_test(xsub_tells_each_publisher_that_comes_all_of_it_once),
        cmocka_unit_test(xsub_sends_what_is_no_subscription_to_all_publishers),
        cmocka_unit_test(xsub_counts_what_it_cannot_send),
        cmocka_unit_test(a_publisher_that_comes_within_a_message_gets_none_of_it),
        cmocka_unit_test(what_is_kept_of_an_unfinished_message_goes_with_the_socket),
        cmocka_unit_test(xsub_receives_everything_in_turn),
        cmocka_unit_test(xsub_is_always_writable),
        cmocka_unit_test(a_subscribe_without_memory_is_not_there_and_can_be_repeated),
        cmocka_unit_test(a_topic_over_the_bound_is_refused_and_nothing_sent),
    };
    int failures;

    for (size_t i = 0; i < MIXED; i++) {
        const mixed_row *row = &mixed_rows[i];

        rows[i] = (struct CMUnitTest){ .name = row->name,
                                       .test_func = xsub_sends_a_mixed_message };
        memcpy(&rows[i].initial_state, &row, sizeof row);
    }
    failures = cmocka_run_group_tests_name("mixed", rows, NULL, NULL);
    failures += cmocka_run_group_tests(tests, NULL, NULL);
    return failures == 0 ? 0 : 1;
}
