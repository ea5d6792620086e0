/* SPDX-License-Identifier: MIT */
/* XPUB over fake peers: what it receives of its subscribers. */
#include <stdio.h>

#include "base/limits.h"
#include "fake.h"
#include "suite.h"

static fake f;

static void
open_with(int peers)
{
    fake_open(&f, SENNIT_XPUB, false);
    for (int i = 0; i < peers; i++)
        fake_join(&f, i, "");
}

static sennit_err
give(bool on, const char *topic)
{
    return sni_pattern_subscribe(&f.pattern, on, sni_bytes(topic, strlen(topic)));
}

/* As the policy does when it makes room. */
static void
forget_notice(const sni_notice *notice, void *arg)
{
    (void)arg;
    notice->from->notices--;
    notice->from->notice_bytes -= sni_msg_size_of(&notice->msg);
}

/* ---- what is told ------------------------------------------------------ */

static void
the_first_subscribe_and_the_last_cancel_of_a_topic_are_received(void **state)
{
    (void)state;
    open_with(2);
    fake_hear(&f, 0, true, "a");
    fake_hear(&f, 1, true, "a");
    fake_hear(&f, 0, true, "a");
    fake_hear(&f, 1, true, "b");
    assert_string_equal(fake_recv_all(&f), "+a;+b;");
    fake_hear(&f, 0, false, "a");
    assert_string_equal(fake_recv(&f), "EAGAIN");
    fake_hear(&f, 1, false, "a");
    assert_string_equal(fake_recv_all(&f), "-a;");
    fake_send(&f, "b1");
    assert_string_equal(fake_out(&f, 1), "b1;");
    fake_close(&f);
}

static void
a_topic_may_be_empty(void **state)
{
    (void)state;
    open_with(1);
    fake_hear(&f, 0, true, "");
    assert_string_equal(fake_recv(&f), "+");
    fake_send(&f, "anything");
    fake_send(&f, "");
    assert_string_equal(fake_out(&f, 0), "anything;;");
    fake_hear(&f, 0, false, "");
    assert_string_equal(fake_recv(&f), "-");
    fake_close(&f);
}

static void
the_number_of_the_connection_comes_with_what_it_said(void **state)
{
    sni_msg msg;

    (void)state;
    open_with(2);
    fake_hear(&f, 1, true, "a");
    sennit_msg_init(sni_msg_public(&msg));
    assert_int_equal(sni_pattern_recv(&f.pattern, &msg), SENNIT_OK);
    assert_int_equal(msg.peer, 2);
    assert_false(msg.more);
    sennit_msg_fini(sni_msg_public(&msg));
    fake_close(&f);
}

/* libzmq passes it on. */
static void
a_cancel_of_what_is_not_there_is_ignored(void **state)
{
    (void)state;
    for (int verbose = SENNIT_XPUB_FIRST; verbose <= SENNIT_XPUB_VERBOSER; verbose++) {
        open_with(2);
        f.opts.xpub_verbose = (sennit_xpub_verbose)verbose;
        fake_hear(&f, 0, false, "a");
        fake_hear(&f, 0, true, "ab");
        fake_hear(&f, 1, false, "ab");
        fake_hear(&f, 0, false, "a");
        assert_string_equal(fake_recv_all(&f), "+ab;");
        fake_close(&f);
    }
}

static void
verbose_passes_on_every_subscribe_and_the_last_cancel(void **state)
{
    (void)state;
    open_with(2);
    f.opts.xpub_verbose = SENNIT_XPUB_VERBOSE;
    fake_hear(&f, 0, true, "a");
    fake_hear(&f, 0, true, "a");
    fake_hear(&f, 1, true, "a");
    assert_string_equal(fake_recv_all(&f), "+a;+a;+a;");
    fake_hear(&f, 0, false, "a");
    fake_leave(&f, 1);
    assert_string_equal(fake_recv_all(&f), "-a;");
    fake_close(&f);
}

static void
verbosity_counts_from_the_moment_it_is_set(void **state)
{
    (void)state;
    open_with(2);
    fake_hear(&f, 0, true, "a");
    fake_hear(&f, 1, true, "a");
    f.opts.xpub_verbose = SENNIT_XPUB_VERBOSE;
    fake_hear(&f, 1, true, "a");
    f.opts.xpub_verbose = SENNIT_XPUB_FIRST;
    fake_hear(&f, 1, true, "a");
    assert_string_equal(fake_recv_all(&f), "+a;+a;");
    fake_close(&f);
}

/* D36: as many removals as additions, also of a peer that says n times SUBSCRIBE and
 * then CANCEL once, as libzmq does, and of one that vanishes. */
static void
verboser_takes_back_as_many_as_it_told(void **state)
{
    (void)state;
    open_with(3);
    f.opts.xpub_verbose = SENNIT_XPUB_VERBOSER;
    for (int i = 0; i < 3; i++)
        fake_hear(&f, 0, true, "a");
    fake_hear(&f, 1, true, "a");
    fake_hear(&f, 2, true, "a");
    fake_hear(&f, 2, true, "a");
    assert_string_equal(fake_recv_all(&f), "+a;+a;+a;+a;+a;+a;");
    fake_hear(&f, 1, false, "a");
    assert_string_equal(fake_recv_all(&f), "-a;");
    fake_hear(&f, 0, false, "a");
    assert_string_equal(fake_recv_all(&f), "-a;-a;-a;");
    fake_leave(&f, 2);
    assert_string_equal(fake_recv_all(&f), "-a;-a;");
    fake_close(&f);
}

