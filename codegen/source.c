/* SPDX-License-Identifier: MIT */
#include "source.h"

#include <string.h>

static const uint32_t *
find_lines(sni_idl_arena *arena, const char *text, size_t size, uint32_t *count)
{
    uint32_t lines = 1;
    for (size_t i = 0; i < size; i++)
        if (text[i] == '\n')
            lines++;
    uint32_t *starts = SNI_IDL_NEW_ARRAY(arena, uint32_t, lines);
    uint32_t line = 1;
    for (size_t i = 0; i < size; i++)
        if (text[i] == '\n')
            starts[line++] = (uint32_t)(i + 1);
    *count = lines;
    return starts;
}

sni_idl_source *
sni_idl_source_new(sni_idl_arena *arena, const char *name, const char *text, size_t size)
{
    sni_idl_source *source = SNI_IDL_NEW(arena, sni_idl_source);
    source->name = sni_idl_copy_text(arena, name, strlen(name));
    source->text = sni_idl_copy_text(arena, text, size);
    source->size = size;
    source->lines = find_lines(arena, source->text, size, &source->lines_count);
    return source;
}

sni_idl_position
sni_idl_source_position(const sni_idl_source *source, uint32_t at)
{
    uint32_t low = 0;
    uint32_t high = source->lines_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (source->lines[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    uint32_t column = 1;
    size_t i = source->lines[low];
    while (i < at && i < source->size) {
        uint32_t character;
        size_t size = sni_idl_utf8(source->text + i, source->size - i, &character);
        i += size ? size : 1;
        column++;
    }
    return (sni_idl_position){ low + 1, column };
}

const char *
sni_idl_source_line(const sni_idl_source *source, uint32_t line, size_t *size)
{
    size_t start = source->lines[line - 1];
    size_t end = line < source->lines_count ? source->lines[line] - 1 : source->size;
    if (end > start && source->text[end - 1] == '\r')
        end--;
    *size = end - start;
    return source->text + start;
}

size_t
sni_idl_utf8(const char *text, size_t size, uint32_t *out)
{
    static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const unsigned char *bytes = (const unsigned char *)text;
    if (!size)
        return 0;
    if (bytes[0] < 0x80) {
        *out = bytes[0];
        return 1;
    }
    size_t length = bytes[0] >= 0xf0 ? 4 : bytes[0] >= 0xe0 ? 3 : 2;
    if (bytes[0] < 0xc2 || bytes[0] > 0xf4 || length > size)
        return 0;
    uint32_t character = bytes[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        character = character << 6 | (bytes[i] & 0x3f);
    }
    if (character < smallest[length] || character > 0x10ffff ||
        (character >= 0xd800 && character <= 0xdfff))
        return 0;
    *out = character;
    return length;
}
