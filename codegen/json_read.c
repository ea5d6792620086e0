/* SPDX-License-Identifier: MIT */
/* From message bodies to JSON: a walk along msgpack, by the model. */
#include "json_walk.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <sennit/codec.h>

#include "json_text.h"

/* Numbers beyond this are not safe in other programs' JSON. */
#define JSON_SAFE_MAX (INT64_C(1) << 53)

static json_t *read_struct(sni_json_walk *walk, const sni_idl_struct *structure,
                           sennit_unpack *in);

/* Takes over the cursor's failure. */
static bool
is_well(sni_json_walk *walk, const sennit_unpack *in)
{
    if (!in->err)
        return true;
    return sni_json_fail(walk, SENNIT_EPROTO, "%s (byte %zu)", in->reason, in->offset);
}

/* `json`, or a failure for lack of memory. */
static json_t *
made(sni_json_walk *walk, json_t *json)
{
    if (!json)
        sni_json_no_memory(walk);
    return json;
}

static json_t *
unsigned_json(uint64_t number)
{
    char text[24];
    if (number <= (uint64_t)JSON_SAFE_MAX)
        return json_integer((json_int_t)number);
    snprintf(text, sizeof(text), "%" PRIu64, number);
    return json_string(text);
}

static json_t *
signed_json(int64_t number)
{
    char text[24];
    if (number <= JSON_SAFE_MAX && number >= -JSON_SAFE_MAX)
        return json_integer((json_int_t)number);
    snprintf(text, sizeof(text), "%" PRId64, number);
    return json_string(text);
}

static uint64_t
read_integer(sennit_unpack *in, sni_idl_kind kind)
{
    unsigned bits = sni_idl_kind_bits(kind);
    if (!sni_idl_kind_is_signed(kind))
        return sennit_unpack_uint(in, UINT64_MAX >> (64 - bits));
    return (uint64_t)sennit_unpack_int(in, INT64_MIN >> (64 - bits),
                                       INT64_MAX >> (64 - bits));
}

static json_t *
integer_json(sni_idl_kind kind, uint64_t bits)
{
    return sni_idl_kind_is_signed(kind) ? signed_json((int64_t)bits)
                                        : unsigned_json(bits);
}

static json_t *
float_json(double number)
{
    if (isnan(number))
        return json_string("NaN");
    if (isinf(number))
        return json_string(number < 0 ? "-Infinity" : "Infinity");
    return json_real(number);
}

/* The names of all bits, or NULL when one has none. */
static json_t *
flag_names(const sni_idl_enum *enumeration, uint64_t bits)
{
    uint64_t left = bits;
    json_t *names = json_array();
    for (size_t i = 0; names && i < enumeration->values_count; i++) {
        uint64_t flag = enumeration->values[i].bits;
        if (!flag || (bits & flag) != flag || !(left & flag))
            continue;
        left &= ~flag;
        if (json_array_append_new(names, json_string(enumeration->values[i].naming.name)))
            left = bits | 1;
    }
    if (!left)
        return names;
    json_decref(names);
    return NULL;
}

static json_t *
enum_json(const sni_idl_enum *enumeration, uint64_t bits)
{
    if (enumeration->flags) {
        json_t *names = flag_names(enumeration, bits);
        return names ? names : integer_json(enumeration->base, bits);
    }
    for (size_t i = 0; i < enumeration->values_count; i++)
        if (enumeration->values[i].bits == bits)
            return json_string(enumeration->values[i].naming.name);
    return integer_json(enumeration->base, bits);
}

static json_t *
bytes_json(sennit_bytes bytes)
{
    sennit_buf text;
    sennit_buf_init(&text, NULL);
    sni_base64_encode(bytes, &text);
    json_t *json = text.err ? NULL : json_stringn((const char *)text.data, text.size);
    if (!text.size && !text.err) {
        json_decref(json);
        json = json_string("");
    }
    sennit_buf_fini(&text);
    return json;
}

