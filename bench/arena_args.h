/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_BENCH_ARENA_ARGS_H
#define SENNIT_BENCH_ARENA_ARGS_H

/* The arena peer's command line: zmq-arena's, and what we need beyond it. */

#include "arena_sock.h"

#include <stdint.h>

typedef enum arena_kind {
    ARENA_THROUGHPUT,
    ARENA_LATENCY,
    ARENA_PUBSUB,
    ARENA_FANOUT,
    ARENA_FANIN,
    ARENA_BROADCAST, /* as pubsub, all subscribers in one process */
    ARENA_PIPELINED, /* a window of requests outstanding */
    ARENA_STORM,     /* many connects at once, until each has carried an answer */
    ARENA_IDLE,      /* the same, and then nothing */
    ARENA_ECHO,      /* many connections, a request of each outstanding */
} arena_kind;

typedef enum arena_role {
    ARENA_PRODUCER,
    ARENA_CONSUMER,
    ARENA_BOTH, /* two threads of one process: inproc */
} arena_role;

typedef struct arena_args {
    arena_role role;
    arena_kind kind;
    bool role_set, kind_set, inproc;
    bool bind;   /* this side does */
    bool report; /* a line with the peak of memory, too */
    const char *endpoint;
    uint64_t payload_bytes, messages, warmup, peers;
    uint64_t window; /* pipelined */
    double duration_secs;
    arena_sock_opts opts;
} arena_args;

/* Which sockets a kind uses. */
arena_type arena_producer_of(arena_kind kind);
arena_type arena_consumer_of(arena_kind kind);

/* Whether it runs for --duration-secs, and else for --messages. */
bool arena_timed(arena_kind kind);

/* False after a line on stderr that says what is wrong. */
bool arena_args_parse(int argc, char **argv, arena_args *args);

#endif /* SENNIT_BENCH_ARENA_ARGS_H */
