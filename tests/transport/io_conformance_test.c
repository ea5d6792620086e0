/* SPDX-License-Identifier: MIT */
/* What a loop relies on, the same for every backend: epoll over loopback and over
 * unix sockets, and the simulator. No port is fixed, nothing sleeps. */
#include "sennit_test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "fail_alloc.h"
#include "io/fork.h"
#include "io/sim.h"
#include "io/uring.h"

#define SECOND UINT64_C(1000000000)

typedef enum whose { EPOLL, URING, SIM } whose;

typedef struct backend {
    const char *name;
    whose whose;
    sni_address_kind kind;
    const sni_uring_opts *uring; /* NULL: defaults */
} backend;

#ifdef SENNIT_WITH_URING
/* As kernels before 6.1, and before 5.19. */
static const sni_uring_opts cooperative = { .setups_unknown = 1 };
static const sni_uring_opts plain = { .setups_unknown = 2 };
/* With as little of everything as there can be. */
static const sni_uring_opts tiny = {
    .entries = 2, .completions = 4, .buffers = 1, .no_multishot = true
};
static const sni_uring_opts ending = { .entries = 4, .ends_multishot = true };

/* The kernel takes nothing for longer than anybody tries again at once, and then all: so
 * a row waits for that some times, and not for each octet. */
static int
refuse(void *arg)
{
    static const int moods[] = { EBUSY, EAGAIN, ENOMEM };
    static atomic_uint asked;
    unsigned number = atomic_fetch_add(&asked, 1);

    (void)arg;
    return number % 32 >= 12 ? 0 : moods[number % 3];
}

static const sni_uring_opts refusing = { .entries = 8, .enter = refuse };
#endif

static const backend backends[] = {
    { "epoll over tcp", EPOLL, SNI_ADDRESS_TCP4, NULL },
    { "epoll over tcp6", EPOLL, SNI_ADDRESS_TCP6, NULL },
    { "epoll over ipc", EPOLL, SNI_ADDRESS_IPC, NULL },
    { "sim over tcp", SIM, SNI_ADDRESS_TCP4, NULL },
    { "sim over ipc", SIM, SNI_ADDRESS_IPC, NULL },
#ifdef SENNIT_WITH_URING
    { "uring over tcp", URING, SNI_ADDRESS_TCP4, NULL },
    { "uring over tcp6", URING, SNI_ADDRESS_TCP6, NULL },
    { "uring over ipc", URING, SNI_ADDRESS_IPC, NULL },
    { "cooperative uring", URING, SNI_ADDRESS_TCP4, &cooperative },
    { "plain uring", URING, SNI_ADDRESS_TCP4, &plain },
    { "tiny uring", URING, SNI_ADDRESS_TCP4, &tiny },
    { "uring whose accepting ends", URING, SNI_ADDRESS_TCP4, &ending },
    { "uring that is refused", URING, SNI_ADDRESS_IPC, &refusing },
#endif
};

typedef struct fixture {
    test_alloc alloc;
    sni_pool *blocks;
    sni_sim *sim;
    sni_io *io;
    const sni_io_ops *ops;
    const sennit_sock_opts *opts; /* of all ends; NULL: as always */
    sni_address address;          /* where the listener is */
    sni_file *listener;
    sni_file *client;
    sni_file *server;
} fixture;

static sni_address
wanted(const backend *b)
{
    sni_address address = { .kind = b->kind };

    switch (b->kind) {
    case SNI_ADDRESS_TCP4:
        assert_int_equal(inet_pton(AF_INET, "127.0.0.1", address.ip), 1);
        break;
    case SNI_ADDRESS_TCP6:
        assert_int_equal(inet_pton(AF_INET6, "::1", address.ip), 1);
        break;
    case SNI_ADDRESS_IPC:
        address.wildcard = true;
        break;
    }
    return address;
}

static sennit_err
open_io(sni_io **out, const backend *b, const sennit_allocator *alloc, sni_pool *blocks,
        sni_sim *sim)
{
    const char *why;

    (void)why;
    switch (b->whose) {
    case EPOLL:
        return sni_io_epoll_open(out, alloc, blocks);
    case URING:
#ifdef SENNIT_WITH_URING
        return sni_io_uring_open(out, alloc, blocks, b->uring, &why);
#else
        break;
#endif
    case SIM:
        return sni_io_sim_open(out, alloc, blocks, sim);
    }
    return SENNIT_ENOTSUP;
}

static void
fixture_open_with(fixture *f, const backend *b, const sennit_sock_opts *ends)
{
    sni_sim_opts opts = SNI_SIM_OPTS_DEFAULT;
    const sennit_sock_opts listen = SENNIT_SOCK_OPTS_DEFAULT;
    sni_address address = wanted(b);

    memset(f, 0, sizeof *f);
    f->opts = ends;
    test_alloc_init(&f->alloc);
    f->blocks = sni_pool_new(&f->alloc.allocator, SNI_RECV_BYTES, 4);
    f->sim = b->whose == SIM ? sni_sim_new(&opts) : NULL;
    assert_int_equal(open_io(&f->io, b, &f->alloc.allocator, f->blocks, f->sim),
                     SENNIT_OK);
    f->ops = f->io->ops;
    assert_int_equal(f->ops->listen(f->io, &address, ends != NULL ? ends : &listen,
                                    &f->listener, &f->address),
                     SENNIT_OK);
}

static void
fixture_open(fixture *f, const backend *b)
{
    fixture_open_with(f, b, NULL);
}

/* The kernel takes little of a connection, so it is little work to give it too much, on a
 * busy machine too. */
static void
fixture_open_small(fixture *f, const backend *b)
{
    static sennit_sock_opts small = SENNIT_SOCK_OPTS_DEFAULT;

    small.kernel_send_bytes = small.kernel_recv_bytes = 128 * 1024;
    fixture_open_with(f, b, &small);
}

static void
fixture_close(fixture *f)
{
    if (f->client != NULL)
        f->ops->close(f->io, f->client);
    if (f->server != NULL)
        f->ops->close(f->io, f->server);
    if (f->listener != NULL)
        f->ops->close(f->io, f->listener);
    f->ops->fini(f->io);
    sni_pool_free(f->blocks);
    sni_sim_free(f->sim);
    assert_int_equal(f->alloc.live_blocks, 0);
}

static sni_op
op_of(sni_op_kind kind, sni_file *file)
{
    return (sni_op){ .kind = kind, .file = file };
}

/* Waits until `op` is back; everything else that comes out is a mistake. */
static void
await(fixture *f, sni_op *op, bool at_once)
{
    sennit_time until = f->ops->now(f->io) + 20 * SECOND;

    assert_int_equal(op->pending, !at_once);
    while (op->pending) {
        sni_op *done[4];
        int count = f->ops->reap(f->io, done, 4, until);

        assert_true(count >= 0 && count <= 1);
        if (count == 1) {
            assert_ptr_equal(done[0], op);
            op->pending = false;
        }
        assert_true(f->ops->now(f->io) < until);
    }
}

