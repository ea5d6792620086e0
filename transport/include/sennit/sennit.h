/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_SENNIT_H
#define SENNIT_SENNIT_H

/* Raw ZMTP sockets: talks to any libzmq peer over tcp, ipc and inproc.
 *
 * Reading order: errors, bytes and messages, the loop, sockets, observing.
 *
 * Thread: a loop and everything opened on it belong to the thread that opened
 * the loop (owned mode). The one exception is sennit_loop_post(). Hosted loops
 * and sockets shared between threads are not built yet (see CHANGELOG.md).
 *
 * Progress: an owned loop moves only while its thread is inside the library:
 * a blocking send or receive, sennit_loop_turn(), sennit_loop_run() or
 * sennit_loop_close(). A send that finds its connection idle goes to the
 * kernel at once; sends that follow closely are gathered (20 us at first, up to
 * 160 us while a burst goes on) and leave with a later send, the next other call
 * into the library or when the batch is full, whichever is first. Call
 * sennit_sock_flush() before leaving the library for long. */

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
    X(EINTR, 22, "interrupted")

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
 * loop's thread, except `release`, which runs wherever the last reference to a
 * message body is dropped. */
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

/* After a receive: whether another frame of the same message follows. */
SENNIT_API bool sennit_msg_more(const sennit_msg *msg);

/* After a receive: number of the connection it came through, as in
 * sennit_event.peer. 0 for a message that was not received. */
SENNIT_API uint32_t sennit_msg_peer(const sennit_msg *msg);

/* ---- Loop ------------------------------------------------------------- */

typedef struct sennit_loop sennit_loop;

typedef enum sennit_backend {
    SENNIT_BACKEND_AUTO = 0, /* the best that is built and allowed: epoll today */
    SENNIT_BACKEND_EPOLL = 1,
    SENNIT_BACKEND_URING = 2, /* not built yet: ENOTSUP */
} sennit_backend;

typedef struct sennit_loop_opts {
    sennit_backend backend;
    /* NULL: malloc. Borrowed for the life of the loop and of every message it gave. */
    const sennit_allocator *allocator;
} sennit_loop_opts;

#define SENNIT_LOOP_OPTS_DEFAULT                                                         \
    {                                                                                    \
        SENNIT_BACKEND_AUTO, NULL                                                        \
    }

/* Opens a loop that the calling thread owns. `opts` may be NULL (defaults).
 * Starts no thread. Installs no signal handler; SIGPIPE is never raised.
 * Errors: ENOMEM, EMFILE, ENOTSUP (backend not built), EINVAL (allocator with
 *         only some functions set). */
SENNIT_API sennit_err sennit_loop_open(sennit_loop **out,
                                       const sennit_loop_opts *opts) SENNIT_MUST_CHECK;

/* Closes sockets still open, lets what they queued leave within each one's
 * linger_ms, then frees everything. NULL is a no-op. Not from inside a callback.
 * Blocks: up to the longest linger_ms of its sockets. */
SENNIT_API void sennit_loop_close(sennit_loop *loop);

/* Name of the backend in use: "epoll". */
SENNIT_API const char *sennit_loop_backend(const sennit_loop *loop);

/* Nanoseconds of the loop's monotonic clock, read now. */
SENNIT_API sennit_time sennit_loop_now(sennit_loop *loop);

/* The allocator this loop and its objects use; never NULL. */
SENNIT_API const sennit_allocator *sennit_loop_allocator(const sennit_loop *loop);

/* Writes what was gathered, waits up to `timeout_ms` (0: does not wait, -1: for
 * ever; not at all if there was something to write) for something to do, does it
 * and returns. Callbacks run inside. Look at your sockets again after each turn.
 * Errors: ESTATE when turns nest too deeply (callbacks that block, in which other
 *         callbacks block: at most 8), EINTR when a signal arrived, ETHREAD. */
SENNIT_API sennit_err sennit_loop_turn(sennit_loop *loop, int timeout_ms);

/* Turns until sennit_loop_stop(). A signal does not end it. */
SENNIT_API sennit_err sennit_loop_run(sennit_loop *loop);

/* Makes the innermost sennit_loop_run() return after the current turn. Must be
 * called on the loop's thread; from another thread post a call to it. */
