/* SPDX-License-Identifier: MIT */
/* Sennit's side of the interoperation tests: one process with any number of
 * sockets, driven over stdin so that each step is exact. The other side is
 * peer.py.
 *
 * A request is one line, then the bodies it announces, back to back:
 *
 *   open SOCK TYPE [NAME=VALUE ...]   options of sennit_sock_opts by name
 *   set SOCK NAME=VALUE
 *   bind SOCK ENDPOINT                -> ok ENDPOINT (as the system chose it)
 *   connect SOCK ENDPOINT [IDENTITY]  the peer's, as we are to know it
 *   disconnect|unbind SOCK ENDPOINT
 *   subscribe|unsubscribe SOCK SIZE   + SIZE bytes
 *   send SOCK MS SIZE...              + the bodies of all parts
 *   recv SOCK MS                      -> ok SIZE..., then the bodies
 *   event SOCK NAME MS                -> ok ERR PEER IDENTITY|- ENDPOINT REASON...
 *   stats SOCK                        -> ok NAME=VALUE...
 *   peers SOCK                        -> ok MAJOR.MINOR... of the connections
 *   close SOCK
 *
 * SOCK is a number below SOCKS_MAX chosen by the driver. The answer is "ok ..." or
 * "err NAME text", one line. Between requests the loop goes on, as it would in a
 * program that has other things to wait for. End of input ends the process. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sennit/sennit.h>

#include "sock_option.h"

enum {
    SOCKS_MAX = 1024,
    PARTS_MAX = 64,
    WORDS_MAX = PARTS_MAX + 8,
    LINE_MAX_BYTES = 4096
};

#define NS_PER_MS UINT64_C(1000000)

typedef struct peer {
    sennit_loop *loop;
    sennit_sock *socks[SOCKS_MAX];
    char input[65536];
    size_t taken, filled; /* law: taken <= filled <= sizeof input */
} peer;

/* A broken driver, not a result: nothing sensible can follow. */
static _Noreturn void
quit(const char *why)
{
    fprintf(stderr, "interop_peer: %s\n", why);
    exit(2);
}

/* ---- Input ------------------------------------------------------------ */

/* False at the end of the input. */
static bool
fill(peer *self)
{
    ssize_t got;

    if (self->taken) {
        memmove(self->input, self->input + self->taken, self->filled - self->taken);
        self->filled -= self->taken;
        self->taken = 0;
    }
    do
        got = read(STDIN_FILENO, self->input + self->filled,
                   sizeof self->input - self->filled);
    while (got < 0 && errno == EINTR);
    if (got > 0)
        self->filled += (size_t)got;
    return got > 0;
}

/* Takes a line without its newline into `line`; false when none is buffered. */
static bool
take_line(peer *self, char *line)
{
    const char *start = self->input + self->taken;
    const char *newline = memchr(start, '\n', self->filled - self->taken);
    size_t size;

    if (!newline) {
        if (self->filled - self->taken > LINE_MAX_BYTES)
            quit("a request line is too long");
        return false;
    }
    size = (size_t)(newline - start);
    if (size >= LINE_MAX_BYTES)
        quit("a request line is too long");
    memcpy(line, start, size);
    line[size] = '\0';
    self->taken += size + 1;
    return true;
}

static void
take_body(peer *self, sennit_msg *msg, size_t size)
{
    uint8_t *to;

    if (sennit_msg_init_size(msg, size))
        quit("no memory for a body");
    to = sennit_msg_data(msg);
    while (size) {
        size_t part = self->filled - self->taken;
        if (part > size)
            part = size;
        memcpy(to, self->input + self->taken, part);
        self->taken += part;
        to += part;
        size -= part;
        if (size && !fill(self))
            quit("the input ended inside a body");
    }
}

static unsigned long
number(const char *text)
{
    char *end;
    unsigned long value = text ? strtoul(text, &end, 10) : 0;

    if (!text || end == text || *end)
        quit("a request lacks a number");
    return value;
}

/* ---- Answers ---------------------------------------------------------- */

static void
answer(sennit_err err)
{
    if (err)
        printf("err %s %s\n", sennit_err_name(err), sennit_err_text(err));
    else
        printf("ok\n");
}

/* Turns the loop until something happened or `deadline_at`. False when it passed. */
static bool
turn(peer *self, sennit_time deadline_at)
{
    sennit_time now = sennit_loop_now(self->loop);
    sennit_err err;

    if (now >= deadline_at)
        return false;
    err = sennit_loop_turn(self->loop,
                           (int)((deadline_at - now + NS_PER_MS - 1) / NS_PER_MS));
    if (err && err != SENNIT_EINTR)
        quit(sennit_err_text(err));
    return true;
}

static sennit_time
deadline(peer *self, const char *ms)
{
    return sennit_loop_now(self->loop) + number(ms) * NS_PER_MS;
}

static sennit_sock *
sock_of(peer *self, const char *word)
{
    unsigned long index = number(word);

    if (index >= SOCKS_MAX || !self->socks[index])
        quit("no such socket");
    return self->socks[index];
}

