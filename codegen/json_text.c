/* SPDX-License-Identifier: MIT */
#include "json_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NS_PER_S INT64_C(1000000000)

/* ---- Base64 ----------------------------------------------------------- */

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void
sni_base64_encode(sennit_bytes bytes, sennit_buf *out)
{
    for (size_t i = 0; i < bytes.size; i += 3) {
        size_t left = bytes.size - i;
        uint32_t group = (uint32_t)bytes.data[i] << 16;
        group |= left > 1 ? (uint32_t)bytes.data[i + 1] << 8 : 0;
        group |= left > 2 ? bytes.data[i + 2] : 0;
        char digits[4] = { base64_digits[group >> 18], base64_digits[group >> 12 & 63],
                           left > 1 ? base64_digits[group >> 6 & 63] : '=',
                           left > 2 ? base64_digits[group & 63] : '=' };
        sennit_buf_append(out, digits, sizeof(digits));
    }
}

bool
sni_base64_decode(const char *text, size_t size, sennit_buf *out)
{
    if (size % 4)
        return false;
    for (size_t i = 0; i < size; i += 4) {
        bool last = i + 4 == size;
        unsigned padding = last && text[i + 3] == '=' ? 1 + (text[i + 2] == '=') : 0;
        uint32_t group = 0;
        for (unsigned j = 0; j < 4 - padding; j++) {
            const char *digit = text[i + j] ? strchr(base64_digits, text[i + j]) : NULL;
            if (!digit)
                return false;
            group |= (uint32_t)(digit - base64_digits) << (18 - 6 * j);
        }
        uint8_t bytes[3] = { (uint8_t)(group >> 16), (uint8_t)(group >> 8),
                             (uint8_t)group };
        sennit_buf_append(out, bytes, 3 - padding);
    }
    return true;
}

/* ---- Time and duration ------------------------------------------------ */

/* Days since 1970 of a date in the Gregorian calendar (Howard Hinnant's method:
 * years begin in March, so that the leap day comes last). */
static int64_t
days_of(int64_t year, int64_t month, int64_t day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era =
        year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

static void
date_of(int64_t days, int *year, int *month, int *day)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t day_of_era = days - era * 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t shifted = (5 * day_of_year + 2) / 153;
    *day = (int)(day_of_year - (153 * shifted + 2) / 5 + 1);
    *month = (int)(shifted + (shifted < 10 ? 3 : -9));
    *year = (int)(year_of_era + era * 400 + (*month <= 2));
}

void
sni_time_text(int64_t ns, char *out, size_t size)
{
    int64_t seconds = ns / NS_PER_S;
    int64_t rest = ns % NS_PER_S;
    if (rest < 0) {
        rest += NS_PER_S;
        seconds--;
    }
    int64_t days = seconds / 86400;
    int64_t of_day = seconds % 86400;
    if (of_day < 0) {
        of_day += 86400;
        days--;
    }
    int year, month, day;
    date_of(days, &year, &month, &day);
    int at = snprintf(out, size, "%04d-%02d-%02dT%02d:%02d:%02d", year, month, day,
                      (int)(of_day / 3600), (int)(of_day / 60 % 60), (int)(of_day % 60));
    if (rest) {
        at += snprintf(out + at, size - (size_t)at, ".%09d", (int)rest);
        while (out[at - 1] == '0')
            at--;
    }
    snprintf(out + at, size - (size_t)at, "Z");
}

/* Reads exactly `digits` digits; -1 when they are not there. */
static int
read_digits(const char **text, int digits)
{
    int number = 0;
    for (int i = 0; i < digits; i++, ++*text) {
        if (**text < '0' || **text > '9')
            return -1;
        number = number * 10 + (**text - '0');
    }
    return number;
}

static bool
read_mark(const char **text, const char *marks)
{
    if (!**text || !strchr(marks, **text))
        return false;
    ++*text;
    return true;
}

/* Nanoseconds after the point; false for none or more than nine digits. */
static bool
read_fraction(const char **text, int64_t *ns)
{
    int64_t unit = NS_PER_S;
    *ns = 0;
    if (**text < '0' || **text > '9')
        return false;
    for (; **text >= '0' && **text <= '9'; ++*text) {
        unit /= 10;
        if (!unit)
            return false;
        *ns += unit * (**text - '0');
    }
    return true;
}

