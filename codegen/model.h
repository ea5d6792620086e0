/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CODEGEN_MODEL_H
#define SENNIT_CODEGEN_MODEL_H

#include "source.h"

/* What a schema means: every name resolved, every value computed, every rule
 * checked. Emitters and the JSON converter read this and nothing else. Arrays are
 * in the order of the source unless said otherwise. */

typedef struct sni_idl_enum sni_idl_enum;
typedef struct sni_idl_struct sni_idl_struct;

typedef enum sni_idl_kind {
    SNI_IDL_BOOL,
    SNI_IDL_U8,
    SNI_IDL_I8,
    SNI_IDL_U16,
    SNI_IDL_I16,
    SNI_IDL_U32,
    SNI_IDL_I32,
    SNI_IDL_U64,
    SNI_IDL_I64,
    SNI_IDL_F32,
    SNI_IDL_F64,
    SNI_IDL_STR,
    SNI_IDL_BYTES,
    SNI_IDL_TIME,     /* nanoseconds since 1970, i64 */
    SNI_IDL_DURATION, /* nanoseconds, i64 */
    SNI_IDL_ENUM,
    SNI_IDL_STRUCT,
    SNI_IDL_LIST,
} sni_idl_kind;

typedef struct sni_idl_type {
    sni_idl_kind kind;
    bool optional;
    const sni_idl_enum *enumeration;    /* ENUM */
    sni_idl_struct *structure;          /* STRUCT */
    const struct sni_idl_type *element; /* LIST */
} sni_idl_type;

/* The kinds that need no declaration, in front of the enum above. */
#define SNI_IDL_BUILT_IN_COUNT ((size_t)SNI_IDL_DURATION + 1)

/* Bits and sign of a built-in kind; of an enum, ask for those of its base. */
bool sni_idl_kind_is_integer(sni_idl_kind kind);
bool sni_idl_kind_is_signed(sni_idl_kind kind);
unsigned sni_idl_kind_bits(sni_idl_kind kind);

/* Whether a number fits an integer kind. */
bool sni_idl_number_fits(sni_idl_kind kind, bool negative, uint64_t magnitude);

/* "u16"; built-in kinds only. */
const char *sni_idl_kind_name(sni_idl_kind kind);

/* A value of a known type. Integers, bool, time and duration are two's
 * complement in `bits`; f32 and f64 are in `real`, str in `text`. */
typedef struct sni_idl_constant {
    uint64_t bits;
    double real;
    const char *text;
} sni_idl_constant;

/* What everything with a name of its own has. */
typedef struct sni_idl_naming {
    const char *name;
    const char *c_name;     /* from @c(name = "..."), else NULL */
    const char *doc;        /* lines of "///", else NULL */
    const char *deprecated; /* the reason, "" without one; NULL: it is not */
    sni_idl_span span;
} sni_idl_naming;

typedef struct sni_idl_enumerator {
    sni_idl_naming naming;
    uint64_t bits;
} sni_idl_enumerator;

struct sni_idl_enum {
    sni_idl_naming naming;
    bool flags;
    sni_idl_kind base;
    const sni_idl_enumerator *values;
    size_t values_count;
};

typedef struct sni_idl_field {
    sni_idl_naming naming;
    uint32_t number;
    sni_idl_type type;
    bool has_fallback; /* written in the schema; else the zero of the type */
    sni_idl_constant fallback;
} sni_idl_field;

typedef enum sni_idl_role {
    SNI_IDL_ROLE_STRUCT,
    SNI_IDL_ROLE_ERROR,
    SNI_IDL_ROLE_EVENT,  /* an event's own fields */
    SNI_IDL_ROLE_ARGS,   /* a method's parameters */
    SNI_IDL_ROLE_RESULT, /* a method's results */
} sni_idl_role;

struct sni_idl_struct {
    sni_idl_naming naming; /* ARGS, RESULT: "Service.method" */
    sni_idl_role role;
    sni_idl_field *fields; /* ascending by number */
    size_t fields_count;
    uint32_t nesting; /* structs by value inside one another, itself included */
    /* ERROR only */
    uint32_t detail_id; /* FNV-1a of the full name: names it on the wire, never 0 */
    int32_t code;       /* from @code; 0 without */
    bool retryable;
};

typedef struct sni_idl_method {
    sni_idl_naming naming;
    bool oneway;
    bool idempotent;
    uint32_t timeout_ms;         /* 0: none given */
    const sni_idl_struct *takes; /* never NULL */
    bool takes_nothing;          /* no parameters: `takes` has no fields */
    bool takes_own;              /* `takes` belongs to this method alone */
    const sni_idl_struct *gives; /* NULL for one-way */
    bool gives_nothing;
    bool gives_own;
    const sni_idl_struct **throws;
    size_t throws_count;
} sni_idl_method;

typedef struct sni_idl_service {
    sni_idl_naming naming;
    const char *address; /* "pkg.Service", with @version "pkg.Service/major" */
    bool versioned;
    uint32_t major;
    uint32_t minor;
    sni_idl_method *methods;
    size_t methods_count;
} sni_idl_service;

/* A token of an event's address: fixed text, or the value of a field. */
typedef struct sni_idl_topic_part {
    const char *literal; /* with the dots around it */
    const sni_idl_field *field;
} sni_idl_topic_part;

typedef struct sni_idl_event {
    sni_idl_naming naming;
    const char *topic;
    sni_idl_topic_part *parts;
    size_t parts_count;
    const sni_idl_struct *body;
    bool body_own; /* `body` belongs to this event alone */
} sni_idl_event;

typedef struct sni_idl_const {
    sni_idl_naming naming;
    sni_idl_type type;
    sni_idl_constant value;
} sni_idl_const;

/* One declaration, in the order of the source. Aliases are gone. */
typedef enum sni_idl_item_kind {
    SNI_IDL_ITEM_CONST,
    SNI_IDL_ITEM_ENUM,
    SNI_IDL_ITEM_STRUCT,
    SNI_IDL_ITEM_SERVICE,
    SNI_IDL_ITEM_EVENT,
} sni_idl_item_kind;

typedef struct sni_idl_item {
    sni_idl_item_kind kind;
    union {
        const sni_idl_const *constant;
        const sni_idl_enum *enumeration;
        const sni_idl_struct *structure;
        const sni_idl_service *service;
        const sni_idl_event *event;
    };
} sni_idl_item;

typedef struct sni_idl_model {
    const char *space;       /* namespace, "" without one */
    const char *c_prefix;    /* from @c(prefix = "..."), else NULL */
    sni_idl_span space_span; /* of the namespace, or the place for one */
    const char *doc;
    const sni_idl_item *items;
    size_t items_count;
    /* All structs, method and event ones included, each after those it contains. */
    const sni_idl_struct **structs;
    size_t structs_count;
} sni_idl_model;

#endif /* SENNIT_CODEGEN_MODEL_H */
