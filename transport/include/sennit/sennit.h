/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_SENNIT_H
#define SENNIT_SENNIT_H

/* Raw ZMTP sockets: talks to any libzmq peer over tcp, ipc and inproc.
 *
 * Reading order: errors, bytes and messages, the loop, sockets, observing.
 *
 * Thread: a loop is owned or hosted, which is said when it is opened.
 *
 * An owned loop and everything opened on it belong to the thread that opened the loop; no
 * lock is on their way. The exceptions are sennit_loop_post() and sennit_loop_stop().
 *
 * A hosted loop (sennit_loop_opts.hosted) and its sockets may be used by any threads,
 * also one socket by several at once. Each call is whole: one is inside at a time, and a
 * frame with SENNIT_MORE keeps other threads' frames out until the thread has sent (or
 * received) the last of the message. If that thread gives up in between, they are out for
 * good, and only closing the socket helps: so it finishes what it has begun, or it sends
 * whole messages with sennit_sock_send_many(). A call that waits lets the others in, and
 * waits for the kernel itself, so nothing is handed from thread to thread. A thread of
 * the loop's own goes on while nobody waits: connects, heartbeats, what was gathered,
 * timers, posted calls. Callbacks run on whichever thread does that, one at a time and
 * under no lock of the library; they may call everything but what waits (ESTATE). What a
 * callback sends leaves when it is over, and what others wait for comes then, so it
 * should be brief. sennit_timer_stop(), sennit_sock_on_ready(), sennit_sock_close() and
 * sennit_loop_close() on another thread wait until a callback for that timer or socket,
 * or of that loop, is over: hold no lock that it takes, there and in calls that wait.
 * Closing a socket, or the loop, ends calls that wait on it with ECLOSED; no call may
 * begin after that. So to end threads that go on calling, let
 * sennit_context_shutdown() give them ETERM, join them, and close then.
 * sennit_loop_turn() and _run() are for owned loops, as are proxies. A signal ends
 * (EINTR) the wait of at most one thread.
 *
 * Wrong use: what is NULL and must not be, a handle, a message, a place for a result or
 * memory of more than 0 octets, is EINVAL; calls that have no such result do nothing, or
 * return 0, NULL, "" or -1. A call on another thread than the loop's is ETHREAD; one that
 * could not say so (closing, timer_stop, flush, ready, on_ready, proxy_pause and the
 * like) ends the program with a sentence on stderr, as does sennit_loop_close() in a
 * callback. Those that only read (get_opts, get_stats, get_peers, last_endpoint,
 * timeout_ms) are not checked. So close a loop before its thread ends. A handle that was
 * closed is gone, as memory that was freed is.
 *
 * Fork: what was opened before fork(2) stays the parent's, which goes on undisturbed. In
 * the child every call on an inherited loop or socket that would do something is ESTATE;
 * closing them frees the child's copy and nothing else: no peer hears of it, nothing
 * that is queued leaves, no callback is called. The child opens a loop (and a context)
 * of its own.
 *
 * Progress: an owned loop moves only while its thread is inside the library:
 * a blocking send or receive, sennit_loop_turn(), sennit_loop_run() or
 * sennit_loop_close(). A send that finds its connection idle goes to the
 * kernel at once; sends that follow closely are gathered (20 us at first, up to
 * 160 us while a burst goes on, 500 us where handing over takes long) and leave with a
 * later send, the next other call into the library or when the batch is full, whichever
 * is first. Call sennit_sock_flush() before leaving the library for long. A hosted loop
 * does that by itself: what was gathered leaves within a millisecond without another
 * call. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define SENNIT_API        __attribute__((visibility("default")))
#define SENNIT_MUST_CHECK __attribute__((warn_unused_result))
#else
#define SENNIT_API
#define SENNIT_MUST_CHECK
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Version ---------------------------------------------------------- */

/* "MAJOR.MINOR.PATCH" of the library that is running. */
SENNIT_API const char *sennit_version(void);

/* ---- Errors ----------------------------------------------------------- */

/* Values are append-only. Results of every fallible function; the text says
 * what happened in general, the function's contract says what it means there. */
#define SENNIT_ERR_TABLE(X)                                                              \
    X(OK, 0, "success")                                                                  \
    X(ENOMEM, 1, "out of memory")                                                        \
    X(EINVAL, 2, "invalid argument")                                                     \
    X(EAGAIN, 3, "would block")                                                          \
    X(ETIMEDOUT, 4, "timed out")                                                         \
    X(EPROTO, 5, "peer broke the protocol")                                              \
    X(ESTATE, 6, "not allowed in the current state")                                     \
    X(ENOTSUP, 7, "not supported by this socket type or not built yet")                  \
    X(EADDRINUSE, 8, "address already in use")                                           \
    X(EADDRNOTAVAIL, 9, "address not available")                                         \
    X(EHOSTUNREACH, 10, "no such peer")                                                  \
    X(ENOENT, 11, "not found")                                                           \
    X(EEXIST, 12, "already exists")                                                      \
    X(EMSGSIZE, 13, "too large")                                                         \
    X(ENAMETOOLONG, 14, "name too long")                                                 \
    X(EACCES, 15, "permission denied")                                                   \
    X(EMFILE, 16, "out of file descriptors")                                             \
    X(ECONNREFUSED, 17, "connection refused")                                            \
    X(ECONNRESET, 18, "connection closed by peer")                                       \
    X(ECLOSED, 19, "closed")                                                             \
    X(ETHREAD, 20, "called from a thread that does not own the loop")                    \
    X(EIO, 21, "operating system error")                                                 \
    X(EINTR, 22, "interrupted")                                                          \
    X(ETERM, 23, "the context was shut down")                                            \
    X(ENODEV, 24, "no such host or interface")

typedef enum sennit_err {
#define X(name, value, text) SENNIT_##name = (value),
    SENNIT_ERR_TABLE(X)
#undef X
} sennit_err;

/* Text of the table above, never NULL; "unknown error" for a foreign value. */
SENNIT_API const char *sennit_err_text(sennit_err err);

/* Name of the table above ("EAGAIN"), never NULL; "?" for a foreign value. */
SENNIT_API const char *sennit_err_name(sennit_err err);

/* ---- Bytes, allocator, messages --------------------------------------- */

/* A borrowed view. `data` may be NULL only when `size` is 0. */
typedef struct sennit_bytes {
    const uint8_t *data;
    size_t size;
} sennit_bytes;

/* Nanoseconds of a loop's monotonic clock. */
typedef uint64_t sennit_time;
#define SENNIT_NEVER UINT64_MAX

/* Where a loop and all it owns take memory from. All three functions must be
 * set, or none (then malloc's family serves). They are called only from the
 * loop's thread (hosted: from one thread at a time), except `release`, which runs
 * wherever the last reference to a message body is dropped. */
typedef struct sennit_allocator {
    void *(*acquire)(void *arg, size_t size);
    void *(*resize)(void *arg, void *memory, size_t size);
    void (*release)(void *arg, void *memory);
    void *arg;
} sennit_allocator;

/* One frame of a message. 64 bytes; bodies up to 55 bytes live inside it,
 * larger ones are counted views into shared storage. Zero it with
 * sennit_msg_init() before first use; every function leaves it valid, and
 * sennit_msg_fini() may be called on it any number of times. */
typedef union sennit_msg {
    uint8_t opaque_[64];
    void *align_;
} sennit_msg;

#define SENNIT_MSG_INLINE_MAX 55

/* Makes `msg` an empty frame. What it held before is not looked at. */
SENNIT_API void sennit_msg_init(sennit_msg *msg);

/* Makes `msg` a frame of `size` uninitialised bytes.
 * Errors: ENOMEM (msg is then empty). */
SENNIT_API sennit_err sennit_msg_init_size(sennit_msg *msg,
                                           size_t size) SENNIT_MUST_CHECK;

/* Makes `msg` a frame holding a copy of `size` bytes at `data`.
 * Errors: ENOMEM (msg is then empty). */
