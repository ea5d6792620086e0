/* SPDX-License-Identifier: MIT */
/* Reads from the left, word by word; words are separated by exactly one space. */
#include "logline.h"

#include <string.h>

#define NONE "<none>"

static bool
is(sennit_str word, const char *text)
{
    return sennit_str_equal(word, sennit_str_of(text));
}

/* Takes the bytes up to the next `stop` off the front of `rest`, and `stop` itself;
 * all of it when there is none. */
static sennit_str
take_until(sennit_str *rest, char stop)
{
    const char *at = rest->size ? memchr(rest->data, stop, rest->size) : NULL;
    sennit_str word = { rest->data, at ? (size_t)(at - rest->data) : rest->size };
    size_t used = word.size + (at ? 1 : 0);
    *rest = (sennit_str){ rest->data ? rest->data + used : NULL, rest->size - used };
    return word;
}

static sennit_str
take_word(sennit_str *rest)
{
    return take_until(rest, ' ');
}

/* Value of `count` digits when it lies in [min, max]; else -1. */
static int
number(const char *digits, size_t count, int min, int max)
{
    int value = 0;
    for (size_t i = 0; i < count; i++) {
        if (digits[i] < '0' || digits[i] > '9')
            return -1;
        value = value * 10 + (digits[i] - '0');
    }
    return value >= min && value <= max ? value : -1;
}

/* Days from 1970-01-01 to a date of the Gregorian calendar: years are counted from
 * March, so that the leap day is the last of its year. */
static int64_t
days_since_1970(int year, int month, int day)
{
    int64_t y = month > 2 ? year : year - 1;
    int64_t m = month > 2 ? month - 3 : month + 9;
    return y * 365 + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719468;
}

static bool
parse_time(sennit_str date, sennit_str time, int64_t *out)
{
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

    if (date.size != 10 || date.data[4] != '-' || date.data[7] != '-')
        return false;
    if (time.size != 8 || time.data[2] != ':' || time.data[5] != ':')
        return false;
    int year = number(date.data, 4, 1970, 2199); /* as nanoseconds it fits 64 bits */
    int month = number(date.data + 5, 2, 1, 12);
    int day = number(date.data + 8, 2, 1, 31);
    int hour = number(time.data, 2, 0, 23);
    int minute = number(time.data + 3, 2, 0, 59);
    int second = number(time.data + 6, 2, 0, 60);
    if (year < 0 || month < 0 || day < 0 || hour < 0 || minute < 0 || second < 0)
        return false;
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if (day > days[month - 1] + (leap && month == 2 ? 1 : 0))
        return false;
    *out = days_since_1970(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
    return true;
}

static bool
is_package_action(sennit_str action)
{
    static const char *const names[] = { "configure", "disappear", "install", "purge",
                                         "remove",    "trigproc",  "upgrade" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (is(action, names[i]))
            return true;
    return false;
}

static sennit_str
version(sennit_str word)
{
    return is(word, NONE) ? (sennit_str){ NULL, 0 } : word;
}

/* NAME or NAME:ARCHITECTURE. */
static bool
parse_package(sennit_str word, logline *line)
{
    line->package = take_until(&word, ':');
    line->architecture = word;
    return line->package.size > 0;
}

static const char *
parse_change(sennit_str rest, logline *line)
{
    sennit_str package = take_word(&rest);
    sennit_str old = take_word(&rest);
    sennit_str new = take_word(&rest);
    if (!parse_package(package, line))
        return "no package";
    if (old.size == 0 || new.size == 0 || rest.size > 0)
        return "not two versions after the package";
    line->old_version = version(old);
    line->new_version = version(new);
    return NULL;
}

static const char *
parse_status(sennit_str rest, logline *line)
{
    line->detail = take_word(&rest);
    sennit_str package = take_word(&rest);
    sennit_str installed = take_word(&rest);
    if (line->detail.size == 0 || !parse_package(package, line))
        return "no state and package";
    if (installed.size == 0 || rest.size > 0)
        return "not one version after the package";
    line->new_version = version(installed);
    return NULL;
}

static const char *
parse_rest(sennit_str rest, logline *line)
{
    if (is_package_action(line->action))
        return parse_change(rest, line);
    if (is(line->action, "status"))
        return parse_status(rest, line);
    if (!is(line->action, "startup") && !is(line->action, "conffile"))
        return "unknown action";
    line->detail = rest;
    sennit_str first = take_word(&rest);
    if (first.size == 0 || rest.size == 0 || rest.data[0] == ' ')
        return "not two words after the action";
    return NULL;
}

/* Whether all of it can be shown to people: UTF-8 without control characters. */
static bool
is_text(sennit_str text)
{
    for (size_t i = 0; i < text.size; i++)
        if ((uint8_t)text.data[i] < 0x20 || text.data[i] == 0x7f)
            return false;
    return sennit_str_is_utf8(text);
}

const char *
logline_parse(sennit_str text, logline *out)
{
    logline line = { .at_s = 0 };
    if (text.size > LOGLINE_MAX_BYTES)
        return "too long";
    if (!is_text(text))
        return "not text";
    if (text.size > 0 && text.data[text.size - 1] == ' ')
        return "ends in a space";
    sennit_str date = take_word(&text);
    sennit_str time = take_word(&text);
    if (!parse_time(date, time, &line.at_s))
        return "does not begin with a date and a time";
    line.action = take_word(&text);
    const char *why = parse_rest(text, &line);
    if (!why)
        *out = line;
    return why;
}
