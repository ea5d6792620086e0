/* SPDX-License-Identifier: MIT */
/* What an application that is busy, careless or forked may rely on. Each of these
 * was found by reading, and broke. */
#include "net.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static net n;

/* Another loop of the same thread is another program: it moves only when asked. */
typedef struct other {
    sennit_loop *loop;
    sennit_sock *sock;
} other;

static other
other_open(sennit_sock_type type)
{
    sennit_sock_opts opts = net_opts();
    other o;

    assert_int_equal(sennit_loop_open(&o.loop, NULL), SENNIT_OK);
    opts.send_hwm_msgs = 0;
    assert_int_equal(sennit_sock_open(&o.sock, o.loop, type, &opts), SENNIT_OK);
    return o;
}

static void
other_turn(other *o)
{
    assert_int_equal(sennit_loop_turn(o->loop, 0), SENNIT_OK);
}

static bool
overdue(sennit_time started)
{
    return sennit_loop_now(n.loop) - started > (sennit_time)DEADLINE_MS * 1000000u;
}

static void
a_receiver_that_always_finds_data_hears_newcomers_too(void **state)
{
    sennit_sock *pull;
    other flood;
    other late;
    char body[16];
    size_t size;
    bool heard = false;
    sennit_time started;

    (void)state;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    (void)net_bind(pull, TCP);
    flood = other_open(SENNIT_PUSH);
    late = other_open(SENNIT_PUSH);
    net_connect(flood.sock, sennit_sock_last_endpoint(pull));
    net_connect(late.sock, sennit_sock_last_endpoint(pull));
    assert_int_equal(sennit_sock_send_bytes(late.sock, "late", 4, 0), SENNIT_OK);
    started = sennit_loop_now(n.loop);
    /* The loop of `pull` is never turned, and its receive never has to wait. */
    while (!heard && !overdue(started)) {
        for (int i = 0; i < 200; i++)
            assert_int_equal(sennit_sock_send_bytes(flood.sock, "flood", 5, 0),
                             SENNIT_OK);
        sennit_sock_flush(flood.sock);
        other_turn(&flood);
        other_turn(&late);
        for (int i = 0; i < 150; i++)
            if (sennit_sock_recv_bytes(pull, body, sizeof body, &size, SENNIT_DONTWAIT) ==
                    SENNIT_OK &&
                size == 4)
                heard = true;
    }
    assert_true(heard);
    sennit_loop_close(flood.loop);
    sennit_loop_close(late.loop);
    net_close(&n);
}

static void
a_publisher_that_only_sends_admits_its_subscribers(void **state)
{
    sennit_sock *pub;
    other sub;
    char body[16];
    size_t size;
    sennit_err err = SENNIT_EAGAIN;
    sennit_time started;

    (void)state;
    net_open(&n);
    pub = net_sock(&n, SENNIT_PUB, NULL);
    (void)net_bind(pub, TCP);
    sub = other_open(SENNIT_SUB);
    net_subscribe(sub.sock, "");
    net_connect(sub.sock, sennit_sock_last_endpoint(pub));
    started = sennit_loop_now(n.loop);
    while (err != SENNIT_OK && !overdue(started)) {
        assert_int_equal(sennit_sock_send_bytes(pub, "news", 4, 0), SENNIT_OK);
        other_turn(&sub);
        err = sennit_sock_recv_bytes(sub.sock, body, sizeof body, &size, SENNIT_DONTWAIT);
    }
    assert_int_equal(err, SENNIT_OK);
    sennit_loop_close(sub.loop);
    net_close(&n);
}

