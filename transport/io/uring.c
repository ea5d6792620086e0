/* SPDX-License-Identifier: MIT */
/* An operation that cannot be done at once is parked in its file, and the file says what
 * it wants of the kernel. Nothing is put into the ring before the next reap(): it hands
 * over all that is wanted in the call in which it waits. So a round trip is that call
 * and a sendmsg.
 *
 *   RECV     one request for each, into a buffer that the kernel chooses, or where it is
 *            told to; while more is known to be there, recv(2)
 *   SEND     sendmsg(2); of several files at once a request for each, all in one call.
 *            When the kernel takes nothing, a poll tells when it does
 *   ACCEPT   one request that goes on. What it brings while nobody asks is held, and when
 *            that becomes much it is ended
 *   CONNECT  connect(2), and a poll
 *   HANGUP   a poll
 *
 * Between calls the kernel holds no memory of ours but the buffers of the ring and what a
 * RECV is told to fill, whose block the operation holds.
 *
 * Law: of each kind at most one request of a file is with the kernel (`armed`). A file
 * that is closed stays until its last one has come back. */
#define _GNU_SOURCE

#include "io/uring.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/limits.h"
#include "base/list.h"
#include "io/alarm.h"
#include "io/bell.h"
#include "io/real.h"
#include "io/ring.h"

/* Times that a turn enters for what came while it silenced the bell. */
#define SETTLES_MAX 4u

/* What is asked of the kernel. In the low bits of a request's number, above them the
 * file. */
typedef enum request {
    REQUEST_ACCEPT,
    REQUEST_RECV,
    REQUEST_WRITABLE,
    REQUEST_HANGUP,
    REQUEST_SEND,
    REQUEST_KINDS, /* of those of a file */
    REQUEST_WAKE = REQUEST_KINDS,
    REQUEST_CANCEL
} request;

#define REQUEST_MASK ((uintptr_t)7)
_Static_assert(REQUEST_CANCEL <= REQUEST_MASK,
               "a file's address has three bits to spare");

/* Connections that were accepted and not asked for. So many that nothing more is
 * accepted; the rest is room for what comes until the kernel has heard of that. */
#define HELD_MAX SNI_ACCEPTS_PER_TURN

/* A kernel that is out of memory may refuse to be asked. */
#define TRIES 8

typedef struct uring_held {
    sni_link link; /* of all listeners */
    int fd;        /* the listener's */
    unsigned first;
    unsigned count;
    unsigned room;
    int fds[]; /* as many as there are places for completions */
} uring_held;

struct sni_file {
    sni_real_file of;
    sni_link wanting; /* of the ring, or starved */
    uring_held *held; /* a listener's */
    uint8_t want;     /* sets of requests: to be made, ... */
    uint8_t cancel;   /* ... to be called back, ... */
    uint8_t armed;    /* ... with the kernel */
    bool readable;    /* something is known to be there */
    bool unwanted;    /* the RECV that the kernel has was cancelled ... */
    bool taken;       /* ... or is being taken back */
    bool closed;
};

typedef struct uring_io {
    sni_real real;
    sni_ring ring;
    sni_link wanting; /* files that want something of the kernel */
    sni_link starved; /* ... a buffer */
    sni_link listeners;
    int watch_fd; /* readable when the ring's bell rings or somebody wakes */
    bool wake_armed;
    bool closing;
    bool watched; /* somebody waits for the descriptor */
    bool no_multishot;
    bool together;                              /* several SENDs are being handed over */
    unsigned sending;                           /* of those, that the ring has ... */
    struct msghdr messages[SNI_SENDS_TOGETHER]; /* ... and until then these */
} uring_io;

static uring_io *
uring_of(sni_io *io)
{
    return (uring_io *)io;
}

static uint8_t
bit(request kind)
{
    return (uint8_t)(1u << kind);
}

/* ---- what is wanted of the kernel -------------------------------------- */

static uint64_t
number(const sni_file *file, request kind)
{
    return (uintptr_t)file | (uintptr_t)kind;
}

