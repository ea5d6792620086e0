/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CORE_CONTEXT_H
#define SENNIT_CORE_CONTEXT_H

#include <stdatomic.h>

#include "base/list.h"
#include "io/fork.h"
#include "sennit/sennit.h"

/* What the loops of one context share. A loop that was opened without one is in a
 * context of its own, so nobody has to ask whether there is one. */
struct sennit_context {
    const sennit_allocator *alloc; /* of what threads share: any thread may call it */
    uint32_t sockets_max;
    atomic_uint sockets;
    atomic_ulong shutdowns;
    bool fences;   /* see sni_fence_all() */
    bool crosses;  /* two of its threads may run at the same time */
    sni_lock lock; /* of the lists */
    sni_link loops;
    sni_link names;   /* inproc: bound; see core/inproc.c */
    sni_link waiting; /* connects without a bind */
};

/* In the caller's storage. Errors: ENOMEM. */
sennit_err sni_context_init(sennit_context *context, const sennit_context_opts *opts,
                            const sennit_allocator *alloc);

/* No loop is in it any more. */
void sni_context_fini(sennit_context *context);

/* sennit_context_open() with memory from elsewhere (tests). `alloc` must serve any
 * thread. */
sennit_err sni_context_open_with(sennit_context **out, const sennit_context_opts *opts,
                                 const sennit_allocator *alloc);

/* The loop that owns `link` belongs to it until it leaves. */
void sni_context_join(sennit_context *context, sni_link *link);
void sni_context_leave(sennit_context *context, sni_link *link);

/* How often it was shut down: each ends what lingers then. Thread: any. */
static inline unsigned long
sni_context_shutdowns(const sennit_context *context)
{
    return atomic_load_explicit(&context->shutdowns, memory_order_acquire);
}

/* Whether it was shut down. Thread: any. */
static inline bool
sni_context_shut(const sennit_context *context)
{
    return sni_context_shutdowns(context) > 0;
}

/* Whether it is of the process that this one was forked from. */
static inline bool
sni_context_inherited(const sennit_context *context)
{
    return sni_forked_since(context->lock.forks);
}

/* One more socket. Errors: ETERM, EMFILE. */
sennit_err sni_context_admit(sennit_context *context);

/* One that was admitted is closed. */
void sni_context_dismiss(sennit_context *context);

#endif /* SENNIT_CORE_CONTEXT_H */