/* ---- Requests --------------------------------------------------------- */

/* Texts and bytes stay in `assignment`. */
static void
set_option(sennit_sock_opts *opts, const char *assignment)
{
    char why[640];

    if (!cli_sock_option_set(opts, assignment, why, sizeof why))
        quit(why);
}

static void
do_open(peer *self, char **words, size_t count)
{
    sennit_sock_opts opts = SENNIT_SOCK_OPTS_DEFAULT;
    unsigned long index = number(words[1]);
    sennit_sock_type type = SENNIT_PAIR;
    sennit_err err = sennit_sock_type_parse(words[2], &type);

    if (index >= SOCKS_MAX || self->socks[index])
        quit("this socket cannot be opened");
    for (size_t i = 3; i < count; i++)
        set_option(&opts, words[i]);
    if (!err)
        err = sennit_sock_open(&self->socks[index], self->loop, type, &opts);
    answer(err);
}

static void
do_set(peer *self, char **words)
{
    sennit_sock *sock = sock_of(self, words[1]);
    sennit_sock_opts opts;

    sennit_sock_get_opts(sock, &opts);
    set_option(&opts, words[2]);
    answer(sennit_sock_set_opts(sock, &opts));
}

static void
do_connect(peer *self, char **words)
{
    sennit_sock *sock = sock_of(self, words[1]);
    sennit_bytes identity = { (const uint8_t *)words[3],
                              words[3] ? strlen(words[3]) : 0 };

    answer(words[3] ? sennit_sock_connect_as(sock, words[2], identity)
                    : sennit_sock_connect(sock, words[2]));
}

static void
do_bind(peer *self, char **words)
{
    sennit_sock *sock = sock_of(self, words[1]);
    sennit_err err = sennit_sock_bind(sock, words[2]);

    if (err)
        answer(err);
    else
        printf("ok %s\n", sennit_sock_last_endpoint(sock));
}

static void
do_subscription(peer *self, char **words, bool add)
{
    sennit_sock *sock = sock_of(self, words[1]);
    sennit_msg prefix;

    take_body(self, &prefix, number(words[2]));
    answer(add ? sennit_sock_subscribe(sock, sennit_msg_bytes(&prefix))
               : sennit_sock_unsubscribe(sock, sennit_msg_bytes(&prefix)));
    sennit_msg_fini(&prefix);
}

static sennit_err
send_part(peer *self, sennit_sock *sock, sennit_msg *part, bool more,
          sennit_time deadline_at)
{
    unsigned flags = SENNIT_DONTWAIT | (more ? (unsigned)SENNIT_MORE : 0);
    sennit_err err;

    do
        err = sennit_sock_send(sock, part, flags);
    while (err == SENNIT_EAGAIN && turn(self, deadline_at));
    return err;
}

static void
do_send(peer *self, char **words, size_t count)
{
    sennit_sock *sock = sock_of(self, words[1]);
    sennit_time deadline_at = deadline(self, words[2]);
    sennit_msg parts[PARTS_MAX];
    size_t parts_count = count - 3;
    sennit_err err = SENNIT_OK;

    if (count < 4 || parts_count > PARTS_MAX)
        quit("send takes 1 to 64 parts");
    for (size_t i = 0; i < parts_count; i++)
        take_body(self, &parts[i], number(words[3 + i]));
    for (size_t i = 0; !err && i < parts_count; i++)
        err = send_part(self, sock, &parts[i], i + 1 < parts_count, deadline_at);
    for (size_t i = 0; i < parts_count; i++)
        sennit_msg_fini(&parts[i]);
    answer(err);
}

static void
do_recv(peer *self, char **words)
{
    sennit_sock *sock = sock_of(self, words[1]);
    sennit_time deadline_at = deadline(self, words[2]);
    sennit_msg parts[PARTS_MAX];
    size_t count = 0;
    sennit_err err;

    do {
        if (count == PARTS_MAX)
            quit("a message has more than 64 parts");
        sennit_msg_init(&parts[count]);
        do
            err = sennit_sock_recv(sock, &parts[count], SENNIT_DONTWAIT);
        while (err == SENNIT_EAGAIN && turn(self, deadline_at));
    } while (!err && sennit_msg_more(&parts[count++]));
    if (err) {
        answer(count ? SENNIT_EPROTO : err); /* half a message is never receivable */
    } else {
        printf("ok");
        for (size_t i = 0; i < count; i++)
            printf(" %zu", sennit_msg_size(&parts[i]));
        printf("\n");
    }
    for (size_t i = 0; i < count; i++) {
        sennit_bytes body = sennit_msg_bytes(&parts[i]);
        if (!err && body.size)
            fwrite(body.data, 1, body.size, stdout);
        sennit_msg_fini(&parts[i]);
    }
}

