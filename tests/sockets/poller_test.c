/* SPDX-License-Identifier: MIT */
/* A poller tells everything that is ready in one call and starves nothing, whatever is
 * closed, changed or broken meanwhile. */
#include "net.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "sennit/poller.h"

#define MAX_EVENTS 32

static net n;
static sennit_poller *p;
static sennit_poller_event events[MAX_EVENTS];
static size_t told;

static void
begin(void)
{
    net_open(&n);
    assert_int_equal(sennit_poller_open(&p, &n.alloc.allocator), SENNIT_OK);
}

static void
finish(void)
{
    sennit_poller_close(p);
    net_close(&n);
}

static uint64_t
add_sock(sennit_sock *sock, unsigned interest)
{
    uint64_t id = 0;

    assert_int_equal(sennit_poller_add_sock(p, sock, interest, sock, &id), SENNIT_OK);
    assert_true(id != 0);
    return id;
}

static uint64_t
add_fd(int fd, unsigned interest)
{
    uint64_t id = 0;

    assert_int_equal(sennit_poller_add_fd(p, fd, interest, NULL, &id), SENNIT_OK);
    assert_true(id != 0);
    return id;
}

static uint64_t
add_timer(sennit_time delay_ns, sennit_time interval_ns)
{
    uint64_t id = 0;

    assert_int_equal(sennit_poller_add_timer(p, delay_ns, interval_ns, NULL, &id),
                     SENNIT_OK);
    assert_true(id != 0);
    return id;
}

/* Waits for something, which must come. */
static void
wait_some(size_t max)
{
    told = 0;
    assert_int_equal(sennit_poller_wait(p, events, max, DEADLINE_MS, &told), SENNIT_OK);
    assert_true(told <= max);
}

static sennit_err
try_wait(void)
{
    told = 99;
    return sennit_poller_wait(p, events, MAX_EVENTS, 0, &told);
}

/* What that wait told of `id`; 0: nothing. */
static unsigned
told_of(uint64_t id)
{
    unsigned ready = 0;

    for (size_t i = 0; i < told; i++)
        if (events[i].id == id) {
            assert_int_equal(ready, 0);
            ready = events[i].ready;
        }
    return ready;
}

/* Waits until it is told, whatever else is; gives its bits. */
static unsigned
await(uint64_t id)
{
    sennit_time started = sennit_loop_now(n.loop);
    unsigned ready;

    do {
        wait_some(MAX_EVENTS);
        ready = told_of(id);
        assert_true(sennit_loop_now(n.loop) - started <
                    (sennit_time)DEADLINE_MS * 1000000u);
    } while (ready == 0);
    return ready;
}

static void
open_pipe(int fds[2])
{
    assert_int_equal(pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
}

static void
close_both(const int fds[2])
{
    close(fds[0]);
    close(fds[1]);
}

static void
put(int fd)
{
    assert_int_equal(write(fd, "x", 1), 1);
}

static void
get(int fd)
{
    char octet;

    assert_int_equal(read(fd, &octet, 1), 1);
}

/* A pair over `via`, both READY. */
static void
join(sennit_sock **push, sennit_sock **pull, transport via)
{
    *pull = net_sock(&n, SENNIT_PULL, NULL);
    *push = net_sock(&n, SENNIT_PUSH, NULL);
    net_join(&n, *pull, *push, via);
}

/* ---- what is told ------------------------------------------------------ */

static void
sockets_descriptors_and_timers_are_told_in_one_call(void **state)
{
    sennit_sock *push;
    sennit_sock *pull;
    int fds[2];
    uint64_t ids[5];

    (void)state;
    begin();
    join(&push, &pull, TCP);
    open_pipe(fds);
    ids[0] = add_sock(pull, SENNIT_READABLE);
    ids[1] = add_sock(push, SENNIT_WRITABLE);
    ids[2] = add_fd(fds[0], SENNIT_READABLE);
    ids[3] = add_fd(fds[1], SENNIT_WRITABLE);
    ids[4] = add_timer(0, 0);
    assert_int_equal(sennit_poller_count(p), 5);
    net_send(push, "hello");
    put(fds[1]);
    NET_UNTIL(&n, sennit_sock_ready(pull) & SENNIT_READABLE);
    wait_some(MAX_EVENTS);
    assert_int_equal(told, 5);
    assert_int_equal(told_of(ids[0]), SENNIT_READABLE);
    assert_int_equal(told_of(ids[1]), SENNIT_WRITABLE);
    assert_int_equal(told_of(ids[2]), SENNIT_READABLE);
    assert_int_equal(told_of(ids[3]), SENNIT_WRITABLE);
    assert_int_equal(told_of(ids[4]), SENNIT_DUE);
    for (size_t i = 0; i < told; i++) {
        bool is_sock = events[i].id == ids[0] || events[i].id == ids[1];

        assert_ptr_equal(events[i].sock, events[i].key);
        assert_int_equal(events[i].sock != NULL, is_sock);
        assert_int_equal(events[i].fd >= 0,
                         events[i].id == ids[2] || events[i].id == ids[3]);
        assert_int_equal(events[i].due_count, events[i].id == ids[4] ? 1 : 0);
    }
    close_both(fds);
    finish();
}

static void
what_is_ready_is_told_until_it_is_not(void **state)
{
    sennit_sock *push;
    sennit_sock *pull;
    int fds[2];
    uint64_t sock_id;
    uint64_t fd_id;

    (void)state;
    begin();
    join(&push, &pull, IPC);
    open_pipe(fds);
    sock_id = add_sock(pull, SENNIT_READABLE);
    fd_id = add_fd(fds[0], SENNIT_READABLE);
    assert_int_equal(try_wait(), SENNIT_EAGAIN);
    assert_int_equal(told, 99);
    assert_string_equal(sennit_poller_why(p), "nothing is ready");
    net_send(push, "1");
    net_send(push, "2");
    put(fds[1]);
    (void)await(sock_id);
    for (int i = 0; i < 3; i++) {
        wait_some(MAX_EVENTS);
        assert_int_equal(told_of(sock_id), SENNIT_READABLE);
        assert_int_equal(told_of(fd_id), SENNIT_READABLE);
    }
    assert_string_equal(net_recv(pull), "1");
    get(fds[0]);
    (void)await(sock_id);
    assert_int_equal(told, 1);
    assert_string_equal(net_recv(pull), "2");
    assert_int_equal(try_wait(), SENNIT_EAGAIN);
    close_both(fds);
    finish();
}

static void
a_wait_ends_when_a_socket_becomes_ready(void **state)
{
    const transport vias[] = { TCP, IPC, INPROC };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        sennit_sock *pull;
        sennit_sock *push;
        uint64_t id;

        begin();
        pull = net_sock(&n, SENNIT_PULL, NULL);
        push = net_sock(&n, SENNIT_PUSH, NULL);
        id = add_sock(pull, SENNIT_READABLE);
        /* The connection is made within the waits too. */
        net_connect(push, net_bind(pull, vias[i]));
        net_send(push, "hello");
        assert_int_equal(await(id), SENNIT_READABLE);
        assert_string_equal(net_recv(pull), "hello");
        finish();
    }
}

