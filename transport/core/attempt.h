/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CORE_ATTEMPT_H
#define SENNIT_CORE_ATTEMPT_H

#include "core/endpoint.h"
#include "core/loop.h"

/* One attempt of a dialer to connect: looks the host up, tries all its addresses in
 * turn, goes through a proxy, and ends with a connected file or a reason. The
 * look-up has the socket's connect_timeout_ms, and so has each address, proxy included,
 * which is told to the monitor; where that is 0, the proxy has handshake_timeout_ms. */
typedef struct sni_attempt sni_attempt;

/* How it ended. Exactly one comes of each attempt, by sni_dialer_attempted(); it may come
 * before start returns. */
typedef struct sni_attempt_result {
    sni_file *file; /* connected, or NULL */
    sennit_err err; /* of the last address */
    bool refused;   /* every address refused the connection */
} sni_attempt_result;

struct sni_dialer;

/* Errors: ENOMEM; then nothing comes of it. */
sennit_err sni_attempt_start(struct sni_dialer *dialer);

/* Ends it as soon as its operations are home, with ECLOSED. */
void sni_attempt_cancel(sni_attempt *attempt);

/* One of its operations came back. */
void sni_attempt_done(sni_attempt *attempt, sni_op *op);

#endif /* SENNIT_CORE_ATTEMPT_H */