static void
a_vanished_peer_takes_back_what_nobody_else_has(void **state)
{
    (void)state;
    open_with(2);
    fake_hear(&f, 0, true, "a");
    fake_hear(&f, 0, true, "ab");
    fake_hear(&f, 0, true, "c");
    fake_hear(&f, 1, true, "ab");
    assert_string_equal(fake_recv_all(&f), "+a;+ab;+c;");
    fake_lose(&f, 0);
    assert_string_equal(fake_recv_all(&f), "-c;-a;");
    assert_int_equal(f.stats.topics, 1);
    assert_int_equal(f.stats.subscriptions, 1);
    fake_return(&f, 0, "");
    fake_send(&f, "c");
    assert_string_equal(fake_out(&f, 0), "");
    fake_hear(&f, 0, true, "c");
    assert_string_equal(fake_recv_all(&f), "+c;");
    fake_close(&f);
}

static void
what_a_peer_said_is_received_in_order_and_after_it_is_gone(void **state)
{
    (void)state;
    open_with(1);
    fake_hear(&f, 0, true, "a");
    fake_say(&f, 0, "hello|there");
    fake_hear(&f, 0, true, "b");
    fake_leave(&f, 0);
    assert_string_equal(fake_recv_all(&f), "+a;hello|there;+b;-b;-a;");
    fake_close(&f);
}

static void
topics_and_subscriptions_are_counted_exactly(void **state)
{
    (void)state;
    open_with(2);
    fake_hear(&f, 0, true, "a");
    fake_hear(&f, 0, true, "a");
    fake_hear(&f, 1, true, "a");
    fake_hear(&f, 1, true, "b");
    assert_int_equal(f.stats.topics, 2);
    assert_int_equal(f.stats.subscriptions, 3);
    assert_int_equal(f.peers[0].peer.topics, 1);
    assert_int_equal(f.peers[1].peer.topics, 2);
    fake_hear(&f, 1, false, "a");
    assert_int_equal(f.stats.topics, 2);
    assert_int_equal(f.stats.subscriptions, 2);
    fake_leave(&f, 1);
    assert_int_equal(f.stats.topics, 1);
    assert_int_equal(f.stats.subscriptions, 1);
    fake_close(&f);
}

static void
the_monitor_hears_of_each_topic_of_each_peer(void **state)
{
    (void)state;
    open_with(2);
    f.opts.events = ~0u;
    fake_hear(&f, 0, true, "a");
    fake_hear(&f, 0, true, "a");
    fake_hear(&f, 1, true, "a");
    fake_hear(&f, 1, true, "b");
    fake_hear(&f, 0, false, "a");
    fake_hear(&f, 0, false, "a");
    fake_lose(&f, 1);
    assert_string_equal(f.events, "0+a1+a1+b0-a1-b1-a");
    fake_close(&f);
}

static void
a_new_subscriber_is_welcomed_each_time_it_comes(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_XPUB, false);
    f.opts.xpub_welcome = SNI_BYTES_OF("W");
    fake_join(&f, 0, "");
    assert_string_equal(f.peers[0].greeted, "W;");
    fake_lose(&f, 0);
    fake_return(&f, 0, "");
    assert_string_equal(f.peers[0].greeted, "W;");
    f.opts.xpub_welcome = sni_bytes(NULL, 0);
    fake_join(&f, 1, "");
    assert_string_equal(f.peers[1].greeted, "");
    fake_close(&f);
}

static void
there_is_something_to_receive_when_a_notice_waits(void **state)
{
    (void)state;
    open_with(2);
    assert_int_equal(sni_pattern_ready(&f.pattern), SENNIT_WRITABLE);
    fake_hear(&f, 0, true, "a");
    assert_int_equal(f.noticed, 1);
    assert_int_equal(sni_pattern_ready(&f.pattern), SENNIT_WRITABLE | SENNIT_READABLE);
    fake_hear(&f, 1, true, "a");
    assert_int_equal(f.noticed, 1);
    assert_string_equal(fake_recv_all(&f), "+a;");
    assert_int_equal(sni_pattern_ready(&f.pattern), SENNIT_WRITABLE);
    fake_close(&f);
}

/* ---- memory ------------------------------------------------------------ */

/* D30, for a publisher that is told. */
static void
nothing_is_kept_of_subscribers_that_came_and_went(void **state)
{
    size_t before = 0;

    (void)state;
    for (int manual = 0; manual < 2; manual++) {
        open_with(2);
        f.opts.xpub_manual = (sennit_xpub_manual)manual;
        for (int round = 0; round < 100; round++) {
            fake_hear(&f, 0, true, "a");
            fake_hear(&f, 0, true, "ab");
            fake_say(&f, 0, "x|y");
            fake_lose(&f, 0);
            fake_return(&f, 0, "");
            assert_string_equal(fake_recv_all(&f), "+a;+ab;x|y;-ab;-a;");
            assert_int_equal(f.peers[0].peer.notices, 0);
            if (round == 1)
                before = f.alloc.live_blocks;
        }
        assert_int_equal(f.alloc.live_blocks, before);
        fake_close(&f);
    }
}

