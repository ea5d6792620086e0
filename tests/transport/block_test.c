/* SPDX-License-Identifier: MIT */
#include "sennit_test.h"

#include <pthread.h>

#include "base/block.h"
#include "fail_alloc.h"

static unsigned released;

static void
note_release(void *data, void *arg)
{
    (void)data;
    released++;
    if (arg != NULL)
        *(unsigned *)arg += 1;
}

static void
the_last_reference_frees_a_block(void **state)
{
    test_alloc alloc;
    sni_block *block;

    (void)state;
    test_alloc_init(&alloc);
    block = sni_block_new(&alloc.allocator, 1000);
    assert_int_equal(block->capacity, 1000);
    memset(block->data, 1, 1000);
    assert_true(sni_block_sole(block));
    sni_block_ref(block);
    assert_false(sni_block_sole(block));
    sni_block_unref(block);
    assert_true(sni_block_sole(block));
    assert_int_equal(alloc.live_blocks, 1);
    sni_block_unref(block);
    assert_int_equal(alloc.live_blocks, 0);
    sni_block_unref(NULL);
}

static void
user_memory_is_released_exactly_once(void **state)
{
    test_alloc alloc;
    char memory[10];
    unsigned calls = 0;
    sni_block *block;

    (void)state;
    test_alloc_init(&alloc);
    block =
        sni_block_new_user(&alloc.allocator, memory, sizeof memory, note_release, &calls);
    sni_block_ref(block);
    sni_block_unref(block);
    assert_int_equal(calls, 0);
    sni_block_unref(block);
    assert_int_equal(calls, 1);
    assert_int_equal(alloc.live_blocks, 0);
}

static void
a_block_that_finds_no_memory_releases_nothing(void **state)
{
    test_alloc alloc;
    char memory[10];

    (void)state;
    test_alloc_init(&alloc);
    released = 0;
    test_alloc_fail_at(&alloc, 1);
    assert_null(sni_block_new(&alloc.allocator, 10));
    test_alloc_fail_at(&alloc, 1);
    assert_null(sni_block_new_user(&alloc.allocator, memory, 10, note_release, NULL));
    assert_int_equal(released, 0);
    assert_null(sni_block_new(&alloc.allocator, SIZE_MAX));
    assert_int_equal(alloc.live_blocks, 0);
}

static void
a_pool_hands_the_same_blocks_out_again(void **state)
{
    test_alloc alloc;
    sni_pool *pool;
    uint64_t warm;

    (void)state;
    test_alloc_init(&alloc);
    pool = sni_pool_new(&alloc.allocator, 512, 4);
    for (int round = 0; round < 3; round++) {
        sni_block *blocks[4];

        for (int i = 0; i < 4; i++) {
            blocks[i] = sni_pool_take(pool);
            assert_int_equal(blocks[i]->capacity, 512);
            assert_true(sni_block_sole(blocks[i]));
        }
        for (int i = 0; i < 4; i++)
            sni_block_unref(blocks[i]);
        if (round == 0)
            warm = alloc.requests;
    }
    assert_int_equal(alloc.requests, warm);
    sni_pool_free(pool);
    assert_int_equal(alloc.live_blocks, 0);
}

static void
a_pool_keeps_no_more_than_it_may(void **state)
{
    test_alloc alloc;
    sni_pool *pool;
    sni_block *blocks[10];

    (void)state;
    test_alloc_init(&alloc);
    pool = sni_pool_new(&alloc.allocator, 512, 3);
    for (int i = 0; i < 10; i++)
        blocks[i] = sni_pool_take(pool);
    for (int i = 0; i < 10; i++)
        sni_block_unref(blocks[i]);
    assert_int_equal(alloc.live_blocks, 1 + 3);
    sni_pool_free(pool);
    sni_pool_free(NULL);
    assert_int_equal(alloc.live_blocks, 0);
}

