/* SPDX-License-Identifier: MIT */
/* The public calls that sock_memory_test.c does not come by, with the k-th allocation
 * failing for every k: what fails says ENOMEM and changes nothing, works the second time,
 * and in the end nothing is live. */
#include "net.h"

#include <stdio.h>

#define COUNT(rows) (sizeof(rows) / sizeof(rows)[0])
#define BYTES(text) ((sennit_bytes){ (const uint8_t *)(text), sizeof(text) - 1 })

static void
open_loop(net *n, test_alloc *alloc)
{
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;
    sennit_err err;

    opts.allocator = &alloc->allocator;
    WORKS(err, sennit_loop_open(&n->loop, &opts));
}

static sennit_sock *
open_sock(net *n, sennit_sock_type type, const sennit_sock_opts *opts)
{
    sennit_sock *sock;
    sennit_err err;

    WORKS(err, sennit_sock_open(&sock, n->loop, type, opts));
    return sock;
}

static sennit_sock_opts
quick_opts(void)
{
    sennit_sock_opts opts = net_opts();

    opts.reconnect_max_ms = 1;
    return opts;
}

/* Frames joined by '|', each sent until there is memory for it. Anything but OK and
 * EAGAIN (only for the first frame) is a failure. */
static bool
sends(sennit_sock *sock, sennit_bytes first, sennit_bytes second)
{
    sennit_err err;

    TWICE(err, sennit_sock_send_bytes(sock, first.data, first.size,
                                      SENNIT_DONTWAIT | SENNIT_MORE));
    if (err == SENNIT_EAGAIN || err == SENNIT_EHOSTUNREACH)
        return false;
    assert_int_equal(err, SENNIT_OK);
    WORKS(err, sennit_sock_send_bytes(sock, second.data, second.size, SENNIT_DONTWAIT));
    return true;
}

/* The last frame of the next message; false: there is none. */
static bool
hears(sennit_sock *sock, char last[64])
{
    sennit_msg msg;
    sennit_err err;

    sennit_msg_init(&msg);
    do {
        TWICE(err, sennit_sock_recv(sock, &msg, SENNIT_DONTWAIT));
        if (err == SENNIT_EAGAIN)
            return false;
        assert_int_equal(err, SENNIT_OK);
    } while (sennit_msg_more(&msg));
    assert_true(sennit_msg_size(&msg) < 64);
    memcpy(last, sennit_msg_data(&msg), sennit_msg_size(&msg));
    last[sennit_msg_size(&msg)] = '\0';
    sennit_msg_fini(&msg);
    return true;
}

/* ---- options that point to something ------------------------------------ */

static const sennit_property properties[] = { { "X-One", { (const uint8_t *)"1", 1 } },
                                              { "X-Two", { (const uint8_t *)"22", 2 } } };
static const char *const networks[] = { "10.0.0.0/8", "::1" };
static const sennit_ipc_filter filters[] = { { 1, 2, 3 }, { -1, -1, 4 } };

/* Every pointer there is that the type has. */
static sennit_sock_opts
pointed_opts(sennit_sock_type type)
{
    sennit_sock_opts opts = quick_opts();

    opts.bind_device = "lo";
    opts.socks_proxy = "proxy:1080";
    opts.socks_username = "user";
    opts.socks_password = "password";
    opts.tcp_accept = networks;
    opts.tcp_accept_count = 2;
    opts.ipc_accept = filters;
    opts.ipc_accept_count = 2;
    if (type != SENNIT_STREAM) {
        opts.properties = properties;
        opts.properties_count = 2;
    }
    if (type == SENNIT_DEALER || type == SENNIT_ROUTER)
        opts.hello = BYTES("hello");
    if (type == SENNIT_DEALER)
        opts.hiccup = BYTES("hiccup");
    if (type == SENNIT_ROUTER)
        opts.disconnected = BYTES("disconnected");
    if (type == SENNIT_XPUB)
        opts.xpub_welcome = BYTES("welcome");
    return opts;
}

