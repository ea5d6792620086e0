/* SPDX-License-Identifier: MIT */
#include "sennit_test.h"

#include "base/msgq.h"
#include "fail_alloc.h"
#include "rng.h"

static void
push_number(sni_msgq *queue, uint32_t number, size_t size, bool more)
{
    sennit_msg msg;
    uint8_t body[400] = { 0 };

    assert_true(size >= sizeof number);
    memcpy(body, &number, sizeof number);
    assert_int_equal(sennit_msg_init_copy(&msg, body, size), SENNIT_OK);
    assert_int_equal(sni_msgq_push(queue, sni_msg_of(&msg), more), SENNIT_OK);
    assert_int_equal(sennit_msg_size(&msg), 0);
}

static uint32_t
pop_number(sni_msgq *queue, bool *more)
{
    sennit_msg msg;
    uint32_t number;

    sennit_msg_init(&msg);
    assert_true(sni_msgq_pop(queue, sni_msg_of(&msg)));
    memcpy(&number, sennit_msg_data(&msg), sizeof number);
    *more = sennit_msg_more(&msg);
    sennit_msg_fini(&msg);
    return number;
}

static void
frames_of_an_unfinished_message_cannot_be_popped(void **state)
{
    test_alloc alloc;
    sni_msgq queue;
    sni_msg msg;
    bool more;

    (void)state;
    test_alloc_init(&alloc);
    sni_msgq_init(&queue, &alloc.allocator);
    assert_false(sni_msgq_pop(&queue, &msg));
    push_number(&queue, 1, 10, true);
    push_number(&queue, 2, 100, true);
    assert_false(sni_msgq_pop(&queue, &msg));
    assert_int_equal(queue.msgs, 0);
    push_number(&queue, 3, 10, false);
    assert_int_equal(queue.msgs, 1);
    assert_int_equal(queue.bytes, 120);
    assert_int_equal(pop_number(&queue, &more), 1);
    assert_true(more);
    assert_int_equal(pop_number(&queue, &more), 2);
    assert_true(more);
    assert_int_equal(queue.msgs, 1);
    assert_int_equal(pop_number(&queue, &more), 3);
    assert_false(more);
    assert_int_equal(queue.msgs, 0);
    assert_int_equal(queue.bytes, 0);
    sni_msgq_fini(&queue);
    assert_int_equal(alloc.live_blocks, 0);
}

static void
rollback_drops_exactly_the_unfinished_message(void **state)
{
    test_alloc alloc;
    sni_msgq queue;
    bool more;

    (void)state;
    test_alloc_init(&alloc);
    sni_msgq_init(&queue, &alloc.allocator);
    sni_msgq_rollback(&queue);
    push_number(&queue, 1, 10, false);
    push_number(&queue, 2, 300, true);
    push_number(&queue, 3, 300, true);
    sni_msgq_rollback(&queue);
    assert_int_equal(queue.count, 1);
    assert_int_equal(queue.bytes, 10);
    push_number(&queue, 4, 10, false);
    assert_int_equal(pop_number(&queue, &more), 1);
    assert_int_equal(pop_number(&queue, &more), 4);
    push_number(&queue, 5, 300, true);
    sni_msgq_fini(&queue);
    assert_int_equal(alloc.live_blocks, 0);
}

