/* SPDX-License-Identifier: MIT */
/* The wait for the kernel changes nothing that another thread could be using (io->wait);
 * what has arrived is collected afterwards, inside. It costs one system call more than an
 * owned loop's wait. */
#include "core/drive.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/limits.h"
#include "core/sock.h"
#include "core/watch.h"
#include "io/bell.h"
#include "io/thread.h"

/* Looks of the host at a lock that others have, one after the other, before it waits. */
#define HOST_MISSES_MAX 2u

/* A thread that waits while another one drives. */
typedef struct follower {
    sni_link link;
    const sennit_sock *sock; /* NULL: anything */
    sni_cond wake;
    bool woken;
    sennit_time until;
} follower;

static uintptr_t
self(void)
{
    return (uintptr_t)pthread_self();
}

bool
sni_drive_is_calling(const sni_drive *drive)
{
    return atomic_load_explicit(&drive->calling, memory_order_relaxed) == self();
}

/* Another thread runs a callback. */
static bool
is_calling_meanwhile(const sni_drive *drive)
{
    uintptr_t calling = atomic_load_explicit(&drive->calling, memory_order_relaxed);

    return calling != 0 && calling != self();
}

/* ---- inside and outside ------------------------------------------------ */

/* Gives: what goes_in() needs. */
static unsigned
goes_out(sni_drive *drive)
{
    unsigned entries = drive->entries;

    drive->entries = 0;
    atomic_store_explicit(&drive->inside, 0, memory_order_relaxed);
    return entries;
}

static void
goes_in(sni_drive *drive, unsigned entries)
{
    atomic_store_explicit(&drive->inside, self(), memory_order_relaxed);
    drive->entries = entries;
}

static void
wake_follower(sni_drive *drive, follower *f)
{
    sni_link_remove(&f->link);
    f->woken = true;
    drive->woken++;
    sni_cond_signal(&f->wake);
}

static void
call_out_driver(sni_drive *drive)
{
    if (!drive->in_kernel || drive->called)
        return;
    drive->called = true;
    sni_bell_ring(drive->bell);
}

static void
call_host(sni_drive *drive)
{
    sni_lock_take(&drive->host_lock);
    drive->host_called = true;
    sni_cond_signal(&drive->host_wake);
    sni_lock_release(&drive->host_lock);
}

/* The calling thread goes out, which may leave something to do: somebody goes on. */
static void
pass_on(sni_drive *drive)
{
    if (drive->loop->watches > 0)
        sni_watch_update(drive->loop);
    if (is_calling_meanwhile(drive)) {
        /* The driver may be there for long, and what was gathered must not. */
        (void)sni_loop_flush(drive->loop);
    } else if (drive->driven) {
        if (sni_loop_due(drive->loop, drive->until, drive->watches))
            call_out_driver(drive);
    } else if (drive->woken > 0) {
        /* It will drive, or pass on in its turn. */
    } else if (!sni_list_empty(&drive->followers)) {
        wake_follower(drive, SNI_OWNER_OF(drive->followers.next, follower, link));
    } else if (drive->host_sleeps) {
        drive->host_sleeps = false;
        call_host(drive);
    }
}

/* Waits, out of the loop, for `cond`: pass_on() comes first, before the caller looks
 * whether it has to wait, for it may signal just that. False: it is `until`. */
static bool
wait_cond(sni_drive *drive, sni_cond *cond, sennit_time until)
{
    unsigned entries = goes_out(drive);
    bool in_time = sni_cond_wait(cond, &drive->lock, until);

    goes_in(drive, entries);
    return in_time;
}

/* A thread that had to wait for that is inside. */
static void
came_in(sni_drive *drive)
{
    drive->turns_alone = 0;
    if (drive->lets_in)
        sni_cond_signal(&drive->came_in);
}

static void
wait_at_door(sni_drive *drive)
{
    atomic_fetch_add_explicit(&drive->at_door, 1, memory_order_relaxed);
    sni_lock_take(&drive->lock);
    atomic_fetch_sub_explicit(&drive->at_door, 1, memory_order_relaxed);
    came_in(drive);
}

void
sni_drive_enter(sni_drive *drive)
{
    if (sni_drive_is_inside(drive)) {
        drive->entries++;
        return;
    }
    if (!sni_lock_try(&drive->lock))
        wait_at_door(drive);
    goes_in(drive, 1);
    if (!sni_drive_is_calling(drive))
        drive->entered++;
}

void
sni_drive_leave(sni_drive *drive)
{
    if (drive->entries > 1) {
        drive->entries--;
        return;
    }
    pass_on(drive);
    (void)goes_out(drive);
    sni_lock_release(&drive->lock);
}