static void
put_number(struct io_uring_sqe *sqe, const sni_file *file, request kind)
{
    sqe->user_data = number(file, kind);
}

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
prepare(const uring_io *uring, struct io_uring_sqe *sqe, const sni_file *file,
        request kind)
{
    int flags = SOCK_NONBLOCK | SOCK_CLOEXEC;

    switch (kind) {
    case REQUEST_ACCEPT:
        if (uring->no_multishot)
            io_uring_prep_accept(sqe, file->of.fd, NULL, NULL, flags);
        else
            io_uring_prep_multishot_accept(sqe, file->of.fd, NULL, NULL, flags);
        break;
    case REQUEST_RECV:
        prepare_recv(sqe, file);
        break;
    case REQUEST_WRITABLE:
        io_uring_prep_poll_add(sqe, file->of.fd, POLLOUT);
        break;
    case REQUEST_HANGUP:
        io_uring_prep_poll_add(sqe, file->of.fd, POLLRDHUP);
        break;
    case REQUEST_WAKE:
        io_uring_prep_poll_multishot(sqe, uring->real.wake_fd, POLLIN);
        break;
    case REQUEST_SEND:
    case REQUEST_CANCEL:
        break;
    }
    put_number(sqe, file, kind);
}

/* False: the ring is full. */
static bool
make(uring_io *uring, sni_file *file, request kind)
{
    struct io_uring_sqe *sqe = sni_ring_request(&uring->ring);

    if (sqe == NULL)
        return false;
    prepare(uring, sqe, file, kind);
    file->want &= (uint8_t)~bit(kind);
    file->armed |= bit(kind);
    return true;
}

static bool
call_back(uring_io *uring, const sni_file *file, request kind)
{
    struct io_uring_sqe *sqe = sni_ring_request(&uring->ring);

    if (sqe == NULL)
        return false;
    io_uring_prep_cancel64(sqe, number(file, kind), 0);
    put_number(sqe, NULL, REQUEST_CANCEL);
    return true;
}

static bool
make_wake(uring_io *uring)
{
    struct io_uring_sqe *sqe;

    if (uring->wake_armed || uring->closing)
        return true;
    sqe = sni_ring_request(&uring->ring);
    if (sqe == NULL)
        return false;
    prepare(uring, sqe, NULL, REQUEST_WAKE);
    uring->wake_armed = true;
    return true;
}

static bool
make_wanted(uring_io *uring, sni_file *file)
{
    for (request kind = 0; kind < REQUEST_KINDS; kind++) {
        if (file->cancel & bit(kind) && !call_back(uring, file, kind))
            return false;
        file->cancel &= (uint8_t)~bit(kind);
        if (file->want & bit(kind) && !make(uring, file, kind))
            return false;
    }
    return true;
}

/* Puts everything that is wanted into the ring; false if there was not room for all. */
static bool
make_all(uring_io *uring)
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
static void
hand_over(uring_io *uring)
{
    if (!uring->watched)
        return;
    (void)make_all(uring);
    (void)sni_ring_enter(&uring->ring, 0);
    if (!sni_op_queue_empty(&uring->real.done) || !sni_list_empty(&uring->wanting) ||
        !sni_list_empty(&uring->starved) || sni_ring_refused(&uring->ring))
        sni_real_wake(&uring->real.io);
}

static void
list(uring_io *uring, sni_file *file)
{
    if (!sni_link_linked(&file->wanting))
        sni_list_push(&uring->wanting, &file->wanting);
}

static void
want(uring_io *uring, sni_file *file, request kind)
{
    file->cancel &= (uint8_t)~bit(kind);
    if (file->armed & bit(kind))
        return;
    file->want |= bit(kind);
    list(uring, file);
}

static void
want_back(uring_io *uring, sni_file *file, uint8_t kinds)
{
    file->want &= (uint8_t)~kinds;
    file->cancel |= file->armed & kinds;
    if (file->cancel != 0)
        list(uring, file);
}

