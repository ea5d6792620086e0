/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CORE_INPROC_H
#define SENNIT_CORE_INPROC_H

#include "core/endpoint.h"
#include "core/pipe.h"

/* Names within one loop. A connect may come before the bind: its pipe exists at
 * once and waits. */

/* Tells the monitor of an inproc pipe's socket. */
void sni_inproc_event(sni_pipe *pipe, sennit_event_kind kind, sennit_err err,
                      const char *reason);

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

#endif /* SENNIT_CORE_INPROC_H */
