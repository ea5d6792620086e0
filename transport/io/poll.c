/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

#include "io/poll.h"

#include <errno.h>
#include <poll.h>
#include <time.h>

#include "io/bell.h"
#include "io/fork.h"
#include "io/real.h"

_Static_assert(sizeof(sni_polled) == sizeof(struct pollfd) &&
                   offsetof(sni_polled, fd) == offsetof(struct pollfd, fd) &&
                   offsetof(sni_polled, asked) == offsetof(struct pollfd, events) &&
                   offsetof(sni_polled, got) == offsetof(struct pollfd, revents),
               "poll(2) looks at them as they are");

sni_polled
sni_polled_ask(int fd, unsigned interest)
{
    sni_polled polled = { interest != 0 ? fd : -1, 0, 0 };

    if (interest & SENNIT_READABLE)
        polled.asked |= POLLIN;
    if (interest & SENNIT_WRITABLE)
        polled.asked |= POLLOUT;
    if (interest & SENNIT_URGENT)
        polled.asked |= POLLPRI;
    return polled;
}

unsigned
sni_polled_got(const sni_polled *polled)
{
    unsigned got = 0;

    if (polled->got & POLLIN)
        got |= SENNIT_READABLE;
    if (polled->got & POLLOUT)
        got |= SENNIT_WRITABLE;
    if (polled->got & POLLPRI)
        got |= SENNIT_URGENT;
    if (polled->got & (POLLERR | POLLHUP))
        got |= SENNIT_FAILED;
    if (polled->got & POLLNVAL)
        got |= SENNIT_GONE;
    return got;
}

sennit_time
sni_poll_now(void)
{
    return sni_real_now(NULL);
}

sennit_err
sni_poll(sni_polled *polled, size_t count, sennit_time until)
{
    struct timespec left = { 0, 0 };
    sennit_time now = until == 0 || until == SENNIT_NEVER ? 0 : sni_poll_now();
    int error;

    if (until > now) {
        left.tv_sec = (time_t)((until - now) / 1000000000u);
        left.tv_nsec = (long)((until - now) % 1000000000u);
    }
    if (ppoll((struct pollfd *)(void *)polled, count,
              until == SENNIT_NEVER ? NULL : &left, NULL) >= 0)
        return SENNIT_OK;
    error = errno;
    for (size_t i = 0; i < count; i++)
        polled[i].got = 0;
    if (error == EINTR)
        return SENNIT_EINTR;
    return error == ENOMEM ? SENNIT_ENOMEM : SENNIT_EMFILE;
}

/* ---- wakes ------------------------------------------------------------- */

sennit_err
sni_waker_open(sni_waker *waker)
{
    waker->forks = sni_forks;
    atomic_init(&waker->woken, false);
    return sni_bell_open(&waker->bell);
}

void
sni_waker_close(sni_waker *waker)
{
    sni_fd_close(waker->bell);
}

/* Once until it is heard: a storm of wakes is one system call. */
void
sni_waker_wake(sni_waker *waker)
{
    int saved = errno;

    if (!sni_forked_since(waker->forks) &&
        !atomic_exchange_explicit(&waker->woken, true, memory_order_acq_rel))
        sni_bell_ring(waker->bell);
    errno = saved;
}

/* Silenced first: whoever wakes it behind that rings again. A ring may come after the
 * wake was heard, and then ends one wait more, which hears nothing. */
bool
sni_waker_hear(sni_waker *waker, bool rung)
{
    if (rung)
        sni_bell_silence(waker->bell);
    return (rung || atomic_load_explicit(&waker->woken, memory_order_relaxed)) &&
           atomic_exchange_explicit(&waker->woken, false, memory_order_acq_rel);
}
