/* SPDX-License-Identifier: MIT */
/* Requests of ours: from the call to the one outcome. An outcome that is found
 * while the application is calling us waits in bus->outcomes for the pump; one that
 * a peer sends is delivered as it is read. Either way the slot is given back first,
 * so the callback finds its own call gone. */
#include "rpc/request.h"

#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "rpc/address.h"
#include "rpc/bus.h"

/* ---- Ending ----------------------------------------------------------- */

/* Takes the call out of everything that could give it another outcome. */
static void
stop_waiting(sni_call *call)
{
    sni_timers_stop(&call->bus->timers, &call->timer);
    sni_link_remove(&call->link);
    sni_link_remove(&call->sibling);
    call->conn = NULL;
}

static void
finish(sni_call *call, sennit_kind kind, sennit_ran ran, const char *reason)
{
    SNI_ASSERT(!call->finished);
    stop_waiting(call);
    call->finished = true;
    call->kind = kind;
    call->ran = ran;
    call->reason = reason;
    sni_list_push(&call->bus->outcomes, &call->link);
}

void
sni_call_finish(sni_call *call, sennit_kind kind, sennit_ran ran, const char *reason)
{
    finish(call, kind, ran, reason);
}

void
sni_call_finish_ok(sni_call *call, uint8_t *body, size_t size)
{
    finish(call, SENNIT_KIND_NONE, SENNIT_RAN_YES, "");
    call->body = body;
    call->body_size = size;
}

void
sni_call_finish_error(sni_call *call, sennit_error *error)
{
    finish(call, error->kind, error->ran, "");
    call->error = error;
}

/* Gives the slot back. What it held besides is the caller's to release. */
static void
call_free(sni_call *call)
{
    sennit_bus *bus = call->bus;

    stop_waiting(call);
    if (call->address != call->address_short)
        sni_release(bus->alloc, call->address);
    sni_slots_give(&bus->calls, call);
}

/* Ends `call` by its callback. */
static void
call_back(sni_call *call, sennit_bytes body, const sennit_error *error)
{
    sennit_bus *bus = call->bus;
    sennit_result_thunk *thunk = call->thunk;
    sennit_any_fn *fn = call->fn;
    void *arg = call->arg;

    if (error == NULL)
        bus->stats.outcomes_ok_total++;
    else
        bus->stats.outcomes_failed_total++;
    call_free(call);
    if (thunk != NULL)
        thunk(body, error, bus->arena, fn, arg);
    else
        ((sennit_result_fn *)fn)(body, error, arg);
    sennit_arena_reset(bus->arena);
}

/* The call's failure as it is told, in the caller's storage. */
static void
describe(const sni_call *call, sennit_error *out)
{
    if (call->error != NULL) {
        *out = *call->error;
    } else {
        sennit_error_set(out, call->kind, call->ran, "%.120s: %s", call->address,
                         call->reason);
    }
    out->attempts = call->attempts;
    memcpy(out->node, call->bus->node_id, sizeof out->node);
}

static void
deliver(sni_call *call)
{
    sennit_bus *bus = call->bus;
    sennit_error *kept = call->error;
    uint8_t *body = call->body;
    sennit_error error;

    if (call->kind == SENNIT_KIND_NONE) {
        call_back(call, (sennit_bytes){ body, call->body_size }, NULL);
    } else {
        describe(call, &error);
        call_back(call, (sennit_bytes){ NULL, 0 }, &error);
    }
    sni_release(bus->alloc, kept);
    sni_release(bus->alloc, body);
}

bool
sni_calls_deliver(sennit_bus *bus, size_t *budget)
{
    bool any = false;
    sni_link *first;

    while (*budget > 0 && !bus->dying &&
           (first = sni_list_first(&bus->outcomes)) != NULL) {
        deliver(SNI_OWNER_OF(first, sni_call, link));
        (*budget)--;
        any = true;
    }
    return any;
}

