/* SPDX-License-Identifier: MIT */
/* PUB and SUB (RFC 29). A publisher keeps a set of topics per peer (libzmq sends n
 * subscribes and one cancel, so counting them would leak); a subscriber counts.
 * Subscriptions are state of the socket: told to every publisher on every new
 * connection, never subject to a high-water mark. */
#include "pattern/pattern.h"

#include "base/alloc.h"
#include "base/limits.h"

/* ---- PUB --------------------------------------------------------------- */

static sennit_err
pub_subscription(sni_pattern *pattern, sni_peer *peer, bool on, sennit_bytes topic)
{
    uint32_t count;
    sennit_err err = SENNIT_OK;

    if (topic.size > SNI_TOPIC_MAX_BYTES)
        return SENNIT_EMSGSIZE;
    if (on) {
        err = sni_trie_add(&pattern->topics, topic, peer, &count);
        if (err == SENNIT_OK && count == 1 && ++peer->topics > SNI_TOPICS_PER_PEER_MAX)
            err = SENNIT_EMSGSIZE;
    } else if (sni_trie_remove(&pattern->topics, topic, peer, true, &count) ==
               SENNIT_OK) {
        peer->topics--;
    }
    pattern->stats->subscriptions = pattern->topics.entries;
    return err;
}

/* Forgetting walks all topics of the socket, so not for a peer that has none. */
static void
pub_disconnected(sni_pattern *pattern, sni_peer *peer, bool queue_empty)
{
    (void)queue_empty;
    if (peer->topics == 0)
        return;
    sni_trie_forget(&pattern->topics, peer);
    peer->topics = 0;
    pattern->stats->subscriptions = pattern->topics.entries;
}

/* A peer may have subscribed and never become connected. */
static void
pub_detach(sni_pattern *pattern, sni_peer *peer)
{
    pub_disconnected(pattern, peer, false);
    for (size_t i = 0; i < pattern->matched_count; i++) {
        if (pattern->matched[i] == peer) {
            pattern->matched[i] = pattern->matched[--pattern->matched_count];
            return;
        }
    }
}

static void
match_one(void *owner, void *arg)
{
    sni_pattern *pattern = arg;
    sni_peer *peer = owner;

    if (peer->stamp == pattern->stamp)
        return; /* by another of its topics */
    peer->stamp = pattern->stamp;
    if (!peer->writable) {
        pattern->stats->dropped_hwm_msgs++;
        return;
    }
    if (!sni_grow(pattern->alloc, &pattern->matched, &pattern->matched_capacity,
                  pattern->matched_count + 1, sizeof(sni_peer *))) {
        pattern->stats->dropped_memory_msgs++;
        return;
    }
    pattern->matched[pattern->matched_count++] = peer;
}

static sennit_err
pub_send(sni_pattern *pattern, sni_msg *msg, bool more)
{
    if (!pattern->sending) {
        pattern->stamp++;
        pattern->matched_count = 0;
        if (!sni_trie_match(&pattern->topics, sennit_msg_bytes(sni_msg_public(msg)),
                            match_one, pattern))
            pattern->stats->dropped_no_peer_msgs++;
    }
    pattern->port->fan(pattern, pattern->matched, pattern->matched_count, msg, more);
    return SENNIT_OK;
}

static bool
pub_can_send(sni_pattern *pattern)
{
    (void)pattern;
    return true;
}

/* Nobody reads what a publisher is sent. */
static sennit_err
pub_take(sni_pattern *pattern, sni_peer *peer, sni_msg *msg)
{
    (void)pattern;
    (void)peer;
    sennit_msg_fini(sni_msg_public(msg));
    return SENNIT_OK;
}

const sni_pattern_ops sni_pattern_pub = {
    .sends = true,
    .detach = pub_detach,
    .disconnected = pub_disconnected,
    .subscription = pub_subscription,
    .take = pub_take,
    .send = pub_send,
    .can_send = pub_can_send,
};

/* ---- SUB --------------------------------------------------------------- */

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

static sennit_err
tell_publishers(sni_pattern *pattern, bool on, sennit_bytes prefix)
{
    sennit_err first = SENNIT_OK;

    for (sni_link *link = pattern->peers.next; link != &pattern->peers;
         link = link->next) {
        sni_peer *peer = SNI_OWNER_OF(link, sni_peer, all);
        sennit_err err =
            peer->connected ? pattern->port->subscribe(peer, on, prefix) : SENNIT_OK;

        if (first == SENNIT_OK)
            first = err;
    }
    return first;
}

static sennit_err
sub_subscribe(sni_pattern *pattern, bool on, sennit_bytes prefix)
{
    uint32_t count;
    sennit_err err;

    if (on)
        err = sni_trie_add(&pattern->topics, prefix, pattern, &count);
    else
        err = sni_trie_remove(&pattern->topics, prefix, pattern, false, &count);
    pattern->stats->subscriptions = pattern->topics.keys;
    if (err || count != (on ? 1 : 0))
        return err;
    err = tell_publishers(pattern, on, prefix);
    /* A publisher that could not be told to stop is filtered here. */
    if (err == SENNIT_OK || !on)
        return SENNIT_OK;
    (void)sni_trie_remove(&pattern->topics, prefix, pattern, false, &count);
    pattern->stats->subscriptions = pattern->topics.keys;
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
                           NULL))
            return err;
        pattern->stats->dropped_filtered_msgs++;
        err = sni_fair_drop(pattern, msg);
        if (err)
            return err;
    }
}

const sni_pattern_ops sni_pattern_sub = {
    .receives = true,
    .subscribe = sub_subscribe,
    .connected = sub_connected,
    .fetch = sub_fetch,
};
