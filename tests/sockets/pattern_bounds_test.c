/* SPDX-License-Identifier: MIT */
/* What one look at the input may cost, and what is left of a peer that goes. */
#include "base/limits.h"
#include "fake.h"

static fake f;

static sennit_bytes
text(const char *string)
{
    return sni_bytes(string, strlen(string));
}

/* ---- peers that go ----------------------------------------------------- */

/* Within a process subscriptions are heard before the join is done, and the join
 * may find no memory. */
static void
a_publisher_forgets_the_topics_of_a_peer_that_never_connected(void **state)
{
    sni_peer *peer = &f.peers[0].peer;

    (void)state;
    fake_open(&f, SENNIT_PUB, false);
    fake_join(&f, 1, "");
    assert_int_equal(sni_pattern_attach(&f.pattern, peer), SENNIT_OK);
    assert_int_equal(sni_pattern_subscription(&f.pattern, peer, true, text("a")),
                     SENNIT_OK);
    assert_int_equal(f.stats.subscriptions, 1);
    sni_pattern_detach(&f.pattern, peer);
    assert_int_equal(f.stats.subscriptions, 0);
    fake_send(&f, "a");
    assert_string_equal(fake_out(&f, 0), "");
    assert_int_equal(f.stats.dropped_no_peer_msgs, 1);
    fake_close(&f);
}

/* In the middle of a message, too: it is one of those that matched. */
static void
a_publisher_forgets_such_a_peer_in_the_middle_of_a_message(void **state)
{
    sni_peer *peer = &f.peers[0].peer;

    (void)state;
    fake_open(&f, SENNIT_PUB, false);
    assert_int_equal(sni_pattern_attach(&f.pattern, peer), SENNIT_OK);
    assert_int_equal(sni_pattern_subscription(&f.pattern, peer, true, text("a")),
                     SENNIT_OK);
    assert_int_equal(fake_send_frame(&f, "a", true), SENNIT_OK);
    sni_pattern_detach(&f.pattern, peer);
    assert_int_equal(fake_send_frame(&f, "b", false), SENNIT_OK);
    assert_string_equal(fake_out(&f, 0), "a|");
    assert_int_equal(f.stats.subscriptions, 0);
    fake_close(&f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_publisher_forgets_the_topics_of_a_peer_that_never_connected),
        cmocka_unit_test(a_publisher_forgets_such_a_peer_in_the_middle_of_a_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
