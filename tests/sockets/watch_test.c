/* SPDX-License-Identifier: MIT */
/* The descriptor of a socket, as another event loop sees it: poll(2) says what
 * sennit_sock_ready() says, level-triggered. */
#include "net.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/limits.h"
#include "core/sock.h"

static int
fd_of(sennit_sock *sock, unsigned interest)
{
    int fd = -1;

    assert_int_equal(sennit_sock_fd(sock, interest, &fd), SENNIT_OK);
    assert_true(fd >= 0);
    return fd;
}

static bool
is_readable(int fd, int timeout_ms)
{
    struct pollfd file = { .fd = fd, .events = POLLIN };

    return poll(&file, 1, timeout_ms) == 1;
}

/* Polls and looks, as another event loop would, until `sock` is ready for `wanted`. */
static void
await(sennit_sock *sock, int fd, unsigned wanted)
{
    while (!(sennit_sock_ready(sock) & wanted))
        assert_true(is_readable(fd, DEADLINE_MS));
}

/* Looks until the loop has nothing more to do and says so. */
static void
settle(sennit_sock *sock, int fd)
{
    sennit_time started = sennit_loop_now(sennit_sock_get_loop(sock));

    while (is_readable(fd, 0)) {
        (void)sennit_sock_ready(sock);
        assert_true(sennit_loop_now(sennit_sock_get_loop(sock)) - started <
                    DEADLINE_MS * UINT64_C(1000000));
    }
}

static void
send_text(sennit_sock *sock, const char *text)
{
    assert_int_equal(sennit_sock_send_bytes(sock, text, strlen(text), SENNIT_DONTWAIT),
                     SENNIT_OK);
}

static void
receive_text(sennit_sock *sock, const char *text)
{
    char octets[16];
    size_t size;

    assert_int_equal(
        sennit_sock_recv_bytes(sock, octets, sizeof octets, &size, SENNIT_DONTWAIT),
        SENNIT_OK);
    assert_int_equal(size, strlen(text));
    assert_memory_equal(octets, text, size);
}

/* The peer is in a loop of its own, so that what arrives comes by the kernel. */
typedef struct two {
    net here;
    net there;
    sennit_sock *pull;
    sennit_sock *push;
    int fd;
} two;

static void
two_open(two *t)
{
    net_open(&t->here);
    net_open(&t->there);
    t->pull = net_sock(&t->here, SENNIT_PULL, NULL);
    t->push = net_sock(&t->there, SENNIT_PUSH, NULL);
    net_connect(t->push, net_bind(t->pull, TCP));
    t->fd = fd_of(t->pull, SENNIT_READABLE);
}

static void
two_close(two *t)
{
    net_close(&t->there);
    net_close(&t->here);
}

static uint64_t
connections(const sennit_sock *sock)
{
    sennit_sock_stats stats;

    sennit_sock_get_stats(sock, &stats);
    return stats.connections;
}

static void
it_is_readable_until_the_last_message_is_received(void **state)
{
    two t;

    (void)state;
    two_open(&t);
    /* The handshake happens by nothing but the descriptor. */
    for (sennit_time started = sennit_loop_now(t.there.loop); connections(t.push) == 0;) {
        if (is_readable(t.fd, 0))
            assert_int_equal(sennit_sock_ready(t.pull) & SENNIT_READABLE, 0);
        net_turn(&t.there, started, "the push is connected");
    }
    settle(t.pull, t.fd);
    assert_false(is_readable(t.fd, 0));
    send_text(t.push, "one");
    send_text(t.push, "two");
    sennit_sock_flush(t.push);
    await(t.pull, t.fd, SENNIT_READABLE);
    assert_true(is_readable(t.fd, 0));
    receive_text(t.pull, "one");
    assert_true(is_readable(t.fd, 0));
    receive_text(t.pull, "two");
    settle(t.pull, t.fd);
    assert_false(is_readable(t.fd, 0));
    two_close(&t);
}

