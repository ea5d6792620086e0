/* SPDX-License-Identifier: MIT */
/* Our own PINGs, and how long a peer may be silent. Time is a variable. The peer's
 * time to live is in engine_test.c too. */
#include "sennit_test.h"

#include "base/limits.h"
#include "rig.h"
#include "suite.h"

#define MS       UINT64_C(1000000)
#define INTERVAL (200 * MS)
#define TIMEOUT  (400 * MS)
#define SILENT   "nothing received within heartbeat_timeout of our PING"

static const uint8_t ping[] = { 4, 7, 4, 'P', 'I', 'N', 'G', 0x01, 0x2c };

static uint8_t body[8 * 1024];

static test_rig_opts
opts_of(sennit_sock_type type)
{
    test_rig_opts opts = TEST_RIG_DEFAULT(type);

    opts.heartbeat_interval = INTERVAL;
    opts.heartbeat_timeout = TIMEOUT;
    opts.heartbeat_ttl_ds = 300;
    opts.unversioned = true;
    return opts;
}

static void
open_rig(test_rig *rig)
{
    test_rig_opts opts = opts_of(SENNIT_PUSH);

    test_rig_meet(rig, &opts, 1);
}

static sennit_err
tick(test_rig *rig)
{
    return sni_engine_tick(rig->engine, rig->now, true);
}

static void
expect_pings(test_rig *rig, size_t count)
{
    test_rig_write_out(rig);
    assert_int_equal(rig->output_size, count * sizeof ping);
    for (size_t i = 0; i < count; i++)
        assert_memory_equal(rig->output + i * sizeof ping, ping, sizeof ping);
}

static void
hear(test_rig *rig, const void *data, size_t size)
{
    assert_int_equal(test_rig_feed(rig, sni_bytes(data, size), TEST_FEED_SINK),
                     SENNIT_OK);
}

/* Sends a PING and lets its timeout begin. Returns when that is over. */
static sennit_time
ping_now(test_rig *rig)
{
    rig->now += INTERVAL;
    assert_int_equal(tick(rig), SENNIT_OK);
    test_rig_write_out(rig);
    assert_int_equal(tick(rig), SENNIT_OK);
    return rig->now + TIMEOUT;
}

/* ---- PINGs ------------------------------------------------------------ */

static void
the_first_ping_is_due_an_interval_after_ready(void **state)
{
    test_rig rig;

    (void)state;
    open_rig(&rig);
    assert_int_equal(sni_engine_deadline(rig.engine, true), rig.now + INTERVAL);
    rig.now += INTERVAL - 1;
    assert_int_equal(tick(&rig), SENNIT_OK);
    expect_pings(&rig, 0);
    rig.now += 1;
    assert_int_equal(tick(&rig), SENNIT_OK);
    expect_pings(&rig, 1);
    test_rig_close(&rig);
}

static void
the_next_ping_is_due_an_interval_after_the_last_even_unanswered(void **state)
{
    test_rig rig;

    (void)state;
    open_rig(&rig);
    rig.now += INTERVAL + 7;
    assert_int_equal(tick(&rig), SENNIT_OK);
    expect_pings(&rig, 1);
    assert_int_equal(tick(&rig), SENNIT_OK);
    assert_int_equal(sni_engine_deadline(rig.engine, true), rig.now + INTERVAL);
    rig.now += INTERVAL;
    assert_int_equal(tick(&rig), SENNIT_OK);
    expect_pings(&rig, 2);
    test_rig_close(&rig);
}

/* Each would find an unknown command, or none at all, where it expects a message. */
static void
only_peers_of_3_1_are_pinged(void **state)
{
    test_rig_opts opts = opts_of(SENNIT_PUSH);
    test_wire peers[4] = { { NULL, 0, 0 } };

    (void)state;
    test_wire_handshake(&peers[0], SENNIT_PULL, 0);
    test_wire_add(&peers[1], "\xff\0\0\0\0\0\0\0\1\x7f\1\7\0\0", 14);
    test_wire_add(&peers[2], "\xff\0\0\0\0\0\0\0\1\x7f\0\7\1\0", 14);
    test_wire_add(&peers[3], "\1\0", 2);
    for (int i = 0; i < 4; i++) {
        test_rig rig;

        test_rig_open_traffic(&rig, &opts, &peers[i]);
        assert_int_equal(sni_engine_deadline(rig.engine, true), SENNIT_NEVER);
        rig.now += 10 * INTERVAL;
        assert_int_equal(tick(&rig), SENNIT_OK);
        expect_pings(&rig, 0);
        test_rig_close(&rig);
        free(peers[i].data);
    }
}

