/* SPDX-License-Identifier: MIT */
/* Drives the engine with the octets of tests/vectors/zmtp_vectors.json, which were
 * captured from libzmq. The tables in engine_vectors_rows.h say what ours does with
 * each; a name without a row, or a row without a name, fails.
 *
 * Every row is run whole, byte by byte and in random pieces fed in different ways:
 * neither events nor output nor the reason may depend on it. */
#include "sennit_test.h"

#include <jansson.h>
#include <stdio.h>

#include "base/alloc.h"
#include "rig.h"
#include "wire/frame_v1.h"
#include "wire/greeting.h"
#include "wire/ready.h"

#define SPLITS 20

/* What the peer sent before a vector's own octets. */
typedef enum prelude {
    NOTHING,
    STAGE1,     /* the first 10 octets of a greeting */
    STAGE2,     /* the first 11 */
    GREETING31, /* all 64 */
    TRAFFIC31,  /* greeting and a READY of a type that fits */
    TRAFFIC30,
} prelude;

typedef struct vector_row {
    const char *name;
    sennit_sock_type type; /* ours */
    prelude prelude;
    const char *events;
    const char *output; /* see output_text() */
    const char *reason; /* NULL: still connected */
    const char *note;   /* why it is not what libzmq does */
} vector_row;

typedef struct malformed_row {
    const char *name;
    unsigned wait_ms; /* then the clock moves, in two steps: just before, and on */
    const char *events;
    const char *output;
    const char *reason;
    const char *note; /* why it is not what the vectors recommend */
} malformed_row;

/* A reason: the connecter is refused for it. A session of an older version says what
 * octets cannot: the type of ours, its identity, and the events of the whole. */
typedef struct session_row {
    const char *name;
    const char *reason;
    sennit_sock_type type;
    const char *identity;
    const char *events; /* NULL: ZMTP 3, both sides are ours in turn */
} session_row;

#include "engine_vectors_rows.h"

/* ---- running -------------------------------------------------------- */

typedef struct result {
    char *events;
    uint8_t *output;
    size_t output_size;
    const char *reason;
    uint8_t major; /* the peer's version, 0: not known */
} result;

static void
wire_add_hex(test_wire *s, const char *hex)
{
    for (; hex[0] != '\0'; hex += 2) {
        unsigned octet;
        uint8_t byte;

        assert_int_equal(sscanf(hex, "%2x", &octet), 1);
        byte = (uint8_t)octet;
        test_wire_add(s, &byte, 1);
    }
}

static void
result_fini(result *r)
{
    free(r->events);
    free(r->output);
}

typedef enum split { WHOLE, BYTES, RANDOM } split;

static void
wait_for(test_rig *rig, unsigned wait_ms)
{
    if (wait_ms == 0)
        return;
    rig->now += (sennit_time)wait_ms * 1000000u - 1;
    (void)sni_engine_tick(rig->engine, rig->now, true);
    if (test_rig_reason(rig)[0] != '\0')
        fail_msg("closed before %u ms were over", wait_ms);
    rig->now += 1;
    (void)sni_engine_tick(rig->engine, rig->now, true);
}

static result
run_once(const test_rig_opts *opts, const test_wire *in, unsigned wait_ms, split how,
         uint64_t seed)
{
    test_rig rig;
    test_rng rng = { seed };
    result r;

    test_rig_open(&rig, opts);
    if (how == WHOLE) {
        if (in->size > 0)
            (void)test_rig_feed(&rig, sni_bytes(in->data, in->size), TEST_FEED_BLOCK);
        test_rig_feed_chopped(&rig, sni_bytes(NULL, 0), 1, &rng);
    } else {
        test_rig_feed_chopped(&rig, sni_bytes(in->data, in->size),
                              how == BYTES ? 1 : in->size, &rng);
    }
    if (test_rig_reason(&rig)[0] == '\0')
        wait_for(&rig, wait_ms);
    r = (result){ rig.events, rig.output, rig.output_size, test_rig_reason(&rig),
                  sni_engine_peer_of(rig.engine).major };
    rig.events = NULL;
    rig.output = NULL;
    test_rig_close(&rig);
    return r;
}

