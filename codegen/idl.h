/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CODEGEN_IDL_H
#define SENNIT_CODEGEN_IDL_H

/* Schemas for programs of ours: load one, find a method, turn JSON into message
 * bodies and back. Not public; linked statically (sennit::idl). */

#include "diag.h"
#include "model.h"

typedef enum sni_idl_status {
    SNI_IDL_GOOD = 0,
    SNI_IDL_FINDINGS = 1,   /* the schema has errors: see `diags` */
    SNI_IDL_CANNOT_RUN = 2, /* not even looked at: see `failure` */
} sni_idl_status;

struct sni_ast_file;

/* A schema and all memory that belongs to it. */
typedef struct sni_idl_schema {
    sni_idl_arena arena;
    sni_idl_diags diags;
    const sni_idl_source *source;
    const struct sni_ast_file *ast;
    const sni_idl_model *model; /* complete when the status was GOOD */
    char failure[256];          /* CANNOT_RUN: what, and what to do */
} sni_idl_schema;

/* Readies `schema` for one load. sni_idl_schema_fini() may be called at any time
 * after, more than once. */
void sni_idl_schema_init(sni_idl_schema *schema);
void sni_idl_schema_fini(sni_idl_schema *schema);

/* Parses and checks the schema in the file `path`, or in `text`, where `name` is
 * what diagnostics call it. */
sni_idl_status sni_idl_load_file(sni_idl_schema *schema, const char *path);
sni_idl_status sni_idl_load_text(sni_idl_schema *schema, const char *name,
                                 const char *text, size_t size);

/* A method and the service it belongs to. */
typedef struct sni_idl_method_ref {
    const sni_idl_service *service;
    const sni_idl_method *method;
} sni_idl_method_ref;

/* Finds a method by "Service.method", or with the full name of the service, with
 * or without its version ("shop.pricing.Pricing/1.get").
 * Gives: false when there is none; `nearest`, if not NULL, is then a method that
 *        was probably meant, as "Service.method" in the schema's memory, or NULL. */
bool sni_idl_find_method(sni_idl_schema *schema, const char *name,
                         sni_idl_method_ref *out, const char **nearest);

/* The address of a method on the bus: "shop.pricing.Pricing/1.get". In the
 * schema's memory; NULL when that ran out. */
const char *sni_idl_method_address(sni_idl_schema *schema, sni_idl_method_ref ref);

/* The error a detail id stands for, or NULL. */
const sni_idl_struct *sni_idl_find_error(const sni_idl_schema *schema,
                                         uint32_t detail_id);

/* The type of a field as a schema would write it, "[Level]?". `out` gets at most
 * `size` bytes, NUL included. */
void sni_idl_type_text(const sni_idl_type *type, char *out, size_t size);

#endif /* SENNIT_CODEGEN_IDL_H */
