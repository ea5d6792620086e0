/* SPDX-License-Identifier: MIT */
#include "core/inproc.h"

#include "base/alloc.h"
#include "core/sock.h"
#include "wire/socktype.h"

typedef struct inproc_name {
    sni_link link;
    sennit_sock *sock;
    char name[];
} inproc_name;

/* A connect: `near` is the connecter's pipe, `far` the end for whoever binds. */
typedef struct inproc_connect {
    sni_link link;
    sni_pipe *near;
    sni_pipe *far;
    char name[];
} inproc_connect;

static inproc_name *
find_name(sennit_loop *loop, const char *name)
{
    for (sni_link *link = loop->inproc_names.next; link != &loop->inproc_names;
         link = link->next) {
        inproc_name *entry = SNI_OWNER_OF(link, inproc_name, link);

        if (strcmp(entry->name, name) == 0)
            return entry;
    }
    return NULL;
}

/* Tells the monitor of the pipe's socket. */
static void
tell(sni_pipe *pipe, sennit_event_kind kind, sennit_err err, const char *reason)
{
    char endpoint[SNI_INPROC_NAME_MAX + 10] = "inproc://";

    memcpy(endpoint + 9, pipe->inproc->name, strlen(pipe->inproc->name) + 1);
    sni_sock_event(pipe->sock, kind, endpoint, pipe->peer.number, err, reason, 0,
                   sennit_msg_bytes(&pipe->peer.identity));
}

/* `pipe` hears that its mate is there. */
static sennit_err
meet(sni_pipe *pipe)
{
    const sennit_sock_opts *theirs = &pipe->inproc->mate->sock->opts;

    return sni_pattern_connected(&pipe->sock->pattern, &pipe->peer,
                                 sni_bytes(theirs->identity, theirs->identity_size));
}

/* Gives the far end to the binder and introduces both. */
static sennit_err
join(sennit_sock *binder, sni_pipe *near, sni_pipe *far)
{
    const char *type = sennit_sock_type_name(near->sock->type);
    sennit_err err;

    if (!sni_socktype_accepts(binder->type, sni_bytes(type, strlen(type))))
        return SENNIT_EPROTO;
    far->sock = binder;
    far->peer.number = ++binder->next_number;
    sni_list_push(&binder->pipes, &far->link);
    err = sni_pipe_attach(far);
    if (err == SENNIT_OK)
        err = meet(far);
    if (err == SENNIT_OK)
        err = meet(near);
    if (err) {
        /* Not even for a moment: nobody was told of this connection. */
        if (far->peer.connected)
            sni_pattern_disconnected(&binder->pattern, &far->peer, true);
        return err;
    }
    near->sock->stats.delivered_msgs += far->inq.msgs;
    sni_pipe_update_unread(far);
    sni_pipe_update_writable(near);
    binder->stats.connections++;
    near->sock->stats.connections++;
    tell(far, SENNIT_EVENT_READY, SENNIT_OK, "");
    tell(near, SENNIT_EVENT_READY, SENNIT_OK, "");
    return SENNIT_OK;
}

sennit_err
sni_inproc_bind(sennit_sock *sock, const char *name)
{
    sennit_loop *loop = sock->loop;
    size_t size = strlen(name) + 1;
    inproc_name *entry;
    sni_link *next;

    if (find_name(loop, name) != NULL)
        return SENNIT_EADDRINUSE;
    entry = sni_acquire(&loop->allocator, sizeof *entry + size);
    if (entry == NULL)
        return SENNIT_ENOMEM;
    entry->sock = sock;
    memcpy(entry->name, name, size);
    sni_link_init(&entry->link);
    sni_list_push(&loop->inproc_names, &entry->link);
    for (sni_link *link = loop->inproc_waiting.next; link != &loop->inproc_waiting;
         link = next) {
        inproc_connect *waiting = SNI_OWNER_OF(link, inproc_connect, link);
        sennit_err err;

        next = link->next;
        if (strcmp(waiting->name, name) != 0)
            continue;
        sni_link_remove(link);
        err = join(sock, waiting->near, waiting->far);
        if (err) {
            tell(waiting->near, SENNIT_EVENT_HANDSHAKE_FAILED, err,
                 "the bound socket refused the peer");
            sni_pipe_free(waiting->far);
        }
        sni_release(&loop->allocator, waiting);
    }
    return SENNIT_OK;
}

static sennit_err
wait_for_bind(sennit_sock *sock, sni_pipe *near, sni_pipe *far, const char *name)
{
    size_t size = strlen(name) + 1;
    inproc_connect *waiting = sni_acquire(&sock->loop->allocator, sizeof *waiting + size);

    if (waiting == NULL)
        return SENNIT_ENOMEM;
    waiting->near = near;
    waiting->far = far;
    memcpy(waiting->name, name, size);
    sni_link_init(&waiting->link);
    sni_list_push(&sock->loop->inproc_waiting, &waiting->link);
    return SENNIT_OK;
}

