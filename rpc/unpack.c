/* SPDX-License-Identifier: MIT */
/* msgpack readers. One function, head_read(), knows the format; everything else
 * asks it. Nothing recurses: a container is a number of values still owed, and the
 * sum of what is owed can never exceed the bytes that are left (rule H3), which is
 * what makes "five bytes asking for 96 GB" fail at the fifth byte. */
#include "rpc/unpack.h"

#include <math.h>
#include <string.h>

#include "base/bytes.h"

/* One value's head, and what follows it. */
typedef struct value_head {
    sennit_pack_type type;
    uint64_t number;  /* integers (two's complement), float bits, bool */
    size_t body_size; /* str, bin, ext: bytes after the head */
    size_t count;     /* array: values; map: pairs */
    size_t head_size;
    int8_t ext_type;
} value_head;

static const char truncated[] = "the value is cut off";
static const char reserved_byte[] = "0xc1 is not msgpack";
static const char too_long[] = "a length is larger than the bytes that are left";
static const char too_many[] = "a count is larger than the bytes that are left";
static const char too_deep[] = "nesting is too deep";

static uint64_t
number_at(const uint8_t *at, size_t width)
{
    uint64_t value = 0;

    for (size_t i = 0; i < width; i++)
        value = value << 8 | at[i];
    return value;
}

static uint64_t
sign_extend(uint64_t value, size_t width)
{
    unsigned shift = (unsigned)(64 - 8 * width);

    return (uint64_t)((int64_t)(value << shift) >> shift);
}

/* Bytes of number behind each first byte 0xc0 .. 0xdf. */
static const uint8_t number_width[32] = {
    0, 0, 0, 0, 1, 2, 4, 1, 2, 4, 4, 8, 1, 2, 4, 8, /* c0 - cf */
    1, 2, 4, 8, 0, 0, 0, 0, 0, 1, 2, 4, 2, 4, 2, 4, /* d0 - df */
};

/* The types of 0xc0 .. 0xdf. */
static const uint8_t wide_type[32] = {
    SENNIT_PACK_NIL,   SENNIT_PACK_BAD,   SENNIT_PACK_BOOL, SENNIT_PACK_BOOL,
    SENNIT_PACK_BIN,   SENNIT_PACK_BIN,   SENNIT_PACK_BIN,  SENNIT_PACK_EXT,
    SENNIT_PACK_EXT,   SENNIT_PACK_EXT,   SENNIT_PACK_F32,  SENNIT_PACK_F64,
    SENNIT_PACK_UINT,  SENNIT_PACK_UINT,  SENNIT_PACK_UINT, SENNIT_PACK_UINT,
    SENNIT_PACK_INT,   SENNIT_PACK_INT,   SENNIT_PACK_INT,  SENNIT_PACK_INT,
    SENNIT_PACK_EXT,   SENNIT_PACK_EXT,   SENNIT_PACK_EXT,  SENNIT_PACK_EXT,
    SENNIT_PACK_EXT,   SENNIT_PACK_STR,   SENNIT_PACK_STR,  SENNIT_PACK_STR,
    SENNIT_PACK_ARRAY, SENNIT_PACK_ARRAY, SENNIT_PACK_MAP,  SENNIT_PACK_MAP,
};

static sennit_pack_type
type_of(uint8_t first)
{
    if (first <= 0x7f)
        return SENNIT_PACK_UINT;
    if (first <= 0x8f)
        return SENNIT_PACK_MAP;
    if (first <= 0x9f)
        return SENNIT_PACK_ARRAY;
    if (first <= 0xbf)
        return SENNIT_PACK_STR;
    if (first <= 0xdf)
        return (sennit_pack_type)wide_type[first - 0xc0];
    return SENNIT_PACK_INT;
}

/* The rest of a head whose first byte is 0xc0 .. 0xdf. NULL or why not. */
static const char *
wide_read(const uint8_t *at, size_t left, value_head *out)
{
    uint8_t first = at[0];
    size_t width = number_width[first - 0xc0];

    if (left < 1 + width)
        return truncated;
    out->number = number_at(at + 1, width);
    out->head_size = 1 + width;
    switch (out->type) {
    case SENNIT_PACK_BAD:
        return reserved_byte;
    case SENNIT_PACK_INT:
        out->number = sign_extend(out->number, width);
        break;
    case SENNIT_PACK_BOOL:
        out->number = first & 1;
        break;
    case SENNIT_PACK_EXT:
        if (left < out->head_size + 1)
            return truncated;
        out->body_size = width == 0 ? (size_t)1 << (first - 0xd4) : out->number;
        out->ext_type = (int8_t)at[out->head_size];
        out->head_size += 1;
        break;
    case SENNIT_PACK_STR:
    case SENNIT_PACK_BIN:
        out->body_size = out->number;
        break;
    case SENNIT_PACK_ARRAY:
    case SENNIT_PACK_MAP:
        out->count = out->number;
        break;
    case SENNIT_PACK_END:
    case SENNIT_PACK_NIL:
    case SENNIT_PACK_UINT:
    case SENNIT_PACK_F32:
    case SENNIT_PACK_F64:
        break;
    }
    return NULL;
}

