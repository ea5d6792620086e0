/* SPDX-License-Identifier: MIT */
/* Two engines talking to each other over a wire that cuts as it likes, on a clock
 * that is a variable; and one engine against what no honest peer would send. */
#include "sennit_test.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "rig.h"
#include "suite.h"
#include "wire/command.h"
#include "wire/greeting.h"
#include "wire/ready.h"

#define MS UINT64_C(1000000)

static uint8_t body[1024 * 1024];

/* ---- handshakes ----------------------------------------------------- */

typedef struct type_pair {
    sennit_sock_type a;
    sennit_sock_type b;
} type_pair;

static void
check_type_pair(void **state)
{
    const type_pair *pair = *state;
    const char *name = sennit_sock_type_name(pair->b);
    bool fits = sni_socktype_accepts(pair->a, sni_bytes(name, strlen(name)));

    for (uint64_t seed = 1; seed <= 10; seed++) {
        test_rig_opts opts_a = TEST_RIG_DEFAULT(pair->a);
        test_rig_opts opts_b = TEST_RIG_DEFAULT(pair->b);
        test_rng rng = { seed };
        test_rig a;
        test_rig b;
        char expected[64];

        opts_a.identity = "one";
        test_rig_open(&a, &opts_a);
        test_rig_open(&b, &opts_b);
        test_rig_exchange(&a, &b, 1 + seed * 8, &rng);
        assert_int_equal(sni_engine_in_traffic(a.engine), fits);
        assert_int_equal(sni_engine_in_traffic(b.engine), fits);
        snprintf(expected, sizeof expected, "READY %s; ",
                 sni_socktype_has_identity(pair->a) ? "6f6e65" : "-");
        assert_string_equal(a.events, fits ? "READY -; " : "");
        assert_string_equal(b.events, fits ? expected : "");
        assert_string_equal(test_rig_reason(&a),
                            fits ? "" : "socket types do not go together");
        test_rig_close(&a);
        test_rig_close(&b);
    }
}

static void
nothing_is_sent_before_the_peers_ready(void **state)
{
    test_rig_opts opts = TEST_RIG_DEFAULT(SENNIT_DEALER);
    test_rig rig;
    test_wire w = { NULL, 0, 0 };
    size_t handshake;

    (void)state;
    test_rig_open(&rig, &opts);
    assert_int_equal(test_rig_send(&rig, "early", 5, false), SENNIT_OK);
    test_wire_handshake(&w, SENNIT_ROUTER, 1);
    for (size_t i = 0; i + 1 < w.size; i++) {
        assert_int_equal(test_rig_feed(&rig, sni_bytes(w.data + i, 1), TEST_FEED_COPY),
                         SENNIT_OK);
        test_rig_write_out(&rig);
    }
    handshake = rig.output_size;
    assert_int_equal(rig.msgs_ended, 0);
    assert_int_equal(
        test_rig_feed(&rig, sni_bytes(w.data + w.size - 1, 1), TEST_FEED_COPY),
        SENNIT_OK);
    assert_int_equal(test_rig_take_output(&rig, SIZE_MAX), 7);
    assert_memory_equal(rig.output + handshake, "\0\5early", 7);
    assert_int_equal(rig.msgs_ended, 1);
    free(w.data);
    test_rig_close(&rig);
}

/* A listener may want to look at the peer first (is its identity taken?). */
static void
ready_may_wait_until_the_peer_is_admitted(void **state)
{
    test_rig_opts opts = TEST_RIG_DEFAULT(SENNIT_ROUTER);
    uint8_t ready[SNI_READY_MAX];
    size_t ready_size = sni_ready_write(ready, SENNIT_ROUTER, sni_bytes(NULL, 0));
    test_rig rig;
    test_wire w = { NULL, 0, 0 };

    (void)state;
    opts.admits = true;
    test_rig_open(&rig, &opts);
    assert_int_equal(test_rig_send(&rig, "later", 5, false), SENNIT_OK);
    sni_engine_set_outq(rig.engine, NULL);
    test_wire_handshake(&w, SENNIT_DEALER, 1);
    /* Who does not wait for READY is not answered before it either. */
    test_wire_command(&w, "PING", "\0\0", 2);
    test_rig_hear(&rig, &w, TEST_FEED_BLOCK);
    test_rig_write_out(&rig);
    assert_int_equal(rig.output_size, SNI_GREETING_SIZE);
    test_rig_take_events(&rig);
    assert_string_equal(rig.events, "READY -; ");
    test_alloc_fail_at(rig.alloc, 1);
    assert_int_equal(sni_engine_admit(rig.engine), SENNIT_ENOMEM);
    assert_int_equal(sni_engine_admit(rig.engine), SENNIT_OK);
    assert_int_equal(sni_engine_admit(rig.engine), SENNIT_OK);
    sni_engine_set_outq(rig.engine, &rig.outq);
    test_rig_write_out(&rig);
    assert_int_equal(rig.output_size, SNI_GREETING_SIZE + ready_size + 7);
    assert_memory_equal(rig.output + SNI_GREETING_SIZE, ready, ready_size);
    free(w.data);
    test_rig_close(&rig);
}

static void
the_handshake_must_be_done_in_time(void **state)
{
    test_rig_opts opts = TEST_RIG_DEFAULT(SENNIT_DEALER);
    test_wire w = { NULL, 0, 0 };

    (void)state;
    opts.handshake_timeout = 250 * MS;
    test_wire_handshake(&w, SENNIT_ROUTER, 1);
    for (size_t size = 0; size <= w.size; size++) {
        test_rig rig;
        sennit_time opened;

        test_rig_open(&rig, &opts);
        opened = rig.now;
        assert_int_equal(sni_engine_deadline(rig.engine, true), opened + 250 * MS);
        if (size > 0)
            (void)test_rig_feed(&rig, sni_bytes(w.data, size), TEST_FEED_COPY);
        rig.now = opened + 250 * MS - 1;
        assert_int_equal(sni_engine_tick(rig.engine, rig.now, true), SENNIT_OK);
        rig.now++;
        if (size < w.size) {
            assert_int_equal(sni_engine_tick(rig.engine, rig.now, true),
                             SENNIT_ETIMEDOUT);
            assert_string_equal(test_rig_reason(&rig), "handshake not finished in time");
        } else {
            assert_int_equal(sni_engine_tick(rig.engine, rig.now, true), SENNIT_OK);
        }
        assert_int_equal(sni_engine_deadline(rig.engine, true), SENNIT_NEVER);
        test_rig_close(&rig);
    }
    free(w.data);
}

