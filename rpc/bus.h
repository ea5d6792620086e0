/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_RPC_BUS_H
#define SENNIT_RPC_BUS_H

#include "base/list.h"
#include "base/timers.h"
#include "base/trie.h"
#include "rpc/record.h"
#include "rpc/route.h"
#include "rpc/slots.h"
#include "sennit/rpc.h"

/* The bus and what hangs on it. Who owns what:
 *
 *   bus ---- consumers --- mail          consumer.c
 *        |-- calls (slots)               request.c   ours, waiting for an outcome
 *        |-- inbounds (slots)            reply.c     theirs, waiting for an answer
 *        |-- nodes --- (conns)           peer.c      who we know
 *        |-- links --- conn (dialed)     link.c      one DEALER each
 *        `-- router -- conns (accepted)  listen.c    one ROUTER
 *
 * All of it moves in one place, sni_bus_pump() (bus.c), which runs inside a turn of
 * the loop and never inside itself. What an API call finds out that would call the
 * application back, or free something somebody may be looking at, is put on a list
 * for the pump: outcomes, mail, doomed connections, removed links. */

typedef struct sni_conn sni_conn;
typedef struct sni_node sni_node;
typedef struct sni_linked sni_linked;
typedef struct sni_mail sni_mail;
typedef struct sni_obituary sni_obituary;

/* ---- Calls of ours ---------------------------------------------------- */

typedef struct sni_call {
    sni_slot slot; /* first: see sni_slots */
    sennit_bus *bus;
    sennit_timer timer; /* the budget */
    sni_link link;      /* in its connection's calls, or in bus->outcomes */
    sni_conn *conn;     /* where it waits; NULL: here, or it has its outcome */
    uint64_t frame;     /* number of the frame that carries it, on that connection */
    uint64_t inbound;   /* waits here: the right to answer it */
    sni_link sibling;   /* in the children of the request whose handler made it */
    bool finished;      /* its outcome is on the list */
    uint32_t attempts;
    sennit_result_thunk *thunk; /* NULL: `fn` is a sennit_result_fn */
    sennit_any_fn *fn;
    void *arg;
    sennit_kind kind; /* the outcome; NONE: `body` is the reply */
    sennit_ran ran;
    const char *reason;  /* static text */
    sennit_error *error; /* a handler's own words, or NULL; detail right behind it */
    uint8_t *body;
    size_t body_size;
    char *address; /* address_short, or allocated */
    char address_short[48];
} sni_call;

/* ---- Requests of others ----------------------------------------------- */

typedef enum sni_inbound_state {
    SNI_INBOUND_QUEUED,  /* in a mailbox */
    SNI_INBOUND_RUNNING, /* its handler is on the stack */
    SNI_INBOUND_KEPT,    /* the handler returned and kept the right to answer */
} sni_inbound_state;

typedef struct sni_inbound {
    sni_slot slot;
    sennit_bus *bus;
    sennit_timer timer; /* runs while KEPT, if there is a budget */
    sni_link link;      /* in its connection's inbounds, or unlinked when local */
    sni_conn *conn;     /* NULL: the caller is a call of this bus */
    uint64_t caller;    /* the request's id on the caller's side */
    sennit_time deadline;
    sni_inbound_state state;
    bool cancelled;    /* while RUNNING: nobody waits any more */
    sni_link children; /* sni_call.sibling: calls made for it that wait */
} sni_inbound;

/* ---- Consumers -------------------------------------------------------- */

/* One message on its way into a mailbox; everything is borrowed. */
typedef struct sni_letter {
    sni_record_type type; /* REQ, SEND or PUB */
    sennit_str address;
    sennit_bytes headers;
    sennit_bytes body;
    const sennit_msg *frame;     /* what `body` points into, or NULL */
    const uint8_t *node;         /* NULL: a guest */
    const sennit_method *method; /* NULL: not a service's */
    uint64_t inbound;
    sennit_time arrived;
    sennit_time deadline;
    const char *text; /* why it was rejected; NULL or "": it was not */
} sni_letter;

struct sennit_consumer {
    sennit_bus *bus;
    sni_link link;  /* in bus->consumers */
    sni_link ready; /* in bus->ready while mail waits */
    sennit_consumer_fn *fn;
    sennit_consumer_thunk *thunk; /* with `any`: a typed consumer */
    sennit_any_fn *any;
    void *arg;
    const sennit_service *service; /* with `vtable` and arg = self */
    const void *vtable;
    sennit_scope scope;
    uint32_t mail_max_msgs;
    uint64_t mail_max_bytes;
    sni_mail *first;
    sni_mail *last;
    uint32_t mail_msgs;
    uint64_t mail_bytes;
    bool running;   /* its handler is on the stack */
    bool cancelled; /* meanwhile: to be freed when it returns */
    size_t key_size;
    char key[]; /* as in rpc/address.h */
};

