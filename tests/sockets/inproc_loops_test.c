/* SPDX-License-Identifier: MIT */
/* inproc between two loops, step by step: both loops are this thread's. What threads add
 * is in inproc_threads_test.c. */
#include "duo.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suite.h"

/* ---- meeting ----------------------------------------------------------- */

static void
both_ends_are_ready_and_know_each_other(void **state)
{
    sennit_sock *router;
    sennit_sock *dealer;
    sennit_event event;
    const char *endpoint;
    duo d;

    (void)state;
    duo_open(&d);
    router = net_sock(&d.a, SENNIT_ROUTER, NULL);
    dealer = net_named(&d.b, SENNIT_DEALER, "Dora");
    endpoint = duo_join(&d, router, dealer);
    assert_true(net_has_event(router, SENNIT_EVENT_READY, &event));
    assert_memory_equal(event.identity, "Dora", 4);
    assert_string_equal(event.endpoint, endpoint);
    assert_true(net_has_event(dealer, SENNIT_EVENT_READY, &event));
    assert_string_equal(event.endpoint, endpoint);
    net_send(dealer, "hello|you");
    assert_string_equal(duo_recv(&d, router), "Dora|hello|you");
    net_send(router, "Dora|fine");
    assert_string_equal(duo_recv(&d, dealer), "fine");
    duo_close(&d);
}

static bool
has_been_woken(const net *n)
{
    struct pollfd file = { .fd = sennit_loop_fd(n->loop), .events = POLLIN };

    return poll(&file, 1, 0) == 1;
}

/* Nobody rings for who is at work: that is a system call for each message. */
static void
a_receiver_is_woken_only_once_it_has_said_that_it_found_nothing(void **state)
{
    sennit_sock *pull;
    sennit_sock *push;
    duo d;

    (void)state;
    duo_open(&d);
    pull = net_sock(&d.a, SENNIT_PULL, NULL);
    push = net_sock(&d.b, SENNIT_PUSH, NULL);
    (void)duo_join(&d, pull, push);
    duo_settle(&d);
    assert_false(has_been_woken(&d.a));
    net_send(push, "first");
    assert_true(has_been_woken(&d.a));
    assert_string_equal(duo_recv(&d, pull), "first");
    /* Every 64th frame it may look at its peers, and asks again then. */
    for (unsigned i = 0; i < 50; i++) {
        net_send(push, "next");
        assert_false(has_been_woken(&d.a));
        assert_string_equal(net_recv(pull), "next");
    }
    assert_int_equal(sennit_sock_recv_bytes(pull, NULL, 0, NULL, SENNIT_DONTWAIT),
                     SENNIT_EAGAIN);
    net_send(push, "last");
    assert_true(has_been_woken(&d.a));
    assert_string_equal(net_recv(pull), "last");
    assert_int_equal(sennit_sock_ready(pull) & SENNIT_READABLE, 0);
    net_send(push, "behind it");
    assert_true(has_been_woken(&d.a));
    duo_close(&d);
}

/* For the rest of this process. */
static bool
forbid_membarrier(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof rules / sizeof rules[0], rules };

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static sennit_err
recv_nothing(sennit_sock *sock, unsigned flags)
{
    return sennit_sock_recv_bytes(sock, NULL, 0, NULL, flags);
}

/* What of it went wrong, or 0. In a process of its own. */
static int
without_a_fence(void)
{
    sennit_sock_opts opts = net_opts();
    unsigned received = 0;
    sennit_sock *pull;
    sennit_sock *push;
    sennit_err err;
    duo d;

    duo_open(&d);
    opts.recv_timeout_ms = 1;
    pull = net_sock(&d.a, SENNIT_PULL, &opts);
    push = net_sock(&d.b, SENNIT_PUSH, NULL);
    (void)duo_join(&d, pull, push);
    if (!forbid_membarrier())
        return 2;
    /* So many without a pause that their sender leaves the fence to the receiver. */
    for (unsigned i = 0; i < 1000; i++)
        if (sennit_sock_send_bytes(push, NULL, 0, SENNIT_DONTWAIT) != SENNIT_OK)
            return 3;
    while ((err = recv_nothing(pull, SENNIT_DONTWAIT)) == SENNIT_OK)
        received++;
    if (err != SENNIT_EAGAIN || received != 1000)
        return 4;
    /* It waits no longer than it should either, though it cannot sleep. */
    if (recv_nothing(pull, 0) != SENNIT_EAGAIN)
        return 5;
    if (sennit_sock_send_bytes(push, NULL, 0, SENNIT_DONTWAIT) != SENNIT_OK)
        return 6;
    if (!has_been_woken(&d.a))
        return 7;
    while (recv_nothing(pull, 0) != SENNIT_OK)
        continue;
    duo_close(&d);
    return 0;
}

