/* SPDX-License-Identifier: MIT */
/* Send and publish, and what peers send and publish to us. */
#include <string.h>

#include "rpc/address.h"
#include "rpc/bus.h"

sennit_err
sni_bus_headers(sennit_bus *bus, const sennit_call_opts *opts, sennit_bytes *out)
{
    sennit_err err;

    *out = (sennit_bytes){ NULL, 0 };
    if (opts == NULL || opts->headers_count == 0)
        return SENNIT_OK;
    sennit_buf_clear(&bus->headers);
    err = sni_headers_write(&bus->headers, opts->headers, opts->headers_count);
    if (!err)
        *out = sennit_buf_bytes(&bus->headers);
    return err;
}

/* Fills a letter of ours. Errors: ECLOSED, EINVAL, EMSGSIZE, ENOMEM. */
static sennit_err
write_letter(sennit_bus *bus, const char *address, sennit_bytes body,
             const sennit_call_opts *opts, sni_record_type type, sni_letter *out)
{
    sennit_err err;

    memset(out, 0, sizeof *out);
    if (bus->dying)
        return SENNIT_ECLOSED;
    out->type = type;
    out->address = sennit_str_of(address);
    out->body = body;
    out->node = bus->node_id;
    out->deadline = SENNIT_NEVER;
    if (sni_address_form_of(out->address) != SNI_ADDRESS_EXACT)
        return SENNIT_EINVAL;
    err = sni_bus_headers(bus, opts, &out->headers);
    if (err)
        return err;
    if (body.size + out->address.size + out->headers.size + SNI_RECORD_OVERHEAD >
        bus->opts.frame_max_bytes)
        return SENNIT_EMSGSIZE;
    out->arrived = sennit_loop_now(bus->loop);
    return SENNIT_OK;
}

static sni_record
record_of(const sni_letter *letter)
{
    return (sni_record){ .type = letter->type,
                         .address = letter->address,
                         .headers = letter->headers,
                         .body = letter->body };
}

/* ---- Send ------------------------------------------------------------- */

static sennit_err
post_local(sennit_consumer *consumer, sni_letter *letter, sennit_str method)
{
    letter->method = NULL;
    if (consumer->service != NULL) {
        letter->method = sni_consumer_method(consumer, method);
        if (letter->method == NULL)
            return SENNIT_ENOTSUP;
    }
    return sni_consumer_post(consumer, letter);
}

sennit_err
sennit_bus_send(sennit_bus *bus, const char *address, sennit_bytes body,
                const sennit_call_opts *opts)
{
    sni_letter letter;
    sni_record record;
    sennit_str method;
    sni_route *route;
    size_t candidates;
    sennit_err err = write_letter(bus, address, body, opts, SNI_RECORD_SEND, &letter);

    if (err)
        return err;
    record = record_of(&letter);
    route = sni_routes_resolve(bus->routes, letter.address, &method);
    candidates = route != NULL ? route->locals.count + route->remotes.count : 0;
    err = SENNIT_ENOENT;
    for (; candidates > 0; candidates--) {
        bool local;
        void *target = sni_route_take(route, &local);
        const sni_conn *conn = local ? NULL : target;

        if (conn != NULL && conn->draining)
            continue;
        err = local ? post_local(target, &letter, method)
                    : sni_conn_write(target, &record, false);
        if (err != SENNIT_EAGAIN && err != SENNIT_ECONNRESET && err != SENNIT_ENOTSUP)
            break;
    }
    if (err == SENNIT_ECONNRESET)
        err = SENNIT_ENOENT; /* its connection has just gone */
    if (!err)
        bus->stats.sends_total++;
    sni_bus_settle(bus);
    return err;
}

/* ---- Publish ---------------------------------------------------------- */

typedef struct hearers {
    sennit_bus *bus;
    sni_letter *letter;
    bool foreign; /* it came from a connection */
    sennit_bytes encoded;
    uint64_t serial; /* marks nodes that have it already */
    size_t locals;
    size_t nodes;
} hearers;

static void
tell_consumer(hearers *to, sennit_consumer *consumer)
{
    sennit_err err;

    if (consumer->service != NULL)
        return;
    to->locals++;
    to->letter->method = NULL;
    err = sni_consumer_post(consumer, to->letter);
    if (err)
        sni_bus_dead(to->bus,
                     err == SENNIT_EAGAIN ? SENNIT_DEAD_MAILBOX_FULL
                                          : SENNIT_DEAD_NO_MEMORY,
                     to->letter);
}

/* Why a record could not be written to a connection. */
static sennit_dead_reason
unwritten(sennit_err err)
{
    if (err == SENNIT_EAGAIN)
        return SENNIT_DEAD_PEER_QUEUE_FULL;
    if (err == SENNIT_ECONNRESET)
        return SENNIT_DEAD_PEER_LOST;
    return err == SENNIT_EMSGSIZE ? SENNIT_DEAD_TOO_LARGE : SENNIT_DEAD_NO_MEMORY;
}

/* One copy for a node, however many of its consumers match (D6). */
static void
tell_node(hearers *to, sni_conn *conn)
{
    sennit_err err;

    if (conn->event_serial == to->serial || sni_link_linked(&conn->doomed))
        return;
    conn->event_serial = to->serial;
    err = sni_conn_write_raw(conn, to->encoded);
    if (err)
        sni_bus_dead(to->bus, unwritten(err), to->letter);
    else
        to->nodes++;
}

/* D9: whether a message from a connection may reach the consumer. */
static bool
is_open(const sennit_consumer *consumer)
{
    return consumer->scope == SENNIT_SCOPE_CLUSTER;
}

