/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_TEST_MUTATE_H
#define SENNIT_TEST_MUTATE_H

#include <stddef.h>
#include <stdint.h>

/* Feeds one engine what `data` describes (see fuzz_engine.c) and checks what must
 * hold whatever a peer sends: no more memory than a small multiple of the input,
 * nothing left live, a reason for every refusal, output that is well-formed, and
 * the same outcome when the octets come one by one. Aborts when it does not. */
#define TEST_MUTATE_HEAD 5u /* octets in front of those that are fed */

void test_engine_survives(const uint8_t *data, size_t size);

#endif /* SENNIT_TEST_MUTATE_H */
