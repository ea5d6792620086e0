/* SPDX-License-Identifier: MIT */
/* Completions over epoll. A file is registered once, edge-triggered for both
 * directions; what is known of it is two bits, readable and writable. An operation
 * is tried when its bit is set; EAGAIN clears the bit and parks the operation in
 * the file, and the next edge takes it up again. So a busy connection costs no
 * epoll_ctl, and a round trip is one epoll_wait, one recv and one sendmsg. */
#define _GNU_SOURCE

#include "io/io.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/limits.h"
#include "io/real.h"

#define WAIT_EVENTS 64

struct sni_file {
    sni_real_file of;
    bool readable;
    bool writable;
    bool hung_up; /* the end of the stream or an error is behind what is unread */
    bool registered;
};

typedef struct epoll_io {
    sni_real real;
    int epoll_fd;
} epoll_io;

static epoll_io *
epoll_of(sni_io *io)
{
    return (epoll_io *)io;
}

/* ---- files ------------------------------------------------------------- */

static sennit_err
file_register(sni_real *real, sni_file *file)
{
    struct epoll_event event = {
        .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
        .data.ptr = file,
    };

    if (epoll_ctl(epoll_of(&real->io)->epoll_fd, EPOLL_CTL_ADD, file->of.fd, &event) != 0)
        return sni_err_of_errno(errno);
    file->registered = true;
    return SENNIT_OK;
}

static void
epoll_close(sni_io *io, sni_file *file)
{
    /* Explicitly, because a forked child may keep the description open, and then
     * close alone leaves a registration that points at freed memory. But the child's
     * epoll instance is the parent's. */
    if (file->registered && !sni_real_inherited(io))
        (void)epoll_ctl(epoll_of(io)->epoll_fd, EPOLL_CTL_DEL, file->of.fd, NULL);
    sni_real_shut(sni_real_of(io), file);
    sni_real_free(sni_real_of(io), file);
}

/* ---- operations -------------------------------------------------------- */

static bool
try_accept(epoll_io *epoll, sni_op *op)
{
    sni_file *file = op->file;
    sni_address peer;
    sennit_err err;
    int fd;

    err = sni_stream_accept(&fd, file->of.fd, op->opts, &peer, &op->why);
    if (err == SENNIT_EAGAIN) {
        file->readable = false;
        return false;
    }
    if (err)
        return sni_op_done(op, err);
    err = sni_real_accepted(&epoll->real, fd, &peer, &op->accepted);
    /* Fresh sockets are writable; the first edge tells of reading. */
    if (err)
        close(fd);
    else
        op->accepted->writable = true;
    return sni_op_done(op, err);
}

static bool
try_connect(epoll_io *epoll, sni_op *op)
{
    sni_file *file = op->file;
    bool under_way;
    sennit_err err;

    if (file->registered && !file->writable)
        return false;
    if (file->registered) {
        err = sni_stream_connect_result(file->of.fd);
        return err ? sni_op_done(op, err) : sni_real_connected(op);
    }
    err = sni_stream_connect(file->of.fd, file->of.to, &under_way);
    if (err == SENNIT_OK)
        err = file_register(&epoll->real, file);
    if (err)
        return sni_op_done(op, err);
    file->writable = !under_way;
    return !under_way && sni_real_connected(op);
}

static bool
try_recv(epoll_io *epoll, sni_op *op)
{
    sni_file *file = op->file;
    bool drained = false;
    sennit_err err;

    if (!file->readable)
        return false;
    err = sni_real_recv(&epoll->real, op, &drained);
    /* A short read has emptied the socket; what comes later makes a new edge. Once
     * the peer has hung up there is no further edge, so the bit stays. */
    if (err == SENNIT_EAGAIN || (drained && !file->hung_up))
        file->readable = false;
    return err != SENNIT_EAGAIN && sni_op_done(op, err);
}

static bool
try_send(sni_op *op)
{
    sennit_err err;

    if (!op->file->writable)
        return false;
    err = sni_stream_send(op->file->of.fd, op->parts, op->parts_count, &op->size);
    if (err == SENNIT_EAGAIN) {
        op->file->writable = false;
        return false;
    }
    return sni_op_done(op, err);
}

/* True: done. RESOLVE is the resolver's. */
static bool
try_op(epoll_io *epoll, sni_op *op)
{
    switch ((sni_op_kind)op->kind) {
    case SNI_OP_ACCEPT:
        return try_accept(epoll, op);
    case SNI_OP_CONNECT:
        return try_connect(epoll, op);
    case SNI_OP_RECV:
        return try_recv(epoll, op);
    case SNI_OP_SEND:
        return try_send(op);
    case SNI_OP_HANGUP:
        return op->file->hung_up && sni_op_done(op, SENNIT_OK);
    case SNI_OP_RESOLVE:
        break;
    }
    return sni_op_done(op, SENNIT_EINVAL);
}

static bool
epoll_submit(sni_io *io, sni_op *op)
{
    sni_op **park = sni_real_park(op);

    SNI_ASSERT(!op->pending);
    if (!sni_real_begin(sni_real_of(io), op))
        return true;
    if (park == NULL)
        return sni_real_look_up(sni_real_of(io), op);
    SNI_ASSERT(*park == NULL);
    if (try_op(epoll_of(io), op))
        return true;
    op->pending = true;
    *park = op;
    return false;
}

