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

#include "base/alloc.h"
#include "base/assert.h"
#include "io/alarm.h"
#include "io/bell.h"
#include "io/uring_io.h"

/* Times that a turn enters for what came while it silenced the bell. */
#define SETTLES_MAX 4u

/* ---- files ------------------------------------------------------------- */

static void
init_file(sni_file *file)
{
    sni_link_init(&file->wanting);
}

static sennit_err
uring_begin(sni_real *real, sni_file *file)
{
    sni_uring *uring = sni_uring_of(&real->io);

    if (file->of.listening == NULL)
        return SENNIT_OK;
    if (sni_held_listens(&uring->listeners, file->of.fd))
        return SENNIT_EEXIST;
    file->held = sni_held_new(real->io.alloc, &uring->listeners, file->of.fd,
                              uring->ring.uring.cq.ring_entries);
    return file->held != NULL ? SENNIT_OK : SENNIT_ENOMEM;
}

static void
free_file(sni_uring *uring, sni_file *file)
{
    sni_link_remove(&file->wanting);
    sni_release(uring->real.io.alloc, file->held);
    sni_real_free(&uring->real, file);
}

static void
uring_close(sni_io *io, sni_file *file)
{
    sni_uring *uring = sni_uring_of(io);
    bool inherited = sni_real_inherited(io);

    if (file->held != NULL)
        sni_held_close(file->held, inherited);
    if (!inherited)
        sni_uring_withdraw(uring, file);
    sni_real_shut(&uring->real, file);
    if (file->armed == 0 || inherited) {
        free_file(uring, file);
        return;
    }
    file->closed = true;
    sni_uring_want_back(uring, file, UINT8_MAX);
    sni_uring_hand_over(uring);
}

/* ---- operations -------------------------------------------------------- */

static sni_request
request_of(const sni_op *op)
{
    switch ((sni_op_kind)op->kind) {
    case SNI_OP_ACCEPT:
        return SNI_REQUEST_ACCEPT;
    case SNI_OP_RECV:
        return SNI_REQUEST_RECV;
    case SNI_OP_CONNECT:
    case SNI_OP_SEND:
        return SNI_REQUEST_WRITABLE;
    case SNI_OP_HANGUP:
    case SNI_OP_RESOLVE:
        break;
    }
    return SNI_REQUEST_HANGUP;
}

/* The next held connection. One whose peer has gone is passed over; one for which there
 * is no memory waits until there is. Errors: EAGAIN (none). */
static sennit_err
take_held(sni_uring *uring, sni_op *op)
{
    sni_held *held = op->file->held;
    sennit_err err = SENNIT_EAGAIN;

    while (err == SENNIT_EAGAIN && held->count > 0) {
        sni_address peer = { .kind = op->file->of.peer.kind };
        int fd = sni_held_first(held);

        err = sni_stream_accepted(fd, op->opts, &peer, &op->why);
        if (err) {
            sni_stream_close(fd, false);
        } else {
            err = sni_real_accepted(&uring->real, fd, &peer, &op->accepted);
            if (err)
                return err;
        }
        sni_held_pop(held);
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
try_recv(sni_uring *uring, sni_op *op)
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

bool
sni_uring_try_send(sni_op *op)
{
    const sni_file *file = op->file;
    sennit_err err;

    if ((file->want | file->armed) & sni_request_bit(SNI_REQUEST_WRITABLE))
        return false;
    err = sni_stream_send(file->of.fd, op->parts, op->parts_count, &op->size);
    return err != SENNIT_EAGAIN && sni_op_done(op, err);
}

/* True: done. */
static bool
try_op(sni_uring *uring, sni_op *op)
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
        return sni_uring_try_send(op);
    case SNI_OP_HANGUP:
    case SNI_OP_RESOLVE:
        break;
    }
    return false;
}

static bool
uring_submit(sni_io *io, sni_op *op)
{
    sni_uring *uring = sni_uring_of(io);
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
    sni_uring_want(uring, op->file, request_of(op));
    sni_uring_hand_over(uring);
    return false;
}

/* Whether `op` is taken off; false: it is on its way back, or the kernel has it. */
static bool
take_off(sni_uring *uring, sni_op *op)
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
        if (op->kind == SNI_OP_RECV && file->armed & sni_request_bit(SNI_REQUEST_RECV))
            return false;
        if (op->kind == SNI_OP_SEND && file->armed & sni_request_bit(SNI_REQUEST_SEND))
            return false;
        if (op->kind != SNI_OP_SEND)
            sni_uring_want_back(uring, file, sni_request_bit(request_of(op)));
    }
    *park = NULL;
    return true;
}

