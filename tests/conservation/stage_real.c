/* SPDX-License-Identifier: MIT */
#include "stage.h"

#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fail_alloc.h"
#include "tap.h"
#include "wrong.h"

const bool stage_exact = false;

#define TAPS_MAX  256u
#define FDS_MAX   1024u
#define PIECE_MAX (64u * 1024u)
#define MS        UINT64_C(1000000)

/* The longest that a round of which time is asked waits for an event. */
#define WAIT_MS 3

/* A socket's way to a slot. */
typedef struct way {
    tap *tap;
    uint32_t account; /* who connects */
    size_t slot;
} way;

struct stage {
    ledger *books;
    test_alloc allocs[STAGE_NODES_MAX];
    sennit_loop *loops[STAGE_NODES_MAX];
    bool paused[STAGE_NODES_MAX];
    size_t nodes;
    way ways[TAPS_MAX];
    size_t ways_count;
    char targets[STAGE_SLOTS_MAX][128]; /* who is bound there now; "": nobody */
    uint32_t binders[STAGE_SLOTS_MAX];
    uint32_t binders_of[TAPS_MAX * 64u]; /* by connection */
    uint32_t connections;
    unsigned names;
    unsigned held; /* rounds in which nothing is passed on */
    size_t piece;
    char folder[64];
    char endpoint[128];
    unsigned descriptors;
};

static unsigned
open_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned count = 0;

    if (dir == NULL)
        wrong("cannot list descriptors");
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

static void
open_node(stage *s, size_t node)
{
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;
    sennit_err err;

    test_alloc_init(&s->allocs[node]);
    opts.allocator = &s->allocs[node].allocator;
    err = sennit_loop_open(&s->loops[node], &opts);
    if (err)
        wrong("a loop could not be opened: %s", sennit_err_name(err));
}

static void
close_node(stage *s, size_t node)
{
    sennit_loop_close(s->loops[node]);
    if (s->allocs[node].live_blocks != 0)
        wrong("node %zu left %zu blocks live", node, s->allocs[node].live_blocks);
}

stage *
stage_open(ledger *books, uint64_t seed, size_t nodes)
{
    stage *s = calloc(1, sizeof *s);

    (void)seed;
    if (s == NULL)
        wrong("no memory for the stage");
    s->descriptors = open_descriptors();
    s->books = books;
    s->nodes = nodes;
    s->piece = PIECE_MAX;
    snprintf(s->folder, sizeof s->folder, "%s/sennit-books-XXXXXX", P_tmpdir);
    if (mkdtemp(s->folder) == NULL)
        wrong("no temporary folder");
    for (size_t i = 0; i < nodes; i++)
        open_node(s, i);
    return s;
}

void
stage_close(stage *s)
{
    for (size_t i = 0; i < s->nodes; i++)
        close_node(s, i);
    for (size_t i = 0; i < s->ways_count; i++)
        tap_close(s->ways[i].tap);
    if (rmdir(s->folder) != 0)
        wrong("a file was left in %s", s->folder);
    if (open_descriptors() != s->descriptors)
        wrong("%u descriptors are open, at first there were %u", open_descriptors(),
              s->descriptors);
    free(s);
}

sennit_loop *
stage_loop(const stage *s, size_t node)
{
    return s->loops[node];
}

bool
stage_paused(const stage *s, size_t node)
{
    return s->paused[node];
}

/* ---- places ------------------------------------------------------------ */

const char *
stage_bind_endpoint(stage *s, size_t slot, stage_transport transport)
{
    switch (transport) {
    case STAGE_TCP:
        return "tcp://127.0.0.1:*";
    case STAGE_IPC:
        snprintf(s->endpoint, sizeof s->endpoint, "ipc://%s/b%u", s->folder, s->names++);
        break;
    case STAGE_INPROC:
        snprintf(s->endpoint, sizeof s->endpoint, "inproc://slot%zu", slot);
        break;
    }
    return s->endpoint;
}

static void
passed(void *arg, const tap *r, uint32_t number, unsigned side, bool outward,
       const uint8_t *data, size_t size)
{
    stage *s = arg;
    ledger_octets octets = { .connection = number, .side = side };
    size_t i = 0;

    if (size == 0) {
        ledger_connection_over(s->books, number);
        return;
    }
    while (s->ways[i].tap != r)
        i++;
    if (number >= sizeof s->binders_of / sizeof s->binders_of[0])
        wrong("too many connections for the stage");
    if (s->binders_of[number] == 0)
        s->binders_of[number] = s->binders[s->ways[i].slot];
    octets.account = side == 0 ? s->ways[i].account : s->binders_of[number];
    octets.outward = outward;
    octets.data = data;
    octets.size = size;
    octets.begins = true;
    ledger_passed(s->books, &octets);
}

