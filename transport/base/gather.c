/* SPDX-License-Identifier: MIT */
#include "base/gather.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/limits.h"

static void
drop_parts(sni_gather *gather)
{
    for (size_t i = 0; i < gather->count; i++)
        sennit_msg_fini(sni_msg_public(&gather->parts[i]));
    gather->count = 0;
}

void
sni_gather_release(void *data, void *arg)
{
    (void)data;
    drop_parts(arg);
}

static void
copy_parts(uint8_t *to, const sni_msg *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        sennit_bytes part = sennit_msg_bytes((const sennit_msg *)(const void *)&parts[i]);

        if (part.size > 0)
            sni_body_copy(to, part.data, part.size);
        to += part.size;
    }
}

void
sni_gather_flatten(sni_block *block)
{
    sni_gather *gather = block->release_arg;

    SNI_ASSERT(!gather->is_flat);
    copy_parts(block->data, gather->parts, gather->count);
    gather->is_flat = true;
    drop_parts(gather);
}

/* Takes: the parts. */
static sennit_err
refer(sni_msg *msg, sni_msg *parts, size_t count, size_t size)
{
    size_t head = sizeof(sni_gather) + count * sizeof *parts;
    sni_gather *gather;
    sni_block *block;

    if (size > SIZE_MAX - head)
        return SENNIT_ENOMEM;
    block = sni_block_new(&sni_alloc_default, head + size);
    if (block == NULL)
        return SENNIT_ENOMEM;
    gather = (sni_gather *)(void *)block->data;
    gather->is_flat = false;
    gather->count = count;
    memcpy(gather->parts, parts, count * sizeof *parts);
    for (size_t i = 0; i < count; i++)
        sennit_msg_init(sni_msg_public(&parts[i]));
    block->data += head;
    block->capacity = size;
    block->release = sni_gather_release;
    block->release_arg = gather;
    sni_msg_init_view(msg, block->data, size, block, false, 0);
    return SENNIT_OK;
}

/* One piece of the parts, which are given back. */
static sennit_err
collect(sni_msg *msg, sni_msg *parts, size_t count, size_t size)
{
    sennit_err err = sni_msg_init_size(msg, size, NULL);

    if (err)
        return err;
    copy_parts(sennit_msg_data(sni_msg_public(msg)), parts, count);
    for (size_t i = 0; i < count; i++)
        sennit_msg_fini(sni_msg_public(&parts[i]));
    return SENNIT_OK;
}

sennit_err
sennit_msg_init_gather(sennit_msg *msg, sennit_msg *parts, size_t count)
{
    size_t size = 0;

    sennit_msg_init(msg);
    if (msg == NULL || (parts == NULL && count > 0))
        return SENNIT_EINVAL;
    for (size_t i = 0; i < count; i++) {
        size_t part = sennit_msg_size(&parts[i]);

        if (part > SIZE_MAX - size)
            return SENNIT_ENOMEM;
        size += part;
        sni_msg_flatten(sni_msg_of(&parts[i]));
    }
    return size < SNI_COPY_MAX_BYTES || count > SNI_GATHER_PARTS_MAX
               ? collect(sni_msg_of(msg), sni_msg_of(parts), count, size)
               : refer(sni_msg_of(msg), sni_msg_of(parts), count, size);
}
