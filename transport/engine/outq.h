/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_ENGINE_OUTQ_H
#define SENNIT_ENGINE_OUTQ_H

#include "base/msg.h"

/* Messages waiting for one peer, already framed as ZMTP 3 frames: the queue IS
 * the batch that goes to the kernel. It belongs to the pipe and outlives the
 * connection: what was not begun goes out on the next one. */

/* Where frame heads and small bodies are copied: the end of a block. */
typedef struct sni_chunk {
    sni_block *block; /* one reference, or NULL */
    size_t used;
} sni_chunk;

/* Rings of the first size, which empty queues have given back: a peer that was sent
 * something once, and is idle, keeps none. Zero it first; it is the owner's of the
 * queues, and no other thread's. */
typedef struct sni_rings {
    union sni_segment_ring *first;
    unsigned count;
} sni_rings;

void sni_rings_fini(sni_rings *rings, const sennit_allocator *alloc);

/* Chunk storage of a loop. A queue begins with a small one, so that thousands of
 * peers with a message each cost a page each, and goes on with large ones. */
typedef struct sni_chunk_pools {
    sni_pool *small;
    sni_pool *large;
    sni_rings *rings; /* NULL: a queue keeps its own */
} sni_chunk_pools;

/* One frame, encoded once and shareable between queues: head (and small body) in
 * a chunk, a large body where it was. Borrowed references: valid while the chunk
 * and the message it was made from are. */
typedef struct sni_encoded {
    sni_block *block;
    size_t begin;
    size_t end;
    sni_block *body_block; /* NULL: the body is in the chunk */
    uint8_t *body;
    size_t body_size;
    bool more;
} sni_encoded;

/* Encodes one frame into `chunk`, which is renewed from `pools` when it is full.
 * Errors: ENOMEM. */
sennit_err sni_chunk_encode(sni_chunk *chunk, const sni_chunk_pools *pools,
                            const sni_msg *msg, bool more, sni_encoded *out);

void sni_chunk_fini(sni_chunk *chunk);

typedef struct sni_segment {
    sni_block *block; /* one reference */
    size_t origin;    /* the frame boundary at or before begin */
    size_t begin;     /* [origin, begin) is written, [begin, end) waits */
    size_t end;
    sennit_time at; /* when it was begun, if the queue keeps time: all messages that
                       begin in it were pushed then, or less than `grain` later */
    uint32_t msgs;  /* messages whose last byte is in [begin, end) */
    bool body;      /* no head in it: the rest of a frame whose head is in the segment
                       before, or a frame of a raw queue */
    bool goes_on;   /* it is a body, and the next segment has more of it */
    bool msg_end;   /* its last byte ends a message */
} sni_segment;      /* law: origin <= begin < end <= block's capacity */

typedef struct sni_outq {
    const sennit_allocator *alloc;
    const sni_chunk_pools *pools;
    sni_segment *ring; /* NULL: none yet, or given back when the queue was empty */
    size_t capacity;
    size_t first;
    size_t count;
    sni_chunk chunk;
    size_t bytes;      /* waiting, heads included */
    size_t msgs;       /* finished messages waiting */
    size_t open_bytes; /* appended of the newest message while it is not finished */
    bool front_inside; /* the first segment's origin lies inside a message */
    bool open;         /* the newest message is not finished */
    bool swallow;      /* the rest of the newest message is to be dropped */
    bool doomed;     /* ... or never will be: abandoned when it could not be taken back */
    bool raw;        /* bodies only, without frame heads (STREAM); set before the first
                        push */
    size_t lent;     /* bytes from the front whose views the kernel may hold: those of
                        the last parts(), until wrote() */
    sennit_time now; /* stamped on what is pushed; the caller sets it. 0: keeps no time */
    sennit_time grain; /* a new segment begins when it moved on by this much */
} sni_outq;            /* law: lent <= bytes, msgs <= bytes */

void sni_outq_init(sni_outq *queue, const sennit_allocator *alloc,
                   const sni_chunk_pools *pools);

/* Empties it; it may be used again, and is raw and keeps time as before. */
void sni_outq_fini(sni_outq *queue);

/* Appends one frame of a message. Never takes `msg`: a large body is referenced. In a
 * raw queue an empty frame appends nothing, and a message without a byte does not count.
 * `*kept` tells whether the frame will be sent; false when the beginning of its
 * message was lost with a connection, so that the rest is dropped.
 * Errors: ENOMEM (the queue is as before). */
sennit_err sni_outq_push(sni_outq *queue, const sni_msg *msg, bool more, bool *kept);

/* The same for a frame that is encoded already; not into a raw queue. */
sennit_err sni_outq_push_encoded(sni_outq *queue, const sni_encoded *encoded, bool *kept);

/* Whether the queue already holds so many pieces that one more, which does not
 * continue the last, is better copied than referenced: each keeps its whole chunk. */
bool sni_outq_scattered(const sni_outq *queue, const sni_encoded *encoded);

/* There is no memory for a frame of the newest message, and none of it will follow: takes
 * back its frames. False when it is partly written or lent, so that only the end of the
 * connection can drop it: until restart() all that is pushed is dropped. Either way its
 * caller counts it. */
bool sni_outq_abandon(sni_outq *queue);

/* Views of what waits, from the front, `skip` bytes left out; at most `parts_max`
 * of them, and no more than `bytes_max` bytes beyond the first view. All up to the end of
 * the last view, what was skipped too, is lent now, and nothing else. */
size_t sni_outq_parts(sni_outq *queue, size_t skip, sennit_bytes *parts, size_t parts_max,
                      size_t bytes_max);

/* Bytes from the front to the next frame boundary; 0 when the front is one. */
size_t sni_outq_to_boundary(const sni_outq *queue);

/* Takes `size` written bytes off the front; returns how many messages ended. Nothing is
 * lent after it: 0 tells only that the kernel gave back what it held. */
size_t sni_outq_wrote(sni_outq *queue, size_t size);

/* Drops the oldest whole message of which no byte is written or lent. False: there is
 * none, or no memory to cut a segment in two; memory is never missing for the first cut
 * after a push. */
bool sni_outq_drop_oldest(sni_outq *queue);

/* The same for the oldest such message whose first frame is `topic`. Looks at every
 * waiting message. What stays between dropped ones goes on holding its chunk. */
bool sni_outq_drop_topic(sni_outq *queue, sennit_bytes topic);

/* The same for all whole messages in segments stamped before `before`; returns their
 * number. */
size_t sni_outq_drop_before(sni_outq *queue, sennit_time before);

/* Stamp of the oldest whole message that could be dropped, or SENNIT_NEVER. */
sennit_time sni_outq_oldest_at(const sni_outq *queue);

/* The same if nothing were lent. */
sennit_time sni_outq_oldest_unbegun_at(const sni_outq *queue);

/* Bytes of the whole messages that could be dropped. */
size_t sni_outq_loose_bytes(const sni_outq *queue);

/* The connection is gone: drops the rest of a message that was begun, so that the
 * front is a message boundary again. Returns the number of messages dropped, without an
 * abandoned one. */
size_t sni_outq_restart(sni_outq *queue);

#endif /* SENNIT_ENGINE_OUTQ_H */
