/* SPDX-License-Identifier: MIT */
/* What every walk over a table needs. Each goes field by field and recurses into
 * structs. */
#include "fields.h"

size_t
sni_codec_element_size(const sennit_codec_field *field)
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

uint64_t
sni_codec_bits(uint8_t kind, const void *at)
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
set_bits(uint8_t kind, void *at, uint64_t bits)
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
        set_bits(field->kind, at, field->fallback);
}

void
sennit_codec_init(const sennit_codec *codec, void *value)
{
    memset(value, 0, codec->size);
    for (uint32_t i = 0; i < codec->fields_count; i++)
        init_field(&codec->fields[i], value);
}

static bool is_default(const sennit_codec *codec, const void *value);

bool
sni_codec_is_left_out(const sennit_codec_field *field, const void *value)
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
        return sni_codec_bits(field->kind, at) == field->fallback;
    }
}

/* Structs by value cannot contain themselves, so this needs no bound. */
static bool
is_default(const sennit_codec *codec, const void *value)
{
    for (uint32_t i = 0; i < codec->fields_count; i++)
        if (!sni_codec_is_left_out(&codec->fields[i], value))
            return false;
    return !unknown_of(codec, value)->size;
}
