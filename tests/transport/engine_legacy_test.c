/* SPDX-License-Identifier: MIT */
/* Peers of ZMTP 2.0 and 1.0, and the order in which a greeting must travel to reach
 * every version. What libzmq says to such peers is in engine_vectors_test.c. */
#include "sennit_test.h"

#include <stdio.h>

#include "base/limits.h"
#include "rig.h"
#include "suite.h"
#include "wire/frame_v1.h"
#include "wire/greeting.h"
#include "wire/ready.h"

#define MS            UINT64_C(1000000)
#define SIGNATURE     "\xff\0\0\0\0\0\0\0\1\x7f"
#define WIRE(literal) literal, sizeof(literal) - 1

static uint8_t body[256 * 1024];

/* ---- greetings, cut everywhere --------------------------------------- */

/* Everything up to READY, of a peer that is a DEALER called "me" where it can say so. */
static const struct peer_row {
    const char *name;
    const char *octets; /* NULL: a ZMTP 3 handshake with this version */
    size_t size;
    uint8_t major;
    uint8_t minor;
    int type;
    const char *events;
    const char *ours; /* as a ROUTER called "id", behind the signature; NULL: ZMTP 3 */
    size_t ours_size;
} peers[] = {
    { "ZMTP 3.1", NULL, 0, 3, 1, SENNIT_DEALER, "READY -; ", NULL, 0 },
    { "ZMTP 3.0", NULL, 0, 3, 0, SENNIT_DEALER, "READY -; ", NULL, 0 },
    { "ZMTP 2.0", WIRE(SIGNATURE "\1\5\0\2me"), 2, 0, SENNIT_DEALER, "READY 6d65; ",
      WIRE("\3\6\0\2id") },
    { "ZMTP 2.0 with a long frame", WIRE(SIGNATURE "\1\5\2\0\0\0\0\0\0\0\2me"), 2, 0,
      SENNIT_DEALER, "READY 6d65; ", WIRE("\3\6\0\2id") },
    { "versioned ZMTP 1.0", WIRE(SIGNATURE "\0\5\3\0me"), 1, 0, SENNIT_DEALER,
      "READY 6d65; ", WIRE("\3\6\3\0id") },
    { "ZMTP 1.0", WIRE("\3\0me"), 1, 0, -1, "READY 6d65; ", WIRE("id") },
    { "anonymous ZMTP 1.0", WIRE("\1\0"), 1, 0, -1, "READY -; ", WIRE("id") },
    { "ZMTP 1.0 with a long frame", WIRE("\xff\0\0\0\0\0\0\0\3\0me"), 1, 0, -1,
      "READY 6d65; ", WIRE("id") },
};

#define PEERS (sizeof peers / sizeof peers[0])

static void
add_peer(test_wire *w, const struct peer_row *row)
{
    if (row->octets == NULL)
        test_wire_handshake(w, SENNIT_DEALER, row->minor);
    else
        test_wire_add(w, row->octets, row->size);
}

static bool
has_signature(const struct peer_row *row)
{
    return row->octets == NULL || (row->size > 9 && row->octets[9] == 0x7f);
}

static test_rig_opts
opts_of(sennit_sock_type type)
{
    test_rig_opts opts = TEST_RIG_DEFAULT(type);

    opts.unversioned = true;
    return opts;
}

/* How much of ours may be out when the peer has said `said` octets. */
static size_t
ours_after(const struct peer_row *row, size_t said)
{
    size_t whole = SNI_GREETING_SIGNATURE + row->ours_size;

    if (row->octets == NULL) {
        uint8_t ready[SNI_READY_MAX];
        size_t size =
            sni_ready_write(ready, SENNIT_ROUTER, sni_bytes("id", 2)) + SNI_GREETING_SIZE;

        return said < 10 ? 10 : said < 11 ? 11 : said < SNI_GREETING_SIZE ? 64 : size;
    }
    if (has_signature(row))
        return said < 10 ? 10 : said < 11 ? 11 : said < 12 ? 12 : whole;
    return said < ((uint8_t)row->octets[0] == 0xff ? 10 : 1) ? 10 : whole;
}

