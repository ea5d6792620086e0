/* SPDX-License-Identifier: MIT */
/* Law: at most one operation is out. An address that takes too long, and an attempt that
 * is cancelled, first get their operation back: `failed` holds why until then. */
#include "core/attempt.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "core/dialer.h"
#include "core/sock.h"
#include "core/socks.h"

struct sni_attempt {
    sni_dialer *dialer;
    sennit_loop *loop;
    sni_host host;
    sni_host source;
    sni_host target; /* the host, or the proxy's */
    bool has_source;
    bool proxied;
    bool cancelled;

    sni_lookup lookup;
    size_t next;     /* of the addresses in `lookup`; a known one comes without */
    size_t refusals; /* of those that were tried */
    sni_address address;

    sni_file *file;
    sni_op op;
    sennit_bytes part;
    sennit_timer timer;
    sennit_err failed; /* why the operation that is out no longer counts, or OK */
    const char *why;   /* of the same */
    sennit_err err;    /* of the last address */

    sni_socks socks;
    sni_block *answers; /* where the proxy's octets go */
};

static void try_next(sni_attempt *attempt);
static void pump_proxy(sni_attempt *attempt);

/* ---- ending ------------------------------------------------------------ */

static void
finish(sni_attempt *attempt, sni_file *file)
{
    sni_dialer *dialer = attempt->dialer;
    sennit_loop *loop = attempt->loop;
    sni_attempt_result result = {
        .file = file,
        .err = file != NULL ? SENNIT_OK : attempt->err,
        .refused = attempt->next > 0 && attempt->refusals == attempt->next,
    };

    SNI_ASSERT(!attempt->op.pending);
    sni_timers_stop(&loop->timers, &attempt->timer);
    sni_block_unref(attempt->answers);
    sni_release(&loop->allocator, attempt);
    sni_dialer_attempted(dialer, &result);
}

static void
tell(sni_attempt *attempt, sennit_event_kind kind, sennit_err err, const char *reason)
{
    sni_dialer *dialer = attempt->dialer;
    sennit_event *event = sni_sock_new_event(dialer->sock, kind, dialer->endpoint);

    if (event == NULL)
        return;
    event->err = err;
    event->reason = reason;
    if (attempt->next > 0)
        sni_address_peer_text(&attempt->address, event->address);
}

/* This address is done with. */
static void
address_failed(sni_attempt *attempt, sennit_err err, const char *reason)
{
    sennit_loop *loop = attempt->loop;

    sni_timers_stop(&loop->timers, &attempt->timer);
    if (attempt->file != NULL)
        loop->io->ops->close(loop->io, attempt->file);
    attempt->file = NULL;
    attempt->err = err;
    attempt->failed = SENNIT_OK;
    /* A path that is gone has nobody behind it either. */
    attempt->refusals +=
        err == SENNIT_ECONNREFUSED ||
        (err == SENNIT_ENOENT && attempt->address.kind == SNI_ADDRESS_IPC);
    if (!attempt->cancelled)
        tell(attempt, SENNIT_EVENT_CONNECT_FAILED, err, reason);
}

/* The operation that is out no longer counts. */
static void
call_back(sni_attempt *attempt, sennit_err err, const char *why)
{
    sni_io *io = attempt->loop->io;

    if (attempt->failed != SENNIT_OK)
        return;
    attempt->failed = err;
    attempt->why = why;
    if (io->ops->retract(io, &attempt->op)) {
        /* Nobody was asked yet. */
        if (attempt->op.why != NULL)
            attempt->why = attempt->op.why;
        sni_attempt_done(attempt, &attempt->op);
    } else {
        io->ops->cancel(io, &attempt->op);
    }
}

static void
on_timeout(void *arg)
{
    call_back(arg, SENNIT_ETIMEDOUT, "not connected within connect_timeout_ms");
}

static void
on_lookup_timeout(void *arg)
{
    call_back(arg, SENNIT_ETIMEDOUT, "the host was not found within connect_timeout_ms");
}

static void
on_proxy_timeout(void *arg)
{
    call_back(arg, SENNIT_ETIMEDOUT,
              "the proxy did not connect within handshake_timeout_ms");
}

/* `timeout_ms` is 0: none. */
static sennit_err
start_timer(sni_attempt *attempt, int timeout_ms, void (*fn)(void *arg))
{
    if (timeout_ms == 0)
        return SENNIT_OK;
    return sni_timers_start(
        &attempt->loop->timers, &attempt->timer,
        sni_loop_now(attempt->loop) + (sennit_time)timeout_ms * 1000000u, fn, attempt);
}

void
sni_attempt_cancel(sni_attempt *attempt)
{
    attempt->cancelled = true;
    call_back(attempt, SENNIT_ECLOSED, "closed");
}

/* ---- the proxy --------------------------------------------------------- */

