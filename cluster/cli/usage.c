/* SPDX-License-Identifier: MIT */
#include "usage.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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
cli_check_reachable(const char *where, const char *endpoint)
{
    static const char scheme[] = "inproc://";

    if (strncmp(endpoint, scheme, sizeof scheme - 1) != 0)
        return true;
    cli_say(
        "%s %s: leads nowhere, because an inproc name ends with its process and this "
        "one has nobody else in it; write ipc://PATH or ipc://@NAME within a machine, "
        "tcp://ADDRESS:PORT between them",
        where, endpoint);
    return false;
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
