/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_TEST_RPC_RIG_H
#define SENNIT_TEST_RPC_RIG_H

#include "sennit/rpc.h"

/* What the bus suites share: a loop to turn, outcomes that are kept, and a consumer
 * that does what it is told. */

/* A loop and a bus in it, as *state of a test. */
typedef struct rig_place {
    sennit_loop *loop;
    sennit_bus *bus;
} rig_place;

int rig_open_place(void **state);
int rig_close_place(void **state);

#define RIG_PLACE_TEST(test)                                                             \
    cmocka_unit_test_setup_teardown(test, rig_open_place, rig_close_place)

/* Turns `loop` until `done(arg)`; fails the test when that takes ten seconds. */
void rig_turn_until(sennit_loop *loop, bool (*done)(void *arg), void *arg);

/* Turns it for everything that is due now, several times over. */
void rig_settle(sennit_loop *loop);

sennit_bytes rig_bytes(const char *text);

/* The outcome of one request. */
typedef struct outcome {
    unsigned count; /* of callbacks: must become 1 and stay it */
    bool ok;
    char body[64]; /* as text */
    size_t body_size;
    sennit_error error; /* its detail is in `body` */
} outcome;

void outcome_keep(sennit_bytes body, const sennit_error *error, void *arg);

/* Starts a request; the call must be accepted. */
sennit_call rig_request(sennit_bus *bus, const char *address, const char *body,
                        int timeout_ms, outcome *out);

/* Turns the loop until `out` is there. */
void rig_wait(sennit_loop *loop, outcome *out);

/* Checks one that failed. */
void assert_failed(const outcome *out, sennit_kind kind, sennit_ran ran);
void assert_answered(const outcome *out, const char *body);

typedef enum worker_task {
    WORKER_ECHO,   /* answers with the body */
    WORKER_KEEP,   /* keeps the reply in `kept` */
    WORKER_NOTHING /* returns */
} worker_task;

typedef struct test_worker {
    worker_task task;
    unsigned runs;
    sennit_reply kept;
    char last[64]; /* the last body, as text */
    char address[SENNIT_ADDRESS_MAX + 1];
    sennit_time remaining;
    bool cancelled;
    uint8_t node[SENNIT_NODE_ID_SIZE]; /* zero for a guest */
    sennit_err reply_err;
} test_worker;

void worker_run(sennit_ctx *ctx, sennit_bytes body, void *arg);

sennit_consumer *rig_consume(sennit_bus *bus, const char *address, test_worker *worker);

sennit_bus_stats rig_stats(const sennit_bus *bus);

#endif /* SENNIT_TEST_RPC_RIG_H */
