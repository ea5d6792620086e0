/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_ENGINE_WINDOW_H
#define SENNIT_ENGINE_WINDOW_H

#include "base/bodies.h"
#include "base/bytes.h"

/* References that are counted at a time. */
#define SNI_WINDOW_AHEAD 256u

/* Received bytes that are still needed, in one piece. */
typedef struct sni_window {
    sni_block *home; /* a reference, or NULL when empty */
    unsigned ahead;  /* references to it for views that are still to be handed out */
    size_t parsed;   /* [parsed, scanned)  whole frames, not yet handed out     */
    size_t scanned;  /* [scanned, filled)  the beginning of a frame             */
    size_t filled;   /* [filled, capacity) room                                 */
} sni_window;        /* law: parsed <= scanned <= filled <= home->capacity      */

static inline size_t
sni_window_room(const sni_window *window)
{
    return window->home == NULL ? 0 : window->home->capacity - window->filled;
}

static inline sennit_bytes
sni_window_unscanned(const sni_window *window)
{
    if (window->home == NULL)
        return sni_bytes(NULL, 0);
    return sni_bytes(window->home->data + window->scanned,
                     window->filled - window->scanned);
}

/* Adds bytes. They are kept in place when they lie at the end of the window, or
 * when the window is empty and `home` is given; else copied. Errors: ENOMEM. */
sennit_err sni_window_add(sni_window *window, sni_bodies *bodies, sni_pool *pool,
                          sennit_bytes in, sni_block *home);

/* Makes room for at least `size` more bytes, moving to another block if need be
 * (views that were handed out stay valid: they hold the old one). Errors: ENOMEM. */
sennit_err sni_window_reserve(sni_window *window, sni_bodies *bodies, sni_pool *pool,
                              size_t size);

/* The block for a view, with a reference. They are counted many at a time: each by itself
 * is an atomic operation for each message. */
static inline sni_block *
sni_window_lend(sni_window *window)
{
    if (window->ahead == 0) {
        window->ahead = SNI_WINDOW_AHEAD;
        sni_block_ref_many(window->home, window->ahead);
    }
    window->ahead--;
    return window->home;
}

/* Lets go of the block, if there is one. */
static inline void
sni_window_release(sni_window *window)
{
    if (window->home != NULL)
        sni_block_unref_many(window->home, 1 + window->ahead);
    *window = (sni_window){ 0 };
}

/* Gives the block back when everything has been handed out. */
static inline void
sni_window_release_if_empty(sni_window *window)
{
    if (window->parsed == window->filled)
        sni_window_release(window);
}

/* What is left, if it is little, moves to a small block, so that it does not keep a large
 * one from others. Without memory it stays. */
void sni_window_settle(sni_window *window, sni_bodies *bodies);

#endif /* SENNIT_ENGINE_WINDOW_H */
