/* SPDX-License-Identifier: MIT */
/* Completions over epoll. A file is registered once, edge-triggered for both
 * directions; what is known of it is two bits, readable and writable. An operation
 * is tried when its bit is set; EAGAIN clears the bit and parks the operation in
 * the file, and the next edge takes it up again. So a busy connection costs no
 * epoll_ctl, and a round trip is one epoll_wait, one recv and one sendmsg. */
#define _GNU_SOURCE

#include "io/io.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/limits.h"

#define WAIT_EVENTS 64

struct sni_file {
    int fd;
    bool readable;
    bool writable;
    bool hung_up; /* the end of the stream or an error is behind what is unread */
    bool registered;
    bool unlink_path; /* ipc listener: the path is ours to remove */
    struct stat path_stat;
    sni_address address;
    sni_op *in;  /* parked ACCEPT or RECV */
    sni_op *out; /* parked CONNECT or SEND */
};

typedef struct epoll_io {
    sni_io io;
    int epoll_fd;
    int wake_fd;
    sni_block *spare;   /* the next receive goes here */
    sni_op *done_first; /* operations to give back */
    sni_op **done_last;
    uint64_t random_state;
    pid_t pid; /* who opened it */
    bool deaf; /* another process did */
} epoll_io;

static epoll_io *
epoll_of(sni_io *io)
{
    return (epoll_io *)io;
}

/* ---- errors and addresses ---------------------------------------------- */

static sennit_err
err_of_errno(int error)
{
    switch (error) {
    case 0:
        return SENNIT_OK;
    case ENOMEM:
    case ENOBUFS:
        return SENNIT_ENOMEM;
    case EADDRINUSE:
        return SENNIT_EADDRINUSE;
    case EADDRNOTAVAIL:
    case EAFNOSUPPORT:
        return SENNIT_EADDRNOTAVAIL;
    case EACCES:
    case EPERM:
        return SENNIT_EACCES;
    case ENOENT:
    case ENOTDIR:
        return SENNIT_ENOENT;
    case EMFILE:
    case ENFILE:
        return SENNIT_EMFILE;
    case ECONNREFUSED:
        return SENNIT_ECONNREFUSED;
    case ECONNRESET:
    case EPIPE:
    case ECONNABORTED:
        return SENNIT_ECONNRESET;
    case ETIMEDOUT:
        return SENNIT_ETIMEDOUT;
    case EHOSTUNREACH:
    case ENETUNREACH:
        return SENNIT_EHOSTUNREACH;
    default:
        return SENNIT_EIO;
    }
}

typedef struct os_address {
    union {
        struct sockaddr any;
        struct sockaddr_in in4;
        struct sockaddr_in6 in6;
        struct sockaddr_un un;
    } u;
    socklen_t size;
} os_address;

static void
to_os(const sni_address *address, os_address *out)
{
    memset(out, 0, sizeof *out);
    switch (address->kind) {
    case SNI_ADDRESS_TCP4:
        out->u.in4.sin_family = AF_INET;
        out->u.in4.sin_port = htons(address->port);
        memcpy(&out->u.in4.sin_addr, address->ip, 4);
        out->size = sizeof out->u.in4;
        break;
    case SNI_ADDRESS_TCP6:
        out->u.in6.sin6_family = AF_INET6;
        out->u.in6.sin6_port = htons(address->port);
        out->u.in6.sin6_scope_id = address->scope;
        memcpy(&out->u.in6.sin6_addr, address->ip, 16);
        out->size = sizeof out->u.in6;
        break;
    case SNI_ADDRESS_IPC:
        out->u.un.sun_family = AF_UNIX;
        /* An abstract name begins with a NUL and its size is the name's end. */
        memcpy(out->u.un.sun_path + (address->abstract ? 1 : 0), address->path,
               address->path_size);
        out->size =
            (socklen_t)(offsetof(struct sockaddr_un, sun_path) + address->path_size + 1u);
        break;
    }
}

