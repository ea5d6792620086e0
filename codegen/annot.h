/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CODEGEN_ANNOT_H
#define SENNIT_CODEGEN_ANNOT_H

#include "ast.h"

/* What an annotation may stand on. */
typedef enum sni_idl_place {
    SNI_IDL_ON_NAMESPACE = 1u << 0,
    SNI_IDL_ON_ALIAS = 1u << 1,
    SNI_IDL_ON_ENUM = 1u << 2,
    SNI_IDL_ON_ENUMERATOR = 1u << 3,
    SNI_IDL_ON_STRUCT = 1u << 4,
    SNI_IDL_ON_UNION = 1u << 5,
    SNI_IDL_ON_ERROR = 1u << 6,
    SNI_IDL_ON_FIELD = 1u << 7,
    SNI_IDL_ON_PARAMETER = 1u << 8,
    SNI_IDL_ON_SERVICE = 1u << 9,
    SNI_IDL_ON_METHOD = 1u << 10,
    SNI_IDL_ON_EVENT = 1u << 11,
} sni_idl_place;

/* What the annotations of one thing say. */
typedef struct sni_idl_annots {
    const char *c_prefix;
    const char *c_name;
    const char *deprecated; /* "" without a reason; NULL: not deprecated */
    uint32_t timeout_ms;
    bool idempotent;
    bool retryable;
    bool versioned;
    uint32_t major;
    uint32_t minor;
    int32_t code;
} sni_idl_annots;

/* Checks a list of annotations against the table of those that exist and reads
 * them into `*out`, which is cleared first. */
void sni_idl_check_annots(sni_idl_diags *diags, const sni_ast_annot *annots,
                          sni_idl_place place, sni_idl_annots *out);

#endif /* SENNIT_CODEGEN_ANNOT_H */
