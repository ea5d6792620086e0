/* SPDX-License-Identifier: MIT */
/* What is said between nodes: HELLO, WHO, announcements, and who may say what when.
 *
 * State of a connection = what the peer may send next. NEW: its HELLO; or, on an
 * accepted connection, unnumbered requests of a guest. UP: anything, numbered
 * without a gap. Whatever else it sends costs it its state here and nobody else
 * anything: an accepted peer is told (WHO or ERR) and greets again, a dialed one is
 * connected to anew. */
#include "rpc/bus.h"

#include <string.h>

#include "base/alloc.h"
#include "rpc/address.h"
#include "rpc/limits.h"

static const char frames_lost[] = "frames were lost on the way";
static const char no_memory[] = "no memory to keep what it announced";

static sennit_str
text_of(const char *text)
{
    return sennit_str_of(text != NULL ? text : "");
}

/* ---- Greeting --------------------------------------------------------- */

_Static_assert(2 * SNI_ENDPOINT_MAX + SENNIT_NODE_ID_SIZE + SNI_RECORD_OVERHEAD <=
                   SNI_PEER_FRAME_MIN,
               "a HELLO without consumers fits everywhere");
_Static_assert(SENNIT_ADDRESS_MAX + 4 + sizeof SNI_ADDRESS_CONSUMERS +
                       2 * SNI_RECORD_OVERHEAD <=
                   SNI_PEER_FRAME_MIN,
               "the announcement of one consumer fits everywhere");

/* Appends an array of the keys that others may know, from the consumer at `from` on,
 * as far as `room` bytes go. Gives the consumer it stopped at. */
static sni_link *
pack_keys(sennit_bus *bus, sni_link *from, size_t room, sennit_buf *out)
{
    sni_link *end = from;
    size_t count = 0;
    size_t size = 0;

    for (; end != &bus->consumers; end = end->next) {
        const sennit_consumer *consumer = SNI_OWNER_OF(end, sennit_consumer, link);

        if (consumer->scope != SENNIT_SCOPE_CLUSTER)
            continue;
        size += consumer->key_size + 3;
        if (size > room)
            break;
        count++;
    }
    sennit_pack_array(out, count);
    for (sni_link *at = from; at != end; at = at->next) {
        const sennit_consumer *consumer = SNI_OWNER_OF(at, sennit_consumer, link);

        if (consumer->scope == SENNIT_SCOPE_CLUSTER)
            sennit_pack_str(out, (sennit_str){ consumer->key, consumer->key_size });
    }
    return end;
}

/* The list that did not fit into HELLO, in changes that fit into the peer's largest
 * frame. */
static sennit_err
write_consumed(sni_conn *conn)
{
    sennit_bus *bus = conn->bus;
    sennit_buf *body = &bus->consumed;
    sni_record record = { .type = SNI_RECORD_SEND,
                          .address = sennit_str_of(SNI_ADDRESS_CONSUMERS) };
    size_t largest = conn->frame_max < SNI_FRAME_FLUSH_BYTES ? (size_t)conn->frame_max
                                                             : SNI_FRAME_FLUSH_BYTES;
    size_t room = largest - record.address.size - 2 * SNI_RECORD_OVERHEAD;
    sni_link *at = bus->consumers.next;
    sennit_err err = SENNIT_OK;

    while (!err && at != &bus->consumers) {
        sennit_buf_clear(body);
        sennit_pack_array(body, 2);
        at = pack_keys(bus, at, room, body);
        sennit_pack_array(body, 0);
        record.body = sennit_buf_bytes(body);
        err = body->err ? body->err : sni_conn_write(conn, &record, true);
    }
    return err;
}

static sennit_err
write_ping(sni_conn *conn)
{
    sni_record ping = { .type = SNI_RECORD_PING, .id = ++conn->bus->pings };
    sennit_err err = sni_conn_write(conn, &ping, true);

    if (!err)
        conn->ping_sent = ping.id;
    return err;
}

