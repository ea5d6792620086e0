/* SPDX-License-Identifier: MIT */
#include "sennit_test.h"

#include "suite.h"
#include "wire/frame.h"

#define WIRE(literal) literal, sizeof(literal) - 1

static const struct head_row {
    const char *name;
    const char *wire;
    size_t wire_size;
    sni_parse parse;
    sni_frame_head head;
    size_t used;
} rows[] = {
    { "nothing", WIRE(""), SNI_PARSE_MORE, { 0 }, 0 },
    { "flags only", WIRE("\x00"), SNI_PARSE_MORE, { 0 }, 0 },
    { "short, empty, last", WIRE("\x00\x00"), SNI_PARSE_DONE, { false, false, 0 }, 2 },
    { "short, last", WIRE("\x00\x05"), SNI_PARSE_DONE, { false, false, 5 }, 2 },
    { "short, more", WIRE("\x01\xff"), SNI_PARSE_DONE, { true, false, 255 }, 2 },
    { "short command", WIRE("\x04\x29"), SNI_PARSE_DONE, { false, true, 41 }, 2 },
    { "long, cut short",
      WIRE("\x02\x00\x00\x00\x00\x00\x00\x01"),
      SNI_PARSE_MORE,
      { 0 },
      0 },
    { "long, smallest sensible",
      WIRE("\x02\x00\x00\x00\x00\x00\x00\x01\x00"),
      SNI_PARSE_DONE,
      { false, false, 256 },
      9 },
    { "long, although short would do",
      WIRE("\x02\x00\x00\x00\x00\x00\x00\x00\x02"),
      SNI_PARSE_DONE,
      { false, false, 2 },
      9 },
    { "long, more",
      WIRE("\x03\x00\x00\x00\x00\x00\x00\x01\x2c"),
      SNI_PARSE_DONE,
      { true, false, 300 },
      9 },
    { "long command",
      WIRE("\x06\x00\x00\x00\x00\x00\x00\x01\x28"),
      SNI_PARSE_DONE,
      { false, true, 296 },
      9 },
    { "the largest size",
      WIRE("\x02\x7f\xff\xff\xff\xff\xff\xff\xff"),
      SNI_PARSE_DONE,
      { false, false, UINT64_MAX / 2 },
      9 },
    { "size 2^63",
      WIRE("\x02\x80\x00\x00\x00\x00\x00\x00\x00"),
      SNI_PARSE_BAD,
      { 0 },
      0 },
    { "size 2^64-1",
      WIRE("\x02\xff\xff\xff\xff\xff\xff\xff\xff"),
      SNI_PARSE_BAD,
      { 0 },
      0 },
    { "command with more", WIRE("\x05"), SNI_PARSE_BAD, { 0 }, 0 },
    { "long command with more", WIRE("\x07"), SNI_PARSE_BAD, { 0 }, 0 },
    { "reserved bit 3", WIRE("\x08"), SNI_PARSE_BAD, { 0 }, 0 },
    { "reserved bit 7", WIRE("\x80"), SNI_PARSE_BAD, { 0 }, 0 },
    { "all bits", WIRE("\xff"), SNI_PARSE_BAD, { 0 }, 0 },
};

static void
check_row(void **state)
{
    const struct head_row *row = *state;
    sni_frame_head head = { true, true, 77 };
    size_t used = 88;

    assert_int_equal(
        sni_frame_head_read(sni_bytes(row->wire, row->wire_size), &head, &used),
        row->parse);
    if (row->parse != SNI_PARSE_DONE) {
        assert_true(head.more && head.command && head.body_size == 77 && used == 88);
        return;
    }
    assert_int_equal(head.more, row->head.more);
    assert_int_equal(head.command, row->head.command);
    assert_int_equal(head.body_size, row->head.body_size);
    assert_int_equal(used, row->used);
    /* Every shorter prefix asks for more. */
    for (size_t size = 0; size < row->used; size++)
        assert_int_equal(sni_frame_head_read(sni_bytes(row->wire, size), &head, &used),
                         SNI_PARSE_MORE);
}

static void
what_is_written_reads_back_in_the_shortest_form(void **state)
{
    static const uint64_t sizes[] = {
        0, 1, 254, 255, 256, 65536, UINT64_C(1) << 40, SNI_FRAME_BODY_MAX
    };

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int kind = 0; kind < 3; kind++) {
            uint8_t out[SNI_FRAME_HEAD_MAX];
            size_t size = sni_frame_head_write(out, kind == 1, kind == 2, sizes[i]);
            sni_frame_head head = { 0 };
            size_t used = 0;

            assert_int_equal(size, sizes[i] < 256 ? 2 : 9);
            assert_int_equal(sni_frame_head_read(sni_bytes(out, size), &head, &used),
                             SNI_PARSE_DONE);
            assert_int_equal(used, size);
            assert_int_equal(head.body_size, sizes[i]);
            assert_int_equal(head.more, kind == 1);
            assert_int_equal(head.command, kind == 2);
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
