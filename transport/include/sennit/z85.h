/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_Z85_H
#define SENNIT_Z85_H

/* Keys and other octets as text that may stand in a source or a shell without quotes
 * (RFC 32): four octets are five characters. */

#include "sennit/sennit.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Characters of `size` octets, without the NUL, and octets of `size` characters. */
#define SENNIT_Z85_TEXT_SIZE(size)  ((size) / 4 * 5)
#define SENNIT_Z85_BYTES_SIZE(size) ((size) / 5 * 4)

/* Writes `in` as text and a NUL to `out`. Nothing is the empty text.
 * Errors: EINVAL (`in` is not a multiple of 4 octets), EMSGSIZE (`out_size` is less than
 *         SENNIT_Z85_TEXT_SIZE(in.size) + 1); `out` is untouched then.
 * Thread: any. */
SENNIT_API sennit_err sennit_z85_encode(sennit_bytes in, char *out,
                                        size_t out_size) SENNIT_MUST_CHECK;

/* Reads `size` characters at `text`; tells the number of octets in `*out_used`.
 * Errors: EINVAL (no text, not a multiple of 5 characters, a character that is not of
 *         RFC 32, five characters that are more than four octets hold), EMSGSIZE
 *         (`out_size` is less than SENNIT_Z85_BYTES_SIZE(size)); `out` and `*out_used`
 * are untouched then. Thread: any. */
SENNIT_API sennit_err sennit_z85_decode(const char *text, size_t size, uint8_t *out,
                                        size_t out_size,
                                        size_t *out_used) SENNIT_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif /* SENNIT_Z85_H */
