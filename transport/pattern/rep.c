/* SPDX-License-Identifier: MIT */
/* REP (RFC 28): strict turns; answers with the envelope of the request, however many
 * hops it names. A request without one is dropped and counted. */
#include "pattern/pattern.h"

/* The next frame of an envelope. There is a place for it before it is pulled: a request
 * that was dropped for want of memory would have its REQ wait for ever. */
static sennit_err
pull_hop(sni_pattern *pattern, sni_msg *msg, sni_peer **from)
{
    sennit_err err =
        sni_fair_next(pattern) == NULL ? SENNIT_EAGAIN : sni_envelope_reserve(pattern);

    return err ? err : sni_fair_pull(pattern, msg, from);
}

/* Reads up to and including the delimiter, where the last call stopped. OK: the body
 * follows. EAGAIN: no message, or only malformed ones, which are dropped and counted;
 * or the bound. ENOMEM: what is not read yet stays where it is. */
static sennit_err
read_envelope(sni_pattern *pattern, sni_msg *msg)
{
    for (;;) {
        sni_peer *from;
        sennit_err err = pull_hop(pattern, msg, &from);
        bool delimiter;

        if (err)
            return err;
        pattern->partner = from->connected && msg->peer == from->number ? from : NULL;
        delimiter = sni_msg_size_of(msg) == 0;
        if (!msg->more) {
            pattern->stats->dropped_malformed_msgs++;
            sni_envelope_forget(pattern);
            err = sni_fair_drop(pattern, msg);
            if (err)
                return err;
            continue;
        }
        (void)sni_envelope_add(pattern, msg); /* there is room */
        if (delimiter)
            return SENNIT_OK;
        err = sni_fetch_spend(pattern);
        if (err)
            return err;
    }
}

static sennit_err
rep_fetch(sni_pattern *pattern, sni_msg *msg)
{
    sennit_err err;

    if (pattern->replying)
        return SENNIT_ESTATE;
    if (pattern->reading == NULL)
        sni_envelope_forget(pattern);
    if (!sni_envelope_whole(pattern)) {
        err = read_envelope(pattern, msg);
        if (err)
            return err;
    }
    return sni_fair_fetch(pattern, msg);
}

static void
rep_took(sni_pattern *pattern, bool more)
{
    pattern->replying = !more;
}

static sennit_err
rep_send(sni_pattern *pattern, sni_msg *msg, bool more)
{
    sni_peer *peer = pattern->partner;
    sennit_err err;

    if (!pattern->replying)
        return SENNIT_ESTATE;
    if (pattern->writing == NULL && (peer == NULL || !peer->writable)) {
        if (peer == NULL || peer->leaving)
            pattern->stats->dropped_no_peer_msgs++;
        else
            pattern->port->missed(peer);
        pattern->replying = false;
        sni_swallow(pattern, msg, more);
        return SENNIT_OK;
    }
    pattern->writing = peer;
    err = sni_envelope_push(pattern, peer);
    if (err)
        return err;
    err = pattern->port->push(peer, msg, more);
    if (err || more)
        return err;
    pattern->writing = NULL;
    pattern->replying = false;
    return SENNIT_OK;
}

static bool
rep_can_send(sni_pattern *pattern)
{
    return pattern->replying;
}

static void
rep_detach(sni_pattern *pattern, sni_peer *peer)
{
    if (pattern->partner == peer)
        pattern->partner = NULL;
}

/* The asker went while it was being answered. */
static void
rep_swallowed(sni_pattern *pattern)
{
    pattern->replying = false;
}

/* The request came over a connection that is gone, whether it has been received or only
 * read: an answer on the next one would reach somebody who did not ask. */
static void
rep_disconnected(sni_pattern *pattern, sni_peer *peer, bool queue_empty)
{
    (void)queue_empty;
    if (pattern->partner == peer && pattern->writing == NULL)
        pattern->partner = NULL;
}

const sni_pattern_ops sni_pattern_rep = {
    .sends = true,
    .receives = true,
    .detach = rep_detach,
    .disconnected = rep_disconnected,
    .send = rep_send,
    .can_send = rep_can_send,
    .fetch = rep_fetch,
    .took = rep_took,
    .swallowed = rep_swallowed,
};
