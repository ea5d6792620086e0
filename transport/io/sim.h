/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_IO_SIM_H
#define SENNIT_IO_SIM_H

#include "io/io.h"

/* The third backend, for tests only: a world in memory with a clock that is a
 * variable, a network, and faults that come from one seed. Any number of loops may
 * live in one world, all on one thread; a world with the same seed and the same
 * calls runs the same way on every machine.
 *
 * Time stands still while anybody can move. A loop that has to wait first lets the
 * others in its world run (sni_sim_others), then the clock jumps to the next thing
 * that happens. When nothing will ever happen again the world is stuck, which is a
 * deadlock in what is tested: it says so and aborts. */
typedef struct sni_sim sni_sim;

/* What may go wrong, by name. Each is drawn where it can happen, with its own
 * probability, and counted. */
#define SNI_SIM_FAULT_TABLE(X)                                                           \
    X(SHORT_RECV, "a receive gives less than there is")                                  \
    X(SHORT_SEND, "a send takes less than there is room for")                            \
    X(LATE, "an operation that could be done at once is done later")                     \
    X(REFUSE, "a connect is refused although somebody listens")                          \
    X(RESET, "a connection is reset under an operation")                                 \
    X(ACCEPT_EMFILE, "no descriptor for an accept")                                      \
    X(DIAL_EMFILE, "no descriptor for a connect")                                        \
    X(DONE_ANYWAY, "a cancelled operation had just been done")                           \
    X(INTERRUPT, "a signal ends a wait")                                                 \
    X(SPURIOUS, "a wait ends for no reason")

typedef enum sni_sim_fault {
#define X(name, text) SNI_SIM_##name,
    SNI_SIM_FAULT_TABLE(X)
#undef X
        SNI_SIM_FAULTS_COUNT
} sni_sim_fault;

typedef struct sni_sim_opts {
    uint64_t seed;
    sennit_time latency_min; /* ns from a send to its arrival, drawn each time; order */
    sennit_time latency_max; /* is kept within a connection */
    size_t buffer_bytes;     /* under way and unread in one direction; then sends wait */
    unsigned backlog_max;    /* connections not yet accepted; then connects are refused */
    unsigned files_max;      /* open at a time in one loop; then EMFILE. 0: no limit */
    uint32_t faults_ppm[SNI_SIM_FAULTS_COUNT]; /* parts per million */
} sni_sim_opts;

#define SNI_SIM_OPTS_DEFAULT                                                             \
    {                                                                                    \
        .seed = 1, .latency_min = 20000, .latency_max = 200000,                          \
        .buffer_bytes = 256u * 1024u, .backlog_max = 128                                 \
    }

/* Aborts when there is no memory: a world is a test's, not a program's. */
sni_sim *sni_sim_new(const sni_sim_opts *opts);

/* All its backends are gone before. Aborts if a file was left open. */
void sni_sim_free(sni_sim *sim);

/* A backend in this world. Errors: ENOMEM. */
sennit_err sni_io_sim_open(sni_io **out, const sennit_allocator *alloc,
                           sni_pool *recv_blocks, sni_sim *sim);

/* How a waiting loop lets the others go on: `run` gives each its turn, `next` tells
 * when the earliest of their timers is due. */
typedef struct sni_sim_others {
    void (*run)(void *arg);
    sennit_time (*next)(void *arg);
    void *arg;
} sni_sim_others;
void sni_sim_set_others(sni_sim *sim, const sni_sim_others *others);

/* Answers look-ups, on the thread of whoever runs the world; without it no host is
 * known. `names` is copied. */
void sni_sim_set_names(sni_sim *sim, const sennit_resolver *names);

sennit_time sni_sim_now(const sni_sim *sim);

/* Lets time pass without anybody moving. */
void sni_sim_advance(sni_sim *sim, sennit_time by);

/* When the next arrival or late completion is due, or SENNIT_NEVER. */
sennit_time sni_sim_next(const sni_sim *sim);

/* Goes up whenever an operation is submitted or comes back. */
uint64_t sni_sim_activity(const sni_sim *sim);

/* Changes a probability, and tells how often the fault has happened. */
void sni_sim_set_fault(sni_sim *sim, sni_sim_fault fault, uint32_t ppm);
uint64_t sni_sim_fault_hits(const sni_sim *sim, sni_sim_fault fault);

/* The cable is pulled: every connection there is now is reset. */
void sni_sim_reset_all(sni_sim *sim);

/* The same for one connection, by its number (1 ..); no-op when it is gone. */
void sni_sim_reset_one(sni_sim *sim, uint32_t connection);

/* How many connections there have been. */
uint32_t sni_sim_connections_made(const sni_sim *sim);

/* The network holds its breath: nothing arrives before `until`. */
void sni_sim_hold(sni_sim *sim, sennit_time until);

/* The process behind `io` dies: its peers see what a kernel that cleans up makes them
 * see, and its loop can do nothing more than close. */
void sni_sim_kill(sni_io *io);

/* Looks on as octets pass, for a model that stands beside the sockets: `op` is a SEND
 * or RECV that has just moved `op->size` octets, before its submitter knows. `side` is
 * 0 at the end that connected. */
typedef struct sni_sim_tap {
    void (*passed)(void *arg, uint32_t connection, unsigned side, const sni_op *op);
    void *arg;
} sni_sim_tap;
void sni_sim_set_tap(sni_sim *sim, const sni_sim_tap *tap);

/* Connections that both ends still hold open. */
unsigned sni_sim_connections(const sni_sim *sim);

#endif /* SENNIT_IO_SIM_H */
