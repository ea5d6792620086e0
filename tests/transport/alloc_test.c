/* SPDX-License-Identifier: MIT */
#include "sennit_test.h"

#include "base/alloc.h"
#include "fail_alloc.h"

static void
zeroed_memory_is_zero(void **state)
{
    test_alloc alloc;
    uint8_t *memory;

    (void)state;
    test_alloc_init(&alloc);
    memory = sni_acquire_zero(&alloc.allocator, 100);
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(memory[i], 0);
    sni_release(&alloc.allocator, memory);
    sni_release(&alloc.allocator, NULL);
    assert_int_equal(alloc.live_blocks, 0);
}

static void
grow_doubles_and_keeps_what_was_there(void **state)
{
    test_alloc alloc;
    uint32_t *array = NULL;
    size_t capacity = 0;
    size_t resizes = 0;

    (void)state;
    test_alloc_init(&alloc);
    for (uint32_t i = 0; i < 1000; i++) {
        uint64_t before = alloc.requests;

        assert_true(sni_grow(&alloc.allocator, &array, &capacity, i + 1, sizeof *array));
        resizes += alloc.requests - before;
        array[i] = i;
    }
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(array[i], i);
    assert_int_equal(capacity, 1024);
    assert_int_equal(resizes, 8); /* 8, 16, ... 1024 */
    sni_release(&alloc.allocator, array);
    assert_int_equal(alloc.live_blocks, 0);
}

static void
small_growth_begins_with_what_is_needed_and_doubles(void **state)
{
    static const struct {
        size_t needed;
        size_t capacity;
    } rows[] = { { 1, 1 }, { 2, 2 }, { 3, 4 }, { 4, 4 }, { 9, 16 } };
    test_alloc alloc;
    int *array = NULL;
    size_t capacity = 0;

    (void)state;
    test_alloc_init(&alloc);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_true(sni_grow_small(&alloc.allocator, &array, &capacity, rows[i].needed,
                                   sizeof *array));
        assert_int_equal(capacity, rows[i].capacity);
    }
    assert_int_equal(alloc.live_bytes, 16 * sizeof *array);
    sni_release(&alloc.allocator, array);
    assert_int_equal(alloc.live_blocks, 0);
}

static void
grow_that_fails_touches_nothing(void **state)
{
    test_alloc alloc;
    uint32_t *array = NULL;
    uint32_t *kept;
    size_t capacity = 0;

    (void)state;
    test_alloc_init(&alloc);
    assert_true(sni_grow(&alloc.allocator, &array, &capacity, 8, sizeof *array));
    array[7] = 7;
    kept = array;
    test_alloc_fail_at(&alloc, 1);
    assert_false(sni_grow(&alloc.allocator, &array, &capacity, 9, sizeof *array));
    assert_ptr_equal(array, kept);
    assert_int_equal(capacity, 8);
    assert_int_equal(array[7], 7);
    sni_release(&alloc.allocator, array);
}

static void
grow_refuses_sizes_that_overflow(void **state)
{
    test_alloc alloc;
    uint64_t *array = NULL;
    size_t capacity = 0;

    (void)state;
    test_alloc_init(&alloc);
    assert_false(
        sni_grow(&alloc.allocator, &array, &capacity, SIZE_MAX / 4, sizeof *array));
    assert_false(sni_grow(&alloc.allocator, &array, &capacity, SIZE_MAX, sizeof *array));
    assert_int_equal(alloc.requests, 0);
    assert_null(array);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zeroed_memory_is_zero),
        cmocka_unit_test(grow_doubles_and_keeps_what_was_there),
        cmocka_unit_test(small_growth_begins_with_what_is_needed_and_doubles),
        cmocka_unit_test(grow_that_fails_touches_nothing),
        cmocka_unit_test(grow_refuses_sizes_that_overflow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
