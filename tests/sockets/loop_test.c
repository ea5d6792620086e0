/* SPDX-License-Identifier: MIT */
/* The loop: callbacks, nesting, timers, posting, foreign loops, signals, threads. */
#include "net.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/limits.h"

static net n;

/* ---- readiness callbacks ----------------------------------------------- */

typedef struct counted {
    unsigned calls;
    unsigned ready;
} counted;

static void
count_only(sennit_sock *sock, unsigned ready, void *arg)
{
    counted *c = arg;

    (void)sock;
    c->calls++;
    c->ready |= ready;
}

static void
a_callback_is_called_each_turn_until_there_is_nothing_left(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        counted c = { 0, 0 };
        sennit_sock *push;
        sennit_sock *pull;
        unsigned before;

        net_open(&n);
        push = net_sock(&n, SENNIT_PUSH, NULL);
        pull = net_sock(&n, SENNIT_PULL, NULL);
        net_join(&n, pull, push, (transport)via);
        sennit_sock_on_ready(pull, SENNIT_READABLE, count_only, &c);
        assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
        assert_int_equal(c.calls, 0);
        net_send(push, "x");
        NET_UNTIL(&n, c.calls > 0);
        for (int i = 0; i < 5; i++) {
            before = c.calls;
            assert_int_equal(sennit_loop_timeout_ms(n.loop), 0);
            assert_int_equal(sennit_loop_turn(n.loop, -1), SENNIT_OK);
            assert_int_equal(c.calls, before + 1);
        }
        assert_int_equal(c.ready, SENNIT_READABLE);
        assert_string_equal(net_recv(pull), "x");
        before = c.calls;
        for (int i = 0; i < 3; i++)
            assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
        assert_int_equal(c.calls, before);
        sennit_sock_on_ready(pull, 0, NULL, NULL);
        net_send(push, "y");
        assert_string_equal(net_recv(pull), "y");
        assert_int_equal(c.calls, before);
        net_close(&n);
    }
}

static void
setting_a_callback_finds_what_is_there_already(void **state)
{
    counted c = { 0, 0 };
    sennit_sock *push;
    sennit_sock *pull;

    (void)state;
    net_open(&n);
    push = net_sock(&n, SENNIT_PUSH, NULL);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    net_join(&n, pull, push, TCP);
    net_send(push, "x");
    NET_UNTIL(&n, sennit_sock_ready(pull) & SENNIT_READABLE);
    sennit_sock_on_ready(pull, SENNIT_READABLE, count_only, &c);
    assert_int_equal(c.calls, 0);
    assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
    assert_int_equal(c.calls, 1);
    net_close(&n);
}

static void
monitor_events_are_offered_like_messages(void **state)
{
    counted c = { 0, 0 };
    sennit_sock *push;
    sennit_event event;

    (void)state;
    net_open(&n);
    push = net_sock(&n, SENNIT_PUSH, NULL);
    sennit_sock_on_ready(push, SENNIT_EVENTS, count_only, &c);
    net_connect(push, net_vacant(TCP));
    NET_UNTIL(&n, c.ready == SENNIT_EVENTS);
    while (sennit_sock_next_event(push, &event) == SENNIT_OK)
        continue;
    assert_int_equal(sennit_sock_ready(push) & SENNIT_EVENTS, 0);
    net_close(&n);
}

typedef struct victims {
    sennit_sock *socks[3];
    unsigned calls;
} victims;

static void
close_all(sennit_sock *sock, unsigned ready, void *arg)
{
    victims *v = arg;

    (void)sock;
    (void)ready;
    v->calls++;
    for (int i = 0; i < 3; i++) {
        sennit_sock_close(v->socks[i]);
        v->socks[i] = NULL;
    }
}

/* The first one called closes itself, one that would be called after it in the same
 * turn, and the sender. */
static void
a_callback_may_close_its_own_socket_and_others(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        victims v = { { NULL, NULL, NULL }, 0 };
        sennit_sock *push;
        sennit_event event;

        net_open(&n);
        push = net_sock(&n, SENNIT_PUSH, NULL);
        for (int i = 0; i < 2; i++) {
            v.socks[i] = net_sock(&n, SENNIT_PULL, NULL);
            net_join(&n, v.socks[i], push, (transport)via);
        }
        v.socks[2] = push;
        net_send(push, "x");
        net_send(push, "x");
        NET_UNTIL(&n, (sennit_sock_ready(v.socks[0]) & SENNIT_READABLE) &&
                          (sennit_sock_ready(v.socks[1]) & SENNIT_READABLE));
        sennit_sock_on_ready(v.socks[0], SENNIT_READABLE, close_all, &v);
        sennit_sock_on_ready(v.socks[1], SENNIT_READABLE, close_all, &v);
        assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
        assert_int_equal(v.calls, 1);
        assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
        (void)event;
        net_close(&n);
    }
}

/* ---- closing under a call that waits ----------------------------------- */

static void
close_it(void *arg)
{
    sennit_sock_close(arg);
}

static void
a_receive_that_waits_ends_when_its_socket_is_closed(void **state)
{
    sennit_timer timer = { 0 };
    sennit_sock *pull;

    (void)state;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    assert_int_equal(sennit_timer_start(n.loop, &timer, 1000000, close_it, pull),
                     SENNIT_OK);
    assert_string_equal(net_recv(pull), "ECLOSED");
    net_close(&n);
}

static void
a_send_that_waits_ends_when_its_socket_is_closed(void **state)
{
    sennit_timer timer = { 0 };
    sennit_sock *push;

    (void)state;
    net_open(&n);
    push = net_sock(&n, SENNIT_PUSH, NULL);
    assert_int_equal(sennit_timer_start(n.loop, &timer, 1000000, close_it, push),
                     SENNIT_OK);
    assert_int_equal(net_try_send(push, "x", 0), SENNIT_ECLOSED);
    net_close(&n);
}

