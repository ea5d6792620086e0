/* SPDX-License-Identifier: MIT */
/* Names and connections over fake peers: ROUTER's options, and what a DEALER hears of
 * the connections it lost. */
#include "fake.h"

static fake f;

static void
assign(int i, const char *identity)
{
    assert_int_equal(
        sennit_msg_init_copy(&f.peers[i].peer.identity, identity, strlen(identity)),
        SENNIT_OK);
    f.peers[i].peer.assigned = true;
}

static sennit_err
return_as(int i, const char *identity)
{
    return sni_pattern_connected(&f.pattern, &f.peers[i].peer,
                                 sni_bytes(identity, strlen(identity)));
}

/* ---- hand-over --------------------------------------------------------- */

static void
with_handover_the_newcomer_gets_the_name_and_the_old_connection_ends(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_ROUTER, false);
    f.opts.router_handover = true;
    fake_join(&f, 0, "same");
    fake_offer(&f, 0, "old|1;old 2");
    fake_join(&f, 1, "same");
    assert_string_equal(f.peers[0].ended, "a newer connection took over its identity");
    assert_int_equal(f.peers[0].ended_err, SENNIT_EEXIST);
    assert_null(f.peers[1].ended);
    fake_offer(&f, 1, "new");
    fake_send(&f, "same|x");
    assert_string_equal(fake_out(&f, 0), "");
    assert_string_equal(fake_out(&f, 1), "x;");
    /* What the old one had sent is still read. */
    fake_leave(&f, 2);
    assert_string_equal(fake_recv_all(&f), "same|old|1;same|new;same|old 2;");
    fake_leave(&f, 0);
    fake_send(&f, "same|y");
    assert_string_equal(fake_out(&f, 1), "x;y;");
    fake_close(&f);
}

/* Who keeps a table of the living by identity must not drop the newcomer. */
static void
the_end_of_the_old_connection_is_told_before_the_newcomer(void **state)
{
    (void)state;
    for (int unread = 0; unread <= 1; unread++) {
        fake_open(&f, SENNIT_ROUTER, false);
        f.opts.router_handover = true;
        f.opts.router_notify = SENNIT_NOTIFY_CONNECT | SENNIT_NOTIFY_DISCONNECT;
        f.opts.disconnected = SNI_BYTES_OF("gone");
        f.peers[0].peer.accepted = true;
        fake_join(&f, 0, "same");
        assert_string_equal(fake_recv_all(&f), "same|;");
        if (unread)
            fake_offer(&f, 0, "old");
        fake_join(&f, 1, "same");
        fake_offer(&f, 1, "new");
        fake_lose(&f, 0);
        assert_string_equal(fake_recv_all(&f),
                            unread ? "same|;same|gone;same|;same|old;same|new;"
                                   : "same|;same|gone;same|;same|new;");
        fake_leave(&f, 0);
        assert_string_equal(fake_recv_all(&f), "");
        fake_close(&f);
    }
}

/* RFC 23 keeps a leading zero for made-up names; libzmq's peers choose such names too. */
static void
a_peer_may_choose_a_name_that_begins_with_zero_and_take_no_made_up_one(void **state)
{
    const sennit_bytes chosen = sni_bytes("\0\0\0\0\5", 5);
    sennit_bytes made_up;

    (void)state;
    fake_open(&f, SENNIT_ROUTER, true);
    f.opts.router_handover = true;
    f.pattern.next_identity = 5; /* what is made up next */
    assert_int_equal(sni_pattern_attach(&f.pattern, &f.peers[0].peer), SENNIT_OK);
    assert_int_equal(sni_pattern_connected(&f.pattern, &f.peers[0].peer, chosen),
                     SENNIT_OK);
    fake_join(&f, 1, "");
    made_up = sennit_msg_bytes(&f.peers[1].peer.identity);
    assert_memory_equal(made_up.data, "\0\0\0\0\6", 5);
    assert_int_equal(sni_pattern_attach(&f.pattern, &f.peers[2].peer), SENNIT_OK);
    assert_int_equal(sni_pattern_connected(&f.pattern, &f.peers[2].peer, made_up),
                     SENNIT_EEXIST);
    assert_null(f.peers[1].ended);
    /* A chosen one is handed over as any other. */
    assert_int_equal(sni_pattern_connected(&f.pattern, &f.peers[2].peer, chosen),
                     SENNIT_OK);
    assert_non_null(f.peers[0].ended);
    fake_close(&f);
}

