/* SPDX-License-Identifier: MIT */
/* Peers that come late, go, come back, are too many, or are refused. */
#include "net.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static net n;

/* A PULL or the like that can be reached at `endpoint` again. */
static sennit_sock *
bind_again(sennit_sock_type type, const char *endpoint)
{
    sennit_sock *sock = net_sock(&n, type, NULL);
    sennit_time started = sennit_loop_now(n.loop);

    /* The descriptor of the one before closes at the end of a turn. */
    while (sennit_sock_bind(sock, endpoint) == SENNIT_EADDRINUSE)
        net_turn(&n, started, "the endpoint");
    return sock;
}

/* ---- coming late and coming back --------------------------------------- */

static void
a_connect_may_come_before_the_bind(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        const char *endpoint = net_vacant((transport)via);
        sennit_sock *req;
        sennit_sock *rep;

        net_open(&n);
        req = net_sock(&n, SENNIT_REQ, NULL);
        net_connect(req, endpoint);
        net_send(req, "early|bird");
        rep = bind_again(SENNIT_REP, endpoint);
        assert_string_equal(net_recv(rep), "early|bird");
        net_send(rep, "worm");
        assert_string_equal(net_recv(req), "worm");
        net_check_law(req);
        net_close(&n);
    }
}

static void
queued_messages_arrive_once_and_in_order_when_the_listener_is_back(void **state)
{
    char endpoint[128];
    char text[32];

    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock *push;
        sennit_sock *pull;

        if (via == INPROC)
            continue; /* an inproc connection that is cut is not made again */
        net_open(&n);
        push = net_sock(&n, SENNIT_PUSH, NULL);
        snprintf(endpoint, sizeof endpoint, "%s", net_vacant((transport)via));
        pull = bind_again(SENNIT_PULL, endpoint);
        net_connect(push, endpoint);
        for (int life = 0; life < 5; life++) {
            for (int i = 0; i < 10; i++) {
                snprintf(text, sizeof text, "%d|%d", life, i);
                net_send(push, text);
            }
            if (life > 0)
                pull = bind_again(SENNIT_PULL, endpoint);
            for (int i = 0; i < 10; i++) {
                snprintf(text, sizeof text, "%d|%d", life, i);
                assert_string_equal(net_recv(pull), text);
            }
            sennit_sock_close(pull);
            net_event(&n, push, SENNIT_EVENT_DISCONNECTED);
        }
        assert_int_equal(net_stats(push).delivered_msgs, 50);
        assert_true(net_stats(push).reconnects >= 4);
        net_check_law(push);
        net_close(&n);
    }
}

static void
subscriptions_are_told_again_and_in_order_when_the_publisher_is_back(void **state)
{
    char endpoint[128];

    (void)state;
    for (int via = 0; via < INPROC; via++) {
        sennit_sock *sub;
        sennit_sock *pub;

        net_open(&n);
        sub = net_sock(&n, SENNIT_SUB, NULL);
        net_subscribe(sub, "a");
        snprintf(endpoint, sizeof endpoint, "%s", net_vacant((transport)via));
        net_connect(sub, endpoint);
        for (int life = 0; life < 3; life++) {
            pub = bind_again(SENNIT_PUB, endpoint);
            NET_UNTIL(&n, net_stats(pub).subscriptions == 1 + (unsigned)life);
            net_send(pub, "b|not asked for");
            net_send(pub, "a|asked for");
            assert_string_equal(net_recv(sub), "a|asked for");
            assert_int_equal(net_stats(pub).dropped_no_peer_msgs, 1);
            sennit_sock_close(pub);
            net_event(&n, sub, SENNIT_EVENT_DISCONNECTED);
            assert_int_equal(
                sennit_sock_subscribe(
                    sub, (sennit_bytes){ (const uint8_t *)(life == 0 ? "x" : "y"), 1 }),
                SENNIT_OK);
        }
        net_close(&n);
    }
}

static void
an_unsubscribe_reaches_the_publisher(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_bytes a = { (const uint8_t *)"a", 1 };
        sennit_sock *sub;
        sennit_sock *pub;

        net_open(&n);
        sub = net_sock(&n, SENNIT_SUB, NULL);
        pub = net_sock(&n, SENNIT_PUB, NULL);
        assert_int_equal(sennit_sock_subscribe(sub, a), SENNIT_OK);
        assert_int_equal(sennit_sock_subscribe(sub, a), SENNIT_OK);
        net_join(&n, pub, sub, (transport)via);
        NET_UNTIL(&n, net_stats(pub).subscriptions == 1);
        assert_int_equal(sennit_sock_unsubscribe(sub, a), SENNIT_OK);
        net_send(pub, "a1");
        assert_string_equal(net_recv(sub), "a1");
        assert_int_equal(sennit_sock_unsubscribe(sub, a), SENNIT_OK);
        NET_UNTIL(&n, net_stats(pub).subscriptions == 0);
        assert_int_equal(sennit_sock_unsubscribe(sub, a), SENNIT_ENOENT);
        net_close(&n);
    }
}

