/* SPDX-License-Identifier: MIT */
/* Each thread lives the same life, in step with the others where they could miss each
 * other: it opens its loop; when all are open, start; it turns until it is told to stop;
 * stop; it turns until all have done that; it closes its loop. So nobody finds a loop
 * missing in start or stop.
 *
 * Nothing here but the public interface of loops, and the rings between them. */
#include "sennit/runtime.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/limits.h"
#include "core/call_ring.h"
#include "core/loop.h"
#include "io/thread.h"

typedef struct worker {
    sennit_runtime *runtime;
    unsigned index;
    pthread_t thread;
    int cpu;
    sni_call_ring *in; /* from each loop */
    sni_lock lock;     /* of what others ask for: */
    sennit_loop *loop; /* NULL: it is not open yet, or closes */
    atomic_bool told;  /* to stop; under the lock its loop was, too */
} worker;

struct sennit_runtime {
    sennit_allocator alloc; /* serves any thread */
    sennit_runtime_opts opts;
    char name[12];
    sennit_context *own_context; /* NULL: it was given one */
    unsigned forks;
    worker *workers;
    sni_call_ring *rings; /* [to * count + from] */
    unsigned count;
    unsigned locks;   /* of workers, that were made */
    unsigned threads; /* that were started and not joined */

    sni_lock lock; /* of what follows */
    sni_cond moved;
    bool abandoned; /* it does not open: whoever has not started does not */
    bool go;        /* every loop is open */
    unsigned opened;
    unsigned started;
    unsigned through; /* with stop */
    unsigned closed;
    sennit_err err; /* that ended the first loop to end by one */
    bool failed;    /* to open: */
    sennit_err open_err;
    sennit_runtime_failure failure;
};

/* Whose thread this is. */
static _Thread_local worker *self;

static worker *
here(const sennit_runtime *runtime)
{
    return self != NULL && self->runtime == runtime ? self : NULL;
}

static bool
is_inherited(const sennit_runtime *runtime)
{
    return sni_forked_since(runtime->forks);
}

/* ---- steps ------------------------------------------------------------- */

static void
take(sennit_runtime *runtime)
{
    sni_lock_take(&runtime->lock);
}

static void
release(sennit_runtime *runtime)
{
    sni_cond_broadcast(&runtime->moved);
    sni_lock_release(&runtime->lock);
}

static void
await(sennit_runtime *runtime)
{
    (void)sni_cond_wait(&runtime->moved, &runtime->lock, SENNIT_NEVER);
}

/* It will not open. The first reason is the true one: others may follow from it. */
static void
fail(sennit_runtime *runtime, unsigned index, sennit_err err, const char *why)
{
    take(runtime);
    if (!runtime->failed) {
        runtime->failed = true;
        runtime->open_err = err;
        runtime->failure.index = index;
        runtime->failure.why = *why != '\0' ? why : sennit_err_text(err);
    }
    release(runtime);
}

static void
abandon(sennit_runtime *runtime)
{
    take(runtime);
    runtime->abandoned = true;
    release(runtime);
}

/* ---- the life of a thread ---------------------------------------------- */

/* False: it does not go on, because not every loop is open. */
static bool
open_loop(worker *w)
{
    sennit_runtime *runtime = w->runtime;
    sennit_loop *loop;
    sennit_err err = sennit_loop_open(&loop, &runtime->opts.loop);
    bool go;

    if (err) {
        fail(runtime, w->index, err, sennit_err_text(err));
    } else {
        for (unsigned i = 0; i < runtime->count; i++)
            sni_call_ring_attach(&w->in[i], loop);
        sni_lock_take(&w->lock);
        w->loop = loop;
        sni_lock_release(&w->lock);
    }
    take(runtime);
    runtime->opened++;
    sni_cond_broadcast(&runtime->moved);
    while (!runtime->go && !runtime->abandoned)
        await(runtime);
    go = runtime->go;
    release(runtime);
    return go;
}

static bool
start(worker *w)
{
    sennit_runtime *runtime = w->runtime;
    sennit_err err = SENNIT_OK;

    if (runtime->opts.start != NULL)
        err = runtime->opts.start(runtime, w->loop, w->index, runtime->opts.arg);
    if (err)
        fail(runtime, w->index, err, sennit_loop_why(w->loop));
    take(runtime);
    runtime->started++;
    release(runtime);
    return err == SENNIT_OK;
}

/* Whoever hears first that the context was shut down says so to the others, which may
 * have to hear it from a turn that does not wait. */
static void
ended(worker *w, sennit_err err)
{
    sennit_runtime *runtime = w->runtime;

    take(runtime);
    if (runtime->err == SENNIT_OK)
        runtime->err = err;
    release(runtime);
    sennit_runtime_stop(runtime);
}

