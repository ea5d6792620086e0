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
 * Thread: everything but wake() and wait() belongs to the thread that owns the loop. */
typedef struct sni_io sni_io;
typedef struct sni_file sni_file; /* a listening or connected stream */
typedef struct sni_op sni_op;

typedef enum sni_op_kind {
    SNI_OP_ACCEPT,
    SNI_OP_CONNECT,
    SNI_OP_RECV,
    SNI_OP_SEND,
    SNI_OP_HANGUP, /* beside a RECV and a SEND: the peer has sent its last octet, or the
                      connection was reset. Reads nothing, so it tells a receiver that
                      has stopped for back-pressure; what is unread can still be read */
    SNI_OP_RESOLVE /* looks a host up, on another thread; has no file */
} sni_op_kind;

/* One look-up, the owner's; it stays until the operation is back. */
typedef struct sni_lookup {
    char host[SNI_HOST_MAX + 1];
    bool ipv6; /* IPv6 addresses are wanted as well */
    sennit_ip found[SENNIT_RESOLVED_MAX];
    size_t found_count; /* at least 1 when it succeeded */
    sennit_time at_;    /* backend's */
} sni_lookup;

/* Who is at the other end. */
typedef struct sni_peer_name {
    sni_address address;          /* numeric; IPC: nothing but the kind */
    char text[SNI_PEER_TEXT_MAX]; /* of it; "" for IPC */
    int64_t uid, gid, pid;        /* IPC: who connected, or listens; -1: not known */
} sni_peer_name;

/* Every connection has several: what only one kind needs shares its place, and what is
 * small stands together. */
struct sni_op {
    uint8_t kind;       /* an sni_op_kind */
    uint8_t owner_kind; /* for who takes completions apart: the submitter's, ... */
    bool pending;       /* submitted; the LOOP clears it when it handles the completion */
    sennit_err err;     /* a result, see below */
    void *owner;        /* ... as is this: untouched here */
    sni_file *file;
    union {
        /* SEND: what to write; parts and bytes stay until the operation is back. */
        struct {
            const sennit_bytes *parts;
            size_t parts_count;
        };
        /* RECV: where to; `home` is the block it lies in, and the operation holds a
         * reference to it. NULL `home`: the backend brings a block of its own. */
        struct {
            uint8_t *into;
            size_t room;
            sni_block *home;
        };
        /* ACCEPT: what to set on the new connection; NULL: nothing that was asked for. */
        const sennit_sock_opts *opts;
        /* RESOLVE: what to look up, and what was found. */
        sni_lookup *lookup;
    };

    /* Results. RECV: `size` bytes at `into` in `home` (0: end of stream), valid
     * until the next reap() unless the block is referenced. SEND: bytes written,
     * at least 1. ACCEPT: a new file. RESOLVE: in `lookup`. ACCEPT, CONNECT, RESOLVE:
     * `why` is what failed, or NULL; of a RESOLVE that was taken back, why it had not
     * begun. */
    const char *why;
    union {
        size_t size;        /* RECV, SEND */
        sni_file *accepted; /* ACCEPT */
    };
    sni_op *next_; /* backend's */
};

