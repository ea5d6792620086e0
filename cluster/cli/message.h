/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CLI_MESSAGE_H
#define SENNIT_CLI_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <sennit/sennit.h>

/* A whole message as a person reads and writes it: 1..n parts. Zeroed storage is
 * an empty one. */
typedef struct cli_message {
    sennit_msg *parts;
    size_t parts_count;
    size_t parts_capacity;
} cli_message;

typedef enum cli_format { CLI_TEXT, CLI_HEX, CLI_JSON } cli_format;

/* Appends a part. Takes: the body of `part` on success. Gives: false when there
 * is no memory, with `part` untouched. */
bool cli_message_push(cli_message *self, sennit_msg *part);

/* Appends a part copied from `size` bytes. Gives: false when there is no memory. */
bool cli_message_push_copy(cli_message *self, const void *data, size_t size);

/* Reads one JSON array of parts (each a string, or {"hex": "00ff"}) into an empty
 * message. Gives: false with a sentence in `why[0..why_size)`; the message is
 * then in any state fit for cli_message_fini(). */
bool cli_message_read_json(cli_message *self, const char *text, char *why,
                           size_t why_size);

/* Writes the message as one line and flushes, so that a reader of the pipe sees
 * each message as it arrives.
 *   TEXT  parts as they are, separated by a tab
 *   HEX   parts in hex, separated by a space, an empty one as ""
 *   JSON  one array of parts; a string where it is UTF-8, else {"hex": ...}
 * Gives: false when there was no memory or the stream failed. */
bool cli_message_print(const cli_message *self, cli_format format, FILE *out);

/* Drops the parts and keeps the storage; drops both. */
void cli_message_clear(cli_message *self);
void cli_message_fini(cli_message *self);

#endif /* SENNIT_CLI_MESSAGE_H */
