/* SPDX-License-Identifier: MIT */
#include "io/held.h"

#include "base/assert.h"
#include "base/limits.h"
#include "io/stream.h"

sni_held *
sni_held_new(const sennit_allocator *alloc, sni_link *all, int listener, unsigned room)
{
    sni_held *held = sni_acquire_zero(alloc, sizeof *held + room * sizeof held->fds[0]);

    if (held == NULL)
        return NULL;
    held->listener = listener;
    held->room = room;
    sni_list_push(all, &held->link);
    return held;
}

void
sni_held_close(sni_held *held, bool shared)
{
    for (; held->count > 0; sni_held_pop(held))
        sni_stream_close(sni_held_first(held), shared);
    sni_link_remove(&held->link);
}

bool
sni_held_listens(sni_link *all, int listener)
{
    for (sni_link *link = all->next; link != all; link = link->next)
        if (SNI_OWNER_OF(link, sni_held, link)->listener == listener)
            return true;
    return false;
}

void
sni_held_push(sni_held *held, int fd)
{
    if (held->count == held->room)
        sni_stream_close(fd, false);
    else
        held->fds[(held->first + held->count++) % held->room] = fd;
}

int
sni_held_first(const sni_held *held)
{
    SNI_ASSERT(held->count > 0);
    return held->fds[held->first];
}

void
sni_held_pop(sni_held *held)
{
    held->first = (held->first + 1) % held->room;
    held->count--;
}

bool
sni_held_is_much(const sni_held *held)
{
    return held->count > SNI_ACCEPTS_PER_TURN;
}
