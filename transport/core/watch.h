/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CORE_WATCH_H
#define SENNIT_CORE_WATCH_H

#include "base/list.h"
#include "sennit/sennit.h"

/* A socket's descriptor, for event loops that are not ours. It is readable while the
 * socket is ready, which a bell says; and, of an owned loop, while that has something to
 * do that may make it so: the backend's descriptor, or a timer that is due, which an
 * alarm of the loop's says. A hosted loop does that by itself.
 *
 * What the bell says is made true whenever a call leaves the loop: sockets that have
 * changed since wait in the loop's list. So is what pollers are told (core/tap.h). */
typedef struct sni_watch {
    unsigned interest;
    int bell;
    int fd; /* the bell, or that and the loop's */
    bool rings;
} sni_watch;

/* Gives: `*fd`, which the socket owns. A second call changes `interest` only.
 * Errors: ENOMEM, EMFILE, ENOTSUP (the backend has no descriptor). */
sennit_err sni_watch_start(sennit_sock *sock, unsigned interest, int *fd);
void sni_watch_stop(sennit_sock *sock);

/* The socket may be ready now, or not any more. */
void sni_watch_mark(sennit_sock *sock);

/* A call leaves the loop: descriptors say what is true. */
void sni_watch_update(sennit_loop *loop);

/* The loop goes away. */
void sni_watch_fini(sennit_loop *loop);

#endif /* SENNIT_CORE_WATCH_H */