/* "Z" or "+01:00", in seconds. */
static bool
read_zone(const char **text, int64_t *seconds)
{
    *seconds = 0;
    if (read_mark(text, "Zz"))
        return true;
    bool west = **text == '-';
    if (!read_mark(text, "+-"))
        return false;
    int hours = read_digits(text, 2);
    if (hours < 0 || hours > 23 || !read_mark(text, ":"))
        return false;
    int minutes = read_digits(text, 2);
    if (minutes < 0 || minutes > 59)
        return false;
    *seconds = (hours * 60 + minutes) * (west ? -60 : 60);
    return true;
}

/* Seconds (rounded down) and nanoseconds as one number, if it fits. */
static bool
join_ns(int64_t seconds, int64_t rest, int64_t *out)
{
    if (seconds < 0) { /* from the second's end, whose nanoseconds are closer to 0 */
        seconds++;
        rest -= NS_PER_S;
    }
    if (seconds < INT64_MIN / NS_PER_S || seconds > INT64_MAX / NS_PER_S)
        return false;
    int64_t whole = seconds * NS_PER_S;
    if (rest < 0 ? whole < INT64_MIN - rest : whole > INT64_MAX - rest)
        return false;
    *out = whole + rest;
    return true;
}

bool
sni_time_parse(const char *text, int64_t *out)
{
    static const int month_days[] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    int64_t rest = 0;
    int64_t zone;
    int year = read_digits(&text, 4);
    bool good = year >= 0 && read_mark(&text, "-");
    int month = good ? read_digits(&text, 2) : -1;
    good = month >= 1 && month <= 12 && read_mark(&text, "-");
    int day = good ? read_digits(&text, 2) : -1;
    good = day >= 1 && day <= month_days[month - 1] && read_mark(&text, "Tt ");
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    good = good && (month != 2 || day <= 28 || leap);
    int hour = good ? read_digits(&text, 2) : -1;
    good = hour >= 0 && hour < 24 && read_mark(&text, ":");
    int minute = good ? read_digits(&text, 2) : -1;
    good = minute >= 0 && minute < 60 && read_mark(&text, ":");
    int second = good ? read_digits(&text, 2) : -1;
    good = second >= 0 && second <= 60;
    if (good && read_mark(&text, "."))
        good = read_fraction(&text, &rest);
    good = good && read_zone(&text, &zone) && !*text;
    if (!good)
        return false;
    int64_t seconds = days_of(year, month, day) * 86400 + hour * 3600 + minute * 60;
    return join_ns(seconds + second - zone, rest, out);
}

typedef struct sni_json_unit {
    const char *name;
    int64_t ns;
} sni_json_unit;

static const sni_json_unit units[] = {
    { "h", INT64_C(3600000000000) },
    { "m", INT64_C(60000000000) },
    { "s", NS_PER_S },
    { "ms", 1000000 },
    { "us", 1000 },
    { "ns", 1 },
};

#define UNITS_COUNT (sizeof(units) / sizeof(units[0]))

void
sni_duration_text(int64_t ns, char *out, size_t size)
{
    size_t unit = ns ? 0 : 2;
    while (ns % units[unit].ns)
        unit++;
    snprintf(out, size, "%" PRId64 "%s", ns / units[unit].ns, units[unit].name);
}

const char *
sni_number_parse(const char *text, bool *negative, uint64_t *magnitude)
{
    uint64_t number = 0;
    *negative = *text == '-';
    text += *negative;
    if (*text < '0' || *text > '9')
        return NULL;
    for (; *text >= '0' && *text <= '9'; text++) {
        unsigned digit = (unsigned)(*text - '0');
        if (number > (UINT64_MAX - digit) / 10)
            return NULL;
        number = number * 10 + digit;
    }
    *magnitude = number;
    return text;
}

bool
sni_duration_parse(const char *text, int64_t *out)
{
    bool negative;
    uint64_t magnitude;
    const char *unit = sni_number_parse(text, &negative, &magnitude);
    for (size_t i = 0; unit && i < UNITS_COUNT; i++) {
        uint64_t limit = (uint64_t)INT64_MAX + negative;
        if (strcmp(unit, units[i].name) != 0)
            continue;
        if (magnitude > limit / (uint64_t)units[i].ns)
            return false;
        uint64_t bits = magnitude * (uint64_t)units[i].ns;
        *out = (int64_t)(negative ? 0 - bits : bits);
        return true;
    }
    return false;
}