SENNIT_API void sennit_loop_stop(sennit_loop *loop);

/* For other event loops: a descriptor that is readable (level-triggered) when
 * the kernel has input for the loop (messages that are here already are told by
 * sennit_sock_ready(): receive until EAGAIN), and the milliseconds until its next timer
 * (-1: none). When either fires call sennit_loop_turn(loop, 0). */
SENNIT_API int sennit_loop_fd(const sennit_loop *loop);
SENNIT_API int sennit_loop_timeout_ms(sennit_loop *loop);

/* Runs `fn(arg)` once on the loop's thread, in its next turn.
 * Thread: any. Order: calls posted by one thread run in the order posted.
 * Errors: ENOMEM. Calls still waiting when the loop closes are run by close. */
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
 * The storage must stay until it has fired or was stopped. Errors: ENOMEM. */
SENNIT_API sennit_err sennit_timer_start(sennit_loop *loop, sennit_timer *timer,
                                         sennit_time delay_ns, void (*fn)(void *arg),
                                         void *arg) SENNIT_MUST_CHECK;

/* Stops `timer`; it will not fire, even if it was already due. No-op when it
 * is not running. */
SENNIT_API void sennit_timer_stop(sennit_loop *loop, sennit_timer *timer);

/* ---- Sockets ---------------------------------------------------------- */

typedef struct sennit_sock sennit_sock;

/* libzmq's numbers. Types of libzmq that are absent here are not built yet. */
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
} sennit_sock_type;

/* "DEALER" and back. Parse is case-insensitive and covers all types of libzmq;
 * it returns ENOTSUP for one that exists but is not built, ENOENT otherwise. */
SENNIT_API const char *sennit_sock_type_name(sennit_sock_type type);
SENNIT_API sennit_err sennit_sock_type_parse(const char *name, sennit_sock_type *out);

#define SENNIT_IDENTITY_MAX 255

typedef struct sennit_sock_opts {
    int send_hwm_msgs;      /* per peer, whole messages queued; 0: no limit */
    int recv_hwm_msgs;      /* per peer, most messages taken from the kernel and not yet
                               received (large ones stop sooner, at a window of 128
                               KiB); 0: no limit in messages */
    int send_timeout_ms;    /* -1: for ever, 0: as SENNIT_DONTWAIT */
    int recv_timeout_ms;    /* -1: for ever, 0: as SENNIT_DONTWAIT */
    int linger_ms;          /* how long close lets queued messages leave; -1: for ever */
    int reconnect_min_ms;   /* first delay before connecting again, 1 .. */
    int reconnect_max_ms;   /* delays double up to this (>= min), each with jitter */
    int connect_timeout_ms; /* 0: the operating system's own */
    int handshake_timeout_ms;        /* from connection to READY; 0: none */
    int backlog;                     /* listen(2) */
    uint64_t recv_frame_max_bytes;   /* larger frames close the connection; 0: no limit */
    uint64_t recv_message_max_bytes; /* all frames of a message together; 0: no limit */
    uint32_t recv_message_max_parts; /* frames of one message; 0: no limit */
    bool router_mandatory; /* ROUTER: EHOSTUNREACH / would-block instead of a counted drop
                            */
    uint8_t identity[SENNIT_IDENTITY_MAX]; /* what a ROUTER peer will know us by */
    uint8_t identity_size;                 /* 0: none, the ROUTER makes one up */
} sennit_sock_opts;

#define SENNIT_SOCK_OPTS_DEFAULT                                                         \
    {                                                                                    \
        .send_hwm_msgs = 1000, .recv_hwm_msgs = 1000, .send_timeout_ms = -1,             \
        .recv_timeout_ms = -1, .linger_ms = 30000, .reconnect_min_ms = 100,              \
        .reconnect_max_ms = 30000, .connect_timeout_ms = 0,                              \
        .handshake_timeout_ms = 30000, .backlog = 1024,                                  \
        .recv_frame_max_bytes = UINT64_C(1) << 30,                                       \
        .recv_message_max_bytes = UINT64_C(2) << 30, .recv_message_max_parts = 1u << 16  \
    }