static int
open_stream(const sni_address *address)
{
    int family = address->kind == SNI_ADDRESS_TCP4   ? AF_INET
                 : address->kind == SNI_ADDRESS_TCP6 ? AF_INET6
                                                     : AF_UNIX;

    return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

/* One place for the options of every connected stream, accepted or dialled. */
static void
prepare_stream(int fd, const sni_address *address)
{
    int on = 1;

    if (address->kind != SNI_ADDRESS_IPC)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
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
        return err_of_errno(errno);
    file->registered = true;
    return SENNIT_OK;
}

/* Whether the socket file at `path` has nobody listening behind it. */
static bool
ipc_stale(const os_address *address, const char *path)
{
    struct stat st;
    bool stale;
    int fd;

    if (stat(path, &st) != 0 || !S_ISSOCK(st.st_mode))
        return false;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    stale = connect(fd, &address->u.any, address->size) != 0 && errno == ECONNREFUSED;
    close(fd);
    return stale;
}

static int
bind_stream(int fd, const sni_address *address, const os_address *os)
{
    int on = 1;

    if (address->kind != SNI_ADDRESS_IPC) {
        if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0)
            return errno;
        if (address->kind == SNI_ADDRESS_TCP6 &&
            setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) != 0)
            return errno;
    }
    if (bind(fd, &os->u.any, os->size) == 0)
        return 0;
    if (errno != EADDRINUSE || address->kind != SNI_ADDRESS_IPC || address->abstract)
        return errno;
    /* A killed process leaves its file behind; a live one is never robbed. */
    if (!ipc_stale(os, address->path) || unlink(address->path) != 0)
        return EADDRINUSE;
    return bind(fd, &os->u.any, os->size) == 0 ? 0 : errno;
}

static void
learn_bound(sni_file *file, sni_address *bound)
{
    os_address os;

    *bound = file->address;
    os.size = sizeof os.u;
    if (file->address.kind == SNI_ADDRESS_IPC) {
        file->unlink_path =
            !file->address.abstract && stat(file->address.path, &file->path_stat) == 0;
        return;
    }
    if (getsockname(file->fd, &os.u.any, &os.size) != 0)
        return;
    bound->port = ntohs(file->address.kind == SNI_ADDRESS_TCP4 ? os.u.in4.sin_port
                                                               : os.u.in6.sin6_port);
    file->address.port = bound->port;
}

/* `ipc://` + `*`: a directory of our own, so that nobody can take the name. */
static sennit_err
make_ipc_path(sni_address *address)
{
    const char *base = getenv("TMPDIR");
    int size = snprintf(address->path, sizeof address->path, "%s/sennit-XXXXXX",
                        base != NULL && base[0] == '/' ? base : "/tmp");

    if (size < 0 || (size_t)size + sizeof "/socket" > sizeof address->path)
        return SENNIT_ENAMETOOLONG;
    if (mkdtemp(address->path) == NULL)
        return err_of_errno(errno);
    memcpy(address->path + size, "/socket", sizeof "/socket");
    address->path_size = (uint8_t)((size_t)size + sizeof "/socket" - 1);
    return SENNIT_OK;
}

static sennit_err
epoll_dial(sni_io *io, const sni_address *address, sni_file **out)
{
    int fd = open_stream(address);
    sennit_err err;

    if (fd < 0)
        return err_of_errno(errno);
    prepare_stream(fd, address);
    err = file_new(epoll_of(io), fd, address, out);
    if (err)
        close(fd);
    return err;
}

static bool epoll_inherited(sni_io *io);

/* Removes the path of an ipc listener, but only our own: somebody may have put
 * another file in its place. */