static void
a_name_is_taken_in_the_middle_of_a_message_too(void **state)
{
    sni_msg msg;

    (void)state;
    fake_open(&f, SENNIT_ROUTER, false);
    f.opts.router_handover = true;
    fake_join(&f, 0, "same");
    fake_offer(&f, 0, "a|b|c");
    sennit_msg_init(sni_msg_public(&msg));
    assert_int_equal(sni_pattern_recv(&f.pattern, &msg), SENNIT_OK);
    sennit_msg_fini(sni_msg_public(&msg));
    assert_int_equal(fake_send_frame(&f, "same", true), SENNIT_OK);
    assert_int_equal(fake_send_frame(&f, "1", true), SENNIT_OK);
    fake_join(&f, 1, "same");
    assert_non_null(f.peers[0].ended);
    /* The message that was begun does not go on at another peer. */
    assert_string_equal(fake_recv(&f), "a|b|c");
    fake_lose(&f, 0);
    sni_pattern_retire(&f.peers[0].peer);
    assert_int_equal(fake_send_frame(&f, "2", false), SENNIT_OK);
    assert_string_equal(fake_out(&f, 1), "");
    assert_int_equal(f.stats.dropped_disconnect_msgs, 1);
    fake_send(&f, "same|whole");
    assert_string_equal(fake_out(&f, 1), "whole;");
    fake_close(&f);
}

static void
without_memory_for_the_newcomer_the_old_one_keeps_its_name(void **state)
{
    uint64_t k = 0;
    bool failed;

    (void)state;
    do {
        sni_peer *second = &f.peers[1].peer;
        sennit_err err;

        fake_open(&f, SENNIT_ROUTER, false);
        f.opts.router_handover = true;
        fake_join(&f, 0, "same");
        assert_int_equal(sni_pattern_attach(&f.pattern, second), SENNIT_OK);
        test_alloc_fail_at(&f.alloc, ++k);
        err = return_as(1, "same");
        failed = f.alloc.failed > 0;
        assert_int_equal(err, failed ? SENNIT_ENOMEM : SENNIT_OK);
        assert_int_equal(f.peers[0].ended != NULL, !failed);
        fake_send(&f, "same|x");
        assert_string_equal(fake_out(&f, failed ? 0 : 1), "x;");
        fake_close(&f);
    } while (failed);
    assert_true(k > 1);
}

/* ---- full and gone ----------------------------------------------------- */

/* D05: who waits for room hears it when there will be none. */
static void
a_full_peer_that_goes_is_full_first_and_then_gone(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_ROUTER, true);
    f.peers[0].hwm = 1;
    fake_join(&f, 0, "x");
    fake_send(&f, "x|1");
    assert_int_equal(fake_send_frame(&f, "x", true), SENNIT_EAGAIN);
    /* It takes no more, but has not been taken apart yet. */
    sni_pattern_retire(&f.peers[0].peer);
    assert_int_equal(fake_send_frame(&f, "x", true), SENNIT_EHOSTUNREACH);
    fake_leave(&f, 0);
    assert_int_equal(fake_send_frame(&f, "x", true), SENNIT_EHOSTUNREACH);
    fake_close(&f);
}

/* ---- assigned names ---------------------------------------------------- */

static void
an_assigned_name_counts_whatever_the_peer_says_itself(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_ROUTER, true);
    assign(0, "ours");
    fake_join(&f, 0, "theirs");
    fake_send(&f, "ours|x");
    assert_string_equal(fake_out(&f, 0), "x;");
    assert_int_equal(fake_send_frame(&f, "theirs", true), SENNIT_EHOSTUNREACH);
    fake_offer(&f, 0, "y");
    assert_string_equal(fake_recv(&f), "ours|y");
    fake_close(&f);
}