SENNIT_API sennit_err sennit_msg_init_copy(sennit_msg *msg, const void *data,
                                           size_t size) SENNIT_MUST_CHECK;

/* Makes `msg` a frame over the caller's memory, without a copy.
 * Takes:  `data` until `release(data, arg)` is called: once, when the last
 *         reference is gone, on whatever thread drops it, perhaps deep inside
 *         another call: it must not call the library (sennit_loop_post() excepted). NULL
 * `release` means the memory outlives the program's messages (constant data). Errors:
 * ENOMEM (msg is then empty and `release` is not called). */
SENNIT_API sennit_err sennit_msg_init_user(sennit_msg *msg, void *data, size_t size,
                                           void (*release)(void *data, void *arg),
                                           void *arg) SENNIT_MUST_CHECK;

/* Makes `msg` one frame whose body is that of `parts`, one after the other.
 * Takes:  the parts on success: they are left empty and valid. Less than 4 KiB together
 *         are copied. From there on each part of 4 KiB or more stays where it is, and a
 *         stream's kernel is told of the pieces; they are copied together for who asks
 *         for the body (data or bytes), for inproc and for publications. That never
 *         fails: the room is there from the beginning. Until then it may not be asked for
 *         by two threads at once that share the body (sennit_msg_copy()).
 * Errors: EINVAL (NULL), ENOMEM; msg is then empty, and the parts are untouched. */
SENNIT_API sennit_err sennit_msg_init_gather(sennit_msg *msg, sennit_msg *parts,
                                             size_t count) SENNIT_MUST_CHECK;

/* Gives back what `msg` holds and leaves it an empty frame. */
SENNIT_API void sennit_msg_fini(sennit_msg *msg);

/* Moves `from` into `to` (what `to` held is given back); `from` becomes empty. */
SENNIT_API void sennit_msg_move(sennit_msg *to, sennit_msg *from);

/* Makes `to` a second reference to the body of `from`. Never copies more than
 * SENNIT_MSG_INLINE_MAX bytes, never fails. Neither body may be written after. */
SENNIT_API void sennit_msg_copy(sennit_msg *to, const sennit_msg *from);

/* The body. Valid until the message is moved, finished or sent. `data` may be
 * written only by the one who made the message and before it is sent or copied. */
SENNIT_API void *sennit_msg_data(sennit_msg *msg);
SENNIT_API size_t sennit_msg_size(const sennit_msg *msg);
SENNIT_API sennit_bytes sennit_msg_bytes(const sennit_msg *msg);

/* After a receive: whether another frame of the same message follows. What is set is for
 * sennit_sock_send_many() only, so that a message which was received can be forwarded as
 * it is; sennit_sock_send() has SENNIT_MORE for that. Making, moving out of and finishing
 * a message clear it. */
SENNIT_API bool sennit_msg_more(const sennit_msg *msg);
SENNIT_API void sennit_msg_set_more(sennit_msg *msg, bool more);

/* After a receive: number of the connection it came through, as in
 * sennit_event.peer. 0 for a message that was not received. */
SENNIT_API uint32_t sennit_msg_peer(const sennit_msg *msg);

/* ---- Context ---------------------------------------------------------- */

/* What the loops of one program (or of one part of it) have in common: inproc
 * names, a limit on sockets, and an end. Optional: a loop without one is alone. */
typedef struct sennit_context sennit_context;

typedef struct sennit_context_opts {
    uint32_t sockets_max; /* open at one time in all its loops; 0: no limit */
} sennit_context_opts;

#define SENNIT_CONTEXT_OPTS_DEFAULT                                                      \
    {                                                                                    \
        0                                                                                \
    }

/* `opts` may be NULL (defaults). Errors: ENOMEM. */
SENNIT_API sennit_err sennit_context_open(
    sennit_context **out, const sennit_context_opts *opts) SENNIT_MUST_CHECK;

/* Makes every call that waits in a loop of the context, now or later, return ETERM
 * (sennit_loop_run() too), and every new socket fail with it. What a socket that is
 * closed already still lets leave is dropped, so that a sennit_loop_close() which waits
 * for it returns; sockets that are closed afterwards linger as ever, until the next call
 * that comes while they do. No-op in a forked child: the loops are the parent's.
 * Thread: any. Blocks: no. */
SENNIT_API void sennit_context_shutdown(sennit_context *context);

/* Frees it. NULL is fine. Errors: ESTATE (a loop of it is still open). */
SENNIT_API sennit_err sennit_context_close(sennit_context *context);

/* ---- Loop ------------------------------------------------------------- */

typedef struct sennit_loop sennit_loop;

/* How a loop asks the kernel. What it is cannot be seen in what sockets do. */
typedef enum sennit_backend {
    /* What the environment variable SENNIT_BACKEND names (epoll or uring; anything else
     * is EINVAL), else epoll, which works everywhere. Where io_uring is
     * named and cannot be had it is epoll, and sennit_loop_notice() says why. A hosted
     * loop has epoll. */
    SENNIT_BACKEND_AUTO = 0,
    SENNIT_BACKEND_EPOLL = 1,
    /* io_uring (Linux 5.19), or no loop. A ring is of one thread: of a hosted loop
     * ENOTSUP.
     */
    SENNIT_BACKEND_URING = 2,
} sennit_backend;

/* Whether a loop that is opened here and now can have `backend`: one is made and undone.
 * `*why` (may be NULL) gets a sentence that names what is in the way (a sandbox,
 * kernel.io_uring_disabled, RLIMIT_MEMLOCK, ...), "" when nothing is. Of AUTO it is also
 * why that is not what SENNIT_BACKEND names.
 * Thread: any.
 * Errors: EINVAL (none of these), ENOTSUP (not built, or the kernel has none), EACCES
 *         (forbidden), ENOMEM, EMFILE. */
SENNIT_API sennit_err sennit_backend_probe(sennit_backend backend, const char **why);

/* One address of a host, as a resolver gives it. */
typedef struct sennit_ip {
    bool v6;
    uint8_t octets[16]; /* network order; IPv4: the first four */
    uint32_t scope;     /* IPv6 zone, or 0 */
} sennit_ip;

#define SENNIT_RESOLVED_MAX 16

/* Looks up host names in place of getaddrinfo(3).
 * Thread: `resolve` runs on threads of the library with all signals blocked, a few
 *         look-ups at a time per loop, so it may be called from several at once; it may
 *         block. sennit_loop_close() does not wait for a call that is still busy: it may
 *         go on when the loop is gone, so `arg` must outlive every call.
 * Errors: any; the attempt counts as failed and is made again like any other. */
typedef struct sennit_resolver {
    sennit_err (*resolve)(void *arg, const char *host, bool ipv6,
                          sennit_ip found[SENNIT_RESOLVED_MAX], size_t *found_count);
    void *arg;
} sennit_resolver;

typedef struct sennit_loop_opts {
    sennit_backend backend;
    /* NULL: malloc. Borrowed for the life of the loop and of every message it gave, to
     * the application or, over inproc, to another loop. */
    const sennit_allocator *allocator;
    /* Loops of one context share inproc names, the limit on sockets and shutdown.
     * NULL: the loop is alone. */
    sennit_context *context;
    sennit_resolver resolver; /* resolve == NULL: getaddrinfo(3) */
    bool hosted;              /* any thread may use it and its sockets: see the beginning.
                                 Starts a thread; takes epoll */
    uint32_t spin_us;         /* so long a wait looks again and again before it sleeps, 0
                                 (not at all) .. 1000: a round trip of two that spin takes
                                 half as long, and a processor each. 20 is enough for a
                                 peer that answers at once */
    /* Called by sennit_loop_open(), at most once, with what sennit_loop_notice() says.
     * NULL: nobody is told. It must not call the library. */
    void (*notice)(void *arg, const char *sentence);
    void *notice_arg;
} sennit_loop_opts;