static bool
same_bytes(sennit_bytes a, sennit_bytes b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static void
check_pointed(const sennit_sock *sock, const sennit_sock_opts *set)
{
    sennit_sock_opts now;

    sennit_sock_get_opts(sock, &now);
    assert_string_equal(now.bind_device, set->bind_device);
    assert_string_equal(now.socks_proxy, set->socks_proxy);
    assert_string_equal(now.socks_username, set->socks_username);
    assert_string_equal(now.socks_password, set->socks_password);
    assert_int_equal(now.tcp_accept_count, set->tcp_accept_count);
    for (size_t i = 0; i < set->tcp_accept_count; i++)
        assert_string_equal(now.tcp_accept[i], set->tcp_accept[i]);
    assert_int_equal(now.ipc_accept_count, set->ipc_accept_count);
    for (size_t i = 0; i < set->ipc_accept_count; i++)
        assert_int_equal(now.ipc_accept[i].pid, set->ipc_accept[i].pid);
    assert_int_equal(now.properties_count, set->properties_count);
    for (size_t i = 0; i < set->properties_count; i++) {
        assert_string_equal(now.properties[i].name, set->properties[i].name);
        assert_true(same_bytes(now.properties[i].value, set->properties[i].value));
    }
    assert_true(same_bytes(now.hello, set->hello));
    assert_true(same_bytes(now.hiccup, set->hiccup));
    assert_true(same_bytes(now.disconnected, set->disconnected));
    assert_true(same_bytes(now.xpub_welcome, set->xpub_welcome));
}

static void
options_are_all_set_or_none(test_alloc *alloc, void *arg)
{
    const sennit_sock_type *type = arg;
    sennit_sock_opts first = pointed_opts(*type);
    sennit_sock_opts second = first;
    sennit_sock *sock;
    sennit_err err;
    net n;

    second.socks_proxy = "another:1081";
    second.tcp_accept_count = 1;
    second.ipc_accept_count = 0;
    if (second.properties_count > 0)
        second.properties_count = 1;
    if (second.hello.size > 0)
        second.hello = BYTES("good morning");
    if (second.disconnected.size > 0)
        second.disconnected = BYTES("gone");
    if (second.xpub_welcome.size > 0)
        second.xpub_welcome = BYTES("come in");
    open_loop(&n, alloc);
    sock = open_sock(&n, *type, &first);
    check_pointed(sock, &first);
    err = sennit_sock_set_opts(sock, &second);
    if (err == SENNIT_ENOMEM) {
        check_pointed(sock, &first);
        err = sennit_sock_set_opts(sock, &second);
    }
    assert_int_equal(err, SENNIT_OK);
    check_pointed(sock, &second);
    sennit_loop_close(n.loop);
}

/* ---- names and peers ----------------------------------------------------- */

/* Sends to `them` until `text` has arrived there; what comes back is read away. */
static void
reach(net *n, sennit_sock *router, sennit_sock *them, const char *text)
{
    char last[64] = "";
    bool arrived = false;

    NET_DOING(n, arrived)
    {
        sennit_bytes body = { (const uint8_t *)text, strlen(text) };

        (void)sends(router, BYTES("them"), body);
        while (hears(them, last))
            arrived = arrived || strcmp(last, text) == 0;
        while (hears(router, last))
            continue;
    }
}

static void
a_named_peer_is_reached_again_and_again(test_alloc *alloc, void *arg)
{
    const transport *via = arg;
    sennit_sock_opts router_opts = quick_opts();
    sennit_sock_opts opts = quick_opts();
    char endpoint[128];
    sennit_sock *router;
    sennit_sock *dealer;
    sennit_bytes value;
    sennit_peer peer;
    sennit_event event;
    sennit_err err;
    net n;

    router_opts.router_mandatory = true;
    router_opts.router_notify = SENNIT_NOTIFY_CONNECT | SENNIT_NOTIFY_DISCONNECT;
    if (*via != INPROC) {
        opts.properties = properties;
        opts.properties_count = 2;
    }
    open_loop(&n, alloc);
    router = open_sock(&n, SENNIT_ROUTER, &router_opts);
    dealer = open_sock(&n, SENNIT_DEALER, &opts);
    WORKS(err, sennit_sock_bind(dealer, net_fresh(*via)));
    snprintf(endpoint, sizeof endpoint, "%s", sennit_sock_last_endpoint(dealer));
    WORKS(err, sennit_sock_connect_as(router, endpoint, BYTES("them")));
    reach(&n, router, dealer, "first");

    assert_int_equal(sennit_sock_get_peers(router, &peer, 1), 1);
    if (peer.ready) {
        assert_int_equal(peer.identity_size, 4);
        if (*via != INPROC) {
            assert_int_equal(
                sennit_sock_peer_property(router, peer.number, "x-two", &value),
                SENNIT_OK);
            assert_true(same_bytes(value, BYTES("22")));
        }
    }
    while (sennit_sock_next_event(router, &event) == SENNIT_OK)
        continue;
    if (peer.number > 0)
        (void)sennit_sock_disconnect_peer(router, peer.number);
    if (*via != INPROC)
        reach(&n, router, dealer, "second");

    assert_int_equal(sennit_sock_disconnect(router, endpoint), SENNIT_OK);
    assert_int_equal(sennit_sock_unbind(dealer, endpoint), SENNIT_OK);
    WORKS(err, sennit_sock_bind(dealer, net_fresh(*via)));
    /* Taken until the old connection has left. */
    do
        TWICE(err, sennit_sock_connect_as(router, sennit_sock_last_endpoint(dealer),
                                          BYTES("them")));
    while (err == SENNIT_EEXIST && sennit_loop_turn(n.loop, 1) == SENNIT_OK);
    assert_int_equal(err, SENNIT_OK);
    reach(&n, router, dealer, "third");
    sennit_loop_close(n.loop);
}

/* The second comes under the name of the first, and takes it over. */
static void
a_name_is_handed_over(test_alloc *alloc, void *arg)
{
    sennit_sock_opts router_opts = quick_opts();
    sennit_sock_opts opts = quick_opts();
    sennit_sock *router;
    sennit_sock *dealers[2];
    sennit_err err;
    net n;

    (void)arg;
    router_opts.router_handover = true;
    router_opts.hello = BYTES("hello");
    router_opts.disconnected = BYTES("gone");
    opts.identity_size = 4;
    memcpy(opts.identity, "them", 4);
    opts.probe_router = true;
    open_loop(&n, alloc);
    router = open_sock(&n, SENNIT_ROUTER, &router_opts);
    WORKS(err, sennit_sock_bind(router, "tcp://127.0.0.1:*"));
    for (int i = 0; i < 2; i++) {
        dealers[i] = open_sock(&n, SENNIT_DEALER, &opts);
        WORKS(err, sennit_sock_connect(dealers[i], sennit_sock_last_endpoint(router)));
        reach(&n, router, dealers[i], "you");
    }
    sennit_loop_close(n.loop);
}

/* ---- publishers ---------------------------------------------------------- */

static bool
can_tell(sennit_sock *xpub, const char *notice)
{
    char last[64];
    bool told = false;

    while (hears(xpub, last)) {
        sennit_err err;

        if (last[0] == '\1') {
            /* ENOENT: the one who asked has gone. */
            TWICE(err, sennit_sock_subscribe(xpub, BYTES("given")));
            assert_true(err == SENNIT_OK || err == SENNIT_ENOENT);
        }
        told = told || strcmp(last, notice) == 0;
    }
    return told;
}

/* Whoever asks for `wanted` is given `given`, and is welcomed. */
static void
what_is_wanted_is_told_and_what_is_given_comes(test_alloc *alloc, void *arg)
{
    const transport *via = arg;
    sennit_sock_opts xpub_opts = quick_opts();
    sennit_sock_opts opts = quick_opts();
    sennit_sock *xpub;
    sennit_sock *xsub;
    bool told = false;
    bool given = false;
    sennit_err err;
    net n;

    xpub_opts.xpub_manual = SENNIT_XPUB_LAST_VALUE;
    xpub_opts.xpub_verbose = SENNIT_XPUB_VERBOSER;
    if (*via != INPROC)
        xpub_opts.xpub_welcome = BYTES("welcome");
    xpub_opts.events = ~0u;
    open_loop(&n, alloc);
    xpub = open_sock(&n, SENNIT_XPUB, &xpub_opts);
    xsub = open_sock(&n, SENNIT_XSUB, &opts);
    WORKS(err, sennit_sock_bind(xpub, net_fresh(*via)));
    WORKS(err, sennit_sock_connect(xsub, sennit_sock_last_endpoint(xpub)));
    WORKS(err, sennit_sock_send_bytes(xsub, "\1wanted", 7, SENNIT_DONTWAIT));
    NET_DOING(&n, told && given)
    {
        char last[64];

        told = can_tell(xpub, "\1wanted") || told;
        /* The first after a notice goes to who asked only, whatever it is. */
        TWICE(err, sennit_sock_send_bytes(xpub, "given", 5, SENNIT_DONTWAIT));
        assert_int_equal(err, SENNIT_OK);
        while (hears(xsub, last))
            given = given || strcmp(last, "given") == 0;
    }
    WORKS(err, sennit_sock_send_bytes(xsub, "\0wanted", 7, SENNIT_DONTWAIT));
    told = false;
    NET_DOING(&n, told)
    {
        char last[64];

        while (!told && hears(xpub, last))
            told = last[0] == '\0';
    }
    sennit_loop_close(n.loop);
}

typedef struct slow_row {
    const char *name;
    sennit_slow_policy policy;
    transport via;
} slow_row;

typedef struct burst {
    sennit_sock *pub;
    const slow_row *row;
    unsigned bursts;
    uint32_t sent;
    bool over;
} burst;

/* Inside a turn, so that they meet a full queue. A connection that is closed for that
 * loses all of them: every other time they are few enough to arrive. */
static void
publish_some(void *arg)
{
    burst *b = arg;
    bool few = b->row->policy == SENNIT_SLOW_DISCONNECT && b->bursts++ % 2 == 0;

    for (int i = 0; i < (few ? 1 : 20) && !b->over; i++) {
        uint8_t body[3000] = { 0 };
        sennit_err err;

        b->sent++;
        memcpy(body, &b->sent, sizeof b->sent);
        TWICE(err, sennit_sock_send_bytes(b->pub, i % 2 ? "odd" : "even", i % 2 ? 3 : 4,
                                          SENNIT_DONTWAIT | SENNIT_MORE));
        if (err == SENNIT_EAGAIN && b->row->policy == SENNIT_SLOW_BLOCK)
            return;
        assert_int_equal(err, SENNIT_OK);
        WORKS(err, sennit_sock_send_bytes(b->pub, body, sizeof body, SENNIT_DONTWAIT));
    }
}

/* Whether the policy was needed, where that is not certain: a burst may find nobody. */
static bool
was_seen(const burst *b, const sennit_sock *sub)
{
    return b->row->policy != SENNIT_SLOW_DISCONNECT ||
           (net_stats(b->pub).dropped_hwm_msgs > 0 && net_stats(sub).reconnects > 0);
}

static void
a_slow_subscriber_hears_newer_and_newer(test_alloc *alloc, void *arg)
{
    sennit_sock_opts pub_opts = quick_opts();
    sennit_sock_opts opts = quick_opts();
    burst b = { NULL, arg, 0, 0, false };
    sennit_sock *sub;
    uint32_t last = 0;
    sennit_err err;
    sennit_msg msg;
    net n;

    pub_opts.send_hwm_msgs = 2;
    pub_opts.slow_subscriber = b.row->policy;
    opts.recv_hwm_msgs = 2;
    open_loop(&n, alloc);
    b.pub = open_sock(&n, SENNIT_PUB, &pub_opts);
    sub = open_sock(&n, SENNIT_SUB, &opts);
    WORKS(err, sennit_sock_subscribe(sub, BYTES("")));
    WORKS(err, sennit_sock_bind(b.pub, net_fresh(b.row->via)));
    WORKS(err, sennit_sock_connect(sub, sennit_sock_last_endpoint(b.pub)));
    sennit_msg_init(&msg);
    NET_DOING(&n, last > 100 && was_seen(&b, sub))
    {
        assert_int_equal(sennit_loop_post(n.loop, publish_some, &b), SENNIT_OK);
        TWICE(err, sennit_sock_recv(sub, &msg, SENNIT_DONTWAIT));
        if (err == SENNIT_EAGAIN)
            continue;
        assert_int_equal(err, SENNIT_OK);
        while (sennit_msg_more(&msg))
            WORKS(err, sennit_sock_recv(sub, &msg, SENNIT_DONTWAIT));
        assert_int_equal(sennit_msg_size(&msg), 3000);
        {
            uint32_t number;

            memcpy(&number, sennit_msg_data(&msg), sizeof number);
            if (b.row->policy != SENNIT_SLOW_CONFLATE)
                assert_true(number > last);
            last = number > last ? number : last;
        }
    }
    b.over = true; /* one may be posted still */
    sennit_msg_fini(&msg);
    sennit_loop_close(n.loop);
}

/* ---- endpoints, waiting, timers ------------------------------------------ */

static void
endpoints_come_and_go(test_alloc *alloc, void *arg)
{
    static const char *const wanted[] = { "tcp://127.0.0.1:*", "ipc://*", "ipc://@*",
                                          "inproc://a", "inproc://b" };
    sennit_sock_opts opts = quick_opts();
    char endpoints[COUNT(wanted)][128];
    sennit_sock *pull;
    sennit_sock *push;
    sennit_err err;
    net n;

    (void)arg;
    opts.ipc_accept = (const sennit_ipc_filter[]){ { -1, -1, -1 } };
    opts.ipc_accept_count = 1;
    opts.tcp_accept = (const char *const[]){ "127.0.0.0/8" };
    opts.tcp_accept_count = 1;
    open_loop(&n, alloc);
    pull = open_sock(&n, SENNIT_PULL, &opts);
    push = open_sock(&n, SENNIT_PUSH, &opts);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < COUNT(wanted); i++) {
            WORKS(err, sennit_sock_bind(pull, wanted[i]));
            snprintf(endpoints[i], sizeof endpoints[i], "%s",
                     sennit_sock_last_endpoint(pull));
            WORKS(err, sennit_sock_connect(push, endpoints[i]));
        }
        TWICE(err, sennit_sock_wait_connections(pull, COUNT(wanted), DEADLINE_MS));
        assert_int_equal(err, SENNIT_OK);
        for (size_t i = 0; i < COUNT(wanted); i++) {
            assert_int_equal(sennit_sock_disconnect(push, endpoints[i]), SENNIT_OK);
            assert_int_equal(sennit_sock_unbind(pull, endpoints[i]), SENNIT_OK);
        }
        NET_UNTIL(&n, net_stats(pull).connections == 0);
    }
    sennit_loop_close(n.loop);
}

