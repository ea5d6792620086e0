/* SPDX-License-Identifier: MIT */
/* What those see who look on: peers and their numbers, properties, and waiting for
 * them; and what they may do to one. */
#include "net.h"

#include <stdio.h>
#include <unistd.h>

static net n;

static sennit_peer
peer_number(const sennit_sock *sock, uint32_t number)
{
    sennit_peer peers[8];
    size_t count = sennit_sock_get_peers(sock, peers, 8);

    for (size_t i = 0; i < count; i++)
        if (peers[i].number == number)
            return peers[i];
    fail_msg("there is no peer %u", number);
    return peers[0];
}

/* ---- who ---------------------------------------------------------------- */

static void
a_peer_is_told_with_all_that_is_known_of_it(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock_opts opts = net_opts();
        sennit_sock *router;
        sennit_sock *dealer;
        sennit_peer peer;

        net_open(&n);
        opts.identity_size = 2;
        memcpy(opts.identity, "me", 2);
        router = net_sock(&n, SENNIT_ROUTER, NULL);
        dealer = net_sock(&n, SENNIT_DEALER, &opts);
        net_join(&n, router, dealer, (transport)via);
        peer = net_only_peer(router);
        assert_true(peer.number > 0);
        assert_true(peer.ready);
        assert_true(peer.accepted);
        assert_string_equal(peer.endpoint, sennit_sock_last_endpoint(router));
        assert_int_equal(peer.identity_size, 2);
        assert_memory_equal(peer.identity, "me", 2);
        assert_int_equal(peer.type, SENNIT_DEALER);
        assert_true(peer.ready_at > 0);
        if (via != INPROC) {
            assert_int_equal(peer.zmtp_major, 3);
            assert_int_equal(peer.zmtp_minor, 1);
            assert_true(peer.received_at > 0 && peer.received_at <= peer.ready_at);
        }
        if (via == TCP)
            assert_int_equal(strncmp(peer.address, "127.0.0.1:", 10), 0);
        else
            assert_string_equal(peer.address, "");
        if (via == IPC) {
            assert_int_equal(peer.uid, getuid());
            assert_int_equal(peer.gid, getgid());
            assert_int_equal(peer.pid, getpid());
        } else {
            assert_int_equal(peer.pid, -1);
        }
        peer = net_only_peer(dealer);
        assert_true(peer.ready);
        assert_false(peer.accepted);
        assert_int_equal(peer.type, SENNIT_ROUTER);
        assert_string_equal(peer.endpoint, sennit_sock_last_endpoint(router));
        net_close(&n);
    }
}

static void
a_connect_without_a_connection_is_a_peer_too(void **state)
{
    sennit_sock *push;
    sennit_peer peer;
    char endpoint[64];

    (void)state;
    net_open(&n);
    push = net_sock(&n, SENNIT_PUSH, NULL);
    snprintf(endpoint, sizeof endpoint, "%s", net_vacant(TCP));
    net_connect(push, endpoint);
    net_send(push, "waits");
    net_event(&n, push, SENNIT_EVENT_RETRYING);
    peer = net_only_peer(push);
    assert_int_equal(peer.number, 0);
    assert_false(peer.ready);
    assert_false(peer.accepted);
    assert_int_equal(peer.type, -1);
    assert_string_equal(peer.endpoint, endpoint);
    assert_int_equal(peer.queued_msgs, 1);
    assert_int_equal(peer.sent_msgs, 1);
    assert_int_equal(peer.sent_bytes, 5);
    net_close(&n);
}

static void
a_stranger_in_the_handshake_is_a_peer_that_is_not_ready(void **state)
{
    sennit_sock *pull;
    sennit_peer peer;
    int fd;

    (void)state;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    fd = raw_connect(net_bind(pull, TCP));
    NET_UNTIL(&n, sennit_sock_get_peers(pull, NULL, 0) == 1);
    peer = net_only_peer(pull);
    assert_false(peer.ready);
    assert_true(peer.accepted);
    assert_int_equal(peer.ready_at, 0);
    assert_int_equal(peer.received_at, 0);
    close(fd);
    NET_UNTIL(&n, sennit_sock_get_peers(pull, NULL, 0) == 0);
    net_close(&n);
}

