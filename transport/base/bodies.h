/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_BASE_BODIES_H
#define SENNIT_BASE_BODIES_H

#include "base/block.h"
#include "base/limits.h"

/* Recycled blocks for bodies, by size: a loop that goes on sending and receiving takes no
 * memory from its allocator, whatever the sizes are. Each class holds twice what the one
 * before does, and is made when it is first asked for; what it keeps is bounded in bytes
 * (SNI_BODIES_KEPT_BYTES). Larger bodies than SNI_BODY_BYTES_MAX come and go. */
#define SNI_BODY_CLASSES 13u

typedef struct sni_bodies {
    const sennit_allocator *alloc;
    bool shared;                         /* see sni_pool_share() */
    sni_pool *classes[SNI_BODY_CLASSES]; /* NULL: not made yet */
    sni_block *returned;                 /* what was given back last; NULL: nothing */
    unsigned returned_count; /* references to it, which are still to be dropped */
} sni_bodies;

void sni_bodies_init(sni_bodies *bodies, const sennit_allocator *alloc);

/* Blocks still out are freed when they come home. */
void sni_bodies_fini(sni_bodies *bodies);

/* As sni_pool_share(), for all of them. */
void sni_bodies_share(sni_bodies *bodies, bool shared);

/* As sni_bodies_take(), without a look at what was returned. */
sni_block *sni_bodies_take_fresh(sni_bodies *bodies, size_t size);

/* Whether the block that was returned last is of that size, and nobody else's. */
static inline bool
sni_bodies_has_returned(const sni_bodies *bodies, size_t size)
{
    const sni_block *block = bodies->returned;

    return bodies->returned_count == 1 && block->capacity >= size &&
           block->capacity <= 2 * size + SNI_BODY_BYTES && sni_block_sole(block);
}

/* A block of at least `size` bytes with one reference, or NULL. Contents are stale.
 * Thread: the owner's; giving it back is safe from any thread. */
static inline sni_block *
sni_bodies_take(sni_bodies *bodies, size_t size)
{
    sni_block *block = bodies->returned;

    if (!sni_bodies_has_returned(bodies, size))
        return sni_bodies_take_fresh(bodies, size);
    bodies->returned = NULL;
    bodies->returned_count = 0;
    return block;
}

/* Drops what was returned. */
void sni_bodies_settle(sni_bodies *bodies);

/* Takes: a reference to `block`, of a message that its receiver gives back. It need not
 * be one of these bodies: of many that lie in one block the references are dropped
 * together, as each by itself is an atomic operation, and the next body of about its size
 * may have it. Memory that is not recycled goes at once; who has lent it may wait for
 * that. Until sni_bodies_settle() one block is kept. */
static inline void
sni_bodies_return(sni_bodies *bodies, sni_block *block)
{
    if (block->pool == NULL) {
        sni_block_unref(block);
        return;
    }
    if (block != bodies->returned) {
        sni_bodies_settle(bodies);
        bodies->returned = block;
    }
    bodies->returned_count++;
}

#endif /* SENNIT_BASE_BODIES_H */