static void
events_of_a_socket_are_told(void **state)
{
    sennit_sock *push;
    sennit_sock *pull;
    sennit_event event;
    uint64_t id;

    (void)state;
    begin();
    join(&push, &pull, TCP);
    while (sennit_sock_next_event(pull, &event) == SENNIT_OK)
        continue;
    id = add_sock(pull, SENNIT_EVENTS);
    assert_int_equal(try_wait(), SENNIT_EAGAIN);
    sennit_sock_close(push);
    assert_int_equal(await(id), SENNIT_EVENTS);
    assert_int_equal(sennit_sock_next_event(pull, &event), SENNIT_OK);
    assert_int_equal(event.kind, SENNIT_EVENT_DISCONNECTED);
    finish();
}

/* ---- fairness ---------------------------------------------------------- */

static void
with_room_for_few_each_has_its_turn(void **state)
{
    enum { READY = 10, ROOM = 3, WAITS = 20 };
    uint64_t ids[READY];
    unsigned counts[READY] = { 0 };
    int fds[READY][2];

    (void)state;
    begin();
    for (int i = 0; i < READY; i++) {
        open_pipe(fds[i]);
        put(fds[i][1]);
        ids[i] = add_fd(fds[i][0], SENNIT_READABLE);
    }
    for (int w = 0; w < WAITS; w++) {
        wait_some(ROOM);
        assert_int_equal(told, ROOM);
        for (int i = 0; i < READY; i++)
            counts[i] += told_of(ids[i]) != 0;
    }
    for (int i = 0; i < READY; i++)
        assert_int_equal(counts[i], ROOM * WAITS / READY);
    for (int i = 0; i < READY; i++)
        close_both(fds[i]);
    finish();
}

/* One socket that always has more, and room for a single event. */
static void
a_flooded_socket_hides_nothing_else(void **state)
{
    sennit_sock *flood[2];
    sennit_sock *quiet[2];
    int fds[2];
    uint64_t flooded;
    unsigned rounds = 0;
    uint64_t ids[3];
    bool seen[3] = { false };

    (void)state;
    begin();
    join(&flood[0], &flood[1], TCP);
    join(&quiet[0], &quiet[1], TCP);
    open_pipe(fds);
    flooded = add_sock(flood[1], SENNIT_READABLE);
    for (int i = 0; i < 300; i++)
        net_send(flood[0], "flood");
    assert_int_equal(await(flooded), SENNIT_READABLE);
    ids[0] = add_sock(quiet[1], SENNIT_READABLE);
    ids[1] = add_fd(fds[0], SENNIT_READABLE);
    ids[2] = add_timer(0, 0);
    net_send(quiet[0], "quiet");
    put(fds[1]);
    NET_UNTIL(&n, sennit_sock_ready(quiet[1]) & SENNIT_READABLE);
    while (!seen[0] || !seen[1] || !seen[2]) {
        /* Each has its turn within four waits. */
        assert_true(rounds++ < 4);
        wait_some(1);
        assert_int_equal(told, 1);
        for (int i = 0; i < 3; i++)
            seen[i] = seen[i] || told_of(ids[i]) != 0;
        if (events[0].id == flooded)
            assert_string_equal(net_recv(flood[1]), "flood");
    }
    close_both(fds);
    finish();
}

/* ---- changing ---------------------------------------------------------- */

/* One look at a socket throws away no more than its bound, and what it asks for is behind
 * many of them, when nothing arrives any more. */
static void
what_is_thrown_away_hides_nothing_that_is_behind_it(void **state)
{
    sennit_sock *dealer;
    sennit_sock *rep;
    uint64_t id;

    (void)state;
    begin();
    rep = net_sock(&n, SENNIT_REP, NULL);
    dealer = net_sock(&n, SENNIT_DEALER, NULL);
    net_join(&n, rep, dealer, TCP);
    id = add_sock(rep, SENNIT_READABLE);
    for (unsigned i = 0; i < SNI_FETCH_FRAMES_MAX * 7 / 2; i++)
        net_send(dealer, "no request");
    net_send(dealer, "|request");
    wait_some(MAX_EVENTS);
    assert_int_equal(told_of(id), SENNIT_READABLE);
    assert_string_equal(net_recv(rep), "request");
    finish();
}

static void
interest_can_be_changed_and_left_out(void **state)
{
    sennit_sock *push;
    sennit_sock *pull;
    int fds[2];
    uint64_t sock_id;
    uint64_t fd_id;

    (void)state;
    begin();
    join(&push, &pull, TCP);
    open_pipe(fds);
    sock_id = add_sock(push, 0);
    fd_id = add_fd(fds[1], 0);
    assert_int_equal(try_wait(), SENNIT_EAGAIN);
    assert_int_equal(sennit_poller_change(p, sock_id, SENNIT_WRITABLE), SENNIT_OK);
    assert_int_equal(sennit_poller_change(p, fd_id, SENNIT_WRITABLE), SENNIT_OK);
    wait_some(MAX_EVENTS);
    assert_int_equal(told_of(sock_id), SENNIT_WRITABLE);
    assert_int_equal(told_of(fd_id), SENNIT_WRITABLE);
    assert_int_equal(sennit_poller_change(p, sock_id, 0), SENNIT_OK);
    assert_int_equal(sennit_poller_change(p, fd_id, SENNIT_READABLE), SENNIT_OK);
    assert_int_equal(try_wait(), SENNIT_EAGAIN);
    /* A hang-up is told with whatever is asked for, and not with nothing. */
    close(fds[0]);
    assert_int_equal(await(fd_id), SENNIT_FAILED);
    assert_int_equal(sennit_poller_change(p, fd_id, 0), SENNIT_OK);
    assert_int_equal(try_wait(), SENNIT_EAGAIN);
    close(fds[1]);
    finish();
}

static void
what_was_removed_is_not_told_and_its_id_is_nobody_s(void **state)
{
    int fds[2];
    uint64_t first;
    uint64_t second;

    (void)state;
    begin();
    open_pipe(fds);
    first = add_fd(fds[1], SENNIT_WRITABLE);
    assert_int_equal(sennit_poller_remove(p, first), SENNIT_OK);
    assert_int_equal(sennit_poller_count(p), 0);
    assert_int_equal(try_wait(), SENNIT_EAGAIN);
    second = add_fd(fds[1], SENNIT_WRITABLE);
    assert_true(first != second);
    assert_int_equal(sennit_poller_remove(p, first), SENNIT_ENOENT);
    assert_int_equal(sennit_poller_change(p, first, 0), SENNIT_ENOENT);
    assert_non_null(strstr(sennit_poller_why(p), "nothing has this id"));
    assert_int_equal(sennit_poller_restart(p, first, 0, 0), SENNIT_ENOENT);
    assert_int_equal(sennit_poller_remove(p, 0), SENNIT_ENOENT);
    assert_int_equal(await(second), SENNIT_WRITABLE);
    close_both(fds);
    finish();
}

