/* SPDX-License-Identifier: MIT */
/* Host names: looked up before every attempt, on a thread of the library's, so that
 * nobody waits for a name server. The names are the test's, by loop_opts.resolver. */
#include "lookups.h"
#include "net.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

/* What the names mean. Any thread, under the lock of the look-ups. Those of "quick..." do
 * not hang. */
typedef struct names {
    lookups lookups;
    sennit_err err;
    unsigned failures; /* the next so many look-ups fail */
    sennit_ip found[SENNIT_RESOLVED_MAX];
    size_t count;
    bool ipv6; /* of the last one */
    char host[256];
    bool signals; /* some signal was not blocked */
    bool same_thread;
    pthread_t loop_thread;
} names;

static names world = { .lookups = LOOKUPS_INIT };

static bool
some_signal_is_open(void)
{
    sigset_t set;

    pthread_sigmask(SIG_BLOCK, NULL, &set);
    return !sigismember(&set, SIGINT) || !sigismember(&set, SIGTERM) ||
           !sigismember(&set, SIGUSR1) || !sigismember(&set, SIGCHLD) ||
           !sigismember(&set, SIGPIPE);
}

static sennit_err
resolve(void *arg, const char *host, bool ipv6, sennit_ip found[SENNIT_RESOLVED_MAX],
        size_t *found_count)
{
    names *w = arg;
    sennit_err err;

    pthread_mutex_lock(&w->lookups.lock);
    w->ipv6 = ipv6;
    w->signals = w->signals || some_signal_is_open();
    w->same_thread = w->same_thread || pthread_equal(w->loop_thread, pthread_self());
    snprintf(w->host, sizeof w->host, "%s", host);
    lookups_run(&w->lookups, strncmp(host, "quick", 5) != 0);
    err = w->err;
    if (w->failures > 0) {
        w->failures--;
        err = SENNIT_EAGAIN;
    }
    *found_count = w->count;
    memcpy(found, w->found, sizeof w->found);
    pthread_mutex_unlock(&w->lookups.lock);
    return err;
}

static int
reset(void **state)
{
    (void)state;
    /* But for its lock: a thread that a loop left to itself may still be giving it back.
     */
    lookups_reset(&world.lookups, false);
    pthread_mutex_lock(&world.lookups.lock);
    memset((char *)&world + offsetof(names, err), 0, sizeof world - offsetof(names, err));
    world.loop_thread = pthread_self();
    pthread_mutex_unlock(&world.lookups.lock);
    return 0;
}

/* The name means 127.0.0.`last` now. */
static void
answer(unsigned last)
{
    pthread_mutex_lock(&world.lookups.lock);
    world.found[0] = (sennit_ip){ .octets = { 127, 0, 0, (uint8_t)last } };
    world.count = 1;
    pthread_mutex_unlock(&world.lookups.lock);
}

/* Behind the close of a loop: what it left to itself ends, and nothing begins any more.
 */
static void
let_go(void)
{
    lookups_hold(&world.lookups, false);
    lookups_until_busy(&world.lookups, 0);
}

static void
open_named(net *n)
{
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;

    test_alloc_init(&n->alloc);
    opts.allocator = &n->alloc.allocator;
    opts.resolver = (sennit_resolver){ resolve, &world };
    assert_int_equal(sennit_loop_open(&n->loop, &opts), SENNIT_OK);
}

static unsigned
port_of(const char *endpoint)
{
    const char *colon = strrchr(endpoint, ':');

    assert_non_null(colon);
    return (unsigned)atoi(colon + 1);
}

static void
connect_host(sennit_sock *sock, const char *host, unsigned port)
{
    char endpoint[64];

    snprintf(endpoint, sizeof endpoint, "tcp://%s:%u", host, port);
    net_connect(sock, endpoint);
}

static void
connect_named(sennit_sock *sock, unsigned port)
{
    connect_host(sock, "server.test", port);
}

