/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_TEST_SUITE_H
#define SENNIT_TEST_SUITE_H

#include "sennit_test.h"

#include <stdio.h>

/* Tests that are collected when the program begins: rows of tables, each a test of its
 * own that finds its row in *state, and those that are written down. */
#define TEST_SUITE_MAX 512

typedef struct test_suite {
    struct CMUnitTest tests[TEST_SUITE_MAX];
    char names[TEST_SUITE_MAX][160];
    size_t count;
} test_suite;

static inline void
test_suite_check_room(const test_suite *suite, size_t count)
{
    if (suite->count + count <= TEST_SUITE_MAX)
        return;
    fprintf(stderr, "more than %d tests: raise TEST_SUITE_MAX\n", TEST_SUITE_MAX);
    exit(1);
}

/* `check` of one row, named `prefix` and `name`. */
static inline void
test_suite_row(test_suite *suite, const char *prefix, const char *name,
               CMUnitTestFunction check, const void *row)
{
    char *text = suite->names[suite->count];

    test_suite_check_room(suite, 1);
    snprintf(text, sizeof suite->names[0], "%s%s", prefix, name);
    suite->tests[suite->count++] = (struct CMUnitTest){
        .name = text,
        .test_func = check,
        .initial_state = (void *)(uintptr_t)row, /* cmocka's state is not const */
    };
}

static inline void
test_suite_add(test_suite *suite, const struct CMUnitTest *tests, size_t count)
{
    test_suite_check_room(suite, count);
    memcpy(suite->tests + suite->count, tests, count * sizeof *tests);
    suite->count += count;
}

/* Gives: the program's status. */
static inline int
test_suite_run(const test_suite *suite)
{
    return _cmocka_run_group_tests("tests", suite->tests, suite->count, NULL, NULL) == 0
               ? 0
               : 1;
}

/* The same for a whole table, whose rows have a `name`, and a whole array. */
#define TEST_SUITE_ROWS(suite, prefix, rows, check)                                      \
    for (size_t row_ = 0; row_ < sizeof(rows) / sizeof(rows)[0]; row_++)                 \
    test_suite_row(suite, prefix, (rows)[row_].name, check, &(rows)[row_])
#define TEST_SUITE_ADD(suite, tests)                                                     \
    test_suite_add(suite, tests, sizeof(tests) / sizeof(tests)[0])

#endif /* SENNIT_TEST_SUITE_H */
