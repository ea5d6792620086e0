/* SPDX-License-Identifier: MIT */
#include "core/sock.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/rare.h"
#include "core/dialer.h"
#include "core/flush.h"
#include "core/inproc.h"
#include "core/listener.h"
#include "core/tap.h"
#include "wire/socktype.h"

/* ---- observing --------------------------------------------------------- */

/* After a look that found nothing. If that was for its bound, the application believes
 * the socket empty and nobody will tell it otherwise: the next turn ends at once. */
void
sni_sock_found_nothing(sennit_sock *sock)
{
    if (sni_pattern_pending(&sock->pattern))
        sock->loop->look_again = true;
    sni_watch_mark(sock);
}

/* Its callback is asked, in the next turn, whether there is something for it. */
static void
touch(sennit_sock *sock)
{
    sni_watch_mark(sock);
    if (sock->on_ready != NULL && !sock->in_call && !sni_link_linked(&sock->touched))
        sni_list_push(&sock->loop->touched, &sock->touched);
}

void
sni_sock_changed(sennit_sock *sock)
{
    touch(sock);
    if (sock->calls > 0 && sock->loop->drive != NULL)
        sni_drive_changed(sock->loop->drive, sock);
}

/* A closed socket stays until the last call that holds it lets it go. */
static void
hold(sennit_sock *sock)
{
    sock->calls++;
}

static void
let_go(sennit_sock *sock)
{
    sock->calls--;
    if (sock->closed)
        sock->loop->socks_changed = true;
}

unsigned
sni_sock_look(sennit_sock *sock)
{
    unsigned ready = sni_pattern_ready(&sock->pattern);

    if (!(ready & SENNIT_READABLE) && sni_inproc_doze(sock->loop, false))
        ready = sni_pattern_ready(&sock->pattern);
    if (!(ready & SENNIT_READABLE))
        sni_sock_found_nothing(sock);
    return ready | (sock->events.count > 0 ? SENNIT_EVENTS : 0);
}

unsigned
sennit_sock_ready(sennit_sock *sock)
{
    unsigned ready;

    if (sock == NULL)
        return 0;
    sni_loop_insist(sock->loop, "sennit_sock_ready");
    hold(sock);
    /* Its descriptor also says that the loop has something to do. */
    if (sock->watch != NULL && sock->loop->drive == NULL && sock->loop->depth == 0)
        (void)sni_loop_turn(sock->loop, 0);
    ready = sock->closed ? 0 : sni_sock_look(sock);
    sni_watch_mark(sock);
    let_go(sock);
    sni_loop_leave(sock->loop);
    return ready;
}

sennit_err
sennit_sock_fd(sennit_sock *sock, unsigned interest, int *fd)
{
    sennit_err err = sni_sock_enter(sock);

    if (err)
        return err;
    err = fd == NULL ? SENNIT_EINVAL : sni_watch_start(sock, interest, fd);
    if (err)
        (void)sni_loop_fail(sock->loop, err, fd == NULL ? "fd is NULL" : NULL);
    return sni_sock_leave(sock, err);
}

void
sennit_sock_on_ready(sennit_sock *sock, unsigned interest, sennit_sock_fn *fn, void *arg)
{
    if (sock == NULL)
        return;
    sni_loop_insist(sock->loop, "sennit_sock_on_ready");
    sock->on_ready = fn;
    sock->on_ready_arg = arg;
    sock->interest = interest;
    sni_link_remove(&sock->touched);
    touch(sock);
    /* The old one does not run any more then. */
    if (sock->loop->drive != NULL)
        sni_drive_await_call(sock->loop->drive, sock);
    sni_loop_leave(sock->loop);
}

static void
call_ready(sennit_sock *sock, unsigned ready)
{
    sennit_sock_fn *fn = sock->on_ready;
    void *arg = sock->on_ready_arg;
    sni_drive *drive = sock->loop->drive;

    if (drive == NULL) {
        fn(sock, ready, arg);
        return;
    }
    hold(sock);
    sni_drive_call_begin(drive, sock);
    fn(sock, ready, arg);
    (void)sni_drive_call_end(drive);
    let_go(sock);
}

void
sni_sock_call(sennit_sock *sock)
{
    unsigned ready;

    if (sock->on_ready == NULL || sock->closed || sock->in_call)
        return;
    ready = sni_sock_look(sock) & sock->interest;
    if (ready == 0) {
        if (sni_pattern_pending(&sock->pattern))
            touch(sock);
        return;
    }
    /* A callback that waits on its own socket is not called again inside itself. */
    sock->in_call = true;
    call_ready(sock, ready);
    sock->in_call = false;
    /* Level-triggered: what it left over is offered again. A closed socket is
     * still there until the turn's end. */
    if (!sock->closed)
        touch(sock);
}

