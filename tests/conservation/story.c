/* SPDX-License-Identifier: MIT */
#include "story.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "rng.h"
#include "stage.h"
#include "wrong.h"

#define MS       UINT64_C(1000000)
#define HOLD_MAX (400 * MS)
#define ACTORS   10u
#define PAIRS    3u

/* Connections of one socket whose ways are remembered. */
#define PEERS_NOTED 64u

/* At most one is opened in a step. */
#define ACCOUNTS_MAX (STORY_STEPS_MAX + 1)

/* ---- who plays --------------------------------------------------------- */

typedef struct actor {
    const kind *kind; /* NULL: nobody */
    sennit_sock *sock;
    uint32_t account;
    size_t node;
    char identity[16]; /* "": none of its own */
    bool binds[STAGE_SLOTS_MAX];
    bool dials[STAGE_SLOTS_MAX];
    unsigned subscribed[PREFIXES]; /* how often */
    bool awaits;                   /* REQ: a reply; REP: nothing */
    bool owes;                     /* REP: a reply, to ... */
    uint32_t to_sender;
    uint32_t to_number;
    uint32_t asked;    /* REQ: number of the request */
    uint8_t from[255]; /* ROUTER: who sent last */
    size_t from_size;
    uint32_t from_account; /* 0: nobody in particular */
    bool inproc;
    bool dialled;                /* ever */
    bool ends_slow;              /* SENNIT_SLOW_DISCONNECT */
    bool ages;                   /* send_age_max_ms, which inproc does not have */
    uint32_t peers[PEERS_NOTED]; /* newest connections, and how they came: slot + 1 */
    size_t peers_via[PEERS_NOTED];
    size_t peers_count;
    char via[STAGE_SLOTS_MAX][128]; /* endpoints it is bound or connected to */
} actor;

typedef struct slot {
    const kind_pair *pair;
    stage_transport transport;
    size_t node; /* inproc */
    actor *binder;
    char endpoint[128]; /* where it is bound */
} slot;

typedef struct story {
    const story_opts *opts;
    ledger *books;
    stage *stage;
    size_t nodes;
    size_t slots_count;
    const kind_pair *pairs[PAIRS];
    slot slots[STAGE_SLOTS_MAX];
    actor actors[ACTORS];
    char names[ACCOUNTS_MAX][16]; /* identities, by account */
    uint64_t received;            /* by anybody */
    unsigned step;
} story;