/* Ends a greeting: what it owes, and the question whether all of it has arrived. */
static sennit_err
settle_consumed(sni_conn *conn)
{
    sennit_err err = conn->owes_consumed ? write_consumed(conn) : SENNIT_OK;

    if (err)
        return err;
    conn->owes_consumed = false;
    return write_ping(conn);
}

sennit_err
sni_peer_greet(sni_conn *conn)
{
    sennit_bus *bus = conn->bus;
    sni_record record = { .type = SNI_RECORD_HELLO };
    size_t room;
    sennit_err err;

    memcpy(record.hello.node, bus->node_id, sizeof record.hello.node);
    record.hello.incarnation = bus->incarnation;
    record.hello.proto_min = SNI_PROTOCOL_VERSION;
    record.hello.proto_max = SNI_PROTOCOL_VERSION;
    record.hello.max_frame = bus->opts.frame_max_bytes;
    record.hello.advertised = text_of(bus->advertise ? bus->advertise : bus->endpoint);
    record.hello.events = text_of(bus->events_endpoint);
    room = (size_t)conn->frame_max - 2 * SNI_RECORD_OVERHEAD - SENNIT_NODE_ID_SIZE -
           record.hello.advertised.size - record.hello.events.size;
    sennit_buf_clear(&bus->consumed);
    conn->owes_consumed =
        pack_keys(bus, bus->consumers.next, room, &bus->consumed) != &bus->consumers;
    if (bus->consumed.err)
        return bus->consumed.err;
    if (!conn->owes_consumed)
        record.hello.consumed = sennit_buf_bytes(&bus->consumed);
    err = sni_conn_write(conn, &record, true);
    if (err)
        return err;
    conn->greeted = true;
    /* What the one we dialed takes is known once its own HELLO is there. */
    if (conn->owes_consumed && conn->linked != NULL)
        return SENNIT_OK;
    return settle_consumed(conn);
}

void
sni_peers_announce(sennit_bus *bus, sennit_str key, bool added)
{
    uint8_t memory[SENNIT_ADDRESS_MAX + 16];
    sennit_buf body;
    sni_record record = { .type = SNI_RECORD_SEND };
    sni_link *at = bus->conns.next;

    sennit_buf_init_fixed(&body, memory, sizeof memory);
    sennit_pack_array(&body, 2);
    sennit_pack_array(&body, added ? 1 : 0);
    if (added)
        sennit_pack_str(&body, key);
    sennit_pack_array(&body, added ? 0 : 1);
    if (!added)
        sennit_pack_str(&body, key);
    record.address = sennit_str_of(SNI_ADDRESS_CONSUMERS);
    record.body = sennit_buf_bytes(&body);
    for (; at != &bus->conns; at = at->next) {
        sni_conn *conn = SNI_OWNER_OF(at, sni_conn, link);

        if (!conn->greeted || conn->owes_consumed || sni_link_linked(&conn->doomed))
            continue; /* gets the whole list */
        if (sni_conn_write(conn, &record, true) || write_ping(conn))
            sni_conn_doom(conn, "no memory to tell it what is consumed here");
    }
}

/* ---- What a peer consumes --------------------------------------------- */

/* One address a peer consumes. Found by its text and known to the routes as often as
 * it has shares, so that whatever a peer announces, each address costs its length. */
typedef struct announced {
    sni_link link; /* in its connection's list */
    uint32_t count;
    size_t size;
    char text[];
} announced;

static sennit_str
text_at(const announced *entry)
{
    return (sennit_str){ entry->text, entry->size };
}

static sennit_bytes
key_of(sennit_str text)
{
    return (sennit_bytes){ (const uint8_t *)text.data, text.size };
}

static uint32_t
shares_of(const announced *entry)
{
    return entry->count < SNI_PEER_SHARES_MAX ? entry->count : SNI_PEER_SHARES_MAX;
}

static void
drop_shares(sni_conn *conn, const announced *entry, uint32_t shares)
{
    for (; shares > 0; shares--)
        (void)sni_routes_remove(conn->bus->routes, text_at(entry), false, conn);
}

static sennit_err
add_share(sni_conn *conn, const announced *entry)
{
    return sni_routes_add(conn->bus->routes, text_at(entry), false, conn,
                          sni_bus_random(conn->bus));
}

