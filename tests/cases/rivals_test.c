/* SPDX-License-Identifier: MIT */
/* Bugs that other engines have had and mended, which no other suite would show here.
 * Which suite shows the rest is in README.md. */
#include "net.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "sennit/proxy.h"

static net n;

/* A body whose octets depend on their place and on `number`. */
static void
paint(uint8_t *body, size_t size, unsigned number)
{
    for (size_t i = 0; i < size; i++)
        body[i] = (uint8_t)(i * 7 + i / 251 + number);
}

static void
check_painted(sennit_msg *msg, size_t size, unsigned number)
{
    const uint8_t *body = sennit_msg_data(msg);

    assert_int_equal(sennit_msg_size(msg), size);
    for (size_t i = 0; i < size; i++)
        if (body[i] != (uint8_t)(i * 7 + i / 251 + number))
            fail_msg("octet %zu of %zu of message %u is another one", i, size, number);
}

static void
recv_painted(sennit_sock *sock, size_t size, unsigned number)
{
    sennit_msg msg;

    sennit_msg_init(&msg);
    assert_int_equal(sennit_sock_recv(sock, &msg, 0), SENNIT_OK);
    check_painted(&msg, size, number);
    sennit_msg_fini(&msg);
}

/* ---- handshake --------------------------------------------------------- */

static void
R12_a_stranger_who_says_nothing_is_not_the_peer_of_a_pair(void **state)
{
    sennit_sock *bound;
    sennit_sock *pair;
    const char *endpoint;
    int strangers[20];

    (void)state;
    net_open(&n);
    bound = net_sock(&n, SENNIT_PAIR, NULL);
    endpoint = net_bind(bound, TCP);
    for (int i = 0; i < 20; i++) {
        strangers[i] = raw_connect(endpoint);
        raw_write(&n, strangers[i], raw_greeting, (size_t)i);
        (void)net_event(&n, bound, SENNIT_EVENT_ACCEPTED);
    }
    assert_int_equal(sennit_sock_ready(bound) & SENNIT_WRITABLE, 0);
    pair = net_sock(&n, SENNIT_PAIR, NULL);
    net_connect(pair, endpoint);
    net_send(pair, "here I am");
    assert_string_equal(net_recv(bound), "here I am");
    net_send(bound, "at last");
    assert_string_equal(net_recv(pair), "at last");
    assert_int_equal(net_stats(bound).connections, 1);
    for (int i = 0; i < 20; i++)
        close(strangers[i]);
    net_close(&n);
}

/* Nor does anything else of it change: its name is the first one. */
static void
R17_a_second_ready_is_passed_over_and_changes_nothing(void **state)
{
    sennit_sock *router;
    uint8_t ready[256];
    size_t size = raw_ready(ready, "DEALER", "second");
    uint8_t reply[4];
    int fd;

    (void)state;
    net_open(&n);
    router = net_sock(&n, SENNIT_ROUTER, NULL);
    fd = raw_connect(net_bind(router, TCP));
    raw_handshake(&n, fd, "DEALER", "first");
    raw_write(&n, fd, ready, size);
    raw_write(&n, fd, "\0\2hi", 4);
    assert_string_equal(net_recv(router), "first|hi");
    net_send(router, "second|x");
    assert_int_equal(net_stats(router).dropped_no_peer_msgs, 1);
    net_send(router, "first|ho");
    raw_read(&n, fd, reply, 4);
    assert_memory_equal(reply, "\0\2ho", 4);
    assert_int_equal(net_stats(router).connections, 1);
    close(fd);
    net_close(&n);
}

/* ---- receiving --------------------------------------------------------- */

typedef struct dripper {
    net *n;
    sennit_timer timer;
    int fd;
    unsigned drops;
} dripper;

static void
drip(void *arg)
{
    dripper *d = arg;

    assert_int_equal(send(d->fd, "x", 1, MSG_NOSIGNAL), 1);
    d->drops++;
    assert_int_equal(sennit_timer_start(d->n->loop, &d->timer, 10000000u, drip, d),
                     SENNIT_OK);
}

