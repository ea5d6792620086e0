/* SPDX-License-Identifier: MIT */
/* What peers tell about themselves, why they refuse us, what we say to them first, and
 * the wire bugs of theirs that are tolerated. */
#include "sennit_test.h"

#include <stdio.h>

#include "base/limits.h"
#include "rig.h"
#include "suite.h"
#include "wire/command.h"
#include "wire/greeting.h"
#include "wire/metadata.h"
#include "wire/ready.h"

#define WIRE(literal) literal, sizeof(literal) - 1
#define LEGACY        "\xff\0\0\0\0\0\0\0\1\x7f"

static uint8_t body[2048];

/* ---- properties ------------------------------------------------------- */

#define SOCKET_TYPE "\13Socket-Type\0\0\0\6DEALER"
#define IDENTITY    "\10Identity\0\0\0\2me"
#define ROLE        "\6X-Role\0\0\0\6worker"
#define EMPTY       "\7X-Empty\0\0\0\0"

static void
open_ready(test_rig *rig, const void *metadata, size_t size)
{
    test_rig_opts opts = TEST_RIG_DEFAULT(SENNIT_ROUTER);
    test_wire w = { NULL, 0, 0 };

    test_wire_greeting(&w, 1);
    test_wire_command(&w, "READY", metadata, size);
    test_rig_open_traffic(rig, &opts, &w);
    free(w.data);
}

static void
expect_property(const test_rig *rig, const char *name, const char *expected)
{
    sennit_bytes value = { NULL, 0 };
    bool found = sni_engine_property(rig->engine, sni_bytes(name, strlen(name)), &value);

    assert_int_equal(found, expected != NULL);
    if (found)
        assert_true(sni_bytes_equal(value, sni_bytes(expected, strlen(expected))));
}

static const struct property_row {
    const char *name;
    const char *metadata;
    size_t size;
    const char *identity;
    bool role;
} properties[] = {
    { "properties between and behind ours", WIRE(EMPTY SOCKET_TYPE ROLE IDENTITY), "me",
      true },
    { "properties in front of ours", WIRE(ROLE EMPTY IDENTITY SOCKET_TYPE), "me", true },
    { "properties alone", WIRE(ROLE EMPTY), "", true },
    { "an identity alone", WIRE(SOCKET_TYPE IDENTITY), "me", false },
    { "neither", WIRE(SOCKET_TYPE), "", false },
    { "nothing at all", WIRE(""), "", false },
};

static void
check_properties(void **state)
{
    const struct property_row *row = *state;
    test_rig rig;

    open_ready(&rig, row->metadata, row->size);
    expect_property(&rig, "X-Role", row->role ? "worker" : NULL);
    expect_property(&rig, "x-rOLE", row->role ? "worker" : NULL);
    expect_property(&rig, "X-Empty", row->role ? "" : NULL);
    expect_property(&rig, "X-Rol", NULL);
    expect_property(&rig, "X-Role2", NULL);
    expect_property(&rig, "Socket-Type", NULL);
    expect_property(&rig, "Identity", NULL);
    expect_property(&rig, "", NULL);
    assert_true(sni_bytes_equal(sni_engine_identity(rig.engine),
                                sni_bytes(row->identity, strlen(row->identity))));
    test_rig_close(&rig);
}

/* Memory of an idle connection, in allocations and bytes beyond the engine itself. */
static void
what_a_peer_said_costs_one_allocation_or_none(void **state)
{
    static uint8_t large[SNI_HANDSHAKE_COMMAND_MAX_BYTES];
    static const uint8_t value[sizeof large - 40];
    size_t silent_blocks;
    size_t silent_bytes;
    size_t used;
    test_rig rig;

    (void)state;
    open_ready(&rig, WIRE(SOCKET_TYPE));
    silent_blocks = rig.alloc->live_blocks;
    silent_bytes = rig.alloc->live_bytes;
    test_rig_close(&rig);

    open_ready(&rig, WIRE(SOCKET_TYPE ROLE IDENTITY));
    assert_int_equal(rig.alloc->live_blocks, silent_blocks + 1);
    assert_int_equal(rig.alloc->live_bytes,
                     silent_bytes + strlen("me") + sizeof ROLE - 1);
    test_rig_close(&rig);

    used = sni_property_write(large, "X-Large", sni_bytes(value, sizeof value));
    open_ready(&rig, large, used);
    assert_int_equal(rig.alloc->live_blocks, silent_blocks + 1);
    assert_int_equal(rig.alloc->live_bytes, silent_bytes + used);
    test_rig_close(&rig);
}

