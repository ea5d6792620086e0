/* SPDX-License-Identifier: MIT */
/* One message for many (PUB, XPUB; XSUB upstream): each of those chosen by its first
 * frame gets all of it or misses all of it, and what happens to one is nothing to the
 * others. */
#include "pattern/pattern.h"

#include "base/alloc.h"

void
sni_fanout_begin(sni_pattern *pattern)
{
    pattern->stamp++;
    pattern->matched_count = 0;
    pattern->missing = 0;
}

void
sni_fanout_choose(sni_pattern *pattern, sni_peer *peer)
{
    if (peer->stamp == pattern->stamp || peer->leaving)
        return;
    peer->stamp = pattern->stamp;
    if (sni_grow(pattern->alloc, &pattern->matched, &pattern->matched_capacity,
                 pattern->matched_count + 1, sizeof(sni_peer *))) {
        pattern->matched[pattern->matched_count++] = peer;
        return;
    }
    pattern->missing++;
}

/* Whether a peer gets the message; if not, it was told so. */
static bool
room_for(sni_pattern *pattern, sni_peer *peer, const sni_msg *first)
{
    if (peer->writable)
        return true;
    switch (pattern->opts->slow_subscriber) {
    case SENNIT_SLOW_DROP_OLD:
    case SENNIT_SLOW_CONFLATE:
        if (pattern->port->make_room(peer, first))
            return true;
        break;
    case SENNIT_SLOW_DISCONNECT:
        pattern->port->disconnect(peer, false, SENNIT_ECLOSED,
                                  "too slow for what it subscribed to");
        break;
    case SENNIT_SLOW_DROP_NEW:
    case SENNIT_SLOW_BLOCK:
        break;
    }
    pattern->port->missed(peer);
    return false;
}

/* Nobody gets a part of what not all may get. */
static sennit_err
all_ready(const sni_pattern *pattern)
{
    if (pattern->missing > 0)
        return SENNIT_ENOMEM;
    for (size_t i = 0; i < pattern->matched_count; i++)
        if (!pattern->matched[i]->writable)
            return SENNIT_EAGAIN;
    return SENNIT_OK;
}

sennit_err
sni_fanout_settle(sni_pattern *pattern, const sni_msg *first)
{
    size_t kept = 0;

    if (pattern->opts->slow_subscriber == SENNIT_SLOW_BLOCK) {
        sennit_err err = all_ready(pattern);

        if (err) {
            pattern->matched_count = 0;
            return err;
        }
    }
    pattern->stats->dropped_memory_msgs += pattern->missing;
    if (pattern->matched_count == 0 && pattern->missing == 0)
        pattern->stats->dropped_no_peer_msgs++;
    for (size_t i = 0; i < pattern->matched_count; i++)
        if (room_for(pattern, pattern->matched[i], first))
            pattern->matched[kept++] = pattern->matched[i];
    pattern->matched_count = kept;
    return SENNIT_OK;
}

void
sni_fanout_send(sni_pattern *pattern, sni_msg *msg, bool more)
{
    pattern->matched_count =
        pattern->port->fan(pattern, pattern->matched, pattern->matched_count, msg, more);
    /* A peer that leaves later is not looked for among all who got this. */
    if (!more)
        pattern->matched_count = 0;
}

void
sni_fanout_leave(sni_pattern *pattern, const sni_peer *peer)
{
    for (size_t i = 0; i < pattern->matched_count; i++) {
        if (pattern->matched[i] == peer) {
            pattern->matched[i] = pattern->matched[--pattern->matched_count];
            pattern->stats->dropped_disconnect_msgs += pattern->sending;
            return;
        }
    }
}
