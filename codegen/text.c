/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void
reserve(sni_idl_text *text, size_t size)
{
    if (size <= text->capacity - text->size)
        return;
    size_t capacity = text->capacity ? text->capacity * 2 : 16 * 1024;
    while (capacity - text->size < size)
        capacity *= 2;
    char *wider = sni_idl_alloc(text->arena, capacity);
    if (text->size)
        memcpy(wider, text->data, text->size);
    text->data = wider;
    text->capacity = capacity;
}

static void
append(sni_idl_text *text, const char *data, size_t size)
{
    reserve(text, size);
    memcpy(text->data + text->size, data, size);
    text->size += size;
}

void
sni_idl_put(sni_idl_text *text, const char *format, ...)
{
    va_list args;
    va_list again;
    va_start(args, format);
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (size > 0) {
        reserve(text, (size_t)size + 1);
        vsnprintf(text->data + text->size, (size_t)size + 1, format, args);
        text->size += (size_t)size;
    }
    va_end(args);
}

void
sni_idl_put_comment(sni_idl_text *text, const char *indent, const char *lines)
{
    if (!lines)
        return;
    sni_idl_put(text, "%s/* ", indent);
    for (const char *at = lines; *at; at++) {
        bool ends = at[0] == '*' && at[1] == '/';
        bool begins = at[0] == '/' && at[1] == '*';
        bool trigraph = at[0] == '?' && at[1] == '?';
        if (*at == '\n')
            sni_idl_put(text, "\n%s *%s", indent, at[1] && at[1] != '\n' ? " " : "");
        else
            append(text, at, 1);
        if (ends || begins || trigraph)
            append(text, " ", 1);
    }
    sni_idl_put(text, " */\n");
}

void
sni_idl_put_string(sni_idl_text *text, const char *value)
{
    append(text, "\"", 1);
    for (const char *at = value; *at; at++) {
        unsigned char c = (unsigned char)*at;
        /* Octal: hexadecimal escapes would swallow digits that follow. The question
         * mark is escaped for trigraphs' sake. */
        if (c < 0x20 || c >= 0x7f)
            sni_idl_put(text, "\\%03o", c);
        else if (c == '"' || c == '\\' || c == '?')
            sni_idl_put(text, "\\%c", c);
        else
            append(text, at, 1);
    }
    append(text, "\"", 1);
}
