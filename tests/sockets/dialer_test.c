/* SPDX-License-Identifier: MIT */
/* How a connect tries again, and when it stops: on the clock of a simulated world where
 * time matters, on real sockets where the kernel does. */
#include "net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/transport/sim_world.h"

/* ---- D15: two hundred clients ------------------------------------------ */

enum {
    CLIENTS = 200,
    MIN_MS = 20,
    MAX_MS = 640,
    ATTEMPTS_MAX = 20,
    WINDOWS = 3000 / MIN_MS
};

typedef enum trouble {
    CLOSED_PORT, /* nobody listens */
    RESETS,      /* it accepts and resets */
    CLOSES,      /* it completes the handshake and closes */
} trouble;

typedef struct storm {
    test_world world;
    sennit_sock *clients[CLIENTS];
    sennit_sock *server; /* or NULL */
    sennit_time began;
    unsigned attempts[CLIENTS];
    unsigned window[WINDOWS]; /* attempts of all in each 20 ms, from 2 s on */
    unsigned connected;
} storm;

static sennit_sock *
storm_sock(storm *s, size_t loop, sennit_sock_type type)
{
    sennit_sock_opts opts = test_world_opts();

    opts.reconnect_min_ms = MIN_MS;
    opts.reconnect_max_ms = MAX_MS;
    opts.events = 1u << SENNIT_EVENT_CONNECTING | 1u << SENNIT_EVENT_READY;
    return test_world_sock(&s->world, loop, type, &opts);
}

/* What the clients did since the last look; and the server's part in it. */
static void
look(storm *s, trouble what)
{
    sennit_event event;

    for (size_t i = 0; i < CLIENTS; i++) {
        while (sennit_sock_next_event(s->clients[i], &event) == SENNIT_OK) {
            sennit_time since = event.at - s->began;

            assert_int_equal(event.lost, 0);
            if (event.kind != SENNIT_EVENT_CONNECTING)
                continue;
            s->attempts[i]++;
            if (since >= 2 * TEST_S && since < 5 * TEST_S)
                s->window[(since - 2 * TEST_S) / (MIN_MS * TEST_MS)]++;
        }
    }
    while (what == CLOSES && s->server != NULL &&
           sennit_sock_next_event(s->server, &event) == SENNIT_OK)
        if (event.kind == SENNIT_EVENT_READY)
            (void)sennit_sock_disconnect_peer(s->server, event.peer);
}

static bool
all_connected(void *arg)
{
    const storm *s = arg;

    return net_stats(s->server).connections == CLIENTS;
}

static void
storm_run(trouble what, uint64_t seed)
{
    static storm s;
    sni_sim_opts opts = SNI_SIM_OPTS_DEFAULT;
    static const char *const endpoint = "tcp://127.0.0.1:5555";

    memset(&s, 0, sizeof s);
    opts.seed = seed;
    opts.backlog_max = 1000;
    opts.faults_ppm[SNI_SIM_RESET] = what == RESETS ? 1000000 : 0;
    test_world_open(&s.world, &opts, 2);
    if (what != CLOSED_PORT) {
        s.server = storm_sock(&s, 1, SENNIT_ROUTER);
        assert_int_equal(sennit_sock_bind(s.server, endpoint), SENNIT_OK);
    }
    s.began = sni_sim_now(s.world.sim);
    for (size_t i = 0; i < CLIENTS; i++) {
        s.clients[i] = storm_sock(&s, 0, SENNIT_DEALER);
        net_connect(s.clients[i], endpoint);
    }
    while (sni_sim_now(s.world.sim) < s.began + 5 * TEST_S) {
        test_world_run(&s.world, MIN_MS * TEST_MS);
        look(&s, what);
    }
    for (size_t i = 0; i < CLIENTS; i++) {
        /* Never dead, and never too eager. */
        assert_true(s.attempts[i] >= 5);
        if (s.attempts[i] > ATTEMPTS_MAX)
            fail_msg("seed %llu: client %zu tried %u times", (unsigned long long)seed, i,
                     s.attempts[i]);
    }
    for (size_t i = 0; i < WINDOWS; i++)
        if (s.window[i] > CLIENTS * 30 / 100)
            fail_msg("seed %llu: %u in one window", (unsigned long long)seed,
                     s.window[i]);
    /* Then there is a real server. */
    sni_sim_set_fault(s.world.sim, SNI_SIM_RESET, 0);
    if (s.server == NULL) {
        s.server = storm_sock(&s, 1, SENNIT_ROUTER);
        assert_int_equal(sennit_sock_bind(s.server, endpoint), SENNIT_OK);
    }
    assert_true(test_world_run_until(&s.world, all_connected, &s, 2 * MAX_MS * TEST_MS));
    test_world_close(&s.world);
}

