/* SPDX-License-Identifier: MIT */
/* ROUTER (RFC 28): the first frame names the peer. A peer without an identity gets
 * one of 5 octets, 00 and a counter that starts anywhere. A second peer with a
 * taken identity is refused and told so by the closed connection. */
#include "pattern/pattern.h"

#include "base/assert.h"

static sennit_err
name_peer(sni_pattern *pattern, sni_peer *peer, sennit_bytes identity)
{
    uint8_t made_up[5] = { 0 };

    if (identity.size > 0 && sni_trie_find(&pattern->identities, identity) != NULL)
        return SENNIT_EEXIST;
    if (identity.size == 0) {
        identity = sni_bytes(made_up, sizeof made_up);
        do {
            sni_put_u32(made_up + 1, pattern->next_identity++);
        } while (sni_trie_find(&pattern->identities, identity) != NULL);
    }
    sennit_msg_fini(&peer->identity);
    return sennit_msg_init_copy(&peer->identity, identity.data, identity.size);
}

static sennit_err
router_connected(sni_pattern *pattern, sni_peer *peer, sennit_bytes identity)
{
    uint32_t count;
    sennit_err err = name_peer(pattern, peer, identity);

    if (err)
        return err;
    err = sni_trie_add(&pattern->identities, sennit_msg_bytes(&peer->identity), peer,
                       &count);
    if (err)
        sennit_msg_fini(&peer->identity);
    return err;
}

static void
router_disconnected(sni_pattern *pattern, sni_peer *peer, bool queue_empty)
{
    uint32_t left;

    (void)queue_empty;
    (void)sni_trie_remove(&pattern->identities, sennit_msg_bytes(&peer->identity), peer,
                          true, &left);
    /* The name stays for messages that are still unread; a new connection of the
     * same pipe is named anew. */
}

/* Decides where a message goes, by its first frame. */
static sennit_err
address(sni_pattern *pattern, sni_msg *msg, bool more)
{
    sni_peer *peer =
        sni_trie_find(&pattern->identities, sennit_msg_bytes(sni_msg_public(msg)));

    if (peer == NULL && pattern->opts->router_mandatory)
        return SENNIT_EHOSTUNREACH;
    if (peer != NULL && !peer->writable && pattern->opts->router_mandatory)
        return SENNIT_EAGAIN;
    if (peer == NULL || !more)
        pattern->stats->dropped_no_peer_msgs++;
    else if (!peer->writable)
        pattern->stats->dropped_hwm_msgs++;
    else
        pattern->writing = peer;
    sni_swallow(pattern, msg, more && pattern->writing == NULL);
    return SENNIT_OK;
}

static sennit_err
router_send(sni_pattern *pattern, sni_msg *msg, bool more)
{
    sennit_err err;

    if (pattern->writing == NULL)
        return address(pattern, msg, more);
    err = pattern->port->push(pattern->writing, msg, more);
    if (err || more)
        return err;
    if (!pattern->writing->writable)
        sni_link_remove(&pattern->writing->out);
    pattern->writing = NULL;
    return SENNIT_OK;
}

static bool
router_can_send(sni_pattern *pattern)
{
    return !pattern->opts->router_mandatory || sni_balance_can_send(pattern);
}

static sennit_err
router_fetch(sni_pattern *pattern, sni_msg *msg)
{
    bool first = pattern->reading == NULL;
    sni_peer *from;
    sennit_err err;

    if (pattern->has_body) {
        *msg = pattern->body;
        sennit_msg_init(sni_msg_public(&pattern->body));
        pattern->has_body = false;
        return SENNIT_OK;
    }
    if (!first)
        return sni_fair_fetch(pattern, msg);
    err = sni_fair_pull(pattern, &pattern->body, &from);
    if (err)
        return err;
    pattern->has_body = true;
    sennit_msg_copy(sni_msg_public(msg), &from->identity);
    msg->more = true;
    msg->peer = pattern->body.peer;
    return SENNIT_OK;
}

const sni_pattern_ops sni_pattern_router = {
    .sends = true,
    .receives = true,
    .connected = router_connected,
    .disconnected = router_disconnected,
    .send = router_send,
    .can_send = router_can_send,
    .fetch = router_fetch,
};
