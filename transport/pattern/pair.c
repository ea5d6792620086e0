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

const sni_pattern_ops sni_pattern_pair = {
    .sends = true,
    .waits = true,
    .receives = true,
    .attach = pair_attach,
    .send = sni_balance_push,
    .can_send = sni_balance_can_send,
    .fetch = sni_fair_fetch,
};
