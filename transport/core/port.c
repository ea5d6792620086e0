/* SPDX-License-Identifier: MIT */
/* What pipes let a policy do: the port of pattern/pattern.h. */
#include "core/pipe.h"

#include "base/rare.h"
#include "core/dialer.h"
#include "core/fresh.h"
#include "core/inproc.h"
#include "core/session.h"
#include "core/sock.h"

/* `kept`: false for what is left of a message that was begun on a lost connection. */
static void
pushed(sni_pipe *pipe, const sni_msg *msg, bool more, bool kept)
{
    pipe->counts.sent_bytes += sni_msg_size_of(msg);
    if (!more) {
        if (!kept)
            sni_pipe_count_disconnect(pipe, 1);
        if (sni_pipe_full(pipe))
            sni_pipe_update_writable(pipe);
        if (pipe->particular)
            sni_fresh_watch(pipe);
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
    if (pipe->particular)
        sni_fresh_prepare(pipe);
    err = sni_outq_push(&pipe->outq, msg, more, &kept);
    if (err)
        return err;
    pushed(pipe, msg, more, kept);
    sni_msg_fini(msg);
    return SENNIT_OK;
}

/* No memory for a frame: the peer misses the whole message, never a part of it, and is
 * not sent the frames that follow. */
static void
miss_publication(sni_pipe *pipe)
{
    pipe->counts.dropped_memory_msgs++;
    pipe->sock->stats.dropped_memory_msgs++;
    if (pipe->inproc != NULL)
        sni_inproc_abandon(pipe);
    else if (!sni_outq_abandon(&pipe->outq) && pipe->session != NULL)
        sni_session_end(pipe->session, SENNIT_ENOMEM, "no memory to queue a publication");
}

/* One copy of a publication. False: it was missed. */
static bool
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
        if (pipe->particular)
            sni_fresh_prepare(pipe);
        /* A slow subscriber to rare topics would hold a whole chunk for each message. */
        err = sni_outq_scattered(&pipe->outq, encoded)
                  ? sni_outq_push(&pipe->outq, msg, more, &kept)
                  : sni_outq_push_encoded(&pipe->outq, encoded, &kept);
        if (err == SENNIT_OK)
            pushed(pipe, msg, more, kept);
    }
    if (err)
        miss_publication(pipe);
    return err == SENNIT_OK;
}

static size_t
pipe_fan(sni_pattern *pattern, sni_peer **peers, size_t count, sni_msg *msg, bool more)
{
    sennit_sock *sock = SNI_OWNER_OF(pattern, sennit_sock, pattern);
    sni_encoded encoded;
    size_t kept = 0;

    if (count > 0 && sni_chunk_encode(&sock->chunk, &sock->loop->chunks, msg, more,
                                      &encoded) != SENNIT_OK) {
        for (size_t i = 0; i < count; i++)
            miss_publication(sni_pipe_of(peers[i]));
        count = 0;
    }
    for (size_t i = 0; i < count; i++)
        if (fan_one(sni_pipe_of(peers[i]), &encoded, msg, more))
            peers[kept++] = peers[i];
    sennit_msg_fini(sni_msg_public(msg));
    return kept;
}

/* A message was read to its end. The policy hears of that only when we return: until
 * then nothing that comes would take the place of something older. */
static void
receive_again(sni_session *session)
{
    if (session->sock->opts.conflate)
        sni_session_take_turns(session);
    else
        sni_session_receive(session);
}

static sennit_err
pull_inq(sni_pipe *pipe, sni_msg *msg)
{
    if (!sni_msgq_pop(&pipe->inq, msg))
        return SENNIT_EAGAIN;
    pipe->counts.received_bytes += sni_msg_size_of(msg);
    if (msg->more)
        return SENNIT_OK;
    pipe->counts.received_msgs++;
    if (pipe->sock->opts.conflate)
        sni_fresh_input(pipe);
    sni_pipe_update_unread(pipe);
    /* The connection that came after the one these are from had to wait for them. */
    if (pipe->session != NULL && pipe->session->ready && !pipe->session->recv.pending)
        receive_again(pipe->session);
    return SENNIT_OK;
}

static inline sennit_err
pull_engine(sni_pipe *pipe, sni_msg *msg)
{
    sni_session *session = pipe->session;

    if (!sni_engine_take(session->engine, msg))
        return sni_engine_unread(session->engine) > 0 ? SENNIT_ENOMEM : SENNIT_EAGAIN;
    pipe->counts.received_bytes += sni_msg_size_of(msg);
    if (msg->more)
        return SENNIT_OK;
    pipe->counts.received_msgs++;
    pipe->peer.unread--;
    if (pipe->peer.unread == 0 || sni_session_has_room_again(session))
        receive_again(session);
    return SENNIT_OK;
}