/* ---- the driver -------------------------------------------------------- */

/* Others come in, for whom no turn is being made. */
static unsigned
step_out(sni_drive *drive)
{
    unsigned entries;

    if (drive->loop->watches > 0)
        sni_watch_update(drive->loop);
    entries = goes_out(drive);
    drive->depth = drive->loop->depth;
    drive->loop->depth = 0;
    sni_lock_release(&drive->lock);
    return entries;
}

static void
step_in(sni_drive *drive, unsigned entries)
{
    sni_lock_take(&drive->lock);
    drive->loop->depth = drive->depth;
    goes_in(drive, entries);
}

bool
sni_drive_wait_kernel(sni_drive *drive, sennit_time until)
{
    sni_io *io = drive->loop->io;
    unsigned entries;
    bool waited;

    drive->until = until;
    drive->called = false;
    drive->in_kernel = true;
    entries = step_out(drive);
    waited = io->ops->wait(io, drive->bell, until);
    step_in(drive, entries);
    if (drive->called)
        sni_bell_silence(drive->bell);
    drive->in_kernel = false;
    drive->watches = false;
    return waited;
}

void
sni_drive_call_begin(sni_drive *drive, const void *what)
{
    SNI_ASSERT(drive->entries == 1);
    atomic_store_explicit(&drive->calling, self(), memory_order_relaxed);
    drive->calling_for = what;
    (void)step_out(drive);
}

bool
sni_drive_call_end(sni_drive *drive)
{
    bool awaited;

    step_in(drive, 1);
    atomic_store_explicit(&drive->calling, 0, memory_order_relaxed);
    drive->calling_for = NULL;
    drive->calls++;
    awaited = drive->awaiting > 0;
    drive->woken += drive->awaiting;
    drive->awaiting = 0;
    sni_cond_broadcast(&drive->call_ended);
    return awaited;
}

/* The next one may run already when a thread that waits comes in. */
static void
await_call(sni_drive *drive)
{
    uint64_t calls = drive->calls;

    pass_on(drive);
    while (drive->calls == calls)
        (void)wait_cond(drive, &drive->call_ended, SENNIT_NEVER);
}

/* For a call that waits: sni_drive_close() does so for its end. */
static void
end_wait(sni_drive *drive)
{
    if (--drive->callers == 0 && drive->stopping)
        sni_cond_signal(&drive->callers_gone);
}

void
sni_drive_await_call(sni_drive *drive, const void *what)
{
    if (sni_forked_since(drive->lock.forks) || drive->calling_for != what ||
        !is_calling_meanwhile(drive))
        return;
    drive->awaiting++;
    drive->callers++;
    await_call(drive);
    drive->woken--;
    came_in(drive);
    end_wait(drive);
}

/* Followers who do not want to wait any longer come in, too. */
static void
wake_late(sni_drive *drive, sennit_time now)
{
    sni_link *next;

    for (sni_link *link = drive->followers.next; link != &drive->followers; link = next) {
        follower *f = SNI_OWNER_OF(link, follower, link);

        next = link->next;
        if (f->until <= now)
            wake_follower(drive, f);
    }
}

static bool
somebody_comes(sni_drive *drive)
{
    return drive->woken > 0 ||
           atomic_load_explicit(&drive->at_door, memory_order_relaxed) > 0;
}

static void
let_in(sni_drive *drive)
{
    sennit_time now = sni_loop_now(drive->loop);
    bool in_time = true;

    wake_late(drive, now);
    drive->lets_in = true;
    pass_on(drive);
    while (somebody_comes(drive) && in_time)
        in_time = wait_cond(drive, &drive->came_in, now + SNI_HOST_TICK_NS);
    drive->lets_in = false;
    drive->turns_alone = 0;
}

static sennit_err
turn(sni_drive *drive, sennit_sock *sock, sennit_time until)
{
    sennit_err err;

    drive->driven = true;
    drive->for_sock = sock;
    err = sni_loop_turn(drive->loop, until);
    if (++drive->turns_alone > SNI_TURNS_ALONE_MAX)
        let_in(drive);
    drive->driven = false;
    return err;
}

/* ---- who waits --------------------------------------------------------- */

void
sni_drive_changed(sni_drive *drive, const sennit_sock *sock)
{
    sni_link *next;

    if (sni_forked_since(drive->lock.forks))
        return;
    for (sni_link *link = drive->followers.next; link != &drive->followers; link = next) {
        follower *f = SNI_OWNER_OF(link, follower, link);

        next = link->next;
        if (f->sock == sock)
            wake_follower(drive, f);
    }
    if (drive->for_sock == sock && !drive->hosted_now)
        call_out_driver(drive);
}

