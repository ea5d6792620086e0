/* SPDX-License-Identifier: MIT */
/* What the fuzzer does, in a fixed number of steps from fixed seeds: the octets
 * of the vector file, bent in the ways that break parsers. */
#include "sennit_test.h"

#include <jansson.h>
#include <stdio.h>

#include "mutate.h"
#include "rng.h"

#define ROUNDS    2000
#define INPUT_MAX 2048
#define POOL_MAX  1024

static uint8_t pool[POOL_MAX][INPUT_MAX];
static size_t pool_sizes[POOL_MAX];
static size_t pool_count;

static void
add_hex(const char *hex)
{
    size_t size = 0;

    if (hex == NULL || pool_count == POOL_MAX)
        return;
    for (; hex[0] != '\0' && size < INPUT_MAX; hex += 2) {
        unsigned octet;

        assert_int_equal(sscanf(hex, "%2x", &octet), 1);
        pool[pool_count][size++] = (uint8_t)octet;
    }
    pool_sizes[pool_count++] = size;
}

/* What peers of older versions said is nowhere else. */
static void
add_sessions(json_t *sessions)
{
    for (size_t i = 0; i < json_array_size(sessions); i++) {
        json_t *steps = json_object_get(json_array_get(sessions, i), "steps");

        for (size_t k = 0; k < json_array_size(steps); k++)
            add_hex(json_string_value(json_object_get(json_array_get(steps, k), "hex")));
    }
}

static int
load(void **state)
{
    json_error_t error;
    json_t *root = json_load_file(SENNIT_TEST_VECTORS, 0, &error);
    static const char *const lists[] = { "vectors", "malformed" };
    static const char *const keys[] = { "hex", "send_hex" };

    (void)state;
    assert_non_null(root);
    for (int i = 0; i < 2; i++) {
        json_t *list = json_object_get(root, lists[i]);

        for (size_t k = 0; k < json_array_size(list); k++)
            add_hex(json_string_value(json_object_get(json_array_get(list, k), keys[i])));
    }
    add_sessions(json_object_get(root, "sessions"));
    json_decref(root);
    assert_true(pool_count > 350);
    return 0;
}

/* One to four vectors behind each other, then up to five changes. */
static size_t
make_input(test_rng *rng, uint8_t *out)
{
    size_t size = TEST_MUTATE_HEAD;
    size_t vectors = 1 + test_rng_below(rng, 4);
    size_t changes = test_rng_below(rng, 6);

    for (size_t i = 0; i < TEST_MUTATE_HEAD; i++)
        out[i] = (uint8_t)test_rng_next(rng);
    while (vectors-- > 0) {
        size_t i = test_rng_below(rng, pool_count);
        size_t n = pool_sizes[i] < INPUT_MAX - size ? pool_sizes[i] : INPUT_MAX - size;

        memcpy(out + size, pool[i], n);
        size += n;
    }
    while (changes-- > 0 && size > TEST_MUTATE_HEAD) {
        size_t at = TEST_MUTATE_HEAD + test_rng_below(rng, size - TEST_MUTATE_HEAD);
        size_t n = 1 + test_rng_below(rng, 8);

        if (n > size - at)
            n = size - at;
        switch (test_rng_below(rng, 5)) {
        case 0: /* one octet becomes another */
            out[at] = (uint8_t)test_rng_next(rng);
            break;
        case 1: /* one bit */
            out[at] ^= (uint8_t)(1u << test_rng_below(rng, 8));
            break;
        case 2: /* some go missing */
            memmove(out + at, out + at + n, size - at - n);
            size -= n;
            break;
        case 3: /* some come twice */
            if (size + n <= INPUT_MAX) {
                memmove(out + at + n, out + at, size - at);
                size += n;
            }
            break;
        case 4: /* the extremes of a length */
            memset(out + at, test_rng_chance(rng, 50) ? 0xff : 0, n);
            break;
        }
    }
    return size;
}

static void
mutated_vectors_break_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        test_rng rng = { seed };
        uint8_t input[INPUT_MAX];

        test_engine_survives(input, make_input(&rng, input));
    }
}

static void
plain_noise_breaks_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= ROUNDS / 10; seed++) {
        test_rng rng = { seed };
        uint8_t input[INPUT_MAX];
        size_t size = TEST_MUTATE_HEAD + test_rng_below(&rng, 200);

        for (size_t i = 0; i < size; i++)
            input[i] = (uint8_t)test_rng_next(&rng);
        test_engine_survives(input, size);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mutated_vectors_break_nothing),
        cmocka_unit_test(plain_noise_breaks_nothing),
    };

    return cmocka_run_group_tests(tests, load, NULL) == 0 ? 0 : 1;
}
