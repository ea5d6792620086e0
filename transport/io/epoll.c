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
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/limits.h"
#include "base/random.h"
#include "io/fork.h"
#include "io/resolver.h"
#include "io/stream.h"

#define WAIT_EVENTS 64

struct sni_file {
    int fd;
    bool readable;
    bool writable;
    bool hung_up; /* the end of the stream or an error is behind what is unread */
    bool registered;
    sni_address address;      /* the peer's */
    sni_listening *listening; /* of a listener */
    sni_op *in;               /* parked ACCEPT or RECV */
    sni_op *out;              /* parked CONNECT or SEND */
    sni_op *watch;            /* parked HANGUP */
};

typedef struct epoll_io {
    sni_io io;
    int epoll_fd;
    int wake_fd;
    sni_block *spare;   /* the next receive goes here */
    sni_op *done_first; /* operations to give back */
    sni_op **done_last;
    sni_resolver *resolver; /* made for the first look-up */
    uint64_t random_state;
    unsigned forks; /* when it was opened */
} epoll_io;

static epoll_io *
epoll_of(sni_io *io)
{
    return (epoll_io *)io;
}

/* Then the kernel's objects are the parent's: nothing is read, written, ended or waited
 * for here, and every operation comes back as ECLOSED. */
static bool
epoll_inherited(sni_io *io)
{
    return sni_forked_since(epoll_of(io)->forks);
}

static void
epoll_wake(sni_io *io)
{
    uint64_t one = 1;

    if (!epoll_inherited(io))
        (void)!write(epoll_of(io)->wake_fd, &one, sizeof one);
}

/* ---- files ------------------------------------------------------------- */

static sennit_err
file_new(epoll_io *epoll, int fd, const sni_address *address, sni_file **out)
{
    sni_file *file = sni_acquire_zero(epoll->io.alloc, sizeof *file);

    if (file == NULL)
        return SENNIT_ENOMEM;
    file->fd = fd;
    file->address = *address;
    *out = file;
    return SENNIT_OK;
}

static sennit_err
file_register(epoll_io *epoll, sni_file *file)
{
    struct epoll_event event = {
        .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
        .data.ptr = file,
    };

    if (epoll_ctl(epoll->epoll_fd, EPOLL_CTL_ADD, file->fd, &event) != 0)
        return sni_err_of_errno(errno);
    file->registered = true;
    return SENNIT_OK;
}

static sennit_err
epoll_dial(sni_io *io, const sni_address *address, const sni_address *source,
           const sennit_sock_opts *opts, sni_file **out)
{
    sennit_err err;
    int fd;

    io->why = NULL;
    if (epoll_inherited(io))
        return SENNIT_ECLOSED;
    err = sni_stream_dial(&fd, address, source, opts, &io->why);
    if (err)
        return err;
    err = file_new(epoll_of(io), fd, address, out);
    if (err)
        close(fd);
    return err;
}

static void
epoll_close(sni_io *io, sni_file *file)
{
    bool shared = epoll_inherited(io);

    SNI_ASSERT(file->in == NULL);
    SNI_ASSERT(file->out == NULL);
    SNI_ASSERT(file->watch == NULL);
    /* Explicitly, because a forked child may keep the description open, and then
     * close alone leaves a registration that points at freed memory. But the child's
     * epoll instance is the parent's. */
    if (file->registered && !shared)
        (void)epoll_ctl(epoll_of(io)->epoll_fd, EPOLL_CTL_DEL, file->fd, NULL);
    if (file->listening != NULL)
        sni_stream_unlisten(file->listening, shared);
    else
        sni_stream_close(file->fd, shared);
    sni_release(io->alloc, file->listening);
    sni_release(io->alloc, file);
}

