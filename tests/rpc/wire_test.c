/* SPDX-License-Identifier: MIT */
/* A bus against peers made by hand: guests, nodes that lose frames, nodes that
 * break the rules. Whatever they do costs them their own state and nobody else
 * anything. */
#include "sennit_test.h"

#include <stdio.h>

#include "rig.h"
#include "rng.h"
#include "rpc/record.h"

/* A bus that listens, a raw DEALER that talks to it, and a well-behaved node beside
 * it that must not notice any of it. */
typedef struct stage {
    sennit_loop *loop;
    sennit_bus *bus;
    sennit_bus *other;
    sennit_sock *raw;
    sennit_buf out;
    uint64_t sequence;
    test_worker echo;
    char reason[SENNIT_ERROR_MESSAGE_MAX + 1]; /* of the last protocol error told */
    unsigned ups;
    unsigned downs;
} stage;

static void
watch_peers(const sennit_peer_event *event, void *arg)
{
    stage *on = arg;

    on->ups += event->kind == SENNIT_PEER_UP;
    on->downs += event->kind == SENNIT_PEER_DOWN;
    if (event->kind == SENNIT_PEER_PROTOCOL) {
        assert_true(strlen(event->reason) < sizeof on->reason);
        strcpy(on->reason, event->reason);
    }
}

static int
open_stage(void **state)
{
    stage *on = calloc(1, sizeof *on);
    sennit_bus_opts opts = SENNIT_BUS_OPTS_DEFAULT;
    sennit_sock_opts raw_opts = SENNIT_SOCK_OPTS_DEFAULT;

    assert_non_null(on);
    raw_opts.recv_hwm_msgs = 1; /* a reader whose slowness is felt */
    on->echo.task = WORKER_ECHO;
    sennit_buf_init(&on->out, NULL);
    assert_int_equal(sennit_loop_open(&on->loop, NULL), SENNIT_OK);
    opts.peer_queue_max_bytes = 256 << 10;
    assert_int_equal(sennit_bus_open(&on->bus, on->loop, &opts), SENNIT_OK);
    assert_int_equal(sennit_bus_open(&on->other, on->loop, NULL), SENNIT_OK);
    (void)rig_consume(on->bus, "echo", &on->echo);
    assert_int_equal(sennit_bus_listen(on->bus, "inproc://stage"), SENNIT_OK);
    assert_int_equal(sennit_bus_link(on->other, "inproc://stage"), SENNIT_OK);
    assert_int_equal(sennit_bus_wait_ready(on->other, 5000), SENNIT_OK);
    sennit_bus_on_peer(on->bus, watch_peers, on);
    assert_int_equal(sennit_sock_open(&on->raw, on->loop, SENNIT_DEALER, &raw_opts),
                     SENNIT_OK);
    assert_int_equal(sennit_sock_connect(on->raw, "inproc://stage"), SENNIT_OK);
    *state = on;
    return 0;
}

/* The well-behaved node is served as before. */
static int
close_stage(void **state)
{
    stage *on = *state;
    outcome out;

    (void)rig_request(on->other, "echo", "unharmed", 1000, &out);
    rig_wait(on->loop, &out);
    assert_answered(&out, "unharmed");
    sennit_sock_close(on->raw);
    sennit_bus_close(on->other);
    sennit_bus_close(on->bus);
    sennit_loop_close(on->loop);
    sennit_buf_fini(&on->out);
    free(on);
    return 0;
}

/* ---- What the raw peer says ------------------------------------------- */

static void
say(stage *on)
{
    assert_int_equal(on->out.err, SENNIT_OK);
    assert_int_equal(sennit_sock_send_bytes(on->raw, on->out.data, on->out.size, 0),
                     SENNIT_OK);
    sennit_buf_clear(&on->out);
}

/* One numbered frame with one record. */
static void
say_record(stage *on, const sni_record *record)
{
    sennit_pack_uint(&on->out, ++on->sequence);
    sni_record_write(&on->out, record);
    say(on);
}

static void
say_bytes(stage *on, const char *bytes, size_t size)
{
    assert_int_equal(sennit_sock_send_bytes(on->raw, bytes, size, 0), SENNIT_OK);
}

static void
say_hello(stage *on)
{
    sni_record hello = { .type = SNI_RECORD_HELLO,
                         .hello = { .node = "raw peer 123456",
                                    .incarnation = 1,
                                    .proto_min = 1,
                                    .proto_max = 1,
                                    .max_frame = 1 << 20 } };

    on->sequence = 0;
    say_record(on, &hello);
}

static sni_record
request(uint64_t id, const char *address)
{
    return (sni_record){ .type = SNI_RECORD_REQ,
                         .id = id,
                         .address = sennit_str_of(address),
                         .body = rig_bytes("body") };
}

/* ---- What it hears ---------------------------------------------------- */

typedef struct heard {
    sennit_msg msg;
    sni_frame frame;
} heard;

/* Turns until a frame came for the raw peer. */
static void
hear_frame(stage *on, heard *from)
{
    sennit_msg_init(&from->msg);
    for (int patience = 0; patience < 100; patience++) {
        if (sennit_sock_recv(on->raw, &from->msg, SENNIT_DONTWAIT) == SENNIT_OK) {
            sni_frame_init(&from->frame, sennit_msg_bytes(&from->msg));
            return;
        }
        assert_int_equal(sennit_loop_turn(on->loop, 100), SENNIT_OK);
    }
    fail_msg("the bus said nothing");
}

/* The first record of the next frame; the frame is unnumbered or not as told. */
static sni_record
hear(stage *on, heard *from, bool numbered)
{
    sni_record record = { 0 };

    hear_frame(on, from);
    assert_int_equal(from->frame.numbered, numbered);
    assert_int_equal(sni_frame_read(&from->frame, &record), SNI_FRAME_RECORD);
    return record;
}

static void
hear_protocol_error(stage *on, const char *reason)
{
    heard from;
    sni_record record;

    hear_frame(on, &from);
    assert_int_equal(sni_frame_read(&from.frame, &record), SNI_FRAME_RECORD);
    assert_int_equal(record.type, SNI_RECORD_ERR);
    assert_int_equal(record.id, 0);
    assert_int_equal(record.kind, SENNIT_KIND_PROTOCOL);
    assert_true(sennit_str_equal(record.message, sennit_str_of(reason)));
    assert_string_equal(on->reason, reason);
    sennit_msg_fini(&from.msg);
}

/* Greets and takes the bus's own greeting: HELLO and PING in one frame. */
static void
meet(stage *on)
{
    heard from;
    sni_record record;

    say_hello(on);
    record = hear(on, &from, true);
    assert_int_equal(from.frame.sequence, 1);
    assert_int_equal(record.type, SNI_RECORD_HELLO);
    assert_memory_equal(record.hello.node, sennit_bus_node_id(on->bus),
                        SENNIT_NODE_ID_SIZE);
    assert_int_equal(sni_frame_read(&from.frame, &record), SNI_FRAME_RECORD);
    assert_int_equal(record.type, SNI_RECORD_PING);
    sennit_msg_fini(&from.msg);
}

/* ---- Guests ----------------------------------------------------------- */

