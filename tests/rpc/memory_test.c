/* SPDX-License-Identifier: MIT */
/* Every allocation fails once: each request that was accepted still has exactly one
 * outcome, a refusal says ENOMEM, and nothing is left live. */
#include "sennit_test.h"

#include <dlfcn.h>

#include "fail_alloc.h"
#include "rig.h"

/* Long enough for everything that can still happen, short enough to wait it out
 * when the one frame that was to end it found no memory. */
#define CALL_MS 25

static void
check_outcome(const outcome *out, bool accepted)
{
    assert_int_equal(out->count, accepted ? 1 : 0);
    if (out->count == 1 && !out->ok)
        assert_true(out->error.message[0] != '\0');
}

static bool
request(sennit_bus *bus, const char *address, outcome *out)
{
    sennit_call_opts opts = { .timeout_ms = CALL_MS };
    sennit_err err;

    memset(out, 0, sizeof *out);
    err = sennit_bus_request(bus, address, rig_bytes("some words"), &opts, NULL,
                             outcome_keep, out);
    if (err)
        assert_int_equal(err, SENNIT_ENOMEM);
    return err == SENNIT_OK;
}

/* Turns until all accepted calls have ended; their timeouts see to that. */
static void
finish_calls(sennit_loop *loop, sennit_bus *bus)
{
    sennit_time deadline = sennit_loop_now(loop) + UINT64_C(5000000000);

    while (rig_stats(bus).calls_pending > 0) {
        if (sennit_loop_now(loop) > deadline)
            fail_msg("a call has no outcome");
        (void)sennit_loop_turn(loop, 10);
    }
}

static void
fail_in_words(sennit_ctx *ctx, sennit_bytes body, void *arg)
{
    (void)body;
    (void)arg;
    (void)sennit_reply_error(sennit_ctx_reply(ctx), 3, 7, rig_bytes("\xa3why"), "so");
}

static void
consume(sennit_bus *bus, const char *address, sennit_consumer_fn *fn, test_worker *arg)
{
    sennit_consumer *consumer;
    sennit_err err = sennit_bus_consume(bus, address, NULL, &consumer, fn, arg);

    if (err)
        assert_int_equal(err, SENNIT_ENOMEM);
}

/* Opens the loop with all the memory there is (its opening is the business of the
 * transport's suites); the k-th request after it fails. */
static sennit_loop *
open_loop(test_alloc *alloc)
{
    sennit_loop_opts opts = { .allocator = &alloc->allocator };
    uint64_t k = alloc->fail_at;
    sennit_loop *loop;

    alloc->fail_at = 0;
    assert_int_equal(sennit_loop_open(&loop, &opts), SENNIT_OK);
    test_alloc_fail_at(alloc, k);
    return loop;
}

static void
use_one_bus(test_alloc *alloc, void *arg)
{
    sennit_loop *loop = open_loop(alloc);
    test_worker echo = { .task = WORKER_ECHO };
    test_worker keep = { .task = WORKER_KEEP };
    outcome out[3];
    bool accepted[3];
    sennit_bus *bus;

    (void)arg;
    if (sennit_bus_open(&bus, loop, NULL) == SENNIT_OK) {
        consume(bus, "an.address.of.more.than.forty.eight.bytes.for.the.echo", worker_run,
                &echo);
        consume(bus, "keep", worker_run, &keep);
        consume(bus, "fail", fail_in_words, NULL);
        accepted[0] = request(
            bus, "an.address.of.more.than.forty.eight.bytes.for.the.echo", &out[0]);
        accepted[1] = request(bus, "keep", &out[1]);
        accepted[2] = request(bus, "fail", &out[2]);
        (void)sennit_bus_publish(bus, "keep", rig_bytes("x"), NULL, NULL);
        finish_calls(loop, bus);
        for (int i = 0; i < 3; i++)
            check_outcome(&out[i], accepted[i]);
        sennit_bus_close(bus);
    }
    sennit_loop_close(loop);
}

static void
R1_every_call_within_a_bus_has_one_outcome_whatever_allocation_fails(void **state)
{
    (void)state;
    assert_true(test_alloc_every_failure(use_one_bus, NULL) > 20);
}

static void
use_a_link(test_alloc *alloc, void *arg)
{
    sennit_loop *loop = open_loop(alloc);
    sennit_bus_opts opts = SENNIT_BUS_OPTS_DEFAULT;
    const char *endpoint = arg;
    test_worker echo = { .task = WORKER_ECHO };
    test_worker keep = { .task = WORKER_KEEP };
    outcome out[4];
    bool accepted[4];
    sennit_bus *server = NULL;
    sennit_bus *client = NULL;

    opts.reconnect_min_ms = 1;
    opts.reconnect_max_ms = 2;
    if (sennit_bus_open(&server, loop, &opts) || sennit_bus_open(&client, loop, &opts) ||
        sennit_bus_listen(server, endpoint) ||
        sennit_bus_link(client, sennit_bus_endpoint(server)))
        goto close;
    consume(server, "echo", worker_run, &echo);
    consume(server, "keep", worker_run, &keep);
    consume(server, "fail", fail_in_words, NULL);
    assert_int_equal(sennit_bus_wait_ready(client, 10000), SENNIT_OK);
    assert_int_equal(sennit_bus_wait_ready(server, 10000), SENNIT_OK);
    accepted[0] = request(client, "echo", &out[0]);
    accepted[1] = request(client, "keep", &out[1]);
    accepted[2] = request(client, "fail", &out[2]);
    accepted[3] = request(client, "nobody", &out[3]);
    (void)sennit_bus_publish(client, "echo", rig_bytes("x"), NULL, NULL);
    finish_calls(loop, client);
    for (int i = 0; i < 4; i++)
        check_outcome(&out[i], accepted[i]);
    /* What failed once has healed: the link is up again and serves. */
    assert_int_equal(sennit_bus_wait_ready(client, 10000), SENNIT_OK);
    if (rig_stats(server).consumers == 3) {
        accepted[0] = request(client, "echo", &out[0]);
        finish_calls(loop, client);
        check_outcome(&out[0], accepted[0]);
        if (accepted[0] && alloc->failed == 0)
            assert_true(out[0].ok);
    }
close:
    sennit_bus_close(client);
    sennit_bus_close(server);
    sennit_loop_close(loop);
}