static void
check_greeting(void **state)
{
    const struct peer_row *row = *state;
    test_rig_opts opts = opts_of(SENNIT_ROUTER);
    test_wire w = { NULL, 0, 0 };

    opts.identity = "id";
    add_peer(&w, row);
    for (size_t cut = 0; cut <= w.size; cut++) {
        test_rig rig;
        sni_engine_peer peer;

        test_rig_open(&rig, &opts);
        test_rig_write_out(&rig);
        if (cut > 0)
            assert_int_equal(test_rig_feed(&rig, sni_bytes(w.data, cut), TEST_FEED_COPY),
                             SENNIT_OK);
        test_rig_write_out(&rig);
        if (rig.output_size != ours_after(row, cut))
            fail_msg("%zu octets of ours after %zu", rig.output_size, cut);
        for (size_t i = cut; i < w.size; i++)
            assert_int_equal(
                test_rig_feed(&rig, sni_bytes(w.data + i, 1), TEST_FEED_SINK), SENNIT_OK);
        test_rig_take_events(&rig);
        test_rig_write_out(&rig);
        assert_string_equal(rig.events, row->events);
        assert_int_equal(rig.output_size, ours_after(row, w.size));
        assert_memory_equal(rig.output, "\xff\0\0\0\0\0\0\0\3\x7f",
                            SNI_GREETING_SIGNATURE);
        if (row->ours != NULL)
            assert_memory_equal(rig.output + SNI_GREETING_SIGNATURE, row->ours,
                                row->ours_size);
        peer = sni_engine_peer_of(rig.engine);
        assert_int_equal(peer.type, row->type);
        assert_int_equal(peer.major, row->major);
        assert_int_equal(peer.minor, row->minor);
        test_rig_close(&rig);
    }
    free(w.data);
}

/* Both bugs of libzmq: a timer that strikes good old peers, and one that a single octet
 * stops. */
static void
check_deadline(void **state)
{
    const struct peer_row *row = *state;
    test_rig_opts opts = opts_of(SENNIT_ROUTER);
    test_wire w = { NULL, 0, 0 };

    opts.handshake_timeout = 400 * MS;
    add_peer(&w, row);
    for (size_t cut = 0; cut <= w.size; cut++) {
        test_rig rig;

        test_rig_open(&rig, &opts);
        if (cut > 0)
            (void)test_rig_feed(&rig, sni_bytes(w.data, cut), TEST_FEED_COPY);
        rig.now += 400 * MS;
        assert_int_equal(sni_engine_tick(rig.engine, rig.now, true),
                         cut < w.size ? SENNIT_ETIMEDOUT : SENNIT_OK);
        assert_int_equal(sni_engine_deadline(rig.engine, true), SENNIT_NEVER);
        test_rig_close(&rig);
    }
    free(w.data);
}

static void
check_admission(void **state)
{
    const struct peer_row *row = *state;
    test_rig_opts opts = opts_of(SENNIT_ROUTER);
    test_wire w = { NULL, 0, 0 };
    test_rig rig;
    size_t before = row->octets == NULL  ? SNI_GREETING_SIZE
                    : has_signature(row) ? SNI_GREETING_LEGACY_SIZE
                                         : SNI_GREETING_SIGNATURE;

    opts.identity = "id";
    opts.admits = true;
    add_peer(&w, row);
    test_rig_open(&rig, &opts);
    test_rig_hear(&rig, &w, TEST_FEED_COPY);
    test_rig_take_events(&rig);
    assert_string_equal(rig.events, row->events);
    test_rig_write_out(&rig);
    assert_int_equal(rig.output_size, before);
    assert_int_equal(sni_engine_admit(rig.engine), SENNIT_OK);
    assert_int_equal(sni_engine_admit(rig.engine), SENNIT_OK);
    test_rig_write_out(&rig);
    assert_int_equal(rig.output_size, ours_after(row, w.size));
    free(w.data);
    test_rig_close(&rig);
}

/* ---- traffic ---------------------------------------------------------- */