/* ---- files ------------------------------------------------------------- */

static void
init_file(sni_file *file)
{
    sni_link_init(&file->wanting);
}

static bool
listens(uring_io *uring, int fd)
{
    for (sni_link *link = uring->listeners.next; link != &uring->listeners;
         link = link->next)
        if (SNI_OWNER_OF(link, uring_held, link)->fd == fd)
            return true;
    return false;
}

static sennit_err
uring_begin(sni_real *real, sni_file *file)
{
    uring_io *uring = uring_of(&real->io);
    unsigned room = uring->ring.uring.cq.ring_entries;
    uring_held *held;

    if (file->of.listening == NULL)
        return SENNIT_OK;
    if (listens(uring, file->of.fd))
        return SENNIT_EEXIST;
    held = sni_acquire_zero(real->io.alloc, sizeof *held + room * sizeof held->fds[0]);
    if (held == NULL)
        return SENNIT_ENOMEM;
    held->fd = file->of.fd;
    held->room = room;
    sni_list_push(&uring->listeners, &held->link);
    file->held = held;
    return SENNIT_OK;
}

static int
first_held(const uring_held *held)
{
    return held->fds[held->first];
}

static void
pop_held(uring_held *held)
{
    held->first = (held->first + 1) % held->room;
    held->count--;
}

static void
free_file(uring_io *uring, sni_file *file)
{
    sni_link_remove(&file->wanting);
    sni_release(uring->real.io.alloc, file->held);
    sni_real_free(&uring->real, file);
}

/* What the kernel has refused so far names a descriptor that may be another's when it is
 * taken. */
static void
withdraw_all(uring_io *uring, sni_file *file)
{
    for (request kind = 0; kind < REQUEST_KINDS && file->armed != 0; kind++)
        if (file->armed & bit(kind) && sni_ring_withdraw(&uring->ring, number(file, kind),
                                                         number(NULL, REQUEST_CANCEL)))
            file->armed &= (uint8_t)~bit(kind);
}

static void
uring_close(sni_io *io, sni_file *file)
{
    uring_io *uring = uring_of(io);
    bool inherited = sni_real_inherited(io);

    for (; file->held != NULL && file->held->count > 0; pop_held(file->held))
        sni_stream_close(first_held(file->held), inherited);
    if (file->held != NULL)
        sni_link_remove(&file->held->link);
    if (!inherited)
        withdraw_all(uring, file);
    sni_real_shut(&uring->real, file);
    if (file->armed == 0 || inherited) {
        free_file(uring, file);
        return;
    }
    file->closed = true;
    want_back(uring, file, UINT8_MAX);
    hand_over(uring);
}

/* ---- operations -------------------------------------------------------- */

static request
request_of(const sni_op *op)
{
    switch ((sni_op_kind)op->kind) {
    case SNI_OP_ACCEPT:
        return REQUEST_ACCEPT;
    case SNI_OP_RECV:
        return REQUEST_RECV;
    case SNI_OP_CONNECT:
    case SNI_OP_SEND:
        return REQUEST_WRITABLE;
    case SNI_OP_HANGUP:
    case SNI_OP_RESOLVE:
        break;
    }
    return REQUEST_HANGUP;
}

/* The next held connection. One whose peer has gone is passed over; one for which there
 * is no memory waits until there is. Errors: EAGAIN (none). */
static sennit_err
take_held(uring_io *uring, sni_op *op)
{
    uring_held *held = op->file->held;
    sennit_err err = SENNIT_EAGAIN;

    while (err == SENNIT_EAGAIN && held->count > 0) {
        sni_address peer = { .kind = op->file->of.peer.kind };
        int fd = first_held(held);

        err = sni_stream_accepted(fd, op->opts, &peer, &op->why);
        if (err) {
            sni_stream_close(fd, false);
        } else {
            err = sni_real_accepted(&uring->real, fd, &peer, &op->accepted);
            if (err)
                return err;
        }
        pop_held(held);
    }
    return err;
}