/* What else was looked up leads to no other connection. */
static void
check_that_it_stays_at_one(net *n, sennit_sock *pull)
{
    for (int i = 0; i < 20; i++)
        assert_int_equal(sennit_loop_turn(n->loop, 0), SENNIT_OK);
    assert_int_equal(net_stats(pull).connections, 1);
}

static void
close_in_a_child(net *n)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        alarm(10);
        sennit_loop_close(n->loop);
        _exit(0);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* ---- D20 --------------------------------------------------------------- */

static void
a_server_that_moved_behind_its_name_is_found_again(void **state)
{
    net n;
    sennit_sock *router;
    sennit_sock *dealer;
    sennit_event event;
    char moved[64];
    unsigned port;

    (void)state;
    open_named(&n);
    answer(1);
    router = net_sock(&n, SENNIT_ROUTER, NULL);
    port = port_of(net_bind(router, TCP));
    dealer = net_sock(&n, SENNIT_DEALER, NULL);
    connect_named(dealer, port);
    event = net_event(&n, dealer, SENNIT_EVENT_CONNECTING);
    assert_memory_equal(event.address, "127.0.0.1:", 10);
    net_event(&n, dealer, SENNIT_EVENT_READY);
    assert_string_equal(world.host, "server.test");
    /* It moves; the name follows a little later. */
    sennit_sock_close(router);
    router = net_sock(&n, SENNIT_ROUTER, NULL);
    snprintf(moved, sizeof moved, "tcp://127.0.0.2:%u", port);
    assert_int_equal(sennit_sock_bind(router, moved), SENNIT_OK);
    event = net_event(&n, dealer, SENNIT_EVENT_CONNECT_FAILED);
    assert_int_equal(event.err, SENNIT_ECONNREFUSED);
    answer(2);
    net_event(&n, dealer, SENNIT_EVENT_READY);
    net_send(dealer, "here");
    assert_non_null(strstr(net_recv(router), "here"));
    assert_true(lookups_asked(&world.lookups) >= 3);
    net_close(&n);
}

static void
a_name_that_is_not_known_at_first_is_found_later(void **state)
{
    net n;
    sennit_sock *pull;
    sennit_sock *push;
    sennit_event event;

    (void)state;
    open_named(&n);
    answer(1);
    world.failures = 2;
    pull = net_sock(&n, SENNIT_PULL, NULL);
    push = net_sock(&n, SENNIT_PUSH, NULL);
    connect_named(push, port_of(net_bind(pull, TCP)));
    for (int i = 0; i < 2; i++) {
        event = net_event(&n, push, SENNIT_EVENT_CONNECT_FAILED);
        assert_int_equal(event.err, SENNIT_EAGAIN);
        assert_string_equal(event.address, "");
        net_event(&n, push, SENNIT_EVENT_RETRYING);
    }
    net_event(&n, push, SENNIT_EVENT_READY);
    net_send(push, "found");
    assert_string_equal(net_recv(pull), "found");
    net_close(&n);
}

static void
a_look_up_that_takes_its_time_holds_up_nobody(void **state)
{
    net n;
    sennit_sock *rep;
    sennit_sock *req;
    sennit_sock *push;

    (void)state;
    open_named(&n);
    answer(1);
    lookups_hold(&world.lookups, true);
    push = net_sock(&n, SENNIT_PUSH, NULL);
    connect_named(push, 9);
    NET_UNTIL(&n, lookups_busy(&world.lookups) > 0);
    rep = net_sock(&n, SENNIT_REP, NULL);
    req = net_sock(&n, SENNIT_REQ, NULL);
    net_join(&n, rep, req, TCP);
    for (int i = 0; i < 200; i++) {
        sennit_time before = sennit_loop_now(n.loop);

        net_send(req, "ping");
        assert_string_equal(net_recv(rep), "ping");
        net_send(rep, "pong");
        assert_string_equal(net_recv(req), "pong");
        /* 50 ms, and three times that under sanitizers. */
        assert_true(sennit_loop_now(n.loop) - before < 150 * MS);
    }
    assert_true(lookups_busy(&world.lookups) > 0);
    lookups_hold(&world.lookups, false);
    net_event(&n, push, SENNIT_EVENT_CONNECT_FAILED);
    net_close(&n);
}

