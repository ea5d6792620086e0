/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_BASE_BLOCK_H
#define SENNIT_BASE_BLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sennit/sennit.h"

/* Counted storage; messages and queues hold views into it. The count is atomic
 * because a message body may be dropped on any thread; everything else about a
 * block belongs to the one thread that fills it. */
typedef struct sni_block sni_block;
typedef struct sni_pool sni_pool;

struct sni_block {
    atomic_uint refs;
    uint8_t *data;
    size_t capacity;
    const sennit_allocator *alloc; /* of this struct (and of data that follows it) */
    sni_pool *pool;                /* where to return to, or NULL */
    sni_block *next_free;          /* in the pool */
    void (*release)(void *data, void *arg); /* of user memory, or NULL */
    void *release_arg;
};

/* A block of `capacity` bytes with one reference, or NULL. */
sni_block *sni_block_new(const sennit_allocator *alloc, size_t capacity);

/* A block over the caller's memory; see sennit_msg_init_user(). */
sni_block *sni_block_new_user(const sennit_allocator *alloc, void *data, size_t size,
                              void (*release)(void *data, void *arg), void *arg);

static inline void
sni_block_ref_many(sni_block *block, unsigned count)
{
    atomic_fetch_add_explicit(&block->refs, count, memory_order_relaxed);
}

static inline sni_block *
sni_block_ref(sni_block *block)
{
    sni_block_ref_many(block, 1);
    return block;
}

/* Whether the caller holds the only reference, so that it may write again. */
static inline bool
sni_block_sole(const sni_block *block)
{
    return atomic_load_explicit(&block->refs, memory_order_acquire) == 1;
}

/* Drops one reference; the last one returns the block to its pool or frees it.
 * NULL is a no-op. Thread: any. */
void sni_block_unref(sni_block *block);

/* Drops `count` of them, at least one. */
void sni_block_unref_many(sni_block *block, unsigned count);

/* Recycles blocks of one size, because fresh pages cost about 3 us each here
 * (limits A) and a busy connection turns over thousands of blocks a second.
 * Returning is safe from any thread; taking belongs to the owner, which is the thread
 * that made it. At most `keep_max` are kept, and about as many that others have returned.
 */
sni_pool *sni_pool_new(const sennit_allocator *alloc, size_t block_capacity,
                       unsigned keep_max);

/* Whether several threads take turns in taking; else the calling thread owns it. Nobody
 * takes meanwhile. */
void sni_pool_share(sni_pool *pool, bool shared);

/* Frees what is in it; blocks still out are freed when they come home. NULL is
 * a no-op. */
void sni_pool_free(sni_pool *pool);

/* A block of the pool's size with one reference, or NULL. Contents are stale. */
sni_block *sni_pool_take(sni_pool *pool);

#endif /* SENNIT_BASE_BLOCK_H */
