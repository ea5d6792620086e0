/* SPDX-License-Identifier: MIT */
/* The example's counts by name. */
#include <stdio.h>

#include "sennit_test.h"

#include "tally.h"

struct fixture {
    tally *tally;
    sennit_arena *arena;
};

static int
set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    *state = f;
    return !f || tally_new(&f->tally) || sennit_arena_new(&f->arena, NULL);
}

static int
tear_down(void **state)
{
    struct fixture *f = *state;
    tally_free(f->tally);
    sennit_arena_free(f->arena);
    free(f);
    return 0;
}

static void
count(struct fixture *f, const char *name, int times)
{
    while (times--)
        assert_int_equal(tally_add(f->tally, sennit_str_of(name), NULL), SENNIT_OK);
}

static void
assert_names(struct fixture *f, tally_order order, const char *expected)
{
    const tally_entry **list;
    char text[256] = "";
    assert_int_equal(tally_list(f->tally, order, f->arena, &list), SENNIT_OK);
    for (size_t i = 0; i < tally_size(f->tally); i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%.*s ", (int)list[i]->name.size,
                 list[i]->name.data);
    }
    assert_string_equal(text, expected);
}

static void
a_new_tally_lists_nothing(void **state)
{
    assert_names(*state, TALLY_BY_NAME, "");
}

static void
a_name_never_counted_is_not_found(void **state)
{
    struct fixture *f = *state;
    count(f, "ed", 1);
    assert_null(tally_find(f->tally, sennit_str_of("e")));
    assert_non_null(tally_find(f->tally, sennit_str_of("ed")));
}

static void
names_are_listed_by_bytes_a_prefix_first(void **state)
{
    count(*state, "zlib", 1);
    count(*state, "gcc-12", 1);
    count(*state, "gcc", 1);
    count(*state, "Gcc", 1);
    assert_names(*state, TALLY_BY_NAME, "Gcc gcc gcc-12 zlib ");
}

static void
counts_are_listed_from_the_top_and_equal_ones_by_name(void **state)
{
    count(*state, "b", 2);
    count(*state, "c", 3);
    count(*state, "a", 2);
    assert_names(*state, TALLY_BY_COUNT, "c a b ");
}

static void
steps_are_kept_in_order_and_copied(void **state)
{
    struct fixture *f = *state;
    char action[] = "install";
    tally_step step = { .at_ns = 7, .action = sennit_str_of(action) };
    for (int i = 0; i < 9; i++) {
        step.at_ns = i;
        assert_int_equal(tally_add(f->tally, sennit_str_of("ed"), &step), SENNIT_OK);
    }
    memset(action, 'x', sizeof action - 1);
    const tally_entry *entry = tally_find(f->tally, sennit_str_of("ed"));
    assert_int_equal(entry->count, 9);
    assert_int_equal(entry->steps_count, 9);
    for (int i = 0; i < 9; i++) {
        assert_int_equal(entry->steps[i].at_ns, i);
        assert_true(sennit_str_equal(entry->steps[i].action, sennit_str_of("install")));
    }
}

static void
many_names_are_all_found_again(void **state)
{
    struct fixture *f = *state;
    char name[16];
    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof name, "p%d", i % 2500);
        count(f, name, 1);
    }
    assert_int_equal(tally_size(f->tally), 2500);
    for (int i = 0; i < 2500; i++) {
        snprintf(name, sizeof name, "p%d", i);
        const tally_entry *entry = tally_find(f->tally, sennit_str_of(name));
        assert_non_null(entry);
        assert_int_equal(entry->count, 2);
    }
}

int
main(void)
{
#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ROW(a_new_tally_lists_nothing),
        ROW(a_name_never_counted_is_not_found),
        ROW(names_are_listed_by_bytes_a_prefix_first),
        ROW(counts_are_listed_from_the_top_and_equal_ones_by_name),
        ROW(steps_are_kept_in_order_and_copied),
        ROW(many_names_are_all_found_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
