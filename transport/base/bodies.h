/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_BASE_BODIES_H
#define SENNIT_BASE_BODIES_H

#include "base/block.h"

/* Recycled blocks for bodies, by size: a loop that goes on sending and receiving takes no
 * memory from its allocator, whatever the sizes are. Each class holds twice what the one
 * before does, and is made when it is first asked for; what it keeps is bounded in bytes
 * (SNI_BODIES_KEPT_BYTES). Larger bodies than SNI_BODY_BYTES_MAX come and go. */
#define SNI_BODY_CLASSES 13u

typedef struct sni_bodies {
    const sennit_allocator *alloc;
    bool shared;                         /* see sni_pool_share() */
    sni_pool *classes[SNI_BODY_CLASSES]; /* NULL: not made yet */
} sni_bodies;

void sni_bodies_init(sni_bodies *bodies, const sennit_allocator *alloc);

/* Blocks still out are freed when they come home. */
void sni_bodies_fini(sni_bodies *bodies);

/* As sni_pool_share(), for all of them. */
void sni_bodies_share(sni_bodies *bodies, bool shared);

/* A block of at least `size` bytes with one reference, or NULL. Contents are stale.
 * Thread: the owner's; giving it back is safe from any thread. */
sni_block *sni_bodies_take(sni_bodies *bodies, size_t size);

#endif /* SENNIT_BASE_BODIES_H */
