/* SPDX-License-Identifier: MIT */
/* PAIR (RFC 31): one peer at a time. A second one is refused, so that it learns it
 * at once instead of talking into a hole. */
#include "pattern/pattern.h"

static sennit_err
pair_attach(sni_pattern *pattern, sni_peer *peer)
{
    (void)peer;
    return sni_list_empty(&pattern->peers) ? SENNIT_OK : SENNIT_EEXIST;
}

static sennit_err
pair_fetch(sni_pattern *pattern, sni_msg *msg)
{
    sni_peer *from;

    return sni_fair_pull(pattern, msg, &from);
}

static bool
pair_can_send(sni_pattern *pattern)
{
    return sni_balance_next(pattern) != NULL;
}

const sni_pattern_ops sni_pattern_pair = {
    .sends = true,
    .receives = true,
    .attach = pair_attach,
    .send = sni_balance_push,
    .can_send = pair_can_send,
    .fetch = pair_fetch,
};
