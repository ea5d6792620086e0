/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_BASE_CHANNEL_H
#define SENNIT_BASE_CHANNEL_H

#include <stdatomic.h>

#include "base/msg.h"

/* Messages from one thread to one other, without a lock: a list of chunks, of which the
 * producer fills the last and the consumer empties the first. A message is seen when it
 * is finished, never a part of it. Each side says in a word of its own that it waits for
 * the other one, who takes that back and is told that it did: so a wake is never lost and
 * nobody is woken who is awake.
 *
 * A body of up to SNI_CHANNEL_COPY_MAX octets is copied into the chunk, and out of it
 * again by the consumer, in its own memory: nothing of a small message but its octets
 * passes from one processor's cache to the other's. Larger ones go by reference.
 *
 * Memory: `alloc` must serve any thread. */
typedef struct sni_channel_chunk sni_channel_chunk;

#define SNI_CHANNEL_COPY_MAX 1024u

/* Emptied chunks kept for the producer. They grow with what waits, from 4 KiB to 64 KiB:
 * a burst of as many messages as the default marks let through, of the largest bodies
 * that are copied, asks for no memory the second time. */
#define SNI_CHANNEL_SPARES 32u

/* What one side writes all the time is far from what is the other's. */
#define SNI_CHANNEL_APART 128

/* A full fence in every thread of the process that runs. False: there is none. */
typedef bool sni_channel_fence(void);

typedef struct sni_channel {
    const sennit_allocator *alloc;
    sni_channel_chunk *first; /* written before anything is published */
    sni_channel_fence *fence; /* see sni_channel_relax(); NULL: none */
    char apart_[SNI_CHANNEL_APART];

    /* The producer's. */
    sni_channel_chunk *last;
    uint8_t *fill;            /* where the next frame goes in it */
    uint8_t *end;             /* how far that may go */
    unsigned taken;           /* of `spares`, ever */
    unsigned streak;          /* messages since the consumer last slept, up to a bound */
    sni_channel_chunk *begun; /* where the message being written began: NULL is before
                                 the first chunk */
    uint8_t *begun_fill;
    uint64_t told; /* finished messages */
    uint64_t sent; /* messages that count, see sni_channel_sent() */
    uint64_t sent_bytes;
    uint64_t acked_seen; /* the last look at `acked` and its bytes */
    uint64_t acked_bytes_seen;
    char apart_too_[SNI_CHANNEL_APART];

    _Atomic uint64_t published; /* `told`, above a bit. The producer's to write */
    char also_apart_[SNI_CHANNEL_APART];

    _Atomic uint64_t asked; /* of the producer: bits, and where the consumer stopped */
    _Atomic(sni_channel_chunk *) spares[SNI_CHANNEL_SPARES];
    char still_apart_[SNI_CHANNEL_APART];

    _Atomic uint64_t acked; /* messages of `sent` that are gone, above one bit */
    _Atomic uint64_t acked_bytes;
    _Atomic uint64_t wake_at; /* `acked` at which a producer that waits is woken */

    /* The consumer's. */
    sni_channel_chunk *at;
    const uint8_t *read; /* the next frame in it */
    unsigned given;      /* to `spares`, ever */
    uint64_t known;      /* of `published` */
    uint64_t pulled;     /* whole messages */
    uint64_t unacked;    /* pulled and not yet told */
    uint64_t unacked_bytes;
} sni_channel;

void sni_channel_init(sni_channel *channel, const sennit_allocator *alloc);

/* Before the first message: with such a fence, which is the sleeper's to call, the
 * producer of a burst needs none for each message. One that fails keeps the consumer
 * awake. NULL: there is none. */
void sni_channel_relax(sni_channel *channel, sni_channel_fence *fence);

/* Nobody else uses it any more. What is in it is given back. */
void sni_channel_fini(sni_channel *channel);

/* What became of a message that was published. */
typedef enum sni_channel_fate {
    SNI_CHANNEL_QUEUED,
    SNI_CHANNEL_WAKE,  /* and the consumer sleeps: wake it */
    SNI_CHANNEL_CLOSED /* the consumer will not read it */
} sni_channel_fate;

/* ---- the producer's side ----------------------------------------------- */

/* Appends a frame of a message that is not published yet. Its `peer` comes out as it
 * goes in. The body may be borrowed if it is one to be copied.
 * Takes: `msg` on success. Errors: ENOMEM. */
sennit_err sni_channel_push(sni_channel *channel, sni_msg *msg, bool more);

/* The message that was pushed is whole. */
sni_channel_fate sni_channel_publish(sni_channel *channel);

/* Drops the frames that are not published. */
void sni_channel_rollback(sni_channel *channel);

/* So much was handed to the consumer, which will acknowledge it; only this is limited. */
void sni_channel_sent(sni_channel *channel, uint64_t msgs, uint64_t bytes);

/* Whether as much as the limits (0: none) is handed over and not acknowledged. If so, an
 * acknowledgement will say that we wait, when half of it is gone. */
bool sni_channel_full(sni_channel *channel, uint64_t msgs_max, uint64_t bytes_max);

/* With a limit of `msgs_max` (0: none) alone it is not full, by the last look, while less
 * than so many messages in all are handed over. */
static inline uint64_t
sni_channel_room_until(const sni_channel *channel, uint64_t msgs_max)
{
    return msgs_max == 0 ? UINT64_MAX : channel->acked_seen + msgs_max;
}

/* Whether nothing is handed over and not acknowledged. */
bool sni_channel_drained(const sni_channel *channel);

/* ---- the consumer's side ----------------------------------------------- */

/* Looks for what was published; gives the number of messages to pull. */
uint64_t sni_channel_look(sni_channel *channel);

/* Messages to pull, as of the last look. */
static inline uint64_t
sni_channel_unread(const sni_channel *channel)
{
    return channel->known - channel->pulled;
}

/* Takes the next frame into the EMPTY `msg`, in memory of `bodies` (NULL: of malloc).
 * Errors: EAGAIN (no message is known), ENOMEM (the frame stays). */
sennit_err sni_channel_pull(sni_channel *channel, sni_msg *msg, sni_bodies *bodies);

/* Drops what is known. */
void sni_channel_discard(sni_channel *channel);

/* Asks to be woken. False: there is more already. */
bool sni_channel_sleep(sni_channel *channel);

/* No more than what is published by now will be read; gives that as look does. */
uint64_t sni_channel_close(sni_channel *channel);

/* Tells what was acknowledged. True: the producer waits for that: wake it. */
bool sni_channel_tell_acked(sni_channel *channel);

/* Whether the producer waits for what is not told yet. May be behind. */
bool sni_channel_awaited(sni_channel *channel);

/* What was handed over is gone from here. It is told when `step` messages are (1: at
 * once). True: the producer waits for that: wake it. */
static inline bool
sni_channel_ack(sni_channel *channel, uint64_t msgs, uint64_t bytes, uint64_t step)
{
    channel->unacked += msgs;
    channel->unacked_bytes += bytes;
    if (channel->unacked < step && !sni_channel_awaited(channel))
        return false;
    return sni_channel_tell_acked(channel);
}

#endif /* SENNIT_BASE_CHANNEL_H */
