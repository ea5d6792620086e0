/* SPDX-License-Identifier: MIT */
/* The validator against what is sent to break decoders (rule H3), and the text
 * check behind it. */
#include "sennit_test.h"

#include "rng.h"
#include "sennit/pack.h"
#include "suite.h"

#define WIRE(literal)                                                                    \
    {                                                                                    \
        (const uint8_t *)("" literal), sizeof(literal) - 1                               \
    }

typedef struct check_row {
    const char *name;
    sennit_bytes wire;
    unsigned flags;
    size_t offset;      /* where the fault lies */
    const char *reason; /* NULL: it is fine */
} check_row;

#define CUT   "the value is cut off"
#define LONG  "a length is larger than the bytes that are left"
#define MANY  "a count is larger than the bytes that are left"
#define AFTER "there is something after the value"

static const check_row rows[] = {
    { "H3 nothing at all", WIRE(""), 0, 0, CUT },
    { "H3 five bytes that ask for 2^32 values", WIRE("\xdd\xff\xff\xff\xff"), 0, 0,
      MANY },
    { "H3 five bytes that ask for 2^32 pairs", WIRE("\xdf\xff\xff\xff\xff"), 0, 0, MANY },
    { "H3 a bin of 4 GiB that has one byte", WIRE("\xc6\xff\xff\xff\xff\x00"), 0, 0,
      LONG },
    { "H3 a str of 4 GiB that has one byte", WIRE("\xdb\xff\xff\xff\xff\x61"), 0, 0,
      LONG },
    { "H3 an ext of 4 GiB that has one byte", WIRE("\xc9\xff\xff\xff\xff\x01\x00"), 0, 0,
      LONG },
    { "H3 0xc1 alone", WIRE("\xc1"), 0, 0, "0xc1 is not msgpack" },
    { "H3 0xc1 inside", WIRE("\x92\x01\xc1"), 0, 2, "0xc1 is not msgpack" },
    { "H3 an array short of one value", WIRE("\x92\x01"), 0, 0, MANY },
    { "H3 a map short of one value", WIRE("\x81\x01"), 0, 0, MANY },
    { "H3 counts that are fine alone and too much together",
      WIRE("\x94\x94\x94\x94\x01\x01\x01\x01\x01"), 0, 3, MANY },
    { "H3 a nested count that takes its parent's bytes", WIRE("\x92\x92\x01\x01"), 0, 2,
      MANY },
    { "H3 a timestamp without its bytes", WIRE("\xd6\xff\x00\x00"), 0, 0, LONG },
    { "H3 an ext without its type", WIRE("\xd4"), 0, 0, CUT },
    { "H3 a uint 64 without its last byte", WIRE("\xcf\x00\x00\x00\x00\x00\x00\x00"), 0,
      0, CUT },
    { "H3 a second value", WIRE("\x01\x02"), 0, 1, AFTER },
    { "H3 bytes that are not UTF-8, when asked for", WIRE("\x91\xa2\xc3\x28"),
      SENNIT_CHECK_UTF8, 1, "a str is not UTF-8" },
    { "H3 bytes that are not UTF-8, when not asked for", WIRE("\x91\xa2\xc3\x28"), 0, 0,
      NULL },
    { "H3 an empty map", WIRE("\x80"), 0, 0, NULL },
    { "H3 three levels", WIRE("\x91\x91\x91\xc0"), SENNIT_CHECK_UTF8, 0, NULL },
    { "H3 non-shortest forms", WIRE("\xdd\x00\x00\x00\x01\xd9\x01\x61"),
      SENNIT_CHECK_UTF8, 0, NULL },
};

static void
check_wire(void **state)
{
    const check_row *row = *state;
    const char *reason = "untouched";
    size_t offset = 77;
    sennit_err err = sennit_unpack_check(row->wire, 8, row->flags, &reason, &offset);

    if (row->reason == NULL) {
        assert_int_equal(err, SENNIT_OK);
        assert_string_equal(reason, "untouched");
        assert_int_equal(offset, 77);
        return;
    }
    assert_int_equal(err, SENNIT_EPROTO);
    assert_string_equal(reason, row->reason);
    assert_int_equal(offset, row->offset);
}

static void
H3_nesting_is_refused_one_level_past_the_limit(void **state)
{
    uint8_t nested[SENNIT_UNPACK_DEPTH_MAX + 2];
    const char *reason;
    size_t offset;

    (void)state;
    memset(nested, 0x91, sizeof nested);
    for (unsigned depth = 0; depth <= SENNIT_UNPACK_DEPTH_MAX; depth++) {
        nested[depth] = 0xc0;
        assert_int_equal(sennit_unpack_check((sennit_bytes){ nested, depth + 1 }, depth,
                                             0, NULL, NULL),
                         SENNIT_OK);
        if (depth > 0) {
            assert_int_equal(sennit_unpack_check((sennit_bytes){ nested, depth + 1 },
                                                 depth - 1, 0, &reason, &offset),
                             SENNIT_EPROTO);
            assert_string_equal(reason, "nesting is too deep");
            assert_int_equal(offset, depth - 1);
        }
        nested[depth] = 0x91;
    }
    assert_int_equal(sennit_unpack_check((sennit_bytes){ nested, 1 },
                                         SENNIT_UNPACK_DEPTH_MAX + 1, 0, NULL, NULL),
                     SENNIT_EINVAL);
    assert_int_equal(
        sennit_unpack_check((sennit_bytes){ nested, 1 }, 1, 1u << 9, NULL, NULL),
        SENNIT_EINVAL);
}

