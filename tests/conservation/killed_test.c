/* SPDX-License-Identifier: MIT */
/* Processes that really die. The peers are forked before this one opens anything, so
 * that none of its descriptors lives on in them, and wait for their turn. What they
 * received they note in shared memory, which survives them. */
#include "sennit_test.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rng.h"
#include "sennit/sennit.h"

#define LIVES       6u
#define NUMBERS_MAX 200000u
#define DEADLINE_MS 20000

typedef struct notes {
    uint8_t received_in[NUMBERS_MAX]; /* the life (1 ..) that received that number */
    volatile uint32_t received;       /* by all */
    volatile bool twice;
    volatile bool torn;
    volatile bool gap;
} notes;

typedef struct peers {
    notes *notes;
    pid_t pids[LIVES];
    int starts[LIVES]; /* written to: the endpoint */
    char endpoint[128];
    sennit_loop *loop;
    sennit_sock *sock;
    test_rng rng;
} peers;

/* Two frames: the number, and the number again behind some filler. */
static sennit_err
send_number(sennit_sock *sock, uint32_t number, size_t filler, unsigned flags)
{
    static uint8_t body[6000];
    sennit_err err;

    memcpy(body, &number, sizeof number);
    err = sennit_sock_send_bytes(sock, body, sizeof number, flags | SENNIT_MORE);
    if (err == SENNIT_OK)
        err = sennit_sock_send_bytes(sock, body, sizeof number + filler, flags);
    return err;
}

static sennit_err
recv_number(sennit_sock *sock, uint32_t *number, bool *whole, unsigned flags)
{
    uint32_t again;
    sennit_msg msg;
    sennit_err err;

    sennit_msg_init(&msg);
    err = sennit_sock_recv(sock, &msg, flags);
    if (err)
        return err;
    *whole = sennit_msg_size(&msg) == sizeof *number && sennit_msg_more(&msg);
    memcpy(number, sennit_msg_data(&msg), sizeof *number);
    if (*whole)
        *whole = sennit_sock_recv(sock, &msg, SENNIT_DONTWAIT) == SENNIT_OK &&
                 !sennit_msg_more(&msg) && sennit_msg_size(&msg) >= sizeof *number;
    if (*whole) {
        memcpy(&again, sennit_msg_data(&msg), sizeof again);
        *whole = again == *number;
    }
    sennit_msg_fini(&msg);
    return SENNIT_OK;
}

static sennit_sock *
open_sock(sennit_loop *loop, sennit_sock_type type)
{
    sennit_sock_opts opts = SENNIT_SOCK_OPTS_DEFAULT;
    sennit_sock *sock;

    opts.send_hwm_msgs = 50;
    opts.recv_hwm_msgs = 20;
    opts.linger_ms = 0;
    opts.reconnect_min_ms = 5;
    opts.reconnect_max_ms = 50;
    return sennit_sock_open(&sock, loop, type, &opts) == SENNIT_OK ? sock : NULL;
}

/* The life of a peer that receives, until it is killed. */
static void
receive_for_life(notes *n, unsigned life, sennit_sock *sock)
{
    uint32_t last = 0;

    for (;;) {
        uint32_t number;
        bool whole;

        if (recv_number(sock, &number, &whole, 0) != SENNIT_OK)
            _exit(1);
        n->torn = n->torn || !whole || number == 0 || number >= NUMBERS_MAX;
        if (n->torn)
            _exit(1);
        n->twice = n->twice || n->received_in[number] != 0;
        n->gap = n->gap || (last != 0 && number != last + 1);
        n->received_in[number] = (uint8_t)life;
        n->received++;
        last = number;
    }
}

static void
send_for_life(unsigned life, sennit_sock *sock)
{
    test_rng rng = { life };

    for (uint32_t i = 1;; i++)
        if (send_number(sock, life << 24 | i, test_rng_below(&rng, 5000), 0) != SENNIT_OK)
            _exit(1);
}

static void
live(notes *n, unsigned life, int start, bool receives)
{
    char endpoint[128] = "";
    sennit_loop *loop;
    sennit_sock *sock;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nobody behind */
    if (read(start, endpoint, sizeof endpoint - 1) <= 0)
        _exit(0);
    if (sennit_loop_open(&loop, NULL) != SENNIT_OK)
        _exit(1);
    sock = open_sock(loop, receives ? SENNIT_PULL : SENNIT_PUSH);
    if (sock == NULL || sennit_sock_connect(sock, endpoint) != SENNIT_OK)
        _exit(1);
    if (receives)
        receive_for_life(n, life, sock);
    send_for_life(life, sock);
}

