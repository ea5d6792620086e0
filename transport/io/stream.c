/* SPDX-License-Identifier: MIT */
/* One function, prepare(), sets the options of every stream on every path: listening,
 * accepted and dialled. What the user asked for and the kernel refuses is an error that
 * names the option; TCP_NODELAY is always asked for. */
#define _GNU_SOURCE

#include "io/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/limits.h"
#include "io/ipc_path.h"

typedef struct os_address {
    union {
        struct sockaddr any;
        struct sockaddr_in in4;
        struct sockaddr_in6 in6;
        struct sockaddr_un un;
    } u;
    socklen_t size;
} os_address;

sennit_err
sni_err_of_errno(int error)
{
    switch (error) {
    case 0:
        return SENNIT_OK;
    case ENOMEM:
    case ENOBUFS:
        return SENNIT_ENOMEM;
    case EINVAL:
        return SENNIT_EINVAL;
    case ENODEV:
        return SENNIT_ENODEV;
    case ENOPROTOOPT:
        return SENNIT_ENOTSUP;
    case EEXIST:
        return SENNIT_EEXIST;
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

/* ---- addresses --------------------------------------------------------- */

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

/* The 4 of an IPv4 address that came through a socket of both families. */
static const uint8_t mapped_prefix[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

static void
from_unix(const os_address *os, sni_address *out)
{
    const char *path = os->u.un.sun_path;
    size_t size;

    out->kind = SNI_ADDRESS_IPC;
    if (os->size <= offsetof(struct sockaddr_un, sun_path))
        return; /* without a name */
    size = os->size - offsetof(struct sockaddr_un, sun_path);
    out->abstract = path[0] == '\0';
    if (out->abstract) {
        path++;
        size--;
    } else {
        size = strnlen(path, size);
    }
    if (size > SNI_IPC_PATH_MAX)
        size = SNI_IPC_PATH_MAX;
    memcpy(out->path, path, size);
    out->path_size = (uint8_t)size;
}

static void
from_os(const os_address *os, sni_address *out)
{
    memset(out, 0, sizeof *out);
    switch (os->u.any.sa_family) {
    case AF_INET:
        out->kind = SNI_ADDRESS_TCP4;
        out->port = ntohs(os->u.in4.sin_port);
        memcpy(out->ip, &os->u.in4.sin_addr, 4);
        break;
    case AF_INET6:
        out->port = ntohs(os->u.in6.sin6_port);
        if (memcmp(&os->u.in6.sin6_addr, mapped_prefix, sizeof mapped_prefix) == 0) {
            out->kind = SNI_ADDRESS_TCP4;
            memcpy(out->ip, (const uint8_t *)&os->u.in6.sin6_addr + 12, 4);
            break;
        }
        out->kind = SNI_ADDRESS_TCP6;
        out->scope = os->u.in6.sin6_scope_id;
        memcpy(out->ip, &os->u.in6.sin6_addr, 16);
        break;
    default:
        from_unix(os, out);
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

/* ---- options ----------------------------------------------------------- */

typedef struct option_row {
    bool asked;
    int level;
    int name;
    int value;
    const char *failed;
} option_row;

static sennit_err
set_rows(int fd, const option_row *rows, size_t count, const char **why)
{
    for (size_t i = 0; i < count; i++) {
        if (!rows[i].asked || setsockopt(fd, rows[i].level, rows[i].name, &rows[i].value,
                                         sizeof rows[i].value) == 0)
            continue;
        *why = rows[i].failed;
        return sni_err_of_errno(errno);
    }
    return SENNIT_OK;
}

static sennit_err
set_asked(int fd, bool v6, const sennit_sock_opts *opts, const char **why)
{
    bool alive = opts->tcp_keepalive == 1;
    /* Setting the type of service sets the priority as well, so that comes behind. */
    const option_row rows[] = {
        { opts->tcp_keepalive >= 0, SOL_SOCKET, SO_KEEPALIVE, opts->tcp_keepalive,
          "tcp_keepalive was refused by the system" },
        { alive && opts->tcp_keepalive_count >= 0, IPPROTO_TCP, TCP_KEEPCNT,
          opts->tcp_keepalive_count, "tcp_keepalive_count was refused by the system" },
        { alive && opts->tcp_keepalive_idle_s >= 0, IPPROTO_TCP, TCP_KEEPIDLE,
          opts->tcp_keepalive_idle_s, "tcp_keepalive_idle_s was refused by the system" },
        { alive && opts->tcp_keepalive_interval_s >= 0, IPPROTO_TCP, TCP_KEEPINTVL,
          opts->tcp_keepalive_interval_s,
          "tcp_keepalive_interval_s was refused by the system" },
        { opts->tcp_user_timeout_ms > 0, IPPROTO_TCP, TCP_USER_TIMEOUT,
          opts->tcp_user_timeout_ms, "tcp_user_timeout_ms was refused by the system" },
        { opts->kernel_send_bytes >= 0, SOL_SOCKET, SO_SNDBUF, opts->kernel_send_bytes,
          "kernel_send_bytes was refused by the system" },
        { opts->kernel_recv_bytes >= 0, SOL_SOCKET, SO_RCVBUF, opts->kernel_recv_bytes,
          "kernel_recv_bytes was refused by the system" },
        { opts->tos >= 0, IPPROTO_IP, IP_TOS, opts->tos,
          "tos was refused by the system" },
        { opts->tos >= 0 && v6, IPPROTO_IPV6, IPV6_TCLASS, opts->tos,
          "tos was refused by the system" },
        { opts->priority >= 0, SOL_SOCKET, SO_PRIORITY, opts->priority,
          "priority was refused by the system" },
        { opts->busy_poll_us >= 0, SOL_SOCKET, SO_BUSY_POLL, opts->busy_poll_us,
          "busy_poll_us was refused by the system" },
    };

    return set_rows(fd, rows, sizeof rows / sizeof rows[0], why);
}

static sennit_err
prepare(int fd, const sni_address *address, const sennit_sock_opts *opts,
        const char **why)
{
    const option_row nodelay = { true, IPPROTO_TCP, TCP_NODELAY, 1,
                                 "TCP_NODELAY was refused by the system" };
    sennit_err err;

    if (address->kind == SNI_ADDRESS_IPC)
        return SENNIT_OK;
    err = set_rows(fd, &nodelay, 1, why);
    if (err == SENNIT_OK && opts != NULL)
        err = set_asked(fd, address->kind == SNI_ADDRESS_TCP6, opts, why);
    return err;
}

/* Not for accepted connections: they came through it. */
static sennit_err
bind_device(int fd, const sni_address *address, const sennit_sock_opts *opts,
            const char **why)
{
    if (address->kind == SNI_ADDRESS_IPC || opts == NULL || opts->bind_device == NULL)
        return SENNIT_OK;
    if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, opts->bind_device,
                   (socklen_t)strlen(opts->bind_device) + 1) == 0)
        return SENNIT_OK;
    *why = "bind_device was refused by the system";
    return sni_err_of_errno(errno);
}

/* ---- listening --------------------------------------------------------- */

static sennit_err
reuse_port(int fd, const sennit_sock_opts *opts, const char **why)
{
#ifdef SO_REUSEPORT
    const option_row reuse = { opts->tcp_reuse_port, SOL_SOCKET, SO_REUSEPORT, 1,
                               "tcp_reuse_port was refused by the system" };

    return set_rows(fd, &reuse, 1, why);
#else
    (void)fd;
    if (!opts->tcp_reuse_port)
        return SENNIT_OK;
    *why = "tcp_reuse_port is nothing this system has: bind in one loop only";
    return SENNIT_ENOTSUP;
#endif
}

static sennit_err
bind_tcp(int fd, const sni_address *address)
{
    int only6 = !address->dual;
    int on = 1;
    os_address os;

    to_os(address, &os);
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        (address->kind == SNI_ADDRESS_TCP6 &&
         setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only6, sizeof only6) != 0) ||
        bind(fd, &os.u.any, os.size) != 0)
        return sni_err_of_errno(errno);
    return SENNIT_OK;
}

static sennit_err
listen_tcp(sni_listening *out, const sennit_sock_opts *opts, const char **why)
{
    os_address os = { .size = sizeof os.u };
    sennit_err err = prepare(out->fd, &out->address, opts, why);

    if (err == SENNIT_OK)
        err = bind_device(out->fd, &out->address, opts, why);
    if (err == SENNIT_OK)
        err = reuse_port(out->fd, opts, why);
    if (err == SENNIT_OK)
        err = bind_tcp(out->fd, &out->address);
    if (err)
        return err;
    if (listen(out->fd, opts->backlog) != 0 ||
        getsockname(out->fd, &os.u.any, &os.size) != 0)
        return sni_err_of_errno(errno);
    from_os(&os, &out->address);
    return SENNIT_OK;
}

static sennit_err
listen_abstract(sni_listening *out, const sennit_sock_opts *opts)
{
    os_address os;

    to_os(&out->address, &os);
    if (bind(out->fd, &os.u.any, os.size) != 0 || listen(out->fd, opts->backlog) != 0)
        return sni_err_of_errno(errno);
    return SENNIT_OK;
}

static sennit_err
listen_path(sni_listening *out, const sennit_sock_opts *opts, const char **why)
{
    struct stat st;
    os_address os;
    int base;
    sennit_err err = SENNIT_OK;

    if (out->address.wildcard)
        err =
            sni_ipc_path_make(out->address.path, &out->address.path_size, opts->ipc_mode);
    if (err)
        return err;
    to_os(&out->address, &os);
    base = sni_ipc_path_base(out->address.path);
    if (base == -1) {
        err = sni_err_of_errno(errno);
        goto fail_path;
    }
    err = sni_ipc_path_listen(out->fd, out->address.path, &os.u.any, os.size,
                              opts->ipc_mode, opts->backlog, &st, why);
    if (err)
        goto fail_base;
    out->owns_path = true;
    out->base = base;
    out->dev = st.st_dev;
    out->ino = st.st_ino;
    return SENNIT_OK;

fail_base:
    sni_ipc_path_base_close(base);
fail_path:
    if (out->address.wildcard)
        sni_ipc_path_unmake(out->address.path);
    return err;
}

static sennit_err
listen_at(sni_listening *out, const sni_address *address, const sennit_sock_opts *opts,
          const char **why)
{
    sennit_err err;

    *out = (sni_listening){ .fd = open_stream(address), .address = *address };
    if (out->fd < 0)
        return sni_err_of_errno(errno);
    if (address->kind != SNI_ADDRESS_IPC)
        err = listen_tcp(out, opts, why);
    else if (address->abstract)
        err = listen_abstract(out, opts);
    else
        err = listen_path(out, opts, why);
    if (err)
        close(out->fd);
    return err;
}

sennit_err
sni_stream_listen(sni_listening *out, const sni_address *wanted,
                  const sennit_sock_opts *opts, const char **why)
{
    sni_address ipv4 = { .kind = SNI_ADDRESS_TCP4, .port = wanted->port };
    sennit_err err = listen_at(out, wanted, opts, why);

    /* No IPv6 here, or none that is up: every address is every IPv4 one. */
    if (wanted->dual && err == SENNIT_EADDRNOTAVAIL)
        err = listen_at(out, &ipv4, opts, why);
    return err;
}

sennit_err
sni_stream_adopt(sni_listening *out, int fd, const char **why)
{
    os_address os = { .size = sizeof os.u };
    int listening = 0;
    int type = 0;
    socklen_t size = sizeof listening;
    int flags = fcntl(fd, F_GETFL);
    int fd_flags = fcntl(fd, F_GETFD);

    *why = "fd is not a listening tcp or ipc socket";
    if (flags < 0 || fd_flags < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM ||
        getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) != 0 || !listening ||
        getsockname(fd, &os.u.any, &os.size) != 0)
        return SENNIT_EINVAL;
    if (os.u.any.sa_family != AF_INET && os.u.any.sa_family != AF_INET6 &&
        os.u.any.sa_family != AF_UNIX)
        return SENNIT_EINVAL;
    *why = NULL;
    if (fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
        fcntl(fd, F_SETFD, fd_flags | FD_CLOEXEC) != 0)
        return sni_err_of_errno(errno);
    *out = (sni_listening){ .fd = fd, .adopted = true };
    from_os(&os, &out->address);
    return SENNIT_OK;
}

