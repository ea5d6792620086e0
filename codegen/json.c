/* SPDX-License-Identifier: MIT */
/* Two walks over the model: along a JSON value, writing msgpack, and along msgpack,
 * making JSON. Both carry the path of where they are, for errors. */
#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <sennit/codec.h>

/* Numbers beyond this are not safe in other programs' JSON. */
#define JSON_SAFE_MAX (INT64_C(1) << 53)

#define NS_PER_S INT64_C(1000000000)

typedef struct sni_json_walk {
    sni_idl_json_error *error;
    sennit_err err; /* the first failure */
    char path[256]; /* law: path[size] is NUL */
    size_t size;
} sni_json_walk;

/* ---- Paths and errors ------------------------------------------------- */

static void
walk_init(sni_json_walk *walk, const sni_idl_struct *structure, sni_idl_json_error *error)
{
    memset(walk, 0, sizeof(*walk));
    walk->error = error;
    walk->size = (size_t)snprintf(walk->path, sizeof(walk->path), "%.200s",
                                  structure->naming.name);
}

static size_t
enter(sni_json_walk *walk, const char *format, const char *name, size_t index)
{
    size_t before = walk->size;
    size_t room = sizeof(walk->path) - before;
    int size = name ? snprintf(walk->path + before, room, format, name)
                    : snprintf(walk->path + before, room, format, index);
    if (size > 0)
        walk->size += (size_t)size < room ? (size_t)size : room - 1;
    return before;
}

static void
leave(sni_json_walk *walk, size_t before)
{
    walk->size = before;
    walk->path[before] = '\0';
}

#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static bool
fail(sni_json_walk *walk, sennit_err err, const char *format, ...)
{
    if (walk->err)
        return false;
    walk->err = err;
    size_t room = sizeof(walk->error->text);
    int size = snprintf(walk->error->text, room, "%s: ", walk->path);
    va_list args;
    va_start(args, format);
    if (size > 0 && (size_t)size < room)
        vsnprintf(walk->error->text + size, room - (size_t)size, format, args);
    va_end(args);
    return false;
}

static bool
out_of_memory(sni_json_walk *walk)
{
    return fail(walk, SENNIT_ENOMEM, "out of memory");
}

/* ---- Base64 ----------------------------------------------------------- */

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Text of `bytes`, to be freed with sennit_buf_fini(). */
static void
base64_encode(sennit_bytes bytes, sennit_buf *out)
{
    for (size_t i = 0; i < bytes.size; i += 3) {
        size_t left = bytes.size - i;
        uint32_t group = (uint32_t)bytes.data[i] << 16;
        group |= left > 1 ? (uint32_t)bytes.data[i + 1] << 8 : 0;
        group |= left > 2 ? bytes.data[i + 2] : 0;
        char digits[4] = { base64_digits[group >> 18], base64_digits[group >> 12 & 63],
                           left > 1 ? base64_digits[group >> 6 & 63] : '=',
                           left > 2 ? base64_digits[group & 63] : '=' };
        sennit_buf_append(out, digits, sizeof(digits));
    }
}

/* False for anything but base64 with its padding. */
static bool
base64_decode(const char *text, size_t size, sennit_buf *out)
{
    if (size % 4)
        return false;
    for (size_t i = 0; i < size; i += 4) {
        bool last = i + 4 == size;
        unsigned padding = last && text[i + 3] == '=' ? 1 + (text[i + 2] == '=') : 0;
        uint32_t group = 0;
        for (unsigned j = 0; j < 4 - padding; j++) {
            const char *digit = text[i + j] ? strchr(base64_digits, text[i + j]) : NULL;
            if (!digit)
                return false;
            group |= (uint32_t)(digit - base64_digits) << (18 - 6 * j);
        }
        uint8_t bytes[3] = { (uint8_t)(group >> 16), (uint8_t)(group >> 8),
                             (uint8_t)group };
        sennit_buf_append(out, bytes, 3 - padding);
    }
    return true;
}

/* ---- Time and duration ------------------------------------------------ */

/* Days since 1970 of a date in the Gregorian calendar (Howard Hinnant's method:
 * years begin in March, so that the leap day comes last). */