static void
subscribers_are_waited_for(test_alloc *alloc, void *arg)
{
    sennit_sock_opts pub_opts = quick_opts();
    sennit_sock_opts opts = quick_opts();
    sennit_sock *pub;
    sennit_sock *sub;
    char topic[200];
    sennit_err err;
    net n;

    (void)arg;
    memset(topic, 't', sizeof topic);
    pub_opts.events = ~0u;
    pub_opts.events_max = 200;
    open_loop(&n, alloc);
    pub = open_sock(&n, SENNIT_PUB, &pub_opts);
    sub = open_sock(&n, SENNIT_SUB, &opts);
    WORKS(err, sennit_sock_bind(pub, "tcp://127.0.0.1:*"));
    for (size_t size = 1; size < sizeof topic; size *= 2)
        WORKS(err,
              sennit_sock_subscribe(sub, (sennit_bytes){ (const uint8_t *)topic, size }));
    WORKS(err, sennit_sock_connect(sub, sennit_sock_last_endpoint(pub)));
    WORKS(err, sennit_sock_wait_subscriptions(pub, 8, DEADLINE_MS));
    for (size_t size = 1; size < sizeof topic; size *= 2)
        WORKS(err, sennit_sock_unsubscribe(
                       sub, (sennit_bytes){ (const uint8_t *)topic, size }));
    NET_UNTIL(&n, net_stats(pub).subscriptions == 0);
    sennit_loop_close(n.loop);
}