static void
run_op(fixture *f, sni_op *op)
{
    await(f, op, f->ops->submit(f->io, op));
}

/* A connection: f->client and f->server. */
static void
connect_pair(fixture *f)
{
    sni_op accept = op_of(SNI_OP_ACCEPT, f->listener);
    sni_op connect;
    unsigned back = 0;

    accept.opts = f->opts;
    assert_false(f->ops->submit(f->io, &accept));
    assert_int_equal(f->ops->dial(f->io, &f->address, NULL, f->opts, &f->client),
                     SENNIT_OK);
    connect = op_of(SNI_OP_CONNECT, f->client);
    if (f->ops->submit(f->io, &connect))
        back++;
    while (back < 2) {
        sni_op *done[4];
        int count = f->ops->reap(f->io, done, 4, f->ops->now(f->io) + 20 * SECOND);

        for (int i = 0; i < count; i++) {
            assert_true(done[i] == &accept || done[i] == &connect);
            assert_true(done[i]->pending);
            done[i]->pending = false;
            back++;
        }
    }
    assert_int_equal(accept.err, SENNIT_OK);
    assert_int_equal(connect.err, SENNIT_OK);
    assert_non_null(accept.accepted);
    f->server = accept.accepted;
}

static size_t
send_all(fixture *f, sni_file *file, const void *data, size_t size)
{
    sennit_bytes part = { data, size };
    sni_op send = op_of(SNI_OP_SEND, file);

    send.parts = &part;
    send.parts_count = 1;
    run_op(f, &send);
    assert_int_equal(send.err, SENNIT_OK);
    assert_true(send.size >= 1);
    return send.size;
}

/* Nothing is in its way. */
static size_t
send_at_once(fixture *f, sni_file *file, const void *data, size_t size)
{
    sennit_bytes part = { data, size };
    sni_op send = op_of(SNI_OP_SEND, file);

    send.parts = &part;
    send.parts_count = 1;
    assert_true(f->ops->submit(f->io, &send));
    assert_int_equal(send.err, SENNIT_OK);
    return send.size;
}

static void
the_system_chooses_a_name_that_can_be_dialled(void **state)
{
    fixture f;

    fixture_open(&f, *state);
    if (f.address.kind == SNI_ADDRESS_IPC)
        assert_true(f.address.path_size > 0);
    else
        assert_true(f.address.port > 0);
    connect_pair(&f);
    fixture_close(&f);
}

static void
a_name_is_listened_on_once(void **state)
{
    const sennit_sock_opts listen = SENNIT_SOCK_OPTS_DEFAULT;
    sni_file *second = NULL;
    sni_address address;
    sni_address bound;
    fixture f;

    fixture_open(&f, *state);
    address = f.address;
    address.wildcard = false;
    assert_int_equal(f.ops->listen(f.io, &address, &listen, &second, &bound),
                     SENNIT_EADDRINUSE);
    assert_null(second);
    fixture_close(&f);
}

static void
octets_arrive_in_order_in_both_directions(void **state)
{
    fixture f;

    fixture_open(&f, *state);
    connect_pair(&f);
    for (int way = 0; way < 2; way++) {
        sni_file *from = way == 0 ? f.client : f.server;
        sni_file *to = way == 0 ? f.server : f.client;
        sennit_bytes parts[3] = { { (const uint8_t *)"one", 3 },
                                  { (const uint8_t *)"two", 3 },
                                  { (const uint8_t *)"!", 1 } };
        sni_op send = op_of(SNI_OP_SEND, from);
        char seen[8] = "";
        size_t size = 0;

        send.parts = parts;
        send.parts_count = 3;
        run_op(&f, &send);
        assert_int_equal(send.err, SENNIT_OK);
        assert_int_equal(send.size, 7);
        while (size < 7) {
            sni_op recv = op_of(SNI_OP_RECV, to);

            run_op(&f, &recv);
            assert_int_equal(recv.err, SENNIT_OK);
            assert_true(recv.size > 0 && recv.size <= 7 - size);
            assert_non_null(recv.home);
            memcpy(seen + size, recv.into, recv.size);
            size += recv.size;
            sni_block_unref(recv.home);
        }
        assert_string_equal(seen, "onetwo!");
    }
    fixture_close(&f);
}

static void
a_receive_goes_where_it_is_told_and_no_further(void **state)
{
    fixture f;
    sni_block *block;
    sni_op recv;

    fixture_open(&f, *state);
    connect_pair(&f);
    assert_int_equal(send_all(&f, f.client, "0123456789", 10), 10);
    block = sni_block_new(&f.alloc.allocator, 100);
    memset(block->data, '.', 100);
    recv = op_of(SNI_OP_RECV, f.server);
    recv.home = block;
    recv.into = block->data + 20;
    recv.room = 4;
    run_op(&f, &recv);
    assert_int_equal(recv.err, SENNIT_OK);
    assert_int_equal(recv.size, 4);
    assert_memory_equal(block->data + 19, ".0123.", 6);
    recv.into = block->data + 24;
    recv.room = 70;
    run_op(&f, &recv);
    assert_int_equal(recv.size, 6);
    assert_memory_equal(block->data + 20, "0123456789", 10);
    sni_block_unref(block);
    fixture_close(&f);
}

static void
what_was_received_stays_while_it_is_referenced(void **state)
{
    fixture f;
    sni_op first;
    sni_op second;

    fixture_open(&f, *state);
    connect_pair(&f);
    assert_int_equal(send_all(&f, f.client, "first", 5), 5);
    first = op_of(SNI_OP_RECV, f.server);
    run_op(&f, &first);
    assert_int_equal(send_all(&f, f.client, "second", 6), 6);
    second = op_of(SNI_OP_RECV, f.server);
    run_op(&f, &second);
    assert_memory_equal(first.into, "first", 5);
    assert_memory_equal(second.into, "second", 6);
    sni_block_unref(first.home);
    sni_block_unref(second.home);
    fixture_close(&f);
}

static void
the_end_of_the_stream_comes_behind_what_was_sent(void **state)
{
    fixture f;
    sni_op recv;
    size_t size = 0;

    fixture_open(&f, *state);
    connect_pair(&f);
    assert_int_equal(send_all(&f, f.client, "bye", 3), 3);
    f.ops->close(f.io, f.client);
    f.client = NULL;
    do {
        recv = op_of(SNI_OP_RECV, f.server);
        run_op(&f, &recv);
        assert_int_equal(recv.err, SENNIT_OK);
        size += recv.size;
        sni_block_unref(recv.home);
    } while (recv.size > 0);
    assert_int_equal(size, 3);
    /* And it stays the end. */
    recv = op_of(SNI_OP_RECV, f.server);
    run_op(&f, &recv);
    assert_int_equal(recv.size, 0);
    sni_block_unref(recv.home);
    fixture_close(&f);
}

