/* SPDX-License-Identifier: MIT */
/* The arena peer's socket on libzmq, through its C API with default options. */
#include "arena_sock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <zmq.h>

struct arena_sock {
    void *context;
    void *sock;
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
    [ARENA_PUSH] = ZMQ_PUSH, [ARENA_PULL] = ZMQ_PULL, [ARENA_REQ] = ZMQ_REQ,
    [ARENA_REP] = ZMQ_REP,   [ARENA_PUB] = ZMQ_PUB,   [ARENA_SUB] = ZMQ_SUB,
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

arena_sock *
arena_sock_open(arena_type type, bool bind, const char *endpoint,
                const arena_sock_opts *opts)
{
    arena_sock *self = calloc(1, sizeof *self);

    if (!self)
        goto fail;
    self->context = zmq_ctx_new();
    if (!self->context)
        goto fail_self;
    if (opts->io_threads >= 0 &&
        zmq_ctx_set(self->context, ZMQ_IO_THREADS, opts->io_threads) < 0)
        goto fail_context;
    self->sock = zmq_socket(self->context, types[type]);
    if (!self->sock)
        goto fail_context;
    if (set_int(self->sock, ZMQ_RCVTIMEO, opts->recv_timeout_ms) < 0)
        goto fail_sock;
    if (opts->send_hwm_msgs >= 0 &&
        set_int(self->sock, ZMQ_SNDHWM, opts->send_hwm_msgs) < 0)
        goto fail_sock;
    if (opts->recv_hwm_msgs >= 0 &&
        set_int(self->sock, ZMQ_RCVHWM, opts->recv_hwm_msgs) < 0)
        goto fail_sock;
    if (type == ARENA_SUB && zmq_setsockopt(self->sock, ZMQ_SUBSCRIBE, "", 0) < 0)
        goto fail_sock;
    if ((bind ? zmq_bind(self->sock, endpoint) : zmq_connect(self->sock, endpoint)) < 0)
        goto fail_sock;
    zmq_msg_init(&self->msg);
    return self;

fail_sock:
    fprintf(stderr, "arena_peer_libzmq: %s %s: %s\n", bind ? "bind" : "connect", endpoint,
            zmq_strerror(errno));
    zmq_close(self->sock);
fail_context:
    zmq_ctx_term(self->context);
fail_self:
    free(self);
fail:
    fprintf(stderr, "arena_peer_libzmq: the socket could not be opened\n");
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
    return outcome_of("recv", zmq_msg_recv(&self->msg, self->sock, 0));
}

arena_outcome
arena_sock_echo(arena_sock *self)
{
    arena_outcome outcome = arena_sock_drop(self);

    if (outcome != ARENA_DONE)
        return outcome;
    return outcome_of("send", zmq_msg_send(&self->msg, self->sock, 0));
}

void
arena_sock_breathe(arena_sock *self)
{
    (void)self; /* the I/O thread does it */
}

void
arena_sock_close(arena_sock *self)
{
    if (!self)
        return;
    zmq_msg_close(&self->msg);
    zmq_close(self->sock);
    zmq_ctx_term(self->context); /* waits for what was sent: linger is for ever */
    free(self);
}
