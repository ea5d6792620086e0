/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

#include "io/real.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/random.h"
#include "io/bell.h"
#include "io/fork.h"
#include "io/poll.h"
#include "io/resolver.h"

sennit_err
sni_real_init(sni_real *real)
{
    sennit_err err;

    sni_op_queue_init(&real->done);
    real->forks = sni_forks;
    err = sni_bell_open(&real->wake_fd);
    if (err)
        return err;
    /* Seeded by the kernel: jitter needs spread, not secrecy. */
    if (getrandom(&real->random_state, sizeof real->random_state, GRND_NONBLOCK) < 0)
        real->random_state = sni_real_now(&real->io) ^ (uint64_t)getpid() << 32;
    return SENNIT_OK;
}

void
sni_real_fini(sni_real *real)
{
    sni_resolver_free(real->resolver);
    sni_block_unref(real->spare);
    sni_fd_close(real->wake_fd);
}

/* ---- files ------------------------------------------------------------- */

/* A file with `room` bytes behind it. */
static sennit_err
file_new(sni_real *real, int fd, const sni_address *peer, size_t room, sni_file **out)
{
    sni_real_file *file = sni_acquire_zero(real->io.alloc, real->file_bytes + room);

    if (file == NULL)
        return SENNIT_ENOMEM;
    file->fd = fd;
    file->peer = sni_remote_of(peer);
    *out = (sni_file *)file;
    if (real->init != NULL)
        real->init(*out);
    return SENNIT_OK;
}

static sennit_err
begin(sni_real *real, sni_file *file)
{
    return real->begin != NULL ? real->begin(real, file) : SENNIT_OK;
}

/* Takes what `listening` holds on success only. */
static sennit_err
listener_new(sni_real *real, const sni_listening *listening, sni_file **out)
{
    sni_listening *kept;
    sni_file *file;
    sennit_err err = file_new(real, listening->fd, &listening->address, 0, &file);

    if (err)
        return err;
    kept = sni_acquire(real->io.alloc, sizeof *kept);
    err = SENNIT_ENOMEM;
    if (kept == NULL)
        goto fail_file;
    *kept = *listening;
    sni_real_file_of(file)->listening = kept;
    err = begin(real, file);
    if (err)
        goto fail_listening;
    *out = file;
    return SENNIT_OK;

fail_listening:
    sni_release(real->io.alloc, kept);
fail_file:
    sni_release(real->io.alloc, file);
    return err;
}

sennit_err
sni_real_listen(sni_io *io, const sni_address *address, const sennit_sock_opts *opts,
                sni_file **out, sni_address *bound)
{
    sni_listening listening;
    sennit_err err;

    io->why = NULL;
    err = sni_stream_listen(&listening, address, opts, &io->why);
    if (err)
        return err;
    err = listener_new(sni_real_of(io), &listening, out);
    if (err)
        sni_stream_unlisten(&listening, false);
    else
        *bound = listening.address;
    return err;
}

sennit_err
sni_real_adopt(sni_io *io, int fd, sni_file **out, sni_address *bound)
{
    sni_listening listening;
    sennit_err err;

    io->why = NULL;
    err = sni_stream_adopt(&listening, fd, &io->why);
    if (err == SENNIT_OK)
        err = listener_new(sni_real_of(io), &listening, out);
    if (err == SENNIT_EEXIST) {
        io->why = "fd is bound in this loop already: hand over a dup of it";
        return SENNIT_EINVAL;
    }
    if (err == SENNIT_OK)
        *bound = listening.address;
    return err;
}

sennit_err
sni_real_dial(sni_io *io, const sni_address *address, const sni_address *source,
              const sennit_sock_opts *opts, sni_file **out)
{
    sni_real *real = sni_real_of(io);
    sni_real_file *file;
    sennit_err err;
    int fd;

    io->why = NULL;
    if (sni_real_inherited(io))
        return SENNIT_ECLOSED;
    err = sni_stream_dial(&fd, address, source, opts, &io->why);
    if (err)
        return err;
    err = file_new(real, fd, address, sizeof *address, out);
    if (err) {
        close(fd);
        return err;
    }
    file = sni_real_file_of(*out);
    file->to = (sni_address *)(void *)((char *)file + real->file_bytes);
    *file->to = *address;
    return SENNIT_OK;
}

