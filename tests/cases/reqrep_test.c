/* SPDX-License-Identifier: MIT */
/* Cases D08 and D09: requests that are asked again, and envelopes of every shape. */
#include "net.h"
#include "sennit/proxy.h"

#include <stdio.h>
#include <string.h>

static net n;

static sennit_sock *
req(bool correlate)
{
    sennit_sock_opts opts = net_opts();

    opts.req_relaxed = true;
    opts.req_correlate = correlate;
    return net_sock(&n, SENNIT_REQ, &opts);
}

/* One request at a ROUTER, its frames kept to be answered later. */
typedef struct request {
    sennit_msg frames[8];
    size_t count;
} request;

static void
take(sennit_sock *router, request *r)
{
    bool more = true;

    for (r->count = 0; more; r->count++) {
        assert_true(r->count < 8);
        sennit_msg_init(&r->frames[r->count]);
        assert_int_equal(sennit_sock_recv(router, &r->frames[r->count], 0), SENNIT_OK);
        more = sennit_msg_more(&r->frames[r->count]);
    }
}

static bool
body_is(const request *r, const char *text)
{
    sennit_bytes body = sennit_msg_bytes(&r->frames[r->count - 1]);

    return body.size == strlen(text) && memcmp(body.data, text, body.size) == 0;
}

static void
echo(sennit_sock *router, request *r)
{
    for (size_t i = 0; i < r->count; i++)
        assert_int_equal(
            sennit_sock_send(router, &r->frames[i], i + 1 < r->count ? SENNIT_MORE : 0),
            SENNIT_OK);
}

static void
D08_a_a_second_request_may_follow_at_once(void **state)
{
    sennit_sock *rep;
    sennit_sock *asker;

    (void)state;
    for (int correlate = 0; correlate < 2; correlate++) {
        net_open(&n);
        rep = net_sock(&n, SENNIT_REP, NULL);
        asker = req(correlate == 1);
        net_join(&n, rep, asker, TCP);
        assert_int_equal(net_try_send(asker, "r1", SENNIT_DONTWAIT), SENNIT_OK);
        assert_int_equal(net_try_send(asker, "r2", SENNIT_DONTWAIT), SENNIT_OK);
        assert_string_equal(net_recv(rep), "r1");
        net_send(rep, "a1");
        assert_string_equal(net_recv(rep), "r2");
        net_send(rep, "a2");
        assert_string_equal(net_recv(asker), "a2");
        assert_int_equal(net_try_send(asker, "r3", SENNIT_DONTWAIT), SENNIT_OK);
        net_close(&n);
    }
}

static void
D08_b_requests_queued_before_there_is_a_server_keep_their_own_numbers(void **state)
{
    sennit_sock *router;
    sennit_sock *asker;
    request first;
    request second;

    (void)state;
    net_open(&n);
    asker = req(true);
    net_connect(asker, net_vacant(TCP));
    net_send(asker, "r1");
    net_send(asker, "r2");
    router = net_sock(&n, SENNIT_ROUTER, NULL);
    assert_int_equal(sennit_sock_bind(router, sennit_sock_last_endpoint(asker)),
                     SENNIT_OK);
    take(router, &first);
    take(router, &second);
    assert_true(body_is(&first, "r1"));
    assert_true(body_is(&second, "r2"));
    echo(router, &first);
    echo(router, &second);
    assert_string_equal(net_recv(asker), "r2");
    net_close(&n);
}

static void
D08_c_an_answer_to_the_request_before_is_not_taken_for_this_one(void **state)
{
    (void)state;
    for (int correlate = 0; correlate < 2; correlate++) {
        sennit_sock *router;
        sennit_sock *asker;
        request first;
        request second;

        net_open(&n);
        router = net_sock(&n, SENNIT_ROUTER, NULL);
        asker = req(correlate == 1);
        net_join(&n, router, asker, TCP);
        net_send(asker, "r1");
        take(router, &first);
        /* With numbers the old answer may even come after the new request was sent;
         * without them nothing tells it apart, and it must be here before. */
        if (correlate == 1)
            net_send(asker, "r2");
        echo(router, &first);
        if (correlate == 0) {
            NET_UNTIL(&n, net_stats(router).delivered_msgs == 1);
            NET_UNTIL(&n, (sennit_sock_ready(asker) & SENNIT_READABLE) != 0);
            net_send(asker, "r2");
        }
        take(router, &second);
        echo(router, &second);
        assert_string_equal(net_recv(asker), "r2");
        net_close(&n);
    }
}