static json_t *
read_time(sni_json_walk *walk, sennit_unpack *in)
{
    char text[48];
    int64_t ns = sennit_codec_unpack_time(in);
    if (!is_well(walk, in))
        return NULL;
    sni_time_text(ns, text, sizeof(text));
    return made(walk, json_string(text));
}

static json_t *
read_str(sni_json_walk *walk, sennit_unpack *in)
{
    sennit_str text = sennit_unpack_str(in);
    if (!is_well(walk, in))
        return NULL;
    if (!sennit_str_is_utf8(text)) {
        sni_json_fail(walk, SENNIT_EPROTO, "the text is not UTF-8");
        return NULL;
    }
    return made(walk, text.size ? json_stringn(text.data, text.size) : json_string(""));
}

static json_t *
read_scalar(sni_json_walk *walk, const sni_idl_type *type, sennit_unpack *in)
{
    char text[48];
    json_t *json;
    if (type->kind == SNI_IDL_ENUM)
        json = enum_json(type->enumeration, read_integer(in, type->enumeration->base));
    else if (type->kind == SNI_IDL_BOOL)
        json = json_boolean(sennit_unpack_bool(in));
    else if (type->kind == SNI_IDL_F32)
        json = float_json((double)sennit_unpack_f32(in));
    else if (type->kind == SNI_IDL_F64)
        json = float_json(sennit_unpack_f64(in));
    else if (type->kind == SNI_IDL_BYTES)
        json = bytes_json(sennit_unpack_bin(in));
    else if (type->kind == SNI_IDL_DURATION) {
        sni_duration_text(sennit_unpack_int(in, INT64_MIN, INT64_MAX), text,
                          sizeof(text));
        json = json_string(text);
    } else
        json = integer_json(type->kind, read_integer(in, type->kind));
    if (is_well(walk, in))
        return made(walk, json);
    json_decref(json);
    return NULL;
}

static json_t *read_list(sni_json_walk *walk, const sni_idl_type *type,
                         sennit_unpack *in);

static json_t *
read_value(sni_json_walk *walk, const sni_idl_type *type, sennit_unpack *in)
{
    switch (type->kind) {
    case SNI_IDL_STR:
        return read_str(walk, in);
    case SNI_IDL_TIME:
        return read_time(walk, in);
    case SNI_IDL_STRUCT:
        return read_struct(walk, type->structure, in);
    case SNI_IDL_LIST:
        return read_list(walk, type, in);
    default: /* one value each */
        return read_scalar(walk, type, in);
    }
}

static json_t *
read_list(sni_json_walk *walk, const sni_idl_type *type, sennit_unpack *in)
{
    size_t count = sennit_unpack_array(in);
    json_t *list = is_well(walk, in) ? made(walk, json_array()) : NULL;
    for (size_t i = 0; list && i < count; i++) {
        size_t before = sni_json_enter(walk, "[%zu]", NULL, i);
        json_t *element = read_value(walk, type->element, in);
        if (!element || json_array_append_new(list, element)) {
            sni_json_no_memory(walk); /* unless the element failed, and said so */
            json_decref(list);
            return NULL;
        }
        sni_json_leave(walk, before);
    }
    return list;
}

/* What a field is when the message does not have it. */
static json_t *
default_json(const sni_idl_field *field)
{
    sni_json_walk walk;
    sni_idl_json_error ignored;
    sennit_buf buf;
    sennit_unpack in;
    json_t *json = NULL;
    memset(&walk, 0, sizeof(walk));
    walk.error = &ignored;
    sennit_buf_init(&buf, NULL);
    sni_json_default(field, &buf);
    if (!buf.err) {
        sennit_unpack_init(&in, sennit_buf_bytes(&buf));
        json = read_value(&walk, &field->type, &in);
    }
    sennit_buf_fini(&buf);
    return json;
}