static void
an_idle_connection_is_small(void **state)
{
    test_rig rig;
    size_t before;

    (void)state;
    test_rig_meet_as(&rig, SENNIT_ROUTER);
    before = rig.alloc->live_bytes;
    sni_engine_free(rig.engine);
    rig.engine = NULL;
    assert_true(before - rig.alloc->live_bytes <= 640);
    test_rig_close(&rig);
}

static void
our_properties_stand_behind_type_and_identity(void **state)
{
    test_rig_opts opts = TEST_RIG_DEFAULT(SENNIT_DEALER);
    test_wire peers = { NULL, 0, 0 };
    test_wire ours = { NULL, 0, 0 };
    test_rig rig;
    uint8_t greeting[SNI_GREETING_SIZE];

    (void)state;
    opts.identity = "me";
    opts.properties = SNI_BYTES_OF(ROLE EMPTY);
    test_wire_handshake(&peers, SENNIT_ROUTER, 1);
    test_wire_command(&ours, "READY", WIRE(SOCKET_TYPE IDENTITY ROLE EMPTY));
    for (int admits = 0; admits <= 1; admits++) {
        opts.admits = admits;
        test_rig_open(&rig, &opts);
        (void)test_rig_feed(&rig, sni_bytes(peers.data, peers.size), TEST_FEED_COPY);
        assert_int_equal(sni_engine_admit(rig.engine), SENNIT_OK);
        test_rig_write_out(&rig);
        sni_greeting_write_identity(greeting, "NULL", 2);
        assert_int_equal(rig.output_size, sizeof greeting + ours.size);
        assert_memory_equal(rig.output, greeting, sizeof greeting);
        assert_memory_equal(rig.output + sizeof greeting, ours.data, ours.size);
        test_rig_close(&rig);
    }
    free(peers.data);
    free(ours.data);
}

/* Two of ours tell each other; any allocation may fail. */
static void
acquaintance(test_alloc *alloc, void *arg)
{
    test_rig_opts opts_a = TEST_RIG_DEFAULT(SENNIT_DEALER);
    test_rig_opts opts_b = TEST_RIG_DEFAULT(SENNIT_ROUTER);
    test_rng rng = { 9 };
    test_rig a;
    test_rig b;

    (void)arg;
    opts_a.identity = "worker";
    opts_a.properties = SNI_BYTES_OF(ROLE);
    opts_b.properties = SNI_BYTES_OF(ROLE EMPTY);
    test_rig_open(&b, &opts_b);
    if (test_rig_init(&a, alloc, &opts_a)) {
        uint64_t failed = alloc->failed;
        bool traffic;

        test_rig_exchange(&a, &b, 40, &rng);
        traffic = sni_engine_in_traffic(a.engine);
        assert_true(traffic || alloc->failed > failed);
        if (traffic) {
            sennit_err err;

            expect_property(&a, "X-Empty", "");
            expect_property(&b, "X-Role", "worker");
            failed = alloc->failed;
            err = sni_engine_greet(a.engine, sni_bytes(body, 300));
            assert_int_equal(err, alloc->failed > failed ? SENNIT_ENOMEM : SENNIT_OK);
            test_rig_exchange(&a, &b, 400, &rng);
            assert_int_equal(b.msgs_received, err == SENNIT_OK);
        }
    } else {
        assert_true(alloc->failed > 0);
    }
    test_rig_fini(&a);
    test_rig_close(&b);
}

static void
peers_get_acquainted_whichever_allocation_fails(void **state)
{
    (void)state;
    assert_true(test_alloc_every_failure(acquaintance, NULL) > 10);
}

/* ---- refusals --------------------------------------------------------- */

static const struct error_row {
    const char *name;
    const char *octets;
    size_t size;
    const char *reason;
} errors[] = {
    { "300", WIRE("\003300"),
      "peer refused the connection with ERROR 300: try again later" },
    { "400", WIRE("\003400"),
      "peer refused the connection with ERROR 400: not authenticated" },
    { "500", WIRE("\003500"),
      "peer refused the connection with ERROR 500: its authentication failed" },
    { "a code nobody knows", WIRE("\003404"), "peer refused the connection with ERROR" },
    { "a longer text", WIRE("\007400 no!"), "peer refused the connection with ERROR" },
    { "no text", WIRE("\0"), "peer refused the connection with ERROR" },
    { "octets for a terminal", WIRE("\3\033[2"),
      "peer refused the connection with ERROR" },
};

