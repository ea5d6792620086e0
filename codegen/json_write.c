/* SPDX-License-Identifier: MIT */
/* From JSON to message bodies: a walk along the model, writing msgpack. */
#include "json_walk.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <sennit/codec.h>

#include "json_text.h"
#include "suggest.h"

static bool write_struct(sni_json_walk *walk, const sni_idl_struct *structure,
                         const json_t *json, sennit_buf *out, unsigned depth);

static const char *
json_kind(const json_t *json)
{
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "a list";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "true or false";
    case JSON_NULL:
        return "null";
    }
    return "something";
}

static bool
wrong(sni_json_walk *walk, const json_t *json, const char *wanted)
{
    return sni_json_fail(walk, SENNIT_EINVAL, "%s was expected, not %s", wanted,
                         json_kind(json));
}

/* A C string in a JSON string; NULL when it is none or has a NUL inside. */
static const char *
plain_text(const json_t *json)
{
    const char *text = json_string_value(json);
    return text && strlen(text) == json_string_length(json) ? text : NULL;
}

static bool
write_integer(sni_json_walk *walk, sni_idl_kind kind, const json_t *json, sennit_buf *out)
{
    bool negative;
    uint64_t magnitude;
    if (json_is_integer(json)) {
        json_int_t number = json_integer_value(json);
        negative = number < 0;
        magnitude = negative ? 0 - (uint64_t)number : (uint64_t)number;
    } else {
        const char *text = plain_text(json);
        const char *end = text ? sni_number_parse(text, &negative, &magnitude) : NULL;
        if (!end || *end)
            return wrong(walk, json, "a whole number");
    }
    if (!sni_idl_number_fits(kind, negative, magnitude))
        return sni_json_fail(walk, SENNIT_EINVAL, "the number does not fit %s",
                             sni_idl_kind_name(kind));
    if (sni_idl_kind_is_signed(kind))
        sennit_pack_int(out, (int64_t)(negative ? 0 - magnitude : magnitude));
    else
        sennit_pack_uint(out, magnitude);
    return true;
}

static bool
write_float(sni_json_walk *walk, sni_idl_kind kind, const json_t *json, sennit_buf *out)
{
    double number = json_number_value(json);
    const char *text = plain_text(json);
    bool overflows = kind == SNI_IDL_F32 && isfinite(number) && isinf((float)number);
    if (text && !strcmp(text, "NaN"))
        number = (double)NAN;
    else if (text && !strcmp(text, "Infinity"))
        number = (double)INFINITY;
    else if (text && !strcmp(text, "-Infinity"))
        number = -(double)INFINITY;
    else if (!json_is_number(json))
        return wrong(walk, json, "a number");
    if (overflows)
        return sni_json_fail(walk, SENNIT_EINVAL, "the number does not fit f32");
    if (kind == SNI_IDL_F32)
        sennit_pack_f32(out, (float)number);
    else
        sennit_pack_f64(out, number);
    return true;
}

static bool
write_bytes(sni_json_walk *walk, const json_t *json, sennit_buf *out)
{
    sennit_buf bytes;
    bool good = json_is_string(json);
    if (!good)
        return wrong(walk, json, "base64");
    sennit_buf_init(&bytes, NULL);
    good = sni_base64_decode(json_string_value(json), json_string_length(json), &bytes);
    if (!good)
        sni_json_fail(walk, SENNIT_EINVAL, "this is not base64");
    else if (bytes.err)
        sni_json_no_memory(walk);
    else
        sennit_pack_bin(out, sennit_buf_bytes(&bytes));
    sennit_buf_fini(&bytes);
    return !walk->err;
}

static bool
find_enumerator(sni_json_walk *walk, const sni_idl_enum *enumeration, const char *name,
                uint64_t *bits)
{
    sni_idl_suggestion suggestion = { name, NULL, 0 };
    for (size_t i = 0; i < enumeration->values_count; i++) {
        if (!strcmp(enumeration->values[i].naming.name, name)) {
            *bits = enumeration->values[i].bits;
            return true;
        }
        sni_idl_suggestion_try(&suggestion, enumeration->values[i].naming.name);
    }
    return sni_json_fail(
        walk, SENNIT_EINVAL, "%s has no value '%.60s'%s%s%s", enumeration->naming.name,
        name, suggestion.best ? "; did you mean '" : "",
        suggestion.best ? suggestion.best : "", suggestion.best ? "'?" : "");
}

