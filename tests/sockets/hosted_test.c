/* SPDX-License-Identifier: MIT */
/* Hosted loops: sockets that plain threads share, a thread of the loop's own that goes on
 * when nobody waits, and a receive that is woken by the kernel in the very thread that
 * waits. */
#include "crew.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "core/loop.h"
#include "sennit/proxy.h"

#define THREADS 16u

typedef struct pair {
    sennit_loop *loops[2]; /* may be one */
    sennit_sock *binder;
    sennit_sock *connecter;
} pair;

/* Two hosted loops, and a connection between them over `wanted`. */
static void
open_pair(pair *p, sennit_sock_type binder, sennit_sock_type connecter,
          const char *wanted)
{
    for (unsigned i = 0; i < 2; i++)
        p->loops[i] = crew_hosted(NULL);
    p->binder = crew_sock(p->loops[0], binder);
    p->connecter = crew_sock(p->loops[1], connecter);
    assert_int_equal(sennit_sock_bind(p->binder, wanted), SENNIT_OK);
    assert_int_equal(
        sennit_sock_connect(p->connecter, sennit_sock_last_endpoint(p->binder)),
        SENNIT_OK);
    assert_int_equal(sennit_sock_wait_connections(p->connecter, 1, CREW_DEADLINE_MS),
                     SENNIT_OK);
    assert_int_equal(sennit_sock_wait_connections(p->binder, 1, CREW_DEADLINE_MS),
                     SENNIT_OK);
}

static void
close_pair(pair *p)
{
    sennit_loop_close(p->loops[1]);
    sennit_loop_close(p->loops[0]);
}

typedef struct worker {
    pthread_t thread;
    sennit_sock *sock;
    unsigned number;
    void *arg;
    sennit_err err;
} worker;

static void
start(worker *workers, unsigned count, sennit_sock *sock, void *(*run)(void *), void *arg)
{
    for (unsigned i = 0; i < count; i++) {
        workers[i] = (worker){ .sock = sock, .number = i, .arg = arg };
        assert_int_equal(pthread_create(&workers[i].thread, NULL, run, &workers[i]), 0);
    }
}

static void
join(worker *workers, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
}

/* ---- calls ------------------------------------------------------------- */

static void *
echo(void *arg)
{
    worker *w = arg;
    uint64_t number;

    do {
        CHECK_ERR(crew_recv(w->sock, &number, 0), SENNIT_OK);
        CHECK_ERR(crew_send(w->sock, number + 1, 0), SENNIT_OK);
    } while (number != UINT64_MAX);
    return NULL;
}

static void
requests_and_replies_go_round_between_plain_threads(void **state)
{
    worker w;
    pair p;
    uint64_t number;

    (void)state;
    open_pair(&p, SENNIT_REP, SENNIT_REQ, "tcp://127.0.0.1:*");
    start(&w, 1, p.binder, echo, NULL);
    for (uint64_t i = 0; i < 5000; i++) {
        CHECK_ERR(crew_send(p.connecter, i, 0), SENNIT_OK);
        CHECK_ERR(crew_recv(p.connecter, &number, 0), SENNIT_OK);
        assert_int_equal(number, i + 1);
    }
    CHECK_ERR(crew_send(p.connecter, UINT64_MAX, 0), SENNIT_OK);
    CHECK_ERR(crew_recv(p.connecter, &number, 0), SENNIT_OK);
    join(&w, 1);
    close_pair(&p);
}

#define SHARED_MSGS 4000u /* of each thread */

static void *
push_numbers(void *arg)
{
    worker *w = arg;

    for (uint64_t i = 0; i < SHARED_MSGS; i++)
        CHECK_ERR(crew_send(w->sock, w->number * SHARED_MSGS + i, 0), SENNIT_OK);
    return NULL;
}

static void *
pull_numbers(void *arg)
{
    worker *w = arg;
    atomic_uchar *seen = w->arg;
    uint64_t number;

    for (uint64_t i = 0; i < SHARED_MSGS; i++) {
        CHECK_ERR(crew_recv(w->sock, &number, 0), SENNIT_OK);
        CHECK(number < THREADS * SHARED_MSGS);
        CHECK(atomic_fetch_add(&seen[number], 1) == 0);
    }
    return NULL;
}

