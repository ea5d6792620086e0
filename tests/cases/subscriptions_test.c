/* SPDX-License-Identifier: MIT */
/* Cases D01, D30 and D36: what subscribers asked for outlives every connection, and what
 * they leave behind is nothing. */
#include "net.h"
#include "relay.h"
#include "sennit/proxy.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static net n;

#define TOPICS 1000

/* Marks far below the number of topics: subscriptions are no queue traffic. */
static sennit_sock_opts
tiny_marks(void)
{
    sennit_sock_opts opts = net_opts();

    opts.send_hwm_msgs = 10;
    opts.recv_hwm_msgs = 10;
    return opts;
}

static void
subscribe_all(sennit_sock *sub, int topics)
{
    char topic[32];

    for (int i = 0; i < topics; i++) {
        /* A prefix of no other one. */
        int size = snprintf(topic, sizeof topic, "t%05d", i);

        assert_int_equal(
            sennit_sock_subscribe(sub, (sennit_bytes){ (uint8_t *)topic, (size_t)size }),
            SENNIT_OK);
    }
}

/* One message per topic, each received: nothing depends on a mark. */
static void
every_topic_arrives(sennit_sock *pub, sennit_sock *sub, int topics)
{
    char topic[32];

    for (int i = 0; i < topics; i++) {
        snprintf(topic, sizeof topic, "t%05d", i);
        net_send(pub, topic);
        assert_string_equal(net_recv(sub), topic);
    }
}

static void
await_subscriptions(sennit_sock *pub, uint64_t count)
{
    NET_UNTIL(&n, net_stats(pub).subscriptions >= count);
}

static void
D01_a_a_thousand_subscriptions_survive_a_cut_connection(void **state)
{
    sennit_sock_opts opts = tiny_marks();
    sennit_sock *pub;
    sennit_sock *sub;
    relay *r;

    (void)state;
    net_open(&n);
    pub = net_sock(&n, SENNIT_PUB, &opts);
    sub = net_sock(&n, SENNIT_SUB, &opts);
    subscribe_all(sub, TOPICS);
    r = relay_open(net_bind(pub, TCP));
    net_connect(sub, relay_endpoint(r));
    await_subscriptions(pub, TOPICS);
    every_topic_arrives(pub, sub, TOPICS);
    for (int round = 0; round < 3; round++) {
        relay_cut(r);
        (void)net_event(&n, pub, SENNIT_EVENT_DISCONNECTED);
        await_subscriptions(pub, TOPICS);
        every_topic_arrives(pub, sub, TOPICS);
    }
    net_close(&n);
    relay_close(r);
}

static void
D01_b_a_thousand_subscriptions_reach_the_next_publisher_too(void **state)
{
    sennit_sock_opts opts = tiny_marks();
    sennit_sock *pub;
    sennit_sock *sub;
    char endpoint[64];

    (void)state;
    net_open(&n);
    pub = net_sock(&n, SENNIT_PUB, &opts);
    sub = net_sock(&n, SENNIT_SUB, &opts);
    subscribe_all(sub, TOPICS);
    snprintf(endpoint, sizeof endpoint, "%s", net_bind(pub, TCP));
    net_connect(sub, endpoint);
    await_subscriptions(pub, TOPICS);
    sennit_sock_close(pub);
    (void)net_event(&n, sub, SENNIT_EVENT_DISCONNECTED);
    pub = net_sock(&n, SENNIT_PUB, &opts);
    assert_int_equal(sennit_sock_bind(pub, endpoint), SENNIT_OK);
    await_subscriptions(pub, TOPICS);
    every_topic_arrives(pub, sub, TOPICS);
    net_close(&n);
}

/* Not timed: what a receive costs is counted in trie_size_test.c. Here only that so many
 * are in force, whole, after each reconnect. */