/* Everything that can be received; no message may be lost in between. */
static void
take_numbers(sennit_sock *pull, uint32_t *last)
{
    static uint8_t body[30000];
    uint32_t number;
    size_t size;
    sennit_err err;

    for (;;) {
        TWICE(err,
              sennit_sock_recv_bytes(pull, body, sizeof body, &size, SENNIT_DONTWAIT));
        if (err == SENNIT_EAGAIN)
            return;
        assert_int_equal(err, SENNIT_OK);
        memcpy(&number, body, sizeof number);
        assert_int_equal(number, *last + 1);
        *last = number;
    }
}

/* More waits than the kernel takes when the connection is given up. `arg` is how many
 * timers there are already: whether there is room for one more depends on it. */
static void
what_waits_leaves_or_the_reason_is_memory(test_alloc *alloc, void *arg)
{
    static uint8_t body[30000];
    sennit_sock_opts opts = quick_opts();
    uint32_t sent = 0;
    uint32_t last = 0;
    sennit_event event;
    char endpoint[128];
    sennit_sock *push;
    sennit_sock *pull;
    sennit_err err;
    net n;

    opts.linger_ms = DEADLINE_MS;
    opts.recv_hwm_msgs = 1;
    opts.kernel_send_bytes = 16384;
    opts.kernel_recv_bytes = 16384;
    opts.handshake_timeout_ms = 0; /* its timer would have made the room */
    opts.reconnect_min_ms = 1000000;
    opts.reconnect_max_ms = 1000000;
    open_loop(&n, alloc);
    pull = open_sock(&n, SENNIT_PULL, &opts);
    push = open_sock(&n, SENNIT_PUSH, &opts);
    WORKS(err, sennit_sock_bind(pull, "tcp://127.0.0.1:*"));
    snprintf(endpoint, sizeof endpoint, "%s", sennit_sock_last_endpoint(pull));
    opts.immediate = true;
    opts.linger_ms = 0;
    for (int i = 0; i < *(const int *)arg; i++) {
        sennit_sock *idle = open_sock(&n, SENNIT_PUSH, &opts);

        WORKS(err, sennit_sock_connect(idle, net_vacant(TCP)));
        NET_UNTIL(&n, net_stats(idle).reconnects == 1);
    }
    WORKS(err, sennit_sock_connect(push, endpoint));
    /* One that memory has ended waits long before it comes again. */
    NET_UNTIL(&n, net_stats(push).connections == 1 || net_stats(push).reconnects > 0);
    while (sent < 20) {
        sent++;
        memcpy(body, &sent, sizeof sent);
        WORKS(err, sennit_sock_send_bytes(push, body, sizeof body, SENNIT_DONTWAIT));
    }
    if (net_stats(push).connections == 1) {
        assert_int_equal(sennit_sock_disconnect(push, endpoint), SENNIT_OK);
        NET_DOING(&n, net_has_event(push, SENNIT_EVENT_DISCONNECTED, &event))
        {
            take_numbers(pull, &last);
        }
        /* The peer closes when it has everything, or for want of memory too. */
        assert_true(event.err == SENNIT_ECONNRESET ||
                    (event.err == SENNIT_ENOMEM && alloc->failed > 0));
        NET_DOING(&n, last == sent || alloc->failed > 0)
        {
            take_numbers(pull, &last);
        }
    }
    /* Nobody waits for what is still there. */
    sennit_sock_get_opts(push, &opts);
    opts.linger_ms = 0;
    WORKS(err, sennit_sock_set_opts(push, &opts));
    sennit_loop_close(n.loop);
}