static bool
write_enum(sni_json_walk *walk, const sni_idl_enum *enumeration, const json_t *json,
           sennit_buf *out)
{
    uint64_t bits = 0;
    const char *name = plain_text(json);
    if (json_is_integer(json))
        return write_integer(walk, enumeration->base, json, out);
    if (enumeration->flags && json_is_array(json)) {
        for (size_t i = 0; i < json_array_size(json); i++) {
            uint64_t one = 0;
            const char *each = plain_text(json_array_get(json, i));
            if (!each)
                return wrong(walk, json_array_get(json, i), "the name of a flag");
            if (!find_enumerator(walk, enumeration, each, &one))
                return false;
            bits |= one;
        }
    } else if (!name) {
        return wrong(walk, json, "the name of a value");
    } else if (!find_enumerator(walk, enumeration, name, &bits)) {
        return false;
    }
    if (sni_idl_kind_is_signed(enumeration->base))
        sennit_pack_int(out, (int64_t)bits);
    else
        sennit_pack_uint(out, bits);
    return true;
}

static bool
write_time(sni_json_walk *walk, const json_t *json, sennit_buf *out)
{
    int64_t ns;
    const char *text = plain_text(json);
    if (!text)
        return wrong(walk, json, "a time, as in \"2026-11-30T12:00:00Z\",");
    if (!sni_time_parse(text, &ns))
        return sni_json_fail(walk, SENNIT_EINVAL,
                             "'%.40s' is not a time; write it as in 2026-11-30T12:00:00Z",
                             text);
    sennit_codec_pack_time(out, ns);
    return true;
}

static bool
write_duration(sni_json_walk *walk, const json_t *json, sennit_buf *out)
{
    int64_t ns;
    const char *text = plain_text(json);
    if (!text)
        return wrong(walk, json, "a duration, as in \"250ms\",");
    if (!sni_duration_parse(text, &ns))
        return sni_json_fail(walk, SENNIT_EINVAL,
                             "'%.40s' is not a duration; units are ns us ms s m h", text);
    sennit_pack_int(out, ns);
    return true;
}

static bool write_list(sni_json_walk *walk, const sni_idl_type *type, const json_t *json,
                       sennit_buf *out, unsigned depth);

static bool
write_value(sni_json_walk *walk, const sni_idl_type *type, const json_t *json,
            sennit_buf *out, unsigned depth)
{
    switch (type->kind) {
    case SNI_IDL_BOOL:
        if (!json_is_boolean(json))
            return wrong(walk, json, "true or false");
        sennit_pack_bool(out, json_is_true(json));
        return true;
    case SNI_IDL_U8:
    case SNI_IDL_I8:
    case SNI_IDL_U16:
    case SNI_IDL_I16:
    case SNI_IDL_U32:
    case SNI_IDL_I32:
    case SNI_IDL_U64:
    case SNI_IDL_I64:
        return write_integer(walk, type->kind, json, out);
    case SNI_IDL_F32:
    case SNI_IDL_F64:
        return write_float(walk, type->kind, json, out);
    case SNI_IDL_STR:
        if (!json_is_string(json))
            return wrong(walk, json, "a string");
        sennit_pack_str(
            out, (sennit_str){ json_string_value(json), json_string_length(json) });
        return true;
    case SNI_IDL_BYTES:
        return write_bytes(walk, json, out);
    case SNI_IDL_TIME:
        return write_time(walk, json, out);
    case SNI_IDL_DURATION:
        return write_duration(walk, json, out);
    case SNI_IDL_ENUM:
        return write_enum(walk, type->enumeration, json, out);
    case SNI_IDL_STRUCT:
        return write_struct(walk, type->structure, json, out, depth);
    case SNI_IDL_LIST:
        return write_list(walk, type, json, out, depth);
    }
    return false;
}

static bool
write_list(sni_json_walk *walk, const sni_idl_type *type, const json_t *json,
           sennit_buf *out, unsigned depth)
{
    if (!json_is_array(json))
        return wrong(walk, json, "a list");
    if (depth >= SENNIT_UNPACK_DEPTH_MAX)
        return sni_json_fail(walk, SENNIT_EINVAL, "nested too deep");
    size_t count = json_array_size(json);
    sennit_pack_array(out, count);
    for (size_t i = 0; i < count; i++) {
        size_t before = sni_json_enter(walk, "[%zu]", NULL, i);
        if (!write_value(walk, type->element, json_array_get(json, i), out, depth + 1))
            return false;
        sni_json_leave(walk, before);
    }
    return true;
}

static bool
is_default(const sni_idl_field *field, const uint8_t *value, size_t size)
{
    sennit_buf buf;
    if (field->type.optional)
        return false;
    sennit_buf_init(&buf, NULL);
    sni_json_default(field, &buf);
    bool same = !buf.err && buf.size == size && !memcmp(buf.data, value, size);
    sennit_buf_fini(&buf);
    return same;
}

/* Appends one pair, unless the value is the default. */
static bool
write_field(sni_json_walk *walk, const sni_idl_field *field, const json_t *json,
            sennit_buf *out, size_t *count, unsigned depth)
{
    size_t pair = out->size;
    size_t before = sni_json_enter(walk, ".%s", field->naming.name, 0);
    sennit_pack_uint(out, field->number);
    size_t value = out->size;
    if (!write_value(walk, &field->type, json, out, depth + 1))
        return false;
    sni_json_leave(walk, before);
    if (out->err)
        return true; /* told once, at the end */
    if (is_default(field, out->data + value, out->size - value))
        out->size = pair;
    else
        ++*count;
    return true;
}