static void
a_peer_that_says_its_assigned_name_itself_succeeds_nobody(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_ROUTER, true);
    f.opts.router_notify = SENNIT_NOTIFY_CONNECT | SENNIT_NOTIFY_DISCONNECT;
    assign(0, "ours");
    fake_join(&f, 0, "ours");
    assert_string_equal(fake_recv_all(&f), "ours|;");
    fake_lose(&f, 0);
    assert_string_equal(fake_recv_all(&f), "ours|;");
    fake_close(&f);
}

/* Messages may be queued for it from the moment of sennit_sock_connect_as(). */
static void
an_assigned_name_can_be_addressed_before_and_between_connections(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_ROUTER, true);
    assign(0, "ours");
    assert_int_equal(sni_pattern_attach(&f.pattern, &f.peers[0].peer), SENNIT_OK);
    fake_send(&f, "ours|1");
    assert_int_equal(return_as(0, ""), SENNIT_OK);
    fake_send(&f, "ours|2");
    fake_lose(&f, 0);
    fake_send(&f, "ours|3");
    assert_string_equal(fake_out(&f, 0), "1;2;3;");
    fake_leave(&f, 0);
    assert_int_equal(fake_send_frame(&f, "ours", true), SENNIT_EHOSTUNREACH);
    fake_close(&f);
}

static void
an_assigned_name_that_is_taken_is_refused_and_never_taken_away(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_ROUTER, false);
    f.opts.router_handover = true;
    fake_join(&f, 0, "x");
    assign(1, "x");
    assert_int_equal(sni_pattern_attach(&f.pattern, &f.peers[1].peer), SENNIT_EEXIST);
    sennit_msg_fini(&f.peers[1].peer.identity);
    f.peers[1].peer.assigned = false;
    assign(2, "y");
    fake_join(&f, 2, "");
    assert_int_equal(sni_pattern_attach(&f.pattern, &f.peers[3].peer), SENNIT_OK);
    assert_int_equal(return_as(3, "y"), SENNIT_EEXIST);
    assert_null(f.peers[2].ended);
    fake_close(&f);
}

/* ---- unread messages --------------------------------------------------- */

/* A ROUTER that connects: the same pipe, another peer behind it. */
static void
messages_keep_the_name_of_the_connection_they_came_over(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_ROUTER, true);
    fake_join(&f, 0, "first");
    fake_offer(&f, 0, "1;2|2");
    fake_lose(&f, 0);
    fake_return(&f, 0, "second");
    fake_lose(&f, 0); /* nothing came over this one */
    fake_return(&f, 0, "third");
    fake_offer(&f, 0, "3");
    fake_lose(&f, 0);
    fake_return(&f, 0, "fourth");
    fake_offer(&f, 0, "4");
    assert_string_equal(fake_recv_all(&f), "first|1;first|2|2;third|3;fourth|4;");
    fake_send(&f, "fourth|x");
    assert_string_equal(fake_out(&f, 0), "x;");
    assert_int_equal(fake_send_frame(&f, "first", true), SENNIT_EHOSTUNREACH);
    fake_close(&f);
}

static void
a_message_that_was_half_read_ends_under_its_name(void **state)
{
    sni_msg msg;

    (void)state;
    fake_open(&f, SENNIT_ROUTER, false);
    fake_join(&f, 0, "first");
    fake_offer(&f, 0, "a|b;c");
    sennit_msg_init(sni_msg_public(&msg));
    assert_int_equal(sni_pattern_recv(&f.pattern, &msg), SENNIT_OK);
    sennit_msg_fini(sni_msg_public(&msg));
    fake_lose(&f, 0);
    fake_return(&f, 0, "second");
    fake_offer(&f, 0, "d");
    assert_string_equal(fake_recv_all(&f), "a|b;first|c;second|d;");
    fake_close(&f);
}

/* ---- notices ----------------------------------------------------------- */

