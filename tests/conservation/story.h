/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_TEST_STORY_H
#define SENNIT_TEST_STORY_H

#include "ledger.h"

/* One random life of some sockets, told by its seed: a list of steps, each of which
 * means something whatever came before, so that any of them can be left out. */

#define STORY_STEPS_MAX 600u

typedef struct story_opts {
    uint64_t seed;
    unsigned steps;   /* 0: as many as the seed says */
    bool trace;       /* tell each step on stderr */
    const bool *skip; /* steps to leave out, or NULL */
} story_opts;

/* How many steps that seed has. */
unsigned story_steps(uint64_t seed);

/* Plays it, balances the books, and returns what happened; wrong() if they do not. */
ledger_totals story_play(const story_opts *opts);

#endif /* SENNIT_TEST_STORY_H */
