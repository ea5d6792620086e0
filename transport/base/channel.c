/* SPDX-License-Identifier: MIT */
/* Law of the counters: acked <= sent, pulled <= known <= published.
 *
 * `published` carries SLEEPS (the consumer's word: there was nothing when it looked) and
 * CLOSED (it will not look again). The consumer sets SLEEPS by comparing and swapping the
 * whole word, so it sleeps only on what it knows; the producer counts and sees the bits
 * in one step. `acked` carries WAITS the other way round. */
#include "base/channel.h"

#include "base/alloc.h"
#include "base/assert.h"

#define CHUNK_FRAMES 63u /* and a pointer: 4 KiB */

#define SLEEPS  UINT64_C(1)
#define CLOSED  UINT64_C(2)
#define MESSAGE UINT64_C(4) /* one, in `published` */

#define WAITS UINT64_C(1)
#define ACK   UINT64_C(2) /* one, in `acked` */

struct sni_channel_chunk {
    sni_channel_chunk *next;
    sni_msg frames[CHUNK_FRAMES];
};

void
sni_channel_init(sni_channel *channel, const sennit_allocator *alloc)
{
    *channel = (sni_channel){ .alloc = alloc };
    atomic_init(&channel->published, 0);
    for (unsigned i = 0; i < SNI_CHANNEL_SPARES; i++)
        atomic_init(&channel->spares[i], NULL);
    atomic_init(&channel->wake_at, 0);
    atomic_init(&channel->acked, 0);
    atomic_init(&channel->acked_bytes, 0);
}

void
sni_channel_fini(sni_channel *channel)
{
    sni_channel_chunk *chunk = channel->at != NULL ? channel->at : channel->first;
    unsigned from = channel->emptied;

    while (chunk != NULL) {
        bool last = chunk == channel->last;
        unsigned end = last ? channel->filled : CHUNK_FRAMES;
        sni_channel_chunk *next = last ? NULL : chunk->next;

        for (unsigned i = from; i < end; i++)
            sni_block_unref(sni_msg_block(&chunk->frames[i]));
        from = 0;
        sni_release(channel->alloc, chunk);
        chunk = next;
    }
    for (unsigned i = 0; i < SNI_CHANNEL_SPARES; i++)
        sni_release(channel->alloc, atomic_load(&channel->spares[i]));
    sni_channel_init(channel, channel->alloc);
}

/* ---- the producer's side ----------------------------------------------- */

/* In the order in which they were given; NULL: there is none. */
static sni_channel_chunk *
take_spare(sni_channel *channel)
{
    _Atomic(sni_channel_chunk *) *place =
        &channel->spares[channel->taken % SNI_CHANNEL_SPARES];
    sni_channel_chunk *chunk = atomic_load_explicit(place, memory_order_acquire);

    if (chunk == NULL)
        return NULL;
    atomic_store_explicit(place, NULL, memory_order_release);
    channel->taken++;
    return chunk;
}

static bool
add_chunk(sni_channel *channel)
{
    sni_channel_chunk *chunk = take_spare(channel);

    if (chunk == NULL)
        chunk = sni_acquire(channel->alloc, sizeof *chunk);
    if (chunk == NULL)
        return false;
    if (channel->last != NULL)
        channel->last->next = chunk;
    else
        channel->first = chunk;
    channel->last = chunk;
    channel->filled = 0;
    return true;
}

sennit_err
sni_channel_push(sni_channel *channel, sni_msg *msg, bool more)
{
    sni_msg *to;

    if ((channel->last == NULL || channel->filled == CHUNK_FRAMES) && !add_chunk(channel))
        return SENNIT_ENOMEM;
    to = &channel->last->frames[channel->filled++];
    *to = *msg;
    to->more = more;
    sennit_msg_init(sni_msg_public(msg));
    return SENNIT_OK;
}

sni_channel_fate
sni_channel_publish(sni_channel *channel)
{
    uint64_t before;

    channel->begun = channel->last;
    channel->begun_filled = channel->filled;
    before =
        atomic_fetch_add_explicit(&channel->published, MESSAGE, memory_order_acq_rel);
    if (before & CLOSED)
        return SNI_CHANNEL_CLOSED;
    if (!(before & SLEEPS))
        return SNI_CHANNEL_QUEUED;
    atomic_fetch_and_explicit(&channel->published, ~SLEEPS, memory_order_acq_rel);
    return SNI_CHANNEL_WAKE;
}

void
sni_channel_rollback(sni_channel *channel)
{
    sni_channel_chunk *chunk = channel->begun;
    unsigned from = channel->begun_filled;

    if (channel->last == NULL)
        return;
    /* The first chunk stays: the consumer may begin there. */
    if (chunk == NULL)
        chunk = channel->first;
    for (sni_channel_chunk *at = chunk; at != NULL;) {
        bool last = at == channel->last;
        unsigned end = last ? channel->filled : CHUNK_FRAMES;
        sni_channel_chunk *next = last ? NULL : at->next;

        for (unsigned i = from; i < end; i++)
            sni_block_unref(sni_msg_block(&at->frames[i]));
        from = 0;
        if (at != chunk)
            sni_release(channel->alloc, at);
        at = next;
    }
    channel->last = chunk;
    channel->filled = channel->begun_filled;
}