static void
a_socket_and_a_descriptor_may_be_added_twice(void **state)
{
    sennit_sock *push;
    sennit_sock *pull;
    int fds[2];
    uint64_t ids[4];

    (void)state;
    begin();
    join(&push, &pull, TCP);
    open_pipe(fds);
    ids[0] = add_sock(push, SENNIT_WRITABLE);
    ids[1] = add_sock(push, SENNIT_WRITABLE);
    ids[2] = add_fd(fds[1], SENNIT_WRITABLE);
    ids[3] = add_fd(fds[1], SENNIT_WRITABLE);
    wait_some(MAX_EVENTS);
    assert_int_equal(told, 4);
    assert_int_equal(sennit_poller_remove(p, ids[0]), SENNIT_OK);
    assert_int_equal(sennit_poller_remove(p, ids[3]), SENNIT_OK);
    wait_some(MAX_EVENTS);
    assert_int_equal(told, 2);
    assert_int_equal(told_of(ids[1]), SENNIT_WRITABLE);
    assert_int_equal(told_of(ids[2]), SENNIT_WRITABLE);
    close_both(fds);
    finish();
}

static void
what_makes_no_sense_is_refused_with_a_reason(void **state)
{
    sennit_sock *pull;
    uint64_t timer;
    uint64_t sock_id;
    uint64_t fd_id;
    int fds[2];

    (void)state;
    begin();
    open_pipe(fds);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    timer = add_timer(SENNIT_NEVER, 0);
    sock_id = add_sock(pull, SENNIT_READABLE);
    fd_id = add_fd(fds[0], SENNIT_READABLE);
    assert_int_equal(sennit_poller_add_sock(p, pull, SENNIT_URGENT, NULL, NULL),
                     SENNIT_EINVAL);
    assert_non_null(strstr(sennit_poller_why(p), "interest"));
    assert_int_equal(sennit_poller_add_fd(p, fds[0], SENNIT_EVENTS, NULL, NULL),
                     SENNIT_EINVAL);
    assert_non_null(strstr(sennit_poller_why(p), "interest"));
    assert_int_equal(sennit_poller_change(p, sock_id, SENNIT_FAILED), SENNIT_EINVAL);
    assert_int_equal(sennit_poller_change(p, fd_id, SENNIT_GONE), SENNIT_EINVAL);
    assert_int_equal(sennit_poller_change(p, timer, 0), SENNIT_ENOTSUP);
    assert_non_null(strstr(sennit_poller_why(p), "sennit_poller_restart()"));
    assert_int_equal(sennit_poller_restart(p, fd_id, 0, 0), SENNIT_ENOTSUP);
    assert_non_null(strstr(sennit_poller_why(p), "sennit_poller_change()"));
    close_both(fds);
    assert_int_equal(sennit_poller_add_fd(p, fds[1], SENNIT_WRITABLE, NULL, NULL),
                     SENNIT_EINVAL);
    assert_string_equal(sennit_poller_why(p), "fd is not open");
    assert_int_equal(sennit_poller_count(p), 3);
    finish();
}

/* ---- what goes away ---------------------------------------------------- */

static void
a_socket_that_is_closed_is_told_once(void **state)
{
    sennit_sock *pulls[2];
    uint64_t ids[3];

    (void)state;
    begin();
    for (int i = 0; i < 2; i++)
        pulls[i] = net_sock(&n, SENNIT_PULL, NULL);
    ids[0] = add_sock(pulls[0], SENNIT_READABLE);
    ids[1] = add_sock(pulls[0], 0);
    ids[2] = add_sock(pulls[1], SENNIT_READABLE);
    sennit_sock_close(pulls[0]);
    wait_some(MAX_EVENTS);
    assert_int_equal(told, 2);
    for (size_t i = 0; i < told; i++) {
        assert_int_equal(events[i].ready, SENNIT_GONE);
        assert_null(events[i].sock);
        assert_ptr_equal(events[i].key, pulls[0]);
    }
    assert_int_equal(try_wait(), SENNIT_EAGAIN);
    assert_int_equal(sennit_poller_remove(p, ids[0]), SENNIT_ENOENT);
    assert_int_equal(sennit_poller_remove(p, ids[1]), SENNIT_ENOENT);
    assert_int_equal(sennit_poller_remove(p, ids[2]), SENNIT_OK);
    finish();
}

static void
sockets_whose_loop_is_closed_are_told_and_may_be_removed_before(void **state)
{
    sennit_loop *other;
    sennit_sock *first;
    sennit_sock *second;
    uint64_t ids[2];

    (void)state;
    begin();
    assert_int_equal(sennit_loop_open(&other, NULL), SENNIT_OK);
    assert_int_equal(sennit_sock_open(&first, other, SENNIT_PULL, NULL), SENNIT_OK);
    assert_int_equal(sennit_sock_open(&second, other, SENNIT_PULL, NULL), SENNIT_OK);
    ids[0] = add_sock(first, SENNIT_READABLE);
    ids[1] = add_sock(second, SENNIT_READABLE);
    sennit_loop_close(other);
    assert_int_equal(sennit_poller_remove(p, ids[1]), SENNIT_OK);
    assert_int_equal(await(ids[0]), SENNIT_GONE);
    assert_int_equal(told, 1);
    assert_int_equal(sennit_poller_count(p), 0);
    finish();
}

static void
a_poller_may_be_closed_before_and_after_its_sockets(void **state)
{
    sennit_sock *pull;

    (void)state;
    begin();
    pull = net_sock(&n, SENNIT_PULL, NULL);
    (void)add_sock(pull, SENNIT_READABLE);
    sennit_poller_close(p);
    sennit_sock_close(pull);
    assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
    assert_int_equal(sennit_poller_open(&p, &n.alloc.allocator), SENNIT_OK);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    (void)add_sock(pull, SENNIT_READABLE);
    sennit_sock_close(pull);
    finish();
}

static void
a_descriptor_that_was_closed_is_told_once(void **state)
{
    int fds[2];
    uint64_t closed;
    uint64_t open;

    (void)state;
    begin();
    open_pipe(fds);
    closed = add_fd(fds[0], SENNIT_READABLE);
    open = add_fd(fds[1], SENNIT_READABLE);
    close(fds[0]);
    wait_some(MAX_EVENTS);
    assert_int_equal(told_of(closed), SENNIT_GONE);
    assert_int_equal(sennit_poller_remove(p, closed), SENNIT_ENOENT);
    /* A pipe that nobody reads is an error of who writes. */
    assert_int_equal(await(open), SENNIT_FAILED);
    assert_int_equal(told, 1);
    close(fds[1]);
    finish();
}