/* As one that forbids itself system calls after it has begun. */
static void
a_receiver_whose_fence_is_refused_misses_no_message(void **state)
{
    pid_t child = fork();
    int status;

    (void)state;
    if (child == 0) {
        alarm(60);
        _exit(without_a_fence());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void
check_property(const sennit_sock *sock, const char *name, const char *expected)
{
    sennit_bytes value;
    sennit_peer peer;

    assert_int_equal(sennit_sock_get_peers(sock, &peer, 1), 1);
    assert_int_equal(sennit_sock_peer_property(sock, peer.number, name, &value),
                     SENNIT_OK);
    assert_int_equal(value.size, strlen(expected));
    assert_memory_equal(value.data, expected, value.size);
}

static void
a_peer_in_another_loop_is_told_with_its_properties(void **state)
{
    static const sennit_property own[] = { { "X-Name",
                                             { (const uint8_t *)"strand", 6 } } };
    sennit_sock_opts opts = net_opts();
    const char *endpoint;
    sennit_sock *router;
    sennit_sock *dealer;
    sennit_bytes value;
    sennit_peer peer;
    duo d;

    (void)state;
    duo_open(&d);
    router = net_sock(&d.a, SENNIT_ROUTER, NULL);
    memcpy(opts.identity, "Dora", 4);
    opts.identity_size = 4;
    opts.properties = own;
    opts.properties_count = 1;
    dealer = net_sock(&d.b, SENNIT_DEALER, &opts);
    net_connect(dealer, "inproc://properties");
    assert_int_equal(sennit_sock_get_peers(dealer, &peer, 1), 1);
    assert_int_equal(peer.type, -1);
    assert_int_equal(
        sennit_sock_peer_property(dealer, peer.number, "Socket-Type", &value),
        SENNIT_ENOENT);
    /* What is set later is for connects made later. */
    opts.properties_count = 0;
    assert_int_equal(sennit_sock_set_opts(dealer, &opts), SENNIT_OK);
    assert_int_equal(sennit_sock_bind(router, "inproc://properties"), SENNIT_OK);
    endpoint = sennit_sock_last_endpoint(router);
    DUO_UNTIL(&d, net_stats(router).connections == 1);
    assert_int_equal(sennit_sock_get_peers(router, &peer, 1), 1);
    assert_int_equal(peer.type, SENNIT_DEALER);
    assert_string_equal(peer.endpoint, endpoint);
    assert_true(peer.ready_at > 0);
    check_property(router, "Identity", "Dora");
    check_property(router, "x-name", "strand");
    check_property(dealer, "Socket-Type", "ROUTER");
    check_property(dealer, "Identity", "");
    duo_close(&d);
}

static void
five_messages_before_the_bind_arrive_in_order(void **state)
{
    static const char endpoint[] = "inproc://later";
    sennit_sock *push;
    sennit_sock *pull;
    duo d;

    (void)state;
    duo_open(&d);
    push = net_sock(&d.a, SENNIT_PUSH, NULL);
    net_connect(push, endpoint);
    for (int i = 0; i < 5; i++) {
        char text[8];

        snprintf(text, sizeof text, "%d|%d", i, i);
        net_send(push, text);
    }
    assert_int_equal(net_stats(push).queued_msgs, 5);
    assert_int_equal(net_stats(push).delivered_msgs, 0);
    net_check_law(push);
    pull = net_sock(&d.b, SENNIT_PULL, NULL);
    assert_int_equal(sennit_sock_bind(pull, endpoint), SENNIT_OK);
    for (int i = 0; i < 5; i++) {
        char text[8];

        snprintf(text, sizeof text, "%d|%d", i, i);
        assert_string_equal(duo_recv(&d, pull), text);
    }
    assert_int_equal(net_stats(push).delivered_msgs, 5);
    assert_int_equal(net_stats(push).queued_msgs, 0);
    net_check_law(push);
    duo_close(&d);
}

static void
a_bind_in_the_middle_of_a_message_waits_for_its_end(void **state)
{
    static const char endpoint[] = "inproc://middle";
    sennit_sock *push;
    sennit_sock *pull;
    duo d;

    (void)state;
    duo_open(&d);
    push = net_sock(&d.a, SENNIT_PUSH, NULL);
    pull = net_sock(&d.b, SENNIT_PULL, NULL);
    net_connect(push, endpoint);
    net_send(push, "one");
    assert_int_equal(sennit_sock_send_bytes(push, "two", 3, SENNIT_MORE), SENNIT_OK);
    assert_int_equal(sennit_sock_bind(pull, endpoint), SENNIT_OK);
    duo_settle(&d);
    assert_int_equal(net_stats(pull).connections, 0);
    net_send(push, "three");
    net_send(push, "four");
    assert_string_equal(duo_recv(&d, pull), "one");
    assert_string_equal(duo_recv(&d, pull), "two|three");
    assert_string_equal(duo_recv(&d, pull), "four");
    duo_close(&d);
}

static void
who_waits_in_the_binders_own_loop_needs_no_other_thread(void **state)
{
    static const char endpoint[] = "inproc://home";
    sennit_sock *near;
    sennit_sock *far;
    sennit_sock *pull;
    duo d;

    (void)state;
    duo_open(&d);
    near = net_sock(&d.a, SENNIT_PUSH, NULL);
    far = net_sock(&d.b, SENNIT_PUSH, NULL);
    pull = net_sock(&d.a, SENNIT_PULL, NULL);
    net_connect(near, endpoint);
    net_connect(far, endpoint);
    net_send(near, "near");
    net_send(far, "far");
    assert_int_equal(sennit_sock_bind(pull, endpoint), SENNIT_OK);
    /* At once, without a turn. */
    assert_string_equal(net_recv_flags(pull, SENNIT_DONTWAIT), "near");
    assert_int_equal(net_stats(near).connections, 1);
    assert_string_equal(duo_recv(&d, pull), "far");
    duo_close(&d);
}

static void
a_name_is_bound_once_in_all_loops(void **state)
{
    sennit_sock *first;
    sennit_sock *second;
    duo d;

    (void)state;
    duo_open(&d);
    first = net_sock(&d.a, SENNIT_PULL, NULL);
    second = net_sock(&d.b, SENNIT_PULL, NULL);
    assert_int_equal(sennit_sock_bind(first, "inproc://once"), SENNIT_OK);
    assert_int_equal(sennit_sock_bind(second, "inproc://once"), SENNIT_EADDRINUSE);
    assert_int_equal(sennit_sock_unbind(second, "inproc://once"), SENNIT_ENOENT);
    sennit_sock_close(first);
    assert_int_equal(sennit_sock_bind(second, "inproc://once"), SENNIT_OK);
    duo_close(&d);
}

static void
loops_without_a_context_share_no_names(void **state)
{
    sennit_sock *here;
    sennit_sock *there;
    net alone;
    duo d;

    (void)state;
    duo_open(&d);
    net_open(&alone);
    here = net_sock(&d.a, SENNIT_PULL, NULL);
    there = net_sock(&alone, SENNIT_PULL, NULL);
    assert_int_equal(sennit_sock_bind(here, "inproc://mine"), SENNIT_OK);
    assert_int_equal(sennit_sock_bind(there, "inproc://mine"), SENNIT_OK);
    net_close(&alone);
    duo_close(&d);
}

/* ---- refusals ---------------------------------------------------------- */

static void
types_that_do_not_go_together_are_refused(void **state)
{
    sennit_sock *pub;
    sennit_sock *push;
    sennit_event event;
    duo d;

    (void)state;
    duo_open(&d);
    pub = net_sock(&d.a, SENNIT_PUB, NULL);
    push = net_sock(&d.b, SENNIT_PUSH, NULL);
    assert_int_equal(sennit_sock_bind(pub, "inproc://pub"), SENNIT_OK);
    assert_int_equal(sennit_sock_connect(push, "inproc://pub"), SENNIT_EPROTO);
    /* And the other way round it is told later. */
    net_connect(push, "inproc://later");
    net_send(push, "lost");
    assert_int_equal(sennit_sock_bind(pub, "inproc://later"), SENNIT_OK);
    duo_settle(&d);
    assert_true(net_has_event(push, SENNIT_EVENT_HANDSHAKE_FAILED, &event));
    assert_int_equal(event.err, SENNIT_EPROTO);
    assert_int_equal(net_stats(push).handshakes_failed, 1);
    assert_int_equal(net_stats(push).dropped_disconnect_msgs, 1);
    net_check_law(push);
    duo_close(&d);
}

static void
a_second_peer_of_a_pair_is_refused_and_told(void **state)
{
    sennit_sock *binder;
    sennit_sock *first;
    sennit_sock *second;
    sennit_event event;
    const char *endpoint;
    duo d;

    (void)state;
    duo_open(&d);
    binder = net_sock(&d.a, SENNIT_PAIR, NULL);
    first = net_sock(&d.b, SENNIT_PAIR, NULL);
    second = net_sock(&d.b, SENNIT_PAIR, NULL);
    endpoint = duo_join(&d, binder, first);
    net_connect(second, endpoint);
    net_send(second, "into a hole");
    duo_settle(&d);
    assert_true(net_has_event(second, SENNIT_EVENT_HANDSHAKE_FAILED, &event));
    assert_int_equal(event.err, SENNIT_EEXIST);
    assert_int_equal(net_stats(second).dropped_disconnect_msgs, 1);
    net_check_law(second);
    assert_false(net_has_event(binder, SENNIT_EVENT_DISCONNECTED, &event));
    net_send(first, "still here");
    assert_string_equal(duo_recv(&d, binder), "still here");
    duo_close(&d);
}

/* The connecting ROUTER knows that identity already: the binder hears nothing of it. */
static void
a_taken_identity_is_refused_by_the_connecting_end_too(void **state)
{
    sennit_sock *router;
    sennit_sock *first;
    sennit_sock *second;
    sennit_event event;
    duo d;

    (void)state;
    duo_open(&d);
    router = net_sock(&d.a, SENNIT_ROUTER, NULL);
    first = net_named(&d.b, SENNIT_DEALER, "same");
    second = net_named(&d.b, SENNIT_DEALER, "same");
    (void)duo_join(&d, first, router);
    net_connect(router, net_bind(second, INPROC));
    net_send(second, "too early");
    duo_settle(&d);
    assert_true(net_has_event(router, SENNIT_EVENT_HANDSHAKE_FAILED, &event));
    assert_int_equal(event.err, SENNIT_EEXIST);
    assert_false(net_has_event(second, SENNIT_EVENT_READY, &event));
    assert_int_equal(net_stats(second).connections, 0);
    net_check_law(second);
    net_send(router, "same|you");
    assert_string_equal(duo_recv(&d, first), "you");
    duo_close(&d);
}

/* ---- every pair of types ----------------------------------------------- */

struct pair_row {
    const char *name;
    sennit_sock_type left;
    sennit_sock_type right;
    const char *sent;     /* by the left one */
    const char *received; /* by the right one */
    const char *answer;   /* by the right one; NULL: it cannot */
    const char *answered;
};

static const struct pair_row pair_rows[] = {
    { "PAIR_PAIR", SENNIT_PAIR, SENNIT_PAIR, "a|b", "a|b", "c", "c" },
    { "PUSH_PULL", SENNIT_PUSH, SENNIT_PULL, "a|b", "a|b", NULL, NULL },
    { "PUB_SUB", SENNIT_PUB, SENNIT_SUB, "a|b", "a|b", NULL, NULL },
    { "XPUB_SUB", SENNIT_XPUB, SENNIT_SUB, "a|b", "a|b", NULL, NULL },
    { "PUB_XSUB", SENNIT_PUB, SENNIT_XSUB, "a|b", "a|b", NULL, NULL },
    { "XPUB_XSUB", SENNIT_XPUB, SENNIT_XSUB, "a|b", "a|b", NULL, NULL },
    { "REQ_REP", SENNIT_REQ, SENNIT_REP, "a|b", "a|b", "c|d", "c|d" },
    { "REQ_ROUTER", SENNIT_REQ, SENNIT_ROUTER, "a", "L||a", "L||c", "c" },
    { "DEALER_REP", SENNIT_DEALER, SENNIT_REP, "|a", "a", "c", "|c" },
    { "DEALER_ROUTER", SENNIT_DEALER, SENNIT_ROUTER, "a", "L|a", "L|c", "c" },
    { "DEALER_DEALER", SENNIT_DEALER, SENNIT_DEALER, "a|b", "a|b", "c", "c" },
    { "ROUTER_ROUTER", SENNIT_ROUTER, SENNIT_ROUTER, "R|a", "L|a", "L|c", "R|c" },
};

static void
pair_talks(const struct pair_row *row, bool left_binds)
{
    sennit_sock *left;
    sennit_sock *right;
    duo d;

    duo_open(&d);
    left = net_named(&d.a, row->left, "L");
    right = net_named(&d.b, row->right, "R");
    if (row->right == SENNIT_SUB || row->right == SENNIT_XSUB)
        net_subscribe(right, "");
    if (left_binds)
        (void)duo_join(&d, left, right);
    else
        (void)duo_join(&d, right, left);
    duo_settle(&d);
    for (int round = 0; round < 100; round++) {
        net_send(left, row->sent);
        assert_string_equal(duo_recv(&d, right), row->received);
        if (row->answer == NULL)
            continue;
        net_send(right, row->answer);
        assert_string_equal(duo_recv(&d, left), row->answered);
    }
    duo_close(&d);
}

static void
check_pair(void **state)
{
    pair_talks(*state, true);
    pair_talks(*state, false);
}

/* ---- marks ------------------------------------------------------------- */

struct mark_row {
    const char *name;
    int send_hwm;
    int recv_hwm;
    unsigned fits; /* 5000: no limit */
    unsigned read; /* so many, and it may send again: half of it */
    unsigned fits_then;
};

static const struct mark_row mark_rows[] = {
    { "marks_3_and_4_add_up_to_7", 3, 4, 7, 4, 4 },
    { "marks_10_and_10_add_up_to_20", 10, 10, 20, 10, 10 },
    { "marks_1_and_1_add_up_to_2", 1, 1, 2, 1, 1 },
    { "no_mark_at_the_sender_is_no_limit", 0, 3, 5000, 1, 0 },
    { "no_mark_at_the_receiver_is_no_limit", 3, 0, 5000, 1, 0 },
    { "marks_1000_and_1000_add_up_to_2000", 1000, 1000, 2000, 1000, 1000 },
};

static void
check_marks(void **state)
{
    const struct mark_row *row = *state;
    sennit_sock_opts opts = net_opts();
    sennit_sock *push;
    sennit_sock *pull;
    duo d;

    duo_open(&d);
    opts.send_hwm_msgs = row->send_hwm;
    opts.recv_hwm_msgs = row->recv_hwm;
    push = net_sock(&d.a, SENNIT_PUSH, &opts);
    pull = net_sock(&d.b, SENNIT_PULL, &opts);
    (void)duo_join(&d, pull, push);
    duo_settle(&d);
    assert_int_equal(duo_fill(push, 5000), row->fits);
    for (unsigned i = 0; i < row->read; i++) {
        if (row->fits < 5000)
            assert_int_equal(duo_fill(push, 1), 0);
        assert_string_equal(duo_recv(&d, pull), "x");
    }
    duo_settle(&d);
    if (row->fits < 5000)
        assert_int_equal(duo_fill(push, 5000), row->fits_then);
    for (unsigned i = 0; i < row->fits - row->read + row->fits_then; i++)
        assert_string_equal(duo_recv(&d, pull), "x");
    assert_int_equal(sennit_sock_ready(pull) & SENNIT_READABLE, 0);
    net_check_law(push);
    duo_close(&d);
}

static void
before_the_bind_only_the_senders_mark_counts(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *push;
    sennit_sock *pull;
    duo d;

    (void)state;
    duo_open(&d);
    opts.send_hwm_msgs = 10;
    opts.recv_hwm_msgs = 5;
    push = net_sock(&d.a, SENNIT_PUSH, &opts);
    pull = net_sock(&d.b, SENNIT_PULL, &opts);
    net_connect(push, "inproc://marks");
    assert_int_equal(duo_fill(push, 100), 10);
    assert_int_equal(sennit_sock_bind(pull, "inproc://marks"), SENNIT_OK);
    duo_settle(&d);
    assert_int_equal(duo_fill(push, 100), 5);
    for (int i = 0; i < 15; i++)
        assert_string_equal(duo_recv(&d, pull), "x");
    duo_close(&d);
}

/* ---- endings ----------------------------------------------------------- */

static void
unbind_ends_the_connection_and_what_was_sent_is_read(void **state)
{
    sennit_sock *left;
    sennit_sock *right;
    sennit_event event;
    char endpoint[64];
    duo d;

    (void)state;
    duo_open(&d);
    left = net_sock(&d.a, SENNIT_DEALER, NULL);
    right = net_sock(&d.b, SENNIT_DEALER, NULL);
    snprintf(endpoint, sizeof endpoint, "%s", duo_join(&d, left, right));
    net_send(right, "one");
    net_send(right, "two");
    net_send(left, "three");
    assert_int_equal(sennit_sock_send_bytes(right, "half", 4, SENNIT_MORE), SENNIT_OK);
    assert_int_equal(sennit_sock_unbind(left, endpoint), SENNIT_OK);
    /* Not read by a socket that has parted: counted here. */
    duo_settle(&d);
    assert_true(net_has_event(left, SENNIT_EVENT_DISCONNECTED, &event));
    assert_true(net_has_event(right, SENNIT_EVENT_DISCONNECTED, &event));
    assert_string_equal(event.reason, "closed by peer");
    assert_string_equal(duo_recv(&d, left), "one");
    assert_string_equal(duo_recv(&d, left), "two");
    assert_string_equal(duo_recv(&d, right), "three");
    assert_string_equal(net_recv_flags(left, SENNIT_DONTWAIT), "EAGAIN");
    assert_string_equal(net_recv_flags(right, SENNIT_DONTWAIT), "EAGAIN");
    assert_int_equal(net_stats(left).connections, 0);
    assert_int_equal(net_stats(right).connections, 0);
    net_send(right, "lost");
    assert_int_equal(net_stats(right).dropped_disconnect_msgs, 1);
    net_check_law(left);
    net_check_law(right);
    assert_int_equal(sennit_sock_disconnect(right, endpoint), SENNIT_ENOENT);
    duo_close(&d);
}

static void
disconnect_ends_the_connection_and_what_was_sent_is_read(void **state)
{
    sennit_sock *left;
    sennit_sock *right;
    char endpoint[64];
    duo d;

    (void)state;
    duo_open(&d);
    left = net_sock(&d.a, SENNIT_PAIR, NULL);
    right = net_sock(&d.b, SENNIT_PAIR, NULL);
    snprintf(endpoint, sizeof endpoint, "%s", duo_join(&d, left, right));
    net_send(right, "one");
    assert_int_equal(sennit_sock_disconnect(right, endpoint), SENNIT_OK);
    assert_int_equal(sennit_sock_disconnect(right, endpoint), SENNIT_ENOENT);
    /* Sent before the other end knows: it is gone, and counted. */
    net_send(left, "too late");
    assert_int_equal(net_stats(left).dropped_disconnect_msgs, 1);
    assert_string_equal(duo_recv(&d, left), "one");
    duo_settle(&d);
    net_check_law(left);
    /* The name is still bound. */
    net_connect(right, endpoint);
    net_send(right, "again");
    assert_string_equal(duo_recv(&d, left), "again");
    duo_close(&d);
}

/* Asked, and then nobody is there: it waits for the next one, with all it has. */
static void
a_binder_that_leaves_before_it_answers_is_succeeded_by_the_next(void **state)
{
    sennit_sock *push;
    sennit_sock *first;
    sennit_sock *second;
    duo d;

    (void)state;
    duo_open(&d);
    push = net_sock(&d.a, SENNIT_PUSH, NULL);
    first = net_sock(&d.b, SENNIT_PULL, NULL);
    assert_int_equal(sennit_sock_bind(first, "inproc://heir"), SENNIT_OK);
    net_connect(push, "inproc://heir");
    net_send(push, "one");
    assert_int_equal(sennit_sock_unbind(first, "inproc://heir"), SENNIT_OK);
    duo_settle(&d);
    net_send(push, "two");
    net_check_law(push);
    assert_int_equal(net_stats(push).queued_msgs, 2);
    /* This time in the connecter's own loop. */
    second = net_sock(&d.a, SENNIT_PULL, NULL);
    assert_int_equal(sennit_sock_bind(second, "inproc://heir"), SENNIT_OK);
    assert_string_equal(duo_recv(&d, second), "one");
    assert_string_equal(duo_recv(&d, second), "two");
    net_send(push, "three");
    assert_string_equal(duo_recv(&d, second), "three");
    net_check_law(push);
    duo_close(&d);
}

static void
a_connecter_that_leaves_before_it_is_answered_leaves_nothing(void **state)
{
    sennit_sock *push;
    sennit_sock *pull;
    sennit_event event;
    duo d;

    (void)state;
    duo_open(&d);
    push = net_sock(&d.a, SENNIT_PUSH, NULL);
    pull = net_sock(&d.b, SENNIT_PULL, NULL);
    assert_int_equal(sennit_sock_bind(pull, "inproc://brief"), SENNIT_OK);
    net_connect(push, "inproc://brief");
    net_send(push, "one");
    assert_int_equal(sennit_sock_disconnect(push, "inproc://brief"), SENNIT_OK);
    assert_int_equal(net_stats(push).dropped_disconnect_msgs, 1);
    duo_settle(&d);
    assert_false(net_has_event(pull, SENNIT_EVENT_READY, &event));
    assert_int_equal(sennit_sock_ready(pull) & SENNIT_READABLE, 0);
    /* Accepted already, but not met. */
    net_connect(push, "inproc://brief");
    net_send(push, "two");
    assert_int_equal(sennit_loop_turn(d.b.loop, 0), SENNIT_OK);
    sennit_sock_close(push);
    duo_settle(&d);
    assert_false(net_has_event(pull, SENNIT_EVENT_READY, &event));
    assert_int_equal(sennit_sock_ready(pull) & SENNIT_READABLE, 0);
    duo_close(&d);
}

/* Closes two joined sockets and their loops in every order, with messages under way. */
static void
every_order_of_closing_gives_everything_back(void **state)
{
    (void)state;
    for (unsigned order = 0; order < 64; order++) {
        static uint8_t large[20000];
        sennit_sock *left;
        sennit_sock *right;
        duo d;

        duo_open(&d);
        left = net_sock(&d.a, SENNIT_DEALER, NULL);
        right = net_sock(&d.b, SENNIT_DEALER, NULL);
        (void)duo_join(&d, left, right);
        if (order & 16)
            duo_settle(&d);
        for (int i = 0; i < 100; i++) {
            assert_int_equal(
                sennit_sock_send_bytes(left, large, sizeof large, SENNIT_MORE),
                SENNIT_OK);
            net_send(left, "end");
            net_send(right, "x|y");
        }
        assert_int_equal(sennit_sock_send_bytes(left, large, 100, SENNIT_MORE),
                         SENNIT_OK);
        if (order & 32)
            assert_string_equal(duo_recv(&d, left), "x|y");
        if (order & 1)
            sennit_sock_close(left);
        if (order & 2)
            assert_int_equal(sennit_loop_turn(d.b.loop, 0), SENNIT_OK);
        if (order & 4)
            sennit_sock_close(right);
        if (order & 8) {
            sennit_loop_close(d.b.loop);
            d.b.loop = NULL;
        } else {
            duo_settle(&d);
        }
        duo_close(&d);
    }
}

static void
a_loop_that_closes_turns_away_who_asked_for_it(void **state)
{
    sennit_sock *push;
    sennit_sock *pull;
    duo d;

    (void)state;
    duo_open(&d);
    push = net_sock(&d.a, SENNIT_PUSH, NULL);
    pull = net_sock(&d.b, SENNIT_PULL, NULL);
    assert_int_equal(sennit_sock_bind(pull, "inproc://closing"), SENNIT_OK);
    net_connect(push, "inproc://closing");
    net_send(push, "one");
    sennit_loop_close(d.b.loop);
    d.b.loop = NULL;
    assert_int_equal(sennit_loop_turn(d.a.loop, 0), SENNIT_OK);
    net_check_law(push);
    assert_int_equal(net_stats(push).queued_msgs, 1);
    pull = net_sock(&d.a, SENNIT_PULL, NULL);
    assert_int_equal(sennit_sock_bind(pull, "inproc://closing"), SENNIT_OK);
    NET_UNTIL(&d.a, sennit_sock_ready(pull) & SENNIT_READABLE);
    assert_string_equal(net_recv_flags(pull, SENNIT_DONTWAIT), "one");
    duo_close(&d);
}

static void
a_request_whose_server_went_away_is_told(void **state)
{
    sennit_sock *req;
    sennit_sock *rep;
    duo d;

    (void)state;
    duo_open(&d);
    req = net_sock(&d.a, SENNIT_REQ, NULL);
    rep = net_sock(&d.b, SENNIT_REP, NULL);
    (void)duo_join(&d, rep, req);
    net_send(req, "are you there?");
    assert_string_equal(duo_recv(&d, rep), "are you there?");
    sennit_sock_close(rep);
    duo_settle(&d);
    assert_string_equal(net_recv_flags(req, SENNIT_DONTWAIT), "ECONNRESET");
    duo_close(&d);
}

/* ---- publish and subscribe --------------------------------------------- */

static void
subscriptions_reach_the_publisher_from_either_end(void **state)
{
    (void)state;
    for (int pub_binds = 0; pub_binds < 2; pub_binds++) {
        sennit_sock *pub;
        sennit_sock *sub;
        duo d;

        duo_open(&d);
        pub = net_sock(&d.a, SENNIT_PUB, NULL);
        sub = net_sock(&d.b, SENNIT_SUB, NULL);
        net_subscribe(sub, "a");
        if (pub_binds)
            (void)duo_join(&d, pub, sub);
        else
            (void)duo_join(&d, sub, pub);
        DUO_UNTIL(&d, net_stats(pub).subscriptions == 1);
        net_subscribe(sub, "b");
        DUO_UNTIL(&d, net_stats(pub).subscriptions == 2);
        net_send(pub, "a1|x");
        net_send(pub, "c1|x");
        net_send(pub, "b1|x");
        assert_int_equal(net_stats(pub).dropped_no_peer_msgs, 1);
        assert_string_equal(duo_recv(&d, sub), "a1|x");
        assert_string_equal(duo_recv(&d, sub), "b1|x");
        assert_int_equal(sennit_sock_unsubscribe(sub, net_bytes("a")), SENNIT_OK);
        DUO_UNTIL(&d, net_stats(pub).subscriptions == 1);
        net_send(pub, "a2");
        net_send(pub, "b2");
        assert_string_equal(duo_recv(&d, sub), "b2");
        sennit_sock_close(sub);
        DUO_UNTIL(&d, net_stats(pub).subscriptions == 0);
        duo_close(&d);
    }
}

static void
a_full_subscriber_misses_whole_messages_only(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_event event;
    sennit_sock *pub;
    sennit_sock *sub;
    unsigned seen = 0;
    duo d;

    (void)state;
    duo_open(&d);
    opts.send_hwm_msgs = 5;
    opts.recv_hwm_msgs = 5;
    pub = net_sock(&d.a, SENNIT_PUB, &opts);
    sub = net_sock(&d.b, SENNIT_SUB, &opts);
    net_subscribe(sub, "");
    (void)duo_join(&d, pub, sub);
    DUO_UNTIL(&d, net_stats(pub).subscriptions == 1);
    for (int i = 0; i < 30; i++)
        net_send(pub, "a|b|c");
    assert_int_equal(net_stats(pub).dropped_hwm_msgs, 20);
    assert_true(net_has_event(pub, SENNIT_EVENT_SLOW, &event));
    assert_false(net_has_event(pub, SENNIT_EVENT_SLOW, &event));
    duo_settle(&d);
    while (sennit_sock_ready(sub) & SENNIT_READABLE) {
        assert_string_equal(duo_recv(&d, sub), "a|b|c");
        seen++;
        duo_settle(&d);
    }
    assert_int_equal(seen, 10);
    /* It has drained, and may become slow again. */
    for (int i = 0; i < 11; i++)
        net_send(pub, "x");
    assert_true(net_has_event(pub, SENNIT_EVENT_SLOW, &event));
    for (int i = 0; i < 10; i++)
        assert_string_equal(duo_recv(&d, sub), "x");
    /* A thousand topics on a full connection: state is not subject to marks. */
    for (int i = 0; i < 1000; i++) {
        char text[16];

        snprintf(text, sizeof text, "topic %d", i);
        net_subscribe(sub, text);
    }
    DUO_UNTIL(&d, net_stats(pub).subscriptions == 1001);
    duo_close(&d);
}

/* An XPUB hears subscriptions and messages of an XSUB in the order they were sent. */
static void
what_an_xsub_sends_reaches_the_xpub_in_order(void **state)
{
    sennit_sock *xpub;
    sennit_sock *xsub;
    duo d;

    (void)state;
    duo_open(&d);
    xpub = net_sock(&d.a, SENNIT_XPUB, NULL);
    xsub = net_sock(&d.b, SENNIT_XSUB, NULL);
    (void)duo_join(&d, xpub, xsub);
    duo_settle(&d);
    net_subscribe(xsub, "a");
    net_send(xsub, "hello|you");
    net_subscribe(xsub, "b");
    assert_string_equal(duo_recv(&d, xpub), "\001a");
    assert_string_equal(duo_recv(&d, xpub), "hello|you");
    assert_string_equal(duo_recv(&d, xpub), "\001b");
    net_check_law(xsub);
    duo_close(&d);
}

/* Though it had as many unread as it may, and would hear no more of one that stays. */
static void
what_an_xsub_sent_before_it_left_reaches_the_xpub(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *xpub;
    sennit_sock *xsub;
    duo d;

    (void)state;
    duo_open(&d);
    opts.recv_hwm_msgs = 1;
    xpub = net_sock(&d.a, SENNIT_XPUB, &opts);
    xsub = net_sock(&d.b, SENNIT_XSUB, NULL);
    (void)duo_join(&d, xpub, xsub);
    for (int i = 0; i < 5; i++)
        net_send(xsub, "m");
    sennit_sock_close(xsub);
    DUO_UNTIL(&d, net_stats(xpub).connections == 0);
    for (int i = 0; i < 5; i++)
        assert_string_equal(duo_recv(&d, xpub), "m");
    assert_string_equal(net_recv_flags(xpub, SENNIT_DONTWAIT), "EAGAIN");
    assert_int_equal(sennit_sock_get_peers(xpub, NULL, 0), 0);
    duo_close(&d);
}

static void
greetings_come_before_what_was_sent_before_the_bind(void **state)
{
    (void)state;
    for (int same_loop = 0; same_loop < 2; same_loop++) {
        sennit_sock_opts opts = net_opts();
        sennit_sock *left;
        sennit_sock *right;
        duo d;

        duo_open(&d);
        opts.hello = net_bytes("hello");
        left = net_sock(&d.a, SENNIT_DEALER, &opts);
        right = net_sock(same_loop ? &d.a : &d.b, SENNIT_DEALER, &opts);
        net_connect(left, "inproc://polite");
        net_send(left, "first");
        net_send(left, "second");
        assert_int_equal(sennit_sock_bind(right, "inproc://polite"), SENNIT_OK);
        assert_string_equal(duo_recv(&d, right), "hello");
        assert_string_equal(duo_recv(&d, right), "first");
        assert_string_equal(duo_recv(&d, right), "second");
        assert_string_equal(duo_recv(&d, left), "hello");
        net_check_law(left);
        net_check_law(right);
        assert_int_equal(net_stats(left).delivered_msgs, 2);
        duo_close(&d);
    }
}

static void
one_peer_can_be_disconnected_by_its_number(void **state)
{
    sennit_sock *left;
    sennit_sock *right;
    sennit_event event;
    duo d;

    (void)state;
    duo_open(&d);
    left = net_sock(&d.a, SENNIT_DEALER, NULL);
    right = net_sock(&d.b, SENNIT_DEALER, NULL);
    (void)duo_join(&d, left, right);
    assert_true(net_has_event(left, SENNIT_EVENT_READY, &event));
    net_send(left, "last words");
    assert_int_equal(sennit_sock_disconnect_peer(left, event.peer + 1), SENNIT_ENOENT);
    assert_int_equal(sennit_sock_disconnect_peer(left, event.peer), SENNIT_OK);
    duo_settle(&d);
    assert_true(net_has_event(left, SENNIT_EVENT_DISCONNECTED, &event));
    assert_string_equal(event.reason, "disconnected by the application");
    assert_true(net_has_event(right, SENNIT_EVENT_DISCONNECTED, &event));
    assert_string_equal(duo_recv(&d, right), "last words");
    duo_close(&d);
}

static void
options_that_inproc_does_not_obey_are_refused_by_name(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *sock;
    duo d;

    (void)state;
    duo_open(&d);
    opts.conflate = true;
    sock = net_sock(&d.a, SENNIT_PULL, &opts);
    assert_int_equal(sennit_sock_bind(sock, "inproc://x"), SENNIT_ENOTSUP);
    assert_non_null(strstr(sennit_loop_why(d.a.loop), "conflate"));
    assert_int_equal(sennit_sock_connect(sock, "inproc://x"), SENNIT_ENOTSUP);
    opts.conflate = false;
    opts.slow_subscriber = SENNIT_SLOW_DROP_OLD;
    sock = net_sock(&d.a, SENNIT_PUB, &opts);
    assert_int_equal(sennit_sock_connect(sock, "inproc://x"), SENNIT_ENOTSUP);
    assert_non_null(strstr(sennit_loop_why(d.a.loop), "slow_subscriber"));
    opts.slow_subscriber = SENNIT_SLOW_DROP_NEW;
    assert_int_equal(sennit_sock_set_opts(sock, &opts), SENNIT_OK);
    assert_int_equal(sennit_sock_bind(sock, "inproc://y"), SENNIT_OK);
    opts.slow_subscriber = SENNIT_SLOW_CONFLATE;
    assert_int_equal(sennit_sock_set_opts(sock, &opts), SENNIT_ENOTSUP);
    assert_non_null(strstr(sennit_loop_why(d.a.loop), "slow_subscriber"));
    opts.slow_subscriber = SENNIT_SLOW_DROP_NEW;
    opts.send_age_max_ms = 5;
    sock = net_sock(&d.a, SENNIT_PUSH, &opts);
    assert_int_equal(sennit_sock_connect(sock, "inproc://x"), SENNIT_ENOTSUP);
    assert_non_null(strstr(sennit_loop_why(d.a.loop), "send_age_max_ms"));
    duo_close(&d);
}

/* ---- bodies ------------------------------------------------------------ */

static void
count_release(void *data, void *arg)
{
    (void)data;
    ++*(unsigned *)arg;
}

static void
a_body_goes_over_without_a_copy_and_is_released_once(void **state)
{
    static char body[100000];
    sennit_sock *push;
    sennit_sock *pull;
    sennit_msg msg;
    unsigned released = 0;
    duo d;

    (void)state;
    duo_open(&d);
    push = net_sock(&d.a, SENNIT_PUSH, NULL);
    pull = net_sock(&d.b, SENNIT_PULL, NULL);
    (void)duo_join(&d, pull, push);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            sennit_msg_init_user(&msg, body, sizeof body, count_release, &released),
            SENNIT_OK);
        assert_int_equal(sennit_sock_send(push, &msg, 0), SENNIT_OK);
    }
    DUO_UNTIL(&d, sennit_sock_ready(pull) & SENNIT_READABLE);
    assert_int_equal(sennit_sock_recv(pull, &msg, SENNIT_DONTWAIT), SENNIT_OK);
    assert_ptr_equal(sennit_msg_data(&msg), body);
    sennit_sock_close(push);
    assert_int_equal(released, 0);
    sennit_msg_fini(&msg);
    assert_int_equal(released, 1);
    sennit_sock_close(pull);
    duo_close(&d);
    assert_int_equal(released, 2);
}