/* ... and does not listen. Whatever is told of one that came and went, with topics of its
 * own and with one that another has, and says twice, it comes to nothing. */
static void
an_xpub_that_is_not_read_remembers_what_is_and_not_all_that_was(void **state)
{
    char topic[16];

    (void)state;
    for (int mode = 0; mode < 6; mode++) {
        open_with(2);
        f.opts.xpub_verbose = (sennit_xpub_verbose)(mode % 3);
        f.opts.xpub_manual = (sennit_xpub_manual)(mode / 3);
        fake_say(&f, 1, "not to be lost");
        fake_hear(&f, 1, true, "stays");
        for (int round = 0; round < 20000; round++) {
            snprintf(topic, sizeof topic, "%d", round);
            fake_hear(&f, 0, true, topic);
            fake_hear(&f, 0, true, "stays");
            fake_hear(&f, 0, true, "stays");
            fake_lose(&f, 0);
            fake_return(&f, 0, "");
        }
        fake_hear(&f, 0, true, "new");
        assert_true(f.pattern.notices.capacity <= 4096);
        assert_true(f.alloc.peak_bytes < 1024 * 1024);
        sni_notices_cancel(&f.pattern.notices, forget_notice, NULL);
        assert_string_equal(fake_recv_all(&f), "not to be lost;+stays;+new;");
        fake_close(&f);
    }
}

/* Peer 0 comes, and "!" means that it goes; peer 1 is there. */
typedef struct nothing_row {
    const char *name;
    sennit_xpub_verbose verbose;
    sennit_xpub_manual manual;
    const char *read; /* before */
    const char *said; /* "0+a1-b0!": by whom, in order */
    const char *received;
} nothing_row;

static const nothing_row nothing_rows[] = {
    { "VERBOSE: the end of a topic ends all its beginnings", SENNIT_XPUB_VERBOSE, 0, "",
      "0+a1+a0!1-a", "" },
    { "VERBOSE: an end is told when a beginning was", SENNIT_XPUB_VERBOSE, 0, "1+a",
      "0+a0!1-a", "-a;" },
    { "VERBOSE: one that is gone is not missed where another tells of the topic",
      SENNIT_XPUB_VERBOSE, 0, "", "0+a1+a0!", "+a;" },
    { "VERBOSE: nor where the topic was told of", SENNIT_XPUB_VERBOSE, 0, "1+a",
      "0+a0+a0!", "" },
    { "VERBOSE: every beginning of those who are there is told", SENNIT_XPUB_VERBOSE, 0,
      "1+a", "0+a1+a", "+a;+a;" },
    { "VERBOSE: what begins again is told", SENNIT_XPUB_VERBOSE, 0, "", "1+a1-a0+a",
      "+a;" },
    { "VERBOSER: an end takes back all it says", SENNIT_XPUB_VERBOSER, 0, "",
      "0+a0+a1+a0+a0!", "+a;" },
    { "VERBOSER: an end takes back what is unread, and tells of the rest",
      SENNIT_XPUB_VERBOSER, 0, "0+a0+a", "0+a1+a0!", "+a;-a;-a;" },
    { "manual: the end of a peer's topic ends all its beginnings", 0, SENNIT_XPUB_MANUAL,
      "", "0+a1+a0+a0!", "+a;" },
    { "manual: what a peer asked for is not what another did", 0, SENNIT_XPUB_MANUAL, "",
      "0+a1+a0-a1+a", "+a;+a;" },
    { "manual: an end is told when its beginning was", 0, SENNIT_XPUB_MANUAL, "0+a",
      "0+a1+a0!1-a", "-a;" },
    { "manual, VERBOSER: an end takes back all it says", SENNIT_XPUB_VERBOSER,
      SENNIT_XPUB_MANUAL, "0+a", "0+a0+a1+a0!", "+a;-a;" },
};

static void
hear_all(const char *said)
{
    for (; *said != '\0'; said += said[1] == '!' ? 2 : 3) {
        char topic[2] = { said[1] == '!' ? '\0' : said[2], '\0' };

        if (said[1] == '!')
            fake_lose(&f, said[0] - '0');
        else
            fake_hear(&f, said[0] - '0', said[1] == '+', topic);
    }
}

static void
what_comes_to_nothing(void **state)
{
    const nothing_row *row = *state;

    open_with(2);
    f.opts.xpub_verbose = row->verbose;
    f.opts.xpub_manual = row->manual;
    hear_all(row->read);
    (void)fake_recv_all(&f);
    hear_all(row->said);
    sni_notices_cancel(&f.pattern.notices, forget_notice, NULL);
    assert_string_equal(fake_recv_all(&f), row->received);
    fake_close(&f);
}

static void
what_cancels_out_is_a_beginning_and_its_end_of_one_topic(void **state)
{
    (void)state;
    open_with(2);
    fake_hear(&f, 0, true, "a");
    fake_hear(&f, 0, true, "ab");
    assert_string_equal(fake_recv(&f), "+a");
    fake_hear(&f, 0, false, "a");
    fake_hear(&f, 1, true, "a");
    fake_hear(&f, 1, true, "b");
    fake_hear(&f, 1, false, "a");
    fake_hear(&f, 1, true, "a");
    fake_say(&f, 1, "x|y");
    fake_hear(&f, 1, false, "b");
    sni_notices_cancel(&f.pattern.notices, forget_notice, NULL);
    assert_string_equal(fake_recv_all(&f), "+ab;-a;+a;x|y;");
    fake_close(&f);
}

