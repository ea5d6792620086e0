/* SPDX-License-Identifier: MIT */
/* What others connect to: one ROUTER for nodes and guests (T1), one PUB for those who
 * only want events. */
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "rpc/bus.h"
#include "rpc/limits.h"

/* ---- Accepted connections by number ----------------------------------- */

static sennit_bytes
number_key(uint32_t number, uint8_t out[static 4])
{
    sni_put_u32(out, number);
    return sni_bytes(out, 4);
}

static sni_conn *
accepted_find(const sennit_bus *bus, uint32_t number)
{
    uint8_t key[4];

    return sni_trie_find(&bus->accepted, number_key(number, key));
}

void
sni_router_forget(sni_conn *conn)
{
    sennit_bus *bus = conn->bus;
    uint8_t key[4];
    uint32_t left;

    (void)sni_trie_remove(&bus->accepted, number_key(conn->number, key), conn, NULL, true,
                          &left);
    if (bus->half_sent == conn)
        bus->half_sent = NULL; /* see finish_half() */
}

/* The connection a message came through; made when it is the first of it. */
static sni_conn *
accepted_get(sennit_bus *bus, const sennit_msg *identity)
{
    uint32_t number = sennit_msg_peer(identity);
    sni_conn *conn = accepted_find(bus, number);
    uint8_t key[4];
    uint32_t entries;

    if (conn != NULL)
        return conn;
    if (sni_conn_new(bus, NULL, number, &conn))
        return NULL;
    if (sni_trie_add(&bus->accepted, number_key(number, key), conn, NULL, &entries)) {
        sni_conn_free(conn);
        return NULL;
    }
    sennit_msg_copy(&conn->identity, identity);
    return conn;
}

/* ---- Sending through the router --------------------------------------- */

/* Completes a message of which the router took the identity and, for want of memory,
 * not yet the frame; its owner may be gone, then the frame is empty. */
static sennit_err
finish_half(sennit_bus *bus)
{
    sennit_msg nothing;
    sennit_err err;

    sennit_msg_init(&nothing);
    err = sennit_sock_send(bus->router, &nothing, SENNIT_DONTWAIT);
    if (err == SENNIT_ENOMEM || err == SENNIT_EAGAIN || err == SENNIT_EINTR)
        return err;
    bus->half_open = false;
    return SENNIT_OK;
}

sennit_err
sni_router_send(sni_conn *conn, sennit_msg *frame)
{
    sennit_bus *bus = conn->bus;
    sennit_msg identity;
    sennit_err err;

    if (bus->half_open && bus->half_sent != conn) {
        if (bus->half_sent != NULL)
            return SENNIT_ENOMEM; /* its owner tries again first */
        err = finish_half(bus);
        if (err)
            return err;
    }
    if (!bus->half_open) {
        sennit_msg_init(&identity);
        sennit_msg_copy(&identity, &conn->identity);
        err = sennit_sock_send(bus->router, &identity, SENNIT_MORE | SENNIT_DONTWAIT);
        sennit_msg_fini(&identity);
        if (err)
            return err;
        bus->half_open = true;
        bus->half_sent = conn;
    }
    err = sennit_sock_send(bus->router, frame, SENNIT_DONTWAIT);
    if (err == SENNIT_ENOMEM || err == SENNIT_EAGAIN || err == SENNIT_EINTR)
        return err;
    bus->half_open = false;
    bus->half_sent = NULL;
    return err;
}

/* ---- Reading the router ----------------------------------------------- */

/* There is no memory to know this peer: it is to greet again (a guest's own time
 * ends what it asked). Needs no memory itself, as these are short. */
static void
ask_stranger(sennit_bus *bus, const sennit_msg *identity)
{
    static const uint8_t who[] = { 0x91, SNI_RECORD_WHO, 0xc4, 0x00 };
    sennit_msg copy;

    if (bus->half_open)
        return;
    sennit_msg_init(&copy);
    sennit_msg_copy(&copy, identity);
    if (sennit_sock_send(bus->router, &copy, SENNIT_MORE | SENNIT_DONTWAIT) == SENNIT_OK)
        bus->half_open = sennit_sock_send_bytes(bus->router, who, sizeof who,
                                                SENNIT_DONTWAIT) == SENNIT_ENOMEM;
    sennit_msg_fini(&copy);
}

