/* SPDX-License-Identifier: MIT */
#include "pattern/pattern.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/limits.h"

static const sni_pattern_ops *const policies[] = {
    [SENNIT_PAIR] = &sni_pattern_pair,     [SENNIT_PUB] = &sni_pattern_pub,
    [SENNIT_SUB] = &sni_pattern_sub,       [SENNIT_REQ] = &sni_pattern_req,
    [SENNIT_REP] = &sni_pattern_rep,       [SENNIT_DEALER] = &sni_pattern_dealer,
    [SENNIT_ROUTER] = &sni_pattern_router, [SENNIT_PULL] = &sni_pattern_pull,
    [SENNIT_PUSH] = &sni_pattern_push,     [SENNIT_XPUB] = &sni_pattern_xpub,
    [SENNIT_XSUB] = &sni_pattern_xsub,     [SENNIT_STREAM] = &sni_pattern_stream,
};

void
sni_pattern_init(sni_pattern *pattern, sennit_sock_type type, const sni_port *port,
                 const sennit_allocator *alloc, sennit_sock_stats *stats,
                 const sennit_sock_opts *opts)
{
    *pattern = (sni_pattern){
        .ops = policies[type],
        .port = port,
        .alloc = alloc,
        .stats = stats,
        .type = type,
        .opts = opts,
        .fetching = SNI_FETCH_FRAMES_MAX,
    };
    sni_link_init(&pattern->peers);
    sni_link_init(&pattern->readable);
    sni_link_init(&pattern->writable);
    sni_trie_init(&pattern->identities, alloc);
    sni_trie_init(&pattern->topics, alloc);
    sni_trie_init(&pattern->asked, alloc);
    sni_trie_init(&pattern->given, alloc);
    sni_notices_init(&pattern->notices, alloc);
    sni_link_init(&pattern->due);
    sni_link_init(&pattern->gone);
    if (type == SENNIT_ROUTER || type == SENNIT_STREAM)
        pattern->next_identity = (uint32_t)port->random(pattern);
    if (type == SENNIT_REQ)
        pattern->request = (uint32_t)port->random(pattern);
}

void
sni_pattern_fini(sni_pattern *pattern)
{
    SNI_ASSERT(sni_list_empty(&pattern->peers));
    sennit_msg_fini(sni_msg_public(&pattern->held));
    sennit_msg_fini(sni_msg_public(&pattern->body));
    sni_envelope_forget(pattern);
    sni_release(pattern->alloc, pattern->envelope);
    sni_release(pattern->alloc, pattern->matched);
    sni_name_fini(pattern);
    sni_subscriber_fini(pattern);
    sni_trie_fini(&pattern->identities);
    sni_trie_fini(&pattern->topics);
    sni_trie_fini(&pattern->asked);
    sni_trie_fini(&pattern->given);
}

void
sni_peer_init(sni_peer *peer)
{
    *peer = (sni_peer){ .writable = true };
    sni_link_init(&peer->all);
    sni_link_init(&peer->in);
    sni_link_init(&peer->out);
    sni_link_init(&peer->names);
    sennit_msg_init(&peer->identity);
}

sennit_err
sni_pattern_attach(sni_pattern *pattern, sni_peer *peer)
{
    sennit_err err = SENNIT_OK;

    if (pattern->ops->attach != NULL)
        err = pattern->ops->attach(pattern, peer);
    if (err)
        return err;
    peer->pattern = pattern;
    sni_list_push(&pattern->peers, &peer->all);
    if (peer->writable)
        sni_pattern_writable(peer);
    return SENNIT_OK;
}

void
sni_pattern_detach(sni_pattern *pattern, sni_peer *peer)
{
    if (peer->connected)
        sni_pattern_disconnected(pattern, peer, false);
    if (pattern->ops->detach != NULL)
        pattern->ops->detach(pattern, peer);
    sni_name_detach(pattern, peer);
    sni_pattern_retire(peer);
    sni_link_remove(&peer->all);
    sni_link_remove(&peer->in);
    if (pattern->reading == peer) {
        pattern->reading = NULL;
        pattern->skipping = false;
    }
    peer->pattern = NULL;
}

void
sni_pattern_retire(sni_peer *peer)
{
    sni_pattern *pattern = peer->pattern;

    peer->writable = false;
    peer->leaving = true;
    sni_link_remove(&peer->out);
    if (pattern != NULL && pattern->writing == peer) {
        pattern->writing = NULL;
        pattern->swallow = true;
        pattern->stats->dropped_disconnect_msgs++;
    }
}

sennit_err
sni_pattern_connected(sni_pattern *pattern, sni_peer *peer, sennit_bytes identity)
{
    sennit_err err = SENNIT_OK;

    if (pattern->ops->connected != NULL)
        err = pattern->ops->connected(pattern, peer, identity);
    if (err == SENNIT_OK)
        peer->connected = true;
    return err;
}

void
sni_pattern_disconnected(sni_pattern *pattern, sni_peer *peer, bool queue_empty)
{
    peer->connected = false;
    if (pattern->ops->disconnected != NULL)
        pattern->ops->disconnected(pattern, peer, queue_empty);
}

