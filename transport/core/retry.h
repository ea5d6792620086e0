/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CORE_RETRY_H
#define SENNIT_CORE_RETRY_H

#include "base/list.h"
#include "sennit/sennit.h"

/* A timer without which its owner would be silently dead: to connect or accept again, to
 * drop what is too old. The heap keeps its capacity, so there is no memory for it only in
 * a loop that never had as many timers; then it fires when the loop next looks for
 * memory, SNI_MEMORY_RETRY_NS later at the most. Zeroed and sni_retry_init()ed it does
 * not run. */
typedef struct sni_retry {
    sennit_timer timer;
    sni_link untimed; /* in the loop's list, for want of memory */
} sni_retry;

static inline void
sni_retry_init(sni_retry *retry)
{
    sni_link_init(&retry->untimed);
}

/* (Re)starts it. */
void sni_retry_start(sennit_loop *loop, sni_retry *retry, sennit_time at,
                     void (*fn)(void *arg), void *arg);

void sni_retry_stop(sennit_loop *loop, sni_retry *retry);

static inline bool
sni_retry_runs(const sni_retry *retry)
{
    return retry->timer.index_ != 0 || sni_link_linked(&retry->untimed);
}

/* Fires those for which there was no memory. */
void sni_retry_untimed(sennit_loop *loop);

#endif /* SENNIT_CORE_RETRY_H */