static void
no_more_peers_are_filled_in_than_there_is_room_for(void **state)
{
    sennit_sock *pull;
    sennit_peer peers[3];

    (void)state;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    for (int i = 0; i < 3; i++)
        net_join(&n, pull, net_sock(&n, SENNIT_PUSH, NULL), (transport)i);
    memset(peers, 0xee, sizeof peers);
    assert_int_equal(sennit_sock_get_peers(pull, peers, 2), 3);
    assert_true(peers[1].ready);
    assert_int_equal(((uint8_t *)&peers[2])[0], 0xee);
    assert_int_equal(sennit_sock_get_peers(pull, NULL, 0), 3);
    net_close(&n);
}

/* ---- how much ----------------------------------------------------------- */

/* Each peer's numbers are its own, and together the socket's. */
static void
what_each_peer_got_and_sent_is_counted(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock *router;
        sennit_sock *dealers[2];
        uint32_t numbers[2];
        sennit_peer peer;

        net_open(&n);
        router = net_sock(&n, SENNIT_ROUTER, NULL);
        for (int i = 0; i < 2; i++) {
            sennit_sock_opts opts = net_opts();

            opts.identity_size = 1;
            opts.identity[0] = (uint8_t)('a' + i);
            dealers[i] = net_sock(&n, SENNIT_DEALER, &opts);
            net_join(&n, router, dealers[i], (transport)via);
            numbers[i] = net_event(&n, router, SENNIT_EVENT_READY).peer;
        }
        for (int i = 0; i < 3; i++)
            net_send(dealers[0], "four|more");
        net_send(dealers[1], "x");
        for (int i = 0; i < 4; i++)
            (void)net_recv(router);
        net_send(router, "a|12345");
        net_send(router, "b|1");
        net_send(router, "b|22");
        assert_string_equal(net_recv(dealers[0]), "12345");
        assert_string_equal(net_recv(dealers[1]), "1");
        assert_string_equal(net_recv(dealers[1]), "22");

        peer = peer_number(router, numbers[0]);
        assert_int_equal(peer.received_msgs, 3);
        assert_int_equal(peer.received_bytes, 24);
        assert_int_equal(peer.sent_msgs, 1);
        assert_int_equal(peer.sent_bytes, 5);
        assert_int_equal(peer.delivered_msgs, 1);
        assert_int_equal(peer.queued_msgs + peer.unread_msgs, 0);
        peer = peer_number(router, numbers[1]);
        assert_int_equal(peer.received_msgs, 1);
        assert_int_equal(peer.received_bytes, 1);
        assert_int_equal(peer.sent_msgs, 2);
        assert_int_equal(peer.sent_bytes, 3);
        assert_int_equal(peer.delivered_msgs, 2);
        net_close(&n);
    }
}

static void
what_is_unread_is_counted_in_messages_and_bytes(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock *push;
        sennit_sock *pull;

        net_open(&n);
        push = net_sock(&n, SENNIT_PUSH, NULL);
        pull = net_sock(&n, SENNIT_PULL, NULL);
        net_join(&n, pull, push, (transport)via);
        for (int i = 0; i < 5; i++)
            net_send(push, "ten octets");
        NET_UNTIL(&n, net_only_peer(pull).unread_msgs == 5);
        assert_true(net_only_peer(pull).unread_bytes >= 50);
        assert_true(net_only_peer(pull).unread_bytes <= 70);
        assert_string_equal(net_recv(pull), "ten octets");
        assert_int_equal(net_only_peer(pull).unread_msgs, 4);
        assert_int_equal(net_only_peer(pull).received_msgs, 1);
        net_close(&n);
    }
}

