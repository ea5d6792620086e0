/* SPDX-License-Identifier: MIT */
/* States, in the order a session goes through them:
 *   handshake  !ready
 *   ready      pipe, messages flow
 *   ending     operations are being called back
 * It is taken apart by sni_session_bury() only, at the end of a turn. */
#include "core/session.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "core/dialer.h"
#include "core/listener.h"
#include "core/sock.h"

static void pump_output(sni_session *session);
static void pump_input(sni_session *session);

static const char *
endpoint_of(const sni_session *session)
{
    if (session->dialer != NULL)
        return session->dialer->endpoint;
    return session->listener != NULL ? session->listener->endpoint : "";
}

static void
tell(sni_session *session, sennit_event_kind kind, sennit_err err, const char *reason)
{
    sennit_bytes identity = { NULL, 0 };

    if (session->pipe != NULL)
        identity = sennit_msg_bytes(&session->pipe->peer.identity);
    if (identity.size == 0 && session->engine != NULL)
        identity = sni_engine_identity(session->engine);
    sni_sock_event(session->sock, kind, endpoint_of(session), session->number, err,
                   reason, 0, identity);
}

/* ---- deadlines --------------------------------------------------------- */

/* A reader that has stopped for back-pressure cannot hear the peer, and a peer that
 * takes nothing for back-pressure may not have seen our PING: silence is no proof then.
 */
static bool
hearing(const sni_session *session)
{
    return !session->ready || (session->recv.pending && !session->send.pending);
}

static void
on_deadline(void *arg)
{
    sni_session *session = arg;
    const char *reason;
    sennit_err err;

    session->timer_at = SENNIT_NEVER;
    if (session->is_ending)
        return;
    err = sni_engine_tick(session->engine, sni_loop_now(session->sock->loop),
                          hearing(session));
    if (err) {
        (void)sni_engine_why(session->engine, &reason);
        sni_session_end(session, err, reason);
    }
}

static void
set_deadline(sni_session *session, sennit_time at)
{
    sennit_loop *loop = session->sock->loop;

    if (at == session->timer_at)
        return;
    session->timer_at = at;
    sni_timers_stop(&loop->timers, &session->timer);
    if (at != SENNIT_NEVER && sni_timers_start(&loop->timers, &session->timer, at,
                                               on_deadline, session) != SENNIT_OK)
        sni_session_end(session, SENNIT_ENOMEM, "no memory for a timer");
}

static void
update_deadline(sni_session *session)
{
    if (!session->is_ending)
        set_deadline(session, sni_engine_deadline(session->engine, hearing(session)));
}

/* ---- opening ----------------------------------------------------------- */

static sennit_err
open_engine(sni_session *session)
{
    sennit_sock *sock = session->sock;
    sennit_loop *loop = sock->loop;
    sni_engine_cfg cfg = {
        .alloc = loop->body_allocator,
        .windows = loop->recv_blocks,
        .bodies = loop->bodies,
        .outq = session->pipe != NULL ? &session->pipe->outq : NULL,
        .type = sock->type,
        .identity = sni_bytes(sock->opts.identity, sock->opts.identity_size),
        .admits = session->dialer == NULL,
        .publisher = sock->pattern.ops->subscription != NULL,
        .handshake_timeout = (sennit_time)sock->opts.handshake_timeout_ms * 1000000u,
        .frame_max_bytes = sock->opts.recv_frame_max_bytes,
        .message_max_bytes = sock->opts.recv_message_max_bytes,
        .message_max_parts = sock->opts.recv_message_max_parts,
        .peer = session->number,
    };

    return sni_engine_open(&session->engine, &cfg, sni_loop_now(loop));
}

sennit_err
sni_session_open(sennit_sock *sock, sni_file *file, sni_dialer *dialer,
                 sni_listener *listener)
{
    sennit_loop *loop = sock->loop;
    sni_session *session = sni_acquire_zero(&loop->allocator, sizeof *session);
    sennit_err err;

    if (session == NULL)
        return SENNIT_ENOMEM;
    session->sock = sock;
    session->file = file;
    session->dialer = dialer;
    session->listener = listener;
    session->reason = "";
    session->timer_at = SENNIT_NEVER;
    session->number = ++sock->next_number;
    session->lingering = dialer != NULL && dialer->closing;
    sni_link_init(&session->link);
    sni_link_init(&session->dirty);
    sni_link_init(&session->again);
    sni_link_init(&session->ending);
    session->recv = (sni_op){ .kind = SNI_OP_RECV, .file = file, .owner = session };
    session->send = (sni_op){ .kind = SNI_OP_SEND, .file = file, .owner = session };
    /* An accepted one's pipe, and with it the queue, comes with READY; until then only
     * the control lane is written. */
    session->pipe = dialer != NULL ? dialer->pipe : NULL;
    err = open_engine(session);
    if (err) {
        sni_release(&loop->allocator, session);
        return err;
    }
    sni_list_push(&sock->sessions, &session->link);
    if (dialer != NULL)
        dialer->session = session;
    if (session->pipe != NULL)
        session->pipe->session = session;
    tell(session, dialer != NULL ? SENNIT_EVENT_CONNECTED : SENNIT_EVENT_ACCEPTED,
         SENNIT_OK, "");
    pump_output(session);
    pump_input(session);
    return SENNIT_OK;
}