static void
the_end_of_a_stream_is_readable_and_a_file_always(void **state)
{
    int fds[2];
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    uint64_t end;
    uint64_t regular;

    (void)state;
    assert_true(file >= 0);
    begin();
    open_pipe(fds);
    put(fds[1]);
    close(fds[1]);
    end = add_fd(fds[0], SENNIT_READABLE);
    regular = add_fd(file, SENNIT_READABLE | SENNIT_WRITABLE);
    wait_some(MAX_EVENTS);
    assert_int_equal(told_of(end), SENNIT_READABLE | SENNIT_FAILED);
    assert_int_equal(told_of(regular), SENNIT_READABLE | SENNIT_WRITABLE);
    get(fds[0]);
    wait_some(MAX_EVENTS);
    assert_int_equal(told_of(end), SENNIT_FAILED);
    close(fds[0]);
    close(file);
    finish();
}

/* ---- timers ------------------------------------------------------------ */

static void
a_timer_is_told_when_it_is_due_and_not_before(void **state)
{
    sennit_time started;
    uint64_t once;
    uint64_t never;

    (void)state;
    begin();
    never = add_timer(SENNIT_NEVER, SENNIT_NEVER);
    started = sennit_loop_now(n.loop);
    once = add_timer(3000000, 0);
    assert_int_equal(await(once), SENNIT_DUE);
    assert_true(sennit_loop_now(n.loop) - started >= 3000000);
    assert_int_equal(events[0].due_count, 1);
    /* Once is once. */
    assert_int_equal(sennit_poller_remove(p, once), SENNIT_ENOENT);
    assert_int_equal(sennit_poller_count(p), 1);
    assert_int_equal(try_wait(), SENNIT_EAGAIN);
    assert_int_equal(sennit_poller_restart(p, never, 0, 0), SENNIT_OK);
    assert_int_equal(await(never), SENNIT_DUE);
    finish();
}

static void
a_timer_that_repeats_counts_what_nobody_waited_for(void **state)
{
    sennit_time interval_ns = 1000;
    uint64_t due = 0;
    sennit_time before;
    sennit_time after;
    uint64_t id;

    (void)state;
    begin();
    before = sennit_loop_now(n.loop);
    id = add_timer(0, interval_ns);
    after = sennit_loop_now(n.loop);
    for (int i = 0; i < 100; i++) {
        sennit_time asked = sennit_loop_now(n.loop);

        assert_int_equal(await(id), SENNIT_DUE);
        assert_true(events[0].due_count > 0);
        due += events[0].due_count;
        /* None is forgotten, and none is early. */
        assert_true(due >= (asked - after) / interval_ns);
        assert_true(due <= 1 + (sennit_loop_now(n.loop) - before) / interval_ns);
    }
    assert_int_equal(sennit_poller_restart(p, id, SENNIT_NEVER, 0), SENNIT_OK);
    assert_int_equal(try_wait(), SENNIT_EAGAIN);
    finish();
}

static void
a_due_timer_that_found_no_room_is_told_next(void **state)
{
    uint64_t first;
    uint64_t second;
    unsigned seen;

    (void)state;
    begin();
    first = add_timer(0, 0);
    second = add_timer(0, 0);
    wait_some(1);
    seen = told_of(first) != 0;
    assert_int_equal(told_of(seen ? first : second), SENNIT_DUE);
    wait_some(1);
    assert_int_equal(told_of(seen ? second : first), SENNIT_DUE);
    assert_int_equal(sennit_poller_count(p), 0);
    finish();
}

/* Nothing to do but to wait for it: less than half of the time is spent working. */
static void
a_wait_that_has_nothing_to_do_does_nothing(void **state)
{
    sennit_sock *push;
    sennit_sock *pull;
    struct rusage before;
    struct rusage after;
    int64_t used_us;
    int fds[2];
    uint64_t id;

    (void)state;
    begin();
    join(&push, &pull, TCP);
    open_pipe(fds);
    (void)add_sock(pull, SENNIT_READABLE);
    (void)add_fd(fds[0], SENNIT_READABLE);
    id = add_timer(100 * 1000000, 0);
    assert_int_equal(getrusage(RUSAGE_THREAD, &before), 0);
    assert_int_equal(await(id), SENNIT_DUE);
    assert_int_equal(getrusage(RUSAGE_THREAD, &after), 0);
    used_us = (after.ru_utime.tv_sec - before.ru_utime.tv_sec) * 1000000 +
              (after.ru_utime.tv_usec - before.ru_utime.tv_usec) +
              (after.ru_stime.tv_sec - before.ru_stime.tv_sec) * 1000000 +
              (after.ru_stime.tv_usec - before.ru_stime.tv_usec);
    assert_true(used_us < 50000);
    close_both(fds);
    finish();
}

/* ---- wakes, signals, ends ---------------------------------------------- */

static void *
wake_it(void *arg)
{
    (void)arg;
    sennit_poller_wake(p);
    return NULL;
}

