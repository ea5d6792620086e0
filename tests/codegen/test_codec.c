/* SPDX-License-Identifier: MIT */
/* Generated structs against bytes written by an independent msgpack (Python's): each
 * row must encode to exactly these bytes and decode to exactly this value. */
#include "sennit_test.h"

#include "kinds.snt.h"
#include "rng.h"
#include "suite.h"
#include "wide.snt.h"

#define WIRE(text)                                                                       \
    {                                                                                    \
        (const uint8_t *)(text), sizeof(text) - 1                                        \
    }
#define STR(text)   ((sennit_str){ (text), sizeof(text) - 1 })
#define BYTES(text) ((sennit_bytes){ (const uint8_t *)(text), sizeof(text) - 1 })

/* Storage for the largest struct of these tests. */
typedef union any_value {
    k_plain plain;
    k_defaults defaults;
    k_optionals optionals;
    k_lists lists;
    k_node node;
    w_wide wide;
    k_empty empty;
    max_align_t align;
} any_value;

typedef struct vector_row {
    const char *name;
    const sennit_codec *codec;
    sennit_bytes wire;
    void (*set)(any_value *value); /* makes a value with its defaults this one */
} vector_row;

#define SETTER(name, ...)                                                                \
    static void name(any_value *value)                                                   \
    {                                                                                    \
        __VA_ARGS__                                                                      \
    }

SETTER(set_nothing, (void)value;)
SETTER(set_bool, value->plain.f_bool = true;)
SETTER(set_u8, value->plain.f_u8 = 255;)
SETTER(set_i8, value->plain.f_i8 = INT8_MIN;)
SETTER(set_u16, value->plain.f_u16 = 256;)
SETTER(set_i16, value->plain.f_i16 = -129;)
SETTER(set_u32, value->plain.f_u32 = 65536;)
SETTER(set_i32, value->plain.f_i32 = INT32_MIN;)
SETTER(set_u64, value->plain.f_u64 = UINT64_MAX;)
SETTER(set_i64, value->plain.f_i64 = INT64_MIN;)
SETTER(set_f32, value->plain.f_f32 = 0.1f;)
SETTER(set_f64, value->plain.f_f64 = 0.1;)
SETTER(set_negative_zero, value->plain.f_f64 = -0.0;)
SETTER(set_str, value->plain.f_str = STR("h\xc3\xa9");)
SETTER(set_bytes, value->plain.f_bytes = BYTES("\x00\xff");)
SETTER(set_time_32, value->plain.f_time = INT64_C(1000000000);)
SETTER(set_time_64, value->plain.f_time = INT64_C(1000000005);)
SETTER(set_time_34, value->plain.f_time = INT64_C(4294967296000000000);)
SETTER(set_time_96, value->plain.f_time = -1;)
SETTER(set_time_first, value->plain.f_time = INT64_MIN;)
SETTER(set_time_last, value->plain.f_time = INT64_MAX;)
SETTER(set_duration, value->plain.f_duration = -1;)
SETTER(set_side, value->plain.f_side = K_SIDE_SELL;)
SETTER(set_side_unknown, value->plain.f_side = 77;)
SETTER(set_rights, value->plain.f_rights = K_RIGHTS_READ | K_RIGHTS_WRITE;)
SETTER(set_inner, value->plain.f_inner.a = -5; value->plain.f_inner.b = STR("x");)
SETTER(set_far, value->plain.f_far = 7;)
SETTER(set_several, value->plain.f_u8 = 1; value->plain.f_far = 2;
       value->plain.f_bool = true;)
SETTER(set_unknown, value->plain.f_u8 = 1;
       value->plain.unknown_ = BYTES("\xcc\xc9\xa3new\xcc\xca\x92\x01\x81\x03\x04");)

SETTER(set_not_defaults, k_defaults *v = &value->defaults; v->f_bool = false; v->f_u8 = 0;
       v->f_str = (sennit_str){ NULL, 0 }; v->f_f64 = 0.0; v->f_side = 0;
       v->f_duration = 0;)

SETTER(set_zero_optionals, k_optionals *v = &value->optionals; v->has_f_bool = true;
       v->has_f_u8 = true; v->has_f_str = true; v->has_f_inner = true;
       v->has_f_list = true;)