static void
check_same(const result *whole, const result *r, const char *how, uint64_t seed)
{
    if (strcmp(whole->events, r->events) != 0)
        fail_msg("%s (seed %llu): events are '%s' instead of '%s'", how,
                 (unsigned long long)seed, r->events, whole->events);
    if (strcmp(whole->reason, r->reason) != 0)
        fail_msg("%s (seed %llu): the reason is '%s' instead of '%s'", how,
                 (unsigned long long)seed, r->reason, whole->reason);
    if (whole->output_size != r->output_size ||
        memcmp(whole->output, r->output, r->output_size) != 0)
        fail_msg("%s (seed %llu): the output differs, %zu octets instead of %zu", how,
                 (unsigned long long)seed, r->output_size, whole->output_size);
}

/* All splits; the result of the whole. */
static result
run(const test_rig_opts *opts, const test_wire *in, unsigned wait_ms)
{
    result whole = run_once(opts, in, wait_ms, WHOLE, 1);

    for (uint64_t seed = 0; seed <= SPLITS && in->size > 0; seed++) {
        result r = run_once(opts, in, wait_ms, seed == 0 ? BYTES : RANDOM, seed);

        check_same(&whole, &r, seed == 0 ? "byte by byte" : "in pieces", seed);
        result_fini(&r);
    }
    return whole;
}

static void
text_of_octets(char *out, size_t out_size, const char *word, const uint8_t *octets,
               size_t count)
{
    size_t used = (size_t)snprintf(out, out_size, "%s%s", word, count > 0 ? " " : "");

    for (size_t i = 0; i < count && used + 3 < out_size; i++)
        used += (size_t)snprintf(out + used, out_size - used, "%02x", octets[i]);
}

/* Output in words: how much of the greeting; "ready" when greeting and READY are
 * complete, then the rest in hex; to a peer of an older version "legacy" for our
 * signature, then the rest. */
static void
output_text(const result *r, const test_rig_opts *opts, char *out, size_t out_size)
{
    uint8_t handshake[SNI_GREETING_SIZE + SNI_READY_MAX];
    size_t size = SNI_GREETING_SIZE;

    sni_greeting_write(handshake, "NULL");
    size += sni_ready_write(handshake + size, opts->type, sni_bytes(NULL, 0));
    if (r->major == 1 || r->major == 2) {
        assert_memory_equal(r->output, handshake, SNI_GREETING_SIGNATURE);
        text_of_octets(out, out_size, "legacy", r->output + SNI_GREETING_SIGNATURE,
                       r->output_size - SNI_GREETING_SIGNATURE);
        return;
    }
    if (r->output_size < size) {
        assert_memory_equal(r->output, handshake, r->output_size);
        snprintf(out, out_size, "%zu", r->output_size);
        return;
    }
    assert_memory_equal(r->output, handshake, size);
    text_of_octets(out, out_size, "ready", r->output + size, r->output_size - size);
}

static void
check_result(const result *r, const test_rig_opts *opts, const char *events,
             const char *output, const char *reason)
{
    char text[1024];

    output_text(r, opts, text, sizeof text);
    if (strcmp(r->events, events) != 0 || strcmp(text, output) != 0 ||
        strcmp(r->reason, reason == NULL ? "" : reason) != 0)
        fail_msg("\n  events '%s'\n  not    '%s'\n  output '%s'\n  not    '%s'\n"
                 "  reason '%s'\n  not    '%s'",
                 r->events, events, text, output, r->reason,
                 reason == NULL ? "" : reason);
}

static json_t *root; /* the vector file */

static const char *
string_of(json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text == NULL ? "" : text;
}

/* A test of this program: one vector and its row. */
typedef struct row_case {
    char *name;
    json_t *json;
    const void *row;
} row_case;

/* ---- vectors -------------------------------------------------------- */