static void
D01_d_twenty_thousand_subscriptions_come_back_whole(void **state)
{
    sennit_sock_opts opts = tiny_marks();
    sennit_sock *pub;
    sennit_sock *sub;
    relay *r;

    (void)state;
    net_open(&n);
    pub = net_sock(&n, SENNIT_PUB, &opts);
    sub = net_sock(&n, SENNIT_SUB, &opts);
    subscribe_all(sub, 20000);
    r = relay_open(net_bind(pub, TCP));
    net_connect(sub, relay_endpoint(r));
    await_subscriptions(pub, 20000);
    relay_cut(r);
    (void)net_event(&n, pub, SENNIT_EVENT_DISCONNECTED);
    await_subscriptions(pub, 20000);
    assert_int_equal(net_stats(pub).subscriptions, 20000);
    every_topic_arrives(pub, sub, 100);
    net_close(&n);
    relay_close(r);
}

/* ---- visitors ---------------------------------------------------------- */

static void
visit(const char *endpoint, sennit_sock_type type)
{
    sennit_time started = sennit_loop_now(n.loop);
    sennit_sock_opts opts = net_opts();
    sennit_loop *loop;
    sennit_sock *sock;
    sennit_event event;

    assert_int_equal(sennit_loop_open(&loop, NULL), SENNIT_OK);
    assert_int_equal(sennit_sock_open(&sock, loop, type, &opts), SENNIT_OK);
    if (type == SENNIT_SUB)
        subscribe_all(sock, 10);
    assert_int_equal(sennit_sock_connect(sock, endpoint), SENNIT_OK);
    while (!net_has_event(sock, SENNIT_EVENT_READY, &event)) {
        assert_int_equal(sennit_loop_turn(loop, 0), SENNIT_OK);
        net_turn(&n, started, "the visitor");
    }
    sennit_loop_close(loop);
}

