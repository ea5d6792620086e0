/* SPDX-License-Identifier: MIT */
/* Load balancing: the next message goes to whoever has had none for longest, of those
 * with room. A message stays with one peer. */
#include "pattern/pattern.h"

sni_peer *
sni_balance_next(sni_pattern *pattern)
{
    sni_link *first = sni_list_first(&pattern->writable);

    return first == NULL ? NULL : SNI_OWNER_OF(first, sni_peer, out);
}

bool
sni_balance_can_send(sni_pattern *pattern)
{
    return sni_balance_next(pattern) != NULL;
}

sennit_err
sni_balance_push(sni_pattern *pattern, sni_msg *msg, bool more)
{
    sni_peer *peer =
        pattern->writing != NULL ? pattern->writing : sni_balance_next(pattern);
    sennit_err err;

    if (peer == NULL)
        return SENNIT_EAGAIN;
    err = pattern->port->push(peer, msg, more);
    if (err)
        return err;
    pattern->writing = more ? peer : NULL;
    if (more)
        return SENNIT_OK;
    if (!peer->writable) {
        sni_link_remove(&peer->out);
    } else if (sni_link_linked(&peer->out) && peer->out.next != &pattern->writable) {
        sni_link_remove(&peer->out);
        sni_list_push(&pattern->writable, &peer->out);
    }
    return SENNIT_OK;
}

void
sni_swallow(sni_pattern *pattern, sni_msg *msg, bool more)
{
    sennit_msg_fini(sni_msg_public(msg));
    pattern->swallow = more;
}
