/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_BASE_RANDOM_H
#define SENNIT_BASE_RANDOM_H

#include <stdint.h>

/* The next number after `*state` (SplitMix64): well spread, the same on every machine,
 * and no secret to whoever has seen one. Any state is a good seed. */
static inline uint64_t
sni_random_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

#endif /* SENNIT_BASE_RANDOM_H */
