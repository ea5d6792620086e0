/* SPDX-License-Identifier: MIT */
/* The program `sennit`: a table of subcommands. Each is one file. */
#include <stdio.h>
#include <string.h>

#include <sennit/sennit.h>

#include "command.h"
#include "signals.h"
#include "suggest.h"
#include "usage.h"

static const cli_command *const commands[] = { &cli_cat, &cli_call, &cli_proxy };

#define COMMANDS_COUNT (sizeof commands / sizeof *commands)

static void
print_help(FILE *out)
{
    fputs("sennit COMMAND [arguments]\n\nCommands:\n", out);
    for (size_t i = 0; i < COMMANDS_COUNT; i++)
        fprintf(out, "  %-8s %s\n", commands[i]->name, commands[i]->summary);
    fputs(
        "\n'sennit help COMMAND' tells all about one; 'sennit --version' the version.\n",
        out);
}

static const cli_command *
find_command(const char *name)
{
    const char *names[COMMANDS_COUNT], *near;

    for (size_t i = 0; i < COMMANDS_COUNT; i++) {
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
        names[i] = commands[i]->name;
    }
    near = sni_idl_suggest(name, names, COMMANDS_COUNT);
    if (near)
        cli_say("no command '%s'; did you mean 'sennit %s'?", name, near);
    else
        cli_say("no command '%s'; 'sennit --help' lists them all", name);
    return NULL;
}

static int
help_on(const char *name)
{
    char flag[] = "--help";
    char *argv[] = { flag, flag, NULL };
    const cli_command *command = find_command(name);

    return command ? command->run(command, 2, argv) : CLI_USAGE;
}

int
main(int argc, char **argv)
{
    const cli_command *command;
    int exit_code;

    if (argc < 2) {
        print_help(stderr);
        return CLI_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("sennit %s\n", sennit_version());
        return CLI_OK;
    }
    if (strcmp(argv[1], "help") == 0 && argc > 2)
        return help_on(argv[2]);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return CLI_OK;
    }
    command = find_command(argv[1]);
    exit_code = command ? command->run(command, argc - 1, argv + 1) : CLI_USAGE;
    return exit_code > CLI_SIGNAL ? cli_end_by_signal(exit_code - CLI_SIGNAL) : exit_code;
}
