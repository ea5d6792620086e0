/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_TEST_LEDGER_H
#define SENNIT_TEST_LEDGER_H

#include "kinds.h"

/* The model: an account for each socket, an entry for each message, a copy for each
 * receiver it goes to. Who breaks a law is told by wrong(), at the moment it happens or
 * when the books are balanced.
 *
 * A message's way over a stream has three stations, and the ledger hears of each:
 *   written   a tap saw its last octet enter the network
 *   taken     a tap saw its last octet leave it, towards the receiver
 *   received  the application got it
 * Over inproc it only hears of the last. */
typedef struct ledger ledger;

/* In front of every frame's body (but a message's last frame may be empty). */
typedef struct body_head {
    char topic[4]; /* what a publication is matched by */
    uint32_t magic;
    uint32_t sender; /* account */
    uint32_t number; /* of the message, 1 .. */
    uint16_t part;
    uint16_t parts; /* including an empty last one */
    uint32_t size;
    uint32_t to_sender; /* REP: the request it answers */
    uint32_t to_number;
    uint32_t last_is_empty;
} body_head;

#define BODY_MAGIC 0x5e441755u

/* Fills a frame's body beyond its head, and checks one. */
#define BODY_MAX 70000u
void body_fill(uint8_t *body, const body_head *head);
bool body_holds(const uint8_t *body, size_t size, body_head *head);

/* Prefixes that are subscribed to, and their bits. */
#define PREFIXES 7u
extern const char *const prefixes[PREFIXES];
unsigned prefixes_of(const char topic[4]); /* bits of those that match it */

/* `exact`: taps see every octet, and every connection by its number. Else they see what
 * passed a tap on the way: at least what was received, at most what was written. */
ledger *ledger_new(bool exact);
void ledger_free(ledger *books);

/* A new account, 1 .., and the socket it is of. */
uint32_t ledger_open(ledger *books, const kind *k);
void ledger_name(ledger *books, uint32_t account, const sennit_sock *sock);

/* It is closed (or dead); `left` are the copies that still waited in it. What others
 * sent it may be lost in it from now on: all of it, or when it had read everything
 * (`drained`) only what came after. */
void ledger_close(ledger *books, uint32_t account, uint64_t left, bool drained);

/* It has, or has had, a peer that no tap sees. */
void ledger_went_inproc(ledger *books, uint32_t account);

/* What it subscribes to now. */
void ledger_subscribes(ledger *books, uint32_t account, unsigned bits);

/* One of its connections is gone (`refused`: in the handshake), says its monitor; or the
 * monitor lost events, so that a publisher's peers are not known exactly any more. */
void ledger_peer_gone(ledger *books, uint32_t account, uint32_t peer, bool refused);
void ledger_blind(ledger *books, uint32_t account);

/* It takes no more messages: what it came through was unbound or disconnected. */
void ledger_peer_leaves(ledger *books, uint32_t account, uint32_t peer);

/* A message is about to be sent, to the account it is addressed to, or to whom it may
 * concern (0); returns its number. Then it was accepted or refused. */
uint32_t ledger_compose(ledger *books, uint32_t account, uint32_t addressee,
                        const char topic[4]);
void ledger_accepted(ledger *books, uint32_t account, bool accepted);

/* The application received it whole, through connection `peer`. */
void ledger_received(ledger *books, uint32_t account, uint32_t peer,
                     const body_head *head);

/* Octets passed a connection: out of `account`'s end of it, or into it. */
typedef struct ledger_octets {
    uint32_t connection; /* 1 .. */
    unsigned side;       /* 0: that which connected */
    uint32_t account;
    uint32_t peer; /* what the connection is in that account; 0: not known */
    bool outward;
    const uint8_t *data;
    size_t size;
    bool begins; /* they are the first ones of an operation */
} ledger_octets;
void ledger_passed(ledger *books, const ledger_octets *octets);

/* Nothing passes it any more. */
void ledger_connection_over(ledger *books, uint32_t connection);

/* The account a socket belongs to, the newest if several had its address. */
uint32_t ledger_account(const ledger *books, const sennit_sock *sock);

/* Who sent it, for checks of the story. */
const kind *ledger_kind(const ledger *books, uint32_t account);

/* Messages that are somewhere between written and received at open accounts. */
uint64_t ledger_under_way(const ledger *books);

/* Copies an open account still waits for of that message: how many it received. */
unsigned ledger_times_received(const ledger *books, uint32_t sender, uint32_t number,
                               uint32_t receiver);

/* The counters of one socket hold at any time between its messages. */
void ledger_check_law(const ledger *books, uint32_t account,
                      const sennit_sock_stats *stats);

/* Everything is quiet: the counters and the entries agree. */
void ledger_balance(const ledger *books, uint32_t account,
                    const sennit_sock_stats *stats);
void ledger_balance_closed(const ledger *books);

/* Totals, to see that a story was worth telling. */
typedef struct ledger_totals {
    uint64_t messages;
    uint64_t received;
    uint64_t exact_publications; /* whose receivers were known exactly */
} ledger_totals;
ledger_totals ledger_sum(const ledger *books);

#endif /* SENNIT_TEST_LEDGER_H */
