/* SPDX-License-Identifier: MIT */
/* Frames accumulate in chunks; consecutive frames of one chunk are one segment,
 * so that a burst of small messages becomes one vector. A body of
 * SNI_COPY_MAX_BYTES or more is a segment of its own, by reference. Bytes never
 * move: to drop messages only moves the ends of segments, or cuts one in two.
 *
 *   | written | lent ... | loose: whole messages | open: not finished |
 *             ^ front    ^ first_loose()         ^ loose_end()
 *
 * A raw queue has no heads to tell its frames apart, so each is its own segment. */
#include "engine/outq.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/gather.h"
#include "base/limits.h"
#include "base/rare.h"
#include "wire/frame.h"

/* Pieces that a queue may hold before others are copied into its own chunks. */
#define SCATTERED_MIN 8u

/* Segments that one frame adds, and that are kept free behind it, so that a message
 * may be cut out of the middle without memory. */
#define PUSHED_MAX 2u
#define SPARE      1u

/* A ring begins with so many. One that has grown stays its queue's, which will need it
 * again. */
#define RING_FIRST 8u

typedef union sni_segment_ring {
    sni_segment segments[RING_FIRST]; /* of a queue, or ... */
    union sni_segment_ring *next;     /* ... of those kept */
} sni_segment_ring;

void
sni_rings_fini(sni_rings *rings, const sennit_allocator *alloc)
{
    while (rings->first != NULL) {
        sni_segment_ring *ring = rings->first;

        rings->first = ring->next;
        sni_release(alloc, ring);
    }
    rings->count = 0;
}

void
sni_chunk_fini(sni_chunk *chunk)
{
    sni_block_unref(chunk->block);
    *chunk = (sni_chunk){ NULL, 0 };
}

static bool
chunk_renew(sni_chunk *chunk, const sni_chunk_pools *pools, size_t size)
{
    sni_block *fresh = NULL;
    bool small = chunk->block == NULL;

    if (small && size <= SNI_CHUNK_SMALL_BYTES)
        fresh = sni_pool_take(pools->small);
    if (fresh == NULL)
        fresh = sni_pool_take(pools->large);
    if (fresh == NULL)
        return false;
    sni_block_unref(chunk->block);
    *chunk = (sni_chunk){ fresh, 0 };
    return true;
}

static inline bool
chunk_reserve(sni_chunk *chunk, const sni_chunk_pools *pools, size_t size)
{
    if (chunk->block != NULL && chunk->block->capacity - chunk->used >= size)
        return true;
    return chunk_renew(chunk, pools, size);
}

/* Inline, as append_frame() is: every message passes them. */
static inline sennit_err
encode(sni_chunk *chunk, const sni_chunk_pools *pools, const sni_msg *msg, bool more,
       sni_encoded *out)
{
    bool view = msg->small_size == SNI_MSG_VIEW;
    size_t size = sni_msg_size_of(msg);
    bool copy = size < SNI_COPY_MAX_BYTES;
    uint8_t *at;

    if (!chunk_reserve(chunk, pools, SNI_FRAME_HEAD_MAX + (copy ? size : 0)))
        return SENNIT_ENOMEM;
    at = chunk->block->data + chunk->used;
    out->block = chunk->block;
    out->begin = chunk->used;
    out->more = more;
    chunk->used += sni_frame_head_write(at, more, false, size);
    if (copy) {
        sni_body_copy(chunk->block->data + chunk->used,
                      view ? msg->u.view.data : msg->u.small, size);
        chunk->used += size;
        out->body_block = NULL;
    } else {
        out->body_block = msg->u.view.block;
        out->body = msg->u.view.data;
        out->body_size = size;
    }
    out->end = chunk->used;
    return SENNIT_OK;
}

sennit_err
sni_chunk_encode(sni_chunk *chunk, const sni_chunk_pools *pools, const sni_msg *msg,
                 bool more, sni_encoded *out)
{
    sni_msg_flatten(msg);
    return encode(chunk, pools, msg, more, out);
}

