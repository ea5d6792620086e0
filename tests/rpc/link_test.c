/* SPDX-License-Identifier: MIT */
/* Two buses and a link between them: what reaches the other side, and what the
 * caller is told when it does not. */
#include "sennit_test.h"

#include <stdio.h>

#include <unistd.h>

#include "rig.h"

/* Two nodes on one loop. `server` listens, `client` is linked to it. */
typedef struct pair {
    sennit_loop *loop;
    sennit_bus *server;
    sennit_bus *client;
    char endpoint[128];
} pair;

/* The transports a link is tried over. The last one gets a name of its own. */
static char abstract_name[64];
static const char *const transports[] = { "inproc://node", "tcp://127.0.0.1:0",
                                          abstract_name };

static pair *
open_pair(const char *endpoint)
{
    pair *both = calloc(1, sizeof *both);

    assert_non_null(both);
    assert_int_equal(sennit_loop_open(&both->loop, NULL), SENNIT_OK);
    assert_int_equal(sennit_bus_open(&both->server, both->loop, NULL), SENNIT_OK);
    assert_int_equal(sennit_bus_open(&both->client, both->loop, NULL), SENNIT_OK);
    assert_int_equal(sennit_bus_listen(both->server, endpoint), SENNIT_OK);
    (void)snprintf(both->endpoint, sizeof both->endpoint, "%s",
                   sennit_bus_endpoint(both->server));
    assert_int_equal(sennit_bus_link(both->client, both->endpoint), SENNIT_OK);
    assert_int_equal(sennit_bus_link(both->client, both->endpoint), SENNIT_EEXIST);
    assert_false(sennit_bus_ready(both->client));
    assert_int_equal(sennit_bus_wait_ready(both->client, 5000), SENNIT_OK);
    return both;
}

static void
close_pair(pair *both)
{
    sennit_bus_close(both->client);
    sennit_bus_close(both->server);
    sennit_loop_close(both->loop);
    free(both);
}

static bool
both_ready(void *arg)
{
    pair *both = arg;

    return sennit_bus_ready(both->client) && sennit_bus_ready(both->server);
}

/* D8: until each side knows what the other consumes. */
static void
agree(pair *both)
{
    rig_turn_until(both->loop, both_ready, both);
}

static bool
ran(void *arg)
{
    return ((test_worker *)arg)->runs > 0;
}

/* ---- Calls ------------------------------------------------------------ */

static void
a_call_crosses_the_link_and_comes_back(void **state)
{
    pair *both = open_pair(*state);
    test_worker worker = { .task = WORKER_ECHO };
    outcome out;

    (void)rig_consume(both->server, "echo", &worker);
    agree(both);
    for (int i = 0; i < 100; i++) {
        (void)rig_request(both->client, "echo", "hello", 1000, &out);
        rig_wait(both->loop, &out);
        assert_answered(&out, "hello");
    }
    assert_int_equal(worker.runs, 100);
    assert_memory_equal(worker.node, sennit_bus_node_id(both->client),
                        SENNIT_NODE_ID_SIZE);
    assert_true(worker.remaining > 0 && worker.remaining <= 1000000000); /* R6 */
    close_pair(both);
}

static void
one_link_serves_both_directions(void **state)
{
    pair *both = open_pair(*state);
    test_worker worker = { .task = WORKER_ECHO };
    size_t nodes = 0;
    outcome out;

    (void)rig_consume(both->client, "reverse", &worker);
    agree(both);
    (void)rig_request(both->server, "reverse", "hello", 1000, &out);
    rig_wait(both->loop, &out);
    assert_answered(&out, "hello");
    assert_int_equal(sennit_bus_send(both->server, "reverse", rig_bytes("x"), NULL),
                     SENNIT_OK);
    assert_int_equal(
        sennit_bus_publish(both->server, "reverse", rig_bytes("x"), NULL, &nodes),
        SENNIT_OK);
    assert_int_equal(nodes, 1);
    rig_request(both->server, "reverse", "last", 1000, &out);
    rig_wait(both->loop, &out);
    assert_int_equal(worker.runs, 4); /* D2: in the order they were made */
    assert_string_equal(worker.last, "last");
    close_pair(both);
}

static void
bodies_of_every_size_arrive_whole(void **state)
{
    static const size_t sizes[] = { 0,    1,    54,   55,    56,    255,   256,
                                    4095, 4096, 4097, 65535, 65536, 70000, 1 << 20 };
    pair *both = open_pair(*state);
    test_worker worker = { .task = WORKER_ECHO };
    sennit_arena *arena;
    uint8_t *body = malloc(1 << 20);

    assert_non_null(body);
    for (size_t i = 0; i < 1 << 20; i++)
        body[i] = (uint8_t)(i * 31 + (i >> 8));
    assert_int_equal(sennit_arena_new(&arena, NULL), SENNIT_OK);
    (void)rig_consume(both->server, "echo", &worker);
    agree(both);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        sennit_bytes reply;
        sennit_error error;

        assert_int_equal(sennit_bus_call(both->client, "echo",
                                         (sennit_bytes){ body, sizes[i] }, NULL, arena,
                                         &reply, &error),
                         SENNIT_OK);
        assert_int_equal(reply.size, sizes[i]);
        if (sizes[i] > 0)
            assert_memory_equal(reply.data, body, sizes[i]);
        sennit_arena_reset(arena);
    }
    sennit_arena_free(arena);
    free(body);
    close_pair(both);
}

