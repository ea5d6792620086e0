/* SPDX-License-Identifier: MIT */
#include "wire/greeting.h"

#include "base/assert.h"

#define MAJOR_AT     10u
#define MINOR_AT     11u
#define MECHANISM_AT 12u

void
sni_greeting_write(uint8_t out[SNI_GREETING_SIZE], const char *mechanism)
{
    size_t size = strlen(mechanism);

    SNI_ASSERT(size <= SNI_MECHANISM_SIZE);
    memset(out, 0, SNI_GREETING_SIZE);
    out[0] = 0xff;
    /* Octets 1-8 read as a length by a ZMTP 1.0 peer: 1, an empty identity. */
    out[8] = 1;
    out[9] = 0x7f;
    out[MAJOR_AT] = 3;
    out[MINOR_AT] = 1;
    memcpy(out + MECHANISM_AT, mechanism, size);
}

static sni_parse
bad(sni_greeting *greeting, const char *problem)
{
    greeting->problem = problem;
    return SNI_PARSE_BAD;
}

sni_parse
sni_greeting_read(sennit_bytes in, const char *mechanism, sni_greeting *greeting,
                  size_t *reply_size)
{
    uint8_t expected[SNI_GREETING_SIZE];

    *reply_size = SNI_GREETING_SIGNATURE;
    if (in.size >= 1 && in.data[0] != 0xff)
        return bad(greeting,
                   "not a ZMTP 3 greeting (a ZMTP 1.0 peer, or no ZMTP at all)");
    if (in.size < SNI_GREETING_SIGNATURE)
        return SNI_PARSE_MORE;
    if ((in.data[9] & 1) == 0)
        return bad(greeting, "ZMTP 1.0 peer: not built yet");
    *reply_size = SNI_GREETING_MAJOR;
    if (in.size < SNI_GREETING_MAJOR)
        return SNI_PARSE_MORE;
    if (in.data[MAJOR_AT] < 2)
        return bad(greeting, "ZMTP 2.0 peer: not built yet");
    *reply_size = SNI_GREETING_SIZE;
    if (in.size < SNI_GREETING_SIZE)
        return SNI_PARSE_MORE;
    sni_greeting_write(expected, mechanism);
    if (memcmp(in.data + MECHANISM_AT, expected + MECHANISM_AT, SNI_MECHANISM_SIZE) != 0)
        return bad(greeting, "security mechanisms differ");
    /* Only 3.0 is spoken to as 3.0; all else, newer ones included, as 3.1. */
    greeting->minor = in.data[MAJOR_AT] == 3 && in.data[MINOR_AT] == 0 ? 0 : 1;
    return SNI_PARSE_DONE;
}
