/* SPDX-License-Identifier: MIT */
#include "core/events.h"

#include <stdio.h>

#include "base/alloc.h"
#include "core/sock.h"

void
sni_events_init(sni_events *events, const sennit_allocator *alloc, size_t max)
{
    *events = (sni_events){ .alloc = alloc, .max = max };
}

void
sni_events_fini(sni_events *events)
{
    sni_release(events->alloc, events->ring);
    sni_events_init(events, events->alloc, events->max);
}

static size_t
wrapped(const sni_events *events, size_t at)
{
    return at >= events->capacity ? at - events->capacity : at;
}

/* Of a full ring: those up to its old end move to the new one, before those that had
 * wrapped around. */
static void
grow(sni_events *events)
{
    size_t old = events->capacity;
    size_t wanted = old == 0 ? 1 : 2 * old;
    size_t tail = old - events->first;
    sennit_event *ring;

    if (wanted > events->max)
        wanted = events->max;
    if (wanted <= old)
        return;
    ring = events->alloc->resize(events->alloc->arg, events->ring, wanted * sizeof *ring);
    if (ring == NULL)
        return;
    events->ring = ring;
    events->capacity = wanted;
    if (events->first > 0) {
        memmove(ring + wanted - tail, ring + events->first, tail * sizeof *ring);
        events->first = wanted - tail;
    }
}

static void
drop_oldest(sni_events *events)
{
    events->lost++;
    events->first = wrapped(events, events->first + 1);
    events->count--;
}

sennit_event *
sni_events_push(sni_events *events)
{
    sennit_event *event;

    if (events->count == events->capacity)
        grow(events);
    if (events->capacity == 0) {
        events->lost++;
        return NULL;
    }
    if (events->count == events->capacity)
        drop_oldest(events);
    event = &events->ring[wrapped(events, events->first + events->count)];
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
    events->first = wrapped(events, events->first + 1);
    events->count--;
    return true;
}

/* ---- of a socket ------------------------------------------------------- */

sennit_event *
sni_sock_new_event(sennit_sock *sock, sennit_event_kind kind, const char *endpoint)
{
    sennit_event *event;

    if (sock->closed || !(sock->opts.events & (1u << kind)))
        return NULL;
    event = sni_events_push(&sock->events);
    if (event == NULL)
        return NULL;
    event->kind = kind;
    event->at = sni_loop_now(sock->loop);
    snprintf(event->endpoint, sizeof event->endpoint, "%s", endpoint);
    sni_sock_changed(sock);
    return event;
}

void
sni_sock_event(sennit_sock *sock, sennit_event_kind kind, const char *endpoint,
               uint32_t number, sennit_err err, const char *reason, uint32_t delay_ms,
               sennit_bytes identity)
{
    sennit_event *event = sni_sock_new_event(sock, kind, endpoint);

    if (event == NULL)
        return;
    event->err = err;
    event->peer = number;
    event->delay_ms = delay_ms;
    event->reason = reason;
    sni_bytes_put(event->identity, identity);
    event->identity_size = (uint8_t)identity.size;
}

static sennit_err
next_event(sennit_sock *sock, sennit_event *out)
{
    if (out == NULL)
        return sni_loop_fail(sock->loop, SENNIT_EINVAL, "out is NULL");
    sni_watch_mark(sock);
    if (!sni_events_pop(&sock->events, out))
        return sni_loop_fail(sock->loop, SENNIT_EAGAIN, "no event waits");
    sni_watch_mark(sock);
    return SENNIT_OK;
}

sennit_err
sennit_sock_next_event(sennit_sock *sock, sennit_event *out)
{
    sennit_err err = sni_sock_enter(sock);

    return err ? err : sni_sock_leave(sock, next_event(sock, out));
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