/* Nobody comes for it, and after the first attempt nothing else happens. */
static void
what_is_too_old_is_dropped(test_alloc *alloc, void *arg)
{
    sennit_sock_opts opts = quick_opts();
    sennit_sock *push;
    sennit_err err;
    net n;

    (void)arg;
    opts.send_age_max_ms = 1;
    opts.reconnect_min_ms = 1000000;
    opts.reconnect_max_ms = 1000000;
    open_loop(&n, alloc);
    push = open_sock(&n, SENNIT_PUSH, &opts);
    WORKS(err, sennit_sock_connect(push, net_vacant(TCP)));
    WORKS(err, sennit_sock_send_bytes(push, "old", 3, SENNIT_DONTWAIT));
    NET_UNTIL(&n, net_stats(push).dropped_expired_msgs == 1);
    assert_int_equal(net_stats(push).queued_msgs, 0);
    sennit_loop_close(n.loop);
}

static void
count_one(void *arg)
{
    ++*(unsigned *)arg;
}

static void
every_timer_fires(test_alloc *alloc, void *arg)
{
    enum { TIMERS = 200 };
    static sennit_timer timers[TIMERS];
    unsigned fired = 0;
    sennit_err err;
    net n;

    (void)arg;
    memset(timers, 0, sizeof timers);
    open_loop(&n, alloc);
    for (int i = 0; i < TIMERS; i++)
        WORKS(err, sennit_timer_start(n.loop, &timers[i], (sennit_time)(TIMERS - i),
                                      count_one, &fired));
    NET_UNTIL(&n, fired == TIMERS);
    sennit_loop_close(n.loop);
}

