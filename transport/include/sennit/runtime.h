/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_RUNTIME_H
#define SENNIT_RUNTIME_H

/* Loops in numbers: a runtime is N loops, each on a thread of its own, that the library
 * starts and ends. What belongs to a loop stays on its thread, without locks; work is
 * spread by opening it on several loops, and what they tell each other they post.
 *
 *   - A server binds one tcp endpoint on every loop, with tcp_reuse_port: the kernel
 *     spreads the connections. Bind port 0 on one loop first, if the system is to choose
 *     it, and sennit_sock_last_endpoint() on the others.
 *   - Sockets of its loops (and of others in its context) meet by inproc names.
 *   - sennit_runtime_post() runs a function on another of its loops.
 *
 * A program's life: open, wait for what ends it (a signal in sigwait(3), or
 * sennit_runtime_wait()), close. All signals are blocked in its threads.
 *
 * Fork: a child gets nothing of it but memory: its calls do nothing or are ESTATE. */

#include "sennit/sennit.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sennit_runtime sennit_runtime;

/* Runs on the thread of loop `index` before it turns, all of them at the same time: opens
 * its sockets. Another loop can be posted to, and the handle is the one that open gives.
 * It may block, also for what another loop does. If it fails the runtime does not open.
 */
typedef sennit_err sennit_runtime_start_fn(sennit_runtime *runtime, sennit_loop *loop,
                                           unsigned index, void *arg);

/* Runs there when the runtime stops, if start succeeded. No loop is closed before it has
 * run on all: those that are through go on turning, so it may wait for another loop's
 * answer. Sockets may be left open: they are closed with the loop, and linger. */
typedef void sennit_runtime_stop_fn(sennit_runtime *runtime, sennit_loop *loop,
                                    unsigned index, void *arg);

typedef struct sennit_runtime_opts {
    unsigned loops;   /* up to 256; 0: one for each processor that the caller may use */
    bool pin;         /* each thread to one of these processors, in turn */
    const char *name; /* its threads are NAME-0, NAME-1 ...: at most 11 octets of it are
                         used; NULL: "sennit" */
    /* Of every loop. The allocator is called from all their threads at once, and from the
     * caller's; the resolver and `notice`, too. Without a context the runtime has one of
     * its own. */
    sennit_loop_opts loop;
    uint32_t posts_max; /* calls from one of its loops to another that have not run yet;
                           0: no limit */
    sennit_runtime_start_fn *start; /* may be NULL */
    sennit_runtime_stop_fn *stop;   /* may be NULL */
    void *arg;                      /* of both */
} sennit_runtime_opts;

#define SENNIT_RUNTIME_OPTS_DEFAULT                                                      \
    {                                                                                    \
        0, false, NULL, SENNIT_LOOP_OPTS_DEFAULT, 65536, NULL, NULL, NULL                \
    }

/* Where and why a runtime did not open. */
typedef struct sennit_runtime_failure {
    unsigned index;  /* of the loop; 0 also when none had begun */
    const char *why; /* static text: what was wrong and what would do. Of `start` what
                        sennit_loop_why() of its loop said last, or the error's text */
} sennit_runtime_failure;

/* Starts its threads, opens a loop on each and runs `start` there. `opts` may be NULL
 * (defaults).
 * Gives:  `*failure` when it fails (may be NULL). By then every loop is closed and every
 *         thread has ended; `stop` has run where `start` had succeeded.
 * Blocks: until every `start` has returned; when one fails, until the others have, which
 *         those that wait for a socket do with ETERM if the context is the runtime's own,
 *         and until the loops are closed.
 * Errors: EINVAL (more than 256 loops, an allocator with only some functions, hosted
 *         loops, no processor to pin to), ENOMEM (also a limit on threads), and those of
 *         sennit_loop_open() and `start`. */
SENNIT_API sennit_err
sennit_runtime_open(sennit_runtime **out, const sennit_runtime_opts *opts,
                    sennit_runtime_failure *failure) SENNIT_MUST_CHECK;

/* How many loops it has. */
SENNIT_API unsigned sennit_runtime_count(const sennit_runtime *runtime);

/* One of them: for sennit_loop_post(), and for calls on its own thread. NULL: there is no
 * such loop, or it closes. Valid until `stop` has run on every loop. Do not close or stop
 * it: sennit_runtime_stop(). */
SENNIT_API sennit_loop *sennit_runtime_loop(sennit_runtime *runtime, unsigned index);

/* On which of its loops' threads this is called; -1: on none of them. */
SENNIT_API int sennit_runtime_here(const sennit_runtime *runtime);

/* What its loops share: for inproc with loops outside, and for
 * sennit_context_shutdown(), which ends the runtime as stop does, and every call that
 * waits in it besides. */
SENNIT_API sennit_context *sennit_runtime_context(const sennit_runtime *runtime);

/* Runs `fn(arg)` once on the thread of loop `index`, in one of its turns.
 * From a loop of the runtime, itself included, it goes through a ring that these two have
 * alone: without a lock, and without a system call while the other one is busy. From any
 * other thread it is sennit_loop_post().
 * Order:  calls from one thread to one loop run in the order posted.
 * Errors: EAGAIN (posts_max of this pair are waiting; nothing tells when there is room,
 *         so give way for a turn or so, or raise it), ECLOSED (that loop closes; what it
 *         had taken by then runs), EINVAL, ENOMEM, ESTATE (inherited from before a fork).
 *         On a loop's thread sennit_loop_why() of that loop says more. */
SENNIT_API sennit_err sennit_runtime_post(sennit_runtime *runtime, unsigned index,
                                          void (*fn)(void *arg),
                                          void *arg) SENNIT_MUST_CHECK;

/* Makes every loop finish its turn, run `stop`, and close. A sennit_loop_run() in one of
 * their callbacks returns; what blocks there otherwise ends in its own time, or by
 * sennit_context_shutdown().
 * Thread: any; not in a signal handler. Blocks: no. */
SENNIT_API void sennit_runtime_stop(sennit_runtime *runtime);

/* Waits until it was stopped and all its loops are closed.
 * Thread: any but its own, and not beside close.
 * Errors: ETERM (its context was shut down), ETHREAD (on one of its own threads, which
 *         would wait for itself), EINVAL, ESTATE (inherited from before a fork). */
SENNIT_API sennit_err sennit_runtime_wait(sennit_runtime *runtime);

/* Stops it, joins its threads and frees it. NULL is a no-op. On one of its own threads it
 * ends the program with a sentence: stop it there.
 * Blocks: while its loops close, as sennit_loop_close().
 * Errors: ESTATE (a loop that is not one of its own is still in the context that it has
 *         opened: its own are closed; close that one and call this again). */
SENNIT_API sennit_err sennit_runtime_close(sennit_runtime *runtime);

#ifdef __cplusplus
}
#endif

#endif /* SENNIT_RUNTIME_H */