/* A PULL that has read of a large message only its beginning goes. That message is
 * dropped and counted, the ones behind it go to the next connection. */
static void
a_message_that_was_begun_is_not_begun_again_on_the_next_connection(void **state)
{
    sennit_sock_opts opts = net_opts();
    char endpoint[64];
    uint8_t head[9];
    int listener = raw_listen(endpoint);
    sennit_sock *push;
    sennit_msg big;
    int fd;

    (void)state;
    opts.send_hwm_bytes = 0;
    net_open(&n);
    push = net_sock(&n, SENNIT_PUSH, &opts);
    net_connect(push, endpoint);
    fd = raw_accept(&n, listener);
    raw_handshake(&n, fd, "PULL", NULL);
    net_send(push, "small");
    assert_int_equal(sennit_msg_init_size(&big, 32u << 20), SENNIT_OK);
    memset(sennit_msg_data(&big), 1, 32u << 20);
    assert_int_equal(sennit_sock_send(push, &big, 0), SENNIT_OK);
    net_send(push, "after|it");
    raw_read(&n, fd, head, 7);
    assert_memory_equal(head, "\x00\x05small", 7);
    raw_read(&n, fd, head, 9);
    assert_int_equal(head[0], 2);
    close(fd);
    fd = raw_accept(&n, listener);
    raw_handshake(&n, fd, "PULL", NULL);
    raw_read(&n, fd, head, 7);
    assert_memory_equal(head,
                        "\x01\x05"
                        "after",
                        7);
    assert_int_equal(net_stats(push).dropped_disconnect_msgs, 1);
    net_check_law(push);
    close(fd);
    close(listener);
    net_close(&n);
}

/* Small messages that had left whole before the connection broke are delivered, also
 * when others behind them in the same piece had not. */
static void
whole_messages_of_a_half_written_batch_count_as_delivered(void **state)
{
    static uint8_t body[1000];
    char endpoint[64];
    int listener = raw_listen(endpoint);
    sennit_sock_opts opts = net_opts();
    sennit_sock *push;
    sennit_sock_stats stats;
    int size = 4096;
    int fd;

    (void)state;
    assert_int_equal(setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &size, sizeof size), 0);
    net_open(&n);
    opts.send_hwm_msgs = 0;
    push = net_sock(&n, SENNIT_PUSH, &opts);
    net_connect(push, endpoint);
    fd = raw_accept(&n, listener);
    raw_handshake(&n, fd, "PULL", NULL);
    for (int i = 0; i < 20000; i++)
        assert_int_equal(sennit_sock_send_bytes(push, body, sizeof body, 0), SENNIT_OK);
    for (int i = 0; i < 20; i++)
        assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
    assert_true(net_stats(push).queued_msgs > 0);
    close(fd);
    close(listener);
    net_event(&n, push, SENNIT_EVENT_DISCONNECTED);
    stats = net_stats(push);
    assert_true(stats.dropped_disconnect_msgs <= 1);
    assert_true(stats.delivered_msgs > 0);
    net_check_law(push);
    net_close(&n);
}

/* ---- going in the middle ----------------------------------------------- */

static void
a_receiver_never_sees_a_message_whose_sender_died_in_the_middle(void **state)
{
    static const char part[] = "\x01\x03one\x01\x03two";
    static const char whole[] = "\x01\x03"
                                "and\x00\x04more";
    static const struct {
        sennit_sock_type ours;
        const char *theirs;
    } rows[] = { { SENNIT_PULL, "PUSH" },
                 { SENNIT_DEALER, "DEALER" },
                 { SENNIT_PAIR, "PAIR" } };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        sennit_sock *sock;
        const char *endpoint;
        sennit_event event;
        int fd;

        net_open(&n);
        sock = net_sock(&n, rows[i].ours, NULL);
        endpoint = net_bind(sock, TCP);
        fd = raw_connect(endpoint);
        raw_handshake(&n, fd, rows[i].theirs, NULL);
        raw_write(&n, fd, whole, sizeof whole - 1);
        raw_write(&n, fd, part, sizeof part - 1);
        close(fd);
        event = net_event(&n, sock, SENNIT_EVENT_DISCONNECTED);
        assert_int_equal(event.err, SENNIT_ECONNRESET);
        assert_string_equal(event.reason, "closed by peer in the middle of a message");
        assert_string_equal(net_recv(sock), "and|more");
        fd = raw_connect(endpoint);
        raw_handshake(&n, fd, rows[i].theirs, NULL);
        raw_write(&n, fd, whole, sizeof whole - 1);
        assert_string_equal(net_recv(sock), "and|more");
        assert_string_equal(net_recv_flags(sock, SENNIT_DONTWAIT), "EAGAIN");
        close(fd);
        net_close(&n);
    }
}

