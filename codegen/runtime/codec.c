/* SPDX-License-Identifier: MIT */
/* One interpreter for all generated tables. Every walk (size, encode, decode,
 * equal, print) goes field by field over the table and recurses into structs; the
 * depth is bounded by the wire's own bound, so neither a peer nor a value that
 * contains itself through a list can exhaust the stack. */
#include <sennit/codec.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- Places in a struct ----------------------------------------------- */

static const void *
field_at(const void *value, uint32_t offset)
{
    return (const uint8_t *)value + offset;
}

static void *
field_for(void *value, uint32_t offset)
{
    return (uint8_t *)value + offset;
}

static bool
is_list(const sennit_codec_field *field)
{
    return field->flags & SENNIT_CODEC_LIST;
}

static bool
is_optional(const sennit_codec_field *field)
{
    return field->flags & SENNIT_CODEC_OPTIONAL;
}

static bool
is_present(const sennit_codec_field *field, const void *value)
{
    return *(const bool *)field_at(value, field->has_offset);
}

static size_t
list_count(const sennit_codec_field *field, const void *value)
{
    return *(const size_t *)field_at(value, field->count_offset);
}

/* The pointer to a list's elements. Its type differs by field, so it is read and
 * written as bytes. */
static const void *
list_elements(const sennit_codec_field *field, const void *value)
{
    const void *elements;
    memcpy(&elements, field_at(value, field->offset), sizeof(elements));
    return elements;
}

static size_t
element_size(const sennit_codec_field *field)
{
    static const uint8_t sizes[] = {
        [SENNIT_CODEC_BOOL] = sizeof(bool),
        [SENNIT_CODEC_U8] = 1,
        [SENNIT_CODEC_I8] = 1,
        [SENNIT_CODEC_U16] = 2,
        [SENNIT_CODEC_I16] = 2,
        [SENNIT_CODEC_U32] = 4,
        [SENNIT_CODEC_I32] = 4,
        [SENNIT_CODEC_U64] = 8,
        [SENNIT_CODEC_I64] = 8,
        [SENNIT_CODEC_F32] = sizeof(float),
        [SENNIT_CODEC_F64] = sizeof(double),
        [SENNIT_CODEC_STR] = sizeof(sennit_str),
        [SENNIT_CODEC_BYTES] = sizeof(sennit_bytes),
        [SENNIT_CODEC_TIME] = 8,
        [SENNIT_CODEC_DURATION] = 8,
    };
    return field->kind == SENNIT_CODEC_STRUCT ? field->type->size : sizes[field->kind];
}

/* ---- Scalars ---------------------------------------------------------- */

/* A number, bool or duration as 64 bits; floats as their own bits. */
static uint64_t
scalar_bits(uint8_t kind, const void *at)
{
    switch (kind) {
    case SENNIT_CODEC_BOOL:
        return *(const bool *)at;
    case SENNIT_CODEC_U8:
        return *(const uint8_t *)at;
    case SENNIT_CODEC_I8:
        return (uint64_t)(int64_t) * (const int8_t *)at;
    case SENNIT_CODEC_U16:
        return *(const uint16_t *)at;
    case SENNIT_CODEC_I16:
        return (uint64_t)(int64_t) * (const int16_t *)at;
    case SENNIT_CODEC_U32:
        return *(const uint32_t *)at;
    case SENNIT_CODEC_I32:
        return (uint64_t)(int64_t) * (const int32_t *)at;
    case SENNIT_CODEC_F32: {
        uint32_t bits;
        memcpy(&bits, at, sizeof(bits));
        return bits;
    }
    case SENNIT_CODEC_F64: {
        uint64_t bits;
        memcpy(&bits, at, sizeof(bits));
        return bits;
    }
    case SENNIT_CODEC_U64:
        return *(const uint64_t *)at;
    default: /* I64, TIME, DURATION */
        return (uint64_t) * (const int64_t *)at;
    }
}

