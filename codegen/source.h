/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CODEGEN_SOURCE_H
#define SENNIT_CODEGEN_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"

/* Where something stands in the source, in bytes. */
typedef struct sni_idl_span {
    uint32_t at;
    uint32_t size;
} sni_idl_span;

/* One schema text in memory. `text` is followed by a NUL that is not part of
 * it, so that a scanner may look one byte ahead. */
typedef struct sni_idl_source {
    const char *name; /* as diagnostics show it */
    const char *text;
    size_t size;
    const uint32_t *lines; /* offset of each line's first byte */
    uint32_t lines_count;
} sni_idl_source;

/* Where a byte stands for a human. Both count from 1; columns count characters,
 * a tab is one. */
typedef struct sni_idl_position {
    uint32_t line;
    uint32_t column;
} sni_idl_position;

/* Takes over a copy of `text`. `size` is at most SNI_IDL_FILE_MAX_BYTES. */
sni_idl_source *sni_idl_source_new(sni_idl_arena *arena, const char *name,
                                   const char *text, size_t size);

sni_idl_position sni_idl_source_position(const sni_idl_source *source, uint32_t at);

/* The bytes of line `line` (from 1), without its end. */
const char *sni_idl_source_line(const sni_idl_source *source, uint32_t line,
                                size_t *size);

/* Reads one character at `text`.
 * Gives: its bytes (1..4) and the character in `*out`; 0 when the bytes there are
 *        not UTF-8 (over-long, surrogates and cut ones included). */
size_t sni_idl_utf8(const char *text, size_t size, uint32_t *out);

#endif /* SENNIT_CODEGEN_SOURCE_H */
