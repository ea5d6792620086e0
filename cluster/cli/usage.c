/* SPDX-License-Identifier: MIT */
/* What every subcommand says in the same words when it is asked for something
 * it does not know. */
#include "usage.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "suggest.h"

/* Longer words are no typing errors of ours. */
#define WORD_MAX 64

void
cli_say(const char *format, ...)
{
    va_list args;

    fputs("sennit: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

void
cli_say_bad_option(const char *command, int answer, char **argv,
                   const struct option *options)
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
cli_parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
    uint64_t value = 0;

    if (!*text)
        return false;
    for (; *text; text++) {
        unsigned digit = (unsigned)(*text - '0');
        if (*text < '0' || *text > '9' || value > (max - digit) / 10 || digit > max)
            return false;
        value = value * 10 + digit;
    }
    if (value < min)
        return false;
    *out = value;
    return true;
}