static void
set_scalar(uint8_t kind, void *at, uint64_t bits)
{
    switch (kind) {
    case SENNIT_CODEC_BOOL:
        *(bool *)at = bits != 0;
        break;
    case SENNIT_CODEC_U8:
        *(uint8_t *)at = (uint8_t)bits;
        break;
    case SENNIT_CODEC_I8:
        *(int8_t *)at = (int8_t)bits;
        break;
    case SENNIT_CODEC_U16:
        *(uint16_t *)at = (uint16_t)bits;
        break;
    case SENNIT_CODEC_I16:
        *(int16_t *)at = (int16_t)bits;
        break;
    case SENNIT_CODEC_U32:
        *(uint32_t *)at = (uint32_t)bits;
        break;
    case SENNIT_CODEC_I32:
        *(int32_t *)at = (int32_t)bits;
        break;
    case SENNIT_CODEC_F32: {
        uint32_t narrow = (uint32_t)bits;
        memcpy(at, &narrow, sizeof(narrow));
        break;
    }
    case SENNIT_CODEC_F64:
        memcpy(at, &bits, sizeof(bits));
        break;
    case SENNIT_CODEC_U64:
        *(uint64_t *)at = bits;
        break;
    default: /* I64, TIME, DURATION */
        *(int64_t *)at = (int64_t)bits;
        break;
    }
}

/* ---- Defaults --------------------------------------------------------- */

static void
init_field(const sennit_codec_field *field, void *value)
{
    void *at = field_for(value, field->offset);
    if (is_optional(field) || is_list(field)) {
        bool single_struct = field->kind == SENNIT_CODEC_STRUCT && !is_list(field);
        if (single_struct)
            sennit_codec_init(field->type, at);
        return; /* zeroed: absent, no elements */
    }
    if (field->kind == SENNIT_CODEC_STRUCT)
        sennit_codec_init(field->type, at);
    else if (field->kind == SENNIT_CODEC_STR)
        *(sennit_str *)at = sennit_str_of(field->fallback_text);
    else if (field->kind != SENNIT_CODEC_BYTES)
        set_scalar(field->kind, at, field->fallback);
}

void
sennit_codec_init(const sennit_codec *codec, void *value)
{
    memset(value, 0, codec->size);
    for (uint32_t i = 0; i < codec->fields_count; i++)
        init_field(&codec->fields[i], value);
}

static const sennit_bytes *
unknown_of(const sennit_codec *codec, const void *value)
{
    return field_at(value, codec->unknown_offset);
}

static bool is_default(const sennit_codec *codec, const void *value);

/* Whether a field is left out on the wire. */
static bool
is_left_out(const sennit_codec_field *field, const void *value)
{
    if (is_optional(field))
        return !is_present(field, value);
    if (is_list(field))
        return !list_count(field, value);
    const void *at = field_at(value, field->offset);
    switch (field->kind) {
    case SENNIT_CODEC_STRUCT:
        return is_default(field->type, at);
    case SENNIT_CODEC_STR:
        return sennit_str_equal(*(const sennit_str *)at,
                                sennit_str_of(field->fallback_text));
    case SENNIT_CODEC_BYTES:
        return !((const sennit_bytes *)at)->size;
    default:
        return scalar_bits(field->kind, at) == field->fallback;
    }
}

/* Structs by value cannot contain themselves, so this needs no bound. */
static bool
is_default(const sennit_codec *codec, const void *value)
{
    for (uint32_t i = 0; i < codec->fields_count; i++)
        if (!is_left_out(&codec->fields[i], value))
            return false;
    return !unknown_of(codec, value)->size;
}

/* ---- Time on the wire: msgpack's timestamp extension ------------------ */

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

static size_t
time_size(int64_t ns)
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

/* ---- Size ------------------------------------------------------------- */

static size_t struct_size(const sennit_codec *codec, const void *value, unsigned depth);

static size_t
value_size(const sennit_codec_field *field, const void *at, unsigned depth)
{
    switch (field->kind) {
    case SENNIT_CODEC_BOOL:
        return 1;
    case SENNIT_CODEC_U8:
    case SENNIT_CODEC_U16:
    case SENNIT_CODEC_U32:
    case SENNIT_CODEC_U64:
        return sennit_pack_uint_size(scalar_bits(field->kind, at));
    case SENNIT_CODEC_F32:
        return 5;
    case SENNIT_CODEC_F64:
        return 9;
    case SENNIT_CODEC_STR:
        return sennit_pack_str_size(((const sennit_str *)at)->size);
    case SENNIT_CODEC_BYTES:
        return sennit_pack_bin_size(((const sennit_bytes *)at)->size);
    case SENNIT_CODEC_TIME:
        return time_size(*(const int64_t *)at);
    case SENNIT_CODEC_STRUCT:
        return struct_size(field->type, at, depth);
    default:
        return sennit_pack_int_size((int64_t)scalar_bits(field->kind, at));
    }
}

