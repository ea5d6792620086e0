/* SPDX-License-Identifier: MIT */
#include "core/retry.h"

#include "core/loop.h"

void
sni_retry_start(sennit_loop *loop, sni_retry *retry, sennit_time at,
                void (*fn)(void *arg), void *arg)
{
    sni_link_remove(&retry->untimed);
    if (sni_timers_start(&loop->timers, &retry->timer, at, fn, arg) == SENNIT_OK)
        return;
    retry->timer.fn_ = fn;
    retry->timer.arg_ = arg;
    sni_list_push(&loop->untimed, &retry->untimed);
}

void
sni_retry_stop(sennit_loop *loop, sni_retry *retry)
{
    sni_link_remove(&retry->untimed);
    sni_timers_stop(&loop->timers, &retry->timer);
}

void
sni_retry_untimed(sennit_loop *loop)
{
    sni_link taken;
    sni_link *link;

    sni_list_take(&taken, &loop->untimed);
    while ((link = sni_list_first(&taken)) != NULL) {
        sni_retry *retry = SNI_OWNER_OF(link, sni_retry, untimed);

        sni_link_remove(link);
        retry->timer.fn_(retry->timer.arg_);
    }
}