struct sennit_ctx {
    sennit_bus *bus;
    const sni_mail *mail;
};

/* ---- Peers ------------------------------------------------------------ */

typedef enum sni_conn_state {
    SNI_CONN_NEW, /* no HELLO from it: a guest, or a node that is about to */
    SNI_CONN_UP,
} sni_conn_state;

typedef struct sni_sealed sni_sealed;
typedef struct sni_flight sni_flight;

/* One connection, dialed or accepted. Law: frames_handed <= frames_begun, and a
 * record is known not to have left while its frame's number > frames_handed. */
struct sni_conn {
    sennit_bus *bus;
    sni_linked *linked; /* the link it belongs to; NULL: accepted by the router */
    sni_conn_state state;
    uint32_t number;     /* of the connection, in its socket */
    sennit_msg identity; /* accepted: what the router calls it */
    sni_link link;       /* in bus->conns */

    bool greeted;       /* our HELLO is on its way, or was */
    bool owes_consumed; /* it was too short for what we consume */
    bool numbered;      /* our frames carry a sequence number */
    uint64_t send_sequence;
    uint64_t recv_sequence;

    sennit_buf out; /* the frame being gathered */
    uint32_t out_records;
    sni_sealed *sealed_first;
    sni_sealed *sealed_last;
    size_t sealed_bytes;
    sni_flight *flight; /* what its socket holds of it */
    uint64_t frames_begun;
    uint64_t frames_handed;
    uint64_t frame_max; /* the smaller of both sides'; before HELLO the least of all */
    sennit_time flushed_at;
    sni_link dirty; /* in bus->dirty while it has something to send */
    bool blocked;   /* its socket would not take more */

    sni_link doomed; /* in bus->doomed once it is to be dropped */
    const char *doom_reason;
    sennit_kind doom_kind; /* what calls that were sent fail with */

    sni_node *node; /* set while UP */
    sni_link in_node;
    sni_link announced;     /* what the peer consumes, see peer.c */
    sni_trie announced_key; /* the same by address */
    size_t announced_count; /* repeated ones included */
    bool attached;          /* those are in the routes */
    bool draining;          /* it said GOAWAY */
    uint64_t ping_sent;
    uint64_t pong_seen;

    uint64_t event_serial; /* of the last event that was written here */
    sni_link calls;        /* sni_call.link */
    sni_link inbounds;     /* sni_inbound.link */
};

/* A node we have at least one connection with. */
struct sni_node {
    sni_link link;
    uint8_t id[SENNIT_NODE_ID_SIZE];
    uint64_t incarnation;
    sni_link conns; /* sni_conn.in_node */
    sni_conn *via;  /* the one whose announcements are in the routes */
};

/* One sennit_bus_link(). */
struct sni_linked {
    sennit_bus *bus;
    sni_link link;     /* in bus->links */
    sennit_sock *sock; /* NULL: waiting until open_at, or idle */
    sni_conn *conn;    /* NULL: not connected */
    sennit_time open_at;
    sennit_time check_at; /* whether it is up */
    sennit_time up_at;
    uint32_t losses; /* in a row */
    bool self;       /* it leads back to this bus */
    bool removed;    /* by unlink; the pump frees it */
    char endpoint[];
};

/* ---- Bus -------------------------------------------------------------- */

/* A sennit_bus_wait_ready() on the stack, which a callback may pull the bus away
 * from. */
typedef struct sni_ready_waiter {
    struct sni_ready_waiter *outer;
    bool closed;
} sni_ready_waiter;

struct sennit_bus {
    sennit_loop *loop;
    const sennit_allocator *alloc;
    sennit_bus_opts opts;
    uint8_t node_id[SENNIT_NODE_ID_SIZE];
    uint64_t incarnation;
    char *advertise; /* copy of the option, or NULL */

    sennit_timer wake;
    sennit_time wake_at; /* SENNIT_NEVER: not running */
    bool dispatching;    /* the pump or a socket's callback is on the stack */
    bool dying;          /* closed from within */
    uint64_t work;       /* records read and addresses announced so far */
    bool telling_dead;   /* a dead letter callback is on the stack */
    sni_ready_waiter *waiters;

    sni_routes *routes;
    sni_slots calls;
    sni_slots inbounds;
    sni_timers timers; /* calls' and inbounds' */
    sni_link consumers;
    sni_link ready;
    sni_mail *spare_mail; /* storage that waits to be used again */
    uint32_t spare_mail_count;
    sni_link outcomes;
    sni_link nodes;
    sni_link conns;
    sni_link dirty;
    sni_link doomed;
    sni_link links;
    uint64_t pings;

