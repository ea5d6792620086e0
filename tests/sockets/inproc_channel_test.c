/* SPDX-License-Identifier: MIT */
#include "sennit_test.h"

#include "base/channel.h"
#include "fail_alloc.h"

#define AT_ONCE 1u

static void
push(sni_channel *channel, uint64_t number, bool more)
{
    sennit_msg msg;

    assert_int_equal(sennit_msg_init_copy(&msg, &number, sizeof number), SENNIT_OK);
    assert_int_equal(sni_channel_push(channel, sni_msg_of(&msg), more), SENNIT_OK);
}

static uint64_t
pull(sni_channel *channel)
{
    uint64_t number;
    sni_msg msg;

    assert_true(sni_channel_pull(channel, &msg));
    memcpy(&number, sennit_msg_data(sni_msg_public(&msg)), sizeof number);
    sennit_msg_fini(sni_msg_public(&msg));
    return number;
}

static void
only_finished_messages_are_seen(void **state)
{
    sni_channel channel;
    test_alloc alloc;

    (void)state;
    test_alloc_init(&alloc);
    sni_channel_init(&channel, &alloc.allocator);
    push(&channel, 1, true);
    assert_int_equal(sni_channel_look(&channel), 0);
    push(&channel, 2, false);
    assert_int_equal(sni_channel_publish(&channel), SNI_CHANNEL_QUEUED);
    push(&channel, 3, true);
    assert_int_equal(sni_channel_look(&channel), 1);
    assert_int_equal(pull(&channel), 1);
    assert_int_equal(pull(&channel), 2);
    assert_int_equal(sni_channel_unread(&channel), 0);
    sni_channel_fini(&channel);
    assert_int_equal(alloc.live_blocks, 0);
}

/* As many as the default marks let through, and then more than it keeps room for. */
static void
bursts_ask_for_memory_only_the_first_time(void **state)
{
    static const uint64_t sizes[] = { 1, 63, 64, 1000, 5000 };
    sni_channel channel;
    test_alloc alloc;

    (void)state;
    test_alloc_init(&alloc);
    sni_channel_init(&channel, &alloc.allocator);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        uint64_t asked = 0;

        for (int round = 0; round < 400; round++) {
            /* By then it has begun at each place of a chunk. */
            if (round == 200)
                asked = alloc.requests;
            for (uint64_t i = 0; i < sizes[s]; i++) {
                push(&channel, i, false);
                (void)sni_channel_publish(&channel);
            }
            assert_int_equal(sni_channel_look(&channel), sizes[s]);
            for (uint64_t i = 0; i < sizes[s]; i++)
                assert_int_equal(pull(&channel), i);
        }
        if (sizes[s] <= 1000)
            assert_int_equal(alloc.requests, asked);
    }
    /* And not all of the largest stay. */
    assert_true(alloc.live_blocks <= SNI_CHANNEL_SPARES + 1);
    sni_channel_fini(&channel);
    assert_int_equal(alloc.live_blocks, 0);
}

/* Over chunk borders, at each place of them. */
static void
a_rollback_takes_back_the_unfinished_message_only(void **state)
{
    (void)state;
    for (uint64_t before = 0; before < 130; before++) {
        sni_channel channel;
        test_alloc alloc;

        test_alloc_init(&alloc);
        sni_channel_init(&channel, &alloc.allocator);
        for (uint64_t i = 0; i < before; i++) {
            push(&channel, i, false);
            (void)sni_channel_publish(&channel);
        }
        for (uint64_t i = 0; i < 130; i++)
            push(&channel, 1000 + i, true);
        sni_channel_rollback(&channel);
        push(&channel, before, false);
        (void)sni_channel_publish(&channel);
        assert_int_equal(sni_channel_look(&channel), before + 1);
        for (uint64_t i = 0; i <= before; i++)
            assert_int_equal(pull(&channel), i);
        sni_channel_fini(&channel);
        assert_int_equal(alloc.live_blocks, 0);
    }
}

