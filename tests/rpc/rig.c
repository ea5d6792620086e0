/* SPDX-License-Identifier: MIT */
#include "rig.h"

#include "sennit_test.h"

#define PATIENCE_NS (UINT64_C(10) * 1000 * 1000 * 1000)

int
rig_open_place(void **state)
{
    rig_place *here = calloc(1, sizeof *here);

    assert_non_null(here);
    assert_int_equal(sennit_loop_open(&here->loop, NULL), SENNIT_OK);
    assert_int_equal(sennit_bus_open(&here->bus, here->loop, NULL), SENNIT_OK);
    *state = here;
    return 0;
}

int
rig_close_place(void **state)
{
    rig_place *here = *state;

    sennit_bus_close(here->bus);
    sennit_loop_close(here->loop);
    free(here);
    return 0;
}

void
rig_turn_until(sennit_loop *loop, bool (*done)(void *arg), void *arg)
{
    sennit_time deadline = sennit_loop_now(loop) + PATIENCE_NS;

    while (!done(arg)) {
        if (sennit_loop_now(loop) > deadline)
            fail_msg("nothing happened for ten seconds");
        (void)sennit_loop_turn(loop, 100);
    }
}

void
rig_settle(sennit_loop *loop)
{
    for (int i = 0; i < 8; i++)
        assert_int_equal(sennit_loop_turn(loop, 0), SENNIT_OK);
}

sennit_bytes
rig_bytes(const char *text)
{
    return (sennit_bytes){ (const uint8_t *)text, strlen(text) };
}

static void
keep_text(char *to, size_t capacity, sennit_bytes from)
{
    size_t size = from.size < capacity - 1 ? from.size : capacity - 1;

    if (size > 0)
        memcpy(to, from.data, size);
    to[size] = '\0';
}

void
outcome_keep(sennit_bytes body, const sennit_error *error, void *arg)
{
    outcome *out = arg;

    out->count++;
    out->ok = error == NULL;
    if (error != NULL) {
        assert_int_equal(body.size, 0);
        assert_true(error->kind != SENNIT_KIND_NONE);
        out->error = *error;
        body = error->detail;
    }
    out->body_size = body.size;
    keep_text(out->body, sizeof out->body, body);
}

sennit_call
rig_request(sennit_bus *bus, const char *address, const char *body, int timeout_ms,
            outcome *out)
{
    sennit_call_opts opts = { .timeout_ms = timeout_ms };
    sennit_call call = { 0 };

    memset(out, 0, sizeof *out);
    assert_int_equal(sennit_bus_request(bus, address, rig_bytes(body), &opts, &call,
                                        outcome_keep, out),
                     SENNIT_OK);
    assert_int_equal(out->count, 0); /* R1: never from inside */
    return call;
}

static bool
is_there(void *arg)
{
    return ((outcome *)arg)->count > 0;
}

void
rig_wait(sennit_loop *loop, outcome *out)
{
    rig_turn_until(loop, is_there, out);
    assert_int_equal(out->count, 1);
}

void
assert_failed(const outcome *out, sennit_kind kind, sennit_ran ran)
{
    assert_int_equal(out->count, 1);
    assert_false(out->ok);
    assert_string_equal(sennit_kind_name(out->error.kind), sennit_kind_name(kind));
    assert_string_equal(sennit_ran_name(out->error.ran), sennit_ran_name(ran));
    assert_true(out->error.message[0] != '\0');
}

void
assert_answered(const outcome *out, const char *body)
{
    assert_int_equal(out->count, 1);
    assert_true(out->ok);
    assert_string_equal(out->body, body);
}

void
worker_run(sennit_ctx *ctx, sennit_bytes body, void *arg)
{
    test_worker *worker = arg;
    sennit_str address = sennit_ctx_address(ctx);
    const uint8_t *node = sennit_ctx_node(ctx);

    worker->runs++;
    keep_text(worker->last, sizeof worker->last, body);
    keep_text(worker->address, sizeof worker->address,
              (sennit_bytes){ (const uint8_t *)address.data, address.size });
    worker->remaining = sennit_ctx_remaining(ctx);
    worker->cancelled = sennit_ctx_cancelled(ctx);
    memset(worker->node, 0, sizeof worker->node);
    if (node != NULL)
        memcpy(worker->node, node, sizeof worker->node);
    switch (worker->task) {
    case WORKER_ECHO:
        worker->reply_err = sennit_reply_ok(sennit_ctx_reply(ctx), body);
        break;
    case WORKER_KEEP:
        worker->kept = sennit_ctx_reply(ctx);
        worker->reply_err = sennit_reply_keep(worker->kept);
        break;
    case WORKER_NOTHING:
        break;
    }
}

sennit_consumer *
rig_consume(sennit_bus *bus, const char *address, test_worker *worker)
{
    sennit_consumer *consumer;

    assert_int_equal(
        sennit_bus_consume(bus, address, NULL, &consumer, worker_run, worker), SENNIT_OK);
    return consumer;
}

sennit_bus_stats
rig_stats(const sennit_bus *bus)
{
    sennit_bus_stats stats;

    sennit_bus_get_stats(bus, &stats);
    return stats;
}
