/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_BENCH_ARENA_SOCK_H
#define SENNIT_BENCH_ARENA_SOCK_H

/* What the arena peer needs of a messaging engine. Each engine is one file that
 * implements this and nothing else: arena_sock_sennit.c, arena_sock_libzmq.c.
 * Both use their engine's default options except where a field here says otherwise. */

#include <stdbool.h>
#include <stddef.h>

typedef enum arena_type {
    ARENA_PUSH,
    ARENA_PULL,
    ARENA_REQ,
    ARENA_REP,
    ARENA_PUB,
    ARENA_SUB,
    ARENA_DEALER,
    ARENA_ROUTER,
} arena_type;

typedef enum arena_outcome {
    ARENA_DONE,
    ARENA_AGAIN,  /* the receive timeout passed, or a transient failure */
    ARENA_FAILED, /* this socket will not work any more; stderr says why */
} arena_outcome;

/* What sockets of several threads need in common for inproc. */
typedef struct arena_shared arena_shared;

typedef struct arena_sock_opts {
    int send_hwm_msgs;   /* -1: the engine's default */
    int recv_hwm_msgs;   /* -1: the engine's default */
    int recv_timeout_ms; /* -1: for ever */
    int io_threads;      /* -1: the engine's default; an engine without them ignores it */
    int backlog;         /* -1: the engine's default */
    unsigned connects;   /* how many times it connects */
    bool probe;          /* each connection begins with an empty message (ROUTER) */
    arena_shared *shared; /* NULL: it needs nothing in common */
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

/* NULL after a line on stderr. Closed when its sockets are. */
arena_shared *arena_shared_open(void);
void arena_shared_close(arena_shared *shared);

/* Opens a socket, bound or connected to `endpoint`. It stays on the thread that opens
 * it. A SUB subscribes to everything. Gives: the socket, or NULL after a line on
 * stderr. */
arena_sock *arena_sock_open(arena_type type, bool bind, const char *endpoint,
                            const arena_sock_opts *opts);

/* Sends `size` bytes as one message, blocking where the type blocks. */
arena_outcome arena_sock_send(arena_sock *sock, const void *data, size_t size);

/* Receives one message, of any number of frames, and drops it. */
arena_outcome arena_sock_drop(arena_sock *sock);

/* Receives one message, of any number of frames, and sends the same message back. */
arena_outcome arena_sock_echo(arena_sock *sock);

/* A ROUTER receives one message and sends `size` bytes back to its sender. `*empty`: all
 * that came was a name. */
arena_outcome arena_sock_ask_again(arena_sock *sock, const void *data, size_t size,
                                   bool *empty);

/* Closes after everything sent has left. NULL is a no-op. */
void arena_sock_close(arena_sock *sock);

/* ---- many sockets in one thread ---------------------------------------- */

/* Messages taken of one socket before the others get their turn. */
#define ARENA_CROWD_BATCH 256

typedef struct arena_crowd arena_crowd;

/* Opens `count` sockets of one thread, connected to `endpoint`. NULL after a line on
 * stderr. */
arena_crowd *arena_crowd_open(arena_type type, const char *endpoint, size_t count,
                              const arena_sock_opts *opts);

/* Waits, at most recv_timeout_ms, until some have messages, and drops those, at most
 * ARENA_CROWD_BATCH of each; adds their number to `*dropped`. */
arena_outcome arena_crowd_drop(arena_crowd *crowd, unsigned long long *dropped);

/* How many of them have ever received something. */
size_t arena_crowd_heard(const arena_crowd *crowd);

void arena_crowd_close(arena_crowd *crowd);

#endif /* SENNIT_BENCH_ARENA_SOCK_H */
