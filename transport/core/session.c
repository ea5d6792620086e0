/* SPDX-License-Identifier: MIT */
/* The pump. States, in the order a session goes through them:
 *   handshake  !ready
 *   ready      pipe, messages flow
 *   ending     operations are being called back
 * It is taken apart by sni_session_bury() only, at the end of a turn. */
#include "core/session.h"

#include "base/assert.h"
#include "core/dialer.h"
#include "core/fresh.h"
#include "core/listener.h"
#include "core/sock.h"

const char *
sni_session_endpoint(const sni_session *session)
{
    if (session->dialer != NULL)
        return session->dialer->endpoint;
    return session->listener != NULL ? session->listener->endpoint : "";
}

void
sni_session_tell(sni_session *session, sennit_event_kind kind, sennit_err err,
                 const char *reason)
{
    sni_io *io = session->sock->loop->io;
    sennit_bytes identity = { NULL, 0 };
    sennit_event *event =
        sni_sock_new_event(session->sock, kind, sni_session_endpoint(session));
    sni_peer_name name;

    if (event == NULL)
        return;
    if (session->pipe != NULL)
        identity = sennit_msg_bytes(&session->pipe->peer.identity);
    if (identity.size == 0)
        identity = sni_engine_identity(session->engine);
    sni_bytes_put(event->identity, identity);
    event->identity_size = (uint8_t)identity.size;
    io->ops->peer_name(io, session->file, &name);
    memcpy(event->address, name.text, sizeof name.text);
    event->peer = session->number;
    event->err = err;
    event->reason = reason;
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
update_deadline(sni_session *session)
{
    if (!session->is_ending)
        sni_session_set_deadline(session,
                                 sni_engine_deadline(session->engine, hearing(session)));
}

static void
on_deadline(void *arg)
{
    sni_session *session = arg;
    const char *reason;
    sennit_err err;

    if (session->is_ending)
        return;
    err = sni_engine_tick(session->engine, sni_loop_now(session->sock->loop),
                          hearing(session));
    if (err) {
        (void)sni_engine_why(session->engine, &reason);
        sni_session_end(session, err, reason);
        return;
    }
    /* A PING may be due, and the next one after it. */
    sni_session_output(session);
    update_deadline(session);
}

void
sni_session_set_deadline(sni_session *session, sennit_time at)
{
    sennit_loop *loop = session->sock->loop;

    if (at == (session->timer.index_ != 0 ? session->timer.at_ : SENNIT_NEVER))
        return;
    sni_timers_stop(&loop->timers, &session->timer);
    if (at != SENNIT_NEVER && sni_timers_start(&loop->timers, &session->timer, at,
                                               on_deadline, session) != SENNIT_OK)
        sni_session_end(session, SENNIT_ENOMEM, "no memory for a timer");
}

/* What the system said of a connection. */
static const char *
broken(sennit_err err, const char *other)
{
    if (err == SENNIT_ECONNRESET)
        return "reset by peer";
    return err == SENNIT_ETIMEDOUT ? "the peer's system no longer answers, or takes "
                                     "nothing: tcp_user_timeout_ms, tcp_keepalive"
                                   : other;
}

/* ---- the pump: output -------------------------------------------------- */

void
sni_session_return_vector(sni_session *session)
{
    if (session->many == NULL)
        return;
    sni_vectors_give(&session->sock->loop->vectors, session->many);
    session->many = NULL;
}

/* Gathers the next send. False: there is nothing. */
static bool
gather(sni_session *session)
{
    sni_op *op = &session->send;
    sennit_bytes *parts = session->few;
    size_t parts_max = SNI_SEND_PARTS_FEW;

    if (sni_engine_output_bound(session->engine) > SNI_SEND_PARTS_FEW)
        session->many = sni_vectors_take(&session->sock->loop->vectors);
    if (session->many != NULL) {
        parts = session->many->parts;
        parts_max = SNI_SEND_PARTS;
    }
    op->parts = parts;
    op->parts_count = sni_engine_output(session->engine, parts, parts_max);
    if (op->parts_count == 0)
        sni_session_return_vector(session);
    return op->parts_count > 0;
}

static void
sent(sni_session *session)
{
    sni_op *op = &session->send;
    size_t ended;

    sni_session_return_vector(session);
    if (op->err && session->is_ending)
        return;
    if (op->err == SENNIT_ECONNRESET && session->ready) {
        sni_session_unheard(session);
        return;
    }
    if (op->err) {
        sni_session_end(session, op->err, broken(op->err, "could not send"));
        return;
    }
    /* Also while it ends: what has left must not leave again on the next connection. */
    ended = sni_engine_wrote(session->engine, op->size);
    session->wrote = true;
    if (session->pipe != NULL)
        sni_pipe_wrote(session->pipe, ended);
}

static bool
may_write(const sni_session *session)
{
    return !session->is_ending && !session->unheard && !session->finished &&
           !session->send.pending;
}

static void
finish_if_flushed(sni_session *session)
{
    if (session->lingering && !session->is_ending && !session->unheard &&
        !session->send.pending && !sni_pipe_has_output(session->pipe))
        sni_session_finish(session);
}

/* Writes until nothing is left, the kernel takes no more, or others should have a turn:
 * then true. */
static bool
pump_some(sni_session *session)
{
    sni_io *io = session->sock->loop->io;

    sni_link_remove(&session->dirty);
    for (int row = 0; may_write(session); row++) {
        if (row == SNI_SENDS_IN_A_ROW)
            return true;
        if (!gather(session))
            break;
        if (!io->ops->submit(io, &session->send)) {
            /* From now on silence is no proof. */
            update_deadline(session);
            break;
        }
        sent(session);
    }
    finish_if_flushed(session);
    return false;
}

void
sni_session_take_turns(sni_session *session)
{
    if (!session->is_ending && !sni_link_linked(&session->again))
        sni_list_push(&session->sock->loop->again, &session->again);
}

void
sni_session_output(sni_session *session)
{
    if (pump_some(session))
        sni_session_take_turns(session);
}

void
sni_session_flush(sni_session *session)
{
    while (pump_some(session))
        continue;
}

bool
sni_session_gather(sni_session *session)
{
    sni_link_remove(&session->dirty);
    if (may_write(session) && gather(session))
        return true;
    finish_if_flushed(session);
    return false;
}

void
sni_session_gathered(sni_session *session, bool done, bool fairly)
{
    if (!done) {
        update_deadline(session);
        return;
    }
    session->send.pending = false;
    sent(session);
    if (fairly)
        sni_session_output(session);
    else
        sni_session_flush(session);
}

static void
mark_dirty(sni_session *session)
{
    if (!sni_link_linked(&session->dirty))
        sni_list_push(&session->sock->loop->dirty, &session->dirty);
}

void
sni_session_output_added(sni_session *session)
{
    if (!session->ready || session->is_ending || session->send.pending)
        return;
    if (session->pipe->outq.bytes >= session->batch_bytes)
        sni_session_output(session);
    else
        mark_dirty(session);
}

bool
sni_session_take_back_output(sni_session *session)
{
    sni_io *io = session->sock->loop->io;

    if (!session->ready || session->is_ending || !session->send.pending ||
        !io->ops->retract(io, &session->send))
        return false;
    sni_session_return_vector(session);
    (void)sni_engine_wrote(session->engine, 0);
    mark_dirty(session);
    return true;
}

/* Whether control may be queued now; if not, the pattern tells it all at READY. */
static bool
takes_control(const sni_session *session)
{
    return !session->is_ending && sni_engine_in_traffic(session->engine);
}

sennit_err
sni_session_subscribe(sni_session *session, bool on, sennit_bytes topic)
{
    sennit_err err;

    if (!takes_control(session))
        return SENNIT_OK;
    err = sni_engine_send(session->engine, on ? SNI_ENGINE_SUBSCRIBE : SNI_ENGINE_CANCEL,
                          topic);
    if (err == SENNIT_OK)
        mark_dirty(session);
    return err;
}

/* ---- the pump: input --------------------------------------------------- */

bool
sni_session_takes_the_rest(const sni_session *session)
{
    const sni_pipe *pipe = session->pipe;

    return session->hung_up &&
           (!session->unheard || sni_pipe_unread_bytes(pipe) + pipe->peer.notice_bytes <
                                     SNI_UNHEARD_BYTES_MAX);
}

/* Whether the pipe has room for what would be received. Back-pressure is not asking:
 * beyond a high-water mark nothing is received. */
static bool
has_room(const sni_session *session)
{
    const sennit_sock_opts *opts = &session->sock->opts;
    const sni_pipe *pipe = session->pipe;

    if (sni_session_takes_the_rest(session))
        return true;
    if (pipe->peer.paused)
        return false;
    if (pipe->peer.unread == 0)
        return true;
    /* The newest takes the place of the others, unless one is half read. */
    if (opts->conflate)
        return sni_engine_unread(session->engine) == 0;
    return (opts->recv_hwm_msgs == 0 ||
            pipe->peer.unread < (size_t)opts->recv_hwm_msgs) &&
           (opts->recv_hwm_bytes == 0 ||
            sni_pipe_unread_bytes(pipe) < opts->recv_hwm_bytes) &&
           sni_engine_spare(session->engine) >= SNI_RECV_MIN_BYTES;
}

bool
sni_session_has_room_again(const sni_session *session)
{
    return !session->recv.pending && has_room(session);
}

static bool
may_receive(const sni_session *session)
{
    if (session->is_ending || session->recv.pending)
        return false;
    return !session->ready || session->sock->closed || has_room(session);
}

/* Whether what came is looked at now; else it waits until somebody asks for it. */
static bool
takes_events(const sni_session *session)
{
    const sennit_sock *sock = session->sock;

    if (session->is_ending)
        return false;
    return !session->ready || sock->closed ||
           (sock->pattern.ops->take != NULL &&
            (!session->pipe->peer.paused || sni_session_takes_the_rest(session)));
}

/* Takes: `msg`. */
static sennit_err
take_message(sni_session *session, sni_msg *msg)
{
    sennit_sock *sock = session->sock;
    sennit_err err = SENNIT_OK;

    /* Nobody reads what a closed socket is sent. */
    if (!sock->closed && session->pipe->attached) {
        err = sock->pattern.ops->take(&sock->pattern, &session->pipe->peer, msg);
        if (err == SENNIT_OK)
            return err;
    }
    sennit_msg_fini(sni_msg_public(msg));
    return err;
}

/* Everything the engine has to say that is not a message somebody will ask for. */
static void
take_events(sni_session *session)
{
    sennit_sock *sock = session->sock;
    sni_engine_event event;
    sennit_err err = SENNIT_OK;

    while (err == SENNIT_OK && takes_events(session) &&
           sni_engine_next(session->engine, &event)) {
        switch (event.kind) {
        case SNI_ENGINE_READY:
            sni_session_become_ready(session);
            break;
        case SNI_ENGINE_MESSAGE:
            err = take_message(session, &event.msg);
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
    if (err == SENNIT_OK && session->ready && !sock->closed && takes_events(session) &&
        sni_engine_unread(session->engine) > 0)
        err = SENNIT_ENOMEM; /* nothing would make us look at it again */
    if (err)
        sni_session_end(session, err, "no memory for a subscription");
    if (!session->ready || session->is_ending)
        return;
    if (sock->opts.conflate && sock->pattern.reading != &session->pipe->peer)
        sni_fresh_input(session->pipe);
    else if (session->hung_up)
        (void)sni_session_save_input(session);
    sni_pipe_update_unread(session->pipe);
}

static void
received(sni_session *session)
{
    sni_op *op = &session->recv;
    sni_block *home = op->home;
    sennit_err err = op->err;
    const char *reason = broken(err, "could not receive");

    op->home = NULL;
    if (!session->is_ending && err == SENNIT_OK) {
        sennit_time now = sni_loop_now(session->sock->loop);

        if (op->size > 0)
            session->received_at = now;
        err = sni_engine_feed(session->engine, sni_bytes(op->into, op->size), home, now);
        if (err)
            (void)sni_engine_why(session->engine, &reason);
        /* A peer that is going to be refused gets our greeting first: it can tell. */
        if (!session->ready && sni_engine_control_waiting(session->engine))
            sni_session_output(session);
        take_events(session);
    }
    sni_block_unref(home);
    if (err)
        sni_session_end(session, err, reason);
    else if (!session->is_ending && sni_engine_control_waiting(session->engine))
        sni_session_output(session);
}

/* Where to receive into, and no more than recv_batch_bytes. */
static void
aim(sni_session *session)
{
    sni_op *op = &session->recv;
    sni_engine_room room;

    op->home = NULL;
    if (sni_engine_sink(session->engine, &room)) {
        op->home = sni_block_ref(room.home);
        op->into = room.data;
        op->room = room.size < session->recv_bytes ? room.size : session->recv_bytes;
    } else if (session->recv_bytes < SNI_RECV_BYTES) {
        /* The backend's own are larger. */
        op->home =
            sni_block_new(session->sock->loop->body_allocator, session->recv_bytes);
        if (op->home == NULL)
            return;
        op->into = op->home->data;
        op->room = session->recv_bytes;
    }
}

/* A receive that waits aims behind frames that have all been handed out by now. Their
 * block would be kept for a connection that may stay idle for ever, and where little room
 * is left in it, what comes would be cut in two and moved. */
static void
aim_anew(sni_session *session)
{
    sni_io *io = session->sock->loop->io;
    sni_op *op = &session->recv;

    if (!op->pending || op->home == NULL || op->into == op->home->data ||
        sni_engine_unread_bytes(session->engine) > 0 || !io->ops->retract(io, op))
        return;
    sni_block_unref(op->home);
    op->home = NULL;
}

/* It does not receive, and is told nevertheless when its peer leaves. */
static void
watch_hangup(sni_session *session)
{
    sni_io *io = session->sock->loop->io;

    if (session->is_ending || session->recv.pending || session->hangup.pending ||
        session->hung_up)
        return;
    if (io->ops->submit(io, &session->hangup))
        sni_session_done(session, &session->hangup);
}

void
sni_session_receive(sni_session *session)
{
    sni_io *io = session->sock->loop->io;
    int row;

    aim_anew(session);
    for (row = 0; row < SNI_RECVS_IN_A_ROW && may_receive(session); row++) {
        aim(session);
        if (!io->ops->submit(io, &session->recv))
            break;
        received(session);
    }
    if (row == SNI_RECVS_IN_A_ROW)
        sni_session_take_turns(session);
    else
        watch_hangup(session);
    update_deadline(session);
}

/* The peer has left while we did not listen. What it has sent and we have not received
 * is no more than the kernel holds: it is taken in, marks or not, up to the end. */
static void
hung_up(sni_session *session)
{
    if (session->is_ending || session->recv.pending)
        return;
    session->hung_up = true;
    sni_session_take_turns(session);
}

void
sni_session_go_on(sni_session *session)
{
    /* A publisher's peer that was paused has left things to be taken; and without ZMTP a
     * connection is READY from the beginning. */
    take_events(session);
    sni_session_output(session);
    sni_session_receive(session);
}

void
sni_session_done(sni_session *session, sni_op *op)
{
    switch ((sni_op_kind)op->kind) {
    case SNI_OP_RECV:
        received(session);
        if (!session->is_ending)
            sni_session_receive(session);
        break;
    case SNI_OP_SEND:
        sent(session);
        if (!session->is_ending)
            sni_session_output(session);
        update_deadline(session);
        break;
    case SNI_OP_HANGUP:
        hung_up(session);
        break;
    case SNI_OP_ACCEPT:
    case SNI_OP_CONNECT:
    case SNI_OP_RESOLVE:
        SNI_ASSERT(op->kind == SNI_OP_RECV);
        break;
    }
}
