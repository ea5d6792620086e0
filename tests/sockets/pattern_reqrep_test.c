/* SPDX-License-Identifier: MIT */
/* REQ and REP over fake peers: turns, envelopes, and what becomes of a request or a
 * reply whose peer goes. */
#include <stdio.h>

#include "fake.h"

static fake f;

/* ---- REQ --------------------------------------------------------------- */

static void
req_sends_behind_an_empty_frame_and_takes_the_reply_without_it(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_REQ, false);
    fake_join(&f, 0, "");
    fake_send(&f, "ask|more");
    assert_string_equal(fake_out(&f, 0), "|ask|more;");
    fake_offer(&f, 0, "|answer|");
    assert_string_equal(fake_recv(&f), "answer|");
    fake_close(&f);
}

static void
req_alternates_strictly_between_sending_and_receiving(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_REQ, false);
    fake_join(&f, 0, "");
    assert_string_equal(fake_recv(&f), "ESTATE");
    assert_int_equal(sni_pattern_ready(&f.pattern), SENNIT_WRITABLE);
    fake_send(&f, "1");
    assert_int_equal(fake_send_frame(&f, "2", false), SENNIT_ESTATE);
    assert_string_equal(fake_recv(&f), "EAGAIN");
    assert_int_equal(sni_pattern_ready(&f.pattern), 0);
    fake_offer(&f, 0, "|one");
    assert_int_equal(sni_pattern_ready(&f.pattern), SENNIT_READABLE);
    assert_string_equal(fake_recv(&f), "one");
    assert_string_equal(fake_recv(&f), "ESTATE");
    fake_send(&f, "2");
    assert_string_equal(fake_out(&f, 0), "|1;|2;");
    fake_close(&f);
}

static void
req_may_not_send_in_the_middle_of_a_reply(void **state)
{
    sni_msg msg;

    (void)state;
    fake_open(&f, SENNIT_REQ, false);
    fake_join(&f, 0, "");
    fake_send(&f, "ask");
    fake_offer(&f, 0, "|a|b");
    sennit_msg_init(sni_msg_public(&msg));
    assert_int_equal(sni_pattern_recv(&f.pattern, &msg), SENNIT_OK);
    assert_true(msg.more);
    sennit_msg_fini(sni_msg_public(&msg));
    assert_int_equal(fake_send_frame(&f, "x", false), SENNIT_ESTATE);
    assert_string_equal(fake_recv(&f), "b");
    fake_send(&f, "next");
    fake_close(&f);
}

static void
req_deals_its_requests_to_the_peers_in_turn(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_REQ, false);
    fake_join(&f, 0, "");
    fake_join(&f, 1, "");
    fake_send(&f, "1");
    fake_offer(&f, 0, "|one");
    assert_string_equal(fake_recv(&f), "one");
    fake_send(&f, "2");
    fake_offer(&f, 1, "|two");
    assert_string_equal(fake_recv(&f), "two");
    assert_string_equal(fake_out(&f, 0), "|1;");
    assert_string_equal(fake_out(&f, 1), "|2;");
    fake_close(&f);
}

typedef struct shape_row {
    const char *name;
    const char *message;
} shape_row;

/* Replies that are not one empty frame and a body. The request is still open, so a
 * well-formed reply behind them is taken. */
static const shape_row bad_replies[] = {
    { "REQ drops a reply without the empty frame", "body" },
    { "REQ drops a reply that is only the empty frame", "" },
    { "REQ drops a reply whose first frame is not empty", "x|body" },
    { "REQ drops a reply whose empty frame comes second", "x||body" },
};

static void
req_drops_and_counts(void **state)
{
    const shape_row *row = *state;

    fake_open(&f, SENNIT_REQ, false);
    fake_join(&f, 0, "");
    fake_send(&f, "ask");
    fake_offer(&f, 0, row->message);
    assert_string_equal(fake_recv(&f), "EAGAIN");
    assert_int_equal(f.stats.dropped_malformed_msgs, 1);
    fake_offer(&f, 0, "|good");
    assert_string_equal(fake_recv(&f), "good");
    fake_close(&f);
}

static void
req_takes_a_reply_only_from_whom_it_asked(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_REQ, false);
    fake_join(&f, 0, "");
    fake_join(&f, 1, "");
    fake_send(&f, "ask");
    fake_offer(&f, 1, "|from a stranger");
    assert_string_equal(fake_recv(&f), "EAGAIN");
    fake_offer(&f, 0, "|from the one");
    assert_string_equal(fake_recv(&f), "from the one");
    assert_int_equal(f.stats.dropped_filtered_msgs, 1);
    fake_close(&f);
}