static void
without_a_handshake_timeout_there_is_no_deadline(void **state)
{
    test_rig_opts opts = TEST_RIG_DEFAULT(SENNIT_DEALER);
    test_rig rig;

    (void)state;
    opts.handshake_timeout = 0;
    test_rig_open(&rig, &opts);
    assert_int_equal(sni_engine_deadline(rig.engine, true), SENNIT_NEVER);
    assert_int_equal(sni_engine_tick(rig.engine, SENNIT_NEVER - 1, true), SENNIT_OK);
    test_rig_close(&rig);
}

/* ---- messages ------------------------------------------------------- */

static const struct exchange_row {
    const char *name;
    size_t sizes[8]; /* frames of one message */
    size_t count;
    size_t times;
} exchanges[] = {
    { "an empty frame", { 0 }, 1, 3 },
    { "bodies that live in the message", { 55 }, 1, 50 },
    { "bodies that just do not", { 56 }, 1, 50 },
    { "the largest short frame", { 255 }, 1, 5 },
    { "the smallest long frame", { 256 }, 1, 5 },
    { "the largest body that is copied", { 4095 }, 1, 5 },
    { "the smallest body that is referenced", { 4096 }, 1, 5 },
    { "a body larger than a window", { 200000 }, 1, 2 },
    { "a mebibyte", { 1024 * 1024 }, 1, 2 },
    { "empty frames in a multipart message", { 0, 1, 0, 0 }, 4, 5 },
    { "small and large frames mixed", { 5, 5000, 0, 300, 70000, 1 }, 6, 3 },
    { "a long run of small messages", { 20 }, 1, 3000 },
};

static void
check_exchange(void **state)
{
    const struct exchange_row *row = *state;

    for (uint64_t seed = 1; seed <= 4; seed++) {
        test_rig_opts opts_a = TEST_RIG_DEFAULT(SENNIT_DEALER);
        test_rig_opts opts_b = TEST_RIG_DEFAULT(SENNIT_ROUTER);
        test_rng rng = { seed };
        test_rig a;
        test_rig b;
        test_rig expected = { 0 };
        static const size_t pieces[] = { 0, 100000, 3000, 200, 70000 };

        test_rig_open(&a, &opts_a);
        test_rig_open(&b, &opts_b);
        test_rig_exchange(&a, &b, 64, &rng);
        b.events_size = 0;
        b.events[0] = '\0';
        for (size_t i = 0; i < row->times; i++) {
            for (size_t f = 0; f < row->count; f++) {
                bool more = f + 1 < row->count;

                assert_int_equal(
                    test_rig_send(
                        &a, body + i,
                        row->sizes[f] - (i % 2 && row->sizes[f] > 300000 ? 2 : 0), more),
                    SENNIT_OK);
                test_rig_note_frame(
                    &expected,
                    sni_bytes(body + i,
                              row->sizes[f] - (i % 2 && row->sizes[f] > 300000 ? 2 : 0)),
                    more);
            }
        }
        test_rig_exchange(&a, &b, pieces[seed], &rng);
        assert_string_equal(b.events, expected.events);
        assert_int_equal(a.msgs_ended, row->times);
        assert_int_equal(b.msgs_received, row->times);
        assert_string_equal(test_rig_reason(&b), "");
        assert_int_equal(sni_engine_unread(b.engine), 0);
        free(expected.events);
        test_rig_close(&a);
        test_rig_close(&b);
    }
}

static void
a_queue_may_come_after_the_handshake(void **state)
{
    sni_outq *queue;
    test_rig rig;

    (void)state;
    test_rig_meet_as(&rig, SENNIT_DEALER);
    queue = &rig.outq;
    sni_engine_set_outq(rig.engine, NULL);
    assert_int_equal(test_rig_send(&rig, "late", 4, false), SENNIT_OK);
    assert_int_equal(test_rig_take_output(&rig, SIZE_MAX), 0);
    sni_engine_set_outq(rig.engine, queue);
    assert_int_equal(test_rig_take_output(&rig, SIZE_MAX), 6);
    test_rig_close(&rig);
}

static void
messages_wait_in_the_window_until_they_are_asked_for(void **state)
{
    test_rig rig;
    test_wire w = { NULL, 0, 0 };

    (void)state;
    test_rig_meet_as(&rig, SENNIT_PULL);
    test_wire_frame(&w, "a", 1, true);
    test_wire_frame(&w, "b", 1, false);
    test_wire_frame(&w, "c", 1, false);
    test_wire_frame(&w, "d", 1, true);
    test_rig_hear(&rig, &w, TEST_FEED_COPY);
    assert_int_equal(sni_engine_unread(rig.engine), 2);
    test_rig_take_events(&rig);
    assert_string_equal(rig.events, "MSG 61+; MSG 62; MSG 63; ");
    assert_int_equal(sni_engine_unread(rig.engine), 0);
    free(w.data);
    test_rig_close(&rig);
}

/* ---- limits --------------------------------------------------------- */

static const struct limit_row {
    const char *name;
    uint64_t frame_max;
    uint64_t message_max;
    uint32_t parts_max;
    size_t sizes[6]; /* frames of one message */
    size_t count;
    const char *reason; /* NULL: it is delivered */
} limits[] = {
    { "a frame as large as allowed", 100, 0, 0, { 100 }, 1, NULL },
    { "a frame one octet larger",
      100,
      0,
      0,
      { 101 },
      1,
      "frame larger than recv_frame_max_bytes" },
    { "the limit is per frame", 100, 0, 0, { 100, 100, 100 }, 3, NULL },
    { "a message as large as allowed", 0, 100, 0, { 50, 0, 50 }, 3, NULL },
    { "a message one octet larger",
      0,
      100,
      0,
      { 50, 0, 51 },
      3,
      "message larger than recv_message_max_bytes" },
    { "one frame larger than a message may be",
      0,
      100,
      0,
      { 101 },
      1,
      "message larger than recv_message_max_bytes" },
    { "as many frames as allowed", 0, 0, 3, { 1, 1, 1 }, 3, NULL },
    { "one frame more",
      0,
      0,
      3,
      { 1, 1, 1, 0 },
      4,
      "message with more frames than recv_message_max_parts" },
    { "no limits", 0, 0, 0, { 100000, 1, 1, 1 }, 4, NULL },
};

