/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_BASE_GATHER_H
#define SENNIT_BASE_GATHER_H

#include "base/msg.h"

/* What the block of a large body has that is gathered from other messages. A stream queue
 * refers to the parts where they are; who asks for the body has them copied together, in
 * room that the block has for that from the beginning, so it cannot fail.
 * Thread: one, until it is flat; so a message is flat before another thread gets it. */
typedef struct sni_gather {
    bool is_flat; /* the body is in one piece: the parts are gone */
    size_t count;
    sni_msg parts[]; /* none is a gathered one */
} sni_gather;

/* Its parts are dropped when the block is freed; also what such a block is known by. */
void sni_gather_release(void *data, void *arg);

/* Of a body that is not in one piece; NULL: it is. */
static inline sni_gather *
sni_gather_of(const sni_msg *msg)
{
    const sni_block *block = sni_msg_block(msg);
    sni_gather *gather;

    if (block == NULL || block->release != sni_gather_release)
        return NULL;
    gather = block->release_arg;
    return gather->is_flat ? NULL : gather;
}

/* Copies the parts together. */
void sni_gather_flatten(sni_block *block);

/* Now the body of `msg` is in one piece. */
static inline void
sni_msg_flatten(const sni_msg *msg)
{
    if (sni_gather_of(msg) != NULL)
        sni_gather_flatten(msg->u.view.block);
}

#endif /* SENNIT_BASE_GATHER_H */
