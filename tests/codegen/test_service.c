/* SPDX-License-Identifier: MIT */
/* Generated clients, servers and events against each other: on one bus, and on two
 * that are linked over inproc and tcp. Every test runs over each of the three. */
#include "sennit_test.h"

#include <stdio.h>

#include "fail_alloc.h"
#include "pricing.snt.h"

#define STR(text) ((sennit_str){ (text), sizeof(text) - 1 })

/* ---- A world: two programs, or one that is both ------------------------ */

typedef enum world_kind { WORLD_ONE_BUS, WORLD_INPROC, WORLD_TCP } world_kind;

typedef struct world {
    world_kind kind;
    sennit_loop *loop;
    sennit_bus *server_bus;
    sennit_bus *client_bus; /* the same for WORLD_ONE_BUS */
    sennit_consumer *served;
    pr_pricing_client client;
    sennit_arena *arena;
    sennit_error error;
    /* what the server saw */
    pr_pricing_get_reply kept;
    unsigned gets;
    sennit_time remaining;
    unsigned touches;
    unsigned clears;
    char touched[32];
    char stored[32];
    size_t stored_levels;
} world;

static world the_world;

static void
serve_get(sennit_ctx *ctx, const pr_pricing_get_args *in, pr_pricing_get_reply reply,
          void *self)
{
    world *w = self;
    static const pr_level levels[] = { { 10, 1, { NULL, 0 } }, { 9, 2, { NULL, 0 } } };
    w->gets++;
    w->remaining = sennit_ctx_remaining(ctx);
    if (sennit_str_equal(in->symbol, STR("NONE"))) {
        pr_no_such_symbol detail = PR_NO_SUCH_SYMBOL_INIT;
        detail.symbol = in->symbol;
        assert_int_equal(pr_pricing_get_err_no_such_symbol(reply, &detail), SENNIT_OK);
    } else if (sennit_str_equal(in->symbol, STR("BUSY"))) {
        pr_busy detail = PR_BUSY_INIT;
        assert_int_equal(pr_pricing_get_err_busy(reply, &detail), SENNIT_OK);
    } else if (sennit_str_equal(in->symbol, STR("FAIL"))) {
        assert_int_equal(pr_pricing_get_fail(reply, SENNIT_KIND_RECIPIENT_FAILURE,
                                             "gave up after %d tries", 3),
                         SENNIT_OK);
    } else if (sennit_str_equal(in->symbol, STR("LATER"))) {
        assert_int_equal(sennit_reply_keep(reply.reply), SENNIT_OK);
        w->kept = reply;
    } else if (!sennit_str_equal(in->symbol, STR("FORGOTTEN"))) {
        pr_quote quote = PR_QUOTE_INIT;
        quote.symbol = in->symbol;
        quote.price = in->depth;
        quote.levels = levels;
        quote.n_levels = 2;
        quote.best = levels[0];
        sennit_err err = pr_pricing_get_ok(reply, &quote);
        if (err == SENNIT_ENOMEM)
            return; /* the caller gets NO_REPLY */
        assert_int_equal(err, SENNIT_OK);
        /* Used up. */
        assert_int_equal(pr_pricing_get_ok(reply, &quote), SENNIT_ESTATE);
    }
}

static void
serve_put(sennit_ctx *ctx, const pr_quote *in, pr_pricing_put_reply reply, void *self)
{
    world *w = self;
    (void)ctx;
    snprintf(w->stored, sizeof(w->stored), "%.*s", (int)in->symbol.size, in->symbol.data);
    w->stored_levels = in->n_levels;
    assert_int_equal(pr_pricing_put_ok(reply), SENNIT_OK);
}

static void
serve_count(sennit_ctx *ctx, pr_pricing_count_reply reply, void *self)
{
    pr_pricing_count_result out = PR_PRICING_COUNT_RESULT_INIT;
    (void)ctx, (void)self;
    out.symbols = 3;
    out.quotes = UINT64_MAX;
    assert_int_equal(pr_pricing_count_ok(reply, &out), SENNIT_OK);
}

static void
serve_touch(sennit_ctx *ctx, const pr_pricing_touch_args *in, void *self)
{
    world *w = self;
    (void)ctx;
    w->touches++;
    snprintf(w->touched, sizeof(w->touched), "%.*s", (int)in->symbol.size,
             in->symbol.data);
}

static void
serve_clear(sennit_ctx *ctx, pr_pricing_clear_reply reply, void *self)
{
    (void)ctx;
    ((world *)self)->clears++;
    assert_int_equal(pr_pricing_clear_ok(reply), SENNIT_OK);
}