sennit_sock_type
sennit_sock_get_type(const sennit_sock *sock)
{
    return sock == NULL ? (sennit_sock_type)-1 : sock->type;
}

sennit_loop *
sennit_sock_get_loop(const sennit_sock *sock)
{
    return sock == NULL ? NULL : sock->loop;
}

const char *
sennit_sock_last_endpoint(const sennit_sock *sock)
{
    return sock == NULL ? "" : sock->last_endpoint;
}

/* ---- opening and closing ----------------------------------------------- */

static sennit_err
open_sock(sennit_sock **out, sennit_loop *loop, sennit_sock_type type,
          const sennit_sock_opts *opts)
{
    static const sennit_sock_opts defaults = SENNIT_SOCK_OPTS_DEFAULT;
    const char *why = "";
    sennit_sock *sock;
    sennit_err err;

    if (out == NULL)
        return sni_loop_fail(loop, SENNIT_EINVAL, "out is NULL");
    if ((unsigned)type > SENNIT_STREAM)
        return sni_loop_fail(loop, SENNIT_ENOTSUP, sni_socktype_why_not(type));
    if (opts == NULL)
        opts = &defaults;
    err = sni_opts_check(type, opts, &why);
    if (err)
        return sni_loop_fail(loop, err, why);
    err = sni_context_admit(loop->context);
    if (err)
        return sni_loop_fail(loop, err,
                             err == SENNIT_EMFILE
                                 ? "as many sockets as the context's sockets_max are open"
                                 : NULL);
    sock = sni_acquire_zero(&loop->allocator, sizeof *sock);
    err = SENNIT_ENOMEM;
    if (sock == NULL)
        goto fail_admission;
    sock->loop = loop;
    sock->type = type;
    err = sni_opts_copy(&loop->allocator, opts, &sock->opts, &sock->opts_owned);
    if (err)
        goto fail_sock;
    sni_pattern_init(&sock->pattern, type, &sni_pipe_port, &loop->allocator, &sock->stats,
                     &sock->opts);
    sni_pipe_set_marks(sock);
    sni_events_init(&sock->events, &loop->allocator, opts->events_max);
    sni_link_init(&sock->link);
    sni_link_init(&sock->touched);
    sni_link_init(&sock->pollers);
    sni_link_init(&sock->taps);
    sni_link_init(&sock->stale);
    sni_link_init(&sock->pipes);
    sni_link_init(&sock->sessions);
    sni_link_init(&sock->dialers);
    sni_link_init(&sock->listeners);
    sni_list_push(&loop->socks, &sock->link);
    *out = sock;
    return SENNIT_OK;

fail_sock:
    sni_release(&loop->allocator, sock);
fail_admission:
    sni_context_dismiss(loop->context);
    return sni_loop_fail(loop, err, NULL);
}

sennit_err
sennit_sock_open(sennit_sock **out, sennit_loop *loop, sennit_sock_type type,
                 const sennit_sock_opts *opts)
{
    sennit_err err = sni_loop_enter(loop);

    if (err)
        return err;
    err = open_sock(out, loop, type, opts);
    sni_loop_leave(loop);
    return err;
}

bool
sni_sock_bury(sennit_sock *sock)
{
    sennit_loop *loop = sock->loop;

    if (!sock->closed || sock->calls > 0 || !sni_list_empty(&sock->pipes) ||
        !sni_list_empty(&sock->sessions) || !sni_list_empty(&sock->dialers) ||
        !sni_list_empty(&sock->listeners))
        return false;
    sni_pattern_fini(&sock->pattern);
    sni_events_fini(&sock->events);
    sni_link_remove(&sock->stale);
    sni_watch_stop(sock);
    sni_opts_fini(&loop->allocator, &sock->opts_owned);
    sni_chunk_fini(&sock->chunk);
    sni_link_remove(&sock->touched);
    sni_link_remove(&sock->link);
    sni_release(&loop->allocator, sock);
    return true;
}

/* Detaches a pipe from the pattern for good: unread messages are dropped. */
static void
close_pipe(sni_pipe *pipe)
{
    sni_inproc_lost(pipe);
    if (pipe->attached)
        sni_pattern_detach(&pipe->sock->pattern, &pipe->peer);
    pipe->attached = false;
    sni_msgq_fini(&pipe->inq);
}

