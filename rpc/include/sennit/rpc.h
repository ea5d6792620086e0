/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_RPC_H
#define SENNIT_RPC_H

/* Send, publish and request on string addresses, within a process and between
 * processes, with exactly one outcome per call.
 *
 * Reading order: failures, the bus, links, consumers and services, inside a
 * handler, sending, requests, clients (what generated code uses), observing.
 * Rule numbers (R1, D4, ...) are explained in rpc/README.md.
 *
 * Thread: a bus and everything on it belong to the thread that owns its loop.
 * Callbacks run on that thread, inside a turn of the loop (or inside
 * sennit_bus_close), never inside the call that asked for them. */

#include <stdarg.h>

#include <sennit/pack.h>
#include <sennit/sennit.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Failures --------------------------------------------------------- */

/* Why a call has no result. Values travel on the wire and are append-only; a
 * peer may send one this build does not know. */
#define SENNIT_KIND_TABLE(X)                                                             \
    X(NONE, 0, "success")                                                                \
    X(NO_HANDLERS, 1, "nobody consumes this address")                                    \
    X(TIMEOUT, 2, "the time for the call is up")                                         \
    X(RECIPIENT_FAILURE, 3, "the handler failed the call")                               \
    X(CANCELLED, 4, "cancelled by the caller")                                           \
    X(NOT_SENT, 5, "the connection went away before anything was sent")                  \
    X(PEER_LOST, 6, "the connection was lost after the request was sent")                \
    X(OVERLOADED, 7, "a mailbox or send queue is full")                                  \
    X(DRAINING, 8, "the node is going away")                                             \
    X(UNIMPLEMENTED, 9, "the service is there, the method is not")                       \
    X(BAD_MESSAGE, 10, "the message could not be decoded")                               \
    X(TOO_LARGE, 11, "the message is larger than the limit")                             \
    X(NO_REPLY, 12, "the handler dropped the request without answering")                 \
    X(CLOSED, 13, "the bus was closed")                                                  \
    X(PROTOCOL, 14, "the peer broke the protocol")                                       \
    X(NO_MEMORY, 15, "out of memory")

typedef enum sennit_kind {
#define X(name, value, text) SENNIT_KIND_##name = (value),
    SENNIT_KIND_TABLE(X)
#undef X
} sennit_kind;

/* Text and name ("NO_HANDLERS") of the table above; never NULL. */
SENNIT_API const char *sennit_kind_text(sennit_kind kind);
SENNIT_API const char *sennit_kind_name(sennit_kind kind);

/* The sennit_err a blocking call returns for a failure of this kind: ENOENT
 * (NO_HANDLERS), ETIMEDOUT, ENOTSUP (UNIMPLEMENTED), EAGAIN (OVERLOADED,
 * DRAINING), EINTR (CANCELLED), ECONNRESET (PEER_LOST), EHOSTUNREACH (NOT_SENT),
 * EINVAL (BAD_MESSAGE), EMSGSIZE, ECLOSED, EPROTO, ENOMEM, and EIO for
 * RECIPIENT_FAILURE, NO_REPLY and kinds this build does not know. */
SENNIT_API sennit_err sennit_kind_err(sennit_kind kind);

/* Whether the handler ran, as far as can be known. `never` is a promise. */
typedef enum sennit_ran {
    SENNIT_RAN_NEVER = 0,
    SENNIT_RAN_MAYBE = 1,
    SENNIT_RAN_YES = 2,
} sennit_ran;

/* "never", "maybe", "yes"; never NULL. */
SENNIT_API const char *sennit_ran_name(sennit_ran ran);

#define SENNIT_NODE_ID_SIZE      16
#define SENNIT_ERROR_MESSAGE_MAX 223

/* A failed call. `detail` is borrowed: valid during the callback that got the
 * error, or placed in the arena given to a blocking call. All else is inside. */