static void
answer_by_body(sennit_ctx *ctx, sennit_bytes body, void *arg)
{
    sennit_reply reply = sennit_ctx_reply(ctx);

    (void)arg;
    switch (body.data[0]) {
    case 'd':
        assert_int_equal(
            sennit_reply_error(reply, -7, 42, rig_bytes("\xa3why"), "declared"),
            SENNIT_OK);
        break;
    case 'm': /* what is not msgpack is not handed to a decoder */
        assert_int_equal(sennit_reply_error(reply, 0, 42, rig_bytes("\xc1"), "malformed"),
                         SENNIT_OK);
        break;
    case 'f':
        assert_int_equal(
            sennit_reply_fail(reply, SENNIT_KIND_RECIPIENT_FAILURE, "cut \xc3\xa4\xc3"),
            SENNIT_OK);
        break;
    default:
        break;
    }
}

static void
failures_cross_the_link_with_what_ran(void **state)
{
    pair *both = open_pair(*state);
    sennit_consumer *consumer;
    outcome out;

    assert_int_equal(
        sennit_bus_consume(both->server, "f", NULL, &consumer, answer_by_body, NULL),
        SENNIT_OK);
    agree(both);
    (void)rig_request(both->client, "f", "declared", 1000, &out);
    rig_wait(both->loop, &out);
    assert_failed(&out, SENNIT_KIND_RECIPIENT_FAILURE, SENNIT_RAN_YES);
    assert_string_equal(out.error.message, "declared");
    assert_int_equal(out.error.code, -7);
    assert_int_equal(out.error.detail_id, 42);
    assert_string_equal(out.body, "\xa3why");
    assert_true(out.error.remote);
    assert_memory_equal(out.error.node, sennit_bus_node_id(both->server),
                        SENNIT_NODE_ID_SIZE);
    (void)rig_request(both->client, "f", "malformed", 1000, &out);
    rig_wait(both->loop, &out);
    assert_failed(&out, SENNIT_KIND_BAD_MESSAGE, SENNIT_RAN_YES);
    assert_int_equal(out.error.detail_id, 0);
    (void)rig_request(both->client, "f", "fail", 1000, &out);
    rig_wait(both->loop, &out);
    assert_failed(&out, SENNIT_KIND_RECIPIENT_FAILURE, SENNIT_RAN_YES);
    assert_string_equal(out.error.message, "cut \xc3\xa4"); /* still UTF-8 */
    (void)rig_request(both->client, "f", "nothing", SENNIT_TIMEOUT_NONE, &out);
    rig_wait(both->loop, &out);
    assert_failed(&out, SENNIT_KIND_NO_REPLY, SENNIT_RAN_YES);
    close_pair(both);
}

static void
never_means_never_for_refusals_of_the_other_node(void **state)
{
    static const sennit_method methods[] = { { "later", NULL } };
    static const sennit_service service = { sizeof(sennit_service), "s.S/1", methods, 1 };
    pair *both = open_pair(*state);
    sennit_consume_opts opts = { .mailbox_max_msgs = 1 };
    test_worker worker = { .task = WORKER_ECHO };
    sennit_consumer *consumer;
    outcome out[3];

    assert_int_equal(
        sennit_bus_serve(both->server, &service, NULL, NULL, NULL, &consumer), SENNIT_OK);
    assert_int_equal(
        sennit_bus_consume(both->server, "one", &opts, &consumer, worker_run, &worker),
        SENNIT_OK);
    agree(both);
    (void)rig_request(both->client, "s.S/1.later", "x", 1000, &out[0]);
    rig_wait(both->loop, &out[0]);
    assert_failed(&out[0], SENNIT_KIND_UNIMPLEMENTED, SENNIT_RAN_NEVER);
    assert_non_null(strstr(out[0].error.message, "s.S/1.later"));
    /* Three in one frame: one fits. */
    for (int i = 0; i < 3; i++)
        (void)rig_request(both->client, "one", "x", 1000, &out[i]);
    for (int i = 0; i < 3; i++)
        rig_wait(both->loop, &out[i]);
    for (int i = 0; i < 3; i++) {
        if (!out[i].ok)
            assert_failed(&out[i], SENNIT_KIND_OVERLOADED, SENNIT_RAN_NEVER);
    }
    assert_int_equal(worker.runs, out[0].ok + out[1].ok + out[2].ok);
    assert_true(worker.runs >= 1);
    close_pair(both);
}

