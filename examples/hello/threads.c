/* SPDX-License-Identifier: MIT */
/* Plain threads that share sockets: four workers take numbers from one PULL socket and
 * send their squares by one PUSH socket, and the main thread adds them up. Nobody turns a
 * loop: it is hosted. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

#include <sennit/sennit.h>

#define WORKERS 4
#define NUMBERS 1000

typedef struct pool {
    sennit_sock *numbers_out, *numbers_in;
    sennit_sock *squares_out, *squares_in;
} pool;

/* Until the context is shut down: then every call that waits is SENNIT_ETERM. */
static void *
work(void *arg)
{
    pool *p = arg;
    uint64_t number;

    while (sennit_sock_recv_bytes(p->numbers_in, &number, sizeof number, NULL, 0) ==
           SENNIT_OK) {
        number *= number;
        if (sennit_sock_send_bytes(p->squares_out, &number, sizeof number, 0) !=
            SENNIT_OK)
            break;
    }
    return NULL;
}

static sennit_err
join_up(sennit_loop *loop, const char *endpoint, sennit_sock **push, sennit_sock **pull)
{
    sennit_err err = sennit_sock_open(pull, loop, SENNIT_PULL, NULL);

    if (err == SENNIT_OK)
        err = sennit_sock_open(push, loop, SENNIT_PUSH, NULL);
    if (err == SENNIT_OK)
        err = sennit_sock_bind(*pull, endpoint);
    return err ? err : sennit_sock_connect(*push, endpoint);
}

static sennit_err
add_up(pool *p, uint64_t *sum)
{
    sennit_err err = SENNIT_OK;
    uint64_t square;

    for (uint64_t i = 1; i <= NUMBERS && err == SENNIT_OK; i++)
        err = sennit_sock_send_bytes(p->numbers_out, &i, sizeof i, 0);
    for (unsigned i = 0; i < NUMBERS && err == SENNIT_OK; i++) {
        err = sennit_sock_recv_bytes(p->squares_in, &square, sizeof square, NULL, 0);
        *sum += square;
    }
    return err;
}

int
main(void)
{
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;
    sennit_context *context = NULL;
    sennit_loop *loop = NULL;
    pthread_t workers[WORKERS];
    unsigned started = 0;
    uint64_t sum = 0;
    pool p;

    sennit_err err = sennit_context_open(&context, NULL);
    if (err)
        goto out;
    opts.context = context;
    opts.hosted = true;
    err = sennit_loop_open(&loop, &opts);
    if (err)
        goto out;
    err = join_up(loop, "inproc://numbers", &p.numbers_out, &p.numbers_in);
    if (err == SENNIT_OK)
        err = join_up(loop, "inproc://squares", &p.squares_out, &p.squares_in);
    if (err)
        goto out;
    while (started < WORKERS && pthread_create(&workers[started], NULL, work, &p) == 0)
        started++;
    if (started > 0)
        err = add_up(&p, &sum);
    printf("sum of %d squares: %" PRIu64 "\n", NUMBERS, sum);

out:
    if (err)
        fprintf(stderr, "threads: %s\n", sennit_err_text(err));
    /* In this order: no call may begin on a loop that is closed. */
    sennit_context_shutdown(context);
    while (started > 0)
        pthread_join(workers[--started], NULL);
    sennit_loop_close(loop);
    err = sennit_context_close(context);
    return sum == 0 || err ? 1 : 0;
}