/* ---- Giving up -------------------------------------------------------- */

/* Tells the one who works on it that nobody waits any more (R8), and says whether
 * the handler ran. What that one started in turn is added to `orphans`. */
static sennit_ran
withdraw(sni_call *call, sni_link *orphans)
{
    sni_record cancel = { .type = SNI_RECORD_CANCEL, .id = call->slot.id };
    sni_inbound *inbound = sni_slots_find(&call->bus->inbounds, call->inbound);
    sennit_ran ran;

    if (call->conn != NULL) {
        (void)sni_conn_write(call->conn, &cancel, true);
        return SENNIT_RAN_MAYBE;
    }
    if (inbound == NULL)
        return SENNIT_RAN_MAYBE;
    ran = inbound->state == SNI_INBOUND_QUEUED ? SENNIT_RAN_NEVER : SENNIT_RAN_YES;
    sni_inbound_abandon(inbound, orphans);
    return ran;
}

void
sni_calls_cancel(sni_link *siblings)
{
    sni_link *first;

    while ((first = sni_list_first(siblings)) != NULL) {
        sni_call *call = SNI_OWNER_OF(first, sni_call, sibling);

        finish(call, SENNIT_KIND_CANCELLED, withdraw(call, siblings),
               sennit_kind_text(SENNIT_KIND_CANCELLED));
    }
}

static void
expired(void *arg)
{
    sni_call *call = arg;
    sni_letter letter = { .address = sennit_str_of(call->address) };
    sni_link orphans;
    sennit_ran ran;

    sni_link_init(&orphans);
    ran = withdraw(call, &orphans);
    if (ran == SENNIT_RAN_NEVER) {
        call->bus->stats.expired_in_queue_total++;
        sni_bus_dead(call->bus, SENNIT_DEAD_EXPIRED, &letter);
    }
    finish(call, SENNIT_KIND_TIMEOUT, ran, sennit_kind_text(SENNIT_KIND_TIMEOUT));
    sni_calls_cancel(&orphans);
}

static void
cancel(sni_call *call)
{
    sni_link alone;

    sni_link_remove(&call->sibling);
    sni_link_init(&alone);
    sni_list_push(&alone, &call->sibling);
    sni_calls_cancel(&alone);
}

sennit_err
sennit_call_cancel(sennit_bus *bus, sennit_call name)
{
    sni_call *call = sni_slots_find(&bus->calls, name.id);

    if (bus->dying)
        return SENNIT_ECLOSED;
    if (call == NULL || call->finished)
        return SENNIT_ENOENT;
    cancel(call);
    sni_bus_settle(bus);
    return SENNIT_OK;
}

void
sni_calls_lost(sni_conn *conn, sennit_kind kind, const char *reason)
{
    sni_link *first;

    while ((first = sni_list_first(&conn->calls)) != NULL) {
        sni_call *call = SNI_OWNER_OF(first, sni_call, link);
        bool sent = call->frame <= conn->frames_handed;

        finish(call, sent ? kind : SENNIT_KIND_NOT_SENT,
               sent ? SENNIT_RAN_MAYBE : SENNIT_RAN_NEVER, reason);
    }
}

void
sni_calls_close(sennit_bus *bus)
{
    sni_link *first;
    bool end = false;

    for (size_t i = 0; !end; i++) {
        sni_call *call = sni_slots_at(&bus->calls, i, &end);

        if (call != NULL && !call->finished) {
            bool sent = call->conn == NULL || call->frame <= call->conn->frames_handed;

            finish(call, SENNIT_KIND_CLOSED, sent ? SENNIT_RAN_MAYBE : SENNIT_RAN_NEVER,
                   sennit_kind_text(SENNIT_KIND_CLOSED));
        }
    }
    while ((first = sni_list_first(&bus->outcomes)) != NULL)
        deliver(SNI_OWNER_OF(first, sni_call, link));
}

