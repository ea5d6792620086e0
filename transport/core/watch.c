/* SPDX-License-Identifier: MIT */
#include "core/watch.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "core/sock.h"
#include "core/tap.h"
#include "io/alarm.h"
#include "io/bell.h"

/* The loop's own part: when it wants to be turned. */
static sennit_err
start_alarm(sennit_loop *loop)
{
    sennit_err err;

    if (loop->alarm >= 0)
        return SENNIT_OK;
    err = sni_alarm_open(&loop->alarm);
    loop->alarm_at = SENNIT_NEVER;
    return err;
}

static sennit_err
open_fd(sennit_sock *sock, sni_watch *watch)
{
    sennit_loop *loop = sock->loop;
    int of[] = { watch->bell, -1, loop->io->ops->descriptor(loop->io) };
    sennit_err err;

    watch->fd = watch->bell;
    if (loop->drive != NULL)
        return SENNIT_OK;
    if (of[2] < 0)
        return SENNIT_ENOTSUP;
    err = start_alarm(loop);
    of[1] = loop->alarm;
    return err ? err : sni_any_open(&watch->fd, of, 3);
}

sennit_err
sni_watch_start(sennit_sock *sock, unsigned interest, int *fd)
{
    const sennit_allocator *alloc = &sock->loop->allocator;
    sni_watch *watch = sock->watch;
    sennit_err err;

    if (watch == NULL) {
        watch = sni_acquire_zero(alloc, sizeof *watch);
        if (watch == NULL)
            return SENNIT_ENOMEM;
        err = sni_bell_open(&watch->bell);
        if (err)
            goto fail_watch;
        err = open_fd(sock, watch);
        if (err)
            goto fail_bell;
        sock->watch = watch;
        sock->loop->watches++;
        sock->loop->attended = true;
    }
    watch->interest = interest;
    sni_watch_mark(sock);
    *fd = watch->fd;
    return SENNIT_OK;

fail_bell:
    sni_fd_close(watch->bell);
fail_watch:
    sni_release(alloc, watch);
    return err;
}

void
sni_watch_stop(sennit_sock *sock)
{
    sni_watch *watch = sock->watch;

    if (watch == NULL)
        return;
    if (watch->fd != watch->bell)
        sni_fd_close(watch->fd);
    sni_fd_close(watch->bell);
    sni_release(&sock->loop->allocator, watch);
    sock->watch = NULL;
    sock->loop->watches--;
}

void
sni_watch_mark(sennit_sock *sock)
{
    if (sock->loop->watches == 0)
        return;
    if ((sock->watch != NULL || !sni_list_empty(&sock->taps)) &&
        !sni_link_linked(&sock->stale))
        sni_list_push(&sock->loop->stale, &sock->stale);
}

static void
update_bell(sennit_sock *sock)
{
    sni_watch *watch = sock->watch;
    bool ready;

    if (watch == NULL)
        return;
    ready = sock->closed || (sni_sock_look(sock) & watch->interest) != 0;
    if (ready == watch->rings)
        return;
    watch->rings = ready;
    if (ready)
        sni_bell_ring(watch->bell);
    else
        sni_bell_silence(watch->bell);
}

void
sni_watch_update(sennit_loop *loop)
{
    sni_link stale;
    sni_link *link;
    sennit_time at;

    sni_list_take(&stale, &loop->stale);
    while ((link = sni_list_first(&stale)) != NULL) {
        sennit_sock *sock = SNI_OWNER_OF(link, sennit_sock, stale);

        sni_link_remove(link);
        update_bell(sock);
        sni_taps_update(sock);
        sni_link_remove(link);
        /* A look that stopped at its bound goes on after the next turn. */
        if (sni_pattern_pending(&sock->pattern) &&
            (sock->watch == NULL || !sock->watch->rings))
            sni_watch_mark(sock);
    }
    if (loop->alarm < 0)
        return;
    at = sni_loop_wants_turn(loop);
    if (at == loop->alarm_at)
        return;
    loop->alarm_at = at;
    sni_alarm_set(loop->alarm, at);
}

void
sni_watch_fini(sennit_loop *loop)
{
    SNI_ASSERT(loop->watches == 0);
    if (loop->alarm >= 0)
        sni_fd_close(loop->alarm);
}