static void
a_guest_calls_without_a_hello(void **state)
{
    stage *on = *state;
    sni_record record = request(1, "echo");
    heard from;

    sni_record_write(&on->out, &record);
    say(on);
    record = hear(on, &from, false);
    assert_int_equal(record.type, SNI_RECORD_RES);
    assert_int_equal(record.id, 1);
    assert_int_equal(record.body.size, 4);
    assert_memory_equal(record.body.data, "body", 4);
    sennit_msg_fini(&from.msg);
    record = request(7, "nobody");
    sni_record_write(&on->out, &record);
    say(on);
    record = hear(on, &from, false);
    assert_int_equal(record.type, SNI_RECORD_ERR);
    assert_int_equal(record.id, 7);
    assert_int_equal(record.kind, SENNIT_KIND_NO_HANDLERS);
    assert_int_equal(record.ran, SENNIT_RAN_NEVER);
    sennit_msg_fini(&from.msg);
    assert_int_equal(rig_stats(on->bus).nodes, 1);
}

static void
a_guest_sends_publishes_pings_and_cancels(void **state)
{
    stage *on = *state;
    test_worker log = { .task = WORKER_NOTHING };
    test_worker slow = { .task = WORKER_KEEP };
    sni_record send = { .type = SNI_RECORD_SEND,
                        .address = sennit_str_of("log"),
                        .body = rig_bytes("s") };
    sni_record event = { .type = SNI_RECORD_PUB,
                         .address = sennit_str_of("log"),
                         .body = rig_bytes("p") };
    sni_record call = request(3, "slow");
    sni_record cancel = { .type = SNI_RECORD_CANCEL, .id = 3 };
    sni_record ping = { .type = SNI_RECORD_PING, .id = 99 };
    sni_record record;
    heard from;

    (void)rig_consume(on->bus, "log", &log);
    (void)rig_consume(on->bus, "slow", &slow);
    sni_record_write(&on->out, &send);
    sni_record_write(&on->out, &event);
    sni_record_write(&on->out, &call);
    sni_record_write(&on->out, &ping);
    say(on);
    record = hear(on, &from, false);
    assert_int_equal(record.type, SNI_RECORD_PONG);
    assert_int_equal(record.id, 99);
    sennit_msg_fini(&from.msg);
    assert_int_equal(log.runs, 2);
    assert_int_equal(slow.runs, 1);
    assert_false(sennit_reply_cancelled(slow.kept));
    sni_record_write(&on->out, &cancel);
    sni_record_write(&on->out, &ping);
    say(on);
    (void)hear(on, &from, false);
    sennit_msg_fini(&from.msg);
    assert_true(sennit_reply_cancelled(slow.kept));
}

/* Works until the budget of what waits behind it is up. */
static void
outlast(sennit_ctx *ctx, sennit_bytes body, void *arg)
{
    sennit_loop *loop = sennit_bus_loop(sennit_ctx_bus(ctx));
    sennit_time begun = sennit_loop_now(loop);

    (void)body;
    (void)arg;
    while (sennit_loop_now(loop) - begun < 2000)
        continue;
}

static void
R7_a_guests_request_found_expired_is_not_run(void **state)
{
    stage *on = *state;
    sni_record busy = { .type = SNI_RECORD_SEND, .address = sennit_str_of("busy") };
    sni_record record = request(5, "echo");
    heard from;

    assert_int_equal(sennit_bus_consume(on->bus, "busy", NULL, NULL, outlast, NULL),
                     SENNIT_OK);
    record.budget_us = 1;
    sni_record_write(&on->out, &busy);
    sni_record_write(&on->out, &record);
    say(on);
    record = hear(on, &from, false);
    assert_int_equal(record.type, SNI_RECORD_ERR);
    assert_int_equal(record.kind, SENNIT_KIND_TIMEOUT);
    assert_int_equal(record.ran, SENNIT_RAN_NEVER);
    sennit_msg_fini(&from.msg);
    assert_int_equal(on->echo.runs, 0);
    assert_int_equal(rig_stats(on->bus).expired_in_queue_total, 1);
}

static void
D9_a_local_consumer_is_not_reached_from_outside(void **state)
{
    static const sennit_consume_opts local = { SENNIT_SCOPE_LOCAL, 0, 0 };
    stage *on = *state;
    test_worker own = { .task = WORKER_ECHO };
    test_worker open = { .task = WORKER_ECHO };
    sni_record call = request(3, "mine");
    sni_record send = { .type = SNI_RECORD_SEND, .address = sennit_str_of("mine") };
    sni_record event = { .type = SNI_RECORD_PUB, .address = sennit_str_of("mine") };
    sennit_consumer *consumer;
    sni_record record;
    heard from;

    assert_int_equal(
        sennit_bus_consume(on->bus, "mine", &local, &consumer, worker_run, &own),
        SENNIT_OK);
    assert_int_equal(
        sennit_bus_consume(on->bus, "*", &local, &consumer, worker_run, &own), SENNIT_OK);
    sni_record_write(&on->out, &send);
    sni_record_write(&on->out, &event);
    sni_record_write(&on->out, &call);
    say(on);
    record = hear(on, &from, false);
    assert_int_equal(record.type, SNI_RECORD_ERR);
    assert_int_equal(record.kind, SENNIT_KIND_NO_HANDLERS);
    assert_int_equal(record.ran, SENNIT_RAN_NEVER);
    sennit_msg_fini(&from.msg);
    assert_int_equal(own.runs, 0);
    assert_int_equal(rig_stats(on->bus).dead_letters_total[SENNIT_DEAD_NO_CONSUMER], 2);
    /* Beside one that is for everybody each message finds that one. */
    (void)rig_consume(on->bus, "mine", &open);
    for (unsigned i = 1; i <= 3; i++) {
        sni_record_write(&on->out, &call);
        sni_record_write(&on->out, &event);
        say(on);
        record = hear(on, &from, false);
        assert_int_equal(record.type, SNI_RECORD_RES);
        sennit_msg_fini(&from.msg);
        rig_settle(on->loop);
        assert_int_equal(open.runs, 2 * i);
    }
    assert_int_equal(own.runs, 0);
}

static void
note_release(void *data, void *arg)
{
    free(data);
    *(bool *)arg = true;
}

/* Sends what was written in a message that tells when nobody holds it any more. */
static void
say_watched(stage *on, bool *released)
{
    uint8_t *copy = malloc(on->out.size);
    sennit_msg msg;

    assert_non_null(copy);
    memcpy(copy, on->out.data, on->out.size);
    assert_int_equal(
        sennit_msg_init_user(&msg, copy, on->out.size, note_release, released),
        SENNIT_OK);
    assert_int_equal(sennit_sock_send(on->raw, &msg, 0), SENNIT_OK);
    sennit_buf_clear(&on->out);
}

typedef struct frame_watch {
    bool released;
    bool released_at_run;
    unsigned runs;
} frame_watch;

static void
watch_frame(sennit_ctx *ctx, sennit_bytes body, void *arg)
{
    frame_watch *watch = arg;

    (void)ctx;
    (void)body;
    watch->runs++;
    watch->released_at_run = watch->released;
}