static void
close_pipes(sennit_sock *sock)
{
    sni_link *next;

    for (sni_link *link = sock->pipes.next; link != &sock->pipes; link = next) {
        sni_pipe *pipe = SNI_OWNER_OF(link, sni_pipe, link);

        next = link->next;
        close_pipe(pipe);
        /* A retired one has lost its connection, and only unread messages kept it. */
        if (pipe->inproc != NULL)
            sni_inproc_leave(pipe);
        else if (pipe->retired)
            sni_pipe_free(pipe);
    }
}

static void
close_connections(sennit_sock *sock)
{
    sni_link *next;

    for (sni_link *link = sock->listeners.next; link != &sock->listeners; link = next) {
        next = link->next;
        sni_listener_close(SNI_OWNER_OF(link, sni_listener, link));
    }
    for (sni_link *link = sock->dialers.next; link != &sock->dialers; link = next) {
        next = link->next;
        sni_dialer_close(SNI_OWNER_OF(link, sni_dialer, link));
    }
    for (sni_link *link = sock->sessions.next; link != &sock->sessions; link = next) {
        sni_session *session = SNI_OWNER_OF(link, sni_session, link);

        next = link->next;
        if (session->dialer == NULL)
            sni_session_linger(session);
    }
}

static void
close_sock(sennit_sock *sock)
{
    sennit_loop *loop = sock->loop;

    if (sock->closed)
        return;
    /* A shutdown before it is none that it lingers at. */
    if (!loop->closing)
        sni_loop_hear_shutdown(loop);
    /* What a forked child's copy has queued is the parent's to send. */
    if (sni_loop_inherited(loop))
        sock->opts.linger_ms = 0;
    if (sock->proxy != NULL)
        sni_proxy_lost(sock->proxy);
    sni_poller_lost(&sock->pollers);
    sni_taps_close(sock);
    sock->closed = true;
    sni_context_dismiss(loop->context);
    sock->on_ready = NULL;
    sni_link_remove(&sock->touched);
    sni_inproc_forget(sock);
    close_pipes(sock);
    close_connections(sock);
    sni_watch_mark(sock);
    if (loop->drive != NULL) {
        sni_drive_changed(loop->drive, sock);
        hold(sock);
        sni_drive_await_call(loop->drive, sock);
        let_go(sock);
    }
    loop->socks_changed = true;
}

void
sennit_sock_close(sennit_sock *sock)
{
    sennit_loop *loop;

    if (sock == NULL)
        return;
    loop = sock->loop;
    sni_loop_insist(loop, "sennit_sock_close");
    close_sock(sock);
    sni_loop_leave(loop);
}

void
sni_sock_abandon(sennit_sock *sock)
{
    sock->opts.linger_ms = 0;
    if (sock->closed)
        close_connections(sock);
    else
        close_sock(sock);
}

/* ---- flushing ----------------------------------------------------------- */

/* Hands what this socket has gathered to the kernel. */
static void
flush(sennit_sock *sock)
{
    sni_link *again = &sock->loop->again;
    sni_link *next;

    sni_flush(sock->loop, sock, false);
    /* Those that have stopped to let others have a turn hold gathered messages too. */
    for (sni_link *link = again->next; link != again; link = next) {
        sni_session *session = SNI_OWNER_OF(link, sni_session, again);

        next = link->next;
        if (session->sock == sock)
            sni_session_flush(session);
    }
}

void
sennit_sock_flush(sennit_sock *sock)
{
    if (sock == NULL || sni_loop_inherited(sock->loop))
        return;
    sni_loop_insist(sock->loop, "sennit_sock_flush");
    flush(sock);
    sni_loop_leave(sock->loop);
}

/* ---- subscribing ------------------------------------------------------- */

/* Why a subscription was refused, where that is more than the error. */
static const char *
why_not_subscribed(const sennit_sock *sock, sennit_err err)
{
    if (err == SENNIT_ENOTSUP)
        return "only SUB, XSUB, and XPUB with xpub_manual subscribe";
    if (err == SENNIT_ESTATE)
        return "no subscription was received yet";
    if (err == SENNIT_ENOENT)
        return sock->type == SENNIT_XPUB ? "the peer is gone, or does not get that topic"
                                         : "that was not subscribed to";
    return err == SENNIT_EMSGSIZE ? "the topic is longer than 1 MiB" : NULL;
}