static void
the_rest_of_a_message_is_swallowed_when_its_receiver_dies(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        for (int binds = 0; binds < 2; binds++) {
            sennit_sock *push;
            sennit_sock *first;
            sennit_sock *second;
            sennit_msg msg;

            net_open(&n);
            push = net_sock(&n, SENNIT_PUSH, NULL);
            first = net_sock(&n, SENNIT_PULL, NULL);
            net_join(&n, binds ? push : first, binds ? first : push, (transport)via);
            assert_int_equal(sennit_msg_init_copy(&msg, "lost", 4), SENNIT_OK);
            assert_int_equal(sennit_sock_send(push, &msg, SENNIT_MORE), SENNIT_OK);
            assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
            sennit_sock_close(first);
            NET_UNTIL(&n, net_stats(push).connections == 0);
            second = net_sock(&n, SENNIT_PULL, NULL);
            net_join(&n, second, push, (transport)via);
            assert_int_equal(sennit_msg_init_copy(&msg, "lost", 4), SENNIT_OK);
            assert_int_equal(sennit_sock_send(push, &msg, 0), SENNIT_OK);
            net_send(push, "next|one");
            if (!binds && via != INPROC) /* or it waits for the first to come back */
                net_send(push, "next|one");
            assert_string_equal(net_recv(second), "next|one");
            assert_int_equal(net_stats(push).dropped_disconnect_msgs, 1);
            net_check_law(push);
            net_close(&n);
        }
    }
}

static void
a_req_whose_peer_dies_is_told_once_and_asks_the_next_one(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        for (int binds = 0; binds < 2; binds++) {
            sennit_sock *req;
            sennit_sock *first;
            sennit_sock *second;

            net_open(&n);
            req = net_sock(&n, SENNIT_REQ, NULL);
            first = net_sock(&n, SENNIT_REP, NULL);
            net_join(&n, binds ? req : first, binds ? first : req, (transport)via);
            net_send(req, "1");
            assert_string_equal(net_recv(first), "1");
            sennit_sock_close(first);
            assert_string_equal(net_recv(req), "ECONNRESET");
            assert_string_equal(net_recv_flags(req, SENNIT_DONTWAIT), "ESTATE");
            second = net_sock(&n, SENNIT_REP, NULL);
            if (binds || via == INPROC) {
                net_join(&n, req, second, (transport)via);
                net_send(req, "2");
                assert_string_equal(net_recv(second), "2");
                net_send(second, "two");
                assert_string_equal(net_recv(req), "two");
            }
            net_check_law(req);
            net_close(&n);
        }
    }
}

static void
a_req_whose_peer_dies_while_it_asks_is_told(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        for (int binds = 0; binds < 2; binds++) {
            sennit_sock *req;
            sennit_sock *rep;
            sennit_msg msg;

            net_open(&n);
            req = net_sock(&n, SENNIT_REQ, NULL);
            rep = net_sock(&n, SENNIT_REP, NULL);
            net_join(&n, binds ? req : rep, binds ? rep : req, (transport)via);
            assert_int_equal(sennit_msg_init_copy(&msg, "half", 4), SENNIT_OK);
            assert_int_equal(sennit_sock_send(req, &msg, SENNIT_MORE), SENNIT_OK);
            assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
            sennit_sock_close(rep);
            NET_UNTIL(&n, net_stats(req).connections == 0);
            assert_int_equal(sennit_msg_init_copy(&msg, "half", 4), SENNIT_OK);
            assert_int_equal(sennit_sock_send(req, &msg, 0), SENNIT_OK);
            assert_string_equal(net_recv(req), "ECONNRESET");
            rep = net_sock(&n, SENNIT_REP, NULL);
            if (binds || via == INPROC) {
                net_join(&n, req, rep, (transport)via);
                net_send(req, "whole");
                assert_string_equal(net_recv(rep), "whole");
            }
            net_check_law(req);
            net_close(&n);
        }
    }
}

static void
what_a_peer_sent_before_it_went_can_still_be_received(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        for (int binds = 0; binds < 2; binds++) {
            sennit_sock_opts opts = net_opts();
            sennit_sock *pull;
            sennit_sock *push;

            opts.linger_ms = -1;
            net_open(&n);
            pull = net_sock(&n, SENNIT_PULL, NULL);
            push = net_sock(&n, SENNIT_PUSH, &opts);
            net_join(&n, binds ? pull : push, binds ? push : pull, (transport)via);
            for (int i = 0; i < 100; i++)
                net_send(push,
                         i % 2 ? "odd|"
                                 "a body that is longer than fits into a message itself"
                               : "even");
            sennit_sock_close(push);
            NET_UNTIL(&n, net_stats(pull).connections == 0);
            for (int i = 0; i < 100; i++)
                assert_string_equal(
                    net_recv(pull),
                    i % 2 ? "odd|a body that is longer than fits into a message itself"
                          : "even");
            assert_string_equal(net_recv_flags(pull, SENNIT_DONTWAIT), "EAGAIN");
            net_close(&n);
        }
    }
}

