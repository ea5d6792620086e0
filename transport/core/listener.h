/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CORE_LISTENER_H
#define SENNIT_CORE_LISTENER_H

#include "core/session.h"

/* One bind to a stream address. */
typedef struct sni_listener {
    sennit_sock *sock;
    sni_link link;
    sni_link again;
    sni_file *file;
    sni_op accept;
    sennit_timer timer;                    /* after the system ran out of descriptors */
    char endpoint[SNI_ENDPOINT_TEXT_MAX];  /* as bound */
    char requested[SNI_ENDPOINT_TEXT_MAX]; /* as asked for */
    bool closing;
} sni_listener;

/* Errors: as sennit_sock_bind. */
sennit_err sni_listener_open(sennit_sock *sock, const sni_address *address,
                             const char *endpoint);

void sni_listener_done(sni_listener *listener);
void sni_listener_again(sni_listener *listener);

/* Stops accepting; freed when the accept operation is home. Sessions it accepted
 * forget it. */
void sni_listener_close(sni_listener *listener);

#endif /* SENNIT_CORE_LISTENER_H */
