/* SPDX-License-Identifier: MIT */
/* `sennit cat`: a socket driven by hand. Here: opening and closing what a run works
 * with, and the help text. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sennit/sennit.h>

#include "cat_args.h"
#include "cat_run.h"
#include "command.h"
#include "signals.h"
#include "tell.h"
#include "usage.h"

/* ---- Opening ---------------------------------------------------------- */

/* Gives: the exit code; a malformed endpoint is a usage error. */
static int
say_endpoint_error(const cat_endpoint *endpoint, const sennit_sock *sock, sennit_err err)
{
    const char *verb = endpoint->bind ? "bind" : "connect";
    const char *why = sennit_loop_why(sennit_sock_get_loop(sock));

    if (err == SENNIT_EINVAL || err == SENNIT_ENOTSUP) {
        cli_say("cat: --%s %s: %s; write tcp://HOST:PORT or ipc://PATH", verb,
                endpoint->text, *why != '\0' ? why : sennit_err_text(err));
        return CLI_USAGE;
    }
    cli_say("cat: --%s %s: %s", verb, endpoint->text, sennit_err_text(err));
    return CLI_FAILED;
}

static int
attach(const cat_args *args, sennit_sock *sock, cli_listening *listening)
{
    for (size_t i = 0; i < args->endpoints_count; i++) {
        const cat_endpoint *endpoint = &args->endpoints[i];
        sennit_err err = endpoint->bind ? sennit_sock_bind(sock, endpoint->text)
                                        : sennit_sock_connect(sock, endpoint->text);

        if (err)
            return say_endpoint_error(endpoint, sock, err);
        if (endpoint->bind)
            cli_listening_add(listening, NULL, endpoint->text,
                              sennit_sock_last_endpoint(sock));
    }
    return cli_listening_write(listening, "cat", args->endpoint_file) ? CLI_OK
                                                                      : CLI_FAILED;
}

static int
say_failure(const char *what, sennit_err err)
{
    cli_say("cat: %s: %s", what, sennit_err_text(err));
    return CLI_FAILED;
}

static int
open_loop(const cat_args *args, sennit_loop **loop)
{
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;
    const char *why;
    sennit_err err;

    opts.backend = args->backend;
    err = sennit_backend_probe(opts.backend, &why);
    if (err) {
        cli_say("cat: %s; leave --backend out to get the best there is", why);
        return CLI_USAGE;
    }
    err = sennit_loop_open(loop, &opts);
    return err ? say_failure("loop", err) : CLI_OK;
}

static int
open_socket(const cat_args *args, sennit_loop *loop, sennit_sock **sock,
            cli_listening *listening)
{
    sennit_err err = sennit_sock_open(sock, loop, args->type, &args->opts);

    if (err == SENNIT_EINVAL) {
        cli_say("cat: --option or --id: %s", sennit_loop_why(loop));
        return CLI_USAGE;
    }
    for (size_t i = 0; !err && i < args->topics_count; i++) {
        sennit_bytes topic = { (const uint8_t *)args->topics[i],
                               strlen(args->topics[i]) };
        err = sennit_sock_subscribe(*sock, topic);
    }
    return err ? say_failure("socket", err) : attach(args, *sock, listening);
}

static int
run(const cat_args *args)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
    cli_listening listening = { .used = 0 };
    sennit_loop *loop = NULL;
    sennit_sock *sock = NULL;
    int exit_code,
        signal_fd = cli_open_signals("cat", signals, sizeof signals / sizeof *signals);

    if (signal_fd < 0)
        return CLI_FAILED;
    exit_code = open_loop(args, &loop);
    if (exit_code == CLI_OK)
        exit_code = open_socket(args, loop, &sock, &listening);
    if (exit_code == CLI_OK)
        exit_code = cat_run_socket(args, loop, sock, signal_fd);
    cli_listening_remove(&listening);
    sennit_sock_close(sock);
    sennit_loop_close(loop);
    close(signal_fd);
    return exit_code;
}

