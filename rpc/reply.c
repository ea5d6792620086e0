/* SPDX-License-Identifier: MIT */
/* The right to answer a request, from its arrival to its one answer. It ends by an
 * answer, by being dropped, or because nobody waits any more; its name is then
 * stale and every use of it is ESTATE. */
#include "rpc/bus.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

sennit_err
sni_inbound_new(sennit_bus *bus, sni_conn *conn, uint64_t caller, sennit_time deadline,
                sni_inbound **out)
{
    sni_inbound *inbound;
    sennit_err err = sni_slots_take(&bus->inbounds, sni_bus_random(bus), &inbound);

    if (err)
        return SENNIT_ENOMEM;
    inbound->bus = bus;
    inbound->conn = conn;
    inbound->caller = caller;
    inbound->deadline = deadline;
    sni_link_init(&inbound->link);
    sni_link_init(&inbound->children);
    if (conn != NULL)
        sni_list_push(&conn->inbounds, &inbound->link);
    *out = inbound;
    return SENNIT_OK;
}

/* Lets the children go on without it, or into `orphans`. */
static void
release_children(sni_inbound *inbound, sni_link *orphans)
{
    sni_link *first;

    while ((first = sni_list_first(&inbound->children)) != NULL) {
        sni_link_remove(first);
        if (orphans != NULL)
            sni_list_push(orphans, first);
    }
}

void
sni_inbound_free(sni_inbound *inbound)
{
    sennit_bus *bus = inbound->bus;

    release_children(inbound, NULL);

    sni_timers_stop(&bus->timers, &inbound->timer);
    sni_link_remove(&inbound->link);
    sni_slots_give(&bus->inbounds, inbound);
}

void
sni_inbound_abandon(sni_inbound *inbound, sni_link *orphans)
{
    release_children(inbound, orphans);
    if (inbound->state != SNI_INBOUND_RUNNING) {
        sni_inbound_free(inbound); /* its mail, if any, finds the name stale */
        return;
    }
    inbound->cancelled = true; /* the handler on the stack may ask */
    inbound->conn = NULL;
    sni_link_remove(&inbound->link);
}

void
sni_inbound_cancel(sni_inbound *inbound)
{
    sni_link orphans;

    sni_link_init(&orphans);
    sni_inbound_abandon(inbound, &orphans);
    sni_calls_cancel(&orphans);
}

sni_inbound *
sni_inbound_of(sni_conn *conn, uint64_t caller)
{
    /* Callers give up in the order they asked, mostly: the first is a match. */
    for (sni_link *at = conn->inbounds.next; at != &conn->inbounds; at = at->next) {
        sni_inbound *inbound = SNI_OWNER_OF(at, sni_inbound, link);

        if (inbound->caller == caller)
            return inbound;
    }
    return NULL;
}

/* The right named by `reply`, if somebody still waits. */
static sni_inbound *
find(sennit_reply reply)
{
    sni_inbound *inbound;

    if (reply.id == 0)
        return NULL;
    inbound = sni_slots_find(&reply.bus->inbounds, reply.id);
    return inbound != NULL && !inbound->cancelled ? inbound : NULL;
}

/* The same for those who are about to use it. Errors: ESTATE, ECLOSED. */
static sennit_err
claim(sennit_reply reply, sni_inbound **out)
{
    sni_inbound *inbound = find(reply);

    if (inbound == NULL)
        return SENNIT_ESTATE;
    if (inbound->bus->dying)
        return SENNIT_ECLOSED;
    *out = inbound;
    return SENNIT_OK;
}

/* The call of our own that waits for `inbound`, or NULL. */
static sni_call *
local_call(const sni_inbound *inbound)
{
    sni_call *call;

    if (inbound->conn != NULL)
        return NULL;
    call = sni_slots_find(&inbound->bus->calls, inbound->caller);
    return call != NULL && !call->finished ? call : NULL;
}

/* ---- Answers ---------------------------------------------------------- */

/* A failure for a caller in this bus. Without memory for the words the kind and
 * `ran` are told without them. */
static void
fail_local(sni_inbound *inbound, const sennit_error *error)
{
    sennit_bus *bus = inbound->bus;
    sni_call *call = local_call(inbound);
    sennit_error *copy;

    if (call == NULL)
        return;
    copy = sni_acquire(bus->alloc, sizeof *copy + error->detail.size);
    if (copy == NULL) {
        sni_call_finish(call, error->kind, error->ran, sennit_kind_text(error->kind));
        return;
    }
    *copy = *error;
    if (error->detail.size > 0) {
        memcpy(copy + 1, error->detail.data, error->detail.size);
        copy->detail.data = (const uint8_t *)(copy + 1);
    }
    sni_call_finish_error(call, copy);
}

