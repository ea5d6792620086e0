/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CODEGEN_PARSER_H
#define SENNIT_CODEGEN_PARSER_H

#include "ast.h"

/* Parses a whole source. Never NULL: what does not parse is reported, skipped up
 * to the next ';' or '}', and the rest is there. */
sni_ast_file *sni_idl_parse(sni_idl_arena *arena, sni_idl_diags *diags,
                            const sni_idl_source *source);

/* Whether `text` is a keyword of the language. */
bool sni_idl_is_keyword(const char *text);

#endif /* SENNIT_CODEGEN_PARSER_H */
