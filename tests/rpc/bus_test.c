/* SPDX-License-Identifier: MIT */
/* The rules of a bus within one process. */
#include "sennit_test.h"

#include "rig.h"

/* ---- Choosing --------------------------------------------------------- */

static void
D4_a_send_reaches_one_consumer_in_turn(void **state)
{
    rig_place *here = *state;
    test_worker workers[3] = { { .task = WORKER_NOTHING } };

    for (int i = 0; i < 3; i++)
        (void)rig_consume(here->bus, "log", &workers[i]);
    for (int i = 0; i < 300; i++)
        assert_int_equal(sennit_bus_send(here->bus, "log", rig_bytes("x"), NULL),
                         SENNIT_OK);
    assert_int_equal(workers[0].runs, 0); /* not inside send */
    for (int i = 0; i < 4; i++)
        rig_settle(here->loop);
    for (int i = 0; i < 3; i++)
        assert_int_equal(workers[i].runs, 100);
    assert_int_equal(rig_stats(here->bus).sends_total, 300);
}

static void
D6_an_event_reaches_every_consumer_once(void **state)
{
    rig_place *here = *state;
    test_worker workers[4] = { { .task = WORKER_NOTHING } };
    size_t nodes = 9;

    workers[3].task = workers[2].task = workers[1].task = WORKER_NOTHING;
    (void)rig_consume(here->bus, "pkg.install", &workers[0]);
    (void)rig_consume(here->bus, "pkg.install", &workers[1]);
    (void)rig_consume(here->bus, "pkg.*", &workers[2]);
    (void)rig_consume(here->bus, "pkg.remove", &workers[3]);
    assert_int_equal(
        sennit_bus_publish(here->bus, "pkg.install", rig_bytes("x"), NULL, &nodes),
        SENNIT_OK);
    assert_int_equal(nodes, 0);
    rig_settle(here->loop);
    assert_int_equal(workers[0].runs, 1);
    assert_int_equal(workers[1].runs, 1);
    assert_int_equal(workers[2].runs, 1);
    assert_string_equal(workers[2].address, "pkg.install");
    assert_int_equal(workers[3].runs, 0);
}

static void
D6_an_event_nobody_hears_is_counted_and_no_error(void **state)
{
    rig_place *here = *state;

    assert_int_equal(sennit_bus_publish(here->bus, "a", rig_bytes("x"), NULL, NULL),
                     SENNIT_OK);
    assert_int_equal(rig_stats(here->bus).publishes_unheard_total, 1);
}

static void
D10_a_pattern_takes_no_sends_and_no_requests(void **state)
{
    rig_place *here = *state;
    test_worker worker = { .task = WORKER_ECHO };
    outcome out;

    (void)rig_consume(here->bus, "pkg.*", &worker);
    (void)rig_consume(here->bus, ">", &worker);
    assert_int_equal(sennit_bus_send(here->bus, "pkg.x", rig_bytes("x"), NULL),
                     SENNIT_ENOENT);
    (void)rig_request(here->bus, "pkg.x", "x", 1000, &out);
    rig_wait(here->loop, &out);
    assert_failed(&out, SENNIT_KIND_NO_HANDLERS, SENNIT_RAN_NEVER);
    assert_int_equal(sennit_bus_send(here->bus, "pkg.*", rig_bytes("x"), NULL),
                     SENNIT_EINVAL);
}

static void
a_consumer_nobody_names_lives_as_long_as_its_bus(void **state)
{
    static const sennit_method methods[] = { { "get", NULL } };
    static const sennit_service service = { sizeof(sennit_service), "shop.Pricing",
                                            methods, 1 };
    rig_place *here = *state;
    test_worker worker = { .task = WORKER_ECHO };
    outcome out;

    assert_int_equal(
        sennit_bus_consume(here->bus, "echo", NULL, NULL, worker_run, &worker),
        SENNIT_OK);
    assert_int_equal(
        sennit_bus_consume_typed(here->bus, "typed", NULL, NULL, NULL, NULL, NULL),
        SENNIT_OK);
    assert_int_equal(sennit_bus_serve(here->bus, &service, NULL, NULL, NULL, NULL),
                     SENNIT_OK);
    assert_int_equal(rig_stats(here->bus).consumers, 3);
    (void)rig_request(here->bus, "echo", "x", 1000, &out);
    rig_wait(here->loop, &out);
    assert_answered(&out, "x");
}

static void
reject_it(sennit_ctx *ctx, sennit_bytes body, void *arg)
{
    (void)body;
    (void)arg;
    sennit_ctx_reject(ctx, "the price is not a number");
}

typedef struct rejection {
    unsigned count;
    char text[64];
} rejection;

static void
keep_rejection(const sennit_dead_letter *letter, void *arg)
{
    rejection *kept = arg;

    kept->count++;
    assert_int_equal(letter->reason, SENNIT_DEAD_REJECTED);
    assert_true(sennit_str_equal(letter->address, sennit_str_of("price")));
    assert_int_equal(letter->size, 3);
    assert_memory_equal(letter->head.data, "bad", 3);
    assert_true(strlen(letter->text) < sizeof kept->text);
    strcpy(kept->text, letter->text);
}

static void
B6_what_a_handler_rejects_is_refused_or_a_dead_letter(void **state)
{
    rig_place *here = *state;
    rejection kept = { 0, "" };
    outcome out;

    sennit_bus_on_dead_letter(here->bus, keep_rejection, &kept);
    assert_int_equal(sennit_bus_consume(here->bus, "price", NULL, NULL, reject_it, NULL),
                     SENNIT_OK);
    (void)rig_request(here->bus, "price", "bad", 1000, &out);
    rig_wait(here->loop, &out);
    assert_failed(&out, SENNIT_KIND_BAD_MESSAGE, SENNIT_RAN_NEVER);
    assert_non_null(strstr(out.error.message, "the price is not a number"));
    assert_int_equal(kept.count, 0);
    assert_int_equal(sennit_bus_send(here->bus, "price", rig_bytes("bad"), NULL),
                     SENNIT_OK);
    assert_int_equal(sennit_bus_publish(here->bus, "price", rig_bytes("bad"), NULL, NULL),
                     SENNIT_OK);
    rig_settle(here->loop);
    assert_int_equal(kept.count, 2);
    assert_string_equal(kept.text, "the price is not a number");
    assert_int_equal(rig_stats(here->bus).dead_letters_total[SENNIT_DEAD_REJECTED], 2);
}

