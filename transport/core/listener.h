/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CORE_LISTENER_H
#define SENNIT_CORE_LISTENER_H

#include "core/endpoint.h"
#include "core/retry.h"
#include "core/session.h"

/* One bind to a stream address. When more than handshakes_max of its connections are not
 * READY yet, the oldest of these makes room: somebody who says nothing keeps nobody out.
 * Accepting pauses for a while when the system is out of descriptors. */
typedef struct sni_listener {
    sennit_sock *sock;
    sni_link link;
    sni_link again;
    sni_file *file;
    sni_op accept;
    sni_retry retry;     /* after the system ran out of descriptors */
    sni_link handshakes; /* accepted and not READY yet, oldest first */
    uint32_t handshakes_count;
    char endpoint[SNI_ENDPOINT_TEXT_MAX];  /* as bound */
    char requested[SNI_ENDPOINT_TEXT_MAX]; /* as asked for */
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

/* It has accepted this connection, which is not READY yet. */
void sni_listener_began(sni_listener *listener, sni_session *session);

/* It became READY, or ended before. */
void sni_listener_settled(sni_listener *listener, sni_session *session);

/* The socket's options are others: handshakes that they do not allow end. */
void sni_listener_opts_changed(sni_listener *listener);

/* Stops accepting; freed when the accept operation is home. Sessions it accepted
 * forget it. */
void sni_listener_close(sni_listener *listener);

#endif /* SENNIT_CORE_LISTENER_H */