static void
blocks_may_come_home_after_their_pool_is_gone(void **state)
{
    test_alloc alloc;
    sni_pool *pool;
    sni_block *first;
    sni_block *second;

    (void)state;
    test_alloc_init(&alloc);
    pool = sni_pool_new(&alloc.allocator, 512, 8);
    first = sni_pool_take(pool);
    second = sni_pool_take(pool);
    sni_block_unref(sni_pool_take(pool));
    sni_pool_free(pool);
    memset(first->data, 1, 512);
    sni_block_unref(first);
    assert_true(alloc.live_blocks > 0);
    sni_block_unref(second);
    assert_int_equal(alloc.live_blocks, 0);
}

static void
pool_scenario(test_alloc *alloc, void *arg)
{
    sni_pool *pool = sni_pool_new(&alloc->allocator, 64, 2);
    sni_block *blocks[3] = { NULL, NULL, NULL };

    (void)arg;
    if (pool == NULL) {
        assert_int_equal(alloc->failed, 1);
        return;
    }
    for (int i = 0; i < 3; i++)
        blocks[i] = sni_pool_take(pool);
    assert_int_equal((blocks[0] == NULL) + (blocks[1] == NULL) + (blocks[2] == NULL),
                     alloc->failed);
    sni_block_unref(blocks[0]);
    sni_pool_free(pool);
    sni_block_unref(blocks[1]);
    sni_block_unref(blocks[2]);
}

static void
a_pool_survives_every_failed_allocation(void **state)
{
    (void)state;
    assert_int_equal(test_alloc_every_failure(pool_scenario, NULL), 5);
}

/* ---- two threads ---------------------------------------------------- */

#define HANDED 20000
#define RING   64

/* Hands blocks from the owner to a dropping thread; malloc serves, because the
 * counting allocator is for one thread. */
typedef struct handover {
    _Atomic(sni_block *) slots[RING];
    atomic_uint bad;
} handover;

static void *
drop_all(void *arg)
{
    handover *over = arg;

    for (unsigned i = 0; i < HANDED; i++) {
        sni_block *block = NULL;

        while (block == NULL)
            block = atomic_exchange(&over->slots[i % RING], NULL);
        if (block->data[0] != (uint8_t)i)
            atomic_fetch_add(&over->bad, 1);
        sni_block_unref(block);
    }
    return NULL;
}

static void *
libc_acquire(void *arg, size_t size)
{
    (void)arg;
    return malloc(size);
}

static void *
libc_resize(void *arg, void *memory, size_t size)
{
    (void)arg;
    return realloc(memory, size);
}

static void
libc_release(void *arg, void *memory)
{
    (void)arg;
    free(memory);
}

static void
two_threads_may_drop_references_to_the_same_blocks(void **state)
{
    const sennit_allocator alloc = { libc_acquire, libc_resize, libc_release, NULL };
    sni_pool *pool = sni_pool_new(&alloc, 64, 16);
    handover over = { .bad = 0 };
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, drop_all, &over), 0);
    for (unsigned i = 0; i < HANDED; i++) {
        sni_block *block = sni_pool_take(pool);

        block->data[0] = (uint8_t)i;
        sni_block_ref(block);
        while (atomic_load(&over.slots[i % RING]) != NULL)
            continue;
        atomic_store(&over.slots[i % RING], block);
        sni_block_unref(block);
    }
    /* The pool goes while the other thread may still hold its last blocks. */
    sni_pool_free(pool);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(atomic_load(&over.bad), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_reference_frees_a_block),
        cmocka_unit_test(user_memory_is_released_exactly_once),
        cmocka_unit_test(a_block_that_finds_no_memory_releases_nothing),
        cmocka_unit_test(a_pool_hands_the_same_blocks_out_again),
        cmocka_unit_test(a_pool_keeps_no_more_than_it_may),
        cmocka_unit_test(blocks_may_come_home_after_their_pool_is_gone),
        cmocka_unit_test(a_pool_survives_every_failed_allocation),
        cmocka_unit_test(two_threads_may_drop_references_to_the_same_blocks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