static void
B1_mail_holds_a_frame_only_if_it_is_most_of_it(void **state)
{
    static const uint8_t zeros[64 << 10];
    stage *on = *state;
    sni_record large = { .type = SNI_RECORD_SEND,
                         .address = sennit_str_of("nobody"),
                         .body = { zeros, sizeof zeros } };
    sni_record small = { .type = SNI_RECORD_SEND,
                         .address = sennit_str_of("watch"),
                         .body = { zeros, 5000 } };
    frame_watch watch = { 0 };
    sennit_consumer *consumer;

    assert_int_equal(
        sennit_bus_consume(on->bus, "watch", NULL, &consumer, watch_frame, &watch),
        SENNIT_OK);
    sni_record_write(&on->out, &large);
    sni_record_write(&on->out, &small);
    say_watched(on, &watch.released);
    while (watch.runs == 0)
        (void)sennit_loop_turn(on->loop, 100);
    assert_true(watch.released_at_run);
    /* One that is most of its frame is not copied. */
    watch.released = false;
    large.address = sennit_str_of("watch");
    sni_record_write(&on->out, &large);
    say_watched(on, &watch.released);
    while (watch.runs == 1)
        (void)sennit_loop_turn(on->loop, 100);
    assert_false(watch.released_at_run);
    rig_settle(on->loop);
    assert_true(watch.released);
}

static void
a_guest_that_leaves_takes_its_requests_along(void **state)
{
    stage *on = *state;
    test_worker slow = { .task = WORKER_KEEP };
    sni_record record = request(3, "slow");

    (void)rig_consume(on->bus, "slow", &slow);
    sni_record_write(&on->out, &record);
    say(on);
    while (slow.runs == 0)
        (void)sennit_loop_turn(on->loop, 100);
    sennit_sock_close(on->raw);
    on->raw = NULL;
    while (rig_stats(on->bus).replies_pending > 0)
        (void)sennit_loop_turn(on->loop, 100);
    assert_int_equal(sennit_reply_ok(slow.kept, rig_bytes("x")), SENNIT_ESTATE);
}

/* ---- Broken frames ---------------------------------------------------- */

typedef struct broken_row {
    const char *bytes;
    size_t size;
    const char *reason;
} broken_row;

#define BROKEN(literal, reason)                                                          \
    {                                                                                    \
        "" literal, sizeof(literal) - 1, reason                                          \
    }

static const broken_row broken[] = {
    BROKEN("", "a frame has no records"),
    BROKEN("\xdd\xff\xff\xff\xff", "a count is larger than the bytes that are left"),
    BROKEN("\xc1", "0xc1 is not msgpack"),
    BROKEN("\x91\x08\xc4\x00", "DATA records (streams) are not built yet"),
    BROKEN("\x91\x40\xc4\x00", "unknown record type"),
    BROKEN("\x93\x02\x00\xa4"
           "echo\xc4\x00",
           "a request's id must not be 0"),
    BROKEN("\x92\x03\x01\xc4\x00",
           "a guest may send REQ, SEND, PUB, CANCEL and PING only"),
    BROKEN("\x93\x05\x00\xb1$sennit.consumers\xc4\x00",
           "addresses that begin with $sennit are reserved"),
    BROKEN("\x93\x00\x00\xc4\x10"
           "0123456789abcdef\xc4\x00",
           "a HELLO's frame must carry a sequence number"),
};

static void
a_broken_frame_of_a_guest_is_answered_and_the_next_one_served(void **state)
{
    stage *on = *state;

    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        sni_record record = request(i + 1, "echo");
        heard from;

        say_bytes(on, broken[i].bytes, broken[i].size);
        hear_protocol_error(on, broken[i].reason);
        assert_int_equal(rig_stats(on->bus).protocol_errors_total, i + 1);
        sni_record_write(&on->out, &record);
        say(on);
        record = hear(on, &from, false);
        assert_int_equal(record.type, SNI_RECORD_RES);
        sennit_msg_fini(&from.msg);
    }
}

static void
records_before_the_broken_one_count(void **state)
{
    stage *on = *state;
    sni_record record = request(1, "echo");
    heard from;
    bool answered = false;
    bool refused = false;

    sni_record_write(&on->out, &record);
    sennit_buf_append(&on->out, "\xc1", 1);
    say(on);
    while (!answered || !refused) {
        hear_frame(on, &from);
        while (sni_frame_read(&from.frame, &record) == SNI_FRAME_RECORD) {
            answered = answered || record.type == SNI_RECORD_RES;
            refused = refused || (record.type == SNI_RECORD_ERR && record.id == 0);
        }
        sennit_msg_fini(&from.msg);
    }
    assert_int_equal(on->echo.runs, 1);
}

static void
attachments_are_refused_by_name(void **state)
{
    stage *on = *state;

    assert_int_equal(sennit_sock_send_bytes(on->raw, "\x91\x01\xc4\x00", 4, SENNIT_MORE),
                     SENNIT_OK);
    assert_int_equal(sennit_sock_send_bytes(on->raw, "x", 1, SENNIT_MORE), SENNIT_OK);
    say_bytes(on, "y", 1);
    hear_protocol_error(on, "attachments (further frames) are not built yet");
}

/* ---- Nodes ------------------------------------------------------------ */

static void
T2_a_numbered_frame_of_a_stranger_is_answered_who(void **state)
{
    stage *on = *state;
    sni_record record = request(1, "echo");
    heard from;

    on->sequence = 4;
    say_record(on, &record);
    record = hear(on, &from, false);
    assert_int_equal(record.type, SNI_RECORD_WHO);
    sennit_msg_fini(&from.msg);
    assert_int_equal(rig_stats(on->bus).who_total, 1);
    assert_int_equal(on->echo.runs, 0); /* its caller was told it was lost */
    meet(on);
    record = request(2, "echo");
    say_record(on, &record);
    record = hear(on, &from, true);
    assert_int_equal(record.type, SNI_RECORD_RES);
    assert_int_equal(from.frame.sequence, 2);
    sennit_msg_fini(&from.msg);
}

static void
T3_a_gap_costs_the_peer_its_state_and_is_answered_who(void **state)
{
    stage *on = *state;
    test_worker slow = { .task = WORKER_KEEP };
    sni_record record = request(1, "slow");
    heard from;

    (void)rig_consume(on->bus, "slow", &slow);
    meet(on);
    assert_int_equal(on->ups, 1);
    /* The announcement of "slow" and its PING came with the greeting or after. */
    say_record(on, &record);
    while (slow.runs == 0)
        (void)sennit_loop_turn(on->loop, 100);
    on->sequence++; /* a frame is lost */
    record = request(2, "echo");
    say_record(on, &record);
    do {
        hear_frame(on, &from);
        assert_int_equal(sni_frame_read(&from.frame, &record), SNI_FRAME_RECORD);
        sennit_msg_fini(&from.msg);
    } while (record.type != SNI_RECORD_WHO);
    assert_int_equal(rig_stats(on->bus).sequence_gaps_total, 1);
    assert_int_equal(on->downs, 1);
    assert_int_equal(on->echo.runs, 0);
    assert_true(sennit_reply_cancelled(slow.kept));
    meet(on);
    assert_int_equal(on->ups, 2);
}

static void
T3_a_hello_starts_the_conversation_over(void **state)
{
    stage *on = *state;
    sni_record record;
    heard from;

    for (int round = 1; round <= 3; round++) {
        meet(on);
        assert_int_equal(on->ups, round);
        assert_int_equal(on->downs, round - 1);
        record = request((uint64_t)round, "echo");
        say_record(on, &record);
        record = hear(on, &from, true);
        assert_int_equal(record.type, SNI_RECORD_RES);
        sennit_msg_fini(&from.msg);
    }
    assert_int_equal(rig_stats(on->bus).nodes, 2);
}

typedef struct node_row {
    const char *name;
    const char *bytes; /* behind the sequence number */
    size_t size;
    const char *reason;
} node_row;

