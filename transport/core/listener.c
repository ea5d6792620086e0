/* SPDX-License-Identifier: MIT */
#include "core/listener.h"

#include <stdio.h>

#include "base/alloc.h"
#include "core/sock.h"

static void pump_accept(sni_listener *listener);

static void
on_retry(void *arg)
{
    pump_accept(arg);
}

static void
accept_failed(sni_listener *listener, sennit_err err)
{
    sennit_loop *loop = listener->sock->loop;

    sni_sock_event(listener->sock, SENNIT_EVENT_ACCEPT_FAILED, listener->endpoint, 0, err,
                   sennit_err_text(err), (uint32_t)(SNI_ACCEPT_RETRY_NS / 1000000u),
                   sni_bytes(NULL, 0));
    /* At the descriptor limit accept fails at once and for ever: wait, do not spin. */
    if (sni_timers_start(&loop->timers, &listener->timer,
                         sni_loop_now(loop) + SNI_ACCEPT_RETRY_NS, on_retry,
                         listener) != SENNIT_OK)
        sni_list_push(&loop->again_listeners, &listener->again);
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
        accept_failed(listener, err);
        return false;
    }
    err = sni_session_open(listener->sock, op->accepted, NULL, listener);
    if (err) {
        loop->io->ops->close(loop->io, op->accepted);
        accept_failed(listener, err);
        return false;
    }
    return true;
}

static void
pump_accept(sni_listener *listener)
{
    sennit_loop *loop = listener->sock->loop;

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

    sni_timers_stop(&loop->timers, &listener->timer);
    loop->io->ops->close(loop->io, listener->file);
    sni_link_remove(&listener->link);
    sni_link_remove(&listener->again);
    loop->socks_changed = true;
    sni_release(&loop->allocator, listener);
}

sennit_err
sni_listener_open(sennit_sock *sock, const sni_address *address, const char *endpoint)
{
    sennit_loop *loop = sock->loop;
    sni_listener *listener = sni_acquire_zero(&loop->allocator, sizeof *listener);
    sni_listen_opts opts = { sock->opts.backlog };
    sni_address bound;
    sennit_err err;

    if (listener == NULL)
        return SENNIT_ENOMEM;
    err = loop->io->ops->listen(loop->io, address, &opts, &listener->file, &bound);
    if (err) {
        sni_release(&loop->allocator, listener);
        return err;
    }
    listener->sock = sock;
    listener->accept =
        (sni_op){ .kind = SNI_OP_ACCEPT, .file = listener->file, .owner = listener };
    sni_address_text(&bound, listener->endpoint);
    snprintf(listener->requested, sizeof listener->requested, "%s", endpoint);
    snprintf(sock->last_endpoint, sizeof sock->last_endpoint, "%s", listener->endpoint);
    sni_link_init(&listener->again);
    sni_link_init(&listener->link);
    sni_list_push(&sock->listeners, &listener->link);
    sni_sock_event(sock, SENNIT_EVENT_LISTENING, listener->endpoint, 0, SENNIT_OK, "", 0,
                   sni_bytes(NULL, 0));
    pump_accept(listener);
    return SENNIT_OK;
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

        if (session->listener == listener)
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
