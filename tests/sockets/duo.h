/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_TEST_DUO_H
#define SENNIT_TEST_DUO_H

#include "net.h"

/* Two loops of one context, both driven by the test's thread, so that whatever is between
 * them happens in an order the test chooses. */
typedef struct duo {
    test_alloc shared; /* the context's */
    sennit_context *context;
    net a;
    net b;
} duo;

void duo_open(duo *d);

/* The same with these allocators, that may fail. */
sennit_err duo_try_open(duo *d);

/* Closes both loops and the context, and checks that all memory was given back. */
void duo_close(duo *d);

/* The same for what duo_try_open() left, and without the check. */
void duo_abandon(duo *d);

/* Turns both until nothing more can happen between them. */
void duo_settle(duo *d);

/* Turns both once; fails the test once `started` is DEADLINE_MS ago. */
void duo_turn(duo *d, sennit_time started, const char *awaited);

#define DUO_UNTIL(d, condition)                                                          \
    for (sennit_time started_ = sennit_loop_now((d)->a.loop); !(condition);)             \
    duo_turn(d, started_, #condition)

/* `binder` bound and `connecter` connected, both READY. Returns the endpoint. */
const char *duo_join(duo *d, sennit_sock *binder, sennit_sock *connecter);

/* The next message as text. */
const char *duo_recv(duo *d, sennit_sock *sock);

/* Sends until it would block, at most `most`; returns how often it did not. */
unsigned duo_fill(sennit_sock *sock, unsigned most);

#endif /* SENNIT_TEST_DUO_H */