static void
check_limit(void **state)
{
    const struct limit_row *row = *state;
    test_rig_opts opts = TEST_RIG_DEFAULT(SENNIT_PULL);
    test_wire w = { NULL, 0, 0 };

    opts.frame_max_bytes = row->frame_max;
    opts.message_max_bytes = row->message_max;
    opts.message_max_parts = row->parts_max;
    /* Twice, because the counts must begin anew. */
    for (size_t i = 0; i < 2 * row->count; i++)
        test_wire_frame(&w, body, row->sizes[i % row->count], (i + 1) % row->count != 0);
    for (uint64_t seed = 0; seed < 8; seed++) {
        test_rig rig;
        test_rng rng = { seed };

        test_rig_meet(&rig, &opts, 1);
        test_rig_feed_chopped(&rig, sni_bytes(w.data, w.size), seed == 0 ? w.size : 5000,
                              &rng);
        assert_string_equal(test_rig_reason(&rig),
                            row->reason == NULL ? "" : row->reason);
        assert_int_equal(rig.msgs_received, row->reason == NULL ? 2 : 0);
        test_rig_close(&rig);
    }
    free(w.data);
}

/* A peer announces a frame of 2^62 octets and lets it drip. */
static void
a_hostile_length_costs_what_was_received(void **state)
{
    test_rig_opts opts = TEST_RIG_DEFAULT(SENNIT_PULL);

    (void)state;
    opts.frame_max_bytes = 0;
    opts.message_max_bytes = 0;
    for (int how = TEST_FEED_COPY; how <= TEST_FEED_SINK; how++) {
        test_rig rig;
        uint8_t head[SNI_FRAME_HEAD_MAX];
        size_t received = sizeof head;
        size_t idle;

        test_rig_meet(&rig, &opts, 1);
        idle = rig.alloc->live_bytes;
        rig.alloc->peak_bytes = rig.alloc->live_bytes;
        (void)sni_frame_head_write(head, false, false, UINT64_C(1) << 62);
        assert_int_equal(
            test_rig_feed(&rig, sni_bytes(head, sizeof head), (test_feed)how), SENNIT_OK);
        while (received < 4 * sizeof body) {
            size_t size = received < 100000 ? 1000 : 100000;

            assert_int_equal(test_rig_feed(&rig, sni_bytes(body, size), (test_feed)how),
                             SENNIT_OK);
            received += size;
            if (rig.alloc->peak_bytes > idle + 10 * received + 6 * SNI_RECV_BYTES)
                fail_msg("%zu octets received, %zu held", received,
                         rig.alloc->peak_bytes);
        }
        test_rig_close(&rig);
    }
}

/* Each time a window moves, what is in it is copied: that must happen seldom
 * however small the pieces, or a dripping peer costs quadratic time. */
static void
check_moves(const char *what, const test_wire *w, size_t piece, uint64_t moves_max)
{
    test_rig rig;
    test_rig_opts opts = TEST_RIG_DEFAULT(SENNIT_PULL);
    uint64_t before;

    opts.message_max_parts = 0;
    test_rig_meet(&rig, &opts, 1);
    before = rig.alloc->requests;
    for (size_t at = 0; at < w->size; at += piece) {
        size_t size = w->size - at < piece ? w->size - at : piece;

        assert_int_equal(
            test_rig_feed(&rig, sni_bytes(w->data + at, size), TEST_FEED_SINK),
            SENNIT_OK);
    }
    if (rig.alloc->requests - before > moves_max)
        fail_msg("%s, %zu octets at a time: %llu blocks for %zu octets", what, piece,
                 (unsigned long long)(rig.alloc->requests - before), w->size);
    test_rig_close(&rig);
}

static void
a_window_moves_seldom_however_its_message_drips(void **state)
{
    static const size_t frames[] = { 20, 3000, 70000 };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        test_wire w = { NULL, 0, 0 };

        while (w.size < 2 * sizeof body)
            test_wire_frame(&w, body, frames[i], true);
        check_moves("many frames", &w, 100, 30);
        check_moves("many frames", &w, 5000, 30);
        free(w.data);
    }
    {
        test_wire w = { NULL, 0, 0 };

        test_wire_frame(&w, body, sizeof body, false);
        check_moves("one frame", &w, 100, 10);
        check_moves("one frame", &w, 5000, 10);
        free(w.data);
    }
}

/* Receiving goes on behind messages that nobody has read yet, as long as there is room;
 * behind a large one there is none, because it would move with what follows. */
static void
an_unread_large_frame_has_its_block_to_itself(void **state)
{
    static const struct {
        size_t size;
        bool room;
    } rows[] = { { 1000, true }, { 60000, true }, { 140000, false }, { 260000, false } };
    test_rig_opts opts = TEST_RIG_DEFAULT(SENNIT_PULL);

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        test_rig rig;
        test_wire w = { NULL, 0, 0 };

        test_rig_meet(&rig, &opts, 1);
        test_wire_frame(&w, body, rows[i].size, false);
        assert_int_equal(test_rig_feed(&rig, sni_bytes(w.data, w.size), TEST_FEED_SINK),
                         SENNIT_OK);
        assert_int_equal(sni_engine_unread(rig.engine), 1);
        assert_int_equal(sni_engine_spare(rig.engine) >= SNI_RECV_MIN_BYTES,
                         rows[i].room);
        test_rig_take_events(&rig);
        assert_int_equal(rig.msgs_received, 1);
        test_rig_close(&rig);
        free(w.data);
    }
}

/* PINGs between the frames of one message lie in its window; a peer that never
 * finishes the message must not fill our memory with them. */
static void
commands_inside_a_message_count_towards_its_size(void **state)
{
    test_rig_opts opts = TEST_RIG_DEFAULT(SENNIT_PULL);
    test_rig rig;
    test_wire w = { NULL, 0, 0 };
    size_t idle;

    (void)state;
    opts.message_max_bytes = 100000;
    test_rig_meet(&rig, &opts, 1);
    idle = rig.alloc->live_bytes;
    test_wire_frame(&w, "begin", 5, true);
    for (int i = 0; i < 1000; i++)
        test_wire_command(&w, "PING", "\0\0abc", 5);
    for (int i = 0; i < 1000 && test_rig_reason(&rig)[0] == '\0'; i++) {
        size_t first = i == 0 ? 0 : 7;

        (void)test_rig_feed(&rig, sni_bytes(w.data + first, w.size - first),
                            TEST_FEED_SINK);
        test_rig_write_out(&rig);
    }
    assert_string_equal(test_rig_reason(&rig),
                        "message larger than recv_message_max_bytes");
    assert_true(rig.alloc->peak_bytes < idle + 2000000);
    free(w.data);
    test_rig_close(&rig);
}

