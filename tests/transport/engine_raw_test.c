/* SPDX-License-Identifier: MIT */
/* A connection without ZMTP, as STREAM has it: bytes in, bytes out. */
#include "sennit_test.h"

#include "base/limits.h"
#include "rig.h"

static uint8_t body[512 * 1024];

static const test_wire nothing = { NULL, 0, 0 };

static test_rig_opts
raw_opts(void)
{
    test_rig_opts opts = TEST_RIG_DEFAULT(SENNIT_STREAM);

    opts.raw = true;
    opts.heartbeat_interval = 1;
    opts.heartbeat_timeout = 1;
    opts.handshake_timeout = 1;
    return opts;
}

static void
open_raw(test_rig *rig)
{
    test_rig_opts opts = raw_opts();

    test_rig_open_traffic(rig, &opts, &nothing);
}

static void
it_is_ready_at_once_and_writes_nothing_of_its_own(void **state)
{
    test_rig_opts opts = raw_opts();
    test_rig rig;
    sni_engine_peer peer;

    (void)state;
    test_rig_open(&rig, &opts);
    assert_true(sni_engine_in_traffic(rig.engine));
    test_rig_take_events(&rig);
    assert_string_equal(rig.events, "READY -; ");
    assert_int_equal(sni_engine_admit(rig.engine), SENNIT_OK);
    test_rig_write_out(&rig);
    assert_int_equal(rig.output_size, 0);
    assert_false(sni_engine_control_waiting(rig.engine));
    peer = sni_engine_peer_of(rig.engine);
    assert_int_equal(peer.type, -1);
    assert_int_equal(peer.major, 0);
    assert_int_equal(peer.minor, 0);
    test_rig_close(&rig);
}

static void
it_has_no_deadlines(void **state)
{
    test_rig rig;

    (void)state;
    open_raw(&rig);
    /* What would be a PING with a time to live. */
    assert_int_equal(test_rig_feed(&rig, sni_bytes("\4\7\4PING\0\1", 9), TEST_FEED_COPY),
                     SENNIT_OK);
    assert_int_equal(sni_engine_deadline(rig.engine, true), SENNIT_NEVER);
    assert_int_equal(sni_engine_tick(rig.engine, SENNIT_NEVER - 1, true), SENNIT_OK);
    test_rig_write_out(&rig);
    assert_int_equal(rig.output_size, 0);
    test_rig_close(&rig);
}

static void
what_arrived_is_one_message_of_one_frame(void **state)
{
    test_rig rig;

    (void)state;
    open_raw(&rig);
    assert_int_equal(sni_engine_unread(rig.engine), 0);
    (void)test_rig_feed(&rig, sni_bytes("GET ", 4), TEST_FEED_SINK);
    test_rig_take_events(&rig);
    (void)test_rig_feed(&rig, sni_bytes("/ H", 3), TEST_FEED_SINK);
    assert_int_equal(sni_engine_unread(rig.engine), 1);
    (void)test_rig_feed(&rig, sni_bytes("TTP", 3), TEST_FEED_SINK);
    assert_int_equal(sni_engine_unread(rig.engine), 1);
    assert_int_equal(sni_engine_unread_bytes(rig.engine), 6);
    test_rig_take_events(&rig);
    assert_string_equal(rig.events, "MSG 47455420; MSG 2f2048545450; ");
    assert_int_equal(sni_engine_unread(rig.engine), 0);
    assert_int_equal(sni_engine_unread_bytes(rig.engine), 0);
    test_rig_close(&rig);
}

/* However it was cut, and with any size. */
static void
no_byte_is_lost_or_moved(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        test_rig rig;
        test_rng rng = { seed };
        size_t fed = 0;
        size_t taken = 0;

        open_raw(&rig);
        while (taken < sizeof body) {
            sni_engine_event event;
            size_t size = 1 + test_rng_below(&rng, 40000);

            if (size > sizeof body - fed)
                size = sizeof body - fed;
            if (size > 0)
                assert_int_equal(test_rig_feed(&rig, sni_bytes(body + fed, size),
                                               (test_feed)test_rng_below(&rng, 3)),
                                 SENNIT_OK);
            fed += size;
            while (test_rng_chance(&rng, 60) && sni_engine_next(rig.engine, &event)) {
                sennit_msg *msg = sni_msg_public(&event.msg);
                sennit_bytes bytes = sennit_msg_bytes(msg);

                assert_int_equal(event.kind, SNI_ENGINE_MESSAGE);
                assert_false(sennit_msg_more(msg));
                assert_true(bytes.size > 0);
                assert_memory_equal(bytes.data, body + taken, bytes.size);
                taken += bytes.size;
                sennit_msg_fini(msg);
            }
        }
        assert_int_equal(taken, sizeof body);
        test_rig_close(&rig);
    }
}

