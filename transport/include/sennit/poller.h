/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_POLLER_H
#define SENNIT_POLLER_H

/* Waits for sockets, foreign descriptors and timers in one call, and tells all of them
 * that are ready: for programs that are not written around callbacks, or whose other half
 * is descriptors. Everything is level-triggered: what is ready is told by each wait until
 * it is so no more. Nothing is starved: when more is ready than there is room for, the
 * next wait begins where this one had to stop.
 *
 * A wait also turns the owned loops of its sockets: what else they have to do is done,
 * and callbacks run in it, which may add, change and remove. (A descriptor that a
 * callback reads is told once more, if it was readable when the wait had looked.)
 *
 * Thread: all of it on the thread that opened it, sennit_poller_wake() excepted. Owned
 * loops of its sockets must be that thread's; those of hosted loops may be in pollers of
 * several threads, and another thread may close them: also while it waits. Of those that
 * wait for the same message one gets it, and the others' receive says EAGAIN, so use
 * SENNIT_DONTWAIT. While a thread is in the middle of a message, no other one is told
 * that the socket is readable (or, when it sends, writable). */

#include "sennit/sennit.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sennit_poller sennit_poller;

/* What something can be ready for, beside SENNIT_READABLE, SENNIT_WRITABLE and (sockets)
 * SENNIT_EVENTS. */
enum {
    SENNIT_URGENT = 1u << 3, /* descriptors: POLLPRI */
    /* Told without being asked for, as long as something else is: */
    SENNIT_FAILED = 1u << 4, /* descriptors: an error or a hang-up (POLLERR, POLLHUP) */
    SENNIT_GONE = 1u << 5,   /* the socket or the descriptor was closed. It is told once,
                                and the id is gone with that */
    SENNIT_DUE = 1u << 6,    /* timers */
};

typedef struct sennit_poller_event {
    uint64_t id;        /* as it was added */
    void *key;          /* likewise */
    sennit_sock *sock;  /* NULL: no socket, or one that is gone */
    int fd;             /* -1: no descriptor */
    unsigned ready;     /* bits of what was asked for, and those that nobody asks for */
    uint64_t due_count; /* timers: how often it was due since it was told last */
} sennit_poller_event;

/* `allocator` may be NULL (malloc); it is borrowed until close.
 * Errors: EINVAL (an allocator with only some functions), ENOMEM, EMFILE. */
SENNIT_API sennit_err sennit_poller_open(
    sennit_poller **out, const sennit_allocator *allocator) SENNIT_MUST_CHECK;

/* Frees it; what was added stays as it is. NULL is a no-op. Not in a callback that runs
 * in its wait. */
SENNIT_API void sennit_poller_close(sennit_poller *poller);

/* Why the last call that failed did so, as sennit_loop_why(). */
SENNIT_API const char *sennit_poller_why(const sennit_poller *poller);

/* Tells when the socket is ready for `interest`: SENNIT_READABLE, SENNIT_WRITABLE,
 * SENNIT_EVENTS, or 0 for nothing at the moment. One may be added several times.
 * Gives:  a number for the calls below, never 0, in `*id` (may be NULL). `key` comes back
 *         in its events.
 * Errors: EINVAL, ETHREAD (the socket's loop is another thread's), ECLOSED, ENOMEM,
 *         ESTATE (inherited from before a fork). */
SENNIT_API sennit_err sennit_poller_add_sock(sennit_poller *poller, sennit_sock *sock,
                                             unsigned interest, void *key, uint64_t *id);

/* The same for a descriptor of any kind that poll(2) takes, and SENNIT_READABLE,
 * SENNIT_WRITABLE and SENNIT_URGENT. Take it out before you close it: a descriptor that
 * is closed is told as SENNIT_GONE only until its number is another's. */
SENNIT_API sennit_err sennit_poller_add_fd(sennit_poller *poller, int fd,
                                           unsigned interest, void *key, uint64_t *id);

/* A timer that is due `delay_ns` from now and then every `interval_ns` (0: once; it is
 * taken out when it has been told). What it misses while nobody waits is counted and told
 * at once; it does not drift. */
SENNIT_API sennit_err sennit_poller_add_timer(sennit_poller *poller, sennit_time delay_ns,
                                              sennit_time interval_ns, void *key,
                                              uint64_t *id);

/* Changes what a socket or a descriptor is asked for.
 * Errors: ENOENT (nothing has this id, or not any more), EINVAL, ENOTSUP (a timer). */
SENNIT_API sennit_err sennit_poller_change(sennit_poller *poller, uint64_t id,
                                           unsigned interest);

/* Starts a timer anew, also one that is due.
 * Errors: ENOENT, ENOTSUP (no timer), ENOMEM (it is not running then). */
SENNIT_API sennit_err sennit_poller_restart(sennit_poller *poller, uint64_t id,
                                            sennit_time delay_ns,
                                            sennit_time interval_ns);

/* Takes it out; it is not told any more. Errors: ENOENT. */
SENNIT_API sennit_err sennit_poller_remove(sennit_poller *poller, uint64_t id);

/* How many are in it. */
SENNIT_API size_t sennit_poller_count(const sennit_poller *poller);

/* Turns the loops and waits until something is ready, and tells as much of that as `out`
 * has room for (`max`, at least 1).
 * Gives:  their number in `*count`; 0 when sennit_poller_wake() ended it.
 * Blocks: up to `timeout_ms` (-1: for ever, 0: not).
 * Errors: EAGAIN (the time is up), EINTR (a signal came), ETERM (the context of one of
 *         its sockets was shut down; not with a `timeout_ms` of 0), ESTATE (in callbacks
 *         that are nested too deep; inherited from before a fork), EMFILE (more
 *         descriptors than the process may have open), ENOMEM (the system's), EINVAL,
 *         ETHREAD. */
SENNIT_API sennit_err sennit_poller_wait(sennit_poller *poller, sennit_poller_event *out,
                                         size_t max, int timeout_ms,
                                         size_t *count) SENNIT_MUST_CHECK;

/* Ends the wait, or the next one at once when nobody waits.
 * Thread: any, while the poller is open, and signal handlers. Blocks: no. */
SENNIT_API void sennit_poller_wake(sennit_poller *poller);

#ifdef __cplusplus
}
#endif

#endif /* SENNIT_POLLER_H */