static void
uring_cancel(sni_io *io, sni_op *op)
{
    sni_uring *uring = sni_uring_of(io);

    if (take_off(uring, op)) {
        op->err = SENNIT_ECLOSED;
        sni_op_queue_push(&uring->real.done, op);
        sni_uring_hand_over(uring);
    } else if (op->kind == SNI_OP_RECV && op->pending && op->file->of.in == op) {
        op->file->unwanted = true;
        sni_uring_want_back(uring, op->file, sni_request_bit(SNI_REQUEST_RECV));
        sni_uring_hand_over(uring);
    }
}

/* ---- completions ------------------------------------------------------- */

static void
give_back(sni_uring *uring, sni_op **park, sennit_err err)
{
    sni_op *op = *park;

    *park = NULL;
    op->err = err;
    sni_op_queue_push(&uring->real.done, op);
}

/* A parked operation is tried again. */
static void
retry(sni_uring *uring, sni_op **park)
{
    sni_op *op = *park;

    if (op == NULL)
        return;
    if (try_op(uring, op)) {
        *park = NULL;
        sni_op_queue_push(&uring->real.done, op);
    } else {
        sni_uring_want(uring, op->file, request_of(op));
    }
}

static void
accepted(sni_uring *uring, sni_file *listener, const struct io_uring_cqe *cqe)
{
    bool goes_on = (cqe->flags & IORING_CQE_F_MORE) != 0;

    if (cqe->res >= 0 && listener->closed)
        sni_stream_close(cqe->res, false);
    else if (cqe->res >= 0)
        sni_held_push(listener->held, cqe->res);
    else if (cqe->res == -EINVAL && !listener->closed && !uring->no_multishot)
        uring->no_multishot = true;
    else if (cqe->res != -ECANCELED && listener->of.in != NULL &&
             !sni_stream_accept_goes_on(-cqe->res))
        give_back(uring, &listener->of.in, sni_err_of_errno(-cqe->res));
    if (goes_on && uring->ring.opts.ends_multishot)
        (void)sni_uring_call_back(uring, listener, SNI_REQUEST_ACCEPT);
    else if (goes_on && sni_held_is_much(listener->held))
        sni_uring_want_back(uring, listener, sni_request_bit(SNI_REQUEST_ACCEPT));
    if (!goes_on && !uring->no_multishot && listener->of.in != NULL)
        uring->ring.stats->ended++;
    retry(uring, &listener->of.in);
}

static void
starve(sni_uring *uring, sni_file *file)
{
    uring->ring.stats->no_buffer++;
    file->want |= sni_request_bit(SNI_REQUEST_RECV);
    sni_link_remove(&file->wanting);
    sni_list_push(&uring->starved, &file->wanting);
}

