/* SPDX-License-Identifier: MIT */
/* How a loop begins and ends; what it does in between is in loop.c. */
#include "core/loop.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/limits.h"
#include "core/sock.h"
#include "core/watch.h"
#include "io/backend.h"
#include "io/thread.h"

/* Blocks kept for reuse: enough for a busy loop, small enough to forget. */
#define RECV_BLOCKS_KEPT  32u
#define LARGE_CHUNKS_KEPT 32u
#define SMALL_CHUNKS_KEPT 256u

typedef struct choice {
    sennit_backend wanted;
    const char *why; /* it is not what AUTO should have been */
} choice;

static sennit_err
open_chosen(sni_io **out, const sennit_allocator *alloc, sni_pool *recv_blocks, void *arg)
{
    choice *chosen = arg;

    return sni_backend_open(out, alloc, recv_blocks, chosen->wanted, &chosen->why);
}

static void
notice(sennit_loop *loop, const char *why, const sennit_loop_opts *opts)
{
    if (why == NULL)
        return;
    snprintf(loop->notice, sizeof loop->notice, "%s instead of io_uring: %s",
             loop->io->ops->name, why);
    if (opts->notice != NULL)
        opts->notice(opts->notice_arg, loop->notice);
}

static void
free_pools(sennit_loop *loop)
{
    sni_pool_free(loop->recv_blocks);
    sni_bodies_fini(&loop->bodies);
    sni_pool_free(loop->chunks.small);
    sni_pool_free(loop->chunks.large);
    sni_rings_fini(&loop->rings, &loop->allocator);
}

static void
init_lists(sennit_loop *loop)
{
    sni_link *lists[] = { &loop->socks,           &loop->dirty,      &loop->again,
                          &loop->again_listeners, &loop->ending,     &loop->untimed,
                          &loop->touched,         &loop->dead_pipes, &loop->ending_inproc,
                          &loop->due_rings,       &loop->stale,      &loop->drained };

    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        sni_link_init(lists[i]);
}

sennit_err
sni_loop_open_with(sennit_loop **out, const sennit_allocator *alloc,
                   sennit_err (*open_io)(sni_io **out, const sennit_allocator *alloc,
                                         sni_pool *recv_blocks, void *arg),
                   void *arg)
{
    sennit_loop *loop;
    sennit_err err = sni_forks_watch();

    if (err)
        return err;
    loop = sni_acquire_zero(alloc, sizeof *loop);
    if (loop == NULL)
        return SENNIT_ENOMEM;
    loop->allocator = *alloc;
    loop->owner = pthread_self();
    loop->forks = sni_forks;
    atomic_init(&loop->posted, false);
    atomic_init(&loop->stopped, false);
    loop->why = "";
    loop->memory_at = SENNIT_NEVER;
    loop->alarm = -1;
    init_lists(loop);
    loop->posted_last = &loop->posted_first;
    loop->due_last = &loop->due_first;
    sni_vectors_init(&loop->vectors, &loop->allocator);
    sni_timers_init(&loop->timers, &loop->allocator);
    sni_timers_init(&loop->user_timers, &loop->allocator);
    loop->body_allocator = alloc;
    loop->recv_blocks = sni_pool_new(alloc, SNI_RECV_BYTES, RECV_BLOCKS_KEPT);
    sni_bodies_init(&loop->bodies, alloc);
    loop->chunks.small =
        sni_pool_new(&loop->allocator, SNI_CHUNK_SMALL_BYTES, SMALL_CHUNKS_KEPT);
    loop->chunks.large =
        sni_pool_new(&loop->allocator, SNI_CHUNK_BYTES, LARGE_CHUNKS_KEPT);
    loop->chunks.rings = &loop->rings;
    if (loop->recv_blocks == NULL || loop->chunks.small == NULL ||
        loop->chunks.large == NULL) {
        err = SENNIT_ENOMEM;
        goto fail_pools;
    }
    err = open_io(&loop->io, &loop->allocator, loop->recv_blocks, arg);
    if (err)
        goto fail_pools;
    err = sni_lock_init(&loop->post_lock);
    if (err)
        goto fail_io;
    err = sni_context_init(&loop->alone, NULL, &loop->allocator);
    if (err)
        goto fail_post_lock;
    loop->context = &loop->alone;
    sni_link_init(&loop->in_context);
    *out = loop;
    return SENNIT_OK;

fail_post_lock:
    sni_lock_fini(&loop->post_lock);
fail_io:
    loop->io->ops->fini(loop->io);
fail_pools:
    free_pools(loop);
    sni_release(alloc, loop);
    return err;
}

static sennit_err
enter_context(sennit_loop *loop, sennit_context *context)
{
    sennit_err err = sni_inbox_new(&loop->inbox, context->alloc, loop->io);

    if (err) {
        sennit_loop_close(loop);
        return err;
    }
    loop->context = context;
    sni_context_join(context, &loop->in_context);
    return SENNIT_OK;
}

/* Whether a loop can be opened so, whatever the system says. */
static sennit_err
check_opts(const sennit_loop_opts *opts)
{
    const sennit_allocator *alloc = opts->allocator;

    if (alloc != NULL &&
        (alloc->acquire == NULL || alloc->resize == NULL || alloc->release == NULL))
        return SENNIT_EINVAL;
    if (opts->spin_us > SNI_SPIN_MAX_US)
        return SENNIT_EINVAL;
    /* The peer would have to wait for the one that waits for it. */
    if (opts->spin_us > 0 && sni_cpus(NULL, 0) < 2)
        return SENNIT_ENOTSUP;
    /* A ring is of one thread. */
    if (opts->hosted && opts->backend == SENNIT_BACKEND_URING)
        return SENNIT_ENOTSUP;
    if (opts->context != NULL && sni_context_inherited(opts->context))
        return SENNIT_ESTATE;
    return SENNIT_OK;
}

