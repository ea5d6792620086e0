/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

#include "io/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "io/bell.h"
#include "io/real.h"

#define ENTRIES     256u
#define ENTRIES_MIN 32u
/* The memory of a ring counts against RLIMIT_MEMLOCK for who is not root: this takes
 * 36 KiB of usually 8 MiB. What finds no place is kept by the kernel and loses nothing.
 */
#define COMPLETIONS 1024u
#define BUFFERS     8u

/* Operations that a kernel is asked about at most. */
#define PROBED_MAX 256

/* How long to wait for the kernel to have memory again. */
#define REFUSED_PAUSE_MS 1

/* Longer than anybody waits, and short enough for the kernel to add to its clock. */
#define FOR_EVER_NS (UINT64_C(100) * 365 * 86400 * 1000000000u)

/* ---- setting up -------------------------------------------------------- */

/* Best first. With DEFER_TASKRUN (Linux 6.1) a completion costs its owner no
 * interruption: all are made where the owner waits for them. */
static const unsigned setups[] = {
    IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG |
        IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CQSIZE,
    IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SUBMIT_ALL |
        IORING_SETUP_CQSIZE,
    IORING_SETUP_CQSIZE,
};

static const unsigned features_needed = IORING_FEAT_NODROP | IORING_FEAT_SUBMIT_STABLE |
                                        IORING_FEAT_FAST_POLL | IORING_FEAT_EXT_ARG;

static const uint8_t operations_needed[] = { IORING_OP_SEND,     IORING_OP_SENDMSG,
                                             IORING_OP_RECV,     IORING_OP_ACCEPT,
                                             IORING_OP_POLL_ADD, IORING_OP_ASYNC_CANCEL };