/* One octet in time is not a message in time. */
static void
R25_a_message_that_drips_in_does_not_put_off_the_end_of_a_receive(void **state)
{
    sennit_sock_opts opts = net_opts();
    dripper d = { &n, { 0 }, -1, 0 };
    sennit_sock *pull;
    sennit_time before;
    uint64_t took_ms;
    char body[8];
    size_t size;

    (void)state;
    net_open(&n);
    opts.recv_timeout_ms = 100;
    pull = net_sock(&n, SENNIT_PULL, &opts);
    d.fd = raw_connect(net_bind(pull, TCP));
    raw_handshake(&n, d.fd, "PUSH", NULL);
    raw_write(&n, d.fd, "\2\0\0\0\0\0\1\0\0", 9);
    NET_UNTIL(&n, net_stats(pull).connections == 1);
    drip(&d);
    before = sennit_loop_now(n.loop);
    assert_int_equal(sennit_sock_recv_bytes(pull, body, sizeof body, &size, 0),
                     SENNIT_EAGAIN);
    took_ms = (sennit_loop_now(n.loop) - before) / 1000000u;
    /* A busy machine may be late, but the 65536 octets would take ten minutes. */
    assert_in_range(took_ms, 100, 5000);
    assert_true(d.drops > 1);
    sennit_timer_stop(n.loop, &d.timer);
    close(d.fd);
    net_close(&n);
}

static void
R27_a_message_that_is_kept_is_not_written_over(void **state)
{
    static const size_t sizes[] = { 1, 55, 56, 1000, 4095, 4096, 70000, 200000 };
    enum { KEPT = sizeof sizes / sizeof sizes[0] };
    static uint8_t body[200000];

    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_msg kept[KEPT];
        sennit_sock *push;
        sennit_sock *pull;

        net_open(&n);
        push = net_sock(&n, SENNIT_PUSH, NULL);
        pull = net_sock(&n, SENNIT_PULL, NULL);
        net_join(&n, pull, push, (transport)via);
        for (unsigned i = 0; i < KEPT; i++) {
            paint(body, sizes[i], i);
            assert_int_equal(sennit_sock_send_bytes(push, body, sizes[i], 0), SENNIT_OK);
            sennit_msg_init(&kept[i]);
            assert_int_equal(sennit_sock_recv(pull, &kept[i], 0), SENNIT_OK);
            /* Much comes after it, through the same buffers. */
            for (unsigned k = 0; k < 3 * KEPT; k++) {
                size_t size = sizes[k % KEPT];

                paint(body, size, 200 + k);
                assert_int_equal(sennit_sock_send_bytes(push, body, size, 0), SENNIT_OK);
                recv_painted(pull, size, 200 + k);
            }
        }
        for (unsigned i = 0; i < KEPT; i++) {
            check_painted(&kept[i], sizes[i], i);
            sennit_msg_fini(&kept[i]);
        }
        net_close(&n);
    }
}

static void
R28_a_large_message_leaves_neither_a_buffer_nor_a_gap(void **state)
{
    static const size_t large = 16u << 20;
    uint8_t *body = malloc(large);

    (void)state;
    assert_non_null(body);
    for (int via = 0; via < INPROC; via++) {
        sennit_sock *push;
        sennit_sock *pull;
        size_t before;

        net_open(&n);
        push = net_sock(&n, SENNIT_PUSH, NULL);
        pull = net_sock(&n, SENNIT_PULL, NULL);
        net_join(&n, pull, push, (transport)via);
        for (unsigned i = 0; i < 100; i++) {
            paint(body, 1000, i);
            assert_int_equal(sennit_sock_send_bytes(push, body, 1000, 0), SENNIT_OK);
            recv_painted(pull, 1000, i);
        }
        before = n.alloc.live_bytes;
        /* Small ones stand right behind it: what is given back is not theirs. */
        paint(body, large, 7);
        assert_int_equal(sennit_sock_send_bytes(push, body, large, 0), SENNIT_OK);
        for (unsigned i = 0; i < 100; i++) {
            paint(body, 1000, i);
            assert_int_equal(sennit_sock_send_bytes(push, body, 1000, 0), SENNIT_OK);
        }
        recv_painted(pull, large, 7);
        for (unsigned i = 0; i < 100; i++)
            recv_painted(pull, 1000, i);
        /* But for a block of the sizes that are used again, in which it grew. */
        assert_true(n.alloc.live_bytes < before + 2 * SNI_BODY_BYTES_MAX);
        net_close(&n);
    }
    free(body);
}

