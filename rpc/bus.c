/* SPDX-License-Identifier: MIT */
/* Opening, closing, and the one place where a bus moves: sni_bus_pump(). */
#include "rpc/bus.h"

#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "rpc/limits.h"

/* ---- Random numbers --------------------------------------------------- */

static sennit_err
refill(sennit_bus *bus)
{
    sennit_err err = SENNIT_OK;

    if (bus->opts.entropy != NULL)
        bus->opts.entropy(bus->random, sizeof bus->random, bus->opts.entropy_arg);
    else
        err = sni_entropy(bus->random, sizeof bus->random);
    if (!err)
        bus->random_left = sizeof bus->random;
    return err;
}

uint64_t
sni_bus_random(sennit_bus *bus)
{
    uint64_t value = 0;

    /* The system gave random bytes at open; that it stops to is not foreseen by
     * getentropy(2). Bytes are then used again: names stay unique within what is
     * pending (find compares the whole id), they become guessable. */
    if (bus->random_left < sizeof value && refill(bus) != SENNIT_OK)
        bus->random_left = sizeof bus->random;
    bus->random_left -= sizeof value;
    memcpy(&value, bus->random + bus->random_left, sizeof value);
    return value;
}

/* ---- Telling the application ------------------------------------------ */

/* A dead letter that waits to be told; the address, the head and the text lie behind
 * it. */
struct sni_obituary {
    sni_obituary *next;
    sennit_dead_letter letter;
    uint8_t node[SENNIT_NODE_ID_SIZE];
    uint8_t data[];
};

void
sni_bus_dead(sennit_bus *bus, sennit_dead_reason reason, const sni_letter *letter)
{
    size_t head_size =
        letter->body.size < SNI_DEAD_HEAD_BYTES ? letter->body.size : SNI_DEAD_HEAD_BYTES;
    const char *text = letter->text != NULL ? letter->text : "";
    size_t text_size = strlen(text) + 1;
    sni_obituary *told;
    char *words;

    bus->stats.dead_letters_total[reason]++;
    if (bus->dead_fn == NULL || bus->telling_dead || bus->dead_count >= SNI_DEAD_TOLD_MAX)
        return;
    told = sni_acquire(bus->alloc,
                       sizeof *told + letter->address.size + head_size + text_size);
    if (told == NULL)
        return; /* it is counted */
    memset(told, 0, sizeof *told);
    if (letter->address.size > 0)
        memcpy(told->data, letter->address.data, letter->address.size);
    if (head_size > 0)
        memcpy(told->data + letter->address.size, letter->body.data, head_size);
    words = (char *)told->data + letter->address.size + head_size;
    memcpy(words, text, text_size);
    if (letter->node != NULL)
        memcpy(told->node, letter->node, sizeof told->node);
    told->letter = (sennit_dead_letter){
        .reason = reason,
        .address = { (const char *)told->data, letter->address.size },
        .node = letter->node != NULL ? told->node : NULL,
        .age = letter->arrived > 0 ? sennit_loop_now(bus->loop) - letter->arrived : 0,
        .size = letter->body.size,
        .head = { told->data + letter->address.size, head_size },
        .text = words,
    };
    *bus->dead_last = told;
    bus->dead_last = &told->next;
    bus->dead_count++;
}

/* Tells what waits to be told. What dies meanwhile is counted only. */
static void
tell_dead(sennit_bus *bus)
{
    while (bus->dead_first != NULL) {
        sni_obituary *told = bus->dead_first;

        bus->dead_first = told->next;
        if (bus->dead_first == NULL)
            bus->dead_last = &bus->dead_first;
        bus->dead_count--;
        bus->telling_dead = true;
        if (bus->dead_fn != NULL)
            bus->dead_fn(&told->letter, bus->dead_arg);
        bus->telling_dead = false;
        sni_release(bus->alloc, told);
    }
}

/* A text of a frame as a C string. */
static const char *
terminated(sennit_str text, char out[static SNI_ENDPOINT_MAX + 1])
{
    size_t size = text.size < SNI_ENDPOINT_MAX ? text.size : SNI_ENDPOINT_MAX;

    if (size > 0)
        memcpy(out, text.data, size);
    out[size] = '\0';
    return out;
}

