/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CORE_SESSION_H
#define SENNIT_CORE_SESSION_H

#include "base/limits.h"
#include "core/loop.h"
#include "core/pipe.h"
#include "engine/engine.h"

/* One connection: an engine, the file it speaks through, and the pump that moves
 * data between pipe, engine and I/O. To understand the flow read pump_output() and
 * pump_input(). */
typedef struct sni_session {
    sennit_sock *sock;
    struct sni_dialer *dialer;     /* it connects for this one, or ... */
    struct sni_listener *listener; /* ... it was accepted by this one (NULL: unbound) */
    sni_link link;                 /* in the socket's sessions */
    sni_link dirty;
    sni_link again;
    sni_link ending;
    sni_file *file;
    sni_engine *engine;
    sni_pipe *pipe; /* NULL until READY when accepted */
    sni_op recv;
    sni_op send;
    sennit_bytes parts[SNI_SEND_PARTS];
    sennit_timer timer; /* the engine's deadline */
    sennit_time timer_at;
    sennit_timer linger_timer;
    sennit_time ready_at;
    uint32_t number;
    bool ready;
    bool is_ending;
    bool lingering; /* ends as soon as everything is written ... */
    bool finished;  /* ... and the peer has closed, or time is up */
    bool wrote;     /* something was ever written on it */
    sennit_err err; /* why it ends */
    const char *reason;
} sni_session;

/* A session for a connected file, of a dialer or of a listener; takes `file` on success.
 * Errors: ENOMEM. */
sennit_err sni_session_open(sennit_sock *sock, sni_file *file, struct sni_dialer *dialer,
                            struct sni_listener *listener);

/* One of its operations came back. */
void sni_session_done(sni_session *session, sni_op *op);

/* Messages were added to the pipe's outq: sent now if they make a batch, else when
 * the loop flushes. */
void sni_session_output_added(sni_session *session);

/* SUBSCRIBE or CANCEL goes out on the control lane. Errors: ENOMEM. */
sennit_err sni_session_subscribe(sni_session *session, bool on, sennit_bytes topic);

/* Receives more, if back-pressure allows it: the application has read from it, or it
 * had stopped to let others have a turn. */
void sni_session_receive(sni_session *session);

/* Writes what was gathered. */
void sni_session_flush(sni_session *session);

/* Begins the end: it will be taken apart at the end of a turn. Repeats are no-ops. */
void sni_session_end(sni_session *session, sennit_err err, const char *reason);

/* Ends it when everything is written, or after the socket's linger_ms. */
void sni_session_linger(sni_session *session);

/* Moves what was received whole, and is still the application's, from the engine to
 * the pipe. False when there is no memory; what is left can be moved later. */
bool sni_session_save_input(sni_session *session);

/* Takes it apart if all its operations are home; false otherwise. */
bool sni_session_bury(sni_session *session);

#endif /* SENNIT_CORE_SESSION_H */