static const pr_pricing_vtable pricing =
    PR_PRICING_VTABLE_INIT(serve_get, serve_put, serve_count, serve_touch, serve_clear);

static void
serve(world *w, const pr_pricing_vtable *vtable)
{
    sennit_consumer_cancel(w->served);
    assert_int_equal(pr_pricing_serve(w->server_bus, vtable, w, NULL, &w->served),
                     SENNIT_OK);
    assert_int_equal(sennit_bus_wait_ready(w->server_bus, 10000), SENNIT_OK);
}

static void
link_buses(world *w)
{
    const char *endpoint =
        w->kind == WORLD_TCP ? "tcp://127.0.0.1:*" : "inproc://generated";
    assert_int_equal(sennit_bus_open(&w->server_bus, w->loop, NULL), SENNIT_OK);
    assert_int_equal(sennit_bus_listen(w->server_bus, endpoint), SENNIT_OK);
    assert_int_equal(sennit_bus_open(&w->client_bus, w->loop, NULL), SENNIT_OK);
    assert_int_equal(sennit_bus_link(w->client_bus, sennit_bus_endpoint(w->server_bus)),
                     SENNIT_OK);
}

static int
set_up(world_kind kind, void **state)
{
    world *w = &the_world;
    memset(w, 0, sizeof(*w));
    w->kind = kind;
    assert_int_equal(sennit_loop_open(&w->loop, NULL), SENNIT_OK);
    assert_int_equal(sennit_arena_new(&w->arena, NULL), SENNIT_OK);
    if (kind == WORLD_ONE_BUS) {
        assert_int_equal(sennit_bus_open(&w->server_bus, w->loop, NULL), SENNIT_OK);
        w->client_bus = w->server_bus;
    } else {
        link_buses(w);
    }
    serve(w, &pricing);
    assert_int_equal(sennit_bus_wait_ready(w->client_bus, 10000), SENNIT_OK);
    pr_pricing_client_init(&w->client, w->client_bus);
    *state = w;
    return 0;
}

static int
set_up_one_bus(void **state)
{
    return set_up(WORLD_ONE_BUS, state);
}

static int
set_up_inproc(void **state)
{
    return set_up(WORLD_INPROC, state);
}

static int
set_up_tcp(void **state)
{
    return set_up(WORLD_TCP, state);
}

static int
tear_down(void **state)
{
    world *w = *state;
    if (w->client_bus != w->server_bus)
        sennit_bus_close(w->client_bus);
    sennit_bus_close(w->server_bus);
    sennit_arena_free(w->arena);
    sennit_loop_close(w->loop);
    return 0;
}

/* Turns the loop until `*count` is at least `wanted`, at most ten seconds. */
static void
turn_until(world *w, const unsigned *count, unsigned wanted)
{
    sennit_time end = sennit_loop_now(w->loop) + UINT64_C(10000000000);
    while (*count < wanted && sennit_loop_now(w->loop) < end)
        assert_int_equal(sennit_loop_turn(w->loop, 100), SENNIT_OK);
    assert_true(*count >= wanted);
}

static pr_pricing_get_args
ask_for(const char *symbol)
{
    pr_pricing_get_args args = PR_PRICING_GET_ARGS_INIT;
    args.symbol = sennit_str_of(symbol);
    return args;
}

static sennit_err
get(world *w, const char *symbol, pr_quote *out)
{
    pr_pricing_get_args args = ask_for(symbol);
    return pr_pricing_get(&w->client, &args, NULL, out, w->arena, &w->error);
}

/* ---- Blocking calls --------------------------------------------------- */

static void
a_call_gives_its_result(void **state)
{
    world *w = *state;
    pr_quote quote;
    pr_pricing_get_args args = ask_for("ACME");
    args.depth = PR_DEPTH_BOOK | PR_DEPTH_TRADES;
    assert_int_equal(pr_pricing_get(&w->client, &args, NULL, &quote, w->arena, &w->error),
                     SENNIT_OK);
    assert_true(sennit_str_equal(quote.symbol, STR("ACME")));
    assert_int_equal(quote.price, 6);
    assert_int_equal(quote.n_levels, 2);
    assert_int_equal(quote.levels[1].size, 2);
    assert_int_equal(quote.best.price, 10);
    assert_true(quote.weight == 1.0);
    assert_false(quote.has_venue);
}

static void
a_default_parameter_arrives_as_its_default(void **state)
{
    world *w = *state;
    pr_quote quote;
    assert_int_equal(get(w, "ACME", &quote), SENNIT_OK);
    assert_int_equal(quote.price, PR_DEPTH_TOP);
}