/* ---- messages from subscribers ----------------------------------------- */

static void
what_is_no_subscription_is_received_as_it_is(void **state)
{
    (void)state;
    open_with(2);
    fake_say(&f, 0, ";a|b;|");
    fake_say(&f, 1, "c");
    assert_string_equal(fake_recv_all(&f), ";a|b;|;c;");
    fake_close(&f);
}

static void
frames_of_two_peers_do_not_mix(void **state)
{
    sennit_msg msg;

    (void)state;
    open_with(2);
    sennit_msg_init(&msg);
    assert_int_equal(sennit_msg_init_copy(&msg, "half", 4), SENNIT_OK);
    sni_msg_of(&msg)->more = true;
    assert_int_equal(f.pattern.ops->take(&f.pattern, &f.peers[0].peer, sni_msg_of(&msg)),
                     SENNIT_OK);
    fake_say(&f, 1, "x|y");
    assert_string_equal(fake_recv(&f), "x|y");
    assert_string_equal(fake_recv(&f), "EAGAIN");
    fake_say(&f, 0, "other half");
    assert_string_equal(fake_recv(&f), "half|other half");
    fake_close(&f);
}

/* A message of `size` octets, and whether more of it follows. */
static void
say_frame(int i, size_t size, bool more)
{
    sni_msg msg;

    assert_int_equal(sni_pattern_message(&f.pattern, &msg, size), SENNIT_OK);
    memset(sennit_msg_data(sni_msg_public(&msg)), 'x', size);
    msg.more = more;
    assert_int_equal(f.pattern.ops->take(&f.pattern, &f.peers[i].peer, &msg), SENNIT_OK);
}

#define MIB ((size_t)1 << 20)

/* What visitors leave does not grow with their number, and what is given up is counted.
 */
static void
a_hundred_visits_leave_no_more_than_their_bound(void **state)
{
    uint64_t received = 0;

    (void)state;
    open_with(2);
    fake_say(&f, 1, "of one who stays");
    for (int visit = 0; visit < 100; visit++) {
        for (int i = 0; i < 3; i++) {
            say_frame(0, MIB / 2, true);
            say_frame(0, MIB / 2, false);
        }
        fake_lose(&f, 0);
        fake_return(&f, 0, "");
        assert_true(f.alloc.live_bytes < SNI_LEFT_BYTES_MAX + 4 * MIB);
    }
    assert_string_equal(fake_recv(&f), "of one who stays");
    for (sni_msg msg = { 0 }; sni_pattern_recv(&f.pattern, &msg) == SENNIT_OK;) {
        received += !msg.more;
        sennit_msg_fini(sni_msg_public(&msg));
    }
    assert_true(received >= SNI_LEFT_BYTES_MAX / MIB / 4 * 3 - 3);
    assert_int_equal(received + f.stats.dropped_unread_msgs, 300);
    assert_int_equal(f.pattern.left, 0);
    fake_close(&f);
}

/* One larger than the bound too: it makes room for itself, and is half read then. */
static void
what_the_last_visitor_left_stays(void **state)
{
    sni_msg msg = { 0 };

    (void)state;
    open_with(2);
    say_frame(0, MIB, false);
    fake_leave(&f, 0);
    say_frame(1, MIB, true);
    say_frame(1, SNI_LEFT_BYTES_MAX, false);
    fake_leave(&f, 1);
    assert_int_equal(f.stats.dropped_unread_msgs, 1);
    assert_int_equal(sni_pattern_recv(&f.pattern, &msg), SENNIT_OK);
    assert_true(msg.more);
    fake_join(&f, 0, "");
    say_frame(0, MIB, false);
    fake_leave(&f, 0);
    sennit_msg_fini(sni_msg_public(&msg));
    assert_int_equal(sni_pattern_recv(&f.pattern, &msg), SENNIT_OK);
    assert_int_equal(sni_msg_size_of(&msg), SNI_LEFT_BYTES_MAX);
    assert_false(msg.more);
    sennit_msg_fini(sni_msg_public(&msg));
    assert_int_equal(sni_pattern_recv(&f.pattern, &msg), SENNIT_OK);
    assert_int_equal(sni_msg_size_of(&msg), MIB);
    sennit_msg_fini(sni_msg_public(&msg));
    assert_string_equal(fake_recv(&f), "EAGAIN");
    assert_int_equal(f.stats.dropped_unread_msgs, 1);
    assert_int_equal(f.pattern.left, 0);
    fake_close(&f);
}

typedef struct upstream_row {
    const char *name;
    const char *said;
    bool only_first;
    const char *received;
} upstream_row;

static const upstream_row upstream_rows[] = {
    { "a message of 01 and a topic subscribes", "+a", false, "+a;" },
    { "every frame of a message may be a subscription", "+a|+b|-a", false, "+a;+b;-a;" },
    { "what surrounds a subscription is one message", "x|+a|y", false, "+a;x|y;" },
    { "a subscription may end a message", "x|y|+a", false, "+a;x|y;" },
    { "a subscription may begin a message", "+a|x", false, "+a;x;" },
    { "with only_first_subscribe the first frame may be one", "+a", true, "+a;" },
    { "with only_first_subscribe no other frame may", "x|+a|-b", true, "x|+a|-b;" },
    { "with only_first_subscribe what follows one is a message", "+a|-b", true,
      "+a;-b;" },
};