static void
add_prelude(test_wire *s, prelude before, sennit_sock_type ours)
{
    uint8_t greeting[SNI_GREETING_SIZE];
    uint8_t ready[SNI_READY_MAX];
    sennit_sock_type peer = test_fitting_type(ours);

    sni_greeting_write(greeting, "NULL");
    switch (before) {
    case NOTHING:
        break;
    case STAGE1:
        test_wire_add(s, greeting, 10);
        break;
    case STAGE2:
        test_wire_add(s, greeting, 11);
        break;
    case TRAFFIC30:
        greeting[11] = 0;
        /* fall through */
    case TRAFFIC31:
        test_wire_add(s, greeting, sizeof greeting);
        test_wire_add(s, ready, sni_ready_write(ready, peer, sni_bytes(NULL, 0)));
        break;
    case GREETING31:
        test_wire_add(s, greeting, sizeof greeting);
        break;
    }
}

/* The hash-and-size text of each long part must be that of the vector's own
 * decoding, so that no row can be wrong about a body. */
static void
check_parts(const result *r, json_t *decoded)
{
    json_t *parts = json_object_get(decoded, "parts_hex");
    test_wire wire = { NULL, 0, 0 };
    test_rig_opts opts = TEST_RIG_DEFAULT(SENNIT_ROUTER);
    result expected;

    if (parts == NULL || r->reason[0] != '\0')
        return;
    add_prelude(&wire, TRAFFIC31, SENNIT_ROUTER);
    for (size_t i = 0; i < json_array_size(parts); i++) {
        test_wire body = { NULL, 0, 0 };
        uint8_t head[SNI_FRAME_HEAD_MAX];

        wire_add_hex(&body, json_string_value(json_array_get(parts, i)));
        test_wire_add(
            &wire, head,
            sni_frame_head_write(head, i + 1 < json_array_size(parts), false, body.size));
        test_wire_add(&wire, body.data, body.size);
        free(body.data);
    }
    expected = run_once(&opts, &wire, 0, WHOLE, 1);
    assert_string_equal(r->events, expected.events);
    result_fini(&expected);
    free(wire.data);
}

static void
check_vector(void **state)
{
    const row_case *test = *state;
    const vector_row *row = test->row;
    test_rig_opts opts = TEST_RIG_DEFAULT(row->type);
    json_t *decoded = json_object_get(test->json, "decoded");
    json_int_t repeat = json_integer_value(json_object_get(decoded, "body_repeat_count"));
    test_wire in = { NULL, 0, 0 };
    result r;

    opts.unversioned = true; /* see nothing_but_zmtp_is_refused_at_its_first_octet */
    add_prelude(&in, row->prelude, row->type);
    wire_add_hex(&in, string_of(test->json, "hex"));
    for (json_int_t i = 0; i < repeat; i++)
        wire_add_hex(&in, string_of(decoded, "body_repeat_hex"));
    r = run(&opts, &in, 0);
    check_result(&r, &opts, row->events, row->output, row->reason);
    check_parts(&r, decoded);
    result_fini(&r);
    free(in.data);
}

/* ---- malformed ------------------------------------------------------ */

static test_rig_opts
opts_of(json_t *json)
{
    json_t *options = json_object_get(json, "target_options");
    json_t *size = json_object_get(options, "MAXMSGSIZE");
    json_t *ivl = json_object_get(options, "HANDSHAKE_IVL");
    const char *target = string_of(json, "target_socket");
    test_rig_opts opts = TEST_RIG_DEFAULT(SENNIT_ROUTER);
    char type[16] = "";

    opts.unversioned = true;
    assert_int_equal(sscanf(target, "libzmq %15s", type), 1);
    assert_int_equal(sennit_sock_type_parse(type, &opts.type), SENNIT_OK);
    if (size != NULL)
        opts.frame_max_bytes = (uint64_t)json_integer_value(size);
    if (ivl != NULL)
        opts.handshake_timeout = (sennit_time)json_integer_value(ivl) * 1000000u;
    return opts;
}

/* Whether staying connected is what the vectors recommend: 1 yes, 0 no, -1 they do
 * not say. */
