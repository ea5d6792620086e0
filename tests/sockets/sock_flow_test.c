/* SPDX-License-Identifier: MIT */
/* High-water marks, timeouts, linger, and that every accepted message is accounted
 * for. */
#include "net.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static net n;

static uint64_t
ms_since(sennit_time started)
{
    return (sennit_loop_now(n.loop) - started) / 1000000u;
}

/* ---- high-water marks -------------------------------------------------- */

/* Sends until it would block; returns how many were accepted. */
static uint64_t
stuff(sennit_sock *sock, size_t size, uint64_t at_most)
{
    static uint8_t body[4096];
    uint64_t count = 0;

    assert_true(size <= sizeof body);
    while (count < at_most) {
        sennit_err err = sennit_sock_send_bytes(sock, body, size, SENNIT_DONTWAIT);

        if (err) {
            assert_int_equal(err, SENNIT_EAGAIN);
            break;
        }
        count++;
    }
    return count;
}

static void
before_there_is_a_peer_exactly_the_mark_can_be_queued(void **state)
{
    static const int marks[] = { 1, 7, 1000 };

    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        for (size_t i = 0; i < 3; i++) {
            sennit_sock_opts opts = net_opts();
            sennit_sock *push;

            opts.send_hwm_msgs = marks[i];
            net_open(&n);
            push = net_sock(&n, SENNIT_PUSH, &opts);
            net_connect(push, net_vacant((transport)via));
            assert_int_equal(stuff(push, 10, 5000), (uint64_t)marks[i]);
            assert_int_equal(sennit_sock_ready(push) & SENNIT_WRITABLE, 0);
            net_check_law(push);
            net_close(&n);
        }
    }
}

static void
a_mark_of_zero_is_no_limit(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock_opts opts = net_opts();
        sennit_sock *push;
        sennit_sock *pull;

        opts.send_hwm_msgs = 0;
        opts.recv_hwm_msgs = 0;
        net_open(&n);
        push = net_sock(&n, SENNIT_PUSH, &opts);
        pull = net_sock(&n, SENNIT_PULL, &opts);
        net_join(&n, pull, push, (transport)via);
        assert_int_equal(stuff(push, 100, 50000), 50000);
        for (int i = 0; i < 50000; i++) {
            char body[100];
            size_t size;

            assert_int_equal(sennit_sock_recv_bytes(pull, body, sizeof body, &size, 0),
                             SENNIT_OK);
        }
        net_check_law(push);
        net_close(&n);
    }
}

/* Of messages of 4096 octets and a head of 9 there are 16 MiB after 4088. */
static void
by_default_a_send_that_waits_does_so_at_16_mib(void **state)
{
    static const struct {
        sennit_sock_type type;
        int hwm_msgs;
        uint64_t taken;
    } rows[] = { { SENNIT_PUSH, 5000, 4088 },
                 { SENNIT_DEALER, 5000, 4088 },
                 { SENNIT_PAIR, 5000, 4088 },
                 { SENNIT_PUSH, 0, 5000 } };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        sennit_sock_opts opts = net_opts();
        sennit_sock *sock;

        opts.send_hwm_msgs = rows[i].hwm_msgs;
        opts.linger_ms = 0;
        net_open(&n);
        sock = net_sock(&n, rows[i].type, &opts);
        net_connect(sock, net_vacant(TCP));
        assert_int_equal(stuff(sock, 4096, 5000), rows[i].taken);
        net_check_law(sock);
        net_close(&n);
    }
}

/* A peer with less than the mark queued takes one more message of any size. */
static void
a_mark_in_bytes_counts_what_is_queued(void **state)
{
    (void)state;
    for (int via = 0; via < INPROC; via++) {
        sennit_sock_opts opts = net_opts();
        sennit_sock *push;

        opts.send_hwm_msgs = 0;
        opts.send_hwm_bytes = 1000;
        net_open(&n);
        push = net_sock(&n, SENNIT_PUSH, &opts);
        net_connect(push, net_vacant((transport)via));
        /* 100 octets and their heads of 2: after nine there are 918, after ten 1020. */
        assert_int_equal(stuff(push, 100, 5000), 10);
        assert_int_equal(net_stats(push).queued_bytes, 1020);
        assert_int_equal(sennit_sock_ready(push) & SENNIT_WRITABLE, 0);
        opts.send_hwm_bytes = 1021;
        assert_int_equal(sennit_sock_set_opts(push, &opts), SENNIT_OK);
        assert_int_equal(stuff(push, 4096, 5000), 1);
        net_check_law(push);
        net_close(&n);
    }
}

/* Half a message that was written makes room as well: the writer is woken by bytes. */
static void
a_writer_at_its_mark_in_bytes_goes_on_when_its_peer_reads(void **state)
{
    (void)state;
    for (int via = 0; via < INPROC; via++) {
        sennit_sock_opts opts = net_opts();
        sennit_sock *push;
        sennit_sock *pull;
        uint64_t sent = 0;
        uint64_t taken = 0;
        char body[4096];
        size_t size;

        opts.send_hwm_msgs = 0;
        opts.send_hwm_bytes = 10000;
        opts.recv_hwm_bytes = 10000;
        net_open(&n);
        push = net_sock(&n, SENNIT_PUSH, &opts);
        pull = net_sock(&n, SENNIT_PULL, &opts);
        net_join(&n, pull, push, (transport)via);
        /* Until the kernel is full as well. */
        for (int idle = 0; idle < 20; idle++) {
            uint64_t more = stuff(push, sizeof body, 5000);

            idle = more > 0 ? 0 : idle;
            sent += more;
            assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
        }
        assert_true(net_stats(push).queued_bytes >= 10000);
        assert_true(net_stats(push).queued_bytes < 10000 + 5000);
        while (taken < sent) {
            assert_int_equal(sennit_sock_recv_bytes(pull, body, sizeof body, &size, 0),
                             SENNIT_OK);
            taken++;
        }
        assert_int_equal(stuff(push, 1, 1), 1);
        net_check_law(push);
        net_close(&n);
    }
}

