/* SPDX-License-Identifier: MIT */
/* Writers and readers against the octets of the msgpack specification, and against
 * msgpack-c in both directions. */
#include "sennit_test.h"

#include <math.h>

#include <msgpack.h>

#include "rng.h"
#include "sennit/pack.h"
#include "suite.h"

#define WIRE(literal)                                                                    \
    {                                                                                    \
        (const uint8_t *)("" literal), sizeof(literal) - 1                               \
    }

typedef enum value_type {
    NIL,
    BOOL,
    UINT,
    INT,
    F32,
    F64,
    STR,
    BIN,
    ARRAY,
    MAP,
    EXT
} value_type;

typedef struct pack_row {
    const char *name;
    value_type type;
    uint64_t number;   /* integers (two's complement), sizes and counts */
    sennit_bytes wire; /* all of it, or the head when a body follows */
} pack_row;

static const pack_row rows[] = {
    { "nil", NIL, 0, WIRE("\xc0") },
    { "false", BOOL, 0, WIRE("\xc2") },
    { "true", BOOL, 1, WIRE("\xc3") },
    { "0 is a positive fixint", UINT, 0, WIRE("\x00") },
    { "127 is a positive fixint", UINT, 127, WIRE("\x7f") },
    { "128 is a uint 8", UINT, 128, WIRE("\xcc\x80") },
    { "255 is a uint 8", UINT, 255, WIRE("\xcc\xff") },
    { "256 is a uint 16", UINT, 256, WIRE("\xcd\x01\x00") },
    { "65535 is a uint 16", UINT, 65535, WIRE("\xcd\xff\xff") },
    { "65536 is a uint 32", UINT, 65536, WIRE("\xce\x00\x01\x00\x00") },
    { "2^32-1 is a uint 32", UINT, UINT32_MAX, WIRE("\xce\xff\xff\xff\xff") },
    { "2^32 is a uint 64", UINT, UINT64_C(1) << 32,
      WIRE("\xcf\x00\x00\x00\x01\x00\x00\x00\x00") },
    { "2^64-1 is a uint 64", UINT, UINT64_MAX,
      WIRE("\xcf\xff\xff\xff\xff\xff\xff\xff\xff") },
    { "a signed 5 is a positive fixint", INT, 5, WIRE("\x05") },
    { "-1 is a negative fixint", INT, (uint64_t)-1, WIRE("\xff") },
    { "-32 is a negative fixint", INT, (uint64_t)-32, WIRE("\xe0") },
    { "-33 is an int 8", INT, (uint64_t)-33, WIRE("\xd0\xdf") },
    { "-128 is an int 8", INT, (uint64_t)-128, WIRE("\xd0\x80") },
    { "-129 is an int 16", INT, (uint64_t)-129, WIRE("\xd1\xff\x7f") },
    { "-32768 is an int 16", INT, (uint64_t)-32768, WIRE("\xd1\x80\x00") },
    { "-32769 is an int 32", INT, (uint64_t)-32769, WIRE("\xd2\xff\xff\x7f\xff") },
    { "-2^31 is an int 32", INT, (uint64_t)INT32_MIN, WIRE("\xd2\x80\x00\x00\x00") },
    { "-2^31-1 is an int 64", INT, (uint64_t)INT32_MIN - 1,
      WIRE("\xd3\xff\xff\xff\xff\x7f\xff\xff\xff") },
    { "-2^63 is an int 64", INT, (uint64_t)INT64_MIN,
      WIRE("\xd3\x80\x00\x00\x00\x00\x00\x00\x00") },
    { "2^63-1 is a uint 64", INT, INT64_MAX,
      WIRE("\xcf\x7f\xff\xff\xff\xff\xff\xff\xff") },
    { "the empty text is a fixstr", STR, 0, WIRE("\xa0") },
    { "31 letters are a fixstr", STR, 31, WIRE("\xbf") },
    { "32 letters are a str 8", STR, 32, WIRE("\xd9\x20") },
    { "255 letters are a str 8", STR, 255, WIRE("\xd9\xff") },
    { "256 letters are a str 16", STR, 256, WIRE("\xda\x01\x00") },
    { "65535 letters are a str 16", STR, 65535, WIRE("\xda\xff\xff") },
    { "65536 letters are a str 32", STR, 65536, WIRE("\xdb\x00\x01\x00\x00") },
    { "no bytes are a bin 8", BIN, 0, WIRE("\xc4\x00") },
    { "255 bytes are a bin 8", BIN, 255, WIRE("\xc4\xff") },
    { "256 bytes are a bin 16", BIN, 256, WIRE("\xc5\x01\x00") },
    { "65536 bytes are a bin 32", BIN, 65536, WIRE("\xc6\x00\x01\x00\x00") },
    { "no values are a fixarray", ARRAY, 0, WIRE("\x90") },
    { "15 values are a fixarray", ARRAY, 15, WIRE("\x9f") },
    { "16 values are an array 16", ARRAY, 16, WIRE("\xdc\x00\x10") },
    { "65536 values are an array 32", ARRAY, 65536, WIRE("\xdd\x00\x01\x00\x00") },
    { "no pairs are a fixmap", MAP, 0, WIRE("\x80") },
    { "15 pairs are a fixmap", MAP, 15, WIRE("\x8f") },
    { "16 pairs are a map 16", MAP, 16, WIRE("\xde\x00\x10") },
    { "65536 pairs are a map 32", MAP, 65536, WIRE("\xdf\x00\x01\x00\x00") },
    { "an ext of 1 byte", EXT, 1, WIRE("\xd4\xfe") },
    { "an ext of 2 bytes", EXT, 2, WIRE("\xd5\xfe") },
    { "an ext of 4 bytes", EXT, 4, WIRE("\xd6\xfe") },
    { "an ext of 8 bytes", EXT, 8, WIRE("\xd7\xfe") },
    { "an ext of 16 bytes", EXT, 16, WIRE("\xd8\xfe") },
    { "an ext of 0 bytes", EXT, 0, WIRE("\xc7\x00\xfe") },
    { "an ext of 255 bytes", EXT, 255, WIRE("\xc7\xff\xfe") },
    { "an ext of 256 bytes", EXT, 256, WIRE("\xc8\x01\x00\xfe") },
    { "an ext of 65536 bytes", EXT, 65536, WIRE("\xc9\x00\x01\x00\x00\xfe") },
};

