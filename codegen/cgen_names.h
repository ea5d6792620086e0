/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CODEGEN_CGEN_NAMES_H
#define SENNIT_CODEGEN_CGEN_NAMES_H

/* What the parts of the C generator share: cgen.c (layout of the two files),
 * cgen_names.c (names, and whether they clash), cgen_types.c (constants, enums,
 * structs), cgen_services.c (clients, servers, events). */

#include "idl.h"
#include "map.h"
#include "text.h"

typedef struct sni_cgen {
    sni_idl_arena *arena;
    sni_idl_diags *diags;
    const sni_idl_model *model;
    const char *file;   /* "pricing.snt" */
    const char *prefix; /* "pr" */
    const char *upper;  /* "PR" */
    const char *guard;  /* "PR_PRICING_SNT_H" */
    sni_idl_text *h;
    sni_idl_text *c;
    sni_idl_map names;   /* of structs, enums, ...: by address, to their C name */
    sni_idl_map globals; /* every C name at file scope, to its sni_cgen_global */
    uint32_t reported;   /* place of the last name that was refused, + 1 */
} sni_cgen;

/* Finds all names and checks each against C, C++ and all others. False: reported. */
bool sni_cgen_make_names(sni_cgen *gen);

/* The C name of a struct, enum, constant, service, method or event of the model:
 * "pr_quote". Of a method: "pr_pricing_get". */
const char *sni_cgen_name(const sni_cgen *gen, const void *thing);

/* The same in capitals, for macros: "PR_QUOTE". */
const char *sni_cgen_upper(const sni_cgen *gen, const void *thing);

/* The last part alone: of an enum value, field or method in its struct. */
const char *sni_cgen_member(const sni_idl_naming *naming);
const char *sni_cgen_method_member(const sni_cgen *gen, const sni_idl_naming *naming);
const char *sni_cgen_enumerator(const sni_cgen *gen, const sni_idl_enum *enumeration,
                                const sni_idl_enumerator *value);

/* A declared error's part in the name of the function that answers with it. */
const char *sni_cgen_error_part(const sni_cgen *gen, const sni_idl_struct *error);

/* cgen_types.c */

/* "const pr_level *" and the like, with what separates it from the name. */
const char *sni_cgen_element_type(const sni_cgen *gen, const sni_idl_type *type);

/* Doc comment with what @deprecated says. */
void sni_cgen_put_doc(sni_idl_text *text, const char *indent,
                      const sni_idl_naming *naming);

void sni_cgen_put_constants(sni_cgen *gen);
void sni_cgen_put_enums(sni_cgen *gen);
void sni_cgen_put_structs(sni_cgen *gen);

/* cgen_services.c */
void sni_cgen_put_services(sni_cgen *gen);
void sni_cgen_put_events(sni_cgen *gen);

#endif /* SENNIT_CODEGEN_CGEN_NAMES_H */