/* Adds all shares of an entry, or none. */
static sennit_err
add_shares(sni_conn *conn, const announced *entry)
{
    for (uint32_t added = 0; added < shares_of(entry); added++) {
        if (add_share(conn, entry)) {
            drop_shares(conn, entry, added);
            return SENNIT_ENOMEM;
        }
    }
    return SENNIT_OK;
}

/* Takes what is in front of `end` out of the routes. */
static void
detach(sni_conn *conn, const sni_link *end)
{
    for (sni_link *at = conn->announced.next; at != end; at = at->next) {
        const announced *entry = SNI_OWNER_OF(at, announced, link);

        drop_shares(conn, entry, shares_of(entry));
    }
    conn->attached = false;
}

static sennit_err
attach(sni_conn *conn)
{
    for (sni_link *at = conn->announced.next; at != &conn->announced; at = at->next) {
        if (add_shares(conn, SNI_OWNER_OF(at, announced, link))) {
            detach(conn, at);
            return SENNIT_ENOMEM;
        }
    }
    conn->attached = true;
    return SENNIT_OK;
}

static void
announced_free(sni_conn *conn, announced *entry)
{
    uint32_t left;

    (void)sni_trie_remove(&conn->announced_key, key_of(text_at(entry)), entry, NULL, true,
                          &left);
    sni_link_remove(&entry->link);
    sni_release(conn->bus->alloc, entry);
}

void
sni_peer_forget_announced(sni_conn *conn)
{
    sni_link *first;

    while ((first = sni_list_first(&conn->announced)) != NULL)
        announced_free(conn, SNI_OWNER_OF(first, announced, link));
    conn->announced_count = 0;
}

static announced *
announced_new(sni_conn *conn, sennit_str text)
{
    announced *entry = sni_acquire(conn->bus->alloc, sizeof *entry + text.size);
    uint32_t count;

    if (entry == NULL)
        return NULL;
    entry->count = 0;
    entry->size = text.size;
    memcpy(entry->text, text.data, text.size);
    if (sni_trie_add(&conn->announced_key, key_of(text), entry, NULL, &count)) {
        sni_release(conn->bus->alloc, entry);
        return NULL;
    }
    sni_list_push(&conn->announced, &entry->link);
    return entry;
}

static sennit_err
announced_add(sni_conn *conn, sennit_str text)
{
    announced *entry = sni_trie_find(&conn->announced_key, key_of(text));

    conn->bus->work++;
    if (entry == NULL)
        entry = announced_new(conn, text);
    if (entry == NULL)
        return SENNIT_ENOMEM;
    if (conn->attached && entry->count < SNI_PEER_SHARES_MAX && add_share(conn, entry)) {
        if (entry->count == 0)
            announced_free(conn, entry);
        return SENNIT_ENOMEM;
    }
    entry->count++;
    conn->announced_count++;
    return SENNIT_OK;
}

static void
announced_remove(sni_conn *conn, sennit_str text)
{
    announced *entry = sni_trie_find(&conn->announced_key, key_of(text));

    conn->bus->work++;
    if (entry == NULL)
        return;
    conn->announced_count--;
    entry->count--;
    if (conn->attached && entry->count < SNI_PEER_SHARES_MAX)
        drop_shares(conn, entry, 1);
    if (entry->count == 0)
        announced_free(conn, entry);
}

/* Adds every text of a checked array. */
static sennit_err
announced_add_all(sni_conn *conn, sennit_unpack *in)
{
    for (size_t count = sennit_unpack_array(in); count > 0 && !in->err; count--) {
        sennit_str text = sennit_unpack_str(in);

        if (in->err || sni_address_form_of(text) == SNI_ADDRESS_BAD ||
            conn->announced_count >= SNI_PEER_ADDRESSES_MAX)
            return SENNIT_EPROTO;
        if (announced_add(conn, text))
            return SENNIT_ENOMEM;
    }
    return in->err;
}

