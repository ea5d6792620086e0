/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CLI_COMMAND_H
#define SENNIT_CLI_COMMAND_H

#include <stdbool.h>

/* Exit codes of every subcommand; scripts rely on them. */
enum {
    CLI_OK = 0,
    CLI_FAILED = 1,   /* it ran and did not succeed: timed out, unreachable, ... */
    CLI_USAGE = 2,    /* it was asked for something wrong; stderr says what to write */
    CLI_SIGNAL = 128, /* + N: all is closed because signal N said so; main ends by it */
};

/* Of sockets that are driven from here, unless --option says otherwise: a peer that does
 * not read must not keep the program from ending. */
#define CLI_LINGER_MS 1000

/* One row of the table in main.c. */
typedef struct cli_command {
    const char *name;
    const char *summary; /* one line for `sennit --help` */
    const char *help;    /* the text of `sennit NAME --help` */
    bool names_options;  /* ... which ends with the names of all socket options */
    /* Runs with argv[0] the subcommand's name. Gives: the exit code. */
    int (*run)(const struct cli_command *command, int argc, char **argv);
} cli_command;

extern const cli_command cli_cat;
extern const cli_command cli_call;
extern const cli_command cli_proxy;

#endif /* SENNIT_CLI_COMMAND_H */
