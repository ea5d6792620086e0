/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_TEST_RUNNER_H
#define SENNIT_TEST_RUNNER_H

/* Plays stories, each batch in processes of its own, so that an assertion, a sanitizer
 * or a hang in one of them is a result like any other.
 *
 *   test_conservation_sim                          the suite that ctest runs
 *   test_conservation_sim --seeds FROM COUNT       many; two at a time
 *   test_conservation_sim --seed SEED [--trace]    one
 *   test_conservation_sim --shrink SEED            as few steps as still fail */

/* What the arguments ask for; without any, ctest's suite, of seeds 1 to `seeds_count`.
 * Gives: the program's status. */
int runner_main(int argc, char **argv, unsigned seeds_count);

#endif /* SENNIT_TEST_RUNNER_H */
