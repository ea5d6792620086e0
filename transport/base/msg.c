/* SPDX-License-Identifier: MIT */
#include "base/msg.h"

#include "base/gather.h"

void
sennit_msg_init(sennit_msg *msg)
{
    if (msg != NULL)
        sni_msg_init(sni_msg_of(msg));
}

sennit_err
sni_msg_init_size(sni_msg *msg, size_t size, sni_bodies *bodies)
{
    sni_block *block;

    sennit_msg_init(sni_msg_public(msg));
    if (size <= SENNIT_MSG_INLINE_MAX) {
        msg->small_size = (uint8_t)size;
        return SENNIT_OK;
    }
    block = sni_msg_new_block(bodies, size);
    if (block == NULL)
        return SENNIT_ENOMEM;
    sni_msg_init_view(msg, block->data, size, block, false, 0);
    return SENNIT_OK;
}

sennit_err
sni_msg_init_copy(sni_msg *msg, sennit_bytes data, sni_bodies *bodies)
{
    sennit_err err = sni_msg_init_size(msg, data.size, bodies);

    if (err == SENNIT_OK && data.size > 0)
        sni_body_copy(msg->small_size == SNI_MSG_VIEW ? msg->u.view.data : msg->u.small,
                      data.data, data.size);
    return err;
}

sennit_err
sennit_msg_init_size(sennit_msg *msg, size_t size)
{
    return msg == NULL ? SENNIT_EINVAL : sni_msg_init_size(sni_msg_of(msg), size, NULL);
}

sennit_err
sennit_msg_init_copy(sennit_msg *msg, const void *data, size_t size)
{
    if (msg == NULL || (data == NULL && size > 0)) {
        sennit_msg_init(msg);
        return SENNIT_EINVAL;
    }
    return sni_msg_init_copy(sni_msg_of(msg), sni_bytes(data, size), NULL);
}

sennit_err
sennit_msg_init_user(sennit_msg *msg, void *data, size_t size,
                     void (*release)(void *data, void *arg), void *arg)
{
    sni_msg *m = sni_msg_of(msg);
    sni_block *block;

    sennit_msg_init(msg);
    if (m == NULL || (data == NULL && size > 0))
        return SENNIT_EINVAL;
    block = sni_block_new_user(&sni_alloc_default, data, size, release, arg);
    if (block == NULL)
        return SENNIT_ENOMEM;
    sni_msg_init_view(m, data, size, block, false, 0);
    return SENNIT_OK;
}

void
sennit_msg_fini(sennit_msg *msg)
{
    if (msg != NULL)
        sni_msg_fini(sni_msg_of(msg));
}

void
sennit_msg_move(sennit_msg *to, sennit_msg *from)
{
    if (to == from || to == NULL || from == NULL)
        return;
    sennit_msg_fini(to);
    *to = *from;
    sennit_msg_init(from);
}

void
sennit_msg_copy(sennit_msg *to, const sennit_msg *from)
{
    sni_block *block;

    if (to == from || to == NULL || from == NULL)
        return;
    block = sni_msg_block(sni_msg_of_const(from));
    if (block != NULL)
        sni_block_ref(block);
    sennit_msg_fini(to);
    *to = *from;
}

sennit_err
sni_msg_own(sni_msg *msg, sni_bodies *bodies)
{
    sni_msg own;
    sennit_err err;

    if (msg->small_size != SNI_MSG_VIEW || msg->u.view.block != NULL)
        return SENNIT_OK;
    err = sni_msg_init_copy(&own, sni_bytes(msg->u.view.data, msg->u.view.size), bodies);
    if (err)
        return err;
    /* What it is part of, and what kind of frame it is, stays with it. */
    own.more = msg->more;
    own.peer = msg->peer;
    *msg = own;
    return SENNIT_OK;
}

void *
sennit_msg_data(sennit_msg *msg)
{
    sni_msg *m = sni_msg_of(msg);

    if (m == NULL)
        return NULL;
    sni_msg_flatten(m);
    return m->small_size == SNI_MSG_VIEW ? m->u.view.data : m->u.small;
}

size_t
sennit_msg_size(const sennit_msg *msg)
{
    return msg == NULL ? 0 : sni_msg_size_of(sni_msg_of_const(msg));
}

sennit_bytes
sennit_msg_bytes(const sennit_msg *msg)
{
    const sni_msg *m = sni_msg_of_const(msg);

    if (m == NULL)
        return sni_bytes(NULL, 0);
    sni_msg_flatten(m);
    if (m->small_size == SNI_MSG_VIEW)
        return sni_bytes(m->u.view.data, m->u.view.size);
    return sni_bytes(m->u.small, m->small_size);
}

bool
sennit_msg_more(const sennit_msg *msg)
{
    return msg != NULL && sni_msg_of_const(msg)->more;
}

void
sennit_msg_set_more(sennit_msg *msg, bool more)
{
    if (msg != NULL)
        sni_msg_of(msg)->more = more;
}

uint32_t
sennit_msg_peer(const sennit_msg *msg)
{
    return msg == NULL ? 0 : sni_msg_of_const(msg)->peer;
}