static void
it_says_what_interest_says_and_that_can_change(void **state)
{
    sennit_sock_opts opts = net_opts();
    net n;
    sennit_sock *pull;
    sennit_sock *push;
    int fd;

    (void)state;
    net_open(&n);
    opts.send_hwm_msgs = 1;
    opts.recv_hwm_msgs = 1;
    pull = net_sock(&n, SENNIT_PULL, &opts);
    push = net_sock(&n, SENNIT_PUSH, &opts);
    fd = fd_of(push, SENNIT_WRITABLE);
    settle(push, fd);
    assert_false(is_readable(fd, 0));
    net_join(&n, pull, push, INPROC);
    assert_true(is_readable(fd, 0));
    while (sennit_sock_send_bytes(push, "x", 1, SENNIT_DONTWAIT) == SENNIT_OK)
        continue;
    settle(push, fd);
    assert_false(is_readable(fd, 0));
    receive_text(pull, "x");
    await(push, fd, SENNIT_WRITABLE);
    assert_true(is_readable(fd, 0));
    assert_int_equal(fd_of(push, SENNIT_EVENTS), fd);
    while (sennit_sock_next_event(push, &(sennit_event){ .kind = 0 }) == SENNIT_OK)
        continue;
    settle(push, fd);
    assert_false(is_readable(fd, 0));
    net_close(&n);
}

/* What is sent to a socket of the same loop is not told by the kernel. */
static void
a_message_of_the_same_loop_makes_it_readable_at_once(void **state)
{
    net n;
    sennit_sock *pull;
    sennit_sock *push;
    int fd;

    (void)state;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    push = net_sock(&n, SENNIT_PUSH, NULL);
    net_join(&n, pull, push, INPROC);
    fd = fd_of(pull, SENNIT_READABLE);
    settle(pull, fd);
    assert_false(is_readable(fd, 0));
    send_text(push, "in");
    assert_true(is_readable(fd, 0));
    receive_text(pull, "in");
    settle(pull, fd);
    assert_false(is_readable(fd, 0));
    net_close(&n);
}

static void
count_up(void *arg)
{
    ++*(unsigned *)arg;
}

static void
timers_and_posted_calls_make_it_readable(void **state)
{
    net n;
    sennit_sock *pull;
    sennit_timer timer = { 0 };
    unsigned calls = 0;
    int fd;

    (void)state;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    fd = fd_of(pull, SENNIT_READABLE);
    settle(pull, fd);
    assert_int_equal(sennit_timer_start(n.loop, &timer, 2000000, count_up, &calls),
                     SENNIT_OK);
    while (calls == 0) {
        assert_true(is_readable(fd, DEADLINE_MS));
        (void)sennit_sock_ready(pull);
    }
    settle(pull, fd);
    assert_int_equal(sennit_loop_post(n.loop, count_up, &calls), SENNIT_OK);
    assert_true(is_readable(fd, 0));
    (void)sennit_sock_ready(pull);
    assert_int_equal(calls, 2);
    settle(pull, fd);
    assert_false(is_readable(fd, 0));
    net_close(&n);
}

/* A dialer without a listener is tried again by its timer, and nothing but the descriptor
 * is asked for it. */
static void
reconnects_happen_by_the_descriptor_alone(void **state)
{
    net n;
    sennit_sock *push;
    sennit_event event = { .kind = SENNIT_EVENT_LISTENING };
    int fd;

    (void)state;
    net_open(&n);
    push = net_sock(&n, SENNIT_PUSH, NULL);
    net_connect(push, net_vacant(TCP));
    fd = fd_of(push, SENNIT_EVENTS);
    for (unsigned retries = 0; retries < 3;
         retries += event.kind == SENNIT_EVENT_RETRYING)
        while (sennit_sock_next_event(push, &event) != SENNIT_OK) {
            assert_true(is_readable(fd, DEADLINE_MS));
            (void)sennit_sock_ready(push);
        }
    net_close(&n);
}

static void
the_tail_of_a_burst_makes_it_readable(void **state)
{
    two t;
    int fd;

    (void)state;
    two_open(&t);
    net_join(&t.there, net_sock(&t.there, SENNIT_PULL, NULL), t.push, TCP);
    fd = fd_of(t.push, SENNIT_READABLE);
    for (unsigned i = 0; i < 8; i++)
        send_text(t.push, "x");
    while (is_readable(fd, 1)) {
        sennit_sock_stats stats;

        (void)sennit_sock_ready(t.push);
        sennit_sock_get_stats(t.push, &stats);
        if (stats.queued_msgs == 0)
            break;
    }
    two_close(&t);
}

