/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CODEGEN_LEXER_H
#define SENNIT_CODEGEN_LEXER_H

#include "diag.h"

typedef enum sni_idl_token_kind {
    SNI_IDL_TOKEN_END,
    SNI_IDL_TOKEN_IDENT,
    SNI_IDL_TOKEN_INT,
    SNI_IDL_TOKEN_FLOAT,
    SNI_IDL_TOKEN_STRING,
    SNI_IDL_TOKEN_DURATION,
    SNI_IDL_TOKEN_SIZE,
    SNI_IDL_TOKEN_PUNCT,  /* text says which: one of ; : , . .. = ? @ ( ) { } [ ] -> */
    SNI_IDL_TOKEN_BROKEN, /* already reported; stands for any token */
} sni_idl_token_kind;

typedef struct sni_idl_token {
    sni_idl_token_kind kind;
    sni_idl_span span;
    const char *text;   /* IDENT, STRING (unescaped), PUNCT */
    uint64_t magnitude; /* INT, DURATION (ns), SIZE (bytes) */
    double real;        /* FLOAT */
    bool negative;      /* INT, FLOAT */
    const char *doc;    /* the "///" lines just before it, or NULL */
} sni_idl_token;

/* A comment that documents nothing, kept for a formatter. */
typedef struct sni_idl_comment {
    struct sni_idl_comment *next;
    sni_idl_span span;
} sni_idl_comment;

typedef struct sni_idl_lexer {
    sni_idl_arena *arena;
    sni_idl_diags *diags;
    const sni_idl_source *source;
    size_t at; /* next byte; law: at <= source->size */
    sni_idl_comment *comments;
    sni_idl_comment *last_comment;
} sni_idl_lexer;

void sni_idl_lexer_init(sni_idl_lexer *lexer, sni_idl_arena *arena, sni_idl_diags *diags,
                        const sni_idl_source *source);

/* The next token. What is wrong is reported and skipped, so the text always ends
 * with END. */
sni_idl_token sni_idl_lexer_next(sni_idl_lexer *lexer);

#endif /* SENNIT_CODEGEN_LEXER_H */
