/* SPDX-License-Identifier: MIT */
/* Everything on malloc, with the k-th request failing for every k: what takes memory from
 * there whatever its loop's allocator is (messages, posted calls, contexts and what is
 * between their loops, look-ups), and the rest by the way. What fails says ENOMEM and
 * works the second time, or is counted, or told by an event. */
#include "net.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "fail_malloc.h"
#include "sennit/poller.h"

#define COUNT(rows) (sizeof(rows) / sizeof(rows)[0])
#define BYTES(text) ((sennit_bytes){ (const uint8_t *)(text), sizeof(text) - 1 })

/* Too long to lie inside a message. */
#define LONG "a text of more than fifty-five octets, which need memory of their own"

/* ---- messages -------------------------------------------------------- */

static void
count_release(void *data, void *arg)
{
    (void)data;
    ++*(unsigned *)arg;
}

static sennit_err
make_sized(sennit_msg *msg, size_t size, unsigned *released)
{
    (void)released;
    return sennit_msg_init_size(msg, size);
}

static sennit_err
make_copy(sennit_msg *msg, size_t size, unsigned *released)
{
    static uint8_t body[100000];

    (void)released;
    return sennit_msg_init_copy(msg, body, size);
}

static sennit_err
make_user(sennit_msg *msg, size_t size, unsigned *released)
{
    static uint8_t body[100000];

    return sennit_msg_init_user(msg, body, size, count_release, released);
}

typedef struct making {
    sennit_err (*make)(sennit_msg *msg, size_t size, unsigned *released);
    unsigned releases; /* for each of them */
} making;

static const making makings[] = { { make_sized, 0 }, { make_copy, 0 }, { make_user, 1 } };

static void
messages_are_made(const void *arg)
{
    static const size_t sizes[] = { 0, 1, 55, 56, 5000, 100000 };

    (void)arg;
    for (size_t i = 0; i < COUNT(makings) * COUNT(sizes); i++) {
        const making *m = &makings[i / COUNT(sizes)];
        size_t size = sizes[i % COUNT(sizes)];
        unsigned released = 0;
        sennit_msg msg;
        sennit_msg copy;
        sennit_err err = m->make(&msg, size, &released);

        if (err) {
            assert_int_equal(err, SENNIT_ENOMEM);
            assert_int_equal(sennit_msg_size(&msg), 0);
            assert_int_equal(released, 0);
            assert_int_equal(m->make(&msg, size, &released), SENNIT_OK);
        }
        assert_int_equal(sennit_msg_size(&msg), size);
        sennit_msg_init(&copy);
        sennit_msg_copy(&copy, &msg);
        sennit_msg_fini(&msg);
        assert_int_equal(released, 0);
        sennit_msg_fini(&copy);
        assert_int_equal(released, m->releases);
    }
}

/* ---- loops ----------------------------------------------------------- */

static sennit_loop *
open_loop(sennit_context *context, const sennit_resolver *resolver)
{
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;
    sennit_loop *loop;
    sennit_err err;

    opts.context = context;
    if (resolver != NULL)
        opts.resolver = *resolver;
    WORKS(err, sennit_loop_open(&loop, &opts));
    return loop;
}

static sennit_context *
open_context(void)
{
    sennit_context *context;
    sennit_err err;

    WORKS(err, sennit_context_open(&context, NULL));
    return context;
}

static sennit_sock *
open_sock(sennit_loop *loop, sennit_sock_type type, const sennit_sock_opts *opts)
{
    sennit_sock_opts defaults = net_opts();
    sennit_sock *sock;
    sennit_err err;

    WORKS(err, sennit_sock_open(&sock, loop, type, opts != NULL ? opts : &defaults));
    return sock;
}

/* ---- posting --------------------------------------------------------- */

#define POSTS 20

typedef struct posting {
    sennit_loop *loop;
    unsigned ran; /* the loop's thread alone */
    atomic_bool wrong;
} posting;

static void
ran(void *arg)
{
    ((posting *)arg)->ran++;
}

static void *
post_all(void *arg)
{
    posting *p = arg;

    for (int i = 0; i < POSTS; i++) {
        sennit_err err;

        TWICE(err, sennit_loop_post(p->loop, ran, p));
        if (err)
            atomic_store(&p->wrong, true);
    }
    return NULL;
}

