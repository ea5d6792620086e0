/* SPDX-License-Identifier: MIT */
#include "core/dialer.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "core/sock.h"

/* Doublings are counted no further than this; the maximum delay rules long before. */
#define DOUBLINGS_MAX 20u

/* A connection that was READY for this long was a good one. */
#define HELD_NS (5u * UINT64_C(1000000000))

static void attempt(void *arg);

static void
dialer_free(sni_dialer *dialer)
{
    sennit_loop *loop = dialer->sock->loop;

    SNI_ASSERT(dialer->session == NULL);
    sni_timers_stop(&loop->timers, &dialer->timer);
    sni_timers_stop(&loop->timers, &dialer->linger_timer);
    sni_pipe_retire(dialer->pipe);
    sni_link_remove(&dialer->link);
    sni_link_remove(&dialer->again);
    loop->socks_changed = true;
    sni_release(&loop->allocator, dialer);
}

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
retry_later(sni_dialer *dialer)
{
    sennit_loop *loop = dialer->sock->loop;
    sennit_time delay = next_delay(dialer);

    if (dialer->failures < DOUBLINGS_MAX)
        dialer->failures++;
    dialer->sock->stats.reconnects++;
    sni_sock_event(dialer->sock, SENNIT_EVENT_RETRYING, dialer->endpoint, 0, SENNIT_OK,
                   "", (uint32_t)(delay / 1000000u), sni_bytes(NULL, 0));
    /* The heap keeps its capacity, so this fails only in a loop that never had as
     * many timers; without the timer the dialer would be silently dead. */
    if (sni_timers_start(&loop->timers, &dialer->timer, sni_loop_now(loop) + delay,
                         attempt, dialer) != SENNIT_OK)
        sni_list_push(&loop->again_dialers, &dialer->again);
}

static void
attempt(void *arg)
{
    sni_dialer *dialer = arg;
    sni_io *io = dialer->sock->loop->io;
    sni_file *file;
    sennit_err err = io->ops->dial(io, &dialer->address, &file);

    if (err == SENNIT_OK) {
        err = sni_session_open(dialer->sock, file, dialer, NULL);
        if (err)
            io->ops->close(io, file);
    }
    if (err) {
        sni_sock_event(dialer->sock, SENNIT_EVENT_CONNECT_FAILED, dialer->endpoint, 0,
                       err, sennit_err_text(err), 0, sni_bytes(NULL, 0));
        retry_later(dialer);
    }
}

void
sni_dialer_again(sni_dialer *dialer)
{
    attempt(dialer);
}

sennit_err
sni_dialer_open(sennit_sock *sock, const sni_address *address, const char *endpoint)
{
    sennit_loop *loop = sock->loop;
    sni_dialer *dialer = sni_acquire_zero(&loop->allocator, sizeof *dialer);
    sennit_err err;

    if (dialer == NULL)
        return SENNIT_ENOMEM;
    dialer->sock = sock;
    dialer->address = *address;
    snprintf(dialer->endpoint, sizeof dialer->endpoint, "%s", endpoint);
    sni_link_init(&dialer->link);
    sni_link_init(&dialer->again);
    err = sni_pipe_new(&dialer->pipe, loop, sock);
    if (err)
        goto fail_dialer;
    err = sni_pipe_attach(dialer->pipe);
    if (err)
        goto fail_pipe;
    sni_list_push(&sock->dialers, &dialer->link);
    attempt(dialer);
    return SENNIT_OK;

fail_pipe:
    sni_pipe_free(dialer->pipe);
fail_dialer:
    sni_release(&loop->allocator, dialer);
    return err;
}

static void
abandon(void *arg)
{
    sni_dialer *dialer = arg;

    dialer->abandoned = true;
    if (dialer->session != NULL)
        sni_session_end(dialer->session, SENNIT_ETIMEDOUT,
                        "closed with messages unsent after linger_ms");
    else
        dialer_free(dialer);
}

void
sni_dialer_close(sni_dialer *dialer)
{
    sennit_loop *loop = dialer->sock->loop;
    int linger_ms = dialer->sock->opts.linger_ms;

    dialer->closing = true;
    sni_pipe_leave(dialer->pipe);
    if (linger_ms == 0 || !sni_pipe_has_output(dialer->pipe)) {
        abandon(dialer);
        return;
    }
    /* Without memory for the timer nothing would ever end the lingering. */
    if (linger_ms > 0 &&
        sni_timers_start(&loop->timers, &dialer->linger_timer,
                         sni_loop_now(loop) + (sennit_time)linger_ms * 1000000u, abandon,
                         dialer) != SENNIT_OK)
        abandon(dialer);
    else if (dialer->session != NULL)
        sni_session_linger(dialer->session);
}

void
sni_dialer_lost(sni_dialer *dialer, sennit_time ready_for)
{
    if (dialer->closing && (dialer->abandoned || !sni_pipe_has_output(dialer->pipe))) {
        dialer_free(dialer);
        return;
    }
    /* A connection that held makes up for earlier failures; one that was accepted
     * and cut at once is one more. */
    if (ready_for >= HELD_NS)
        dialer->failures = 0;
    retry_later(dialer);
}