static char letters[65536];

static void
write_row(sennit_buf *buf, const pack_row *row)
{
    sennit_str text = { letters, row->number };
    sennit_bytes bytes = { (const uint8_t *)letters, row->number };

    switch (row->type) {
    case NIL:
        sennit_pack_nil(buf);
        break;
    case BOOL:
        sennit_pack_bool(buf, row->number != 0);
        break;
    case UINT:
        sennit_pack_uint(buf, row->number);
        break;
    case INT:
        sennit_pack_int(buf, (int64_t)row->number);
        break;
    case STR:
        sennit_pack_str(buf, text);
        break;
    case BIN:
        sennit_pack_bin(buf, bytes);
        break;
    case ARRAY:
        sennit_pack_array(buf, row->number);
        for (uint64_t i = 0; i < row->number; i++)
            sennit_pack_nil(buf);
        break;
    case MAP:
        sennit_pack_map(buf, row->number);
        for (uint64_t i = 0; i < row->number * 2; i++)
            sennit_pack_nil(buf);
        break;
    case EXT:
        sennit_pack_ext(buf, -2, bytes);
        break;
    case F32:
    case F64:
        break;
    }
}

/* What msgpack-c reads from the row's octets is the row. */
static void
check_oracle_reads(const pack_row *row, sennit_bytes wire)
{
    msgpack_unpacked out;
    size_t at = 0;

    msgpack_unpacked_init(&out);
    assert_int_equal(msgpack_unpack_next(&out, (const char *)wire.data, wire.size, &at),
                     MSGPACK_UNPACK_SUCCESS);
    assert_int_equal(at, wire.size);
    switch (row->type) {
    case NIL:
        assert_int_equal(out.data.type, MSGPACK_OBJECT_NIL);
        break;
    case BOOL:
        assert_int_equal(out.data.via.boolean, row->number != 0);
        break;
    case UINT:
    case INT:
        assert_true(out.data.via.u64 == row->number);
        break;
    case STR:
        assert_int_equal(out.data.via.str.size, row->number);
        break;
    case BIN:
        assert_int_equal(out.data.via.bin.size, row->number);
        break;
    case ARRAY:
        assert_int_equal(out.data.via.array.size, row->number);
        break;
    case MAP:
        assert_int_equal(out.data.via.map.size, row->number);
        break;
    case EXT:
        assert_int_equal(out.data.via.ext.size, row->number);
        assert_int_equal(out.data.via.ext.type, -2);
        break;
    case F32:
    case F64:
        break;
    }
    msgpack_unpacked_destroy(&out);
}