/* As many as one loop has threads for, but one. */
static void
a_few_dead_names_hold_up_no_other(void **state)
{
    net n;
    sennit_sock *pull;
    sennit_sock *push;

    (void)state;
    open_named(&n);
    answer(1);
    lookups_hold(&world.lookups, true);
    for (int i = 0; i < 3; i++)
        connect_named(net_sock(&n, SENNIT_PUSH, NULL), 9);
    NET_UNTIL(&n, lookups_busy(&world.lookups) == 3);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    push = net_sock(&n, SENNIT_PUSH, NULL);
    connect_host(push, "quick.test", port_of(net_bind(pull, TCP)));
    NET_UNTIL(&n, net_stats(pull).connections == 1);
    assert_int_equal(lookups_busy(&world.lookups), 3);
    net_close(&n);
    let_go();
}

static void
a_dead_name_takes_one_thread_however_often_it_is_tried(void **state)
{
    net n;
    sennit_sock *pull;
    sennit_sock *push;
    sennit_sock_opts opts = net_opts();

    (void)state;
    open_named(&n);
    answer(1);
    lookups_hold(&world.lookups, true);
    opts.connect_timeout_ms = 5;
    push = net_sock(&n, SENNIT_PUSH, &opts);
    connect_named(push, 9);
    for (int i = 0; i < 8; i++)
        net_event(&n, push, SENNIT_EVENT_CONNECT_FAILED);
    assert_true(lookups_busy(&world.lookups) <= 1);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    push = net_sock(&n, SENNIT_PUSH, NULL);
    connect_host(push, "quick.test", port_of(net_bind(pull, TCP)));
    NET_UNTIL(&n, net_stats(pull).connections == 1 && lookups_busy(&world.lookups) > 0);
    net_close(&n);
    let_go();
}

/* Nothing is known of its name. */
static void
a_look_up_for_which_there_was_no_thread_says_so(void **state)
{
    net n;
    sennit_sock *push;
    sennit_sock_opts opts = net_opts();
    sennit_event event;

    (void)state;
    open_named(&n);
    lookups_hold(&world.lookups, true);
    for (int i = 0; i < 4; i++)
        connect_named(net_sock(&n, SENNIT_PUSH, NULL), 9);
    NET_UNTIL(&n, lookups_busy(&world.lookups) == 4);
    opts.connect_timeout_ms = 10;
    push = net_sock(&n, SENNIT_PUSH, &opts);
    net_connect(push, "tcp://quick.test:9");
    event = net_event(&n, push, SENNIT_EVENT_CONNECT_FAILED);
    assert_int_equal(event.err, SENNIT_ETIMEDOUT);
    assert_string_equal(event.reason, "no thread was free to look the host up: "
                                      "other hosts' look-ups hang");
    net_close(&n);
    let_go();
}

static void
a_look_up_has_the_connect_timeout_too(void **state)
{
    net n;
    sennit_sock *pull;
    sennit_sock *push;
    sennit_sock_opts opts = net_opts();
    sennit_event event;
    sennit_time began;

    (void)state;
    open_named(&n);
    answer(1);
    lookups_hold(&world.lookups, true);
    opts.connect_timeout_ms = 50;
    pull = net_sock(&n, SENNIT_PULL, NULL);
    push = net_sock(&n, SENNIT_PUSH, &opts);
    began = sennit_loop_now(n.loop);
    connect_named(push, port_of(net_bind(pull, TCP)));
    event = net_event(&n, push, SENNIT_EVENT_CONNECT_FAILED);
    assert_int_equal(event.err, SENNIT_ETIMEDOUT);
    assert_string_equal(event.reason, "the host was not found within connect_timeout_ms");
    assert_string_equal(event.address, "");
    assert_true(event.at - began >= 50 * MS);
    net_event(&n, push, SENNIT_EVENT_RETRYING);
    /* What is found too late is for the next attempt, or dropped. */
    lookups_hold(&world.lookups, false);
    NET_UNTIL(&n, net_stats(pull).connections == 1 && lookups_busy(&world.lookups) == 0);
    check_that_it_stays_at_one(&n, pull);
    net_close(&n);
}