void
sni_channel_sent(sni_channel *channel, uint64_t msgs, uint64_t bytes)
{
    channel->sent += msgs;
    channel->sent_bytes += bytes;
}

static bool
over(const sni_channel *channel, uint64_t msgs_max, uint64_t bytes_max)
{
    return (msgs_max != 0 && channel->sent - channel->acked_seen >= msgs_max) ||
           (bytes_max != 0 &&
            channel->sent_bytes - channel->acked_bytes_seen >= bytes_max);
}

bool
sni_channel_full(sni_channel *channel, uint64_t msgs_max, uint64_t bytes_max)
{
    uint64_t word;

    if (!over(channel, msgs_max, bytes_max))
        return false;
    word = atomic_load_explicit(&channel->acked, memory_order_acquire);
    do {
        channel->acked_seen = word / ACK;
        channel->acked_bytes_seen =
            atomic_load_explicit(&channel->acked_bytes, memory_order_relaxed);
        if (!over(channel, msgs_max, bytes_max))
            return false;
        if (word & WAITS)
            return true;
        /* What is full by its bytes may be so with a single message. */
        atomic_store_explicit(&channel->wake_at,
                              bytes_max != 0 ? channel->acked_seen + 1
                                             : channel->sent - msgs_max / 2,
                              memory_order_relaxed);
    } while (!atomic_compare_exchange_weak_explicit(&channel->acked, &word, word | WAITS,
                                                    memory_order_acq_rel,
                                                    memory_order_acquire));
    return true;
}

bool
sni_channel_drained(const sni_channel *channel)
{
    return atomic_load_explicit(&channel->acked, memory_order_relaxed) / ACK ==
           channel->sent;
}

/* ---- the consumer's side ----------------------------------------------- */

uint64_t
sni_channel_look(sni_channel *channel)
{
    uint64_t word = atomic_load_explicit(&channel->published, memory_order_acquire);

    /* Once closed, what came after that is not ours. */
    if (!(word & CLOSED))
        channel->known = word / MESSAGE;
    return sni_channel_unread(channel);
}

/* The chunk is empty: the producer may have it again. */
static void
next_chunk(sni_channel *channel)
{
    sni_channel_chunk *chunk = channel->at;
    _Atomic(sni_channel_chunk *) *place =
        &channel->spares[channel->given % SNI_CHANNEL_SPARES];

    channel->at = chunk->next;
    channel->emptied = 0;
    if (atomic_load_explicit(place, memory_order_acquire) != NULL) {
        sni_release(channel->alloc, chunk);
        return;
    }
    atomic_store_explicit(place, chunk, memory_order_release);
    channel->given++;
}

bool
sni_channel_pull(sni_channel *channel, sni_msg *msg)
{
    if (channel->known == channel->pulled)
        return false;
    if (channel->at == NULL)
        channel->at = channel->first;
    else if (channel->emptied == CHUNK_FRAMES)
        next_chunk(channel);
    *msg = channel->at->frames[channel->emptied++];
    channel->pulled += !msg->more;
    return true;
}

bool
sni_channel_sleep(sni_channel *channel)
{
    uint64_t word = channel->known * MESSAGE;

    SNI_ASSERT(channel->known == channel->pulled);
    if (atomic_compare_exchange_strong_explicit(&channel->published, &word, word | SLEEPS,
                                                memory_order_acq_rel,
                                                memory_order_acquire))
        return true;
    /* It sleeps already, or is closed. */
    if (word & (SLEEPS | CLOSED))
        return true;
    channel->known = word / MESSAGE;
    return false;
}

uint64_t
sni_channel_close(sni_channel *channel)
{
    uint64_t before =
        atomic_fetch_or_explicit(&channel->published, CLOSED, memory_order_acq_rel);

    if (!(before & CLOSED))
        channel->known = before / MESSAGE;
    return sni_channel_unread(channel);
}

/* Whether the producer waits for what is not acknowledged yet. May be behind. */
static bool
is_awaited(sni_channel *channel)
{
    uint64_t word = atomic_load_explicit(&channel->acked, memory_order_relaxed);

    return (word & WAITS) &&
           word / ACK + channel->unacked >=
               atomic_load_explicit(&channel->wake_at, memory_order_relaxed);
}

bool
sni_channel_ack(sni_channel *channel, uint64_t msgs, uint64_t bytes, uint64_t step)
{
    uint64_t word;

    channel->unacked += msgs;
    channel->unacked_bytes += bytes;
    if (channel->unacked == 0 || (channel->unacked < step && !is_awaited(channel)))
        return false;
    atomic_store_explicit(
        &channel->acked_bytes,
        atomic_load_explicit(&channel->acked_bytes, memory_order_relaxed) +
            channel->unacked_bytes,
        memory_order_relaxed);
    word = channel->unacked * ACK + atomic_fetch_add_explicit(&channel->acked,
                                                              channel->unacked * ACK,
                                                              memory_order_acq_rel);
    channel->unacked = 0;
    channel->unacked_bytes = 0;
    if (!(word & WAITS) ||
        word / ACK < atomic_load_explicit(&channel->wake_at, memory_order_relaxed))
        return false;
    atomic_fetch_and_explicit(&channel->acked, ~WAITS, memory_order_acq_rel);
    return true;
}
