/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CODEGEN_CHECKER_H
#define SENNIT_CODEGEN_CHECKER_H

/* What the parts of the checker share: check.c (order of work, enums, aliases,
 * constants), check_types.c (types and values), check_fields.c (members),
 * check_services.c (services and events). */

#include "annot.h"
#include "ast.h"
#include "map.h"
#include "model.h"

typedef enum sni_idl_progress {
    SNI_IDL_UNTOUCHED,
    SNI_IDL_BUSY, /* being resolved: meeting it again is a cycle */
    SNI_IDL_DONE,
    SNI_IDL_BROKEN, /* reported; whoever needs it stays silent */
} sni_idl_progress;

/* One declared name. */
typedef struct sni_idl_symbol {
    const sni_ast_decl *decl;
    sni_idl_progress progress;
    sni_idl_annots annots;
    sni_idl_type alias;        /* ALIAS */
    sni_idl_enum *enumeration; /* ENUM, FLAGS */
    sni_idl_struct *structure; /* STRUCT, ERROR: there before its fields are */
    sni_idl_const *constant;   /* CONST */
} sni_idl_symbol;

typedef struct sni_idl_checker {
    sni_idl_arena *arena;
    sni_idl_diags *diags;
    const sni_ast_file *file;
    sni_idl_model *model;
    sni_idl_map symbols;      /* short names */
    sni_idl_symbol **ordered; /* as declared, first of each name */
    size_t ordered_count;
    int depth; /* of aliases and constants resolved inside one another */
    /* All structs, in the order they were made. */
    sni_idl_struct **structs;
    size_t structs_count;
    size_t structs_capacity;
} sni_idl_checker;

/* check.c */
void sni_idl_resolve_symbol(sni_idl_checker *checker, sni_idl_symbol *symbol);
sni_idl_naming sni_idl_make_naming(const sni_ast_name *name, const char *doc,
                                   const sni_idl_annots *annots);
const char *sni_idl_full_name(sni_idl_checker *checker, const char *name);
sni_idl_struct *sni_idl_new_struct(sni_idl_checker *checker, sni_idl_role role);

/* check_types.c */

/* The symbol a qualified name stands for, or NULL. */
sni_idl_symbol *sni_idl_find_symbol(sni_idl_checker *checker, const char *name);

/* Says that `name` is unknown, and which of the `wanted` kinds it may have meant. */
void sni_idl_report_unknown(sni_idl_checker *checker, const sni_ast_name *name,
                            const char *what, bool types, bool errors_only);

/* False: reported. */
bool sni_idl_resolve_type(sni_idl_checker *checker, const sni_ast_type *type,
                          sni_idl_type *out);
bool sni_idl_check_value(sni_idl_checker *checker, const sni_ast_value *value,
                         const sni_idl_type *type, sni_idl_constant *out);

/* check_fields.c */

/* A set of numbers and names that must not be used. */
typedef struct sni_idl_range {
    uint64_t first;
    uint64_t last;
    sni_idl_span span;
} sni_idl_range;

typedef struct sni_idl_reservations {
    sni_idl_range *ranges; /* sorted, not overlapping */
    size_t ranges_count;
    sni_idl_map names; /* to sni_ast_reserved */
} sni_idl_reservations;

/* `kind`: of the numbers, an integer kind; keys order them, see check_fields.c. */
void sni_idl_read_reserved(sni_idl_checker *checker, const sni_ast_reserved *list,
                           sni_idl_kind kind, sni_idl_reservations *out);
const sni_idl_range *sni_idl_find_reserved(const sni_idl_reservations *reserved,
                                           sni_idl_kind kind, uint64_t bits);

/* Fills `out->fields` from the members of a struct, error, event or parameter
 * list. `owner` names it in messages. */
void sni_idl_check_fields(sni_idl_checker *checker, const sni_ast_field *fields,
                          const sni_ast_reserved *reserved, sni_idl_place place,
                          const char *owner, sni_idl_struct *out);

/* check_services.c */
sni_idl_service *sni_idl_check_service(sni_idl_checker *checker,
                                       const sni_idl_symbol *symbol);
sni_idl_event *sni_idl_check_event(sni_idl_checker *checker,
                                   const sni_idl_symbol *symbol);

#endif /* SENNIT_CODEGEN_CHECKER_H */
