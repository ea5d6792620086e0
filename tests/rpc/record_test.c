/* SPDX-License-Identifier: MIT */
/* Records in frames (T4, T5): what is written is read back, by us and by msgpack-c;
 * what is malformed is refused with a reason, wherever it is cut. */
#include "sennit_test.h"

#include <msgpack.h>

#include "rng.h"
#include "rpc/record.h"
#include "suite.h"

/* fuzz_frames.c */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WIRE(literal)                                                                    \
    {                                                                                    \
        (const uint8_t *)("" literal), sizeof(literal) - 1                               \
    }
#define TEXT(literal)                                                                    \
    {                                                                                    \
        "" literal, sizeof(literal) - 1                                                  \
    }

/* ---- Round trips ------------------------------------------------------ */

typedef struct record_row {
    const char *name;
    sni_record record;
} record_row;

static const record_row rows[] = {
    { "HELLO with everything",
      { .type = SNI_RECORD_HELLO,
        .hello = { .node = "0123456789abcde",
                   .incarnation = UINT64_C(0x7fffffffffffffff),
                   .proto_min = 1,
                   .proto_max = 3,
                   .features = 5,
                   .max_frame = 1 << 20,
                   .advertised = TEXT("tcp://10.0.0.1:7000"),
                   .events = TEXT("tcp://10.0.0.1:7001"),
                   .consumed = WIRE("\x93\xa1"
                                    "a\xa3"
                                    "b.*\xa2s.") } } },
    { "WHO", { .type = SNI_RECORD_WHO } },
    { "REQ with a budget and headers",
      { .type = SNI_RECORD_REQ,
        .id = UINT64_MAX,
        .address = TEXT("shop.pricing.Pricing/1.get"),
        .budget_us = 250000,
        .headers = WIRE("\x81\xa3key\xc4\x02to"),
        .body = WIRE("\x81\x01\xa1x") } },
    { "REQ with headers and no budget",
      { .type = SNI_RECORD_REQ,
        .id = 7,
        .address = TEXT("a"),
        .headers = WIRE("\x81\xa3key\xc4\x02to") } },
    { "REQ with neither", { .type = SNI_RECORD_REQ, .id = 1, .address = TEXT("a.b") } },
    { "RES", { .type = SNI_RECORD_RES, .id = 77, .body = WIRE("\xc0") } },
    { "ERR with a detail",
      { .type = SNI_RECORD_ERR,
        .id = 9,
        .kind = SENNIT_KIND_RECIPIENT_FAILURE,
        .ran = SENNIT_RAN_YES,
        .code = -5,
        .message = TEXT("no such symbol"),
        .detail_id = 0x1a2b3c01,
        .body = WIRE("\x81\x01\xa1x") } },
    { "ERR of a kind nobody knows",
      { .type = SNI_RECORD_ERR, .id = 9, .kind = 4000000000u, .ran = SENNIT_RAN_NEVER } },
    { "SEND",
      { .type = SNI_RECORD_SEND, .address = TEXT("log"), .body = WIRE("hello") } },
    { "PUB",
      { .type = SNI_RECORD_PUB, .address = TEXT("pkg.install"), .body = WIRE("\x80") } },
    { "CANCEL", { .type = SNI_RECORD_CANCEL, .id = 3 } },
    { "PING", { .type = SNI_RECORD_PING, .id = 3 } },
    { "PONG", { .type = SNI_RECORD_PONG, .id = 3 } },
    { "GOAWAY", { .type = SNI_RECORD_GOAWAY } },
};

static void
assert_text_equal(sennit_str a, sennit_str b)
{
    assert_int_equal(a.size, b.size);
    if (a.size > 0)
        assert_memory_equal(a.data, b.data, a.size);
}

static void
assert_bytes_equal(sennit_bytes a, sennit_bytes b)
{
    assert_int_equal(a.size, b.size);
    if (a.size > 0)
        assert_memory_equal(a.data, b.data, a.size);
}