sennit_err
sni_real_accepted(sni_real *real, int fd, const sni_address *peer, sni_file **out)
{
    sni_file *file;
    sennit_err err = file_new(real, fd, peer, 0, &file);

    if (err)
        return err;
    err = begin(real, file);
    if (err)
        sni_real_free(real, file);
    else
        *out = file;
    return err;
}

void
sni_real_shut(sni_real *real, sni_file *file)
{
    sni_real_file *of = sni_real_file_of(file);
    bool shared = sni_real_inherited(&real->io);

    SNI_ASSERT(of->in == NULL);
    SNI_ASSERT(of->out == NULL);
    SNI_ASSERT(of->watch == NULL);
    if (of->listening != NULL)
        sni_stream_unlisten(of->listening, shared);
    else
        sni_stream_close(of->fd, shared);
}

void
sni_real_free(sni_real *real, sni_file *file)
{
    sni_release(real->io.alloc, sni_real_file_of(file)->listening);
    sni_release(real->io.alloc, file);
}

void
sni_real_finish(sni_io *io, sni_file *file)
{
    if (!sni_real_inherited(io))
        (void)shutdown(sni_real_file_of(file)->fd, SHUT_WR);
}

bool
sni_real_undelivered(sni_io *io, const sni_file *file)
{
    const sni_real_file *of = (const sni_real_file *)file;

    return !sni_real_inherited(io) && sni_stream_undelivered(of->fd, &of->peer);
}

void
sni_real_peer_name(sni_io *io, const sni_file *file, sni_peer_name *out)
{
    const sni_real_file *of = (const sni_real_file *)file;

    (void)io;
    sni_stream_peer_name(of->fd, &of->peer, out);
}

sennit_err
sni_real_interface_address(sni_io *io, const char *name, bool ipv4, bool ipv6,
                           sni_address *out)
{
    (void)io;
    return sni_interface_address(name, ipv4, ipv6, out);
}

sennit_err
sni_real_interface_scope(sni_io *io, const char *name, uint32_t *out)
{
    (void)io;
    return sni_interface_scope(name, out);
}

/* ---- operations -------------------------------------------------------- */

sni_op **
sni_real_park(const sni_op *op)
{
    switch ((sni_op_kind)op->kind) {
    case SNI_OP_ACCEPT:
    case SNI_OP_RECV:
        return &sni_real_file_of(op->file)->in;
    case SNI_OP_CONNECT:
    case SNI_OP_SEND:
        return &sni_real_file_of(op->file)->out;
    case SNI_OP_HANGUP:
        return &sni_real_file_of(op->file)->watch;
    case SNI_OP_RESOLVE:
        break;
    }
    return NULL;
}

bool
sni_real_begin(sni_real *real, sni_op *op)
{
    op->err = SENNIT_OK;
    op->why = NULL;
    op->size = 0;
    op->accepted = NULL;
    if (!sni_real_inherited(&real->io))
        return true;
    op->err = SENNIT_ECLOSED;
    return false;
}

/* Reused as long as nobody kept what is in it. */
static bool
spare_block(sni_real *real)
{
    if (real->spare != NULL && sni_block_sole(real->spare))
        return true;
    sni_block_unref(real->spare);
    real->spare = sni_pool_take(real->io.recv_blocks);
    return real->spare != NULL;
}

sennit_err
sni_real_recv(sni_real *real, sni_op *op, bool *drained)
{
    uint8_t *into = op->into;
    size_t room = op->room;
    sennit_err err;

    if (op->home == NULL) {
        if (!spare_block(real))
            return SENNIT_ENOMEM;
        into = real->spare->data;
        room = real->spare->capacity;
    }
    err = sni_stream_recv(sni_real_file_of(op->file)->fd, into, room, &op->size);
    if (err)
        return err;
    if (op->home == NULL) {
        op->home = sni_block_ref(real->spare);
        op->into = into;
    }
    *drained = op->size < room;
    return SENNIT_OK;
}

