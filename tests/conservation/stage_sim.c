/* SPDX-License-Identifier: MIT */
#include "stage.h"

#include "sennit_test.h"

#include <stdio.h>

#include "core/session.h"
#include "core/sock.h"
#include "rng.h"
#include "sim_world.h"
#include "wrong.h"

const bool stage_exact = true;

struct stage {
    test_world world;
    ledger *books;
    sennit_loop *paused[STAGE_NODES_MAX]; /* hidden from the world */
    size_t nodes;
    char endpoint[64];
};

static void
passed(void *arg, uint32_t number, unsigned side, const sni_op *op)
{
    stage *s = arg;
    const sni_session *session = op->owner;
    ledger_octets octets = { .connection = number, .side = side };
    size_t left = op->size;

    octets.account = ledger_account(s->books, session->sock);
    octets.peer = session->number;
    octets.begins = true;
    if (op->kind == SNI_OP_RECV) {
        octets.data = op->into;
        octets.size = op->size;
        ledger_passed(s->books, &octets);
        return;
    }
    octets.outward = true;
    for (size_t i = 0; i < op->parts_count && left > 0; i++) {
        octets.data = op->parts[i].data;
        octets.size = op->parts[i].size < left ? op->parts[i].size : left;
        ledger_passed(s->books, &octets);
        left -= octets.size;
    }
}

stage *
stage_open(ledger *books, uint64_t seed, size_t nodes)
{
    static const size_t buffers[] = { 600, 3000, 20000, 256 * 1024 };
    sni_sim_opts opts = SNI_SIM_OPTS_DEFAULT;
    test_rng rng = { seed };
    stage *s = calloc(1, sizeof *s);
    sni_sim_tap tap = { passed, s };

    _Static_assert(STAGE_NODES_MAX <= TEST_LOOPS_MAX, "a loop for each node");
    if (s == NULL)
        wrong("no memory for the stage");
    s->books = books;
    s->nodes = nodes;
    opts.seed = seed;
    opts.buffer_bytes = buffers[test_rng_below(&rng, 4)];
    opts.latency_max = opts.latency_min + test_rng_below(&rng, 5) * TEST_MS;
    opts.backlog_max = test_rng_chance(&rng, 20) ? 2 : 128;
    test_world_open(&s->world, &opts, nodes);
    sni_sim_set_tap(s->world.sim, &tap);
    return s;
}

void
stage_close(stage *s)
{
    for (size_t i = 0; i < s->nodes; i++)
        stage_pause(s, i, false);
    test_world_close(&s->world);
    free(s);
}

sennit_loop *
stage_loop(const stage *s, size_t node)
{
    return s->paused[node] != NULL ? s->paused[node] : s->world.loops[node];
}

bool
stage_paused(const stage *s, size_t node)
{
    return s->paused[node] != NULL;
}

const char *
stage_bind_endpoint(stage *s, size_t slot, stage_transport transport)
{
    static const char *const formats[] = { "tcp://127.0.0.1:%u", "ipc:///sim/slot%u",
                                           "inproc://slot%u" };

    snprintf(s->endpoint, sizeof s->endpoint, formats[transport],
             (unsigned)(5000 + slot));
    return s->endpoint;
}

const char *
stage_connect_endpoint(stage *s, size_t slot, stage_transport transport,
                       const sennit_sock *sock)
{
    (void)sock;
    return stage_bind_endpoint(s, slot, transport);
}

void
stage_bound(stage *s, size_t slot, const sennit_sock *sock)
{
    (void)s, (void)slot, (void)sock;
}

void
stage_unbound(stage *s, size_t slot)
{
    (void)s, (void)slot;
}

void
stage_run(stage *s, uint64_t ns)
{
    test_world_run(&s->world, ns);
}

void
stage_pause(stage *s, size_t node, bool paused)
{
    if (paused == stage_paused(s, node))
        return;
    if (paused) {
        s->paused[node] = s->world.loops[node];
        s->world.loops[node] = NULL;
    } else {
        s->world.loops[node] = s->paused[node];
        s->paused[node] = NULL;
    }
}

void
stage_kill(stage *s, size_t node)
{
    sennit_loop *loop = stage_loop(s, node);

    s->paused[node] = NULL;
    s->world.loops[node] = NULL;
    sni_sim_kill(loop->io);
    sennit_loop_close(loop);
    if (s->world.allocs[node].live_blocks != 0)
        wrong("a killed node left %zu blocks live", s->world.allocs[node].live_blocks);
    if (test_world_add(&s->world, node) == NULL)
        wrong("no memory for a node");
}

void
stage_cut(stage *s, uint32_t which)
{
    uint32_t made = sni_sim_connections_made(s->world.sim);

    if (made > 0)
        sni_sim_reset_one(s->world.sim, made - which % (made < 8 ? made : 8));
}

void
stage_cut_all(stage *s)
{
    sni_sim_reset_all(s->world.sim);
}

void
stage_hold(stage *s, uint64_t ns)
{
    sni_sim_hold(s->world.sim, sni_sim_now(s->world.sim) + ns);
}

void
stage_trouble(stage *s, unsigned level)
{
    static const uint32_t ppm[SNI_SIM_FAULTS_COUNT] = {
        [SNI_SIM_SHORT_RECV] = 60000,  [SNI_SIM_SHORT_SEND] = 60000,
        [SNI_SIM_LATE] = 60000,        [SNI_SIM_REFUSE] = 60000,
        [SNI_SIM_RESET] = 4000,        [SNI_SIM_ACCEPT_EMFILE] = 20000,
        [SNI_SIM_DIAL_EMFILE] = 20000, [SNI_SIM_DONE_ANYWAY] = 200000,
        [SNI_SIM_INTERRUPT] = 10000,   [SNI_SIM_SPURIOUS] = 10000,
    };

    for (int i = 0; i < SNI_SIM_FAULTS_COUNT; i++)
        sni_sim_set_fault(s->world.sim, (sni_sim_fault)i, level * ppm[i]);
}

const char *
stage_leftover(stage *s)
{
    for (size_t i = 0; i < s->nodes; i++)
        if (!sni_list_empty(&stage_loop(s, i)->socks))
            return "a closed socket";
    return sni_sim_connections(s->world.sim) > 0 ? "a connection" : "";
}
