/* SPDX-License-Identifier: MIT */
/* A runtime: its threads begin, talk and end together, whatever fails; a kernel spreads
 * connections over its loops; inproc goes from each to each. */
#include "crew.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fail_malloc.h"
#include "sennit/runtime.h"

#define LOOPS 4u

static sennit_runtime_opts
opts_of(unsigned loops, void *arg)
{
    sennit_runtime_opts opts = SENNIT_RUNTIME_OPTS_DEFAULT;

    opts.loops = loops;
    opts.arg = arg;
    return opts;
}

static sennit_runtime *
open_runtime(const sennit_runtime_opts *opts)
{
    sennit_runtime_failure failure = { 0, "" };
    sennit_runtime *runtime;
    sennit_err err = sennit_runtime_open(&runtime, opts, &failure);

    if (err)
        fail_msg("%s of loop %u: %s", sennit_err_name(err), failure.index, failure.why);
    return runtime;
}

static void
close_runtime(sennit_runtime *runtime)
{
    assert_int_equal(sennit_runtime_close(runtime), SENNIT_OK);
}

static unsigned
open_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned count = 0;

    assert_non_null(dir);
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

/* A door that opens when somebody says so. */
typedef struct door {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    unsigned steps;
} door;

#define DOOR                                                                             \
    {                                                                                    \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0                           \
    }

static void
step(door *d)
{
    pthread_mutex_lock(&d->lock);
    d->steps++;
    pthread_cond_broadcast(&d->moved);
    pthread_mutex_unlock(&d->lock);
}

static void
await_steps(door *d, unsigned steps)
{
    pthread_mutex_lock(&d->lock);
    while (d->steps < steps)
        pthread_cond_wait(&d->moved, &d->lock);
    pthread_mutex_unlock(&d->lock);
}

/* ---- a life ------------------------------------------------------------ */

typedef struct life {
    pthread_t threads[LOOPS];
    sennit_loop *loops[LOOPS];
    char names[LOOPS][16];
    int cpus[LOOPS]; /* the one it may run on; -1: more */
    bool signals_blocked[LOOPS];
    int here[LOOPS];
    unsigned starts;
    unsigned stops;
    pthread_mutex_t lock;
} life;

static int
only_cpu(void)
{
    cpu_set_t set;

    CHECK(sched_getaffinity(0, sizeof set, &set) == 0);
    if (CPU_COUNT(&set) != 1)
        return -1;
    for (int cpu = 0;; cpu++)
        if (CPU_ISSET(cpu, &set))
            return cpu;
}

static sennit_err
begin(sennit_runtime *runtime, sennit_loop *loop, unsigned index, void *arg)
{
    life *l = arg;
    sigset_t blocked;

    CHECK(index < LOOPS);
    CHECK(sennit_runtime_loop(runtime, index) == loop);
    CHECK(pthread_sigmask(SIG_SETMASK, NULL, &blocked) == 0);
    l->threads[index] = pthread_self();
    l->loops[index] = loop;
    l->here[index] = sennit_runtime_here(runtime);
    l->cpus[index] = only_cpu();
    l->signals_blocked[index] =
        sigismember(&blocked, SIGINT) == 1 && sigismember(&blocked, SIGTERM) == 1;
    CHECK(pthread_getname_np(pthread_self(), l->names[index], 16) == 0);
    pthread_mutex_lock(&l->lock);
    l->starts++;
    pthread_mutex_unlock(&l->lock);
    return SENNIT_OK;
}

static void
finish(sennit_runtime *runtime, sennit_loop *loop, unsigned index, void *arg)
{
    life *l = arg;

    CHECK(pthread_equal(pthread_self(), l->threads[index]));
    CHECK(l->loops[index] == loop);
    /* None is closed yet. */
    for (unsigned i = 0; i < sennit_runtime_count(runtime); i++)
        CHECK(sennit_runtime_loop(runtime, i) != NULL);
    pthread_mutex_lock(&l->lock);
    l->stops++;
    pthread_mutex_unlock(&l->lock);
}

static void
each_loop_starts_and_stops_on_a_thread_of_its_own(void **state)
{
    life l = { .lock = PTHREAD_MUTEX_INITIALIZER };
    sennit_runtime_opts opts = opts_of(LOOPS, &l);
    sennit_runtime *runtime;

    (void)state;
    opts.start = begin;
    opts.stop = finish;
    runtime = open_runtime(&opts);
    assert_int_equal(sennit_runtime_count(runtime), LOOPS);
    assert_int_equal(sennit_runtime_here(runtime), -1);
    assert_int_equal(l.starts, LOOPS);
    assert_int_equal(l.stops, 0);
    for (unsigned i = 0; i < LOOPS; i++) {
        assert_ptr_equal(sennit_runtime_loop(runtime, i), l.loops[i]);
        assert_int_equal(l.here[i], i);
        assert_true(l.signals_blocked[i]);
        assert_false(pthread_equal(l.threads[i], pthread_self()));
        for (unsigned k = 0; k < i; k++) {
            assert_ptr_not_equal(l.loops[k], l.loops[i]);
            assert_false(pthread_equal(l.threads[k], l.threads[i]));
        }
    }
    assert_null(sennit_runtime_loop(runtime, LOOPS));
    close_runtime(runtime);
    assert_int_equal(l.stops, LOOPS);
}