#define SENNIT_LOOP_OPTS_DEFAULT                                                         \
    {                                                                                    \
        SENNIT_BACKEND_AUTO, NULL, NULL, { NULL, NULL }, false, 0, NULL, NULL            \
    }

/* Opens a loop that the calling thread owns, or a hosted one. `opts` may be NULL
 * (defaults). Starts no thread, unless it is hosted. Installs no signal handler; SIGPIPE
 * is never raised. Errors: ENOMEM, EMFILE, ENOTSUP and EACCES (this backend cannot be
 * had: sennit_backend_probe() says why), EINVAL (allocator with only some functions set;
 * spin_us; no such backend, also in SENNIT_BACKEND), ENOTSUP also of spin_us where this
 * thread may use one processor only, ESTATE (the context is inherited from before a
 * fork). Memory: what bodies have taken is kept for the next ones until the loop is
 * closed, up to 16 MiB for each of the sizes 256 octets, 512 and so on to 1 MiB that were
 * in use at once, and that again where other threads give them back; larger ones are not
 * kept. So many loops with bursts of all sizes are many times that. */
SENNIT_API sennit_err sennit_loop_open(sennit_loop **out,
                                       const sennit_loop_opts *opts) SENNIT_MUST_CHECK;

/* Closes sockets still open, lets what they queued leave within each one's
 * linger_ms, then frees everything. NULL is a no-op. Not from inside a callback: stop
 * the loop there, and close it behind sennit_loop_run(). A hosted loop is closed by any
 * thread; calls that wait in it end with ECLOSED first.
 * Blocks: up to the longest linger_ms of its sockets, in which peers also take what the
 *         kernel has for them; no longer than they need, and no longer than until
 *         sennit_context_shutdown() is called meanwhile. */
SENNIT_API void sennit_loop_close(sennit_loop *loop);

/* Why the last call on this loop or one of its sockets that failed did so. With EINVAL,
 * ENOTSUP, ESTATE and ENAMETOOLONG it names the argument or the option and says what
 * would do; where there is no more to say than the error does it is sennit_err_text().
 * Of NULL (sennit_sock_get_loop() of NULL, too) it says that it is NULL.
 * Static text, never NULL, "" when there was none. EAGAIN counts as a failure here;
 * ETHREAD, and sennit_loop_post(), which is for other threads too, leave it as it is. Of
 * hosted loops: why the calling thread's last call on any of them failed. */
SENNIT_API const char *sennit_loop_why(const sennit_loop *loop);

/* Name of the backend in use: "epoll" or "uring". */
SENNIT_API const char *sennit_loop_backend(const sennit_loop *loop);

/* Why the loop has another backend than the one that AUTO should be here; "" when it has
 * that. Valid while the loop is open. */
SENNIT_API const char *sennit_loop_notice(const sennit_loop *loop);

/* Nanoseconds of the loop's monotonic clock, read now. */
SENNIT_API sennit_time sennit_loop_now(sennit_loop *loop);

/* Makes `msg` a frame of `size` uninitialised bytes, as sennit_msg_init_size(), in memory
 * that the loop uses again when the message is gone, whoever drops it: for those who
 * often send more than 55 bytes.
 * Errors: EINVAL (NULL), ENOMEM (msg is then empty), ETHREAD, ESTATE (inherited from
 *         before a fork). */
SENNIT_API sennit_err sennit_loop_msg_init_size(sennit_loop *loop, sennit_msg *msg,
                                                size_t size) SENNIT_MUST_CHECK;

/* The allocator this loop and its objects use; never NULL. */
SENNIT_API const sennit_allocator *sennit_loop_allocator(const sennit_loop *loop);

/* Writes what was gathered, waits up to `timeout_ms` (0: does not wait, -1: for
 * ever; not at all if there was something to write) for something to do, does it
 * and returns. Callbacks run inside. Look at your sockets again after each turn.
 * Errors: ESTATE when turns nest too deeply (callbacks that block, in which other
 *         callbacks block: at most 8), the loop is hosted, or inherited from before a
 *         fork, EINTR
 *         when a signal arrived, ETERM (with a `timeout_ms` that is not 0), ETHREAD. */
SENNIT_API sennit_err sennit_loop_turn(sennit_loop *loop, int timeout_ms);

/* Turns until sennit_loop_stop(). A signal does not end it.
 * Blocks: until then. Errors: ETERM, ETHREAD, ESTATE (as sennit_loop_turn()). */
SENNIT_API sennit_err sennit_loop_run(sennit_loop *loop);

/* Makes the innermost sennit_loop_run() return after the current turn, or the next one
 * at once when none is running. No-op in a forked child, and for a hosted loop.
 * Thread: any, while the loop is open; not in a signal handler (use signalfd(2), or a
 * thread that waits for signals). Blocks: no. */
SENNIT_API void sennit_loop_stop(sennit_loop *loop);

/* For other event loops: a descriptor that is readable (level-triggered) when
 * the kernel has input for the loop (messages that are here already are told by
 * sennit_sock_ready(): receive until EAGAIN), and the milliseconds until its next timer
 * (-1: none), 0 also when a look at a socket stopped early: see sennit_sock_recv(). Ask
 * for them after you have received. When either fires call sennit_loop_turn(loop, 0).
 * Hosted: -1; its sockets have descriptors of their own. */
SENNIT_API int sennit_loop_fd(const sennit_loop *loop);
SENNIT_API int sennit_loop_timeout_ms(sennit_loop *loop);

/* Runs `fn(arg)` once on the loop's thread (hosted: on one that drives it), in its next
 * turn.
 * Thread: any. Order: calls posted by one thread run in the order posted.
 * Errors: ENOMEM, ESTATE (inherited from before a fork). Calls still waiting when the
 * loop closes are run by close. */
SENNIT_API sennit_err sennit_loop_post(sennit_loop *loop, void (*fn)(void *arg),
                                       void *arg) SENNIT_MUST_CHECK;

/* A one-shot timer in the caller's storage: zero it, then start. */
typedef struct sennit_timer {
    sennit_time at_;
    size_t index_; /* place in the loop's heap + 1; 0: not running */
    void (*fn_)(void *arg);
    void *arg_;
} sennit_timer;

/* (Re)starts `timer` to call `fn(arg)` on the loop's thread `delay_ns` from now.
 * The storage must stay until it has fired or was stopped.
 * Errors: ENOMEM, ETHREAD, ESTATE (inherited from before a fork). */
SENNIT_API sennit_err sennit_timer_start(sennit_loop *loop, sennit_timer *timer,
                                         sennit_time delay_ns, void (*fn)(void *arg),
                                         void *arg) SENNIT_MUST_CHECK;

/* Stops `timer`; it will not fire, even if it was already due. No-op when it
 * is not running. Hosted: nor does it if its callback runs on another thread and starts
 * it anew: that is awaited. */
SENNIT_API void sennit_timer_stop(sennit_loop *loop, sennit_timer *timer);

/* ---- Sockets ---------------------------------------------------------- */

typedef struct sennit_sock sennit_sock;

/* libzmq's numbers. Its draft types are not built. */
typedef enum sennit_sock_type {
    SENNIT_PAIR = 0,
    SENNIT_PUB = 1,
    SENNIT_SUB = 2,
    SENNIT_REQ = 3,
    SENNIT_REP = 4,
    SENNIT_DEALER = 5,
    SENNIT_ROUTER = 6,
    SENNIT_PULL = 7,
    SENNIT_PUSH = 8,
    SENNIT_XPUB = 9,
    SENNIT_XSUB = 10,
    SENNIT_STREAM = 11, /* plain TCP or ipc bytes, no ZMTP */
} sennit_sock_type;

/* "DEALER" and back. Parse is case-insensitive and covers all types of libzmq;
 * it returns ENOTSUP for one that exists but is not built, ENOENT otherwise. */
SENNIT_API const char *sennit_sock_type_name(sennit_sock_type type);
SENNIT_API sennit_err sennit_sock_type_parse(const char *name, sennit_sock_type *out);