static sennit_err
new_end(sni_pipe **out, sennit_loop *loop, sennit_sock *sock, const char *name)
{
    size_t size = strlen(name) + 1;
    sni_inproc *end = sni_acquire_zero(&loop->allocator, sizeof *end + size);
    sennit_err err;

    if (end == NULL)
        return SENNIT_ENOMEM;
    err = sni_pipe_new(out, loop, sock);
    if (err) {
        sni_release(&loop->allocator, end);
        return err;
    }
    end->connecter = sock != NULL;
    memcpy(end->name, name, size);
    (*out)->inproc = end;
    return SENNIT_OK;
}

sennit_err
sni_inproc_connect(sennit_sock *sock, const char *name)
{
    inproc_name *entry = find_name(sock->loop, name);
    sni_pipe *near;
    sni_pipe *far;
    sennit_err err;

    err = new_end(&near, sock->loop, sock, name);
    if (err)
        return err;
    near->peer.number = ++sock->next_number;
    err = new_end(&far, sock->loop, NULL, name);
    if (err) {
        sni_pipe_free(near);
        return err;
    }
    near->inproc->mate = far;
    far->inproc->mate = near;
    err = sni_pipe_attach(near);
    if (err == SENNIT_OK)
        err = entry != NULL ? join(entry->sock, near, far)
                            : wait_for_bind(sock, near, far, name);
    if (err) {
        near->inproc->mate = NULL;
        far->inproc->mate = NULL;
        sni_pipe_free(far);
        sni_pipe_free(near);
    }
    return err;
}

bool
sni_inproc_connected(const sennit_sock *sock, const char *name)
{
    for (const sni_link *link = sock->pipes.next; link != &sock->pipes;
         link = link->next) {
        const sni_pipe *pipe = SNI_CONST_OWNER_OF(link, sni_pipe, link);

        if (pipe->inproc != NULL && pipe->inproc->connecter && !pipe->retired &&
            strcmp(pipe->inproc->name, name) == 0)
            return true;
    }
    return false;
}

/* The other end takes no more and reads what it has. */
static void
part(sni_pipe *pipe)
{
    sni_pipe *mate = pipe->inproc->mate;

    if (mate == NULL)
        return;
    pipe->inproc->mate = NULL;
    mate->inproc->mate = NULL;
    /* What waited for a bind is lost; what a bound end had was delivered. */
    if (mate->sock == NULL)
        pipe->sock->stats.dropped_disconnect_msgs += mate->inq.msgs;
    if (pipe->sock == NULL)
        mate->sock->stats.dropped_disconnect_msgs += pipe->inq.msgs;
    sni_msgq_rollback(&mate->inq);
    sni_pipe_retire(mate);
}

/* Cuts the pipes of `sock` at one side of a name. */
static bool
cut(sennit_sock *sock, const char *name, bool connecter)
{
    bool any = false;
    sni_link *next;

    for (sni_link *link = sock->pipes.next; link != &sock->pipes; link = next) {
        sni_pipe *pipe = SNI_OWNER_OF(link, sni_pipe, link);

        next = link->next;
        if (pipe->inproc == NULL || pipe->retired ||
            pipe->inproc->connecter != connecter || strcmp(pipe->inproc->name, name) != 0)
            continue;
        part(pipe);
        sni_msgq_rollback(&pipe->inq);
        sni_pipe_retire(pipe);
        any = true;
    }
    return any;
}

static void
forget_waiting(inproc_connect *waiting)
{
    const sennit_allocator *alloc = &waiting->near->loop->allocator;

    sni_link_remove(&waiting->link);
    sni_pipe_free(waiting->far);
    sni_release(alloc, waiting);
}

sennit_err
sni_inproc_unbind(sennit_sock *sock, const char *name)
{
    inproc_name *entry = find_name(sock->loop, name);

    if (entry == NULL || entry->sock != sock)
        return SENNIT_ENOENT;
    sni_link_remove(&entry->link);
    sni_release(&sock->loop->allocator, entry);
    (void)cut(sock, name, false);
    return SENNIT_OK;
}

sennit_err
sni_inproc_disconnect(sennit_sock *sock, const char *name)
{
    bool any = false;
    sni_link *next;

    for (sni_link *link = sock->loop->inproc_waiting.next;
         link != &sock->loop->inproc_waiting; link = next) {
        inproc_connect *waiting = SNI_OWNER_OF(link, inproc_connect, link);

        next = link->next;
        if (waiting->near->sock != sock || strcmp(waiting->name, name) != 0)
            continue;
        forget_waiting(waiting);
        any = true;
    }
    return cut(sock, name, true) || any ? SENNIT_OK : SENNIT_ENOENT;
}

