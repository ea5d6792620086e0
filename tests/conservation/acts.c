/* SPDX-License-Identifier: MIT */
#include "acts.h"

#include <stdio.h>
#include <string.h>

#include "talk.h"
#include "wrong.h"

/* How often, while the scene is set and afterwards. */
static const struct {
    unsigned first;
    unsigned then;
} weights[ACTS] = {
    [OPEN] = { 40, 6 },      [BIND] = { 40, 12 },  [CONNECT] = { 60, 16 },
    [SUBSCRIBE] = { 30, 8 }, [SEND] = { 10, 100 }, [RECEIVE] = { 0, 40 },
    [DRAIN] = { 0, 20 },     [RUN] = { 20, 90 },   [SEND_SLOWLY] = { 0, 8 },
    [AWAIT] = { 0, 8 },      [FLUSH] = { 0, 5 },   [UNSUBSCRIBE] = { 0, 4 },
    [DISCONNECT] = { 0, 3 }, [UNBIND] = { 0, 2 },  [CLOSE] = { 0, 2 },
    [CUT] = { 0, 5 },        [CUT_ALL] = { 0, 1 }, [HOLD] = { 0, 2 },
    [PAUSE] = { 0, 3 },      [RESUME] = { 0, 12 }, [KILL] = { 0, 1 },
    [TROUBLE] = { 0, 4 },
};

act
acts_invent(test_rng *rng, bool setting)
{
    unsigned total = 0;
    unsigned dice;

    for (unsigned i = 0; i < ACTS; i++)
        total += setting ? weights[i].first : weights[i].then;
    dice = (unsigned)test_rng_below(rng, total);
    for (unsigned i = 0; i < ACTS; i++) {
        unsigned weight = setting ? weights[i].first : weights[i].then;

        if (dice < weight)
            return (act)i;
        dice -= weight;
    }
    return RUN;
}

/* One that may be used now, the `which`th from somewhere. */
static actor *
pick(story *s, uint32_t which, bool (*fits)(const actor *a))
{
    for (unsigned i = 0; i < ACTORS; i++) {
        actor *a = &s->actors[(which + i) % ACTORS];

        if (a->kind != NULL && !stage_paused(s->stage, a->node) &&
            (fits == NULL || fits(a)))
            return a;
    }
    return NULL;
}

static bool
subscribes(const actor *a)
{
    return a->kind->subscribes;
}

/* Whatever else may change what happens to a message. */
static void
choose_options(sennit_sock_opts *opts, const kind *k, test_rng *rng)
{
    opts->router_mandatory = k->addresses && test_rng_chance(rng, 40);
    if (test_rng_chance(rng, 20)) {
        opts->heartbeat_interval_ms = 50;
        opts->heartbeat_timeout_ms = test_rng_chance(rng, 50) ? 100 : -1;
        opts->heartbeat_ttl_ms = test_rng_chance(rng, 50) ? 200 : 0;
    }
    if (k->fans)
        opts->slow_subscriber =
            (sennit_slow_policy)test_rng_below(rng, SENNIT_SLOW_BLOCK + 1);
    if (k->sends && test_rng_chance(rng, 10))
        opts->send_age_max_ms = 1 + (int)test_rng_below(rng, 200);
    if (test_rng_chance(rng, 20))
        opts->send_hwm_bytes = 1 + test_rng_below(rng, 20000);
    if (test_rng_chance(rng, 20))
        opts->recv_hwm_bytes = 1 + test_rng_below(rng, 20000);
    opts->immediate = test_rng_chance(rng, 20);
}