/* Outside a message they cost nothing, however many. */
static void
endless_commands_between_messages_are_forgotten(void **state)
{
    test_rig rig;
    test_wire w = { NULL, 0, 0 };
    size_t idle;

    (void)state;
    test_rig_meet_as(&rig, SENNIT_PULL);
    for (int i = 0; i < 1000; i++)
        test_wire_command(&w, "PING", "\0\0abc", 5);
    for (int i = 0; i < 50; i++) {
        test_rig_hear(&rig, &w, TEST_FEED_SINK);
        test_rig_take_events(&rig);
        test_rig_write_out(&rig);
        if (i == 2)
            idle = rig.alloc->peak_bytes;
    }
    assert_int_equal(rig.alloc->peak_bytes, idle);
    free(w.data);
    test_rig_close(&rig);
}

static void
a_peer_that_pings_and_never_reads_is_closed(void **state)
{
    test_rig rig;
    test_wire w = { NULL, 0, 0 };

    (void)state;
    test_rig_meet_as(&rig, SENNIT_PULL);
    test_wire_command(&w, "PING", "\0\0abcdefgh", 10);
    for (int i = 0; i < 100000 && test_rig_reason(&rig)[0] == '\0'; i++)
        (void)test_rig_feed(&rig, sni_bytes(w.data, w.size), TEST_FEED_SINK);
    assert_string_equal(test_rig_reason(&rig),
                        "peer sends PINGs and does not read the answers");
    assert_true(rig.alloc->peak_bytes < 2000000);
    free(w.data);
    test_rig_close(&rig);
}

/* One receive may be full of PINGs: the peer has had no chance to read yet. */
static void
one_receive_full_of_pings_is_answered(void **state)
{
    test_rig rig;
    test_wire w = { NULL, 0, 0 };

    (void)state;
    test_rig_meet_as(&rig, SENNIT_PULL);
    while (w.size + 9 <= SNI_RECV_BYTES)
        test_wire_command(&w, "PING", "\0\0", 2);
    test_rig_hear(&rig, &w, TEST_FEED_BLOCK);
    test_rig_write_out(&rig);
    assert_int_equal(rig.output_size, w.size / 9 * 7);
    free(w.data);
    test_rig_close(&rig);
}

/* ---- control and data on one wire ----------------------------------- */

/* Checks that `out` is exactly the frames of `data` with one PONG at the first
 * frame boundary at or behind `written`. */
static void
check_pong_place(const test_rig *rig, const test_wire *data, size_t written)
{
    static const uint8_t pong[] = { 4, 8, 4, 'P', 'O', 'N', 'G', 'a', 'b', 'c' };
    size_t boundary = 0;

    while (boundary < written) {
        sni_frame_head head = { 0 };
        size_t used = 0;

        assert_int_equal(
            sni_frame_head_read(sni_bytes(data->data + boundary, data->size - boundary),
                                &head, &used),
            SNI_PARSE_DONE);
        boundary += used + (size_t)head.body_size;
    }
    if (rig->output_size != data->size + sizeof pong)
        fail_msg("%zu octets written before the PING: %zu sent instead of %zu", written,
                 rig->output_size, data->size + sizeof pong);
    if (memcmp(rig->output, data->data, boundary) != 0 ||
        memcmp(rig->output + boundary, pong, sizeof pong) != 0 ||
        memcmp(rig->output + boundary + sizeof pong, data->data + boundary,
               data->size - boundary) != 0)
        fail_msg("%zu octets written before the PING: not at boundary %zu", written,
                 boundary);
}

static void
send_and_expect(test_rig *rig, test_wire *w, size_t size, bool more)
{
    assert_int_equal(test_rig_send(rig, body, size, more), SENNIT_OK);
    test_wire_frame(w, body, size, more);
}

static void
a_pong_goes_between_frames_wherever_the_send_has_stopped(void **state)
{
    size_t total = 1;

    (void)state;
    for (size_t written = 0; written <= total; written++) {
        test_rig rig;
        test_wire w = { NULL, 0, 0 };
        test_wire ping = { NULL, 0, 0 };

        if (written > 200 && written + 200 < total && written % 211 != 0)
            continue;
        test_rig_meet_as(&rig, SENNIT_DEALER);
        send_and_expect(&rig, &w, 3, true);
        send_and_expect(&rig, &w, 0, true);
        send_and_expect(&rig, &w, 5000, true);
        send_and_expect(&rig, &w, 300, false);
        send_and_expect(&rig, &w, 7, false);
        total = w.size;
        if (written > 0)
            assert_int_equal(test_rig_take_output(&rig, written), written);
        test_wire_command(&ping, "PING", "\0\0abc", 5);
        test_rig_hear(&rig, &ping, TEST_FEED_COPY);
        while (test_rig_take_output(&rig, 1 + written % 13) > 0)
            continue;
        check_pong_place(&rig, &w, written);
        assert_int_equal(rig.msgs_ended, 2);
        free(w.data);
        free(ping.data);
        test_rig_close(&rig);
    }
}