static void
when_the_first_address_is_dead_the_second_is_tried_at_once(void **state)
{
    net n;
    sennit_sock *pull;
    sennit_sock *push;
    sennit_event event;

    (void)state;
    open_named(&n);
    answer(3);
    world.found[1] = (sennit_ip){ .octets = { 127, 0, 0, 1 } };
    world.count = 2;
    pull = net_sock(&n, SENNIT_PULL, NULL);
    push = net_sock(&n, SENNIT_PUSH, NULL);
    connect_named(push, port_of(net_bind(pull, TCP)));
    NET_UNTIL(&n, net_stats(push).connections == 1);
    /* In this order, and no delay in between. */
    assert_int_equal(sennit_sock_next_event(push, &event), SENNIT_OK);
    assert_int_equal(event.kind, SENNIT_EVENT_CONNECTING);
    assert_memory_equal(event.address, "127.0.0.3:", 10);
    assert_int_equal(sennit_sock_next_event(push, &event), SENNIT_OK);
    assert_int_equal(event.kind, SENNIT_EVENT_CONNECT_FAILED);
    assert_memory_equal(event.address, "127.0.0.3:", 10);
    assert_int_equal(event.err, SENNIT_ECONNREFUSED);
    assert_int_equal(sennit_sock_next_event(push, &event), SENNIT_OK);
    assert_int_equal(event.kind, SENNIT_EVENT_CONNECTING);
    assert_memory_equal(event.address, "127.0.0.1:", 10);
    assert_int_equal(sennit_sock_next_event(push, &event), SENNIT_OK);
    assert_int_equal(event.kind, SENNIT_EVENT_CONNECTED);
    assert_int_equal(lookups_asked(&world.lookups), 1);
    net_close(&n);
}

/* ---- who is asked, and where ------------------------------------------- */