/* Makes `text` UTF-8, which the wire demands: words that were cut within a
 * character lose its rest, other bytes become question marks. */
static void
make_utf8(char *text)
{
    size_t size = strlen(text);

    for (size_t cut = 0; cut < 4 && cut < size; cut++) {
        if (sennit_str_is_utf8((sennit_str){ text, size - cut })) {
            text[size - cut] = '\0';
            return;
        }
    }
    for (size_t i = 0; i < size; i++) {
        if ((unsigned char)text[i] >= 0x80)
            text[i] = '?';
    }
}

static sennit_err
fail_remote(sni_inbound *inbound, const sennit_error *error, bool control)
{
    sni_record record = {
        .type = SNI_RECORD_ERR,
        .id = inbound->caller,
        .kind = error->kind,
        .ran = error->ran,
        .code = error->code,
        .message = sennit_str_of(error->message),
        .detail_id = error->detail_id,
        .body = error->detail,
    };

    return sni_conn_write(inbound->conn, &record, control);
}

/* Ends the right with `error`. On EAGAIN and ENOMEM (not for `control`) it stays. */
static sennit_err
fail(sni_inbound *inbound, const sennit_error *error, bool control)
{
    sennit_bus *bus = inbound->bus;
    sennit_err err = SENNIT_OK;

    if (inbound->conn != NULL)
        err = fail_remote(inbound, error, control);
    else if (error->detail.size + SNI_RECORD_OVERHEAD > bus->opts.frame_max_bytes)
        err = SENNIT_EMSGSIZE;
    else
        fail_local(inbound, error);
    if (err == SENNIT_EMSGSIZE) {
        sni_inbound_refuse(inbound, SENNIT_KIND_TOO_LARGE, SENNIT_RAN_YES,
                           "the error's detail is larger than the largest frame");
        return err;
    }
    if ((err == SENNIT_EAGAIN || err == SENNIT_ENOMEM) && !control)
        return err;
    sni_inbound_free(inbound);
    sni_bus_settle(bus);
    return err == SENNIT_ECONNRESET ? SENNIT_ESTATE : err;
}

void
sni_inbound_refuse(sni_inbound *inbound, sennit_kind kind, sennit_ran ran,
                   const char *reason)
{
    sennit_error error;

    sennit_error_set(&error, kind, ran, "%s", reason);
    (void)fail(inbound, &error, true);
}

void
sni_inbound_returned(sni_inbound *inbound, sennit_str address)
{
    sennit_error error;

    if (inbound->cancelled) {
        sni_inbound_free(inbound);
        return;
    }
    if (inbound->state == SNI_INBOUND_KEPT)
        return;
    sennit_error_set(&error, SENNIT_KIND_NO_REPLY, SENNIT_RAN_YES,
                     "%.*s: the handler returned without answering or keeping its reply",
                     (int)(address.size < 120 ? address.size : 120), address.data);
    make_utf8(error.message);
    (void)fail(inbound, &error, true);
}

sennit_err
sennit_reply_ok(sennit_reply reply, sennit_bytes body)
{
    sennit_bus *bus = reply.bus;
    sni_record record = { .type = SNI_RECORD_RES, .body = body };
    sni_inbound *inbound;
    sennit_err err = claim(reply, &inbound);
    sni_call *call;
    uint8_t *copy;

    if (err)
        return err;
    if (inbound->conn != NULL) {
        record.id = inbound->caller;
        err = sni_conn_write(inbound->conn, &record, false);
    } else if (body.size + SNI_RECORD_OVERHEAD > bus->opts.frame_max_bytes) {
        err = SENNIT_EMSGSIZE;
    } else {
        call = local_call(inbound);
        copy = sni_acquire(bus->alloc, body.size > 0 ? body.size : 1);
        if (copy == NULL)
            return SENNIT_ENOMEM;
        if (body.size > 0)
            memcpy(copy, body.data, body.size);
        if (call != NULL)
            sni_call_finish_ok(call, copy, body.size);
        else
            sni_release(bus->alloc, copy);
    }
    if (err == SENNIT_EAGAIN || err == SENNIT_ENOMEM)
        return err;
    if (err == SENNIT_EMSGSIZE) {
        sni_inbound_refuse(inbound, SENNIT_KIND_TOO_LARGE, SENNIT_RAN_YES,
                           "the reply is larger than the largest frame");
        return err;
    }
    sni_inbound_free(inbound);
    sni_bus_settle(bus);
    return err == SENNIT_ECONNRESET ? SENNIT_ESTATE : err;
}