/* ---- Answers of peers ------------------------------------------------- */

static void
remote_error(sni_call *call, const sni_conn *conn, const sni_record *record,
             sennit_error *out)
{
    const char *reason = "";

    sennit_error_set(out, (sennit_kind)record->kind, record->ran, "%.*s",
                     (int)(record->message.size < SENNIT_ERROR_MESSAGE_MAX
                               ? record->message.size
                               : SENNIT_ERROR_MESSAGE_MAX),
                     record->message.data);
    if (record->message.size == 0)
        sennit_error_set(out, (sennit_kind)record->kind, record->ran, "%.120s: %s",
                         call->address, sennit_kind_text((sennit_kind)record->kind));
    if (record->body.size > 0 &&
        sennit_unpack_check(record->body, SENNIT_UNPACK_DEPTH_MAX, SENNIT_CHECK_UTF8,
                            &reason, NULL) != SENNIT_OK) {
        sennit_error_set(out, SENNIT_KIND_BAD_MESSAGE, record->ran,
                         "%.120s: the detail of the error is malformed: %s",
                         call->address, reason);
    } else {
        out->detail_id = record->detail_id;
        out->detail = record->body;
    }
    out->code = record->code;
    out->attempts = call->attempts;
    out->remote = true;
    if (conn->node != NULL)
        memcpy(out->node, conn->node->id, sizeof out->node);
}

void
sni_calls_answered(sni_conn *conn, const sni_record *record)
{
    sennit_bus *bus = conn->bus;
    sni_call *call = sni_slots_find(&bus->calls, record->id);
    sni_letter letter = {
        .address = { "", 0 },
        .body = record->body,
        .node = conn->node != NULL ? conn->node->id : NULL,
    };
    sennit_error error;

    /* R2, R4: only the connection the request went out on may answer it, once. */
    if (call == NULL || call->finished || call->conn != conn) {
        bus->stats.late_replies_total++;
        sni_bus_dead(bus, SENNIT_DEAD_LATE_REPLY, &letter);
        return;
    }
    if (record->type == SNI_RECORD_RES) {
        call_back(call, record->body, NULL);
        return;
    }
    remote_error(call, conn, record, &error);
    call_back(call, (sennit_bytes){ NULL, 0 }, &error);
}

/* ---- Starting --------------------------------------------------------- */

/* R5. */
static sennit_time
deadline_of(sennit_bus *bus, const sennit_call_opts *opts, int method_timeout_ms,
            sennit_time now)
{
    int timeout_ms = opts->timeout_ms;

    if (timeout_ms == 0 && bus->current != 0 && bus->current_deadline != SENNIT_NEVER)
        return bus->current_deadline;
    if (timeout_ms == 0)
        timeout_ms = method_timeout_ms != 0 ? method_timeout_ms : bus->opts.timeout_ms;
    if (timeout_ms == SENNIT_TIMEOUT_NONE)
        return SENNIT_NEVER;
    return now + (uint64_t)timeout_ms * 1000000;
}

static sennit_err
call_new(sennit_bus *bus, sennit_str address, sni_call **out)
{
    sni_inbound *parent = sni_slots_find(&bus->inbounds, bus->current);
    sni_call *call;
    sennit_err err = sni_slots_take(&bus->calls, sni_bus_random(bus), &call);

    if (err)
        return err;
    call->bus = bus;
    sni_link_init(&call->link);
    sni_link_init(&call->sibling);
    call->address = call->address_short;
    if (address.size >= sizeof call->address_short) {
        call->address = sni_acquire(bus->alloc, address.size + 1);
        if (call->address == NULL) {
            sni_slots_give(&bus->calls, call);
            return SENNIT_ENOMEM;
        }
    }
    memcpy(call->address, address.data, address.size);
    call->address[address.size] = '\0';
    if (parent != NULL)
        sni_list_push(&parent->children, &call->sibling);
    *out = call;
    return SENNIT_OK;
}

