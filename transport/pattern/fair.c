/* SPDX-License-Identifier: MIT */
/* Fair queueing: peers with unread messages take turns, a whole message each. */
#include "pattern/pattern.h"

sni_peer *
sni_fair_next(sni_pattern *pattern)
{
    sni_link *first = sni_list_first(&pattern->readable);

    if (pattern->reading != NULL)
        return pattern->reading;
    return first == NULL ? NULL : SNI_OWNER_OF(first, sni_peer, in);
}

sennit_err
sni_fair_pull(sni_pattern *pattern, sni_msg *msg, sni_peer **from)
{
    sni_peer *peer = sni_fair_next(pattern);
    sennit_err err;

    if (peer == NULL)
        return SENNIT_EAGAIN;
    err = pattern->port->pull(peer, msg);
    if (err)
        return err;
    *from = peer;
    pattern->reading = msg->more ? peer : NULL;
    if (msg->more)
        return SENNIT_OK;
    sni_name_read(peer);
    if (peer->unread == 0) {
        sni_link_remove(&peer->in);
    } else if (peer->in.next != &pattern->readable) {
        sni_link_remove(&peer->in);
        sni_list_push(&pattern->readable, &peer->in);
    }
    return SENNIT_OK;
}

sennit_err
sni_fair_fetch(sni_pattern *pattern, sni_msg *msg)
{
    sni_peer *from;

    return sni_fair_pull(pattern, msg, &from);
}

sennit_err
sni_fair_skip(sni_pattern *pattern)
{
    sni_peer *from;
    sni_msg msg;

    while (pattern->reading != NULL) {
        sennit_err err;

        sennit_msg_init(sni_msg_public(&msg));
        err = sni_fair_pull(pattern, &msg, &from);
        if (err == SENNIT_OK) {
            sennit_msg_fini(sni_msg_public(&msg));
            err = sni_fetch_spend(pattern);
        }
        pattern->skipping = pattern->reading != NULL && err != SENNIT_OK;
        if (err)
            return err;
    }
    return SENNIT_OK;
}

sennit_err
sni_fair_drop(sni_pattern *pattern, sni_msg *msg)
{
    sennit_err err = sni_fetch_spend(pattern);

    sennit_msg_fini(sni_msg_public(msg));
    if (err == SENNIT_OK)
        return sni_fair_skip(pattern);
    pattern->skipping = pattern->reading != NULL;
    return err;
}

sennit_err
sni_fetch_spend(sni_pattern *pattern)
{
    return --pattern->fetching == 0 ? SENNIT_EAGAIN : SENNIT_OK;
}
