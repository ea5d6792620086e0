/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_ENGINE_ENGINE_H
#define SENNIT_ENGINE_ENGINE_H

#include "base/bodies.h"
#include "engine/outq.h"
#include "wire/socktype.h"

/* One ZMTP connection as a pure state machine: bytes and time in, bytes and
 * events out. It reads no clock, socket or random source, never calls back, never
 * blocks, and allocates only through its configuration. It is the only path from
 * bytes to messages: for tcp and ipc, for tests, for fuzzers, for the simulator.
 *
 *   GREETING --64 octets--> HANDSHAKE --READY--> TRAFFIC
 *       \_______________________\____________________\__> BROKEN (remembers why)
 *
 * A peer of ZMTP 2.0 or 1.0 greets with fewer octets, and a frame with its identity is
 * its READY. A raw connection begins in TRAFFIC. What differs by version stays in here.
 *
 * Received bytes stay where the kernel put them. feed() looks at every frame head
 * once (liveness, limits, control), next() hands the frames out one by one when
 * the application asks: there is no queue of parsed messages. */
typedef struct sni_engine sni_engine;

typedef struct sni_engine_cfg {
    const sennit_allocator *alloc;
    sni_pool *windows; /* receive blocks of SNI_RECV_BYTES */
    sni_bodies *bodies;
    sni_outq *outq; /* data to send; borrowed, may hold messages already;
                       NULL: none until sni_engine_set_outq() */
    sennit_sock_type type;
    sennit_bytes identity; /* ours; borrowed until open returns */
    bool admits;           /* our READY waits for sni_engine_admit(), see there */
    bool publisher;        /* SUBSCRIBE and CANCEL are events, not noise; 01 or 00 and a
                              topic, as older peers say it, is a message like others */
    bool raw;         /* STREAM: no ZMTP, READY at once, what one feed() brings is one
                         message of one frame; the outq is raw too */
    bool unversioned; /* speak ZMTP 1.0 to a peer without signature */
    sennit_bytes properties; /* metadata for our READY, encoded, behind Socket-Type and
                                Identity; borrowed until open returns */
    sennit_time heartbeat_interval; /* ns between PINGs, to peers of 3.1; 0: none */
    sennit_time heartbeat_timeout;  /* ns from a PING to the next byte; 0: none */
    uint16_t heartbeat_ttl_ds;      /* what our PINGs say */
    sennit_time handshake_timeout;  /* ns from open to READY; 0: none */
    uint64_t frame_max_bytes;       /* 0: no limit, for these three */
    uint64_t message_max_bytes;
    uint32_t message_max_parts;
    uint32_t peer; /* stamped on each message */
} sni_engine_cfg;

typedef enum sni_engine_event_kind {
    SNI_ENGINE_READY,     /* handshake done; sni_engine_identity() is set */
    SNI_ENGINE_MESSAGE,   /* one frame of a message whose frames are all here */
    SNI_ENGINE_SUBSCRIBE, /* publisher: topic; of an unversioned peer one
                             of everything right after READY */
    SNI_ENGINE_CANCEL,    /* publisher: topic */
} sni_engine_event_kind;

typedef struct sni_engine_event {
    sni_engine_event_kind kind;
    sni_msg msg;        /* MESSAGE: owned by the caller now */
    sennit_bytes topic; /* borrowed until the next call on the engine */
} sni_engine_event;

/* Errors: ENOMEM. */
sennit_err sni_engine_open(sni_engine **out, const sni_engine_cfg *cfg, sennit_time now);

/* The peer is one of the socket's: lets our READY (our identity frame) out. With
 * cfg.admits it is held back until then, so that a peer that is refused (its identity is
 * taken, a PAIR has one already) never believes itself connected, and keeps what it would
 * have sent. Connecting ends do not wait, so nobody waits for each other. Errors: ENOMEM.
 */
sennit_err sni_engine_admit(sni_engine *engine);

/* For an accepted peer, whose queue is made when its handshake is done. */
void sni_engine_set_outq(sni_engine *engine, sni_outq *outq);

/* NULL is a no-op. The outq stays its owner's. */
void sni_engine_free(sni_engine *engine);

/* Room to receive into without a copy: the end of the window that holds a frame
 * not yet whole. False when there is none: receive into any block and feed that.
 * A window grows only as its frame arrives, see SNI_RECV_GROWTH. A raw one does not
 * grow beyond SNI_RECV_BYTES: with something unread, do not receive without spare. */
