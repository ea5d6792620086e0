/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CODEGEN_AST_H
#define SENNIT_CODEGEN_AST_H

#include "lexer.h"

/* What was written, in the order it was written: the grammar of
 * idl/README.md with a span on everything, and nothing checked but syntax.
 * Lists are linked through `next`. Names that did not parse are NULL. */

typedef struct sni_ast_name {
    const char *text; /* qualified names keep their dots */
    sni_idl_span span;
} sni_ast_name;

typedef enum sni_ast_value_kind {
    SNI_AST_INT,
    SNI_AST_FLOAT,
    SNI_AST_STRING,
    SNI_AST_DURATION,
    SNI_AST_SIZE,
    SNI_AST_NAME,
    SNI_AST_LIST,
} sni_ast_value_kind;

typedef struct sni_ast_value {
    struct sni_ast_value *next; /* in a list */
    sni_ast_value_kind kind;
    sni_idl_span span;
    const char *text;            /* STRING, NAME */
    uint64_t magnitude;          /* INT, DURATION (ns), SIZE (bytes) */
    double real;                 /* FLOAT */
    bool negative;               /* INT */
    struct sni_ast_value *items; /* LIST */
} sni_ast_value;

typedef struct sni_ast_arg {
    struct sni_ast_arg *next;
    sni_ast_name name; /* text NULL: by position */
    sni_ast_value *value;
} sni_ast_arg;

typedef struct sni_ast_annot {
    struct sni_ast_annot *next;
    sni_ast_name name;
    sni_ast_arg *args;
    sni_idl_span span; /* from the @ to the end */
} sni_ast_annot;

typedef enum sni_ast_type_kind {
    SNI_AST_TYPE_NAME,
    SNI_AST_TYPE_LIST,
    SNI_AST_TYPE_ARRAY, /* [element; bound] */
    SNI_AST_TYPE_MAP,
} sni_ast_type_kind;

typedef struct sni_ast_type {
    sni_ast_type_kind kind;
    sni_idl_span span;
    sni_ast_name name;            /* NAME */
    struct sni_ast_type *element; /* LIST, ARRAY, and MAP's value */
    struct sni_ast_type *key;     /* MAP */
    sni_ast_value *bound;         /* ARRAY */
    bool optional;
} sni_ast_type;

/* A numbered member: of a struct, error, event, union or parameter list. */
typedef struct sni_ast_field {
    struct sni_ast_field *next;
    const char *doc;
    uint64_t number;
    bool negative;
    sni_idl_span number_span;
    sni_ast_name name;
    sni_ast_type *type; /* NULL: a union arm without payload, or broken */
    sni_ast_value *fallback;
    sni_ast_annot *annots;
} sni_ast_field;

/* One item of a `reserved` list: numbers first..last, or a name. */
typedef struct sni_ast_reserved {
    struct sni_ast_reserved *next;
    sni_idl_span span;
    const char *name;
    bool first_negative;
    bool last_negative;
    uint64_t first;
    uint64_t last;
} sni_ast_reserved;

typedef struct sni_ast_enumerator {
    struct sni_ast_enumerator *next;
    const char *doc;
    sni_ast_name name;
    uint64_t magnitude;
    bool negative;
    sni_idl_span number_span;
    sni_ast_annot *annots;
} sni_ast_enumerator;

/* What a method takes or gives: nothing, numbered fields, or one type. */
typedef struct sni_ast_payload {
    sni_idl_span span;
    bool present; /* giving: whether there was a "->" */
    bool stream;
    sni_idl_span stream_span;
    sni_ast_field *fields;
    sni_ast_type *type;
} sni_ast_payload;

typedef struct sni_ast_throw {
    struct sni_ast_throw *next;
    sni_ast_name name;
} sni_ast_throw;

typedef struct sni_ast_method {
    struct sni_ast_method *next;
    const char *doc;
    bool oneway;
    sni_idl_span oneway_span;
    sni_ast_name name;
    sni_ast_payload takes;
    sni_ast_payload gives;
    sni_ast_throw *throws;
    sni_ast_annot *annots;
} sni_ast_method;

typedef enum sni_ast_decl_kind {
    SNI_AST_CONST,
    SNI_AST_ALIAS,
    SNI_AST_ENUM,
    SNI_AST_FLAGS,
    SNI_AST_STRUCT,
    SNI_AST_UNION,
    SNI_AST_ERROR,
    SNI_AST_SERVICE,
    SNI_AST_EVENT,
} sni_ast_decl_kind;

typedef struct sni_ast_decl {
    struct sni_ast_decl *next;
    sni_ast_decl_kind kind;
    sni_idl_span keyword_span;
    const char *doc;
    sni_ast_name name;
    sni_ast_annot *annots;
    sni_ast_type *type;              /* CONST, ALIAS, EVENT with one type */
    sni_ast_value *value;            /* CONST */
    sni_ast_name base;               /* ENUM, FLAGS: underlying; SERVICE: extends */
    sni_ast_enumerator *enumerators; /* ENUM, FLAGS */
    sni_ast_field *fields;           /* STRUCT, UNION, ERROR, EVENT */
    sni_ast_reserved *reserved;      /* where there are fields or enumerators */
    sni_ast_method *methods;         /* SERVICE */
    const char *topic;               /* EVENT; NULL: broken */
    sni_idl_span topic_span;
} sni_ast_decl;

typedef struct sni_ast_import {
    struct sni_ast_import *next;
    sni_idl_span span;
    const char *path;
    sni_ast_name as;
} sni_ast_import;

typedef struct sni_ast_file {
    uint64_t edition; /* 0: missing */
    sni_idl_span edition_span;
    const char *doc;    /* before `edition` or `namespace` */
    sni_ast_name space; /* text NULL: none */
    sni_ast_annot *annots;
    sni_ast_import *imports;
    sni_ast_decl *decls;
    sni_idl_comment *comments; /* the ones that are no doc, in order */
} sni_ast_file;

/* "struct", for messages. */
const char *sni_ast_keyword(sni_ast_decl_kind kind);

#endif /* SENNIT_CODEGEN_AST_H */