/* A child that subscribes until it is killed as it stands. */
static void
subscribe_for_ever(const char *endpoint)
{
    sennit_sock_opts opts = net_opts();
    sennit_loop *loop;
    sennit_sock *sub;

    /* Not longer than the test, even if that fails. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (sennit_loop_open(&loop, NULL) != SENNIT_OK ||
        sennit_sock_open(&sub, loop, SENNIT_SUB, &opts) != SENNIT_OK)
        _exit(1);
    subscribe_all(sub, 10);
    if (sennit_sock_connect(sub, endpoint) != SENNIT_OK)
        _exit(1);
    for (;;)
        (void)sennit_loop_turn(loop, -1);
}

static void
visit_and_be_killed(sennit_sock *pub, const char *endpoint)
{
    pid_t child;

    NET_UNTIL(&n, net_stats(pub).subscriptions == 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        subscribe_for_ever(endpoint);
    NET_UNTIL(&n, net_stats(pub).subscriptions == 10);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

/* Visits of a publisher (or of a binding subscriber) that makes no call of its own. */
static void
visits_leave_nothing(sennit_sock_type host_type, sennit_sock_type visitor, int visits)
{
    sennit_sock_opts opts = net_opts();
    char endpoint[64];
    sennit_sock *host;
    size_t bytes = 0;
    unsigned descriptors = 0;

    opts.recv_timeout_ms = 0;
    net_open(&n);
    host = net_sock(&n, host_type, &opts);
    if (host_type == SENNIT_SUB)
        subscribe_all(host, 10);
    snprintf(endpoint, sizeof endpoint, "%s", net_bind(host, TCP));
    for (int i = 0; i < visits; i++) {
        /* The first ones bring pools and tables to their size. */
        if (i == visits / 10) {
            NET_UNTIL(&n, net_stats(host).connections == 0);
            bytes = n.alloc.live_bytes;
            descriptors = open_descriptors();
        }
        if (visitor == SENNIT_SUB && i % 10 == 9)
            visit_and_be_killed(host, endpoint);
        else
            visit(endpoint, visitor);
    }
    NET_UNTIL(&n, net_stats(host).connections == 0);
    assert_true(n.alloc.live_bytes <= bytes);
    assert_int_equal(open_descriptors(), descriptors);
    assert_int_equal(net_stats(host).subscriptions, host_type == SENNIT_SUB ? 10 : 0);
    net_close(&n);
}

/* 5000 visits: SENNIT_CASES=full. */
static int
visits(void)
{
    const char *wanted = getenv("SENNIT_CASES");

    return wanted != NULL && strcmp(wanted, "full") == 0 ? 5000 : 200;
}

static void
D30_a_subscribers_that_came_and_went_leave_nothing_behind(void **state)
{
    (void)state;
    visits_leave_nothing(SENNIT_PUB, SENNIT_SUB, visits());
}

static void
D30_b_publishers_that_came_and_went_leave_nothing_behind(void **state)
{
    (void)state;
    visits_leave_nothing(SENNIT_SUB, SENNIT_PUB, visits());
}

/* ---- chains ------------------------------------------------------------ */

/* An XSUB and an XPUB with a proxy between them. */
typedef struct forwarder {
    sennit_sock *in;
    sennit_sock *out;
    sennit_proxy *proxy;
    char endpoint[64];
} forwarder;

static void
forwarder_open(forwarder *f, const char *upstream, const sennit_sock_opts *out_opts)
{
    sennit_sock_opts opts = tiny_marks();

    f->in = net_sock(&n, SENNIT_XSUB, &opts);
    f->out = net_sock(&n, SENNIT_XPUB, out_opts);
    snprintf(f->endpoint, sizeof f->endpoint, "%s", net_bind(f->out, TCP));
    net_connect(f->in, upstream);
    assert_int_equal(sennit_proxy_open(&f->proxy, f->in, f->out, NULL), SENNIT_OK);
}

static void
forwarder_close(forwarder *f)
{
    sennit_proxy_close(f->proxy);
    sennit_sock_close(f->in);
    sennit_sock_close(f->out);
}

static void
D01_c_a_thousand_subscriptions_pass_a_forwarder_that_is_replaced(void **state)
{
    sennit_sock_opts opts = tiny_marks();
    sennit_sock *pub;
    sennit_sock *sub;
    forwarder f;
    char origin[64];
    char middle[64];

    (void)state;
    net_open(&n);
    pub = net_sock(&n, SENNIT_XPUB, &opts);
    snprintf(origin, sizeof origin, "%s", net_bind(pub, TCP));
    forwarder_open(&f, origin, &opts);
    snprintf(middle, sizeof middle, "%s", f.endpoint);
    sub = net_sock(&n, SENNIT_SUB, &opts);
    subscribe_all(sub, TOPICS);
    net_connect(sub, middle);
    await_subscriptions(pub, TOPICS);
    every_topic_arrives(pub, sub, TOPICS);
    forwarder_close(&f);
    NET_UNTIL(&n, net_stats(pub).subscriptions == 0);
    f.in = net_sock(&n, SENNIT_XSUB, &opts);
    f.out = net_sock(&n, SENNIT_XPUB, &opts);
    assert_int_equal(sennit_sock_bind(f.out, middle), SENNIT_OK);
    net_connect(f.in, origin);
    assert_int_equal(sennit_proxy_open(&f.proxy, f.in, f.out, NULL), SENNIT_OK);
    await_subscriptions(pub, TOPICS);
    every_topic_arrives(pub, sub, TOPICS);
    sennit_proxy_close(f.proxy);
    net_close(&n);
}

static const sennit_bytes T = { (const uint8_t *)"T", 1 };

static sennit_sock *
twice_subscribed(const char *endpoint)
{
    sennit_sock *sub = net_sock(&n, SENNIT_SUB, NULL);

    assert_int_equal(sennit_sock_subscribe(sub, T), SENNIT_OK);
    assert_int_equal(sennit_sock_subscribe(sub, T), SENNIT_OK);
    net_connect(sub, endpoint);
    return sub;
}

/* Origin, two forwarders in a row, two subscribers to T twice each. */
static void
chain(sennit_xpub_verbose verbose)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *origin;
    sennit_sock *a;
    sennit_sock *b;
    forwarder near;
    forwarder far;
    uint64_t delivered;
    int on = 0;
    int off = 0;

    net_open(&n);
    opts.xpub_verbose = verbose;
    origin = net_sock(&n, SENNIT_XPUB, &opts);
    forwarder_open(&near, net_bind(origin, TCP), &opts);
    forwarder_open(&far, near.endpoint, &opts);
    a = twice_subscribed(far.endpoint);
    b = twice_subscribed(far.endpoint);
    NET_UNTIL(&n, net_stats(far.out).subscriptions == 2 &&
                      net_stats(origin).subscriptions == 1);
    net_send(origin, "T1");
    assert_string_equal(net_recv(a), "T1");
    assert_string_equal(net_recv(b), "T1");
    /* Once each: nothing changes for anybody. */
    assert_int_equal(sennit_sock_unsubscribe(a, T), SENNIT_OK);
    assert_int_equal(sennit_sock_unsubscribe(b, T), SENNIT_OK);
    net_send(origin, "T2");
    assert_string_equal(net_recv(a), "T2");
    assert_string_equal(net_recv(b), "T2");
    /* One vanishes: the other still wants it. */
    sennit_sock_close(a);
    NET_UNTIL(&n, net_stats(far.out).subscriptions == 1);
    net_send(origin, "T3");
    assert_string_equal(net_recv(b), "T3");
    assert_int_equal(net_stats(origin).subscriptions, 1);
    /* The last one. */
    assert_int_equal(sennit_sock_unsubscribe(b, T), SENNIT_OK);
    NET_UNTIL(&n, net_stats(origin).subscriptions == 0);
    delivered = net_stats(origin).delivered_msgs;
    net_send(origin, "T4");
    NET_UNTIL(&n, net_stats(origin).dropped_no_peer_msgs == 1);
    assert_int_equal(net_stats(origin).delivered_msgs, delivered);
    for (const char *notice = net_recv_flags(origin, SENNIT_DONTWAIT);
         strcmp(notice, "EAGAIN") != 0;
         notice = net_recv_flags(origin, SENNIT_DONTWAIT)) {
        assert_string_equal(notice + 1, "T");
        on += notice[0] == 1;
        off += notice[0] == 0;
    }
    assert_true(on > 0);
    assert_int_equal(on, off);
    sennit_proxy_close(near.proxy);
    sennit_proxy_close(far.proxy);
    net_close(&n);
}

