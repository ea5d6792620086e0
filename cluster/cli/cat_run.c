/* SPDX-License-Identifier: MIT */
/* One loop on one thread: do what can be done without waiting (step), else wait
 * for the socket, standard input or a signal, whichever is first. Whether sending
 * and receiving alternate is two predicates, may_send() and may_receive(); when
 * the run is over is a third, finished(). */
#include "cat_run.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "command.h"
#include "lines.h"
#include "tell.h"
#include "usage.h"

/* Work done between two looks at signals and the rest of the loop, so that a peer
 * that never stops cannot starve them. */
#define STEPS_MAX 64

/* A PUB's first message waits for a subscriber that wants it, but no longer than
 * this after one has connected: it may have subscribed to something else. */
#define FIRST_TAKER_MS 1000

#define NS_PER_MS UINT64_C(1000000)

/* How a run ends before it is finished. */
typedef enum run_end {
    END_NONE,
    END_FAILED,  /* said on stderr already */
    END_TIMEOUT, /* --timeout passed */
    END_SIGNAL,
} run_end;

typedef struct cat_run {
    const cat_args *args;
    unsigned can; /* cat_abilities() of the type */
    sennit_loop *loop;
    sennit_sock *sock;
    int signal_fd;
    int signal_number;    /* END_SIGNAL: which */
    sennit_event failure; /* why the last connection failed; its kind is 0: none has */
    sennit_time deadline_at;
    run_end end;

    /* sending */
    cli_lines input;
    size_t item;               /* of args->items, being sent */
    cli_message line;          /* the line of stdin being sent; empty: none */
    size_t part;               /* of the message being sent, next to go */
    bool lost;                 /* its peer went away half way: it starts again */
    uint64_t sent;             /* whole messages taken by the socket */
    uint64_t unmatched;        /* PUB: messages nobody had subscribed to */
    sennit_time first_peer_at; /* PUB: when a subscriber was first seen; 0: not yet */

    /* receiving */
    cli_message in;    /* the message being received, or the one to echo */
    bool echo_due;     /* `in` is complete and goes back first */
    uint64_t received; /* whole messages printed */
} cat_run;

static run_end
failed(cat_run *run, const char *what, sennit_err err)
{
    cli_say("cat: %s: %s", what, sennit_err_text(err));
    run->end = END_FAILED;
    return run->end;
}

/* ---- What there is to send -------------------------------------------- */

static bool
is_repeating(const cat_run *run)
{
    if (run->args->has_stdin)
        return false;
    if (run->can & CAT_ANSWERS)
        return true;
    if (run->args->receives && !(run->can & CAT_ASKS))
        return false;
    return run->sent < run->args->count;
}

static bool
at_sending_limit(const cat_run *run)
{
    bool counts_sent = !run->args->receives || (run->can & CAT_ASKS);

    return counts_sent && run->args->count && run->sent >= run->args->count;
}

/* The message to send now. NULL: none now; `*sendable` tells whether one may come. */
static const cli_message *
current(cat_run *run, bool *may_come)
{
    const cat_args *args = run->args;
    sennit_bytes line;

    *may_come = false;
    if (at_sending_limit(run))
        return NULL;
    if (run->item == args->items_count && args->items_count && is_repeating(run))
        run->item = 0;
    for (; run->item < args->items_count; run->item++) {
        if (!args->items[run->item].is_stdin)
            return &args->items[run->item].message;
        if (run->line.parts_count)
            return &run->line;
        if (cli_lines_next(&run->input, &line)) {
            if (cli_message_push_copy(&run->line, line.data, line.size))
                return &run->line;
            failed(run, "standard input", SENNIT_ENOMEM);
            return NULL;
        }
        if (!run->input.ended) {
            *may_come = true;
            return NULL;
        }
    }
    return NULL;
}

static void
advance(cat_run *run)
{
    run->sent++;
    if (run->args->items[run->item].is_stdin)
        cli_message_clear(&run->line);
    else
        run->item++;
}

static bool
all_sent(cat_run *run)
{
    bool may_come;

    return !current(run, &may_come) && !may_come && run->end == END_NONE;
}

static bool
may_send(const cat_run *run)
{
    if (run->can & CAT_ASKS)
        return run->sent == run->received || run->part;
    if (run->can & CAT_ANSWERS)
        return run->sent < run->received;
    return true;
}

