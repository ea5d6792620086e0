/* SPDX-License-Identifier: MIT */
/* DEALER (RFC 28): balances what goes out, takes what comes in fairly, adds and removes
 * nothing. Asked to, it hears in between of each connect that lost its peer. */
#include "pattern/pattern.h"

static sennit_err
dealer_connected(sni_pattern *pattern, sni_peer *peer, sennit_bytes identity)
{
    sennit_err err = sni_name_open_unnamed(pattern, peer);

    (void)identity;
    if (err)
        return err;
    err = sni_pattern_greet(peer);
    if (err)
        sni_name_close(pattern, peer, 0);
    return err;
}

static void
dealer_disconnected(sni_pattern *pattern, sni_peer *peer, bool queue_empty)
{
    bool heard = !peer->accepted && pattern->opts->hiccup.size > 0;

    (void)queue_empty;
    sni_name_close(pattern, peer, heard ? SNI_TELL_LOST : 0);
}

static sennit_err
dealer_fetch(sni_pattern *pattern, sni_msg *msg)
{
    sennit_err err =
        pattern->reading == NULL ? sni_name_tell(pattern, msg) : SENNIT_EAGAIN;

    return err == SENNIT_EAGAIN ? sni_fair_fetch(pattern, msg) : err;
}

const sni_pattern_ops sni_pattern_dealer = {
    .sends = true,
    .waits = true,
    .receives = true,
    .connected = dealer_connected,
    .disconnected = dealer_disconnected,
    .send = sni_balance_push,
    .can_send = sni_balance_can_send,
    .fetch = dealer_fetch,
};