static size_t
list_size(const sennit_codec_field *field, const void *value, unsigned depth)
{
    size_t count = list_count(field, value);
    const uint8_t *element = list_elements(field, value);
    size_t size = sennit_pack_array_size(count);
    for (size_t i = 0; i < count; i++, element += element_size(field))
        size += value_size(field, element, depth + 1);
    return size;
}

/* Pairs in the raw bytes of unknown fields; SIZE_MAX when they are none. */
static size_t
count_unknown(sennit_bytes unknown)
{
    sennit_unpack in;
    size_t count = 0;
    sennit_unpack_init(&in, unknown);
    while (!in.err && !sennit_unpack_at_end(&in)) {
        sennit_unpack_skip(&in);
        sennit_unpack_skip(&in);
        count++;
    }
    return in.err ? SIZE_MAX : count;
}

/* Values nested deeper than the wire allows are refused by encode; their size only
 * has to end. */
static size_t
struct_size(const sennit_codec *codec, const void *value, unsigned depth)
{
    const sennit_bytes *unknown = unknown_of(codec, value);
    size_t count = unknown->size ? count_unknown(*unknown) : 0;
    size_t size = unknown->size;
    for (uint32_t i = 0; depth < SENNIT_UNPACK_DEPTH_MAX && i < codec->fields_count;
         i++) {
        const sennit_codec_field *field = &codec->fields[i];
        if (is_left_out(field, value))
            continue;
        count++;
        size += sennit_pack_uint_size(field->number);
        size += is_list(field)
                    ? list_size(field, value, depth + 1)
                    : value_size(field, field_at(value, field->offset), depth + 1);
    }
    return size + sennit_pack_map_size(count);
}

size_t
sennit_codec_size(const sennit_codec *codec, const void *value)
{
    return struct_size(codec, value, 0);
}

/* ---- Paths ------------------------------------------------------------ */

/* Where a walk failed. The walk unwinds from the inside, so the text is built
 * from its end. */
typedef struct sni_path {
    char text[160];
    size_t begin; /* law: begin < sizeof(text), text[sizeof(text) - 1] is NUL */
    bool cut;
} sni_path;

static void
path_init(sni_path *path)
{
    path->begin = sizeof(path->text) - 1;
    path->text[path->begin] = '\0';
    path->cut = false;
}

static void
path_prepend(sni_path *path, const char *text)
{
    size_t size = strlen(text);
    if (path->cut || size + 3 > path->begin) {
        if (!path->cut) {
            path->begin -= 3;
            memcpy(path->text + path->begin, "...", 3);
        }
        path->cut = true;
        return;
    }
    path->begin -= size;
    memcpy(path->text + path->begin, text, size);
}

static void
path_prepend_index(sni_path *path, size_t index)
{
    char text[24];
    snprintf(text, sizeof(text), "[%zu]", index);
    path_prepend(path, text);
}

static void
path_prepend_field(sni_path *path, const sennit_codec_field *field)
{
    path_prepend(path, field->name);
    path_prepend(path, ".");
}

/* ---- Encoding --------------------------------------------------------- */

typedef struct sni_encode {
    sennit_buf *out;
    const char *reason; /* NULL until something is wrong with the value itself */
    sni_path path;
} sni_encode;

static bool encode_struct(sni_encode *encode, const sennit_codec *codec,
                          const void *value, unsigned depth);

static bool
refuse(sni_encode *encode, const char *reason)
{
    encode->reason = reason;
    return false;
}

/* True when the walk may go on; the output's own errors end it as well. */
static bool
encode_value(sni_encode *encode, const sennit_codec_field *field, const void *at,
             unsigned depth)
{
    sennit_buf *out = encode->out;
    switch (field->kind) {
    case SENNIT_CODEC_BOOL:
        sennit_pack_bool(out, *(const bool *)at);
        break;
    case SENNIT_CODEC_U8:
    case SENNIT_CODEC_U16:
    case SENNIT_CODEC_U32:
    case SENNIT_CODEC_U64:
        sennit_pack_uint(out, scalar_bits(field->kind, at));
        break;
    case SENNIT_CODEC_F32:
        sennit_pack_f32(out, *(const float *)at);
        break;
    case SENNIT_CODEC_F64:
        sennit_pack_f64(out, *(const double *)at);
        break;
    case SENNIT_CODEC_STR:
        if (!sennit_str_is_utf8(*(const sennit_str *)at))
            return refuse(encode, "the text is not UTF-8");
        sennit_pack_str(out, *(const sennit_str *)at);
        break;
    case SENNIT_CODEC_BYTES:
        sennit_pack_bin(out, *(const sennit_bytes *)at);
        break;
    case SENNIT_CODEC_TIME:
        sennit_codec_pack_time(out, *(const int64_t *)at);
        break;
    case SENNIT_CODEC_STRUCT:
        return encode_struct(encode, field->type, at, depth);
    default:
        sennit_pack_int(out, (int64_t)scalar_bits(field->kind, at));
        break;
    }
    return !out->err;
}

