/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CODEGEN_TEXT_H
#define SENNIT_CODEGEN_TEXT_H

#include "arena.h"

/* Text that grows at its end, in an arena. Zero it and set the arena. */
typedef struct sni_idl_text {
    sni_idl_arena *arena;
    char *data; /* law: size <= capacity */
    size_t size;
    size_t capacity;
} sni_idl_text;

void sni_idl_put(sni_idl_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* `lines` as a C comment, each line after `indent`; "*" "/" and trigraphs in it are
 * broken up. NULL puts nothing. */
void sni_idl_put_comment(sni_idl_text *text, const char *indent, const char *lines);

/* `value` as a C string literal, quotes included. */
void sni_idl_put_string(sni_idl_text *text, const char *value);

#endif /* SENNIT_CODEGEN_TEXT_H */