/* Senders and receivers that wait for each other, on one socket each. */
static void
sixteen_threads_share_a_socket_and_each_message_arrives_once(void **state)
{
    static atomic_uchar seen[THREADS * SHARED_MSGS];
    worker pushers[THREADS];
    worker pullers[THREADS];
    pair p;

    memset(seen, 0, sizeof seen);
    open_pair(&p, SENNIT_PULL, SENNIT_PUSH, *state);
    start(pullers, THREADS, p.binder, pull_numbers, seen);
    start(pushers, THREADS, p.connecter, push_numbers, NULL);
    join(pushers, THREADS);
    join(pullers, THREADS);
    for (size_t i = 0; i < THREADS * SHARED_MSGS; i++)
        assert_int_equal(seen[i], 1);
    crew_check_law(p.connecter);
    close_pair(&p);
}

static void
a_socket_of_one_hosted_loop_talks_to_another_of_the_same(void **state)
{
    sennit_loop *loop = crew_hosted(NULL);
    sennit_sock *rep = crew_sock(loop, SENNIT_REP);
    sennit_sock *req = crew_sock(loop, SENNIT_REQ);
    worker w;
    uint64_t number;

    assert_int_equal(sennit_sock_bind(rep, *state), SENNIT_OK);
    assert_int_equal(sennit_sock_connect(req, sennit_sock_last_endpoint(rep)), SENNIT_OK);
    start(&w, 1, rep, echo, NULL);
    for (uint64_t i = 0; i < 2000; i++) {
        CHECK_ERR(crew_send(req, i, 0), SENNIT_OK);
        CHECK_ERR(crew_recv(req, &number, 0), SENNIT_OK);
        assert_int_equal(number, i + 1);
    }
    CHECK_ERR(crew_send(req, UINT64_MAX, 0), SENNIT_OK);
    CHECK_ERR(crew_recv(req, &number, 0), SENNIT_OK);
    join(&w, 1);
    sennit_loop_close(loop);
}

#define FRAMES 5u

static void *
push_frames(void *arg)
{
    worker *w = arg;

    for (unsigned i = 0; i < 500; i++)
        for (unsigned frame = 0; frame < FRAMES; frame++)
            CHECK_ERR(crew_send(w->sock, w->number * 1000u + i,
                                frame + 1 < FRAMES ? SENNIT_MORE : 0),
                      SENNIT_OK);
    return NULL;
}

static void *
pull_frames(void *arg)
{
    worker *w = arg;

    for (unsigned i = 0; i < 500; i++) {
        uint64_t first = 0;
        bool more = true;

        for (unsigned frame = 0; frame < FRAMES; frame++) {
            sennit_msg msg;
            uint64_t number;

            sennit_msg_init(&msg);
            CHECK(more);
            CHECK_ERR(sennit_sock_recv(w->sock, &msg, 0), SENNIT_OK);
            CHECK(sennit_msg_size(&msg) == sizeof number);
            memcpy(&number, sennit_msg_data(&msg), sizeof number);
            more = sennit_msg_more(&msg);
            sennit_msg_fini(&msg);
            if (frame == 0)
                first = number;
            CHECK(number == first);
        }
        CHECK(!more);
    }
    return NULL;
}

static void
frames_of_messages_that_threads_send_and_receive_do_not_mix(void **state)
{
    worker pushers[4];
    worker pullers[4];
    pair p;

    (void)state;
    open_pair(&p, SENNIT_PULL, SENNIT_PUSH, "tcp://127.0.0.1:*");
    start(pullers, 4, p.binder, pull_frames, NULL);
    start(pushers, 4, p.connecter, push_frames, NULL);
    join(pushers, 4);
    join(pullers, 4);
    close_pair(&p);
}

/* ---- ends -------------------------------------------------------------- */