static int
cat_main(const cli_command *command, int argc, char **argv)
{
    cat_args args;
    int exit_code;

    if (cat_args_parse(&args, command, argc, argv, &exit_code))
        exit_code = run(&args);
    cat_args_fini(&args);
    return exit_code;
}

const cli_command cli_cat = {
    .name = "cat",
    .summary = "a socket you drive by hand, of any type",
    .names_options = true,
    .run = cat_main,
    .help =
        "sennit cat TYPE (--bind ENDPOINT | --connect ENDPOINT)... [options]\n"
        "\n"
        "A socket you drive by hand. TYPE is PAIR, PUB, SUB, REQ, REP, DEALER, ROUTER,\n"
        "PULL, PUSH, XPUB, XSUB or STREAM, in any case. ENDPOINT is tcp://ADDRESS:PORT,\n"
        "ipc://PATH or ipc://@NAME; each may be given several times. When a bind leaves\n"
        "the choice to the system (port 0 or *, ipc://*), 'listening ENDPOINT' goes to\n"
        "stderr.\n"
        "\n"
        "What is sent, in the order given:\n"
        "  --send TEXT          one message of one part\n"
        "  --send-json JSON     one message: an array of parts, each a string or\n"
        "                       {\"hex\":\"00ff\"}; for a ROUTER the first part is the "
        "peer\n"
        "  --stdin              each line of standard input is one message\n"
        "  --echo               every received message goes back (PAIR, REP, DEALER,\n"
        "                       ROUTER)\n"
        "\n"
        "What is received is printed on stdout, one line per message, at once:\n"
        "  --recv               receive, also when something is to be sent. Without\n"
        "                       anything to send it is the default\n"
        "  --format text        parts as they are, separated by a tab (the default)\n"
        "  --format hex         parts in hex, separated by a space, an empty one as "
        "\"\"\n"
        "  --format json        one array of parts; a string where it is UTF-8, else\n"
        "                       {\"hex\":\"...\"}; what --send-json takes\n"
        "  --subscribe PREFIX   SUB: what to receive; without one, everything\n"
        "An XPUB receives, and an XSUB sends, the octet 01 and a topic for a "
        "subscription, "
        "00\n"
        "and the topic for its end. A STREAM is plain TCP: it receives the peer and what "
        "it\n"
        "said, and an empty part for its coming and going.\n"
        "\n"
        "When it ends:\n"
        "  --count N            after N messages: received ones when it receives, else "
        "sent\n"
        "                       ones; the given messages are then repeated as needed\n"
        "  --timeout MS         for the whole run\n"
        "Without --count it ends after the last message sent has left, or, receiving, "
        "never.\n"
        "REQ sends and receives in turn, one reply for each message. REP receives and\n"
        "answers in turn, with --echo or with the given messages over and over.\n"
        "Nothing is sent into the void by accident: a message for which there is no "
        "peer\n"
        "waits for one (ROUTER: for the one it names; PUB: the first message waits for "
        "a\n"
        "subscriber who wants it, up to one second after one has connected).\n"
        "\n"
        "The socket:\n"
        "  --id ID              what a ROUTER peer knows it by\n"
        "  --option NAME=VALUE  any field of sennit_sock_opts, see below. linger_ms is\n"
        "                       1000 when it is not given\n"
        "  --backend NAME       auto, epoll or uring\n"
        "  --endpoint-file FILE writes the bound endpoints there, one a line, when they\n"
        "                       all listen; it is gone again when the program ends\n"
        "  --verbose            prints what happens to its connections on stderr\n"
        "\n"
        "SIGINT, SIGTERM and SIGHUP end it, unless it was started with them ignored "
        "(nohup):\n"
        "its ipc and endpoint files are removed, then it ends by that signal, which a "
        "shell\n"
        "shows as 128+N.\n"
        "\n"
        "Exit code: 0 the count was reached, or all that was to be sent has left; 1 "
        "timed\n"
        "out or failed, stderr says at what; 2 bad usage.\n",
};
