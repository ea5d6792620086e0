/* SPDX-License-Identifier: MIT */
/* A loop on every processor, each with a REP socket, all bound to one endpoint: the
 * kernel spreads the clients over them, and no lock is on the way of a message. Ends with
 * SIGINT or SIGTERM. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#include <sennit/runtime.h>

typedef struct server {
    pthread_mutex_t lock;
    char endpoint[64];
} server;

static void
answer(sennit_sock *rep, unsigned ready, void *arg)
{
    sennit_msg msg;
    sennit_err err = SENNIT_OK;

    (void)ready;
    (void)arg;
    sennit_msg_init(&msg);
    while (err == SENNIT_OK &&
           sennit_sock_recv(rep, &msg, SENNIT_DONTWAIT) == SENNIT_OK) {
        unsigned more = sennit_msg_more(&msg) ? SENNIT_MORE : 0;

        err = sennit_sock_send(rep, &msg, SENNIT_DONTWAIT | more);
    }
    sennit_msg_fini(&msg);
}

/* On the thread of each loop. The first one here has the system choose the port. */
static sennit_err
start(sennit_runtime *runtime, sennit_loop *loop, unsigned index, void *arg)
{
    server *s = arg;
    sennit_sock_opts opts = SENNIT_SOCK_OPTS_DEFAULT;
    sennit_sock *rep;
    sennit_err err;

    (void)runtime;
    (void)index;
    opts.tcp_reuse_port = true;
    err = sennit_sock_open(&rep, loop, SENNIT_REP, &opts);
    if (err)
        return err;
    sennit_sock_on_ready(rep, SENNIT_READABLE, answer, NULL);
    pthread_mutex_lock(&s->lock);
    err = sennit_sock_bind(rep, *s->endpoint ? s->endpoint : "tcp://127.0.0.1:*");
    snprintf(s->endpoint, sizeof s->endpoint, "%s", sennit_sock_last_endpoint(rep));
    pthread_mutex_unlock(&s->lock);
    return err;
}

int
main(void)
{
    server s = { PTHREAD_MUTEX_INITIALIZER, "" };
    sennit_runtime_opts opts = SENNIT_RUNTIME_OPTS_DEFAULT;
    sennit_runtime_failure failure;
    sennit_runtime *runtime;
    sigset_t ends;
    int signal_number;

    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);

    opts.start = start;
    opts.arg = &s;
    sennit_err err = sennit_runtime_open(&runtime, &opts, &failure);
    if (err) {
        fprintf(stderr, "shards: loop %u: %s\n", failure.index, failure.why);
        return 1;
    }
    printf("%s\n", s.endpoint);
    fflush(stdout);

    sigwait(&ends, &signal_number);
    err = sennit_runtime_close(runtime); /* answers that have not left yet do so first */
    return err ? 1 : 0;
}
