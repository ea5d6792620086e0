/* SPDX-License-Identifier: MIT */
/* Case D35 a, and bugs of other engines that need a clock that is a variable. */
#include "sennit_test.h"

#include <stdio.h>

#include "net.h"
#include "rng.h"
#include "sim_world.h"
#include "wire/greeting.h"
#include "wire/ready.h"

static test_world w;

/* ---- senders by the clock ---------------------------------------------- */

/* Sends the time it is sent at, so often, with so long between. */
typedef struct ticker {
    sennit_sock *sock;
    sennit_timer timer;
    sennit_time every;
    test_rng *rng; /* or NULL: as regular as it says */
    uint32_t number;
    uint32_t count;
    uint8_t who;
} ticker;

typedef struct stamp {
    sennit_time at;
    uint32_t number;
    uint8_t who;
} stamp;

static void
tick(void *arg)
{
    ticker *t = arg;
    stamp s;

    memset(&s, 0, sizeof s);
    s.at = sni_sim_now(w.sim);
    s.number = t->number++;
    s.who = t->who;
    assert_int_equal(sennit_sock_send_bytes(t->sock, &s, sizeof s, SENNIT_DONTWAIT),
                     SENNIT_OK);
    if (t->number < t->count)
        assert_int_equal(sennit_timer_start(sennit_sock_get_loop(t->sock), &t->timer,
                                            t->rng != NULL
                                                ? test_rng_below(t->rng, 2 * t->every)
                                                : t->every,
                                            tick, t),
                         SENNIT_OK);
}

static void
ticker_start(ticker *t, int loop, const char *endpoint, uint32_t count, sennit_time every)
{
    const sennit_sock_opts opts = test_world_opts();

    memset(t, 0, sizeof *t);
    t->sock = test_world_sock(&w, loop, SENNIT_PUSH, &opts);
    t->count = count;
    t->every = every;
    t->who = (uint8_t)loop;
    assert_int_equal(sennit_sock_connect(t->sock, endpoint), SENNIT_OK);
    assert_true(test_world_run_until(&w, test_world_connected, t->sock, 10 * TEST_S));
    assert_int_equal(sennit_timer_start(w.loops[loop], &t->timer, every, tick, t),
                     SENNIT_OK);
}

static void
D35_a_a_quiet_peer_does_not_hold_back_a_busy_one(void **state)
{
    sni_sim_opts sim = SNI_SIM_OPTS_DEFAULT;
    const sennit_sock_opts opts = test_world_opts();
    uint32_t next[3] = { 0 };
    sennit_sock *pull;
    ticker quiet;
    ticker busy;

    (void)state;
    test_world_open(&w, &sim, 3);
    pull = test_world_sock(&w, 0, SENNIT_PULL, &opts);
    test_world_bind(pull);
    /* The quiet one is the first in the queue. */
    ticker_start(&quiet, 1, sennit_sock_last_endpoint(pull), 10, 500 * TEST_MS);
    ticker_start(&busy, 2, sennit_sock_last_endpoint(pull), 500, 10 * TEST_MS);
    for (int i = 0; i < 510; i++) {
        stamp s;
        size_t size;

        assert_int_equal(sennit_sock_recv_bytes(pull, &s, sizeof s, &size, 0), SENNIT_OK);
        assert_int_equal(size, sizeof s);
        assert_int_equal(s.number, next[s.who]);
        next[s.who]++;
        assert_true(sni_sim_now(w.sim) - s.at < 50 * TEST_MS);
    }
    assert_int_equal(next[1], 10);
    assert_int_equal(next[2], 500);
    test_world_close(&w);
}

/* A receive that gives up cancels what it waits for, which may just have been done: what
 * came is then there for the next one. */
