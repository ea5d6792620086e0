/* SPDX-License-Identifier: MIT */
/* Cases D26, D27 and D28: a guest in somebody's program. */
#include "net.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static net n;

/* ---- D26: fork --------------------------------------------------------- */

/* A socket couple in this process that answers itself. */
static void
round_trips(sennit_sock *rep, sennit_sock *req, int count)
{
    for (int i = 0; i < count; i++) {
        net_send(req, "q");
        assert_string_equal(net_recv(rep), "q");
        net_send(rep, "a");
        assert_string_equal(net_recv(req), "a");
    }
}

static void
own_loop(void)
{
    net own;
    sennit_sock *rep;
    sennit_sock *req;

    net_open(&own);
    rep = net_sock(&own, SENNIT_REP, NULL);
    req = net_sock(&own, SENNIT_REQ, NULL);
    net_join(&own, rep, req, TCP);
    round_trips(rep, req, 100);
    net_close(&own);
}

typedef enum errand { LEAVE, EXIT, OWN_LOOP, CLOSE_INHERITED, EXEC, ERRANDS } errand;

static void
run_errand(errand what)
{
    char *const nothing[] = { (char *)(uintptr_t) "true", NULL };

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    switch (what) {
    case LEAVE:
        _exit(0);
    case EXIT:
        exit(0);
    case OWN_LOOP:
        own_loop();
        _exit(0);
    case CLOSE_INHERITED:
        sennit_loop_close(n.loop);
        _exit(0);
    case EXEC:
        execv("/bin/true", nothing);
        _exit(127);
    case ERRANDS:
        break;
    }
    _exit(1);
}

static void
D26_a_child_does_what_it_likes_and_the_parent_goes_on(void **state)
{
    sennit_sock *rep;
    sennit_sock *req;

    (void)state;
    net_open(&n);
    rep = net_sock(&n, SENNIT_REP, NULL);
    req = net_sock(&n, SENNIT_REQ, NULL);
    net_join(&n, rep, req, TCP);
    for (int round = 0; round < 10; round++) {
        for (errand what = LEAVE; what < ERRANDS; what++) {
            pid_t child = fork();
            int status;

            assert_true(child >= 0);
            if (child == 0)
                run_errand(what);
            round_trips(rep, req, 20);
            assert_int_equal(waitpid(child, &status, 0), child);
            if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
                fail_msg("errand %d ended with status %x", what, status);
            round_trips(rep, req, 20);
        }
    }
    assert_int_equal(net_stats(rep).connections, 1);
    assert_int_equal(net_stats(req).reconnects, 0);
    net_close(&n);
}

/* The connection belongs to the parent: when that ends its peer hears it, although a
 * child still holds copies of everything. */
static void
D26_the_peer_hears_the_parents_end_although_a_child_lives(void **state)
{
    sennit_sock *pull;
    int gone[2];
    char grandchild[32] = { 0 };
    pid_t parent;

    (void)state;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    (void)net_bind(pull, TCP);
    assert_int_equal(pipe(gone), 0);
    parent = fork();
    assert_true(parent >= 0);
    if (parent == 0) {
        sennit_loop *loop;
        sennit_sock *push;
        sennit_event event;
        pid_t child;

        if (sennit_loop_open(&loop, NULL) != SENNIT_OK ||
            sennit_sock_open(&push, loop, SENNIT_PUSH, NULL) != SENNIT_OK ||
            sennit_sock_connect(push, sennit_sock_last_endpoint(pull)) != SENNIT_OK)
            _exit(1);
        while (!net_has_event(push, SENNIT_EVENT_READY, &event))
            (void)sennit_loop_turn(loop, 100);
        child = fork();
        if (child == 0) {
            /* Lives on, and touches nothing. */
            (void)alarm(60);
            for (int fd = 0; fd < 3; fd++)
                close(fd);
            for (;;)
                (void)pause();
        }
        if (dprintf(gone[1], "%d", (int)child) < 0)
            _exit(1);
        sennit_loop_close(loop);
        _exit(0);
    }
    (void)net_event(&n, pull, SENNIT_EVENT_READY);
    (void)net_event(&n, pull, SENNIT_EVENT_DISCONNECTED);
    assert_true(read(gone[0], grandchild, sizeof grandchild - 1) > 0);
    assert_int_equal(waitpid(parent, NULL, 0), parent);
    assert_int_equal(kill((pid_t)atoi(grandchild), SIGKILL), 0);
    close(gone[0]);
    close(gone[1]);
    net_close(&n);
}

/* Runs `child(arg)` in a child and fails unless it ends with 0. */
static void
in_a_child(int (*child)(void *arg), void *arg)
{
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)alarm(DEADLINE_MS / 1000);
        _exit(child(arg));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("the child ended with status %x", status);
}