SETTER(set_lists, static const bool bools[] = { true, false };
       static const uint8_t u8s[] = { 0, 255 }; static const int16_t i16s[] = { -1, 200 };
       static const uint64_t u64s[] = { UINT64_MAX };
       static const double f64s[] = { 0.5 };
       static const sennit_str strs[] = { { "a", 1 }, { NULL, 0 } };
       static const sennit_bytes blobs[] = { { NULL, 0 } };
       static const int64_t times[] = { 1 }; static const k_side sides[] = { 1, 9 };
       static const k_inner inners[] = { { 1, { NULL, 0 }, { NULL, 0 } }, K_INNER_INIT };
       static const k_empty empties[] = { K_EMPTY_INIT, K_EMPTY_INIT };
       k_lists *v = &value->lists; v->f_bool = bools; v->n_f_bool = 2; v->f_u8 = u8s;
       v->n_f_u8 = 2; v->f_i16 = i16s; v->n_f_i16 = 2; v->f_u64 = u64s; v->n_f_u64 = 1;
       v->f_f64 = f64s; v->n_f_f64 = 1; v->f_str = strs; v->n_f_str = 2;
       v->f_bytes = blobs; v->n_f_bytes = 1; v->f_time = times; v->n_f_time = 1;
       v->f_side = sides; v->n_f_side = 2; v->f_inner = inners; v->n_f_inner = 2;
       v->f_empty = empties; v->n_f_empty = 2;)

SETTER(set_tree, static const k_node leaves[] = { { { "l", 1 }, NULL, 0, { NULL, 0 } },
                                                  { { "r", 1 }, NULL, 0, { NULL, 0 } } };
       value->node.name = STR("t"); value->node.children = leaves;
       value->node.n_children = 2;)

SETTER(set_wide, static const int64_t numbers[] = { -1 }; value->wide.f1 = STR("");
       value->wide.has_f1 = true; value->wide.f298 = numbers; value->wide.n_f298 = 1;
       value->wide.f300 = 9;)