/* The first to notice that the peer has gone is a write. */
static void
what_a_peer_sent_before_it_went_is_received_though_a_write_failed(void **state)
{
    enum { MESSAGES = 30 };
    static uint8_t said[MESSAGES][9 + 1000];

    (void)state;
    for (int row = 0; row < 3; row++) {
        sennit_sock_opts opts = net_opts();
        bool connects = row == 2;
        uint8_t body[1000] = { 0 };
        sennit_sock *dealer;
        char endpoint[64];
        int listener = -1;
        int fd;

        net_open(&n);
        opts.recv_hwm_msgs = 1;
        dealer = net_sock(&n, SENNIT_DEALER, &opts);
        if (connects) {
            listener = raw_listen(endpoint);
            net_connect(dealer, endpoint);
            fd = raw_accept(&n, listener);
            close(listener);
        } else {
            fd = raw_connect(net_bind(dealer, row == 0 ? TCP : IPC));
        }
        raw_handshake(&n, fd, "DEALER", "");
        NET_UNTIL(&n, net_stats(dealer).connections == 1);
        for (uint8_t i = 0; i < MESSAGES; i++) {
            memcpy(said[i], "\2\0\0\0\0\0\0\3\350", 9);
            said[i][9] = i;
        }
        raw_write(&n, fd, said[0], sizeof said[0]);
        NET_UNTIL(&n, net_only_peer(dealer).unread_msgs == 1);
        /* The others stay with the kernel here, of which the peer's is rid at once. */
        raw_write(&n, fd, said[1], sizeof said - sizeof said[0]);
        close(fd);
        /* TCP hears of it only by the answer to the first. */
        for (int i = 0; i < 2; i++) {
            sennit_err err = sennit_sock_send_bytes(dealer, "x", 1, SENNIT_DONTWAIT);

            assert_true(err == SENNIT_OK || (err == SENNIT_EAGAIN && i == 1));
            sennit_sock_flush(dealer);
        }
        for (uint8_t i = 0; i < MESSAGES; i++) {
            size_t size;

            assert_int_equal(sennit_sock_recv_bytes(dealer, body, sizeof body, &size, 0),
                             SENNIT_OK);
            assert_int_equal(body[0], i);
        }
        net_event(&n, dealer, SENNIT_EVENT_DISCONNECTED);
        net_check_law(dealer);
        net_close(&n);
    }
}

/* A peer that only stops reading (a unix socket can): nothing ends the input. */
static void
a_peer_that_stops_reading_and_says_nothing_is_given_up(void **state)
{
    sennit_sock *dealer;
    sennit_event event;
    int fd;

    (void)state;
    net_open(&n);
    dealer = net_sock(&n, SENNIT_DEALER, NULL);
    fd = raw_connect(net_bind(dealer, IPC));
    raw_handshake(&n, fd, "DEALER", "");
    NET_UNTIL(&n, net_stats(dealer).connections == 1);
    assert_int_equal(shutdown(fd, SHUT_RD), 0);
    net_send(dealer, "is anybody there?");
    sennit_sock_flush(dealer);
    event = net_event(&n, dealer, SENNIT_EVENT_DISCONNECTED);
    assert_int_equal(event.err, SENNIT_ECONNRESET);
    net_check_law(dealer);
    close(fd);
    net_close(&n);
}

/* ... and one that sends on and on all the same is neither taken in without end, nor does
 * it keep a closed socket. */
static void
a_peer_that_only_sends_hurts_only_its_own_connection(void **state)
{
    enum { FLOOD = 128 << 20 };
    static uint8_t frame[64 << 10] = { 2, 0, 0, 0, 0, 0, 0, 0xff, 0xf7 };

    (void)state;
    for (int closes = 0; closes <= 1; closes++) {
        sennit_sock_opts opts = net_opts();
        size_t sent = 0;
        size_t at = 0;
        sennit_sock *dealer;
        int fd;

        net_open(&n);
        opts.recv_hwm_msgs = 1;
        opts.linger_ms = DEADLINE_MS;
        dealer = net_sock(&n, SENNIT_DEALER, &opts);
        fd = raw_connect(net_bind(dealer, IPC));
        raw_handshake(&n, fd, "DEALER", "");
        NET_UNTIL(&n, net_stats(dealer).connections == 1);
        assert_int_equal(shutdown(fd, SHUT_RD), 0);
        net_send(dealer, "is anybody there?");
        sennit_sock_flush(dealer);
        if (closes)
            sennit_sock_close(dealer);
        while (sent < FLOOD) {
            ssize_t wrote = send(fd, frame + at, sizeof frame - at, MSG_NOSIGNAL);

            if (wrote < 0 && errno != EAGAIN)
                break;
            if (wrote > 0) {
                sent += (size_t)wrote;
                at = (at + (size_t)wrote) % sizeof frame;
            }
            assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
        }
        assert_true(sent < FLOOD);
        assert_true(n.alloc.peak_bytes < 80 << 20);
        close(fd);
        net_close(&n);
    }
}

/* Read only after the next connection is there: the old ones first, under the number
 * of the connection they came through, and then it goes on receiving. */