static bool
try_connect(sni_op *op)
{
    sni_file *file = op->file;
    bool under_way;
    sennit_err err = sni_stream_connect(file->of.fd, file->of.to, &under_way);

    if (err)
        return sni_op_done(op, err);
    return !under_way && sni_real_connected(op);
}

static bool
try_recv(uring_io *uring, sni_op *op)
{
    sni_file *file = op->file;
    bool drained = false;
    sennit_err err;

    if (!file->readable)
        return false;
    err = sni_real_recv(&uring->real, op, &drained);
    if (err == SENNIT_EAGAIN || drained)
        file->readable = false;
    return err != SENNIT_EAGAIN && sni_op_done(op, err);
}

static bool
try_send(sni_op *op)
{
    const sni_file *file = op->file;
    sennit_err err;

    if ((file->want | file->armed) & bit(REQUEST_WRITABLE))
        return false;
    err = sni_stream_send(file->of.fd, op->parts, op->parts_count, &op->size);
    return err != SENNIT_EAGAIN && sni_op_done(op, err);
}

/* True: done. */
static bool
try_op(uring_io *uring, sni_op *op)
{
    sennit_err err;

    switch ((sni_op_kind)op->kind) {
    case SNI_OP_ACCEPT:
        err = take_held(uring, op);
        return err != SENNIT_EAGAIN && sni_op_done(op, err);
    case SNI_OP_CONNECT:
        return try_connect(op);
    case SNI_OP_RECV:
        return try_recv(uring, op);
    case SNI_OP_SEND:
        return try_send(op);
    case SNI_OP_HANGUP:
    case SNI_OP_RESOLVE:
        break;
    }
    return false;
}

static bool
uring_submit(sni_io *io, sni_op *op)
{
    uring_io *uring = uring_of(io);
    sni_op **park = sni_real_park(op);

    SNI_ASSERT(!op->pending);
    if (!sni_real_begin(&uring->real, op))
        return true;
    if (park == NULL)
        return sni_real_look_up(&uring->real, op);
    SNI_ASSERT(*park == NULL);
    op->file->unwanted = op->file->unwanted && op->kind != SNI_OP_RECV;
    if (try_op(uring, op))
        return true;
    op->pending = true;
    *park = op;
    want(uring, op->file, request_of(op));
    hand_over(uring);
    return false;
}

/* Whether `op` is taken off; false: it is on its way back, or the kernel has it. */
static bool
take_off(uring_io *uring, sni_op *op)
{
    sni_op **park = sni_real_park(op);
    sni_file *file = op->file;

    if (!op->pending)
        return false;
    if (park == NULL)
        return sni_real_forget(&uring->real, op);
    if (*park != op)
        return false;
    if (!sni_real_inherited(&uring->real.io)) {
        /* What has arrived meanwhile is not thrown away, nor what leaves. */
        if (op->kind == SNI_OP_RECV && file->armed & bit(REQUEST_RECV))
            return false;
        if (op->kind == SNI_OP_SEND && file->armed & bit(REQUEST_SEND))
            return false;
        if (op->kind != SNI_OP_SEND)
            want_back(uring, file, bit(request_of(op)));
    }
    *park = NULL;
    return true;
}

static void
uring_cancel(sni_io *io, sni_op *op)
{
    uring_io *uring = uring_of(io);

    if (take_off(uring, op)) {
        op->err = SENNIT_ECLOSED;
        sni_op_queue_push(&uring->real.done, op);
        hand_over(uring);
    } else if (op->kind == SNI_OP_RECV && op->pending && op->file->of.in == op) {
        op->file->unwanted = true;
        want_back(uring, op->file, bit(REQUEST_RECV));
        hand_over(uring);
    }
}

/* ---- completions ------------------------------------------------------- */

static void
give_back(uring_io *uring, sni_op **park, sennit_err err)
{
    sni_op *op = *park;

    *park = NULL;
    op->err = err;
    sni_op_queue_push(&uring->real.done, op);
}

