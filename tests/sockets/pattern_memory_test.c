/* SPDX-License-Identifier: MIT */
/* Publishers and subscribers over fake peers with the k-th allocation failing, for every
 * k: what was refused can be repeated, and what cannot be refused is made up for. */
#include <stdio.h>

#include "fake.h"

static fake f;

/* Too long for a message to hold inside. */
#define LONG "a topic of more than fifty-five octets, which need memory of their own"

static void
open_xpub(int peers)
{
    fake_open(&f, SENNIT_XPUB, false);
    f.opts.events = ~0u;
    for (int i = 0; i < peers; i++)
        fake_join(&f, i, "");
}

static void
subscriptions_come_and_go(void)
{
    open_xpub(2);
    fake_hear(&f, 0, true, "a");
    fake_hear(&f, 0, true, LONG);
    fake_hear(&f, 1, true, "a");
    fake_hear(&f, 1, true, LONG " too");
    fake_hear(&f, 0, false, "a");
    fake_hear(&f, 1, false, LONG " too");
    fake_send(&f, "a");
    assert_string_equal(fake_recv_all(&f), "+a;+" LONG ";+" LONG " too;-" LONG " too;");
    assert_int_equal(f.stats.subscriptions, 2);
    fake_close(&f);
}

static void
a_peer_vanishes(void)
{
    open_xpub(2);
    fake_hear(&f, 0, true, "a");
    fake_hear(&f, 0, true, LONG);
    fake_hear(&f, 0, true, "b");
    fake_hear(&f, 1, true, "b");
    assert_string_equal(fake_recv_all(&f), "+a;+" LONG ";+b;");
    fake_leave(&f, 0);
    /* It matches nobody, whatever could be told. */
    fake_send(&f, "a");
    assert_string_equal(fake_recv_all(&f), "-" LONG ";-a;");
    assert_int_equal(f.stats.subscriptions, 1);
    assert_int_equal(f.stats.topics, 1);
    fake_close(&f);
}

static void
a_peer_vanishes_and_nobody_asks(void)
{
    open_xpub(1);
    fake_hear(&f, 0, true, "a");
    fake_hear(&f, 0, true, LONG);
    fake_leave(&f, 0);
    fake_close(&f);
}

static void
topics_are_given_by_hand(void)
{
    sennit_err err;

    open_xpub(1);
    f.opts.xpub_manual = SENNIT_XPUB_MANUAL;
    fake_hear(&f, 0, true, LONG);
    assert_string_equal(fake_recv(&f), "+" LONG);
    do {
        err = sni_pattern_subscribe(&f.pattern, true, SNI_BYTES_OF(LONG));
    } while (err == SENNIT_ENOMEM);
    assert_int_equal(err, SENNIT_OK);
    fake_send(&f, LONG);
    fake_lose(&f, 0);
    assert_string_equal(fake_recv_all(&f), "-" LONG ";");
    assert_int_equal(f.stats.subscriptions, 0);
    fake_close(&f);
}

/* A message that found no memory ends its connection; here it is only said again. */
static void
subscribers_send_messages(void)
{
    sennit_err err = SENNIT_OK;
    sennit_msg msg;

    open_xpub(1);
    for (int frame = 0; frame < 20 && err == SENNIT_OK; frame++) {
        assert_int_equal(sennit_msg_init_copy(&msg, "x", 1), SENNIT_OK);
        sni_msg_of(&msg)->more = frame < 19;
        do {
            err = f.pattern.ops->take(&f.pattern, &f.peers[0].peer, sni_msg_of(&msg));
            /* The last frame was taken, and there was no room for all of them. */
            if (err && sennit_msg_size(&msg) == 0)
                break;
        } while (err);
        sennit_msg_fini(&msg);
    }
    if (err == SENNIT_OK)
        assert_int_equal(strlen(fake_recv(&f)), 39);
    else
        fake_lose(&f, 0);
    assert_string_equal(fake_recv(&f), "EAGAIN");
    fake_close(&f);
}

static void
prefixes_come_and_go(void)
{
    fake_open(&f, SENNIT_XSUB, false);
    fake_join(&f, 0, "");
    fake_send(&f, "+" LONG);
    fake_send(&f, "+a");
    fake_send(&f, "x|+a|y");
    fake_send(&f, "-a");
    /* Who cannot be chosen for want of memory misses it all. */
    assert_string_equal(fake_out(&f, 0), f.stats.dropped_memory_msgs > 0 ? "" : "x|y;");
    fake_lose(&f, 0);
    f.peers[0].told[0] = '\0';
    fake_return(&f, 0, "");
    assert_int_equal(f.stats.subscriptions, 2);
    fake_close(&f);
}

typedef struct memory_row {
    const char *name;
    void (*scenario)(void);
} memory_row;

static const memory_row rows[] = {
    { "subscriptions survive every failed allocation", subscriptions_come_and_go },
    { "a vanished peer is taken back for want of memory or not", a_peer_vanishes },
    { "what is owed goes with the socket", a_peer_vanishes_and_nobody_asks },
    { "manual topics survive every failed allocation", topics_are_given_by_hand },
    { "messages upstream survive every failed allocation", subscribers_send_messages },
    { "an XSUB survives every failed allocation", prefixes_come_and_go },
};

static void
survives(void **state)
{
    const memory_row *row = *state;

    fake_every_failure(&f, row->scenario);
}

#define ROWS (sizeof rows / sizeof rows[0])

int
main(void)
{
    struct CMUnitTest tests[ROWS];

    for (size_t i = 0; i < ROWS; i++) {
        const memory_row *row = &rows[i];

        tests[i] = (struct CMUnitTest){ .name = row->name, .test_func = survives };
        /* cmocka's state is not const; the rows are only read. */
        memcpy(&tests[i].initial_state, &row, sizeof row);
    }
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