#define SENNIT_IDENTITY_MAX 255

/* What XPUB passes up of repeated subscriptions. */
typedef enum sennit_xpub_verbose {
    SENNIT_XPUB_FIRST = 0,    /* the first SUBSCRIBE of a topic and the last CANCEL */
    SENNIT_XPUB_VERBOSE = 1,  /* every SUBSCRIBE, the last CANCEL */
    SENNIT_XPUB_VERBOSER = 2, /* every SUBSCRIBE and every CANCEL */
} sennit_xpub_verbose;

/* Who decides what an XPUB's subscriber gets. */
typedef enum sennit_xpub_manual {
    SENNIT_XPUB_AUTOMATIC = 0, /* what it asked for */
    /* What the application decides by sennit_sock_subscribe() and _unsubscribe(), which
     * then mean the peer whose notice was received last. A peer cannot give back what it
     * did not ask for. */
    SENNIT_XPUB_MANUAL = 1,
    /* And the first message after a received subscription goes only to that peer. */
    SENNIT_XPUB_LAST_VALUE = 2,
} sennit_xpub_manual;

/* What happens to a publication when a subscriber's queue is full (PUB, XPUB). The
 * drop is counted in any case, for the socket and for the peer. */
typedef enum sennit_slow_policy {
    SENNIT_SLOW_DROP_NEW = 0,   /* that subscriber misses it (libzmq) */
    SENNIT_SLOW_DROP_OLD = 1,   /* its oldest whole message makes room */
    SENNIT_SLOW_CONFLATE = 2,   /* its queued message with the same first frame makes
                                   room, else the oldest; both not for
                                   inproc between loops */
    SENNIT_SLOW_DISCONNECT = 3, /* its connection is closed: it comes back (not over
                                   inproc) and knows */
    SENNIT_SLOW_BLOCK = 4,      /* send would block while any matching subscriber is full
                                   (libzmq's XPUB_NODROP) */
} sennit_slow_policy;

enum { /* router_notify: [identity, empty frame] is received when a peer ... Both look
          alike: sennit_msg_peer() tells which connection. With router_handover the end of
          the old connection comes before the beginning of the newcomer's, and what is
          unread of the old one behind both. */
       SENNIT_NOTIFY_CONNECT = 1u << 0,
       SENNIT_NOTIFY_DISCONNECT = 1u << 1,
};

enum { /* reconnect_stop: a connect ends (as by disconnect) when ... */
       SENNIT_STOP_REFUSED = 1u << 0,          /* the connection was refused */
       SENNIT_STOP_HANDSHAKE_FAILED = 1u << 1, /* the handshake failed */
       SENNIT_STOP_DISCONNECTED = 1u << 2,     /* a READY connection ended */
};

/* A property for READY: name "X-..." of letters, digits and -_.+, 3 .. 255 octets. */
typedef struct sennit_property {
    const char *name;
    sennit_bytes value;
} sennit_property;

/* An ipc peer, by its credentials; -1 matches any. */
typedef struct sennit_ipc_filter {
    int64_t uid;
    int64_t gid; /* primary group */
    int64_t pid;
} sennit_ipc_filter;

#define SENNIT_HWM_BYTES_AUTO UINT64_MAX /* send_hwm_bytes */

/* Everything that can be set, with its unit in its name. A field says in brackets when
 * a change by sennit_sock_set_opts() counts: [now]; [next]: for binds, connects and
 * connections made afterwards; [open]: cannot change. Times are in milliseconds up to
 * INT_MAX. Pointers are borrowed for the call that takes the struct. In parentheses
 * libzmq's name, where it is not the same. */
