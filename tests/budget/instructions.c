/* SPDX-License-Identifier: MIT */
/* A fixed number of messages of one kind, for a tool that counts instructions:
 *
 *     instructions CASE ROUNDS
 *
 * Two numbers of rounds tell what a round costs, without what comes before and after.
 * Both ends are in one loop, over a unix socket. The clock stands still, so that sends
 * are gathered until they are flushed; of REQ and REP every send leaves at once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "core/loop.h"

#define BATCH       64
#define SUBSCRIBERS 32
#define BODY_BYTES  64

static sni_io_ops ops;
static sennit_time now_ns = 1000000000;
static sennit_time step_ns;

static sennit_loop *loop;
static sennit_sock *from;
static sennit_sock *to[SUBSCRIBERS];
static int to_count = 1;
static sennit_msg msgs[2 * BATCH];
static char octets[BODY_BYTES];

/* ---- surroundings -------------------------------------------------------- */

static void
must(sennit_err err, const char *what)
{
    if (err == SENNIT_OK)
        return;
    fprintf(stderr, "%s: %s\n", what, sennit_err_text(err));
    exit(1);
}

#define MUST(call) must(call, #call)

static sennit_time
test_now(sni_io *io)
{
    (void)io;
    now_ns += step_ns;
    return now_ns;
}

static sennit_time
test_now_coarse(sni_io *io)
{
    (void)io;
    return 1;
}

static sennit_sock *
open_sock(sennit_sock_type type)
{
    sennit_sock_opts opts = SENNIT_SOCK_OPTS_DEFAULT;
    sennit_sock *sock;

    opts.linger_ms = 0;
    opts.handshake_timeout_ms = 0;
    MUST(sennit_sock_open(&sock, loop, type, &opts));
    return sock;
}

static void
join(sennit_sock_type sender, sennit_sock_type receiver)
{
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;

    opts.backend = SENNIT_BACKEND_EPOLL;
    MUST(sennit_loop_open(&loop, &opts));
    from = open_sock(sender);
    MUST(sennit_sock_bind(from, "ipc://*"));
    for (int i = 0; i < to_count; i++) {
        to[i] = open_sock(receiver);
        if (receiver == SENNIT_SUB)
            MUST(sennit_sock_subscribe(to[i], (sennit_bytes){ NULL, 0 }));
        MUST(sennit_sock_connect(to[i], sennit_sock_last_endpoint(from)));
        MUST(sennit_sock_wait_connections(to[i], 1, 10000));
    }
    MUST(sennit_sock_wait_connections(from, (uint64_t)to_count, 10000));
    if (receiver == SENNIT_SUB)
        MUST(sennit_sock_wait_subscriptions(from, (uint64_t)to_count, 10000));
    ops = *loop->io->ops;
    ops.now = test_now;
    ops.now_coarse = test_now_coarse;
    loop->io->ops = &ops;
    for (int i = 0; i < 2 * BATCH; i++)
        sennit_msg_init(&msgs[i]);
}

static void
send_one(sennit_sock *sock)
{
    MUST(sennit_sock_send_bytes(sock, octets, sizeof octets, 0));
}

static void
receive_one(sennit_sock *sock)
{
    MUST(sennit_sock_recv(sock, &msgs[0], 0));
}

/* ---- cases --------------------------------------------------------------- */

static void
push_pull(void)
{
    for (int i = 0; i < BATCH; i++)
        send_one(from);
    sennit_sock_flush(from);
    for (int i = 0; i < BATCH; i++)
        receive_one(to[0]);
}

static void
push_pull_many(void)
{
    size_t got = 0;
    size_t sent;

    for (int i = 0; i < BATCH; i++)
        MUST(sennit_msg_init_copy(&msgs[i], octets, SENNIT_MSG_INLINE_MAX));
    MUST(sennit_sock_send_many(from, msgs, BATCH, 0, &sent));
    sennit_sock_flush(from);
    while (got < BATCH) {
        size_t received;

        MUST(sennit_sock_recv_many(to[0], msgs, BATCH, 0, &received));
        got += received;
    }
}

static void
req_rep(void)
{
    send_one(from);
    receive_one(to[0]);
    send_one(to[0]);
    receive_one(from);
}

/* As many requests as are outstanding, answered with the frames that came. */
static void
dealer_router(void)
{
    for (int i = 0; i < BATCH; i++)
        send_one(from);
    sennit_sock_flush(from);
    for (int i = 0; i < 2 * BATCH; i++)
        MUST(sennit_sock_recv(to[0], &msgs[i], 0));
    for (int i = 0; i < 2 * BATCH; i++)
        MUST(sennit_sock_send(to[0], &msgs[i], i % 2 == 0 ? SENNIT_MORE : 0));
    sennit_sock_flush(to[0]);
    for (int i = 0; i < BATCH; i++)
        receive_one(from);
}

static void
pub_sub(void)
{
    for (int i = 0; i < BATCH; i++)
        send_one(from);
    sennit_sock_flush(from);
    for (int peer = 0; peer < SUBSCRIBERS; peer++)
        for (int i = 0; i < BATCH; i++)
            receive_one(to[peer]);
}

static const struct kind {
    const char *name;
    sennit_sock_type from;
    sennit_sock_type to;
    int to_count;
    int messages; /* of one round */
    void (*round)(void);
} kinds[] = {
    { "push_pull", SENNIT_PUSH, SENNIT_PULL, 1, BATCH, push_pull },
    { "push_pull_many", SENNIT_PUSH, SENNIT_PULL, 1, BATCH, push_pull_many },
    { "req_rep", SENNIT_REQ, SENNIT_REP, 1, 1, req_rep },
    { "dealer_router", SENNIT_DEALER, SENNIT_ROUTER, 1, BATCH, dealer_router },
    { "pub_32", SENNIT_PUB, SENNIT_SUB, SUBSCRIBERS, BATCH, pub_sub },
};

int
main(int argc, char **argv)
{
    const struct kind *kind = NULL;

    for (size_t i = 0; argc == 3 && i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(argv[1], kinds[i].name) == 0)
            kind = &kinds[i];
    if (argc == 1) {
        for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
            printf("%s %d\n", kinds[i].name, kinds[i].messages);
        return 0;
    }
    if (kind == NULL) {
        fprintf(stderr, "usage: instructions [CASE ROUNDS]\n");
        return 2;
    }
    to_count = kind->to_count;
    join(kind->from, kind->to);
    step_ns = kind->round == req_rep ? 10 * SNI_GATHER_NS : 0;
    for (long i = strtol(argv[2], NULL, 10); i > 0; i--)
        kind->round();
    sennit_loop_close(loop);
    return 0;
}
