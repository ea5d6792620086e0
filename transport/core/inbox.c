/* SPDX-License-Identifier: MIT */
/* A stack that is taken as a whole, so there is no ABA problem. What lies below the first
 * note is one of two marks or, at rest, nothing: who finds that wakes the loop, and who
 * comes later knows that somebody did, or that the loop looks by itself. */
#include "core/inbox.h"

#include "base/alloc.h"

/* Marks, never read: of a stack that takes no more, and of one at which the loop will
 * look again before it rests. */
static sni_note *
closed(sni_inbox *inbox)
{
    return (sni_note *)(void *)inbox;
}

static sni_note *
watched(sni_inbox *inbox)
{
    return (sni_note *)(void *)&inbox->lock;
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
sni_note_init(sni_note *note, sni_note_fn *look)
{
    note->next = NULL;
    note->look = look;
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
        note->next = top == watched(inbox) ? NULL : top;
    } while (!atomic_compare_exchange_weak_explicit(
        &inbox->notes, &top, note, memory_order_release, memory_order_relaxed));
    if (top == NULL)
        wake(inbox);
    return true;
}

/* It may be posted again before it is looked at, and not after: no change is missed. */
static void
look_at(sni_note *notes, sennit_loop *loop)
{
    while (notes != NULL) {
        sni_note *note = notes;

        notes = note->next;
        (void)atomic_exchange_explicit(&note->posted, false, memory_order_acq_rel);
        note->look(loop, note);
    }
}

void
sni_inbox_look(sni_inbox *inbox, sennit_loop *loop)
{
    sni_note *top = atomic_load_explicit(&inbox->notes, memory_order_relaxed);

    if (top == NULL || top == watched(inbox))
        return;
    look_at(atomic_exchange_explicit(&inbox->notes, watched(inbox), memory_order_acquire),
            loop);
}

/* Release: whoever wakes it after that sees what the loop has done before it rested. */
bool
sni_inbox_rest(sni_inbox *inbox)
{
    sni_note *top = atomic_load_explicit(&inbox->notes, memory_order_relaxed);

    if (top == watched(inbox) &&
        atomic_compare_exchange_strong_explicit(
            &inbox->notes, &top, NULL, memory_order_release, memory_order_relaxed))
        return true;
    return top == NULL;
}

void
sni_inbox_close(sni_inbox *inbox, sennit_loop *loop)
{
    sni_note *notes;

    sni_lock_take(&inbox->lock);
    inbox->io = NULL;
    sni_lock_release(&inbox->lock);
    notes = atomic_exchange_explicit(&inbox->notes, closed(inbox), memory_order_acquire);
    look_at(notes == watched(inbox) ? NULL : notes, loop);
}