static void *
receive_until_the_end(void *arg)
{
    worker *w = arg;
    sennit_sock **socks = w->arg;
    uint64_t number;

    w->err = crew_recv(w->sock != NULL ? w->sock : socks[w->number], &number, 0);
    return NULL;
}

static void
closing_a_socket_ends_all_that_wait_on_it(void **state)
{
    sennit_loop *loop = crew_hosted(NULL);
    sennit_sock *pull = crew_sock(loop, SENNIT_PULL);
    sennit_sock *other = crew_sock(loop, SENNIT_PULL);
    worker workers[THREADS];

    (void)state;
    start(workers, THREADS, pull, receive_until_the_end, NULL);
    crew_await_waiting(loop, THREADS);
    sennit_sock_close(pull);
    join(workers, THREADS);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(workers[i].err, SENNIT_ECLOSED);
    /* The loop is as before. */
    assert_int_equal(sennit_sock_bind(other, "tcp://127.0.0.1:*"), SENNIT_OK);
    sennit_loop_close(loop);
}

static void
closing_the_loop_ends_all_that_wait_in_it(void **state)
{
    sennit_loop *loop = crew_hosted(NULL);
    worker workers[THREADS];
    sennit_sock *socks[THREADS];

    (void)state;
    for (unsigned i = 0; i < THREADS; i++)
        socks[i] = crew_sock(loop, i % 2 ? SENNIT_PULL : SENNIT_DEALER);
    start(workers, THREADS, NULL, receive_until_the_end, socks);
    crew_await_waiting(loop, THREADS);
    sennit_loop_close(loop);
    join(workers, THREADS);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(workers[i].err, SENNIT_ECLOSED);
}

static void
shutting_the_context_down_ends_all_that_wait(void **state)
{
    sennit_context *context;
    sennit_loop *loop;
    worker workers[THREADS];
    sennit_sock *socks[THREADS];

    (void)state;
    assert_int_equal(sennit_context_open(&context, NULL), SENNIT_OK);
    loop = crew_hosted(context);
    for (unsigned i = 0; i < THREADS; i++)
        socks[i] = crew_sock(loop, i % 2 ? SENNIT_PULL : SENNIT_DEALER);
    start(workers, THREADS, NULL, receive_until_the_end, socks);
    crew_await_waiting(loop, THREADS);
    sennit_context_shutdown(context);
    join(workers, THREADS);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(workers[i].err, SENNIT_ETERM);
    sennit_loop_close(loop);
    assert_int_equal(sennit_context_close(context), SENNIT_OK);
}

static void *
receive_at_most_a_moment(void *arg)
{
    worker *w = arg;
    uint64_t number;

    w->err = crew_recv(w->sock, &number, 0);
    return NULL;
}

static void
whoever_waits_does_so_no_longer_than_he_said(void **state)
{
    sennit_loop *loop = crew_hosted(NULL);
    sennit_sock_opts opts = crew_opts();
    sennit_sock *pull;
    worker workers[THREADS];

    (void)state;
    opts.recv_timeout_ms = 20;
    assert_int_equal(sennit_sock_open(&pull, loop, SENNIT_PULL, &opts), SENNIT_OK);
    start(workers, THREADS, pull, receive_at_most_a_moment, NULL);
    join(workers, THREADS);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(workers[i].err, SENNIT_EAGAIN);
    sennit_loop_close(loop);
}

typedef struct flood {
    const char *endpoint;
    atomic_bool over;
} flood;

/* What a REP throws away, without an end. */
static void *
send_malformed(void *arg)
{
    worker *w = arg;
    flood *f = w->arg;
    sennit_sock_opts opts = crew_opts();
    sennit_loop *loop;
    sennit_sock *dealer;

    opts.send_timeout_ms = 100;
    CHECK_ERR(sennit_loop_open(&loop, NULL), SENNIT_OK);
    CHECK_ERR(sennit_sock_open(&dealer, loop, SENNIT_DEALER, &opts), SENNIT_OK);
    CHECK_ERR(sennit_sock_connect(dealer, f->endpoint), SENNIT_OK);
    while (!atomic_load(&f->over))
        (void)!crew_send(dealer, 1, 0);
    sennit_loop_close(loop);
    return NULL;
}