/* A parked receive is woken by the end as by octets. */
static void
a_waiting_receive_sees_the_end(void **state)
{
    fixture f;
    sni_op recv;

    fixture_open(&f, *state);
    connect_pair(&f);
    recv = op_of(SNI_OP_RECV, f.server);
    assert_false(f.ops->submit(f.io, &recv));
    f.ops->close(f.io, f.client);
    f.client = NULL;
    await(&f, &recv, false);
    assert_int_equal(recv.err, SENNIT_OK);
    assert_int_equal(recv.size, 0);
    sni_block_unref(recv.home);
    fixture_close(&f);
}

static void
a_connect_to_nobody_is_refused(void **state)
{
    fixture f;
    sni_op connect;

    fixture_open(&f, *state);
    f.ops->close(f.io, f.listener);
    f.listener = NULL;
    f.address.wildcard = false;
    assert_int_equal(f.ops->dial(f.io, &f.address, NULL, NULL, &f.client), SENNIT_OK);
    connect = op_of(SNI_OP_CONNECT, f.client);
    run_op(&f, &connect);
    /* A path that is gone has no file. */
    assert_true(connect.err == SENNIT_ECONNREFUSED ||
                (f.address.kind == SNI_ADDRESS_IPC && connect.err == SENNIT_ENOENT));
    fixture_close(&f);
}

static void
sending_into_a_closed_connection_ends_in_a_reset(void **state)
{
    fixture f;
    sennit_err err = SENNIT_OK;

    fixture_open(&f, *state);
    connect_pair(&f);
    f.ops->close(f.io, f.server);
    f.server = NULL;
    for (int i = 0; i < 1000 && err == SENNIT_OK; i++) {
        sennit_bytes part = { (const uint8_t *)"x", 1 };
        sni_op send = op_of(SNI_OP_SEND, f.client);
        sni_op *done[1];

        send.parts = &part;
        send.parts_count = 1;
        run_op(&f, &send);
        err = send.err;
        (void)f.ops->reap(f.io, done, 1, f.ops->now(f.io) + SECOND / 1000);
    }
    assert_int_equal(err, SENNIT_ECONNRESET);
    fixture_close(&f);
}

static void
a_cancelled_operation_comes_back_exactly_once(void **state)
{
    fixture f;
    sni_op recv;
    sni_op *done[4];

    fixture_open(&f, *state);
    connect_pair(&f);
    recv = op_of(SNI_OP_RECV, f.server);
    assert_false(f.ops->submit(f.io, &recv));
    f.ops->cancel(f.io, &recv);
    f.ops->cancel(f.io, &recv);
    await(&f, &recv, false);
    assert_int_equal(recv.err, SENNIT_ECLOSED);
    f.ops->cancel(f.io, &recv);
    assert_int_equal(f.ops->reap(f.io, done, 4, 0), 0);
    /* And the file can be used on. */
    assert_int_equal(send_all(&f, f.client, "on", 2), 2);
    run_op(&f, &recv);
    assert_int_equal(recv.size, 2);
    sni_block_unref(recv.home);
    fixture_close(&f);
}

static void
a_cancelled_accept_and_connect_come_back_too(void **state)
{
    fixture f;
    sni_op accept;
    sni_op connect;

    fixture_open(&f, *state);
    accept = op_of(SNI_OP_ACCEPT, f.listener);
    assert_false(f.ops->submit(f.io, &accept));
    f.ops->cancel(f.io, &accept);
    await(&f, &accept, false);
    assert_int_equal(accept.err, SENNIT_ECLOSED);
    assert_null(accept.accepted);
    assert_int_equal(f.ops->dial(f.io, &f.address, NULL, NULL, &f.client), SENNIT_OK);
    connect = op_of(SNI_OP_CONNECT, f.client);
    if (!f.ops->submit(f.io, &connect)) {
        f.ops->cancel(f.io, &connect);
        await(&f, &connect, false);
        assert_true(connect.err == SENNIT_OK || connect.err == SENNIT_ECLOSED);
    }
    fixture_close(&f);
}

/* When the kernel of the other side says that it has all. */
static void
await_delivery(fixture *f, const sni_file *file)
{
    sennit_time until = f->ops->now(f->io) + 20 * SECOND;

    while (f->ops->undelivered(f->io, file)) {
        sni_op *done[1];

        assert_int_equal(f->ops->reap(f->io, done, 1, f->ops->now(f->io) + SECOND / 1000),
                         0);
        assert_true(f->ops->now(f->io) < until);
    }
}

/* More than any buffer: the sender waits until the other end reads, and some of it is
 * undelivered meanwhile. A unix socket has no place for that. */
static void
a_send_waits_for_the_reader(void **state)
{
    enum { TOTAL = 2 * 1024 * 1024 };
    const backend *b = *state;
    fixture f;
    uint8_t *data = malloc(TOTAL);
    sennit_bytes part;
    sni_op send;
    sni_op recv;
    size_t sent = 0;
    size_t seen = 0;
    bool waited = false;

    fixture_open_small(&f, b);
    connect_pair(&f);
    assert_false(f.ops->undelivered(f.io, f.client));
    for (size_t i = 0; i < TOTAL; i++)
        data[i] = (uint8_t)(i * 7 + i / 999);
    send = op_of(SNI_OP_SEND, f.client);
    recv = op_of(SNI_OP_RECV, f.server);
    while (seen < TOTAL) {
        sni_op *done[4];
        int count = 0;

        while (sent < TOTAL && !send.pending) {
            part = sni_bytes(data + sent, TOTAL - sent);
            send.parts = &part;
            send.parts_count = 1;
            if (!f.ops->submit(f.io, &send)) {
                waited = true;
                assert_int_equal(f.ops->undelivered(f.io, f.client),
                                 b->whose == SIM || b->kind != SNI_ADDRESS_IPC);
                break;
            }
            assert_int_equal(send.err, SENNIT_OK);
            sent += send.size;
        }
        if (!recv.pending) {
            recv.home = NULL;
            if (f.ops->submit(f.io, &recv))
                done[count++] = &recv;
        }
        if (count == 0)
            count = f.ops->reap(f.io, done, 4, f.ops->now(f.io) + 20 * SECOND);
        for (int i = 0; i < count; i++) {
            done[i]->pending = false;
            assert_int_equal(done[i]->err, SENNIT_OK);
            if (done[i] == &send) {
                sent += send.size;
                continue;
            }
            assert_true(recv.size > 0);
            if (memcmp(data + seen, recv.into, recv.size) != 0)
                fail_msg("octets differ behind %zu", seen);
            seen += recv.size;
            sni_block_unref(recv.home);
        }
    }
    assert_true(waited);
    assert_int_equal(sent, TOTAL);
    await_delivery(&f, f.client);
    free(data);
    fixture_close(&f);
}

