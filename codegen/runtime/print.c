/* SPDX-License-Identifier: MIT */
/* Values as text for people. */
#include "fields.h"

#include <inttypes.h>
#include <stdio.h>

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
        snprintf(text, sizeof(text), "%" PRIu64, sni_codec_bits(field->kind, at));
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
        snprintf(text, sizeof(text), "%" PRId64,
                 (int64_t)sni_codec_bits(field->kind, at));
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
    for (size_t i = 0; i < count; i++, element += sni_codec_element_size(field)) {
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
        if (sni_codec_is_left_out(&codec->fields[i], value))
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