void
sni_outq_init(sni_outq *queue, const sennit_allocator *alloc,
              const sni_chunk_pools *pools)
{
    *queue = (sni_outq){ .alloc = alloc, .pools = pools };
}

static inline sni_segment *
segment_at(const sni_outq *queue, size_t i)
{
    size_t at = queue->first + i;

    return &queue->ring[at >= queue->capacity ? at - queue->capacity : at];
}

#ifndef NDEBUG
static bool
counts_are_exact(const sni_outq *queue)
{
    size_t bytes = 0;
    size_t msgs = 0;

    for (size_t i = 0; i < queue->count; i++) {
        const sni_segment *segment = segment_at(queue, i);

        if (segment->origin > segment->begin || segment->begin >= segment->end ||
            segment->end > segment->block->capacity ||
            (i > 0 && segment->origin < segment->begin))
            return false;
        bytes += segment->end - segment->begin;
        msgs += segment->msgs;
    }
    return bytes == queue->bytes && msgs == queue->msgs;
}
#endif

static void
check_law(const sni_outq *queue)
{
    SNI_ASSERT(queue->lent <= queue->bytes);
    SNI_ASSERT(queue->msgs <= queue->bytes);
    SNI_ASSERT(queue->open || queue->doomed || queue->open_bytes == 0);
    SNI_ASSERT_SLOW(counts_are_exact(queue));
}

void
sni_outq_fini(sni_outq *queue)
{
    sni_outq empty = { .alloc = queue->alloc,
                       .pools = queue->pools,
                       .raw = queue->raw,
                       .now = queue->now,
                       .grain = queue->grain };

    for (size_t i = 0; i < queue->count; i++)
        sni_block_unref(segment_at(queue, i)->block);
    sni_release(queue->alloc, queue->ring);
    sni_chunk_fini(&queue->chunk);
    *queue = empty;
}

/* Takes a ring that was kept. False: there is none. */
static bool
borrow_ring(sni_outq *queue)
{
    sni_rings *rings = queue->pools->rings;

    if (rings == NULL || rings->first == NULL)
        return false;
    queue->ring = rings->first->segments;
    queue->capacity = RING_FIRST;
    queue->first = 0;
    rings->first = rings->first->next;
    rings->count--;
    return true;
}

/* The queue is empty: others may have its ring. */
static inline void
return_ring(sni_outq *queue)
{
    sni_rings *rings = queue->pools->rings;
    sni_segment_ring *ring = (sni_segment_ring *)(void *)queue->ring;

    if (rings == NULL || queue->capacity != RING_FIRST)
        return;
    queue->ring = NULL;
    queue->capacity = 0;
    queue->first = 0;
    if (rings->count == SNI_RINGS_KEPT) {
        sni_release(queue->alloc, ring);
        return;
    }
    ring->next = rings->first;
    rings->first = ring;
    rings->count++;
}

/* The ring doubles, and what had wrapped around moves behind the old end. */
static bool
grow(sni_outq *queue, size_t more)
{
    size_t old = queue->capacity;

    if (queue->ring == NULL && more <= RING_FIRST && borrow_ring(queue))
        return true;
    if (!sni_grow(queue->alloc, &queue->ring, &queue->capacity, queue->count + more,
                  sizeof *queue->ring))
        return false;
    if (queue->first + queue->count > old)
        memcpy(queue->ring + old, queue->ring,
               (queue->first + queue->count - old) * sizeof *queue->ring);
    return true;
}

/* Room for `more` segments. */
static inline bool
reserve(sni_outq *queue, size_t more)
{
    return queue->count + more <= queue->capacity || grow(queue, more);
}

/* Whether a frame behind `last` may become a part of it. Not behind what is lent,
 * so that the first byte which is not begins a segment; and not behind what is
 * `grain` older, but a message does not care for the age of its own frames. */