/* A reconnect goes on counting where the connection before had stopped. */
static void
numbers_of_a_connect_go_on_over_reconnects(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *push;
    sennit_sock *pull;
    char endpoint[64];
    sennit_peer before;
    sennit_peer after;

    (void)state;
    net_open(&n);
    push = net_sock(&n, SENNIT_PUSH, &opts);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    net_join(&n, pull, push, TCP);
    snprintf(endpoint, sizeof endpoint, "%s", sennit_sock_last_endpoint(pull));
    net_send(push, "one");
    assert_string_equal(net_recv(pull), "one");
    before = net_only_peer(push);
    assert_int_equal(before.reconnects, 0);
    sennit_sock_close(pull);
    net_event(&n, push, SENNIT_EVENT_DISCONNECTED);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    assert_int_equal(sennit_sock_bind(pull, endpoint), SENNIT_OK);
    net_send(push, "two");
    assert_string_equal(net_recv(pull), "two");
    after = net_only_peer(push);
    assert_true(after.number > before.number);
    assert_int_equal(after.sent_msgs, 2);
    assert_int_equal(after.delivered_msgs, 2);
    assert_true(after.reconnects >= 1);
    assert_int_equal(after.reconnects, net_stats(push).reconnects);
    net_close(&n);
}

/* ---- properties --------------------------------------------------------- */

static void
a_peers_properties_are_found_by_name_without_regard_to_case(void **state)
{
    static const sennit_property own[] = {
        { "X-Name", { (const uint8_t *)"strand", 6 } },
        { "X-Empty", { NULL, 0 } },
    };

    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock_opts opts = net_opts();
        sennit_sock *push;
        sennit_sock *pull;
        sennit_bytes value;
        uint32_t number;

        opts.properties = own;
        opts.properties_count = 2;
        net_open(&n);
        push = net_sock(&n, SENNIT_PUSH, &opts);
        pull = net_sock(&n, SENNIT_PULL, NULL);
        net_join(&n, pull, push, (transport)via);
        number = net_only_peer(pull).number;
        assert_int_equal(sennit_sock_peer_property(pull, number, "x-nAME", &value),
                         SENNIT_OK);
        assert_int_equal(value.size, 6);
        assert_memory_equal(value.data, "strand", 6);
        assert_int_equal(sennit_sock_peer_property(pull, number, "X-Empty", &value),
                         SENNIT_OK);
        assert_int_equal(value.size, 0);
        assert_int_equal(sennit_sock_peer_property(pull, number, "Socket-Type", &value),
                         SENNIT_OK);
        assert_int_equal(value.size, 4);
        assert_memory_equal(value.data, "PUSH", 4);
        assert_int_equal(sennit_sock_peer_property(pull, number, "X-Other", &value),
                         SENNIT_ENOENT);
        assert_int_equal(sennit_sock_peer_property(pull, number + 7, "X-Name", &value),
                         SENNIT_ENOENT);
        net_close(&n);
    }
}

/* ---- ending one --------------------------------------------------------- */

static void
an_accepted_peer_that_is_disconnected_gets_what_was_queued_for_it(void **state)
{
    (void)state;
    for (int via = 0; via < INPROC; via++) {
        sennit_sock_opts opts = net_opts();
        sennit_sock *push;
        sennit_sock *pull;
        sennit_event event;
        uint32_t number;

        opts.linger_ms = -1;
        net_open(&n);
        push = net_sock(&n, SENNIT_PUSH, &opts);
        pull = net_sock(&n, SENNIT_PULL, NULL);
        net_join(&n, push, pull, (transport)via);
        number = net_only_peer(push).number;
        for (int i = 0; i < 100; i++)
            net_send(push, "queued");
        assert_int_equal(sennit_sock_disconnect_peer(push, number), SENNIT_OK);
        assert_int_equal(net_try_send(push, "x", SENNIT_DONTWAIT), SENNIT_EAGAIN);
        for (int i = 0; i < 100; i++)
            assert_string_equal(net_recv(pull), "queued");
        event = net_event(&n, push, SENNIT_EVENT_DISCONNECTED);
        assert_int_equal(event.peer, number);
        assert_int_equal(sennit_sock_disconnect_peer(push, number), SENNIT_ENOENT);
        /* It comes back by itself. */
        NET_UNTIL(&n, net_stats(push).connections == 1);
        assert_true(net_only_peer(push).number > number);
        net_check_law(push);
        net_close(&n);
    }
}

