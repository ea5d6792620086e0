/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CLI_USAGE_H
#define SENNIT_CLI_USAGE_H

#include <stdbool.h>
#include <stdint.h>

/* Prints "sennit: <text>" as one line on stderr. */
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether others can reach `endpoint`. Gives: false after a line on stderr that begins
 * with `where` and says what to write: an inproc name ends with this process. */
bool cli_check_reachable(const char *where, const char *endpoint);

/* Reads a whole decimal number between `min` and `max`.
 * Gives: false, with `*out` untouched, for anything else. */
bool cli_parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *out);

#endif /* SENNIT_CLI_USAGE_H */
