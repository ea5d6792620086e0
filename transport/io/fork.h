/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_IO_FORK_H
#define SENNIT_IO_FORK_H

#include <pthread.h>
#include <stdbool.h>

#include "base/list.h"
#include "sennit/sennit.h"

/* Who was here before a fork. A child has a copy of the memory and shares what the kernel
 * has: connections, the epoll instance, the wake. Those stay the parent's. So whatever
 * has something of the kernel's keeps the number of forks at its making, and touches
 * nothing of it when that has changed; asking costs one load, also on the hot path. */

/* How often this process and those before it were forked, each from the last. */
extern unsigned sni_forks;

/* Begins to count. Before anything is made; again is harmless. Thread: any.
 * Errors: ENOMEM. */
sennit_err sni_forks_watch(void);

/* Whether what was made at `forks` is another process' now. */
static inline bool
sni_forked_since(unsigned forks)
{
    return forks != sni_forks;
}

/* A mutex that a forked child does not take: the thread that held it is not there to give
 * it back, and nobody is there to be kept out. */
typedef struct sni_lock {
    pthread_mutex_t mutex;
    unsigned forks;
} sni_lock;

/* Errors: ENOMEM. */
sennit_err sni_lock_init(sni_lock *lock);
void sni_lock_fini(sni_lock *lock);
void sni_lock_take(sni_lock *lock);
/* False: another thread has it. */
bool sni_lock_try(sni_lock *lock);
void sni_lock_release(sni_lock *lock);

/* While it is guarded, a fork waits until nobody has `lock`: what that guards is whole in
 * the child. Thread: any, without the lock. */
typedef struct sni_fork_guard {
    sni_link link;
    sni_lock *lock;
} sni_fork_guard;

void sni_fork_guard_start(sni_fork_guard *guard, sni_lock *lock);
void sni_fork_guard_stop(sni_fork_guard *guard);

/* A condition of what such a lock guards. */
typedef struct sni_cond {
    pthread_cond_t cond;
} sni_cond;

/* Errors: ENOMEM. */
sennit_err sni_cond_init(sni_cond *cond);
void sni_cond_fini(sni_cond *cond);
void sni_cond_signal(sni_cond *cond);
void sni_cond_broadcast(sni_cond *cond);

/* Releases `lock`, waits, and takes it again. False: it is `until`, on the backends'
 * monotonic clock. Not in a forked child: nobody would signal. */
bool sni_cond_wait(sni_cond *cond, sni_lock *lock, sennit_time until);

#endif /* SENNIT_IO_FORK_H */
