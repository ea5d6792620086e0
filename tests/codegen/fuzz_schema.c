/* SPDX-License-Identifier: MIT */
/* libFuzzer: any text through parser, checker, printer and generator. */
#include <stdint.h>
#include <stdio.h>

#include "cgen.h"
#include "idl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sni_idl_schema schema;
    sni_cgen_output output;
    FILE *nowhere = fopen("/dev/null", "w");
    if (!nowhere)
        return 0;
    sni_idl_schema_init(&schema);
    schema.arena.max_bytes = (size_t)64 * 1024 * 1024;
    sni_idl_status status =
        sni_idl_load_text(&schema, "fuzz.snt", (const char *)data, size);
    if (status == SNI_IDL_GOOD)
        status = sni_cgen_run(&schema, "fuzz.snt", &output);
    if (status == SNI_IDL_FINDINGS)
        sni_idl_diags_print(&schema.diags, nowhere, true);
    sni_idl_schema_fini(&schema);
    fclose(nowhere);
    return 0;
}