/* The kernel holds views of a batch while more control and data are added. */
static void
what_is_added_while_a_batch_is_being_sent_does_not_move_it(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        test_rng rng = { seed };
        test_rig rig;
        test_rig peer = { 0 };
        test_wire ping = { NULL, 0, 0 };
        unsigned pings = 0;
        unsigned pongs = 0;
        size_t at = 0;

        test_rig_meet_as(&rig, SENNIT_DEALER);
        test_wire_command(&ping, "PING", "\0\0abc", 5);
        for (int step = 0; step < 30; step++) {
            sennit_bytes parts[SNI_SEND_PARTS];
            size_t count;
            size_t size = 0;
            size_t sent;
            bool more = test_rng_chance(&rng, 40);
            size_t body_size = test_rng_below(&rng, 2) ? test_rng_below(&rng, 100) : 4500;

            assert_int_equal(test_rig_send(&rig, body + step, body_size, more),
                             SENNIT_OK);
            test_rig_note_frame(&peer, sni_bytes(body + step, body_size), more);
            count = sni_engine_output(rig.engine, parts, SNI_SEND_PARTS);
            if (test_rng_chance(&rng, 60)) {
                test_rig_hear(&rig, &ping, TEST_FEED_COPY);
                pings++;
            }
            /* Only now are the views looked at. */
            for (size_t i = 0; i < count; i++)
                size += parts[i].size;
            sent = test_rng_below(&rng, size + 1);
            rig.output = realloc(rig.output, rig.output_size + sent + 1);
            rig.output_capacity = rig.output_size + sent + 1;
            for (size_t i = 0, left = sent; i < count && left > 0; i++) {
                size_t n = parts[i].size < left ? parts[i].size : left;

                memcpy(rig.output + rig.output_size, parts[i].data, n);
                rig.output_size += n;
                left -= n;
            }
            if (sent > 0)
                (void)sni_engine_wrote(rig.engine, sent);
        }
        test_rig_write_out(&rig);
        {
            test_rig seen = { 0 };

            while (at < rig.output_size) {
                sni_frame_head head = { 0 };
                size_t used = 0;

                assert_int_equal(
                    sni_frame_head_read(sni_bytes(rig.output + at, rig.output_size - at),
                                        &head, &used),
                    SNI_PARSE_DONE);
                if (head.command)
                    pongs++;
                else
                    test_rig_note_frame(
                        &seen, sni_bytes(rig.output + at + used, (size_t)head.body_size),
                        head.more);
                at += used + (size_t)head.body_size;
            }
            if (pings != pongs || strcmp(seen.events, peer.events) != 0)
                fail_msg("seed %llu: %u PINGs, %u PONGs, or the frames differ",
                         (unsigned long long)seed, pings, pongs);
            free(seen.events);
        }
        free(peer.events);
        free(ping.data);
        test_rig_close(&rig);
    }
}

/* ---- time to live --------------------------------------------------- */

static void
a_ping_with_a_time_to_live_arms_a_deadline(void **state)
{
    test_rig rig;
    test_wire w = { NULL, 0, 0 };
    sennit_time due;

    (void)state;
    test_rig_meet_as(&rig, SENNIT_PULL);
    assert_int_equal(sni_engine_deadline(rig.engine, true), SENNIT_NEVER);
    test_wire_command(&w, "PING", "\0\5", 2);
    rig.now += 77;
    due = rig.now + 500 * MS;
    test_rig_hear(&rig, &w, TEST_FEED_COPY);
    assert_int_equal(sni_engine_deadline(rig.engine, true), due);
    assert_int_equal(sni_engine_tick(rig.engine, due - 1, true), SENNIT_OK);
    /* Whatever comes disarms it. */
    assert_int_equal(test_rig_feed(&rig, sni_bytes("\0\0", 2), TEST_FEED_COPY),
                     SENNIT_OK);
    assert_int_equal(sni_engine_deadline(rig.engine, true), SENNIT_NEVER);
    assert_int_equal(sni_engine_tick(rig.engine, due + 1, true), SENNIT_OK);
    test_rig_hear(&rig, &w, TEST_FEED_COPY);
    assert_int_equal(sni_engine_tick(rig.engine, due, true), SENNIT_ETIMEDOUT);
    assert_string_equal(test_rig_reason(&rig),
                        "nothing received within the peer's PING TTL");
    free(w.data);
    test_rig_close(&rig);
}

/* The same octets must leave the same deadline however they were cut. */
static void
what_follows_a_ping_in_the_same_receive_disarms_it_too(void **state)
{
    static const struct {
        const char *name;
        size_t after; /* octets behind the PING */
    } rows[] = { { "nothing", 0 }, { "half a head", 1 }, { "a message", 2 } };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        for (size_t cut = 0; cut < 9 + rows[i].after; cut++) {
            test_rig rig;
            test_wire w = { NULL, 0, 0 };

            test_rig_meet_as(&rig, SENNIT_PULL);
            test_wire_command(&w, "PING", "\0\5", 2);
            test_wire_add(&w, "\0\0", rows[i].after);
            if (cut > 0)
                (void)test_rig_feed(&rig, sni_bytes(w.data, cut), TEST_FEED_COPY);
            (void)test_rig_feed(&rig, sni_bytes(w.data + cut, w.size - cut),
                                TEST_FEED_COPY);
            if ((sni_engine_deadline(rig.engine, true) == SENNIT_NEVER) !=
                (rows[i].after > 0))
                fail_msg("PING and %s, cut at %zu", rows[i].name, cut);
            free(w.data);
            test_rig_close(&rig);
        }
    }
}

/* ---- the end of the stream ------------------------------------------ */

static void
the_end_of_the_stream_is_understood_at_every_octet(void **state)
{
    test_wire w = { NULL, 0, 0 };
    size_t handshake;
    size_t ends[2];

    (void)state;
    test_wire_handshake(&w, SENNIT_PUSH, 1);
    handshake = w.size;
    test_wire_frame(&w, "first", 5, false);
    ends[0] = w.size;
    test_wire_frame(&w, "a", 1, true);
    test_wire_command(&w, "FOO", "", 0);
    test_wire_frame(&w, body, 300, false);
    ends[1] = w.size;
    for (size_t size = 0; size <= w.size; size++) {
        test_rig_opts opts = TEST_RIG_DEFAULT(SENNIT_PULL);
        test_rig rig;
        bool between = size == handshake || size == ends[0] || size == ends[1];
        const char *reason =
            size < handshake
                ? "closed by peer during the handshake: another socket type, an identity "
                  "in use or a filter, perhaps; its events say"
            : between ? "closed by peer"
                      : "closed by peer in the middle of a message";

        test_rig_open(&rig, &opts);
        if (size > 0)
            (void)test_rig_feed(&rig, sni_bytes(w.data, size), TEST_FEED_BLOCK);
        assert_int_equal(test_rig_feed(&rig, sni_bytes(NULL, 0), TEST_FEED_COPY),
                         SENNIT_ECONNRESET);
        if (strcmp(test_rig_reason(&rig), reason) != 0)
            fail_msg("after %zu octets: '%s' instead of '%s'", size,
                     test_rig_reason(&rig), reason);
        /* Whole messages that came before can still be had. */
        test_rig_take_events(&rig);
        assert_int_equal(rig.msgs_received, (size >= ends[0]) + (size >= ends[1]));
        assert_int_equal(sni_engine_deadline(rig.engine, true), SENNIT_NEVER);
        test_rig_close(&rig);
    }
    free(w.data);
}