static void
remove_path(sni_file *file)
{
    struct stat st;
    char *slash;

    if (stat(file->address.path, &st) == 0 && st.st_ino == file->path_stat.st_ino &&
        st.st_dev == file->path_stat.st_dev)
        (void)unlink(file->address.path);
    slash = strrchr(file->address.path, '/');
    if (file->address.wildcard && slash != NULL) {
        *slash = '\0';
        (void)rmdir(file->address.path);
    }
}

static void
epoll_close(sni_io *io, sni_file *file)
{
    bool shared = epoll_inherited(io);

    SNI_ASSERT(file->in == NULL);
    SNI_ASSERT(file->out == NULL);
    if (file->unlink_path && !shared)
        remove_path(file);
    /* Explicitly, because a forked child may keep the description open, and then
     * close alone leaves a registration that points at freed memory. But the child's
     * epoll instance is the parent's. */
    if (file->registered && !shared)
        (void)epoll_ctl(epoll_of(io)->epoll_fd, EPOLL_CTL_DEL, file->fd, NULL);
    close(file->fd);
    sni_release(io->alloc, file);
}

static sennit_err
epoll_listen(sni_io *io, const sni_address *wanted, const sni_listen_opts *opts,
             sni_file **out, sni_address *bound)
{
    sni_address address = *wanted;
    os_address os;
    sni_file *file;
    sennit_err err = SENNIT_OK;
    int error;
    int fd;

    fd = open_stream(&address);
    if (fd < 0)
        return err_of_errno(errno);
    if (address.wildcard)
        err = make_ipc_path(&address);
    if (err == SENNIT_OK)
        err = file_new(epoll_of(io), fd, &address, &file);
    if (err) {
        close(fd);
        return err;
    }
    to_os(&address, &os);
    error = bind_stream(fd, &address, &os);
    if (error == 0) {
        learn_bound(file, bound);
        error = listen(fd, opts->backlog) == 0 ? 0 : errno;
    }
    err = error == 0 ? file_register(epoll_of(io), file) : err_of_errno(error);
    if (err)
        epoll_close(io, file); /* takes the path away, if it is there */
    else
        *out = file;
    return err;
}

/* ---- operations -------------------------------------------------------- */

static bool
done(sni_op *op, sennit_err err)
{
    op->err = err;
    return true;
}

/* What accept(2) may report of a connection that is gone already, and what must
 * not end the accepting (accept(2), "Error handling"). */
static bool
accept_error_is_of_the_connection(int error)
{
    return error == ECONNABORTED || error == EINTR || error == EPROTO ||
           error == ENETDOWN || error == ENOPROTOOPT || error == EHOSTDOWN ||
           error == ENONET || error == EHOSTUNREACH || error == EOPNOTSUPP ||
           error == ENETUNREACH;
}