/* What one candidate said. OK: it has the request. */
typedef struct verdict {
    sennit_kind kind;
    const char *reason;
} verdict;

static sennit_err
offer_local(sni_call *call, sennit_consumer *consumer, sni_letter *letter,
            sennit_str method, verdict *said)
{
    sni_inbound *inbound;
    sennit_err err;

    letter->method = NULL;
    if (consumer->service != NULL) {
        letter->method = sni_consumer_method(consumer, method);
        if (letter->method == NULL) {
            *said =
                (verdict){ SENNIT_KIND_UNIMPLEMENTED, "the service has no such method" };
            return SENNIT_OK;
        }
    }
    err = sni_inbound_new(call->bus, NULL, call->slot.id, letter->deadline, &inbound);
    if (err)
        return err;
    letter->inbound = inbound->slot.id;
    letter->node = call->bus->node_id;
    err = sni_consumer_post(consumer, letter);
    if (err) {
        sni_inbound_free(inbound);
        *said = (verdict){ SENNIT_KIND_OVERLOADED, "the consumer's mailbox is full" };
        return err == SENNIT_EAGAIN ? SENNIT_OK : err;
    }
    call->inbound = inbound->slot.id;
    *said = (verdict){ SENNIT_KIND_NONE, "" };
    return SENNIT_OK;
}

static sennit_err
offer_remote(sni_call *call, sni_conn *conn, const sni_letter *letter, verdict *said)
{
    sni_record record = {
        .type = SNI_RECORD_REQ,
        .id = call->slot.id,
        .address = letter->address,
        .headers = letter->headers,
        .body = letter->body,
    };
    sennit_err err;

    if (conn->draining) {
        *said = (verdict){ SENNIT_KIND_DRAINING, sennit_kind_text(SENNIT_KIND_DRAINING) };
        return SENNIT_OK;
    }
    if (letter->deadline != SENNIT_NEVER)
        record.budget_us = (letter->deadline - letter->arrived + 999) / 1000;
    err = sni_conn_write(conn, &record, false);
    switch (err) {
    case SENNIT_OK:
        *said = (verdict){ SENNIT_KIND_NONE, "" };
        call->conn = conn;
        call->frame = conn->frames_begun;
        sni_list_push(&conn->calls, &call->link);
        return SENNIT_OK;
    case SENNIT_EAGAIN:
        *said = (verdict){ SENNIT_KIND_OVERLOADED, "the send queue to its node is full" };
        return SENNIT_OK;
    case SENNIT_EMSGSIZE:
        *said = (verdict){ SENNIT_KIND_TOO_LARGE, "larger than the largest frame" };
        return SENNIT_OK;
    case SENNIT_ECONNRESET:
        *said = (verdict){ SENNIT_KIND_NOT_SENT, sennit_kind_text(SENNIT_KIND_NOT_SENT) };
        return SENNIT_OK;
    default:
        return err;
    }
}

/* Offers the request to the consumers of its address, each at most once, until one
 * takes it (D4, D5: none of the others has seen it). */
static sennit_err
offer(sni_call *call, sni_letter *letter, verdict *said)
{
    sennit_bus *bus = call->bus;
    sennit_str method;
    sni_route *route = sni_routes_resolve(bus->routes, letter->address, &method);
    size_t candidates = route != NULL ? route->locals.count + route->remotes.count : 0;

    *said =
        (verdict){ SENNIT_KIND_NO_HANDLERS, sennit_kind_text(SENNIT_KIND_NO_HANDLERS) };
    if (letter->body.size + letter->address.size + letter->headers.size +
            SNI_RECORD_OVERHEAD >
        bus->opts.frame_max_bytes) {
        *said = (verdict){ SENNIT_KIND_TOO_LARGE, "larger than the largest frame" };
        return SENNIT_OK;
    }
    for (; candidates > 0; candidates--) {
        bool local;
        void *target = sni_route_take(route, &local);
        sennit_err err;

        call->attempts++;
        err = local ? offer_local(call, target, letter, method, said)
                    : offer_remote(call, target, letter, said);
        if (err || said->kind == SENNIT_KIND_NONE)
            return err;
    }
    return SENNIT_OK;
}