static void
threads_have_the_name_that_was_given_and_their_number(void **state)
{
    static const char *const names[][2] = { { NULL, "sennit-%u" },
                                            { "echo", "echo-%u" },
                                            { "a name too long", "a name too -%u" } };

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        life l = { .lock = PTHREAD_MUTEX_INITIALIZER };
        sennit_runtime_opts opts = opts_of(LOOPS, &l);
        sennit_runtime *runtime;
        char wanted[16];
        unsigned named = 0;

        opts.name = names[i][0];
        opts.start = begin;
        runtime = open_runtime(&opts);
        /* Whoever makes the thread names it, so it may not be so yet in start. */
        for (unsigned k = 0; k < LOOPS; k++) {
            assert_int_equal(pthread_getname_np(l.threads[k], l.names[k], 16), 0);
            snprintf(wanted, sizeof wanted, "%.*s%u", (int)(strlen(names[i][1]) - 2),
                     names[i][1], k);
            named += strcmp(l.names[k], wanted) == 0;
        }
        assert_int_equal(named, LOOPS);
        close_runtime(runtime);
    }
}

static void
pinned_threads_share_the_processors_that_are_allowed(void **state)
{
    life l = { .lock = PTHREAD_MUTEX_INITIALIZER };
    sennit_runtime_opts opts = opts_of(LOOPS, &l);
    int allowed[CPU_SETSIZE];
    unsigned count = 0;
    cpu_set_t set;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &set))
            allowed[count++] = cpu;
    opts.start = begin;
    opts.pin = true;
    close_runtime(open_runtime(&opts));
    for (unsigned i = 0; i < LOOPS; i++)
        assert_int_equal(l.cpus[i], allowed[i % count]);
}

