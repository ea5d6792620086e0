/* SPDX-License-Identifier: MIT */
#include "core/listener.h"

#include <stdio.h>

#include "base/alloc.h"
#include "core/filter.h"
#include "core/sock.h"

static void pump_accept(sni_listener *listener);

static void
on_retry(void *arg)
{
    pump_accept(arg);
}

static void
tell_failed(sni_listener *listener, sennit_err err, const char *reason, uint32_t delay_ms,
            const char *address)
{
    sennit_event *event = sni_sock_new_event(listener->sock, SENNIT_EVENT_ACCEPT_FAILED,
                                             listener->endpoint);

    if (event == NULL)
        return;
    event->err = err;
    event->reason = reason;
    event->delay_ms = delay_ms;
    snprintf(event->address, sizeof event->address, "%s", address);
}

static void
accept_failed(sni_listener *listener, sennit_err err, const char *why)
{
    sennit_loop *loop = listener->sock->loop;

    tell_failed(listener, err, why != NULL ? why : sennit_err_text(err),
                (uint32_t)(SNI_ACCEPT_RETRY_NS / 1000000u), "");
    /* At the descriptor limit accept fails at once and for ever: wait, do not spin. */
    sni_retry_start(loop, &listener->retry, sni_loop_now(loop) + SNI_ACCEPT_RETRY_NS,
                    on_retry, listener);
}

/* A stranger is shown out, and told of. */
static bool
admits(sni_listener *listener, sni_file *file)
{
    sennit_sock *sock = listener->sock;
    sni_io *io = sock->loop->io;
    sni_peer_name peer;
    const char *why;

    if (sock->opts.tcp_accept_count == 0 && sock->opts.ipc_accept_count == 0)
        return true;
    io->ops->peer_name(io, file, &peer);
    if (sni_filter_admits(&sock->opts, &peer, &why))
        return true;
    tell_failed(listener, SENNIT_EACCES, why, 0, peer.text);
    return false;
}

/* True when another accept may follow at once. */
static bool
accepted(sni_listener *listener)
{
    sennit_loop *loop = listener->sock->loop;
    sni_op *op = &listener->accept;
    sennit_err err = op->err;

    if (listener->closing) {
        if (op->accepted != NULL)
            loop->io->ops->close(loop->io, op->accepted);
        return false;
    }
    if (err) {
        accept_failed(listener, err, op->why);
        return false;
    }
    if (!admits(listener, op->accepted)) {
        loop->io->ops->close(loop->io, op->accepted);
        return true;
    }
    err = sni_session_open(listener->sock, op->accepted, NULL, listener);
    if (err) {
        loop->io->ops->close(loop->io, op->accepted);
        accept_failed(listener, err, NULL);
        return false;
    }
    return true;
}

static void
pump_accept(sni_listener *listener)
{
    sennit_loop *loop = listener->sock->loop;

    /* Its time comes. */
    if (sni_retry_runs(&listener->retry))
        return;
    for (int n = 0; !listener->closing && !listener->accept.pending; n++) {
        if (n == SNI_ACCEPTS_PER_TURN) {
            sni_list_push(&loop->again_listeners, &listener->again);
            return;
        }
        if (!loop->io->ops->submit(loop->io, &listener->accept) || !accepted(listener))
            return;
    }
}

static void
listener_free(sni_listener *listener)
{
    sennit_loop *loop = listener->sock->loop;

    sni_retry_stop(loop, &listener->retry);
    loop->io->ops->close(loop->io, listener->file);
    sni_link_remove(&listener->link);
    sni_link_remove(&listener->again);
    loop->socks_changed = true;
    sni_release(&loop->allocator, listener);
}

static void
listener_start(sni_listener *listener, const sni_address *bound, const char *requested)
{
    sennit_sock *sock = listener->sock;

    listener->accept = (sni_op){ .kind = SNI_OP_ACCEPT,
                                 .file = listener->file,
                                 .owner = listener,
                                 .owner_kind = SNI_OWNER_LISTENER,
                                 .opts = &sock->opts };
    sni_address_text(bound, listener->endpoint);
    snprintf(listener->requested, sizeof listener->requested, "%s",
             requested != NULL ? requested : listener->endpoint);
    snprintf(sock->last_endpoint, sizeof sock->last_endpoint, "%s", listener->endpoint);
    sni_link_init(&listener->again);
    sni_retry_init(&listener->retry);
    sni_link_init(&listener->link);
    sni_link_init(&listener->handshakes);
    sni_list_push(&sock->listeners, &listener->link);
    sni_sock_event(sock, SENNIT_EVENT_LISTENING, listener->endpoint, 0, SENNIT_OK, "", 0,
                   sni_bytes(NULL, 0));
    pump_accept(listener);
}