/* ---- nesting ----------------------------------------------------------- */

typedef struct nest {
    sennit_timer timer;
    sennit_sock *sock;
    unsigned deepest;
    sennit_err err;
} nest;

static nest nests[16];

static void
wait_deeper(void *arg)
{
    nest *self = arg;
    nest *next = self + 1;
    sennit_err err;

    assert_int_equal(sennit_timer_start(n.loop, &next->timer, 0, wait_deeper, next),
                     SENNIT_OK);
    nests[0].deepest++;
    do {
        err = sennit_loop_turn(n.loop, DEADLINE_MS);
    } while (err == SENNIT_OK && sennit_loop_timeout_ms(n.loop) == 0);
    sennit_timer_stop(n.loop, &next->timer);
    if (nests[0].err == SENNIT_OK)
        nests[0].err = err;
}

static void
turns_nest_up_to_the_bound_and_are_refused_beyond(void **state)
{
    (void)state;
    net_open(&n);
    memset(nests, 0, sizeof nests);
    assert_int_equal(
        sennit_timer_start(n.loop, &nests[0].timer, 0, wait_deeper, &nests[0]),
        SENNIT_OK);
    assert_int_equal(sennit_loop_turn(n.loop, DEADLINE_MS), SENNIT_OK);
    assert_int_equal(nests[0].deepest, 8);
    assert_int_equal(nests[0].err, SENNIT_ESTATE);
    /* And everything still works. */
    assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
    net_close(&n);
}

typedef struct asker {
    sennit_sock *req;
    char answer[64];
} asker;

static void
ask_inside(sennit_sock *sock, unsigned ready, void *arg)
{
    asker *a = arg;

    (void)ready;
    assert_string_equal(net_recv_flags(sock, SENNIT_DONTWAIT), "go");
    sennit_sock_on_ready(sock, 0, NULL, NULL);
    net_send(a->req, "what?");
    snprintf(a->answer, sizeof a->answer, "%s", net_recv(a->req));
}

static void
answer_it(sennit_sock *sock, unsigned ready, void *arg)
{
    (void)ready;
    (void)arg;
    assert_string_equal(net_recv_flags(sock, SENNIT_DONTWAIT), "what?");
    net_send(sock, "that");
}

static void
close_instead(sennit_sock *sock, unsigned ready, void *arg)
{
    (void)ready;
    (void)arg;
    sennit_sock_close(sock);
}

/* A callback asks somebody who is served by another one inside its wait. */
static void
asking_inside_gives(const char *answer,
                    void (*serve)(sennit_sock *sock, unsigned ready, void *arg))
{
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock *push;
        sennit_sock *pull;
        sennit_sock *rep;
        asker a = { NULL, "" };

        net_open(&n);
        push = net_sock(&n, SENNIT_PUSH, NULL);
        pull = net_sock(&n, SENNIT_PULL, NULL);
        rep = net_sock(&n, SENNIT_REP, NULL);
        a.req = net_sock(&n, SENNIT_REQ, NULL);
        net_join(&n, pull, push, (transport)via);
        net_join(&n, rep, a.req, (transport)via);
        sennit_sock_on_ready(pull, SENNIT_READABLE, ask_inside, &a);
        sennit_sock_on_ready(rep, SENNIT_READABLE, serve, NULL);
        net_send(push, "go");
        NET_UNTIL(&n, a.answer[0] != '\0');
        assert_string_equal(a.answer, answer);
        net_close(&n);
    }
}

static void
a_callback_may_wait_for_another(void **state)
{
    (void)state;
    asking_inside_gives("that", answer_it);
}

/* Whoever waits inside a callback hears of a peer that dies, and connects that failed
 * are tried again, as outside. */
static void
a_callback_that_waits_hears_that_its_peer_died(void **state)
{
    (void)state;
    asking_inside_gives("ECONNRESET", close_instead);
}

typedef struct late {
    sennit_timer timer;
    sennit_sock *rep;
    char endpoint[64];
    char answer[64];
} late;

static void
bind_late(void *arg)
{
    late *l = arg;

    assert_int_equal(sennit_sock_bind(l->rep, l->endpoint), SENNIT_OK);
    sennit_sock_on_ready(l->rep, SENNIT_READABLE, answer_it, NULL);
}

static void
ask_before_there_is_anybody(void *arg)
{
    late *l = arg;
    sennit_sock *req = net_sock(&n, SENNIT_REQ, NULL);

    net_connect(req, l->endpoint);
    net_send(req, "what?");
    assert_int_equal(sennit_timer_start(n.loop, &l->timer, 3000000, bind_late, l),
                     SENNIT_OK);
    snprintf(l->answer, sizeof l->answer, "%s", net_recv(req));
}

static void
a_callback_that_waits_connects_again_and_again(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        late l = { .timer = { 0 } };

        net_open(&n);
        snprintf(l.endpoint, sizeof l.endpoint, "%s", net_vacant((transport)via));
        l.rep = net_sock(&n, SENNIT_REP, NULL);
        assert_int_equal(
            sennit_timer_start(n.loop, &l.timer, 0, ask_before_there_is_anybody, &l),
            SENNIT_OK);
        NET_UNTIL(&n, l.answer[0] != '\0');
        assert_string_equal(l.answer, "that");
        net_close(&n);
    }
}

/* ---- timers ------------------------------------------------------------ */

typedef struct tick {
    sennit_timer timer;
    char name;
    struct tick *stop;
    struct tick *start;
    unsigned again;
} tick;

static char order[256];