static void
read_row(sennit_unpack *in, const pack_row *row)
{
    int8_t ext_type = 0;

    switch (row->type) {
    case NIL:
        assert_true(sennit_unpack_nil(in));
        break;
    case BOOL:
        assert_int_equal(sennit_unpack_bool(in), row->number != 0);
        break;
    case UINT:
        assert_true(sennit_unpack_uint(in, UINT64_MAX) == row->number);
        break;
    case INT:
        assert_true(sennit_unpack_int(in, INT64_MIN, INT64_MAX) == (int64_t)row->number);
        break;
    case STR:
        assert_int_equal(sennit_unpack_str(in).size, row->number);
        break;
    case BIN:
        assert_int_equal(sennit_unpack_bin(in).size, row->number);
        break;
    case ARRAY:
        assert_int_equal(sennit_unpack_array(in), row->number);
        for (uint64_t i = 0; i < row->number; i++)
            sennit_unpack_skip(in);
        break;
    case MAP:
        assert_int_equal(sennit_unpack_map(in), row->number);
        for (uint64_t i = 0; i < row->number * 2; i++)
            sennit_unpack_skip(in);
        break;
    case EXT:
        assert_int_equal(sennit_unpack_ext(in, &ext_type).size, row->number);
        assert_int_equal(ext_type, -2);
        break;
    case F32:
    case F64:
        break;
    }
}

static void
check_row(void **state)
{
    const pack_row *row = *state;
    sennit_buf buf;
    sennit_unpack in;
    sennit_bytes wire;

    sennit_buf_init(&buf, NULL);
    write_row(&buf, row);
    assert_int_equal(buf.err, SENNIT_OK);
    wire = sennit_buf_bytes(&buf);
    assert_true(wire.size >= row->wire.size);
    assert_memory_equal(wire.data, row->wire.data, row->wire.size);
    check_oracle_reads(row, wire);

    sennit_unpack_init(&in, wire);
    read_row(&in, row);
    assert_int_equal(in.err, SENNIT_OK);
    assert_true(sennit_unpack_at_end(&in));

    sennit_unpack_init(&in, wire);
    assert_int_equal(sennit_unpack_raw(&in).size, wire.size);
    assert_int_equal(sennit_unpack_check(wire, 1, 0, NULL, NULL), SENNIT_OK);

    /* Every shorter prefix is refused, by the check and by stepping over it. */
    for (size_t cut = 0; cut < wire.size && cut < 300; cut++) {
        sennit_bytes part = { wire.data, cut };

        assert_int_equal(sennit_unpack_check(part, 1, 0, NULL, NULL), SENNIT_EPROTO);
        sennit_unpack_init(&in, part);
        sennit_unpack_skip(&in);
        assert_int_equal(in.err, SENNIT_EPROTO);
    }
    sennit_buf_fini(&buf);
}

