/* SPDX-License-Identifier: MIT */
#include "mutate.h"

#include "sennit_test.h"

#include <stdio.h>

#include "base/assert.h"
#include "base/limits.h"
#include "rig.h"
#include "wire/frame_v1.h"
#include "wire/greeting.h"

#define INTERVAL UINT64_C(1000000000)
#define TIMEOUT  UINT64_C(300000000)

/* Bits of the first octet. */
enum { RAW = 1, UNVERSIONED = 2, HEARTBEATS = 4, ADMITS = 8 };

/* What must not depend on how the octets were cut. */
typedef struct outcome {
    char *events;
    uint8_t *output;
    size_t output_size;
    size_t bytes_received;
    uint32_t bytes_hash;
    sennit_time deadline; /* when all is fed */
    char reason[96];
} outcome;

typedef struct head {
    uint8_t config;
    uint8_t type;
    uint8_t version;
    uint8_t seed;
    uint8_t given;
} head;

static test_rig_opts
opts_of(const head *h)
{
    test_rig_opts opts =
        TEST_RIG_DEFAULT((sennit_sock_type)(h->type % (SENNIT_XSUB + 1)));

    opts.raw = h->config & RAW;
    opts.unversioned = h->config & UNVERSIONED;
    opts.admits = h->config & ADMITS;
    if (h->config & HEARTBEATS) {
        opts.heartbeat_interval = INTERVAL;
        opts.heartbeat_timeout = TIMEOUT;
        opts.heartbeat_ttl_ds = 7;
    }
    return opts;
}

/* The free part of the conversation: nothing, a greeting, or greeting and READY, of
 * ZMTP 3.0 to 3.2, 2.0 or either 1.0. */
static void
feed_prelude(test_rig *rig, const head *h, sennit_sock_type ours)
{
    uint8_t legacy[] = { 0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 1, test_fitting_type(ours),
                         0,    0 };
    unsigned version = h->version % 6;
    unsigned given = h->given % 3;
    test_wire w = { NULL, 0, 0 };

    if (version < 3) {
        test_wire_handshake(&w, test_fitting_type(ours), (uint8_t)version);
        w.size = given == 2 ? w.size : SNI_GREETING_SIZE;
    } else if (version == 5) {
        test_wire_add(&w, "\1\0", given);
    } else {
        legacy[10] = version == 3;
        legacy[12] = version == 4;
        test_wire_add(&w, legacy, given == 2 ? sizeof legacy : SNI_GREETING_LEGACY_SIZE);
    }
    if (given > 0)
        (void)test_rig_feed(rig, sni_bytes(w.data, w.size), TEST_FEED_COPY);
    free(w.data);
}

/* Our output behind the greeting is whole frames, always. */
static void
check_output(const test_rig *rig)
{
    uint8_t major = sni_engine_peer_of(rig->engine).major;
    size_t at = SNI_GREETING_SIZE;

    SNI_ASSERT(rig->output_size >= SNI_GREETING_SIGNATURE);
    if (major == 1 || major == 2) {
        bool versioned = rig->output_size > SNI_GREETING_SIGNATURE &&
                         rig->output[SNI_GREETING_SIGNATURE] == 3 &&
                         rig->output[SNI_GREETING_SIGNATURE + 1] <= SENNIT_XSUB;

        at = versioned ? SNI_GREETING_LEGACY_SIZE : SNI_GREETING_SIGNATURE;
        /* "\3\1" begins a 1.0 frame too: then it must be one of ours. */
        if (major == 1 && sni_engine_peer_of(rig->engine).type < 0)
            at = SNI_GREETING_SIGNATURE;
    }
    while (at < rig->output_size) {
        sennit_bytes rest = sni_bytes(rig->output + at, rig->output_size - at);
        sni_frame_head frame;
        size_t used;
        sni_parse parse = major == 1 ? sni_frame_v1_head_read(rest, &frame, &used)
                                     : sni_frame_head_read(rest, &frame, &used);

        SNI_ASSERT(parse != SNI_PARSE_BAD);
        if (parse == SNI_PARSE_MORE)
            break;
        at += used + (size_t)frame.body_size;
    }
    /* A broken connection stops where it is. */
    SNI_ASSERT(at <= SNI_GREETING_SIZE || at == rig->output_size ||
               test_rig_reason(rig)[0] != '\0');
}

