/* SPDX-License-Identifier: MIT */
#include "duo.h"

#include "core/context.h"

static sennit_err
open_loop(net *n, sennit_context *context)
{
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;

    opts.allocator = &n->alloc.allocator;
    opts.context = context;
    return sennit_loop_open(&n->loop, &opts);
}

sennit_err
duo_try_open(duo *d)
{
    sennit_err err;

    d->context = NULL;
    d->a.loop = NULL;
    d->b.loop = NULL;
    err = sni_context_open_with(&d->context, NULL, &d->shared.allocator);
    if (err == SENNIT_OK)
        err = open_loop(&d->a, d->context);
    if (err == SENNIT_OK)
        err = open_loop(&d->b, d->context);
    return err;
}

void
duo_open(duo *d)
{
    test_alloc_init(&d->shared);
    test_alloc_init(&d->a.alloc);
    test_alloc_init(&d->b.alloc);
    assert_int_equal(duo_try_open(d), SENNIT_OK);
}

void
duo_abandon(duo *d)
{
    sennit_loop_close(d->a.loop);
    sennit_loop_close(d->b.loop);
    assert_int_equal(sennit_context_close(d->context), SENNIT_OK);
}

void
duo_close(duo *d)
{
    duo_abandon(d);
    assert_int_equal(d->a.alloc.live_blocks, 0);
    assert_int_equal(d->b.alloc.live_blocks, 0);
    assert_int_equal(d->shared.live_blocks, 0);
}

void
duo_settle(duo *d)
{
    /* The longest exchange is ask, accept, meet, subscribe, end: one turn each. */
    for (int i = 0; i < 8; i++) {
        assert_int_equal(sennit_loop_turn(d->a.loop, 0), SENNIT_OK);
        assert_int_equal(sennit_loop_turn(d->b.loop, 0), SENNIT_OK);
    }
}

void
duo_turn(duo *d, sennit_time started, const char *awaited)
{
    assert_int_equal(sennit_loop_turn(d->a.loop, 0), SENNIT_OK);
    assert_int_equal(sennit_loop_turn(d->b.loop, 0), SENNIT_OK);
    if (sennit_loop_now(d->a.loop) - started > (sennit_time)DEADLINE_MS * 1000000u)
        fail_msg("not within %d ms: %s", DEADLINE_MS, awaited);
}

const char *
duo_join(duo *d, sennit_sock *binder, sennit_sock *connecter)
{
    const char *endpoint = net_bind(binder, INPROC);
    uint64_t bound = net_stats(binder).connections;
    uint64_t connected = net_stats(connecter).connections;

    net_connect(connecter, endpoint);
    DUO_UNTIL(d, net_stats(binder).connections > bound &&
                     net_stats(connecter).connections > connected);
    return endpoint;
}

const char *
duo_recv(duo *d, sennit_sock *sock)
{
    DUO_UNTIL(d, sennit_sock_ready(sock) & SENNIT_READABLE);
    return net_recv_flags(sock, SENNIT_DONTWAIT);
}

unsigned
duo_fill(sennit_sock *sock, unsigned most)
{
    unsigned sent = 0;

    while (sent < most && net_try_send(sock, "x", SENNIT_DONTWAIT) == SENNIT_OK)
        sent++;
    return sent;
}
