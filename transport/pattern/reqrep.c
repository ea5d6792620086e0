/* SPDX-License-Identifier: MIT */
/* REQ and REP (RFC 28): strict turns, and an envelope that ends with an empty
 * frame. Beyond libzmq, a REQ whose request left on a connection that is gone is
 * told so (ECONNRESET) and may send again, instead of waiting for ever. */
#include "pattern/pattern.h"

#include <limits.h>

#include "base/alloc.h"
#include "base/limits.h"

/* ---- REQ --------------------------------------------------------------- */

/* What came before a request answers something else. Only what is there now: a peer
 * that never stops must not keep us from sending. */
static sennit_err
drop_stale_replies(sni_pattern *pattern)
{
    size_t left = 0;

    pattern->fetching = UINT_MAX; /* the bound is what is there */
    for (sni_link *link = pattern->readable.next; link != &pattern->readable;
         link = link->next)
        left += SNI_OWNER_OF(link, sni_peer, in)->unread;
    for (; left > 0; left--) {
        sni_peer *from;
        sni_msg msg;
        sennit_err err = pattern->skipping ? sni_fair_skip(pattern) : SENNIT_OK;

        sennit_msg_init(sni_msg_public(&msg));
        if (err == SENNIT_OK)
            err = sni_fair_pull(pattern, &msg, &from);
        if (err)
            return err == SENNIT_EAGAIN ? SENNIT_OK : err;
        pattern->stats->dropped_filtered_msgs++;
        err = sni_fair_drop(pattern, &msg);
        if (err)
            return err;
    }
    return SENNIT_OK;
}

static sennit_err
req_send(sni_pattern *pattern, sni_msg *msg, bool more)
{
    sni_msg delimiter;
    sennit_err err;

    if (pattern->replying)
        return SENNIT_ESTATE;
    if (!pattern->prefix_sent) {
        err = drop_stale_replies(pattern);
        if (err)
            return err;
        pattern->lost = false;
        pattern->partner = sni_balance_next(pattern);
        sennit_msg_init(sni_msg_public(&delimiter));
        err = sni_balance_push(pattern, &delimiter, true);
        if (err)
            return err;
        pattern->prefix_sent = true;
    }
    err = sni_balance_push(pattern, msg, more);
    if (err || more)
        return err;
    pattern->prefix_sent = false;
    pattern->replying = true;
    return SENNIT_OK;
}

/* Its peer went while it was being sent. */
static void
req_swallowed(sni_pattern *pattern)
{
    pattern->prefix_sent = false;
    pattern->replying = true;
    pattern->lost = true;
}

static bool
req_can_send(sni_pattern *pattern)
{
    return !pattern->replying && sni_balance_next(pattern) != NULL;
}

/* The next frame of the reply: from the peer that got the request, behind an empty
 * frame. Everything else is dropped, a message at a time. */
static sennit_err
req_fetch(sni_pattern *pattern, sni_msg *msg)
{
    sni_peer *from;
    sennit_err err;

    if (!pattern->replying)
        return SENNIT_ESTATE;
    if (pattern->reading != NULL)
        return sni_fair_fetch(pattern, msg);
    for (;;) {
        err = sni_fair_pull(pattern, msg, &from);
        if (err == SENNIT_EAGAIN && pattern->lost) {
            pattern->lost = false;
            pattern->replying = false;
            return SENNIT_ECONNRESET;
        }
        if (err)
            return err;
        if (from == pattern->partner && msg->more && sni_msg_size_of(msg) == 0)
            return sni_fair_fetch(pattern, msg);
        if (from == pattern->partner)
            pattern->stats->dropped_malformed_msgs++;
        else
            pattern->stats->dropped_filtered_msgs++;
        err = sni_fair_drop(pattern, msg);
        if (err)
            return err;
    }
}

static void
req_took(sni_pattern *pattern, bool more)
{
    if (!more)
        pattern->replying = false;
}

static void
req_disconnected(sni_pattern *pattern, sni_peer *peer, bool queue_empty)
{
    if ((pattern->replying || pattern->prefix_sent) && pattern->partner == peer &&
        queue_empty)
        pattern->lost = true;
}

static void
req_detach(sni_pattern *pattern, sni_peer *peer)
{
    if (pattern->partner != peer)
        return;
    pattern->partner = NULL;
    if (pattern->replying)
        pattern->lost = true;
    if (pattern->writing == peer)
        pattern->prefix_sent = false;
}

const sni_pattern_ops sni_pattern_req = {
    .sends = true,
    .receives = true,
    .detach = req_detach,
    .disconnected = req_disconnected,
    .send = req_send,
    .can_send = req_can_send,
    .fetch = req_fetch,
    .took = req_took,
    .swallowed = req_swallowed,
};

/* ---- REP --------------------------------------------------------------- */

static void
forget_envelope(sni_pattern *pattern)
{
    for (size_t i = 0; i < pattern->envelope_count; i++)
        sennit_msg_fini(sni_msg_public(&pattern->envelope[i]));
    pattern->envelope_count = 0;
    pattern->envelope_sent = 0;
}

static sennit_err
keep_envelope_frame(sni_pattern *pattern, sni_msg *msg)
{
    if (!sni_grow(pattern->alloc, &pattern->envelope, &pattern->envelope_capacity,
                  pattern->envelope_count + 1, sizeof *pattern->envelope))
        return SENNIT_ENOMEM;
    pattern->envelope[pattern->envelope_count++] = *msg;
    sennit_msg_init(sni_msg_public(msg));
    return SENNIT_OK;
}

static bool
envelope_whole(const sni_pattern *pattern)
{
    return pattern->envelope_count > 0 &&
           sni_msg_size_of(&pattern->envelope[pattern->envelope_count - 1]) == 0;
}

/* Reads up to and including the delimiter, where the last call stopped. OK: the body
 * follows. EAGAIN: no message, or only malformed ones, which are dropped and counted;
 * or the bound. */
static sennit_err
read_envelope(sni_pattern *pattern, sni_msg *msg)
{
    for (;;) {
        sni_peer *from;
        sennit_err err = sni_fair_pull(pattern, msg, &from);
        bool delimiter;

        if (err)
            return err;
        pattern->partner = from;
        delimiter = sni_msg_size_of(msg) == 0;
        if (!msg->more) {
            pattern->stats->dropped_malformed_msgs++;
            forget_envelope(pattern);
            err = sni_fair_drop(pattern, msg);
            if (err)
                return err;
            continue;
        }
        err = keep_envelope_frame(pattern, msg);
        if (err) {
            pattern->stats->dropped_memory_msgs++;
            sennit_msg_fini(sni_msg_public(msg));
            (void)sni_fair_skip(pattern);
            forget_envelope(pattern);
            return err;
        }
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
        forget_envelope(pattern);
    if (!envelope_whole(pattern)) {
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
        if (peer == NULL)
            pattern->stats->dropped_no_peer_msgs++;
        else
            pattern->stats->dropped_hwm_msgs++;
        pattern->replying = false;
        sni_swallow(pattern, msg, more);
        return SENNIT_OK;
    }
    pattern->writing = peer;
    while (pattern->envelope_sent < pattern->envelope_count) {
        err = pattern->port->push(peer, &pattern->envelope[pattern->envelope_sent], true);
        if (err)
            return err;
        pattern->envelope_sent++;
    }
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

/* The request came over a connection that is gone: an answer on the next one
 * would reach somebody who did not ask. */
static void
rep_disconnected(sni_pattern *pattern, sni_peer *peer, bool queue_empty)
{
    (void)queue_empty;
    if (pattern->partner == peer && pattern->replying && pattern->writing == NULL)
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