/* One receive may bring more than the mark; but none is asked for beyond it, until the
 * mark is raised. */
static void
a_receiver_stops_at_its_mark_and_goes_on_when_it_is_raised(void **state)
{
    static const struct {
        int msgs;
        uint64_t bytes;
    } marks[] = { { 4, 0 }, { 0, 400 } };

    (void)state;
    for (int via = 0; via < INPROC; via++) {
        for (size_t i = 0; i < 2; i++) {
            sennit_sock_opts opts = net_opts();
            sennit_sock *push;
            sennit_sock *pull;

            opts.recv_hwm_msgs = marks[i].msgs;
            opts.recv_hwm_bytes = marks[i].bytes;
            net_open(&n);
            push = net_sock(&n, SENNIT_PUSH, NULL);
            pull = net_sock(&n, SENNIT_PULL, &opts);
            net_join(&n, pull, push, (transport)via);
            for (int k = 0; k < 4; k++) {
                assert_int_equal(stuff(push, 100, 1), 1);
                sennit_sock_flush(push);
                NET_UNTIL(&n, net_only_peer(pull).unread_msgs == (uint64_t)k + 1);
            }
            assert_int_equal(stuff(push, 100, 1), 1);
            sennit_sock_flush(push);
            for (int k = 0; k < 20; k++)
                assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
            assert_int_equal(net_only_peer(pull).unread_msgs, 4);
            opts.recv_hwm_msgs = 0;
            opts.recv_hwm_bytes = 0;
            assert_int_equal(sennit_sock_set_opts(pull, &opts), SENNIT_OK);
            NET_UNTIL(&n, net_only_peer(pull).unread_msgs == 5);
            net_close(&n);
        }
    }
}

/* A queue that is full is what its sender asked for (D04a): both marks, and what the
 * kernel and the window hold. */
static void
marks_of_two_take_few_large_messages(void **state)
{
    static uint8_t body[1u << 20];
    sennit_sock_opts opts = net_opts();
    sennit_sock *binder;
    sennit_sock *connecter;
    unsigned accepted = 0;

    (void)state;
    opts.send_hwm_msgs = 2;
    opts.recv_hwm_msgs = 2;
    opts.kernel_send_bytes = 16 << 10;
    opts.kernel_recv_bytes = 16 << 10;
    net_open(&n);
    binder = net_sock(&n, SENNIT_DEALER, &opts);
    connecter = net_sock(&n, SENNIT_DEALER, &opts);
    net_join(&n, binder, connecter, TCP);
    for (int idle = 0; idle < 50; idle++) {
        if (sennit_sock_send_bytes(binder, body, sizeof body, SENNIT_DONTWAIT) ==
            SENNIT_OK) {
            accepted++;
            idle = 0;
        }
        assert_int_equal(sennit_loop_turn(n.loop, 1), SENNIT_OK);
    }
    assert_in_range(accepted, 2, 6);
    net_close(&n);
}

/* With `immediate` nobody is sent to before there is a peer, and what waits for one that
 * leaves is not for the next. */
static void
a_connect_that_is_immediate_takes_nothing_before_it_is_ready(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock_opts opts = net_opts();
        const char *endpoint = net_vacant((transport)via);
        sennit_sock *push;
        sennit_sock *pull;

        opts.immediate = true;
        net_open(&n);
        push = net_sock(&n, SENNIT_PUSH, &opts);
        net_connect(push, endpoint);
        assert_int_equal(stuff(push, 1, 10), 0);
        assert_int_equal(sennit_sock_ready(push) & SENNIT_WRITABLE, 0);
        pull = net_sock(&n, SENNIT_PULL, NULL);
        assert_int_equal(sennit_sock_bind(pull, endpoint), SENNIT_OK);
        net_send(push, "x");
        assert_string_equal(net_recv(pull), "x");
        net_check_law(push);
        net_close(&n);
    }
}

static void
what_an_immediate_connect_had_queued_is_dropped_with_its_connection(void **state)
{
    static uint8_t body[1u << 20];
    sennit_sock_opts opts = net_opts();
    sennit_sock *push;
    char endpoint[64];
    int listener = raw_listen(endpoint);
    int fd;

    (void)state;
    opts.immediate = true;
    opts.send_hwm_msgs = 0;
    net_open(&n);
    push = net_sock(&n, SENNIT_PUSH, &opts);
    net_connect(push, endpoint);
    fd = raw_accept(&n, listener);
    raw_handshake(&n, fd, "PULL", NULL);
    for (int i = 0; i < 20; i++)
        assert_int_equal(sennit_sock_send_bytes(push, body, sizeof body, 0), SENNIT_OK);
    assert_true(net_stats(push).queued_msgs > 0);
    close(fd);
    net_event(&n, push, SENNIT_EVENT_DISCONNECTED);
    assert_int_equal(net_stats(push).queued_msgs, 0);
    assert_true(net_stats(push).dropped_disconnect_msgs > 0);
    assert_int_equal(stuff(push, 1, 1), 0);
    net_check_law(push);
    close(listener);
    net_close(&n);
}