/* ---- the tests ------------------------------------------------------------ */

static const sennit_sock_type types[] = { SENNIT_DEALER, SENNIT_ROUTER, SENNIT_XPUB,
                                          SENNIT_STREAM };
static const transport ways[] = { TCP, IPC, INPROC };
static const slow_row slow[] = {
    { "the_oldest_make_room_over_tcp", SENNIT_SLOW_DROP_OLD, TCP },
    { "the_oldest_make_room_over_inproc", SENNIT_SLOW_DROP_OLD, INPROC },
    { "the_same_topic_makes_room_over_tcp", SENNIT_SLOW_CONFLATE, TCP },
    { "the_same_topic_makes_room_over_inproc", SENNIT_SLOW_CONFLATE, INPROC },
    { "slow_subscribers_are_waited_for", SENNIT_SLOW_BLOCK, TCP },
    { "slow_subscribers_come_back_over_tcp", SENNIT_SLOW_DISCONNECT, TCP },
};

static const int timers_before[] = { 0, 7, 8, 9 };

typedef struct scenario {
    void (*run)(test_alloc *alloc, void *arg);
    const void *arg;
} scenario;

static void
survives(void **state)
{
    const scenario *s = *state;
    void *arg;

    memcpy(&arg, &s->arg, sizeof arg); /* the harness does not take a const */
    assert_true(test_alloc_every_failure(s->run, arg) > 3);
}

