/* SPDX-License-Identifier: MIT */
/* How long the tail of a burst takes to leave a hosted loop when its sender calls nothing
 * any more: from the return of the last send to the last octet at a plain socket.
 *
 *   burst_tail [runs]     1000 when not given
 *
 * Prints TAIL <runs> <p50> <p90> <p99> <max> <late>, in us; `late`: runs beyond 1 ms.
 * Runs differ in their number of messages, 1 to 40, and begin at different times of the
 * loop's tick. */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "sennit/sennit.h"

enum { RUNS = 1000, RUNS_MAX = 100000, BURST_MAX = 40, BODY = 16 };

#define LATE_NS (UINT64_C(1000) * 1000u)
#define LOST_NS (UINT64_C(10) * 1000u * 1000u * 1000u)

typedef struct reader {
    int fd;
    _Atomic uint64_t octets;
    _Atomic uint64_t at; /* when the last of them came */
} reader;

static uint64_t
now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

static void
pause_ns(long ns)
{
    const struct timespec time = { 0, ns };

    nanosleep(&time, NULL);
}

static void
check(const char *what, sennit_err err)
{
    if (err == SENNIT_OK)
        return;
    fprintf(stderr, "burst_tail: %s: %s\n", what, sennit_err_text(err));
    exit(1);
}

static void *
read_all(void *arg)
{
    reader *self = arg;
    char octets[4096];
    ssize_t count;

    while ((count = recv(self->fd, octets, sizeof octets, 0)) > 0) {
        atomic_store(&self->at, now());
        atomic_fetch_add(&self->octets, (uint64_t)count);
    }
    return NULL;
}

/* A plain peer of a STREAM socket, and the name that its messages begin with. */
static void
meet(sennit_sock *stream, reader *peer, sennit_msg *name)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const char *path;
    sennit_msg notice;

    check("bind", sennit_sock_bind(stream, "ipc://*"));
    path = sennit_sock_last_endpoint(stream) + strlen("ipc://");
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    peer->fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (peer->fd < 0 || connect(peer->fd, (const void *)&address, sizeof address) != 0) {
        perror("burst_tail: connect");
        exit(1);
    }
    sennit_msg_init(name);
    sennit_msg_init(&notice);
    check("recv", sennit_sock_recv(stream, name, 0));
    check("recv", sennit_sock_recv(stream, &notice, 0));
    sennit_msg_fini(&notice);
}

static void
send_burst(sennit_sock *stream, const sennit_msg *name, unsigned messages)
{
    static const char body[BODY] = "fifteen octets.";

    for (unsigned i = 0; i < messages; i++) {
        sennit_msg to;

        sennit_msg_init(&to);
        sennit_msg_copy(&to, name);
        check("send", sennit_sock_send(stream, &to, SENNIT_MORE));
        check("send", sennit_sock_send_bytes(stream, body, sizeof body, 0));
    }
}

/* Nothing of the library is called meanwhile. Gives: how long it took, in ns. */
static uint64_t
await(const reader *peer, uint64_t octets)
{
    uint64_t began = now();
    uint64_t at;

    while (atomic_load(&peer->octets) < octets) {
        if (now() - began > LOST_NS) {
            fprintf(stderr, "burst_tail: a tail has not come within 10 s\n");
            exit(1);
        }
        pause_ns(20000);
    }
    at = atomic_load(&peer->at);
    return at > began ? at - began : 0;
}

static int
by_size(const void *a, const void *b)
{
    const uint64_t *left = a;
    const uint64_t *right = b;

    return (*left > *right) - (*left < *right);
}

static void
report(uint64_t *took, unsigned runs)
{
    unsigned late = 0;

    qsort(took, runs, sizeof *took, by_size);
    for (unsigned i = 0; i < runs; i++)
        late += took[i] > LATE_NS;
    printf("TAIL %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %u\n", runs,
           took[runs / 2] / 1000, took[runs * 9 / 10] / 1000,
           took[runs * 99 / 100] / 1000, took[runs - 1] / 1000, late);
}

int
main(int argc, char **argv)
{
    long asked = argc > 1 ? strtol(argv[1], NULL, 10) : RUNS;
    unsigned runs = asked > 0 && asked <= RUNS_MAX ? (unsigned)asked : RUNS;
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;
    uint64_t *took = calloc(runs, sizeof *took);
    reader peer = { .fd = -1 };
    sennit_loop *loop;
    sennit_sock *stream;
    sennit_msg name;
    uint64_t octets = 0;
    pthread_t thread;

    opts.hosted = true;
    if (took == NULL)
        return 1;
    check("open", sennit_loop_open(&loop, &opts));
    check("open", sennit_sock_open(&stream, loop, SENNIT_STREAM, NULL));
    meet(stream, &peer, &name);
    if (pthread_create(&thread, NULL, read_all, &peer) != 0)
        return 1;
    for (unsigned run = 0; run < runs; run++) {
        unsigned messages = 1 + run % BURST_MAX;

        send_burst(stream, &name, messages);
        octets += (uint64_t)messages * BODY;
        took[run] = await(&peer, octets);
        pause_ns((long)(run % 5) * 300000);
    }
    report(took, runs);
    sennit_msg_fini(&name);
    sennit_loop_close(loop);
    pthread_join(thread, NULL);
    close(peer.fd);
    free(took);
    return 0;
}
