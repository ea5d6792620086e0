/* SPDX-License-Identifier: MIT */
/* Options that choose how a type behaves, between real sockets: each is set, and what
 * it says happens. The policies themselves are tested frame by frame in pattern_*. */
#include "net.h"

#include <stdio.h>
#include <unistd.h>

static net n;

/* Notices begin with an octet that is no text. */
static const char *
next_notice(sennit_sock *xpub)
{
    static char text[64];
    uint8_t body[64];
    size_t size;

    assert_int_equal(sennit_sock_recv_bytes(xpub, body, sizeof body, &size, 0),
                     SENNIT_OK);
    assert_in_range(size, 1, sizeof body);
    snprintf(text, sizeof text, "%c%.*s",
             body[0] == 1   ? '+'
             : body[0] == 0 ? '-'
                            : '?',
             (int)size - 1, (const char *)body + 1);
    return text;
}

/* ---- first and last messages -------------------------------------------- */

static void
hello_is_the_first_message_on_every_connection(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *from;
    sennit_sock *to;
    char endpoint[64];

    (void)state;
    opts.hello = net_bytes("HELLO");
    net_open(&n);
    from = net_sock(&n, SENNIT_DEALER, &opts);
    snprintf(endpoint, sizeof endpoint, "%s", net_vacant(TCP));
    net_connect(from, endpoint);
    net_send(from, "queued before");
    for (int i = 0; i < 2; i++) {
        to = net_sock(&n, SENNIT_DEALER, NULL);
        assert_int_equal(sennit_sock_bind(to, endpoint), SENNIT_OK);
        assert_string_equal(net_recv(to), "HELLO");
        if (i == 0)
            assert_string_equal(net_recv(to), "queued before");
        sennit_sock_close(to);
        net_event(&n, from, SENNIT_EVENT_DISCONNECTED);
    }
    net_check_law(from);
    net_close(&n);
}

static void
disconnected_and_hiccup_are_received_when_a_peer_is_lost(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *router;
    sennit_sock *dealer;
    sennit_sock *other;

    (void)state;
    net_open(&n);
    opts.disconnected = net_bytes("GONE");
    router = net_sock(&n, SENNIT_ROUTER, &opts);
    other = net_named(&n, SENNIT_DEALER, "other");
    net_join(&n, router, other, TCP);
    sennit_sock_close(other);
    assert_string_equal(net_recv(router), "other|GONE");
    opts = net_opts();
    opts.hiccup = net_bytes("HICCUP");
    dealer = net_sock(&n, SENNIT_DEALER, &opts);
    net_join(&n, router, dealer, TCP);
    sennit_sock_close(router);
    assert_string_equal(net_recv(dealer), "HICCUP");
    net_close(&n);
}

static void
an_empty_message_probes_a_router(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *router;
    sennit_sock *dealer;

    (void)state;
    opts.probe_router = true;
    opts.identity_size = 1;
    opts.identity[0] = 'd';
    net_open(&n);
    router = net_sock(&n, SENNIT_ROUTER, NULL);
    dealer = net_sock(&n, SENNIT_DEALER, &opts);
    net_join(&n, router, dealer, TCP);
    assert_string_equal(net_recv(router), "d|");
    net_close(&n);
}

/* ---- ROUTER -------------------------------------------------------------- */

static void
a_router_notifies_of_peers_that_come_and_go(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *router;
    sennit_sock *dealer;

    (void)state;
    opts.router_notify = SENNIT_NOTIFY_CONNECT | SENNIT_NOTIFY_DISCONNECT;
    net_open(&n);
    router = net_sock(&n, SENNIT_ROUTER, &opts);
    dealer = net_named(&n, SENNIT_DEALER, "d");
    net_connect(dealer, net_bind(router, TCP));
    assert_string_equal(net_recv(router), "d|");
    net_send(dealer, "between");
    assert_string_equal(net_recv(router), "d|between");
    sennit_sock_close(dealer);
    assert_string_equal(net_recv(router), "d|");
    net_close(&n);
}

static void
with_handover_the_newcomer_gets_the_identity(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *router;
    sennit_sock *first;
    sennit_sock *second;
    sennit_event event;

    (void)state;
    opts.router_handover = true;
    net_open(&n);
    router = net_sock(&n, SENNIT_ROUTER, &opts);
    first = net_named(&n, SENNIT_DEALER, "same");
    net_join(&n, router, first, TCP);
    opts = net_opts();
    opts.reconnect_stop = SENNIT_STOP_DISCONNECTED;
    opts.identity_size = 4;
    memcpy(opts.identity, "same", 4);
    assert_int_equal(sennit_sock_set_opts(first, &opts), SENNIT_OK);
    second = net_sock(&n, SENNIT_DEALER, &opts);
    net_connect(second, sennit_sock_last_endpoint(router));
    event = net_event(&n, first, SENNIT_EVENT_DISCONNECTED);
    assert_int_equal(event.err, SENNIT_ECONNRESET);
    event = net_event(&n, router, SENNIT_EVENT_DISCONNECTED);
    assert_int_equal(event.err, SENNIT_EEXIST);
    net_send(router, "same|for the second");
    assert_string_equal(net_recv(second), "for the second");
    net_close(&n);
}

