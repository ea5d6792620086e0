/* SPDX-License-Identifier: MIT */
#include "core/pipe.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "core/dialer.h"
#include "core/fresh.h"
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
    sni_retry_init(&pipe->aging);
    pipe->peer.assigned = sock != NULL && sock->assigned.size > 0;
    if (pipe->peer.assigned &&
        sni_pattern_copy(&sock->pattern, sni_msg_of(&pipe->peer.identity),
                         sock->assigned) != SENNIT_OK) {
        sni_release(alloc, pipe);
        return SENNIT_ENOMEM;
    }
    if (sock != NULL) {
        pipe->outq.raw = sock->type == SENNIT_STREAM;
        pipe->immediate = sock->opts.immediate;
        pipe->peer.writable = !pipe->immediate;
        sni_fresh_begin(pipe);
        sni_list_push(&sock->pipes, &pipe->link);
    }
    *out = pipe;
    return SENNIT_OK;
}

void
sni_pipe_count_disconnect(sni_pipe *pipe, uint64_t msgs)
{
    pipe->counts.dropped_disconnect_msgs += msgs;
    pipe->sock->stats.dropped_disconnect_msgs += msgs;
}

void
sni_pipe_restart_output(sni_pipe *pipe)
{
    bool swallowing = pipe->outq.swallow;
    size_t dropped = sni_outq_restart(&pipe->outq);

    /* Its last frame counts it, or the pattern, which may not send that here. */
    if (pipe->outq.swallow && !swallowing)
        dropped--;
    sni_pipe_count_disconnect(pipe, dropped);
}

void
sni_pipe_drop_output(sni_pipe *pipe)
{
    bool open = pipe->outq.open;

    if (pipe->sock != NULL) {
        sni_pipe_restart_output(pipe);
        sni_pipe_count_disconnect(pipe, pipe->outq.msgs);
    }
    sni_retry_stop(pipe->loop, &pipe->aging);
    sni_outq_fini(&pipe->outq);
    /* The frames of an unfinished message that are still to come are dropped too. */
    pipe->outq.open = open;
    pipe->outq.swallow = open;
}