typedef struct sennit_error {
    sennit_kind kind;
    sennit_ran ran;
    int32_t code;        /* the application's own number; 0 when it gave none */
    uint32_t attempts;   /* times the request was handed to a node */
    uint32_t detail_id;  /* which declared error `detail` holds; 0: none */
    sennit_bytes detail; /* msgpack, checked */
    bool remote;         /* told by a peer; `node` is then that peer */
    uint8_t node[SENNIT_NODE_ID_SIZE];
    char message[SENNIT_ERROR_MESSAGE_MAX + 1]; /* for people; names the address */
} sennit_error;

/* Whether sending the request again cannot make the handler run twice, or may do
 * so because the method is idempotent. */
SENNIT_API bool sennit_error_safe_to_retry(const sennit_error *error, bool idempotent);

/* Fills `error` with a kind and a printf text and clears the rest. */
SENNIT_API void sennit_error_set(sennit_error *error, sennit_kind kind, sennit_ran ran,
                                 const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 4, 5)))
#endif
    ;

/* ---- Bus -------------------------------------------------------------- */

typedef struct sennit_bus sennit_bus;

#define SENNIT_ADDRESS_MAX 255  /* bytes */
#define SENNIT_HEADERS_MAX 8192 /* bytes of one message's headers, encoded (H1) */

typedef struct sennit_bus_opts {
    uint8_t node_id[SENNIT_NODE_ID_SIZE]; /* all zero: made up at open */
    int timeout_ms;                       /* of a call that says nothing else (R5) */
    uint32_t mailbox_max_msgs;     /* per consumer, 1 ..; at the bound: OVERLOADED (B1) */
    uint64_t mailbox_max_bytes;    /* per consumer, 1 .. */
    uint64_t peer_queue_max_bytes; /* per connection, waiting to be sent (B3); as much
                                      again may be in its socket */
    uint32_t frame_max_bytes;      /* largest frame we send or take, 1 KiB .. 1 GiB */
    uint32_t calls_max;            /* requests waiting for an outcome, 1 .. 2^24-1 */
    int linger_ms;                 /* how long close lets queued records leave */
    int reconnect_min_ms;          /* as in sennit_sock_opts, for links */
    int reconnect_max_ms;
    const char *advertise; /* endpoint told to peers; NULL: the one listened on */
    /* Source of random bytes for call ids and node id; NULL: the system's. For
     * tests that must repeat. */
    void (*entropy)(void *out, size_t size, void *arg);
    void *entropy_arg;
} sennit_bus_opts;

/* The options that are not zero by default, as X(field, value). */
#define SENNIT_BUS_OPTS_DEFAULTS(X)                                                      \
    X(timeout_ms, 30000)                                                                 \
    X(mailbox_max_msgs, 4096)                                                            \
    X(mailbox_max_bytes, UINT64_C(16) << 20)                                             \
    X(peer_queue_max_bytes, UINT64_C(8) << 20)                                           \
    X(frame_max_bytes, UINT32_C(16) << 20)                                               \
    X(calls_max, UINT32_C(1) << 20)                                                      \
    X(linger_ms, 1000)                                                                   \
    X(reconnect_min_ms, 100)                                                             \
    X(reconnect_max_ms, 30000)

#ifndef __cplusplus
#define SENNIT_BUS_OPTS_DEFAULT                                                          \
    {                                                                                    \
        SENNIT_BUS_OPTS_DEFAULTS(SENNIT_DEFAULT_FIELD)                                   \
    }
#else /* as SENNIT_SOCK_OPTS_DEFAULT */
#define SENNIT_BUS_OPTS_DEFAULT sennit_bus_opts_default()
inline sennit_bus_opts
sennit_bus_opts_default(void)
{
    sennit_bus_opts opts = {};
    SENNIT_BUS_OPTS_DEFAULTS(SENNIT_DEFAULT_FIELD)
    return opts;
}
#endif

/* Opens a bus on `loop`, which must outlive it. `opts` may be NULL. A bus without
 * links or listeners is a bus within the process.
 * Errors: ENOMEM, EINVAL (an option out of range), EIO (no random bytes),
 *         ETHREAD. */