const char *
stage_connect_endpoint(stage *s, size_t slot, stage_transport transport,
                       const sennit_sock *sock)
{
    uint32_t account = ledger_account(s->books, sock);
    way *w;

    if (transport == STAGE_INPROC)
        return stage_bind_endpoint(s, slot, transport);
    for (w = s->ways; w < s->ways + s->ways_count; w++)
        if (w->account == account && w->slot == slot)
            return tap_endpoint(w->tap);
    if (s->ways_count == TAPS_MAX)
        wrong("too many taps for the stage");
    s->ways_count++;
    w->account = account;
    w->slot = slot;
    w->tap = tap_open(transport == STAGE_IPC, s->folder, s->names++, passed, s);
    tap_aim(w->tap, s->targets[slot]);
    return tap_endpoint(w->tap);
}

static void
aim(stage *s, size_t slot, const char *endpoint)
{
    snprintf(s->targets[slot], sizeof s->targets[slot], "%s", endpoint);
    for (size_t i = 0; i < s->ways_count; i++)
        if (s->ways[i].slot == slot)
            tap_aim(s->ways[i].tap, endpoint);
}

void
stage_bound(stage *s, size_t slot, const sennit_sock *sock)
{
    s->binders[slot] = ledger_account(s->books, sock);
    if (strncmp(sennit_sock_last_endpoint(sock), "inproc", 6) != 0)
        aim(s, slot, sennit_sock_last_endpoint(sock));
}

void
stage_unbound(stage *s, size_t slot)
{
    aim(s, slot, "");
}

/* ---- time -------------------------------------------------------------- */

static size_t
pump(stage *s)
{
    size_t moved = 0;

    if (s->held > 0) {
        s->held--;
        return 0;
    }
    for (size_t i = 0; i < s->ways_count; i++)
        moved += tap_pump(s->ways[i].tap, s->piece, &s->connections);
    return moved;
}

static void
turn_all(stage *s)
{
    for (size_t i = 0; i < s->nodes; i++)
        if (!s->paused[i])
            (void)sennit_loop_turn(s->loops[i], 0);
}

/* Until something happens somewhere, or a timer is due, at most `ms`. */
static void
wait_for_something(stage *s, int ms)
{
    static struct pollfd fds[FDS_MAX];
    size_t count = 0;

    for (size_t i = 0; i < s->nodes; i++) {
        int timer;

        if (s->paused[i])
            continue;
        fds[count++] =
            (struct pollfd){ .fd = sennit_loop_fd(s->loops[i]), .events = POLLIN };
        timer = sennit_loop_timeout_ms(s->loops[i]);
        if (timer >= 0 && timer < ms)
            ms = timer;
    }
    for (size_t i = 0; s->held == 0 && i < s->ways_count; i++)
        count += tap_poll(s->ways[i].tap, fds + count, FDS_MAX - count);
    (void)poll(fds, count, s->held > 0 && ms > 1 ? 1 : ms);
}

void
stage_run(stage *s, uint64_t ns)
{
    bool waits = ns >= 10 * MS;
    unsigned idle = 0;

    for (unsigned round = 0; round < 1000 && idle < 2; round++) {
        turn_all(s);
        idle = pump(s) > 0 ? 0 : idle + 1;
        if (!waits && round > ns / MS)
            return;
        if (waits && idle > 0)
            wait_for_something(s, WAIT_MS);
    }
}

/* ---- trouble ----------------------------------------------------------- */

void
stage_pause(stage *s, size_t node, bool paused)
{
    s->paused[node] = paused;
}

void
stage_kill(stage *s, size_t node)
{
    s->paused[node] = false;
    close_node(s, node);
    open_node(s, node);
}

void
stage_cut(stage *s, uint32_t which)
{
    for (size_t i = 0; i < s->ways_count; i++)
        if (tap_cut(s->ways[(which + i) % s->ways_count].tap, which))
            return;
}

void
stage_cut_all(stage *s)
{
    for (size_t i = 0; i < s->ways_count; i++)
        while (tap_cut(s->ways[i].tap, 0))
            continue;
}

void
stage_hold(stage *s, uint64_t ns)
{
    s->held = (unsigned)(ns / (10 * MS));
}

void
stage_trouble(stage *s, unsigned level)
{
    static const size_t pieces[] = { PIECE_MAX, 4096, 500, 60 };

    s->piece = pieces[level];
}

const char *
stage_leftover(stage *s)
{
    for (size_t i = 0; i < s->ways_count; i++)
        if (tap_connections(s->ways[i].tap) > 0)
            return "a connection";
    return "";
}
