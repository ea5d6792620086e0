/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_WIRE_FRAME_H
#define SENNIT_WIRE_FRAME_H

#include "base/bytes.h"

/* Outcome of reading from the front of a stream. MORE is not a failure: it asks
 * the caller to come back with a longer prefix. */
typedef enum sni_parse { SNI_PARSE_DONE, SNI_PARSE_MORE, SNI_PARSE_BAD } sni_parse;

#define SNI_FRAME_MORE    0x01u
#define SNI_FRAME_LONG    0x02u
#define SNI_FRAME_COMMAND 0x04u

#define SNI_FRAME_HEAD_MAX   9u
#define SNI_FRAME_HEAD_SHORT 2u
#define SNI_FRAME_SHORT_MAX  255u             /* bodies above have the long head */
#define SNI_FRAME_BODY_MAX   (UINT64_MAX / 2) /* 2^63-1, RFC 37 */

typedef struct sni_frame_head {
    bool more;          /* another frame of this message follows */
    bool command;       /* a ZMTP command, invisible to the application */
    uint64_t body_size; /* bytes after the head, 0 .. 2^63-1 */
} sni_frame_head;

/* Reads one ZMTP 3.x frame head (RFC 37, "Framing") from the front of `in`.
 *
 * Gives:  on DONE, `*head` and the bytes it occupied in `*used` (2 or 9); on MORE
 *         and BAD both are left untouched. BAD is a reserved flag bit, a command
 *         with MORE, or a size of 2^63 and above.
 * Memory: allocates nothing, keeps no pointer into `in`. */
static inline sni_parse
sni_frame_head_read(sennit_bytes in, sni_frame_head *head, size_t *used)
{
    uint8_t flags;
    uint64_t size;

    if (in.size < 1)
        return SNI_PARSE_MORE;
    flags = in.data[0];
    if (flags > (SNI_FRAME_COMMAND | SNI_FRAME_LONG) ||
        (flags & (SNI_FRAME_COMMAND | SNI_FRAME_MORE)) ==
            (SNI_FRAME_COMMAND | SNI_FRAME_MORE))
        return SNI_PARSE_BAD;
    if (flags & SNI_FRAME_LONG) {
        if (in.size < SNI_FRAME_HEAD_MAX)
            return SNI_PARSE_MORE;
        size = sni_get_u64(in.data + 1);
        if (size > SNI_FRAME_BODY_MAX)
            return SNI_PARSE_BAD;
        *used = SNI_FRAME_HEAD_MAX;
    } else {
        if (in.size < 2)
            return SNI_PARSE_MORE;
        size = in.data[1];
        *used = 2;
    }
    head->more = flags & SNI_FRAME_MORE;
    head->command = flags & SNI_FRAME_COMMAND;
    head->body_size = size;
    return SNI_PARSE_DONE;
}

/* Writes a head at `out` (room for SNI_FRAME_HEAD_MAX); returns its size: short
 * form up to 255 bytes of body, long form above, as RFC 37 asks. */
static inline size_t
sni_frame_head_write(uint8_t *out, bool more, bool command, uint64_t body_size)
{
    uint8_t flags =
        (uint8_t)((more ? SNI_FRAME_MORE : 0) | (command ? SNI_FRAME_COMMAND : 0));

    if (body_size <= SNI_FRAME_SHORT_MAX) {
        out[0] = flags;
        out[1] = (uint8_t)body_size;
        return SNI_FRAME_HEAD_SHORT;
    }
    out[0] = flags | SNI_FRAME_LONG;
    sni_put_u64(out + 1, body_size);
    return SNI_FRAME_HEAD_MAX;
}

#endif /* SENNIT_WIRE_FRAME_H */
