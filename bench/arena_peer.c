/* SPDX-License-Identifier: MIT */
/* One side of a measurement with zmq-arena's command line and output lines, so
 * that its orchestrator and bench/run drive any engine the same way. The engine
 * is behind arena_sock.h; arguments, loops, statistics and output are here once.
 *
 *   arena_peer describe [--variant V]
 *   arena_peer --role pub|sub --kind throughput|latency|pubsub|fanout|fanin
 *              --transport tcp|ipc --endpoint E --payload-bytes N --messages N
 *              --warmup N [--peers N] [--variant V] [--knob k=v]... [--bind]
 *              [--duration-secs F]
 *
 * stdout carries one line and is flushed before exit:
 *   THROUGHPUT <count> <seconds>                          (the consumer)
 *   LATENCY <count> <min> <p50> <p90> <p99> <p999> <max>  (the producer, ns) */
#include "arena_sock.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { EXIT_USAGE = 2 };

/* A consumer of the timed kinds waits this long for the first message. */
#define FIRST_MESSAGE_NS (UINT64_C(10) * 1000000000)

/* How often a timed consumer that hears nothing looks at the clock. */
#define IDLE_TICK_MS 50

/* Messages a timed producer sends between two breaths. */
#define BREATH_MSGS 256

#define PAYLOAD_MAX  (UINT64_C(1) << 30)
#define MESSAGES_MAX (UINT64_C(1) << 40)

typedef enum arena_kind { THROUGHPUT, LATENCY, PUBSUB, FANOUT, FANIN } arena_kind;

static const char *const kind_names[] = {
    [THROUGHPUT] = "throughput", [LATENCY] = "latency", [PUBSUB] = "pubsub",
    [FANOUT] = "fanout",         [FANIN] = "fanin",
};

/* Which sockets a kind uses, and which side binds when nobody says --bind. */
static const struct {
    arena_type producer, consumer;
    bool timed; /* runs for --duration-secs; --bind names the binding side */
} kinds[] = {
    [THROUGHPUT] = { ARENA_PUSH, ARENA_PULL, false },
    [LATENCY] = { ARENA_REQ, ARENA_REP, false },
    [PUBSUB] = { ARENA_PUB, ARENA_SUB, true },
    [FANOUT] = { ARENA_PUSH, ARENA_PULL, true },
    [FANIN] = { ARENA_PUSH, ARENA_PULL, true },
};

typedef struct arena_args {
    bool consumer, role_set, kind_set, bind;
    arena_kind kind;
    const char *endpoint;
    uint64_t payload_bytes, messages, warmup;
    double duration_secs;
    arena_sock_opts opts;
} arena_args;

static uint64_t
now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- Arguments -------------------------------------------------------- */

static bool
usage(const char *what, const char *value)
{
    fprintf(stderr, "arena_peer: %s%s%s (see the head of bench/arena_peer.c)\n", what,
            value ? ": " : "", value ? value : "");
    return false;
}

static bool
parse_count(const char *text, uint64_t max, uint64_t *out)
{
    char *end;
    unsigned long long value;

    if (*text < '0' || *text > '9')
        return false;
    value = strtoull(text, &end, 10);
    if (*end || value > max)
        return false;
    *out = value;
    return true;
}

static bool
parse_kind(const char *text, arena_args *args)
{
    for (size_t i = 0; i < sizeof kind_names / sizeof *kind_names; i++)
        if (strcmp(text, kind_names[i]) == 0) {
            args->kind = (arena_kind)i;
            args->kind_set = true;
            return true;
        }
    return usage("--kind is throughput, latency, pubsub, fanout or fanin, not", text);
}

/* Knobs we do not know are somebody else's: ignored, as the contract asks. */
static bool
parse_knob(const char *text, arena_sock_opts *opts)
{
    static const char *const names[] = { "sndhwm=", "rcvhwm=", "io_threads=" };
    int *const fields[] = { &opts->send_hwm_msgs, &opts->recv_hwm_msgs,
                            &opts->io_threads };
    uint64_t value;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i]);
        if (strncmp(text, names[i], length) != 0)
            continue;
        if (!parse_count(text + length, INT32_MAX, &value))
            return usage("--knob needs a number", text);
        *fields[i] = (int)value;
    }
    return true;
}

static bool
parse_option(int option, const char *text, arena_args *args)
{
    uint64_t ignored;
    char *end;

    switch (option) {
    case 'r':
        args->consumer = strcmp(text, "sub") == 0;
        args->role_set = args->consumer || strcmp(text, "pub") == 0;
        return args->role_set || usage("--role is pub or sub, not", text);
    case 'k':
        return parse_kind(text, args);
    case 't':
        return strcmp(text, "tcp") == 0 || strcmp(text, "ipc") == 0 ||
               usage("--transport is tcp or ipc, not", text);
    case 'e':
        args->endpoint = text;
        return true;
    case 'p':
        return parse_count(text, PAYLOAD_MAX, &args->payload_bytes) ||
               usage("--payload-bytes needs a number up to 2^30, not", text);
    case 'm':
        return parse_count(text, MESSAGES_MAX, &args->messages) ||
               usage("--messages needs a number, not", text);
    case 'w':
        return parse_count(text, MESSAGES_MAX, &args->warmup) ||
               usage("--warmup needs a number, not", text);
    case 'n': /* how many others there are changes nothing for this one */
        return parse_count(text, UINT32_MAX, &ignored) ||
               usage("--peers needs a number, not", text);
    case 'v': /* one variant exists */
        return true;
    case 'K':
        return parse_knob(text, &args->opts);
    case 'b':
        args->bind = true;
        return true;
    case 'd':
        args->duration_secs = strtod(text, &end);
        return (end != text && !*end && args->duration_secs > 0 &&
                args->duration_secs < 86400) ||
               usage("--duration-secs needs seconds above 0, not", text);
    }
    return usage("unknown option or a missing value", NULL);
}