static void
a_closed_port_is_not_stormed(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++)
        storm_run(CLOSED_PORT, seed);
}

static void
a_server_that_resets_is_not_stormed(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++)
        storm_run(RESETS, seed);
}

static void
a_server_that_closes_after_the_handshake_is_not_stormed(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++)
        storm_run(CLOSES, seed);
}

/* ---- delays ------------------------------------------------------------ */

static void
delays_double_to_their_maximum_half_of_them_by_chance(void **state)
{
    enum { ATTEMPTS = 12 };
    bool below_half_seen = false;
    bool above_half_seen = false;

    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        sni_sim_opts sim = SNI_SIM_OPTS_DEFAULT;
        sennit_sock_opts opts = test_world_opts();
        test_world w;
        sennit_sock *push;
        sennit_time failed_at = 0;

        sim.seed = seed;
        opts.reconnect_min_ms = 100;
        opts.reconnect_max_ms = 5000;
        test_world_open(&w, &sim, 1);
        push = test_world_sock(&w, 0, SENNIT_PUSH, &opts);
        net_connect(push, "tcp://127.0.0.1:7");
        for (int i = 0; i < ATTEMPTS; i++) {
            sennit_event event;
            uint64_t cap = UINT64_C(100) << i;

            while (!net_has_event(push, SENNIT_EVENT_CONNECT_FAILED, &event))
                test_world_run(&w, TEST_MS);
            assert_int_equal(event.err, SENNIT_ECONNREFUSED);
            if (failed_at != 0) {
                uint64_t previous = cap / 2 > 5000 ? 5000 : cap / 2;
                uint64_t waited = (event.at - failed_at) / TEST_MS;

                /* Half is fixed, half is chance; the connect itself takes a moment. */
                if (waited < previous / 2 || waited > previous + 2)
                    fail_msg("seed %llu attempt %d: %llu ms instead of %llu to %llu",
                             (unsigned long long)seed, i, (unsigned long long)waited,
                             (unsigned long long)(previous / 2),
                             (unsigned long long)previous);
                below_half_seen = below_half_seen || waited < previous * 3 / 4;
                above_half_seen = above_half_seen || waited > previous * 3 / 4;
            }
            failed_at = event.at;
            assert_true(net_has_event(push, SENNIT_EVENT_RETRYING, &event));
            if (cap > 5000)
                cap = 5000;
            assert_true(event.delay_ms >= cap / 2 && event.delay_ms <= cap);
        }
        assert_int_equal(net_stats(push).reconnects, ATTEMPTS);
        test_world_close(&w);
    }
    assert_true(below_half_seen && above_half_seen);
}

/* One that was READY for 5 s was a good one; one that was cut at once is one failure
 * more. */