/* Frames around every change of form, in ZMTP 3 and in 1.0. */
static const struct {
    size_t size;
    bool more;
} mixed[] = {
    { 3, false },    { 0, true },    { 0, false },    { 252, true },  { 253, true },
    { 254, false },  { 255, false }, { 256, true },   { 4095, true }, { 4096, true },
    { 5000, false }, { 1, false },   { 70000, true }, { 2, false },   { 55, false },
};

#define MIXED      (sizeof mixed / sizeof mixed[0])
#define MIXED_MSGS 8u

static void
send_mixed(test_rig *rig)
{
    for (size_t i = 0; i < MIXED; i++)
        assert_int_equal(test_rig_send(rig, body + i, mixed[i].size, mixed[i].more),
                         SENNIT_OK);
}

static void
add_mixed(test_wire *w, bool v1)
{
    for (size_t i = 0; i < MIXED; i++) {
        if (v1)
            test_wire_frame_v1(w, body + i, mixed[i].size, mixed[i].more);
        else
            test_wire_frame(w, body + i, mixed[i].size, mixed[i].more);
    }
}

/* With an anonymous peer of ZMTP 1.0. */
static void
meet_1_0(test_rig *rig, const test_rig_opts *opts)
{
    test_wire w = { NULL, 0, 0 };

    test_wire_add(&w, "\1\0", 2);
    test_rig_open_traffic(rig, opts, &w);
    free(w.data);
}

static void
frames_reach_a_1_0_peer_however_they_are_written(void **state)
{
    test_rig_opts opts = opts_of(SENNIT_DEALER);
    test_wire expected = { NULL, 0, 0 };

    (void)state;
    add_mixed(&expected, true);
    for (size_t piece = 1; piece < 90000; piece += piece < 300 ? 1 : piece / 3) {
        test_rig rig;

        meet_1_0(&rig, &opts);
        send_mixed(&rig);
        while (test_rig_take_output(&rig, piece) > 0)
            continue;
        if (rig.output_size != expected.size ||
            memcmp(rig.output, expected.data, expected.size) != 0)
            fail_msg("in pieces of %zu: %zu octets instead of %zu", piece,
                     rig.output_size, expected.size);
        assert_int_equal(rig.msgs_ended, MIXED_MSGS);
        assert_int_equal(rig.outq.bytes, 0);
        test_rig_close(&rig);
    }
    free(expected.data);
}

static void
many_small_frames_reach_a_1_0_peer(void **state)
{
    test_rig_opts opts = opts_of(SENNIT_DEALER);
    test_wire expected = { NULL, 0, 0 };
    test_rng rng = { 11 };
    test_rig rig;

    (void)state;
    meet_1_0(&rig, &opts);
    for (size_t i = 0; i < 3000; i++) {
        size_t size = test_rng_below(&rng, 300);

        assert_int_equal(test_rig_send(&rig, body + i, size, i % 3 == 0), SENNIT_OK);
        test_wire_frame_v1(&expected, body + i, size, i % 3 == 0);
        if (test_rng_chance(&rng, 40))
            (void)test_rig_take_output(&rig, 1 + test_rng_below(&rng, 2000));
    }
    test_rig_write_out(&rig);
    assert_int_equal(rig.output_size, expected.size);
    assert_memory_equal(rig.output, expected.data, expected.size);
    free(expected.data);
    test_rig_close(&rig);
}

/* Wherever writing stopped, what another connection gets is whole messages, in its own
 * form, and each is delivered, lost with the connection, or sent again. */
