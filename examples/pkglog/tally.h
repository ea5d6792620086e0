/* SPDX-License-Identifier: MIT */
#ifndef PKGLOG_TALLY_H
#define PKGLOG_TALLY_H

/* Counts by name, and what happened to each name, in order. Nothing is ever
 * forgotten: memory grows with the log. */

#include <sennit/pack.h>

typedef struct tally_step {
    int64_t at_ns;
    sennit_str action;
    sennit_str old_version; /* empty: none */
    sennit_str new_version;
} tally_step;

typedef struct tally_entry {
    sennit_str name;
    uint64_t count;
    tally_step *steps;
    size_t steps_count;
    size_t steps_capacity;
} tally_entry;

typedef struct tally tally;

/* Errors: ENOMEM. */
sennit_err tally_new(tally **out);
void tally_free(tally *counts);

/* Counts one more of `name`, and keeps `step` with it unless that is NULL. All
 * texts are copied.
 * Errors: ENOMEM (nothing was counted). */
sennit_err tally_add(tally *counts, sennit_str name, const tally_step *step);

/* How many different names there are. */
size_t tally_size(const tally *counts);

/* NULL when `name` was never counted. Valid until the next add. */
const tally_entry *tally_find(const tally *counts, sennit_str name);

typedef enum tally_order {
    TALLY_BY_NAME,  /* ascending, by bytes */
    TALLY_BY_COUNT, /* descending; equal ones by name */
} tally_order;

/* All entries in that order, the list in `arena`. Errors: ENOMEM. */
sennit_err tally_list(const tally *counts, tally_order order, sennit_arena *arena,
                      const tally_entry ***out);

#endif /* PKGLOG_TALLY_H */