SENNIT_API sennit_err sennit_bus_open(sennit_bus **out, sennit_loop *loop,
                                      const sennit_bus_opts *opts) SENNIT_MUST_CHECK;

/* Ends every call that is waiting with CLOSED (their callbacks run inside),
 * answers what waits in mailboxes with CLOSED/never, hands queued records to the
 * sockets (which then have linger_ms to send them, while the loop turns) and
 * frees everything. Called from one of this bus's own callbacks it does so when
 * that returns; until then every function on the bus gives ECLOSED. NULL is a
 * no-op. */
SENNIT_API void sennit_bus_close(sennit_bus *bus);

SENNIT_API sennit_loop *sennit_bus_loop(const sennit_bus *bus);
SENNIT_API const uint8_t *sennit_bus_node_id(const sennit_bus *bus);

/* ---- Links ------------------------------------------------------------ */

/* Takes links of other nodes, and requests of guests (plain ZMTP DEALERs that
 * write records without a HELLO), on `endpoint`. May be called several times.
 * Errors: as sennit_sock_bind(), ECLOSED. */
SENNIT_API sennit_err sennit_bus_listen(sennit_bus *bus,
                                        const char *endpoint) SENNIT_MUST_CHECK;

/* Also publishes every event on a PUB socket at `endpoint`, for plain SUB guests:
 * [address NUL, frame with one PUB record] (D7: subscribe to "address\0" for one
 * address alone). Order holds among its events, not between them and anything
 * else (D2). Errors: as sennit_sock_bind(), ECLOSED. */
SENNIT_API sennit_err sennit_bus_listen_events(sennit_bus *bus,
                                               const char *endpoint) SENNIT_MUST_CHECK;

/* Where the last listen of each kind ended up; "" before. Valid until the next. */
SENNIT_API const char *sennit_bus_endpoint(const sennit_bus *bus);
SENNIT_API const char *sennit_bus_events_endpoint(const sennit_bus *bus);

/* Keeps a link to the node at `endpoint`: connects, says HELLO, connects again
 * after each loss. One link serves both directions. A link that leads back to
 * this very bus is noticed and left idle, so a list may name its reader.
 * Blocks: no; see sennit_bus_wait_ready().
 * Errors: EINVAL, ENOTSUP, ENAMETOOLONG, ENOMEM, EEXIST (linked already), ECLOSED. */
SENNIT_API sennit_err sennit_bus_link(sennit_bus *bus,
                                      const char *endpoint) SENNIT_MUST_CHECK;

/* Ends the link; calls that wait for it fail as if it was lost.
 * Errors: ENOENT, ECLOSED. */
SENNIT_API sennit_err sennit_bus_unlink(sennit_bus *bus, const char *endpoint);

/* Whether every link is up and every node connected now has confirmed that it
 * knows our consumers (D8). */
SENNIT_API bool sennit_bus_ready(const sennit_bus *bus);

/* Turns the loop until sennit_bus_ready().
 * Blocks: up to `timeout_ms` (-1: for ever).
 * Errors: ETIMEDOUT, ESTATE (inside a callback of this bus), ECLOSED (a callback
 *         closed the bus), EINTR, EIO. */
SENNIT_API sennit_err sennit_bus_wait_ready(sennit_bus *bus,
                                            int timeout_ms) SENNIT_MUST_CHECK;

/* ---- Consumers and services ------------------------------------------- */

typedef struct sennit_ctx sennit_ctx; /* the message a handler is working on */
typedef struct sennit_consumer sennit_consumer;

/* Handles one message. `body` and what `ctx` gives are borrowed until it returns.
 * A handler never runs inside another one of the same bus. */
typedef void sennit_consumer_fn(sennit_ctx *ctx, sennit_bytes body, void *arg);

typedef enum sennit_scope {
    SENNIT_SCOPE_CLUSTER = 0, /* linked nodes are told and may send here */
    SENNIT_SCOPE_LOCAL = 1,   /* this bus only; nobody is told (D9) */
} sennit_scope;

