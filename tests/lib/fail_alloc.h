/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_TEST_FAIL_ALLOC_H
#define SENNIT_TEST_FAIL_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sennit/sennit.h"

/* An allocator that counts, and that fails on request. Every block carries its
 * size and a seal in front, so that a release of something foreign, a second
 * release and a leak are seen even without a sanitizer.
 * Thread: one at a time, except that live counts are exact only in one thread. */
typedef struct test_alloc {
    sennit_allocator allocator; /* hand out &x.allocator */
    uint64_t requests;          /* acquires and resizes so far */
    uint64_t fail_at;           /* the request (1 ..) that fails; 0: none */
    uint64_t fail_count;        /* how many from there on; UINT64_MAX: all */
    uint64_t failed;            /* requests that did fail */
    size_t live_blocks;
    size_t live_bytes;
    size_t peak_bytes;
    size_t limit_bytes; /* a request that would go beyond fails; 0: no limit */
} test_alloc;

void test_alloc_init(test_alloc *alloc);

/* The k-th request from now on fails, and only that one. */
void test_alloc_fail_at(test_alloc *alloc, uint64_t k);

/* Runs `scenario(alloc, arg)` with the first, second, ... request failing, until
 * it runs through without a failure, and checks each time that nothing is live
 * afterwards. The scenario frees all it made, and may itself check that an error
 * was reported when `alloc->failed` > 0. Returns the number of runs. */
uint64_t test_alloc_every_failure(void (*scenario)(test_alloc *alloc, void *arg),
                                  void *arg);

/* Inside such a scenario, for what must not be lost: one failure is one ENOMEM at most,
 * so the second try must work. WORKS() also says that nothing else is the matter. */
#define TWICE(err, call)                                                                 \
    do {                                                                                 \
        (err) = (call);                                                                  \
        if ((err) == SENNIT_ENOMEM)                                                      \
            (err) = (call);                                                              \
    } while (0)
#define WORKS(err, call)                                                                 \
    do {                                                                                 \
        TWICE(err, call);                                                                \
        assert_int_equal(err, SENNIT_OK);                                                \
    } while (0)

#endif /* SENNIT_TEST_FAIL_ALLOC_H */
