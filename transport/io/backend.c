/* SPDX-License-Identifier: MIT */
#include "io/backend.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "io/uring.h"

#ifndef SENNIT_WITH_URING
sennit_err
sni_io_uring_open(sni_io **out, const sennit_allocator *alloc, sni_pool *recv_blocks,
                  const sni_uring_opts *opts, const char **why)
{
    (void)out;
    (void)alloc;
    (void)recv_blocks;
    (void)opts;
    *why = "this library was built without io_uring (SENNIT_WITH_URING)";
    return SENNIT_ENOTSUP;
}
#endif

/* What AUTO means here. */
static sennit_err
choose(sennit_backend *out, const char **why)
{
    const char *name = getenv("SENNIT_BACKEND");

    *out = SENNIT_BACKEND_EPOLL;
    if (name == NULL || strcmp(name, "") == 0 || strcmp(name, "auto") == 0 ||
        strcmp(name, "epoll") == 0)
        return SENNIT_OK;
    if (strcmp(name, "uring") == 0) {
        *out = SENNIT_BACKEND_URING;
        return SENNIT_OK;
    }
    *why = "the environment variable SENNIT_BACKEND is none of auto, epoll and uring";
    return SENNIT_EINVAL;
}

static sennit_err
open_auto(sni_io **out, const sennit_allocator *alloc, sni_pool *recv_blocks,
          const char **why)
{
    sennit_backend chosen;
    sennit_err err = choose(&chosen, why);

    if (err)
        return err;
    if (chosen == SENNIT_BACKEND_URING) {
        err = sni_io_uring_open(out, alloc, recv_blocks, NULL, why);
        /* Where `alloc` has no memory there is none for epoll either. */
        if (err == SENNIT_OK || *why == NULL)
            return err;
    }
    return sni_io_epoll_open(out, alloc, recv_blocks);
}

sennit_err
sni_backend_open(sni_io **out, const sennit_allocator *alloc, sni_pool *recv_blocks,
                 sennit_backend wanted, const char **why)
{
    *why = NULL;
    switch (wanted) {
    case SENNIT_BACKEND_AUTO:
        return open_auto(out, alloc, recv_blocks, why);
    case SENNIT_BACKEND_EPOLL:
        return sni_io_epoll_open(out, alloc, recv_blocks);
    case SENNIT_BACKEND_URING:
        return sni_io_uring_open(out, alloc, recv_blocks, NULL, why);
    }
    *why = "backend is none of sennit_backend";
    return SENNIT_EINVAL;
}

sennit_err
sennit_backend_probe(sennit_backend backend, const char **why)
{
    const sennit_allocator *alloc = &sni_alloc_default;
    sni_pool *blocks = sni_pool_new(alloc, SNI_RECV_BYTES, 0);
    const char *said = NULL;
    sni_io *io;
    sennit_err err = SENNIT_ENOMEM;

    if (blocks != NULL)
        err = sni_backend_open(&io, alloc, blocks, backend, &said);
    if (err == SENNIT_OK)
        io->ops->fini(io);
    sni_pool_free(blocks);
    if (why != NULL)
        *why = said != NULL ? said : err ? sennit_err_text(err) : "";
    return err;
}