/* A reader that does not read stops the writer; reading lets it go on, and everything
 * arrives once. */
static void
a_full_peer_blocks_the_sender_until_it_reads(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock_opts opts = net_opts();
        sennit_sock *push;
        sennit_sock *pull;
        uint64_t accepted = 0;
        uint64_t taken = 0;
        uint64_t more;
        char body[4096];
        size_t size;

        opts.send_hwm_msgs = 5;
        opts.recv_hwm_msgs = 5;
        net_open(&n);
        push = net_sock(&n, SENNIT_PUSH, &opts);
        pull = net_sock(&n, SENNIT_PULL, &opts);
        net_join(&n, pull, push, (transport)via);
        /* The kernel's buffers take some; the end is when turning makes no room. */
        do {
            more = stuff(push, sizeof body, 100000);
            accepted += more;
            for (int i = 0; i < 10; i++)
                assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
        } while (more > 0);
        assert_in_range(accepted, 5, 99999);
        assert_int_equal(sennit_sock_ready(push) & SENNIT_WRITABLE, 0);
        net_check_law(push);
        while (taken < accepted) {
            assert_int_equal(sennit_sock_recv_bytes(pull, body, sizeof body, &size, 0),
                             SENNIT_OK);
            taken++;
        }
        assert_int_equal(net_stats(push).delivered_msgs, accepted);
        assert_int_equal(sennit_sock_ready(push) & SENNIT_WRITABLE, SENNIT_WRITABLE);
        net_send(push, "again");
        assert_string_equal(net_recv(pull), "again");
        net_check_law(push);
        net_close(&n);
    }
}

typedef struct reader {
    uint64_t taken;
} reader;

static void
read_one(sennit_sock *sock, unsigned ready, void *arg)
{
    reader *r = arg;
    char body[64];
    size_t size;

    assert_int_equal(ready, SENNIT_READABLE);
    assert_int_equal(
        sennit_sock_recv_bytes(sock, body, sizeof body, &size, SENNIT_DONTWAIT),
        SENNIT_OK);
    r->taken++;
}

/* Marks of 1 with messages of a few octets: each send waits for the flush of the one
 * before, and each receive asks for more. */
static void
tiny_marks_with_tiny_messages_do_not_hang(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock_opts opts = net_opts();
        sennit_sock *push;
        sennit_sock *pull;
        reader r = { 0 };

        opts.send_hwm_msgs = 1;
        opts.recv_hwm_msgs = 1;
        net_open(&n);
        push = net_sock(&n, SENNIT_PUSH, &opts);
        pull = net_sock(&n, SENNIT_PULL, &opts);
        net_join(&n, pull, push, (transport)via);
        sennit_sock_on_ready(pull, SENNIT_READABLE, read_one, &r);
        for (int i = 0; i < 2000; i++)
            assert_int_equal(sennit_sock_send_bytes(push, "x", 1, 0), SENNIT_OK);
        NET_UNTIL(&n, r.taken == 2000);
        net_check_law(push);
        net_close(&n);
    }
}

static void
pub_drops_at_the_mark_of_a_slow_subscriber_and_counts_each_copy(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock_opts opts = net_opts();
        sennit_sock *pub;
        sennit_sock *sub;
        sennit_sock_stats stats;
        uint64_t taken = 0;
        char body[4096] = { 0 };
        size_t size;

        opts.send_hwm_msgs = 10;
        opts.recv_hwm_msgs = 10;
        net_open(&n);
        pub = net_sock(&n, SENNIT_PUB, &opts);
        sub = net_sock(&n, SENNIT_SUB, &opts);
        net_subscribe(sub, "");
        net_join(&n, pub, sub, (transport)via);
        NET_UNTIL(&n, net_stats(pub).subscriptions == 1);
        for (int i = 0; i < 5000; i++)
            assert_int_equal(sennit_sock_send_bytes(pub, body, sizeof body, 0),
                             SENNIT_OK);
        stats = net_stats(pub);
        assert_int_equal(stats.sent_msgs, 5000);
        assert_true(stats.dropped_hwm_msgs > 0);
        assert_int_equal(
            stats.delivered_msgs + stats.queued_msgs + stats.dropped_hwm_msgs, 5000);
        while (taken < 5000 - stats.dropped_hwm_msgs) {
            assert_int_equal(sennit_sock_recv_bytes(sub, body, sizeof body, &size, 0),
                             SENNIT_OK);
            taken++;
        }
        assert_string_equal(net_recv_flags(sub, SENNIT_DONTWAIT), "EAGAIN");
        net_close(&n);
    }
}

/* ---- timeouts ---------------------------------------------------------- */

static void
receiving_gives_up_after_its_timeout_and_not_before(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *pull;
    sennit_time started;

    (void)state;
    opts.recv_timeout_ms = 30;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, &opts);
    started = sennit_loop_now(n.loop);
    assert_string_equal(net_recv(pull), "EAGAIN");
    assert_in_range(ms_since(started), 30, 5000);
    started = sennit_loop_now(n.loop);
    assert_string_equal(net_recv_flags(pull, SENNIT_DONTWAIT), "EAGAIN");
    assert_true(ms_since(started) < 30);
    net_close(&n);
}