#define NODE(name, literal, reason)                                                      \
    {                                                                                    \
        name, "" literal, sizeof(literal) - 1, reason                                    \
    }

static const node_row node_rows[] = {
    NODE("a WHO from the dialing side", "\x91\x01\xc4\x00",
         "a WHO from the side that was connected to"),
    NODE("a second HELLO within a frame",
         "\x92\x0c\x00\xc4\x00\x93\x00\x00\xc4\x10"
         "0123456789abcdef\xc4\x00",
         "a HELLO must be the first record of its frame"),
    NODE("consumers that are no list", "\x93\x05\x00\xb1$sennit.consumers\xc4\x01\x05",
         "a change of consumed addresses is malformed"),
    NODE("consumers that nest",
         "\x93\x05\x00\xb1$sennit.consumers\xc4\x05\x92\x91\x91\xc0\x90",
         "a change of consumed addresses is malformed"),
    NODE("consumers with a bad address",
         "\x93\x05\x00\xb1$sennit.consumers\xc4\x06\x92\x91\xa2..\x90",
         "a change of consumed addresses is malformed"),
};

static void
a_node_that_breaks_the_rules_is_told_and_dropped(void **state)
{
    stage *on = *state;

    for (size_t i = 0; i < sizeof node_rows / sizeof node_rows[0]; i++) {
        meet(on);
        sennit_pack_uint(&on->out, ++on->sequence);
        sennit_buf_append(&on->out, node_rows[i].bytes, node_rows[i].size);
        say(on);
        hear_protocol_error(on, node_rows[i].reason);
        rig_settle(on->loop);
        assert_int_equal(on->downs, i + 1);
        assert_int_equal(rig_stats(on->bus).nodes, 1);
    }
}

static void
an_unnumbered_frame_of_a_node_is_refused(void **state)
{
    stage *on = *state;
    sni_record record = request(1, "echo");

    meet(on);
    sni_record_write(&on->out, &record);
    say(on);
    hear_protocol_error(on, "a frame after HELLO must carry a sequence number");
    assert_int_equal(on->echo.runs, 0);
}

/* A change of what the raw node consumes: `address` so many times more or less. */
static void
say_consumers(stage *on, const char *address, size_t added, size_t removed)
{
    sni_record change = { .type = SNI_RECORD_SEND,
                          .address = sennit_str_of("$sennit.consumers") };
    sennit_buf body;

    sennit_buf_init(&body, NULL);
    sennit_pack_array(&body, 2);
    sennit_pack_array(&body, added);
    for (size_t i = 0; i < added; i++)
        sennit_pack_str(&body, sennit_str_of(address));
    sennit_pack_array(&body, removed);
    for (size_t i = 0; i < removed; i++)
        sennit_pack_str(&body, sennit_str_of(address));
    change.body = sennit_buf_bytes(&body);
    say_record(on, &change);
    sennit_buf_fini(&body);
    rig_settle(on->loop);
}

static bool
raw_consumes(stage *on, const char *address)
{
    sennit_err err = sennit_bus_send(on->bus, address, rig_bytes("x"), NULL);

    assert_true(err == SENNIT_OK || err == SENNIT_ENOENT);
    return err == SENNIT_OK;
}

static void
a_node_consumes_an_address_until_it_has_taken_back_the_last(void **state)
{
    enum { MANY = 65536 };
    stage *on = *state;

    meet(on);
    say_consumers(on, "many", MANY, 0);
    assert_true(raw_consumes(on, "many"));
    say_consumers(on, "many", 0, MANY - 1);
    assert_true(raw_consumes(on, "many"));
    say_consumers(on, "many", 0, 1);
    assert_false(raw_consumes(on, "many"));
    say_consumers(on, "many", 0, MANY); /* what is not there cannot go */
    say_consumers(on, "many", 1, 0);
    assert_true(raw_consumes(on, "many"));
    assert_int_equal(on->downs, 0);
}

static void
a_node_that_announces_all_it_may_is_forgotten_when_it_starts_over(void **state)
{
    stage *on = *state;
    char address[32];

    meet(on);
    for (int block = 0; block < 64; block++) {
        sni_record change = { .type = SNI_RECORD_SEND,
                              .address = sennit_str_of("$sennit.consumers") };
        sennit_buf body;

        sennit_buf_init(&body, NULL);
        sennit_pack_array(&body, 2);
        sennit_pack_array(&body, 1024);
        for (int i = 0; i < 1024; i++) {
            (void)snprintf(address, sizeof address, "a.%d", block * 1024 + i);
            sennit_pack_str(&body, sennit_str_of(address));
        }
        sennit_pack_array(&body, 0);
        change.body = sennit_buf_bytes(&body);
        say_record(on, &change);
        sennit_buf_fini(&body);
        rig_settle(on->loop);
    }
    assert_true(raw_consumes(on, "a.65535"));
    say_hello(on);
    rig_settle(on->loop);
    assert_false(raw_consumes(on, "a.65535"));
    say_consumers(on, "a", 65536, 0);
    assert_int_equal(on->downs, 1);
    say_consumers(on, "b", 1, 0);
    assert_string_equal(on->reason, "a change of consumed addresses is malformed");
}

static void
a_protocol_version_in_common_is_needed(void **state)
{
    stage *on = *state;
    sni_record hello = { .type = SNI_RECORD_HELLO,
                         .hello = { .node = "raw peer 123456",
                                    .proto_min = 2,
                                    .proto_max = 9,
                                    .max_frame = 1 << 20 } };

    say_record(on, &hello);
    hear_protocol_error(on, "no protocol version in common; this is version 1");
}

static void
our_own_node_id_from_elsewhere_is_refused(void **state)
{
    stage *on = *state;
    sni_record hello = { .type = SNI_RECORD_HELLO,
                         .hello = { .incarnation = 1,
                                    .proto_min = 1,
                                    .proto_max = 1,
                                    .max_frame = 1 << 20 } };

    memcpy(hello.hello.node, sennit_bus_node_id(on->bus), SENNIT_NODE_ID_SIZE);
    say_record(on, &hello);
    hear_protocol_error(on, "another node uses our node id");
}

static void
a_node_started_anew_ends_its_earlier_life(void **state)
{
    stage *on = *state;
    sni_record hello = { .type = SNI_RECORD_HELLO,
                         .hello = { .node = "raw peer 123456",
                                    .incarnation = 2,
                                    .proto_min = 1,
                                    .proto_max = 1,
                                    .max_frame = 1 << 20,
                                    .consumed = { (const uint8_t *)"\x91\xa1x", 3 } } };
    sennit_sock *second;
    heard from;

    meet(on);
    assert_int_equal(sennit_sock_open(&second, on->loop, SENNIT_DEALER, NULL), SENNIT_OK);
    assert_int_equal(sennit_sock_connect(second, "inproc://stage"), SENNIT_OK);
    sennit_sock_close(on->raw);
    on->raw = second;
    on->sequence = 0;
    say_record(on, &hello);
    assert_int_equal(hear(on, &from, true).type, SNI_RECORD_HELLO);
    sennit_msg_fini(&from.msg);
    assert_int_equal(on->downs, 1);
    assert_int_equal(on->ups, 2);
    assert_int_equal(rig_stats(on->bus).nodes, 2);
}

