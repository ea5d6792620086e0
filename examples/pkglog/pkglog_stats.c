/* SPDX-License-Identifier: MIT */
/* Hears the changes of a package log and answers questions about them. Runs until it
 * is asked to end by SIGTERM or SIGINT. */
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "node.h"
#include "pkglog.snt.h"
#include "tally.h"

#define GUESTS_MAX     16u   /* another guest is not counted, and that is said */
#define GUEST_NAME_MAX 63u   /* bytes; a longer name is cut */
#define WAITERS_MAX    64u   /* at the bound a caller is told OVERLOADED */
#define TOP_MAX        1000u /* a larger limit is cut to it */
#define TURN_MS        500   /* a signal that falls between two turns waits so long */

typedef struct guest {
    char name[GUEST_NAME_MAX + 1];
    uint64_t changes;
} guest;

/* A caller of caught_up() whose condition does not hold yet. */
typedef struct waiter {
    pkglog_stats_caught_up_reply reply;
    uint64_t published;
    uint32_t guests;
} waiter;

typedef struct stats {
    node node;
    sennit_consumer *changes; /* these three live as long as the bus */
    sennit_consumer *end;
    sennit_consumer *service;
    tally *actions;
    tally *packages;
    uint64_t events;
    bool ended; /* the feeder said how much there is: */
    uint64_t published;
    uint64_t unparsed;
    guest guests[GUESTS_MAX];
    size_t guests_count;
    waiter waiters[WAITERS_MAX];
    size_t waiters_count;
    sennit_err err; /* a change could not be counted: figures would be wrong */
} stats;

static volatile sig_atomic_t asked_to_end; /* a signal handler can reach nothing else */

static void
on_signal(int number)
{
    (void)number;
    asked_to_end = 1;
}

/* ---- Who has heard what ----------------------------------------------- */

static uint32_t
guests_at(const stats *s, uint64_t published)
{
    uint32_t count = 0;
    for (size_t i = 0; i < s->guests_count; i++)
        count += s->guests[i].changes >= published;
    return count;
}

/* Whether this waiter is done with: answered, or no longer waiting. */
static bool
settle(stats *s, const waiter *w)
{
    pkglog_stats_caught_up_result out = PKGLOG_STATS_CAUGHT_UP_RESULT_INIT;
    if (sennit_reply_cancelled(w->reply.reply))
        return true;
    out.guests = guests_at(s, w->published);
    if (s->events < w->published || out.guests < w->guests)
        return false;
    sennit_err err = pkglog_stats_caught_up_ok(w->reply, &out);
    if (err)
        node_say(&s->node, "caught_up: cannot answer: %s", sennit_err_text(err));
    return true;
}

static void
settle_waiters(stats *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->waiters_count; i++)
        if (!settle(s, &s->waiters[i]))
            s->waiters[kept++] = s->waiters[i];
    s->waiters_count = kept;
}

static guest *
guest_of(stats *s, sennit_str name)
{
    size_t size = name.size < GUEST_NAME_MAX ? name.size : GUEST_NAME_MAX;
    sennit_str cut = { name.data, size };
    for (size_t i = 0; i < s->guests_count; i++)
        if (sennit_str_equal(sennit_str_of(s->guests[i].name), cut))
            return &s->guests[i];
    if (s->guests_count == GUESTS_MAX)
        return NULL;
    guest *made = &s->guests[s->guests_count++];
    if (size)
        memcpy(made->name, name.data, size);
    made->name[size] = '\0';
    return made;
}

/* ---- Events ----------------------------------------------------------- */

static sennit_str
text_or_empty(bool has, sennit_str text)
{
    return has ? text : (sennit_str){ NULL, 0 };
}

static sennit_err
count_change(stats *s, const pkglog_change *change)
{
    tally_step step = {
        .at_ns = change->at,
        .action = change->action,
        .old_version = text_or_empty(change->has_old_version, change->old_version),
        .new_version = text_or_empty(change->has_new_version, change->new_version),
    };
    bool is_status = sennit_str_equal(change->action, sennit_str_of("status"));
    sennit_err err = tally_add(s->actions, change->action, NULL);
    if (!err && change->has_package)
        err = tally_add(s->packages, change->package, is_status ? NULL : &step);
    return err;
}

