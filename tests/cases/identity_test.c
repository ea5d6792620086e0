/* SPDX-License-Identifier: MIT */
/* Cases D02 and D03: who has a name, and from when to when. */
#include "net.h"

#include <stdio.h>
#include <string.h>

static net n;

static void
D02_a_second_peer_with_a_name_in_use_is_refused_and_admitted_later(void **state)
{
    sennit_sock *router;
    sennit_sock *a;
    sennit_sock *b;
    sennit_event event;
    const char *endpoint;

    (void)state;
    net_open(&n);
    router = net_sock(&n, SENNIT_ROUTER, NULL);
    endpoint = net_bind(router, TCP);
    a = net_named(&n, SENNIT_DEALER, "dup");
    b = net_named(&n, SENNIT_DEALER, "dup");
    net_connect(a, endpoint);
    net_send(a, "a1");
    assert_string_equal(net_recv(router), "dup|a1");
    net_connect(b, endpoint);
    net_send(b, "b1");
    /* Both ends are told, by a reason that names the identity. */
    event = net_event(&n, router, SENNIT_EVENT_HANDSHAKE_FAILED);
    assert_non_null(strstr(event.reason, "identity"));
    (void)net_event(&n, b, SENNIT_EVENT_HANDSHAKE_FAILED);
    /* b1 waits, a is undisturbed. */
    assert_int_equal(net_stats(b).queued_msgs, 1);
    net_send(router, "dup|to a");
    assert_string_equal(net_recv(a), "to a");
    net_send(a, "a2");
    assert_string_equal(net_recv(router), "dup|a2");
    sennit_sock_close(a);
    assert_string_equal(net_recv(router), "dup|b1");
    assert_string_equal(net_recv_flags(router, SENNIT_DONTWAIT), "EAGAIN");
    net_send(router, "dup|to b");
    assert_string_equal(net_recv(b), "to b");
    net_close(&n);
}

/* The ROUTER's application makes no call between the two: its loop alone keeps order. */
static void
D03_a_a_name_is_free_as_soon_as_its_connection_is_gone(void **state)
{
    (void)state;
    for (int round = 0; round < 100; round++) {
        sennit_sock *router;
        sennit_sock *first;
        sennit_sock *second;
        char endpoint[64];

        net_open(&n);
        router = net_sock(&n, SENNIT_ROUTER, NULL);
        snprintf(endpoint, sizeof endpoint, "%s", net_bind(router, TCP));
        first = net_named(&n, SENNIT_DEALER, "X");
        net_connect(first, endpoint);
        net_send(first, "m1");
        assert_string_equal(net_recv(router), "X|m1");
        net_send(router, "X|echo");
        assert_string_equal(net_recv(first), "echo");
        sennit_sock_close(first);
        second = net_named(&n, SENNIT_DEALER, "X");
        net_connect(second, endpoint);
        net_send(second, "m2");
        assert_string_equal(net_recv(router), "X|m2");
        net_send(router, "X|to the second");
        assert_string_equal(net_recv(second), "to the second");
        net_close(&n);
    }
}

static void
D03_b_a_handed_over_name_belongs_to_the_newcomer_only(void **state)
{
    (void)state;
    for (int round = 0; round < 100; round++) {
        sennit_sock_opts opts = net_opts();
        sennit_sock *router;
        sennit_sock *first;
        sennit_sock *second;
        char endpoint[64];

        net_open(&n);
        opts.router_handover = true;
        router = net_sock(&n, SENNIT_ROUTER, &opts);
        snprintf(endpoint, sizeof endpoint, "%s", net_bind(router, TCP));
        opts = net_opts();
        opts.identity_size = 1;
        opts.identity[0] = 'X';
        opts.reconnect_min_ms = 60000; /* it does not take its name back here */
        opts.reconnect_max_ms = 60000;
        first = net_sock(&n, SENNIT_DEALER, &opts);
        net_connect(first, endpoint);
        net_send(first, "m1");
        assert_string_equal(net_recv(router), "X|m1");
        second = net_named(&n, SENNIT_DEALER, "X");
        net_connect(second, endpoint);
        net_send(second, "m2");
        assert_string_equal(net_recv(router), "X|m2");
        net_send(router, "X|to the second");
        assert_string_equal(net_recv(second), "to the second");
        (void)net_event(&n, first, SENNIT_EVENT_DISCONNECTED);
        assert_string_equal(net_recv_flags(first, SENNIT_DONTWAIT), "EAGAIN");
        net_close(&n);
    }
}

static void
D03_c_a_peer_that_comes_back_under_another_name_is_known_by_that(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *router;
    sennit_sock *peer;
    char endpoint[64];

    (void)state;
    net_open(&n);
    opts.router_mandatory = true;
    router = net_sock(&n, SENNIT_ROUTER, &opts);
    peer = net_named(&n, SENNIT_DEALER, "P1");
    snprintf(endpoint, sizeof endpoint, "%s", net_bind(peer, TCP));
    net_connect(router, endpoint);
    (void)net_event(&n, router, SENNIT_EVENT_READY);
    net_send(router, "P1|one");
    assert_string_equal(net_recv(peer), "one");
    sennit_sock_close(peer);
    (void)net_event(&n, router, SENNIT_EVENT_DISCONNECTED);
    peer = net_named(&n, SENNIT_DEALER, "P2");
    assert_int_equal(sennit_sock_bind(peer, endpoint), SENNIT_OK);
    (void)net_event(&n, router, SENNIT_EVENT_READY);
    net_send(router, "P2|two");
    assert_string_equal(net_recv(peer), "two");
    assert_int_equal(net_try_send(router, "P1|nobody", SENNIT_DONTWAIT),
                     SENNIT_EHOSTUNREACH);
    net_close(&n);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(D02_a_second_peer_with_a_name_in_use_is_refused_and_admitted_later),
    cmocka_unit_test(D03_a_a_name_is_free_as_soon_as_its_connection_is_gone),
    cmocka_unit_test(D03_b_a_handed_over_name_belongs_to_the_newcomer_only),
    cmocka_unit_test(D03_c_a_peer_that_comes_back_under_another_name_is_known_by_that),
};

SENNIT_TEST_MAIN(tests)