static void
numbers_and_localhost_ask_nobody(void **state)
{
    static const char *const hosts[] = { "127.0.0.1", "localhost" };
    net n;
    sennit_sock *pull;

    (void)state;
    open_named(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    net_bind(pull, TCP);
    for (uint64_t i = 0; i < 2; i++) {
        sennit_sock *push = net_sock(&n, SENNIT_PUSH, NULL);

        connect_host(push, hosts[i], port_of(sennit_sock_last_endpoint(pull)));
        NET_UNTIL(&n, net_stats(pull).connections == i + 1);
    }
    assert_int_equal(lookups_asked(&world.lookups), 0);
    net_close(&n);
}

static void
look_ups_run_on_another_thread_with_every_signal_blocked(void **state)
{
    net n;
    sennit_sock *push;
    sennit_sock_opts opts = net_opts();
    sigset_t before;
    sigset_t after;

    (void)state;
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    open_named(&n);
    answer(1);
    opts.ipv6 = true;
    push = net_sock(&n, SENNIT_PUSH, &opts);
    connect_named(push, 9);
    NET_UNTIL(&n, lookups_asked(&world.lookups) > 0);
    net_close(&n);
    assert_false(world.signals);
    assert_false(world.same_thread);
    assert_true(world.ipv6);
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    for (int signal = 1; signal < NSIG; signal++)
        assert_int_equal(sigismember(&before, signal), sigismember(&after, signal));
}

static void
what_a_resolver_may_answer_wrongly_only_fails_the_attempt(void **state)
{
    net n;
    sennit_sock *push;
    sennit_event event;

    (void)state;
    open_named(&n);
    push = net_sock(&n, SENNIT_PUSH, NULL);
    connect_named(push, 9);
    event = net_event(&n, push, SENNIT_EVENT_CONNECT_FAILED);
    assert_int_equal(event.err, SENNIT_ENODEV);
    assert_string_equal(event.reason, "the host has no address");
    pthread_mutex_lock(&world.lookups.lock);
    world.err = SENNIT_EACCES;
    pthread_mutex_unlock(&world.lookups.lock);
    do
        event = net_event(&n, push, SENNIT_EVENT_CONNECT_FAILED);
    while (event.err == SENNIT_ENODEV);
    assert_int_equal(event.err, SENNIT_EACCES);
    assert_string_equal(event.reason, "the resolver found no address");
    /* More than it may have found. */
    pthread_mutex_lock(&world.lookups.lock);
    world.err = SENNIT_OK;
    world.count = 1000000;
    for (size_t i = 0; i < SENNIT_RESOLVED_MAX; i++)
        world.found[i] = (sennit_ip){ .octets = { 127, 0, 0, (uint8_t)(i + 1) } };
    pthread_mutex_unlock(&world.lookups.lock);
    do
        event = net_event(&n, push, SENNIT_EVENT_CONNECT_FAILED);
    while (strcmp(event.address, "127.0.0.16:9") != 0);
    net_close(&n);
}

/* ---- ends -------------------------------------------------------------- */

/* The resolver's memory is still used when the loop is gone, as documented. */
static void
closing_a_loop_does_not_wait_for_a_look_up(void **state)
{
    net n;
    sennit_time before;

    (void)state;
    open_named(&n);
    lookups_hold(&world.lookups, true);
    for (int i = 0; i < 8; i++)
        connect_named(net_sock(&n, SENNIT_PUSH, NULL), 9);
    NET_UNTIL(&n, lookups_busy(&world.lookups) == 4);
    before = sennit_loop_now(n.loop);
    net_close(&n);
    open_named(&n);
    assert_true(sennit_loop_now(n.loop) - before < 1000 * MS);
    net_close(&n);
    assert_true(lookups_busy(&world.lookups) > 0);
    let_go();
    /* A few at a time: the others were dropped unasked. */
    assert_int_equal(lookups_asked(&world.lookups), 4);
}

static void
the_answer_to_a_connect_that_was_undone_is_the_next_ones(void **state)
{
    net n;
    sennit_sock *pull;
    sennit_sock *push;
    unsigned port;
    char endpoint[64];

    (void)state;
    open_named(&n);
    answer(1);
    lookups_hold(&world.lookups, true);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    port = port_of(net_bind(pull, TCP));
    push = net_sock(&n, SENNIT_PUSH, NULL);
    snprintf(endpoint, sizeof endpoint, "tcp://server.test:%u", port);
    net_connect(push, endpoint);
    NET_UNTIL(&n, lookups_busy(&world.lookups) > 0);
    assert_int_equal(sennit_sock_disconnect(push, endpoint), SENNIT_OK);
    assert_int_equal(sennit_sock_disconnect(push, endpoint), SENNIT_ENOENT);
    net_connect(push, endpoint);
    lookups_hold(&world.lookups, false);
    NET_UNTIL(&n, net_stats(pull).connections == 1 && lookups_busy(&world.lookups) == 0);
    assert_int_equal(lookups_asked(&world.lookups), 1);
    check_that_it_stays_at_one(&n, pull);
    net_close(&n);
}

static void
a_forked_child_may_close_its_copy_in_the_middle_of_a_look_up(void **state)
{
    net n;
    sennit_sock *pull;
    sennit_sock *push;

    (void)state;
    open_named(&n);
    answer(1);
    lookups_hold(&world.lookups, true);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    push = net_sock(&n, SENNIT_PUSH, NULL);
    connect_named(push, port_of(net_bind(pull, TCP)));
    NET_UNTIL(&n, lookups_busy(&world.lookups) > 0);
    close_in_a_child(&n);
    lookups_hold(&world.lookups, false);
    NET_UNTIL(&n, net_stats(pull).connections == 1);
    net_close(&n);
}

/* The parent has been told, and has not looked yet. */
static void
fork_when_a_look_up_is_done(bool close_first)
{
    struct pollfd loop = { .events = POLLIN };
    net n;
    sennit_sock *pull;
    sennit_sock *push;

    open_named(&n);
    answer(1);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    push = net_sock(&n, SENNIT_PUSH, NULL);
    loop.fd = sennit_loop_fd(n.loop);
    connect_named(push, port_of(net_bind(pull, TCP)));
    assert_int_equal(poll(&loop, 1, 10000), 1);
    if (close_first)
        sennit_sock_close(push);
    close_in_a_child(&n);
    net_close(&n);
}

static void
a_forked_child_may_close_its_copy_when_a_look_up_is_done(void **state)
{
    (void)state;
    fork_when_a_look_up_is_done(false);
}

/* The parent has asked for it back. */
static void
a_forked_child_may_close_its_copy_when_a_look_up_was_done_for_nobody(void **state)
{
    (void)state;
    fork_when_a_look_up_is_done(true);
}

/* ---- the system's own -------------------------------------------------- */

/* "0x7f000001" is an address for getaddrinfo(3), and a name for everybody else: it asks
 * no server. */
static void
without_a_resolver_the_system_is_asked(void **state)
{
    net n;
    sennit_sock *pull;
    sennit_sock *push;
    sennit_event event;

    (void)state;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    push = net_sock(&n, SENNIT_PUSH, NULL);
    connect_host(push, "0x7f000001", port_of(net_bind(pull, TCP)));
    event = net_event(&n, push, SENNIT_EVENT_CONNECTING);
    assert_memory_equal(event.address, "127.0.0.1:", 10);
    NET_UNTIL(&n, net_stats(pull).connections == 1);
    net_close(&n);
}

/* In a network of its own, where no server can be reached. */
static void
a_host_that_cannot_be_looked_up_is_told_and_tried_again(void **state)
{
    pid_t child = fork();
    int status;

    (void)state;
    if (child == 0) {
        sennit_sock_opts opts = SENNIT_SOCK_OPTS_DEFAULT;
        sennit_event event = { .err = SENNIT_OK };
        sennit_loop *loop;
        sennit_sock *sock;
        unsigned failed = 0;

        alarm(100);
        opts.reconnect_min_ms = opts.reconnect_max_ms = 1;
        if (unshare(CLONE_NEWNET) != 0 || sennit_loop_open(&loop, NULL) != SENNIT_OK ||
            sennit_sock_open(&sock, loop, SENNIT_PUSH, &opts) != SENNIT_OK ||
            sennit_sock_connect(sock, "tcp://nowhere.invalid:9") != SENNIT_OK)
            _exit(1);
        while (failed < 2) {
            (void)sennit_loop_turn(loop, -1);
            if (net_has_event(sock, SENNIT_EVENT_CONNECT_FAILED, &event))
                failed++;
        }
        sennit_loop_close(loop);
        _exit(event.err == SENNIT_EAGAIN || event.err == SENNIT_ENODEV ? 0 : 2);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* ---- memory ------------------------------------------------------------ */

static void
connect_by_name(test_alloc *alloc, void *arg)
{
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;
    sennit_sock_opts sock_opts = net_opts();
    net n;
    sennit_sock *pull;
    sennit_sock *push;
    sennit_err err;
    char endpoint[64];

    (void)arg;
    answer(1);
    sock_opts.connect_timeout_ms = DEADLINE_MS;
    opts.allocator = &alloc->allocator;
    opts.resolver = (sennit_resolver){ resolve, &world };
    if (sennit_loop_open(&n.loop, &opts) != SENNIT_OK)
        return;
    err = sennit_sock_open(&pull, n.loop, SENNIT_PULL, &sock_opts);
    if (err == SENNIT_OK)
        err = sennit_sock_open(&push, n.loop, SENNIT_PUSH, &sock_opts);
    if (err == SENNIT_OK)
        err = sennit_sock_bind(pull, "tcp://127.0.0.1:*");
    if (err == SENNIT_OK) {
        snprintf(endpoint, sizeof endpoint, "tcp://127.0.0.1;server.test:%u",
                 port_of(sennit_sock_last_endpoint(pull)));
        err = sennit_sock_connect(push, endpoint);
    }
    /* Once it is connected it stays at it, whatever fails. */
    if (err == SENNIT_OK) {
        NET_UNTIL(&n,
                  net_stats(pull).connections == 1 && net_stats(push).connections == 1);
    } else {
        assert_int_equal(err, SENNIT_ENOMEM);
    }
    sennit_loop_close(n.loop);
}

static void
a_connect_by_name_survives_every_failed_allocation(void **state)
{
    (void)state;
    assert_true(test_alloc_every_failure(connect_by_name, NULL) > 10);
}

#define NAMED(name, function)                                                            \
    {                                                                                    \
        name, function, reset, NULL, NULL                                                \
    }

int
main(void)
{
    const struct CMUnitTest tests[] = {
        NAMED("D20a: a server that moved behind its name is found again",
              a_server_that_moved_behind_its_name_is_found_again),
        NAMED("D20b: a name that is not known at first is found later",
              a_name_that_is_not_known_at_first_is_found_later),
        NAMED("D20c: a look-up that takes its time holds up nobody",
              a_look_up_that_takes_its_time_holds_up_nobody),
        NAMED("D20d: when the first address is dead the second is tried at once",
              when_the_first_address_is_dead_the_second_is_tried_at_once),
        NAMED("a few dead names hold up no other", a_few_dead_names_hold_up_no_other),
        NAMED("a dead name takes one thread however often it is tried",
              a_dead_name_takes_one_thread_however_often_it_is_tried),
        NAMED("a look-up for which there was no thread says so",
              a_look_up_for_which_there_was_no_thread_says_so),
        NAMED("a look-up has the connect timeout too",
              a_look_up_has_the_connect_timeout_too),
        NAMED("numbers and localhost ask nobody", numbers_and_localhost_ask_nobody),
        NAMED("look-ups run on another thread with every signal blocked",
              look_ups_run_on_another_thread_with_every_signal_blocked),
        NAMED("what a resolver may answer wrongly only fails the attempt",
              what_a_resolver_may_answer_wrongly_only_fails_the_attempt),
        NAMED("closing a loop does not wait for a look-up",
              closing_a_loop_does_not_wait_for_a_look_up),
        NAMED("the answer to a connect that was undone is the next one's",
              the_answer_to_a_connect_that_was_undone_is_the_next_ones),
        NAMED("a forked child may close its copy in the middle of a look-up",
              a_forked_child_may_close_its_copy_in_the_middle_of_a_look_up),
        NAMED("a forked child may close its copy when a look-up is done",
              a_forked_child_may_close_its_copy_when_a_look_up_is_done),
        NAMED("a forked child may close its copy when a look-up was done for nobody",
              a_forked_child_may_close_its_copy_when_a_look_up_was_done_for_nobody),
        NAMED("without a resolver the system is asked",
              without_a_resolver_the_system_is_asked),
        NAMED("a host that cannot be looked up is told and tried again",
              a_host_that_cannot_be_looked_up_is_told_and_tried_again),
        NAMED("a connect by name survives every failed allocation",
              a_connect_by_name_survives_every_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
