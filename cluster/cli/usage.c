/* SPDX-License-Identifier: MIT */
/* What every subcommand says in the same words when it is asked for something
 * it does not know. */
#include "usage.h"

#include <ctype.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Longer words are no typing errors of ours; the bound keeps the row on the stack. */
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

static size_t
least(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;

    return ab < c ? ab : c;
}

/* Levenshtein distance, one row at a time, ignoring case. */
static size_t
distance(const char *from, const char *to)
{
    size_t row[WORD_MAX + 1], to_size = strlen(to);

    for (size_t j = 0; j <= to_size; j++)
        row[j] = j;
    for (size_t i = 0; from[i]; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < to_size; j++) {
            bool same = tolower((unsigned char)from[i]) == tolower((unsigned char)to[j]);
            size_t above = row[j + 1];
            row[j + 1] = least(above + 1, row[j] + 1, diagonal + !same);
            diagonal = above;
        }
    }
    return row[to_size];
}

const char *
cli_nearest(const char *word, const char *const *known, size_t count)
{
    const char *best = NULL;
    size_t best_distance = strlen(word) / 3 + 2; /* at most this minus one is near */

    if (strlen(word) > WORD_MAX)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        size_t d = strlen(known[i]) > WORD_MAX ? WORD_MAX : distance(word, known[i]);
        if (d < best_distance) {
            best_distance = d;
            best = known[i];
        }
    }
    return best;
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
    near = cli_nearest(name, known, count);
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