typedef struct sennit_consume_opts {
    sennit_scope scope;
    uint32_t mailbox_max_msgs;  /* 0: the bus's */
    uint64_t mailbox_max_bytes; /* 0: the bus's */
} sennit_consume_opts;

/* Registers a consumer of `address`: 1 to 255 bytes of printable ASCII or UTF-8
 * without spaces, dots between non-empty tokens; "$sennit" is reserved. With a
 * token `*` (any one token) or a last token `>` (one or more) it is a pattern,
 * which hears events only (D10). `opts` may be NULL. The consumer works from now
 * on; for other nodes see sennit_bus_ready().
 *
 * Gives:  `*out`, for cancelling. `out` may be NULL: the consumer then lives as long
 *         as the bus.
 *
 * Each message waits in the consumer's mailbox. At its bound a request is
 * answered OVERLOADED/never, anything else becomes a dead letter.
 * Errors: EINVAL (address), ENOMEM, ECLOSED. */
SENNIT_API sennit_err sennit_bus_consume(sennit_bus *bus, const char *address,
                                         const sennit_consume_opts *opts,
                                         sennit_consumer **out, sennit_consumer_fn *fn,
                                         void *arg) SENNIT_MUST_CHECK;

/* Any function; cast back to its own type before it is called. */
typedef void sennit_any_fn(void);

/* As sennit_bus_consume() for generated code: `thunk` decodes and calls `fn`. */
typedef void sennit_consumer_thunk(sennit_ctx *ctx, sennit_bytes body, sennit_any_fn *fn,
                                   void *arg);
SENNIT_API sennit_err sennit_bus_consume_typed(sennit_bus *bus, const char *address,
                                               const sennit_consume_opts *opts,
                                               sennit_consumer **out,
                                               sennit_consumer_thunk *thunk,
                                               sennit_any_fn *fn,
                                               void *arg) SENNIT_MUST_CHECK;

/* Ends a consumer or a served service; its handler is not called again. Requests
 * in its mailbox are answered NO_HANDLERS/never, the rest become dead letters.
 * May be called from its own handler. NULL is a no-op. */
SENNIT_API void sennit_consumer_cancel(sennit_consumer *consumer);

/* One method of a service. `vtable` and `self` are what serve was given. */
typedef void sennit_method_fn(sennit_ctx *ctx, sennit_bytes body, const void *vtable,
                              void *self);

typedef struct sennit_method {
    const char *name;
    sennit_method_fn *fn; /* NULL: UNIMPLEMENTED */
} sennit_method;

/* A service as generated code declares it: static, constant. */
typedef struct sennit_service {
    uint32_t abi;     /* sizeof(sennit_service) at build time */
    const char *name; /* "pkg.Service", or with its major version "pkg.Service/1" */
    const sennit_method *methods;
    size_t methods_count;
} sennit_service;

/* Serves all methods of `service` at "<name>.<method>" as one consumer with one
 * mailbox. Another method name is answered UNIMPLEMENTED/never. A service hears
 * requests and sends, not events.
 * Takes:  `service` and `vtable` are borrowed until cancel, or until the bus is closed.
 * Gives:  `*out` as sennit_bus_consume() does.
 * Errors: EINVAL (name, abi), ENOMEM, ECLOSED. */
SENNIT_API sennit_err sennit_bus_serve(sennit_bus *bus, const sennit_service *service,
                                       const void *vtable, void *self,
                                       const sennit_consume_opts *opts,
                                       sennit_consumer **out) SENNIT_MUST_CHECK;

/* ---- Inside a handler ------------------------------------------------- */

SENNIT_API sennit_bus *sennit_ctx_bus(const sennit_ctx *ctx);
SENNIT_API sennit_str sennit_ctx_address(const sennit_ctx *ctx);