static void
router_is_notified_of_connections_and_their_ends(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_ROUTER, false);
    f.opts.router_notify = SENNIT_NOTIFY_CONNECT | SENNIT_NOTIFY_DISCONNECT;
    fake_join(&f, 0, "a");
    fake_join(&f, 1, "b");
    assert_int_equal(f.noticed, 2);
    assert_int_equal(sni_pattern_ready(&f.pattern), SENNIT_READABLE | SENNIT_WRITABLE);
    fake_offer(&f, 0, "x");
    assert_string_equal(fake_recv_all(&f), "a|;b|;a|x;");
    fake_leave(&f, 1);
    assert_string_equal(fake_recv_all(&f), "b|;");
    fake_close(&f);
}

static void
only_what_is_asked_for_is_notified(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_ROUTER, false);
    f.opts.router_notify = SENNIT_NOTIFY_DISCONNECT;
    fake_join(&f, 0, "a");
    assert_string_equal(fake_recv(&f), "EAGAIN");
    fake_lose(&f, 0);
    assert_string_equal(fake_recv(&f), "a|");
    f.opts.router_notify = SENNIT_NOTIFY_CONNECT;
    fake_return(&f, 0, "a");
    fake_lose(&f, 0);
    assert_string_equal(fake_recv_all(&f), "a|;");
    fake_close(&f);
}

/* In order with its messages: the end is the last that is heard of it. */
static void
the_end_of_a_connection_is_received_behind_its_messages(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_ROUTER, false);
    f.opts.router_notify = SENNIT_NOTIFY_CONNECT | SENNIT_NOTIFY_DISCONNECT;
    fake_join(&f, 0, "a");
    fake_offer(&f, 0, "1;2");
    fake_lose(&f, 0);
    fake_return(&f, 0, "b");
    fake_offer(&f, 0, "3");
    fake_lose(&f, 0);
    assert_string_equal(fake_recv_all(&f), "a|;b|;a|1;a|2;a|;b|3;b|;");
    fake_close(&f);
}

static void
router_receives_the_disconnected_message_of_accepted_peers(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_ROUTER, false);
    f.opts.disconnected = SNI_BYTES_OF("bye");
    f.peers[0].peer.accepted = true;
    fake_join(&f, 0, "a");
    fake_join(&f, 1, "connected to");
    fake_offer(&f, 0, "x");
    fake_lose(&f, 0);
    fake_lose(&f, 1);
    assert_string_equal(fake_recv_all(&f), "a|x;a|bye;");
    fake_close(&f);
}

static void
the_notice_comes_before_the_message_and_both_as_they_are_set_then(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_ROUTER, false);
    f.opts.disconnected = SNI_BYTES_OF("bye");
    f.opts.router_notify = SENNIT_NOTIFY_DISCONNECT;
    for (int i = 0; i < 2; i++) {
        f.peers[i].peer.accepted = true;
        fake_join(&f, i, i == 0 ? "a" : "b");
        fake_lose(&f, i);
    }
    assert_string_equal(fake_recv(&f), "a|");
    assert_string_equal(fake_recv(&f), "a|bye");
    f.opts.disconnected = sni_bytes(NULL, 0);
    assert_string_equal(fake_recv_all(&f), "b|;");
    fake_close(&f);
}

static void
a_refused_peer_is_not_notified(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_ROUTER, false);
    f.opts.router_notify = SENNIT_NOTIFY_CONNECT | SENNIT_NOTIFY_DISCONNECT;
    fake_join(&f, 0, "same");
    assert_int_equal(sni_pattern_attach(&f.pattern, &f.peers[1].peer), SENNIT_OK);
    assert_int_equal(return_as(1, "same"), SENNIT_EEXIST);
    fake_leave(&f, 1);
    assert_string_equal(fake_recv_all(&f), "same|;");
    fake_close(&f);
}

/* ---- hello and probe --------------------------------------------------- */

typedef struct greeting_row {
    const char *name;
    sennit_sock_type type;
    const char *hello;
    bool probe;
    const char *greeted;
} greeting_row;

static const greeting_row greetings[] = {
    { "ROUTER says hello", SENNIT_ROUTER, "hi", false, "hi;" },
    { "ROUTER probes with an empty message", SENNIT_ROUTER, "", true, ";" },
    { "ROUTER says hello before it probes", SENNIT_ROUTER, "hi", true, "hi;;" },
    { "DEALER says hello", SENNIT_DEALER, "hi", false, "hi;" },
    { "DEALER probes with an empty message", SENNIT_DEALER, "", true, ";" },
    { "REQ probes without an envelope", SENNIT_REQ, "", true, ";" },
    { "nobody greets unasked", SENNIT_ROUTER, "", false, "" },
};

