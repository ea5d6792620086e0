/* SPDX-License-Identifier: MIT */
#include "base/msgq.h"

#include "base/alloc.h"
#include "base/assert.h"

/* The capacity is a power of two, as sni_grow() makes it: no division. */
static sni_msg *
slot(const sni_msgq *queue, size_t position)
{
    return &queue->ring[(queue->first + position) & (queue->capacity - 1)];
}

void
sni_msgq_init(sni_msgq *queue, const sennit_allocator *alloc)
{
    *queue = (sni_msgq){ .alloc = alloc };
}

void
sni_msgq_fini(sni_msgq *queue)
{
    for (size_t i = 0; i < queue->count; i++)
        sni_block_unref(sni_msg_block(slot(queue, i)));
    sni_release(queue->alloc, queue->ring);
    sni_msgq_init(queue, queue->alloc);
}

static bool
grow(sni_msgq *queue)
{
    size_t old = queue->capacity;

    if (!sni_grow(queue->alloc, &queue->ring, &queue->capacity, queue->count + 1,
                  sizeof *queue->ring))
        return false;
    /* The part that had wrapped around moves behind the old end. */
    if (queue->first + queue->count > old) {
        size_t wrapped = queue->first + queue->count - old;

        memcpy(queue->ring + old, queue->ring, wrapped * sizeof *queue->ring);
    }
    return true;
}

sennit_err
sni_msgq_push(sni_msgq *queue, sni_msg *msg, bool more)
{
    sni_msg *to;

    if (queue->count == queue->capacity && !grow(queue))
        return SENNIT_ENOMEM;
    to = slot(queue, queue->count);
    *to = *msg;
    to->more = more;
    queue->count++;
    queue->bytes += sni_msg_size_of(to);
    if (!more) {
        queue->readable = queue->count;
        queue->msgs++;
    }
    sennit_msg_init(sni_msg_public(msg));
    SNI_ASSERT(queue->readable <= queue->count);
    return SENNIT_OK;
}

sennit_err
sni_msgq_insert(sni_msgq *queue, size_t at, sni_msg *msg)
{
    sni_msg *to;

    SNI_ASSERT(at <= queue->readable);
    if (queue->count == queue->capacity && !grow(queue))
        return SENNIT_ENOMEM;
    queue->first = (queue->first - 1) & (queue->capacity - 1);
    for (size_t i = 0; i < at; i++)
        *slot(queue, i) = *slot(queue, i + 1);
    to = slot(queue, at);
    *to = *msg;
    to->more = false;
    queue->count++;
    queue->readable++;
    queue->msgs++;
    queue->bytes += sni_msg_size_of(to);
    sennit_msg_init(sni_msg_public(msg));
    return SENNIT_OK;
}

sennit_err
sni_msgq_reserve(sni_msgq *queue)
{
    return queue->count < queue->capacity || grow(queue) ? SENNIT_OK : SENNIT_ENOMEM;
}

bool
sni_msgq_pop(sni_msgq *queue, sni_msg *msg)
{
    if (queue->readable == 0)
        return false;
    *msg = *slot(queue, 0);
    queue->first = (queue->first + 1) & (queue->capacity - 1);
    queue->count--;
    queue->readable--;
    queue->bytes -= sni_msg_size_of(msg);
    if (!msg->more)
        queue->msgs--;
    return true;
}

void
sni_msgq_rollback(sni_msgq *queue)
{
    while (queue->count > queue->readable) {
        sni_msg *last = slot(queue, queue->count - 1);

        queue->bytes -= sni_msg_size_of(last);
        sni_block_unref(sni_msg_block(last));
        queue->count--;
    }
}

const sni_msg *
sni_msgq_at(const sni_msgq *queue, size_t at)
{
    return slot(queue, at);
}

size_t
sni_msgq_behind(const sni_msgq *queue, size_t at)
{
    SNI_ASSERT(at < queue->readable);
    while (slot(queue, at)->more)
        at++;
    return at + 1;
}

void
sni_msgq_drop(sni_msgq *queue, size_t at)
{
    size_t gone = sni_msgq_behind(queue, at) - at;

    for (size_t i = at; i < at + gone; i++) {
        queue->bytes -= sni_msg_size_of(slot(queue, i));
        sni_block_unref(sni_msg_block(slot(queue, i)));
    }
    for (size_t i = at; i-- > 0;)
        *slot(queue, gone + i) = *slot(queue, i);
    queue->first = (queue->first + gone) & (queue->capacity - 1);
    queue->count -= gone;
    queue->readable -= gone;
    queue->msgs--;
}
