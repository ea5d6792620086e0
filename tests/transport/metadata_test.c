/* SPDX-License-Identifier: MIT */
#include "sennit_test.h"

#include "suite.h"
#include "wire/metadata.h"

#define WIRE(literal) literal, sizeof(literal) - 1

static const struct metadata_row {
    const char *name;
    const char *wire;
    size_t wire_size;
    size_t properties;   /* read before the end or the problem */
    const char *problem; /* NULL: it ends well */
} rows[] = {
    { "nothing", WIRE(""), 0, NULL },
    { "one property", WIRE("\1a\0\0\0\2xy"), 1, NULL },
    { "an empty value", WIRE("\1a\0\0\0\0"), 1, NULL },
    { "two properties", WIRE("\1a\0\0\0\1x\2b-\0\0\0\0"), 2, NULL },
    { "every legal octet in a name", WIRE("\10aZ09-_.+\0\0\0\0"), 1, NULL },
    { "no name", WIRE("\0\0\0\0\1x"), 0, "metadata property without a name" },
    { "no name behind a good property", WIRE("\1a\0\0\0\0\0"), 1,
      "metadata property without a name" },
    { "a name that overruns", WIRE("\5ab"), 0, "metadata property that is cut short" },
    { "cut after the name", WIRE("\1a"), 0, "metadata property that is cut short" },
    { "cut inside the length", WIRE("\1a\0\0"), 0,
      "metadata property that is cut short" },
    { "one octet behind", WIRE("\1a\0\0\0\1x\1"), 1,
      "metadata property that is cut short" },
    { "a value that overruns", WIRE("\1a\0\0\0\3xy"), 0,
      "metadata property value longer than the command" },
    { "a value of 2^32-1", WIRE("\1a\xff\xff\xff\xff"), 0,
      "metadata property value longer than the command" },
    { "a space in a name", WIRE("\2a \0\0\0\0"), 0,
      "metadata property name with an illegal octet" },
    { "a zero octet in a name", WIRE("\2a\0\0\0\0\0"), 0,
      "metadata property name with an illegal octet" },
};

static void
check_row(void **state)
{
    const struct metadata_row *row = *state;
    sennit_bytes rest = sni_bytes(row->wire, row->wire_size);
    sni_property property;
    const char *problem = NULL;
    size_t count = 0;
    sni_parse parse;

    while ((parse = sni_property_read(&rest, &property, &problem)) == SNI_PARSE_DONE)
        count++;
    assert_int_equal(count, row->properties);
    if (row->problem == NULL) {
        assert_int_equal(parse, SNI_PARSE_MORE);
        assert_int_equal(rest.size, 0);
        return;
    }
    assert_int_equal(parse, SNI_PARSE_BAD);
    assert_string_equal(problem, row->problem);
}

static void
a_written_property_reads_back(void **state)
{
    uint8_t out[64];
    size_t size = sni_property_write(out, "X-role", SNI_BYTES_OF("worker"));
    sennit_bytes rest = sni_bytes(out, size);
    sni_property property;
    const char *problem;

    (void)state;
    assert_int_equal(size, 5 + 6 + 6);
    assert_int_equal(sni_property_read(&rest, &property, &problem), SNI_PARSE_DONE);
    assert_true(sni_bytes_equal(property.value, SNI_BYTES_OF("worker")));
    assert_true(sni_property_is(&property, "X-role"));
    assert_true(sni_property_is(&property, "x-ROLE"));
    assert_false(sni_property_is(&property, "X-rol"));
    assert_false(sni_property_is(&property, "X-roles"));
    assert_int_equal(rest.size, 0);
    assert_int_equal(sni_property_size(&property), size);
}

static void
the_first_property_of_a_name_is_found(void **state)
{
    sennit_bytes metadata = SNI_BYTES_OF("\3X-a\0\0\0\1p\4X-ab\0\0\0\0\3x-A\0\0\0\1q");
    sennit_bytes value = { NULL, 77 };

    (void)state;
    assert_true(sni_property_find(metadata, SNI_BYTES_OF("X-A"), &value));
    assert_true(sni_bytes_equal(value, SNI_BYTES_OF("p")));
    assert_true(sni_property_find(metadata, SNI_BYTES_OF("x-ab"), &value));
    assert_int_equal(value.size, 0);
    value.size = 77;
    assert_false(sni_property_find(metadata, SNI_BYTES_OF("X-"), &value));
    assert_false(sni_property_find(metadata, SNI_BYTES_OF("X-abc"), &value));
    assert_false(sni_property_find(sni_bytes(NULL, 0), SNI_BYTES_OF("X-a"), &value));
    assert_int_equal(value.size, 77);
}

int
main(void)
{
    static const struct CMUnitTest fixed[] = {
        cmocka_unit_test(a_written_property_reads_back),
        cmocka_unit_test(the_first_property_of_a_name_is_found),
    };
    static test_suite suite;

    TEST_SUITE_ROWS(&suite, "", rows, check_row);
    TEST_SUITE_ADD(&suite, fixed);
    return test_suite_run(&suite);
}