/* Time left of the caller's budget, in nanoseconds; SENNIT_NEVER without one. */
SENNIT_API sennit_time sennit_ctx_remaining(const sennit_ctx *ctx);

/* Whether nobody waits for the answer any more: the caller gave up (cancel,
 * timeout), its connection is gone, or it was answered already. */
SENNIT_API bool sennit_ctx_cancelled(const sennit_ctx *ctx);

/* Node the message came from; NULL for a guest. Our own for a local sender. */
SENNIT_API const uint8_t *sennit_ctx_node(const sennit_ctx *ctx);

/* One header. False when it is not there. */
SENNIT_API bool sennit_ctx_header(const sennit_ctx *ctx, const char *key,
                                  sennit_bytes *value);

/* Memory for this handler; emptied when it returns. */
SENNIT_API sennit_arena *sennit_ctx_arena(sennit_ctx *ctx);

/* Refuses the message as one the handler can make nothing of: a request is answered
 * BAD_MESSAGE/never with `reason`, anything else becomes a dead letter that says it. */
SENNIT_API void sennit_ctx_reject(sennit_ctx *ctx, const char *reason);

/* Whether the sender waits for an answer. */
SENNIT_API bool sennit_ctx_wants_reply(const sennit_ctx *ctx);

/* The right to answer one request, once. A value: copies mean the same right, and
 * using it twice is refused, not harmful. Not after its bus was closed.
 *
 * A handler that returns neither having answered nor having kept its reply has
 * dropped it: the caller gets NO_REPLY at once (R9). */
typedef struct sennit_reply {
    sennit_bus *bus;
    uint64_t id; /* 0: nobody waits (a send or an event); answers give ESTATE */
} sennit_reply;

SENNIT_API sennit_reply sennit_ctx_reply(const sennit_ctx *ctx);

/* Keeps the right beyond the handler's return. Errors: ESTATE, ECLOSED (as below). */
SENNIT_API sennit_err sennit_reply_keep(sennit_reply reply);

/* Answers. Each may be called once, by the handler or any time later on the bus's
 * thread; the body is copied.
 * Errors: ESTATE (answered or dropped before, or the caller no longer waits),
 *         EMSGSIZE (over frame_max_bytes; the caller gets TOO_LARGE/yes),
 *         EAGAIN (the send queue to the caller is full), ENOMEM, ECLOSED (the bus
 *         is closing; the caller learns that from it). After EAGAIN and ENOMEM the
 *         right is still there. */
SENNIT_API sennit_err sennit_reply_ok(sennit_reply reply, sennit_bytes body);

/* Answers with an error the schema declares: RECIPIENT_FAILURE/yes carrying
 * `detail` (msgpack). `message` is for people, may be NULL, is cut if long. */
SENNIT_API sennit_err sennit_reply_error(sennit_reply reply, int32_t code,
                                         uint32_t detail_id, sennit_bytes detail,
                                         const char *message);

/* Fails the call from a handler that ran (ran = yes), with a printf text. */
SENNIT_API sennit_err sennit_reply_fail(sennit_reply reply, sennit_kind kind,
                                        const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

/* The same with the arguments as a list. */
SENNIT_API sennit_err sennit_reply_vfail(sennit_reply reply, sennit_kind kind,
                                         const char *format, va_list args)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 0)))
#endif
    ;

/* The same for code that decides before the application's handler is reached, as
 * generated decoding does: ran = never. Does not wait for room in the send queue, and
 * ends the right also when it gives ENOMEM: the caller's time then ends its call. */
