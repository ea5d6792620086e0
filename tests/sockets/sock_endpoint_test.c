/* SPDX-License-Identifier: MIT */
/* Endpoints, options and descriptors: what may be bound and connected, undone, asked
 * for, and that nothing of it is left behind. */
#include "net.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static net n;

/* ---- endpoints; their grammar is endpoint_table_test.c -------------------- */

typedef struct text_row {
    const char *endpoint;
    sennit_err bind;
    sennit_err connect;
} text_row;

static const text_row texts[] = {
    { "nonsense", SENNIT_EINVAL, SENNIT_EINVAL },
    { "udp://127.0.0.1:5555", SENNIT_ENOTSUP, SENNIT_ENOTSUP },
    { "tcp://127.0.0.1:0", SENNIT_OK, SENNIT_EINVAL },
    { "tcp://127.0.0.1:*", SENNIT_OK, SENNIT_EINVAL },
    { "tcp://*:*", SENNIT_OK, SENNIT_EINVAL },
    { "tcp://localhost:*", SENNIT_OK, SENNIT_EINVAL },
    { "tcp://nosuchif0:5555", SENNIT_ENODEV, SENNIT_OK },
    { "tcp://192.0.2.1:5555", SENNIT_EADDRNOTAVAIL, SENNIT_OK },
    { "ipc://*", SENNIT_OK, SENNIT_EINVAL },
    { "ipc:///nonexistent-directory/socket", SENNIT_ENOENT, SENNIT_OK },
    { "inproc://x", SENNIT_OK, SENNIT_OK },
};

static void
endpoints_are_told_apart_by_their_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        sennit_err bound;
        sennit_err connected;

        net_open(&n);
        bound = sennit_sock_bind(net_sock(&n, SENNIT_ROUTER, NULL), texts[i].endpoint);
        connected =
            sennit_sock_connect(net_sock(&n, SENNIT_DEALER, NULL), texts[i].endpoint);
        if (bound != texts[i].bind || connected != texts[i].connect)
            fail_msg("\"%s\": bind %s, connect %s", texts[i].endpoint,
                     sennit_err_name(bound), sennit_err_name(connected));
        net_close(&n);
    }
}

static void
what_was_bound_can_be_connected_by_the_last_endpoint(void **state)
{
    static const char *const wanted[] = { "tcp://127.0.0.1:*",           "tcp://[::1]:*",
                                          "tcp://localhost:0",           "ipc://*",
                                          "ipc://@sennit-endpoint-test", "inproc://x" };

    (void)state;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        sennit_sock *rep;
        sennit_sock *req;
        sennit_err err;

        net_open(&n);
        rep = net_sock(&n, SENNIT_REP, NULL);
        assert_string_equal(sennit_sock_last_endpoint(rep), "");
        err = sennit_sock_bind(rep, wanted[i]);
        /* A machine without IPv6 says so. */
        if (i != 1 || err != SENNIT_EADDRNOTAVAIL) {
            assert_int_equal(err, SENNIT_OK);
            req = net_sock(&n, SENNIT_REQ, NULL);
            net_connect(req, sennit_sock_last_endpoint(rep));
            net_send(req, "hello");
            assert_string_equal(net_recv(rep), "hello");
        }
        net_close(&n);
    }
}

static void
an_address_in_use_is_refused(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock *first;
        const char *endpoint;

        net_open(&n);
        first = net_sock(&n, SENNIT_PULL, NULL);
        endpoint = net_bind(first, (transport)via);
        assert_int_equal(sennit_sock_bind(net_sock(&n, SENNIT_PULL, NULL), endpoint),
                         SENNIT_EADDRINUSE);
        net_close(&n);
    }
}

/* ---- connecting twice, undoing ----------------------------------------- */