static void
R8_a_timeout_is_told_to_the_one_who_works_on_it(void **state)
{
    pair *both = open_pair(*state);
    test_worker worker = { .task = WORKER_KEEP };
    outcome out;

    (void)rig_consume(both->server, "slow", &worker);
    agree(both);
    (void)rig_request(both->client, "slow", "x", 30, &out);
    rig_turn_until(both->loop, ran, &worker);
    rig_wait(both->loop, &out);
    assert_failed(&out, SENNIT_KIND_TIMEOUT, SENNIT_RAN_MAYBE);
    rig_settle(both->loop);
    assert_true(sennit_reply_cancelled(worker.kept));
    assert_int_equal(sennit_reply_ok(worker.kept, rig_bytes("late")), SENNIT_ESTATE);
    rig_settle(both->loop);
    assert_int_equal(out.count, 1);
    assert_int_equal(rig_stats(both->server).replies_pending, 0);
    close_pair(both);
}

static void
R9_a_reply_may_cross_the_link_later(void **state)
{
    pair *both = open_pair(*state);
    test_worker worker = { .task = WORKER_KEEP };
    outcome out;

    (void)rig_consume(both->server, "slow", &worker);
    agree(both);
    (void)rig_request(both->client, "slow", "x", 1000, &out);
    rig_turn_until(both->loop, ran, &worker);
    assert_int_equal(out.count, 0);
    assert_int_equal(sennit_reply_ok(worker.kept, rig_bytes("at last")), SENNIT_OK);
    assert_int_equal(sennit_reply_ok(worker.kept, rig_bytes("again")), SENNIT_ESTATE);
    rig_wait(both->loop, &out);
    assert_answered(&out, "at last");
    close_pair(both);
}

/* ---- Who consumes what ------------------------------------------------ */

static void
D8_a_consumer_is_known_to_the_other_node_when_ready_says_so(void **state)
{
    pair *both = open_pair(*state);
    test_worker worker = { .task = WORKER_ECHO };
    sennit_consumer *consumer;
    outcome out;

    agree(both);
    (void)rig_request(both->client, "late", "x", 1000, &out);
    rig_wait(both->loop, &out);
    assert_failed(&out, SENNIT_KIND_NO_HANDLERS, SENNIT_RAN_NEVER);
    consumer = rig_consume(both->server, "late", &worker);
    assert_false(sennit_bus_ready(both->server));
    assert_int_equal(sennit_bus_wait_ready(both->server, 5000), SENNIT_OK);
    (void)rig_request(both->client, "late", "x", 1000, &out);
    rig_wait(both->loop, &out);
    assert_answered(&out, "x");
    sennit_consumer_cancel(consumer);
    assert_int_equal(sennit_bus_wait_ready(both->server, 5000), SENNIT_OK);
    (void)rig_request(both->client, "late", "x", 1000, &out);
    rig_wait(both->loop, &out);
    assert_failed(&out, SENNIT_KIND_NO_HANDLERS, SENNIT_RAN_NEVER);
    assert_false(out.error.remote); /* it was known here already */
    close_pair(both);
}

static void
D9_a_local_consumer_is_nobody_elses_business(void **state)
{
    pair *both = open_pair(*state);
    sennit_consume_opts opts = { .scope = SENNIT_SCOPE_LOCAL };
    test_worker worker = { .task = WORKER_ECHO };
    sennit_consumer *consumer;
    size_t nodes = 9;
    outcome out;

    assert_int_equal(
        sennit_bus_consume(both->server, "mine", &opts, &consumer, worker_run, &worker),
        SENNIT_OK);
    agree(both);
    (void)rig_request(both->client, "mine", "x", 1000, &out);
    rig_wait(both->loop, &out);
    assert_failed(&out, SENNIT_KIND_NO_HANDLERS, SENNIT_RAN_NEVER);
    assert_int_equal(
        sennit_bus_publish(both->client, "mine", rig_bytes("x"), NULL, &nodes),
        SENNIT_OK);
    assert_int_equal(nodes, 0);
    (void)rig_request(both->server, "mine", "x", 1000, &out);
    rig_wait(both->loop, &out);
    assert_answered(&out, "x");
    close_pair(both);
}