static void
a_hosted_sockets_descriptor_does_without_a_turn(void **state)
{
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;
    sennit_sock_opts sock_opts = net_opts();
    sennit_loop *loop;
    sennit_sock *pull;
    sennit_sock *push;
    int fd;

    (void)state;
    opts.hosted = true;
    assert_int_equal(sennit_loop_open(&loop, &opts), SENNIT_OK);
    assert_int_equal(sennit_sock_open(&pull, loop, SENNIT_PULL, &sock_opts), SENNIT_OK);
    assert_int_equal(sennit_sock_open(&push, loop, SENNIT_PUSH, &sock_opts), SENNIT_OK);
    assert_int_equal(sennit_sock_fd(pull, SENNIT_READABLE, &fd), SENNIT_OK);
    assert_int_equal(sennit_sock_bind(pull, "tcp://127.0.0.1:*"), SENNIT_OK);
    net_connect(push, sennit_sock_last_endpoint(pull));
    assert_false(is_readable(fd, 0));
    for (unsigned i = 0; i < 100; i++) {
        send_text(push, "ping");
        assert_true(is_readable(fd, DEADLINE_MS));
        receive_text(pull, "ping");
        assert_false(is_readable(fd, 0));
    }
    sennit_loop_close(loop);
}

static void
without_a_peer_it_is_not_writable_any_more(void **state)
{
    net here;
    net there;
    sennit_sock *push;
    sennit_time started;
    int fd;

    (void)state;
    net_open(&here);
    net_open(&there);
    push = net_sock(&here, SENNIT_PUSH, NULL);
    fd = fd_of(push, SENNIT_WRITABLE);
    net_connect(net_sock(&there, SENNIT_PULL, NULL), net_bind(push, TCP));
    started = sennit_loop_now(here.loop);
    while (!(sennit_sock_ready(push) & SENNIT_WRITABLE))
        net_turn(&there, started, "the pull is connected");
    assert_true(is_readable(fd, 0));
    net_close(&there);
    while (sennit_sock_ready(push) & SENNIT_WRITABLE)
        assert_true(is_readable(fd, DEADLINE_MS));
    settle(push, fd);
    assert_false(is_readable(fd, 0));
    net_close(&here);
}

/* A look at its socket throws away what is malformed, up to a bound; another thread is
 * about to wait for something else meanwhile. */
#define MALFORMED (4 * SNI_FETCH_FRAMES_MAX + 1)

static void *
wait_for_something_else(void *arg)
{
    char octets[16];

    if (sennit_sock_recv_bytes(arg, octets, sizeof octets, NULL, 0) != SENNIT_ECLOSED)
        abort();
    return NULL;
}

static void
a_hosted_sockets_look_that_stops_at_its_bound_goes_on(void **state)
{
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;
    sennit_sock_opts sock_opts = net_opts();
    sennit_loop *loop;
    sennit_sock *other;
    sennit_sock *rep;
    sennit_sock *dealer;
    pthread_t thread;
    net n;
    int fd;

    (void)state;
    opts.hosted = true;
    sock_opts.recv_timeout_ms = -1;
    net_open(&n);
    assert_int_equal(sennit_loop_open(&loop, &opts), SENNIT_OK);
    assert_int_equal(sennit_sock_open(&other, loop, SENNIT_PULL, &sock_opts), SENNIT_OK);
    assert_int_equal(sennit_sock_open(&rep, loop, SENNIT_REP, &sock_opts), SENNIT_OK);
    assert_int_equal(sennit_sock_bind(rep, "tcp://127.0.0.1:*"), SENNIT_OK);
    assert_int_equal(sennit_sock_fd(rep, SENNIT_READABLE, &fd), SENNIT_OK);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_something_else, other), 0);
    dealer = net_sock(&n, SENNIT_DEALER, NULL);
    net_connect(dealer, sennit_sock_last_endpoint(rep));
    for (unsigned round = 0; round < 20; round++) {
        for (unsigned i = 0; i < MALFORMED; i++)
            assert_int_equal(sennit_sock_send_bytes(dealer, "x", 1, 0), SENNIT_OK);
        assert_int_equal(sennit_sock_send_bytes(dealer, "", 0, SENNIT_MORE), SENNIT_OK);
        send_text(dealer, "good");
        sennit_sock_flush(dealer);
        assert_true(is_readable(fd, DEADLINE_MS));
        receive_text(rep, "good");
        send_text(rep, "done");
    }
    sennit_loop_close(loop);
    assert_int_equal(pthread_join(thread, NULL), 0);
    net_close(&n);
}

