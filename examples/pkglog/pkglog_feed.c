/* SPDX-License-Identifier: MIT */
/* Reads a package log and publishes each line as an event. Publishing never blocks
 * and drops what a listener cannot take, so the feeder publishes one window at a time
 * and then waits until everybody has heard it. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "logline.h"
#include "node.h"
#include "pkglog.snt.h"

/* Also the guests' rhythm of saying what they heard. Far below any queue's bound. */
#define WINDOW_EVENTS 256u

#define GUESTS_MAX        16u
#define READY_TIMEOUT_MS  30000
#define WINDOW_TIMEOUT_MS 30000
#define GUESTS_TIMEOUT_MS 60000
#define CALL_AGAIN_MS     100 /* how often those who are not there yet are called */

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S  INT64_C(1000000000)

typedef struct feed {
    node node;
    const char *log;
    const char *stats;
    const char *events; /* NULL: no guests can listen */
    uint32_t guests;
    pkglog_stats_client client;
    uint64_t published;
    uint64_t unparsed;
} feed;

static const char usage[] =
    "usage: pkglog_feed LOGFILE --stats ENDPOINT [--events ENDPOINT] [--guests N]\n"
    "\n"
    "Publishes each line of LOGFILE to the service at ENDPOINT, and to plain SUB\n"
    "sockets at the events endpoint, after N of them have said that they listen.\n"
    "Prints 'events ENDPOINT' when they may connect, and at the end\n"
    "'published N unparsed N'.\n";

/* Waits until the service and `guests` guests have heard all that was published. */
static sennit_err
wait_caught_up(feed *f, uint32_t guests, int timeout_ms, sennit_error *error)
{
    pkglog_stats_caught_up_args in = PKGLOG_STATS_CAUGHT_UP_ARGS_INIT;
    pkglog_stats_caught_up_result out;
    sennit_call_opts opts = { .timeout_ms = timeout_ms };
    in.published = f->published;
    in.guests = guests;
    sennit_arena_reset(f->node.arena);
    return pkglog_stats_caught_up(&f->client, &in, &opts, &out, f->node.arena, error);
}

/* The same where a failure ends the program. */
static sennit_err
need_caught_up(feed *f, uint32_t guests)
{
    sennit_error error;
    sennit_err err = wait_caught_up(f, guests, WINDOW_TIMEOUT_MS, &error);
    if (err)
        node_say(&f->node,
                 "the service and %" PRIu32 " guests did not confirm %" PRIu64
                 " changes: %s",
                 guests, f->published, error.message);
    return err;
}

/* Calls until all guests have answered. A subscription takes a while to arrive and
 * nobody tells us; a guest that hears the call knows that its own works. */
static sennit_err
wait_for_guests(feed *f)
{
    pkglog_feed_waiting call = PKGLOG_FEED_WAITING_INIT;
    sennit_error error;
    sennit_err err;
    sennit_time end = sennit_loop_now(f->node.loop) + GUESTS_TIMEOUT_MS * NS_PER_MS;
    call.guests = f->guests;
    do {
        err = pkglog_feed_waiting_publish(f->node.bus, &call, NULL, NULL);
        if (!err)
            err = wait_caught_up(f, f->guests, CALL_AGAIN_MS, &error);
    } while (err == SENNIT_ETIMEDOUT && sennit_loop_now(f->node.loop) < end);
    if (err)
        node_say(&f->node, "%" PRIu32 " guests did not say that they listen: %s",
                 f->guests, sennit_err_text(err));
    return err;
}

static bool
give(sennit_str from, sennit_str *to)
{
    *to = from;
    return from.size > 0;
}

static sennit_err
publish_line(feed *f, const logline *line, uint64_t number)
{
    pkglog_change change = PKGLOG_CHANGE_INIT;
    size_t nodes = 0;
    change.action = line->action;
    change.at = line->at_s * NS_PER_S;
    change.has_package = give(line->package, &change.package);
    change.has_architecture = give(line->architecture, &change.architecture);
    change.has_old_version = give(line->old_version, &change.old_version);
    change.has_new_version = give(line->new_version, &change.new_version);
    change.has_detail = give(line->detail, &change.detail);
    change.line = number;
    sennit_err err = pkglog_change_publish(f->node.bus, &change, NULL, &nodes);
    if (!err && nodes == 0)
        err = SENNIT_EHOSTUNREACH;
    if (err) {
        node_say(&f->node, "%s:%" PRIu64 ": cannot publish: %s", f->log, number,
                 sennit_err_text(err));
        return err;
    }
    f->published++;
    return f->published % WINDOW_EVENTS ? SENNIT_OK : need_caught_up(f, f->guests);
}