static void
R29_frames_of_about_the_size_of_a_receive_arrive_as_they_were(void **state)
{
    static const uint32_t batches[] = { 1024, 1025, 4096, 65536, 65537, 131072 };
    static uint8_t body[131072 + 64];

    (void)state;
    for (size_t b = 0; b < sizeof batches / sizeof batches[0]; b++) {
        sennit_sock_opts opts = net_opts();
        sennit_sock *push;
        sennit_sock *pull;

        net_open(&n);
        opts.recv_batch_bytes = batches[b];
        pull = net_sock(&n, SENNIT_PULL, &opts);
        push = net_sock(&n, SENNIT_PUSH, NULL);
        net_join(&n, pull, push, TCP);
        for (unsigned i = 0; i < 40; i++) {
            size_t size = batches[b] - 20 + i;

            paint(body, size, i);
            assert_int_equal(sennit_sock_send_bytes(push, body, size, 0), SENNIT_OK);
            recv_painted(pull, size, i);
        }
        net_close(&n);
    }
}

/* ---- sending ----------------------------------------------------------- */

/* What was given up had not begun: the stream goes on at a frame. */
static void
R31_sends_that_gave_up_leave_the_stream_whole(void **state)
{
    static uint8_t body[300000];

    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock_opts opts = net_opts();
        unsigned accepted = 0;
        unsigned refused = 0;
        sennit_sock *push;
        sennit_sock *pull;

        net_open(&n);
        opts.send_hwm_msgs = 2;
        opts.recv_hwm_msgs = 2;
        opts.send_timeout_ms = 1;
        push = net_sock(&n, SENNIT_PUSH, &opts);
        pull = net_sock(&n, SENNIT_PULL, &opts);
        net_join(&n, pull, push, (transport)via);
        for (unsigned round = 0, taken = 0; round < 10; round++) {
            for (int more = 3; more > 0;) {
                paint(body, sizeof body, accepted);
                switch (sennit_sock_send_bytes(push, body, sizeof body, 0)) {
                case SENNIT_OK:
                    accepted++;
                    break;
                case SENNIT_EAGAIN:
                    refused++;
                    more--;
                    break;
                default:
                    fail();
                }
            }
            for (int k = 0; k < 2; k++)
                recv_painted(pull, sizeof body, taken++);
            if (round == 9)
                while (taken < accepted)
                    recv_painted(pull, sizeof body, taken++);
        }
        assert_int_equal(refused, 30);
        net_check_law(push);
        net_close(&n);
    }
}

static void
R33_a_publication_over_the_mark_in_bytes_is_sent_to_an_empty_queue(void **state)
{
    static uint8_t body[1 << 20];

    (void)state;
    for (int via = 0; via < INPROC; via++) {
        for (int policy = SENNIT_SLOW_DROP_NEW; policy <= SENNIT_SLOW_BLOCK; policy++) {
            sennit_sock_opts opts = net_opts();
            sennit_sock *pub;
            sennit_sock *sub;

            net_open(&n);
            opts.send_hwm_bytes = 1000;
            opts.slow_subscriber = (sennit_slow_policy)policy;
            pub = net_sock(&n, SENNIT_PUB, &opts);
            sub = net_sock(&n, SENNIT_SUB, NULL);
            net_subscribe(sub, "");
            net_join(&n, pub, sub, (transport)via);
            NET_UNTIL(&n, net_stats(pub).subscriptions == 1);
            for (unsigned i = 0; i < 3; i++) {
                paint(body, sizeof body, i);
                assert_int_equal(sennit_sock_send_bytes(pub, body, sizeof body, 0),
                                 SENNIT_OK);
                recv_painted(sub, sizeof body, i);
                NET_UNTIL(&n, net_stats(pub).queued_bytes == 0);
            }
            assert_int_equal(net_stats(pub).delivered_msgs, 3);
            net_close(&n);
        }
    }
}

/* ---- patterns ---------------------------------------------------------- */

static void
R44_a_request_that_was_refused_is_not_waited_for(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock *req;
        sennit_sock *rep;

        net_open(&n);
        req = net_sock(&n, SENNIT_REQ, NULL);
        rep = net_sock(&n, SENNIT_REP, NULL);
        assert_int_equal(net_try_send(req, "q", SENNIT_DONTWAIT), SENNIT_EAGAIN);
        assert_string_equal(net_recv_flags(req, SENNIT_DONTWAIT), "ESTATE");
        net_join(&n, rep, req, (transport)via);
        net_send(req, "q");
        assert_string_equal(net_recv(rep), "q");
        net_send(rep, "a");
        assert_string_equal(net_recv(req), "a");
        net_close(&n);
    }
}

