/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CODEGEN_ARENA_H
#define SENNIT_CODEGEN_ARENA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

/* Memory of one schema: syntax tree, model, diagnostics. Nothing in it is freed
 * alone; the arena goes as a whole.
 *
 * Running out leaves through `on_failure`, set by the one function that owns the
 * arena (sni_idl_load, the emitter's entry): the parser and the checker would
 * otherwise test some hundred allocations that all have the same answer. This is
 * safe because nothing between the two owns anything but this arena. */
typedef struct sni_idl_chunk sni_idl_chunk;

typedef struct sni_idl_arena {
    sni_idl_chunk *chunks;
    char *next;          /* free part of the newest chunk ... */
    char *end;           /* ... ends here */
    size_t taken_bytes;  /* over all chunks; law: taken_bytes <= max_bytes */
    size_t max_bytes;    /* bound against hostile schemas */
    jmp_buf *on_failure; /* where running out of memory goes; must be set */
    void *(*acquire)(void *arg, size_t size); /* NULL: malloc */
    void (*release)(void *arg, void *memory); /* NULL: free */
    void *arg;
} sni_idl_arena;

/* Bytes one schema may take: a schema of the largest size allowed, dense with
 * one-letter tokens, stays below. */
#define SNI_IDL_ARENA_MAX_BYTES ((size_t)1 << 30)

void sni_idl_arena_init(sni_idl_arena *arena);
void sni_idl_arena_fini(sni_idl_arena *arena);

/* `size` zeroed bytes, aligned for anything. Never NULL: see on_failure. */
void *sni_idl_alloc(sni_idl_arena *arena, size_t size);

#define SNI_IDL_NEW(arena, type) ((type *)sni_idl_alloc((arena), sizeof(type)))
#define SNI_IDL_NEW_ARRAY(arena, type, count)                                            \
    ((type *)sni_idl_alloc_array((arena), (count), sizeof(type)))

void *sni_idl_alloc_array(sni_idl_arena *arena, size_t count, size_t size);

/* Copies, always ended by NUL. */
char *sni_idl_copy_text(sni_idl_arena *arena, const char *text, size_t size);
char *sni_idl_format(sni_idl_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
char *sni_idl_vformat(sni_idl_arena *arena, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

#endif /* SENNIT_CODEGEN_ARENA_H */