static void
a_reconnect_sends_whole_messages_to_a_peer_of_any_version(void **state)
{
    test_rig_opts opts = opts_of(SENNIT_DEALER);
    test_wire v1 = { NULL, 0, 0 };
    test_wire v3 = { NULL, 0, 0 };
    test_wire newer = { NULL, 0, 0 };

    (void)state;
    add_mixed(&v1, true);
    add_mixed(&v3, false);
    test_wire_handshake(&newer, SENNIT_ROUTER, 1);
    for (size_t written = 0; written < v1.size; written += written < 1400 ? 1 : 997) {
        test_rig rig;
        size_t ended;
        size_t dropped;

        meet_1_0(&rig, &opts);
        send_mixed(&rig);
        while (rig.output_size < written)
            (void)test_rig_take_output(&rig, written - rig.output_size);
        assert_memory_equal(rig.output, v1.data, written);
        ended = rig.msgs_ended;
        dropped = test_rig_reconnect(&rig, &opts);
        test_rig_hear(&rig, &newer, TEST_FEED_COPY);
        /* Greeting and READY, which are on the lane alone. */
        while (sni_engine_control_waiting(rig.engine))
            (void)test_rig_take_output(&rig, 1);
        test_rig_forget(&rig);
        rig.msgs_ended = 0;
        test_rig_write_out(&rig);
        if (ended + dropped + rig.msgs_ended != MIXED_MSGS || dropped > 1 ||
            memcmp(rig.output, v3.data + v3.size - rig.output_size, rig.output_size) != 0)
            fail_msg("%zu written: %zu ended, %zu dropped, %zu sent again", written,
                     ended, dropped, rig.msgs_ended);
        test_rig_close(&rig);
    }
    free(v1.data);
    free(v3.data);
    free(newer.data);
}

#define SERIAL_PARTS 3u

/* A message that tells its number in each part. */
static void
send_serial(test_rig *rig, uint32_t number, size_t size)
{
    for (unsigned part = 0; part < SERIAL_PARTS; part++) {
        uint8_t octets[6000];

        memset(octets, (int)part, sizeof octets);
        memcpy(octets, &number, sizeof number);
        assert_int_equal(
            test_rig_send(rig, octets, sizeof number + size, part + 1 < SERIAL_PARTS),
            SENNIT_OK);
    }
}

/* The output is whole messages, each number greater than the last; how many. */
static size_t
count_serials(const test_wire *out, bool v1)
{
    size_t at = 0;
    size_t frames = 0;
    uint32_t last = 0;

    while (at < out->size) {
        sennit_bytes rest = sni_bytes(out->data + at, out->size - at);
        sni_frame_head head;
        size_t used;
        uint32_t number;

        assert_int_equal(v1 ? sni_frame_v1_head_read(rest, &head, &used)
                            : sni_frame_head_read(rest, &head, &used),
                         SNI_PARSE_DONE);
        assert_true(rest.size - used >= head.body_size);
        memcpy(&number, rest.data + used, sizeof number);
        assert_int_equal(head.more, frames % SERIAL_PARTS + 1 < SERIAL_PARTS);
        assert_true(frames % SERIAL_PARTS == 0 ? number > last : number == last);
        if (head.body_size > sizeof number)
            assert_int_equal(rest.data[used + sizeof number], frames % SERIAL_PARTS);
        last = number;
        frames++;
        at += used + (size_t)head.body_size;
    }
    assert_int_equal(frames % SERIAL_PARTS, 0);
    return frames / SERIAL_PARTS;
}

static size_t
drop_some(test_rig *rig, test_rng *rng)
{
    size_t dropped = 0;

    while (test_rng_chance(rng, 40) && sni_outq_drop_oldest(&rig->outq))
        dropped++;
    return dropped;
}

/* Writes at most `size` octets. Messages are dropped before, and again before the views
 * are read: the kernel may take its time. Returns how many were. */
static size_t
write_while_dropping(test_rig *rig, size_t size, test_rng *rng, test_wire *out)
{
    sennit_bytes parts[SNI_SEND_PARTS];
    size_t dropped = drop_some(rig, rng);
    size_t count = sni_engine_output(rig->engine, parts, SNI_SEND_PARTS);
    size_t before = out->size;

    dropped += drop_some(rig, rng);
    for (size_t i = 0; i < count && size > 0; i++) {
        size_t here = parts[i].size < size ? parts[i].size : size;

        test_wire_add(out, parts[i].data, here);
        size -= here;
    }
    if (count > 0)
        rig->msgs_ended += sni_engine_wrote(rig->engine, out->size - before);
    return dropped;
}

