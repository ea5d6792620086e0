/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_TEST_RNG_H
#define SENNIT_TEST_RNG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"

/* A seed gives the same numbers on every machine. Tests print the seed when they fail. */
typedef struct test_rng {
    uint64_t state;
} test_rng;

static inline uint64_t
test_rng_next(test_rng *rng)
{
    return sni_random_next(&rng->state);
}

/* 0 .. bound - 1; the bias is far below what a test could see. */
static inline uint64_t
test_rng_below(test_rng *rng, uint64_t bound)
{
    return test_rng_next(rng) % bound;
}

/* `percent` times in a hundred. */
static inline bool
test_rng_chance(test_rng *rng, unsigned percent)
{
    return test_rng_below(rng, 100) < percent;
}

#endif /* SENNIT_TEST_RNG_H */
