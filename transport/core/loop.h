/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CORE_LOOP_H
#define SENNIT_CORE_LOOP_H

#include <pthread.h>

#include "base/assert.h"
#include "base/list.h"
#include "base/timers.h"
#include "core/context.h"
#include "core/drive.h"
#include "core/inbox.h"
#include "core/vectors.h"
#include "engine/outq.h"
#include "io/fork.h"
#include "io/io.h"

/* A call posted by another thread. */
typedef struct sni_posted {
    struct sni_posted *next;
    void (*fn)(void *arg);
    void *arg;
} sni_posted;

/* Who submitted an operation: its owner_kind. */
typedef enum sni_owner_kind {
    SNI_OWNER_SESSION,
    SNI_OWNER_LISTENER,
    SNI_OWNER_ATTEMPT
} sni_owner_kind;

/* One turn: flush, wait, handle completions, timers, posted calls, callbacks,
 * then bury what ended. Objects end in two steps: they are put on a list when
 * something goes wrong deep inside a call, and taken apart at the end of a turn,
 * so no function finds its arguments gone when a callee returns. */
struct sennit_loop {
    sennit_allocator allocator;
    /* Where that came from: bodies of received messages may outlive the loop. */
    const sennit_allocator *body_allocator;
    pthread_t owner;
    struct sni_drive *drive; /* hosted: which thread is inside; NULL: only the owner is */
    bool attended; /* there is something to do when a call leaves: for that, or */
    unsigned
        watches; /* ... for descriptors of sockets, and pollers that hear of them ... */
    sni_link stale;          /* ... which may not say what is true, and ... */
    int alarm;               /* ... the loop's own part of them; -1: none, ... */
    sennit_time alarm_at;    /* ... which is set to then */
    unsigned forks;          /* when it was opened */
    sennit_context *context; /* never NULL */
    sennit_context alone;    /* that, when none was given */
    sni_link in_context;
    unsigned long shutdowns; /* of it that were heard of here */
    bool closing;
    sni_inbox *inbox; /* for the other loops of the context; NULL: it is alone */
    const char *why;  /* of the last call that failed and has more to say */
    sni_io *io;
    char notice[256]; /* why that is not what was asked for; "" */
    sni_pool *recv_blocks;
    sni_bodies bodies;
    sni_chunk_pools chunks;
    sni_rings rings;        /* of these */
    sni_vectors vectors;    /* for sends */
    sni_timers timers;      /* the library's own: deadlines, retries */
    sni_timers user_timers; /* the application's: fire in turns only */

    sni_link socks;
    sni_link dirty;           /* sessions with gathered output */
    sni_link again;           /* sessions that stopped with more to receive */
    sni_link again_listeners; /* listeners that stopped with more to accept */
    sni_link untimed;         /* retries for which there was no memory */
    sni_link ending;  /* sessions to be taken apart when their operations are home */
    sni_link touched; /* sockets whose callback may have something to do */
    sni_link dead_pipes;
    sni_link ending_inproc;
    sni_link drained; /* see sni_inproc_drained() */

    sennit_time flushed_at; /* when the last flush outside a turn was over */
    sennit_time gather_ns;  /* how long after it sends are gathered */
    unsigned gathered;      /* sends since then */
    unsigned taken;         /* frames handed out */
    sennit_time served_at;  /* coarse clock of the last turn or service */

    unsigned depth;        /* turns inside each other */
    bool look_again;       /* a look stopped at its bound: the next turn does not wait */
    bool short_of_memory;  /* something waits for memory: look again ... */
    sennit_time memory_at; /* ... then; SENNIT_NEVER: not chosen yet */
    bool socks_changed;    /* a closed socket may have become free */

    sni_link due_rings;    /* of other loops: see core/call_ring.h */
    sni_posted *due_first; /* calls being run */
    sni_posted **due_last;

    sni_lock post_lock;  /* of those below; the rest is the owner's */
    atomic_bool posted;  /* there are some; read without it */
    atomic_bool stopped; /* sennit_loop_run() is to end; likewise */
    sni_posted *posted_first;
    sni_posted **posted_last;
};

/* One turn. `until`: when to stop waiting, on the loop's clock; 0 does not wait.
 * Errors: ESTATE, EINTR. */
sennit_err sni_loop_turn(sennit_loop *loop, sennit_time until);

/* What an application that never waits must not stop: peers are accepted, what has
 * arrived is received, retries and deadlines happen, gathered sends leave. Runs no
 * callback of the application. No-op inside a turn. */
void sni_loop_service(sennit_loop *loop);

/* Whoever lingers when the context is shut down lingers no longer. */
void sni_loop_hear_shutdown(sennit_loop *loop);

