/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_IO_URING_H
#define SENNIT_IO_URING_H

#include "io/io.h"

/* Completions over io_uring: connections are accepted by one request that goes on, what
 * arrives is received into buffers that the kernel chooses, and one call per turn hands
 * over what was asked for and waits. Where the kernel cannot or may not do that, opening
 * fails; see sennit_backend_probe(). */

/* What a test may count ... */
typedef struct sni_uring_stats {
    unsigned entered;   /* calls of the system to submit or wait */
    unsigned requests;  /* handed over */
    unsigned no_buffer; /* receives that found none */
    unsigned ended;     /* requests that should have gone on and were made again */
    unsigned overflows; /* there were more completions than places for them */
    unsigned refused; /* the kernel took nothing for the moment, or the queue was full */
} sni_uring_stats;

/* ... and force. 0 and NULL: as always. */
typedef struct sni_uring_opts {
    unsigned entries;        /* places for requests */
    unsigned completions;    /* and for what they come to */
    unsigned buffers;        /* a power of two */
    unsigned setups_unknown; /* of the ways to set up a ring, best first, that this kernel
                                does not know: deferring work (6.1), cooperating (5.19) */
    bool no_features;        /* ... nor what no ring can do without ... */
    bool no_groups;          /* ... nor groups of buffers (5.19) ... */
    bool no_multishot;       /* ... nor accepting that goes on */
    bool ends_multishot;     /* accepting ends with each connection */
    int setup_error;         /* an errno that setting up ends in */
    /* Called instead of entering: an errno that this ends in, or 0 to enter. */
    int (*enter)(void *arg);
    void *arg;
    sni_uring_stats *stats;
} sni_uring_opts;

/* Errors, and `why`: as sni_ring_open(). */
sennit_err sni_io_uring_open(sni_io **out, const sennit_allocator *alloc,
                             sni_pool *recv_blocks, const sni_uring_opts *opts,
                             const char **why);

#endif /* SENNIT_IO_URING_H */
