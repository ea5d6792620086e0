/* SPDX-License-Identifier: MIT */
#include "base/bodies.h"

#include "base/assert.h"
#include "base/bytes.h"

/* A little more than a power of two, so that a body of one fits with its head, or with
 * the end of the frame before it. */
#define SLACK(size) ((size) / 16)

_Static_assert(SNI_BODY_BYTES << (SNI_BODY_CLASSES - 1) == SNI_BODY_BYTES_MAX,
               "the last class is for the largest bodies that are recycled");

void
sni_bodies_init(sni_bodies *bodies, const sennit_allocator *alloc)
{
    *bodies = (sni_bodies){ .alloc = alloc };
}

void
sni_bodies_fini(sni_bodies *bodies)
{
    sni_bodies_settle(bodies);
    for (size_t i = 0; i < SNI_BODY_CLASSES; i++)
        sni_pool_free(bodies->classes[i]);
    sni_bodies_init(bodies, bodies->alloc);
}

void
sni_bodies_share(sni_bodies *bodies, bool shared)
{
    bodies->shared = shared;
    for (size_t i = 0; i < SNI_BODY_CLASSES; i++)
        if (bodies->classes[i] != NULL)
            sni_pool_share(bodies->classes[i], shared);
}

static sni_pool *
class_of(sni_bodies *bodies, size_t size)
{
    size_t capacity = SNI_BODY_BYTES;
    sni_pool *pool;
    size_t i = 0;

    while (capacity + SLACK(capacity) < size) {
        capacity *= 2;
        i++;
    }
    SNI_ASSERT(i < SNI_BODY_CLASSES);
    if (bodies->classes[i] != NULL)
        return bodies->classes[i];
    pool = sni_pool_new(bodies->alloc, capacity + SLACK(capacity),
                        (unsigned)(SNI_BODIES_KEPT_BYTES / capacity));
    if (pool != NULL)
        sni_pool_share(pool, bodies->shared);
    bodies->classes[i] = pool;
    return pool;
}

void
sni_bodies_settle(sni_bodies *bodies)
{
    if (bodies->returned_count > 0)
        sni_block_unref_many(bodies->returned, bodies->returned_count);
    bodies->returned = NULL;
    bodies->returned_count = 0;
}

sni_block *
sni_bodies_take_fresh(sni_bodies *bodies, size_t size)
{
    sni_pool *pool;

    if (size > SNI_BODY_BYTES_MAX + SLACK(SNI_BODY_BYTES_MAX))
        return sni_block_new(bodies->alloc, size);
    pool = class_of(bodies, size);
    return pool != NULL ? sni_pool_take(pool) : NULL;
}

#ifndef NDEBUG
void
sni_body_copy(void *to, const void *from, size_t size)
{
    if (size > 0)
        memcpy(to, from, size);
}
#endif