static void
another_thread_wakes_a_wait(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 200; i++) {
        pthread_t thread;

        /* Before the wait, in its begin, or while it waits: none is lost. */
        assert_int_equal(pthread_create(&thread, NULL, wake_it, NULL), 0);
        wait_some(MAX_EVENTS);
        assert_int_equal(told, 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    /* Many are one. */
    for (int i = 0; i < 1000; i++)
        sennit_poller_wake(p);
    assert_int_equal(try_wait(), SENNIT_OK);
    assert_int_equal(told, 0);
    assert_int_equal(try_wait(), SENNIT_EAGAIN);
    finish();
}

static void
handle(int number)
{
    (void)number;
    sennit_poller_wake(p);
}

static void
handle_and_nothing_else(int number)
{
    (void)number;
}

static void
set_handler(void (*fn)(int number))
{
    struct sigaction action = { .sa_handler = fn };

    sigemptyset(&action.sa_mask);
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
}

/* Again and again: the first might come before the wait. */
static void
alarm_every(suseconds_t interval_us)
{
    struct itimerval every = { { 0, interval_us }, { 0, interval_us } };

    assert_int_equal(setitimer(ITIMER_REAL, &every, NULL), 0);
}

static void
a_signal_ends_a_wait_and_its_handler_may_wake(void **state)
{
    sennit_err err;

    (void)state;
    begin();
    set_handler(handle_and_nothing_else);
    alarm_every(2000);
    err = sennit_poller_wait(p, events, MAX_EVENTS, DEADLINE_MS, &told);
    assert_int_equal(err, SENNIT_EINTR);
    assert_string_equal(sennit_poller_why(p), "a signal arrived");
    set_handler(handle);
    do
        err = sennit_poller_wait(p, events, MAX_EVENTS, DEADLINE_MS, &told);
    while (err == SENNIT_EINTR);
    alarm_every(0);
    assert_int_equal(err, SENNIT_OK);
    assert_int_equal(told, 0);
    set_handler(SIG_DFL);
    finish();
}

static void *
shut_down(void *arg)
{
    sennit_context_shutdown(arg);
    return NULL;
}

static void
a_context_that_is_shut_down_ends_a_wait(void **state)
{
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;
    sennit_context *context;
    pthread_t thread;
    sennit_loop *loop;
    sennit_sock *sock;

    (void)state;
    begin();
    assert_int_equal(sennit_context_open(&context, NULL), SENNIT_OK);
    opts.context = context;
    assert_int_equal(sennit_loop_open(&loop, &opts), SENNIT_OK);
    assert_int_equal(sennit_sock_open(&sock, loop, SENNIT_PULL, NULL), SENNIT_OK);
    (void)add_sock(sock, SENNIT_READABLE);
    assert_int_equal(pthread_create(&thread, NULL, shut_down, context), 0);
    assert_int_equal(sennit_poller_wait(p, events, MAX_EVENTS, -1, &told), SENNIT_ETERM);
    assert_int_equal(sennit_poller_wait(p, events, MAX_EVENTS, -1, &told), SENNIT_ETERM);
    assert_int_equal(try_wait(), SENNIT_EAGAIN);
    assert_int_equal(pthread_join(thread, NULL), 0);
    sennit_loop_close(loop);
    assert_int_equal(sennit_context_close(context), SENNIT_OK);
    finish();
}

/* ---- callbacks and loops ----------------------------------------------- */

typedef struct doing {
    sennit_sock *pull;
    uint64_t remove;
    uint64_t added;
    int fd;
    unsigned calls;
} doing;

/* Whatever a callback may do to the poller in whose wait it runs. */
static void
change_everything(sennit_sock *sock, unsigned ready, void *arg)
{
    doing *d = arg;

    (void)ready;
    if (d->calls++ > 0)
        return;
    assert_int_equal(sennit_poller_remove(p, d->remove), SENNIT_OK);
    d->added = add_fd(d->fd, SENNIT_WRITABLE);
    for (int i = 0; i < 100; i++)
        (void)add_timer(SENNIT_NEVER, 0);
    sennit_sock_on_ready(sock, 0, NULL, NULL);
    sennit_sock_close(d->pull);
}

static void
a_callback_may_add_remove_and_close(void **state)
{
    sennit_sock *push;
    doing d = { 0 };
    uint64_t of_pull;
    int fds[2];

    (void)state;
    begin();
    join(&push, &d.pull, TCP);
    open_pipe(fds);
    d.fd = fds[1];
    d.remove = add_fd(fds[0], SENNIT_READABLE);
    put(fds[1]);
    of_pull = add_sock(d.pull, SENNIT_READABLE);
    sennit_sock_on_ready(push, SENNIT_WRITABLE, change_everything, &d);
    (void)add_sock(push, 0);
    wait_some(MAX_EVENTS);
    assert_int_equal(d.calls, 1);
    assert_int_equal(told_of(of_pull), SENNIT_GONE);
    assert_int_equal(told_of(d.remove), 0);
    assert_int_equal(await(d.added), SENNIT_WRITABLE);
    close_both(fds);
    finish();
}

static void
wait_within(void *arg)
{
    size_t count = 0;

    assert_int_equal(sennit_poller_wait(p, events, MAX_EVENTS, DEADLINE_MS, &count),
                     SENNIT_OK);
    assert_int_equal(count, 1);
    assert_int_equal(events[0].ready, SENNIT_DUE);
    ++*(unsigned *)arg;
}

static void
a_callback_may_wait_with_the_same_poller(void **state)
{
    sennit_sock *pull;
    unsigned calls = 0;

    (void)state;
    begin();
    pull = net_sock(&n, SENNIT_PULL, NULL);
    (void)add_sock(pull, SENNIT_READABLE);
    (void)add_timer(0, 0);
    assert_int_equal(sennit_loop_post(n.loop, wait_within, &calls), SENNIT_OK);
    /* What was told inside is not told outside. */
    assert_int_equal(try_wait(), SENNIT_EAGAIN);
    assert_int_equal(calls, 1);
    finish();
}

static void
add_one(void *arg)
{
    ++*(unsigned *)arg;
}

static void *
post_one(void *arg)
{
    assert_int_equal(sennit_loop_post(n.loop, add_one, arg), SENNIT_OK);
    sennit_poller_wake(p);
    return NULL;
}

static void
calls_and_timers_of_its_loops_run_in_a_wait(void **state)
{
    sennit_timer timer = { 0 };
    unsigned posted = 0;
    unsigned fired = 0;
    sennit_sock *pull;
    pthread_t thread;

    (void)state;
    begin();
    pull = net_sock(&n, SENNIT_PULL, NULL);
    (void)add_sock(pull, SENNIT_READABLE);
    assert_int_equal(sennit_timer_start(n.loop, &timer, 1, add_one, &fired), SENNIT_OK);
    assert_int_equal(pthread_create(&thread, NULL, post_one, &posted), 0);
    /* The call is there before the wake that ends the wait. */
    wait_some(MAX_EVENTS);
    assert_int_equal(told, 0);
    assert_int_equal(posted, 1);
    assert_int_equal(fired, 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    finish();
}

static void
two_loops_of_a_thread_talk_through_one_wait(void **state)
{
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;
    sennit_context *context;
    sennit_loop *loops[2];
    sennit_sock *ends[2];
    sennit_msg msg;
    uint64_t ids[2];

    (void)state;
    begin();
    assert_int_equal(sennit_context_open(&context, NULL), SENNIT_OK);
    opts.context = context;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sennit_loop_open(&loops[i], &opts), SENNIT_OK);
        assert_int_equal(sennit_sock_open(&ends[i], loops[i], SENNIT_PAIR, NULL),
                         SENNIT_OK);
        ids[i] = add_sock(ends[i], SENNIT_READABLE);
    }
    assert_int_equal(sennit_sock_bind(ends[0], "inproc://two"), SENNIT_OK);
    assert_int_equal(sennit_sock_connect(ends[1], "inproc://two"), SENNIT_OK);
    sennit_msg_init(&msg);
    assert_int_equal(sennit_sock_send(ends[1], &msg, 0), SENNIT_OK);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(await(ids[i & 1]), SENNIT_READABLE);
        assert_int_equal(told, 1);
        assert_int_equal(sennit_sock_recv(ends[i & 1], &msg, SENNIT_DONTWAIT), SENNIT_OK);
        assert_int_equal(sennit_sock_send(ends[i & 1], &msg, SENNIT_DONTWAIT), SENNIT_OK);
    }
    for (int i = 0; i < 2; i++)
        sennit_loop_close(loops[i]);
    assert_int_equal(sennit_context_close(context), SENNIT_OK);
    finish();
}

/* ---- hosted loops ------------------------------------------------------ */

