/* SPDX-License-Identifier: MIT */
/* One side of a measurement with zmq-arena's command line and output lines, so
 * that its orchestrator and bench/run drive any engine the same way. The engine
 * is behind arena_sock.h, the arguments are in arena_args.c; loops, statistics and
 * output are here once.
 *
 *   arena_peer describe [--variant V]
 *   arena_peer --role pub|sub --kind throughput|latency|pubsub|fanout|fanin
 *              --transport tcp|ipc --endpoint E --payload-bytes N --messages N
 *              --warmup N [--peers N] [--variant V] [--knob k=v]... [--bind]
 *              [--duration-secs F]
 *
 * and, beyond zmq-arena:
 *   --kind broadcast           as pubsub, --peers subscribers in one process
 *   --kind pipelined           requests, --knob window=N of them outstanding
 *   --kind storm|idle          --peers connections at once; idle keeps them
 *   --kind echo                --peers connections, a request of each outstanding
 *   --transport inproc --role both   both sides, a thread each
 *   --report                   a second line: PEAK <KiB of memory at most>
 *
 * stdout carries one line and is flushed before exit (idle: and then waits):
 *   THROUGHPUT <count> <seconds>       (the consumer; of pipelined, storm, idle, echo
 *                                       the producer)
 *   LATENCY <count> <min> <p50> <p90> <p99> <p999> <max>  (the producer, ns) */
#include "arena_args.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { EXIT_USAGE = 2 };

/* A consumer of the timed kinds waits this long for the first message. */
#define FIRST_MESSAGE_NS (UINT64_C(10) * 1000000000)

/* How often a timed consumer that hears nothing looks at the clock, ... */
#define IDLE_TICK_MS 50

/* ... and how many messages one receives between two looks. */
#define CLOCK_EVERY_MSGS 16

static uint64_t
now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- Output ----------------------------------------------------------- */

/* stdout is a pipe that is read after our exit: it must be flushed, and a
 * failure to write is a failed measurement. */
static bool
finish_output(void)
{
    return fflush(stdout) == 0 && !ferror(stdout);
}

static bool
print_throughput(uint64_t count, uint64_t elapsed_ns)
{
    double secs = (double)elapsed_ns / 1e9;

    printf("THROUGHPUT %" PRIu64 " %.6f\n", count, secs < 1e-6 ? 1e-6 : secs);
    return finish_output();
}

/* What the kernel counted for this process. That of getrusage(2) is of no use: it
 * begins with what the parent had when it forked. */
static bool
print_peak(void)
{
    FILE *status = fopen("/proc/self/status", "r");
    char line[128];
    unsigned long long peak_kib = 0;

    while (status && fgets(line, sizeof line, status))
        if (strncmp(line, "VmHWM:", 6) == 0)
            peak_kib = strtoull(line + 6, NULL, 10);
    if (status)
        fclose(status);
    printf("PEAK %llu\n", peak_kib);
    return finish_output() && peak_kib > 0;
}

static int
compare_u64(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

static bool
print_latency(uint64_t *samples, size_t count)
{
    static const double quantiles[] = { 0.50, 0.90, 0.99, 0.999 };

    qsort(samples, count, sizeof *samples, compare_u64);
    printf("LATENCY %zu %" PRIu64, count, samples[0]);
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++)
        printf(" %" PRIu64, samples[(size_t)(quantiles[i] * (double)(count - 1))]);
    printf(" %" PRIu64 "\n", samples[count - 1]);
    return finish_output();
}

/* ---- Roles ------------------------------------------------------------ */

static bool
send_counted(arena_sock *sock, const void *payload, uint64_t size, uint64_t left)
{
    while (left) {
        arena_outcome outcome = arena_sock_send(sock, payload, size);
        if (outcome == ARENA_FAILED)
            return false;
        if (outcome == ARENA_DONE)
            left--;
    }
    return true;
}

static bool
drop_counted(arena_sock *sock, uint64_t left)
{
    while (left) {
        arena_outcome outcome = arena_sock_drop(sock);
        if (outcome == ARENA_FAILED)
            return false;
        if (outcome == ARENA_DONE)
            left--;
    }
    return true;
}

static bool
consume_counted(arena_sock *sock, const arena_args *args)
{
    uint64_t started_at;

    if (!drop_counted(sock, args->warmup))
        return false;
    started_at = now_ns();
    if (!drop_counted(sock, args->messages))
        return false;
    return print_throughput(args->messages, now_ns() - started_at);
}

static bool
echo_counted(arena_sock *sock, uint64_t left)
{
    while (left) {
        arena_outcome outcome = arena_sock_echo(sock);
        if (outcome == ARENA_FAILED)
            return false;
        if (outcome == ARENA_DONE)
            left--;
    }
    return true;
}

static bool
round_trip(arena_sock *sock, const void *payload, size_t size, uint64_t *elapsed_ns)
{
    uint64_t started_at = now_ns();

    if (arena_sock_send(sock, payload, size) != ARENA_DONE ||
        arena_sock_drop(sock) != ARENA_DONE)
        return false;
    *elapsed_ns = now_ns() - started_at;
    return true;
}

