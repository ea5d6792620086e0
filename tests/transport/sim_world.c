/* SPDX-License-Identifier: MIT */
#include "sim_world.h"

#include "sennit_test.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "core/endpoint.h"
#include "wire/greeting.h"
#include "wire/ready.h"

/* Every loop that is not inside a turn gets one. */
static void
run_all(void *arg)
{
    test_world *world = arg;

    for (size_t i = 0; i < world->count; i++)
        if (world->loops[i] != NULL && world->loops[i]->depth == 0)
            (void)sni_loop_turn(world->loops[i], 0);
}

static sennit_time
next_timer(void *arg)
{
    const test_world *world = arg;
    sennit_time next = SENNIT_NEVER;

    for (size_t i = 0; i < world->count; i++) {
        const sennit_loop *loop = world->loops[i];
        sennit_time own;
        sennit_time users;

        if (loop == NULL || loop->depth > 0)
            continue;
        own = sni_timers_next(&loop->timers);
        users = sni_timers_next(&loop->user_timers);
        if (own < next)
            next = own;
        if (users < next)
            next = users;
    }
    return next;
}

static sennit_err
open_sim(sni_io **out, const sennit_allocator *alloc, sni_pool *recv_blocks, void *arg)
{
    return sni_io_sim_open(out, alloc, recv_blocks, arg);
}

sennit_loop *
test_world_add(test_world *world, size_t place)
{
    assert_true(place < TEST_LOOPS_MAX);
    if (place >= world->count)
        world->count = place + 1;
    world->loops[place] = NULL;
    (void)sni_loop_open_with(&world->loops[place], &world->allocs[place].allocator,
                             open_sim, world->sim);
    return world->loops[place];
}

void
test_world_open(test_world *world, const sni_sim_opts *opts, size_t loops)
{
    const sni_sim_others others = { run_all, next_timer, world };

    memset(world, 0, sizeof *world);
    world->sim = sni_sim_new(opts);
    sni_sim_set_others(world->sim, &others);
    for (size_t i = 0; i < TEST_LOOPS_MAX; i++)
        test_alloc_init(&world->allocs[i]);
    for (size_t i = 0; i < loops; i++)
        assert_non_null(test_world_add(world, i));
}

void
test_world_close(test_world *world)
{
    for (size_t i = 0; i < world->count; i++) {
        sennit_loop *loop = world->loops[i];

        /* It is inside its own turns meanwhile, so the others leave it alone; but
         * between two of them they must not find it either. */
        world->loops[i] = NULL;
        sennit_loop_close(loop);
    }
    sni_sim_free(world->sim);
    for (size_t i = 0; i < TEST_LOOPS_MAX; i++)
        if (world->allocs[i].live_blocks != 0)
            fail_msg("loop %zu left %zu blocks (%zu octets) live", i,
                     world->allocs[i].live_blocks, world->allocs[i].live_bytes);
}

/* All loops until nobody moves, then the clock goes on, at most to `until`. */
static void
step(test_world *world, sennit_time until)
{
    uint64_t before = sni_sim_activity(world->sim);
    sennit_time now = sni_sim_now(world->sim);
    sennit_time next;
    sennit_time timer;

    run_all(world);
    if (sni_sim_activity(world->sim) != before)
        return;
    next = sni_sim_next(world->sim);
    timer = next_timer(world);
    if (timer < next)
        next = timer;
    if (until < next)
        next = until;
    if (next > now)
        sni_sim_advance(world->sim, next - now);
}

void
test_world_run(test_world *world, sennit_time ns)
{
    sennit_time until = sni_sim_now(world->sim) + ns;

    while (sni_sim_now(world->sim) < until)
        step(world, until);
    step(world, until);
}

bool
test_world_run_until(test_world *world, bool (*condition)(void *arg), void *arg,
                     sennit_time limit_ns)
{
    sennit_time until = sni_sim_now(world->sim) + limit_ns;

    while (!condition(arg)) {
        if (sni_sim_now(world->sim) >= until)
            return false;
        step(world, until);
    }
    return true;
}

/* ---- sockets in it ----------------------------------------------------- */

sennit_sock_opts
test_world_opts(void)
{
    sennit_sock_opts opts = SENNIT_SOCK_OPTS_DEFAULT;

    opts.linger_ms = 0;
    opts.events_max = 4096;
    return opts;
}