static sennit_loop *hosted;

static void
begin_hosted(sennit_context *context)
{
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;

    begin();
    opts.hosted = true;
    opts.context = context;
    assert_int_equal(sennit_loop_open(&hosted, &opts), SENNIT_OK);
}

static void
finish_hosted(void)
{
    sennit_loop_close(hosted);
    finish();
}

static sennit_sock *
hosted_sock(sennit_sock_type type, const sennit_sock_opts *opts)
{
    sennit_sock_opts defaults = net_opts();
    sennit_sock *sock;

    assert_int_equal(
        sennit_sock_open(&sock, hosted, type, opts != NULL ? opts : &defaults),
        SENNIT_OK);
    return sock;
}

/* `push` in the test's own loop, `pull` in the hosted one. */
static void
join_hosted(sennit_sock **push, sennit_sock **pull, const sennit_sock_opts *opts)
{
    *pull = hosted_sock(SENNIT_PULL, opts);
    assert_int_equal(sennit_sock_bind(*pull, "tcp://127.0.0.1:*"), SENNIT_OK);
    *push = net_sock(&n, SENNIT_PUSH, NULL);
    net_connect(*push, sennit_sock_last_endpoint(*pull));
    assert_int_equal(sennit_sock_wait_connections(*push, 1, DEADLINE_MS), SENNIT_OK);
}

static void
a_hosted_socket_is_told_until_it_is_read(void **state)
{
    sennit_sock *push;
    sennit_sock *pull;
    char octet;
    uint64_t id;

    (void)state;
    begin_hosted(NULL);
    join_hosted(&push, &pull, NULL);
    id = add_sock(pull, SENNIT_READABLE);
    assert_int_equal(try_wait(), SENNIT_EAGAIN);
    for (int i = 0; i < 100; i++) {
        net_send(push, "1");
        net_send(push, "2");
        sennit_sock_flush(push);
        for (int k = 0; k < 2; k++) {
            assert_int_equal(await(id), SENNIT_READABLE);
            assert_int_equal(await(id), SENNIT_READABLE);
            assert_ptr_equal(events[0].sock, pull);
            assert_int_equal(
                sennit_sock_recv_bytes(pull, &octet, 1, NULL, SENNIT_DONTWAIT),
                SENNIT_OK);
        }
        assert_int_equal(try_wait(), SENNIT_EAGAIN);
    }
    finish_hosted();
}

/* A thread that goes step by step with the test. */
typedef struct stepper {
    pthread_barrier_t step;
    sennit_sock *pull;
    sennit_sock *push;
} stepper;

static void
take_step(stepper *s)
{
    (void)pthread_barrier_wait(&s->step);
}

static void *
be_in_the_middle_of_messages(void *arg)
{
    stepper *s = arg;
    sennit_msg msg;

    sennit_msg_init(&msg);
    assert_int_equal(sennit_sock_recv(s->pull, &msg, 0), SENNIT_OK);
    assert_true(sennit_msg_more(&msg));
    assert_int_equal(sennit_sock_send_bytes(s->push, "x", 1, SENNIT_MORE), SENNIT_OK);
    take_step(s);
    take_step(s);
    assert_int_equal(sennit_sock_recv(s->pull, &msg, 0), SENNIT_OK);
    assert_false(sennit_msg_more(&msg));
    assert_int_equal(sennit_sock_send_bytes(s->push, "y", 1, 0), SENNIT_OK);
    sennit_msg_fini(&msg);
    return NULL;
}

static void
what_another_thread_is_in_the_middle_of_is_not_told(void **state)
{
    stepper s = { 0 };
    uint64_t readable;
    uint64_t writable;
    pthread_t thread;
    sennit_sock *push;
    sennit_sock *pull;
    char octet;

    (void)state;
    begin_hosted(NULL);
    join_hosted(&push, &s.pull, NULL);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    assert_int_equal(sennit_sock_bind(pull, "tcp://127.0.0.1:*"), SENNIT_OK);
    s.push = hosted_sock(SENNIT_PUSH, NULL);
    net_connect(s.push, sennit_sock_last_endpoint(pull));
    assert_int_equal(sennit_sock_wait_connections(pull, 1, DEADLINE_MS), SENNIT_OK);
    assert_int_equal(pthread_barrier_init(&s.step, NULL, 2), 0);
    readable = add_sock(s.pull, SENNIT_READABLE);
    writable = add_sock(s.push, SENNIT_WRITABLE);
    net_send(push, "a|b");
    net_send(push, "c|d");
    sennit_sock_flush(push);
    assert_int_equal(pthread_create(&thread, NULL, be_in_the_middle_of_messages, &s), 0);
    take_step(&s);
    assert_int_equal(try_wait(), SENNIT_EAGAIN);
    /* Nor if it is added only now. */
    assert_int_equal(sennit_poller_remove(p, readable), SENNIT_OK);
    readable = add_sock(s.pull, SENNIT_READABLE);
    assert_int_equal(try_wait(), SENNIT_EAGAIN);
    take_step(&s);
    assert_int_equal(await(readable), SENNIT_READABLE);
    assert_int_equal(await(writable), SENNIT_WRITABLE);
    assert_int_equal(pthread_join(thread, NULL), 0);
    /* The rest of a message of one's own is. */
    assert_int_equal(sennit_sock_recv_bytes(s.pull, &octet, 1, NULL, 0), SENNIT_OK);
    assert_int_equal(octet, 'c');
    assert_int_equal(await(readable), SENNIT_READABLE);
    assert_int_equal(sennit_sock_recv_bytes(s.pull, &octet, 1, NULL, 0), SENNIT_OK);
    assert_int_equal(octet, 'd');
    pthread_barrier_destroy(&s.step);
    finish_hosted();
}

static void
a_hosted_socket_is_writable_while_it_has_room(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *push;
    sennit_sock *pull;
    unsigned sent = 0;
    uint64_t id;

    (void)state;
    begin_hosted(NULL);
    opts.send_hwm_msgs = 10;
    push = hosted_sock(SENNIT_PUSH, &opts);
    id = add_sock(push, SENNIT_READABLE | SENNIT_WRITABLE);
    /* There is nobody yet. */
    assert_int_equal(try_wait(), SENNIT_EAGAIN);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    assert_int_equal(sennit_sock_connect(push, net_bind(pull, IPC)), SENNIT_OK);
    while (try_wait() == SENNIT_OK) {
        assert_int_equal(told_of(id), SENNIT_WRITABLE);
        if (sennit_sock_send_bytes(push, "x", 1, SENNIT_DONTWAIT) == SENNIT_OK)
            sent++;
    }
    assert_true(sent >= 10);
    /* Until the other end, which has not moved so far, takes some. */
    NET_UNTIL(&n, (sennit_sock_ready(pull) & SENNIT_READABLE) != 0);
    assert_int_equal(await(id), SENNIT_WRITABLE);
    finish_hosted();
}