static void
a_malformed_address_is_refused_at_once(void **state)
{
    rig_place *here = *state;
    sennit_consumer *consumer;
    outcome out;

    assert_int_equal(
        sennit_bus_consume(here->bus, "a..b", NULL, &consumer, worker_run, NULL),
        SENNIT_EINVAL);
    assert_int_equal(
        sennit_bus_consume(here->bus, "$sennit.x", NULL, &consumer, worker_run, NULL),
        SENNIT_EINVAL);
    assert_int_equal(sennit_bus_publish(here->bus, "a b", rig_bytes(""), NULL, NULL),
                     SENNIT_EINVAL);
    assert_int_equal(
        sennit_bus_request(here->bus, "", rig_bytes(""), NULL, NULL, outcome_keep, &out),
        SENNIT_EINVAL);
}

/* ---- Outcomes --------------------------------------------------------- */

static void
R1_a_reply_reaches_the_caller_once(void **state)
{
    rig_place *here = *state;
    test_worker worker = { .task = WORKER_ECHO };
    outcome out;

    (void)rig_consume(here->bus, "echo", &worker);
    (void)rig_request(here->bus, "echo", "hello", 1000, &out);
    rig_wait(here->loop, &out);
    rig_settle(here->loop);
    assert_answered(&out, "hello");
    assert_memory_equal(worker.node, sennit_bus_node_id(here->bus), SENNIT_NODE_ID_SIZE);
    assert_int_equal(rig_stats(here->bus).calls_pending, 0);
    assert_int_equal(rig_stats(here->bus).replies_pending, 0);
}

static void
no_handlers_is_told_at_once_with_the_address(void **state)
{
    rig_place *here = *state;
    outcome out;

    (void)rig_request(here->bus, "no.body", "x", SENNIT_TIMEOUT_NONE, &out);
    rig_wait(here->loop, &out);
    assert_failed(&out, SENNIT_KIND_NO_HANDLERS, SENNIT_RAN_NEVER);
    assert_non_null(strstr(out.error.message, "no.body"));
    assert_true(sennit_error_safe_to_retry(&out.error, false));
}

static void
R5_a_handler_that_keeps_its_reply_too_long_times_out(void **state)
{
    rig_place *here = *state;
    test_worker worker = { .task = WORKER_KEEP };
    outcome out;

    (void)rig_consume(here->bus, "slow", &worker);
    (void)rig_request(here->bus, "slow", "x", 20, &out);
    rig_wait(here->loop, &out);
    assert_failed(&out, SENNIT_KIND_TIMEOUT, SENNIT_RAN_YES);
    assert_non_null(strstr(out.error.message, "slow"));
    assert_true(worker.remaining > 0 && worker.remaining <= 20000000);
    assert_true(sennit_reply_cancelled(worker.kept));
    assert_int_equal(sennit_reply_ok(worker.kept, rig_bytes("late")), SENNIT_ESTATE);
    rig_settle(here->loop);
    assert_int_equal(out.count, 1);
    assert_int_equal(rig_stats(here->bus).replies_pending, 0);
}

typedef struct test_blocker {
    sennit_loop *loop;
    unsigned busy_ms;
    unsigned runs;
} test_blocker;

/* Keeps the thread for a while, as a handler should not. */
static void
block(sennit_ctx *ctx, sennit_bytes body, void *arg)
{
    test_blocker *blocker = arg;
    sennit_time until =
        sennit_loop_now(blocker->loop) + (uint64_t)blocker->busy_ms * 1000000;

    (void)body;
    blocker->runs++;
    while (sennit_loop_now(blocker->loop) < until)
        ;
    (void)sennit_reply_ok(sennit_ctx_reply(ctx), rig_bytes("done"));
}

static void
R7_a_request_found_expired_is_not_run(void **state)
{
    rig_place *here = *state;
    test_blocker blocker = { here->loop, 30, 0 };
    sennit_consumer *consumer;
    outcome first;
    outcome second;
    sennit_bus_stats stats;

    assert_int_equal(
        sennit_bus_consume(here->bus, "busy", NULL, &consumer, block, &blocker),
        SENNIT_OK);
    (void)rig_request(here->bus, "busy", "x", 1000, &first);
    (void)rig_request(here->bus, "busy", "x", 10, &second);
    rig_wait(here->loop, &first);
    rig_wait(here->loop, &second);
    assert_answered(&first, "done");
    assert_failed(&second, SENNIT_KIND_TIMEOUT, SENNIT_RAN_NEVER);
    assert_int_equal(blocker.runs, 1);
    stats = rig_stats(here->bus);
    assert_int_equal(stats.expired_in_queue_total, 1);
    assert_int_equal(stats.dead_letters_total[SENNIT_DEAD_EXPIRED], 1);
}

static void
R8_a_cancelled_request_that_waits_is_not_run(void **state)
{
    rig_place *here = *state;
    test_worker worker = { .task = WORKER_ECHO };
    sennit_call call;
    outcome out;

    (void)rig_consume(here->bus, "echo", &worker);
    call = rig_request(here->bus, "echo", "x", 1000, &out);
    assert_int_equal(sennit_call_cancel(here->bus, call), SENNIT_OK);
    assert_int_equal(out.count, 0); /* not from inside cancel */
    assert_int_equal(sennit_call_cancel(here->bus, call), SENNIT_ENOENT);
    rig_wait(here->loop, &out);
    assert_failed(&out, SENNIT_KIND_CANCELLED, SENNIT_RAN_NEVER);
    rig_settle(here->loop);
    assert_int_equal(worker.runs, 0);
}

static void
R8_a_cancelled_request_that_ran_says_so_and_its_reply_is_void(void **state)
{
    rig_place *here = *state;
    test_worker worker = { .task = WORKER_KEEP };
    sennit_call call;
    outcome out;

    (void)rig_consume(here->bus, "slow", &worker);
    call = rig_request(here->bus, "slow", "x", 1000, &out);
    rig_settle(here->loop);
    assert_int_equal(worker.runs, 1);
    assert_false(sennit_reply_cancelled(worker.kept));
    assert_int_equal(sennit_call_cancel(here->bus, call), SENNIT_OK);
    rig_wait(here->loop, &out);
    assert_failed(&out, SENNIT_KIND_CANCELLED, SENNIT_RAN_YES);
    assert_true(sennit_reply_cancelled(worker.kept));
    assert_int_equal(sennit_reply_ok(worker.kept, rig_bytes("x")), SENNIT_ESTATE);
}