/* "Sending a new request first drains stale replies" (zmtp.md 4.2). */
static void
req_forgets_replies_that_came_before_the_request(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_REQ, false);
    fake_join(&f, 0, "");
    fake_send(&f, "1");
    fake_offer(&f, 0, "|one;|one again|tail");
    assert_string_equal(fake_recv(&f), "one");
    fake_send(&f, "2");
    fake_offer(&f, 0, "|two");
    assert_string_equal(fake_recv(&f), "two");
    assert_int_equal(f.stats.dropped_filtered_msgs, 1);
    fake_close(&f);
}

static void
req_is_told_once_of_a_lost_request_and_may_send_again(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_REQ, false);
    fake_join(&f, 0, "");
    fake_send(&f, "1");
    sni_pattern_disconnected(&f.pattern, &f.peers[0].peer, true);
    assert_int_equal(sni_pattern_ready(&f.pattern) & SENNIT_READABLE, SENNIT_READABLE);
    assert_string_equal(fake_recv(&f), "ECONNRESET");
    assert_string_equal(fake_recv(&f), "ESTATE");
    fake_send(&f, "2");
    fake_offer(&f, 0, "|two");
    assert_string_equal(fake_recv(&f), "two");
    fake_close(&f);
}

static void
req_whose_request_still_waits_in_the_queue_has_lost_nothing(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_REQ, false);
    fake_join(&f, 0, "");
    fake_send(&f, "1");
    sni_pattern_disconnected(&f.pattern, &f.peers[0].peer, false);
    assert_string_equal(fake_recv(&f), "EAGAIN");
    fake_offer(&f, 0, "|one");
    assert_string_equal(fake_recv(&f), "one");
    fake_close(&f);
}

static void
req_takes_a_reply_that_came_before_the_loss(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_REQ, false);
    fake_join(&f, 0, "");
    fake_send(&f, "1");
    fake_offer(&f, 0, "|one");
    sni_pattern_disconnected(&f.pattern, &f.peers[0].peer, true);
    assert_string_equal(fake_recv(&f), "one");
    fake_send(&f, "2");
    assert_string_equal(fake_recv(&f), "EAGAIN");
    fake_close(&f);
}

static void
req_is_told_when_its_peer_is_gone_for_good(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_REQ, false);
    fake_join(&f, 0, "");
    fake_join(&f, 1, "");
    fake_send(&f, "1");
    fake_leave(&f, 0);
    assert_string_equal(fake_recv(&f), "ECONNRESET");
    fake_send(&f, "2");
    assert_string_equal(fake_out(&f, 1), "|2;");
    fake_close(&f);
}

/* The accepted peer of a bound REQ: retired first, detached when it has been read. */
static void
req_whose_peer_goes_while_it_asks_is_told_and_asks_well_formed_again(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_REQ, false);
    fake_join(&f, 0, "");
    assert_int_equal(fake_send_frame(&f, "first half", true), SENNIT_OK);
    sni_pattern_disconnected(&f.pattern, &f.peers[0].peer, true);
    sni_pattern_retire(&f.peers[0].peer);
    fake_leave(&f, 0);
    assert_int_equal(fake_send_frame(&f, "second half", false), SENNIT_OK);
    assert_int_equal(f.stats.dropped_disconnect_msgs, 1);
    assert_string_equal(fake_recv(&f), "ECONNRESET");
    fake_join(&f, 1, "");
    fake_send(&f, "again");
    assert_string_equal(fake_out(&f, 1), "|again;");
    fake_offer(&f, 1, "|yes");
    assert_string_equal(fake_recv(&f), "yes");
    fake_close(&f);
}

/* The peer of a connecting REQ stays, and its queue drops the rest by itself. */
static void
req_whose_connection_breaks_while_it_asks_is_told(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_REQ, false);
    fake_join(&f, 0, "");
    assert_int_equal(fake_send_frame(&f, "first half", true), SENNIT_OK);
    sni_pattern_disconnected(&f.pattern, &f.peers[0].peer, true);
    assert_int_equal(fake_send_frame(&f, "second half", false), SENNIT_OK);
    assert_string_equal(fake_recv(&f), "ECONNRESET");
    fake_send(&f, "again");
    fake_offer(&f, 0, "|yes");
    assert_string_equal(fake_recv(&f), "yes");
    fake_close(&f);
}

