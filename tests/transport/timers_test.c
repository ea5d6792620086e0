/* SPDX-License-Identifier: MIT */
#include "sennit_test.h"

#include "base/timers.h"
#include "fail_alloc.h"
#include "rng.h"

static void
nothing(void *arg)
{
    (void)arg;
}

static void
timers_fire_in_order_and_not_early(void **state)
{
    static const sennit_time at[] = { 50, 10, 40, 10, 30 };
    test_alloc alloc;
    sni_timers timers;
    sennit_timer pool[5] = { 0 };
    sennit_time last = 0;

    (void)state;
    test_alloc_init(&alloc);
    sni_timers_init(&timers, &alloc.allocator);
    assert_int_equal(sni_timers_next(&timers), SENNIT_NEVER);
    for (int i = 0; i < 5; i++)
        assert_int_equal(sni_timers_start(&timers, &pool[i], at[i], nothing, NULL),
                         SENNIT_OK);
    assert_int_equal(sni_timers_next(&timers), 10);
    assert_null(sni_timers_pop(&timers, 9));
    for (int i = 0; i < 5; i++) {
        sennit_timer *timer = sni_timers_pop(&timers, 1000);

        assert_true(timer->at_ >= last);
        last = timer->at_;
    }
    assert_null(sni_timers_pop(&timers, 1000));
    sni_timers_fini(&timers);
    assert_int_equal(alloc.live_blocks, 0);
}

static void
a_started_timer_may_be_started_again_and_stopped_twice(void **state)
{
    test_alloc alloc;
    sni_timers timers;
    sennit_timer timer = { 0 };

    (void)state;
    test_alloc_init(&alloc);
    sni_timers_init(&timers, &alloc.allocator);
    assert_int_equal(sni_timers_start(&timers, &timer, 10, nothing, NULL), SENNIT_OK);
    assert_int_equal(sni_timers_start(&timers, &timer, 5, nothing, NULL), SENNIT_OK);
    assert_int_equal(timers.count, 1);
    assert_int_equal(sni_timers_next(&timers), 5);
    sni_timers_stop(&timers, &timer);
    sni_timers_stop(&timers, &timer);
    assert_int_equal(timers.count, 0);
    sni_timers_fini(&timers);
}

static void
a_timer_that_finds_no_memory_is_not_running(void **state)
{
    test_alloc alloc;
    sni_timers timers;
    sennit_timer timer = { 0 };

    (void)state;
    test_alloc_init(&alloc);
    sni_timers_init(&timers, &alloc.allocator);
    test_alloc_fail_at(&alloc, 1);
    assert_int_equal(sni_timers_start(&timers, &timer, 10, nothing, NULL), SENNIT_ENOMEM);
    assert_int_equal(timer.index_, 0);
    assert_int_equal(sni_timers_next(&timers), SENNIT_NEVER);
    sni_timers_fini(&timers);
}

static void
restarting_a_timer_needs_no_memory(void **state)
{
    test_alloc alloc;
    sni_timers timers;
    sennit_timer pool[8] = { 0 };

    (void)state;
    test_alloc_init(&alloc);
    sni_timers_init(&timers, &alloc.allocator);
    for (int i = 0; i < 8; i++)
        assert_int_equal(sni_timers_start(&timers, &pool[i], 1, nothing, NULL),
                         SENNIT_OK);
    test_alloc_fail_at(&alloc, 1);
    for (int i = 0; i < 8; i++)
        assert_int_equal(sni_timers_start(&timers, &pool[i], 2, nothing, NULL),
                         SENNIT_OK);
    sni_timers_fini(&timers);
    assert_int_equal(pool[3].index_, 0);
    assert_int_equal(alloc.live_blocks, 0);
}

#define MODEL 64

/* The model is the timers' own storage, scanned in full. */
static sennit_time
model_next(const sennit_time *at)
{
    sennit_time next = SENNIT_NEVER;

    for (int i = 0; i < MODEL; i++)
        if (at[i] < next)
            next = at[i];
    return next;
}

static void
check_heap(const sni_timers *timers, uint64_t seed)
{
    for (size_t i = 0; i < timers->count; i++) {
        if (timers->heap[i]->index_ != i + 1)
            fail_msg("seed %llu: a timer lost its place", (unsigned long long)seed);
        if (i > 0 && timers->heap[(i - 1) / 2]->at_ > timers->heap[i]->at_)
            fail_msg("seed %llu: a parent is later than its child",
                     (unsigned long long)seed);
    }
}

static void
any_sequence_agrees_with_a_full_scan(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        test_rng rng = { seed };
        test_alloc alloc;
        sni_timers timers;
        sennit_timer pool[MODEL] = { 0 };
        sennit_time at[MODEL];

        test_alloc_init(&alloc);
        sni_timers_init(&timers, &alloc.allocator);
        for (int i = 0; i < MODEL; i++)
            at[i] = SENNIT_NEVER;
        for (int step = 0; step < 2000; step++) {
            size_t i = test_rng_below(&rng, MODEL);
            uint64_t dice = test_rng_below(&rng, 10);

            if (dice < 5) {
                at[i] = test_rng_below(&rng, 50);
                assert_int_equal(
                    sni_timers_start(&timers, &pool[i], at[i], nothing, NULL), SENNIT_OK);
            } else if (dice < 8) {
                at[i] = SENNIT_NEVER;
                sni_timers_stop(&timers, &pool[i]);
            } else {
                sennit_time now = test_rng_below(&rng, 50);
                sennit_timer *timer = sni_timers_pop(&timers, now);

                if ((timer != NULL) != (model_next(at) <= now))
                    fail_msg("seed %llu step %d: pop differs", (unsigned long long)seed,
                             step);
                if (timer != NULL) {
                    assert_int_equal(at[timer - pool], model_next(at));
                    at[timer - pool] = SENNIT_NEVER;
                }
            }
            if (sni_timers_next(&timers) != model_next(at))
                fail_msg("seed %llu step %d: next differs", (unsigned long long)seed,
                         step);
            check_heap(&timers, seed);
        }
        sni_timers_fini(&timers);
        assert_int_equal(alloc.live_blocks, 0);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timers_fire_in_order_and_not_early),
        cmocka_unit_test(a_started_timer_may_be_started_again_and_stopped_twice),
        cmocka_unit_test(a_timer_that_finds_no_memory_is_not_running),
        cmocka_unit_test(restarting_a_timer_needs_no_memory),
        cmocka_unit_test(any_sequence_agrees_with_a_full_scan),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