static void
R9_a_reply_may_come_after_the_handler_returned(void **state)
{
    rig_place *here = *state;
    test_worker worker = { .task = WORKER_KEEP };
    outcome out;

    (void)rig_consume(here->bus, "slow", &worker);
    (void)rig_request(here->bus, "slow", "x", 1000, &out);
    rig_settle(here->loop);
    assert_int_equal(out.count, 0);
    assert_true(sennit_reply_remaining(worker.kept) > 0);
    assert_int_equal(sennit_reply_ok(worker.kept, rig_bytes("at last")), SENNIT_OK);
    assert_int_equal(out.count, 0); /* nor inside reply */
    rig_wait(here->loop, &out);
    assert_answered(&out, "at last");
}

static void
R9_a_second_answer_is_refused(void **state)
{
    rig_place *here = *state;
    test_worker worker = { .task = WORKER_KEEP };
    outcome out;

    (void)rig_consume(here->bus, "slow", &worker);
    (void)rig_request(here->bus, "slow", "x", 1000, &out);
    rig_settle(here->loop);
    assert_int_equal(sennit_reply_ok(worker.kept, rig_bytes("one")), SENNIT_OK);
    assert_int_equal(sennit_reply_ok(worker.kept, rig_bytes("two")), SENNIT_ESTATE);
    assert_int_equal(
        sennit_reply_fail(worker.kept, SENNIT_KIND_RECIPIENT_FAILURE, "three"),
        SENNIT_ESTATE);
    assert_int_equal(sennit_reply_keep(worker.kept), SENNIT_ESTATE);
    sennit_reply_drop(worker.kept);
    rig_wait(here->loop, &out);
    rig_settle(here->loop);
    assert_answered(&out, "one");
}

static void
R9_a_handler_that_forgets_to_answer_gives_no_reply_at_once(void **state)
{
    rig_place *here = *state;
    test_worker worker = { .task = WORKER_NOTHING };
    outcome out;

    (void)rig_consume(here->bus, "mute", &worker);
    (void)rig_request(here->bus, "mute", "x", SENNIT_TIMEOUT_NONE, &out);
    rig_wait(here->loop, &out);
    assert_failed(&out, SENNIT_KIND_NO_REPLY, SENNIT_RAN_YES);
    assert_non_null(strstr(out.error.message, "mute"));
}

static void
R9_a_dropped_reply_gives_no_reply_at_once(void **state)
{
    rig_place *here = *state;
    test_worker worker = { .task = WORKER_KEEP };
    outcome out;

    (void)rig_consume(here->bus, "slow", &worker);
    (void)rig_request(here->bus, "slow", "x", SENNIT_TIMEOUT_NONE, &out);
    rig_settle(here->loop);
    sennit_reply_drop(worker.kept);
    rig_wait(here->loop, &out);
    assert_failed(&out, SENNIT_KIND_NO_REPLY, SENNIT_RAN_YES);
}

static void
fail_in_words(sennit_ctx *ctx, sennit_bytes body, void *arg)
{
    sennit_reply reply = sennit_ctx_reply(ctx);

    (void)arg;
    if (body.data[0] == 'd')
        assert_int_equal(
            sennit_reply_error(reply, -7, 42, rig_bytes("\xa3why"), "declared"),
            SENNIT_OK);
    else if (body.data[0] == 'r')
        assert_int_equal(
            sennit_reply_refuse(reply, SENNIT_KIND_BAD_MESSAGE, "field %d", 3),
            SENNIT_OK);
    else
        assert_int_equal(
            sennit_reply_fail(reply, SENNIT_KIND_RECIPIENT_FAILURE, "no %s", "luck"),
            SENNIT_OK);
}

static void
a_handlers_failure_reaches_the_caller_in_its_own_words(void **state)
{
    rig_place *here = *state;
    sennit_consumer *consumer;
    outcome out;

    assert_int_equal(
        sennit_bus_consume(here->bus, "f", NULL, &consumer, fail_in_words, NULL),
        SENNIT_OK);
    (void)rig_request(here->bus, "f", "fail", 1000, &out);
    rig_wait(here->loop, &out);
    assert_failed(&out, SENNIT_KIND_RECIPIENT_FAILURE, SENNIT_RAN_YES);
    assert_string_equal(out.error.message, "no luck");
    (void)rig_request(here->bus, "f", "declared", 1000, &out);
    rig_wait(here->loop, &out);
    assert_failed(&out, SENNIT_KIND_RECIPIENT_FAILURE, SENNIT_RAN_YES);
    assert_int_equal(out.error.code, -7);
    assert_int_equal(out.error.detail_id, 42);
    assert_string_equal(out.body, "\xa3why");
    (void)rig_request(here->bus, "f", "refuse", 1000, &out);
    rig_wait(here->loop, &out);
    assert_failed(&out, SENNIT_KIND_BAD_MESSAGE, SENNIT_RAN_NEVER);
    assert_string_equal(out.error.message, "field 3");
}

static void
ask_again(sennit_bytes body, const sennit_error *error, void *arg)
{
    rig_place *here = ((void **)arg)[0];
    outcome *second = ((void **)arg)[1];

    (void)body;
    assert_null(error);
    (void)rig_request(here->bus, "echo", "again", 1000, second);
}

static void
a_callback_may_start_the_next_request(void **state)
{
    rig_place *here = *state;
    test_worker worker = { .task = WORKER_ECHO };
    outcome second = { 0 };
    void *both[2] = { here, &second };

    (void)rig_consume(here->bus, "echo", &worker);
    assert_int_equal(sennit_bus_request(here->bus, "echo", rig_bytes("once"), NULL, NULL,
                                        ask_again, both),
                     SENNIT_OK);
    rig_wait(here->loop, &second);
    assert_answered(&second, "again");
}

/* ---- Budgets ---------------------------------------------------------- */

typedef struct test_relay {
    outcome nested;
    int timeout_ms;
} test_relay;

static void
pass_on(sennit_ctx *ctx, sennit_bytes body, void *arg)
{
    test_relay *relay = arg;

    (void)body;
    (void)sennit_reply_keep(sennit_ctx_reply(ctx));
    (void)rig_request(sennit_ctx_bus(ctx), "inner", "x", relay->timeout_ms,
                      &relay->nested);
}

static void
R5_a_nested_call_has_what_is_left_of_its_handlers_budget(void **state)
{
    rig_place *here = *state;
    test_worker inner = { .task = WORKER_KEEP };
    test_relay relay = { .timeout_ms = 0 };
    sennit_consumer *consumer;
    outcome out;

    (void)rig_consume(here->bus, "inner", &inner);
    assert_int_equal(
        sennit_bus_consume(here->bus, "outer", NULL, &consumer, pass_on, &relay),
        SENNIT_OK);
    (void)rig_request(here->bus, "outer", "x", 40, &out);
    rig_settle(here->loop);
    assert_int_equal(inner.runs, 1);
    assert_true(inner.remaining <= 40000000);
    rig_wait(here->loop, &out);
    rig_wait(here->loop, &relay.nested);
    assert_failed(&out, SENNIT_KIND_TIMEOUT, SENNIT_RAN_YES);
    assert_false(relay.nested.ok);
}

