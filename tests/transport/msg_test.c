/* SPDX-License-Identifier: MIT */
#include "sennit_test.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/msg.h"
#include "fail_alloc.h"

static uint8_t body[5000];

static void
check_body(const sennit_msg *msg, size_t size)
{
    assert_int_equal(sennit_msg_size(msg), size);
    if (memcmp(sennit_msg_bytes(msg).data, body, size) != 0)
        fail_msg("the body of %zu bytes changed", size);
}

static const size_t sizes[] = { 0, 1, 54, 55, 56, 255, 256, 4095, 4096, 5000 };

static void
a_copy_of_any_size_reads_back(void **state)
{
    size_t size = *(const size_t *)*state;
    sennit_msg msg;

    assert_int_equal(sennit_msg_init_copy(&msg, body, size), SENNIT_OK);
    check_body(&msg, size);
    assert_false(sennit_msg_more(&msg));
    assert_int_equal(sennit_msg_peer(&msg), 0);
    sennit_msg_fini(&msg);
    assert_int_equal(sennit_msg_size(&msg), 0);
    sennit_msg_fini(&msg);
}

static void
moving_leaves_the_source_empty_and_valid(void **state)
{
    size_t size = *(const size_t *)*state;
    sennit_msg from;
    sennit_msg to;

    assert_int_equal(sennit_msg_init_copy(&from, body, size), SENNIT_OK);
    assert_int_equal(sennit_msg_init_copy(&to, body, 100), SENNIT_OK);
    sennit_msg_move(&to, &from);
    check_body(&to, size);
    assert_int_equal(sennit_msg_size(&from), 0);
    sennit_msg_move(&to, &to);
    check_body(&to, size);
    sennit_msg_fini(&from);
    sennit_msg_fini(&to);
}

static void
a_copy_shares_large_bodies_and_outlives_the_original(void **state)
{
    size_t size = *(const size_t *)*state;
    sennit_msg from;
    sennit_msg to;

    assert_int_equal(sennit_msg_init_copy(&from, body, size), SENNIT_OK);
    sennit_msg_init(&to);
    sennit_msg_copy(&to, &from);
    if (size > SENNIT_MSG_INLINE_MAX)
        assert_ptr_equal(sennit_msg_data(&to), sennit_msg_data(&from));
    sennit_msg_copy(&to, &to);
    sennit_msg_fini(&from);
    check_body(&to, size);
    sennit_msg_fini(&to);
}

static void
count_release(void *data, void *arg)
{
    assert_ptr_equal(data, body);
    ++*(unsigned *)arg;
}

static void
user_memory_comes_back_when_the_last_copy_is_gone(void **state)
{
    unsigned calls = 0;
    sennit_msg msg;
    sennit_msg copy;

    (void)state;
    assert_int_equal(sennit_msg_init_user(&msg, body, sizeof body, count_release, &calls),
                     SENNIT_OK);
    assert_ptr_equal(sennit_msg_data(&msg), body);
    sennit_msg_init(&copy);
    sennit_msg_copy(&copy, &msg);
    sennit_msg_fini(&msg);
    assert_int_equal(calls, 0);
    sennit_msg_fini(&copy);
    assert_int_equal(calls, 1);
}

static void
constant_user_memory_needs_no_release(void **state)
{
    sennit_msg msg;

    (void)state;
    assert_int_equal(sennit_msg_init_user(&msg, body, 10, NULL, NULL), SENNIT_OK);
    check_body(&msg, 10);
    sennit_msg_fini(&msg);
}

static void
a_size_that_cannot_be_had_is_out_of_memory(void **state)
{
    sennit_msg msg;

    (void)state;
    assert_int_equal(sennit_msg_init_size(&msg, SIZE_MAX), SENNIT_ENOMEM);
    assert_int_equal(sennit_msg_size(&msg), 0);
    sennit_msg_fini(&msg);
}

static void
a_small_body_is_copied_and_a_view_takes_a_reference(void **state)
{
    test_alloc alloc;
    sni_block *home;
    sni_msg small;
    sni_msg large;

    (void)state;
    test_alloc_init(&alloc);
    home = sni_block_new(&alloc.allocator, 200);
    memcpy(home->data, body, 200);
    sni_msg_init_small(&small, home->data, 55, true, 7);
    assert_true(sni_block_sole(home));
    sni_msg_init_view(&large, home->data, 56, sni_block_ref(home), false, 8);
    assert_false(sni_block_sole(home));
    sni_block_unref(home);
    check_body((sennit_msg *)&small, 55);
    check_body((sennit_msg *)&large, 56);
    assert_true(sennit_msg_more((sennit_msg *)&small));
    assert_false(sennit_msg_more((sennit_msg *)&large));
    assert_int_equal(sennit_msg_peer((sennit_msg *)&small), 7);
    assert_int_equal(sennit_msg_peer((sennit_msg *)&large), 8);
    sennit_msg_fini((sennit_msg *)&small);
    sennit_msg_fini((sennit_msg *)&large);
    assert_int_equal(alloc.live_blocks, 0);
}

/* Memory ends where the body does, at both ends of the copy. */
static void
a_body_of_any_size_is_copied_whole_and_no_more(void **state)
{
    (void)state;
    sni_body_copy(NULL, NULL, 0);
    for (size_t size = 1; size <= 300; size++) {
        uint8_t *from = malloc(size);
        uint8_t *to = calloc(1, size);

        assert_non_null(from);
        assert_non_null(to);
        memcpy(from, body + size, size);
        sni_body_copy(to, from, size);
        assert_memory_equal(to, body + size, size);
        assert_memory_equal(from, body + size, size);
        free(from);
        free(to);
    }
}

int
main(void)
{
    enum { ROWS = sizeof sizes / sizeof sizes[0] };
    static char names[3 * ROWS][64];
    struct CMUnitTest tests[3 * ROWS + 5];
    size_t count = 0;
    static const struct {
        const char *name;
        CMUnitTestFunction fn;
    } by_size[] = {
        { "a copy of any size reads back", a_copy_of_any_size_reads_back },
        { "moving leaves the source empty and valid",
          moving_leaves_the_source_empty_and_valid },
        { "a copy outlives the original",
          a_copy_shares_large_bodies_and_outlives_the_original },
    };

    for (size_t i = 0; i < sizeof body; i++)
        body[i] = (uint8_t)(i * 7);
    for (size_t test = 0; test < 3; test++) {
        for (size_t row = 0; row < ROWS; row++) {
            snprintf(names[count], sizeof names[count], "%s: %zu bytes",
                     by_size[test].name, sizes[row]);
            tests[count] = (struct CMUnitTest){
                .name = names[count],
                .test_func = by_size[test].fn,
                .initial_state = (void *)(uintptr_t)&sizes[row],
            };
            count++;
        }
    }
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(
        user_memory_comes_back_when_the_last_copy_is_gone);
    tests[count++] =
        (struct CMUnitTest)cmocka_unit_test(constant_user_memory_needs_no_release);
    tests[count++] =
        (struct CMUnitTest)cmocka_unit_test(a_size_that_cannot_be_had_is_out_of_memory);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(
        a_small_body_is_copied_and_a_view_takes_a_reference);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(
        a_body_of_any_size_is_copied_whole_and_no_more);
    return _cmocka_run_group_tests("msg", tests, count, NULL, NULL) == 0 ? 0 : 1;
}