static void
a_connection_that_held_makes_up_for_earlier_failures(void **state)
{
    (void)state;
    for (int held = 0; held < 2; held++) {
        sni_sim_opts sim_opts = SNI_SIM_OPTS_DEFAULT;
        sennit_sock_opts opts = test_world_opts();
        sennit_event event = { .delay_ms = 0 };
        test_world world;
        sennit_sock *push;
        sennit_sock *pull;

        test_world_open(&world, &sim_opts, 1);
        opts.reconnect_min_ms = 10;
        opts.reconnect_max_ms = 100000;
        push = test_world_sock(&world, 0, SENNIT_PUSH, &opts);
        net_connect(push, "tcp://127.0.0.1:1");
        test_world_run(&world, 3 * TEST_S); /* eight failures or so: above 1 s */
        pull = test_world_sock(&world, 0, SENNIT_PULL, &opts);
        assert_int_equal(sennit_sock_bind(pull, "tcp://127.0.0.1:1"), SENNIT_OK);
        assert_true(
            test_world_run_until(&world, test_world_connected, push, 100 * TEST_S));
        test_world_run(&world, held ? 6 * TEST_S : TEST_S);
        sni_sim_reset_all(world.sim);
        assert_true(test_world_run_until(&world, test_world_alone, push, TEST_S));
        while (net_has_event(push, SENNIT_EVENT_RETRYING, &event))
            continue;
        if (held)
            assert_in_range(event.delay_ms, 5, 10);
        else
            assert_true(event.delay_ms >= 640);
        test_world_close(&world);
    }
}

/* ---- when it stops ----------------------------------------------------- */

typedef enum end { REFUSED, HANDSHAKE, DISCONNECTED } end;

static const char *const end_names[] = { "refused", "handshake failed", "disconnected" };

/* Brings a connect of `push` to that end. */
static void
bring_to(net *n, sennit_sock *push, end what)
{
    sennit_sock *pull;
    char endpoint[64];
    int listener;
    int raw;

    switch (what) {
    case REFUSED:
        net_connect(push, net_vacant(TCP));
        break;
    case HANDSHAKE:
        listener = raw_listen(endpoint);
        net_connect(push, endpoint);
        raw = raw_accept(n, listener);
        close(listener);
        raw_write(n, raw, "GET / HTTP/1.0\r\n\r\n", 18);
        raw_until_closed(n, raw);
        close(raw);
        break;
    case DISCONNECTED:
        pull = net_sock(n, SENNIT_PULL, NULL);
        net_join(n, pull, push, TCP);
        sennit_sock_close(pull);
        break;
    }
}

static void
reconnect_stop_stops_at_what_it_says_and_at_nothing_else(void **state)
{
    static const unsigned bits[] = { SENNIT_STOP_REFUSED, SENNIT_STOP_HANDSHAKE_FAILED,
                                     SENNIT_STOP_DISCONNECTED };
    static const char *const reasons[] = { "reconnect_stop: the connection was refused",
                                           "reconnect_stop: the handshake failed",
                                           "reconnect_stop: the connection ended" };

    (void)state;
    for (int what = REFUSED; what <= DISCONNECTED; what++) {
        for (int bit = 0; bit < 3; bit++) {
            sennit_sock_opts opts = net_opts();
            sennit_sock *push;
            sennit_event event;
            net n;

            opts.reconnect_stop = bits[bit];
            net_open(&n);
            push = net_sock(&n, SENNIT_PUSH, &opts);
            bring_to(&n, push, (end)what);
            do {
                while (sennit_sock_next_event(push, &event) != SENNIT_OK)
                    net_turn(&n, sennit_loop_now(n.loop), end_names[what]);
            } while (event.kind != SENNIT_EVENT_GAVE_UP &&
                     event.kind != SENNIT_EVENT_RETRYING);
            if (what != bit) {
                assert_int_equal(event.kind, SENNIT_EVENT_RETRYING);
            } else {
                assert_int_equal(event.kind, SENNIT_EVENT_GAVE_UP);
                assert_string_equal(event.reason, reasons[bit]);
                assert_int_equal(sennit_sock_disconnect(push, event.endpoint),
                                 SENNIT_ENOENT);
            }
            net_close(&n);
        }
    }
}

