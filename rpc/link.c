/* SPDX-License-Identifier: MIT */
/* Links we keep: one DEALER per peer (T1).
 *
 * A DEALER connects again by itself and would then send what was queued for the
 * connection before to a peer that knows nothing of it any more. So a link whose
 * connection ends gets a new socket: what the old one still held goes with it, which
 * is what the calls that waited there were told. */
#include "rpc/bus.h"

#include <string.h>

#include "base/alloc.h"
#include "rpc/limits.h"

static void link_ready(sennit_sock *sock, unsigned ready, void *arg);

static sennit_err
link_open(sni_linked *linked)
{
    sennit_bus *bus = linked->bus;
    sennit_sock_opts opts = SENNIT_SOCK_OPTS_DEFAULT;
    sennit_sock *sock;
    sennit_err err;

    opts.send_hwm_msgs = SNI_SOCK_HWM_MSGS;
    opts.linger_ms = bus->opts.linger_ms;
    opts.reconnect_min_ms = bus->opts.reconnect_min_ms;
    opts.reconnect_max_ms = bus->opts.reconnect_max_ms;
    opts.recv_frame_max_bytes = bus->opts.frame_max_bytes;
    err = sennit_sock_open(&sock, bus->loop, SENNIT_DEALER, &opts);
    if (err)
        return err;
    err = sennit_sock_connect(sock, linked->endpoint);
    if (err) {
        sennit_sock_close(sock);
        return err;
    }
    linked->sock = sock;
    linked->check_at = sennit_loop_now(bus->loop) + SNI_LINK_CHECK_NS;
    sni_link_watch(linked);
    return SENNIT_OK;
}

void
sni_link_watch(sni_linked *linked)
{
    unsigned interest = SENNIT_READABLE | SENNIT_EVENTS;

    if (linked->conn != NULL && linked->conn->blocked)
        interest |= SENNIT_WRITABLE;
    if (linked->sock != NULL)
        sennit_sock_on_ready(linked->sock, interest, link_ready, linked);
}

/* A random share of a delay that doubles with each loss in a row. */
static sennit_time
next_open(sni_linked *linked, sennit_time now)
{
    uint64_t delay_ms = (uint64_t)linked->bus->opts.reconnect_min_ms;
    uint64_t max_ms = (uint64_t)linked->bus->opts.reconnect_max_ms;

    if (linked->up_at != 0 && now - linked->up_at > SNI_LINK_STABLE_NS)
        linked->losses = 0;
    for (uint32_t i = 0; i < linked->losses && delay_ms < max_ms; i++)
        delay_ms *= 2;
    if (delay_ms > max_ms)
        delay_ms = max_ms;
    linked->losses++;
    return now + sni_bus_random(linked->bus) % (delay_ms * 1000000 + 1);
}

static void
close_sock(sni_linked *linked)
{
    sennit_sock *sock = linked->sock;

    linked->sock = NULL;
    sennit_sock_close(sock);
}

/* A link that is not up in time is looked after: its news may have found no memory,
 * or what listens there does not speak our language. While the socket is still
 * trying to connect it is left alone. */
static void
check_link(sni_linked *linked, sennit_time now)
{
    sennit_sock_stats stats;

    linked->check_at = now + SNI_LINK_CHECK_NS;
    if (linked->conn != NULL && linked->conn->state == SNI_CONN_UP)
        return;
    sennit_sock_get_stats(linked->sock, &stats);
    if (stats.connections == 0)
        return;
    if (linked->conn != NULL)
        sni_conn_doom(linked->conn, "no HELLO came");
    else
        sni_link_lost(linked);
}

void
sni_link_lost(sni_linked *linked)
{
    linked->conn = NULL;
    close_sock(linked);
    linked->open_at = next_open(linked, sennit_loop_now(linked->bus->loop));
    linked->up_at = 0;
}

/* ---- What the socket tells -------------------------------------------- */

static void
link_connected(sni_linked *linked, uint32_t number)
{
    sni_conn *conn;
    sennit_err err;

    if (linked->conn != NULL)
        sni_peer_lost(linked->conn, SENNIT_KIND_PEER_LOST, "it was connected anew");
    if (linked->sock == NULL)
        return; /* that took the socket along; the next one comes soon */
    err = sni_conn_new(linked->bus, linked, number, &conn);
    if (err) {
        sni_link_lost(linked);
        return;
    }
    linked->conn = conn;
    linked->up_at = sennit_loop_now(linked->bus->loop);
    linked->check_at = linked->up_at + SNI_LINK_CHECK_NS;
    err = sni_peer_greet(conn);
    if (err)
        sni_conn_doom(conn, "no memory for a HELLO");
}

static void
link_events(sni_linked *linked)
{
    sennit_event event;

    while (linked->sock != NULL &&
           sennit_sock_next_event(linked->sock, &event) == SENNIT_OK) {
        /* The socket goes on by itself after everything else. */
        if (event.kind == SENNIT_EVENT_READY)
            link_connected(linked, event.peer);
        else if (event.kind == SENNIT_EVENT_DISCONNECTED && linked->conn != NULL)
            sni_peer_lost(linked->conn, SENNIT_KIND_PEER_LOST, event.reason);
    }
}

/* Takes the rest of a message that has more frames than it may. */
void
sni_swallow_rest(sennit_sock *sock, sennit_msg *frame)
{
    while (sennit_msg_more(frame)) {
        if (sennit_sock_recv(sock, frame, SENNIT_DONTWAIT))
            return;
    }
}