static void
on_tick(void *arg)
{
    tick *t = arg;
    size_t used = strlen(order);

    assert_true(used + 2 < sizeof order);
    order[used] = t->name;
    order[used + 1] = '\0';
    if (t->stop != NULL)
        sennit_timer_stop(n.loop, &t->stop->timer);
    if (t->start != NULL)
        assert_int_equal(
            sennit_timer_start(n.loop, &t->start->timer, 0, on_tick, t->start),
            SENNIT_OK);
    if (t->again > 0) {
        t->again--;
        assert_int_equal(sennit_timer_start(n.loop, &t->timer, 0, on_tick, t), SENNIT_OK);
    }
}

/* However long the calls before it took. */
static void
start_at(tick *t, sennit_time at)
{
    sennit_time now = sennit_loop_now(n.loop);

    assert_int_equal(
        sennit_timer_start(n.loop, &t->timer, at > now ? at - now : 0, on_tick, t),
        SENNIT_OK);
}

static void
start(tick *t, sennit_time delay_us)
{
    assert_int_equal(sennit_timer_start(n.loop, &t->timer, delay_us * 1000u, on_tick, t),
                     SENNIT_OK);
}

static void
timers_fire_in_the_order_of_their_times(void **state)
{
    tick ticks[4] = {
        { .name = 'a' }, { .name = 'b' }, { .name = 'c' }, { .name = 'd' }
    };

    sennit_time began;

    (void)state;
    order[0] = '\0';
    net_open(&n);
    began = sennit_loop_now(n.loop);
    start_at(&ticks[2], began + 15000000u);
    start_at(&ticks[0], began + 5000000u);
    start_at(&ticks[3], began + 20000000u);
    start_at(&ticks[1], began + 10000000u);
    NET_UNTIL(&n, strlen(order) == 4);
    assert_string_equal(order, "abcd");
    net_close(&n);
}

static void
a_timer_can_stop_and_restart_others_and_itself(void **state)
{
    tick a = { .name = 'a' };
    tick b = { .name = 'b' };
    tick c = { .name = 'c' };

    (void)state;
    order[0] = '\0';
    net_open(&n);
    a.stop = &b; /* due at the same moment, and yet it must not fire */
    a.start = &c;
    a.again = 2;
    start(&a, 0);
    start(&b, 0);
    NET_UNTIL(&n, strlen(order) >= 6);
    assert_null(strchr(order, 'b'));
    assert_int_equal(strlen(order), 6);
    start(&b, 1000);
    start(&b, 2000); /* a restart, not a second timer */
    NET_UNTIL(&n, strchr(order, 'b') != NULL);
    assert_int_equal(sennit_loop_timeout_ms(n.loop), -1);
    assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
    assert_int_equal(strlen(order), 7);
    net_close(&n);
}

/* A timer that starts itself again for now must not keep a turn from ending. */
static void
a_timer_that_always_restarts_itself_does_not_hold_a_turn(void **state)
{
    tick a = { .name = 'a', .again = 100 };

    (void)state;
    order[0] = '\0';
    net_open(&n);
    start(&a, 0);
    for (unsigned i = 1; i <= 5; i++) {
        assert_int_equal(sennit_loop_turn(n.loop, -1), SENNIT_OK);
        assert_int_equal(strlen(order), i);
    }
    sennit_timer_stop(n.loop, &a.timer);
    net_close(&n);
}

/* ---- running and stopping ---------------------------------------------- */

static void
stop_it(void *arg)
{
    unsigned *calls = arg;

    (*calls)++;
    sennit_loop_stop(n.loop);
}

static void
run_goes_on_until_it_is_stopped_and_can_run_again(void **state)
{
    unsigned calls = 0;

    (void)state;
    net_open(&n);
    for (unsigned i = 1; i <= 3; i++) {
        assert_int_equal(sennit_loop_post(n.loop, stop_it, &calls), SENNIT_OK);
        assert_int_equal(sennit_loop_run(n.loop), SENNIT_OK);
        assert_int_equal(calls, i);
    }
    net_close(&n);
}

/* ---- posting ----------------------------------------------------------- */

#define POSTERS 3
#define POSTS   2000

typedef struct poster {
    pthread_t thread;
    unsigned posted; /* the poster's */
    unsigned ran;    /* the loop's */
} poster;

typedef struct post {
    poster *from;
    unsigned number;
} post;

static post posts[POSTERS][POSTS];
static poster posters[POSTERS];

static void
ran(void *arg)
{
    post *p = arg;

    assert_int_equal(p->number, p->from->ran);
    p->from->ran++;
}

static void *
post_many(void *arg)
{
    poster *self = arg;
    size_t which = (size_t)(self - posters);

    for (unsigned i = 0; i < POSTS; i++) {
        posts[which][i] = (post){ self, i };
        if (sennit_loop_post(n.loop, ran, &posts[which][i]) != SENNIT_OK)
            break;
        self->posted++;
    }
    return NULL;
}

static void
calls_posted_from_threads_run_once_and_in_each_threads_order(void **state)
{
    unsigned total = 0;

    (void)state;
    net_open(&n);
    memset(posters, 0, sizeof posters);
    for (int i = 0; i < POSTERS; i++)
        assert_int_equal(pthread_create(&posters[i].thread, NULL, post_many, &posters[i]),
                         0);
    while (total < POSTERS * POSTS) {
        assert_int_equal(sennit_loop_turn(n.loop, DEADLINE_MS), SENNIT_OK);
        total = posters[0].ran + posters[1].ran + posters[2].ran;
    }
    for (int i = 0; i < POSTERS; i++) {
        pthread_join(posters[i].thread, NULL);
        assert_int_equal(posters[i].posted, POSTS);
        assert_int_equal(posters[i].ran, POSTS);
    }
    net_close(&n);
}

static void
a_post_ends_a_receive_that_waits_and_may_close_its_socket(void **state)
{
    sennit_sock *pull;

    (void)state;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    assert_int_equal(sennit_loop_post(n.loop, close_it, pull), SENNIT_OK);
    assert_string_equal(net_recv(pull), "ECLOSED");
    net_close(&n);
}

