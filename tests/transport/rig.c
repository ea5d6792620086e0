/* SPDX-License-Identifier: MIT */
#include "rig.h"

#include "sennit_test.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "wire/command.h"
#include "wire/frame_v1.h"
#include "wire/greeting.h"
#include "wire/ready.h"

static void
room_for(void *array, size_t *capacity, size_t needed)
{
    if (!sni_grow(&sni_alloc_default, array, capacity, needed, 1))
        fail_msg("the test itself is out of memory");
}

/* Opens the engine of a rig whose surroundings are there. */
static bool
open_engine(test_rig *rig, const test_rig_opts *opts)
{
    sni_engine_cfg cfg = {
        .alloc = &rig->alloc->allocator,
        .windows = rig->windows,
        .bodies = &rig->bodies,
        .outq = &rig->outq,
        .type = opts->type,
        .publisher = opts->type == SENNIT_PUB || opts->type == SENNIT_XPUB,
        .admits = opts->admits,
        .handshake_timeout = opts->handshake_timeout,
        .frame_max_bytes = opts->frame_max_bytes,
        .message_max_bytes = opts->message_max_bytes,
        .message_max_parts = opts->message_max_parts,
        .peer = 7,
        .raw = opts->raw,
        .unversioned = opts->unversioned,
        .properties = opts->properties,
        .heartbeat_interval = opts->heartbeat_interval,
        .heartbeat_timeout = opts->heartbeat_timeout,
        .heartbeat_ttl_ds = opts->heartbeat_ttl_ds,
    };

    if (opts->identity != NULL)
        cfg.identity = sni_bytes(opts->identity, strlen(opts->identity));
    return sni_engine_open(&rig->engine, &cfg, rig->now) == SENNIT_OK;
}

static bool
set_up(test_rig *rig, test_alloc *alloc, const test_rig_opts *opts)
{
    rig->alloc = alloc;
    rig->now = 1000;
    room_for(&rig->events, &rig->events_capacity, 1);
    rig->events[0] = '\0';
    rig->windows = sni_pool_new(&alloc->allocator, SNI_RECV_BYTES, 4);
    sni_bodies_init(&rig->bodies, &alloc->allocator);
    rig->pools.small = sni_pool_new(&alloc->allocator, SNI_CHUNK_SMALL_BYTES, 4);
    rig->pools.large = sni_pool_new(&alloc->allocator, SNI_CHUNK_BYTES, 4);
    sni_outq_init(&rig->outq, &alloc->allocator, &rig->pools);
    rig->outq.raw = opts->raw;
    if (rig->windows == NULL || rig->pools.small == NULL || rig->pools.large == NULL)
        return false;
    return open_engine(rig, opts);
}

bool
test_rig_init(test_rig *rig, test_alloc *alloc, const test_rig_opts *opts)
{
    memset(rig, 0, sizeof *rig);
    return set_up(rig, alloc, opts);
}

void
test_rig_open(test_rig *rig, const test_rig_opts *opts)
{
    memset(rig, 0, sizeof *rig);
    test_alloc_init(&rig->own);
    assert_true(set_up(rig, &rig->own, opts));
}

size_t
test_rig_reconnect(test_rig *rig, const test_rig_opts *opts)
{
    size_t dropped;

    sni_engine_free(rig->engine);
    rig->engine = NULL;
    dropped = sni_outq_restart(&rig->outq);
    assert_true(open_engine(rig, opts));
    return dropped;
}

void
test_rig_fini(test_rig *rig)
{
    sni_engine_free(rig->engine);
    sni_outq_fini(&rig->outq);
    sni_pool_free(rig->pools.large);
    sni_pool_free(rig->pools.small);
    sni_bodies_fini(&rig->bodies);
    sni_pool_free(rig->windows);
    free(rig->events);
    free(rig->output);
}

void
test_rig_close(test_rig *rig)
{
    test_rig_fini(rig);
    assert_int_equal(rig->own.live_blocks, 0);
}

/* ---- notes ---------------------------------------------------------- */

