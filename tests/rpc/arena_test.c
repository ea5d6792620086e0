/* SPDX-License-Identifier: MIT */
#include "sennit_test.h"

#include "fail_alloc.h"
#include "sennit/pack.h"

static void
what_is_placed_keeps_its_bytes_until_the_reset(void **state)
{
    test_alloc alloc;
    sennit_arena *arena;
    sennit_str copies[300];

    (void)state;
    test_alloc_init(&alloc);
    assert_int_equal(sennit_arena_new(&arena, &alloc.allocator), SENNIT_OK);
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < 300; i++) {
            char text[300];

            memset(text, 'a' + (int)(i % 26), i);
            assert_int_equal(
                sennit_arena_copy_str(arena, (sennit_str){ text, i }, &copies[i]),
                SENNIT_OK);
        }
        for (size_t i = 0; i < 300; i++) {
            assert_int_equal(copies[i].size, i);
            for (size_t j = 0; j < i; j++)
                assert_int_equal(copies[i].data[j], 'a' + (int)(i % 26));
            assert_int_equal(copies[i].data[i], '\0');
        }
        sennit_arena_reset(arena);
        assert_true(alloc.live_blocks <= 2); /* itself and one chunk */
    }
    sennit_arena_free(arena);
    assert_int_equal(alloc.live_blocks, 0);
}

static void
every_piece_is_aligned_for_any_type(void **state)
{
    sennit_arena *arena;

    (void)state;
    assert_int_equal(sennit_arena_new(&arena, NULL), SENNIT_OK);
    for (size_t size = 0; size < 100; size++) {
        void *piece = sennit_arena_alloc(arena, size);

        assert_non_null(piece);
        assert_int_equal((uintptr_t)piece % _Alignof(max_align_t), 0);
    }
    sennit_arena_free(arena);
    sennit_arena_free(NULL);
}

static void
sizes_that_overflow_are_no_memory(void **state)
{
    sennit_arena *arena;

    (void)state;
    assert_int_equal(sennit_arena_new(&arena, NULL), SENNIT_OK);
    assert_null(sennit_arena_array(arena, SIZE_MAX / 4, 8));
    assert_null(sennit_arena_alloc(arena, SIZE_MAX));
    assert_null(sennit_arena_alloc(arena, SIZE_MAX / 2 + 1));
    assert_non_null(sennit_arena_array(arena, 0, 8));
    sennit_arena_free(arena);
}

static void
a_large_piece_is_not_kept_for_ever(void **state)
{
    test_alloc alloc;
    sennit_arena *arena;

    (void)state;
    test_alloc_init(&alloc);
    assert_int_equal(sennit_arena_new(&arena, &alloc.allocator), SENNIT_OK);
    assert_non_null(sennit_arena_alloc(arena, 8u << 20));
    sennit_arena_reset(arena);
    assert_true(alloc.live_bytes < 1024);
    sennit_arena_free(arena);
}

static void
use_arena_and_buffer(test_alloc *alloc, void *arg)
{
    sennit_arena *arena;
    sennit_buf buf;

    (void)arg;
    sennit_buf_init(&buf, &alloc->allocator);
    for (int i = 0; i < 200; i++)
        sennit_pack_str(&buf, sennit_str_of("a text of some length"));
    if (buf.err)
        assert_int_equal(buf.err, SENNIT_ENOMEM);
    else
        assert_int_equal(buf.size, 200 * 22);
    sennit_buf_fini(&buf);
    if (sennit_arena_new(&arena, &alloc->allocator) != SENNIT_OK)
        return;
    for (int i = 0; i < 50; i++) {
        char *piece = sennit_arena_alloc(arena, 100);

        if (piece != NULL)
            memset(piece, i, 100);
    }
    sennit_arena_free(arena);
}

static void
without_memory_both_say_so_and_leak_nothing(void **state)
{
    (void)state;
    assert_true(test_alloc_every_failure(use_arena_and_buffer, NULL) > 8);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_is_placed_keeps_its_bytes_until_the_reset),
    cmocka_unit_test(every_piece_is_aligned_for_any_type),
    cmocka_unit_test(sizes_that_overflow_are_no_memory),
    cmocka_unit_test(a_large_piece_is_not_kept_for_ever),
    cmocka_unit_test(without_memory_both_say_so_and_leak_nothing),
};

SENNIT_TEST_MAIN(tests)
