/* SPDX-License-Identifier: MIT */
#include "crew.h"

#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "core/loop.h"

void
crew_fail(const char *file, int line, const char *what, const char *got)
{
    fprintf(stderr, "%s:%d: %s %s\n", file, line, what, got);
    abort();
}

/* ---- threads ----------------------------------------------------------- */

typedef struct gate {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    unsigned there;
    unsigned awaited;
} gate;

typedef struct start {
    hand *hand;
    gate *gate;
} start;

static void
pass(gate *g)
{
    pthread_mutex_lock(&g->lock);
    if (++g->there == g->awaited)
        pthread_cond_broadcast(&g->moved);
    while (g->there < g->awaited)
        pthread_cond_wait(&g->moved, &g->lock);
    pthread_mutex_unlock(&g->lock);
}

static void *
run(void *arg)
{
    start *s = arg;
    hand *h = s->hand;
    gate *g = s->gate;
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;

    free(s);
    opts.context = h->context;
    CHECK_ERR(sennit_loop_open(&h->loop, &opts), SENNIT_OK);
    pass(g);
    h->work(h);
    sennit_loop_close(h->loop);
    return NULL;
}

static void
begin(hand *h, gate *g, sennit_context *context, void (*work)(hand *hand), void *arg)
{
    start *s = malloc(sizeof *s);

    CHECK(s != NULL);
    *s = (start){ h, g };
    h->context = context;
    h->work = work;
    h->arg = arg;
    CHECK(pthread_create(&h->thread, NULL, run, s) == 0);
}

static void
open_gate(gate *g, unsigned awaited)
{
    *g = (gate){ .awaited = awaited };
    CHECK(pthread_mutex_init(&g->lock, NULL) == 0);
    CHECK(pthread_cond_init(&g->moved, NULL) == 0);
}

static void
close_gate(gate *g)
{
    /* The last one to pass may still hold the lock. */
    pthread_mutex_lock(&g->lock);
    pthread_mutex_unlock(&g->lock);
    pthread_cond_destroy(&g->moved);
    pthread_mutex_destroy(&g->lock);
}

void
crew_start(hand *h, sennit_context *context, void (*work)(hand *hand), void *arg)
{
    gate *g = malloc(sizeof *g);

    CHECK(g != NULL);
    open_gate(g, 2);
    h->number = 0;
    begin(h, g, context, work, arg);
    pass(g);
    /* The thread may not have left it yet: it goes with the thread. */
    h->gate = g;
}

void
crew_join(hand *h)
{
    CHECK(pthread_join(h->thread, NULL) == 0);
    if (h->gate != NULL) {
        close_gate(h->gate);
        free(h->gate);
        h->gate = NULL;
    }
}

void
crew_run(hand *hands, unsigned count, sennit_context *context, void (*work)(hand *hand),
         void *arg)
{
    gate g;

    open_gate(&g, count);
    for (unsigned i = 0; i < count; i++) {
        hands[i].number = i;
        hands[i].gate = NULL;
        begin(&hands[i], &g, context, work, arg);
    }
    for (unsigned i = 0; i < count; i++)
        crew_join(&hands[i]);
    close_gate(&g);
}

/* ---- sockets ----------------------------------------------------------- */

sennit_sock_opts
crew_opts(void)
{
    sennit_sock_opts opts = SENNIT_SOCK_OPTS_DEFAULT;

    opts.send_timeout_ms = CREW_DEADLINE_MS;
    opts.recv_timeout_ms = CREW_DEADLINE_MS;
    opts.linger_ms = 0;
    return opts;
}

sennit_loop *
crew_hosted(sennit_context *context)
{
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;
    sennit_loop *loop;

    opts.hosted = true;
    opts.context = context;
    CHECK_ERR(sennit_loop_open(&loop, &opts), SENNIT_OK);
    return loop;
}

/* No public call tells that others wait, and one that comes too late would use what is
 * gone. */
void
crew_await_waiting(sennit_loop *loop, unsigned count)
{
    uint64_t started = crew_ms();
    unsigned waiting = 0;

    while (waiting < count) {
        sni_loop_look(loop);
        waiting = loop->drive->callers;
        sni_loop_leave(loop);
        CHECK(crew_ms() - started < CREW_DEADLINE_MS);
        sched_yield();
    }
}

sennit_sock *
crew_sock(sennit_loop *loop, sennit_sock_type type)
{
    sennit_sock_opts opts = crew_opts();
    sennit_sock *sock;

    CHECK_ERR(sennit_sock_open(&sock, loop, type, &opts), SENNIT_OK);
    return sock;
}

sennit_err
crew_send(sennit_sock *sock, uint64_t number, unsigned flags)
{
    return sennit_sock_send_bytes(sock, &number, sizeof number, flags);
}

sennit_err
crew_recv(sennit_sock *sock, uint64_t *number, unsigned flags)
{
    size_t size;
    sennit_err err = sennit_sock_recv_bytes(sock, number, sizeof *number, &size, flags);

    CHECK(err != SENNIT_OK || size == sizeof *number);
    return err;
}

void
crew_check_law(const sennit_sock *sock)
{
    sennit_sock_stats s;
    uint64_t dropped;
    char text[160];

    sennit_sock_get_stats(sock, &s);
    dropped = s.dropped_no_peer_msgs + s.dropped_hwm_msgs + s.dropped_disconnect_msgs +
              s.dropped_memory_msgs;
    if (s.sent_msgs == s.delivered_msgs + s.queued_msgs + dropped)
        return;
    snprintf(text, sizeof text,
             "%s: sent %llu, delivered %llu, queued %llu, dropped %llu",
             sennit_sock_type_name(sennit_sock_get_type(sock)),
             (unsigned long long)s.sent_msgs, (unsigned long long)s.delivered_msgs,
             (unsigned long long)s.queued_msgs, (unsigned long long)dropped);
    crew_fail(__FILE__, __LINE__, "the law of messages", text);
}

uint64_t
crew_ms(void)
{
    struct timespec now;

    CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}