/* Whether an administrator has forbidden it; 1 leaves it to a group. */
static bool
is_disabled(void)
{
    char text[2] = "0";
    int fd = open("/proc/sys/kernel/io_uring_disabled", O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return false;
    (void)!read(fd, text, 1);
    close(fd);
    return text[0] != '0';
}

static sennit_err
explain(int error, const char **why)
{
    switch (error) {
    case EPERM:
    case EACCES:
        *why = is_disabled()
                   ? "io_uring is forbidden: kernel.io_uring_disabled is not 0"
                   : "io_uring is forbidden: a sandbox (seccomp, as of containers) "
                     "refuses one of its system calls";
        return SENNIT_EACCES;
    case ENOMEM:
        *why = "no memory for an io_uring: RLIMIT_MEMLOCK (ulimit -l) is too small, or "
               "other rings of this user fill it";
        return SENNIT_ENOMEM;
    case ENOSYS:
        *why = "this kernel has no io_uring, or a sandbox (seccomp) hides it";
        return SENNIT_ENOTSUP;
    case EINVAL:
        *why = "this kernel's io_uring is too old: Linux 5.19 is needed";
        return SENNIT_ENOTSUP;
    default:
        *why = error == EMFILE || error == ENFILE
                   ? "no descriptor is left for an io_uring"
                   : "io_uring_setup failed";
        return sni_err_of_errno(error);
    }
}

static int
set_up_with(sni_ring *ring, unsigned flags)
{
    struct io_uring_params params;
    unsigned entries = ring->opts.entries;
    int rc;

    do {
        memset(&params, 0, sizeof params);
        params.flags = flags;
        params.cq_entries = ring->opts.completions;
        rc = -ring->opts.setup_error;
        if (rc == 0)
            rc = io_uring_queue_init_params(entries, &ring->uring, &params);
        entries /= 2;
    } while (rc == -ENOMEM && entries >= ENTRIES_MIN);
    ring->tells_of_work = (flags & IORING_SETUP_TASKRUN_FLAG) != 0;
    return rc;
}

/* Whether the ring can do all that is needed, and may be used: a sandbox may let through
 * the setting up alone. An errno, negative. */
static int
try_out(sni_ring *ring)
{
    union {
        struct io_uring_probe probe;
        uint8_t room[sizeof(struct io_uring_probe) +
                     PROBED_MAX * sizeof(struct io_uring_probe_op)];
    } found = { .room = { 0 } };
    int rc;

    if (ring->opts.no_features ||
        (ring->uring.features & features_needed) != features_needed)
        return -EINVAL;
    rc = io_uring_register_probe(&ring->uring, &found.probe, PROBED_MAX);
    for (size_t i = 0; rc >= 0 && i < sizeof operations_needed; i++)
        if (!io_uring_opcode_supported(&found.probe, operations_needed[i]))
            rc = -EINVAL;
    return rc < 0 ? rc : io_uring_get_events(&ring->uring);
}

static void
exit_ring(sni_ring *ring)
{
    sni_real_ring_closed();
    io_uring_queue_exit(&ring->uring);
}

static sennit_err
set_up(sni_ring *ring, const char **why)
{
    int rc = -EINVAL;

    for (size_t i = ring->opts.setups_unknown;
         rc == -EINVAL && i < sizeof setups / sizeof setups[0]; i++)
        rc = set_up_with(ring, setups[i]);
    if (rc < 0)
        return explain(-rc, why);
    /* A child has nothing of it, so it cannot touch what it shares with its parent. */
    rc = io_uring_ring_dontfork(&ring->uring);
    if (rc == 0)
        rc = try_out(ring);
    if (rc >= 0) {
        /* A descriptor fewer to look up when entering. It may fail. */
        (void)io_uring_register_ring_fd(&ring->uring);
        return SENNIT_OK;
    }
    exit_ring(ring);
    return explain(-rc, why);
}

/* ---- buffers ----------------------------------------------------------- */

static int
group_mask(const sni_ring *ring)
{
    return io_uring_buf_ring_mask(ring->buffers);
}

/* Gives buffer `id` to the kernel; false when there is no memory for it. */
static bool
provide(sni_ring *ring, unsigned id)
{
    sni_block **block = &ring->blocks[id];

    if (*block == NULL)
        *block = sni_pool_take(ring->pool);
    if (*block == NULL)
        return false;
    io_uring_buf_ring_add(ring->group, (*block)->data, (unsigned)(*block)->capacity,
                          (unsigned short)id, group_mask(ring), 0);
    io_uring_buf_ring_advance(ring->group, 1);
    return true;
}

sni_block *
sni_ring_buffer(sni_ring *ring, const struct io_uring_cqe *cqe)
{
    unsigned id = cqe->flags >> IORING_CQE_BUFFER_SHIFT;

    SNI_ASSERT(id < ring->buffers && ring->blocks[id] != NULL);
    ring->given[ring->given_count++] = (uint16_t)id;
    return ring->blocks[id];
}

unsigned
sni_ring_recycle(sni_ring *ring)
{
    while (ring->given_count > 0) {
        unsigned id = ring->given[--ring->given_count];

        if (!sni_block_sole(ring->blocks[id])) {
            sni_block_unref(ring->blocks[id]);
            ring->blocks[id] = NULL;
        }
        ring->absent += !provide(ring, id);
    }
    for (unsigned id = 0; ring->absent > 0 && id < ring->buffers; id++) {
        if (ring->blocks[id] != NULL)
            continue;
        if (!provide(ring, id))
            break;
        ring->absent--;
    }
    return ring->buffers - ring->absent;
}

/* `shared`: the group is not mapped here. */
static void
release(sni_ring *ring, bool shared)
{
    for (unsigned id = 0; ring->blocks != NULL && id < ring->buffers; id++)
        sni_block_unref(ring->blocks[id]);
    sni_release(ring->alloc, ring->blocks);
    sni_release(ring->alloc, ring->given);
    if (!shared)
        munmap(ring->group, ring->group_bytes);
    sni_fd_close(ring->bell);
}

static sennit_err
fill_group(sni_ring *ring)
{
    const unsigned count = ring->buffers;

    io_uring_buf_ring_init(ring->group);
    ring->blocks = sni_acquire_zero(ring->alloc, count * sizeof(ring->blocks[0]));
    ring->given = sni_acquire(ring->alloc, count * sizeof(ring->given[0]));
    if (ring->blocks == NULL || ring->given == NULL)
        return SENNIT_ENOMEM;
    ring->absent = count;
    return sni_ring_recycle(ring) == count ? SENNIT_OK : SENNIT_ENOMEM;
}

static sennit_err
register_group(sni_ring *ring, const char **why)
{
    struct io_uring_buf_reg registration = { .ring_addr = (uintptr_t)ring->group,
                                             .ring_entries = ring->buffers,
                                             .bgid = SNI_RING_GROUP };
    int rc = ring->opts.no_groups
                 ? -EINVAL
                 : io_uring_register_buf_ring(&ring->uring, &registration, 0);

    return rc < 0 ? explain(-rc, why) : SENNIT_OK;
}

/* ---- opening and closing ----------------------------------------------- */

static const sni_uring_opts defaults = { .entries = 0 };

sennit_err
sni_ring_open(sni_ring *ring, const sennit_allocator *alloc, sni_pool *pool,
              const sni_uring_opts *opts, const char **why)
{
    sennit_err err;

    memset(ring, 0, sizeof *ring);
    ring->opts = opts != NULL ? *opts : defaults;
    if (ring->opts.entries == 0)
        ring->opts.entries = ENTRIES;
    if (ring->opts.completions == 0)
        ring->opts.completions = COMPLETIONS;
    ring->stats = ring->opts.stats != NULL ? ring->opts.stats : &ring->own_stats;
    ring->buffers = ring->opts.buffers > 0 ? ring->opts.buffers : BUFFERS;
    ring->alloc = alloc;
    ring->pool = pool;
    *why = NULL;
    err = sni_bell_open(&ring->bell);
    if (err)
        return err;
    ring->group_bytes = ring->buffers * sizeof(struct io_uring_buf);
    /* Pages of its own, because the kernel keeps them; a child gets none of them. */
    ring->group = mmap(NULL, ring->group_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ring->group == MAP_FAILED) {
        sni_fd_close(ring->bell);
        return SENNIT_ENOMEM;
    }
    (void)madvise(ring->group, ring->group_bytes, MADV_DONTFORK);
    err = fill_group(ring);
    if (err)
        goto fail;
    /* Last, because a ring that is given up costs the thread an interruption. */
    err = set_up(ring, why);
    if (err)
        goto fail;
    err = register_group(ring, why);
    if (err)
        goto fail_ring;
    *why = NULL;
    return SENNIT_OK;

fail_ring:
    exit_ring(ring);
fail:
    release(ring, false);
    return err;
}

void
sni_ring_close(sni_ring *ring, bool shared)
{
    if (shared) {
        close(ring->uring.ring_fd);
    } else {
        (void)io_uring_unregister_buf_ring(&ring->uring, SNI_RING_GROUP);
        exit_ring(ring);
    }
    release(ring, shared);
}

/* ---- requests and completions ------------------------------------------ */

/* Entering failed for the moment. Where nothing is completed there is nothing to do but
 * to give the kernel time. */
static void
refused(sni_ring *ring)
{
    struct pollfd ready = { .fd = ring->uring.ring_fd, .events = POLLIN };

    ring->stats->refused++;
    if (io_uring_cq_ready(&ring->uring) == 0)
        (void)poll(&ready, 1, REFUSED_PAUSE_MS);
}

static int
enter(sni_ring *ring, uint64_t wait_ns)
{
    struct __kernel_timespec wait = { .tv_sec = (long long)(wait_ns / 1000000000u),
                                      .tv_nsec = (long long)(wait_ns % 1000000000u) };
    struct io_uring_cqe *first;
    int error = ring->opts.enter != NULL ? ring->opts.enter(ring->opts.arg) : 0;

    ring->stats->entered++;
    ring->stats->requests += io_uring_sq_ready(&ring->uring);
    if (error != 0)
        return -error;
    return wait_ns == 0
               ? io_uring_submit_and_get_events(&ring->uring)
               : io_uring_submit_and_wait_timeout(&ring->uring, &first, 1, &wait, NULL);
}

struct io_uring_sqe *
sni_ring_request(sni_ring *ring)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(&ring->uring);

    if (sqe == NULL && enter(ring, 0) < 0)
        refused(ring);
    if (sqe == NULL)
        sqe = io_uring_get_sqe(&ring->uring);
    ring->requests += sqe != NULL;
    return sqe;
}