static void
there_are_as_many_loops_as_processors_that_may_be_used(void **state)
{
    sennit_runtime *runtime;
    cpu_set_t all;
    cpu_set_t one;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    runtime = open_runtime(NULL);
    assert_int_equal(sennit_runtime_count(runtime), CPU_COUNT(&all));
    close_runtime(runtime);
    CPU_ZERO(&one);
    for (int cpu = 0; CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    runtime = open_runtime(NULL);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    assert_int_equal(sennit_runtime_count(runtime), 1);
    close_runtime(runtime);
}

/* ---- what fails -------------------------------------------------------- */

typedef struct refusal {
    unsigned index; /* whose start fails */
    atomic_uint stops;
    atomic_uint terms; /* others that waited, and were told */
    bool wait;
} refusal;

static sennit_err
fail_one(sennit_runtime *runtime, sennit_loop *loop, unsigned index, void *arg)
{
    refusal *r = arg;
    sennit_sock *sock = NULL;
    sennit_err err = sennit_sock_open(&sock, loop, SENNIT_REP, NULL);
    char octet;

    (void)runtime;
    if (err == SENNIT_OK && index == r->index)
        return sennit_sock_bind(sock, "tcp://127.0.0.1:many");
    if (err == SENNIT_OK && r->wait)
        err = sennit_sock_recv_bytes(sock, &octet, 1, NULL, 0);
    /* It may be so late that even the socket is refused. */
    CHECK(err == (r->wait ? SENNIT_ETERM : SENNIT_OK));
    atomic_fetch_add(&r->terms, err == SENNIT_ETERM);
    return err;
}

static void
count_stop(sennit_runtime *runtime, sennit_loop *loop, unsigned index, void *arg)
{
    refusal *r = arg;

    (void)runtime;
    (void)loop;
    CHECK(index != r->index);
    atomic_fetch_add(&r->stops, 1);
}

static void
a_start_that_fails_fails_open_with_its_error_and_its_number(void **state)
{
    unsigned before = open_descriptors();
    sennit_context *context;

    (void)state;
    /* One that is not its own is nothing it would shut down. */
    assert_int_equal(sennit_context_open(&context, NULL), SENNIT_OK);
    for (unsigned i = 0; i < LOOPS; i++) {
        refusal r = { .index = i };
        sennit_runtime_opts opts = opts_of(LOOPS, &r);
        sennit_runtime_failure failure = { 99, NULL };
        sennit_runtime *runtime = NULL;

        opts.loop.context = context;
        opts.start = fail_one;
        opts.stop = count_stop;
        assert_int_equal(sennit_runtime_open(&runtime, &opts, &failure), SENNIT_EINVAL);
        assert_null(runtime);
        assert_int_equal(failure.index, i);
        assert_non_null(strstr(failure.why, "the port is not a number"));
        assert_int_equal(atomic_load(&r.stops), LOOPS - 1);
        assert_int_equal(sennit_runtime_open(&runtime, &opts, NULL), SENNIT_EINVAL);
    }
    assert_int_equal(sennit_context_close(context), SENNIT_OK);
    assert_int_equal(open_descriptors(), before);
}

static void
a_start_that_fails_ends_those_that_wait_in_theirs(void **state)
{
    refusal r = { .index = 2, .wait = true };
    sennit_runtime_opts opts = opts_of(LOOPS, &r);
    sennit_runtime_failure failure;
    sennit_runtime *runtime;

    (void)state;
    opts.start = fail_one;
    opts.stop = count_stop;
    assert_int_equal(sennit_runtime_open(&runtime, &opts, &failure), SENNIT_EINVAL);
    assert_int_equal(failure.index, 2);
    assert_int_equal(atomic_load(&r.terms), LOOPS - 1);
    assert_int_equal(atomic_load(&r.stops), 0);
}

static void
options_that_make_no_sense_are_refused_with_a_reason(void **state)
{
    sennit_runtime_opts opts = opts_of(257, NULL);
    sennit_allocator half = { .acquire = NULL, .arg = NULL };
    sennit_runtime_failure failure;
    sennit_runtime *runtime;

    (void)state;
    assert_int_equal(sennit_runtime_open(&runtime, &opts, &failure), SENNIT_EINVAL);
    assert_non_null(strstr(failure.why, "loops is over 256"));
    opts = opts_of(2, NULL);
    opts.loop.allocator = &half;
    assert_int_equal(sennit_runtime_open(&runtime, &opts, &failure), SENNIT_EINVAL);
    assert_non_null(strstr(failure.why, "allocator"));
    opts = opts_of(2, NULL);
    opts.loop.hosted = true;
    assert_int_equal(sennit_runtime_open(&runtime, &opts, &failure), SENNIT_EINVAL);
    assert_non_null(strstr(failure.why, "hosted"));
    opts = opts_of(2, NULL);
    opts.loop.backend = (sennit_backend)77;
    assert_int_not_equal(sennit_runtime_open(&runtime, &opts, &failure), SENNIT_OK);
    assert_true(failure.index < 2);
    assert_non_null(failure.why);
}

/* Below this number so many are free. */
static rlim_t
limit_of(unsigned free_count)
{
    int fd = 0;

    for (;; fd++)
        if (fcntl(fd, F_GETFD) < 0 && free_count-- == 0)
            return (rlim_t)fd;
}

static void
descriptors_that_run_out_are_told_and_given_back(void **state)
{
    sennit_runtime_opts opts = opts_of(LOOPS, NULL);
    sennit_runtime_failure failure = { 99, NULL };
    unsigned before = open_descriptors();
    sennit_runtime *runtime;
    struct rlimit limit;
    struct rlimit few;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    for (unsigned more = 0; more < 8; more++) {
        sennit_err err;

        few = (struct rlimit){ limit_of(more), limit.rlim_max };
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        err = sennit_runtime_open(&runtime, &opts, &failure);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        assert_int_equal(err, SENNIT_EMFILE);
        assert_true(failure.index < LOOPS);
        assert_string_equal(failure.why, sennit_err_text(SENNIT_EMFILE));
        assert_int_equal(open_descriptors(), before);
    }
    close_runtime(open_runtime(&opts));
}

/* ---- posting ----------------------------------------------------------- */

#define CALLS 20000u

typedef struct crossing {
    sennit_runtime *runtime; /* of start */
    door done;
    struct lane {
        struct crossing *whole;
        unsigned from;
        unsigned to;
        unsigned posted;       /* by `from` alone */
        unsigned ran;          /* by `to` alone */
    } lanes[LOOPS + 1][LOOPS]; /* the last ones are of a thread outside */
} crossing;

typedef struct lane lane;

static void
run_numbered(void *arg)
{
    lane *l = arg;

    CHECK(sennit_runtime_here(l->whole->runtime) == (int)l->to);
    if (++l->ran == CALLS)
        step(&l->whole->done);
}

/* Some at a time, so that the others' run in between; all at once they would not fit. */
static void
post_some(void *arg)
{
    lane *l = arg;
    crossing *c = l->whole;
    unsigned index = l->from;

    for (unsigned to = 0; to < LOOPS; to++) {
        lane *out = &c->lanes[index][to];
        sennit_err err = SENNIT_OK;

        for (unsigned i = 0; i < 500 && out->posted < CALLS && err == SENNIT_OK; i++) {
            err = sennit_runtime_post(c->runtime, to, run_numbered, out);
            CHECK(err == SENNIT_OK || err == SENNIT_EAGAIN);
            out->posted += err == SENNIT_OK;
        }
    }
    for (unsigned to = 0; to < LOOPS; to++) {
        if (c->lanes[index][to].posted == CALLS)
            continue;
        CHECK_ERR(sennit_loop_post(sennit_runtime_loop(c->runtime, index), post_some, l),
                  SENNIT_OK);
        return;
    }
}

static void
set_lanes(crossing *c)
{
    for (unsigned from = 0; from <= LOOPS; from++)
        for (unsigned to = 0; to < LOOPS; to++)
            c->lanes[from][to] = (lane){ .whole = c, .from = from, .to = to };
}

/* Each loop to each, itself too, and a thread outside to each, at the same time. */
static void
cross(uint32_t posts_max)
{
    crossing c = { .done = DOOR };
    sennit_runtime_opts opts = opts_of(LOOPS, &c);

    set_lanes(&c);
    opts.posts_max = posts_max;
    c.runtime = open_runtime(&opts);
    for (unsigned from = 0; from < LOOPS; from++)
        assert_int_equal(
            sennit_runtime_post(c.runtime, from, post_some, &c.lanes[from][0]),
            SENNIT_OK);
    for (unsigned i = 0; i < CALLS; i++)
        for (unsigned to = 0; to < LOOPS; to++)
            assert_int_equal(
                sennit_runtime_post(c.runtime, to, run_numbered, &c.lanes[LOOPS][to]),
                SENNIT_OK);
    await_steps(&c.done, LOOPS * (LOOPS + 1));
    close_runtime(c.runtime);
    for (unsigned from = 0; from <= LOOPS; from++)
        for (unsigned to = 0; to < LOOPS; to++)
            assert_int_equal(c.lanes[from][to].ran, CALLS);
}

static void
calls_from_each_loop_run_on_each_loop(void **state)
{
    (void)state;
    cross(0);
}

static void
calls_run_all_where_few_may_wait(void **state)
{
    (void)state;
    cross(64);
}

/* Numbers in their order; more than one chunk of them. */
typedef struct sequence {
    sennit_runtime *runtime;
    unsigned posted;
    unsigned ran;
    unsigned refused;
    bool wrong;
    door done;
} sequence;

typedef struct numbered {
    sequence *of;
    unsigned number;
} numbered;

static numbered sequence_calls[CALLS];

static void
check_number(void *arg)
{
    numbered *n = arg;

    n->of->wrong = n->of->wrong || n->number != n->of->ran;
    if (++n->of->ran == CALLS)
        step(&n->of->done);
}

static void
post_numbers(void *arg)
{
    sequence *s = arg;

    for (; s->posted < CALLS; s->posted++) {
        numbered *n = &sequence_calls[s->posted];
        sennit_err err;

        *n = (numbered){ s, s->posted };
        err = sennit_runtime_post(s->runtime, 1, check_number, n);
        if (err == SENNIT_EAGAIN) {
            sennit_loop *own = sennit_runtime_loop(s->runtime, 0);

            s->refused++;
            CHECK(strstr(sennit_loop_why(own), "posts_max") != NULL);
            CHECK_ERR(sennit_loop_post(own, post_numbers, s), SENNIT_OK);
            return;
        }
        CHECK_ERR(err, SENNIT_OK);
    }
}

static void
calls_of_one_loop_to_another_run_in_their_order(void **state)
{
    static const uint32_t bounds[] = { 0, 1, 2, 64, 1000 };

    (void)state;
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        sequence s = { .done = DOOR };
        sennit_runtime_opts opts = opts_of(2, &s);

        opts.posts_max = bounds[i];
        s.runtime = open_runtime(&opts);
        assert_int_equal(sennit_runtime_post(s.runtime, 0, post_numbers, &s), SENNIT_OK);
        await_steps(&s.done, 1);
        close_runtime(s.runtime);
        assert_false(s.wrong);
        assert_int_equal(s.ran, CALLS);
    }
}