void
sni_unaddress(sni_pattern *pattern, const sni_peer *peer)
{
    if (pattern->writing != peer || (pattern->begun && !pattern->silent))
        return;
    pattern->writing = NULL;
    pattern->swallow = true;
    pattern->stats->dropped_disconnect_msgs++;
}

sennit_err
sni_pattern_subscribe(sni_pattern *pattern, bool on, sennit_bytes prefix)
{
    if (pattern->ops->subscribe == NULL)
        return SENNIT_ENOTSUP;
    return pattern->ops->subscribe(pattern, on, prefix);
}

sennit_err
sni_pattern_subscription(sni_pattern *pattern, sni_peer *peer, bool on,
                         sennit_bytes topic)
{
    SNI_ASSERT(pattern->ops->subscription != NULL);
    return pattern->ops->subscription(pattern, peer, on, topic);
}

void
sni_pattern_readable(sni_peer *peer)
{
    if (peer->pattern != NULL && !sni_link_linked(&peer->in))
        sni_list_push(&peer->pattern->readable, &peer->in);
}

void
sni_pattern_writable(sni_peer *peer)
{
    if (peer->pattern != NULL && !sni_link_linked(&peer->out))
        sni_list_push(&peer->pattern->writable, &peer->out);
}

sennit_err
sni_pattern_send(sni_pattern *pattern, sni_msg *msg, bool more)
{
    sennit_err err;

    if (!pattern->ops->sends)
        return SENNIT_ENOTSUP;
    /* Only the newest frame waits: a message of several would be torn. */
    if (more && pattern->opts->conflate)
        return SENNIT_ENOTSUP;
    if (pattern->swallow) {
        pattern->silent = false; /* it is counted as dropped */
        sni_swallow(pattern, msg, more);
        if (!more && pattern->ops->swallowed != NULL)
            pattern->ops->swallowed(pattern);
        err = SENNIT_OK;
    } else {
        err = pattern->ops->send(pattern, msg, more);
    }
    if (err == SENNIT_OK)
        pattern->sending = more;
    return err;
}

static sennit_err
fetch(sni_pattern *pattern, sni_msg *msg)
{
    sennit_err err;

    pattern->fetching = SNI_FETCH_FRAMES_MAX;
    err = pattern->skipping ? sni_fair_skip(pattern) : SENNIT_OK;
    return err ? err : pattern->ops->fetch(pattern, msg);
}

sennit_err
sni_pattern_recv(sni_pattern *pattern, sni_msg *msg)
{
    sennit_err err;

    if (!pattern->ops->receives)
        return SENNIT_ENOTSUP;
    if (pattern->has_held) {
        *msg = pattern->held;
        sennit_msg_init(sni_msg_public(&pattern->held));
        pattern->has_held = false;
    } else {
        err = fetch(pattern, msg);
        if (err)
            return err;
    }
    if (pattern->ops->took != NULL)
        pattern->ops->took(pattern, msg->more);
    return SENNIT_OK;
}

unsigned
sni_pattern_ready(sni_pattern *pattern)
{
    unsigned ready = 0;

    if (pattern->ops->receives) {
        /* What is readable may be filtered out or malformed: look, and keep it. */
        if (!pattern->has_held) {
            sennit_err err = fetch(pattern, &pattern->held);

            pattern->has_held = err == SENNIT_OK;
            /* There is something; the next receive tries again. */
            if (err == SENNIT_ENOMEM)
                ready |= SENNIT_READABLE;
            if (err == SENNIT_ECONNRESET) {
                /* A REQ's lost request: still to be told, by the next receive. */
                pattern->lost = true;
                pattern->replying = true;
                ready |= SENNIT_READABLE;
            }
        }
        if (pattern->has_held)
            ready |= SENNIT_READABLE;
    }
    if (pattern->ops->sends && (pattern->sending || pattern->ops->can_send(pattern)))
        ready |= SENNIT_WRITABLE;
    return ready;
}

bool
sni_pattern_pending(const sni_pattern *pattern)
{
    return pattern->fetching == 0;
}

sennit_err
sni_pattern_message(const sni_pattern *pattern, sni_msg *msg, size_t size)
{
    sni_block *block;

    sennit_msg_init(sni_msg_public(msg));
    if (size <= SENNIT_MSG_INLINE_MAX) {
        msg->small_size = (uint8_t)size;
        return SENNIT_OK;
    }
    block = sni_block_new(pattern->alloc, size);
    if (block == NULL)
        return SENNIT_ENOMEM;
    sni_msg_init_view(msg, block->data, size, block, false, 0);
    return SENNIT_OK;
}

sennit_err
sni_pattern_copy(const sni_pattern *pattern, sni_msg *msg, sennit_bytes body)
{
    sennit_err err = sni_pattern_message(pattern, msg, body.size);

    if (err == SENNIT_OK)
        sni_bytes_put(sennit_msg_data(sni_msg_public(msg)), body);
    return err;
}

sennit_err
sni_pattern_greet(sni_peer *peer)
{
    const sni_pattern *pattern = peer->pattern;
    sennit_bytes hello = pattern->opts->hello;
    sennit_err err = SENNIT_OK;

    if (hello.size > 0)
        err = pattern->port->greet(peer, hello);
    if (err == SENNIT_OK && pattern->opts->probe_router)
        err = pattern->port->greet(peer, sni_bytes(NULL, 0));
    return err;
}
