/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CLI_TELL_H
#define SENNIT_CLI_TELL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <sennit/sennit.h>

/* What a command tells of its sockets. `side` says which one is meant, in front of what
 * is told; NULL in a command that has only one. */

/* Takes the socket's events, and with `aloud` prints them on stderr, a line each.
 * `failure` (NULL: nobody asks) keeps the last of those that say why there is no
 * connection; its kind is 0 before, and again when that endpoint has got one. */
void cli_take_events(sennit_sock *sock, const char *side, bool aloud,
                     sennit_event *failure);

/* Prints what cli_take_events() kept, as a line that names `command`; nothing when its
 * kind is 0. */
void cli_tell_failure(const char *command, const sennit_event *failure);

/* Where a command listens. Zeroed storage is nowhere. */
typedef struct cli_listening {
    char text[4096];  /* a line for each endpoint */
    size_t used;      /* what they take; more than there is room for: not all are there */
    const char *path; /* the file they are written to; NULL: none yet */
    dev_t path_device; /* which file that is */
    ino_t path_inode;
} cli_listening;

/* Adds an endpoint. When it is not what was `wanted`, the system chose it, and
 * "listening ENDPOINT" goes to stderr. */
void cli_listening_add(cli_listening *self, const char *side, const char *wanted,
                       const char *endpoint);

/* Writes them to `path` (NULL: nothing to do), renamed into place, so that who waits for
 * the file never reads half of it. `path` is kept.
 * Gives: false after a line on stderr that names `command` and --endpoint-file. */
bool cli_listening_write(cli_listening *self, const char *command, const char *path);

/* Removes that file, unless another has taken its place. */
void cli_listening_remove(cli_listening *self);

#endif /* SENNIT_CLI_TELL_H */