sennit_err
sennit_loop_open(sennit_loop **out, const sennit_loop_opts *opts)
{
    static const sennit_loop_opts defaults = SENNIT_LOOP_OPTS_DEFAULT;
    const sennit_allocator *alloc = &sni_alloc_default;
    choice chosen = { SENNIT_BACKEND_AUTO, NULL };
    sennit_loop *loop;
    sennit_err err;

    if (out == NULL)
        return SENNIT_EINVAL;
    if (opts == NULL)
        opts = &defaults;
    err = check_opts(opts);
    if (err)
        return err;
    chosen.wanted = opts->backend;
    if (opts->hosted && chosen.wanted == SENNIT_BACKEND_AUTO)
        chosen.wanted = SENNIT_BACKEND_EPOLL;
    if (opts->allocator != NULL)
        alloc = opts->allocator;
    err = sni_loop_open_with(&loop, alloc, open_chosen, &chosen);
    if (err)
        return err;
    loop->io->resolver = opts->resolver;
    loop->io->spin_ns = (sennit_time)opts->spin_us * 1000u;
    if (opts->context != NULL)
        err = enter_context(loop, opts->context);
    if (err == SENNIT_OK && opts->hosted) {
        err = sni_drive_open(loop);
        if (err)
            sennit_loop_close(loop);
    }
    if (err)
        return err;
    notice(loop, chosen.why, opts);
    *out = loop;
    return SENNIT_OK;
}

void
sni_loop_share(sennit_loop *loop, bool shared)
{
    sni_pool_share(loop->recv_blocks, shared);
    sni_pool_share(loop->chunks.small, shared);
    sni_pool_share(loop->chunks.large, shared);
    sni_bodies_share(&loop->bodies, shared);
}

void
sni_loop_close_socks(sennit_loop *loop)
{
    sni_link *next;

    for (sni_link *link = loop->socks.next; link != &loop->socks; link = next) {
        sennit_sock *sock = SNI_OWNER_OF(link, sennit_sock, link);

        next = link->next;
        /* The peers of a forked child's copy are the parent's. */
        if (loop->io->ops->inherited(loop->io))
            sni_sock_abandon(sock);
        else
            sennit_sock_close(sock);
    }
    loop->socks_changed = true;
}

static void
drop_posted(sni_posted *posted)
{
    while (posted != NULL) {
        sni_posted *next = posted->next;

        sni_release(&sni_alloc_default, posted);
        posted = next;
    }
}

/* In a forked child: the memory, and what is this process' own copy. Nothing of the
 * application's is called. */
static void
abandon_all(sennit_loop *loop)
{
    sni_loop_close_socks(loop);
    sni_loop_service(loop);
    while (!sni_list_empty(&loop->socks)) {
        sni_loop_close_socks(loop);
        sni_loop_service(loop);
    }
    drop_posted(loop->due_first);
    drop_posted(loop->posted_first);
}

static void
close_all(sennit_loop *loop)
{
    /* What comes from now on is for those that are closed here. */
    sni_loop_hear_shutdown(loop);
    loop->closing = true;
    sni_loop_close_socks(loop);
    (void)sni_loop_turn(loop, 0);
    /* Posted calls may post and open more. */
    while (!sni_list_empty(&loop->socks) || sni_loop_has_posted(loop)) {
        sni_loop_close_socks(loop);
        (void)sni_loop_turn(loop, SENNIT_NEVER);
    }
}

static void
close_drive(sennit_loop *loop)
{
    if (!sni_loop_inherited(loop) && sni_drive_is_calling(loop->drive))
        sni_misuse("sennit_loop_close",
                   "called in a callback of the loop: close it on another thread");
    sni_drive_close(loop);
}

void
sennit_loop_close(sennit_loop *loop)
{
    sennit_allocator alloc;

    if (loop == NULL)
        return;
    if (loop->drive != NULL)
        close_drive(loop);
    if (!sni_loop_owned(loop) && !sni_loop_inherited(loop))
        sni_misuse("sennit_loop_close",
                   "called on another thread than the loop's: stop the loop here "
                   "(sennit_loop_stop()) and close it there, behind sennit_loop_run()");
    if (loop->depth > 0)
        sni_misuse("sennit_loop_close",
                   "called in a callback of the loop: stop the loop there "
                   "(sennit_loop_stop()) and close it behind sennit_loop_run()");
    if (sni_loop_inherited(loop))
        abandon_all(loop);
    else
        close_all(loop);
    sni_context_leave(loop->context, &loop->in_context);
    if (loop->inbox != NULL)
        sni_inbox_close(loop->inbox, loop);
    sni_inbox_unref(loop->inbox);
    sni_context_fini(&loop->alone);
    sni_vectors_fini(&loop->vectors);
    sni_timers_fini(&loop->timers);
    sni_timers_fini(&loop->user_timers);
    sni_watch_fini(loop);
    loop->io->ops->fini(loop->io);
    sni_lock_fini(&loop->post_lock);
    free_pools(loop);
    alloc = loop->allocator;
    sni_release(&alloc, loop);
}