static void
play_open(story *s, const step *st)
{
    static const int marks[] = { 1, 2, 5, 30, 1000, 0 };
    static const int lingers[] = { 0, 0, 50, 1000 };
    const kind_pair *pair = s->pairs[st->a % PAIRS];
    sennit_sock_opts opts = SENNIT_SOCK_OPTS_DEFAULT;
    actor *a = s->actors;
    test_rng rng = { st->c };
    size_t node = st->b % s->nodes;
    sennit_err err;

    while (a < s->actors + ACTORS && a->kind != NULL)
        a++;
    if (a == s->actors + ACTORS || stage_paused(s->stage, node))
        return;
    memset(a, 0, sizeof *a);
    a->kind = kind_of(test_rng_chance(&rng, 50) ? pair->binder : pair->connecter);
    a->node = node;
    opts.send_hwm_msgs = marks[test_rng_below(&rng, 6)];
    opts.recv_hwm_msgs = marks[test_rng_below(&rng, 6)];
    opts.linger_ms = lingers[test_rng_below(&rng, stage_exact ? 4 : 3)];
    opts.send_timeout_ms = (int)test_rng_below(&rng, 10);
    opts.recv_timeout_ms = (int)test_rng_below(&rng, 10);
    opts.reconnect_min_ms = 5;
    opts.reconnect_max_ms = 50;
    opts.handshake_timeout_ms = 500;
    opts.connect_timeout_ms = test_rng_chance(&rng, 50) ? 300 : 0;
    choose_options(&opts, a->kind, &rng);
    a->account = ledger_open(s->books, a->kind);
    if ((a->kind->type == SENNIT_REQ || a->kind->delimits) && test_rng_chance(&rng, 80)) {
        snprintf(a->identity, sizeof a->identity, "s%u", a->account);
        opts.identity_size = (uint8_t)strlen(a->identity);
        memcpy(opts.identity, a->identity, opts.identity_size);
        memcpy(s->names[a->account], a->identity, sizeof a->identity);
    }
    err = sennit_sock_open(&a->sock, stage_loop(s->stage, node), a->kind->type, &opts);
    if (err)
        wrong("step %u: a %s could not be opened: %s", s->step, cast_type(a),
              sennit_err_name(err));
    ledger_name(s->books, a->account, a->sock);
    /* Sending tries again after a look round, and who subscribes may be others then. */
    a->ages = opts.send_age_max_ms > 0;
    a->ends_slow = opts.slow_subscriber == SENNIT_SLOW_DISCONNECT;
    if (opts.slow_subscriber == SENNIT_SLOW_BLOCK)
        ledger_blind(s->books, a->account);
    cast_tell(
        s,
        "socket %u: %s %s on node %zu, marks %d and %d, linger %d, slow %d, age %d, "
        "heartbeat %d, immediate %d",
        a->account, cast_type(a), a->identity, node, opts.send_hwm_msgs,
        opts.recv_hwm_msgs, opts.linger_ms, opts.slow_subscriber, opts.send_age_max_ms,
        opts.heartbeat_interval_ms, opts.immediate);
}

static void
tell_subscriptions(story *s, actor *a)
{
    unsigned bits = 0;

    for (unsigned i = 0; i < PREFIXES; i++)
        if (a->subscribed[i] > 0)
            bits |= 1u << i;
    ledger_subscribes(s->books, a->account, bits);
}

static void
play_subscribe(story *s, const step *st, bool on)
{
    actor *a = pick(s, st->a, subscribes);
    unsigned which = st->b % PREFIXES;
    sennit_bytes prefix;
    sennit_err err;

    if (a == NULL || (!on && a->subscribed[which] == 0))
        return;
    prefix.data = (const uint8_t *)prefixes[which];
    prefix.size = strlen(prefixes[which]);
    err = on ? sennit_sock_subscribe(a->sock, prefix)
             : sennit_sock_unsubscribe(a->sock, prefix);
    if (err)
        wrong("step %u: subscribing: %s", s->step, sennit_err_name(err));
    a->subscribed[which] += on ? 1u : -1u;
    tell_subscriptions(s, a);
    cast_tell(s, "%u %s '%s'", a->account, on ? "subscribes to" : "unsubscribes from",
              prefixes[which]);
}

static void
goes_inproc(story *s, actor *a)
{
    a->inproc = true;
    ledger_went_inproc(s->books, a->account);
}

/* What a slot is about to have in common with a socket. */
static slot *
pick_slot(story *s, const actor *a, uint32_t which, bool to_bind)
{
    for (size_t i = 0; i < s->slots_count; i++) {
        size_t at = (which + i) % s->slots_count;
        slot *sl = &s->slots[at];
        sennit_sock_type type = to_bind ? sl->pair->binder : sl->pair->connecter;

        if (type != a->kind->type || a->dials[at] || a->binds[at] ||
            (sl->transport == STAGE_INPROC && (sl->node != a->node || a->ages)))
            continue;
        if (!to_bind || sl->binder == NULL)
            return sl;
    }
    return NULL;
}

