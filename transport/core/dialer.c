/* SPDX-License-Identifier: MIT */
#include "core/dialer.h"

#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "core/sock.h"

/* Doublings are counted no further than this; the maximum delay rules long before. */
#define DOUBLINGS_MAX 20u

/* A connection that was READY for this long was a good one. */
#define HELD_NS (5u * UINT64_C(1000000000))

static void on_retry(void *arg);

static void
dialer_free(sni_dialer *dialer)
{
    sennit_loop *loop = dialer->sock->loop;

    SNI_ASSERT(dialer->session == NULL);
    SNI_ASSERT(dialer->attempt == NULL);
    sni_retry_stop(loop, &dialer->retry);
    sni_timers_stop(&loop->timers, &dialer->linger_timer);
    sni_pipe_retire(dialer->pipe);
    sni_link_remove(&dialer->link);
    loop->socks_changed = true;
    sni_release(&loop->allocator, dialer);
}

/* ---- the next attempt -------------------------------------------------- */

/* Half of the doubled delay is fixed, half is chance. */
static sennit_time
next_delay(sni_dialer *dialer)
{
    const sennit_sock_opts *opts = &dialer->sock->opts;
    sni_io *io = dialer->sock->loop->io;
    uint64_t cap = (uint64_t)opts->reconnect_min_ms << dialer->failures;

    if (cap > (uint64_t)opts->reconnect_max_ms)
        cap = (uint64_t)opts->reconnect_max_ms;
    cap *= 1000000u;
    return cap / 2 + io->ops->random(io) % (cap / 2 + 1);
}

static void
wait_for(sni_dialer *dialer, sennit_time delay)
{
    sennit_loop *loop = dialer->sock->loop;

    sni_retry_start(loop, &dialer->retry, sni_loop_now(loop) + delay, on_retry, dialer);
}

static void
retry_later(sni_dialer *dialer)
{
    sennit_time delay = next_delay(dialer);

    if (dialer->failures < DOUBLINGS_MAX)
        dialer->failures++;
    dialer->sock->stats.reconnects++;
    dialer->pipe->counts.reconnects++;
    sni_sock_event(dialer->sock, SENNIT_EVENT_RETRYING, dialer->endpoint, 0, SENNIT_OK,
                   "", (uint32_t)(delay / 1000000u), sni_bytes(NULL, 0));
    wait_for(dialer, delay);
}

static void
give_up(sni_dialer *dialer, sennit_err err, const char *reason)
{
    sni_sock_event(dialer->sock, SENNIT_EVENT_GAVE_UP, dialer->endpoint, 0, err, reason,
                   0, sni_bytes(NULL, 0));
    dialer_free(dialer);
}

/* `stop`: the bit of reconnect_stop for what happened, 0: none. */
static void
go_on(sni_dialer *dialer, unsigned stop, sennit_err err)
{
    const sennit_sock_opts *opts = &dialer->sock->opts;

    if (opts->reconnect_min_ms < 0)
        give_up(dialer, err, "reconnect_min_ms is -1");
    else if (!(opts->reconnect_stop & stop))
        retry_later(dialer);
    else if (stop == SENNIT_STOP_REFUSED)
        give_up(dialer, err, "reconnect_stop: the connection was refused");
    else if (stop == SENNIT_STOP_HANDSHAKE_FAILED)
        give_up(dialer, err, "reconnect_stop: the handshake failed");
    else
        give_up(dialer, err, "reconnect_stop: the connection ended");
}

static void
no_memory(sni_dialer *dialer)
{
    sni_sock_event(dialer->sock, SENNIT_EVENT_CONNECT_FAILED, dialer->endpoint, 0,
                   SENNIT_ENOMEM, "no memory for a connection", 0, sni_bytes(NULL, 0));
    go_on(dialer, 0, SENNIT_ENOMEM);
}

/* It closes, and nothing is left that would have to leave first. */
static bool
is_through(const sni_dialer *dialer)
{
    return dialer->closing && (dialer->abandoned || !sni_pipe_has_output(dialer->pipe));
}

static void
on_retry(void *arg)
{
    sni_dialer *dialer = arg;

    if (is_through(dialer))
        dialer_free(dialer);
    else if (sni_attempt_start(dialer) != SENNIT_OK)
        no_memory(dialer);
}

void
sni_dialer_attempted(sni_dialer *dialer, const sni_attempt_result *result)
{
    sennit_sock *sock = dialer->sock;
    sni_io *io = sock->loop->io;
    bool done_with = is_through(dialer);

    dialer->attempt = NULL;
    if (result->file != NULL && !done_with &&
        sni_session_open(sock, result->file, dialer, NULL) == SENNIT_OK)
        return;
    if (result->file != NULL)
        io->ops->close(io, result->file);
    if (done_with)
        dialer_free(dialer);
    else if (result->file != NULL)
        no_memory(dialer);
    else
        go_on(dialer, result->refused ? SENNIT_STOP_REFUSED : 0, result->err);
}

/* ---- opening and closing ----------------------------------------------- */

