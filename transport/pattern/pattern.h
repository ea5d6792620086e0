/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_PATTERN_PATTERN_H
#define SENNIT_PATTERN_PATTERN_H

#include "base/list.h"
#include "base/msg.h"
#include "base/trie.h"
#include "pattern/name.h"
#include "pattern/notices.h"

/* Routing policy of a socket type: which peer next, which envelope, whom to drop
 * (RFC 28 request-reply, 29 publish-subscribe, 30 pipeline, 31 pair). A policy
 * knows peers only as what is in sni_peer, and reaches them only through its
 * port, so it is tested with fake ones. */
typedef struct sni_pattern sni_pattern;
typedef struct sni_peer sni_peer;

/* What a policy knows of a pipe; embedded in it. */
struct sni_peer {
    sni_link all; /* of the pattern's peers */
    sni_link in;  /* in the fair queue while it has unread messages */
    sni_link out; /* in the load balancer while it may be written */
    sni_pattern *pattern;
    size_t unread;   /* whole messages to pull, also those of a connection that is gone;
                        the pipe keeps it right, before it says `disconnected` too */
    bool writable;   /* below its high-water mark; the pipe keeps it right */
    bool connected;  /* handshake done; may be false while messages queue already */
    bool accepted;   /* it came to us; the pipe keeps it right */
    bool leaving;    /* takes no more messages, for good */
    bool paused;     /* XPUB: has as many unread messages here as it may; nothing more is
                        received from it */
    bool slow;       /* missed something since its queue was last empty; the pipe keeps it
                        right */
    bool forgot;     /* REQ: replies to requests that were given up may still come */
    size_t stale;    /* REQ: unread messages that came before the request */
    uint64_t stamp;  /* last publication it was matched for */
    uint32_t topics; /* PUB, XPUB: it subscribed to */
    uint32_t notices;    /* XPUB: unread subscriptions and messages of it ... */
    size_t notice_bytes; /* ... and their bodies */
    uint32_t number;     /* of the current connection */
    bool assigned;       /* identity: by sennit_sock_connect_as(), before attach */
    bool made_up;        /* identity: by us, for a peer that has none */
    sennit_msg identity; /* ROUTER, STREAM: what it is known by */
    sni_name *name;      /* ROUTER, STREAM, DEALER: its connection */
    sni_link names;      /* those that are gone, but have unread messages; oldest first */
    size_t named;        /* unread messages of these */
    sni_subscriber
        *subscriber; /* PUB, XPUB: its connection; NULL until it says anything */
};

/* What the pipes let a policy do. */
typedef struct sni_port {
    /* Queues one frame. Takes: `msg` on success. May clear peer->writable.
     * Errors: ENOMEM; the same frame may then be pushed again. */
    sennit_err (*push)(sni_peer *peer, sni_msg *msg, bool more);

    /* Queues one frame for several peers. Takes: `msg`. Peers for which there is no
     * memory miss the whole message; the pipes count it. Returns how many do not: they
     * come first in `peers` then, and get the next frame. */
    size_t (*fan)(sni_pattern *pattern, sni_peer **peers, size_t count, sni_msg *msg,
                  bool more);

    /* Takes the next frame of a whole message into the EMPTY `msg`.
     * Errors: EAGAIN, ENOMEM. */
    sennit_err (*pull)(sni_peer *peer, sni_msg *msg);

    /* Tells the peer, a publisher, that we (un)subscribe. Errors: ENOMEM. */
    sennit_err (*subscribe)(sni_peer *peer, bool on, sennit_bytes topic);

    /* A first message of a new connection, of one frame: it goes out before all that is
     * queued, several in the order given. Only from the pattern's `connected`.
     * Errors: ENOMEM. */
    sennit_err (*greet)(sni_peer *peer, sennit_bytes body);

    /* Makes room for a publication in the queue of a peer that is not writable, by
     * opts->slow_subscriber (DROP_OLD, CONFLATE), and counts what it dropped. `first` is
     * the publication's first frame. False: nothing there may be dropped, or not enough
     * for it to be writable. */
    bool (*make_room)(sni_peer *peer, const sni_msg *first);

    /* One message for this peer was dropped because its queue is full: counts it, for
     * the socket and for the peer, and tells the monitor when it is the first. */
    void (*missed)(sni_peer *peer);

    /* Ends the peer's connection, at the end of the turn. `flush`: what is queued leaves
     * first. */
    void (*disconnect)(sni_peer *peer, bool flush, sennit_err err, const char *reason);

    /* The peer is not paused any more: receive from it again. */
    void (*resume)(sni_peer *peer);

    /* There is a notice to receive, which no peer's unread tells. */
    void (*noticed)(sni_pattern *pattern);

    /* For the monitor: SUBSCRIBED, UNSUBSCRIBED. */
    void (*event)(sni_peer *peer, sennit_event_kind kind, sennit_bytes topic);

    /* Unpredictable bits. */
    uint64_t (*random)(sni_pattern *pattern);
} sni_port;