/* Returns false once there is nothing more to read. */
static bool
link_read(sni_linked *linked, sennit_msg *frame)
{
    sennit_sock *sock = linked->sock;

    if (sock == NULL || sennit_sock_recv(sock, frame, SENNIT_DONTWAIT))
        return false;
    if (linked->conn == NULL || linked->conn->number != sennit_msg_peer(frame))
        link_events(linked); /* the news of this connection is still unread */
    if (linked->conn == NULL || linked->sock != sock ||
        linked->conn->number != sennit_msg_peer(frame)) {
        sni_swallow_rest(sock, frame); /* of a connection that is gone */
        return linked->sock == sock;
    }
    if (sennit_msg_more(frame)) {
        sni_swallow_rest(sock, frame);
        sni_peer_protocol(linked->conn, "attachments (further frames) are not built yet");
        return true;
    }
    if (!sni_link_linked(&linked->conn->doomed))
        sni_peer_frame(linked->conn, frame);
    return true;
}

static void
link_ready(sennit_sock *sock, unsigned ready, void *arg)
{
    sni_linked *linked = arg;
    sennit_bus *bus = linked->bus;
    sennit_msg frame;
    uint64_t until = bus->work + SNI_TURN_RECORDS;
    unsigned frames = 0;
    bool more;

    (void)sock;
    if (bus->dispatching)
        return; /* a turn within a handler: it is still readable afterwards */
    sni_bus_enter(bus);
    sennit_msg_init(&frame);
    do {
        more = link_read(linked, &frame);
        frames++;
    } while (more && frames < SNI_TURN_FRAMES && !bus->dying && bus->work < until);
    sennit_msg_fini(&frame);
    /* Only when everything was read: what came before an end is dealt with first. */
    if (!more && !bus->dying)
        link_events(linked);
    if ((ready & SENNIT_WRITABLE) != 0 && linked->conn != NULL && !bus->dying)
        sni_conn_flush(linked->conn);
    sni_bus_pump(bus);
    sni_bus_leave(bus);
}

/* ---- Keeping ---------------------------------------------------------- */

static void
link_free(sni_linked *linked)
{
    if (linked->conn != NULL)
        sni_peer_lost(linked->conn, SENNIT_KIND_PEER_LOST, "unlinked");
    close_sock(linked);
    sni_link_remove(&linked->link);
    linked->bus->stats.links--;
    sni_release(linked->bus->alloc, linked);
}

sennit_time
sni_links_tend(sennit_bus *bus, sennit_time now)
{
    sennit_time next = SENNIT_NEVER;
    sni_link *at = bus->links.next;

    while (at != &bus->links) {
        sni_linked *linked = SNI_OWNER_OF(at, sni_linked, link);

        at = at->next;
        if (linked->removed) {
            link_free(linked);
            continue;
        }
        if (linked->self && linked->sock != NULL && linked->conn == NULL)
            close_sock(linked);
        if (linked->sock != NULL && now >= linked->check_at)
            check_link(linked, now);
        if (linked->self)
            continue;
        if (linked->sock != NULL &&
            (linked->conn == NULL || linked->conn->state != SNI_CONN_UP)) {
            next = linked->check_at < next ? linked->check_at : next;
            continue;
        }
        if (linked->sock != NULL)
            continue;
        if (now >= linked->open_at && link_open(linked) != SENNIT_OK)
            linked->open_at = next_open(linked, now);
        if (linked->sock == NULL && linked->open_at < next)
            next = linked->open_at;
    }
    return next;
}

void
sni_links_close(sennit_bus *bus)
{
    sni_link *first;

    while ((first = sni_list_first(&bus->links)) != NULL)
        link_free(SNI_OWNER_OF(first, sni_linked, link));
}

static sni_linked *
find(const sennit_bus *bus, const char *endpoint)
{
    for (sni_link *at = bus->links.next; at != &bus->links; at = at->next) {
        sni_linked *linked = SNI_OWNER_OF(at, sni_linked, link);

        if (!linked->removed && strcmp(linked->endpoint, endpoint) == 0)
            return linked;
    }
    return NULL;
}

sennit_err
sennit_bus_link(sennit_bus *bus, const char *endpoint)
{
    size_t size = strlen(endpoint) + 1;
    sni_linked *linked;
    sennit_err err;

    if (bus->dying)
        return SENNIT_ECLOSED;
    if (find(bus, endpoint) != NULL)
        return SENNIT_EEXIST;
    linked = sni_acquire_zero(bus->alloc, sizeof *linked + size);
    if (linked == NULL)
        return SENNIT_ENOMEM;
    linked->bus = bus;
    memcpy(linked->endpoint, endpoint, size);
    err = link_open(linked);
    if (err) {
        sni_release(bus->alloc, linked);
        return err;
    }
    sni_list_push(&bus->links, &linked->link);
    bus->stats.links++;
    return SENNIT_OK;
}

sennit_err
sennit_bus_unlink(sennit_bus *bus, const char *endpoint)
{
    sni_linked *linked = find(bus, endpoint);

    if (bus->dying)
        return SENNIT_ECLOSED;
    if (linked == NULL)
        return SENNIT_ENOENT;
    linked->removed = true;
    if (linked->conn != NULL)
        sni_conn_doom(linked->conn, "unlinked");
    if (!bus->dispatching)
        sni_bus_wake(bus, 0);
    return SENNIT_OK;
}
