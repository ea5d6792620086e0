/* SPDX-License-Identifier: MIT */
/* Law of the counters: acked <= sent, pulled <= known <= published.
 *
 * The producer alone writes `published`, the consumer alone makes `asked` more than 0:
 * SLEEPS (there was nothing when it looked), CLOSING (it will not look again). Each
 * writes its own word and then reads the other's, with a full fence in between, so that
 * at least one of them sees the other: the sleeper the message, or the producer the
 * sleeper. The producer takes SLEEPS back.
 *
 * Such a fence per message costs more than all the rest of it, above all where lines come
 * slowly from the other processor's cache, as it waits for every store before it. A
 * producer that has seen nobody sleep for a while therefore says EASY in its word, once
 * with a fence, and then goes without: who finds EASY there before it sleeps makes the
 * fence for both (sni_channel_fence), and looks again.
 *
 * CLOSING and a message may cross. Whoever sees both says which message is the last one
 * to be read, in the same word (CUT): the producer the one it has just published, the
 * consumer all that it sees. The first to say so is right, and both count by that.
 *
 * `acked` carries WAITS the other way round, in a step that is one: it is rare. */
#include "base/channel.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/gather.h"
#include "base/rare.h"

#define CHUNK_BYTES_MIN ((size_t)4096)
#define CHUNK_BYTES_MAX ((size_t)65536)

#define EASY    UINT64_C(1)
#define MESSAGE UINT64_C(2) /* one, in `published` */

#define SLEEPS  UINT64_C(1)
#define CLOSING UINT64_C(2)
#define CUT     UINT64_C(4)
#define LAST    UINT64_C(8) /* one message, above CUT */

#define WAITS UINT64_C(1)
#define ACK   UINT64_C(2) /* one, in `acked` */

/* So many messages without a sleeper, and the next one says EASY. A fence of the
 * sleeper's costs as much as some hundred of the producer's. */
#define EASY_AFTER 512u

/* Octets ahead of it that the producer asks for, to write them: they are in the other
 * processor's cache still. */
#define AHEAD_BYTES 320

/* Frames lie in a chunk one behind the other. */
typedef enum form {
    BODY,      /* `size` octets follow */
    REFERENCE, /* a `reference` follows */
    END        /* the next chunk's address follows; no frame */
} form;

typedef struct record {
    uint32_t peer;
    uint16_t size;
    uint8_t form;
    bool more;
} record;

typedef struct reference {
    uint8_t *data;
    size_t size;
    sni_block *block;
} reference;

struct sni_channel_chunk {
    size_t bytes; /* of `octets` */
    _Alignas(16) uint8_t octets[];
};

/* There is always room for the END. */
#define END_BYTES (sizeof(record) + sizeof(sni_channel_chunk *))

#define ROUND(size) (((size) + 7u) & ~(size_t)7u)

_Static_assert(SNI_CHANNEL_COPY_MAX <= UINT16_MAX, "a record tells the size of its body");
_Static_assert(sizeof(record) == 8, "bodies are aligned, as the records behind them");
_Static_assert(sizeof(sni_channel_chunk) + sizeof(record) + SNI_CHANNEL_COPY_MAX +
                       END_BYTES <=
                   CHUNK_BYTES_MIN,
               "every chunk has room for every frame");

static const record *
record_at(const uint8_t *place)
{
    return (const record *)(const void *)place;
}

static sni_channel_chunk *
next_of(const uint8_t *end)
{
    sni_channel_chunk *next;

    memcpy(&next, end + sizeof(record), sizeof next);
    return next;
}

static size_t
record_bytes(const record *head)
{
    return sizeof *head +
           (head->form == BODY ? ROUND((size_t)head->size) : sizeof(reference));
}

static void
drop_record(const record *head)
{
    reference ref;

    if (head->form != REFERENCE)
        return;
    memcpy(&ref, head + 1, sizeof ref);
    sni_block_unref(ref.block);
}

