/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_IO_FENCE_H
#define SENNIT_IO_FENCE_H

#include <stdbool.h>

/* A full fence in all threads of the process at once, by membarrier(2): who waits rarely
 * makes it, so that those who write all the time need none. It interrupts the threads
 * that run, some microseconds each. */

/* Asks the kernel for it. False: it has none, or it is forbidden. Takes long (an RCU
 * grace period) the first time in a process, if that has several threads by then. */
bool sni_fence_prepare(void);

/* Before this returns, every other thread has passed a full fence since the call, and so
 * has the caller. False: not so. Thread: any. */
bool sni_fence_all(void);

#endif /* SENNIT_IO_FENCE_H */
