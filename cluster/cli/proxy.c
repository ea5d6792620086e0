/* SPDX-License-Identifier: MIT */
/* `sennit proxy`: two sockets and what passes between them, until it is told to stop. */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <sennit/proxy.h>
#include <sennit/sennit.h>

#include "command.h"
#include "options.h"
#include "proxy_stats.h"
#include "signals.h"
#include "sock_option.h"
#include "tell.h"
#include "usage.h"

#define WHY_MAX       640
#define CONNECT       "connect:"
#define SUBSCRIBE_MAX 64

typedef enum place { FRONT, BACK, CAPTURE, CONTROL, PLACES } place;

static const char *const place_names[PLACES] = { "front", "back", "capture", "control" };

/* One of its sockets, as the command line asks for it. */
typedef struct side {
    const char *spec; /* TYPE@ENDPOINT[,ENDPOINT...]; NULL: not given */
    sennit_sock_type type;
    sennit_sock_opts opts;
    sennit_sock *sock;
    json_t *endpoints; /* as they were bound or connected */
} side;

typedef struct proxy_run {
    side sides[PLACES];
    const char *topics[SUBSCRIBE_MAX]; /* --subscribe */
    size_t topics_count;
    bool verbose;              /* events on stderr */
    const char *endpoint_file; /* NULL: none */
    cli_listening listening;
    sennit_loop *loop;
    sennit_proxy *proxy;
    int signal_fd;
    int signal_number; /* that ended it; 0: none */
} proxy_run;

/* The options of a side stand together, in the order of `place`. */
enum {
    OPTION_SIDE = 256,
    OPTION_SIDE_OPTION = OPTION_SIDE + PLACES,
    OPTION_SUBSCRIBE = OPTION_SIDE_OPTION + PLACES,
    OPTION_ENDPOINT_FILE,
    OPTION_VERBOSE
};

static const struct option options[] = {
    { "front", required_argument, NULL, OPTION_SIDE + FRONT },
    { "back", required_argument, NULL, OPTION_SIDE + BACK },
    { "capture", required_argument, NULL, OPTION_SIDE + CAPTURE },
    { "control", required_argument, NULL, OPTION_SIDE + CONTROL },
    { "front-option", required_argument, NULL, OPTION_SIDE_OPTION + FRONT },
    { "back-option", required_argument, NULL, OPTION_SIDE_OPTION + BACK },
    { "capture-option", required_argument, NULL, OPTION_SIDE_OPTION + CAPTURE },
    { "control-option", required_argument, NULL, OPTION_SIDE_OPTION + CONTROL },
    { "subscribe", required_argument, NULL, OPTION_SUBSCRIBE },
    { "endpoint-file", required_argument, NULL, OPTION_ENDPOINT_FILE },
    { "verbose", no_argument, NULL, OPTION_VERBOSE },
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
};

/* ---- The command line ------------------------------------------------- */

static bool
read_side(side *s, const char *option, const char *spec)
{
    const char *sign = strchr(spec, '@');
    char name[32], where[32];

    if (s->spec) {
        cli_say("proxy: --%s is given twice; further endpoints follow the first after a "
                "comma",
                option);
        return false;
    }
    if (!sign || sign == spec || !sign[1]) {
        cli_say("proxy: --%s %s: write TYPE@ENDPOINT, as in --%s "
                "ROUTER@tcp://127.0.0.1:5555",
                option, spec, option);
        return false;
    }
    snprintf(name, sizeof name, "%.*s", (int)(sign - spec), spec);
    snprintf(where, sizeof where, "proxy: --%s", option);
    if (!cli_sock_type_read(where, name, &s->type))
        return false;
    s->spec = spec;
    return true;
}

static bool
add_topic(proxy_run *run, const char *topic)
{
    if (run->topics_count == SUBSCRIBE_MAX) {
        cli_say("proxy: more than %d --subscribe", SUBSCRIBE_MAX);
        return false;
    }
    run->topics[run->topics_count++] = topic;
    return true;
}

static bool
set_sock_option(proxy_run *run, place at, const char *assignment)
{
    char why[WHY_MAX];

    if (cli_sock_option_set(&run->sides[at].opts, assignment, why, sizeof why))
        return true;
    cli_say("proxy: --%s-option %s: %s", place_names[at], assignment, why);
    return false;
}

static bool
take_option(void *arg, int option, const char *value)
{
    proxy_run *run = arg;

    switch (option) {
    case OPTION_SUBSCRIBE:
        return add_topic(run, value);
    case OPTION_ENDPOINT_FILE:
        run->endpoint_file = value;
        return true;
    case OPTION_VERBOSE:
        run->verbose = true;
        return true;
    default:
        break;
    }
    if (option >= OPTION_SIDE_OPTION)
        return set_sock_option(run, (place)(option - OPTION_SIDE_OPTION), value);
    option -= OPTION_SIDE;
    return read_side(&run->sides[option], place_names[option], value);
}