static void
open_proxy(sni_attempt *attempt)
{
    const sennit_sock_opts *opts = &attempt->dialer->sock->opts;
    sennit_err err = SENNIT_OK;

    if (attempt->answers == NULL)
        attempt->answers = sni_block_new(&attempt->loop->allocator, SNI_SOCKS_IN_MAX);
    /* The system bounds a connect, and nobody what a proxy takes to answer. */
    if (attempt->timer.index_ == 0)
        err = start_timer(attempt, opts->handshake_timeout_ms, on_proxy_timeout);
    if (err || attempt->answers == NULL) {
        address_failed(attempt, SENNIT_ENOMEM, "no memory to speak to the proxy");
        return;
    }
    sni_socks_open(&attempt->socks, attempt->host.name, &attempt->host.address,
                   opts->socks_username, opts->socks_password);
}

/* False when an operation is out or the address has failed. */
static bool
submit(sni_attempt *attempt, sni_op op)
{
    sni_io *io = attempt->loop->io;

    op.file = attempt->file;
    op.owner = attempt;
    op.owner_kind = SNI_OWNER_ATTEMPT;
    attempt->op = op;
    return io->ops->submit(io, &attempt->op);
}

static bool
send_to_proxy(sni_attempt *attempt)
{
    attempt->part = sni_socks_output(&attempt->socks);
    return submit(
        attempt,
        (sni_op){ .kind = SNI_OP_SEND, .parts = &attempt->part, .parts_count = 1 });
}

static bool
receive_from_proxy(sni_attempt *attempt)
{
    return submit(attempt, (sni_op){ .kind = SNI_OP_RECV,
                                     .home = sni_block_ref(attempt->answers),
                                     .into = attempt->answers->data,
                                     .room = sni_socks_wanted(&attempt->socks) });
}

/* One of the two is done. False when the address has failed. */
static bool
moved(sni_attempt *attempt)
{
    sni_op *op = &attempt->op;
    sennit_err err = op->err;
    const char *reason = "the connection to the proxy broke";

    if (op->kind == SNI_OP_SEND) {
        if (err == SENNIT_OK)
            sni_socks_wrote(&attempt->socks, op->size);
    } else {
        sni_block_unref(op->home);
        op->home = NULL;
        if (err == SENNIT_OK) {
            err = sni_socks_feed(&attempt->socks, sni_bytes(op->into, op->size));
            reason = attempt->socks.reason;
        }
    }
    if (err)
        address_failed(attempt, err, reason);
    return err == SENNIT_OK;
}

static void
pump_proxy(sni_attempt *attempt)
{
    while (attempt->socks.state != SNI_SOCKS_DONE) {
        bool done = sni_socks_output(&attempt->socks).size > 0
                        ? send_to_proxy(attempt)
                        : receive_from_proxy(attempt);

        if (!done)
            return;
        if (!moved(attempt)) {
            try_next(attempt);
            return;
        }
    }
    finish(attempt, attempt->file);
}

/* ---- one address after the other --------------------------------------- */

static void
connected(sni_attempt *attempt)
{
    sennit_err err = attempt->op.err;

    if (err) {
        const char *why = attempt->op.why;

        if (why == NULL)
            why = err == SENNIT_EAGAIN ? "the listener's backlog is full"
                                       : sennit_err_text(err);
        address_failed(attempt, err, why);
        try_next(attempt);
    } else if (!attempt->proxied) {
        finish(attempt, attempt->file);
    } else {
        open_proxy(attempt);
        if (attempt->file == NULL)
            try_next(attempt);
        else
            pump_proxy(attempt);
    }
}

/* The address we come from, on an interface that may have got another since. */
static sennit_err
find_source(sni_attempt *attempt, sni_address *out, const char **why)
{
    bool v6 = attempt->address.kind == SNI_ADDRESS_TCP6;

    return sni_host_here(&attempt->source, attempt->loop->io, !v6, v6, out, why);
}

static sennit_err
dial(sni_attempt *attempt, const char **why)
{
    sni_dialer *dialer = attempt->dialer;
    sni_io *io = attempt->loop->io;
    sni_address source;
    sennit_err err = SENNIT_OK;

    *why = NULL;
    if (attempt->has_source)
        err = find_source(attempt, &source, why);
    if (err)
        return err;
    err = io->ops->dial(io, &attempt->address, attempt->has_source ? &source : NULL,
                        &dialer->sock->opts, &attempt->file);
    if (err)
        *why = io->why;
    return err;
}

/* False when it has failed already. */
static bool
begin_address(sni_attempt *attempt)
{
    const char *why;
    sennit_err err;

    tell(attempt, SENNIT_EVENT_CONNECTING, SENNIT_OK, "");
    err = dial(attempt, &why);
    if (err == SENNIT_OK)
        err = start_timer(attempt, attempt->dialer->sock->opts.connect_timeout_ms,
                          on_timeout);
    if (err)
        address_failed(attempt, err, why != NULL ? why : sennit_err_text(err));
    return err == SENNIT_OK;
}