/* The handshake is done: the peer becomes one of the socket's. */
static void
become_ready(sni_session *session)
{
    sennit_sock *sock = session->sock;
    sennit_err err = SENNIT_OK;

    if (session->pipe == NULL) {
        sni_pipe *pipe;

        err = sni_pipe_new(&pipe, sock->loop, sock);
        if (err) {
            sni_session_end(session, err, "no memory for a peer");
            return;
        }
        session->pipe = pipe;
        pipe->session = session;
        sni_engine_set_outq(session->engine, &pipe->outq);
        err = sni_pipe_attach(pipe);
        if (err) {
            sni_session_end(session, err, "this socket has a peer already");
            return;
        }
    }
    session->pipe->peer.number = session->number;
    if (session->pipe->attached)
        err = sni_pattern_connected(&sock->pattern, &session->pipe->peer,
                                    sni_engine_identity(session->engine));
    if (err == SENNIT_OK)
        err = sni_engine_admit(session->engine);
    if (err) {
        sni_session_end(session, err,
                        err == SENNIT_EEXIST ? "identity is in use by another peer"
                                             : "no memory for a peer");
        return;
    }
    session->ready = true;
    if (session->listener != NULL)
        sni_listener_settled(session->listener);
    session->ready_at = sni_loop_now(sock->loop);
    sock->stats.connections++;
    tell(session, SENNIT_EVENT_READY, SENNIT_OK, "");
    sni_sock_touch(sock);
    /* What was queued while there was no connection, and subscriptions. */
    if (!sni_link_linked(&session->dirty))
        sni_list_push(&sock->loop->dirty, &session->dirty);
}

/* ---- the pump: output -------------------------------------------------- */

static void
sent(sni_session *session)
{
    sni_op *op = &session->send;
    size_t ended;

    if (session->is_ending)
        return;
    if (op->err) {
        sni_session_end(session, op->err,
                        op->err == SENNIT_ECONNRESET ? "reset by peer"
                                                     : "could not send");
        return;
    }
    ended = sni_engine_wrote(session->engine, op->size);
    session->sock->stats.delivered_msgs += ended;
    session->wrote = true;
    if (session->pipe != NULL && ended > 0)
        sni_pipe_update_writable(session->pipe);
}

static void
on_finish_over(void *arg)
{
    sni_session_end(arg, SENNIT_OK, "closed");
}

/* Everything is with the kernel. Closing now could still lose it: input that we have
 * not read makes the kernel reset the connection and forget what it has to send. So
 * the peer is told, and has a moment to read and to close. */
static void
finish(sni_session *session)
{
    sennit_loop *loop = session->sock->loop;

    if (session->finished)
        return;
    session->finished = true;
    if (!session->wrote || session->sock->opts.linger_ms == 0) {
        on_finish_over(session);
        return;
    }
    loop->io->ops->finish(loop->io, session->file);
    if (sni_timers_start(&loop->timers, &session->linger_timer,
                         sni_loop_now(loop) + SNI_FINISH_NS, on_finish_over,
                         session) != SENNIT_OK)
        on_finish_over(session);
    else
        pump_input(session);
}

static void
pump_output(sni_session *session)
{
    sni_io *io = session->sock->loop->io;

    sni_link_remove(&session->dirty);
    while (session->engine != NULL && !session->is_ending && !session->send.pending) {
        session->send.parts = session->parts;
        session->send.parts_count =
            sni_engine_output(session->engine, session->parts, SNI_SEND_PARTS);
        if (session->send.parts_count == 0)
            break;
        if (!io->ops->submit(io, &session->send))
            break;
        sent(session);
    }
    if (session->lingering && !session->is_ending && !session->send.pending &&
        session->engine != NULL && !sni_pipe_has_output(session->pipe))
        finish(session);
}

void
sni_session_flush(sni_session *session)
{
    pump_output(session);
}