static bool
may_receive(const cat_run *run)
{
    const cat_args *args = run->args;

    if (!args->receives || run->echo_due)
        return false;
    if (args->count && run->received >= args->count)
        return false;
    if (run->can & CAT_ASKS)
        return run->received < run->sent;
    if ((run->can & CAT_ANSWERS) && args->items_count)
        return run->sent == run->received;
    return true;
}

static bool
finished(cat_run *run)
{
    const cat_args *args = run->args;

    if (run->echo_due || run->part)
        return false;
    if (!args->receives)
        return all_sent(run);
    if (args->count && run->received < args->count)
        return (run->can & CAT_ASKS) && all_sent(run) && run->received == run->sent;
    if (run->can & CAT_ASKS)
        return run->received == run->sent && all_sent(run);
    if (run->can & CAT_ANSWERS)
        return args->count && (!args->items_count || run->sent == run->received);
    return args->count && all_sent(run);
}

/* ---- Steps: true when something was done ------------------------------- */

static uint64_t
dropped_without_peer(const cat_run *run)
{
    sennit_sock_stats stats;

    sennit_sock_get_stats(run->sock, &stats);
    return stats.dropped_no_peer_msgs;
}

/* Hands the parts of `message` from run->part on to the socket.
 * Errors: those of sennit_sock_send(). ECLOSED only once the whole message is
 * swallowed, with run->part back at the start. */
static sennit_err
send_parts(cat_run *run, const cli_message *message)
{
    while (run->part < message->parts_count) {
        bool more = run->part + 1 < message->parts_count;
        sennit_msg copy;
        sennit_err err;
        sennit_msg_init(&copy);
        sennit_msg_copy(&copy, &message->parts[run->part]);
        err = sennit_sock_send(run->sock, &copy,
                               SENNIT_DONTWAIT | (more ? (unsigned)SENNIT_MORE : 0));
        sennit_msg_fini(&copy);
        if (err == SENNIT_ECLOSED)
            run->lost = true;
        else if (err)
            return err;
        run->part++;
    }
    run->part = 0;
    if (!run->lost)
        return SENNIT_OK;
    run->lost = false;
    return SENNIT_ECLOSED;
}

/* A PUB drops what nobody subscribed to. That is right for a stream, and never
 * what a person means by the first message: it is sent again. */
static bool
keeps_for_later(cat_run *run)
{
    sennit_time now = sennit_loop_now(run->loop);
    sennit_sock_stats stats;

    if (run->sent > run->unmatched)
        return false; /* somebody took an earlier one */
    sennit_sock_get_stats(run->sock, &stats);
    if (stats.connections && !run->first_peer_at)
        run->first_peer_at = now;
    return !run->first_peer_at || now < run->first_peer_at + FIRST_TAKER_MS * NS_PER_MS;
}

static bool
step_send(cat_run *run)
{
    bool may_come;
    const cli_message *message = current(run, &may_come);
    uint64_t dropped = dropped_without_peer(run);
    sennit_err err;

    if (!message)
        return false;
    err = send_parts(run, message);
    switch (err) {
    case SENNIT_OK:
        break;
    case SENNIT_EAGAIN:
    case SENNIT_EHOSTUNREACH: /* the peer a ROUTER names may still come */
        return false;
    case SENNIT_EINTR:
    case SENNIT_ECLOSED:
        return true; /* again, to another peer */
    default:
        failed(run, "send", err);
        return false;
    }
    if (run->args->type == SENNIT_PUB && dropped_without_peer(run) > dropped) {
        if (keeps_for_later(run))
            return false;
        run->unmatched++;
    }
    advance(run);
    return true;
}

static bool
step_echo(cat_run *run)
{
    sennit_err err = send_parts(run, &run->in);

    if (err == SENNIT_EAGAIN)
        return false;
    if (err == SENNIT_EINTR)
        return true;
    if (err == SENNIT_EHOSTUNREACH || err == SENNIT_ECLOSED) {
        cli_say("cat: an echo was dropped: its peer has gone");
        run->part = 0;
    } else if (err) {
        failed(run, "send", err);
        return false;
    }
    run->echo_due = false;
    cli_message_clear(&run->in);
    run->sent++;
    return true;
}