/* Reads the head at the front of `left` bytes, left > 0. Returns NULL or why not.
 * Lengths are checked against what is left, counts as if every value took a byte. */
static const char *
head_read(const uint8_t *at, size_t left, value_head *out)
{
    uint8_t first = at[0];
    const char *reason;

    out->type = type_of(first);
    out->number = first;
    out->head_size = 1;
    out->body_size = 0;
    out->count = 0;
    if (first <= 0x7f)
        return NULL;
    if (first >= 0xe0) {
        out->number = sign_extend(first, 1);
        return NULL;
    }
    if (first >= 0xc0) {
        reason = wide_read(at, left, out);
        if (reason != NULL)
            return reason;
    } else if (out->type == SENNIT_PACK_STR) {
        out->body_size = first & 0x1f;
    } else {
        out->count = first & 0x0f;
    }
    left -= out->head_size;
    if (out->body_size > left)
        return too_long;
    if (out->count > (out->type == SENNIT_PACK_MAP ? left / 2 : left))
        return too_many;
    return NULL;
}

/* Values that the value behind this head still owes. */
static size_t
values_in(const value_head *head)
{
    return head->type == SENNIT_PACK_MAP ? head->count * 2 : head->count;
}

/* ---- Cursor ----------------------------------------------------------- */

void
sennit_unpack_init(sennit_unpack *in, sennit_bytes bytes)
{
    static const uint8_t nothing[1];

    in->begin = bytes.data != NULL ? bytes.data : nothing;
    in->at = in->begin;
    in->end = in->begin + bytes.size;
    in->err = SENNIT_OK;
    in->reason = "";
    in->offset = 0;
}

void
sennit_unpack_fail(sennit_unpack *in, sennit_err err, const char *reason)
{
    if (in->err)
        return;
    in->err = err;
    in->reason = reason;
    in->offset = (size_t)(in->at - in->begin);
}

sennit_pack_type
sennit_unpack_peek(const sennit_unpack *in)
{
    if (in->err || in->at == in->end)
        return SENNIT_PACK_END;
    return type_of(*in->at);
}

bool
sennit_unpack_at_end(const sennit_unpack *in)
{
    return in->err || in->at == in->end;
}

/* The head of the next value, without stepping; false sets the sticky error. */
static bool
next_head(sennit_unpack *in, value_head *out)
{
    const char *reason;

    if (in->err)
        return false;
    if (in->at == in->end) {
        sennit_unpack_fail(in, SENNIT_EPROTO, "a value is missing");
        return false;
    }
    reason = head_read(in->at, (size_t)(in->end - in->at), out);
    if (reason != NULL)
        sennit_unpack_fail(in, SENNIT_EPROTO, reason);
    return reason == NULL;
}

bool
sennit_unpack_nil(sennit_unpack *in)
{
    if (sennit_unpack_peek(in) != SENNIT_PACK_NIL)
        return false;
    in->at++;
    return true;
}

bool
sennit_unpack_bool(sennit_unpack *in)
{
    value_head head;

    if (!next_head(in, &head))
        return false;
    if (head.type != SENNIT_PACK_BOOL) {
        sennit_unpack_fail(in, SENNIT_EPROTO, "expected a bool");
        return false;
    }
    in->at += head.head_size;
    return head.number != 0;
}

uint64_t
sennit_unpack_uint(sennit_unpack *in, uint64_t max)
{
    value_head head;

    if (!next_head(in, &head))
        return 0;
    if (head.type != SENNIT_PACK_UINT && head.type != SENNIT_PACK_INT) {
        sennit_unpack_fail(in, SENNIT_EPROTO, "expected an integer");
        return 0;
    }
    if (head.number > max || (head.type == SENNIT_PACK_INT && head.number >> 63 != 0)) {
        sennit_unpack_fail(in, SENNIT_EPROTO, "integer out of range");
        return 0;
    }
    in->at += head.head_size;
    return head.number;
}

int64_t
sennit_unpack_int(sennit_unpack *in, int64_t min, int64_t max)
{
    value_head head;
    int64_t value;

    if (!next_head(in, &head))
        return 0;
    if (head.type != SENNIT_PACK_UINT && head.type != SENNIT_PACK_INT) {
        sennit_unpack_fail(in, SENNIT_EPROTO, "expected an integer");
        return 0;
    }
    value = (int64_t)head.number;
    if ((head.type == SENNIT_PACK_UINT && value < 0) || value < min || value > max) {
        sennit_unpack_fail(in, SENNIT_EPROTO, "integer out of range");
        return 0;
    }
    in->at += head.head_size;
    return value;
}