static void
R67_a_receive_that_gives_up_loses_nothing_that_just_came(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        sni_sim_opts sim = SNI_SIM_OPTS_DEFAULT;
        sennit_sock_opts opts = test_world_opts();
        test_rng rng = { seed };
        uint32_t next = 0;
        uint32_t gave_up = 0;
        sennit_sock *pull;
        ticker t;

        sim.seed = seed;
        sim.faults_ppm[SNI_SIM_DONE_ANYWAY] = 500000;
        sim.faults_ppm[SNI_SIM_SHORT_RECV] = 200000;
        sim.faults_ppm[SNI_SIM_LATE] = 200000;
        test_world_open(&w, &sim, 2);
        opts.recv_timeout_ms = 1;
        pull = test_world_sock(&w, 0, SENNIT_PULL, &opts);
        test_world_bind(pull);
        ticker_start(&t, 1, sennit_sock_last_endpoint(pull), 500, TEST_MS);
        t.rng = &rng;
        while (next < 500) {
            stamp s;
            size_t size;
            sennit_err err = sennit_sock_recv_bytes(pull, &s, sizeof s, &size, 0);

            if (err == SENNIT_EAGAIN) {
                gave_up++;
                assert_true(gave_up < 100000);
                continue;
            }
            assert_int_equal(err, SENNIT_OK);
            if (s.number != next)
                fail_msg("seed %llu: message %u instead of %u", (unsigned long long)seed,
                         s.number, next);
            next++;
        }
        assert_true(gave_up > 50);
        test_world_close(&w);
    }
}

/* ---- handshakes -------------------------------------------------------- */

/* One octet just before each time the deadline would be, were it put off by octets. */
static void
R11_a_handshake_that_drips_in_has_one_deadline(void **state)
{
    sni_sim_opts sim = SNI_SIM_OPTS_DEFAULT;
    sennit_sock_opts opts = test_world_opts();
    uint8_t octets[SNI_GREETING_SIZE + SNI_READY_MAX];
    sennit_sock *router;
    sennit_event event;
    sennit_time began;
    size_t said = 0;
    size_t size;
    test_raw raw;

    (void)state;
    sni_greeting_write(octets, "NULL");
    size = SNI_GREETING_SIZE;
    size += sni_ready_write(octets + size, SENNIT_DEALER, (sennit_bytes){ NULL, 0 });
    test_world_open(&w, &sim, 1);
    opts.handshake_timeout_ms = 1000;
    router = test_world_sock(&w, 0, SENNIT_ROUTER, &opts);
    test_raw_connect(&raw, &w, test_world_bind(router));
    began = sni_sim_now(w.sim);
    while (!raw.closed && said < size) {
        test_raw_send(&raw, &w, octets + said++, 1);
        test_raw_listen(&raw, &w, 900 * TEST_MS);
    }
    assert_true(raw.closed);
    assert_int_equal(said, 2);
    assert_true(sni_sim_now(w.sim) - began < 1500 * TEST_MS);
    while (sennit_sock_next_event(router, &event) == SENNIT_OK)
        continue;
    assert_int_equal(event.kind, SENNIT_EVENT_HANDSHAKE_FAILED);
    assert_int_equal(event.err, SENNIT_ETIMEDOUT);
    test_raw_close(&raw);
    test_world_close(&w);
}

