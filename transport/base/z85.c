/* SPDX-License-Identifier: MIT */
/* Base 85, most significant digit first, a group of four octets as one number. All of a
 * text is checked before any of it is written. */
#include "sennit/z85.h"

#include <string.h>

#include "base/bytes.h"

#define BASE 85u

static const char digits[BASE + 1] = "0123456789"
                                     "abcdefghijklmnopqrstuvwxyz"
                                     "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                     ".-:+=^!/*?&<>()[]{}@%$#";

sennit_err
sennit_z85_encode(sennit_bytes in, char *out, size_t out_size)
{
    if (in.size % 4 != 0 || out == NULL || (in.data == NULL && in.size > 0))
        return SENNIT_EINVAL;
    if (out_size <= SENNIT_Z85_TEXT_SIZE(in.size))
        return SENNIT_EMSGSIZE;
    for (size_t i = 0; i < in.size; i += 4, out += 5) {
        uint32_t value = sni_get_u32(in.data + i);

        for (size_t k = 5; k-- > 0; value /= BASE)
            out[k] = digits[value % BASE];
    }
    *out = '\0';
    return SENNIT_OK;
}

/* False: not five characters of RFC 32, or more than 32 bits. */
static bool
read_group(const char *text, uint32_t *out)
{
    uint64_t value = 0;

    for (size_t i = 0; i < 5; i++) {
        const char *digit = memchr(digits, text[i], BASE);

        if (digit == NULL)
            return false;
        value = value * BASE + (uint64_t)(digit - digits);
    }
    if (value > UINT32_MAX)
        return false;
    *out = (uint32_t)value;
    return true;
}

sennit_err
sennit_z85_decode(const char *text, size_t size, uint8_t *out, size_t out_size,
                  size_t *out_used)
{
    uint32_t value;

    if (size == 0 || size % 5 != 0 || text == NULL || out == NULL || out_used == NULL)
        return SENNIT_EINVAL;
    for (size_t i = 0; i < size; i += 5)
        if (!read_group(text + i, &value))
            return SENNIT_EINVAL;
    if (out_size < SENNIT_Z85_BYTES_SIZE(size))
        return SENNIT_EMSGSIZE;
    for (size_t i = 0; i < size; i += 5, out += 4) {
        (void)read_group(text + i, &value);
        sni_put_u32(out, value);
    }
    *out_used = SENNIT_Z85_BYTES_SIZE(size);
    return SENNIT_OK;
}