static void
a_push_that_failed_can_be_repeated_at_every_frame_of_a_request(void **state)
{
    static const char *const frames[] = { "a", "b" };

    (void)state;
    for (unsigned k = 0; k < 3; k++) {
        fake_open(&f, SENNIT_REQ, false);
        fake_join(&f, 0, "");
        fake_join(&f, 1, "");
        f.pushes_before = k;
        f.pushes_failing = 1;
        for (unsigned i = 0; i < 2; i++)
            if (fake_send_frame(&f, frames[i], i == 0) != SENNIT_OK)
                assert_int_equal(fake_send_frame(&f, frames[i], i == 0), SENNIT_OK);
        assert_int_equal(f.pushes_failing, 0);
        assert_string_equal(fake_out(&f, 0), "|a|b;");
        assert_string_equal(fake_out(&f, 1), "");
        fake_close(&f);
    }
}

/* ---- REQ: correlate and relaxed ----------------------------------------- */

/* The number before the first: all of them can be printed, in the order of any host. */
#define NUMBER_ZERO 0x61616160u

static void
open_req(bool correlate, bool relaxed, int peers)
{
    f.random = NUMBER_ZERO;
    fake_open(&f, SENNIT_REQ, false);
    f.random = 0;
    f.opts.req_correlate = correlate;
    f.opts.req_relaxed = relaxed;
    for (int i = 0; i < peers; i++)
        fake_join(&f, i, "");
}

/* What request `n` (1, 2, ...) carries. */
static const char *
number_of(unsigned n)
{
    static char text[8][sizeof(uint32_t) + 1];
    uint32_t number = NUMBER_ZERO + n;

    memcpy(text[n], &number, sizeof number);
    return text[n];
}

static const char *
joined(const char *a, const char *b, const char *c)
{
    static char text[4][128];
    static unsigned next;
    char whole[sizeof text[0]];

    /* One part may be what an earlier call gave. */
    snprintf(whole, sizeof whole, "%s%s%s", a, b, c);
    return memcpy(text[next++ % 4], whole, sizeof whole);
}

static void
correlated_requests_carry_numbers_that_count_up(void **state)
{
    (void)state;
    open_req(true, false, 1);
    fake_send(&f, "1|more");
    fake_offer(&f, 0, joined(number_of(1), "||one", "|"));
    assert_string_equal(fake_recv(&f), "one|");
    fake_send(&f, "2");
    assert_string_equal(
        fake_out(&f, 0),
        joined(joined(number_of(1), "||1|more;", number_of(2)), "||2;", ""));
    fake_close(&f);
}

static void
a_correlated_reply_must_have_the_number_of_the_request(void **state)
{
    (void)state;
    open_req(true, false, 1);
    fake_send(&f, "1");
    fake_offer(&f, 0, joined(number_of(2), "||not yet asked", ""));
    fake_offer(&f, 0, "|without a number");
    assert_string_equal(fake_recv(&f), "EAGAIN");
    assert_int_equal(f.stats.dropped_filtered_msgs, 2);
    fake_offer(&f, 0, "toolong||x;body;a|b|c");
    fake_offer(&f, 0, joined(number_of(1), "|not empty|x", ""));
    fake_offer(&f, 0, joined(number_of(1), "|", ""));
    fake_offer(&f, 0, number_of(1));
    assert_string_equal(fake_recv(&f), "EAGAIN");
    assert_int_equal(f.stats.dropped_malformed_msgs, 6);
    fake_offer(&f, 0, joined(number_of(1), "||one", ""));
    assert_string_equal(fake_recv(&f), "one");
    fake_close(&f);
}

/* D08 a. */
static void
relaxed_may_send_again_at_once(void **state)
{
    (void)state;
    open_req(false, true, 2);
    fake_send(&f, "1");
    assert_int_equal(sni_pattern_ready(&f.pattern), SENNIT_WRITABLE);
    fake_send(&f, "2");
    assert_string_equal(fake_out(&f, 0), "|1;");
    assert_string_equal(fake_out(&f, 1), "|2;");
    /* The old one's reply is not this one's. */
    fake_offer(&f, 0, "|one");
    assert_string_equal(fake_recv(&f), "EAGAIN");
    fake_offer(&f, 1, "|two");
    assert_string_equal(fake_recv(&f), "two");
    assert_string_equal(fake_recv(&f), "ESTATE");
    fake_close(&f);
}