static void
on_change(sennit_ctx *ctx, const pkglog_change *change, void *arg)
{
    stats *s = arg;
    s->err = s->err ? s->err : count_change(s, change);
    s->events++;
    settle_waiters(s);
    (void)ctx;
}

static void
on_complete(sennit_ctx *ctx, const pkglog_feed_complete *end, void *arg)
{
    stats *s = arg;
    s->ended = true;
    s->published = end->published;
    s->unparsed = end->unparsed;
    (void)ctx;
}

/* ---- Service ---------------------------------------------------------- */

/* The first `count` entries as the schema has them, in the handler's memory. */
static sennit_err
counts_of(sennit_ctx *ctx, const tally *from, tally_order order, size_t count,
          const pkglog_count **out)
{
    const tally_entry **list;
    sennit_arena *arena = sennit_ctx_arena(ctx);
    sennit_err err = tally_list(from, order, arena, &list);
    pkglog_count *counts = sennit_arena_array(arena, count, sizeof *counts);
    if (err || !counts)
        return SENNIT_ENOMEM;
    for (size_t i = 0; i < count; i++) {
        counts[i].name = list[i]->name;
        counts[i].count = list[i]->count;
    }
    *out = counts;
    return SENNIT_OK;
}

static void
answered(const stats *s, const char *method, sennit_err err)
{
    if (err)
        node_say(&s->node, "%s: cannot answer: %s", method, sennit_err_text(err));
}

static void
totals(sennit_ctx *ctx, pkglog_stats_totals_reply reply, void *self)
{
    stats *s = self;
    pkglog_totals out = PKGLOG_TOTALS_INIT;
    out.events = s->events;
    out.n_actions = tally_size(s->actions);
    out.packages = tally_size(s->packages);
    out.unparsed = s->unparsed;
    out.complete = s->ended && s->events == s->published;
    sennit_err err =
        counts_of(ctx, s->actions, TALLY_BY_NAME, out.n_actions, &out.actions);
    if (err)
        answered(s, "totals",
                 pkglog_stats_totals_fail(reply, SENNIT_KIND_NO_MEMORY, "no memory"));
    else
        answered(s, "totals", pkglog_stats_totals_ok(reply, &out));
}

static void
top(sennit_ctx *ctx, const pkglog_stats_top_args *in, pkglog_stats_top_reply reply,
    void *self)
{
    stats *s = self;
    pkglog_stats_top_result out = PKGLOG_STATS_TOP_RESULT_INIT;
    size_t limit = in->limit < TOP_MAX ? in->limit : TOP_MAX;
    size_t known = tally_size(s->packages);
    out.n_packages = limit < known ? limit : known;
    sennit_err err =
        counts_of(ctx, s->packages, TALLY_BY_COUNT, out.n_packages, &out.packages);
    if (err)
        answered(s, "top",
                 pkglog_stats_top_fail(reply, SENNIT_KIND_NO_MEMORY, "no memory"));
    else
        answered(s, "top", pkglog_stats_top_ok(reply, &out));
}

static pkglog_step
step_of(const tally_step *from)
{
    pkglog_step step = PKGLOG_STEP_INIT;
    step.at = from->at_ns;
    step.action = from->action;
    step.old_version = from->old_version;
    step.has_old_version = from->old_version.size > 0;
    step.new_version = from->new_version;
    step.has_new_version = from->new_version.size > 0;
    return step;
}

static void
history(sennit_ctx *ctx, const pkglog_stats_history_args *in,
        pkglog_stats_history_reply reply, void *self)
{
    stats *s = self;
    const tally_entry *entry = tally_find(s->packages, in->package);
    if (!entry) {
        pkglog_no_such_package detail = PKGLOG_NO_SUCH_PACKAGE_INIT;
        detail.package = in->package;
        answered(s, "history", pkglog_stats_history_err_no_such_package(reply, &detail));
        return;
    }
    pkglog_history out = PKGLOG_HISTORY_INIT;
    pkglog_step *steps =
        sennit_arena_array(sennit_ctx_arena(ctx), entry->steps_count, sizeof *steps);
    if (!steps) {
        answered(s, "history",
                 pkglog_stats_history_fail(reply, SENNIT_KIND_NO_MEMORY, "no memory"));
        return;
    }
    for (size_t i = 0; i < entry->steps_count; i++)
        steps[i] = step_of(&entry->steps[i]);
    out.package = entry->name;
    out.events = entry->count;
    out.steps = steps;
    out.n_steps = entry->steps_count;
    answered(s, "history", pkglog_stats_history_ok(reply, &out));
}

