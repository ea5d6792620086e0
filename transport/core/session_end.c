/* SPDX-License-Identifier: MIT */
/* How a connection ends: in two steps, so that nobody finds it gone in the middle of a
 * call, and not before what it owes is with the kernel, if there is time for that. */
#include "core/session.h"

#include "base/alloc.h"
#include "core/dialer.h"
#include "core/listener.h"
#include "core/sock.h"

static void
take_back(sni_io *io, sni_op *op)
{
    if (!io->ops->retract(io, op))
        io->ops->cancel(io, op);
}

/* Nobody is sent to a peer that is known to be gone; what a connect has queued waits for
 * the next connection. */
static void
shut(sni_session *session)
{
    if (session->dialer != NULL || session->pipe == NULL)
        return;
    /* A message to it that is being sent, perhaps right now, is settled when the session
     * is taken apart. */
    session->pipe->leaving = true;
    sni_pipe_update_writable(session->pipe);
}

void
sni_session_end(sni_session *session, sennit_err err, const char *reason)
{
    sni_io *io = session->sock->loop->io;

    if (session->is_ending)
        return;
    session->is_ending = true;
    /* One that lingers for a reason ends for that one. */
    if (session->reason == NULL) {
        session->err = err;
        session->reason = reason;
    }
    take_back(io, &session->recv);
    take_back(io, &session->send);
    take_back(io, &session->hangup);
    shut(session);
    sni_link_remove(&session->dirty);
    sni_link_remove(&session->again);
    sni_list_push(&session->sock->loop->ending, &session->ending);
}

/* Nothing would ever end what it waits for. */
static void
no_timer(sni_session *session)
{
    sni_session_end(session, SENNIT_ENOMEM, "no memory for a timer");
}

/* ---- a peer that reads no more ------------------------------------------ */

static void on_unheard_over(void *arg);

static void
await_input_end(sni_session *session)
{
    sennit_loop *loop = session->sock->loop;

    if (sni_timers_start(&loop->timers, &session->linger_timer,
                         sni_loop_now(loop) + SNI_FINISH_NS, on_unheard_over,
                         session) != SENNIT_OK)
        no_timer(session);
}

/* It does not read, but has said no last word either (shutdown(2) can do that). */
static void
on_unheard_over(void *arg)
{
    sni_session *session = arg;

    if (session->recv.pending || session->sock->closed ||
        !sni_session_takes_the_rest(session))
        sni_session_end(session, SENNIT_ECONNRESET, "reset by peer");
    else
        await_input_end(session);
}

void
sni_session_unheard(sni_session *session)
{
    /* Nobody reads what it sent, and nothing else can leave. */
    if (session->sock->closed) {
        sni_session_end(session, SENNIT_ECONNRESET, "reset by peer");
        return;
    }
    (void)sni_engine_wrote(session->engine, 0);
    sni_engine_mute(session->engine);
    session->unheard = true;
    session->hung_up = true;
    shut(session);
    sni_session_take_turns(session);
    await_input_end(session);
}

/* ---- lingering ----------------------------------------------------------- */

/* Whether the kernel still has to deliver some of what was written. */
static bool
undelivered(const sni_session *session)
{
    sni_io *io = session->sock->loop->io;

    return io->ops->undelivered(io, session->file);
}

void
sni_session_linger_over(sni_session *session)
{
    if (session->finished && !undelivered(session))
        sni_session_end(session, SENNIT_OK, "closed");
    else
        sni_session_end(session, SENNIT_ETIMEDOUT,
                        "closed with messages unsent after linger_ms");
}

static void
on_linger_over(void *arg)
{
    sni_session_linger_over(arg);
}

/* Where all has arrived, a closed socket is done when there is nothing to read: closing
 * loses nothing then. One that goes on reads until the peer has closed, for a moment. */
static bool
is_settled(const sni_session *session, sennit_time now)
{
    return !undelivered(session) && (now >= session->finish_until ||
                                     (session->sock->closed && session->recv.pending));
}

/* No event tells what the peer's kernel has: that is looked at, less and less often. */
static void
await_end(void *arg)
{
    sni_session *session = arg;
    sennit_loop *loop = session->sock->loop;
    sennit_time now = sni_loop_now(loop);
    sennit_time next = now + session->finish_look;

    if (now >= session->linger_until || is_settled(session, now)) {
        sni_session_linger_over(session);
        return;
    }
    session->finish_look *= 2;
    if (session->finish_look > SNI_FINISH_LOOK_MAX_NS)
        session->finish_look = SNI_FINISH_LOOK_MAX_NS;
    if (next > session->linger_until)
        next = session->linger_until;
    if (sni_timers_start(&loop->timers, &session->linger_timer, next, await_end,
                         session) != SENNIT_OK)
        no_timer(session);
}

/* Closing now could still lose what is with the kernel: input that we have not read, or
 * that comes later, makes it reset the connection and forget what it has to send. So the
 * input is read; and if not all has arrived then, the peer is told, and has the time to
 * read and to close. */
void
sni_session_finish(sni_session *session)
{
    sennit_loop *loop = session->sock->loop;
    const sennit_timer *linger = &session->linger_timer;
    sennit_time now = sni_loop_now(loop);

    if (session->finished)
        return;
    session->finished = true;
    /* A PONG behind our last word would fail, and take with it what has not arrived. */
    sni_engine_mute(session->engine);
    if (!session->wrote || session->sock->opts.linger_ms == 0) {
        sni_session_end(session, SENNIT_OK, "closed");
        return;
    }
    session->linger_until = linger->index_ != 0 ? linger->at_ : SENNIT_NEVER;
    session->finish_until = now + SNI_FINISH_NS;
    session->finish_look = SNI_FINISH_LOOK_NS;
    sni_session_receive(session);
    if (session->is_ending)
        return;
    if (!is_settled(session, now))
        loop->io->ops->finish(loop->io, session->file);
    await_end(session);
}

