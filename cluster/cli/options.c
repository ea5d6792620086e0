/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "sock_option.h"
#include "suggest.h"
#include "usage.h"

/* Longer words are no typing errors of ours. */
#define WORD_MAX 64

static void
print_help(const cli_command *command)
{
    char names[2048];
    size_t column = 0;

    fputs(command->help, stdout);
    if (!command->names_options)
        return;
    cli_sock_option_names(names, sizeof names);
    fputs("\nNames of socket options:\n ", stdout);
    for (char *name = strtok(names, ", "); name; name = strtok(NULL, ", ")) {
        if (column + strlen(name) > 76) {
            fputs("\n ", stdout);
            column = 0;
        }
        printf(" %s", name);
        column += strlen(name) + 1;
    }
    fputc('\n', stdout);
}

/* Says why getopt_long() answered '?' or ':' for argv[optind - 1], with the option that
 * was probably meant. */
static void
say_bad_option(const char *command, int answer, char **argv, const struct option *options)
{
    const char *known[WORD_MAX], *near, *word = argv[optind - 1];
    size_t count = 0;
    char name[WORD_MAX + 1];

    if (answer == ':') {
        cli_say("%s: %s needs a value (see 'sennit %s --help')", command, word, command);
        return;
    }
    if (optopt > 0 && optopt < 256) { /* of -xyz, which has no place in argv of its own */
        cli_say("%s: unknown option -%c; options are words after two dashes, see "
                "'sennit %s --help'",
                command, optopt, command);
        return;
    }
    while (options[count].name && count < WORD_MAX) {
        known[count] = options[count].name;
        count++;
    }
    snprintf(name, sizeof name, "%s", word + strspn(word, "-"));
    name[strcspn(name, "=")] = '\0';
    near = sni_idl_suggest(name, known, count);
    if (near)
        cli_say("%s: unknown or unclear option %s; did you mean --%s?", command, word,
                near);
    else
        cli_say("%s: unknown or unclear option %s; 'sennit %s --help' lists them all",
                command, word, command);
}

bool
cli_read_options(const cli_command *command, int argc, char **argv,
                 const struct option *options, cli_take_option *take, void *arg,
                 int *exit_code)
{
    int option;

    *exit_code = CLI_USAGE;
    opterr = 0;
    optind = 0;
    while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
        if (option == 'h') {
            print_help(command);
            *exit_code = CLI_OK;
            return false;
        }
        if (option == '?' || option == ':') {
            say_bad_option(command->name, option, argv, options);
            return false;
        }
        if (!take(arg, option, optarg))
            return false;
    }
    return true;
}