static bool
encode_list(sni_encode *encode, const sennit_codec_field *field, const void *value,
            unsigned depth)
{
    size_t count = list_count(field, value);
    const uint8_t *element = list_elements(field, value);
    if (depth >= SENNIT_UNPACK_DEPTH_MAX)
        return refuse(encode, "nested too deep");
    sennit_pack_array(encode->out, count);
    for (size_t i = 0; i < count; i++, element += element_size(field)) {
        if (encode_value(encode, field, element, depth + 1))
            continue;
        path_prepend_index(&encode->path, i);
        return false;
    }
    return true;
}

static bool
encode_field(sni_encode *encode, const sennit_codec_field *field, const void *value,
             unsigned depth)
{
    sennit_pack_uint(encode->out, field->number);
    bool done = is_list(field)
                    ? encode_list(encode, field, value, depth)
                    : encode_value(encode, field, field_at(value, field->offset), depth);
    if (!done)
        path_prepend_field(&encode->path, field);
    return done;
}

static bool
encode_struct(sni_encode *encode, const sennit_codec *codec, const void *value,
              unsigned depth)
{
    const sennit_bytes *unknown = unknown_of(codec, value);
    size_t count = unknown->size ? count_unknown(*unknown) : 0;
    if (count == SIZE_MAX)
        return refuse(encode, "the unknown fields are not pairs of msgpack");
    if (depth >= SENNIT_UNPACK_DEPTH_MAX)
        return refuse(encode, "nested too deep");
    for (uint32_t i = 0; i < codec->fields_count; i++)
        count += !is_left_out(&codec->fields[i], value);
    sennit_pack_map(encode->out, count);
    for (uint32_t i = 0; i < codec->fields_count; i++) {
        const sennit_codec_field *field = &codec->fields[i];
        if (!is_left_out(field, value) && !encode_field(encode, field, value, depth + 1))
            return false;
    }
    if (unknown->size)
        sennit_pack_raw(encode->out, *unknown);
    return !encode->out->err;
}

sennit_err
sennit_codec_encode(const sennit_codec *codec, const void *value, sennit_buf *out,
                    sennit_error *error)
{
    sni_encode encode = { .out = out };
    size_t before = out->size;
    path_init(&encode.path);
    if (encode_struct(&encode, codec, value, 0))
        return SENNIT_OK;
    out->size = before;
    path_prepend(&encode.path, codec->name);
    if (!out->err)
        out->err = SENNIT_EINVAL;
    sennit_kind kind = out->err == SENNIT_ENOMEM     ? SENNIT_KIND_NO_MEMORY
                       : out->err == SENNIT_EMSGSIZE ? SENNIT_KIND_TOO_LARGE
                                                     : SENNIT_KIND_BAD_MESSAGE;
    if (error)
        sennit_error_set(error, kind, SENNIT_RAN_NEVER, "%s: %s",
                         encode.path.text + encode.path.begin,
                         encode.reason ? encode.reason : sennit_err_text(out->err));
    return out->err;
}

/* ---- Decoding --------------------------------------------------------- */

typedef struct sni_decode {
    sennit_unpack in;
    sennit_arena *arena;
    bool copy;          /* texts and bytes too */
    size_t budget;      /* bytes lists may still take */
    sennit_err err;     /* the first failure */
    const char *reason; /* static text */
    size_t offset;      /* of the value that failed */
    sni_path path;
} sni_decode;

static bool decode_struct(sni_decode *decode, const sennit_codec *codec, void *value);

static size_t
offset_now(const sni_decode *decode)
{
    return (size_t)(decode->in.at - decode->in.begin);
}

static bool
fail(sni_decode *decode, sennit_err err, const char *reason, size_t offset)
{
    if (!decode->err) {
        decode->err = err;
        decode->reason = reason;
        decode->offset = offset;
    }
    return false;
}

/* Whether the cursor is well; takes over its failure otherwise. */
static bool
is_well(sni_decode *decode)
{
    if (!decode->in.err)
        return true;
    return fail(decode, decode->in.err, decode->in.reason, decode->in.offset);
}

