/* SPDX-License-Identifier: MIT */
#include "sennit_test.h"

#include "base/limits.h"
#include "engine/window.h"
#include "fail_alloc.h"

typedef struct fixture {
    test_alloc alloc;
    sni_pool *pool;
    sni_bodies bodies;
    sni_window window;
} fixture;

static void
fixture_init(fixture *f)
{
    memset(f, 0, sizeof *f);
    test_alloc_init(&f->alloc);
    f->pool = sni_pool_new(&f->alloc.allocator, SNI_RECV_BYTES, 4);
    assert_non_null(f->pool);
    sni_bodies_init(&f->bodies, &f->alloc.allocator);
}

static void
fixture_fini(fixture *f)
{
    sni_block_unref(f->window.home);
    sni_pool_free(f->pool);
    sni_bodies_fini(&f->bodies);
    assert_int_equal(f->alloc.live_blocks, 0);
}

static sennit_err
window_add(fixture *f, const void *data, size_t size, sni_block *home)
{
    return sni_window_add(&f->window, &f->bodies, f->pool, sni_bytes(data, size), home);
}

static void
bytes_with_a_home_stay_where_they_are(void **state)
{
    fixture f;
    sni_block *block;

    (void)state;
    fixture_init(&f);
    block = sni_pool_take(f.pool);
    memcpy(block->data, "0123456789", 10);
    assert_int_equal(window_add(&f, block->data + 2, 4, block), SENNIT_OK);
    assert_ptr_equal(f.window.home, block);
    assert_false(sni_block_sole(block));
    assert_memory_equal(sni_window_unscanned(&f.window).data, "2345", 4);
    /* What follows directly is added in place. */
    assert_int_equal(window_add(&f, block->data + 6, 2, block), SENNIT_OK);
    assert_ptr_equal(f.window.home, block);
    assert_int_equal(sni_window_unscanned(&f.window).size, 6);
    sni_block_unref(block);
    fixture_fini(&f);
}

static void
bytes_without_a_home_are_copied(void **state)
{
    fixture f;

    (void)state;
    fixture_init(&f);
    assert_int_equal(sni_window_room(&f.window), 0);
    assert_int_equal(sni_window_unscanned(&f.window).size, 0);
    assert_int_equal(window_add(&f, "abc", 3, NULL), SENNIT_OK);
    assert_int_equal(window_add(&f, "def", 3, NULL), SENNIT_OK);
    assert_memory_equal(sni_window_unscanned(&f.window).data, "abcdef", 6);
    assert_int_equal(sni_window_room(&f.window), SNI_RECV_BYTES - 6);
    fixture_fini(&f);
}

static void
bytes_from_another_home_are_copied_behind(void **state)
{
    fixture f;
    sni_block *block;

    (void)state;
    fixture_init(&f);
    assert_int_equal(window_add(&f, "abc", 3, NULL), SENNIT_OK);
    block = sni_pool_take(f.pool);
    memcpy(block->data, "xyz", 3);
    assert_int_equal(window_add(&f, block->data, 3, block), SENNIT_OK);
    assert_true(sni_block_sole(block));
    assert_memory_equal(sni_window_unscanned(&f.window).data, "abcxyz", 6);
    sni_block_unref(block);
    fixture_fini(&f);
}

static void
moving_keeps_what_was_not_handed_out_and_views_stay_valid(void **state)
{
    fixture f;
    sni_block *old;

    (void)state;
    fixture_init(&f);
    assert_int_equal(window_add(&f, "0123456789", 10, NULL), SENNIT_OK);
    f.window.parsed = 4;
    f.window.scanned = 7;
    old = sni_block_ref(f.window.home);
    assert_int_equal(sni_window_reserve(&f.window, &f.bodies, f.pool, SNI_RECV_BYTES),
                     SENNIT_OK);
    assert_ptr_not_equal(f.window.home, old);
    assert_int_equal(f.window.parsed, 0);
    assert_int_equal(f.window.scanned, 3);
    assert_int_equal(f.window.filled, 6);
    assert_memory_equal(f.window.home->data, "456789", 6);
    assert_memory_equal(old->data, "0123456789", 10);
    assert_true(sni_window_room(&f.window) >= SNI_RECV_BYTES);
    sni_block_unref(old);
    fixture_fini(&f);
}

static void
reserving_what_is_there_moves_nothing(void **state)
{
    fixture f;
    sni_block *home;

    (void)state;
    fixture_init(&f);
    assert_int_equal(window_add(&f, "abc", 3, NULL), SENNIT_OK);
    home = f.window.home;
    assert_int_equal(sni_window_reserve(&f.window, &f.bodies, f.pool, 1000), SENNIT_OK);
    assert_ptr_equal(f.window.home, home);
    fixture_fini(&f);
}

static void
an_emptied_window_gives_its_block_back(void **state)
{
    fixture f;

    (void)state;
    fixture_init(&f);
    sni_window_release_if_empty(&f.window);
    assert_int_equal(window_add(&f, "abc", 3, NULL), SENNIT_OK);
    f.window.scanned = 3;
    f.window.parsed = 2;
    sni_window_release_if_empty(&f.window);
    assert_non_null(f.window.home);
    f.window.parsed = 3;
    sni_window_release_if_empty(&f.window);
    assert_null(f.window.home);
    assert_int_equal(f.window.filled, 0);
    fixture_fini(&f);
}

static void
no_memory_leaves_the_window_as_it_was(void **state)
{
    fixture f;

    (void)state;
    fixture_init(&f);
    assert_int_equal(window_add(&f, "abc", 3, NULL), SENNIT_OK);
    test_alloc_fail_at(&f.alloc, 1);
    assert_int_equal(sni_window_reserve(&f.window, &f.bodies, f.pool, 2 * SNI_RECV_BYTES),
                     SENNIT_ENOMEM);
    assert_int_equal(sni_window_reserve(&f.window, &f.bodies, f.pool, SIZE_MAX),
                     SENNIT_ENOMEM);
    assert_memory_equal(sni_window_unscanned(&f.window).data, "abc", 3);
    fixture_fini(&f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_with_a_home_stay_where_they_are),
        cmocka_unit_test(bytes_without_a_home_are_copied),
        cmocka_unit_test(bytes_from_another_home_are_copied_behind),
        cmocka_unit_test(moving_keeps_what_was_not_handed_out_and_views_stay_valid),
        cmocka_unit_test(reserving_what_is_there_moves_nothing),
        cmocka_unit_test(an_emptied_window_gives_its_block_back),
        cmocka_unit_test(no_memory_leaves_the_window_as_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
