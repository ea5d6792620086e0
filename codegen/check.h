/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CODEGEN_CHECK_H
#define SENNIT_CODEGEN_CHECK_H

#include "ast.h"
#include "model.h"

/* Resolves and checks a syntax tree.
 * Gives: the model of everything that is sound. It is complete only when the
 *        diagnostics hold no error: emit nothing from it otherwise. */
sni_idl_model *sni_idl_check(sni_idl_arena *arena, sni_idl_diags *diags,
                             const sni_ast_file *file);

#endif /* SENNIT_CODEGEN_CHECK_H */