static void
a_peer_is_known_by_what_connect_as_says(void **state)
{
    sennit_sock *router;
    sennit_sock *dealer;
    char endpoint[64];

    (void)state;
    net_open(&n);
    router = net_sock(&n, SENNIT_ROUTER, NULL);
    snprintf(endpoint, sizeof endpoint, "%s", net_vacant(TCP));
    assert_int_equal(sennit_sock_connect_as(router, endpoint, net_bytes("ours")),
                     SENNIT_OK);
    assert_int_equal(sennit_sock_connect_as(router, net_vacant(IPC), net_bytes("ours")),
                     SENNIT_EEXIST);
    assert_int_equal(sennit_sock_connect_as(router, endpoint, net_bytes("")),
                     SENNIT_EINVAL);
    assert_string_equal(sennit_loop_why(n.loop), "identity is not of 1 to 255 octets");
    /* Also before there is a connection. */
    net_send(router, "ours|early");
    dealer = net_named(&n, SENNIT_DEALER, "theirs");
    assert_int_equal(sennit_sock_connect_as(dealer, endpoint, net_bytes("x")),
                     SENNIT_ENOTSUP);
    assert_int_equal(sennit_sock_bind(dealer, endpoint), SENNIT_OK);
    assert_string_equal(net_recv(dealer), "early");
    net_send(dealer, "back");
    assert_string_equal(net_recv(router), "ours|back");
    net_close(&n);
}

/* ---- REQ ----------------------------------------------------------------- */

/* D08c: the answer to the request that was given up is not the second one's. */
static void
a_relaxed_and_correlated_req_takes_only_the_last_requests_reply(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *router;
    sennit_sock *req;
    uint8_t ids[2][4];

    (void)state;
    opts.req_relaxed = true;
    opts.req_correlate = true;
    opts.identity_size = 1;
    opts.identity[0] = 'r';
    net_open(&n);
    router = net_sock(&n, SENNIT_ROUTER, NULL);
    req = net_sock(&n, SENNIT_REQ, &opts);
    net_join(&n, router, req, TCP);
    net_send(req, "first");
    net_send(req, "second");
    for (int i = 0; i < 2; i++) {
        char body[16];
        size_t size;

        for (int frame = 0; frame < 4; frame++) {
            assert_int_equal(sennit_sock_recv_bytes(router, body, sizeof body, &size, 0),
                             SENNIT_OK);
            if (frame == 1) {
                assert_int_equal(size, 4);
                memcpy(ids[i], body, 4);
            }
        }
    }
    assert_memory_not_equal(ids[0], ids[1], 4);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sennit_sock_send_bytes(router, "r", 1, SENNIT_MORE), SENNIT_OK);
        assert_int_equal(sennit_sock_send_bytes(router, ids[i], 4, SENNIT_MORE),
                         SENNIT_OK);
        net_send(router, i == 0 ? "|to the first" : "|to the second");
    }
    assert_string_equal(net_recv(req), "to the second");
    assert_int_equal(net_stats(req).dropped_filtered_msgs, 1);
    net_close(&n);
}

/* ---- XPUB ---------------------------------------------------------------- */

static void
an_xpub_receives_what_changes_and_by_verbosity_what_does_not(void **state)
{
    static const char *const told[][4] = {
        [SENNIT_XPUB_FIRST] = { "+a", "-a" },
        [SENNIT_XPUB_VERBOSE] = { "+a", "+a", "-a" },
        [SENNIT_XPUB_VERBOSER] = { "+a", "+a", "-a", "-a" },
    };

    (void)state;
    for (int level = SENNIT_XPUB_FIRST; level <= SENNIT_XPUB_VERBOSER; level++) {
        sennit_sock_opts opts = net_opts();
        sennit_sock *subs[2];
        sennit_sock *xpub;

        opts.xpub_verbose = (sennit_xpub_verbose)level;
        net_open(&n);
        xpub = net_sock(&n, SENNIT_XPUB, &opts);
        (void)net_bind(xpub, TCP);
        for (int i = 0; i < 2; i++) {
            subs[i] = net_sock(&n, SENNIT_SUB, NULL);
            net_subscribe(subs[i], "a");
            net_connect(subs[i], sennit_sock_last_endpoint(xpub));
            NET_UNTIL(&n, net_stats(xpub).subscriptions == (uint64_t)i + 1);
        }
        for (int i = 0; i < 2; i++) {
            assert_int_equal(sennit_sock_unsubscribe(subs[i], net_bytes("a")), SENNIT_OK);
            NET_UNTIL(&n, net_stats(xpub).subscriptions == 1 - (uint64_t)i);
        }
        for (int i = 0; i < 4 && told[level][i] != NULL; i++)
            assert_string_equal(next_notice(xpub), told[level][i]);
        assert_string_equal(net_recv_flags(xpub, SENNIT_DONTWAIT), "EAGAIN");
        net_close(&n);
    }
}