/* Time passes until nothing is due any more, or three PINGs went unanswered. */
static void
let_time_pass(test_rig *rig, test_rng *rng)
{
    for (int i = 0; i < 6; i++) {
        sennit_time due = sni_engine_deadline(rig->engine, true);

        if (due == SENNIT_NEVER)
            break;
        SNI_ASSERT(due == 0 || due > rig->now);
        if (due > rig->now)
            rig->now = due;
        if (test_rng_chance(rng, 30))
            (void)sni_engine_tick(rig->engine, rig->now, false);
        (void)sni_engine_tick(rig->engine, rig->now, true);
        test_rig_write_out(rig);
    }
}

static outcome
run(const head *h, sennit_bytes in, size_t piece_max)
{
    test_rig_opts opts = opts_of(h);
    test_rng rng = { h->seed };
    test_alloc alloc;
    test_rig rig;
    outcome o;

    test_alloc_init(&alloc);
    SNI_ASSERT(test_rig_init(&rig, &alloc, &opts));
    SNI_ASSERT(test_rig_send(&rig, "begin", 5, true) == SENNIT_OK);
    SNI_ASSERT(test_rig_send(&rig, h, 4, false) == SENNIT_OK);
    /* A session admits before it lets data out. */
    if (opts.admits)
        sni_engine_set_outq(rig.engine, NULL);
    if (!opts.raw)
        feed_prelude(&rig, h, opts.type);
    test_rig_feed_chopped(&rig, in, piece_max, &rng);
    if (opts.admits) {
        if (sni_engine_in_traffic(rig.engine))
            SNI_ASSERT(sni_engine_admit(rig.engine) == SENNIT_OK);
        sni_engine_set_outq(rig.engine, &rig.outq);
        test_rig_write_out(&rig);
    }
    SNI_ASSERT(alloc.peak_bytes <= 16 * (in.size + SNI_RECV_BYTES));
    SNI_ASSERT(sni_engine_unread(rig.engine) == 0);
    o = (outcome){ .bytes_received = rig.bytes_received,
                   .bytes_hash = rig.bytes_hash,
                   .deadline = sni_engine_deadline(rig.engine, true) };
    rng = (test_rng){ h->seed };
    let_time_pass(&rig, &rng);
    if (!opts.raw)
        check_output(&rig);
    o.events = rig.events;
    o.output = rig.output;
    o.output_size = rig.output_size;
    snprintf(o.reason, sizeof o.reason, "%s", test_rig_reason(&rig));
    (void)test_rig_feed(&rig, sni_bytes(NULL, 0), TEST_FEED_COPY);
    SNI_ASSERT(test_rig_reason(&rig)[0] != '\0');
    rig.events = NULL;
    rig.output = NULL;
    test_rig_fini(&rig);
    SNI_ASSERT(alloc.live_blocks == 0);
    return o;
}

/* Where PONGs and our own message lie relative to each other depends on when the
 * output was taken; how many octets there are does not. Raw bytes are messages as they
 * come. */
static void
check_same(const outcome *a, const outcome *b, bool raw)
{
    SNI_ASSERT(raw || strcmp(a->events, b->events) == 0);
    SNI_ASSERT(a->bytes_received == b->bytes_received);
    SNI_ASSERT(a->bytes_hash == b->bytes_hash);
    SNI_ASSERT(a->deadline == b->deadline);
    SNI_ASSERT(strcmp(a->reason, b->reason) == 0);
    if (a->reason[0] == '\0')
        SNI_ASSERT(a->output_size == b->output_size);
}

void
test_engine_survives(const uint8_t *data, size_t size)
{
    head h;
    outcome chopped;
    outcome bytes;

    if (size < TEST_MUTATE_HEAD)
        return;
    h = (head){ data[0], data[1], data[2], data[3], data[4] };
    data += TEST_MUTATE_HEAD;
    size -= TEST_MUTATE_HEAD;
    chopped = run(&h, sni_bytes(data, size), 1 + h.seed * 16u);
    bytes = run(&h, sni_bytes(data, size), 1);
    check_same(&chopped, &bytes, h.config & RAW);
    free(chopped.events);
    free(chopped.output);
    free(bytes.events);
    free(bytes.output);
}