static bool
measure_latency(arena_sock *sock, const void *payload, const arena_args *args)
{
    uint64_t *samples = calloc(args->messages, sizeof *samples);
    uint64_t unused;
    bool ok = samples != NULL;

    if (!ok)
        fprintf(stderr, "arena_peer: no memory for %" PRIu64 " samples\n",
                args->messages);
    for (uint64_t i = 0; ok && i < args->warmup; i++)
        ok = round_trip(sock, payload, args->payload_bytes, &unused);
    for (uint64_t i = 0; ok && i < args->messages; i++)
        ok = round_trip(sock, payload, args->payload_bytes, &samples[i]);
    if (ok)
        ok = print_latency(samples, args->messages);
    free(samples);
    return ok;
}

/* `left` answers, each with a request more in its place. */
static bool
ask_and_drop(arena_sock *sock, const void *payload, uint64_t size, uint64_t left)
{
    while (left--)
        if (!drop_counted(sock, 1) || !send_counted(sock, payload, size, 1))
            return false;
    return true;
}

static bool
measure_pipelined(arena_sock *sock, const void *payload, const arena_args *args)
{
    uint64_t started_at;

    if (!send_counted(sock, payload, args->payload_bytes, args->window) ||
        !ask_and_drop(sock, payload, args->payload_bytes, args->warmup))
        return false;
    started_at = now_ns();
    if (!ask_and_drop(sock, payload, args->payload_bytes, args->messages))
        return false;
    return print_throughput(args->messages, now_ns() - started_at);
}

/* From the first connect, which was before the socket was handed to us, to the last
 * answer. */
static bool
measure_storm(arena_sock *sock, const arena_args *args, uint64_t opened_at)
{
    if (!drop_counted(sock, args->peers) ||
        !print_throughput(args->peers, now_ns() - opened_at))
        return false;
    return args->kind != ARENA_IDLE || drop_counted(sock, UINT64_MAX);
}

/* `left` answers, each with the next request of its connection. What a connection begins
 * with is answered without a body: `fresh` counts those. */
static bool
ask_again(arena_sock *sock, const void *payload, uint64_t size, uint64_t left,
          uint64_t *fresh)
{
    while (left) {
        bool empty = false;
        arena_outcome outcome = arena_sock_ask_again(sock, payload, size, &empty);

        if (outcome == ARENA_FAILED)
            return false;
        if (outcome != ARENA_DONE)
            continue;
        left--;
        *fresh += empty;
    }
    return true;
}

/* Begins when all connections have answered. */
static bool
measure_echo(arena_sock *sock, const void *payload, const arena_args *args)
{
    uint64_t size = args->payload_bytes, fresh = 0, started_at;

    while (fresh < args->peers)
        if (!ask_again(sock, payload, size, 1, &fresh))
            return false;
    if (!ask_again(sock, payload, size, args->warmup, &fresh))
        return false;
    started_at = now_ns();
    if (!ask_again(sock, payload, size, args->messages, &fresh))
        return false;
    return print_throughput(args->messages, now_ns() - started_at);
}

static bool
send_forever(arena_sock *sock, const void *payload, size_t size)
{
    return send_counted(sock, payload, size, UINT64_MAX);
}

/* What a timed consumer receives: of one socket or of many. */
typedef struct source {
    arena_sock *sock;
    arena_crowd *crowd;
    size_t members;
} source;

static arena_outcome
source_drop(source *from, unsigned long long *dropped)
{
    arena_outcome outcome = ARENA_DONE;

    if (from->crowd)
        return arena_crowd_drop(from->crowd, dropped);
    for (int i = 0; i < CLOCK_EVERY_MSGS && outcome == ARENA_DONE; i++) {
        outcome = arena_sock_drop(from->sock);
        *dropped += outcome == ARENA_DONE;
    }
    return outcome;
}

/* Begins when all have heard something. */
static bool
consume_timed(source from, double duration_secs)
{
    uint64_t duration_ns = (uint64_t)(duration_secs * 1e9);
    uint64_t opened_at = now_ns(), started_at, elapsed_ns = 0;
    unsigned long long dropped = 0;
    size_t heard = 0;

    while (heard < from.members) {
        if (source_drop(&from, &dropped) == ARENA_FAILED ||
            now_ns() - opened_at > FIRST_MESSAGE_NS)
            return print_throughput(0, 0);
        heard = from.crowd ? arena_crowd_heard(from.crowd) : dropped > 0;
    }
    dropped = 0;
    started_at = now_ns();
    while (elapsed_ns < duration_ns) {
        if (source_drop(&from, &dropped) == ARENA_FAILED)
            return false;
        elapsed_ns = now_ns() - started_at;
    }
    return print_throughput(dropped, elapsed_ns);
}

