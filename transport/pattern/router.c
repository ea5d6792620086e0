/* SPDX-License-Identifier: MIT */
/* ROUTER (RFC 28): the first frame names the peer. A peer without an identity gets
 * one of 5 octets, 00 and a counter that starts anywhere. A second peer with a
 * taken identity is refused and told so by the closed connection, or with
 * router_handover gets it, and the first one's connection ends. */
#include "pattern/pattern.h"

/* What is told of a connection's end. */
static unsigned
endings(const sni_pattern *pattern, const sni_peer *peer)
{
    unsigned tell = 0;

    if (pattern->opts->router_notify & SENNIT_NOTIFY_DISCONNECT)
        tell |= SNI_TELL_DISCONNECTED;
    if (peer->accepted && pattern->opts->disconnected.size > 0)
        tell |= SNI_TELL_LOST;
    return tell;
}

static sennit_err
router_connected(sni_pattern *pattern, sni_peer *peer, sennit_bytes identity)
{
    sni_peer *owner = sni_name_find(pattern, identity);
    sennit_err err =
        sni_name_open(pattern, peer, identity, pattern->opts->router_handover);

    if (err)
        return err;
    if (owner != NULL && owner != peer && sni_name_find(pattern, identity) == peer)
        sni_name_succeed(pattern, owner, endings(pattern, owner));
    err = sni_pattern_greet(peer);
    if (err)
        sni_name_close(pattern, peer, 0);
    else if (pattern->opts->router_notify & SENNIT_NOTIFY_CONNECT)
        sni_name_announce(pattern, peer, SNI_TELL_CONNECTED);
    return err;
}

static void
router_disconnected(sni_pattern *pattern, sni_peer *peer, bool queue_empty)
{
    (void)queue_empty;
    sni_unaddress(pattern, peer);
    sni_name_close(pattern, peer, endings(pattern, peer));
}

/* Decides where a message goes, by its first frame. Full and gone are different: the
 * one passes. */
static sennit_err
address(sni_pattern *pattern, sni_msg *msg, bool more)
{
    sni_peer *peer = sni_name_find(pattern, sennit_msg_bytes(sni_msg_public(msg)));

    if (peer != NULL && peer->leaving)
        peer = NULL;
    if (peer == NULL && pattern->opts->router_mandatory)
        return SENNIT_EHOSTUNREACH;
    if (peer != NULL && !peer->writable && pattern->opts->router_mandatory)
        return SENNIT_EAGAIN;
    if (peer == NULL || !more)
        pattern->stats->dropped_no_peer_msgs++;
    else if (!peer->writable)
        pattern->port->missed(peer);
    else
        pattern->writing = peer;
    pattern->begun = false;
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
    pattern->begun = pattern->begun || err == SENNIT_OK;
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

const sni_pattern_ops sni_pattern_router = {
    .sends = true,
    .receives = true,
    .attach = sni_name_assign,
    .connected = router_connected,
    .disconnected = router_disconnected,
    .send = router_send,
    .can_send = router_can_send,
    .fetch = sni_name_fetch,
};