typedef struct blocked {
    sennit_runtime *runtime;
    door in;  /* the other loop is in a call */
    door out; /* and may leave it */
    unsigned accepted;
    unsigned ran;
    door counted;
} blocked;

static void
block(void *arg)
{
    blocked *b = arg;

    step(&b->in);
    await_steps(&b->out, 1);
}

static void
count_run(void *arg)
{
    ((blocked *)arg)->ran++;
}

static void
post_until_full(void *arg)
{
    blocked *b = arg;
    sennit_err err;

    do {
        err = sennit_runtime_post(b->runtime, 1, count_run, b);
        b->accepted += err == SENNIT_OK;
    } while (err == SENNIT_OK);
    CHECK_ERR(err, SENNIT_EAGAIN);
    step(&b->counted);
}

static void
a_loop_that_runs_nothing_is_posted_posts_max_calls_and_not_one_more(void **state)
{
    blocked b = { .in = DOOR, .out = DOOR, .counted = DOOR };
    sennit_runtime_opts opts = opts_of(2, NULL);

    (void)state;
    opts.posts_max = 100;
    b.runtime = open_runtime(&opts);
    assert_int_equal(sennit_runtime_post(b.runtime, 1, block, &b), SENNIT_OK);
    await_steps(&b.in, 1);
    assert_int_equal(sennit_runtime_post(b.runtime, 0, post_until_full, &b), SENNIT_OK);
    await_steps(&b.counted, 1);
    assert_int_equal(b.accepted, 100);
    step(&b.out);
    /* Those run, and then it takes as many again. */
    close_runtime(b.runtime);
    assert_int_equal(b.ran, 100);
}

/* ---- ending ------------------------------------------------------------ */

typedef struct ending {
    sennit_runtime *runtime;
    door in;
    door out;
    atomic_uint ran;
    atomic_uint closed; /* posts that were refused */
    sennit_err wait_err;
} ending;

static void
count_late(void *arg)
{
    atomic_fetch_add(&((ending *)arg)->ran, 1);
}

static void
post_and_stop(void *arg)
{
    ending *e = arg;

    for (int i = 0; i < 1000; i++)
        for (unsigned to = 0; to < LOOPS; to++)
            CHECK_ERR(sennit_runtime_post(e->runtime, to, count_late, e), SENNIT_OK);
    sennit_runtime_stop(e->runtime);
    e->wait_err = sennit_runtime_wait(e->runtime);
}

static void
what_was_posted_before_a_stop_runs(void **state)
{
    ending e = { .in = DOOR, .out = DOOR };
    sennit_runtime_opts opts = opts_of(LOOPS, NULL);

    (void)state;
    e.runtime = open_runtime(&opts);
    assert_int_equal(sennit_runtime_post(e.runtime, 2, post_and_stop, &e), SENNIT_OK);
    assert_int_equal(sennit_runtime_wait(e.runtime), SENNIT_OK);
    assert_int_equal(atomic_load(&e.ran), 1000 * LOOPS);
    assert_int_equal(e.wait_err, SENNIT_ETHREAD);
    assert_int_equal(sennit_runtime_post(e.runtime, 0, count_late, &e), SENNIT_ECLOSED);
    assert_null(sennit_runtime_loop(e.runtime, 0));
    close_runtime(e.runtime);
}

static void
post_in_stop(sennit_runtime *runtime, sennit_loop *loop, unsigned index, void *arg)
{
    ending *e = arg;

    (void)loop;
    (void)index;
    for (unsigned to = 0; to < LOOPS; to++)
        CHECK_ERR(sennit_runtime_post(runtime, to, count_late, e), SENNIT_OK);
}

static void
what_is_posted_in_stop_runs(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        ending e = { .in = DOOR };
        sennit_runtime_opts opts = opts_of(LOOPS, &e);

        opts.stop = post_in_stop;
        close_runtime(open_runtime(&opts));
        assert_int_equal(atomic_load(&e.ran), LOOPS * LOOPS);
    }
}

/* Runs while its loop closes: whoever was first is closed already, or closes. */
static void
post_for_ever(void *arg)
{
    ending *e = arg;
    unsigned closed = 0;

    for (unsigned to = 0; to < LOOPS; to++) {
        sennit_err err = sennit_runtime_post(e->runtime, to, post_for_ever, e);

        CHECK(err == SENNIT_OK || err == SENNIT_ECLOSED || err == SENNIT_EAGAIN);
        closed += err == SENNIT_ECLOSED;
    }
    atomic_fetch_add(&e->closed, closed);
}