static void
linger(sni_session *session)
{
    sennit_loop *loop = session->sock->loop;
    int linger_ms = session->sock->opts.linger_ms;

    session->lingering = true;
    if (linger_ms == 0 || session->pipe == NULL ||
        (!session->ready && !sni_pipe_has_output(session->pipe))) {
        sni_session_end(session, SENNIT_OK, "closed");
        return;
    }
    /* A closed socket reads its input away; perhaps the peer reads only then. */
    if (session->sock->closed && session->ready) {
        sni_session_receive(session);
        if (session->is_ending)
            return;
    }
    if (session->finished) {
        /* Now its socket is closed too. */
        session->finish_look = SNI_FINISH_LOOK_NS;
        await_end(session);
    } else if (session->unheard) {
        /* Else a timer is about to end it. */
        if (session->sock->closed)
            sni_session_end(session, SENNIT_OK, "closed");
    } else if (linger_ms > 0 &&
               sni_timers_start(&loop->timers, &session->linger_timer,
                                sni_loop_now(loop) + (sennit_time)linger_ms * 1000000u,
                                on_linger_over, session) != SENNIT_OK) {
        no_timer(session);
    } else {
        sni_session_output(session);
    }
}

void
sni_session_linger(sni_session *session)
{
    if (session->pipe != NULL)
        sni_pipe_leave(session->pipe);
    linger(session);
}

void
sni_session_dismiss(sni_session *session, bool flush, sennit_err err, const char *reason)
{
    if (session->is_ending)
        return;
    if (!flush) {
        sni_session_end(session, err, reason);
        return;
    }
    session->err = err;
    session->reason = reason;
    if (session->dialer == NULL) {
        sni_session_linger(session);
        return;
    }
    if (session->pipe != NULL) {
        session->pipe->leaving = true;
        sni_pipe_update_writable(session->pipe);
    }
    linger(session);
}

bool
sni_session_save_input(sni_session *session)
{
    sni_pipe *pipe = session->pipe;
    sni_engine_event event;

    if (pipe == NULL || !session->ready || !pipe->attached ||
        !session->sock->pattern.ops->receives || session->sock->pattern.ops->take != NULL)
        return true;
    while (sni_engine_unread(session->engine) > 0) {
        if (sni_msgq_reserve(&pipe->inq) != SENNIT_OK ||
            !sni_engine_next(session->engine, &event))
            return false;
        if (event.kind == SNI_ENGINE_MESSAGE)
            (void)sni_msgq_push(&pipe->inq, &event.msg, event.msg.more);
    }
    return true;
}

static void
leave_pipe(sni_session *session)
{
    sni_pipe *pipe = session->pipe;
    sennit_sock *sock = session->sock;

    if (pipe == NULL)
        return;
    pipe->session = NULL;
    /* The policy asks what of this connection is still to be read. */
    sni_pipe_update_unread(pipe);
    sni_pipe_restart_output(pipe);
    /* What was addressed to this peer must not reach another that answers at the same
     * endpoint. Before READY it was for whoever answers there (connect_as). */
    if (session->ready && (sock->type == SENNIT_ROUTER || sock->type == SENNIT_REP ||
                           sock->type == SENNIT_STREAM || pipe->immediate))
        sni_pipe_drop_output(pipe);
    if (pipe->attached && pipe->peer.connected)
        sni_pattern_disconnected(&sock->pattern, &pipe->peer, pipe->outq.bytes == 0);
    if (session->dialer != NULL && !session->dialer->closing)
        pipe->leaving = false;
    sni_pipe_update_writable(pipe);
    if (session->dialer == NULL)
        sni_pipe_retire(pipe);
    sni_sock_changed(sock);
}

bool
sni_session_bury(sni_session *session)
{
    sennit_sock *sock = session->sock;
    sennit_loop *loop = sock->loop;
    sni_dialer *dialer = session->dialer;
    sennit_time ready_for = 0;

    if (session->recv.pending || session->send.pending || session->hangup.pending)
        return false;
    if (!sni_session_save_input(session)) {
        /* Nothing is lost for want of memory: it stays until there is some, or until
         * the application has read it out of the engine. */
        loop->short_of_memory = true;
        return false;
    }
    if (session->ready) {
        sennit_time now = sni_loop_now(loop);

        ready_for = now > session->ready_at ? now - session->ready_at : 1;
        sock->stats.connections--;
        sni_session_tell(session, SENNIT_EVENT_DISCONNECTED, session->err,
                         session->reason);
    } else {
        if (session->listener != NULL)
            sni_listener_settled(session->listener, session);
        sock->stats.handshakes_failed++;
        sni_session_tell(session, SENNIT_EVENT_HANDSHAKE_FAILED, session->err,
                         session->reason);
    }
    leave_pipe(session);
    sni_timers_stop(&loop->timers, &session->timer);
    sni_timers_stop(&loop->timers, &session->linger_timer);
    sni_engine_free(session->engine);
    sni_block_unref(session->recv.home);
    sni_session_return_vector(session);
    loop->io->ops->close(loop->io, session->file);
    sni_link_remove(&session->link);
    sni_link_remove(&session->ending);
    if (dialer != NULL) {
        dialer->session = NULL;
        sni_dialer_lost(dialer, ready_for);
    }
    loop->socks_changed = true;
    sni_release(&loop->allocator, session);
    return true;
}