typedef struct sni_pattern_ops {
    bool sends;
    bool waits; /* a send waits for room, and drops nothing */
    bool receives;

    /* A peer that may be written from now on. Errors: EEXIST (no room for another). */
    sennit_err (*attach)(sni_pattern *pattern, sni_peer *peer);
    void (*detach)(sni_pattern *pattern, sni_peer *peer);

    /* Its connection is through the handshake, or gone. `identity` is what it sent.
     * Errors: EEXIST (the identity is taken), ENOMEM. */
    sennit_err (*connected)(sni_pattern *pattern, sni_peer *peer, sennit_bytes identity);
    void (*disconnected)(sni_pattern *pattern, sni_peer *peer, bool queue_empty);

    /* A publisher heard SUBSCRIBE or CANCEL. What a peer may not ask for ends its
     * connection. Errors: ENOMEM. */
    sennit_err (*subscription)(sni_pattern *pattern, sni_peer *peer, bool on,
                               sennit_bytes topic);

    /* Set for publishers, whose subscriptions count without the application: takes one
     * frame of a message, at once and in order with subscriptions, instead of having it
     * wait to be pulled. The frame may be a subscription, of 01 or 00 and the topic.
     * Takes: `msg` on success. Errors: ENOMEM. */
    sennit_err (*take)(sni_pattern *pattern, sni_peer *peer, sni_msg *msg);

    sennit_err (*send)(sni_pattern *pattern, sni_msg *msg, bool more);

    /* Finds the next frame for the application. Errors: as sni_pattern_recv. */
    sennit_err (*fetch)(sni_pattern *pattern, sni_msg *msg);

    /* That frame was handed out. */
    void (*took)(sni_pattern *pattern, bool more);

    /* Whether a first frame could be sent now. */
    bool (*can_send)(sni_pattern *pattern);

    /* The application (un)subscribes: sennit_sock_subscribe(). */
    sennit_err (*subscribe)(sni_pattern *pattern, bool on, sennit_bytes prefix);

    /* The last frame of a message that goes nowhere was taken. */
    void (*swallowed)(sni_pattern *pattern);
} sni_pattern_ops;

struct sni_pattern {
    const sni_pattern_ops *ops;
    const sni_port *port;
    const sennit_allocator *alloc;
    sennit_sock_stats *stats; /* the drops are counted here */
    sennit_sock_type type;
    const sennit_sock_opts *opts; /* the socket's; may change between calls */

    sni_link peers;
    sni_link readable; /* fair queue */
    sni_link writable; /* load balancer */
    sni_peer *reading; /* in the middle of a message of this peer */
    sni_peer *writing; /* in the middle of a message to this peer */
    bool sending;      /* in the middle of a message, to whomever */
    bool swallow;      /* the rest of the message being sent goes nowhere */
    bool silent;       /* nothing of the message being sent, or sent last, is for a peer:
                          an XSUB's subscriptions, a STREAM's message without an octet */
    bool skipping;     /* the rest of the message being read is to be thrown away */
    unsigned fetching; /* frames this look at the input may still throw away; 0: it
                          stopped there */

    sni_msg held; /* fetched to know that something is readable */
    bool has_held;

    /* ROUTER, STREAM, DEALER */
    sni_trie identities;
    uint32_t next_identity;
    bool begun;   /* ROUTER, STREAM: of the message being sent there was more than the
                     identity */
    sni_link due; /* names with something to tell */
    sni_msg
        body; /* first frame of the message whose identity was handed out; XSUB: last
                 frame sent upstream, while it is not known whether it ends its message */
    bool has_body;

    /* REQ, REP */
    bool replying;     /* REQ: awaits a reply. REP: owes one */
    bool lost;         /* REQ: the request's connection is gone */
    bool correlated;   /* REQ: the request carries `request` */
    bool numbered;     /* REQ: that number was read of the message being read */
    uint32_t request;  /* REQ: number of the newest one */
    sni_peer *partner; /* REQ: who got the request. REP: who asked */
    sni_msg *envelope; /* frames before the body. REQ: of the request. REP: of both */
    size_t envelope_count;
    size_t envelope_capacity;
    size_t envelope_sent;

