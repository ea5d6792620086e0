/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CORE_INPROC_H
#define SENNIT_CORE_INPROC_H

#include "core/endpoint.h"
#include "core/inbox.h"
#include "core/pipe.h"

/* Connections between sockets of one context. A connect may come before the bind: its
 * pipe exists at once and waits. Within a loop each of the two pipes writes into the
 * other's inq; between loops there is a couple (core/couple.h). */

typedef struct sni_couple sni_couple;

/* What an inproc pipe has beside its queues. */
typedef struct sni_inproc {
    sni_pipe *pipe;     /* whose it is */
    sni_pipe *mate;     /* the other end in this loop; without a socket: its place until
                           somebody binds */
    sni_couple *couple; /* or it is in another loop, or may turn out to be */
    sni_link waiting;   /* in the context's: a connect without a bind */
    sni_link ending;    /* in the loop's */
    sni_link drained;   /* likewise: nobody has asked the other thread to ring */
    sni_block *card;    /* what it says of itself, as the metadata of READY; NULL: it has
                           no socket */
    sennit_time ready_at;
    sennit_err err; /* why it ends */
    const char *reason;
    unsigned side; /* of the couple, whose halves are ... */
    struct sni_half *ours;
    struct sni_half *theirs;
    size_t greeted;      /* messages of ours that came before all others */
    uint64_t early_msgs; /* to a couple that has not met: nobody has them yet */
    uint64_t early_bytes;
    uint64_t room_until;    /* so many sent to a couple, and not more, surely fit */
    uint64_t written_bytes; /* of the message being sent to a couple */
    uint64_t read_bytes;    /* of the one being pulled */
    size_t control_msgs;    /* subscriptions in the inq, which are not messages */
    size_t control_bytes;
    unsigned heard; /* of what a publisher hears, in this turn */
    bool connecter; /* this end called connect */
    bool due;       /* somebody has bound the name in the middle of a message */
    bool met;       /* READY was said */
    bool parted;    /* the couple has ended */
    bool goes;      /* disconnected, and stays until a binder has what it has sent */
    bool begun;     /* a message was pushed in part */
    bool torn;   /* of which the peer hears, with a subscription that came in between */
    bool behind; /* it was not all, and the rest is heard in the next turn */
    char name[]; /* what follows inproc:// */
} sni_inproc;

/* What a frame on its way is, in place of its peer's number. */
enum { SNI_FRAME_DATA, SNI_FRAME_GREETING, SNI_FRAME_SUBSCRIBE, SNI_FRAME_CANCEL };

/* Errors: EADDRINUSE, ENOMEM, ENOTSUP (an option that is not built for inproc, which
 * `*why` tells). */
sennit_err sni_inproc_bind(sennit_sock *sock, const char *name, const char **why);

/* Errors: ENOMEM, ENOTSUP as bind, EPROTO (socket types do not go together), EEXIST (a
 * PAIR that has a peer, or an identity that is taken). The last only when both are in one
 * loop; otherwise an event tells. */
sennit_err sni_inproc_connect(sennit_sock *sock, const char *name, const char **why);

/* Why a socket of `loop` with these options has no inproc peers, or NULL: nothing is
 * accepted and ignored. */
const char *sni_inproc_refuses(const sennit_loop *loop, const sennit_sock_opts *opts);

/* Whether `sock` has inproc pipes or names. */
bool sni_inproc_used(const sennit_sock *sock);

/* Whether `sock` has connected to `name` and neither side has ended it. */
bool sni_inproc_connected(const sennit_sock *sock, const char *name);

/* Errors: ENOENT. */
sennit_err sni_inproc_unbind(sennit_sock *sock, const char *name);
sennit_err sni_inproc_disconnect(sennit_sock *sock, const char *name);

/* The socket closes: gives up its names. */
void sni_inproc_forget(sennit_sock *sock);

/* ---- for the loop ------------------------------------------------------ */