static sennit_err
publish_text(feed *f, sennit_str text, uint64_t number)
{
    logline line;
    const char *why = logline_parse(text, &line);
    if (!why)
        return publish_line(f, &line, number);
    node_say(&f->node, "%s:%" PRIu64 ": %s", f->log, number, why);
    f->unparsed++;
    return SENNIT_OK;
}

static sennit_err
publish_file(feed *f, FILE *file)
{
    sennit_err err = SENNIT_OK;
    char *text = NULL;
    size_t capacity = 0;
    ssize_t size;
    uint64_t number = 0;
    for (;;) {
        size = getline(&text, &capacity, file);
        if (size < 0)
            break;
        if (text[size - 1] == '\n')
            size--;
        err = publish_text(f, (sennit_str){ text, (size_t)size }, ++number);
        if (err)
            break;
    }
    if (!err && !feof(file)) {
        node_say(&f->node, "%s: cannot read on after line %" PRIu64, f->log, number);
        err = SENNIT_EIO;
    }
    free(text);
    return err;
}

/* First the service has to have everything, so that a guest who hears of the end may
 * ask it; then the guests have to have heard of the end. */
static sennit_err
tell_complete(feed *f)
{
    pkglog_feed_complete end = PKGLOG_FEED_COMPLETE_INIT;
    sennit_err err = need_caught_up(f, 0);
    if (err)
        return err;
    end.published = f->published;
    end.unparsed = f->unparsed;
    err = pkglog_feed_complete_publish(f->node.bus, &end, NULL, NULL);
    if (err) {
        node_say(&f->node, "cannot tell the end: %s", sennit_err_text(err));
        return err;
    }
    return need_caught_up(f, f->guests);
}

static sennit_err
connect_all(feed *f)
{
    sennit_err err = SENNIT_OK;
    if (f->events) {
        err = sennit_bus_listen_events(f->node.bus, f->events);
        if (err) {
            node_say(&f->node, "cannot publish at %s: %s", f->events,
                     sennit_err_text(err));
            return err;
        }
        printf("events %s\n", sennit_bus_events_endpoint(f->node.bus));
        fflush(stdout);
    }
    err = sennit_bus_link(f->node.bus, f->stats);
    if (!err)
        err = sennit_bus_wait_ready(f->node.bus, READY_TIMEOUT_MS);
    if (err)
        node_say(&f->node, "cannot reach the service at %s: %s", f->stats,
                 sennit_err_text(err));
    return err;
}

static sennit_err
run(feed *f, FILE *file)
{
    sennit_err err = connect_all(f);
    if (!err)
        err = wait_for_guests(f);
    if (!err)
        err = publish_file(f, file);
    if (!err)
        err = tell_complete(f);
    if (!err)
        printf("published %" PRIu64 " unparsed %" PRIu64 "\n", f->published, f->unparsed);
    return err;
}

/* Exit code, or -1 to go on. */
static int
parse_args(feed *f, int argc, char **argv)
{
    static const struct option options[] = {
        { "stats", required_argument, NULL, 's' },
        { "events", required_argument, NULL, 'e' },
        { "guests", required_argument, NULL, 'g' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    uint64_t guests = 0;
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
        switch (option) {
        case 's':
            f->stats = optarg;
            break;
        case 'e':
            f->events = optarg;
            break;
        case 'g':
            if (!node_parse_number(optarg, GUESTS_MAX, &guests)) {
                fprintf(stderr, "pkglog_feed: --guests %s: give a number from 0 to %u\n",
                        optarg, GUESTS_MAX);
                return 2;
            }
            break;
        case 'h':
            fputs(usage, stdout);
            return 0;
        default:
            fputs(usage, stderr);
            return 2;
        }
    f->guests = (uint32_t)guests;
    if (optind + 1 != argc || !f->stats || (f->guests && !f->events)) {
        fprintf(stderr,
                "pkglog_feed: one LOGFILE and --stats are needed, and --events with "
                "--guests\n%s",
                usage);
        return 2;
    }
    f->log = argv[optind];
    return -1;
}

int
main(int argc, char **argv)
{
    feed f = { .stats = NULL };
    int status = parse_args(&f, argc, argv);
    if (status >= 0)
        return status;
    FILE *file = fopen(f.log, "r");
    if (!file) {
        fprintf(stderr, "pkglog_feed: cannot read %s: %s\n", f.log, strerror(errno));
        return 1;
    }
    sennit_err err = node_open(&f.node, "pkglog_feed");
    if (!err) {
        pkglog_stats_client_init(&f.client, f.node.bus);
        err = run(&f, file);
    }
    node_close(&f.node);
    fclose(file);
    return err ? 1 : 0;
}