static void
note(test_rig *rig, const char *text)
{
    size_t size = strlen(text);

    room_for(&rig->events, &rig->events_capacity, rig->events_size + size + 1);
    memcpy(rig->events + rig->events_size, text, size + 1);
    rig->events_size += size;
}

/* Short bodies in full, long ones as their size and a hash. */
static void
note_bytes(test_rig *rig, sennit_bytes bytes)
{
    char text[64];
    uint32_t hash = 2166136261u;

    if (bytes.size == 0) {
        note(rig, "-");
        return;
    }
    for (size_t i = 0; i < bytes.size; i++) {
        hash = (hash ^ bytes.data[i]) * 16777619u;
        if (bytes.size <= 24) {
            snprintf(text, sizeof text, "%02x", bytes.data[i]);
            note(rig, text);
        }
    }
    if (bytes.size > 24) {
        snprintf(text, sizeof text, "%zu#%08x", bytes.size, hash);
        note(rig, text);
    }
}

void
test_rig_note_frame(test_rig *rig, sennit_bytes body, bool more)
{
    note(rig, "MSG ");
    note_bytes(rig, body);
    note(rig, more ? "+; " : "; ");
}

static void
count_body(test_rig *rig, sennit_bytes body)
{
    rig->bytes_received += body.size;
    for (size_t i = 0; i < body.size; i++)
        rig->bytes_hash = (rig->bytes_hash ^ body.data[i]) * 16777619u;
}

static void
note_event(test_rig *rig, sni_engine_event *event)
{
    sennit_msg *msg = (sennit_msg *)(void *)&event->msg;

    switch (event->kind) {
    case SNI_ENGINE_READY:
        note(rig, "READY ");
        note_bytes(rig, sni_engine_identity(rig->engine));
        break;
    case SNI_ENGINE_MESSAGE:
        test_rig_note_frame(rig, sennit_msg_bytes(msg), sennit_msg_more(msg));
        assert_int_equal(sennit_msg_peer(msg), 7);
        rig->msgs_received += !sennit_msg_more(msg);
        count_body(rig, sennit_msg_bytes(msg));
        sennit_msg_fini(msg);
        return;
    case SNI_ENGINE_SUBSCRIBE:
    case SNI_ENGINE_CANCEL:
        note(rig, event->kind == SNI_ENGINE_SUBSCRIBE ? "SUB " : "CANCEL ");
        note_bytes(rig, event->topic);
        break;
    }
    note(rig, "; ");
}

void
test_rig_take_events(test_rig *rig)
{
    sni_engine_event event;

    while (sni_engine_next(rig->engine, &event))
        note_event(rig, &event);
}

size_t
test_rig_take_output(test_rig *rig, size_t max)
{
    sennit_bytes parts[SNI_SEND_PARTS];
    size_t count = sni_engine_output(rig->engine, parts, SNI_SEND_PARTS);
    size_t taken = 0;

    for (size_t i = 0; i < count && taken < max; i++) {
        size_t size = parts[i].size < max - taken ? parts[i].size : max - taken;

        assert_true(parts[i].size > 0);
        room_for(&rig->output, &rig->output_capacity, rig->output_size + size);
        memcpy(rig->output + rig->output_size, parts[i].data, size);
        rig->output_size += size;
        taken += size;
    }
    if (taken > 0)
        rig->msgs_ended += sni_engine_wrote(rig->engine, taken);
    return taken;
}

void
test_rig_write_out(test_rig *rig)
{
    while (test_rig_take_output(rig, SIZE_MAX) > 0)
        continue;
}

void
test_rig_forget(test_rig *rig)
{
    rig->output_size = 0;
    rig->events_size = 0;
    rig->events[0] = '\0';
}

/* ---- feeding -------------------------------------------------------- */

static sennit_err
feed_block(test_rig *rig, sennit_bytes in)
{
    sni_block *block = in.size <= SNI_RECV_BYTES
                           ? sni_pool_take(rig->windows)
                           : sni_block_new(&rig->alloc->allocator, in.size);
    sennit_err err;

    /* The octets must not get lost: let the engine find out. */
    if (block == NULL)
        return sni_engine_feed(rig->engine, in, NULL, rig->now);
    memcpy(block->data, in.data, in.size);
    err = sni_engine_feed(rig->engine, sni_bytes(block->data, in.size), block, rig->now);
    sni_block_unref(block);
    return err;
}