static void
a_second_connect_to_the_same_string_does_nothing_where_it_would_double(void **state)
{
    static const sennit_sock_type once[][2] = { { SENNIT_SUB, SENNIT_PUB },
                                                { SENNIT_DEALER, SENNIT_ROUTER },
                                                { SENNIT_REQ, SENNIT_REP },
                                                { SENNIT_PUB, SENNIT_SUB } };

    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        for (size_t i = 0; i < sizeof once / sizeof once[0]; i++) {
            sennit_sock *binder;
            sennit_sock *connecter;

            net_open(&n);
            connecter = net_sock(&n, once[i][0], NULL);
            binder = net_sock(&n, once[i][1], NULL);
            net_join(&n, binder, connecter, (transport)via);
            net_connect(connecter, sennit_sock_last_endpoint(binder));
            for (int k = 0; k < 20; k++)
                assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
            assert_int_equal(net_stats(binder).connections, 1);
            /* Undone once, it is undone, and can be made again. */
            assert_int_equal(
                sennit_sock_disconnect(connecter, sennit_sock_last_endpoint(binder)),
                SENNIT_OK);
            assert_int_equal(
                sennit_sock_disconnect(connecter, sennit_sock_last_endpoint(binder)),
                SENNIT_ENOENT);
            NET_UNTIL(&n, net_stats(binder).connections == 0);
            net_connect(connecter, sennit_sock_last_endpoint(binder));
            NET_UNTIL(&n, net_stats(binder).connections == 1);
            net_close(&n);
        }
    }
}

static void
a_second_connect_of_a_push_is_a_second_connection(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock *push;
        sennit_sock *pull;

        net_open(&n);
        push = net_sock(&n, SENNIT_PUSH, NULL);
        pull = net_sock(&n, SENNIT_PULL, NULL);
        net_join(&n, pull, push, (transport)via);
        net_connect(push, sennit_sock_last_endpoint(pull));
        NET_UNTIL(&n,
                  net_stats(pull).connections == 2 && net_stats(push).connections == 2);
        net_close(&n);
    }
}

static void
unbind_takes_the_string_used_and_the_last_endpoint(void **state)
{
    static const char *const wanted[] = { "tcp://127.0.0.1:*", "ipc://*", "inproc://x" };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        for (int by_last = 0; by_last < 2; by_last++) {
            sennit_sock *pull;
            sennit_sock *push;
            char endpoint[128];

            net_open(&n);
            pull = net_sock(&n, SENNIT_PULL, NULL);
            push = net_sock(&n, SENNIT_PUSH, NULL);
            assert_int_equal(sennit_sock_unbind(pull, wanted[i]), SENNIT_ENOENT);
            assert_int_equal(sennit_sock_bind(pull, wanted[i]), SENNIT_OK);
            snprintf(endpoint, sizeof endpoint, "%s", sennit_sock_last_endpoint(pull));
            net_connect(push, endpoint);
            NET_UNTIL(&n, net_stats(pull).connections == 1);
            assert_int_equal(sennit_sock_unbind(pull, by_last ? endpoint : wanted[i]),
                             SENNIT_OK);
            assert_int_equal(sennit_sock_unbind(pull, by_last ? endpoint : wanted[i]),
                             SENNIT_ENOENT);
            NET_UNTIL(&n, net_stats(pull).connections == 0);
            if (i < 2)
                net_event(&n, pull, SENNIT_EVENT_UNBOUND);
            /* The address is free again. */
            NET_UNTIL(&n, sennit_sock_bind(pull, endpoint) == SENNIT_OK ||
                              (i == 1 && access(endpoint + 6, F_OK) != 0));
            net_close(&n);
        }
    }
}

static void
disconnect_before_anybody_was_there_drops_and_counts_what_waited(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        const char *endpoint = net_vacant((transport)via);
        sennit_sock *push;
        sennit_sock_stats stats;

        net_open(&n);
        push = net_sock(&n, SENNIT_PUSH, NULL);
        net_connect(push, endpoint);
        for (int i = 0; i < 5; i++)
            net_send(push, "waits");
        assert_int_equal(sennit_sock_disconnect(push, endpoint), SENNIT_OK);
        for (int i = 0; i < 5; i++)
            assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
        stats = net_stats(push);
        assert_int_equal(stats.queued_msgs, 0);
        if (via != INPROC) /* handed over to a peer that is not bound yet */
            assert_int_equal(stats.dropped_disconnect_msgs, 5);
        net_check_law(push);
        assert_int_equal(net_try_send(push, "x", SENNIT_DONTWAIT), SENNIT_EAGAIN);
        net_close(&n);
    }
}

/* ---- descriptors ------------------------------------------------------- */

