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
    size_t octets = 0;
    double cost;

    test_alloc_init(&alloc);
    sni_trie_init(&trie, &alloc.allocator);
    for (uint32_t i = 0; i < KEYS_COUNT; i++) {
        uint8_t key[64];
        size_t size = make(key, i, &rng);
        uint32_t count;

        assert_int_equal(sni_trie_add(&trie, sni_bytes(key, size), &owner, &count),
                         SENNIT_OK);
        octets += size;
    }
    assert_int_equal(trie.keys, KEYS_COUNT);
    cost = (double)alloc.live_bytes / (double)octets;
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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbered_topics_cost_at_most_six_times_their_octets),
        cmocka_unit_test(topics_that_share_nothing_cost_at_most_eight_times_their_octets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