static sennit_err
announced_change(sni_conn *conn, sennit_bytes body)
{
    sennit_unpack in;
    sennit_err err = sennit_unpack_check(body, 2, SENNIT_CHECK_UTF8, NULL, NULL);

    if (err)
        return err;
    sennit_unpack_init(&in, body);
    if (sennit_unpack_array(&in) < 2)
        return SENNIT_EPROTO;
    err = announced_add_all(conn, &in);
    if (err)
        return err;
    for (size_t count = sennit_unpack_array(&in); count > 0 && !in.err; count--) {
        sennit_str text = sennit_unpack_str(&in);

        if (!in.err)
            announced_remove(conn, text);
    }
    return in.err;
}

/* Whose connection it is, as far as that is known. */
static const uint8_t *
id_of(const sni_conn *conn)
{
    return conn->node != NULL ? conn->node->id : NULL;
}

/* ---- Nodes ------------------------------------------------------------ */

static sni_node *
node_find(sennit_bus *bus, const uint8_t *id)
{
    for (sni_link *at = bus->nodes.next; at != &bus->nodes; at = at->next) {
        sni_node *node = SNI_OWNER_OF(at, sni_node, link);

        if (memcmp(node->id, id, sizeof node->id) == 0)
            return node;
    }
    return NULL;
}

/* The connection to use for a node: one we dialed, else its latest. */
static sni_conn *
node_best(sni_node *node)
{
    sni_conn *best = NULL;

    for (sni_link *at = node->conns.next; at != &node->conns; at = at->next) {
        sni_conn *conn = SNI_OWNER_OF(at, sni_conn, in_node);

        if (!sni_link_linked(&conn->doomed) && (best == NULL || best->linked == NULL))
            best = conn;
    }
    return best;
}

static void
node_choose(sni_node *node)
{
    sni_conn *best = node_best(node);

    if (best == node->via)
        return;
    if (node->via != NULL)
        detach(node->via, &node->via->announced);
    node->via = best;
    if (best != NULL && attach(best) != SENNIT_OK) {
        node->via = NULL;
        sni_conn_doom(best, no_memory);
    }
}

static sennit_err
node_join(sni_conn *conn, const sni_hello *hello)
{
    sennit_bus *bus = conn->bus;
    sni_node *node = node_find(bus, hello->node);

    if (node == NULL) {
        node = sni_acquire_zero(bus->alloc, sizeof *node);
        if (node == NULL)
            return SENNIT_ENOMEM;
        memcpy(node->id, hello->node, sizeof node->id);
        node->incarnation = hello->incarnation;
        sni_link_init(&node->conns);
        sni_list_push(&bus->nodes, &node->link);
        bus->stats.nodes++;
    }
    conn->node = node;
    sni_list_push(&node->conns, &conn->in_node);
    node_choose(node);
    return SENNIT_OK;
}

static void
node_leave(sni_conn *conn)
{
    sni_node *node = conn->node;

    if (conn->attached)
        detach(conn, &conn->announced);
    if (node == NULL)
        return;
    conn->node = NULL;
    sni_link_remove(&conn->in_node);
    if (node->via == conn)
        node->via = NULL;
    if (sni_list_empty(&node->conns)) {
        sni_link_remove(&node->link);
        conn->bus->stats.nodes--;
        sni_release(conn->bus->alloc, node);
    } else if (!conn->bus->dying) {
        node_choose(node);
    }
}

/* What waits for the peer, and what it waits for, ends. */
static void
end_business(sni_conn *conn, sennit_kind kind, const char *reason)
{
    sni_link *first;

    sni_calls_lost(conn, kind, reason);
    while ((first = sni_list_first(&conn->inbounds)) != NULL)
        sni_inbound_cancel(SNI_OWNER_OF(first, sni_inbound, link));
}

/* Forgets the node behind the connection and says so. By the time the application
 * hears of it no route leads here any more, so what it does about it cannot. */
static void
node_down(sni_conn *conn, const char *reason)
{
    uint8_t id[SENNIT_NODE_ID_SIZE] = { 0 };
    bool was_up = conn->state == SNI_CONN_UP && conn->node != NULL;

    if (was_up)
        memcpy(id, conn->node->id, sizeof id);
    node_leave(conn);
    conn->state = SNI_CONN_NEW;
    if (was_up)
        sni_bus_tell(conn->bus, SENNIT_PEER_DOWN, conn, id, NULL, reason);
}