static void
greets_on_every_connection(void **state)
{
    const greeting_row *row = *state;

    fake_open(&f, row->type, false);
    f.opts.hello = sni_bytes(row->hello, strlen(row->hello));
    f.opts.probe_router = row->probe;
    fake_join(&f, 0, "a");
    assert_string_equal(f.peers[0].greeted, row->greeted);
    fake_lose(&f, 0);
    fake_return(&f, 0, "a");
    assert_string_equal(f.peers[0].greeted, row->greeted);
    assert_string_equal(fake_out(&f, 0), "");
    fake_close(&f);
}

static void
a_router_without_memory_to_greet_does_not_know_the_peer(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_ROUTER, true);
    f.opts.hello = SNI_BYTES_OF("hi");
    f.opts.router_notify = SENNIT_NOTIFY_CONNECT | SENNIT_NOTIFY_DISCONNECT;
    assert_int_equal(sni_pattern_attach(&f.pattern, &f.peers[0].peer), SENNIT_OK);
    f.pushes_failing = 1;
    assert_int_equal(return_as(0, "a"), SENNIT_ENOMEM);
    assert_int_equal(fake_send_frame(&f, "a", true), SENNIT_EHOSTUNREACH);
    assert_int_equal(return_as(0, "a"), SENNIT_OK);
    assert_string_equal(fake_recv_all(&f), "a|;");
    fake_close(&f);
}

/* ---- DEALER ------------------------------------------------------------ */

static void
dealer_hears_of_each_connect_that_lost_its_peer(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_DEALER, false);
    f.opts.hiccup = SNI_BYTES_OF("hic");
    f.peers[1].peer.accepted = true;
    fake_join(&f, 0, "");
    fake_join(&f, 1, "");
    fake_offer(&f, 0, "1;2|2");
    fake_lose(&f, 0);
    fake_lose(&f, 1);
    fake_return(&f, 0, "");
    fake_offer(&f, 0, "3");
    assert_string_equal(fake_recv_all(&f), "1;2|2;hic;3;");
    fake_lose(&f, 0);
    assert_int_equal(sni_pattern_ready(&f.pattern) & SENNIT_READABLE, SENNIT_READABLE);
    assert_string_equal(fake_recv_all(&f), "hic;");
    fake_close(&f);
}

static void
dealer_hears_of_nothing_unasked(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_DEALER, false);
    fake_join(&f, 0, "");
    fake_lose(&f, 0);
    assert_string_equal(fake_recv(&f), "EAGAIN");
    fake_close(&f);
}

/* A pipe that conflates drops unread messages without being asked. */
static void
dealer_hears_of_a_loss_though_its_last_messages_were_conflated(void **state)
{
    (void)state;
    fake_open(&f, SENNIT_DEALER, false);
    f.opts.hiccup = SNI_BYTES_OF("hic");
    fake_join(&f, 0, "");
    fake_offer(&f, 0, "1;2;3");
    fake_lose(&f, 0);
    fake_return(&f, 0, "");
    f.peers[0].in_first += 2;
    f.peers[0].in_count -= 2;
    f.peers[0].peer.unread = 1;
    assert_string_equal(fake_recv_all(&f), "3;hic;");
    fake_close(&f);
}

/* ---- memory ------------------------------------------------------------ */

static void
long_names_come_and_go(void)
{
    char name[81] = { 0 };

    memset(name, 'n', sizeof name - 1);
    fake_open(&f, SENNIT_ROUTER, false);
    f.opts.router_notify = SENNIT_NOTIFY_CONNECT | SENNIT_NOTIFY_DISCONNECT;
    f.opts.disconnected = sni_bytes(name, 70);
    f.opts.router_handover = true;
    f.peers[0].peer.accepted = true;
    fake_join(&f, 0, name);
    fake_offer(&f, 0, "1");
    fake_join(&f, 1, name);
    fake_lose(&f, 0);
    fake_join(&f, 2, "");
    fake_leave(&f, 2);
    assert_int_equal(strlen(fake_recv_all(&f)), 3 * 82 + 83 + 152 + 2 * 15);
    fake_send(&f, "unknown|x");
    fake_close(&f);
}

