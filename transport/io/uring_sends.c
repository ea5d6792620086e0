/* SPDX-License-Identifier: MIT */
/* Several SENDs in one call: a request each, and what each comes to. */
#define _GNU_SOURCE

#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/assert.h"
#include "io/uring_io.h"

_Static_assert(sizeof(struct iovec) == sizeof(sennit_bytes) &&
                   offsetof(struct iovec, iov_base) == offsetof(sennit_bytes, data) &&
                   offsetof(struct iovec, iov_len) == offsetof(sennit_bytes, size),
               "parts are what the kernel takes");

/* The kernel takes what it can at once, or says EAGAIN, so it holds nothing of ours
 * behind that. False: there is no room in the ring. */
static bool
make_send(sni_uring *uring, sni_op *op, struct msghdr *message)
{
    const int flags = MSG_NOSIGNAL | MSG_DONTWAIT;
    struct io_uring_sqe *sqe = sni_ring_request(&uring->ring);

    if (sqe == NULL)
        return false;
    if (op->parts_count == 1 && op->parts->size <= INT32_MAX) {
        io_uring_prep_send(sqe, op->file->of.fd, op->parts->data, op->parts->size, flags);
    } else {
        *message = (struct msghdr){ .msg_iov = (struct iovec *)(uintptr_t)op->parts,
                                    .msg_iovlen = op->parts_count };
        io_uring_prep_sendmsg(sqe, op->file->of.fd, message, (unsigned)flags);
    }
    sni_request_name(sqe, op->file, SNI_REQUEST_SEND);
    op->file->armed |= sni_request_bit(SNI_REQUEST_SEND);
    uring->sending++;
    return true;
}

static void
begin_send(sni_uring *uring, sni_op *op, struct msghdr *message)
{
    sni_file *file = op->file;
    bool waits =
        ((file->want | file->armed) & sni_request_bit(SNI_REQUEST_WRITABLE)) != 0;

    SNI_ASSERT(op->kind == SNI_OP_SEND && !op->pending && file->of.out == NULL);
    op->pending = true;
    if (!sni_real_begin(&uring->real, op))
        return;
    file->of.out = op;
    if (waits || (uring->together && make_send(uring, op, message)))
        return;
    if (sni_uring_try_send(op))
        file->of.out = NULL;
    else
        sni_uring_want(uring, file, SNI_REQUEST_WRITABLE);
}

/* What they come to is there when they are submitted, unless the kernel refuses that for
 * the moment: then a reap() goes on with it, and meanwhile their messages are in use. */
int
sni_uring_submit_sends(sni_io *io, sni_op **sends, int count)
{
    sni_uring *uring = sni_uring_of(io);
    int done = 0;

    SNI_ASSERT(count <= (int)SNI_SENDS_TOGETHER);
    uring->together = count > 1 && uring->sending == 0;
    for (int i = 0; i < count; i++)
        begin_send(uring, sends[i], &uring->messages[i]);
    for (int i = 0; i < SNI_URING_TRIES && uring->together && uring->sending > 0; i++) {
        (void)sni_ring_enter(&uring->ring, 0);
        sni_uring_settle(uring);
        sni_uring_complete_all(uring);
    }
    uring->together = false;
    for (int i = 0; i < count; i++) {
        sni_op *op = sends[i];

        if (op->file->of.out == op)
            continue;
        sends[i] = sends[done];
        sends[done++] = op;
    }
    if (!sni_real_inherited(io))
        sni_uring_hand_over(uring);
    return done;
}

/* The ring may lack memory where sendmsg(2) does not. What comes back while SENDs are
 * handed over is theirs who do that. */
void
sni_uring_sent(sni_uring *uring, sni_file *file, int res)
{
    sni_op *op = file->of.out;

    SNI_ASSERT(op != NULL && op->kind == SNI_OP_SEND);
    SNI_ASSERT(uring->sending > 0);
    uring->sending--;
    if (res >= 0) {
        op->size = (size_t)res;
    } else if (res == -EAGAIN || res == -EINTR ||
               ((res == -ENOMEM || res == -ECANCELED) && !sni_uring_try_send(op))) {
        sni_uring_want(uring, file, SNI_REQUEST_WRITABLE);
        return;
    } else if (res != -ENOMEM && res != -ECANCELED) {
        op->err = sni_err_of_errno(-res);
    }
    file->of.out = NULL;
    if (!uring->together)
        sni_op_queue_push(&uring->real.done, op);
}