/* The thread that receives has always something to do, and never what it waits for. */
static void
a_peer_that_floods_keeps_no_other_thread_out(void **state)
{
    sennit_loop *loop = crew_hosted(NULL);
    sennit_sock *rep = crew_sock(loop, SENNIT_REP);
    sennit_sock_opts opts = crew_opts();
    flood f = { .over = false };
    uint64_t started;
    uint64_t number;
    sennit_sock *pull;
    worker receiver;
    worker senders[2];

    (void)state;
    opts.recv_timeout_ms = 1;
    assert_int_equal(sennit_sock_open(&pull, loop, SENNIT_PULL, &opts), SENNIT_OK);
    assert_int_equal(sennit_sock_bind(rep, "tcp://127.0.0.1:*"), SENNIT_OK);
    f.endpoint = sennit_sock_last_endpoint(rep);
    start(&receiver, 1, rep, receive_until_the_end, NULL);
    start(senders, 2, NULL, send_malformed, &f);
    assert_int_equal(sennit_sock_wait_connections(rep, 2, CREW_DEADLINE_MS), SENNIT_OK);
    started = crew_ms();
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(sennit_sock_ready(pull) & SENNIT_READABLE, 0);
        assert_int_equal(crew_recv(pull, &number, 0), SENNIT_EAGAIN);
    }
    assert_true(crew_ms() - started < CREW_DEADLINE_MS);
    atomic_store(&f.over, true);
    join(senders, 2);
    sennit_sock_close(rep);
    join(&receiver, 1);
    assert_int_equal(receiver.err, SENNIT_ECLOSED);
    sennit_loop_close(loop);
}

/* ---- what nobody waits for --------------------------------------------- */

/* The peer reads with plain system calls, so that nothing but the sender's own loop can
 * bring the tail of what was gathered to it. */
static void
the_tail_of_a_burst_leaves_without_another_call(void **state)
{
    sennit_loop *loop = crew_hosted(NULL);
    sennit_loop *owned;
    sennit_sock *push = crew_sock(loop, SENNIT_PUSH);
    sennit_sock *pull;
    uint64_t number;

    (void)state;
    assert_int_equal(sennit_loop_open(&owned, NULL), SENNIT_OK);
    pull = crew_sock(owned, SENNIT_PULL);
    assert_int_equal(sennit_sock_bind(pull, "tcp://127.0.0.1:*"), SENNIT_OK);
    assert_int_equal(sennit_sock_connect(push, sennit_sock_last_endpoint(pull)),
                     SENNIT_OK);
    for (uint64_t run = 0; run < 1000; run++) {
        unsigned burst = 1 + (unsigned)(run % 7);

        for (uint64_t i = 0; i < burst; i++)
            CHECK_ERR(crew_send(push, run * 8 + i, 0), SENNIT_OK);
        for (uint64_t i = 0; i < burst; i++) {
            CHECK_ERR(crew_recv(pull, &number, 0), SENNIT_OK);
            assert_int_equal(number, run * 8 + i);
        }
    }
    sennit_loop_close(owned);
    sennit_loop_close(loop);
}

static void
set_flag(void *arg)
{
    atomic_store((atomic_bool *)arg, true);
}

static void
await_flag(atomic_bool *flag)
{
    uint64_t started = crew_ms();

    while (!atomic_load(flag)) {
        assert_true(crew_ms() - started < CREW_DEADLINE_MS);
        sched_yield();
    }
}

static void
timers_and_posted_calls_come_without_a_call(void **state)
{
    sennit_loop *loop = crew_hosted(NULL);
    sennit_timer timer = { 0 };
    atomic_bool fired = false;
    atomic_bool posted = false;

    (void)state;
    assert_int_equal(sennit_timer_start(loop, &timer, 1000000, set_flag, &fired),
                     SENNIT_OK);
    await_flag(&fired);
    assert_int_equal(sennit_loop_post(loop, set_flag, &posted), SENNIT_OK);
    await_flag(&posted);
    sennit_loop_close(loop);
}