static inline bool
continues(const sni_outq *queue, const sni_segment *last)
{
    return !last->body && queue->lent < queue->bytes &&
           (queue->now == 0 || queue->open || queue->now - last->at < queue->grain);
}

static sni_segment *
append_segment(sni_outq *queue, sni_block *block, size_t begin, size_t end, bool body)
{
    sni_segment *last = segment_at(queue, queue->count++);

    *last = (sni_segment){ .block = sni_block_ref(block),
                           .origin = begin,
                           .begin = begin,
                           .end = end,
                           .at = queue->now,
                           .body = body };
    return last;
}

/* A frame, or a head. Nearly all of a burst are a part of the last segment. */
static inline sni_segment *
append(sni_outq *queue, sni_block *block, size_t begin, size_t end)
{
    if (queue->count > 0) {
        sni_segment *last = segment_at(queue, queue->count - 1);

        if (last->block == block && last->end == begin && continues(queue, last)) {
            last->end = end;
            return last;
        }
    }
    return append_segment(queue, block, begin, end, false);
}

/* The rest of a message whose beginning is not here is not here either, and nothing may
 * stand behind a message that will not be finished. */
static void
swallow(sni_outq *queue, bool more)
{
    queue->swallow = more || queue->doomed;
    queue->open = more;
}

/* `size` bytes of a frame were appended, the last of them to `last`. */
static inline void
appended(sni_outq *queue, sni_segment *last, size_t size, bool more)
{
    last->msg_end = !more;
    queue->bytes += size;
    queue->open = more;
    queue->open_bytes += size;
    if (!more) {
        queue->open_bytes = 0;
        last->msgs++;
        queue->msgs++;
    }
}

static inline sennit_err
append_frame(sni_outq *queue, const sni_encoded *encoded)
{
    sni_segment *last;
    size_t size = encoded->end - encoded->begin;

    if (!reserve(queue, PUSHED_MAX + SPARE))
        return SENNIT_ENOMEM;
    last = append(queue, encoded->block, encoded->begin, encoded->end);
    if (encoded->body_block != NULL) {
        size_t begin = (size_t)(encoded->body - encoded->body_block->data);

        last->msg_end = false;
        last = append_segment(queue, encoded->body_block, begin,
                              begin + encoded->body_size, true);
        size += encoded->body_size;
    }
    appended(queue, last, size, encoded->more);
    return SENNIT_OK;
}

sennit_err
sni_outq_push_encoded(sni_outq *queue, const sni_encoded *encoded, bool *kept)
{
    *kept = !queue->swallow;
    if (queue->swallow) {
        swallow(queue, encoded->more);
        return SENNIT_OK;
    }
    return append_frame(queue, encoded);
}

/* A frame without bytes can only end a message of which there are some. */
static void
push_nothing(sni_outq *queue, bool more)
{
    queue->open = more;
    if (more)
        return;
    if (queue->count == 0) {
        queue->front_inside = false;
    } else if (queue->open_bytes > 0) {
        sni_segment *last = segment_at(queue, queue->count - 1);

        last->msg_end = true;
        last->msgs++;
        queue->msgs++;
    }
    queue->open_bytes = 0;
}

static sennit_err
push_raw(sni_outq *queue, const sni_msg *msg, bool more)
{
    bool view = msg->small_size == SNI_MSG_VIEW;
    size_t size = sni_msg_size_of(msg);
    sni_segment *last;

    sni_msg_flatten(msg);
    if (size == 0) {
        push_nothing(queue, more);
        return SENNIT_OK;
    }
    if (!reserve(queue, PUSHED_MAX + SPARE))
        return SENNIT_ENOMEM;
    if (size < SNI_COPY_MAX_BYTES) {
        sni_chunk *chunk = &queue->chunk;

        if (!chunk_reserve(chunk, queue->pools, size))
            return SENNIT_ENOMEM;
        sni_body_copy(chunk->block->data + chunk->used,
                      view ? msg->u.view.data : msg->u.small, size);
        last = append_segment(queue, chunk->block, chunk->used, chunk->used + size, true);
        chunk->used += size;
    } else {
        size_t begin = (size_t)(msg->u.view.data - msg->u.view.block->data);

        last = append_segment(queue, msg->u.view.block, begin, begin + size, true);
    }
    appended(queue, last, size, more);
    return SENNIT_OK;
}

