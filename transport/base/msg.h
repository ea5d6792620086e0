/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_BASE_MSG_H
#define SENNIT_BASE_MSG_H

#include "base/alloc.h"
#include "base/bodies.h"
#include "base/bytes.h"

/* What a sennit_msg holds inside. */
typedef struct sni_msg {
    union {
        uint8_t small[SENNIT_MSG_INLINE_MAX];
        struct {
            uint8_t *data;
            size_t size;
            sni_block *block; /* one reference is ours; NULL: borrowed memory,
                                 see sni_msg_borrow() */
        } view;
    } u;
    uint8_t small_size; /* or SNI_MSG_VIEW */
    bool more;
    uint32_t peer; /* connection it was received from, or 0 */
} sni_msg;

#define SNI_MSG_VIEW 0xff

_Static_assert(sizeof(sni_msg) == 64, "a message is one cache line");
_Static_assert(sizeof(sennit_msg) == sizeof(sni_msg),
               "public and internal message agree");

static inline sni_msg *
sni_msg_of(sennit_msg *msg)
{
    return (sni_msg *)(void *)msg;
}

static inline const sni_msg *
sni_msg_of_const(const sennit_msg *msg)
{
    return (const sni_msg *)(const void *)msg;
}

static inline sennit_msg *
sni_msg_public(sni_msg *msg)
{
    return (sennit_msg *)(void *)msg;
}

/* Octets of the body. */
static inline size_t
sni_msg_size_of(const sni_msg *msg)
{
    return msg->small_size == SNI_MSG_VIEW ? msg->u.view.size : msg->small_size;
}

/* Fills an EMPTY msg with a copy of at most SENNIT_MSG_INLINE_MAX bytes. */
static inline void
sni_msg_init_small(sni_msg *msg, const uint8_t *data, size_t size, bool more,
                   uint32_t peer)
{
    msg->more = more;
    msg->peer = peer;
    msg->small_size = (uint8_t)size;
    sni_body_copy(msg->u.small, data, size);
}

/* Fills an EMPTY msg with a view of `size` bytes at `data`. Takes: one reference to
 * `block`, in which they lie. */
static inline void
sni_msg_init_view(sni_msg *msg, uint8_t *data, size_t size, sni_block *block, bool more,
                  uint32_t peer)
{
    msg->more = more;
    msg->peer = peer;
    msg->small_size = SNI_MSG_VIEW;
    msg->u.view.data = data;
    msg->u.view.size = size;
    msg->u.view.block = block;
}

/* Makes `msg` a view of memory that stays only for the duration of a call: for
 * bodies that are copied on the way down anyway. Whoever keeps a message calls
 * sni_msg_own() first. */
static inline void
sni_msg_borrow(sni_msg *msg, const void *data, size_t size)
{
    msg->more = false;
    msg->peer = 0;
    msg->small_size = SNI_MSG_VIEW;
    memcpy(&msg->u.view.data, &data, sizeof data); /* it is not written to */
    msg->u.view.size = size;
    msg->u.view.block = NULL;
}

/* A block for a body of `size` bytes, of `bodies` (NULL: of malloc), or NULL. */
static inline sni_block *
sni_msg_new_block(sni_bodies *bodies, size_t size)
{
    return bodies != NULL ? sni_bodies_take(bodies, size)
                          : sni_block_new(&sni_alloc_default, size);
}

/* Turns a borrowed body into one of its own, in memory of `bodies` (NULL: of malloc).
 * Errors: ENOMEM. */
sennit_err sni_msg_own(sni_msg *msg, sni_bodies *bodies);

/* Makes `msg` a frame of `size` uninitialised bytes, likewise; what it held is not looked
 * at. Errors: ENOMEM (msg is then empty). */
sennit_err sni_msg_init_size(sni_msg *msg, size_t size, sni_bodies *bodies);

/* The same with a copy of `data`. */
sennit_err sni_msg_init_copy(sni_msg *msg, sennit_bytes data, sni_bodies *bodies);

/* The counted storage of a body that is not inline, or NULL. */
static inline sni_block *
sni_msg_block(const sni_msg *msg)
{
    return msg->small_size == SNI_MSG_VIEW ? msg->u.view.block : NULL;
}

/* sennit_msg_init() and sennit_msg_fini(), where every message passes. */
static inline void
sni_msg_init(sni_msg *msg)
{
    msg->small_size = 0;
    msg->more = false;
    msg->peer = 0;
}

static inline void
sni_msg_fini(sni_msg *msg)
{
    sni_block *block = sni_msg_block(msg);

    if (block != NULL)
        sni_block_unref(block);
    sni_msg_init(msg);
}

#endif /* SENNIT_BASE_MSG_H */
