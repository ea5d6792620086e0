/* SPDX-License-Identifier: MIT */
/* Files that appear together or not at all, while renames fail. The program is linked
 * with --wrap=rename. */
#include "sennit_test.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output.h"

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);

static const char *refused; /* one rename to this place fails */

int
__wrap_rename(const char *from, const char *to)
{
    if (refused && !strcmp(to, refused)) {
        refused = NULL;
        errno = EPERM;
        return -1;
    }
    return __real_rename(from, to);
}

typedef struct output_case {
    char folder[64];
    char one[96];
    char two[96];
    sni_output output;
} output_case;

static int
set_up(void **state)
{
    output_case *test = calloc(1, sizeof(*test));
    assert_non_null(test);
    snprintf(test->folder, sizeof(test->folder), "output-XXXXXX");
    assert_non_null(mkdtemp(test->folder));
    snprintf(test->one, sizeof(test->one), "%s/one", test->folder);
    snprintf(test->two, sizeof(test->two), "%s/two", test->folder);
    refused = NULL;
    *state = test;
    return 0;
}

static int
tear_down(void **state)
{
    output_case *test = *state;
    unlink(test->one);
    unlink(test->two);
    rmdir(test->two);
    int left = rmdir(test->folder); /* fails when a file of ours was left */
    free(test);
    return left;
}

static bool
commit(output_case *test, const char *one, const char *two)
{
    assert_true(sni_output_add(&test->output, test->one, one, strlen(one)));
    assert_true(sni_output_add(&test->output, test->two, two, strlen(two)));
    bool done = sni_output_commit(&test->output);
    sni_output_discard(&test->output);
    return done;
}

static void
assert_content(const char *path, const char *wanted)
{
    char text[16] = "";
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(text, wanted);
}

static size_t
count_entries(const char *folder)
{
    size_t count = 0;
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    while (readdir(entries))
        count++;
    closedir(entries);
    return count - 2; /* "." and ".." */
}

static void
new_files_take_the_place_of_earlier_ones(void **state)
{
    output_case *test = *state;
    assert_true(commit(test, "old 1", "old 2"));
    assert_true(commit(test, "new 1", "new 2"));
    assert_content(test->one, "new 1");
    assert_content(test->two, "new 2");
    assert_int_equal(count_entries(test->folder), 2);
}

static void
when_the_last_rename_fails_no_file_is_left(void **state)
{
    output_case *test = *state;
    refused = test->two;
    assert_false(commit(test, "new 1", "new 2"));
    assert_non_null(strstr(test->output.failure, test->two));
    assert_int_equal(count_entries(test->folder), 0);
}

static void
when_the_last_rename_fails_the_earlier_files_are_back(void **state)
{
    output_case *test = *state;
    assert_true(commit(test, "old 1", "old 2"));
    refused = test->two;
    assert_false(commit(test, "new 1", "new 2"));
    assert_content(test->one, "old 1");
    assert_content(test->two, "old 2");
    assert_int_equal(count_entries(test->folder), 2);
}

static void
a_directory_in_the_place_of_a_file_is_refused_and_left_alone(void **state)
{
    output_case *test = *state;
    assert_int_equal(mkdir(test->two, 0700), 0);
    assert_false(commit(test, "new 1", "new 2"));
    assert_non_null(strstr(test->output.failure, "directory"));
    assert_int_equal(count_entries(test->folder), 1);
    assert_int_equal(count_entries(test->two), 0);
}

static void
a_device_in_the_place_of_a_file_is_refused_and_left_alone(void **state)
{
    output_case *test = *state;
    struct stat status;
    assert_int_equal(mkfifo(test->two, 0600), 0); /* stands for /dev/null */
    assert_false(commit(test, "new 1", "new 2"));
    assert_non_null(strstr(test->output.failure, "not a regular file"));
    assert_int_equal(stat(test->two, &status), 0);
    assert_true(S_ISFIFO(status.st_mode));
    assert_int_equal(count_entries(test->folder), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static const struct CMUnitTest tests[] = {
    TEST(new_files_take_the_place_of_earlier_ones),
    TEST(when_the_last_rename_fails_no_file_is_left),
    TEST(when_the_last_rename_fails_the_earlier_files_are_back),
    TEST(a_device_in_the_place_of_a_file_is_refused_and_left_alone),
    TEST(a_directory_in_the_place_of_a_file_is_refused_and_left_alone),
};

SENNIT_TEST_MAIN(tests)