typedef struct sennit_sock_opts {
    /* Queues */
    int send_hwm_msgs;         /* [now] per peer, whole messages queued; 0: no limit */
    int recv_hwm_msgs;         /* [now] per peer, most messages taken from the kernel and
                                  not yet received (large ones stop sooner, at a window of
                                  128 KiB); 0: no limit in messages */
    uint64_t send_hwm_bytes;   /* [now] per peer; a peer with less than this queued takes
                                  one more message of any size; 0: no limit; AUTO:
                                  16 MiB where send waits for room (PUSH, DEALER, REQ,
                                  PAIR; not inproc) and send_hwm_msgs is not 0, else
                                  none */
    uint64_t recv_hwm_bytes;   /* [now] per peer, beside recv_hwm_msgs; 0: no limit */
    bool conflate;             /* [open] PUSH, PULL, PUB, SUB, DEALER: only the newest
                                  message waits, per peer; single frames only. Not inproc
                                  between loops */
    int send_age_max_ms;       /* [now] older queued messages are dropped; 0: no limit.
                                  Not inproc */
    int send_timeout_ms;       /* [now] -1: for ever, 0: as SENNIT_DONTWAIT (SNDTIMEO) */
    int recv_timeout_ms;       /* [now] -1: for ever, 0: as SENNIT_DONTWAIT (RCVTIMEO) */
    int linger_ms;             /* [now] how long close and disconnect let queued messages
                                  leave; -1: for ever, or until the context is shut
                                  down meanwhile. An inproc name that nobody has bound is
                                  not waited for, and whoever has bound it in another
                                  loop may take its time */
    uint32_t send_batch_bytes; /* [next] gathered before it is written, 1 KiB .. 1 MiB
                                  (OUT_BATCH_SIZE) */
    uint32_t recv_batch_bytes; /* [next] most bytes of one receive, 1 KiB .. 128 KiB
                                  (IN_BATCH_SIZE) */

    /* Connections */
    bool immediate;          /* [next] a connect takes messages only while it is READY;
                                what is queued when it breaks is dropped */
    int reconnect_min_ms;    /* [now] first delay before connecting again, 1 ..; -1: never
                                again (RECONNECT_IVL) */
    int reconnect_max_ms;    /* [now] delays double up to this (>= min), with jitter */
    unsigned reconnect_stop; /* [now] SENNIT_STOP_ bits */
    int connect_timeout_ms;  /* [next] for the look-up of the host, and then for each of
                                its addresses, a SOCKS5 proxy included; 0: the operating
                                system's own */
    int handshake_timeout_ms;  /* [next] from connection to READY; without
                                  connect_timeout_ms also what a SOCKS5 proxy has to
                                  connect; 0: none (HANDSHAKE_IVL) */
    uint32_t handshakes_max;   /* [now] per bind, unfinished at one time; beyond, the
                                  oldest of them is ended for the newcomer; 0: no limit */
    int backlog;               /* [next] listen(2) */
    int heartbeat_interval_ms; /* [next] a PING this often; 0: none (HEARTBEAT_IVL) */
    int heartbeat_timeout_ms;  /* [next] no byte for so long after a PING ends the
                                  connection; -1: as the interval, 0: never. A receiver
                                  at its marks reads nothing, PINGs neither: it lives by
                                  its own. So set the interval at both ends, and none
                                  longer than the other's timeout. While our own output
                                  is stuck nothing counts as silence: a host that is
                                  dead or a process that is stopped then shows by
                                  tcp_user_timeout_ms */
    int heartbeat_ttl_ms;      /* [next] the peer ends it if it hears nothing for so long;
                                  0 .. 65500, in steps of 100; 0: it does not */

    /* Bounds on what a peer may send; beyond, its connection is closed. */
    uint64_t recv_frame_max_bytes; /* [next] 0: no limit (MAXMSGSIZE). Like the next two
                                      not for inproc, which has no wire */
    uint64_t
        recv_message_max_bytes; /* [next] all frames of a message together; 0: none */
    uint32_t recv_message_max_parts; /* [next] frames of one message; 0: no limit */
    bool zmtp_unversioned; /* [next] also speak ZMTP 1.0 to peers that do not begin with a
                              signature: libzmq 2, but an HTTP request looks the same */

    /* tcp. Options of the kernel count for binds, connects and connections [next]. */
    bool ipv6;               /* `*` listens on IPv6 as well, names may be IPv6 */
    int tcp_keepalive;       /* -1: the system's, 0: off, 1: on */
    int tcp_keepalive_count; /* the three below, when on; -1: the system's */
    int tcp_keepalive_idle_s;
    int tcp_keepalive_interval_s;
    int tcp_user_timeout_ms;    /* 0: the system's (TCP_MAXRT) */
    bool tcp_reuse_port;        /* SO_REUSEPORT for binds: several sockets of one user, in
                                   any loops and processes, that all set it may bind the
                                   same endpoint, and the kernel spreads connections over
                                   them. What it had put in line for one whose bind ends
                                   is reset, and connects again */
    int tos;                    /* IP_TOS and IPV6_TCLASS, 0 .. 255; -1: the system's */
    int priority;               /* SO_PRIORITY; -1: the system's */
    int busy_poll_us;           /* SO_BUSY_POLL; -1: the system's */
    int kernel_send_bytes;      /* SO_SNDBUF; -1: the system's (SNDBUF) */
    int kernel_recv_bytes;      /* SO_RCVBUF; -1: the system's (RCVBUF) */
    const char *bind_device;    /* SO_BINDTODEVICE; NULL: any */
    const char *socks_proxy;    /* "HOST:PORT" of a SOCKS5 proxy for connects, or NULL */
    const char *socks_username; /* RFC 1929, both or none */
    const char *socks_password;
    const char *const *tcp_accept; /* networks ("10.0.0.0/8") whose peers are accepted */
    size_t tcp_accept_count;       /* 0: all are (TCP_ACCEPT_FILTER) */

    /* ipc */
    int ipc_mode; /* [next] permissions of the path, 0 .. 0777; -1: by the umask. Before
                     Linux 6.6 what the umask takes away is given back through /proc */
    const sennit_ipc_filter *ipc_accept; /* [next] peers that match one are accepted */
    size_t ipc_accept_count;             /* 0: all are (IPC_FILTER_...) */

    /* What the peer is told */
    uint8_t identity[SENNIT_IDENTITY_MAX]; /* [next] what a ROUTER will know us by */
    uint8_t identity_size;                 /* 0: none, the ROUTER makes one up */
    const sennit_property *properties;     /* [next] (METADATA) */
    size_t properties_count;
    sennit_bytes hello; /* [next] first message on every connection; DEALER, ROUTER */
    sennit_bytes disconnected; /* [now] received when an accepted peer leaves; ROUTER */
    sennit_bytes hiccup;       /* [now] received when a connect lost its peer; DEALER */

    /* Request-reply */
    bool router_mandatory;  /* [now] ROUTER: EHOSTUNREACH or would-block instead of a
                               counted drop */
    bool router_handover;   /* [now] ROUTER: a newcomer with a taken identity gets it, the
                               old connection is closed; else, and if the identity was
                               made up or given by connect_as, it is refused */
    unsigned router_notify; /* [now] ROUTER: SENNIT_NOTIFY_ bits */
    bool probe_router;      /* [next] ROUTER, DEALER, REQ: an empty message first */
    bool req_correlate;     /* [now] REQ: requests carry a number, replies with another
                               one are dropped */
    bool req_relaxed;       /* [now] REQ: may send again without a reply, the old
                               request's reply is then dropped, also when that send
                               gives EAGAIN */

    /* Publish-subscribe */
    sennit_xpub_verbose xpub_verbose;   /* [now] XPUB */
    sennit_xpub_manual xpub_manual;     /* [now] XPUB */
    sennit_bytes xpub_welcome;          /* [next] XPUB: first message to a subscriber */
    sennit_slow_policy slow_subscriber; /* [now] PUB, XPUB */
    bool invert_matching;          /* [now] PUB, XPUB, SUB: what does NOT match is sent or
                                      received; set it at both ends */
    bool only_first_subscribe;     /* [now] XPUB, XSUB: only the first frame of a message
                                      may be a subscription */
    bool xsub_verbose_unsubscribe; /* [now] XSUB: every unsubscribe is sent on */
    bool stream_notify;            /* [open] STREAM: [identity, empty] at connect and
                                      disconnect */

    /* Observing */
    uint32_t events;     /* [now] bit 1 << kind: what sennit_sock_next_event() tells */
    uint32_t events_max; /* [open] events kept for a reader, 1 .. 65536 */
} sennit_sock_opts;

/* The options that are not zero by default, as X(field, value). */
#define SENNIT_SOCK_OPTS_DEFAULTS(X)                                                     \
    X(send_hwm_msgs, 1000)                                                               \
    X(recv_hwm_msgs, 1000)                                                               \
    X(send_hwm_bytes, SENNIT_HWM_BYTES_AUTO)                                             \
    X(send_timeout_ms, -1)                                                               \
    X(recv_timeout_ms, -1)                                                               \
    X(linger_ms, 30000)                                                                  \
    X(send_batch_bytes, 64u << 10)                                                       \
    X(recv_batch_bytes, 128u << 10)                                                      \
    X(reconnect_min_ms, 100)                                                             \
    X(reconnect_max_ms, 30000)                                                           \
    X(handshake_timeout_ms, 30000)                                                       \
    X(handshakes_max, 4096)                                                              \
    X(backlog, 1024)                                                                     \
    X(heartbeat_timeout_ms, -1)                                                          \
    X(recv_frame_max_bytes, UINT64_C(1) << 30)                                           \
    X(recv_message_max_bytes, UINT64_C(2) << 30)                                         \
    X(recv_message_max_parts, 1u << 16)                                                  \
    X(tcp_keepalive, -1)                                                                 \
    X(tcp_keepalive_count, -1)                                                           \
    X(tcp_keepalive_idle_s, -1)                                                          \
    X(tcp_keepalive_interval_s, -1)                                                      \
    X(tos, -1)                                                                           \
    X(priority, -1)                                                                      \
    X(busy_poll_us, -1)                                                                  \
    X(kernel_send_bytes, -1)                                                             \
    X(kernel_recv_bytes, -1)                                                             \
    X(ipc_mode, -1)                                                                      \
    X(stream_notify, true)                                                               \
    X(events, SENNIT_EVENTS_DEFAULT)                                                     \
    X(events_max, 64)

#ifndef __cplusplus
#define SENNIT_DEFAULT_FIELD(field, value) .field = (value),
#define SENNIT_SOCK_OPTS_DEFAULT                                                         \
    {                                                                                    \
        SENNIT_SOCK_OPTS_DEFAULTS(SENNIT_DEFAULT_FIELD)                                  \
    }
#else /* which knows no initialiser by name without a warning: by assignment, below */
#define SENNIT_DEFAULT_FIELD(field, value) opts.field = (value);
#define SENNIT_SOCK_OPTS_DEFAULT           sennit_sock_opts_default()
#endif

/* Opens a socket on `loop`. `opts` may be NULL (defaults); it is copied.
 * Errors: ENOMEM, EINVAL (an option out of range, or one that this type does not have:
 *         sennit_loop_why() names it), ENOTSUP (type not built), EMFILE (the context's
 *         sockets_max), ETERM, ETHREAD. */
SENNIT_API sennit_err sennit_sock_open(sennit_sock **out, sennit_loop *loop,
                                       sennit_sock_type type,
                                       const sennit_sock_opts *opts) SENNIT_MUST_CHECK;

/* What is set now. The pointers in `out` are the socket's, valid until its next
 * set_opts or close. To change one option: get, change, set. */
SENNIT_API void sennit_sock_get_opts(const sennit_sock *sock, sennit_sock_opts *out);

/* Changes options; each field of sennit_sock_opts says when that counts.
 * Errors: EINVAL (as open; also a change of an [open] one), ENOTSUP (inproc does not obey
 *         it, and the socket has an inproc name or peer), ENOMEM, ECLOSED, ETHREAD.
 *         Nothing changed then. */