static int
recommends_open(const char *recommended)
{
    static const char *const open[] = { "accept",           "deliver", "ignore",
                                        "process",          "PONG",    "keep open",
                                        "send-3.x-greeting" };

    if (strncmp(recommended, "close", 5) == 0)
        return strstr(recommended, " or ") != NULL ? -1 : 0;
    for (size_t i = 0; i < sizeof open / sizeof open[0]; i++)
        if (strcmp(recommended, open[i]) == 0)
            return 1;
    return -1;
}

static void
check_malformed(void **state)
{
    const row_case *test = *state;
    const malformed_row *row = test->row;
    test_rig_opts opts = opts_of(test->json);
    json_t *first = json_object_get(test->json, "send_first_hex");
    int wanted = recommends_open(string_of(test->json, "recommended"));
    test_wire in = { NULL, 0, 0 };
    result r;

    for (size_t i = 0; i < json_array_size(first); i++)
        wire_add_hex(&in, json_string_value(json_array_get(first, i)));
    wire_add_hex(&in, string_of(test->json, "send_hex"));
    r = run(&opts, &in, row->wait_ms);
    check_result(&r, &opts, row->events, row->output, row->reason);
    if (wanted >= 0 && wanted != (row->reason == NULL) && row->note == NULL)
        fail_msg("the vectors recommend '%s'; a row that differs needs a note",
                 string_of(test->json, "recommended"));
    result_fini(&r);
    free(in.data);
}

/* ---- sessions ------------------------------------------------------- */

/* Our type on one side of a recorded session: what its READY announces. */
static bool
session_type(json_t *session, const char *direction, sennit_sock_type *type)
{
    json_t *steps = json_object_get(session, "steps");

    for (size_t i = 0; i < json_array_size(steps); i++) {
        json_t *step = json_array_get(steps, i);
        const char *data = string_of(json_object_get(step, "frame"), "command_data_hex");
        test_wire metadata = { NULL, 0, 0 };
        char name[16] = "";

        if (strcmp(string_of(step, "direction"), direction) != 0 || strlen(data) < 34)
            continue;
        wire_add_hex(&metadata, data);
        memcpy(name, metadata.data + 16, metadata.data[15] & 15);
        free(metadata.data);
        if (sennit_sock_type_parse(name, type) == SENNIT_OK)
            return true;
    }
    return false;
}

#define PING_INTERVAL UINT64_C(1000000000)

/* What the recorded application, or the clock, did to make libzmq write a step. */
static void
do_step(test_rig *rig, const char *command, const test_wire *octets)
{
    size_t name = 3 + strlen(command);

    if (strcmp(command, "PING") == 0) {
        rig->now += PING_INTERVAL;
        assert_int_equal(sni_engine_tick(rig->engine, rig->now, true), SENNIT_OK);
    } else if (strcmp(command, "SUBSCRIBE") == 0 || strcmp(command, "CANCEL") == 0) {
        assert_int_equal(
            sni_engine_send(rig->engine,
                            command[0] == 'S' ? SNI_ENGINE_SUBSCRIBE : SNI_ENGINE_CANCEL,
                            sni_bytes(octets->data + name, octets->size - name)),
            SENNIT_OK);
    }
}

static bool
is_ours(json_t *step, const char *ours)
{
    return strcmp(string_of(step, "direction"), ours) == 0;
}

static void
feed_step(test_rig *rig, const test_wire *octets)
{
    assert_int_equal(
        test_rig_feed(rig, sni_bytes(octets->data, octets->size), TEST_FEED_SINK),
        SENNIT_OK);
    test_rig_take_events(rig);
}

static void
check_replayed(test_rig *rig, test_wire *expected)
{
    assert_string_equal(test_rig_reason(rig), "");
    assert_int_equal(rig->output_size, expected->size);
    assert_memory_equal(rig->output, expected->data, expected->size);
    free(expected->data);
    test_rig_close(rig);
}

/* One side of the exchange is ours, the other is the recording. What the recorded
 * application sent is sent at the same point; our octets must be libzmq's. */
