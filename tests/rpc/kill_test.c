/* SPDX-License-Identifier: MIT */
/* D1: a server that is killed at any point. Each run of its handler leaves a byte in a
 * pipe, so what the caller is told can be held against what really happened. */
#include "sennit_test.h"

#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rig.h"

typedef enum moment {
    BEFORE_THE_REQUEST, /* the caller does not know yet that it is gone */
    IN_THE_HANDLER,     /* before it answered */
    AFTER_THE_ANSWER,   /* answered, but perhaps nothing left */
    MOMENTS
} moment;

/* What parent and child talk through. */
typedef struct test_wires {
    int endpoint[2]; /* the child's endpoint, a line */
    int runs[2];     /* a byte for each run of the handler */
} test_wires;

typedef struct victim {
    const test_wires *wires;
    moment when;
} victim;

static void
run_and_die(sennit_ctx *ctx, sennit_bytes body, void *arg)
{
    const victim *self = arg;

    if (write(self->wires->runs[1], "x", 1) != 1)
        _exit(1);
    if (self->when == AFTER_THE_ANSWER)
        (void)sennit_reply_ok(sennit_ctx_reply(ctx), body);
    (void)kill(getpid(), SIGKILL);
}

/* The child: serves "work" until it is killed, by itself or from outside. */
static void
serve(const test_wires *wires, moment when)
{
    victim self = { wires, when };
    char line[256];
    sennit_consumer *consumer;
    sennit_loop *loop;
    sennit_bus *bus;
    int size;

    if (sennit_loop_open(&loop, NULL) || sennit_bus_open(&bus, loop, NULL) ||
        sennit_bus_consume(bus, "work", NULL, &consumer, run_and_die, &self) ||
        sennit_bus_listen(bus, "tcp://127.0.0.1:0"))
        _exit(1);
    size = snprintf(line, sizeof line, "%s\n", sennit_bus_endpoint(bus));
    if (write(wires->endpoint[1], line, (size_t)size) != size)
        _exit(1);
    (void)sennit_loop_run(loop);
    _exit(1);
}

static void
read_line(int fd, char *out, size_t capacity)
{
    size_t size = 0;

    while (size + 1 < capacity && read(fd, out + size, 1) == 1 && out[size] != '\n')
        size++;
    out[size] = '\0';
}

/* One call to a server that dies at `when`. Returns the handler's runs. */
static unsigned
call_a_victim(moment when, outcome *out)
{
    char endpoint[256];
    unsigned runs = 0;
    sennit_loop *loop;
    sennit_bus *bus;
    test_wires wires;
    char byte;
    pid_t child;

    assert_int_equal(pipe(wires.endpoint), 0);
    assert_int_equal(pipe(wires.runs), 0);
    child = fork(); /* while no loop is open in this process */
    assert_true(child >= 0);
    if (child == 0)
        serve(&wires, when);
    (void)close(wires.endpoint[1]);
    (void)close(wires.runs[1]);
    read_line(wires.endpoint[0], endpoint, sizeof endpoint);
    assert_int_equal(sennit_loop_open(&loop, NULL), SENNIT_OK);
    assert_int_equal(sennit_bus_open(&bus, loop, NULL), SENNIT_OK);
    assert_int_equal(sennit_bus_link(bus, endpoint), SENNIT_OK);
    assert_int_equal(sennit_bus_wait_ready(bus, 10000), SENNIT_OK);
    if (when == BEFORE_THE_REQUEST) {
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);
    }
    (void)rig_request(bus, "work", "x", SENNIT_TIMEOUT_NONE, out);
    rig_wait(loop, out);
    rig_settle(loop);
    assert_int_equal(out->count, 1);
    if (when != BEFORE_THE_REQUEST)
        assert_int_equal(waitpid(child, NULL, 0), child);
    while (read(wires.runs[0], &byte, 1) == 1)
        runs++;
    sennit_bus_close(bus);
    sennit_loop_close(loop);
    (void)close(wires.endpoint[0]);
    (void)close(wires.runs[0]);
    return runs;
}

static void
D1_a_killed_server_ran_it_at_most_once_and_the_caller_is_told_the_truth(void **state)
{
    enum { ROUNDS = 8 };

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        for (moment when = 0; when < MOMENTS; when++) {
            outcome out;
            unsigned runs = call_a_victim(when, &out);

            assert_true(runs <= 1);
            if (out.ok)
                assert_int_equal(runs, 1);
            else if (out.error.ran == SENNIT_RAN_NEVER)
                assert_int_equal(runs, 0);
            else
                assert_int_equal(out.error.ran, SENNIT_RAN_MAYBE);
            if (when == IN_THE_HANDLER) {
                assert_int_equal(runs, 1);
                assert_failed(&out, SENNIT_KIND_PEER_LOST, SENNIT_RAN_MAYBE);
            }
            if (when == BEFORE_THE_REQUEST)
                assert_int_equal(runs, 0);
        }
    }
}

static volatile sig_atomic_t alarms;

static void
note_alarm(int number)
{
    (void)number;
    alarms++;
}

static void
a_signal_ends_a_blocking_call_with_cancelled(void **state)
{
    struct sigaction action = { .sa_handler = note_alarm };
    struct itimerval every_7_ms = { { 0, 7000 }, { 0, 7000 } };
    struct itimerval never = { { 0, 0 }, { 0, 0 } };
    sennit_call_opts opts = { .timeout_ms = SENNIT_TIMEOUT_NONE };
    test_worker slow = { .task = WORKER_KEEP };
    sennit_arena *arena;
    sennit_bytes reply;
    sennit_error error;
    sennit_loop *loop;
    sennit_bus *bus;

    (void)state;
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    assert_int_equal(sennit_loop_open(&loop, NULL), SENNIT_OK);
    assert_int_equal(sennit_bus_open(&bus, loop, NULL), SENNIT_OK);
    assert_int_equal(sennit_arena_new(&arena, NULL), SENNIT_OK);
    (void)rig_consume(bus, "slow", &slow);
    /* Again and again: one that comes between two waits is not noticed by the loop. */
    assert_int_equal(setitimer(ITIMER_REAL, &every_7_ms, NULL), 0);
    assert_int_equal(
        sennit_bus_call(bus, "slow", rig_bytes("x"), &opts, arena, &reply, &error),
        SENNIT_EINTR);
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    assert_true(alarms > 0);
    assert_int_equal(error.kind, SENNIT_KIND_CANCELLED);
    assert_int_equal(error.ran, SENNIT_RAN_YES);
    assert_int_equal(rig_stats(bus).calls_pending, 0);
    assert_true(sennit_reply_cancelled(slow.kept));
    sennit_arena_free(arena);
    sennit_bus_close(bus);
    sennit_loop_close(loop);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_signal_ends_a_blocking_call_with_cancelled),
    cmocka_unit_test(
        D1_a_killed_server_ran_it_at_most_once_and_the_caller_is_told_the_truth),
};

SENNIT_TEST_MAIN(tests)