sennit_err
sni_listener_open(sennit_sock *sock, const sni_host *host, const char *endpoint,
                  const char **why)
{
    sennit_loop *loop = sock->loop;
    sni_listener *listener = sni_acquire_zero(&loop->allocator, sizeof *listener);
    sni_address address;
    sni_address bound;
    sennit_err err;

    *why = NULL;
    if (listener == NULL)
        return SENNIT_ENOMEM;
    listener->sock = sock;
    err = sni_host_here(host, loop->io, true, sock->opts.ipv6, &address, why);
    if (err == SENNIT_OK) {
        err = loop->io->ops->listen(loop->io, &address, &sock->opts, &listener->file,
                                    &bound);
        *why = loop->io->why;
    }
    if (err)
        sni_release(&loop->allocator, listener);
    else
        listener_start(listener, &bound, endpoint);
    return err;
}

sennit_err
sni_listener_adopt(sennit_sock *sock, int fd, const char **why)
{
    sennit_loop *loop = sock->loop;
    sni_listener *listener = sni_acquire_zero(&loop->allocator, sizeof *listener);
    sni_address bound;
    sennit_err err;

    *why = NULL;
    if (listener == NULL)
        return SENNIT_ENOMEM;
    listener->sock = sock;
    err = loop->io->ops->adopt(loop->io, fd, &listener->file, &bound);
    *why = loop->io->why;
    if (err)
        sni_release(&loop->allocator, listener);
    else
        listener_start(listener, &bound, NULL);
    return err;
}

void
sni_listener_done(sni_listener *listener)
{
    if (accepted(listener))
        pump_accept(listener);
    if (listener->closing)
        listener_free(listener);
}

void
sni_listener_again(sni_listener *listener)
{
    pump_accept(listener);
}

/* One that is ending already, and is not taken apart yet, has made room. */
static void
make_room(sni_listener *listener)
{
    uint32_t max = listener->sock->opts.handshakes_max;

    while (max > 0 && listener->handshakes_count > max) {
        sni_link *oldest = sni_list_first(&listener->handshakes);
        sni_session *session = SNI_OWNER_OF(oldest, sni_session, handshake);

        sni_listener_settled(listener, session);
        sni_session_end(session, SENNIT_ETIMEDOUT, "too many unfinished handshakes");
    }
}

void
sni_listener_began(sni_listener *listener, sni_session *session)
{
    sni_list_push(&listener->handshakes, &session->handshake);
    listener->handshakes_count++;
    make_room(listener);
}

void
sni_listener_settled(sni_listener *listener, sni_session *session)
{
    if (!sni_link_linked(&session->handshake))
        return;
    sni_link_remove(&session->handshake);
    listener->handshakes_count--;
}

void
sni_listener_opts_changed(sni_listener *listener)
{
    make_room(listener);
}

void
sni_listener_close(sni_listener *listener)
{
    sennit_loop *loop = listener->sock->loop;

    if (listener->closing)
        return;
    listener->closing = true;
    for (sni_link *link = listener->sock->sessions.next;
         link != &listener->sock->sessions; link = link->next) {
        sni_session *session = SNI_OWNER_OF(link, sni_session, link);

        if (session->listener != listener)
            continue;
        sni_listener_settled(listener, session);
        session->listener = NULL;
    }
    sni_sock_event(listener->sock, SENNIT_EVENT_UNBOUND, listener->endpoint, 0, SENNIT_OK,
                   "", 0, sni_bytes(NULL, 0));
    /* At once, where that can be had: the port is free when unbind returns. */
    if (listener->accept.pending && !loop->io->ops->retract(loop->io, &listener->accept))
        loop->io->ops->cancel(loop->io, &listener->accept);
    else
        listener_free(listener);
}
