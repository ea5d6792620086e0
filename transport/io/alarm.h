/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_IO_ALARM_H
#define SENNIT_IO_ALARM_H

#include "sennit/sennit.h"

/* Descriptors for event loops that are not ours; sni_fd_close() of
 * io/bell.h ends them. */

/* A descriptor that is readable from a time on (timerfd_create(2)); not yet set.
 * Errors: EMFILE, ENOMEM. */
sennit_err sni_alarm_open(int *fd);

/* `at` is on the backends' monotonic clock: 0 is at once, SENNIT_NEVER not at all. */
void sni_alarm_set(int fd, sennit_time at);

/* A descriptor that is readable while any of those is (epoll_create(2)); they outlive it.
 * Errors: EMFILE, ENOMEM. */
sennit_err sni_any_open(int *fd, const int *of, size_t count);

#endif /* SENNIT_IO_ALARM_H */