static void tell(const story *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void
tell(const story *s, const char *format, ...)
{
    va_list args;

    if (!s->opts->trace)
        return;
    fprintf(stderr, "%4u  ", s->step);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

static const char *
type_name(const actor *a)
{
    return sennit_sock_type_name(a->kind->type);
}

static sennit_sock_stats
stats_of(const actor *a)
{
    sennit_sock_stats stats;

    sennit_sock_get_stats(a->sock, &stats);
    return stats;
}

static void
check_law(const story *s, const actor *a)
{
    sennit_sock_stats stats = stats_of(a);

    ledger_check_law(s->books, a->account, &stats);
}

/* A connection came through one of the slots. */
static void
note_peer(story *s, actor *a, const sennit_event *event)
{
    size_t at = 0;

    while (at < s->slots_count && strcmp(a->via[at], event->endpoint) != 0)
        at++;
    if (at == s->slots_count) {
        /* What it came through is gone already. */
        ledger_peer_leaves(s->books, a->account, event->peer);
        return;
    }
    a->peers[a->peers_count % PEERS_NOTED] = event->peer;
    a->peers_via[a->peers_count % PEERS_NOTED] = at + 1;
    a->peers_count++;
}

/* Those that came through a slot take no more. */
static void
peers_leave(story *s, actor *a, size_t at)
{
    a->via[at][0] = '\0';
    for (size_t i = 0; i < PEERS_NOTED; i++)
        if (a->peers_via[i] == at + 1)
            ledger_peer_leaves(s->books, a->account, a->peers[i]);
}

/* The monitor of each socket, as the model needs it. */
static void
read_events(story *s)
{
    for (actor *a = s->actors; a < s->actors + ACTORS; a++) {
        sennit_event event;

        while (a->kind != NULL && sennit_sock_next_event(a->sock, &event) == SENNIT_OK) {
            if (event.lost > 0)
                ledger_blind(s->books, a->account);
            if (event.kind == SENNIT_EVENT_READY)
                note_peer(s, a, &event);
            if (event.kind == SENNIT_EVENT_DISCONNECTED ||
                event.kind == SENNIT_EVENT_HANDSHAKE_FAILED)
                ledger_peer_gone(s->books, a->account, event.peer,
                                 event.kind == SENNIT_EVENT_HANDSHAKE_FAILED);
        }
    }
}

static void
pass_time(story *s, uint64_t ns)
{
    while (ns > 0) {
        uint64_t part = ns < 10 * MS ? ns : 10 * MS;

        stage_run(s->stage, part);
        read_events(s);
        ns -= part;
    }
}

/* ---- messages ---------------------------------------------------------- */

/* A frame leaves; false when the first one is refused. */
static bool
send_frame(story *s, actor *a, const void *data, size_t size, unsigned flags, bool first)
{
    sennit_err err = sennit_sock_send_bytes(a->sock, data, size, flags);

    if (err == SENNIT_OK)
        return true;
    if (first && (err == SENNIT_EAGAIN || err == SENNIT_EHOSTUNREACH ||
                  (err == SENNIT_EINTR && !(flags & SENNIT_DONTWAIT))))
        return false;
    wrong("step %u: socket %u (%s) could not send%s: %s", s->step, a->account,
          type_name(a), first ? "" : " the rest of a message", sennit_err_name(err));
}

/* Whom a ROUTER writes to: who wrote last, any other by name, or nobody. */
static size_t
choose_peer(story *s, actor *a, test_rng *rng, uint8_t *name, uint32_t *addressee)
{
    actor *other = &s->actors[test_rng_below(rng, ACTORS)];

    *addressee = 0;
    if (a->from_size > 0 && test_rng_chance(rng, 40)) {
        memcpy(name, a->from, a->from_size);
        *addressee = a->from_account;
        return a->from_size;
    }
    for (unsigned i = 0; i < ACTORS; i++, other++) {
        if (other == s->actors + ACTORS)
            other = s->actors;
        if (other->kind != NULL && other != a && other->identity[0] != '\0') {
            *addressee = other->account;
            memcpy(name, other->identity, strlen(other->identity));
            return strlen(other->identity);
        }
    }
    memcpy(name, "nobody", 6);
    return 6;
}

static uint32_t
choose_size(test_rng *rng)
{
    unsigned dice = (unsigned)test_rng_below(rng, 100);
    uint32_t most = dice < 60 ? 64 : dice < 90 ? 400 : dice < 98 ? 5000 : BODY_MAX;

    return (uint32_t)sizeof(body_head) +
           (uint32_t)test_rng_below(rng, most - sizeof(body_head));
}

static bool
may_send(const actor *a)
{
    if (!a->kind->sends)
        return false;
    if (a->kind->type == SENNIT_REP)
        return a->owes;
    return !a->kind->turns || !a->awaits;
}

static bool
send_one(story *s, actor *a, test_rng *rng, unsigned flags, bool slowly)
{
    static uint8_t body[BODY_MAX];
    body_head head = { .magic = BODY_MAGIC, .sender = a->account };
    uint32_t addressee = 0;
    uint8_t name[256];
    size_t name_size = 0;
    bool first = true;
    bool refused = false;

    head.parts = test_rng_chance(rng, 70) ? 1 : (uint16_t)(1 + test_rng_below(rng, 4));
    head.last_is_empty = head.parts > 1 && test_rng_chance(rng, 20);
    memcpy(head.topic, "ab--", 4);
    head.topic[0] = (char)('a' + test_rng_below(rng, 2));
    head.topic[1] = (char)('a' + test_rng_below(rng, 2));
    head.to_sender = a->owes ? a->to_sender : 0;
    head.to_number = a->owes ? a->to_number : 0;
    if (a->kind->addresses)
        name_size = choose_peer(s, a, rng, name, &addressee);
    read_events(s); /* sending may have let the loop see who is gone */
    head.number = ledger_compose(s->books, a->account, addressee, head.topic);
    if (a->kind->addresses) {
        refused = !send_frame(s, a, name, name_size, flags | SENNIT_MORE, true);
        first = false;
    }
    if (!refused && a->kind->delimits && test_rng_chance(rng, 85)) {
        refused = !send_frame(s, a, "", 0, flags | SENNIT_MORE, first);
        first = false;
    }
    for (uint16_t part = 0; part < head.parts && !refused; part++) {
        bool last = part + 1 == head.parts;

        head.part = part;
        head.size = choose_size(rng);
        body_fill(body, &head);
        refused = !send_frame(s, a, body, last && head.last_is_empty ? 0 : head.size,
                              flags | (last ? 0u : SENNIT_MORE), first);
        first = false;
        if (!refused && !last && slowly)
            pass_time(s, test_rng_below(rng, 20 * MS));
    }
    tell(s, "  %u (%s) %s message %u, %u parts, topic %.2s%s", a->account, type_name(a),
         refused ? "could not send" : "sent", head.number, head.parts, head.topic,
         addressee != 0 ? ", addressed" : "");
    ledger_accepted(s->books, a->account, !refused);
    if (refused)
        return false;
    a->awaits = a->kind->type == SENNIT_REQ;
    a->asked = head.number;
    a->owes = false;
    return true;
}

static bool
may_receive(const actor *a)
{
    if (!a->kind->receives)
        return false;
    if (a->kind->type == SENNIT_REP)
        return !a->owes;
    return !a->kind->turns || a->awaits;
}

/* The next frame of a message whose first one is here. */
static void
recv_rest(story *s, actor *a, sennit_msg *msg)
{
    uint32_t peer = sennit_msg_peer(msg);
    sennit_err err;

    if (!sennit_msg_more(msg))
        wrong("step %u: socket %u (%s) received a message that ends too soon", s->step,
              a->account, type_name(a));
    err = sennit_sock_recv(a->sock, msg, SENNIT_DONTWAIT);
    if (err)
        wrong("step %u: socket %u (%s) did not get the rest of a message: %s", s->step,
              a->account, type_name(a), sennit_err_name(err));
    if (sennit_msg_peer(msg) != peer)
        wrong("step %u: socket %u (%s) received a message from peers %u and %u", s->step,
              a->account, type_name(a), peer, sennit_msg_peer(msg));
}

/* Reads the parts of the body, the first of which is in `msg`. */
static void
recv_parts(story *s, actor *a, sennit_msg *msg, body_head *first)
{
    for (uint16_t part = 0;; part++) {
        body_head head;
        bool last;

        if (part > 0 && part + 1 == first->parts && first->last_is_empty) {
            if (sennit_msg_size(msg) > 0 || sennit_msg_more(msg))
                wrong(
                    "step %u: message %u of socket %u does not end with its empty frame",
                    s->step, first->number, first->sender);
            return;
        }
        if (!body_holds(sennit_msg_data(msg), sennit_msg_size(msg), &head))
            wrong("step %u: socket %u (%s) received a frame of %zu octets that nobody "
                  "sent",
                  s->step, a->account, type_name(a), sennit_msg_size(msg));
        if (part == 0)
            *first = head;
        last = part + 1 == head.parts;
        if (head.sender != first->sender || head.number != first->number ||
            head.part != part || last == sennit_msg_more(msg))
            wrong("step %u: socket %u (%s) received part %u of message %u of socket %u "
                  "as part %u of message %u of socket %u, which has %u",
                  s->step, a->account, type_name(a), head.part, head.number, head.sender,
                  part, first->number, first->sender, first->parts);
        if (last)
            return;
        recv_rest(s, a, msg);
    }
}

/* A ROUTER names who sent a message. */
static void
check_label(story *s, actor *a, const body_head *head)
{
    const char *name = s->names[head->sender];

    a->from_account = name[0] == '\0' && a->dialled ? 0 : head->sender;
    if (name[0] == '\0' ||
        (a->from_size == strlen(name) && memcmp(a->from, name, a->from_size) == 0))
        return;
    if (!a->dialled)
        wrong("step %u: socket %u (ROUTER) received a message of socket %u as one of "
              "'%.*s'",
              s->step, a->account, head->sender, (int)a->from_size,
              (const char *)a->from);
    /* One that connects names what it reads late after whom it is connected to then
     * (transport/README.md, "Known and left"). */
    a->from_account = 0;
}

/* An XPUB is told of a topic that begins or ends. */
static void
check_notice(story *s, actor *a, sennit_msg *msg)
{
    const uint8_t *data = sennit_msg_data(msg);

    if (sennit_msg_size(msg) == 0 || data[0] > 1 || sennit_msg_more(msg))
        wrong("step %u: socket %u (XPUB) received what is no notice", s->step,
              a->account);
    tell(s, "  %u (XPUB) is told of %s '%.*s'", a->account,
         data[0] ? "a topic" : "the end of", (int)(sennit_msg_size(msg) - 1),
         (const char *)data + 1);
    sennit_msg_fini(msg);
}

/* False when there is none. */
static bool
recv_one(story *s, actor *a, unsigned flags)
{
    body_head head = { .sender = 0 };
    uint32_t peer;
    sennit_msg msg;
    sennit_err err;

    sennit_msg_init(&msg);
    err = sennit_sock_recv(a->sock, &msg, flags);
    if (err == SENNIT_ECONNRESET && a->kind->type == SENNIT_REQ) {
        tell(s, "  %u (REQ) hears that its request is lost", a->account);
        a->awaits = false;
        return false;
    }
    if (err == SENNIT_EAGAIN || (err == SENNIT_EINTR && !(flags & SENNIT_DONTWAIT)))
        return false;
    if (err)
        wrong("step %u: socket %u (%s) could not receive: %s", s->step, a->account,
              type_name(a), sennit_err_name(err));
    peer = sennit_msg_peer(&msg);
    if (a->kind->noticed) {
        check_notice(s, a, &msg);
        return true;
    }
    if (a->kind->addresses) {
        a->from_size = sennit_msg_size(&msg);
        memcpy(a->from, sennit_msg_data(&msg), a->from_size);
        recv_rest(s, a, &msg);
    }
    if (a->kind->delimits && sennit_msg_size(&msg) == 0)
        recv_rest(s, a, &msg);
    recv_parts(s, a, &msg, &head);
    sennit_msg_fini(&msg);
    tell(s, "  %u (%s) received message %u of %u from peer %u", a->account, type_name(a),
         head.number, head.sender, peer);
    ledger_received(s->books, a->account, peer, &head);
    s->received++;
    if (a->kind->addresses)
        check_label(s, a, &head);
    if (a->kind->type == SENNIT_REQ) {
        a->awaits = false;
        if (ledger_kind(s->books, head.sender)->type == SENNIT_REP &&
            (head.to_sender != a->account || head.to_number != a->asked))
            wrong("step %u: socket %u asked %u and got the answer to %u of socket %u",
                  s->step, a->account, a->asked, head.to_number, head.to_sender);
    }
    if (a->kind->type == SENNIT_REP) {
        a->owes = true;
        a->to_sender = head.sender;
        a->to_number = head.number;
    }
    return true;
}

/* Receives what is there; a replier answers. True: it can read no more. */
static bool
drain(story *s, actor *a, test_rng *rng)
{
    for (;;) {
        if (a->kind->type == SENNIT_REP && a->owes)
            (void)send_one(s, a, rng, SENNIT_DONTWAIT, false);
        if (!may_receive(a))
            return false;
        if (!recv_one(s, a, SENNIT_DONTWAIT))
            return may_receive(a);
    }
}

/* ---- steps ------------------------------------------------------------- */

typedef enum act {
    OPEN,
    BIND,
    CONNECT,
    SUBSCRIBE,
    SEND,
    RECEIVE,
    DRAIN,
    RUN,
    SEND_SLOWLY,
    AWAIT,
    FLUSH,
    UNSUBSCRIBE,
    DISCONNECT,
    UNBIND,
    CLOSE,
    CUT,
    CUT_ALL,
    HOLD,
    PAUSE,
    RESUME,
    KILL,
    TROUBLE,
    ACTS
} act;

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

typedef struct step {
    act what;
    uint32_t a;
    uint32_t b;
    uint32_t c;
} step;

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
        wrong("step %u: a %s could not be opened: %s", s->step, type_name(a),
              sennit_err_name(err));
    ledger_name(s->books, a->account, a->sock);
    /* Sending tries again after a look round, and who subscribes may be others then. */
    a->ages = opts.send_age_max_ms > 0;
    a->ends_slow = opts.slow_subscriber == SENNIT_SLOW_DISCONNECT;
    if (opts.slow_subscriber == SENNIT_SLOW_BLOCK)
        ledger_blind(s->books, a->account);
    tell(s,
         "socket %u: %s %s on node %zu, marks %d and %d, linger %d, slow %d, age %d, "
         "heartbeat %d, immediate %d",
         a->account, type_name(a), a->identity, node, opts.send_hwm_msgs,
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
    tell(s, "%u %s '%s'", a->account, on ? "subscribes to" : "unsubscribes from",
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
    tell(s, "%u (%s) binds slot %zu, %s: %s", a->account, type_name(a), at, endpoint,
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
    tell(s, "%u (%s) connects to slot %zu, %s: %s", a->account, type_name(a), at,
         endpoint, sennit_err_name(err));
    if (err == SENNIT_EEXIST)
        return; /* a PAIR that has a peer, a name that is taken */
    if (err)
        wrong("step %u: connect to %s: %s", s->step, endpoint, sennit_err_name(err));
    a->dials[at] = true;
    a->dialled = true;
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
        tell(s, "%u (%s) unbinds slot %zu", a->account, type_name(a), at);
        err = sennit_sock_unbind(a->sock, endpoint);
        if (err)
            wrong("step %u: unbind %s: %s", s->step, endpoint, sennit_err_name(err));
        a->binds[at] = false;
        peers_leave(s, a, at);
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
        tell(s, "%u (%s) disconnects from slot %zu", a->account, type_name(a), at);
        err = sennit_sock_disconnect(a->sock, endpoint);
        if (err && s->slots[at].transport != STAGE_INPROC)
            wrong("step %u: disconnect %s: %s", s->step, endpoint, sennit_err_name(err));
        a->dials[at] = false;
        peers_leave(s, a, at);
        /* One that lingers may become READY yet, and looks like the next. */
        if (stats_of(a).queued_msgs > 0)
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

static void
close_actor(story *s, actor *a, bool drained)
{
    check_law(s, a);
    tell(s, "%u (%s) is closed%s", a->account, type_name(a), drained ? ", drained" : "");
    actor_gone(s, a, stats_of(a).queued_msgs, drained);
    sennit_sock_close(a->sock);
}

static void
play_close(story *s, const step *st)
{
    actor *a = pick(s, st->a, NULL);
    test_rng rng = { st->c };

    if (a == NULL)
        return;
    close_actor(s, a, st->b % 2 == 0 && a->kind->receives && drain(s, a, &rng));
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

    tell(s, "node %zu is killed", node);
    for (actor *a = s->actors; a < s->actors + ACTORS; a++) {
        if (a->kind == NULL || a->node != node)
            continue;
        check_law(s, a);
        forget_linger(s, a);
        actor_gone(s, a, 0, false);
    }
    stage_kill(s->stage, node);
}

static void
play_send(story *s, const step *st, bool slowly)
{
    actor *a = pick(s, st->a, may_send);
    unsigned flags = st->b % 16 == 0 ? 0 : SENNIT_DONTWAIT;
    unsigned count = slowly ? 1 : 1 + (st->b >> 4) % 8;
    test_rng rng = { st->c };

    if (a == NULL)
        return;
    tell(s, "%u (%s) sends", a->account, type_name(a));
    while (count-- > 0 && may_send(a) && send_one(s, a, &rng, flags, slowly))
        continue;
    read_events(s);
    check_law(s, a);
}

static void
play_receive(story *s, const step *st, unsigned flags, unsigned count)
{
    actor *a = pick(s, st->a, may_receive);

    if (a == NULL)
        return;
    tell(s, "%u (%s) receives", a->account, type_name(a));
    while (count-- > 0 && may_receive(a) && recv_one(s, a, flags))
        continue;
    read_events(s);
    check_law(s, a);
}

static void
play(story *s, const step *st)
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
        a = pick(s, st->a, may_receive);
        if (a != NULL)
            (void)drain(s, a, &rng);
        break;
    case RUN:
        pass_time(s, st->b % 4 == 0 ? st->c % (100 * MS) : st->c % (3 * MS));
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
        tell(s, "a connection is cut");
        stage_cut(s->stage, st->a);
        break;
    case CUT_ALL:
        tell(s, "all connections are cut");
        stage_cut_all(s->stage);
        break;
    case HOLD:
        tell(s, "the network holds");
        stage_hold(s->stage, st->a % HOLD_MAX);
        break;
    case PAUSE:
    case RESUME:
        tell(s, "node %zu %s", st->a % s->nodes, st->what == PAUSE ? "stops" : "goes on");
        stage_pause(s->stage, st->a % s->nodes, st->what == PAUSE);
        break;
    case KILL:
        play_kill(s, st);
        break;
    case TROUBLE:
        tell(s, "trouble, level %u", st->a % 4);
        stage_trouble(s->stage, st->a % 4);
        break;
    case ACTS:
        break;
    }
    read_events(s);
}

/* ---- the end ----------------------------------------------------------- */

/* Links that must come up: [0]; and those that need not, because a second peer of its
 * kind may be refused: [1]. */
static void
links_of(const story *s, const actor *a, unsigned links[2])
{
    links[0] = links[1] = 0;
    for (size_t at = 0; at < s->slots_count; at++) {
        const actor *binder = s->slots[at].binder;

        for (const actor *b = s->actors; b < s->actors + ACTORS; b++) {
            bool unsure;

            if (b->kind == NULL || !b->dials[at] || binder == NULL ||
                (a != b && a != binder))
                continue;
            unsure = s->slots[at].transport == STAGE_INPROC || a->kind->one_peer ||
                     ((binder->kind->addresses || b->kind->addresses) &&
                      (binder->identity[0] != '\0' || b->identity[0] != '\0'));
            links[unsure]++;
        }
    }
}

/* A REQ reads only what it waits for. */
static bool
meets_requester(const slot *sl)
{
    return sl->pair->binder == SENNIT_REQ || sl->pair->connecter == SENNIT_REQ;
}

/* Whether all it dials is there and reads, so that nothing has a reason to wait. */
static bool
has_company(const story *s, const actor *a)
{
    for (size_t at = 0; at < s->slots_count; at++)
        if ((a->dials[at] &&
             (s->slots[at].binder == NULL || s->slots[at].transport == STAGE_INPROC)) ||
            ((a->dials[at] || a->binds[at]) && meets_requester(&s->slots[at])))
            return false;
    return true;
}

/* What keeps the world from being quiet; "" when nothing does. */
static const char *
restless(const story *s, const actor **who)
{
    for (const actor *a = s->actors; a < s->actors + ACTORS; a++) {
        sennit_sock_stats stats;
        unsigned links[2];

        if (a->kind == NULL)
            continue;
        *who = a;
        stats = stats_of(a);
        links_of(s, a, links);
        if (stats.connections < links[0])
            return "is not connected to all its peers";
        if (links[1] == 0 && !a->inproc && a->kind->type != SENNIT_REQ &&
            stats.connections > links[0])
            return "has more connections than peers";
        if (links[1] == 0 && has_company(s, a) && stats.queued_msgs > 0)
            return "has messages that do not leave";
    }
    return ledger_under_way(s->books) > 0 ? "(all): messages are under way" : "";
}

static uint64_t
queued_bytes(const story *s)
{
    uint64_t sum = 0;

    for (const actor *a = s->actors; a < s->actors + ACTORS; a++)
        if (a->kind != NULL)
            sum += stats_of(a).queued_bytes;
    return sum;
}

/* Lets all that can happen happen: what is here is received, who can connect does. */
static void
settle(story *s)
{
    const actor *who = s->actors;
    const char *why = "";
    unsigned calm = 0;
    test_rng rng = { s->opts->seed };

    for (unsigned turn = 0; turn < 600 && calm < 3; turn++) {
        uint64_t before = s->received;
        uint64_t queued = queued_bytes(s); /* a large message takes its time */

        pass_time(s, turn < 100 ? 20 * MS : 100 * MS);
        for (actor *a = s->actors; a < s->actors + ACTORS; a++)
            if (a->kind != NULL && a->kind->receives)
                (void)drain(s, a, &rng);
        why = restless(s, &who);
        calm = why[0] == '\0' && s->received == before && queued == queued_bytes(s)
                   ? calm + 1
                   : 0;
    }
    if (calm < 3)
        wrong("the world does not come to rest: socket %u (%s) %s", who->account,
              who->kind == NULL ? "?" : type_name(who), why);
}

static void
balance(const story *s)
{
    for (const actor *a = s->actors; a < s->actors + ACTORS; a++) {
        sennit_sock_stats stats;

        if (a->kind == NULL)
            continue;
        stats = stats_of(a);
        ledger_balance(s->books, a->account, &stats);
    }
}

/* How many copies of a publication go from `pub` to `sub`: one over each link. */
static unsigned
copies_due(const story *s, const actor *pub, const actor *sub, const char topic[4])
{
    unsigned bits = prefixes_of(topic);
    unsigned links = 0;
    bool wanted = false;

    for (unsigned i = 0; i < PREFIXES; i++)
        wanted = wanted || (sub->subscribed[i] > 0 && (bits & 1u << i));
    for (size_t at = 0; at < s->slots_count; at++) {
        const actor *binder = s->slots[at].binder;

        links += (binder == pub && sub->dials[at]) || (binder == sub && pub->dials[at]);
    }
    return wanted ? links : 0;
}

/* Everything that is subscribed to is in force: each publication reaches exactly those
 * who asked for it. */
static void
probe_publications(story *s)
{
    static const char topics[4][5] = { "aa--", "ab--", "ba--", "bb--" };

    for (actor *a = s->actors; a < s->actors + ACTORS; a++) {
        for (unsigned i = 0; a->kind != NULL && a->kind->fans && i < 4; i++) {
            body_head head = { .magic = BODY_MAGIC, .sender = a->account, .parts = 1 };
            uint8_t body[sizeof head];

            memcpy(head.topic, topics[i], 4);
            head.size = sizeof head;
            head.number = ledger_compose(s->books, a->account, 0, head.topic);
            body_fill(body, &head);
            (void)send_frame(s, a, body, sizeof body, SENNIT_DONTWAIT, true);
            ledger_accepted(s->books, a->account, true);
            tell(s, "probe %u: message %u, topic %.2s", a->account, head.number,
                 head.topic);
            settle(s);
            for (actor *b = s->actors; b < s->actors + ACTORS; b++) {
                unsigned times;
                unsigned due;

                /* An inproc connection that was ended does not come back. */
                if (b->kind == NULL || !b->kind->subscribes ||
                    (a->ends_slow && a->inproc && b->inproc))
                    continue;
                times =
                    ledger_times_received(s->books, a->account, head.number, b->account);
                due = copies_due(s, a, b, head.topic);
                if (times != due)
                    wrong("socket %u (%s) received publication %u of socket %u, topic "
                          "%.2s, %u times instead of %u",
                          b->account, type_name(b), head.number, a->account, head.topic,
                          times, due);
            }
        }
    }
}

/* All others send once more over what is connected now. */
static void
probe_rest(story *s)
{
    test_rng rng = { s->opts->seed + 1 };

    for (actor *a = s->actors; a < s->actors + ACTORS; a++)
        for (unsigned i = 0; i < 3; i++)
            if (a->kind != NULL && !a->kind->fans && may_send(a))
                (void)send_one(s, a, &rng, SENNIT_DONTWAIT, false);
    settle(s);
}

static void
close_all(story *s)
{
    for (actor *a = s->actors; a < s->actors + ACTORS; a++)
        if (a->kind != NULL)
            close_actor(s, a, false);
    for (unsigned i = 0; i < 100 && stage_leftover(s->stage)[0] != '\0'; i++)
        stage_run(s->stage, 100 * MS);
    if (stage_leftover(s->stage)[0] != '\0')
        wrong("%s is still there 10 s after everything was closed",
              stage_leftover(s->stage));
    ledger_balance_closed(s->books);
}

/* ---- from the seed ----------------------------------------------------- */

static void
invent_scene(story *s, test_rng *rng)
{
    s->nodes = 1 + test_rng_below(rng, 3);
    s->slots_count = 2 + test_rng_below(rng, STAGE_SLOTS_MAX - 1);
    for (unsigned i = 0; i < PAIRS; i++)
        s->pairs[i] = &kind_pairs[test_rng_below(rng, kind_pairs_count)];
    if (test_rng_chance(rng, 60))
        s->pairs[1] = s->pairs[2] = s->pairs[0];
    for (size_t i = 0; i < s->slots_count; i++) {
        slot *sl = &s->slots[i];

        sl->pair = s->pairs[test_rng_below(rng, PAIRS)];
        sl->transport = test_rng_chance(rng, 75)   ? STAGE_TCP
                        : test_rng_chance(rng, 40) ? STAGE_IPC
                                                   : STAGE_INPROC;
        sl->node = test_rng_below(rng, s->nodes);
    }
}

static act
invent_act(test_rng *rng, bool setting)
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

unsigned
story_steps(uint64_t seed)
{
    test_rng rng = { seed ^ 0x57e95 };

    return 80 + (unsigned)test_rng_below(&rng, 500);
}

ledger_totals
story_play(const story_opts *opts)
{
    static story s;
    test_rng rng = { opts->seed };
    unsigned steps = story_steps(opts->seed);
    ledger_totals totals;

    memset(&s, 0, sizeof s);
    s.opts = opts;
    invent_scene(&s, &rng);
    s.books = ledger_new(stage_exact);
    s.stage = stage_open(s.books, opts->seed, s.nodes);
    for (s.step = 0; s.step < steps; s.step++) {
        step st = { .what = invent_act(&rng, s.step < 40) };

        st.a = (uint32_t)test_rng_next(&rng);
        st.b = (uint32_t)test_rng_next(&rng);
        st.c = (uint32_t)test_rng_next(&rng);
        if (opts->steps > 0 && s.step >= opts->steps)
            break;
        if (opts->skip == NULL || !opts->skip[s.step])
            play(&s, &st);
    }
    tell(&s, "the end");
    stage_trouble(s.stage, 0);
    for (size_t i = 0; i < s.nodes; i++)
        stage_pause(s.stage, i, false);
    pass_time(&s, HOLD_MAX); /* a held network may still owe a SUBSCRIBE */
    settle(&s);
    balance(&s);
    probe_publications(&s);
    probe_rest(&s);
    balance(&s);
    totals = ledger_sum(s.books);
    close_all(&s);
    stage_close(s.stage);
    ledger_free(s.books);
    return totals;
}
