/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_WIRE_GREETING_H
#define SENNIT_WIRE_GREETING_H

#include "wire/frame.h"

/* The greeting of every ZMTP version (RFC 37, 15 and 13), in the steps in which it must
 * travel: a peer of an older version answers the first ten octets, so nobody may send
 * or await all 64 at once.
 *
 *   3.x   FF padding 7F (10)  03  minor mechanism as-server filler (64)
 *   2.0   FF padding 7F (10)  01  socket type (12), then an identity frame
 *   1.0   the same with 00, and 1.0 framing behind it ("versioned")
 *   1.0   an identity frame: FF, its size and flags whose bit 0 is clear, or a short
 *         one ("unversioned"); our ten octets are the head of ours to such a peer */
#define SNI_GREETING_SIGNATURE   10u /* FF, padding, 7F */
#define SNI_GREETING_MAJOR       11u /* + major version */
#define SNI_GREETING_LEGACY_SIZE 12u /* + socket type, to a peer of 2.0 or less */
#define SNI_GREETING_SIZE        64u
#define SNI_MECHANISM_SIZE       20u

typedef struct sni_greeting {
    uint8_t major;       /* 3, 2, or 1; newer ones are spoken to as 3.1 */
    uint8_t minor;       /* 0, or 1 for 3.1 */
    uint8_t type;        /* 2.0, versioned 1.0: the peer's socket type octet */
    uint8_t size;        /* octets it takes: 64, 12, or 0 for an unversioned peer */
    const char *problem; /* on BAD: static text for the log */
} sni_greeting;

/* Writes all 64 octets: version 3.1, `mechanism` (at most 20 characters) padded
 * with NUL, as-server 0 (as libzmq; the role comes from configuration). */
void sni_greeting_write(uint8_t out[SNI_GREETING_SIZE], const char *mechanism);

/* The same with the size of our identity in the padding, where an unversioned peer
 * reads it. */
void sni_greeting_write_identity(uint8_t out[SNI_GREETING_SIZE], const char *mechanism,
                                 size_t identity_size);

/* Looks at as much of the peer's greeting as has arrived.
 *
 * Gives:  on DONE `*greeting`; on BAD its problem; on MORE nothing. In every case
 *         `*reply_size` is how much of our own greeting may be sent by now: 10, 11,
 *         64 octets, or 12 of which the last is our socket type.
 * BAD:    an unversioned peer unless `unversioned` allows it, another mechanism, and
 *         versions before 3 with a mechanism other than NULL: they have none. */
sni_parse sni_greeting_read(sennit_bytes in, const char *mechanism, bool unversioned,
                            sni_greeting *greeting, size_t *reply_size);

#endif /* SENNIT_WIRE_GREETING_H */