/* ---- no memory --------------------------------------------------------- */

static void
may_fail(sennit_err err)
{
    if (err != SENNIT_OK && err != SENNIT_ENOMEM && err != SENNIT_EAGAIN)
        fail_msg("%s for want of memory", sennit_err_name(err));
}

/* A whole life: anything may fail, nothing may break, and nothing may be left. */
static void
live(duo *d)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *socks[4] = { NULL };
    static uint8_t body[300];

    if (sennit_sock_open(&socks[0], d->a.loop, SENNIT_ROUTER, &opts) != SENNIT_OK ||
        sennit_sock_open(&socks[1], d->b.loop, SENNIT_DEALER, &opts) != SENNIT_OK ||
        sennit_sock_open(&socks[2], d->a.loop, SENNIT_SUB, &opts) != SENNIT_OK ||
        sennit_sock_open(&socks[3], d->b.loop, SENNIT_PUB, &opts) != SENNIT_OK)
        return;
    may_fail(sennit_sock_connect(socks[1], "inproc://life"));
    for (int i = 0; i < 100; i++)
        may_fail(sennit_sock_send_bytes(socks[1], body, sizeof body, SENNIT_DONTWAIT));
    may_fail(sennit_sock_bind(socks[0], "inproc://life"));
    may_fail(sennit_sock_bind(socks[3], "inproc://news"));
    may_fail(sennit_sock_subscribe(socks[2], net_bytes("a")));
    may_fail(sennit_sock_connect(socks[2], "inproc://news"));
    duo_settle(d);
    may_fail(sennit_sock_subscribe(socks[2], net_bytes("b")));
    duo_settle(d);
    for (int i = 0; i < 100; i++) {
        may_fail(net_try_send(socks[1], "c|d", SENNIT_DONTWAIT));
        may_fail(net_try_send(socks[3], "a|b|c", SENNIT_DONTWAIT));
    }
    duo_settle(d);
    while (net_recv_flags(socks[0], SENNIT_DONTWAIT)[0] != 'E')
        ;
    while (net_recv_flags(socks[2], SENNIT_DONTWAIT)[0] == 'a')
        ;
    net_check_law(socks[1]);
    (void)sennit_sock_unbind(socks[0], "inproc://life");
    duo_settle(d);
    net_check_law(socks[1]);
}

