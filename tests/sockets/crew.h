/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_TEST_CREW_H
#define SENNIT_TEST_CREW_H

#include "sennit_test.h"

#include <pthread.h>
#include <stdbool.h>

#include "sennit/sennit.h"

/* Threads, each with a loop of its own in one context. cmocka cannot fail a test from
 * another thread, so a check that fails here says what and ends the program. */
#define CREW_DEADLINE_MS 60000

#define CHECK(condition)                                                                 \
    ((condition) ? (void)0 : crew_fail(__FILE__, __LINE__, #condition, ""))

#define CHECK_ERR(call, wanted)                                                          \
    do {                                                                                 \
        sennit_err got_ = (call);                                                        \
                                                                                         \
        if (got_ != (wanted))                                                            \
            crew_fail(__FILE__, __LINE__, #call, sennit_err_name(got_));                 \
    } while (0)

void crew_fail(const char *file, int line, const char *what, const char *got)
    __attribute__((noreturn));

typedef struct hand {
    pthread_t thread;
    sennit_loop *loop; /* opened before and closed after `work`, in the thread */
    sennit_context *context;
    void (*work)(struct hand *hand);
    void *arg;
    unsigned number;   /* of crew_run(): 0 .. count - 1 */
    struct gate *gate; /* where it began */
} hand;

/* Starts `work` in a thread; its loop is open when this returns. */
void crew_start(hand *h, sennit_context *context, void (*work)(hand *hand), void *arg);

/* Waits for its end. */
void crew_join(hand *h);

/* All of them at once: none works before all are there. */
void crew_run(hand *hands, unsigned count, sennit_context *context,
              void (*work)(hand *hand), void *arg);

/* CREW_DEADLINE_MS as timeouts, no linger. */
sennit_sock_opts crew_opts(void);

/* A hosted loop, alone when `context` is NULL. */
sennit_loop *crew_hosted(sennit_context *context);

/* Until so many threads wait in calls on a hosted loop. */
void crew_await_waiting(sennit_loop *loop, unsigned count);

sennit_sock *crew_sock(sennit_loop *loop, sennit_sock_type type);

/* One message of one frame that is a number; SENNIT_DONTWAIT is passed on. */
sennit_err crew_send(sennit_sock *sock, uint64_t number, unsigned flags);
sennit_err crew_recv(sennit_sock *sock, uint64_t *number, unsigned flags);

/* What was accepted is delivered, queued or in one counter. Not for PUB. */
void crew_check_law(const sennit_sock *sock);

/* Milliseconds of a monotonic clock. */
uint64_t crew_ms(void);

#endif /* SENNIT_TEST_CREW_H */
