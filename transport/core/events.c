/* SPDX-License-Identifier: MIT */
#include "core/events.h"

#include "base/alloc.h"
#include "base/limits.h"

void
sni_events_init(sni_events *events, const sennit_allocator *alloc)
{
    *events = (sni_events){ .alloc = alloc };
}

void
sni_events_fini(sni_events *events)
{
    sni_release(events->alloc, events->ring);
    sni_events_init(events, events->alloc);
}

sennit_event *
sni_events_push(sni_events *events)
{
    sennit_event *event;

    if (events->ring == NULL)
        events->ring = sni_acquire(events->alloc, SNI_EVENTS_MAX * sizeof *events->ring);
    if (events->ring == NULL) {
        events->lost++;
        return NULL;
    }
    if (events->count == SNI_EVENTS_MAX) {
        events->lost++;
        events->first = (events->first + 1) % SNI_EVENTS_MAX;
        events->count--;
    }
    event = &events->ring[(events->first + events->count) % SNI_EVENTS_MAX];
    events->count++;
    *event = (sennit_event){ .reason = "" };
    return event;
}

bool
sni_events_pop(sni_events *events, sennit_event *out)
{
    if (events->count == 0)
        return false;
    *out = events->ring[events->first];
    out->lost = events->lost;
    events->lost = 0;
    events->first = (events->first + 1) % SNI_EVENTS_MAX;
    events->count--;
    return true;
}

const char *
sennit_event_name(sennit_event_kind kind)
{
    static const char *const names[] = {
        [SENNIT_EVENT_LISTENING] = "LISTENING",
        [SENNIT_EVENT_CONNECTED] = "CONNECTED",
        [SENNIT_EVENT_ACCEPTED] = "ACCEPTED",
        [SENNIT_EVENT_READY] = "READY",
        [SENNIT_EVENT_DISCONNECTED] = "DISCONNECTED",
        [SENNIT_EVENT_HANDSHAKE_FAILED] = "HANDSHAKE_FAILED",
        [SENNIT_EVENT_CONNECT_FAILED] = "CONNECT_FAILED",
        [SENNIT_EVENT_RETRYING] = "RETRYING",
        [SENNIT_EVENT_ACCEPT_FAILED] = "ACCEPT_FAILED",
        [SENNIT_EVENT_UNBOUND] = "UNBOUND",
        [SENNIT_EVENT_CONNECTING] = "CONNECTING",
        [SENNIT_EVENT_BIND_FAILED] = "BIND_FAILED",
        [SENNIT_EVENT_SUBSCRIBED] = "SUBSCRIBED",
        [SENNIT_EVENT_UNSUBSCRIBED] = "UNSUBSCRIBED",
        [SENNIT_EVENT_SLOW] = "SLOW",
        [SENNIT_EVENT_GAVE_UP] = "GAVE_UP",
    };

    if ((size_t)kind >= sizeof names / sizeof names[0] || names[kind] == NULL)
        return "?";
    return names[kind];
}