    sennit_sock *router;
    sni_trie accepted;   /* connection number -> sni_conn */
    bool half_open;      /* the router took an identity, not yet the frame ... */
    sni_conn *half_sent; /* ... of this connection; NULL: it is gone since */
    sennit_sock *events;
    char endpoint[SENNIT_ADDRESS_MAX + 1];
    char events_endpoint[SENNIT_ADDRESS_MAX + 1];

    sennit_arena *arena; /* of the handler or callback on the stack */
    uint64_t current;    /* the request whose handler is on the stack; 0: none */
    sennit_time current_deadline;
    sennit_buf scratch;  /* the application's */
    sennit_buf headers;  /* of the message being sent */
    sennit_buf record;   /* of the event being published */
    sennit_buf consumed; /* of the HELLO being written */
    uint64_t event_serial;

    uint8_t random[256];
    size_t random_left;

    sni_obituary *dead_first;
    sni_obituary **dead_last;
    uint32_t dead_count;
    sennit_dead_letter_fn *dead_fn;
    void *dead_arg;
    sennit_peer_event_fn *peer_fn;
    void *peer_arg;
    sennit_bus_stats stats;
};

/* ---- bus.c ------------------------------------------------------------ */

/* Around everything that runs in a turn. leave() may free the bus. */
void sni_bus_enter(sennit_bus *bus);
void sni_bus_leave(sennit_bus *bus);

/* Moves everything that can move: see above. Between enter and leave. */
void sni_bus_pump(sennit_bus *bus);

/* Sees to it that the pump runs at `at` or before. */
void sni_bus_wake(sennit_bus *bus, sennit_time at);

/* At the end of each API call that may have queued records or outcomes. */
void sni_bus_settle(sennit_bus *bus);

uint64_t sni_bus_random(sennit_bus *bus);

/* Counts a dead letter, and has the pump tell the application if it listens. */
void sni_bus_dead(sennit_bus *bus, sennit_dead_reason reason, const sni_letter *letter);

/* Tells the application about a peer; `node` is NULL while it is not known. */
void sni_bus_tell(sennit_bus *bus, sennit_peer_event_kind kind, const sni_conn *conn,
                  const uint8_t *node, const sni_hello *hello, const char *reason);

/* ---- entropy.c -------------------------------------------------------- */

/* Fills `out` with the system's random bytes. Errors: EIO. */
sennit_err sni_entropy(void *out, size_t size);

/* ---- consumer.c ------------------------------------------------------- */

/* Puts a copy of `letter` into the mailbox. Errors: EAGAIN (full), ENOMEM. */
sennit_err sni_consumer_post(sennit_consumer *consumer, const sni_letter *letter);

/* The method called `name`, or NULL when it is not implemented. */
const sennit_method *sni_consumer_method(const sennit_consumer *consumer,
                                         sennit_str name);

/* Runs up to `*budget` handlers, and takes them off it. Returns whether any ran. */
bool sni_consumers_run(sennit_bus *bus, size_t *budget);

/* Refuses all mail with CLOSED/never; frees every consumer. */
void sni_consumers_drain(sennit_bus *bus);
void sni_consumers_free(sennit_bus *bus);

/* ---- request.c -------------------------------------------------------- */

/* Gives `call` its outcome, to be delivered by the pump. Taken out of where it
 * waits; `error` and `body` (the bus's memory) become the call's. */
void sni_call_finish(sni_call *call, sennit_kind kind, sennit_ran ran,
                     const char *reason);
void sni_call_finish_ok(sni_call *call, uint8_t *body, size_t size);
void sni_call_finish_error(sni_call *call, sennit_error *error);

/* An RES or ERR record that came on `conn`. Calls back at once. */
void sni_calls_answered(sni_conn *conn, const sni_record *record);

/* Delivers up to `*budget` outcomes. Returns whether there were any. */
bool sni_calls_deliver(sennit_bus *bus, size_t *budget);

/* `conn` is lost: its calls fail PEER_LOST/maybe or NOT_SENT/never. */
void sni_calls_lost(sni_conn *conn, sennit_kind kind, const char *reason);

/* Cancels calls in a list of siblings, and what was started for them here, however
 * long the chain. */
void sni_calls_cancel(sni_link *siblings);

/* Ends every call with CLOSED and delivers that. */
void sni_calls_close(sennit_bus *bus);

/* ---- reply.c ---------------------------------------------------------- */

/* The right to answer a request of `conn` (NULL: of our own call `caller`).
 * Errors: ENOMEM. */
sennit_err sni_inbound_new(sennit_bus *bus, sni_conn *conn, uint64_t caller,
                           sennit_time deadline, sni_inbound **out);