static void
play_bind(story *s, const step *st)
{
    actor *a = pick(s, st->a, NULL);
    slot *sl = a == NULL ? NULL : pick_slot(s, a, st->b, true);
    size_t at = (size_t)(sl - s->slots);
    const char *endpoint;
    sennit_err err;

    if (sl == NULL)
        return;
    endpoint = stage_bind_endpoint(s->stage, at, sl->transport);
    err = sennit_sock_bind(a->sock, endpoint);
    cast_tell(s, "%u (%s) binds slot %zu, %s: %s", a->account, cast_type(a), at, endpoint,
              sennit_err_name(err));
    if (err == SENNIT_EADDRINUSE)
        return; /* a listener that was closed just now is still going */
    if (err)
        wrong("step %u: bind to %s: %s", s->step, endpoint, sennit_err_name(err));
    sl->binder = a;
    snprintf(sl->endpoint, sizeof sl->endpoint, "%s", sennit_sock_last_endpoint(a->sock));
    a->binds[at] = true;
    memcpy(a->via[at], sl->endpoint, sizeof a->via[at]);
    stage_bound(s->stage, at, a->sock);
    if (sl->transport != STAGE_INPROC)
        return;
    for (actor *other = s->actors; other < s->actors + ACTORS; other++)
        if (other->kind != NULL && other->dials[at])
            goes_inproc(s, a);
}

static void
play_connect(story *s, const step *st)
{
    actor *a = pick(s, st->a, NULL);
    slot *sl = a == NULL ? NULL : pick_slot(s, a, st->b, false);
    size_t at = (size_t)(sl - s->slots);
    const char *endpoint;
    sennit_err err;

    if (sl == NULL)
        return;
    if (sl->transport == STAGE_INPROC) {
        goes_inproc(s, a);
        if (sl->binder != NULL)
            goes_inproc(s, sl->binder);
    }
    endpoint = stage_connect_endpoint(s->stage, at, sl->transport, a->sock);
    err = sennit_sock_connect(a->sock, endpoint);
    cast_tell(s, "%u (%s) connects to slot %zu, %s: %s", a->account, cast_type(a), at,
              endpoint, sennit_err_name(err));
    if (err == SENNIT_EEXIST)
        return; /* a PAIR that has a peer, a name that is taken */
    if (err)
        wrong("step %u: connect to %s: %s", s->step, endpoint, sennit_err_name(err));
    a->dials[at] = true;
    snprintf(a->via[at], sizeof a->via[at], "%s", endpoint);
}

/* Inproc connections end with the bind; others come back with the next one. */
static void
slot_left(story *s, size_t at)
{
    s->slots[at].binder = NULL;
    stage_unbound(s->stage, at);
    for (actor *a = s->actors; a < s->actors + ACTORS; a++)
        if (s->slots[at].transport == STAGE_INPROC)
            a->dials[at] = false;
}

static void
play_unbind(story *s, const step *st)
{
    actor *a = pick(s, st->a, NULL);

    for (size_t i = 0; a != NULL && i < s->slots_count; i++) {
        size_t at = (st->b + i) % s->slots_count;
        const char *endpoint;
        sennit_err err;

        if (!a->binds[at])
            continue;
        endpoint = s->slots[at].endpoint;
        cast_tell(s, "%u (%s) unbinds slot %zu", a->account, cast_type(a), at);
        err = sennit_sock_unbind(a->sock, endpoint);
        if (err)
            wrong("step %u: unbind %s: %s", s->step, endpoint, sennit_err_name(err));
        a->binds[at] = false;
        cast_peers_leave(s, a, at);
        slot_left(s, at);
        return;
    }
}

static void
play_disconnect(story *s, const step *st)
{
    actor *a = pick(s, st->a, NULL);

    for (size_t i = 0; a != NULL && i < s->slots_count; i++) {
        size_t at = (st->b + i) % s->slots_count;
        const char *endpoint;
        sennit_err err;

        if (!a->dials[at])
            continue;
        endpoint = stage_connect_endpoint(s->stage, at, s->slots[at].transport, a->sock);
        cast_tell(s, "%u (%s) disconnects from slot %zu", a->account, cast_type(a), at);
        err = sennit_sock_disconnect(a->sock, endpoint);
        if (err && s->slots[at].transport != STAGE_INPROC)
            wrong("step %u: disconnect %s: %s", s->step, endpoint, sennit_err_name(err));
        a->dials[at] = false;
        cast_peers_leave(s, a, at);
        /* One that lingers may become READY yet, and looks like the next. */
        if (cast_stats(a).queued_msgs > 0)
            ledger_blind(s->books, a->account);
        return;
    }
}

/* It is no more; `left`: what it may still write. */
static void
actor_gone(story *s, actor *a, uint64_t left, bool drained)
{
    ledger_close(s->books, a->account, left, drained);
    for (size_t at = 0; at < s->slots_count; at++)
        if (a->binds[at])
            slot_left(s, at);
    a->kind = NULL;
}

void
acts_close(story *s, actor *a, bool drained)
{
    cast_check_law(s, a);
    cast_tell(s, "%u (%s) is closed%s", a->account, cast_type(a),
              drained ? ", drained" : "");
    actor_gone(s, a, cast_stats(a).queued_msgs, drained);
    sennit_sock_close(a->sock);
}