static void
tell_any(void *target, bool local, void *arg)
{
    hearers *to = arg;

    if (!local && to->encoded.size > 0)
        tell_node(to, target);
    else if (local && (!to->foreign || is_open(target)))
        tell_consumer(to, target);
}

sennit_err
sennit_bus_publish(sennit_bus *bus, const char *address, sennit_bytes body,
                   const sennit_call_opts *opts, size_t *nodes)
{
    sni_letter letter;
    sni_record record;
    hearers to = { .bus = bus, .letter = &letter };
    sennit_err err = write_letter(bus, address, body, opts, SNI_RECORD_PUB, &letter);

    if (err)
        return err;
    if (bus->stats.nodes > 0 || bus->events != NULL) {
        record = record_of(&letter);
        sennit_buf_clear(&bus->record);
        sni_record_write(&bus->record, &record);
        if (bus->record.err)
            return bus->record.err;
        to.encoded = sennit_buf_bytes(&bus->record);
    }
    to.serial = ++bus->event_serial;
    sni_routes_hear(bus->routes, letter.address, tell_any, &to);
    if (bus->events != NULL)
        sni_events_publish(bus, letter.address, to.encoded);
    bus->stats.publishes_total++;
    if (to.locals + to.nodes == 0 && bus->events == NULL)
        bus->stats.publishes_unheard_total++;
    if (nodes != NULL)
        *nodes = to.nodes;
    sni_bus_settle(bus);
    return SENNIT_OK;
}

/* ---- From peers ------------------------------------------------------- */

/* Answers a request that cannot be put into a mailbox. Without memory even for
 * that, the caller's own time ends its call. */
static void
refuse(sni_conn *conn, const sni_record *record, sennit_kind kind, const char *reason)
{
    char message[SENNIT_ERROR_MESSAGE_MAX + 1];
    sennit_error error;
    sni_record refusal = {
        .type = SNI_RECORD_ERR,
        .id = record->id,
        .kind = kind,
        .ran = SENNIT_RAN_NEVER,
    };

    sennit_error_set(&error, kind, SENNIT_RAN_NEVER, "%.*s: %s",
                     record->address.size < 120 ? (int)record->address.size : 0,
                     record->address.data, reason);
    memcpy(message, error.message, sizeof message);
    refusal.message = sennit_str_of(message);
    (void)sni_conn_write(conn, &refusal, true);
}

static void
accept_event(sni_conn *conn, sni_letter *letter)
{
    hearers to = { .bus = conn->bus, .letter = letter, .foreign = true };

    sni_routes_hear(conn->bus->routes, letter->address, tell_any, &to);
    if (to.locals == 0)
        sni_bus_dead(conn->bus, SENNIT_DEAD_NO_CONSUMER, letter);
}

/* The consumers of this bus in turn, until one takes it (D5). NONE, or why not. */
static sennit_kind
post_any(sni_conn *conn, sni_letter *letter)
{
    sennit_str method;
    sni_route *route = sni_routes_resolve(conn->bus->routes, letter->address, &method);
    size_t candidates = route != NULL ? route->locals.count : 0;
    sennit_kind kind = SENNIT_KIND_NO_HANDLERS;

    for (; candidates > 0; candidates--) {
        sennit_consumer *consumer = sni_route_take_local(route);

        if (!is_open(consumer))
            continue;
        switch (post_local(consumer, letter, method)) {
        case SENNIT_OK:
            return SENNIT_KIND_NONE;
        case SENNIT_ENOTSUP:
            kind = SENNIT_KIND_UNIMPLEMENTED;
            break;
        case SENNIT_EAGAIN:
            kind = SENNIT_KIND_OVERLOADED;
            break;
        default:
            return SENNIT_KIND_NO_MEMORY;
        }
    }
    return kind;
}

static sennit_dead_reason
dead_reason_of(sennit_kind kind)
{
    if (kind == SENNIT_KIND_OVERLOADED)
        return SENNIT_DEAD_MAILBOX_FULL;
    return kind == SENNIT_KIND_NO_MEMORY ? SENNIT_DEAD_NO_MEMORY
                                         : SENNIT_DEAD_NO_CONSUMER;
}

static void
accept_request(sni_conn *conn, const sni_record *record, sni_letter *letter)
{
    sennit_bus *bus = conn->bus;
    sni_inbound *inbound;
    sennit_kind kind;

    if (record->budget_us > 0 && record->budget_us < (UINT64_C(1) << 53))
        letter->deadline = letter->arrived + record->budget_us * 1000;
    if (sni_inbound_new(bus, conn, record->id, letter->deadline, &inbound)) {
        refuse(conn, record, SENNIT_KIND_NO_MEMORY, "out of memory");
        return;
    }
    letter->inbound = inbound->slot.id;
    kind = post_any(conn, letter);
    if (kind == SENNIT_KIND_NONE)
        return;
    sni_inbound_free(inbound);
    refuse(conn, record, kind, sennit_kind_text(kind));
}

void
sni_bus_accept(sni_conn *conn, const sni_record *record, const sennit_msg *frame)
{
    sennit_bus *bus = conn->bus;
    sni_letter letter = {
        .type = record->type,
        .address = record->address,
        .headers = record->headers,
        .body = record->body,
        .frame = frame,
        .node = conn->node != NULL ? conn->node->id : NULL,
        .arrived = sennit_loop_now(bus->loop),
        .deadline = SENNIT_NEVER,
    };
    sennit_kind kind;

    if (record->type == SNI_RECORD_REQ) {
        accept_request(conn, record, &letter);
        return;
    }
    if (record->type == SNI_RECORD_PUB) {
        accept_event(conn, &letter);
        return;
    }
    kind = post_any(conn, &letter);
    if (kind != SENNIT_KIND_NONE)
        sni_bus_dead(bus, dead_reason_of(kind), &letter);
}