void
sni_bus_tell(sennit_bus *bus, sennit_peer_event_kind kind, const sni_conn *conn,
             const uint8_t *node, const sni_hello *hello, const char *reason)
{
    char advertised[SNI_ENDPOINT_MAX + 1] = "";
    char events[SNI_ENDPOINT_MAX + 1] = "";
    sennit_peer_event told = {
        .kind = kind,
        .node = node,
        .endpoint = conn->linked != NULL ? conn->linked->endpoint : "",
        .advertised = advertised,
        .events = events,
        .reason = reason,
    };

    if (bus->peer_fn == NULL)
        return;
    if (hello != NULL) {
        (void)terminated(hello->advertised, advertised);
        (void)terminated(hello->events, events);
    }
    bus->peer_fn(&told, bus->peer_arg);
}

/* ---- Moving ----------------------------------------------------------- */

static void bus_free(sennit_bus *bus);

void
sni_bus_enter(sennit_bus *bus)
{
    SNI_ASSERT(!bus->dispatching);
    bus->dispatching = true;
}

void
sni_bus_leave(sennit_bus *bus)
{
    if (bus->dying)
        bus_free(bus);
    else
        bus->dispatching = false;
}

static void
drop_doomed(sennit_bus *bus)
{
    sni_link *first;

    while ((first = sni_list_first(&bus->doomed)) != NULL) {
        sni_conn *conn = SNI_OWNER_OF(first, sni_conn, doomed);

        sni_peer_lost(conn, conn->doom_kind, conn->doom_reason);
    }
}

static void
expire(sennit_bus *bus)
{
    sennit_time now = sennit_loop_now(bus->loop);
    sennit_timer *due;

    while ((due = sni_timers_pop(&bus->timers, now)) != NULL)
        due->fn_(due->arg_);
}

/* Hands every gathered frame on. A connection that is still held back stays on the
 * list; tells whether one of those needs to be tried again without a sign from its
 * socket. */
static bool
flush_dirty(sennit_bus *bus)
{
    bool again = false;
    sni_link *at = bus->dirty.next;

    while (at != &bus->dirty) {
        sni_conn *conn = SNI_OWNER_OF(at, sni_conn, dirty);

        at = at->next;
        sni_conn_flush(conn);
        if (sni_link_linked(&conn->dirty) && (conn->linked == NULL || !conn->blocked))
            again = true;
    }
    return again;
}

static sennit_time
sooner(sennit_time a, sennit_time b)
{
    return a < b ? a : b;
}

/* Whether something waits for the pump that no socket and no timer will announce. */
static bool
has_work(const sennit_bus *bus)
{
    return !sni_list_empty(&bus->ready) || !sni_list_empty(&bus->outcomes) ||
           !sni_list_empty(&bus->doomed) || bus->dead_first != NULL;
}

void
sni_bus_pump(sennit_bus *bus)
{
    /* Outcomes have a budget of their own: mailboxes that are never empty must not keep
     * callers from learning how their calls ended. */
    size_t outcomes = SNI_TURN_ITEMS;
    size_t mail = SNI_TURN_ITEMS;
    sennit_time next;
    bool moved;
    bool again;

    drop_doomed(bus);
    expire(bus);
    do {
        moved = sni_consumers_run(bus, &mail);
        moved = sni_calls_deliver(bus, &outcomes) || moved;
    } while (moved && !bus->dying);
    tell_dead(bus);
    if (bus->dying)
        return;
    again = flush_dirty(bus);
    drop_doomed(bus);
    next = sni_links_tend(bus, sennit_loop_now(bus->loop));
    next = sooner(next, sni_timers_next(&bus->timers));
    if (again)
        next = sooner(next, sennit_loop_now(bus->loop) + SNI_RETRY_NS);
    if (has_work(bus))
        next = 0;
    sni_bus_wake(bus, next);
}