static void
R8_cancelling_a_request_cancels_the_calls_made_for_it(void **state)
{
    rig_place *here = *state;
    test_worker inner = { .task = WORKER_KEEP };
    test_relay relay = { .timeout_ms = SENNIT_TIMEOUT_NONE };
    sennit_consumer *consumer;
    sennit_call call;
    outcome out;

    (void)rig_consume(here->bus, "inner", &inner);
    assert_int_equal(
        sennit_bus_consume(here->bus, "outer", NULL, &consumer, pass_on, &relay),
        SENNIT_OK);
    call = rig_request(here->bus, "outer", "x", SENNIT_TIMEOUT_NONE, &out);
    rig_settle(here->loop);
    assert_int_equal(inner.runs, 1);
    assert_int_equal(sennit_call_cancel(here->bus, call), SENNIT_OK);
    rig_wait(here->loop, &relay.nested);
    assert_failed(&relay.nested, SENNIT_KIND_CANCELLED, SENNIT_RAN_YES);
    assert_true(sennit_reply_cancelled(inner.kept));
}

/* ---- Mailboxes -------------------------------------------------------- */

static void
count_dead(const sennit_dead_letter *letter, void *arg)
{
    unsigned *counts = arg;

    counts[letter->reason]++;
    assert_true(letter->head.size <= 64);
}

static void
B1_a_full_mailbox_refuses_and_the_next_consumer_is_tried(void **state)
{
    rig_place *here = *state;
    sennit_consume_opts opts = { .mailbox_max_msgs = 2 };
    test_worker workers[2] = { { .task = WORKER_ECHO }, { .task = WORKER_ECHO } };
    sennit_consumer *consumer;
    outcome out[5];

    for (int i = 0; i < 2; i++)
        assert_int_equal(sennit_bus_consume(here->bus, "work", &opts, &consumer,
                                            worker_run, &workers[i]),
                         SENNIT_OK);
    for (int i = 0; i < 5; i++)
        (void)rig_request(here->bus, "work", "x", 1000, &out[i]);
    assert_int_equal(sennit_bus_send(here->bus, "work", rig_bytes("x"), NULL),
                     SENNIT_EAGAIN);
    for (int i = 0; i < 5; i++)
        rig_wait(here->loop, &out[i]);
    for (int i = 0; i < 4; i++)
        assert_answered(&out[i], "x");
    assert_failed(&out[4], SENNIT_KIND_OVERLOADED, SENNIT_RAN_NEVER);
    assert_int_equal(workers[0].runs, 2);
    assert_int_equal(workers[1].runs, 2);
}

static void
B1_a_mailbox_is_also_limited_in_bytes(void **state)
{
    rig_place *here = *state;
    sennit_consume_opts opts = { .mailbox_max_bytes = 6000 };
    static char large[5000];
    test_worker worker = { .task = WORKER_NOTHING };
    sennit_consumer *consumer;
    sennit_bytes body = { (const uint8_t *)large, sizeof large };

    assert_int_equal(
        sennit_bus_consume(here->bus, "work", &opts, &consumer, worker_run, &worker),
        SENNIT_OK);
    assert_int_equal(sennit_bus_send(here->bus, "work", body, NULL), SENNIT_OK);
    assert_int_equal(sennit_bus_send(here->bus, "work", body, NULL), SENNIT_EAGAIN);
    assert_true(rig_stats(here->bus).mailbox_bytes > 5000);
    rig_settle(here->loop);
    assert_int_equal(rig_stats(here->bus).mailbox_bytes, 0);
    assert_int_equal(sennit_bus_send(here->bus, "work", body, NULL), SENNIT_OK);
    rig_settle(here->loop);
    assert_int_equal(worker.runs, 2);
}

static void
B6_what_an_event_could_not_be_given_to_is_a_dead_letter(void **state)
{
    rig_place *here = *state;
    sennit_consume_opts opts = { .mailbox_max_msgs = 1 };
    test_worker slow = { .task = WORKER_NOTHING };
    test_worker quick = { .task = WORKER_NOTHING };
    unsigned counts[SENNIT_DEAD_COUNT] = { 0 };
    sennit_consumer *consumer;

    assert_int_equal(
        sennit_bus_consume(here->bus, "e", &opts, &consumer, worker_run, &slow),
        SENNIT_OK);
    (void)rig_consume(here->bus, "e", &quick);
    sennit_bus_on_dead_letter(here->bus, count_dead, counts);
    for (int i = 0; i < 3; i++)
        assert_int_equal(sennit_bus_publish(here->bus, "e", rig_bytes("x"), NULL, NULL),
                         SENNIT_OK);
    rig_settle(here->loop);
    assert_int_equal(slow.runs, 1);
    assert_int_equal(quick.runs, 3); /* D6: one that is full takes nothing from others */
    assert_int_equal(counts[SENNIT_DEAD_MAILBOX_FULL], 2);
    assert_int_equal(rig_stats(here->bus).dead_letters_total[SENNIT_DEAD_MAILBOX_FULL],
                     2);
}

static void
cancel_on_death(const sennit_dead_letter *letter, void *arg)
{
    sennit_consumer **consumer = arg;

    assert_int_equal(letter->reason, SENNIT_DEAD_MAILBOX_FULL);
    assert_true(sennit_str_equal(letter->address, sennit_str_of("e")));
    assert_int_equal(letter->size, 100);
    assert_int_equal(letter->head.size, 64);
    sennit_consumer_cancel(*consumer);
    *consumer = NULL;
}

static void
B6_one_who_hears_of_a_dead_letter_may_change_the_bus(void **state)
{
    rig_place *here = *state;
    sennit_consume_opts opts = { .mailbox_max_msgs = 1 };
    test_worker worker = { .task = WORKER_NOTHING };
    static const uint8_t body[100];
    sennit_consumer *consumer;

    assert_int_equal(
        sennit_bus_consume(here->bus, "e", &opts, &consumer, worker_run, &worker),
        SENNIT_OK);
    sennit_bus_on_dead_letter(here->bus, cancel_on_death, &consumer);
    for (int i = 0; i < 3; i++)
        assert_int_equal(sennit_bus_publish(here->bus, "e",
                                            (sennit_bytes){ body, sizeof body }, NULL,
                                            NULL),
                         SENNIT_OK);
    assert_non_null(consumer); /* not from inside publish */
    rig_settle(here->loop);
    assert_null(consumer);
    assert_int_equal(rig_stats(here->bus).consumers, 0);
}