/* ---- bodies of several pieces ------------------------------------------- */

/* Octets of the parts that are copied rather than referred to. */
static size_t
copied_bytes(const sni_gather *gather)
{
    size_t bytes = 0;

    for (size_t i = 0; i < gather->count; i++) {
        size_t size = sni_msg_size_of(&gather->parts[i]);

        bytes += size < SNI_COPY_MAX_BYTES ? size : 0;
    }
    return bytes;
}

/* Adds a piece of the body of which `last` has what is before it. There is room for it in
 * the chunk, and in the ring for a segment. */
static sni_segment *
add_piece(sni_outq *queue, sni_segment *last, const sni_msg *part)
{
    sennit_bytes bytes = sennit_msg_bytes((const sennit_msg *)(const void *)part);
    sni_chunk *chunk = &queue->chunk;
    sni_block *block = sni_msg_block(part);
    size_t begin;

    if (bytes.size == 0)
        return last;
    if (bytes.size < SNI_COPY_MAX_BYTES) {
        block = chunk->block;
        begin = chunk->used;
        sni_body_copy(block->data + begin, bytes.data, bytes.size);
        chunk->used += bytes.size;
        if (last->block == block && last->end == begin) {
            last->end += bytes.size;
            return last;
        }
    } else {
        begin = (size_t)(bytes.data - block->data);
    }
    last->msg_end = false;
    last->goes_on = last->body;
    return append_segment(queue, block, begin, begin + bytes.size, true);
}

static sennit_err
push_gathered(sni_outq *queue, const sni_msg *msg, const sni_gather *gather, bool more)
{
    sni_chunk *chunk = &queue->chunk;
    size_t body = sni_msg_size_of(msg);
    sni_segment *last;
    size_t begin;

    if (!reserve(queue, gather->count + PUSHED_MAX + SPARE) ||
        !chunk_reserve(chunk, queue->pools, SNI_FRAME_HEAD_MAX + copied_bytes(gather)))
        return SENNIT_ENOMEM;
    begin = chunk->used;
    chunk->used += sni_frame_head_write(chunk->block->data + begin, more, false, body);
    last = append(queue, chunk->block, begin, chunk->used);
    for (size_t i = 0; i < gather->count; i++)
        last = add_piece(queue, last, &gather->parts[i]);
    appended(queue, last, chunk->used - begin - copied_bytes(gather) + body, more);
    return SENNIT_OK;
}

/* Nearly all frames: a small one, in one piece, behind others that are gathered. */
static inline bool
push_quick(sni_outq *queue, const sni_msg *msg, bool more)
{
    bool view = msg->small_size == SNI_MSG_VIEW;
    size_t size = sni_msg_size_of(msg);
    sni_chunk *chunk = &queue->chunk;
    sni_segment *last;
    uint8_t *at;

    if (size > SNI_FRAME_SHORT_MAX || queue->swallow || queue->raw || queue->count == 0 ||
        queue->count + SPARE > queue->capacity || sni_gather_of(msg) != NULL)
        return false;
    last = segment_at(queue, queue->count - 1);
    if (last->block != chunk->block || last->end != chunk->used ||
        chunk->block->capacity - chunk->used < SNI_FRAME_HEAD_MAX + size ||
        !continues(queue, last))
        return false;
    at = chunk->block->data + chunk->used;
    size += sni_frame_head_write(at, more, false, size);
    sni_body_copy(at + SNI_FRAME_HEAD_SHORT, view ? msg->u.view.data : msg->u.small,
                  size - SNI_FRAME_HEAD_SHORT);
    chunk->used += size;
    last->end += size;
    appended(queue, last, size, more);
    return true;
}

