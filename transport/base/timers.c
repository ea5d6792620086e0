/* SPDX-License-Identifier: MIT */
#include "base/timers.h"

#include "base/alloc.h"
#include "base/assert.h"

void
sni_timers_init(sni_timers *timers, const sennit_allocator *alloc)
{
    *timers = (sni_timers){ .alloc = alloc };
}

void
sni_timers_fini(sni_timers *timers)
{
    for (size_t i = 0; i < timers->count; i++)
        timers->heap[i]->index_ = 0;
    sni_release(timers->alloc, timers->heap);
    sni_timers_init(timers, timers->alloc);
}

static void
place(sni_timers *timers, size_t i, sennit_timer *timer)
{
    timers->heap[i] = timer;
    timer->index_ = i + 1;
}

static void
sift_up(sni_timers *timers, size_t i, sennit_timer *timer)
{
    while (i > 0 && timers->heap[(i - 1) / 2]->at_ > timer->at_) {
        place(timers, i, timers->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    place(timers, i, timer);
}

static void
sift_down(sni_timers *timers, size_t i, sennit_timer *timer)
{
    for (;;) {
        size_t child = 2 * i + 1;

        if (child >= timers->count)
            break;
        if (child + 1 < timers->count &&
            timers->heap[child + 1]->at_ < timers->heap[child]->at_)
            child++;
        if (timers->heap[child]->at_ >= timer->at_)
            break;
        place(timers, i, timers->heap[child]);
        i = child;
    }
    place(timers, i, timer);
}

sennit_err
sni_timers_start(sni_timers *timers, sennit_timer *timer, sennit_time at,
                 void (*fn)(void *arg), void *arg)
{
    sni_timers_stop(timers, timer);
    if (!sni_grow(timers->alloc, &timers->heap, &timers->capacity, timers->count + 1,
                  sizeof(sennit_timer *)))
        return SENNIT_ENOMEM;
    timer->at_ = at;
    timer->fn_ = fn;
    timer->arg_ = arg;
    sift_up(timers, timers->count++, timer);
    return SENNIT_OK;
}

void
sni_timers_stop(sni_timers *timers, sennit_timer *timer)
{
    sennit_timer *last;
    size_t i;

    if (timer->index_ == 0)
        return;
    i = timer->index_ - 1;
    SNI_ASSERT(i < timers->count);
    SNI_ASSERT(timers->heap[i] == timer);
    timer->index_ = 0;
    last = timers->heap[--timers->count];
    if (last == timer)
        return;
    if (i > 0 && timers->heap[(i - 1) / 2]->at_ > last->at_)
        sift_up(timers, i, last);
    else
        sift_down(timers, i, last);
}

sennit_time
sni_timers_next(const sni_timers *timers)
{
    return timers->count == 0 ? SENNIT_NEVER : timers->heap[0]->at_;
}

sennit_timer *
sni_timers_pop(sni_timers *timers, sennit_time now)
{
    sennit_timer *first;

    if (timers->count == 0 || timers->heap[0]->at_ > now)
        return NULL;
    first = timers->heap[0];
    sni_timers_stop(timers, first);
    return first;
}
