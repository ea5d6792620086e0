/* SPDX-License-Identifier: MIT */
#include "sennit_test.h"

#include <stdio.h>

#include "base/trie.h"
#include "fail_alloc.h"
#include "rng.h"

static int owners[8];
static sni_trie_keys held[8]; /* theirs, in whatever trie is tested */

static sennit_bytes
text(const char *string)
{
    return sni_bytes(string, strlen(string));
}

/* The list of an owner. */
static sni_trie_keys *
keys_of(const void *owner)
{
    return &held[(const int *)owner - owners];
}

static uint32_t
add(sni_trie *trie, sennit_bytes key, void *owner)
{
    uint32_t count = 0;

    assert_int_equal(sni_trie_add(trie, key, owner, keys_of(owner), &count), SENNIT_OK);
    return count;
}

static uint32_t
take(sni_trie *trie, sennit_bytes key, void *owner)
{
    uint32_t left = 99;

    assert_int_equal(sni_trie_remove(trie, key, owner, keys_of(owner), false, &left),
                     SENNIT_OK);
    return left;
}

/* Every owner leaves, and nothing is left. */
static void
close_trie(sni_trie *trie, const test_alloc *alloc)
{
    for (int o = 0; o < 8; o++)
        assert_int_equal(sni_trie_forget(trie, &owners[o], &held[o], NULL, NULL),
                         SENNIT_OK);
    assert_int_equal(trie->entries, 0);
    sni_trie_fini(trie);
    assert_int_equal(alloc->live_blocks, 0);
}

static void
count_owner(void *owner, void *arg)
{
    ((unsigned *)arg)[(int *)owner - owners]++;
}

static void
owners_are_counted_per_key(void **state)
{
    test_alloc alloc;
    sni_trie trie;
    uint32_t left;

    (void)state;
    test_alloc_init(&alloc);
    sni_trie_init(&trie, &alloc.allocator);
    assert_int_equal(add(&trie, text("ab"), &owners[0]), 1);
    assert_int_equal(add(&trie, text("ab"), &owners[0]), 2);
    assert_int_equal(add(&trie, text("ab"), &owners[1]), 1);
    assert_int_equal(trie.keys, 1);
    assert_int_equal(trie.entries, 2);
    assert_int_equal(take(&trie, text("ab"), &owners[0]), 1);
    assert_int_equal(take(&trie, text("ab"), &owners[0]), 0);
    assert_int_equal(
        sni_trie_remove(&trie, text("ab"), &owners[0], &held[0], false, &left),
        SENNIT_ENOENT);
    assert_int_equal(add(&trie, text("ab"), &owners[1]), 2);
    assert_int_equal(
        sni_trie_remove(&trie, text("ab"), &owners[1], &held[1], true, &left), SENNIT_OK);
    assert_int_equal(left, 0);
    assert_int_equal(trie.keys, 0);
    assert_int_equal(trie.entries, 0);
    close_trie(&trie, &alloc);
}

static void
prefixes_match_and_only_prefixes(void **state)
{
    static const struct {
        const char *subject;
        unsigned hits; /* of "", "a", "ab", "abc", "b" */
    } rows[] = {
        { "", 1 },     { "a", 2 },  { "ab", 3 }, { "abc", 4 },
        { "abcd", 4 }, { "ac", 2 }, { "b", 2 },  { "c", 1 },
    };
    test_alloc alloc;
    sni_trie trie;

    (void)state;
    test_alloc_init(&alloc);
    sni_trie_init(&trie, &alloc.allocator);
    assert_false(sni_trie_match(&trie, text("a"), NULL, NULL));
    add(&trie, text(""), &owners[0]);
    add(&trie, text("abc"), &owners[0]);
    add(&trie, text("ab"), &owners[0]);
    add(&trie, text("a"), &owners[0]);
    add(&trie, text("b"), &owners[0]);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        unsigned counts[8] = { 0 };

        assert_true(sni_trie_match(&trie, text(rows[i].subject), count_owner, counts));
        if (counts[0] != rows[i].hits)
            fail_msg("'%s' matched %u keys instead of %u", rows[i].subject, counts[0],
                     rows[i].hits);
    }
    close_trie(&trie, &alloc);
}