static void
woken(void *arg)
{
    sennit_bus *bus = arg;

    bus->wake_at = SENNIT_NEVER;
    if (bus->dispatching)
        return; /* a turn within a handler: the pump below it goes on afterwards */
    sni_bus_enter(bus);
    sni_bus_pump(bus);
    sni_bus_leave(bus);
}

void
sni_bus_wake(sennit_bus *bus, sennit_time at)
{
    sennit_time now;

    if (at >= bus->wake_at)
        return;
    now = at == 0 ? 0 : sennit_loop_now(bus->loop);
    /* Without memory for a timer the next call or arrival wakes us instead. */
    if (sennit_timer_start(bus->loop, &bus->wake, at > now ? at - now : 0, woken, bus))
        bus->wake_at = SENNIT_NEVER;
    else
        bus->wake_at = at;
}

void
sni_bus_settle(sennit_bus *bus)
{
    sennit_time now;
    sni_link *at;

    if (bus->dispatching || bus->dying)
        return; /* the pump is going to see to all of it */
    if (has_work(bus))
        sni_bus_wake(bus, 0);
    sni_bus_wake(bus, sni_timers_next(&bus->timers));
    if (sni_list_empty(&bus->dirty))
        return;
    /* T6: a lone record leaves now, one in a row waits for its successors. */
    now = sennit_loop_now(bus->loop);
    for (at = bus->dirty.next; at != &bus->dirty;) {
        sni_conn *conn = SNI_OWNER_OF(at, sni_conn, dirty);

        at = at->next;
        if (!conn->blocked && now - conn->flushed_at > SNI_FLUSH_GAP_NS)
            sni_conn_flush(conn);
    }
    if (!sni_list_empty(&bus->dirty) || !sni_list_empty(&bus->doomed))
        sni_bus_wake(bus, 0);
}

/* ---- Open and close --------------------------------------------------- */

static sennit_err
check_opts(const sennit_bus_opts *opts)
{
    if (opts->timeout_ms < SENNIT_TIMEOUT_NONE || opts->timeout_ms == 0 ||
        opts->mailbox_max_msgs == 0 || opts->mailbox_max_bytes == 0 ||
        opts->peer_queue_max_bytes == 0 || opts->frame_max_bytes < 1024 ||
        opts->frame_max_bytes > UINT32_C(1) << 30 || opts->calls_max == 0 ||
        opts->calls_max > (UINT32_C(1) << SNI_SLOT_BITS) - 1 || opts->linger_ms < -1 ||
        opts->reconnect_min_ms < 1 || opts->reconnect_max_ms < opts->reconnect_min_ms)
        return SENNIT_EINVAL;
    if (opts->advertise != NULL && strlen(opts->advertise) > SNI_ENDPOINT_MAX)
        return SENNIT_EINVAL;
    return SENNIT_OK;
}

static sennit_err
copy_advertise(sennit_bus *bus)
{
    size_t size;

    if (bus->opts.advertise == NULL)
        return SENNIT_OK;
    size = strlen(bus->opts.advertise) + 1;
    bus->advertise = sni_acquire(bus->alloc, size);
    if (bus->advertise == NULL)
        return SENNIT_ENOMEM;
    memcpy(bus->advertise, bus->opts.advertise, size);
    return SENNIT_OK;
}

static void
name_node(sennit_bus *bus)
{
    static const uint8_t none[SENNIT_NODE_ID_SIZE];
    uint64_t half;

    bus->incarnation = sni_bus_random(bus) >> 1 | 1;
    memcpy(bus->node_id, bus->opts.node_id, sizeof bus->node_id);
    for (size_t i = 0; memcmp(bus->node_id, none, sizeof none) == 0 || i % 2 == 1; i++) {
        half = sni_bus_random(bus);
        memcpy(bus->node_id + i % 2 * sizeof half, &half, sizeof half);
    }
}

static void
init_lists(sennit_bus *bus)
{
    sni_link *const heads[] = {
        &bus->consumers, &bus->ready, &bus->outcomes, &bus->nodes,
        &bus->conns,     &bus->dirty, &bus->doomed,   &bus->links
    };

    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
        sni_link_init(heads[i]);
}