static void
check_error(void **state)
{
    const struct error_row *row = *state;
    test_rig_opts opts = TEST_RIG_DEFAULT(SENNIT_DEALER);
    test_wire w = { NULL, 0, 0 };

    test_wire_greeting(&w, 1);
    test_wire_command(&w, "ERROR", row->octets, row->size);
    for (size_t cut = 1; cut <= w.size; cut++) {
        const char *reason;
        test_rig rig;

        test_rig_open(&rig, &opts);
        test_rig_feed_cut(&rig, sni_bytes(w.data, w.size), cut, TEST_FEED_COPY);
        assert_int_equal(sni_engine_why(rig.engine, &reason), SENNIT_EACCES);
        assert_string_equal(reason, row->reason);
        test_rig_close(&rig);
    }
    free(w.data);
}

/* ---- the first message ------------------------------------------------ */

static const struct greet_row {
    const char *name;
    const char *handshake; /* NULL: ZMTP 3.1 */
    size_t size;
    const char *expected;
    size_t expected_size;
} greets[] = {
    { "ZMTP 3.1", NULL, 0, WIRE("\0\2hi") },
    { "ZMTP 2.0", WIRE(LEGACY "\1\5\0\0"), WIRE("\0\2hi") },
    { "ZMTP 1.0", WIRE("\1\0"), WIRE("\3\0hi") },
};

/* Before what a queue held already, and behind our READY. */
static void
check_greet(void **state)
{
    const struct greet_row *row = *state;
    test_rig_opts opts = TEST_RIG_DEFAULT(SENNIT_ROUTER);
    test_wire w = { NULL, 0, 0 };

    opts.unversioned = true;
    opts.admits = true;
    if (row->handshake == NULL)
        test_wire_handshake(&w, SENNIT_DEALER, 1);
    else
        test_wire_add(&w, row->handshake, row->size);
    for (size_t piece = 1; piece < 100; piece += 7) {
        test_rig rig;
        size_t ready;

        test_rig_open_traffic(&rig, &opts, &w);
        assert_int_equal(test_rig_send(&rig, "data", 4, false), SENNIT_OK);
        assert_int_equal(sni_engine_greet(rig.engine, sni_bytes("hi", 2)), SENNIT_OK);
        while (test_rig_take_output(&rig, piece) > 0)
            continue;
        ready = rig.output_size - row->expected_size - 6;
        if (row->handshake == NULL)
            assert_memory_equal(rig.output + 2, "\5READY", 6);
        assert_memory_equal(rig.output + ready, row->expected, row->expected_size);
        assert_memory_equal(rig.output + rig.output_size - 4, "data", 4);
        assert_int_equal(rig.msgs_ended, 1);
        test_rig_close(&rig);
    }
    free(w.data);
}

/* ---- counts ----------------------------------------------------------- */

static void
bytes_are_unread_until_they_are_handed_out(void **state)
{
    test_rig rig;
    sni_engine_event event;

    (void)state;
    test_rig_meet_as(&rig, SENNIT_PULL);
    assert_int_equal(sni_engine_unread_bytes(rig.engine), 0);
    (void)test_rig_feed(&rig, sni_bytes("\0\2ab\0\1c\0\5", 9), TEST_FEED_COPY);
    assert_int_equal(sni_engine_unread_bytes(rig.engine), 9);
    assert_true(sni_engine_next(rig.engine, &event));
    sennit_msg_fini(sni_msg_public(&event.msg));
    assert_int_equal(sni_engine_unread_bytes(rig.engine), 5);
    assert_true(sni_engine_next(rig.engine, &event));
    sennit_msg_fini(sni_msg_public(&event.msg));
    assert_false(sni_engine_next(rig.engine, &event));
    assert_int_equal(sni_engine_unread_bytes(rig.engine), 2);
    test_rig_close(&rig);
}

/* ---- misframed subscriptions ------------------------------------------ */

/* As libzmq 4.3.4 writes it. */
static void
add_misframed(test_wire *w, const char *name, size_t topic_size)
{
    size_t size = 1 + strlen(name) + topic_size;
    uint8_t head[] = {
        4, 0, 0, 0, 0, 0, 0, (uint8_t)(size >> 8), (uint8_t)size, (uint8_t)strlen(name)
    };

    test_wire_add(w, head, sizeof head);
    test_wire_add(w, name, strlen(name));
    test_wire_add(w, body, topic_size);
}

