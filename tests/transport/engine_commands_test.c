/* SPDX-License-Identifier: MIT */
/* Commands in traffic, and what they cost a socket whose application is not asking
 * for messages just then. */
#include "sennit_test.h"

#include <stdio.h>

#include "base/limits.h"
#include "rig.h"
#include "suite.h"

static void
write_out(test_rig *rig)
{
    test_rig_write_out(rig);
    rig->output_size = 0;
}

static bool
holds_a_window(const test_rig *rig)
{
    sni_engine_room room;

    return sni_engine_sink(rig->engine, &room);
}

/* ---- commands nobody asks for ------------------------------------------ */

typedef struct command_row {
    const char *name; /* of the test */
    const char *command;
} command_row;

static command_row rows[] = {
    { "PINGs to a socket that asks for nothing leave no trace", "PING" },
    { "PONGs to a socket that asks for nothing leave no trace", "PONG" },
    { "unknown commands to a socket that asks for nothing leave no trace", "WHATEVER" },
    { "subscriptions to a socket that is no publisher leave no trace", "SUBSCRIBE" },
};

/* A session of an idle socket feeds and writes, and calls next() for a message. */
static void
check_idle(void **state)
{
    const command_row *row = *state;
    test_rig rig;
    test_wire w = { NULL, 0, 0 };
    size_t settled = 0;

    test_rig_meet_as(&rig, SENNIT_PULL);
    for (int i = 0; i < 1000; i++)
        test_wire_command(&w, row->command, "\0\0abc", 5);
    for (int i = 0; i < 50; i++) {
        test_rig_hear(&rig, &w, TEST_FEED_SINK);
        write_out(&rig);
        assert_false(holds_a_window(&rig));
        if (i == 2)
            settled = rig.alloc->peak_bytes;
    }
    assert_int_equal(rig.alloc->peak_bytes, settled);
    free(w.data);
    test_rig_close(&rig);
}

static void
a_command_behind_the_last_message_does_not_keep_its_window(void **state)
{
    test_rig rig;
    test_wire w = { NULL, 0, 0 };
    sni_engine_event event;

    (void)state;
    test_rig_meet_as(&rig, SENNIT_PULL);
    test_wire_frame(&w, "a", 1, false);
    test_wire_command(&w, "PONG", "abc", 3);
    test_rig_hear(&rig, &w, TEST_FEED_SINK);
    assert_int_equal(sni_engine_unread(rig.engine), 1);
    assert_true(sni_engine_next(rig.engine, &event));
    assert_int_equal(event.kind, SNI_ENGINE_MESSAGE);
    sennit_msg_fini(sni_msg_public(&event.msg));
    assert_false(holds_a_window(&rig));
    free(w.data);
    test_rig_close(&rig);
}

/* Nobody takes the message for a long time, and the peer is alive and says so. */
static void
commands_behind_a_message_that_nobody_takes_need_no_room(void **state)
{
    test_rig rig;
    test_wire w = { NULL, 0, 0 };
    size_t settled = 0;

    (void)state;
    test_rig_meet_as(&rig, SENNIT_PULL);
    test_wire_frame(&w, "a", 1, false);
    test_rig_hear(&rig, &w, TEST_FEED_SINK);
    w.size = 0;
    for (int i = 0; i < 1000; i++)
        test_wire_command(&w, "WHATEVER", "abc", 3);
    for (int i = 0; i < 100; i++) {
        test_rig_hear(&rig, &w, TEST_FEED_SINK);
        if (i == 2)
            settled = rig.alloc->peak_bytes;
    }
    assert_int_equal(rig.alloc->peak_bytes, settled);
    test_rig_take_events(&rig);
    assert_string_equal(rig.events, "MSG 61; ");
    assert_false(holds_a_window(&rig));
    free(w.data);
    test_rig_close(&rig);
}

/* Commands anywhere, the stream cut anywhere, messages taken late: the messages are
 * the same as without any command. */
static void
commands_come_and_go_without_touching_a_message(void **state)
{
    static uint8_t body[3000];

    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        test_rng rng = { seed };
        test_rig rig;
        test_rig expected = { 0 };
        test_wire w = { NULL, 0, 0 };

        test_rig_meet_as(&rig, SENNIT_PULL);
        for (int i = 0; i < 40; i++) {
            size_t size = test_rng_below(&rng, test_rng_chance(&rng, 20) ? 3000 : 60);
            bool more = i < 39 && test_rng_chance(&rng, 30);

            while (test_rng_chance(&rng, 60))
                test_wire_command(&w, test_rng_chance(&rng, 50) ? "PONG" : "WHATEVER",
                                  body, test_rng_below(&rng, 17));
            memset(body, 'a' + i % 26, sizeof body);
            test_wire_frame(&w, body, size, more);
            test_rig_note_frame(&expected, sni_bytes(body, size), more);
        }
        test_wire_command(&w, "PONG", "", 0);
        for (size_t at = 0; at < w.size;) {
            size_t size = 1 + test_rng_below(&rng, 1 + test_rng_below(&rng, 2000));

            if (size > w.size - at)
                size = w.size - at;
            assert_int_equal(test_rig_feed(&rig, sni_bytes(w.data + at, size),
                                           (test_feed)test_rng_below(&rng, 3)),
                             SENNIT_OK);
            at += size;
            if (test_rng_chance(&rng, 10))
                test_rig_take_events(&rig);
        }
        test_rig_take_events(&rig);
        assert_string_equal(rig.events, expected.events);
        assert_false(holds_a_window(&rig));
        free(expected.events);
        free(w.data);
        test_rig_close(&rig);
    }
}