static void
by_hand_an_xpubs_application_decides_what_a_subscriber_gets(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *xpub;
    sennit_sock *sub;

    (void)state;
    opts.xpub_manual = SENNIT_XPUB_MANUAL;
    net_open(&n);
    xpub = net_sock(&n, SENNIT_XPUB, &opts);
    assert_int_equal(sennit_sock_subscribe(xpub, net_bytes("b")), SENNIT_ESTATE);
    assert_string_equal(sennit_loop_why(n.loop), "no subscription was received yet");
    sub = net_sock(&n, SENNIT_SUB, NULL);
    net_subscribe(sub, "a");
    net_subscribe(sub, "b");
    net_join(&n, xpub, sub, TCP);
    assert_string_equal(next_notice(xpub), "+a");
    net_subscribe(xpub, "b");
    assert_string_equal(next_notice(xpub), "+b");
    net_send(xpub, "a not");
    net_send(xpub, "b yes");
    assert_string_equal(net_recv(sub), "b yes");
    net_close(&n);
}

static void
a_subscriber_is_welcomed_before_everything_else(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *xpub;
    sennit_sock *sub;

    (void)state;
    opts.xpub_welcome = net_bytes("WELCOME");
    net_open(&n);
    xpub = net_sock(&n, SENNIT_XPUB, &opts);
    sub = net_sock(&n, SENNIT_SUB, NULL);
    net_subscribe(sub, "");
    net_join(&n, xpub, sub, TCP);
    assert_string_equal(next_notice(xpub), "+");
    net_send(xpub, "news");
    assert_string_equal(net_recv(sub), "WELCOME");
    assert_string_equal(net_recv(sub), "news");
    net_close(&n);
}

static void
inverted_matching_sends_what_does_not_match(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *pub;
    sennit_sock *sub;

    (void)state;
    opts.invert_matching = true;
    net_open(&n);
    pub = net_sock(&n, SENNIT_PUB, &opts);
    sub = net_sock(&n, SENNIT_SUB, &opts);
    net_subscribe(sub, "a");
    net_join(&n, pub, sub, TCP);
    assert_int_equal(sennit_sock_wait_subscriptions(pub, 1, DEADLINE_MS), SENNIT_OK);
    net_send(pub, "a is left out");
    net_send(pub, "b is not");
    assert_string_equal(net_recv(sub), "b is not");
    net_close(&n);
}

static void
an_xsub_subscribes_by_message_and_says_every_unsubscribe_if_told_to(void **state)
{
    (void)state;
    for (int verbose = 0; verbose < 2; verbose++) {
        sennit_sock_opts opts = net_opts();
        sennit_sock *xpub;
        sennit_sock *xsub;

        net_open(&n);
        opts.xpub_verbose = SENNIT_XPUB_VERBOSER;
        xpub = net_sock(&n, SENNIT_XPUB, &opts);
        opts = net_opts();
        opts.xsub_verbose_unsubscribe = verbose;
        xsub = net_sock(&n, SENNIT_XSUB, &opts);
        net_join(&n, xpub, xsub, TCP);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(sennit_sock_send_bytes(xsub, "\1a", 2, 0), SENNIT_OK);
            assert_string_equal(next_notice(xpub), "+a");
        }
        /* One of two: there is another left. */
        assert_int_equal(sennit_sock_send_bytes(xsub, "\0a", 2, 0), SENNIT_OK);
        assert_int_equal(sennit_sock_send_bytes(xsub, "\1z", 2, 0), SENNIT_OK);
        /* The XPUB takes back as many as it told. */
        for (int i = 0; i < 2 * verbose; i++)
            assert_string_equal(next_notice(xpub), "-a");
        assert_string_equal(next_notice(xpub), "+z");
        net_close(&n);
    }
}

/* A message of an older or an XSUB peer may end with what looks like a subscription. */
static void
an_xpub_reads_subscriptions_in_any_frame_or_only_the_first(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        for (int only_first = 0; only_first < 2; only_first++) {
            sennit_sock_opts opts = net_opts();
            sennit_sock *xpub;
            sennit_sock *xsub;

            net_open(&n);
            opts.only_first_subscribe = only_first;
            xpub = net_sock(&n, SENNIT_XPUB, &opts);
            opts.only_first_subscribe = true; /* it says what it is given */
            xsub = net_sock(&n, SENNIT_XSUB, &opts);
            net_join(&n, xpub, xsub, (transport)via);
            net_send(xsub, "x|\1topic");
            net_send(xsub, "next");
            if (only_first) {
                assert_string_equal(net_recv(xpub), "x|\1topic");
            } else {
                assert_string_equal(net_recv(xpub), "\1topic");
                assert_string_equal(net_recv(xpub), "x");
            }
            assert_string_equal(net_recv(xpub), "next");
            assert_int_equal(net_stats(xpub).subscriptions, only_first ? 0 : 1);
            net_close(&n);
        }
    }
}

