/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_TEST_KERNEL_CALLS_H
#define SENNIT_TEST_KERNEL_CALLS_H

/* Counts the calls that the objects of a test program make to the kernel, by name. The
 * linker puts this in the place of the real ones (--wrap, see kernel_calls() in
 * CMakeLists.txt), so it does not matter which layer calls, and nothing is changed in the
 * library. Clocks are no calls to the kernel. Thread: one. */
#define KERNEL_CALLS(X)                                                                  \
    X(accept4)                                                                           \
    X(bind)                                                                              \
    X(close)                                                                             \
    X(connect)                                                                           \
    X(epoll_create1)                                                                     \
    X(epoll_ctl)                                                                         \
    X(epoll_wait)                                                                        \
    X(eventfd)                                                                           \
    X(getpeername)                                                                       \
    X(getsockname)                                                                       \
    X(getsockopt)                                                                        \
    X(io_uring_submit_and_get_events)                                                    \
    X(io_uring_submit_and_wait_timeout)                                                  \
    X(ioctl)                                                                             \
    X(listen)                                                                            \
    X(read)                                                                              \
    X(recv)                                                                              \
    X(sendmsg)                                                                           \
    X(setsockopt)                                                                        \
    X(shutdown)                                                                          \
    X(socket)                                                                            \
    X(write)

typedef struct kernel_calls {
#define X(name) unsigned name;
    KERNEL_CALLS(X)
#undef X
} kernel_calls;

/* So far; set it to { 0 } to begin anew. */
extern kernel_calls kernel;

/* Moves what was counted to `sum`. */
void kernel_calls_move(kernel_calls *sum);

/* "2 recv, 1 sendmsg", of `count` times that; a number that is no multiple of it is
 * marked with a ?. Valid until the next call. */
const char *kernel_calls_each(const kernel_calls *calls, unsigned count);

#endif /* SENNIT_TEST_KERNEL_CALLS_H */