typedef struct couple {
    sennit_sock *stays; /* nothing is sent on it */
    sennit_sock *sock;
    const char *endpoint;
} couple;

static void
not_here(void *arg)
{
    (void)arg;
    abort();
}

/* The number of the first call that is not refused, else 0. */
static int
every_call(void *arg)
{
    static const char why[] = "the loop belongs to the parent process: "
                              "after fork open a loop of your own";
    const couple *c = arg;
    const sennit_bytes all = { NULL, 0 };
    sennit_timer timer = { 0 };
    sennit_sock_opts opts;
    sennit_sock *fresh;
    char byte;
    size_t size;
    int call = 0;

#define REFUSED(result)                                                                  \
    do {                                                                                 \
        call++;                                                                          \
        if ((result) != SENNIT_ESTATE || strcmp(sennit_loop_why(n.loop), why) != 0)      \
            return call;                                                                 \
    } while (0)

    sennit_sock_get_opts(c->sock, &opts);
    REFUSED(sennit_sock_send_bytes(c->sock, "of the child", 12, 0));
    REFUSED(sennit_sock_recv_bytes(c->sock, &byte, 1, &size, 0));
    REFUSED(sennit_sock_bind(c->sock, "tcp://127.0.0.1:*"));
    REFUSED(sennit_sock_bind_fd(c->sock, 0));
    REFUSED(sennit_sock_connect(c->sock, c->endpoint));
    REFUSED(sennit_sock_unbind(c->stays, c->endpoint));
    REFUSED(sennit_sock_disconnect(c->sock, c->endpoint));
    REFUSED(sennit_sock_disconnect_peer(c->sock, 1));
    REFUSED(sennit_sock_subscribe(c->sock, all));
    REFUSED(sennit_sock_wait_connections(c->sock, 2, -1));
    REFUSED(sennit_sock_wait_subscriptions(c->sock, 1, -1));
    REFUSED(sennit_sock_set_opts(c->sock, &opts));
    REFUSED(sennit_timer_start(n.loop, &timer, 0, not_here, NULL));
    REFUSED(sennit_sock_open(&fresh, n.loop, SENNIT_PUSH, NULL));
    REFUSED(sennit_loop_turn(n.loop, -1));
    REFUSED(sennit_loop_run(n.loop));
    REFUSED(sennit_loop_post(n.loop, not_here, NULL));
#undef REFUSED
    sennit_sock_flush(c->sock);
    return 0;
}

/* It would take the parent's octets and events, and put its own among the parent's. */
static void
D26_a_child_is_refused_every_call_on_what_it_inherited(void **state)
{
    couple c;

    (void)state;
    net_open(&n);
    c.stays = net_sock(&n, SENNIT_REP, NULL);
    c.sock = net_sock(&n, SENNIT_REQ, NULL);
    net_join(&n, c.stays, c.sock, TCP);
    c.endpoint = sennit_sock_last_endpoint(c.stays);
    net_send(c.sock, "q"); /* read by nobody yet */
    in_a_child(every_call, &c);
    assert_string_equal(net_recv(c.stays), "q");
    net_send(c.stays, "a");
    assert_string_equal(net_recv(c.sock), "a");
    round_trips(c.stays, c.sock, 20);
    assert_int_equal(net_stats(c.stays).connections, 1);
    assert_int_equal(net_stats(c.sock).reconnects, 0);
    net_close(&n);
}

static int
closes_sock_and_loop(void *arg)
{
    couple *c = arg;

    sennit_sock_close(c->sock);
    sennit_loop_close(n.loop);
    return 0;
}