bool
sni_ring_withdraw(sni_ring *ring, uint64_t number, uint64_t instead)
{
    const struct io_uring_sq *sq = &ring->uring.sq;

    for (unsigned left = io_uring_sq_ready(&ring->uring); left > 0; left--) {
        struct io_uring_sqe *sqe = &sq->sqes[(sq->sqe_tail - left) & sq->ring_mask];

        if (sqe->user_data != number)
            continue;
        io_uring_prep_nop(sqe);
        sqe->user_data = instead;
        return true;
    }
    return false;
}

bool
sni_ring_enter(sni_ring *ring, sennit_time until)
{
    unsigned flags = IO_URING_READ_ONCE(*ring->uring.sq.kflags);
    sennit_time now;
    uint64_t wait_ns = 0;
    int rc;

    if (flags & IORING_SQ_CQ_OVERFLOW)
        ring->stats->overflows++;
    if (io_uring_cq_ready(&ring->uring) > 0)
        until = 0;
    if (until == 0 && ring->tells_of_work && io_uring_sq_ready(&ring->uring) == 0 &&
        !(flags & (IORING_SQ_CQ_OVERFLOW | IORING_SQ_TASKRUN)))
        return true;
    if (until == SENNIT_NEVER) {
        wait_ns = FOR_EVER_NS;
    } else if (until > 0) {
        now = sni_real_now(NULL);
        wait_ns = until > now ? until - now : 0;
    }
    rc = enter(ring, wait_ns);
    if (rc == -EBUSY || rc == -EAGAIN || rc == -ENOMEM) {
        refused(ring);
        return true;
    }
    if (rc == -EINTR)
        return false;
    /* When requests were taken the kernel tells their number, and not that a signal ended
     * the wait for them. But nothing else ends it early. */
    return wait_ns == 0 || io_uring_cq_ready(&ring->uring) > 0 ||
           io_uring_sq_ready(&ring->uring) > 0 || sni_real_now(NULL) >= until;
}

