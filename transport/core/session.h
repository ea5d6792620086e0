/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CORE_SESSION_H
#define SENNIT_CORE_SESSION_H

#include "base/limits.h"
#include "core/loop.h"
#include "core/pipe.h"
#include "engine/engine.h"

/* One connection: an engine, the file it speaks through, and the pump that moves
 * data between pipe, engine and I/O. To understand the flow read pump_some() and
 * sni_session_receive() in session.c; session_open.c is how it begins, session_end.c
 * how it ends. */
typedef struct sni_session {
    sennit_sock *sock;
    struct sni_dialer *dialer;     /* it connects for this one, or ... */
    struct sni_listener *listener; /* ... it was accepted by this one (NULL: unbound) */
    sni_link link;                 /* in the socket's sessions */
    sni_link dirty;
    sni_link again;
    sni_link ending;
    sni_link handshake; /* in the listener's, until it is READY */
    sni_file *file;
    sni_engine *engine;
    sni_pipe *pipe; /* NULL until READY when accepted */
    sni_op recv;
    sni_op send;
    sni_op hangup;                        /* while it has stopped to receive */
    sennit_bytes few[SNI_SEND_PARTS_FEW]; /* what `send` writes, or it is in ... */
    sni_vector *many;                     /* ... this, lent while it is out; or NULL */
    sennit_timer timer;                   /* the engine's deadline */
    sennit_timer linger_timer; /* until lingering is over; once finished, the next look */
    sennit_time linger_until;  /* of one that is finished, as are ... */
    sennit_time finish_until;  /* ... how long its peer may take to close, and ... */
    sennit_time finish_look;   /* ... the time between two looks */
    sennit_time ready_at;
    sennit_time received_at; /* when the last bytes came; 0: none yet */
    uint32_t batch_bytes;    /* gathered before it is written */
    uint32_t recv_bytes;     /* most of one receive */
    uint32_t number;
    bool ready;
    bool is_ending;
    bool lingering;     /* ends as soon as everything is written ... */
    bool finished;      /* ... and has arrived, or time is up */
    bool wrote;         /* something was ever written on it */
    bool hung_up;       /* the peer has said its last: what is left of it is taken in */
    bool unheard;       /* the peer reads no more: nothing is written */
    sennit_err err;     /* why it ends */
    const char *reason; /* NULL: it does not */
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

/* The kernel takes nothing, and gives back what it was lent, so that messages may be
 * dropped; what is left then is sent when the loop flushes. False: nothing was lent, or
 * it does not give it back. */
bool sni_session_take_back_output(sni_session *session);

/* SUBSCRIBE or CANCEL goes out on the control lane. Errors: ENOMEM. */
sennit_err sni_session_subscribe(sni_session *session, bool on, sennit_bytes topic);

/* The first message of the connection. Errors: ENOMEM. */
sennit_err sni_session_greet(sni_session *session, sennit_bytes body);

/* Whether it had stopped for back-pressure, and the application has read enough. */
bool sni_session_has_room_again(const sni_session *session);

/* Receives more, if back-pressure allows it: the application has read from it. */
void sni_session_receive(sni_session *session);

/* Goes on where it had stopped to let others have a turn. */
void sni_session_go_on(sni_session *session);

/* Goes on in the next turn. */
void sni_session_take_turns(sni_session *session);

/* Writes what was gathered, as far as the kernel takes it. */
void sni_session_flush(sni_session *session);

/* The same, but no more than is fair to others; the rest in the next turn. */
void sni_session_output(sni_session *session);

/* For who begins the sends of several together: gathers one; false: there is none. When
 * it was begun, and is `done` or not, the session goes on as with sni_session_flush(), or
 * `fairly`, sni_session_output(). */
bool sni_session_gather(sni_session *session);
void sni_session_gathered(sni_session *session, bool done, bool fairly);

/* Begins the end: it will be taken apart at the end of a turn. Repeats are no-ops. */
void sni_session_end(sni_session *session, sennit_err err, const char *reason);

/* Ends it when everything is written and has arrived, or after the socket's linger_ms;
 * its pipe takes no more. */
void sni_session_linger(sni_session *session);

/* Ends it: the time is up. */
void sni_session_linger_over(sni_session *session);

/* The same for a connection that the peer has to leave, with a reason; what we
 * connected will be connected again, and its pipe takes messages again then. */
void sni_session_dismiss(sni_session *session, bool flush, sennit_err err,
                         const char *reason);

/* Moves what was received whole, and is still the application's, from the engine to
 * the pipe. False when there is no memory; what is left can be moved later. */
bool sni_session_save_input(sni_session *session);

/* Its send is back, or was none: what was lent for it goes home. */
void sni_session_return_vector(sni_session *session);

/* Takes it apart if all its operations are home; false otherwise. */
bool sni_session_bury(sni_session *session);

/* The bind or connect it belongs to; "" after unbind. */
const char *sni_session_endpoint(const sni_session *session);

/* ---- between the three sources ----------------------------------------- */

/* Tells the monitor. */
void sni_session_tell(sni_session *session, sennit_event_kind kind, sennit_err err,
                      const char *reason);

/* When on_deadline() is to be called next, or SENNIT_NEVER. */
void sni_session_set_deadline(sni_session *session, sennit_time at);

/* The handshake is done: the peer becomes one of the socket's. */
void sni_session_become_ready(sni_session *session);

/* Whether input is taken in, marks or not. What a peer that is gone has left is no more
 * than the kernel's buffer; one that only does not read may go on and on. */
bool sni_session_takes_the_rest(const sni_session *session);

/* The peer reads no more. What it sent before may be here and unread: it is taken in, and
 * its end is the session's. */
void sni_session_unheard(sni_session *session);

/* Everything is with the kernel and it lingers: it is to arrive. */
void sni_session_finish(sni_session *session);

#endif /* SENNIT_CORE_SESSION_H */
