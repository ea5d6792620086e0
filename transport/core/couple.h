/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CORE_COUPLE_H
#define SENNIT_CORE_COUPLE_H

#include "base/channel.h"
#include "core/inbox.h"
#include "core/inproc.h"

/* An inproc connection between two loops: the only thing that both their threads touch.
 * Each loop has its half, with the pipe of its socket; each half has a channel for what
 * the other one sends, and a note for its loop's inbox.
 *
 * The connecter asks, the binder's loop accepts, the connecter meets it; only then both
 * say READY and read. Until then either can step back, and nobody was told. */
typedef enum sni_stage {
    SNI_ALONE,    /* nobody was asked, or who was asked has not bound the name any more */
    SNI_ASKED,    /* the binder's loop has a note of it */
    SNI_ACCEPTED, /* the binder has a pipe for it */
    SNI_MET
} sni_stage;

enum { SNI_CONNECTER, SNI_BINDER };

typedef struct sni_half {
    sni_note note;
    sni_couple *couple;
    sni_inbox *inbox; /* of the loop it belongs to; NULL: nobody was asked yet */
    sni_pipe *pipe;   /* that loop's; NULL: none, or none any more */
    sni_channel in;
    sni_msgq early; /* before what is in `in`: greetings, and what was sent before there
                       was a binder. The sender's until they met */

    /* What the other half is told with ASKED or ACCEPTED. */
    sni_block *card; /* one reference; see sni_inproc */
    sennit_sock_type type;
    uint8_t identity[SENNIT_IDENTITY_MAX];
    uint8_t identity_size;
    atomic_int recv_hwm_msgs; /* may change later */
    _Atomic uint64_t recv_hwm_bytes;

    /* Told when it ends the couple. */
    sennit_err err;
    const char *reason;
} sni_half;

struct sni_couple {
    const sennit_allocator *alloc;
    atomic_uint refs;  /* pipes and notes */
    atomic_uint state; /* a stage, and whether one half has ended it */
    sni_half halves[2];
    char name[];
};

/* A couple whose connecter is `pipe`. Errors: ENOMEM. */
sennit_err sni_couple_new(sni_couple **out, sni_pipe *pipe, const char *name);

void sni_couple_ref(sni_couple *couple);
void sni_couple_unref(sni_couple *couple);

/* Makes the loop of that half look. Thread: of the other half, or its own. */
void sni_couple_ring(sni_couple *couple, unsigned side);

sni_stage sni_couple_stage(const sni_couple *couple);
bool sni_couple_ended(const sni_couple *couple);

/* False: it is not at `from` any more, or has ended. */
bool sni_couple_advance(sni_couple *couple, sni_stage from, sni_stage to);

/* The connecter, alone so far, asks the loop of `inbox`. `early`: what has waited for
 * it, moved away; NULL: nothing, or it was handed over before. */
void sni_couple_ask(sni_couple *couple, sni_inbox *inbox, sni_msgq *early);

/* The binder's loop, asked, does not take it. False: the connecter has gone meanwhile and
 * does not hear of that. */
bool sni_couple_refuse(sni_couple *couple, sennit_err err);

/* ---- an end, by its pipe ----------------------------------------------- */

/* The pipe is the binder's of a couple that its connecter asked for. */
void sni_couple_enter(sni_couple *couple, sni_pipe *pipe);

/* It is nobody's any more, and the couple does not hear of it. */
void sni_couple_leave(sni_pipe *pipe);

/* Both are READY. */
void sni_couple_met(sni_pipe *pipe);

/* Looks at everything that may have changed between halves that met. */
void sni_couple_look(sni_pipe *pipe);

/* It takes no more, and reads what the other one has sent by now. `err`, `reason`: what
 * the other one is told. */
void sni_couple_part(sni_pipe *pipe, sennit_err err, const char *reason);

/* What counts at the other end has changed, and here: our marks. */
void sni_couple_tell_marks(sni_pipe *pipe);

/* The body may be borrowed if it is one that a channel copies. */
sennit_err sni_couple_push(sni_pipe *pipe, sni_msg *msg, bool more);
sennit_err sni_couple_pull(sni_pipe *pipe, sni_msg *msg);

/* The next frame of any kind, as it was sent, from what has arrived.
 * Errors: EAGAIN, ENOMEM (it stays). */
sennit_err sni_couple_next(sni_pipe *pipe, sni_msg *msg);

/* Whether there is something to pull by now. */
bool sni_couple_look_ahead(const sni_pipe *pipe);

/* True when there is nothing left to pull, and the next message will ring. */
bool sni_couple_settle(sni_pipe *pipe);

sennit_err sni_couple_greet(sni_pipe *pipe, sni_msg *msg);
void sni_couple_rollback(sni_pipe *pipe);
bool sni_couple_full(const sni_pipe *pipe);
bool sni_couple_drained(const sni_pipe *pipe);
size_t sni_couple_unread(const sni_pipe *pipe);

/* Nobody will read what has arrived. */
void sni_couple_discard(sni_pipe *pipe);

#endif /* SENNIT_CORE_COUPLE_H */
