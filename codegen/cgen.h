/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CODEGEN_CGEN_H
#define SENNIT_CODEGEN_CGEN_H

#include "idl.h"
#include "text.h"

/* The C files of one schema. */
typedef struct sni_cgen_output {
    sni_idl_text header;
    sni_idl_text source;
} sni_cgen_output;

/* Writes C for a schema that was loaded without findings.
 * Takes:  `file`: name of the schema without its directory, "pricing.snt".
 * Gives:  the text of "<file>.h" and "<file>.c", in the schema's memory; the same
 *         bytes for the same schema.
 * Errors: FINDINGS when names clash in C: see the schema's diagnostics.
 *         CANNOT_RUN when memory ran out. */
sni_idl_status sni_cgen_run(sni_idl_schema *schema, const char *file,
                            sni_cgen_output *out);

#endif /* SENNIT_CODEGEN_CGEN_H */
