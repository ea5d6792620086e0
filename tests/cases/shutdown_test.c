/* SPDX-License-Identifier: MIT */
/* Case D07: shutting down always ends, and says when. */
#include "net.h"

#include <stdio.h>
#include <string.h>

static net n;

/* Closes a loop whose socket has a message for somebody who never was; ms it took. */
static double
close_with_a_message_for_nobody(sennit_sock_type type, int linger_ms, int later_ms)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *sock;
    sennit_time started;
    sennit_time ended;

    net_open(&n);
    opts.linger_ms = linger_ms;
    sock = net_sock(&n, type, &opts);
    net_connect(sock, net_vacant(TCP));
    net_send(sock, "for nobody");
    if (later_ms != linger_ms) {
        opts.linger_ms = later_ms;
        assert_int_equal(sennit_sock_set_opts(sock, &opts), SENNIT_OK);
    }
    started = sennit_loop_now(n.loop);
    sennit_sock_close(sock);
    /* The loop's clock is the machine's: read after the end through another loop. */
    net_close(&n);
    net_open(&n);
    ended = sennit_loop_now(n.loop);
    net_close(&n);
    return (double)(ended - started) / 1e6;
}

static const sennit_sock_type types[] = { SENNIT_REQ, SENNIT_PUSH, SENNIT_DEALER };

static void
D07_a_closing_takes_as_long_as_linger_says_and_no_longer(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        for (int round = 0; round < 30; round++) {
            double ms = close_with_a_message_for_nobody(types[i], 0, 0);

            if (ms > 100)
                fail_msg("linger 0 took %.1f ms", ms);
        }
        for (int round = 0; round < 3; round++) {
            double ms = close_with_a_message_for_nobody(types[i], 200, 200);

            if (ms < 200 || ms > 1500) /* a busy machine may be late, never early */
                fail_msg("linger 200 took %.1f ms", ms);
        }
    }
}

static void
D07_a_the_default_linger_is_finite(void **state)
{
    sennit_sock_opts opts = SENNIT_SOCK_OPTS_DEFAULT;

    (void)state;
    assert_int_equal(opts.linger_ms, 30000);
}

static void
D07_c_the_linger_that_was_set_last_counts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        double ms = close_with_a_message_for_nobody(types[i], -1, 0);

        if (ms > 100)
            fail_msg("linger 0 took %.1f ms", ms);
    }
}

static void
D07_d_an_option_out_of_range_is_named(void **state)
{
    sennit_sock_opts opts = SENNIT_SOCK_OPTS_DEFAULT;
    sennit_sock *sock;

    (void)state;
    net_open(&n);
    opts.linger_ms = -2;
    assert_int_equal(sennit_sock_open(&sock, n.loop, SENNIT_PUSH, &opts), SENNIT_EINVAL);
    assert_non_null(strstr(sennit_loop_why(n.loop), "linger_ms"));
    net_close(&n);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(D07_a_closing_takes_as_long_as_linger_says_and_no_longer),
    cmocka_unit_test(D07_a_the_default_linger_is_finite),
    cmocka_unit_test(D07_c_the_linger_that_was_set_last_counts),
    cmocka_unit_test(D07_d_an_option_out_of_range_is_named),
};

SENNIT_TEST_MAIN(tests)
