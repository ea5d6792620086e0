/* SPDX-License-Identifier: MIT */
#include "crew.h"

#include <stdatomic.h>

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
    cmocka_unit_test(a_loop_without_a_context_has_no_limit_and_no_end),
};

SENNIT_TEST_MAIN(tests)