static void
count_up(void *arg)
{
    (*(unsigned *)arg)++;
}

static void
calls_still_waiting_are_run_by_close(void **state)
{
    unsigned calls = 0;

    (void)state;
    net_open(&n);
    for (int i = 0; i < 10; i++)
        assert_int_equal(sennit_loop_post(n.loop, count_up, &calls), SENNIT_OK);
    net_close(&n);
    assert_int_equal(calls, 10);
}

/* ---- threads ----------------------------------------------------------- */

static void *
try_everything(void *arg)
{
    sennit_sock *sock = arg;
    sennit_sock *out;
    sennit_msg msg;
    sennit_err *errs = calloc(10, sizeof *errs);

    sennit_msg_init(&msg);
    errs[0] = sennit_loop_turn(n.loop, 0);
    errs[1] = sennit_sock_open(&out, n.loop, SENNIT_PAIR, NULL);
    errs[2] = sennit_sock_bind(sock, "inproc://x");
    errs[3] = sennit_sock_connect(sock, "inproc://x");
    errs[4] = sennit_sock_send(sock, &msg, SENNIT_DONTWAIT);
    errs[5] = sennit_sock_recv(sock, &msg, SENNIT_DONTWAIT);
    errs[6] = sennit_sock_subscribe(sock, (sennit_bytes){ NULL, 0 });
    errs[7] = sennit_loop_run(n.loop);
    errs[8] = sennit_sock_unbind(sock, "inproc://x");
    errs[9] = sennit_sock_disconnect(sock, "inproc://x");
    return errs;
}

static void
a_foreign_thread_is_refused(void **state)
{
    sennit_sock *sock;
    pthread_t thread;
    void *result;
    sennit_err *errs;

    (void)state;
    net_open(&n);
    sock = net_sock(&n, SENNIT_PAIR, NULL);
    assert_int_equal(pthread_create(&thread, NULL, try_everything, sock), 0);
    pthread_join(thread, &result);
    errs = result;
    for (int i = 0; i < 10; i++)
        assert_int_equal(errs[i], SENNIT_ETHREAD);
    free(errs);
    net_close(&n);
}

/* ---- foreign loops ----------------------------------------------------- */

/* Drives a loop as a foreign poll loop would, until `*done`. */
static void
poll_until(sennit_loop *loop, const unsigned *done, unsigned wanted)
{
    struct pollfd fds = { .fd = sennit_loop_fd(loop), .events = POLLIN };

    assert_true(fds.fd >= 0);
    while (*done < wanted) {
        int timeout = sennit_loop_timeout_ms(loop);
        int count =
            poll(&fds, 1, timeout < 0 || timeout > DEADLINE_MS ? DEADLINE_MS : timeout);

        if (count == 0 && timeout < 0)
            fail_msg("a wake-up was lost: %u of %u", *done, wanted);
        assert_int_equal(sennit_loop_turn(loop, 0), SENNIT_OK);
    }
}

static void
echo(sennit_sock *sock, unsigned ready, void *arg)
{
    (void)ready;
    (void)arg;
    net_send(sock, net_recv_flags(sock, SENNIT_DONTWAIT));
}

static void
next_round(sennit_sock *sock, unsigned ready, void *arg)
{
    unsigned *rounds = arg;

    (void)ready;
    assert_string_equal(net_recv_flags(sock, SENNIT_DONTWAIT), "round|and round");
    (*rounds)++;
    net_send(sock, "round|and round");
}

static void
a_foreign_loop_drives_ours_by_descriptor_and_timeout(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock *req;
        sennit_sock *rep;
        unsigned rounds = 0;
        char endpoint[64];

        net_open(&n);
        snprintf(endpoint, sizeof endpoint, "%s", net_vacant((transport)via));
        req = net_sock(&n, SENNIT_REQ, NULL);
        rep = net_sock(&n, SENNIT_REP, NULL);
        sennit_sock_on_ready(req, SENNIT_READABLE, next_round, &rounds);
        sennit_sock_on_ready(rep, SENNIT_READABLE, echo, NULL);
        net_connect(req, endpoint); /* fails first, so timers count too */
        net_send(req, "round|and round");
        assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
        assert_int_equal(sennit_sock_bind(rep, endpoint), SENNIT_OK);
        poll_until(n.loop, &rounds, 500);
        net_close(&n);
    }
}

static void
end_of_pair(sennit_sock *sock, unsigned ready, void *arg)
{
    sennit_event event;

    (void)ready;
    if (net_has_event(sock, SENNIT_EVENT_DISCONNECTED, &event))
        (*(unsigned *)arg)++;
}

/* Closing leaves work behind: a foreign loop must be told to turn for it, or the peer
 * never hears of it. */
static void
a_foreign_loop_is_told_to_turn_after_a_close(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock *a;
        sennit_sock *b;
        unsigned ended = 0;

        net_open(&n);
        a = net_sock(&n, SENNIT_PAIR, NULL);
        b = net_sock(&n, SENNIT_PAIR, NULL);
        net_join(&n, a, b, (transport)via);
        while (sennit_loop_timeout_ms(n.loop) == 0)
            assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
        sennit_sock_on_ready(b, SENNIT_EVENTS, end_of_pair, &ended);
        assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
        while (sennit_loop_timeout_ms(n.loop) == 0)
            assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
        sennit_sock_close(a);
        poll_until(n.loop, &ended, 1);
        net_close(&n);
    }
}

static void *
post_one(void *arg)
{
    return sennit_loop_post(n.loop, count_up, arg) == SENNIT_OK ? arg : NULL;
}

