/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_IO_POLL_H
#define SENNIT_IO_POLL_H

#include <stdatomic.h>

#include "sennit/poller.h"

/* Anybody's descriptors, level-triggered, as poll(2) looks at them. */

/* One of them, laid out as the system's own. */
typedef struct sni_polled {
    int fd;      /* -1: none */
    short asked; /* of sni_polled_ask() */
    short got;
} sni_polled;

/* `interest`: SENNIT_READABLE, SENNIT_WRITABLE, SENNIT_URGENT; 0: not even what is told
 * without being asked for. */
sni_polled sni_polled_ask(int fd, unsigned interest);

/* Of what was asked for what is so, and SENNIT_FAILED and SENNIT_GONE. */
unsigned sni_polled_got(const sni_polled *polled);

/* Waits until one of them has got something, or the clock reaches `until` (0: does not
 * wait).
 * Errors: EINTR, ENOMEM, EMFILE (more than the process may have open). Then none has got
 *         anything. */
sennit_err sni_poll(sni_polled *polled, size_t count, sennit_time until);

/* The monotonic clock. */
sennit_time sni_poll_now(void);

/* Ends such a wait from another thread, by a bell that is one of its descriptors. */
typedef struct sni_waker {
    int bell;
    unsigned forks; /* when it was opened: in a forked child it is the parent's */
    atomic_bool woken;
} sni_waker;

/* Errors: EMFILE, ENOMEM. */
sennit_err sni_waker_open(sni_waker *waker);
void sni_waker_close(sni_waker *waker);

/* Thread: any, and signal handlers. */
void sni_waker_wake(sni_waker *waker);

/* Whether it was woken since it was asked last. `rung`: a wait has just found the bell
 * readable. */
bool sni_waker_hear(sni_waker *waker, bool rung);

#endif /* SENNIT_IO_POLL_H */