/* Opens a socket on `loop`. `opts` may be NULL (defaults).
 * Errors: ENOMEM, EINVAL (an option out of range; identity starting with a
 *         zero byte), ENOTSUP (type not built), ETHREAD. */
SENNIT_API sennit_err sennit_sock_open(sennit_sock **out, sennit_loop *loop,
                                       sennit_sock_type type,
                                       const sennit_sock_opts *opts) SENNIT_MUST_CHECK;

/* Closes the socket: unread messages are dropped and counted as nothing else,
 * queued ones leave while the loop turns, for at most linger_ms. Returns at
 * once; the handle is gone. NULL is a no-op. An unfinished multipart message
 * is discarded. */
SENNIT_API void sennit_sock_close(sennit_sock *sock);

/* Listens on `endpoint`:
 *   tcp://ADDRESS:PORT  ADDRESS numeric IPv4, [IPv6], `localhost` or `*`;
 *                       PORT 0 or `*`: the system chooses
 *   ipc://PATH          up to 107 bytes; `ipc://@NAME`: Linux abstract name;
 *                       `ipc://` + `*`: a fresh path in the temporary directory
 *   inproc://NAME       within this loop
 * Blocks: no.
 * Errors: EINVAL (malformed), ENOTSUP (a transport, host name or interface name
 *         that is not built yet), EADDRINUSE (also an ipc path somebody listens
 *         on; a stale one is taken over), EADDRNOTAVAIL, EACCES, ENOENT (ipc
 *         directory), ENAMETOOLONG, EMFILE, ENOMEM. */
SENNIT_API sennit_err sennit_sock_bind(sennit_sock *sock,
                                       const char *endpoint) SENNIT_MUST_CHECK;

/* Connects to `endpoint` now and again after every loss, with doubling, jittered
 * delays. Returns at once: messages queue meanwhile. A second connect of a REQ,
 * DEALER, PUB or SUB to the same string does nothing (as libzmq).
 * Errors: EINVAL, ENOTSUP, ENAMETOOLONG, ENOMEM, ECLOSED, ETHREAD; inproc also
 *         EPROTO (socket types do not go together) and EEXIST (a PAIR that has a
 *         peer, an identity that is taken). */
SENNIT_API sennit_err sennit_sock_connect(sennit_sock *sock,
                                          const char *endpoint) SENNIT_MUST_CHECK;

/* Undo a bind (and the connections it accepted) or a connect. `endpoint` is the
 * string used or the one sennit_sock_last_endpoint() told. Queued messages of
 * the connections concerned leave for at most linger_ms. Errors: ENOENT. */
SENNIT_API sennit_err sennit_sock_unbind(sennit_sock *sock, const char *endpoint);
SENNIT_API sennit_err sennit_sock_disconnect(sennit_sock *sock, const char *endpoint);

/* Endpoint of the last successful bind or connect, with the port or path the
 * system chose; "" before. Valid until the next bind, connect or close. */
SENNIT_API const char *sennit_sock_last_endpoint(const sennit_sock *sock);

/* SUB: adds or removes one prefix; an empty one matches everything. Counted:
 * n subscribes take n unsubscribes. Subscriptions are state: sent to every
 * present and future publisher, and never subject to a high-water mark.
 * Errors: ENOTSUP (not a SUB), ENOENT (unsubscribe of what is not there),
 *         ENOMEM, EMSGSIZE (over 1 MiB). */
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
 *         SENNIT_DONTWAIT. PUB never blocks; a ROUTER only if router_mandatory.
 * Errors: EAGAIN (would block, or the time is up), ESTATE (REQ/REP out of turn),
 *         ENOTSUP (SUB, PULL), EHOSTUNREACH (ROUTER with router_mandatory: no
 *         such identity), EINTR, ENOMEM (the same frame may be sent again), ECLOSED
 *         (a callback closed the socket meanwhile), ESTATE also when blocking calls
 *         nest too deeply, ETHREAD.
 * When the peer that got a message's first frames goes away, the remaining
 * frames are swallowed up to the last one and the message counts as dropped:
 * a receiver sees all frames of a message or none. */
SENNIT_API sennit_err sennit_sock_send(sennit_sock *sock, sennit_msg *msg,
                                       unsigned flags) SENNIT_MUST_CHECK;