static void
a_foreign_loop_is_woken_by_a_post(void **state)
{
    (void)state;
    net_open(&n);
    for (int i = 0; i < 50; i++) {
        unsigned calls = 0;
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, post_one, &calls), 0);
        poll_until(n.loop, &calls, 1);
        pthread_join(thread, NULL);
    }
    net_close(&n);
}

/* A look without waiting hears the wake, and runs no call: the turn behind it must. */
static void
a_post_is_not_forgotten_by_a_receive_that_heard_its_wake(void **state)
{
    sennit_sock *pull;
    unsigned calls = 0;

    (void)state;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    assert_int_equal(sennit_loop_post(n.loop, count_up, &calls), SENNIT_OK);
    assert_string_equal(net_recv_flags(pull, SENNIT_DONTWAIT), "EAGAIN");
    assert_int_equal(calls, 0);
    poll_until(n.loop, &calls, 1);
    assert_int_equal(sennit_loop_post(n.loop, count_up, &calls), SENNIT_OK);
    assert_string_equal(net_recv_flags(pull, SENNIT_DONTWAIT), "EAGAIN");
    assert_int_equal(sennit_loop_turn(n.loop, -1), SENNIT_OK);
    assert_int_equal(calls, 2);
    net_close(&n);
}

/* More than two looks throw away, and less than the high-water marks. */
#define JUNK 800

/* A message lies behind `junk`, all of it is here, and nothing else comes. */
static void
bury(sennit_sock *from, sennit_sock *to, const char *junk, const char *message)
{
    for (int i = 0; i < JUNK; i++)
        net_send(from, junk);
    net_send(from, message);
    NET_UNTIL(&n, net_only_peer(to).unread_msgs == JUNK + 1);
    while (sennit_loop_timeout_ms(n.loop) == 0)
        assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
}

/* Looks until there is nothing, and again when it is told to. */
static void
is_dug_out(sennit_sock *sock, bool looks_first, const char *message)
{
    struct pollfd fds = { .fd = sennit_loop_fd(n.loop), .events = POLLIN };
    unsigned looks = 1;

    for (; looks_first && !(sennit_sock_ready(sock) & SENNIT_READABLE); looks++) {
        if (sennit_loop_timeout_ms(n.loop) < 0 && poll(&fds, 1, 0) == 0)
            fail_msg("what lies behind look %u is forgotten", looks);
        assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
    }
    for (; !looks_first; looks++) {
        sennit_time began = sennit_loop_now(n.loop);
        const char *got = net_recv_flags(sock, SENNIT_DONTWAIT);

        if (strcmp(got, "EAGAIN") != 0) {
            assert_string_equal(got, message);
            break;
        }
        assert_int_equal(sennit_loop_turn(n.loop, DEADLINE_MS), SENNIT_OK);
        assert_true(sennit_loop_now(n.loop) - began < UINT64_C(1000000) * DEADLINE_MS);
    }
    assert_true(looks > 1);
    if (looks_first)
        assert_string_equal(net_recv_flags(sock, SENNIT_DONTWAIT), message);
    /* And then the loop rests. */
    assert_false(sennit_sock_ready(sock) & SENNIT_READABLE);
    while (sennit_loop_timeout_ms(n.loop) == 0)
        assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
}

static void
what_lies_behind_topics_nobody_wants_any_more_is_received(void **state)
{
    (void)state;
    for (int via = 0; via < 2 * TRANSPORTS; via++) {
        sennit_sock *pub;
        sennit_sock *sub;

        net_open(&n);
        pub = net_sock(&n, SENNIT_PUB, NULL);
        sub = net_sock(&n, SENNIT_SUB, NULL);
        net_subscribe(sub, "junk");
        net_subscribe(sub, "message");
        net_join(&n, pub, sub, (transport)(via / 2));
        NET_UNTIL(&n, net_only_peer(pub).subscriptions == 2);
        bury(pub, sub, "junk", "message");
        assert_int_equal(sennit_sock_unsubscribe(sub, net_bytes("junk")), SENNIT_OK);
        is_dug_out(sub, via % 2, "message");
        net_close(&n);
    }
}

static void
what_lies_behind_malformed_requests_is_received(void **state)
{
    (void)state;
    for (int via = 0; via < 2 * TRANSPORTS; via++) {
        sennit_sock *dealer;
        sennit_sock *rep;

        net_open(&n);
        dealer = net_sock(&n, SENNIT_DEALER, NULL);
        rep = net_sock(&n, SENNIT_REP, NULL);
        net_join(&n, rep, dealer, (transport)(via / 2));
        bury(dealer, rep, "no delimiter", "|request");
        is_dug_out(rep, via % 2, "request");
        net_close(&n);
    }
}

#define LOOK_UPS 600

static atomic_uint looked_up;

static sennit_err
finds_nothing(void *arg, const char *host, bool ipv6, sennit_ip found[16], size_t *count)
{
    (void)arg;
    (void)host;
    (void)ipv6;
    (void)found;
    *count = 0;
    atomic_fetch_add(&looked_up, 1);
    return SENNIT_ENODEV;
}

/* More than one turn takes, and the kernel has told of them once. No callback is set, for
 * whose sake there would be turns in any case. */
