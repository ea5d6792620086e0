/* SPDX-License-Identifier: MIT */
#include "io/fork.h"

#include <stdatomic.h>

unsigned sni_forks;

static atomic_bool watched;

/* In the child, whose only thread this is. */
static void
forked(void)
{
    sni_forks++;
}

/* Two threads that come here for the first time may both register: a fork counts twice
 * then, which is as good. */
sennit_err
sni_forks_watch(void)
{
    if (atomic_load_explicit(&watched, memory_order_relaxed))
        return SENNIT_OK;
    if (pthread_atfork(NULL, NULL, forked) != 0)
        return SENNIT_ENOMEM;
    atomic_store_explicit(&watched, true, memory_order_relaxed);
    return SENNIT_OK;
}

sennit_err
sni_lock_init(sni_lock *lock)
{
    lock->forks = sni_forks;
    return pthread_mutex_init(&lock->mutex, NULL) == 0 ? SENNIT_OK : SENNIT_ENOMEM;
}

void
sni_lock_fini(sni_lock *lock)
{
    if (!sni_forked_since(lock->forks))
        pthread_mutex_destroy(&lock->mutex);
}

void
sni_lock_take(sni_lock *lock)
{
    if (!sni_forked_since(lock->forks))
        pthread_mutex_lock(&lock->mutex);
}

void
sni_lock_release(sni_lock *lock)
{
    if (!sni_forked_since(lock->forks))
        pthread_mutex_unlock(&lock->mutex);
}
