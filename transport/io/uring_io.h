/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_IO_URING_IO_H
#define SENNIT_IO_URING_IO_H

#include <sys/socket.h>

#include "base/limits.h"
#include "base/list.h"
#include "io/held.h"
#include "io/real.h"
#include "io/ring.h"

/* What the files of this backend share: its state, and what one asks of another. */

/* What is asked of the kernel. In the low bits of a request's number, above them the
 * file. */
typedef enum sni_request {
    SNI_REQUEST_ACCEPT,
    SNI_REQUEST_RECV,
    SNI_REQUEST_WRITABLE,
    SNI_REQUEST_HANGUP,
    SNI_REQUEST_SEND,
    SNI_REQUEST_KINDS, /* of those of a file */
    SNI_REQUEST_WAKE = SNI_REQUEST_KINDS,
    SNI_REQUEST_CANCEL
} sni_request;

#define SNI_REQUEST_MASK ((uintptr_t)7)
_Static_assert(SNI_REQUEST_CANCEL <= SNI_REQUEST_MASK,
               "a file's address has three bits to spare");

/* A kernel that is out of memory may refuse to be asked. */
#define SNI_URING_TRIES 8

struct sni_file {
    sni_real_file of;
    sni_link wanting; /* of the ring, or starved */
    sni_held *held;   /* a listener's */
    uint8_t want;     /* sets of requests: to be made, ... */
    uint8_t cancel;   /* ... to be called back, ... */
    uint8_t armed;    /* ... with the kernel */
    bool readable;    /* something is known to be there */
    bool unwanted;    /* the RECV that the kernel has was cancelled ... */
    bool taken;       /* ... or is being taken back */
    bool closed;
};

typedef struct sni_uring {
    sni_real real;
    sni_ring ring;
    sni_link wanting; /* files that want something of the kernel */
    sni_link starved; /* ... a buffer */
    sni_link listeners;
    int watch_fd; /* readable when the ring's bell rings or somebody wakes */
    bool wake_armed;
    bool woken; /* heard of outside of a reap(), so the next one does not wait */
    bool closing;
    bool watched; /* somebody waits for the descriptor */
    bool no_multishot;
    bool together;                              /* several SENDs are being handed over */
    unsigned sending;                           /* of those, that the ring has ... */
    struct msghdr messages[SNI_SENDS_TOGETHER]; /* ... and until then these */
} sni_uring;

static inline sni_uring *
sni_uring_of(sni_io *io)
{
    return (sni_uring *)io;
}

static inline uint8_t
sni_request_bit(sni_request kind)
{
    return (uint8_t)(1u << kind);
}

static inline uint64_t
sni_request_number(const sni_file *file, sni_request kind)
{
    return (uintptr_t)file | (uintptr_t)kind;
}

static inline void
sni_request_name(struct io_uring_sqe *sqe, const sni_file *file, sni_request kind)
{
    sqe->user_data = sni_request_number(file, kind);
}

/* ---- what is wanted of the kernel (uring_request.c) ---------------------- */

/* Both are handed over with the next wait: that a request is made, that those of a set
 * which the kernel has are called back. */
void sni_uring_want(sni_uring *uring, sni_file *file, sni_request kind);
void sni_uring_want_back(sni_uring *uring, sni_file *file, uint8_t kinds);

/* That `file` wants something. */
void sni_uring_list(sni_uring *uring, sni_file *file);

/* Puts everything that is wanted into the ring; false if there was not room for all. */
bool sni_uring_make_all(sni_uring *uring);

/* Calls one back now; false: the ring is full. */
bool sni_uring_call_back(sni_uring *uring, const sni_file *file, sni_request kind);

/* Where somebody waits for the descriptor: hands over what is wanted now. */
void sni_uring_hand_over(sni_uring *uring);

/* Takes back what the kernel has refused so far: it names a descriptor that may be
 * another's when it is taken. */
void sni_uring_withdraw(sni_uring *uring, sni_file *file);

/* ---- several SENDs (uring_sends.c) --------------------------------------- */

/* As submit_sends of sni_io_ops, and what comes back of one. */
int sni_uring_submit_sends(sni_io *io, sni_op **sends, int count);
void sni_uring_sent(sni_uring *uring, sni_file *file, int res);

/* ---- a turn (uring.c) ----------------------------------------------------- */

/* A SEND, unless its file waits until the kernel takes something. True: done. */
bool sni_uring_try_send(sni_op *op);

/* After this the bell is silent, and nothing has rung it that will not ring again. */
void sni_uring_settle(sni_uring *uring);

/* Everything that has come back goes where it belongs. */
void sni_uring_complete_all(sni_uring *uring);

#endif /* SENNIT_IO_URING_IO_H */