void
sni_session_output_added(sni_session *session)
{
    if (!session->ready || session->is_ending || session->send.pending)
        return;
    if (session->pipe->outq.bytes >= SNI_BATCH_BYTES)
        pump_output(session);
    else if (!sni_link_linked(&session->dirty))
        sni_list_push(&session->sock->loop->dirty, &session->dirty);
}

sennit_err
sni_session_subscribe(sni_session *session, bool on, sennit_bytes topic)
{
    sennit_err err;

    if (session->is_ending || session->engine == NULL ||
        !sni_engine_in_traffic(session->engine))
        return SENNIT_OK; /* told when it is ready */
    err = sni_engine_send(session->engine, on ? SNI_ENGINE_SUBSCRIBE : SNI_ENGINE_CANCEL,
                          topic);
    if (err == SENNIT_OK && !sni_link_linked(&session->dirty))
        sni_list_push(&session->sock->loop->dirty, &session->dirty);
    return err;
}

/* ---- the pump: input --------------------------------------------------- */

/* Back-pressure is not asking: beyond the high-water mark nothing is received. */
static bool
may_receive(const sni_session *session)
{
    int hwm = session->sock->opts.recv_hwm_msgs;
    size_t unread;

    if (session->is_ending || session->recv.pending)
        return false;
    if (!session->ready || session->pipe->sock->closed)
        return true;
    unread = session->pipe->peer.unread;
    if (unread == 0)
        return true;
    return (hwm == 0 || unread < (size_t)hwm) &&
           sni_engine_spare(session->engine) >= SNI_RECV_MIN_BYTES;
}

/* Everything the engine has to say that is not a message somebody will ask for. */
static void
take_events(sni_session *session)
{
    sennit_sock *sock = session->sock;
    sni_engine_event event;
    sennit_err err = SENNIT_OK;

    while (!session->is_ending && err == SENNIT_OK &&
           (!session->ready || sock->pattern.ops->take != NULL || sock->closed) &&
           sni_engine_next(session->engine, &event)) {
        switch (event.kind) {
        case SNI_ENGINE_READY:
            become_ready(session);
            break;
        case SNI_ENGINE_MESSAGE:
            /* Nobody reads what a closed socket is sent. */
            if (!sock->closed && session->pipe->attached)
                err = sock->pattern.ops->take(&sock->pattern, &session->pipe->peer,
                                              &event.msg);
            sennit_msg_fini(sni_msg_public(&event.msg));
            break;
        case SNI_ENGINE_SUBSCRIBE:
        case SNI_ENGINE_CANCEL:
            if (session->pipe->attached)
                err = sni_pattern_subscription(&sock->pattern, &session->pipe->peer,
                                               event.kind == SNI_ENGINE_SUBSCRIBE,
                                               event.topic);
            break;
        }
    }
    if (err)
        sni_session_end(session, err, "subscription refused");
    if (session->ready && !session->is_ending)
        sni_pipe_update_unread(session->pipe);
}

static void
received(sni_session *session)
{
    sni_op *op = &session->recv;
    sni_block *home = op->home;
    sennit_err err = op->err;
    const char *reason = err == SENNIT_ECONNRESET ? "reset by peer" : "could not receive";

    op->home = NULL;
    if (!session->is_ending && err == SENNIT_OK) {
        err = sni_engine_feed(session->engine, sni_bytes(op->into, op->size), home,
                              sni_loop_now(session->sock->loop));
        if (err)
            (void)sni_engine_why(session->engine, &reason);
        /* A peer that is going to be refused gets our greeting first: it can tell. */
        if (!session->ready && sni_engine_control_waiting(session->engine))
            pump_output(session);
        take_events(session);
    }
    sni_block_unref(home);
    if (err)
        sni_session_end(session, err, reason);
    else if (!session->is_ending && sni_engine_control_waiting(session->engine))
        pump_output(session);
}

static void
pump_input(sni_session *session)
{
    sni_io *io = session->sock->loop->io;

    for (int row = 0; may_receive(session); row++) {
        sni_engine_room room;

        if (row == SNI_RECVS_IN_A_ROW) {
            if (!sni_link_linked(&session->again))
                sni_list_push(&session->sock->loop->again, &session->again);
            break;
        }
        session->recv.home = NULL;
        if (sni_engine_sink(session->engine, &room)) {
            session->recv.home = sni_block_ref(room.home);
            session->recv.into = room.data;
            session->recv.room = room.size;
        }
        if (!io->ops->submit(io, &session->recv))
            break;
        received(session);
    }
    if (session->engine != NULL)
        update_deadline(session);
}