static void
sending_gives_up_after_its_timeout_and_not_before(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *push;
    sennit_time started;

    (void)state;
    opts.send_timeout_ms = 30;
    net_open(&n);
    push = net_sock(&n, SENNIT_PUSH, &opts);
    started = sennit_loop_now(n.loop);
    assert_int_equal(net_try_send(push, "x", 0), SENNIT_EAGAIN);
    assert_in_range(ms_since(started), 30, 5000);
    net_close(&n);
}

static void
a_timeout_of_zero_does_not_wait(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_time started;

    (void)state;
    opts.send_timeout_ms = 0;
    opts.recv_timeout_ms = 0;
    net_open(&n);
    started = sennit_loop_now(n.loop);
    assert_int_equal(net_try_send(net_sock(&n, SENNIT_PUSH, &opts), "x", 0),
                     SENNIT_EAGAIN);
    assert_string_equal(net_recv(net_sock(&n, SENNIT_PULL, &opts)), "EAGAIN");
    assert_true(ms_since(started) < 1000);
    net_close(&n);
}

static void
a_connect_that_nobody_answers_fails_after_its_timeout(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *push;
    sennit_event event;
    char endpoint[64];
    int listener = raw_listen(endpoint);

    (void)state;
    opts.handshake_timeout_ms = 20;
    net_open(&n);
    push = net_sock(&n, SENNIT_PUSH, &opts);
    net_connect(push, endpoint);
    event = net_event(&n, push, SENNIT_EVENT_HANDSHAKE_FAILED);
    assert_int_equal(event.err, SENNIT_ETIMEDOUT);
    assert_string_equal(event.reason, "handshake not finished in time");
    net_event(&n, push, SENNIT_EVENT_RETRYING);
    close(listener);
    net_close(&n);
}

/* ---- linger ------------------------------------------------------------ */

static void
closing_ends_in_time_with_nobody_there(void **state)
{
    static const int lingers[] = { 0, 200 };

    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        for (size_t i = 0; i < 2; i++) {
            sennit_sock_opts opts = net_opts();
            sennit_sock *push;
            sennit_time started;
            sennit_time took;
            net other;

            opts.linger_ms = lingers[i];
            net_open(&n);
            net_open(&other); /* its clock outlives the loop that is closed */
            push = net_sock(&n, SENNIT_PUSH, &opts);
            net_connect(push, net_vacant((transport)via));
            net_send(push, "never to arrive");
            started = sennit_loop_now(other.loop);
            sennit_sock_close(push);
            took = sennit_loop_now(other.loop) - started;
            assert_true(took < 100u * 1000000u);
            net_close(&n);
            took = (sennit_loop_now(other.loop) - started) / 1000000u;
            /* Before the bind an inproc peer cannot come any more: nothing to wait for.
             */
            if (via != INPROC)
                assert_true(took >= (sennit_time)lingers[i]);
            assert_true(took < (sennit_time)lingers[i] + 3000);
            net_close(&other);
        }
    }
}

/* The listener comes only after the close; with linger -1 the message still arrives,
 * and then the socket ends by itself. */
static void
lingering_for_ever_ends_when_a_late_peer_has_got_everything(void **state)
{
    (void)state;
    for (int via = 0; via < INPROC; via++) {
        sennit_sock_opts opts = net_opts();
        const char *endpoint = net_vacant((transport)via);
        sennit_sock *push;
        sennit_sock *pull;

        opts.linger_ms = -1;
        net_open(&n);
        push = net_sock(&n, SENNIT_PUSH, &opts);
        net_connect(push, endpoint);
        net_event(&n, push, SENNIT_EVENT_RETRYING);
        for (int i = 0; i < 100; i++)
            net_send(push, "late");
        sennit_sock_close(push);
        pull = net_sock(&n, SENNIT_PULL, NULL);
        assert_int_equal(sennit_sock_bind(pull, endpoint), SENNIT_OK);
        for (int i = 0; i < 100; i++)
            assert_string_equal(net_recv(pull), "late");
        net_event(&n, pull, SENNIT_EVENT_DISCONNECTED);
        assert_string_equal(net_recv_flags(pull, SENNIT_DONTWAIT), "EAGAIN");
        net_close(&n);
    }
}

/* More than the kernel takes at once, closed at once, read slowly afterwards. */
static void
the_tail_of_a_burst_arrives_after_close(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        for (int binds = 0; binds < 2; binds++) {
            sennit_sock_opts opts = net_opts();
            sennit_sock *push;
            sennit_sock *pull;
            char body[1000];
            size_t size;

            opts.linger_ms = -1;
            opts.send_hwm_msgs = 0;
            net_open(&n);
            push = net_sock(&n, SENNIT_PUSH, &opts);
            pull = net_sock(&n, SENNIT_PULL, NULL);
            net_join(&n, binds ? push : pull, binds ? pull : push, (transport)via);
            for (uint32_t i = 0; i < 20000; i++) {
                memset(body, (int)i, sizeof body);
                memcpy(body, &i, sizeof i);
                assert_int_equal(
                    sennit_sock_send_bytes(push, body, sizeof body, SENNIT_DONTWAIT),
                    via == INPROC && i >= 1000000 ? SENNIT_EAGAIN : SENNIT_OK);
            }
            sennit_sock_close(push);
            for (uint32_t i = 0; i < 20000; i++) {
                uint32_t number;

                assert_int_equal(
                    sennit_sock_recv_bytes(pull, body, sizeof body, &size, 0), SENNIT_OK);
                assert_int_equal(size, sizeof body);
                memcpy(&number, body, sizeof number);
                assert_int_equal(number, i);
            }
            net_event(&n, pull, SENNIT_EVENT_DISCONNECTED);
            net_close(&n);
        }
    }
}