static void
a_foreign_loop_is_told_of_more_than_fits_into_a_turn(void **state)
{
    static sennit_sock *dealers[LOOK_UPS];
    sennit_loop_opts loop_opts = SENNIT_LOOP_OPTS_DEFAULT;
    sennit_sock_opts opts = net_opts();
    struct pollfd fds = { .events = POLLIN };
    sennit_event event;
    sennit_loop *loop;
    unsigned given_up = 0;

    (void)state;
    loop_opts.resolver.resolve = finds_nothing;
    opts.reconnect_min_ms = -1;
    opts.connect_timeout_ms = 0;
    atomic_store(&looked_up, 0);
    assert_int_equal(sennit_loop_open(&loop, &loop_opts), SENNIT_OK);
    for (int i = 0; i < LOOK_UPS; i++) {
        char endpoint[32];

        assert_int_equal(sennit_sock_open(&dealers[i], loop, SENNIT_DEALER, &opts),
                         SENNIT_OK);
        snprintf(endpoint, sizeof endpoint, "tcp://h%d:9", i);
        assert_int_equal(sennit_sock_connect(dealers[i], endpoint), SENNIT_OK);
    }
    while (atomic_load(&looked_up) < LOOK_UPS)
        sched_yield();
    fds.fd = sennit_loop_fd(loop);
    while (given_up < LOOK_UPS) {
        int timeout = sennit_loop_timeout_ms(loop);

        if (poll(&fds, 1, timeout < 0 ? DEADLINE_MS : timeout) == 0 && timeout < 0)
            fail_msg("a wake-up was lost: %u of %d", given_up, LOOK_UPS);
        assert_int_equal(sennit_loop_turn(loop, 0), SENNIT_OK);
        for (int i = 0; i < LOOK_UPS; i++)
            given_up += net_has_event(dealers[i], SENNIT_EVENT_GAVE_UP, &event);
    }
    sennit_loop_close(loop);
}

static bool nothing_grows;

static void *
acquire_any(void *arg, size_t size)
{
    (void)arg;
    return malloc(size);
}

static void *
resize_if_allowed(void *arg, void *memory, size_t size)
{
    (void)arg;
    return nothing_grows ? NULL : realloc(memory, size);
}

static void
release_any(void *arg, void *memory)
{
    (void)arg;
    free(memory);
}

static void
count_ready(sennit_sock *sock, unsigned ready, void *arg)
{
    sennit_event event;

    (void)ready;
    if (net_has_event(sock, SENNIT_EVENT_READY, &event))
        (*(unsigned *)arg)++;
}

/* There is none for the timer of its retry. It is told when to turn, and a turn before
 * that is not one more attempt. */
static void
a_foreign_loop_is_told_when_memory_is_looked_for_again(void **state)
{
    const sennit_allocator alloc = { acquire_any, resize_if_allowed, release_any, NULL };
    sennit_loop_opts loop_opts = SENNIT_LOOP_OPTS_DEFAULT;
    sennit_sock_opts opts = net_opts();
    sennit_time began;
    sennit_loop *loop;
    sennit_sock *push;
    sennit_sock *pull;
    char endpoint[64];
    unsigned ready = 0;

    (void)state;
    snprintf(endpoint, sizeof endpoint, "%s", net_vacant(TCP));
    loop_opts.allocator = &alloc;
    assert_int_equal(sennit_loop_open(&loop, &loop_opts), SENNIT_OK);
    assert_int_equal(sennit_sock_open(&pull, loop, SENNIT_PULL, &opts), SENNIT_OK);
    assert_int_equal(sennit_sock_open(&push, loop, SENNIT_PUSH, &opts), SENNIT_OK);
    nothing_grows = true;
    began = sennit_loop_now(loop);
    assert_int_equal(sennit_sock_connect(push, endpoint), SENNIT_OK);
    while (net_stats(push).reconnects < 3) {
        struct pollfd descriptor = { .fd = sennit_loop_fd(loop), .events = POLLIN };
        int timeout = sennit_loop_timeout_ms(loop);

        /* While an attempt is made the kernel tells how it ends. */
        assert_true(timeout <= 10);
        assert_true(poll(&descriptor, 1, timeout < 0 ? DEADLINE_MS : timeout) > 0 ||
                    timeout >= 0);
        assert_int_equal(sennit_loop_turn(loop, 0), SENNIT_OK);
    }
    assert_in_range(net_stats(push).reconnects, 1,
                    2 + (sennit_loop_now(loop) - began) / 10000000u);
    nothing_grows = false;
    assert_int_equal(sennit_sock_bind(pull, endpoint), SENNIT_OK);
    sennit_sock_on_ready(push, SENNIT_EVENTS, count_ready, &ready);
    poll_until(loop, &ready, 1);
    sennit_loop_close(loop);
}

/* What is accepted and finds no memory is tried again after a while, also when there is
 * none for the timer of that. */
static void
a_listener_without_memory_waits_for_it_and_does_not_spin(void **state)
{
    enum { CLIENTS = 8, FAILURES = 5 };
    const char *endpoint;
    sennit_sock *pull;
    sennit_time began;
    int fds[CLIENTS];

    (void)state;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    endpoint = net_bind(pull, TCP);
    for (int i = 0; i < CLIENTS; i++)
        fds[i] = raw_connect(endpoint);
    n.alloc.fail_at = n.alloc.requests + 1;
    n.alloc.fail_count = UINT64_MAX;
    began = sennit_loop_now(n.loop);
    for (int i = 0; i < FAILURES; i++) {
        uint64_t failed = n.alloc.failed;

        NET_UNTIL(&n, n.alloc.failed > failed);
    }
    assert_true(sennit_loop_now(n.loop) - began >=
                (FAILURES - 2) * (uint64_t)SNI_MEMORY_RETRY_NS);
    n.alloc.fail_at = 0;
    raw_handshake(&n, fds[CLIENTS - 1], "PUSH", "");
    NET_UNTIL(&n, net_stats(pull).connections == 1);
    for (int i = 0; i < CLIENTS; i++)
        close(fds[i]);
    net_close(&n);
}

/* ---- signals ----------------------------------------------------------- */

static volatile sig_atomic_t alarms;

static void
on_alarm(int number)
{
    (void)number;
    alarms++;
}