static void
R1_every_call_over_a_link_has_one_outcome_whatever_allocation_fails(void **state)
{
    assert_true(test_alloc_every_failure(use_a_link, *state) > 60);
}

/* ---- Events for guests ------------------------------------------------ */

/* The topic of the next whole message, checked against the record behind it. False
 * when there is none. */
static bool
hear_event(sennit_sock *sub, char topic[static 16])
{
    sennit_msg part;
    sennit_unpack in;
    sennit_str address;

    sennit_msg_init(&part);
    if (sennit_sock_recv(sub, &part, SENNIT_DONTWAIT)) {
        sennit_msg_fini(&part);
        return false;
    }
    assert_true(sennit_msg_more(&part));
    assert_true(sennit_msg_size(&part) < 16);
    memcpy(topic, sennit_msg_data(&part), sennit_msg_size(&part)); /* ends in NUL */
    assert_int_equal(sennit_sock_recv(sub, &part, SENNIT_DONTWAIT), SENNIT_OK);
    assert_false(sennit_msg_more(&part));
    sennit_unpack_init(&in, sennit_msg_bytes(&part));
    assert_int_equal(sennit_unpack_array(&in), 3);
    (void)sennit_unpack_uint(&in, 99);
    (void)sennit_unpack_uint(&in, 99);
    address = sennit_unpack_str(&in);
    assert_int_equal(in.err, SENNIT_OK);
    assert_true(sennit_str_equal(address, sennit_str_of(topic)));
    sennit_msg_fini(&part);
    return true;
}

/* Publishes `address` until the guest has heard it; what it hears before is whole. */
static void
publish_until_heard(sennit_loop *loop, sennit_bus *bus, sennit_sock *sub,
                    const char *address)
{
    char topic[16] = "";

    for (int patience = 0; patience < 1000; patience++) {
        (void)sennit_bus_publish(bus, address, rig_bytes("x"), NULL, NULL);
        (void)sennit_loop_turn(loop, 10);
        while (hear_event(sub, topic)) {
            if (strcmp(topic, address) == 0)
                return;
        }
    }
    fail_msg("the guest heard nothing");
}

/* Messages take their memory from malloc(3), which no allocator of ours makes fail:
 * this stands in front of the library's own. */
static bool no_large_copies;

sennit_err
sennit_msg_init_copy(sennit_msg *msg, const void *data, size_t size)
{
    sennit_err (*real)(sennit_msg * msg, const void *data, size_t size);

    if (no_large_copies && size >= 100000)
        return SENNIT_ENOMEM;
    *(void **)&real = dlsym(RTLD_NEXT, "sennit_msg_init_copy");
    return real(msg, data, size);
}

static void
D7_a_guest_hears_whole_events_when_one_found_no_memory(void **state)
{
    static const uint8_t large[100000];
    sennit_loop *loop;
    sennit_bus *bus;
    sennit_sock *sub;

    (void)state;
    assert_int_equal(sennit_loop_open(&loop, NULL), SENNIT_OK);
    assert_int_equal(sennit_bus_open(&bus, loop, NULL), SENNIT_OK);
    assert_int_equal(sennit_bus_listen_events(bus, "tcp://127.0.0.1:0"), SENNIT_OK);
    assert_int_equal(sennit_sock_open(&sub, loop, SENNIT_SUB, NULL), SENNIT_OK);
    assert_int_equal(sennit_sock_subscribe(sub, rig_bytes("")), SENNIT_OK);
    assert_int_equal(sennit_sock_connect(sub, sennit_bus_events_endpoint(bus)),
                     SENNIT_OK);
    publish_until_heard(loop, bus, sub, "begin");
    no_large_copies = true;
    assert_int_equal(sennit_bus_publish(
                         bus, "large", (sennit_bytes){ large, sizeof large }, NULL, NULL),
                     SENNIT_OK);
    no_large_copies = false;
    assert_int_equal(rig_stats(bus).dead_letters_total[SENNIT_DEAD_NO_MEMORY], 1);
    publish_until_heard(loop, bus, sub, "end");
    sennit_sock_close(sub);
    sennit_bus_close(bus);
    sennit_loop_close(loop);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(
        R1_every_call_within_a_bus_has_one_outcome_whatever_allocation_fails),
    cmocka_unit_test_prestate(
        R1_every_call_over_a_link_has_one_outcome_whatever_allocation_fails,
        (void *)(uintptr_t) "inproc://node"),
    cmocka_unit_test_prestate(
        R1_every_call_over_a_link_has_one_outcome_whatever_allocation_fails,
        (void *)(uintptr_t) "tcp://127.0.0.1:0"),
    cmocka_unit_test(D7_a_guest_hears_whole_events_when_one_found_no_memory),
};

SENNIT_TEST_MAIN(tests)
