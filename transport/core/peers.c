/* SPDX-License-Identifier: MIT */
/* A socket's peers and numbers, for those who look on. */
#include "core/sock.h"

#include <stdio.h>

#include "core/dialer.h"
#include "core/inproc.h"
#include "core/session.h"
#include "wire/metadata.h"
#include "wire/socktype.h"

/* ---- numbers ----------------------------------------------------------- */

static void
get_stats(const sennit_sock *sock, sennit_sock_stats *out)
{
    *out = sock->stats;
    out->queued_msgs = 0;
    out->queued_bytes = 0;
    for (const sni_link *link = sock->pipes.next; link != &sock->pipes;
         link = link->next) {
        const sni_pipe *pipe = SNI_CONST_OWNER_OF(link, sni_pipe, link);

        out->queued_msgs += pipe->outq.msgs;
        out->queued_bytes += pipe->outq.bytes;
        sni_inproc_add_queued(pipe, out);
    }
}

void
sennit_sock_get_stats(const sennit_sock *sock, sennit_sock_stats *out)
{
    if (out == NULL)
        return;
    *out = (sennit_sock_stats){ 0 };
    if (sock == NULL)
        return;
    sni_loop_look(sock->loop);
    get_stats(sock, out);
    sni_loop_leave(sock->loop);
}

/* ---- peers ------------------------------------------------------------- */

static void
fill_counts(const sni_pipe *pipe, sennit_peer *out)
{
    const sni_counts *counts = &pipe->counts;
    sennit_sock_stats waiting = { 0 };

    sni_inproc_add_queued(pipe, &waiting);
    out->queued_msgs = pipe->outq.msgs + waiting.queued_msgs;
    out->queued_bytes = pipe->outq.bytes + waiting.queued_bytes;
    out->unread_msgs = pipe->peer.unread + pipe->peer.notices;
    out->unread_bytes = sni_pipe_unread_bytes(pipe) + pipe->peer.notice_bytes;
    out->sent_bytes = counts->sent_bytes;
    out->delivered_msgs = counts->delivered_msgs;
    out->received_msgs = counts->received_msgs;
    out->received_bytes = counts->received_bytes;
    out->dropped_hwm_msgs = counts->dropped_hwm_msgs;
    out->dropped_disconnect_msgs = counts->dropped_disconnect_msgs;
    out->dropped_memory_msgs = counts->dropped_memory_msgs;
    out->dropped_slow_msgs = counts->dropped_slow_msgs;
    out->dropped_conflated_msgs = counts->conflated_out_msgs + counts->conflated_in_msgs;
    out->dropped_expired_msgs = counts->dropped_expired_msgs;
    out->subscriptions = pipe->peer.topics;
    out->reconnects = counts->reconnects;
    /* Every message that was accepted is in exactly one of these. */
    out->sent_msgs = out->delivered_msgs + out->queued_msgs + out->dropped_hwm_msgs +
                     out->dropped_disconnect_msgs + out->dropped_memory_msgs +
                     out->dropped_slow_msgs + counts->conflated_out_msgs +
                     out->dropped_expired_msgs;
}

static void
fill_connection(const sni_session *session, sennit_peer *out)
{
    sni_io *io = session->sock->loop->io;
    sennit_bytes identity;
    sni_engine_peer peer;
    sni_peer_name name;

    io->ops->peer_name(io, session->file, &name);
    memcpy(out->address, name.text, sizeof name.text);
    out->uid = name.uid;
    out->gid = name.gid;
    out->pid = name.pid;
    out->number = session->number;
    out->ready = session->ready;
    out->accepted = session->dialer == NULL;
    out->ready_at = session->ready_at;
    out->received_at = session->received_at;
    snprintf(out->endpoint, sizeof out->endpoint, "%s", sni_session_endpoint(session));
    if (!session->ready)
        return;
    peer = sni_engine_peer_of(session->engine);
    out->type = peer.type;
    out->zmtp_major = peer.major;
    out->zmtp_minor = peer.minor;
    identity = sni_engine_identity(session->engine);
    sni_bytes_put(out->identity, identity);
    out->identity_size = (uint8_t)identity.size;
}