/* There is something beside what a connection has received, or no connection. */
SNI_RARE static sennit_err
pull_beside(sni_pipe *pipe, sni_msg *msg)
{
    /* Half of a message was moved when memory ran out: the rest goes the same way. */
    if (pipe->inq.count > pipe->inq.readable && pipe->session != NULL &&
        !sni_session_save_input(pipe->session) && pipe->inq.readable == 0)
        return SENNIT_ENOMEM;
    if (pipe->inq.readable > 0 || pipe->session == NULL)
        return pull_inq(pipe, msg);
    return pull_engine(pipe, msg);
}

static sennit_err
pipe_pull(sni_peer *peer, sni_msg *msg)
{
    sni_pipe *pipe = sni_pipe_of(peer);

    if (pipe->inproc != NULL)
        return sni_inproc_pull(pipe, msg);
    if (pipe->session == NULL || pipe->inq.count > 0)
        return pull_beside(pipe, msg);
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

/* ---- slow peers -------------------------------------------------------- */

static sennit_bytes
body_of(const sni_msg *msg)
{
    return sennit_msg_bytes((const sennit_msg *)(const void *)msg);
}

static bool
drop_one(sni_pipe *pipe, const sni_msg *first)
{
    bool by_topic = pipe->sock->opts.slow_subscriber == SENNIT_SLOW_CONFLATE;
    sennit_bytes topic = body_of(first);

    if (pipe->inproc != NULL)
        return (by_topic && sni_inproc_take_back(pipe, &topic)) ||
               sni_inproc_take_back(pipe, NULL);
    return (by_topic && sni_outq_drop_topic(&pipe->outq, topic)) ||
           sni_outq_drop_oldest(&pipe->outq);
}

static bool
take_back(sni_pipe *pipe)
{
    return pipe->session != NULL && sni_session_take_back_output(pipe->session);
}

/* Whether dropping all that can be dropped would be enough. */
static bool
has_enough(const sni_pipe *pipe)
{
    return pipe->inproc != NULL ||
           pipe->outq.bytes - sni_outq_loose_bytes(&pipe->outq) < pipe->sock->marks.bytes;
}

static bool
pipe_make_room(sni_peer *peer, const sni_msg *first)
{
    sni_pipe *pipe = sni_pipe_of(peer);

    if (pipe->leaving || pipe->retired)
        return false;
    /* Marks in bytes may need more than one; none is dropped in vain. */
    if (!has_enough(pipe) && !(take_back(pipe) && has_enough(pipe)))
        return false;
    while (!peer->writable &&
           (drop_one(pipe, first) || (take_back(pipe) && drop_one(pipe, first)))) {
        pipe->counts.dropped_slow_msgs++;
        pipe->sock->stats.dropped_slow_msgs++;
        sni_pipe_update_writable(pipe);
    }
    return peer->writable;
}

static void
pipe_missed(sni_peer *peer)
{
    sni_pipe *pipe = sni_pipe_of(peer);

    pipe->counts.dropped_hwm_msgs++;
    pipe->sock->stats.dropped_hwm_msgs++;
    if (peer->slow)
        return;
    peer->slow = true;
    sni_pipe_tell(pipe, SENNIT_EVENT_SLOW, sni_bytes(NULL, 0));
}

/* ---- connections ------------------------------------------------------- */

static sennit_err
pipe_greet(sni_peer *peer, sennit_bytes body)
{
    sni_pipe *pipe = sni_pipe_of(peer);

    return pipe->inproc != NULL ? sni_inproc_greet(pipe, body)
                                : sni_session_greet(pipe->session, body);
}

static void
pipe_disconnect(sni_peer *peer, bool flush, sennit_err err, const char *reason)
{
    sni_pipe *pipe = sni_pipe_of(peer);

    if (pipe->inproc != NULL)
        sni_inproc_end(pipe, err, reason);
    if (pipe->inproc != NULL || pipe->session == NULL)
        return;
    /* A STREAM's application means the connection, and there is no other to wait for. */
    if (pipe->sock->type == SENNIT_STREAM && pipe->session->dialer != NULL)
        sni_dialer_end(pipe->session->dialer);
    sni_session_dismiss(pipe->session, flush, err, reason);
}

/* In the next turn: the pattern is in the middle of something. */
static void
pipe_resume(sni_peer *peer)
{
    sni_pipe *pipe = sni_pipe_of(peer);

    if (pipe->inproc != NULL)
        sni_inproc_resume(pipe);
    else if (pipe->session != NULL)
        sni_session_take_turns(pipe->session);
}

/* ---- the rest ---------------------------------------------------------- */

static sennit_sock *
sock_of(sni_pattern *pattern)
{
    return SNI_OWNER_OF(pattern, sennit_sock, pattern);
}

static void
pipe_noticed(sni_pattern *pattern)
{
    sni_sock_changed(sock_of(pattern));
}

static void
pipe_event(sni_peer *peer, sennit_event_kind kind, sennit_bytes topic)
{
    sni_pipe_tell(sni_pipe_of(peer), kind, topic);
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
    .greet = pipe_greet,
    .make_room = pipe_make_room,
    .missed = pipe_missed,
    .disconnect = pipe_disconnect,
    .resume = pipe_resume,
    .noticed = pipe_noticed,
    .event = pipe_event,
    .random = pipe_random,
};
