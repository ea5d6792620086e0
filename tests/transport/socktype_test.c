/* SPDX-License-Identifier: MIT */
#include "sennit_test.h"

#include "wire/socktype.h"

/* RFCs 28 to 31: who may talk to whom, written as a picture. */
static const char *const types[] = { "PAIR",   "PUB",  "SUB",  "REQ",  "REP",  "DEALER",
                                     "ROUTER", "PULL", "PUSH", "XPUB", "XSUB", "STREAM" };

#define TYPES (int)(sizeof types / sizeof types[0])

static const char accepts[][13] = {
    /*            PAIR PUB SUB REQ REP DEALER ROUTER PULL PUSH XPUB XSUB STREAM */
    /* PAIR   */ "x...........",
    /* PUB    */ "..x.......x.",
    /* SUB    */ ".x.......x..",
    /* REQ    */ "....x.x.....",
    /* REP    */ "...x.x......",
    /* DEALER */ "....xxx.....",
    /* ROUTER */ "...x.xx.....",
    /* PULL   */ "........x...",
    /* PUSH   */ ".......x....",
    /* XPUB   */ "..x.......x.",
    /* XSUB   */ ".x.......x..",
    /* STREAM */ "............",
};

static sennit_bytes
text(const char *string)
{
    return sni_bytes(string, strlen(string));
}

static void
types_go_together_as_the_rfcs_say(void **state)
{
    (void)state;
    for (int ours = 0; ours < TYPES; ours++) {
        for (int peer = 0; peer < TYPES; peer++) {
            bool expected = accepts[ours][peer] == 'x';

            if (sni_socktype_accepts((sennit_sock_type)ours, text(types[peer])) !=
                    expected ||
                sni_socktype_accepts_number((sennit_sock_type)ours, (unsigned)peer) !=
                    expected)
                fail_msg("%s and %s", types[ours], types[peer]);
        }
        assert_int_equal(sni_socktype_of(text(types[ours])), ours);
        assert_false(sni_socktype_accepts_number((sennit_sock_type)ours, TYPES));
    }
    assert_int_equal(sni_socktype_of(text("XREQ")), -1);
    assert_int_equal(sni_socktype_of(text("dealer")), -1);
}

static void
names_are_compared_exactly(void **state)
{
    (void)state;
    assert_false(sni_socktype_accepts(SENNIT_ROUTER, text("XREQ")));
    assert_false(sni_socktype_accepts(SENNIT_ROUTER, text("DEALER ")));
    assert_false(sni_socktype_accepts(SENNIT_ROUTER, text("DEALE")));
}

static void
only_req_dealer_and_router_announce_an_identity(void **state)
{
    (void)state;
    for (int type = 0; type < TYPES; type++)
        assert_int_equal(sni_socktype_has_identity((sennit_sock_type)type),
                         type == SENNIT_REQ || type == SENNIT_DEALER ||
                             type == SENNIT_ROUTER);
}

static void
names_parse_without_case_and_read_back(void **state)
{
    (void)state;
    for (int type = 0; type < TYPES; type++) {
        sennit_sock_type parsed;

        assert_string_equal(sennit_sock_type_name((sennit_sock_type)type), types[type]);
        assert_int_equal(sennit_sock_type_parse(types[type], &parsed), SENNIT_OK);
        assert_int_equal(parsed, type);
    }
}

static void
names_that_are_not_built_or_not_known_are_told_apart(void **state)
{
    sennit_sock_type type = SENNIT_PULL;

    (void)state;
    assert_int_equal(sennit_sock_type_parse("dealer", &type), SENNIT_OK);
    assert_int_equal(type, SENNIT_DEALER);
    assert_int_equal(sennit_sock_type_parse("RADIO", &type), SENNIT_ENOTSUP);
    assert_int_equal(sennit_sock_type_parse("server", &type), SENNIT_ENOTSUP);
    assert_int_equal(sennit_sock_type_parse("DEALERS", &type), SENNIT_ENOENT);
    assert_int_equal(sennit_sock_type_parse("", &type), SENNIT_ENOENT);
    assert_int_equal(type, SENNIT_DEALER);
    assert_string_equal(sennit_sock_type_name((sennit_sock_type)77), "?");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_go_together_as_the_rfcs_say),
        cmocka_unit_test(names_are_compared_exactly),
        cmocka_unit_test(only_req_dealer_and_router_announce_an_identity),
        cmocka_unit_test(names_parse_without_case_and_read_back),
        cmocka_unit_test(names_that_are_not_built_or_not_known_are_told_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