sennit_err
sennit_reply_error(sennit_reply reply, int32_t code, uint32_t detail_id,
                   sennit_bytes detail, const char *message)
{
    sennit_error error;
    sni_inbound *inbound;
    sennit_err err = claim(reply, &inbound);

    if (err)
        return err;
    sennit_error_set(&error, SENNIT_KIND_RECIPIENT_FAILURE, SENNIT_RAN_YES, "%s",
                     message != NULL ? message : "");
    make_utf8(error.message);
    error.code = code;
    error.detail_id = detail_id;
    error.detail = detail;
    return fail(inbound, &error, false);
}

static sennit_err
fail_with(sennit_reply reply, sennit_kind kind, sennit_ran ran, const char *format,
          va_list args)
{
    /* A refusal goes beyond the queue's bound (B2): if it had to wait for room its
     * handler would return without an answer, and the caller be told that it ran. */
    bool control = ran == SENNIT_RAN_NEVER;
    sennit_error error;
    sni_inbound *inbound;
    sennit_err err = claim(reply, &inbound);

    if (err)
        return err;
    sennit_error_set(&error,
                     kind == SENNIT_KIND_NONE ? SENNIT_KIND_RECIPIENT_FAILURE : kind, ran,
                     "%s", "");
    (void)vsnprintf(error.message, sizeof error.message, format, args);
    make_utf8(error.message);
    return fail(inbound, &error, control);
}

sennit_err
sennit_reply_vfail(sennit_reply reply, sennit_kind kind, const char *format, va_list args)
{
    return fail_with(reply, kind, SENNIT_RAN_YES, format, args);
}

sennit_err
sennit_reply_fail(sennit_reply reply, sennit_kind kind, const char *format, ...)
{
    va_list args;
    sennit_err err;

    va_start(args, format);
    err = sennit_reply_vfail(reply, kind, format, args);
    va_end(args);
    return err;
}

sennit_err
sennit_reply_refuse(sennit_reply reply, sennit_kind kind, const char *format, ...)
{
    va_list args;
    sennit_err err;

    va_start(args, format);
    err = fail_with(reply, kind, SENNIT_RAN_NEVER, format, args);
    va_end(args);
    return err;
}

/* ---- Keeping and dropping --------------------------------------------- */

static void
kept_expired(void *arg)
{
    sni_inbound_cancel(arg); /* the caller's own clock has ended the call */
}

sennit_err
sennit_reply_keep(sennit_reply reply)
{
    sni_inbound *inbound;
    sennit_err err = claim(reply, &inbound);

    if (err)
        return err;
    if (inbound->state == SNI_INBOUND_KEPT)
        return SENNIT_OK;
    inbound->state = SNI_INBOUND_KEPT;
    /* A call of our own ends by its own timer. Without memory for this one the right
     * just lives until it is used. */
    if (inbound->conn != NULL && inbound->deadline != SENNIT_NEVER)
        (void)sni_timers_start(&reply.bus->timers, &inbound->timer, inbound->deadline,
                               kept_expired, inbound);
    return SENNIT_OK;
}

void
sennit_reply_drop(sennit_reply reply)
{
    sni_inbound *inbound;

    if (claim(reply, &inbound) == SENNIT_OK)
        sni_inbound_refuse(inbound, SENNIT_KIND_NO_REPLY, SENNIT_RAN_YES,
                           sennit_kind_text(SENNIT_KIND_NO_REPLY));
}

bool
sennit_reply_cancelled(sennit_reply reply)
{
    return find(reply) == NULL;
}

sennit_time
sennit_reply_remaining(sennit_reply reply)
{
    const sni_inbound *inbound = find(reply);
    sennit_time now;

    if (inbound == NULL)
        return 0;
    if (inbound->deadline == SENNIT_NEVER)
        return SENNIT_NEVER;
    now = sennit_loop_now(reply.bus->loop);
    return inbound->deadline > now ? inbound->deadline - now : 0;
}