/* D08 b and c: both wait for the same peer, which answers both. */
static void
relaxed_and_correlated_takes_the_answer_to_the_newest_request_only(void **state)
{
    (void)state;
    open_req(true, true, 1);
    fake_send(&f, "1");
    fake_send(&f, "2");
    fake_offer(&f, 0, joined(number_of(1), "||one", ""));
    fake_offer(&f, 0, joined(number_of(2), "||two", ""));
    assert_string_equal(fake_recv(&f), "two");
    assert_int_equal(f.stats.dropped_filtered_msgs, 1);
    fake_close(&f);
}

/* libzmq takes the first answer for the second's here. */
static void
relaxed_alone_does_not_take_an_old_answer_either(void **state)
{
    (void)state;
    open_req(false, true, 1);
    fake_send(&f, "1");
    fake_send(&f, "2");
    assert_string_equal(fake_out(&f, 0), joined("|1;", number_of(2), "||2;"));
    fake_offer(&f, 0, "|one");
    assert_string_equal(fake_recv(&f), "EAGAIN");
    fake_offer(&f, 0, joined(number_of(2), "||two", ""));
    assert_string_equal(fake_recv(&f), "two");
    /* One more answer to the first could still come, however late. */
    fake_send(&f, "3");
    fake_offer(&f, 0, "|one, again");
    fake_offer(&f, 0, joined(number_of(3), "||three", ""));
    assert_string_equal(fake_recv(&f), "three");
    fake_close(&f);
}

static void
relaxed_forgets_its_numbers_with_the_connection(void **state)
{
    (void)state;
    open_req(false, true, 1);
    fake_send(&f, "1");
    fake_send(&f, "2");
    fake_lose(&f, 0); /* both wait in the queue, and go out on the next one */
    fake_return(&f, 0, "");
    fake_offer(&f, 0, joined(number_of(2), "||two", ""));
    assert_string_equal(fake_recv(&f), "two");
    fake_send(&f, "3");
    fake_drain(&f, 0, 3);
    fake_lose(&f, 0);
    fake_return(&f, 0, "");
    fake_send(&f, "4");
    assert_string_equal(fake_out(&f, 0), joined(joined("|1;", number_of(2), "||2;"),
                                                joined(number_of(3), "||3;", "|4;"), ""));
    fake_offer(&f, 0, "|four");
    assert_string_equal(fake_recv(&f), "four");
    fake_close(&f);
}

static void
relaxed_drops_an_answer_that_is_there_or_half_read(void **state)
{
    sni_msg msg;

    (void)state;
    for (int seen = 0; seen < 3; seen++) {
        open_req(false, true, 1);
        fake_send(&f, "1");
        fake_offer(&f, 0, "|one|more");
        sennit_msg_init(sni_msg_public(&msg));
        if (seen == 1)
            assert_true(sni_pattern_ready(&f.pattern) & SENNIT_READABLE);
        if (seen == 2)
            assert_int_equal(sni_pattern_recv(&f.pattern, &msg), SENNIT_OK);
        sennit_msg_fini(sni_msg_public(&msg));
        fake_send(&f, "2");
        assert_int_equal(f.stats.dropped_filtered_msgs, 1);
        assert_string_equal(fake_recv(&f), "EAGAIN");
        fake_offer(&f, 0, joined(number_of(2), "||two", ""));
        assert_string_equal(fake_recv(&f), "two");
        fake_close(&f);
    }
}

/* Nothing of it is anywhere yet, so it may go to another. */
static void
a_request_that_found_no_memory_is_not_bound_to_its_peer(void **state)
{
    (void)state;
    open_req(true, false, 2);
    f.pushes_failing = 1;
    assert_int_equal(fake_send_frame(&f, "1", false), SENNIT_ENOMEM);
    fake_leave(&f, 0);
    fake_send(&f, "1");
    assert_int_equal(strlen(fake_out(&f, 1)), strlen("nnnn||1;"));
    assert_int_equal(f.stats.dropped_disconnect_msgs, 0);
    fake_close(&f);
}

static void
a_strict_req_is_told_that_it_is_not_its_turn(void **state)
{
    (void)state;
    open_req(true, false, 1);
    fake_send(&f, "1");
    assert_int_equal(fake_send_frame(&f, "2", false), SENNIT_ESTATE);
    fake_close(&f);
}