void
sni_peer_lost(sni_conn *conn, sennit_kind kind, const char *reason)
{
    sni_linked *linked = conn->linked;

    sni_conn_doom(conn, reason); /* nothing more is written to it */
    end_business(conn, kind, reason);
    node_down(conn, reason);
    if (linked == NULL)
        sni_router_forget(conn);
    sni_conn_free(conn);
    if (linked != NULL)
        sni_link_lost(linked);
}

/* ---- Refusing --------------------------------------------------------- */

/* Has an accepted peer greet again (T2). It knows our frames by number, this one
 * has none, as we know nothing of it. */
static void
ask_who(sni_conn *conn, const char *reason)
{
    sni_record who = { .type = SNI_RECORD_WHO };

    conn->bus->stats.who_total++;
    sni_conn_reset_out(conn);
    conn->numbered = false;
    if (sni_conn_write(conn, &who, true) == SENNIT_OK)
        sni_conn_flush(conn);
    sni_conn_doom(conn, reason);
}

void
sni_peer_protocol(sni_conn *conn, const char *reason)
{
    sennit_bus *bus = conn->bus;
    sni_record refusal = {
        .type = SNI_RECORD_ERR,
        .kind = SENNIT_KIND_PROTOCOL,
        .ran = SENNIT_RAN_MAYBE,
        .message = sennit_str_of(reason),
    };

    bus->stats.protocol_errors_total++;
    sni_bus_tell(bus, SENNIT_PEER_PROTOCOL, conn, id_of(conn), NULL, reason);
    if (sni_conn_write(conn, &refusal, true) == SENNIT_OK)
        sni_conn_flush(conn);
    if (conn->linked == NULL && conn->state == SNI_CONN_NEW)
        return; /* a guest has no state to lose */
    sni_conn_doom(conn, reason);
    conn->doom_kind = SENNIT_KIND_PROTOCOL;
}

/* ---- HELLO ------------------------------------------------------------ */

/* It starts over on the same connection: everything before is void. */
static void
forget_peer(sni_conn *conn)
{
    end_business(conn, SENNIT_KIND_PEER_LOST, "the peer began anew");
    node_down(conn, "the peer began anew");
    conn->draining = false;
    sni_peer_forget_announced(conn);
}

/* Ends what is left of an earlier life of this node. */
static void
forget_earlier(sni_conn *conn, const sni_hello *hello)
{
    sni_node *node = node_find(conn->bus, hello->node);
    sni_link *at;

    if (node == NULL || node->incarnation == hello->incarnation)
        return;
    while ((at = sni_list_first(&node->conns)) != NULL) {
        sni_conn *old = SNI_OWNER_OF(at, sni_conn, in_node);
        bool last = at->next == &node->conns;

        sni_peer_lost(old, SENNIT_KIND_PEER_LOST, "the node was started anew");
        if (last)
            return; /* the node went with it */
    }
}

/* Our own HELLO came back. */
static void
meet_self(sni_conn *conn, const sni_hello *hello)
{
    if (hello->incarnation != conn->bus->incarnation) {
        sni_peer_protocol(conn, "another node uses our node id");
        return;
    }
    if (conn->linked == NULL) {
        conn->numbered = true;
        (void)sni_peer_greet(conn); /* tells the dialing half the same */
        sni_conn_flush(conn);
        return;
    }
    conn->linked->self = true;
    sni_conn_doom(conn, "the link leads back to this bus");
}

/* Without memory to know the peer: it is to greet again. */
static void
give_up(sni_conn *conn)
{
    sni_link_remove(&conn->doomed); /* or it could not be told */
    if (conn->linked == NULL)
        ask_who(conn, no_memory);
    else
        sni_conn_doom(conn, no_memory);
}