SNI_RARE static sennit_err
push_any(sni_outq *queue, const sni_msg *msg, bool more, bool *kept)
{
    const sni_gather *gather;
    sni_encoded encoded;
    sennit_err err;

    *kept = !queue->swallow;
    if (queue->swallow) {
        swallow(queue, more);
        return SENNIT_OK;
    }
    if (queue->raw)
        return push_raw(queue, msg, more);
    gather = sni_gather_of(msg);
    if (gather != NULL && copied_bytes(gather) <= SNI_CHUNK_BYTES / 2)
        return push_gathered(queue, msg, gather, more);
    sni_msg_flatten(msg);
    err = encode(&queue->chunk, queue->pools, msg, more, &encoded);
    if (err)
        return err;
    return append_frame(queue, &encoded);
}

sennit_err
sni_outq_push(sni_outq *queue, const sni_msg *msg, bool more, bool *kept)
{
    if (!push_quick(queue, msg, more))
        return push_any(queue, msg, more, kept);
    *kept = true;
    return SENNIT_OK;
}

bool
sni_outq_scattered(const sni_outq *queue, const sni_encoded *encoded)
{
    const sni_segment *last;

    if (queue->count < SCATTERED_MIN)
        return false;
    last = segment_at(queue, queue->count - 1);
    return last->block != encoded->block || last->end != encoded->begin;
}

/* An empty queue holds no chunk and no ring, so an idle peer costs no buffer. */
static void
release_if_empty(sni_outq *queue)
{
    if (queue->count > 0)
        return;
    SNI_ASSERT(queue->bytes == 0);
    SNI_ASSERT(queue->msgs == 0);
    sni_chunk_fini(&queue->chunk);
    return_ring(queue);
}

/* Takes the newest `size` bytes back, a message that was not finished. */
static void
take_back(sni_outq *queue, size_t size)
{
    queue->bytes -= size;
    while (size > 0) {
        sni_segment *last = segment_at(queue, queue->count - 1);
        size_t here = last->end - last->begin;

        if (here > size) {
            last->end -= size;
            last->msg_end = true;
            break;
        }
        size -= here;
        sni_block_unref(last->block);
        queue->count--;
    }
    queue->open_bytes = 0;
    release_if_empty(queue);
}

bool
sni_outq_abandon(sni_outq *queue)
{
    bool held = !queue->doomed && queue->open_bytes > queue->bytes - queue->lent;

    if (held)
        queue->doomed = true;
    else if (!queue->doomed)
        take_back(queue, queue->open_bytes);
    swallow(queue, false);
    check_law(queue);
    return !held;
}

size_t
sni_outq_parts(sni_outq *queue, size_t skip, sennit_bytes *parts, size_t parts_max,
               size_t bytes_max)
{
    size_t count = 0;
    size_t bytes = 0;
    size_t lent = skip;

    for (size_t i = 0; i < queue->count && count < parts_max && bytes < bytes_max; i++) {
        const sni_segment *segment = segment_at(queue, i);
        size_t size = segment->end - segment->begin;
        uint8_t *data = segment->block->data + segment->begin;

        if (skip >= size) {
            skip -= size;
            continue;
        }
        bytes += size - skip;
        /* Raw frames of one chunk are segments, but need not be vectors. */
        if (queue->raw && count > 0 &&
            parts[count - 1].data + parts[count - 1].size == data) {
            parts[count - 1].size += size;
            continue;
        }
        parts[count++] = sni_bytes(data + skip, size - skip);
        skip = 0;
    }
    lent += bytes;
    queue->lent = lent < queue->bytes ? lent : queue->bytes;
    return count;
}