static void
D4_shares_are_exact_across_nodes(void **state)
{
    pair *both = open_pair(*state);
    test_worker workers[3] = { { .task = WORKER_ECHO },
                               { .task = WORKER_ECHO },
                               { .task = WORKER_ECHO } };
    outcome out;

    (void)rig_consume(both->client, "work", &workers[0]);
    (void)rig_consume(both->server, "work", &workers[1]);
    (void)rig_consume(both->server, "work", &workers[2]);
    agree(both);
    for (int i = 0; i < 300; i++) {
        (void)rig_request(both->client, "work", "x", 1000, &out);
        rig_wait(both->loop, &out);
        assert_answered(&out, "x");
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(workers[i].runs, 100);
    close_pair(both);
}

static void
D6_a_node_gets_one_copy_of_an_event_for_all_its_consumers(void **state)
{
    pair *both = open_pair(*state);
    test_worker workers[4] = { { .task = WORKER_NOTHING } };
    size_t nodes = 0;
    uint64_t before;

    for (int i = 1; i < 4; i++)
        workers[i].task = WORKER_NOTHING;
    (void)rig_consume(both->server, "pkg.install", &workers[0]);
    (void)rig_consume(both->server, "pkg.*", &workers[1]);
    (void)rig_consume(both->server, "pkg.>", &workers[2]);
    (void)rig_consume(both->client, "pkg.install", &workers[3]);
    agree(both);
    before = rig_stats(both->client).records_sent_total;
    assert_int_equal(
        sennit_bus_publish(both->client, "pkg.install", rig_bytes("x"), NULL, &nodes),
        SENNIT_OK);
    assert_int_equal(nodes, 1);
    assert_int_equal(rig_stats(both->client).records_sent_total - before, 1);
    rig_turn_until(both->loop, ran, &workers[2]);
    rig_settle(both->loop);
    for (int i = 0; i < 4; i++)
        assert_int_equal(workers[i].runs, 1);
    close_pair(both);
}

/* Each side consumes more than fits into the largest frame the other one takes. */
static void
a_node_with_a_small_frame_limit_learns_of_every_consumer(void **state)
{
    enum { ADDRESSES = 100 };
    sennit_bus_opts opts = SENNIT_BUS_OPTS_DEFAULT;
    test_worker worker = { .task = WORKER_ECHO };
    sennit_bus *buses[2];
    sennit_loop *loop;
    char address[64];
    outcome out;

    opts.frame_max_bytes = 1024;
    assert_int_equal(sennit_loop_open(&loop, NULL), SENNIT_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sennit_bus_open(&buses[i], loop, &opts), SENNIT_OK);
        for (int k = 0; k < ADDRESSES; k++) {
            (void)snprintf(address, sizeof address, "an.address.of.node.%d.number.%d", i,
                           k);
            (void)rig_consume(buses[i], address, &worker);
        }
    }
    assert_int_equal(sennit_bus_listen(buses[0], *state), SENNIT_OK);
    assert_int_equal(sennit_bus_link(buses[1], sennit_bus_endpoint(buses[0])), SENNIT_OK);
    (void)rig_consume(buses[1], "added.before.the.greeting", &worker);
    assert_int_equal(sennit_bus_wait_ready(buses[1], 5000), SENNIT_OK);
    assert_int_equal(sennit_bus_wait_ready(buses[0], 5000), SENNIT_OK);
    for (int i = 0; i < 2; i++) {
        (void)snprintf(address, sizeof address, "an.address.of.node.%d.number.%d", i,
                       ADDRESSES - 1);
        (void)rig_request(buses[!i], address, "x", 1000, &out);
        rig_wait(loop, &out);
        assert_answered(&out, "x");
    }
    (void)rig_request(buses[0], "added.before.the.greeting", "x", 1000, &out);
    rig_wait(loop, &out);
    assert_answered(&out, "x");
    sennit_bus_close(buses[1]);
    sennit_bus_close(buses[0]);
    sennit_loop_close(loop);
}

/* ---- Losing it -------------------------------------------------------- */

static void
a_node_that_closes_with_a_call_at_work_is_peer_lost_maybe(void **state)
{
    pair *both = open_pair(*state);
    test_worker worker = { .task = WORKER_KEEP };
    outcome out;

    (void)rig_consume(both->server, "slow", &worker);
    agree(both);
    (void)rig_request(both->client, "slow", "x", SENNIT_TIMEOUT_NONE, &out);
    rig_turn_until(both->loop, ran, &worker);
    sennit_bus_close(both->server);
    both->server = NULL;
    rig_wait(both->loop, &out);
    assert_failed(&out, SENNIT_KIND_PEER_LOST, SENNIT_RAN_MAYBE);
    assert_false(sennit_error_safe_to_retry(&out.error, false));
    assert_true(sennit_error_safe_to_retry(&out.error, true));
    /* Its consumers are forgotten with it. */
    (void)rig_request(both->client, "slow", "x", SENNIT_TIMEOUT_NONE, &out);
    rig_wait(both->loop, &out);
    assert_failed(&out, SENNIT_KIND_NO_HANDLERS, SENNIT_RAN_NEVER);
    assert_non_null(strstr(out.error.message, "a link is not up"));
    close_pair(both);
}

static bool
client_is_gone(void *arg)
{
    return rig_stats(((pair *)arg)->server).nodes == 0;
}