/* Hands everything that was gathered to the kernel. True: there was something. */
bool sni_loop_flush(sennit_loop *loop);

/* Whether there is something to do for who turns it: now, or a timer before `until`.
 * `watched`: what is gathered will be looked at soon anyway. */
bool sni_loop_due(const sennit_loop *loop, sennit_time until, bool watched);

/* When its thread is to turn it at the latest: 0 is now. */
sennit_time sni_loop_wants_turn(const sennit_loop *loop);

/* Whether several threads take turns in it: as sni_pool_share(). */
void sni_loop_share(sennit_loop *loop, bool shared);

/* Whether calls wait for a turn, among them those behind one that runs and waits. Their
 * wake may have been heard already, by somebody who runs none. */
bool sni_loop_has_posted(const sennit_loop *loop);

/* Closes all its sockets. */
void sni_loop_close_socks(sennit_loop *loop);

/* A frame was handed out: serves now and then. */
void sni_loop_taken(sennit_loop *loop);

/* A whole message was sent. Outside a turn nobody would flush it soon, so it leaves
 * at once if nothing was flushed a moment ago, and is gathered if something was. */
void sni_loop_sent(sennit_loop *loop);

/* A loop over any backend: takes `io` and the pools it uses (tests, simulator). */
sennit_err sni_loop_open_with(sennit_loop **out, const sennit_allocator *alloc,
                              sennit_err (*open_io)(sni_io **out,
                                                    const sennit_allocator *alloc,
                                                    sni_pool *recv_blocks, void *arg),
                              void *arg);

static inline sennit_time
sni_loop_now(sennit_loop *loop)
{
    return loop->io->ops->now(loop->io);
}

/* A call fails, and sennit_loop_why() will tell why (NULL: there is no more to say than
 * the error does). Every public call of the loop's thread ends here when it fails, with
 * EAGAIN too: what is told then must not be of an earlier one. Of a hosted loop each
 * thread is told of its own calls. Returns `err`. */
sennit_err sni_loop_fail(sennit_loop *loop, sennit_err err, const char *why);

/* Whether its context was shut down: calls that wait return ETERM then. */
static inline bool
sni_loop_terminated(const sennit_loop *loop)
{
    return sni_context_shut(loop->context);
}

/* Whether the calling thread is in it by right: it owns it, or is inside. */
static inline bool
sni_loop_owned(const sennit_loop *loop)
{
    return loop->drive != NULL ? sni_drive_is_inside(loop->drive)
                               : pthread_equal(loop->owner, pthread_self());
}

/* Whether it is of the process that this one was forked from. */
static inline bool
sni_loop_inherited(const sennit_loop *loop)
{
    return sni_forked_since(loop->forks);
}

/* The rest of sni_loop_leave(). */
void sni_loop_attend(sennit_loop *loop);

/* A call is over that sni_loop_enter() and the like let in. */
static inline void
sni_loop_leave(sennit_loop *loop)
{
    if (loop->attended)
        sni_loop_attend(loop);
}

/* For calls that only read, and are not checked: sni_loop_leave() follows. */
static inline void
sni_loop_look(sennit_loop *loop)
{
    if (loop->drive != NULL && !sni_loop_inherited(loop))
        sni_drive_enter(loop->drive);
}

/* As sni_loop_enter(), for a loop that is there. */
static inline sennit_err
sni_loop_admit(sennit_loop *loop)
{
    /* First: the child may have been forked by another thread. */
    if (sni_loop_inherited(loop))
        return sni_loop_fail(loop, SENNIT_ESTATE,
                             "the loop belongs to the parent process: "
                             "after fork open a loop of your own");
    if (loop->drive != NULL) {
        sni_drive_enter(loop->drive);
        return SENNIT_OK;
    }
    return sni_loop_owned(loop) ? SENNIT_OK : SENNIT_ETHREAD;
}

/* Whether a call on it or its sockets may go on; on success it is inside until
 * sni_loop_leave(). Errors: EINVAL (NULL), ETHREAD, ESTATE
 * (inherited). */
static inline sennit_err
sni_loop_enter(sennit_loop *loop)
{
    return loop == NULL ? SENNIT_EINVAL : sni_loop_admit(loop);
}

/* The same for calls without a result, which are inside then. What a forked child has
 * inherited is no other thread's, whoever forked it. */
static inline void
sni_loop_insist(sennit_loop *loop, const char *call)
{
    if (loop->drive != NULL)
        sni_loop_look(loop);
    else if (!sni_loop_owned(loop) && !sni_loop_inherited(loop))
        sni_misuse(call, "called on another thread than the loop's: "
                         "sennit_loop_post() a function that calls it there");
}

#endif /* SENNIT_CORE_LOOP_H */
