/* SPDX-License-Identifier: MIT */
#include "wire/greeting.h"

#include "base/assert.h"

#define MAJOR_AT     10u
#define MINOR_AT     11u /* or the socket type of a version before 3 */
#define MECHANISM_AT 12u

void
sni_greeting_write_identity(uint8_t out[SNI_GREETING_SIZE], const char *mechanism,
                            size_t identity_size)
{
    size_t size = strlen(mechanism);

    SNI_ASSERT(size <= SNI_MECHANISM_SIZE);
    memset(out, 0, SNI_GREETING_SIZE);
    out[0] = 0xff;
    /* A length of ZMTP 1.0, which counts the flags octet, as octet 9 is one then. */
    sni_put_u64(out + 1, identity_size + 1);
    out[9] = 0x7f;
    out[MAJOR_AT] = 3;
    out[MINOR_AT] = 1;
    memcpy(out + MECHANISM_AT, mechanism, size);
}

void
sni_greeting_write(uint8_t out[SNI_GREETING_SIZE], const char *mechanism)
{
    sni_greeting_write_identity(out, mechanism, 0);
}

static sni_parse
bad(sni_greeting *greeting, const char *problem)
{
    greeting->problem = problem;
    return SNI_PARSE_BAD;
}

/* Versions before 3: `size` octets of greeting, and no mechanism. */
static sni_parse
legacy(sennit_bytes in, const char *mechanism, uint8_t major, uint8_t size,
       sni_greeting *greeting)
{
    if (strcmp(mechanism, "NULL") != 0)
        return bad(greeting, "peer's ZMTP version has no security mechanisms");
    if (in.size < size)
        return SNI_PARSE_MORE;
    *greeting = (sni_greeting){ major, 0, size > 0 ? in.data[MINOR_AT] : 0, size, NULL };
    return SNI_PARSE_DONE;
}

sni_parse
sni_greeting_read(sennit_bytes in, const char *mechanism, bool unversioned,
                  sni_greeting *greeting, size_t *reply_size)
{
    uint8_t expected[SNI_GREETING_SIZE];
    bool begins_otherwise = in.size >= 1 && in.data[0] != 0xff;
    bool is30;

    *reply_size = SNI_GREETING_SIGNATURE;
    if (!begins_otherwise && in.size < SNI_GREETING_SIGNATURE)
        return SNI_PARSE_MORE;
    if (begins_otherwise || (in.data[9] & 1) == 0) {
        if (!unversioned)
            return bad(greeting, begins_otherwise
                                     ? "no ZMTP greeting (a ZMTP 1.0 peer, or no ZMTP at "
                                       "all)"
                                     : "ZMTP 1.0 peer without a version, which "
                                       "zmtp_unversioned would allow");
        return legacy(in, mechanism, 1, 0, greeting);
    }
    *reply_size = SNI_GREETING_MAJOR;
    if (in.size < SNI_GREETING_MAJOR)
        return SNI_PARSE_MORE;
    if (in.data[MAJOR_AT] < 2) {
        *reply_size = SNI_GREETING_LEGACY_SIZE;
        return legacy(in, mechanism, in.data[MAJOR_AT] + 1, SNI_GREETING_LEGACY_SIZE,
                      greeting);
    }
    *reply_size = SNI_GREETING_SIZE;
    if (in.size < SNI_GREETING_SIZE)
        return SNI_PARSE_MORE;
    sni_greeting_write(expected, mechanism);
    if (memcmp(in.data + MECHANISM_AT, expected + MECHANISM_AT, SNI_MECHANISM_SIZE) != 0)
        return bad(greeting, "security mechanisms differ");
    /* Only 3.0 is spoken to as 3.0; all else, newer ones included, as 3.1. */
    is30 = in.data[MAJOR_AT] == 3 && in.data[MINOR_AT] == 0;
    *greeting = (sni_greeting){ 3, is30 ? 0 : 1, 0, SNI_GREETING_SIZE, NULL };
    return SNI_PARSE_DONE;
}
