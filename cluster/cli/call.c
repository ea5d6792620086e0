/* SPDX-License-Identifier: MIT */
/* `sennit call`: one call of a method, with JSON in and out, by a schema. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>
#include <sennit/rpc.h>

#include "json.h"
#include "options.h"
#include "usage.h"

/* How long a node may take to answer the link, when --timeout does not say. */
#define LINK_TIMEOUT_MS 5000

#define NS_PER_MS UINT64_C(1000000)

typedef struct call_args {
    const char *endpoint;
    const char *method;
    const char *json; /* "-": standard input */
    const char *schema_path;
    int timeout_ms; /* for everything; -1: not given */
    bool oneway;
} call_args;

typedef struct call_run {
    const call_args *args;
    sni_idl_schema schema;
    sni_idl_method_ref method;
    const char *address;
    sennit_buf body;
    sennit_loop *loop;
    sennit_bus *bus;
    sennit_arena *arena;
    sennit_time started_at;
} call_run;

/* ---- What is to be called ---------------------------------------------- */

static int
load_schema(call_run *run)
{
    sni_idl_status status = sni_idl_load_file(&run->schema, run->args->schema_path);

    switch (status) {
    case SNI_IDL_GOOD:
        return CLI_OK;
    case SNI_IDL_FINDINGS:
        sni_idl_diags_print(&run->schema.diags, stderr, isatty(STDERR_FILENO));
        return CLI_FAILED;
    case SNI_IDL_CANNOT_RUN:
        cli_say("call: --schema: %s", run->schema.failure);
        return CLI_USAGE;
    }
    return CLI_FAILED;
}

static void
say_methods(const sni_idl_model *model)
{
    for (size_t i = 0; i < model->items_count; i++) {
        const sni_idl_service *service = model->items[i].service;
        if (model->items[i].kind != SNI_IDL_ITEM_SERVICE)
            continue;
        for (size_t j = 0; j < service->methods_count; j++)
            fprintf(stderr, "  %s.%s\n", service->naming.name,
                    service->methods[j].naming.name);
    }
}

static int
find_method(call_run *run)
{
    const char *nearest = NULL, *name = run->args->method;

    if (!sni_idl_find_method(&run->schema, name, &run->method, &nearest)) {
        if (nearest) {
            cli_say("call: %s has no method '%s'; did you mean %s?",
                    run->args->schema_path, name, nearest);
        } else {
            cli_say("call: %s has no method '%s'; it has", run->args->schema_path, name);
            say_methods(run->schema.model);
        }
        return CLI_USAGE;
    }
    run->address = sni_idl_method_address(&run->schema, run->method);
    if (!run->address) {
        cli_say("call: out of memory");
        return CLI_FAILED;
    }
    return CLI_OK;
}

static int
encode_arguments(call_run *run)
{
    const char *text = run->args->json;
    sni_idl_json_error why;
    json_error_t error;
    json_t *json = strcmp(text, "-") == 0 ? json_loadf(stdin, JSON_ALLOW_NUL, &error)
                                          : json_loads(text, JSON_ALLOW_NUL, &error);
    sennit_err err;

    if (!json) {
        cli_say("call: the arguments are not JSON: %s at line %d, column %d; write an "
                "object, as in '{\"name\":\"value\"}'",
                error.text, error.line, error.column);
        return CLI_USAGE;
    }
    err = sni_idl_json_to_body(run->method.method->takes, json, &run->body, &why);
    json_decref(json);
    if (err == SENNIT_EINVAL)
        cli_say("call: arguments: %s", why.text);
    else if (err)
        cli_say("call: arguments: %s", sennit_err_text(err));
    return err == SENNIT_EINVAL ? CLI_USAGE : err ? CLI_FAILED : CLI_OK;
}

/* ---- The call ---------------------------------------------------------- */

static int
say_error(sennit_err err, const char *what)
{
    cli_say("call: %s: %s", what, sennit_err_text(err));
    return CLI_FAILED;
}

/* Milliseconds left of --timeout; `otherwise` when it was not given. */
static int
remaining_ms(const call_run *run, int otherwise)
{
    uint64_t spent_ms = (sennit_loop_now(run->loop) - run->started_at) / NS_PER_MS;
    int timeout_ms = run->args->timeout_ms;

    if (timeout_ms < 0)
        return otherwise;
    return spent_ms >= (uint64_t)timeout_ms ? 1 : timeout_ms - (int)spent_ms;
}