static bool
no_memory(sni_decode *decode)
{
    return fail(decode, SENNIT_ENOMEM, "out of memory", offset_now(decode));
}

static bool
too_much_memory(sni_decode *decode, size_t offset)
{
    return fail(decode, SENNIT_EMSGSIZE, "takes far more memory than its message",
                offset);
}

static bool
decode_str(sni_decode *decode, sennit_str *out)
{
    size_t offset = offset_now(decode);
    sennit_str text = sennit_unpack_str(&decode->in);
    if (!is_well(decode))
        return false;
    if (!sennit_str_is_utf8(text))
        return fail(decode, SENNIT_EPROTO, "the text is not UTF-8", offset);
    if (decode->copy && sennit_arena_copy_str(decode->arena, text, &text))
        return no_memory(decode);
    *out = text;
    return true;
}

static bool
decode_bytes(sni_decode *decode, sennit_bytes *out)
{
    sennit_bytes bytes = sennit_unpack_bin(&decode->in);
    if (!is_well(decode))
        return false;
    if (decode->copy && sennit_arena_copy_bytes(decode->arena, bytes, &bytes))
        return no_memory(decode);
    *out = bytes;
    return true;
}

static bool
decode_value(sni_decode *decode, const sennit_codec_field *field, void *at)
{
    sennit_unpack *in = &decode->in;
    switch (field->kind) {
    case SENNIT_CODEC_BOOL:
        *(bool *)at = sennit_unpack_bool(in);
        break;
    case SENNIT_CODEC_U8:
        *(uint8_t *)at = (uint8_t)sennit_unpack_uint(in, UINT8_MAX);
        break;
    case SENNIT_CODEC_I8:
        *(int8_t *)at = (int8_t)sennit_unpack_int(in, INT8_MIN, INT8_MAX);
        break;
    case SENNIT_CODEC_U16:
        *(uint16_t *)at = (uint16_t)sennit_unpack_uint(in, UINT16_MAX);
        break;
    case SENNIT_CODEC_I16:
        *(int16_t *)at = (int16_t)sennit_unpack_int(in, INT16_MIN, INT16_MAX);
        break;
    case SENNIT_CODEC_U32:
        *(uint32_t *)at = (uint32_t)sennit_unpack_uint(in, UINT32_MAX);
        break;
    case SENNIT_CODEC_I32:
        *(int32_t *)at = (int32_t)sennit_unpack_int(in, INT32_MIN, INT32_MAX);
        break;
    case SENNIT_CODEC_U64:
        *(uint64_t *)at = sennit_unpack_uint(in, UINT64_MAX);
        break;
    case SENNIT_CODEC_F32:
        *(float *)at = sennit_unpack_f32(in);
        break;
    case SENNIT_CODEC_F64:
        *(double *)at = sennit_unpack_f64(in);
        break;
    case SENNIT_CODEC_STR:
        return decode_str(decode, at);
    case SENNIT_CODEC_BYTES:
        return decode_bytes(decode, at);
    case SENNIT_CODEC_TIME:
        *(int64_t *)at = sennit_codec_unpack_time(in);
        break;
    case SENNIT_CODEC_STRUCT:
        return decode_struct(decode, field->type, at);
    default:
        *(int64_t *)at = sennit_unpack_int(in, INT64_MIN, INT64_MAX);
        break;
    }
    return is_well(decode);
}

static bool
decode_list(sni_decode *decode, const sennit_codec_field *field, void *value)
{
    size_t offset = offset_now(decode);
    size_t count = sennit_unpack_array(&decode->in);
    if (!is_well(decode))
        return false;
    size_t size = element_size(field);
    if (count > decode->budget / size)
        return too_much_memory(decode, offset);
    decode->budget -= count * size;
    uint8_t *elements = count ? sennit_arena_array(decode->arena, count, size) : NULL;
    if (count && !elements)
        return no_memory(decode);
    for (size_t i = 0; i < count; i++) {
        if (decode_value(decode, field, elements + i * size))
            continue;
        path_prepend_index(&decode->path, i);
        return false;
    }
    memcpy(field_for(value, field->offset), &elements, sizeof(elements));
    *(size_t *)field_for(value, field->count_offset) = count;
    return true;
}

static bool
decode_field(sni_decode *decode, const sennit_codec_field *field, void *value)
{
    if (is_optional(field) && sennit_unpack_nil(&decode->in))
        return true;
    bool done = is_list(field)
                    ? decode_list(decode, field, value)
                    : decode_value(decode, field, field_for(value, field->offset));
    if (done && is_optional(field))
        *(bool *)field_for(value, field->has_offset) = true;
    if (!done)
        path_prepend_field(&decode->path, field);
    return done;
}

