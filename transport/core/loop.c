/* SPDX-License-Identifier: MIT */
#include "core/loop.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "base/rare.h"
#include "core/attempt.h"
#include "core/call_ring.h"
#include "core/flush.h"
#include "core/inproc.h"
#include "core/listener.h"
#include "core/retry.h"
#include "core/sock.h"
#include "core/tap.h"
#include "core/watch.h"

/* Why the calling thread's last call on a hosted loop failed. */
static _Thread_local const char *hosted_why = "";

/* ---- posting ----------------------------------------------------------- */

sennit_err
sennit_loop_post(sennit_loop *loop, void (*fn)(void *arg), void *arg)
{
    sni_posted *posted;
    bool first;

    if (loop == NULL || fn == NULL)
        return SENNIT_EINVAL;
    if (sni_loop_inherited(loop))
        return SENNIT_ESTATE;
    /* Not the loop's allocator: it is only called on the loop's thread. */
    posted = sni_acquire(&sni_alloc_default, sizeof *posted);
    if (posted == NULL)
        return SENNIT_ENOMEM;
    *posted = (sni_posted){ NULL, fn, arg };
    sni_lock_take(&loop->post_lock);
    first = loop->posted_first == NULL;
    *loop->posted_last = posted;
    loop->posted_last = &posted->next;
    atomic_store_explicit(&loop->posted, true, memory_order_release);
    /* Under the lock, so that the loop cannot be closed in between. */
    if (first)
        loop->io->ops->wake(loop->io);
    sni_lock_release(&loop->post_lock);
    return SENNIT_OK;
}

bool
sni_loop_has_posted(const sennit_loop *loop)
{
    return loop->due_first != NULL || !sni_list_empty(&loop->due_rings) ||
           atomic_load_explicit(&loop->posted, memory_order_acquire);
}

/* Whether the application may be called. */
static bool
calls(const sennit_loop *loop)
{
    return loop->drive == NULL || sni_drive_calls(loop->drive);
}

/* Calls the application, for `what`. True: another thread waits for the end of that. */
static bool
call_out(sennit_loop *loop, const void *what, void (*fn)(void *arg), void *arg)
{
    if (loop->drive == NULL) {
        fn(arg);
        return false;
    }
    sni_drive_call_begin(loop->drive, what);
    fn(arg);
    return sni_drive_call_end(loop->drive);
}

/* Those taken stay in the loop until each has run: a call that blocks must not hide
 * the ones behind it from the turns inside it. */
static void
run_posted(sennit_loop *loop)
{
    sni_posted *posted;

    sni_lock_take(&loop->post_lock);
    *loop->due_last = loop->posted_first;
    if (loop->posted_first != NULL)
        loop->due_last = loop->posted_last;
    loop->posted_first = NULL;
    loop->posted_last = &loop->posted_first;
    atomic_store_explicit(&loop->posted, false, memory_order_relaxed);
    sni_lock_release(&loop->post_lock);
    while (calls(loop) && (posted = loop->due_first) != NULL) {
        loop->due_first = posted->next;
        if (loop->due_first == NULL)
            loop->due_last = &loop->due_first;
        (void)call_out(loop, NULL, posted->fn, posted->arg);
        sni_release(&sni_alloc_default, posted);
    }
}

/* Each ring once; those that have more stay. */
static void
run_rings(sennit_loop *loop)
{
    size_t left = 0;
    sni_link *link;

    for (link = loop->due_rings.next; link != &loop->due_rings; link = link->next)
        left++;
    while (left-- > 0 && (link = sni_list_first(&loop->due_rings)) != NULL) {
        /* To the end, where turns inside its calls find it still. */
        sni_link_remove(link);
        sni_list_push(&loop->due_rings, link);
        sni_call_ring_run(SNI_OWNER_OF(link, sni_call_ring, due));
    }
}

/* ---- the turn ---------------------------------------------------------- */