static void
assert_record_equal(const sni_record *a, const sni_record *b)
{
    assert_int_equal(a->type, b->type);
    assert_true(a->id == b->id);
    assert_text_equal(a->address, b->address);
    assert_true(a->budget_us == b->budget_us);
    assert_bytes_equal(a->headers, b->headers);
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->ran, b->ran);
    assert_int_equal(a->code, b->code);
    assert_text_equal(a->message, b->message);
    assert_int_equal(a->detail_id, b->detail_id);
    assert_bytes_equal(a->body, b->body);
    assert_memory_equal(a->hello.node, b->hello.node, sizeof a->hello.node);
    assert_true(a->hello.incarnation == b->hello.incarnation);
    assert_true(a->hello.proto_min == b->hello.proto_min);
    assert_true(a->hello.proto_max == b->hello.proto_max);
    assert_true(a->hello.features == b->hello.features);
    assert_true(a->hello.max_frame == b->hello.max_frame);
    assert_text_equal(a->hello.advertised, b->hello.advertised);
    assert_text_equal(a->hello.events, b->hello.events);
    assert_bytes_equal(a->hello.consumed, b->hello.consumed);
}

/* The oracle sees an optional number, then pairs of array and bin. */
static void
check_oracle_reads(sennit_bytes wire, size_t records, bool numbered)
{
    msgpack_unpacked out;
    size_t at = 0;

    msgpack_unpacked_init(&out);
    for (size_t i = numbered ? 0 : 1; i <= records * 2; i++) {
        assert_int_equal(
            msgpack_unpack_next(&out, (const char *)wire.data, wire.size, &at),
            MSGPACK_UNPACK_SUCCESS);
        assert_int_equal(out.data.type, i == 0       ? MSGPACK_OBJECT_POSITIVE_INTEGER
                                        : i % 2 == 1 ? MSGPACK_OBJECT_ARRAY
                                                     : MSGPACK_OBJECT_BIN);
    }
    assert_int_equal(at, wire.size);
    msgpack_unpacked_destroy(&out);
}

static void
check_row(void **state)
{
    const record_row *row = *state;
    sennit_buf buf;
    sni_frame frame;
    sni_record back;
    size_t bound = SNI_RECORD_OVERHEAD + row->record.address.size +
                   row->record.headers.size + row->record.message.size +
                   row->record.body.size + row->record.hello.advertised.size +
                   row->record.hello.events.size + row->record.hello.consumed.size +
                   SENNIT_NODE_ID_SIZE;

    sennit_buf_init(&buf, NULL);
    sni_record_write(&buf, &row->record);
    assert_int_equal(buf.err, SENNIT_OK);
    assert_true(buf.size <= bound);
    check_oracle_reads(sennit_buf_bytes(&buf), 1, false);
    sni_frame_init(&frame, sennit_buf_bytes(&buf));
    assert_false(frame.numbered);
    assert_int_equal(sni_frame_read(&frame, &back), SNI_FRAME_RECORD);
    assert_record_equal(&back, &row->record);
    assert_int_equal(sni_frame_read(&frame, &back), SNI_FRAME_END);

    for (size_t cut = 0; cut < buf.size; cut++) {
        sni_frame_init(&frame, (sennit_bytes){ buf.data, cut });
        assert_int_equal(sni_frame_read(&frame, &back), SNI_FRAME_BAD);
        assert_true(frame.reason[0] != '\0');
        assert_true(frame.offset <= cut);
    }
    sennit_buf_fini(&buf);
}

