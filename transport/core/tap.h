/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CORE_TAP_H
#define SENNIT_CORE_TAP_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/list.h"
#include "io/poll.h"

/* What a poller hears of a socket of a hosted loop, without coming inside: the loop says
 * what the socket is ready for whenever a call that may have changed it leaves, and rings
 * if that is more than before.
 *
 * Both sides may go first, on threads of their own: who is left finds the tap as it was.
 * So it is counted, and on malloc, as is the bell that a poller's taps share. */
typedef struct sni_tap_bell {
    atomic_uint refs;
    sni_waker waker;
} sni_tap_bell;

/* Errors: ENOMEM, EMFILE. */
sennit_err sni_tap_bell_new(sni_tap_bell **out);
void sni_tap_bell_unref(sni_tap_bell *bell);

#define SNI_TAP_SHUT (1u << 31) /* its context was shut down */

typedef struct sni_tap {
    sni_link of_sock; /* the loop's side, inside */
    atomic_uint refs;
    atomic_uint ready; /* as sennit_sock_ready() says it, or SENNIT_GONE; SNI_TAP_SHUT */
    atomic_bool dropped;
    uintptr_t thread; /* the poller's, which alone is told of the rest of its message */
    sni_tap_bell *bell;
} sni_tap;

/* Thread: the poller's, inside the socket's loop. Errors: ENOMEM. */
sennit_err sni_tap_open(sni_tap **out, sennit_sock *sock, sni_tap_bell *bell);

/* The poller wants to hear no more. Thread: its own. */
void sni_tap_drop(sni_tap *tap);

/* What it has heard. Thread: any. */
static inline unsigned
sni_tap_ready(const sni_tap *tap)
{
    return atomic_load_explicit(&tap->ready, memory_order_acquire);
}

/* ---- the loop's side, inside ------------------------------------------- */

/* What the socket is ready for may have changed. */
void sni_taps_update(sennit_sock *sock);

/* Its context was shut down. */
void sni_taps_shut(sennit_sock *sock);

/* It is closed. */
void sni_taps_close(sennit_sock *sock);

#endif /* SENNIT_CORE_TAP_H */