static void
a_message_from_upstream(void **state)
{
    const upstream_row *row = *state;

    open_with(1);
    f.opts.only_first_subscribe = row->only_first;
    fake_say(&f, 0, row->said);
    assert_string_equal(fake_recv_all(&f), row->received);
    fake_close(&f);
}

static void
a_peer_with_as_many_unread_messages_as_it_may_have_is_paused(void **state)
{
    (void)state;
    open_with(2);
    f.opts.recv_hwm_msgs = 2;
    fake_say(&f, 0, "a|a");
    assert_false(f.peers[0].peer.paused);
    fake_say(&f, 0, "b");
    assert_true(f.peers[0].peer.paused);
    assert_int_equal(f.peers[0].peer.notices, 2);
    fake_say(&f, 1, "c");
    assert_false(f.peers[1].peer.paused);
    assert_string_equal(fake_recv(&f), "a|a");
    assert_false(f.peers[0].peer.paused);
    assert_int_equal(f.peers[0].resumed, 1);
    assert_string_equal(fake_recv_all(&f), "b;c;");
    assert_int_equal(f.peers[0].resumed, 1);
    assert_int_equal(f.peers[1].resumed, 0);
    assert_int_equal(f.peers[0].peer.notices, 0);
    fake_close(&f);
}

static void
subscriptions_do_not_pause_a_peer(void **state)
{
    char topic[8];

    (void)state;
    open_with(1);
    f.opts.recv_hwm_msgs = 2;
    for (int i = 0; i < 1000; i++) {
        snprintf(topic, sizeof topic, "%d", i);
        fake_hear(&f, 0, true, topic);
    }
    assert_false(f.peers[0].peer.paused);
    assert_int_equal(f.peers[0].peer.notices, 1000);
    fake_say(&f, 0, "x");
    assert_false(f.peers[0].peer.paused);
    fake_close(&f);
}

static void
a_peer_may_be_paused_by_its_unread_bytes(void **state)
{
    (void)state;
    open_with(1);
    f.opts.recv_hwm_bytes = 8;
    fake_say(&f, 0, "1234567");
    assert_false(f.peers[0].peer.paused);
    fake_say(&f, 0, "8");
    assert_true(f.peers[0].peer.paused);
    assert_string_equal(fake_recv(&f), "1234567");
    assert_int_equal(f.peers[0].resumed, 1);
    fake_close(&f);
}

static void
without_marks_a_peer_is_paused_at_a_window(void **state)
{
    (void)state;
    open_with(2);
    f.opts.recv_hwm_msgs = 0;
    for (int i = 0; i < 3000; i++)
        fake_say(&f, 0, "x");
    assert_false(f.peers[0].peer.paused);
    assert_int_equal(f.peers[0].peer.notice_bytes, 3000);
    say_frame(0, SNI_RECV_BYTES - 30000 - 9, false);
    assert_true(f.peers[0].peer.paused);
    assert_int_equal(f.peers[0].peer.notice_bytes, SNI_RECV_BYTES - 27009);
    /* Frames without a body are not for nothing. */
    for (unsigned frames = SNI_RECV_BYTES / 9; frames > 0; frames--)
        say_frame(1, 0, frames > 1);
    assert_false(f.peers[1].peer.paused);
    say_frame(1, 0, false);
    assert_true(f.peers[1].peer.paused);
    assert_string_equal(fake_recv(&f), "x");
    assert_false(f.peers[0].peer.paused);
    assert_int_equal(f.peers[0].resumed, 1);
    fake_close(&f);
}

static void
a_peer_that_comes_back_begins_without_a_pause(void **state)
{
    (void)state;
    open_with(1);
    f.opts.recv_hwm_msgs = 1;
    fake_say(&f, 0, "old");
    assert_true(f.peers[0].peer.paused);
    fake_lose(&f, 0);
    assert_false(f.peers[0].peer.paused);
    fake_return(&f, 0, "");
    fake_say(&f, 0, "new");
    assert_true(f.peers[0].peer.paused);
    /* Reading what the old connection sent does not make room for the new one. */
    assert_string_equal(fake_recv(&f), "old");
    assert_true(f.peers[0].peer.paused);
    assert_int_equal(f.peers[0].resumed, 0);
    assert_string_equal(fake_recv(&f), "new");
    assert_int_equal(f.peers[0].resumed, 1);
    fake_close(&f);
}

/* A publisher that does not read, and a subscriber that will not stop. */
static void
more_subscriptions_than_are_read_end_the_connection(void **state)
{
    (void)state;
    open_with(2);
    f.opts.xpub_verbose = SENNIT_XPUB_VERBOSE;
    fake_hear(&f, 0, true, "a");
    /* Instead of a million of them first. */
    f.peers[0].peer.subscriber->notices = SNI_TOPICS_PER_PEER_MAX - 1;
    fake_hear(&f, 0, true, "b");
    assert_null(f.peers[0].ended);
    fake_hear(&f, 0, true, "c");
    assert_string_equal(f.peers[0].ended,
                        "more subscriptions than the application reads");
    assert_int_equal(f.peers[0].ended_err, SENNIT_EMSGSIZE);
    assert_null(f.peers[1].ended);
    f.peers[0].peer.subscriber->notices = 2;
    fake_leave(&f, 0);
    /* What was not told need not be taken back. */
    assert_string_equal(fake_recv_all(&f), "+a;+b;-b;-a;");
    fake_close(&f);
}