/* ---- several sends --------------------------------------------------- */

/* Connections to one listener, the senders' ends first. */
#define CROWD SNI_SENDS_TOGETHER

typedef struct crowd {
    fixture f;
    sni_file *from[CROWD];
    sni_file *to[CROWD];
    sni_op sends[CROWD];
    sennit_bytes parts[CROWD][3];
    size_t count;
    size_t size; /* of what each sends */
    size_t sent[CROWD];
    size_t seen[CROWD];
    bool waited; /* some had to wait */
} crowd;

/* More than the kernel takes of a connection. */
static uint8_t crowd_data[2 << 20];

/* False: this backend sends one after the other. */
static bool
crowd_open(crowd *c, const backend *b, size_t size)
{
    memset(c, 0, sizeof *c);
    c->size = size;
    c->count = size == sizeof crowd_data ? 3 : CROWD;
    fixture_open_small(&c->f, b);
    if (c->f.ops->submit_sends == NULL)
        return false;
    for (size_t i = 0; i < c->count; i++) {
        connect_pair(&c->f);
        c->from[i] = c->f.client;
        c->to[i] = c->f.server;
    }
    c->f.client = NULL;
    c->f.server = NULL;
    for (size_t i = 0; i < size; i++)
        crowd_data[i] = (uint8_t)(i * 7 + i / 999);
    return true;
}

static void
crowd_close(crowd *c)
{
    for (size_t i = 0; i < c->count; i++) {
        if (c->from[i] != NULL)
            c->f.ops->close(c->f.io, c->from[i]);
        if (c->to[i] != NULL)
            c->f.ops->close(c->f.io, c->to[i]);
    }
    fixture_close(&c->f);
}

/* One part, or three. */
static void
lend(crowd *c, size_t i)
{
    const uint8_t *rest = crowd_data + c->sent[i];
    size_t size = c->size - c->sent[i];
    size_t third = i % 2 == 0 ? size / 3 : 0;

    c->sends[i] = op_of(SNI_OP_SEND, c->from[i]);
    c->sends[i].parts = c->parts[i];
    c->sends[i].parts_count = third > 0 ? 3 : 1;
    c->parts[i][0] = sni_bytes(rest, third > 0 ? third : size);
    c->parts[i][1] = sni_bytes(rest + third, third);
    c->parts[i][2] = sni_bytes(rest + 2 * third, size - 2 * third);
}

static size_t
number_of(const crowd *c, const sni_op *send)
{
    return (size_t)(send - c->sends);
}

/* Begins those that have something left and wait for nothing; false: none has. */
static bool
send_together(crowd *c)
{
    sni_op *sends[CROWD];
    int count = 0;
    int done;

    for (size_t i = 0; i < c->count; i++) {
        if (c->sends[i].pending || c->sent[i] == c->size)
            continue;
        lend(c, i);
        sends[count++] = &c->sends[i];
    }
    done = c->f.ops->submit_sends(c->f.io, sends, count);
    assert_in_range(done, 0, count);
    for (int i = 0; i < count; i++) {
        assert_true(sends[i]->pending);
        if (i >= done) {
            c->waited = true;
            continue;
        }
        sends[i]->pending = false;
        assert_int_equal(sends[i]->err, SENNIT_OK);
        assert_in_range(sends[i]->size, 1, c->size);
        c->sent[number_of(c, sends[i])] += sends[i]->size;
    }
    return count > 0;
}

/* Takes what has arrived at one, and what was sent meanwhile is told. */
static void
read_one(crowd *c, size_t i)
{
    sni_op recv = op_of(SNI_OP_RECV, c->to[i]);
    bool pending = !c->f.ops->submit(c->f.io, &recv);
    sennit_time until = c->f.ops->now(c->f.io) + 20 * SECOND;

    while (pending) {
        sni_op *done[4];
        int count = c->f.ops->reap(c->f.io, done, 4, until);

        assert_true(count >= 0);
        if (count == 0 && c->f.ops->now(c->f.io) >= until)
            fail_msg("%zu: nothing came behind %zu of %zu octets, %s", i, c->seen[i],
                     c->sent[i], c->sends[i].pending ? "a send waits" : "none waits");
        for (int k = 0; k < count; k++) {
            assert_true(done[k]->pending);
            done[k]->pending = false;
            if (done[k] == &recv) {
                pending = false;
                continue;
            }
            assert_int_equal(done[k]->err, SENNIT_OK);
            c->sent[number_of(c, done[k])] += done[k]->size;
        }
    }
    assert_int_equal(recv.err, SENNIT_OK);
    assert_in_range(recv.size, 1, c->size - c->seen[i]);
    assert_memory_equal(crowd_data + c->seen[i], recv.into, recv.size);
    c->seen[i] += recv.size;
    sni_block_unref(recv.home);
}

static void
read_all(crowd *c)
{
    for (bool left = true; left;) {
        left = send_together(c);
        for (size_t i = 0; i < c->count; i++) {
            if (c->seen[i] < c->sent[i] || c->sends[i].pending)
                read_one(c, i);
            left = left || c->seen[i] < c->size;
        }
    }
}

static void
what_is_sent_together_arrives_whole_everywhere(void **state)
{
    crowd c;

    if (crowd_open(&c, *state, 100)) {
        for (int row = 0; row < 3; row++) {
            memset(c.sent, 0, sizeof c.sent);
            memset(c.seen, 0, sizeof c.seen);
            read_all(&c);
        }
    }
    crowd_close(&c);
}

/* Not to the end of what each was asked: the rest goes again, in order. */
static void
sends_together_of_more_than_fits_wait_for_their_readers(void **state)
{
    crowd c;

    if (crowd_open(&c, *state, sizeof crowd_data)) {
        while (send_together(&c))
            continue;
        assert_true(c.waited);
        read_all(&c);
    }
    crowd_close(&c);
}

