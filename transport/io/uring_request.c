/* SPDX-License-Identifier: MIT */
/* What files want of the kernel: put into the ring, called back, withdrawn. */
#define _GNU_SOURCE

#include <poll.h>
#include <sys/socket.h>

#include "io/uring_io.h"

static void
prepare_recv(struct io_uring_sqe *sqe, const sni_file *file)
{
    const sni_op *op = file->of.in;

    if (op->home != NULL) {
        io_uring_prep_recv(sqe, file->of.fd, op->into, op->room, 0);
        return;
    }
    io_uring_prep_recv(sqe, file->of.fd, NULL, 0, 0);
    sqe->flags |= IOSQE_BUFFER_SELECT;
    sqe->buf_group = SNI_RING_GROUP;
}

static void
prepare(const sni_uring *uring, struct io_uring_sqe *sqe, const sni_file *file,
        sni_request kind)
{
    int flags = SOCK_NONBLOCK | SOCK_CLOEXEC;

    switch (kind) {
    case SNI_REQUEST_ACCEPT:
        if (uring->no_multishot)
            io_uring_prep_accept(sqe, file->of.fd, NULL, NULL, flags);
        else
            io_uring_prep_multishot_accept(sqe, file->of.fd, NULL, NULL, flags);
        break;
    case SNI_REQUEST_RECV:
        prepare_recv(sqe, file);
        break;
    case SNI_REQUEST_WRITABLE:
        io_uring_prep_poll_add(sqe, file->of.fd, POLLOUT);
        break;
    case SNI_REQUEST_HANGUP:
        io_uring_prep_poll_add(sqe, file->of.fd, POLLRDHUP);
        break;
    case SNI_REQUEST_WAKE:
        io_uring_prep_poll_multishot(sqe, uring->real.wake_fd, POLLIN);
        break;
    case SNI_REQUEST_SEND:
    case SNI_REQUEST_CANCEL:
        break;
    }
    sni_request_name(sqe, file, kind);
}

/* False: the ring is full. */
static bool
make(sni_uring *uring, sni_file *file, sni_request kind)
{
    struct io_uring_sqe *sqe = sni_ring_request(&uring->ring);

    if (sqe == NULL)
        return false;
    prepare(uring, sqe, file, kind);
    file->want &= (uint8_t)~sni_request_bit(kind);
    file->armed |= sni_request_bit(kind);
    return true;
}

bool
sni_uring_call_back(sni_uring *uring, const sni_file *file, sni_request kind)
{
    struct io_uring_sqe *sqe = sni_ring_request(&uring->ring);

    if (sqe == NULL)
        return false;
    io_uring_prep_cancel64(sqe, sni_request_number(file, kind), 0);
    sni_request_name(sqe, NULL, SNI_REQUEST_CANCEL);
    return true;
}

static bool
make_wake(sni_uring *uring)
{
    struct io_uring_sqe *sqe;

    if (uring->wake_armed || uring->closing)
        return true;
    sqe = sni_ring_request(&uring->ring);
    if (sqe == NULL)
        return false;
    prepare(uring, sqe, NULL, SNI_REQUEST_WAKE);
    uring->wake_armed = true;
    return true;
}

static bool
make_wanted(sni_uring *uring, sni_file *file)
{
    for (sni_request kind = 0; kind < SNI_REQUEST_KINDS; kind++) {
        if (file->cancel & sni_request_bit(kind) &&
            !sni_uring_call_back(uring, file, kind))
            return false;
        file->cancel &= (uint8_t)~sni_request_bit(kind);
        if (file->want & sni_request_bit(kind) && !make(uring, file, kind))
            return false;
    }
    return true;
}

bool
sni_uring_make_all(sni_uring *uring)
{
    sni_link *link;

    if (!make_wake(uring))
        return false;
    while ((link = sni_list_first(&uring->wanting)) != NULL) {
        if (!make_wanted(uring, SNI_OWNER_OF(link, sni_file, wanting)))
            return false;
        sni_link_remove(link);
    }
    return true;
}

/* Whoever waits for the descriptor waits for what the kernel has, and calls nothing that
 * would hand over what is wanted. Of what only a reap() can go on with nothing of the
 * kernel's tells. */
void
sni_uring_hand_over(sni_uring *uring)
{
    if (!uring->watched)
        return;
    (void)sni_uring_make_all(uring);
    (void)sni_ring_enter(&uring->ring, 0);
    if (!sni_op_queue_empty(&uring->real.done) || !sni_list_empty(&uring->wanting) ||
        !sni_list_empty(&uring->starved) || uring->woken ||
        sni_ring_refused(&uring->ring))
        sni_real_wake(&uring->real.io);
}

void
sni_uring_list(sni_uring *uring, sni_file *file)
{
    if (!sni_link_linked(&file->wanting))
        sni_list_push(&uring->wanting, &file->wanting);
}

void
sni_uring_want(sni_uring *uring, sni_file *file, sni_request kind)
{
    file->cancel &= (uint8_t)~sni_request_bit(kind);
    if (file->armed & sni_request_bit(kind))
        return;
    file->want |= sni_request_bit(kind);
    sni_uring_list(uring, file);
}

void
sni_uring_want_back(sni_uring *uring, sni_file *file, uint8_t kinds)
{
    file->want &= (uint8_t)~kinds;
    file->cancel |= file->armed & kinds;
    if (file->cancel != 0)
        sni_uring_list(uring, file);
}

void
sni_uring_withdraw(sni_uring *uring, sni_file *file)
{
    for (sni_request kind = 0; kind < SNI_REQUEST_KINDS && file->armed != 0; kind++)
        if (file->armed & sni_request_bit(kind) &&
            sni_ring_withdraw(&uring->ring, sni_request_number(file, kind),
                              sni_request_number(NULL, SNI_REQUEST_CANCEL)))
            file->armed &= (uint8_t)~sni_request_bit(kind);
}