static void
find_wants_the_exact_key(void **state)
{
    test_alloc alloc;
    sni_trie trie;

    (void)state;
    test_alloc_init(&alloc);
    sni_trie_init(&trie, &alloc.allocator);
    assert_null(sni_trie_find(&trie, text("")));
    add(&trie, sni_bytes("\0\1", 2), &owners[0]);
    add(&trie, sni_bytes("\0\1\0", 3), &owners[1]);
    assert_ptr_equal(sni_trie_find(&trie, sni_bytes("\0\1", 2)), &owners[0]);
    assert_ptr_equal(sni_trie_find(&trie, sni_bytes("\0\1\0", 3)), &owners[1]);
    assert_null(sni_trie_find(&trie, sni_bytes("\0", 1)));
    assert_null(sni_trie_find(&trie, sni_bytes("\0\1\0\0", 4)));
    close_trie(&trie, &alloc);
}

/* Every node beyond what the live keys need would be a leak that grows. */
static void
removing_all_keys_leaves_the_root_alone(void **state)
{
    test_alloc alloc;
    sni_trie trie;
    size_t empty;

    (void)state;
    test_alloc_init(&alloc);
    sni_trie_init(&trie, &alloc.allocator);
    add(&trie, text(""), &owners[0]);
    take(&trie, text(""), &owners[0]);
    empty = alloc.live_blocks;
    for (int round = 0; round < 3; round++) {
        static const char *const keys[] = { "a", "abc", "abd", "abcdef", "x", "xyz", "" };
        size_t before = alloc.live_blocks;

        for (size_t i = 0; i < 7; i++)
            add(&trie, text(keys[(i + (size_t)round) % 7]), &owners[0]);
        for (size_t i = 0; i < 7; i++)
            take(&trie, text(keys[(i * 3 + (size_t)round) % 7]), &owners[0]);
        assert_int_equal(trie.keys, 0);
        /* The root keeps its arrays, and only those. */
        assert_true(alloc.live_blocks <= empty + 2);
        assert_true(round == 0 || alloc.live_blocks == before);
    }
    close_trie(&trie, &alloc);
}

/* A recursive walk would need a stack frame per octet here. */
static void
keys_of_a_megabyte_and_chains_of_prefixes_need_no_stack(void **state)
{
    enum { LONG = 1024 * 1024, CHAIN = 3000 };
    test_alloc alloc;
    sni_trie trie;
    uint8_t *key = malloc(LONG);
    unsigned counts[8] = { 0 };

    (void)state;
    test_alloc_init(&alloc);
    sni_trie_init(&trie, &alloc.allocator);
    memset(key, 'k', LONG);
    add(&trie, sni_bytes(key, LONG), &owners[0]);
    for (size_t size = CHAIN; size > 0; size--)
        add(&trie, sni_bytes(key, size), &owners[size % 2]);
    assert_int_equal(trie.keys, CHAIN + 1);
    assert_true(sni_trie_match(&trie, sni_bytes(key, LONG), count_owner, counts));
    assert_int_equal(counts[0] + counts[1], CHAIN + 1);
    assert_int_equal(sni_trie_forget(&trie, &owners[1], &held[1], NULL, NULL), SENNIT_OK);
    assert_int_equal(trie.keys, CHAIN / 2 + 1);
    assert_ptr_equal(sni_trie_find(&trie, sni_bytes(key, LONG)), &owners[0]);
    assert_null(sni_trie_find(&trie, sni_bytes(key, 1)));
    close_trie(&trie, &alloc);
    free(key);
}

/* ---- against a linear scan ------------------------------------------ */

#define MODEL_KEYS   200
#define MODEL_OWNERS 6
#define KEY_MAX      20