static void
peers_open(peers *p, bool they_receive, const char *bind)
{
    memset(p, 0, sizeof *p);
    p->rng.state = 7;
    p->notes = mmap(NULL, sizeof *p->notes, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(p->notes != MAP_FAILED);
    for (unsigned i = 0; i < LIVES; i++) {
        int ends[2];

        assert_int_equal(pipe(ends), 0);
        p->pids[i] = fork();
        assert_true(p->pids[i] >= 0);
        if (p->pids[i] == 0) {
            close(ends[1]);
            /* The starts of those before would never see their end. */
            for (unsigned k = 0; k < i; k++)
                close(p->starts[k]);
            live(p->notes, i + 1, ends[0], they_receive);
        }
        close(ends[0]);
        p->starts[i] = ends[1];
    }
    assert_int_equal(sennit_loop_open(&p->loop, NULL), SENNIT_OK);
    p->sock = open_sock(p->loop, they_receive ? SENNIT_PUSH : SENNIT_PULL);
    assert_non_null(p->sock);
    assert_int_equal(sennit_sock_bind(p->sock, bind), SENNIT_OK);
    snprintf(p->endpoint, sizeof p->endpoint, "%s", sennit_sock_last_endpoint(p->sock));
}

static void
peers_start(peers *p, unsigned life)
{
    size_t size = strlen(p->endpoint);

    assert_int_equal(write(p->starts[life], p->endpoint, size), size);
}

static void
peers_kill(peers *p, unsigned life)
{
    int status;

    assert_int_equal(kill(p->pids[life], SIGKILL), 0);
    while (waitpid(p->pids[life], &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    assert_true(WIFSIGNALED(status));
    close(p->starts[life]);
}

static void
peers_close(peers *p)
{
    sennit_loop_close(p->loop);
    munmap(p->notes, sizeof *p->notes);
}

/* Fails when it has taken too long. */
static void
turn(peers *p, sennit_time started)
{
    assert_int_equal(sennit_loop_turn(p->loop, 10), SENNIT_OK);
    assert_true(sennit_loop_now(p->loop) - started < DEADLINE_MS * UINT64_C(1000000));
}

static void
a_killed_receiver_loses_a_stretch_that_was_counted_as_delivered(void **state)
{
    const char *bind = *state;
    uint32_t number = 0;
    uint64_t lost = 0;
    sennit_sock_stats stats;
    peers p;

    peers_open(&p, true, bind);
    for (unsigned life = 0; life < LIVES; life++) {
        sennit_time started = sennit_loop_now(p.loop);
        uint32_t enough = p.notes->received + 100 + (uint32_t)test_rng_below(&p.rng, 400);

        peers_start(&p, life);
        while (p.notes->received < enough) {
            sennit_err err = send_number(p.sock, number + 1, test_rng_below(&p.rng, 5000),
                                         SENNIT_DONTWAIT);

            number += err == SENNIT_OK;
            if (err == SENNIT_EAGAIN)
                turn(&p, started);
            else
                assert_int_equal(err, SENNIT_OK);
            assert_false(p.notes->torn);
        }
        /* The last one reads what there is. */
        sennit_sock_get_stats(p.sock, &stats);
        while (life + 1 == LIVES &&
               (stats.queued_msgs > 0 || p.notes->received_in[number] == 0)) {
            turn(&p, started);
            sennit_sock_get_stats(p.sock, &stats);
        }
        peers_kill(&p, life);
    }
    assert_false(p.notes->twice);
    assert_false(p.notes->gap);
    sennit_sock_get_stats(p.sock, &stats);
    assert_int_equal(stats.sent_msgs, number);
    assert_int_equal(stats.sent_msgs, stats.delivered_msgs + stats.queued_msgs +
                                          stats.dropped_disconnect_msgs);
    for (uint32_t i = 1; i <= number; i++)
        lost += p.notes->received_in[i] == 0;
    assert_int_equal(number - lost, p.notes->received);
    /* What nobody received had gone to a kernel, or was dropped and counted. */
    assert_int_equal(stats.delivered_msgs + stats.dropped_disconnect_msgs - lost,
                     p.notes->received);
    peers_close(&p);
}

static void
a_killed_sender_leaves_a_prefix_of_what_it_sent(void **state)
{
    const char *bind = *state;
    peers p;

    peers_open(&p, false, bind);
    for (unsigned life = 0; life < LIVES; life++) {
        sennit_time started = sennit_loop_now(p.loop);
        uint32_t enough = 100 + (uint32_t)test_rng_below(&p.rng, 400);
        uint32_t last = 0;
        bool dead = false;
        sennit_sock_stats stats;

        peers_start(&p, life);
        do {
            uint32_t number = 0;
            bool whole = false;
            sennit_err err = recv_number(p.sock, &number, &whole, SENNIT_DONTWAIT);

            if (err == SENNIT_EAGAIN) {
                turn(&p, started);
            } else {
                assert_int_equal(err, SENNIT_OK);
                assert_true(whole);
                assert_int_equal(number >> 24, life + 1);
                assert_int_equal(number & 0xffffffu, last + 1);
                last++;
            }
            if (last >= enough && !dead) {
                peers_kill(&p, life);
                dead = true;
            }
            sennit_sock_get_stats(p.sock, &stats);
            /* Then all that had come, and no more. */
            if (dead && err == SENNIT_EAGAIN && stats.connections == 0)
                break;
        } while (true);
    }
    peers_close(&p);
}

int
main(void)
{
    static const char tcp[] = "tcp://127.0.0.1:*";
    static const char ipc[] = "ipc://*";
#define ROW(test, via)                                                                   \
    {                                                                                    \
        .name = #test " over " #via, .test_func = test,                                  \
        .initial_state = (void *)(uintptr_t)via                                          \
    }
    const struct CMUnitTest tests[] = {
        ROW(a_killed_receiver_loses_a_stretch_that_was_counted_as_delivered, tcp),
        ROW(a_killed_receiver_loses_a_stretch_that_was_counted_as_delivered, ipc),
        ROW(a_killed_sender_leaves_a_prefix_of_what_it_sent, tcp),
        ROW(a_killed_sender_leaves_a_prefix_of_what_it_sent, ipc),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
