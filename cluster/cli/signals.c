/* SPDX-License-Identifier: MIT */
#include "signals.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>

#include "command.h"
#include "usage.h"

int
cli_open_signals(const char *command, const int *signals, size_t count)
{
    struct sigaction now;
    sigset_t set;
    int fd;

    sigemptyset(&set);
    for (size_t i = 0; i < count; i++)
        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaddset(&set, signals[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        cli_say("%s: signalfd: %s", command, strerror(errno));
    return fd;
}

int
cli_end_by_signal(int number)
{
    sigset_t set;

    fflush(NULL);
    sigemptyset(&set);
    sigaddset(&set, number);
    signal(number, SIG_DFL);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    return CLI_SIGNAL + number;
}