/* A parked operation is tried again. */
static void
retry(uring_io *uring, sni_op **park)
{
    sni_op *op = *park;

    if (op == NULL)
        return;
    if (try_op(uring, op)) {
        *park = NULL;
        sni_op_queue_push(&uring->real.done, op);
    } else {
        want(uring, op->file, request_of(op));
    }
}

static void
hold(sni_file *listener, int fd)
{
    uring_held *held = listener->held;

    if (listener->closed || held->count == held->room)
        sni_stream_close(fd, false);
    else
        held->fds[(held->first + held->count++) % held->room] = fd;
}

static void
accepted(uring_io *uring, sni_file *listener, const struct io_uring_cqe *cqe)
{
    bool goes_on = (cqe->flags & IORING_CQE_F_MORE) != 0;

    if (cqe->res >= 0)
        hold(listener, cqe->res);
    else if (cqe->res == -EINVAL && !listener->closed && !uring->no_multishot)
        uring->no_multishot = true;
    else if (cqe->res != -ECANCELED && listener->of.in != NULL &&
             !sni_stream_accept_goes_on(-cqe->res))
        give_back(uring, &listener->of.in, sni_err_of_errno(-cqe->res));
    if (goes_on && uring->ring.opts.ends_multishot)
        (void)call_back(uring, listener, REQUEST_ACCEPT);
    else if (goes_on && listener->held->count > HELD_MAX)
        want_back(uring, listener, bit(REQUEST_ACCEPT));
    if (!goes_on && !uring->no_multishot && listener->of.in != NULL)
        uring->ring.stats->ended++;
    retry(uring, &listener->of.in);
}

static void
starve(uring_io *uring, sni_file *file)
{
    uring->ring.stats->no_buffer++;
    file->want |= bit(REQUEST_RECV);
    sni_link_remove(&file->wanting);
    sni_list_push(&uring->starved, &file->wanting);
}

static void
received(uring_io *uring, sni_file *file, const struct io_uring_cqe *cqe)
{
    sni_op *op = file->of.in;

    SNI_ASSERT(op != NULL && op->kind == SNI_OP_RECV);
    if (cqe->res < 0 && file->taken)
        return;
    if (cqe->res < 0 && file->unwanted) {
        give_back(uring, &file->of.in, SENNIT_ECLOSED);
        return;
    }
    if (cqe->res == -ENOBUFS && op->home == NULL) {
        starve(uring, file);
        return;
    }
    if (cqe->res == -EAGAIN || cqe->res == -EINTR || cqe->res == -ECANCELED) {
        want(uring, file, REQUEST_RECV);
        return;
    }
    if (cqe->res < 0) {
        give_back(uring, &file->of.in, sni_err_of_errno(-cqe->res));
        return;
    }
    if (cqe->flags & IORING_CQE_F_BUFFER) {
        op->home = sni_block_ref(sni_ring_buffer(&uring->ring, cqe));
        op->into = op->home->data;
        op->room = op->home->capacity;
    }
    op->size = (size_t)cqe->res;
    file->readable =
        op->size > 0 && (op->size == op->room || cqe->flags & IORING_CQE_F_SOCK_NONEMPTY);
    give_back(uring, &file->of.in, SENNIT_OK);
}

static void
writable(uring_io *uring, sni_file *file, int res)
{
    sennit_err err;

    if (file->of.out == NULL)
        return;
    if (res == -ECANCELED) {
        want(uring, file, REQUEST_WRITABLE);
    } else if (file->of.out->kind == SNI_OP_SEND) {
        retry(uring, &file->of.out);
    } else {
        err = sni_stream_connect_result(file->of.fd);
        if (err == SENNIT_OK) {
            (void)sni_real_connected(file->of.out);
            err = file->of.out->err;
        }
        give_back(uring, &file->of.out, err);
    }
}