/* What an inproc peer was sent it has; it stays away, as nobody tries again. */
static void
an_inproc_peer_that_is_disconnected_reads_what_it_has(void **state)
{
    sennit_sock *push;
    sennit_sock *pull;

    (void)state;
    net_open(&n);
    push = net_sock(&n, SENNIT_PUSH, NULL);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    net_join(&n, push, pull, INPROC);
    net_send(push, "one");
    assert_int_equal(sennit_sock_disconnect_peer(push, net_only_peer(push).number),
                     SENNIT_OK);
    net_event(&n, push, SENNIT_EVENT_DISCONNECTED);
    net_event(&n, pull, SENNIT_EVENT_DISCONNECTED);
    assert_string_equal(net_recv(pull), "one");
    assert_int_equal(net_stats(push).connections + net_stats(pull).connections, 0);
    assert_int_equal(net_try_send(push, "two", SENNIT_DONTWAIT), SENNIT_EAGAIN);
    net_check_law(push);
    net_close(&n);
}

static void
one_that_we_connected_is_connected_again(void **state)
{
    (void)state;
    for (int via = 0; via < INPROC; via++) {
        sennit_sock_opts opts = net_opts();
        sennit_sock *push;
        sennit_sock *pull;
        uint32_t number;

        opts.linger_ms = -1;
        net_open(&n);
        push = net_sock(&n, SENNIT_PUSH, &opts);
        pull = net_sock(&n, SENNIT_PULL, NULL);
        net_join(&n, pull, push, (transport)via);
        number = net_only_peer(push).number;
        for (int i = 0; i < 100; i++)
            net_send(push, "first");
        assert_int_equal(sennit_sock_disconnect_peer(push, number), SENNIT_OK);
        for (int i = 0; i < 100; i++)
            assert_string_equal(net_recv(pull), "first");
        NET_UNTIL(&n, net_only_peer(push).number > number && net_only_peer(push).ready);
        net_send(push, "second");
        assert_string_equal(net_recv(pull), "second");
        assert_int_equal(net_stats(push).dropped_disconnect_msgs, 0);
        net_check_law(push);
        net_close(&n);
    }
}

/* ---- waiting ------------------------------------------------------------ */

static void
waiting_for_connections_ends_with_the_last_of_them(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock *pull;
        const char *endpoint;

        net_open(&n);
        pull = net_sock(&n, SENNIT_PULL, NULL);
        endpoint = net_bind(pull, (transport)via);
        for (int i = 0; i < 3; i++)
            net_connect(net_sock(&n, SENNIT_PUSH, NULL), endpoint);
        assert_int_equal(sennit_sock_wait_connections(pull, 3, DEADLINE_MS), SENNIT_OK);
        assert_int_equal(net_stats(pull).connections, 3);
        assert_int_equal(sennit_sock_wait_connections(pull, 3, 0), SENNIT_OK);
        assert_int_equal(sennit_sock_wait_connections(pull, 4, 1), SENNIT_EAGAIN);
        assert_int_equal(sennit_sock_wait_connections(pull, 4, 0), SENNIT_EAGAIN);
        net_close(&n);
    }
}

static void
waiting_for_subscriptions_counts_pairs_of_peer_and_topic(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock *pub;
        const char *endpoint;

        net_open(&n);
        pub = net_sock(&n, SENNIT_PUB, NULL);
        endpoint = net_bind(pub, (transport)via);
        for (int i = 0; i < 2; i++) {
            sennit_sock *sub = net_sock(&n, SENNIT_SUB, NULL);

            for (int k = 0; k < 3; k++)
                assert_int_equal(
                    sennit_sock_subscribe(
                        sub, (sennit_bytes){ (const uint8_t *)"abc" + k, 1 }),
                    SENNIT_OK);
            net_connect(sub, endpoint);
        }
        assert_int_equal(sennit_sock_wait_subscriptions(pub, 6, DEADLINE_MS), SENNIT_OK);
        assert_int_equal(sennit_sock_wait_subscriptions(pub, 7, 1), SENNIT_EAGAIN);
        assert_int_equal(
            sennit_sock_wait_subscriptions(net_sock(&n, SENNIT_SUB, NULL), 1, 0),
            SENNIT_ENOTSUP);
        assert_string_equal(sennit_loop_why(n.loop),
                            "only PUB and XPUB have subscribers to wait for");
        net_close(&n);
    }
}

