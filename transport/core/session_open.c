/* SPDX-License-Identifier: MIT */
/* How a connection begins: from a connected file to a peer of the socket. */
#include "core/session.h"

#include "base/alloc.h"
#include "core/dialer.h"
#include "core/listener.h"
#include "core/sock.h"

static sennit_time
ns_of(int ms)
{
    return (sennit_time)ms * 1000000u;
}

static sennit_err
open_engine(sni_session *session)
{
    sennit_sock *sock = session->sock;
    const sennit_sock_opts *opts = &sock->opts;
    sennit_loop *loop = sock->loop;
    int patience = opts->heartbeat_timeout_ms;
    sni_engine_cfg cfg = {
        .alloc = loop->body_allocator,
        .windows = loop->recv_blocks,
        .bodies = &loop->bodies,
        .outq = session->pipe != NULL ? &session->pipe->outq : NULL,
        .type = sock->type,
        .identity = sni_bytes(opts->identity, opts->identity_size),
        .admits = session->dialer == NULL,
        .publisher = sock->pattern.ops->subscription != NULL,
        .raw = sock->type == SENNIT_STREAM,
        .unversioned = opts->zmtp_unversioned,
        .properties = sock->opts_owned.metadata,
        .heartbeat_interval = ns_of(opts->heartbeat_interval_ms),
        .heartbeat_timeout =
            ns_of(patience == -1 ? opts->heartbeat_interval_ms : patience),
        .heartbeat_ttl_ds = (uint16_t)(opts->heartbeat_ttl_ms / 100),
        .handshake_timeout = ns_of(opts->handshake_timeout_ms),
        .frame_max_bytes = opts->recv_frame_max_bytes,
        .message_max_bytes = opts->recv_message_max_bytes,
        .message_max_parts = opts->recv_message_max_parts,
        .peer = session->number,
    };

    return sni_engine_open(&session->engine, &cfg, sni_loop_now(loop));
}

static sni_session *
new_session(sennit_sock *sock, sni_file *file, sni_dialer *dialer, sni_listener *listener)
{
    sni_session *session = sni_acquire_zero(&sock->loop->allocator, sizeof *session);

    if (session == NULL)
        return NULL;
    session->sock = sock;
    session->file = file;
    session->dialer = dialer;
    session->listener = listener;
    session->number = ++sock->next_number;
    session->batch_bytes = sock->opts.send_batch_bytes;
    session->recv_bytes = sock->opts.recv_batch_bytes;
    session->lingering = dialer != NULL && dialer->closing;
    sni_link_init(&session->link);
    sni_link_init(&session->dirty);
    sni_link_init(&session->again);
    sni_link_init(&session->ending);
    sni_link_init(&session->handshake);
    session->recv = (sni_op){ .kind = SNI_OP_RECV, .file = file, .owner = session };
    session->send = (sni_op){ .kind = SNI_OP_SEND, .file = file, .owner = session };
    session->hangup = (sni_op){ .kind = SNI_OP_HANGUP, .file = file, .owner = session };
    return session;
}

sennit_err
sni_session_open(sennit_sock *sock, sni_file *file, sni_dialer *dialer,
                 sni_listener *listener)
{
    sni_session *session = new_session(sock, file, dialer, listener);
    sennit_err err;

    if (session == NULL)
        return SENNIT_ENOMEM;
    /* An accepted one's pipe, and with it the queue, comes with READY; until then only
     * the control lane is written. */
    session->pipe = dialer != NULL ? dialer->pipe : NULL;
    err = open_engine(session);
    if (err) {
        sni_release(&sock->loop->allocator, session);
        return err;
    }
    sni_list_push(&sock->sessions, &session->link);
    if (dialer != NULL) {
        dialer->session = session;
        dialer->pipe->session = session;
    }
    sni_session_tell(session,
                     dialer != NULL ? SENNIT_EVENT_CONNECTED : SENNIT_EVENT_ACCEPTED,
                     SENNIT_OK, "");
    if (listener != NULL)
        sni_listener_began(listener, session);
    sni_session_go_on(session);
    return SENNIT_OK;
}

/* The pipe of an accepted peer. */
static sennit_err
make_pipe(sni_session *session, const char **reason)
{
    sni_pipe *pipe;
    sennit_err err = sni_pipe_new(&pipe, session->sock->loop, session->sock);

    *reason = "no memory for a peer";
    if (err)
        return err;
    session->pipe = pipe;
    pipe->session = session;
    pipe->peer.accepted = true;
    sni_engine_set_outq(session->engine, &pipe->outq);
    *reason = "this socket has a peer already";
    return sni_pipe_attach(pipe);
}

void
sni_session_become_ready(sni_session *session)
{
    sennit_sock *sock = session->sock;
    const char *reason = "";
    sennit_err err = SENNIT_OK;

    if (session->pipe == NULL)
        err = make_pipe(session, &reason);
    if (err) {
        sni_session_end(session, err, reason);
        return;
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
        sni_listener_settled(session->listener, session);
    session->ready_at = sni_loop_now(sock->loop);
    sock->stats.connections++;
    sni_session_tell(session, SENNIT_EVENT_READY, SENNIT_OK, "");
    sni_pipe_update_writable(session->pipe);
    sni_sock_changed(sock);
    /* What was queued while there was no connection, and subscriptions. */
    if (!sni_link_linked(&session->dirty))
        sni_list_push(&sock->loop->dirty, &session->dirty);
}

sennit_err
sni_session_greet(sni_session *session, sennit_bytes body)
{
    return sni_engine_greet(session->engine, body);
}