static void
T4_a_frame_is_a_number_and_any_number_of_records(void **state)
{
    sennit_buf buf;
    sni_frame frame;
    sni_record back;
    size_t count = sizeof rows / sizeof rows[0];
    size_t read = 0;

    (void)state;
    sennit_buf_init(&buf, NULL);
    sennit_pack_uint(&buf, 70000);
    for (size_t i = 0; i < count; i++)
        sni_record_write(&buf, &rows[i].record);
    check_oracle_reads(sennit_buf_bytes(&buf), count, true);
    sni_frame_init(&frame, sennit_buf_bytes(&buf));
    assert_true(frame.numbered);
    assert_int_equal(frame.sequence, 70000);
    while (sni_frame_read(&frame, &back) == SNI_FRAME_RECORD)
        assert_record_equal(&back, &rows[read++].record);
    assert_int_equal(read, count);

    /* Wherever it is cut: whole records, then BAD (or END between two). */
    for (size_t cut = 0; cut < buf.size; cut++) {
        sni_frame_next next;

        read = 0;
        sni_frame_init(&frame, (sennit_bytes){ buf.data, cut });
        while ((next = sni_frame_read(&frame, &back)) == SNI_FRAME_RECORD)
            assert_record_equal(&back, &rows[read++].record);
        if (next == SNI_FRAME_END)
            assert_true(read > 0 && frame.at == cut);
    }
    sennit_buf_fini(&buf);
}

/* ---- Malformed frames ------------------------------------------------- */

typedef struct bad_row {
    const char *name;
    sennit_bytes wire;
    const char *reason; /* NULL: fine */
} bad_row;

static const bad_row bad_rows[] = {
    { "T4 an empty frame", WIRE(""), "a frame has no records" },
    { "T4 a number alone", WIRE("\x05"), "a frame has no records" },
    { "T4 a negative number", WIRE("\xff\x91\x01\xc4\x00"),
      "a record's header must be an array of 1 to 32 elements" },
    { "T4 a number cut off", WIRE("\xcd\x01"), "the value is cut off" },
    { "T4 two numbers", WIRE("\x05\x06\x91\x01\xc4\x00"),
      "a record's header must be an array of 1 to 32 elements" },
    { "T4 a header that is a map", WIRE("\x81\x01\x01\xc4\x00"),
      "a record's header must be an array of 1 to 32 elements" },
    { "T4 a header without elements", WIRE("\x90\xc4\x00"),
      "a record's header must be an array of 1 to 32 elements" },
    { "T4 a body that is a str", WIRE("\x91\x01\xa0"),
      "a record's body must be a bin that lies whole in its frame" },
    { "T4 no body", WIRE("\x91\x01"), "a record has no body" },
    { "T4 a body longer than its frame", WIRE("\x91\x01\xc6\xff\xff\xff\xff"),
      "a record's body must be a bin that lies whole in its frame" },
    { "T5 a type that is a text", WIRE("\x91\xa1x\xc4\x00"),
      "a record's type must be an integer" },
    { "T5 an unknown type", WIRE("\x91\x10\xc4\x00"), "unknown record type" },
    { "T5 a stream's DATA", WIRE("\x91\x08\xc4\x00"),
      "DATA records (streams) are not built yet" },
    { "T5 a stream's END", WIRE("\x91\x09\xc4\x00"),
      "END records (streams) are not built yet" },
    { "T5 a stream's CREDIT", WIRE("\x91\x0a\xc4\x00"),
      "CREDIT records (streams) are not built yet" },
    { "T5 a monitor's WATCH", WIRE("\x91\x0e\xc4\x00"),
      "WATCH records (monitors) are not built yet" },
    { "T5 a monitor's DOWN", WIRE("\x91\x0f\xc4\x00"),
      "DOWN records (monitors) are not built yet" },
    { "T5 an unknown type that is optional", WIRE("\x93\xcc\x90\x01\x02\xc4\x01x"),
      NULL },
    { "T4 an id that is a text", WIRE("\x92\x03\xa1x\xc4\x00"), "expected an integer" },
    { "T4 a REQ without an address", WIRE("\x92\x02\x01\xc4\x00"),
      "a record's address is malformed" },
    { "T4 a REQ to a pattern",
      WIRE("\x93\x02\x01\xa3"
           "a.*\xc4\x00"),
      "a record's address is malformed" },
    { "T4 an address that is not UTF-8", WIRE("\x93\x02\x01\xa2\xc3\x28\xc4\x00"),
      "a str is not UTF-8" },
    { "H1 headers that are an array",
      WIRE("\x95\x02\x01\xa1"
           "a\xc0\x90\xc4\x00"),
      "headers must map str to str or bin" },
    { "H1 a header that is a number",
      WIRE("\x95\x02\x01\xa1"
           "a\xc0\x81\xa1k\x05\xc4\x00"),
      "headers must map str to str or bin" },
    { "H1 a header that is a text",
      WIRE("\x95\x02\x01\xa1"
           "a\xc0\x81\xa1k\xa1v\xc4\x00"),
      NULL },
    { "T4 elements nobody knows are skipped",
      WIRE("\x97\x02\x01\xa1"
           "a\xc0\xc0\x07\x81\x01\x02\xc4\x00"),
      NULL },
    { "H3 a header of five levels", WIRE("\x92\x02\x91\x91\x91\x91\x91\xc0\xc4\x00"),
      "nesting is too deep" },
    { "H3 a header that asks for 2^32 elements", WIRE("\xdd\xff\xff\xff\xff"),
      "a count is larger than the bytes that are left" },
    { "R1 an ERR that says success", WIRE("\x93\x04\x01\x00\xc4\x00"),
      "an ERR record says success" },
    { "R1 an ERR whose ran is 3", WIRE("\x94\x04\x01\x03\x03\xc4\x00"),
      "integer out of range" },
    { "T2 a HELLO without a node id", WIRE("\x92\x00\x00\xc4\x00"),
      "a node id must have 16 bytes" },
    { "T2 a HELLO with a short node id", WIRE("\x93\x00\x00\xc4\x02xx\xc4\x00"),
      "a node id must have 16 bytes" },
    { "T2 a HELLO that consumes a malformed address",
      WIRE("\x9b\x00\x00\xc4\x10"
           "0123456789abcdef\x01\x01\x01\x00\xcd\xff\xff\xa0\xa0\x91\xa2..\xc4\x00"),
      "a consumed address is malformed" },
    { "T2 a HELLO with the least there is",
      WIRE("\x93\x00\x00\xc4\x10"
           "0123456789abcdef\xc4\x00"),
      NULL },
};