static void
R18_peers_that_do_not_go_together_say_so_and_back_off(void **state)
{
    sni_sim_opts sim = SNI_SIM_OPTS_DEFAULT;
    sennit_sock_opts opts = test_world_opts();
    sennit_sock *req;
    sennit_sock *pub;
    sennit_event event;
    unsigned attempts = 0;
    unsigned refusals[2] = { 0 };

    (void)state;
    test_world_open(&w, &sim, 2);
    opts.reconnect_min_ms = 100;
    opts.reconnect_max_ms = 10000;
    req = test_world_sock(&w, 0, SENNIT_REQ, &opts);
    pub = test_world_sock(&w, 1, SENNIT_PUB, &opts);
    net_connect(pub, test_world_bind(req));
    test_world_run(&w, 60 * TEST_S);
    while (sennit_sock_next_event(pub, &event) == SENNIT_OK) {
        assert_int_not_equal(event.kind, SENNIT_EVENT_READY);
        attempts += event.kind == SENNIT_EVENT_CONNECTING;
        refusals[0] += event.kind == SENNIT_EVENT_HANDSHAKE_FAILED;
    }
    while (sennit_sock_next_event(req, &event) == SENNIT_OK) {
        assert_int_not_equal(event.kind, SENNIT_EVENT_READY);
        if (event.kind != SENNIT_EVENT_HANDSHAKE_FAILED)
            continue;
        assert_int_equal(event.err, SENNIT_EPROTO);
        assert_string_equal(event.reason, "socket types do not go together");
        refusals[1]++;
    }
    /* Never given up, for the other end may be mended; and not hammered at: 7 doublings
     * take it to 10 s, of which half is chance. */
    assert_in_range(attempts, 7, 30);
    assert_int_equal(refusals[0], attempts);
    assert_int_equal(refusals[1], attempts);
    test_world_close(&w);
}

/* ---- time itself ------------------------------------------------------- */

static void
note_time(void *arg)
{
    sennit_time *at = arg;

    *at = sni_sim_now(w.sim);
}

/* 49.7 days are 2^32 ms. */
static void
R59_after_fifty_days_everything_goes_on(void **state)
{
    sni_sim_opts sim = SNI_SIM_OPTS_DEFAULT;
    sennit_sock_opts opts = test_world_opts();
    sennit_sock *pull;
    sennit_sock *push;
    sennit_timer timer = { 0 };
    sennit_time before;
    sennit_time fired = 0;
    char body[8];
    size_t size;

    (void)state;
    test_world_open(&w, &sim, 2);
    opts.heartbeat_interval_ms = 600000;
    opts.recv_timeout_ms = 60000;
    opts.send_timeout_ms = 60000;
    pull = test_world_sock(&w, 0, SENNIT_PULL, &opts);
    push = test_world_sock(&w, 1, SENNIT_PUSH, &opts);
    net_connect(push, test_world_bind(pull));
    assert_true(test_world_run_until(&w, test_world_connected, push, TEST_S));
    /* Up to five seconds before it, and then through it. */
    test_world_run(&w, (UINT64_C(1) << 32) * TEST_MS - sni_sim_now(w.sim) - 5 * TEST_S);
    for (int i = 0; i < 4; i++) {
        assert_true(test_world_connected(push));
        assert_int_equal(sennit_sock_send_bytes(push, "on", 2, 0), SENNIT_OK);
        assert_int_equal(sennit_sock_recv_bytes(pull, body, sizeof body, &size, 0),
                         SENNIT_OK);
        before = sni_sim_now(w.sim);
        assert_int_equal(
            sennit_timer_start(w.loops[0], &timer, 30 * TEST_S, note_time, &fired),
            SENNIT_OK);
        assert_int_equal(sennit_sock_recv_bytes(pull, body, sizeof body, &size, 0),
                         SENNIT_EAGAIN);
        assert_int_equal(sni_sim_now(w.sim) - before, 60 * TEST_S);
        assert_int_equal(fired - before, 30 * TEST_S);
        sni_sim_reset_all(w.sim);
        assert_true(test_world_run_until(&w, test_world_alone, push, TEST_S));
        assert_true(test_world_run_until(&w, test_world_connected, push, 10 * TEST_S));
    }
    assert_true(sni_sim_now(w.sim) > (UINT64_C(1) << 32) * TEST_MS);
    test_world_close(&w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(D35_a_a_quiet_peer_does_not_hold_back_a_busy_one),
    cmocka_unit_test(R11_a_handshake_that_drips_in_has_one_deadline),
    cmocka_unit_test(R18_peers_that_do_not_go_together_say_so_and_back_off),
    cmocka_unit_test(R59_after_fifty_days_everything_goes_on),
    cmocka_unit_test(R67_a_receive_that_gives_up_loses_nothing_that_just_came),
};

SENNIT_TEST_MAIN(tests)
