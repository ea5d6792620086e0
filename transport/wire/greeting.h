/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_WIRE_GREETING_H
#define SENNIT_WIRE_GREETING_H

#include "wire/frame.h"

/* The ZMTP 3.x greeting (RFC 37, "Greeting"), in the three steps in which it must
 * travel: a peer of an older version answers the first ten octets, so nobody may
 * send or await all 64 at once. */
#define SNI_GREETING_SIGNATURE 10u /* FF, padding, 7F */
#define SNI_GREETING_MAJOR     11u /* + major version */
#define SNI_GREETING_SIZE      64u
#define SNI_MECHANISM_SIZE     20u

typedef struct sni_greeting {
    uint8_t minor;       /* 0: ZMTP 3.0; anything else is spoken to as 3.1 */
    const char *problem; /* on BAD: static text for the log */
} sni_greeting;

/* Writes all 64 octets: version 3.1, `mechanism` (at most 20 characters) padded
 * with NUL, as-server 0 (as libzmq; the role comes from configuration). */
void sni_greeting_write(uint8_t out[SNI_GREETING_SIZE], const char *mechanism);

/* Looks at as much of the peer's greeting as has arrived.
 *
 * Gives:  on DONE (64 octets, all in order) `greeting->minor`; on BAD the problem;
 *         on MORE nothing. In every case `*reply_size` is how much of our own
 *         greeting may be sent by now: 10, 11 or 64 octets.
 * BAD:    not FF first or bit 0 of octet 9 clear (ZMTP 1.0), major 0 or 1 (ZMTP
 *         2.0), another mechanism. */
sni_parse sni_greeting_read(sennit_bytes in, const char *mechanism,
                            sni_greeting *greeting, size_t *reply_size);

#endif /* SENNIT_WIRE_GREETING_H */
