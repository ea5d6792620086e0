/* SPDX-License-Identifier: MIT */
#include "arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES ((size_t)64 * 1024)

struct sni_idl_chunk {
    sni_idl_chunk *next;
    max_align_t data[];
};

void
sni_idl_arena_init(sni_idl_arena *arena)
{
    memset(arena, 0, sizeof(*arena));
    arena->max_bytes = SNI_IDL_ARENA_MAX_BYTES;
}

void
sni_idl_arena_fini(sni_idl_arena *arena)
{
    while (arena->chunks) {
        sni_idl_chunk *chunk = arena->chunks;
        arena->chunks = chunk->next;
        if (arena->release)
            arena->release(arena->arg, chunk);
        else
            free(chunk);
    }
    arena->next = NULL;
    arena->end = NULL;
    arena->taken_bytes = 0;
}

static void
add_chunk(sni_idl_arena *arena, size_t size)
{
    size_t bytes = size > CHUNK_BYTES ? size : CHUNK_BYTES;
    if (bytes > arena->max_bytes - arena->taken_bytes)
        longjmp(*arena->on_failure, 1);
    size_t whole = sizeof(sni_idl_chunk) + bytes;
    sni_idl_chunk *chunk =
        arena->acquire ? arena->acquire(arena->arg, whole) : malloc(whole);
    if (!chunk)
        longjmp(*arena->on_failure, 1);
    chunk->next = arena->chunks;
    arena->chunks = chunk;
    arena->taken_bytes += bytes;
    arena->next = (char *)chunk->data;
    arena->end = arena->next + bytes;
}

void *
sni_idl_alloc(sni_idl_arena *arena, size_t size)
{
    size_t align = alignof(max_align_t);
    if (size > arena->max_bytes)
        longjmp(*arena->on_failure, 1);
    size = (size + align - 1) / align * align;
    if (size > (size_t)(arena->end - arena->next))
        add_chunk(arena, size);
    void *memory = arena->next;
    arena->next += size;
    memset(memory, 0, size);
    return memory;
}

void *
sni_idl_alloc_array(sni_idl_arena *arena, size_t count, size_t size)
{
    if (count > arena->max_bytes / size)
        longjmp(*arena->on_failure, 1);
    return sni_idl_alloc(arena, count ? count * size : 1);
}

char *
sni_idl_copy_text(sni_idl_arena *arena, const char *text, size_t size)
{
    char *copy = sni_idl_alloc(arena, size + 1);
    if (size)
        memcpy(copy, text, size);
    return copy;
}

char *
sni_idl_vformat(sni_idl_arena *arena, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (size < 0)
        longjmp(*arena->on_failure, 1);
    char *text = sni_idl_alloc(arena, (size_t)size + 1);
    vsnprintf(text, (size_t)size + 1, format, args);
    return text;
}

char *
sni_idl_format(sni_idl_arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = sni_idl_vformat(arena, format, args);
    va_end(args);
    return text;
}