static bool
settle(const proxy_run *run)
{
    for (place i = FRONT; i <= BACK; i++)
        if (!run->sides[i].spec) {
            cli_say("proxy: --%s is missing; write --%s TYPE@ENDPOINT, as in 'sennit "
                    "proxy --front ROUTER@tcp://*:5555 --back DEALER@tcp://*:5556'",
                    place_names[i], place_names[i]);
            return false;
        }
    if (run->topics_count && run->sides[FRONT].type != SENNIT_SUB &&
        run->sides[BACK].type != SENNIT_SUB) {
        cli_say("proxy: --subscribe is for a SUB at the front or the back; an XSUB asks "
                "for what the subscribers of the XPUB ask for");
        return false;
    }
    return true;
}

/* Gives: true with a checked run, else the exit code. */
static bool
parse(proxy_run *run, const cli_command *command, int argc, char **argv, int *exit_code)
{
    if (!cli_read_options(command, argc, argv, options, take_option, run, exit_code))
        return false;
    if (optind < argc) {
        cli_say("proxy: unexpected argument '%s'; a socket follows --front, --back, "
                "--capture or --control",
                argv[optind]);
        return false;
    }
    return settle(run);
}

/* ---- Opening ---------------------------------------------------------- */

static int
failed(const char *what, sennit_err err)
{
    cli_say("proxy: %s: %s", what, sennit_err_text(err));
    return CLI_FAILED;
}

/* A control hears all commands, whatever the others are to hear. */
static int
subscribe(const proxy_run *run, place at)
{
    size_t count = at == CONTROL ? 0 : run->topics_count;
    sennit_bytes topic = { NULL, 0 };
    sennit_err err = SENNIT_OK;

    if (count == 0)
        err = sennit_sock_subscribe(run->sides[at].sock, topic);
    for (size_t i = 0; !err && i < count; i++) {
        topic = (sennit_bytes){ (const uint8_t *)run->topics[i], strlen(run->topics[i]) };
        err = sennit_sock_subscribe(run->sides[at].sock, topic);
    }
    return err ? failed("--subscribe", err) : CLI_OK;
}

static int
open_sockets(proxy_run *run)
{
    for (place i = FRONT; i < PLACES; i++) {
        side *s = &run->sides[i];
        sennit_err err;

        if (!s->spec)
            continue;
        err = sennit_sock_open(&s->sock, run->loop, s->type, &s->opts);
        if (err == SENNIT_EINVAL || err == SENNIT_ENOTSUP) {
            cli_say("proxy: --%s: %s", place_names[i], sennit_loop_why(run->loop));
            return CLI_USAGE;
        }
        if (err)
            return failed(place_names[i], err);
    }
    return CLI_OK;
}

static int
open_proxy(proxy_run *run)
{
    side *sides = run->sides;
    const char *front = sennit_sock_type_name(sides[FRONT].type);
    const char *back = sennit_sock_type_name(sides[BACK].type);
    sennit_err err =
        sennit_proxy_open(&run->proxy, sides[FRONT].sock, sides[BACK].sock, NULL);

    if (err == SENNIT_ENOTSUP) {
        cli_say("proxy: nothing passes between --front %s and --back %s; ROUTER and "
                "DEALER, XSUB and XPUB, or PULL and PUSH go together",
                front, back);
        return CLI_USAGE;
    }
    if (!err && sides[CAPTURE].sock) {
        sennit_proxy_close(run->proxy);
        run->proxy = NULL;
        err = sennit_proxy_open(&run->proxy, sides[FRONT].sock, sides[BACK].sock,
                                sides[CAPTURE].sock);
        if (err == SENNIT_ENOTSUP) {
            cli_say("proxy: --capture is a PUB, PUSH, DEALER, PAIR or XPUB, not a %s",
                    sennit_sock_type_name(sides[CAPTURE].type));
            return CLI_USAGE;
        }
    }
    if (!err && sides[CONTROL].sock)
        err = sennit_proxy_steer(run->proxy, sides[CONTROL].sock);
    if (err == SENNIT_ENOTSUP) {
        cli_say("proxy: --control is a REP, PAIR, DEALER, PULL or SUB, not a %s",
                sennit_sock_type_name(sides[CONTROL].type));
        return CLI_USAGE;
    }
    return err ? failed("cannot begin", err) : CLI_OK;
}