static void
handle_hello(sni_conn *conn, const sni_hello *hello)
{
    sennit_bus *bus = conn->bus;
    sennit_unpack in;

    if (hello->proto_min > SNI_PROTOCOL_VERSION ||
        hello->proto_max < SNI_PROTOCOL_VERSION) {
        sni_peer_protocol(conn, "no protocol version in common; this is version 1");
        return;
    }
    if (hello->max_frame < SNI_PEER_FRAME_MIN) {
        sni_peer_protocol(conn, "the largest frame named in HELLO is below 1 KiB");
        return;
    }
    if (conn->linked == NULL) {
        sni_conn_reset_out(conn);
        conn->greeted = false;
    }
    if (memcmp(hello->node, bus->node_id, SENNIT_NODE_ID_SIZE) == 0) {
        meet_self(conn, hello);
        return;
    }
    forget_earlier(conn, hello);
    conn->frame_max = hello->max_frame < bus->opts.frame_max_bytes
                          ? hello->max_frame
                          : bus->opts.frame_max_bytes;
    sennit_unpack_init(&in, hello->consumed);
    if ((hello->consumed.size > 0 && announced_add_all(conn, &in)) ||
        node_join(conn, hello) || sni_link_linked(&conn->doomed)) {
        give_up(conn);
        return;
    }
    conn->state = SNI_CONN_UP;
    conn->numbered = true;
    if (conn->linked == NULL ? sni_peer_greet(conn)
                             : conn->owes_consumed && settle_consumed(conn)) {
        give_up(conn);
        return;
    }
    sni_bus_tell(bus, SENNIT_PEER_UP, conn, id_of(conn), hello, "");
}

/* ---- Frames ----------------------------------------------------------- */

/* Whether the frame may be looked at: HELLO first, then no gaps (T2, T3). */
static bool
admit(sni_conn *conn, const sni_frame *frame, const sni_record *first)
{
    sennit_bus *bus = conn->bus;

    if (first != NULL && first->type == SNI_RECORD_HELLO) {
        if (!frame->numbered) {
            sni_peer_protocol(conn, "a HELLO's frame must carry a sequence number");
            return false;
        }
        if (conn->state == SNI_CONN_UP || conn->linked == NULL)
            forget_peer(conn);
        conn->recv_sequence = frame->sequence;
        return true;
    }
    if (first != NULL && first->type == SNI_RECORD_WHO && conn->linked != NULL) {
        sni_conn_doom(conn, "it does not know us any more");
        return false;
    }
    if (conn->state == SNI_CONN_NEW && conn->linked != NULL &&
        !(first != NULL && first->type == SNI_RECORD_ERR && first->id == 0)) {
        sni_peer_protocol(conn, "a frame came before the HELLO");
        return false;
    }
    if (conn->state == SNI_CONN_NEW && frame->numbered && conn->linked == NULL) {
        ask_who(conn, "it has to say HELLO first");
        return false;
    }
    if (conn->state == SNI_CONN_NEW)
        return true;
    if (!frame->numbered) {
        sni_peer_protocol(conn, "a frame after HELLO must carry a sequence number");
        return false;
    }
    if (frame->sequence != conn->recv_sequence + 1) {
        bus->stats.sequence_gaps_total++;
        if (conn->linked == NULL)
            ask_who(conn, frames_lost);
        else
            sni_conn_doom(conn, frames_lost);
        return false;
    }
    conn->recv_sequence = frame->sequence;
    return true;
}

/* An ERR that answers no request: the peer dropped what it knew of us. */
static void
handle_refusal(sni_conn *conn, const sni_record *record)
{
    char text[SENNIT_ERROR_MESSAGE_MAX + 1];
    size_t size =
        record->message.size < sizeof text ? record->message.size : sizeof text - 1;

    if (size > 0)
        memcpy(text, record->message.data, size);
    text[size] = '\0';
    sni_bus_tell(conn->bus, SENNIT_PEER_PROTOCOL, conn, id_of(conn), NULL, text);
    sni_conn_doom(conn, "it refused what we sent");
}

static void
handle_consumers(sni_conn *conn, const sni_record *record)
{
    sennit_err err = announced_change(conn, record->body);

    if (err == SENNIT_ENOMEM)
        sni_conn_doom(conn, no_memory);
    else if (err)
        sni_peer_protocol(conn, "a change of consumed addresses is malformed");
}