static void
sizes_told_beforehand_are_the_sizes_written(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const pack_row *row = &rows[i];
        size_t told = 0;
        sennit_buf buf;

        sennit_buf_init(&buf, NULL);
        write_row(&buf, row);
        switch (row->type) {
        case UINT:
            told = sennit_pack_uint_size(row->number);
            break;
        case INT:
            told = sennit_pack_int_size((int64_t)row->number);
            break;
        case STR:
            told = sennit_pack_str_size(row->number);
            break;
        case BIN:
            told = sennit_pack_bin_size(row->number);
            break;
        case ARRAY:
            told = sennit_pack_array_size(row->number) + row->number;
            break;
        case MAP:
            told = sennit_pack_map_size(row->number) + row->number * 2;
            break;
        case NIL:
        case BOOL:
        case EXT:
        case F32:
        case F64:
            told = buf.size;
            break;
        }
        assert_int_equal(told, buf.size);
        sennit_buf_fini(&buf);
    }
}

static void
floats_keep_every_bit(void **state)
{
    static const uint64_t patterns[] = {
        0,
        UINT64_C(0x8000000000000000), /* -0.0 */
        UINT64_C(0x7ff0000000000000), /* inf */
        UINT64_C(0x7ff8000000000001), /* NaN */
        UINT64_C(0xfff7ffffffffffff),
        UINT64_C(0x3ff0000000000001),
        UINT64_C(0x0000000000000001),
    };

    (void)state;
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        uint8_t memory[16];
        sennit_buf buf;
        sennit_unpack in;
        uint64_t back;
        double value;

        memcpy(&value, &patterns[i], sizeof value);
        sennit_buf_init_fixed(&buf, memory, sizeof memory);
        sennit_pack_f64(&buf, value);
        assert_int_equal(buf.size, 9);
        sennit_unpack_init(&in, sennit_buf_bytes(&buf));
        value = sennit_unpack_f64(&in);
        memcpy(&back, &value, sizeof back);
        assert_true(back == patterns[i]);
    }
    for (uint32_t bits = 0; bits < 0xff000000u; bits += 0x00fedcbau) {
        uint8_t memory[8];
        sennit_buf buf;
        sennit_unpack in;
        uint32_t back;
        float value;

        memcpy(&value, &bits, sizeof value);
        sennit_buf_init_fixed(&buf, memory, sizeof memory);
        sennit_pack_f32(&buf, value);
        sennit_unpack_init(&in, sennit_buf_bytes(&buf));
        value = sennit_unpack_f32(&in);
        memcpy(&back, &value, sizeof back);
        assert_true(back == bits);
    }
}

static void
a_float_is_read_from_any_number_that_fits(void **state)
{
    static const sennit_bytes three[] = { WIRE("\x03"), WIRE("\xca\x40\x40\x00\x00"),
                                          WIRE("\xcb\x40\x08\x00\x00\x00\x00\x00\x00") };
    static const sennit_bytes huge = WIRE("\xcb\x7f\xe0\x00\x00\x00\x00\x00\x00");
    static const sennit_bytes minus = WIRE("\xd0\x80");
    sennit_unpack in;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        sennit_unpack_init(&in, three[i]);
        assert_true(sennit_unpack_f32(&in) == 3.0f);
        sennit_unpack_init(&in, three[i]);
        assert_true(sennit_unpack_f64(&in) == 3.0);
        assert_int_equal(in.err, SENNIT_OK);
    }
    sennit_unpack_init(&in, minus);
    assert_true(sennit_unpack_f64(&in) == -128.0);
    sennit_unpack_init(&in, huge);
    assert_true(sennit_unpack_f32(&in) == 0);
    assert_int_equal(in.err, SENNIT_EPROTO);
    assert_string_equal(in.reason, "float out of range");
    assert_int_equal(in.offset, 0);
}