void
sni_channel_init(sni_channel *channel, const sennit_allocator *alloc)
{
    *channel = (sni_channel){ .alloc = alloc };
    atomic_init(&channel->published, 0);
    atomic_init(&channel->asked, 0);
    for (unsigned i = 0; i < SNI_CHANNEL_SPARES; i++)
        atomic_init(&channel->spares[i], NULL);
    atomic_init(&channel->wake_at, 0);
    atomic_init(&channel->acked, 0);
    atomic_init(&channel->acked_bytes, 0);
}

void
sni_channel_relax(sni_channel *channel, sni_channel_fence *fence)
{
    channel->fence = fence;
}

/* Drops the frames from `place` in `chunk` to the end, and the chunks but `kept`. */
static void
drop_from(sni_channel *channel, sni_channel_chunk *chunk, const uint8_t *place,
          const sni_channel_chunk *kept)
{
    while (place != channel->fill) {
        const record *head = record_at(place);
        sni_channel_chunk *left = chunk;

        if (head->form != END) {
            drop_record(head);
            place += record_bytes(head);
            continue;
        }
        chunk = next_of(place);
        place = chunk->octets;
        if (left != kept)
            sni_release(channel->alloc, left);
    }
    if (chunk != kept)
        sni_release(channel->alloc, chunk);
}

void
sni_channel_fini(sni_channel *channel)
{
    sni_channel_fence *fence = channel->fence;

    if (channel->at != NULL)
        drop_from(channel, channel->at, channel->read, NULL);
    else if (channel->first != NULL)
        drop_from(channel, channel->first, channel->first->octets, NULL);
    for (unsigned i = 0; i < SNI_CHANNEL_SPARES; i++)
        sni_release(channel->alloc, atomic_load(&channel->spares[i]));
    sni_channel_init(channel, channel->alloc);
    channel->fence = fence;
}

/* The last message that is read of a closed channel: `message`, unless the other side has
 * said another. `asked`: what was found there. */