static void
lingering_gives_up_on_a_peer_that_does_not_read(void **state)
{
    static uint8_t body[1u << 20];
    sennit_sock_opts opts = net_opts();
    sennit_sock *push;
    sennit_time started;
    char endpoint[64];
    int listener = raw_listen(endpoint);
    int fd;
    net clock;

    (void)state;
    opts.linger_ms = 100;
    opts.send_hwm_msgs = 0;
    net_open(&n);
    net_open(&clock);
    push = net_sock(&n, SENNIT_PUSH, &opts);
    net_connect(push, endpoint);
    fd = raw_accept(&n, listener);
    raw_handshake(&n, fd, "PULL", NULL);
    for (int i = 0; i < 16; i++) {
        sennit_msg msg;

        assert_int_equal(sennit_msg_init_copy(&msg, body, sizeof body), SENNIT_OK);
        assert_int_equal(sennit_sock_send(push, &msg, 0), SENNIT_OK);
    }
    started = sennit_loop_now(clock.loop);
    sennit_sock_close(push);
    net_close(&n);
    assert_in_range((sennit_loop_now(clock.loop) - started) / 1000000u, 100, 5000);
    close(fd);
    close(listener);
    net_close(&clock);
}

static void
an_unfinished_message_does_not_keep_a_socket_from_closing(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock_opts opts = net_opts();
        sennit_sock *push;
        sennit_sock *pull;
        sennit_msg msg;

        opts.linger_ms = 2000;
        net_open(&n);
        push = net_sock(&n, SENNIT_PUSH, &opts);
        pull = net_sock(&n, SENNIT_PULL, NULL);
        net_join(&n, pull, push, (transport)via);
        net_send(push, "whole");
        sennit_msg_init(&msg);
        assert_int_equal(sennit_sock_send(push, &msg, SENNIT_MORE), SENNIT_OK);
        sennit_sock_close(push);
        assert_string_equal(net_recv(pull), "whole");
        net_event(&n, pull, SENNIT_EVENT_DISCONNECTED);
        assert_string_equal(net_recv_flags(pull, SENNIT_DONTWAIT), "EAGAIN");
        net_close(&n);
    }
}

/* The beginning of a message waits for a peer that does not come, and for its end. */
static void
an_unfinished_message_is_not_lingered_for(void **state)
{
    (void)state;
    for (int via = 0; via < INPROC; via++) {
        sennit_sock_opts opts = net_opts();
        sennit_time started;
        sennit_sock *push;
        sennit_msg msg;
        net clock; /* outlives the loop that is closed */

        opts.linger_ms = DEADLINE_MS;
        net_open(&n);
        net_open(&clock);
        push = net_sock(&n, SENNIT_PUSH, &opts);
        net_connect(push, net_vacant((transport)via));
        for (int i = 0; i < 3; i++) {
            sennit_msg_init(&msg);
            assert_int_equal(sennit_sock_send(push, &msg, SENNIT_MORE), SENNIT_OK);
        }
        started = sennit_loop_now(clock.loop);
        sennit_sock_close(push);
        net_close(&n);
        assert_true((sennit_loop_now(clock.loop) - started) / 1000000u < DEADLINE_MS / 2);
        net_close(&clock);
    }
}

/* A publisher disconnects between two frames: nobody gets a part, and the rest is not
 * taken for a message of its own. */
static void
a_message_that_a_disconnect_tears_is_dropped_whole(void **state)
{
    (void)state;
    for (int via = 0; via < INPROC; via++) {
        for (int flushed = 0; flushed < 2; flushed++) {
            sennit_sock_opts opts = net_opts();
            sennit_sock *pub;
            sennit_sock *sub;

            opts.linger_ms = DEADLINE_MS;
            net_open(&n);
            pub = net_sock(&n, SENNIT_PUB, &opts);
            sub = net_sock(&n, SENNIT_SUB, NULL);
            net_subscribe(sub, "");
            net_join(&n, sub, pub, (transport)via);
            assert_int_equal(sennit_sock_wait_subscriptions(pub, 1, DEADLINE_MS),
                             SENNIT_OK);
            net_send(pub, "whole|message");
            assert_int_equal(sennit_sock_send_bytes(pub, "torn", 4, SENNIT_MORE),
                             SENNIT_OK);
            if (flushed)
                sennit_sock_flush(pub);
            assert_int_equal(sennit_sock_disconnect(pub, sennit_sock_last_endpoint(pub)),
                             SENNIT_OK);
            net_send(pub, "message");
            assert_string_equal(net_recv(sub), "whole|message");
            net_event(&n, sub, SENNIT_EVENT_DISCONNECTED);
            assert_string_equal(net_recv_flags(sub, SENNIT_DONTWAIT), "EAGAIN");
            assert_int_equal(net_stats(pub).queued_msgs, 0);
            assert_int_equal(net_stats(pub).dropped_disconnect_msgs, 1);
            net_close(&n);
        }
    }
}

/* ---- disconnect and unbind -------------------------------------------- */

