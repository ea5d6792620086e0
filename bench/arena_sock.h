/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_BENCH_ARENA_SOCK_H
#define SENNIT_BENCH_ARENA_SOCK_H

/* What the arena peer needs of a messaging engine. Each engine is one file that
 * implements this and nothing else: arena_sock_sennit.c, arena_sock_libzmq.c.
 * Both use their engine's default options except where a knob says otherwise. */

#include <stdbool.h>
#include <stddef.h>

typedef enum arena_type {
    ARENA_PUSH,
    ARENA_PULL,
    ARENA_REQ,
    ARENA_REP,
    ARENA_PUB,
    ARENA_SUB,
} arena_type;

typedef enum arena_outcome {
    ARENA_DONE,
    ARENA_AGAIN,  /* the receive timeout passed, or a transient failure */
    ARENA_FAILED, /* this socket will not work any more; stderr says why */
} arena_outcome;

typedef struct arena_sock_opts {
    int send_hwm_msgs;   /* -1: the engine's default */
    int recv_hwm_msgs;   /* -1: the engine's default */
    int recv_timeout_ms; /* -1: for ever */
    int io_threads;      /* -1: the engine's default; an engine without them ignores it */
} arena_sock_opts;

typedef struct arena_sock arena_sock;

/* The engine's answers to `describe`. */
typedef struct arena_engine {
    const char *name;
    const char *impl;      /* "native" or "ffi" */
    const char *language;  /* of the library */
    const char *threading; /* "single", "multi" or "native" */
    const char *io;        /* "epoll" or "io_uring" */
} arena_engine;

extern const arena_engine arena_engine_info;

/* "MAJOR.MINOR.PATCH" of the library that is running. */
const char *arena_engine_version(void);

/* Opens the process's only socket, bound or connected to `endpoint`. A SUB
 * subscribes to everything. Gives: the socket, or NULL after a line on stderr. */
arena_sock *arena_sock_open(arena_type type, bool bind, const char *endpoint,
                            const arena_sock_opts *opts);

/* Sends `size` bytes as one message, blocking where the type blocks. */
arena_outcome arena_sock_send(arena_sock *sock, const void *data, size_t size);

/* Receives one message and drops it. */
arena_outcome arena_sock_drop(arena_sock *sock);

/* Receives one message and sends the same message back. */
arena_outcome arena_sock_echo(arena_sock *sock);

/* Gives the engine the caller's thread for what is due: new peers, lost peers.
 * A sender that never blocks calls it now and then. */
void arena_sock_breathe(arena_sock *sock);

/* Closes after everything sent has left. NULL is a no-op. */
void arena_sock_close(arena_sock *sock);

#endif /* SENNIT_BENCH_ARENA_SOCK_H */