/* For the statistics, as the command line would have it. */
static int
keep_endpoint(side *s, bool connects)
{
    char text[512];

    snprintf(text, sizeof text, "%s%s", connects ? CONNECT : "",
             sennit_sock_last_endpoint(s->sock));
    if (!s->endpoints)
        s->endpoints = json_array();
    if (json_array_append_new(s->endpoints, proxy_stats_text(text)) == 0)
        return CLI_OK;
    return failed("statistics", SENNIT_ENOMEM);
}

/* Binds or connects; a malformed endpoint is a usage error. */
static int
attach_one(proxy_run *run, place at, const char *text)
{
    sennit_sock *sock = run->sides[at].sock;
    bool connects = strncmp(text, CONNECT, strlen(CONNECT)) == 0;
    const char *endpoint = connects ? text + strlen(CONNECT) : text;
    char where[32];
    sennit_err err;

    snprintf(where, sizeof where, "proxy: --%s", place_names[at]);
    if (!cli_check_reachable(where, endpoint))
        return CLI_USAGE;
    err =
        connects ? sennit_sock_connect(sock, endpoint) : sennit_sock_bind(sock, endpoint);
    if (err == SENNIT_EINVAL || err == SENNIT_ENOTSUP) {
        const char *why = sennit_loop_why(run->loop);

        cli_say("proxy: --%s %s: %s; write tcp://ADDRESS:PORT or ipc://PATH, with "
                "connect: in front to connect",
                place_names[at], text, *why ? why : sennit_err_text(err));
        return CLI_USAGE;
    }
    if (err) {
        cli_say("proxy: --%s %s: %s", place_names[at], text, sennit_err_text(err));
        return CLI_FAILED;
    }
    if (!connects)
        cli_listening_add(&run->listening, place_names[at], endpoint,
                          sennit_sock_last_endpoint(sock));
    return keep_endpoint(&run->sides[at], connects);
}

static int
attach(proxy_run *run, place at)
{
    const char *rest = strchr(run->sides[at].spec, '@') + 1;
    char text[512];

    for (;;) {
        size_t size = strcspn(rest, ",");
        int exit_code;

        snprintf(text, sizeof text, "%.*s", (int)(size < 511 ? size : 511), rest);
        exit_code = attach_one(run, at, text);
        if (exit_code != CLI_OK || !rest[size])
            return exit_code;
        rest += size + 1;
    }
}

static int
begin(proxy_run *run)
{
    sennit_err err = sennit_loop_open(&run->loop, NULL);
    int exit_code = err ? failed("loop", err) : open_sockets(run);

    for (place i = FRONT; exit_code == CLI_OK && i < PLACES; i++)
        if (run->sides[i].sock && run->sides[i].type == SENNIT_SUB)
            exit_code = subscribe(run, i);
    if (exit_code == CLI_OK)
        exit_code = open_proxy(run);
    for (place i = FRONT; exit_code == CLI_OK && i < PLACES; i++)
        if (run->sides[i].sock)
            exit_code = attach(run, i);
    if (exit_code == CLI_OK &&
        !cli_listening_write(&run->listening, "proxy", run->endpoint_file))
        exit_code = CLI_FAILED;
    return exit_code;
}

/* ---- The run ---------------------------------------------------------- */

static void
print_statistics(const proxy_run *run, bool peers)
{
    proxy_told told[PLACES];

    for (place i = FRONT; i < PLACES; i++)
        told[i] =
            (proxy_told){ place_names[i], run->sides[i].sock, run->sides[i].endpoints };
    if (!proxy_stats_print(run->proxy, told, PLACES, peers))
        cli_say("proxy: statistics: out of memory, or standard output is gone");
}

static void
tell_events(const proxy_run *run)
{
    for (place i = FRONT; run->verbose && i < PLACES; i++)
        if (run->sides[i].sock)
            cli_take_events(run->sides[i].sock, place_names[i], true, NULL);
}

static void
take_signals(proxy_run *run)
{
    struct signalfd_siginfo info;

    while (read(run->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGUSR1) {
            print_statistics(run, true);
            continue;
        }
        run->signal_number = (int)info.ssi_signo;
        sennit_proxy_stop(run->proxy);
    }
}

static int
forward(proxy_run *run)
{
    struct pollfd fds[2] = {
        { .fd = run->signal_fd, .events = POLLIN },
        { .fd = sennit_loop_fd(run->loop), .events = POLLIN },
    };
    sennit_err why = SENNIT_OK;

    for (;;) {
        sennit_err err = sennit_loop_turn(run->loop, 0);

        if (err && err != SENNIT_EINTR)
            return failed("loop", err);
        tell_events(run);
        take_signals(run);
        if (sennit_proxy_ended(run->proxy, &why))
            break;
        if (poll(fds, 2, sennit_loop_timeout_ms(run->loop)) < 0 && errno != EINTR)
            return failed("poll", SENNIT_EIO);
    }
    tell_events(run);
    print_statistics(run, false);
    if (why)
        return failed("ended", why);
    return run->signal_number ? CLI_SIGNAL + run->signal_number : CLI_OK;
}

