/* SPDX-License-Identifier: MIT */
#include "sennit_test.h"

#include "suite.h"
#include "wire/frame_v1.h"

#define WIRE(literal) literal, sizeof(literal) - 1

static const struct head_row {
    const char *name;
    const char *wire;
    size_t wire_size;
    sni_parse parse;
    bool more;
    uint64_t body_size;
    size_t used;
} rows[] = {
    { "nothing", WIRE(""), SNI_PARSE_MORE, false, 0, 0 },
    { "a length only", WIRE("\1"), SNI_PARSE_MORE, false, 0, 0 },
    { "short, empty, last", WIRE("\1\0"), SNI_PARSE_DONE, false, 0, 2 },
    { "short, more", WIRE("\6\1"), SNI_PARSE_DONE, true, 5, 2 },
    { "the largest short one", WIRE("\xfe\0"), SNI_PARSE_DONE, false, 253, 2 },
    { "reserved flags mean nothing", WIRE("\3\xfe"), SNI_PARSE_DONE, false, 2, 2 },
    { "reserved flags beside MORE", WIRE("\3\xff"), SNI_PARSE_DONE, true, 2, 2 },
    { "short, of no length", WIRE("\0"), SNI_PARSE_BAD, false, 0, 0 },
    { "long, cut in its length", WIRE("\xff\0\0\0\0\0\0\1"), SNI_PARSE_MORE, false, 0,
      0 },
    { "long, cut before its flags", WIRE("\xff\0\0\0\0\0\0\1\0"), SNI_PARSE_MORE, false,
      0, 0 },
    { "long", WIRE("\xff\0\0\0\0\0\0\1\0\1"), SNI_PARSE_DONE, true, 255, 10 },
    { "long for a small body", WIRE("\xff\0\0\0\0\0\0\0\1\0"), SNI_PARSE_DONE, false, 0,
      10 },
    { "long, of no length", WIRE("\xff\0\0\0\0\0\0\0\0"), SNI_PARSE_BAD, false, 0, 0 },
    { "long, the largest", WIRE("\xff\x7f\xff\xff\xff\xff\xff\xff\xff\0"), SNI_PARSE_DONE,
      false, SNI_FRAME_BODY_MAX - 1, 10 },
    { "long, of 2^63", WIRE("\xff\x80\0\0\0\0\0\0\0"), SNI_PARSE_BAD, false, 0, 0 },
    { "long, of 2^64 - 1", WIRE("\xff\xff\xff\xff\xff\xff\xff\xff\xff"), SNI_PARSE_BAD,
      false, 0, 0 },
};

static void
check_row(void **state)
{
    const struct head_row *row = *state;
    sni_frame_head head = { true, true, 77 };
    size_t used = 88;

    assert_int_equal(
        sni_frame_v1_head_read(sni_bytes(row->wire, row->wire_size), &head, &used),
        row->parse);
    if (row->parse != SNI_PARSE_DONE) {
        assert_true(head.more && head.command && head.body_size == 77 && used == 88);
        return;
    }
    assert_int_equal(head.more, row->more);
    assert_false(head.command);
    assert_int_equal(head.body_size, row->body_size);
    assert_int_equal(used, row->used);
    /* Every shorter prefix asks for more. */
    for (size_t size = 0; size < row->used; size++)
        assert_int_equal(sni_frame_v1_head_read(sni_bytes(row->wire, size), &head, &used),
                         SNI_PARSE_MORE);
}

static void
what_is_written_reads_back_in_the_shortest_form(void **state)
{
    static const uint64_t sizes[] = {
        0, 1, 252, 253, 254, 255, 256, 65536, UINT64_C(1) << 40, SNI_FRAME_BODY_MAX - 1
    };

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int more = 0; more < 2; more++) {
            uint8_t out[SNI_FRAME_V1_HEAD_MAX];
            size_t size = sni_frame_v1_head_write(out, more, sizes[i]);
            sni_frame_head head;
            size_t used;

            assert_int_equal(size, sizes[i] < 254 ? 2 : 10);
            assert_int_equal(sni_frame_v1_head_read(sni_bytes(out, size), &head, &used),
                             SNI_PARSE_DONE);
            assert_int_equal(used, size);
            assert_int_equal(head.body_size, sizes[i]);
            assert_int_equal(head.more, more);
        }
    }
}

int
main(void)
{
    static const struct CMUnitTest fixed[] = {
        cmocka_unit_test(what_is_written_reads_back_in_the_shortest_form),
    };
    static test_suite suite;

    TEST_SUITE_ROWS(&suite, "", rows, check_row);
    TEST_SUITE_ADD(&suite, fixed);
    return test_suite_run(&suite);
}