static bool
step_receive(cat_run *run)
{
    sennit_msg part;
    sennit_err err;
    bool more, kept;

    sennit_msg_init(&part);
    err = sennit_sock_recv(run->sock, &part, SENNIT_DONTWAIT);
    if (err == SENNIT_EAGAIN)
        return false;
    if (err == SENNIT_EINTR)
        return true;
    if (err) {
        failed(run, "receive", err);
        return false;
    }
    more = sennit_msg_more(&part);
    kept = cli_message_push(&run->in, &part);
    sennit_msg_fini(&part);
    if (!kept) {
        failed(run, "receive", SENNIT_ENOMEM);
        return false;
    }
    if (more)
        return true;
    if (!cli_message_print(&run->in, run->args->format, stdout)) {
        failed(run, "standard output", SENNIT_EIO);
        return false;
    }
    run->received++;
    run->echo_due = run->args->echo;
    if (!run->echo_due)
        cli_message_clear(&run->in);
    return true;
}

/* Receiving first, because a receive that finds nothing looks at the peers: one that is
 * new by then must not come too late for the message that waits for it. */
static bool
step(cat_run *run)
{
    bool done = may_receive(run) && step_receive(run);

    if (run->end != END_NONE)
        return done;
    if (run->echo_due)
        return step_echo(run) || done;
    return (may_send(run) && step_send(run)) || done;
}

/* Whether there is something to receive all the same: a send that finds no room looks at
 * the peers too. */
static bool
may_step(cat_run *run)
{
    return may_receive(run) && (sennit_sock_ready(run->sock) & SENNIT_READABLE);
}

/* ---- Waiting ---------------------------------------------------------- */

/* Milliseconds until `at`, rounded up so that waiting them reaches it. */
static int
ms_until(sennit_time now, sennit_time at)
{
    uint64_t left;

    if (at == SENNIT_NEVER)
        return -1;
    left = at > now ? (at - now + NS_PER_MS - 1) / NS_PER_MS : 0;
    return left > INT32_MAX ? INT32_MAX : (int)left;
}

static int
sooner(int a_ms, int b_ms)
{
    if (a_ms < 0 || b_ms < 0)
        return a_ms < 0 ? b_ms : a_ms;
    return a_ms < b_ms ? a_ms : b_ms;
}

static int
wait_ms(cat_run *run, bool busy)
{
    sennit_time now = sennit_loop_now(run->loop);
    int ms = sooner(ms_until(now, run->deadline_at), sennit_loop_timeout_ms(run->loop));

    if (busy)
        return 0;
    if (run->first_peer_at && run->sent == run->unmatched)
        ms = sooner(ms, ms_until(now, run->first_peer_at + FIRST_TAKER_MS * NS_PER_MS));
    return ms;
}

static bool
wants_input(cat_run *run)
{
    bool may_come;

    return !run->echo_due && may_send(run) && !current(run, &may_come) && may_come;
}

/* Waits for whatever can change what step() may do; `busy` only looks. */
static void
wait_for_more(cat_run *run, bool busy)
{
    struct pollfd fds[3] = {
        { .fd = run->signal_fd, .events = POLLIN },
        { .fd = sennit_loop_fd(run->loop), .events = POLLIN },
        { .fd = run->input.fd, .events = POLLIN },
    };
    nfds_t fds_count = wants_input(run) ? 3 : 2;
    struct signalfd_siginfo info;
    sennit_err err;

    sennit_sock_flush(run->sock);
    if (poll(fds, fds_count, wait_ms(run, busy)) < 0 && errno != EINTR) {
        failed(run, "poll", SENNIT_EIO);
        return;
    }
    if ((fds[0].revents & POLLIN) && read(run->signal_fd, &info, sizeof info) > 0) {
        run->signal_number = (int)info.ssi_signo;
        run->end = END_SIGNAL;
        return;
    }
    if (fds_count == 3 && fds[2].revents) {
        err = cli_lines_read(&run->input);
        if (err) {
            failed(run, "standard input", err);
            return;
        }
    }
    err = sennit_loop_turn(run->loop, 0);
    if (err && err != SENNIT_EINTR)
        failed(run, "loop", err);
    cli_take_events(run->sock, NULL, run->args->verbose, &run->failure);
    if (run->end == END_NONE && sennit_loop_now(run->loop) >= run->deadline_at)
        run->end = END_TIMEOUT;
}

/* ---- The run ---------------------------------------------------------- */

static bool
is_drained(const cat_run *run)
{
    sennit_sock_stats stats;

    sennit_sock_get_stats(run->sock, &stats);
    return stats.queued_msgs == 0;
}