static bool
parse_args(int argc, char **argv, arena_args *args)
{
    static const struct option options[] = {
        { "role", required_argument, NULL, 'r' },
        { "kind", required_argument, NULL, 'k' },
        { "transport", required_argument, NULL, 't' },
        { "endpoint", required_argument, NULL, 'e' },
        { "payload-bytes", required_argument, NULL, 'p' },
        { "messages", required_argument, NULL, 'm' },
        { "warmup", required_argument, NULL, 'w' },
        { "peers", required_argument, NULL, 'n' },
        { "variant", required_argument, NULL, 'v' },
        { "knob", required_argument, NULL, 'K' },
        { "bind", no_argument, NULL, 'b' },
        { "duration-secs", required_argument, NULL, 'd' },
        { NULL, 0, NULL, 0 },
    };
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
        if (!parse_option(option, optarg, args))
            return false;
    if (optind != argc)
        return usage("unexpected argument", argv[optind]);
    if (!args->role_set || !args->kind_set || !args->endpoint)
        return usage("--role, --kind and --endpoint are needed", NULL);
    if (!kinds[args->kind].timed) {
        if (!args->messages)
            return usage("--messages needs a number above 0", NULL);
        args->bind = args->consumer;
    } else if (!(args->duration_secs > 0)) {
        return usage("this kind needs --duration-secs", NULL);
    }
    return true;
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
send_counted(arena_sock *sock, const void *payload, const arena_args *args)
{
    for (uint64_t left = args->warmup + args->messages; left;) {
        arena_outcome outcome = arena_sock_send(sock, payload, args->payload_bytes);
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
echo_forever(arena_sock *sock)
{
    while (arena_sock_echo(sock) != ARENA_FAILED) {
    }
    return false;
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

static bool
send_forever(arena_sock *sock, const void *payload, size_t size)
{
    for (;;) {
        for (int i = 0; i < BREATH_MSGS; i++)
            if (arena_sock_send(sock, payload, size) == ARENA_FAILED)
                return false;
        arena_sock_breathe(sock);
    }
}

static bool
consume_timed(arena_sock *sock, double duration_secs)
{
    uint64_t duration_ns = (uint64_t)(duration_secs * 1e9);
    uint64_t opened_at = now_ns(), started_at, elapsed_ns = 0, count = 0;
    arena_outcome outcome;

    do {
        outcome = arena_sock_drop(sock);
        if (outcome == ARENA_FAILED || now_ns() - opened_at > FIRST_MESSAGE_NS)
            return print_throughput(0, 0);
    } while (outcome != ARENA_DONE);
    started_at = now_ns();
    while (elapsed_ns < duration_ns) {
        outcome = arena_sock_drop(sock);
        if (outcome == ARENA_FAILED)
            return false;
        if (outcome == ARENA_DONE)
            count++;
        elapsed_ns = now_ns() - started_at;
    }
    return print_throughput(count, elapsed_ns);
}

static bool
run_role(arena_sock *sock, const void *payload, const arena_args *args)
{
    bool timed = kinds[args->kind].timed;

    if (args->consumer) {
        if (args->kind == LATENCY)
            return echo_forever(sock);
        return timed ? consume_timed(sock, args->duration_secs)
                     : consume_counted(sock, args);
    }
    if (args->kind == LATENCY)
        return measure_latency(sock, payload, args);
    return timed ? send_forever(sock, payload, args->payload_bytes)
                 : send_counted(sock, payload, args);
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
    arena_args args = { .opts = { -1, -1, -1, -1 } };
    arena_sock *sock;
    void *payload;
    bool ok;

    if (argc > 1 && strcmp(argv[1], "describe") == 0)
        return describe();
    if (!parse_args(argc, argv, &args))
        return EXIT_USAGE;
    if (args.consumer && kinds[args.kind].timed)
        args.opts.recv_timeout_ms = IDLE_TICK_MS;
    payload = calloc(1, args.payload_bytes + 1);
    if (!payload) {
        fprintf(stderr, "arena_peer: no memory for the payload\n");
        return EXIT_FAILURE;
    }
    sock = arena_sock_open(args.consumer ? kinds[args.kind].consumer
                                         : kinds[args.kind].producer,
                           args.bind, args.endpoint, &args.opts);
    ok = sock && run_role(sock, payload, &args);
    arena_sock_close(sock);
    free(payload);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
