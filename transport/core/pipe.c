/* SPDX-License-Identifier: MIT */
#include "core/pipe.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "core/inproc.h"
#include "core/session.h"
#include "core/sock.h"

sennit_err
sni_pipe_new(sni_pipe **out, sennit_loop *loop, sennit_sock *sock)
{
    const sennit_allocator *alloc = &loop->allocator;
    sni_pipe *pipe = sni_acquire_zero(alloc, sizeof *pipe);

    if (pipe == NULL)
        return SENNIT_ENOMEM;
    sni_peer_init(&pipe->peer);
    pipe->loop = loop;
    pipe->sock = sock;
    sni_link_init(&pipe->dead);
    sni_outq_init(&pipe->outq, alloc, &loop->chunks);
    sni_msgq_init(&pipe->inq, alloc);
    sni_link_init(&pipe->link);
    if (sock != NULL)
        sni_list_push(&sock->pipes, &pipe->link);
    *out = pipe;
    return SENNIT_OK;
}

void
sni_pipe_restart_output(sni_pipe *pipe)
{
    bool swallowing = pipe->outq.swallow;
    size_t dropped = sni_outq_restart(&pipe->outq);

    /* Its last frame counts it, or the pattern, which may not send that here. */
    if (pipe->outq.swallow && !swallowing)
        dropped--;
    pipe->sock->stats.dropped_disconnect_msgs += dropped;
}

void
sni_pipe_drop_output(sni_pipe *pipe)
{
    bool open = pipe->outq.open;

    if (pipe->sock != NULL) {
        sni_pipe_restart_output(pipe);
        pipe->sock->stats.dropped_disconnect_msgs += pipe->outq.msgs;
    }
    sni_outq_fini(&pipe->outq);
    /* The frames of an unfinished message that are still to come are dropped too. */
    pipe->outq.open = open;
    pipe->outq.swallow = open;
}

void
sni_pipe_free(sni_pipe *pipe)
{
    sni_inproc_lost(pipe);
    if (pipe->attached)
        sni_pattern_detach(&pipe->sock->pattern, &pipe->peer);
    pipe->attached = false;
    sni_inproc_free(pipe);
    SNI_ASSERT(pipe->session == NULL);
    sni_pipe_drop_output(pipe);
    sni_msgq_fini(&pipe->inq);
    sennit_msg_fini(&pipe->peer.identity);
    sni_link_remove(&pipe->link);
    sni_link_remove(&pipe->dead);
    pipe->loop->socks_changed = true;
    sni_release(&pipe->loop->allocator, pipe);
}

sennit_err
sni_pipe_attach(sni_pipe *pipe)
{
    sennit_err err = sni_pattern_attach(&pipe->sock->pattern, &pipe->peer);

    pipe->attached = err == SENNIT_OK;
    return err;
}

void
sni_pipe_leave(sni_pipe *pipe)
{
    pipe->leaving = true;
    if (pipe->attached)
        sni_pattern_retire(&pipe->peer);
}

void
sni_pipe_retire(sni_pipe *pipe)
{
    if (pipe->retired)
        return;
    pipe->retired = true;
    sni_inproc_lost(pipe);
    if (pipe->attached) {
        if (pipe->peer.connected)
            sni_pattern_disconnected(&pipe->sock->pattern, &pipe->peer, false);
        sni_pattern_retire(&pipe->peer);
    }
    sni_pipe_drop_output(pipe);
    sni_pipe_update_unread(pipe);
}

/* ---- accounting -------------------------------------------------------- */

static bool
pipe_full(const sni_pipe *pipe)
{
    int hwm = pipe->sock->opts.send_hwm_msgs;

    if (pipe->inproc != NULL)
        return sni_inproc_full(pipe);
    return hwm > 0 && pipe->outq.msgs >= (size_t)hwm;
}

void
sni_pipe_update_writable(sni_pipe *pipe)
{
    bool writable = !pipe->retired && !pipe->leaving && !pipe_full(pipe);

    if (pipe->peer.writable == writable)
        return;
    pipe->peer.writable = writable;
    if (!writable)
        sni_link_remove(&pipe->peer.out);
    if (writable && pipe->attached) {
        sni_pattern_writable(&pipe->peer);
        sni_sock_touch(pipe->sock);
    }
}

void
sni_pipe_marks_moved(sni_pipe *pipe)
{
    sni_pipe_update_writable(pipe);
    if (pipe->inproc != NULL && pipe->inproc->mate != NULL &&
        pipe->inproc->mate->sock != NULL)
        sni_pipe_update_writable(pipe->inproc->mate);
    if (pipe->session != NULL && pipe->session->ready && !pipe->session->recv.pending)
        sni_session_receive(pipe->session);
}

void
sni_pipe_update_unread(sni_pipe *pipe)
{
    size_t unread = pipe->inq.msgs;

    if (pipe->session != NULL && pipe->session->engine != NULL)
        unread += sni_engine_unread(pipe->session->engine);
    pipe->peer.unread = unread;
    if (unread > 0 && pipe->attached) {
        sni_pattern_readable(&pipe->peer);
        sni_sock_touch(pipe->sock);
    }
    /* Not here and now: the caller may be in the middle of it. */
    if (unread == 0 && pipe->retired && !sni_link_linked(&pipe->dead))
        sni_list_push(&pipe->loop->dead_pipes, &pipe->dead);
}

bool
sni_pipe_has_output(const sni_pipe *pipe)
{
    return pipe->outq.bytes > 0;
}

/* ---- the port ---------------------------------------------------------- */