    /* PUB, XPUB: topic -> subscribers. SUB, XSUB: prefix -> how often */
    sni_trie topics;
    sni_peer **matched; /* peers that take the message being sent */
    size_t matched_count;
    size_t matched_capacity;
    uint64_t stamp;
    size_t missing; /* in `matched`, for want of memory */
    bool upstream;  /* XSUB: `matched` takes the message being sent */

    /* XPUB */
    sni_trie asked;       /* manual: topic -> subscribers that asked for it */
    sni_trie given;       /* ... and to whom the application gave it */
    sni_notices notices;  /* unread: what subscribers said */
    sni_notice fetched;   /* the last one handed out, without its message */
    sni_link gone;        /* subscribers whose connection is gone, but not forgotten */
    size_t left;          /* what their unread messages cost */
    size_t owing;         /* of these, who could not be told all of, for want of memory */
    sni_subscriber *last; /* manual: whose notice was received last */
    bool only_last;       /* the next message goes to that one only */
};

/* `stats`, `port` and `opts` are borrowed. */
void sni_pattern_init(sni_pattern *pattern, sennit_sock_type type, const sni_port *port,
                      const sennit_allocator *alloc, sennit_sock_stats *stats,
                      const sennit_sock_opts *opts);

/* All peers are detached before. */
void sni_pattern_fini(sni_pattern *pattern);

/* Prepares storage; the peer belongs to nobody yet. */
void sni_peer_init(sni_peer *peer);

sennit_err sni_pattern_attach(sni_pattern *pattern, sni_peer *peer);
void sni_pattern_detach(sni_pattern *pattern, sni_peer *peer);

/* The peer takes no more messages, for good; what it sent can still be pulled. */
void sni_pattern_retire(sni_peer *peer);

sennit_err sni_pattern_connected(sni_pattern *pattern, sni_peer *peer,
                                 sennit_bytes identity);
void sni_pattern_disconnected(sni_pattern *pattern, sni_peer *peer, bool queue_empty);
sennit_err sni_pattern_subscription(sni_pattern *pattern, sni_peer *peer, bool on,
                                    sennit_bytes topic);

/* The pipe says that peer->unread became positive, or that peer->writable did. */
void sni_pattern_readable(sni_peer *peer);
void sni_pattern_writable(sni_peer *peer);

/* One frame. Errors: as sennit_sock_send and _recv, without waiting. After EAGAIN of
 * recv see sni_pattern_pending(). */
sennit_err sni_pattern_send(sni_pattern *pattern, sni_msg *msg, bool more);
sennit_err sni_pattern_recv(sni_pattern *pattern, sni_msg *msg);

/* SENNIT_READABLE and SENNIT_WRITABLE. What is not READABLE may be so without another
 * word from a peer, see sni_pattern_pending(). */
unsigned sni_pattern_ready(sni_pattern *pattern);

/* Whether the last recv or ready found nothing because it stopped at its bound
 * (SNI_FETCH_FRAMES_MAX). No pipe will tell again of the input that is left, so the
 * caller comes back by itself, after a turn for others. */
bool sni_pattern_pending(const sni_pattern *pattern);

/* Errors: as sennit_sock_subscribe. */
sennit_err sni_pattern_subscribe(sni_pattern *pattern, bool on, sennit_bytes prefix);

/* ---- for the policies -------------------------------------------------- */

extern const sni_pattern_ops sni_pattern_pair;
extern const sni_pattern_ops sni_pattern_pub;
extern const sni_pattern_ops sni_pattern_sub;
extern const sni_pattern_ops sni_pattern_req;
extern const sni_pattern_ops sni_pattern_rep;
extern const sni_pattern_ops sni_pattern_dealer;
extern const sni_pattern_ops sni_pattern_router;
extern const sni_pattern_ops sni_pattern_pull;
extern const sni_pattern_ops sni_pattern_push;
extern const sni_pattern_ops sni_pattern_xpub;
extern const sni_pattern_ops sni_pattern_xsub;
extern const sni_pattern_ops sni_pattern_stream;

/* Makes `msg`, which holds nothing, a frame of `size` bytes, or a copy of `body`, in
 * memory of the loop. Errors: ENOMEM. */
sennit_err sni_pattern_message(const sni_pattern *pattern, sni_msg *msg, size_t size);
sennit_err sni_pattern_copy(const sni_pattern *pattern, sni_msg *msg, sennit_bytes body);

/* What a new connection begins with, by opts->hello and then ->probe_router.
 * Errors: ENOMEM. */
sennit_err sni_pattern_greet(sni_peer *peer);

/* balance.c: who gets the next message. */

/* Pushes to the peer being written, else to the next writable one in turn; a
 * whole message goes to one peer. Errors: EAGAIN, ENOMEM. */