static void
calls_that_post_calls_end_with_the_loops(void **state)
{
    ending e = { .in = DOOR };
    sennit_runtime_opts opts = opts_of(LOOPS, &e);

    (void)state;
    opts.posts_max = 100;
    e.runtime = open_runtime(&opts);
    assert_int_equal(sennit_runtime_post(e.runtime, 1, post_for_ever, &e), SENNIT_OK);
    close_runtime(e.runtime);
    assert_true(atomic_load(&e.closed) > 0);
}

static void
run_within(void *arg)
{
    ending *e = arg;

    step(&e->in);
    CHECK_ERR(sennit_loop_run(sennit_runtime_loop(e->runtime, 0)), SENNIT_OK);
}

static void
stop_soon(void *arg)
{
    sennit_loop_stop(arg);
}

/* A run of its own, which nothing but its own stop ends. */
static void
run_in_stop(sennit_runtime *runtime, sennit_loop *loop, unsigned index, void *arg)
{
    ending *e = arg;

    (void)runtime;
    (void)index;
    CHECK_ERR(sennit_loop_post(loop, count_late, e), SENNIT_OK);
    CHECK_ERR(sennit_loop_post(loop, stop_soon, loop), SENNIT_OK);
    CHECK_ERR(sennit_loop_run(loop), SENNIT_OK);
    CHECK(atomic_load(&e->ran) > 0);
}

static void
a_stop_ends_a_run_in_a_callback_and_none_in_stop(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        ending e = { .in = DOOR };
        sennit_runtime_opts opts = opts_of(2, &e);

        opts.stop = run_in_stop;
        e.runtime = open_runtime(&opts);
        assert_int_equal(sennit_runtime_post(e.runtime, 0, run_within, &e), SENNIT_OK);
        await_steps(&e.in, 1);
        close_runtime(e.runtime);
        assert_int_equal(atomic_load(&e.ran), 2);
    }
}

static void
answer(sennit_sock *rep, unsigned ready, void *arg)
{
    uint64_t number;

    (void)ready;
    (void)arg;
    CHECK_ERR(crew_recv(rep, &number, SENNIT_DONTWAIT), SENNIT_OK);
    CHECK_ERR(crew_send(rep, number + 1, SENNIT_DONTWAIT), SENNIT_OK);
}

static sennit_err
serve_inproc(sennit_runtime *runtime, sennit_loop *loop, unsigned index, void *arg)
{
    char endpoint[32];
    sennit_sock *rep = crew_sock(loop, SENNIT_REP);

    (void)runtime;
    (void)arg;
    snprintf(endpoint, sizeof endpoint, "inproc://serve-%u", index);
    sennit_sock_on_ready(rep, SENNIT_READABLE, answer, NULL);
    return sennit_sock_bind(rep, endpoint);
}

static void
ask_all(sennit_runtime *runtime, sennit_loop *loop, unsigned index, void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < sennit_runtime_count(runtime); i++) {
        sennit_sock *req = crew_sock(loop, SENNIT_REQ);
        char endpoint[32];
        uint64_t number;

        snprintf(endpoint, sizeof endpoint, "inproc://serve-%u", i);
        CHECK_ERR(sennit_sock_connect(req, endpoint), SENNIT_OK);
        CHECK_ERR(crew_send(req, index, 0), SENNIT_OK);
        CHECK_ERR(crew_recv(req, &number, 0), SENNIT_OK);
        CHECK(number == index + 1);
        sennit_sock_close(req);
    }
}

static void
every_loop_still_answers_while_one_is_in_stop(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        sennit_runtime_opts opts = opts_of(LOOPS, NULL);

        opts.start = serve_inproc;
        opts.stop = ask_all;
        close_runtime(open_runtime(&opts));
    }
}

#define LAST_WORDS 500u

static char last_endpoint[64];

/* One of them is more than a kernel takes at once. */
static void
send_last(sennit_runtime *runtime, sennit_loop *loop, unsigned index, void *arg)
{
    static const uint8_t large[1 << 20];
    sennit_sock_opts opts = SENNIT_SOCK_OPTS_DEFAULT;
    sennit_sock *push;

    (void)runtime;
    (void)index;
    (void)arg;
    CHECK_ERR(sennit_sock_open(&push, loop, SENNIT_PUSH, &opts), SENNIT_OK);
    CHECK_ERR(sennit_sock_connect(push, last_endpoint), SENNIT_OK);
    for (unsigned i = 0; i < LAST_WORDS; i++)
        CHECK_ERR(sennit_sock_send_bytes(push, large, i == 9 ? sizeof large : 1, 0),
                  SENNIT_OK);
}

static void *
receive_last(void *arg)
{
    unsigned *got = arg;
    sennit_loop *loop;
    sennit_sock *pull;
    char octet;

    CHECK_ERR(sennit_loop_open(&loop, NULL), SENNIT_OK);
    pull = crew_sock(loop, SENNIT_PULL);
    CHECK_ERR(sennit_sock_bind(pull, last_endpoint), SENNIT_OK);
    for (; *got < LOOPS * LAST_WORDS; ++*got)
        CHECK_ERR(sennit_sock_recv_bytes(pull, &octet, 1, NULL, 0), SENNIT_OK);
    sennit_loop_close(loop);
    return NULL;
}

/* In stop they are not even connected. */
static void
what_is_sent_in_stop_leaves_while_it_closes(void **state)
{
    sennit_runtime_opts opts = opts_of(LOOPS, NULL);
    unsigned got = 0;
    pthread_t thread;

    (void)state;
    snprintf(last_endpoint, sizeof last_endpoint, "ipc://@sennit-last-%ld",
             (long)getpid());
    opts.stop = send_last;
    assert_int_equal(pthread_create(&thread, NULL, receive_last, &got), 0);
    close_runtime(open_runtime(&opts));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(got, LOOPS * LAST_WORDS);
}