static void
a_peer_that_asks_and_never_reads_is_dropped(void **state)
{
    stage *on = *state;
    sni_record ping = { .type = SNI_RECORD_PING, .id = UINT64_MAX };
    bool dropped = false;

    meet(on);
    for (int round = 0; round < 2000 && !dropped; round++) {
        sennit_err err;

        sennit_pack_uint(&on->out, ++on->sequence);
        for (int i = 0; i < 4000; i++)
            sni_record_write(&on->out, &ping);
        err =
            sennit_sock_send_bytes(on->raw, on->out.data, on->out.size, SENNIT_DONTWAIT);
        if (err)
            on->sequence--;
        sennit_buf_clear(&on->out);
        assert_true(err == SENNIT_OK || err == SENNIT_EAGAIN);
        (void)sennit_loop_turn(on->loop, 0);
        assert_true(rig_stats(on->bus).peer_queue_bytes < 1u << 20);
        dropped = on->downs > 0;
    }
    assert_true(dropped);
}

static void
one_turn_reads_a_bounded_number_of_records(void **state)
{
    enum { FRAMES = 10, RECORDS = 3000 };
    stage *on = *state;
    sni_record send = { .type = SNI_RECORD_SEND, .address = sennit_str_of("nobody") };
    uint64_t before = rig_stats(on->bus).records_received_total;
    uint64_t total = before + FRAMES * RECORDS;

    for (int i = 0; i < FRAMES; i++) {
        for (int k = 0; k < RECORDS; k++)
            sni_record_write(&on->out, &send);
        say(on);
    }
    while (before < total) {
        uint64_t now;

        (void)sennit_loop_turn(on->loop, 100);
        now = rig_stats(on->bus).records_received_total;
        assert_in_range(now - before, 0, 4096 + RECORDS);
        before = now;
    }
}

typedef struct generous {
    unsigned given;
    unsigned refused;
} generous;

static void
give_much(sennit_ctx *ctx, sennit_bytes body, void *arg)
{
    static const uint8_t much[100 << 10];
    generous *counts = arg;
    sennit_err err =
        sennit_reply_ok(sennit_ctx_reply(ctx), (sennit_bytes){ much, sizeof much });

    (void)body;
    assert_true(err == SENNIT_OK || err == SENNIT_EAGAIN);
    counts->given += err == SENNIT_OK;
    counts->refused += err == SENNIT_EAGAIN;
}

static void
B3_a_guest_that_never_reads_is_bounded_in_bytes(void **state)
{
    enum { CALLS = 60 };
    stage *on = *state;
    generous counts = { 0, 0 };
    sni_record ping = { .type = SNI_RECORD_PING, .id = 99 };
    unsigned results = 0;
    unsigned failures = 0;
    sennit_consumer *consumer;
    sni_record record;
    heard from;

    assert_int_equal(
        sennit_bus_consume(on->bus, "much", NULL, &consumer, give_much, &counts),
        SENNIT_OK);
    for (unsigned i = 0; i < CALLS; i++) {
        record = request(i + 1, "much");
        sni_record_write(&on->out, &record);
        say(on);
    }
    while (counts.given + counts.refused < CALLS)
        (void)sennit_loop_turn(on->loop, 100);
    /* 256 KiB here, as much again in the socket, and what the peer's own takes. */
    assert_in_range(counts.given, 2, 9);
    sni_record_write(&on->out, &ping);
    say(on);
    /* Once it reads it gets all of it. */
    for (bool more = true; more;) {
        hear_frame(on, &from);
        while (sni_frame_read(&from.frame, &record) == SNI_FRAME_RECORD) {
            results += record.type == SNI_RECORD_RES;
            failures += record.type == SNI_RECORD_ERR;
            more = record.type != SNI_RECORD_PONG;
        }
        sennit_msg_fini(&from.msg);
    }
    assert_int_equal(results, counts.given);
    assert_int_equal(failures, counts.refused);
}

static void
refuse_it(sennit_ctx *ctx, sennit_bytes body, void *arg)
{
    (void)body;
    (void)arg;
    assert_int_equal(sennit_reply_refuse(sennit_ctx_reply(ctx), SENNIT_KIND_BAD_MESSAGE,
                                         "not like this"),
                     SENNIT_OK);
}

static void
R10_a_refusal_says_never_however_full_the_send_queue_is(void **state)
{
    enum { CALLS = 60, REFUSALS = 3000 };
    stage *on = *state;
    generous counts = { 0, 0 };
    unsigned never = 0;
    sennit_consumer *consumer;
    sni_record record;
    heard from;

    assert_int_equal(
        sennit_bus_consume(on->bus, "much", NULL, &consumer, give_much, &counts),
        SENNIT_OK);
    assert_int_equal(sennit_bus_consume(on->bus, "no", NULL, &consumer, refuse_it, NULL),
                     SENNIT_OK);
    for (unsigned i = 1; i <= CALLS + REFUSALS; i++) {
        record = request(i, i <= CALLS ? "much" : "no");
        sni_record_write(&on->out, &record);
    }
    say(on);
    while (rig_stats(on->bus).handled_total < CALLS + REFUSALS)
        (void)sennit_loop_turn(on->loop, 100);
    while (never < REFUSALS) {
        hear_frame(on, &from);
        while (sni_frame_read(&from.frame, &record) == SNI_FRAME_RECORD) {
            if (record.id <= CALLS)
                continue;
            assert_int_equal(record.type, SNI_RECORD_ERR);
            assert_int_equal(record.kind, SENNIT_KIND_BAD_MESSAGE);
            assert_int_equal(record.ran, SENNIT_RAN_NEVER);
            never++;
        }
        sennit_msg_fini(&from.msg);
    }
    assert_true(counts.refused > 0); /* it was full */
}

/* What the raw peer may say, right or wrong, one byte in it changed at random. */
static void
say_something(stage *on, test_rng *rng)
{
    static const sni_record_type types[] = { SNI_RECORD_HELLO, SNI_RECORD_REQ,
                                             SNI_RECORD_RES,   SNI_RECORD_ERR,
                                             SNI_RECORD_SEND,  SNI_RECORD_PUB,
                                             SNI_RECORD_PING,  SNI_RECORD_PONG,
                                             SNI_RECORD_CANCEL };
    static const char *const addresses[] = { "echo", "slow", "nobody",
                                             "$sennit.consumers" };

    if (test_rng_chance(rng, 80))
        sennit_pack_uint(&on->out, ++on->sequence);
    for (uint64_t records = test_rng_below(rng, 4); records > 0; records--) {
        sni_record record = { .type = types[test_rng_below(rng, 9)],
                              .id = test_rng_below(rng, 5),
                              .address = sennit_str_of(addresses[test_rng_below(rng, 4)]),
                              .kind = 1 + (uint32_t)test_rng_below(rng, 20),
                              .body = rig_bytes("\x92\x91\xa1x\x91\xa1x"),
                              .hello = { .node = "raw peer 123456",
                                         .incarnation = test_rng_below(rng, 3),
                                         .proto_min = 1,
                                         .proto_max = 1,
                                         .max_frame = 1 << 20 } };

        sni_record_write(&on->out, &record);
    }
    if (on->out.size > 0 && test_rng_chance(rng, 40))
        on->out.data[test_rng_below(rng, on->out.size)] = (uint8_t)test_rng_next(rng);
    say(on);
}