static void
a_subscription_over_the_bound_ends_the_connection_and_says_why(void **state)
{
    size_t size = (1u << 20) + 2;

    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock_opts opts = net_opts();
        sennit_event event;
        sennit_sock *xsub;
        sennit_sock *pub;
        sennit_msg msg;

        net_open(&n);
        pub = net_sock(&n, SENNIT_PUB, NULL);
        opts.only_first_subscribe = true; /* it says what it is given */
        xsub = net_sock(&n, SENNIT_XSUB, &opts);
        net_join(&n, pub, xsub, (transport)via);
        assert_int_equal(sennit_sock_send_bytes(xsub, "x", 1, SENNIT_MORE), SENNIT_OK);
        assert_int_equal(sennit_msg_init_size(&msg, size), SENNIT_OK);
        memset(sennit_msg_data(&msg), 1, size);
        assert_int_equal(sennit_sock_send(xsub, &msg, 0), SENNIT_OK);
        net_send(xsub, "behind it");
        event = net_event(&n, pub, SENNIT_EVENT_DISCONNECTED);
        assert_int_equal(event.err, SENNIT_EMSGSIZE);
        assert_string_equal(event.reason, "subscription longer than 1 MiB");
        assert_int_equal(net_stats(pub).subscriptions, 0);
        net_close(&n);
    }
}

/* ---- slow subscribers ---------------------------------------------------- */

typedef struct slow_net {
    sennit_sock *pub;
    sennit_sock *slow;
    uint32_t sent;
} slow_net;

/* It publishes until its queue would be full many times over, or until it may not. */
static void
publish_on(slow_net *s, sennit_slow_policy policy, unsigned topics)
{
    static char body[4096];

    for (uint32_t end = s->sent + 2000; s->sent < end; s->sent++) {
        char topic = (char)('a' + s->sent % topics);
        sennit_err err =
            sennit_sock_send_bytes(s->pub, &topic, 1, SENNIT_DONTWAIT | SENNIT_MORE);

        if (err == SENNIT_OK) {
            memcpy(body, &s->sent, sizeof s->sent);
            err = sennit_sock_send_bytes(s->pub, body, sizeof body, SENNIT_DONTWAIT);
        }
        if (policy == SENNIT_SLOW_BLOCK && err == SENNIT_EAGAIN)
            return;
        assert_int_equal(err, SENNIT_OK);
        if (s->sent % 10 == 0)
            assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
    }
}

/* A subscriber that does not read, and a publisher that goes on all the same. */
static void
overrun_via(slow_net *s, transport via, sennit_slow_policy policy, unsigned topics)
{
    sennit_sock_opts opts = net_opts();

    net_open(&n);
    opts.slow_subscriber = policy;
    opts.send_hwm_msgs = 20;
    opts.kernel_send_bytes = 16 << 10;
    s->pub = net_sock(&n, SENNIT_PUB, &opts);
    s->sent = 0;
    opts = net_opts();
    opts.recv_hwm_msgs = 5;
    opts.kernel_recv_bytes = 16 << 10;
    s->slow = net_sock(&n, SENNIT_SUB, &opts);
    net_subscribe(s->slow, "");
    net_join(&n, s->pub, s->slow, via);
    assert_int_equal(sennit_sock_wait_subscriptions(s->pub, 1, DEADLINE_MS), SENNIT_OK);
    publish_on(s, policy, topics);
}

static void
overrun(slow_net *s, sennit_slow_policy policy, unsigned topics)
{
    overrun_via(s, TCP, policy, topics);
}

/* The number of the next message. */
static uint32_t
read_one(slow_net *s)
{
    char body[4096];
    uint32_t number;
    size_t size;

    for (int frame = 0; frame < 2; frame++)
        assert_int_equal(sennit_sock_recv_bytes(s->slow, body, sizeof body, &size, 0),
                         SENNIT_OK);
    memcpy(&number, body, sizeof number);
    return number;
}

/* Reads until the last that was sent; tells how many came. */
static unsigned
read_to_the_last(slow_net *s)
{
    unsigned count = 1;

    while (read_one(s) != s->sent - 1)
        count++;
    return count;
}

static void
check_copies(const slow_net *s, uint64_t dropped)
{
    sennit_sock_stats stats = net_stats(s->pub);
    sennit_peer peer;

    assert_int_equal(stats.sent_msgs, s->sent);
    assert_int_equal(stats.delivered_msgs + stats.queued_msgs + dropped, s->sent);
    assert_int_equal(sennit_sock_get_peers(s->pub, &peer, 1), 1);
    assert_int_equal(peer.sent_msgs, s->sent);
}

