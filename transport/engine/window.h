/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_ENGINE_WINDOW_H
#define SENNIT_ENGINE_WINDOW_H

#include "base/bodies.h"
#include "base/bytes.h"

/* Received bytes that are still needed, in one piece. */
typedef struct sni_window {
    sni_block *home; /* one reference, or NULL when empty */
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

/* Gives the block back when everything has been handed out. */
static inline void
sni_window_release_if_empty(sni_window *window)
{
    if (window->home == NULL || window->parsed < window->filled)
        return;
    sni_block_unref(window->home);
    *window = (sni_window){ NULL, 0, 0, 0 };
}

/* What is left, if it is little, moves to a small block, so that it does not keep a large
 * one from others. Without memory it stays. */
void sni_window_settle(sni_window *window, sni_bodies *bodies);

#endif /* SENNIT_ENGINE_WINDOW_H */