static sennit_err
feed_sink(test_rig *rig, sennit_bytes in)
{
    sennit_err err = SENNIT_OK;

    while (in.size > 0 && err == SENNIT_OK) {
        sni_engine_room room;
        size_t size;

        if (!sni_engine_sink(rig->engine, &room)) {
            size = in.size < SNI_RECV_BYTES ? in.size : SNI_RECV_BYTES;
            err = feed_block(rig, sni_bytes(in.data, size));
        } else {
            assert_true(room.size > 0);
            size = in.size < room.size ? in.size : room.size;
            memcpy(room.data, in.data, size);
            err = sni_engine_feed(rig->engine, sni_bytes(room.data, size), room.home,
                                  rig->now);
        }
        in = sni_bytes(in.data + size, in.size - size);
    }
    return err;
}

sennit_err
test_rig_feed(test_rig *rig, sennit_bytes in, test_feed how)
{
    if (in.size == 0)
        return sni_engine_feed(rig->engine, in, NULL, rig->now);
    switch (how) {
    case TEST_FEED_COPY:
        return sni_engine_feed(rig->engine, in, NULL, rig->now);
    case TEST_FEED_BLOCK:
        return feed_block(rig, in);
    case TEST_FEED_SINK:
        return feed_sink(rig, in);
    }
    return SENNIT_EINVAL;
}

void
test_rig_feed_cut(test_rig *rig, sennit_bytes in, size_t cut, test_feed how)
{
    if (cut > 0)
        (void)test_rig_feed(rig, sni_bytes(in.data, cut), how);
    test_rig_take_events(rig);
    if (cut < in.size)
        (void)test_rig_feed(rig, sni_bytes(in.data + cut, in.size - cut), how);
    test_rig_take_events(rig);
}

void
test_rig_feed_chopped(test_rig *rig, sennit_bytes in, size_t piece_max, test_rng *rng)
{
    while (in.size > 0) {
        size_t size = 1 + test_rng_below(rng, piece_max);

        if (size > in.size)
            size = in.size;
        if (test_rig_feed(rig, sni_bytes(in.data, size),
                          (test_feed)test_rng_below(rng, 3)))
            break;
        in = sni_bytes(in.data + size, in.size - size);
        if (test_rng_chance(rng, 50))
            test_rig_take_events(rig);
        if (test_rng_chance(rng, 50))
            test_rig_take_output(rig, 1 + test_rng_below(rng, 40));
    }
    test_rig_take_events(rig);
    test_rig_write_out(rig);
}

sennit_err
test_rig_send(test_rig *rig, const void *body, size_t size, bool more)
{
    sennit_msg msg;
    bool kept;
    sennit_err err;

    if (sennit_msg_init_copy(&msg, body, size) != SENNIT_OK)
        fail_msg("the test itself is out of memory");
    err = sni_outq_push(&rig->outq, sni_msg_of(&msg), more, &kept);
    sennit_msg_fini(&msg);
    return err;
}

/* Moves some of the output of `from`; false when there was none. */
static bool
carry(test_rig *from, test_rig *to, size_t piece_max, test_rng *rng)
{
    size_t before = from->output_size;
    size_t taken = test_rig_take_output(from, 1 + test_rng_below(rng, piece_max));

    if (taken == 0)
        return false;
    (void)test_rig_feed(to, sni_bytes(from->output + before, taken),
                        (test_feed)test_rng_below(rng, 3));
    if (test_rng_chance(rng, 70))
        test_rig_take_events(to);
    return true;
}

void
test_rig_exchange(test_rig *a, test_rig *b, size_t piece_max, test_rng *rng)
{
    bool moved = true;

    while (moved) {
        moved = carry(a, b, piece_max, rng);
        moved = carry(b, a, piece_max, rng) || moved;
    }
    test_rig_take_events(a);
    test_rig_take_events(b);
}