void
sni_stream_unlisten(sni_listening *listening, bool shared)
{
    /* Before the close: as long as it is open its file's number goes to no other. */
    if (listening->owns_path && !shared)
        sni_ipc_path_remove(listening->base, listening->address.path, listening->dev,
                            listening->ino);
    if (listening->owns_path && !shared && listening->address.wildcard)
        sni_ipc_path_unmake(listening->address.path);
    if (listening->owns_path)
        sni_ipc_path_base_close(listening->base);
    sni_stream_close(listening->fd, shared || listening->adopted);
}

void
sni_stream_close(int fd, bool shared)
{
    if (!shared)
        (void)shutdown(fd, SHUT_RDWR);
    close(fd);
}

/* What accept(2) may report of a connection that is gone already, and what must
 * not end the accepting (accept(2), "Error handling"). */
bool
sni_stream_accept_goes_on(int error)
{
    return error == ECONNABORTED || error == EINTR || error == EPROTO ||
           error == ENETDOWN || error == ENOPROTOOPT || error == EHOSTDOWN ||
           error == ENONET || error == EHOSTUNREACH || error == EOPNOTSUPP ||
           error == ENETUNREACH;
}

/* Sets what is asked for and tells whose it is. */
static sennit_err
welcome(int fd, const os_address *os, const sennit_sock_opts *opts, sni_address *peer,
        const char **why)
{
    const sni_address six = { .kind = SNI_ADDRESS_TCP6 };

    from_os(os, peer);
    /* A client on its own unix socket has a name nobody asks for. */
    if (peer->kind == SNI_ADDRESS_IPC)
        *peer = (sni_address){ .kind = SNI_ADDRESS_IPC };
    /* What the socket is, not whom it is for: IPv4 may come through IPv6. */
    return prepare(fd, os->u.any.sa_family == AF_INET6 ? &six : peer, opts, why);
}

