/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CORE_INPROC_H
#define SENNIT_CORE_INPROC_H

#include "core/endpoint.h"
#include "core/pipe.h"

/* Names within one loop. A connect may come before the bind: its pipe exists at
 * once and waits. */

/* What an inproc pipe has beside its queues. It writes into its mate's inq. */
typedef struct sni_inproc {
    sni_pipe *mate; /* the other end, or NULL */
    bool connecter; /* this end called connect */
    bool swallow;   /* the rest of the message being sent is dropped */
    char name[];    /* what follows inproc:// */
} sni_inproc;

/* Errors: EADDRINUSE, ENOMEM. */
sennit_err sni_inproc_bind(sennit_sock *sock, const char *name);

/* Errors: ENOMEM, EPROTO (socket types do not go together), EEXIST (a PAIR that
 * has a peer, or an identity that is taken). */
sennit_err sni_inproc_connect(sennit_sock *sock, const char *name);

/* Whether `sock` has connected to `name` and neither side has ended it. */
bool sni_inproc_connected(const sennit_sock *sock, const char *name);

/* Errors: ENOENT. */
sennit_err sni_inproc_unbind(sennit_sock *sock, const char *name);
sennit_err sni_inproc_disconnect(sennit_sock *sock, const char *name);

/* The socket closes: gives up its names and the connects that still wait. */
void sni_inproc_forget(sennit_sock *sock);

/* ---- for pipes --------------------------------------------------------- */

/* The port of an inproc pipe; see sni_port. */
sennit_err sni_inproc_push(sni_pipe *pipe, sni_msg *msg, bool more);
sennit_err sni_inproc_pull(sni_pipe *pipe, sni_msg *msg);
sennit_err sni_inproc_subscribe(sni_pipe *pipe, bool on, sennit_bytes topic);

/* The peer misses the whole message of which a frame could not be pushed. */
void sni_inproc_abandon(sni_pipe *pipe, bool more);

/* Whether it takes no more messages for now. */
bool sni_inproc_full(const sni_pipe *pipe);

/* Counts what waits for a bind. No-op for stream pipes, as the next two. */
void sni_inproc_add_queued(const sni_pipe *pipe, sennit_sock_stats *out);

/* Tells the pattern and the monitor that the mate is gone, once: an inproc peer has
 * no session that would. */
void sni_inproc_lost(sni_pipe *pipe);

/* The pipe is freed: its mate takes no more and reads what it has. */
void sni_inproc_free(sni_pipe *pipe);

#endif /* SENNIT_CORE_INPROC_H */