/* D08 d: the numbers come back from any REP, which answers with the whole envelope. */
static void
rep_answers_a_correlated_request_with_its_number(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_REP, false);
    fake_join(&f, 0, "");
    fake_offer(&f, 0, "abcd||ask");
    assert_string_equal(fake_recv(&f), "ask");
    fake_send(&f, "yes");
    assert_string_equal(fake_out(&f, 0), "abcd||yes;");
    fake_close(&f);
}

static void
a_pull_that_failed_within_an_envelope_goes_on_there(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 7; k++) {
        const char *got;

        open_req(true, false, 1);
        fake_send(&f, "1");
        fake_offer(&f, 0, joined(number_of(1), "|x|y;", number_of(1)));
        f.peers[0].in[f.peers[0].in_count - 1].more = true;
        f.peers[0].peer.unread--;
        fake_offer(&f, 0, "|one");
        f.pulls_before = k;
        f.pulls_failing = 1;
        while (strcmp(got = fake_recv(&f), "ENOMEM") == 0)
            continue;
        assert_string_equal(got, "one");
        assert_int_equal(f.pulls_failing, k == 6);
        fake_close(&f);
    }
}

static void
a_reply_whose_peer_goes_within_its_envelope_is_forgotten(void **state)
{
    (void)state;
    open_req(true, false, 2);
    fake_send(&f, "1");
    fake_offer(&f, 0, joined(number_of(1), "||one", ""));
    f.pulls_before = 1;
    f.pulls_failing = 1;
    assert_string_equal(fake_recv(&f), "ENOMEM");
    fake_leave(&f, 0);
    assert_string_equal(fake_recv(&f), "ECONNRESET");
    fake_send(&f, "2");
    fake_offer(&f, 1, joined(number_of(2), "||two", ""));
    assert_string_equal(fake_recv(&f), "two");
    fake_close(&f);
}

static void
two_relaxed_requests(void)
{
    fake_open(&f, SENNIT_REQ, false);
    f.opts.req_relaxed = true;
    fake_join(&f, 0, "");
    fake_send(&f, "1");
    fake_send(&f, "2");
    assert_int_equal(strlen(fake_out(&f, 0)), strlen("|1;") + strlen("||2;") + 12);
    fake_close(&f);
}

static void
requests_survive_every_failed_allocation(void **state)
{
    (void)state;
    fake_every_failure(&f, two_relaxed_requests);
}

/* ---- REP --------------------------------------------------------------- */

static void
rep_answers_with_the_envelope_of_the_request(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_REP, false);
    fake_join(&f, 0, "");
    fake_join(&f, 1, "");
    fake_offer(&f, 1, "hop1|hop2||ask|more");
    assert_string_equal(fake_recv(&f), "ask|more");
    fake_send(&f, "answer|");
    assert_string_equal(fake_out(&f, 1), "hop1|hop2||answer|;");
    assert_string_equal(fake_out(&f, 0), "");
    fake_close(&f);
}

static void
rep_takes_an_empty_body(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_REP, false);
    fake_join(&f, 0, "");
    fake_offer(&f, 0, "|");
    assert_string_equal(fake_recv(&f), "");
    fake_send(&f, "");
    assert_string_equal(fake_out(&f, 0), "|;");
    fake_close(&f);
}

static void
rep_alternates_strictly_between_receiving_and_sending(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_REP, false);
    fake_join(&f, 0, "");
    assert_int_equal(fake_send_frame(&f, "x", false), SENNIT_ESTATE);
    assert_int_equal(sni_pattern_ready(&f.pattern), 0);
    fake_offer(&f, 0, "|1;|2");
    assert_int_equal(sni_pattern_ready(&f.pattern), SENNIT_READABLE);
    assert_string_equal(fake_recv(&f), "1");
    assert_string_equal(fake_recv(&f), "ESTATE");
    assert_int_equal(sni_pattern_ready(&f.pattern), SENNIT_WRITABLE);
    fake_send(&f, "one");
    assert_string_equal(fake_recv(&f), "2");
    fake_send(&f, "two");
    assert_string_equal(fake_out(&f, 0), "|one;|two;");
    fake_close(&f);
}

static const shape_row bad_requests[] = {
    { "REP drops a request without an empty frame", "body" },
    { "REP drops a request of frames none of which is empty", "hop|body" },
    { "REP drops a request that is only the empty frame", "" },
    { "REP drops a request that ends with the empty frame", "hop|" },
};

