/* SPDX-License-Identifier: MIT */
#include "usage.h"

#include <stdarg.h>
#include <stdio.h>

void
cli_say(const char *format, ...)
{
    va_list args;

    fputs("sennit: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

bool
cli_parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
    uint64_t value = 0;

    if (!*text)
        return false;
    for (; *text; text++) {
        unsigned digit = (unsigned)(*text - '0');
        if (*text < '0' || *text > '9' || value > (max - digit) / 10 || digit > max)
            return false;
        value = value * 10 + digit;
    }
    if (value < min)
        return false;
    *out = value;
    return true;
}