/* With messages that wait, for a peer and for a kernel that takes no more. */
static void
D26_a_child_closes_silently_and_sends_nothing_twice(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_timer timer = { 0 };
    char endpoint[64];
    char seen[9];
    couple c;
    int listener = raw_listen(endpoint);
    int raw;

    (void)state;
    net_open(&n);
    opts.linger_ms = -1;
    c.stays = net_sock(&n, SENNIT_PUSH, &opts);
    net_connect(c.stays, net_vacant(TCP));
    net_send(c.stays, "never");
    c.sock = net_sock(&n, SENNIT_STREAM, NULL);
    assert_int_equal(sennit_sock_connect_as(c.sock, endpoint,
                                            (sennit_bytes){ (const uint8_t *)"p", 1 }),
                     SENNIT_OK);
    raw = raw_accept(&n, listener);
    NET_UNTIL(&n, net_stats(c.sock).connections == 1);
    net_send(c.sock, "p|<0>");
    net_send(c.sock, "p|<1>");
    net_send(c.sock, "p|<2>");
    assert_int_equal(sennit_timer_start(n.loop, &timer, 0, not_here, NULL), SENNIT_OK);
    in_a_child(closes_sock_and_loop, &c);
    sennit_timer_stop(n.loop, &timer);
    raw_read(&n, raw, seen, sizeof seen);
    assert_memory_equal(seen, "<0><1><2>", sizeof seen);
    /* Neither its end nor more of it. */
    assert_int_equal(recv(raw, seen, 1, MSG_DONTWAIT), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(net_stats(c.sock).connections, 1);
    opts.linger_ms = 0;
    assert_int_equal(sennit_sock_set_opts(c.stays, &opts), SENNIT_OK);
    close(raw);
    close(listener);
    net_close(&n);
}

/* ---- D26: and threads -------------------------------------------------- */

static void
count(void *arg)
{
    ++*(int *)arg;
}

static int
closes_loop(void *loop)
{
    sennit_loop_close(loop);
    return 0;
}

static void
D26_a_posted_call_survives_a_child_that_closes_its_copy(void **state)
{
    int ran = 0;

    (void)state;
    net_open(&n);
    assert_int_equal(sennit_loop_post(n.loop, count, &ran), SENNIT_OK);
    in_a_child(closes_loop, n.loop);
    assert_int_equal(poll(&(struct pollfd){ sennit_loop_fd(n.loop), POLLIN, 0 }, 1, 0),
                     1);
    /* Would wait for ever. */
    assert_int_equal(sennit_loop_turn(n.loop, -1), SENNIT_OK);
    assert_int_equal(ran, 1);
    net_close(&n);
}

typedef struct churn {
    sennit_context *context;
    atomic_bool over;
    atomic_uint rounds;
} churn;

/* Takes the context's lock as often as it can. */
static void *
churns(void *arg)
{
    churn *c = arg;
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;
    sennit_loop *loop;
    sennit_sock *pull;

    opts.context = c->context;
    if (sennit_loop_open(&loop, &opts) != SENNIT_OK ||
        sennit_sock_open(&pull, loop, SENNIT_PULL, NULL) != SENNIT_OK)
        abort();
    while (!atomic_load(&c->over)) {
        if (sennit_sock_bind(pull, "inproc://churn") != SENNIT_OK ||
            sennit_sock_unbind(pull, "inproc://churn") != SENNIT_OK)
            abort();
        atomic_fetch_add(&c->rounds, 1);
    }
    sennit_loop_close(loop);
    return NULL;
}

typedef struct heirloom {
    sennit_loop *loop;
    sennit_context *context;
} heirloom;

static int
closes_in_context(void *arg)
{
    const heirloom *inherited = arg;
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;
    sennit_loop *fresh;

    opts.context = inherited->context;
    if (sennit_loop_open(&fresh, &opts) != SENNIT_ESTATE)
        return 1;
    sennit_context_shutdown(inherited->context);
    sennit_loop_close(inherited->loop);
    return 0;
}

/* Whoever held a lock at the fork is not in the child to give it back. */
static void
D26_a_child_waits_for_no_lock_of_the_parents_threads(void **state)
{
    churn c = { .rounds = 0 };
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;
    heirloom inherited;
    sennit_sock *pull;
    pthread_t thread;

    (void)state;
    assert_int_equal(sennit_context_open(&c.context, NULL), SENNIT_OK);
    opts.context = inherited.context = c.context;
    assert_int_equal(sennit_loop_open(&inherited.loop, &opts), SENNIT_OK);
    assert_int_equal(sennit_sock_open(&pull, inherited.loop, SENNIT_PULL, NULL),
                     SENNIT_OK);
    assert_int_equal(sennit_sock_bind(pull, "inproc://ours"), SENNIT_OK);
    assert_int_equal(pthread_create(&thread, NULL, churns, &c), 0);
    while (atomic_load(&c.rounds) == 0)
        sched_yield();
    for (int i = 0; i < 300; i++)
        in_a_child(closes_in_context, &inherited);
    atomic_store(&c.over, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    sennit_loop_close(inherited.loop);
    assert_int_equal(sennit_context_close(c.context), SENNIT_OK);
}

/* ---- D27: SIGPIPE ------------------------------------------------------ */

static void
reset_while_sending(transport via, size_t size)
{
    sennit_sock *push;
    char endpoint[128];
    char *body = calloc(1, size);

    assert_non_null(body);
    net_open(&n);
    push = net_sock(&n, SENNIT_PUSH, NULL);
    snprintf(endpoint, sizeof endpoint, "%s", net_bind(push, via));
    for (int round = 0; round < 100; round++) {
        struct linger hard = { 1, 0 };
        int fd = raw_connect(endpoint);

        raw_handshake(&n, fd, "PULL", NULL);
        NET_UNTIL(&n, net_stats(push).connections == 1);
        assert_int_equal(sennit_sock_send_bytes(push, body, size, 0), SENNIT_OK);
        if (round % 2 == 0)
            (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
        close(fd);
        while (net_stats(push).connections > 0) {
            sennit_err err = sennit_sock_send_bytes(push, body, size, SENNIT_DONTWAIT);

            assert_true(err == SENNIT_OK || err == SENNIT_EAGAIN);
            sennit_sock_flush(push);
            assert_int_equal(sennit_loop_turn(n.loop, 1), SENNIT_OK);
        }
    }
    free(body);
    net_close(&n);
}

static void
D27_a_reset_while_sending_raises_no_signal(void **state)
{
    struct sigaction action;

    (void)state;
    assert_int_equal(sigaction(SIGPIPE, NULL, &action), 0);
    assert_ptr_equal(action.sa_handler, SIG_DFL);
    for (transport via = TCP; via <= IPC; via++) {
        reset_while_sending(via, 10);
        reset_while_sending(via, 5000); /* by reference, in several vectors */
        reset_while_sending(via, 1 << 20);
    }
    assert_int_equal(sigaction(SIGPIPE, NULL, &action), 0);
    assert_ptr_equal(action.sa_handler, SIG_DFL);
}

/* ---- D28: the wall clock ----------------------------------------------- */

/* This program's clock_gettime, gettimeofday and time: the library links to these. What
 * it may look at is the monotonic clock; every look at the wall clock is counted, and
 * sees it jump. */
static unsigned wall_looks;
static time_t wall_offset;

int
clock_gettime(clockid_t clock, struct timespec *now)
{
    long result = syscall(SYS_clock_gettime, clock, now);

    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
        wall_looks++;
        now->tv_sec += wall_offset;
    }
    return (int)result;
}

int
gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    long result = syscall(SYS_gettimeofday, now, zone);

    wall_looks++;
    now->tv_sec += wall_offset;
    return (int)result;
}

time_t
time(time_t *out)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL)
        *out = now.tv_sec;
    return now.tv_sec;
}

