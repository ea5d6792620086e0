/* SPDX-License-Identifier: MIT */
/* REQ (RFC 28): strict turns, and an envelope that ends with an empty frame. Beyond
 * libzmq, a REQ whose request left on a connection that is gone is told so (ECONNRESET)
 * and may send again, instead of waiting for ever.
 *
 * With req_correlate the envelope begins with a number, and a reply must have the same.
 * With req_relaxed a request may be given up by sending the next one. What answers it
 * must not answer the next, and without numbers the two look alike; so requests to a
 * connection on which one was given up carry numbers from then on, until it ends. Those
 * who answer with the whole envelope, as they have to, see no difference. */
#include "pattern/pattern.h"

#include <limits.h>

/* Octets of a request's number, in the order of the host: only we read it. */
#define NUMBER_BYTES sizeof(uint32_t)

/* ---- sending ------------------------------------------------------------- */

/* What came before a request answers something else. Only what is there now: a peer
 * that never stops must not keep us from sending. */
static sennit_err
drop_stale_replies(sni_pattern *pattern)
{
    size_t left = 0;

    pattern->fetching = UINT_MAX; /* the bound is what is there */
    for (sni_link *link = pattern->readable.next; link != &pattern->readable;
         link = link->next) {
        sni_peer *peer = SNI_OWNER_OF(link, sni_peer, in);

        peer->stale = peer->unread;
        left += peer->stale;
    }
    while (left > 0) {
        sni_peer *from;
        sni_msg msg;
        sennit_err err = pattern->skipping ? sni_fair_skip(pattern) : SENNIT_OK;

        sennit_msg_init(sni_msg_public(&msg));
        if (err == SENNIT_OK)
            err = sni_fair_pull(pattern, &msg, &from);
        if (err)
            return err == SENNIT_EAGAIN ? SENNIT_OK : err;
        /* What arrives meanwhile goes too, but does not count for what was there. */
        left -= from->stale > 0;
        from->stale -= from->stale > 0;
        pattern->stats->dropped_filtered_msgs++;
        err = sni_fair_drop(pattern, &msg);
        if (err)
            return err;
    }
    return SENNIT_OK;
}

/* Nobody waits for its reply any more. */
static void
give_up(sni_pattern *pattern)
{
    if (pattern->has_held) {
        sennit_msg_fini(sni_msg_public(&pattern->held));
        pattern->has_held = false;
        pattern->stats->dropped_filtered_msgs += pattern->reading == NULL;
    }
    if (pattern->partner != NULL && !pattern->lost)
        pattern->partner->forgot = true;
    pattern->replying = false;
    pattern->numbered = false;
}

/* The envelope of a request to `peer`. Errors: ENOMEM. */
static sennit_err
address(sni_pattern *pattern, const sni_peer *peer)
{
    uint32_t number = pattern->request + 1;
    sni_msg frame;
    sennit_err err = SENNIT_OK;

    sni_envelope_forget(pattern);
    pattern->correlated = pattern->opts->req_correlate || peer->forgot;
    if (pattern->correlated) {
        err = sni_pattern_copy(pattern, &frame, sni_bytes(&number, NUMBER_BYTES));
        if (err == SENNIT_OK)
            err = sni_envelope_add(pattern, &frame);
    }
    sennit_msg_init(sni_msg_public(&frame));
    if (err == SENNIT_OK)
        err = sni_envelope_add(pattern, &frame);
    if (err == SENNIT_OK)
        pattern->request = number;
    return err;
}

/* Chooses a peer and pushes the envelope; goes on where it failed. */
static sennit_err
begin(sni_pattern *pattern)
{
    sennit_err err;

    if (pattern->writing == NULL) {
        err = drop_stale_replies(pattern);
        if (err)
            return err;
        pattern->partner = sni_balance_next(pattern);
        if (pattern->partner == NULL)
            return SENNIT_EAGAIN;
        pattern->lost = false;
        err = address(pattern, pattern->partner);
        if (err)
            return err;
        pattern->writing = pattern->partner;
    }
    err = sni_envelope_push(pattern, pattern->writing);
    if (err && pattern->envelope_sent == 0)
        pattern->writing = NULL; /* it has nothing yet that would have to be whole */
    return err;
}

static sennit_err
req_send(sni_pattern *pattern, sni_msg *msg, bool more)
{
    sennit_err err;

    if (pattern->replying && !pattern->opts->req_relaxed)
        return SENNIT_ESTATE;
    if (pattern->replying)
        give_up(pattern);
    if (!pattern->sending) {
        err = begin(pattern);
        if (err)
            return err;
    }
    err = sni_balance_push(pattern, msg, more);
    if (err || more)
        return err;
    sni_envelope_forget(pattern);
    pattern->replying = true;
    return SENNIT_OK;
}