static void
dropping_new_keeps_what_was_queued_and_says_once_who_is_slow(void **state)
{
    slow_net s;
    sennit_event event;

    (void)state;
    overrun(&s, SENNIT_SLOW_DROP_NEW, 1);
    assert_true(net_stats(s.pub).dropped_hwm_msgs > 0);
    check_copies(&s, net_stats(s.pub).dropped_hwm_msgs);
    assert_true(net_has_event(s.pub, SENNIT_EVENT_SLOW, &event));
    assert_true(event.peer > 0);
    assert_false(net_has_event(s.pub, SENNIT_EVENT_SLOW, &event));
    for (uint64_t i = net_stats(s.pub).dropped_hwm_msgs; i < s.sent; i++)
        (void)read_one(&s);
    NET_UNTIL(&n, net_stats(s.pub).queued_msgs == 0);
    assert_string_equal(net_recv_flags(s.slow, SENNIT_DONTWAIT), "EAGAIN");
    /* Once it has drained, it may become slow again. */
    publish_on(&s, SENNIT_SLOW_DROP_NEW, 1);
    assert_true(net_has_event(s.pub, SENNIT_EVENT_SLOW, &event));
    net_close(&n);
}

static void
dropping_old_lets_the_newest_through(void **state)
{
    slow_net s;

    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        uint64_t dropped;

        overrun_via(&s, (transport)via, SENNIT_SLOW_DROP_OLD, 1);
        dropped = net_stats(s.pub).dropped_slow_msgs;
        assert_true(dropped > 0);
        assert_int_equal(net_stats(s.pub).dropped_hwm_msgs, 0);
        check_copies(&s, dropped);
        assert_int_equal(read_to_the_last(&s), s.sent - dropped);
        net_close(&n);
    }
}

/* Subscribed to everything; reads when the test does. */
static int
raw_subscriber(sennit_sock *pub)
{
    int fd;

    net_bind(pub, TCP);
    fd = raw_connect(sennit_sock_last_endpoint(pub));
    raw_handshake(&n, fd, "SUB", "");
    raw_write(&n, fd, "\4\12\11SUBSCRIBE", 12);
    assert_int_equal(sennit_sock_wait_subscriptions(pub, 1, DEADLINE_MS), SENNIT_OK);
    return fd;
}

/* All that waits is with a kernel that takes nothing: it is taken back from there. */
static void
dropping_old_takes_back_what_the_kernel_does_not_take(void **state)
{
    static uint8_t body[1000];
    uint8_t frame[9 + sizeof body];
    uint32_t number = 0;

    (void)state;
    for (int policy = SENNIT_SLOW_DROP_OLD; policy <= SENNIT_SLOW_CONFLATE; policy++) {
        const uint32_t last = 20000;
        sennit_sock_opts opts = net_opts();
        sennit_sock *pub;
        int fd;

        net_open(&n);
        opts.slow_subscriber = (sennit_slow_policy)policy;
        opts.send_hwm_msgs = 5;
        opts.kernel_send_bytes = 4096;
        pub = net_sock(&n, SENNIT_PUB, &opts);
        fd = raw_subscriber(pub);
        for (uint32_t i = 0; i <= last; i++) {
            memcpy(body, &i, sizeof i);
            assert_int_equal(sennit_sock_send_bytes(pub, body, sizeof body, 0),
                             SENNIT_OK);
            if (i % 50 == 0)
                sennit_sock_flush(pub);
        }
        assert_true(net_stats(pub).dropped_slow_msgs > 0);
        assert_int_equal(net_stats(pub).dropped_hwm_msgs, 0);
        do {
            raw_read(&n, fd, frame, sizeof frame);
            memcpy(&number, frame + 9, sizeof number);
        } while (number != last);
        close(fd);
        net_close(&n);
    }
}

/* The message that is half sent is larger than the mark. */
static void
nothing_is_dropped_where_that_does_not_make_enough_room(void **state)
{
    static uint8_t large[16u << 20];
    sennit_sock_opts opts = net_opts();
    sennit_sock *pub;
    int fd;

    (void)state;
    net_open(&n);
    opts.slow_subscriber = SENNIT_SLOW_DROP_OLD;
    opts.send_hwm_msgs = 0;
    opts.kernel_send_bytes = 4096;
    pub = net_sock(&n, SENNIT_PUB, &opts);
    fd = raw_subscriber(pub);
    assert_int_equal(sennit_sock_send_bytes(pub, large, sizeof large, 0), SENNIT_OK);
    sennit_sock_flush(pub);
    for (int i = 0; i < 3; i++)
        net_send(pub, "waits");
    opts.send_hwm_bytes = 100000;
    assert_int_equal(sennit_sock_set_opts(pub, &opts), SENNIT_OK);
    net_send(pub, "new");
    assert_int_equal(net_stats(pub).dropped_slow_msgs, 0);
    assert_int_equal(net_stats(pub).dropped_hwm_msgs, 1);
    assert_int_equal(net_stats(pub).queued_msgs, 4);
    close(fd);
    net_close(&n);
}