static int64_t
days_of(int64_t year, int64_t month, int64_t day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era =
        year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

static void
date_of(int64_t days, int *year, int *month, int *day)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t day_of_era = days - era * 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t shifted = (5 * day_of_year + 2) / 153;
    *day = (int)(day_of_year - (153 * shifted + 2) / 5 + 1);
    *month = (int)(shifted + (shifted < 10 ? 3 : -9));
    *year = (int)(year_of_era + era * 400 + (*month <= 2));
}

static void
time_text(int64_t ns, char *out, size_t size)
{
    int64_t seconds = ns / NS_PER_S;
    int64_t rest = ns % NS_PER_S;
    if (rest < 0) {
        rest += NS_PER_S;
        seconds--;
    }
    int64_t days = seconds / 86400;
    int64_t of_day = seconds % 86400;
    if (of_day < 0) {
        of_day += 86400;
        days--;
    }
    int year, month, day;
    date_of(days, &year, &month, &day);
    int at = snprintf(out, size, "%04d-%02d-%02dT%02d:%02d:%02d", year, month, day,
                      (int)(of_day / 3600), (int)(of_day / 60 % 60), (int)(of_day % 60));
    if (rest) {
        at += snprintf(out + at, size - (size_t)at, ".%09d", (int)rest);
        while (out[at - 1] == '0')
            at--;
    }
    snprintf(out + at, size - (size_t)at, "Z");
}

/* Reads exactly `digits` digits; -1 when they are not there. */
static int
read_digits(const char **text, int digits)
{
    int number = 0;
    for (int i = 0; i < digits; i++, ++*text) {
        if (**text < '0' || **text > '9')
            return -1;
        number = number * 10 + (**text - '0');
    }
    return number;
}

static bool
read_mark(const char **text, const char *marks)
{
    if (!**text || !strchr(marks, **text))
        return false;
    ++*text;
    return true;
}

/* Nanoseconds after the point; false for none or more than nine digits. */
static bool
read_fraction(const char **text, int64_t *ns)
{
    int64_t unit = NS_PER_S;
    *ns = 0;
    if (**text < '0' || **text > '9')
        return false;
    for (; **text >= '0' && **text <= '9'; ++*text) {
        unit /= 10;
        if (!unit)
            return false;
        *ns += unit * (**text - '0');
    }
    return true;
}

/* "Z" or "+01:00", in seconds. */
static bool
read_zone(const char **text, int64_t *seconds)
{
    *seconds = 0;
    if (read_mark(text, "Zz"))
        return true;
    bool west = **text == '-';
    if (!read_mark(text, "+-"))
        return false;
    int hours = read_digits(text, 2);
    if (hours < 0 || hours > 23 || !read_mark(text, ":"))
        return false;
    int minutes = read_digits(text, 2);
    if (minutes < 0 || minutes > 59)
        return false;
    *seconds = (hours * 60 + minutes) * (west ? -60 : 60);
    return true;
}

/* Seconds (rounded down) and nanoseconds as one number, if it fits. */
static bool
join_ns(int64_t seconds, int64_t rest, int64_t *out)
{
    if (seconds < 0) { /* from the second's end, whose nanoseconds are closer to 0 */
        seconds++;
        rest -= NS_PER_S;
    }
    if (seconds < INT64_MIN / NS_PER_S || seconds > INT64_MAX / NS_PER_S)
        return false;
    int64_t whole = seconds * NS_PER_S;
    if (rest < 0 ? whole < INT64_MIN - rest : whole > INT64_MAX - rest)
        return false;
    *out = whole + rest;
    return true;
}