/* One has gone; the others hear nothing of that. */
static void
a_reset_among_sends_together_is_that_ones_alone(void **state)
{
    enum { GONE = 5 };
    sni_op *sends[CROWD];
    sennit_err err = SENNIT_OK;
    crowd c;

    if (!crowd_open(&c, *state, 1)) {
        crowd_close(&c);
        return;
    }
    c.f.ops->close(c.f.io, c.to[GONE]);
    c.to[GONE] = NULL;
    for (int row = 0; row < 1000 && err == SENNIT_OK; row++) {
        sni_op *back[4];
        unsigned count = 0;
        unsigned done;

        for (size_t i = 0; i < c.count; i++) {
            lend(&c, i);
            sends[i] = &c.sends[i];
        }
        done = (unsigned)c.f.ops->submit_sends(c.f.io, sends, CROWD);
        for (unsigned i = 0; i < done; i++)
            sends[i]->pending = false;
        while (done < CROWD) {
            count = (unsigned)c.f.ops->reap(c.f.io, back, 4,
                                            c.f.ops->now(c.f.io) + 20 * SECOND);
            assert_in_range(count, 0, 4);
            for (unsigned i = 0; i < count; i++)
                back[i]->pending = false;
            done += count;
        }
        for (size_t i = 0; i < c.count; i++)
            if (i != GONE)
                assert_int_equal(c.sends[i].err, SENNIT_OK);
        err = c.sends[GONE].err;
        (void)c.f.ops->reap(c.f.io, back, 1, c.f.ops->now(c.f.io) + SECOND / 1000);
    }
    assert_int_equal(err, SENNIT_ECONNRESET);
    crowd_close(&c);
}

/* Each that waits is taken back, cancelled or both; each comes back once, or not. */
static void
sends_together_that_wait_can_be_taken_back(void **state)
{
    sni_op *back[4];
    unsigned cancelled = 0;
    crowd c;
    int count;

    if (!crowd_open(&c, *state, sizeof crowd_data)) {
        crowd_close(&c);
        return;
    }
    while (send_together(&c))
        continue;
    for (size_t i = 0; i < c.count; i++) {
        sni_op *send = &c.sends[i];

        if (!send->pending || (i % 3 == 0 && c.f.ops->retract(c.f.io, send)))
            continue;
        c.f.ops->cancel(c.f.io, send);
        c.f.ops->cancel(c.f.io, send);
        assert_true(send->pending);
        cancelled++;
    }
    while (cancelled > 0) {
        count = c.f.ops->reap(c.f.io, back, 4, c.f.ops->now(c.f.io) + 20 * SECOND);
        assert_in_range(count, 0, 4);
        for (int i = 0; i < count; i++, cancelled--) {
            assert_true(back[i]->pending);
            back[i]->pending = false;
            if (back[i]->err == SENNIT_OK)
                c.sent[number_of(&c, back[i])] += back[i]->size;
            else
                assert_int_equal(back[i]->err, SENNIT_ECLOSED);
        }
    }
    assert_int_equal(c.f.ops->reap(c.f.io, back, 4, 0), 0);
    /* What was not sent is sent now. */
    read_all(&c);
    crowd_close(&c);
}