static bool
try_accept(epoll_io *epoll, sni_op *op)
{
    sni_file *file = op->file;
    sennit_err err;
    int fd;

    do {
        fd = accept4(file->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    } while (fd < 0 && accept_error_is_of_the_connection(errno));
    if (fd < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        file->readable = false;
        return false;
    }
    if (fd < 0)
        return done(op, err_of_errno(errno));
    prepare_stream(fd, &file->address);
    err = file_new(epoll, fd, &file->address, &op->accepted);
    if (err) {
        close(fd);
        return done(op, err);
    }
    op->accepted->address.wildcard = false;
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

static bool
try_connect(epoll_io *epoll, sni_op *op)
{
    sni_file *file = op->file;
    os_address os;
    int error = 0;
    socklen_t size = sizeof error;

    if (!file->registered) {
        sennit_err err;

        to_os(&file->address, &os);
        if (connect(file->fd, &os.u.any, os.size) == 0) {
            err = file_register(epoll, file);
            file->writable = true;
            return done(op, err);
        }
        /* A unix socket whose backlog is full says EAGAIN: nothing will wake us,
         * so it counts as refused and the dialer's delay applies. */
        if (errno != EINPROGRESS)
            return done(op, errno == EAGAIN ? SENNIT_ECONNREFUSED : err_of_errno(errno));
        err = file_register(epoll, file);
        return err ? done(op, err) : false;
    }
    if (!file->writable)
        return false;
    if (getsockopt(file->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
        error = errno;
    return done(op, err_of_errno(error));
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
        return done(op, err_of_errno(errno));
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
        return done(op, err_of_errno(errno));
    op->size = (size_t)n;
    return done(op, SENNIT_OK);
}

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
    }
    return done(op, SENNIT_EINVAL);
}

static sni_op **
park_of(sni_op *op)
{
    return op->kind == SNI_OP_ACCEPT || op->kind == SNI_OP_RECV ? &op->file->in
                                                                : &op->file->out;
}

static bool
epoll_submit(sni_io *io, sni_op *op)
{
    sni_op **park = park_of(op);

    SNI_ASSERT(!op->pending);
    SNI_ASSERT(*park == NULL);
    op->err = SENNIT_OK;
    op->size = 0;
    op->accepted = NULL;
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

static void
epoll_cancel(sni_io *io, sni_op *op)
{
    sni_op **park;

    if (!op->pending)
        return;
    park = park_of(op);
    if (*park != op)
        return; /* it is on its way back already */
    *park = NULL;
    op->err = SENNIT_ECLOSED;
    give_back(epoll_of(io), op);
}

static bool
epoll_retract(sni_io *io, sni_op *op)
{
    sni_op **park = park_of(op);

    (void)io;
    if (!op->pending || *park != op)
        return false;
    *park = NULL;
    op->pending = false;
    return true;
}

static void
epoll_finish(sni_io *io, sni_file *file)
{
    (void)io;
    (void)shutdown(file->fd, SHUT_WR);
}

static bool
epoll_inherited(sni_io *io)
{
    epoll_io *epoll = epoll_of(io);

    /* What the shared instance tells is meant for the parent. */
    if (epoll->pid != getpid())
        epoll->deaf = true;
    return epoll->deaf;
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
on_edge(epoll_io *epoll, const struct epoll_event *event)
{
    sni_file *file = event->data.ptr;

    if (file == NULL) {
        uint64_t count;

        (void)!read(epoll->wake_fd, &count, sizeof count);
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
    if (epoll->done_first == NULL)
        epoll->done_last = &epoll->done_first;
    return n;
}

static int
wait_edges(epoll_io *epoll, sennit_time until)
{
    struct epoll_event events[WAIT_EVENTS];
    int n;

    if (epoll->deaf)
        return 0;
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

static void
epoll_wake(sni_io *io)
{
    uint64_t one = 1;

    (void)!write(epoll_of(io)->wake_fd, &one, sizeof one);
}

/* SplitMix64, seeded by the kernel: jitter needs spread, not secrecy. */
static uint64_t
epoll_random(sni_io *io)
{
    uint64_t z = epoll_of(io)->random_state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
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

    sni_block_unref(epoll->spare);
    close(epoll->wake_fd);
    close(epoll->epoll_fd);
    sni_release(io->alloc, epoll);
}

static const sni_io_ops epoll_ops = {
    .name = "epoll",
    .listen = epoll_listen,
    .dial = epoll_dial,
    .close = epoll_close,
    .submit = epoll_submit,
    .cancel = epoll_cancel,
    .retract = epoll_retract,
    .finish = epoll_finish,
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
    epoll->io = (sni_io){ &epoll_ops, alloc, recv_blocks };
    epoll->done_last = &epoll->done_first;
    epoll->pid = getpid();
    epoll->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (epoll->epoll_fd < 0) {
        err = err_of_errno(errno);
        goto fail_epoll;
    }
    epoll->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (epoll->wake_fd < 0 ||
        epoll_ctl(epoll->epoll_fd, EPOLL_CTL_ADD, epoll->wake_fd, &event) != 0) {
        err = err_of_errno(errno);
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
