/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CORE_DIALER_H
#define SENNIT_CORE_DIALER_H

#include "core/session.h"

/* One connect: keeps a pipe alive from connection to connection, and tries again
 * after every kind of loss with delays that double and are jittered, so that a
 * thousand clients do not knock in step. */
typedef struct sni_dialer {
    sennit_sock *sock;
    sni_link link;
    sni_link again; /* in the loop, when there was no memory for a timer */
    sni_address address;
    char endpoint[SNI_ENDPOINT_TEXT_MAX];
    sni_pipe *pipe;
    sni_session *session;      /* NULL between attempts */
    sennit_timer timer;        /* until the next attempt */
    sennit_timer linger_timer; /* after close */
    unsigned failures;         /* in a row: the next delay is doubled that often */
    bool closing;
    bool abandoned; /* closing, and what is queued no longer matters */
} sni_dialer;

/* Errors: ENOMEM, EEXIST (a PAIR that has a peer). */
sennit_err sni_dialer_open(sennit_sock *sock, const sni_address *address,
                           const char *endpoint);

/* What is queued leaves if a connection can be had within the socket's
 * linger_ms; then it is gone. */
void sni_dialer_close(sni_dialer *dialer);

/* Its session is gone; `ready_for` is how long it was READY (0: never). */
void sni_dialer_lost(sni_dialer *dialer, sennit_time ready_for);

/* Tries now what no timer could be had for. */
void sni_dialer_again(sni_dialer *dialer);

#endif /* SENNIT_CORE_DIALER_H */
