/* SPDX-License-Identifier: MIT */
#include "sennit_test.h"

#include "suite.h"
#include "wire/frame_v1.h"
#include "wire/greeting.h"

/* One change to our own greeting, and what a peer that sends the result gets. */
static const struct greeting_row {
    const char *name;
    size_t at;
    uint8_t octet;
    sni_parse parse;
    uint8_t major;
    uint8_t minor;
    const char *problem;
    size_t reply; /* octets of ours that may go out by then */
    size_t known; /* after how many octets the outcome is known */
    size_t size;  /* octets of the greeting */
    bool unversioned;
} rows[] = {
    { "our own greeting is accepted", 0, 0xff, SNI_PARSE_DONE, 3, 1, NULL, 64, 64, 64,
      false },
    { "minor 0 is spoken to as 3.0", 11, 0, SNI_PARSE_DONE, 3, 0, NULL, 64, 64, 64,
      false },
    { "minor 2 is spoken to as 3.1", 11, 2, SNI_PARSE_DONE, 3, 1, NULL, 64, 64, 64,
      false },
    { "major 2 is spoken to as 3.1", 10, 2, SNI_PARSE_DONE, 3, 1, NULL, 64, 64, 64,
      false },
    { "major 4 is spoken to as 3.1", 10, 4, SNI_PARSE_DONE, 3, 1, NULL, 64, 64, 64,
      false },
    { "major 5 is spoken to as 3.1", 10, 5, SNI_PARSE_DONE, 3, 1, NULL, 64, 64, 64,
      false },
    { "major 255 is spoken to as 3.1", 10, 255, SNI_PARSE_DONE, 3, 1, NULL, 64, 64, 64,
      false },
    { "padding does not matter", 4, 0xaa, SNI_PARSE_DONE, 3, 1, NULL, 64, 64, 64, false },
    { "of octet 9 only bit 0 matters", 9, 0x01, SNI_PARSE_DONE, 3, 1, NULL, 64, 64, 64,
      true },
    { "as-server does not matter", 32, 1, SNI_PARSE_DONE, 3, 1, NULL, 64, 64, 64, false },
    { "filler does not matter", 63, 0xee, SNI_PARSE_DONE, 3, 1, NULL, 64, 64, 64, false },
    { "another first octet is not ZMTP", 0, 'G', SNI_PARSE_BAD, 0, 0,
      "no ZMTP greeting (a ZMTP 1.0 peer, or no ZMTP at all)", 10, 1, 0, false },
    { "another first octet is ZMTP 1.0 if that is wanted", 0, 1, SNI_PARSE_DONE, 1, 0,
      NULL, 10, 1, 0, true },
    { "bit 0 of octet 9 clear is ZMTP 1.0", 9, 0x7e, SNI_PARSE_BAD, 0, 0,
      "ZMTP 1.0 peer without a version, which zmtp_unversioned would allow", 10, 10, 0,
      false },
    { "bit 0 of octet 9 clear is ZMTP 1.0 if that is wanted", 9, 0x7e, SNI_PARSE_DONE, 1,
      0, NULL, 10, 10, 0, true },
    { "revision 0 is versioned ZMTP 1.0", 10, 0, SNI_PARSE_DONE, 1, 0, NULL, 12, 12, 12,
      false },
    { "revision 1 is ZMTP 2.0", 10, 1, SNI_PARSE_DONE, 2, 0, NULL, 12, 12, 12, false },
    { "mechanisms are compared with case", 12, 'n', SNI_PARSE_BAD, 0, 0,
      "security mechanisms differ", 64, 64, 64, false },
    { "mechanisms are compared to the last octet", 31, 'X', SNI_PARSE_BAD, 0, 0,
      "security mechanisms differ", 64, 64, 64, false },
};