static void
closing_says_never_only_of_what_is_never_sent(void **state)
{
    enum { CALLS = 5 };
    pair *both = open_pair(*state);
    test_worker worker = { .task = WORKER_ECHO };
    outcome out[CALLS];
    unsigned never = 0;

    (void)rig_consume(both->server, "work", &worker);
    agree(both);
    for (int i = 0; i < CALLS; i++)
        (void)rig_request(both->client, "work", "x", SENNIT_TIMEOUT_NONE, &out[i]);
    sennit_bus_close(both->client);
    both->client = NULL;
    rig_turn_until(both->loop, client_is_gone, both);
    rig_settle(both->loop);
    for (int i = 0; i < CALLS; i++) {
        assert_int_equal(out[i].count, 1);
        assert_int_equal(out[i].error.kind, SENNIT_KIND_CLOSED);
        never += out[i].error.ran == SENNIT_RAN_NEVER;
    }
    assert_true(never + worker.runs <= CALLS);
    close_pair(both);
}

static void
close_on_news(const sennit_peer_event *event, void *arg)
{
    pair *both = arg;

    (void)event;
    sennit_bus_close(both->client);
    both->client = NULL;
}

static void
waiting_for_readiness_ends_when_the_bus_is_closed(void **state)
{
    pair *both = open_pair(*state);
    sennit_bus *client = both->client;

    sennit_bus_on_peer(client, close_on_news, both);
    assert_int_equal(sennit_bus_unlink(client, both->endpoint), SENNIT_OK);
    assert_int_equal(sennit_bus_link(client, both->endpoint), SENNIT_OK);
    assert_int_equal(sennit_bus_wait_ready(client, 5000), SENNIT_ECLOSED);
    assert_null(both->client);
    close_pair(both);
}

static void
a_caller_that_goes_away_takes_its_waiting_requests_along(void **state)
{
    pair *both = open_pair(*state);
    test_worker worker = { .task = WORKER_KEEP };
    outcome out;

    (void)rig_consume(both->server, "slow", &worker);
    agree(both);
    (void)rig_request(both->client, "slow", "x", SENNIT_TIMEOUT_NONE, &out);
    rig_turn_until(both->loop, ran, &worker);
    assert_int_equal(rig_stats(both->server).replies_pending, 1);
    sennit_bus_close(both->client);
    both->client = NULL;
    assert_failed(&out, SENNIT_KIND_CLOSED, SENNIT_RAN_MAYBE);
    while (rig_stats(both->server).nodes > 0)
        (void)sennit_loop_turn(both->loop, 100);
    assert_int_equal(rig_stats(both->server).replies_pending, 0);
    assert_true(sennit_reply_cancelled(worker.kept));
    close_pair(both);
}

typedef struct ups_and_downs {
    unsigned ups;
    unsigned downs;
    unsigned protocol;
    char reason[128];
    char advertised[128];
} ups_and_downs;

static void
count_peers(const sennit_peer_event *event, void *arg)
{
    ups_and_downs *seen = arg;

    switch (event->kind) {
    case SENNIT_PEER_UP:
        seen->ups++;
        (void)snprintf(seen->advertised, sizeof seen->advertised, "%s",
                       event->advertised);
        break;
    case SENNIT_PEER_DOWN:
        seen->downs++;
        break;
    case SENNIT_PEER_PROTOCOL:
        seen->protocol++;
        break;
    }
    (void)snprintf(seen->reason, sizeof seen->reason, "%s", event->reason);
}

static void
a_link_comes_back_when_its_node_does(void **state)
{
    pair *both = open_pair(*state);
    ups_and_downs seen = { 0 };
    test_worker worker = { .task = WORKER_ECHO };
    outcome out;

    sennit_bus_on_peer(both->client, count_peers, &seen);
    for (int round = 1; round <= 3; round++) {
        sennit_bus_close(both->server);
        while (seen.downs < (unsigned)round)
            (void)sennit_loop_turn(both->loop, 100);
        rig_settle(both->loop); /* so that the old listener is gone */
        assert_int_equal(sennit_bus_open(&both->server, both->loop, NULL), SENNIT_OK);
        (void)rig_consume(both->server, "echo", &worker);
        assert_int_equal(sennit_bus_listen(both->server, both->endpoint), SENNIT_OK);
        assert_int_equal(sennit_bus_wait_ready(both->client, 10000), SENNIT_OK);
        assert_int_equal(seen.ups, round);
        assert_string_equal(seen.advertised, both->endpoint);
        (void)rig_request(both->client, "echo", "x", 1000, &out);
        rig_wait(both->loop, &out);
        assert_answered(&out, "x");
    }
    close_pair(both);
}

typedef struct mourner {
    sennit_bus *bus;
    outcome out;
    bool asked;
} mourner;

static void
ask_the_lost_node(const sennit_peer_event *event, void *arg)
{
    mourner *on = arg;

    if (event->kind != SENNIT_PEER_DOWN || on->asked)
        return;
    on->asked = true;
    assert_non_null(event->node);
    (void)rig_request(on->bus, "echo", "are you there", SENNIT_TIMEOUT_NONE, &on->out);
}

