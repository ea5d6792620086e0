/* SPDX-License-Identifier: MIT */
#include "kernel_calls.h"

#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/types.h>

kernel_calls kernel;

void
kernel_calls_move(kernel_calls *sum)
{
#define X(name) sum->name += kernel.name;
    KERNEL_CALLS(X)
#undef X
    kernel = (kernel_calls){ 0 };
}

static size_t
add(char *text, size_t used, size_t size, unsigned calls, unsigned count,
    const char *name)
{
    if (calls == 0)
        return used;
    return used + (size_t)snprintf(text + used, size - used, "%s%u%s %s",
                                   used > 0 ? ", " : "", calls / count,
                                   calls % count == 0 ? "" : "?", name);
}

const char *
kernel_calls_each(const kernel_calls *calls, unsigned count)
{
    static char text[512];
    size_t used = 0;

    text[0] = '\0';
#define X(name) used = add(text, used, sizeof text, calls->name, count, #name);
    KERNEL_CALLS(X)
#undef X
    return text;
}

/* ---- what the linker puts in place of the names without __wrap_ ------ */

#define COUNTED(result, name, parameters, arguments)                                     \
    result __real_##name parameters;                                                     \
    result __wrap_##name parameters;                                                     \
    result __wrap_##name parameters                                                      \
    {                                                                                    \
        kernel.name++;                                                                   \
        return __real_##name arguments;                                                  \
    }

COUNTED(int, accept4, (int fd, struct sockaddr *address, socklen_t *size, int flags),
        (fd, address, size, flags))
COUNTED(int, bind, (int fd, const struct sockaddr *address, socklen_t size),
        (fd, address, size))
COUNTED(int, close, (int fd), (fd))
COUNTED(int, connect, (int fd, const struct sockaddr *address, socklen_t size),
        (fd, address, size))
COUNTED(int, epoll_create1, (int flags), (flags))
COUNTED(int, epoll_ctl, (int epoll, int operation, int fd, struct epoll_event *event),
        (epoll, operation, fd, event))
COUNTED(int, epoll_wait, (int epoll, struct epoll_event *events, int max, int timeout),
        (epoll, events, max, timeout))
COUNTED(int, eventfd, (unsigned initial, int flags), (initial, flags))
COUNTED(int, getpeername, (int fd, struct sockaddr *address, socklen_t *size),
        (fd, address, size))
COUNTED(int, getsockname, (int fd, struct sockaddr *address, socklen_t *size),
        (fd, address, size))
COUNTED(int, getsockopt, (int fd, int level, int name, void *value, socklen_t *size),
        (fd, level, name, value, size))
#ifdef SENNIT_WITH_URING
struct io_uring;
struct io_uring_cqe;
struct __kernel_timespec;
COUNTED(int, io_uring_submit_and_get_events, (struct io_uring * ring), (ring))
COUNTED(int, io_uring_submit_and_wait_timeout,
        (struct io_uring * ring, struct io_uring_cqe **first, unsigned count,
         struct __kernel_timespec *wait, sigset_t *signals),
        (ring, first, count, wait, signals))
#endif
COUNTED(int, ioctl, (int fd, unsigned long request, void *argument),
        (fd, request, argument))
COUNTED(int, listen, (int fd, int backlog), (fd, backlog))
COUNTED(ssize_t, read, (int fd, void *data, size_t size), (fd, data, size))
COUNTED(ssize_t, recv, (int fd, void *data, size_t size, int flags),
        (fd, data, size, flags))
COUNTED(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags),
        (fd, message, flags))
COUNTED(int, setsockopt, (int fd, int level, int name, const void *value, socklen_t size),
        (fd, level, name, value, size))
COUNTED(int, shutdown, (int fd, int how), (fd, how))
COUNTED(int, socket, (int domain, int type, int protocol), (domain, type, protocol))
COUNTED(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size))