/* Receives one frame into `msg` (what it held is given back first, on success).
 * A message becomes receivable only when all its frames have arrived.
 * Blocks: until one is there, up to recv_timeout_ms, unless SENNIT_DONTWAIT.
 * Errors: EAGAIN (nothing there, or the time is up), ESTATE (REQ/REP out of
 *         turn), ENOTSUP (PUB, PUSH), EINTR, ENOMEM, ECONNRESET (REQ: the
 *         connection that carried the request is gone; whether it was handled is
 *         not known; another may be sent), ECLOSED, ETHREAD as for send. */
SENNIT_API sennit_err sennit_sock_recv(sennit_sock *sock, sennit_msg *msg,
                                       unsigned flags) SENNIT_MUST_CHECK;

/* The same for one frame held in plain memory. send_bytes copies; recv_bytes (which
 * does not tell whether more frames follow: for single-frame messages) writes at most
 * `size` bytes and tells the frame's full size in `*size_out` (more than `size`: it was
 * cut). */
SENNIT_API sennit_err sennit_sock_send_bytes(sennit_sock *sock, const void *data,
                                             size_t size,
                                             unsigned flags) SENNIT_MUST_CHECK;
SENNIT_API sennit_err sennit_sock_recv_bytes(sennit_sock *sock, void *data, size_t size,
                                             size_t *size_out,
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
} sennit_event_kind;

typedef struct sennit_event {
    sennit_event_kind kind;
    sennit_err err;     /* why, or OK */
    sennit_time at;     /* loop clock */
    uint32_t peer;      /* connection number, unique in this socket; 0: none yet */
    uint32_t delay_ms;  /* RETRYING, ACCEPT_FAILED */
    uint64_t lost;      /* events dropped just before this one because nobody read */
    const char *reason; /* static text, never NULL ("" when there is nothing to say) */
    char endpoint[112]; /* the bind or connect it belongs to; long ones are cut */
    uint8_t identity[SENNIT_IDENTITY_MAX]; /* READY, DISCONNECTED: as a ROUTER sees it */
    uint8_t identity_size;
} sennit_event;

/* Takes the oldest of the socket's last 64 events. Nobody needs to read them:
 * the oldest are then dropped and counted in the next one's `lost`.
 * Errors: EAGAIN (none). */
SENNIT_API sennit_err sennit_sock_next_event(sennit_sock *sock, sennit_event *out);

/* "READY"; never NULL. */
SENNIT_API const char *sennit_event_name(sennit_event_kind kind);

/* Totals since open. A message handed to send is delivered to the kernel or the
 * inproc peer, or still queued, or in exactly one `dropped_` counter. */
typedef struct sennit_sock_stats {
    uint64_t sent_msgs;            /* accepted by send, whole messages */
    uint64_t received_msgs;        /* handed out by recv, whole messages */
    uint64_t sent_bytes;           /* accepted bodies */
    uint64_t received_bytes;       /* handed-out bodies */
    uint64_t delivered_msgs;       /* copies that reached the kernel or an inproc peer */
    uint64_t queued_msgs;          /* copies waiting now */
    uint64_t queued_bytes;         /* bytes waiting now, frame heads included */
    uint64_t dropped_no_peer_msgs; /* PUB without match, ROUTER without such peer */
    uint64_t dropped_hwm_msgs;     /* PUB, ROUTER: that peer's queue was full */
    uint64_t dropped_disconnect_msgs; /* queued for a connection that is gone */
    uint64_t dropped_memory_msgs;     /* no memory to hold a copy */
    uint64_t dropped_malformed_msgs;  /* received, but no valid envelope */
    uint64_t dropped_filtered_msgs;   /* received, but not what we asked for (SUB, REQ) */
    uint64_t connections;             /* READY connections now */
    uint64_t subscriptions;           /* PUB: (peer, topic) pairs; SUB: prefixes */
    uint64_t handshakes_failed;
    uint64_t reconnects; /* connects begun after a loss or failure */
} sennit_sock_stats;

SENNIT_API void sennit_sock_get_stats(const sennit_sock *sock, sennit_sock_stats *out);

#ifdef __cplusplus
}
#endif

#endif /* SENNIT_SENNIT_H */
