/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_TEST_SIM_WORLD_H
#define SENNIT_TEST_SIM_WORLD_H

#include "core/loop.h"
#include "fail_alloc.h"
#include "io/sim.h"

#define TEST_LOOPS_MAX 4

#define TEST_MS UINT64_C(1000000)
#define TEST_S  UINT64_C(1000000000)

/* Some loops in one simulated world, on one thread and one virtual clock. Each has
 * an allocator of its own. */
typedef struct test_world {
    sni_sim *sim;
    test_alloc allocs[TEST_LOOPS_MAX];
    sennit_loop *loops[TEST_LOOPS_MAX]; /* NULL: not open, or closed */
    size_t count;
} test_world;

void test_world_open(test_world *world, const sni_sim_opts *opts, size_t loops);

/* Opens one more loop; NULL when its allocator has no memory for it. */
sennit_loop *test_world_add(test_world *world, size_t place);

/* Closes the loops that are still open, in order, and checks that nothing is live. */
void test_world_close(test_world *world);

/* Everybody runs until `ns` of virtual time are over. */
void test_world_run(test_world *world, sennit_time ns);

/* The same until `condition(arg)` holds; false when it never did. */
bool test_world_run_until(test_world *world, bool (*condition)(void *arg), void *arg,
                          sennit_time limit_ns);

/* ---- sockets in it ----------------------------------------------------- */

/* No linger, and room for all the events of a story. */
sennit_sock_opts test_world_opts(void);

sennit_sock *test_world_sock(test_world *world, size_t loop, sennit_sock_type type,
                             const sennit_sock_opts *opts);

/* Binds where the system likes; the endpoint is valid as long as the socket. */
const char *test_world_bind(sennit_sock *sock);

/* Conditions for test_world_run_until(): `arg` is a socket. */
bool test_world_connected(void *arg);
bool test_world_alone(void *arg);

/* ---- octets by hand ---------------------------------------------------- */

/* A peer without a loop. */
typedef struct test_raw {
    sni_io *io;
    sni_pool *blocks;
    sni_file *file;
    bool closed; /* the other end closed or reset it */
    uint8_t *received;
    size_t received_size;
    size_t received_capacity;
} test_raw;

/* Connects to `endpoint`; it must be accepted. */
void test_raw_connect(test_raw *raw, test_world *world, const char *endpoint);
void test_raw_send(test_raw *raw, test_world *world, const void *data, size_t size);

/* Sends the greeting and READY of a 3.1 peer ("": without an identity). */
void test_raw_handshake(test_raw *raw, test_world *world, sennit_sock_type type,
                        const char *identity);

/* Collects what arrives within `ns`. */
void test_raw_listen(test_raw *raw, test_world *world, sennit_time ns);
void test_raw_close(test_raw *raw);

#endif /* SENNIT_TEST_SIM_WORLD_H */