typedef struct model_key {
    uint8_t data[KEY_MAX];
    size_t size;
    uint32_t counts[MODEL_OWNERS];
} model_key;

typedef struct key_model {
    model_key keys[MODEL_KEYS];
    size_t count;
    uint64_t seed;
    int step;
} key_model;

#define CHECK(model, condition, what)                                                    \
    do {                                                                                 \
        if (!(condition))                                                                \
            fail_msg("seed %llu step %d: %s", (unsigned long long)(model)->seed,         \
                     (model)->step, what);                                               \
    } while (0)

/* Few letters and short keys, so that they share prefixes and come again. */
static sennit_bytes
random_key(test_rng *rng, uint8_t out[KEY_MAX])
{
    size_t size = test_rng_below(rng, KEY_MAX + 1);

    for (size_t i = 0; i < size; i++)
        out[i] = (uint8_t)(test_rng_chance(rng, 90) ? 'a' + test_rng_below(rng, 2)
                                                    : test_rng_below(rng, 256));
    if (size > 4 && test_rng_chance(rng, 70))
        size = 4;
    return sni_bytes(out, size);
}

static model_key *
model_at(key_model *model, sennit_bytes key, bool make)
{
    for (size_t i = 0; i < model->count; i++)
        if (sni_bytes_equal(key, sni_bytes(model->keys[i].data, model->keys[i].size)))
            return &model->keys[i];
    if (!make || model->count == MODEL_KEYS)
        return NULL;
    model->keys[model->count] = (model_key){ .size = key.size };
    sni_bytes_put(model->keys[model->count].data, key);
    return &model->keys[model->count++];
}

static size_t
model_entries(const key_model *model, size_t *keys)
{
    size_t entries = 0;

    *keys = 0;
    for (size_t i = 0; i < model->count; i++) {
        size_t of_key = 0;

        for (int o = 0; o < MODEL_OWNERS; o++)
            of_key += model->keys[i].counts[o] > 0;
        entries += of_key;
        *keys += of_key > 0;
    }
    return entries;
}

static uint32_t
count_of(key_model *model, sennit_bytes key, int o)
{
    const model_key *expected = model_at(model, key, false);

    return expected == NULL ? 0 : expected->counts[o];
}

static void
check_match(const key_model *model, sni_trie *trie, sennit_bytes subject)
{
    unsigned expected[8] = { 0 };
    unsigned seen[8] = { 0 };
    bool any = false;

    for (size_t i = 0; i < model->count; i++) {
        const model_key *key = &model->keys[i];

        if (key->size > subject.size ||
            (key->size > 0 && memcmp(key->data, subject.data, key->size) != 0))
            continue;
        for (int o = 0; o < MODEL_OWNERS; o++) {
            expected[o] += key->counts[o] > 0;
            any = any || key->counts[o] > 0;
        }
    }
    CHECK(model, sni_trie_match(trie, subject, count_owner, seen) == any,
          "match differs");
    CHECK(model, sni_trie_match(trie, subject, NULL, NULL) == any,
          "match of any differs");
    CHECK(model, memcmp(expected, seen, sizeof seen) == 0, "owners differ");
}

typedef struct each_state {
    key_model *model;
    size_t seen;
    uint8_t last[KEY_MAX];
    size_t last_size;
} each_state;

static sennit_err
check_key(sennit_bytes key, void *arg)
{
    each_state *each = arg;
    model_key *expected = model_at(each->model, key, false);
    bool live = false;
    size_t common = key.size < each->last_size ? key.size : each->last_size;
    int order = common == 0 ? 0 : memcmp(each->last, key.data, common);

    CHECK(each->model, expected != NULL, "each shows a key that was never added");
    for (int o = 0; o < MODEL_OWNERS; o++)
        live = live || expected->counts[o] > 0;
    CHECK(each->model, live, "each shows a key that was removed");
    CHECK(each->model,
          each->seen == 0 || order < 0 || (order == 0 && each->last_size < key.size),
          "each is not in byte order");
    sni_bytes_put(each->last, key);
    each->last_size = key.size;
    each->seen++;
    return SENNIT_OK;
}