static void
fill_inproc(const sni_pipe *pipe, sennit_peer *out)
{
    sennit_bytes metadata = sni_inproc_peer_metadata(pipe);
    sennit_bytes value;

    out->number = pipe->peer.number;
    out->ready_at = pipe->inproc->ready_at;
    if (sni_property_find(metadata, sni_bytes("Socket-Type", 11), &value))
        out->type = sni_socktype_of(value);
    if (!sni_property_find(metadata, sni_bytes("Identity", 8), &value))
        return;
    sni_bytes_put(out->identity, value);
    out->identity_size = (uint8_t)value.size;
}

static void
fill_peer(const sni_pipe *pipe, sennit_peer *out)
{
    sennit_bytes known_by = sennit_msg_bytes(&pipe->peer.identity);

    fill_counts(pipe, out);
    if (pipe->session != NULL) {
        fill_connection(pipe->session, out);
    } else {
        sni_pipe_endpoint(pipe, out->endpoint, sizeof out->endpoint);
        out->ready = pipe->peer.connected;
        out->accepted = pipe->peer.accepted;
        if (pipe->inproc != NULL)
            fill_inproc(pipe, out);
    }
    if (known_by.size == 0)
        return;
    sni_bytes_put(out->identity, known_by);
    out->identity_size = (uint8_t)known_by.size;
}

/* One more peer of `count` so far: a place to fill in, or NULL. */
static sennit_peer *
next_peer(sennit_peer *peers, size_t peers_max, size_t *count)
{
    size_t at = (*count)++;

    if (at >= peers_max)
        return NULL;
    peers[at] = (sennit_peer){ .type = -1, .uid = -1, .gid = -1, .pid = -1 };
    return &peers[at];
}

static size_t
get_peers(const sennit_sock *sock, sennit_peer *peers, size_t peers_max)
{
    size_t count = 0;

    for (const sni_link *link = sock->pipes.next; link != &sock->pipes;
         link = link->next) {
        const sni_pipe *pipe = SNI_CONST_OWNER_OF(link, sni_pipe, link);
        sennit_peer *out;

        /* It is gone; only unread messages keep it. */
        if (pipe->retired)
            continue;
        out = next_peer(peers, peers_max, &count);
        if (out != NULL)
            fill_peer(pipe, out);
    }
    /* Accepted, and still in the handshake. */
    for (const sni_link *link = sock->sessions.next; link != &sock->sessions;
         link = link->next) {
        const sni_session *session = SNI_CONST_OWNER_OF(link, sni_session, link);
        sennit_peer *out =
            session->pipe == NULL ? next_peer(peers, peers_max, &count) : NULL;

        if (out != NULL)
            fill_connection(session, out);
    }
    return count;
}

size_t
sennit_sock_get_peers(const sennit_sock *sock, sennit_peer *peers, size_t peers_max)
{
    size_t count;

    if (sock == NULL)
        return 0;
    sni_loop_look(sock->loop);
    count = get_peers(sock, peers, peers == NULL ? 0 : peers_max);
    sni_loop_leave(sock->loop);
    return count;
}

static sni_session *
find_session(const sennit_sock *sock, uint32_t number)
{
    for (sni_link *link = sock->sessions.next; link != &sock->sessions;
         link = link->next) {
        sni_session *session = SNI_OWNER_OF(link, sni_session, link);

        if (session->number == number && !session->is_ending)
            return session;
    }
    return NULL;
}

/* The two that are kept as what they mean. */
static bool
known_property(const sni_session *session, const sni_property *wanted,
               sennit_bytes *value)
{
    int type = sni_engine_peer_of(session->engine).type;

    if (sni_property_is(wanted, "Identity")) {
        *value = sni_engine_identity(session->engine);
        return true;
    }
    if (!sni_property_is(wanted, "Socket-Type") || type < 0)
        return false;
    *value = sni_bytes(sennit_sock_type_name((sennit_sock_type)type),
                       strlen(sennit_sock_type_name((sennit_sock_type)type)));
    return true;
}

