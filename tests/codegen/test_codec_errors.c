/* SPDX-License-Identifier: MIT */
/* What generated code refuses, with which words, and what it costs. */
#include "sennit_test.h"

#include <stdio.h>

#include "fail_alloc.h"
#include "kinds.snt.h"
#include "suite.h"
#include "wide.snt.h"

#define WIRE(text)                                                                       \
    {                                                                                    \
        (const uint8_t *)(text), sizeof(text) - 1                                        \
    }

typedef union any_value {
    k_plain plain;
    k_optionals optionals;
    k_lists lists;
    k_node node;
    w_wide wide;
} any_value;

/* ---- Words ------------------------------------------------------------ */

typedef struct error_row {
    const char *name;
    const sennit_codec *codec;
    sennit_bytes wire;
    const char *starts; /* of the message */
} error_row;

static const error_row rows[] = {
    { "not a map", &k_plain_codec, WIRE("\x05"), "Plain: " },
    { "nothing", &k_plain_codec, WIRE(""), "Plain: " },
    { "bytes after the message", &k_plain_codec, WIRE("\x80\x80"), "Plain: " },
    { "a byte msgpack never uses", &k_plain_codec, WIRE("\x81\x02\xc1"), "Plain: " },
    { "a key that is no number", &k_plain_codec, WIRE("\x81\xa1x\x01"),
      "Plain: keys are field numbers (byte 1)" },
    { "a negative key", &k_plain_codec, WIRE("\x81\xff\x01"),
      "Plain: keys are field numbers (byte 1)" },
    { "a field twice", &k_plain_codec, WIRE("\x82\x02\x01\x02\x01"),
      "Plain.f_u8: the field is there twice (byte 3)" },
    { "a field twice beyond the 64th", &w_wide_codec,
      WIRE("\x82\xcd\x01\x2c\x01\xcd\x01\x2c\x02"),
      "Wide.f300: the field is there twice" },
    { "u8 of 256", &k_plain_codec, WIRE("\x81\x02\xcd\x01\x00"), "Plain.f_u8: " },
    { "u8 of -1", &k_plain_codec, WIRE("\x81\x02\xff"), "Plain.f_u8: " },
    { "i8 of 128", &k_plain_codec, WIRE("\x81\x03\xcc\x80"), "Plain.f_i8: " },
    { "i8 of -129", &k_plain_codec, WIRE("\x81\x03\xd1\xff\x7f"), "Plain.f_i8: " },
    { "u16 of 65536", &k_plain_codec, WIRE("\x81\x04\xce\x00\x01\x00\x00"),
      "Plain.f_u16: " },
    { "u32 of 2^32", &k_plain_codec, WIRE("\x81\x06\xcf\x00\x00\x00\x01\x00\x00\x00\x00"),
      "Plain.f_u32: " },
    { "i32 of 2^31", &k_plain_codec, WIRE("\x81\x07\xce\x80\x00\x00\x00"),
      "Plain.f_i32: " },
    { "i64 of 2^63", &k_plain_codec, WIRE("\x81\x09\xcf\x80\x00\x00\x00\x00\x00\x00\x00"),
      "Plain.f_i64: " },
    { "u64 of -1", &k_plain_codec, WIRE("\x81\x08\xff"), "Plain.f_u64: " },
    { "an enum beyond its base", &k_plain_codec, WIRE("\x81\x10\xcd\x01\x00"),
      "Plain.f_side: " },
    { "a bool that is a number", &k_plain_codec, WIRE("\x81\x01\x01"), "Plain.f_bool: " },
    { "a number that is text", &k_plain_codec,
      WIRE("\x81\x02\xa1"
           "1"),
      "Plain.f_u8: " },
    { "text that is bytes", &k_plain_codec, WIRE("\x81\x0c\xc4\x01x"), "Plain.f_str: " },
    { "bytes that are text", &k_plain_codec, WIRE("\x81\x0d\xa1x"), "Plain.f_bytes: " },
    { "text that is not UTF-8", &k_plain_codec, WIRE("\x81\x0c\xa2\xc3\x28"),
      "Plain.f_str: the text is not UTF-8 (byte 2)" },
    { "text with a surrogate", &k_plain_codec, WIRE("\x81\x0c\xa3\xed\xa0\x80"),
      "Plain.f_str: the text is not UTF-8 (byte 2)" },
    { "a time that is a number", &k_plain_codec, WIRE("\x81\x0e\x05"), "Plain.f_time: " },
    { "a time of another extension", &k_plain_codec,
      WIRE("\x81\x0e\xd6\x05\x00\x00\x00\x00"),
      "Plain.f_time: a timestamp was expected (byte 2)" },
    { "a time of another size", &k_plain_codec, WIRE("\x81\x0e\xd5\xff\x00\x00"),
      "Plain.f_time: a timestamp was expected (byte 2)" },
    { "a time with too many nanoseconds", &k_plain_codec,
      WIRE("\x81\x0e\xd7\xff\xff\xff\xff\xff\x00\x00\x00\x00"),
      "Plain.f_time: a timestamp with a second or more of nanoseconds" },
    { "one nanosecond after the last time", &k_plain_codec,
      WIRE("\x81\x0e\xd7\xff\xcb\xcb\x60\x02\x25\xc1\x7d\x04"),
      "Plain.f_time: a timestamp outside the years 1677 to 2262" },
    { "one nanosecond before the first time", &k_plain_codec,
      WIRE("\x81\x0e\xc7\x0c\xff\x08\xa7\xf1\xff\xff\xff\xff\xfd\xda\x3e\x82\xfb"),
      "Plain.f_time: a timestamp outside the years 1677 to 2262" },
    { "the largest seconds there are", &k_plain_codec,
      WIRE("\x81\x0e\xc7\x0c\xff\x00\x00\x00\x00\x7f\xff\xff\xff\xff\xff\xff\xff"),
      "Plain.f_time: a timestamp outside the years 1677 to 2262" },
    { "the smallest seconds there are", &k_plain_codec,
      WIRE("\x81\x0e\xc7\x0c\xff\x00\x00\x00\x00\x80\x00\x00\x00\x00\x00\x00\x00"),
      "Plain.f_time: a timestamp outside the years 1677 to 2262" },
    { "nil for a field that is not optional", &k_plain_codec, WIRE("\x81\x02\xc0"),
      "Plain.f_u8: " },
    { "a wrong optional", &k_optionals_codec, WIRE("\x81\x02\xa1x"), "Optionals.f_u8: " },
    { "a wrong element of an optional list", &k_optionals_codec,
      WIRE("\x81\x0a\x93\x01\x02\xa1x"), "Optionals.f_list[2]: " },
    { "a list that is none", &k_lists_codec, WIRE("\x81\x02\x81\x01\x01"),
      "Lists.f_u8: " },
    { "a path through lists and structs", &k_lists_codec,
      WIRE("\x81\x0a\x92\x80\x81\x01\xa1x"), "Lists.f_inner[1].a: " },
    { "a path through a tree", &k_node_codec,
      WIRE("\x81\x02\x91\x81\x02\x92\x80\x81\x01\x05"),
      "Node.children[0].children[1].name: " },
    { "a wrong field inside", &k_plain_codec, WIRE("\x81\x12\x81\x02\x05"),
      "Plain.f_inner.b: " },
    { "a count the bytes cannot hold", &k_lists_codec,
      WIRE("\x81\x02\xdd\xff\xff\xff\xff"), "Lists: " },
    { "a length the bytes cannot hold", &k_plain_codec,
      WIRE("\x81\x0c\xdb\xff\xff\xff\xff"), "Plain: " },
};