static void
hung_up(uring_io *uring, sni_file *file, int res)
{
    if (file->of.watch == NULL)
        return;
    if (res < 0)
        want(uring, file, REQUEST_HANGUP);
    else
        give_back(uring, &file->of.watch, SENNIT_OK);
}

/* The ring may lack memory where sendmsg(2) does not. What comes back while SENDs are
 * handed over is theirs who do that. */
static void
sent(uring_io *uring, sni_file *file, int res)
{
    sni_op *op = file->of.out;

    SNI_ASSERT(op != NULL && op->kind == SNI_OP_SEND);
    SNI_ASSERT(uring->sending > 0);
    uring->sending--;
    if (res >= 0) {
        op->size = (size_t)res;
    } else if (res == -EAGAIN || res == -EINTR ||
               ((res == -ENOMEM || res == -ECANCELED) && !try_send(op))) {
        want(uring, file, REQUEST_WRITABLE);
        return;
    } else if (res != -ENOMEM && res != -ECANCELED) {
        op->err = sni_err_of_errno(-res);
    }
    file->of.out = NULL;
    if (!uring->together)
        sni_op_queue_push(&uring->real.done, op);
}

static void
complete(uring_io *uring, const struct io_uring_cqe *cqe)
{
    sni_file *file = (sni_file *)(uintptr_t)(cqe->user_data & ~REQUEST_MASK);
    request kind = (request)(cqe->user_data & REQUEST_MASK);
    bool over = !(cqe->flags & IORING_CQE_F_MORE);

    if (over && file != NULL)
        file->armed &= (uint8_t)~bit(kind);
    switch (kind) {
    case REQUEST_ACCEPT:
        accepted(uring, file, cqe);
        break;
    case REQUEST_RECV:
        received(uring, file, cqe);
        break;
    case REQUEST_WRITABLE:
        writable(uring, file, cqe->res);
        break;
    case REQUEST_HANGUP:
        hung_up(uring, file, cqe->res);
        break;
    case REQUEST_SEND:
        sent(uring, file, cqe->res);
        break;
    case REQUEST_WAKE:
        uring->wake_armed = !over;
        sni_real_woken(&uring->real);
        break;
    case REQUEST_CANCEL:
        break;
    }
    if (file != NULL && file->closed && file->armed == 0)
        free_file(uring, file);
}

/* ---- waiting ----------------------------------------------------------- */

static void
complete_all(uring_io *uring)
{
    struct io_uring_cqe cqe;

    while (sni_ring_next(&uring->ring, &cqe))
        complete(uring, &cqe);
}

/* Who found no buffer tries again when there are some, and no more of them than there
 * are: the others would only be told again that there is none. Where there is no memory
 * for any, that is the answer. */
static void
feed_starved(uring_io *uring, unsigned buffers)
{
    unsigned left = buffers;
    sni_link *link;

    while ((link = sni_list_first(&uring->starved)) != NULL) {
        sni_file *file = SNI_OWNER_OF(link, sni_file, wanting);
        bool hungry = (file->want & bit(REQUEST_RECV)) != 0;

        if (hungry && buffers > 0 && left-- == 0)
            return;
        sni_link_remove(link);
        if (hungry && buffers == 0) {
            file->want &= (uint8_t)~bit(REQUEST_RECV);
            give_back(uring, &file->of.in, SENNIT_ENOMEM);
        }
        if ((file->want | file->cancel) != 0)
            list(uring, file);
    }
}

/* Waits, for what takes the kernel no time, until it has given back a RECV. False: it is
 * done. So nothing is lost, and what it was told to fill may be used. */
static bool
fetch_back(uring_io *uring, sni_op *op)
{
    sni_file *file = op->file;

    if (op->kind != SNI_OP_RECV || !op->pending || file->of.in != op)
        return false;
    file->taken = true;
    for (int i = 0; i < TRIES && file->armed & bit(REQUEST_RECV); i++) {
        want_back(uring, file, bit(REQUEST_RECV));
        (void)make_all(uring);
        (void)sni_ring_enter(&uring->ring, 0);
        complete_all(uring);
    }
    file->taken = false;
    if (file->armed & bit(REQUEST_RECV) || file->of.in != op)
        return false;
    file->of.in = NULL;
    return true;
}