static void
subscriptions_that_libzmq_misframes_are_understood(void **state)
{
    (void)state;
    for (size_t size = 246; size <= 255; size++) {
        static const sennit_sock_type types[] = { SENNIT_PUB, SENNIT_XPUB };
        test_wire odd = { NULL, 0, 0 };
        test_wire even = { NULL, 0, 0 };

        add_misframed(&odd, "SUBSCRIBE", size);
        test_wire_command(&even, "SUBSCRIBE", body, size);
        if (size >= 249)
            add_misframed(&odd, "CANCEL", size);
        else
            test_wire_command(&odd, "CANCEL", body, size);
        test_wire_command(&even, "CANCEL", body, size);
        test_wire_frame(&odd, "x", 1, false);
        test_wire_frame(&even, "x", 1, false);
        for (size_t cut = 0; cut <= odd.size; cut++) {
            test_rig rig;
            test_rig other;

            test_rig_meet_as(&rig, types[cut % 2]);
            test_rig_meet_as(&other, types[cut % 2]);
            test_rig_feed_cut(&rig, sni_bytes(odd.data, odd.size), cut, TEST_FEED_SINK);
            (void)test_rig_feed(&other, sni_bytes(even.data, even.size), TEST_FEED_COPY);
            test_rig_take_events(&other);
            assert_string_equal(test_rig_reason(&rig), "");
            assert_string_equal(rig.events, other.events);
            test_rig_close(&rig);
            test_rig_close(&other);
        }
        free(odd.data);
        free(even.data);
    }
}

static const struct misframed_row {
    const char *name;
    sennit_sock_type type;
    const char *octets;
    size_t size;
    size_t known; /* after how many octets it is a protocol error */
} misframed[] = {
    { "not by a socket that is no publisher", SENNIT_PULL, WIRE("\4\0\0\0\0\0\0\1\0"),
      2 },
    { "another octet in the size", SENNIT_PUB, WIRE("\4\0\0\1\0\0\0\1\0"), 4 },
    { "a size of two times 256", SENNIT_PUB, WIRE("\4\0\0\0\0\0\0\2\0"), 8 },
    { "a size no topic of 255 octets has", SENNIT_PUB, WIRE("\4\0\0\0\0\0\0\1\12"), 9 },
    { "another command", SENNIT_PUB, WIRE("\4\0\0\0\0\0\0\1\0\4PING"), 10 },
    { "another name of that length", SENNIT_PUB, WIRE("\4\0\0\0\0\0\0\1\0\11SUBSCRIBA"),
      19 },
    { "a CANCEL of 256 octets", SENNIT_PUB, WIRE("\4\0\0\0\0\0\0\1\7\6CANCEL"), 10 },
};

static void
check_misframed(void **state)
{
    const struct misframed_row *row = *state;

    for (size_t cut = 1; cut <= row->size; cut++) {
        test_rig rig;

        test_rig_meet_as(&rig, row->type);
        for (size_t i = 0; i < cut; i++)
            (void)test_rig_feed(&rig, sni_bytes(row->octets + i, 1), TEST_FEED_COPY);
        if (strcmp(test_rig_reason(&rig), cut < row->known ? "" : "empty command") != 0)
            fail_msg("after %zu octets: '%s'", cut, test_rig_reason(&rig));
        test_rig_close(&rig);
    }
}

int
main(void)
{
    static const struct CMUnitTest fixed[] = {
        cmocka_unit_test(what_a_peer_said_costs_one_allocation_or_none),
        cmocka_unit_test(an_idle_connection_is_small),
        cmocka_unit_test(our_properties_stand_behind_type_and_identity),
        cmocka_unit_test(peers_get_acquainted_whichever_allocation_fails),
        cmocka_unit_test(bytes_are_unread_until_they_are_handed_out),
        cmocka_unit_test(subscriptions_that_libzmq_misframes_are_understood),
    };
    static test_suite suite;

    for (size_t i = 0; i < sizeof body; i++)
        body[i] = (uint8_t)(i * 5 + i / 256);
    TEST_SUITE_ROWS(&suite, "kept and found: ", properties, check_properties);
    TEST_SUITE_ROWS(&suite, "ERROR with ", errors, check_error);
    TEST_SUITE_ROWS(&suite, "a first message to ", greets, check_greet);
    TEST_SUITE_ROWS(&suite, "not taken for a misframed subscription: ", misframed,
                    check_misframed);
    TEST_SUITE_ADD(&suite, fixed);
    return test_suite_run(&suite);
}
