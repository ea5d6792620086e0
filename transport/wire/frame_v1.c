/* SPDX-License-Identifier: MIT */
#include "wire/frame_v1.h"

#define LONG_FORM      0xffu
#define SHORT_BODY_MAX 253u
#define LONG_FLAGS_AT  9u

sni_parse
sni_frame_v1_head_read(sennit_bytes in, sni_frame_head *head, size_t *used)
{
    size_t flags_at = 1;
    uint64_t length;

    if (in.size < 1)
        return SNI_PARSE_MORE;
    length = in.data[0];
    if (length == LONG_FORM) {
        if (in.size < LONG_FLAGS_AT)
            return SNI_PARSE_MORE;
        length = sni_get_u64(in.data + 1);
        flags_at = LONG_FLAGS_AT;
    }
    if (length == 0 || length > SNI_FRAME_BODY_MAX)
        return SNI_PARSE_BAD;
    if (in.size <= flags_at)
        return SNI_PARSE_MORE;
    head->more = in.data[flags_at] & SNI_FRAME_MORE;
    head->command = false;
    head->body_size = length - 1;
    *used = flags_at + 1;
    return SNI_PARSE_DONE;
}

size_t
sni_frame_v1_head_write(uint8_t *out, bool more, uint64_t body_size)
{
    uint8_t flags = more ? SNI_FRAME_MORE : 0;

    if (body_size <= SHORT_BODY_MAX) {
        out[0] = (uint8_t)(body_size + 1);
        out[1] = flags;
        return 2;
    }
    out[0] = LONG_FORM;
    sni_put_u64(out + 1, body_size + 1);
    out[LONG_FLAGS_AT] = flags;
    return SNI_FRAME_V1_HEAD_MAX;
}