/* Reads the frame head at `at` of a segment; heads are ours, so they are whole. */
static size_t
frame_at(const sni_segment *segment, size_t at, sni_frame_head *head)
{
    size_t used = 0;
    sni_parse parse = sni_frame_head_read(
        sni_bytes(segment->block->data + at, segment->end - at), head, &used);

    SNI_ASSERT(parse == SNI_PARSE_DONE);
    return used;
}

/* Bytes of the body that the front is a piece of. */
static size_t
rest_of_body(const sni_outq *queue)
{
    size_t size = 0;
    size_t i = 0;

    do {
        size += segment_at(queue, i)->end - segment_at(queue, i)->begin;
    } while (segment_at(queue, i++)->goes_on);
    return size;
}

size_t
sni_outq_to_boundary(const sni_outq *queue)
{
    const sni_segment *front;
    sni_frame_head head;
    size_t used;

    if (queue->count == 0)
        return 0;
    front = segment_at(queue, 0);
    if (front->begin == front->origin && (queue->raw || !front->body))
        return 0;
    if (front->body)
        return rest_of_body(queue);
    used = frame_at(front, front->origin, &head);
    /* Past the segment's end lies the body that the next segments hold. */
    return front->origin + used + (size_t)head.body_size - front->begin;
}

static void
pop_segment(sni_outq *queue)
{
    sni_segment *front = segment_at(queue, 0);

    queue->front_inside = !front->msg_end;
    queue->bytes -= front->end - front->begin;
    queue->msgs -= front->msgs;
    sni_block_unref(front->block);
    queue->first = queue->first + 1 == queue->capacity ? 0 : queue->first + 1;
    queue->count--;
}

/* Moves the origin of a partly written segment to the last frame boundary that
 * was written; returns how many messages ended on the way. Each frame is passed
 * once, and only where a write stopped inside a chunk. */
static size_t
advance_origin(sni_outq *queue, sni_segment *front)
{
    size_t ended = 0;

    while (!front->body && front->origin < front->begin) {
        sni_frame_head head;
        size_t size = frame_at(front, front->origin, &head) + (size_t)head.body_size;

        if (size > front->begin - front->origin)
            break;
        front->origin += size;
        queue->front_inside = head.more;
        ended += !head.more;
    }
    front->msgs -= (uint32_t)ended;
    queue->msgs -= ended;
    return ended;
}

size_t
sni_outq_wrote(sni_outq *queue, size_t size)
{
    size_t ended = 0;

    queue->lent = 0;
    while (size > 0) {
        sni_segment *front = segment_at(queue, 0);
        size_t waiting = front->end - front->begin;

        SNI_ASSERT(queue->count > 0);
        if (size < waiting) {
            front->begin += size;
            queue->bytes -= size;
            ended += advance_origin(queue, front);
            break;
        }
        size -= waiting;
        ended += front->msgs;
        pop_segment(queue);
    }
    release_if_empty(queue);
    return ended;
}

/* ---- dropping ---------------------------------------------------------- */

/* A frame boundary in the queue. */
typedef struct cursor {
    size_t index;  /* of the segment; the queue's count at the end */
    size_t at;     /* in its block */
    size_t ended;  /* messages that end in this segment before `at` */
    size_t passed; /* bytes from the front's origin */
} cursor;

static void
pass_segment(const sni_outq *queue, cursor *c)
{
    c->passed += segment_at(queue, c->index)->end - c->at;
    c->index++;
    c->at = c->index < queue->count ? segment_at(queue, c->index)->begin : 0;
    c->ended = 0;
}

/* Passes one frame, or the rest of one, or a piece of a gathered body; returns whether
 * its message goes on. */
static bool
pass_frame(const sni_outq *queue, cursor *c)
{
    const sni_segment *segment = segment_at(queue, c->index);
    sni_frame_head head;
    size_t size;

    if (!segment->body) {
        size = frame_at(segment, c->at, &head) + (size_t)head.body_size;
        if (size < segment->end - c->at) {
            c->at += size;
            c->passed += size;
            c->ended += !head.more;
            return head.more;
        }
        if (size > segment->end - c->at) {
            pass_segment(queue, c); /* the next one is its body */
            segment = segment_at(queue, c->index);
        }
    }
    pass_segment(queue, c);
    return !segment->msg_end;
}