/* What needs no memory. */
static void
bus_init(sennit_bus *bus, sennit_loop *loop, const sennit_bus_opts *opts)
{
    const sennit_allocator *alloc = sennit_loop_allocator(loop);

    bus->loop = loop;
    bus->alloc = alloc;
    bus->opts = *opts;
    bus->wake_at = SENNIT_NEVER;
    bus->current_deadline = SENNIT_NEVER;
    bus->dead_last = &bus->dead_first;
    init_lists(bus);
    sni_slots_init(&bus->calls, alloc, sizeof(sni_call), opts->calls_max);
    sni_slots_init(&bus->inbounds, alloc, sizeof(sni_inbound),
                   (size_t)1 << SNI_SLOT_BITS);
    sni_timers_init(&bus->timers, alloc);
    sni_trie_init(&bus->accepted, alloc);
    sennit_buf_init(&bus->scratch, alloc);
    sennit_buf_init(&bus->headers, alloc);
    sennit_buf_init(&bus->record, alloc);
    sennit_buf_init(&bus->consumed, alloc);
}

sennit_err
sennit_bus_open(sennit_bus **out, sennit_loop *loop, const sennit_bus_opts *opts)
{
    static const sennit_bus_opts defaults = SENNIT_BUS_OPTS_DEFAULT;
    sennit_bus *bus;
    sennit_err err;

    if (opts == NULL)
        opts = &defaults;
    err = check_opts(opts);
    if (err)
        return err;
    bus = sni_acquire_zero(sennit_loop_allocator(loop), sizeof *bus);
    if (bus == NULL)
        return SENNIT_ENOMEM;
    bus_init(bus, loop, opts);
    err = refill(bus);
    if (err)
        goto fail;
    name_node(bus);
    err = copy_advertise(bus);
    if (err)
        goto fail;
    err = sni_routes_new(&bus->routes, bus->alloc);
    if (err)
        goto fail;
    err = sennit_arena_new(&bus->arena, bus->alloc);
    if (err)
        goto fail;
    /* The first start is the only one that should need memory. */
    err = sennit_timer_start(loop, &bus->wake, 0, woken, bus);
    if (err)
        goto fail;
    bus->wake_at = 0;
    *out = bus;
    return SENNIT_OK;

fail:
    bus_free(bus);
    return err;
}

static void
bus_free(sennit_bus *bus)
{
    /* Handlers and callbacks that run from here on find every function closed. */
    bus->dying = true;
    for (sni_ready_waiter *waiter = bus->waiters; waiter != NULL; waiter = waiter->outer)
        waiter->closed = true;
    bus->dispatching = true;
    sni_consumers_drain(bus);
    /* The last flush: a request that is still here after it is told `never`, so from
     * here on nothing is written and nothing handed over. */
    (void)flush_dirty(bus);
    sni_calls_close(bus);
    tell_dead(bus);
    sni_consumers_free(bus);
    sni_links_close(bus);
    sni_listeners_close(bus);
    tell_dead(bus);
    sni_slots_fini(&bus->calls);
    sni_slots_fini(&bus->inbounds);
    sni_timers_fini(&bus->timers);
    sni_trie_fini(&bus->accepted);
    sni_routes_free(bus->routes);
    sennit_arena_free(bus->arena);
    sennit_buf_fini(&bus->scratch);
    sennit_buf_fini(&bus->headers);
    sennit_buf_fini(&bus->record);
    sennit_buf_fini(&bus->consumed);
    sennit_timer_stop(bus->loop, &bus->wake);
    sni_release(bus->alloc, bus->advertise);
    sni_release(bus->alloc, bus);
}

void
sennit_bus_close(sennit_bus *bus)
{
    if (bus == NULL)
        return;
    bus->dying = true;
    if (!bus->dispatching)
        bus_free(bus);
}

/* ---- Small things ----------------------------------------------------- */

sennit_loop *
sennit_bus_loop(const sennit_bus *bus)
{
    return bus->loop;
}

const uint8_t *
sennit_bus_node_id(const sennit_bus *bus)
{
    return bus->node_id;
}

