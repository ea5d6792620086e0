/* SPDX-License-Identifier: MIT */
#include "sennit_test.h"

#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "base/channel.h"
#include "fail_alloc.h"
#include "io/fence.h"

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

    assert_int_equal(sni_channel_pull(channel, &msg, NULL), SENNIT_OK);
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

/* ---- bodies ------------------------------------------------------------ */

static uint8_t octets[70000];

static void
fill_octets(void)
{
    for (size_t i = 0; i < sizeof octets; i++)
        octets[i] = (uint8_t)(i * 31 + i / 251);
}

/* A frame of `size` octets, by a message of its own or borrowed. */
static sennit_err
push_body(sni_channel *channel, size_t size, bool borrowed, uint32_t peer, bool more)
{
    sennit_msg msg;
    sennit_err err = SENNIT_OK;

    if (borrowed)
        sni_msg_borrow(sni_msg_of(&msg), octets, size);
    else
        err = sennit_msg_init_copy(&msg, octets, size);
    assert_int_equal(err, SENNIT_OK);
    sni_msg_of(&msg)->peer = peer;
    err = sni_channel_push(channel, sni_msg_of(&msg), more);
    if (err == SENNIT_OK)
        assert_int_equal(sennit_msg_size(&msg), 0);
    else
        sennit_msg_fini(&msg);
    return err;
}

static void
check_body(sni_msg *msg, size_t size, uint32_t peer, bool more)
{
    sennit_bytes body = sennit_msg_bytes(sni_msg_public(msg));

    assert_int_equal(body.size, size);
    if (size > 0)
        assert_memory_equal(body.data, octets, size);
    assert_int_equal(msg->peer, peer);
    assert_int_equal(msg->more, more);
    sennit_msg_fini(sni_msg_public(msg));
}

static void
expect_body(sni_channel *channel, size_t size, uint32_t peer, bool more)
{
    sni_msg msg;

    sni_msg_init(&msg);
    assert_int_equal(sni_channel_pull(channel, &msg, NULL), SENNIT_OK);
    check_body(&msg, size, peer, more);
}

/* So each is in front of, on and behind the end of a chunk at some time. */
static void
a_frame_comes_out_as_it_went_in_whatever_its_size(void **state)
{
    sni_channel channel;
    test_alloc alloc;

    (void)state;
    fill_octets();
    test_alloc_init(&alloc);
    sni_channel_init(&channel, &alloc.allocator);
    for (uint32_t size = 0; size <= SNI_CHANNEL_COPY_MAX + 80; size++) {
        bool borrowed = size <= SNI_CHANNEL_COPY_MAX && size % 2 == 0;

        assert_int_equal(push_body(&channel, size, borrowed, size * 3, true), SENNIT_OK);
        assert_int_equal(push_body(&channel, 70000 - size, false, 7, false), SENNIT_OK);
        (void)sni_channel_publish(&channel);
        if (size % 40 != 39)
            continue;
        assert_int_equal(sni_channel_look(&channel), 40);
        for (uint32_t at = size - 39; at <= size; at++) {
            expect_body(&channel, at, at * 3, true);
            expect_body(&channel, 70000 - at, 7, false);
        }
    }
    sni_channel_fini(&channel);
    assert_int_equal(alloc.live_blocks, 0);
}

static void
a_small_body_is_copied_and_a_large_one_is_not(void **state)
{
    static const size_t sizes[] = { 56, SNI_CHANNEL_COPY_MAX, SNI_CHANNEL_COPY_MAX + 1 };

    (void)state;
    fill_octets();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        sni_channel channel;
        test_alloc alloc;
        sni_block *block;
        sni_msg msg;

        test_alloc_init(&alloc);
        sni_channel_init(&channel, &alloc.allocator);
        block = sni_block_new(&alloc.allocator, sizes[i]);
        assert_non_null(block);
        memcpy(block->data, octets, sizes[i]);
        msg = (sni_msg){ .small_size = SNI_MSG_VIEW };
        msg.u.view.data = block->data;
        msg.u.view.size = sizes[i];
        msg.u.view.block = sni_block_ref(block);
        assert_int_equal(sni_channel_push(&channel, &msg, false), SENNIT_OK);
        assert_int_equal(sni_block_sole(block), sizes[i] <= SNI_CHANNEL_COPY_MAX);
        (void)sni_channel_publish(&channel);
        (void)sni_channel_look(&channel);
        assert_int_equal(sni_channel_pull(&channel, &msg, NULL), SENNIT_OK);
        assert_int_equal(sni_msg_block(&msg) == block, sizes[i] > SNI_CHANNEL_COPY_MAX);
        check_body(&msg, sizes[i], 0, false);
        sni_block_unref(block);
        sni_channel_fini(&channel);
        assert_int_equal(alloc.live_blocks, 0);
    }
}