sennit_sock *
test_world_sock(test_world *world, size_t loop, sennit_sock_type type,
                const sennit_sock_opts *opts)
{
    sennit_sock *sock;

    assert_int_equal(sennit_sock_open(&sock, world->loops[loop], type, opts), SENNIT_OK);
    return sock;
}

const char *
test_world_bind(sennit_sock *sock)
{
    assert_int_equal(sennit_sock_bind(sock, "tcp://127.0.0.1:0"), SENNIT_OK);
    return sennit_sock_last_endpoint(sock);
}

bool
test_world_connected(void *arg)
{
    sennit_sock_stats stats;

    sennit_sock_get_stats(arg, &stats);
    return stats.connections > 0;
}

bool
test_world_alone(void *arg)
{
    return !test_world_connected(arg);
}

/* ---- octets by hand ---------------------------------------------------- */

static void
await(test_raw *raw, test_world *world, sni_op *op)
{
    sni_op *done[1];

    if (raw->io->ops->submit(raw->io, op))
        return;
    while (raw->io->ops->reap(raw->io, done, 1, sni_sim_now(world->sim) + TEST_S) != 1)
        continue;
    done[0]->pending = false;
}

void
test_raw_connect(test_raw *raw, test_world *world, const char *endpoint)
{
    sni_endpoint parsed;
    const char *why;
    sni_op connect = { .kind = SNI_OP_CONNECT };

    memset(raw, 0, sizeof *raw);
    raw->blocks = sni_pool_new(&sni_alloc_default, SNI_RECV_BYTES, 1);
    assert_int_equal(
        sni_io_sim_open(&raw->io, &sni_alloc_default, raw->blocks, world->sim),
        SENNIT_OK);
    assert_int_equal(sni_endpoint_parse(endpoint, false, &parsed, &why), SENNIT_OK);
    assert_int_equal(
        raw->io->ops->dial(raw->io, &parsed.host.address, NULL, NULL, &raw->file),
        SENNIT_OK);
    connect.file = raw->file;
    await(raw, world, &connect);
    assert_int_equal(connect.err, SENNIT_OK);
}

void
test_raw_send(test_raw *raw, test_world *world, const void *data, size_t size)
{
    sennit_bytes part = sni_bytes(data, size);
    sni_op send = {
        .kind = SNI_OP_SEND, .file = raw->file, .parts = &part, .parts_count = 1
    };

    await(raw, world, &send);
    assert_int_equal(send.err, SENNIT_OK);
    assert_int_equal(send.size, size);
}

void
test_raw_handshake(test_raw *raw, test_world *world, sennit_sock_type type,
                   const char *identity)
{
    uint8_t octets[SNI_GREETING_SIZE + SNI_READY_MAX];
    size_t size = SNI_GREETING_SIZE;

    sni_greeting_write(octets, "NULL");
    size += sni_ready_write(octets + size, type, sni_bytes(identity, strlen(identity)));
    test_raw_send(raw, world, octets, size);
}

void
test_raw_listen(test_raw *raw, test_world *world, sennit_time ns)
{
    sennit_time until = sni_sim_now(world->sim) + ns;
    sni_op recv = { .kind = SNI_OP_RECV, .file = raw->file };
    sni_op *done[1];

    while (!raw->closed && sni_sim_now(world->sim) < until) {
        recv.home = NULL;
        if (!raw->io->ops->submit(raw->io, &recv)) {
            while (sni_sim_now(world->sim) < until &&
                   raw->io->ops->reap(raw->io, done, 1, until) == 0)
                continue;
            if (sni_sim_now(world->sim) >= until) {
                raw->io->ops->cancel(raw->io, &recv);
                (void)raw->io->ops->reap(raw->io, done, 1, 0);
            }
            recv.pending = false;
        }
        if (recv.err == SENNIT_ECLOSED)
            break;
        raw->closed = recv.err != SENNIT_OK || recv.size == 0;
        if (recv.size > 0) {
            assert_true(sni_grow(&sni_alloc_default, &raw->received,
                                 &raw->received_capacity, raw->received_size + recv.size,
                                 1));
            memcpy(raw->received + raw->received_size, recv.into, recv.size);
            raw->received_size += recv.size;
        }
        sni_block_unref(recv.home);
    }
}

void
test_raw_close(test_raw *raw)
{
    raw->io->ops->close(raw->io, raw->file);
    raw->io->ops->fini(raw->io);
    sni_pool_free(raw->blocks);
    sni_release(&sni_alloc_default, raw->received);
}
