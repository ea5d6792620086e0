/* SPDX-License-Identifier: MIT */
#include "engine/window.h"

#include "base/assert.h"
#include "base/limits.h"

static void
check(const sni_window *window)
{
    SNI_ASSERT(window->parsed <= window->scanned);
    SNI_ASSERT(window->scanned <= window->filled);
    SNI_ASSERT(window->home == NULL || window->filled <= window->home->capacity);
}

/* What is kept goes to another block, which the window takes. */
static void
move(sni_window *window, sni_block *to, size_t kept)
{
    size_t scanned = window->scanned - window->parsed;

    if (kept > 0)
        sni_body_copy(to->data, window->home->data + window->parsed, kept);
    sni_window_release(window);
    *window = (sni_window){ .home = to, .scanned = scanned, .filled = kept };
    check(window);
}

sennit_err
sni_window_reserve(sni_window *window, sni_bodies *bodies, sni_pool *pool, size_t size)
{
    size_t kept = window->filled - window->parsed;
    sni_block *fresh;

    if (window->home != NULL && sni_window_room(window) >= size)
        return SENNIT_OK;
    if (size > SIZE_MAX - kept)
        return SENNIT_ENOMEM;
    fresh = kept + size <= SNI_RECV_BYTES ? sni_pool_take(pool)
                                          : sni_bodies_take(bodies, kept + size);
    if (fresh == NULL)
        return SENNIT_ENOMEM;
    move(window, fresh, kept);
    return SENNIT_OK;
}

sennit_err
sni_window_add(sni_window *window, sni_bodies *bodies, sni_pool *pool, sennit_bytes in,
               sni_block *home)
{
    sennit_err err;

    if (window->home == NULL && home != NULL) {
        window->home = sni_block_ref(home);
        window->parsed = window->scanned = (size_t)(in.data - home->data);
        window->filled = window->parsed + in.size;
        check(window);
        return SENNIT_OK;
    }
    if (window->home != NULL && in.data == window->home->data + window->filled &&
        home == window->home) {
        window->filled += in.size;
        check(window);
        return SENNIT_OK;
    }
    err = sni_window_reserve(window, bodies, pool, in.size);
    if (err)
        return err;
    sni_body_copy(window->home->data + window->filled, in.data, in.size);
    window->filled += in.size;
    check(window);
    return SENNIT_OK;
}

void
sni_window_settle(sni_window *window, sni_bodies *bodies)
{
    size_t kept = window->filled - window->parsed;
    sni_block *block;

    if (window->home == NULL || window->home->capacity < SNI_RECV_BYTES ||
        kept > SNI_BODY_BYTES)
        return;
    block = sni_bodies_take(bodies, kept);
    if (block == NULL)
        return;
    move(window, block, kept);
}
