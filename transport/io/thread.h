/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_IO_THREAD_H
#define SENNIT_IO_THREAD_H

#include <pthread.h>

#include "sennit/sennit.h"

/* Threads that the library starts, and the processors they may run on. */

#define SNI_ANY_CPU (-1)

/* Starts `run(arg)` on a thread with all signals blocked: the application's signals are
 * for the application's threads. Its name is `name`, cut to 15 octets (NULL: that of its
 * maker); it stays on processor `cpu`.
 * Errors: ENOMEM (no memory, or the system's or the user's limit on threads), EINVAL (no
 *         such processor, or none that it may run on). */
sennit_err sni_thread_start(pthread_t *out, const char *name, int cpu,
                            void *(*run)(void *arg), void *arg);

/* The processors that the calling thread may run on: the first `max` of them in `cpus`.
 * Gives: how many there are, at least 1 (then of a system that does not say, processor
 *        0). */
size_t sni_cpus(int *cpus, size_t max);

#endif /* SENNIT_IO_THREAD_H */