/* Messages may be dropped out of the queue while others are on their way. */
static void
dropping_leaves_whole_messages_to_a_peer_of_any_version(void **state)
{
    test_rig_opts opts = opts_of(SENNIT_DEALER);
    size_t dropped_ever = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        bool v1 = seed % 2;
        test_rng rng = { seed };
        test_wire w = { NULL, 0, 0 };
        test_wire out = { NULL, 0, 0 };
        test_rig rig;
        size_t dropped = 0;
        uint32_t sent = 0;

        if (v1)
            test_wire_add(&w, "\1\0", 2);
        else
            test_wire_handshake(&w, SENNIT_ROUTER, 1);
        test_rig_open_traffic(&rig, &opts, &w);
        while (sent < 200) {
            for (uint64_t n = test_rng_below(&rng, 6); n > 0 && sent < 200; n--)
                send_serial(&rig, ++sent,
                            test_rng_below(&rng, test_rng_chance(&rng, 20) ? 5900 : 300));
            dropped += write_while_dropping(&rig, test_rng_below(&rng, 1500), &rng, &out);
        }
        while (rig.outq.bytes > 0)
            dropped +=
                write_while_dropping(&rig, 1 + test_rng_below(&rng, 9000), &rng, &out);
        assert_int_equal(count_serials(&out, v1), rig.msgs_ended);
        assert_int_equal(rig.msgs_ended + dropped, sent);
        dropped_ever += dropped;
        free(w.data);
        free(out.data);
        test_rig_close(&rig);
    }
    assert_true(dropped_ever > 1000);
}

/* Subscriptions go between frames, wherever the send has stopped. */
static void
subscriptions_go_between_frames_to_a_1_0_peer(void **state)
{
    test_rig_opts opts = opts_of(SENNIT_XSUB);

    (void)state;
    for (size_t written = 0; written <= 13; written++) {
        static const char *const places[] = { "\3\0\1t\4\0abc\6\0defgh",
                                              "\4\0abc\3\0\1t\6\0defgh",
                                              "\4\0abc\6\0defgh\3\0\1t" };
        const char *expected = places[written == 0 ? 0 : written <= 5 ? 1 : 2];
        test_rig rig;

        if (written == 13)
            expected = places[2];
        meet_1_0(&rig, &opts);
        assert_int_equal(test_rig_send(&rig, "abc", 3, false), SENNIT_OK);
        assert_int_equal(test_rig_send(&rig, "defgh", 5, false), SENNIT_OK);
        if (written > 0)
            (void)test_rig_take_output(&rig, written);
        assert_int_equal(
            sni_engine_send(rig.engine, SNI_ENGINE_SUBSCRIBE, sni_bytes("t", 1)),
            SENNIT_OK);
        while (test_rig_take_output(&rig, 1) > 0)
            continue;
        assert_int_equal(rig.output_size, 16);
        if (memcmp(rig.output, expected, 16) != 0)
            fail_msg("%zu octets written before", written);
        test_rig_close(&rig);
    }
}

/* So it may still be dropped while the kernel has the control lane. */
static void
control_alone_lends_nothing_of_the_queue(void **state)
{
    test_rig_opts opts = opts_of(SENNIT_XSUB);
    sennit_bytes parts[SNI_SEND_PARTS];
    test_rig rig;

    (void)state;
    meet_1_0(&rig, &opts);
    assert_int_equal(test_rig_send(&rig, body, 100, false), SENNIT_OK);
    assert_int_equal(sni_engine_send(rig.engine, SNI_ENGINE_SUBSCRIBE, sni_bytes("t", 1)),
                     SENNIT_OK);
    assert_int_equal(sni_engine_output(rig.engine, parts, SNI_SEND_PARTS), 1);
    assert_true(sni_outq_drop_oldest(&rig.outq));
    assert_int_equal(sni_engine_wrote(rig.engine, parts[0].size), 0);
    assert_int_equal(sni_engine_output(rig.engine, parts, SNI_SEND_PARTS), 0);
    test_rig_close(&rig);
}