static void
check_memory(void **state)
{
    size_t place = (size_t)(uintptr_t)*state;
    bool failed = true;

    for (uint64_t k = 1; failed; k++) {
        test_alloc *allocs[3];
        duo d;

        test_alloc_init(&d.shared);
        test_alloc_init(&d.a.alloc);
        test_alloc_init(&d.b.alloc);
        allocs[0] = &d.shared;
        allocs[1] = &d.a.alloc;
        allocs[2] = &d.b.alloc;
        test_alloc_fail_at(allocs[place], k);
        if (duo_try_open(&d) == SENNIT_OK)
            live(&d);
        failed = allocs[place]->failed > 0;
        duo_close(&d);
    }
}

int
main(void)
{
    static const struct CMUnitTest fixed[] = {
        cmocka_unit_test(both_ends_are_ready_and_know_each_other),
        cmocka_unit_test(a_peer_in_another_loop_is_told_with_its_properties),
        cmocka_unit_test(five_messages_before_the_bind_arrive_in_order),
        cmocka_unit_test(a_bind_in_the_middle_of_a_message_waits_for_its_end),
        cmocka_unit_test(who_waits_in_the_binders_own_loop_needs_no_other_thread),
        cmocka_unit_test(a_name_is_bound_once_in_all_loops),
        cmocka_unit_test(loops_without_a_context_share_no_names),
        cmocka_unit_test(types_that_do_not_go_together_are_refused),
        cmocka_unit_test(a_second_peer_of_a_pair_is_refused_and_told),
        cmocka_unit_test(a_taken_identity_is_refused_by_the_connecting_end_too),
        cmocka_unit_test(before_the_bind_only_the_senders_mark_counts),
        cmocka_unit_test(unbind_ends_the_connection_and_what_was_sent_is_read),
        cmocka_unit_test(disconnect_ends_the_connection_and_what_was_sent_is_read),
        cmocka_unit_test(a_binder_that_leaves_before_it_answers_is_succeeded_by_the_next),
        cmocka_unit_test(a_connecter_that_leaves_before_it_is_answered_leaves_nothing),
        cmocka_unit_test(every_order_of_closing_gives_everything_back),
        cmocka_unit_test(a_loop_that_closes_turns_away_who_asked_for_it),
        cmocka_unit_test(a_request_whose_server_went_away_is_told),
        cmocka_unit_test(subscriptions_reach_the_publisher_from_either_end),
        cmocka_unit_test(a_full_subscriber_misses_whole_messages_only),
        cmocka_unit_test(a_body_goes_over_without_a_copy_and_is_released_once),
        cmocka_unit_test(what_an_xsub_sends_reaches_the_xpub_in_order),
        cmocka_unit_test(what_an_xsub_sent_before_it_left_reaches_the_xpub),
        cmocka_unit_test(greetings_come_before_what_was_sent_before_the_bind),
        cmocka_unit_test(a_receiver_is_woken_only_once_it_has_said_that_it_found_nothing),
        cmocka_unit_test(a_receiver_whose_fence_is_refused_misses_no_message),
        cmocka_unit_test(one_peer_can_be_disconnected_by_its_number),
        cmocka_unit_test(options_that_inproc_does_not_obey_are_refused_by_name),
    };
    static const char *const places[] = {
        "any_allocation_of_the_context_may_fail",
        "any_allocation_of_the_first_loop_may_fail",
        "any_allocation_of_the_second_loop_may_fail",
    };
    static test_suite suite;

    TEST_SUITE_ROWS(&suite, "", pair_rows, check_pair);
    TEST_SUITE_ROWS(&suite, "", mark_rows, check_marks);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        test_suite_row(&suite, "", places[i], check_memory, (const void *)i);
    TEST_SUITE_ADD(&suite, fixed);
    return test_suite_run(&suite);
}
