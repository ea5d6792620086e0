/* SPDX-License-Identifier: MIT */
/* The arena peer's socket on Sennit: the default API with default options. */
#include "arena_sock.h"

#include <stdio.h>
#include <stdlib.h>

#include <sennit/sennit.h>

struct arena_sock {
    sennit_loop *loop;
    sennit_sock *sock;
    sennit_msg msg;
};

const arena_engine arena_engine_info = {
    .name = "sennit",
    .impl = "native",
    .language = "C",
    .threading = "single",
    .io = "epoll",
};

static const sennit_sock_type types[] = {
    [ARENA_PUSH] = SENNIT_PUSH, [ARENA_PULL] = SENNIT_PULL, [ARENA_REQ] = SENNIT_REQ,
    [ARENA_REP] = SENNIT_REP,   [ARENA_PUB] = SENNIT_PUB,   [ARENA_SUB] = SENNIT_SUB,
};

static arena_outcome
outcome_of(const char *what, sennit_err err)
{
    if (!err)
        return ARENA_DONE;
    if (err == SENNIT_EAGAIN || err == SENNIT_EINTR || err == SENNIT_ECLOSED)
        return ARENA_AGAIN;
    fprintf(stderr, "arena_peer: %s: %s\n", what, sennit_err_text(err));
    return ARENA_FAILED;
}

const char *
arena_engine_version(void)
{
    return sennit_version();
}

arena_sock *
arena_sock_open(arena_type type, bool bind, const char *endpoint,
                const arena_sock_opts *opts)
{
    arena_sock *self = calloc(1, sizeof *self);
    sennit_sock_opts sock_opts = SENNIT_SOCK_OPTS_DEFAULT;
    sennit_err err = SENNIT_ENOMEM;

    if (!self)
        goto fail;
    sock_opts.recv_timeout_ms = opts->recv_timeout_ms;
    if (opts->send_hwm_msgs >= 0)
        sock_opts.send_hwm_msgs = opts->send_hwm_msgs;
    if (opts->recv_hwm_msgs >= 0)
        sock_opts.recv_hwm_msgs = opts->recv_hwm_msgs;
    sennit_msg_init(&self->msg);
    err = sennit_loop_open(&self->loop, NULL);
    if (err)
        goto fail;
    err = sennit_sock_open(&self->sock, self->loop, types[type], &sock_opts);
    if (err)
        goto fail_loop;
    if (type == ARENA_SUB) {
        err = sennit_sock_subscribe(self->sock, (sennit_bytes){ NULL, 0 });
        if (err)
            goto fail_loop;
    }
    err = bind ? sennit_sock_bind(self->sock, endpoint)
               : sennit_sock_connect(self->sock, endpoint);
    if (err)
        goto fail_loop;
    return self;

fail_loop:
    sennit_loop_close(self->loop);
fail:
    free(self);
    fprintf(stderr, "arena_peer: %s %s: %s\n", bind ? "bind" : "connect", endpoint,
            sennit_err_text(err));
    return NULL;
}

arena_outcome
arena_sock_send(arena_sock *self, const void *data, size_t size)
{
    return outcome_of("send", sennit_sock_send_bytes(self->sock, data, size, 0));
}

arena_outcome
arena_sock_drop(arena_sock *self)
{
    return outcome_of("recv", sennit_sock_recv(self->sock, &self->msg, 0));
}

arena_outcome
arena_sock_echo(arena_sock *self)
{
    arena_outcome outcome = arena_sock_drop(self);

    if (outcome != ARENA_DONE)
        return outcome;
    return outcome_of("send", sennit_sock_send(self->sock, &self->msg, 0));
}

void
arena_sock_breathe(arena_sock *self)
{
    /* A failed turn shows in the next send; there is nothing to add here. */
    (void)sennit_loop_turn(self->loop, 0);
}

void
arena_sock_close(arena_sock *self)
{
    if (!self)
        return;
    sennit_msg_fini(&self->msg);
    sennit_sock_close(self->sock);
    sennit_loop_close(self->loop);
    free(self);
}
