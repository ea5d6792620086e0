/* SPDX-License-Identifier: MIT */
#include "core/tap.h"

#include "base/alloc.h"
#include "core/sock.h"

sennit_err
sni_tap_bell_new(sni_tap_bell **out)
{
    sni_tap_bell *bell = sni_acquire(&sni_alloc_default, sizeof *bell);
    sennit_err err;

    if (bell == NULL)
        return SENNIT_ENOMEM;
    err = sni_waker_open(&bell->waker);
    if (err) {
        sni_release(&sni_alloc_default, bell);
        return err;
    }
    atomic_init(&bell->refs, 1);
    *out = bell;
    return SENNIT_OK;
}

void
sni_tap_bell_unref(sni_tap_bell *bell)
{
    if (atomic_fetch_sub_explicit(&bell->refs, 1, memory_order_acq_rel) != 1)
        return;
    sni_waker_close(&bell->waker);
    sni_release(&sni_alloc_default, bell);
}

static void
unref(sni_tap *tap)
{
    if (atomic_fetch_sub_explicit(&tap->refs, 1, memory_order_acq_rel) != 1)
        return;
    sni_tap_bell_unref(tap->bell);
    sni_release(&sni_alloc_default, tap);
}

/* The loop's side is through with it. */
static void
leave(sennit_sock *sock, sni_tap *tap)
{
    sni_link_remove(&tap->of_sock);
    sock->loop->watches--;
    unref(tap);
}

/* Says it, and rings if something is new. */
static void
say(sni_tap *tap, unsigned ready)
{
    unsigned before = atomic_exchange_explicit(&tap->ready, ready, memory_order_acq_rel);

    if (ready & ~before)
        sni_waker_wake(&tap->bell->waker);
}

/* `fn` of each that is not dropped. What is dropped stays until somebody comes here. */
static void
each(sennit_sock *sock, void (*fn)(sennit_sock *sock, sni_tap *tap, unsigned ready),
     unsigned ready)
{
    sni_link *next;

    for (sni_link *link = sock->taps.next; link != &sock->taps; link = next) {
        sni_tap *tap = SNI_OWNER_OF(link, sni_tap, of_sock);

        next = link->next;
        if (atomic_load_explicit(&tap->dropped, memory_order_acquire))
            leave(sock, tap);
        else
            fn(sock, tap, ready);
    }
}

/* While a thread is in the middle of a message, all others' calls say EAGAIN: they are
 * not told of what is for that one. */
static unsigned
kept_from(const sni_tap *tap, uintptr_t thread, unsigned bit)
{
    return thread != 0 && thread != tap->thread ? bit : 0;
}

static void
update(sennit_sock *sock, sni_tap *tap, unsigned ready)
{
    ready &= ~(kept_from(tap, sock->receiver, SENNIT_READABLE) |
               kept_from(tap, sock->sender, SENNIT_WRITABLE));
    say(tap, ready | (sni_tap_ready(tap) & SNI_TAP_SHUT));
}

static void
shut(sennit_sock *sock, sni_tap *tap, unsigned ready)
{
    (void)sock;
    say(tap, sni_tap_ready(tap) | ready);
}

static void
close_tap(sennit_sock *sock, sni_tap *tap, unsigned ready)
{
    say(tap, ready);
    leave(sock, tap);
}

void
sni_taps_update(sennit_sock *sock)
{
    if (!sni_list_empty(&sock->taps))
        each(sock, update, sni_sock_look(sock));
}

void
sni_taps_shut(sennit_sock *sock)
{
    each(sock, shut, SNI_TAP_SHUT);
}

void
sni_taps_close(sennit_sock *sock)
{
    each(sock, close_tap, SENNIT_GONE);
}

sennit_err
sni_tap_open(sni_tap **out, sennit_sock *sock, sni_tap_bell *bell)
{
    sni_tap *tap = sni_acquire(&sni_alloc_default, sizeof *tap);

    if (tap == NULL)
        return SENNIT_ENOMEM;
    atomic_init(&tap->refs, 2);
    atomic_init(&tap->ready, 0);
    atomic_init(&tap->dropped, false);
    atomic_fetch_add_explicit(&bell->refs, 1, memory_order_relaxed);
    tap->thread = (uintptr_t)pthread_self();
    tap->bell = bell;
    sni_link_init(&tap->of_sock);
    sni_list_push(&sock->taps, &tap->of_sock);
    sock->loop->watches++;
    sni_taps_update(sock);
    if (sni_loop_terminated(sock->loop))
        sni_taps_shut(sock);
    *out = tap;
    return SENNIT_OK;
}

void
sni_tap_drop(sni_tap *tap)
{
    atomic_store_explicit(&tap->dropped, true, memory_order_release);
    unref(tap);
}
