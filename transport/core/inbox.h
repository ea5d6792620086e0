/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CORE_INBOX_H
#define SENNIT_CORE_INBOX_H

#include <stdatomic.h>

#include "io/fork.h"
#include "io/io.h"

/* How other threads tell a loop that there is something to look at: each thing has a
 * note, which lies in the inbox once however often it is posted. A note says where to
 * look and never what there is, so nothing is lost and nothing grows.
 *
 * The loop is woken by the first note of an inbox that is at rest. It is so unless the
 * loop has taken notes and will look once more before it waits: then a note costs no
 * system call.
 *
 * It is counted, and outlives its loop for those who still hold it. */
typedef struct sni_note sni_note;

/* What the loop does about a note that it has taken. It may be posted again meanwhile. */
typedef void sni_note_fn(sennit_loop *loop, sni_note *note);

struct sni_note {
    sni_note *next;
    sni_note_fn *look;
    atomic_bool posted;
};

typedef struct sni_inbox {
    const sennit_allocator *alloc;
    atomic_uint refs;
    _Atomic(sni_note *) notes; /* or a mark, see inbox.c; NULL: it is at rest */
    sni_lock lock;             /* of: */
    sni_io *io;                /* whom to wake; NULL: the loop is closed */
} sni_inbox;

/* `alloc` must serve any thread. Errors: ENOMEM. */
sennit_err sni_inbox_new(sni_inbox **out, const sennit_allocator *alloc, sni_io *io);

sni_inbox *sni_inbox_ref(sni_inbox *inbox);
void sni_inbox_unref(sni_inbox *inbox);

void sni_note_init(sni_note *note, sni_note_fn *look);

/* False: it lies there already, or the inbox is closed. Otherwise it must stay valid
 * until it was taken. Thread: any. */
bool sni_inbox_post(sni_inbox *inbox, sni_note *note);

/* Looks where notes say, at all that lie in it now. What was done before a note was
 * posted is seen then. Thread: the loop's, as below. */
void sni_inbox_look(sni_inbox *inbox, sennit_loop *loop);

/* The loop goes away or waits: from now on the first note wakes it. False: there are
 * some already, and it must not. */
bool sni_inbox_rest(sni_inbox *inbox);

/* Looks for the last time; what is posted from then on is refused. */
void sni_inbox_close(sni_inbox *inbox, sennit_loop *loop);

#endif /* SENNIT_CORE_INBOX_H */