sennit_err
sni_stream_accept(int *out, int listener, const sennit_sock_opts *opts, sni_address *peer,
                  const char **why)
{
    os_address os;
    sennit_err err;
    int fd;

    do {
        os.size = sizeof os.u;
        fd = accept4(listener, &os.u.any, &os.size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    } while (fd < 0 && sni_stream_accept_goes_on(errno));
    if (fd < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK ? SENNIT_EAGAIN
                                                       : sni_err_of_errno(errno);
    err = welcome(fd, &os, opts, peer, why);
    if (err)
        close(fd);
    else
        *out = fd;
    return err;
}

sennit_err
sni_stream_accepted(int fd, const sennit_sock_opts *opts, sni_address *peer,
                    const char **why)
{
    os_address os = { .size = sizeof os.u };

    if (peer->kind == SNI_ADDRESS_IPC)
        os.u.any.sa_family = AF_UNIX;
    else if (getpeername(fd, &os.u.any, &os.size) != 0)
        return errno == ENOTCONN ? SENNIT_EAGAIN : sni_err_of_errno(errno);
    return welcome(fd, &os, opts, peer, why);
}

/* ---- connecting -------------------------------------------------------- */

static sennit_err
bind_source(int fd, const sni_address *address, const sni_address *source,
            const char **why)
{
    int on = 1;
    os_address os;

    if (source == NULL)
        return SENNIT_OK;
    *why = "the source address and the host's are not of one family";
    if (address->kind != source->kind)
        return SENNIT_EADDRNOTAVAIL;
    *why = "the source address is not available";
    to_os(source, &os);
    /* Without a port of our own it is chosen at connect, by both ends: the same port may
     * then serve for several peers. */
    if ((source->port == 0
             ? setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on)
             : setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on)) != 0 ||
        bind(fd, &os.u.any, os.size) != 0)
        return sni_err_of_errno(errno);
    *why = NULL;
    return SENNIT_OK;
}

