/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_TEST_STAGE_H
#define SENNIT_TEST_STAGE_H

#include "ledger.h"

/* Where a story plays: some loops ("nodes") and the network between them. One
 * implementation is linked into a program: stage_sim.c or stage_real.c. */
typedef struct stage stage;

#define STAGE_NODES_MAX 4u
#define STAGE_SLOTS_MAX 8u

/* A place to meet. Its address stays, whoever binds there. */
typedef enum stage_transport { STAGE_TCP, STAGE_IPC, STAGE_INPROC } stage_transport;

/* `exact`: the ledger of this stage hears of every octet. */
extern const bool stage_exact;

/* How the network is, the stage decides by `seed`. */
stage *stage_open(ledger *books, uint64_t seed, size_t nodes);

/* Closes the loops and checks that nothing is left: memory, connections, files. */
void stage_close(stage *s);

sennit_loop *stage_loop(const stage *s, size_t node);
bool stage_paused(const stage *s, size_t node);

/* Where a socket binds for a slot, and where `sock` connects to it. */
const char *stage_bind_endpoint(stage *s, size_t slot, stage_transport transport);
const char *stage_connect_endpoint(stage *s, size_t slot, stage_transport transport,
                                   const sennit_sock *sock);
void stage_bound(stage *s, size_t slot, const sennit_sock *sock);
void stage_unbound(stage *s, size_t slot);

/* Lets everybody go on for a while. */
void stage_run(stage *s, uint64_t ns);

/* The process of a node stops and goes on, or dies; a fresh one takes its place. */
void stage_pause(stage *s, size_t node, bool paused);
void stage_kill(stage *s, size_t node);

/* One connection is cut (chosen by `which`), or all; nothing arrives for `ns`. */
void stage_cut(stage *s, uint32_t which);
void stage_cut_all(stage *s);
void stage_hold(stage *s, uint64_t ns);

/* Bad luck from now on, `level` 0 (none) .. 3. */
void stage_trouble(stage *s, unsigned level);

/* What is left of closed sockets; "" when nothing is. */
const char *stage_leftover(stage *s);

#endif /* SENNIT_TEST_STAGE_H */