static void
heard(sennit_ctx *ctx, const pkglog_stats_heard_args *in, void *self)
{
    stats *s = self;
    guest *who = guest_of(s, in->guest);
    if (!who) {
        node_say(&s->node, "heard: %u guests are here, one more is not counted",
                 GUESTS_MAX);
        return;
    }
    who->changes = in->changes;
    settle_waiters(s);
    (void)ctx;
}

static void
caught_up(sennit_ctx *ctx, const pkglog_stats_caught_up_args *in,
          pkglog_stats_caught_up_reply reply, void *self)
{
    stats *s = self;
    settle_waiters(s); /* makes room: some may have given up */
    if (s->waiters_count == WAITERS_MAX) {
        answered(s, "caught_up",
                 pkglog_stats_caught_up_fail(reply, SENNIT_KIND_OVERLOADED,
                                             "%u callers wait already", WAITERS_MAX));
        return;
    }
    sennit_err err = sennit_reply_keep(reply.reply);
    if (err)
        return; /* a send: nobody waits */
    s->waiters[s->waiters_count++] = (waiter){ reply, in->published, in->guests };
    settle_waiters(s);
    (void)ctx;
}

static const pkglog_stats_vtable methods =
    PKGLOG_STATS_VTABLE_INIT(.totals = totals, .top = top, .history = history,
                             .heard = heard, .caught_up = caught_up);

/* ---- Program ---------------------------------------------------------- */

static sennit_err
make_tallies(stats *s)
{
    sennit_err err = tally_new(&s->actions);
    if (!err)
        err = tally_new(&s->packages);
    if (err)
        node_say(&s->node, "cannot start: %s", sennit_err_text(err));
    return err;
}

static sennit_err
listen_at(stats *s, const char *endpoint)
{
    sennit_bus *bus = s->node.bus;
    sennit_err err = pkglog_change_subscribe(bus, NULL, NULL, &s->changes, on_change, s);
    if (!err)
        err = pkglog_feed_complete_subscribe(bus, NULL, &s->end, on_complete, s);
    if (!err)
        err = pkglog_stats_serve(bus, &methods, s, NULL, &s->service);
    if (!err)
        err = sennit_bus_listen(bus, endpoint);
    if (err) {
        node_say(&s->node, "cannot listen at %s: %s", endpoint, sennit_err_text(err));
        return err;
    }
    printf("service %s\n", sennit_bus_endpoint(bus));
    fflush(stdout);
    return SENNIT_OK;
}

static sennit_err
run(stats *s)
{
    sennit_err err = SENNIT_OK;
    while (!asked_to_end && !s->err && (!err || err == SENNIT_EINTR))
        err = sennit_loop_turn(s->node.loop, TURN_MS);
    if (s->err)
        err = s->err;
    if (err && err != SENNIT_EINTR)
        node_say(&s->node, "stopped: %s", sennit_err_text(err));
    return err == SENNIT_EINTR ? SENNIT_OK : err;
}

static const char *
parse_args(int argc, char **argv)
{
    static const struct option options[] = {
        { "listen", required_argument, NULL, 'l' },
        { NULL, 0, NULL, 0 },
    };
    const char *endpoint = NULL;
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
        if (option == 'l')
            endpoint = optarg;
        else
            return NULL;
    return optind == argc ? endpoint : NULL;
}

int
main(int argc, char **argv)
{
    stats s = { .events = 0 };
    const char *endpoint = parse_args(argc, argv);
    if (!endpoint) {
        fputs("usage: pkglog_stats --listen ENDPOINT\n"
              "\n"
              "Hears the changes, serves pkglog.Stats at ENDPOINT, and prints\n"
              "'service ENDPOINT' when it can be called. SIGTERM ends it.\n",
              stderr);
        return 2;
    }
    struct sigaction action = { .sa_handler = on_signal };
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);

    sennit_err err = node_open(&s.node, "pkglog_stats");
    if (!err)
        err = make_tallies(&s);
    if (!err)
        err = listen_at(&s, endpoint);
    if (!err)
        err = run(&s);
    node_close(&s.node);
    tally_free(s.actions);
    tally_free(s.packages);
    return err ? 1 : 0;
}
