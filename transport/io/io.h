/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_IO_IO_H
#define SENNIT_IO_IO_H

#include "base/block.h"
#include "io/address.h"

/* Completion-shaped I/O, a clock and a wake: what a loop drives. Readiness can
 * imitate completion (try the call, else park it) but not the reverse, so this is
 * the shape that epoll, io_uring and the simulator share.
 *
 * Operations are embedded in their owner and cost no memory. At most one RECV and
 * one SEND are in flight per file; an ACCEPT or CONNECT excludes both. Each
 * operation that was submitted comes back exactly once: from submit() itself
 * (true) or out of reap(), also after cancel().
 *
 * Thread: everything but wake() belongs to the thread that owns the loop. */
typedef struct sni_io sni_io;
typedef struct sni_file sni_file; /* a listening or connected stream */
typedef struct sni_op sni_op;

typedef enum sni_op_kind {
    SNI_OP_ACCEPT,
    SNI_OP_CONNECT,
    SNI_OP_RECV,
    SNI_OP_SEND
} sni_op_kind;

struct sni_op {
    sni_op_kind kind;
    sni_file *file;
    void *owner; /* the submitter's, untouched here */

    /* SEND: what to write; parts and bytes stay until the operation is back. */
    const sennit_bytes *parts;
    size_t parts_count;

    /* RECV: where to; `home` is the block it lies in, and the operation holds a
     * reference to it. NULL `home`: the backend brings a block of its own. */
    uint8_t *into;
    size_t room;
    sni_block *home;

    /* Results. RECV: `size` bytes at `into` in `home` (0: end of stream), valid
     * until the next reap() unless the block is referenced. SEND: bytes written,
     * at least 1. ACCEPT: a new file. */
    sennit_err err;
    size_t size;
    sni_file *accepted;

    bool pending;  /* submitted; the LOOP clears it when it handles the completion */
    sni_op *next_; /* backend's */
};

typedef struct sni_listen_opts {
    int backlog;
} sni_listen_opts;

typedef struct sni_io_ops {
    const char *name;

    /* Listens on `address`; `*bound` gets the port or path in use.
     * Errors: EADDRINUSE, EADDRNOTAVAIL, EACCES, ENOENT, EMFILE, ENOMEM, EIO. */
    sennit_err (*listen)(sni_io *io, const sni_address *address,
                         const sni_listen_opts *opts, sni_file **out, sni_address *bound);

    /* A file that a CONNECT operation will connect to `address`. Same errors. */
    sennit_err (*dial)(sni_io *io, const sni_address *address, sni_file **out);

    /* Closes a file on which no operation is pending. */
    void (*close)(sni_io *io, sni_file *file);

    /* Begins `op`. True: it is done already and will not come out of reap(). */
    bool (*submit)(sni_io *io, sni_op *op);

    /* Asks for `op` back: it comes out of reap(), with ECLOSED unless it was just
     * done. No-op when it is not pending. */
    void (*cancel)(sni_io *io, sni_op *op);

    /* Takes `op` back at once: true, and it will not come out of reap(), or false,
     * and nothing changed (it is done, or the kernel has it: cancel it). */
    bool (*retract)(sni_io *io, sni_op *op);

    /* Nothing more will be written: the peer reads the end of the stream once it has
     * read everything before it. */
    void (*finish)(sni_io *io, sni_file *file);

    /* Waits until something completes, wake() was called or the clock reaches
     * `until` (0: does not wait), then gives back up to `done_max` operations.
     * Returns their number, or -1 when a signal interrupted the wait. */
    int (*reap)(sni_io *io, sni_op **done, int done_max, sennit_time until);

    /* Ends the current or next wait. Any thread. */
    void (*wake)(sni_io *io);

    sennit_time (*now)(sni_io *io);

    /* The same clock, cheaper and up to some milliseconds behind. */
    sennit_time (*now_coarse)(sni_io *io);

    /* Unpredictable bits, for jitter and first identities. */
    uint64_t (*random)(sni_io *io);

    /* Readable (level-triggered) when reap() would return something; -1: none. */
    int (*descriptor)(const sni_io *io);

    /* Whether this process got it by fork(): then the descriptors are shared with the
     * parent, nothing may be done to the kernel's objects behind them, and from now
     * on reap() hears nothing from the kernel. */
    bool (*inherited)(sni_io *io);

    /* All files are closed before. */
    void (*fini)(sni_io *io);
} sni_io_ops;

/* Backends embed this as their first member. */
struct sni_io {
    const sni_io_ops *ops;
    const sennit_allocator *alloc;
    sni_pool *recv_blocks; /* of SNI_RECV_BYTES; borrowed from the loop */
};

/* Errors: ENOMEM, EMFILE. */
sennit_err sni_io_epoll_open(sni_io **out, const sennit_allocator *alloc,
                             sni_pool *recv_blocks);

#endif /* SENNIT_IO_IO_H */