/* Its peer went while it was being sent. */
static void
req_swallowed(sni_pattern *pattern)
{
    sni_envelope_forget(pattern);
    pattern->replying = true;
    pattern->lost = true;
}

static bool
req_can_send(sni_pattern *pattern)
{
    return (!pattern->replying || pattern->opts->req_relaxed) &&
           sni_balance_next(pattern) != NULL;
}

/* ---- receiving ----------------------------------------------------------- */

/* What a frame says of the message it begins, or goes on. */
typedef enum verdict { REPLY, NEXT, NOT_ASKED, MALFORMED } verdict;

/* The first frame of a message, from whomever. NEXT: the empty one has to follow. */
static verdict
judge_first(const sni_pattern *pattern, const sni_peer *from, sni_msg *msg)
{
    sennit_bytes body = sennit_msg_bytes(sni_msg_public(msg));

    if (from != pattern->partner)
        return NOT_ASKED;
    if (!msg->more)
        return MALFORMED;
    if (!pattern->correlated)
        return body.size == 0 ? REPLY : MALFORMED;
    if (body.size == 0)
        return NOT_ASKED; /* of a request that carried no number */
    if (body.size != NUMBER_BYTES)
        return MALFORMED;
    return memcmp(body.data, &pattern->request, NUMBER_BYTES) == 0 ? NEXT : NOT_ASKED;
}

/* Pulls frames up to the body of something; says of what. Leaves the last in `msg`. */
static sennit_err
pull_envelope(sni_pattern *pattern, sni_msg *msg, verdict *out)
{
    /* The last try may have come so far. */
    bool numbered = pattern->numbered && pattern->reading != NULL;
    sni_peer *from;
    sennit_err err = sni_fair_pull(pattern, msg, &from);

    if (err)
        return err;
    *out = numbered ? NEXT : judge_first(pattern, from, msg);
    if (!numbered && *out == NEXT) {
        sennit_msg_fini(sni_msg_public(msg));
        pattern->numbered = true;
        err = sni_fair_pull(pattern, msg, &from);
        if (err)
            return err;
    }
    pattern->numbered = false;
    if (*out == NEXT)
        *out = msg->more && sni_msg_size_of(msg) == 0 ? REPLY : MALFORMED;
    return SENNIT_OK;
}

/* The next frame of the reply: from the peer that got the request, behind its
 * envelope. Everything else is dropped, a message at a time. */
static sennit_err
req_fetch(sni_pattern *pattern, sni_msg *msg)
{
    sennit_err err;

    if (!pattern->replying)
        return SENNIT_ESTATE;
    if (pattern->reading != NULL && !pattern->numbered)
        return sni_fair_fetch(pattern, msg);
    for (;;) {
        verdict found = MALFORMED;

        err = pull_envelope(pattern, msg, &found);
        if (err == SENNIT_EAGAIN && pattern->lost) {
            pattern->lost = false;
            pattern->replying = false;
            return SENNIT_ECONNRESET;
        }
        if (err)
            return err;
        if (found == REPLY)
            return sni_fair_fetch(pattern, msg);
        if (found == MALFORMED)
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

/* ---- connections --------------------------------------------------------- */

static sennit_err
req_connected(sni_pattern *pattern, sni_peer *peer, sennit_bytes identity)
{
    (void)pattern;
    (void)identity;
    return sni_pattern_greet(peer);
}

static void
req_disconnected(sni_pattern *pattern, sni_peer *peer, bool queue_empty)
{
    bool asking = pattern->replying || pattern->writing == peer;

    if (asking && pattern->partner == peer && queue_empty)
        pattern->lost = true;
    /* Requests that still wait will be answered over the next connection. */
    if (queue_empty)
        peer->forgot = false;
}

static void
req_detach(sni_pattern *pattern, sni_peer *peer)
{
    if (pattern->partner != peer)
        return;
    pattern->partner = NULL;
    if (pattern->replying)
        pattern->lost = true;
}

const sni_pattern_ops sni_pattern_req = {
    .sends = true,
    .waits = true,
    .receives = true,
    .detach = req_detach,
    .connected = req_connected,
    .disconnected = req_disconnected,
    .send = req_send,
    .can_send = req_can_send,
    .fetch = req_fetch,
    .took = req_took,
    .swallowed = req_swallowed,
};
