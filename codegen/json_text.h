/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CODEGEN_JSON_TEXT_H
#define SENNIT_CODEGEN_JSON_TEXT_H

/* What JSON has no form for, as text: bytes, times, durations, 64-bit numbers. */

#include <sennit/pack.h>

/* Appends. */
void sni_base64_encode(sennit_bytes bytes, sennit_buf *out);

/* False for anything but base64 with its padding. */
bool sni_base64_decode(const char *text, size_t size, sennit_buf *out);

/* RFC 3339, in UTC, with as many decimals as there are. 48 bytes are enough. */
void sni_time_text(int64_t ns, char *out, size_t size);

/* Any zone. False for what is no time, or not between 1677 and 2262. */
bool sni_time_parse(const char *text, int64_t *ns);

/* A whole number of the largest unit that fits, "250ms". 48 bytes are enough. */
void sni_duration_text(int64_t ns, char *out, size_t size);
bool sni_duration_parse(const char *text, int64_t *ns);

/* Reads decimal digits with a sign into 64 bits. Gives where they end, or NULL. */
const char *sni_number_parse(const char *text, bool *negative, uint64_t *magnitude);

#endif /* SENNIT_CODEGEN_JSON_TEXT_H */