/* On inproc they wait where they are read. */
static void
a_message_that_is_half_read_makes_no_room(void **state)
{
    (void)state;
    for (int policy = SENNIT_SLOW_DROP_OLD; policy <= SENNIT_SLOW_CONFLATE; policy++) {
        sennit_sock_opts opts = net_opts();
        sennit_sock *pub;
        sennit_sock *sub;
        sennit_msg msg;

        net_open(&n);
        opts.slow_subscriber = (sennit_slow_policy)policy;
        opts.send_hwm_msgs = 1;
        pub = net_sock(&n, SENNIT_PUB, &opts);
        opts = net_opts();
        opts.recv_hwm_msgs = 1;
        sub = net_sock(&n, SENNIT_SUB, &opts);
        net_subscribe(sub, "");
        net_join(&n, pub, sub, INPROC);
        net_send(pub, "a|1");
        net_send(pub, "a|2");
        sennit_msg_init(&msg);
        assert_int_equal(sennit_sock_recv(sub, &msg, 0), SENNIT_OK);
        sennit_msg_fini(&msg);
        net_send(pub, "a|3");
        net_send(pub, "a|4");
        assert_string_equal(net_recv(sub), "1");
        assert_string_equal(net_recv(sub), "a|4");
        assert_string_equal(net_recv_flags(sub, SENNIT_DONTWAIT), "EAGAIN");
        assert_int_equal(net_stats(pub).dropped_slow_msgs, 2);
        assert_int_equal(net_stats(pub).delivered_msgs, 2);
        net_close(&n);
    }
}

static void
conflating_by_topic_keeps_the_newest_of_each(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        slow_net s;
        uint32_t last[4] = { 0 };
        uint32_t seen = 0;

        overrun_via(&s, (transport)via, SENNIT_SLOW_CONFLATE, 4);
        assert_true(net_stats(s.pub).dropped_slow_msgs > 0);
        check_copies(&s, net_stats(s.pub).dropped_slow_msgs);
        while (seen != 15) {
            char body[4096];
            uint32_t number;
            size_t size;
            char topic;

            assert_int_equal(sennit_sock_recv_bytes(s.slow, body, sizeof body, &size, 0),
                             SENNIT_OK);
            topic = body[0];
            assert_int_equal(sennit_sock_recv_bytes(s.slow, body, sizeof body, &size, 0),
                             SENNIT_OK);
            memcpy(&number, body, sizeof number);
            last[topic - 'a'] = number;
            if (number >= s.sent - 4)
                seen |= 1u << (topic - 'a');
        }
        for (unsigned i = 0; i < 4; i++)
            assert_true(last[i] >= s.sent - 4);
        net_close(&n);
    }
}

static void
a_slow_subscriber_is_disconnected_and_knows(void **state)
{
    slow_net s;
    sennit_event event;

    (void)state;
    overrun(&s, SENNIT_SLOW_DISCONNECT, 1);
    do
        event = net_event(&n, s.pub, SENNIT_EVENT_DISCONNECTED);
    while (event.err != SENNIT_ECLOSED);
    assert_string_not_equal(event.reason, "");
    net_close(&n);
}

static void
blocking_loses_nothing(void **state)
{
    slow_net s;

    (void)state;
    overrun(&s, SENNIT_SLOW_BLOCK, 1);
    assert_true(s.sent < 2000);
    assert_int_equal(read_to_the_last(&s), s.sent);
    check_copies(&s, 0);
    net_send(s.pub, "one|more");
    assert_string_equal(net_recv(s.slow), "one|more");
    net_close(&n);
}

/* ---- STREAM -------------------------------------------------------------- */

static void
recv_stream(sennit_sock *stream, char *identity, size_t *identity_size, char *body,
            size_t *size)
{
    assert_int_equal(sennit_sock_recv_bytes(stream, identity, 255, identity_size, 0),
                     SENNIT_OK);
    assert_int_equal(sennit_sock_recv_bytes(stream, body, 255, size, 0), SENNIT_OK);
}

static void
a_stream_speaks_plain_bytes_with_anybody(void **state)
{
    char identity[255];
    char other[255];
    char body[255];
    size_t identity_size;
    size_t other_size;
    sennit_sock *stream;
    size_t size;
    int fd;

    (void)state;
    net_open(&n);
    stream = net_sock(&n, SENNIT_STREAM, NULL);
    fd = raw_connect(net_bind(stream, TCP));
    /* It came. */
    recv_stream(stream, identity, &identity_size, body, &size);
    assert_int_equal(size, 0);
    assert_true(identity_size > 0);
    raw_write(&n, fd, "GET /", 5);
    recv_stream(stream, other, &other_size, body, &size);
    assert_int_equal(other_size, identity_size);
    assert_memory_equal(other, identity, identity_size);
    assert_int_equal(size, 5);
    assert_memory_equal(body, "GET /", 5);
    assert_int_equal(sennit_sock_send_bytes(stream, identity, identity_size, SENNIT_MORE),
                     SENNIT_OK);
    assert_int_equal(sennit_sock_send_bytes(stream, "200 OK", 6, 0), SENNIT_OK);
    raw_read(&n, fd, body, 6);
    assert_memory_equal(body, "200 OK", 6);
    /* And it is told to go. */
    assert_int_equal(sennit_sock_send_bytes(stream, identity, identity_size, SENNIT_MORE),
                     SENNIT_OK);
    assert_int_equal(sennit_sock_send_bytes(stream, "", 0, 0), SENNIT_OK);
    raw_until_closed(&n, fd);
    close(fd);
    assert_int_equal(sennit_sock_bind(stream, "inproc://stream"), SENNIT_ENOTSUP);
    assert_string_equal(sennit_loop_why(n.loop),
                        "a STREAM has peers by tcp and ipc only");
    net_close(&n);
}