static void
what_came_before_a_reconnect_is_read_first_and_then_the_rest(void **state)
{
    static const char *const said[] = { "\x00\x03old\x00\x03old\x00\x03old",
                                        "\x00\x03new\x00\x03new\x00\x03new" };
    struct linger reset = { 1, 0 };
    char endpoint[64];
    int listener = raw_listen(endpoint);
    sennit_sock_opts opts = net_opts();
    sennit_sock *dealer;
    uint32_t numbers[2];
    int fd = -1;

    (void)state;
    opts.recv_hwm_msgs = 2;
    net_open(&n);
    dealer = net_sock(&n, SENNIT_DEALER, &opts);
    net_connect(dealer, endpoint);
    for (int life = 0; life < 2; life++) {
        fd = raw_accept(&n, listener);
        raw_handshake(&n, fd, "DEALER", NULL);
        numbers[life] = net_event(&n, dealer, SENNIT_EVENT_READY).peer;
        raw_write(&n, fd, said[life], 15);
        if (life > 0)
            break;
        NET_UNTIL(&n, sennit_sock_ready(dealer) & SENNIT_READABLE);
        /* It does not receive any more, so sending is what hears of the end. */
        assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
        close(fd);
        net_send(dealer, "into the void");
        net_event(&n, dealer, SENNIT_EVENT_DISCONNECTED);
    }
    assert_int_not_equal(numbers[0], numbers[1]);
    for (int i = 0; i < 6; i++) {
        sennit_msg msg;

        sennit_msg_init(&msg);
        assert_int_equal(sennit_sock_recv(dealer, &msg, 0), SENNIT_OK);
        assert_memory_equal(sennit_msg_data(&msg), i < 3 ? "old" : "new", 3);
        assert_int_equal(sennit_msg_peer(&msg), numbers[i >= 3]);
        sennit_msg_fini(&msg);
    }
    assert_string_equal(net_recv_flags(dealer, SENNIT_DONTWAIT), "EAGAIN");
    net_check_law(dealer);
    close(fd);
    close(listener);
    net_close(&n);
}

/* ---- refused ----------------------------------------------------------- */

static void
a_second_peer_of_a_pair_is_refused_and_both_are_told(void **state)
{
    (void)state;
    for (int via = 0; via < INPROC; via++) {
        sennit_sock *pair;
        sennit_sock *first;
        sennit_sock *second;
        sennit_event event;

        net_open(&n);
        pair = net_sock(&n, SENNIT_PAIR, NULL);
        first = net_sock(&n, SENNIT_PAIR, NULL);
        second = net_sock(&n, SENNIT_PAIR, NULL);
        net_join(&n, pair, first, (transport)via);
        net_connect(second, sennit_sock_last_endpoint(pair));
        event = net_event(&n, pair, SENNIT_EVENT_HANDSHAKE_FAILED);
        assert_int_equal(event.err, SENNIT_EEXIST);
        assert_string_equal(event.reason, "this socket has a peer already");
        event = net_event(&n, second, SENNIT_EVENT_HANDSHAKE_FAILED);
        assert_true(event.reason[0] != '\0');
        net_send(first, "mine");
        assert_string_equal(net_recv(pair), "mine");
        sennit_sock_close(first);
        /* Now it is let in: it keeps trying. */
        NET_UNTIL(&n,
                  net_stats(pair).connections == 1 && net_stats(second).connections == 1);
        net_send(pair, "yours");
        assert_string_equal(net_recv(second), "yours");
        net_close(&n);
    }
}

static void
a_second_peer_of_a_pair_is_refused_over_inproc_too(void **state)
{
    sennit_sock *pair;
    sennit_sock *first;
    sennit_sock *second;

    (void)state;
    net_open(&n);
    pair = net_sock(&n, SENNIT_PAIR, NULL);
    first = net_sock(&n, SENNIT_PAIR, NULL);
    second = net_sock(&n, SENNIT_PAIR, NULL);
    net_join(&n, pair, first, INPROC);
    assert_int_equal(sennit_sock_connect(second, sennit_sock_last_endpoint(pair)),
                     SENNIT_EEXIST);
    assert_int_equal(net_stats(pair).connections, 1);
    assert_int_equal(net_stats(second).connections, 0);
    net_send(first, "mine");
    assert_string_equal(net_recv(pair), "mine");
    sennit_sock_close(first);
    assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
    net_connect(second, sennit_sock_last_endpoint(pair));
    net_send(pair, "yours");
    assert_string_equal(net_recv(second), "yours");
    net_close(&n);
}

static void
an_identity_in_use_is_refused_until_its_owner_leaves(void **state)
{
    (void)state;
    for (int via = 0; via < INPROC; via++) {
        sennit_sock *router;
        sennit_sock *first;
        sennit_sock *second;
        sennit_event event;

        net_open(&n);
        router = net_sock(&n, SENNIT_ROUTER, NULL);
        first = net_named(&n, SENNIT_DEALER, "same");
        second = net_named(&n, SENNIT_DEALER, "same");
        net_join(&n, router, first, (transport)via);
        net_connect(second, sennit_sock_last_endpoint(router));
        event = net_event(&n, router, SENNIT_EVENT_HANDSHAKE_FAILED);
        assert_int_equal(event.err, SENNIT_EEXIST);
        assert_string_equal(event.reason, "identity is in use by another peer");
        event = net_event(&n, second, SENNIT_EVENT_HANDSHAKE_FAILED);
        assert_true(event.reason[0] != '\0');
        net_send(router, "same|for the first");
        assert_string_equal(net_recv(first), "for the first");
        sennit_sock_close(first);
        NET_UNTIL(&n, net_stats(router).connections == 1 &&
                          net_stats(second).connections == 1);
        net_send(router, "same|for the second");
        assert_string_equal(net_recv(second), "for the second");
        net_close(&n);
    }
}