static void
replay_side(json_t *session, const char *ours, sennit_sock_type type,
            const char *identity)
{
    json_t *steps = json_object_get(session, "steps");
    test_rig_opts opts = TEST_RIG_DEFAULT(type);
    test_rig rig;
    test_wire expected = { NULL, 0, 0 };

    opts.identity = identity;
    opts.heartbeat_interval = PING_INTERVAL;
    opts.heartbeat_ttl_ds = 10;
    test_rig_open(&rig, &opts);
    for (size_t i = 0; i < json_array_size(steps); i++) {
        json_t *step = json_array_get(steps, i);
        json_t *frame = json_object_get(step, "frame");
        test_wire octets = { NULL, 0, 0 };

        wire_add_hex(&octets, string_of(step, "hex"));
        if (!is_ours(step, ours)) {
            feed_step(&rig, &octets);
        } else {
            if (strcmp(string_of(step, "kind"), "message") == 0)
                assert_int_equal(test_rig_send(&rig, octets.data + 2, octets.size - 2,
                                               octets.data[0] & 1),
                                 SENNIT_OK);
            do_step(&rig, string_of(frame, "command_name"), &octets);
            test_wire_add(&expected, octets.data, octets.size);
        }
        free(octets.data);
        while (test_rig_take_output(&rig, 7) > 0)
            continue;
    }
    check_replayed(&rig, &expected);
}

/* A step of ours behind the handshake with an older version: frames, each sent again. */
static void
send_legacy(test_rig *rig, const session_row *row, const test_wire *octets)
{
    bool v1 = sni_engine_peer_of(rig->engine).major == 1;
    size_t at = 0;

    while (at < octets->size) {
        sennit_bytes in = sni_bytes(octets->data + at, octets->size - at);
        sni_frame_head head;
        size_t used;
        sni_parse parse = v1 ? sni_frame_v1_head_read(in, &head, &used)
                             : sni_frame_head_read(in, &head, &used);
        const uint8_t *body = in.data + used;

        assert_int_equal(parse, SNI_PARSE_DONE);
        assert_true(in.size - used >= head.body_size);
        if (row->type == SENNIT_SUB)
            assert_int_equal(
                sni_engine_send(rig->engine,
                                body[0] ? SNI_ENGINE_SUBSCRIBE : SNI_ENGINE_CANCEL,
                                sni_bytes(body + 1, head.body_size - 1)),
                SENNIT_OK);
        else
            assert_int_equal(test_rig_send(rig, body, head.body_size, head.more),
                             SENNIT_OK);
        at += used + (size_t)head.body_size;
    }
}

/* The same for a recording of libzmq, which speaks first, with an older peer. */
static void
replay_legacy(json_t *session, const session_row *row)
{
    json_t *steps = json_object_get(session, "steps");
    const char *ours = string_of(json_array_get(steps, 0), "direction");
    test_rig_opts opts = TEST_RIG_DEFAULT(row->type);
    test_rig rig;
    test_wire expected = { NULL, 0, 0 };
    test_wire peers = { NULL, 0, 0 };
    result r;

    opts.identity = row->identity;
    opts.unversioned = true;
    test_rig_open(&rig, &opts);
    for (size_t i = 0; i < json_array_size(steps); i++) {
        json_t *step = json_array_get(steps, i);
        test_wire octets = { NULL, 0, 0 };

        wire_add_hex(&octets, string_of(step, "hex"));
        if (!is_ours(step, ours)) {
            feed_step(&rig, &octets);
            test_wire_add(&peers, octets.data, octets.size);
        } else {
            /* What is not written by itself is what the application sent. */
            test_rig_write_out(&rig);
            test_wire_add(&expected, octets.data, octets.size);
            if (sni_engine_in_traffic(rig.engine) && rig.output_size < expected.size &&
                rig.output_size + octets.size == expected.size)
                send_legacy(&rig, row, &octets);
        }
        free(octets.data);
        while (test_rig_take_output(&rig, 7) > 0)
            continue;
    }
    assert_string_equal(rig.events, row->events);
    check_replayed(&rig, &expected);
    r = run(&opts, &peers, 0);
    assert_string_equal(r.events, row->events);
    result_fini(&r);
    free(peers.data);
}