static int
open_link(call_run *run)
{
    const char *endpoint = run->args->endpoint;
    int timeout_ms = run->args->timeout_ms;
    sennit_err err = sennit_loop_open(&run->loop, NULL);

    if (err)
        return say_error(err, "loop");
    run->started_at = sennit_loop_now(run->loop);
    err = sennit_bus_open(&run->bus, run->loop, NULL);
    if (err)
        return say_error(err, "bus");
    err = sennit_arena_new(&run->arena, NULL);
    if (err)
        return say_error(err, "bus");
    err = sennit_bus_link(run->bus, endpoint);
    if (err == SENNIT_EINVAL || err == SENNIT_ENOTSUP) {
        cli_say("call: %s: %s; write tcp://HOST:PORT or ipc://PATH", endpoint,
                sennit_err_text(err));
        return CLI_USAGE;
    }
    if (err)
        return say_error(err, endpoint);
    if (timeout_ms < 0)
        timeout_ms = LINK_TIMEOUT_MS;
    err = sennit_bus_wait_ready(run->bus, remaining_ms(run, timeout_ms));
    if (err == SENNIT_ETIMEDOUT) {
        cli_say("call: %s, ran: %s: no node answered at %s within %d ms",
                sennit_kind_name(SENNIT_KIND_NOT_SENT), sennit_ran_name(SENNIT_RAN_NEVER),
                endpoint, timeout_ms);
        return CLI_FAILED;
    }
    return err ? say_error(err, endpoint) : CLI_OK;
}

/* Prints a body as one line of JSON. */
static bool
print_body(const sni_idl_struct *structure, sennit_bytes body, FILE *out)
{
    sni_idl_json_error why;
    json_t *json = NULL;
    sennit_err err = sni_idl_body_to_json(structure, body, &json, &why);
    bool ok;

    if (err) {
        cli_say("call: the answer does not fit the schema: %s",
                err == SENNIT_EPROTO ? why.text : sennit_err_text(err));
        return false;
    }
    ok = json_dumpf(json, out, JSON_COMPACT) == 0 && fputc('\n', out) != EOF &&
         fflush(out) == 0;
    json_decref(json);
    return ok;
}

/* Prints a peer's words, which are UTF-8, on one line and without what a terminal
 * would obey: C0, DEL and C1 characters are escaped. */
static void
print_foreign(const char *text, FILE *out)
{
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        bool c1 = c[0] == 0xc2 && c[1] >= 0x80 && c[1] <= 0x9f;
        c += c1;
        if (c1 || *c < 0x20 || *c == 0x7f)
            fprintf(out, "\\x%02x", *c);
        else
            fputc(*c, out);
    }
}

static void
say_failure(call_run *run, const sennit_error *error)
{
    const sni_idl_struct *detail = NULL;

    fprintf(stderr, "sennit: call: %s, ran: %s: ", sennit_kind_name(error->kind),
            sennit_ran_name(error->ran));
    print_foreign(error->message, stderr);
    fputc('\n', stderr);
    if (error->code)
        fprintf(stderr, "code %" PRId32 "\n", error->code);
    if (error->detail_id)
        detail = sni_idl_find_error(&run->schema, error->detail_id);
    if (detail) {
        fprintf(stderr, "%s ", detail->naming.name);
        (void)print_body(detail, error->detail, stderr);
    } else if (error->detail_id) {
        fprintf(stderr, "with an error the schema does not declare (%08" PRIx32 ")\n",
                error->detail_id);
    }
}

static int
request(call_run *run)
{
    const sni_idl_method *method = run->method.method;
    sennit_call_opts opts = SENNIT_CALL_OPTS_DEFAULT;
    sennit_bytes reply;
    sennit_error error;

    opts.timeout_ms = remaining_ms(run, (int)method->timeout_ms);
    if (sennit_bus_call(run->bus, run->address, sennit_buf_bytes(&run->body), &opts,
                        run->arena, &reply, &error)) {
        say_failure(run, &error);
        return CLI_FAILED;
    }
    return print_body(method->gives, reply, stdout) ? CLI_OK : CLI_FAILED;
}

/* Sends, and turns the loop until the sockets have it; closing lets them linger. */
static int
send_oneway(call_run *run)
{
    sennit_time give_up_at = sennit_loop_now(run->loop) +
                             (uint64_t)remaining_ms(run, LINK_TIMEOUT_MS) * NS_PER_MS;
    sennit_bus_stats stats;
    sennit_err err =
        sennit_bus_send(run->bus, run->address, sennit_buf_bytes(&run->body), NULL);

    if (err) {
        cli_say("call: not sent: %s: %s", run->address,
                err == SENNIT_ENOENT ? "nobody consumes this address"
                                     : sennit_err_text(err));
        return CLI_FAILED;
    }
    sennit_bus_flush(run->bus);
    sennit_bus_get_stats(run->bus, &stats);
    while (stats.peer_queue_bytes && sennit_loop_now(run->loop) < give_up_at) {
        err = sennit_loop_turn(run->loop, 10);
        if (err && err != SENNIT_EINTR)
            return say_error(err, "loop");
        sennit_bus_get_stats(run->bus, &stats);
    }
    if (stats.peer_queue_bytes || stats.records_dropped_total) {
        cli_say(
            "call: the message has not left: the connection to %s was lost or is full",
            run->args->endpoint);
        return CLI_FAILED;
    }
    return CLI_OK;
}

