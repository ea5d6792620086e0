/* SPDX-License-Identifier: MIT */
/* The example's line parser: each row is a line and what it must be read as. */
#include <stdio.h>

#include "sennit_test.h"

#include "logline.h"

struct row {
    const char *name;
    const char *line;
    const char *why; /* NULL: it is a line */
    int64_t at_s;
    const char *action, *package, *architecture, *old_version, *new_version, *detail;
};

#define FIRST INT64_C(1750775785) /* 2025-06-24 14:36:25 */

static const struct row rows[] = {
    { "an upgrade names both versions",
      "2025-06-24 14:36:25 upgrade libudev1:amd64 252.36-1~deb12u1 252.38-1~deb12u1",
      NULL, FIRST, "upgrade", "libudev1", "amd64", "252.36-1~deb12u1", "252.38-1~deb12u1",
      "" },
    { "an install has no old version",
      "2025-06-24 14:36:25 install ed:amd64 <none> 1.19-1", NULL, FIRST, "install", "ed",
      "amd64", "", "1.19-1", "" },
    { "a package may come without architecture",
      "2025-06-24 14:36:25 purge ed 1.19-1 <none>", NULL, FIRST, "purge", "ed", "",
      "1.19-1", "", "" },
    { "a status names its state",
      "2025-06-24 14:36:25 status half-installed ed:amd64 1.19-1", NULL, FIRST, "status",
      "ed", "amd64", "", "1.19-1", "half-installed" },
    { "a startup has no package", "2025-06-24 14:36:25 startup archives unpack", NULL,
      FIRST, "startup", "", "", "", "", "archives unpack" },
    { "a conffile may have spaces in its name",
      "2025-06-24 14:36:25 conffile /etc/a b keep", NULL, FIRST, "conffile", "", "", "",
      "", "/etc/a b keep" },
    { "a leap day is a day", "2024-02-29 00:00:00 startup a b", NULL, INT64_C(1709164800),
      "startup", "", "", "", "", "a b" },

    { "an empty line is not a line", "", "does not begin with a date and a time", 0, "",
      "", "", "", "", "" },
    { "a line that is only a date is not a line", "2025-06-24",
      "does not begin with a date and a time", 0, "", "", "", "", "", "" },
    { "the 29th of February needs a leap year", "2025-02-29 00:00:00 startup a b",
      "does not begin with a date and a time", 0, "", "", "", "", "", "" },
    { "a letter in the time is seen", "2025-06-24 14:3x:25 startup a b",
      "does not begin with a date and a time", 0, "", "", "", "", "", "" },
    { "an action nobody knows is refused", "2025-06-24 14:36:25 explode ed:amd64 1 2",
      "unknown action", 0, "", "", "", "", "", "" },
    { "a change with one version is refused",
      "2025-06-24 14:36:25 install ed:amd64 1.19-1", "not two versions after the package",
      0, "", "", "", "", "", "" },
    { "a change with a word too many is refused",
      "2025-06-24 14:36:25 remove ed:all 1 2 3", "not two versions after the package", 0,
      "", "", "", "", "", "" },
    { "a change without a package is refused", "2025-06-24 14:36:25 install :amd64 1 2",
      "no package", 0, "", "", "", "", "", "" },
    { "a status cut short is refused", "2025-06-24 14:36:25 status installed",
      "no state and package", 0, "", "", "", "", "", "" },
    { "a status without a version is refused",
      "2025-06-24 14:36:25 status installed ed:all", "not one version after the package",
      0, "", "", "", "", "", "" },
    { "a startup cut short is refused", "2025-06-24 14:36:25 startup archives",
      "not two words after the action", 0, "", "", "", "", "", "" },
    { "bytes that are not text are refused", "2025-06-24 14:36:25 startup \xff\xfe b",
      "not text", 0, "", "", "", "", "", "" },
    { "a control character is refused", "2025-06-24 14:36:25 startup a\tb c", "not text",
      0, "", "", "", "", "", "" },
    { "a carriage return is refused", "2025-06-24 14:36:25 startup a b\r", "not text", 0,
      "", "", "", "", "", "" },
    { "a space at the end is refused", "2025-06-24 14:36:25 install ed:all <none> 1 ",
      "ends in a space", 0, "", "", "", "", "", "" },
    { "two spaces in a row are refused", "2025-06-24 14:36:25 startup a  b",
      "not two words after the action", 0, "", "", "", "", "", "" },
};

static void
assert_word(const char *expected, sennit_str word)
{
    if (!sennit_str_equal(sennit_str_of(expected), word))
        fail_msg("expected \"%s\", got \"%.*s\"", expected, (int)word.size, word.data);
}

static void
check_row(void **state)
{
    const struct row *row = *state;
    logline line = { .at_s = -1 };
    const char *why = logline_parse(sennit_str_of(row->line), &line);
    if (row->why) {
        assert_non_null(why);
        assert_string_equal(why, row->why);
        assert_int_equal(line.at_s, -1);
        return;
    }
    if (why)
        fail_msg("refused: %s", why);
    assert_int_equal(line.at_s, row->at_s);
    assert_word(row->action, line.action);
    assert_word(row->package, line.package);
    assert_word(row->architecture, line.architecture);
    assert_word(row->old_version, line.old_version);
    assert_word(row->new_version, line.new_version);
    assert_word(row->detail, line.detail);
}

/* The line is copied to the heap without a terminator, so that ASan sees any read
 * past a cut. */
static void
no_cut_of_a_line_is_read_past_its_end(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (size_t size = 1; size <= strlen(rows[i].line); size++) {
            char *copy = malloc(size);
            assert_non_null(copy);
            memcpy(copy, rows[i].line, size);
            logline line;
            (void)logline_parse((sennit_str){ copy, size }, &line);
            free(copy);
        }
}

static void
a_line_over_the_bound_is_refused(void **state)
{
    static char text[LOGLINE_MAX_BYTES + 1];
    static const char start[] = "2025-06-24 14:36:25 startup archives ";
    logline line;
    (void)state;
    memset(text, 'x', sizeof text);
    memcpy(text, start, sizeof start - 1);
    assert_null(logline_parse((sennit_str){ text, LOGLINE_MAX_BYTES }, &line));
    assert_string_equal(logline_parse((sennit_str){ text, sizeof text }, &line),
                        "too long");
}

int
main(void)
{
    enum { ROWS = sizeof rows / sizeof rows[0] };
    struct CMUnitTest tests[ROWS + 2] = { 0 };
    for (size_t i = 0; i < ROWS; i++)
        tests[i] = (struct CMUnitTest){
            .name = rows[i].name,
            .test_func = check_row,
            .initial_state = (void *)(uintptr_t)&rows[i],
        };
    tests[ROWS] =
        (struct CMUnitTest)cmocka_unit_test(no_cut_of_a_line_is_read_past_its_end);
    tests[ROWS + 1] =
        (struct CMUnitTest)cmocka_unit_test(a_line_over_the_bound_is_refused);
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
