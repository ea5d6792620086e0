/* SPDX-License-Identifier: MIT */
#include "sennit_test.h"

#include "wire/greeting.h"

/* One change to our own greeting, and what a peer that sends the result gets. */
static const struct greeting_row {
    const char *name;
    size_t at;
    uint8_t octet;
    sni_parse parse;
    uint8_t minor;
    const char *problem;
    size_t reply; /* octets of ours that may go out by then */
    size_t known; /* after how many octets the outcome is known */
} rows[] = {
    { "our own greeting is accepted", 0, 0xff, SNI_PARSE_DONE, 1, NULL, 64, 64 },
    { "minor 0 is spoken to as 3.0", 11, 0, SNI_PARSE_DONE, 0, NULL, 64, 64 },
    { "minor 2 is spoken to as 3.1", 11, 2, SNI_PARSE_DONE, 1, NULL, 64, 64 },
    { "major 4 is spoken to as 3.1", 10, 4, SNI_PARSE_DONE, 1, NULL, 64, 64 },
    { "major 255 is spoken to as 3.1", 10, 255, SNI_PARSE_DONE, 1, NULL, 64, 64 },
    { "padding does not matter", 4, 0xaa, SNI_PARSE_DONE, 1, NULL, 64, 64 },
    { "of octet 9 only bit 0 matters", 9, 0x01, SNI_PARSE_DONE, 1, NULL, 64, 64 },
    { "as-server does not matter", 32, 1, SNI_PARSE_DONE, 1, NULL, 64, 64 },
    { "filler does not matter", 63, 0xee, SNI_PARSE_DONE, 1, NULL, 64, 64 },
    { "another first octet is not ZMTP 3", 0, 'G', SNI_PARSE_BAD, 0,
      "not a ZMTP 3 greeting (a ZMTP 1.0 peer, or no ZMTP at all)", 10, 1 },
    { "bit 0 of octet 9 clear is ZMTP 1.0", 9, 0x7e, SNI_PARSE_BAD, 0,
      "ZMTP 1.0 peer: not built yet", 10, 10 },
    { "major 0 is ZMTP 2.0", 10, 0, SNI_PARSE_BAD, 0, "ZMTP 2.0 peer: not built yet", 11,
      11 },
    { "major 1 is ZMTP 2.0", 10, 1, SNI_PARSE_BAD, 0, "ZMTP 2.0 peer: not built yet", 11,
      11 },
    { "mechanisms are compared with case", 12, 'n', SNI_PARSE_BAD, 0,
      "security mechanisms differ", 64, 64 },
    { "mechanisms are compared to the last octet", 31, 'X', SNI_PARSE_BAD, 0,
      "security mechanisms differ", 64, 64 },
};

static void
check_row(void **state)
{
    const struct greeting_row *row = *state;
    uint8_t wire[SNI_GREETING_SIZE];

    sni_greeting_write(wire, "NULL");
    wire[row->at] = row->octet;
    for (size_t size = 0; size <= SNI_GREETING_SIZE; size++) {
        sni_greeting greeting = { 99, NULL };
        size_t reply = 0;
        sni_parse parse =
            sni_greeting_read(sni_bytes(wire, size), "NULL", &greeting, &reply);

        if (size < row->known) {
            assert_int_equal(parse, SNI_PARSE_MORE);
            assert_int_equal(reply, size < 10 ? 10 : size < 11 ? 11 : 64);
            continue;
        }
        assert_int_equal(parse, row->parse);
        assert_int_equal(reply, row->reply);
        if (row->problem != NULL)
            assert_string_equal(greeting.problem, row->problem);
        else
            assert_int_equal(greeting.minor, row->minor);
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
    assert_int_equal(
        sni_greeting_read(sni_bytes(wire, 64), "ABCDEFGHIJKLMNOPQRST", &greeting, &reply),
        SNI_PARSE_DONE);
}

int
main(void)
{
    enum { ROWS = sizeof rows / sizeof rows[0] };
    struct CMUnitTest tests[ROWS + 2];

    for (size_t i = 0; i < ROWS; i++)
        tests[i] = (struct CMUnitTest){
            .name = rows[i].name,
            .test_func = check_row,
            .initial_state = (void *)(uintptr_t)&rows[i],
        };
    tests[ROWS] = (struct CMUnitTest)cmocka_unit_test(our_greeting_is_libzmqs);
    tests[ROWS + 1] =
        (struct CMUnitTest)cmocka_unit_test(a_mechanism_of_twenty_characters_fits);
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