typedef struct leave_state {
    key_model *model;
    int owner;
    uint64_t fail_after; /* so many keys */
} leave_state;

static sennit_err
check_parting(const sni_trie_parting *parting, void *arg)
{
    leave_state *leave = arg;
    model_key *expected = model_at(leave->model, parting->key, false);
    size_t others = 0;

    CHECK(leave->model, expected != NULL, "an unknown key was left");
    CHECK(leave->model, parting->count == expected->counts[leave->owner],
          "count of a parting differs");
    for (int o = 0; o < MODEL_OWNERS; o++)
        others += o != leave->owner && expected->counts[o] > 0;
    CHECK(leave->model, parting->last == (others == 0), "last of a parting differs");
    if (leave->fail_after-- == 0)
        return SENNIT_EAGAIN;
    expected->counts[leave->owner] = 0;
    return SENNIT_OK;
}

/* It may take several attempts. */
static void
leave(key_model *model, sni_trie *trie, int o, uint64_t keys_at_a_time)
{
    leave_state state = { model, o, 0 };
    sennit_err err;

    do {
        size_t keys;

        state.fail_after = 1 + keys_at_a_time * 10;
        err = sni_trie_forget(trie, &owners[o], &held[o], check_parting, &state);
        CHECK(model, trie->entries == model_entries(model, &keys),
              "an attempt to leave left something else");
        CHECK(model, err == SENNIT_OK || held[o].count > 0, "left all and failed");
    } while (err);
    for (size_t i = 0; i < model->count; i++)
        CHECK(model, model->keys[i].counts[o] == 0, "a key was not left");
    CHECK(model, held[o].nodes == NULL, "the list was not given back");
}

static void
model_step(key_model *model, sni_trie *trie, test_rng *rng)
{
    uint8_t storage[KEY_MAX];
    sennit_bytes key = random_key(rng, storage);
    int o = (int)test_rng_below(rng, MODEL_OWNERS);
    uint64_t dice = test_rng_below(rng, 100);
    model_key *expected;
    uint32_t count = 0;

    if (dice < 45) {
        expected = model_at(model, key, true);
        if (expected == NULL)
            return;
        CHECK(model, sni_trie_add(trie, key, &owners[o], &held[o], &count) == SENNIT_OK,
              "add failed");
        CHECK(model, count == ++expected->counts[o], "count of add differs");
    } else if (dice < 85) {
        bool all = test_rng_chance(rng, 20);
        sennit_err err = sni_trie_remove(trie, key, &owners[o], &held[o], all, &count);

        expected = model_at(model, key, false);
        if (expected == NULL || expected->counts[o] == 0) {
            CHECK(model, err == SENNIT_ENOENT, "remove of nothing succeeded");
            return;
        }
        expected->counts[o] = all ? 0 : expected->counts[o] - 1;
        CHECK(model, err == SENNIT_OK && count == expected->counts[o], "remove differs");
    } else if (dice < 88) {
        leave(model, trie, o, test_rng_below(rng, 3));
    } else {
        check_match(model, trie, key);
    }
}

static void
any_sequence_agrees_with_a_linear_scan(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        test_rng rng = { seed };
        key_model *m = calloc(1, sizeof *m);
        test_alloc alloc;
        sni_trie trie;

        test_alloc_init(&alloc);
        sni_trie_init(&trie, &alloc.allocator);
        m->seed = seed;
        for (m->step = 0; m->step < 1500; m->step++) {
            size_t keys;

            model_step(m, &trie, &rng);
            for (int o = 0; o < MODEL_OWNERS; o++)
                CHECK(m,
                      sni_trie_count(&trie, text("a"), &owners[o]) ==
                          count_of(m, text("a"), o),
                      "count differs");
            CHECK(m, trie.entries == model_entries(m, &keys),
                  "number of entries differs");
            CHECK(m, trie.keys == keys, "number of keys differs");
            if (m->step % 50 == 0) {
                each_state each = { .model = m };

                CHECK(m, sni_trie_each(&trie, check_key, &each) == SENNIT_OK,
                      "each failed");
                CHECK(m, each.seen == keys, "each left keys out");
            }
        }
        for (int o = 0; o < MODEL_OWNERS; o++)
            leave(m, &trie, o, 1000);
        sni_trie_fini(&trie);
        assert_int_equal(alloc.live_blocks, 0);
        free(m);
    }
}

