/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CLI_OPTIONS_H
#define SENNIT_CLI_OPTIONS_H

#include <stdbool.h>

#include "command.h"

struct option; /* <getopt.h> */

/* Takes one option; `value` is NULL where it has none. Gives: false after a line on
 * stderr that says what is wrong with it. */
typedef bool cli_take_option(void *arg, int option, const char *value);

/* Hands the options in `argv` to `take(arg, ...)`, one after the other; the operands are
 * argv[optind] and what follows. `options` have "help", which is 'h'.
 * Gives: true, or false after --help or a line on stderr. `*exit_code` is CLI_OK after
 * --help, else CLI_USAGE, also for what the caller refuses afterwards. */
bool cli_read_options(const cli_command *command, int argc, char **argv,
                      const struct option *options, cli_take_option *take, void *arg,
                      int *exit_code);

#endif /* SENNIT_CLI_OPTIONS_H */