static void
whatever_a_peer_says_harms_nobody_else(void **state)
{
    stage *on = *state;
    test_worker slow = { .task = WORKER_KEEP };
    test_rng rng = { 20261130 };
    sennit_msg msg;

    (void)rig_consume(on->bus, "slow", &slow);
    sennit_msg_init(&msg);
    for (int round = 0; round < 5000; round++) {
        if (test_rng_chance(&rng, 10)) {
            say_hello(on);
            rig_settle(on->loop);
        }
        say_something(on, &rng);
        (void)sennit_loop_turn(on->loop, 0);
        while (sennit_sock_recv(on->raw, &msg, SENNIT_DONTWAIT) == SENNIT_OK)
            continue;
    }
    sennit_msg_fini(&msg);
    assert_true(rig_stats(on->bus).protocol_errors_total > 500);
    assert_true(on->ups > 100 && on->echo.runs > 100 && slow.runs > 100);
}

/* ---- A raw node that is called ---------------------------------------- */

/* The other way round: the bus `other` is linked to a raw ROUTER. */
typedef struct called {
    sennit_loop *loop;
    sennit_bus *bus;
    sennit_sock *raw;
    sennit_msg identity;
    sennit_buf out;
    uint64_t sequence;
    stage seen;
} called;

static int
open_called(void **state)
{
    called *on = calloc(1, sizeof *on);
    sennit_sock_opts opts = SENNIT_SOCK_OPTS_DEFAULT;

    assert_non_null(on);
    opts.recv_hwm_msgs = 1; /* a reader whose slowness is felt */
    sennit_buf_init(&on->out, NULL);
    sennit_msg_init(&on->identity);
    assert_int_equal(sennit_loop_open(&on->loop, NULL), SENNIT_OK);
    assert_int_equal(sennit_bus_open(&on->bus, on->loop, NULL), SENNIT_OK);
    sennit_bus_on_peer(on->bus, watch_peers, &on->seen);
    assert_int_equal(sennit_sock_open(&on->raw, on->loop, SENNIT_ROUTER, &opts),
                     SENNIT_OK);
    assert_int_equal(sennit_sock_bind(on->raw, "inproc://raw"), SENNIT_OK);
    assert_int_equal(sennit_bus_link(on->bus, "inproc://raw"), SENNIT_OK);
    *state = on;
    return 0;
}

static int
close_called(void **state)
{
    called *on = *state;

    sennit_bus_close(on->bus);
    sennit_sock_close(on->raw);
    sennit_msg_fini(&on->identity);
    sennit_loop_close(on->loop);
    sennit_buf_fini(&on->out);
    free(on);
    return 0;
}

/* The next frame that comes, and who from. */
static void
take_frame(called *on, heard *from)
{
    sennit_msg_init(&from->msg);
    for (int patience = 0; patience < 100; patience++) {
        if (sennit_sock_recv(on->raw, &on->identity, SENNIT_DONTWAIT) == SENNIT_OK) {
            assert_int_equal(sennit_sock_recv(on->raw, &from->msg, SENNIT_DONTWAIT),
                             SENNIT_OK);
            sni_frame_init(&from->frame, sennit_msg_bytes(&from->msg));
            return;
        }
        assert_int_equal(sennit_loop_turn(on->loop, 100), SENNIT_OK);
    }
    fail_msg("the bus said nothing");
}

static void
give_frame(called *on)
{
    sennit_msg identity;

    sennit_msg_init(&identity);
    sennit_msg_copy(&identity, &on->identity);
    assert_int_equal(sennit_sock_send(on->raw, &identity, SENNIT_MORE), SENNIT_OK);
    assert_int_equal(sennit_sock_send_bytes(on->raw, on->out.data, on->out.size, 0),
                     SENNIT_OK);
    sennit_buf_clear(&on->out);
}

static void
give_record(called *on, const sni_record *record)
{
    sennit_pack_uint(&on->out, ++on->sequence);
    sni_record_write(&on->out, record);
    give_frame(on);
}

/* Takes the bus's greeting and answers as a node that consumes "work". */
static void
be_met(called *on)
{
    sni_record hello = { .type = SNI_RECORD_HELLO,
                         .hello = {
                             .node = "raw node 123456",
                             .incarnation = 1,
                             .proto_min = 1,
                             .proto_max = 1,
                             .max_frame = 1 << 20,
                             .consumed = { (const uint8_t *)"\x91\xa4work", 6 } } };
    unsigned ups = on->seen.ups;
    sni_record record;
    sni_record pong = { .type = SNI_RECORD_PONG };
    heard from;

    take_frame(on, &from);
    assert_true(from.frame.numbered);
    assert_int_equal(from.frame.sequence, 1);
    assert_int_equal(sni_frame_read(&from.frame, &record), SNI_FRAME_RECORD);
    assert_int_equal(record.type, SNI_RECORD_HELLO);
    assert_int_equal(sni_frame_read(&from.frame, &record), SNI_FRAME_RECORD);
    assert_int_equal(record.type, SNI_RECORD_PING);
    pong.id = record.id;
    sennit_msg_fini(&from.msg);
    on->sequence = 0;
    give_record(on, &hello);
    give_record(on, &pong);
    assert_int_equal(sennit_bus_wait_ready(on->bus, 5000), SENNIT_OK);
    assert_int_equal(on->seen.ups, ups + 1);
}

/* The request that comes; its id. */
static uint64_t
take_request(called *on)
{
    sni_record record;
    heard from;
    uint64_t id;

    take_frame(on, &from);
    assert_int_equal(sni_frame_read(&from.frame, &record), SNI_FRAME_RECORD);
    assert_int_equal(record.type, SNI_RECORD_REQ);
    id = record.id;
    sennit_msg_fini(&from.msg);
    return id;
}

static void
count_late(const sennit_dead_letter *letter, void *arg)
{
    *(unsigned *)arg += letter->reason == SENNIT_DEAD_LATE_REPLY;
}

static void
R4_late_double_and_foreign_replies_reach_nobody(void **state)
{
    called *on = *state;
    sni_record reply = { .type = SNI_RECORD_RES, .body = rig_bytes("one") };
    unsigned late = 0;
    outcome out;

    be_met(on);
    sennit_bus_on_dead_letter(on->bus, count_late, &late);
    (void)rig_request(on->bus, "work", "x", 1000, &out);
    reply.id = take_request(on);
    give_record(on, &reply);
    give_record(on, &reply);       /* again */
    reply.id ^= UINT64_C(1) << 30; /* another generation */
    give_record(on, &reply);
    reply.id = UINT64_C(0xffffffffffffffff); /* no such slot */
    give_record(on, &reply);
    rig_wait(on->loop, &out);
    rig_settle(on->loop);
    assert_answered(&out, "one");
    assert_int_equal(rig_stats(on->bus).late_replies_total, 3);
    assert_int_equal(late, 3);
    /* After a timeout. */
    (void)rig_request(on->bus, "work", "x", 5, &out);
    reply.id = take_request(on);
    rig_wait(on->loop, &out);
    assert_failed(&out, SENNIT_KIND_TIMEOUT, SENNIT_RAN_MAYBE);
    give_record(on, &reply);
    rig_settle(on->loop);
    assert_int_equal(out.count, 1);
    assert_int_equal(rig_stats(on->bus).late_replies_total, 4);
}

static void
T3_a_gap_fails_what_waits_and_the_link_greets_again(void **state)
{
    called *on = *state;
    sni_record reply = { .type = SNI_RECORD_RES, .body = rig_bytes("x") };
    outcome out;

    be_met(on);
    (void)rig_request(on->bus, "work", "x", SENNIT_TIMEOUT_NONE, &out);
    reply.id = take_request(on);
    on->sequence++; /* a frame is lost */
    give_record(on, &reply);
    rig_wait(on->loop, &out);
    assert_failed(&out, SENNIT_KIND_PEER_LOST, SENNIT_RAN_MAYBE);
    assert_string_equal(strrchr(out.error.message, ':'), ": frames were lost on the way");
    assert_int_equal(rig_stats(on->bus).sequence_gaps_total, 1);
    be_met(on);
}