static const sni_idl_field *
find_field(const sni_idl_struct *structure, const char *name)
{
    for (size_t i = 0; i < structure->fields_count; i++)
        if (!strcmp(structure->fields[i].naming.name, name))
            return &structure->fields[i];
    return NULL;
}

/* "#9": a field the schema does not have, base64 of one msgpack value. */
static bool
write_unknown(sni_json_walk *walk, const sni_idl_struct *structure, const char *key,
              const json_t *json, sennit_buf *out)
{
    bool negative;
    uint64_t number = 0;
    sennit_buf raw;
    const char *end = sni_number_parse(key + 1, &negative, &number);
    bool good = end && !*end && !negative;
    for (size_t i = 0; good && i < structure->fields_count; i++)
        if (structure->fields[i].number == number)
            return sni_json_fail(walk, SENNIT_EINVAL,
                                 "field %" PRIu64 " has a name: '%s'", number,
                                 structure->fields[i].naming.name);
    if (!good || !json_is_string(json))
        return sni_json_fail(walk, SENNIT_EINVAL,
                             "'%.60s' is no unknown field; write \"#9\": \"base64\"",
                             key);
    sennit_buf_init(&raw, NULL);
    good = sni_base64_decode(json_string_value(json), json_string_length(json), &raw);
    if (raw.err)
        sni_json_no_memory(walk);
    else if (!good || sennit_unpack_check(sennit_buf_bytes(&raw), SENNIT_UNPACK_DEPTH_MAX,
                                          0, NULL, NULL))
        sni_json_fail(walk, SENNIT_EINVAL, "'%.60s' is not base64 of one msgpack value",
                      key);
    sennit_pack_uint(out, number);
    sennit_pack_raw(out, sennit_buf_bytes(&raw));
    sennit_buf_fini(&raw);
    return !walk->err;
}

static bool
report_no_field(sni_json_walk *walk, const sni_idl_struct *structure, const char *key)
{
    sni_idl_suggestion suggestion = { key, NULL, 0 };
    for (size_t i = 0; i < structure->fields_count; i++)
        sni_idl_suggestion_try(&suggestion, structure->fields[i].naming.name);
    return sni_json_fail(walk, SENNIT_EINVAL, "there is no field '%.60s'%s%s%s", key,
                         suggestion.best ? "; did you mean '" : "",
                         suggestion.best ? suggestion.best : "",
                         suggestion.best ? "'?" : "");
}

/* Pairs of unknown fields, and a check that every key is one or has a field. */
static bool
write_other_keys(sni_json_walk *walk, const sni_idl_struct *structure, const json_t *json,
                 sennit_buf *out, size_t *count)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)json, key, value)
    {
        if (find_field(structure, key))
            continue;
        if (key[0] != '#')
            return report_no_field(walk, structure, key);
        if (!write_unknown(walk, structure, key, value, out))
            return false;
        ++*count;
    }
    return true;
}

static bool
write_pairs(sni_json_walk *walk, const sni_idl_struct *structure, const json_t *json,
            sennit_buf *out, size_t *count, unsigned depth)
{
    for (size_t i = 0; i < structure->fields_count; i++) {
        const sni_idl_field *field = &structure->fields[i];
        const json_t *value = json_object_get(json, field->naming.name);
        if (value && !json_is_null(value) &&
            !write_field(walk, field, value, out, count, depth))
            return false;
    }
    return write_other_keys(walk, structure, json, out, count);
}

static bool
write_struct(sni_json_walk *walk, const sni_idl_struct *structure, const json_t *json,
             sennit_buf *out, unsigned depth)
{
    sennit_buf pairs; /* the head in front of them says how many there are */
    size_t count = 0;
    if (!json_is_object(json))
        return wrong(walk, json, "an object");
    if (depth >= SENNIT_UNPACK_DEPTH_MAX)
        return sni_json_fail(walk, SENNIT_EINVAL, "nested too deep");
    sennit_buf_init(&pairs, NULL);
    if (write_pairs(walk, structure, json, &pairs, &count, depth)) {
        if (pairs.err)
            sni_json_no_memory(walk);
        sennit_pack_map(out, count);
        sennit_pack_raw(out, sennit_buf_bytes(&pairs));
    }
    sennit_buf_fini(&pairs);
    return !walk->err;
}

sennit_err
sni_idl_json_to_body(const sni_idl_struct *structure, const json_t *json, sennit_buf *out,
                     sni_idl_json_error *error)
{
    sni_json_walk walk;
    size_t before = out->size;
    sni_json_walk_init(&walk, structure, error);
    if (write_struct(&walk, structure, json, out, 0) && out->err)
        sni_json_fail(&walk, out->err, "%s", sennit_err_text(out->err));
    if (walk.err)
        out->size = before;
    return walk.err;
}