typedef struct sni_engine_room {
    uint8_t *data;
    size_t size;
    sni_block *home; /* pass it to feed() */
} sni_engine_room;
bool sni_engine_sink(sni_engine *engine, sni_engine_room *room);

/* Room at the end of the window as it is; 0 when there is no window, when it is raw and
 * full, or when it ends with a large frame that was not read: what follows is not to move
 * it. */
size_t sni_engine_spare(const sni_engine *engine);

/* Bytes from the peer; empty means end of stream. `home` is the block they lie in
 * (the engine takes a reference if it keeps them), or NULL: they are copied.
 * Call next() until false, and output(), after it.
 * Errors: the reason the engine is BROKEN, now or before; whole messages received
 * until then can still be taken with next(). */
sennit_err sni_engine_feed(sni_engine *engine, sennit_bytes in, sni_block *home,
                           sennit_time now);

/* Takes the next event; false when there is none. */
bool sni_engine_next(sni_engine *engine, sni_engine_event *event);

/* The same when it is READY and no publisher's, so that only messages are left: one frame
 * into the EMPTY `msg`. */
bool sni_engine_take(sni_engine *engine, sni_msg *msg);

/* Whole messages next() would hand out. */
size_t sni_engine_unread(const sni_engine *engine);

/* Queues SUBSCRIBE or CANCEL on the control lane, in the form the peer's version
 * takes. Only in TRAFFIC. Errors: ENOMEM. */
sennit_err sni_engine_send(sni_engine *engine, sni_engine_event_kind kind,
                           sennit_bytes topic);

/* Queues one message of one frame on the control lane, so that it goes out before what
 * the outq holds. Only in TRAFFIC, before the first data. Errors: ENOMEM. */
sennit_err sni_engine_greet(sni_engine *engine, sennit_bytes body);

/* Views of what is to be written now, in order; 0 when there is nothing. Valid
 * until the next call on the engine or its outq, except that messages may be
 * pushed onto the outq. One batch at a time: wrote() before the next output(). */
size_t sni_engine_output(sni_engine *engine, sennit_bytes *parts, size_t parts_max);

/* No output() gives more views than that now. */
size_t sni_engine_output_bound(const sni_engine *engine);

/* `size` bytes of the last output were written. Returns how many messages ended. */
size_t sni_engine_wrote(sni_engine *engine, size_t size);

/* Nothing will be written any more, while input is still read: no PING is answered or
 * due, and no silence counts. */
void sni_engine_mute(sni_engine *engine);

/* When tick() must be called, or SENNIT_NEVER; may change after any call. 0 is at once:
 * what has just begun begins to count with it. `hearing`: silence would be the peer's.
 * While it is false (we do not read, or the peer does not) no deadline for hearing from
 * it counts, and when it is true again they begin anew; PINGs are due twice as often,
 * because no PONG says that we live. So call it whenever that changes. */
sennit_time sni_engine_deadline(sni_engine *engine, bool hearing);

/* Early calls do nothing. See output() after it: it may have queued a PING.
 * Errors: as feed. */
sennit_err sni_engine_tick(sni_engine *engine, sennit_time now, bool hearing);

/* OK, or why it is BROKEN and static text for people. A peer's ERROR is EACCES, and its
 * code is named if it is 300, 400 or 500; other text of it is not repeated. */
sennit_err sni_engine_why(const sni_engine *engine, const char **reason);

/* The peer's identity, from READY; empty when it has none. */
sennit_bytes sni_engine_identity(const sni_engine *engine);

/* What else is known of the peer once READY. A raw one has version 0.0. */
typedef struct sni_engine_peer {
    int type; /* sennit_sock_type; -1: it told none, as 1.0 peers without a version */
    uint8_t major;
    uint8_t minor;
} sni_engine_peer;
sni_engine_peer sni_engine_peer_of(const sni_engine *engine);

/* A property of its READY beyond Socket-Type and Identity, by name without regard to
 * case; false: it sent none. */
bool sni_engine_property(const sni_engine *engine, sennit_bytes name,
                         sennit_bytes *value);

/* Bytes received and not yet handed out. */
size_t sni_engine_unread_bytes(const sni_engine *engine);

/* Whether something is on the control lane: greeting, READY, PONG, subscriptions. */
bool sni_engine_control_waiting(const sni_engine *engine);

bool sni_engine_in_traffic(const sni_engine *engine);

#endif /* SENNIT_ENGINE_ENGINE_H */