/* As many as the default marks let through, and then more than it keeps room for. */
static void
bursts_ask_for_memory_only_the_first_time(void **state)
{
    static const struct {
        uint64_t count;
        size_t size;
        bool settles;
    } bursts[] = { { 1, 64, true },
                   { 63, 64, true },
                   { 1000, 64, true },
                   { 1000, 1024, true },
                   { 5000, 1024, false } };
    sni_channel channel;
    test_alloc alloc;

    (void)state;
    fill_octets();
    test_alloc_init(&alloc);
    sni_channel_init(&channel, &alloc.allocator);
    for (size_t b = 0; b < sizeof bursts / sizeof bursts[0]; b++) {
        uint64_t asked = 0;

        for (int round = 0; round < 200; round++) {
            /* By then the chunks have grown, and it has begun at many places of one. */
            if (round == 100)
                asked = alloc.requests;
            for (uint64_t i = 0; i < bursts[b].count; i++) {
                assert_int_equal(push_body(&channel, bursts[b].size, true, 0, false),
                                 SENNIT_OK);
                (void)sni_channel_publish(&channel);
            }
            assert_int_equal(sni_channel_look(&channel), bursts[b].count);
            sni_channel_discard(&channel);
        }
        if (bursts[b].settles)
            assert_int_equal(alloc.requests, asked);
    }
    /* And not all of the largest stay. */
    assert_true(alloc.live_blocks <= SNI_CHANNEL_SPARES + 1);
    sni_channel_fini(&channel);
    assert_int_equal(alloc.live_blocks, 0);
}