/* What the run was waiting for when its time was up. */
static void
say_timeout(cat_run *run, bool exchanging)
{
    bool may_come, sending, receives = run->args->receives;
    sennit_sock_stats stats;
    char what[128];

    sennit_sock_get_stats(run->sock, &stats);
    sending = run->echo_due || (may_send(run) && current(run, &may_come));
    if (!exchanging)
        snprintf(what, sizeof what, "%" PRIu64 " of %" PRIu64 " messages have not left",
                 stats.queued_msgs, run->sent);
    else if (sending)
        snprintf(what, sizeof what, "message %" PRIu64 " found no peer to take it",
                 run->sent + 1);
    else if (!receives || wants_input(run))
        snprintf(what, sizeof what, "waiting for standard input, %" PRIu64 " sent",
                 run->sent);
    else
        snprintf(what, sizeof what, "waiting for %s %" PRIu64,
                 run->can & CAT_ASKS ? "reply" : "message", run->received + 1);
    cli_say("cat: timed out after %" PRId64 " ms: %s (%" PRIu64 " peers connected)",
            run->args->timeout_ms, what, stats.connections);
    cli_tell_failure("cat", &run->failure);
}

/* What got lost on the way. Gives: the exit code it deserves: a publisher and a
 * server may lose to peers that leave, a sender may not. */
static int
say_losses(cat_run *run)
{
    bool strict = !run->args->receives && run->args->type != SENNIT_PUB;
    sennit_sock_stats stats;
    uint64_t lost;

    sennit_sock_get_stats(run->sock, &stats);
    lost = stats.dropped_disconnect_msgs + stats.dropped_memory_msgs;
    if (lost)
        cli_say("cat: %" PRIu64 " messages were lost with connections that ended", lost);
    if (stats.dropped_hwm_msgs)
        cli_say("cat: %" PRIu64 " messages were dropped because a peer's queue was full",
                stats.dropped_hwm_msgs);
    if (run->unmatched)
        cli_say("cat: nobody had subscribed to %" PRIu64 " of %" PRIu64 " messages",
                run->unmatched, run->sent);
    return lost && strict ? CLI_FAILED : CLI_OK;
}

static int
finish(cat_run *run, bool exchanging)
{
    const cat_args *args = run->args;

    cli_take_events(run->sock, NULL, args->verbose, &run->failure);
    switch (run->end) {
    case END_NONE:
        break;
    case END_FAILED:
        return CLI_FAILED;
    case END_TIMEOUT:
        say_timeout(run, exchanging);
        say_losses(run);
        return CLI_FAILED;
    case END_SIGNAL:
        return CLI_SIGNAL + run->signal_number;
    }
    if (args->count && args->has_stdin && run->sent < args->count &&
        (!args->receives || (run->can & CAT_ASKS))) {
        cli_say("cat: standard input ended after %" PRIu64 " of %" PRIu64 " messages",
                run->sent, args->count);
        return CLI_FAILED;
    }
    return say_losses(run);
}

/* Steps until the run is finished. Before it blocks it looks once without waiting
 * and steps again, because the look itself flushes, and that may make room. */
static void
exchange(cat_run *run)
{
    int steps = 0;
    bool looked = false;

    while (run->end == END_NONE && !finished(run)) {
        bool done = step(run);
        if (run->end != END_NONE || (done && ++steps < STEPS_MAX))
            continue;
        wait_for_more(run, done || !looked || may_step(run));
        looked = !done && !looked;
        steps = 0;
    }
}

/* Waits until the kernel has everything. */
static void
drain(cat_run *run)
{
    for (;;) {
        sennit_sock_flush(run->sock);
        if (run->end != END_NONE || is_drained(run))
            break;
        wait_for_more(run, false);
    }
}

/* ---- Public ------------------------------------------------------------ */

int
cat_run_socket(const cat_args *args, sennit_loop *loop, sennit_sock *sock, int signal_fd)
{
    cat_run run = {
        .args = args,
        .can = cat_abilities(args->type),
        .loop = loop,
        .sock = sock,
        .signal_fd = signal_fd,
        .deadline_at = SENNIT_NEVER,
        .input.fd = STDIN_FILENO,
    };
    bool exchanged;
    int exit_code;

    if (args->timeout_ms >= 0)
        run.deadline_at = sennit_loop_now(loop) + (uint64_t)args->timeout_ms * NS_PER_MS;
    exchange(&run);
    exchanged = run.end == END_NONE;
    drain(&run);
    exit_code = finish(&run, !exchanged);
    cli_message_fini(&run.in);
    cli_message_fini(&run.line);
    cli_lines_fini(&run.input);
    return exit_code;
}
