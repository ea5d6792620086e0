/* SPDX-License-Identifier: MIT */
/* SUB and XSUB (RFC 29). They count how often each prefix was subscribed to.
 * Subscriptions are state of the socket: told to every publisher on every new
 * connection, never subject to a high-water mark. An XSUB says them in messages, may
 * send others upstream, and takes all that comes. */
#include "pattern/pattern.h"

#include "base/limits.h"

static sennit_err
replay_one(sennit_bytes key, void *arg)
{
    sni_peer *peer = arg;

    return peer->pattern->port->subscribe(peer, true, key);
}

static sennit_err
sub_connected(sni_pattern *pattern, sni_peer *peer, sennit_bytes identity)
{
    (void)identity;
    return sni_trie_each(&pattern->topics, replay_one, peer);
}

/* All of them, or nobody: ENOMEM. Once one was told, there is no way back, so whoever
 * cannot be told then loses the connection, and hears everything on the next one. */
static sennit_err
tell_publishers(sni_pattern *pattern, bool on, sennit_bytes prefix)
{
    bool told = false;

    for (sni_link *link = pattern->peers.next; link != &pattern->peers;
         link = link->next) {
        sni_peer *peer = SNI_OWNER_OF(link, sni_peer, all);
        sennit_err err;

        if (!peer->connected)
            continue;
        err = pattern->port->subscribe(peer, on, prefix);
        if (err && !told)
            return err;
        if (err)
            pattern->port->disconnect(peer, false, err, "no memory for a subscription");
        told = true;
    }
    return SENNIT_OK;
}

static sennit_err
count(sni_pattern *pattern, bool on, sennit_bytes prefix)
{
    uint32_t times;
    sennit_err err;

    if (on)
        err = sni_trie_add(&pattern->topics, prefix, pattern, NULL, &times);
    else
        err = sni_trie_remove(&pattern->topics, prefix, pattern, NULL, false, &times);
    pattern->stats->subscriptions = pattern->topics.keys;
    pattern->stats->topics = pattern->topics.keys;
    return err;
}

/* A SUB tells of the first and the last of each prefix. An XSUB tells of each first and
 * repeated one, for those behind an XPUB with xpub_verbose. */
static bool
worth_telling(const sni_pattern *pattern, bool on, uint32_t times)
{
    if (times == (on ? 1 : 0))
        return true;
    return pattern->type == SENNIT_XSUB &&
           (on || pattern->opts->xsub_verbose_unsubscribe);
}

/* What is refused has changed nothing. */
static sennit_err
sub_subscribe(sni_pattern *pattern, bool on, sennit_bytes prefix)
{
    uint32_t before = sni_trie_count(&pattern->topics, prefix, pattern);
    sennit_err err = SENNIT_OK;

    if (prefix.size > SNI_TOPIC_MAX_BYTES)
        return SENNIT_EMSGSIZE;
    if (!on && before == 0)
        return SENNIT_ENOENT;
    /* Taken back without memory, so what may fail comes first. */
    if (on)
        err = count(pattern, true, prefix);
    if (err)
        return err;
    if (worth_telling(pattern, on, on ? before + 1 : before - 1))
        err = tell_publishers(pattern, on, prefix);
    if (on == (err != SENNIT_OK))
        (void)count(pattern, false, prefix);
    return err;
}

/* Publishers may send more than was asked for: filter again (RFC 29). */
static sennit_err
sub_fetch(sni_pattern *pattern, sni_msg *msg)
{
    for (;;) {
        bool first = pattern->reading == NULL;
        sni_peer *from;
        sennit_err err = sni_fair_pull(pattern, msg, &from);

        if (err || !first ||
            sni_trie_match(&pattern->topics, sennit_msg_bytes(sni_msg_public(msg)), NULL,
                           NULL) != pattern->opts->invert_matching)
            return err;
        pattern->stats->dropped_filtered_msgs++;
        err = sni_fair_drop(pattern, msg);
        if (err)
            return err;
    }
}

/* ---- XSUB: upstream ------------------------------------------------------ */

static void
choose_publishers(sni_pattern *pattern, const sni_msg *first)
{
    sni_fanout_begin(pattern);
    for (sni_link *link = pattern->peers.next; link != &pattern->peers; link = link->next)
        sni_fanout_choose(pattern, SNI_OWNER_OF(link, sni_peer, all));
    (void)sni_fanout_settle(pattern, first);
}

/* Sends the frame that was kept, now that it is known whether it is the last. */
static void
send_kept(sni_pattern *pattern, bool more)
{
    if (!pattern->has_body)
        return;
    sni_fanout_send(pattern, &pattern->body, more);
    pattern->has_body = false;
}

/* Sends, or keeps, a frame for the publishers. */
static sennit_err
send_upstream(sni_pattern *pattern, sni_msg *msg, bool more)
{
    sennit_err err = more ? sni_msg_own(msg, NULL) : SENNIT_OK;

    if (err)
        return err;
    pattern->silent = false;
    if (!pattern->upstream)
        choose_publishers(pattern, msg);
    pattern->upstream = more;
    send_kept(pattern, true);
    if (!more) {
        sni_fanout_send(pattern, msg, false);
        return SENNIT_OK;
    }
    pattern->body = *msg;
    pattern->has_body = true;
    sennit_msg_init(sni_msg_public(msg));
    return SENNIT_OK;
}

/* Any frame may be a subscription, unless only the first may; those that are not are
 * one message together. */
static sennit_err
xsub_send(sni_pattern *pattern, sni_msg *msg, bool more)
{
    sennit_bytes prefix;
    sennit_err err;
    bool on;

    if ((pattern->sending && pattern->opts->only_first_subscribe) ||
        !sni_subscription_read(sennit_msg_bytes(sni_msg_public(msg)), &on, &prefix))
        return send_upstream(pattern, msg, more);
    err = sub_subscribe(pattern, on, prefix);
    if (err && err != SENNIT_ENOENT)
        return err;
    pattern->silent = pattern->silent || !pattern->sending;
    sennit_msg_fini(sni_msg_public(msg));
    if (!more) {
        send_kept(pattern, false);
        pattern->upstream = false;
    }
    return SENNIT_OK;
}

static bool
xsub_can_send(sni_pattern *pattern)
{
    (void)pattern;
    return true;
}

static void
xsub_detach(sni_pattern *pattern, sni_peer *peer)
{
    sni_fanout_leave(pattern, peer);
}

const sni_pattern_ops sni_pattern_sub = {
    .receives = true,
    .subscribe = sub_subscribe,
    .connected = sub_connected,
    .fetch = sub_fetch,
};

const sni_pattern_ops sni_pattern_xsub = {
    .sends = true,
    .receives = true,
    .detach = xsub_detach,
    .connected = sub_connected,
    .send = xsub_send,
    .can_send = xsub_can_send,
    .fetch = sni_fair_fetch,
    .subscribe = sub_subscribe,
};
