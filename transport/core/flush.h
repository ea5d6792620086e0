/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CORE_FLUSH_H
#define SENNIT_CORE_FLUSH_H

#include "core/sock.h"

/* Hands what connections have gathered to the kernel: of `sock`, or NULL: of all of the
 * loop. Many at once where the backend can do that, and else each for itself. `fairly`:
 * a connection stops where others should have a turn, and goes on in the next. */
void sni_flush(sennit_loop *loop, const sennit_sock *sock, bool fairly);

#endif /* SENNIT_CORE_FLUSH_H */