static void
broken_is_final_and_remembers_why(void **state)
{
    test_rig rig;
    sennit_bytes parts[SNI_SEND_PARTS];
    const char *reason;

    (void)state;
    test_rig_meet_as(&rig, SENNIT_PULL);
    assert_int_equal(test_rig_feed(&rig, sni_bytes("\0\1x\x08", 4), TEST_FEED_COPY),
                     SENNIT_EPROTO);
    assert_int_equal(test_rig_feed(&rig, sni_bytes("\0\1y", 3), TEST_FEED_COPY),
                     SENNIT_EPROTO);
    assert_int_equal(test_rig_feed(&rig, sni_bytes(NULL, 0), TEST_FEED_COPY),
                     SENNIT_EPROTO);
    assert_int_equal(sni_engine_tick(rig.engine, rig.now, true), SENNIT_EPROTO);
    assert_int_equal(sni_engine_why(rig.engine, &reason), SENNIT_EPROTO);
    assert_string_equal(reason, "malformed frame head");
    assert_int_equal(test_rig_send(&rig, "z", 1, false), SENNIT_OK);
    assert_int_equal(sni_engine_output(rig.engine, parts, SNI_SEND_PARTS), 0);
    test_rig_take_events(&rig);
    assert_string_equal(rig.events, "MSG 78; ");
    test_rig_close(&rig);
}

/* Found by the fuzzer: the PONG landed in the middle of the frame. */
static void
nothing_follows_a_half_sent_frame_when_it_breaks(void **state)
{
    test_rig rig;
    test_wire w = { NULL, 0, 0 };

    (void)state;
    test_rig_meet_as(&rig, SENNIT_DEALER);
    assert_int_equal(test_rig_send(&rig, "begin", 5, false), SENNIT_OK);
    assert_int_equal(test_rig_take_output(&rig, 3), 3);
    test_wire_command(&w, "PING", "\0\0", 2);
    test_wire_add(&w, "\xff", 1);
    assert_int_equal(test_rig_feed(&rig, sni_bytes(w.data, w.size), TEST_FEED_COPY),
                     SENNIT_EPROTO);
    assert_int_equal(test_rig_take_output(&rig, SIZE_MAX), 0);
    free(w.data);
    test_rig_close(&rig);
}

/* ---- subscriptions -------------------------------------------------- */

static const struct subscription_row {
    const char *name;
    uint8_t minor; /* the publisher's greeting */
    size_t topic_size;
} subscriptions[] = {
    { "an empty topic to a 3.1 publisher", 1, 0 },
    { "an empty topic to a 3.0 publisher", 0, 0 },
    { "a short topic to a 3.1 publisher", 1, 9 },
    { "a short topic to a 3.0 publisher", 0, 9 },
    { "246 octets to a 3.1 publisher, where libzmq 4.3.4 errs", 1, 246 },
    { "255 octets to a 3.1 publisher, where libzmq 4.3.4 errs", 1, 255 },
    { "255 octets to a 3.0 publisher, where libzmq errs", 0, 255 },
    { "the longest topic to a 3.1 publisher", 1, SNI_TOPIC_MAX_BYTES },
    { "the longest topic to a 3.0 publisher", 0, SNI_TOPIC_MAX_BYTES },
};

/* What the publisher is told: a command is an event, an older peer's message is one. */
static void
expect_subscription(char text[128], const struct subscription_row *row, bool on)
{
    static uint8_t octets[SNI_TOPIC_MAX_BYTES + 1];
    size_t said = row->minor == 0;
    test_rig noted = { 0 };

    octets[0] = on;
    memcpy(octets + said, body, row->topic_size);
    test_rig_note_frame(&noted, sni_bytes(octets, said + row->topic_size), false);
    strcat(text, said ? "MSG " : on ? "SUB " : "CANCEL ");
    strcat(text, noted.events + 4);
    free(noted.events);
}

static void
check_subscription(void **state)
{
    const struct subscription_row *row = *state;
    test_rig_opts opts = TEST_RIG_DEFAULT(SENNIT_SUB);
    char expected[128] = "";
    test_rig sub;
    test_rig pub;
    test_rng rng = { row->topic_size };

    test_rig_meet(&sub, &opts, row->minor);
    test_rig_meet_as(&pub, SENNIT_PUB);
    assert_int_equal(sni_engine_send(sub.engine, SNI_ENGINE_SUBSCRIBE,
                                     sni_bytes(body, row->topic_size)),
                     SENNIT_OK);
    assert_int_equal(
        sni_engine_send(sub.engine, SNI_ENGINE_CANCEL, sni_bytes(body, row->topic_size)),
        SENNIT_OK);
    test_rig_write_out(&sub);
    assert_int_equal(sub.output[0] & SNI_FRAME_COMMAND, row->minor == 0 ? 0 : 4);
    test_rig_feed_chopped(&pub, sni_bytes(sub.output, sub.output_size), 40000, &rng);
    assert_string_equal(test_rig_reason(&pub), "");
    expect_subscription(expected, row, true);
    expect_subscription(expected, row, false);
    assert_string_equal(pub.events, expected);
    test_rig_close(&sub);
    test_rig_close(&pub);
}

/* A message ends where its last frame does, whatever that says (RFC 29 lets any frame
 * of a message be a subscription). */
static void
a_message_that_ends_with_a_subscription_is_handed_out_whole(void **state)
{
    test_rig rig;
    test_wire w = { NULL, 0, 0 };

    (void)state;
    test_rig_meet_as(&rig, SENNIT_XPUB);
    test_wire_frame(&w, "x", 1, true);
    test_wire_frame(&w, "\1T", 2, false);
    test_wire_frame(&w, "next", 4, false);
    test_rig_hear(&rig, &w, TEST_FEED_COPY);
    test_rig_take_events(&rig);
    assert_string_equal(rig.events, "MSG 78+; MSG 0154; MSG 6e657874; ");
    free(w.data);
    test_rig_close(&rig);
}

static void
a_topic_over_the_limit_closes_the_connection(void **state)
{
    test_rig rig;
    test_wire w = { NULL, 0, 0 };
    uint8_t *topic = calloc(1, SNI_TOPIC_MAX_BYTES + 1);

    (void)state;
    test_rig_meet_as(&rig, SENNIT_PUB);
    test_wire_command(&w, "SUBSCRIBE", topic, SNI_TOPIC_MAX_BYTES + 1);
    (void)test_rig_feed(&rig, sni_bytes(w.data, 20), TEST_FEED_COPY);
    assert_string_equal(test_rig_reason(&rig), "command too large");
    free(topic);
    free(w.data);
    test_rig_close(&rig);
}

