/* SPDX-License-Identifier: MIT */
/* Waits that look again and again before they sleep: they end for everything that ends
 * others, and are refused where nobody gains by them. */
#include "crew.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suite.h"

#define SPIN_US 1000u

typedef struct row {
    const char *name;
    sennit_backend backend;
    bool hosted;
    const char *endpoint;
} row;

static const row rows[] = {
    { "epoll over tcp", SENNIT_BACKEND_EPOLL, false, "tcp://127.0.0.1:*" },
    { "epoll over ipc", SENNIT_BACKEND_EPOLL, false, "ipc://*" },
    { "epoll over inproc", SENNIT_BACKEND_EPOLL, false, "inproc://spin" },
#ifdef SENNIT_WITH_URING
    { "uring over tcp", SENNIT_BACKEND_URING, false, "tcp://127.0.0.1:*" },
    { "uring over inproc", SENNIT_BACKEND_URING, false, "inproc://spin" },
#endif
    { "hosted over tcp", SENNIT_BACKEND_AUTO, true, "tcp://127.0.0.1:*" },
    { "hosted over inproc", SENNIT_BACKEND_AUTO, true, "inproc://spin" },
};

static sennit_loop *
open_spinning(const row *r, sennit_context *context)
{
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;
    sennit_loop *loop;

    opts.backend = r->backend;
    opts.hosted = r->hosted;
    opts.context = context;
    opts.spin_us = SPIN_US;
    assert_int_equal(sennit_loop_open(&loop, &opts), SENNIT_OK);
    return loop;
}

typedef struct echo {
    const char *endpoint;
    uint64_t trips;
} echo;

/* Half of the answers come while the other end spins, the others after that. */
static void
answer(hand *h)
{
    echo *e = h->arg;
    sennit_sock *rep = crew_sock(h->loop, SENNIT_REP);
    uint64_t number;

    CHECK_ERR(sennit_sock_connect(rep, e->endpoint), SENNIT_OK);
    for (uint64_t i = 0; i < e->trips; i++) {
        CHECK_ERR(crew_recv(rep, &number, 0), SENNIT_OK);
        for (sennit_time until = sennit_loop_now(h->loop) + (i % 2) * 2 * SPIN_US * 1000;
             sennit_loop_now(h->loop) < until;)
            CHECK_ERR(sennit_loop_turn(h->loop, 1), SENNIT_OK);
        CHECK_ERR(crew_send(rep, number, 0), SENNIT_OK);
    }
    sennit_sock_close(rep);
}

static void
a_receive_ends_while_it_spins_and_after(void **state)
{
    const row *r = *state;
    sennit_context *context;
    sennit_loop *loop;
    sennit_sock *req;
    echo e = { .trips = 100 };
    uint64_t number;
    hand h;

    assert_int_equal(sennit_context_open(&context, NULL), SENNIT_OK);
    loop = open_spinning(r, context);
    req = crew_sock(loop, SENNIT_REQ);
    assert_int_equal(sennit_sock_bind(req, r->endpoint), SENNIT_OK);
    e.endpoint = sennit_sock_last_endpoint(req);
    crew_start(&h, context, answer, &e);
    for (uint64_t i = 0; i < e.trips; i++) {
        CHECK_ERR(crew_send(req, i, 0), SENNIT_OK);
        CHECK_ERR(crew_recv(req, &number, 0), SENNIT_OK);
        assert_int_equal(number, i);
    }
    crew_join(&h);
    sennit_loop_close(loop);
    assert_int_equal(sennit_context_close(context), SENNIT_OK);
}

static void *
shut_down(void *context)
{
    sennit_context_shutdown(context);
    return NULL;
}

static void
a_shutdown_ends_it(void **state)
{
    for (unsigned i = 0; i < 50; i++) {
        sennit_context *context;
        sennit_loop *loop;
        sennit_sock *pull;
        pthread_t thread;
        uint64_t number;

        assert_int_equal(sennit_context_open(&context, NULL), SENNIT_OK);
        loop = open_spinning(*state, context);
        pull = crew_sock(loop, SENNIT_PULL);
        assert_int_equal(pthread_create(&thread, NULL, shut_down, context), 0);
        assert_int_equal(crew_recv(pull, &number, 0), SENNIT_ETERM);
        assert_int_equal(pthread_join(thread, NULL), 0);
        sennit_loop_close(loop);
        assert_int_equal(sennit_context_close(context), SENNIT_OK);
    }
}

static void
a_timeout_ends_it(void **state)
{
    sennit_loop *loop = open_spinning(*state, NULL);
    sennit_sock_opts opts = crew_opts();
    sennit_sock *pull;
    uint64_t number;

    opts.recv_timeout_ms = 1;
    assert_int_equal(sennit_sock_open(&pull, loop, SENNIT_PULL, &opts), SENNIT_OK);
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(crew_recv(pull, &number, 0), SENNIT_EAGAIN);
    sennit_loop_close(loop);
}

static sennit_err
open_with_spin(uint32_t spin_us)
{
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;
    sennit_loop *loop = NULL;
    sennit_err err;

    opts.spin_us = spin_us;
    err = sennit_loop_open(&loop, &opts);
    sennit_loop_close(loop);
    return err;
}

static void
more_than_a_millisecond_is_refused(void **state)
{
    (void)state;
    assert_int_equal(open_with_spin(1000), SENNIT_OK);
    assert_int_equal(open_with_spin(1001), SENNIT_EINVAL);
}

/* In a child, which may use the first processor that we may. */
static void
with_one_processor_it_is_refused(void **state)
{
    pid_t child = fork();
    int status;

    (void)state;
    assert_true(child >= 0);
    if (child == 0) {
        cpu_set_t all;
        cpu_set_t one;
        int cpu = 0;

        if (sched_getaffinity(0, sizeof all, &all) != 0)
            _exit(2);
        while (!CPU_ISSET(cpu, &all))
            cpu++;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        if (sched_setaffinity(0, sizeof one, &one) != 0)
            _exit(3);
        _exit(open_with_spin(20) == SENNIT_ENOTSUP && open_with_spin(0) == SENNIT_OK ? 0
                                                                                     : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static test_suite suite;

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_than_a_millisecond_is_refused),
        cmocka_unit_test(with_one_processor_it_is_refused),
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        test_suite_row(&suite, "a receive ends while it spins, and after: ", rows[i].name,
                       a_receive_ends_while_it_spins_and_after, &rows[i]);
        test_suite_row(&suite, "a shutdown ends it: ", rows[i].name, a_shutdown_ends_it,
                       &rows[i]);
        test_suite_row(&suite, "a timeout ends it: ", rows[i].name, a_timeout_ends_it,
                       &rows[i]);
    }
    test_suite_add(&suite, tests, sizeof tests / sizeof tests[0]);
    return test_suite_run(&suite);
}
