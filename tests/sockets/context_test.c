/* SPDX-License-Identifier: MIT */
#include "crew.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>

static sennit_context *
open_context(uint32_t sockets_max)
{
    sennit_context_opts opts = SENNIT_CONTEXT_OPTS_DEFAULT;
    sennit_context *context;

    opts.sockets_max = sockets_max;
    assert_int_equal(sennit_context_open(&context, &opts), SENNIT_OK);
    return context;
}

static sennit_loop *
open_loop(sennit_context *context)
{
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;
    sennit_loop *loop;

    opts.context = context;
    assert_int_equal(sennit_loop_open(&loop, &opts), SENNIT_OK);
    return loop;
}

static void
a_context_with_a_loop_cannot_be_closed(void **state)
{
    sennit_context *context = open_context(0);
    sennit_loop *first = open_loop(context);
    sennit_loop *second = open_loop(context);

    (void)state;
    assert_int_equal(sennit_context_close(context), SENNIT_ESTATE);
    sennit_loop_close(first);
    assert_int_equal(sennit_context_close(context), SENNIT_ESTATE);
    sennit_loop_close(second);
    assert_int_equal(sennit_context_close(context), SENNIT_OK);
    assert_int_equal(sennit_context_close(NULL), SENNIT_OK);
}

static void
d16d_exactly_as_many_sockets_as_allowed_over_all_loops(void **state)
{
    sennit_context *context = open_context(10);
    sennit_loop *loops[2] = { open_loop(context), open_loop(context) };
    sennit_sock *socks[10];
    sennit_sock *another;

    (void)state;
    for (int i = 0; i < 10; i++)
        assert_int_equal(sennit_sock_open(&socks[i], loops[i % 2], SENNIT_PUSH, NULL),
                         SENNIT_OK);
    assert_int_equal(sennit_sock_open(&another, loops[0], SENNIT_PUSH, NULL),
                     SENNIT_EMFILE);
    assert_int_equal(sennit_sock_open(&another, loops[1], SENNIT_PUSH, NULL),
                     SENNIT_EMFILE);
    /* One that is closed makes room at once, in any loop, and for one. */
    sennit_sock_close(socks[3]);
    assert_int_equal(sennit_sock_open(&socks[3], loops[0], SENNIT_PUSH, NULL), SENNIT_OK);
    assert_int_equal(sennit_sock_open(&another, loops[1], SENNIT_PUSH, NULL),
                     SENNIT_EMFILE);
    /* And so does a loop. */
    sennit_loop_close(loops[1]);
    assert_int_equal(sennit_sock_open(&another, loops[0], SENNIT_PUSH, NULL), SENNIT_OK);
    sennit_loop_close(loops[0]);
    assert_int_equal(sennit_context_close(context), SENNIT_OK);
}

/* A refused socket leaves no trace in the count. */
static void
a_socket_that_fails_to_open_takes_no_room(void **state)
{
    sennit_context *context = open_context(1);
    sennit_sock_opts opts = SENNIT_SOCK_OPTS_DEFAULT;
    sennit_loop *loop = open_loop(context);
    sennit_sock *sock;

    (void)state;
    opts.backlog = -1;
    assert_int_equal(sennit_sock_open(&sock, loop, SENNIT_PUSH, &opts), SENNIT_EINVAL);
    assert_int_equal(sennit_sock_open(&sock, loop, SENNIT_PUSH, NULL), SENNIT_OK);
    sennit_loop_close(loop);
    assert_int_equal(sennit_context_close(context), SENNIT_OK);
}

static void
open_and_close(hand *h)
{
    atomic_uint *open = h->arg;

    for (int i = 0; i < 5000; i++) {
        sennit_sock *sock;
        sennit_err err = sennit_sock_open(&sock, h->loop, SENNIT_PUSH, NULL);

        if (err == SENNIT_OK) {
            CHECK(atomic_fetch_add(open, 1) < 3);
            (void)atomic_fetch_sub(open, 1);
            sennit_sock_close(sock);
        } else {
            CHECK_ERR(err, SENNIT_EMFILE);
        }
        CHECK_ERR(sennit_loop_turn(h->loop, 0), SENNIT_OK);
    }
}

static void
threads_never_have_more_sockets_than_allowed(void **state)
{
    sennit_context *context = open_context(3);
    atomic_uint open = 0;
    hand hands[4];

    (void)state;
    crew_run(hands, 4, context, open_and_close, &open);
    assert_int_equal(sennit_context_close(context), SENNIT_OK);
}