/* False: it is done and on its way back. */
static bool
take_off(epoll_io *epoll, sni_op *op)
{
    sni_op **park = sni_real_park(op);

    if (!op->pending)
        return false;
    if (park == NULL)
        return sni_real_forget(&epoll->real, op);
    if (*park != op)
        return false;
    *park = NULL;
    return true;
}

static void
epoll_cancel(sni_io *io, sni_op *op)
{
    if (!take_off(epoll_of(io), op))
        return;
    op->err = SENNIT_ECLOSED;
    sni_op_queue_push(&epoll_of(io)->real.done, op);
    sni_real_wake(io);
}

static bool
epoll_retract(sni_io *io, sni_op *op)
{
    if (!take_off(epoll_of(io), op))
        return false;
    op->pending = false;
    return true;
}

/* ---- waiting ----------------------------------------------------------- */

static void
retry(epoll_io *epoll, sni_op **park)
{
    sni_op *op = *park;

    if (op == NULL || !try_op(epoll, op))
        return;
    *park = NULL;
    sni_op_queue_push(&epoll->real.done, op);
}

static void
on_edge(epoll_io *epoll, const struct epoll_event *event)
{
    sni_file *file = event->data.ptr;

    if (file == NULL) {
        sni_real_woken(&epoll->real);
        return;
    }
    if (event->events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        file->hung_up = true;
    if (file->hung_up || (event->events & EPOLLIN))
        file->readable = true;
    if (event->events & (EPOLLOUT | EPOLLHUP | EPOLLERR))
        file->writable = true;
    retry(epoll, &file->of.in);
    retry(epoll, &file->of.out);
    retry(epoll, &file->of.watch);
}

static int
wait_events(epoll_io *epoll, struct epoll_event *events, sennit_time until)
{
    sni_io *io = &epoll->real.io;
    sennit_time end = 0;

    while (sni_real_spins(io, &end, until)) {
        int n = epoll_wait(epoll->epoll_fd, events, WAIT_EVENTS, 0);

        if (n != 0)
            return n;
    }
    return epoll_wait(epoll->epoll_fd, events, WAIT_EVENTS,
                      sni_real_timeout_ms(io, until));
}

static int
wait_edges(epoll_io *epoll, sennit_time until)
{
    struct epoll_event events[WAIT_EVENTS];
    int n;

    if (sni_real_inherited(&epoll->real.io)) {
        sni_real_collect_lookups(&epoll->real);
        return 0;
    }
    if (!sni_op_queue_empty(&epoll->real.done))
        until = 0;
    if (until > 0 && sni_real_is_interrupted()) {
        if (!sni_real_wait(&epoll->real.io, -1, until))
            return -1;
        until = 0;
    }
    n = wait_events(epoll, events, until);
    if (n < 0)
        return errno == EINTR ? -1 : 0;
    for (int i = 0; i < n; i++)
        on_edge(epoll, &events[i]);
    return n;
}

static int
epoll_reap(sni_io *io, sni_op **out, int max, sennit_time until)
{
    epoll_io *epoll = epoll_of(io);

    if (wait_edges(epoll, until) < 0 && sni_op_queue_empty(&epoll->real.done))
        return -1;
    return sni_real_collect(&epoll->real, out, max);
}

static int
epoll_descriptor(const sni_io *io)
{
    return ((const epoll_io *)io)->epoll_fd;
}

static void
epoll_fini(sni_io *io)
{
    epoll_io *epoll = epoll_of(io);

    sni_real_fini(&epoll->real);
    close(epoll->epoll_fd);
    sni_release(io->alloc, epoll);
}

static const sni_io_ops epoll_ops = {
    .name = "epoll",
    .listen = sni_real_listen,
    .adopt = sni_real_adopt,
    .dial = sni_real_dial,
    .peer_name = sni_real_peer_name,
    .interface_address = sni_real_interface_address,
    .interface_scope = sni_real_interface_scope,
    .close = epoll_close,
    .submit = epoll_submit,
    .cancel = epoll_cancel,
    .retract = epoll_retract,
    .finish = sni_real_finish,
    .undelivered = sni_real_undelivered,
    .reap = epoll_reap,
    .wait = sni_real_wait,
    .wake = sni_real_wake,
    .now = sni_real_now,
    .now_coarse = sni_real_now_coarse,
    .inherited = sni_real_inherited,
    .random = sni_real_random,
    .descriptor = epoll_descriptor,
    .fini = epoll_fini,
};

sennit_err
sni_io_epoll_open(sni_io **out, const sennit_allocator *alloc, sni_pool *recv_blocks)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = NULL };
    epoll_io *epoll = sni_acquire_zero(alloc, sizeof *epoll);
    sni_real *real;
    sennit_err err;

    if (epoll == NULL)
        return SENNIT_ENOMEM;
    real = &epoll->real;
    real->io = (sni_io){ .ops = &epoll_ops, .alloc = alloc, .recv_blocks = recv_blocks };
    real->file_bytes = sizeof(sni_file);
    real->begin = file_register;
    err = sni_real_init(real);
    if (err)
        goto fail_epoll;
    epoll->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (epoll->epoll_fd < 0) {
        err = sni_err_of_errno(errno);
        goto fail_real;
    }
    if (epoll_ctl(epoll->epoll_fd, EPOLL_CTL_ADD, real->wake_fd, &event) != 0) {
        err = sni_err_of_errno(errno);
        goto fail_epoll_fd;
    }
    *out = &real->io;
    return SENNIT_OK;

fail_epoll_fd:
    close(epoll->epoll_fd);
fail_real:
    sni_real_fini(real);
fail_epoll:
    sni_release(alloc, epoll);
    return err;
}