static void
turn_until_told(worker *w)
{
    while (!atomic_load_explicit(&w->told, memory_order_acquire)) {
        sennit_err err = sennit_loop_turn(w->loop, -1);

        if (err != SENNIT_OK && err != SENNIT_EINTR)
            ended(w, err);
    }
    /* That was for us, and not for a sennit_loop_run() in stop. */
    sni_lock_take(&w->lock);
    atomic_store_explicit(&w->loop->stopped, false, memory_order_relaxed);
    sni_lock_release(&w->lock);
}

/* One more; the last one wakes the others, whose loops wait for that alone. */
static void
count_through(sennit_runtime *runtime)
{
    bool last;

    take(runtime);
    last = ++runtime->through == runtime->count;
    release(runtime);
    for (unsigned i = 0; last && i < runtime->count; i++) {
        worker *w = &runtime->workers[i];

        sni_lock_take(&w->lock);
        sennit_loop_stop(w->loop);
        sni_lock_release(&w->lock);
    }
}

static bool
all_are_through(sennit_runtime *runtime)
{
    bool all;

    sni_lock_take(&runtime->lock);
    all = runtime->through == runtime->count;
    sni_lock_release(&runtime->lock);
    return all;
}

/* The others may still want something of this loop; unless the context is shut down, when
 * nobody waits for anything. */
static void
turn_until_all_are_through(worker *w)
{
    sennit_runtime *runtime = w->runtime;
    sennit_err err = SENNIT_OK;

    count_through(runtime);
    while (!all_are_through(runtime) && (err == SENNIT_OK || err == SENNIT_EINTR))
        err = sennit_loop_turn(w->loop, -1);
    take(runtime);
    while (runtime->through < runtime->count)
        await(runtime);
    release(runtime);
}

static void
close_loop(worker *w)
{
    sennit_runtime *runtime = w->runtime;
    sennit_loop *loop = w->loop;

    sni_lock_take(&w->lock);
    w->loop = NULL;
    sni_lock_release(&w->lock);
    for (unsigned i = 0; loop != NULL && i < runtime->count; i++)
        sni_call_ring_shut(&w->in[i], loop);
    sennit_loop_close(loop);
    take(runtime);
    runtime->closed++;
    release(runtime);
}

static void *
live(void *arg)
{
    worker *w = arg;
    sennit_runtime *runtime = w->runtime;

    self = w;
    if (open_loop(w)) {
        bool stops = start(w) && runtime->opts.stop != NULL;

        turn_until_told(w);
        if (stops)
            runtime->opts.stop(runtime, w->loop, w->index, runtime->opts.arg);
        turn_until_all_are_through(w);
    }
    close_loop(w);
    return NULL;
}

/* ---- opening ----------------------------------------------------------- */

static sennit_err
refuse(sennit_runtime_failure *failure, sennit_err err, const char *why)
{
    if (failure != NULL)
        *failure = (sennit_runtime_failure){ 0, why };
    return err;
}

static const char *
wrong_opts(const sennit_runtime_opts *opts)
{
    const sennit_allocator *alloc = opts->loop.allocator;

    if (opts->loops > SNI_RUNTIME_LOOPS_MAX)
        return "loops is over 256; 0 means one for each processor";
    if (alloc != NULL &&
        (alloc->acquire == NULL || alloc->resize == NULL || alloc->release == NULL))
        return "loop.allocator has only some of its functions: set all three, or none";
    if (opts->loop.hosted)
        return "loop.hosted is nothing for a runtime, whose loops have threads of their "
               "own";
    return NULL;
}

/* As many loops as were asked for, each with the processor it is pinned to. */
static sennit_err
make_workers(sennit_runtime *runtime)
{
    int cpus[SNI_RUNTIME_LOOPS_MAX];
    size_t allowed = sni_cpus(cpus, SNI_RUNTIME_LOOPS_MAX);
    unsigned count = runtime->opts.loops;

    if (allowed > SNI_RUNTIME_LOOPS_MAX)
        allowed = SNI_RUNTIME_LOOPS_MAX;
    if (count == 0)
        count = (unsigned)allowed;
    runtime->workers =
        sni_acquire_zero(&runtime->alloc, count * sizeof *runtime->workers);
    runtime->rings =
        sni_acquire(&runtime->alloc, (size_t)count * count * sizeof *runtime->rings);
    if (runtime->workers == NULL || runtime->rings == NULL)
        return SENNIT_ENOMEM;
    for (size_t i = 0; i < (size_t)count * count; i++)
        sni_call_ring_init(&runtime->rings[i], &runtime->alloc, runtime->opts.posts_max);
    runtime->count = count;
    for (unsigned i = 0; i < count; i++) {
        worker *w = &runtime->workers[i];

        w->runtime = runtime;
        w->index = i;
        w->cpu = runtime->opts.pin ? cpus[i % allowed] : SNI_ANY_CPU;
        w->in = &runtime->rings[(size_t)i * count];
        atomic_init(&w->told, false);
        if (sni_lock_init(&w->lock) != SENNIT_OK)
            return SENNIT_ENOMEM;
        runtime->locks++;
    }
    return SENNIT_OK;
}

