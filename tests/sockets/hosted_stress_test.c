/* SPDX-License-Identifier: MIT */
/* Everything at once that threads may do with two hosted loops, by seed: each message
 * arrives once and whole, each reply is that to its request, and everything ends. */
#include "crew.h"

#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rng.h"
#include "suite.h"

#define SENDERS 6u
#define MSGS    300u /* of each */
#define ROUNDS  6u
#define FRAMES  3u

typedef struct row {
    const char *name;
    uint64_t seed;
    const char *endpoint;
    bool one_loop;
} row;

static const row rows[] = {
    { "tcp", 1, "tcp://127.0.0.1:*", false },
    { "ipc", 2, "ipc://*", false },
    { "inproc", 3, "inproc://stress", false },
    { "tcp in one loop", 4, "tcp://127.0.0.1:*", true },
    { "inproc in one loop", 5, "inproc://stress", true },
};

typedef struct scene {
    sennit_context *context;
    sennit_loop *loops[2];
    sennit_sock *pull;
    sennit_sock *push;
    sennit_sock *rep;
    atomic_uchar seen[SENDERS * MSGS];
    atomic_uint received;
    atomic_bool over;
} scene;

typedef struct actor {
    pthread_t thread;
    scene *s;
    unsigned number;
    test_rng rng;
} actor;

static void *
push(void *arg)
{
    actor *a = arg;

    for (uint64_t i = 0; i < MSGS; i++) {
        bool whole = test_rng_below(&a->rng, 4) > 0;
        unsigned flags = test_rng_below(&a->rng, 2) ? SENNIT_DONTWAIT : 0;
        sennit_err err = SENNIT_EAGAIN;

        for (unsigned frame = whole ? FRAMES - 1 : 0; frame < FRAMES;
             frame += err == SENNIT_OK) {
            err = crew_send(a->s->push, a->number * MSGS + i,
                            flags | (frame + 1 < FRAMES ? SENNIT_MORE : 0));
            CHECK(err == SENNIT_OK || err == SENNIT_EAGAIN);
        }
    }
    return NULL;
}

/* Errors: those of the first frame. */
static sennit_err
pull(scene *s, unsigned flags)
{
    uint64_t first = 0;
    unsigned frames = 0;
    bool more = true;

    while (more) {
        sennit_msg msg;
        uint64_t number;
        sennit_err err;

        sennit_msg_init(&msg);
        err = sennit_sock_recv(s->pull, &msg, frames == 0 ? flags : 0);
        if (frames == 0 && err != SENNIT_OK)
            return err;
        CHECK_ERR(err, SENNIT_OK);
        CHECK(sennit_msg_size(&msg) == sizeof number);
        memcpy(&number, sennit_msg_data(&msg), sizeof number);
        more = sennit_msg_more(&msg);
        sennit_msg_fini(&msg);
        if (frames++ == 0)
            first = number;
        CHECK(number == first);
    }
    CHECK(frames == 1 || frames == FRAMES);
    CHECK(atomic_fetch_add(&s->seen[first], 1) == 0);
    atomic_fetch_add(&s->received, 1);
    return SENNIT_OK;
}

static void *
pull_blocking(void *arg)
{
    actor *a = arg;
    sennit_err err;

    do
        err = pull(a->s, 0);
    while (err == SENNIT_OK);
    CHECK_ERR(err, SENNIT_ETERM);
    return NULL;
}

static void *
pull_by_descriptor(void *arg)
{
    actor *a = arg;
    struct pollfd file = { .events = POLLIN };

    CHECK_ERR(sennit_sock_fd(a->s->pull, SENNIT_READABLE, &file.fd), SENNIT_OK);
    while (!atomic_load(&a->s->over)) {
        sennit_err err = SENNIT_EAGAIN;

        if (poll(&file, 1, 10) == 1)
            err = pull(a->s, SENNIT_DONTWAIT);
        CHECK(err == SENNIT_OK || err == SENNIT_EAGAIN);
    }
    return NULL;
}

static void *
reply(void *arg)
{
    actor *a = arg;
    uint64_t number;
    sennit_err err;

    while ((err = crew_recv(a->s->rep, &number, 0)) == SENNIT_OK)
        CHECK_ERR(crew_send(a->s->rep, number + 1, 0), SENNIT_OK);
    CHECK_ERR(err, SENNIT_ETERM);
    return NULL;
}

/* Sockets come and go. */
static void *
request(void *arg)
{
    actor *a = arg;

    while (!atomic_load(&a->s->over)) {
        sennit_sock *req = crew_sock(a->s->loops[a->number % 2], SENNIT_REQ);
        uint64_t number;

        CHECK_ERR(sennit_sock_connect(req, sennit_sock_last_endpoint(a->s->rep)),
                  SENNIT_OK);
        for (uint64_t i = test_rng_below(&a->rng, 20); i > 0; i--) {
            CHECK_ERR(crew_send(req, i, 0), SENNIT_OK);
            CHECK_ERR(crew_recv(req, &number, 0), SENNIT_OK);
            CHECK(number == i + 1);
        }
        sennit_sock_close(req);
    }
    return NULL;
}

typedef struct periodic {
    sennit_loop *loop;
    sennit_timer timer;
} periodic;

static void
start_again(void *arg)
{
    periodic *p = arg;

    CHECK_ERR(sennit_timer_start(p->loop, &p->timer, 20000, start_again, p), SENNIT_OK);
}

