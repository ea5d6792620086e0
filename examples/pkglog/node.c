/* SPDX-License-Identifier: MIT */
#include "node.h"

#include <stdarg.h>
#include <stdio.h>

sennit_err
node_open(node *n, const char *program)
{
    *n = (node){ .program = program };
    sennit_err err = sennit_loop_open(&n->loop, NULL);
    if (!err)
        err = sennit_bus_open(&n->bus, n->loop, NULL);
    if (!err)
        err = sennit_arena_new(&n->arena, NULL);
    if (err)
        node_say(n, "cannot start: %s", sennit_err_text(err));
    return err;
}

void
node_close(node *n)
{
    sennit_arena_free(n->arena);
    sennit_bus_close(n->bus);
    sennit_loop_close(n->loop);
}

void
node_say(const node *n, const char *format, ...)
{
    va_list args;

    fprintf(stderr, "%s: ", n->program);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

bool
node_parse_number(const char *text, uint64_t max, uint64_t *out)
{
    uint64_t value = 0;
    if (!*text)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        unsigned digit = (unsigned)(*text - '0');
        if (digit > max || value > (max - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *out = value;
    return true;
}