static void
T2_a_who_makes_the_link_greet_again(void **state)
{
    called *on = *state;
    sni_record who = { .type = SNI_RECORD_WHO };
    outcome out;

    be_met(on);
    (void)rig_request(on->bus, "work", "x", SENNIT_TIMEOUT_NONE, &out);
    (void)take_request(on);
    sni_record_write(&on->out, &who); /* unnumbered: it does not know us */
    give_frame(on);
    rig_wait(on->loop, &out);
    assert_failed(&out, SENNIT_KIND_PEER_LOST, SENNIT_RAN_MAYBE);
    be_met(on);
}

static void
a_node_that_answers_nonsense_fails_its_own_calls_with_protocol(void **state)
{
    called *on = *state;
    outcome out;

    be_met(on);
    (void)rig_request(on->bus, "work", "x", SENNIT_TIMEOUT_NONE, &out);
    (void)take_request(on);
    sennit_pack_uint(&on->out, ++on->sequence);
    sennit_buf_append(&on->out, "\xdd\xff\xff\xff\xff", 5);
    give_frame(on);
    rig_wait(on->loop, &out);
    assert_failed(&out, SENNIT_KIND_PROTOCOL, SENNIT_RAN_MAYBE);
    assert_string_equal(on->seen.reason,
                        "a count is larger than the bytes that are left");
    (void)rig_request(on->bus, "work", "x", SENNIT_TIMEOUT_NONE, &out);
    rig_wait(on->loop, &out);
    assert_failed(&out, SENNIT_KIND_NO_HANDLERS, SENNIT_RAN_NEVER);
}

static void
a_node_that_refuses_us_is_greeted_again(void **state)
{
    called *on = *state;
    sni_record refusal = { .type = SNI_RECORD_ERR,
                           .kind = SENNIT_KIND_PROTOCOL,
                           .ran = SENNIT_RAN_MAYBE,
                           .message = sennit_str_of("I do not like it") };
    outcome out;

    be_met(on);
    (void)rig_request(on->bus, "work", "x", SENNIT_TIMEOUT_NONE, &out);
    (void)take_request(on);
    give_record(on, &refusal);
    rig_wait(on->loop, &out);
    assert_failed(&out, SENNIT_KIND_PEER_LOST, SENNIT_RAN_MAYBE);
    assert_string_equal(on->seen.reason, "I do not like it");
    be_met(on);
}

/* Takes what comes up to a greeting, and leaves that unanswered. */
static void
be_greeted(called *on)
{
    sni_record record = { .type = SNI_RECORD_ERR };
    heard from;

    while (record.type != SNI_RECORD_HELLO) {
        take_frame(on, &from);
        assert_int_equal(sni_frame_read(&from.frame, &record), SNI_FRAME_RECORD);
        sennit_msg_fini(&from.msg);
    }
    on->sequence = 0;
}

static void
T2_before_its_hello_a_node_may_only_refuse_us(void **state)
{
    called *on = *state;
    sni_record refusal = { .type = SNI_RECORD_ERR,
                           .kind = SENNIT_KIND_PROTOCOL,
                           .message = sennit_str_of("I do not know you") };
    sni_record answer = { .type = SNI_RECORD_ERR, .id = 5, .kind = SENNIT_KIND_TIMEOUT };
    sni_record event = { .type = SNI_RECORD_PUB, .address = sennit_str_of("log") };
    test_worker log = { .task = WORKER_NOTHING };

    (void)rig_consume(on->bus, "log", &log);
    be_greeted(on);
    give_record(on, &answer);
    be_greeted(on); /* on a new connection */
    assert_string_equal(on->seen.reason, "a frame came before the HELLO");
    sennit_pack_uint(&on->out, 1);
    sni_record_write(&on->out, &refusal);
    sni_record_write(&on->out, &event);
    give_frame(on);
    be_greeted(on);
    assert_string_equal(on->seen.reason, "I do not know you");
    assert_int_equal(log.runs, 0);
    assert_int_equal(rig_stats(on->bus).protocol_errors_total, 1);
}

static void
a_node_that_drains_gets_no_new_calls(void **state)
{
    called *on = *state;
    sni_record goaway = { .type = SNI_RECORD_GOAWAY };
    sni_record reply = { .type = SNI_RECORD_RES, .body = rig_bytes("still") };
    outcome before;
    outcome after;

    be_met(on);
    (void)rig_request(on->bus, "work", "x", 1000, &before);
    reply.id = take_request(on);
    give_record(on, &goaway);
    rig_settle(on->loop);
    (void)rig_request(on->bus, "work", "x", 1000, &after);
    rig_wait(on->loop, &after);
    assert_failed(&after, SENNIT_KIND_DRAINING, SENNIT_RAN_NEVER);
    assert_int_equal(sennit_bus_send(on->bus, "work", rig_bytes("x"), NULL),
                     SENNIT_ENOENT);
    give_record(on, &reply); /* what it had is finished */
    rig_wait(on->loop, &before);
    assert_answered(&before, "still");
}

/* D1: `never` is a promise. What had not left when the node went is NOT_SENT; what
 * may have left is PEER_LOST/maybe; what the queue did not take is OVERLOADED. */
static void
what_left_and_what_did_not_is_told_apart(void **state)
{
    enum { CALLS = 400 };
    static uint8_t body[60000];
    static outcome out[CALLS];
    called *on = *state;
    unsigned left = 0;
    unsigned counts[3] = { 0 };
    sennit_msg msg;

    be_met(on);
    memset(out, 0, sizeof out);
    for (int i = 0; i < CALLS; i++)
        assert_int_equal(sennit_bus_request(on->bus, "work",
                                            (sennit_bytes){ body, sizeof body }, NULL,
                                            NULL, outcome_keep, &out[i]),
                         SENNIT_OK);
    /* The raw node takes three frames, each with one request or two, and goes. */
    sennit_msg_init(&msg);
    for (int i = 0; i < 3; i++) {
        sni_record record;
        heard from;

        take_frame(on, &from);
        while (sni_frame_read(&from.frame, &record) == SNI_FRAME_RECORD)
            left++;
        sennit_msg_fini(&from.msg);
    }
    sennit_sock_close(on->raw);
    on->raw = NULL;
    for (int i = 0; i < CALLS; i++)
        rig_wait(on->loop, &out[i]);
    for (int i = 0; i < CALLS; i++) {
        switch (out[i].error.kind) {
        case SENNIT_KIND_PEER_LOST:
            assert_failed(&out[i], SENNIT_KIND_PEER_LOST, SENNIT_RAN_MAYBE);
            counts[0]++;
            break;
        case SENNIT_KIND_NOT_SENT:
            assert_failed(&out[i], SENNIT_KIND_NOT_SENT, SENNIT_RAN_NEVER);
            counts[1]++;
            break;
        default:
            assert_failed(&out[i], SENNIT_KIND_OVERLOADED, SENNIT_RAN_NEVER);
            counts[2]++;
            break;
        }
    }
    assert_true(counts[0] >= left);
    assert_true(counts[1] > 0);
    assert_true(counts[2] > 0);
}