static void
a_cancelled_consumer_answers_what_waited(void **state)
{
    rig_place *here = *state;
    test_worker worker = { .task = WORKER_ECHO };
    sennit_consumer *consumer = rig_consume(here->bus, "echo", &worker);
    unsigned counts[SENNIT_DEAD_COUNT] = { 0 };
    outcome out;

    sennit_bus_on_dead_letter(here->bus, count_dead, counts);
    (void)rig_request(here->bus, "echo", "x", 1000, &out);
    assert_int_equal(sennit_bus_send(here->bus, "echo", rig_bytes("x"), NULL), SENNIT_OK);
    sennit_consumer_cancel(consumer);
    rig_wait(here->loop, &out);
    assert_failed(&out, SENNIT_KIND_NO_HANDLERS, SENNIT_RAN_NEVER);
    assert_int_equal(worker.runs, 0);
    assert_int_equal(counts[SENNIT_DEAD_CONSUMER_GONE], 1);
    assert_int_equal(rig_stats(here->bus).consumers, 0);
}

static void
cancel_oneself(sennit_ctx *ctx, sennit_bytes body, void *arg)
{
    sennit_consumer **self = arg;

    (void)body;
    (void)sennit_reply_ok(sennit_ctx_reply(ctx), rig_bytes("bye"));
    sennit_consumer_cancel(*self);
    sennit_consumer_cancel(*self);
}

static void
a_handler_may_cancel_its_own_consumer(void **state)
{
    rig_place *here = *state;
    sennit_consumer *consumer;
    outcome first;
    outcome second;

    assert_int_equal(
        sennit_bus_consume(here->bus, "once", NULL, &consumer, cancel_oneself, &consumer),
        SENNIT_OK);
    (void)rig_request(here->bus, "once", "x", 1000, &first);
    (void)rig_request(here->bus, "once", "x", 1000, &second);
    rig_wait(here->loop, &first);
    rig_wait(here->loop, &second);
    assert_answered(&first, "bye");
    assert_failed(&second, SENNIT_KIND_NO_HANDLERS, SENNIT_RAN_NEVER);
}

/* ---- Headers and services --------------------------------------------- */

static void
read_header(sennit_ctx *ctx, sennit_bytes body, void *arg)
{
    sennit_bytes value = { NULL, 0 };

    (void)body;
    (void)arg;
    assert_false(sennit_ctx_header(ctx, "absent", &value));
    assert_true(sennit_ctx_header(ctx, "traceparent", &value));
    (void)sennit_reply_ok(sennit_ctx_reply(ctx), value);
}

static void
H1_headers_reach_the_handler(void **state)
{
    rig_place *here = *state;
    sennit_header header = { sennit_str_of("traceparent"), rig_bytes("00-1-2-3") };
    sennit_call_opts opts = { .headers = &header, .headers_count = 1 };
    sennit_consumer *consumer;
    outcome out = { 0 };

    assert_int_equal(
        sennit_bus_consume(here->bus, "h", NULL, &consumer, read_header, NULL),
        SENNIT_OK);
    assert_int_equal(sennit_bus_request(here->bus, "h", rig_bytes(""), &opts, NULL,
                                        outcome_keep, &out),
                     SENNIT_OK);
    rig_wait(here->loop, &out);
    assert_answered(&out, "00-1-2-3");
    header.key = sennit_str_of("Upper");
    assert_int_equal(sennit_bus_send(here->bus, "h", rig_bytes(""), &opts),
                     SENNIT_EINVAL);
}

typedef struct pricing_vtable {
    const char *answer;
} pricing_vtable;

static void
pricing_get(sennit_ctx *ctx, sennit_bytes body, const void *vtable, void *self)
{
    (void)body;
    ++*(unsigned *)self;
    (void)sennit_reply_ok(sennit_ctx_reply(ctx),
                          rig_bytes(((const pricing_vtable *)vtable)->answer));
}

static const sennit_method pricing_methods[] = { { "get", pricing_get },
                                                 { "later", NULL } };
static const sennit_service pricing = { sizeof(sennit_service), "shop.Pricing/1",
                                        pricing_methods, 2 };
static const pricing_vtable pricing_vt = { "12.50" };

static void
typed_result(sennit_bytes body, const sennit_error *error, sennit_arena *arena,
             sennit_any_fn *fn, void *arg)
{
    sennit_str copy;

    /* A generated client decodes into the arena and calls the user's function. */
    assert_int_equal(
        sennit_arena_copy_str(arena, (sennit_str){ (const char *)body.data, body.size },
                              &copy),
        SENNIT_OK);
    ((sennit_result_fn *)fn)((sennit_bytes){ (const uint8_t *)copy.data, copy.size },
                             error, arg);
}

static void
R10_a_service_answers_its_methods_and_refuses_others(void **state)
{
    rig_place *here = *state;
    sennit_consumer *consumer;
    sennit_client client;
    unsigned gets = 0;
    char long_name[300] = "";
    sennit_arena *arena;
    sennit_bytes reply;
    sennit_error error;
    outcome out = { 0 };

    assert_int_equal(
        sennit_bus_serve(here->bus, &pricing, &pricing_vt, &gets, NULL, &consumer),
        SENNIT_OK);
    sennit_client_init(&client, here->bus, "shop.Pricing/1");
    assert_int_equal(sennit_client_request(&client, "get", 500, rig_bytes(""), NULL, NULL,
                                           typed_result, (sennit_any_fn *)outcome_keep,
                                           &out),
                     SENNIT_OK);
    rig_wait(here->loop, &out);
    assert_answered(&out, "12.50");
    assert_int_equal(sennit_client_send(&client, "get", rig_bytes(""), NULL), SENNIT_OK);
    assert_int_equal(sennit_client_send(&client, "nope", rig_bytes(""), NULL),
                     SENNIT_ENOTSUP);
    assert_int_equal(sennit_arena_new(&arena, NULL), SENNIT_OK);
    assert_int_equal(sennit_client_call(&client, "get", 500, rig_bytes(""), NULL, arena,
                                        &reply, &error),
                     SENNIT_OK);
    assert_int_equal(reply.size, 5);
    memset(long_name, 'x', sizeof long_name - 1);
    assert_int_equal(sennit_client_call(&client, long_name, 0, rig_bytes(""), NULL, arena,
                                        &reply, &error),
                     SENNIT_EINVAL);
    assert_int_equal(error.kind, SENNIT_KIND_BAD_MESSAGE);
    assert_int_equal(error.ran, SENNIT_RAN_NEVER);
    sennit_arena_free(arena);
    (void)rig_request(here->bus, "shop.Pricing/1.nope", "", 500, &out);
    rig_wait(here->loop, &out);
    assert_failed(&out, SENNIT_KIND_UNIMPLEMENTED, SENNIT_RAN_NEVER);
    (void)rig_request(here->bus, "shop.Pricing/1.later", "", 500, &out);
    rig_wait(here->loop, &out);
    assert_failed(&out, SENNIT_KIND_UNIMPLEMENTED, SENNIT_RAN_NEVER);
    (void)rig_request(here->bus, "shop.Pricing/2.get", "", 500, &out);
    rig_wait(here->loop, &out);
    assert_failed(&out, SENNIT_KIND_NO_HANDLERS, SENNIT_RAN_NEVER);
    assert_int_equal(gets, 3);
}