SENNIT_API sennit_err sennit_reply_refuse(sennit_reply reply, sennit_kind kind,
                                          const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

/* Gives the right up: the caller gets NO_REPLY. No-op when it is gone already. */
SENNIT_API void sennit_reply_drop(sennit_reply reply);

/* As the sennit_ctx functions, for a reply that was kept. True / 0 once it is gone. */
SENNIT_API bool sennit_reply_cancelled(sennit_reply reply);
SENNIT_API sennit_time sennit_reply_remaining(sennit_reply reply);

/* ---- Sending ---------------------------------------------------------- */

typedef struct sennit_header {
    sennit_str key; /* lower case; "sennit-" is reserved */
    sennit_bytes value;
} sennit_header;

#define SENNIT_TIMEOUT_NONE (-1)

/* Zeroed means: all defaults. */
typedef struct sennit_call_opts {
    int timeout_ms; /* requests. 0: what is left of the handler we are in, else the
                     * method's own, else the bus's (R5). SENNIT_TIMEOUT_NONE: none */
    const sennit_header *headers;
    size_t headers_count;
} sennit_call_opts;

#define SENNIT_CALL_OPTS_DEFAULT                                                         \
    {                                                                                    \
        0, NULL, 0                                                                       \
    }

/* Sends `body` to one consumer of `address`, chosen in turn among all of them,
 * here and on linked nodes (D4). At most once; no confirmation.
 * Errors: ENOENT (no consumer known), EAGAIN (that consumer's mailbox, or the
 *         send queue to its node, is full), EMSGSIZE (over frame_max_bytes),
 *         EINVAL (address or headers), ENOTSUP (the service there has no such
 *         method), ENOMEM, ECLOSED. */
SENNIT_API sennit_err sennit_bus_send(sennit_bus *bus, const char *address,
                                      sennit_bytes body, const sennit_call_opts *opts);

/* Gives `body` to every consumer of `address` and every pattern that matches it,
 * here and on linked nodes, and to the SUB guests. A consumer or node that is
 * full misses it (a dead letter, or counted); the others do not. Nobody
 * listening is not an error.
 * Gives:  in `*nodes` (may be NULL) how many linked nodes it was queued to.
 * Errors: EMSGSIZE, EINVAL, ENOMEM (nobody got it), ECLOSED. */
SENNIT_API sennit_err sennit_bus_publish(sennit_bus *bus, const char *address,
                                         sennit_bytes body, const sennit_call_opts *opts,
                                         size_t *nodes);

/* Hands everything gathered to the sockets, and those to the kernel, now. Not
 * needed while the loop turns: a send that finds its connection idle goes at
 * once, the rest at the end of the turn or at 64 KiB (T6). */
SENNIT_API void sennit_bus_flush(sennit_bus *bus);

/* An output that is empty now and free to use until the next call that takes
 * this bus. For encoding a body without an allocation of one's own. */
SENNIT_API sennit_buf *sennit_bus_scratch(sennit_bus *bus);

/* ---- Requests --------------------------------------------------------- */

/* The outcome of a request: `error` is NULL and `body` the reply, or the call
 * failed and `body` is empty. Both are borrowed for the callback. */
typedef void sennit_result_fn(sennit_bytes body, const sennit_error *error, void *arg);

/* Names a request that is waiting; stale ones are recognised. */
typedef struct sennit_call {
    uint64_t id;
} sennit_call;

/* Sends `body` to one consumer of `address` as sennit_bus_send() does and calls
 * `fn` exactly once with the outcome, later, whatever happens.
 * Gives:  `*call` (may be NULL), for cancelling.
 * Errors: EINVAL (address, headers, timeout), ENOMEM, EAGAIN (calls_max are
 *         waiting), ECLOSED. After an error `fn` is never called. That nobody
 *         consumes the address, or the body is too large, is an outcome. */
SENNIT_API sennit_err sennit_bus_request(sennit_bus *bus, const char *address,
                                         sennit_bytes body, const sennit_call_opts *opts,
                                         sennit_call *call, sennit_result_fn *fn,
                                         void *arg) SENNIT_MUST_CHECK;

/* As above for generated code: `thunk` decodes (into `arena`, emptied after it)
 * and calls `fn`. `method_timeout_ms` is the method's own default; 0: none. */
typedef void sennit_result_thunk(sennit_bytes body, const sennit_error *error,
                                 sennit_arena *arena, sennit_any_fn *fn, void *arg);
SENNIT_API sennit_err sennit_bus_request_typed(
    sennit_bus *bus, const char *address, sennit_bytes body, const sennit_call_opts *opts,
    int method_timeout_ms, sennit_call *call, sennit_result_thunk *thunk,
    sennit_any_fn *fn, void *arg) SENNIT_MUST_CHECK;

/* Asks for the outcome CANCELLED, which `fn` gets later; the node that
 * works on it is told (R8).
 * Errors: ENOENT (it has its outcome already), ECLOSED. */
SENNIT_API sennit_err sennit_call_cancel(sennit_bus *bus, sennit_call call);

/* Requests and turns the loop until the outcome is there. For plain threads.
 * Gives:  on success the reply, copied into `arena`; else `*error` (never NULL),
 *         filled for every failure, with its detail in `arena`.
 * Blocks: until the outcome; the timeout bounds it.
 * Errors: sennit_kind_err() of the failure, ESTATE (inside a callback of this
 *         bus: use sennit_bus_request()), those of sennit_bus_request(). */
SENNIT_API sennit_err sennit_bus_call(sennit_bus *bus, const char *address,
                                      sennit_bytes body, const sennit_call_opts *opts,
                                      sennit_arena *arena, sennit_bytes *reply,
                                      sennit_error *error) SENNIT_MUST_CHECK;

/* ---- Clients: what generated code calls ------------------------------- */

/* A service as its callers see it. Plain data; copy it at will. */
typedef struct sennit_client {
    sennit_bus *bus;
    const char *service;   /* "pkg.Service/1"; borrowed */
    sennit_call_opts opts; /* for calls that give none */
} sennit_client;

SENNIT_API void sennit_client_init(sennit_client *client, sennit_bus *bus,
                                   const char *service);

/* The bus functions at the address "<service>.<method>". `opts` NULL: the
 * client's. `method_timeout_ms` as in sennit_bus_request_typed(). */
SENNIT_API sennit_err sennit_client_call(const sennit_client *client, const char *method,
                                         int method_timeout_ms, sennit_bytes body,
                                         const sennit_call_opts *opts,
                                         sennit_arena *arena, sennit_bytes *reply,
                                         sennit_error *error) SENNIT_MUST_CHECK;
SENNIT_API sennit_err sennit_client_request(
    const sennit_client *client, const char *method, int method_timeout_ms,
    sennit_bytes body, const sennit_call_opts *opts, sennit_call *call,
    sennit_result_thunk *thunk, sennit_any_fn *fn, void *arg) SENNIT_MUST_CHECK;
SENNIT_API sennit_err sennit_client_send(const sennit_client *client, const char *method,
                                         sennit_bytes body, const sennit_call_opts *opts);

/* ---- Observing -------------------------------------------------------- */

/* Why a message that was accepted, or came from a peer, reached no handler (B6). */
#define SENNIT_DEAD_TABLE(X)                                                             \
    X(NO_CONSUMER, 0, "no consumer")                                                     \
    X(MAILBOX_FULL, 1, "mailbox full")                                                   \
    X(EXPIRED, 2, "expired while waiting")                                               \
    X(CONSUMER_GONE, 3, "consumer cancelled")                                            \
    X(LATE_REPLY, 4, "reply after the call had its outcome")                             \
    X(PEER_QUEUE_FULL, 5, "send queue to the node full")                                 \
    X(PEER_LOST, 6, "connection lost before it was sent")                                \
    X(NO_MEMORY, 7, "out of memory")                                                     \
    X(BUS_CLOSED, 8, "bus closed")                                                       \
    X(REJECTED, 9, "rejected by its handler")                                            \
    X(TOO_LARGE, 10, "larger than the node takes")

typedef enum sennit_dead_reason {
#define X(name, value, text) SENNIT_DEAD_##name = (value),
    SENNIT_DEAD_TABLE(X)
#undef X
        SENNIT_DEAD_COUNT
} sennit_dead_reason;

SENNIT_API const char *sennit_dead_reason_text(sennit_dead_reason reason);

typedef struct sennit_dead_letter {
    sennit_dead_reason reason;
    sennit_str address;  /* "" for a late reply */
    const uint8_t *node; /* where it came from; NULL: a guest, or unknown */
    sennit_time age;     /* nanoseconds since it arrived here; 0: just now */
    size_t size;         /* of the body */
    sennit_bytes head;   /* its first bytes, up to 64 */
    const char *text;    /* REJECTED: what the handler said; else "" */
} sennit_dead_letter;

/* Calls `fn` for dead letters from now on, later than they died; NULL ends it. All
 * it is given is borrowed. Those that arise while it runs, and those beyond 256 that
 * wait to be told, are counted only. */
typedef void sennit_dead_letter_fn(const sennit_dead_letter *letter, void *arg);
SENNIT_API void sennit_bus_on_dead_letter(sennit_bus *bus, sennit_dead_letter_fn *fn,
                                          void *arg);

typedef enum sennit_peer_event_kind {
    SENNIT_PEER_UP = 1,       /* HELLO exchanged */
    SENNIT_PEER_DOWN = 2,     /* its connection is gone, or its state was dropped */
    SENNIT_PEER_PROTOCOL = 3, /* it sent something that is not allowed */
} sennit_peer_event_kind;

typedef struct sennit_peer_event {
    sennit_peer_event_kind kind;
    const uint8_t *node;    /* NULL: not known (a guest, or before HELLO) */
    const char *endpoint;   /* of our link; "" for a connection it made */
    const char *advertised; /* UP: the endpoint it listens on; "" for none */
    const char *events;     /* UP: the endpoint of its events; "" for none */
    const char *reason;     /* never NULL */
} sennit_peer_event;

typedef void sennit_peer_event_fn(const sennit_peer_event *event, void *arg);
SENNIT_API void sennit_bus_on_peer(sennit_bus *bus, sennit_peer_event_fn *fn, void *arg);

#define SENNIT_FLUSH_BUCKETS 12 /* 1, 2, 3-4, 5-8, ... 513-1024, more */

/* Numbers now, and totals since open. */
typedef struct sennit_bus_stats {
    uint64_t consumers;       /* registered here now */
    uint64_t nodes;           /* connected now */
    uint64_t links;           /* kept by us now, up or not */
    uint64_t calls_pending;   /* requests of ours waiting for their outcome */
    uint64_t replies_pending; /* requests of others not answered yet */
    uint64_t mailbox_msgs;    /* waiting in mailboxes now */
    uint64_t mailbox_bytes;
    uint64_t peer_queue_bytes; /* waiting to be handed to sockets now */
    uint64_t requests_total;   /* started here */
    uint64_t outcomes_ok_total;
    uint64_t outcomes_failed_total;
    uint64_t handled_total;           /* handler runs */
    uint64_t sends_total;             /* accepted by send */
    uint64_t publishes_total;         /* accepted by publish */
    uint64_t publishes_unheard_total; /* of these: nobody to give it to */
    uint64_t expired_in_queue_total;  /* R7 */
    uint64_t late_replies_total;      /* R4 */
    uint64_t records_dropped_total;   /* queued for a connection that went away */
    uint64_t dead_letters_total[SENNIT_DEAD_COUNT];
    uint64_t protocol_errors_total; /* frames refused, records of it included */
    uint64_t sequence_gaps_total;   /* T3 */
    uint64_t who_total;             /* frames of connections that owe a HELLO (T2) */
    uint64_t frames_sent_total;
    uint64_t frames_received_total;
    uint64_t records_sent_total;
    uint64_t records_received_total;
    uint64_t records_per_flush[SENNIT_FLUSH_BUCKETS]; /* frames by records (T6) */
} sennit_bus_stats;

SENNIT_API void sennit_bus_get_stats(const sennit_bus *bus, sennit_bus_stats *out);

#ifdef __cplusplus
}
#endif

#endif /* SENNIT_RPC_H */