/* ---- Events for guests ------------------------------------------------ */

static void
D7_an_exact_topic_ends_in_nul_and_its_frame_is_one_record(void **state)
{
    sennit_loop *loop;
    sennit_bus *bus;
    sennit_sock *sub;
    sennit_msg part;
    sni_frame frame;
    sni_record record;

    (void)state;
    assert_int_equal(sennit_loop_open(&loop, NULL), SENNIT_OK);
    assert_int_equal(sennit_bus_open(&bus, loop, NULL), SENNIT_OK);
    assert_int_equal(sennit_bus_listen_events(bus, "tcp://127.0.0.1:0"), SENNIT_OK);
    assert_int_equal(sennit_sock_open(&sub, loop, SENNIT_SUB, NULL), SENNIT_OK);
    assert_int_equal(
        sennit_sock_subscribe(sub, (sennit_bytes){ (const uint8_t *)"price.a", 8 }),
        SENNIT_OK);
    assert_int_equal(sennit_sock_connect(sub, sennit_bus_events_endpoint(bus)),
                     SENNIT_OK);
    sennit_msg_init(&part);
    /* A PUB drops for those it does not know yet: until the subscription is there. */
    for (int round = 0; round < 1000; round++) {
        assert_int_equal(
            sennit_bus_publish(bus, "price.ab", rig_bytes("wrong"), NULL, NULL),
            SENNIT_OK);
        assert_int_equal(
            sennit_bus_publish(bus, "price.a", rig_bytes("right"), NULL, NULL),
            SENNIT_OK);
        (void)sennit_loop_turn(loop, 10);
        if (sennit_sock_recv(sub, &part, SENNIT_DONTWAIT) == SENNIT_OK)
            break;
    }
    assert_int_equal(sennit_msg_size(&part), 8);
    assert_memory_equal(sennit_msg_data(&part), "price.a", 8);
    assert_true(sennit_msg_more(&part));
    assert_int_equal(sennit_sock_recv(sub, &part, SENNIT_DONTWAIT), SENNIT_OK);
    assert_false(sennit_msg_more(&part));
    sni_frame_init(&frame, sennit_msg_bytes(&part));
    assert_false(frame.numbered);
    assert_int_equal(sni_frame_read(&frame, &record), SNI_FRAME_RECORD);
    assert_int_equal(record.type, SNI_RECORD_PUB);
    assert_true(sennit_str_equal(record.address, sennit_str_of("price.a")));
    assert_memory_equal(record.body.data, "right", 5);
    assert_int_equal(sni_frame_read(&frame, &record), SNI_FRAME_END);
    sennit_msg_fini(&part);
    sennit_sock_close(sub);
    sennit_bus_close(bus);
    sennit_loop_close(loop);
}

/* ---- Many at once ----------------------------------------------------- */

static void
nodes_that_vanish_in_one_turn_are_all_noticed(void **state)
{
    enum { NODES = 100 }; /* more than a socket keeps events for */
    static sennit_bus *nodes[NODES];
    static test_worker slow[NODES];
    static outcome out[NODES];
    stage *on = *state;

    for (int i = 0; i < NODES; i++) {
        slow[i] = (test_worker){ .task = WORKER_KEEP };
        assert_int_equal(sennit_bus_open(&nodes[i], on->loop, NULL), SENNIT_OK);
        (void)rig_consume(nodes[i], "slow", &slow[i]);
        assert_int_equal(sennit_bus_link(nodes[i], "inproc://stage"), SENNIT_OK);
        assert_int_equal(sennit_bus_wait_ready(nodes[i], 5000), SENNIT_OK);
    }
    for (int i = 0; i < NODES; i++)
        (void)rig_request(on->bus, "slow", "x", SENNIT_TIMEOUT_NONE, &out[i]);
    for (int i = 0; i < NODES; i++) {
        while (slow[i].runs == 0)
            (void)sennit_loop_turn(on->loop, 100);
    }
    for (int i = 0; i < NODES; i++)
        sennit_bus_close(nodes[i]);
    for (int i = 0; i < NODES; i++) {
        rig_wait(on->loop, &out[i]);
        assert_failed(&out[i], SENNIT_KIND_PEER_LOST, SENNIT_RAN_MAYBE);
    }
    assert_int_equal(rig_stats(on->bus).nodes, 1);
}

#define STAGE_TEST(name)  cmocka_unit_test_setup_teardown(name, open_stage, close_stage)
#define CALLED_TEST(name) cmocka_unit_test_setup_teardown(name, open_called, close_called)

static const struct CMUnitTest tests[] = {
    STAGE_TEST(a_guest_calls_without_a_hello),
    STAGE_TEST(a_guest_sends_publishes_pings_and_cancels),
    STAGE_TEST(R7_a_guests_request_found_expired_is_not_run),
    STAGE_TEST(D9_a_local_consumer_is_not_reached_from_outside),
    STAGE_TEST(B1_mail_holds_a_frame_only_if_it_is_most_of_it),
    STAGE_TEST(a_guest_that_leaves_takes_its_requests_along),
    STAGE_TEST(a_broken_frame_of_a_guest_is_answered_and_the_next_one_served),
    STAGE_TEST(records_before_the_broken_one_count),
    STAGE_TEST(attachments_are_refused_by_name),
    STAGE_TEST(T2_a_numbered_frame_of_a_stranger_is_answered_who),
    STAGE_TEST(T3_a_gap_costs_the_peer_its_state_and_is_answered_who),
    STAGE_TEST(T3_a_hello_starts_the_conversation_over),
    STAGE_TEST(a_node_that_breaks_the_rules_is_told_and_dropped),
    STAGE_TEST(an_unnumbered_frame_of_a_node_is_refused),
    STAGE_TEST(a_node_consumes_an_address_until_it_has_taken_back_the_last),
    STAGE_TEST(a_node_that_announces_all_it_may_is_forgotten_when_it_starts_over),
    STAGE_TEST(a_protocol_version_in_common_is_needed),
    STAGE_TEST(our_own_node_id_from_elsewhere_is_refused),
    STAGE_TEST(a_node_started_anew_ends_its_earlier_life),
    STAGE_TEST(a_peer_that_asks_and_never_reads_is_dropped),
    STAGE_TEST(one_turn_reads_a_bounded_number_of_records),
    STAGE_TEST(B3_a_guest_that_never_reads_is_bounded_in_bytes),
    STAGE_TEST(R10_a_refusal_says_never_however_full_the_send_queue_is),
    STAGE_TEST(whatever_a_peer_says_harms_nobody_else),
    STAGE_TEST(nodes_that_vanish_in_one_turn_are_all_noticed),
    CALLED_TEST(R4_late_double_and_foreign_replies_reach_nobody),
    CALLED_TEST(T3_a_gap_fails_what_waits_and_the_link_greets_again),
    CALLED_TEST(T2_a_who_makes_the_link_greet_again),
    CALLED_TEST(a_node_that_answers_nonsense_fails_its_own_calls_with_protocol),
    CALLED_TEST(a_node_that_refuses_us_is_greeted_again),
    CALLED_TEST(T2_before_its_hello_a_node_may_only_refuse_us),
    CALLED_TEST(a_node_that_drains_gets_no_new_calls),
    CALLED_TEST(what_left_and_what_did_not_is_told_apart),
    cmocka_unit_test(D7_an_exact_topic_ends_in_nul_and_its_frame_is_one_record),
};

SENNIT_TEST_MAIN(tests)