/* A peer with another mechanism is refused, whatever it goes on to say. */
static void
refuse_connecter(json_t *session, const char *reason)
{
    json_t *steps = json_object_get(session, "steps");
    test_rig_opts opts = TEST_RIG_DEFAULT(SENNIT_ROUTER);
    test_wire in = { NULL, 0, 0 };
    result r;

    for (size_t i = 0; i < json_array_size(steps); i++) {
        json_t *step = json_array_get(steps, i);

        if (is_ours(step, "connecter->listener"))
            wire_add_hex(&in, string_of(step, "hex"));
    }
    assert_true(in.size > 0);
    r = run(&opts, &in, 0);
    assert_string_equal(r.events, "");
    assert_string_equal(r.reason, reason);
    result_fini(&r);
    free(in.data);
}

static void
check_session(void **state)
{
    const row_case *test = *state;
    const session_row *row = test->row;
    static const char *const sides[] = { "connecter->listener", "listener->connecter" };

    if (row->reason != NULL) {
        refuse_connecter(test->json, row->reason);
        return;
    }
    if (row->events != NULL) {
        replay_legacy(test->json, row);
        return;
    }
    for (int side = 0; side < 2; side++) {
        sennit_sock_type type = SENNIT_PAIR;
        bool worker = strcmp(row->name, "null_dealer_router_identity") == 0 && side == 0;

        assert_true(session_type(test->json, sides[side], &type));
        replay_side(test->json, sides[side], type, worker ? "worker-1" : NULL);
    }
}

/* ---- other mechanisms ----------------------------------------------- */

/* The table's peers speak to PLAIN and ZAP servers. Ours is NULL without ZAP: it
 * refuses PLAIN by its greeting and serves NULL. The tables curve_reactions and
 * connecter_reactions hold names without octets. */
static void
peers_of_other_mechanisms_are_refused_and_null_is_served(void **state)
{
    json_t *list = json_object_get(root, "zap_and_plain_reactions");
    unsigned refused = 0;

    (void)state;
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *json = json_array_get(list, i);
        json_t *steps = json_object_get(json, "steps_hex");
        test_rig_opts opts = TEST_RIG_DEFAULT(SENNIT_ROUTER);
        test_wire in = { NULL, 0, 0 };
        result r;

        for (size_t step = 0; step < json_array_size(steps); step++)
            wire_add_hex(&in, json_string_value(json_array_get(steps, step)));
        r = run(&opts, &in, 0);
        if (memcmp(in.data + 12, "PLAIN", 5) == 0) {
            assert_string_equal(r.reason, "security mechanisms differ");
            refused++;
        } else if (r.reason[0] != '\0' ||
                   (json_array_size(steps) > 1) != (strncmp(r.events, "READY", 5) == 0)) {
            fail_msg("%s: '%s', '%s'", string_of(json, "name"), r.events, r.reason);
        }
        result_fini(&r);
        free(in.data);
    }
    assert_int_equal(refused, 38);
}

/* ---- streams that do not begin as ZMTP ------------------------------ */

/* Unless ZMTP 1.0 without a version is wanted: then they are refused as what they are. */
static void
nothing_but_zmtp_is_refused_at_its_first_octet(void **state)
{
    (void)state;
    for (unsigned octet = 0; octet < 255; octet++) {
        test_rig_opts opts = TEST_RIG_DEFAULT(SENNIT_ROUTER);
        uint8_t first = (uint8_t)octet;
        test_wire in = { NULL, 0, 0 };
        result r;

        test_wire_add(&in, &first, 1);
        r = run(&opts, &in, 0);
        assert_string_equal(r.reason,
                            "no ZMTP greeting (a ZMTP 1.0 peer, or no ZMTP at all)");
        assert_int_equal(r.output_size, SNI_GREETING_SIGNATURE);
        result_fini(&r);
        free(in.data);
    }
}

/* ---- what we write is what libzmq writes ---------------------------- */

static json_t *
find(json_t *list, const char *name)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (strcmp(string_of(json_array_get(list, i), "name"), name) == 0)
            return json_array_get(list, i);
    fail_msg("no vector is called %s", name);
    return NULL;
}