static void
with_reconnect_min_ms_of_minus_1_there_is_one_attempt(void **state)
{
    (void)state;
    for (int what = REFUSED; what <= DISCONNECTED; what++) {
        sennit_sock_opts opts = net_opts();
        sennit_sock *push;
        sennit_event event;
        net n;

        opts.reconnect_min_ms = -1;
        net_open(&n);
        push = net_sock(&n, SENNIT_PUSH, &opts);
        bring_to(&n, push, (end)what);
        event = net_event(&n, push, SENNIT_EVENT_GAVE_UP);
        assert_string_equal(event.reason, "reconnect_min_ms is -1");
        assert_int_equal(net_stats(push).reconnects, 0);
        /* Nobody is left to send to. */
        assert_int_equal(net_try_send(push, "x", SENNIT_DONTWAIT), SENNIT_EAGAIN);
        net_close(&n);
    }
}

static void
what_was_queued_for_a_connect_that_gave_up_is_counted(void **state)
{
    sennit_sock_opts opts = net_opts();
    const char *endpoint = net_vacant(TCP);
    sennit_sock *dealer;
    sennit_sock *router;
    net n;

    (void)state;
    net_open(&n);
    dealer = net_sock(&n, SENNIT_DEALER, &opts);
    net_connect(dealer, endpoint);
    net_event(&n, dealer, SENNIT_EVENT_RETRYING);
    for (int i = 0; i < 5; i++)
        net_send(dealer, "waits");
    opts.reconnect_stop = SENNIT_STOP_REFUSED;
    assert_int_equal(sennit_sock_set_opts(dealer, &opts), SENNIT_OK);
    net_event(&n, dealer, SENNIT_EVENT_GAVE_UP);
    NET_UNTIL(&n, net_stats(dealer).dropped_disconnect_msgs == 5);
    net_check_law(dealer);
    /* The same connect can be made again, and is a new one. */
    router = net_sock(&n, SENNIT_ROUTER, NULL);
    assert_int_equal(sennit_sock_bind(router, endpoint), SENNIT_OK);
    net_connect(dealer, endpoint);
    NET_UNTIL(&n, net_stats(dealer).connections == 1);
    net_close(&n);
}

/* It is refused in the very call: the socket is as good as before. */
static void
a_connect_may_give_up_before_the_call_returns(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *push;
    net n;

    (void)state;
    opts.reconnect_min_ms = -1;
    net_open(&n);
    push = net_sock(&n, SENNIT_PUSH, &opts);
    for (int i = 0; i < 3; i++) {
        net_connect(push, net_vacant(IPC));
        net_event(&n, push, SENNIT_EVENT_GAVE_UP);
    }
    net_close(&n);
}

/* ---- changes ----------------------------------------------------------- */

static void
a_wait_that_got_shorter_is(void **state)
{
    sennit_sock_opts opts = net_opts();
    const char *endpoint = net_vacant(TCP);
    sennit_sock *push;
    sennit_sock *pull;
    net n;

    (void)state;
    opts.reconnect_min_ms = 3600000;
    opts.reconnect_max_ms = 3600000;
    net_open(&n);
    push = net_sock(&n, SENNIT_PUSH, &opts);
    net_connect(push, endpoint);
    net_event(&n, push, SENNIT_EVENT_RETRYING);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    assert_int_equal(sennit_sock_bind(pull, endpoint), SENNIT_OK);
    opts = net_opts();
    assert_int_equal(sennit_sock_set_opts(push, &opts), SENNIT_OK);
    NET_UNTIL(&n, net_stats(pull).connections == 1);
    net_close(&n);
}