static void
wait_for_nobody(void *arg)
{
    ending *e = arg;
    sennit_sock *pull = crew_sock(sennit_runtime_loop(e->runtime, 0), SENNIT_PULL);
    uint64_t number;

    step(&e->in);
    CHECK_ERR(crew_recv(pull, &number, 0), SENNIT_ETERM);
    atomic_fetch_add(&e->ran, 1);
}

static void
a_context_that_is_shut_down_ends_it_and_what_waits_in_it(void **state)
{
    ending e = { .in = DOOR };
    refusal r = { .index = 99 };
    sennit_runtime_opts opts = opts_of(LOOPS, &r);

    (void)state;
    opts.stop = count_stop;
    e.runtime = open_runtime(&opts);
    assert_int_equal(sennit_runtime_post(e.runtime, 0, wait_for_nobody, &e), SENNIT_OK);
    await_steps(&e.in, 1);
    sennit_context_shutdown(sennit_runtime_context(e.runtime));
    assert_int_equal(sennit_runtime_wait(e.runtime), SENNIT_ETERM);
    assert_int_equal(atomic_load(&e.ran), 1);
    assert_int_equal(atomic_load(&r.stops), LOOPS);
    close_runtime(e.runtime);
}

static void
its_own_context_stays_while_a_loop_outside_is_in_it(void **state)
{
    sennit_runtime_opts opts = opts_of(2, NULL);
    sennit_loop_opts loop_opts = SENNIT_LOOP_OPTS_DEFAULT;
    sennit_runtime *runtime = open_runtime(&opts);
    sennit_loop *loop;

    (void)state;
    loop_opts.context = sennit_runtime_context(runtime);
    assert_int_equal(sennit_loop_open(&loop, &loop_opts), SENNIT_OK);
    assert_int_equal(sennit_runtime_close(runtime), SENNIT_ESTATE);
    sennit_loop_close(loop);
    close_runtime(runtime);
}

static void
a_context_that_was_given_is_the_giver_s(void **state)
{
    sennit_runtime_opts opts = opts_of(2, NULL);
    sennit_context *context;
    sennit_runtime *runtime;

    (void)state;
    assert_int_equal(sennit_context_open(&context, NULL), SENNIT_OK);
    opts.loop.context = context;
    runtime = open_runtime(&opts);
    assert_ptr_equal(sennit_runtime_context(runtime), context);
    assert_int_equal(sennit_context_close(context), SENNIT_ESTATE);
    close_runtime(runtime);
    assert_int_equal(sennit_context_close(context), SENNIT_OK);
}

/* ---- fork -------------------------------------------------------------- */

static void
use_in_child(sennit_runtime *runtime)
{
    bool well = sennit_runtime_post(runtime, 0, count_late, NULL) == SENNIT_ESTATE &&
                sennit_runtime_wait(runtime) == SENNIT_ESTATE;

    sennit_runtime_stop(runtime);
    well = well && sennit_runtime_close(runtime) == SENNIT_OK;
    _exit(well ? 0 : 1);
}

static void
a_forked_child_has_none_and_the_parent_goes_on(void **state)
{
    ending e = { .in = DOOR };
    sennit_runtime_opts opts = opts_of(2, NULL);
    pid_t child;
    int status;

    (void)state;
    e.runtime = open_runtime(&opts);
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        use_in_child(e.runtime);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(sennit_runtime_post(e.runtime, 1, count_late, &e), SENNIT_OK);
    close_runtime(e.runtime);
    assert_int_equal(atomic_load(&e.ran), 1);
}

/* ---- connections, spread ----------------------------------------------- */

typedef struct spread {
    pthread_mutex_t lock;
    char endpoint[64];
    atomic_uint served[LOOPS]; /* messages */
} spread;

typedef struct shard {
    spread *of;
    unsigned index;
} shard;

static shard shards[LOOPS];

/* Whom it went to is the answer. */
static void
answer_who(sennit_sock *rep, unsigned ready, void *arg)
{
    shard *s = arg;
    uint64_t number;

    (void)ready;
    CHECK_ERR(crew_recv(rep, &number, SENNIT_DONTWAIT), SENNIT_OK);
    CHECK_ERR(crew_send(rep, s->index, SENNIT_DONTWAIT), SENNIT_OK);
    atomic_fetch_add(&s->of->served[s->index], 1);
}

/* The first that comes here has the system choose the port. */
static sennit_err
bind_shared(sennit_runtime *runtime, sennit_loop *loop, unsigned index, void *arg)
{
    spread *s = arg;
    sennit_sock_opts opts = crew_opts();
    sennit_sock *rep;
    sennit_err err;

    (void)runtime;
    opts.tcp_reuse_port = true;
    CHECK_ERR(sennit_sock_open(&rep, loop, SENNIT_REP, &opts), SENNIT_OK);
    shards[index] = (shard){ s, index };
    sennit_sock_on_ready(rep, SENNIT_READABLE, answer_who, &shards[index]);
    pthread_mutex_lock(&s->lock);
    err =
        sennit_sock_bind(rep, s->endpoint[0] != '\0' ? s->endpoint : "tcp://127.0.0.1:*");
    snprintf(s->endpoint, sizeof s->endpoint, "%s", sennit_sock_last_endpoint(rep));
    pthread_mutex_unlock(&s->lock);
    return err;
}

/* Connections until each loop has one, which is soon: with a fair kernel two hundred miss
 * one of four loops once in 10^24 runs. */