static int
run_call(call_run *run)
{
    int exit_code = load_schema(run);

    if (exit_code == CLI_OK)
        exit_code = find_method(run);
    if (exit_code == CLI_OK)
        exit_code = encode_arguments(run);
    if (exit_code == CLI_OK)
        exit_code = open_link(run);
    if (exit_code != CLI_OK)
        return exit_code;
    return run->args->oneway || run->method.method->oneway ? send_oneway(run)
                                                           : request(run);
}

/* ---- The command line --------------------------------------------------- */

enum { OPTION_SCHEMA = 256, OPTION_TIMEOUT, OPTION_ONEWAY };

static bool
take_option(void *arg, int option, const char *value)
{
    call_args *args = arg;
    uint64_t number;

    switch (option) {
    case OPTION_SCHEMA:
        args->schema_path = value;
        return true;
    case OPTION_ONEWAY:
        args->oneway = true;
        return true;
    case OPTION_TIMEOUT:
        if (!cli_parse_number(value, 1, INT32_MAX, &number)) {
            cli_say("call: --timeout takes milliseconds, 1 to %d, not '%s'", INT32_MAX,
                    value);
            return false;
        }
        args->timeout_ms = (int)number;
        return true;
    }
    return false;
}

/* As cat_args_parse(). */
static bool
parse(call_args *args, const cli_command *command, int argc, char **argv, int *exit_code)
{
    static const struct option options[] = {
        { "schema", required_argument, NULL, OPTION_SCHEMA },
        { "timeout", required_argument, NULL, OPTION_TIMEOUT },
        { "oneway", no_argument, NULL, OPTION_ONEWAY },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };

    *args = (call_args){ .json = "{}", .timeout_ms = -1 };
    if (!cli_read_options(command, argc, argv, options, take_option, args, exit_code))
        return false;
    if (argc - optind < 2 || argc - optind > 3 || !args->schema_path) {
        cli_say(
            "call: write 'sennit call ENDPOINT SERVICE.METHOD JSON --schema FILE.snt', "
            "as in 'sennit call tcp://127.0.0.1:5556 Pricing.get "
            "'{\"symbol\":\"X\"}' --schema pricing.snt'");
        return false;
    }
    if (!cli_check_reachable("call:", argv[optind]))
        return false;
    args->endpoint = argv[optind];
    args->method = argv[optind + 1];
    if (argc - optind == 3)
        args->json = argv[optind + 2];
    return true;
}

static int
call_main(const cli_command *command, int argc, char **argv)
{
    call_args args;
    call_run run = { .args = &args };
    int exit_code;

    if (!parse(&args, command, argc, argv, &exit_code))
        return exit_code;
    sni_idl_schema_init(&run.schema);
    sennit_buf_init(&run.body, NULL);
    exit_code = run_call(&run);
    sennit_arena_free(run.arena);
    sennit_bus_close(run.bus);
    sennit_loop_close(run.loop);
    sennit_buf_fini(&run.body);
    sni_idl_schema_fini(&run.schema);
    return exit_code;
}

const cli_command cli_call = {
    .name = "call",
    .summary = "one call of a service's method, JSON in and out",
    .run = call_main,
    .help =
        "sennit call ENDPOINT SERVICE.METHOD [JSON] --schema FILE.snt [options]\n"
        "\n"
        "Calls a method of the node that listens at ENDPOINT and prints its reply as "
        "one\n"
        "line of JSON. JSON is an object with the method's parameters by name; without "
        "it,\n"
        "{}; with - it is read from standard input.\n"
        "\n"
        "  --schema FILE.snt  where the service is declared\n"
        "  --timeout MS       for reaching the node and the call together. Without it: "
        "5000\n"
        "                     for reaching the node, then the method's own, else 30000\n"
        "  --oneway           send, and do not wait for a reply; always so for a method\n"
        "                     that is declared oneway\n"
        "\n"
        "How values are written in JSON: bytes in base64, enums by name, durations as "
        "in\n"
        "\"250ms\", times as in \"2026-11-30T12:00:00Z\", 64-bit integers beyond 2^53 "
        "as\n"
        "strings.\n"
        "\n"
        "A call that fails says on stderr why (NO_HANDLERS, TIMEOUT, ...), whether the\n"
        "handler ran (never, maybe, yes), a message, and the declared error when there "
        "is\n"
        "one.\n"
        "\n"
        "SIGINT, SIGTERM and SIGHUP end it at once, as they end any program. The call "
        "may\n"
        "be carried out all the same.\n"
        "\n"
        "Exit code: 0 replied (one-way: sent); 1 failed, or the schema has errors; 2 "
        "bad\n"
        "usage.\n",
};