/* Its child sends nothing on the parent's connections. */
static void
in_a_forked_child_sends_together_are_closed(void **state)
{
    const backend *b = *state;
    crowd c;
    int status;
    pid_t child;

    if (b->whose == SIM || !crowd_open(&c, b, 100)) {
        if (b->whose != SIM)
            crowd_close(&c);
        return;
    }
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        sni_op *sends[CROWD];
        int good = 0;

        for (size_t i = 0; i < c.count; i++) {
            lend(&c, i);
            sends[i] = &c.sends[i];
        }
        if (c.f.ops->submit_sends(c.f.io, sends, CROWD) == CROWD)
            for (size_t i = 0; i < c.count; i++)
                good += c.sends[i].pending && c.sends[i].err == SENNIT_ECLOSED;
        _exit(good == CROWD ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    read_all(&c);
    crowd_close(&c);
}

static void
a_wake_ends_one_wait(void **state)
{
    fixture f;
    sni_op *done[1];
    sennit_time before;

    fixture_open(&f, *state);
    before = f.ops->now(f.io);
    f.ops->wake(f.io);
    assert_int_equal(f.ops->reap(f.io, done, 1, before + 20 * SECOND), 0);
    assert_true(f.ops->now(f.io) < before + 10 * SECOND);
    fixture_close(&f);
}

/* What is done between a wake and the wait that it is for does not use it up: several
 * sends, and a receive that is taken back. */
static void
a_wake_ends_the_next_wait_whatever_is_done_before(void **state)
{
    sni_op *done[1];
    crowd c;

    if (!crowd_open(&c, *state, 100)) {
        crowd_close(&c);
        return;
    }
    for (int row = 0; row < 4; row++) {
        sni_op recv = op_of(SNI_OP_RECV, c.to[0]);
        sennit_time before;
        int count;

        assert_int_equal(c.f.ops->reap(c.f.io, done, 1, 0), 0);
        if (row % 2 == 1) {
            assert_false(c.f.ops->submit(c.f.io, &recv));
            assert_int_equal(c.f.ops->reap(c.f.io, done, 1, 0), 0);
        }
        c.f.ops->wake(c.f.io);
        if (row % 2 == 0)
            (void)send_together(&c);
        else if (!c.f.ops->retract(c.f.io, &recv))
            c.f.ops->cancel(c.f.io, &recv);
        before = c.f.ops->now(c.f.io);
        count = c.f.ops->reap(c.f.io, done, 1, before + 20 * SECOND);
        assert_in_range(count, 0, 1);
        assert_true(c.f.ops->now(c.f.io) < before + 10 * SECOND);
        if (count == 1) {
            done[0]->pending = false;
            if (done[0] != &recv)
                c.sent[number_of(&c, done[0])] += done[0]->size;
        }
        assert_false(recv.pending);
        read_all(&c);
        memset(c.sent, 0, sizeof c.sent);
        memset(c.seen, 0, sizeof c.seen);
    }
    crowd_close(&c);
}

static void
a_wait_lasts_until_its_time(void **state)
{
    fixture f;
    sni_op *done[1];
    sennit_time until;

    fixture_open(&f, *state);
    until = f.ops->now(f.io) + SECOND / 200;
    while (f.ops->now(f.io) < until)
        assert_int_equal(f.ops->reap(f.io, done, 1, until), 0);
    assert_int_equal(f.ops->reap(f.io, done, 1, 0), 0);
    fixture_close(&f);
}

static void
no_more_comes_back_than_was_asked_for(void **state)
{
    fixture f;
    sni_op accept;
    sni_op recv;
    sni_op *done[1];
    int first;

    fixture_open(&f, *state);
    connect_pair(&f);
    accept = op_of(SNI_OP_ACCEPT, f.listener);
    recv = op_of(SNI_OP_RECV, f.server);
    assert_false(f.ops->submit(f.io, &accept));
    assert_false(f.ops->submit(f.io, &recv));
    f.ops->cancel(f.io, &accept);
    f.ops->cancel(f.io, &recv);
    first = f.ops->reap(f.io, done, 1, 0);
    assert_int_equal(first, 1);
    assert_int_equal(f.ops->reap(f.io, done, 1, f.ops->now(f.io) + SECOND), 1);
    assert_int_equal(f.ops->reap(f.io, done, 1, 0), 0);
    accept.pending = recv.pending = false;
    fixture_close(&f);
}

static void
connections_that_nobody_accepts_end_with_the_listener(void **state)
{
    fixture f;
    sni_op connect;
    sni_op recv;

    fixture_open(&f, *state);
    assert_int_equal(f.ops->dial(f.io, &f.address, NULL, NULL, &f.client), SENNIT_OK);
    connect = op_of(SNI_OP_CONNECT, f.client);
    run_op(&f, &connect);
    assert_int_equal(connect.err, SENNIT_OK);
    f.ops->close(f.io, f.listener);
    f.listener = NULL;
    recv = op_of(SNI_OP_RECV, f.client);
    run_op(&f, &recv);
    assert_true(recv.err == SENNIT_ECONNRESET ||
                (recv.err == SENNIT_OK && recv.size == 0));
    sni_block_unref(recv.home);
    fixture_close(&f);
}

/* ---- the descriptor ------------------------------------------------------ */

/* Calls nothing but reap(), and that only when it is told to. */
static int
reap_when_told(fixture *f, int fd, sni_op **done, int max)
{
    struct pollfd told = { .fd = fd, .events = POLLIN };

    assert_int_equal(poll(&told, 1, 20000), 1);
    return f->ops->reap(f->io, done, max, 0);
}

static void
who_waits_for_the_descriptor_hears_of_everything(void **state)
{
    fixture f;
    int fd;

    fixture_open(&f, *state);
    fd = f.ops->descriptor(f.io);
    if (fd < 0) {
        fixture_close(&f); /* the simulator has none */
        return;
    }
    connect_pair(&f);
    for (int round = 0; round < 20; round++) {
        sni_file *files[2] = { f.client, f.server };
        sni_op recvs[2];
        unsigned back = 0;

        for (int i = 0; i < 2; i++) {
            recvs[i] = op_of(SNI_OP_RECV, files[i]);
            assert_false(f.ops->submit(f.io, &recvs[i]));
        }
        for (int i = 0; i < 2; i++)
            assert_int_equal(send_at_once(&f, files[i], "both", 4), 4);
        /* One at a time, and with one buffer only one finds that free. */
        while (back < 2) {
            sni_op *done;

            if (reap_when_told(&f, fd, &done, 1) == 0)
                continue;
            assert_true(done == &recvs[0] || done == &recvs[1]);
            assert_int_equal(done->err, SENNIT_OK);
            assert_int_equal(done->size, 4);
            sni_block_unref(done->home);
            done->pending = false;
            back++;
        }
    }
    f.ops->wake(f.io);
    assert_int_equal(reap_when_told(&f, fd, &(sni_op *){ NULL }, 1), 0);
    fixture_close(&f);
}

/* ---- hangups --------------------------------------------------------- */

/* Nothing is received, and yet the end is told: behind octets that nobody reads. */
static void
a_hangup_is_told_while_nothing_is_received(void **state)
{
    fixture f;
    sni_op watch;
    sni_op recv;
    sni_op *done[1];

    fixture_open(&f, *state);
    connect_pair(&f);
    watch = op_of(SNI_OP_HANGUP, f.server);
    assert_false(f.ops->submit(f.io, &watch));
    assert_int_equal(send_all(&f, f.client, "unread", 6), 6);
    /* Octets alone are no hangup. */
    assert_int_equal(f.ops->reap(f.io, done, 1, f.ops->now(f.io) + SECOND / 200), 0);
    assert_true(watch.pending);
    f.ops->close(f.io, f.client);
    f.client = NULL;
    await(&f, &watch, false);
    assert_int_equal(watch.err, SENNIT_OK);
    /* What was unread still is, and then comes the end. */
    recv = op_of(SNI_OP_RECV, f.server);
    run_op(&f, &recv);
    assert_int_equal(recv.size, 6);
    sni_block_unref(recv.home);
    recv.home = NULL;
    run_op(&f, &recv);
    assert_int_equal(recv.size, 0);
    sni_block_unref(recv.home);
    /* And it stays hung up. */
    run_op(&f, &watch);
    assert_int_equal(watch.err, SENNIT_OK);
    fixture_close(&f);
}

/* The peer has sent its last octet, but reads on. */
static void
a_peer_that_finishes_has_hung_up(void **state)
{
    fixture f;
    sni_op watch;
    sni_op recv;

    fixture_open(&f, *state);
    connect_pair(&f);
    watch = op_of(SNI_OP_HANGUP, f.server);
    assert_false(f.ops->submit(f.io, &watch));
    f.ops->finish(f.io, f.client);
    await(&f, &watch, false);
    assert_int_equal(send_all(&f, f.server, "on", 2), 2);
    recv = op_of(SNI_OP_RECV, f.client);
    run_op(&f, &recv);
    assert_int_equal(recv.size, 2);
    sni_block_unref(recv.home);
    fixture_close(&f);
}

static void
a_hangup_goes_beside_a_receive_and_a_send_and_can_be_taken_back(void **state)
{
    fixture f;
    sni_op watch;
    sni_op recv;
    bool retracted;

    fixture_open(&f, *state);
    connect_pair(&f);
    watch = op_of(SNI_OP_HANGUP, f.server);
    recv = op_of(SNI_OP_RECV, f.server);
    assert_false(f.ops->submit(f.io, &watch));
    assert_false(f.ops->submit(f.io, &recv));
    assert_int_equal(send_all(&f, f.client, "x", 1), 1);
    await(&f, &recv, false);
    assert_int_equal(recv.size, 1);
    sni_block_unref(recv.home);
    retracted = f.ops->retract(f.io, &watch);
    if (!retracted) {
        f.ops->cancel(f.io, &watch);
        await(&f, &watch, false);
        assert_int_equal(watch.err, SENNIT_ECLOSED);
    }
    assert_false(watch.pending);
    fixture_close(&f);
}

/* ---- names ------------------------------------------------------------- */

/* How many names were looked up; by several threads, which may outlive a test. */
static atomic_uint asked;

static sennit_err
resolve_test(void *arg, const char *host, bool ipv6, sennit_ip found[SENNIT_RESOLVED_MAX],
             size_t *found_count)
{
    (void)arg;
    atomic_fetch_add(&asked, 1);
    if (strcmp(host, "known.test") != 0)
        return SENNIT_ENODEV;
    found[0] = (sennit_ip){ .octets = { 192, 0, 2, 1 } };
    found[1] = (sennit_ip){ .v6 = true, .octets = { 0x20, 1 }, .scope = 3 };
    *found_count = ipv6 ? 2 : 1;
    return SENNIT_OK;
}

static void
set_names(fixture *f)
{
    const sennit_resolver names = { resolve_test, NULL };

    atomic_store(&asked, 0);
    if (f->sim != NULL)
        sni_sim_set_names(f->sim, &names);
    else
        f->io->resolver = names;
}

static void
a_name_is_looked_up_and_nobody_waits(void **state)
{
    sni_lookup lookup = { .host = "known.test", .ipv6 = true };
    sni_op resolve = { .kind = SNI_OP_RESOLVE, .lookup = &lookup };
    fixture f;

    fixture_open(&f, *state);
    set_names(&f);
    assert_false(f.ops->submit(f.io, &resolve));
    await(&f, &resolve, false);
    assert_int_equal(resolve.err, SENNIT_OK);
    assert_null(resolve.why);
    assert_int_equal(lookup.found_count, 2);
    assert_false(lookup.found[0].v6);
    assert_memory_equal(lookup.found[0].octets, "\xc0\x00\x02\x01", 4);
    assert_true(lookup.found[1].v6);
    assert_int_equal(lookup.found[1].scope, 3);
    assert_int_equal(asked, 1);
    fixture_close(&f);
}

static void
a_name_that_is_not_found_says_so(void **state)
{
    sni_lookup lookup = { .host = "unknown.test" };
    sni_op resolve = { .kind = SNI_OP_RESOLVE, .lookup = &lookup };
    fixture f;

    fixture_open(&f, *state);
    set_names(&f);
    run_op(&f, &resolve);
    assert_int_equal(resolve.err, SENNIT_ENODEV);
    assert_non_null(resolve.why);
    fixture_close(&f);
}

static void
look_ups_come_back_once_each_also_when_they_are_cancelled(void **state)
{
    enum { COUNT = 8 };
    sni_lookup lookups[COUNT];
    sni_op ops[COUNT];
    bool retracted[COUNT] = { false };
    unsigned back = 0;
    fixture f;

    fixture_open(&f, *state);
    set_names(&f);
    for (int i = 0; i < COUNT; i++) {
        lookups[i] = (sni_lookup){ .host = "known.test" };
        ops[i] = (sni_op){ .kind = SNI_OP_RESOLVE, .lookup = &lookups[i] };
        assert_false(f.ops->submit(f.io, &ops[i]));
    }
    for (int i = 0; i < COUNT; i++) {
        if (i % 3 == 1)
            f.ops->cancel(f.io, &ops[i]);
        if (i % 3 == 2)
            retracted[i] = f.ops->retract(f.io, &ops[i]);
        back += retracted[i];
    }
    while (back < COUNT) {
        sni_op *done[COUNT];
        int count = f.ops->reap(f.io, done, COUNT, f.ops->now(f.io) + 20 * SECOND);

        for (int i = 0; i < count; i++) {
            assert_true(done[i]->pending);
            done[i]->pending = false;
            back++;
        }
    }
    for (int i = 0; i < COUNT; i++) {
        assert_false(ops[i].pending);
        if (i % 3 == 0)
            assert_int_equal(ops[i].err, SENNIT_OK);
        if (!retracted[i])
            assert_true(ops[i].err == SENNIT_OK || ops[i].err == SENNIT_ECLOSED);
    }
    fixture_close(&f);
}

static void
a_backend_may_be_closed_with_look_ups_under_way_that_were_taken_back(void **state)
{
    sni_lookup lookup = { .host = "known.test" };
    sni_op resolve = { .kind = SNI_OP_RESOLVE, .lookup = &lookup };
    fixture f;

    fixture_open(&f, *state);
    set_names(&f);
    assert_false(f.ops->submit(f.io, &resolve));
    if (!f.ops->retract(f.io, &resolve)) {
        f.ops->cancel(f.io, &resolve);
        await(&f, &resolve, false);
    }
    fixture_close(&f);
}

/* ---- who and where ----------------------------------------------------- */

static void
both_ends_can_be_named(void **state)
{
    const backend *b = *state;
    sni_peer_name name;
    fixture f;

    fixture_open(&f, b);
    connect_pair(&f);
    f.ops->peer_name(f.io, f.client, &name);
    assert_int_equal(name.address.kind, b->kind);
    if (b->kind == SNI_ADDRESS_IPC) {
        assert_string_equal(name.text, "");
        assert_true(name.uid >= 0 && name.gid >= 0 && name.pid > 0);
        f.ops->peer_name(f.io, f.server, &name);
        assert_string_equal(name.text, "");
        assert_true(name.uid >= 0 && name.gid >= 0 && name.pid > 0);
    } else {
        char text[SNI_PEER_TEXT_MAX];

        sni_address_peer_text(&f.address, text);
        assert_string_equal(name.text, text);
        assert_int_equal(name.uid, -1);
        assert_int_equal(name.pid, -1);
        f.ops->peer_name(f.io, f.server, &name);
        assert_int_equal(name.address.kind, b->kind);
        assert_memory_equal(name.address.ip, f.address.ip, 16);
    }
    fixture_close(&f);
}

static void
interfaces_are_known_by_name(void **state)
{
    static const uint8_t loopback[4] = { 127, 0, 0, 1 };
    sni_address address;
    uint32_t scope = 0;
    fixture f;

    fixture_open(&f, *state);
    assert_int_equal(f.ops->interface_address(f.io, "lo", true, true, &address),
                     SENNIT_OK);
    assert_int_equal(address.kind, SNI_ADDRESS_TCP4);
    assert_memory_equal(address.ip, loopback, 4);
    assert_int_equal(f.ops->interface_scope(f.io, "lo", &scope), SENNIT_OK);
    assert_int_equal(scope, 1);
    assert_int_equal(f.ops->interface_address(f.io, "nosuchif0", true, true, &address),
                     SENNIT_ENODEV);
    assert_int_equal(f.ops->interface_address(f.io, "lo", false, false, &address),
                     SENNIT_ENODEV);
    assert_int_equal(f.ops->interface_scope(f.io, "nosuchif0", &scope), SENNIT_ENODEV);
    fixture_close(&f);
}

static void
what_does_not_listen_cannot_be_adopted(void **state)
{
    sni_file *file = NULL;
    sni_address bound;
    fixture f;

    fixture_open(&f, *state);
    assert_int_equal(f.ops->adopt(f.io, -1, &file, &bound), SENNIT_EINVAL);
    assert_non_null(f.io->why);
    assert_int_equal(f.ops->adopt(f.io, 0, &file, &bound), SENNIT_EINVAL);
    assert_null(file);
    fixture_close(&f);
}

/* ---- memory --------------------------------------------------------- */

static void
backend_scenario(test_alloc *alloc, void *arg)
{
    const backend *b = arg;
    sni_sim_opts sim_opts = SNI_SIM_OPTS_DEFAULT;
    sni_sim *sim = sni_sim_new(&sim_opts);
    sni_pool *blocks = sni_pool_new(&alloc->allocator, SNI_RECV_BYTES, 2);
    const sennit_sock_opts listen = SENNIT_SOCK_OPTS_DEFAULT;
    sni_address address = wanted(b);
    sni_address bound;
    sni_file *listener = NULL;
    sni_file *client = NULL;
    sni_io *io = NULL;
    sennit_err err;

    if (blocks == NULL)
        goto out;
    err = open_io(&io, b, &alloc->allocator, blocks, sim);
    if (err == SENNIT_OK)
        err = io->ops->listen(io, &address, &listen, &listener, &bound);
    if (err == SENNIT_OK)
        err = io->ops->dial(io, &bound, NULL, NULL, &client);
    assert_int_equal(err, alloc->failed > 0 ? SENNIT_ENOMEM : SENNIT_OK);
out:
    if (client != NULL)
        io->ops->close(io, client);
    if (listener != NULL)
        io->ops->close(io, listener);
    if (io != NULL)
        io->ops->fini(io);
    sni_pool_free(blocks);
    sni_sim_free(sim);
}

static void
a_backend_survives_every_failed_allocation(void **state)
{
    assert_true(test_alloc_every_failure(backend_scenario, *state) >= 4);
}

/* Containers often come without IPv6: then its rows are left out, and said so. */
static bool
available(const backend *b)
{
    sni_pool *blocks = sni_pool_new(&sni_alloc_default, SNI_RECV_BYTES, 1);
    const sennit_sock_opts listen = SENNIT_SOCK_OPTS_DEFAULT;
    sni_address address = wanted(b);
    sni_address bound;
    sni_file *listener = NULL;
    sni_io *io = NULL;
    bool there = true;

    if (b->kind == SNI_ADDRESS_TCP6 &&
        sni_io_epoll_open(&io, &sni_alloc_default, blocks) == SENNIT_OK) {
        there = io->ops->listen(io, &address, &listen, &listener, &bound) !=
                SENNIT_EADDRNOTAVAIL;
        if (listener != NULL)
            io->ops->close(io, listener);
        io->ops->fini(io);
    }
    sni_pool_free(blocks);
    if (!there)
        print_message("%s: this machine has no [::1], its rows are left out\n", b->name);
    return there;
}

int
main(void)
{
    static const struct {
        const char *name;
        CMUnitTestFunction fn;
    } suite[] = {
        { "the system chooses a name that can be dialled",
          the_system_chooses_a_name_that_can_be_dialled },
        { "a name is listened on once", a_name_is_listened_on_once },
        { "octets arrive in order in both directions",
          octets_arrive_in_order_in_both_directions },
        { "a receive goes where it is told and no further",
          a_receive_goes_where_it_is_told_and_no_further },
        { "what was received stays while it is referenced",
          what_was_received_stays_while_it_is_referenced },
        { "the end of the stream comes behind what was sent",
          the_end_of_the_stream_comes_behind_what_was_sent },
        { "a waiting receive sees the end", a_waiting_receive_sees_the_end },
        { "a connect to nobody is refused", a_connect_to_nobody_is_refused },
        { "sending into a closed connection ends in a reset",
          sending_into_a_closed_connection_ends_in_a_reset },
        { "a cancelled operation comes back exactly once",
          a_cancelled_operation_comes_back_exactly_once },
        { "a cancelled accept and connect come back too",
          a_cancelled_accept_and_connect_come_back_too },
        { "a send waits for the reader", a_send_waits_for_the_reader },
        { "what is sent together arrives whole everywhere",
          what_is_sent_together_arrives_whole_everywhere },
        { "sends together of more than fits wait for their readers",
          sends_together_of_more_than_fits_wait_for_their_readers },
        { "a reset among sends together is that one's alone",
          a_reset_among_sends_together_is_that_ones_alone },
        { "sends together that wait can be taken back",
          sends_together_that_wait_can_be_taken_back },
        { "in a forked child sends together are closed",
          in_a_forked_child_sends_together_are_closed },
        { "a wake ends one wait", a_wake_ends_one_wait },
        { "a wake ends the next wait, whatever is done before",
          a_wake_ends_the_next_wait_whatever_is_done_before },
        { "a wait lasts until its time", a_wait_lasts_until_its_time },
        { "no more comes back than was asked for",
          no_more_comes_back_than_was_asked_for },
        { "connections that nobody accepts end with the listener",
          connections_that_nobody_accepts_end_with_the_listener },
        { "who waits for the descriptor hears of everything",
          who_waits_for_the_descriptor_hears_of_everything },
        { "a hangup is told while nothing is received",
          a_hangup_is_told_while_nothing_is_received },
        { "a peer that finishes has hung up", a_peer_that_finishes_has_hung_up },
        { "a hangup goes beside a receive and a send, and can be taken back",
          a_hangup_goes_beside_a_receive_and_a_send_and_can_be_taken_back },
        { "a name is looked up, and nobody waits", a_name_is_looked_up_and_nobody_waits },
        { "a name that is not found says so", a_name_that_is_not_found_says_so },
        { "look-ups come back once each, also when they are cancelled",
          look_ups_come_back_once_each_also_when_they_are_cancelled },
        { "a backend may be closed with look-ups under way that were taken back",
          a_backend_may_be_closed_with_look_ups_under_way_that_were_taken_back },
        { "both ends can be named", both_ends_can_be_named },
        { "interfaces are known by name", interfaces_are_known_by_name },
        { "what does not listen cannot be adopted",
          what_does_not_listen_cannot_be_adopted },
        { "a backend survives every failed allocation",
          a_backend_survives_every_failed_allocation },
    };
    enum { SUITE = sizeof suite / sizeof suite[0] };
    enum { BACKENDS = sizeof backends / sizeof backends[0] };
    static char names[SUITE * BACKENDS][128];
    struct CMUnitTest tests[SUITE * BACKENDS];

    size_t count = 0;

    assert_int_equal(sni_forks_watch(), SENNIT_OK);
    for (size_t k = 0; k < BACKENDS; k++) {
        if (!available(&backends[k]))
            continue;
        for (size_t i = 0; i < SUITE; i++, count++) {
            snprintf(names[count], sizeof names[0], "%s: %s", backends[k].name,
                     suite[i].name);
            tests[count] = (struct CMUnitTest){
                .name = names[count],
                .test_func = suite[i].fn,
                .initial_state = (void *)(uintptr_t)&backends[k],
            };
        }
    }
    return _cmocka_run_group_tests("conformance", tests, count, NULL, NULL) == 0 ? 0 : 1;
}