static void
check_row(void **state)
{
    const error_row *row = *state;
    sennit_arena *arena = NULL;
    assert_int_equal(sennit_arena_new(&arena, NULL), SENNIT_OK);
    for (int copy = 0; copy < 2; copy++) {
        any_value value;
        any_value fresh;
        sennit_error error;
        sennit_err err =
            copy ? sennit_codec_decode(row->codec, &value, row->wire, arena, &error)
                 : sennit_codec_view(row->codec, &value, row->wire, arena, &error);
        assert_int_equal(err, SENNIT_EPROTO);
        assert_int_equal(error.kind, SENNIT_KIND_BAD_MESSAGE);
        assert_int_equal(error.ran, SENNIT_RAN_NEVER);
        if (strncmp(error.message, row->starts, strlen(row->starts)) != 0)
            fail_msg("'%s' does not begin with '%s'", error.message, row->starts);
        assert_non_null(strstr(error.message, "(byte "));
        /* Nothing of a refused message is left in the value. */
        sennit_codec_init(row->codec, &fresh);
        assert_true(sennit_codec_equal(row->codec, &value, &fresh));
        /* A caller that does not want the words need not take them. */
        assert_int_equal(sennit_codec_view(row->codec, &value, row->wire, arena, NULL),
                         SENNIT_EPROTO);
    }
    sennit_arena_free(arena);
}