static void
integers_are_taken_in_any_width_and_held_to_their_range(void **state)
{
    static const sennit_bytes seven[] = {
        WIRE("\x07"),
        WIRE("\xcc\x07"),
        WIRE("\xcd\x00\x07"),
        WIRE("\xce\x00\x00\x00\x07"),
        WIRE("\xcf\x00\x00\x00\x00\x00\x00\x00\x07"),
        WIRE("\xd0\x07"),
        WIRE("\xd1\x00\x07"),
        WIRE("\xd2\x00\x00\x00\x07"),
        WIRE("\xd3\x00\x00\x00\x00\x00\x00\x00\x07"),
    };
    static const sennit_bytes minus_one = WIRE("\xff");
    static const sennit_bytes large = WIRE("\xcf\x80\x00\x00\x00\x00\x00\x00\x00");
    sennit_unpack in;

    (void)state;
    for (size_t i = 0; i < sizeof seven / sizeof seven[0]; i++) {
        sennit_unpack_init(&in, seven[i]);
        assert_int_equal(sennit_unpack_uint(&in, 7), 7);
        sennit_unpack_init(&in, seven[i]);
        assert_int_equal(sennit_unpack_int(&in, 7, 7), 7);
        assert_int_equal(in.err, SENNIT_OK);
        sennit_unpack_init(&in, seven[i]);
        assert_int_equal(sennit_unpack_uint(&in, 6), 0);
        assert_int_equal(in.err, SENNIT_EPROTO);
        sennit_unpack_init(&in, seven[i]);
        assert_int_equal(sennit_unpack_int(&in, 8, 9), 0);
        assert_int_equal(in.err, SENNIT_EPROTO);
    }
    sennit_unpack_init(&in, minus_one);
    assert_int_equal(sennit_unpack_uint(&in, UINT64_MAX), 0);
    assert_int_equal(in.err, SENNIT_EPROTO);
    sennit_unpack_init(&in, large);
    assert_int_equal(sennit_unpack_int(&in, INT64_MIN, INT64_MAX), 0);
    assert_int_equal(in.err, SENNIT_EPROTO);
}

static void
the_first_failure_of_a_cursor_sticks_with_its_place(void **state)
{
    static const sennit_bytes wire = WIRE("\x01\xa1x\x02");
    sennit_unpack in;

    (void)state;
    sennit_unpack_init(&in, wire);
    assert_int_equal(sennit_unpack_uint(&in, 9), 1);
    assert_int_equal(sennit_unpack_uint(&in, 9), 0); /* a str stands there */
    assert_int_equal(sennit_unpack_str(&in).size, 0);
    assert_int_equal(sennit_unpack_peek(&in), SENNIT_PACK_END);
    assert_true(sennit_unpack_at_end(&in));
    sennit_unpack_fail(&in, SENNIT_EMSGSIZE, "later");
    assert_int_equal(in.err, SENNIT_EPROTO);
    assert_string_equal(in.reason, "expected an integer");
    assert_int_equal(in.offset, 1);
}

static void
a_fixed_output_ends_at_its_last_whole_value(void **state)
{
    uint8_t memory[4];
    sennit_buf buf;

    (void)state;
    sennit_buf_init_fixed(&buf, memory, sizeof memory);
    sennit_pack_uint(&buf, 300); /* 3 bytes */
    sennit_pack_str(&buf, sennit_str_of("ab"));
    assert_int_equal(buf.err, SENNIT_EMSGSIZE);
    assert_int_equal(buf.size, 3);
    sennit_pack_nil(&buf); /* would fit, but the failure sticks */
    assert_int_equal(buf.size, 3);
    sennit_buf_clear(&buf);
    sennit_pack_uint(&buf, 70000 >> 4);
    sennit_pack_nil(&buf); /* exactly full */
    assert_int_equal(buf.err, SENNIT_OK);
    assert_int_equal(buf.size, 4);
}