static void
nothing_is_pinged_without_an_interval(void **state)
{
    test_rig_opts opts = opts_of(SENNIT_PUSH);
    test_rig rig;

    (void)state;
    opts.heartbeat_interval = 0;
    test_rig_meet(&rig, &opts, 1);
    assert_int_equal(sni_engine_deadline(rig.engine, true), SENNIT_NEVER);
    assert_int_equal(sni_engine_tick(rig.engine, SENNIT_NEVER - 1, true), SENNIT_OK);
    expect_pings(&rig, 0);
    test_rig_close(&rig);
}

static void
no_ping_goes_before_our_ready(void **state)
{
    test_rig_opts opts = opts_of(SENNIT_PUSH);
    test_rig rig;

    (void)state;
    opts.admits = true;
    test_rig_meet(&rig, &opts, 1);
    rig.now += INTERVAL;
    assert_int_equal(tick(&rig), SENNIT_OK);
    expect_pings(&rig, 0);
    assert_int_equal(sni_engine_admit(rig.engine), SENNIT_OK);
    test_rig_write_out(&rig);
    test_rig_forget(&rig);
    rig.now += INTERVAL;
    assert_int_equal(tick(&rig), SENNIT_OK);
    expect_pings(&rig, 1);
    test_rig_close(&rig);
}

/* A peer that reads nothing finds one PING when it reads again. */
static void
pings_do_not_pile_up_behind_a_peer_that_reads_nothing(void **state)
{
    test_rig rig;
    size_t live;

    (void)state;
    open_rig(&rig);
    rig.now += INTERVAL;
    assert_int_equal(tick(&rig), SENNIT_OK);
    live = rig.alloc->live_bytes;
    for (int i = 0; i < 1000; i++) {
        rig.now += INTERVAL;
        assert_int_equal(sni_engine_tick(rig.engine, rig.now, i % 2 == 0), SENNIT_OK);
        assert_int_equal(sni_engine_deadline(rig.engine, false), rig.now + INTERVAL / 2);
    }
    assert_int_equal(rig.alloc->live_bytes, live);
    expect_pings(&rig, 1);
    rig.now += INTERVAL;
    assert_int_equal(tick(&rig), SENNIT_OK);
    expect_pings(&rig, 2);
    test_rig_close(&rig);
}

/* Part of it is out: it still waits, and so does its timeout. */
static void
a_ping_that_is_half_written_still_waits(void **state)
{
    (void)state;
    for (size_t written = 0; written <= sizeof ping; written++) {
        test_rig rig;

        open_rig(&rig);
        rig.now += INTERVAL;
        assert_int_equal(tick(&rig), SENNIT_OK);
        if (written > 0)
            assert_int_equal(test_rig_take_output(&rig, written), written);
        if ((sni_engine_deadline(rig.engine, true) == 0) != (written == sizeof ping))
            fail_msg("%zu octets of the PING are written", written);
        rig.now += INTERVAL;
        assert_int_equal(tick(&rig), SENNIT_OK);
        expect_pings(&rig, written == sizeof ping ? 2 : 1);
        test_rig_close(&rig);
    }
}

static void
a_ping_goes_before_data_and_between_frames(void **state)
{
    test_rig rig;

    (void)state;
    open_rig(&rig);
    assert_int_equal(test_rig_send(&rig, body, 5000, false), SENNIT_OK);
    assert_int_equal(test_rig_send(&rig, body, 6000, false), SENNIT_OK);
    assert_int_equal(test_rig_take_output(&rig, 1), 1);
    rig.now += INTERVAL;
    assert_int_equal(tick(&rig), SENNIT_OK);
    while (test_rig_take_output(&rig, 100) > 0)
        continue;
    assert_int_equal(rig.output_size, 5009 + sizeof ping + 6009);
    assert_memory_equal(rig.output + 5009, ping, sizeof ping);
    test_rig_close(&rig);
}

/* ---- timeouts --------------------------------------------------------- */

