/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CORE_EVENTS_H
#define SENNIT_CORE_EVENTS_H

#include "base/bytes.h"

/* The last events of a socket, for whoever reads them. Nobody has to: the oldest
 * are dropped and counted, nothing ever waits. */
typedef struct sni_events {
    const sennit_allocator *alloc;
    sennit_event *ring; /* of SNI_EVENTS_MAX, taken with the first event */
    size_t first;
    size_t count;
    uint64_t lost; /* dropped since the last one that was read */
} sni_events;

void sni_events_init(sni_events *events, const sennit_allocator *alloc);
void sni_events_fini(sni_events *events);

/* The place of a new, zeroed event to fill in; NULL when there is no memory (it
 * counts as lost). */
sennit_event *sni_events_push(sni_events *events);

bool sni_events_pop(sni_events *events, sennit_event *out);

#endif /* SENNIT_CORE_EVENTS_H */