static double
elapsed_ms(const struct timespec *since)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - since->tv_sec) * 1e3 +
           (double)(now.tv_nsec - since->tv_nsec) / 1e6;
}

static void
jump(void *arg)
{
    static const time_t jumps[] = { -3600, 3600, -800000000 };
    int *at = arg;

    wall_offset = jumps[*at];
}

static void
D28_only_the_monotonic_clock_ends_a_wait(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_timer timer = { 0 };
    sennit_sock *rep;
    sennit_sock *req;
    char byte;
    size_t size;

    (void)state;
    net_open(&n);
    opts.heartbeat_interval_ms = 50;
    opts.heartbeat_timeout_ms = 2000;
    opts.recv_timeout_ms = 300;
    rep = net_sock(&n, SENNIT_REP, &opts);
    req = net_sock(&n, SENNIT_REQ, &opts);
    net_join(&n, rep, req, TCP);
    wall_looks = 0;
    for (int i = 0; i < 3; i++) {
        struct timespec since;
        double ms;

        assert_int_equal(sennit_timer_start(n.loop, &timer, 50000000u, jump, &i),
                         SENNIT_OK);
        (void)clock_gettime(CLOCK_MONOTONIC, &since);
        assert_int_equal(sennit_sock_recv_bytes(rep, &byte, 1, &size, 0), SENNIT_EAGAIN);
        ms = elapsed_ms(&since);
        /* A busy machine may be late, but not by an hour, and never early. */
        if (ms < 299 || ms > 3000)
            fail_msg("a wait of 300 ms took %.0f ms", ms);
    }
    assert_int_equal(wall_looks, 0);
    assert_int_equal(net_stats(rep).connections, 1);
    assert_int_equal(net_stats(req).reconnects, 0);
    wall_offset = 0;
    net_close(&n);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(D26_a_child_does_what_it_likes_and_the_parent_goes_on),
    cmocka_unit_test(D26_the_peer_hears_the_parents_end_although_a_child_lives),
    cmocka_unit_test(D26_a_child_is_refused_every_call_on_what_it_inherited),
    cmocka_unit_test(D26_a_child_closes_silently_and_sends_nothing_twice),
    cmocka_unit_test(D26_a_posted_call_survives_a_child_that_closes_its_copy),
    cmocka_unit_test(D26_a_child_waits_for_no_lock_of_the_parents_threads),
    cmocka_unit_test(D27_a_reset_while_sending_raises_no_signal),
    cmocka_unit_test(D28_only_the_monotonic_clock_ends_a_wait),
};

SENNIT_TEST_MAIN(tests)
