/* SPDX-License-Identifier: MIT */
/* PUSH and PULL (RFC 30): balance what goes out over the peers with room, take what
 * comes in fairly from all, add and remove nothing. */
#include "pattern/pattern.h"

const sni_pattern_ops sni_pattern_push = {
    .sends = true,
    .waits = true,
    .send = sni_balance_push,
    .can_send = sni_balance_can_send,
};

const sni_pattern_ops sni_pattern_pull = {
    .receives = true,
    .fetch = sni_fair_fetch,
};