/* The router connects and meets the same identity at two ends. */
static void
an_identity_in_use_is_refused_over_inproc_at_either_end(void **state)
{
    sennit_sock *router;
    sennit_sock *first;
    sennit_sock *second;
    char taken[64];

    (void)state;
    net_open(&n);
    router = net_sock(&n, SENNIT_ROUTER, NULL);
    first = net_named(&n, SENNIT_DEALER, "same");
    second = net_named(&n, SENNIT_DEALER, "same");
    net_join(&n, first, router, INPROC);
    snprintf(taken, sizeof taken, "%s", net_bind(second, INPROC));
    assert_int_equal(sennit_sock_connect(router, taken), SENNIT_EEXIST);
    assert_int_equal(net_stats(second).connections, 0);
    assert_int_equal(net_stats(router).connections, 1);
    assert_int_equal(sennit_sock_connect(second, net_bind(router, INPROC)),
                     SENNIT_EEXIST);
    assert_int_equal(net_stats(second).connections, 0);
    assert_int_equal(net_stats(router).connections, 1);
    net_send(router, "same|x");
    assert_string_equal(net_recv(first), "x");
    net_close(&n);
}

/* The same where the connect waited for the bind: the connecter is told. */
static void
an_identity_in_use_is_refused_when_the_bind_comes_late(void **state)
{
    const char *endpoint = net_vacant(INPROC);
    sennit_sock *router;
    sennit_sock *first;
    sennit_sock *second;
    sennit_event event;

    (void)state;
    net_open(&n);
    router = net_sock(&n, SENNIT_ROUTER, NULL);
    first = net_named(&n, SENNIT_DEALER, "same");
    second = net_named(&n, SENNIT_DEALER, "same");
    net_connect(first, endpoint);
    net_connect(second, endpoint);
    net_send(second, "into the void");
    assert_int_equal(sennit_sock_bind(router, endpoint), SENNIT_OK);
    event = net_event(&n, second, SENNIT_EVENT_HANDSHAKE_FAILED);
    assert_int_equal(event.err, SENNIT_EEXIST);
    assert_int_equal(net_stats(router).connections, 1);
    assert_int_equal(net_stats(first).connections, 1);
    assert_int_equal(net_stats(second).connections, 0);
    net_send(router, "same|x");
    assert_string_equal(net_recv(first), "x");
    net_close(&n);
}

/* What it would have begun with is not received: nobody was told of the connection. */
static void
a_peer_that_is_refused_over_inproc_greets_nobody(void **state)
{
    sennit_sock_opts opts = net_opts();
    char endpoint[64];
    sennit_sock *router;

    (void)state;
    opts.identity[0] = 'A';
    opts.identity_size = 1;
    opts.hello = net_bytes("hello");
    net_open(&n);
    router = net_sock(&n, SENNIT_ROUTER, NULL);
    for (int i = 0; i < 2; i++) {
        snprintf(endpoint, sizeof endpoint, "%s", net_vacant(INPROC));
        net_connect(router, endpoint);
        assert_int_equal(sennit_sock_bind(net_sock(&n, SENNIT_DEALER, &opts), endpoint),
                         SENNIT_OK);
    }
    assert_int_equal(net_event(&n, router, SENNIT_EVENT_HANDSHAKE_FAILED).err,
                     SENNIT_EEXIST);
    assert_string_equal(net_recv(router), "A|hello");
    assert_string_equal(net_recv_flags(router, SENNIT_DONTWAIT), "EAGAIN");
    net_close(&n);
}

/* ---- a name given by the application ----------------------------------- */

/* Whatever stops a connection before it is READY: what waits for the name is not for
 * that connection. */
static void
what_waits_for_an_assigned_name_survives_a_failed_handshake(void **state)
{
    sennit_sock *router;
    char endpoint[64];
    char body[5];
    int listener;
    int fd;

    (void)state;
    net_open(&n);
    router = net_sock(&n, SENNIT_ROUTER, NULL);
    listener = raw_listen(endpoint);
    assert_int_equal(sennit_sock_connect_as(router, endpoint, net_bytes("X")), SENNIT_OK);
    for (int i = 0; i < 3; i++)
        net_send(router, "X|job");
    fd = raw_accept(&n, listener);
    close(fd);
    net_event(&n, router, SENNIT_EVENT_HANDSHAKE_FAILED);
    assert_int_equal(net_stats(router).queued_msgs, 3);
    fd = raw_accept(&n, listener);
    raw_handshake(&n, fd, "DEALER", "");
    for (int i = 0; i < 3; i++) {
        raw_read(&n, fd, body, 5);
        assert_memory_equal(body, "\0\3job", 5);
    }
    net_check_law(router);
    close(fd);
    close(listener);
    net_close(&n);
}