static void
connections_to_one_endpoint_are_spread_over_all_loops(void **state)
{
    spread s = { .lock = PTHREAD_MUTEX_INITIALIZER };
    sennit_runtime_opts opts = opts_of(LOOPS, &s);
    uint64_t per_shard[LOOPS] = { 0 };
    sennit_runtime *runtime;
    unsigned connections = 0;
    unsigned shards_seen = 0;
    sennit_loop *loop;

    (void)state;
    opts.start = bind_shared;
    runtime = open_runtime(&opts);
    assert_int_equal(sennit_loop_open(&loop, NULL), SENNIT_OK);
    for (; shards_seen < LOOPS && connections < 200; connections++) {
        sennit_sock *req = crew_sock(loop, SENNIT_REQ);
        uint64_t who;

        CHECK_ERR(sennit_sock_connect(req, s.endpoint), SENNIT_OK);
        /* A connection stays where it is. */
        for (unsigned i = 0; i < 3; i++) {
            uint64_t again;

            CHECK_ERR(crew_send(req, i, 0), SENNIT_OK);
            CHECK_ERR(crew_recv(req, &again, 0), SENNIT_OK);
            assert_true(again < LOOPS);
            assert_true(i == 0 || again == who);
            who = again;
        }
        shards_seen += per_shard[who] == 0;
        per_shard[who] += 3;
    }
    assert_int_equal(shards_seen, LOOPS);
    sennit_loop_close(loop);
    close_runtime(runtime);
    for (unsigned i = 0; i < LOOPS; i++)
        assert_int_equal(atomic_load(&s.served[i]), per_shard[i]);
}

/* ---- inproc between all ------------------------------------------------ */

#define ROUNDS 2000u
#define GUESTS 6u
#define VISITS 15u

typedef struct talk {
    sennit_runtime *runtime;
    door done;
    struct talker {
        struct talk *whole;
        unsigned index;
        sennit_sock *dealers[LOOPS]; /* to each loop */
        unsigned sent[LOOPS];
        unsigned answered[LOOPS];
        unsigned finished;
    } talkers[LOOPS];
} talk;

typedef struct talker talker;

/* A ROUTER gives back what it gets, to whomever. */
static void
give_back(sennit_sock *router, unsigned ready, void *arg)
{
    sennit_msg identity;
    sennit_msg body;

    (void)ready;
    (void)arg;
    sennit_msg_init(&identity);
    sennit_msg_init(&body);
    for (int i = 0; i < 64; i++) {
        if (sennit_sock_recv(router, &identity, SENNIT_DONTWAIT) != SENNIT_OK)
            break;
        CHECK(sennit_msg_more(&identity));
        CHECK_ERR(sennit_sock_recv(router, &body, SENNIT_DONTWAIT), SENNIT_OK);
        CHECK_ERR(sennit_sock_send(router, &identity, SENNIT_MORE | SENNIT_DONTWAIT),
                  SENNIT_OK);
        CHECK_ERR(sennit_sock_send(router, &body, SENNIT_DONTWAIT), SENNIT_OK);
    }
    sennit_msg_fini(&identity);
    sennit_msg_fini(&body);
}

/* Ten on their way at a time, in order. */
static void
talk_on(sennit_sock *dealer, unsigned ready, void *arg)
{
    talker *t = arg;
    unsigned to = 0;
    uint64_t number;

    (void)ready;
    while (t->dealers[to] != dealer)
        to++;
    while (t->answered[to] < ROUNDS) {
        if (t->sent[to] < ROUNDS && t->sent[to] < t->answered[to] + 10) {
            CHECK_ERR(crew_send(dealer, t->sent[to]++, SENNIT_DONTWAIT), SENNIT_OK);
            continue;
        }
        if (crew_recv(dealer, &number, SENNIT_DONTWAIT) != SENNIT_OK)
            return;
        CHECK(number == t->answered[to]);
        t->answered[to]++;
    }
    sennit_sock_on_ready(dealer, 0, NULL, NULL);
    crew_check_law(dealer);
    if (++t->finished == LOOPS)
        step(&t->whole->done);
}

static sennit_err
begin_to_talk(sennit_runtime *runtime, sennit_loop *loop, unsigned index, void *arg)
{
    talk *whole = arg;
    talker *t = &whole->talkers[index];
    sennit_sock *router = crew_sock(loop, SENNIT_ROUTER);
    char endpoint[32];

    (void)runtime;
    *t = (talker){ .whole = whole, .index = index };
    snprintf(endpoint, sizeof endpoint, "inproc://talk-%u", index);
    CHECK_ERR(sennit_sock_bind(router, endpoint), SENNIT_OK);
    sennit_sock_on_ready(router, SENNIT_READABLE, give_back, NULL);
    for (unsigned to = 0; to < LOOPS; to++) {
        t->dealers[to] = crew_sock(loop, SENNIT_DEALER);
        snprintf(endpoint, sizeof endpoint, "inproc://talk-%u", to);
        CHECK_ERR(sennit_sock_connect(t->dealers[to], endpoint), SENNIT_OK);
        sennit_sock_on_ready(t->dealers[to], SENNIT_READABLE | SENNIT_WRITABLE, talk_on,
                             t);
    }
    return SENNIT_OK;
}

/* A loop that comes, asks each loop of the runtime, and goes, with or without waiting for
 * the last answer. */
