/* SPDX-License-Identifier: MIT */
#include "io/fork.h"

unsigned sni_forks;

static pthread_once_t watched = PTHREAD_ONCE_INIT;
static int refused;

/* In the child, whose only thread this is. */
static void
forked(void)
{
    sni_forks++;
}

static void
watch(void)
{
    refused = pthread_atfork(NULL, NULL, forked);
}

sennit_err
sni_forks_watch(void)
{
    return pthread_once(&watched, watch) == 0 && refused == 0 ? SENNIT_OK : SENNIT_ENOMEM;
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
