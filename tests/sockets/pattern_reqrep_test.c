/* SPDX-License-Identifier: MIT */
/* REQ and REP over fake peers: turns, envelopes, and what becomes of a request or a
 * reply whose peer goes. */
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

/* Growing the envelope may fail too: the request is dropped and counted. */
static void
no_memory_for_an_envelope_drops_the_request_and_counts_it(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_REP, false);
    fake_join(&f, 0, "");
    fake_offer(&f, 0, "hop||lost|tail;hop||ask");
    test_alloc_fail_at(&f.alloc, 1);
    assert_string_equal(fake_recv(&f), "ENOMEM");
    assert_int_equal(f.stats.dropped_memory_msgs, 1);
    assert_string_equal(fake_recv(&f), "ask");
    fake_send(&f, "yes");
    assert_string_equal(fake_out(&f, 0), "hop||yes;");
    fake_close(&f);
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
        cmocka_unit_test(rep_answers_with_the_envelope_of_the_request),
        cmocka_unit_test(rep_takes_an_empty_body),
        cmocka_unit_test(rep_alternates_strictly_between_receiving_and_sending),
        cmocka_unit_test(rep_whose_asker_has_gone_answers_into_the_void_and_goes_on),
        cmocka_unit_test(rep_whose_asker_came_back_does_not_answer_the_new_connection),
        cmocka_unit_test(rep_whose_asker_does_not_read_drops_the_answer_and_counts_it),
        cmocka_unit_test(rep_whose_asker_goes_while_it_answers_may_receive_again),
        cmocka_unit_test(a_push_that_failed_can_be_repeated_at_every_frame_of_an_answer),
        cmocka_unit_test(a_pull_that_failed_leaves_envelope_and_body_apart),
        cmocka_unit_test(
            no_memory_to_skip_a_dropped_reply_does_not_make_its_tail_a_reply),
        cmocka_unit_test(no_memory_for_an_envelope_drops_the_request_and_counts_it),
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