static void
H3_a_megabyte_of_open_arrays_is_stepped_over_without_recursion(void **state)
{
    size_t size = 1 << 20;
    uint8_t *nested = malloc(size);
    sennit_unpack in;

    (void)state;
    assert_non_null(nested);
    memset(nested, 0x91, size);
    sennit_unpack_init(&in, (sennit_bytes){ nested, size });
    sennit_unpack_skip(&in);
    assert_int_equal(in.err, SENNIT_EPROTO); /* the innermost has no value */
    nested[size - 1] = 0xc0;
    sennit_unpack_init(&in, (sennit_bytes){ nested, size });
    sennit_unpack_skip(&in);
    assert_int_equal(in.err, SENNIT_OK);
    free(nested);
}

static void
what_the_check_lets_through_the_cursor_reads_to_its_end(void **state)
{
    static const uint8_t favourites[] = { 0xc0, 0xc1, 0x91, 0x81, 0xdd, 0xdf, 0xc4,
                                          0xc6, 0xd9, 0xdb, 0xc7, 0xd4, 0xcf, 0xff };
    test_rng rng = { 7 };
    unsigned passed = 0;

    (void)state;
    for (int round = 0; round < 200000; round++) {
        uint8_t wire[24];
        size_t size = (size_t)test_rng_below(&rng, sizeof wire);
        sennit_err err;
        sennit_unpack in;

        for (size_t i = 0; i < size; i++)
            wire[i] = test_rng_chance(&rng, 40)
                          ? favourites[test_rng_below(&rng, sizeof favourites)]
                          : (uint8_t)(test_rng_next(&rng) & 0x8f);
        err = sennit_unpack_check((sennit_bytes){ wire, size }, 64, 0, NULL, NULL);
        sennit_unpack_init(&in, (sennit_bytes){ wire, size });
        sennit_unpack_skip(&in);
        if (err == SENNIT_OK) {
            assert_int_equal(in.err, SENNIT_OK);
            assert_true(sennit_unpack_at_end(&in));
            passed++;
        } else {
            assert_true(in.err != SENNIT_OK || !sennit_unpack_at_end(&in));
        }
    }
    assert_true(passed > 1000); /* the mix exercises both answers */
}

typedef struct text_row {
    const char *name;
    sennit_str text;
    bool fine;
} text_row;

#define TEXT(literal)                                                                    \
    {                                                                                    \
        "" literal, sizeof(literal) - 1                                                  \
    }

static const text_row texts[] = {
    { "UTF-8: empty", TEXT(""), true },
    { "UTF-8: two bytes", TEXT("\xc3\xa4"), true },
    { "UTF-8: three bytes", TEXT("\xe2\x82\xac"), true },
    { "UTF-8: four bytes", TEXT("\xf0\x9f\xa7\xb6"), true },
    { "UTF-8: the last code point", TEXT("\xf4\x8f\xbf\xbf"), true },
    { "UTF-8: beyond the last code point", TEXT("\xf4\x90\x80\x80"), false },
    { "UTF-8: an overlong slash", TEXT("\xc0\xaf"), false },
    { "UTF-8: an overlong euro sign", TEXT("\xf0\x82\x82\xac"), false },
    { "UTF-8: a surrogate", TEXT("\xed\xa0\x80"), false },
    { "UTF-8: a lone continuation", TEXT("\x80"), false },
    { "UTF-8: cut off", TEXT("a\xe2\x82"), false },
    { "UTF-8: a head in place of a continuation", TEXT("\xe2\x82\xe2"), false },
};

static void
check_text(void **state)
{
    const text_row *row = *state;

    assert_int_equal(sennit_str_is_utf8(row->text), row->fine);
}

int
main(void)
{
    static const struct CMUnitTest fixed[] = {
        cmocka_unit_test(H3_nesting_is_refused_one_level_past_the_limit),
        cmocka_unit_test(H3_a_megabyte_of_open_arrays_is_stepped_over_without_recursion),
        cmocka_unit_test(what_the_check_lets_through_the_cursor_reads_to_its_end),
    };
    static test_suite suite;

    TEST_SUITE_ROWS(&suite, "", rows, check_wire);
    TEST_SUITE_ROWS(&suite, "", texts, check_text);
    TEST_SUITE_ADD(&suite, fixed);
    return test_suite_run(&suite);
}