/* ---- Encoding --------------------------------------------------------- */

static void
encoding_text_that_is_not_utf8_is_refused_with_its_path(void **state)
{
    (void)state;
    static const k_node leaves[] = { K_NODE_INIT,
                                     { { "\xff", 1 }, NULL, 0, { NULL, 0 } } };
    k_node node = K_NODE_INIT;
    node.children = leaves;
    node.n_children = 2;
    sennit_buf buf;
    sennit_error error;
    sennit_buf_init(&buf, NULL);
    sennit_buf_append(&buf, "abc", 3);
    assert_int_equal(sennit_codec_encode(&k_node_codec, &node, &buf, &error),
                     SENNIT_EINVAL);
    assert_string_equal(error.message, "Node.children[1].name: the text is not UTF-8");
    assert_int_equal(error.ran, SENNIT_RAN_NEVER);
    assert_int_equal(buf.size, 3); /* as long as before, and the error sticks */
    assert_int_equal(buf.err, SENNIT_EINVAL);
    assert_int_equal(k_node_encode(&node, &buf), SENNIT_EINVAL);
    sennit_buf_fini(&buf);
}

static void
encoding_unknown_fields_that_are_no_pairs_is_refused(void **state)
{
    (void)state;
    k_plain plain = K_PLAIN_INIT;
    sennit_buf buf;
    sennit_error error;
    sennit_buf_init(&buf, NULL);
    plain.unknown_ = (sennit_bytes)WIRE("\x20");
    assert_int_equal(sennit_codec_encode(&k_plain_codec, &plain, &buf, &error),
                     SENNIT_EINVAL);
    assert_string_equal(error.message,
                        "Plain: the unknown fields are not pairs of msgpack");
    sennit_buf_fini(&buf);
}

static void
encoding_into_too_little_room_is_refused(void **state)
{
    (void)state;
    k_plain plain = K_PLAIN_INIT;
    plain.f_str = sennit_str_of("a text of some length");
    size_t size = k_plain_size(&plain);
    uint8_t memory[64];
    for (size_t room = 0; room < size; room++) {
        sennit_buf buf;
        sennit_error error;
        sennit_buf_init_fixed(&buf, memory, room);
        assert_int_equal(sennit_codec_encode(&k_plain_codec, &plain, &buf, &error),
                         SENNIT_EMSGSIZE);
        assert_int_equal(error.kind, SENNIT_KIND_TOO_LARGE);
        assert_int_equal(buf.size, 0);
    }
    sennit_buf buf;
    sennit_buf_init_fixed(&buf, memory, size);
    assert_int_equal(k_plain_encode(&plain, &buf), SENNIT_OK);
}