static void
a_message_is_dropped_from_anywhere(void **state)
{
    static const size_t frames[] = { 1, 3, 2, 1 };

    (void)state;
    for (size_t dropped = 0; dropped < 4; dropped++) {
        test_alloc alloc;
        sni_msgq queue;
        size_t at = 0;
        bool more;

        test_alloc_init(&alloc);
        sni_msgq_init(&queue, &alloc.allocator);
        /* Begun elsewhere than at the ring's first place. */
        for (int i = 0; i < 5; i++) {
            push_number(&queue, 9, 10, false);
            (void)pop_number(&queue, &more);
        }
        for (uint32_t i = 0; i < 4; i++)
            for (size_t k = frames[i]; k > 0; k--)
                push_number(&queue, i, 100, k > 1);
        push_number(&queue, 4, 100, true);
        for (size_t i = 0; i < dropped; i++)
            at = sni_msgq_behind(&queue, at);
        sni_msgq_drop(&queue, at);
        assert_int_equal(queue.msgs, 3);
        assert_int_equal(queue.bytes, (8 - frames[dropped]) * 100);
        for (uint32_t i = 0; i < 4; i++)
            for (size_t k = i == dropped ? 0 : frames[i]; k > 0; k--) {
                assert_int_equal(pop_number(&queue, &more), i);
                assert_int_equal(more, k > 1);
            }
        assert_int_equal(queue.readable, 0);
        push_number(&queue, 4, 100, false);
        assert_int_equal(queue.msgs, 1);
        sni_msgq_fini(&queue);
        assert_int_equal(alloc.live_blocks, 0);
    }
}

static void
a_failed_push_leaves_message_and_queue_as_they_were(void **state)
{
    test_alloc alloc;
    sni_msgq queue;
    sennit_msg msg;

    (void)state;
    test_alloc_init(&alloc);
    sni_msgq_init(&queue, &alloc.allocator);
    for (uint32_t i = 0; i < 8; i++)
        push_number(&queue, i, 10, false);
    assert_int_equal(sennit_msg_init_copy(&msg, "body", 4), SENNIT_OK);
    test_alloc_fail_at(&alloc, 1);
    assert_int_equal(sni_msgq_push(&queue, sni_msg_of(&msg), false), SENNIT_ENOMEM);
    assert_int_equal(sennit_msg_size(&msg), 4);
    assert_int_equal(queue.count, 8);
    assert_int_equal(sni_msgq_push(&queue, sni_msg_of(&msg), false), SENNIT_OK);
    assert_int_equal(queue.count, 9);
    sni_msgq_fini(&queue);
    assert_int_equal(alloc.live_blocks, 0);
}

/* Random pushes, pops and rollbacks against plain counters: numbers go up, so the
 * order is the model. */
static void
any_sequence_keeps_order_and_counts(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        test_rng rng = { seed };
        test_alloc alloc;
        sni_msgq queue;
        uint32_t pushed = 0;  /* numbers given to finished messages */
        uint32_t pending = 0; /* frames of the unfinished one */
        uint32_t popped = 0;

        test_alloc_init(&alloc);
        sni_msgq_init(&queue, &alloc.allocator);
        for (int step = 0; step < 2000; step++) {
            uint64_t dice = test_rng_below(&rng, 100);
            bool more;

            if (dice < 52) {
                more = test_rng_chance(&rng, 40);
                push_number(&queue, pushed + pending, 4 + test_rng_below(&rng, 200),
                            more);
                pending++;
                if (!more) {
                    pushed += pending;
                    pending = 0;
                }
            } else if (dice < 96) {
                sni_msg none;

                if (popped == pushed) {
                    assert_false(sni_msgq_pop(&queue, &none));
                } else if (pop_number(&queue, &more) != popped++) {
                    fail_msg("seed %llu step %d: out of order", (unsigned long long)seed,
                             step);
                }
            } else {
                sni_msgq_rollback(&queue);
                pending = 0;
            }
            if (queue.count != pushed + pending - popped ||
                queue.readable != pushed - popped)
                fail_msg("seed %llu step %d: counts differ", (unsigned long long)seed,
                         step);
        }
        sni_msgq_fini(&queue);
        assert_int_equal(alloc.live_blocks, 0);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_of_an_unfinished_message_cannot_be_popped),
        cmocka_unit_test(rollback_drops_exactly_the_unfinished_message),
        cmocka_unit_test(a_message_is_dropped_from_anywhere),
        cmocka_unit_test(a_failed_push_leaves_message_and_queue_as_they_were),
        cmocka_unit_test(any_sequence_keeps_order_and_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