SENNIT_API sennit_err
sennit_sock_set_opts(sennit_sock *sock, const sennit_sock_opts *opts) SENNIT_MUST_CHECK;

/* Closes the socket: unread messages are dropped and counted as nothing else,
 * queued ones, and those the kernel has not delivered yet, leave while the loop
 * turns, for at most linger_ms. Returns at once; the handle is gone. NULL is a
 * no-op. An unfinished multipart message is discarded. */
SENNIT_API void sennit_sock_close(sennit_sock *sock);

/* Listens on `endpoint`:
 *   tcp://ADDRESS:PORT  ADDRESS numeric IPv4, [IPv6], [IPv6%ZONE], `localhost`, the name
 *                       of an interface (its first address), or `*` (every one);
 *                       PORT 0 or `*`: the system chooses
 *   ipc://PATH          up to 107 bytes; `ipc://@NAME`: Linux abstract name;
 *                       `ipc://` + `*`: a fresh path in the temporary directory
 *   inproc://NAME       within this loop and the others of its context
 * Blocks: no.
 * Errors: EINVAL (malformed), ENOTSUP (a transport that is not built; an option that
 *         inproc does not obey or the system cannot set, which sennit_loop_why() names),
 *         ENODEV (no such interface; host names are not looked up here), EADDRINUSE
 *         (also an ipc path somebody listens on; a stale one is taken over; a file that
 *         is no socket is left alone), EADDRNOTAVAIL, EACCES, ENOENT (ipc directory),
 *         ENAMETOOLONG, EMFILE, ENOMEM, ETERM, and without a BIND_FAILED event that says
 *         the same ECLOSED, ETHREAD, ESTATE (inherited from before a fork). */
SENNIT_API sennit_err sennit_sock_bind(sennit_sock *sock,
                                       const char *endpoint) SENNIT_MUST_CHECK;

/* Listens on a descriptor that is already bound and listening (socket activation).
 * Takes:  `fd` on success; it becomes non-blocking and close-on-exec. The path of an ipc
 *         socket is never removed.
 *         Closing closes it and nothing more: a supervisor's copy goes on listening.
 * Errors: EINVAL (no listening tcp or ipc socket, or one that the loop has already),
 *         ENOMEM, and ETERM, ECLOSED, ETHREAD, ESTATE as bind. */
SENNIT_API sennit_err sennit_sock_bind_fd(sennit_sock *sock, int fd) SENNIT_MUST_CHECK;

/* Connects to `endpoint` now and again after every loss, with doubling, jittered
 * delays. Returns at once: messages queue meanwhile. Besides the endpoints of bind:
 *   tcp://HOST:PORT          HOST is looked up, without blocking, before every attempt;
 *                            all its addresses are tried in turn
 *   tcp://SOURCE;HOST:PORT   SOURCE is ADDRESS or ADDRESS:PORT of bind, to come from
 * A second connect of a REQ, DEALER, PUB or SUB to the same string does nothing (as
 * libzmq).
 * An inproc connection that ends is not made again (as libzmq).
 * Errors: EINVAL, ENOTSUP (a transport that is not built; inproc also: an option that it
 *         does not obey), ENODEV (SOURCE), ENAMETOOLONG, ENOMEM, ECLOSED, ETHREAD, ETERM;
 *         inproc also EPROTO (the name is bound, by a type that does not go with this
 *         one) and EEXIST (a PAIR that has a peer, an identity that is taken). The last
 *         only if both are in one loop, and both only if the name is bound already:
 *         later a HANDSHAKE_FAILED event says the same. A host that cannot be found is
 *         no error here: CONNECT_FAILED events say so, and it is tried again. */
SENNIT_API sennit_err sennit_sock_connect(sennit_sock *sock,
                                          const char *endpoint) SENNIT_MUST_CHECK;

/* The same, and the peer is known here by `identity`, whatever it says itself (ROUTER,
 * STREAM; libzmq's CONNECT_ROUTING_ID). Errors: as connect; EINVAL (empty, over 255
 * octets), EEXIST (taken, as of now), ENOTSUP (another type). */
SENNIT_API sennit_err sennit_sock_connect_as(sennit_sock *sock, const char *endpoint,
                                             sennit_bytes identity) SENNIT_MUST_CHECK;

/* Undo a bind (and the connections it accepted) or a connect. `endpoint` is the
 * string used or the one sennit_sock_last_endpoint() told. Queued messages of
 * the connections concerned leave for at most linger_ms (one that is not finished is
 * dropped), and what their peers have sent meanwhile is received. Of several connects to
 * one endpoint, one is undone.
 * Errors: EINVAL (NULL), ENOENT, ECLOSED, ETHREAD. */
SENNIT_API sennit_err sennit_sock_unbind(sennit_sock *sock, const char *endpoint);
SENNIT_API sennit_err sennit_sock_disconnect(sennit_sock *sock, const char *endpoint);

/* Endpoint of the last successful bind or connect, with the port or path the
 * system chose; "" before. Valid until the next bind, connect or close. */
SENNIT_API const char *sennit_sock_last_endpoint(const sennit_sock *sock);

/* SUB, XSUB: adds or removes one prefix; an empty one matches everything. Counted:
 * n subscribes take n unsubscribes. Subscriptions are state: sent to every present and
 * future publisher, and never subject to a high-water mark. An XSUB may as well send a
 * message of 01 or 00 and the topic, which means the same.
 * XPUB with xpub_manual: gives or takes one topic to or from the peer whose notice was
 * received last.
 * Errors: ENOTSUP (another type), ENOENT (unsubscribe of what is not there; XPUB: that
 *         peer is gone), ESTATE (XPUB: no notice was received yet), ENOMEM (nothing
 *         changed, and no publisher was told; one for which there is no memory when
 *         others have been told loses its connection instead, with ENOMEM as the reason,
 *         and is told everything when it is connected again), EMSGSIZE (over 1 MiB). */
SENNIT_API sennit_err sennit_sock_subscribe(sennit_sock *sock, sennit_bytes prefix);
SENNIT_API sennit_err sennit_sock_unsubscribe(sennit_sock *sock, sennit_bytes prefix);

enum {
    SENNIT_DONTWAIT = 1u << 0, /* would-block comes back as EAGAIN */
    SENNIT_MORE = 1u << 1,     /* send: another frame of this message follows */
};

/* Sends one frame.
 * Takes:  the body of `msg` on success (msg is left empty and valid); on failure
 *         msg is untouched.
 * Blocks: while no peer may take the message, up to send_timeout_ms, unless
 *         SENNIT_DONTWAIT. PUB and XPUB never block, except with SENNIT_SLOW_BLOCK; a
 *         ROUTER only if router_mandatory.
 * Errors: EAGAIN (would block, or the time is up), ESTATE (REQ/REP out of turn),
 *         ENOTSUP (SUB, PULL; MORE with conflate), EHOSTUNREACH (ROUTER with
 *         router_mandatory, STREAM: no such identity; STREAM also: no identity frame),
 *         ETERM, EINTR, ENOMEM (the same frame may be sent again), ECLOSED
 *         (a callback closed the socket meanwhile), ESTATE also when blocking calls
 *         nest too deeply, EINVAL (`flags` has other bits), ETHREAD.
 * When the peer that got a message's first frames goes away, the remaining
 * frames are swallowed up to the last one and the message counts as dropped:
 * a receiver sees all frames of a message or none. */
SENNIT_API sennit_err sennit_sock_send(sennit_sock *sock, sennit_msg *msg,
                                       unsigned flags) SENNIT_MUST_CHECK;

