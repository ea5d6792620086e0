/* SPDX-License-Identifier: MIT */
/* Cases D10, D11 and D12 on a virtual clock: who counts as alive, and for how long one
 * may say nothing. */
#include "sennit_test.h"

#include <stdio.h>

#include "net.h"
#include "sim_world.h"
#include "wire/greeting.h"

static test_world w;

static sennit_sock_opts
with_heartbeats(void)
{
    sennit_sock_opts opts = test_world_opts();

    opts.heartbeat_interval_ms = 200;
    opts.heartbeat_timeout_ms = 400;
    return opts;
}

static unsigned
events_of(sennit_sock *sock, sennit_event_kind kind)
{
    sennit_event event;
    unsigned count = 0;

    while (sennit_sock_next_event(sock, &event) == SENNIT_OK)
        count += event.kind == kind;
    return count;
}

static void
open_world(size_t loops)
{
    sni_sim_opts sim = SNI_SIM_OPTS_DEFAULT;

    test_world_open(&w, &sim, loops);
}

/* A raw peer of 3.1 that is through its handshake. */
static void
raw_peer(test_raw *raw, const char *endpoint, sennit_sock_type type)
{
    test_raw_connect(raw, &w, endpoint);
    test_raw_handshake(raw, &w, type, "");
    test_raw_listen(raw, &w, 10 * TEST_MS);
    assert_false(raw->closed);
}

static unsigned
pings_in(const test_raw *raw)
{
    static const uint8_t ping[] = { 4, 'P', 'I', 'N', 'G' };
    unsigned count = 0;

    for (size_t i = 0; i + sizeof ping <= raw->received_size; i++)
        count += memcmp(raw->received + i, ping, sizeof ping) == 0;
    return count;
}

/* ---- D10 --------------------------------------------------------------- */

#define LONG_FRAME (8u << 20)

static void
D10_a_any_byte_of_a_long_transfer_is_a_sign_of_life(void **state)
{
    static uint8_t piece[65536];
    static const uint8_t head[] = { 2, 0, 0, 0, 0, 0, 0x80, 0, 0 };
    sennit_sock_opts opts = with_heartbeats();
    sennit_sock *pull;
    sennit_msg msg;
    test_raw raw;

    (void)state;
    open_world(1);
    pull = test_world_sock(&w, 0, SENNIT_PULL, &opts);
    raw_peer(&raw, test_world_bind(pull), SENNIT_PUSH);
    test_raw_send(&raw, &w, head, sizeof head);
    /* A MiB a second, and not one answer to a PING. */
    for (size_t sent = 0; sent < LONG_FRAME; sent += sizeof piece) {
        test_raw_send(&raw, &w, piece, sizeof piece);
        test_world_run(&w, TEST_S / 16);
    }
    sennit_msg_init(&msg);
    assert_int_equal(sennit_sock_recv(pull, &msg, 0), SENNIT_OK);
    assert_int_equal(sennit_msg_size(&msg), LONG_FRAME);
    sennit_msg_fini(&msg);
    assert_int_equal(events_of(pull, SENNIT_EVENT_DISCONNECTED), 0);
    test_raw_listen(&raw, &w, TEST_MS);
    assert_true(pings_in(&raw) >= 30);
    /* And silence is not. */
    assert_true(test_world_run_until(&w, test_world_alone, pull, TEST_S));
    test_raw_close(&raw);
    test_world_close(&w);
}

static void
D10_b_a_request_now_and_then_keeps_one_connection(void **state)
{
    sennit_sock_opts opts = with_heartbeats();
    sennit_sock *rep;
    sennit_sock *req;
    char byte;
    size_t size;

    (void)state;
    open_world(2);
    rep = test_world_sock(&w, 0, SENNIT_REP, &opts);
    req = test_world_sock(&w, 1, SENNIT_REQ, &opts);
    net_connect(req, test_world_bind(rep));
    for (int i = 0; i < 10; i++) {
        assert_int_equal(sennit_sock_send_bytes(req, "q", 1, 0), SENNIT_OK);
        assert_int_equal(sennit_sock_recv_bytes(rep, &byte, 1, &size, 0), SENNIT_OK);
        assert_int_equal(sennit_sock_send_bytes(rep, "a", 1, 0), SENNIT_OK);
        assert_int_equal(sennit_sock_recv_bytes(req, &byte, 1, &size, 0), SENNIT_OK);
        test_world_run(&w, TEST_S);
    }
    assert_int_equal(sni_sim_connections_made(w.sim), 1);
    test_world_close(&w);
}