static bool
uring_retract(sni_io *io, sni_op *op)
{
    uring_io *uring = uring_of(io);

    if (!take_off(uring, op) && !fetch_back(uring, op))
        return false;
    op->pending = false;
    hand_over(uring);
    return true;
}

static bool
wait_completions(uring_io *uring, sennit_time until)
{
    sennit_time end = 0;

    while (sni_real_spins(&uring->real.io, &end, until)) {
        (void)sni_ring_enter(&uring->ring, 0);
        if (sni_ring_completed(&uring->ring))
            return true;
    }
    return sni_ring_enter(&uring->ring, until);
}

/* The bell is silent, and nothing has rung it meanwhile that will not ring again.
 * Entering once does not always end that: of the work that is deferred to us the kernel
 * (Linux 6.18) does at most 20 pieces in a call, and sets its flag again when more is
 * left. Those of hundreds of connections are left to the next turns. */
static void
settle(uring_io *uring)
{
    for (unsigned row = 0; sni_ring_hush(&uring->ring); row++) {
        if (row == SETTLES_MAX) {
            sni_real_wake(&uring->real.io);
            return;
        }
        (void)sni_ring_enter(&uring->ring, 0);
    }
}

/* ---- several SENDs ----------------------------------------------------- */

_Static_assert(sizeof(struct iovec) == sizeof(sennit_bytes) &&
                   offsetof(struct iovec, iov_base) == offsetof(sennit_bytes, data) &&
                   offsetof(struct iovec, iov_len) == offsetof(sennit_bytes, size),
               "parts are what the kernel takes");

/* The kernel takes what it can at once, or says EAGAIN, so it holds nothing of ours
 * behind that. False: there is no room in the ring. */
static bool
make_send(uring_io *uring, sni_op *op, struct msghdr *message)
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
    put_number(sqe, op->file, REQUEST_SEND);
    op->file->armed |= bit(REQUEST_SEND);
    uring->sending++;
    return true;
}

static void
begin_send(uring_io *uring, sni_op *op, struct msghdr *message)
{
    sni_file *file = op->file;
    bool waits = ((file->want | file->armed) & bit(REQUEST_WRITABLE)) != 0;

    SNI_ASSERT(op->kind == SNI_OP_SEND && !op->pending && file->of.out == NULL);
    op->pending = true;
    if (!sni_real_begin(&uring->real, op))
        return;
    file->of.out = op;
    if (waits || (uring->together && make_send(uring, op, message)))
        return;
    if (try_send(op))
        file->of.out = NULL;
    else
        want(uring, file, REQUEST_WRITABLE);
}

/* What they come to is there when they are submitted, unless the kernel refuses that for
 * the moment: then a reap() goes on with it, and meanwhile their messages are in use. */