const char *
sennit_bus_endpoint(const sennit_bus *bus)
{
    return bus->endpoint;
}

const char *
sennit_bus_events_endpoint(const sennit_bus *bus)
{
    return bus->events_endpoint;
}

static bool
conn_ready(const sni_conn *conn)
{
    return conn->state == SNI_CONN_UP && conn->pong_seen >= conn->ping_sent;
}

bool
sennit_bus_ready(const sennit_bus *bus)
{
    for (sni_link *at = bus->links.next; at != &bus->links; at = at->next) {
        const sni_linked *linked = SNI_OWNER_OF(at, sni_linked, link);

        if (!linked->self && !linked->removed &&
            (linked->conn == NULL || linked->conn->state != SNI_CONN_UP))
            return false;
    }
    for (sni_link *at = bus->nodes.next; at != &bus->nodes; at = at->next) {
        const sni_node *node = SNI_OWNER_OF(at, sni_node, link);

        for (sni_link *c = node->conns.next; c != &node->conns; c = c->next) {
            if (!conn_ready(SNI_OWNER_OF(c, sni_conn, in_node)))
                return false;
        }
    }
    return true;
}

static int
milliseconds_until(sennit_loop *loop, sennit_time deadline)
{
    sennit_time now = sennit_loop_now(loop);
    uint64_t left = deadline > now ? deadline - now : 0;

    return left < UINT64_C(60000000000) ? (int)((left + 999999) / 1000000) : 60000;
}

sennit_err
sennit_bus_wait_ready(sennit_bus *bus, int timeout_ms)
{
    sni_ready_waiter waiter = { .outer = bus->waiters };
    sennit_loop *loop = bus->loop;
    sennit_time deadline = SENNIT_NEVER;
    sennit_err err = SENNIT_OK;

    if (bus->dying)
        return SENNIT_ECLOSED;
    if (bus->dispatching)
        return SENNIT_ESTATE;
    if (timeout_ms >= 0)
        deadline = sennit_loop_now(loop) + (uint64_t)timeout_ms * 1000000;
    bus->waiters = &waiter;
    while (!err && !sennit_bus_ready(bus)) {
        int wait_ms = milliseconds_until(loop, deadline);

        err = wait_ms > 0 ? sennit_loop_turn(loop, wait_ms) : SENNIT_ETIMEDOUT;
        if (waiter.closed)
            return SENNIT_ECLOSED; /* there is no bus any more */
    }
    bus->waiters = waiter.outer;
    return err;
}

void
sennit_bus_flush(sennit_bus *bus)
{
    if (bus->dying)
        return;
    (void)flush_dirty(bus);
    for (sni_link *at = bus->links.next; at != &bus->links; at = at->next) {
        sni_linked *linked = SNI_OWNER_OF(at, sni_linked, link);

        if (linked->sock != NULL)
            sennit_sock_flush(linked->sock);
    }
    if (bus->router != NULL)
        sennit_sock_flush(bus->router);
    if (bus->events != NULL)
        sennit_sock_flush(bus->events);
    sni_bus_settle(bus);
}

sennit_buf *
sennit_bus_scratch(sennit_bus *bus)
{
    sennit_buf_clear(&bus->scratch);
    return &bus->scratch;
}

void
sennit_bus_on_dead_letter(sennit_bus *bus, sennit_dead_letter_fn *fn, void *arg)
{
    bus->dead_fn = fn;
    bus->dead_arg = arg;
}

void
sennit_bus_on_peer(sennit_bus *bus, sennit_peer_event_fn *fn, void *arg)
{
    bus->peer_fn = fn;
    bus->peer_arg = arg;
}

void
sennit_bus_get_stats(const sennit_bus *bus, sennit_bus_stats *out)
{
    *out = bus->stats;
    out->calls_pending = bus->calls.used;
    out->replies_pending = bus->inbounds.used;
    out->peer_queue_bytes = 0;
    for (sni_link *at = bus->conns.next; at != &bus->conns; at = at->next)
        out->peer_queue_bytes += sni_conn_queued_bytes(SNI_OWNER_OF(at, sni_conn, link));
}