/* Takes what `listening` holds on success only. */
static sennit_err
listener_new(epoll_io *epoll, const sni_listening *listening, sni_file **out)
{
    sni_file *file;
    sennit_err err = file_new(epoll, listening->fd, &listening->address, &file);

    if (err)
        return err;
    file->listening = sni_acquire(epoll->io.alloc, sizeof *listening);
    err = SENNIT_ENOMEM;
    if (file->listening == NULL)
        goto fail_file;
    *file->listening = *listening;
    err = file_register(epoll, file);
    if (err)
        goto fail_listening;
    *out = file;
    return SENNIT_OK;

fail_listening:
    sni_release(epoll->io.alloc, file->listening);
fail_file:
    sni_release(epoll->io.alloc, file);
    return err;
}

static sennit_err
epoll_listen(sni_io *io, const sni_address *address, const sennit_sock_opts *opts,
             sni_file **out, sni_address *bound)
{
    sni_listening listening;
    sennit_err err;

    io->why = NULL;
    err = sni_stream_listen(&listening, address, opts, &io->why);
    if (err)
        return err;
    err = listener_new(epoll_of(io), &listening, out);
    if (err)
        sni_stream_unlisten(&listening, false);
    else
        *bound = listening.address;
    return err;
}

static sennit_err
epoll_adopt(sni_io *io, int fd, sni_file **out, sni_address *bound)
{
    sni_listening listening;
    sennit_err err;

    io->why = NULL;
    err = sni_stream_adopt(&listening, fd, &io->why);
    if (err == SENNIT_OK)
        err = listener_new(epoll_of(io), &listening, out);
    if (err == SENNIT_EEXIST) {
        io->why = "fd is bound in this loop already: hand over a dup of it";
        return SENNIT_EINVAL;
    }
    if (err == SENNIT_OK)
        *bound = listening.address;
    return err;
}

static void
epoll_peer_name(sni_io *io, const sni_file *file, sni_peer_name *out)
{
    (void)io;
    sni_stream_peer_name(file->fd, &file->address, out);
}

static sennit_err
epoll_interface_address(sni_io *io, const char *name, bool ipv4, bool ipv6,
                        sni_address *out)
{
    (void)io;
    return sni_interface_address(name, ipv4, ipv6, out);
}

static sennit_err
epoll_interface_scope(sni_io *io, const char *name, uint32_t *out)
{
    (void)io;
    return sni_interface_scope(name, out);
}

/* ---- operations -------------------------------------------------------- */

static bool
done(sni_op *op, sennit_err err)
{
    op->err = err;
    return true;
}

static bool
try_accept(epoll_io *epoll, sni_op *op)
{
    sni_file *file = op->file;
    sni_address peer;
    sennit_err err;
    int fd;

    err = sni_stream_accept(&fd, file->fd, op->opts, &peer, &op->why);
    if (err == SENNIT_EAGAIN) {
        file->readable = false;
        return false;
    }
    if (err)
        return done(op, err);
    err = file_new(epoll, fd, &peer, &op->accepted);
    if (err) {
        close(fd);
        return done(op, err);
    }
    err = file_register(epoll, op->accepted);
    if (err) {
        epoll_close(&epoll->io, op->accepted);
        op->accepted = NULL;
        return done(op, err);
    }
    /* Fresh sockets are writable; the first edge tells of reading. */
    op->accepted->writable = true;
    return done(op, SENNIT_OK);
}

/* True: done. */
static bool
connected(sni_op *op)
{
    if (!sni_stream_is_own(op->file->fd))
        return done(op, SENNIT_OK);
    op->why = "connected to itself: nobody listens there, and the port was its own";
    return done(op, SENNIT_ECONNREFUSED);
}