sennit_err sni_balance_push(sni_pattern *pattern, sni_msg *msg, bool more);

/* Who would get the next message, or NULL. */
sni_peer *sni_balance_next(sni_pattern *pattern);

/* Whether there is one: can_send of those who balance. */
bool sni_balance_can_send(sni_pattern *pattern);

/* Takes the rest of a message that goes nowhere. */
void sni_swallow(sni_pattern *pattern, sni_msg *msg, bool more);

/* The connection of a peer that was named is gone. If nothing of the message to it is
 * queued, all of it is dropped: who is there next, at the same endpoint, was not meant.
 */
void sni_unaddress(sni_pattern *pattern, const sni_peer *peer);

/* fair.c: whose message is next. */

/* Whose turn it is: who sent what the next pull gives, or NULL. */
sni_peer *sni_fair_next(sni_pattern *pattern);

/* Pulls the next frame, message by message from each peer in turn; `*from` is who
 * sent it. Errors: EAGAIN, ENOMEM. */
sennit_err sni_fair_pull(sni_pattern *pattern, sni_msg *msg, sni_peer **from);

/* The same for those who do not care: fetch of those who add and remove nothing. */
sennit_err sni_fair_fetch(sni_pattern *pattern, sni_msg *msg);

/* Throws away the rest of the message being read. Errors: ENOMEM, EAGAIN (the bound
 * of this fetch); what is left is thrown away before the next fetch. */
sennit_err sni_fair_skip(sni_pattern *pattern);

/* Throws away `msg`, which was just pulled, and the rest of its message. Errors: as
 * skip. */
sennit_err sni_fair_drop(sni_pattern *pattern, sni_msg *msg);

/* One more frame was not for the application. Errors: EAGAIN (the bound of this
 * fetch). */
sennit_err sni_fetch_spend(sni_pattern *pattern);

/* envelope.c: the frames in front of a body (REQ, REP). */
void sni_envelope_forget(sni_pattern *pattern);

/* Room for one frame more: the next add does not fail. Errors: ENOMEM. */
sennit_err sni_envelope_reserve(sni_pattern *pattern);

/* Takes: `msg` on success. Errors: ENOMEM. */
sennit_err sni_envelope_add(sni_pattern *pattern, sni_msg *msg);

/* Whether its last frame is the empty one that ends it. */
bool sni_envelope_whole(const sni_pattern *pattern);

/* Pushes what of it is not sent yet; each goes once, however often this is tried.
 * Errors: ENOMEM. */
sennit_err sni_envelope_push(sni_pattern *pattern, sni_peer *peer);

/* fanout.c: one message for many. */

/* Nobody is chosen for the next message. */
void sni_fanout_begin(sni_pattern *pattern);

/* Chooses a peer, once. */
void sni_fanout_choose(sni_pattern *pattern, sni_peer *peer);

/* Leaves out those without room, by opts->slow_subscriber; `first` is the message's first
 * frame. Errors: EAGAIN, ENOMEM: with SENNIT_SLOW_BLOCK, and nobody is to get it. */
sennit_err sni_fanout_settle(sni_pattern *pattern, const sni_msg *first);

/* Sends a frame to those chosen. Takes: `msg`. */
void sni_fanout_send(sni_pattern *pattern, sni_msg *msg, bool more);

/* The peer goes, perhaps in the middle of a message. */
void sni_fanout_leave(sni_pattern *pattern, const sni_peer *peer);

/* subscriber.c: what subscribers want, for those who publish: the `subscription` and
 * `take` of both, and what is left when one goes. */
sennit_err sni_subscriber_hear(sni_pattern *pattern, sni_peer *peer, bool on,
                               sennit_bytes topic);
sennit_err sni_subscriber_take(sni_pattern *pattern, sni_peer *peer, sni_msg *msg);
void sni_subscriber_part(sni_pattern *pattern, sni_peer *peer);

/* What they said, for the application (XPUB): `fetch`, `took` and `subscribe`. */
sennit_err sni_subscriber_fetch(sni_pattern *pattern, sni_msg *msg);
void sni_subscriber_took(sni_pattern *pattern, bool more);
sennit_err sni_subscriber_give(sni_pattern *pattern, bool on, sennit_bytes topic);

/* Frees the state of all of them; every peer is detached. */
void sni_subscriber_fini(sni_pattern *pattern);

/* Whether a frame means a subscription (RFC 29): 01 or 00 and the topic. */
bool sni_subscription_read(sennit_bytes frame, bool *on, sennit_bytes *topic);

#endif /* SENNIT_PATTERN_PATTERN_H */