static void
rep_drops_and_counts(void **state)
{
    const shape_row *row = *state;

    fake_open(&f, SENNIT_REP, false);
    fake_join(&f, 0, "");
    fake_offer(&f, 0, row->message);
    assert_string_equal(fake_recv(&f), "EAGAIN");
    assert_int_equal(f.stats.dropped_malformed_msgs, 1);
    fake_offer(&f, 0, "|good");
    assert_string_equal(fake_recv(&f), "good");
    fake_send(&f, "yes");
    assert_string_equal(fake_out(&f, 0), "|yes;");
    fake_close(&f);
}

static void
rep_whose_asker_has_gone_answers_into_the_void_and_goes_on(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_REP, false);
    fake_join(&f, 0, "");
    fake_join(&f, 1, "");
    fake_offer(&f, 0, "|ask");
    assert_string_equal(fake_recv(&f), "ask");
    fake_leave(&f, 0);
    fake_send(&f, "a|b|c");
    assert_int_equal(f.stats.dropped_no_peer_msgs, 1);
    fake_offer(&f, 1, "|other");
    assert_string_equal(fake_recv(&f), "other");
    fake_send(&f, "yes");
    assert_string_equal(fake_out(&f, 1), "|yes;");
    fake_close(&f);
}

static void
rep_whose_asker_came_back_does_not_answer_the_new_connection(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_REP, false);
    fake_join(&f, 0, "");
    fake_offer(&f, 0, "|ask");
    assert_string_equal(fake_recv(&f), "ask");
    sni_pattern_disconnected(&f.pattern, &f.peers[0].peer, true);
    assert_int_equal(
        sni_pattern_connected(&f.pattern, &f.peers[0].peer, sni_bytes(NULL, 0)),
        SENNIT_OK);
    fake_send(&f, "answer");
    assert_string_equal(fake_out(&f, 0), "");
    assert_int_equal(f.stats.dropped_no_peer_msgs, 1);
    fake_close(&f);
}

/* What is ready to be received was read, though nobody has received it. */
static void
rep_does_not_answer_the_next_connection_what_it_only_looked_at(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_REP, false);
    fake_join(&f, 0, "");
    fake_offer(&f, 0, "|ask");
    assert_true(sni_pattern_ready(&f.pattern) & SENNIT_READABLE);
    fake_lose(&f, 0);
    fake_return(&f, 0, "");
    assert_string_equal(fake_recv(&f), "ask");
    fake_send(&f, "answer");
    assert_string_equal(fake_out(&f, 0), "");
    assert_int_equal(f.stats.dropped_no_peer_msgs, 1);
    fake_offer(&f, 0, "|again");
    assert_string_equal(fake_recv(&f), "again");
    fake_send(&f, "yes");
    assert_string_equal(fake_out(&f, 0), "|yes;");
    fake_close(&f);
}

static void
rep_whose_asker_does_not_read_drops_the_answer_and_counts_it(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_REP, false);
    f.peers[0].hwm = 1;
    fake_join(&f, 0, "");
    for (int i = 0; i < 2; i++) {
        fake_offer(&f, 0, "|ask");
        assert_string_equal(fake_recv(&f), "ask");
        fake_send(&f, "answer");
    }
    assert_string_equal(fake_out(&f, 0), "|answer;");
    assert_int_equal(f.stats.dropped_hwm_msgs, 1);
    fake_close(&f);
}

/* The asker's connection ends between two frames of the answer. */
static void
rep_whose_asker_goes_while_it_answers_may_receive_again(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_REP, false);
    fake_join(&f, 0, "");
    fake_join(&f, 1, "");
    fake_offer(&f, 0, "|ask");
    assert_string_equal(fake_recv(&f), "ask");
    assert_int_equal(fake_send_frame(&f, "a", true), SENNIT_OK);
    sni_pattern_disconnected(&f.pattern, &f.peers[0].peer, true);
    sni_pattern_retire(&f.peers[0].peer);
    fake_leave(&f, 0);
    assert_int_equal(fake_send_frame(&f, "b", false), SENNIT_OK);
    assert_int_equal(f.stats.dropped_disconnect_msgs, 1);
    fake_offer(&f, 1, "|other");
    assert_string_equal(fake_recv(&f), "other");
    fake_send(&f, "yes");
    assert_string_equal(fake_out(&f, 1), "|yes;");
    fake_close(&f);
}