void
sni_drive_turned(sni_drive *drive)
{
    sni_drive_changed(drive, NULL);
}

void
sni_drive_wake_all(sni_drive *drive)
{
    if (sni_forked_since(drive->lock.forks))
        return;
    while (!sni_list_empty(&drive->followers))
        wake_follower(drive, SNI_OWNER_OF(drive->followers.next, follower, link));
    call_out_driver(drive);
}

static sennit_err
follow(sni_drive *drive, const sennit_sock *sock, sennit_time until)
{
    follower f = { .sock = sock, .until = until };
    bool in_time = true;
    sennit_err err = sni_cond_init(&f.wake);

    if (err)
        return err;
    sni_link_init(&f.link);
    sni_list_push(&drive->followers, &f.link);
    /* The host only drives because nobody else did. */
    if (drive->hosted_now)
        call_out_driver(drive);
    pass_on(drive);
    while (!f.woken && in_time)
        in_time = wait_cond(drive, &f.wake, until);
    if (f.woken) {
        drive->woken--;
        came_in(drive);
    } else {
        sni_link_remove(&f.link);
    }
    sni_cond_fini(&f.wake);
    return SENNIT_OK;
}

sennit_err
sni_drive_wait(sni_drive *drive, sennit_sock *sock, sennit_time until)
{
    sennit_err err = SENNIT_OK;

    if (sni_drive_is_calling(drive))
        return sni_loop_fail(drive->loop, SENNIT_ESTATE,
                             "a callback of a hosted loop may not wait: SENNIT_DONTWAIT, "
                             "or another thread");
    if (drive->stopping)
        return sni_loop_fail(drive->loop, SENNIT_ECLOSED, "the loop is being closed");
    /* That may make room for what the caller waits for. */
    if (sni_loop_flush(drive->loop))
        return SENNIT_OK;
    drive->callers++;
    if (drive->driven)
        err = follow(drive, sock, until);
    else
        err = turn(drive, sock, until);
    end_wait(drive);
    return err;
}

/* ---- the host ---------------------------------------------------------- */

/* Whether it was called; false: it is `until`. */
static bool
is_called(sni_drive *drive, sennit_time until)
{
    bool in_time = true;
    bool called;

    sni_lock_take(&drive->host_lock);
    while (!drive->host_called && in_time)
        in_time = sni_cond_wait(&drive->host_wake, &drive->host_lock, until);
    called = drive->host_called;
    drive->host_called = false;
    sni_lock_release(&drive->host_lock);
    return called;
}

/* Out of the loop until it is called, or until then. Who finds callers inside by the
 * clock comes back a little later: they leave the lock for a moment only, and each time
 * that the host missed it they would have woken it for nothing. */
static void
leave_until(sni_drive *drive, sennit_time until)
{
    unsigned entries = goes_out(drive);
    unsigned missed = 0;

    sni_lock_release(&drive->lock);
    while (!is_called(drive, until) && missed < HOST_MISSES_MAX) {
        if (sni_lock_try(&drive->lock)) {
            goes_in(drive, entries);
            return;
        }
        missed++;
        until += SNI_HOST_TICK_NS / 4;
    }
    sni_lock_take(&drive->lock);
    goes_in(drive, entries);
}

/* Until the next tick. */
static void
park(sni_drive *drive)
{
    pass_on(drive);
    leave_until(drive, sni_loop_now(drive->loop) + SNI_HOST_TICK_NS);
}

/* Another thread drives, or is about to. Who has driven since the last tick will leave
 * soon, and would have to wake the host each time if it did not wait by the clock. */
static void
stand_by(sni_drive *drive)
{
    uint64_t entered = drive->entered;

    park(drive);
    if (!drive->driven || drive->entered != entered || drive->stopping)
        return;
    drive->host_sleeps = true;
    leave_until(drive, SENNIT_NEVER);
    drive->host_sleeps = false;
}

/* Nobody waits, so the host drives: in the kernel when all is quiet. While callers come
 * and go it looks once a tick instead, sends what they have gathered, and leaves the
 * kernel to the one who waits next. */
static void
stand_in(sni_drive *drive, uint64_t *seen)
{
    bool quiet = drive->entered == *seen;

    *seen = drive->entered;
    drive->hosted_now = true;
    /* Errors: EINTR, with all signals blocked, and ESTATE, which is for callbacks. */
    (void)turn(drive, NULL, quiet ? SENNIT_NEVER : 0);
    drive->hosted_now = false;
    if (!quiet && !drive->stopping)
        park(drive);
}

