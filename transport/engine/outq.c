/* SPDX-License-Identifier: MIT */
/* Frames accumulate in chunks; consecutive frames of one chunk are one segment,
 * so that a burst of small messages becomes one vector. A body of
 * SNI_COPY_MAX_BYTES or more is a segment of its own, by reference. */
#include "engine/outq.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/limits.h"
#include "wire/frame.h"

/* Pieces that a queue may hold before others are copied into its own chunks. */
#define SCATTERED_MIN 8u

void
sni_chunk_fini(sni_chunk *chunk)
{
    sni_block_unref(chunk->block);
    *chunk = (sni_chunk){ NULL, 0 };
}

static bool
chunk_reserve(sni_chunk *chunk, const sni_chunk_pools *pools, size_t size)
{
    sni_block *fresh;
    bool small = chunk->block == NULL;

    if (chunk->block != NULL && chunk->block->capacity - chunk->used >= size)
        return true;
    fresh = NULL;
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

sennit_err
sni_chunk_encode(sni_chunk *chunk, const sni_chunk_pools *pools, const sni_msg *msg,
                 bool more, sni_encoded *out)
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
        memcpy(chunk->block->data + chunk->used, view ? msg->u.view.data : msg->u.small,
               size);
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

void
sni_outq_init(sni_outq *queue, const sennit_allocator *alloc,
              const sni_chunk_pools *pools)
{
    *queue = (sni_outq){ .alloc = alloc, .pools = pools };
}

static sni_segment *
segment_at(const sni_outq *queue, size_t i)
{
    size_t at = queue->first + i;

    return &queue->ring[at >= queue->capacity ? at - queue->capacity : at];
}

void
sni_outq_fini(sni_outq *queue)
{
    for (size_t i = 0; i < queue->count; i++)
        sni_block_unref(segment_at(queue, i)->block);
    sni_release(queue->alloc, queue->ring);
    sni_chunk_fini(&queue->chunk);
    sni_outq_init(queue, queue->alloc, queue->pools);
}

/* Room for `more` segments; the ring doubles and what had wrapped around moves
 * behind the old end. */
static bool
reserve(sni_outq *queue, size_t more)
{
    size_t old = queue->capacity;

    if (queue->count + more <= old)
        return true;
    if (!sni_grow(queue->alloc, &queue->ring, &queue->capacity, queue->count + more,
                  sizeof *queue->ring))
        return false;
    if (queue->first + queue->count > old)
        memcpy(queue->ring + old, queue->ring,
               (queue->first + queue->count - old) * sizeof *queue->ring);
    return true;
}

static sni_segment *
append(sni_outq *queue, sni_block *block, size_t begin, size_t end, bool body)
{
    sni_segment *last;

    if (!body && queue->count > 0) {
        last = segment_at(queue, queue->count - 1);
        if (last->block == block && last->end == begin && !last->body) {
            last->end = end;
            return last;
        }
    }
    last = segment_at(queue, queue->count++);
    *last = (sni_segment){ .block = sni_block_ref(block),
                           .origin = begin,
                           .begin = begin,
                           .end = end,
                           .body = body };
    return last;
}

sennit_err
sni_outq_push_encoded(sni_outq *queue, const sni_encoded *encoded, bool *kept)
{
    sni_segment *last;

    *kept = !queue->swallow;
    if (queue->swallow) {
        queue->swallow = encoded->more;
        queue->open = encoded->more;
        return SENNIT_OK;
    }
    if (!reserve(queue, 2))
        return SENNIT_ENOMEM;
    last = append(queue, encoded->block, encoded->begin, encoded->end, false);
    queue->bytes += encoded->end - encoded->begin;
    if (encoded->body_block != NULL) {
        size_t begin = (size_t)(encoded->body - encoded->body_block->data);

        last->msg_end = false;
        last =
            append(queue, encoded->body_block, begin, begin + encoded->body_size, true);
        queue->bytes += encoded->body_size;
    }
    last->msg_end = !encoded->more;
    queue->open = encoded->more;
    queue->open_bytes += encoded->end - encoded->begin;
    if (encoded->body_block != NULL)
        queue->open_bytes += encoded->body_size;
    if (!encoded->more) {
        queue->open_bytes = 0;
        last->msgs++;
        queue->msgs++;
    }
    return SENNIT_OK;
}

sennit_err
sni_outq_push(sni_outq *queue, const sni_msg *msg, bool more, bool *kept)
{
    sni_encoded encoded;
    sennit_err err = sni_chunk_encode(&queue->chunk, queue->pools, msg, more, &encoded);

    if (err)
        return err;
    return sni_outq_push_encoded(queue, &encoded, kept);
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

bool
sni_outq_abandon(sni_outq *queue, bool more)
{
    size_t left = queue->open_bytes;

    queue->swallow = more;
    queue->open = more;
    queue->open_bytes = 0;
    if (left > queue->bytes)
        return false;
    queue->bytes -= left;
    while (left > 0) {
        sni_segment *last = segment_at(queue, queue->count - 1);
        size_t size = last->end - last->begin;

        if (size > left) {
            last->end -= left;
            last->msg_end = true;
            break;
        }
        left -= size;
        sni_block_unref(last->block);
        queue->count--;
    }
    return true;
}

size_t
sni_outq_parts(const sni_outq *queue, size_t skip, sennit_bytes *parts, size_t parts_max,
               size_t bytes_max)
{
    size_t count = 0;
    size_t bytes = 0;

    for (size_t i = 0; i < queue->count && count < parts_max && bytes < bytes_max; i++) {
        const sni_segment *segment = segment_at(queue, i);
        size_t size = segment->end - segment->begin;

        if (skip >= size) {
            skip -= size;
            continue;
        }
        parts[count++] =
            sni_bytes(segment->block->data + segment->begin + skip, size - skip);
        bytes += size - skip;
        skip = 0;
    }
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

size_t
sni_outq_to_boundary(const sni_outq *queue)
{
    const sni_segment *front;
    sni_frame_head head;
    size_t used;

    if (queue->count == 0)
        return 0;
    front = segment_at(queue, 0);
    if (front->body)
        return front->end - front->begin;
    if (front->begin == front->origin)
        return 0;
    used = frame_at(front, front->origin, &head);
    /* Past the segment's end lies the body that the next segment holds. */
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

/* An empty queue holds no chunk, so an idle peer costs no buffer. */
static void
release_if_empty(sni_outq *queue)
{
    if (queue->count > 0)
        return;
    SNI_ASSERT(queue->bytes == 0);
    SNI_ASSERT(queue->msgs == 0);
    sni_chunk_fini(&queue->chunk);
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

/* Cuts the front segment down to [at, end), a message boundary. */
static void
cut_front(sni_outq *queue, size_t at, uint32_t msgs_gone)
{
    sni_segment *front = segment_at(queue, 0);

    queue->bytes -= at - front->begin;
    queue->msgs -= msgs_gone;
    front->msgs -= msgs_gone;
    front->begin = at;
    front->origin = at;
    queue->front_inside = false;
    if (front->begin == front->end)
        pop_segment(queue);
}

/* Drops frames from the front up to and including the last one of its message. */
static void
drop_front_message(sni_outq *queue, size_t at)
{
    while (queue->count > 0) {
        sni_segment *front = segment_at(queue, 0);

        while (!front->body && at < front->end) {
            sni_frame_head head;
            size_t used = frame_at(front, at, &head);

            at += used + (size_t)head.body_size;
            if (at > front->end)
                break; /* its body is the next segment */
            if (!head.more) {
                cut_front(queue, at, 1);
                return;
            }
        }
        if (front->msg_end) {
            /* The body by reference that ends the message. */
            pop_segment(queue);
            queue->front_inside = false;
            return;
        }
        pop_segment(queue);
        at = queue->count > 0 ? segment_at(queue, 0)->origin : 0;
    }
    /* It is not finished: what the application still adds is dropped too. */
    queue->front_inside = false;
    queue->swallow = queue->open;
    queue->open_bytes = 0;
}

size_t
sni_outq_restart(sni_outq *queue)
{
    const sni_segment *front = queue->count == 0 ? NULL : segment_at(queue, 0);
    bool inside = queue->front_inside;

    if (front != NULL && (front->body || front->begin > front->origin))
        inside = true;
    if (!inside)
        return 0;
    drop_front_message(queue, front == NULL ? 0 : front->origin);
    release_if_empty(queue);
    return 1;
}