static void
after_a_shutdown_there_is_nothing_but_closing(void **state)
{
    sennit_context *context = open_context(0);
    sennit_loop *loop = open_loop(context);
    sennit_sock *sock = crew_sock(loop, SENNIT_DEALER);
    sennit_sock *another;
    uint64_t number;

    (void)state;
    assert_int_equal(sennit_sock_bind(sock, "inproc://here"), SENNIT_OK);
    sennit_context_shutdown(context);
    sennit_context_shutdown(context);
    assert_int_equal(sennit_sock_open(&another, loop, SENNIT_PUSH, NULL), SENNIT_ETERM);
    assert_int_equal(crew_recv(sock, &number, 0), SENNIT_ETERM);
    assert_int_equal(crew_send(sock, 1, 0), SENNIT_ETERM);
    assert_int_equal(sennit_loop_run(loop), SENNIT_ETERM);
    sennit_sock_close(sock);
    sennit_loop_close(loop);
    assert_int_equal(sennit_context_close(context), SENNIT_OK);
}

/* ---- shutdowns and lingering -------------------------------------------- */

/* A thread whose loop closes with a message that nobody takes. */
typedef struct lingerer {
    char endpoint[128];
    int linger_ms;
    unsigned shutdowns; /* before the close */
    sem_t closing;
} lingerer;

static void
tell(void *arg)
{
    CHECK(sem_post(arg) == 0);
}

static void
leave_a_message(hand *h)
{
    lingerer *l = h->arg;
    sennit_sock_opts opts = crew_opts();
    sennit_sock *sock;

    opts.linger_ms = l->linger_ms;
    CHECK_ERR(sennit_sock_open(&sock, h->loop, SENNIT_PUSH, &opts), SENNIT_OK);
    CHECK_ERR(sennit_sock_connect(sock, l->endpoint), SENNIT_OK);
    CHECK_ERR(crew_send(sock, 1, 0), SENNIT_OK);
    for (unsigned i = 0; i < l->shutdowns; i++)
        sennit_context_shutdown(h->context);
    /* Nothing turns the loop but its close. */
    CHECK_ERR(sennit_loop_post(h->loop, tell, &l->closing), SENNIT_OK);
}

/* Milliseconds from when the close was under way, and shut down `later` times. */
static uint64_t
linger(lingerer *l, unsigned later)
{
    sennit_context *context = open_context(0);
    uint64_t began;
    hand h;

    assert_int_equal(sem_init(&l->closing, 0, 0), 0);
    crew_start(&h, context, leave_a_message, l);
    assert_int_equal(sem_wait(&l->closing), 0);
    began = crew_ms();
    for (unsigned i = 0; i < later; i++)
        sennit_context_shutdown(context);
    crew_join(&h);
    assert_int_equal(sem_destroy(&l->closing), 0);
    assert_int_equal(sennit_context_close(context), SENNIT_OK);
    return crew_ms() - began;
}

/* Where a connect is refused, and where nobody speaks. */
static void
for_each_silence(void (*check)(const char *endpoint))
{
    sennit_loop *loop = open_loop(NULL);
    sennit_sock *pull = crew_sock(loop, SENNIT_PULL);
    char vacant[128];

    assert_int_equal(sennit_sock_bind(pull, "tcp://127.0.0.1:*"), SENNIT_OK);
    snprintf(vacant, sizeof vacant, "%s", sennit_sock_last_endpoint(pull));
    assert_int_equal(sennit_sock_unbind(pull, vacant), SENNIT_OK);
    check(vacant);
    /* Accepted by the kernel, and never by the loop, which does not turn. */
    assert_int_equal(sennit_sock_bind(pull, "tcp://127.0.0.1:*"), SENNIT_OK);
    check(sennit_sock_last_endpoint(pull));
    assert_int_equal(sennit_sock_bind(pull, "ipc://*"), SENNIT_OK);
    check(sennit_sock_last_endpoint(pull));
    sennit_loop_close(loop);
}

static void
ends_at_once(const char *endpoint)
{
    lingerer l = { .linger_ms = -1 };

    snprintf(l.endpoint, sizeof l.endpoint, "%s", endpoint);
    (void)linger(&l, 1);
}

static void
a_shutdown_ends_a_close_that_lingers_for_ever(void **state)
{
    (void)state;
    for_each_silence(ends_at_once);
}

