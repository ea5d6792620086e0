/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_IO_BELL_H
#define SENNIT_IO_BELL_H

#include "sennit/sennit.h"

/* A descriptor that is readable from the moment that any thread rings until it is
 * silenced (eventfd(2)). */

/* Errors: EMFILE, ENOMEM. */
sennit_err sni_bell_open(int *fd);

/* Closes a bell, or what io/alarm.h opens. */
void sni_fd_close(int fd);

/* Thread: any. */
void sni_bell_ring(int fd);
void sni_bell_silence(int fd);

#endif /* SENNIT_IO_BELL_H */