static void
check_bad_row(void **state)
{
    const bad_row *row = *state;
    sni_frame frame;
    sni_record record;
    sni_frame_next next;

    sni_frame_init(&frame, row->wire);
    do
        next = sni_frame_read(&frame, &record);
    while (next == SNI_FRAME_RECORD);
    if (row->reason == NULL) {
        assert_int_equal(next, SNI_FRAME_END);
        return;
    }
    assert_int_equal(next, SNI_FRAME_BAD);
    assert_string_equal(frame.reason, row->reason);
}

static void
H1_headers_over_8_kib_are_refused_on_both_sides(void **state)
{
    static char long_value[SENNIT_HEADERS_MAX + 16];
    sennit_header header = { TEXT("k"),
                             { (const uint8_t *)long_value, SENNIT_HEADERS_MAX - 7 } };
    sni_record record = { .type = SNI_RECORD_SEND, .address = TEXT("a") };
    sni_record back;
    sennit_buf headers;
    sennit_buf buf;
    sni_frame frame;
    sennit_err err;

    (void)state;
    sennit_buf_init(&headers, NULL);
    sennit_buf_init(&buf, NULL);
    assert_int_equal(sni_headers_write(&headers, &header, 1), SENNIT_OK);
    for (int over = 0; over < 8; over++) {
        record.headers = sennit_buf_bytes(&headers);
        sennit_buf_clear(&buf);
        sni_record_write(&buf, &record);
        sni_frame_init(&frame, sennit_buf_bytes(&buf));
        if (headers.size <= SENNIT_HEADERS_MAX) {
            assert_int_equal(sni_frame_read(&frame, &back), SNI_FRAME_RECORD);
        } else {
            assert_int_equal(sni_frame_read(&frame, &back), SNI_FRAME_BAD);
            assert_string_equal(frame.reason, "headers are larger than 8 KiB");
        }
        header.value.size++;
        sennit_buf_clear(&headers);
        err = sni_headers_write(&headers, &header, 1);
        assert_int_equal(err,
                         headers.size > SENNIT_HEADERS_MAX ? SENNIT_EMSGSIZE : SENNIT_OK);
    }
    assert_true(headers.size > SENNIT_HEADERS_MAX);
    sennit_buf_fini(&headers);
    sennit_buf_fini(&buf);
}