/* The same by their octets; what is read does not count any more. */
static void
longer_subscriptions_than_are_read_end_the_connection(void **state)
{
    sni_subscriber *subscriber;

    (void)state;
    open_with(1);
    f.opts.xpub_verbose = SENNIT_XPUB_VERBOSE;
    fake_hear(&f, 0, true, "abc");
    subscriber = f.peers[0].peer.subscriber;
    assert_int_equal(subscriber->notice_bytes, 4);
    assert_string_equal(fake_recv(&f), "+abc");
    assert_int_equal(subscriber->notice_bytes, 0);
    subscriber->notice_bytes = SNI_TOPIC_BYTES_PER_PEER_MAX - 1;
    fake_hear(&f, 0, true, "d");
    assert_null(f.peers[0].ended);
    fake_hear(&f, 0, true, "e");
    assert_string_equal(f.peers[0].ended,
                        "more subscriptions than the application reads");
    assert_int_equal(f.peers[0].ended_err, SENNIT_EMSGSIZE);
    assert_string_equal(fake_recv_all(&f), "+d;");
    fake_close(&f);
}

/* In manual mode what counts is what it asked for. */
static void
manual_bounds_what_a_peer_asks_for(void **state)
{
    (void)state;
    open_with(1);
    f.opts.xpub_manual = SENNIT_XPUB_MANUAL;
    fake_hear(&f, 0, true, "a");
    f.peers[0].peer.subscriber->asked_bytes = SNI_TOPIC_BYTES_PER_PEER_MAX - 1;
    for (int i = 0; i < 10; i++) {
        fake_hear(&f, 0, true, "bc");
        fake_hear(&f, 0, false, "bc");
    }
    assert_string_equal(f.peers[0].ended, "more subscriptions than a peer may hold");
    assert_int_equal(f.peers[0].peer.subscriber->asked_bytes,
                     SNI_TOPIC_BYTES_PER_PEER_MAX - 1);
    fake_close(&f);
}

/* ---- manual ------------------------------------------------------------ */

static void
manual_gives_a_peer_what_the_application_decides(void **state)
{
    (void)state;
    open_with(2);
    f.opts.xpub_manual = SENNIT_XPUB_MANUAL;
    fake_hear(&f, 0, true, "a");
    fake_send(&f, "a");
    assert_string_equal(fake_out(&f, 0), "");
    assert_int_equal(f.stats.subscriptions, 0);
    assert_string_equal(fake_recv(&f), "+a");
    assert_int_equal(give(true, "b"), SENNIT_OK);
    assert_int_equal(f.stats.subscriptions, 1);
    assert_int_equal(f.stats.topics, 1);
    fake_send(&f, "a");
    fake_send(&f, "b");
    assert_string_equal(fake_out(&f, 0), "b;");
    assert_int_equal(give(false, "b"), SENNIT_OK);
    assert_int_equal(give(false, "b"), SENNIT_ENOENT);
    fake_send(&f, "b");
    assert_string_equal(fake_out(&f, 0), "b;");
    fake_close(&f);
}

static void
manual_receives_every_subscribe_and_every_cancel(void **state)
{
    (void)state;
    open_with(2);
    f.opts.xpub_manual = SENNIT_XPUB_MANUAL;
    fake_hear(&f, 0, true, "a");
    fake_hear(&f, 1, true, "a");
    fake_hear(&f, 0, false, "a");
    fake_hear(&f, 0, false, "a");
    fake_hear(&f, 1, false, "a");
    assert_string_equal(fake_recv_all(&f), "+a;+a;-a;-a;");
    fake_close(&f);
}

static void
manual_means_the_peer_whose_notice_was_received_last(void **state)
{
    (void)state;
    open_with(2);
    f.opts.xpub_manual = SENNIT_XPUB_MANUAL;
    fake_hear(&f, 0, true, "a");
    fake_hear(&f, 1, true, "b");
    fake_say(&f, 0, "a message is no notice");
    assert_string_equal(fake_recv(&f), "+a");
    /* One that is only looked for does not count. */
    assert_true(sni_pattern_ready(&f.pattern) & SENNIT_READABLE);
    assert_int_equal(give(true, "A"), SENNIT_OK);
    assert_string_equal(fake_recv(&f), "+b");
    assert_string_equal(fake_recv(&f), "a message is no notice");
    assert_int_equal(give(true, "B"), SENNIT_OK);
    fake_send(&f, "A");
    fake_send(&f, "B");
    assert_string_equal(fake_out(&f, 0), "A;");
    assert_string_equal(fake_out(&f, 1), "B;");
    fake_close(&f);
}