static void
D10_c_who_pings_is_who_was_told_to_before_the_connection(void **state)
{
    sennit_sock_opts opts = test_world_opts();
    sennit_sock *pull;
    test_raw before;
    test_raw after;

    (void)state;
    open_world(1);
    pull = test_world_sock(&w, 0, SENNIT_PULL, &opts);
    raw_peer(&before, test_world_bind(pull), SENNIT_PUSH);
    opts.heartbeat_interval_ms = 200;
    opts.heartbeat_timeout_ms = 0;
    assert_int_equal(sennit_sock_set_opts(pull, &opts), SENNIT_OK);
    raw_peer(&after, sennit_sock_last_endpoint(pull), SENNIT_PUSH);
    test_raw_listen(&before, &w, TEST_S);
    test_raw_listen(&after, &w, TEST_S);
    assert_int_equal(pings_in(&before), 0);
    assert_in_range(pings_in(&after), 4, 10);
    test_raw_close(&before);
    test_raw_close(&after);
    test_world_close(&w);
}

/* ---- D11 --------------------------------------------------------------- */

typedef struct flood {
    sennit_sock *pub;
    uint64_t number;
} flood;

/* As much as the publisher takes, and a little time. */
static void
publish(flood *f, sennit_time ns)
{
    uint8_t body[1024] = { 0 };

    for (sennit_time until = sni_sim_now(w.sim) + ns; sni_sim_now(w.sim) < until;) {
        for (int i = 0; i < 20; i++) {
            memcpy(body, &f->number, sizeof f->number);
            f->number++;
            assert_int_equal(sennit_sock_send_bytes(f->pub, body, sizeof body, 0),
                             SENNIT_OK);
        }
        test_world_run(&w, 20 * TEST_MS);
    }
}

static void
a_stalled_reader(bool cut)
{
    sennit_sock_opts opts = with_heartbeats();
    sennit_sock *sub;
    flood f = { NULL, 0 };
    uint8_t body[1024];
    uint64_t last = 0;
    size_t size;

    open_world(2);
    f.pub = test_world_sock(&w, 0, SENNIT_PUB, &opts);
    opts.recv_hwm_msgs = 1;
    sub = test_world_sock(&w, 1, SENNIT_SUB, &opts);
    net_subscribe(sub, "");
    net_connect(sub, test_world_bind(f.pub));
    assert_true(test_world_run_until(&w, test_world_connected, f.pub, TEST_S));
    test_world_run(&w, 100 * TEST_MS);
    for (int round = 0; round < 5; round++) {
        publish(&f, 2 * TEST_S);
        if (cut && round == 2)
            sni_sim_reset_all(w.sim);
        assert_int_equal(sennit_sock_recv_bytes(sub, body, sizeof body, &size, 0),
                         SENNIT_OK);
        memcpy(&last, body, sizeof last);
    }
    if (!cut) {
        assert_int_equal(sni_sim_connections_made(w.sim), 1);
    } else {
        uint64_t since = f.number;
        sennit_time started = sni_sim_now(w.sim);

        /* It comes back, subscribes again, and hears what is new. */
        while (last < since) {
            publish(&f, 20 * TEST_MS);
            while (sennit_sock_recv_bytes(sub, body, sizeof body, &size,
                                          SENNIT_DONTWAIT) == SENNIT_OK)
                memcpy(&last, body, sizeof last);
            assert_true(sni_sim_now(w.sim) - started < 2 * TEST_S);
        }
        assert_int_equal(sni_sim_connections_made(w.sim), 2);
    }
    test_world_close(&w);
}

static void
D11_a_a_reader_that_has_stopped_takes_unread_bytes_for_life(void **state)
{
    (void)state;
    a_stalled_reader(false);
}

static void
D11_b_a_connection_cut_while_its_reader_had_stopped_is_made_anew(void **state)
{
    (void)state;
    a_stalled_reader(true);
}

/* ---- D12 --------------------------------------------------------------- */

static sennit_sock *
impatient(void)
{
    sennit_sock_opts opts = test_world_opts();

    opts.handshake_timeout_ms = 1000;
    return test_world_sock(&w, 0, SENNIT_ROUTER, &opts);
}

/* The stranger says `size` octets and then nothing; closed within `limit`. */
static void
stranger(const void *octets, size_t size, sennit_time from, sennit_time limit)
{
    sennit_sock *router;
    test_raw raw;
    sennit_time started;

    open_world(1);
    router = impatient();
    test_raw_connect(&raw, &w, test_world_bind(router));
    started = sni_sim_now(w.sim);
    if (size > 0)
        test_raw_send(&raw, &w, octets, size);
    test_raw_listen(&raw, &w, 5 * TEST_S);
    assert_true(raw.closed);
    assert_in_range(sni_sim_now(w.sim) - started, from, limit);
    assert_int_equal(net_stats(router).handshakes_failed, 1);
    test_raw_close(&raw);
    test_world_close(&w);
}

static void
D12_a_who_says_nothing_is_closed_in_time(void **state)
{
    (void)state;
    stranger("", 0, TEST_S, TEST_S + TEST_S / 2);
}

static void
D12_b_half_a_greeting_is_closed_in_time(void **state)
{
    (void)state;
    stranger("\xff\0\0\0\0", 5, TEST_S, TEST_S + TEST_S / 2);
}

