/* SPDX-License-Identifier: MIT */
/* PUB and XPUB (RFC 29): a publication goes to everybody one of whose topics is a prefix
 * of its first frame; with invert_matching to everybody else. XPUB also receives what
 * its subscribers say. */
#include "pattern/pattern.h"

/* Whom a publication may go to at all. */
static bool
eligible(const sni_pattern *pattern, const sni_subscriber *subscriber)
{
    return !pattern->only_last || subscriber == pattern->last;
}

static void
choose_owner(void *owner, void *arg)
{
    const sni_subscriber *subscriber = owner;
    sni_pattern *pattern = arg;

    if (subscriber->peer != NULL && eligible(pattern, subscriber))
        sni_fanout_choose(pattern, subscriber->peer);
}

static void
mark_owner(void *owner, void *arg)
{
    const sni_subscriber *subscriber = owner;
    const sni_pattern *pattern = arg;

    if (subscriber->peer != NULL)
        subscriber->peer->stamp = pattern->stamp;
}

static void
choose_those_without_match(sni_pattern *pattern, sennit_bytes subject)
{
    (void)sni_trie_match(&pattern->topics, subject, mark_owner, pattern);
    for (sni_link *link = pattern->peers.next; link != &pattern->peers;
         link = link->next) {
        sni_peer *peer = SNI_OWNER_OF(link, sni_peer, all);

        if (peer->connected && eligible(pattern, peer->subscriber))
            sni_fanout_choose(pattern, peer);
    }
}

static sennit_err
pub_send(sni_pattern *pattern, sni_msg *msg, bool more)
{
    sennit_bytes subject = sennit_msg_bytes(sni_msg_public(msg));
    sennit_err err;

    if (!pattern->sending) {
        sni_fanout_begin(pattern);
        if (pattern->opts->invert_matching)
            choose_those_without_match(pattern, subject);
        else
            (void)sni_trie_match(&pattern->topics, subject, choose_owner, pattern);
        err = sni_fanout_settle(pattern, msg);
        if (err)
            return err;
        pattern->only_last = false;
    }
    sni_fanout_send(pattern, msg, more);
    return SENNIT_OK;
}

static bool
pub_can_send(sni_pattern *pattern)
{
    (void)pattern;
    return true;
}

static sennit_err
xpub_connected(sni_pattern *pattern, sni_peer *peer, sennit_bytes identity)
{
    sennit_bytes welcome = pattern->opts->xpub_welcome;

    (void)identity;
    return welcome.size > 0 ? pattern->port->greet(peer, welcome) : SENNIT_OK;
}

static void
pub_disconnected(sni_pattern *pattern, sni_peer *peer, bool queue_empty)
{
    (void)queue_empty;
    sni_subscriber_part(pattern, peer);
}

/* A peer may have subscribed and never become connected. */
static void
pub_detach(sni_pattern *pattern, sni_peer *peer)
{
    sni_subscriber_part(pattern, peer);
    sni_fanout_leave(pattern, peer);
}

const sni_pattern_ops sni_pattern_pub = {
    .sends = true,
    .detach = pub_detach,
    .disconnected = pub_disconnected,
    .subscription = sni_subscriber_hear,
    .take = sni_subscriber_take,
    .send = pub_send,
    .can_send = pub_can_send,
};

const sni_pattern_ops sni_pattern_xpub = {
    .sends = true,
    .receives = true,
    .detach = pub_detach,
    .connected = xpub_connected,
    .disconnected = pub_disconnected,
    .subscription = sni_subscriber_hear,
    .take = sni_subscriber_take,
    .send = pub_send,
    .can_send = pub_can_send,
    .fetch = sni_subscriber_fetch,
    .took = sni_subscriber_took,
    .subscribe = sni_subscriber_give,
};
