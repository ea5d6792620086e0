/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_BASE_CHANNEL_H
#define SENNIT_BASE_CHANNEL_H

#include <stdatomic.h>

#include "base/msg.h"

/* Messages from one thread to one other, without a lock: a list of chunks, of which the
 * producer fills the last and the consumer empties the first. A message is seen when it
 * is finished, never a part of it. Each side says in its own counter, by a bit, that it
 * waits for the other one, and the other one clears that bit and is told that it did: so
 * a wake is never lost and nobody is woken who is awake.
 *
 * Memory: `alloc` must serve any thread. */
typedef struct sni_channel_chunk sni_channel_chunk;

/* Emptied chunks kept for the producer, of 63 frames each: a burst of as many messages as
 * the default marks let through asks for no memory the second time. */
#define SNI_CHANNEL_SPARES 16u

typedef struct sni_channel {
    const sennit_allocator *alloc;
    sni_channel_chunk *first; /* written before anything is published */

    /* The producer's. */
    sni_channel_chunk *last;
    unsigned filled;          /* frames in it */
    unsigned taken;           /* of `spares`, ever */
    sni_channel_chunk *begun; /* where the message being written began: NULL is before
                                 the first chunk */
    unsigned begun_filled;
    uint64_t sent; /* messages that count, see sni_channel_sent() */
    uint64_t sent_bytes;
    uint64_t acked_seen; /* the last look at `acked` and its bytes */
    uint64_t acked_bytes_seen;

    char apart_[64]; /* what one side writes all the time is far from the other's */

    _Atomic uint64_t published; /* finished messages, above two bits */
    _Atomic(sni_channel_chunk *) spares[SNI_CHANNEL_SPARES];
    _Atomic uint64_t wake_at; /* `acked` at which a producer that waits is woken */

    char apart_too_[64];

    _Atomic uint64_t acked; /* messages of `sent` that are gone, above one bit */
    _Atomic uint64_t acked_bytes;

    /* The consumer's. */
    sni_channel_chunk *at;
    unsigned emptied; /* frames of it */
    unsigned given;   /* to `spares`, ever */
    uint64_t known;   /* of `published` */
    uint64_t pulled;  /* whole messages */
    uint64_t unacked; /* pulled and not yet told */
    uint64_t unacked_bytes;
} sni_channel;

void sni_channel_init(sni_channel *channel, const sennit_allocator *alloc);

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
 * goes in. Takes: `msg` on success. Errors: ENOMEM. */
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

/* Takes the next frame into the EMPTY `msg`. False: no message is known. */
bool sni_channel_pull(sni_channel *channel, sni_msg *msg);

/* Asks to be woken. False: there is more already. */
bool sni_channel_sleep(sni_channel *channel);

/* No more than what is published by now will be read; gives that as look does. */
uint64_t sni_channel_close(sni_channel *channel);

/* What was handed over is gone from here. It is told when `step` messages are (1: at
 * once). True: the producer waits for that: wake it. */
bool sni_channel_ack(sni_channel *channel, uint64_t msgs, uint64_t bytes, uint64_t step);

#endif /* SENNIT_BASE_CHANNEL_H */
