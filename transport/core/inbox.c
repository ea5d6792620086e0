/* SPDX-License-Identifier: MIT */
/* A stack that is taken as a whole, so there is no ABA problem. Who puts the first note
 * on it wakes the loop; who comes later knows that somebody did. */
#include "core/inbox.h"

#include "base/alloc.h"

/* On top of a stack that takes no more; never read. */
static sni_note *
closed(sni_inbox *inbox)
{
    return (sni_note *)(void *)inbox;
}

sennit_err
sni_inbox_new(sni_inbox **out, const sennit_allocator *alloc, sni_io *io)
{
    sni_inbox *inbox = sni_acquire(alloc, sizeof *inbox);

    if (inbox == NULL)
        return SENNIT_ENOMEM;
    if (sni_lock_init(&inbox->lock) != SENNIT_OK) {
        sni_release(alloc, inbox);
        return SENNIT_ENOMEM;
    }
    inbox->alloc = alloc;
    inbox->io = io;
    atomic_init(&inbox->refs, 1);
    atomic_init(&inbox->notes, NULL);
    *out = inbox;
    return SENNIT_OK;
}

sni_inbox *
sni_inbox_ref(sni_inbox *inbox)
{
    atomic_fetch_add_explicit(&inbox->refs, 1, memory_order_relaxed);
    return inbox;
}

void
sni_inbox_unref(sni_inbox *inbox)
{
    if (inbox == NULL ||
        atomic_fetch_sub_explicit(&inbox->refs, 1, memory_order_acq_rel) != 1)
        return;
    sni_lock_fini(&inbox->lock);
    sni_release(inbox->alloc, inbox);
}

void
sni_note_init(sni_note *note)
{
    note->next = NULL;
    atomic_init(&note->posted, false);
}

/* The lock is for the loop that may just be closing; a wake is a system call anyway. */
static void
wake(sni_inbox *inbox)
{
    sni_lock_take(&inbox->lock);
    if (inbox->io != NULL)
        inbox->io->ops->wake(inbox->io);
    sni_lock_release(&inbox->lock);
}

bool
sni_inbox_post(sni_inbox *inbox, sni_note *note)
{
    sni_note *top;

    if (atomic_exchange_explicit(&note->posted, true, memory_order_acq_rel))
        return false;
    top = atomic_load_explicit(&inbox->notes, memory_order_relaxed);
    do {
        if (top == closed(inbox))
            return false;
        note->next = top;
    } while (!atomic_compare_exchange_weak_explicit(
        &inbox->notes, &top, note, memory_order_release, memory_order_relaxed));
    if (top == NULL)
        wake(inbox);
    return true;
}

sni_note *
sni_inbox_take(sni_inbox *inbox)
{
    return atomic_exchange_explicit(&inbox->notes, NULL, memory_order_acquire);
}

sni_note *
sni_inbox_close(sni_inbox *inbox)
{
    sni_lock_take(&inbox->lock);
    inbox->io = NULL;
    sni_lock_release(&inbox->lock);
    return atomic_exchange_explicit(&inbox->notes, closed(inbox), memory_order_acquire);
}

sni_note *
sni_note_next(sni_note **notes)
{
    sni_note *note = *notes;

    if (note == NULL)
        return NULL;
    *notes = note->next;
    (void)atomic_exchange_explicit(&note->posted, false, memory_order_acq_rel);
    return note;
}