static void
manual_says_what_is_wrong_when_there_is_no_such_peer(void **state)
{
    (void)state;
    open_with(1);
    assert_int_equal(give(true, "a"), SENNIT_ENOTSUP);
    f.opts.xpub_manual = SENNIT_XPUB_MANUAL;
    assert_int_equal(give(true, "a"), SENNIT_ESTATE);
    fake_hear(&f, 0, true, "a");
    assert_int_equal(give(true, "a"), SENNIT_ESTATE);
    assert_string_equal(fake_recv(&f), "+a");
    fake_lose(&f, 0);
    assert_int_equal(give(true, "a"), SENNIT_ENOENT);
    fake_return(&f, 0, "");
    assert_int_equal(give(true, "a"), SENNIT_ENOENT);
    assert_string_equal(fake_recv(&f), "-a");
    assert_int_equal(give(true, "a"), SENNIT_ENOENT);
    fake_close(&f);
}

/* What it was given is nobody's business but ours; what it asked for is taken back. */
static void
manual_lets_a_peer_give_back_what_it_got_before(void **state)
{
    (void)state;
    open_with(1);
    fake_hear(&f, 0, true, "a");
    assert_string_equal(fake_recv_all(&f), "+a;");
    f.opts.xpub_manual = SENNIT_XPUB_MANUAL;
    fake_hear(&f, 0, false, "a");
    assert_string_equal(fake_recv_all(&f), "-a;");
    fake_send(&f, "a1");
    assert_string_equal(fake_out(&f, 0), "");
    assert_int_equal(f.stats.subscriptions, 0);
    fake_close(&f);
}

/* And one that leaves with it is told as if nothing had been changed meanwhile. */
static void
manual_tells_the_end_of_what_a_peer_got_before(void **state)
{
    (void)state;
    open_with(2);
    fake_hear(&f, 0, true, "a");
    fake_hear(&f, 0, true, "b");
    fake_hear(&f, 1, true, "b");
    assert_string_equal(fake_recv_all(&f), "+a;+b;");
    f.opts.xpub_manual = SENNIT_XPUB_MANUAL;
    fake_hear(&f, 0, true, "c");
    assert_string_equal(fake_recv_all(&f), "+c;");
    assert_int_equal(give(true, "given"), SENNIT_OK);
    fake_leave(&f, 0);
    assert_string_equal(fake_recv_all(&f), "-c;-a;");
    assert_int_equal(f.stats.subscriptions, 1);
    fake_leave(&f, 1);
    assert_string_equal(fake_recv_all(&f), "-b;");
    fake_close(&f);
}

static void
manual_keeps_what_was_given_from_being_cancelled(void **state)
{
    (void)state;
    open_with(1);
    f.opts.xpub_manual = SENNIT_XPUB_MANUAL;
    fake_hear(&f, 0, true, "a");
    assert_string_equal(fake_recv_all(&f), "+a;");
    assert_int_equal(give(true, "b"), SENNIT_OK);
    assert_int_equal(give(true, "a"), SENNIT_OK);
    fake_hear(&f, 0, false, "b");
    assert_string_equal(fake_recv_all(&f), "");
    fake_hear(&f, 0, false, "a");
    fake_hear(&f, 0, false, "a");
    assert_string_equal(fake_recv_all(&f), "-a;");
    assert_int_equal(f.stats.subscriptions, 2);
    fake_send(&f, "a1");
    fake_send(&f, "b1");
    assert_string_equal(fake_out(&f, 0), "a1;b1;");
    assert_int_equal(give(false, "a"), SENNIT_OK);
    assert_int_equal(give(false, "a"), SENNIT_ENOENT);
    fake_send(&f, "a2");
    fake_send(&f, "b2");
    assert_string_equal(fake_out(&f, 0), "a1;b1;b2;");
    fake_close(&f);
}

/* When manual mode ends a peer decides itself again, and what was told of it is taken
 * back once. */
static void
after_manual_a_peer_ends_what_it_asked_for(void **state)
{
    (void)state;
    open_with(2);
    f.opts.xpub_manual = SENNIT_XPUB_MANUAL;
    for (int i = 0; i < 2; i++) {
        fake_hear(&f, i, true, "a");
        assert_string_equal(fake_recv_all(&f), "+a;");
        assert_int_equal(give(true, "a"), SENNIT_OK);
    }
    f.opts.xpub_manual = SENNIT_XPUB_AUTOMATIC;
    fake_hear(&f, 0, false, "a");
    assert_string_equal(fake_recv_all(&f), "-a;");
    fake_send(&f, "a1");
    assert_string_equal(fake_out(&f, 0), "");
    assert_string_equal(fake_out(&f, 1), "a1;");
    fake_leave(&f, 1);
    assert_string_equal(fake_recv_all(&f), "-a;");
    assert_int_equal(f.stats.subscriptions, 0);
    fake_close(&f);
}

static void
manual_takes_back_what_a_vanished_peer_asked_for(void **state)
{
    (void)state;
    open_with(2);
    f.opts.xpub_manual = SENNIT_XPUB_MANUAL;
    fake_hear(&f, 0, true, "a");
    fake_hear(&f, 1, true, "a");
    assert_string_equal(fake_recv(&f), "+a");
    assert_int_equal(give(true, "given"), SENNIT_OK);
    assert_string_equal(fake_recv(&f), "+a");
    fake_leave(&f, 0);
    assert_string_equal(fake_recv_all(&f), "-a;");
    assert_int_equal(f.stats.topics, 0);
    fake_close(&f);
}