static void
methods_without_parameters_or_results_work(void **state)
{
    world *w = *state;
    pr_pricing_count_result count;
    assert_int_equal(pr_pricing_count(&w->client, NULL, &count, w->arena, &w->error),
                     SENNIT_OK);
    assert_int_equal(count.symbols, 3);
    assert_true(count.quotes == UINT64_MAX);
    assert_int_equal(pr_pricing_clear(&w->client, NULL, w->arena, &w->error), SENNIT_OK);
    assert_int_equal(w->clears, 1);
}

static void
a_struct_as_the_whole_message_works(void **state)
{
    world *w = *state;
    static const pr_level levels[3] = { PR_LEVEL_INIT, PR_LEVEL_INIT, PR_LEVEL_INIT };
    pr_quote quote = PR_QUOTE_INIT;
    quote.symbol = STR("ACME");
    quote.levels = levels;
    quote.n_levels = 3;
    assert_int_equal(pr_pricing_put(&w->client, &quote, NULL, w->arena, &w->error),
                     SENNIT_OK);
    assert_string_equal(w->stored, "ACME");
    assert_int_equal(w->stored_levels, 3);
}

static void
a_declared_error_arrives_with_its_detail(void **state)
{
    world *w = *state;
    pr_quote quote;
    assert_int_equal(get(w, "NONE", &quote), SENNIT_EIO);
    assert_int_equal(w->error.kind, SENNIT_KIND_RECIPIENT_FAILURE);
    assert_int_equal(w->error.ran, SENNIT_RAN_YES);
    assert_int_equal(w->error.code, PR_NO_SUCH_SYMBOL_CODE);
    assert_int_equal(w->error.code, 5);
    const pr_no_such_symbol *none = pr_no_such_symbol_from_error(&w->error, w->arena);
    assert_non_null(none);
    assert_true(sennit_str_equal(none->symbol, STR("NONE")));
    assert_null(pr_busy_from_error(&w->error, w->arena));
    assert_null(pr_busy_from_error(NULL, w->arena));

    assert_int_equal(get(w, "BUSY", &quote), SENNIT_EIO);
    const pr_busy *busy = pr_busy_from_error(&w->error, w->arena);
    assert_non_null(busy);
    assert_int_equal(busy->retry_after, 50000000);
    assert_true(PR_BUSY_RETRYABLE);
}

static void
a_failure_without_a_declared_error_carries_its_words(void **state)
{
    world *w = *state;
    pr_quote quote;
    assert_int_equal(get(w, "FAIL", &quote), SENNIT_EIO);
    assert_int_equal(w->error.kind, SENNIT_KIND_RECIPIENT_FAILURE);
    assert_int_equal(w->error.detail_id, 0);
    assert_non_null(strstr(w->error.message, "gave up after 3 tries"));
}

static void
a_handler_that_forgets_its_reply_is_told_apart(void **state)
{
    world *w = *state;
    pr_quote quote;
    assert_int_equal(get(w, "FORGOTTEN", &quote), SENNIT_EIO);
    assert_int_equal(w->error.kind, SENNIT_KIND_NO_REPLY);
}

static void
arguments_that_cannot_be_encoded_never_leave(void **state)
{
    world *w = *state;
    pr_quote quote;
    assert_int_equal(get(w, "\xff", &quote), SENNIT_EINVAL);
    assert_int_equal(w->error.kind, SENNIT_KIND_BAD_MESSAGE);
    assert_int_equal(w->error.ran, SENNIT_RAN_NEVER);
    assert_string_equal(w->error.message, "Pricing.get.symbol: the text is not UTF-8");
    assert_int_equal(w->gets, 0);
    /* And the next call is not hurt by it. */
    assert_int_equal(get(w, "ACME", &quote), SENNIT_OK);
}

/* ---- Calls that come back later --------------------------------------- */

typedef struct outcome {
    unsigned count;
    bool ok;
    char symbol[32];
    sennit_kind kind;
    bool declared;
} outcome;

static void
keep_outcome(const pr_quote *out, const sennit_error *error, void *arg)
{
    outcome *kept = arg;
    kept->count++;
    kept->ok = out != NULL;
    assert_true((out == NULL) != (error == NULL));
    if (out)
        snprintf(kept->symbol, sizeof(kept->symbol), "%.*s", (int)out->symbol.size,
                 out->symbol.data);
    kept->kind = error ? error->kind : SENNIT_KIND_NONE;
    kept->declared = error && error->detail_id == PR_NO_SUCH_SYMBOL_ID;
}

