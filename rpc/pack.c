/* SPDX-License-Identifier: MIT */
/* msgpack writers: one reservation per value, so that a value is written whole or
 * not at all. Forms are the shortest that hold the value, which makes equal values
 * equal bytes. */
#include "sennit/pack.h"

#include <string.h>

#include "base/bytes.h"

/* A head of one byte and a big-endian number of `width` bytes. */
static size_t
put_head(uint8_t *to, uint8_t head, uint64_t value, unsigned width)
{
    to[0] = head;
    for (unsigned i = 0; i < width; i++)
        to[1 + i] = (uint8_t)(value >> (8 * (width - 1 - i)));
    return 1 + width;
}

static void
pack_byte(sennit_buf *buf, uint8_t byte)
{
    uint8_t *to = sennit_buf_reserve(buf, 1);

    if (to == NULL)
        return;
    to[0] = byte;
    buf->size += 1;
}

static void
pack_head(sennit_buf *buf, uint8_t head, uint64_t value, unsigned width)
{
    uint8_t *to = sennit_buf_reserve(buf, 1 + width);

    if (to != NULL)
        buf->size += put_head(to, head, value, width);
}

void
sennit_pack_nil(sennit_buf *buf)
{
    pack_byte(buf, 0xc0);
}

void
sennit_pack_bool(sennit_buf *buf, bool value)
{
    pack_byte(buf, value ? 0xc3 : 0xc2);
}

void
sennit_pack_uint(sennit_buf *buf, uint64_t value)
{
    if (value <= 0x7f)
        pack_byte(buf, (uint8_t)value);
    else if (value <= UINT8_MAX)
        pack_head(buf, 0xcc, value, 1);
    else if (value <= UINT16_MAX)
        pack_head(buf, 0xcd, value, 2);
    else if (value <= UINT32_MAX)
        pack_head(buf, 0xce, value, 4);
    else
        pack_head(buf, 0xcf, value, 8);
}

void
sennit_pack_int(sennit_buf *buf, int64_t value)
{
    if (value >= 0)
        sennit_pack_uint(buf, (uint64_t)value);
    else if (value >= -32)
        pack_byte(buf, (uint8_t)value);
    else if (value >= INT8_MIN)
        pack_head(buf, 0xd0, (uint64_t)value, 1);
    else if (value >= INT16_MIN)
        pack_head(buf, 0xd1, (uint64_t)value, 2);
    else if (value >= INT32_MIN)
        pack_head(buf, 0xd2, (uint64_t)value, 4);
    else
        pack_head(buf, 0xd3, (uint64_t)value, 8);
}

void
sennit_pack_f32(sennit_buf *buf, float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    pack_head(buf, 0xca, bits, 4);
}

void
sennit_pack_f64(sennit_buf *buf, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    pack_head(buf, 0xcb, bits, 8);
}

/* `size` bytes behind a head that was put into `head`. */
static void
pack_body(sennit_buf *buf, const uint8_t *head, size_t head_size, const void *data,
          size_t size)
{
    uint8_t *to;

    if (size > UINT32_MAX) {
        if (!buf->err)
            buf->err = SENNIT_EMSGSIZE; /* msgpack's own limit */
        return;
    }
    to = sennit_buf_reserve(buf, head_size + size);
    if (to == NULL)
        return;
    memcpy(to, head, head_size);
    if (size > 0)
        memcpy(to + head_size, data, size);
    buf->size += head_size + size;
}

void
sennit_pack_str(sennit_buf *buf, sennit_str value)
{
    uint8_t head[9];
    size_t used;

    if (value.size <= 31)
        used = put_head(head, (uint8_t)(0xa0 | value.size), 0, 0);
    else if (value.size <= UINT8_MAX)
        used = put_head(head, 0xd9, value.size, 1);
    else if (value.size <= UINT16_MAX)
        used = put_head(head, 0xda, value.size, 2);
    else
        used = put_head(head, 0xdb, value.size, 4);
    pack_body(buf, head, used, value.data, value.size);
}

void
sennit_pack_bin(sennit_buf *buf, sennit_bytes value)
{
    uint8_t head[9];
    size_t used;

    if (value.size <= UINT8_MAX)
        used = put_head(head, 0xc4, value.size, 1);
    else if (value.size <= UINT16_MAX)
        used = put_head(head, 0xc5, value.size, 2);
    else
        used = put_head(head, 0xc6, value.size, 4);
    pack_body(buf, head, used, value.data, value.size);
}

void
sennit_pack_ext(sennit_buf *buf, int8_t type, sennit_bytes value)
{
    uint8_t head[10];
    size_t used;

    switch (value.size) {
    case 1:
    case 2:
    case 4:
    case 8:
    case 16:
        used = 1;
        head[0] = 0xd4;
        for (size_t size = value.size; size > 1; size /= 2)
            head[0]++;
        break;
    default:
        if (value.size <= UINT8_MAX)
            used = put_head(head, 0xc7, value.size, 1);
        else if (value.size <= UINT16_MAX)
            used = put_head(head, 0xc8, value.size, 2);
        else
            used = put_head(head, 0xc9, value.size, 4);
        break;
    }
    head[used++] = (uint8_t)type;
    pack_body(buf, head, used, value.data, value.size);
}

/* Array and map heads differ in their first bytes only. */
static void
pack_count(sennit_buf *buf, size_t count, uint8_t fix, uint8_t wide)
{
    if (count <= 15)
        pack_byte(buf, (uint8_t)(fix | count));
    else if (count <= UINT16_MAX)
        pack_head(buf, wide, count, 2);
    else if (count <= UINT32_MAX)
        pack_head(buf, (uint8_t)(wide + 1), count, 4);
    else if (!buf->err)
        buf->err = SENNIT_EMSGSIZE;
}

void
sennit_pack_array(sennit_buf *buf, size_t count)
{
    pack_count(buf, count, 0x90, 0xdc);
}

void
sennit_pack_map(sennit_buf *buf, size_t count)
{
    pack_count(buf, count, 0x80, 0xde);
}

void
sennit_pack_raw(sennit_buf *buf, sennit_bytes packed)
{
    sennit_buf_append(buf, packed.data, packed.size);
}

size_t
sennit_pack_uint_size(uint64_t value)
{
    if (value <= 0x7f)
        return 1;
    if (value <= UINT8_MAX)
        return 2;
    if (value <= UINT16_MAX)
        return 3;
    return value <= UINT32_MAX ? 5 : 9;
}

size_t
sennit_pack_int_size(int64_t value)
{
    if (value >= 0)
        return sennit_pack_uint_size((uint64_t)value);
    if (value >= -32)
        return 1;
    if (value >= INT8_MIN)
        return 2;
    if (value >= INT16_MIN)
        return 3;
    return value >= INT32_MIN ? 5 : 9;
}

size_t
sennit_pack_str_size(size_t size)
{
    if (size <= 31)
        return 1 + size;
    return sennit_pack_bin_size(size);
}

size_t
sennit_pack_bin_size(size_t size)
{
    if (size <= UINT8_MAX)
        return 2 + size;
    return (size <= UINT16_MAX ? 3 : 5) + size;
}

size_t
sennit_pack_array_size(size_t count)
{
    if (count <= 15)
        return 1;
    return count <= UINT16_MAX ? 3 : 5;
}

size_t
sennit_pack_map_size(size_t count)
{
    return sennit_pack_array_size(count);
}
