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
 * It is counted, and outlives its loop for those who still hold it. */
typedef struct sni_note {
    struct sni_note *next;
    atomic_bool posted;
} sni_note;

typedef struct sni_inbox {
    const sennit_allocator *alloc;
    atomic_uint refs;
    _Atomic(sni_note *) notes;
    sni_lock lock; /* of: */
    sni_io *io;    /* whom to wake; NULL: the loop is closed */
} sni_inbox;

/* `alloc` must serve any thread. Errors: ENOMEM. */
sennit_err sni_inbox_new(sni_inbox **out, const sennit_allocator *alloc, sni_io *io);

sni_inbox *sni_inbox_ref(sni_inbox *inbox);
void sni_inbox_unref(sni_inbox *inbox);

void sni_note_init(sni_note *note);

/* False: it lies there already, or the inbox is closed. Otherwise it must stay valid
 * until it was taken. Thread: any. */
bool sni_inbox_post(sni_inbox *inbox, sni_note *note);

/* Whether there is something to take. Thread: any. */
static inline bool
sni_inbox_empty(sni_inbox *inbox)
{
    return atomic_load_explicit(&inbox->notes, memory_order_relaxed) == NULL;
}

/* All notes, for sni_note_next(). What was done before a note was posted is seen after
 * it was taken. Thread: the loop's. */
sni_note *sni_inbox_take(sni_inbox *inbox);

/* The same, for the last time. */
sni_note *sni_inbox_close(sni_inbox *inbox);

/* Takes the first of those notes: it can be posted again. NULL: none are left. */
sni_note *sni_note_next(sni_note **notes);

#endif /* SENNIT_CORE_INBOX_H */