static void
keep_clear(const sennit_error *error, void *arg)
{
    outcome *kept = arg;
    kept->count++;
    kept->ok = !error;
}

static void
start(world *w, const char *symbol, sennit_call *call, outcome *out)
{
    pr_pricing_get_args args = ask_for(symbol);
    memset(out, 0, sizeof(*out));
    assert_int_equal(
        pr_pricing_get_start(&w->client, &args, NULL, call, keep_outcome, out),
        SENNIT_OK);
    assert_int_equal(out->count, 0); /* never inside the call that started it */
}

static void
many_calls_at_once_have_one_outcome_each(void **state)
{
    world *w = *state;
    outcome outcomes[50];
    char symbols[50][8];
    for (size_t i = 0; i < 50; i++) {
        snprintf(symbols[i], sizeof(symbols[i]), "S%zu", i);
        start(w, i % 10 == 9 ? "NONE" : symbols[i], NULL, &outcomes[i]);
    }
    for (size_t i = 0; i < 50; i++) {
        turn_until(w, &outcomes[i].count, 1);
        assert_int_equal(outcomes[i].ok, i % 10 != 9);
        assert_int_equal(outcomes[i].declared, i % 10 == 9);
        if (outcomes[i].ok)
            assert_string_equal(outcomes[i].symbol, symbols[i]);
    }
    for (int i = 0; i < 5; i++)
        assert_int_equal(sennit_loop_turn(w->loop, 0), SENNIT_OK);
    for (size_t i = 0; i < 50; i++)
        assert_int_equal(outcomes[i].count, 1);
}

static void
a_method_without_result_starts_as_well(void **state)
{
    world *w = *state;
    outcome out = { 0 };
    assert_int_equal(pr_pricing_clear_start(&w->client, NULL, NULL, keep_clear, &out),
                     SENNIT_OK);
    turn_until(w, &out.count, 1);
    assert_true(out.ok);
}

static void
a_reply_that_was_kept_answers_later(void **state)
{
    world *w = *state;
    outcome out;
    start(w, "LATER", NULL, &out);
    turn_until(w, &w->gets, 1);
    assert_int_equal(out.count, 0);
    pr_quote quote = PR_QUOTE_INIT;
    quote.symbol = STR("AT LAST");
    assert_int_equal(pr_pricing_get_ok(w->kept, &quote), SENNIT_OK);
    turn_until(w, &out.count, 1);
    assert_true(out.ok);
    assert_string_equal(out.symbol, "AT LAST");
    pr_no_such_symbol detail = PR_NO_SUCH_SYMBOL_INIT;
    assert_int_equal(pr_pricing_get_err_no_such_symbol(w->kept, &detail), SENNIT_ESTATE);
}

static void
a_reply_that_cannot_be_encoded_keeps_the_right_to_answer(void **state)
{
    world *w = *state;
    outcome out;
    start(w, "LATER", NULL, &out);
    turn_until(w, &w->gets, 1);
    pr_quote quote = PR_QUOTE_INIT;
    quote.symbol = STR("\xff");
    assert_int_equal(pr_pricing_get_ok(w->kept, &quote), SENNIT_EINVAL);
    quote.symbol = STR("mended");
    assert_int_equal(pr_pricing_get_ok(w->kept, &quote), SENNIT_OK);
    turn_until(w, &out.count, 1);
    assert_string_equal(out.symbol, "mended");
}

static void
a_call_can_be_cancelled(void **state)
{
    world *w = *state;
    outcome out;
    sennit_call call;
    start(w, "LATER", &call, &out);
    turn_until(w, &w->gets, 1);
    assert_int_equal(sennit_call_cancel(w->client_bus, call), SENNIT_OK);
    turn_until(w, &out.count, 1);
    assert_int_equal(out.kind, SENNIT_KIND_CANCELLED);
}

/* The budget travels: what the handler has left says which timeout applied. */
static void
the_timeout_of_the_schema_applies_unless_the_call_has_its_own(void **state)
{
    world *w = *state;
    pr_quote quote;
    assert_int_equal(PR_PRICING_GET_TIMEOUT_MS, 250);
    assert_int_equal(get(w, "ACME", &quote), SENNIT_OK);
    assert_true(w->remaining > 0);
    assert_true(w->remaining <= UINT64_C(250000000));

    sennit_call_opts opts = SENNIT_CALL_OPTS_DEFAULT;
    pr_pricing_get_args args = ask_for("ACME");
    opts.timeout_ms = 100000;
    assert_int_equal(
        pr_pricing_get(&w->client, &args, &opts, &quote, w->arena, &w->error), SENNIT_OK);
    assert_true(w->remaining > UINT64_C(250000000));
    assert_true(w->remaining <= UINT64_C(100000000000));
}