static void
try_next(sni_attempt *attempt)
{
    while (!attempt->cancelled && attempt->next < attempt->lookup.found_count) {
        attempt->address = sni_address_of_ip(&attempt->lookup.found[attempt->next],
                                             attempt->target.address.port);
        attempt->next++;
        if (!begin_address(attempt))
            continue;
        if (submit(attempt, (sni_op){ .kind = SNI_OP_CONNECT }))
            connected(attempt);
        return;
    }
    finish(attempt, NULL);
}

/* ---- where to ---------------------------------------------------------- */

static void
looked_up(sni_attempt *attempt)
{
    const sni_op *op = &attempt->op;

    sni_timers_stop(&attempt->loop->timers, &attempt->timer);
    if (op->err) {
        attempt->err = op->err;
        attempt->lookup.found_count = 0;
        tell(attempt, SENNIT_EVENT_CONNECT_FAILED, op->err,
             op->why != NULL ? op->why : sennit_err_text(op->err));
    }
    try_next(attempt);
}

/* A known address needs no look-up. */
static void
begin_known(sni_attempt *attempt)
{
    sni_io *io = attempt->loop->io;
    sennit_err err = SENNIT_OK;

    attempt->address = attempt->target.address;
    if (attempt->target.zone[0] != '\0')
        err = io->ops->interface_scope(io, attempt->target.zone, &attempt->address.scope);
    attempt->next = 1;
    if (err)
        address_failed(attempt, err, "there is no interface of the zone's name");
    if (err || !begin_address(attempt))
        finish(attempt, NULL);
    else if (submit(attempt, (sni_op){ .kind = SNI_OP_CONNECT }))
        connected(attempt);
}

/* Where to connect first: the host, or the proxy. */
static sennit_err
choose_target(sni_attempt *attempt)
{
    const sni_dialer *dialer = attempt->dialer;
    const char *proxy = dialer->sock->opts.socks_proxy;
    const char *why;
    sni_endpoint where;
    sennit_err err = sni_endpoint_parse(dialer->endpoint, false, &where, &why);

    SNI_ASSERT(err == SENNIT_OK); /* when it was asked for */
    attempt->host = where.host;
    attempt->source = where.source;
    attempt->has_source = where.has_source;
    attempt->target = where.host;
    attempt->proxied = proxy != NULL && where.host.address.kind != SNI_ADDRESS_IPC;
    return attempt->proxied ? sni_endpoint_parse_proxy(proxy, &attempt->target, &why)
                            : SENNIT_OK;
}

sennit_err
sni_attempt_start(sni_dialer *dialer)
{
    sennit_loop *loop = dialer->sock->loop;
    sni_attempt *attempt = sni_acquire_zero(&loop->allocator, sizeof *attempt);
    sennit_err err;

    if (attempt == NULL)
        return SENNIT_ENOMEM;
    attempt->dialer = dialer;
    attempt->loop = loop;
    err = choose_target(attempt);
    if (err)
        goto fail_attempt;
    if (attempt->target.known) {
        dialer->attempt = attempt;
        begin_known(attempt);
        return SENNIT_OK;
    }
    err = start_timer(attempt, dialer->sock->opts.connect_timeout_ms, on_lookup_timeout);
    if (err)
        goto fail_attempt;
    dialer->attempt = attempt;
    snprintf(attempt->lookup.host, sizeof attempt->lookup.host, "%s",
             attempt->target.name);
    attempt->lookup.ipv6 = dialer->sock->opts.ipv6;
    if (submit(attempt, (sni_op){ .kind = SNI_OP_RESOLVE, .lookup = &attempt->lookup }))
        looked_up(attempt);
    return SENNIT_OK;

fail_attempt:
    sni_release(&loop->allocator, attempt);
    return err;
}

void
sni_attempt_done(sni_attempt *attempt, sni_op *op)
{
    if (attempt->failed != SENNIT_OK) {
        if (op->kind == SNI_OP_RECV)
            sni_block_unref(op->home);
        if (op->kind == SNI_OP_RESOLVE)
            attempt->lookup.found_count = 0; /* it may have been found meanwhile */
        address_failed(attempt, attempt->failed, attempt->why);
        try_next(attempt);
        return;
    }
    switch ((sni_op_kind)op->kind) {
    case SNI_OP_RESOLVE:
        looked_up(attempt);
        break;
    case SNI_OP_CONNECT:
        connected(attempt);
        break;
    case SNI_OP_SEND:
    case SNI_OP_RECV:
        if (moved(attempt))
            pump_proxy(attempt);
        else
            try_next(attempt);
        break;
    case SNI_OP_ACCEPT:
    case SNI_OP_HANGUP:
        SNI_ASSERT(op->kind == SNI_OP_CONNECT);
        break;
    }
}
