/* SPDX-License-Identifier: MIT */
/* Whether two values are the same. */
#include "fields.h"

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
        return sni_codec_bits(field->kind, a) == sni_codec_bits(field->kind, b);
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
        size_t at = i * sni_codec_element_size(field);
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
