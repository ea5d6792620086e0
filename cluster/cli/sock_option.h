/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CLI_SOCK_OPTION_H
#define SENNIT_CLI_SOCK_OPTION_H

#include <stdbool.h>
#include <stddef.h>

#include <sennit/sennit.h>

/* Reads the name of a socket type, in any case.
 * Gives: false, with `*out` untouched, after a line on stderr that begins with `where`
 * and names the types there are. */
bool cli_sock_type_read(const char *where, const char *name, sennit_sock_type *out);

/* Sets the field of `opts` that `assignment` ("name=value") names. The names are
 * those of sennit_sock_opts; booleans take true/false/1/0, enumerations their names in
 * lower case ("drop_old"); -1 is allowed where the header allows it. Texts and bytes are
 * borrowed from `assignment` until the options are used.
 * Gives: false with a sentence in `why[0..why_size)` that says what to write. */
bool cli_sock_option_set(sennit_sock_opts *opts, const char *assignment, char *why,
                         size_t why_size);

/* All names, separated by ", ", for help texts; cut to `size`. */
void cli_sock_option_names(char *text, size_t size);

#endif /* SENNIT_CLI_SOCK_OPTION_H */