static void
D36_a_the_origin_learns_when_the_last_subscriber_has_gone(void **state)
{
    (void)state;
    chain(SENNIT_XPUB_FIRST);
}

static void
D36_b_in_verbose_mode_as_many_leave_as_came(void **state)
{
    (void)state;
    chain(SENNIT_XPUB_VERBOSER);
}

static void
D36_c_a_filter_is_a_prefix(void **state)
{
    sennit_sock *pub;
    sennit_sock *sub;

    (void)state;
    net_open(&n);
    pub = net_sock(&n, SENNIT_PUB, NULL);
    sub = net_sock(&n, SENNIT_SUB, NULL);
    net_subscribe(sub, "n.1");
    net_join(&n, pub, sub, TCP);
    await_subscriptions(pub, 1);
    net_send(pub, "n.10|x");
    net_send(pub, "n.2|x");
    net_send(pub, "n.1|x");
    assert_string_equal(net_recv(sub), "n.10|x");
    assert_string_equal(net_recv(sub), "n.1|x");
    net_close(&n);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(D01_a_a_thousand_subscriptions_survive_a_cut_connection),
    cmocka_unit_test(D01_b_a_thousand_subscriptions_reach_the_next_publisher_too),
    cmocka_unit_test(D01_c_a_thousand_subscriptions_pass_a_forwarder_that_is_replaced),
    cmocka_unit_test(D01_d_twenty_thousand_subscriptions_come_back_whole),
    cmocka_unit_test(D30_a_subscribers_that_came_and_went_leave_nothing_behind),
    cmocka_unit_test(D30_b_publishers_that_came_and_went_leave_nothing_behind),
    cmocka_unit_test(D36_a_the_origin_learns_when_the_last_subscriber_has_gone),
    cmocka_unit_test(D36_b_in_verbose_mode_as_many_leave_as_came),
    cmocka_unit_test(D36_c_a_filter_is_a_prefix),
};

SENNIT_TEST_MAIN(tests)