static void
nothing_follows_a_half_sent_1_0_frame_when_it_breaks(void **state)
{
    test_rig_opts opts = opts_of(SENNIT_DEALER);

    (void)state;
    for (size_t written = 0; written <= 5; written++) {
        test_rig rig;

        meet_1_0(&rig, &opts);
        assert_int_equal(test_rig_send(&rig, "abc", 3, false), SENNIT_OK);
        if (written > 0)
            assert_int_equal(test_rig_take_output(&rig, written), written);
        assert_int_equal(test_rig_feed(&rig, sni_bytes("\0", 1), TEST_FEED_COPY),
                         SENNIT_EPROTO);
        assert_int_equal(test_rig_take_output(&rig, SIZE_MAX), 0);
        test_rig_close(&rig);
    }
}

/* ---- subscribers ------------------------------------------------------ */

static const struct subscriber_row {
    const char *name;
    sennit_sock_type type;
    const char *octets;
    size_t size;
    const char *events;
} subscribers[] = {
    { "a 1.0 subscriber of a PUB wants everything", SENNIT_PUB, WIRE("\1\0"),
      "READY -; SUB -; " },
    { "a 1.0 subscriber of an XPUB wants everything", SENNIT_XPUB, WIRE("\1\0"),
      "READY -; SUB -; " },
    { "a versioned 1.0 subscriber says itself what it wants", SENNIT_PUB,
      WIRE(SIGNATURE "\0\2\1\0\4\0\1ab"), "READY -; MSG 016162; " },
    { "what a 1.0 subscriber says itself comes behind that", SENNIT_PUB,
      WIRE("\1\0\4\0\1ab\2\0\0"), "READY -; SUB -; MSG 016162; MSG 00; " },
    { "what a 2.0 subscriber wants is in its messages", SENNIT_PUB,
      WIRE(SIGNATURE "\1\2\0\0\0\3\1ab\0\3\0ab"), "READY -; MSG 016162; MSG 006162; " },
    { "a 1.0 peer of another type wants nothing", SENNIT_ROUTER, WIRE("\1\0"),
      "READY -; " },
};

static void
check_subscriber(void **state)
{
    const struct subscriber_row *row = *state;
    test_rig_opts opts = opts_of(row->type);

    for (size_t cut = 0; cut <= row->size; cut++) {
        test_rig rig;

        test_rig_open(&rig, &opts);
        test_rig_feed_cut(&rig, sni_bytes(row->octets, row->size), cut, TEST_FEED_SINK);
        assert_string_equal(rig.events, row->events);
        assert_string_equal(test_rig_reason(&rig), "");
        test_rig_close(&rig);
    }
}

/* ---- refused ---------------------------------------------------------- */

