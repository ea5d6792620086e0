/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_TEST_FAIL_MALLOC_H
#define SENNIT_TEST_FAIL_MALLOC_H

#include <stdint.h>

/* malloc's family as the objects of a test program see it, with the k-th request failing:
 * for what takes memory from there whatever allocator its loop has. A lock that is made,
 * a thread that is started and a host that the system looks up are requests too; every
 * host is this one. The linker puts these in the place of the real ones (--wrap), so what
 * the C library takes for itself is not counted. Thread: any. */

/* Runs `scenario(arg)` with the first, second, ... request failing, until it runs through
 * without a failure, and checks each time that as much is live afterwards as before.
 * Returns the number of runs. */
uint64_t fail_malloc_every(void (*scenario)(const void *arg), const void *arg);

/* Requests that failed in this run. */
uint64_t fail_malloc_failed(void);

/* Blocks that are live, of those that were counted. */
int64_t fail_malloc_live(void);

#endif /* SENNIT_TEST_FAIL_MALLOC_H */
