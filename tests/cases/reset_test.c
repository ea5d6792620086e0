/* SPDX-License-Identifier: MIT */
/* Cases D24 and D25: what a reset costs, and connecting twice. */
#include "net.h"
#include "relay.h"

#include <stdio.h>
#include <string.h>

static net n;

#define MESSAGES 50000

static void
D24_a_resets_lose_a_stretch_and_never_repeat_or_reorder(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *push;
    sennit_sock *pull;
    relay *r;
    uint32_t next = 0; /* the lowest number that may still come */
    uint32_t sent = 0;
    uint32_t gaps = 0;
    unsigned resets = 0;
    sennit_event event;
    unsigned seen = 0;

    (void)state;
    net_open(&n);
    opts.events_max = 1024;
    push = net_sock(&n, SENNIT_PUSH, &opts);
    pull = net_sock(&n, SENNIT_PULL, &opts);
    r = relay_open(net_bind(pull, TCP));
    net_connect(push, relay_endpoint(r));
    while (next < MESSAGES) {
        uint32_t number;
        size_t size;

        if (sent == MESSAGES && net_stats(push).queued_msgs == 0 &&
            net_stats(push).connections == 0)
            break; /* the last ones went with a reset */
        if (sent < MESSAGES && sennit_sock_send_bytes(push, &sent, sizeof sent,
                                                      SENNIT_DONTWAIT) == SENNIT_OK)
            sent++;
        if (resets < 5 && sent > (resets + 1) * 8000) {
            relay_cut(r);
            resets++;
        }
        assert_int_equal(sennit_loop_turn(n.loop, sent == MESSAGES ? 20 : 0), SENNIT_OK);
        while (sennit_sock_recv_bytes(pull, &number, sizeof number, &size,
                                      SENNIT_DONTWAIT) == SENNIT_OK) {
            if (number < next)
                fail_msg("%u came after %u", number, next - 1);
            gaps += number > next;
            next = number + 1;
        }
    }
    while (sennit_sock_next_event(push, &event) == SENNIT_OK)
        seen += event.kind == SENNIT_EVENT_DISCONNECTED;
    assert_int_equal(resets, 5);
    assert_true(seen >= 5);
    assert_true(gaps <= seen);
    net_check_law(push);
    net_close(&n);
    relay_close(r);
}

static void
D24_b_with_immediate_a_dead_endpoint_is_given_nothing(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *push;
    sennit_sock *pull;
    char alive[64];
    char text[16];

    (void)state;
    net_open(&n);
    opts.immediate = true;
    push = net_sock(&n, SENNIT_PUSH, &opts);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    snprintf(alive, sizeof alive, "%s", net_bind(pull, TCP));
    net_connect(push, net_vacant(TCP));
    assert_int_equal(net_try_send(push, "too early", SENNIT_DONTWAIT), SENNIT_EAGAIN);
    net_connect(push, alive);
    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof text, "%d", i);
        net_send(push, text);
    }
    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof text, "%d", i);
        assert_string_equal(net_recv(pull), text);
    }
    net_close(&n);
}

/* Connects twice, exchanges ten messages, disconnects once: nothing twice, nothing left.
 */
static void
connect_twice(sennit_sock_type type, sennit_sock_type host_type)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *host;
    sennit_sock *sock;
    char endpoint[64];
    char text[16];

    net_open(&n);
    host = net_sock(&n, host_type, NULL);
    if (type == SENNIT_DEALER) {
        opts.identity_size = 1;
        opts.identity[0] = 'i';
    }
    sock = net_sock(&n, type, &opts);
    if (type == SENNIT_SUB)
        net_subscribe(sock, "");
    if (host_type == SENNIT_SUB)
        net_subscribe(host, "");
    snprintf(endpoint, sizeof endpoint, "%s", net_bind(host, TCP));
    net_connect(sock, endpoint);
    net_connect(sock, endpoint);
    NET_UNTIL(&n, net_stats(host).connections == 1 && net_stats(sock).connections == 1);
    if (type == SENNIT_SUB)
        NET_UNTIL(&n, net_stats(host).subscriptions == 1);
    if (type == SENNIT_PUB)
        NET_UNTIL(&n, net_stats(sock).subscriptions == 1);
    for (int i = 0; i < 10; i++) {
        sennit_sock *from = type == SENNIT_SUB ? host : sock;
        sennit_sock *to = type == SENNIT_SUB ? sock : host;

        snprintf(text, sizeof text, "%d", i);
        net_send(from, text);
        if (host_type == SENNIT_ROUTER) {
            char expected[32];

            snprintf(expected, sizeof expected, "i|%d", i);
            assert_string_equal(net_recv(to), expected);
            net_send(to, expected);
            assert_string_equal(net_recv(from), text);
        } else {
            assert_string_equal(net_recv(to), text);
            if (type == SENNIT_REQ) {
                net_send(to, "answer");
                assert_string_equal(net_recv(from), "answer");
            }
        }
    }
    assert_int_equal(net_stats(host).connections, 1);
    assert_int_equal(sennit_sock_disconnect(sock, endpoint), SENNIT_OK);
    assert_int_equal(sennit_sock_disconnect(sock, endpoint), SENNIT_ENOENT);
    (void)net_event(&n, host, SENNIT_EVENT_DISCONNECTED);
    assert_int_equal(net_stats(sock).connections, 0);
    assert_int_equal(net_stats(sock).reconnects, 0);
    assert_int_equal(sennit_sock_get_peers(sock, NULL, 0), 0);
    net_close(&n);
}

