/* SPDX-License-Identifier: MIT */
/* Chunks in a chain, the newest first; a chunk doubles the one before it, so the
 * number of chunks is logarithmic. Law: used <= size in every chunk. */
#include "sennit/pack.h"

#include <string.h>

#include "base/alloc.h"
#include "rpc/limits.h"

typedef struct arena_chunk {
    struct arena_chunk *next;
    size_t size;
    size_t used;
    max_align_t data[];
} arena_chunk;

struct sennit_arena {
    const sennit_allocator *alloc;
    arena_chunk *chunks;
};

static size_t
round_up(size_t size)
{
    const size_t align = _Alignof(max_align_t);

    return (size + align - 1) / align * align;
}

static void
free_chain(sennit_arena *arena, arena_chunk *first)
{
    while (first != NULL) {
        arena_chunk *next = first->next;

        sni_release(arena->alloc, first);
        first = next;
    }
}

/* A new newest chunk with room for `size`; NULL without memory. */
static arena_chunk *
add_chunk(sennit_arena *arena, size_t size)
{
    size_t room = SNI_ARENA_CHUNK_BYTES;
    arena_chunk *added;

    if (arena->chunks != NULL && arena->chunks->size <= SNI_ARENA_CHUNK_MAX_BYTES / 2)
        room = arena->chunks->size * 2;
    if (room < size)
        room = size;
    if (room > SIZE_MAX - sizeof *added)
        return NULL;
    added = sni_acquire(arena->alloc, sizeof *added + room);
    if (added == NULL)
        return NULL;
    added->next = arena->chunks;
    added->size = room;
    added->used = 0;
    arena->chunks = added;
    return added;
}

sennit_err
sennit_arena_new(sennit_arena **out, const sennit_allocator *allocator)
{
    const sennit_allocator *alloc = allocator ? allocator : &sni_alloc_default;
    sennit_arena *arena = sni_acquire(alloc, sizeof *arena);

    if (arena == NULL)
        return SENNIT_ENOMEM;
    arena->alloc = alloc;
    arena->chunks = NULL;
    *out = arena;
    return SENNIT_OK;
}

void
sennit_arena_free(sennit_arena *arena)
{
    if (arena == NULL)
        return;
    free_chain(arena, arena->chunks);
    sni_release(arena->alloc, arena);
}

void *
sennit_arena_alloc(sennit_arena *arena, size_t size)
{
    arena_chunk *chunk = arena->chunks;
    void *memory;

    if (size > SIZE_MAX / 2)
        return NULL;
    size = round_up(size);
    if (chunk == NULL || chunk->size - chunk->used < size)
        chunk = add_chunk(arena, size);
    if (chunk == NULL)
        return NULL;
    memory = (uint8_t *)chunk->data + chunk->used;
    chunk->used += size;
    return memory;
}

void *
sennit_arena_array(sennit_arena *arena, size_t count, size_t size)
{
    void *memory;

    if (size != 0 && count > SIZE_MAX / size)
        return NULL;
    memory = sennit_arena_alloc(arena, count * size);
    if (memory != NULL)
        memset(memory, 0, count * size);
    return memory;
}

sennit_err
sennit_arena_copy_bytes(sennit_arena *arena, sennit_bytes from, sennit_bytes *out)
{
    uint8_t *copy = sennit_arena_alloc(arena, from.size);

    if (copy == NULL)
        return SENNIT_ENOMEM;
    if (from.size > 0)
        memcpy(copy, from.data, from.size);
    *out = (sennit_bytes){ copy, from.size };
    return SENNIT_OK;
}

sennit_err
sennit_arena_copy_str(sennit_arena *arena, sennit_str from, sennit_str *out)
{
    char *copy = from.size < SIZE_MAX ? sennit_arena_alloc(arena, from.size + 1) : NULL;

    if (copy == NULL)
        return SENNIT_ENOMEM;
    if (from.size > 0)
        memcpy(copy, from.data, from.size);
    copy[from.size] = '\0';
    *out = (sennit_str){ copy, from.size };
    return SENNIT_OK;
}

void
sennit_arena_reset(sennit_arena *arena)
{
    arena_chunk *kept = arena->chunks;

    if (kept == NULL)
        return;
    free_chain(arena, kept->next);
    kept->next = NULL;
    kept->used = 0;
    /* One large message must not hold its memory for ever. */
    if (kept->size > SNI_ARENA_CHUNK_MAX_BYTES) {
        sni_release(arena->alloc, kept);
        arena->chunks = NULL;
    }
}