static void
H1_keys_are_lower_case_and_not_ours(void **state)
{
    static const struct {
        sennit_str key;
        sennit_err err;
    } keys[] = { { TEXT("traceparent"), SENNIT_OK }, { TEXT("Trace"), SENNIT_EINVAL },
                 { TEXT(""), SENNIT_EINVAL },        { TEXT("sennit-x"), SENNIT_EINVAL },
                 { TEXT("sennit"), SENNIT_OK },      { TEXT("\xff"), SENNIT_EINVAL } };
    sennit_bytes value;
    sennit_buf buf;

    (void)state;
    sennit_buf_init(&buf, NULL);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        sennit_header header = { keys[i].key, WIRE("v") };

        sennit_buf_clear(&buf);
        assert_int_equal(sni_headers_write(&buf, &header, 1), keys[i].err);
        if (keys[i].err == SENNIT_OK) {
            assert_true(sni_headers_find(sennit_buf_bytes(&buf), keys[i].key, &value));
            assert_int_equal(value.size, 1);
            assert_false(
                sni_headers_find(sennit_buf_bytes(&buf), (sennit_str)TEXT("no"), &value));
        }
    }
    sennit_buf_fini(&buf);
}

static void
mutated_frames_never_lead_outside(void **state)
{
    test_rng rng = { 42 };
    sennit_buf buf;
    unsigned fine = 0;

    (void)state;
    sennit_buf_init(&buf, NULL);
    for (int round = 0; round < 100000; round++) {
        const record_row *row = &rows[test_rng_below(&rng, sizeof rows / sizeof rows[0])];
        sni_frame frame;
        sni_record record;
        uint8_t *exact;

        sennit_buf_clear(&buf);
        sennit_pack_uint(&buf, 1);
        sni_record_write(&buf, &row->record);
        for (uint64_t hits = test_rng_below(&rng, 4); hits > 0; hits--)
            buf.data[test_rng_below(&rng, buf.size)] = (uint8_t)test_rng_next(&rng);
        exact = malloc(buf.size); /* so that a sanitizer sees one byte too many */
        assert_non_null(exact);
        memcpy(exact, buf.data, buf.size);
        assert_int_equal(LLVMFuzzerTestOneInput(exact, buf.size), 0);
        sni_frame_init(&frame, (sennit_bytes){ exact, buf.size });
        while (sni_frame_read(&frame, &record) == SNI_FRAME_RECORD) {
            assert_true(record.body.size <= buf.size);
            assert_true(record.address.size <= SENNIT_ADDRESS_MAX);
            assert_true(record.headers.size <= SENNIT_HEADERS_MAX);
            fine++;
        }
        free(exact);
    }
    assert_true(fine > 10000);
    sennit_buf_fini(&buf);
}

int
main(void)
{
    static const struct CMUnitTest fixed[] = {
        cmocka_unit_test(T4_a_frame_is_a_number_and_any_number_of_records),
        cmocka_unit_test(H1_headers_over_8_kib_are_refused_on_both_sides),
        cmocka_unit_test(H1_keys_are_lower_case_and_not_ours),
        cmocka_unit_test(mutated_frames_never_lead_outside),
    };
    static test_suite suite;

    TEST_SUITE_ROWS(&suite, "", rows, check_row);
    TEST_SUITE_ROWS(&suite, "malformed: ", bad_rows, check_bad_row);
    TEST_SUITE_ADD(&suite, fixed);
    return test_suite_run(&suite);
}