typedef struct answering {
    atomic_uint answers;
    atomic_uint inside;
    sennit_err wait_err;
    char why[128];
} answering;

static void
answer(sennit_sock *sock, unsigned ready, void *arg)
{
    answering *a = arg;
    uint64_t number;

    CHECK(ready & SENNIT_READABLE);
    CHECK(atomic_fetch_add(&a->inside, 1) == 0);
    while (crew_recv(sock, &number, SENNIT_DONTWAIT) == SENNIT_OK) {
        CHECK_ERR(crew_send(sock, number + 1, SENNIT_DONTWAIT), SENNIT_OK);
        atomic_fetch_add(&a->answers, 1);
    }
    a->wait_err = crew_recv(sock, &number, 0);
    snprintf(a->why, sizeof a->why, "%s", sennit_loop_why(sennit_sock_get_loop(sock)));
    atomic_fetch_sub(&a->inside, 1);
}

static void
callbacks_come_one_at_a_time_and_may_not_wait(void **state)
{
    answering a = { .answers = 0 };
    uint64_t number;
    pair p;

    (void)state;
    open_pair(&p, SENNIT_REP, SENNIT_REQ, "tcp://127.0.0.1:*");
    sennit_sock_on_ready(p.binder, SENNIT_READABLE, answer, &a);
    for (uint64_t i = 0; i < 200; i++) {
        CHECK_ERR(crew_send(p.connecter, i, 0), SENNIT_OK);
        CHECK_ERR(crew_recv(p.connecter, &number, 0), SENNIT_OK);
        assert_int_equal(number, i + 1);
    }
    /* Then it does not run any more, and `a` may go. */
    sennit_sock_on_ready(p.binder, 0, NULL, NULL);
    assert_int_equal(atomic_load(&a.inside), 0);
    assert_int_equal(atomic_load(&a.answers), 200);
    assert_int_equal(a.wait_err, SENNIT_ESTATE);
    assert_non_null(strstr(a.why, "SENNIT_DONTWAIT"));
    close_pair(&p);
}

typedef struct slow_call {
    pthread_mutex_t lock; /* the application's, also held while it calls the library */
    atomic_bool runs;
    atomic_bool over;
} slow_call;

static void
run_slowly(void *arg)
{
    slow_call *s = arg;

    atomic_store(&s->runs, true);
    pthread_mutex_lock(&s->lock);
    atomic_store(&s->over, true);
    pthread_mutex_unlock(&s->lock);
}

/* A callback that waits for a lock of the application's keeps nobody who has that lock
 * out of the loop. */
static void
callbacks_run_under_no_lock_of_the_library(void **state)
{
    sennit_loop *loop = crew_hosted(NULL);
    sennit_sock *pull = crew_sock(loop, SENNIT_PULL);
    sennit_timer timer = { 0 };
    slow_call s = { .runs = false };

    (void)state;
    assert_int_equal(pthread_mutex_init(&s.lock, NULL), 0);
    pthread_mutex_lock(&s.lock);
    assert_int_equal(sennit_timer_start(loop, &timer, 0, run_slowly, &s), SENNIT_OK);
    await_flag(&s.runs);
    assert_int_equal(sennit_sock_bind(pull, "tcp://127.0.0.1:*"), SENNIT_OK);
    assert_int_equal(sennit_sock_ready(pull) & SENNIT_READABLE, 0);
    pthread_mutex_unlock(&s.lock);
    sennit_timer_stop(loop, &timer);
    assert_true(atomic_load(&s.over));
    sennit_loop_close(loop);
    pthread_mutex_destroy(&s.lock);
}

/* ---- wrong use --------------------------------------------------------- */