static int
proxy_main(const cli_command *command, int argc, char **argv)
{
    proxy_run run = { .loop = NULL };
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1 };
    int exit_code;

    for (place i = FRONT; i < PLACES; i++) {
        run.sides[i].opts = (sennit_sock_opts)SENNIT_SOCK_OPTS_DEFAULT;
        run.sides[i].opts.linger_ms = CLI_LINGER_MS;
    }
    if (!parse(&run, command, argc, argv, &exit_code))
        return exit_code;
    run.signal_fd = cli_open_signals("proxy", signals, sizeof signals / sizeof *signals);
    if (run.signal_fd < 0)
        return CLI_FAILED;
    exit_code = begin(&run);
    if (exit_code == CLI_OK)
        exit_code = forward(&run);
    cli_listening_remove(&run.listening);
    sennit_proxy_close(run.proxy);
    sennit_loop_close(run.loop); /* and the sockets with it */
    for (place i = FRONT; i < PLACES; i++)
        json_decref(run.sides[i].endpoints);
    close(run.signal_fd);
    return exit_code;
}

const cli_command cli_proxy = {
    .name = "proxy",
    .summary = "forwards what one socket receives to another, both ways",
    .names_options = true,
    .run = proxy_main,
    .help =
        "sennit proxy --front TYPE@ENDPOINT[,ENDPOINT...] --back TYPE@ENDPOINT[,...]\n"
        "             [options]\n"
        "\n"
        "Forwards what one socket receives to another, both ways at once. ROUTER and\n"
        "DEALER make a queue of requests, XSUB and XPUB a broker of topics, PULL and "
        "PUSH\n"
        "a pipeline. TYPE is in any case. ENDPOINT is tcp://ADDRESS:PORT or ipc://PATH "
        "and\n"
        "is bound; with connect: in front of it, it is connected instead. When a bind\n"
        "leaves the choice to the system (port 0 or *, ipc://*), 'listening front\n"
        "ENDPOINT' goes to stderr, or back, capture, control. (A shell that finds file\n"
        "names for * needs quotes around it.)\n"
        "\n"
        "  --capture TYPE@ENDPOINT[,...]\n"
        "                       gets a copy of every message, of both ways; a PUB, "
        "PUSH,\n"
        "                       DEALER, PAIR or XPUB. When it is full it misses some\n"
        "  --control TYPE@ENDPOINT[,...]\n"
        "                       obeys the messages PAUSE, RESUME, TERMINATE and\n"
        "                       STATISTICS (8 frames, as libzmq's steerable proxy); a "
        "REP,\n"
        "                       PAIR, DEALER, PULL or SUB. A REP answers everything\n"
        "  --subscribe PREFIX   what a SUB is to receive; without one, everything\n"
        "  --front-option NAME=VALUE, and --back-option, --capture-option and\n"
        "  --control-option     any field of sennit_sock_opts, see below. "
        "linger_ms is\n"
        "                       1000 when it is not given\n"
        "  --endpoint-file FILE writes the bound endpoints there, one a line behind "
        "front,\n"
        "                       back, capture or control, when they all listen; it is\n"
        "                       gone again when the program ends\n"
        "  --verbose            prints what happens to the connections on stderr\n"
        "\n"
        "A message waits in the queues of its socket until the other has room, so that\n"
        "its sender feels it; the other way goes on. A message that nobody can be sent "
        "is\n"
        "dropped and counted.\n"
        "\n"
        "Statistics go to stdout as JSON, on SIGUSR1 and at the end: a line with the "
        "totals,\n"
        "and of each side its endpoints, connections, whether it has something to be "
        "read\n"
        "and room to be written to, what waits (queued: to be sent; unread: received, "
        "and\n"
        "not yet looked at) and what it dropped and why. On SIGUSR1 peer_lines more "
        "follow,\n"
        "one for each peer, the fullest first; after 100 of a side, more_peers counts "
        "the\n"
        "others.\n"
        "\n"
        "SIGINT, SIGTERM and SIGHUP end it, unless it was started with them ignored "
        "(nohup):\n"
        "it forwards no more, lets what is queued leave for linger_ms, removes its ipc "
        "and\n"
        "endpoint files, then ends by that signal, which a shell shows as 128+N and "
        "systemd\n"
        "takes for success.\n"
        "\n"
        "Exit code: 0 it was told to TERMINATE; 1 it failed, stderr says at what; 2 bad\n"
        "usage.\n",
};