static void
visit(hand *h)
{
    (void)h->arg;
    for (unsigned i = 0; i < VISITS; i++) {
        sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;
        sennit_loop *loop;

        opts.context = h->context;
        CHECK_ERR(sennit_loop_open(&loop, &opts), SENNIT_OK);
        for (unsigned to = 0; to < LOOPS; to++) {
            sennit_sock *dealer = crew_sock(loop, SENNIT_DEALER);
            char endpoint[32];
            uint64_t number;

            snprintf(endpoint, sizeof endpoint, "inproc://talk-%u", to);
            CHECK_ERR(sennit_sock_connect(dealer, endpoint), SENNIT_OK);
            for (unsigned k = 0; k < 20; k++)
                CHECK_ERR(crew_send(dealer, k, 0), SENNIT_OK);
            for (unsigned k = 0; k < 20 - (h->number & 1) * 10; k++) {
                CHECK_ERR(crew_recv(dealer, &number, 0), SENNIT_OK);
                CHECK(number == k);
            }
        }
        sennit_loop_close(loop);
    }
}

static void
sockets_of_all_loops_talk_by_inproc_while_other_loops_come_and_go(void **state)
{
    talk whole = { .done = DOOR };
    sennit_runtime_opts opts = opts_of(LOOPS, &whole);
    hand guests[GUESTS];

    (void)state;
    opts.start = begin_to_talk;
    whole.runtime = open_runtime(&opts);
    crew_run(guests, GUESTS, sennit_runtime_context(whole.runtime), visit, NULL);
    await_steps(&whole.done, LOOPS);
    close_runtime(whole.runtime);
}

/* ---- whatever fails ---------------------------------------------------- */

static void
add_one(void *arg)
{
    atomic_fetch_add((atomic_uint *)arg, 1);
}

typedef struct lived {
    atomic_uint ran;
    atomic_uint failed;
} lived;

static sennit_err
post_around(sennit_runtime *runtime, sennit_loop *loop, unsigned index, void *arg)
{
    lived *l = arg;

    (void)loop;
    for (unsigned to = 0; to < sennit_runtime_count(runtime); to++) {
        sennit_err err = sennit_runtime_post(runtime, to, add_one, &l->ran);

        CHECK(err == SENNIT_OK || err == SENNIT_ENOMEM);
        if (err == SENNIT_ENOMEM) {
            atomic_fetch_add(&l->failed, 1);
            CHECK_ERR(sennit_runtime_post(runtime, to, add_one, &l->ran), SENNIT_OK);
        }
    }
    return index < sennit_runtime_count(runtime) ? SENNIT_OK : SENNIT_EINVAL;
}

static void
live_and_end(const void *arg)
{
    unsigned before = open_descriptors();
    lived l = { 0 };
    sennit_runtime_opts opts = opts_of(3, &l);
    sennit_runtime_failure failure = { 99, NULL };
    sennit_runtime *runtime;
    sennit_err err;

    (void)arg;
    opts.start = post_around;
    err = sennit_runtime_open(&runtime, &opts, &failure);
    if (err == SENNIT_OK) {
        sennit_err posted = sennit_runtime_post(runtime, 1, add_one, &l.ran);

        assert_true(posted == SENNIT_OK ||
                    (posted == SENNIT_ENOMEM && fail_malloc_failed() == 1));
        close_runtime(runtime);
        assert_int_equal(atomic_load(&l.ran), 9 + (posted == SENNIT_OK));
    } else {
        assert_int_equal(err, SENNIT_ENOMEM);
        assert_int_equal(fail_malloc_failed(), 1);
        assert_true(failure.index < 3);
        assert_non_null(failure.why);
        assert_int_equal(open_descriptors(), before);
        runtime = open_runtime(&opts);
        close_runtime(runtime);
    }
    assert_int_equal(open_descriptors(), before);
}

static void
whatever_it_asks_for_may_be_refused(void **state)
{
    (void)state;
    /* Three loops ask for some dozens of things. */
    assert_true(fail_malloc_every(live_and_end, NULL) > 50);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_loop_starts_and_stops_on_a_thread_of_its_own),
        cmocka_unit_test(threads_have_the_name_that_was_given_and_their_number),
        cmocka_unit_test(pinned_threads_share_the_processors_that_are_allowed),
        cmocka_unit_test(there_are_as_many_loops_as_processors_that_may_be_used),
        cmocka_unit_test(a_start_that_fails_fails_open_with_its_error_and_its_number),
        cmocka_unit_test(a_start_that_fails_ends_those_that_wait_in_theirs),
        cmocka_unit_test(options_that_make_no_sense_are_refused_with_a_reason),
        cmocka_unit_test(descriptors_that_run_out_are_told_and_given_back),
        cmocka_unit_test(calls_from_each_loop_run_on_each_loop),
        cmocka_unit_test(calls_run_all_where_few_may_wait),
        cmocka_unit_test(calls_of_one_loop_to_another_run_in_their_order),
        cmocka_unit_test(
            a_loop_that_runs_nothing_is_posted_posts_max_calls_and_not_one_more),
        cmocka_unit_test(what_was_posted_before_a_stop_runs),
        cmocka_unit_test(what_is_posted_in_stop_runs),
        cmocka_unit_test(calls_that_post_calls_end_with_the_loops),
        cmocka_unit_test(a_stop_ends_a_run_in_a_callback_and_none_in_stop),
        cmocka_unit_test(every_loop_still_answers_while_one_is_in_stop),
        cmocka_unit_test(what_is_sent_in_stop_leaves_while_it_closes),
        cmocka_unit_test(a_context_that_is_shut_down_ends_it_and_what_waits_in_it),
        cmocka_unit_test(its_own_context_stays_while_a_loop_outside_is_in_it),
        cmocka_unit_test(a_context_that_was_given_is_the_giver_s),
        cmocka_unit_test(a_forked_child_has_none_and_the_parent_goes_on),
        cmocka_unit_test(connections_to_one_endpoint_are_spread_over_all_loops),
        cmocka_unit_test(
            sockets_of_all_loops_talk_by_inproc_while_other_loops_come_and_go),
        cmocka_unit_test(whatever_it_asks_for_may_be_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