/* Receives one frame into `msg` (what it held is given back first, on success).
 * A message becomes receivable only when all its frames have arrived.
 * An XPUB receives 01 or 00 and the topic for a subscription that begins or ends; a
 * STREAM receives [identity, bytes], and sends the same ([identity, empty] closes).
 * One look throws away at most 256 frames that are not for the application (not
 * subscribed to, malformed). If there are more it says EAGAIN, as if nothing was there,
 * and the next turn does not wait, so that timers and other sockets have theirs before
 * you look again.
 * Blocks: until one is there, up to recv_timeout_ms, unless SENNIT_DONTWAIT.
 * Errors: EAGAIN (nothing there, or the time is up), ESTATE (REQ/REP out of
 *         turn), ENOTSUP (PUB, PUSH), EINTR, ENOMEM, ECONNRESET (REQ: the
 *         connection that carried the request is gone; whether it was handled is
 *         not known; another may be sent), EINVAL (`flags` has other bits than
 *         SENNIT_DONTWAIT), ECLOSED, ETERM, ETHREAD as for send. */
SENNIT_API sennit_err sennit_sock_recv(sennit_sock *sock, sennit_msg *msg,
                                       unsigned flags) SENNIT_MUST_CHECK;

/* The same for one frame held in plain memory. send_bytes copies; recv_bytes (which
 * does not tell whether more frames follow: for single-frame messages) writes at most
 * `size` bytes and tells the frame's full size in `*size_out` (more than `size`: it was
 * cut), which may be NULL. */
SENNIT_API sennit_err sennit_sock_send_bytes(sennit_sock *sock, const void *data,
                                             size_t size,
                                             unsigned flags) SENNIT_MUST_CHECK;
SENNIT_API sennit_err sennit_sock_recv_bytes(sennit_sock *sock, void *data, size_t size,
                                             size_t *size_out,
                                             unsigned flags) SENNIT_MUST_CHECK;

/* Sends `count` frames as they stand: sennit_msg_more() of each says whether another
 * frame of its message follows. The last one must not say so. A message that was begun
 * with SENNIT_MORE goes on with the first.
 * Takes:  the bodies of the first `*sent` frames, which are left empty and valid; the
 *         rest is untouched. They are whole messages, unless memory ran out inside one:
 *         then its other frames go on with the next call.
 * Blocks: for the first message, as sennit_sock_send(); then it takes as many as go
 *         without blocking. They leave as one batch.
 * Errors: as sennit_sock_send(), and only when nothing was sent (`*sent` is untouched
 *         then): what stops a later message is told to the call that begins with it.
 *         EINVAL also: NULL for frames or `sent`, a last frame that says that another
 *         one follows, bits of `flags` beside SENNIT_DONTWAIT. */
SENNIT_API sennit_err sennit_sock_send_many(sennit_sock *sock, sennit_msg *msgs,
                                            size_t count, unsigned flags,
                                            size_t *sent) SENNIT_MUST_CHECK;

/* Receives up to `count` frames into `msgs`, which are valid: what they held is given
 * back. When there is no room for all of the last message it comes in part, which
 * sennit_msg_more() of the last frame says, and the rest with the next receive.
 * Gives:  the number of frames in `*received`; those behind are untouched.
 * Blocks: for the first frame, as sennit_sock_recv(); then it takes what is there.
 * Errors: as sennit_sock_recv(), and only when nothing was received; EINVAL also: NULL
 *         for frames or `received`. */
SENNIT_API sennit_err sennit_sock_recv_many(sennit_sock *sock, sennit_msg *msgs,
                                            size_t count, unsigned flags,
                                            size_t *received) SENNIT_MUST_CHECK;

/* Sends one frame whose body is that of `parts`, one after the other; it is copied.
 * Blocks: as sennit_sock_send().
 * Errors: likewise, and EINVAL (NULL for parts or for the data of one of more than 0
 *         octets, or more octets than a size_t tells). */
SENNIT_API sennit_err sennit_sock_send_parts(sennit_sock *sock, const sennit_bytes *parts,
                                             size_t count,
                                             unsigned flags) SENNIT_MUST_CHECK;

/* Hands everything gathered on this socket to the kernel now, as far as the
 * kernel takes it. Never blocks, cannot fail. */
SENNIT_API void sennit_sock_flush(sennit_sock *sock);

/* What would not block right now. */
enum {
    SENNIT_READABLE = 1u << 0, /* a message can be received */
    SENNIT_WRITABLE = 1u << 1, /* a message can be sent */
    SENNIT_EVENTS = 1u << 2,   /* sennit_sock_next_event() has something */
};
SENNIT_API unsigned sennit_sock_ready(sennit_sock *sock);

/* For other event loops: a descriptor that is readable (level-triggered) while the socket
 * is ready for one of `interest`, and, of an owned loop, also while the loop has
 * something to do, its timers included. When it is, call sennit_sock_ready(), which does
 * that first (callbacks of the loop run inside; errors of that turn are told by the next
 * call), or receive until EAGAIN; nothing else is needed, neither a timeout nor
 * sennit_loop_fd(). Of a hosted loop it does not know who asks: it is readable also while
 * another thread is in the middle of a message, the rest of which is for that one (a
 * poller knows). A closed socket's is readable until it is gone. The socket owns the
 * descriptor: poll it, and nothing else. A second call changes `interest`. Gives: `*fd`.
 * Errors: EINVAL, EMFILE, ENOMEM, ECLOSED, ETHREAD. */
SENNIT_API sennit_err sennit_sock_fd(sennit_sock *sock, unsigned interest,
                                     int *fd) SENNIT_MUST_CHECK;

/* Calls `fn(sock, ready, arg)` on the loop's thread, at the end of every turn in
 * which `ready & interest` is not 0 (level-triggered), until changed. NULL `fn`
 * ends it. Never called from inside send, recv, bind or connect's own frame
 * except while those block. The callback may do anything, close included. */
typedef void sennit_sock_fn(sennit_sock *sock, unsigned ready, void *arg);
SENNIT_API void sennit_sock_on_ready(sennit_sock *sock, unsigned interest,
                                     sennit_sock_fn *fn, void *arg);

SENNIT_API sennit_sock_type sennit_sock_get_type(const sennit_sock *sock);
SENNIT_API sennit_loop *sennit_sock_get_loop(const sennit_sock *sock);

/* ---- Observing -------------------------------------------------------- */

typedef enum sennit_event_kind {
    SENNIT_EVENT_LISTENING = 1,    /* bind succeeded */
    SENNIT_EVENT_CONNECTED = 2,    /* transport connected, handshake begins */
    SENNIT_EVENT_ACCEPTED = 3,     /* transport accepted, handshake begins */
    SENNIT_EVENT_READY = 4,        /* handshake done: peer and identity are set */
    SENNIT_EVENT_DISCONNECTED = 5, /* a connection that was READY ended: err, reason */
    SENNIT_EVENT_HANDSHAKE_FAILED = 6, /* it ended before READY: err, reason */
    SENNIT_EVENT_CONNECT_FAILED = 7,   /* err, reason */
    SENNIT_EVENT_RETRYING = 8,         /* delay_ms until the next connect */
    SENNIT_EVENT_ACCEPT_FAILED = 9,    /* err; accepting resumes after delay_ms */
    SENNIT_EVENT_UNBOUND = 10,         /* a listener closed */
    SENNIT_EVENT_CONNECTING = 11,      /* an attempt begins: address */
    SENNIT_EVENT_BIND_FAILED = 12,     /* err */
    SENNIT_EVENT_SUBSCRIBED = 13,      /* PUB, XPUB: topic (its first 64 octets) */
    SENNIT_EVENT_UNSUBSCRIBED = 14,    /* likewise; also for each topic of a lost peer */
    SENNIT_EVENT_SLOW = 15,    /* a message was dropped because this peer's queue is full
                                  (PUB, XPUB, XSUB, ROUTER, REP); once until it has
                                  drained */
    SENNIT_EVENT_GAVE_UP = 16, /* a connect ended by reconnect_stop or reconnect_min_ms */
} sennit_event_kind;

/* All but SUBSCRIBED and UNSUBSCRIBED, which would wash out the others. */
#define SENNIT_EVENTS_DEFAULT                                                            \
    (~0u & ~(1u << SENNIT_EVENT_SUBSCRIBED) & ~(1u << SENNIT_EVENT_UNSUBSCRIBED))