/* ---- Sizes ------------------------------------------------------------ */

static void
too_large_is_told_by_the_sender(void **state)
{
    rig_place *here = *state;
    sennit_bus_opts opts = SENNIT_BUS_OPTS_DEFAULT;
    static uint8_t large[2000];
    test_worker worker = { .task = WORKER_ECHO };
    sennit_bus *small;
    outcome out = { 0 };

    opts.frame_max_bytes = 1024;
    assert_int_equal(sennit_bus_open(&small, here->loop, &opts), SENNIT_OK);
    (void)rig_consume(small, "echo", &worker);
    assert_int_equal(sennit_bus_request(small, "echo", (sennit_bytes){ large, 2000 },
                                        NULL, NULL, outcome_keep, &out),
                     SENNIT_OK);
    rig_wait(here->loop, &out);
    assert_failed(&out, SENNIT_KIND_TOO_LARGE, SENNIT_RAN_NEVER);
    assert_int_equal(sennit_bus_send(small, "echo", (sennit_bytes){ large, 2000 }, NULL),
                     SENNIT_EMSGSIZE);
    assert_int_equal(
        sennit_bus_publish(small, "echo", (sennit_bytes){ large, 2000 }, NULL, NULL),
        SENNIT_EMSGSIZE);
    worker.task = WORKER_KEEP;
    (void)rig_request(small, "echo", "x", 1000, &out);
    rig_settle(here->loop);
    assert_int_equal(sennit_reply_ok(worker.kept, (sennit_bytes){ large, 2000 }),
                     SENNIT_EMSGSIZE);
    rig_wait(here->loop, &out);
    assert_failed(&out, SENNIT_KIND_TOO_LARGE, SENNIT_RAN_YES);
    sennit_bus_close(small);
}

/* ---- Blocking and closing --------------------------------------------- */

static void
try_to_block(sennit_ctx *ctx, sennit_bytes body, void *arg)
{
    sennit_bytes reply;
    sennit_error error;

    (void)arg;
    assert_int_equal(sennit_bus_call(sennit_ctx_bus(ctx), "x", body, NULL,
                                     sennit_ctx_arena(ctx), &reply, &error),
                     SENNIT_ESTATE);
    assert_int_equal(error.ran, SENNIT_RAN_NEVER);
    assert_non_null(strstr(error.message, "sennit_bus_request"));
    assert_int_equal(sennit_bus_wait_ready(sennit_ctx_bus(ctx), 0), SENNIT_ESTATE);
    (void)sennit_reply_ok(sennit_ctx_reply(ctx), rig_bytes("refused"));
}

static void
A5_a_blocking_call_inside_a_handler_is_refused(void **state)
{
    rig_place *here = *state;
    sennit_consumer *consumer;
    outcome out;

    assert_int_equal(
        sennit_bus_consume(here->bus, "b", NULL, &consumer, try_to_block, NULL),
        SENNIT_OK);
    (void)rig_request(here->bus, "b", "x", 1000, &out);
    rig_wait(here->loop, &out);
    assert_answered(&out, "refused");
}

static void
a_plain_thread_may_wait_for_its_reply(void **state)
{
    rig_place *here = *state;
    test_worker worker = { .task = WORKER_ECHO };
    sennit_call_opts opts = { .timeout_ms = 20 };
    sennit_consumer *consumer;
    sennit_arena *arena;
    sennit_bytes reply;
    sennit_error error;

    assert_int_equal(sennit_arena_new(&arena, NULL), SENNIT_OK);
    (void)rig_consume(here->bus, "echo", &worker);
    assert_int_equal(
        sennit_bus_call(here->bus, "echo", rig_bytes("hey"), NULL, arena, &reply, &error),
        SENNIT_OK);
    assert_int_equal(reply.size, 3);
    assert_memory_equal(reply.data, "hey", 3);
    assert_int_equal(
        sennit_bus_call(here->bus, "nobody", rig_bytes("x"), NULL, arena, &reply, &error),
        SENNIT_ENOENT);
    assert_int_equal(error.kind, SENNIT_KIND_NO_HANDLERS);
    assert_int_equal(
        sennit_bus_call(here->bus, "a b", rig_bytes("x"), NULL, arena, &reply, &error),
        SENNIT_EINVAL);
    assert_int_equal(error.kind, SENNIT_KIND_BAD_MESSAGE);
    assert_int_equal(
        sennit_bus_consume(here->bus, "f", NULL, &consumer, fail_in_words, NULL),
        SENNIT_OK);
    assert_int_equal(
        sennit_bus_call(here->bus, "f", rig_bytes("d"), NULL, arena, &reply, &error),
        SENNIT_EIO);
    assert_int_equal(error.detail_id, 42);
    assert_memory_equal(error.detail.data, "\xa3why", 4);
    worker.task = WORKER_KEEP;
    assert_int_equal(
        sennit_bus_call(here->bus, "echo", rig_bytes("x"), &opts, arena, &reply, &error),
        SENNIT_ETIMEDOUT);
    sennit_arena_free(arena);
}

static void
closing_ends_every_call_with_closed(void **state)
{
    rig_place *here = *state;
    test_worker slow = { .task = WORKER_KEEP };
    outcome running;
    outcome waiting;

    (void)rig_consume(here->bus, "slow", &slow);
    (void)rig_request(here->bus, "slow", "x", SENNIT_TIMEOUT_NONE, &running);
    rig_settle(here->loop);
    (void)rig_request(here->bus, "slow", "x", SENNIT_TIMEOUT_NONE, &waiting);
    sennit_bus_close(here->bus);
    here->bus = NULL;
    assert_int_equal(slow.runs, 1);
    assert_failed(&running, SENNIT_KIND_CLOSED, SENNIT_RAN_MAYBE);
    assert_failed(&waiting, SENNIT_KIND_CLOSED, SENNIT_RAN_NEVER);
}

