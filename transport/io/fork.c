/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

#include "io/fork.h"

#include <stdatomic.h>
#include <time.h>

unsigned sni_forks;

static atomic_bool watched;

/* What a fork waits for, under a lock that it takes first. */
static pthread_mutex_t guards_lock = PTHREAD_MUTEX_INITIALIZER;
static sni_link guards = { &guards, &guards };

static void
release_guards(void)
{
    for (sni_link *link = guards.next; link != &guards; link = link->next)
        sni_lock_release(SNI_OWNER_OF(link, sni_fork_guard, link)->lock);
    pthread_mutex_unlock(&guards_lock);
}

static void
about_to_fork(void)
{
    pthread_mutex_lock(&guards_lock);
    for (sni_link *link = guards.next; link != &guards; link = link->next)
        sni_lock_take(SNI_OWNER_OF(link, sni_fork_guard, link)->lock);
}

/* In the child, whose only thread this is. */
static void
forked(void)
{
    release_guards();
    sni_forks++;
}

/* Two threads that come here for the first time must not both register: the second pair
 * of handlers would wait for the first one's locks. */
sennit_err
sni_forks_watch(void)
{
    sennit_err err = SENNIT_OK;

    if (atomic_load_explicit(&watched, memory_order_acquire))
        return SENNIT_OK;
    pthread_mutex_lock(&guards_lock);
    if (!atomic_load_explicit(&watched, memory_order_relaxed) &&
        pthread_atfork(about_to_fork, release_guards, forked) != 0)
        err = SENNIT_ENOMEM;
    if (err == SENNIT_OK)
        atomic_store_explicit(&watched, true, memory_order_release);
    pthread_mutex_unlock(&guards_lock);
    return err;
}

void
sni_fork_guard_start(sni_fork_guard *guard, sni_lock *lock)
{
    guard->lock = lock;
    pthread_mutex_lock(&guards_lock);
    sni_list_push(&guards, &guard->link);
    pthread_mutex_unlock(&guards_lock);
}

void
sni_fork_guard_stop(sni_fork_guard *guard)
{
    pthread_mutex_lock(&guards_lock);
    sni_link_remove(&guard->link);
    pthread_mutex_unlock(&guards_lock);
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

bool
sni_lock_try(sni_lock *lock)
{
    return sni_forked_since(lock->forks) || pthread_mutex_trylock(&lock->mutex) == 0;
}

void
sni_lock_release(sni_lock *lock)
{
    if (!sni_forked_since(lock->forks))
        pthread_mutex_unlock(&lock->mutex);
}

sennit_err
sni_cond_init(sni_cond *cond)
{
    pthread_condattr_t attr;
    bool made = false;

    if (pthread_condattr_init(&attr) != 0)
        return SENNIT_ENOMEM;
    if (pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0)
        made = pthread_cond_init(&cond->cond, &attr) == 0;
    pthread_condattr_destroy(&attr);
    return made ? SENNIT_OK : SENNIT_ENOMEM;
}

void
sni_cond_fini(sni_cond *cond)
{
    pthread_cond_destroy(&cond->cond);
}

void
sni_cond_signal(sni_cond *cond)
{
    pthread_cond_signal(&cond->cond);
}

void
sni_cond_broadcast(sni_cond *cond)
{
    pthread_cond_broadcast(&cond->cond);
}

bool
sni_cond_wait(sni_cond *cond, sni_lock *lock, sennit_time until)
{
    struct timespec at = { .tv_sec = (time_t)(until / 1000000000u),
                           .tv_nsec = (long)(until % 1000000000u) };

    if (until == SENNIT_NEVER)
        return pthread_cond_wait(&cond->cond, &lock->mutex) == 0;
    return pthread_cond_timedwait(&cond->cond, &lock->mutex, &at) == 0;
}
