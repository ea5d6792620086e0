/* SPDX-License-Identifier: MIT */
#include "sennit_test.h"

#include "base/limits.h"
#include "suite.h"
#include "wire/command.h"
#include "wire/metadata.h"
#include "wire/ready.h"
#include "wire/socktype.h"

#define WIRE(literal)         literal, sizeof(literal) - 1
#define TYPE(size, name)      "\13Socket-Type\0\0\0" size name
#define IDENTITY(size, value) "\10Identity\0\0\0" size value

static const struct ready_row {
    const char *name;
    const char *metadata;
    size_t size;
    const char *problem; /* as a ROUTER; NULL: accepted */
    const char *identity;
} rows[] = {
    { "type and identity", WIRE(TYPE("\6", "DEALER") IDENTITY("\3", "abc")), NULL,
      "abc" },
    { "the other way round", WIRE(IDENTITY("\3", "abc") TYPE("\6", "DEALER")), NULL,
      "abc" },
    { "an empty identity", WIRE(TYPE("\6", "DEALER") IDENTITY("\0", "")), NULL, "" },
    { "no identity", WIRE(TYPE("\3", "REQ")), NULL, "" },
    { "no metadata at all", WIRE(""), NULL, "" },
    { "no type, as libzmq accepts", WIRE(IDENTITY("\1", "q")), NULL, "q" },
    { "property names without case",
      WIRE("\13socket-TYPE\0\0\0\6DEALER\10identity\0\0\0\2zz"), NULL, "zz" },
    { "properties nobody knows", WIRE(TYPE("\6", "DEALER") "\6X-role\0\0\0\6worker"),
      NULL, "" },
    { "a type that does not go with ours", WIRE(TYPE("\3", "PUB")),
      "socket types do not go together", "" },
    { "a type in small letters", WIRE(TYPE("\6", "dealer")),
      "socket types do not go together", "" },
    { "an empty type", WIRE(TYPE("\0", "")), "socket types do not go together", "" },
    { "the type twice", WIRE(TYPE("\6", "DEALER") TYPE("\6", "DEALER")),
      "Socket-Type given twice", "" },
    { "the identity twice", WIRE(IDENTITY("\1", "a") IDENTITY("\1", "b")),
      "Identity given twice", "" },
    { "something behind the last property", WIRE(TYPE("\6", "DEALER") "\1"),
      "metadata property that is cut short", "" },
};

static void
check_row(void **state)
{
    const struct ready_row *row = *state;
    sni_ready ready;
    bool ok = sni_ready_read(sni_bytes(row->metadata, row->size), SENNIT_ROUTER, &ready);

    assert_int_equal(ok, row->problem == NULL);
    if (row->problem != NULL)
        assert_string_equal(ready.problem, row->problem);
    else
        assert_true(sni_bytes_equal(ready.identity,
                                    sni_bytes(row->identity, strlen(row->identity))));
}

static void
identities_end_at_255_octets(void **state)
{
    uint8_t value[256];
    uint8_t metadata[400];
    sni_ready ready;

    (void)state;
    memset(value, 'i', sizeof value);
    for (size_t size = 254; size <= 256; size++) {
        size_t used = sni_property_write(metadata, "Identity", sni_bytes(value, size));

        assert_int_equal(sni_ready_read(sni_bytes(metadata, used), SENNIT_ROUTER, &ready),
                         size <= 255);
        if (size > 255)
            assert_string_equal(ready.problem, "identity over 255 octets");
        else
            assert_int_equal(ready.identity.size, size);
    }
}

static void
the_number_of_properties_is_bounded(void **state)
{
    uint8_t metadata[8 * (SNI_METADATA_PROPERTIES_MAX + 1)];
    size_t used = 0;
    sni_ready ready;

    (void)state;
    for (unsigned i = 0; i < SNI_METADATA_PROPERTIES_MAX; i++)
        used += sni_property_write(metadata + used, "X-a", sni_bytes(NULL, 0));
    assert_true(sni_ready_read(sni_bytes(metadata, used), SENNIT_ROUTER, &ready));
    used += sni_property_write(metadata + used, "X-a", sni_bytes(NULL, 0));
    assert_false(sni_ready_read(sni_bytes(metadata, used), SENNIT_ROUTER, &ready));
    assert_string_equal(ready.problem, "too many metadata properties");
}