static void
a_wait_ends_when_there_is_nothing_to_wait_for(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *push;
    sennit_event event;
    net n;

    (void)state;
    opts.reconnect_min_ms = opts.reconnect_max_ms = 3600000;
    net_open(&n);
    push = net_sock(&n, SENNIT_PUSH, &opts);
    net_connect(push, net_vacant(TCP));
    net_event(&n, push, SENNIT_EVENT_RETRYING);
    opts.reconnect_min_ms = -1;
    assert_int_equal(sennit_sock_set_opts(push, &opts), SENNIT_OK);
    event = net_event(&n, push, SENNIT_EVENT_GAVE_UP);
    assert_string_equal(event.reason, "reconnect_min_ms is -1");
    net_close(&n);
}

static void
handshakes_end_when_fewer_are_allowed(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *pull;
    sennit_event event;
    net n;
    int raw[2];

    (void)state;
    opts.handshakes_max = 0;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, &opts);
    net_bind(pull, TCP);
    for (int i = 0; i < 2; i++)
        raw[i] = raw_connect(sennit_sock_last_endpoint(pull));
    for (int i = 0; i < 2; i++)
        net_event(&n, pull, SENNIT_EVENT_ACCEPTED);
    opts.handshakes_max = 1;
    assert_int_equal(sennit_sock_set_opts(pull, &opts), SENNIT_OK);
    event = net_event(&n, pull, SENNIT_EVENT_HANDSHAKE_FAILED);
    assert_string_equal(event.reason, "too many unfinished handshakes");
    raw_until_closed(&n, raw[0]);
    raw_handshake(&n, raw[1], "PUSH", NULL);
    NET_UNTIL(&n, net_stats(pull).connections == 1);
    close(raw[0]);
    close(raw[1]);
    net_close(&n);
}

/* ---- connect_timeout_ms ------------------------------------------------ */

/* A listener that takes nobody any more: its queue is full, and Linux then leaves
 * connects unanswered. */
typedef struct deaf {
    int listener;
    int queued[8];
    int queued_count;
    char endpoint[64];
} deaf;

static void
deaf_open(deaf *d)
{
    struct sockaddr_in at = { .sin_family = AF_INET };
    socklen_t size = sizeof at;

    d->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(d->listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(d->listener, 0), 0);
    assert_int_equal(getsockname(d->listener, (struct sockaddr *)&at, &size), 0);
    snprintf(d->endpoint, sizeof d->endpoint, "tcp://127.0.0.1:%u", ntohs(at.sin_port));
    for (d->queued_count = 0; d->queued_count < 8; d->queued_count++) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        (void)connect(fd, (struct sockaddr *)&at, sizeof at);
        d->queued[d->queued_count] = fd;
    }
}

static void
deaf_close(deaf *d)
{
    for (int i = 0; i < d->queued_count; i++)
        close(d->queued[i]);
    close(d->listener);
}

static void
a_connect_that_gets_no_answer_is_given_up_in_time(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *push;
    sennit_event event;
    sennit_time began;
    deaf d;
    net n;

    (void)state;
    deaf_open(&d);
    opts.connect_timeout_ms = 50;
    net_open(&n);
    push = net_sock(&n, SENNIT_PUSH, &opts);
    began = sennit_loop_now(n.loop);
    net_connect(push, d.endpoint);
    event = net_event(&n, push, SENNIT_EVENT_CONNECT_FAILED);
    assert_int_equal(event.err, SENNIT_ETIMEDOUT);
    assert_string_equal(event.reason, "not connected within connect_timeout_ms");
    assert_true(event.at - began >= 50 * TEST_MS);
    net_event(&n, push, SENNIT_EVENT_RETRYING);
    net_event(&n, push, SENNIT_EVENT_CONNECTING);
    net_close(&n);
    deaf_close(&d);
}