static void
pass_message(const sni_outq *queue, cursor *c)
{
    while (pass_frame(queue, c))
        SNI_ASSERT(c->index < queue->count);
}

/* Where the first message begins of which no byte is written or among the first `held`:
 * that of the open one, or the end, if there is no whole one. */
static cursor
first_behind(const sni_outq *queue, size_t held)
{
    cursor c = { 0, 0, 0, 0 };
    bool inside = queue->front_inside;

    if (queue->count == 0)
        return c;
    c.at = segment_at(queue, 0)->origin;
    held += segment_at(queue, 0)->begin - c.at;
    while (c.index < queue->count &&
           held - c.passed >= segment_at(queue, c.index)->end - c.at) {
        inside = !segment_at(queue, c.index)->msg_end;
        pass_segment(queue, &c);
    }
    while (c.index < queue->count && (inside || c.passed < held))
        inside = pass_frame(queue, &c);
    return c;
}

static cursor
first_loose(const sni_outq *queue)
{
    return first_behind(queue, queue->lent);
}

/* Where the open message begins, as a cursor counts: whole messages are before. */
static size_t
loose_end(const sni_outq *queue)
{
    const sni_segment *front;

    if (queue->count == 0 || queue->open_bytes > queue->bytes)
        return 0;
    front = segment_at(queue, 0);
    return front->begin - front->origin + queue->bytes - queue->open_bytes;
}

/* Room for one more segment at `index`; the shorter side moves. */
static bool
insert_segment(sni_outq *queue, size_t index)
{
    if (!reserve(queue, 1))
        return false;
    queue->count++;
    if (index < queue->count / 2) {
        queue->first = (queue->first == 0 ? queue->capacity : queue->first) - 1;
        for (size_t i = 0; i < index; i++)
            *segment_at(queue, i) = *segment_at(queue, i + 1);
    } else {
        for (size_t i = queue->count - 1; i > index; i--)
            *segment_at(queue, i) = *segment_at(queue, i - 1);
    }
    return true;
}

static void
remove_segments(sni_outq *queue, size_t from, size_t to)
{
    size_t gone = to - from;

    for (size_t i = from; i < to; i++)
        sni_block_unref(segment_at(queue, i)->block);
    if (from < queue->count - to) {
        for (size_t i = from; i-- > 0;)
            *segment_at(queue, gone + i) = *segment_at(queue, i);
        queue->first += gone;
        queue->first -= queue->first >= queue->capacity ? queue->capacity : 0;
    } else {
        for (size_t i = to; i < queue->count; i++)
            *segment_at(queue, i - gone) = *segment_at(queue, i);
    }
    queue->count -= gone;
}

/* Takes out what lies in [from, to), `msgs` finished messages. `to` is a message
 * boundary, and `from` one or the front. False: there is no memory to keep what is on
 * both sides of it in one segment; never when `from` begins its segment. */
static bool
cut(sni_outq *queue, const cursor *from, const cursor *to, size_t msgs)
{
    sni_segment *left = segment_at(queue, from->index);
    bool keeps_left = from->at > left->begin;
    size_t first = from->index + keeps_left;
    size_t last = to->index;

    if (keeps_left && from->index == to->index) {
        if (!insert_segment(queue, from->index))
            return false;
        last++;
        left = segment_at(queue, from->index);
        *left = *segment_at(queue, last);
        sni_block_ref(left->block);
    }
    if (keeps_left) {
        left->end = from->at;
        left->msg_end = true;
        left->msgs = (uint32_t)from->ended;
    }
    if (last < queue->count) {
        sni_segment *right = segment_at(queue, last);

        right->origin = to->at;
        right->begin = to->at;
        right->msgs -= (uint32_t)to->ended;
    }
    queue->bytes -= to->passed - from->passed;
    queue->msgs -= msgs;
    remove_segments(queue, first, last);
    release_if_empty(queue);
    check_law(queue);
    return true;
}