static void
D25_a_second_connect_to_the_same_endpoint_changes_nothing_sub(void **state)
{
    (void)state;
    connect_twice(SENNIT_SUB, SENNIT_PUB);
}

static void
D25_a_second_connect_to_the_same_endpoint_changes_nothing_pub(void **state)
{
    (void)state;
    connect_twice(SENNIT_PUB, SENNIT_SUB);
}

static void
D25_a_second_connect_to_the_same_endpoint_changes_nothing_req(void **state)
{
    (void)state;
    connect_twice(SENNIT_REQ, SENNIT_REP);
}

static void
D25_a_second_connect_to_the_same_endpoint_changes_nothing_dealer(void **state)
{
    (void)state;
    connect_twice(SENNIT_DEALER, SENNIT_ROUTER);
}

static void
D25_a_push_that_connects_twice_has_two_connections_and_doubles_nothing(void **state)
{
    sennit_sock *push;
    sennit_sock *pull;
    char endpoint[64];
    bool seen[10] = { false };

    (void)state;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    push = net_sock(&n, SENNIT_PUSH, NULL);
    snprintf(endpoint, sizeof endpoint, "%s", net_bind(pull, TCP));
    net_connect(push, endpoint);
    net_connect(push, endpoint);
    NET_UNTIL(&n, net_stats(pull).connections == 2);
    for (char i = 0; i < 10; i++)
        assert_int_equal(sennit_sock_send_bytes(push, &i, 1, 0), SENNIT_OK);
    for (int i = 0; i < 10; i++) {
        char number;
        size_t size;

        assert_int_equal(sennit_sock_recv_bytes(pull, &number, 1, &size, 0), SENNIT_OK);
        assert_false(seen[(int)number]);
        seen[(int)number] = true;
    }
    assert_string_equal(net_recv_flags(pull, SENNIT_DONTWAIT), "EAGAIN");
    net_close(&n);
}

static void
D25_a_second_bind_to_the_same_endpoint_is_refused(void **state)
{
    sennit_sock *pull;

    (void)state;
    for (transport via = TCP; via <= INPROC; via++) {
        char endpoint[64];

        net_open(&n);
        pull = net_sock(&n, SENNIT_PULL, NULL);
        snprintf(endpoint, sizeof endpoint, "%s", net_bind(pull, via));
        assert_int_equal(sennit_sock_bind(pull, endpoint), SENNIT_EADDRINUSE);
        net_close(&n);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(D24_a_resets_lose_a_stretch_and_never_repeat_or_reorder),
    cmocka_unit_test(D24_b_with_immediate_a_dead_endpoint_is_given_nothing),
    cmocka_unit_test(D25_a_second_connect_to_the_same_endpoint_changes_nothing_sub),
    cmocka_unit_test(D25_a_second_connect_to_the_same_endpoint_changes_nothing_pub),
    cmocka_unit_test(D25_a_second_connect_to_the_same_endpoint_changes_nothing_req),
    cmocka_unit_test(D25_a_second_connect_to_the_same_endpoint_changes_nothing_dealer),
    cmocka_unit_test(
        D25_a_push_that_connects_twice_has_two_connections_and_doubles_nothing),
    cmocka_unit_test(D25_a_second_bind_to_the_same_endpoint_is_refused),
};

SENNIT_TEST_MAIN(tests)
