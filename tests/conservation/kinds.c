/* SPDX-License-Identifier: MIT */
#include "kinds.h"

#include <stddef.h>

static const kind kinds[] = {
    { SENNIT_PAIR, .sends = true, .receives = true, .one_peer = true },
    { SENNIT_PUB, .sends = true, .fans = true },
    { SENNIT_SUB, .receives = true, .subscribes = true, .filters = true,
      .may_discard = true },
    { SENNIT_XPUB, .sends = true, .receives = true, .fans = true, .noticed = true },
    { SENNIT_XSUB, .receives = true, .subscribes = true },
    { SENNIT_REQ, .sends = true, .receives = true, .turns = true, .may_discard = true },
    { SENNIT_REP, .sends = true, .receives = true, .turns = true, .may_discard = true },
    { SENNIT_DEALER, .sends = true, .receives = true, .delimits = true },
    { SENNIT_ROUTER, .sends = true, .receives = true, .addresses = true,
      .delimits = true },
    { SENNIT_PULL, .receives = true },
    { SENNIT_PUSH, .sends = true },
};

const kind *
kind_of(sennit_sock_type type)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i].type == type)
            return &kinds[i];
    return NULL;
}

const kind_pair kind_pairs[] = {
    { SENNIT_PULL, SENNIT_PUSH },     { SENNIT_PUSH, SENNIT_PULL },
    { SENNIT_PUB, SENNIT_SUB },       { SENNIT_SUB, SENNIT_PUB },
    { SENNIT_PUB, SENNIT_SUB },       { SENNIT_PULL, SENNIT_PUSH },
    { SENNIT_DEALER, SENNIT_DEALER }, { SENNIT_ROUTER, SENNIT_DEALER },
    { SENNIT_DEALER, SENNIT_ROUTER }, { SENNIT_ROUTER, SENNIT_ROUTER },
    { SENNIT_REP, SENNIT_REQ },       { SENNIT_REQ, SENNIT_REP },
    { SENNIT_ROUTER, SENNIT_REQ },    { SENNIT_REP, SENNIT_DEALER },
    { SENNIT_PAIR, SENNIT_PAIR },     { SENNIT_XPUB, SENNIT_XSUB },
    { SENNIT_XSUB, SENNIT_XPUB },     { SENNIT_XPUB, SENNIT_SUB },
    { SENNIT_SUB, SENNIT_XPUB },      { SENNIT_PUB, SENNIT_XSUB },
};

const unsigned kind_pairs_count = sizeof kind_pairs / sizeof kind_pairs[0];