void
sni_loop_hear_shutdown(sennit_loop *loop)
{
    unsigned long shutdowns = sni_context_shutdowns(loop->context);

    if (shutdowns == loop->shutdowns)
        return;
    loop->shutdowns = shutdowns;
    for (sni_link *link = loop->socks.next; link != &loop->socks; link = link->next) {
        sennit_sock *sock = SNI_OWNER_OF(link, sennit_sock, link);

        sni_taps_shut(sock);
        if (sock->closed)
            sni_sock_abandon(sock);
    }
    if (loop->drive != NULL)
        sni_drive_wake_all(loop->drive);
}

/* True when there was something to write. In a turn each gets its share; outside of one
 * nobody waits for the rest. */
static bool
flush_dirty(sennit_loop *loop)
{
    bool any = !sni_list_empty(&loop->dirty);

    loop->gathered = 0;
    sni_flush(loop, NULL, loop->depth > 0);
    return any;
}

/* How long is gathered after a flush, the first of a burst or not, that took so long.
 * While a burst goes on, each gathering is twice as long as the one before, up to a
 * bound: a lone message waits for nothing, and a long burst costs few system calls
 * however many peers share it. Where a flush itself takes long, for many peers or for
 * slow ones, three times as long as that, up to another bound: a quarter of the time,
 * then, goes into flushes. */
static sennit_time
gather_after(sennit_time before, bool first, sennit_time took)
{
    sennit_time gather = first ? SNI_GATHER_NS : 2 * before;

    if (gather > SNI_GATHER_MAX_NS)
        gather = SNI_GATHER_MAX_NS;
    if (first || gather >= SNI_GATHER_FLUSHES * took)
        return gather;
    took *= SNI_GATHER_FLUSHES;
    return took < SNI_GATHER_SLOW_MAX_NS ? took : SNI_GATHER_SLOW_MAX_NS;
}

/* A message was gathered, the first after a flush or not: whether it has been long
 * enough. */
SNI_RARE static void
flush_in_time(sennit_loop *loop, bool first)
{
    sennit_time now = sni_loop_now(loop);

    if (now - loop->flushed_at < loop->gather_ns)
        return;
    (void)flush_dirty(loop);
    loop->flushed_at = sni_loop_now(loop);
    loop->gather_ns = gather_after(loop->gather_ns, first, loop->flushed_at - now);
}

/* The clock is asked for the first message after a flush and for every 16th. */
void
sni_loop_sent(sennit_loop *loop)
{
    if (loop->depth > 0)
        return;
    /* Sends that are milliseconds apart are no burst; and a sender that never waits
     * must still let its peers in. */
    if (loop->io->ops->now_coarse(loop->io) != loop->served_at)
        sni_loop_service(loop);
    else if (!sni_list_empty(&loop->dirty) && (loop->gathered++ & 15) == 0)
        flush_in_time(loop, loop->gathered == 1);
}

static void
look_at_notes(sennit_loop *loop)
{
    if (loop->inbox != NULL)
        sni_inbox_look(loop->inbox, loop);
}

/* False: other loops have left notes, and nobody will be woken for them. */
static bool
rest(sennit_loop *loop)
{
    return loop->inbox == NULL || sni_inbox_rest(loop->inbox);
}

/* Nobody was woken for notes that came since it looked: whoever drives the loop next may
 * be about to wait. */
static void
leave(sennit_loop *loop)
{
    (void)sni_inproc_doze(loop, false);
    if (loop->drive != NULL)
        sni_drive_turned(loop->drive);
    loop->served_at = loop->io->ops->now_coarse(loop->io);
    loop->depth--;
    if (!rest(loop))
        loop->io->ops->wake(loop->io);
}

static void
go_on(sennit_loop *loop)
{
    sni_link taken;
    sni_link *link;

    sni_list_take(&taken, &loop->again);
    while ((link = sni_list_first(&taken)) != NULL) {
        sni_link_remove(link);
        sni_session_go_on(SNI_OWNER_OF(link, sni_session, again));
    }
    sni_list_take(&taken, &loop->again_listeners);
    while ((link = sni_list_first(&taken)) != NULL) {
        sni_link_remove(link);
        sni_listener_again(SNI_OWNER_OF(link, sni_listener, again));
    }
    /* Each in its time: a connect that is refused at once would be made again at once. */
    if (loop->memory_at == SENNIT_NEVER || sni_loop_now(loop) < loop->memory_at)
        return;
    loop->memory_at = SENNIT_NEVER;
    sni_retry_untimed(loop);
}

