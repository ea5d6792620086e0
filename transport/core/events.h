/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CORE_EVENTS_H
#define SENNIT_CORE_EVENTS_H

#include "base/bytes.h"

/* The last events of a socket, for whoever reads them. Nobody has to: the oldest
 * are dropped and counted, nothing ever waits. Law: count <= capacity <= max. */
typedef struct sni_events {
    const sennit_allocator *alloc;
    sennit_event *ring; /* doubles up to max, so that few events cost little */
    size_t max;
    size_t capacity;
    size_t first;
    size_t count;
    uint64_t lost; /* dropped since the last one that was read */
} sni_events;

void sni_events_init(sni_events *events, const sennit_allocator *alloc, size_t max);
void sni_events_fini(sni_events *events);

/* The place of a new, zeroed event to fill in. Without memory for a larger ring the
 * oldest makes room; NULL when there is none at all (it counts as lost). */
sennit_event *sni_events_push(sni_events *events);

bool sni_events_pop(sni_events *events, sennit_event *out);

#endif /* SENNIT_CORE_EVENTS_H */