/* One random value of at most `depth` levels, written by both libraries. */
static void
write_random(test_rng *rng, sennit_buf *buf, msgpack_packer *oracle, unsigned depth)
{
    static const unsigned shifts[] = { 0, 1, 7, 8, 15, 16, 31, 32, 33, 48, 56, 59, 63 };
    uint64_t number = test_rng_next(rng) >>
                      shifts[test_rng_below(rng, sizeof shifts / sizeof shifts[0])];
    size_t size = (size_t)test_rng_below(rng, 40);
    size_t count = (size_t)test_rng_below(rng, 20);
    double real;

    switch (test_rng_below(rng, depth > 0 ? 9 : 7)) {
    case 0:
        sennit_pack_nil(buf);
        msgpack_pack_nil(oracle);
        break;
    case 1:
        sennit_pack_bool(buf, number & 1);
        number & 1 ? msgpack_pack_true(oracle) : msgpack_pack_false(oracle);
        break;
    case 2:
        sennit_pack_uint(buf, number);
        msgpack_pack_uint64(oracle, number);
        break;
    case 3:
        sennit_pack_int(buf, -(int64_t)(number >> 1));
        msgpack_pack_int64(oracle, -(int64_t)(number >> 1));
        break;
    case 4:
        memcpy(&real, &number, sizeof real);
        sennit_pack_f64(buf, real);
        msgpack_pack_double(oracle, real);
        break;
    case 5:
        sennit_pack_str(buf, (sennit_str){ letters, size });
        msgpack_pack_str(oracle, size);
        msgpack_pack_str_body(oracle, letters, size);
        break;
    case 6:
        sennit_pack_bin(buf, (sennit_bytes){ (const uint8_t *)letters, size * 9 });
        msgpack_pack_bin(oracle, size * 9);
        msgpack_pack_bin_body(oracle, letters, size * 9);
        break;
    case 7:
        sennit_pack_array(buf, count);
        msgpack_pack_array(oracle, count);
        for (size_t i = 0; i < count; i++)
            write_random(rng, buf, oracle, depth - 1);
        break;
    default:
        sennit_pack_map(buf, count);
        msgpack_pack_map(oracle, count);
        for (size_t i = 0; i < count * 2; i++)
            write_random(rng, buf, oracle, depth - 1);
        break;
    }
}

static void
random_values_are_written_octet_for_octet_as_msgpack_c_does(void **state)
{
    test_rng rng;

    (void)state;
    rng.state = 20261130;
    for (int round = 0; round < 400; round++) {
        msgpack_sbuffer sbuffer;
        msgpack_packer oracle;
        sennit_buf buf;
        sennit_unpack in;

        msgpack_sbuffer_init(&sbuffer);
        msgpack_packer_init(&oracle, &sbuffer, msgpack_sbuffer_write);
        sennit_buf_init(&buf, NULL);
        write_random(&rng, &buf, &oracle, 3);
        assert_int_equal(buf.size, sbuffer.size);
        assert_memory_equal(buf.data, sbuffer.data, buf.size);
        assert_int_equal(
            sennit_unpack_check(sennit_buf_bytes(&buf), 4, SENNIT_CHECK_UTF8, NULL, NULL),
            SENNIT_OK);
        sennit_unpack_init(&in, sennit_buf_bytes(&buf));
        sennit_unpack_skip(&in);
        assert_int_equal(in.err, SENNIT_OK);
        assert_true(sennit_unpack_at_end(&in));
        sennit_buf_fini(&buf);
        msgpack_sbuffer_destroy(&sbuffer);
    }
}

int
main(void)
{
    static const struct CMUnitTest fixed[] = {
        cmocka_unit_test(sizes_told_beforehand_are_the_sizes_written),
        cmocka_unit_test(floats_keep_every_bit),
        cmocka_unit_test(a_float_is_read_from_any_number_that_fits),
        cmocka_unit_test(integers_are_taken_in_any_width_and_held_to_their_range),
        cmocka_unit_test(the_first_failure_of_a_cursor_sticks_with_its_place),
        cmocka_unit_test(a_fixed_output_ends_at_its_last_whole_value),
        cmocka_unit_test(random_values_are_written_octet_for_octet_as_msgpack_c_does),
    };
    static test_suite suite;

    memset(letters, 'x', sizeof letters);
    TEST_SUITE_ROWS(&suite, "", rows, check_row);
    TEST_SUITE_ADD(&suite, fixed);
    return test_suite_run(&suite);
}
