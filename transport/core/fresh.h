/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CORE_FRESH_H
#define SENNIT_CORE_FRESH_H

#include "core/pipe.h"

/* What makes messages stale: a newer one (conflate) and time (send_age_max_ms). Each is
 * counted when it is dropped. */

/* The pipe is new, or the socket's options have changed. */
void sni_fresh_begin(sni_pipe *pipe);

/* Before a push into the outq of a pipe that is `particular`. */
void sni_fresh_prepare(sni_pipe *pipe);

/* After a push or a write: something waits, or other things than before. A timer runs
 * only while there is something that can become too old. */
void sni_fresh_watch(sni_pipe *pipe);

/* conflate: moves what the connection has received to the inq and keeps only the newest
 * message. Not while the application is in the middle of one. */
void sni_fresh_input(sni_pipe *pipe);

#endif /* SENNIT_CORE_FRESH_H */
