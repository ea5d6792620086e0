/* SPDX-License-Identifier: MIT */
/* The threads that look hosts up, without a loop: what is given up costs nothing. Blocks
 * of malloc are counted (lib/fail_malloc.h). */
#include "sennit_test.h"

#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fail_malloc.h"
#include "io/resolver.h"
#include "lookups.h"

/* As many as look up at a time. */
#define THREADS 4

static lookups world = LOOKUPS_INIT;

/* Every host is 127.0.0.1. */
static sennit_err
resolve(void *arg, const char *host, bool ipv6, sennit_ip found[SENNIT_RESOLVED_MAX],
        size_t *found_count)
{
    (void)arg;
    (void)host;
    (void)ipv6;
    pthread_mutex_lock(&world.lock);
    lookups_run(&world, true);
    pthread_mutex_unlock(&world.lock);
    found[0] = (sennit_ip){ .octets = { 127, 0, 0, 1 } };
    *found_count = 1;
    return SENNIT_OK;
}

typedef struct question {
    sni_lookup lookup;
    sni_op op;
} question;

static sni_resolver *resolver;
static int wake_fd;

static void
open_resolver(void)
{
    const sennit_resolver hook = { resolve, NULL };

    wake_fd = eventfd(0, EFD_CLOEXEC);
    assert_true(wake_fd >= 0);
    assert_int_equal(sni_resolver_new(&resolver, &hook, wake_fd), SENNIT_OK);
    lookups_reset(&world, true);
}

/* Nothing hangs when it goes: its threads are gone with it. */
static void
close_resolver(void)
{
    lookups_hold(&world, false);
    lookups_until_busy(&world, 0);
    sni_resolver_free(resolver);
    close(wake_fd);
}

static void
ask(question *q, const char *host)
{
    memset(q, 0, sizeof *q);
    snprintf(q->lookup.host, sizeof q->lookup.host, "%s", host);
    q->op = (sni_op){ .kind = SNI_OP_RESOLVE, .lookup = &q->lookup };
    assert_int_equal(sni_resolver_submit(resolver, &q->op), SENNIT_OK);
}

/* The next one that is done. */
static sni_op *
await(void)
{
    sni_op *op;

    while ((op = sni_resolver_next(resolver)) == NULL) {
        uint64_t count;

        assert_int_equal(read(wake_fd, &count, sizeof count), sizeof count);
    }
    return op;
}

/* One for each thread. */
static void
occupy_all(question busy[THREADS])
{
    for (int i = 0; i < THREADS; i++) {
        char host[16];

        snprintf(host, sizeof host, "h%d.test", i);
        ask(&busy[i], host);
        lookups_until_busy(&world, (unsigned)i + 1);
    }
}

static void
what_no_thread_has_begun_is_given_up_at_once(void **state)
{
    question busy[THREADS];
    question late[8];
    int64_t live;

    (void)state;
    open_resolver();
    occupy_all(busy);
    live = fail_malloc_live();
    /* In any order, and the places in the queue are those of others again. */
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < 8; i++)
            ask(&late[i], "late.test");
        for (int i = 0; i < 8; i++) {
            question *q = &late[(i * 3 + round) % 8];

            assert_null(q->op.why);
            assert_true(sni_resolver_forget(resolver, &q->op));
            assert_string_equal(q->op.why, "no thread was free to look the host up: "
                                           "other hosts' look-ups hang");
            assert_false(sni_resolver_forget(resolver, &q->op));
        }
        assert_int_equal(fail_malloc_live(), live);
    }
    ask(&late[0], "late.test");
    lookups_hold(&world, false);
    for (int i = 0; i < THREADS + 1; i++)
        assert_int_equal(await()->err, SENNIT_OK);
    assert_null(sni_resolver_next(resolver));
    assert_int_equal(late[0].lookup.found_count, 1);
    assert_int_equal(lookups_asked(&world), THREADS + 1);
    close_resolver();
}

static void
who_asks_again_gets_the_answer_to_what_was_asked_before(void **state)
{
    question dead;
    question other;

    (void)state;
    open_resolver();
    ask(&dead, "dead.test");
    lookups_until_busy(&world, 1);
    for (int i = 0; i < 2 * THREADS; i++) {
        assert_true(sni_resolver_forget(resolver, &dead.op));
        assert_null(dead.op.why);
        ask(&dead, "dead.test");
    }
    assert_int_equal(lookups_asked(&world), 1);
    /* For somebody else, and for other families, it is another look-up. */
    ask(&other, "dead.test");
    lookups_until_busy(&world, 2);
    assert_true(sni_resolver_forget(resolver, &other.op));
    other.lookup.ipv6 = true;
    assert_int_equal(sni_resolver_submit(resolver, &other.op), SENNIT_OK);
    lookups_until_busy(&world, 3);
    lookups_hold(&world, false);
    for (int i = 0; i < 2; i++)
        assert_int_equal(await()->err, SENNIT_OK);
    lookups_until_busy(&world, 0);
    assert_null(sni_resolver_next(resolver));
    assert_int_equal(dead.lookup.found_count, 1);
    assert_int_equal(other.lookup.found_count, 1);
    assert_int_equal(lookups_asked(&world), 3);
    close_resolver();
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_no_thread_has_begun_is_given_up_at_once),
        cmocka_unit_test(who_asks_again_gets_the_answer_to_what_was_asked_before),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