static void *
host(void *arg)
{
    sni_drive *drive = arg;
    uint64_t seen = 0;

    sni_lock_take(&drive->lock);
    goes_in(drive, 1);
    while (!drive->stopping) {
        if (drive->driven || drive->woken > 0 || !sni_list_empty(&drive->followers))
            stand_by(drive);
        else
            stand_in(drive, &seen);
    }
    pass_on(drive);
    (void)goes_out(drive);
    sni_lock_release(&drive->lock);
    return NULL;
}

/* ---- opening and closing ----------------------------------------------- */

static void
fini_conds(sni_drive *drive)
{
    sni_cond_fini(&drive->host_wake);
    sni_cond_fini(&drive->call_ended);
    sni_cond_fini(&drive->callers_gone);
    sni_cond_fini(&drive->came_in);
}

static sennit_err
init_conds(sni_drive *drive)
{
    sni_cond *conds[] = { &drive->host_wake, &drive->call_ended, &drive->callers_gone,
                          &drive->came_in };
    size_t made = 0;
    sennit_err err = SENNIT_OK;

    while (err == SENNIT_OK && made < sizeof conds / sizeof conds[0])
        err = sni_cond_init(conds[made++]);
    /* The last one of these failed. */
    while (err && --made > 0)
        sni_cond_fini(conds[made - 1]);
    return err;
}

sennit_err
sni_drive_open(sennit_loop *loop)
{
    sni_drive *drive = sni_acquire_zero(&loop->allocator, sizeof *drive);
    sennit_err err;

    if (drive == NULL)
        return SENNIT_ENOMEM;
    drive->loop = loop;
    atomic_init(&drive->inside, 0);
    atomic_init(&drive->at_door, 0);
    sni_link_init(&drive->followers);
    atomic_init(&drive->calling, 0);
    err = sni_bell_open(&drive->bell);
    if (err)
        goto fail_drive;
    err = sni_lock_init(&drive->lock);
    if (err)
        goto fail_bell;
    err = sni_lock_init(&drive->host_lock);
    if (err)
        goto fail_lock;
    err = init_conds(drive);
    if (err)
        goto fail_host_lock;
    loop->drive = drive;
    loop->attended = true;
    sni_loop_share(loop, true);
    sni_link_init(&drive->guard.link);
    sni_fork_guard_start(&drive->guard, &drive->lock);
    err = sni_thread_start(&drive->host, "sennit-host", SNI_ANY_CPU, host, drive);
    if (err)
        goto fail_conds;
    return SENNIT_OK;

fail_conds:
    loop->drive = NULL;
    loop->attended = false;
    sni_loop_share(loop, false);
    sni_fork_guard_stop(&drive->guard);
    fini_conds(drive);
fail_host_lock:
    sni_lock_fini(&drive->host_lock);
fail_lock:
    sni_lock_fini(&drive->lock);
fail_bell:
    sni_fd_close(drive->bell);
fail_drive:
    sni_release(&loop->allocator, drive);
    return err;
}

/* The other threads, and what they were waiting for, are the parent's. */
static void
forget_callers(sennit_loop *loop)
{
    for (sni_link *link = loop->socks.next; link != &loop->socks; link = link->next) {
        sennit_sock *sock = SNI_OWNER_OF(link, sennit_sock, link);

        sock->calls = 0;
        sock->in_call = false;
    }
}

/* Everybody but the calling thread leaves. */
static void
dismiss(sennit_loop *loop)
{
    sni_drive *drive = loop->drive;

    sni_drive_enter(drive);
    drive->stopping = true;
    /* It may close sockets itself. */
    if (is_calling_meanwhile(drive))
        await_call(drive);
    sni_loop_close_socks(loop);
    while (drive->callers > 0) {
        sni_drive_wake_all(drive);
        (void)wait_cond(drive, &drive->callers_gone, SENNIT_NEVER);
    }
    call_out_driver(drive);
    call_host(drive);
    sni_drive_leave(drive);
    pthread_join(drive->host, NULL);
    fini_conds(drive);
}

void
sni_drive_close(sennit_loop *loop)
{
    sni_drive *drive = loop->drive;

    if (sni_loop_inherited(loop))
        forget_callers(loop);
    else
        dismiss(loop);
    sni_fork_guard_stop(&drive->guard);
    sni_lock_fini(&drive->host_lock);
    sni_lock_fini(&drive->lock);
    sni_fd_close(drive->bell);
    loop->owner = pthread_self();
    loop->drive = NULL;
    loop->attended = loop->watches > 0;
    sni_loop_share(loop, false);
    sni_release(&loop->allocator, drive);
}