static void
a_thousand_sockets_leave_no_descriptor_behind(void **state)
{
    unsigned before = open_descriptors();

    (void)state;
    for (int round = 0; round < 5; round++) {
        unsigned inside;

        net_open(&n);
        inside = open_descriptors();
        for (int i = 0; i < 100; i++) {
            sennit_sock *push = net_sock(&n, SENNIT_PUSH, NULL);
            sennit_sock *pull = net_sock(&n, SENNIT_PULL, NULL);

            net_join(&n, pull, push, (transport)(i % TRANSPORTS));
            net_send(push, "x");
            assert_string_equal(net_recv(pull), "x");
            sennit_sock_close(i % 2 ? push : pull);
            sennit_sock_close(i % 2 ? pull : push);
        }
        NET_UNTIL(&n, open_descriptors() == inside);
        net_close(&n);
    }
    assert_int_equal(open_descriptors(), before);
}

/* Every descriptor is taken: accepting fails, says so, does not spin, and goes on by
 * itself when there are some again. */
static void
running_out_of_descriptors_is_survived(void **state)
{
    struct rlimit old;
    struct rlimit low;
    sennit_sock *pull;
    sennit_event event;
    int fds[8];
    int first;
    unsigned turns = 0;

    (void)state;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    net_bind(pull, TCP);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    for (int i = 0; i < 8; i++)
        fds[i] = raw_connect(sennit_sock_last_endpoint(pull));
    first = dup(0);
    assert_true(first >= 0);
    close(first);
    low = old;
    low.rlim_cur = (rlim_t)first;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    event = net_event(&n, pull, SENNIT_EVENT_ACCEPT_FAILED);
    assert_int_equal(event.err, SENNIT_EMFILE);
    assert_true(event.delay_ms > 0);
    do {
        assert_int_equal(sennit_loop_turn(n.loop, DEADLINE_MS), SENNIT_OK);
        turns++;
    } while (!net_has_event(pull, SENNIT_EVENT_ACCEPT_FAILED, &event));
    assert_true(turns < 20);
    /* A connect of ours fails as softly. */
    {
        sennit_sock *push = net_sock(&n, SENNIT_PUSH, NULL);

        net_connect(push, sennit_sock_last_endpoint(pull));
        event = net_event(&n, push, SENNIT_EVENT_CONNECT_FAILED);
        assert_int_equal(event.err, SENNIT_EMFILE);
        assert_int_equal(sennit_sock_bind(pull, "tcp://127.0.0.1:*"), SENNIT_EMFILE);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
        NET_UNTIL(&n, net_stats(push).connections == 1);
        net_send(push, "there again");
        assert_string_equal(net_recv(pull), "there again");
    }
    for (int i = 0; i < 8; i++)
        raw_handshake(&n, fds[i], "PUSH", NULL);
    NET_UNTIL(&n, net_stats(pull).connections == 9);
    for (int i = 0; i < 8; i++)
        close(fds[i]);
    net_close(&n);
}

static void
without_descriptors_no_loop_is_opened(void **state)
{
    struct rlimit old;
    struct rlimit low;
    sennit_loop *loop;
    int first = dup(0);

    (void)state;
    assert_true(first >= 0);
    close(first);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    for (int spare = 0; spare < 2; spare++) {
        low = old;
        low.rlim_cur = (rlim_t)(first + spare);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
        assert_int_equal(sennit_loop_open(&loop, NULL), SENNIT_EMFILE);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
        assert_int_equal(dup(0), first);
        close(first);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(endpoints_are_told_apart_by_their_text),
        cmocka_unit_test(what_was_bound_can_be_connected_by_the_last_endpoint),
        cmocka_unit_test(an_address_in_use_is_refused),
        cmocka_unit_test(
            a_second_connect_to_the_same_string_does_nothing_where_it_would_double),
        cmocka_unit_test(a_second_connect_of_a_push_is_a_second_connection),
        cmocka_unit_test(unbind_takes_the_string_used_and_the_last_endpoint),
        cmocka_unit_test(
            disconnect_before_anybody_was_there_drops_and_counts_what_waited),
        cmocka_unit_test(a_thousand_sockets_leave_no_descriptor_behind),
        cmocka_unit_test(running_out_of_descriptors_is_survived),
        cmocka_unit_test(without_descriptors_no_loop_is_opened),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