static void
a_receive_that_would_not_wait_lets_gathered_messages_go(void **state)
{
    sennit_sock *dealer;
    uint8_t frame[3];
    char body[4];
    size_t size;
    int fd;

    (void)state;
    net_open(&n);
    dealer = net_sock(&n, SENNIT_DEALER, NULL);
    fd = raw_connect(net_bind(dealer, TCP));
    raw_handshake(&n, fd, "DEALER", "");
    NET_UNTIL(&n, net_stats(dealer).connections == 1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(sennit_sock_send_bytes(dealer, "x", 1, 0), SENNIT_OK);
    assert_int_equal(
        sennit_sock_recv_bytes(dealer, body, sizeof body, &size, SENNIT_DONTWAIT),
        SENNIT_EAGAIN);
    assert_int_equal(net_stats(dealer).queued_msgs, 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(recv(fd, frame, sizeof frame, MSG_WAITALL), sizeof frame);
        assert_memory_equal(frame, "\0\1x", 3);
    }
    close(fd);
    net_close(&n);
}

/* A DEALER and, at the other end of its connection, a raw peer: the descriptor. */
static int
raw_peer_of(sennit_sock *dealer, bool connects)
{
    char endpoint[64];
    int listener = -1;
    int fd;

    if (connects) {
        listener = raw_listen(endpoint);
        net_connect(dealer, endpoint);
        fd = raw_accept(&n, listener);
        close(listener);
    } else {
        fd = raw_connect(net_bind(dealer, TCP));
    }
    raw_handshake(&n, fd, "DEALER", "");
    NET_UNTIL(&n, net_stats(dealer).connections == 1);
    return fd;
}

static void
end_connection(sennit_sock *dealer, bool connected, bool by_closing)
{
    if (by_closing)
        sennit_sock_close(dealer);
    else if (connected)
        assert_int_equal(
            sennit_sock_disconnect(dealer, sennit_sock_last_endpoint(dealer)), SENNIT_OK);
    else
        assert_int_equal(sennit_sock_unbind(dealer, sennit_sock_last_endpoint(dealer)),
                         SENNIT_OK);
}

/* Everything is with the kernel, or some of it still waits in the queue; the peer goes on
 * sending and does not read until the connection is ended. */
static void
closing_loses_nothing_although_input_is_unread(void **state)
{
    (void)state;
    for (unsigned row = 0; row < 8; row++) {
        static uint8_t body[1000];
        bool connects = row & 1;
        bool by_closing = row & 2;
        unsigned count = row & 4 ? 900 : 200;
        sennit_sock_opts opts = net_opts();
        sennit_sock *dealer;
        uint8_t buffer[4096] = { 0 };
        size_t received = 0;
        ssize_t got;
        int fd;

        net_open(&n);
        opts.linger_ms = DEADLINE_MS;
        opts.recv_hwm_msgs = 1;
        dealer = net_sock(&n, SENNIT_DEALER, &opts);
        fd = raw_peer_of(dealer, connects);
        for (unsigned i = 0; i < count; i++)
            assert_int_equal(sennit_sock_send_bytes(dealer, body, sizeof body, 0),
                             SENNIT_OK);
        sennit_sock_flush(dealer);
        if (count == 200)
            assert_int_equal(net_stats(dealer).queued_msgs, 0);
        for (int i = 0; i < 400; i++)
            raw_write(&n, fd, "\2\0\0\0\0\0\0\1\0", 9), raw_write(&n, fd, buffer, 256);
        end_connection(dealer, connects, by_closing);
        while ((got = recv(fd, buffer, sizeof buffer, MSG_DONTWAIT)) != 0) {
            if (got > 0)
                received += (size_t)got;
            else if (errno != EAGAIN)
                break;
            assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
        }
        assert_int_equal(received, count * (9 + sizeof body));
        close(fd);
        net_close(&n);
    }
}

static void
unbind_frees_the_address_before_it_returns(void **state)
{
    (void)state;
    for (int via = TCP; via <= IPC; via++) {
        char endpoint[128];
        sennit_sock *first;
        sennit_sock *second;

        net_open(&n);
        first = net_sock(&n, SENNIT_PULL, NULL);
        second = net_sock(&n, SENNIT_PULL, NULL);
        snprintf(endpoint, sizeof endpoint, "%s", net_vacant((transport)via));
        assert_int_equal(sennit_sock_bind(first, endpoint), SENNIT_OK);
        assert_int_equal(sennit_sock_unbind(first, endpoint), SENNIT_OK);
        assert_int_equal(sennit_sock_bind(second, endpoint), SENNIT_OK);
        sennit_sock_close(second);
        assert_int_equal(sennit_sock_bind(first, endpoint), SENNIT_OK);
        net_close(&n);
    }
}

static void
what_a_router_queued_for_one_peer_never_reaches_its_successor(void **state)
{
    sennit_sock_opts opts = net_opts();
    char endpoint[64];
    sennit_sock *router;
    sennit_event event;
    uint8_t octets[200];
    uint8_t head[2];
    int listener;
    int fd;

    (void)state;
    net_open(&n);
    opts.router_mandatory = true;
    router = net_sock(&n, SENNIT_ROUTER, &opts);
    listener = raw_listen(endpoint);
    net_connect(router, endpoint);
    fd = raw_accept(&n, listener);
    raw_handshake(&n, fd, "DEALER", "P1");
    (void)net_event(&n, router, SENNIT_EVENT_READY);
    /* More than the kernel takes, so that something still waits when P1 dies. */
    while (net_try_send(router, "P1|for P1 alone", SENNIT_DONTWAIT) == SENNIT_OK &&
           net_stats(router).queued_msgs < 500)
        ;
    for (int i = 0; i < 400; i++) {
        sennit_msg identity;
        sennit_msg big;

        assert_int_equal(sennit_msg_init_copy(&identity, "P1", 2), SENNIT_OK);
        assert_int_equal(sennit_msg_init_size(&big, 100000), SENNIT_OK);
        if (sennit_sock_send(router, &identity, SENNIT_MORE | SENNIT_DONTWAIT) ==
            SENNIT_OK)
            assert_int_equal(sennit_sock_send(router, &big, SENNIT_DONTWAIT), SENNIT_OK);
        sennit_msg_fini(&identity);
        sennit_msg_fini(&big);
    }
    assert_true(net_stats(router).queued_msgs > 0);
    close(fd);
    event = net_event(&n, router, SENNIT_EVENT_DISCONNECTED);
    assert_int_equal(event.err, SENNIT_ECONNRESET);
    assert_int_equal(net_stats(router).queued_msgs, 0);
    net_check_law(router);
    fd = raw_accept(&n, listener);
    raw_handshake(&n, fd, "DEALER", "P2");
    (void)net_event(&n, router, SENNIT_EVENT_READY);
    net_send(router, "P2|hello");
    /* The first thing P2 hears is what was said to it. */
    raw_read(&n, fd, head, sizeof head);
    assert_memory_equal(head, "\0\5", 2);
    raw_read(&n, fd, octets, 5);
    assert_memory_equal(octets, "hello", 5);
    assert_int_equal(net_try_send(router, "P1|anyone?", SENNIT_DONTWAIT),
                     SENNIT_EHOSTUNREACH);
    close(fd);
    close(listener);
    net_close(&n);
}

static void
a_forked_child_that_closes_its_copy_leaves_the_parent_alone(void **state)
{
    (void)state;
    for (int via = TCP; via <= IPC; via++) {
        sennit_sock *push;
        sennit_sock *pull;
        int status;
        pid_t child;

        net_open(&n);
        push = net_sock(&n, SENNIT_PUSH, NULL);
        pull = net_sock(&n, SENNIT_PULL, NULL);
        net_join(&n, pull, push, (transport)via);
        child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            sennit_loop_close(n.loop);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        net_send(push, "still here");
        assert_string_equal(net_recv(pull), "still here");
        /* And its address is still taken by it. */
        push = net_sock(&n, SENNIT_PUSH, NULL);
        net_connect(push, sennit_sock_last_endpoint(pull));
        net_send(push, "and reachable");
        assert_string_equal(net_recv(pull), "and reachable");
        net_close(&n);
    }
}

static unsigned calls;
static unsigned depth;

static void
wait_inside(sennit_sock *sock, unsigned ready, void *arg)
{
    char body[16];
    size_t size;

    (void)ready;
    (void)arg;
    calls++;
    assert_int_equal(depth, 0);
    depth++;
    /* Both messages, and the second one has to be waited for. */
    for (int i = 0; i < 2; i++)
        assert_int_equal(sennit_sock_recv_bytes(sock, body, sizeof body, &size, 0),
                         SENNIT_OK);
    depth--;
}

static void
send_second(void *arg)
{
    net_send(arg, "second");
}

static void
a_callback_that_waits_on_its_own_socket_is_not_called_inside_itself(void **state)
{
    sennit_timer timer = { 0 };
    sennit_sock *push;
    sennit_sock *pull;

    (void)state;
    calls = 0;
    net_open(&n);
    push = net_sock(&n, SENNIT_PUSH, NULL);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    net_join(&n, pull, push, TCP);
    sennit_sock_on_ready(pull, SENNIT_READABLE, wait_inside, NULL);
    net_send(push, "first");
    assert_int_equal(sennit_timer_start(n.loop, &timer, 50 * 1000000u, send_second, push),
                     SENNIT_OK);
    NET_UNTIL(&n, net_stats(pull).received_msgs == 2);
    assert_int_equal(calls, 1);
    net_close(&n);
}

static void
note_call(sennit_sock *sock, unsigned ready, void *arg)
{
    (void)ready;
    (void)arg;
    calls++;
    assert_string_equal(net_recv_flags(sock, SENNIT_DONTWAIT),
                        calls == 1 ? "one" : "two");
}

/* The second request is there already; only the turn of the REP keeps it back. */
static void
an_answer_given_outside_the_callback_brings_the_next_request(void **state)
{
    sennit_sock *rep;
    sennit_sock *one;
    sennit_sock *two;

    (void)state;
    calls = 0;
    net_open(&n);
    rep = net_sock(&n, SENNIT_REP, NULL);
    one = net_sock(&n, SENNIT_REQ, NULL);
    two = net_sock(&n, SENNIT_REQ, NULL);
    net_join(&n, rep, one, TCP);
    net_connect(two, sennit_sock_last_endpoint(rep));
    NET_UNTIL(&n, net_stats(rep).connections == 2);
    sennit_sock_on_ready(rep, SENNIT_READABLE, note_call, NULL);
    net_send(one, "one");
    NET_UNTIL(&n, calls == 1);
    net_send(two, "two");
    NET_UNTIL(&n, net_stats(two).queued_msgs == 0);
    assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
    assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
    assert_int_equal(calls, 1);
    net_send(rep, "answer");
    NET_UNTIL(&n, calls == 2);
    net_close(&n);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_receiver_that_always_finds_data_hears_newcomers_too),
    cmocka_unit_test(a_publisher_that_only_sends_admits_its_subscribers),
    cmocka_unit_test(a_receive_that_would_not_wait_lets_gathered_messages_go),
    cmocka_unit_test(closing_loses_nothing_although_input_is_unread),
    cmocka_unit_test(unbind_frees_the_address_before_it_returns),
    cmocka_unit_test(what_a_router_queued_for_one_peer_never_reaches_its_successor),
    cmocka_unit_test(a_forked_child_that_closes_its_copy_leaves_the_parent_alone),
    cmocka_unit_test(a_callback_that_waits_on_its_own_socket_is_not_called_inside_itself),
    cmocka_unit_test(an_answer_given_outside_the_callback_brings_the_next_request),
};

SENNIT_TEST_MAIN(tests)