typedef struct sennit_event {
    sennit_event_kind kind;
    sennit_err err;     /* why, or OK */
    sennit_time at;     /* loop clock */
    uint32_t peer;      /* connection number, unique in this socket; 0: none yet */
    uint32_t delay_ms;  /* RETRYING, ACCEPT_FAILED */
    uint64_t lost;      /* events dropped just before this one because nobody read */
    const char *reason; /* static text, never NULL ("" when there is nothing to say) */
    char endpoint[112]; /* the bind or connect it belongs to; long ones are cut */
    char address[64];   /* the peer's, numeric: "1.2.3.4:5", "[::1]:5"; ipc: ""  */
    uint8_t topic[64];
    uint32_t topic_size;                   /* of all of it, may be over 64 */
    uint8_t identity[SENNIT_IDENTITY_MAX]; /* READY, DISCONNECTED: as a ROUTER sees it */
    uint8_t identity_size;
} sennit_event;

/* Takes the oldest of the socket's last events_max events. Nobody needs to read them:
 * the oldest are then dropped and counted in the next one's `lost`.
 * Errors: EAGAIN (none), ECLOSED, ETHREAD. */
SENNIT_API sennit_err sennit_sock_next_event(sennit_sock *sock, sennit_event *out);

/* "READY"; never NULL. */
SENNIT_API const char *sennit_event_name(sennit_event_kind kind);

/* Totals since open. A message that was sent is delivered to the kernel or the inproc
 * peer, or still queued, or in exactly one `dropped_` counter; PUB, XPUB and XSUB count
 * its copies there. This holds between messages: one that is being dropped counts there
 * at its first frame. What send takes and is for no peer is no message: an XSUB's of
 * subscriptions only, a STREAM's without an octet. */
typedef struct sennit_sock_stats {
    uint64_t sent_msgs;            /* accepted by send, whole messages */
    uint64_t received_msgs;        /* handed out by recv, whole messages */
    uint64_t sent_bytes;           /* accepted bodies */
    uint64_t received_bytes;       /* handed-out bodies */
    uint64_t delivered_msgs;       /* copies that reached the kernel or an inproc peer,
                                      less those that were taken back from it (conflate,
                                      SENNIT_SLOW_DROP_OLD, _CONFLATE) */
    uint64_t queued_msgs;          /* copies waiting now */
    uint64_t queued_bytes;         /* bytes waiting now, frame heads included */
    uint64_t dropped_no_peer_msgs; /* PUB without match, ROUTER without such peer */
    uint64_t dropped_hwm_msgs; /* PUB, XSUB, ROUTER, REP: that peer's queue was full */
    uint64_t dropped_disconnect_msgs; /* queued for a connection that is gone */
    uint64_t dropped_memory_msgs;     /* no memory to hold a copy */
    uint64_t dropped_malformed_msgs;  /* received, but no valid envelope */
    uint64_t dropped_filtered_msgs;   /* received, but not what we asked for (SUB, REQ) */
    uint64_t dropped_unread_msgs;     /* received, and given up: XPUB, the oldest of peers
                                         that are gone, which left 64 MiB unread; inproc,
                                         what one had sent that had closed when it was
                                         refused */
    uint64_t dropped_slow_msgs;       /* made room: SENNIT_SLOW_DROP_OLD, _CONFLATE */
    uint64_t dropped_conflated_msgs;  /* conflate: a newer one came, either direction */
    uint64_t dropped_expired_msgs;    /* older than send_age_max_ms */
    uint64_t connections;             /* READY connections now */
    uint64_t subscriptions;           /* PUB, XPUB: (peer, topic) pairs; SUB, XSUB:
                                         prefixes */
    uint64_t topics;                  /* distinct ones (TOPICS_COUNT) */
    uint64_t handshakes_failed;
    uint64_t reconnects; /* connects begun after a loss or failure */
} sennit_sock_stats;

SENNIT_API void sennit_sock_get_stats(const sennit_sock *sock, sennit_sock_stats *out);

/* One peer of a socket: a connection, or a connect that has none at the moment. */
typedef struct sennit_peer {
    uint32_t number;    /* as in sennit_event.peer; 0: no connection now */
    bool ready;         /* handshake done */
    bool accepted;      /* it came to us */
    int type;           /* its socket type, or -1: not known */
    uint8_t zmtp_major; /* version in use; 0: inproc, STREAM, not known yet */
    uint8_t zmtp_minor;
    char endpoint[112];    /* the bind or connect it belongs to; long ones are cut */
    char address[64];      /* numeric, as in sennit_event */
    int64_t uid, gid, pid; /* ipc; -1: not known */
    uint8_t identity[SENNIT_IDENTITY_MAX]; /* as a ROUTER sees it */
    uint8_t identity_size;
    sennit_time ready_at; /* loop clock; 0: not ready */
    sennit_time
        received_at;    /* coarse: when its last bytes came; 0: none yet, or inproc */
    uint64_t sent_msgs; /* accepted for it */
    uint64_t sent_bytes;
    uint64_t delivered_msgs; /* of them, with the kernel or the inproc peer */
    uint64_t received_msgs;  /* handed out by recv */
    uint64_t received_bytes;
    uint64_t queued_msgs;
    uint64_t queued_bytes; /* frame heads included */
    uint64_t unread_msgs;  /* received and not yet handed out */
    uint64_t unread_bytes;
    uint64_t dropped_hwm_msgs; /* these as in sennit_sock_stats */
    uint64_t dropped_disconnect_msgs;
    uint64_t dropped_memory_msgs;
    uint64_t dropped_slow_msgs;
    uint64_t dropped_conflated_msgs;
    uint64_t dropped_expired_msgs;
    uint64_t subscriptions; /* PUB, XPUB */
    uint64_t reconnects;    /* of this connect */
} sennit_peer;

/* Fills in at most `peers_max` of them (NULL and 0: none); returns how many there are.
 * Counters belong to the pipe: those of a connect go on over reconnects. */
SENNIT_API size_t sennit_sock_get_peers(const sennit_sock *sock, sennit_peer *peers,
                                        size_t peers_max);

/* A property of a READY peer's handshake by its name, without regard to case:
 * "Socket-Type", "Identity", "X-...". `value` is valid until the next call on the loop.
 * Errors: ENOENT (no such connection, no such property), ECLOSED, ETHREAD. */
SENNIT_API sennit_err sennit_sock_peer_property(const sennit_sock *sock, uint32_t peer,
                                                const char *name, sennit_bytes *value);

/* Closes one connection; queued messages leave for at most linger_ms. One that we
 * connected is connected again, unless it is inproc. Errors: ENOENT, ETHREAD. */
SENNIT_API sennit_err sennit_sock_disconnect_peer(sennit_sock *sock, uint32_t peer);

/* Turns the loop until the socket has at least `count` READY connections, or (PUB, XPUB)
 * at least `count` (peer, topic) subscriptions.
 * Blocks: up to `timeout_ms` (-1: for ever). Errors: EAGAIN (the time is up), ENOTSUP
 * (subscriptions of another type), and those of recv. */
SENNIT_API sennit_err sennit_sock_wait_connections(sennit_sock *sock, uint64_t count,
                                                   int timeout_ms) SENNIT_MUST_CHECK;
SENNIT_API sennit_err sennit_sock_wait_subscriptions(sennit_sock *sock, uint64_t count,
                                                     int timeout_ms) SENNIT_MUST_CHECK;

#ifdef __cplusplus
/* Gives: SENNIT_SOCK_OPTS_DEFAULT. */
inline sennit_sock_opts
sennit_sock_opts_default(void)
{
    sennit_sock_opts opts = {};
    SENNIT_SOCK_OPTS_DEFAULTS(SENNIT_DEFAULT_FIELD)
    return opts;
}
}
#endif

#endif /* SENNIT_SENNIT_H */