static void
a_call_made_on_hearing_of_the_loss_has_its_outcome_too(void **state)
{
    pair *both = open_pair(*state);
    test_worker worker = { .task = WORKER_ECHO };
    mourner on = { .bus = both->client };

    (void)rig_consume(both->server, "echo", &worker);
    agree(both);
    sennit_bus_on_peer(both->client, ask_the_lost_node, &on);
    sennit_bus_close(both->server);
    both->server = NULL;
    rig_wait(both->loop, &on.out);
    assert_failed(&on.out, SENNIT_KIND_NO_HANDLERS, SENNIT_RAN_NEVER);
    close_pair(both);
}

static void
unlinking_ends_what_waits_for_the_link(void **state)
{
    pair *both = open_pair(*state);
    test_worker worker = { .task = WORKER_KEEP };
    outcome out;

    (void)rig_consume(both->server, "slow", &worker);
    agree(both);
    (void)rig_request(both->client, "slow", "x", SENNIT_TIMEOUT_NONE, &out);
    rig_turn_until(both->loop, ran, &worker);
    assert_int_equal(sennit_bus_unlink(both->client, both->endpoint), SENNIT_OK);
    assert_int_equal(out.count, 0);
    assert_int_equal(sennit_bus_unlink(both->client, both->endpoint), SENNIT_ENOENT);
    rig_wait(both->loop, &out);
    assert_failed(&out, SENNIT_KIND_PEER_LOST, SENNIT_RAN_MAYBE);
    assert_int_equal(rig_stats(both->client).links, 0);
    while (rig_stats(both->server).nodes > 0)
        (void)sennit_loop_turn(both->loop, 100);
    assert_int_equal(sennit_bus_link(both->client, both->endpoint), SENNIT_OK);
    assert_int_equal(sennit_bus_wait_ready(both->client, 5000), SENNIT_OK);
    close_pair(both);
}

/* ---- Batches ---------------------------------------------------------- */

static void
T6_records_of_a_burst_share_frames_and_a_lone_one_does_not_wait(void **state)
{
    pair *both = open_pair(*state);
    test_worker worker = { .task = WORKER_NOTHING };
    sennit_bus_stats before;
    sennit_bus_stats after;
    sennit_time gap_over;

    (void)rig_consume(both->server, "log", &worker);
    agree(both);
    rig_settle(both->loop);
    gap_over = sennit_loop_now(both->loop) + 100000; /* longer than makes a burst */
    while (sennit_loop_now(both->loop) < gap_over)
        (void)sennit_loop_turn(both->loop, 0);
    before = rig_stats(both->client);
    assert_int_equal(sennit_bus_send(both->client, "log", rig_bytes("lone"), NULL),
                     SENNIT_OK);
    after = rig_stats(both->client);
    assert_int_equal(after.frames_sent_total - before.frames_sent_total, 1);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(sennit_bus_send(both->client, "log", rig_bytes("x"), NULL),
                         SENNIT_OK);
    while (worker.runs < 1001)
        (void)sennit_loop_turn(both->loop, 100);
    after = rig_stats(both->client);
    assert_int_equal(after.records_sent_total - before.records_sent_total, 1001);
    assert_true(after.frames_sent_total - before.frames_sent_total < 500);
    assert_int_equal(after.peer_queue_bytes, 0);
    close_pair(both);
}

static void
B3_a_flood_is_held_to_the_queue_and_loses_nothing_it_accepted(void **state)
{
    pair *both = open_pair(*state);
    sennit_consume_opts opts = { .mailbox_max_msgs = 1u << 30,
                                 .mailbox_max_bytes = UINT64_C(1) << 40 };
    static uint8_t body[10000];
    test_worker worker = { .task = WORKER_NOTHING };
    sennit_consumer *consumer;
    unsigned accepted = 0;
    unsigned refused = 0;

    assert_int_equal(
        sennit_bus_consume(both->server, "log", &opts, &consumer, worker_run, &worker),
        SENNIT_OK);
    agree(both);
    while (refused == 0) {
        sennit_err err = sennit_bus_send(both->client, "log",
                                         (sennit_bytes){ body, sizeof body }, NULL);

        assert_true(err == SENNIT_OK || err == SENNIT_EAGAIN);
        accepted += err == SENNIT_OK;
        refused += err == SENNIT_EAGAIN;
        assert_true(rig_stats(both->client).peer_queue_bytes <= 9u << 20);
    }
    while (worker.runs < accepted)
        (void)sennit_loop_turn(both->loop, 100);
    rig_settle(both->loop);
    assert_int_equal(worker.runs, accepted);
    assert_int_equal(
        sennit_bus_send(both->client, "log", (sennit_bytes){ body, 1 }, NULL), SENNIT_OK);
    close_pair(both);
}

/* ---- Topology --------------------------------------------------------- */