/* ---- One way ---------------------------------------------------------- */

static void
a_one_way_method_arrives(void **state)
{
    world *w = *state;
    pr_pricing_touch_args args = PR_PRICING_TOUCH_ARGS_INIT;
    args.symbol = STR("ACME");
    assert_int_equal(pr_pricing_touch(&w->client, &args, NULL), SENNIT_OK);
    turn_until(w, &w->touches, 1);
    assert_string_equal(w->touched, "ACME");
    args.symbol = STR("\xff");
    assert_int_equal(pr_pricing_touch(&w->client, &args, NULL), SENNIT_EINVAL);
}

static void
a_one_way_method_that_is_asked_answers_with_nothing(void **state)
{
    world *w = *state;
    static const uint8_t body[] = "\x81\x01\xa1X";
    sennit_bytes reply;
    assert_int_equal(sennit_client_call(&w->client.client, "touch", 0,
                                        (sennit_bytes){ body, sizeof(body) - 1 }, NULL,
                                        w->arena, &reply, &w->error),
                     SENNIT_OK);
    assert_int_equal(w->touches, 1);
    assert_int_equal(reply.size, 1);
    assert_int_equal(reply.data[0], 0x80);
}

/* ---- Peers that do not fit -------------------------------------------- */

static sennit_err
call_raw(world *w, const char *method, const char *body, size_t size)
{
    sennit_bytes reply;
    return sennit_client_call(&w->client.client, method, 1000,
                              (sennit_bytes){ (const uint8_t *)body, size }, NULL,
                              w->arena, &reply, &w->error);
}

static void
arguments_that_cannot_be_read_are_refused_with_their_path(void **state)
{
    world *w = *state;
    assert_int_equal(call_raw(w, "get", "\x81\x01\x05", 3), SENNIT_EINVAL);
    assert_int_equal(w->error.kind, SENNIT_KIND_BAD_MESSAGE);
    assert_int_equal(w->error.ran, SENNIT_RAN_NEVER);
    assert_non_null(strstr(w->error.message, "Pricing.get.symbol: "));
    assert_int_equal(call_raw(w, "get", "\x81\x01", 2), SENNIT_EINVAL);
    assert_int_equal(call_raw(w, "get", "", 0), SENNIT_EINVAL);
    assert_int_equal(w->gets, 0);
    /* A bad one-way body runs nothing and hurts nobody. */
    assert_int_equal(sennit_client_send(&w->client.client, "touch",
                                        (sennit_bytes){ (const uint8_t *)"\x05", 1 },
                                        NULL),
                     SENNIT_OK);
    pr_quote quote;
    assert_int_equal(get(w, "ACME", &quote), SENNIT_OK);
    assert_int_equal(w->touches, 0);
}

static void
a_method_without_parameters_takes_any_body(void **state)
{
    world *w = *state;
    assert_int_equal(call_raw(w, "count", "", 0), SENNIT_OK);
    assert_int_equal(call_raw(w, "count", "\xc0", 1), SENNIT_OK);
    assert_int_equal(call_raw(w, "count", "\x81\x63\x01", 3), SENNIT_OK);
}

static void
a_method_the_service_does_not_have_is_unimplemented(void **state)
{
    world *w = *state;
    assert_int_equal(call_raw(w, "no_such_method", "\x80", 1), SENNIT_ENOTSUP);
    assert_int_equal(w->error.kind, SENNIT_KIND_UNIMPLEMENTED);
    assert_int_equal(w->error.ran, SENNIT_RAN_NEVER);
}

static void
an_entry_that_is_null_is_unimplemented(void **state)
{
    world *w = *state;
    static const pr_pricing_vtable half = PR_PRICING_VTABLE_INIT(.get = serve_get);
    serve(w, &half);
    pr_quote quote;
    pr_pricing_count_result count;
    assert_int_equal(get(w, "ACME", &quote), SENNIT_OK);
    assert_int_equal(pr_pricing_count(&w->client, NULL, &count, w->arena, &w->error),
                     SENNIT_ENOTSUP);
    assert_int_equal(w->error.kind, SENNIT_KIND_UNIMPLEMENTED);
    assert_non_null(strstr(w->error.message, "shop.pricing.Pricing/1.count"));
}