static void
a_value_that_contains_itself_ends(void **state)
{
    (void)state;
    k_node node = K_NODE_INIT;
    node.children = &node;
    node.n_children = 1;
    sennit_buf buf;
    sennit_error error;
    sennit_buf_init(&buf, NULL);
    assert_int_equal(sennit_codec_encode(&k_node_codec, &node, &buf, &error),
                     SENNIT_EINVAL);
    assert_non_null(strstr(error.message, "nested too deep"));
    /* The path is far longer than there is room for; what is shown is its end. */
    assert_memory_equal(error.message, "...", 3);
    assert_true(k_node_size(&node) > 0);
    assert_false(k_node_equal(&node, &node));
    sennit_buf_fini(&buf);
    sennit_buf_init(&buf, NULL);
    k_node_print(&node, &buf);
    assert_int_equal(buf.err, SENNIT_OK);
    sennit_buf_fini(&buf);
}

/* ---- Limits ----------------------------------------------------------- */

/* A tree of `depth` nodes, one inside the other: two levels of msgpack each. */
static sennit_err
decode_tree(unsigned depth, sennit_error *error)
{
    sennit_arena *arena = NULL;
    sennit_buf buf;
    k_node node;
    assert_int_equal(sennit_arena_new(&arena, NULL), SENNIT_OK);
    sennit_buf_init(&buf, NULL);
    for (unsigned i = 1; i < depth; i++) {
        sennit_pack_map(&buf, 1);
        sennit_pack_uint(&buf, 2);
        sennit_pack_array(&buf, 1);
    }
    sennit_pack_map(&buf, 0);
    sennit_err err = k_node_view(&node, sennit_buf_bytes(&buf), arena, error);
    sennit_buf_fini(&buf);
    sennit_arena_free(arena);
    return err;
}

static void
nesting_is_limited(void **state)
{
    (void)state;
    sennit_error error;
    assert_int_equal(decode_tree(32, &error), SENNIT_OK);
    assert_int_equal(decode_tree(33, &error), SENNIT_EPROTO);
    assert_int_equal(decode_tree(100000, &error), SENNIT_EPROTO);
}

/* Elements that take one byte on the wire and a whole struct in memory. */
static sennit_err
decode_lists(uint8_t field, uint8_t element, uint32_t count, test_alloc *alloc,
             sennit_error *error)
{
    sennit_arena *arena = NULL;
    sennit_buf buf;
    k_lists lists;
    sennit_buf_init(&buf, NULL);
    sennit_pack_map(&buf, 1);
    sennit_pack_uint(&buf, field);
    sennit_pack_array(&buf, count);
    uint8_t *room = sennit_buf_reserve(&buf, count);
    assert_non_null(room);
    memset(room, element, count);
    buf.size += count;
    assert_int_equal(sennit_arena_new(&arena, &alloc->allocator), SENNIT_OK);
    sennit_err err = k_lists_view(&lists, sennit_buf_bytes(&buf), arena, error);
    sennit_buf_fini(&buf);
    sennit_arena_free(arena);
    return err;
}

static void
a_small_message_cannot_take_much_memory(void **state)
{
    (void)state;
    test_alloc alloc;
    sennit_error error;
    test_alloc_init(&alloc);
    /* An Inner of 40 bytes for one byte is fair. */
    assert_int_equal(decode_lists(10, 0x80, 1000000, &alloc, &error), SENNIT_OK);
    assert_true(sizeof(k_inner) < SENNIT_CODEC_EXPANSION_MAX);
    assert_true(alloc.peak_bytes < 48u * 1000000u);
    assert_int_equal(alloc.live_blocks, 0);
}

