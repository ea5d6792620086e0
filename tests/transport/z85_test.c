/* SPDX-License-Identifier: MIT */
/* RFC 32 by the rows of the vector file, and every way to be wrong. */
#include "sennit_test.h"

#include <stdio.h>

#include <jansson.h>

#include "rng.h"
#include "sennit/z85.h"

#define BYTES_MAX 64
#define TEXT_MAX  (SENNIT_Z85_TEXT_SIZE(BYTES_MAX) + 1)

static size_t
unhex(const char *hex, uint8_t *out)
{
    size_t size = strlen(hex) / 2;

    assert_true(size <= BYTES_MAX);
    for (size_t i = 0; i < size; i++) {
        char pair[3] = { hex[2 * i], hex[2 * i + 1], '\0' };

        out[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return size;
}

static const char *
string_of(const json_t *row, const char *name)
{
    const char *text = json_string_value(json_object_get(row, name));

    assert_non_null(text);
    return text;
}

static void
pair_goes_both_ways(void **state)
{
    const char *text = string_of(*state, "z85");
    uint8_t bytes[BYTES_MAX];
    uint8_t decoded[BYTES_MAX];
    char encoded[TEXT_MAX];
    size_t size = unhex(string_of(*state, "hex"), bytes);
    size_t used;

    /* Room for exactly what is written, and not a byte less. */
    assert_int_equal(SENNIT_Z85_TEXT_SIZE(size), strlen(text));
    assert_int_equal(
        sennit_z85_encode((sennit_bytes){ bytes, size }, encoded, strlen(text)),
        SENNIT_EMSGSIZE);
    assert_int_equal(
        sennit_z85_encode((sennit_bytes){ bytes, size }, encoded, strlen(text) + 1),
        SENNIT_OK);
    assert_string_equal(encoded, text);
    assert_int_equal(sennit_z85_decode(text, strlen(text), decoded, size - 1, &used),
                     SENNIT_EMSGSIZE);
    assert_int_equal(sennit_z85_decode(text, strlen(text), decoded, size, &used),
                     SENNIT_OK);
    assert_int_equal(used, size);
    assert_memory_equal(decoded, bytes, size);
}

static void
malformed_text_is_refused(void **state)
{
    const char *text = string_of(*state, "z85");
    uint8_t out[BYTES_MAX];
    size_t used = 77;

    memset(out, 0x5a, sizeof out);
    assert_string_equal(string_of(*state, "expect"), "EINVAL");
    assert_int_equal(sennit_z85_decode(text, strlen(text), out, sizeof out, &used),
                     SENNIT_EINVAL);
    assert_int_equal(used, 77);
    for (size_t i = 0; i < sizeof out; i++)
        assert_int_equal(out[i], 0x5a);
}

static void
every_octet_that_is_not_of_the_alphabet_is_refused(void **state)
{
    static const char alphabet[] =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQR"
        "STUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
    uint8_t out[8];
    size_t used;

    (void)state;
    for (size_t at = 0; at < 10; at++)
        for (int c = 0; c < 256; c++) {
            char text[] = "0000000000";
            bool known = c != 0 && strchr(alphabet, c) != NULL;

            /* Four octets end in the middle of the leading digit '%'. */
            if (at % 5 == 0 && (c == '$' || c == '#'))
                known = false;

            text[at] = (char)c;
            assert_int_equal(sennit_z85_decode(text, 10, out, sizeof out, &used),
                             known ? SENNIT_OK : SENNIT_EINVAL);
        }
}

static void
a_late_mistake_leaves_nothing_half_written(void **state)
{
    uint8_t out[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    size_t used = 77;

    (void)state;
    assert_int_equal(sennit_z85_decode("HelloWor\"d", 10, out, 8, &used), SENNIT_EINVAL);
    assert_int_equal(out[0], 1);
    assert_int_equal(used, 77);
}

static void
sizes_that_are_no_groups_are_refused(void **state)
{
    uint8_t bytes[12] = { 0 };
    char text[TEXT_MAX] = "untouched";
    size_t used;

    (void)state;
    for (size_t size = 0; size <= 12; size++) {
        sennit_err err =
            sennit_z85_encode((sennit_bytes){ bytes, size }, text, sizeof text);

        assert_int_equal(err, size % 4 == 0 ? SENNIT_OK : SENNIT_EINVAL);
        assert_int_equal(sennit_z85_decode("000000000000", size, bytes, 12, &used),
                         size > 0 && size % 5 == 0 ? SENNIT_OK : SENNIT_EINVAL);
    }
    /* Nothing is text too, if there is room to say so. */
    assert_int_equal(sennit_z85_encode((sennit_bytes){ NULL, 0 }, text, 1), SENNIT_OK);
    assert_string_equal(text, "");
    assert_int_equal(sennit_z85_encode((sennit_bytes){ NULL, 0 }, text, 0),
                     SENNIT_EMSGSIZE);
}

static void
any_octets_come_back(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        test_rng rng = { seed };
        size_t size = 4 * (1 + test_rng_below(&rng, BYTES_MAX / 4));
        uint8_t bytes[BYTES_MAX];
        uint8_t decoded[BYTES_MAX];
        char text[TEXT_MAX];
        size_t used;

        for (size_t i = 0; i < size; i++)
            bytes[i] = (uint8_t)test_rng_next(&rng);
        assert_int_equal(
            sennit_z85_encode((sennit_bytes){ bytes, size }, text, sizeof text),
            SENNIT_OK);
        assert_int_equal(
            sennit_z85_decode(text, strlen(text), decoded, sizeof decoded, &used),
            SENNIT_OK);
        assert_int_equal(used, size);
        assert_memory_equal(decoded, bytes, size);
    }
}

#define ROWS_MAX 64

static size_t
add_rows(struct CMUnitTest *tests, char (*names)[160], const json_t *rows,
         const char *sentence, CMUnitTestFunction check)
{
    size_t count = json_array_size(rows);

    for (size_t i = 0; i < count; i++) {
        json_t *row = json_array_get(rows, i);

        snprintf(names[i], sizeof names[i], "%s: '%s'", sentence,
                 json_string_value(json_object_get(row, "z85")));
        tests[i] = (struct CMUnitTest){
            .name = names[i],
            .test_func = check,
            .initial_state = row,
        };
    }
    return count;
}

int
main(void)
{
    static struct CMUnitTest tests[ROWS_MAX];
    static char names[ROWS_MAX][160];
    const struct CMUnitTest single[] = {
        cmocka_unit_test(every_octet_that_is_not_of_the_alphabet_is_refused),
        cmocka_unit_test(a_late_mistake_leaves_nothing_half_written),
        cmocka_unit_test(sizes_that_are_no_groups_are_refused),
        cmocka_unit_test(any_octets_come_back),
    };
    json_t *file = json_load_file(SENNIT_TEST_VECTORS, 0, NULL);
    const json_t *z85 = json_object_get(file, "z85");
    const json_t *pairs = json_object_get(z85, "pairs");
    const json_t *invalid = json_object_get(z85, "invalid");
    size_t count = json_array_size(pairs) + json_array_size(invalid);
    int failed;

    if (json_array_size(pairs) == 0 || json_array_size(invalid) == 0 ||
        count > ROWS_MAX) {
        fprintf(stderr, "%s has no z85 rows, or too many\n", SENNIT_TEST_VECTORS);
        return 1;
    }
    count = add_rows(tests, names, pairs, "goes both ways", pair_goes_both_ways);
    count += add_rows(tests + count, names + count, invalid, "is refused",
                      malformed_text_is_refused);
    failed = _cmocka_run_group_tests("z85_vectors", tests, count, NULL, NULL);
    failed += cmocka_run_group_tests(single, NULL, NULL);
    json_decref(file);
    return failed == 0 ? 0 : 1;
}
