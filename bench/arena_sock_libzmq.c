/* SPDX-License-Identifier: MIT */
/* The arena peer's sockets on libzmq, through its C API with default options. */
#include "arena_sock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <zmq.h>

struct arena_shared {
    void *context;
};

struct arena_sock {
    void *context;
    void *own; /* that, when the socket closes it */
    void *sock;
    zmq_msg_t msg;
};

struct arena_crowd {
    void *context;
    zmq_pollitem_t *items;
    bool *heard;
    size_t count, heard_count;
    long timeout_ms;
    zmq_msg_t msg;
};

const arena_engine arena_engine_info = {
    .name = "libzmq",
    .impl = "native",
    .language = "C++",
    .threading = "native",
    .io = "epoll",
};

static const int types[] = {
    [ARENA_PUSH] = ZMQ_PUSH,     [ARENA_PULL] = ZMQ_PULL,     [ARENA_REQ] = ZMQ_REQ,
    [ARENA_REP] = ZMQ_REP,       [ARENA_PUB] = ZMQ_PUB,       [ARENA_SUB] = ZMQ_SUB,
    [ARENA_DEALER] = ZMQ_DEALER, [ARENA_ROUTER] = ZMQ_ROUTER,
};

static arena_outcome
outcome_of(const char *what, int rc)
{
    if (rc >= 0)
        return ARENA_DONE;
    if (errno == EAGAIN || errno == EINTR)
        return ARENA_AGAIN;
    fprintf(stderr, "arena_peer_libzmq: %s: %s\n", what, zmq_strerror(errno));
    return ARENA_FAILED;
}

static int
set_int(void *sock, int option, int value)
{
    return zmq_setsockopt(sock, option, &value, sizeof value);
}

const char *
arena_engine_version(void)
{
    static char text[32];
    int major, minor, patch;

    zmq_version(&major, &minor, &patch);
    snprintf(text, sizeof text, "%d.%d.%d", major, minor, patch);
    return text;
}

arena_shared *
arena_shared_open(void)
{
    arena_shared *self = calloc(1, sizeof *self);

    if (self)
        self->context = zmq_ctx_new();
    if (self && self->context)
        return self;
    fprintf(stderr, "arena_peer_libzmq: the context could not be opened\n");
    free(self);
    return NULL;
}

void
arena_shared_close(arena_shared *self)
{
    if (!self)
        return;
    zmq_ctx_term(self->context);
    free(self);
}

/* A socket with the options that were asked for, or NULL. */
static void *
open_sock(void *context, arena_type type, const arena_sock_opts *opts)
{
    void *sock = zmq_socket(context, types[type]);
    bool ok = sock != NULL;

    ok = ok && set_int(sock, ZMQ_RCVTIMEO, opts->recv_timeout_ms) == 0;
    if (opts->send_hwm_msgs >= 0)
        ok = ok && set_int(sock, ZMQ_SNDHWM, opts->send_hwm_msgs) == 0;
    if (opts->recv_hwm_msgs >= 0)
        ok = ok && set_int(sock, ZMQ_RCVHWM, opts->recv_hwm_msgs) == 0;
    if (opts->backlog >= 0)
        ok = ok && set_int(sock, ZMQ_BACKLOG, opts->backlog) == 0;
    if (opts->probe)
        ok = ok && set_int(sock, ZMQ_PROBE_ROUTER, 1) == 0;
    if (type == ARENA_SUB)
        ok = ok && zmq_setsockopt(sock, ZMQ_SUBSCRIBE, "", 0) == 0;
    if (ok)
        return sock;
    fprintf(stderr, "arena_peer_libzmq: socket: %s\n", zmq_strerror(errno));
    if (sock)
        zmq_close(sock);
    return NULL;
}

static int
join(void *sock, bool bind, const char *endpoint, const arena_sock_opts *opts)
{
    int rc = bind ? zmq_bind(sock, endpoint) : 0;

    for (unsigned i = 0; !bind && rc == 0 && i < opts->connects; i++)
        rc = zmq_connect(sock, endpoint);
    if (rc < 0)
        fprintf(stderr, "arena_peer_libzmq: %s %s: %s\n", bind ? "bind" : "connect",
                endpoint, zmq_strerror(errno));
    return rc;
}

arena_sock *
arena_sock_open(arena_type type, bool bind, const char *endpoint,
                const arena_sock_opts *opts)
{
    arena_sock *self = calloc(1, sizeof *self);

    if (!self)
        return NULL;
    zmq_msg_init(&self->msg);
    self->own = opts->shared ? NULL : zmq_ctx_new();
    self->context = opts->shared ? opts->shared->context : self->own;
    if (!self->context)
        goto fail;
    if (self->own && opts->io_threads >= 0 &&
        zmq_ctx_set(self->context, ZMQ_IO_THREADS, opts->io_threads) < 0)
        goto fail;
    self->sock = open_sock(self->context, type, opts);
    if (self->sock && join(self->sock, bind, endpoint, opts) == 0)
        return self;

fail:
    arena_sock_close(self);
    return NULL;
}