static void
a_socket_closes_while_it_connects(void **state)
{
    unsigned before = open_descriptors();
    deaf d;

    (void)state;
    for (int linger_ms = 0; linger_ms <= 30; linger_ms += 30) {
        sennit_sock_opts opts = net_opts();
        sennit_sock *push;
        net n;

        deaf_open(&d);
        opts.linger_ms = linger_ms;
        net_open(&n);
        push = net_sock(&n, SENNIT_PUSH, &opts);
        net_connect(push, d.endpoint);
        net_send(push, "x");
        assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
        sennit_sock_close(push);
        net_close(&n);
        deaf_close(&d);
    }
    assert_int_equal(open_descriptors(), before);
}

/* Each address has the whole time. */
static sennit_err
two_addresses(void *arg, const char *host, bool ipv6,
              sennit_ip found[SENNIT_RESOLVED_MAX], size_t *found_count)
{
    (void)arg;
    (void)host;
    (void)ipv6;
    found[0] = (sennit_ip){ .octets = { 127, 0, 0, 1 } };
    found[1] = (sennit_ip){ .octets = { 127, 0, 0, 2 } };
    *found_count = 2;
    return SENNIT_OK;
}

static void
an_address_that_does_not_answer_does_not_cost_the_next_one_its_time(void **state)
{
    sennit_loop_opts loop_opts = SENNIT_LOOP_OPTS_DEFAULT;
    sennit_sock_opts opts = net_opts();
    sennit_sock *push;
    sennit_sock *pull;
    sennit_event event;
    char endpoint[64];
    deaf d;
    net n;

    (void)state;
    deaf_open(&d);
    test_alloc_init(&n.alloc);
    loop_opts.allocator = &n.alloc.allocator;
    loop_opts.resolver.resolve = two_addresses;
    assert_int_equal(sennit_loop_open(&n.loop, &loop_opts), SENNIT_OK);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    snprintf(endpoint, sizeof endpoint, "tcp://127.0.0.2%s", strrchr(d.endpoint, ':'));
    assert_int_equal(sennit_sock_bind(pull, endpoint), SENNIT_OK);
    opts.connect_timeout_ms = 500; /* the look-up must be over by then */
    push = net_sock(&n, SENNIT_PUSH, &opts);
    snprintf(endpoint, sizeof endpoint, "tcp://two.test%s", strrchr(d.endpoint, ':'));
    net_connect(push, endpoint);
    event = net_event(&n, push, SENNIT_EVENT_CONNECT_FAILED);
    assert_int_equal(event.err, SENNIT_ETIMEDOUT);
    assert_int_equal(sennit_sock_next_event(push, &event), SENNIT_OK);
    assert_int_equal(event.kind, SENNIT_EVENT_CONNECTING);
    assert_memory_equal(event.address, "127.0.0.2:", 10);
    NET_UNTIL(&n, net_stats(pull).connections == 1);
    net_close(&n);
    deaf_close(&d);
}

/* Whatever it does meanwhile: it waits, or connects. */
static void
a_socket_that_lingers_for_ever_is_through_when_all_it_had_is_too_old(void **state)
{
    unsigned before = open_descriptors();
    deaf d;

    (void)state;
    for (int connects = 0; connects < 2; connects++) {
        sennit_sock_opts opts = net_opts();
        sennit_sock *push;
        net n;

        deaf_open(&d);
        opts.linger_ms = -1;
        opts.send_age_max_ms = 100;
        opts.reconnect_min_ms = opts.reconnect_max_ms = 3600000;
        net_open(&n);
        push = net_sock(&n, SENNIT_PUSH, &opts);
        net_connect(push, connects ? d.endpoint : net_vacant(TCP));
        if (!connects)
            net_event(&n, push, SENNIT_EVENT_RETRYING);
        net_send(push, "x");
        assert_int_equal(net_stats(push).queued_msgs, 1);
        sennit_sock_close(push);
        net_close(&n);
        deaf_close(&d);
    }
    assert_int_equal(open_descriptors(), before);
}

/* ---- immediate --------------------------------------------------------- */

