/* SPDX-License-Identifier: MIT */
/* Callbacks of hosted loops, while other threads stop, change and close what they are
 * for, close the loop, or fork. */
#include "crew.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "core/sock.h"

/* A callback that is held where it is, and what it does before it ends. */
typedef struct held {
    sennit_loop *loop;
    atomic_uint runs;
    atomic_bool inside;
    atomic_bool go;
    sennit_timer timer;
    sennit_sock *sock;
    void (*last)(struct held *h);
    bool closes_loop; /* that is what waits for its end */
} held;

static void
await(atomic_bool *flag)
{
    uint64_t started = crew_ms();

    while (!atomic_load(flag)) {
        CHECK(crew_ms() - started < CREW_DEADLINE_MS);
        sched_yield();
    }
}

static void
hold(void *arg)
{
    held *h = arg;

    atomic_fetch_add(&h->runs, 1);
    atomic_store(&h->inside, true);
    await(&h->go);
    if (h->last != NULL)
        h->last(h);
}

static void
hold_sock(sennit_sock *sock, unsigned ready, void *arg)
{
    (void)sock;
    (void)ready;
    hold(arg);
}

static void
start_timer(held *h, sennit_time delay_ns)
{
    CHECK_ERR(sennit_timer_start(h->loop, &h->timer, delay_ns, hold, h), SENNIT_OK);
}

/* Lets the callback go as soon as somebody waits for its end. */
static void *
release_when_awaited(void *arg)
{
    held *h = arg;
    sni_drive *drive = h->loop->drive;
    uint64_t started = crew_ms();
    bool awaited = false;

    while (!awaited) {
        sni_loop_look(h->loop);
        awaited = h->closes_loop ? drive->stopping : drive->awaiting > 0;
        sni_loop_leave(h->loop);
        CHECK(crew_ms() - started < CREW_DEADLINE_MS);
        sched_yield();
    }
    atomic_store(&h->go, true);
    return NULL;
}

static pthread_t
begin(void *(*run)(void *), void *arg)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, run, arg), 0);
    return thread;
}

static void
end(pthread_t thread)
{
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* A socket that is always ready to be received from, and its peer behind it. */
static sennit_sock *
ready_sock(sennit_loop *loop, sennit_sock **peer)
{
    sennit_sock *pull = crew_sock(loop, SENNIT_PULL);
    sennit_sock *push = crew_sock(loop, SENNIT_PUSH);

    if (peer != NULL)
        *peer = push;
    assert_int_equal(sennit_sock_bind(pull, "tcp://127.0.0.1:*"), SENNIT_OK);
    assert_int_equal(sennit_sock_connect(push, sennit_sock_last_endpoint(pull)),
                     SENNIT_OK);
    CHECK_ERR(crew_send(push, 1, 0), SENNIT_OK);
    return pull;
}

/* ---- timers ------------------------------------------------------------ */

static void
start_again(held *h)
{
    start_timer(h, 0);
}

static void
a_timer_that_starts_itself_anew_while_it_is_stopped_is_stopped(void **state)
{
    held h = { .last = start_again };
    pthread_t thread;
    size_t running;

    (void)state;
    h.loop = crew_hosted(NULL);
    start_timer(&h, 0);
    await(&h.inside);
    thread = begin(release_when_awaited, &h);
    sennit_timer_stop(h.loop, &h.timer);
    sni_loop_look(h.loop);
    running = h.timer.index_;
    sni_loop_leave(h.loop);
    assert_int_equal(running, 0);
    assert_int_equal(atomic_load(&h.runs), 1);
    end(thread);
    sennit_loop_close(h.loop);
}

/* However often it runs: whoever stops it does not wait for all of its calls. */
static void
a_timer_that_always_runs_is_stopped(void **state)
{
    held h = { .last = start_again, .go = true };
    unsigned runs;

    (void)state;
    h.loop = crew_hosted(NULL);
    for (unsigned i = 0; i < 200; i++) {
        atomic_store(&h.inside, false);
        start_timer(&h, 0);
        await(&h.inside);
        sennit_timer_stop(h.loop, &h.timer);
        runs = atomic_load(&h.runs);
        assert_int_equal(sennit_sock_ready(NULL), 0);
        assert_int_equal(atomic_load(&h.runs), runs);
    }
    sennit_loop_close(h.loop);
}

typedef struct stopping {
    held h;
    atomic_bool over;
} stopping;

static void *
stop_timer(void *arg)
{
    stopping *s = arg;

    sennit_timer_stop(s->h.loop, &s->h.timer);
    atomic_store(&s->over, true);
    return NULL;
}

/* That call waits, so it is let out first. */
static void
a_loop_is_closed_while_a_call_waits_for_a_callback(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 200; i++) {
        stopping s = { .h = { .closes_loop = true } };
        pthread_t stopper;
        pthread_t releaser;

        s.h.loop = crew_hosted(NULL);
        start_timer(&s.h, 0);
        await(&s.h.inside);
        stopper = begin(stop_timer, &s);
        crew_await_waiting(s.h.loop, 1);
        releaser = begin(release_when_awaited, &s.h);
        sennit_loop_close(s.h.loop);
        end(releaser);
        end(stopper);
        assert_true(atomic_load(&s.over));
    }
}

