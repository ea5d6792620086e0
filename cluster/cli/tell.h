/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CLI_TELL_H
#define SENNIT_CLI_TELL_H

#include <stdbool.h>
#include <stddef.h>

#include <sennit/sennit.h>

/* What a command tells of its sockets. `side` says which one is meant, in front of what
 * is told; NULL in a command that has only one. */

/* Prints the socket's events on stderr, a line each. */
void cli_tell_events(sennit_sock *sock, const char *side);

/* Where a command listens. Zeroed storage is nowhere. */
typedef struct cli_listening {
    char text[4096]; /* a line for each endpoint */
    size_t used;     /* what they take; more than there is room for: not all are there */
} cli_listening;

/* Adds an endpoint. When it is not what was `wanted`, the system chose it, and
 * "listening ENDPOINT" goes to stderr. */
void cli_listening_add(cli_listening *self, const char *side, const char *wanted,
                       const char *endpoint);

/* Writes them to `path` (NULL: nothing to do), renamed into place, so that who waits for
 * the file never reads half of it.
 * Gives: false after a line on stderr that names `command` and --endpoint-file. */
bool cli_listening_write(const cli_listening *self, const char *command,
                         const char *path);

#endif /* SENNIT_CLI_TELL_H */
