/* SPDX-License-Identifier: MIT */
#include "suggest.h"

#include <stdbool.h>
#include <string.h>

/* Longer words are no typing errors; the bound keeps the rows on the stack. */
#define SUGGEST_MAX_BYTES 64

static char
lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Edits (insert, remove, replace, swap of neighbours) from `a` to `b`; upper and
 * lower case are the same letter. */
static size_t
edit_distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
    size_t rows[3][SUGGEST_MAX_BYTES + 1];
    for (size_t j = 0; j <= b_size; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_size; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3];
        const size_t *above2 = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_size; j++) {
            bool same = lower(a[i - 1]) == lower(b[j - 1]);
            size_t best = above[j - 1] + (same ? 0 : 1);
            if (above[j] + 1 < best)
                best = above[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                           lower(a[i - 2]) == lower(b[j - 1]);
            if (swapped && above2[j - 2] + 1 < best)
                best = above2[j - 2] + 1;
            row[j] = best;
        }
    }
    return rows[a_size % 3][b_size];
}

void
sni_idl_suggestion_try(sni_idl_suggestion *suggestion, const char *name)
{
    size_t text_size = strlen(suggestion->text);
    size_t name_size = strlen(name);
    if (text_size > SUGGEST_MAX_BYTES || name_size > SUGGEST_MAX_BYTES)
        return;
    size_t distance = edit_distance(suggestion->text, text_size, name, name_size);
    /* A third of the letters may differ, else any short word is like any other. */
    size_t allowed = (text_size > name_size ? text_size : name_size) / 3;
    if (allowed < 1)
        allowed = 1;
    if (distance >= text_size && distance >= name_size)
        return;
    if (distance > allowed || (suggestion->best && distance >= suggestion->distance))
        return;
    suggestion->best = name;
    suggestion->distance = distance;
}

const char *
sni_idl_suggest(const char *text, const char *const *list, size_t count)
{
    sni_idl_suggestion suggestion = { text, NULL, 0 };
    for (size_t i = 0; i < count; i++)
        sni_idl_suggestion_try(&suggestion, list[i]);
    return suggestion.best;
}
