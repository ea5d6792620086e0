/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_TEST_RUNNER_H
#define SENNIT_TEST_RUNNER_H

#include <stdbool.h>
#include <stdint.h>

/* Plays stories, each batch in processes of its own, so that an assertion, a sanitizer
 * or a hang in one of them is a result like any other.
 *
 *   test_conservation_sim                          the suite that ctest runs
 *   test_conservation_sim --seeds FROM COUNT       many; two at a time
 *   test_conservation_sim --seed SEED [--trace]    one
 *   test_conservation_sim --shrink SEED            as few steps as still fail */

/* True when the arguments asked for one of these, and it is done; `*status` is the
 * program's. */
bool runner_main(int argc, char **argv, int *status);

/* Runs this program again with `--seeds from count`; true when all is well. */
bool runner_smoke(uint64_t from, unsigned count);

#endif /* SENNIT_TEST_RUNNER_H */
