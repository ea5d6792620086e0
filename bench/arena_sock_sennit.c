/* SPDX-License-Identifier: MIT */
/* The arena peer's sockets on Sennit: the default API with default options, on the
 * backend that SENNIT_BACKEND names (epoll, uring; unset: what the loop chooses). */
#include "arena_sock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sennit/sennit.h>

struct arena_shared {
    sennit_context *context;
};

struct arena_sock {
    sennit_loop *loop;
    sennit_sock *sock;
    sennit_msg msg;
};

typedef struct member {
    arena_crowd *crowd;
    sennit_sock *sock;
    bool heard;
} member;

struct arena_crowd {
    sennit_loop *loop;
    member *members;
    size_t count, heard_count;
    int timeout_ms;
    unsigned long long dropped;
    sennit_err err;
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
    [ARENA_PUSH] = SENNIT_PUSH,     [ARENA_PULL] = SENNIT_PULL,
    [ARENA_REQ] = SENNIT_REQ,       [ARENA_REP] = SENNIT_REP,
    [ARENA_PUB] = SENNIT_PUB,       [ARENA_SUB] = SENNIT_SUB,
    [ARENA_DEALER] = SENNIT_DEALER, [ARENA_ROUTER] = SENNIT_ROUTER,
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

arena_shared *
arena_shared_open(void)
{
    arena_shared *self = calloc(1, sizeof *self);

    if (self && !sennit_context_open(&self->context, NULL))
        return self;
    fprintf(stderr, "arena_peer: the context could not be opened\n");
    free(self);
    return NULL;
}

void
arena_shared_close(arena_shared *self)
{
    if (!self)
        return;
    if (sennit_context_close(self->context))
        fprintf(stderr, "arena_peer: a loop of the context is still open\n");
    free(self);
}

static sennit_err
open_loop(sennit_loop **out, const arena_sock_opts *opts)
{
    const char *backend = getenv("SENNIT_BACKEND");
    sennit_loop_opts loop_opts = SENNIT_LOOP_OPTS_DEFAULT;

    if (backend && strcmp(backend, "epoll") == 0)
        loop_opts.backend = SENNIT_BACKEND_EPOLL;
    else if (backend && strcmp(backend, "uring") == 0)
        loop_opts.backend = SENNIT_BACKEND_URING;
    else if (backend && strcmp(backend, "auto") != 0)
        return SENNIT_EINVAL;
    loop_opts.context = opts->shared ? opts->shared->context : NULL;
    return sennit_loop_open(out, &loop_opts);
}

static sennit_err
open_sock(sennit_sock **out, sennit_loop *loop, arena_type type,
          const arena_sock_opts *opts)
{
    sennit_sock_opts sock_opts = SENNIT_SOCK_OPTS_DEFAULT;
    sennit_err err;

    sock_opts.recv_timeout_ms = opts->recv_timeout_ms;
    if (opts->send_hwm_msgs >= 0)
        sock_opts.send_hwm_msgs = opts->send_hwm_msgs;
    if (opts->recv_hwm_msgs >= 0)
        sock_opts.recv_hwm_msgs = opts->recv_hwm_msgs;
    if (opts->backlog >= 0)
        sock_opts.backlog = opts->backlog;
    sock_opts.probe_router = opts->probe;
    err = sennit_sock_open(out, loop, types[type], &sock_opts);
    if (!err && type == ARENA_SUB)
        err = sennit_sock_subscribe(*out, (sennit_bytes){ NULL, 0 });
    return err;
}

static sennit_err
join(sennit_sock *sock, bool bind, const char *endpoint, const arena_sock_opts *opts)
{
    sennit_err err = bind ? sennit_sock_bind(sock, endpoint) : SENNIT_OK;

    for (unsigned i = 0; !bind && !err && i < opts->connects; i++)
        err = sennit_sock_connect(sock, endpoint);
    return err;
}

arena_sock *
arena_sock_open(arena_type type, bool bind, const char *endpoint,
                const arena_sock_opts *opts)
{
    arena_sock *self = calloc(1, sizeof *self);
    sennit_err err;

    if (!self)
        return NULL;
    sennit_msg_init(&self->msg);
    err = open_loop(&self->loop, opts);
    if (!err)
        err = open_sock(&self->sock, self->loop, type, opts);
    if (!err)
        err = join(self->sock, bind, endpoint, opts);
    if (!err)
        return self;
    fprintf(stderr, "arena_peer: %s %s: %s\n", bind ? "bind" : "connect", endpoint,
            self->loop ? sennit_loop_why(self->loop) : sennit_err_text(err));
    arena_sock_close(self);
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
    arena_outcome outcome;

    do
        outcome = outcome_of("recv", sennit_sock_recv(self->sock, &self->msg, 0));
    while (outcome == ARENA_DONE && sennit_msg_more(&self->msg));
    return outcome;
}

arena_outcome
arena_sock_echo(arena_sock *self)
{
    arena_outcome outcome;
    bool more;

    do {
        outcome = outcome_of("recv", sennit_sock_recv(self->sock, &self->msg, 0));
        if (outcome != ARENA_DONE)
            return outcome;
        more = sennit_msg_more(&self->msg);
        outcome = outcome_of(
            "send", sennit_sock_send(self->sock, &self->msg, more ? SENNIT_MORE : 0));
    } while (more && outcome == ARENA_DONE);
    return outcome;
}

arena_outcome
arena_sock_ask_again(arena_sock *self, const void *data, size_t size, bool *empty)
{
    arena_outcome outcome =
        outcome_of("recv", sennit_sock_recv(self->sock, &self->msg, 0));
    size_t body = 0;

    if (outcome != ARENA_DONE)
        return outcome;
    outcome = outcome_of("send", sennit_sock_send(self->sock, &self->msg, SENNIT_MORE));
    do {
        if (outcome == ARENA_DONE)
            outcome = outcome_of("recv", sennit_sock_recv(self->sock, &self->msg, 0));
        body += outcome == ARENA_DONE ? sennit_msg_size(&self->msg) : 0;
    } while (outcome == ARENA_DONE && sennit_msg_more(&self->msg));
    *empty = body == 0;
    return outcome == ARENA_DONE ? arena_sock_send(self, data, size) : outcome;
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

/* What one socket has. What is left is offered again in the next turn. */
static void
drain(sennit_sock *sock, unsigned ready, void *arg)
{
    member *self = arg;
    arena_crowd *crowd = self->crowd;

    (void)ready;
    for (int taken = 0; taken < ARENA_CROWD_BATCH; taken++) {
        sennit_err err = sennit_sock_recv(sock, &crowd->msg, SENNIT_DONTWAIT);

        if (err) {
            crowd->err = err == SENNIT_EAGAIN ? crowd->err : err;
            return;
        }
        crowd->heard_count += !self->heard;
        self->heard = true;
        crowd->dropped++;
    }
}

arena_crowd *
arena_crowd_open(arena_type type, const char *endpoint, size_t count,
                 const arena_sock_opts *opts)
{
    arena_crowd *self = calloc(1, sizeof *self);
    sennit_err err;

    if (!self)
        return NULL;
    sennit_msg_init(&self->msg);
    self->timeout_ms = opts->recv_timeout_ms;
    self->members = calloc(count, sizeof *self->members);
    err = self->members ? open_loop(&self->loop, opts) : SENNIT_ENOMEM;
    for (; !err && self->count < count; self->count++) {
        member *one = &self->members[self->count];

        one->crowd = self;
        err = open_sock(&one->sock, self->loop, type, opts);
        if (!err)
            err = join(one->sock, false, endpoint, opts);
        if (!err)
            sennit_sock_on_ready(one->sock, SENNIT_READABLE, drain, one);
    }
    if (!err)
        return self;
    fprintf(stderr, "arena_peer: connect %s: %s\n", endpoint,
            self->loop ? sennit_loop_why(self->loop) : sennit_err_text(err));
    arena_crowd_close(self);
    return NULL;
}

arena_outcome
arena_crowd_drop(arena_crowd *self, unsigned long long *dropped)
{
    arena_outcome outcome =
        outcome_of("turn", sennit_loop_turn(self->loop, self->timeout_ms));

    if (self->err)
        outcome = outcome_of("recv", self->err);
    *dropped += self->dropped;
    self->dropped = 0;
    return outcome;
}

size_t
arena_crowd_heard(const arena_crowd *self)
{
    return self->heard_count;
}

void
arena_crowd_close(arena_crowd *self)
{
    if (!self)
        return;
    sennit_msg_fini(&self->msg);
    sennit_loop_close(self->loop);
    free(self->members);
    free(self);
}