static sennit_err
subscribe(sennit_sock *sock, bool on, sennit_bytes prefix)
{
    sennit_err err;

    if (prefix.data == NULL && prefix.size > 0)
        return sni_loop_fail(sock->loop, SENNIT_EINVAL,
                             "prefix is of more than 0 octets, and its data NULL");
    err = sni_pattern_subscribe(&sock->pattern, on, prefix);
    flush(sock);
    return err ? sni_loop_fail(sock->loop, err, why_not_subscribed(sock, err))
               : SENNIT_OK;
}

sennit_err
sennit_sock_subscribe(sennit_sock *sock, sennit_bytes prefix)
{
    sennit_err err = sni_sock_enter(sock);

    return err ? err : sni_sock_leave(sock, subscribe(sock, true, prefix));
}

sennit_err
sennit_sock_unsubscribe(sennit_sock *sock, sennit_bytes prefix)
{
    sennit_err err = sni_sock_enter(sock);

    return err ? err : sni_sock_leave(sock, subscribe(sock, false, prefix));
}

/* ---- sending and receiving --------------------------------------------- */

/* Turns the loop, or lets others do so, until something happens; with `any` that need not
 * be of this socket. A callback may close the socket, which
 * then stays until the last call that waits on it has returned.
 * Errors: EAGAIN (the time is up), ETERM, ECLOSED, and those of the turn. */
static sennit_err
wait_turn(sennit_sock *sock, bool any, int timeout_ms, sennit_time *until)
{
    sennit_loop *loop = sock->loop;
    sennit_err err;

    if (sni_loop_terminated(loop))
        return sni_loop_fail(loop, SENNIT_ETERM, NULL);
    if (*until == 0)
        *until = timeout_ms < 0 ? SENNIT_NEVER
                                : sni_loop_now(loop) + (sennit_time)timeout_ms * 1000000u;
    else if (*until != SENNIT_NEVER && sni_loop_now(loop) >= *until)
        return sni_loop_fail(loop, SENNIT_EAGAIN, "the time to wait is up");
    hold(sock);
    err = loop->drive == NULL ? sni_loop_turn(loop, *until)
                              : sni_drive_wait(loop->drive, any ? NULL : sock, *until);
    let_go(sock);
    return sock->closed ? sni_sock_open_still(sock) : err;
}

sennit_err
sni_sock_wait(sennit_sock *sock, const uint64_t *reached, uint64_t count, int timeout_ms)
{
    sennit_time until = 0;
    sennit_err err = SENNIT_OK;

    while (err == SENNIT_OK && *reached < count)
        err = wait_turn(sock, true, timeout_ms, &until);
    return err;
}

/* Frames of different threads' messages do not mix: whether another thread is in the
 * middle of one. */
static bool
is_anothers(const sennit_sock *sock, uintptr_t thread)
{
    return thread != 0 && sock->loop->drive != NULL &&
           thread != (uintptr_t)pthread_self();
}

/* A frame went through; `*thread` is whose message it was of. */
static void
passed(sennit_sock *sock, uintptr_t *thread, bool more)
{
    if (sock->loop->drive == NULL)
        return;
    if (!more && *thread != 0 && sock->calls > 0)
        sni_drive_changed(sock->loop->drive, sock);
    *thread = more ? (uintptr_t)pthread_self() : 0;
    sni_watch_mark(sock);
}

sennit_err
sni_sock_try_again(sennit_sock *sock, sni_waiting *wait, unsigned flags, int timeout_ms)
{
    bool waits = !(flags & SENNIT_DONTWAIT) && timeout_ms != 0;

    /* Without asking the kernel: other threads' messages do not come by it. */
    if (sni_inproc_doze(sock->loop, waits))
        return SENNIT_OK;
    if (waits)
        return wait_turn(sock, false, timeout_ms, &wait->until);
    if (sni_loop_terminated(sock->loop))
        return sni_loop_fail(sock->loop, SENNIT_ETERM, NULL);
    if (wait->served)
        return sni_loop_fail(sock->loop, SENNIT_EAGAIN, NULL);
    wait->served = true;
    sni_loop_service(sock->loop);
    return SENNIT_OK;
}