/* An object compiled when the schema had fewer methods: its table is shorter. */
static void
an_older_and_shorter_table_still_works(void **state)
{
    world *w = *state;
    static pr_pricing_vtable older;
    older = pricing;
    older.abi = (uint32_t)offsetof(pr_pricing_vtable, count);
    serve(w, &older);
    pr_quote quote;
    pr_pricing_count_result count;
    assert_int_equal(get(w, "ACME", &quote), SENNIT_OK);
    assert_int_equal(pr_pricing_count(&w->client, NULL, &count, w->arena, &w->error),
                     SENNIT_ENOTSUP);
}

static void
a_table_that_does_not_say_its_size_is_refused(void **state)
{
    world *w = *state;
    static const pr_pricing_vtable forgotten = { .get = serve_get };
    static const pr_pricing_vtable nothing = PR_PRICING_VTABLE_INIT(.get = NULL);
    sennit_consumer *served = NULL;
    sennit_consumer_cancel(w->served);
    w->served = NULL;
    assert_int_equal(pr_pricing_serve(w->server_bus, &forgotten, w, NULL, &served),
                     SENNIT_EINVAL);
    assert_null(served);
    serve(w, &nothing);
}

static void
answer_nonsense(sennit_ctx *ctx, sennit_bytes body, void *arg)
{
    (void)body, (void)arg;
    assert_int_equal(
        sennit_reply_ok(sennit_ctx_reply(ctx),
                        (sennit_bytes){ (const uint8_t *)"\x81\x02\xa1x", 4 }),
        SENNIT_OK);
}

static void
a_result_that_cannot_be_read_says_that_the_handler_ran(void **state)
{
    world *w = *state;
    sennit_consumer *nonsense = NULL;
    sennit_consumer_cancel(w->served);
    w->served = NULL;
    assert_int_equal(sennit_bus_consume(w->server_bus, PR_PRICING_SERVICE ".get", NULL,
                                        &nonsense, answer_nonsense, NULL),
                     SENNIT_OK);
    assert_int_equal(sennit_bus_wait_ready(w->server_bus, 10000), SENNIT_OK);
    pr_quote quote;
    assert_int_equal(get(w, "ACME", &quote), SENNIT_EPROTO);
    assert_int_equal(w->error.kind, SENNIT_KIND_BAD_MESSAGE);
    assert_int_equal(w->error.ran, SENNIT_RAN_YES);
    assert_non_null(strstr(w->error.message, "Quote.price: "));
    outcome out;
    start(w, "ACME", NULL, &out);
    turn_until(w, &out.count, 1);
    assert_int_equal(out.kind, SENNIT_KIND_BAD_MESSAGE);
}

static void
nobody_who_serves_is_no_handlers(void **state)
{
    world *w = *state;
    sennit_consumer_cancel(w->served);
    w->served = NULL;
    assert_int_equal(sennit_bus_wait_ready(w->server_bus, 10000), SENNIT_OK);
    pr_quote quote;
    assert_int_equal(get(w, "ACME", &quote), SENNIT_ENOENT);
    assert_int_equal(w->error.kind, SENNIT_KIND_NO_HANDLERS);
    assert_int_equal(w->error.ran, SENNIT_RAN_NEVER);
}

/* ---- Events ----------------------------------------------------------- */

typedef struct heard {
    unsigned count;
    char symbol[32];
    int64_t price;
    char address[64];
} heard;

static void
hear_price(sennit_ctx *ctx, const pr_price_changed *event, void *arg)
{
    heard *h = arg;
    sennit_str address = sennit_ctx_address(ctx);
    h->count++;
    snprintf(h->symbol, sizeof(h->symbol), "%.*s", (int)event->symbol.size,
             event->symbol.data);
    snprintf(h->address, sizeof(h->address), "%.*s", (int)address.size, address.data);
    h->price = event->quote.price;
}

static void
hear_halt(sennit_ctx *ctx, const pr_no_such_symbol *event, void *arg)
{
    (void)ctx, (void)event;
    ++*(unsigned *)arg;
}

static sennit_err
publish(world *w, const char *symbol, pr_side side, int64_t price)
{
    pr_price_changed event = PR_PRICE_CHANGED_INIT;
    event.symbol = sennit_str_of(symbol);
    event.side = side;
    event.quote.price = price;
    return pr_price_changed_publish(w->server_bus, &event, NULL, NULL);
}

