/* SPDX-License-Identifier: MIT */
#include "lookups.h"

void
lookups_run(lookups *l, bool may_hang)
{
    l->asked++;
    l->busy++;
    pthread_cond_broadcast(&l->changed);
    while (l->held && may_hang)
        pthread_cond_wait(&l->changed, &l->lock);
    l->busy--;
    pthread_cond_broadcast(&l->changed);
}

void
lookups_hold(lookups *l, bool on)
{
    pthread_mutex_lock(&l->lock);
    l->held = on;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
}

void
lookups_reset(lookups *l, bool held)
{
    pthread_mutex_lock(&l->lock);
    l->asked = 0;
    pthread_mutex_unlock(&l->lock);
    lookups_hold(l, held);
}

void
lookups_until_busy(lookups *l, unsigned count)
{
    pthread_mutex_lock(&l->lock);
    while (l->busy != count)
        pthread_cond_wait(&l->changed, &l->lock);
    pthread_mutex_unlock(&l->lock);
}

static unsigned
look(lookups *l, const unsigned *at)
{
    unsigned count;

    pthread_mutex_lock(&l->lock);
    count = *at;
    pthread_mutex_unlock(&l->lock);
    return count;
}

unsigned
lookups_busy(lookups *l)
{
    return look(l, &l->busy);
}

unsigned
lookups_asked(lookups *l)
{
    return look(l, &l->asked);
}