static void
a_push_that_failed_can_be_repeated_at_every_frame_of_an_answer(void **state)
{
    static const char *const frames[] = { "a", "b" };

    (void)state;
    for (unsigned k = 0; k < 5; k++) {
        fake_open(&f, SENNIT_REP, false);
        fake_join(&f, 0, "");
        fake_offer(&f, 0, "hop|hop||ask");
        assert_string_equal(fake_recv(&f), "ask");
        f.pushes_before = k;
        f.pushes_failing = 1;
        for (unsigned i = 0; i < 2; i++)
            if (fake_send_frame(&f, frames[i], i == 0) != SENNIT_OK)
                assert_int_equal(fake_send_frame(&f, frames[i], i == 0), SENNIT_OK);
        assert_int_equal(f.pushes_failing, 0);
        assert_string_equal(fake_out(&f, 0), "hop|hop||a|b;");
        fake_close(&f);
    }
}

/* A message of any policy that failed for want of memory at the k-th pull: what
 * comes out afterwards is whole messages, the envelope is not taken for a body. */
static void
a_pull_that_failed_leaves_envelope_and_body_apart(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 8; k++) {
        const char *got;
        int errors = 0;

        fake_open(&f, SENNIT_REP, false);
        fake_join(&f, 0, "");
        fake_offer(&f, 0, "hop|hop||ask;no envelope|tail;hop||two");
        f.pulls_before = k;
        f.pulls_failing = 1;
        while (strcmp(got = fake_recv(&f), "ENOMEM") == 0)
            errors++;
        assert_string_equal(got, "ask");
        fake_send(&f, "one");
        while (strcmp(got = fake_recv(&f), "ENOMEM") == 0)
            errors++;
        assert_string_equal(got, "two");
        fake_send(&f, "2");
        assert_string_equal(fake_out(&f, 0), "hop|hop||one;hop||2;");
        assert_int_equal(errors, 1);
        assert_int_equal(f.stats.dropped_malformed_msgs, 1);
        fake_close(&f);
    }
}

static void
no_memory_to_skip_a_dropped_reply_does_not_make_its_tail_a_reply(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 4; k++) {
        const char *got;

        fake_open(&f, SENNIT_REQ, false);
        fake_join(&f, 0, "");
        fake_send(&f, "ask");
        fake_offer(&f, 0, "bad|tail|tail;|good");
        f.pulls_before = k;
        f.pulls_failing = 1;
        while (strcmp(got = fake_recv(&f), "ENOMEM") == 0)
            continue;
        assert_string_equal(got, "good");
        fake_close(&f);
    }
}

/* However many hops it names, and wherever memory runs out in between. */
static void
a_request_comes_a_long_way(void)
{
    fake_open(&f, SENNIT_REP, false);
    fake_join(&f, 0, "");
    fake_offer(&f, 0, "1|2|3|4|5|6|7|8|9|10||ask|it;hop||two");
    assert_string_equal(fake_recv(&f), "ask|it");
    fake_send(&f, "yes");
    assert_string_equal(fake_recv(&f), "two");
    fake_send(&f, "too");
    assert_string_equal(fake_out(&f, 0), "1|2|3|4|5|6|7|8|9|10||yes;hop||too;");
    assert_int_equal(f.stats.dropped_memory_msgs, 0);
    fake_close(&f);
}

/* Its REQ would wait for ever for the answer to a request that was dropped. */
static void
no_memory_for_an_envelope_leaves_the_request_to_be_received(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_REP, false);
    fake_join(&f, 0, "");
    test_alloc_fail_at(&f.alloc, 1);
    assert_string_equal(fake_recv(&f), "EAGAIN"); /* nothing there needs no memory */
    fake_offer(&f, 0, "hop||ask|tail");
    assert_string_equal(fake_recv(&f), "ENOMEM");
    assert_int_equal(f.stats.dropped_memory_msgs, 0);
    assert_string_equal(fake_recv(&f), "ask|tail");
    fake_send(&f, "yes");
    assert_string_equal(fake_out(&f, 0), "hop||yes;");
    fake_close(&f);
    fake_every_failure(&f, a_request_comes_a_long_way);
}

#define REPLIES  (sizeof bad_replies / sizeof bad_replies[0])
#define REQUESTS (sizeof bad_requests / sizeof bad_requests[0])