static void
a_frame_limit_cuts_what_arrived(void **state)
{
    test_rig_opts opts = raw_opts();
    test_rig rig;

    (void)state;
    opts.frame_max_bytes = 4;
    test_rig_open_traffic(&rig, &opts, &nothing);
    (void)test_rig_feed(&rig, sni_bytes("abcdefghi", 9), TEST_FEED_BLOCK);
    test_rig_take_events(&rig);
    assert_string_equal(rig.events, "MSG 61626364; MSG 65666768; MSG 69; ");
    test_rig_close(&rig);
}

/* A session receives while there is room: no more than a window waits. */
static void
no_more_than_a_window_waits(void **state)
{
    test_rig rig;
    size_t fed;

    (void)state;
    open_raw(&rig);
    (void)test_rig_feed(&rig, sni_bytes(body, 1000), TEST_FEED_BLOCK);
    for (fed = 1000; sni_engine_spare(rig.engine) > 0;) {
        sni_engine_room room;
        size_t size;

        assert_true(sni_engine_sink(rig.engine, &room));
        assert_true(room.size > 0);
        size = room.size < 3000 ? room.size : 3000;
        memcpy(room.data, body + fed, size);
        assert_int_equal(
            sni_engine_feed(rig.engine, sni_bytes(room.data, size), room.home, rig.now),
            SENNIT_OK);
        fed += size;
        assert_true(fed <= SNI_RECV_BYTES);
    }
    assert_int_equal(fed, SNI_RECV_BYTES);
    assert_int_equal(sni_engine_unread_bytes(rig.engine), SNI_RECV_BYTES);
    {
        sni_engine_room room;

        assert_false(sni_engine_sink(rig.engine, &room));
    }
    test_rig_take_events(&rig);
    assert_int_equal(rig.msgs_received, 1);
    test_rig_close(&rig);
}

static void
bodies_go_out_as_they_are(void **state)
{
    test_rig rig;

    (void)state;
    open_raw(&rig);
    assert_int_equal(test_rig_send(&rig, body, 10, false), SENNIT_OK);
    assert_int_equal(test_rig_send(&rig, body + 10, 5000, false), SENNIT_OK);
    assert_int_equal(test_rig_send(&rig, body + 5010, 300, false), SENNIT_OK);
    while (test_rig_take_output(&rig, 777) > 0)
        continue;
    assert_int_equal(rig.output_size, 5310);
    assert_memory_equal(rig.output, body, 5310);
    assert_int_equal(rig.msgs_ended, 3);
    test_rig_close(&rig);
}

static void
the_end_of_the_stream_ends_it_and_loses_nothing(void **state)
{
    test_rig rig;

    (void)state;
    open_raw(&rig);
    (void)test_rig_feed(&rig, sni_bytes("last", 4), TEST_FEED_COPY);
    assert_int_equal(test_rig_feed(&rig, sni_bytes(NULL, 0), TEST_FEED_COPY),
                     SENNIT_ECONNRESET);
    assert_string_equal(test_rig_reason(&rig), "closed by peer");
    assert_int_equal(test_rig_send(&rig, "late", 4, false), SENNIT_OK);
    assert_int_equal(test_rig_take_output(&rig, SIZE_MAX), 0);
    test_rig_take_events(&rig);
    assert_string_equal(rig.events, "MSG 6c617374; ");
    test_rig_close(&rig);
}

static void
stream(test_alloc *alloc, void *arg)
{
    test_rig_opts opts = raw_opts();
    test_rig rig;

    (void)arg;
    if (test_rig_init(&rig, alloc, &opts)) {
        for (size_t i = 0; i < 4; i++) {
            uint64_t failed = alloc->failed;

            if (test_rig_feed(&rig, sni_bytes(body, 100 + i * 5000), TEST_FEED_BLOCK) !=
                SENNIT_OK)
                assert_true(alloc->failed > 0);
            if (test_rig_send(&rig, body, 100 + i * 5000, false) != SENNIT_OK)
                assert_true(alloc->failed > failed);
            test_rig_take_events(&rig);
            test_rig_write_out(&rig);
        }
        /* A body that found no memory came later. */
        test_rig_take_events(&rig);
        assert_int_equal(sni_engine_unread_bytes(rig.engine), 0);
    } else {
        assert_true(alloc->failed > 0);
    }
    test_rig_fini(&rig);
}

static void
a_stream_survives_every_failed_allocation(void **state)
{
    (void)state;
    assert_true(test_alloc_every_failure(stream, NULL) > 8);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_ready_at_once_and_writes_nothing_of_its_own),
        cmocka_unit_test(it_has_no_deadlines),
        cmocka_unit_test(what_arrived_is_one_message_of_one_frame),
        cmocka_unit_test(no_byte_is_lost_or_moved),
        cmocka_unit_test(a_frame_limit_cuts_what_arrived),
        cmocka_unit_test(no_more_than_a_window_waits),
        cmocka_unit_test(bodies_go_out_as_they_are),
        cmocka_unit_test(the_end_of_the_stream_ends_it_and_loses_nothing),
        cmocka_unit_test(a_stream_survives_every_failed_allocation),
    };

    for (size_t i = 0; i < sizeof body; i++)
        body[i] = (uint8_t)(i * 13 + i / 255);
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