arena_outcome
arena_sock_send(arena_sock *self, const void *data, size_t size)
{
    return outcome_of("send", zmq_send(self->sock, data, size, 0));
}

arena_outcome
arena_sock_drop(arena_sock *self)
{
    arena_outcome outcome;

    do
        outcome = outcome_of("recv", zmq_msg_recv(&self->msg, self->sock, 0));
    while (outcome == ARENA_DONE && zmq_msg_more(&self->msg));
    return outcome;
}

arena_outcome
arena_sock_echo(arena_sock *self)
{
    arena_outcome outcome;
    int more;

    do {
        outcome = outcome_of("recv", zmq_msg_recv(&self->msg, self->sock, 0));
        if (outcome != ARENA_DONE)
            return outcome;
        more = zmq_msg_more(&self->msg);
        outcome = outcome_of(
            "send", zmq_msg_send(&self->msg, self->sock, more ? ZMQ_SNDMORE : 0));
    } while (more && outcome == ARENA_DONE);
    return outcome;
}

arena_outcome
arena_sock_ask_again(arena_sock *self, const void *data, size_t size, bool *empty)
{
    arena_outcome outcome = outcome_of("recv", zmq_msg_recv(&self->msg, self->sock, 0));
    size_t body = 0;

    if (outcome != ARENA_DONE)
        return outcome;
    outcome = outcome_of("send", zmq_msg_send(&self->msg, self->sock, ZMQ_SNDMORE));
    do {
        if (outcome == ARENA_DONE)
            outcome = outcome_of("recv", zmq_msg_recv(&self->msg, self->sock, 0));
        body += outcome == ARENA_DONE ? zmq_msg_size(&self->msg) : 0;
    } while (outcome == ARENA_DONE && zmq_msg_more(&self->msg));
    *empty = body == 0;
    return outcome == ARENA_DONE ? arena_sock_send(self, data, size) : outcome;
}

void
arena_sock_close(arena_sock *self)
{
    if (!self)
        return;
    zmq_msg_close(&self->msg);
    if (self->sock)
        zmq_close(self->sock);
    if (self->own)
        zmq_ctx_term(self->own); /* waits for what was sent: linger is for ever */
    free(self);
}

arena_crowd *
arena_crowd_open(arena_type type, const char *endpoint, size_t count,
                 const arena_sock_opts *opts)
{
    arena_crowd *self = calloc(1, sizeof *self);

    if (!self)
        return NULL;
    zmq_msg_init(&self->msg);
    self->timeout_ms = opts->recv_timeout_ms;
    self->context = zmq_ctx_new();
    self->items = calloc(count, sizeof *self->items);
    self->heard = calloc(count, sizeof *self->heard);
    if (!self->context || !self->items || !self->heard)
        goto fail;
    for (; self->count < count; self->count++) {
        void *sock = open_sock(self->context, type, opts);

        if (!sock)
            goto fail;
        self->items[self->count] =
            (zmq_pollitem_t){ .socket = sock, .events = ZMQ_POLLIN };
        if (join(sock, false, endpoint, opts) < 0) {
            self->count++;
            goto fail;
        }
    }
    return self;

fail:
    arena_crowd_close(self);
    return NULL;
}

/* What one socket has, without waiting. */
static arena_outcome
drain(arena_crowd *self, size_t i, unsigned long long *dropped)
{
    for (int taken = 0; taken < ARENA_CROWD_BATCH; taken++) {
        arena_outcome outcome = outcome_of(
            "recv", zmq_msg_recv(&self->msg, self->items[i].socket, ZMQ_DONTWAIT));

        if (outcome != ARENA_DONE)
            return outcome == ARENA_AGAIN ? ARENA_DONE : outcome;
        self->heard_count += !self->heard[i];
        self->heard[i] = true;
        ++*dropped;
    }
    return ARENA_DONE;
}

arena_outcome
arena_crowd_drop(arena_crowd *self, unsigned long long *dropped)
{
    arena_outcome outcome =
        outcome_of("poll", zmq_poll(self->items, (int)self->count, self->timeout_ms));

    for (size_t i = 0; outcome == ARENA_DONE && i < self->count; i++)
        if (self->items[i].revents & ZMQ_POLLIN)
            outcome = drain(self, i, dropped);
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
    zmq_msg_close(&self->msg);
    for (size_t i = 0; i < self->count; i++)
        zmq_close(self->items[i].socket);
    if (self->context)
        zmq_ctx_term(self->context);
    free(self->items);
    free(self->heard);
    free(self);
}