static const struct refused_row {
    const char *name;
    const char *octets;
    size_t size;
    size_t known; /* after how many octets */
    const char *events;
    const char *reason;
} refused[] = {
    { "2.0: a type that does not exist", WIRE(SIGNATURE "\1\14"), 12, "",
      "socket types do not go together" },
    { "2.0: a type of ours", WIRE(SIGNATURE "\1\1\0\0"), 12, "",
      "socket types do not go together" },
    { "1.0 versioned: a type of ours", WIRE(SIGNATURE "\0\1\1\0"), 12, "",
      "socket types do not go together" },
    { "2.0: an identity with MORE", WIRE(SIGNATURE "\1\5\1\0"), 14, "",
      "not an identity frame (maybe no ZMTP at all)" },
    { "2.0: an identity as a command", WIRE(SIGNATURE "\1\5\4\0"), 14, "",
      "not an identity frame (maybe no ZMTP at all)" },
    { "2.0: an identity with a reserved flag", WIRE(SIGNATURE "\1\5\10\0"), 13, "",
      "not an identity frame (maybe no ZMTP at all)" },
    { "2.0: an identity of 256 octets", WIRE(SIGNATURE "\1\5\2\0\0\0\0\0\0\1\0"), 21, "",
      "identity over 255 octets" },
    { "2.0: an identity of 2^62 octets", WIRE(SIGNATURE "\1\5\2\100\0\0\0\0\0\0\0"), 21,
      "", "identity over 255 octets" },
    { "2.0: a command in traffic", WIRE(SIGNATURE "\1\5\0\0\4\5\4PING"), 16, "READY -; ",
      "command from a peer whose version has none" },
    { "2.0: a reserved flag in traffic", WIRE(SIGNATURE "\1\5\0\0\20\0"), 15, "READY -; ",
      "malformed frame head" },
    { "2.0: a frame of 2^63 octets", WIRE(SIGNATURE "\1\5\0\0\2\200\0\0\0\0\0\0\0"), 23,
      "READY -; ", "malformed frame head" },
    { "1.0: an identity of no length", WIRE("\0"), 1, "",
      "not an identity frame (maybe no ZMTP at all)" },
    { "1.0: an identity with MORE", WIRE("\2\1a"), 2, "",
      "not an identity frame (maybe no ZMTP at all)" },
    { "1.0: an identity with a reserved flag", WIRE("\2\2a"), 2, "",
      "not an identity frame (maybe no ZMTP at all)" },
    { "1.0: an identity of 256 octets", WIRE("\xff\0\0\0\0\0\0\1\1\0"), 10, "",
      "identity over 255 octets" },
    { "1.0: a frame of no length", WIRE("\1\0\0"), 3, "READY -; ",
      "malformed frame head" },
    { "1.0: a long frame of no length", WIRE("\1\0\xff\0\0\0\0\0\0\0\0"), 11, "READY -; ",
      "malformed frame head" },
    { "1.0: a frame of 2^63 octets", WIRE("\1\0\xff\200\0\0\0\0\0\0\1"), 11, "READY -; ",
      "malformed frame head" },
    { "1.0: a frame over the limit", WIRE("\1\0\xff\0\0\0\0\0\0\1\2\0"), 12, "READY -; ",
      "frame larger than recv_frame_max_bytes" },
    { "1.0: a message over the limit",
      WIRE("\1\0\xff\0\0\0\0\0\0\0\2\1a\xff\0\0\0\0\0\0\0\xfe\1"), 23, "READY -; ",
      "message larger than recv_message_max_bytes" },
    { "1.0: more frames than there may be", WIRE("\1\0\1\1\1\1\1\1\1\0"), 10, "READY -; ",
      "message with more frames than recv_message_max_parts" },
    { "an HTTP request", WIRE("GET / HTTP/1.1\r\n\r\n"), 2, "",
      "not an identity frame (maybe no ZMTP at all)" },
    { "a TLS hello", WIRE("\26\3\1\0\310"), 2, "",
      "not an identity frame (maybe no ZMTP at all)" },
    { "an SSH banner", WIRE("SSH-2.0-x\r\n"), 2, "",
      "not an identity frame (maybe no ZMTP at all)" },
};

static void
check_refused(void **state)
{
    const struct refused_row *row = *state;
    test_rig_opts opts = opts_of(SENNIT_ROUTER);

    opts.frame_max_bytes = 256;
    opts.message_max_bytes = 253;
    opts.message_max_parts = 3;
    for (size_t cut = 0; cut <= row->size; cut++) {
        test_rig rig;

        test_rig_open(&rig, &opts);
        if (cut > 0)
            (void)test_rig_feed(&rig, sni_bytes(row->octets, cut), TEST_FEED_SINK);
        if ((test_rig_reason(&rig)[0] != '\0') != (cut >= row->known))
            fail_msg("after %zu octets: '%s'", cut, test_rig_reason(&rig));
        if (cut < row->size)
            (void)test_rig_feed(&rig, sni_bytes(row->octets + cut, row->size - cut),
                                TEST_FEED_SINK);
        test_rig_take_events(&rig);
        assert_string_equal(rig.events, row->events);
        assert_string_equal(test_rig_reason(&rig), row->reason);
        test_rig_close(&rig);
    }
}