static void
two_streams_speak_without_notices_if_told_so(void **state)
{
    sennit_sock_opts opts = net_opts();
    char identity[255];
    char body[255];
    size_t identity_size;
    sennit_sock *binder;
    sennit_sock *connecter;
    size_t size;

    (void)state;
    opts.stream_notify = false;
    net_open(&n);
    binder = net_sock(&n, SENNIT_STREAM, &opts);
    connecter = net_sock(&n, SENNIT_STREAM, &opts);
    assert_int_equal(
        sennit_sock_connect_as(connecter, net_bind(binder, TCP), net_bytes("them")),
        SENNIT_OK);
    NET_UNTIL(&n, net_stats(connecter).connections == 1);
    net_send(connecter, "them|bytes");
    recv_stream(binder, identity, &identity_size, body, &size);
    assert_int_equal(size, 5);
    assert_memory_equal(body, "bytes", 5);
    net_close(&n);
}

/* It is the connection that is closed, and what connected it; what was sent leaves. */
static void
a_stream_that_connected_is_closed_for_good_and_says_why(void **state)
{
    char endpoint[64];
    int listener = raw_listen(endpoint);
    sennit_sock *stream;
    sennit_event event;
    char body[8];
    int fd;

    (void)state;
    net_open(&n);
    stream = net_sock(&n, SENNIT_STREAM, NULL);
    assert_int_equal(sennit_sock_connect_as(stream, endpoint, net_bytes("them")),
                     SENNIT_OK);
    fd = raw_accept(&n, listener);
    NET_UNTIL(&n, net_stats(stream).connections == 1);
    net_send(stream, "them|hello");
    net_send(stream, "them|");
    assert_string_equal(sennit_err_name(net_try_send(stream, "them|x", SENNIT_DONTWAIT)),
                        "EHOSTUNREACH");
    raw_read(&n, fd, body, 5);
    assert_memory_equal(body, "hello", 5);
    raw_until_closed(&n, fd);
    close(fd);
    event = net_event(&n, stream, SENNIT_EVENT_DISCONNECTED);
    assert_int_equal(event.err, SENNIT_OK);
    assert_string_equal(event.reason, "closed by the application");
    assert_int_equal(sennit_sock_get_peers(stream, NULL, 0), 0);
    assert_int_equal(net_stats(stream).reconnects, 0);
    assert_int_equal(sennit_sock_disconnect(stream, endpoint), SENNIT_ENOENT);
    assert_int_equal(net_stats(stream).sent_msgs, 1);
    net_check_law(stream);
    close(listener);
    net_close(&n);
}

/* ---- what counts as a message -------------------------------------------- */

static void
what_is_for_no_peer_is_no_message_that_was_sent(void **state)
{
    sennit_sock_opts opts = net_opts();
    char identity[255];
    char body[255];
    size_t identity_size;
    sennit_sock *xpub;
    sennit_sock *xsub;
    sennit_sock *stream;
    size_t size;
    int fd;

    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        net_open(&n);
        xpub = net_sock(&n, SENNIT_XPUB, NULL);
        xsub = net_sock(&n, SENNIT_XSUB, NULL);
        net_join(&n, xpub, xsub, (transport)via);
        assert_int_equal(sennit_sock_send_bytes(xsub, "\1a", 2, 0), SENNIT_OK);
        net_send(xsub, "\1b|\1c");
        assert_int_equal(net_stats(xsub).sent_msgs, 0);
        net_send(xsub, "\1d|x");
        net_send(xsub, "x|\1e");
        net_send(xsub, "x");
        assert_int_equal(sennit_sock_send_bytes(xsub, "\0z", 2, 0), SENNIT_OK);
        assert_int_equal(net_stats(xsub).sent_msgs, 3);
        NET_UNTIL(&n, net_stats(xsub).queued_msgs == 0);
        assert_int_equal(net_stats(xsub).delivered_msgs, 3);
        net_check_law(xsub);
        net_close(&n);
    }
    opts.stream_notify = false;
    net_open(&n);
    stream = net_sock(&n, SENNIT_STREAM, &opts);
    fd = raw_connect(net_bind(stream, TCP));
    raw_write(&n, fd, "hi", 2);
    recv_stream(stream, identity, &identity_size, body, &size);
    for (int frames = 1; frames <= 3; frames++) {
        assert_int_equal(
            sennit_sock_send_bytes(stream, identity, identity_size, SENNIT_MORE),
            SENNIT_OK);
        for (int i = 1; i < frames; i++)
            assert_int_equal(sennit_sock_send_bytes(stream, "", 0, SENNIT_MORE),
                             SENNIT_OK);
        assert_int_equal(sennit_sock_send_bytes(stream, "x", frames == 1, 0), SENNIT_OK);
    }
    raw_read(&n, fd, body, 1);
    assert_int_equal(net_stats(stream).sent_msgs, 1);
    net_check_law(stream);
    close(fd);
    net_close(&n);
}