/* Beside what is gathered. */
static bool
has_work(const sennit_loop *loop)
{
    return sni_loop_has_posted(loop) || !sni_list_empty(&loop->again) ||
           !sni_list_empty(&loop->again_listeners) || !sni_list_empty(&loop->touched) ||
           !sni_list_empty(&loop->dead_pipes) || !sni_list_empty(&loop->ending_inproc) ||
           loop->look_again;
}

/* What ended is taken apart by a turn, whoever makes one. */
static bool
has_ended(const sennit_loop *loop)
{
    return loop->socks_changed ||
           (!sni_list_empty(&loop->ending) && !loop->short_of_memory);
}

static void
complete(sni_op *op)
{
    op->pending = false;
    switch ((sni_owner_kind)op->owner_kind) {
    case SNI_OWNER_SESSION:
        sni_session_done(op->owner, op);
        break;
    case SNI_OWNER_LISTENER:
        sni_listener_done(op->owner);
        break;
    case SNI_OWNER_ATTEMPT:
        sni_attempt_done(op->owner, op);
        break;
    }
}

/* Waits and handles what came. Returns the number of completions, -1 for EINTR. */
static int
reap(sennit_loop *loop, sennit_time until)
{
    sni_op *done[SNI_TURN_COMPLETIONS];
    int count;

    /* Nothing is kept while it waits. */
    sni_bodies_settle(&loop->bodies);
    if (loop->drive != NULL && until > 0) {
        if (!sni_drive_wait_kernel(loop->drive, until))
            return -1;
        until = 0;
    }
    count = loop->io->ops->reap(loop->io, done, SNI_TURN_COMPLETIONS, until);
    for (int i = 0; i < count; i++)
        complete(done[i]);
    return count;
}

/* Whoever stops it while its callback runs means also what that starts anew. */
static void
call_timer(sennit_loop *loop, sennit_timer *timer)
{
    if (call_out(loop, timer, timer->fn_, timer->arg_))
        sni_timers_stop(&loop->user_timers, timer);
}

static void
run_timers(sennit_loop *loop, sni_timers *timers)
{
    /* No more than there are now: a callback that starts a timer which is due at
     * once must not keep the others from their turn. */
    size_t left = timers->count;
    sennit_time now = left > 0 ? sni_loop_now(loop) : 0;
    sennit_timer *timer;

    while (left-- > 0 && calls(loop) && (timer = sni_timers_pop(timers, now)) != NULL)
        if (timers == &loop->user_timers)
            call_timer(loop, timer);
        else
            timer->fn_(timer->arg_);
}

static void
call_ready(sennit_loop *loop)
{
    size_t left = 0;
    sni_link *link;

    /* Those touched now, and not what they touch. They stay in the list, where turns
     * inside a callback find them. */
    for (link = loop->touched.next; link != &loop->touched; link = link->next)
        left++;
    while (left-- > 0 && calls(loop) && (link = sni_list_first(&loop->touched)) != NULL) {
        sni_link_remove(link);
        sni_sock_call(SNI_OWNER_OF(link, sennit_sock, touched));
    }
}

/* When to look again for memory that was missing. */
static void
plan_memory(sennit_loop *loop)
{
    if (!loop->short_of_memory && sni_list_empty(&loop->untimed))
        loop->memory_at = SENNIT_NEVER;
    else if (loop->memory_at == SENNIT_NEVER)
        loop->memory_at = sni_loop_now(loop) + SNI_MEMORY_RETRY_NS;
}