static bool
try_connect(epoll_io *epoll, sni_op *op)
{
    sni_file *file = op->file;
    int error = 0;
    socklen_t size = sizeof error;

    if (!file->registered) {
        bool under_way;
        sennit_err err = sni_stream_connect(file->fd, &file->address, &under_way);

        if (err)
            return done(op, err);
        err = file_register(epoll, file);
        file->writable = !under_way;
        if (err)
            return done(op, err);
        return !under_way && connected(op);
    }
    if (!file->writable)
        return false;
    if (getsockopt(file->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
        error = errno;
    return error != 0 ? done(op, sni_err_of_errno(error)) : connected(op);
}

/* The receive block: reused as long as nobody kept what is in it. */
static bool
spare_block(epoll_io *epoll)
{
    if (epoll->spare != NULL && sni_block_sole(epoll->spare))
        return true;
    sni_block_unref(epoll->spare);
    epoll->spare = sni_pool_take(epoll->io.recv_blocks);
    return epoll->spare != NULL;
}

static bool
try_recv(epoll_io *epoll, sni_op *op)
{
    sni_file *file = op->file;
    uint8_t *into = op->into;
    size_t room = op->room;
    ssize_t n;

    if (!file->readable)
        return false;
    if (op->home == NULL) {
        if (!spare_block(epoll))
            return done(op, SENNIT_ENOMEM);
        into = epoll->spare->data;
        room = epoll->spare->capacity;
    }
    do {
        n = recv(file->fd, into, room, 0);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        file->readable = false;
        return false;
    }
    if (n < 0)
        return done(op, sni_err_of_errno(errno));
    if (op->home == NULL) {
        op->home = sni_block_ref(epoll->spare);
        op->into = into;
    }
    /* A short read has emptied the socket; what comes later makes a new edge. Once
     * the peer has hung up there is no further edge, so the bit stays. */
    if ((size_t)n < room && !file->hung_up)
        file->readable = false;
    op->size = (size_t)n;
    return done(op, SENNIT_OK);
}

static bool
try_send(sni_op *op)
{
    struct iovec vectors[SNI_SEND_PARTS];
    struct msghdr message = { .msg_iov = vectors };
    sni_file *file = op->file;
    ssize_t n;

    if (!file->writable)
        return false;
    SNI_ASSERT(op->parts_count <= SNI_SEND_PARTS);
    for (size_t i = 0; i < op->parts_count; i++) {
        const void *data = op->parts[i].data;

        /* iovec has no const; sendmsg does not write. */
        memcpy(&vectors[i].iov_base, &data, sizeof data);
        vectors[i].iov_len = op->parts[i].size;
    }
    message.msg_iovlen = op->parts_count;
    do {
        n = sendmsg(file->fd, &message, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        file->writable = false;
        return false;
    }
    if (n < 0)
        return done(op, sni_err_of_errno(errno));
    op->size = (size_t)n;
    return done(op, SENNIT_OK);
}

/* True: done. RESOLVE is the resolver's. */
static bool
try_op(epoll_io *epoll, sni_op *op)
{
    switch (op->kind) {
    case SNI_OP_ACCEPT:
        return try_accept(epoll, op);
    case SNI_OP_CONNECT:
        return try_connect(epoll, op);
    case SNI_OP_RECV:
        return try_recv(epoll, op);
    case SNI_OP_SEND:
        return try_send(op);
    case SNI_OP_HANGUP:
        return op->file->hung_up && done(op, SENNIT_OK);
    case SNI_OP_RESOLVE:
        break;
    }
    return done(op, SENNIT_EINVAL);
}

static sni_op **
park_of(const sni_op *op)
{
    switch (op->kind) {
    case SNI_OP_ACCEPT:
    case SNI_OP_RECV:
        return &op->file->in;
    case SNI_OP_CONNECT:
    case SNI_OP_SEND:
        return &op->file->out;
    case SNI_OP_HANGUP:
        return &op->file->watch;
    case SNI_OP_RESOLVE:
        break;
    }
    return NULL;
}

static bool
submit_lookup(epoll_io *epoll, sni_op *op)
{
    sennit_err err = SENNIT_OK;

    if (epoll->resolver == NULL)
        err = sni_resolver_new(&epoll->resolver, &epoll->io.resolver, epoll->wake_fd);
    if (err == SENNIT_OK)
        err = sni_resolver_submit(epoll->resolver, op);
    op->pending = err == SENNIT_OK;
    return err != SENNIT_OK && done(op, err);
}

static bool
epoll_submit(sni_io *io, sni_op *op)
{
    sni_op **park = park_of(op);

    SNI_ASSERT(!op->pending);
    op->err = SENNIT_OK;
    op->why = NULL;
    op->size = 0;
    op->accepted = NULL;
    if (epoll_inherited(io))
        return done(op, SENNIT_ECLOSED);
    if (park == NULL)
        return submit_lookup(epoll_of(io), op);
    SNI_ASSERT(*park == NULL);
    if (try_op(epoll_of(io), op))
        return true;
    op->pending = true;
    *park = op;
    return false;
}

static void
give_back(epoll_io *epoll, sni_op *op)
{
    op->next_ = NULL;
    *epoll->done_last = op;
    epoll->done_last = &op->next_;
}

/* False: it is done and on its way back. */
static bool
take_off(epoll_io *epoll, sni_op *op)
{
    sni_op **park = park_of(op);

    if (!op->pending)
        return false;
    if (park == NULL)
        return sni_resolver_forget(epoll->resolver, op);
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
    give_back(epoll_of(io), op);
    epoll_wake(io);
}

static bool
epoll_retract(sni_io *io, sni_op *op)
{
    if (!take_off(epoll_of(io), op))
        return false;
    op->pending = false;
    return true;
}

static void
epoll_finish(sni_io *io, sni_file *file)
{
    if (!epoll_inherited(io))
        (void)shutdown(file->fd, SHUT_WR);
}

static bool
epoll_undelivered(sni_io *io, const sni_file *file)
{
    return !epoll_inherited(io) && sni_stream_undelivered(file->fd, &file->address);
}

/* ---- waiting ----------------------------------------------------------- */

static void
retry(epoll_io *epoll, sni_op **park)
{
    sni_op *op = *park;

    if (op == NULL || !try_op(epoll, op))
        return;
    *park = NULL;
    give_back(epoll, op);
}

static sennit_time
read_clock(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (sennit_time)ts.tv_sec * 1000000000u + (sennit_time)ts.tv_nsec;
}

static sennit_time
epoll_now(sni_io *io)
{
    (void)io;
    return read_clock(CLOCK_MONOTONIC);
}

static sennit_time
epoll_now_coarse(sni_io *io)
{
    (void)io;
    return read_clock(CLOCK_MONOTONIC_COARSE);
}

static void
collect_lookups(epoll_io *epoll)
{
    sni_op *op;

    while (epoll->resolver != NULL && (op = sni_resolver_next(epoll->resolver)) != NULL)
        give_back(epoll, op);
}

/* By another thread, or by the resolver's. */
static void
woken(epoll_io *epoll)
{
    uint64_t count;

    (void)!read(epoll->wake_fd, &count, sizeof count);
    collect_lookups(epoll);
}

static void
on_edge(epoll_io *epoll, const struct epoll_event *event)
{
    sni_file *file = event->data.ptr;

    if (file == NULL) {
        woken(epoll);
        return;
    }
    if (event->events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        file->hung_up = true;
    if (file->hung_up || (event->events & EPOLLIN))
        file->readable = true;
    if (event->events & (EPOLLOUT | EPOLLHUP | EPOLLERR))
        file->writable = true;
    retry(epoll, &file->in);
    retry(epoll, &file->out);
    retry(epoll, &file->watch);
}

static int
collect(epoll_io *epoll, sni_op **out, int max)
{
    int n = 0;

    while (n < max && epoll->done_first != NULL) {
        sni_op *op = epoll->done_first;

        epoll->done_first = op->next_;
        out[n++] = op;
    }
    /* Nothing of the kernel's tells of what is left. */
    if (epoll->done_first != NULL)
        epoll_wake(&epoll->io);
    else
        epoll->done_last = &epoll->done_first;
    return n;
}

static int
wait_edges(epoll_io *epoll, sennit_time until)
{
    struct epoll_event events[WAIT_EVENTS];
    int n;

    if (epoll_inherited(&epoll->io)) {
        collect_lookups(epoll);
        return 0;
    }
    if (until == 0 || epoll->done_first != NULL) {
        n = epoll_wait(epoll->epoll_fd, events, WAIT_EVENTS, 0);
    } else if (until == SENNIT_NEVER) {
        n = epoll_wait(epoll->epoll_fd, events, WAIT_EVENTS, -1);
    } else {
        sennit_time now = epoll_now(&epoll->io);
        /* Rounded up: waking a moment early would spin. */
        uint64_t ms = until <= now ? 0 : (until - now + 999999u) / 1000000u;

        n = epoll_wait(epoll->epoll_fd, events, WAIT_EVENTS,
                       ms > 3600000u ? 3600000 : (int)ms);
    }
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

    if (wait_edges(epoll, until) < 0 && epoll->done_first == NULL)
        return -1;
    return collect(epoll, out, max);
}

/* Seeded by the kernel: jitter needs spread, not secrecy. */
static uint64_t
epoll_random(sni_io *io)
{
    return sni_random_next(&epoll_of(io)->random_state);
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

    sni_resolver_free(epoll->resolver);
    sni_block_unref(epoll->spare);
    close(epoll->wake_fd);
    close(epoll->epoll_fd);
    sni_release(io->alloc, epoll);
}

static const sni_io_ops epoll_ops = {
    .name = "epoll",
    .listen = epoll_listen,
    .adopt = epoll_adopt,
    .dial = epoll_dial,
    .peer_name = epoll_peer_name,
    .interface_address = epoll_interface_address,
    .interface_scope = epoll_interface_scope,
    .close = epoll_close,
    .submit = epoll_submit,
    .cancel = epoll_cancel,
    .retract = epoll_retract,
    .finish = epoll_finish,
    .undelivered = epoll_undelivered,
    .reap = epoll_reap,
    .wake = epoll_wake,
    .now = epoll_now,
    .now_coarse = epoll_now_coarse,
    .inherited = epoll_inherited,
    .random = epoll_random,
    .descriptor = epoll_descriptor,
    .fini = epoll_fini,
};

sennit_err
sni_io_epoll_open(sni_io **out, const sennit_allocator *alloc, sni_pool *recv_blocks)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = NULL };
    epoll_io *epoll = sni_acquire_zero(alloc, sizeof *epoll);
    sennit_err err;

    if (epoll == NULL)
        return SENNIT_ENOMEM;
    epoll->io = (sni_io){ .ops = &epoll_ops, .alloc = alloc, .recv_blocks = recv_blocks };
    epoll->done_last = &epoll->done_first;
    epoll->forks = sni_forks;
    epoll->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (epoll->epoll_fd < 0) {
        err = sni_err_of_errno(errno);
        goto fail_epoll;
    }
    epoll->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (epoll->wake_fd < 0 ||
        epoll_ctl(epoll->epoll_fd, EPOLL_CTL_ADD, epoll->wake_fd, &event) != 0) {
        err = sni_err_of_errno(errno);
        goto fail_wake;
    }
    if (getrandom(&epoll->random_state, sizeof epoll->random_state, GRND_NONBLOCK) < 0)
        epoll->random_state = epoll_now(&epoll->io) ^ (uint64_t)getpid() << 32;
    *out = &epoll->io;
    return SENNIT_OK;

fail_wake:
    if (epoll->wake_fd >= 0)
        close(epoll->wake_fd);
    close(epoll->epoll_fd);
fail_epoll:
    sni_release(alloc, epoll);
    return err;
}