double
sennit_unpack_f64(sennit_unpack *in)
{
    value_head head;
    uint32_t bits32;
    float narrow;
    double wide = 0;

    if (!next_head(in, &head))
        return 0;
    if (head.type == SENNIT_PACK_F64) {
        memcpy(&wide, &head.number, sizeof wide);
    } else if (head.type == SENNIT_PACK_F32) {
        bits32 = (uint32_t)head.number;
        memcpy(&narrow, &bits32, sizeof narrow);
        wide = narrow;
    } else if (head.type == SENNIT_PACK_UINT) {
        wide = (double)head.number;
    } else if (head.type == SENNIT_PACK_INT) {
        wide = (double)(int64_t)head.number;
    } else {
        sennit_unpack_fail(in, SENNIT_EPROTO, "expected a number");
        return 0;
    }
    in->at += head.head_size;
    return wide;
}

float
sennit_unpack_f32(sennit_unpack *in)
{
    const uint8_t *before = in->at;
    uint32_t bits32;
    float narrow;
    double wide;

    /* Bit for bit: a NaN's payload does not survive the way through double. */
    if (!in->err && in->end - in->at >= 5 && *in->at == 0xca) {
        bits32 = sni_get_u32(in->at + 1);
        memcpy(&narrow, &bits32, sizeof narrow);
        in->at += 5;
        return narrow;
    }
    wide = sennit_unpack_f64(in);
    if (isfinite(wide) && fabs(wide) > 0x1.fffffep127) {
        in->at = before;
        sennit_unpack_fail(in, SENNIT_EPROTO, "float out of range");
        return 0;
    }
    return (float)wide;
}

/* The body of the next value, which must be of `type`. */
static sennit_bytes
body(sennit_unpack *in, sennit_pack_type type, const char *expected, int8_t *ext_type)
{
    sennit_bytes out = { NULL, 0 };
    value_head head;

    if (!next_head(in, &head))
        return out;
    if (head.type != type) {
        sennit_unpack_fail(in, SENNIT_EPROTO, expected);
        return out;
    }
    out = (sennit_bytes){ in->at + head.head_size, head.body_size };
    if (ext_type != NULL)
        *ext_type = head.ext_type;
    in->at += head.head_size + head.body_size;
    return out;
}

sennit_str
sennit_unpack_str(sennit_unpack *in)
{
    sennit_bytes bytes = body(in, SENNIT_PACK_STR, "expected a str", NULL);

    return (sennit_str){ (const char *)bytes.data, bytes.size };
}

sennit_bytes
sennit_unpack_bin(sennit_unpack *in)
{
    return body(in, SENNIT_PACK_BIN, "expected a bin", NULL);
}

sennit_bytes
sennit_unpack_ext(sennit_unpack *in, int8_t *type)
{
    return body(in, SENNIT_PACK_EXT, "expected an ext", type);
}

static size_t
count(sennit_unpack *in, sennit_pack_type type, const char *expected)
{
    value_head head;

    if (!next_head(in, &head))
        return 0;
    if (head.type != type) {
        sennit_unpack_fail(in, SENNIT_EPROTO, expected);
        return 0;
    }
    in->at += head.head_size;
    return head.count;
}

size_t
sennit_unpack_array(sennit_unpack *in)
{
    return count(in, SENNIT_PACK_ARRAY, "expected an array");
}

size_t
sennit_unpack_map(sennit_unpack *in)
{
    return count(in, SENNIT_PACK_MAP, "expected a map");
}

sennit_bytes
sennit_unpack_raw(sennit_unpack *in)
{
    const uint8_t *start = in->at;
    const uint8_t *at = in->at;
    size_t owed = 1;
    const char *reason;
    value_head head;

    if (in->err)
        return (sennit_bytes){ NULL, 0 };
    while (owed > 0) {
        size_t left = (size_t)(in->end - at);

        if (left < owed) {
            reason = at == start ? "a value is missing" : too_many;
            goto fail;
        }
        reason = head_read(at, left, &head);
        if (reason != NULL)
            goto fail;
        at += head.head_size + head.body_size;
        owed += values_in(&head) - 1;
    }
    in->at = at;
    return (sennit_bytes){ start, (size_t)(at - start) };

fail:
    in->at = at; /* so that the offset names the value that is wrong */
    sennit_unpack_fail(in, SENNIT_EPROTO, reason);
    return (sennit_bytes){ NULL, 0 };
}