/* Two threads at once, and one failure between them. */
static void
every_call_that_was_posted_runs_once(const void *arg)
{
    posting p = { 0 };
    pthread_t other;
    net n;

    (void)arg;
    p.loop = n.loop = open_loop(NULL, NULL);
    if (pthread_create(&other, NULL, post_all, &p) != 0)
        assert_int_equal(pthread_create(&other, NULL, post_all, &p), 0);
    (void)post_all(&p);
    NET_UNTIL(&n, p.ran == 2 * POSTS);
    assert_int_equal(pthread_join(other, NULL), 0);
    assert_false(atomic_load(&p.wrong));
    sennit_loop_close(p.loop);
    assert_int_equal(p.ran, 2 * POSTS);
}

/* ---- between two loops ----------------------------------------------- */

typedef struct between_row {
    const char *name;
    sennit_sock_type connecter;
    sennit_sock_type binder;
    bool back; /* the binder is who sends */
    bool late; /* the bind comes behind the connect and what is sent */
} between_row;

static const between_row between[] = {
    { "PUSH to PULL", SENNIT_PUSH, SENNIT_PULL, false, false },
    { "PUSH to a PULL that comes later", SENNIT_PUSH, SENNIT_PULL, false, true },
    { "DEALER to ROUTER", SENNIT_DEALER, SENNIT_ROUTER, false, false },
    { "DEALER to a ROUTER that comes later", SENNIT_DEALER, SENNIT_ROUTER, false, true },
    { "PUB to SUB", SENNIT_SUB, SENNIT_PUB, true, false },
    { "PUB to a SUB that waited for it", SENNIT_SUB, SENNIT_PUB, true, true },
    { "XSUB to XPUB", SENNIT_XSUB, SENNIT_XPUB, false, false },
};

typedef struct pairing {
    const between_row *row;
    sennit_loop *loops[2];
    sennit_sock *connecter;
    sennit_sock *binder;
    sennit_time started;
    unsigned connects;
    unsigned received;
} pairing;

static const char *const texts[] = { "short", LONG, "and " LONG };

/* A message of two frames. */
static void
send_text(pairing *p, const char *text)
{
    sennit_sock *sock = p->row->back ? p->binder : p->connecter;
    sennit_err err;

    TWICE(err, sennit_sock_send_bytes(sock, text, strlen(text),
                                      SENNIT_MORE | SENNIT_DONTWAIT));
    if (err == SENNIT_EAGAIN)
        return; /* there is nobody */
    assert_int_equal(err, SENNIT_OK);
    WORKS(err, sennit_sock_send_bytes(sock, text, strlen(text), SENNIT_DONTWAIT));
}

static bool
is_text(const sennit_msg *msg)
{
    sennit_bytes body = sennit_msg_bytes(msg);

    for (size_t i = 0; i < COUNT(texts); i++)
        if (body.size == strlen(texts[i]) && memcmp(body.data, texts[i], body.size) == 0)
            return true;
    return false;
}

/* What a ROUTER or an XPUB says of its peers. */
static bool
is_notice(const pairing *p, const sennit_msg *msg)
{
    sennit_bytes body = sennit_msg_bytes(msg);

    if (p->row->binder == SENNIT_ROUTER)
        return body.size == 0;
    return p->row->binder == SENNIT_XPUB && body.size > 0 && body.data[0] < 2;
}

static void
receive_all(pairing *p)
{
    sennit_sock *sock = p->row->back ? p->connecter : p->binder;
    sennit_msg msg;
    sennit_err err;

    sennit_msg_init(&msg);
    for (;;) {
        do
            TWICE(err, sennit_sock_recv(sock, &msg, SENNIT_DONTWAIT));
        while (err == SENNIT_OK && sennit_msg_more(&msg));
        if (err == SENNIT_EAGAIN)
            break;
        assert_int_equal(err, SENNIT_OK);
        assert_true(is_text(&msg) || is_notice(p, &msg));
        p->received += is_text(&msg);
    }
    sennit_msg_fini(&msg);
}

/* A connection that one end had no memory for has ended, and over inproc it is for the
 * application to make another. */