/* Returns false once there is nothing more to read. */
static bool
router_read(sennit_bus *bus, sennit_msg *identity, sennit_msg *frame)
{
    sennit_sock *sock = bus->router;
    bool more;
    sni_conn *conn;

    if (sennit_sock_recv(sock, identity, SENNIT_DONTWAIT))
        return false;
    if (!sennit_msg_more(identity) || sennit_sock_recv(sock, frame, SENNIT_DONTWAIT))
        return true; /* nothing but an identity: no frame to answer */
    more = sennit_msg_more(frame);
    if (more)
        sni_swallow_rest(sock, frame);
    conn = accepted_get(bus, identity);
    if (conn == NULL)
        ask_stranger(bus, identity);
    if (conn == NULL || sni_link_linked(&conn->doomed))
        return true;
    if (more)
        sni_peer_protocol(conn, "attachments (further frames) are not built yet");
    else
        sni_peer_frame(conn, frame);
    return true;
}

/* Events were lost: finds out which connections still are. Nodes are asked (the
 * router refuses a frame for one that is gone); guests keep nothing here that their
 * next frame would not bring back, but what they wait for. */
static void
probe_accepted(sennit_bus *bus)
{
    sni_record ping = { .type = SNI_RECORD_PING };
    sni_link *at = bus->conns.next;

    while (at != &bus->conns) {
        sni_conn *conn = SNI_OWNER_OF(at, sni_conn, link);

        at = at->next;
        if (conn->linked != NULL || sni_link_linked(&conn->doomed))
            continue;
        if (conn->state == SNI_CONN_UP)
            (void)sni_conn_write(conn, &ping, true);
        else if (sni_list_empty(&conn->inbounds) && sni_conn_queued_bytes(conn) == 0)
            sni_conn_doom(conn, "unknown");
    }
}

static void
router_events(sennit_bus *bus)
{
    sennit_event event;
    sni_conn *conn;

    while (sennit_sock_next_event(bus->router, &event) == SENNIT_OK) {
        if (event.lost > 0)
            probe_accepted(bus);
        if (event.kind != SENNIT_EVENT_DISCONNECTED)
            continue;
        conn = accepted_find(bus, event.peer);
        if (conn != NULL)
            sni_peer_lost(conn, SENNIT_KIND_PEER_LOST,
                          event.reason[0] != '\0' ? event.reason : "disconnected");
    }
}

static void
router_ready(sennit_sock *sock, unsigned ready, void *arg)
{
    sennit_bus *bus = arg;
    sennit_msg identity;
    sennit_msg frame;
    uint64_t until = bus->work + SNI_TURN_RECORDS;
    unsigned frames = 0;
    bool more;

    (void)sock;
    (void)ready;
    if (bus->dispatching)
        return; /* a turn within a handler: it is still readable afterwards */
    sni_bus_enter(bus);
    sennit_msg_init(&identity);
    sennit_msg_init(&frame);
    do {
        more = router_read(bus, &identity, &frame);
        frames++;
    } while (more && frames < SNI_TURN_FRAMES && !bus->dying && bus->work < until);
    sennit_msg_fini(&identity);
    sennit_msg_fini(&frame);
    /* Only when everything was read: what came before an end is dealt with first. */
    if (!more && !bus->dying)
        router_events(bus);
    sni_bus_pump(bus);
    sni_bus_leave(bus);
}

/* ---- Listening -------------------------------------------------------- */