static void
an_event_reaches_those_who_want_its_value_and_those_who_want_any(void **state)
{
    world *w = *state;
    heard all = { 0 };
    heard acme = { 0 };
    heard acme_buy = { 0 };
    unsigned halts = 0;
    sennit_consumer *ignored = NULL; /* until the bus closes */
    assert_int_equal(pr_price_changed_subscribe(w->client_bus, NULL, NULL, NULL, &ignored,
                                                hear_price, &all),
                     SENNIT_OK);
    assert_int_equal(pr_price_changed_subscribe(w->client_bus, "ACME", NULL, NULL,
                                                &ignored, hear_price, &acme),
                     SENNIT_OK);
    assert_int_equal(pr_price_changed_subscribe(w->client_bus, "ACME", "buy", NULL,
                                                &ignored, hear_price, &acme_buy),
                     SENNIT_OK);
    assert_int_equal(
        pr_halted_subscribe(w->client_bus, NULL, &ignored, hear_halt, &halts), SENNIT_OK);
    assert_int_equal(sennit_bus_wait_ready(w->client_bus, 10000), SENNIT_OK);

    assert_int_equal(publish(w, "ACME", PR_SIDE_BUY, 1), SENNIT_OK);
    assert_int_equal(publish(w, "ACME", PR_SIDE_SELL, 2), SENNIT_OK);
    assert_int_equal(publish(w, "OTHER", PR_SIDE_BUY, 3), SENNIT_OK);
    /* A value the enum does not have stands in the topic as its number. */
    assert_int_equal(publish(w, "ODD", 77, 4), SENNIT_OK);
    pr_no_such_symbol halt = PR_NO_SUCH_SYMBOL_INIT;
    assert_int_equal(pr_halted_publish(w->server_bus, &halt, NULL, NULL), SENNIT_OK);
    turn_until(w, &halts, 1);
    turn_until(w, &all.count, 4);
    turn_until(w, &acme.count, 2);
    turn_until(w, &acme_buy.count, 1);
    for (int i = 0; i < 5; i++)
        assert_int_equal(sennit_loop_turn(w->loop, 0), SENNIT_OK);
    assert_int_equal(all.count, 4);
    assert_string_equal(all.address, "price.ODD.77");
    assert_int_equal(all.price, 4);
    assert_int_equal(acme.count, 2);
    assert_string_equal(acme.address, "price.ACME.sell");
    assert_int_equal(acme_buy.count, 1);
    assert_string_equal(acme_buy.symbol, "ACME");
    assert_int_equal(halts, 1);
}

static void
a_value_that_is_no_token_cannot_be_published_or_wanted(void **state)
{
    world *w = *state;
    heard all = { 0 };
    sennit_consumer *ignored = NULL;
    assert_int_equal(publish(w, "", PR_SIDE_BUY, 1), SENNIT_EINVAL);
    assert_int_equal(publish(w, "A.B", PR_SIDE_BUY, 1), SENNIT_EINVAL);
    assert_int_equal(publish(w, "*", PR_SIDE_BUY, 1), SENNIT_EINVAL);
    assert_int_equal(pr_price_changed_subscribe(w->client_bus, ">", NULL, NULL, &ignored,
                                                hear_price, &all),
                     SENNIT_EINVAL);
}

static void
an_event_that_cannot_be_read_reaches_no_handler(void **state)
{
    world *w = *state;
    heard all = { 0 };
    sennit_consumer *ignored = NULL;
    assert_int_equal(pr_price_changed_subscribe(w->client_bus, NULL, NULL, NULL, &ignored,
                                                hear_price, &all),
                     SENNIT_OK);
    assert_int_equal(sennit_bus_wait_ready(w->client_bus, 10000), SENNIT_OK);
    assert_int_equal(sennit_bus_publish(w->server_bus, "price.ACME.buy",
                                        (sennit_bytes){ (const uint8_t *)"\xa1x", 2 },
                                        NULL, NULL),
                     SENNIT_OK);
    assert_int_equal(publish(w, "ACME", PR_SIDE_BUY, 1), SENNIT_OK);
    turn_until(w, &all.count, 1);
    assert_int_equal(all.price, 1);
    assert_int_equal(all.count, 1);
}

/* ---- No memory -------------------------------------------------------- */

/* Everything of one call, from a bus that opens to one that closes. Whatever fails,
 * the caller is told once, and nothing is left. */