static void
after_disconnect_what_is_queued_leaves_and_nothing_more_is_accepted(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *push;
    sennit_sock *pull;
    const char *endpoint;
    char body[4096] = { 0 };
    size_t size;

    (void)state;
    opts.linger_ms = -1;
    opts.send_hwm_msgs = 4000;
    net_open(&n);
    push = net_sock(&n, SENNIT_PUSH, &opts);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    endpoint = net_bind(pull, TCP);
    net_connect(push, endpoint);
    for (int i = 0; i < 4000; i++)
        assert_int_equal(sennit_sock_send_bytes(push, body, sizeof body, SENNIT_DONTWAIT),
                         SENNIT_OK);
    assert_int_equal(sennit_sock_disconnect(push, endpoint), SENNIT_OK);
    for (int i = 0; i < 4000; i++) {
        assert_int_equal(sennit_sock_send_bytes(push, body, sizeof body, SENNIT_DONTWAIT),
                         SENNIT_EAGAIN);
        assert_int_equal(sennit_sock_recv_bytes(pull, body, sizeof body, &size, 0),
                         SENNIT_OK);
    }
    net_event(&n, pull, SENNIT_EVENT_DISCONNECTED);
    net_check_law(push);
    assert_int_equal(net_stats(push).delivered_msgs, 4000);
    net_close(&n);
}

static void
after_unbind_what_is_queued_leaves_and_nothing_more_is_accepted(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *push;
    sennit_sock *pull;
    char body[4096] = { 0 };
    size_t size;

    (void)state;
    opts.linger_ms = -1;
    opts.send_hwm_msgs = 4000;
    net_open(&n);
    push = net_sock(&n, SENNIT_PUSH, &opts);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    net_join(&n, push, pull, TCP);
    for (int i = 0; i < 4000; i++)
        assert_int_equal(sennit_sock_send_bytes(push, body, sizeof body, SENNIT_DONTWAIT),
                         SENNIT_OK);
    assert_int_equal(sennit_sock_unbind(push, sennit_sock_last_endpoint(push)),
                     SENNIT_OK);
    for (int i = 0; i < 4000; i++) {
        assert_int_equal(sennit_sock_send_bytes(push, body, sizeof body, SENNIT_DONTWAIT),
                         SENNIT_EAGAIN);
        assert_int_equal(sennit_sock_recv_bytes(pull, body, sizeof body, &size, 0),
                         SENNIT_OK);
    }
    net_event(&n, pull, SENNIT_EVENT_DISCONNECTED);
    net_check_law(push);
    net_close(&n);
}

/* Closing with unread input resets a connection, and the kernel forgets what it has. */
static void
what_the_kernel_has_arrives_though_a_connecter_closes_with_unread_input(void **state)
{
    enum { MESSAGES = 5 };
    static uint8_t body[30000];
    sennit_sock_opts opts = net_opts();
    sennit_sock *binder;
    sennit_sock *connecter;
    size_t size;

    (void)state;
    net_open(&n);
    opts.recv_hwm_msgs = 1;
    opts.kernel_recv_bytes = 16384;
    binder = net_sock(&n, SENNIT_DEALER, &opts);
    opts.linger_ms = DEADLINE_MS;
    opts.kernel_send_bytes = 1 << 20;
    connecter = net_sock(&n, SENNIT_DEALER, &opts);
    net_join(&n, binder, connecter, TCP);
    for (int i = 0; i < 20; i++)
        assert_int_equal(sennit_sock_send_bytes(binder, body, sizeof body, 0), SENNIT_OK);
    for (int i = 0; i < MESSAGES; i++)
        assert_int_equal(sennit_sock_send_bytes(connecter, body, sizeof body, 0),
                         SENNIT_OK);
    NET_UNTIL(&n, net_stats(connecter).delivered_msgs == MESSAGES);
    sennit_sock_close(connecter);
    assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
    for (int i = 0; i < MESSAGES; i++)
        assert_int_equal(sennit_sock_recv_bytes(binder, body, sizeof body, &size, 0),
                         SENNIT_OK);
    net_close(&n);
}

/* Both have filled what there is, and the peer reads when it has been heard. */
static void
closing_while_both_directions_are_full_waits_for_no_linger(void **state)
{
    static uint8_t frame[64 << 10] = { 2, 0, 0, 0, 0, 0, 0, 0xff, 0xf7 };
    sennit_sock_opts opts = net_opts();
    size_t sent = 0, written = 0, read = 0;
    sennit_sock *dealer;
    ssize_t got;
    int fd;

    (void)state;
    net_open(&n);
    opts.recv_hwm_msgs = 1;
    opts.linger_ms = DEADLINE_MS;
    dealer = net_sock(&n, SENNIT_DEALER, &opts);
    fd = raw_connect(net_bind(dealer, TCP));
    raw_handshake(&n, fd, "DEALER", "");
    NET_UNTIL(&n, net_stats(dealer).connections == 1);
    for (int idle = 0; idle < 20; idle++) {
        while ((got = send(fd, frame + written % sizeof frame,
                           sizeof frame - written % sizeof frame, MSG_NOSIGNAL)) > 0) {
            written += (size_t)got;
            idle = 0;
        }
        while (sennit_sock_send_bytes(dealer, frame, sizeof frame, SENNIT_DONTWAIT) ==
               SENNIT_OK) {
            sent += sizeof frame;
            idle = 0;
        }
        assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
    }
    sennit_sock_close(dealer);
    /* First its own go through. */
    for (size_t rest = (sizeof frame - written % sizeof frame) + 4 * sizeof frame;
         rest > 0;) {
        got = send(fd, frame + written % sizeof frame,
                   sizeof frame - written % sizeof frame, MSG_NOSIGNAL);
        assert_true(got > 0 || errno == EAGAIN);
        if (got > 0) {
            written += (size_t)got;
            rest -= (size_t)got < rest ? (size_t)got : rest;
        }
        assert_int_equal(sennit_loop_turn(n.loop, got > 0 ? 0 : DEADLINE_MS), SENNIT_OK);
    }
    while ((got = recv(fd, frame, sizeof frame, 0)) != 0) {
        assert_true(got > 0 || errno == EAGAIN);
        read += got > 0 ? (size_t)got : 0;
        assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
    }
    assert_true(read >= sent);
    close(fd);
    net_close(&n);
}

