/* SPDX-License-Identifier: MIT */
/* What a trie costs when there is much of it: a peer chooses how much it subscribes
 * to, and is not to get many times the memory it has sent. */
#include "sennit_test.h"

#include <stdio.h>

#include "base/trie.h"
#include "fail_alloc.h"
#include "rng.h"

#define KEYS_COUNT 10000

static int owner;

/* Storage for each octet of key, of `KEYS_COUNT` keys. */
static double
cost_of(size_t (*make)(uint8_t *key, uint32_t i, test_rng *rng))
{
    test_alloc alloc;
    test_rng rng = { 1 };
    sni_trie trie;
    sni_trie_keys keys = { 0 };
    size_t octets = 0;
    double cost;

    test_alloc_init(&alloc);
    sni_trie_init(&trie, &alloc.allocator);
    for (uint32_t i = 0; i < KEYS_COUNT; i++) {
        uint8_t key[64];
        size_t size = make(key, i, &rng);
        uint32_t count;

        assert_int_equal(sni_trie_add(&trie, sni_bytes(key, size), &owner, &keys, &count),
                         SENNIT_OK);
        octets += size;
    }
    assert_int_equal(trie.keys, KEYS_COUNT);
    cost = (double)alloc.live_bytes / (double)octets;
    assert_int_equal(sni_trie_forget(&trie, &owner, &keys, NULL, NULL), SENNIT_OK);
    sni_trie_fini(&trie);
    assert_int_equal(alloc.live_blocks, 0);
    return cost;
}

static size_t
numbered(uint8_t *key, uint32_t i, test_rng *rng)
{
    (void)rng;
    return (size_t)snprintf((char *)key, 64, "sensors/%u/temperature", i);
}

static size_t
unlike_any_other(uint8_t *key, uint32_t i, test_rng *rng)
{
    for (size_t at = 0; at < 16; at += 4)
        sni_put_u32(key + at, (uint32_t)test_rng_next(rng));
    sni_put_u32(key, i * 2654435761u);
    return 16;
}

static void
numbered_topics_cost_at_most_six_times_their_octets(void **state)
{
    double cost = cost_of(numbered);

    (void)state;
    if (cost > 6)
        fail_msg("%.1f octets of storage for each octet of a topic", cost);
}

static void
topics_that_share_nothing_cost_at_most_eight_times_their_octets(void **state)
{
    double cost = cost_of(unlike_any_other);

    (void)state;
    if (cost > 8)
        fail_msg("%.1f octets of storage for each octet of a topic", cost);
}

/* ---- many owners of one key --------------------------------------------- */

#define OWNERS_COUNT 3000

static uint64_t many[OWNERS_COUNT];
static sni_trie_keys held[OWNERS_COUNT];

static void
count_owner(void *one, void *arg)
{
    ((uint32_t *)arg)[(uint64_t *)one - many]++;
}

/* Any order of coming and going, compared with a table. */
static void
thousands_of_owners_of_one_key_come_and_go(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        static uint32_t counts[OWNERS_COUNT];
        static uint32_t matched[OWNERS_COUNT];
        sennit_bytes key = sni_bytes("key", seed % 2 == 0 ? 3 : 0);
        test_rng rng = { seed };
        test_alloc alloc;
        sni_trie trie;
        size_t entries = 0;

        test_alloc_init(&alloc);
        sni_trie_init(&trie, &alloc.allocator);
        memset(counts, 0, sizeof counts);
        for (size_t step = 0; step < 60000; step++) {
            size_t i = test_rng_below(&rng, OWNERS_COUNT);
            bool all = test_rng_chance(&rng, 50);
            uint32_t told = 99;
            uint32_t expected;

            /* It fills up, empties, fills up again. */
            if (test_rng_chance(&rng, step / 20000 == 1 ? 20 : 70)) {
                assert_int_equal(sni_trie_add(&trie, key, &many[i], &held[i], &told),
                                 SENNIT_OK);
                entries += counts[i] == 0;
                expected = ++counts[i];
            } else if (counts[i] == 0) {
                assert_int_equal(
                    sni_trie_remove(&trie, key, &many[i], &held[i], all, &told),
                    SENNIT_ENOENT);
                continue;
            } else {
                assert_int_equal(
                    sni_trie_remove(&trie, key, &many[i], &held[i], all, &told),
                    SENNIT_OK);
                expected = counts[i] = all ? 0 : counts[i] - 1;
                entries -= counts[i] == 0;
            }
            assert_int_equal(told, expected);
            assert_int_equal(trie.entries, entries);
            assert_int_equal(trie.keys, entries > 0);
        }
        memset(matched, 0, sizeof matched);
        assert_true(sni_trie_match(&trie, sni_bytes("key", 3), count_owner, matched));
        for (size_t i = 0; i < OWNERS_COUNT; i++)
            assert_int_equal(matched[i], counts[i] > 0);
        for (size_t i = 0; i < OWNERS_COUNT; i++) {
            assert_int_equal(sni_trie_forget(&trie, &many[i], &held[i], NULL, NULL),
                             SENNIT_OK);
            entries -= counts[i] > 0;
            assert_int_equal(trie.entries, entries);
        }
        assert_int_equal(trie.keys, 0);
        sni_trie_fini(&trie);
        assert_int_equal(alloc.live_blocks, 0);
    }
}

static void
add_owners(test_alloc *alloc, void *arg)
{
    sni_trie trie;
    uint32_t count;
    size_t added = 0;

    (void)arg;
    sni_trie_init(&trie, &alloc->allocator);
    for (size_t i = 0; i < 300; i++) {
        sennit_err err = sni_trie_add(&trie, sni_bytes("key", 3), &many[i], NULL, &count);

        if (err)
            assert_int_equal(err, SENNIT_ENOMEM);
        added += err == SENNIT_OK;
        assert_int_equal(trie.entries, added);
    }
    for (size_t i = 0; i < 300; i++)
        added -= sni_trie_remove(&trie, sni_bytes("key", 3), &many[i], NULL, true,
                                 &count) == SENNIT_OK;
    assert_int_equal(added, 0);
    sni_trie_fini(&trie);
}

static void
many_owners_survive_every_failed_allocation(void **state)
{
    (void)state;
    assert_true(test_alloc_every_failure(add_owners, NULL) > 10);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thousands_of_owners_of_one_key_come_and_go),
        cmocka_unit_test(many_owners_survive_every_failed_allocation),
        cmocka_unit_test(numbered_topics_cost_at_most_six_times_their_octets),
        cmocka_unit_test(topics_that_share_nothing_cost_at_most_eight_times_their_octets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
