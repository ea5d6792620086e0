/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CORE_LISTENER_H
#define SENNIT_CORE_LISTENER_H

#include "core/endpoint.h"
#include "core/session.h"

/* One bind to a stream address. Accepting pauses while handshakes_max of its connections
 * are not READY yet, and for a while when the system is out of descriptors. */
typedef struct sni_listener {
    sennit_sock *sock;
    sni_link link;
    sni_link again;
    sni_file *file;
    sni_op accept;
    sennit_timer timer;                    /* after the system ran out of descriptors */
    uint32_t handshakes;                   /* accepted and not READY yet */
    char endpoint[SNI_ENDPOINT_TEXT_MAX];  /* as bound */
    char requested[SNI_ENDPOINT_TEXT_MAX]; /* as asked for */
    bool full; /* it has as many handshakes as it may, and paused */
    bool closing;
} sni_listener;

/* Gives: on failure `*why`, static text, or NULL when the error says it all.
 * Errors: as sennit_sock_bind. */
sennit_err sni_listener_open(sennit_sock *sock, const sni_host *host,
                             const char *endpoint, const char **why);

/* The same with a descriptor that listens already; takes it on success.
 * Errors: as sennit_sock_bind_fd. */
sennit_err sni_listener_adopt(sennit_sock *sock, int fd, const char **why);

void sni_listener_done(sni_listener *listener);
void sni_listener_again(sni_listener *listener);

/* One of its connections became READY, or ended before. */
void sni_listener_settled(sni_listener *listener);

/* The socket's options are others: a pause that they would not make ends. */
void sni_listener_opts_changed(sni_listener *listener);

/* Stops accepting; freed when the accept operation is home. Sessions it accepted
 * forget it. */
void sni_listener_close(sni_listener *listener);

#endif /* SENNIT_CORE_LISTENER_H */