/* ---- commands of our own ----------------------------------------------- */

static void
subscribe(test_rig *rig, const uint8_t *topic, size_t size)
{
    assert_int_equal(
        sni_engine_send(rig->engine, SNI_ENGINE_SUBSCRIBE, sni_bytes(topic, size)),
        SENNIT_OK);
}

/* They are the application's, and its own memory bounds them. */
static void
subscriptions_of_any_size_wait_for_a_slow_publisher(void **state)
{
    static uint8_t topic[SNI_TOPIC_MAX_BYTES];
    test_rig rig;
    size_t written = 0;

    (void)state;
    test_rig_meet_as(&rig, SENNIT_SUB);
    for (int i = 0; i < 66; i++)
        subscribe(&rig, topic, sizeof topic);
    for (size_t size = 1; size > 0; written += size) {
        size = test_rig_take_output(&rig, SIZE_MAX);
        rig.output_size = 0;
    }
    assert_true(written > 66 * sizeof topic);
    test_rig_close(&rig);
}

/* What waits because of us is not held against the peer's PING. */
static void
a_ping_is_answered_behind_any_number_of_our_subscriptions(void **state)
{
    static uint8_t topic[SNI_TOPIC_MAX_BYTES];
    test_rig rig;
    test_wire w = { NULL, 0, 0 };
    size_t before;

    (void)state;
    test_rig_meet_as(&rig, SENNIT_SUB);
    subscribe(&rig, topic, sizeof topic);
    subscribe(&rig, topic, sizeof topic);
    test_wire_command(&w, "PING", "\0\0abc", 5);
    test_rig_hear(&rig, &w, TEST_FEED_SINK);
    before = rig.output_size;
    test_rig_write_out(&rig);
    assert_true(rig.output_size > before + 2 * sizeof topic);
    assert_memory_equal(rig.output + rig.output_size - 10, "\4\10\4PONGabc", 10);
    free(w.data);
    test_rig_close(&rig);
}

/* The bound of those answers holds behind subscriptions as it does alone, while the
 * peer reads nothing and while it reads a little. */
static void
pings_of_a_peer_that_does_not_read_are_bounded_behind_subscriptions(void **state)
{
    static uint8_t topic[SNI_TOPIC_MAX_BYTES];

    (void)state;
    for (size_t reads = 0; reads < 2; reads++) {
        test_rig rig;
        test_wire w = { NULL, 0, 0 };
        sennit_err err = SENNIT_OK;

        test_rig_meet_as(&rig, SENNIT_SUB);
        subscribe(&rig, topic, sizeof topic);
        test_wire_command(&w, "PING", "\0\0abcdefgh", 10);
        for (int i = 0; i < 100000 && err == SENNIT_OK; i++) {
            err = test_rig_feed(&rig, sni_bytes(w.data, w.size), TEST_FEED_SINK);
            test_rig_take_output(&rig, reads);
        }
        assert_int_equal(err, SENNIT_EPROTO);
        assert_string_equal(test_rig_reason(&rig),
                            "peer sends PINGs and does not read the answers");
        free(w.data);
        test_rig_close(&rig);
    }
}

/* A peer that reads all it is sent may ping for ever, also when its reads never end
 * where our writes do. */
static void
a_peer_that_reads_its_answers_late_may_ping_for_ever(void **state)
{
    test_rig rig;
    test_wire w = { NULL, 0, 0 };
    size_t settled = 0;

    (void)state;
    test_rig_meet_as(&rig, SENNIT_PULL);
    test_wire_command(&w, "PING", "\0\0abcdefgh", 10);
    test_rig_hear(&rig, &w, TEST_FEED_SINK);
    for (int i = 0; i < 50000; i++) {
        test_rig_hear(&rig, &w, TEST_FEED_SINK);
        assert_int_equal(test_rig_take_output(&rig, w.size - 2), w.size - 2);
        rig.output_size = 0;
        if (i == 100)
            settled = rig.alloc->peak_bytes;
    }
    assert_int_equal(rig.alloc->peak_bytes, settled);
    free(w.data);
    test_rig_close(&rig);
}

int
main(void)
{
    static const struct CMUnitTest fixed[] = {
        cmocka_unit_test(a_command_behind_the_last_message_does_not_keep_its_window),
        cmocka_unit_test(commands_behind_a_message_that_nobody_takes_need_no_room),
        cmocka_unit_test(commands_come_and_go_without_touching_a_message),
        cmocka_unit_test(subscriptions_of_any_size_wait_for_a_slow_publisher),
        cmocka_unit_test(a_ping_is_answered_behind_any_number_of_our_subscriptions),
        cmocka_unit_test(
            pings_of_a_peer_that_does_not_read_are_bounded_behind_subscriptions),
        cmocka_unit_test(a_peer_that_reads_its_answers_late_may_ping_for_ever),
    };
    static test_suite suite;

    TEST_SUITE_ROWS(&suite, "", rows, check_idle);
    TEST_SUITE_ADD(&suite, fixed);
    return test_suite_run(&suite);
}