static void
our_ready_is_libzmqs_for_every_type(void **state)
{
    (void)state;
    for (int type = SENNIT_PAIR; type <= SENNIT_XSUB; type++) {
        char name[32];
        uint8_t out[SNI_READY_MAX];
        size_t size = sni_ready_write(out, (sennit_sock_type)type, sni_bytes(NULL, 0));
        test_wire libzmq = { NULL, 0, 0 };

        snprintf(name, sizeof name, "ready_%s",
                 sennit_sock_type_name((sennit_sock_type)type));
        for (char *c = name; *c != '\0'; c++)
            *c = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
        wire_add_hex(&libzmq,
                     string_of(find(json_object_get(root, "vectors"), name), "hex"));
        assert_int_equal(size, libzmq.size);
        assert_memory_equal(out, libzmq.data, size);
        free(libzmq.data);
    }
}

static void
our_subscriptions_are_libzmqs_in_both_versions(void **state)
{
    json_t *list = json_object_get(root, "vectors");
    unsigned compared = 0;

    (void)state;
    for (size_t i = 0; i < json_array_size(list); i++) {
        test_rig_opts opts = TEST_RIG_DEFAULT(SENNIT_SUB);
        json_t *json = json_array_get(list, i);
        const char *name = string_of(json, "name");
        const char *topic = json_string_value(
            json_object_get(json_object_get(json, "decoded"), "topic_hex"));
        bool is30 = strncmp(name, "sub30_", 6) == 0;
        test_wire libzmq = { NULL, 0, 0 };
        test_wire bytes = { NULL, 0, 0 };
        test_rig rig;

        if (topic == NULL || (!is30 && strncmp(name, "sub31_", 6) != 0))
            continue;
        wire_add_hex(&libzmq, string_of(json, "hex"));
        test_wire_add(&bytes, NULL, 0);
        wire_add_hex(&bytes, topic);
        test_rig_meet(&rig, &opts, is30 ? 0 : 1);
        assert_int_equal(sni_engine_send(rig.engine,
                                         strstr(name, "cancel") != NULL
                                             ? SNI_ENGINE_CANCEL
                                             : SNI_ENGINE_SUBSCRIBE,
                                         sni_bytes(bytes.data, bytes.size)),
                         SENNIT_OK);
        while (test_rig_take_output(&rig, 5) > 0)
            continue;
        assert_int_equal(rig.output_size, libzmq.size);
        assert_memory_equal(rig.output, libzmq.data, libzmq.size);
        test_rig_close(&rig);
        free(libzmq.data);
        free(bytes.data);
        compared++;
    }
    assert_true(compared >= 20);
}

static void
our_frames_are_libzmqs(void **state)
{
    json_t *list = json_object_get(root, "vectors");
    unsigned compared = 0;

    (void)state;
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *json = json_array_get(list, i);
        json_t *parts = json_object_get(json_object_get(json, "decoded"), "parts_hex");
        test_wire libzmq = { NULL, 0, 0 };
        test_rig rig;

        if (parts == NULL || strcmp(string_of(json, "direction"), "libzmq->peer") != 0)
            continue;
        wire_add_hex(&libzmq, string_of(json, "hex"));
        test_rig_meet_as(&rig, SENNIT_DEALER);
        for (size_t part = 0; part < json_array_size(parts); part++) {
            test_wire body = { NULL, 0, 0 };

            test_wire_add(&body, NULL, 0);
            wire_add_hex(&body, json_string_value(json_array_get(parts, part)));
            assert_int_equal(test_rig_send(&rig, body.data, body.size,
                                           part + 1 < json_array_size(parts)),
                             SENNIT_OK);
            free(body.data);
        }
        while (test_rig_take_output(&rig, 100) > 0)
            continue;
        assert_int_equal(rig.output_size, libzmq.size);
        assert_memory_equal(rig.output, libzmq.data, libzmq.size);
        test_rig_close(&rig);
        free(libzmq.data);
        compared++;
    }
    assert_int_equal(compared, 7);
}