static void
a_message_that_unfolds_beyond_measure_is_refused(void **state)
{
    (void)state;
    /* A schema of our own: elements far larger than those of any example. */
    typedef struct element {
        uint8_t room[4096];
        sennit_bytes unknown_;
    } element;
    typedef struct list {
        const element *all;
        size_t n_all;
        sennit_bytes unknown_;
    } list;
    static const sennit_codec element_codec = { sizeof(sennit_codec),
                                                sizeof(element),
                                                offsetof(element, unknown_),
                                                0,
                                                "Element",
                                                NULL };
    static const sennit_codec_field fields[] = {
        { 1, SENNIT_CODEC_STRUCT, SENNIT_CODEC_LIST, offsetof(list, all), 0,
          offsetof(list, n_all), 0, NULL, "all", &element_codec },
    };
    static const sennit_codec list_codec = {
        sizeof(sennit_codec), sizeof(list), offsetof(list, unknown_), 1, "List", fields
    };
    test_alloc alloc;
    sennit_error error;
    sennit_arena *arena = NULL;
    sennit_buf buf;
    list value;
    test_alloc_init(&alloc);
    assert_int_equal(sennit_arena_new(&arena, &alloc.allocator), SENNIT_OK);
    for (uint32_t count = 100; count <= 100000; count *= 1000) {
        sennit_buf_init(&buf, NULL);
        sennit_pack_map(&buf, 1);
        sennit_pack_uint(&buf, 1);
        sennit_pack_array(&buf, count);
        for (uint32_t i = 0; i < count; i++)
            sennit_pack_map(&buf, 0);
        sennit_err err =
            sennit_codec_view(&list_codec, &value, sennit_buf_bytes(&buf), arena, &error);
        assert_int_equal(err, count == 100 ? SENNIT_OK : SENNIT_EMSGSIZE);
        if (err)
            assert_string_equal(error.message, "List.all: takes far more memory than its "
                                               "message (byte 2)");
        sennit_buf_fini(&buf);
    }
    assert_true(alloc.peak_bytes < 1024 * 1024);
    sennit_arena_free(arena);
}

/* ---- No memory -------------------------------------------------------- */

static const uint8_t big_message[] =
    "\x8b\x01\x92\xc3\xc2\x02\x92\x00\xcc\xff\x03\x92\xff\xcc\xc8\x04\x91\xcf\xff\xff\xff"
    "\xff\xff\xff\xff\xff\x06\x92\xa1\x61\xa0\x07\x91\xc4\x01x\x0a\x92\x81\x02\xa1y\x81"
    "\x07\x01\x0b\x92\x80\x80\x20\x01\x08\x91\xd7\xff\x00\x00\x00\x04\x00\x00\x00\x00\x21"
    "\x02";

static void
decode_with_failures(test_alloc *alloc, void *arg)
{
    sennit_arena *arena = NULL;
    sennit_error error;
    k_lists lists;
    (void)arg;
    if (sennit_arena_new(&arena, &alloc->allocator))
        return;
    /* A chunk for itself each: many small allocations, so many places to fail. */
    sennit_err err = k_lists_decode(
        &lists, (sennit_bytes){ big_message, sizeof(big_message) - 1 }, arena, &error);
    if (alloc->failed) {
        assert_int_equal(err, SENNIT_ENOMEM);
        assert_int_equal(error.kind, SENNIT_KIND_NO_MEMORY);
        assert_int_equal(lists.n_f_bool, 0);
    } else {
        assert_int_equal(err, SENNIT_OK);
        assert_int_equal(lists.n_f_inner, 2);
    }
    sennit_arena_free(arena);
}

static void
encode_with_failures(test_alloc *alloc, void *arg)
{
    sennit_buf buf;
    sennit_error error;
    k_plain plain = K_PLAIN_INIT;
    char text[3000];
    (void)arg;
    memset(text, 'x', sizeof(text));
    plain.f_str = (sennit_str){ text, sizeof(text) };
    plain.f_bytes = (sennit_bytes){ (const uint8_t *)text, sizeof(text) };
    sennit_buf_init(&buf, &alloc->allocator);
    sennit_err err = sennit_codec_encode(&k_plain_codec, &plain, &buf, &error);
    assert_int_equal(err, alloc->failed ? SENNIT_ENOMEM : SENNIT_OK);
    if (err) {
        assert_int_equal(error.kind, SENNIT_KIND_NO_MEMORY);
        assert_int_equal(buf.size, 0);
    }
    sennit_buf_fini(&buf);
}