/* ---- ROUTER, mandatory ------------------------------------------------- */

static sennit_sock *
mandatory_router(int hwm)
{
    sennit_sock_opts opts = net_opts();

    opts.router_mandatory = true;
    opts.send_hwm_msgs = hwm;
    return net_sock(&n, SENNIT_ROUTER, &opts);
}

static void
a_mandatory_router_tells_no_such_peer_from_no_room(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        static char body[65536];
        sennit_sock *router;
        sennit_sock *dealer;
        sennit_msg msg;
        sennit_err err = SENNIT_OK;
        int sent = 0;

        net_open(&n);
        router = mandatory_router(3);
        dealer = net_named(&n, SENNIT_DEALER, "d");
        net_join(&n, router, dealer, (transport)via);
        assert_int_equal(net_try_send(router, "nobody|x", SENNIT_DONTWAIT),
                         SENNIT_EHOSTUNREACH);
        while (sent < 100000) {
            assert_int_equal(sennit_msg_init_copy(&msg, "d", 1), SENNIT_OK);
            err = sennit_sock_send(router, &msg, SENNIT_DONTWAIT | SENNIT_MORE);
            sennit_msg_fini(&msg);
            if (err)
                break;
            assert_int_equal(sennit_sock_send_bytes(router, body, sizeof body, 0),
                             SENNIT_OK);
            sent++;
            assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
        }
        assert_int_equal(err, SENNIT_EAGAIN);
        for (int i = 0; i < sent; i++) {
            size_t size;

            assert_int_equal(sennit_sock_recv_bytes(dealer, body, 1, &size, 0),
                             SENNIT_OK);
            assert_int_equal(size, sizeof body);
        }
        net_send(router, "d|again");
        assert_string_equal(net_recv(dealer), "again");
        net_check_law(router);
        net_close(&n);
    }
}

static void
close_it(void *arg)
{
    sennit_sock_close(arg);
}

static void
a_mandatory_send_that_waits_ends_when_its_peer_dies(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock *router;
        sennit_sock *dealer;
        sennit_timer timer = { 0 };
        sennit_msg msg;
        sennit_err err = SENNIT_OK;

        net_open(&n);
        router = mandatory_router(2);
        dealer = net_named(&n, SENNIT_DEALER, "d");
        net_join(&n, router, dealer, (transport)via);
        for (int sent = 0; err == SENNIT_OK && sent < 100000; sent++) {
            assert_int_equal(sennit_msg_init_copy(&msg, "d", 1), SENNIT_OK);
            err = sennit_sock_send(router, &msg, SENNIT_DONTWAIT | SENNIT_MORE);
            sennit_msg_fini(&msg);
            if (err)
                break;
            assert_int_equal(sennit_msg_init_size(&msg, 65536), SENNIT_OK);
            memset(sennit_msg_data(&msg), 0, 65536);
            assert_int_equal(sennit_sock_send(router, &msg, 0), SENNIT_OK);
            assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
        }
        assert_int_equal(err, SENNIT_EAGAIN);
        assert_int_equal(sennit_timer_start(n.loop, &timer, 1000000, close_it, dealer),
                         SENNIT_OK);
        assert_int_equal(net_try_send(router, "d|x", 0), SENNIT_EHOSTUNREACH);
        net_check_law(router);
        net_close(&n);
    }
}

/* ---- many -------------------------------------------------------------- */

#define MANY 200

static void
two_hundred_peers_on_one_socket_lose_and_double_nothing(void **state)
{
    static sennit_sock *dealers[MANY];
    static unsigned seen[MANY];
    char text[64];

    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock *router;
        const char *endpoint;

        net_open(&n);
        memset(seen, 0, sizeof seen);
        router = net_sock(&n, SENNIT_ROUTER, NULL);
        endpoint = net_bind(router, (transport)via);
        for (int i = 0; i < MANY; i++) {
            snprintf(text, sizeof text, "d%d", i);
            dealers[i] = net_named(&n, SENNIT_DEALER, text);
            net_connect(dealers[i], endpoint);
        }
        NET_UNTIL(&n, net_stats(router).connections == MANY);
        for (int round = 0; round < 10; round++) {
            for (int i = 0; i < MANY; i++) {
                snprintf(text, sizeof text, "%d|ask", round);
                net_send(dealers[i], text);
            }
            for (int i = 0; i < MANY; i++) {
                unsigned from;
                unsigned number;

                snprintf(text, sizeof text, "%s", net_recv(router));
                assert_int_equal(sscanf(text, "d%u|%u|ask", &from, &number), 2);
                assert_int_equal(number, seen[from]++);
                net_send(router, text);
            }
            for (int i = 0; i < MANY; i++) {
                snprintf(text, sizeof text, "%d|ask", round);
                assert_string_equal(net_recv(dealers[i]), text);
            }
        }
        for (int i = 0; i < MANY; i++) {
            assert_int_equal(seen[i], 10);
            net_check_law(dealers[i]);
        }
        assert_int_equal(net_stats(router).received_msgs, 10 * MANY);
        assert_int_equal(net_stats(router).delivered_msgs, 10 * MANY);
        net_check_law(router);
        net_close(&n);
    }
}