/* ---- collecting the tests ------------------------------------------- */

#define CASES_MAX 512

static row_case cases[CASES_MAX];
static struct CMUnitTest tests[CASES_MAX];
static size_t tests_count;
static unsigned rows_missing;

static void
add_test(const char *prefix, json_t *json, const void *row, CMUnitTestFunction fn)
{
    row_case *c = &cases[tests_count];
    const char *name = string_of(json, "name");
    size_t size = strlen(prefix) + strlen(name) + 3;

    c->name = malloc(size);
    snprintf(c->name, size, "%s: %s", prefix, name);
    c->json = json;
    c->row = row;
    tests[tests_count++] =
        (struct CMUnitTest){ .name = c->name, .test_func = fn, .initial_state = c };
}

/* Pairs each vector of `list` with its row; both must be there. */
static void
collect(const char *list_name, const void *rows, size_t rows_count, size_t row_size,
        const char *prefix, CMUnitTestFunction fn)
{
    json_t *list = json_object_get(root, list_name);
    size_t used = 0;

    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *json = json_array_get(list, i);
        const char *const *row = NULL;

        for (size_t k = 0; k < rows_count && row == NULL; k++) {
            const char *const *at =
                (const char *const *)(const void *)((const char *)rows + k * row_size);

            if (strcmp(at[0], string_of(json, "name")) == 0)
                row = at;
        }
        if (row == NULL && strcmp(prefix, "sessions") == 0 &&
            json_object_get(json, "steps") == NULL)
            continue; /* ZAP: frames inside the process, no octets on a wire */
        if (row == NULL) {
            fprintf(stderr, "%s: '%s' has no row\n", list_name, string_of(json, "name"));
            rows_missing++;
            continue;
        }
        used++;
        if (fn != NULL)
            add_test(prefix, json, row, fn);
    }
    if (used != rows_count) {
        fprintf(stderr, "%s: %zu rows name no vector\n", list_name, rows_count - used);
        rows_missing++;
    }
}

static void
every_vector_has_its_row(void **state)
{
    (void)state;
    assert_int_equal(rows_missing, 0);
}

/* What the engine alone cannot show, each with the place that shows it. */
static void
rows_for_other_suites_say_where_they_are_shown(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof elsewhere_rows / sizeof elsewhere_rows[0]; i++) {
        (void)find(json_object_get(root, elsewhere_rows[i].list), elsewhere_rows[i].name);
        assert_true(strlen(elsewhere_rows[i].where) > 20);
    }
}

int
main(void)
{
    json_error_t error;
    static const struct CMUnitTest fixed[] = {
        cmocka_unit_test(every_vector_has_its_row),
        cmocka_unit_test(rows_for_other_suites_say_where_they_are_shown),
        cmocka_unit_test(peers_of_other_mechanisms_are_refused_and_null_is_served),
        cmocka_unit_test(nothing_but_zmtp_is_refused_at_its_first_octet),
        cmocka_unit_test(our_ready_is_libzmqs_for_every_type),
        cmocka_unit_test(our_subscriptions_are_libzmqs_in_both_versions),
        cmocka_unit_test(our_frames_are_libzmqs),
    };
    int failed;

    root = json_load_file(SENNIT_TEST_VECTORS, 0, &error);
    if (root == NULL) {
        fprintf(stderr, "%s:%d: %s\n", SENNIT_TEST_VECTORS, error.line, error.text);
        return 1;
    }
#define COLLECT(list, rows, fn)                                                          \
    collect(list, rows, sizeof rows / sizeof rows[0], sizeof rows[0], list, fn)
    COLLECT("vectors", vector_rows, check_vector);
    COLLECT("malformed", malformed_rows, check_malformed);
    COLLECT("sessions", session_rows, check_session);
#undef COLLECT
    failed = cmocka_run_group_tests(fixed, NULL, NULL);
    failed += _cmocka_run_group_tests("vectors", tests, tests_count, NULL, NULL);
    for (size_t i = 0; i < tests_count; i++)
        free(cases[i].name);
    json_decref(root);
    return failed == 0 ? 0 : 1;
}