static void
every_allocation_of_a_decoder_may_fail(void **state)
{
    (void)state;
    assert_true(test_alloc_every_failure(decode_with_failures, NULL) > 2);
}

static void
every_allocation_of_an_encoder_may_fail(void **state)
{
    (void)state;
    assert_true(test_alloc_every_failure(encode_with_failures, NULL) > 2);
}

/* ---- Addresses of events ---------------------------------------------- */

static void
a_value_in_a_topic_is_one_token_or_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "", "a.b", "a b", "*", "a>", "\t", "\xff", "\x7f"
    };
    sennit_topic topic;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        sennit_topic_init(&topic);
        sennit_topic_literal(&topic, "x.");
        sennit_topic_str(&topic, sennit_str_of(bad[i]));
        assert_int_equal(topic.err, SENNIT_EINVAL);
    }
    sennit_topic_init(&topic);
    sennit_topic_literal(&topic, "x.");
    sennit_topic_str(&topic, sennit_str_of("h\xc3\xa9-1+2"));
    sennit_topic_literal(&topic, ".");
    sennit_topic_int(&topic, INT64_MIN);
    sennit_topic_literal(&topic, ".");
    sennit_topic_uint(&topic, UINT64_MAX);
    sennit_topic_literal(&topic, ".");
    sennit_topic_match(&topic, NULL);
    sennit_topic_literal(&topic, ".");
    sennit_topic_match(&topic, "one");
    assert_int_equal(topic.err, SENNIT_OK);
    assert_string_equal(topic.text, "x.h\xc3\xa9-1+2.-9223372036854775808."
                                    "18446744073709551615.*.one");
}

static void
a_topic_longer_than_an_address_is_refused(void **state)
{
    (void)state;
    char text[SENNIT_ADDRESS_MAX + 2];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    sennit_topic topic;
    sennit_topic_init(&topic);
    sennit_topic_literal(&topic, text);
    assert_int_equal(topic.err, SENNIT_ENAMETOOLONG);
    sennit_topic_init(&topic);
    sennit_topic_literal(&topic, text + 1);
    assert_int_equal(topic.err, SENNIT_OK);
    assert_int_equal(topic.size, SENNIT_ADDRESS_MAX);
    sennit_topic_literal(&topic, ".");
    assert_int_equal(topic.err, SENNIT_ENAMETOOLONG);
}

int
main(void)
{
    static const struct CMUnitTest fixed[] = {
        cmocka_unit_test(encoding_text_that_is_not_utf8_is_refused_with_its_path),
        cmocka_unit_test(encoding_unknown_fields_that_are_no_pairs_is_refused),
        cmocka_unit_test(encoding_into_too_little_room_is_refused),
        cmocka_unit_test(a_value_that_contains_itself_ends),
        cmocka_unit_test(nesting_is_limited),
        cmocka_unit_test(a_small_message_cannot_take_much_memory),
        cmocka_unit_test(a_message_that_unfolds_beyond_measure_is_refused),
        cmocka_unit_test(every_allocation_of_a_decoder_may_fail),
        cmocka_unit_test(every_allocation_of_an_encoder_may_fail),
        cmocka_unit_test(a_value_in_a_topic_is_one_token_or_refused),
        cmocka_unit_test(a_topic_longer_than_an_address_is_refused),
    };
    static test_suite suite;

    TEST_SUITE_ROWS(&suite, "refused: ", rows, check_row);
    TEST_SUITE_ADD(&suite, fixed);
    return test_suite_run(&suite);
}
