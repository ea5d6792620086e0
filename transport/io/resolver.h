/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_IO_RESOLVER_H
#define SENNIT_IO_RESOLVER_H

#include "io/io.h"

/* RESOLVE operations on a thread of their own, which is started with the first one, has
 * all signals blocked and looks up one name at a time. Getting rid of it never waits for
 * a name server: a thread that is in the middle of a look-up is left to finish alone and
 * then frees what is left.
 *
 * Takes no memory from the loop's allocator, which is only for the loop's thread. */
typedef struct sni_resolver sni_resolver;

/* `wake_fd` is an eventfd that is written to when a look-up is done. Errors: ENOMEM. */
sennit_err sni_resolver_new(sni_resolver **out, const sennit_resolver *hook, int wake_fd);

/* What was submitted is forgotten. NULL is a no-op. In a forked child, where the thread
 * is not, it only gives memory back. */
void sni_resolver_free(sni_resolver *resolver);

/* Errors: ENOMEM (also: no thread could be had); then the operation is not begun. */
sennit_err sni_resolver_submit(sni_resolver *resolver, sni_op *op);

/* False when it is done, or was never submitted: then it comes out of next(). */
bool sni_resolver_forget(sni_resolver *resolver, sni_op *op);

/* The next one that is done, its results filled in; NULL: none. */
sni_op *sni_resolver_next(sni_resolver *resolver);

#endif /* SENNIT_IO_RESOLVER_H */