static void
R45_one_peer_that_is_gone_leaves_the_others_served(void **state)
{
    static const struct {
        sennit_sock_type kind;
        const char *raw;
        sennit_sock_type other;
    } rows[] = {
        { SENNIT_PULL, "PUSH", SENNIT_PUSH },
        { SENNIT_ROUTER, "DEALER", SENNIT_DEALER },
        { SENNIT_DEALER, "DEALER", SENNIT_DEALER },
        { SENNIT_SUB, "PUB", SENNIT_PUB },
    };

    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        for (int gone = 0; gone < 3; gone++) {
            const struct linger hard = { 1, 0 };
            sennit_sock *others[2];
            sennit_sock *sock;
            const char *endpoint;
            int fd = -1;

            net_open(&n);
            sock = net_sock(&n, rows[r].kind, NULL);
            if (rows[r].kind == SENNIT_SUB)
                net_subscribe(sock, "");
            endpoint = net_bind(sock, TCP);
            /* The first, the second or the last to come is the one that goes. */
            for (int i = 0, k = 0; i < 3; i++) {
                if (i == gone) {
                    fd = raw_connect(endpoint);
                    raw_handshake(&n, fd, rows[r].raw, NULL);
                } else {
                    others[k] = net_sock(&n, rows[r].other, NULL);
                    net_connect(others[k++], endpoint);
                }
                NET_UNTIL(&n, net_stats(sock).connections == (uint64_t)i + 1);
            }
            if (rows[r].kind == SENNIT_SUB)
                NET_UNTIL(&n, net_stats(others[0]).subscriptions == 1 &&
                                  net_stats(others[1]).subscriptions == 1);
            /* Gone in the middle of a message. */
            raw_write(&n, fd, "\1\1x", 3);
            (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
            close(fd);
            NET_UNTIL(&n, net_stats(sock).connections == 2);
            for (int i = 0; i < 20; i++) {
                const char *got;

                net_send(others[i % 2], "on");
                got = net_recv(sock);
                assert_string_equal(got + strlen(got) - 2, "on");
            }
            net_close(&n);
        }
    }
}

static void
R47_who_subscribed_twice_still_receives_after_one_unsubscribe(void **state)
{
    const sennit_bytes topic = { (const uint8_t *)"t", 1 };

    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock *pub;
        sennit_sock *sub;

        net_open(&n);
        pub = net_sock(&n, SENNIT_PUB, NULL);
        sub = net_sock(&n, SENNIT_SUB, NULL);
        for (int i = 0; i < 2; i++)
            assert_int_equal(sennit_sock_subscribe(sub, topic), SENNIT_OK);
        net_join(&n, pub, sub, (transport)via);
        NET_UNTIL(&n, net_stats(pub).subscriptions == 1);
        assert_int_equal(sennit_sock_unsubscribe(sub, topic), SENNIT_OK);
        net_send(pub, "t1");
        assert_string_equal(net_recv(sub), "t1");
        assert_int_equal(sennit_sock_unsubscribe(sub, topic), SENNIT_OK);
        NET_UNTIL(&n, net_stats(pub).subscriptions == 0);
        net_close(&n);
    }
}

static void
R50_a_subscriber_that_talks_nonsense_is_shown_out_and_others_are_heard(void **state)
{
    static const struct {
        const char *octets;
        size_t size;
    } nonsense[] = {
        { "\4\0\1", 3 },               /* an empty command */
        { "\4\3\11SU", 5 },            /* a name longer than its command */
        { "\10\1\1", 3 },              /* a reserved flag */
        { "\5\12\11SUBSCRIBE", 12 },   /* a command with MORE */
        { "\2\377\0\0\0\0\0\0\1", 9 }, /* more octets than there are */
    };

    (void)state;
    for (size_t i = 0; i < sizeof nonsense / sizeof nonsense[0]; i++) {
        sennit_sock *xpub;
        sennit_sock *sub;
        sennit_event event;
        int fd;

        net_open(&n);
        xpub = net_sock(&n, SENNIT_XPUB, NULL);
        fd = raw_connect(net_bind(xpub, TCP));
        raw_handshake(&n, fd, "SUB", NULL);
        NET_UNTIL(&n, net_stats(xpub).connections == 1);
        raw_write(&n, fd, nonsense[i].octets, nonsense[i].size);
        raw_until_closed(&n, fd);
        event = net_event(&n, xpub, SENNIT_EVENT_DISCONNECTED);
        assert_int_equal(event.err, SENNIT_EPROTO);
        assert_string_equal(net_recv_flags(xpub, SENNIT_DONTWAIT), "EAGAIN");
        sub = net_sock(&n, SENNIT_SUB, NULL);
        net_connect(sub, sennit_sock_last_endpoint(xpub));
        net_subscribe(sub, "a");
        assert_string_equal(net_recv(xpub), "\1a");
        net_send(xpub, "a1");
        assert_string_equal(net_recv(sub), "a1");
        close(fd);
        net_close(&n);
    }
}