/* True when something ended for good, which a waiting caller may want to know. */
static bool
bury(sennit_loop *loop)
{
    bool any = !sni_list_empty(&loop->dead_pipes);
    sni_link *link;
    sni_link *next;

    any = sni_inproc_bury(loop) || any;
    loop->short_of_memory = false;
    for (link = loop->ending.next; link != &loop->ending; link = next) {
        next = link->next;
        any = sni_session_bury(SNI_OWNER_OF(link, sni_session, ending)) || any;
    }
    plan_memory(loop);
    while ((link = sni_list_first(&loop->dead_pipes)) != NULL) {
        sni_pipe *pipe = SNI_OWNER_OF(link, sni_pipe, dead);

        sni_link_remove(link);
        if (pipe->session == NULL && pipe->peer.unread == 0)
            sni_pipe_free(pipe);
    }
    /* Callers of turns further out may hold sockets, but never anything below them. */
    if (loop->depth > 1 || !loop->socks_changed)
        return any;
    loop->socks_changed = false;
    for (link = loop->socks.next; link != &loop->socks; link = next) {
        next = link->next;
        (void)sni_sock_bury(SNI_OWNER_OF(link, sennit_sock, link));
    }
    return any;
}

static sennit_time
next_time(const sennit_loop *loop)
{
    sennit_time own = sni_timers_next(&loop->timers);
    sennit_time users = sni_timers_next(&loop->user_timers);
    sennit_time next = own < users ? own : users;

    return next < loop->memory_at ? next : loop->memory_at;
}

bool
sni_loop_flush(sennit_loop *loop)
{
    return flush_dirty(loop);
}

bool
sni_loop_due(const sennit_loop *loop, sennit_time until, bool watched)
{
    return has_work(loop) || has_ended(loop) ||
           loop->shutdowns != sni_context_shutdowns(loop->context) ||
           (!watched && !sni_list_empty(&loop->dirty)) || next_time(loop) < until;
}

sennit_time
sni_loop_wants_turn(const sennit_loop *loop)
{
    sennit_time next = next_time(loop);
    sennit_time tail_at = loop->flushed_at + SNI_GATHER_MAX_NS;

    if (has_work(loop) || has_ended(loop))
        return 0;
    return sni_list_empty(&loop->dirty) || next < tail_at ? next : tail_at;
}

void
sni_loop_attend(sennit_loop *loop)
{
    if (sni_loop_inherited(loop))
        return;
    if (loop->depth == 0)
        (void)sni_inproc_doze(loop, false);
    if (loop->drive != NULL)
        sni_drive_leave(loop->drive);
    else if (loop->depth == 0)
        sni_watch_update(loop);
}

/* Of a hosted loop: when its driver stops waiting, in whose place others may go on
 * gathering. A burst is sent by the one who sends it; its tail by the driver. */
static sennit_time
watch_burst(sennit_loop *loop, sennit_time until)
{
    sennit_time tail_at = loop->flushed_at + SNI_HOST_TICK_NS;
    bool gathered = !sni_list_empty(&loop->dirty);
    bool over = sni_loop_now(loop) >= tail_at;

    loop->drive->watches = !over;
    if (gathered && over) {
        (void)flush_dirty(loop);
        return 0;
    }
    return over || until < tail_at ? until : tail_at;
}

void
sni_loop_service(sennit_loop *loop)
{
    if (loop->depth > 0)
        return;
    loop->depth++;
    (void)flush_dirty(loop);
    (void)bury(loop);
    (void)reap(loop, 0);
    look_at_notes(loop);
    go_on(loop);
    run_timers(loop, &loop->timers);
    (void)flush_dirty(loop);
    (void)bury(loop);
    leave(loop);
}

void
sni_loop_taken(sennit_loop *loop)
{
    if ((++loop->taken & 63) == 0 &&
        loop->io->ops->now_coarse(loop->io) != loop->served_at)
        sni_loop_service(loop);
}

