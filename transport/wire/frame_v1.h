/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_WIRE_FRAME_V1_H
#define SENNIT_WIRE_FRAME_V1_H

#include "wire/frame.h"

/* ZMTP 1.0 frames (RFC 13): length(1) flags(1) body, or FF length(8) flags(1) body.
 * The length counts the flags octet, of which only bit 0 (MORE) means something. */
#define SNI_FRAME_V1_HEAD_MAX 10u

/* Reads one head from the front of `in`, as sni_frame_head_read() does; `*used` is 2 or
 * 10. BAD is a length of 0, or of 2^63 and above. */
sni_parse sni_frame_v1_head_read(sennit_bytes in, sni_frame_head *head, size_t *used);

/* Writes a head at `out` (room for SNI_FRAME_V1_HEAD_MAX); returns its size: short form
 * up to 253 octets of body. */
size_t sni_frame_v1_head_write(uint8_t *out, bool more, uint64_t body_size);

#endif /* SENNIT_WIRE_FRAME_V1_H */