/* ---- sockets ----------------------------------------------------------- */

static unsigned
socks_of(sennit_loop *loop)
{
    unsigned count = 0;

    sni_loop_look(loop);
    for (sni_link *link = loop->socks.next; link != &loop->socks; link = link->next)
        count++;
    sni_loop_leave(loop);
    return count;
}

static void
a_socket_that_is_closed_while_its_callback_runs_is_freed(void **state)
{
    held h = { .runs = 0 };
    uint64_t started = crew_ms();
    pthread_t thread;

    (void)state;
    h.loop = crew_hosted(NULL);
    h.sock = ready_sock(h.loop, NULL);
    sennit_sock_on_ready(h.sock, SENNIT_READABLE, hold_sock, &h);
    await(&h.inside);
    thread = begin(release_when_awaited, &h);
    sennit_sock_close(h.sock);
    end(thread);
    while (socks_of(h.loop) > 1) {
        assert_true(crew_ms() - started < CREW_DEADLINE_MS);
        sched_yield();
    }
    sennit_loop_close(h.loop);
}

static void
close_sock(held *h)
{
    sennit_sock_close(h->sock);
}

/* The loop closes its sockets, and the callback of one closes another. */
static void
a_loop_is_closed_while_a_callback_closes_a_socket(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        held h = { .last = close_sock, .closes_loop = true };
        sennit_sock *ready;
        pthread_t thread;

        h.loop = crew_hosted(NULL);
        ready = ready_sock(h.loop, &h.sock);
        sennit_sock_on_ready(ready, SENNIT_READABLE, hold_sock, &h);
        await(&h.inside);
        thread = begin(release_when_awaited, &h);
        sennit_loop_close(h.loop);
        end(thread);
    }
}

static void
count_calls(sennit_sock *sock, unsigned ready, void *arg)
{
    (void)sock;
    (void)ready;
    atomic_fetch_add((atomic_uint *)arg, 1);
}

/* Both callbacks leave everything where it is, so there is always the next call. */
static void
a_callback_that_always_runs_is_changed(void **state)
{
    sennit_loop *loop = crew_hosted(NULL);
    sennit_sock *sock = ready_sock(loop, NULL);
    atomic_uint calls[2] = { 0, 0 };

    (void)state;
    for (unsigned i = 0; i < 500; i++) {
        unsigned before = atomic_load(&calls[i % 2]);
        uint64_t started = crew_ms();

        sennit_sock_on_ready(sock, SENNIT_READABLE, count_calls, &calls[i % 2]);
        while (atomic_load(&calls[i % 2]) == before)
            assert_true(crew_ms() - started < CREW_DEADLINE_MS);
    }
    sennit_loop_close(loop);
}

/* ---- everything else goes on ------------------------------------------- */

static void
echo(sennit_sock *sock, unsigned ready, void *arg)
{
    uint64_t number;

    (void)ready;
    (void)arg;
    CHECK_ERR(crew_recv(sock, &number, SENNIT_DONTWAIT), SENNIT_OK);
    CHECK_ERR(crew_send(sock, number, SENNIT_DONTWAIT), SENNIT_OK);
}

/* A loop whose sockets only callbacks use is quiet: the host waits in the kernel, and not
 * by the clock. */
