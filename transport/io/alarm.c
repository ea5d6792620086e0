/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

#include "io/alarm.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "io/stream.h"

sennit_err
sni_alarm_open(int *fd)
{
    *fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    return *fd >= 0 ? SENNIT_OK : sni_err_of_errno(errno);
}

void
sni_alarm_set(int fd, sennit_time at)
{
    struct itimerspec spec = { .it_value = { 0, 0 } }; /* which disarms it */

    if (at != SENNIT_NEVER) {
        spec.it_value.tv_sec = (time_t)(at / 1000000000u);
        spec.it_value.tv_nsec = (long)(at % 1000000000u);
        if (at == 0)
            spec.it_value.tv_nsec = 1;
    }
    (void)timerfd_settime(fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

sennit_err
sni_any_open(int *fd, const int *of, size_t count)
{
    sennit_err err = SENNIT_OK;

    *fd = epoll_create1(EPOLL_CLOEXEC);
    if (*fd < 0)
        return sni_err_of_errno(errno);
    for (size_t i = 0; i < count && err == SENNIT_OK; i++) {
        struct epoll_event event = { .events = EPOLLIN };

        if (epoll_ctl(*fd, EPOLL_CTL_ADD, of[i], &event) != 0)
            err = sni_err_of_errno(errno);
    }
    if (err)
        close(*fd);
    return err;
}
