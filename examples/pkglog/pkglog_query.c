/* SPDX-License-Identifier: MIT */
/* Asks the statistics service and prints the answers for people. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "node.h"
#include "pkglog.snt.h"

#define TOP_DEFAULT      10u
#define READY_TIMEOUT_MS 10000
#define NS_PER_S         INT64_C(1000000000)

typedef struct query {
    node node;
    const char *endpoint;
    const char *package; /* NULL: no history is asked for */
    bool tables;         /* the totals and the top */
    uint32_t top;
    pkglog_stats_client client;
} query;

static const char usage[] =
    "usage: pkglog_query ENDPOINT [--top N] [--history PACKAGE]\n"
    "\n"
    "Asks the service at ENDPOINT for the totals and the N packages most lines name\n"
    "(10 when nothing else is asked for), and for the history of one package.\n";

/* The length that printf takes. */
static int
width(sennit_str text)
{
    return text.size > INT32_MAX ? INT32_MAX : (int)text.size;
}

static int
widest(const pkglog_count *counts, size_t count, int least)
{
    for (size_t i = 0; i < count; i++)
        if (width(counts[i].name) > least)
            least = width(counts[i].name);
    return least;
}

static void
print_counts(const char *title, const pkglog_count *counts, size_t count)
{
    int column = widest(counts, count, 9);
    printf("\n  %-*s %8s\n", column, title, "lines");
    for (size_t i = 0; i < count; i++)
        printf("  %-*.*s %8" PRIu64 "\n", column, width(counts[i].name),
               counts[i].name.data, counts[i].count);
}

static void
print_time(int64_t at_ns)
{
    char text[32];
    time_t at = (time_t)(at_ns / NS_PER_S);
    struct tm parts;
    if (!gmtime_r(&at, &parts) ||
        !strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts))
        snprintf(text, sizeof text, "%" PRId64, at_ns);
    printf("  %s", text);
}

static sennit_str
version_or_dash(bool has, sennit_str version)
{
    return has ? version : sennit_str_of("-");
}

static void
print_history(const pkglog_history *history)
{
    printf("\n  history of %.*s, which %" PRIu64 " lines name\n", width(history->package),
           history->package.data, history->events);
    for (size_t i = 0; i < history->n_steps; i++) {
        const pkglog_step *step = &history->steps[i];
        sennit_str from = version_or_dash(step->has_old_version, step->old_version);
        sennit_str to = version_or_dash(step->has_new_version, step->new_version);
        print_time(step->at);
        printf("  %-9.*s  %.*s -> %.*s\n", width(step->action), step->action.data,
               width(from), from.data, width(to), to.data);
    }
}

static sennit_err
ask_tables(query *q, sennit_error *error)
{
    pkglog_totals totals;
    pkglog_stats_top_args in = PKGLOG_STATS_TOP_ARGS_INIT;
    pkglog_stats_top_result top;
    in.limit = q->top;
    sennit_err err = pkglog_stats_totals(&q->client, NULL, &totals, q->node.arena, error);
    if (!err)
        err = pkglog_stats_top(&q->client, &in, NULL, &top, q->node.arena, error);
    if (err)
        return err;
    printf("pkglog: %" PRIu64 " changes of %" PRIu64 " packages, %" PRIu64
           " lines not understood%s\n",
           totals.events, totals.packages, totals.unparsed,
           totals.complete ? "" : " (the feed has not ended)");
    print_counts("action", totals.actions, totals.n_actions);
    print_counts("package", top.packages, top.n_packages);
    return SENNIT_OK;
}

static sennit_err
ask_history(query *q, sennit_error *error)
{
    pkglog_stats_history_args in = PKGLOG_STATS_HISTORY_ARGS_INIT;
    pkglog_history history;
    in.package = sennit_str_of(q->package);
    sennit_err err =
        pkglog_stats_history(&q->client, &in, NULL, &history, q->node.arena, error);
    if (!err)
        print_history(&history);
    return err;
}

static void
say_failure(query *q, const sennit_error *error)
{
    const pkglog_no_such_package *missing =
        pkglog_no_such_package_from_error(error, q->node.arena);
    if (missing)
        node_say(&q->node, "no package '%.*s' in the log", width(missing->package),
                 missing->package.data);
    else
        node_say(&q->node, "%s (%s; the handler ran: %s)", error->message,
                 sennit_kind_name(error->kind), sennit_ran_name(error->ran));
}

static sennit_err
run(query *q)
{
    sennit_error error;
    sennit_err err = sennit_bus_link(q->node.bus, q->endpoint);
    if (!err)
        err = sennit_bus_wait_ready(q->node.bus, READY_TIMEOUT_MS);
    if (err) {
        node_say(&q->node, "cannot reach the service at %s: %s", q->endpoint,
                 sennit_err_text(err));
        return err;
    }
    pkglog_stats_client_init(&q->client, q->node.bus);
    if (q->tables)
        err = ask_tables(q, &error);
    if (!err && q->package)
        err = ask_history(q, &error);
    if (err)
        say_failure(q, &error);
    return err;
}

/* Whether the words make sense; else the usage was printed. */
static bool
parse_args(query *q, int argc, char **argv)
{
    static const struct option options[] = {
        { "top", required_argument, NULL, 't' },
        { "history", required_argument, NULL, 'H' },
        { NULL, 0, NULL, 0 },
    };
    uint64_t top = TOP_DEFAULT;
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        bool valid =
            option == 'H' || (option == 't' && node_parse_number(optarg, 1000, &top));
        if (!valid) {
            fputs(usage, stderr);
            return false;
        }
        if (option == 'H')
            q->package = optarg;
        else
            q->tables = true;
    }
    if (optind + 1 != argc) {
        fputs(usage, stderr);
        return false;
    }
    q->endpoint = argv[optind];
    q->tables = q->tables || !q->package;
    q->top = (uint32_t)top;
    return true;
}

int
main(int argc, char **argv)
{
    query q = { .endpoint = NULL };
    if (!parse_args(&q, argc, argv))
        return 2;
    sennit_err err = node_open(&q.node, "pkglog_query");
    if (!err)
        err = run(&q);
    node_close(&q.node);
    return err ? 1 : 0;
}