static void
subscriptions_are_seen_before_and_behind_messages(void **state)
{
    test_rig rig;
    test_wire w = { NULL, 0, 0 };

    (void)state;
    test_rig_meet_as(&rig, SENNIT_PUB);
    test_wire_command(&w, "SUBSCRIBE", "a", 1);
    test_wire_frame(&w, "noise", 5, false);
    test_wire_command(&w, "CANCEL", "a", 1);
    test_wire_command(&w, "PING", "\0\0", 2);
    test_wire_command(&w, "SUBSCRIBE", "b", 1);
    test_wire_frame(&w, "part", 4, true);
    test_wire_command(&w, "SUBSCRIBE", "c", 1);
    test_rig_hear(&rig, &w, TEST_FEED_COPY);
    test_rig_take_events(&rig);
    assert_string_equal(rig.events, "SUB 61; MSG 6e6f697365; CANCEL 61; SUB 62; ");
    test_wire_frame(&w, "end", 3, false);
    assert_int_equal(
        test_rig_feed(&rig, sni_bytes(w.data + w.size - 5, 5), TEST_FEED_COPY),
        SENNIT_OK);
    test_rig_take_events(&rig);
    assert_string_equal(rig.events, "SUB 61; MSG 6e6f697365; CANCEL 61; SUB 62; "
                                    "MSG 70617274+; SUB 63; MSG 656e64; ");
    free(w.data);
    test_rig_close(&rig);
}

/* ---- memory --------------------------------------------------------- */

/* A whole conversation; whichever allocation fails, the error is reported as lack
 * of memory and everything is given back. */
static void
conversation(test_alloc *alloc, void *arg)
{
    test_rig_opts opts_a = TEST_RIG_DEFAULT(SENNIT_DEALER);
    test_rig_opts opts_b = TEST_RIG_DEFAULT(SENNIT_ROUTER);
    test_rng rng = { 5 };
    test_rig a;
    test_rig b;
    test_wire w = { NULL, 0, 0 };

    (void)arg;
    test_rig_open(&b, &opts_b);
    if (test_rig_init(&a, alloc, &opts_a)) {
        static const size_t sizes[] = { 10, 100, 3000, 5000, 300000 };

        test_rig_exchange(&a, &b, 40, &rng);
        for (size_t i = 0; i < 5; i++) {
            uint64_t failed = alloc->failed;

            if (test_rig_send(&a, body, sizes[i], i % 2 == 0) != SENNIT_OK)
                assert_true(alloc->failed > failed);
            assert_int_equal(test_rig_send(&b, body, sizes[i], i % 2 == 0), SENNIT_OK);
        }
        test_wire_command(&w, "PING", "\0\0abc", 5);
        (void)test_rig_feed(&a, sni_bytes(w.data, w.size), TEST_FEED_COPY);
        test_rig_exchange(&a, &b, 70000, &rng);
        if (test_rig_reason(&a)[0] != '\0') {
            const char *reason;

            assert_true(alloc->failed > 0);
            assert_int_equal(sni_engine_why(a.engine, &reason), SENNIT_ENOMEM);
            assert_string_equal(reason, "out of memory");
        }
    } else {
        assert_true(alloc->failed > 0);
    }
    free(w.data);
    test_rig_fini(&a);
    test_rig_close(&b);
}

static void
a_conversation_survives_every_failed_allocation(void **state)
{
    (void)state;
    assert_true(test_alloc_every_failure(conversation, NULL) > 15);
}

static void
a_subscriber(test_alloc *alloc, void *arg)
{
    test_rig_opts opts = TEST_RIG_DEFAULT(SENNIT_SUB);
    test_wire w = { NULL, 0, 0 };
    test_rig rig;

    (void)arg;
    test_wire_handshake(&w, SENNIT_PUB, 1);
    if (test_rig_init(&rig, alloc, &opts) &&
        test_rig_feed(&rig, sni_bytes(w.data, w.size), TEST_FEED_BLOCK) == SENNIT_OK) {
        for (int i = 0; i < 20; i++) {
            uint64_t failed = alloc->failed;
            sennit_err err =
                sni_engine_send(rig.engine, SNI_ENGINE_SUBSCRIBE, sni_bytes(body, 100));

            assert_int_equal(err, alloc->failed > failed ? SENNIT_ENOMEM : SENNIT_OK);
            if (i % 5 == 0)
                test_rig_take_output(&rig, 10);
        }
    } else {
        assert_true(alloc->failed > 0);
    }
    free(w.data);
    test_rig_fini(&rig);
}

static void
a_subscriber_survives_every_failed_allocation(void **state)
{
    (void)state;
    assert_true(test_alloc_every_failure(a_subscriber, NULL) > 8);
}

/* A body that finds no memory stays where it is and comes when there is some. */
static void
a_message_that_finds_no_memory_is_not_lost(void **state)
{
    test_rig rig;
    test_wire w = { NULL, 0, 0 };

    (void)state;
    test_rig_meet_as(&rig, SENNIT_PULL);
    test_wire_frame(&w, body, 100, false);
    test_rig_hear(&rig, &w, TEST_FEED_BLOCK);
    test_alloc_fail_at(rig.alloc, 1);
    test_rig_take_events(&rig);
    assert_int_equal(rig.msgs_received, 0);
    assert_int_equal(sni_engine_unread(rig.engine), 1);
    test_rig_take_events(&rig);
    assert_int_equal(rig.msgs_received, 1);
    free(w.data);
    test_rig_close(&rig);
}

/* ---- budgets -------------------------------------------------------- */

static const struct budget_row {
    const char *name;
    size_t size;
    size_t burst;         /* messages per write */
    unsigned per_hundred; /* allocations per hundred messages, both sides */
} budgets[] = {
    { "55 octets, one by one", 55, 1, 0 },
    { "55 octets in bursts", 55, 500, 0 },
    { "64 octets in bursts", 64, 500, 0 },
    { "64 octets, one by one", 64, 1, 0 },
    /* Copied out of its window, so that it does not pin 128 KiB. */
    { "1000 octets, one by one", 1000, 1, 0 },
    { "1000 octets in bursts", 1000, 60, 0 },
};