static void
connect_if_ended(pairing *p)
{
    sennit_err err;

    if (sennit_sock_get_peers(p->connecter, NULL, 0) > 0)
        return;
    p->connects++;
    /* One failure ends one connection. */
    assert_true(p->connects <= 1 + fail_malloc_failed());
    WORKS(err, sennit_sock_connect(p->connecter, "inproc://between"));
}

static void
turn_loops(pairing *p)
{
    for (int i = 0; i < 2; i++) {
        sennit_err err;

        TWICE(err, sennit_loop_turn(p->loops[i], 0));
        assert_int_equal(err, SENNIT_OK);
    }
    if (sennit_loop_now(p->loops[0]) - p->started > (sennit_time)DEADLINE_MS * 1000000u)
        fail_msg("not within %d ms", DEADLINE_MS);
}

static void
turn_both(pairing *p)
{
    turn_loops(p);
    connect_if_ended(p);
}

static void
subscribe(pairing *p)
{
    sennit_err err;

    if (p->row->connecter != SENNIT_SUB && p->row->connecter != SENNIT_XSUB)
        return;
    WORKS(err, sennit_sock_subscribe(p->connecter, BYTES("")));
    WORKS(err, sennit_sock_subscribe(p->connecter, BYTES(LONG)));
}

static void
what_is_sent_to_another_loop_arrives(const void *arg)
{
    sennit_context *context = open_context();
    pairing p = { .row = arg };
    sennit_sock_opts connecter_opts = net_opts();
    sennit_sock_opts binder_opts = net_opts();
    sennit_err err;

    if (p.row->connecter == SENNIT_DEALER)
        connecter_opts.hello = BYTES("and " LONG);
    if (p.row->binder == SENNIT_ROUTER)
        binder_opts.router_notify = SENNIT_NOTIFY_DISCONNECT;
    for (int i = 0; i < 2; i++)
        p.loops[i] = open_loop(context, NULL);
    p.started = sennit_loop_now(p.loops[0]);
    p.connecter = open_sock(p.loops[0], p.row->connecter, &connecter_opts);
    p.binder = open_sock(p.loops[1], p.row->binder, &binder_opts);
    if (!p.row->late)
        WORKS(err, sennit_sock_bind(p.binder, "inproc://between"));
    connect_if_ended(&p);
    subscribe(&p);
    for (size_t i = 0; i < COUNT(texts); i++)
        send_text(&p, texts[i]);
    if (p.row->late)
        WORKS(err, sennit_sock_bind(p.binder, "inproc://between"));
    while (p.received < 2 * COUNT(texts)) {
        turn_both(&p);
        receive_all(&p);
        for (size_t i = 0; i < COUNT(texts); i++)
            send_text(&p, texts[i]);
    }
    if (p.row->connecter == SENNIT_SUB) {
        WORKS(err, sennit_sock_unsubscribe(p.connecter, BYTES(LONG)));
        WORKS(err, sennit_sock_unsubscribe(p.connecter, BYTES("")));
        while (net_stats(p.binder).subscriptions > 0) {
            turn_both(&p);
            receive_all(&p);
        }
    }
    for (int i = 0; i < 2; i++)
        sennit_loop_close(p.loops[i]);
    assert_int_equal(sennit_context_close(context), SENNIT_OK);
}

/* Who has closed cannot be told that its messages found no memory: who should have had
 * them counts them, and tells. */
static void
what_one_who_left_has_sent_arrives_or_is_counted(const void *arg)
{
    sennit_context *context = open_context();
    pairing p = { .row = &between[0] };
    sennit_sock_opts opts = net_opts();
    sennit_event event;
    sennit_err err;

    (void)arg;
    opts.linger_ms = -1;
    for (int i = 0; i < 2; i++)
        p.loops[i] = open_loop(context, NULL);
    p.started = sennit_loop_now(p.loops[0]);
    p.connecter = open_sock(p.loops[0], SENNIT_PUSH, &opts);
    p.binder = open_sock(p.loops[1], SENNIT_PULL, NULL);
    WORKS(err, sennit_sock_bind(p.binder, "inproc://between"));
    connect_if_ended(&p);
    for (size_t i = 0; i < COUNT(texts); i++)
        send_text(&p, texts[i]);
    sennit_sock_close(p.connecter);
    while (p.received + net_stats(p.binder).dropped_unread_msgs < COUNT(texts)) {
        turn_loops(&p);
        receive_all(&p);
    }
    if (p.received < COUNT(texts)) {
        assert_true(net_has_event(p.binder, SENNIT_EVENT_HANDSHAKE_FAILED, &event));
        assert_int_equal(event.err, SENNIT_ENOMEM);
        assert_int_equal(net_stats(p.binder).handshakes_failed, 1);
    }
    for (int i = 0; i < 2; i++)
        sennit_loop_close(p.loops[i]);
    assert_int_equal(sennit_context_close(context), SENNIT_OK);
}

