/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_BASE_BYTES_H
#define SENNIT_BASE_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "sennit/sennit.h"

/* Views, and numbers in network byte order. Nothing here allocates. */

static inline sennit_bytes
sni_bytes(const void *data, size_t size)
{
    return (sennit_bytes){ (const uint8_t *)data, size };
}

/* A view of a string literal, without its NUL. */
#define SNI_BYTES_OF(literal) sni_bytes("" literal, sizeof(literal) - 1)

static inline bool
sni_bytes_equal(sennit_bytes a, sennit_bytes b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* memcpy of what a message carries. Every copy of a body is made by this one: in a build
 * with asserts it is a function, in whose place a test can count. Most bodies are small,
 * and a call costs more than they do: two moves that overlap. What is empty may be NULL.
 */
#ifdef NDEBUG
static inline void
sni_body_copy(void *to, const void *from, size_t size)
{
    uint8_t *out = (uint8_t *)to;
    const uint8_t *in = (const uint8_t *)from;

    if (size > 32 && size <= 64) {
        memcpy(out, in, 32);
        memcpy(out + size - 32, in + size - 32, 32);
    } else if (size >= 16 && size <= 32) {
        memcpy(out, in, 16);
        memcpy(out + size - 16, in + size - 16, 16);
    } else if (size >= 8 && size < 16) {
        memcpy(out, in, 8);
        memcpy(out + size - 8, in + size - 8, 8);
    } else if (size > 0) {
        memcpy(to, from, size);
    }
}
#else
void sni_body_copy(void *to, const void *from, size_t size);
#endif

/* memcpy that allows NULL for nothing. */
static inline void
sni_bytes_put(uint8_t *to, sennit_bytes from)
{
    if (from.size > 0)
        memcpy(to, from.data, from.size);
}

static inline uint16_t
sni_get_u16(const uint8_t *p)
{
    return (uint16_t)((unsigned)p[0] << 8 | p[1]);
}

static inline uint32_t
sni_get_u32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline uint64_t
sni_get_u64(const uint8_t *p)
{
    return (uint64_t)sni_get_u32(p) << 32 | sni_get_u32(p + 4);
}

static inline void
sni_put_u32(uint8_t *p, uint32_t value)
{
    p[0] = (uint8_t)(value >> 24);
    p[1] = (uint8_t)(value >> 16);
    p[2] = (uint8_t)(value >> 8);
    p[3] = (uint8_t)value;
}

static inline void
sni_put_u64(uint8_t *p, uint64_t value)
{
    sni_put_u32(p, (uint32_t)(value >> 32));
    sni_put_u32(p + 4, (uint32_t)value);
}

#endif /* SENNIT_BASE_BYTES_H */