const char *
test_rig_reason(const test_rig *rig)
{
    const char *reason;

    (void)sni_engine_why(rig->engine, &reason);
    return reason;
}

/* ---- octets of a peer ------------------------------------------------ */

void
test_wire_add(test_wire *wire, const void *data, size_t size)
{
    room_for(&wire->data, &wire->capacity, wire->size + size + 1);
    if (size > 0)
        memcpy(wire->data + wire->size, data, size);
    wire->size += size;
}

void
test_wire_frame(test_wire *wire, const void *data, size_t size, bool more)
{
    uint8_t head[SNI_FRAME_HEAD_MAX];

    test_wire_add(wire, head, sni_frame_head_write(head, more, false, size));
    test_wire_add(wire, data, size);
}

void
test_wire_frame_v1(test_wire *wire, const void *data, size_t size, bool more)
{
    uint8_t head[SNI_FRAME_V1_HEAD_MAX];

    test_wire_add(wire, head, sni_frame_v1_head_write(head, more, size));
    test_wire_add(wire, data, size);
}

void
test_wire_command(test_wire *wire, const char *name, const void *data, size_t size)
{
    uint8_t *out = malloc(64 + size);

    assert_non_null(out);
    test_wire_add(wire, out, sni_command_write(out, name, sni_bytes(data, size)));
    free(out);
}

void
test_wire_greeting(test_wire *wire, uint8_t minor)
{
    uint8_t greeting[SNI_GREETING_SIZE];

    sni_greeting_write(greeting, "NULL");
    greeting[11] = minor;
    test_wire_add(wire, greeting, sizeof greeting);
}

void
test_wire_handshake(test_wire *wire, sennit_sock_type type, uint8_t minor)
{
    uint8_t ready[SNI_READY_MAX];

    test_wire_greeting(wire, minor);
    test_wire_add(wire, ready, sni_ready_write(ready, type, sni_bytes(NULL, 0)));
}

void
test_rig_hear(test_rig *rig, const test_wire *wire, test_feed how)
{
    assert_int_equal(test_rig_feed(rig, sni_bytes(wire->data, wire->size), how),
                     SENNIT_OK);
}

void
test_rig_open_traffic(test_rig *rig, const test_rig_opts *opts,
                      const test_wire *handshake)
{
    test_rig_open(rig, opts);
    if (handshake->size > 0)
        test_rig_hear(rig, handshake, TEST_FEED_COPY);
    test_rig_take_events(rig);
    test_rig_write_out(rig);
    assert_true(sni_engine_in_traffic(rig->engine));
    test_rig_forget(rig);
}

void
test_rig_meet(test_rig *rig, const test_rig_opts *opts, uint8_t minor)
{
    test_wire wire = { NULL, 0, 0 };

    test_wire_handshake(&wire, test_fitting_type(opts->type), minor);
    test_rig_open_traffic(rig, opts, &wire);
    free(wire.data);
}

void
test_rig_meet_as(test_rig *rig, sennit_sock_type ours)
{
    test_rig_opts opts = TEST_RIG_DEFAULT(ours);

    test_rig_meet(rig, &opts, 1);
}

sennit_sock_type
test_fitting_type(sennit_sock_type ours)
{
    static const sennit_sock_type fitting[] = {
        [SENNIT_PAIR] = SENNIT_PAIR,     [SENNIT_PUB] = SENNIT_SUB,
        [SENNIT_SUB] = SENNIT_PUB,       [SENNIT_REQ] = SENNIT_REP,
        [SENNIT_REP] = SENNIT_REQ,       [SENNIT_DEALER] = SENNIT_ROUTER,
        [SENNIT_ROUTER] = SENNIT_DEALER, [SENNIT_PULL] = SENNIT_PUSH,
        [SENNIT_PUSH] = SENNIT_PULL,     [SENNIT_XPUB] = SENNIT_SUB,
        [SENNIT_XSUB] = SENNIT_PUB,
    };

    return fitting[ours];
}