static sni_pipe *
find_inproc(const sennit_sock *sock, uint32_t number)
{
    for (sni_link *link = sock->pipes.next; link != &sock->pipes; link = link->next) {
        sni_pipe *pipe = SNI_OWNER_OF(link, sni_pipe, link);

        if (pipe->inproc != NULL && pipe->peer.number == number && !pipe->retired)
            return pipe;
    }
    return NULL;
}

static const char no_connection[] = "no connection has that number";

static sennit_err
peer_property(const sennit_sock *sock, uint32_t peer, const char *name,
              sennit_bytes *value)
{
    const sni_session *session;
    const sni_pipe *pipe;
    sni_property wanted;

    if (name == NULL || value == NULL)
        return sni_loop_fail(sock->loop, SENNIT_EINVAL,
                             name == NULL ? "name is NULL" : "value is NULL");
    session = find_session(sock, peer);
    pipe = session == NULL ? find_inproc(sock, peer) : NULL;
    wanted = (sni_property){ sni_bytes(name, strlen(name)), { NULL, 0 } };
    if (pipe != NULL &&
        sni_property_find(sni_inproc_peer_metadata(pipe), wanted.name, value))
        return SENNIT_OK;
    if (pipe == NULL && (session == NULL || !session->ready))
        return sni_loop_fail(sock->loop, SENNIT_ENOENT, no_connection);
    if (session != NULL && (known_property(session, &wanted, value) ||
                            sni_engine_property(session->engine, wanted.name, value)))
        return SENNIT_OK;
    return sni_loop_fail(sock->loop, SENNIT_ENOENT,
                         "the peer has told no property of that name");
}

sennit_err
sennit_sock_peer_property(const sennit_sock *sock, uint32_t peer, const char *name,
                          sennit_bytes *value)
{
    sennit_err err = sni_sock_enter(sock);

    return err ? err : sni_sock_leave(sock, peer_property(sock, peer, name, value));
}

static sennit_err
disconnect_peer(sennit_sock *sock, uint32_t peer)
{
    static const char reason[] = "disconnected by the application";
    sni_session *session = find_session(sock, peer);
    sni_pipe *pipe = session == NULL ? find_inproc(sock, peer) : NULL;

    if (session != NULL)
        sni_session_dismiss(session, true, SENNIT_OK, reason);
    else if (pipe != NULL)
        sni_inproc_end(pipe, SENNIT_OK, reason);
    else
        return sni_loop_fail(sock->loop, SENNIT_ENOENT, no_connection);
    return SENNIT_OK;
}

sennit_err
sennit_sock_disconnect_peer(sennit_sock *sock, uint32_t peer)
{
    sennit_err err = sni_sock_enter(sock);

    return err ? err : sni_sock_leave(sock, disconnect_peer(sock, peer));
}

/* ---- waiting for them -------------------------------------------------- */

sennit_err
sennit_sock_wait_connections(sennit_sock *sock, uint64_t count, int timeout_ms)
{
    sennit_err err = sni_sock_enter(sock);

    return err ? err
               : sni_sock_leave(sock, sni_sock_wait(sock, &sock->stats.connections, count,
                                                    timeout_ms));
}

sennit_err
sennit_sock_wait_subscriptions(sennit_sock *sock, uint64_t count, int timeout_ms)
{
    sennit_err err = sni_sock_enter(sock);

    if (err)
        return err;
    if (sock->pattern.ops->subscription == NULL)
        err = sni_loop_fail(sock->loop, SENNIT_ENOTSUP,
                            "only PUB and XPUB have subscribers to wait for");
    else
        err = sni_sock_wait(sock, &sock->stats.subscriptions, count, timeout_ms);
    return sni_sock_leave(sock, err);
}