static void
a_link_to_oneself_is_idle_and_ready(void **state)
{
    sennit_loop *loop;
    sennit_bus *bus;
    test_worker worker = { .task = WORKER_NOTHING };

    assert_int_equal(sennit_loop_open(&loop, NULL), SENNIT_OK);
    assert_int_equal(sennit_bus_open(&bus, loop, NULL), SENNIT_OK);
    assert_int_equal(sennit_bus_listen(bus, *state), SENNIT_OK);
    assert_int_equal(sennit_bus_link(bus, sennit_bus_endpoint(bus)), SENNIT_OK);
    (void)rig_consume(bus, "e", &worker);
    assert_int_equal(sennit_bus_wait_ready(bus, 5000), SENNIT_OK);
    assert_int_equal(sennit_bus_publish(bus, "e", rig_bytes("x"), NULL, NULL), SENNIT_OK);
    rig_settle(loop);
    assert_int_equal(worker.runs, 1);
    assert_int_equal(rig_stats(bus).nodes, 0);
    sennit_bus_close(bus);
    sennit_loop_close(loop);
}

static void
two_links_to_one_node_deliver_once_and_back_each_other_up(void **state)
{
    pair *both = open_pair(*state);
    test_worker worker = { .task = WORKER_ECHO };
    outcome out;

    (void)rig_consume(both->server, "e", &worker);
    assert_int_equal(sennit_bus_listen(both->server, "inproc://second"), SENNIT_OK);
    assert_int_equal(sennit_bus_link(both->client, "inproc://second"), SENNIT_OK);
    assert_int_equal(sennit_bus_wait_ready(both->client, 5000), SENNIT_OK);
    agree(both);
    assert_int_equal(rig_stats(both->client).nodes, 1);
    assert_int_equal(sennit_bus_publish(both->client, "e", rig_bytes("x"), NULL, NULL),
                     SENNIT_OK);
    rig_turn_until(both->loop, ran, &worker);
    rig_settle(both->loop);
    assert_int_equal(worker.runs, 1);
    assert_int_equal(sennit_bus_unlink(both->client, both->endpoint), SENNIT_OK);
    rig_settle(both->loop);
    (void)rig_request(both->client, "e", "still here", 1000, &out);
    rig_wait(both->loop, &out);
    assert_answered(&out, "still here");
    close_pair(both);
}

static void
nodes_linked_to_each_other_meet_once(void **state)
{
    pair *both = open_pair(*state);
    test_worker worker = { .task = WORKER_ECHO };
    outcome out;

    assert_int_equal(sennit_bus_listen(both->client, "inproc://client"), SENNIT_OK);
    assert_int_equal(sennit_bus_link(both->server, "inproc://client"), SENNIT_OK);
    (void)rig_consume(both->server, "there", &worker);
    (void)rig_consume(both->client, "here", &worker);
    assert_int_equal(sennit_bus_wait_ready(both->server, 5000), SENNIT_OK);
    agree(both);
    assert_int_equal(rig_stats(both->client).nodes, 1);
    assert_int_equal(rig_stats(both->server).nodes, 1);
    (void)rig_request(both->client, "there", "x", 1000, &out);
    rig_wait(both->loop, &out);
    assert_answered(&out, "x");
    (void)rig_request(both->server, "here", "y", 1000, &out);
    rig_wait(both->loop, &out);
    assert_answered(&out, "y");
    assert_int_equal(sennit_bus_publish(both->server, "here", rig_bytes("z"), NULL, NULL),
                     SENNIT_OK);
    while (worker.runs < 3)
        (void)sennit_loop_turn(both->loop, 100);
    rig_settle(both->loop);
    assert_int_equal(worker.runs, 3);
    close_pair(both);
}

static void
a_larger_body_than_the_other_node_takes_is_not_sent(void **state)
{
    sennit_bus_opts opts = SENNIT_BUS_OPTS_DEFAULT;
    static uint8_t large[5000];
    test_worker worker = { .task = WORKER_ECHO };
    pair both = { 0 };
    outcome out = { 0 };
    size_t nodes = 9;

    opts.frame_max_bytes = 4096;
    assert_int_equal(sennit_loop_open(&both.loop, NULL), SENNIT_OK);
    assert_int_equal(sennit_bus_open(&both.server, both.loop, &opts), SENNIT_OK);
    assert_int_equal(sennit_bus_open(&both.client, both.loop, NULL), SENNIT_OK);
    assert_int_equal(sennit_bus_listen(both.server, *state), SENNIT_OK);
    (void)rig_consume(both.server, "echo", &worker);
    assert_int_equal(sennit_bus_link(both.client, sennit_bus_endpoint(both.server)),
                     SENNIT_OK);
    assert_int_equal(sennit_bus_wait_ready(both.client, 5000), SENNIT_OK);
    assert_int_equal(sennit_bus_request(both.client, "echo",
                                        (sennit_bytes){ large, 5000 }, NULL, NULL,
                                        outcome_keep, &out),
                     SENNIT_OK);
    rig_wait(both.loop, &out);
    assert_failed(&out, SENNIT_KIND_TOO_LARGE, SENNIT_RAN_NEVER);
    assert_int_equal(
        sennit_bus_send(both.client, "echo", (sennit_bytes){ large, 5000 }, NULL),
        SENNIT_EMSGSIZE);
    assert_int_equal(sennit_bus_publish(both.client, "echo",
                                        (sennit_bytes){ large, 5000 }, NULL, &nodes),
                     SENNIT_OK);
    assert_int_equal(nodes, 0);
    assert_int_equal(rig_stats(both.client).dead_letters_total[SENNIT_DEAD_TOO_LARGE], 1);
    /* Many small ones that together are larger go in several frames. */
    for (int i = 0; i < 100; i++)
        assert_int_equal(
            sennit_bus_send(both.client, "echo", (sennit_bytes){ large, 900 }, NULL),
            SENNIT_OK);
    while (worker.runs < 100)
        (void)sennit_loop_turn(both.loop, 100);
    sennit_bus_close(both.client);
    sennit_bus_close(both.server);
    sennit_loop_close(both.loop);
}