void
sennit_unpack_skip(sennit_unpack *in)
{
    (void)sennit_unpack_raw(in);
}

/* ---- Validator -------------------------------------------------------- */

sennit_err
sni_unpack_check_front(sennit_bytes in, unsigned depth_max, unsigned flags, size_t *used,
                       const char **reason, size_t *offset)
{
    size_t open[SENNIT_UNPACK_DEPTH_MAX + 1]; /* values owed at each level */
    size_t owed = 1;                          /* law: the sum of open[0 .. depth] */
    size_t depth = 0;
    size_t at = 0;
    value_head head;

    open[0] = 1;
    *reason = NULL;
    while (owed > 0) {
        if (in.size - at < owed)
            *reason = at == in.size ? truncated : too_many;
        else
            *reason = head_read(in.data + at, in.size - at, &head);
        if (*reason != NULL)
            goto fail;
        if ((flags & SENNIT_CHECK_UTF8) != 0 && head.type == SENNIT_PACK_STR &&
            !sennit_str_is_utf8((sennit_str){ (const char *)in.data + at + head.head_size,
                                              head.body_size })) {
            *reason = "a str is not UTF-8";
            goto fail;
        }
        while (open[depth] == 0)
            depth--; /* containers that are complete */
        open[depth]--;
        owed += values_in(&head) - 1;
        if (head.type == SENNIT_PACK_ARRAY || head.type == SENNIT_PACK_MAP) {
            if (depth == depth_max) {
                *reason = too_deep;
                goto fail;
            }
            open[++depth] = values_in(&head);
        }
        at += head.head_size + head.body_size;
    }
    *used = at;
    return SENNIT_OK;

fail:
    *offset = at;
    return SENNIT_EPROTO;
}

sennit_err
sennit_unpack_check(sennit_bytes in, unsigned depth_max, unsigned flags,
                    const char **reason, size_t *offset)
{
    const char *why = NULL;
    size_t where = 0;
    size_t used = 0;
    sennit_err err;

    if (depth_max > SENNIT_UNPACK_DEPTH_MAX ||
        (flags & ~(unsigned)SENNIT_CHECK_UTF8) != 0)
        return SENNIT_EINVAL;
    err = sni_unpack_check_front(in, depth_max, flags, &used, &why, &where);
    if (!err && used != in.size) {
        why = "there is something after the value";
        where = used;
        err = SENNIT_EPROTO;
    }
    if (err && reason != NULL)
        *reason = why;
    if (err && offset != NULL)
        *offset = where;
    return err;
}

/* ---- Text ------------------------------------------------------------- */

sennit_str
sennit_str_of(const char *text)
{
    return (sennit_str){ text, text != NULL ? strlen(text) : 0 };
}

bool
sennit_str_equal(sennit_str a, sennit_str b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

bool
sennit_str_is_utf8(sennit_str text)
{
    const uint8_t *at = (const uint8_t *)text.data;
    const uint8_t *end = text.size > 0 ? at + text.size : at;

    while (at != end) {
        size_t more;
        uint32_t point;
        uint32_t least;

        if (*at < 0x80) {
            at++;
            continue;
        }
        if (*at >= 0xc2 && *at <= 0xdf) {
            more = 1;
            point = *at & 0x1fu;
            least = 0x80;
        } else if ((*at & 0xf0) == 0xe0) {
            more = 2;
            point = *at & 0x0fu;
            least = 0x800;
        } else if (*at >= 0xf0 && *at <= 0xf4) {
            more = 3;
            point = *at & 0x07u;
            least = 0x10000;
        } else {
            return false;
        }
        if ((size_t)(end - at) <= more)
            return false;
        for (size_t i = 1; i <= more; i++) {
            if ((at[i] & 0xc0) != 0x80)
                return false;
            point = point << 6 | (at[i] & 0x3fu);
        }
        if (point < least || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
            return false;
        at += more + 1;
    }
    return true;
}

const char *
sennit_pack_type_name(sennit_pack_type type)
{
    static const char *const names[] = {
        [SENNIT_PACK_END] = "nothing", [SENNIT_PACK_NIL] = "nil",
        [SENNIT_PACK_BOOL] = "bool",   [SENNIT_PACK_UINT] = "uint",
        [SENNIT_PACK_INT] = "int",     [SENNIT_PACK_F32] = "f32",
        [SENNIT_PACK_F64] = "f64",     [SENNIT_PACK_STR] = "str",
        [SENNIT_PACK_BIN] = "bin",     [SENNIT_PACK_ARRAY] = "array",
        [SENNIT_PACK_MAP] = "map",     [SENNIT_PACK_EXT] = "ext",
        [SENNIT_PACK_BAD] = "0xc1",
    };

    return (size_t)type < sizeof names / sizeof names[0] ? names[type] : "?";
}