sennit_err
sni_stream_dial(int *out, const sni_address *address, const sni_address *source,
                const sennit_sock_opts *opts, const char **why)
{
    int fd = open_stream(address);
    sennit_err err;

    if (fd < 0)
        return sni_err_of_errno(errno);
    err = prepare(fd, address, opts, why);
    if (err == SENNIT_OK)
        err = bind_device(fd, address, opts, why);
    if (err == SENNIT_OK)
        err = bind_source(fd, address, source, why);
    if (err)
        close(fd);
    else
        *out = fd;
    return err;
}

sennit_err
sni_stream_connect(int fd, const sni_address *address, bool *under_way)
{
    os_address os;

    to_os(address, &os);
    *under_way = false;
    if (connect(fd, &os.u.any, os.size) == 0)
        return SENNIT_OK;
    *under_way = errno == EINPROGRESS;
    if (*under_way)
        return SENNIT_OK;
    return errno == EAGAIN ? SENNIT_EAGAIN : sni_err_of_errno(errno);
}

sennit_err
sni_stream_connect_result(int fd)
{
    int error = 0;
    socklen_t size = sizeof error;

    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
        error = errno;
    return sni_err_of_errno(error);
}

bool
sni_stream_is_own(int fd)
{
    os_address here = { .size = sizeof here.u };
    os_address there = { .size = sizeof there.u };

    if (getsockname(fd, &here.u.any, &here.size) != 0 ||
        getpeername(fd, &there.u.any, &there.size) != 0 || here.size != there.size)
        return false;
    if (here.u.any.sa_family == AF_INET)
        return here.u.in4.sin_port == there.u.in4.sin_port &&
               here.u.in4.sin_addr.s_addr == there.u.in4.sin_addr.s_addr;
    return here.u.any.sa_family == AF_INET6 &&
           here.u.in6.sin6_port == there.u.in6.sin6_port &&
           memcmp(&here.u.in6.sin6_addr, &there.u.in6.sin6_addr,
                  sizeof here.u.in6.sin6_addr) == 0;
}

