/* SPDX-License-Identifier: MIT */
#include "arena_args.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAYLOAD_MAX    (UINT64_C(1) << 30)
#define MESSAGES_MAX   (UINT64_C(1) << 40)
#define WINDOW_DEFAULT 64

/* Enough for every storm: what is measured is a handshake, and not what a default of
 * listen(2) makes of it. The system's somaxconn cuts it. */
#define STORM_BACKLOG 4096

static const struct {
    const char *name;
    arena_type producer, consumer;
    bool timed;
} kinds[] = {
    [ARENA_THROUGHPUT] = { "throughput", ARENA_PUSH, ARENA_PULL, false },
    [ARENA_LATENCY] = { "latency", ARENA_REQ, ARENA_REP, false },
    [ARENA_PUBSUB] = { "pubsub", ARENA_PUB, ARENA_SUB, true },
    [ARENA_FANOUT] = { "fanout", ARENA_PUSH, ARENA_PULL, true },
    [ARENA_FANIN] = { "fanin", ARENA_PUSH, ARENA_PULL, true },
    [ARENA_BROADCAST] = { "broadcast", ARENA_PUB, ARENA_SUB, true },
    [ARENA_PIPELINED] = { "pipelined", ARENA_DEALER, ARENA_ROUTER, false },
    [ARENA_STORM] = { "storm", ARENA_ROUTER, ARENA_ROUTER, false },
    [ARENA_IDLE] = { "idle", ARENA_ROUTER, ARENA_ROUTER, false },
    [ARENA_ECHO] = { "echo", ARENA_ROUTER, ARENA_ROUTER, false },
};

arena_type
arena_producer_of(arena_kind kind)
{
    return kinds[kind].producer;
}

arena_type
arena_consumer_of(arena_kind kind)
{
    return kinds[kind].consumer;
}

bool
arena_timed(arena_kind kind)
{
    return kinds[kind].timed;
}

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
parse_role(const char *text, arena_args *args)
{
    static const char *const names[] = {
        [ARENA_PRODUCER] = "pub", [ARENA_CONSUMER] = "sub", [ARENA_BOTH] = "both"
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(text, names[i]) == 0) {
            args->role = (arena_role)i;
            args->role_set = true;
            return true;
        }
    return usage("--role is pub, sub or both, not", text);
}

static bool
parse_kind(const char *text, arena_args *args)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(text, kinds[i].name) == 0) {
            args->kind = (arena_kind)i;
            args->kind_set = true;
            return true;
        }
    return usage("--kind is none of those there are", text);
}

static bool
parse_transport(const char *text, arena_args *args)
{
    args->inproc = strcmp(text, "inproc") == 0;
    return args->inproc || strcmp(text, "tcp") == 0 || strcmp(text, "ipc") == 0 ||
           usage("--transport is tcp, ipc or inproc, not", text);
}

/* Knobs we do not know are somebody else's: ignored, as the contract asks. */
static bool
parse_knob(const char *text, arena_args *args)
{
    static const char *const names[] = { "sndhwm=", "rcvhwm=", "io_threads=" };
    int *const fields[] = { &args->opts.send_hwm_msgs, &args->opts.recv_hwm_msgs,
                            &args->opts.io_threads };
    uint64_t value;

    if (strncmp(text, "window=", 7) == 0)
        return (parse_count(text + 7, INT32_MAX, &args->window) && args->window > 0) ||
               usage("--knob needs a number above 0", text);
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
    char *end;

    switch (option) {
    case 'r':
        return parse_role(text, args);
    case 'k':
        return parse_kind(text, args);
    case 't':
        return parse_transport(text, args);
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
    case 'n':
        return parse_count(text, INT32_MAX, &args->peers) ||
               usage("--peers needs a number, not", text);
    case 'v': /* one variant exists */
        return true;
    case 'K':
        return parse_knob(text, args);
    case 'b':
        args->bind = true;
        return true;
    case 'R':
        args->report = true;
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
check(arena_args *args)
{
    if (!args->role_set || !args->kind_set || !args->endpoint)
        return usage("--role, --kind and --endpoint are needed", NULL);
    if (args->inproc != (args->role == ARENA_BOTH))
        return usage("--transport inproc and --role both belong together", NULL);
    if (args->inproc && args->kind != ARENA_THROUGHPUT && args->kind != ARENA_LATENCY)
        return usage("inproc is measured with this --kind: throughput, latency", NULL);
    if (args->peers == 0 && args->kind >= ARENA_BROADCAST &&
        args->kind != ARENA_PIPELINED)
        return usage("this kind needs --peers", NULL);
    if (arena_timed(args->kind))
        return args->duration_secs > 0 || usage("this kind needs --duration-secs", NULL);
    if (args->messages == 0 && args->kind != ARENA_STORM && args->kind != ARENA_IDLE)
        return usage("--messages needs a number above 0", NULL);
    args->bind = args->role == ARENA_CONSUMER;
    return true;
}

bool
arena_args_parse(int argc, char **argv, arena_args *args)
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
        { "report", no_argument, NULL, 'R' },
        { "duration-secs", required_argument, NULL, 'd' },
        { NULL, 0, NULL, 0 },
    };
    int option;

    *args = (arena_args){ .window = WINDOW_DEFAULT,
                          .opts = { .send_hwm_msgs = -1,
                                    .recv_hwm_msgs = -1,
                                    .recv_timeout_ms = -1,
                                    .io_threads = -1,
                                    .backlog = -1,
                                    .connects = 1 } };
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
        if (!parse_option(option, optarg, args))
            return false;
    if (optind != argc)
        return usage("unexpected argument", argv[optind]);
    if (!check(args))
        return false;
    if (args->kind == ARENA_STORM || args->kind == ARENA_IDLE ||
        args->kind == ARENA_ECHO) {
        args->opts.backlog = STORM_BACKLOG;
        args->opts.probe = args->role == ARENA_PRODUCER;
        if (args->role == ARENA_PRODUCER)
            args->opts.connects = (unsigned)args->peers;
    }
    return true;
}
