/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_IO_RING_H
#define SENNIT_IO_RING_H

#include <liburing.h>

#include "base/block.h"
#include "io/uring.h"

/* An io_uring and a group of buffers of which the kernel takes one when something has
 * arrived, so that a connection that is silent needs none.
 *
 * Everything asked of the kernel comes back: a request that was put into the ring has
 * its last completion (one without IORING_CQE_F_MORE) some time, cancelled or not, and
 * `requests` counts those that have not.
 *
 * Law: a buffer is the kernel's, or given (its octets are being looked at), or absent
 * (there was no memory for it).
 *
 * Thread: that of sni_ring_open(). */
typedef struct sni_ring {
    struct io_uring uring;
    sni_uring_opts opts;
    sni_uring_stats *stats; /* the caller's, or ... */
    sni_uring_stats own_stats;
    const sennit_allocator *alloc;
    unsigned requests;
    int bell;           /* of sni_ring_watch() ... */
    bool rings;         /* ... which was called */
    bool tells_of_work; /* the ring has a flag for what only entering completes */

    sni_pool *pool;
    struct io_uring_buf_ring *group; /* where the kernel looks for buffers */
    size_t group_bytes;
    unsigned buffers; /* a power of two */
    unsigned absent;
    sni_block **blocks; /* by number; NULL: absent */
    uint16_t *given;
    unsigned given_count;
} sni_ring;

#define SNI_RING_GROUP 0

/* Errors: ENOTSUP (the kernel lacks something), EACCES (a sandbox or an administrator
 * forbids it), ENOMEM, EMFILE; `*why` says what in a sentence, unless it is `alloc` that
 * has no memory: NULL then. */
sennit_err sni_ring_open(sni_ring *ring, const sennit_allocator *alloc, sni_pool *pool,
                         const sni_uring_opts *opts, const char **why);

/* `shared`: it is the parent's, and is not touched. */
void sni_ring_close(sni_ring *ring, bool shared);

/* A place for a request, which the caller fills, with its number as `user_data`. NULL:
 * the queue is full and the kernel takes nothing; look at what is completed first. */
struct io_uring_sqe *sni_ring_request(sni_ring *ring);

/* Takes a request back that the kernel has refused so far: what comes back has the number
 * `instead`. False: it is not there. */
bool sni_ring_withdraw(sni_ring *ring, uint64_t number, uint64_t instead);

/* Hands over what was put into the ring and, if nothing is completed, waits until
 * something is or the clock reaches `until` (0: does not wait). One call of the system,
 * none if there is nothing to do. False: a signal ended the wait. */
bool sni_ring_enter(sni_ring *ring, sennit_time until);

/* Whether something was put into the ring that the kernel has refused so far. */
bool sni_ring_refused(const sni_ring *ring);

/* Whether sni_ring_next() gives something. */
bool sni_ring_completed(const sni_ring *ring);

/* From now on the bell rings when something is completed, or would be by entering. */
void sni_ring_watch(sni_ring *ring);

/* Silences it. True: something came meanwhile, so entering again completes it. */
bool sni_ring_hush(sni_ring *ring);

/* The next completion, or false. */
bool sni_ring_next(sni_ring *ring, struct io_uring_cqe *out);

/* The buffer that a completion used. It is given until the next recycle(). */
sni_block *sni_ring_buffer(sni_ring *ring, const struct io_uring_cqe *cqe);

/* Returns given buffers to the kernel, and others in the place of those that somebody
 * kept. Returns how many the kernel has: 0 means that there is no memory. */
unsigned sni_ring_recycle(sni_ring *ring);

#endif /* SENNIT_IO_RING_H */