void sni_inbound_free(sni_inbound *inbound);

/* Nobody waits for it any more. abandon() leaves the calls made for it to the caller:
 * they are added to `orphans`, to be cancelled. */
void sni_inbound_cancel(sni_inbound *inbound);
void sni_inbound_abandon(sni_inbound *inbound, sni_link *orphans);

/* The oldest request of `conn` with this id, or NULL. */
sni_inbound *sni_inbound_of(sni_conn *conn, uint64_t caller);

/* Answers with a failure in words of ours and frees the right. Never fails: what
 * cannot be sent is dropped and the caller's timeout ends the call. */
void sni_inbound_refuse(sni_inbound *inbound, sennit_kind kind, sennit_ran ran,
                        const char *reason);

/* The handler of `inbound` returned. */
void sni_inbound_returned(sni_inbound *inbound, sennit_str address);

/* ---- send.c ----------------------------------------------------------- */

/* A REQ, SEND or PUB record that came on `conn` in `frame`. */
void sni_bus_accept(sni_conn *conn, const sni_record *record, const sennit_msg *frame);

/* Encodes the options' headers into bus->headers. Errors: EINVAL, EMSGSIZE, ENOMEM. */
sennit_err sni_bus_headers(sennit_bus *bus, const sennit_call_opts *opts,
                           sennit_bytes *out);

/* ---- conn.c ----------------------------------------------------------- */

/* Errors: ENOMEM. */
sennit_err sni_conn_new(sennit_bus *bus, sni_linked *linked, uint32_t number,
                        sni_conn **out);

/* Frees it; nothing waits for it any more (see sni_peer_lost()). */
void sni_conn_free(sni_conn *conn);

/* Queues one record. `control`: may exceed the queue's bound (B2); a peer that lets
 * even those pile up is doomed.
 * Errors: EMSGSIZE (over frame_max), EAGAIN (queue full), ENOMEM, ECONNRESET (the
 *         connection is doomed). */
sennit_err sni_conn_write(sni_conn *conn, const sni_record *record, bool control);
sennit_err sni_conn_write_raw(sni_conn *conn, sennit_bytes encoded);

/* Hands what is queued to the socket, as far as it takes it. */
void sni_conn_flush(sni_conn *conn);

/* Forgets what is queued and begins to count frames anew. */
void sni_conn_reset_out(sni_conn *conn);

size_t sni_conn_queued_bytes(const sni_conn *conn);

/* Has the pump drop the connection. `reason` is static text. */
void sni_conn_doom(sni_conn *conn, const char *reason);

/* ---- peer.c ----------------------------------------------------------- */

/* Begins a conversation: HELLO and a PING behind it. Errors: as sni_conn_write(). */
sennit_err sni_peer_greet(sni_conn *conn);

/* One frame that came on `conn`. May doom it. */
void sni_peer_frame(sni_conn *conn, const sennit_msg *frame);

/* Everything that waits for `conn` fails (`kind` for what was sent), its node is
 * forgotten, it is freed. Calls back PEER_DOWN. */
void sni_peer_lost(sni_conn *conn, sennit_kind kind, const char *reason);

/* Tells every node that we consume `key` once more (`added`) or once less. */
void sni_peers_announce(sennit_bus *bus, sennit_str key, bool added);

/* Forgets what the peer consumes; it is in no route any more. */
void sni_peer_forget_announced(sni_conn *conn);

/* What the peer broke, told to it and to the application; dooms the connection. */
void sni_peer_protocol(sni_conn *conn, const char *reason);

/* ---- link.c ----------------------------------------------------------- */

/* Opens links that are due and frees removed ones. Tells when to come again. */
sennit_time sni_links_tend(sennit_bus *bus, sennit_time now);

/* The connection of a link is gone: its socket goes too, a new one comes later. */
void sni_link_lost(sni_linked *linked);

/* Whether WRITABLE is to be waited for has changed. */
void sni_link_watch(sni_linked *linked);

void sni_links_close(sennit_bus *bus);

/* Reads past the frames that belong to the same message as `frame`. */
void sni_swallow_rest(sennit_sock *sock, sennit_msg *frame);

/* ---- listen.c --------------------------------------------------------- */

/* Gives one event to the SUB guests. */
void sni_events_publish(sennit_bus *bus, sennit_str address, sennit_bytes frame);

/* Hands one frame for an accepted connection to the router. Errors: as
 * sennit_sock_send(). */
sennit_err sni_router_send(sni_conn *conn, sennit_msg *frame);

/* Forgets an accepted connection's number. */
void sni_router_forget(sni_conn *conn);

void sni_listeners_close(sennit_bus *bus);

#endif /* SENNIT_RPC_BUS_H */