static void
who_sleeps_is_woken_once(void **state)
{
    sni_channel channel;
    test_alloc alloc;

    (void)state;
    test_alloc_init(&alloc);
    sni_channel_init(&channel, &alloc.allocator);
    push(&channel, 1, false);
    assert_int_equal(sni_channel_publish(&channel), SNI_CHANNEL_QUEUED);
    /* What it has not looked at keeps it awake. */
    assert_false(sni_channel_sleep(&channel));
    assert_int_equal(pull(&channel), 1);
    assert_true(sni_channel_sleep(&channel));
    push(&channel, 2, false);
    assert_int_equal(sni_channel_publish(&channel), SNI_CHANNEL_WAKE);
    push(&channel, 3, false);
    assert_int_equal(sni_channel_publish(&channel), SNI_CHANNEL_QUEUED);
    sni_channel_fini(&channel);
    assert_int_equal(alloc.live_blocks, 0);
}

static void
what_is_published_after_the_close_is_not_read(void **state)
{
    sni_channel channel;
    test_alloc alloc;

    (void)state;
    test_alloc_init(&alloc);
    sni_channel_init(&channel, &alloc.allocator);
    push(&channel, 1, false);
    (void)sni_channel_publish(&channel);
    assert_int_equal(sni_channel_close(&channel), 1);
    push(&channel, 2, false);
    assert_int_equal(sni_channel_publish(&channel), SNI_CHANNEL_CLOSED);
    assert_int_equal(sni_channel_look(&channel), 1);
    assert_int_equal(pull(&channel), 1);
    assert_true(sni_channel_sleep(&channel));
    sni_channel_fini(&channel);
    assert_int_equal(alloc.live_blocks, 0);
}

static void
who_waits_for_room_is_woken_when_half_is_gone(void **state)
{
    sni_channel channel;
    test_alloc alloc;

    (void)state;
    test_alloc_init(&alloc);
    sni_channel_init(&channel, &alloc.allocator);
    assert_false(sni_channel_full(&channel, 4, 0));
    sni_channel_sent(&channel, 4, 40);
    assert_false(sni_channel_full(&channel, 0, 0));
    assert_false(sni_channel_full(&channel, 5, 0));
    assert_true(sni_channel_full(&channel, 4, 0));
    assert_false(sni_channel_ack(&channel, 1, 10, AT_ONCE));
    assert_true(sni_channel_ack(&channel, 1, 10, AT_ONCE));
    assert_false(sni_channel_ack(&channel, 1, 10, AT_ONCE));
    assert_false(sni_channel_full(&channel, 4, 0));
    /* By bytes: any that go are news. */
    assert_true(sni_channel_full(&channel, 0, 10));
    assert_true(sni_channel_ack(&channel, 1, 10, AT_ONCE));
    /* In steps, and sooner for one who waits. */
    sni_channel_sent(&channel, 4, 40);
    assert_false(sni_channel_ack(&channel, 3, 30, 64));
    assert_true(sni_channel_full(&channel, 4, 0));
    assert_true(sni_channel_ack(&channel, 1, 10, 64));
    sni_channel_fini(&channel);
    assert_int_equal(alloc.live_blocks, 0);
}

static void
without_memory_a_frame_is_refused_and_may_be_pushed_again(void **state)
{
    sni_channel channel;
    test_alloc alloc;
    sennit_msg msg;

    (void)state;
    test_alloc_init(&alloc);
    sni_channel_init(&channel, &alloc.allocator);
    assert_int_equal(sennit_msg_init_copy(&msg, "text", 4), SENNIT_OK);
    test_alloc_fail_at(&alloc, 1);
    assert_int_equal(sni_channel_push(&channel, sni_msg_of(&msg), false), SENNIT_ENOMEM);
    assert_int_equal(sennit_msg_size(&msg), 4);
    assert_int_equal(sni_channel_push(&channel, sni_msg_of(&msg), false), SENNIT_OK);
    assert_int_equal(sennit_msg_size(&msg), 0);
    (void)sni_channel_publish(&channel);
    assert_int_equal(sni_channel_look(&channel), 1);
    sni_channel_fini(&channel);
    assert_int_equal(alloc.live_blocks, 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(only_finished_messages_are_seen),
    cmocka_unit_test(bursts_ask_for_memory_only_the_first_time),
    cmocka_unit_test(a_rollback_takes_back_the_unfinished_message_only),
    cmocka_unit_test(who_sleeps_is_woken_once),
    cmocka_unit_test(what_is_published_after_the_close_is_not_read),
    cmocka_unit_test(who_waits_for_room_is_woken_when_half_is_gone),
    cmocka_unit_test(without_memory_a_frame_is_refused_and_may_be_pushed_again),
};

SENNIT_TEST_MAIN(tests)