/* Whoever has stopped at its marks PINGs, and hears no PONG when we have said our last
 * word: what the kernel has is not thrown away for that. */
static void
what_the_kernel_has_arrives_though_the_peer_pings_before_it_reads(void **state)
{
    static const char ping[] = "\4\7\4PING\0\0";
    static uint8_t body[1 << 20];
    sennit_sock_opts opts = net_opts();
    const int small = 65536;
    sennit_sock *push;
    sennit_time until;
    int fd;

    (void)state;
    net_open(&n);
    opts.linger_ms = DEADLINE_MS;
    opts.kernel_send_bytes = 4 << 20;
    push = net_sock(&n, SENNIT_PUSH, &opts);
    fd = raw_connect(net_bind(push, TCP));
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small), 0);
    raw_handshake(&n, fd, "PULL", "");
    NET_UNTIL(&n, net_stats(push).connections == 1);
    assert_int_equal(sennit_sock_send_bytes(push, body, sizeof body, 0), SENNIT_OK);
    NET_UNTIL(&n, net_stats(push).delivered_msgs == 1);
    sennit_sock_close(push);
    /* Longer than a connection without a listener at its other end is kept. */
    until = sennit_loop_now(n.loop) + 1200000000u;
    while (sennit_loop_now(n.loop) < until) {
        raw_write(&n, fd, ping, sizeof ping - 1);
        assert_int_equal(sennit_loop_turn(n.loop, 50), SENNIT_OK);
    }
    raw_read(&n, fd, body, sizeof body);
    close(fd);
    net_close(&n);
}

/* ---- publishers that are spoken to ------------------------------------- */

/* A subscription behind messages that wait to be heard is still one when they are. */
static void
a_subscription_behind_unread_messages_counts_when_they_are_read(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *xpub;
    sennit_sock *xsub;

    (void)state;
    net_open(&n);
    opts.recv_hwm_msgs = 1;
    xpub = net_sock(&n, SENNIT_XPUB, &opts);
    xsub = net_sock(&n, SENNIT_XSUB, NULL);
    net_join(&n, xpub, xsub, INPROC);
    for (int i = 0; i < 3; i++)
        net_send(xsub, "data");
    net_subscribe(xsub, "news");
    for (int i = 0; i < 3; i++)
        assert_string_equal(net_recv(xpub), "data");
    assert_string_equal(net_recv(xpub), "\1news");
    net_send(xpub, "news!");
    assert_string_equal(net_recv(xsub), "news!");
    net_close(&n);
}

/* Subscriptions that are told when a binder comes are no messages, and no mark counts
 * them. */
static void
subscriptions_are_not_counted_as_messages(void **state)
{
    static const char *const topics[] = { "a", "b", "c" };
    sennit_sock_opts opts = net_opts();
    const char *endpoint = net_vacant(INPROC);
    sennit_sock *xpub;
    sennit_sock *xsub;

    (void)state;
    net_open(&n);
    opts.recv_hwm_msgs = 1;
    xpub = net_sock(&n, SENNIT_XPUB, &opts);
    opts.send_hwm_msgs = 2;
    xsub = net_sock(&n, SENNIT_XSUB, &opts);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(
            sennit_sock_subscribe(xsub, (sennit_bytes){ (const uint8_t *)topics[i], 1 }),
            SENNIT_OK);
    net_connect(xsub, endpoint);
    net_send(xsub, "1");
    net_send(xsub, "2");
    assert_int_equal(sennit_sock_bind(xpub, endpoint), SENNIT_OK);
    assert_int_equal(net_stats(xsub).delivered_msgs, 2);
    net_check_law(xsub);
    /* One is heard; of the three that may wait, one does. */
    assert_int_equal(net_try_send(xsub, "3", SENNIT_DONTWAIT), SENNIT_OK);
    assert_int_equal(net_try_send(xsub, "4", SENNIT_DONTWAIT), SENNIT_OK);
    assert_string_equal(net_recv(xpub), "1");
    assert_string_equal(net_recv(xpub), "2");
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(net_recv(xpub) + 1, topics[i]);
    assert_string_equal(net_recv(xpub), "3");
    assert_string_equal(net_recv(xpub), "4");
    net_close(&n);
}

/* Paused or not: what a peer that left had sent is received, and nothing is kept of it.
 */