static const vector_row rows[] = {
    { "no field", &k_plain_codec, WIRE("\x80"), set_nothing },
    { "a struct without fields", &k_empty_codec, WIRE("\x80"), set_nothing },
    { "bool", &k_plain_codec, WIRE("\x81\x01\xc3"), set_bool },
    { "u8", &k_plain_codec, WIRE("\x81\x02\xcc\xff"), set_u8 },
    { "i8", &k_plain_codec, WIRE("\x81\x03\xd0\x80"), set_i8 },
    { "u16", &k_plain_codec, WIRE("\x81\x04\xcd\x01\x00"), set_u16 },
    { "i16", &k_plain_codec, WIRE("\x81\x05\xd1\xff\x7f"), set_i16 },
    { "u32", &k_plain_codec, WIRE("\x81\x06\xce\x00\x01\x00\x00"), set_u32 },
    { "i32", &k_plain_codec, WIRE("\x81\x07\xd2\x80\x00\x00\x00"), set_i32 },
    { "u64", &k_plain_codec, WIRE("\x81\x08\xcf\xff\xff\xff\xff\xff\xff\xff\xff"),
      set_u64 },
    { "i64", &k_plain_codec, WIRE("\x81\x09\xd3\x80\x00\x00\x00\x00\x00\x00\x00"),
      set_i64 },
    { "f32", &k_plain_codec, WIRE("\x81\x0a\xca\x3d\xcc\xcc\xcd"), set_f32 },
    { "f64", &k_plain_codec, WIRE("\x81\x0b\xcb\x3f\xb9\x99\x99\x99\x99\x99\x9a"),
      set_f64 },
    { "a negative zero is not the default", &k_plain_codec,
      WIRE("\x81\x0b\xcb\x80\x00\x00\x00\x00\x00\x00\x00"), set_negative_zero },
    { "str", &k_plain_codec, WIRE("\x81\x0c\xa3h\xc3\xa9"), set_str },
    { "bytes", &k_plain_codec, WIRE("\x81\x0d\xc4\x02\x00\xff"), set_bytes },
    { "time, whole seconds", &k_plain_codec, WIRE("\x81\x0e\xd6\xff\x00\x00\x00\x01"),
      set_time_32 },
    { "time, nanoseconds", &k_plain_codec,
      WIRE("\x81\x0e\xd7\xff\x00\x00\x00\x14\x00\x00\x00\x01"), set_time_64 },
    { "time, after 2106", &k_plain_codec,
      WIRE("\x81\x0e\xd7\xff\x00\x00\x00\x01\x00\x00\x00\x00"), set_time_34 },
    { "time, before 1970", &k_plain_codec,
      WIRE("\x81\x0e\xc7\x0c\xff\x3b\x9a\xc9\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
      set_time_96 },
    { "the first time", &k_plain_codec,
      WIRE("\x81\x0e\xc7\x0c\xff\x08\xa7\xf2\x00\xff\xff\xff\xfd\xda\x3e\x82\xfb"),
      set_time_first },
    { "the last time", &k_plain_codec,
      WIRE("\x81\x0e\xd7\xff\xcb\xcb\x5f\xfe\x25\xc1\x7d\x04"), set_time_last },
    { "duration", &k_plain_codec, WIRE("\x81\x0f\xff"), set_duration },
    { "enum", &k_plain_codec, WIRE("\x81\x10\x02"), set_side },
    { "a value the enum does not have is kept", &k_plain_codec, WIRE("\x81\x10\x4d"),
      set_side_unknown },
    { "flags", &k_plain_codec, WIRE("\x81\x11\x03"), set_rights },
    { "a struct inside", &k_plain_codec, WIRE("\x81\x12\x82\x01\xfb\x02\xa1x"),
      set_inner },
    { "a number beyond 127", &k_plain_codec, WIRE("\x81\xcc\xc8\x07"), set_far },
    { "several fields in ascending order", &k_plain_codec,
      WIRE("\x83\x01\xc3\x02\x01\xcc\xc8\x02"), set_several },
    { "unknown fields after the known", &k_plain_codec,
      WIRE("\x83\x02\x01\xcc\xc9\xa3new\xcc\xca\x92\x01\x81\x03\x04"), set_unknown },
    { "all at their defaults", &k_defaults_codec, WIRE("\x80"), set_nothing },
    { "zeros where the defaults are others", &k_defaults_codec,
      WIRE("\x86\x01\xc2\x02\x00\x0b\xcb\x00\x00\x00\x00\x00\x00\x00\x00\x0c\xa0\x0d\x00"
           "\x0e\x00"),
      set_not_defaults },
    { "optional fields with zeros", &k_optionals_codec,
      WIRE("\x85\x01\xc2\x02\x00\x05\xa0\x09\x80\x0a\x90"), set_zero_optionals },
    { "lists", &k_lists_codec,
      WIRE("\x8b\x01\x92\xc3\xc2\x02\x92\x00\xcc\xff\x03\x92\xff\xcc\xc8\x04\x91\xcf\xff"
           "\xff\xff\xff\xff\xff\xff\xff\x05\x91\xcb\x3f\xe0\x00\x00\x00\x00\x00\x00\x06"
           "\x92\xa1\x61\xa0\x07\x91\xc4\x00\x08\x91\xd7\xff\x00\x00\x00\x04\x00\x00\x00"
           "\x00\x09\x92\x01\x09\x0a\x92\x81\x01\x01\x80\x0b\x92\x80\x80"),
      set_lists },
    { "a tree", &k_node_codec, WIRE("\x82\x01\xa1t\x02\x92\x81\x01\xa1l\x81\x01\xa1r"),
      set_tree },
    { "three hundred fields", &w_wide_codec,
      WIRE("\x83\x01\xa0\xcd\x01\x2a\x91\xff\xcd\x01\x2c\x09"), set_wide },
};

static sennit_arena *
new_arena(void)
{
    sennit_arena *arena = NULL;
    assert_int_equal(sennit_arena_new(&arena, NULL), SENNIT_OK);
    return arena;
}

static void
assert_encodes_to(const sennit_codec *codec, const any_value *value, sennit_bytes wire)
{
    sennit_buf buf;
    sennit_error error;
    sennit_buf_init(&buf, NULL);
    assert_int_equal(sennit_codec_encode(codec, value, &buf, &error), SENNIT_OK);
    assert_int_equal(buf.size, wire.size);
    assert_memory_equal(buf.data, wire.data, wire.size);
    assert_int_equal(sennit_codec_size(codec, value), wire.size);
    sennit_buf_fini(&buf);
}

/* A copy that ends where its memory ends, so that ASan sees one byte too many. */
static uint8_t *
exact_copy(sennit_bytes wire)
{
    uint8_t *copy = malloc(wire.size ? wire.size : 1);
    assert_non_null(copy);
    memcpy(copy, wire.data, wire.size);
    return copy;
}

static void
check_row(void **state)
{
    const vector_row *row = *state;
    sennit_arena *arena = new_arena();
    sennit_error error;
    any_value value;
    any_value read;
    sennit_codec_init(row->codec, &value);
    row->set(&value);
    assert_encodes_to(row->codec, &value, row->wire);

    uint8_t *copy = exact_copy(row->wire);
    sennit_bytes in = { copy, row->wire.size };
    assert_int_equal(sennit_codec_view(row->codec, &read, in, arena, &error), SENNIT_OK);
    assert_true(sennit_codec_equal(row->codec, &value, &read));
    assert_encodes_to(row->codec, &read, row->wire);

    assert_int_equal(sennit_codec_decode(row->codec, &read, in, arena, &error),
                     SENNIT_OK);
    free(copy); /* decode copied everything: what it gave must not need the input */
    assert_true(sennit_codec_equal(row->codec, &value, &read));
    assert_encodes_to(row->codec, &read, row->wire);
    sennit_arena_free(arena);
}

/* Every proper prefix is refused, with a text that names the struct. */
static void
check_row_truncated(void **state)
{
    const vector_row *row = *state;
    sennit_arena *arena = new_arena();
    for (size_t size = 0; size < row->wire.size; size++) {
        sennit_error error;
        any_value read;
        uint8_t *copy = exact_copy((sennit_bytes){ row->wire.data, size });
        assert_int_equal(sennit_codec_view(row->codec, &read,
                                           (sennit_bytes){ copy, size }, arena, &error),
                         SENNIT_EPROTO);
        assert_int_equal(error.kind, SENNIT_KIND_BAD_MESSAGE);
        assert_int_equal(error.ran, SENNIT_RAN_NEVER);
        assert_memory_equal(error.message, row->codec->name, strlen(row->codec->name));
        free(copy);
    }
    sennit_arena_free(arena);
}

/* Whatever bytes come, decoding ends, and what it accepts can be written and read
 * again with the same result. */
static void
check_row_mutated(void **state)
{
    const vector_row *row = *state;
    sennit_arena *arena = new_arena();
    test_rng rng = { 2 };
    for (int i = 0; i < 2000; i++) {
        any_value read;
        any_value again;
        sennit_buf buf;
        uint8_t *copy = exact_copy(row->wire);
        for (uint64_t n = test_rng_below(&rng, 3) + 1; n && row->wire.size; n--)
            copy[test_rng_below(&rng, row->wire.size)] = (uint8_t)test_rng_next(&rng);
        sennit_bytes in = { copy, row->wire.size };
        sennit_buf_init(&buf, NULL);
        if (!sennit_codec_view(row->codec, &read, in, arena, NULL)) {
            assert_int_equal(sennit_codec_encode(row->codec, &read, &buf, NULL),
                             SENNIT_OK);
            assert_int_equal(sennit_codec_size(row->codec, &read), buf.size);
            assert_int_equal(sennit_codec_view(row->codec, &again, sennit_buf_bytes(&buf),
                                               arena, NULL),
                             SENNIT_OK);
            assert_true(sennit_codec_equal(row->codec, &read, &again));
        }
        sennit_buf_fini(&buf);
        free(copy);
        sennit_arena_reset(arena);
    }
    sennit_arena_free(arena);
}

/* ---- What rows cannot say --------------------------------------------- */

static void
the_INIT_macro_and_init_give_the_same_value(void **state)
{
    (void)state;
    k_defaults from_macro = K_DEFAULTS_INIT;
    k_defaults from_function;
    k_defaults_init(&from_function);
    assert_true(k_defaults_equal(&from_macro, &from_function));
    assert_int_equal(from_macro.f_i64, INT64_MIN);
    assert_int_equal(from_macro.f_u32, UINT32_MAX);
    assert_int_equal(from_macro.f_extreme, INT32_MIN);
    assert_true(from_macro.f_f64 == -2.5);
    assert_int_equal(from_macro.f_duration, 1500000000);

    k_optionals optionals = K_OPTIONALS_INIT;
    k_optionals optionals_too;
    k_optionals_init(&optionals_too);
    assert_true(k_optionals_equal(&optionals, &optionals_too));
    k_lists lists = K_LISTS_INIT;
    k_lists lists_too;
    k_lists_init(&lists_too);
    assert_true(k_lists_equal(&lists, &lists_too));
}

static void
a_default_between_two_floats_is_the_same_in_the_INIT_macro_and_init(void **state)
{
    (void)state;
    k_between from_macro = K_BETWEEN_INIT;
    k_between from_function;
    k_between_init(&from_function);
    assert_true(from_function.up == 1.00000083446502685546875f);
    assert_true(from_macro.up == from_function.up);
    assert_true(from_macro.down == from_function.down);
}

static void
constants_are_what_the_schema_says(void **state)
{
    (void)state;
    assert_int_equal(K_TOP, UINT32_MAX);
    assert_true(K_LOWEST == INT64_MIN);
    assert_true(K_HIGHEST == UINT64_MAX);
    assert_int_equal(K_TINY, -128);
    assert_true(K_RATIO == 0.1f);
    assert_true(K_PLANCK == 6.62607015e-34);
    assert_true(K_WHOLE == 3.0);
    assert_string_equal(K_NAME, "quote \" backslash \\ question ?\?/ tab \t "
                                "\xc3\xa9 \xe2\x82\xac 1");
    assert_int_equal(K_PAUSE, 1500000000);
    assert_true(K_YES);
    assert_int_equal(K_PAGE, 4096);
}

static void
enums_have_names_and_know_them_again(void **state)
{
    (void)state;
    k_side side = 0;
    k_wide wide = 0;
    assert_string_equal(k_side_name(K_SIDE_SELL), "sell");
    assert_null(k_side_name(77));
    assert_true(k_side_parse(STR("buy"), &side));
    assert_int_equal(side, K_SIDE_BUY);
    assert_false(k_side_parse(STR("BUY"), &side));
    assert_false(k_side_parse(STR(""), &side));
    assert_int_equal(side, K_SIDE_BUY);
    assert_true(k_wide_parse(STR("top"), &wide));
    assert_true(wide == UINT64_MAX);
    assert_string_equal(k_extreme_name(INT32_MIN), "lowest");
}

static void
equal_sees_every_difference(void **state)
{
    (void)state;
    k_optionals a = K_OPTIONALS_INIT;
    k_optionals b = K_OPTIONALS_INIT;
    b.has_f_u8 = true;
    assert_false(k_optionals_equal(&a, &b));
    a.has_f_u8 = true;
    assert_true(k_optionals_equal(&a, &b));
    b.f_u8 = 1;
    assert_false(k_optionals_equal(&a, &b));
    b.f_u8 = 0;
    /* What is absent is not compared. */
    b.f_i64 = 5;
    assert_true(k_optionals_equal(&a, &b));
    b.unknown_ = BYTES("\x20\x01");
    assert_false(k_optionals_equal(&a, &b));

    static const uint8_t one[] = { 1 };
    static const uint8_t two[] = { 2 };
    k_lists c = K_LISTS_INIT;
    k_lists d = K_LISTS_INIT;
    c.f_u8 = one;
    c.n_f_u8 = 1;
    assert_false(k_lists_equal(&c, &d));
    d.f_u8 = two;
    d.n_f_u8 = 1;
    assert_false(k_lists_equal(&c, &d));
}

static void
a_value_prints_on_one_line(void **state)
{
    (void)state;
    static const k_node leaves[] = { { { "a\n\"", 3 }, NULL, 0, { NULL, 0 } } };
    k_node node = { { "root", 4 }, leaves, 1, { NULL, 0 } };
    sennit_buf buf;
    sennit_buf_init(&buf, NULL);
    k_node_print(&node, &buf);
    sennit_buf_append(&buf, "", 1);
    assert_string_equal((const char *)buf.data,
                        "Node{name: \"root\", children: [Node{name: \"a\\x0a\\\"\"}]}");
    sennit_buf_clear(&buf);
    k_plain plain = K_PLAIN_INIT;
    plain.f_i8 = -1;
    plain.f_bytes = BYTES("xyz");
    plain.unknown_ = BYTES("\x20\x01");
    k_plain_print(&plain, &buf);
    sennit_buf_append(&buf, "", 1);
    assert_string_equal((const char *)buf.data,
                        "Plain{f_i8: -1, f_bytes: <3 bytes>, <unknown fields>}");
    sennit_buf_fini(&buf);
}

/* A decoder takes what any writer may send: other orders, other widths, nil for what
 * is absent, floats for floats. */
static void
a_decoder_takes_other_ways_to_write_the_same(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        const sennit_codec *codec;
        sennit_bytes wire;
        sennit_bytes canonical;
    } forms[] = {
        { "descending order", &k_plain_codec, WIRE("\x82\x03\x01\x02\x01"),
          WIRE("\x82\x02\x01\x03\x01") },
        { "wide integers", &k_plain_codec,
          WIRE("\x82\x02\xcf\x00\x00\x00\x00\x00\x00\x00\x05\x09\xd3\x00\x00\x00\x00\x00"
               "\x00\x00\x07"),
          WIRE("\x82\x02\x05\x09\x07") },
        { "an unsigned form for a signed field", &k_plain_codec, WIRE("\x81\x03\xcc\x7f"),
          WIRE("\x81\x03\x7f") },
        { "a wide key and wide heads", &k_plain_codec,
          WIRE("\xdf\x00\x00\x00\x01\xcd\x00\x0c\xdb\x00\x00\x00\x01x"),
          WIRE("\x81\x0c\xa1x") },
        { "defaults written out", &k_plain_codec, WIRE("\x82\x02\x00\x0c\xa0"),
          WIRE("\x80") },
        { "nil for absent optionals", &k_optionals_codec,
          WIRE("\x83\x01\xc0\x09\xc0\x0a\xc0"), WIRE("\x80") },
        { "an integer for a float", &k_plain_codec, WIRE("\x81\x0b\x03"),
          WIRE("\x81\x0b\xcb\x40\x08\x00\x00\x00\x00\x00\x00") },
        { "f64 for f32", &k_plain_codec,
          WIRE("\x81\x0a\xcb\x3f\xe0\x00\x00\x00\x00\x00\x00"),
          WIRE("\x81\x0a\xca\x3f\x00\x00\x00") },
        { "an empty list", &k_lists_codec, WIRE("\x81\x02\x90"), WIRE("\x80") },
        { "a struct at its defaults", &k_plain_codec, WIRE("\x81\x12\x80"),
          WIRE("\x80") },
        { "unknown fields in several places", &k_plain_codec,
          WIRE("\x84\xcc\xc9\x01\x02\x05\xcc\xca\xa1x\x03\x01"),
          WIRE("\x84\x02\x05\x03\x01\xcc\xc9\x01\xcc\xca\xa1x") },
    };
    sennit_arena *arena = new_arena();
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        any_value value;
        sennit_error error;
        uint8_t *copy = exact_copy(forms[i].wire);
        sennit_bytes in = { copy, forms[i].wire.size };
        print_message("           - %s\n", forms[i].what);
        assert_int_equal(sennit_codec_view(forms[i].codec, &value, in, arena, &error),
                         SENNIT_OK);
        assert_encodes_to(forms[i].codec, &value, forms[i].canonical);
        assert_int_equal(sennit_codec_decode(forms[i].codec, &value, in, arena, &error),
                         SENNIT_OK);
        free(copy);
        assert_encodes_to(forms[i].codec, &value, forms[i].canonical);
    }
    sennit_arena_free(arena);
}

int
main(void)
{
    static const struct CMUnitTest fixed[] = {
        cmocka_unit_test(the_INIT_macro_and_init_give_the_same_value),
        cmocka_unit_test(
            a_default_between_two_floats_is_the_same_in_the_INIT_macro_and_init),
        cmocka_unit_test(constants_are_what_the_schema_says),
        cmocka_unit_test(enums_have_names_and_know_them_again),
        cmocka_unit_test(equal_sees_every_difference),
        cmocka_unit_test(a_value_prints_on_one_line),
        cmocka_unit_test(a_decoder_takes_other_ways_to_write_the_same),
    };
    static test_suite suite;

    TEST_SUITE_ROWS(&suite, "", rows, check_row);
    TEST_SUITE_ROWS(&suite, "cut at every byte: ", rows, check_row_truncated);
    TEST_SUITE_ROWS(&suite, "mutated: ", rows, check_row_mutated);
    TEST_SUITE_ADD(&suite, fixed);
    return test_suite_run(&suite);
}