static void
a_signal_ends_a_receive_that_waits(void **state)
{
    struct sigaction action = { .sa_handler = on_alarm };
    struct sigaction old;
    /* Repeated, so that one that comes before the wait does not hang the test. */
    struct itimerval often = { { 0, 2000 }, { 0, 2000 } };
    struct itimerval never = { { 0, 0 }, { 0, 0 } };
    sennit_sock *pull;

    (void)state;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    assert_int_equal(sigaction(SIGALRM, &action, &old), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    assert_string_equal(net_recv(pull), "EINTR");
    assert_int_equal(sennit_loop_turn(n.loop, DEADLINE_MS), SENNIT_EINTR);
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    assert_int_equal(sigaction(SIGALRM, &old, NULL), 0);
    assert_true(alarms > 0);
    net_close(&n);
}

static volatile sig_atomic_t pipes_raised;

static void
on_pipe(int number)
{
    (void)number;
    pipes_raised++;
}

static void
writing_to_a_peer_that_has_gone_never_raises_sigpipe(void **state)
{
    struct sigaction action = { .sa_handler = on_pipe };
    struct sigaction old;

    (void)state;
    assert_int_equal(sigaction(SIGPIPE, &action, &old), 0);
    for (int via = 0; via < INPROC; via++) {
        for (int round = 0; round < 20; round++) {
            sennit_sock *pair;
            int fd;

            net_open(&n);
            pair = net_sock(&n, SENNIT_PAIR, NULL);
            fd = raw_connect(net_bind(pair, (transport)via));
            raw_handshake(&n, fd, "PAIR", NULL);
            NET_UNTIL(&n, net_stats(pair).connections == 1);
            close(fd);
            for (int i = 0; i < 50; i++) {
                (void)net_try_send(pair, "into the void", SENNIT_DONTWAIT);
                sennit_sock_flush(pair);
            }
            NET_UNTIL(&n, net_stats(pair).connections == 0);
            net_check_law(pair);
            net_close(&n);
        }
    }
    assert_int_equal(sigaction(SIGPIPE, &old, NULL), 0);
    assert_int_equal(pipes_raised, 0);
}

/* ---- the end of a context ---------------------------------------------- */

static void *
shut_down(void *context)
{
    sennit_context_shutdown(context);
    return NULL;
}

/* Each call waits for ever; another thread ends it. And then nothing waits any more. */
static void
every_call_that_waits_ends_with_its_context(void **state)
{
    enum { TURN, RUN, SEND, RECV, WAIT, CALLS };

    (void)state;
    for (int call = 0; call < CALLS; call++) {
        sennit_loop_opts loop_opts = SENNIT_LOOP_OPTS_DEFAULT;
        sennit_sock_opts opts = SENNIT_SOCK_OPTS_DEFAULT;
        sennit_context *context;
        pthread_t thread;
        sennit_sock *pair;
        sennit_msg msg;

        assert_int_equal(sennit_context_open(&context, NULL), SENNIT_OK);
        loop_opts.context = context;
        assert_int_equal(sennit_loop_open(&n.loop, &loop_opts), SENNIT_OK);
        assert_int_equal(sennit_sock_open(&pair, n.loop, SENNIT_PAIR, &opts), SENNIT_OK);
        sennit_msg_init(&msg);
        assert_int_equal(pthread_create(&thread, NULL, shut_down, context), 0);
        for (int again = 0; again < 2; again++) {
            sennit_err err = SENNIT_OK;

            switch (call) {
            case TURN:
                while (err == SENNIT_OK || err == SENNIT_EINTR)
                    err = sennit_loop_turn(n.loop, -1);
                break;
            case RUN:
                err = sennit_loop_run(n.loop);
                break;
            case SEND:
                err = sennit_sock_send(pair, &msg, 0);
                break;
            case RECV:
                err = sennit_sock_recv(pair, &msg, again ? SENNIT_DONTWAIT : 0);
                break;
            case WAIT:
                err = sennit_sock_wait_connections(pair, 1, -1);
                break;
            }
            assert_int_equal(err, SENNIT_ETERM);
        }
        pthread_join(thread, NULL);
        assert_int_equal(sennit_sock_bind(pair, "tcp://127.0.0.1:*"), SENNIT_ETERM);
        assert_int_equal(sennit_sock_connect(pair, "tcp://127.0.0.1:1"), SENNIT_ETERM);
        assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
        sennit_msg_fini(&msg);
        sennit_loop_close(n.loop);
        assert_int_equal(sennit_context_close(context), SENNIT_OK);
    }
}

/* ---- monitor ----------------------------------------------------------- */

static void
events_nobody_reads_are_dropped_oldest_first_and_counted(void **state)
{
    sennit_sock *push;
    sennit_event event;
    unsigned left = 0;
    sennit_time at = 0;

    (void)state;
    net_open(&n);
    push = net_sock(&n, SENNIT_PUSH, NULL);
    /* LISTENING and UNBOUND each time. */
    for (int i = 0; i < 50; i++) {
        const char *endpoint = net_bind(push, TCP);

        assert_int_equal(sennit_sock_unbind(push, endpoint), SENNIT_OK);
    }
    assert_int_equal(sennit_sock_next_event(push, &event), SENNIT_OK);
    assert_int_equal(event.lost, 100 - 64);
    assert_int_equal(event.kind, SENNIT_EVENT_LISTENING);
    do {
        left++;
        assert_true(event.at >= at);
        assert_non_null(event.reason);
        at = event.at;
        if (left > 1)
            assert_int_equal(event.lost, 0);
    } while (sennit_sock_next_event(push, &event) == SENNIT_OK);
    assert_int_equal(left, 64);
    net_close(&n);
}

/* Events that come while others are read: the ring grows with its beginning anywhere. */
static void
no_event_is_lost_or_out_of_turn_as_long_as_they_fit(void **state)
{
    static const uint32_t bounds[] = { 1, 2, 3, 7, 64, 65536 };

    (void)state;
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        sennit_sock_opts opts = net_opts();
        char texts[20][64];
        unsigned told = 0;
        unsigned read = 0;
        uint64_t lost = 0;
        sennit_sock *push;
        sennit_event event;

        opts.events_max = bounds[i];
        opts.events = 1u << SENNIT_EVENT_UNBOUND;
        net_open(&n);
        push = net_sock(&n, SENNIT_PUSH, &opts);
        for (unsigned step = 0; told < 20; step++) {
            snprintf(texts[told], sizeof texts[told], "%s", net_bind(push, TCP));
            assert_int_equal(sennit_sock_unbind(push, texts[told++]), SENNIT_OK);
            if (step % 3 != 2)
                continue;
            assert_int_equal(sennit_sock_next_event(push, &event), SENNIT_OK);
            lost += event.lost;
            assert_int_equal(event.kind, SENNIT_EVENT_UNBOUND);
            assert_string_equal(event.endpoint, texts[lost + read++]);
        }
        while (sennit_sock_next_event(push, &event) == SENNIT_OK) {
            lost += event.lost;
            assert_string_equal(event.endpoint, texts[lost + read++]);
        }
        assert_int_equal(lost + read, told);
        if (bounds[i] >= 64)
            assert_int_equal(lost, 0);
        else
            assert_true(lost > 0);
        net_close(&n);
    }
}

