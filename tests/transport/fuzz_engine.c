/* SPDX-License-Identifier: MIT */
/* libFuzzer target: arbitrary octets in arbitrary pieces for one engine of any
 * type, in any way a backend may feed them, while it sends. Built with SENNIT_FUZZ;
 * the suite runs the same function over mutated vectors (engine_mutations_test.c).
 *
 * Input: configuration (raw, unversioned, heartbeats, admission), type, the peer's
 * version, seed of the cuts, how much of the handshake is given for free; then the
 * octets. */
#include "mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    test_engine_survives(data, size);
    return 0;
}