static void
check_budget(void **state)
{
    const struct budget_row *row = *state;
    test_rig_opts opts_a = TEST_RIG_DEFAULT(SENNIT_PUSH);
    test_rig_opts opts_b = TEST_RIG_DEFAULT(SENNIT_PULL);
    test_alloc alloc;
    test_rng rng = { 3 };
    test_rig a;
    test_rig b;
    uint64_t warm = 0;
    size_t sent = 0;

    test_alloc_init(&alloc);
    assert_true(test_rig_init(&a, &alloc, &opts_a));
    assert_true(test_rig_init(&b, &alloc, &opts_b));
    test_rig_exchange(&a, &b, 4096, &rng);
    for (int round = 0; round < 60; round++) {
        size_t before;
        size_t taken;

        if (round == 10) {
            warm = alloc.requests;
            sent = 0;
        }
        for (size_t i = 0; i < row->burst; i++)
            assert_int_equal(test_rig_send(&a, body, row->size, false), SENNIT_OK);
        sent += row->burst;
        before = a.output_size;
        while ((taken = test_rig_take_output(&a, SIZE_MAX)) > 0) {
            assert_int_equal(
                test_rig_feed(&b, sni_bytes(a.output + before, taken), TEST_FEED_SINK),
                SENNIT_OK);
            before = a.output_size;
            test_rig_take_events(&b);
        }
    }
    assert_int_equal(b.msgs_received, 60 * row->burst);
    if ((alloc.requests - warm) * 100 > row->per_hundred * sent)
        fail_msg("%llu allocations for %zu messages",
                 (unsigned long long)(alloc.requests - warm), sent);
    test_rig_fini(&a);
    test_rig_fini(&b);
    assert_int_equal(alloc.live_blocks, 0);
}

static void
an_idle_connection_holds_no_buffers(void **state)
{
    test_rig_opts opts_a = TEST_RIG_DEFAULT(SENNIT_PUSH);
    test_rig_opts opts_b = TEST_RIG_DEFAULT(SENNIT_PULL);
    test_rng rng = { 3 };
    test_rig a;
    test_rig b;

    (void)state;
    test_rig_open(&a, &opts_a);
    test_rig_open(&b, &opts_b);
    test_rig_exchange(&a, &b, 4096, &rng);
    for (int i = 0; i < 100; i++)
        assert_int_equal(test_rig_send(&a, body, 2000, false), SENNIT_OK);
    test_rig_exchange(&a, &b, 4096, &rng);
    /* What is live belongs to the pools, which a loop shares. */
    sni_pool_free(a.pools.small);
    sni_pool_free(a.pools.large);
    sni_pool_free(a.windows);
    sni_pool_free(b.windows);
    sni_bodies_fini(&a.bodies);
    sni_bodies_fini(&b.bodies);
    a.pools.small = a.pools.large = a.windows = b.windows = NULL;
    assert_true(a.alloc->live_bytes < 8192);
    assert_true(b.alloc->live_bytes < 4096 + 2 * sizeof(sni_block));
    test_rig_close(&a);
    test_rig_close(&b);
}

/* ---- main ----------------------------------------------------------- */

static void
add_type_pairs(test_suite *suite)
{
    static type_pair pairs[81];

    for (int i = 0; i < 81; i++) {
        char name[40];

        pairs[i] = (type_pair){ (sennit_sock_type)(i / 9), (sennit_sock_type)(i % 9) };
        snprintf(name, sizeof name, "%s and %s", sennit_sock_type_name(pairs[i].a),
                 sennit_sock_type_name(pairs[i].b));
        test_suite_row(suite, "handshake: ", name, check_type_pair, &pairs[i]);
    }
}

int
main(void)
{
    static const struct CMUnitTest fixed[] = {
        cmocka_unit_test(nothing_is_sent_before_the_peers_ready),
        cmocka_unit_test(ready_may_wait_until_the_peer_is_admitted),
        cmocka_unit_test(the_handshake_must_be_done_in_time),
        cmocka_unit_test(without_a_handshake_timeout_there_is_no_deadline),
        cmocka_unit_test(a_queue_may_come_after_the_handshake),
        cmocka_unit_test(messages_wait_in_the_window_until_they_are_asked_for),
        cmocka_unit_test(a_hostile_length_costs_what_was_received),
        cmocka_unit_test(a_window_moves_seldom_however_its_message_drips),
        cmocka_unit_test(commands_inside_a_message_count_towards_its_size),
        cmocka_unit_test(an_unread_large_frame_has_its_block_to_itself),
        cmocka_unit_test(endless_commands_between_messages_are_forgotten),
        cmocka_unit_test(a_peer_that_pings_and_never_reads_is_closed),
        cmocka_unit_test(one_receive_full_of_pings_is_answered),
        cmocka_unit_test(a_pong_goes_between_frames_wherever_the_send_has_stopped),
        cmocka_unit_test(what_is_added_while_a_batch_is_being_sent_does_not_move_it),
        cmocka_unit_test(a_ping_with_a_time_to_live_arms_a_deadline),
        cmocka_unit_test(what_follows_a_ping_in_the_same_receive_disarms_it_too),
        cmocka_unit_test(the_end_of_the_stream_is_understood_at_every_octet),
        cmocka_unit_test(broken_is_final_and_remembers_why),
        cmocka_unit_test(nothing_follows_a_half_sent_frame_when_it_breaks),
        cmocka_unit_test(a_message_that_ends_with_a_subscription_is_handed_out_whole),
        cmocka_unit_test(a_topic_over_the_limit_closes_the_connection),
        cmocka_unit_test(subscriptions_are_seen_before_and_behind_messages),
        cmocka_unit_test(a_conversation_survives_every_failed_allocation),
        cmocka_unit_test(a_subscriber_survives_every_failed_allocation),
        cmocka_unit_test(a_message_that_finds_no_memory_is_not_lost),
        cmocka_unit_test(an_idle_connection_holds_no_buffers),
    };
    static test_suite suite;

    for (size_t i = 0; i < sizeof body; i++)
        body[i] = (uint8_t)(i * 31 + i / 256 + 2);
    add_type_pairs(&suite);
    TEST_SUITE_ROWS(&suite, "exchange: ", exchanges, check_exchange);
    TEST_SUITE_ROWS(&suite, "limit: ", limits, check_limit);
    TEST_SUITE_ROWS(&suite, "subscription: ", subscriptions, check_subscription);
    TEST_SUITE_ROWS(&suite, "budget: ", budgets, check_budget);
    TEST_SUITE_ADD(&suite, fixed);
    return test_suite_run(&suite);
}