bool
sni_ring_refused(const sni_ring *ring)
{
    return io_uring_sq_ready(&ring->uring) > 0;
}

bool
sni_ring_completed(const sni_ring *ring)
{
    return io_uring_cq_ready(&ring->uring) > 0;
}

bool
sni_ring_next(sni_ring *ring, struct io_uring_cqe *out)
{
    struct io_uring_cqe *cqe;

    if (io_uring_cq_ready(&ring->uring) == 0 ||
        io_uring_peek_cqe(&ring->uring, &cqe) != 0)
        return false;
    memcpy(out, cqe, sizeof *out);
    io_uring_cqe_seen(&ring->uring, cqe);
    if (!(out->flags & IORING_CQE_F_MORE)) {
        SNI_ASSERT(ring->requests > 0);
        ring->requests--;
    }
    return true;
}

/* Not the ring's own descriptor: that does not wake who waits for it while work is
 * deferred. Nor does the bell (Linux 6.18) when it was another eventfd that brought the
 * work: a wake is to be looked at by itself. */
void
sni_ring_watch(sni_ring *ring)
{
    unsigned flags = IO_URING_READ_ONCE(*ring->uring.sq.kflags);
    bool told = ring->rings && ring->tells_of_work;

    if (!ring->rings)
        ring->rings = io_uring_register_eventfd(&ring->uring, ring->bell) == 0;
    /* Of what was completed before, or was heard of and not collected, it does not tell.
     * A bell that rings for nothing keeps busy who looks before each wait. */
    if (ring->rings && (!told || sni_ring_completed(ring) || (flags & IORING_SQ_TASKRUN)))
        sni_bell_ring(ring->bell);
}

bool
sni_ring_hush(sni_ring *ring)
{
    if (!ring->rings)
        return false;
    sni_bell_silence(ring->bell);
    return (IO_URING_READ_ONCE(*ring->uring.sq.kflags) & IORING_SQ_TASKRUN) != 0;
}