static void
silence_ends_the_connection(void **state)
{
    test_rig rig;
    sennit_time over;

    (void)state;
    open_rig(&rig);
    over = ping_now(&rig);
    rig.now = over - 1;
    assert_int_equal(tick(&rig), SENNIT_OK);
    rig.now = over;
    assert_int_equal(tick(&rig), SENNIT_ETIMEDOUT);
    assert_string_equal(test_rig_reason(&rig), SILENT);
    assert_int_equal(sni_engine_deadline(rig.engine, true), SENNIT_NEVER);
    test_rig_close(&rig);
}

/* However long it took to write it. */
static void
the_timeout_runs_from_when_the_ping_is_written(void **state)
{
    test_rig rig;

    (void)state;
    open_rig(&rig);
    rig.now += INTERVAL;
    assert_int_equal(tick(&rig), SENNIT_OK);
    rig.now += 100 * TIMEOUT;
    assert_int_equal(tick(&rig), SENNIT_OK);
    test_rig_write_out(&rig);
    assert_int_equal(sni_engine_deadline(rig.engine, true), 0);
    assert_int_equal(tick(&rig), SENNIT_OK);
    rig.now += TIMEOUT - 1;
    assert_int_equal(tick(&rig), SENNIT_OK);
    rig.now += 1;
    assert_int_equal(tick(&rig), SENNIT_ETIMEDOUT);
    test_rig_close(&rig);
}

/* Later PINGs do not give it more time. */
static void
the_timeout_of_the_first_unanswered_ping_counts(void **state)
{
    test_rig rig;
    sennit_time over;

    (void)state;
    open_rig(&rig);
    over = ping_now(&rig);
    (void)ping_now(&rig);
    rig.now = over;
    assert_int_equal(tick(&rig), SENNIT_ETIMEDOUT);
    test_rig_close(&rig);
}

static const struct life_row {
    const char *name;
    const char *octets;
    size_t size;
} lives[] = {
    { "a PONG", "\4\5\4PONG", 7 },
    { "a message", "\0\1x", 3 },
    { "half a head", "\0", 1 },
    { "the beginning of a large frame", "\2\0\0\0\0\0\20\0\0abc", 12 },
    { "a PING without a time to live", "\4\7\4PING\0\0", 9 },
    { "a command nobody knows", "\4\2\1X", 4 },
};

static void
check_life(void **state)
{
    const struct life_row *row = *state;
    test_rig rig;
    sennit_time over;

    open_rig(&rig);
    over = ping_now(&rig);
    rig.now = over - 1;
    hear(&rig, row->octets, row->size);
    rig.now = over;
    assert_int_equal(tick(&rig), SENNIT_OK);
    /* Nothing is due but another PING. */
    assert_int_equal(sni_engine_deadline(rig.engine, true), over + INTERVAL);
    test_rig_close(&rig);
}

/* D10: one large frame at an octet a time, each just in time. */
static void
a_long_transfer_is_life_at_every_octet(void **state)
{
    static const char head[] = "\2\0\0\0\0\0\0\1\0";
    test_rig rig;

    (void)state;
    open_rig(&rig);
    hear(&rig, head, 9);
    for (int i = 0; i < 256; i++) {
        sennit_time over = ping_now(&rig);

        rig.now = over - 1;
        hear(&rig, "x", 1);
    }
    test_rig_take_events(&rig);
    assert_int_equal(rig.msgs_received, 1);
    assert_string_equal(test_rig_reason(&rig), "");
    test_rig_close(&rig);
}

static void
without_a_timeout_silence_may_last(void **state)
{
    test_rig_opts opts = opts_of(SENNIT_PUSH);
    test_rig rig;

    (void)state;
    opts.heartbeat_timeout = 0;
    test_rig_meet(&rig, &opts, 1);
    for (size_t i = 1; i <= 100; i++) {
        (void)ping_now(&rig);
        assert_int_equal(rig.output_size, i * sizeof ping);
    }
    test_rig_close(&rig);
}

/* ---- not hearing ------------------------------------------------------ */