static void
D12_c_a_web_browser_is_closed_at_once(void **state)
{
    static const char get[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

    (void)state;
    stranger(get, sizeof get - 1, 0, 10 * TEST_MS);
}

static void
D12_d_a_greeting_without_ready_is_closed_in_time(void **state)
{
    uint8_t greeting[SNI_GREETING_SIZE];

    (void)state;
    sni_greeting_write(greeting, "NULL");
    stranger(greeting, sizeof greeting, TEST_S, TEST_S + TEST_S / 2);
}

static void
D12_e_a_crowd_of_strangers_holds_nobody_up_and_leaves_nothing(void **state)
{
    enum { STRANGERS = 500 };
    static test_raw raws[STRANGERS];
    sennit_sock_opts opts = test_world_opts();
    sni_sim_opts sim = SNI_SIM_OPTS_DEFAULT;
    sennit_sock *router;
    sennit_sock *dealer;
    sennit_msg msg;

    (void)state;
    sim.backlog_max = 1024;
    test_world_open(&w, &sim, 2);
    router = impatient();
    test_world_bind(router);
    for (int i = 0; i < STRANGERS; i++)
        test_raw_connect(&raws[i], &w, sennit_sock_last_endpoint(router));
    dealer = test_world_sock(&w, 1, SENNIT_DEALER, &opts);
    net_connect(dealer, sennit_sock_last_endpoint(router));
    assert_int_equal(sennit_sock_send_bytes(dealer, "hello", 5, 0), SENNIT_OK);
    assert_true(test_world_run_until(&w, test_world_connected, router, TEST_S / 2));
    sennit_msg_init(&msg);
    assert_int_equal(sennit_sock_recv(router, &msg, 0), SENNIT_OK);
    assert_int_equal(sennit_sock_recv(router, &msg, 0), SENNIT_OK);
    sennit_msg_fini(&msg);
    test_world_run(&w, 2 * TEST_S);
    assert_int_equal(net_stats(router).handshakes_failed, STRANGERS);
    for (int i = 0; i < STRANGERS; i++) {
        test_raw_listen(&raws[i], &w, TEST_MS);
        assert_true(raws[i].closed);
        test_raw_close(&raws[i]);
    }
    assert_int_equal(sni_sim_connections(w.sim), 1);
    assert_int_equal(net_stats(router).connections, 1);
    test_world_close(&w);
}

static void
D12_f_a_peer_of_version_2_may_be_idle_as_long_as_it_likes(void **state)
{
    /* Signature, revision 1, DEALER, an anonymous identity frame. */
    static const uint8_t old[] = { 0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 1, 5, 0, 0 };
    static const uint8_t message[] = { 0, 5, 'h', 'e', 'l', 'l', 'o' };
    sennit_sock *router;
    sennit_msg msg;
    test_raw raw;

    (void)state;
    open_world(1);
    router = impatient();
    test_raw_connect(&raw, &w, test_world_bind(router));
    test_raw_send(&raw, &w, old, sizeof old);
    test_raw_listen(&raw, &w, 3 * TEST_S);
    assert_false(raw.closed);
    test_raw_send(&raw, &w, message, sizeof message);
    sennit_msg_init(&msg);
    assert_int_equal(sennit_sock_recv(router, &msg, 0), SENNIT_OK);
    assert_int_equal(sennit_msg_size(&msg), 5); /* a name made up for it */
    assert_int_equal(sennit_sock_recv(router, &msg, 0), SENNIT_OK);
    assert_int_equal(sennit_msg_size(&msg), 5);
    assert_memory_equal(sennit_msg_data(&msg), "hello", 5);
    sennit_msg_fini(&msg);
    test_raw_close(&raw);
    test_world_close(&w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(D10_a_any_byte_of_a_long_transfer_is_a_sign_of_life),
    cmocka_unit_test(D10_b_a_request_now_and_then_keeps_one_connection),
    cmocka_unit_test(D10_c_who_pings_is_who_was_told_to_before_the_connection),
    cmocka_unit_test(D11_a_a_reader_that_has_stopped_takes_unread_bytes_for_life),
    cmocka_unit_test(D11_b_a_connection_cut_while_its_reader_had_stopped_is_made_anew),
    cmocka_unit_test(D12_a_who_says_nothing_is_closed_in_time),
    cmocka_unit_test(D12_b_half_a_greeting_is_closed_in_time),
    cmocka_unit_test(D12_c_a_web_browser_is_closed_at_once),
    cmocka_unit_test(D12_d_a_greeting_without_ready_is_closed_in_time),
    cmocka_unit_test(D12_e_a_crowd_of_strangers_holds_nobody_up_and_leaves_nothing),
    cmocka_unit_test(D12_f_a_peer_of_version_2_may_be_idle_as_long_as_it_likes),
};

SENNIT_TEST_MAIN(tests)