bool
sni_outq_drop_oldest(sni_outq *queue)
{
    cursor from = first_loose(queue);
    cursor to = from;

    if (from.passed >= loose_end(queue))
        return false;
    pass_message(queue, &to);
    return cut(queue, &from, &to, 1);
}

/* Whether that is the body of the frame at a cursor that nothing was written of. */
static bool
body_is(const sni_outq *queue, const cursor *c, sennit_bytes expected)
{
    const sni_segment *segment = segment_at(queue, c->index);
    size_t at = c->at;
    size_t size = segment->end - at;
    sni_frame_head head;

    if (!segment->body) {
        at += frame_at(segment, at, &head);
        size = (size_t)head.body_size;
    }
    if (size != expected.size)
        return false;
    for (size_t i = c->index; size > 0; i++) {
        size_t here;

        segment = segment_at(queue, i);
        at = i > c->index ? segment->begin : at;
        here = segment->end - at < size ? segment->end - at : size;
        if (memcmp(segment->block->data + at, expected.data, here) != 0)
            return false;
        size -= here;
        expected.data += here;
    }
    return true;
}

bool
sni_outq_drop_topic(sni_outq *queue, sennit_bytes topic)
{
    cursor from = first_loose(queue);
    size_t end = loose_end(queue);

    while (from.passed < end) {
        cursor to = from;

        pass_message(queue, &to);
        if (body_is(queue, &from, topic))
            return cut(queue, &from, &to, 1);
        from = to;
    }
    return false;
}

size_t
sni_outq_drop_before(sni_outq *queue, sennit_time before)
{
    cursor from = first_loose(queue);
    cursor to = from;
    size_t end = loose_end(queue);
    size_t dropped = 0;

    while (to.passed < end && segment_at(queue, to.index)->at < before) {
        pass_message(queue, &to);
        dropped++;
    }
    if (dropped == 0 || !cut(queue, &from, &to, dropped))
        return 0;
    return dropped;
}

static sennit_time
stamp_at(const sni_outq *queue, cursor c)
{
    if (c.passed >= loose_end(queue))
        return SENNIT_NEVER;
    return segment_at(queue, c.index)->at;
}

sennit_time
sni_outq_oldest_at(const sni_outq *queue)
{
    return stamp_at(queue, first_loose(queue));
}

sennit_time
sni_outq_oldest_unbegun_at(const sni_outq *queue)
{
    return stamp_at(queue, first_behind(queue, 0));
}

size_t
sni_outq_loose_bytes(const sni_outq *queue)
{
    size_t from = first_loose(queue).passed;
    size_t end = loose_end(queue);

    return end > from ? end - from : 0;
}

size_t
sni_outq_restart(sni_outq *queue)
{
    bool inside = queue->front_inside;
    bool begun;
    bool doomed;
    cursor from = { 0, 0, 0, 0 };
    cursor to = from;

    queue->lent = 0;
    if (queue->count > 0) {
        const sni_segment *front = segment_at(queue, 0);

        from.at = front->begin;
        from.passed = front->begin - front->origin;
        to.at = front->origin;
        inside = inside || from.passed > 0;
    }
    begun = inside;
    while (inside && to.index < queue->count)
        inside = pass_frame(queue, &to);
    queue->front_inside = false;
    if (begun && queue->count > 0)
        (void)cut(queue, &from, &to, !inside);
    doomed = queue->doomed;
    queue->doomed = false;
    if (inside) {
        /* It is not finished: what the application still adds is dropped too. */
        queue->open_bytes = 0;
        swallow(queue, queue->open);
    } else if (doomed) {
        take_back(queue, queue->open_bytes);
        swallow(queue, queue->open);
    }
    check_law(queue);
    return begun && !(inside && doomed);
}