void
sni_inproc_forget(sennit_sock *sock)
{
    sennit_loop *loop = sock->loop;
    sni_link *next;

    for (sni_link *link = loop->inproc_names.next; link != &loop->inproc_names;
         link = next) {
        inproc_name *entry = SNI_OWNER_OF(link, inproc_name, link);

        next = link->next;
        if (entry->sock != sock)
            continue;
        sni_link_remove(link);
        sni_release(&loop->allocator, entry);
    }
    for (sni_link *link = loop->inproc_waiting.next; link != &loop->inproc_waiting;
         link = next) {
        inproc_connect *waiting = SNI_OWNER_OF(link, inproc_connect, link);

        next = link->next;
        if (waiting->near->sock == sock)
            forget_waiting(waiting);
    }
}

/* ---- for pipes --------------------------------------------------------- */

sennit_err
sni_inproc_push(sni_pipe *pipe, sni_msg *msg, bool more)
{
    sni_inproc *end = pipe->inproc;
    sni_pipe *mate = end->mate;
    sennit_err err;

    if (end->swallow) {
        sennit_msg_fini(sni_msg_public(msg));
        end->swallow = more;
        return SENNIT_OK;
    }
    if (mate == NULL) {
        sennit_msg_fini(sni_msg_public(msg));
        pipe->sock->stats.dropped_disconnect_msgs += !more;
        return SENNIT_OK;
    }
    err = sni_msg_own(msg);
    if (err == SENNIT_OK)
        err = sni_msgq_push(&mate->inq, msg, more);
    if (err || more)
        return err;
    /* Before the bind it only waits; joining counts it. */
    pipe->sock->stats.delivered_msgs += mate->sock != NULL;
    if (mate->sock != NULL)
        sni_pipe_update_unread(mate);
    sni_pipe_update_writable(pipe);
    return SENNIT_OK;
}

sennit_err
sni_inproc_pull(sni_pipe *pipe, sni_msg *msg)
{
    sni_pipe *mate = pipe->inproc->mate;

    if (!sni_msgq_pop(&pipe->inq, msg))
        return SENNIT_EAGAIN;
    msg->peer = pipe->peer.number;
    if (msg->more)
        return SENNIT_OK;
    sni_pipe_update_unread(pipe);
    if (mate != NULL && mate->sock != NULL)
        sni_pipe_update_writable(mate);
    return SENNIT_OK;
}

sennit_err
sni_inproc_subscribe(sni_pipe *pipe, bool on, sennit_bytes topic)
{
    sni_pipe *mate = pipe->inproc->mate;

    if (mate == NULL || !mate->attached)
        return SENNIT_OK;
    return sni_pattern_subscription(&mate->sock->pattern, &mate->peer, on, topic);
}

void
sni_inproc_abandon(sni_pipe *pipe, bool more)
{
    sni_inproc *end = pipe->inproc;

    end->swallow = more;
    if (end->mate != NULL)
        sni_msgq_rollback(&end->mate->inq);
}

/* A peer may have the sum of both marks waiting, and before the bind our own (as
 * libzmq). */
bool
sni_inproc_full(const sni_pipe *pipe)
{
    const sni_pipe *mate = pipe->inproc->mate;
    size_t limit = (size_t)pipe->sock->opts.send_hwm_msgs;

    if (mate == NULL)
        return true;
    if (limit == 0 || (mate->sock != NULL && mate->sock->opts.recv_hwm_msgs == 0))
        return false;
    if (mate->sock != NULL)
        limit += (size_t)mate->sock->opts.recv_hwm_msgs;
    return mate->inq.msgs >= limit;
}

void
sni_inproc_add_queued(const sni_pipe *pipe, sennit_sock_stats *out)
{
    const sni_pipe *mate = pipe->inproc != NULL ? pipe->inproc->mate : NULL;

    if (mate == NULL || mate->sock != NULL)
        return;
    out->queued_msgs += mate->inq.msgs;
    out->queued_bytes += mate->inq.bytes;
}

void
sni_inproc_lost(sni_pipe *pipe)
{
    if (pipe->inproc == NULL || !pipe->attached || !pipe->peer.connected)
        return;
    sni_pattern_disconnected(&pipe->sock->pattern, &pipe->peer, false);
    pipe->sock->stats.connections--;
    tell(pipe, SENNIT_EVENT_DISCONNECTED, SENNIT_ECONNRESET, "closed by peer");
}

void
sni_inproc_free(sni_pipe *pipe)
{
    if (pipe->inproc == NULL)
        return;
    part(pipe);
    sni_release(&pipe->loop->allocator, pipe->inproc);
    pipe->inproc = NULL;
}