/* Over the ends of chunks, at each place of them, with bodies of both kinds. */
static void
a_rollback_takes_back_the_unfinished_message_only(void **state)
{
    (void)state;
    fill_octets();
    for (uint64_t before = 0; before < 130; before++) {
        sni_channel channel;
        test_alloc alloc;

        test_alloc_init(&alloc);
        sni_channel_init(&channel, &alloc.allocator);
        for (uint64_t i = 0; i < before; i++) {
            assert_int_equal(push_body(&channel, i * 17, false, 1, false), SENNIT_OK);
            (void)sni_channel_publish(&channel);
        }
        for (uint64_t i = 0; i < 130; i++)
            assert_int_equal(push_body(&channel, i * 11, false, 2, true), SENNIT_OK);
        sni_channel_rollback(&channel);
        push(&channel, before, false);
        (void)sni_channel_publish(&channel);
        assert_int_equal(sni_channel_look(&channel), before + 1);
        for (uint64_t i = 0; i < before; i++)
            expect_body(&channel, i * 17, 1, false);
        assert_int_equal(pull(&channel), before);
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

/* Its chunks, and the consumer's own memory. */
static void
nothing_is_lost(test_alloc *alloc, void *arg)
{
    static const size_t sizes[] = { 8, 56, 1000, 1024, 2000, 700, 900, 600, 1024, 55 };
    const size_t count = sizeof sizes / sizeof sizes[0];
    sni_channel channel;
    sni_bodies bodies;
    sennit_err err;

    (void)arg;
    sni_channel_init(&channel, &alloc->allocator);
    sni_bodies_init(&bodies, &alloc->allocator);
    for (size_t i = 0; i < count; i++) {
        WORKS(err, push_body(&channel, sizes[i], false, 5, i % 2 == 0));
        if (i % 2 == 1)
            (void)sni_channel_publish(&channel);
    }
    assert_int_equal(sni_channel_look(&channel), count / 2);
    for (size_t i = 0; i < count; i++) {
        sni_msg msg;

        sni_msg_init(&msg);
        WORKS(err, sni_channel_pull(&channel, &msg, &bodies));
        check_body(&msg, sizes[i], 5, i % 2 == 0);
    }
    sni_bodies_fini(&bodies);
    sni_channel_fini(&channel);
}

static void
a_frame_for_which_there_is_no_memory_stays(void **state)
{
    (void)state;
    fill_octets();
    assert_true(test_alloc_every_failure(nothing_is_lost, NULL) > 5);
}

/* ---- the sleeper's fence ----------------------------------------------- */

static unsigned fences;

static bool
fence(void)
{
    fences++;
    return true;
}

static bool
no_fence(void)
{
    fences++;
    return false;
}

static void
burst(sni_channel *channel, unsigned count, sni_channel_fate first)
{
    for (unsigned i = 0; i < count; i++) {
        push(channel, i, false);
        assert_int_equal(sni_channel_publish(channel),
                         i == 0 ? first : SNI_CHANNEL_QUEUED);
    }
    assert_int_equal(sni_channel_look(channel), count);
    sni_channel_discard(channel);
}

static void
the_sleeper_makes_the_fence_only_after_a_long_burst(void **state)
{
    sni_channel channel;
    test_alloc alloc;

    (void)state;
    test_alloc_init(&alloc);
    sni_channel_init(&channel, &alloc.allocator);
    sni_channel_relax(&channel, fence);
    fences = 0;
    burst(&channel, 100, SNI_CHANNEL_QUEUED);
    assert_true(sni_channel_sleep(&channel));
    assert_int_equal(fences, 0);
    burst(&channel, 2000, SNI_CHANNEL_WAKE);
    assert_true(sni_channel_sleep(&channel));
    assert_int_equal(fences, 1);
    /* It sleeps already. */
    assert_true(sni_channel_sleep(&channel));
    assert_int_equal(fences, 1);
    /* Of short bursts none is enough, however many. */
    for (int i = 0; i < 50; i++) {
        burst(&channel, 100, SNI_CHANNEL_WAKE);
        assert_true(sni_channel_sleep(&channel));
    }
    assert_int_equal(fences, 1);
    sni_channel_fini(&channel);
    assert_int_equal(alloc.live_blocks, 0);
}

static void
without_its_fence_the_consumer_stays_awake(void **state)
{
    sni_channel channel;
    test_alloc alloc;

    (void)state;
    test_alloc_init(&alloc);
    sni_channel_init(&channel, &alloc.allocator);
    sni_channel_relax(&channel, no_fence);
    fences = 0;
    burst(&channel, 2000, SNI_CHANNEL_QUEUED);
    assert_false(sni_channel_sleep(&channel));
    assert_int_equal(fences, 1);
    burst(&channel, 1, SNI_CHANNEL_QUEUED);
    /* Nor without any, and then none is asked for. */
    sni_channel_fini(&channel);
    sni_channel_relax(&channel, NULL);
    burst(&channel, 2000, SNI_CHANNEL_QUEUED);
    assert_true(sni_channel_sleep(&channel));
    assert_int_equal(fences, 1);
    sni_channel_fini(&channel);
    assert_int_equal(alloc.live_blocks, 0);
}

/* ---- two threads ------------------------------------------------------- */

#define ROUNDS 300u

typedef struct two {
    sni_channel channel;
    test_alloc alloc;
    sem_t wake;
    pthread_barrier_t start;
    uint64_t queued; /* in this round */
} two;

static void
two_begin(two *t, pthread_t *thread, void *(*run)(void *arg))
{
    test_alloc_init(&t->alloc);
    sni_channel_init(&t->channel, &t->alloc.allocator);
    sni_channel_relax(&t->channel, sni_fence_prepare() ? sni_fence_all : NULL);
    assert_int_equal(sem_init(&t->wake, 0, 0), 0);
    assert_int_equal(pthread_barrier_init(&t->start, NULL, 2), 0);
    assert_int_equal(pthread_create(thread, NULL, run, t), 0);
}

static void
two_end(two *t, pthread_t thread)
{
    assert_int_equal(pthread_join(thread, NULL), 0);
    sni_channel_fini(&t->channel);
    pthread_barrier_destroy(&t->start);
    sem_destroy(&t->wake);
}

/* Bursts with and without the fences of its own; a pause is only until the consumer has
 * taken them. */
static void *
produce_bursts(void *arg)
{
    two *t = arg;

    for (uint64_t round = 0; round < ROUNDS; round++) {
        for (uint64_t i = 0; i < 1 + round * 37 % 1500; i++) {
            push(&t->channel, round, false);
            if (sni_channel_publish(&t->channel) == SNI_CHANNEL_WAKE)
                sem_post(&t->wake);
        }
        (void)pthread_barrier_wait(&t->start);
    }
    return NULL;
}

static void
await_wake(two *t)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 10;
    assert_int_equal(sem_timedwait(&t->wake, &until), 0);
}

static void
whoever_sleeps_hears_of_the_last_of_a_burst(void **state)
{
    pthread_t thread;
    two t;

    (void)state;
    two_begin(&t, &thread, produce_bursts);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint64_t left = 1 + round * 37 % 1500;

        while (left > 0) {
            while (sni_channel_look(&t.channel) == 0)
                if (sni_channel_sleep(&t.channel))
                    await_wake(&t);
            for (; sni_channel_unread(&t.channel) > 0; left--)
                assert_int_equal(pull(&t.channel), round);
        }
        (void)pthread_barrier_wait(&t.start);
    }
    two_end(&t, thread);
}

