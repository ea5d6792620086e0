/* SPDX-License-Identifier: MIT */
/* PUSH, PULL (RFC 30) and DEALER (RFC 28): balance what goes out over the peers
 * with room, take what comes in fairly from all, add and remove nothing. */
#include "pattern/pattern.h"

static sennit_err
pull_fetch(sni_pattern *pattern, sni_msg *msg)
{
    sni_peer *from;

    return sni_fair_pull(pattern, msg, &from);
}

static bool
push_can_send(sni_pattern *pattern)
{
    return sni_balance_next(pattern) != NULL;
}

const sni_pattern_ops sni_pattern_push = {
    .sends = true,
    .send = sni_balance_push,
    .can_send = push_can_send,
};

const sni_pattern_ops sni_pattern_pull = {
    .receives = true,
    .fetch = pull_fetch,
};

const sni_pattern_ops sni_pattern_dealer = {
    .sends = true,
    .receives = true,
    .send = sni_balance_push,
    .can_send = push_can_send,
    .fetch = pull_fetch,
};