/* The publisher had stopped at its marks: it hears the rest when the other one has gone,
 * or tells that it has no memory for that. */
static void
what_one_who_left_has_said_is_heard_or_told(const void *arg)
{
    enum { MESSAGES = 8 };
    bool apart = *(const bool *)arg;
    sennit_context *context = open_context();
    pairing p = { .row = &between[COUNT(between) - 1] };
    sennit_sock_opts opts = net_opts();
    sennit_event event;
    unsigned said;
    sennit_err err;

    opts.recv_hwm_msgs = 1;
    for (int i = 0; i < 2; i++)
        p.loops[i] = open_loop(apart ? context : NULL, NULL);
    p.started = sennit_loop_now(p.loops[0]);
    p.connecter = open_sock(p.loops[0], SENNIT_XSUB, NULL);
    p.binder = open_sock(p.loops[apart], SENNIT_XPUB, &opts);
    WORKS(err, sennit_sock_bind(p.binder, "inproc://between"));
    while (net_stats(p.connecter).connections == 0)
        turn_both(&p);
    for (int i = 0; i < MESSAGES; i++)
        send_text(&p, LONG);
    turn_loops(&p);
    said = (unsigned)net_stats(p.connecter).delivered_msgs;
    sennit_sock_close(p.connecter);
    while (net_stats(p.binder).connections > 0)
        turn_loops(&p);
    receive_all(&p);
    if (p.received != said) {
        assert_true(p.received < said);
        assert_true(net_has_event(p.binder, SENNIT_EVENT_DISCONNECTED, &event));
        assert_int_equal(event.err, SENNIT_ENOMEM);
    }
    for (int i = 0; i < 2; i++)
        sennit_loop_close(p.loops[i]);
    assert_int_equal(sennit_context_close(context), SENNIT_OK);
}

/* ---- subscriptions within a message ---------------------------------- */

/* What an XPUB was sent: whole messages, and notices between them. */
typedef struct heard {
    unsigned frames; /* of the message being received */
    unsigned whole;
    unsigned notices;
} heard;

static void
hear_frame(heard *h, const sennit_msg *msg)
{
    sennit_bytes body = sennit_msg_bytes(msg);

    if (h->frames == 0 && !sennit_msg_more(msg) && body.data[0] < 2) {
        h->notices++;
        return;
    }
    /* "1", "2" and the long last one: a part of a message would be followed by another.
     */
    h->frames++;
    if (sennit_msg_more(msg)) {
        assert_int_equal(body.size, 1);
        assert_int_equal(body.data[0], '0' + h->frames);
        return;
    }
    assert_int_equal(h->frames, 3);
    assert_int_equal(body.size, sizeof LONG - 1);
    h->frames = 0;
    h->whole++;
}

static void
hear_all(sennit_sock *xpub, heard *h)
{
    sennit_msg msg;
    sennit_err err;

    sennit_msg_init(&msg);
    for (;;) {
        TWICE(err, sennit_sock_recv(xpub, &msg, SENNIT_DONTWAIT));
        if (err == SENNIT_EAGAIN)
            break;
        assert_int_equal(err, SENNIT_OK);
        hear_frame(h, &msg);
    }
    sennit_msg_fini(&msg);
}

