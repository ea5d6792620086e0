/* SPDX-License-Identifier: MIT */
#include "base/msg.h"

#include "base/alloc.h"

void
sennit_msg_init(sennit_msg *msg)
{
    sni_msg *m = sni_msg_of(msg);

    if (m == NULL)
        return;
    m->small_size = 0;
    m->more = false;
    m->peer = 0;
}

sennit_err
sennit_msg_init_size(sennit_msg *msg, size_t size)
{
    sni_msg *m = sni_msg_of(msg);
    sni_block *block;

    if (m == NULL)
        return SENNIT_EINVAL;
    sennit_msg_init(msg);
    if (size <= SENNIT_MSG_INLINE_MAX) {
        m->small_size = (uint8_t)size;
        return SENNIT_OK;
    }
    block = sni_block_new(&sni_alloc_default, size);
    if (block == NULL)
        return SENNIT_ENOMEM;
    m->small_size = SNI_MSG_VIEW;
    m->u.view.data = block->data;
    m->u.view.size = size;
    m->u.view.block = block;
    return SENNIT_OK;
}

sennit_err
sennit_msg_init_copy(sennit_msg *msg, const void *data, size_t size)
{
    sennit_err err;

    if (data == NULL && size > 0) {
        sennit_msg_init(msg);
        return SENNIT_EINVAL;
    }
    err = sennit_msg_init_size(msg, size);
    if (err == SENNIT_OK && size > 0)
        memcpy(sennit_msg_data(msg), data, size);
    return err;
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
    m->small_size = SNI_MSG_VIEW;
    m->u.view.data = data;
    m->u.view.size = size;
    m->u.view.block = block;
    return SENNIT_OK;
}

void
sennit_msg_fini(sennit_msg *msg)
{
    if (msg == NULL)
        return;
    sni_block_unref(sni_msg_block(sni_msg_of(msg)));
    sennit_msg_init(msg);
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
sni_msg_own(sni_msg *msg)
{
    sennit_msg own;
    sni_msg *copy = sni_msg_of(&own);
    sennit_err err;

    if (msg->small_size != SNI_MSG_VIEW || msg->u.view.block != NULL)
        return SENNIT_OK;
    err = sennit_msg_init_copy(&own, msg->u.view.data, msg->u.view.size);
    if (err)
        return err;
    /* What it is part of, and what kind of frame it is, stays with it. */
    copy->more = msg->more;
    copy->peer = msg->peer;
    *msg = *copy;
    return SENNIT_OK;
}

void *
sennit_msg_data(sennit_msg *msg)
{
    sni_msg *m = sni_msg_of(msg);

    if (m == NULL)
        return NULL;
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
    if (m->small_size == SNI_MSG_VIEW)
        return sni_bytes(m->u.view.data, m->u.view.size);
    return sni_bytes(m->u.small, m->small_size);
}

bool
sennit_msg_more(const sennit_msg *msg)
{
    return msg != NULL && sni_msg_of_const(msg)->more;
}

uint32_t
sennit_msg_peer(const sennit_msg *msg)
{
    return msg == NULL ? 0 : sni_msg_of_const(msg)->peer;
}