bool
sni_real_connected(sni_op *op)
{
    if (!sni_stream_is_own(sni_real_file_of(op->file)->fd))
        return sni_op_done(op, SENNIT_OK);
    op->why = "connected to itself: nobody listens there, and the port was its own";
    return sni_op_done(op, SENNIT_ECONNREFUSED);
}

bool
sni_real_look_up(sni_real *real, sni_op *op)
{
    sennit_err err = SENNIT_OK;

    if (real->resolver == NULL)
        err = sni_resolver_new(&real->resolver, &real->io.resolver, real->wake_fd);
    if (err == SENNIT_OK)
        err = sni_resolver_submit(real->resolver, op);
    op->pending = err == SENNIT_OK;
    return err != SENNIT_OK && sni_op_done(op, err);
}

bool
sni_real_forget(sni_real *real, sni_op *op)
{
    return sni_resolver_forget(real->resolver, op);
}

/* ---- waiting ----------------------------------------------------------- */

void
sni_real_collect_lookups(sni_real *real)
{
    sni_op *op;

    while (real->resolver != NULL && (op = sni_resolver_next(real->resolver)) != NULL)
        sni_op_queue_push(&real->done, op);
}

void
sni_real_woken(sni_real *real)
{
    sni_bell_silence(real->wake_fd);
    sni_real_collect_lookups(real);
}

int
sni_real_collect(sni_real *real, sni_op **out, int max)
{
    int n = sni_op_queue_take(&real->done, out, max);

    /* Nothing of the kernel's tells of what is left. */
    if (!sni_op_queue_empty(&real->done))
        sni_real_wake(&real->io);
    return n;
}

int
sni_real_timeout_ms(sni_io *io, sennit_time until)
{
    sennit_time now;
    uint64_t ms;

    if (until == 0 || until == SENNIT_NEVER)
        return until == 0 ? 0 : -1;
    now = sni_real_now(io);
    ms = until <= now ? 0 : (until - now + 999999u) / 1000000u;
    return ms > 3600000u ? 3600000 : (int)ms;
}

bool
sni_real_spins(sni_io *io, sennit_time *end, sennit_time until)
{
    sennit_time now;

    if (io->spin_ns == 0 || until == 0)
        return false;
    now = sni_real_now(io);
    if (*end == 0)
        *end = now + io->spin_ns < until ? now + io->spin_ns : until;
    return now < *end;
}

static atomic_bool ring_closed;

void
sni_real_ring_closed(void)
{
    atomic_store_explicit(&ring_closed, true, memory_order_relaxed);
}

bool
sni_real_is_interrupted(void)
{
    return atomic_load_explicit(&ring_closed, memory_order_relaxed);
}

bool
sni_real_wait(sni_io *io, int bell, sennit_time until)
{
    sni_polled files[] = {
        sni_polled_ask(io->ops->descriptor(io), SENNIT_READABLE),
        sni_polled_ask(bell, SENNIT_READABLE),
    };
    sennit_time end = 0;

    while (sni_real_spins(io, &end, until))
        if (sni_poll(files, 2, 0) == SENNIT_OK &&
            (files[0].got != 0 || files[1].got != 0))
            return true;
    return sni_poll(files, 2, until) != SENNIT_EINTR;
}

void
sni_real_wake(sni_io *io)
{
    if (!sni_real_inherited(io))
        sni_bell_ring(sni_real_of(io)->wake_fd);
}

static sennit_time
read_clock(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (sennit_time)ts.tv_sec * 1000000000u + (sennit_time)ts.tv_nsec;
}

sennit_time
sni_real_now(sni_io *io)
{
    (void)io;
    return read_clock(CLOCK_MONOTONIC);
}

sennit_time
sni_real_now_coarse(sni_io *io)
{
    (void)io;
    return read_clock(CLOCK_MONOTONIC_COARSE);
}

uint64_t
sni_real_random(sni_io *io)
{
    return sni_random_next(&sni_real_of(io)->random_state);
}

/* Then the kernel's objects are the parent's: nothing is read, written, ended or waited
 * for here, and every operation comes back as ECLOSED. */
bool
sni_real_inherited(sni_io *io)
{
    return sni_forked_since(sni_real_of(io)->forks);
}
