/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_IO_RESOLVER_H
#define SENNIT_IO_RESOLVER_H

#include "io/io.h"

/* RESOLVE operations on threads of their own, which have all signals blocked and look up
 * one name at a time each. The first is started with the first operation, another, up to
 * a few, when one would have to wait: a name that nobody answers for does not hold up the
 * others. What is submitted again after it was forgotten is the same look-up, as long as
 * a thread is at that. Getting rid of it never waits for a name server: a thread that is
 * in the middle of a look-up is left to finish alone; the last one frees what is left.
 *
 * In a forked child, where the threads are not, nothing gets done any more: what the
 * parent had begun comes back as ECLOSED, or is forgotten.
 *
 * Takes no memory from the loop's allocator, which is only for the loop's thread. */
typedef struct sni_resolver sni_resolver;

/* `wake_fd` is an eventfd that is written to when a look-up is done. Errors: ENOMEM. */
sennit_err sni_resolver_new(sni_resolver **out, const sennit_resolver *hook, int wake_fd);

/* What was submitted is forgotten. NULL is a no-op. In a forked child it only gives back
 * memory, and not what a thread of the parent may be busy with. */
void sni_resolver_free(sni_resolver *resolver);

/* Errors: ENOMEM (also: no thread could be had), ECLOSED (a forked child); then the
 * operation is not begun. */
sennit_err sni_resolver_submit(sni_resolver *resolver, sni_op *op);

/* False when it is done, or was never submitted: then it comes out of next(). If true,
 * op->why is set when no thread had begun it. */
bool sni_resolver_forget(sni_resolver *resolver, sni_op *op);

/* The next one that is done, its results filled in; NULL: none. */
sni_op *sni_resolver_next(sni_resolver *resolver);

#endif /* SENNIT_IO_RESOLVER_H */