static bool
consume_crowd(const arena_args *args)
{
    arena_crowd *crowd = arena_crowd_open(arena_consumer_of(args->kind), args->endpoint,
                                          args->peers, &args->opts);
    bool ok = crowd && consume_timed((source){ .crowd = crowd, .members = args->peers },
                                     args->duration_secs);

    arena_crowd_close(crowd);
    return ok;
}

static bool
consume(arena_sock *sock, const arena_args *args)
{
    switch (args->kind) {
    case ARENA_THROUGHPUT:
        return consume_counted(sock, args);
    case ARENA_PUBSUB:
    case ARENA_FANOUT:
    case ARENA_FANIN:
    case ARENA_BROADCAST:
        return consume_timed((source){ .sock = sock, .members = 1 }, args->duration_secs);
    case ARENA_LATENCY:
    case ARENA_PIPELINED:
    case ARENA_STORM:
    case ARENA_IDLE:
    case ARENA_ECHO:
        /* For ever, where the other side does not end with us. */
        return echo_counted(sock, args->role == ARENA_BOTH ? args->warmup + args->messages
                                                           : UINT64_MAX);
    }
    return false;
}

static bool
produce(arena_sock *sock, const void *payload, const arena_args *args, uint64_t opened_at)
{
    switch (args->kind) {
    case ARENA_THROUGHPUT:
        return send_counted(sock, payload, args->payload_bytes,
                            args->warmup + args->messages);
    case ARENA_LATENCY:
        return measure_latency(sock, payload, args);
    case ARENA_PUBSUB:
    case ARENA_FANOUT:
    case ARENA_FANIN:
    case ARENA_BROADCAST:
        return send_forever(sock, payload, args->payload_bytes);
    case ARENA_PIPELINED:
        return measure_pipelined(sock, payload, args);
    case ARENA_STORM:
    case ARENA_IDLE:
        return measure_storm(sock, args, opened_at);
    case ARENA_ECHO:
        return measure_echo(sock, payload, args);
    }
    return false;
}

/* One side, on a socket of its own. */
static bool
run_side(bool consumer, bool bind, const void *payload, const arena_args *args)
{
    uint64_t opened_at = now_ns();
    arena_type type =
        consumer ? arena_consumer_of(args->kind) : arena_producer_of(args->kind);
    arena_sock *sock;
    bool ok;

    if (consumer && args->kind == ARENA_BROADCAST)
        return consume_crowd(args);
    sock = arena_sock_open(type, bind, args->endpoint, &args->opts);
    ok = sock &&
         (consumer ? consume(sock, args) : produce(sock, payload, args, opened_at));
    arena_sock_close(sock);
    return ok;
}

/* The producer of --role both. */
typedef struct second {
    pthread_t thread;
    const arena_args *args;
    const void *payload;
    bool ok;
} second;

static void *
run_second(void *arg)
{
    second *self = arg;

    self->ok = run_side(false, false, self->payload, self->args);
    return NULL;
}

/* The consumer has bound before the producer begins: nobody waits at its end for a name
 * that is bound later. */
static bool
run_both(const void *payload, arena_args *args)
{
    second other = { .args = args, .payload = payload };
    arena_sock *sock = NULL;
    bool ok = false;

    args->opts.shared = arena_shared_open();
    if (args->opts.shared)
        sock = arena_sock_open(arena_consumer_of(args->kind), true, args->endpoint,
                               &args->opts);
    if (sock && pthread_create(&other.thread, NULL, run_second, &other) == 0) {
        ok = consume(sock, args);
        pthread_join(other.thread, NULL);
    }
    arena_sock_close(sock);
    arena_shared_close(args->opts.shared);
    return ok && other.ok;
}

static int
describe(void)
{
    printf("{\"engine\":\"%s\",\"lib_version\":\"%s\",\"binding_version\":null,"
           "\"lib_language\":\"%s\",\"impl\":\"%s\",\"ffi_to\":null,\"language\":\"C\","
           "\"concurrency\":\"sync\",\"threading\":\"%s\",\"io\":\"%s\"}\n",
           arena_engine_info.name, arena_engine_version(), arena_engine_info.language,
           arena_engine_info.impl, arena_engine_info.threading, arena_engine_info.io);
    return finish_output() ? EXIT_SUCCESS : EXIT_FAILURE;
}

int
main(int argc, char **argv)
{
    arena_args args;
    void *payload;
    bool ok;

    if (argc > 1 && strcmp(argv[1], "describe") == 0)
        return describe();
    if (!arena_args_parse(argc, argv, &args))
        return EXIT_USAGE;
    if (args.role == ARENA_CONSUMER && arena_timed(args.kind))
        args.opts.recv_timeout_ms = IDLE_TICK_MS;
    payload = calloc(1, args.payload_bytes + 1);
    if (!payload) {
        fprintf(stderr, "arena_peer: no memory for the payload\n");
        return EXIT_FAILURE;
    }
    ok = args.role == ARENA_BOTH
             ? run_both(payload, &args)
             : run_side(args.role == ARENA_CONSUMER, args.bind, payload, &args);
    if (ok && args.report)
        ok = print_peak();
    free(payload);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
