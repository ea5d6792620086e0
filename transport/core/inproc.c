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

void
sni_inproc_event(sni_pipe *pipe, sennit_event_kind kind, sennit_err err,
                 const char *reason)
{
    char endpoint[SNI_INPROC_NAME_MAX + 10] = "inproc://";

    memcpy(endpoint + 9, pipe->inproc_name, strlen(pipe->inproc_name) + 1);
    sni_sock_event(pipe->sock, kind, endpoint, pipe->peer.number, err, reason, 0,
                   sennit_msg_bytes(&pipe->peer.identity));
}

/* `pipe` hears that its mate is there. */
static sennit_err
meet(sni_pipe *pipe)
{
    const sennit_sock_opts *theirs = &pipe->mate->sock->opts;

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
    sni_inproc_event(far, SENNIT_EVENT_READY, SENNIT_OK, "");
    sni_inproc_event(near, SENNIT_EVENT_READY, SENNIT_OK, "");
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
            sni_inproc_event(waiting->near, SENNIT_EVENT_HANDSHAKE_FAILED, err,
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
    sennit_err err = sni_pipe_new(out, loop, sock);

    if (err)
        return err;
    (*out)->inproc = true;
    (*out)->inproc_connecter = sock != NULL;
    (*out)->inproc_name = sni_acquire(&loop->allocator, size);
    if ((*out)->inproc_name == NULL) {
        sni_pipe_free(*out);
        return SENNIT_ENOMEM;
    }
    memcpy((*out)->inproc_name, name, size);
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
    near->mate = far;
    far->mate = near;
    err = sni_pipe_attach(near);
    if (err == SENNIT_OK)
        err = entry != NULL ? join(entry->sock, near, far)
                            : wait_for_bind(sock, near, far, name);
    if (err) {
        near->mate = NULL;
        far->mate = NULL;
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

        if (pipe->inproc_connecter && !pipe->retired &&
            strcmp(pipe->inproc_name, name) == 0)
            return true;
    }
    return false;
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
        if (!pipe->inproc || pipe->retired || pipe->inproc_connecter != connecter ||
            strcmp(pipe->inproc_name, name) != 0)
            continue;
        sni_pipe_part(pipe);
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