/* A note of half a couple was taken: looks where the other loop has been. */
void sni_inproc_look(sennit_loop *loop, sni_note *note);

/* The last message that was known of is pulled: before the loop waits or is left, it asks
 * to be woken for the next one, and no sooner. The other thread need not ring while we
 * are at work. */
void sni_inproc_drained(sni_pipe *pipe);

/* Does so. `lingers`: the caller would wait, and first looks again for a while, as the
 * other thread is often about to send more. True: there was more for some. */
bool sni_inproc_doze(sennit_loop *loop, bool lingers);

/* Parts those that end; true when there were any. */
bool sni_inproc_bury(sennit_loop *loop);

/* ---- for pipes --------------------------------------------------------- */

/* The port of an inproc pipe; see sni_port. */
sennit_err sni_inproc_push(sni_pipe *pipe, sni_msg *msg, bool more);
sennit_err sni_inproc_pull(sni_pipe *pipe, sni_msg *msg);
sennit_err sni_inproc_subscribe(sni_pipe *pipe, bool on, sennit_bytes topic);
sennit_err sni_inproc_greet(sni_pipe *pipe, sennit_bytes body);
void sni_inproc_resume(sni_pipe *pipe);

/* The peer misses the whole message of which a frame could not be pushed; its further
 * frames are not pushed either. If it has heard a part of it the connection ends. */
void sni_inproc_abandon(sni_pipe *pipe);

/* Parts it at the end of the turn. Repeats are no-ops. */
void sni_inproc_end(sni_pipe *pipe, sennit_err err, const char *reason);

/* Takes back the oldest message that the peer has not begun to read, or the oldest whose
 * first frame is `topic`; who calls it counts it. NULL: any. False: there is none. */
bool sni_inproc_take_back(sni_pipe *pipe, const sennit_bytes *topic);

/* Whether it takes no more messages for now. */
bool sni_inproc_full(const sni_pipe *pipe);

/* Whole messages to pull, beside those in the inq. */
size_t sni_inproc_unread(const sni_pipe *pipe);

/* Its socket's marks have moved. */
void sni_inproc_marks_moved(sni_pipe *pipe);

/* Its peer's metadata, as READY carries it; empty: it has not met one. Valid until the
 * next turn. */
sennit_bytes sni_inproc_peer_metadata(const sni_pipe *pipe);

/* Counts what waits for a bind. No-op for stream pipes, as the next two. */
void sni_inproc_add_queued(const sni_pipe *pipe, sennit_sock_stats *out);

/* Tells the pattern and the monitor that the mate is gone, once: an inproc peer has
 * no session that would. */
void sni_inproc_lost(sni_pipe *pipe);

/* Its socket has closed: freed. With a linger_ms a binder that was asked gets what was
 * sent. */
void sni_inproc_leave(sni_pipe *pipe);

/* The pipe is freed: its mate takes no more and reads what it has. */
void sni_inproc_free(sni_pipe *pipe);

/* Tells the monitor of the pipe's socket. */
void sni_inproc_tell(sni_pipe *pipe, sennit_event_kind kind, sennit_err err,
                     const char *reason);

/* Numbers of the pipe and its socket. */
void sni_inproc_count_delivered(sni_pipe *pipe, uint64_t msgs);
void sni_inproc_count_received(sni_pipe *pipe, const sni_msg *msg);

/* The mate has put whole messages into the inq. */
void sni_inproc_arrived(sni_pipe *pipe);

/* A publisher hears at once what it is sent: takes frame by frame from `next`, which says
 * EAGAIN when there is none, until it has enough or the connection ends. Errors: as
 * sni_pattern_subscription and take, and of `next`. */
sennit_err sni_inproc_hear(sni_pipe *pipe,
                           sennit_err (*next)(sni_pipe *pipe, sni_msg *msg));

/* Whether it goes on doing that. */
bool sni_inproc_hears(const sni_pipe *pipe);

#endif /* SENNIT_CORE_INPROC_H */