void
sni_session_receive(sni_session *session)
{
    pump_input(session);
}

void
sni_session_done(sni_session *session, sni_op *op)
{
    switch (op->kind) {
    case SNI_OP_RECV:
        received(session);
        if (!session->is_ending)
            pump_input(session);
        break;
    case SNI_OP_SEND:
        sent(session);
        if (!session->is_ending)
            pump_output(session);
        break;
    case SNI_OP_ACCEPT:
    case SNI_OP_CONNECT:
    case SNI_OP_RESOLVE:
    case SNI_OP_HANGUP:
        SNI_ASSERT(op->kind == SNI_OP_RECV);
        break;
    }
}

/* ---- ending ------------------------------------------------------------ */

static void
take_back(sni_io *io, sni_op *op)
{
    if (!io->ops->retract(io, op))
        io->ops->cancel(io, op);
}

void
sni_session_end(sni_session *session, sennit_err err, const char *reason)
{
    sni_io *io = session->sock->loop->io;

    if (session->is_ending)
        return;
    session->is_ending = true;
    session->err = err;
    session->reason = reason;
    take_back(io, &session->recv);
    take_back(io, &session->send);
    /* Nobody is sent to a peer that is known to be gone. A message to it that is being
     * sent, perhaps right now, is settled when the session is taken apart. */
    if (session->dialer == NULL && session->pipe != NULL) {
        session->pipe->leaving = true;
        sni_pipe_update_writable(session->pipe);
    }
    sni_link_remove(&session->dirty);
    sni_link_remove(&session->again);
    sni_list_push(&session->sock->loop->ending, &session->ending);
}

static void
on_linger_over(void *arg)
{
    sni_session_end(arg, SENNIT_ETIMEDOUT, "closed with messages unsent after linger_ms");
}

void
sni_session_linger(sni_session *session)
{
    sennit_loop *loop = session->sock->loop;
    int linger_ms = session->sock->opts.linger_ms;

    session->lingering = true;
    if (session->pipe != NULL)
        sni_pipe_leave(session->pipe);
    if (linger_ms == 0 || session->pipe == NULL ||
        (!session->ready && !sni_pipe_has_output(session->pipe))) {
        sni_session_end(session, SENNIT_OK, "closed");
        return;
    }
    if (session->ready && !sni_pipe_has_output(session->pipe)) {
        pump_output(session);
        return;
    }
    /* Without memory for the timer nothing would ever end the lingering. */
    if (linger_ms > 0 &&
        sni_timers_start(&loop->timers, &session->linger_timer,
                         sni_loop_now(loop) + (sennit_time)linger_ms * 1000000u,
                         on_linger_over, session) != SENNIT_OK)
        on_linger_over(session);
    else if (session->engine != NULL)
        pump_output(session);
}

bool
sni_session_save_input(sni_session *session)
{
    sni_pipe *pipe = session->pipe;
    sni_engine_event event;

    if (pipe == NULL || session->engine == NULL || !session->ready || !pipe->attached ||
        !session->sock->pattern.ops->receives)
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
    sni_pipe_restart_output(pipe);
    /* What was addressed to this peer must not reach another that answers at the same
     * endpoint. */
    if (sock->type == SENNIT_ROUTER || sock->type == SENNIT_REP)
        sni_pipe_drop_output(pipe);
    if (pipe->attached && pipe->peer.connected)
        sni_pattern_disconnected(&sock->pattern, &pipe->peer, pipe->outq.bytes == 0);
    sni_pipe_update_writable(pipe);
    if (session->dialer == NULL)
        sni_pipe_retire(pipe);
    else
        sni_pipe_update_unread(pipe);
    sni_sock_touch(sock);
}

bool
sni_session_bury(sni_session *session)
{
    sennit_sock *sock = session->sock;
    sennit_loop *loop = sock->loop;
    sni_dialer *dialer = session->dialer;
    sennit_time ready_for = 0;

    if (session->recv.pending || session->send.pending)
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
        tell(session, SENNIT_EVENT_DISCONNECTED, session->err, session->reason);
    } else {
        if (session->listener != NULL)
            sni_listener_settled(session->listener);
        sock->stats.handshakes_failed++;
        tell(session, SENNIT_EVENT_HANDSHAKE_FAILED, session->err, session->reason);
    }
    leave_pipe(session);
    sni_timers_stop(&loop->timers, &session->timer);
    sni_timers_stop(&loop->timers, &session->linger_timer);
    sni_engine_free(session->engine);
    sni_block_unref(session->recv.home);
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
