/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_BASE_TIMERS_H
#define SENNIT_BASE_TIMERS_H

#include "sennit/sennit.h"

/* A binary heap of running timers; each knows its place, so stopping is
 * O(log n). Law: timers[i]->index_ == i + 1 and a parent is never later. */
typedef struct sni_timers {
    const sennit_allocator *alloc;
    sennit_timer **heap;
    size_t count;
    size_t capacity;
} sni_timers;

void sni_timers_init(sni_timers *timers, const sennit_allocator *alloc);

/* Forgets all timers that run; their storage is the callers'. */
void sni_timers_fini(sni_timers *timers);

/* (Re)starts `timer`. Errors: ENOMEM (it is then not running). */
sennit_err sni_timers_start(sni_timers *timers, sennit_timer *timer, sennit_time at,
                            void (*fn)(void *arg), void *arg);

void sni_timers_stop(sni_timers *timers, sennit_timer *timer);

/* When the next one is due, or SENNIT_NEVER. */
sennit_time sni_timers_next(const sni_timers *timers);

/* Takes the earliest timer due at `now` out of the heap, or NULL. */
sennit_timer *sni_timers_pop(sni_timers *timers, sennit_time now);

#endif /* SENNIT_BASE_TIMERS_H */