/* ---- octets ------------------------------------------------------------ */

sennit_err
sni_stream_recv(int fd, void *into, size_t room, size_t *size)
{
    ssize_t n;

    do {
        n = recv(fd, into, room, 0);
    } while (n < 0 && errno == EINTR);
    if (n >= 0)
        *size = (size_t)n;
    else if (errno == EAGAIN || errno == EWOULDBLOCK)
        return SENNIT_EAGAIN;
    return n < 0 ? sni_err_of_errno(errno) : SENNIT_OK;
}

sennit_err
sni_stream_send(int fd, const sennit_bytes *parts, size_t count, size_t *size)
{
    struct iovec vectors[SNI_SEND_PARTS];
    struct msghdr message = { .msg_iov = vectors, .msg_iovlen = count };
    ssize_t n;

    SNI_ASSERT(count <= SNI_SEND_PARTS);
    for (size_t i = 0; i < count; i++) {
        const void *data = parts[i].data;

        /* iovec has no const; sendmsg does not write. */
        memcpy(&vectors[i].iov_base, &data, sizeof data);
        vectors[i].iov_len = parts[i].size;
    }
    do {
        n = sendmsg(fd, &message, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    if (n >= 0)
        *size = (size_t)n;
    else if (errno == EAGAIN || errno == EWOULDBLOCK)
        return SENNIT_EAGAIN;
    return n < 0 ? sni_err_of_errno(errno) : SENNIT_OK;
}

bool
sni_stream_undelivered(int fd, const sni_remote *peer)
{
    int bytes = 0; /* not acknowledged */

    /* What is written to a unix socket is in its reader's queue at once. */
    return peer->kind != SNI_ADDRESS_IPC && ioctl(fd, SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

void
sni_stream_peer_name(int fd, const sni_remote *peer, sni_peer_name *out)
{
    struct ucred who;
    socklen_t size = sizeof who;

    *out = (sni_peer_name){
        .address = sni_remote_address(peer), .uid = -1, .gid = -1, .pid = -1
    };
    sni_address_peer_text(&out->address, out->text);
    if (peer->kind != SNI_ADDRESS_IPC)
        return;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0)
        return;
    out->uid = who.uid;
    out->gid = who.gid;
    out->pid = who.pid;
}

/* ---- interfaces -------------------------------------------------------- */

static bool
is_wanted(const struct ifaddrs *entry, const char *name, int family)
{
    return entry->ifa_addr != NULL && entry->ifa_addr->sa_family == family &&
           strcmp(entry->ifa_name, name) == 0;
}

static bool
find_address(const struct ifaddrs *all, const char *name, int family, sni_address *out)
{
    for (const struct ifaddrs *entry = all; entry != NULL; entry = entry->ifa_next) {
        os_address os = { .size = family == AF_INET ? sizeof os.u.in4 : sizeof os.u.in6 };

        if (!is_wanted(entry, name, family))
            continue;
        memcpy(&os.u, entry->ifa_addr, os.size);
        from_os(&os, out);
        return true;
    }
    return false;
}

sennit_err
sni_interface_address(const char *name, bool ipv4, bool ipv6, sni_address *out)
{
    struct ifaddrs *all;
    bool found;

    if (getifaddrs(&all) != 0)
        return sni_err_of_errno(errno);
    found = (ipv4 && find_address(all, name, AF_INET, out)) ||
            (ipv6 && find_address(all, name, AF_INET6, out));
    freeifaddrs(all);
    return found ? SENNIT_OK : SENNIT_ENODEV;
}

sennit_err
sni_interface_scope(const char *name, uint32_t *out)
{
    unsigned scope = if_nametoindex(name);

    if (scope == 0)
        return errno == ENODEV || errno == ENXIO ? SENNIT_ENODEV
                                                 : sni_err_of_errno(errno);
    *out = scope;
    return SENNIT_OK;
}
