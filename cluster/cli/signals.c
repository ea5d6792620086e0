/* SPDX-License-Identifier: MIT */
#include "signals.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

#include "usage.h"

int
cli_open_signals(const char *command, const int *signals, size_t count)
{
    sigset_t set;
    int fd;

    sigemptyset(&set);
    for (size_t i = 0; i < count; i++)
        sigaddset(&set, signals[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        cli_say("%s: signalfd: %s", command, strerror(errno));
    return fd;
}
