/* SPDX-License-Identifier: MIT */
#include "core/context.h"

#include "base/alloc.h"
#include "core/loop.h"
#include "io/fence.h"
#include "io/thread.h"

sennit_err
sni_context_init(sennit_context *context, const sennit_context_opts *opts,
                 const sennit_allocator *alloc)
{
    context->alloc = alloc;
    context->fences = false;
    context->crosses = false;
    context->sockets_max = opts != NULL ? opts->sockets_max : 0;
    atomic_init(&context->sockets, 0);
    atomic_init(&context->shutdowns, 0);
    sni_link_init(&context->loops);
    sni_link_init(&context->names);
    sni_link_init(&context->waiting);
    return sni_lock_init(&context->lock);
}

void
sni_context_fini(sennit_context *context)
{
    sni_lock_fini(&context->lock);
}

sennit_err
sni_context_open_with(sennit_context **out, const sennit_context_opts *opts,
                      const sennit_allocator *alloc)
{
    sennit_context *context;
    sennit_err err = sni_forks_watch();

    if (err)
        return err;
    context = sni_acquire(alloc, sizeof *context);
    if (context == NULL)
        return SENNIT_ENOMEM;
    err = sni_context_init(context, opts, alloc);
    if (err) {
        sni_release(alloc, context);
        return err;
    }
    context->fences = sni_fence_prepare();
    context->crosses = sni_cpus(NULL, 0) > 1;
    *out = context;
    return SENNIT_OK;
}

sennit_err
sennit_context_open(sennit_context **out, const sennit_context_opts *opts)
{
    return out == NULL ? SENNIT_EINVAL
                       : sni_context_open_with(out, opts, &sni_alloc_default);
}

void
sennit_context_shutdown(sennit_context *context)
{
    /* What a forked child shuts down is not its own. */
    if (context == NULL || sni_context_inherited(context))
        return;
    sni_lock_take(&context->lock);
    atomic_fetch_add_explicit(&context->shutdowns, 1, memory_order_release);
    /* Under the lock, so that none of them can be closed in between. */
    for (sni_link *link = context->loops.next; link != &context->loops;
         link = link->next) {
        sni_io *io = SNI_OWNER_OF(link, sennit_loop, in_context)->io;

        io->ops->wake(io);
    }
    sni_lock_release(&context->lock);
}

sennit_err
sennit_context_close(sennit_context *context)
{
    bool used;

    if (context == NULL)
        return SENNIT_OK;
    sni_lock_take(&context->lock);
    used = !sni_list_empty(&context->loops);
    sni_lock_release(&context->lock);
    if (used)
        return SENNIT_ESTATE;
    sni_context_fini(context);
    sni_release(context->alloc, context);
    return SENNIT_OK;
}

void
sni_context_join(sennit_context *context, sni_link *link)
{
    sni_lock_take(&context->lock);
    sni_list_push(&context->loops, link);
    sni_lock_release(&context->lock);
}

void
sni_context_leave(sennit_context *context, sni_link *link)
{
    sni_lock_take(&context->lock);
    sni_link_remove(link);
    sni_lock_release(&context->lock);
}

/* Never one too many, not even for a moment: another thread's attempt at the limit must
 * not make this one's fail. */
sennit_err
sni_context_admit(sennit_context *context)
{
    unsigned open = atomic_load_explicit(&context->sockets, memory_order_relaxed);

    if (sni_context_shut(context))
        return SENNIT_ETERM;
    do {
        if (context->sockets_max != 0 && open >= context->sockets_max)
            return SENNIT_EMFILE;
    } while (!atomic_compare_exchange_weak_explicit(
        &context->sockets, &open, open + 1, memory_order_relaxed, memory_order_relaxed));
    return SENNIT_OK;
}

void
sni_context_dismiss(sennit_context *context)
{
    atomic_fetch_sub_explicit(&context->sockets, 1, memory_order_relaxed);
}