void
sni_pipe_free(sni_pipe *pipe)
{
    sni_inproc_lost(pipe);
    if (pipe->attached) {
        sni_pattern_detach(&pipe->sock->pattern, &pipe->peer);
        sni_watch_mark(pipe->sock);
    }
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

/* The newest message has no end, and will have none: a policy that still adds to it adds
 * nothing, and the end counts it. */
static void
drop_unfinished(sni_pipe *pipe)
{
    if (!pipe->outq.open)
        return;
    if (pipe->session != NULL)
        (void)sni_session_take_back_output(pipe->session);
    (void)sni_outq_abandon(&pipe->outq);
    pipe->outq.open = true;
    pipe->outq.swallow = true;
    sni_pipe_update_writable(pipe);
}

void
sni_pipe_leave(sni_pipe *pipe)
{
    pipe->leaving = true;
    if (pipe->attached)
        sni_pattern_retire(&pipe->peer);
    drop_unfinished(pipe);
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

uint64_t
sni_pipe_send_mark(const sni_pipe *pipe)
{
    uint64_t bytes = pipe->sock->opts.send_hwm_bytes;

    return bytes == SENNIT_HWM_BYTES_AUTO ? 0 : bytes;
}

void
sni_pipe_set_marks(sennit_sock *sock)
{
    const sennit_sock_opts *opts = &sock->opts;
    uint64_t bytes = opts->send_hwm_bytes;

    if (bytes == SENNIT_HWM_BYTES_AUTO)
        bytes =
            opts->send_hwm_msgs > 0 && sock->pattern.ops->waits ? SNI_SEND_HWM_BYTES : 0;
    sock->marks = (sni_marks){ SIZE_MAX, SIZE_MAX };
    /* The newest takes the place of the others. */
    if (opts->conflate)
        return;
    if (opts->send_hwm_msgs > 0)
        sock->marks.msgs = (size_t)opts->send_hwm_msgs;
    if (bytes > 0 && bytes < SIZE_MAX)
        sock->marks.bytes = (size_t)bytes;
}

bool
sni_pipe_full(const sni_pipe *pipe)
{
    const sni_marks *marks = &pipe->sock->marks;

    if (pipe->inproc != NULL)
        return sni_inproc_full(pipe);
    return pipe->outq.msgs >= marks->msgs || pipe->outq.bytes >= marks->bytes;
}

static bool
is_open(const sni_pipe *pipe)
{
    if (pipe->retired || pipe->leaving)
        return false;
    if (!pipe->immediate)
        return true;
    return pipe->inproc != NULL ? pipe->peer.connected
                                : pipe->session != NULL && pipe->session->ready;
}

void
sni_pipe_update_writable(sni_pipe *pipe)
{
    bool writable = is_open(pipe) && !sni_pipe_full(pipe);

    if (pipe->peer.writable == writable)
        return;
    pipe->peer.writable = writable;
    sni_watch_mark(pipe->sock);
    if (!writable)
        sni_link_remove(&pipe->peer.out);
    if (writable && pipe->attached) {
        sni_pattern_writable(&pipe->peer);
        sni_sock_changed(pipe->sock);
    }
}

void
sni_pipe_wrote(sni_pipe *pipe, size_t ended)
{
    pipe->counts.delivered_msgs += ended;
    pipe->sock->stats.delivered_msgs += ended;
    if (pipe->outq.bytes == 0)
        pipe->peer.slow = false;
    /* Marks in bytes are crossed in the middle of a message too. */
    if (ended > 0 || !pipe->peer.writable)
        sni_pipe_update_writable(pipe);
    if (pipe->particular)
        sni_fresh_watch(pipe);
}

size_t
sni_pipe_unread_bytes(const sni_pipe *pipe)
{
    size_t bytes = pipe->inq.bytes;

    if (pipe->session != NULL)
        bytes += sni_engine_unread_bytes(pipe->session->engine);
    return bytes;
}

void
sni_pipe_update_unread(sni_pipe *pipe)
{
    size_t unread = pipe->inq.msgs;

    if (pipe->inproc != NULL)
        unread += sni_inproc_unread(pipe);
    if (pipe->session != NULL)
        unread += sni_engine_unread(pipe->session->engine);
    pipe->peer.unread = unread;
    if (unread > 0 && pipe->attached) {
        sni_pattern_readable(&pipe->peer);
        sni_sock_changed(pipe->sock);
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

void
sni_pipe_apply_opts(sni_pipe *pipe)
{
    sni_fresh_begin(pipe);
    if (pipe->inproc != NULL)
        sni_inproc_marks_moved(pipe);
    sni_pipe_update_writable(pipe);
    if (pipe->session != NULL && pipe->session->ready && !pipe->session->recv.pending)
        sni_session_receive(pipe->session);
}

/* ---- the monitor ------------------------------------------------------- */

void
sni_pipe_endpoint(const sni_pipe *pipe, char *text, size_t size)
{
    const char *endpoint = "";

    if (pipe->inproc != NULL) {
        snprintf(text, size, "inproc://%s", pipe->inproc->name);
        return;
    }
    if (pipe->session != NULL)
        endpoint = sni_session_endpoint(pipe->session);
    for (const sni_link *link = pipe->sock->dialers.next; link != &pipe->sock->dialers;
         link = link->next) {
        const sni_dialer *dialer = SNI_CONST_OWNER_OF(link, sni_dialer, link);

        if (dialer->pipe == pipe)
            endpoint = dialer->endpoint;
    }
    snprintf(text, size, "%.*s", (int)size - 1, endpoint);
}

void
sni_pipe_tell(sni_pipe *pipe, sennit_event_kind kind, sennit_bytes topic)
{
    sennit_event *event = sni_sock_new_event(pipe->sock, kind, "");
    sennit_bytes identity = sennit_msg_bytes(&pipe->peer.identity);

    if (event == NULL)
        return;
    sni_pipe_endpoint(pipe, event->endpoint, sizeof event->endpoint);
    event->peer = pipe->peer.number;
    event->topic_size = (uint32_t)topic.size;
    if (topic.size > sizeof event->topic)
        topic.size = sizeof event->topic;
    sni_bytes_put(event->topic, topic);
    sni_bytes_put(event->identity, identity);
    event->identity_size = (uint8_t)identity.size;
}