static void
a_hosted_loop_is_turned_by_nobody_else(void **state)
{
    sennit_loop *loop = crew_hosted(NULL);
    sennit_sock *dealer = crew_sock(loop, SENNIT_DEALER);
    sennit_sock *router = crew_sock(loop, SENNIT_ROUTER);
    sennit_proxy *proxy;

    (void)state;
    assert_int_equal(sennit_proxy_open(&proxy, router, dealer, NULL), SENNIT_ENOTSUP);
    assert_non_null(strstr(sennit_loop_why(loop), "hosted"));
    assert_int_equal(sennit_loop_turn(loop, 0), SENNIT_ESTATE);
    assert_non_null(strstr(sennit_loop_why(loop), "hosted"));
    assert_int_equal(sennit_loop_run(loop), SENNIT_ESTATE);
    assert_int_equal(sennit_loop_fd(loop), -1);
    assert_int_equal(sennit_loop_timeout_ms(loop), -1);
    sennit_loop_stop(loop);
    sennit_loop_close(loop);
}

/* Room for one descriptor after the other, until it is enough. */
static void
without_descriptors_it_cannot_be_opened(void **state)
{
    struct rlimit before;
    struct rlimit few;
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;
    sennit_loop *loop = NULL;
    int fds[64];
    int count = 0;
    int refused = 0;

    (void)state;
    opts.hosted = true;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = 48;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    while (count < 64 && (fds[count] = dup(0)) >= 0)
        count++;
    while (sennit_loop_open(&loop, &opts) == SENNIT_EMFILE) {
        refused++;
        close(fds[--count]);
    }
    assert_non_null(loop);
    assert_int_equal(refused, 3);
    sennit_loop_close(loop);
    while (count > 0)
        close(fds[--count]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static void *
fail_in_its_own_way(void *arg)
{
    worker *w = arg;
    sennit_loop *loop = sennit_sock_get_loop(w->sock);

    for (unsigned i = 0; i < 1000; i++) {
        CHECK_ERR(sennit_sock_bind(w->sock, w->number % 2 ? NULL : "tcp://"),
                  SENNIT_EINVAL);
        CHECK((strcmp(sennit_loop_why(loop), "the endpoint is NULL") == 0) ==
              (w->number % 2 == 1));
    }
    return NULL;
}

static void
each_thread_is_told_why_its_own_call_failed(void **state)
{
    sennit_loop *loop = crew_hosted(NULL);
    worker workers[4];

    (void)state;
    start(workers, 4, crew_sock(loop, SENNIT_PULL), fail_in_its_own_way, NULL);
    join(workers, 4);
    sennit_loop_close(loop);
}

static void
a_forked_child_closes_its_copy_and_the_parent_goes_on(void **state)
{
    uint64_t number;
    pid_t child;
    int status;
    pair p;

    (void)state;
    open_pair(&p, SENNIT_PULL, SENNIT_PUSH, "tcp://127.0.0.1:*");
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        bool ok = crew_send(p.connecter, 7, SENNIT_DONTWAIT) == SENNIT_ESTATE;

        sennit_loop_close(p.loops[0]);
        sennit_loop_close(p.loops[1]);
        _exit(ok ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    CHECK_ERR(crew_send(p.connecter, 8, 0), SENNIT_OK);
    CHECK_ERR(crew_recv(p.binder, &number, 0), SENNIT_OK);
    assert_int_equal(number, 8);
    close_pair(&p);
}

/* ---- without a hand-over ----------------------------------------------- */

/* In a child, with plain system calls: ends when the other end closes. */
static void
echo_raw(int fd)
{
    char octets[64];
    ssize_t n;

    while ((n = recv(fd, octets, sizeof octets, 0)) > 0)
        if (send(fd, octets, (size_t)n, MSG_NOSIGNAL) != n)
            _exit(1);
    _exit(n == 0 ? 0 : 2);
}

/* A STREAM socket, whose peer is another process: this one's voluntary context switches
 * are then those of the thread that waits, once at most for every round trip, and of the
 * host, which looks by the clock. With a hand-over there would be one more at least for
 * every round trip. */
static void
a_receive_is_woken_in_the_thread_that_waits(void **state)
{
    enum { TRIPS = 2000 };
    sennit_loop *loop = crew_hosted(NULL);
    sennit_sock *sock = crew_sock(loop, SENNIT_STREAM);
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct rusage before;
    struct rusage after;
    sennit_msg identity;
    sennit_msg msg;
    sennit_time started;
    pid_t peer;
    long switches;
    long ticks;
    int status;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)state;
    assert_int_equal(sennit_sock_bind(sock, "ipc://*"), SENNIT_OK);
    assert_true(strlen(sennit_sock_last_endpoint(sock) + 6) < sizeof address.sun_path);
    strcpy(address.sun_path, sennit_sock_last_endpoint(sock) + 6);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    peer = fork();
    assert_true(peer >= 0);
    if (peer == 0)
        echo_raw(fd);
    close(fd);
    sennit_msg_init(&identity);
    sennit_msg_init(&msg);
    /* The connection is told by an empty message. */
    CHECK_ERR(sennit_sock_recv(sock, &identity, 0), SENNIT_OK);
    CHECK_ERR(sennit_sock_recv(sock, &msg, 0), SENNIT_OK);
    assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
    started = sennit_loop_now(loop);
    for (unsigned i = 0; i < TRIPS; i++) {
        CHECK_ERR(sennit_sock_send(sock, &identity, SENNIT_MORE), SENNIT_OK);
        CHECK_ERR(sennit_sock_send_bytes(sock, "ping", 4, 0), SENNIT_OK);
        CHECK_ERR(sennit_sock_recv(sock, &identity, 0), SENNIT_OK);
        CHECK_ERR(sennit_sock_recv(sock, &msg, 0), SENNIT_OK);
        assert_int_equal(sennit_msg_size(&msg), 4);
    }
    assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
    switches = after.ru_nvcsw - before.ru_nvcsw;
    ticks = (long)((sennit_loop_now(loop) - started) / SNI_HOST_TICK_NS);
    print_message("%.2f voluntary context switches for each round trip, %ld ticks\n",
                  (double)switches / TRIPS, ticks);
    assert_true(switches < TRIPS * 5 / 4 + 4 * ticks + 50);
    sennit_msg_fini(&identity);
    sennit_msg_fini(&msg);
    sennit_loop_close(loop);
    assert_int_equal(waitpid(peer, &status, 0), peer);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

#define OVER(test, endpoint)                                                             \
    {                                                                                    \
        .name = #test " (" endpoint ")", .test_func = test,                              \
        .initial_state = (void *)(uintptr_t)endpoint                                     \
    }

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_and_replies_go_round_between_plain_threads),
        OVER(sixteen_threads_share_a_socket_and_each_message_arrives_once,
             "tcp://127.0.0.1:*"),
        OVER(sixteen_threads_share_a_socket_and_each_message_arrives_once, "ipc://*"),
        OVER(a_socket_of_one_hosted_loop_talks_to_another_of_the_same,
             "tcp://127.0.0.1:*"),
        OVER(a_socket_of_one_hosted_loop_talks_to_another_of_the_same, "ipc://*"),
        cmocka_unit_test(frames_of_messages_that_threads_send_and_receive_do_not_mix),
        cmocka_unit_test(closing_a_socket_ends_all_that_wait_on_it),
        cmocka_unit_test(closing_the_loop_ends_all_that_wait_in_it),
        cmocka_unit_test(shutting_the_context_down_ends_all_that_wait),
        cmocka_unit_test(whoever_waits_does_so_no_longer_than_he_said),
        cmocka_unit_test(a_peer_that_floods_keeps_no_other_thread_out),
        cmocka_unit_test(the_tail_of_a_burst_leaves_without_another_call),
        cmocka_unit_test(timers_and_posted_calls_come_without_a_call),
        cmocka_unit_test(callbacks_come_one_at_a_time_and_may_not_wait),
        cmocka_unit_test(callbacks_run_under_no_lock_of_the_library),
        cmocka_unit_test(a_hosted_loop_is_turned_by_nobody_else),
        cmocka_unit_test(without_descriptors_it_cannot_be_opened),
        cmocka_unit_test(each_thread_is_told_why_its_own_call_failed),
        cmocka_unit_test(a_forked_child_closes_its_copy_and_the_parent_goes_on),
        cmocka_unit_test(a_receive_is_woken_in_the_thread_that_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