static bool
parse_time(const char *text, int64_t *out)
{
    static const int month_days[] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    int64_t rest = 0;
    int64_t zone;
    int year = read_digits(&text, 4);
    bool good = year >= 0 && read_mark(&text, "-");
    int month = good ? read_digits(&text, 2) : -1;
    good = month >= 1 && month <= 12 && read_mark(&text, "-");
    int day = good ? read_digits(&text, 2) : -1;
    good = day >= 1 && day <= month_days[month - 1] && read_mark(&text, "Tt ");
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    good = good && (month != 2 || day <= 28 || leap);
    int hour = good ? read_digits(&text, 2) : -1;
    good = hour >= 0 && hour < 24 && read_mark(&text, ":");
    int minute = good ? read_digits(&text, 2) : -1;
    good = minute >= 0 && minute < 60 && read_mark(&text, ":");
    int second = good ? read_digits(&text, 2) : -1;
    good = second >= 0 && second <= 60;
    if (good && read_mark(&text, "."))
        good = read_fraction(&text, &rest);
    good = good && read_zone(&text, &zone) && !*text;
    if (!good)
        return false;
    int64_t seconds = days_of(year, month, day) * 86400 + hour * 3600 + minute * 60;
    return join_ns(seconds + second - zone, rest, out);
}

typedef struct sni_json_unit {
    const char *name;
    int64_t ns;
} sni_json_unit;

static const sni_json_unit units[] = {
    { "h", INT64_C(3600000000000) },
    { "m", INT64_C(60000000000) },
    { "s", NS_PER_S },
    { "ms", 1000000 },
    { "us", 1000 },
    { "ns", 1 },
};

#define UNITS_COUNT (sizeof(units) / sizeof(units[0]))

static void
duration_text(int64_t ns, char *out, size_t size)
{
    size_t unit = ns ? 0 : 2;
    while (ns % units[unit].ns)
        unit++;
    snprintf(out, size, "%" PRId64 "%s", ns / units[unit].ns, units[unit].name);
}

/* Reads decimal digits with a sign into 64 bits. Gives where they end, or NULL. */
static const char *
read_number(const char *text, bool *negative, uint64_t *magnitude)
{
    uint64_t number = 0;
    *negative = *text == '-';
    text += *negative;
    if (*text < '0' || *text > '9')
        return NULL;
    for (; *text >= '0' && *text <= '9'; text++) {
        unsigned digit = (unsigned)(*text - '0');
        if (number > (UINT64_MAX - digit) / 10)
            return NULL;
        number = number * 10 + digit;
    }
    *magnitude = number;
    return text;
}

static bool
parse_duration(const char *text, int64_t *out)
{
    bool negative;
    uint64_t magnitude;
    const char *unit = read_number(text, &negative, &magnitude);
    for (size_t i = 0; unit && i < UNITS_COUNT; i++) {
        uint64_t limit = (uint64_t)INT64_MAX + negative;
        if (strcmp(unit, units[i].name) != 0)
            continue;
        if (magnitude > limit / (uint64_t)units[i].ns)
            return false;
        uint64_t bits = magnitude * (uint64_t)units[i].ns;
        *out = (int64_t)(negative ? 0 - bits : bits);
        return true;
    }
    return false;
}

/* ---- JSON to msgpack -------------------------------------------------- */

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
    return fail(walk, SENNIT_EINVAL, "%s was expected, not %s", wanted, json_kind(json));
}

/* A C string in a JSON string; NULL when it is none or has a NUL inside. */
static const char *
plain_text(const json_t *json)
{
    const char *text = json_string_value(json);
    return text && strlen(text) == json_string_length(json) ? text : NULL;
}