/* Says more than "nobody" while links are still coming up. */
static const char *
no_handlers_reason(const sennit_bus *bus)
{
    for (sni_link *at = bus->links.next; at != &bus->links; at = at->next) {
        const sni_linked *linked = SNI_OWNER_OF(at, sni_linked, link);

        if (!linked->self && (linked->conn == NULL || linked->conn->state != SNI_CONN_UP))
            return "nobody consumes this address (a link is not up: see "
                   "sennit_bus_wait_ready)";
    }
    return sennit_kind_text(SENNIT_KIND_NO_HANDLERS);
}

static sennit_err
start(sennit_bus *bus, const char *address, sennit_bytes body,
      const sennit_call_opts *opts, int method_timeout_ms, sni_call **out)
{
    static const sennit_call_opts defaults = SENNIT_CALL_OPTS_DEFAULT;
    sni_letter letter = { .type = SNI_RECORD_REQ, .body = body };
    sennit_time now = sennit_loop_now(bus->loop);
    verdict said = { SENNIT_KIND_TIMEOUT, "no time is left of the handler's budget" };
    sni_call *call;
    sennit_err err;

    if (bus->dying)
        return SENNIT_ECLOSED;
    if (opts == NULL)
        opts = &defaults;
    letter.address = sennit_str_of(address);
    if (sni_address_form_of(letter.address) != SNI_ADDRESS_EXACT ||
        opts->timeout_ms < SENNIT_TIMEOUT_NONE)
        return SENNIT_EINVAL;
    err = sni_bus_headers(bus, opts, &letter.headers);
    if (err)
        return err;
    err = call_new(bus, letter.address, &call);
    if (err)
        return err;
    letter.arrived = now;
    letter.deadline = deadline_of(bus, opts, method_timeout_ms, now);
    if (letter.deadline != SENNIT_NEVER) {
        err =
            sni_timers_start(&bus->timers, &call->timer, letter.deadline, expired, call);
        if (err)
            goto fail;
    }
    if (letter.deadline > now) {
        err = offer(call, &letter, &said);
        if (err)
            goto fail;
    }
    if (said.kind == SENNIT_KIND_NO_HANDLERS)
        said.reason = no_handlers_reason(bus);
    if (said.kind != SENNIT_KIND_NONE)
        finish(call, said.kind, SENNIT_RAN_NEVER, said.reason);
    bus->stats.requests_total++;
    *out = call;
    return SENNIT_OK;

fail:
    call_free(call);
    return err;
}

sennit_err
sennit_bus_request(sennit_bus *bus, const char *address, sennit_bytes body,
                   const sennit_call_opts *opts, sennit_call *name, sennit_result_fn *fn,
                   void *arg)
{
    return sennit_bus_request_typed(bus, address, body, opts, 0, name, NULL,
                                    (sennit_any_fn *)fn, arg);
}

sennit_err
sennit_bus_request_typed(sennit_bus *bus, const char *address, sennit_bytes body,
                         const sennit_call_opts *opts, int method_timeout_ms,
                         sennit_call *name, sennit_result_thunk *thunk, sennit_any_fn *fn,
                         void *arg)
{
    sni_call *call;
    sennit_err err = start(bus, address, body, opts, method_timeout_ms, &call);

    if (err)
        return err;
    call->thunk = thunk;
    call->fn = fn;
    call->arg = arg;
    if (name != NULL)
        name->id = call->slot.id;
    sni_bus_settle(bus);
    return SENNIT_OK;
}

/* ---- Waiting for it --------------------------------------------------- */