static void
D08_d_a_plain_rep_answers_a_request_with_a_number(void **state)
{
    sennit_sock *rep;
    sennit_sock *asker;

    (void)state;
    net_open(&n);
    rep = net_sock(&n, SENNIT_REP, NULL);
    asker = req(true);
    net_join(&n, rep, asker, TCP);
    for (int i = 0; i < 10; i++) {
        net_send(asker, "ask");
        assert_string_equal(net_recv(rep), "ask");
        net_send(rep, "answer|in|parts");
        assert_string_equal(net_recv(asker), "answer|in|parts");
    }
    net_close(&n);
}

static void
D09_empty_frames_pass_a_proxy_unchanged(void **state)
{
    sennit_sock *front;
    sennit_sock *back;
    sennit_sock *asker;
    sennit_sock *rep;
    sennit_proxy *proxy;

    (void)state;
    net_open(&n);
    front = net_sock(&n, SENNIT_ROUTER, NULL);
    back = net_sock(&n, SENNIT_DEALER, NULL);
    asker = net_sock(&n, SENNIT_REQ, NULL);
    rep = net_sock(&n, SENNIT_REP, NULL);
    net_join(&n, front, asker, TCP);
    net_join(&n, back, rep, TCP);
    assert_int_equal(sennit_proxy_open(&proxy, front, back, NULL), SENNIT_OK);
    net_send(asker, "");
    assert_string_equal(net_recv(rep), "");
    net_send(rep, "");
    assert_string_equal(net_recv(asker), "");
    net_send(asker, "||");
    assert_string_equal(net_recv(rep), "||");
    net_send(rep, "||x");
    assert_string_equal(net_recv(asker), "||x");
    sennit_proxy_close(proxy);
    net_close(&n);
}

static void
D09_a_dealer_speaks_to_a_rep_with_an_envelope_of_its_own(void **state)
{
    sennit_sock *rep;
    sennit_sock *dealer;

    (void)state;
    net_open(&n);
    rep = net_sock(&n, SENNIT_REP, NULL);
    dealer = net_sock(&n, SENNIT_DEALER, NULL);
    net_join(&n, rep, dealer, TCP);
    /* Without a delimiter: dropped, counted, the connection stays. */
    net_send(dealer, "no|delimiter");
    net_send(dealer, "");
    net_send(dealer, "|");
    assert_string_equal(net_recv(rep), "");
    net_send(rep, "");
    assert_string_equal(net_recv(dealer), "|");
    assert_int_equal(net_stats(rep).dropped_malformed_msgs, 2);
    assert_int_equal(net_stats(rep).connections, 1);
    net_close(&n);
}

static void
D09_an_empty_publication_arrives_and_nothing_appears_by_itself(void **state)
{
    sennit_sock *pub;
    sennit_sock *sub;
    sennit_sock *router;
    sennit_sock *dealer;

    (void)state;
    net_open(&n);
    pub = net_sock(&n, SENNIT_PUB, NULL);
    sub = net_sock(&n, SENNIT_SUB, NULL);
    router = net_sock(&n, SENNIT_ROUTER, NULL);
    dealer = net_sock(&n, SENNIT_DEALER, NULL);
    net_subscribe(sub, "");
    net_join(&n, router, dealer, TCP);
    net_join(&n, pub, sub, TCP);
    NET_UNTIL(&n, net_stats(pub).subscriptions == 1);
    net_send(pub, "");
    assert_string_equal(net_recv(sub), "");
    /* Everything that came with the connections has come by now. */
    assert_string_equal(net_recv_flags(router, SENNIT_DONTWAIT), "EAGAIN");
    assert_string_equal(net_recv_flags(sub, SENNIT_DONTWAIT), "EAGAIN");
    net_close(&n);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(D08_a_a_second_request_may_follow_at_once),
    cmocka_unit_test(
        D08_b_requests_queued_before_there_is_a_server_keep_their_own_numbers),
    cmocka_unit_test(D08_c_an_answer_to_the_request_before_is_not_taken_for_this_one),
    cmocka_unit_test(D08_d_a_plain_rep_answers_a_request_with_a_number),
    cmocka_unit_test(D09_empty_frames_pass_a_proxy_unchanged),
    cmocka_unit_test(D09_a_dealer_speaks_to_a_rep_with_an_envelope_of_its_own),
    cmocka_unit_test(D09_an_empty_publication_arrives_and_nothing_appears_by_itself),
};

SENNIT_TEST_MAIN(tests)