/* D11: paused by back-pressure, however long; then the peer has its whole time. */
static void
silence_does_not_count_while_we_do_not_hear(void **state)
{
    test_rig rig;

    (void)state;
    open_rig(&rig);
    (void)ping_now(&rig);
    for (int i = 0; i < 100; i++) {
        rig.now += INTERVAL;
        assert_int_equal(sni_engine_tick(rig.engine, rig.now, false), SENNIT_OK);
    }
    assert_int_equal(sni_engine_deadline(rig.engine, true), 0);
    assert_int_equal(tick(&rig), SENNIT_OK);
    rig.now += TIMEOUT - 1;
    assert_int_equal(tick(&rig), SENNIT_OK);
    rig.now += 1;
    assert_int_equal(tick(&rig), SENNIT_ETIMEDOUT);
    test_rig_close(&rig);
}

/* No PONG of ours says that we live, so one of our PINGs has to, within the interval of
 * a peer that has the same. */
static void
pings_are_due_twice_as_often_while_we_do_not_hear(void **state)
{
    test_rig rig;

    (void)state;
    open_rig(&rig);
    (void)ping_now(&rig);
    test_rig_forget(&rig);
    assert_int_equal(sni_engine_deadline(rig.engine, false), rig.now + INTERVAL / 2);
    rig.now += INTERVAL / 2 - 1;
    assert_int_equal(sni_engine_tick(rig.engine, rig.now, false), SENNIT_OK);
    expect_pings(&rig, 0);
    for (size_t i = 1; i <= 5; i++) {
        rig.now += i == 1 ? 1 : INTERVAL / 2;
        assert_int_equal(sni_engine_tick(rig.engine, rig.now, false), SENNIT_OK);
        expect_pings(&rig, i);
    }
    /* And as before when it hears again. */
    assert_int_equal(sni_engine_tick(rig.engine, rig.now, true), SENNIT_OK);
    rig.now += INTERVAL - 1;
    assert_int_equal(sni_engine_tick(rig.engine, rig.now, true), SENNIT_OK);
    expect_pings(&rig, 5);
    test_rig_close(&rig);
}

/* Also when only the question for the deadline told that we did not. */
static void
a_pause_between_two_ticks_is_noticed(void **state)
{
    test_rig rig;
    sennit_time over;

    (void)state;
    open_rig(&rig);
    over = ping_now(&rig);
    (void)sni_engine_deadline(rig.engine, false);
    rig.now = over + 5;
    assert_int_equal(tick(&rig), SENNIT_OK);
    rig.now += TIMEOUT;
    assert_int_equal(tick(&rig), SENNIT_ETIMEDOUT);
    test_rig_close(&rig);
}

static void
the_peers_time_to_live_begins_anew_too(void **state)
{
    test_rig_opts opts = opts_of(SENNIT_PUSH);
    test_rig rig;

    (void)state;
    opts.heartbeat_interval = 0;
    test_rig_meet(&rig, &opts, 1);
    hear(&rig, "\4\7\4PING\0\5", 9);
    assert_int_equal(sni_engine_deadline(rig.engine, true), rig.now + 500 * MS);
    assert_int_equal(sni_engine_deadline(rig.engine, false), SENNIT_NEVER);
    rig.now += 5000 * MS;
    assert_int_equal(sni_engine_tick(rig.engine, rig.now, false), SENNIT_OK);
    assert_int_equal(tick(&rig), SENNIT_OK);
    assert_int_equal(sni_engine_deadline(rig.engine, true), rig.now + 500 * MS);
    rig.now += 500 * MS;
    assert_int_equal(tick(&rig), SENNIT_ETIMEDOUT);
    assert_string_equal(test_rig_reason(&rig),
                        "nothing received within the peer's PING TTL");
    test_rig_close(&rig);
}

/* ---- extremes --------------------------------------------------------- */

/* After the last word there is nothing to answer with: neither a flood of PINGs nor
 * silence is the peer's fault then. */
static void
what_writes_no_more_answers_nothing_and_asks_nothing(void **state)
{
    test_rig rig;

    (void)state;
    open_rig(&rig);
    sni_engine_mute(rig.engine);
    assert_true(sni_engine_deadline(rig.engine, true) == SENNIT_NEVER);
    for (int i = 0; i < 1000; i++)
        hear(&rig, ping, sizeof ping);
    test_rig_write_out(&rig);
    assert_int_equal(rig.output_size, 0);
    assert_true(sni_engine_deadline(rig.engine, true) == SENNIT_NEVER);
    test_rig_close(&rig);
}