static uint64_t
cut(sni_channel *channel, uint64_t asked, uint64_t message)
{
    while (!(asked & CUT))
        if (atomic_compare_exchange_weak_explicit(
                &channel->asked, &asked, asked | CUT | message * LAST,
                memory_order_acq_rel, memory_order_acquire))
            return message;
    return asked / LAST;
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

/* Twice the last one, as no emptied one has come back yet. */
static sni_channel_chunk *
new_chunk(const sni_channel *channel)
{
    size_t bytes = CHUNK_BYTES_MIN;
    sni_channel_chunk *chunk;

    if (channel->last != NULL)
        bytes = 2 * (channel->last->bytes + sizeof *chunk);
    if (bytes > CHUNK_BYTES_MAX)
        bytes = CHUNK_BYTES_MAX;
    chunk = sni_acquire(channel->alloc, bytes);
    if (chunk != NULL)
        chunk->bytes = bytes - sizeof *chunk;
    return chunk;
}

static void
fill_from(sni_channel *channel, sni_channel_chunk *chunk, uint8_t *place)
{
    channel->last = chunk;
    channel->fill = place;
    channel->end = chunk->octets + chunk->bytes - END_BYTES;
}

SNI_RARE static bool
add_chunk(sni_channel *channel)
{
    sni_channel_chunk *chunk = take_spare(channel);
    const record end = { .form = END };

    if (chunk == NULL)
        chunk = new_chunk(channel);
    if (chunk == NULL)
        return false;
    if (channel->last == NULL) {
        channel->first = chunk;
    } else {
        memcpy(channel->fill, &end, sizeof end);
        memcpy(channel->fill + sizeof end, &chunk, sizeof chunk);
    }
    fill_from(channel, chunk, chunk->octets);
    return true;
}

/* Room for a record of so many octets, or NULL. */
static inline uint8_t *
make_room(sni_channel *channel, size_t bytes)
{
    if ((size_t)(channel->end - channel->fill) < bytes && !add_chunk(channel))
        return NULL;
    return channel->fill;
}

static sennit_err
push_reference(sni_channel *channel, sni_msg *msg, bool more)
{
    const record head = { .peer = msg->peer, .form = REFERENCE, .more = more };
    const reference ref = { msg->u.view.data, msg->u.view.size, msg->u.view.block };
    uint8_t *to = make_room(channel, sizeof head + sizeof ref);

    SNI_ASSERT(msg->u.view.block != NULL);
    if (to == NULL)
        return SENNIT_ENOMEM;
    memcpy(to, &head, sizeof head);
    memcpy(to + sizeof head, &ref, sizeof ref);
    channel->fill += sizeof head + sizeof ref;
    sni_msg_init(msg);
    return SENNIT_OK;
}

sennit_err
sni_channel_push(sni_channel *channel, sni_msg *msg, bool more)
{
    size_t size = sni_msg_size_of(msg);
    const record head = { msg->peer, (uint16_t)size, BODY, more };
    const uint8_t *body = msg->u.small;
    uint8_t *to;

    if (size > SNI_CHANNEL_COPY_MAX) {
        sni_msg_flatten(msg);
        return push_reference(channel, msg, more);
    }
    to = make_room(channel, sizeof head + ROUND(size));
    if (to == NULL)
        return SENNIT_ENOMEM;
    __builtin_prefetch(to + AHEAD_BYTES, 1);
    memcpy(to, &head, sizeof head);
    if (msg->small_size == SNI_MSG_VIEW) {
        sni_msg_flatten(msg);
        body = msg->u.view.data;
    }
    if (size > 0)
        sni_body_copy(to + sizeof head, body, size);
    channel->fill += sizeof head + ROUND(size);
    sni_msg_fini(msg);
    return SENNIT_OK;
}

static sni_channel_fate
fate_of_closed(sni_channel *channel, uint64_t asked)
{
    return channel->told > cut(channel, asked, channel->told) ? SNI_CHANNEL_CLOSED
                                                              : SNI_CHANNEL_QUEUED;
}

SNI_RARE static sni_channel_fate
hear_consumer(sni_channel *channel, uint64_t asked)
{
    channel->streak = 0;
    if (asked & CLOSING)
        return fate_of_closed(channel, asked);
    asked = atomic_fetch_and_explicit(&channel->asked, ~SLEEPS, memory_order_acq_rel);
    if (asked & CLOSING)
        return fate_of_closed(channel, asked & ~SLEEPS);
    return asked & SLEEPS ? SNI_CHANNEL_WAKE : SNI_CHANNEL_QUEUED;
}

/* With a fence, until it has gone on for long enough; then once more, with EASY. */
static void
tell(sni_channel *channel)
{
    uint64_t word = channel->told * MESSAGE;

    if (channel->streak > EASY_AFTER) {
        atomic_store_explicit(&channel->published, word | EASY, memory_order_release);
        atomic_signal_fence(memory_order_seq_cst);
        return;
    }
    if (channel->fence != NULL && channel->streak++ == EASY_AFTER)
        word |= EASY;
    (void)atomic_exchange_explicit(&channel->published, word, memory_order_seq_cst);
}

sni_channel_fate
sni_channel_publish(sni_channel *channel)
{
    uint64_t asked;

    channel->begun = channel->last;
    channel->begun_fill = channel->fill;
    channel->told++;
    tell(channel);
    asked = atomic_load_explicit(&channel->asked, memory_order_seq_cst);
    return asked == 0 ? SNI_CHANNEL_QUEUED : hear_consumer(channel, asked);
}

void
sni_channel_rollback(sni_channel *channel)
{
    sni_channel_chunk *chunk = channel->begun;
    uint8_t *place = channel->begun_fill;

    if (channel->last == NULL)
        return;
    /* The first chunk stays: the consumer may begin there. */
    if (chunk == NULL) {
        chunk = channel->first;
        place = chunk->octets;
    }
    drop_from(channel, chunk, place, chunk);
    fill_from(channel, chunk, place);
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

static uint64_t
seen(sni_channel *channel)
{
    return atomic_load_explicit(&channel->published, memory_order_seq_cst);
}

uint64_t
sni_channel_look(sni_channel *channel)
{
    /* Once closed, what came after that is not ours. */
    if (!(atomic_load_explicit(&channel->asked, memory_order_relaxed) & CLOSING))
        channel->known = seen(channel) / MESSAGE;
    return sni_channel_unread(channel);
}

/* The chunk is empty: the producer may have it again. */
SNI_RARE static void
next_chunk(sni_channel *channel)
{
    sni_channel_chunk *chunk = channel->at;
    _Atomic(sni_channel_chunk *) *place =
        &channel->spares[channel->given % SNI_CHANNEL_SPARES];

    channel->at = chunk == NULL ? channel->first : next_of(channel->read);
    channel->read = channel->at->octets;
    if (chunk == NULL)
        return;
    if (atomic_load_explicit(place, memory_order_acquire) != NULL) {
        sni_release(channel->alloc, chunk);
        return;
    }
    atomic_store_explicit(place, chunk, memory_order_release);
    channel->given++;
}

/* One is known. */
static inline const record *
next_record(sni_channel *channel)
{
    if (channel->at == NULL || record_at(channel->read)->form == END)
        next_chunk(channel);
    return record_at(channel->read);
}

static inline void
pass(sni_channel *channel, const record *head)
{
    channel->read += record_bytes(head);
    channel->pulled += !head->more;
}

/* A body too large for the message itself. */
static inline sennit_err
copy_out(const record *head, sni_msg *msg, sni_bodies *bodies)
{
    sni_block *block = sni_msg_new_block(bodies, head->size);

    if (block == NULL)
        return SENNIT_ENOMEM;
    sni_body_copy(block->data, head + 1, head->size);
    sni_msg_init_view(msg, block->data, head->size, block, head->more, head->peer);
    return SENNIT_OK;
}

sennit_err
sni_channel_pull(sni_channel *channel, sni_msg *msg, sni_bodies *bodies)
{
    const record *head;
    reference ref;

    if (channel->known == channel->pulled)
        return SENNIT_EAGAIN;
    head = next_record(channel);
    if (head->form == REFERENCE) {
        memcpy(&ref, head + 1, sizeof ref);
        sni_msg_init_view(msg, ref.data, ref.size, ref.block, head->more, head->peer);
    } else if (head->size <= SENNIT_MSG_INLINE_MAX) {
        sni_msg_init_small(msg, (const uint8_t *)(head + 1), head->size, head->more,
                           head->peer);
    } else {
        sennit_err err = copy_out(head, msg, bodies);

        if (err)
            return err;
    }
    pass(channel, head);
    return SENNIT_OK;
}

void
sni_channel_discard(sni_channel *channel)
{
    while (sni_channel_unread(channel) > 0) {
        const record *head = next_record(channel);

        drop_record(head);
        pass(channel, head);
    }
}

/* After SLEEPS or CLOSING: what the producer may have told without seeing that is seen
 * now. False: there is no knowing. */
static bool
fence_both(sni_channel *channel)
{
    return !(seen(channel) & EASY) || channel->fence();
}

bool
sni_channel_sleep(sni_channel *channel)
{
    SNI_ASSERT(channel->known == channel->pulled);
    /* It sleeps already, or is closed. */
    if (atomic_load_explicit(&channel->asked, memory_order_relaxed) != 0)
        return true;
    (void)atomic_fetch_or_explicit(&channel->asked, SLEEPS, memory_order_seq_cst);
    if (seen(channel) / MESSAGE == channel->known && fence_both(channel) &&
        seen(channel) / MESSAGE == channel->known)
        return true;
    (void)atomic_fetch_and_explicit(&channel->asked, ~SLEEPS, memory_order_acq_rel);
    channel->known = seen(channel) / MESSAGE;
    return false;
}

uint64_t
sni_channel_close(sni_channel *channel)
{
    uint64_t asked =
        atomic_fetch_or_explicit(&channel->asked, CLOSING, memory_order_seq_cst);

    if (asked & CLOSING)
        return sni_channel_unread(channel);
    (void)fence_both(channel);
    asked |= CLOSING;
    channel->known = cut(channel, asked, seen(channel) / MESSAGE);
    return sni_channel_unread(channel);
}

bool
sni_channel_awaited(sni_channel *channel)
{
    uint64_t word = atomic_load_explicit(&channel->acked, memory_order_relaxed);

    return (word & WAITS) &&
           word / ACK + channel->unacked >=
               atomic_load_explicit(&channel->wake_at, memory_order_relaxed);
}

bool
sni_channel_tell_acked(sni_channel *channel)
{
    uint64_t word;

    if (channel->unacked == 0)
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