/* The publisher gets all of what is no subscription, or nothing. */
static void
a_message_with_a_subscription_in_it_is_not_torn(const void *arg)
{
    static const sennit_bytes frames[] = { { (const uint8_t *)"1", 1 },
                                           { (const uint8_t *)"2", 1 },
                                           { (const uint8_t *)"\1topic", 6 },
                                           { (const uint8_t *)LONG, sizeof LONG - 1 } };
    bool apart = *(const bool *)arg;
    sennit_context *context = open_context();
    pairing p = { .row = NULL };
    heard h = { 0 };
    sennit_err err;

    for (int i = 0; i < 2; i++)
        p.loops[i] = open_loop(apart ? context : NULL, NULL);
    p.started = sennit_loop_now(p.loops[0]);
    p.connecter = open_sock(p.loops[0], SENNIT_XSUB, NULL);
    p.binder = open_sock(p.loops[apart], SENNIT_XPUB, NULL);
    WORKS(err, sennit_sock_bind(p.binder, "inproc://between"));
    while (h.whole < 2) {
        turn_both(&p);
        for (size_t i = 0; i < COUNT(frames); i++)
            WORKS(err, sennit_sock_send_bytes(p.connecter, frames[i].data, frames[i].size,
                                              i + 1 < COUNT(frames) ? SENNIT_MORE : 0));
        hear_all(p.binder, &h);
    }
    assert_true(h.notices > 0);
    for (int i = 0; i < 2; i++)
        sennit_loop_close(p.loops[i]);
    assert_int_equal(sennit_context_close(context), SENNIT_OK);
}

/* ---- host names ------------------------------------------------------ */

static sennit_err
resolve(void *arg, const char *host, bool ipv6, sennit_ip found[SENNIT_RESOLVED_MAX],
        size_t *found_count)
{
    static const uint8_t here[4] = { 127, 0, 0, 1 };

    (void)arg;
    (void)host;
    (void)ipv6;
    found[0] = (sennit_ip){ .v6 = false };
    memcpy(found[0].octets, here, sizeof here);
    *found_count = 1;
    return SENNIT_OK;
}

/* By the system (NULL), or by a resolver of the application's. */
static void
a_host_is_found(const void *arg)
{
    sennit_sock_opts opts = net_opts();
    char endpoint[128];
    sennit_sock *pull;
    sennit_sock *push;
    const char *port;
    sennit_err err;
    net n;

    opts.connect_timeout_ms = DEADLINE_MS;
    n.loop = open_loop(NULL, arg);
    pull = open_sock(n.loop, SENNIT_PULL, NULL);
    push = open_sock(n.loop, SENNIT_PUSH, &opts);
    WORKS(err, sennit_sock_bind(pull, "tcp://127.0.0.1:*"));
    port = strrchr(sennit_sock_last_endpoint(pull), ':');
    snprintf(endpoint, sizeof endpoint, "tcp://server.test%s", port);
    WORKS(err, sennit_sock_connect(push, endpoint));
    snprintf(endpoint, sizeof endpoint, "tcp://another.test%s", port);
    WORKS(err, sennit_sock_connect(push, endpoint));
    NET_UNTIL(&n, net_stats(push).connections == 2 && net_stats(pull).connections == 2);
    sennit_loop_close(n.loop);
}

/* ---- pollers --------------------------------------------------------- */

/* What is between it and the loop's other threads is on malloc, whatever it was given. */
static void
a_poller_hears_of_hosted_sockets(const void *arg)
{
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;
    sennit_poller_event event;
    sennit_poller *poller;
    sennit_loop *loop;
    sennit_sock *socks[3];
    size_t count = 0;
    uint64_t id = 0;
    sennit_err err;

    (void)arg;
    opts.hosted = true;
    WORKS(err, sennit_loop_open(&loop, &opts));
    WORKS(err, sennit_poller_open(&poller, NULL));
    for (size_t i = 0; i < COUNT(socks); i++) {
        socks[i] = open_sock(loop, SENNIT_PULL, NULL);
        WORKS(err, sennit_poller_add_sock(poller, socks[i], SENNIT_READABLE, NULL, &id));
    }
    assert_int_equal(sennit_poller_count(poller), COUNT(socks));
    assert_int_equal(sennit_poller_remove(poller, id), SENNIT_OK);
    sennit_sock_close(socks[0]);
    assert_int_equal(sennit_poller_wait(poller, &event, 1, DEADLINE_MS, &count),
                     SENNIT_OK);
    assert_int_equal(count, 1);
    assert_int_equal(event.ready, SENNIT_GONE);
    sennit_poller_close(poller);
    sennit_loop_close(loop);
}

/* ---- the rest -------------------------------------------------------- */