/* The index of a field number, or fields_count. Messages are written in ascending
 * order, so the one after the last is tried first. */
static uint32_t
find_field(const sennit_codec *codec, uint64_t number, uint32_t guess)
{
    if (guess < codec->fields_count && codec->fields[guess].number == number)
        return guess;
    uint32_t low = 0;
    uint32_t high = codec->fields_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (codec->fields[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < codec->fields_count && codec->fields[low].number == number;
    return found ? low : codec->fields_count;
}

/* Which fields of one struct were there already. */
typedef struct sni_seen {
    uint64_t few;  /* the first 64 */
    uint64_t *all; /* more than 64: in the arena */
} sni_seen;

static bool
seen_init(sni_decode *decode, const sennit_codec *codec, sni_seen *seen)
{
    *seen = (sni_seen){ 0, NULL };
    if (codec->fields_count <= 64)
        return true;
    size_t words = codec->fields_count / 64 + 1;
    if (words * sizeof(uint64_t) > decode->budget)
        return too_much_memory(decode, offset_now(decode));
    decode->budget -= words * sizeof(uint64_t);
    seen->all = sennit_arena_array(decode->arena, words, sizeof(uint64_t));
    return seen->all || no_memory(decode);
}

/* Marks a field; false when it was marked before. */
static bool
seen_mark(sni_seen *seen, uint32_t index)
{
    uint64_t *word = seen->all ? &seen->all[index / 64] : &seen->few;
    uint64_t bit = UINT64_C(1) << index % 64;
    bool first = !(*word & bit);
    *word |= bit;
    return first;
}

/* Fields nobody knows, which mostly stand in one piece at the end. */
typedef struct sni_unknown {
    sennit_bytes piece; /* the first run of them */
    size_t size;        /* of all; more than piece.size: there are several runs */
} sni_unknown;

static void
keep_unknown(sni_unknown *unknown, const uint8_t *begin, const uint8_t *end)
{
    size_t size = (size_t)(end - begin);
    if (!unknown->size)
        unknown->piece.data = begin;
    if (unknown->piece.size == unknown->size &&
        unknown->piece.data + unknown->piece.size == begin)
        unknown->piece.size += size;
    unknown->size += size;
}

/* Several runs of unknown fields become one, by a second walk over the map. */
static bool
join_unknown(sni_decode *decode, const sennit_codec *codec, const uint8_t *map,
             size_t size, sennit_bytes *out)
{
    uint8_t *joined = sennit_arena_alloc(decode->arena, size);
    if (!joined)
        return no_memory(decode);
    sennit_unpack in;
    sennit_unpack_init(&in, (sennit_bytes){ map, (size_t)(decode->in.at - map) });
    size_t at = 0;
    for (size_t left = sennit_unpack_map(&in); left; left--) {
        const uint8_t *begin = in.at;
        uint64_t number = sennit_unpack_uint(&in, UINT64_MAX);
        sennit_unpack_skip(&in);
        if (find_field(codec, number, 0) < codec->fields_count)
            continue;
        memcpy(joined + at, begin, (size_t)(in.at - begin));
        at += (size_t)(in.at - begin);
    }
    *out = (sennit_bytes){ joined, at };
    return true;
}

static bool
finish_unknown(sni_decode *decode, const sennit_codec *codec, const uint8_t *map,
               const sni_unknown *unknown, void *value)
{
    sennit_bytes *out = field_for(value, codec->unknown_offset);
    if (!unknown->size)
        return true;
    if (unknown->size != unknown->piece.size)
        return join_unknown(decode, codec, map, unknown->size, out);
    *out = unknown->piece;
    if (decode->copy && sennit_arena_copy_bytes(decode->arena, unknown->piece, out))
        return no_memory(decode);
    return true;
}

static bool
decode_struct(sni_decode *decode, const sennit_codec *codec, void *value)
{
    const uint8_t *map = decode->in.at;
    sni_unknown unknown = { { NULL, 0 }, 0 };
    sni_seen seen;
    uint32_t guess = 0;
    sennit_codec_init(codec, value);
    size_t left = sennit_unpack_map(&decode->in);
    if (!is_well(decode) || (left && !seen_init(decode, codec, &seen)))
        return false;
    for (; left; left--) {
        const uint8_t *pair = decode->in.at;
        size_t offset = offset_now(decode);
        sennit_pack_type type = sennit_unpack_peek(&decode->in);
        if (type != SENNIT_PACK_UINT)
            return fail(decode, SENNIT_EPROTO, "keys are field numbers", offset);
        uint64_t number = sennit_unpack_uint(&decode->in, UINT64_MAX);
        uint32_t index = find_field(codec, number, guess);
        if (index == codec->fields_count) {
            sennit_unpack_skip(&decode->in);
            if (!is_well(decode))
                return false;
            keep_unknown(&unknown, pair, decode->in.at);
            continue;
        }
        if (!seen_mark(&seen, index)) {
            path_prepend_field(&decode->path, &codec->fields[index]);
            return fail(decode, SENNIT_EPROTO, "the field is there twice", offset);
        }
        if (!decode_field(decode, &codec->fields[index], value))
            return false;
        guess = index + 1;
    }
    return finish_unknown(decode, codec, map, &unknown, value);
}

static sennit_err
decode_whole(const sennit_codec *codec, void *value, sennit_bytes in, sennit_arena *arena,
             bool copy, sennit_error *error)
{
    sni_decode decode = { .arena = arena, .copy = copy };
    path_init(&decode.path);
    decode.budget = SENNIT_CODEC_EXPANSION_FREE_BYTES;
    decode.budget += in.size > (SIZE_MAX - decode.budget) / SENNIT_CODEC_EXPANSION_MAX
                         ? SIZE_MAX - decode.budget
                         : in.size * SENNIT_CODEC_EXPANSION_MAX;
    decode.err = sennit_unpack_check(in, SENNIT_UNPACK_DEPTH_MAX, 0, &decode.reason,
                                     &decode.offset);
    sennit_unpack_init(&decode.in, in);
    if (!decode.err && decode_struct(&decode, codec, value))
        return SENNIT_OK;
    sennit_codec_init(codec, value);
    path_prepend(&decode.path, codec->name);
    if (error)
        sennit_error_set(
            error,
            decode.err == SENNIT_ENOMEM ? SENNIT_KIND_NO_MEMORY : SENNIT_KIND_BAD_MESSAGE,
            SENNIT_RAN_NEVER, "%s: %s (byte %zu)", decode.path.text + decode.path.begin,
            decode.reason, decode.offset);
    return decode.err;
}

sennit_err
sennit_codec_view(const sennit_codec *codec, void *value, sennit_bytes in,
                  sennit_arena *arena, sennit_error *error)
{
    return decode_whole(codec, value, in, arena, false, error);
}

sennit_err
sennit_codec_decode(const sennit_codec *codec, void *value, sennit_bytes in,
                    sennit_arena *arena, sennit_error *error)
{
    return decode_whole(codec, value, in, arena, true, error);
}

/* ---- Equal ------------------------------------------------------------ */

static bool equal_struct(const sennit_codec *codec, const void *a, const void *b,
                         unsigned depth);

static bool
equal_bytes(sennit_bytes a, sennit_bytes b)
{
    return a.size == b.size && (!a.size || !memcmp(a.data, b.data, a.size));
}

static bool
equal_value(const sennit_codec_field *field, const void *a, const void *b, unsigned depth)
{
    switch (field->kind) {
    case SENNIT_CODEC_STR:
        return sennit_str_equal(*(const sennit_str *)a, *(const sennit_str *)b);
    case SENNIT_CODEC_BYTES:
        return equal_bytes(*(const sennit_bytes *)a, *(const sennit_bytes *)b);
    case SENNIT_CODEC_STRUCT:
        return equal_struct(field->type, a, b, depth);
    default:
        return scalar_bits(field->kind, a) == scalar_bits(field->kind, b);
    }
}

static bool
equal_field(const sennit_codec_field *field, const void *a, const void *b, unsigned depth)
{
    if (is_optional(field)) {
        if (is_present(field, a) != is_present(field, b))
            return false;
        if (!is_present(field, a))
            return true;
    }
    if (!is_list(field))
        return equal_value(field, field_at(a, field->offset), field_at(b, field->offset),
                           depth);
    size_t count = list_count(field, a);
    if (count != list_count(field, b))
        return false;
    const uint8_t *left = list_elements(field, a);
    const uint8_t *right = list_elements(field, b);
    for (size_t i = 0; i < count; i++) {
        size_t at = i * element_size(field);
        if (!equal_value(field, left + at, right + at, depth))
            return false;
    }
    return true;
}

/* Values deeper than the wire allows are never equal. */
static bool
equal_struct(const sennit_codec *codec, const void *a, const void *b, unsigned depth)
{
    if (depth >= SENNIT_UNPACK_DEPTH_MAX)
        return false;
    for (uint32_t i = 0; i < codec->fields_count; i++)
        if (!equal_field(&codec->fields[i], a, b, depth + 1))
            return false;
    return equal_bytes(*unknown_of(codec, a), *unknown_of(codec, b));
}

bool
sennit_codec_equal(const sennit_codec *codec, const void *a, const void *b)
{
    return equal_struct(codec, a, b, 0);
}

/* ---- Text ------------------------------------------------------------- */

static void print_struct(const sennit_codec *codec, const void *value, sennit_buf *out,
                         unsigned depth);

static void
print_text(sennit_buf *out, const char *text)
{
    sennit_buf_append(out, text, strlen(text));
}

/* Control characters and quotes are escaped, so that a value stays on its line. */
static void
print_str(sennit_buf *out, sennit_str text)
{
    sennit_buf_append(out, "\"", 1);
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.data[i];
        char escaped[8];
        if (c == '"' || c == '\\')
            snprintf(escaped, sizeof(escaped), "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            snprintf(escaped, sizeof(escaped), "\\x%02x", c);
        else
            snprintf(escaped, sizeof(escaped), "%c", c);
        print_text(out, escaped);
    }
    sennit_buf_append(out, "\"", 1);
}

static void
print_value(const sennit_codec_field *field, const void *at, sennit_buf *out,
            unsigned depth)
{
    char text[48] = "";
    switch (field->kind) {
    case SENNIT_CODEC_BOOL:
        snprintf(text, sizeof(text), "%s", *(const bool *)at ? "true" : "false");
        break;
    case SENNIT_CODEC_U8:
    case SENNIT_CODEC_U16:
    case SENNIT_CODEC_U32:
    case SENNIT_CODEC_U64:
        snprintf(text, sizeof(text), "%" PRIu64, scalar_bits(field->kind, at));
        break;
    case SENNIT_CODEC_F32:
        snprintf(text, sizeof(text), "%.9g", (double)*(const float *)at);
        break;
    case SENNIT_CODEC_F64:
        snprintf(text, sizeof(text), "%.17g", *(const double *)at);
        break;
    case SENNIT_CODEC_STR:
        print_str(out, *(const sennit_str *)at);
        return;
    case SENNIT_CODEC_BYTES:
        snprintf(text, sizeof(text), "<%zu bytes>", ((const sennit_bytes *)at)->size);
        break;
    case SENNIT_CODEC_STRUCT:
        print_struct(field->type, at, out, depth);
        return;
    case SENNIT_CODEC_TIME:
    case SENNIT_CODEC_DURATION:
        snprintf(text, sizeof(text), "%" PRId64 "ns", *(const int64_t *)at);
        break;
    default:
        snprintf(text, sizeof(text), "%" PRId64, (int64_t)scalar_bits(field->kind, at));
        break;
    }
    print_text(out, text);
}

static void
print_field(const sennit_codec_field *field, const void *value, sennit_buf *out,
            unsigned depth)
{
    print_text(out, field->name);
    print_text(out, ": ");
    if (!is_list(field)) {
        print_value(field, field_at(value, field->offset), out, depth);
        return;
    }
    size_t count = list_count(field, value);
    const uint8_t *element = list_elements(field, value);
    print_text(out, "[");
    for (size_t i = 0; i < count; i++, element += element_size(field)) {
        print_text(out, i ? ", " : "");
        print_value(field, element, out, depth);
    }
    print_text(out, "]");
}

static void
print_struct(const sennit_codec *codec, const void *value, sennit_buf *out,
             unsigned depth)
{
    bool first = true;
    print_text(out, codec->name);
    if (depth >= SENNIT_UNPACK_DEPTH_MAX) {
        print_text(out, "{...}");
        return;
    }
    print_text(out, "{");
    for (uint32_t i = 0; i < codec->fields_count; i++) {
        if (is_left_out(&codec->fields[i], value))
            continue;
        print_text(out, first ? "" : ", ");
        print_field(&codec->fields[i], value, out, depth + 1);
        first = false;
    }
    if (unknown_of(codec, value)->size)
        print_text(out, first ? "<unknown fields>" : ", <unknown fields>");
    print_text(out, "}");
}

void
sennit_codec_print(const sennit_codec *codec, const void *value, sennit_buf *out)
{
    print_struct(codec, value, out, 0);
}