static void
names_survive_every_failed_allocation(void **state)
{
    (void)state;
    fake_every_failure(&f, long_names_come_and_go);
}

static void
a_dealer_hears_and_greets(void)
{
    char hiccup[70] = { 0 };

    fake_open(&f, SENNIT_DEALER, false);
    f.opts.hiccup = sni_bytes(hiccup, sizeof hiccup);
    f.opts.hello = SNI_BYTES_OF("hi");
    fake_join(&f, 0, "");
    fake_offer(&f, 0, "1");
    fake_lose(&f, 0);
    assert_string_equal(fake_recv(&f), "1");
    assert_int_equal(strlen(fake_recv(&f)), 1 + 69 * 3);
    assert_string_equal(fake_recv(&f), "EAGAIN");
    fake_close(&f);
}

static void
a_dealer_survives_every_failed_allocation(void **state)
{
    (void)state;
    fake_every_failure(&f, a_dealer_hears_and_greets);
}

#define GREETINGS (sizeof greetings / sizeof greetings[0])

int
main(void)
{
    struct CMUnitTest rows[GREETINGS];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            with_handover_the_newcomer_gets_the_name_and_the_old_connection_ends),
        cmocka_unit_test(the_end_of_the_old_connection_is_told_before_the_newcomer),
        cmocka_unit_test(
            a_peer_may_choose_a_name_that_begins_with_zero_and_take_no_made_up_one),
        cmocka_unit_test(a_name_is_taken_in_the_middle_of_a_message_too),
        cmocka_unit_test(without_memory_for_the_newcomer_the_old_one_keeps_its_name),
        cmocka_unit_test(a_full_peer_that_goes_is_full_first_and_then_gone),
        cmocka_unit_test(an_assigned_name_counts_whatever_the_peer_says_itself),
        cmocka_unit_test(a_peer_that_says_its_assigned_name_itself_succeeds_nobody),
        cmocka_unit_test(
            an_assigned_name_can_be_addressed_before_and_between_connections),
        cmocka_unit_test(an_assigned_name_that_is_taken_is_refused_and_never_taken_away),
        cmocka_unit_test(messages_keep_the_name_of_the_connection_they_came_over),
        cmocka_unit_test(a_message_that_was_half_read_ends_under_its_name),
        cmocka_unit_test(router_is_notified_of_connections_and_their_ends),
        cmocka_unit_test(only_what_is_asked_for_is_notified),
        cmocka_unit_test(the_end_of_a_connection_is_received_behind_its_messages),
        cmocka_unit_test(router_receives_the_disconnected_message_of_accepted_peers),
        cmocka_unit_test(
            the_notice_comes_before_the_message_and_both_as_they_are_set_then),
        cmocka_unit_test(a_refused_peer_is_not_notified),
        cmocka_unit_test(a_router_without_memory_to_greet_does_not_know_the_peer),
        cmocka_unit_test(dealer_hears_of_each_connect_that_lost_its_peer),
        cmocka_unit_test(dealer_hears_of_nothing_unasked),
        cmocka_unit_test(dealer_hears_of_a_loss_though_its_last_messages_were_conflated),
        cmocka_unit_test(names_survive_every_failed_allocation),
        cmocka_unit_test(a_dealer_survives_every_failed_allocation),
    };
    int failures;

    for (size_t i = 0; i < GREETINGS; i++) {
        const greeting_row *row = &greetings[i];

        rows[i] = (struct CMUnitTest){ .name = row->name,
                                       .test_func = greets_on_every_connection };
        memcpy(&rows[i].initial_state, &row, sizeof row);
    }
    failures = cmocka_run_group_tests_name("greetings", rows, NULL, NULL);
    failures += cmocka_run_group_tests(tests, NULL, NULL);
    return failures == 0 ? 0 : 1;
}