static void
last_value_goes_only_to_the_one_that_just_subscribed(void **state)
{
    (void)state;
    open_with(3);
    f.opts.xpub_manual = SENNIT_XPUB_LAST_VALUE;
    for (int i = 0; i < 2; i++) {
        fake_hear(&f, i, true, "a");
        assert_string_equal(fake_recv(&f), "+a");
        assert_int_equal(give(true, "a"), SENNIT_OK);
        fake_send(&f, "a last|value");
    }
    fake_send(&f, "a for all");
    assert_string_equal(fake_out(&f, 0), "a last|value;a for all;");
    assert_string_equal(fake_out(&f, 1), "a last|value;a for all;");
    fake_hear(&f, 0, false, "a");
    assert_string_equal(fake_recv(&f), "-a");
    fake_send(&f, "a again");
    assert_string_equal(fake_out(&f, 1), "a last|value;a for all;a again;");
    fake_close(&f);
}

static void
a_last_value_for_one_that_is_gone_goes_to_nobody(void **state)
{
    (void)state;
    open_with(2);
    f.opts.xpub_manual = SENNIT_XPUB_LAST_VALUE;
    for (int i = 0; i < 2; i++) {
        fake_hear(&f, i, true, "a");
        assert_string_equal(fake_recv(&f), "+a");
        assert_int_equal(give(true, "a"), SENNIT_OK);
    }
    fake_leave(&f, 1);
    fake_send(&f, "a last value");
    fake_send(&f, "a for all");
    assert_string_equal(fake_out(&f, 0), "a for all;");
    fake_close(&f);
}

int
main(void)
{
    static test_suite suite;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_subscribe_and_the_last_cancel_of_a_topic_are_received),
        cmocka_unit_test(a_topic_may_be_empty),
        cmocka_unit_test(the_number_of_the_connection_comes_with_what_it_said),
        cmocka_unit_test(a_cancel_of_what_is_not_there_is_ignored),
        cmocka_unit_test(verbose_passes_on_every_subscribe_and_the_last_cancel),
        cmocka_unit_test(verbosity_counts_from_the_moment_it_is_set),
        cmocka_unit_test(verboser_takes_back_as_many_as_it_told),
        cmocka_unit_test(a_vanished_peer_takes_back_what_nobody_else_has),
        cmocka_unit_test(what_a_peer_said_is_received_in_order_and_after_it_is_gone),
        cmocka_unit_test(topics_and_subscriptions_are_counted_exactly),
        cmocka_unit_test(the_monitor_hears_of_each_topic_of_each_peer),
        cmocka_unit_test(a_new_subscriber_is_welcomed_each_time_it_comes),
        cmocka_unit_test(there_is_something_to_receive_when_a_notice_waits),
        cmocka_unit_test(nothing_is_kept_of_subscribers_that_came_and_went),
        cmocka_unit_test(an_xpub_that_is_not_read_remembers_what_is_and_not_all_that_was),
        cmocka_unit_test(what_cancels_out_is_a_beginning_and_its_end_of_one_topic),
        cmocka_unit_test(a_hundred_visits_leave_no_more_than_their_bound),
        cmocka_unit_test(what_the_last_visitor_left_stays),
        cmocka_unit_test(what_is_no_subscription_is_received_as_it_is),
        cmocka_unit_test(frames_of_two_peers_do_not_mix),
        cmocka_unit_test(a_peer_with_as_many_unread_messages_as_it_may_have_is_paused),
        cmocka_unit_test(subscriptions_do_not_pause_a_peer),
        cmocka_unit_test(a_peer_may_be_paused_by_its_unread_bytes),
        cmocka_unit_test(without_marks_a_peer_is_paused_at_a_window),
        cmocka_unit_test(a_peer_that_comes_back_begins_without_a_pause),
        cmocka_unit_test(more_subscriptions_than_are_read_end_the_connection),
        cmocka_unit_test(longer_subscriptions_than_are_read_end_the_connection),
        cmocka_unit_test(manual_bounds_what_a_peer_asks_for),
        cmocka_unit_test(manual_gives_a_peer_what_the_application_decides),
        cmocka_unit_test(manual_receives_every_subscribe_and_every_cancel),
        cmocka_unit_test(manual_means_the_peer_whose_notice_was_received_last),
        cmocka_unit_test(manual_says_what_is_wrong_when_there_is_no_such_peer),
        cmocka_unit_test(manual_lets_a_peer_give_back_what_it_got_before),
        cmocka_unit_test(manual_tells_the_end_of_what_a_peer_got_before),
        cmocka_unit_test(manual_keeps_what_was_given_from_being_cancelled),
        cmocka_unit_test(after_manual_a_peer_ends_what_it_asked_for),
        cmocka_unit_test(manual_takes_back_what_a_vanished_peer_asked_for),
        cmocka_unit_test(last_value_goes_only_to_the_one_that_just_subscribed),
        cmocka_unit_test(a_last_value_for_one_that_is_gone_goes_to_nobody),
    };

    TEST_SUITE_ROWS(&suite, "upstream: ", upstream_rows, a_message_from_upstream);
    TEST_SUITE_ROWS(&suite, "", nothing_rows, what_comes_to_nothing);
    TEST_SUITE_ADD(&suite, tests);
    return test_suite_run(&suite);
}
