/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CORE_DRIVE_H
#define SENNIT_CORE_DRIVE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/list.h"
#include "io/fork.h"
#include "sennit/sennit.h"

/* What a hosted loop has and an owned one does not need: who of many threads is inside.
 *
 * Laws:
 *  - The loop is touched by the one thread that is inside: between enter and leave.
 *  - At most one thread drives, which is to turn the loop. While it waits for the kernel,
 *    or runs a callback of the application, it steps out, so that others come in; but
 *    nobody else drives meanwhile.
 *  - Who has to wait drives, if nobody does: then the kernel wakes the very thread that
 *    the message is for. Else it follows: it is woken when its socket has changed, or to
 *    drive.
 *  - Who leaves sees to it that somebody goes on: the driver is called out of the kernel
 *    if there is something to do sooner, else a follower is to drive, else the host
 *    thread looks, at the latest SNI_HOST_TICK_NS from now.
 *  - Nobody is kept out: who has driven for long waits until the others came in. */
typedef struct sni_drive {
    sennit_loop *loop;
    sni_lock lock;
    sni_fork_guard guard;    /* of it */
    atomic_uintptr_t inside; /* the thread; 0: none */
    unsigned entries;        /* of it, inside each other */
    atomic_uint at_door;     /* threads that want to come in, beside those woken */
    unsigned turns_alone;    /* since one of both came in */
    bool lets_in;            /* the driver waits for them to come */
    sni_cond came_in;
    uint64_t entered; /* by callers, ever; callbacks are none */

    bool driven;
    bool hosted_now;       /* by the host */
    bool in_kernel;        /* the driver waits there ... */
    bool called;           /* ... and was called out ... */
    int bell;              /* ... by this: others may take the backend's wake away */
    bool watches;          /* ... and looks again soon for what is gathered */
    sennit_time until;     /* ... no longer than this */
    sennit_sock *for_sock; /* ... because of this one; NULL: whatever happens */
    unsigned depth;        /* of the loop's turns, while the driver is out */

    atomic_uintptr_t calling; /* the thread that runs a callback; 0: none ... */
    const void *calling_for;  /* ... of this timer or socket; NULL: one that was posted */
    unsigned awaiting;        /* who have stopped, changed or closed that */
    uint64_t calls;           /* that are over */
    sni_cond call_ended;

    sni_link followers;
    unsigned woken;   /* of them, and of those who awaited a call; not inside yet */
    unsigned callers; /* threads in calls that wait */
    sni_cond callers_gone;

    pthread_t host;
    sni_lock host_lock; /* of the next two: it parks without the loop's lock */
    sni_cond host_wake;
    bool host_called;
    bool host_sleeps; /* nobody has to look: who drives goes on */
    bool stopping;    /* no callback begins from now on, and no wait */
} sni_drive;

/* Makes `loop` hosted and starts its host thread. Errors: ENOMEM (memory or a thread),
 * EMFILE. */
sennit_err sni_drive_open(sennit_loop *loop);

/* Ends what waits (ECLOSED), and the host: the calling thread owns the loop from now on.
 * Blocks: until all others have left. In a forked child only frees it. */
void sni_drive_close(sennit_loop *loop);

/* Inside from now on. Blocks: while another thread is. */
void sni_drive_enter(sni_drive *drive);
void sni_drive_leave(sni_drive *drive);

/* The calling thread is inside. */
static inline bool
sni_drive_is_inside(const sni_drive *drive)
{
    return atomic_load_explicit(&drive->inside, memory_order_relaxed) ==
           (uintptr_t)pthread_self();
}

/* The calling thread runs a callback of the loop. */
bool sni_drive_is_calling(const sni_drive *drive);

/* Waits, inside, until something happens that `sock` may have waited for (NULL: anything)
 * or until `until`; others may have come first. Errors: ESTATE (in a callback), ECLOSED
 * (the loop is being closed), ENOMEM, and those of a turn. */
sennit_err sni_drive_wait(sni_drive *drive, sennit_sock *sock, sennit_time until);

/* `sock` has changed: whoever waits for it looks again. */
void sni_drive_changed(sni_drive *drive, const sennit_sock *sock);

/* Something has happened: whoever waits for anything looks again. */
void sni_drive_turned(sni_drive *drive);

/* All who wait look again. */
void sni_drive_wake_all(sni_drive *drive);

/* The driver waits for the kernel, out of the loop. False: a signal ended it. */
bool sni_drive_wait_kernel(sni_drive *drive, sennit_time until);

/* Whether callbacks may begin: not while the loop is being closed. */
static inline bool
sni_drive_calls(const sni_drive *drive)
{
    return !drive->stopping;
}

/* A callback for a timer or socket (NULL: neither) runs between them, out of the loop.
 * True: another thread waits for its end. */
void sni_drive_call_begin(sni_drive *drive, const void *what);
bool sni_drive_call_end(sni_drive *drive);

/* If another thread runs a callback for it, waits until that one is over: the next one
 * may run then. No-op in a forked child. */
void sni_drive_await_call(sni_drive *drive, const void *what);

#endif /* SENNIT_CORE_DRIVE_H */