static struct CMUnitTest
row_test(const shape_row *row, CMUnitTestFunction check)
{
    shape_row *state;

    /* cmocka's state is not const; the rows are only read. */
    memcpy(&state, &row, sizeof state);
    return (struct CMUnitTest){ row->name, check, NULL, NULL, state };
}

int
main(void)
{
    struct CMUnitTest shapes[REPLIES + REQUESTS];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(req_sends_behind_an_empty_frame_and_takes_the_reply_without_it),
        cmocka_unit_test(req_alternates_strictly_between_sending_and_receiving),
        cmocka_unit_test(req_may_not_send_in_the_middle_of_a_reply),
        cmocka_unit_test(req_deals_its_requests_to_the_peers_in_turn),
        cmocka_unit_test(req_takes_a_reply_only_from_whom_it_asked),
        cmocka_unit_test(req_forgets_replies_that_came_before_the_request),
        cmocka_unit_test(req_is_told_once_of_a_lost_request_and_may_send_again),
        cmocka_unit_test(req_whose_request_still_waits_in_the_queue_has_lost_nothing),
        cmocka_unit_test(req_takes_a_reply_that_came_before_the_loss),
        cmocka_unit_test(req_is_told_when_its_peer_is_gone_for_good),
        cmocka_unit_test(
            req_whose_peer_goes_while_it_asks_is_told_and_asks_well_formed_again),
        cmocka_unit_test(req_whose_connection_breaks_while_it_asks_is_told),
        cmocka_unit_test(a_push_that_failed_can_be_repeated_at_every_frame_of_a_request),
        cmocka_unit_test(correlated_requests_carry_numbers_that_count_up),
        cmocka_unit_test(a_correlated_reply_must_have_the_number_of_the_request),
        cmocka_unit_test(relaxed_may_send_again_at_once),
        cmocka_unit_test(
            relaxed_and_correlated_takes_the_answer_to_the_newest_request_only),
        cmocka_unit_test(relaxed_alone_does_not_take_an_old_answer_either),
        cmocka_unit_test(relaxed_forgets_its_numbers_with_the_connection),
        cmocka_unit_test(relaxed_drops_an_answer_that_is_there_or_half_read),
        cmocka_unit_test(a_request_that_found_no_memory_is_not_bound_to_its_peer),
        cmocka_unit_test(a_strict_req_is_told_that_it_is_not_its_turn),
        cmocka_unit_test(rep_answers_a_correlated_request_with_its_number),
        cmocka_unit_test(a_pull_that_failed_within_an_envelope_goes_on_there),
        cmocka_unit_test(a_reply_whose_peer_goes_within_its_envelope_is_forgotten),
        cmocka_unit_test(requests_survive_every_failed_allocation),
        cmocka_unit_test(rep_answers_with_the_envelope_of_the_request),
        cmocka_unit_test(rep_takes_an_empty_body),
        cmocka_unit_test(rep_alternates_strictly_between_receiving_and_sending),
        cmocka_unit_test(rep_whose_asker_has_gone_answers_into_the_void_and_goes_on),
        cmocka_unit_test(rep_whose_asker_came_back_does_not_answer_the_new_connection),
        cmocka_unit_test(rep_does_not_answer_the_next_connection_what_it_only_looked_at),
        cmocka_unit_test(rep_whose_asker_does_not_read_drops_the_answer_and_counts_it),
        cmocka_unit_test(rep_whose_asker_goes_while_it_answers_may_receive_again),
        cmocka_unit_test(a_push_that_failed_can_be_repeated_at_every_frame_of_an_answer),
        cmocka_unit_test(a_pull_that_failed_leaves_envelope_and_body_apart),
        cmocka_unit_test(
            no_memory_to_skip_a_dropped_reply_does_not_make_its_tail_a_reply),
        cmocka_unit_test(no_memory_for_an_envelope_leaves_the_request_to_be_received),
    };
    int failures;

    for (size_t i = 0; i < REPLIES; i++)
        shapes[i] = row_test(&bad_replies[i], req_drops_and_counts);
    for (size_t i = 0; i < REQUESTS; i++)
        shapes[REPLIES + i] = row_test(&bad_requests[i], rep_drops_and_counts);
    failures = cmocka_run_group_tests_name("envelopes", shapes, NULL, NULL);
    failures += cmocka_run_group_tests(tests, NULL, NULL);
    return failures == 0 ? 0 : 1;
}