/* `kept`: false for what is left of a message that was begun on a lost connection. */
static void
pushed(sni_pipe *pipe, bool more, bool kept)
{
    if (!more) {
        pipe->sock->stats.dropped_disconnect_msgs += !kept;
        sni_pipe_update_writable(pipe);
    }
    if (pipe->session != NULL)
        sni_session_output_added(pipe->session);
}

static sennit_err
pipe_push(sni_peer *peer, sni_msg *msg, bool more)
{
    sni_pipe *pipe = sni_pipe_of(peer);
    sennit_err err;
    bool kept;

    if (pipe->inproc != NULL)
        return sni_inproc_push(pipe, msg, more);
    err = sni_outq_push(&pipe->outq, msg, more, &kept);
    if (err)
        return err;
    sennit_msg_fini(sni_msg_public(msg));
    pushed(pipe, more, kept);
    return SENNIT_OK;
}

/* No memory for a frame: the peer misses the whole message, never a part of it. */
static void
miss_publication(sni_pipe *pipe, bool more)
{
    pipe->sock->stats.dropped_memory_msgs++;
    if (pipe->inproc != NULL)
        sni_inproc_abandon(pipe, more);
    else if (!sni_outq_abandon(&pipe->outq, more) && pipe->session != NULL)
        sni_session_end(pipe->session, SENNIT_ENOMEM, "no memory to queue a publication");
}

/* One copy of a publication. */
static void
fan_one(sni_pipe *pipe, const sni_encoded *encoded, const sni_msg *msg, bool more)
{
    sennit_msg copy;
    sennit_err err;
    bool kept;

    if (pipe->inproc != NULL) {
        sennit_msg_init(&copy);
        sennit_msg_copy(&copy, (const sennit_msg *)(const void *)msg);
        err = sni_inproc_push(pipe, sni_msg_of(&copy), more);
        sennit_msg_fini(&copy);
    } else {
        /* A slow subscriber to rare topics would hold a whole chunk for each message. */
        err = sni_outq_scattered(&pipe->outq, encoded)
                  ? sni_outq_push(&pipe->outq, msg, more, &kept)
                  : sni_outq_push_encoded(&pipe->outq, encoded, &kept);
        if (err == SENNIT_OK)
            pushed(pipe, more, kept);
    }
    if (err)
        miss_publication(pipe, more);
}

static void
pipe_fan(sni_pattern *pattern, sni_peer **peers, size_t count, sni_msg *msg, bool more)
{
    sennit_sock *sock = SNI_OWNER_OF(pattern, sennit_sock, pattern);
    sni_encoded encoded;

    if (count > 0 && sni_chunk_encode(&sock->chunk, &sock->loop->chunks, msg, more,
                                      &encoded) != SENNIT_OK) {
        for (size_t i = 0; i < count; i++)
            miss_publication(sni_pipe_of(peers[i]), more);
        count = 0;
    }
    for (size_t i = 0; i < count; i++)
        fan_one(sni_pipe_of(peers[i]), &encoded, msg, more);
    sennit_msg_fini(sni_msg_public(msg));
}

static sennit_err
pull_inq(sni_pipe *pipe, sni_msg *msg)
{
    if (!sni_msgq_pop(&pipe->inq, msg))
        return SENNIT_EAGAIN;
    if (msg->more)
        return SENNIT_OK;
    sni_pipe_update_unread(pipe);
    /* The connection that came after the one these are from had to wait for them. */
    if (pipe->session != NULL && pipe->session->ready && !pipe->session->recv.pending)
        sni_session_receive(pipe->session);
    return SENNIT_OK;
}

static sennit_err
pull_engine(sni_pipe *pipe, sni_msg *msg)
{
    sni_session *session = pipe->session;
    sni_engine_event event;

    if (!sni_engine_next(session->engine, &event))
        return sni_engine_unread(session->engine) > 0 ? SENNIT_ENOMEM : SENNIT_EAGAIN;
    SNI_ASSERT(event.kind == SNI_ENGINE_MESSAGE);
    *msg = event.msg;
    if (msg->more)
        return SENNIT_OK;
    pipe->peer.unread--;
    if (pipe->peer.unread == 0 || !session->recv.pending)
        sni_session_receive(session);
    return SENNIT_OK;
}

static sennit_err
pipe_pull(sni_peer *peer, sni_msg *msg)
{
    sni_pipe *pipe = sni_pipe_of(peer);

    if (pipe->inproc != NULL)
        return sni_inproc_pull(pipe, msg);
    /* Half of a message was moved when memory ran out: the rest goes the same way. */
    if (pipe->inq.count > pipe->inq.readable && pipe->session != NULL &&
        !sni_session_save_input(pipe->session) && pipe->inq.readable == 0)
        return SENNIT_ENOMEM;
    if (pipe->inq.readable > 0 || pipe->session == NULL)
        return pull_inq(pipe, msg);
    return pull_engine(pipe, msg);
}

static sennit_err
pipe_subscribe(sni_peer *peer, bool on, sennit_bytes topic)
{
    sni_pipe *pipe = sni_pipe_of(peer);

    if (pipe->inproc != NULL)
        return sni_inproc_subscribe(pipe, on, topic);
    return pipe->session == NULL ? SENNIT_OK
                                 : sni_session_subscribe(pipe->session, on, topic);
}

static uint64_t
pipe_random(sni_pattern *pattern)
{
    sennit_sock *sock = SNI_OWNER_OF(pattern, sennit_sock, pattern);

    return sock->loop->io->ops->random(sock->loop->io);
}

const sni_port sni_pipe_port = {
    .push = pipe_push,
    .fan = pipe_fan,
    .pull = pipe_pull,
    .subscribe = pipe_subscribe,
    .random = pipe_random,
};