static void
close_it(sennit_sock *sock, unsigned ready, void *arg)
{
    (void)ready;
    (void)arg;
    sennit_sock_close(sock);
}

static void
waiting_ends_when_a_callback_closes_the_socket(void **state)
{
    sennit_sock *pull;

    (void)state;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    (void)net_bind(pull, TCP);
    sennit_sock_on_ready(pull, SENNIT_EVENTS, close_it, NULL);
    assert_int_equal(sennit_sock_wait_connections(pull, 1, DEADLINE_MS), SENNIT_ECLOSED);
    net_close(&n);
}

/* ---- a peer that left unheard ------------------------------------------ */

/* The receiver has as many unread messages as it may, and does not read: it hears that
 * the sender left nevertheless, and nothing that was sent is lost. */
static void
a_receiver_that_has_stopped_hears_that_its_peer_left(void **state)
{
    (void)state;
    for (int via = 0; via < INPROC; via++) {
        sennit_sock_opts opts = net_opts();
        char body[1000] = { 0 };
        sennit_sock *push;
        sennit_sock *pull;

        opts.recv_hwm_msgs = 5;
        opts.linger_ms = -1;
        net_open(&n);
        pull = net_sock(&n, SENNIT_PULL, &opts);
        push = net_sock(&n, SENNIT_PUSH, &opts);
        net_join(&n, pull, push, (transport)via);
        for (uint32_t i = 0; i < 30; i++) {
            memcpy(body, &i, sizeof i);
            assert_int_equal(sennit_sock_send_bytes(push, body, sizeof body, 0),
                             SENNIT_OK);
            /* The others stay with the kernel. */
            if (i == 9) {
                sennit_sock_flush(push);
                NET_UNTIL(&n, net_only_peer(pull).unread_msgs >= 5);
            }
        }
        sennit_sock_close(push);
        net_event(&n, pull, SENNIT_EVENT_DISCONNECTED);
        assert_int_equal(net_stats(pull).received_msgs, 0);
        for (uint32_t i = 0; i < 30; i++) {
            uint32_t number;
            size_t size;

            assert_int_equal(sennit_sock_recv_bytes(pull, body, sizeof body, &size, 0),
                             SENNIT_OK);
            memcpy(&number, body, sizeof number);
            assert_int_equal(number, i);
        }
        assert_string_equal(net_recv_flags(pull, SENNIT_DONTWAIT), "EAGAIN");
        net_close(&n);
    }
}

/* An XPUB's peers wait with what they said, which is here already. */
static void
what_a_subscriber_said_is_unread_until_it_is_received(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_bytes topics[] = { { (const uint8_t *)"a", 1 },
                                  { (const uint8_t *)"b", 1 } };
        sennit_sock *xpub;
        sennit_sock *xsub;

        net_open(&n);
        xpub = net_sock(&n, SENNIT_XPUB, NULL);
        xsub = net_sock(&n, SENNIT_XSUB, NULL);
        net_join(&n, xpub, xsub, (transport)via);
        for (int i = 0; i < 2; i++)
            assert_int_equal(sennit_sock_subscribe(xsub, topics[i]), SENNIT_OK);
        net_send(xsub, "message");
        NET_UNTIL(&n, net_only_peer(xpub).unread_msgs == 3);
        assert_string_equal(net_recv(xpub), "\1a");
        assert_int_equal(net_only_peer(xpub).unread_msgs, 2);
        assert_int_equal(net_only_peer(xpub).unread_bytes, 9);
        assert_string_equal(net_recv(xpub), "\1b");
        assert_int_equal(net_only_peer(xpub).unread_bytes, 7);
        assert_string_equal(net_recv(xpub), "message");
        assert_int_equal(net_only_peer(xpub).unread_msgs, 0);
        assert_int_equal(net_only_peer(xpub).unread_bytes, 0);
        net_close(&n);
    }
}

