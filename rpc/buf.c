/* SPDX-License-Identifier: MIT */
/* An output with a sticky error: see the law at sennit_buf. */
#include "sennit/pack.h"

#include <string.h>

#include "base/alloc.h"
#include "rpc/limits.h"

void
sennit_buf_init(sennit_buf *buf, const sennit_allocator *allocator)
{
    memset(buf, 0, sizeof *buf);
    buf->allocator_ = allocator ? allocator : &sni_alloc_default;
}

void
sennit_buf_init_fixed(sennit_buf *buf, void *memory, size_t capacity)
{
    memset(buf, 0, sizeof *buf);
    buf->data = memory;
    buf->capacity = capacity;
    buf->fixed_ = true;
}

void
sennit_buf_fini(sennit_buf *buf)
{
    if (!buf->fixed_ && buf->allocator_ != NULL)
        sni_release(buf->allocator_, buf->data);
    buf->data = NULL;
    buf->size = 0;
    buf->capacity = 0;
    buf->err = SENNIT_OK;
}

void
sennit_buf_clear(sennit_buf *buf)
{
    buf->size = 0;
    buf->err = SENNIT_OK;
}

/* Makes the capacity at least size + more; false sets the sticky error. */
static bool
grow(sennit_buf *buf, size_t more)
{
    size_t wanted = buf->capacity < SNI_BUF_BYTES ? SNI_BUF_BYTES : buf->capacity;
    uint8_t *grown;

    if (buf->fixed_) {
        buf->err = SENNIT_EMSGSIZE;
        return false;
    }
    if (more > SIZE_MAX / 2 - buf->size) {
        buf->err = SENNIT_ENOMEM;
        return false;
    }
    while (wanted < buf->size + more)
        wanted *= 2;
    grown = buf->allocator_->resize(buf->allocator_->arg, buf->data, wanted);
    if (grown == NULL) {
        buf->err = SENNIT_ENOMEM;
        return false;
    }
    buf->data = grown;
    buf->capacity = wanted;
    return true;
}

uint8_t *
sennit_buf_reserve(sennit_buf *buf, size_t size)
{
    if (buf->err)
        return NULL;
    if (buf->data == NULL && size == 0)
        size = 1; /* so that NULL always means failure */
    if (size > buf->capacity - buf->size && !grow(buf, size))
        return NULL;
    return buf->data + buf->size;
}

void
sennit_buf_append(sennit_buf *buf, const void *data, size_t size)
{
    uint8_t *room = size > 0 ? sennit_buf_reserve(buf, size) : NULL;

    if (room == NULL)
        return;
    memcpy(room, data, size);
    buf->size += size;
}

sennit_bytes
sennit_buf_bytes(const sennit_buf *buf)
{
    return (sennit_bytes){ buf->data, buf->size };
}