/* Says why, where that is more than the error. */
sennit_err
sni_sock_refused(sennit_sock *sock, sennit_err err, bool sending)
{
    sni_watch_mark(sock);
    if (err == SENNIT_ENOTSUP)
        return sni_loop_fail(sock->loop, err,
                             sending ? "a socket of this type does not send"
                                     : "a socket of this type does not receive");
    if (err == SENNIT_ESTATE && sock->type == SENNIT_REQ)
        return sni_loop_fail(sock->loop, err,
                             sending ? "a REQ receives the reply before it sends again, "
                                       "or sets req_relaxed"
                                     : "a REQ sends a request before it receives");
    if (err == SENNIT_ESTATE)
        return sni_loop_fail(sock->loop, err,
                             sending ? "a REP receives a request before it sends"
                                     : "a REP sends its reply before it receives again");
    if (err == SENNIT_EHOSTUNREACH)
        return sni_loop_fail(sock->loop, err, "no peer has the identity in front");
    if (err == SENNIT_ECONNRESET)
        return sni_loop_fail(sock->loop, err,
                             "the connection that carried the request is gone");
    return sni_loop_fail(sock->loop, err, NULL);
}

/* What send or receive were given is none of what they take. */
SNI_RARE static sennit_err
wrong_arguments(sennit_sock *sock, const sennit_msg *msg, bool sending)
{
    const char *why = sending
                          ? "flags has bits beside SENNIT_DONTWAIT and SENNIT_MORE"
                          : "flags has bits beside SENNIT_DONTWAIT, the only one here";

    return sni_loop_fail(sock->loop, SENNIT_EINVAL, msg == NULL ? "msg is NULL" : why);
}

sennit_err
sni_sock_push(sennit_sock *sock, sni_msg *msg, bool more)
{
    size_t size = sni_msg_size_of(msg);
    sennit_err err;

    if (is_anothers(sock, sock->sender))
        return SENNIT_EAGAIN;
    err = sni_pattern_send(&sock->pattern, msg, more);
    if (err)
        return err;
    passed(sock, &sock->sender, more);
    sock->stats.sent_bytes += size;
    sock->stats.sent_msgs += !more && !sock->pattern.silent;
    return SENNIT_OK;
}

void
sni_sock_sent(sennit_sock *sock)
{
    touch(sock);
    sni_loop_sent(sock->loop);
}

/* The first push said `err`. */
SNI_RARE static sennit_err
push_again(sennit_sock *sock, sni_msg *msg, unsigned flags, sennit_err err)
{
    sni_waiting wait = { false, 0 };

    while (err == SENNIT_EAGAIN) {
        err = sni_sock_try_again(sock, &wait, flags, sock->opts.send_timeout_ms);
        if (err)
            return err;
        err = sni_sock_push(sock, msg, flags & SENNIT_MORE);
    }
    return err ? sni_sock_refused(sock, err, true) : SENNIT_OK;
}

static inline sennit_err
send_frame(sennit_sock *sock, sennit_msg *msg, unsigned flags)
{
    bool more = flags & SENNIT_MORE;
    sennit_err err;

    if ((msg == NULL) | ((flags & ~(SENNIT_DONTWAIT | SENNIT_MORE)) != 0))
        return wrong_arguments(sock, msg, true);
    if (more && sock->opts.conflate)
        return sni_loop_fail(sock->loop, SENNIT_ENOTSUP,
                             "conflate is for messages of a single frame");
    err = sni_sock_push(sock, sni_msg_of(msg), more);
    if (err)
        err = push_again(sock, sni_msg_of(msg), flags, err);
    if (err == SENNIT_OK && !more)
        sni_sock_sent(sock);
    return err;
}

sennit_err
sni_sock_send_frame(sennit_sock *sock, sennit_msg *msg, unsigned flags)
{
    return send_frame(sock, msg, flags);
}

sennit_err
sennit_sock_send(sennit_sock *sock, sennit_msg *msg, unsigned flags)
{
    sennit_err err = sni_sock_enter(sock);

    return err ? err : sni_sock_leave(sock, send_frame(sock, msg, flags));
}

static inline sennit_err
pull(sennit_sock *sock, sni_msg *msg)
{
    sennit_err err;

    if (is_anothers(sock, sock->receiver))
        return SENNIT_EAGAIN;
    err = sni_pattern_recv(&sock->pattern, msg);
    if (err)
        return err;
    passed(sock, &sock->receiver, msg->more);
    sock->stats.received_bytes += sni_msg_size_of(msg);
    sock->stats.received_msgs += !msg->more;
    sock->receiving = msg->more;
    return SENNIT_OK;
}

sennit_err
sni_sock_pull(sennit_sock *sock, sni_msg *msg)
{
    return pull(sock, msg);
}

