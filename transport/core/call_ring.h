/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CORE_CALL_RING_H
#define SENNIT_CORE_CALL_RING_H

#include "base/channel.h"
#include "base/list.h"
#include "core/inbox.h"

/* Calls from one thread to the loop of another, in order, without a lock: each is a
 * message in a channel. While the loop keeps up it costs no memory, and no system call
 * unless the loop sleeps.
 *
 * Memory: `alloc` must serve any thread. */
typedef struct sni_call_ring {
    sni_note note;
    sni_link due;     /* in its loop's: there may be calls to run */
    sni_inbox *inbox; /* of that loop; NULL: it has none yet */
    uint64_t calls_max;
    bool shut; /* the poster's: it knows that the loop takes no more */
    sni_channel calls;
} sni_call_ring;

/* A ring without a loop. `calls_max`: so many may wait; 0: no limit. */
void sni_call_ring_init(sni_call_ring *ring, const sennit_allocator *alloc,
                        uint64_t calls_max);

/* Its calls are for `loop`, which is in a context. Thread: the loop's, before anybody
 * posts. */
void sni_call_ring_attach(sni_call_ring *ring, sennit_loop *loop);

/* Neither thread uses it any more, and the loop is closed. */
void sni_call_ring_fini(sni_call_ring *ring);

/* Runs `fn(arg)` in a turn of the loop.
 * Thread: always the same one. Errors: EAGAIN (`calls_max` are waiting), ENOMEM, ECLOSED
 * (the ring is shut). */
sennit_err sni_call_ring_post(sni_call_ring *ring, void (*fn)(void *arg), void *arg);

/* ---- the loop's side --------------------------------------------------- */

/* Runs what waits now, as far as one turn goes; what is left stays due. */
void sni_call_ring_run(sni_call_ring *ring);

/* Refuses calls from now on; those that were taken are due. */
void sni_call_ring_shut(sni_call_ring *ring, sennit_loop *loop);

#endif /* SENNIT_CORE_CALL_RING_H */