static void
a_publication_reaches_two_hundred_subscribers_once_each(void **state)
{
    static sennit_sock *subs[MANY];

    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock *pub;
        const char *endpoint;

        net_open(&n);
        pub = net_sock(&n, SENNIT_PUB, NULL);
        endpoint = net_bind(pub, (transport)via);
        for (int i = 0; i < MANY; i++) {
            subs[i] = net_sock(&n, SENNIT_SUB, NULL);
            assert_int_equal(
                sennit_sock_subscribe(subs[i],
                                      (sennit_bytes){ (const uint8_t *)"ab", i % 3u }),
                SENNIT_OK);
            net_connect(subs[i], endpoint);
        }
        NET_UNTIL(&n, net_stats(pub).subscriptions == MANY);
        for (int round = 0; round < 10; round++) {
            net_send(pub, round % 2 ? "a|x" : "ab|y");
            for (int i = 0; i < MANY; i++)
                if (i % 3 < 2 || round % 2 == 0)
                    assert_string_equal(net_recv(subs[i]), round % 2 ? "a|x" : "ab|y");
        }
        for (int i = 0; i < MANY; i++)
            assert_string_equal(net_recv_flags(subs[i], SENNIT_DONTWAIT), "EAGAIN");
        assert_int_equal(net_stats(pub).sent_msgs, 10);
        assert_int_equal(net_stats(pub).delivered_msgs, 5 * MANY + 5 * (67 + 67));
        net_close(&n);
    }
}

static void
push_deals_evenly_to_many_pulls(void **state)
{
    static sennit_sock *pulls[20];

    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock *push;
        const char *endpoint;

        net_open(&n);
        push = net_sock(&n, SENNIT_PUSH, NULL);
        endpoint = net_bind(push, (transport)via);
        for (int i = 0; i < 20; i++) {
            pulls[i] = net_sock(&n, SENNIT_PULL, NULL);
            net_connect(pulls[i], endpoint);
        }
        NET_UNTIL(&n, net_stats(push).connections == 20);
        for (int i = 0; i < 200; i++)
            net_send(push, "work|item");
        for (int i = 0; i < 200; i++)
            assert_string_equal(net_recv(pulls[i % 20]), "work|item");
        net_check_law(push);
        net_close(&n);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connect_may_come_before_the_bind),
        cmocka_unit_test(
            queued_messages_arrive_once_and_in_order_when_the_listener_is_back),
        cmocka_unit_test(
            subscriptions_are_told_again_and_in_order_when_the_publisher_is_back),
        cmocka_unit_test(an_unsubscribe_reaches_the_publisher),
        cmocka_unit_test(
            a_message_that_was_begun_is_not_begun_again_on_the_next_connection),
        cmocka_unit_test(whole_messages_of_a_half_written_batch_count_as_delivered),
        cmocka_unit_test(a_receiver_never_sees_a_message_whose_sender_died_in_the_middle),
        cmocka_unit_test(the_rest_of_a_message_is_swallowed_when_its_receiver_dies),
        cmocka_unit_test(a_req_whose_peer_dies_is_told_once_and_asks_the_next_one),
        cmocka_unit_test(a_req_whose_peer_dies_while_it_asks_is_told),
        cmocka_unit_test(what_a_peer_sent_before_it_went_can_still_be_received),
        cmocka_unit_test(
            what_a_peer_sent_before_it_went_is_received_though_a_write_failed),
        cmocka_unit_test(a_peer_that_stops_reading_and_says_nothing_is_given_up),
        cmocka_unit_test(a_peer_that_only_sends_hurts_only_its_own_connection),
        cmocka_unit_test(what_came_before_a_reconnect_is_read_first_and_then_the_rest),
        cmocka_unit_test(a_second_peer_of_a_pair_is_refused_and_both_are_told),
        cmocka_unit_test(a_second_peer_of_a_pair_is_refused_over_inproc_too),
        cmocka_unit_test(an_identity_in_use_is_refused_until_its_owner_leaves),
        cmocka_unit_test(an_identity_in_use_is_refused_over_inproc_at_either_end),
        cmocka_unit_test(an_identity_in_use_is_refused_when_the_bind_comes_late),
        cmocka_unit_test(a_peer_that_is_refused_over_inproc_greets_nobody),
        cmocka_unit_test(what_waits_for_an_assigned_name_survives_a_failed_handshake),
        cmocka_unit_test(a_mandatory_router_tells_no_such_peer_from_no_room),
        cmocka_unit_test(a_mandatory_send_that_waits_ends_when_its_peer_dies),
        cmocka_unit_test(two_hundred_peers_on_one_socket_lose_and_double_nothing),
        cmocka_unit_test(a_publication_reaches_two_hundred_subscribers_once_each),
        cmocka_unit_test(push_deals_evenly_to_many_pulls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