/* What 16 and 32 bits of milliseconds cannot hold. */
static void
long_times_are_not_short_ones(void **state)
{
    const sennit_time days = UINT64_C(86400) * 1000u * MS;
    test_rig_opts opts = opts_of(SENNIT_PUSH);
    test_rig rig;

    (void)state;
    opts.heartbeat_interval = 60 * days;
    opts.heartbeat_timeout = SENNIT_NEVER - 1;
    test_rig_meet(&rig, &opts, 1);
    hear(&rig, "\4\7\4PING\xff\xff", 9);
    assert_int_equal(sni_engine_deadline(rig.engine, true), rig.now + 6553500 * MS);
    hear(&rig, "\0\0", 2);
    assert_int_equal(sni_engine_deadline(rig.engine, true), rig.now + 60 * days);
    test_rig_write_out(&rig);
    test_rig_forget(&rig);
    rig.now += 60 * days;
    assert_int_equal(tick(&rig), SENNIT_OK);
    expect_pings(&rig, 1);
    assert_int_equal(tick(&rig), SENNIT_OK);
    assert_int_equal(sni_engine_deadline(rig.engine, true), rig.now + 60 * days);
    test_rig_close(&rig);
}

/* ---- memory ----------------------------------------------------------- */

/* Without memory a PING is left out, and nothing is lost by it. */
static void
heartbeats(test_alloc *alloc, void *arg)
{
    test_rig_opts opts = opts_of(SENNIT_PUSH);
    test_wire w = { NULL, 0, 0 };
    test_rig rig;

    (void)arg;
    test_wire_handshake(&w, SENNIT_PULL, 1);
    if (test_rig_init(&rig, alloc, &opts) &&
        test_rig_feed(&rig, sni_bytes(w.data, w.size), TEST_FEED_BLOCK) == SENNIT_OK) {
        uint64_t failed = alloc->failed;

        test_rig_write_out(&rig);
        test_rig_forget(&rig);
        for (int i = 0; i < 3; i++) {
            rig.now += INTERVAL;
            assert_int_equal(tick(&rig), SENNIT_OK);
            test_rig_write_out(&rig);
        }
        assert_int_equal(rig.output_size, (alloc->failed > failed ? 2 : 3) * sizeof ping);
    } else {
        assert_true(alloc->failed > 0);
    }
    free(w.data);
    test_rig_fini(&rig);
}

static void
a_ping_without_memory_is_left_out(void **state)
{
    (void)state;
    assert_true(test_alloc_every_failure(heartbeats, NULL) > 8);
}

int
main(void)
{
    static const struct CMUnitTest fixed[] = {
        cmocka_unit_test(the_first_ping_is_due_an_interval_after_ready),
        cmocka_unit_test(the_next_ping_is_due_an_interval_after_the_last_even_unanswered),
        cmocka_unit_test(only_peers_of_3_1_are_pinged),
        cmocka_unit_test(nothing_is_pinged_without_an_interval),
        cmocka_unit_test(no_ping_goes_before_our_ready),
        cmocka_unit_test(pings_do_not_pile_up_behind_a_peer_that_reads_nothing),
        cmocka_unit_test(a_ping_that_is_half_written_still_waits),
        cmocka_unit_test(a_ping_goes_before_data_and_between_frames),
        cmocka_unit_test(silence_ends_the_connection),
        cmocka_unit_test(the_timeout_runs_from_when_the_ping_is_written),
        cmocka_unit_test(the_timeout_of_the_first_unanswered_ping_counts),
        cmocka_unit_test(a_long_transfer_is_life_at_every_octet),
        cmocka_unit_test(without_a_timeout_silence_may_last),
        cmocka_unit_test(silence_does_not_count_while_we_do_not_hear),
        cmocka_unit_test(pings_are_due_twice_as_often_while_we_do_not_hear),
        cmocka_unit_test(a_pause_between_two_ticks_is_noticed),
        cmocka_unit_test(the_peers_time_to_live_begins_anew_too),
        cmocka_unit_test(what_writes_no_more_answers_nothing_and_asks_nothing),
        cmocka_unit_test(long_times_are_not_short_ones),
        cmocka_unit_test(a_ping_without_memory_is_left_out),
    };
    static test_suite suite;

    TEST_SUITE_ROWS(&suite, "a sign of life is ", lives, check_life);
    TEST_SUITE_ADD(&suite, fixed);
    return test_suite_run(&suite);
}
