/* SPDX-License-Identifier: MIT */
/* Sizes and messages from values. The depth is bounded by the wire's own bound, so a
 * value that contains itself through a list ends as well. */
#include "fields.h"
#include "path.h"

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
        return sennit_pack_uint_size(sni_codec_bits(field->kind, at));
    case SENNIT_CODEC_F32:
        return 5;
    case SENNIT_CODEC_F64:
        return 9;
    case SENNIT_CODEC_STR:
        return sennit_pack_str_size(((const sennit_str *)at)->size);
    case SENNIT_CODEC_BYTES:
        return sennit_pack_bin_size(((const sennit_bytes *)at)->size);
    case SENNIT_CODEC_TIME:
        return sni_codec_time_size(*(const int64_t *)at);
    case SENNIT_CODEC_STRUCT:
        return struct_size(field->type, at, depth);
    default:
        return sennit_pack_int_size((int64_t)sni_codec_bits(field->kind, at));
    }
}

static size_t
list_size(const sennit_codec_field *field, const void *value, unsigned depth)
{
    size_t count = list_count(field, value);
    const uint8_t *element = list_elements(field, value);
    size_t size = sennit_pack_array_size(count);
    for (size_t i = 0; i < count; i++, element += sni_codec_element_size(field))
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
        if (sni_codec_is_left_out(field, value))
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

/* ---- Messages --------------------------------------------------------- */

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
        sennit_pack_uint(out, sni_codec_bits(field->kind, at));
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
        sennit_pack_int(out, (int64_t)sni_codec_bits(field->kind, at));
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
    for (size_t i = 0; i < count; i++, element += sni_codec_element_size(field)) {
        if (encode_value(encode, field, element, depth + 1))
            continue;
        sni_path_prepend_index(&encode->path, i);
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
        sni_path_prepend_field(&encode->path, field);
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
        count += !sni_codec_is_left_out(&codec->fields[i], value);
    sennit_pack_map(encode->out, count);
    for (uint32_t i = 0; i < codec->fields_count; i++) {
        const sennit_codec_field *field = &codec->fields[i];
        if (!sni_codec_is_left_out(field, value) &&
            !encode_field(encode, field, value, depth + 1))
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
    sni_path_init(&encode.path);
    if (encode_struct(&encode, codec, value, 0))
        return SENNIT_OK;
    out->size = before;
    sni_path_prepend(&encode.path, codec->name);
    if (!out->err)
        out->err = SENNIT_EINVAL;
    sennit_kind kind = out->err == SENNIT_ENOMEM     ? SENNIT_KIND_NO_MEMORY
                       : out->err == SENNIT_EMSGSIZE ? SENNIT_KIND_TOO_LARGE
                                                     : SENNIT_KIND_BAD_MESSAGE;
    if (error)
        sennit_error_set(error, kind, SENNIT_RAN_NEVER, "%s: %s",
                         sni_path_text(&encode.path),
                         encode.reason ? encode.reason : sennit_err_text(out->err));
    return out->err;
}