#define TESTS (COUNT(types) + 2 * COUNT(ways) + COUNT(slow) + 5 + COUNT(timers_before))

static struct CMUnitTest tests[TESTS];
static scenario scenarios[TESTS];
static char names[TESTS][96];
static size_t tests_count;

static void
add(const char *name, const char *of, void (*run)(test_alloc *alloc, void *arg),
    const void *arg)
{
    size_t i = tests_count++;

    scenarios[i] = (scenario){ run, arg };
    snprintf(names[i], sizeof names[i], "%s%s%s", name, *of ? "_" : "", of);
    tests[i] = (struct CMUnitTest){ names[i], survives, NULL, NULL, &scenarios[i] };
}

int
main(void)
{
    for (size_t i = 0; i < COUNT(types); i++)
        add("options_are_all_set_or_none_of", sennit_sock_type_name(types[i]),
            options_are_all_set_or_none, &types[i]);
    for (size_t i = 0; i < COUNT(ways); i++)
        add("a_named_peer_is_reached_again_over", transport_names[ways[i]],
            a_named_peer_is_reached_again_and_again, &ways[i]);
    for (size_t i = 0; i < COUNT(ways); i++)
        add("wishes_are_told_and_granted_over", transport_names[ways[i]],
            what_is_wanted_is_told_and_what_is_given_comes, &ways[i]);
    for (size_t i = 0; i < COUNT(slow); i++)
        add(slow[i].name, "", a_slow_subscriber_hears_newer_and_newer, &slow[i]);
    add("a_name_is_handed_over", "", a_name_is_handed_over, NULL);
    add("endpoints_come_and_go", "", endpoints_come_and_go, NULL);
    add("subscribers_are_waited_for", "", subscribers_are_waited_for, NULL);
    for (size_t i = 0; i < COUNT(timers_before); i++) {
        char of[32];

        snprintf(of, sizeof of, "beside_%d_timers", timers_before[i]);
        add("what_waits_leaves_or_the_reason_is_memory", of,
            what_waits_leaves_or_the_reason_is_memory, &timers_before[i]);
    }
    add("what_is_too_old_is_dropped", "", what_is_too_old_is_dropped, NULL);
    add("every_timer_fires", "", every_timer_fires, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