static void
events_of_a_hosted_socket_are_told_until_they_are_read(void **state)
{
    sennit_sock *push;
    sennit_sock *pull;
    sennit_event event;
    uint64_t id;

    (void)state;
    begin_hosted(NULL);
    join_hosted(&push, &pull, NULL);
    id = add_sock(pull, SENNIT_EVENTS);
    do {
        assert_int_equal(await(id), SENNIT_EVENTS);
        assert_int_equal(sennit_sock_next_event(pull, &event), SENNIT_OK);
    } while (event.kind != SENNIT_EVENT_READY);
    assert_int_equal(try_wait(), SENNIT_EAGAIN);
    assert_int_equal(sennit_poller_change(p, id, 0), SENNIT_OK);
    sennit_sock_close(push);
    NET_UNTIL(&n, net_stats(pull).connections == 0);
    assert_int_equal(try_wait(), SENNIT_EAGAIN);
    assert_int_equal(sennit_poller_change(p, id, SENNIT_EVENTS), SENNIT_OK);
    assert_int_equal(await(id), SENNIT_EVENTS);
    finish_hosted();
}

static void *
close_sock_elsewhere(void *arg)
{
    sennit_sock_close(arg);
    return NULL;
}

static void *
close_loop_elsewhere(void *arg)
{
    sennit_loop_close(arg);
    return NULL;
}

/* One while it waits, the others with their loop. */
static void
hosted_sockets_that_another_thread_closes_are_told(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        pthread_t thread;
        uint64_t ids[3];
        sennit_sock *first;

        begin_hosted(NULL);
        first = hosted_sock(SENNIT_PULL, NULL);
        ids[0] = add_sock(first, SENNIT_READABLE);
        ids[1] = add_sock(hosted_sock(SENNIT_PULL, NULL), SENNIT_READABLE);
        ids[2] = add_sock(hosted_sock(SENNIT_PULL, NULL), SENNIT_READABLE);
        assert_int_equal(pthread_create(&thread, NULL, close_sock_elsewhere, first), 0);
        assert_int_equal(await(ids[0]), SENNIT_GONE);
        assert_null(events[0].sock);
        assert_ptr_equal(events[0].key, first);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(pthread_create(&thread, NULL, close_loop_elsewhere, hosted), 0);
        /* Taken out before it is told, or when it is gone: whichever comes first. */
        (void)sennit_poller_remove(p, ids[1]);
        if (i & 1)
            assert_int_equal(await(ids[2]), SENNIT_GONE);
        finish();
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
}

static void
a_shutdown_is_heard_from_hosted_loops(void **state)
{
    sennit_context *context;
    pthread_t thread;

    (void)state;
    assert_int_equal(sennit_context_open(&context, NULL), SENNIT_OK);
    begin_hosted(context);
    (void)add_sock(hosted_sock(SENNIT_PULL, NULL), SENNIT_READABLE);
    assert_int_equal(pthread_create(&thread, NULL, shut_down, context), 0);
    assert_int_equal(sennit_poller_wait(p, events, MAX_EVENTS, -1, &told), SENNIT_ETERM);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(try_wait(), SENNIT_EAGAIN);
    sennit_loop_close(hosted);
    assert_int_equal(sennit_context_close(context), SENNIT_OK);
    finish();
}

#define DRINKERS 4
#define DRINKS   4000u

typedef struct drinker {
    sennit_sock *pull;
    unsigned got;
    uint64_t sum;
    bool wrong;
} drinker;

/* Each has a poller of its own, and ends by the 0 that it gets. */
static void *
drink(void *arg)
{
    drinker *d = arg;
    sennit_poller_event event;
    sennit_poller *own;
    uint64_t number = 1;
    size_t count;

    d->wrong = true;
    if (sennit_poller_open(&own, NULL) != SENNIT_OK ||
        sennit_poller_add_sock(own, d->pull, SENNIT_READABLE, NULL, NULL) != SENNIT_OK)
        return NULL;
    while (number != 0 &&
           sennit_poller_wait(own, &event, 1, DEADLINE_MS, &count) == SENNIT_OK) {
        if (sennit_sock_recv_bytes(d->pull, &number, sizeof number, NULL,
                                   SENNIT_DONTWAIT) != SENNIT_OK)
            continue;
        d->got++;
        d->sum += number;
    }
    d->wrong = number != 0;
    sennit_poller_close(own);
    return NULL;
}

static void
several_pollers_share_the_messages_of_one_hosted_socket(void **state)
{
    drinker drinkers[DRINKERS] = { { 0 } };
    pthread_t threads[DRINKERS];
    sennit_sock *push;
    sennit_sock *pull;
    uint64_t sum = 0;
    unsigned got = 0;

    (void)state;
    begin_hosted(NULL);
    join_hosted(&push, &pull, NULL);
    for (int i = 0; i < DRINKERS; i++) {
        drinkers[i].pull = pull;
        assert_int_equal(pthread_create(&threads[i], NULL, drink, &drinkers[i]), 0);
    }
    for (uint64_t i = 1; i <= DRINKS; i++)
        assert_int_equal(sennit_sock_send_bytes(push, &i, sizeof i, 0), SENNIT_OK);
    for (int i = 0; i < DRINKERS; i++)
        assert_int_equal(sennit_sock_send_bytes(push, &(uint64_t){ 0 }, 8, 0), SENNIT_OK);
    sennit_sock_flush(push);
    for (int i = 0; i < DRINKERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_false(drinkers[i].wrong);
        got += drinkers[i].got;
        sum += drinkers[i].sum;
    }
    assert_int_equal(got, DRINKS + DRINKERS);
    assert_int_equal(sum, (uint64_t)DRINKS * (DRINKS + 1) / 2);
    finish_hosted();
}

static void
what_is_added_and_removed_again_and_again_leaves_nothing(void **state)
{
    sennit_sock *push;
    sennit_sock *pull;
    uint64_t id;

    (void)state;
    begin_hosted(NULL);
    join_hosted(&push, &pull, NULL);
    for (int i = 0; i < 1000; i++) {
        id = add_sock(pull, SENNIT_READABLE);
        assert_int_equal(sennit_poller_remove(p, id), SENNIT_OK);
    }
    id = add_sock(pull, SENNIT_READABLE);
    net_send(push, "x");
    sennit_sock_flush(push);
    assert_int_equal(await(id), SENNIT_READABLE);
    /* The poller first, the loop later: it has nobody to tell. */
    sennit_poller_close(p);
    net_send(push, "y");
    sennit_sock_flush(push);
    assert_int_equal(sennit_poller_open(&p, &n.alloc.allocator), SENNIT_OK);
    finish_hosted();
}

/* ---- threads and processes --------------------------------------------- */