static void
do_event(peer *self, char **words)
{
    sennit_sock *sock = sock_of(self, words[1]);
    sennit_time deadline_at = deadline(self, words[3]);
    sennit_event event;

    for (;;) {
        if (sennit_sock_next_event(sock, &event)) {
            if (turn(self, deadline_at))
                continue;
            answer(SENNIT_EAGAIN);
            return;
        }
        if (strcmp(sennit_event_name(event.kind), words[2]) == 0)
            break;
    }
    printf("ok %s %" PRIu32 " %s", sennit_err_name(event.err), event.peer,
           event.identity_size ? "" : "-");
    for (size_t i = 0; i < event.identity_size; i++)
        printf("%02x", event.identity[i]);
    printf(" %s %s\n", event.endpoint, event.reason);
}

static void
do_stats(peer *self, char **words)
{
    sennit_sock_stats stats;

    sennit_sock_get_stats(sock_of(self, words[1]), &stats);
#define FIELD(name) printf(" " #name "=%" PRIu64, stats.name)
    printf("ok");
    FIELD(sent_msgs);
    FIELD(received_msgs);
    FIELD(delivered_msgs);
    FIELD(queued_msgs);
    FIELD(dropped_no_peer_msgs);
    FIELD(dropped_hwm_msgs);
    FIELD(dropped_disconnect_msgs);
    FIELD(dropped_memory_msgs);
    FIELD(dropped_malformed_msgs);
    FIELD(dropped_filtered_msgs);
    FIELD(connections);
    FIELD(handshakes_failed);
    FIELD(reconnects);
    printf("\n");
#undef FIELD
}

static void
do_peers(peer *self, char **words)
{
    static sennit_peer peers[PARTS_MAX];
    size_t count = sennit_sock_get_peers(sock_of(self, words[1]), peers, PARTS_MAX);

    if (count > PARTS_MAX)
        quit("a socket has more than 64 peers");
    printf("ok");
    for (size_t i = 0; i < count; i++)
        printf(" %d.%d", peers[i].zmtp_major, peers[i].zmtp_minor);
    printf("\n");
}

static void
do_close(peer *self, char **words)
{
    sennit_sock_close(sock_of(self, words[1]));
    self->socks[number(words[1])] = NULL;
    printf("ok\n");
}

static void
handle(peer *self, char *line)
{
    char *words[WORDS_MAX + 1] = { NULL };
    size_t count = 0;

    for (char *word = strtok(line, " "); word; word = strtok(NULL, " ")) {
        if (count == WORDS_MAX)
            quit("a request has too many words");
        words[count++] = word;
    }
    if (count < 2)
        quit("a request needs a verb and a socket");
    if (strcmp(words[0], "open") == 0 && count > 2)
        do_open(self, words, count);
    else if (strcmp(words[0], "bind") == 0 && count == 3)
        do_bind(self, words);
    else if (strcmp(words[0], "set") == 0 && count == 3)
        do_set(self, words);
    else if (strcmp(words[0], "connect") == 0 && (count == 3 || count == 4))
        do_connect(self, words);
    else if (strcmp(words[0], "disconnect") == 0 && count == 3)
        answer(sennit_sock_disconnect(sock_of(self, words[1]), words[2]));
    else if (strcmp(words[0], "unbind") == 0 && count == 3)
        answer(sennit_sock_unbind(sock_of(self, words[1]), words[2]));
    else if (strcmp(words[0], "subscribe") == 0)
        do_subscription(self, words, true);
    else if (strcmp(words[0], "unsubscribe") == 0)
        do_subscription(self, words, false);
    else if (strcmp(words[0], "send") == 0)
        do_send(self, words, count);
    else if (strcmp(words[0], "recv") == 0)
        do_recv(self, words);
    else if (strcmp(words[0], "event") == 0 && count == 4)
        do_event(self, words);
    else if (strcmp(words[0], "stats") == 0)
        do_stats(self, words);
    else if (strcmp(words[0], "peers") == 0)
        do_peers(self, words);
    else if (strcmp(words[0], "close") == 0)
        do_close(self, words);
    else
        quit("a request has an unknown verb");
    if (fflush(stdout))
        quit("the driver has gone");
}

/* Lets the loop go on until the driver says something. False at its end. */
static bool
await_input(peer *self)
{
    struct pollfd fds[2] = {
        { .fd = STDIN_FILENO, .events = POLLIN },
        { .fd = sennit_loop_fd(self->loop), .events = POLLIN },
    };

    for (;;) {
        sennit_err err = sennit_loop_turn(self->loop, 0);
        if (err && err != SENNIT_EINTR)
            quit(sennit_err_text(err));
        if (poll(fds, 2, sennit_loop_timeout_ms(self->loop)) > 0 && fds[0].revents)
            return fill(self);
    }
}

int
main(void)
{
    static peer self;
    char line[LINE_MAX_BYTES];

    if (sennit_loop_open(&self.loop, NULL))
        quit("the loop cannot be opened");
    for (;;) {
        if (take_line(&self, line))
            handle(&self, line);
        else if (!await_input(&self))
            break;
    }
    for (size_t i = 0; i < SOCKS_MAX; i++)
        sennit_sock_close(self.socks[i]);
    sennit_loop_close(self.loop);
    return 0;
}