void
sni_sock_received(sennit_sock *sock)
{
    touch(sock);
}

/* The first pull said `err`. */
SNI_RARE static sennit_err
pull_again(sennit_sock *sock, sni_msg *taken, unsigned flags, sennit_err err)
{
    sni_waiting wait = { false, 0 };

    while (err == SENNIT_EAGAIN) {
        sni_sock_found_nothing(sock);
        err = sni_sock_try_again(sock, &wait, flags, sock->opts.recv_timeout_ms);
        if (err)
            return err;
        err = sni_sock_pull(sock, taken);
    }
    return err ? sni_sock_refused(sock, err, false) : SENNIT_OK;
}

static inline sennit_err
receive_frame(sennit_sock *sock, sennit_msg *msg, unsigned flags)
{
    sni_msg taken;
    sni_block *old;
    sennit_err err;

    if ((msg == NULL) | ((flags & ~SENNIT_DONTWAIT) != 0))
        return wrong_arguments(sock, msg, false);
    sni_msg_init(&taken);
    err = pull(sock, &taken);
    if (err)
        err = pull_again(sock, &taken, flags, err);
    if (err)
        return err;
    old = sni_msg_block(sni_msg_of(msg));
    if (old != NULL)
        sni_bodies_return(&sock->loop->bodies, old);
    *sni_msg_of(msg) = taken;
    if (!taken.more)
        touch(sock);
    sni_loop_taken(sock->loop);
    return SENNIT_OK;
}

sennit_err
sennit_sock_recv(sennit_sock *sock, sennit_msg *msg, unsigned flags)
{
    sennit_err err = sni_sock_enter(sock);

    return err ? err : sni_sock_leave(sock, receive_frame(sock, msg, flags));
}

/* Memory that a call was given is not there. */
SNI_RARE static sennit_err
no_data(const sennit_sock *sock)
{
    return sni_loop_fail(sock->loop, SENNIT_EINVAL, "data is NULL, and size is not 0");
}

SNI_RARE static sennit_err
send_copy(sennit_sock *sock, const void *data, size_t size, unsigned flags)
{
    sennit_msg msg;
    sennit_err err =
        sni_msg_init_copy(sni_msg_of(&msg), sni_bytes(data, size), &sock->loop->bodies);

    if (err)
        return sni_loop_fail(sock->loop, err, NULL);
    err = send_frame(sock, &msg, flags);
    sennit_msg_fini(&msg);
    return err;
}

static inline sennit_err
send_bytes(sennit_sock *sock, const void *data, size_t size, unsigned flags)
{
    sennit_msg msg;
    sennit_err err;

    if (data == NULL && size > 0)
        return no_data(sock);
    if (size >= SNI_COPY_MAX_BYTES)
        return send_copy(sock, data, size, flags);
    /* What will be copied into the batch needs no copy before that. */
    sni_msg_borrow(sni_msg_of(&msg), data, size);
    err = send_frame(sock, &msg, flags);
    if (err)
        sennit_msg_fini(&msg);
    return err;
}

sennit_err
sni_sock_send_bytes(sennit_sock *sock, const void *data, size_t size, unsigned flags)
{
    return send_bytes(sock, data, size, flags);
}

sennit_err
sennit_sock_send_bytes(sennit_sock *sock, const void *data, size_t size, unsigned flags)
{
    sennit_err err = sni_sock_enter(sock);

    return err ? err : sni_sock_leave(sock, send_bytes(sock, data, size, flags));
}

static sennit_err
receive_bytes(sennit_sock *sock, void *data, size_t size, size_t *size_out,
              unsigned flags)
{
    sennit_msg msg;
    sennit_err err;

    if (data == NULL && size > 0)
        return no_data(sock);
    sennit_msg_init(&msg);
    err = receive_frame(sock, &msg, flags);
    if (err == SENNIT_OK) {
        sennit_bytes body = sennit_msg_bytes(&msg);

        if (size > 0 && body.size > 0)
            sni_body_copy(data, body.data, body.size < size ? body.size : size);
        if (size_out != NULL)
            *size_out = body.size;
    }
    sennit_msg_fini(&msg);
    return err;
}

sennit_err
sennit_sock_recv_bytes(sennit_sock *sock, void *data, size_t size, size_t *size_out,
                       unsigned flags)
{
    sennit_err err = sni_sock_enter(sock);

    return err ? err
               : sni_sock_leave(sock, receive_bytes(sock, data, size, size_out, flags));
}