static void
R53_a_stream_that_connected_sends_all_frames_and_can_disconnect(void **state)
{
    sennit_sock_opts opts = net_opts();
    char endpoint[64];
    char octets[12];
    sennit_sock *stream;
    int listener;
    int fd;

    (void)state;
    net_open(&n);
    opts.stream_notify = false;
    stream = net_sock(&n, SENNIT_STREAM, &opts);
    listener = raw_listen(endpoint);
    assert_int_equal(sennit_sock_connect_as(stream, endpoint,
                                            (sennit_bytes){ (const uint8_t *)"s", 1 }),
                     SENNIT_OK);
    fd = raw_accept(&n, listener);
    (void)net_event(&n, stream, SENNIT_EVENT_READY);
    net_send(stream, "s|all|of||it");
    net_send(stream, "s||more");
    raw_read(&n, fd, octets, 11);
    assert_memory_equal(octets, "allofitmore", 11);
    net_send(stream, "s|");
    raw_until_closed(&n, fd);
    close(fd);
    close(listener);
    net_close(&n);
}

static void
R56_a_push_without_one_of_its_peers_sends_to_the_other(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        for (int left = 0; left < 2; left++) {
            sennit_sock *push;
            sennit_sock *pulls[2];
            char endpoints[2][128];
            int at_other = 0;

            net_open(&n);
            push = net_sock(&n, SENNIT_PUSH, NULL);
            for (int i = 0; i < 2; i++) {
                pulls[i] = net_sock(&n, SENNIT_PULL, NULL);
                snprintf(endpoints[i], sizeof endpoints[i], "%s",
                         net_bind(pulls[i], (transport)via));
                net_connect(push, endpoints[i]);
            }
            NET_UNTIL(&n, net_stats(push).connections == 2);
            assert_int_equal(sennit_sock_disconnect(push, endpoints[left]), SENNIT_OK);
            for (int i = 0; i < 10; i++)
                assert_int_equal(net_try_send(push, "m", SENNIT_DONTWAIT), SENNIT_OK);
            for (; at_other < 10; at_other++)
                assert_string_equal(net_recv(pulls[!left]), "m");
            assert_string_equal(net_recv_flags(pulls[left], SENNIT_DONTWAIT), "EAGAIN");
            net_check_law(push);
            net_close(&n);
        }
    }
}

/* ---- proxy, inproc, loop ----------------------------------------------- */

static void
R60_a_proxy_goes_on_when_a_worker_dies_under_what_it_forwards(void **state)
{
    const struct linger hard = { 1, 0 };
    sennit_sock *front;
    sennit_sock *back;
    sennit_sock *client;
    sennit_sock *worker;
    sennit_proxy *proxy;
    sennit_proxy_stats stats;

    (void)state;
    net_open(&n);
    front = net_sock(&n, SENNIT_PULL, NULL);
    back = net_sock(&n, SENNIT_PUSH, NULL);
    client = net_sock(&n, SENNIT_PUSH, NULL);
    net_join(&n, front, client, TCP);
    (void)net_bind(back, TCP);
    assert_int_equal(sennit_proxy_open(&proxy, front, back, NULL), SENNIT_OK);
    for (int round = 0; round < 20; round++) {
        int fd = raw_connect(sennit_sock_last_endpoint(back));

        raw_handshake(&n, fd, "PULL", NULL);
        NET_UNTIL(&n, net_stats(back).connections == 1);
        for (int i = 0; i < 50; i++)
            net_send(client, "work");
        if (round % 2 == 0)
            assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
        close(fd);
        NET_UNTIL(&n, net_stats(back).connections == 0);
        assert_false(sennit_proxy_ended(proxy, NULL));
    }
    worker = net_sock(&n, SENNIT_PULL, NULL);
    net_connect(worker, sennit_sock_last_endpoint(back));
    net_send(client, "the last");
    while (strcmp(net_recv(worker), "the last") != 0)
        continue;
    sennit_proxy_get_stats(proxy, &stats);
    assert_int_equal(stats.front_received.msgs, 20 * 50 + 1);
    sennit_proxy_close(proxy);
    net_close(&n);
}