static void
check_row(void **state)
{
    const struct greeting_row *row = *state;
    uint8_t wire[SNI_GREETING_SIZE];

    sni_greeting_write(wire, "NULL");
    wire[row->at] = row->octet;
    for (size_t size = 0; size <= SNI_GREETING_SIZE; size++) {
        sni_greeting greeting = { 99, 99, 99, 99, NULL };
        size_t reply = 0;
        sni_parse parse = sni_greeting_read(sni_bytes(wire, size), "NULL",
                                            row->unversioned, &greeting, &reply);

        if (size < row->known) {
            assert_int_equal(parse, SNI_PARSE_MORE);
            assert_int_equal(reply, size < 10 ? 10 : size < 11 ? 11 : row->reply);
            continue;
        }
        assert_int_equal(parse, row->parse);
        assert_int_equal(reply, row->reply);
        if (row->problem != NULL) {
            assert_string_equal(greeting.problem, row->problem);
            continue;
        }
        assert_int_equal(greeting.major, row->major);
        assert_int_equal(greeting.minor, row->minor);
        assert_int_equal(greeting.size, row->size);
        if (row->size == SNI_GREETING_LEGACY_SIZE)
            assert_int_equal(greeting.type, wire[11]);
    }
}

/* Downgrading would take the security away. */
static void
a_version_without_mechanisms_is_refused_by_a_secured_socket(void **state)
{
    static const struct {
        const char *octets;
        size_t size;
    } peers[] = { { "\1", 1 },
                  { "\377\0\0\0\0\0\0\0\4\0", 10 },
                  { "\377\0\0\0\0\0\0\0\1\177\0", 11 },
                  { "\377\0\0\0\0\0\0\0\1\177\1", 11 } };

    (void)state;
    for (size_t i = 0; i < sizeof peers / sizeof peers[0]; i++) {
        sni_greeting greeting = { 0, 0, 0, 0, NULL };
        size_t reply;

        assert_int_equal(sni_greeting_read(sni_bytes(peers[i].octets, peers[i].size),
                                           "CURVE", true, &greeting, &reply),
                         SNI_PARSE_BAD);
        assert_string_equal(greeting.problem,
                            "peer's ZMTP version has no security mechanisms");
    }
}

/* To a 1.0 peer our signature is the head of our identity frame. */
static void
the_signature_is_the_head_of_an_identity_frame(void **state)
{
    uint8_t wire[SNI_GREETING_SIZE];

    (void)state;
    for (size_t size = 0; size <= SENNIT_IDENTITY_MAX; size++) {
        sni_frame_head head;
        size_t used;

        sni_greeting_write_identity(wire, "NULL", size);
        assert_int_equal(sni_frame_v1_head_read(sni_bytes(wire, 10), &head, &used),
                         SNI_PARSE_DONE);
        assert_int_equal(head.body_size, size);
        assert_int_equal(used, 10);
    }
}

static void
our_greeting_is_libzmqs(void **state)
{
    static const uint8_t libzmq[SNI_GREETING_SIZE] = {
        0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 1, 'N', 'U', 'L', 'L',
    };
    uint8_t wire[SNI_GREETING_SIZE];

    (void)state;
    sni_greeting_write(wire, "NULL");
    assert_memory_equal(wire, libzmq, SNI_GREETING_SIZE);
}

static void
a_mechanism_of_twenty_characters_fits(void **state)
{
    uint8_t wire[SNI_GREETING_SIZE];
    sni_greeting greeting;
    size_t reply;

    (void)state;
    sni_greeting_write(wire, "ABCDEFGHIJKLMNOPQRST");
    assert_int_equal(wire[32], 0);
    assert_int_equal(sni_greeting_read(sni_bytes(wire, 64), "ABCDEFGHIJKLMNOPQRST", false,
                                       &greeting, &reply),
                     SNI_PARSE_DONE);
}

int
main(void)
{
    static const struct CMUnitTest fixed[] = {
        cmocka_unit_test(our_greeting_is_libzmqs),
        cmocka_unit_test(a_mechanism_of_twenty_characters_fits),
        cmocka_unit_test(a_version_without_mechanisms_is_refused_by_a_secured_socket),
        cmocka_unit_test(the_signature_is_the_head_of_an_identity_frame),
    };
    static test_suite suite;

    TEST_SUITE_ROWS(&suite, "", rows, check_row);
    TEST_SUITE_ADD(&suite, fixed);
    return test_suite_run(&suite);
}