static void
of_two_endpoints_only_the_live_one_gets_messages(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *push;
    sennit_sock *pull;
    char text[16];
    net n;

    (void)state;
    opts.immediate = true;
    net_open(&n);
    push = net_sock(&n, SENNIT_PUSH, &opts);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    net_connect(push, net_vacant(TCP));
    /* Nobody is READY: nobody gets it. */
    assert_int_equal(net_try_send(push, "x", SENNIT_DONTWAIT), SENNIT_EAGAIN);
    net_join(&n, pull, push, TCP);
    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof text, "%d", i);
        net_send(push, text);
        assert_string_equal(net_recv(pull), text);
    }
    assert_int_equal(net_stats(push).queued_msgs, 0);
    net_check_law(push);
    net_close(&n);
}

static void
what_an_immediate_connect_had_queued_is_dropped_and_counted(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *push;
    char endpoint[64];
    int listener = raw_listen(endpoint);
    uint64_t sent = 0;
    int raw;
    net n;

    (void)state;
    opts.immediate = true;
    opts.send_hwm_msgs = 0;
    net_open(&n);
    push = net_sock(&n, SENNIT_PUSH, &opts);
    net_connect(push, endpoint);
    raw = raw_accept(&n, listener);
    raw_handshake(&n, raw, "PULL", NULL);
    NET_UNTIL(&n, net_stats(push).connections == 1);
    /* It reads nothing: beyond what the kernel takes, messages wait. */
    while (net_stats(push).queued_msgs < 10) {
        static char body[65536];

        assert_int_equal(sennit_sock_send_bytes(push, body, sizeof body, 0), SENNIT_OK);
        sent++;
        assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
    }
    close(raw);
    NET_UNTIL(&n, net_stats(push).connections == 0);
    NET_UNTIL(&n, net_stats(push).queued_msgs == 0);
    assert_true(net_stats(push).dropped_disconnect_msgs >= 10);
    assert_int_equal(net_stats(push).sent_msgs, sent);
    net_check_law(push);
    assert_int_equal(net_try_send(push, "x", SENNIT_DONTWAIT), SENNIT_EAGAIN);
    close(listener);
    net_close(&n);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        { "D15a: a closed port is not stormed", a_closed_port_is_not_stormed, NULL, NULL,
          NULL },
        { "D15b: a server that resets is not stormed",
          a_server_that_resets_is_not_stormed, NULL, NULL, NULL },
        { "D15c: a server that closes after the handshake is not stormed",
          a_server_that_closes_after_the_handshake_is_not_stormed, NULL, NULL, NULL },
        cmocka_unit_test(delays_double_to_their_maximum_half_of_them_by_chance),
        cmocka_unit_test(a_connection_that_held_makes_up_for_earlier_failures),
        cmocka_unit_test(reconnect_stop_stops_at_what_it_says_and_at_nothing_else),
        cmocka_unit_test(with_reconnect_min_ms_of_minus_1_there_is_one_attempt),
        cmocka_unit_test(what_was_queued_for_a_connect_that_gave_up_is_counted),
        cmocka_unit_test(a_connect_may_give_up_before_the_call_returns),
        cmocka_unit_test(a_wait_that_got_shorter_is),
        cmocka_unit_test(a_wait_ends_when_there_is_nothing_to_wait_for),
        cmocka_unit_test(handshakes_end_when_fewer_are_allowed),
        cmocka_unit_test(a_connect_that_gets_no_answer_is_given_up_in_time),
        cmocka_unit_test(a_socket_closes_while_it_connects),
        cmocka_unit_test(
            a_socket_that_lingers_for_ever_is_through_when_all_it_had_is_too_old),
        cmocka_unit_test(
            an_address_that_does_not_answer_does_not_cost_the_next_one_its_time),
        { "D24b: of two endpoints only the live one gets messages",
          of_two_endpoints_only_the_live_one_gets_messages, NULL, NULL, NULL },
        cmocka_unit_test(what_an_immediate_connect_had_queued_is_dropped_and_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
