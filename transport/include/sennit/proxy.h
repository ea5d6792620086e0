/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_PROXY_H
#define SENNIT_PROXY_H

/* A proxy: what one socket receives, another sends, both ways at once. ROUTER and DEALER
 * make a queue of requests, XSUB and XPUB a broker of topics (subscriptions pass as
 * messages), PULL and PUSH a pipeline.
 *
 * It is driven by its sockets' loop and has no thread: after open it works whenever the
 * loop turns. A direction forwards only while its messages can leave, so what cannot
 * waits in the sockets' own queues, in sight of their high-water marks; the other
 * direction goes on. Nothing is looked at while nothing can move.
 *
 * Thread: all of it on the loop's. */

#include "sennit/sennit.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sennit_proxy sennit_proxy;

/* Starts forwarding between two sockets of one loop: each way for which one can receive
 * and the other send. They may be the same socket, whose messages then go back to it.
 * `capture` (DEALER, PAIR, PUB, PUSH or XPUB, or NULL) gets a copy of every message; when
 * it cannot take one at once it misses it, which is counted.
 * A message that cannot be sent to anybody (EHOSTUNREACH and the like) is dropped and
 * counted: a peer that is gone ends nothing.
 * Takes:  nothing: the sockets stay the caller's, but their sennit_sock_on_ready() is the
 *         proxy's until it ends, and closing one of them ends it (ECLOSED).
 * Errors: EINVAL (no front or no back, or sockets of different loops), EEXIST (the
 *         capture is the front or the back, or one of them is a socket of another proxy
 *         that has not ended), ENOTSUP (STREAM, whose identities mean nothing to another
 *         socket; two types between which nothing can pass; a REQ as both; a capture of
 *         another type), ENOMEM, ECLOSED, ETHREAD; sennit_loop_why() says which.
 * REP and REQ go in lock step, and a server that dies takes the client's turn with it:
 * ROUTER and DEALER do the same and do not wait. */
SENNIT_API sennit_err sennit_proxy_open(sennit_proxy **out, sennit_sock *front,
                                        sennit_sock *back,
                                        sennit_sock *capture) SENNIT_MUST_CHECK;

/* Obeys the messages of `control` (REP, PAIR, DEALER, PULL or SUB, of the same loop):
 *   PAUSE, RESUME    as the functions below
 *   TERMINATE        as sennit_proxy_stop()
 *   STATISTICS       is answered with 8 frames of a uint64_t in this machine's order:
 *                    frames and bytes that the front received, that it sent, that the
 *                    back received, that it sent
 * Whatever else it says is ignored. A REP answers everything, with an empty message where
 * nothing else is due; the other types only STATISTICS, when they can.
 * Takes:  nothing, as open. Errors: EINVAL (none, or one of another loop), EEXIST (it is
 *         a socket of a proxy), ENOTSUP (another type), ESTATE (the proxy has ended, or
 *         obeys a socket already), ETHREAD. */
SENNIT_API sennit_err sennit_proxy_steer(sennit_proxy *proxy,
                                         sennit_sock *control) SENNIT_MUST_CHECK;

/* While paused it receives nothing; a message of which frames are forwarded already is
 * finished first. Messages wait where they are. No-op when it is so already. */
SENNIT_API void sennit_proxy_pause(sennit_proxy *proxy);
SENNIT_API void sennit_proxy_resume(sennit_proxy *proxy);

/* Ends it, as TERMINATE does: it forwards no more and lets its sockets go. */
SENNIT_API void sennit_proxy_stop(sennit_proxy *proxy);

/* Whether it has ended, as NULL has; then `*why` (may be NULL) is OK after a stop, else
 * the error. */
SENNIT_API bool sennit_proxy_ended(const sennit_proxy *proxy, sennit_err *why);

/* Turns the loop until the proxy has ended. Not for a loop that turns anyway.
 * Blocks: until then. Errors: ETERM (the context was shut down), EINTR (a signal came:
 *         the proxy goes on when this is called again), ESTATE (in callbacks that are
 *         nested too deep), ETHREAD, and why it ended. */
SENNIT_API sennit_err sennit_proxy_run(sennit_proxy *proxy) SENNIT_MUST_CHECK;

/* Totals of one direction of one socket. */
typedef struct sennit_proxy_count {
    uint64_t msgs; /* whole ones */
    uint64_t frames;
    uint64_t bytes; /* of bodies */
} sennit_proxy_count;

/* Totals since open. Received by one side is sent by the other, dropped, or, of at most
 * one message each way, on its way. */
typedef struct sennit_proxy_stats {
    sennit_proxy_count front_received;
    sennit_proxy_count front_sent;
    sennit_proxy_count back_received;
    sennit_proxy_count back_sent;
    uint64_t dropped_msgs;  /* that nobody could be sent */
    uint64_t captured_msgs; /* that the capture took */
    uint64_t missed_msgs;   /* that it did not */
    bool paused;
} sennit_proxy_stats;

SENNIT_API void sennit_proxy_get_stats(const sennit_proxy *proxy,
                                       sennit_proxy_stats *out);

/* Ends it if need be and frees it; a message it was in the middle of is discarded. NULL
 * is a no-op. May be called in callbacks of the loop, but not while sennit_proxy_run() is
 * in it: stop it there. Close it before its loop. */
SENNIT_API void sennit_proxy_close(sennit_proxy *proxy);

#ifdef __cplusplus
}
#endif

#endif /* SENNIT_PROXY_H */
