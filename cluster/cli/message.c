/* SPDX-License-Identifier: MIT */
#include "message.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

bool
cli_message_push(cli_message *self, sennit_msg *part)
{
    if (self->parts_count == self->parts_capacity) {
        size_t capacity = self->parts_capacity ? self->parts_capacity * 2 : 4;
        sennit_msg *parts = realloc(self->parts, capacity * sizeof *parts);
        if (!parts)
            return false;
        self->parts = parts;
        self->parts_capacity = capacity;
    }
    sennit_msg_init(&self->parts[self->parts_count]);
    sennit_msg_move(&self->parts[self->parts_count++], part);
    return true;
}

bool
cli_message_push_copy(cli_message *self, const void *data, size_t size)
{
    sennit_msg part;
    bool ok;

    if (sennit_msg_init_copy(&part, data, size))
        return false;
    ok = cli_message_push(self, &part);
    sennit_msg_fini(&part);
    return ok;
}

/* ---- Reading ---------------------------------------------------------- */

static int
hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Appends the bytes `text` spells. False: it is no hex, or there is no memory. */
static bool
push_hex(cli_message *self, const char *text, size_t text_size)
{
    sennit_msg part;
    uint8_t *data;
    bool ok = text_size % 2 == 0;

    if (!ok || sennit_msg_init_size(&part, text_size / 2))
        return false;
    data = sennit_msg_data(&part);
    for (size_t i = 0; ok && i < text_size / 2; i++) {
        int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
        ok = high >= 0 && low >= 0;
        if (ok)
            data[i] = (uint8_t)(high << 4 | low);
    }
    ok = ok && cli_message_push(self, &part);
    sennit_msg_fini(&part);
    return ok;
}

static bool
push_json(cli_message *self, const json_t *value)
{
    const json_t *hex = json_object_get(value, "hex");

    if (json_is_string(value))
        return cli_message_push_copy(self, json_string_value(value),
                                     json_string_length(value));
    return json_object_size(value) == 1 && json_is_string(hex) &&
           push_hex(self, json_string_value(hex), json_string_length(hex));
}

bool
cli_message_read_json(cli_message *self, const char *text, char *why, size_t why_size)
{
    json_error_t error;
    json_t *root = json_loads(text, JSON_ALLOW_NUL, &error), *value;
    size_t i;
    bool ok = false;

    if (!root) {
        snprintf(why, why_size, "not JSON: %s at column %d", error.text, error.column);
        return false;
    }
    if (!json_is_array(root) || json_array_size(root) == 0) {
        snprintf(why, why_size,
                 "write an array with at least one part, as in '[\"part\",\"part\"]'");
        goto free_root;
    }
    json_array_foreach(root, i, value)
    {
        if (push_json(self, value))
            continue;
        snprintf(why, why_size, "part %zu is neither a string nor {\"hex\":\"00ff\"}",
                 i + 1);
        goto free_root;
    }
    ok = true;
free_root:
    json_decref(root);
    return ok;
}

/* ---- Writing ---------------------------------------------------------- */

static void
put_hex(sennit_bytes body, FILE *out)
{
    for (size_t i = 0; i < body.size; i++)
        fprintf(out, "%02x", body.data[i]);
}

static void
print_text(const cli_message *self, FILE *out)
{
    for (size_t i = 0; i < self->parts_count; i++) {
        sennit_bytes body = sennit_msg_bytes(&self->parts[i]);
        if (i)
            fputc('\t', out);
        if (body.size)
            fwrite(body.data, 1, body.size, out);
    }
}

static void
print_hex(const cli_message *self, FILE *out)
{
    for (size_t i = 0; i < self->parts_count; i++) {
        sennit_bytes body = sennit_msg_bytes(&self->parts[i]);
        if (i)
            fputc(' ', out);
        if (!body.size)
            fputs("\"\"", out);
        put_hex(body, out);
    }
}

static bool
print_json(const cli_message *self, FILE *out)
{
    fputc('[', out);
    for (size_t i = 0; i < self->parts_count; i++) {
        sennit_bytes body = sennit_msg_bytes(&self->parts[i]);
        json_t *text = json_stringn(body.size ? (const char *)body.data : "", body.size);
        if (i)
            fputc(',', out);
        if (text) {
            bool ok = json_dumpf(text, out, JSON_ENCODE_ANY | JSON_COMPACT) == 0;
            json_decref(text);
            if (!ok)
                return false;
            continue;
        }
        fputs("{\"hex\":\"", out); /* not UTF-8 (or no memory: then hex needs none) */
        put_hex(body, out);
        fputs("\"}", out);
    }
    fputc(']', out);
    return true;
}

bool
cli_message_print(const cli_message *self, cli_format format, FILE *out)
{
    bool ok = true;

    switch (format) {
    case CLI_TEXT:
        print_text(self, out);
        break;
    case CLI_HEX:
        print_hex(self, out);
        break;
    case CLI_JSON:
        ok = print_json(self, out);
        break;
    }
    fputc('\n', out);
    return fflush(out) == 0 && !ferror(out) && ok;
}

void
cli_message_clear(cli_message *self)
{
    while (self->parts_count)
        sennit_msg_fini(&self->parts[--self->parts_count]);
}

void
cli_message_fini(cli_message *self)
{
    cli_message_clear(self);
    free(self->parts);
    *self = (cli_message){ 0 };
}