static void
a_service_of_callbacks_answers_at_once(void **state)
{
    sennit_loop *loop = crew_hosted(NULL);
    sennit_sock *rep = crew_sock(loop, SENNIT_REP);
    unsigned quick = 0;
    sennit_loop *owned;
    sennit_sock *req;
    uint64_t number;

    (void)state;
    assert_int_equal(sennit_sock_bind(rep, "tcp://127.0.0.1:*"), SENNIT_OK);
    sennit_sock_on_ready(rep, SENNIT_READABLE, echo, NULL);
    assert_int_equal(sennit_loop_open(&owned, NULL), SENNIT_OK);
    req = crew_sock(owned, SENNIT_REQ);
    assert_int_equal(sennit_sock_connect(req, sennit_sock_last_endpoint(rep)), SENNIT_OK);
    for (uint64_t i = 0; i < 500; i++) {
        sennit_time started = sennit_loop_now(owned);

        CHECK_ERR(crew_send(req, i, 0), SENNIT_OK);
        CHECK_ERR(crew_recv(req, &number, 0), SENNIT_OK);
        quick += sennit_loop_now(owned) - started < SNI_HOST_TICK_NS / 2;
    }
    print_message("%u of 500 round trips took less than half a tick\n", quick);
    assert_true(quick > 250);
    sennit_loop_close(owned);
    sennit_loop_close(loop);
}

/* Nobody turns the loop meanwhile. */
static void
the_tail_of_a_burst_leaves_while_a_callback_runs(void **state)
{
    held h = { .runs = 0 };
    sennit_sock *push;
    sennit_sock *pull;
    sennit_loop *owned;
    uint64_t number;

    (void)state;
    h.loop = crew_hosted(NULL);
    assert_int_equal(sennit_loop_open(&owned, NULL), SENNIT_OK);
    push = crew_sock(h.loop, SENNIT_PUSH);
    pull = crew_sock(owned, SENNIT_PULL);
    assert_int_equal(sennit_sock_bind(pull, "tcp://127.0.0.1:*"), SENNIT_OK);
    assert_int_equal(sennit_sock_connect(push, sennit_sock_last_endpoint(pull)),
                     SENNIT_OK);
    CHECK_ERR(crew_send(push, 0, 0), SENNIT_OK);
    CHECK_ERR(crew_recv(pull, &number, 0), SENNIT_OK);
    start_timer(&h, 0);
    await(&h.inside);
    for (uint64_t i = 0; i < 100; i++) {
        for (unsigned k = 0; k < 8; k++)
            CHECK_ERR(crew_send(push, 8 * i + k, 0), SENNIT_OK);
        for (unsigned k = 0; k < 8; k++) {
            CHECK_ERR(crew_recv(pull, &number, 0), SENNIT_OK);
            assert_int_equal(number, 8 * i + k);
        }
    }
    atomic_store(&h.go, true);
    sennit_timer_stop(h.loop, &h.timer);
    sennit_loop_close(owned);
    sennit_loop_close(h.loop);
}

/* ---- a fork ------------------------------------------------------------ */

/* The callback goes on in the parent, and nowhere else. */
static void
a_child_that_is_forked_meanwhile_waits_for_no_callback(void **state)
{
    held h = { .runs = 0 };
    pid_t child;
    int status;

    (void)state;
    h.loop = crew_hosted(NULL);
    h.sock = ready_sock(h.loop, NULL);
    sennit_sock_on_ready(h.sock, SENNIT_READABLE, hold_sock, &h);
    await(&h.inside);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(CREW_DEADLINE_MS / 1000);
        sennit_sock_on_ready(h.sock, 0, NULL, NULL);
        sennit_timer_stop(h.loop, &h.timer);
        sennit_sock_close(h.sock);
        sennit_loop_close(h.loop);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    atomic_store(&h.go, true);
    sennit_loop_close(h.loop);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_timer_that_starts_itself_anew_while_it_is_stopped_is_stopped),
        cmocka_unit_test(a_timer_that_always_runs_is_stopped),
        cmocka_unit_test(a_loop_is_closed_while_a_call_waits_for_a_callback),
        cmocka_unit_test(a_socket_that_is_closed_while_its_callback_runs_is_freed),
        cmocka_unit_test(a_loop_is_closed_while_a_callback_closes_a_socket),
        cmocka_unit_test(a_callback_that_always_runs_is_changed),
        cmocka_unit_test(a_service_of_callbacks_answers_at_once),
        cmocka_unit_test(the_tail_of_a_burst_leaves_while_a_callback_runs),
        cmocka_unit_test(a_child_that_is_forked_meanwhile_waits_for_no_callback),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