static void
ends_with_the_next(const char *endpoint)
{
    lingerer l = { .linger_ms = -1, .shutdowns = 2 };

    snprintf(l.endpoint, sizeof l.endpoint, "%s", endpoint);
    (void)linger(&l, 1);
}

static void
lingers_its_time(const char *endpoint)
{
    lingerer l = { .linger_ms = 300, .shutdowns = 2 };

    snprintf(l.endpoint, sizeof l.endpoint, "%s", endpoint);
    assert_true(linger(&l, 0) >= 250);
}

static void
shutdowns_before_it_leave_a_close_to_linger_until_the_next(void **state)
{
    (void)state;
    for_each_silence(lingers_its_time);
    for_each_silence(ends_with_the_next);
}

/* Of two sockets one is closed when the shutdown comes; turning the loop ends it, and the
 * other lingers in its own time. */
static void
a_shutdown_ends_what_lingers_while_the_loop_turns(void **state)
{
    sennit_context *context = open_context(0);
    sennit_loop *loop = open_loop(context);
    sennit_loop *others = open_loop(NULL);
    sennit_sock *pull = crew_sock(others, SENNIT_PULL);
    sennit_sock_opts opts = crew_opts();
    uint64_t number = 0;
    sennit_sock *early;
    sennit_sock *late;

    (void)state;
    opts.linger_ms = -1;
    assert_int_equal(sennit_sock_bind(pull, "tcp://127.0.0.1:*"), SENNIT_OK);
    assert_int_equal(sennit_sock_open(&early, loop, SENNIT_PUSH, &opts), SENNIT_OK);
    assert_int_equal(sennit_sock_open(&late, loop, SENNIT_PUSH, &opts), SENNIT_OK);
    assert_int_equal(sennit_sock_connect(early, sennit_sock_last_endpoint(pull)),
                     SENNIT_OK);
    assert_int_equal(sennit_sock_connect(late, sennit_sock_last_endpoint(pull)),
                     SENNIT_OK);
    assert_int_equal(crew_send(early, 1, 0), SENNIT_OK);
    assert_int_equal(crew_send(late, 2, 0), SENNIT_OK);
    sennit_sock_close(early);
    sennit_context_shutdown(context);
    sennit_sock_close(late);
    /* The peer wakes up, and only one of both is still there. */
    for (uint64_t began = crew_ms(); number == 0 && crew_ms() - began < 20000;) {
        assert_int_equal(sennit_loop_turn(loop, 0), SENNIT_OK);
        assert_int_equal(sennit_loop_turn(others, 1), SENNIT_OK);
        if (crew_recv(pull, &number, SENNIT_DONTWAIT) != SENNIT_OK)
            number = 0;
    }
    assert_int_equal(number, 2);
    assert_int_equal(sennit_sock_open(&late, loop, SENNIT_PUSH, &opts), SENNIT_ETERM);
    sennit_loop_close(loop);
    sennit_loop_close(others);
    assert_int_equal(sennit_context_close(context), SENNIT_OK);
}

static void
a_loop_without_a_context_has_no_limit_and_no_end(void **state)
{
    sennit_context *context = open_context(1);
    sennit_loop *loop = open_loop(NULL);
    sennit_sock *sock;

    (void)state;
    sennit_context_shutdown(context);
    for (int i = 0; i < 10; i++)
        assert_int_equal(sennit_sock_open(&sock, loop, SENNIT_PUSH, NULL), SENNIT_OK);
    assert_int_equal(crew_send(sock, 1, SENNIT_DONTWAIT), SENNIT_EAGAIN);
    sennit_loop_close(loop);
    assert_int_equal(sennit_context_close(context), SENNIT_OK);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_context_with_a_loop_cannot_be_closed),
    cmocka_unit_test(d16d_exactly_as_many_sockets_as_allowed_over_all_loops),
    cmocka_unit_test(a_socket_that_fails_to_open_takes_no_room),
    cmocka_unit_test(threads_never_have_more_sockets_than_allowed),
    cmocka_unit_test(after_a_shutdown_there_is_nothing_but_closing),
    cmocka_unit_test(a_shutdown_ends_a_close_that_lingers_for_ever),
    cmocka_unit_test(shutdowns_before_it_leave_a_close_to_linger_until_the_next),
    cmocka_unit_test(a_shutdown_ends_what_lingers_while_the_loop_turns),
    cmocka_unit_test(a_loop_without_a_context_has_no_limit_and_no_end),
};

SENNIT_TEST_MAIN(tests)