sennit_err
sni_loop_turn(sennit_loop *loop, sennit_time until)
{
    sennit_time next;
    int count;

    if (loop->depth >= SNI_TURNS_NESTED_MAX)
        return sni_loop_fail(loop, SENNIT_ESTATE,
                             "callbacks that wait are nested more than 8 deep");
    loop->depth++;
    /* A flush may make room for a sender that waits, and nothing would end the wait
     * then: the caller looks again first. */
    if ((loop->drive == NULL || until == 0) && flush_dirty(loop))
        until = 0;
    /* A look of a descriptor's at its socket may have stopped at its bound. */
    if (loop->drive != NULL && loop->watches > 0)
        sni_watch_update(loop);
    /* What ended in calls between turns. */
    if (bury(loop))
        until = 0;
    if (has_work(loop) || (loop->drive == NULL && !sni_list_empty(&loop->dirty)))
        until = 0;
    if (loop->drive != NULL && until > 0)
        until = watch_burst(loop, until);
    loop->look_again = false;
    /* Only now: what was buried may have left a timer to connect again. */
    next = next_time(loop);
    if (sni_inproc_doze(loop, until > 0) || (until > 0 && !rest(loop)))
        until = 0;
    count = reap(loop, next < until ? next : until);
    sni_loop_hear_shutdown(loop);
    look_at_notes(loop);
    go_on(loop);
    run_timers(loop, &loop->timers);
    run_timers(loop, &loop->user_timers);
    run_posted(loop);
    run_rings(loop);
    call_ready(loop);
    (void)flush_dirty(loop);
    (void)bury(loop);
    leave(loop);
    return count < 0 ? sni_loop_fail(loop, SENNIT_EINTR, "a signal arrived") : SENNIT_OK;
}

static sennit_err
turn_for(sennit_loop *loop, int timeout_ms)
{
    sennit_time until = 0;
    sennit_err err;

    if (timeout_ms < 0)
        until = SENNIT_NEVER;
    else if (timeout_ms > 0)
        until = sni_loop_now(loop) + (sennit_time)timeout_ms * 1000000u;
    if (until > 0 && sni_loop_terminated(loop))
        return sni_loop_fail(loop, SENNIT_ETERM, NULL);
    err = sni_loop_turn(loop, until);
    if (err == SENNIT_OK && until > 0 && sni_loop_terminated(loop))
        return sni_loop_fail(loop, SENNIT_ETERM, NULL);
    return err;
}

/* As sni_loop_enter(), for calls that turn the loop. Errors: also ESTATE (hosted). */
static sennit_err
enter_owned(sennit_loop *loop)
{
    if (loop != NULL && loop->drive != NULL && !sni_loop_inherited(loop))
        return sni_loop_fail(loop, SENNIT_ESTATE,
                             "a thread of its own turns a hosted loop: call its sockets");
    return sni_loop_enter(loop);
}

sennit_err
sennit_loop_turn(sennit_loop *loop, int timeout_ms)
{
    sennit_err err = enter_owned(loop);

    if (err)
        return err;
    err = turn_for(loop, timeout_ms);
    sni_loop_leave(loop);
    return err;
}

static sennit_err
run(sennit_loop *loop)
{
    sennit_err err = SENNIT_OK;

    while (!atomic_load_explicit(&loop->stopped, memory_order_acquire) &&
           (err == SENNIT_OK || err == SENNIT_EINTR))
        err = turn_for(loop, -1);
    atomic_store_explicit(&loop->stopped, false, memory_order_relaxed);
    return err == SENNIT_EINTR ? SENNIT_OK : err;
}

sennit_err
sennit_loop_run(sennit_loop *loop)
{
    sennit_err err = enter_owned(loop);

    if (err)
        return err;
    err = run(loop);
    sni_loop_leave(loop);
    return err;
}

void
sennit_loop_stop(sennit_loop *loop)
{
    if (loop == NULL || loop->drive != NULL || sni_loop_inherited(loop))
        return;
    if (sni_loop_owned(loop)) {
        atomic_store_explicit(&loop->stopped, true, memory_order_relaxed);
        return;
    }
    /* Under the lock, so that the loop cannot be closed in between. */
    sni_lock_take(&loop->post_lock);
    atomic_store_explicit(&loop->stopped, true, memory_order_release);
    loop->io->ops->wake(loop->io);
    sni_lock_release(&loop->post_lock);
}

/* ---- the rest ---------------------------------------------------------- */