static void
call_while_allocations_fail(test_alloc *alloc, void *arg)
{
    world w = { .kind = WORLD_ONE_BUS };
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;
    pr_quote quote;
    outcome out = { 0 };
    pr_pricing_get_args args = ask_for("ACME");
    (void)arg;
    /* Opening a loop has tests of its own; count from the bus on. */
    uint64_t k = alloc->fail_at;
    alloc->fail_at = 0;
    opts.allocator = &alloc->allocator;
    assert_int_equal(sennit_loop_open(&w.loop, &opts), SENNIT_OK);
    test_alloc_fail_at(alloc, k);
    if (sennit_arena_new(&w.arena, &alloc->allocator))
        goto close_loop;
    if (sennit_bus_open(&w.server_bus, w.loop, NULL))
        goto free_arena;
    if (pr_pricing_serve(w.server_bus, &pricing, &w, NULL, &w.served))
        goto close_bus;
    pr_pricing_client_init(&w.client, w.server_bus);
    sennit_err err = pr_pricing_get(&w.client, &args, NULL, &quote, w.arena, &w.error);
    if (err) {
        assert_true(alloc->failed > 0);
        assert_true(w.error.kind != SENNIT_KIND_NONE);
    } else {
        assert_true(sennit_str_equal(quote.symbol, args.symbol));
    }
    err = pr_pricing_get_start(&w.client, &args, NULL, NULL, keep_outcome, &out);
    for (int i = 0; !err && !out.count && i < 1000; i++)
        (void)sennit_loop_turn(w.loop, 0);
    assert_int_equal(out.count, err ? 0 : 1);
    assert_true(out.ok || alloc->failed > 0);
close_bus:
    sennit_bus_close(w.server_bus);
free_arena:
    sennit_arena_free(w.arena);
close_loop:
    sennit_loop_close(w.loop);
}

static void
every_allocation_of_a_call_may_fail(void **state)
{
    (void)state;
    assert_true(test_alloc_every_failure(call_while_allocations_fail, NULL) > 5);
}

/* ---- Every test over every world -------------------------------------- */

#define TEST(name)                                                                       \
    {                                                                                    \
#name, name                                                                      \
    }

static const struct {
    const char *name;
    CMUnitTestFunction fn;
} scenarios[] = {
    TEST(a_call_gives_its_result),
    TEST(a_default_parameter_arrives_as_its_default),
    TEST(methods_without_parameters_or_results_work),
    TEST(a_struct_as_the_whole_message_works),
    TEST(a_declared_error_arrives_with_its_detail),
    TEST(a_failure_without_a_declared_error_carries_its_words),
    TEST(a_handler_that_forgets_its_reply_is_told_apart),
    TEST(arguments_that_cannot_be_encoded_never_leave),
    TEST(many_calls_at_once_have_one_outcome_each),
    TEST(a_method_without_result_starts_as_well),
    TEST(a_reply_that_was_kept_answers_later),
    TEST(a_reply_that_cannot_be_encoded_keeps_the_right_to_answer),
    TEST(a_call_can_be_cancelled),
    TEST(the_timeout_of_the_schema_applies_unless_the_call_has_its_own),
    TEST(a_one_way_method_arrives),
    TEST(a_one_way_method_that_is_asked_answers_with_nothing),
    TEST(arguments_that_cannot_be_read_are_refused_with_their_path),
    TEST(a_method_without_parameters_takes_any_body),
    TEST(a_method_the_service_does_not_have_is_unimplemented),
    TEST(an_entry_that_is_null_is_unimplemented),
    TEST(an_older_and_shorter_table_still_works),
    TEST(a_table_that_does_not_say_its_size_is_refused),
    TEST(a_result_that_cannot_be_read_says_that_the_handler_ran),
    TEST(nobody_who_serves_is_no_handlers),
    TEST(an_event_reaches_those_who_want_its_value_and_those_who_want_any),
    TEST(a_value_that_is_no_token_cannot_be_published_or_wanted),
    TEST(an_event_that_cannot_be_read_reaches_no_handler),
};

#define SCENARIOS_COUNT (sizeof(scenarios) / sizeof(scenarios[0]))

static int
run_world(const char *name, CMFixtureFunction world_set_up)
{
    static struct CMUnitTest tests[SCENARIOS_COUNT];
    for (size_t i = 0; i < SCENARIOS_COUNT; i++)
        tests[i] = (struct CMUnitTest){ .name = scenarios[i].name,
                                        .test_func = scenarios[i].fn,
                                        .setup_func = world_set_up,
                                        .teardown_func = tear_down };
    return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}

int
main(void)
{
    int failed = run_world("on one bus", set_up_one_bus);
    failed += run_world("over inproc", set_up_inproc);
    failed += run_world("over tcp", set_up_tcp);
    static const struct CMUnitTest memory[] = {
        cmocka_unit_test(every_allocation_of_a_call_may_fail),
    };
    failed += cmocka_run_group_tests_name("memory", memory, NULL, NULL);
    return failed ? 1 : 0;
}