static sennit_err
stop_at_second(sennit_bytes key, void *arg)
{
    (void)key;
    return ++*(unsigned *)arg == 2 ? SENNIT_EAGAIN : SENNIT_OK;
}

static void
each_stops_at_the_first_error(void **state)
{
    test_alloc alloc;
    sni_trie trie;
    unsigned calls = 0;

    (void)state;
    test_alloc_init(&alloc);
    sni_trie_init(&trie, &alloc.allocator);
    add(&trie, text("a"), &owners[0]);
    add(&trie, text("b"), &owners[0]);
    add(&trie, text("c"), &owners[0]);
    assert_int_equal(sni_trie_each(&trie, stop_at_second, &calls), SENNIT_EAGAIN);
    assert_int_equal(calls, 2);
    close_trie(&trie, &alloc);
}

/* ---- memory --------------------------------------------------------- */

/* Of edges that lie in their node and those that do not, and of one owner or two. */
static const struct {
    const char *key;
    int owner;
} scenario[] = {
    { "news.sports.nl", 0 },
    { "news.sports.nl.ajax", 1 },
    { "news.sports", 0 },
    { "news.sports.be", 0 },
    { "ne", 0 },
    { "", 0 },
    { "news.sports.nl", 1 },
    { "news.sports.n", 0 },
    { "news.sports.nl", 2 },
};
#define SCENARIO (sizeof scenario / sizeof scenario[0])

/* After a failed add the trie must answer as before it, and stay usable. */
static void
trie_scenario(test_alloc *alloc, void *arg)
{
    bool there[SCENARIO] = { false };
    sni_trie trie;
    uint32_t count;

    (void)arg;
    sni_trie_init(&trie, &alloc->allocator);
    for (size_t i = 0; i < SCENARIO; i++) {
        int o = scenario[i].owner;
        uint64_t failed = alloc->failed;

        there[i] = sni_trie_add(&trie, text(scenario[i].key), &owners[o], &held[o],
                                &count) == SENNIT_OK;
        assert_int_equal(there[i], alloc->failed == failed);
        for (size_t k = 0; k <= i; k++)
            assert_int_equal(
                sni_trie_count(&trie, text(scenario[k].key), &owners[scenario[k].owner]),
                there[k]);
    }
    for (size_t i = 0; i < SCENARIO; i++) {
        int o = scenario[i].owner;

        assert_int_equal(sni_trie_remove(&trie, text(scenario[i].key), &owners[o],
                                         &held[o], false, &count) == SENNIT_OK,
                         there[i]);
    }
    assert_int_equal(trie.keys, 0);
    assert_int_equal(trie.entries, 0);
    sni_trie_fini(&trie);
}

static void
a_trie_survives_every_failed_allocation(void **state)
{
    (void)state;
    assert_true(test_alloc_every_failure(trie_scenario, NULL) > 20);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(owners_are_counted_per_key),
        cmocka_unit_test(prefixes_match_and_only_prefixes),
        cmocka_unit_test(find_wants_the_exact_key),
        cmocka_unit_test(removing_all_keys_leaves_the_root_alone),
        cmocka_unit_test(keys_of_a_megabyte_and_chains_of_prefixes_need_no_stack),
        cmocka_unit_test(any_sequence_agrees_with_a_linear_scan),
        cmocka_unit_test(each_stops_at_the_first_error),
        cmocka_unit_test(a_trie_survives_every_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