static void
a_hostile_length_of_a_1_0_peer_costs_what_was_received(void **state)
{
    test_rig_opts opts = opts_of(SENNIT_ROUTER);
    test_rig rig;

    (void)state;
    opts.frame_max_bytes = 0;
    opts.message_max_bytes = 0;
    meet_1_0(&rig, &opts);
    assert_int_equal(
        test_rig_feed(&rig, sni_bytes("\xff\0\0\2\0\0\0\0\0\0", 10), TEST_FEED_SINK),
        SENNIT_OK);
    for (int i = 0; i < 100; i++)
        assert_int_equal(test_rig_feed(&rig, sni_bytes(body, 1000), TEST_FEED_SINK),
                         SENNIT_OK);
    assert_true(rig.alloc->peak_bytes < 16 * SNI_RECV_BYTES);
    test_rig_close(&rig);
}

/* ---- memory ----------------------------------------------------------- */

static void
old_conversation(test_alloc *alloc, void *arg)
{
    const struct peer_row *row = arg;
    test_rig_opts opts = opts_of(SENNIT_ROUTER);
    test_wire w = { NULL, 0, 0 };
    test_rig rig;

    opts.identity = "id";
    add_peer(&w, row);
    if (row->major == 1) {
        test_wire_frame_v1(&w, body, 300, true);
        test_wire_frame_v1(&w, body, 5, false);
    } else {
        test_wire_frame(&w, body, 300, true);
        test_wire_frame(&w, body, 5, false);
    }
    if (test_rig_init(&rig, alloc, &opts)) {
        (void)test_rig_feed(&rig, sni_bytes(w.data, w.size), TEST_FEED_BLOCK);
        test_rig_take_events(&rig);
        for (size_t i = 0; i < 3; i++) {
            uint64_t failed = alloc->failed;

            if (test_rig_send(&rig, body, i * 4000, false) != SENNIT_OK)
                assert_true(alloc->failed > failed);
        }
        while (test_rig_take_output(&rig, 333) > 0)
            continue;
        test_rig_take_events(&rig);
        if (test_rig_reason(&rig)[0] != '\0') {
            const char *reason;

            assert_true(alloc->failed > 0);
            assert_int_equal(sni_engine_why(rig.engine, &reason), SENNIT_ENOMEM);
            assert_string_equal(reason, "out of memory");
        } else if (alloc->failed == 0) {
            assert_int_equal(rig.msgs_received, 1);
            assert_int_equal(rig.msgs_ended, 3);
        }
    } else {
        assert_true(alloc->failed > 0);
    }
    free(w.data);
    test_rig_fini(&rig);
}

static void
check_memory(void **state)
{
    assert_true(test_alloc_every_failure(old_conversation, *state) > 8);
}

int
main(void)
{
    static const struct CMUnitTest fixed[] = {
        cmocka_unit_test(frames_reach_a_1_0_peer_however_they_are_written),
        cmocka_unit_test(many_small_frames_reach_a_1_0_peer),
        cmocka_unit_test(a_reconnect_sends_whole_messages_to_a_peer_of_any_version),
        cmocka_unit_test(dropping_leaves_whole_messages_to_a_peer_of_any_version),
        cmocka_unit_test(subscriptions_go_between_frames_to_a_1_0_peer),
        cmocka_unit_test(control_alone_lends_nothing_of_the_queue),
        cmocka_unit_test(nothing_follows_a_half_sent_1_0_frame_when_it_breaks),
        cmocka_unit_test(a_hostile_length_of_a_1_0_peer_costs_what_was_received),
    };
    static test_suite suite;

    for (size_t i = 0; i < sizeof body; i++)
        body[i] = (uint8_t)(i * 7 + i / 251);
    TEST_SUITE_ROWS(&suite, "greeted in time, cut anywhere: ", peers, check_greeting);
    TEST_SUITE_ROWS(&suite, "one deadline for the handshake: ", peers, check_deadline);
    TEST_SUITE_ROWS(&suite, "told nothing before it is admitted: ", peers,
                    check_admission);
    TEST_SUITE_ROWS(&suite, "failing allocations: ", peers, check_memory);
    TEST_SUITE_ROWS(&suite, "", subscribers, check_subscriber);
    TEST_SUITE_ROWS(&suite, "refused: ", refused, check_refused);
    TEST_SUITE_ADD(&suite, fixed);
    return test_suite_run(&suite);
}