sennit_err
sni_loop_fail(sennit_loop *loop, sennit_err err, const char *why)
{
    const char **place = loop->drive != NULL ? &hosted_why : &loop->why;

    *place = why != NULL ? why : sennit_err_text(err);
    return err;
}

const char *
sennit_loop_why(const sennit_loop *loop)
{
    if (loop == NULL)
        return "the loop or the socket is NULL";
    return loop->drive != NULL ? hosted_why : loop->why;
}

const char *
sennit_loop_backend(const sennit_loop *loop)
{
    return loop == NULL ? "" : loop->io->ops->name;
}

const char *
sennit_loop_notice(const sennit_loop *loop)
{
    return loop == NULL ? "" : loop->notice;
}

sennit_time
sennit_loop_now(sennit_loop *loop)
{
    return loop == NULL ? 0 : sni_loop_now(loop);
}

const sennit_allocator *
sennit_loop_allocator(const sennit_loop *loop)
{
    return loop == NULL ? NULL : &loop->allocator;
}

sennit_err
sennit_loop_msg_init_size(sennit_loop *loop, sennit_msg *msg, size_t size)
{
    sennit_err err = sni_loop_enter(loop);

    if (err)
        return err;
    err = msg == NULL ? SENNIT_EINVAL
                      : sni_msg_init_size(sni_msg_of(msg), size, &loop->bodies);
    if (err)
        (void)sni_loop_fail(loop, err, msg == NULL ? "msg is NULL" : NULL);
    sni_loop_leave(loop);
    return err;
}

int
sennit_loop_fd(const sennit_loop *loop)
{
    return loop == NULL || loop->drive != NULL ? -1 : loop->io->ops->descriptor(loop->io);
}

static int
timeout_ms(sennit_loop *loop)
{
    sennit_time next;
    sennit_time now;

    if (loop->drive != NULL)
        return -1;
    if (has_work(loop) || has_ended(loop) || !sni_list_empty(&loop->dirty))
        return 0;
    plan_memory(loop);
    next = next_time(loop);
    if (next == SENNIT_NEVER)
        return -1;
    now = sni_loop_now(loop);
    if (next <= now)
        return 0;
    return (next - now) / 1000000u > 3600000u ? 3600000
                                              : (int)((next - now + 999999u) / 1000000u);
}

int
sennit_loop_timeout_ms(sennit_loop *loop)
{
    int ms;

    if (loop == NULL)
        return -1;
    sni_loop_look(loop);
    ms = timeout_ms(loop);
    sni_loop_leave(loop);
    return ms;
}

static sennit_err
start_timer(sennit_loop *loop, sennit_timer *timer, sennit_time delay_ns,
            void (*fn)(void *arg), void *arg)
{
    sennit_time now;
    sennit_time at;
    sennit_err err;

    if (timer == NULL || fn == NULL)
        return sni_loop_fail(loop, SENNIT_EINVAL,
                             timer == NULL ? "timer is NULL" : "fn is NULL");
    now = sni_loop_now(loop);
    at = delay_ns > SENNIT_NEVER - now ? SENNIT_NEVER : now + delay_ns;
    err = sni_timers_start(&loop->user_timers, timer, at, fn, arg);
    return err ? sni_loop_fail(loop, err, NULL) : SENNIT_OK;
}

sennit_err
sennit_timer_start(sennit_loop *loop, sennit_timer *timer, sennit_time delay_ns,
                   void (*fn)(void *arg), void *arg)
{
    sennit_err err = sni_loop_enter(loop);

    if (err)
        return err;
    err = start_timer(loop, timer, delay_ns, fn, arg);
    sni_loop_leave(loop);
    return err;
}

void
sennit_timer_stop(sennit_loop *loop, sennit_timer *timer)
{
    if (loop == NULL || timer == NULL)
        return;
    sni_loop_insist(loop, "sennit_timer_stop");
    sni_timers_stop(&loop->user_timers, timer);
    if (loop->drive != NULL)
        sni_drive_await_call(loop->drive, timer);
    sni_loop_leave(loop);
}
