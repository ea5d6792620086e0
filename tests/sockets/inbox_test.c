/* SPDX-License-Identifier: MIT */
/* Notes from other threads: each is looked at once however often it was posted, and the
 * loop is woken for the first one only while it would not look by itself. */
#include "sennit_test.h"

#include <pthread.h>

#include "base/alloc.h"
#include "core/inbox.h"

typedef struct counted {
    sni_note note;
    unsigned looks;
    sni_inbox *again; /* posts itself there when it is looked at */
} counted;

static unsigned wakes;

static void
wake(sni_io *io)
{
    (void)io;
    wakes++;
}

static const sni_io_ops ops = { .name = "counts", .wake = wake };
static sni_io io = { .ops = &ops };

static void
look(sennit_loop *loop, sni_note *note)
{
    counted *c = (counted *)(void *)note;

    assert_null(loop);
    c->looks++;
    if (c->again != NULL)
        assert_true(sni_inbox_post(c->again, note));
}

static sni_inbox *
open_inbox(counted *notes, size_t count)
{
    sni_inbox *inbox;

    wakes = 0;
    assert_int_equal(sni_inbox_new(&inbox, &sni_alloc_default, &io), SENNIT_OK);
    for (size_t i = 0; i < count; i++) {
        notes[i].looks = 0;
        notes[i].again = NULL;
        sni_note_init(&notes[i].note, look);
    }
    return inbox;
}

static void
close_inbox(sni_inbox *inbox)
{
    sni_inbox_close(inbox, NULL);
    sni_inbox_unref(inbox);
}

static void
a_loop_at_rest_is_woken_once_for_all_notes(void **state)
{
    counted notes[3];
    sni_inbox *inbox = open_inbox(notes, 3);

    (void)state;
    assert_true(sni_inbox_rest(inbox));
    for (int i = 0; i < 3; i++)
        assert_true(sni_inbox_post(inbox, &notes[i].note));
    assert_false(sni_inbox_post(inbox, &notes[1].note));
    assert_int_equal(wakes, 1);
    sni_inbox_look(inbox, NULL);
    for (int i = 0; i < 3; i++)
        assert_int_equal(notes[i].looks, 1);
    close_inbox(inbox);
}

static void
a_loop_that_looks_again_is_not_woken(void **state)
{
    counted notes[2];
    sni_inbox *inbox = open_inbox(notes, 2);

    (void)state;
    assert_true(sni_inbox_post(inbox, &notes[0].note));
    sni_inbox_look(inbox, NULL);
    assert_int_equal(wakes, 1);
    assert_true(sni_inbox_post(inbox, &notes[0].note));
    assert_true(sni_inbox_post(inbox, &notes[1].note));
    assert_int_equal(wakes, 1);
    /* It must not wait: nobody will wake it. */
    assert_false(sni_inbox_rest(inbox));
    sni_inbox_look(inbox, NULL);
    assert_int_equal(notes[0].looks, 2);
    assert_int_equal(notes[1].looks, 1);
    /* And then it may. */
    assert_true(sni_inbox_rest(inbox));
    assert_true(sni_inbox_rest(inbox));
    assert_true(sni_inbox_post(inbox, &notes[1].note));
    assert_int_equal(wakes, 2);
    close_inbox(inbox);
}

static void
a_note_that_comes_while_it_is_looked_at_lies_there_again(void **state)
{
    counted notes[1];
    sni_inbox *inbox = open_inbox(notes, 1);

    (void)state;
    notes[0].again = inbox;
    assert_true(sni_inbox_post(inbox, &notes[0].note));
    sni_inbox_look(inbox, NULL);
    assert_int_equal(notes[0].looks, 1);
    assert_false(sni_inbox_rest(inbox));
    notes[0].again = NULL;
    sni_inbox_look(inbox, NULL);
    assert_int_equal(notes[0].looks, 2);
    assert_true(sni_inbox_rest(inbox));
    close_inbox(inbox);
}