static void
every_type_writes_a_ready_its_peers_accept(void **state)
{
    uint8_t identity[SENNIT_IDENTITY_MAX];

    (void)state;
    memset(identity, 'x', sizeof identity);
    for (int type = SENNIT_PAIR; type <= SENNIT_XSUB; type++) {
        for (int peer = SENNIT_PAIR; peer <= SENNIT_XSUB; peer++) {
            uint8_t out[SNI_READY_MAX];
            size_t size = sni_ready_write(out, (sennit_sock_type)type,
                                          sni_bytes(identity, sizeof identity));
            const char *name = sennit_sock_type_name((sennit_sock_type)type);
            bool fits = sni_socktype_accepts((sennit_sock_type)peer,
                                             sni_bytes(name, strlen(name)));
            sni_frame_head head = { 0 };
            sni_command command;
            sni_ready ready;
            size_t used = 0;

            assert_true(size <= sizeof out);
            assert_int_equal(sni_frame_head_read(sni_bytes(out, size), &head, &used),
                             SNI_PARSE_DONE);
            assert_null(sni_command_read(sni_bytes(out + used, size - used), &command));
            assert_int_equal(command.kind, SNI_COMMAND_READY);
            assert_int_equal(sni_ready_read(command.data, (sennit_sock_type)peer, &ready),
                             fits);
            if (fits)
                assert_int_equal(ready.type, type);
            if (fits)
                assert_int_equal(ready.identity.size,
                                 sni_socktype_has_identity((sennit_sock_type)type) ? 255
                                                                                   : 0);
        }
    }
}

static void
properties_of_others_are_copied_as_they_stand(void **state)
{
    sennit_bytes metadata = SNI_BYTES_OF("\3X-a\0\0\0\1p" IDENTITY(
        "\1", "q") "\1b\0\0\0\0" TYPE("\3", "REQ") "\1c\0\0\0\2rs");
    uint8_t copy[64];
    sni_ready ready;

    (void)state;
    assert_true(sni_ready_read(metadata, SENNIT_ROUTER, &ready));
    assert_int_equal(ready.type, SENNIT_REQ);
    assert_int_equal(ready.properties_size, 9 + 6 + 8);
    sni_ready_copy_properties(metadata, copy);
    assert_memory_equal(copy, "\3X-a\0\0\0\1p\1b\0\0\0\0\1c\0\0\0\2rs", 9 + 6 + 8);
    assert_true(sni_ready_read(sni_bytes(NULL, 0), SENNIT_ROUTER, &ready));
    assert_int_equal(ready.type, -1);
    assert_int_equal(ready.properties_size, 0);
}

static void
our_properties_stand_behind_what_is_ours(void **state)
{
    static const char properties[] = "\3X-a\0\0\0\1p";
    uint8_t plain[SNI_READY_MAX];
    uint8_t out[SNI_READY_MAX + sizeof properties];
    size_t plain_size = sni_ready_write(plain, SENNIT_SUB, sni_bytes(NULL, 0));
    size_t size = sni_ready_write_with(out, SENNIT_SUB, sni_bytes(NULL, 0),
                                       sni_bytes(properties, sizeof properties - 1));

    (void)state;
    assert_int_equal(size, plain_size + sizeof properties - 1);
    assert_int_equal(out[1], plain[1] + sizeof properties - 1);
    assert_memory_equal(out + 2, plain + 2, plain_size - 2);
    assert_memory_equal(out + plain_size, properties, sizeof properties - 1);
}

int
main(void)
{
    static const struct CMUnitTest fixed[] = {
        cmocka_unit_test(identities_end_at_255_octets),
        cmocka_unit_test(the_number_of_properties_is_bounded),
        cmocka_unit_test(every_type_writes_a_ready_its_peers_accept),
        cmocka_unit_test(properties_of_others_are_copied_as_they_stand),
        cmocka_unit_test(our_properties_stand_behind_what_is_ours),
    };
    static test_suite suite;

    TEST_SUITE_ROWS(&suite, "", rows, check_row);
    TEST_SUITE_ADD(&suite, fixed);
    return test_suite_run(&suite);
}
