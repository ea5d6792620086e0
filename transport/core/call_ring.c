/* SPDX-License-Identifier: MIT */
/* Law: the ring is due in its loop, or its channel sleeps, or a note is on its way. */
#include "core/call_ring.h"

#include "base/assert.h"
#include "base/limits.h"
#include "core/loop.h"

typedef struct call {
    void (*fn)(void *arg);
    void *arg;
} call;

_Static_assert(sizeof(call) <= SENNIT_MSG_INLINE_MAX, "a call lies inside its message");

static void
set_due(sennit_loop *loop, sni_call_ring *ring)
{
    if (!sni_link_linked(&ring->due))
        sni_list_push(&loop->due_rings, &ring->due);
}

static void
look(sennit_loop *loop, sni_note *note)
{
    sni_call_ring *ring = SNI_OWNER_OF(note, sni_call_ring, note);

    /* What it was woken for may have run already, and then nothing would wake it again.
     */
    if (sni_channel_look(&ring->calls) > 0 || !sni_channel_sleep(&ring->calls))
        set_due(loop, ring);
}

void
sni_call_ring_init(sni_call_ring *ring, const sennit_allocator *alloc, uint64_t calls_max)
{
    sni_note_init(&ring->note, look);
    sni_link_init(&ring->due);
    ring->inbox = NULL;
    ring->calls_max = calls_max;
    ring->shut = false;
    sni_channel_init(&ring->calls, alloc);
    (void)sni_channel_sleep(&ring->calls);
}

void
sni_call_ring_attach(sni_call_ring *ring, sennit_loop *loop)
{
    ring->inbox = sni_inbox_ref(loop->inbox);
}

void
sni_call_ring_fini(sni_call_ring *ring)
{
    SNI_ASSERT(!sni_link_linked(&ring->due));
    sni_inbox_unref(ring->inbox);
    sni_channel_fini(&ring->calls);
}

sennit_err
sni_call_ring_post(sni_call_ring *ring, void (*fn)(void *arg), void *arg)
{
    call c = { fn, arg };
    sennit_msg msg;
    sennit_err err;

    if (ring->shut)
        return SENNIT_ECLOSED;
    if (sni_channel_full(&ring->calls, ring->calls_max, 0))
        return SENNIT_EAGAIN;
    err = sennit_msg_init_copy(&msg, &c, sizeof c);
    if (err == SENNIT_OK)
        err = sni_channel_push(&ring->calls, sni_msg_of(&msg), false);
    if (err)
        return err;
    sni_channel_sent(&ring->calls, 1, 0);
    switch (sni_channel_publish(&ring->calls)) {
    case SNI_CHANNEL_QUEUED:
        break;
    case SNI_CHANNEL_WAKE:
        (void)sni_inbox_post(ring->inbox, &ring->note);
        break;
    case SNI_CHANNEL_CLOSED:
        ring->shut = true;
        return SENNIT_ECLOSED;
    }
    return SENNIT_OK;
}

/* ---- the loop's side --------------------------------------------------- */

/* A call may turn the loop, which comes here again: then it goes on behind what ran in
 * there. */
void
sni_call_ring_run(sni_call_ring *ring)
{
    sni_msg msg;

    for (unsigned left = SNI_RING_CALLS_IN_A_ROW; left > 0; left--) {
        call c;

        if (sni_channel_pull(&ring->calls, &msg, NULL) != SENNIT_OK)
            break;
        memcpy(&c, sennit_msg_data(sni_msg_public(&msg)), sizeof c);
        (void)sni_channel_ack(&ring->calls, 1, 0, SNI_INPROC_ACK_MSGS);
        c.fn(c.arg);
    }
    if (sni_channel_unread(&ring->calls) > 0)
        return;
    (void)sni_channel_ack(&ring->calls, 0, 0, 1);
    if (sni_channel_sleep(&ring->calls))
        sni_link_remove(&ring->due);
}

void
sni_call_ring_shut(sni_call_ring *ring, sennit_loop *loop)
{
    if (sni_channel_close(&ring->calls) > 0)
        set_due(loop, ring);
}