/* What is stopped is freed at once: a callback that came still would use it. */
static void *
stop_timers(void *arg)
{
    actor *a = arg;

    while (!atomic_load(&a->s->over)) {
        periodic *p = calloc(1, sizeof *p);

        CHECK(p != NULL);
        p->loop = a->s->loops[a->number % 2];
        start_again(p);
        for (uint64_t i = test_rng_below(&a->rng, 100); i > 0; i--)
            sched_yield();
        sennit_timer_stop(p->loop, &p->timer);
        free(p);
    }
    return NULL;
}

static void
drain(sennit_sock *sock, unsigned ready, void *arg)
{
    uint64_t number;

    CHECK(ready & SENNIT_READABLE);
    while (crew_recv(sock, &number, SENNIT_DONTWAIT) == SENNIT_OK)
        ++*(unsigned *)arg;
}

/* The same of sockets with callbacks. */
static void *
close_called(void *arg)
{
    actor *a = arg;

    while (!atomic_load(&a->s->over)) {
        sennit_loop *loop = a->s->loops[a->number % 2];
        sennit_sock *sink = crew_sock(loop, SENNIT_PULL);
        sennit_sock *source = crew_sock(loop, SENNIT_PUSH);
        unsigned *count = calloc(1, sizeof *count);
        int fd;

        CHECK(count != NULL);
        CHECK_ERR(sennit_sock_bind(sink, "tcp://127.0.0.1:*"), SENNIT_OK);
        CHECK_ERR(sennit_sock_connect(source, sennit_sock_last_endpoint(sink)),
                  SENNIT_OK);
        if (test_rng_below(&a->rng, 2))
            CHECK_ERR(sennit_sock_fd(sink, SENNIT_READABLE, &fd), SENNIT_OK);
        sennit_sock_on_ready(sink, SENNIT_READABLE, drain, count);
        for (uint64_t i = test_rng_below(&a->rng, 50); i > 0; i--)
            CHECK_ERR(crew_send(source, i, 0), SENNIT_OK);
        sennit_sock_close(sink);
        free(count);
        sennit_sock_close(source);
    }
    return NULL;
}

static void
open_scene(scene *s, const row *r, test_rng *rng)
{
    sennit_sock_opts opts = crew_opts();

    CHECK_ERR(sennit_context_open(&s->context, NULL), SENNIT_OK);
    for (unsigned i = 0; i < 2; i++)
        s->loops[i] = i > 0 && r->one_loop ? s->loops[0] : crew_hosted(s->context);
    opts.send_hwm_msgs = 1 + (uint32_t)test_rng_below(rng, 100);
    opts.recv_hwm_msgs = 1 + (uint32_t)test_rng_below(rng, 100);
    CHECK_ERR(sennit_sock_open(&s->pull, s->loops[0], SENNIT_PULL, &opts), SENNIT_OK);
    CHECK_ERR(sennit_sock_open(&s->push, s->loops[1], SENNIT_PUSH, &opts), SENNIT_OK);
    CHECK_ERR(sennit_sock_bind(s->pull, r->endpoint), SENNIT_OK);
    CHECK_ERR(sennit_sock_connect(s->push, sennit_sock_last_endpoint(s->pull)),
              SENNIT_OK);
    s->rep = crew_sock(s->loops[0], SENNIT_REP);
    CHECK_ERR(sennit_sock_bind(s->rep, "ipc://*"), SENNIT_OK);
}

static void
close_scene(scene *s)
{
    sennit_loop_close(s->loops[1]);
    if (s->loops[0] != s->loops[1])
        sennit_loop_close(s->loops[0]);
    CHECK_ERR(sennit_context_close(s->context), SENNIT_OK);
}

typedef struct part {
    void *(*play)(void *arg);
    unsigned count;
} part;

/* Those first who end by themselves, those last who wait for the shutdown. */
static const part parts[] = {
    { push, SENDERS },
    { request, 3 },
    { stop_timers, 2 },
    { close_called, 2 },
    { pull_by_descriptor, 1 },
    { pull_blocking, 4 },
    { reply, 1 },
};
#define PARTS (sizeof parts / sizeof parts[0])

static void
play(scene *s, test_rng *rng)
{
    actor actors[PARTS][SENDERS];
    uint64_t started = crew_ms();

    for (size_t p = 0; p < PARTS; p++)
        for (unsigned i = 0; i < parts[p].count; i++) {
            actors[p][i] = (actor){ .s = s, .number = i, .rng = { test_rng_next(rng) } };
            CHECK(pthread_create(&actors[p][i].thread, NULL, parts[p].play,
                                 &actors[p][i]) == 0);
        }
    while (atomic_load(&s->received) < SENDERS * MSGS) {
        CHECK(crew_ms() - started < CREW_DEADLINE_MS);
        sched_yield();
    }
    atomic_store(&s->over, true);
    for (size_t p = 0; p < PARTS; p++) {
        if (parts[p].play == pull_blocking)
            sennit_context_shutdown(s->context);
        for (unsigned i = 0; i < parts[p].count; i++)
            CHECK(pthread_join(actors[p][i].thread, NULL) == 0);
    }
}

static void
everything_at_once(void **state)
{
    const row *r = *state;
    test_rng rng = { r->seed };

    for (unsigned round = 0; round < ROUNDS; round++) {
        scene *s = calloc(1, sizeof *s);

        assert_non_null(s);
        open_scene(s, r, &rng);
        play(s, &rng);
        close_scene(s);
        free(s);
    }
}

static test_suite suite;

int
main(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        test_suite_row(&suite, "everything at once over ", rows[i].name,
                       everything_at_once, &rows[i]);
    return test_suite_run(&suite);
}
