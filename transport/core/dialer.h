/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CORE_DIALER_H
#define SENNIT_CORE_DIALER_H

#include "core/attempt.h"
#include "core/retry.h"
#include "core/session.h"

/* One connect: keeps a pipe alive from connection to connection, and tries again
 * after every kind of loss with delays that double and are jittered, so that a
 * thousand clients do not knock in step.
 *
 * Law: while it is not closing, it has an attempt, a session, or a retry that runs:
 * it is never silently dead. */
typedef struct sni_dialer {
    sennit_sock *sock;
    sni_link link;
    sni_pipe *pipe;
    sni_attempt *attempt;      /* NULL: connected, or waiting for the next */
    sni_session *session;      /* NULL between attempts */
    sni_retry retry;           /* until the next attempt */
    sennit_timer linger_timer; /* after close */
    unsigned failures;         /* in a row: the next delay is doubled that often */
    bool closing;
    bool abandoned;  /* closing, and what is queued no longer matters */
    char endpoint[]; /* as it was asked for; each attempt reads it anew */
} sni_dialer;

/* The first attempt may have failed when it returns, and even have been the last.
 * Errors: ENOMEM, EEXIST (a PAIR that has a peer), ENODEV (*why). */
sennit_err sni_dialer_open(sennit_sock *sock, const sni_endpoint *where,
                           const char *endpoint, const char **why);

/* What is queued leaves if a connection can be had within the socket's
 * linger_ms; then it is gone. */
void sni_dialer_close(sni_dialer *dialer);

/* Its connection is being ended, and is the last one. */
void sni_dialer_end(sni_dialer *dialer);

/* Its attempt is over. */
void sni_dialer_attempted(sni_dialer *dialer, const sni_attempt_result *result);

/* Its session is gone; `ready_for` is how long it was READY (0: never). */
void sni_dialer_lost(sni_dialer *dialer, sennit_time ready_for);

/* What this pipe had queued was dropped: its dialer, if it has one, may have stayed only
 * for that. It has no session. */
void sni_dialer_emptied(sni_pipe *pipe);

/* The socket's options are others: a wait that they would make shorter is. */
void sni_dialer_opts_changed(sni_dialer *dialer);

#endif /* SENNIT_CORE_DIALER_H */
