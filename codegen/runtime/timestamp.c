/* SPDX-License-Identifier: MIT */
/* Times on the wire: msgpack's timestamp extension. */
#include "fields.h"

#define TIME_EXT (-1)
#define NS_PER_S 1000000000

/* Seconds (rounded down, also before 1970) and nanoseconds of a time. */
static int64_t
split_time(int64_t ns, uint32_t *rest)
{
    int64_t seconds = ns / NS_PER_S;
    int64_t left = ns % NS_PER_S;
    if (left < 0) {
        left += NS_PER_S;
        seconds--;
    }
    *rest = (uint32_t)left;
    return seconds;
}

/* The inverse; false when the time does not fit. */
static bool
join_time(int64_t seconds, int64_t rest, int64_t *out)
{
    if (seconds >= 0) {
        if (seconds > INT64_MAX / NS_PER_S ||
            (seconds == INT64_MAX / NS_PER_S && rest > INT64_MAX % NS_PER_S))
            return false;
        *out = seconds * NS_PER_S + rest;
        return true;
    }
    /* From the end of the second, which is where its whole nanoseconds fit. */
    int64_t missing = NS_PER_S - rest;
    if (seconds + 1 < INT64_MIN / NS_PER_S ||
        (seconds + 1) * NS_PER_S < INT64_MIN + missing)
        return false;
    *out = (seconds + 1) * NS_PER_S - missing;
    return true;
}

static size_t
time_body_size(int64_t seconds, uint32_t rest)
{
    if (seconds < 0 || seconds >> 34)
        return 12;
    return rest || seconds >> 32 ? 8 : 4;
}

size_t
sni_codec_time_size(int64_t ns)
{
    uint32_t rest;
    int64_t seconds = split_time(ns, &rest);
    size_t body = time_body_size(seconds, rest);
    return body + (body == 12 ? 3 : 2);
}

static void
put_big_endian(uint8_t *out, uint64_t number, size_t size)
{
    for (size_t i = 0; i < size; i++)
        out[i] = (uint8_t)(number >> 8 * (size - 1 - i));
}

static uint64_t
get_big_endian(const uint8_t *in, size_t size)
{
    uint64_t number = 0;
    for (size_t i = 0; i < size; i++)
        number = number << 8 | in[i];
    return number;
}

void
sennit_codec_pack_time(sennit_buf *out, int64_t ns)
{
    uint8_t body[12];
    uint32_t rest;
    int64_t seconds = split_time(ns, &rest);
    size_t size = time_body_size(seconds, rest);
    if (size == 4) {
        put_big_endian(body, (uint64_t)seconds, 4);
    } else if (size == 8) {
        put_big_endian(body, (uint64_t)rest << 34 | (uint64_t)seconds, 8);
    } else {
        put_big_endian(body, rest, 4);
        put_big_endian(body + 4, (uint64_t)seconds, 8);
    }
    sennit_pack_ext(out, TIME_EXT, (sennit_bytes){ body, size });
}

/* Reads a timestamp; NULL, or what is wrong with it. */
static const char *
parse_time(sennit_bytes body, int8_t type, int64_t *out)
{
    if (type != TIME_EXT || (body.size != 4 && body.size != 8 && body.size != 12))
        return "a timestamp was expected";
    uint64_t rest = 0;
    int64_t seconds;
    if (body.size == 4) {
        seconds = (int64_t)get_big_endian(body.data, 4);
    } else if (body.size == 8) {
        uint64_t both = get_big_endian(body.data, 8);
        rest = both >> 34;
        seconds = (int64_t)(both & ((UINT64_C(1) << 34) - 1));
    } else {
        rest = get_big_endian(body.data, 4);
        seconds = (int64_t)get_big_endian(body.data + 4, 8);
    }
    if (rest >= NS_PER_S)
        return "a timestamp with a second or more of nanoseconds";
    return join_time(seconds, (int64_t)rest, out)
               ? NULL
               : "a timestamp outside the years 1677 to 2262";
}

int64_t
sennit_codec_unpack_time(sennit_unpack *in)
{
    const uint8_t *at = in->at;
    int64_t ns = 0;
    int8_t type = 0;
    sennit_bytes body = sennit_unpack_ext(in, &type);
    const char *wrong = in->err ? NULL : parse_time(body, type, &ns);
    if (wrong) {
        in->at = at; /* so that the failure names the value's own offset */
        sennit_unpack_fail(in, SENNIT_EPROTO, wrong);
    }
    return ns;
}
