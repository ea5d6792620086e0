/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CODEGEN_RUNTIME_FIELDS_H
#define SENNIT_CODEGEN_RUNTIME_FIELDS_H

/* Values as the tables see them: places in a struct, and what is left out. */

#include <string.h>

#include <sennit/codec.h>

static inline const void *
field_at(const void *value, uint32_t offset)
{
    return (const uint8_t *)value + offset;
}

static inline void *
field_for(void *value, uint32_t offset)
{
    return (uint8_t *)value + offset;
}

static inline bool
is_list(const sennit_codec_field *field)
{
    return field->flags & SENNIT_CODEC_LIST;
}

static inline bool
is_optional(const sennit_codec_field *field)
{
    return field->flags & SENNIT_CODEC_OPTIONAL;
}

static inline bool
is_present(const sennit_codec_field *field, const void *value)
{
    return *(const bool *)field_at(value, field->has_offset);
}

static inline size_t
list_count(const sennit_codec_field *field, const void *value)
{
    return *(const size_t *)field_at(value, field->count_offset);
}

/* The pointer to a list's elements. Its type differs by field, so it is read and
 * written as bytes. */
static inline const void *
list_elements(const sennit_codec_field *field, const void *value)
{
    const void *elements;
    memcpy(&elements, field_at(value, field->offset), sizeof(elements));
    return elements;
}

static inline const sennit_bytes *
unknown_of(const sennit_codec *codec, const void *value)
{
    return (const sennit_bytes *)field_at(value, codec->unknown_offset);
}

/* Bytes of one element of a list. */
size_t sni_codec_element_size(const sennit_codec_field *field);

/* A number, bool, time or duration as 64 bits; floats as their own bits. */
uint64_t sni_codec_bits(uint8_t kind, const void *at);

/* Whether a field is left out on the wire: absent, or equal to its default. */
bool sni_codec_is_left_out(const sennit_codec_field *field, const void *value);

/* Bytes of a time on the wire. */
size_t sni_codec_time_size(int64_t ns);

#endif /* SENNIT_CODEGEN_RUNTIME_FIELDS_H */