static void
an_inbox_that_closes_is_looked_at_for_the_last_time(void **state)
{
    counted notes[2];
    sni_inbox *inbox = open_inbox(notes, 2);

    (void)state;
    assert_true(sni_inbox_post(inbox, &notes[0].note));
    sni_inbox_look(inbox, NULL);
    assert_true(sni_inbox_post(inbox, &notes[0].note));
    sni_inbox_close(sni_inbox_ref(inbox), NULL);
    assert_int_equal(notes[0].looks, 2);
    assert_false(sni_inbox_post(inbox, &notes[1].note));
    assert_int_equal(notes[1].looks, 0);
    assert_int_equal(wakes, 1);
    sni_inbox_unref(inbox);
    sni_inbox_unref(inbox);

    inbox = open_inbox(notes, 2);
    assert_true(sni_inbox_post(inbox, &notes[0].note));
    sni_inbox_look(inbox, NULL);
    /* With nothing in it but that it will be looked at. */
    close_inbox(inbox);
    assert_int_equal(notes[0].looks, 1);
}

/* ---- two threads ------------------------------------------------------- */

#define NUMBERS 200000u

typedef struct line {
    sni_note note;
    sni_inbox *inbox;
    _Atomic unsigned written;
    unsigned read; /* the loop's */
    pthread_mutex_t lock;
    pthread_cond_t woken;
    bool wake; /* under the lock */
} line;

static line numbers;

static void
wake_line(sni_io *unused)
{
    (void)unused;
    pthread_mutex_lock(&numbers.lock);
    numbers.wake = true;
    pthread_cond_signal(&numbers.woken);
    pthread_mutex_unlock(&numbers.lock);
}

static void
read_line(sennit_loop *loop, sni_note *note)
{
    (void)loop;
    (void)note;
    numbers.read = atomic_load_explicit(&numbers.written, memory_order_relaxed);
}

static void *
write_numbers(void *arg)
{
    (void)arg;
    for (unsigned i = 1; i <= NUMBERS; i++) {
        atomic_store_explicit(&numbers.written, i, memory_order_relaxed);
        (void)sni_inbox_post(numbers.inbox, &numbers.note);
    }
    return NULL;
}

/* A loop that rests only when it may, and is never woken too few times: it would wait
 * here for ever. */
static void
no_wake_is_lost(void **state)
{
    static const sni_io_ops line_ops = { .name = "wakes", .wake = wake_line };
    static sni_io line_io = { .ops = &line_ops };
    pthread_t writer;

    (void)state;
    assert_int_equal(pthread_mutex_init(&numbers.lock, NULL), 0);
    assert_int_equal(pthread_cond_init(&numbers.woken, NULL), 0);
    assert_int_equal(sni_inbox_new(&numbers.inbox, &sni_alloc_default, &line_io),
                     SENNIT_OK);
    sni_note_init(&numbers.note, read_line);
    assert_int_equal(pthread_create(&writer, NULL, write_numbers, NULL), 0);
    while (numbers.read < NUMBERS) {
        sni_inbox_look(numbers.inbox, NULL);
        if (!sni_inbox_rest(numbers.inbox) || numbers.read == NUMBERS)
            continue;
        pthread_mutex_lock(&numbers.lock);
        while (!numbers.wake)
            pthread_cond_wait(&numbers.woken, &numbers.lock);
        numbers.wake = false;
        pthread_mutex_unlock(&numbers.lock);
    }
    assert_int_equal(pthread_join(writer, NULL), 0);
    sni_inbox_close(numbers.inbox, NULL);
    sni_inbox_unref(numbers.inbox);
    pthread_cond_destroy(&numbers.woken);
    pthread_mutex_destroy(&numbers.lock);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_at_rest_is_woken_once_for_all_notes),
        cmocka_unit_test(a_loop_that_looks_again_is_not_woken),
        cmocka_unit_test(a_note_that_comes_while_it_is_looked_at_lies_there_again),
        cmocka_unit_test(an_inbox_that_closes_is_looked_at_for_the_last_time),
        cmocka_unit_test(no_wake_is_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