typedef struct call_waiter {
    bool done;
    sennit_err err;
    sennit_arena *arena;
    sennit_bytes reply;
    sennit_error *error;
} call_waiter;

static void
keep_outcome(sennit_bytes body, const sennit_error *error, void *arg)
{
    call_waiter *waiter = arg;
    sennit_bytes detail = { NULL, 0 };

    waiter->done = true;
    if (error == NULL) {
        waiter->err = sennit_arena_copy_bytes(waiter->arena, body, &waiter->reply);
        if (waiter->err)
            sennit_error_set(waiter->error, SENNIT_KIND_NO_MEMORY, SENNIT_RAN_YES,
                             "no memory to keep the reply");
        return;
    }
    *waiter->error = *error;
    waiter->err = sennit_kind_err(error->kind);
    if (error->detail.size > 0 &&
        sennit_arena_copy_bytes(waiter->arena, error->detail, &detail) != SENNIT_OK)
        waiter->error->detail_id = 0;
    waiter->error->detail = detail;
}

/* A call that did not come about. */
static sennit_err
not_started(sennit_error *error, const char *address, sennit_err err)
{
    sennit_kind kind = SENNIT_KIND_NOT_SENT;

    if (err == SENNIT_ENOMEM)
        kind = SENNIT_KIND_NO_MEMORY;
    else if (err == SENNIT_EAGAIN)
        kind = SENNIT_KIND_OVERLOADED;
    else if (err == SENNIT_ECLOSED)
        kind = SENNIT_KIND_CLOSED;
    else if (err == SENNIT_EINVAL || err == SENNIT_EMSGSIZE)
        kind = SENNIT_KIND_BAD_MESSAGE;
    sennit_error_set(error, kind, SENNIT_RAN_NEVER, "%.120s: %s", address,
                     err == SENNIT_ESTATE
                         ? "a blocking call inside a callback; use sennit_bus_request()"
                         : sennit_err_text(err));
    return err;
}

/* Takes the outcome away from a waiter whose loop does not turn any more. */
static sennit_err
abandon(sennit_bus *bus, uint64_t id, call_waiter *waiter, sennit_err err)
{
    sni_call *call = sni_slots_find(&bus->calls, id);

    SNI_ASSERT(call != NULL);
    if (!call->finished)
        cancel(call);
    deliver(call);
    SNI_ASSERT(waiter->done);
    sni_bus_settle(bus);
    return err;
}

sennit_err
sni_request_call(sennit_bus *bus, const char *address, sennit_bytes body,
                 const sennit_call_opts *opts, int method_timeout_ms, sennit_arena *arena,
                 sennit_bytes *reply, sennit_error *error)
{
    call_waiter waiter = { .arena = arena, .error = error };
    sennit_loop *loop = bus->loop;
    sni_call *call;
    uint64_t id;
    sennit_err err;

    if (bus->dispatching && !bus->dying)
        return not_started(error, address, SENNIT_ESTATE);
    err = start(bus, address, body, opts, method_timeout_ms, &call);
    if (err)
        return not_started(error, address, err);
    id = call->slot.id;
    call->fn = (sennit_any_fn *)keep_outcome;
    call->arg = &waiter;
    /* A call that stays in this bus needs no look at the outside world. */
    sni_bus_enter(bus);
    sni_bus_pump(bus);
    sni_bus_leave(bus);
    while (!waiter.done) {
        err = sennit_loop_turn(loop, 1000);
        if (err && !waiter.done)
            return abandon(bus, id, &waiter, err);
    }
    if (!waiter.err)
        *reply = waiter.reply;
    return waiter.err;
}

sennit_err
sennit_bus_call(sennit_bus *bus, const char *address, sennit_bytes body,
                const sennit_call_opts *opts, sennit_arena *arena, sennit_bytes *reply,
                sennit_error *error)
{
    return sni_request_call(bus, address, body, opts, 0, arena, reply, error);
}
