/* SPDX-License-Identifier: MIT */
#include "lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_SIZE ((size_t)65536)

bool
cli_lines_next(cli_lines *self, sennit_bytes *line)
{
    const char *start, *newline;
    size_t left = self->filled - self->taken, size;

    if (!left)
        return false;
    start = self->data + self->taken;
    newline = memchr(start, '\n', left);
    if (!newline && !self->ended)
        return false;
    size = newline ? (size_t)(newline - start) : left;
    *line = (sennit_bytes){ (const uint8_t *)start, size };
    self->taken += size + (newline != NULL);
    return true;
}

/* Makes room for one read: first by moving what is left to the front. */
static sennit_err
make_room(cli_lines *self)
{
    size_t capacity = self->capacity ? self->capacity * 2 : READ_SIZE;
    char *grown;

    if (self->taken) {
        memmove(self->data, self->data + self->taken, self->filled - self->taken);
        self->filled -= self->taken;
        self->taken = 0;
    }
    if (self->filled < self->capacity)
        return SENNIT_OK;
    if (self->filled > CLI_LINE_MAX)
        return SENNIT_EMSGSIZE;
    grown = realloc(self->data, capacity);
    if (!grown)
        return SENNIT_ENOMEM;
    self->data = grown;
    self->capacity = capacity;
    return SENNIT_OK;
}

sennit_err
cli_lines_read(cli_lines *self)
{
    sennit_err err = make_room(self);
    ssize_t got;

    if (err)
        return err;
    got = read(self->fd, self->data + self->filled, self->capacity - self->filled);
    if (got < 0)
        return errno == EINTR || errno == EAGAIN ? SENNIT_OK : SENNIT_EIO;
    self->filled += (size_t)got;
    self->ended = got == 0;
    return SENNIT_OK;
}

void
cli_lines_fini(cli_lines *self)
{
    free(self->data);
    self->data = NULL;
}
