/* SPDX-License-Identifier: MIT */
/* STREAM: bytes of a peer that speaks no ZMTP, behind the name of its connection.
 * Exactly [name, empty] closes it, behind what was sent before. */
#include "pattern/pattern.h"

static sennit_err
stream_connected(sni_pattern *pattern, sni_peer *peer, sennit_bytes identity)
{
    sennit_err err = sni_name_open(pattern, peer, sni_bytes(NULL, 0), false);

    (void)identity; /* it has no way to say one */
    if (err == SENNIT_OK && pattern->opts->stream_notify)
        sni_name_announce(pattern, peer, SNI_TELL_CONNECTED);
    return err;
}

static void
stream_disconnected(sni_pattern *pattern, sni_peer *peer, bool queue_empty)
{
    (void)queue_empty;
    sni_unaddress(pattern, peer);
    sni_name_close(pattern, peer,
                   pattern->opts->stream_notify ? SNI_TELL_DISCONNECTED : 0);
}

/* The frame that says where the next ones go. */
static sennit_err
address(sni_pattern *pattern, sni_msg *msg, bool more)
{
    sni_peer *peer = sni_name_find(pattern, sennit_msg_bytes(sni_msg_public(msg)));

    if (!more || peer == NULL || peer->leaving)
        return SENNIT_EHOSTUNREACH;
    if (!peer->writable)
        return SENNIT_EAGAIN;
    pattern->writing = peer;
    pattern->begun = false;
    pattern->silent = true;
    sennit_msg_fini(sni_msg_public(msg));
    return SENNIT_OK;
}

static sennit_err
stream_send(sni_pattern *pattern, sni_msg *msg, bool more)
{
    sni_peer *peer = pattern->writing;
    sennit_err err;

    if (peer == NULL)
        return address(pattern, msg, more);
    if (!pattern->begun && !more && sni_msg_size_of(msg) == 0) {
        sennit_msg_fini(sni_msg_public(msg));
        pattern->writing = NULL;
        pattern->port->disconnect(peer, true, SENNIT_OK, "closed by the application");
        return SENNIT_OK;
    }
    pattern->silent = pattern->silent && sni_msg_size_of(msg) == 0;
    /* Frames before the first octet are nothing to be sent. */
    err = pattern->silent ? SENNIT_OK : pattern->port->push(peer, msg, more);
    if (err)
        return err;
    sennit_msg_fini(sni_msg_public(msg));
    pattern->begun = true;
    if (more)
        return SENNIT_OK;
    if (!peer->writable)
        sni_link_remove(&peer->out);
    pattern->writing = NULL;
    return SENNIT_OK;
}

const sni_pattern_ops sni_pattern_stream = {
    .sends = true,
    .receives = true,
    .attach = sni_name_assign,
    .connected = stream_connected,
    .disconnected = stream_disconnected,
    .send = stream_send,
    .can_send = sni_balance_can_send,
    .fetch = sni_name_fetch,
};
