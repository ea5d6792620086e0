/* SPDX-License-Identifier: MIT */
/* Values from messages. sennit_unpack_check() comes first, so nesting, counts and
 * lengths are known to be sound before anything is allocated for them. */
#include "fields.h"
#include "path.h"

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
    size_t size = sni_codec_element_size(field);
    if (count > decode->budget / size)
        return too_much_memory(decode, offset);
    decode->budget -= count * size;
    uint8_t *elements = count ? sennit_arena_array(decode->arena, count, size) : NULL;
    if (count && !elements)
        return no_memory(decode);
    for (size_t i = 0; i < count; i++) {
        if (decode_value(decode, field, elements + i * size))
            continue;
        sni_path_prepend_index(&decode->path, i);
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
        sni_path_prepend_field(&decode->path, field);
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
            sni_path_prepend_field(&decode->path, &codec->fields[index]);
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
    sni_path_init(&decode.path);
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
    sni_path_prepend(&decode.path, codec->name);
    if (error)
        sennit_error_set(error,
                         decode.err == SENNIT_ENOMEM ? SENNIT_KIND_NO_MEMORY
                                                     : SENNIT_KIND_BAD_MESSAGE,
                         SENNIT_RAN_NEVER, "%s: %s (byte %zu)",
                         sni_path_text(&decode.path), decode.reason, decode.offset);
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
