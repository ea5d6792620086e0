/* SPDX-License-Identifier: MIT */
#include "mutate.h"

#include "sennit_test.h"

#include <stdio.h>

#include "base/assert.h"
#include "base/limits.h"
#include "rig.h"
#include "wire/greeting.h"
#include "wire/ready.h"

typedef struct outcome {
    char *events;
    uint8_t *output;
    size_t output_size;
    char reason[96];
} outcome;

static const char *const fitting[] = {
    [SENNIT_PAIR] = "PAIR",     [SENNIT_PUB] = "SUB",   [SENNIT_SUB] = "PUB",
    [SENNIT_REQ] = "REP",       [SENNIT_REP] = "REQ",   [SENNIT_DEALER] = "ROUTER",
    [SENNIT_ROUTER] = "DEALER", [SENNIT_PULL] = "PUSH", [SENNIT_PUSH] = "PULL",
};

/* The free part of the conversation: nothing, a greeting, or greeting and READY. */
static void
feed_prelude(test_rig *rig, sennit_sock_type ours, uint8_t minor, uint8_t given)
{
    uint8_t octets[SNI_GREETING_SIZE + SNI_READY_MAX];
    size_t size = 0;
    sennit_sock_type peer;

    if (given % 3 == 0 || sennit_sock_type_parse(fitting[ours], &peer) != SENNIT_OK)
        return;
    sni_greeting_write(octets, "NULL");
    octets[11] = minor % 3;
    size = SNI_GREETING_SIZE;
    if (given % 3 == 2)
        size += sni_ready_write(octets + size, peer, sni_bytes(NULL, 0));
    (void)test_rig_feed(rig, sni_bytes(octets, size), TEST_FEED_COPY);
}

/* Our output behind the handshake is whole frames, always. */
static void
check_output(const test_rig *rig)
{
    size_t at = SNI_GREETING_SIZE;

    SNI_ASSERT(rig->output_size >= SNI_GREETING_SIGNATURE);
    while (at < rig->output_size) {
        sni_frame_head head;
        size_t used;
        sni_parse parse = sni_frame_head_read(
            sni_bytes(rig->output + at, rig->output_size - at), &head, &used);

        SNI_ASSERT(parse != SNI_PARSE_BAD);
        if (parse == SNI_PARSE_MORE)
            break;
        at += used + (size_t)head.body_size;
    }
    /* A broken connection stops where it is. */
    SNI_ASSERT(at <= SNI_GREETING_SIZE || at == rig->output_size ||
               test_rig_reason(rig)[0] != '\0');
}

static outcome
run(const uint8_t *head, sennit_bytes in, size_t piece_max)
{
    test_rig_opts opts = TEST_RIG_DEFAULT((sennit_sock_type)(head[0] % 9));
    test_rng rng = { head[2] };
    test_alloc alloc;
    test_rig rig;
    outcome o;

    test_alloc_init(&alloc);
    SNI_ASSERT(test_rig_init(&rig, &alloc, &opts));
    SNI_ASSERT(test_rig_send(&rig, "begin", 5, true) == SENNIT_OK);
    SNI_ASSERT(test_rig_send(&rig, head, 4, false) == SENNIT_OK);
    feed_prelude(&rig, opts.type, head[1], head[3]);
    test_rig_feed_chopped(&rig, in, piece_max, &rng);
    SNI_ASSERT(alloc.peak_bytes <= 16 * (in.size + SNI_RECV_BYTES));
    SNI_ASSERT(sni_engine_unread(rig.engine) == 0);
    check_output(&rig);
    o = (outcome){ rig.events, rig.output, rig.output_size, "" };
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
 * output was taken; how many octets there are does not. */
static void
check_same(const outcome *a, const outcome *b)
{
    SNI_ASSERT(strcmp(a->events, b->events) == 0);
    SNI_ASSERT(strcmp(a->reason, b->reason) == 0);
    if (a->reason[0] == '\0')
        SNI_ASSERT(a->output_size == b->output_size);
}

void
test_engine_survives(const uint8_t *data, size_t size)
{
    outcome chopped;
    outcome bytes;

    if (size < 4)
        return;
    chopped = run(data, sni_bytes(data + 4, size - 4), 1 + data[2] * 16u);
    bytes = run(data, sni_bytes(data + 4, size - 4), 1);
    check_same(&chopped, &bytes);
    free(chopped.events);
    free(chopped.output);
    free(bytes.events);
    free(bytes.output);
}