/* Interfaces that are named must be there; a host is looked up later. */
static sennit_err
check_interfaces(sennit_sock *sock, const sni_endpoint *where, const char **why)
{
    sni_io *io = sock->loop->io;
    sni_address address;
    sennit_err err = SENNIT_OK;

    if (where->host.zone[0] != '\0')
        err = sni_host_here(&where->host, io, true, true, &address, why);
    if (err == SENNIT_OK && where->has_source)
        err = sni_host_here(&where->source, io, true, true, &address, why);
    return err;
}

sennit_err
sni_dialer_open(sennit_sock *sock, const sni_endpoint *where, const char *endpoint,
                const char **why)
{
    sennit_loop *loop = sock->loop;
    size_t size = strlen(endpoint) + 1;
    sni_dialer *dialer;
    sennit_err err = check_interfaces(sock, where, why);

    if (err)
        return err;
    dialer = sni_acquire_zero(&loop->allocator, sizeof *dialer + size);
    if (dialer == NULL)
        return SENNIT_ENOMEM;
    dialer->sock = sock;
    memcpy(dialer->endpoint, endpoint, size);
    sni_link_init(&dialer->link);
    sni_retry_init(&dialer->retry);
    err = sni_pipe_new(&dialer->pipe, loop, sock);
    if (err)
        goto fail_dialer;
    err = sni_pipe_attach(dialer->pipe);
    if (err)
        goto fail_pipe;
    sni_list_push(&sock->dialers, &dialer->link);
    on_retry(dialer);
    return SENNIT_OK;

fail_pipe:
    sni_pipe_free(dialer->pipe);
fail_dialer:
    sni_release(&loop->allocator, dialer);
    return err;
}

/* What is queued no longer matters. */
static void
abandon(sni_dialer *dialer, sennit_err err, const char *reason)
{
    dialer->abandoned = true;
    if (dialer->session != NULL)
        sni_session_end(dialer->session, err, reason);
    else if (dialer->attempt != NULL)
        sni_attempt_cancel(dialer->attempt);
    else
        dialer_free(dialer);
}

static void
on_linger_over(void *arg)
{
    sni_dialer *dialer = arg;

    if (dialer->session != NULL)
        sni_session_linger_over(dialer->session); /* which knows what that means */
    abandon(dialer, SENNIT_OK, "closed");
}

void
sni_dialer_close(sni_dialer *dialer)
{
    sennit_loop *loop = dialer->sock->loop;
    int linger_ms = dialer->sock->opts.linger_ms;
    bool queued;

    dialer->closing = true;
    sni_pipe_leave(dialer->pipe);
    queued = sni_pipe_has_output(dialer->pipe);
    /* With an empty queue the kernel may still have something to deliver. */
    if (linger_ms == 0 ||
        (!queued && (dialer->session == NULL || !dialer->session->ready))) {
        abandon(dialer, SENNIT_OK, "closed");
        return;
    }
    /* Without memory for the timer nothing would ever end the lingering. */
    if (queued && linger_ms > 0 &&
        sni_timers_start(&loop->timers, &dialer->linger_timer,
                         sni_loop_now(loop) + (sennit_time)linger_ms * 1000000u,
                         on_linger_over, dialer) != SENNIT_OK)
        abandon(dialer, SENNIT_ENOMEM, "no memory for a timer");
    else if (dialer->session != NULL)
        sni_session_linger(dialer->session);
}

void
sni_dialer_end(sni_dialer *dialer)
{
    SNI_ASSERT(dialer->session != NULL);
    dialer->closing = true;
    sni_pipe_leave(dialer->pipe);
}

void
sni_dialer_lost(sni_dialer *dialer, sennit_time ready_for)
{
    if (is_through(dialer)) {
        dialer_free(dialer);
        return;
    }
    /* A connection that held makes up for earlier failures; one that was accepted
     * and cut at once is one more. */
    if (ready_for >= HELD_NS)
        dialer->failures = 0;
    go_on(dialer,
          ready_for == 0 ? SENNIT_STOP_HANDSHAKE_FAILED : SENNIT_STOP_DISCONNECTED,
          SENNIT_OK);
}

void
sni_dialer_emptied(sni_pipe *pipe)
{
    sni_link *dialers = &pipe->sock->dialers;

    for (sni_link *link = dialers->next; link != dialers; link = link->next) {
        sni_dialer *dialer = SNI_OWNER_OF(link, sni_dialer, link);

        if (dialer->pipe != pipe)
            continue;
        if (is_through(dialer))
            abandon(dialer, SENNIT_OK, "closed");
        return;
    }
}

void
sni_dialer_opts_changed(sni_dialer *dialer)
{
    sennit_loop *loop = dialer->sock->loop;
    int max_ms = dialer->sock->opts.reconnect_max_ms;

    if (dialer->closing || dialer->attempt != NULL || dialer->session != NULL)
        return;
    if (dialer->sock->opts.reconnect_min_ms < 0)
        give_up(dialer, SENNIT_OK, "reconnect_min_ms is -1");
    else if (dialer->retry.timer.index_ != 0 &&
             dialer->retry.timer.at_ >
                 sni_loop_now(loop) + (sennit_time)max_ms * 1000000u)
        wait_for(dialer, next_delay(dialer));
}
