/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CODEGEN_SUGGEST_H
#define SENNIT_CODEGEN_SUGGEST_H

/* "Did you mean", for sennitc and for the program sennit. */

#include <stddef.h>

/* The one of `names` that `text` was probably meant to be, upper and lower
 * case being the same, or NULL. */
const char *sni_idl_suggest(const char *text, const char *const *names, size_t count);

/* The same for names that come one by one: start with best NULL. */
typedef struct sni_idl_suggestion {
    const char *text;
    const char *best;
    size_t distance;
} sni_idl_suggestion;

void sni_idl_suggestion_try(sni_idl_suggestion *suggestion, const char *name);

#endif /* SENNIT_CODEGEN_SUGGEST_H */