static int
uring_submit_sends(sni_io *io, sni_op **sends, int count)
{
    uring_io *uring = uring_of(io);
    int done = 0;

    SNI_ASSERT(count <= (int)SNI_SENDS_TOGETHER);
    uring->together = count > 1 && uring->sending == 0;
    for (int i = 0; i < count; i++)
        begin_send(uring, sends[i], &uring->messages[i]);
    for (int i = 0; i < TRIES && uring->together && uring->sending > 0; i++) {
        (void)sni_ring_enter(&uring->ring, 0);
        settle(uring);
        complete_all(uring);
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
        hand_over(uring);
    return done;
}

/* ---- a turn ------------------------------------------------------------- */

static int
uring_reap(sni_io *io, sni_op **out, int max, sennit_time until)
{
    uring_io *uring = uring_of(io);
    bool entered;
    int count;

    if (sni_real_inherited(io)) {
        sni_real_collect_lookups(&uring->real);
        return sni_op_queue_take(&uring->real.done, out, max);
    }
    feed_starved(uring, sni_ring_recycle(&uring->ring));
    if (!make_all(uring) || !sni_op_queue_empty(&uring->real.done) ||
        !sni_list_empty(&uring->starved))
        until = 0;
    entered = wait_completions(uring, until);
    settle(uring);
    complete_all(uring);
    if (!entered && sni_op_queue_empty(&uring->real.done))
        return -1;
    count = sni_op_queue_take(&uring->real.done, out, max);
    hand_over(uring);
    return count;
}

static int
uring_descriptor(const sni_io *io)
{
    /* The descriptor is asked for by whoever is going to wait for it. */
    uring_io *uring = (uring_io *)(uintptr_t)io;

    if (!sni_real_inherited(&uring->real.io)) {
        uring->watched = true;
        hand_over(uring);
        sni_ring_watch(&uring->ring);
    }
    return uring->watch_fd;
}

/* Every request comes back, those of closed files too. */
static void
drain(uring_io *uring)
{
    bool asked = !uring->wake_armed;

    uring->closing = true;
    while (uring->ring.requests > 0) {
        asked = asked || call_back(uring, NULL, REQUEST_WAKE);
        (void)make_all(uring);
        (void)sni_ring_enter(&uring->ring, SENNIT_NEVER);
        complete_all(uring);
    }
}

static void
uring_fini(sni_io *io)
{
    uring_io *uring = uring_of(io);
    bool inherited = sni_real_inherited(io);

    if (!inherited)
        drain(uring);
    sni_fd_close(uring->watch_fd);
    sni_ring_close(&uring->ring, inherited);
    sni_real_fini(&uring->real);
    sni_release(io->alloc, uring);
}

static const sni_io_ops uring_ops = {
    .name = "uring",
    .listen = sni_real_listen,
    .adopt = sni_real_adopt,
    .dial = sni_real_dial,
    .peer_name = sni_real_peer_name,
    .interface_address = sni_real_interface_address,
    .interface_scope = sni_real_interface_scope,
    .close = uring_close,
    .submit = uring_submit,
    .submit_sends = uring_submit_sends,
    .cancel = uring_cancel,
    .retract = uring_retract,
    .finish = sni_real_finish,
    .undelivered = sni_real_undelivered,
    .reap = uring_reap,
    .wake = sni_real_wake,
    .now = sni_real_now,
    .now_coarse = sni_real_now_coarse,
    .inherited = sni_real_inherited,
    .random = sni_real_random,
    .descriptor = uring_descriptor,
    .fini = uring_fini,
};

sennit_err
sni_io_uring_open(sni_io **out, const sennit_allocator *alloc, sni_pool *recv_blocks,
                  const sni_uring_opts *opts, const char **why)
{
    uring_io *uring = sni_acquire_zero(alloc, sizeof *uring);
    sni_real *real;
    sennit_err err;

    *why = NULL;
    if (uring == NULL)
        return SENNIT_ENOMEM;
    real = &uring->real;
    real->io = (sni_io){ .ops = &uring_ops, .alloc = alloc, .recv_blocks = recv_blocks };
    real->file_bytes = sizeof(sni_file);
    real->init = init_file;
    real->begin = uring_begin;
    sni_link_init(&uring->wanting);
    sni_link_init(&uring->starved);
    sni_link_init(&uring->listeners);
    err = sni_real_init(real);
    *why = sennit_err_text(err);
    if (err)
        goto fail_uring;
    err = sni_ring_open(&uring->ring, alloc, recv_blocks, opts, why);
    if (err)
        goto fail_real;
    err = sni_any_open(&uring->watch_fd, (int[]){ uring->ring.bell, real->wake_fd }, 2);
    if (err)
        goto fail_ring;
    uring->no_multishot = uring->ring.opts.no_multishot;
    *out = &real->io;
    return SENNIT_OK;

fail_ring:
    sni_ring_close(&uring->ring, false);
fail_real:
    sni_real_fini(real);
fail_uring:
    sni_release(alloc, uring);
    return err;
}