static void *
use_elsewhere(void *arg)
{
    bool *well = arg;
    size_t count;

    *well = sennit_poller_wait(p, events, MAX_EVENTS, 0, &count) == SENNIT_ETHREAD &&
            sennit_poller_add_timer(p, 0, 0, NULL, NULL) == SENNIT_ETHREAD &&
            sennit_poller_remove(p, 1) == SENNIT_ETHREAD;
    return NULL;
}

static sennit_sock *foreign;

static void *
add_foreign(void *arg)
{
    bool *well = arg;
    sennit_poller *own;

    if (sennit_poller_open(&own, NULL) != SENNIT_OK)
        return NULL;
    *well = sennit_poller_add_sock(own, foreign, SENNIT_READABLE, NULL, NULL) ==
                SENNIT_ETHREAD &&
            strstr(sennit_poller_why(own), "another thread's") != NULL &&
            sennit_poller_count(own) == 0;
    sennit_poller_close(own);
    return NULL;
}

static void
it_stays_on_its_thread_and_takes_sockets_of_that_only(void **state)
{
    bool well = false;
    pthread_t thread;

    (void)state;
    begin();
    foreign = net_sock(&n, SENNIT_PULL, NULL);
    assert_int_equal(pthread_create(&thread, NULL, use_elsewhere, &well), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(well);
    well = false;
    assert_int_equal(pthread_create(&thread, NULL, add_foreign, &well), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(well);
    finish();
}

static void
a_forked_child_frees_it_and_disturbs_nobody(void **state)
{
    sennit_sock *pull;
    pid_t child;
    int status;

    (void)state;
    begin();
    pull = net_sock(&n, SENNIT_PULL, NULL);
    (void)add_sock(pull, SENNIT_READABLE);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        bool well = try_wait() == SENNIT_ESTATE &&
                    strstr(sennit_poller_why(p), "after fork") != NULL;

        sennit_poller_wake(p);
        sennit_poller_close(p);
        sennit_loop_close(n.loop);
        _exit(well ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    /* Its wake was none of ours. */
    assert_int_equal(try_wait(), SENNIT_EAGAIN);
    finish();
}

/* ---- memory ------------------------------------------------------------ */

static void
use_all(test_alloc *alloc, void *arg)
{
    int *fds = arg;
    sennit_poller *poller;
    uint64_t timer = 0;
    size_t count = 0;
    sennit_err err;

    WORKS(err, sennit_poller_open(&poller, &alloc->allocator));
    for (int i = 0; i < 20; i++) {
        WORKS(err, sennit_poller_add_fd(poller, fds[i & 1], SENNIT_READABLE, NULL, NULL));
        WORKS(err, sennit_poller_add_timer(poller, 0, 1, NULL, &timer));
        WORKS(err, sennit_poller_add_sock(poller, foreign, SENNIT_WRITABLE, NULL, NULL));
    }
    assert_int_equal(sennit_poller_count(poller), 60);
    assert_int_equal(sennit_poller_wait(poller, events, MAX_EVENTS, 0, &count),
                     SENNIT_OK);
    assert_int_equal(count, 20);
    WORKS(err, sennit_poller_restart(poller, timer, SENNIT_NEVER, 0));
    for (size_t i = 0; i < count; i++)
        assert_int_equal(sennit_poller_remove(poller, events[i].id), SENNIT_OK);
    assert_int_equal(sennit_poller_wait(poller, events, MAX_EVENTS, 0, &count),
                     SENNIT_EAGAIN);
    sennit_poller_close(poller);
}

static void
every_allocation_may_fail_and_a_wait_asks_for_none(void **state)
{
    int fds[2];

    (void)state;
    begin();
    open_pipe(fds);
    foreign = net_sock(&n, SENNIT_PULL, NULL);
    assert_true(test_alloc_every_failure(use_all, fds) > 60);
    close_both(fds);
    finish();
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(sockets_descriptors_and_timers_are_told_in_one_call),
        cmocka_unit_test(what_is_ready_is_told_until_it_is_not),
        cmocka_unit_test(a_wait_ends_when_a_socket_becomes_ready),
        cmocka_unit_test(events_of_a_socket_are_told),
        cmocka_unit_test(with_room_for_few_each_has_its_turn),
        cmocka_unit_test(a_flooded_socket_hides_nothing_else),
        cmocka_unit_test(what_is_thrown_away_hides_nothing_that_is_behind_it),
        cmocka_unit_test(interest_can_be_changed_and_left_out),
        cmocka_unit_test(what_was_removed_is_not_told_and_its_id_is_nobody_s),
        cmocka_unit_test(a_socket_and_a_descriptor_may_be_added_twice),
        cmocka_unit_test(what_makes_no_sense_is_refused_with_a_reason),
        cmocka_unit_test(a_socket_that_is_closed_is_told_once),
        cmocka_unit_test(sockets_whose_loop_is_closed_are_told_and_may_be_removed_before),
        cmocka_unit_test(a_poller_may_be_closed_before_and_after_its_sockets),
        cmocka_unit_test(a_descriptor_that_was_closed_is_told_once),
        cmocka_unit_test(the_end_of_a_stream_is_readable_and_a_file_always),
        cmocka_unit_test(a_timer_is_told_when_it_is_due_and_not_before),
        cmocka_unit_test(a_timer_that_repeats_counts_what_nobody_waited_for),
        cmocka_unit_test(a_due_timer_that_found_no_room_is_told_next),
        cmocka_unit_test(a_wait_that_has_nothing_to_do_does_nothing),
        cmocka_unit_test(another_thread_wakes_a_wait),
        cmocka_unit_test(a_signal_ends_a_wait_and_its_handler_may_wake),
        cmocka_unit_test(a_context_that_is_shut_down_ends_a_wait),
        cmocka_unit_test(a_callback_may_add_remove_and_close),
        cmocka_unit_test(a_callback_may_wait_with_the_same_poller),
        cmocka_unit_test(calls_and_timers_of_its_loops_run_in_a_wait),
        cmocka_unit_test(two_loops_of_a_thread_talk_through_one_wait),
        cmocka_unit_test(a_hosted_socket_is_told_until_it_is_read),
        cmocka_unit_test(what_another_thread_is_in_the_middle_of_is_not_told),
        cmocka_unit_test(a_hosted_socket_is_writable_while_it_has_room),
        cmocka_unit_test(events_of_a_hosted_socket_are_told_until_they_are_read),
        cmocka_unit_test(hosted_sockets_that_another_thread_closes_are_told),
        cmocka_unit_test(a_shutdown_is_heard_from_hosted_loops),
        cmocka_unit_test(several_pollers_share_the_messages_of_one_hosted_socket),
        cmocka_unit_test(what_is_added_and_removed_again_and_again_leaves_nothing),
        cmocka_unit_test(it_stays_on_its_thread_and_takes_sockets_of_that_only),
        cmocka_unit_test(a_forked_child_frees_it_and_disturbs_nobody),
        cmocka_unit_test(every_allocation_may_fail_and_a_wait_asks_for_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