/* Gives back what make() has got so far. */
static void
unmake(sennit_runtime *runtime)
{
    sennit_allocator alloc = runtime->alloc;

    for (size_t i = 0; i < (size_t)runtime->count * runtime->count; i++)
        sni_call_ring_fini(&runtime->rings[i]);
    for (unsigned i = 0; i < runtime->locks; i++)
        sni_lock_fini(&runtime->workers[i].lock);
    sni_release(&alloc, runtime->rings);
    sni_release(&alloc, runtime->workers);
    sni_cond_fini(&runtime->moved);
    sni_lock_fini(&runtime->lock);
    sni_release(&alloc, runtime);
}

static sennit_err
make(sennit_runtime **out, const sennit_runtime_opts *opts)
{
    const sennit_allocator *alloc =
        opts->loop.allocator != NULL ? opts->loop.allocator : &sni_alloc_default;
    sennit_runtime *runtime = sni_acquire_zero(alloc, sizeof *runtime);
    sennit_err err;

    if (runtime == NULL)
        return SENNIT_ENOMEM;
    runtime->alloc = *alloc;
    runtime->opts = *opts;
    snprintf(runtime->name, sizeof runtime->name, "%s",
             opts->name != NULL ? opts->name : "sennit");
    runtime->forks = sni_forks;
    err = sni_lock_init(&runtime->lock);
    if (err) {
        sni_release(alloc, runtime);
        return err;
    }
    err = sni_cond_init(&runtime->moved);
    if (err) {
        sni_lock_fini(&runtime->lock);
        sni_release(alloc, runtime);
        return err;
    }
    err = make_workers(runtime);
    if (err == SENNIT_OK && opts->loop.context == NULL) {
        err = sni_context_open_with(&runtime->own_context, NULL, &runtime->alloc);
        runtime->opts.loop.context = runtime->own_context;
    }
    if (err) {
        unmake(runtime);
        return err;
    }
    *out = runtime;
    return SENNIT_OK;
}

static void
start_threads(sennit_runtime *runtime)
{
    for (unsigned i = 0; i < runtime->count; i++) {
        worker *w = &runtime->workers[i];
        char name[24];
        sennit_err err;

        snprintf(name, sizeof name, "%s-%u", runtime->name, i);
        err = sni_thread_start(&w->thread, name, w->cpu, live, w);
        if (err) {
            fail(runtime, i, err,
                 err == SENNIT_EINVAL
                     ? "the thread may not run on the processor it was to be pinned to"
                     : "the system starts no more threads: ask for fewer loops, or raise "
                       "the limit on threads or memory");
            return;
        }
        runtime->threads++;
    }
}

/* Whether each of its threads has come so far, `*step` of them; no failure is waited
 * behind. */
static bool
all_are_at(sennit_runtime *runtime, const unsigned *step)
{
    bool well;

    take(runtime);
    while (*step < runtime->count && !runtime->failed)
        await(runtime);
    well = !runtime->failed;
    release(runtime);
    return well;
}

static bool
start_all(sennit_runtime *runtime)
{
    start_threads(runtime);
    if (!all_are_at(runtime, &runtime->opened))
        return false;
    take(runtime);
    runtime->go = true;
    release(runtime);
    return all_are_at(runtime, &runtime->started);
}

static void
join_all(sennit_runtime *runtime)
{
    for (; runtime->threads > 0; runtime->threads--)
        pthread_join(runtime->workers[runtime->threads - 1].thread, NULL);
}

sennit_err
sennit_runtime_open(sennit_runtime **out, const sennit_runtime_opts *opts,
                    sennit_runtime_failure *failure)
{
    static const sennit_runtime_opts defaults = SENNIT_RUNTIME_OPTS_DEFAULT;
    sennit_runtime *runtime;
    const char *why;
    sennit_err err;

    if (out == NULL)
        return refuse(failure, SENNIT_EINVAL, "out is NULL");
    if (opts == NULL)
        opts = &defaults;
    why = wrong_opts(opts);
    if (why != NULL)
        return refuse(failure, SENNIT_EINVAL, why);
    err = make(&runtime, opts);
    if (err)
        return refuse(failure, err, sennit_err_text(err));
    if (start_all(runtime)) {
        *out = runtime;
        return SENNIT_OK;
    }
    abandon(runtime);
    /* Whoever waits in start for one that failed would wait for ever. */
    sennit_context_shutdown(runtime->own_context);
    sennit_runtime_stop(runtime);
    join_all(runtime);
    (void)sennit_context_close(runtime->own_context);
    err = runtime->open_err;
    if (failure != NULL)
        *failure = runtime->failure;
    unmake(runtime);
    return err;
}

