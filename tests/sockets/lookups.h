/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_TEST_LOOKUPS_H
#define SENNIT_TEST_LOOKUPS_H

#include "sennit_test.h"

#include <pthread.h>
#include <stdbool.h>

/* Look-ups of a test's resolver, which hang for as long as the test holds them, and are
 * counted. Any thread. What the resolver answers is the test's, and may be kept under
 * the same lock. */
typedef struct lookups {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool held;
    unsigned busy;
    unsigned asked;
} lookups;

#define LOOKUPS_INIT                                                                     \
    {                                                                                    \
        .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER           \
    }

/* The whole of one, with the lock held; with `may_hang` it ends when nothing is held. */
void lookups_run(lookups *l, bool may_hang);

void lookups_hold(lookups *l, bool on);

/* The same, and counts what is asked from 0 again. */
void lookups_reset(lookups *l, bool held);

/* Waits until so many are under way. With 0, what has ended touches nothing any more. */
void lookups_until_busy(lookups *l, unsigned count);

/* How many are under way, and how many there have been, those among them. */
unsigned lookups_busy(lookups *l);
unsigned lookups_asked(lookups *l);

#endif /* SENNIT_TEST_LOOKUPS_H */