/* Large messages wait with their sender, as at a PULL: about a window of them is here,
 * and as much again in the window. */
static void
an_xpub_that_is_not_read_stops_at_a_window_of_large_messages(void **state)
{
    enum { MESSAGES = 400, SIZE = 16 * 1024, WINDOW = 128 * 1024 };
    static uint8_t body[SIZE];

    (void)state;
    for (int via = 0; via < INPROC; via++) {
        sennit_sock *xpub;
        sennit_sock *xsub;
        sennit_sock *ping;
        sennit_sock *pong;

        net_open(&n);
        xpub = net_sock(&n, SENNIT_XPUB, NULL);
        xsub = net_sock(&n, SENNIT_XSUB, NULL);
        ping = net_sock(&n, SENNIT_REQ, NULL);
        pong = net_sock(&n, SENNIT_REP, NULL);
        net_join(&n, xpub, xsub, (transport)via);
        net_join(&n, pong, ping, TCP);
        for (uint32_t i = 0; i < MESSAGES; i++) {
            body[0] = 2; /* no subscription */
            memcpy(body + 1, &i, sizeof i);
            assert_int_equal(sennit_sock_send_bytes(xsub, body, SIZE, 0), SENNIT_OK);
        }
        sennit_sock_flush(xsub);
        NET_UNTIL(&n, net_only_peer(xpub).unread_bytes >= WINDOW);
        /* As much time as it would have taken. */
        for (int i = 0; i < 100; i++) {
            net_send(ping, "are you there?");
            assert_string_equal(net_recv(pong), "are you there?");
            net_send(pong, "yes");
            assert_string_equal(net_recv(ping), "yes");
            assert_true(net_only_peer(xpub).unread_bytes <= 2 * WINDOW + 2 * SIZE);
        }
        for (uint32_t i = 0; i < MESSAGES; i++) {
            size_t size;

            assert_int_equal(sennit_sock_recv_bytes(xpub, body, SIZE, &size, 0),
                             SENNIT_OK);
            assert_int_equal(size, SIZE);
            assert_memory_equal(body + 1, &i, sizeof i);
        }
        net_close(&n);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_peer_is_told_with_all_that_is_known_of_it),
        cmocka_unit_test(a_connect_without_a_connection_is_a_peer_too),
        cmocka_unit_test(a_stranger_in_the_handshake_is_a_peer_that_is_not_ready),
        cmocka_unit_test(no_more_peers_are_filled_in_than_there_is_room_for),
        cmocka_unit_test(what_each_peer_got_and_sent_is_counted),
        cmocka_unit_test(what_is_unread_is_counted_in_messages_and_bytes),
        cmocka_unit_test(numbers_of_a_connect_go_on_over_reconnects),
        cmocka_unit_test(a_peers_properties_are_found_by_name_without_regard_to_case),
        cmocka_unit_test(
            an_accepted_peer_that_is_disconnected_gets_what_was_queued_for_it),
        cmocka_unit_test(an_inproc_peer_that_is_disconnected_reads_what_it_has),
        cmocka_unit_test(one_that_we_connected_is_connected_again),
        cmocka_unit_test(waiting_for_connections_ends_with_the_last_of_them),
        cmocka_unit_test(waiting_for_subscriptions_counts_pairs_of_peer_and_topic),
        cmocka_unit_test(waiting_ends_when_a_callback_closes_the_socket),
        cmocka_unit_test(a_receiver_that_has_stopped_hears_that_its_peer_left),
        cmocka_unit_test(what_a_subscriber_said_is_unread_until_it_is_received),
        cmocka_unit_test(an_xpub_that_is_not_read_stops_at_a_window_of_large_messages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