/* ---- while it is open -------------------------------------------------- */

unsigned
sennit_runtime_count(const sennit_runtime *runtime)
{
    return runtime == NULL ? 0 : runtime->count;
}

sennit_loop *
sennit_runtime_loop(sennit_runtime *runtime, unsigned index)
{
    sennit_loop *loop;

    if (runtime == NULL || index >= runtime->count)
        return NULL;
    sni_lock_take(&runtime->workers[index].lock);
    loop = runtime->workers[index].loop;
    sni_lock_release(&runtime->workers[index].lock);
    return loop;
}

int
sennit_runtime_here(const sennit_runtime *runtime)
{
    const worker *w = runtime == NULL ? NULL : here(runtime);

    return w == NULL ? -1 : (int)w->index;
}

sennit_context *
sennit_runtime_context(const sennit_runtime *runtime)
{
    return runtime == NULL ? NULL : runtime->opts.loop.context;
}

/* From a thread that is none of its own. The lock keeps the loop from closing. */
static sennit_err
post_from_outside(worker *to, void (*fn)(void *arg), void *arg)
{
    sennit_err err = SENNIT_ECLOSED;

    sni_lock_take(&to->lock);
    if (to->loop != NULL)
        err = sennit_loop_post(to->loop, fn, arg);
    sni_lock_release(&to->lock);
    return err;
}

/* A loop that closes tells no more. */
static sennit_err
refuse_post(const worker *from, sennit_err err, const char *why)
{
    return from == NULL || from->loop == NULL ? err : sni_loop_fail(from->loop, err, why);
}

static sennit_err
post_from(worker *from, worker *to, void (*fn)(void *arg), void *arg)
{
    sennit_err err = sni_call_ring_post(&to->in[from->index], fn, arg);

    switch (err) {
    case SENNIT_OK:
        return SENNIT_OK;
    case SENNIT_EAGAIN:
        return refuse_post(from, err,
                           "posts_max calls from this loop to that one have not run "
                           "yet: give way for a turn, or raise it");
    case SENNIT_ECLOSED:
        return refuse_post(from, err, "the runtime stops, and that loop closes");
    default:
        return refuse_post(from, err, NULL);
    }
}

sennit_err
sennit_runtime_post(sennit_runtime *runtime, unsigned index, void (*fn)(void *arg),
                    void *arg)
{
    worker *from;

    if (runtime == NULL)
        return SENNIT_EINVAL;
    if (is_inherited(runtime))
        return SENNIT_ESTATE;
    from = here(runtime);
    if (fn == NULL || index >= runtime->count)
        return refuse_post(from, SENNIT_EINVAL,
                           fn == NULL ? "fn is NULL"
                                      : "index is no loop's: they are 0 to "
                                        "sennit_runtime_count() - 1");
    return from == NULL ? post_from_outside(&runtime->workers[index], fn, arg)
                        : post_from(from, &runtime->workers[index], fn, arg);
}

/* ---- ending ------------------------------------------------------------ */

void
sennit_runtime_stop(sennit_runtime *runtime)
{
    if (runtime == NULL || is_inherited(runtime))
        return;
    for (unsigned i = 0; i < runtime->count; i++) {
        worker *w = &runtime->workers[i];

        sni_lock_take(&w->lock);
        if (!atomic_exchange_explicit(&w->told, true, memory_order_release))
            sennit_loop_stop(w->loop);
        sni_lock_release(&w->lock);
    }
}

sennit_err
sennit_runtime_wait(sennit_runtime *runtime)
{
    sennit_err err;

    if (runtime == NULL)
        return SENNIT_EINVAL;
    if (is_inherited(runtime))
        return SENNIT_ESTATE;
    if (here(runtime) != NULL)
        return SENNIT_ETHREAD;
    take(runtime);
    while (runtime->closed < runtime->count)
        await(runtime);
    err = runtime->err;
    release(runtime);
    return err;
}

sennit_err
sennit_runtime_close(sennit_runtime *runtime)
{
    sennit_err err;

    /* In a forked child: other threads may have been in the middle of it. */
    if (runtime == NULL || is_inherited(runtime))
        return SENNIT_OK;
    if (here(runtime) != NULL)
        sni_misuse("sennit_runtime_close",
                   "called on a thread of the runtime, which would wait for itself: stop "
                   "it there (sennit_runtime_stop()) and close it on another");
    sennit_runtime_stop(runtime);
    join_all(runtime);
    err = sennit_context_close(runtime->own_context);
    if (err)
        return err;
    unmake(runtime);
    return SENNIT_OK;
}
