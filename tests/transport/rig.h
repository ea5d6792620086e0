/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_TEST_RIG_H
#define SENNIT_TEST_RIG_H

#include "engine/engine.h"
#include "fail_alloc.h"
#include "rng.h"

/* One engine with everything around it that a session would bring: pools, output
 * queue, clock. What it does is written down, so that two runs can be compared:
 * events as text, output as bytes. The notes themselves use plain malloc, so they
 * do not disturb the counts of the allocator under test. */
typedef struct test_rig {
    test_alloc own;
    test_alloc *alloc; /* what it was given, or `own` */
    sni_pool *windows;
    sni_bodies bodies;
    sni_chunk_pools pools;
    sni_outq outq;
    sni_engine *engine; /* NULL: no memory to open it */
    sennit_time now;

    char *events; /* "READY 6162; MSG 68692b; MSG 68; SUB 61; CANCEL -; " */
    size_t events_size;
    size_t events_capacity;
    uint8_t *output;
    size_t output_size;
    size_t output_capacity;
    size_t msgs_received; /* whole messages next() gave */
    size_t bytes_received;
    uint32_t bytes_hash; /* of the bodies, one behind the other */
    size_t msgs_ended;   /* as wrote() told */
} test_rig;

typedef struct test_rig_opts {
    sennit_sock_type type;
    const char *identity; /* NULL: none */
    sennit_time handshake_timeout;
    uint64_t frame_max_bytes;
    uint64_t message_max_bytes;
    uint32_t message_max_parts;
    bool admits; /* our READY waits for sni_engine_admit() */
    bool raw;
    bool unversioned;
    sennit_bytes properties;
    sennit_time heartbeat_interval;
    sennit_time heartbeat_timeout;
    uint16_t heartbeat_ttl_ds;
} test_rig_opts;

/* The limits a socket has by default. */
#define TEST_RIG_DEFAULT(sock_type)                                                      \
    {                                                                                    \
        .type = (sock_type), .handshake_timeout = UINT64_C(30000000000),                 \
        .frame_max_bytes = UINT64_C(1) << 30, .message_max_bytes = UINT64_C(2) << 30,    \
        .message_max_parts = 1u << 16                                                    \
    }

/* False when memory ran out; fini is due all the same. */
bool test_rig_init(test_rig *rig, test_alloc *alloc, const test_rig_opts *opts);
void test_rig_fini(test_rig *rig);

/* The same with an allocator of its own; closing checks that it got everything back. */
void test_rig_open(test_rig *rig, const test_rig_opts *opts);
void test_rig_close(test_rig *rig);

/* The connection is gone and there is another, over the same queue. Returns how many
 * messages were lost with it. */
size_t test_rig_reconnect(test_rig *rig, const test_rig_opts *opts);

/* How bytes reach the engine: without a home, in a block of their own, or as a
 * backend does it, into the engine's own window where it offers room. */
typedef enum test_feed { TEST_FEED_COPY, TEST_FEED_BLOCK, TEST_FEED_SINK } test_feed;

/* Feeds all of `in` as one receive (SINK: as few as there is room for). An empty
 * `in` is the end of the stream. Returns the engine's answer. */
sennit_err test_rig_feed(test_rig *rig, sennit_bytes in, test_feed how);

/* Takes all events, or everything that is to be written (at most `max` bytes of
 * it; returns how many). */
void test_rig_take_events(test_rig *rig);
size_t test_rig_take_output(test_rig *rig, size_t max);

/* Feeds `in` in two pieces, of which one may be empty, and takes the events behind each.
 * Whether it was taken, test_rig_reason() tells. */
void test_rig_feed_cut(test_rig *rig, sennit_bytes in, size_t cut, test_feed how);

/* Feeds `in` cut in random pieces in random ways, taking events and output at
 * random moments, and all of it at the end. */
void test_rig_feed_chopped(test_rig *rig, sennit_bytes in, size_t piece_max,
                           test_rng *rng);

/* Writes everything that is to be written. */
void test_rig_write_out(test_rig *rig);

/* Forgets events and output so far. */
void test_rig_forget(test_rig *rig);

/* Puts a message of one frame on the output queue. */
sennit_err test_rig_send(test_rig *rig, const void *body, size_t size, bool more);

/* Moves what one wants to write to the other and back until both are quiet. */
void test_rig_exchange(test_rig *a, test_rig *b, size_t piece_max, test_rng *rng);

/* Notes a frame as if it had been received; works on a rig that was never opened
 * ({ 0 }), whose `events` the caller frees. */
void test_rig_note_frame(test_rig *rig, sennit_bytes body, bool more);

/* Why it is broken, "" when it is not. */
const char *test_rig_reason(const test_rig *rig);

/* Octets of a peer, put together. */
typedef struct test_wire {
    uint8_t *data;
    size_t size;
    size_t capacity;
} test_wire;

void test_wire_add(test_wire *wire, const void *data, size_t size);
void test_wire_frame(test_wire *wire, const void *data, size_t size, bool more);
void test_wire_frame_v1(test_wire *wire, const void *data, size_t size, bool more);
void test_wire_command(test_wire *wire, const char *name, const void *data, size_t size);

/* A greeting of 3.`minor`. */
void test_wire_greeting(test_wire *wire, uint8_t minor);

/* The same, then READY. */
void test_wire_handshake(test_wire *wire, sennit_sock_type type, uint8_t minor);

/* Feeds all of it; it must be taken. */
void test_rig_hear(test_rig *rig, const test_wire *wire, test_feed how);

/* Opens a rig and brings it into traffic with a peer that sent `handshake`; everything
 * so far is forgotten. */
void test_rig_open_traffic(test_rig *rig, const test_rig_opts *opts,
                           const test_wire *handshake);

/* The same with a peer of ZMTP 3.`minor` and the fitting type. */
void test_rig_meet(test_rig *rig, const test_rig_opts *opts, uint8_t minor);

/* The same with a peer of 3.1, as TEST_RIG_DEFAULT(ours). */
void test_rig_meet_as(test_rig *rig, sennit_sock_type ours);

/* The type that talks to this one. */
sennit_sock_type test_fitting_type(sennit_sock_type ours);

#endif /* SENNIT_TEST_RIG_H */
