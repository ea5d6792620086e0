/* SPDX-License-Identifier: MIT */
/* Case D33: observing disturbs nobody. Its parts b and c have no counterpart here: a
 * socket keeps its own last events, so there is no second monitor to clash with the
 * first, and no reader that could go away. */
#include "net.h"
#include "relay.h"

#include <string.h>

static net n;

static void
D33_a_events_nobody_reads_disturb_no_connection_and_are_counted(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *rep;
    sennit_sock *req;
    sennit_sock *restless;
    sennit_sock *pull;
    sennit_event event;
    relay *r;
    uint64_t seen = 0;

    (void)state;
    net_open(&n);
    rep = net_sock(&n, SENNIT_REP, NULL);
    req = net_sock(&n, SENNIT_REQ, NULL);
    net_join(&n, rep, req, TCP);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    opts.reconnect_max_ms = 1;
    restless = net_sock(&n, SENNIT_PUSH, &opts);
    r = relay_open(net_bind(pull, TCP));
    net_connect(restless, relay_endpoint(r));
    while (net_stats(restless).reconnects < 500) {
        relay_cut(r);
        net_send(req, "q");
        assert_string_equal(net_recv(rep), "q");
        net_send(rep, "a");
        assert_string_equal(net_recv(req), "a");
    }
    /* What was lost is told with the first that is left. */
    assert_int_equal(sennit_sock_next_event(restless, &event), SENNIT_OK);
    assert_true(event.lost > 0);
    do
        seen++;
    while (sennit_sock_next_event(restless, &event) == SENNIT_OK);
    assert_int_equal(seen, 64);
    assert_int_equal(net_stats(req).reconnects, 0);
    net_close(&n);
    relay_close(r);
}

static sennit_event_kind
next_kind(sennit_sock *sock)
{
    sennit_time started = sennit_loop_now(n.loop);
    sennit_event event;

    while (sennit_sock_next_event(sock, &event) != SENNIT_OK)
        net_turn(&n, started, "an event");
    return event.kind;
}

static void
D33_d_a_connections_life_is_told_in_order(void **state)
{
    static const sennit_event_kind life[] = {
        SENNIT_EVENT_CONNECTING,   SENNIT_EVENT_CONNECTED, SENNIT_EVENT_READY,
        SENNIT_EVENT_DISCONNECTED, SENNIT_EVENT_RETRYING,  SENNIT_EVENT_CONNECTING,
        SENNIT_EVENT_CONNECTED,    SENNIT_EVENT_READY,
    };
    sennit_sock *push;
    sennit_sock *pull;
    relay *r;

    (void)state;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    push = net_sock(&n, SENNIT_PUSH, NULL);
    r = relay_open(net_bind(pull, TCP));
    net_connect(push, relay_endpoint(r));
    for (size_t i = 0; i < sizeof life / sizeof life[0]; i++) {
        assert_string_equal(sennit_event_name(next_kind(push)),
                            sennit_event_name(life[i]));
        if (life[i] == SENNIT_EVENT_READY && i < 4)
            relay_cut(r);
    }
    net_close(&n);
    relay_close(r);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(D33_a_events_nobody_reads_disturb_no_connection_and_are_counted),
    cmocka_unit_test(D33_d_a_connections_life_is_told_in_order),
};

SENNIT_TEST_MAIN(tests)