static void
an_xpub_hears_all_of_a_peer_that_left(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock_opts opts = net_opts();
        sennit_sock *xpub;

        net_open(&n);
        opts.recv_hwm_msgs = 1;
        xpub = net_sock(&n, SENNIT_XPUB, &opts);
        opts.linger_ms = -1;
        for (int round = 0; round < 3; round++) {
            sennit_sock *xsub = net_sock(&n, SENNIT_XSUB, &opts);
            char endpoint[128];

            if (round == 0)
                net_bind(xpub, (transport)via);
            snprintf(endpoint, sizeof endpoint, "%s", sennit_sock_last_endpoint(xpub));
            net_connect(xsub, endpoint);
            NET_UNTIL(&n, net_stats(xpub).connections == 1);
            for (int i = 0; i < 5; i++)
                net_send(xsub, "m");
            sennit_sock_close(xsub);
            NET_UNTIL(&n, net_stats(xpub).connections == 0);
            for (int i = 0; i < 5; i++)
                assert_string_equal(net_recv_flags(xpub, SENNIT_DONTWAIT), "m");
            assert_string_equal(net_recv_flags(xpub, SENNIT_DONTWAIT), "EAGAIN");
            assert_int_equal(sennit_sock_get_peers(xpub, NULL, 0), 0);
        }
        net_close(&n);
    }
}

/* Without memory in the middle of it, and for the rest as well. */
static void
a_publication_that_finds_no_memory_is_missed_once(void **state)
{
    static uint8_t body[5000];

    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        uint64_t failed = 1;

        for (uint64_t k = 1; failed > 0; k++) {
            sennit_sock *pub;
            sennit_sock *sub;
            sennit_sock_stats stats;

            net_open(&n);
            pub = net_sock(&n, SENNIT_PUB, NULL);
            sub = net_sock(&n, SENNIT_SUB, NULL);
            net_subscribe(sub, "");
            net_join(&n, pub, sub, (transport)via);
            assert_int_equal(sennit_sock_wait_subscriptions(pub, 1, DEADLINE_MS),
                             SENNIT_OK);
            failed = n.alloc.failed;
            n.alloc.fail_at = n.alloc.requests + k;
            n.alloc.fail_count = UINT64_MAX;
            for (int i = 0; i < 6; i++) {
                sennit_msg msg;

                assert_int_equal(
                    sennit_msg_init_copy(&msg, body, i % 2 == 0 ? 3000 : sizeof body),
                    SENNIT_OK);
                assert_int_equal(sennit_sock_send(pub, &msg, i < 5 ? SENNIT_MORE : 0),
                                 SENNIT_OK);
                sennit_msg_fini(&msg);
            }
            failed = n.alloc.failed - failed;
            n.alloc.fail_at = 0;
            stats = net_stats(pub);
            assert_int_equal(stats.delivered_msgs + stats.queued_msgs +
                                 stats.dropped_hwm_msgs + stats.dropped_disconnect_msgs +
                                 stats.dropped_memory_msgs,
                             1);
            net_close(&n);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_there_is_a_peer_exactly_the_mark_can_be_queued),
        cmocka_unit_test(a_mark_of_zero_is_no_limit),
        cmocka_unit_test(by_default_a_send_that_waits_does_so_at_16_mib),
        cmocka_unit_test(a_mark_in_bytes_counts_what_is_queued),
        cmocka_unit_test(a_writer_at_its_mark_in_bytes_goes_on_when_its_peer_reads),
        cmocka_unit_test(a_receiver_stops_at_its_mark_and_goes_on_when_it_is_raised),
        cmocka_unit_test(marks_of_two_take_few_large_messages),
        cmocka_unit_test(a_connect_that_is_immediate_takes_nothing_before_it_is_ready),
        cmocka_unit_test(
            what_an_immediate_connect_had_queued_is_dropped_with_its_connection),
        cmocka_unit_test(a_full_peer_blocks_the_sender_until_it_reads),
        cmocka_unit_test(tiny_marks_with_tiny_messages_do_not_hang),
        cmocka_unit_test(pub_drops_at_the_mark_of_a_slow_subscriber_and_counts_each_copy),
        cmocka_unit_test(receiving_gives_up_after_its_timeout_and_not_before),
        cmocka_unit_test(sending_gives_up_after_its_timeout_and_not_before),
        cmocka_unit_test(a_timeout_of_zero_does_not_wait),
        cmocka_unit_test(a_connect_that_nobody_answers_fails_after_its_timeout),
        cmocka_unit_test(closing_ends_in_time_with_nobody_there),
        cmocka_unit_test(lingering_for_ever_ends_when_a_late_peer_has_got_everything),
        cmocka_unit_test(the_tail_of_a_burst_arrives_after_close),
        cmocka_unit_test(lingering_gives_up_on_a_peer_that_does_not_read),
        cmocka_unit_test(an_unfinished_message_does_not_keep_a_socket_from_closing),
        cmocka_unit_test(an_unfinished_message_is_not_lingered_for),
        cmocka_unit_test(a_message_that_a_disconnect_tears_is_dropped_whole),
        cmocka_unit_test(
            after_disconnect_what_is_queued_leaves_and_nothing_more_is_accepted),
        cmocka_unit_test(
            what_the_kernel_has_arrives_though_a_connecter_closes_with_unread_input),
        cmocka_unit_test(closing_while_both_directions_are_full_waits_for_no_linger),
        cmocka_unit_test(
            what_the_kernel_has_arrives_though_the_peer_pings_before_it_reads),
        cmocka_unit_test(a_subscription_behind_unread_messages_counts_when_they_are_read),
        cmocka_unit_test(subscriptions_are_not_counted_as_messages),
        cmocka_unit_test(an_xpub_hears_all_of_a_peer_that_left),
        cmocka_unit_test(a_publication_that_finds_no_memory_is_missed_once),
        cmocka_unit_test(after_unbind_what_is_queued_leaves_and_nothing_more_is_accepted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
