/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_TEST_RELAY_H
#define SENNIT_TEST_RELAY_H

#include "sennit_test.h"

#include <stdbool.h>

/* A network in the middle: a TCP pass-through on a thread of its own, which can reset
 * what goes through it, or hold it up. */
typedef struct relay relay;

/* Listens on a free port of 127.0.0.1 and passes each connection on to `target`
 * ("tcp://127.0.0.1:PORT"). */
relay *relay_open(const char *target);
void relay_close(relay *r);

/* Where to connect to; valid while the relay is open. */
const char *relay_endpoint(const relay *r);

/* Resets every connection that goes through it now. Returns when that is done. */
void relay_cut(relay *r);

/* While it stands still no byte passes and nothing is accepted. Returns when it does. */
void relay_stall(relay *r, bool still);

/* Connections accepted, and bytes passed towards the target, so far. */
unsigned relay_accepted(const relay *r);
unsigned long relay_bytes(const relay *r);

#endif /* SENNIT_TEST_RELAY_H */