/* Whether a number fits an integer kind; bits in two's complement. */
static bool
fits(sni_idl_kind kind, bool negative, uint64_t magnitude)
{
    unsigned bits = sni_idl_kind_bits(kind);
    if (!sni_idl_kind_is_signed(kind))
        return (!negative || !magnitude) && (bits == 64 || magnitude >> bits == 0);
    uint64_t limit = (UINT64_C(1) << (bits - 1)) - (negative ? 0 : 1);
    return magnitude <= limit;
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
        const char *end = text ? read_number(text, &negative, &magnitude) : NULL;
        if (!end || *end)
            return wrong(walk, json, "a whole number");
    }
    if (!fits(kind, negative, magnitude))
        return fail(walk, SENNIT_EINVAL, "the number does not fit %s",
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
    if (text && !strcmp(text, "NaN"))
        number = (double)NAN;
    else if (text && !strcmp(text, "Infinity"))
        number = (double)INFINITY;
    else if (text && !strcmp(text, "-Infinity"))
        number = -(double)INFINITY;
    else if (!json_is_number(json))
        return wrong(walk, json, "a number");
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
    good = base64_decode(json_string_value(json), json_string_length(json), &bytes);
    if (!good)
        fail(walk, SENNIT_EINVAL, "this is not base64");
    else if (bytes.err)
        out_of_memory(walk);
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
    return fail(walk, SENNIT_EINVAL, "%s has no value '%.60s'%s%s%s",
                enumeration->naming.name, name, suggestion.best ? "; did you mean '" : "",
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
    if (!parse_time(text, &ns))
        return fail(walk, SENNIT_EINVAL,
                    "'%.40s' is not a time; write it as in 2026-11-30T12:00:00Z", text);
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
    if (!parse_duration(text, &ns))
        return fail(walk, SENNIT_EINVAL,
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
        return fail(walk, SENNIT_EINVAL, "nested too deep");
    size_t count = json_array_size(json);
    sennit_pack_array(out, count);
    for (size_t i = 0; i < count; i++) {
        size_t before = enter(walk, "[%zu]", NULL, i);
        if (!write_value(walk, type->element, json_array_get(json, i), out, depth + 1))
            return false;
        leave(walk, before);
    }
    return true;
}

/* What a field's default looks like on the wire: a value that does is left out. */
static void
write_default(const sni_idl_field *field, sennit_buf *out)
{
    const sni_idl_type *type = &field->type;
    sni_idl_kind kind = type->kind == SNI_IDL_ENUM ? type->enumeration->base : type->kind;
    uint64_t bits = field->has_fallback ? field->fallback.bits : 0;
    double real = field->has_fallback ? field->fallback.real : 0.0;
    switch (kind) {
    case SNI_IDL_BOOL:
        sennit_pack_bool(out, bits != 0);
        break;
    case SNI_IDL_F32:
        sennit_pack_f32(out, (float)real);
        break;
    case SNI_IDL_F64:
        sennit_pack_f64(out, real);
        break;
    case SNI_IDL_STR:
        sennit_pack_str(out,
                        sennit_str_of(field->has_fallback ? field->fallback.text : ""));
        break;
    case SNI_IDL_BYTES:
        sennit_pack_bin(out, (sennit_bytes){ NULL, 0 });
        break;
    case SNI_IDL_TIME:
        sennit_codec_pack_time(out, 0);
        break;
    case SNI_IDL_STRUCT:
        sennit_pack_map(out, 0);
        break;
    case SNI_IDL_LIST:
        sennit_pack_array(out, 0);
        break;
    default: /* integers and durations */
        if (kind == SNI_IDL_DURATION || sni_idl_kind_is_signed(kind))
            sennit_pack_int(out, (int64_t)bits);
        else
            sennit_pack_uint(out, bits);
        break;
    }
}

static bool
is_default(const sni_idl_field *field, const uint8_t *value, size_t size)
{
    sennit_buf buf;
    if (field->type.optional)
        return false;
    sennit_buf_init(&buf, NULL);
    write_default(field, &buf);
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
    size_t before = enter(walk, ".%s", field->naming.name, 0);
    sennit_pack_uint(out, field->number);
    size_t value = out->size;
    if (!write_value(walk, &field->type, json, out, depth + 1))
        return false;
    leave(walk, before);
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
    const char *end = read_number(key + 1, &negative, &number);
    bool good = end && !*end && !negative;
    for (size_t i = 0; good && i < structure->fields_count; i++)
        if (structure->fields[i].number == number)
            return fail(walk, SENNIT_EINVAL, "field %" PRIu64 " has a name: '%s'", number,
                        structure->fields[i].naming.name);
    if (!good || !json_is_string(json))
        return fail(walk, SENNIT_EINVAL,
                    "'%.60s' is no unknown field; write \"#9\": \"base64\"", key);
    sennit_buf_init(&raw, NULL);
    good = base64_decode(json_string_value(json), json_string_length(json), &raw);
    if (raw.err)
        out_of_memory(walk);
    else if (!good || sennit_unpack_check(sennit_buf_bytes(&raw), SENNIT_UNPACK_DEPTH_MAX,
                                          0, NULL, NULL))
        fail(walk, SENNIT_EINVAL, "'%.60s' is not base64 of one msgpack value", key);
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
    return fail(walk, SENNIT_EINVAL, "there is no field '%.60s'%s%s%s", key,
                suggestion.best ? "; did you mean '" : "",
                suggestion.best ? suggestion.best : "", suggestion.best ? "'?" : "");
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
        return fail(walk, SENNIT_EINVAL, "nested too deep");
    sennit_buf_init(&pairs, NULL);
    if (write_pairs(walk, structure, json, &pairs, &count, depth)) {
        if (pairs.err)
            out_of_memory(walk);
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
    walk_init(&walk, structure, error);
    if (write_struct(&walk, structure, json, out, 0) && out->err)
        fail(&walk, out->err, "%s", sennit_err_text(out->err));
    if (walk.err)
        out->size = before;
    return walk.err;
}

/* ---- msgpack to JSON -------------------------------------------------- */

static json_t *read_struct(sni_json_walk *walk, const sni_idl_struct *structure,
                           sennit_unpack *in);

/* Takes over the cursor's failure. */
static bool
is_well(sni_json_walk *walk, const sennit_unpack *in)
{
    if (!in->err)
        return true;
    return fail(walk, SENNIT_EPROTO, "%s (byte %zu)", in->reason, in->offset);
}

/* `json`, or a failure for lack of memory. */
static json_t *
made(sni_json_walk *walk, json_t *json)
{
    if (!json)
        out_of_memory(walk);
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
    base64_encode(bytes, &text);
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
    time_text(ns, text, sizeof(text));
    return made(walk, json_string(text));
}

static json_t *
read_str(sni_json_walk *walk, sennit_unpack *in)
{
    sennit_str text = sennit_unpack_str(in);
    if (!is_well(walk, in))
        return NULL;
    if (!sennit_str_is_utf8(text)) {
        fail(walk, SENNIT_EPROTO, "the text is not UTF-8");
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
        duration_text(sennit_unpack_int(in, INT64_MIN, INT64_MAX), text, sizeof(text));
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
        size_t before = enter(walk, "[%zu]", NULL, i);
        json_t *element = read_value(walk, type->element, in);
        if (!element || json_array_append_new(list, element)) {
            out_of_memory(walk); /* unless the element failed, and said so */
            json_decref(list);
            return NULL;
        }
        leave(walk, before);
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
    write_default(field, &buf);
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
    return json_object_set_new(object, key, raw) ? out_of_memory(walk) : true;
}

static bool
read_pair(sni_json_walk *walk, const sni_idl_struct *structure, sennit_unpack *in,
          json_t *object)
{
    if (sennit_unpack_peek(in) != SENNIT_PACK_UINT)
        return fail(walk, SENNIT_EPROTO, "keys are field numbers");
    uint64_t number = sennit_unpack_uint(in, UINT64_MAX);
    const sni_idl_field *field = find_number(structure, number);
    if (!field)
        return read_unknown(walk, number, in, object);
    size_t before = enter(walk, ".%s", field->naming.name, 0);
    if (json_object_get(object, field->naming.name))
        return fail(walk, SENNIT_EPROTO, "the field is there twice");
    if (!field->type.optional || !sennit_unpack_nil(in)) {
        json_t *value = read_value(walk, &field->type, in);
        if (!value || json_object_set_new(object, field->naming.name, value))
            return out_of_memory(walk); /* unless it failed, and said so */
    }
    leave(walk, before);
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
            out_of_memory(walk);
        json_object_del(found, name);
    }
    if (whole && json_object_update(whole, found)) /* the unknown ones */
        out_of_memory(walk);
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
    walk_init(&walk, structure, error);
    if (sennit_unpack_check(body, SENNIT_UNPACK_DEPTH_MAX, 0, &reason, &offset)) {
        fail(&walk, SENNIT_EPROTO, "%s (byte %zu)", reason, offset);
        return walk.err;
    }
    sennit_unpack_init(&in, body);
    json_t *json = read_struct(&walk, structure, &in);
    if (!json)
        return walk.err;
    *out = json;
    return SENNIT_OK;
}