static void
the_monitor_tells_a_connections_whole_life_at_both_ends(void **state)
{
    (void)state;
    for (int via = 0; via < INPROC; via++) {
        sennit_sock_opts opts = net_opts();
        sennit_sock *router;
        sennit_sock *dealer;
        sennit_event event;
        uint32_t number;

        memcpy(opts.identity, "me", 2);
        opts.identity_size = 2;
        net_open(&n);
        router = net_sock(&n, SENNIT_ROUTER, NULL);
        dealer = net_sock(&n, SENNIT_DEALER, &opts);
        net_join(&n, router, dealer, (transport)via);
        event = net_event(&n, router, SENNIT_EVENT_LISTENING);
        assert_string_equal(event.endpoint, sennit_sock_last_endpoint(router));
        event = net_event(&n, router, SENNIT_EVENT_ACCEPTED);
        number = event.peer;
        event = net_event(&n, router, SENNIT_EVENT_READY);
        assert_int_equal(event.peer, number);
        assert_int_equal(event.identity_size, 2);
        assert_memory_equal(event.identity, "me", 2);
        net_event(&n, dealer, SENNIT_EVENT_CONNECTED);
        net_event(&n, dealer, SENNIT_EVENT_READY);
        sennit_sock_close(dealer);
        event = net_event(&n, router, SENNIT_EVENT_DISCONNECTED);
        assert_int_equal(event.peer, number);
        assert_int_equal(event.err, SENNIT_ECONNRESET);
        assert_string_equal(event.reason, "closed by peer");
        assert_memory_equal(event.identity, "me", 2);
        net_close(&n);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_callback_is_called_each_turn_until_there_is_nothing_left),
        cmocka_unit_test(setting_a_callback_finds_what_is_there_already),
        cmocka_unit_test(monitor_events_are_offered_like_messages),
        cmocka_unit_test(a_callback_may_close_its_own_socket_and_others),
        cmocka_unit_test(a_receive_that_waits_ends_when_its_socket_is_closed),
        cmocka_unit_test(a_send_that_waits_ends_when_its_socket_is_closed),
        cmocka_unit_test(turns_nest_up_to_the_bound_and_are_refused_beyond),
        cmocka_unit_test(a_callback_may_wait_for_another),
        cmocka_unit_test(a_callback_that_waits_hears_that_its_peer_died),
        cmocka_unit_test(a_callback_that_waits_connects_again_and_again),
        cmocka_unit_test(timers_fire_in_the_order_of_their_times),
        cmocka_unit_test(a_timer_can_stop_and_restart_others_and_itself),
        cmocka_unit_test(a_timer_that_always_restarts_itself_does_not_hold_a_turn),
        cmocka_unit_test(run_goes_on_until_it_is_stopped_and_can_run_again),
        cmocka_unit_test(calls_posted_from_threads_run_once_and_in_each_threads_order),
        cmocka_unit_test(a_post_ends_a_receive_that_waits_and_may_close_its_socket),
        cmocka_unit_test(calls_still_waiting_are_run_by_close),
        cmocka_unit_test(a_foreign_thread_is_refused),
        cmocka_unit_test(a_foreign_loop_drives_ours_by_descriptor_and_timeout),
        cmocka_unit_test(a_foreign_loop_is_told_to_turn_after_a_close),
        cmocka_unit_test(a_foreign_loop_is_woken_by_a_post),
        cmocka_unit_test(a_post_is_not_forgotten_by_a_receive_that_heard_its_wake),
        cmocka_unit_test(what_lies_behind_topics_nobody_wants_any_more_is_received),
        cmocka_unit_test(what_lies_behind_malformed_requests_is_received),
        cmocka_unit_test(a_foreign_loop_is_told_of_more_than_fits_into_a_turn),
        cmocka_unit_test(a_foreign_loop_is_told_when_memory_is_looked_for_again),
        cmocka_unit_test(a_listener_without_memory_waits_for_it_and_does_not_spin),
        cmocka_unit_test(a_signal_ends_a_receive_that_waits),
        cmocka_unit_test(writing_to_a_peer_that_has_gone_never_raises_sigpipe),
        cmocka_unit_test(every_call_that_waits_ends_with_its_context),
        cmocka_unit_test(events_nobody_reads_are_dropped_oldest_first_and_counted),
        cmocka_unit_test(no_event_is_lost_or_out_of_turn_as_long_as_they_fit),
        cmocka_unit_test(the_monitor_tells_a_connections_whole_life_at_both_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