typedef struct sni_io_ops {
    const char *name;

    /* Listens on `address`; `*bound` gets the port or path in use. Of `opts` count those
     * of the kernel, backlog and ipc_mode.
     * Errors: EADDRINUSE, EADDRNOTAVAIL, EACCES, ENOENT, ENODEV, EINVAL and ENOTSUP (an
     *         option), EMFILE, ENOMEM, EIO; io->why says what failed, if it was not the
     * address.
     */
    sennit_err (*listen)(sni_io *io, const sni_address *address,
                         const sennit_sock_opts *opts, sni_file **out,
                         sni_address *bound);

    /* Takes over a descriptor that listens already; `fd` is the backend's on success. A
     * path is never removed. Errors: EINVAL (io->why), ENOMEM. */
    sennit_err (*adopt)(sni_io *io, int fd, sni_file **out, sni_address *bound);

    /* A file that a CONNECT operation will connect to `address`, from `source` unless
     * that is NULL. `opts` may be NULL. Errors as listen. */
    sennit_err (*dial)(sni_io *io, const sni_address *address, const sni_address *source,
                       const sennit_sock_opts *opts, sni_file **out);

    /* Who is at the other end of a connected file. */
    void (*peer_name)(sni_io *io, const sni_file *file, sni_peer_name *out);

    /* The first address of a network interface; an IPv4 one, if it has any. And the
     * number of an interface. They ask the kernel, nobody else.
     * Errors: ENODEV (no such interface, or no such address on it), ENOMEM, EMFILE. */
    sennit_err (*interface_address)(sni_io *io, const char *name, bool ipv4, bool ipv6,
                                    sni_address *out);
    sennit_err (*interface_scope)(sni_io *io, const char *name, uint32_t *out);

    /* Closes a file on which no operation is pending. */
    void (*close)(sni_io *io, sni_file *file);

    /* Begins `op`. True: it is done already and will not come out of reap(). */
    bool (*submit)(sni_io *io, sni_op *op);

    /* Begins SENDs of different files, at most SNI_SENDS_TOGETHER, in one call of the
     * system if it can. Returns how many are done: they are the first of `sends` now,
     * still `pending` as those that reap() gives back, and do not come out of it. NULL:
     * one after the other is as good. */
    int (*submit_sends)(sni_io *io, sni_op **sends, int count);

    /* Asks for `op` back: it comes out of reap(), with ECLOSED unless it was just
     * done. No-op when it is not pending. */
    void (*cancel)(sni_io *io, sni_op *op);

    /* Takes `op` back at once: true, and it will not come out of reap(), or false,
     * and nothing changed (it is done, or the kernel has it: cancel it). */
    bool (*retract)(sni_io *io, sni_op *op);

    /* Nothing more will be written: the peer reads the end of the stream once it has
     * read everything before it. */
    void (*finish)(sni_io *io, sni_file *file);

    /* Whether some of what was written to a connected file is not with the other side
     * yet, so that closing it, which resets a connection with input that is unread, could
     * still lose it. */
    bool (*undelivered)(sni_io *io, const sni_file *file);

    /* Waits until something completes, wake() was called or the clock reaches
     * `until` (0: does not wait), then gives back up to `done_max` operations.
     * Returns their number, or -1 when a signal interrupted the wait. */
    int (*reap)(sni_io *io, sni_op **done, int done_max, sennit_time until);

    /* Waits until reap() would give something back, `bell` (io/bell.h) rings or the clock
     * reaches `until`, and changes nothing: meanwhile another thread may do anything else
     * with the backend but wait. What would end the wait may be taken away by then: it
     * goes on, unless that is the bell. False: a signal ended it. NULL: one thread only
     * uses this backend. */
    bool (*wait)(sni_io *io, int bell, sennit_time until);

    /* Ends the current or next wait. Any thread. */
    void (*wake)(sni_io *io);

    sennit_time (*now)(sni_io *io);

    /* The same clock, cheaper and up to some milliseconds behind. */
    sennit_time (*now_coarse)(sni_io *io);

    /* Unpredictable bits, for jitter and first identities. */
    uint64_t (*random)(sni_io *io);

    /* Readable (level-triggered) when reap() would return something; -1: none. */
    int (*descriptor)(const sni_io *io);

    /* Whether this process got it by fork(): then the kernel's objects are the parent's.
     * Nothing is done to them: a submitted operation is ECLOSED at once, reap() hears
     * nothing from the kernel and does not wait, close() gives up the descriptor. */
    bool (*inherited)(sni_io *io);

    /* All files are closed before. */
    void (*fini)(sni_io *io);
} sni_io_ops;

/* Backends embed this as their first member. */
struct sni_io {
    const sni_io_ops *ops;
    const sennit_allocator *alloc;
    sni_pool *recv_blocks; /* of SNI_RECV_BYTES; borrowed from the loop */

    sennit_resolver resolver; /* set by the loop; resolve == NULL: the system's */
    sennit_time spin_ns;      /* likewise; so long a wait looks again and again before it
                                 sleeps */
    const char *why;          /* the last listen, adopt or dial that failed: what did, or
                                 NULL */
};

/* Errors: ENOMEM, EMFILE. */
sennit_err sni_io_epoll_open(sni_io **out, const sennit_allocator *alloc,
                             sni_pool *recv_blocks);

#endif /* SENNIT_IO_IO_H */