static sennit_err
open_router(sennit_bus *bus, sennit_sock **out)
{
    sennit_sock_opts opts = SENNIT_SOCK_OPTS_DEFAULT;

    opts.send_hwm_msgs = SNI_SOCK_HWM_MSGS;
    opts.linger_ms = bus->opts.linger_ms;
    opts.recv_frame_max_bytes = bus->opts.frame_max_bytes;
    opts.router_mandatory = true; /* an answer nobody can get is noticed */
    return sennit_sock_open(out, bus->loop, SENNIT_ROUTER, &opts);
}

static sennit_err
open_events(sennit_bus *bus, sennit_sock **out)
{
    sennit_sock_opts opts = SENNIT_SOCK_OPTS_DEFAULT;

    opts.send_hwm_msgs = SNI_EVENTS_HWM_MSGS;
    opts.linger_ms = bus->opts.linger_ms;
    return sennit_sock_open(out, bus->loop, SENNIT_PUB, &opts);
}

/* Binds `*sock`, opened on first use, and tells where in `said`. */
static sennit_err
listen_on(sennit_bus *bus, sennit_sock **sock, const char *endpoint, char *said,
          sennit_err (*open)(sennit_bus *bus, sennit_sock **out))
{
    sennit_sock *opened = *sock;
    const char *bound;
    sennit_err err;

    if (bus->dying)
        return SENNIT_ECLOSED;
    if (opened == NULL) {
        err = open(bus, &opened);
        if (err)
            return err;
    }
    err = sennit_sock_bind(opened, endpoint);
    if (err) {
        if (*sock == NULL)
            sennit_sock_close(opened);
        return err;
    }
    *sock = opened;
    bound = sennit_sock_last_endpoint(opened);
    if (strlen(bound) <= SENNIT_ADDRESS_MAX)
        memcpy(said, bound, strlen(bound) + 1);
    return SENNIT_OK;
}

sennit_err
sennit_bus_listen(sennit_bus *bus, const char *endpoint)
{
    sennit_err err = listen_on(bus, &bus->router, endpoint, bus->endpoint, open_router);

    if (!err)
        sennit_sock_on_ready(bus->router, SENNIT_READABLE | SENNIT_EVENTS, router_ready,
                             bus);
    return err;
}

sennit_err
sennit_bus_listen_events(sennit_bus *bus, const char *endpoint)
{
    return listen_on(bus, &bus->events, endpoint, bus->events_endpoint, open_events);
}

void
sni_listeners_close(sennit_bus *bus)
{
    sni_link *at = bus->conns.next;

    while (at != &bus->conns) {
        sni_conn *conn = SNI_OWNER_OF(at, sni_conn, link);

        at = at->next;
        sni_peer_lost(conn, SENNIT_KIND_PEER_LOST, "the bus was closed");
    }
    sennit_sock_close(bus->router);
    sennit_sock_close(bus->events);
}

/* ---- Events ----------------------------------------------------------- */

/* Both frames exist before the first is given away: a PUB takes what it is given, so
 * no guest ever gets a topic whose event found no memory. */
static sennit_err
send_event(sennit_sock *sock, sennit_bytes topic, sennit_bytes event)
{
    sennit_msg head;
    sennit_msg body;
    sennit_err err = sennit_msg_init_copy(&head, topic.data, topic.size);

    if (err)
        return err;
    err = sennit_msg_init_copy(&body, event.data, event.size);
    if (err)
        goto fini_head;
    err = sennit_sock_send(sock, &head, SENNIT_MORE | SENNIT_DONTWAIT);
    if (!err)
        err = sennit_sock_send(sock, &body, SENNIT_DONTWAIT);
    sennit_msg_fini(&body);
fini_head:
    sennit_msg_fini(&head);
    return err;
}

void
sni_events_publish(sennit_bus *bus, sennit_str address, sennit_bytes frame)
{
    uint8_t topic[SENNIT_ADDRESS_MAX + 1];

    memcpy(topic, address.data, address.size);
    topic[address.size] = 0; /* D7: `price.a` must not match `price.ab` */
    if (send_event(bus->events, (sennit_bytes){ topic, address.size + 1 }, frame))
        bus->stats.dead_letters_total[SENNIT_DEAD_NO_MEMORY]++;
}