static void
options_are_set(const void *arg)
{
    sennit_sock_opts first = net_opts();
    sennit_sock_opts second;
    sennit_sock_opts now;
    sennit_sock *sock;
    sennit_err err;
    net n;

    (void)arg;
    first.hello = BYTES(LONG);
    first.hiccup = BYTES("hiccup");
    first.tcp_accept = (const char *const[]){ "127.0.0.0/8", "::1" };
    first.tcp_accept_count = 2;
    second = first;
    second.hello = BYTES("and " LONG);
    n.loop = open_loop(NULL, NULL);
    sock = open_sock(n.loop, SENNIT_DEALER, &first);
    err = sennit_sock_set_opts(sock, &second);
    if (err) {
        assert_int_equal(err, SENNIT_ENOMEM);
        sennit_sock_get_opts(sock, &now);
        assert_int_equal(now.hello.size, first.hello.size);
        assert_memory_equal(now.hello.data, first.hello.data, first.hello.size);
        assert_int_equal(sennit_sock_set_opts(sock, &second), SENNIT_OK);
    }
    sennit_sock_get_opts(sock, &now);
    assert_int_equal(now.hello.size, second.hello.size);
    assert_memory_equal(now.hello.data, second.hello.data, second.hello.size);
    sennit_loop_close(n.loop);
}

/* A send from plain memory copies what the batch does not, and says why it could not. */
static void
send_plain(net *n, sennit_sock *sock, const uint8_t *body, size_t size)
{
    sennit_err err = sennit_sock_send_bytes(sock, body, size, 0);

    if (err == SENNIT_OK)
        return;
    assert_int_equal(err, SENNIT_ENOMEM);
    assert_string_equal(sennit_loop_why(n->loop), sennit_err_text(err));
    assert_int_equal(sennit_sock_send_bytes(sock, body, size, 0), SENNIT_OK);
}

/* A connection that has no memory takes with it what is on its way: that is sent again.
 */
static void
plain_memory_is_sent(const void *arg)
{
    static uint8_t body[100000];
    static uint8_t got[sizeof body];
    const transport *via = arg;
    sennit_sock *push;
    sennit_sock *pull;
    sennit_err err;
    net n;

    memset(body, 'b', sizeof body);
    n.loop = open_loop(NULL, NULL);
    pull = open_sock(n.loop, SENNIT_PULL, NULL);
    push = open_sock(n.loop, SENNIT_PUSH, NULL);
    WORKS(err, sennit_sock_bind(pull, net_fresh(*via)));
    WORKS(err, sennit_sock_connect(push, sennit_sock_last_endpoint(pull)));
    for (size_t size = 10; size <= sizeof body; size *= 10) {
        uint64_t reconnects = net_stats(push).reconnects;
        size_t came = 0;

        send_plain(&n, push, body, size);
        NET_DOING(&n, came == size)
        {
            TWICE(err,
                  sennit_sock_recv_bytes(pull, got, sizeof got, &came, SENNIT_DONTWAIT));
            if (err == SENNIT_EAGAIN && net_stats(push).reconnects > reconnects) {
                reconnects = net_stats(push).reconnects;
                send_plain(&n, push, body, size);
            } else if (err != SENNIT_EAGAIN) {
                assert_int_equal(err, SENNIT_OK);
                assert_memory_equal(got, body, came);
            }
        }
    }
    sennit_loop_close(n.loop);
}

/* The name is a copy of the application's, on malloc. */
static void
a_peer_gets_a_long_name(const void *arg)
{
    const transport *via = arg;
    sennit_sock_opts opts = net_opts();
    sennit_sock *router;
    sennit_sock *dealer;
    sennit_err err;
    net n;

    opts.router_mandatory = true;
    n.loop = open_loop(NULL, NULL);
    dealer = open_sock(n.loop, SENNIT_DEALER, NULL);
    router = open_sock(n.loop, SENNIT_ROUTER, &opts);
    WORKS(err, sennit_sock_bind(dealer, net_fresh(*via)));
    WORKS(err,
          sennit_sock_connect_as(router, sennit_sock_last_endpoint(dealer), BYTES(LONG)));
    NET_UNTIL(&n, net_stats(router).connections == 1);
    WORKS(err, sennit_sock_send_bytes(router, LONG, sizeof LONG - 1, SENNIT_MORE));
    WORKS(err, sennit_sock_send_bytes(router, "hi", 2, 0));
    NET_UNTIL(&n, sennit_sock_ready(dealer) & SENNIT_READABLE);
    sennit_loop_close(n.loop);
}

