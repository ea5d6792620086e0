/* SPDX-License-Identifier: MIT */
#include "io/bell.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "io/stream.h"

sennit_err
sni_bell_open(int *fd)
{
    *fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return *fd >= 0 ? SENNIT_OK : sni_err_of_errno(errno);
}

void
sni_fd_close(int fd)
{
    close(fd);
}

void
sni_bell_ring(int fd)
{
    uint64_t one = 1;

    (void)!write(fd, &one, sizeof one);
}

void
sni_bell_silence(int fd)
{
    uint64_t count;

    (void)!read(fd, &count, sizeof count);
}