static void
an_endpoint_that_cannot_be_used_is_refused_at_once(void **state)
{
    sennit_loop *loop;
    sennit_bus *bus;

    (void)state;
    assert_int_equal(sennit_loop_open(&loop, NULL), SENNIT_OK);
    assert_int_equal(sennit_bus_open(&bus, loop, NULL), SENNIT_OK);
    assert_int_equal(sennit_bus_link(bus, "tcp:/nowhere"), SENNIT_EINVAL);
    assert_int_equal(sennit_bus_listen(bus, "tcp:/nowhere"), SENNIT_EINVAL);
    assert_string_equal(sennit_bus_endpoint(bus), "");
    assert_int_equal(rig_stats(bus).links, 0);
    assert_int_equal(sennit_bus_link(bus, "tcp://127.0.0.1:1"), SENNIT_OK);
    assert_int_equal(sennit_bus_wait_ready(bus, 20), SENNIT_ETIMEDOUT);
    sennit_bus_close(bus);
    sennit_loop_close(loop);
}

typedef void test_fn(void **state);

static const struct {
    const char *name;
    test_fn *fn;
} scenarios[] = {
#define S(name)                                                                          \
    {                                                                                    \
#name, name                                                                      \
    }
    S(a_call_crosses_the_link_and_comes_back),
    S(one_link_serves_both_directions),
    S(bodies_of_every_size_arrive_whole),
    S(failures_cross_the_link_with_what_ran),
    S(never_means_never_for_refusals_of_the_other_node),
    S(R8_a_timeout_is_told_to_the_one_who_works_on_it),
    S(R9_a_reply_may_cross_the_link_later),
    S(D8_a_consumer_is_known_to_the_other_node_when_ready_says_so),
    S(D9_a_local_consumer_is_nobody_elses_business),
    S(D4_shares_are_exact_across_nodes),
    S(D6_a_node_gets_one_copy_of_an_event_for_all_its_consumers),
    S(a_node_with_a_small_frame_limit_learns_of_every_consumer),
    S(a_node_that_closes_with_a_call_at_work_is_peer_lost_maybe),
    S(closing_says_never_only_of_what_is_never_sent),
    S(waiting_for_readiness_ends_when_the_bus_is_closed),
    S(a_caller_that_goes_away_takes_its_waiting_requests_along),
    S(a_link_comes_back_when_its_node_does),
    S(a_call_made_on_hearing_of_the_loss_has_its_outcome_too),
    S(unlinking_ends_what_waits_for_the_link),
    S(T6_records_of_a_burst_share_frames_and_a_lone_one_does_not_wait),
    S(B3_a_flood_is_held_to_the_queue_and_loses_nothing_it_accepted),
    S(a_link_to_oneself_is_idle_and_ready),
    S(two_links_to_one_node_deliver_once_and_back_each_other_up),
    S(nodes_linked_to_each_other_meet_once),
    S(a_larger_body_than_the_other_node_takes_is_not_sent),
    S(an_endpoint_that_cannot_be_used_is_refused_at_once),
#undef S
};

#define SCENARIOS (sizeof scenarios / sizeof scenarios[0])

/* Every scenario over every transport. */
int
main(void)
{
    int failed = 0;

    (void)snprintf(abstract_name, sizeof abstract_name, "ipc://@sennit-link-test-%ld",
                   (long)getpid());
    for (size_t t = 0; t < sizeof transports / sizeof transports[0]; t++) {
        struct CMUnitTest tests[SCENARIOS];

        for (size_t i = 0; i < SCENARIOS; i++)
            tests[i] =
                (struct CMUnitTest){ .name = scenarios[i].name,
                                     .test_func = scenarios[i].fn,
                                     .initial_state = (void *)(uintptr_t)transports[t] };
        failed += cmocka_run_group_tests_name(transports[t], tests, NULL, NULL);
    }
    return failed == 0 ? 0 : 1;
}