static void
close_it(void *arg)
{
    sennit_sock **sock = arg;

    sennit_sock_close(*sock);
    *sock = NULL;
}

/* The turn that sennit_sock_ready() makes may close the socket. */
static void
it_is_not_ready_when_a_callback_of_that_look_closes_it(void **state)
{
    sennit_timer timer = { 0 };
    net n;
    sennit_sock *sock;
    sennit_sock *pull;
    int fd;

    (void)state;
    net_open(&n);
    sock = pull = net_sock(&n, SENNIT_PULL, NULL);
    fd = fd_of(pull, SENNIT_READABLE);
    assert_int_equal(sennit_timer_start(n.loop, &timer, 0, close_it, &sock), SENNIT_OK);
    assert_true(is_readable(fd, DEADLINE_MS));
    assert_int_equal(sennit_sock_ready(pull), 0);
    assert_null(sock);
    net_close(&n);
}

/* With a thousand of them a call must not look at each. */
static void
a_socket_that_has_not_changed_is_not_looked_at(void **state)
{
    net n;
    sennit_sock *pull;
    int fd;

    (void)state;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    fd = fd_of(pull, SENNIT_READABLE);
    settle(pull, fd);
    assert_true(sni_list_empty(&n.loop->stale));
    net_close(&n);
}

static void
without_descriptors_it_is_refused_and_the_socket_goes_on(void **state)
{
    struct rlimit before;
    struct rlimit none;
    net n;
    sennit_sock *pull;
    sennit_sock *push;
    int fds[4096];
    size_t opened = 0;
    int fd;

    (void)state;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    push = net_sock(&n, SENNIT_PUSH, NULL);
    net_join(&n, pull, push, TCP);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 64;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    while (opened < 4096 && (fds[opened] = dup(0)) >= 0)
        opened++;
    for (size_t room = 0; room < 3; room++) {
        assert_int_equal(sennit_sock_fd(pull, SENNIT_READABLE, &fd), SENNIT_EMFILE);
        close(fds[--opened]);
    }
    assert_int_equal(sennit_sock_fd(pull, SENNIT_READABLE, &fd), SENNIT_OK);
    while (opened > 0)
        close(fds[--opened]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    send_text(push, "go");
    sennit_sock_flush(push);
    await(pull, fd, SENNIT_READABLE);
    receive_text(pull, "go");
    net_close(&n);
}

static void
without_memory_it_is_refused(void **state)
{
    net n;
    sennit_sock *pull;
    int fd;

    (void)state;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    test_alloc_fail_at(&n.alloc, 1);
    assert_int_equal(sennit_sock_fd(pull, SENNIT_READABLE, &fd), SENNIT_ENOMEM);
    test_alloc_fail_at(&n.alloc, 0);
    assert_int_equal(sennit_sock_fd(pull, SENNIT_READABLE, &fd), SENNIT_OK);
    net_close(&n);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_readable_until_the_last_message_is_received),
        cmocka_unit_test(it_says_what_interest_says_and_that_can_change),
        cmocka_unit_test(a_message_of_the_same_loop_makes_it_readable_at_once),
        cmocka_unit_test(timers_and_posted_calls_make_it_readable),
        cmocka_unit_test(reconnects_happen_by_the_descriptor_alone),
        cmocka_unit_test(the_tail_of_a_burst_makes_it_readable),
        cmocka_unit_test(a_hosted_sockets_descriptor_does_without_a_turn),
        cmocka_unit_test(without_a_peer_it_is_not_writable_any_more),
        cmocka_unit_test(a_hosted_sockets_look_that_stops_at_its_bound_goes_on),
        cmocka_unit_test(it_is_not_ready_when_a_callback_of_that_look_closes_it),
        cmocka_unit_test(a_socket_that_has_not_changed_is_not_looked_at),
        cmocka_unit_test(without_descriptors_it_is_refused_and_the_socket_goes_on),
        cmocka_unit_test(without_memory_it_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
