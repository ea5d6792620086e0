/* SPDX-License-Identifier: MIT */
/* Blocks and the pool that recycles them.
 *
 * Law of the pool: refs = 1 (the owner) + blocks that are out. The block struct
 * and its bytes are one allocation. Returned blocks are pushed on an atomic
 * stack; the owner takes the whole stack at once, so there is no ABA problem. */
#include "base/block.h"

#include "base/alloc.h"
#include "base/assert.h"

struct sni_pool {
    const sennit_allocator *alloc;
    size_t block_capacity;
    unsigned keep_max;
    atomic_uint refs;
    _Atomic(sni_block *) returned;
    sni_block *free;  /* owner's */
    atomic_uint idle; /* blocks in `free` and `returned`; may lag */
    atomic_bool closed;
};

sni_block *
sni_block_new(const sennit_allocator *alloc, size_t capacity)
{
    sni_block *block;

    if (capacity > SIZE_MAX - sizeof *block)
        return NULL;
    block = sni_acquire(alloc, sizeof *block + capacity);
    if (block == NULL)
        return NULL;
    *block = (sni_block){
        .data = (uint8_t *)(block + 1),
        .capacity = capacity,
        .alloc = alloc,
    };
    atomic_init(&block->refs, 1);
    return block;
}

sni_block *
sni_block_new_user(const sennit_allocator *alloc, void *data, size_t size,
                   void (*release)(void *data, void *arg), void *arg)
{
    sni_block *block = sni_acquire(alloc, sizeof *block);

    if (block == NULL)
        return NULL;
    *block = (sni_block){
        .data = data,
        .capacity = size,
        .alloc = alloc,
        .release = release,
        .release_arg = arg,
    };
    atomic_init(&block->refs, 1);
    return block;
}

static void
block_free(sni_block *block)
{
    if (block->release != NULL)
        block->release(block->data, block->release_arg);
    sni_release(block->alloc, block);
}

static void
pool_unref(sni_pool *pool)
{
    if (atomic_fetch_sub_explicit(&pool->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (sni_block *block = atomic_load(&pool->returned); block != NULL;) {
        sni_block *next = block->next_free;

        block_free(block);
        block = next;
    }
    sni_release(pool->alloc, pool);
}

static void
pool_return(sni_pool *pool, sni_block *block)
{
    unsigned idle = atomic_load_explicit(&pool->idle, memory_order_relaxed);

    if (idle >= pool->keep_max ||
        atomic_load_explicit(&pool->closed, memory_order_acquire)) {
        block_free(block);
    } else {
        sni_block *head = atomic_load_explicit(&pool->returned, memory_order_relaxed);

        atomic_fetch_add_explicit(&pool->idle, 1, memory_order_relaxed);
        do {
            block->next_free = head;
        } while (!atomic_compare_exchange_weak_explicit(
            &pool->returned, &head, block, memory_order_release, memory_order_relaxed));
    }
    pool_unref(pool);
}

void
sni_block_unref(sni_block *block)
{
    if (block == NULL)
        return;
    if (atomic_fetch_sub_explicit(&block->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (block->pool != NULL)
        pool_return(block->pool, block);
    else
        block_free(block);
}

sni_pool *
sni_pool_new(const sennit_allocator *alloc, size_t block_capacity, unsigned keep_max)
{
    sni_pool *pool = sni_acquire(alloc, sizeof *pool);

    if (pool == NULL)
        return NULL;
    pool->alloc = alloc;
    pool->block_capacity = block_capacity;
    pool->keep_max = keep_max;
    pool->free = NULL;
    atomic_init(&pool->refs, 1);
    atomic_init(&pool->returned, NULL);
    atomic_init(&pool->idle, 0);
    atomic_init(&pool->closed, false);
    return pool;
}

void
sni_pool_free(sni_pool *pool)
{
    if (pool == NULL)
        return;
    atomic_store_explicit(&pool->closed, true, memory_order_release);
    for (sni_block *block = pool->free; block != NULL;) {
        sni_block *next = block->next_free;

        block_free(block);
        block = next;
    }
    pool->free = NULL;
    pool_unref(pool);
}

sni_block *
sni_pool_take(sni_pool *pool)
{
    sni_block *block;

    if (pool->free == NULL)
        pool->free =
            atomic_exchange_explicit(&pool->returned, NULL, memory_order_acquire);
    block = pool->free;
    if (block != NULL) {
        pool->free = block->next_free;
        atomic_fetch_sub_explicit(&pool->idle, 1, memory_order_relaxed);
        atomic_store_explicit(&block->refs, 1, memory_order_relaxed);
    } else {
        block = sni_block_new(pool->alloc, pool->block_capacity);
        if (block == NULL)
            return NULL;
        block->pool = pool;
    }
    atomic_fetch_add_explicit(&pool->refs, 1, memory_order_relaxed);
    return block;
}