static void
received(sni_uring *uring, sni_file *file, const struct io_uring_cqe *cqe)
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
        sni_uring_want(uring, file, SNI_REQUEST_RECV);
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
writable(sni_uring *uring, sni_file *file, int res)
{
    sennit_err err;

    if (file->of.out == NULL)
        return;
    if (res == -ECANCELED) {
        sni_uring_want(uring, file, SNI_REQUEST_WRITABLE);
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
hung_up(sni_uring *uring, sni_file *file, int res)
{
    if (file->of.watch == NULL)
        return;
    if (res < 0)
        sni_uring_want(uring, file, SNI_REQUEST_HANGUP);
    else
        give_back(uring, &file->of.watch, SENNIT_OK);
}

static void
complete(sni_uring *uring, const struct io_uring_cqe *cqe)
{
    sni_file *file = (sni_file *)(uintptr_t)(cqe->user_data & ~SNI_REQUEST_MASK);
    sni_request kind = (sni_request)(cqe->user_data & SNI_REQUEST_MASK);
    bool over = !(cqe->flags & IORING_CQE_F_MORE);

    if (over && file != NULL)
        file->armed &= (uint8_t)~sni_request_bit(kind);
    switch (kind) {
    case SNI_REQUEST_ACCEPT:
        accepted(uring, file, cqe);
        break;
    case SNI_REQUEST_RECV:
        received(uring, file, cqe);
        break;
    case SNI_REQUEST_WRITABLE:
        writable(uring, file, cqe->res);
        break;
    case SNI_REQUEST_HANGUP:
        hung_up(uring, file, cqe->res);
        break;
    case SNI_REQUEST_SEND:
        sni_uring_sent(uring, file, cqe->res);
        break;
    case SNI_REQUEST_WAKE:
        uring->wake_armed = !over;
        uring->woken = true;
        sni_real_woken(&uring->real);
        break;
    case SNI_REQUEST_CANCEL:
        break;
    }
    if (file != NULL && file->closed && file->armed == 0)
        free_file(uring, file);
}

/* ---- waiting ----------------------------------------------------------- */

void
sni_uring_complete_all(sni_uring *uring)
{
    struct io_uring_cqe cqe;

    while (sni_ring_next(&uring->ring, &cqe))
        complete(uring, &cqe);
}

/* Who found no buffer tries again when there are some, and no more of them than there
 * are: the others would only be told again that there is none. Where there is no memory
 * for any, that is the answer. */
static void
feed_starved(sni_uring *uring, unsigned buffers)
{
    unsigned left = buffers;
    sni_link *link;

    while ((link = sni_list_first(&uring->starved)) != NULL) {
        sni_file *file = SNI_OWNER_OF(link, sni_file, wanting);
        bool hungry = (file->want & sni_request_bit(SNI_REQUEST_RECV)) != 0;

        if (hungry && buffers > 0 && left-- == 0)
            return;
        sni_link_remove(link);
        if (hungry && buffers == 0) {
            file->want &= (uint8_t)~sni_request_bit(SNI_REQUEST_RECV);
            give_back(uring, &file->of.in, SENNIT_ENOMEM);
        }
        if ((file->want | file->cancel) != 0)
            sni_uring_list(uring, file);
    }
}

/* Waits, for what takes the kernel no time, until it has given back a RECV. False: it is
 * done. So nothing is lost, and what it was told to fill may be used. */
static bool
fetch_back(sni_uring *uring, sni_op *op)
{
    sni_file *file = op->file;

    if (op->kind != SNI_OP_RECV || !op->pending || file->of.in != op)
        return false;
    file->taken = true;
    for (int i = 0;
         i < SNI_URING_TRIES && file->armed & sni_request_bit(SNI_REQUEST_RECV); i++) {
        sni_uring_want_back(uring, file, sni_request_bit(SNI_REQUEST_RECV));
        (void)sni_uring_make_all(uring);
        (void)sni_ring_enter(&uring->ring, 0);
        sni_uring_complete_all(uring);
    }
    file->taken = false;
    if (file->armed & sni_request_bit(SNI_REQUEST_RECV) || file->of.in != op)
        return false;
    file->of.in = NULL;
    return true;
}

static bool
uring_retract(sni_io *io, sni_op *op)
{
    sni_uring *uring = sni_uring_of(io);

    if (!take_off(uring, op) && !fetch_back(uring, op))
        return false;
    op->pending = false;
    sni_uring_hand_over(uring);
    return true;
}

static bool
wait_completions(sni_uring *uring, sennit_time until)
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
void
sni_uring_settle(sni_uring *uring)
{
    for (unsigned row = 0; sni_ring_hush(&uring->ring); row++) {
        if (row == SETTLES_MAX) {
            sni_real_wake(&uring->real.io);
            return;
        }
        (void)sni_ring_enter(&uring->ring, 0);
    }
}

/* ---- a turn ------------------------------------------------------------- */

static int
uring_reap(sni_io *io, sni_op **out, int max, sennit_time until)
{
    sni_uring *uring = sni_uring_of(io);
    bool entered;
    int count;

    if (sni_real_inherited(io)) {
        sni_real_collect_lookups(&uring->real);
        return sni_op_queue_take(&uring->real.done, out, max);
    }
    feed_starved(uring, sni_ring_recycle(&uring->ring));
    if (!sni_uring_make_all(uring) || !sni_op_queue_empty(&uring->real.done) ||
        !sni_list_empty(&uring->starved) || uring->woken)
        until = 0;
    entered = wait_completions(uring, until);
    sni_uring_settle(uring);
    sni_uring_complete_all(uring);
    uring->woken = false;
    if (!entered && sni_op_queue_empty(&uring->real.done))
        return -1;
    count = sni_op_queue_take(&uring->real.done, out, max);
    sni_uring_hand_over(uring);
    return count;
}

static int
uring_descriptor(const sni_io *io)
{
    /* The descriptor is asked for by whoever is going to wait for it. */
    sni_uring *uring = (sni_uring *)(uintptr_t)io;

    if (!sni_real_inherited(&uring->real.io)) {
        uring->watched = true;
        sni_uring_hand_over(uring);
        sni_ring_watch(&uring->ring);
    }
    return uring->watch_fd;
}

/* Every request comes back, those of closed files too. */
static void
drain(sni_uring *uring)
{
    bool asked = !uring->wake_armed;

    uring->closing = true;
    while (uring->ring.requests > 0) {
        asked = asked || sni_uring_call_back(uring, NULL, SNI_REQUEST_WAKE);
        (void)sni_uring_make_all(uring);
        (void)sni_ring_enter(&uring->ring, SENNIT_NEVER);
        sni_uring_complete_all(uring);
    }
}

static void
uring_fini(sni_io *io)
{
    sni_uring *uring = sni_uring_of(io);
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
    .submit_sends = sni_uring_submit_sends,
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
    sni_uring *uring = sni_acquire_zero(alloc, sizeof *uring);
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
