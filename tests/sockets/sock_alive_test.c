/* SPDX-License-Identifier: MIT */
/* Heartbeats of sockets: who is asked, who is given up, and who is not. What an engine
 * does about them octet by octet is in tests/transport. */
#include "net.h"

#include <unistd.h>

static net n;

#define PING_MS 20

static sennit_sock_opts
heartbeats(int timeout_ms, int ttl_ms)
{
    sennit_sock_opts opts = net_opts();

    opts.heartbeat_interval_ms = PING_MS;
    opts.heartbeat_timeout_ms = timeout_ms;
    opts.heartbeat_ttl_ms = ttl_ms;
    return opts;
}

/* A raw peer of a bound PULL, READY. */
static int
raw_pusher(sennit_sock *pull)
{
    int fd = raw_connect(net_bind(pull, TCP));

    raw_handshake(&n, fd, "PUSH", NULL);
    return fd;
}

static void
a_ping_comes_in_every_interval_and_says_the_ttl(void **state)
{
    sennit_sock_opts opts = heartbeats(0, 1200);
    sennit_time started;
    uint8_t ping[9];
    int fd;

    (void)state;
    net_open(&n);
    started = sennit_loop_now(n.loop);
    fd = raw_pusher(net_sock(&n, SENNIT_PULL, &opts));
    for (int i = 0; i < 3; i++) {
        raw_read(&n, fd, ping, sizeof ping);
        assert_memory_equal(ping, "\x04\x07\x04PING\x00\x0c", sizeof ping);
    }
    assert_true(sennit_loop_now(n.loop) - started >= 3u * PING_MS * 1000000u);
    close(fd);
    net_close(&n);
}

static void
a_peer_that_answers_nothing_is_given_up(void **state)
{
    sennit_sock_opts opts = heartbeats(-1, 0);
    sennit_sock *pull;
    sennit_event event;
    int fd;

    (void)state;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, &opts);
    fd = raw_pusher(pull);
    event = net_event(&n, pull, SENNIT_EVENT_DISCONNECTED);
    assert_int_equal(event.err, SENNIT_ETIMEDOUT);
    assert_string_not_equal(event.reason, "");
    raw_until_closed(&n, fd);
    close(fd);
    net_close(&n);
}

/* With a timeout of 0 it is asked and not given up. */
static void
peers_that_answer_stay_for_many_intervals(void **state)
{
    (void)state;
    for (int via = 0; via < INPROC; via++) {
        sennit_sock_opts opts = heartbeats(40 * PING_MS, 0);
        sennit_time until;
        sennit_sock *push;
        sennit_sock *pull;
        sennit_event event;

        net_open(&n);
        push = net_sock(&n, SENNIT_PUSH, &opts);
        pull = net_sock(&n, SENNIT_PULL, &opts);
        net_join(&n, pull, push, (transport)via);
        until = sennit_loop_now(n.loop) + 100u * PING_MS * 1000000u;
        NET_UNTIL(&n, sennit_loop_now(n.loop) >= until);
        assert_false(net_has_event(pull, SENNIT_EVENT_DISCONNECTED, &event));
        assert_int_equal(net_stats(push).reconnects, 0);
        net_close(&n);
    }
}

/* D11: a receiver that does not read does not hear either, so its silence is no proof of
 * anything; nor is that of a peer which does not read us. */
static void
back_pressure_is_no_death(void **state)
{
    static char body[100000];
    sennit_sock_opts opts = heartbeats(10 * PING_MS, 0);
    sennit_sock *push;
    sennit_sock *pull;
    sennit_time until;
    sennit_event event;
    uint64_t sent = 0;
    size_t size;

    (void)state;
    opts.recv_hwm_msgs = 1;
    opts.send_hwm_msgs = 1;
    net_open(&n);
    push = net_sock(&n, SENNIT_PUSH, &opts);
    pull = net_sock(&n, SENNIT_PULL, &opts);
    net_join(&n, pull, push, TCP);
    for (int idle = 0; idle < 20; idle++) {
        while (sennit_sock_send_bytes(push, body, sizeof body, SENNIT_DONTWAIT) ==
               SENNIT_OK) {
            sent++;
            idle = 0;
        }
        assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
    }
    until = sennit_loop_now(n.loop) + 50u * PING_MS * 1000000u;
    NET_UNTIL(&n, sennit_loop_now(n.loop) >= until);
    for (uint64_t i = 0; i < sent; i++)
        assert_int_equal(sennit_sock_recv_bytes(pull, body, sizeof body, &size, 0),
                         SENNIT_OK);
    assert_false(net_has_event(pull, SENNIT_EVENT_DISCONNECTED, &event));
    assert_false(net_has_event(push, SENNIT_EVENT_DISCONNECTED, &event));
    net_close(&n);
}

/* D10a: any octet is life, also of a frame that takes longer than the timeout. */
static void
a_long_frame_that_goes_on_arriving_is_life(void **state)
{
    sennit_sock_opts opts = heartbeats(10 * PING_MS, 0);
    sennit_time started;
    sennit_sock *pull;
    sennit_event event;
    size_t size;
    char body[100];
    int fd;

    (void)state;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, &opts);
    fd = raw_pusher(pull);
    raw_write(&n, fd, "\0\x64", 2);
    started = sennit_loop_now(n.loop);
    for (int i = 0; i < 100; i++) {
        raw_write(&n, fd, "x", 1);
        NET_UNTIL(&n, sennit_loop_now(n.loop) - started >=
                          (sennit_time)(i + 1) * PING_MS * 1000000u / 2);
    }
    assert_int_equal(sennit_sock_recv_bytes(pull, body, sizeof body, &size, 0),
                     SENNIT_OK);
    assert_int_equal(size, 100);
    assert_false(net_has_event(pull, SENNIT_EVENT_DISCONNECTED, &event));
    close(fd);
    net_close(&n);
}

/* A process that is stopped still acknowledges, until its window is full: then nothing of
 * ours is answered, and only the kernel can tell that it does not go on. */
static void
a_peer_that_takes_nothing_is_ended_by_tcp_user_timeout_ms(void **state)
{
    static char body[64 * 1024];
    sennit_sock_opts opts = net_opts();
    sennit_event event;
    sennit_sock *push;
    int fd;

    (void)state;
    opts.tcp_user_timeout_ms = 100;
    net_open(&n);
    push = net_sock(&n, SENNIT_PUSH, &opts);
    assert_int_equal(sennit_sock_bind(push, "tcp://127.0.0.1:*"), SENNIT_OK);
    fd = raw_connect(sennit_sock_last_endpoint(push));
    raw_handshake(&n, fd, "PULL", NULL);
    NET_UNTIL(&n, net_stats(push).connections == 1);
    NET_DOING(&n, net_has_event(push, SENNIT_EVENT_DISCONNECTED, &event))
    (void)!sennit_sock_send_bytes(push, body, sizeof body, SENNIT_DONTWAIT);
    assert_int_equal(event.err, SENNIT_ETIMEDOUT);
    assert_non_null(strstr(event.reason, "tcp_user_timeout_ms"));
    close(fd);
    net_close(&n);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ping_comes_in_every_interval_and_says_the_ttl),
        cmocka_unit_test(a_peer_that_answers_nothing_is_given_up),
        cmocka_unit_test(peers_that_answer_stay_for_many_intervals),
        cmocka_unit_test(back_pressure_is_no_death),
        cmocka_unit_test(a_long_frame_that_goes_on_arriving_is_life),
        cmocka_unit_test(a_peer_that_takes_nothing_is_ended_by_tcp_user_timeout_ms),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
