/* SPDX-License-Identifier: MIT */
/* Blocks and the pool that recycles them. The block struct and its bytes are one
 * allocation.
 *
 * What the owner gives back goes into a list of its own, without an atomic operation.
 * What other threads give back is pushed on an atomic stack, which the owner takes as a
 * whole, so there is no ABA problem. At the end the stack is exchanged for CLOSED.
 *
 * Law: blocks out = out + left, where other threads count down `left`: blocks that they
 * have freed instead of giving them back. The owner adds `out` to it at the end, and
 * whoever makes it 0 then frees the pool: it cannot be 0 before, as it only falls. */
#include "base/block.h"

#include "base/alloc.h"
#include "base/assert.h"

/* What the owner writes, what others do, and what nobody does, far from each other: a
 * line that two threads write goes to and fro between their processors. */
#define APART 128

struct sni_pool {
    const sennit_allocator *alloc;
    size_t block_capacity;
    unsigned keep_max;
    atomic_uintptr_t owner; /* its thread; 0: several take turns */
    char apart_[APART];
    /* The owner's: */
    sni_block *free;
    unsigned idle; /* blocks in `free` */
    int64_t out;   /* taken, and not seen since; those in `returned` too */
    char apart_too_[APART];
    /* Anybody's: */
    _Atomic(sni_block *) returned;
    atomic_uint stacked; /* about so many are in it */
    atomic_int_fast64_t left;
};

static sni_block closed_mark;
#define CLOSED (&closed_mark)

/* The calling thread, by something that it alone has. */
static uintptr_t
self(void)
{
    static _Thread_local char mine;

    return (uintptr_t)&mine;
}

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

/* A block will not come back: another thread has freed it. */
static void
count_left(sni_pool *pool)
{
    if (atomic_fetch_sub_explicit(&pool->left, 1, memory_order_acq_rel) == 1)
        sni_release(pool->alloc, pool);
}

static void
keep(sni_pool *pool, sni_block *block)
{
    pool->out--;
    if (pool->idle >= pool->keep_max) {
        block_free(block);
        return;
    }
    block->next_free = pool->free;
    pool->free = block;
    pool->idle++;
}

static void
pool_return(sni_pool *pool, sni_block *block)
{
    unsigned stacked;
    sni_block *head;

    if (atomic_load_explicit(&pool->owner, memory_order_relaxed) == self()) {
        keep(pool, block);
        return;
    }
    /* An owner that takes none for a while must not make it grow. Counted without care:
     * what matters is that it does not go on and on. Before the block is there: then the
     * pool may be gone. */
    stacked = atomic_load_explicit(&pool->stacked, memory_order_relaxed);
    head = stacked < pool->keep_max
               ? atomic_load_explicit(&pool->returned, memory_order_relaxed)
               : CLOSED;
    if (head != CLOSED)
        atomic_store_explicit(&pool->stacked, stacked + 1, memory_order_relaxed);
    do {
        if (head == CLOSED) {
            block_free(block);
            count_left(pool);
            return;
        }
        block->next_free = head;
    } while (!atomic_compare_exchange_weak_explicit(
        &pool->returned, &head, block, memory_order_release, memory_order_relaxed));
}

void
sni_block_unref_many(sni_block *block, unsigned count)
{
    /* Who has all references needs no atomic operation to give them up. */
    if (atomic_load_explicit(&block->refs, memory_order_acquire) != count &&
        atomic_fetch_sub_explicit(&block->refs, count, memory_order_acq_rel) != count)
        return;
    if (block->pool != NULL)
        pool_return(block->pool, block);
    else
        block_free(block);
}

void
sni_block_unref(sni_block *block)
{
    if (block != NULL)
        sni_block_unref_many(block, 1);
}

sni_pool *
sni_pool_new(const sennit_allocator *alloc, size_t block_capacity, unsigned keep_max)
{
    sni_pool *pool = sni_acquire_zero(alloc, sizeof *pool);

    if (pool == NULL)
        return NULL;
    pool->alloc = alloc;
    pool->block_capacity = block_capacity;
    pool->keep_max = keep_max;
    atomic_init(&pool->owner, self());
    atomic_init(&pool->returned, NULL);
    atomic_init(&pool->stacked, 0);
    atomic_init(&pool->left, 0);
    return pool;
}

void
sni_pool_share(sni_pool *pool, bool shared)
{
    atomic_store_explicit(&pool->owner, shared ? 0 : self(), memory_order_relaxed);
}

/* Gives: what others have given back, which `with` takes the place of. */
static void
collect(sni_pool *pool, sni_block *with)
{
    sni_block *block =
        atomic_exchange_explicit(&pool->returned, with, memory_order_acquire);

    /* A count that came too late would otherwise keep others from giving back. */
    if (atomic_load_explicit(&pool->stacked, memory_order_relaxed) != 0)
        atomic_store_explicit(&pool->stacked, 0, memory_order_relaxed);
    while (block != NULL) {
        sni_block *next = block->next_free;

        keep(pool, block);
        block = next;
    }
}

void
sni_pool_free(sni_pool *pool)
{
    int64_t out;

    if (pool == NULL)
        return;
    collect(pool, CLOSED);
    for (sni_block *block = pool->free; block != NULL;) {
        sni_block *next = block->next_free;

        block_free(block);
        block = next;
    }
    /* Blocks that are still out come home as anybody's; the last may take the pool with
     * it, as soon as they are counted. */
    sni_pool_share(pool, true);
    out = pool->out;
    if (atomic_fetch_add_explicit(&pool->left, out, memory_order_acq_rel) + out == 0)
        sni_release(pool->alloc, pool);
}

sni_block *
sni_pool_take(sni_pool *pool)
{
    sni_block *block;

    if (pool->free == NULL)
        collect(pool, NULL);
    block = pool->free;
    if (block != NULL) {
        pool->free = block->next_free;
        pool->idle--;
        atomic_store_explicit(&block->refs, 1, memory_order_relaxed);
    } else {
        block = sni_block_new(pool->alloc, pool->block_capacity);
        if (block == NULL)
            return NULL;
        block->pool = pool;
    }
    pool->out++;
    return block;
}
