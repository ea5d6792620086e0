/* SPDX-License-Identifier: MIT */
/* Case D34: event loops that are not ours, by the descriptor of a socket. */
#include "crew.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "rng.h"

#define MSGS       100000u
#define BURST_MAX  50u
#define ANSWERED   64u /* every so many */
#define STALLED_MS 20000

typedef struct bursts {
    const char *endpoint;
    uint64_t answers;
} bursts;

/* In bursts, now and then waiting for an answer, so that the receiver falls asleep at any
 * place: with nothing there, with one message there, with many. */
static void
send_in_bursts(hand *h)
{
    bursts *b = h->arg;
    sennit_sock *dealer = crew_sock(h->loop, SENNIT_DEALER);
    test_rng rng = { 34 };
    uint64_t sent = 0;
    uint64_t number;

    CHECK_ERR(sennit_sock_connect(dealer, b->endpoint), SENNIT_OK);
    while (sent < MSGS) {
        uint64_t burst = 1 + test_rng_below(&rng, BURST_MAX);

        for (uint64_t i = 0; i < burst && sent < MSGS; i++)
            CHECK_ERR(crew_send(dealer, sent++, 0), SENNIT_OK);
        sennit_sock_flush(dealer);
        while (b->answers < sent / ANSWERED) {
            CHECK_ERR(crew_recv(dealer, &number, 0), SENNIT_OK);
            b->answers++;
        }
    }
    sennit_sock_close(dealer);
}

/* One message for each wake, and back to sleep; no timeout anywhere. */
static void
receive_one_by_one(sennit_sock *dealer)
{
    int loop = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = { .events = EPOLLIN };
    uint64_t expected = 0;
    int count;
    int fd;

    assert_true(loop >= 0);
    assert_int_equal(sennit_sock_fd(dealer, SENNIT_READABLE, &fd), SENNIT_OK);
    assert_int_equal(epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event), 0);
    while (expected < MSGS) {
        sennit_err err;
        uint64_t number;

        do {
            count = epoll_wait(loop, &event, 1, STALLED_MS);
        } while (count < 0 && errno == EINTR);
        assert_int_equal(count, 1);
        if (!(sennit_sock_ready(dealer) & SENNIT_READABLE))
            continue;
        err = crew_recv(dealer, &number, SENNIT_DONTWAIT);
        if (err == SENNIT_EAGAIN)
            continue;
        assert_int_equal(err, SENNIT_OK);
        assert_int_equal(number, expected++);
        if (expected % ANSWERED == 0)
            assert_int_equal(crew_send(dealer, number, SENNIT_DONTWAIT), SENNIT_OK);
    }
    close(loop);
}

static void
check(bool hosted, const char *endpoint)
{
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;
    sennit_context *context;
    sennit_loop *loop;
    sennit_sock *dealer;
    bursts b = { .answers = 0 };
    hand h;

    assert_int_equal(sennit_context_open(&context, NULL), SENNIT_OK);
    opts.hosted = hosted;
    opts.context = context;
    assert_int_equal(sennit_loop_open(&loop, &opts), SENNIT_OK);
    dealer = crew_sock(loop, SENNIT_DEALER);
    assert_int_equal(sennit_sock_bind(dealer, endpoint), SENNIT_OK);
    b.endpoint = sennit_sock_last_endpoint(dealer);
    crew_start(&h, context, send_in_bursts, &b);
    receive_one_by_one(dealer);
    crew_join(&h);
    sennit_loop_close(loop);
    assert_int_equal(sennit_context_close(context), SENNIT_OK);
}

static void
D34_one_message_for_each_wake_of_an_owned_socket_tcp(void **state)
{
    (void)state;
    check(false, "tcp://127.0.0.1:*");
}

static void
D34_one_message_for_each_wake_of_an_owned_socket_inproc(void **state)
{
    (void)state;
    check(false, "inproc://D34");
}

static void
D34_one_message_for_each_wake_of_a_hosted_socket_tcp(void **state)
{
    (void)state;
    check(true, "tcp://127.0.0.1:*");
}

static void
D34_one_message_for_each_wake_of_a_hosted_socket_inproc(void **state)
{
    (void)state;
    check(true, "inproc://D34");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(D34_one_message_for_each_wake_of_an_owned_socket_tcp),
        cmocka_unit_test(D34_one_message_for_each_wake_of_an_owned_socket_inproc),
        cmocka_unit_test(D34_one_message_for_each_wake_of_a_hosted_socket_tcp),
        cmocka_unit_test(D34_one_message_for_each_wake_of_a_hosted_socket_inproc),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