static void
close_the_bus(sennit_ctx *ctx, sennit_bytes body, void *arg)
{
    sennit_consumer *consumer;
    sennit_error error;

    sennit_bus_close(sennit_ctx_bus(ctx));
    assert_int_equal(sennit_bus_send(sennit_ctx_bus(ctx), "a", rig_bytes(""), NULL),
                     SENNIT_ECLOSED);
    assert_int_equal(sennit_bus_request(sennit_ctx_bus(ctx), "a", rig_bytes(""), NULL,
                                        NULL, outcome_keep, NULL),
                     SENNIT_ECLOSED);
    assert_int_equal(sennit_bus_consume(sennit_ctx_bus(ctx), "a", NULL, &consumer,
                                        close_the_bus, NULL),
                     SENNIT_ECLOSED);
    assert_int_equal(sennit_reply_keep(sennit_ctx_reply(ctx)), SENNIT_ECLOSED);
    assert_int_equal(sennit_reply_ok(sennit_ctx_reply(ctx), body), SENNIT_ECLOSED);
    assert_int_equal(sennit_reply_fail(sennit_ctx_reply(ctx), SENNIT_KIND_NONE, "x"),
                     SENNIT_ECLOSED);
    assert_int_equal(
        sennit_bus_publish(sennit_ctx_bus(ctx), "a", rig_bytes(""), NULL, NULL),
        SENNIT_ECLOSED);
    assert_int_equal(sennit_bus_listen(sennit_ctx_bus(ctx), "inproc://a"),
                     SENNIT_ECLOSED);
    assert_int_equal(sennit_bus_listen_events(sennit_ctx_bus(ctx), "inproc://a"),
                     SENNIT_ECLOSED);
    assert_int_equal(sennit_bus_link(sennit_ctx_bus(ctx), "inproc://a"), SENNIT_ECLOSED);
    assert_int_equal(sennit_bus_unlink(sennit_ctx_bus(ctx), "inproc://a"),
                     SENNIT_ECLOSED);
    assert_int_equal(sennit_bus_wait_ready(sennit_ctx_bus(ctx), 0), SENNIT_ECLOSED);
    assert_int_equal(sennit_call_cancel(sennit_ctx_bus(ctx), (sennit_call){ 1 }),
                     SENNIT_ECLOSED);
    assert_int_equal(sennit_bus_call(sennit_ctx_bus(ctx), "a", body, NULL,
                                     sennit_ctx_arena(ctx), &body, &error),
                     SENNIT_ECLOSED);
    *(bool *)arg = true;
}

static void
a_handler_may_close_its_bus(void **state)
{
    rig_place *here = *state;
    sennit_consumer *consumer;
    bool closed = false;
    outcome out;

    assert_int_equal(
        sennit_bus_consume(here->bus, "c", NULL, &consumer, close_the_bus, &closed),
        SENNIT_OK);
    (void)rig_request(here->bus, "c", "x", 1000, &out);
    here->bus = NULL;
    rig_wait(here->loop, &out);
    assert_true(closed);
    assert_false(out.ok);
}

typedef struct descent {
    unsigned depth;
    unsigned outcomes;
} descent;

static void
count_outcome(sennit_bytes body, const sennit_error *error, void *arg)
{
    (void)body;
    assert_int_equal(error->kind, SENNIT_KIND_CANCELLED);
    ((descent *)arg)->outcomes++;
}

/* Keeps its reply and asks itself again. */
static void
ask_oneself(sennit_ctx *ctx, sennit_bytes body, void *arg)
{
    descent *down = arg;
    sennit_call_opts opts = { .timeout_ms = SENNIT_TIMEOUT_NONE };

    assert_int_equal(sennit_reply_keep(sennit_ctx_reply(ctx)), SENNIT_OK);
    if (++down->depth < 100000)
        assert_int_equal(sennit_bus_request(sennit_ctx_bus(ctx), "self", body, &opts,
                                            NULL, count_outcome, down),
                         SENNIT_OK);
}

static void
R8_a_cancel_reaches_the_end_of_a_long_chain(void **state)
{
    rig_place *here = *state;
    descent down = { 0, 0 };
    sennit_consumer *consumer;
    outcome out;
    sennit_call call;

    assert_int_equal(
        sennit_bus_consume(here->bus, "self", NULL, &consumer, ask_oneself, &down),
        SENNIT_OK);
    call = rig_request(here->bus, "self", "x", SENNIT_TIMEOUT_NONE, &out);
    while (down.depth < 100000)
        (void)sennit_loop_turn(here->loop, 100);
    assert_int_equal(sennit_call_cancel(here->bus, call), SENNIT_OK);
    rig_wait(here->loop, &out);
    while (down.outcomes < 99999)
        (void)sennit_loop_turn(here->loop, 100);
    assert_failed(&out, SENNIT_KIND_CANCELLED, SENNIT_RAN_YES);
    assert_int_equal(rig_stats(here->bus).replies_pending, 0);
}

static void
send_again(sennit_ctx *ctx, sennit_bytes body, void *arg)
{
    (*(unsigned *)arg)++;
    assert_int_equal(sennit_bus_send(sennit_ctx_bus(ctx), "tick", body, NULL), SENNIT_OK);
}

static void
outcomes_come_however_busy_the_mailboxes_are(void **state)
{
    rig_place *here = *state;
    test_worker echo = { .task = WORKER_ECHO };
    sennit_consumer *consumer;
    unsigned ticks = 0;
    outcome answered;
    outcome refused;

    (void)rig_consume(here->bus, "echo", &echo);
    assert_int_equal(
        sennit_bus_consume(here->bus, "tick", NULL, &consumer, send_again, &ticks),
        SENNIT_OK);
    assert_int_equal(sennit_bus_send(here->bus, "tick", rig_bytes("t"), NULL), SENNIT_OK);
    rig_settle(here->loop);
    (void)rig_request(here->bus, "echo", "x", 1000, &answered);
    (void)rig_request(here->bus, "nobody", "x", 1000, &refused);
    rig_settle(here->loop);
    assert_answered(&answered, "x");
    assert_failed(&refused, SENNIT_KIND_NO_HANDLERS, SENNIT_RAN_NEVER);
    assert_true(ticks > 256); /* and the others had their turn */
    sennit_consumer_cancel(consumer);
}

