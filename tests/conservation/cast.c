/* SPDX-License-Identifier: MIT */
#include "cast.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void
cast_tell(const story *s, const char *format, ...)
{
    va_list args;

    if (!s->opts->trace)
        return;
    fprintf(stderr, "%4u  ", s->step);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

const char *
cast_type(const actor *a)
{
    return sennit_sock_type_name(a->kind->type);
}

sennit_sock_stats
cast_stats(const actor *a)
{
    sennit_sock_stats stats;

    sennit_sock_get_stats(a->sock, &stats);
    return stats;
}

void
cast_check_law(const story *s, const actor *a)
{
    sennit_sock_stats stats = cast_stats(a);

    ledger_check_law(s->books, a->account, &stats);
}

/* A connection came through one of the slots. */
static void
note_peer(story *s, actor *a, const sennit_event *event)
{
    size_t at = 0;

    while (at < s->slots_count && strcmp(a->via[at], event->endpoint) != 0)
        at++;
    if (at == s->slots_count) {
        /* What it came through is gone already. */
        ledger_peer_leaves(s->books, a->account, event->peer);
        return;
    }
    a->peers[a->peers_count % PEERS_NOTED] = event->peer;
    a->peers_via[a->peers_count % PEERS_NOTED] = at + 1;
    a->peers_count++;
}

/* Those that came through a slot take no more. */
void
cast_peers_leave(story *s, actor *a, size_t at)
{
    a->via[at][0] = '\0';
    for (size_t i = 0; i < PEERS_NOTED; i++)
        if (a->peers_via[i] == at + 1)
            ledger_peer_leaves(s->books, a->account, a->peers[i]);
}

/* The monitor of each socket, as the model needs it. */
void
cast_read_events(story *s)
{
    for (actor *a = s->actors; a < s->actors + ACTORS; a++) {
        sennit_event event;

        while (a->kind != NULL && sennit_sock_next_event(a->sock, &event) == SENNIT_OK) {
            if (event.lost > 0)
                ledger_blind(s->books, a->account);
            if (event.kind == SENNIT_EVENT_READY)
                note_peer(s, a, &event);
            if (event.kind == SENNIT_EVENT_DISCONNECTED ||
                event.kind == SENNIT_EVENT_HANDSHAKE_FAILED)
                ledger_peer_gone(s->books, a->account, event.peer,
                                 event.kind == SENNIT_EVENT_HANDSHAKE_FAILED);
        }
    }
}

void
cast_pass_time(story *s, uint64_t ns)
{
    while (ns > 0) {
        uint64_t part = ns < 10 * MS ? ns : 10 * MS;

        stage_run(s->stage, part);
        cast_read_events(s);
        ns -= part;
    }
}