static void
handle_addressed(sni_conn *conn, const sni_record *record, const sennit_msg *frame)
{
    if (!sni_address_reserved(record->address)) {
        sni_bus_accept(conn, record, frame);
        return;
    }
    if (record->type == SNI_RECORD_SEND && conn->state == SNI_CONN_UP &&
        sennit_str_equal(record->address, sennit_str_of(SNI_ADDRESS_CONSUMERS)))
        handle_consumers(conn, record);
    else if (record->type == SNI_RECORD_REQ)
        sni_bus_accept(conn, record, frame); /* nobody consumes it, and is told so */
    else
        sni_peer_protocol(conn, "addresses that begin with $sennit are reserved");
}

static void
handle_record(sni_conn *conn, const sni_record *record, const sennit_msg *frame)
{
    sni_record pong = { .type = SNI_RECORD_PONG, .id = record->id };
    bool guest = conn->state == SNI_CONN_NEW && conn->linked == NULL;
    sni_inbound *inbound;

    conn->bus->stats.records_received_total++;
    conn->bus->work++;
    switch (record->type) {
    case SNI_RECORD_REQ:
    case SNI_RECORD_SEND:
    case SNI_RECORD_PUB:
        handle_addressed(conn, record, frame);
        return;
    case SNI_RECORD_CANCEL:
        inbound = sni_inbound_of(conn, record->id);
        if (inbound != NULL)
            sni_inbound_cancel(inbound);
        return;
    case SNI_RECORD_PING:
        (void)sni_conn_write(conn, &pong, true);
        return;
    case SNI_RECORD_HELLO:
        sni_peer_protocol(conn, "a HELLO must be the first record of its frame");
        return;
    case SNI_RECORD_RES:
    case SNI_RECORD_ERR:
    case SNI_RECORD_PONG:
    case SNI_RECORD_GOAWAY:
    case SNI_RECORD_WHO:
        break;
    }
    if (guest) {
        sni_peer_protocol(conn, "a guest may send REQ, SEND, PUB, CANCEL and PING only");
        return;
    }
    if (record->type == SNI_RECORD_ERR && record->id == 0) {
        handle_refusal(conn, record);
    } else if (record->type == SNI_RECORD_RES || record->type == SNI_RECORD_ERR) {
        sni_calls_answered(conn, record);
    } else if (record->type == SNI_RECORD_PONG) {
        if (record->id > conn->pong_seen)
            conn->pong_seen = record->id;
    } else if (record->type == SNI_RECORD_GOAWAY) {
        conn->draining = true;
    } else {
        sni_peer_protocol(conn, "a WHO from the side that was connected to");
    }
}

void
sni_peer_frame(sni_conn *conn, const sennit_msg *msg)
{
    sennit_bus *bus = conn->bus;
    sni_frame frame;
    sni_record record;
    sni_frame_next next;

    bus->stats.frames_received_total++;
    sni_frame_init(&frame, sennit_msg_bytes(msg));
    next = sni_frame_read(&frame, &record);
    if (next == SNI_FRAME_BAD) {
        sni_peer_protocol(conn, frame.reason);
        return;
    }
    if (!admit(conn, &frame, next == SNI_FRAME_RECORD ? &record : NULL))
        return;
    if (next == SNI_FRAME_RECORD && record.type == SNI_RECORD_HELLO) {
        bus->stats.records_received_total++;
        handle_hello(conn, &record.hello);
        if (conn->state != SNI_CONN_UP)
            return; /* refused, or ourselves: the rest is not for us */
        next = sni_frame_read(&frame, &record);
    }
    while (next == SNI_FRAME_RECORD) {
        if (sni_link_linked(&conn->doomed) || bus->dying)
            return;
        handle_record(conn, &record, msg);
        next = sni_frame_read(&frame, &record);
    }
    if (next == SNI_FRAME_BAD && !sni_link_linked(&conn->doomed) && !bus->dying)
        sni_peer_protocol(conn, frame.reason);
}