static void
play_close(story *s, const step *st)
{
    actor *a = pick(s, st->a, NULL);
    test_rng rng = { st->c };

    if (a == NULL)
        return;
    acts_close(s, a, st->b % 2 == 0 && a->kind->receives && talk_drain(s, a, &rng));
}

/* A process that dies waits for nobody. */
static void
forget_linger(story *s, actor *a)
{
    sennit_sock_opts opts;
    sennit_err err;

    sennit_sock_get_opts(a->sock, &opts);
    opts.linger_ms = 0;
    err = sennit_sock_set_opts(a->sock, &opts);
    if (err)
        wrong("step %u: linger_ms could not be set: %s", s->step, sennit_err_name(err));
}

static void
play_kill(story *s, const step *st)
{
    size_t node = st->a % s->nodes;

    cast_tell(s, "node %zu is killed", node);
    for (actor *a = s->actors; a < s->actors + ACTORS; a++) {
        if (a->kind == NULL || a->node != node)
            continue;
        cast_check_law(s, a);
        forget_linger(s, a);
        actor_gone(s, a, 0, false);
    }
    stage_kill(s->stage, node);
}

static void
play_send(story *s, const step *st, bool slowly)
{
    actor *a = pick(s, st->a, talk_may_send);
    unsigned flags = st->b % 16 == 0 ? 0 : SENNIT_DONTWAIT;
    unsigned count = slowly ? 1 : 1 + (st->b >> 4) % 8;
    test_rng rng = { st->c };

    if (a == NULL)
        return;
    cast_tell(s, "%u (%s) sends", a->account, cast_type(a));
    while (count-- > 0 && talk_may_send(a) && talk_send(s, a, &rng, flags, slowly))
        continue;
    cast_read_events(s);
    cast_check_law(s, a);
}

static void
play_receive(story *s, const step *st, unsigned flags, unsigned count)
{
    actor *a = pick(s, st->a, talk_may_receive);

    if (a == NULL)
        return;
    cast_tell(s, "%u (%s) receives", a->account, cast_type(a));
    while (count-- > 0 && talk_may_receive(a) && talk_receive(s, a, flags))
        continue;
    cast_read_events(s);
    cast_check_law(s, a);
}

void
acts_play(story *s, const step *st)
{
    test_rng rng = { st->c };
    actor *a;

    switch (st->what) {
    case OPEN:
        play_open(s, st);
        break;
    case BIND:
        play_bind(s, st);
        break;
    case CONNECT:
        play_connect(s, st);
        break;
    case SUBSCRIBE:
    case UNSUBSCRIBE:
        play_subscribe(s, st, st->what == SUBSCRIBE);
        break;
    case SEND:
    case SEND_SLOWLY:
        play_send(s, st, st->what == SEND_SLOWLY);
        break;
    case RECEIVE:
        play_receive(s, st, SENNIT_DONTWAIT, 1 + st->b % 8);
        break;
    case AWAIT:
        play_receive(s, st, 0, 1);
        break;
    case DRAIN:
        a = pick(s, st->a, talk_may_receive);
        if (a != NULL)
            (void)talk_drain(s, a, &rng);
        break;
    case RUN:
        cast_pass_time(s, st->b % 4 == 0 ? st->c % (100 * MS) : st->c % (3 * MS));
        break;
    case FLUSH:
        a = pick(s, st->a, NULL);
        if (a != NULL)
            sennit_sock_flush(a->sock);
        break;
    case DISCONNECT:
        play_disconnect(s, st);
        break;
    case UNBIND:
        play_unbind(s, st);
        break;
    case CLOSE:
        play_close(s, st);
        break;
    case CUT:
        cast_tell(s, "a connection is cut");
        stage_cut(s->stage, st->a);
        break;
    case CUT_ALL:
        cast_tell(s, "all connections are cut");
        stage_cut_all(s->stage);
        break;
    case HOLD:
        cast_tell(s, "the network holds");
        stage_hold(s->stage, st->a % HOLD_MAX);
        break;
    case PAUSE:
    case RESUME:
        cast_tell(s, "node %zu %s", st->a % s->nodes,
                  st->what == PAUSE ? "stops" : "goes on");
        stage_pause(s->stage, st->a % s->nodes, st->what == PAUSE);
        break;
    case KILL:
        play_kill(s, st);
        break;
    case TROUBLE:
        cast_tell(s, "trouble, level %u", st->a % 4);
        stage_trouble(s->stage, st->a % 4);
        break;
    case ACTS:
        break;
    }
    cast_read_events(s);
}