static void *
produce_until_closed(void *arg)
{
    two *t = arg;
    uint64_t dropped = 0;

    t->queued = 0;
    while (dropped < 3) {
        push(&t->channel, t->queued, false);
        if (sni_channel_publish(&t->channel) == SNI_CHANNEL_CLOSED)
            dropped++;
        else
            t->queued++;
    }
    return NULL;
}

/* Whether it is told with fences or without. */
static void
both_count_the_same_messages_of_a_channel_that_is_closed(void **state)
{
    (void)state;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint64_t enough = round * 13 % 1400;
        uint64_t pulled = 0;
        pthread_t thread;
        two t;

        two_begin(&t, &thread, produce_until_closed);
        while (pulled < enough) {
            for (uint64_t n = sni_channel_look(&t.channel); n > 0; n--)
                assert_int_equal(pull(&t.channel), pulled++);
        }
        for (uint64_t n = sni_channel_close(&t.channel); n > 0; n--)
            assert_int_equal(pull(&t.channel), pulled++);
        two_end(&t, thread);
        assert_int_equal(pulled, t.queued);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(only_finished_messages_are_seen),
    cmocka_unit_test(a_frame_comes_out_as_it_went_in_whatever_its_size),
    cmocka_unit_test(a_small_body_is_copied_and_a_large_one_is_not),
    cmocka_unit_test(bursts_ask_for_memory_only_the_first_time),
    cmocka_unit_test(a_rollback_takes_back_the_unfinished_message_only),
    cmocka_unit_test(who_sleeps_is_woken_once),
    cmocka_unit_test(what_is_published_after_the_close_is_not_read),
    cmocka_unit_test(who_waits_for_room_is_woken_when_half_is_gone),
    cmocka_unit_test(without_memory_a_frame_is_refused_and_may_be_pushed_again),
    cmocka_unit_test(a_frame_for_which_there_is_no_memory_stays),
    cmocka_unit_test(the_sleeper_makes_the_fence_only_after_a_long_burst),
    cmocka_unit_test(without_its_fence_the_consumer_stays_awake),
    cmocka_unit_test(whoever_sleeps_hears_of_the_last_of_a_burst),
    cmocka_unit_test(both_count_the_same_messages_of_a_channel_that_is_closed),
};

SENNIT_TEST_MAIN(tests)