static const sni_idl_field *
find_number(const sni_idl_struct *structure, uint64_t number)
{
    size_t low = 0;
    size_t high = structure->fields_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (structure->fields[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < structure->fields_count && structure->fields[low].number == number;
    return found ? &structure->fields[low] : NULL;
}

static bool
read_unknown(sni_json_walk *walk, uint64_t number, sennit_unpack *in, json_t *object)
{
    char key[24];
    snprintf(key, sizeof(key), "#%" PRIu64, number);
    json_t *raw = bytes_json(sennit_unpack_raw(in));
    if (!is_well(walk, in)) {
        json_decref(raw);
        return false;
    }
    return json_object_set_new(object, key, raw) ? sni_json_no_memory(walk) : true;
}

static bool
read_pair(sni_json_walk *walk, const sni_idl_struct *structure, sennit_unpack *in,
          json_t *object)
{
    if (sennit_unpack_peek(in) != SENNIT_PACK_UINT)
        return sni_json_fail(walk, SENNIT_EPROTO, "keys are field numbers");
    uint64_t number = sennit_unpack_uint(in, UINT64_MAX);
    const sni_idl_field *field = find_number(structure, number);
    if (!field)
        return read_unknown(walk, number, in, object);
    size_t before = sni_json_enter(walk, ".%s", field->naming.name, 0);
    if (json_object_get(object, field->naming.name))
        return sni_json_fail(walk, SENNIT_EPROTO, "the field is there twice");
    if (!field->type.optional || !sennit_unpack_nil(in)) {
        json_t *value = read_value(walk, &field->type, in);
        if (!value || json_object_set_new(object, field->naming.name, value))
            return sni_json_no_memory(walk); /* unless it failed, and said so */
    }
    sni_json_leave(walk, before);
    return true;
}

/* A copy in the order of the schema, with defaults for what is not there. */
static json_t *
complete(sni_json_walk *walk, const sni_idl_struct *structure, json_t *found)
{
    json_t *whole = made(walk, json_object());
    for (size_t i = 0; whole && i < structure->fields_count; i++) {
        const sni_idl_field *field = &structure->fields[i];
        const char *name = field->naming.name;
        json_t *value = json_object_get(found, name);
        if (!value && field->type.optional)
            continue;
        json_t *given = value ? json_incref(value) : default_json(field);
        if (!given || json_object_set_new(whole, name, given))
            sni_json_no_memory(walk);
        json_object_del(found, name);
    }
    if (whole && json_object_update(whole, found)) /* the unknown ones */
        sni_json_no_memory(walk);
    if (!walk->err)
        return whole;
    json_decref(whole);
    return NULL;
}

static json_t *
read_struct(sni_json_walk *walk, const sni_idl_struct *structure, sennit_unpack *in)
{
    size_t count = sennit_unpack_map(in);
    json_t *found = is_well(walk, in) ? made(walk, json_object()) : NULL;
    json_t *whole = NULL;
    bool good = found != NULL;
    for (; good && count; count--)
        good = read_pair(walk, structure, in, found);
    if (good)
        whole = complete(walk, structure, found);
    json_decref(found);
    return whole;
}

sennit_err
sni_idl_body_to_json(const sni_idl_struct *structure, sennit_bytes body, json_t **out,
                     sni_idl_json_error *error)
{
    sni_json_walk walk;
    sennit_unpack in;
    const char *reason = "";
    size_t offset = 0;
    sni_json_walk_init(&walk, structure, error);
    if (sennit_unpack_check(body, SENNIT_UNPACK_DEPTH_MAX, 0, &reason, &offset)) {
        sni_json_fail(&walk, SENNIT_EPROTO, "%s (byte %zu)", reason, offset);
        return walk.err;
    }
    sennit_unpack_init(&in, body);
    json_t *json = read_struct(&walk, structure, &in);
    if (!json)
        return walk.err;
    *out = json;
    return SENNIT_OK;
}