static void
R62_a_name_is_free_as_soon_as_its_socket_is_closed(void **state)
{
    (void)state;
    net_open(&n);
    for (int i = 0; i < 100; i++) {
        sennit_sock *pull = net_sock(&n, SENNIT_PULL, NULL);
        sennit_sock *push = net_sock(&n, SENNIT_PUSH, NULL);

        assert_int_equal(sennit_sock_bind(pull, "inproc://again"), SENNIT_OK);
        net_connect(push, "inproc://again");
        net_send(push, "m");
        assert_string_equal(net_recv(pull), "m");
        sennit_sock_close(pull); /* the peer lives on */
    }
    net_close(&n);
}

/* In one look of the loop the connection can be read and written, and what is read ends
 * it. */
static void
R65_what_is_read_ends_a_connection_that_could_just_be_written(void **state)
{
    static uint8_t body[100000];

    (void)state;
    for (int via = 0; via < INPROC; via++) {
        for (int round = 0; round < 5; round++) {
            sennit_sock *dealer;
            sennit_sock *good;
            sennit_event event;
            uint8_t sink[65536];
            int fd;

            net_open(&n);
            dealer = net_sock(&n, SENNIT_DEALER, NULL);
            fd = raw_connect(net_bind(dealer, (transport)via));
            raw_handshake(&n, fd, "DEALER", NULL);
            NET_UNTIL(&n, net_stats(dealer).connections == 1);
            /* Until the kernel takes no more, so that the send waits for room. */
            for (uint64_t queued = 0; queued < 100;) {
                assert_int_equal(sennit_sock_send_bytes(dealer, body, sizeof body, 0),
                                 SENNIT_OK);
                assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
                queued = net_stats(dealer).queued_msgs;
            }
            /* Room, and nonsense: both before the loop looks. */
            while (recv(fd, sink, sizeof sink, 0) > 0)
                continue;
            assert_int_equal(errno, EAGAIN);
            assert_int_equal(send(fd, "\10\1x", 3, MSG_NOSIGNAL), 3);
            event = net_event(&n, dealer, SENNIT_EVENT_DISCONNECTED);
            assert_int_equal(event.err, SENNIT_EPROTO);
            assert_false(net_has_event(dealer, SENNIT_EVENT_DISCONNECTED, &event));
            net_check_law(dealer);
            good = net_sock(&n, SENNIT_DEALER, NULL);
            net_connect(good, sennit_sock_last_endpoint(dealer));
            net_send(good, "on");
            assert_string_equal(net_recv(dealer), "on");
            close(fd);
            net_close(&n);
        }
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(R12_a_stranger_who_says_nothing_is_not_the_peer_of_a_pair),
    cmocka_unit_test(R17_a_second_ready_is_passed_over_and_changes_nothing),
    cmocka_unit_test(R25_a_message_that_drips_in_does_not_put_off_the_end_of_a_receive),
    cmocka_unit_test(R27_a_message_that_is_kept_is_not_written_over),
    cmocka_unit_test(R28_a_large_message_leaves_neither_a_buffer_nor_a_gap),
    cmocka_unit_test(R29_frames_of_about_the_size_of_a_receive_arrive_as_they_were),
    cmocka_unit_test(R31_sends_that_gave_up_leave_the_stream_whole),
    cmocka_unit_test(R33_a_publication_over_the_mark_in_bytes_is_sent_to_an_empty_queue),
    cmocka_unit_test(R44_a_request_that_was_refused_is_not_waited_for),
    cmocka_unit_test(R45_one_peer_that_is_gone_leaves_the_others_served),
    cmocka_unit_test(R47_who_subscribed_twice_still_receives_after_one_unsubscribe),
    cmocka_unit_test(
        R50_a_subscriber_that_talks_nonsense_is_shown_out_and_others_are_heard),
    cmocka_unit_test(R53_a_stream_that_connected_sends_all_frames_and_can_disconnect),
    cmocka_unit_test(R56_a_push_without_one_of_its_peers_sends_to_the_other),
    cmocka_unit_test(R60_a_proxy_goes_on_when_a_worker_dies_under_what_it_forwards),
    cmocka_unit_test(R62_a_name_is_free_as_soon_as_its_socket_is_closed),
    cmocka_unit_test(R65_what_is_read_ends_a_connection_that_could_just_be_written),
};

SENNIT_TEST_MAIN(tests)