/* ---- slow peers of other types ------------------------------------------- */

static void
overflow(sennit_sock *router)
{
    static char body[16 << 10];
    uint64_t before = net_stats(router).dropped_hwm_msgs;

    while (net_stats(router).dropped_hwm_msgs < before + 3) {
        assert_int_equal(sennit_sock_send_bytes(router, "D", 1, SENNIT_MORE), SENNIT_OK);
        assert_int_equal(sennit_sock_send_bytes(router, body, sizeof body, 0), SENNIT_OK);
    }
}

static void
a_router_says_once_whose_queue_is_full_until_it_has_drained(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock_opts opts = net_opts();
        sennit_sock *router;
        sennit_sock *dealer;
        sennit_event event;

        net_open(&n);
        opts.send_hwm_msgs = 2;
        router = net_sock(&n, SENNIT_ROUTER, &opts);
        opts.recv_hwm_msgs = 1;
        opts.identity[0] = 'D';
        opts.identity_size = 1;
        dealer = net_sock(&n, SENNIT_DEALER, &opts);
        net_join(&n, router, dealer, (transport)via);
        for (int round = 0; round < 2; round++) {
            sennit_sock_stats stats;
            sennit_msg msg;

            overflow(router);
            assert_true(net_has_event(router, SENNIT_EVENT_SLOW, &event));
            assert_memory_equal(event.identity, "D", 1);
            assert_false(net_has_event(router, SENNIT_EVENT_SLOW, &event));
            stats = net_stats(router);
            sennit_msg_init(&msg);
            while (net_stats(dealer).received_msgs + stats.dropped_hwm_msgs <
                   stats.sent_msgs)
                assert_int_equal(sennit_sock_recv(dealer, &msg, 0), SENNIT_OK);
            sennit_msg_fini(&msg);
        }
        net_check_law(router);
        net_close(&n);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hello_is_the_first_message_on_every_connection),
        cmocka_unit_test(disconnected_and_hiccup_are_received_when_a_peer_is_lost),
        cmocka_unit_test(an_empty_message_probes_a_router),
        cmocka_unit_test(a_router_notifies_of_peers_that_come_and_go),
        cmocka_unit_test(with_handover_the_newcomer_gets_the_identity),
        cmocka_unit_test(a_peer_is_known_by_what_connect_as_says),
        cmocka_unit_test(a_relaxed_and_correlated_req_takes_only_the_last_requests_reply),
        cmocka_unit_test(an_xpub_receives_what_changes_and_by_verbosity_what_does_not),
        cmocka_unit_test(by_hand_an_xpubs_application_decides_what_a_subscriber_gets),
        cmocka_unit_test(a_subscriber_is_welcomed_before_everything_else),
        cmocka_unit_test(inverted_matching_sends_what_does_not_match),
        cmocka_unit_test(
            an_xsub_subscribes_by_message_and_says_every_unsubscribe_if_told_to),
        cmocka_unit_test(an_xpub_reads_subscriptions_in_any_frame_or_only_the_first),
        cmocka_unit_test(a_subscription_over_the_bound_ends_the_connection_and_says_why),
        cmocka_unit_test(dropping_new_keeps_what_was_queued_and_says_once_who_is_slow),
        cmocka_unit_test(dropping_old_lets_the_newest_through),
        cmocka_unit_test(dropping_old_takes_back_what_the_kernel_does_not_take),
        cmocka_unit_test(nothing_is_dropped_where_that_does_not_make_enough_room),
        cmocka_unit_test(a_message_that_is_half_read_makes_no_room),
        cmocka_unit_test(conflating_by_topic_keeps_the_newest_of_each),
        cmocka_unit_test(a_slow_subscriber_is_disconnected_and_knows),
        cmocka_unit_test(blocking_loses_nothing),
        cmocka_unit_test(a_stream_speaks_plain_bytes_with_anybody),
        cmocka_unit_test(two_streams_speak_without_notices_if_told_so),
        cmocka_unit_test(a_stream_that_connected_is_closed_for_good_and_says_why),
        cmocka_unit_test(what_is_for_no_peer_is_no_message_that_was_sent),
        cmocka_unit_test(a_router_says_once_whose_queue_is_full_until_it_has_drained),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