static void
options_out_of_range_are_refused(void **state)
{
    rig_place *here = *state;
    sennit_bus_opts opts = SENNIT_BUS_OPTS_DEFAULT;
    sennit_bus *bus;

    opts.timeout_ms = 0;
    assert_int_equal(sennit_bus_open(&bus, here->loop, &opts), SENNIT_EINVAL);
    opts = (sennit_bus_opts)SENNIT_BUS_OPTS_DEFAULT;
    opts.frame_max_bytes = 1023;
    assert_int_equal(sennit_bus_open(&bus, here->loop, &opts), SENNIT_EINVAL);
    opts = (sennit_bus_opts)SENNIT_BUS_OPTS_DEFAULT;
    opts.calls_max = 1u << 24;
    assert_int_equal(sennit_bus_open(&bus, here->loop, &opts), SENNIT_EINVAL);
}

static void
calls_max_bounds_what_waits(void **state)
{
    rig_place *here = *state;
    sennit_bus_opts opts = SENNIT_BUS_OPTS_DEFAULT;
    test_worker worker = { .task = WORKER_KEEP };
    sennit_bus *bus;
    outcome out[3];

    opts.calls_max = 2;
    assert_int_equal(sennit_bus_open(&bus, here->loop, &opts), SENNIT_OK);
    (void)rig_consume(bus, "slow", &worker);
    (void)rig_request(bus, "slow", "x", 1000, &out[0]);
    (void)rig_request(bus, "slow", "x", 1000, &out[1]);
    assert_int_equal(sennit_bus_request(bus, "slow", rig_bytes("x"), NULL, NULL,
                                        outcome_keep, &out[2]),
                     SENNIT_EAGAIN);
    sennit_bus_close(bus);
    assert_int_equal(out[0].count + out[1].count, 2);
}

static void
D46_a_hundred_thousand_unanswered_requests_end_and_leave_nothing(void **state)
{
    enum { BATCH = 1000, BATCHES = 100 };
    rig_place *here = *state;
    test_worker worker = { .task = WORKER_KEEP };
    static outcome out[BATCH];

    (void)rig_consume(here->bus, "slow", &worker);
    for (int batch = 0; batch < BATCHES; batch++) {
        for (int i = 0; i < BATCH; i++)
            (void)rig_request(here->bus, "slow", "x", 1, &out[i]);
        for (int i = 0; i < BATCH; i++)
            rig_wait(here->loop, &out[i]);
        for (int i = 0; i < BATCH; i++) {
            assert_int_equal(out[i].count, 1);
            assert_int_equal(out[i].error.kind, SENNIT_KIND_TIMEOUT);
            /* What the caller is told is what the handler's own count says. */
            assert_true(out[i].error.ran != SENNIT_RAN_MAYBE);
        }
    }
    assert_int_equal(rig_stats(here->bus).calls_pending, 0);
    assert_int_equal(rig_stats(here->bus).replies_pending, 0);
    assert_int_equal(worker.runs + rig_stats(here->bus).expired_in_queue_total,
                     BATCH * BATCHES);
}

static const struct CMUnitTest tests[] = {
    RIG_PLACE_TEST(D4_a_send_reaches_one_consumer_in_turn),
    RIG_PLACE_TEST(D6_an_event_reaches_every_consumer_once),
    RIG_PLACE_TEST(D6_an_event_nobody_hears_is_counted_and_no_error),
    RIG_PLACE_TEST(D10_a_pattern_takes_no_sends_and_no_requests),
    RIG_PLACE_TEST(a_consumer_nobody_names_lives_as_long_as_its_bus),
    RIG_PLACE_TEST(B6_what_a_handler_rejects_is_refused_or_a_dead_letter),
    RIG_PLACE_TEST(a_malformed_address_is_refused_at_once),
    RIG_PLACE_TEST(R1_a_reply_reaches_the_caller_once),
    RIG_PLACE_TEST(no_handlers_is_told_at_once_with_the_address),
    RIG_PLACE_TEST(R5_a_handler_that_keeps_its_reply_too_long_times_out),
    RIG_PLACE_TEST(R7_a_request_found_expired_is_not_run),
    RIG_PLACE_TEST(R8_a_cancelled_request_that_waits_is_not_run),
    RIG_PLACE_TEST(R8_a_cancelled_request_that_ran_says_so_and_its_reply_is_void),
    RIG_PLACE_TEST(R9_a_reply_may_come_after_the_handler_returned),
    RIG_PLACE_TEST(R9_a_second_answer_is_refused),
    RIG_PLACE_TEST(R9_a_handler_that_forgets_to_answer_gives_no_reply_at_once),
    RIG_PLACE_TEST(R9_a_dropped_reply_gives_no_reply_at_once),
    RIG_PLACE_TEST(a_handlers_failure_reaches_the_caller_in_its_own_words),
    RIG_PLACE_TEST(a_callback_may_start_the_next_request),
    RIG_PLACE_TEST(R5_a_nested_call_has_what_is_left_of_its_handlers_budget),
    RIG_PLACE_TEST(R8_cancelling_a_request_cancels_the_calls_made_for_it),
    RIG_PLACE_TEST(R8_a_cancel_reaches_the_end_of_a_long_chain),
    RIG_PLACE_TEST(B1_a_full_mailbox_refuses_and_the_next_consumer_is_tried),
    RIG_PLACE_TEST(B1_a_mailbox_is_also_limited_in_bytes),
    RIG_PLACE_TEST(B6_what_an_event_could_not_be_given_to_is_a_dead_letter),
    RIG_PLACE_TEST(B6_one_who_hears_of_a_dead_letter_may_change_the_bus),
    RIG_PLACE_TEST(a_cancelled_consumer_answers_what_waited),
    RIG_PLACE_TEST(a_handler_may_cancel_its_own_consumer),
    RIG_PLACE_TEST(H1_headers_reach_the_handler),
    RIG_PLACE_TEST(R10_a_service_answers_its_methods_and_refuses_others),
    RIG_PLACE_TEST(too_large_is_told_by_the_sender),
    RIG_PLACE_TEST(A5_a_blocking_call_inside_a_handler_is_refused),
    RIG_PLACE_TEST(a_plain_thread_may_wait_for_its_reply),
    RIG_PLACE_TEST(closing_ends_every_call_with_closed),
    RIG_PLACE_TEST(a_handler_may_close_its_bus),
    RIG_PLACE_TEST(outcomes_come_however_busy_the_mailboxes_are),
    RIG_PLACE_TEST(options_out_of_range_are_refused),
    RIG_PLACE_TEST(calls_max_bounds_what_waits),
    RIG_PLACE_TEST(D46_a_hundred_thousand_unanswered_requests_end_and_leave_nothing),
};

SENNIT_TEST_MAIN(tests)