/* ---- the tests ------------------------------------------------------- */

static const sennit_resolver own_resolver = { .resolve = resolve };
static const transport ways[] = { TCP, IPC, INPROC };

/* ---- hosted loops -------------------------------------------------------- */

static void
a_hosted_loop_is_opened_and_carries_a_message(const void *arg)
{
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;
    sennit_sock_opts sock_opts = net_opts();
    sennit_loop *loop;
    sennit_sock *pull;
    sennit_sock *push;
    size_t size;
    sennit_err err;
    int fd;

    (void)arg;
    opts.hosted = true;
    WORKS(err, sennit_loop_open(&loop, &opts));
    WORKS(err, sennit_sock_open(&pull, loop, SENNIT_PULL, &sock_opts));
    WORKS(err, sennit_sock_open(&push, loop, SENNIT_PUSH, &sock_opts));
    WORKS(err, sennit_sock_fd(pull, SENNIT_READABLE, &fd));
    WORKS(err, sennit_sock_bind(pull, "inproc://hosted"));
    WORKS(err, sennit_sock_connect(push, "inproc://hosted"));
    WORKS(err, sennit_sock_send_bytes(push, LONG, sizeof LONG, 0));
    WORKS(err, sennit_sock_recv_bytes(pull, NULL, 0, &size, 0));
    assert_int_equal(size, sizeof LONG);
    sennit_loop_close(loop);
}

typedef struct scenario {
    void (*run)(const void *arg);
    const void *arg;
} scenario;

static void
survives(void **state)
{
    const scenario *s = *state;

    assert_true(fail_malloc_every(s->run, s->arg) > 3);
}

#define TESTS (COUNT(between) + 2 * COUNT(ways) + 12)

static struct CMUnitTest tests[TESTS];
static scenario scenarios[TESTS];
static char names[TESTS][96];
static size_t tests_count;

static void
add(const char *name, const char *of, void (*run)(const void *arg), const void *arg)
{
    size_t i = tests_count++;

    scenarios[i] = (scenario){ run, arg };
    snprintf(names[i], sizeof names[i], "%s%s%s", name, *of ? " " : "", of);
    tests[i] = (struct CMUnitTest){ names[i], survives, NULL, NULL, &scenarios[i] };
}

int
main(void)
{
    add("messages are made", "", messages_are_made, NULL);
    add("every call that was posted runs once", "", every_call_that_was_posted_runs_once,
        NULL);
    for (size_t i = 0; i < COUNT(between); i++)
        add("between loops:", between[i].name, what_is_sent_to_another_loop_arrives,
            &between[i]);
    add("what one who left has sent arrives or is counted", "",
        what_one_who_left_has_sent_arrives_or_is_counted, NULL);
    add("what one who left has said is heard or told", "within a loop",
        what_one_who_left_has_said_is_heard_or_told, &(const bool){ false });
    add("what one who left has said is heard or told", "between loops",
        what_one_who_left_has_said_is_heard_or_told, &(const bool){ true });
    add("a subscription in a message", "within a loop",
        a_message_with_a_subscription_in_it_is_not_torn, &(const bool){ false });
    add("a subscription in a message", "between loops",
        a_message_with_a_subscription_in_it_is_not_torn, &(const bool){ true });
    add("the system finds a host", "", a_host_is_found, NULL);
    add("a resolver finds a host", "", a_host_is_found, &own_resolver);
    add("a hosted loop is opened and carries a message", "",
        a_hosted_loop_is_opened_and_carries_a_message, NULL);
    add("a poller hears of hosted sockets", "", a_poller_hears_of_hosted_sockets, NULL);
    add("options are set", "", options_are_set, NULL);
    for (size_t i = 0; i < COUNT(ways); i++)
        add("plain memory is sent over", transport_names[ways[i]], plain_memory_is_sent,
            &ways[i]);
    for (size_t i = 0; i < COUNT(ways); i++)
        add("a peer gets a long name over", transport_names[ways[i]],
            a_peer_gets_a_long_name, &ways[i]);
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
