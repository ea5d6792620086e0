/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_TEST_CAST_H
#define SENNIT_TEST_CAST_H

#include "stage.h"
#include "story.h"

/* Who plays in a story, and what of it the model has to know all the time. */
#define MS       UINT64_C(1000000)
#define HOLD_MAX (400 * MS) /* the longest that the network holds its breath */
#define ACTORS   10u
#define PAIRS    3u

/* Connections of one socket whose ways are remembered. */
#define PEERS_NOTED 64u

/* At most one is opened in a step. */
#define ACCOUNTS_MAX (STORY_STEPS_MAX + 1)

typedef struct actor {
    const kind *kind; /* NULL: nobody */
    sennit_sock *sock;
    uint32_t account;
    size_t node;
    char identity[16]; /* "": none of its own */
    bool binds[STAGE_SLOTS_MAX];
    bool dials[STAGE_SLOTS_MAX];
    unsigned subscribed[PREFIXES]; /* how often */
    bool awaits;                   /* REQ: a reply; REP: nothing */
    bool owes;                     /* REP: a reply, to ... */
    uint32_t to_sender;
    uint32_t to_number;
    uint32_t asked;    /* REQ: number of the request */
    uint8_t from[255]; /* ROUTER: who sent last */
    size_t from_size;
    uint32_t from_account;
    bool inproc;
    bool ends_slow;              /* SENNIT_SLOW_DISCONNECT */
    bool ages;                   /* send_age_max_ms, which inproc does not have */
    uint32_t peers[PEERS_NOTED]; /* newest connections, and how they came: slot + 1 */
    size_t peers_via[PEERS_NOTED];
    size_t peers_count;
    char via[STAGE_SLOTS_MAX][128]; /* endpoints it is bound or connected to */
} actor;

typedef struct slot {
    const kind_pair *pair;
    stage_transport transport;
    size_t node; /* inproc */
    actor *binder;
    char endpoint[128]; /* where it is bound */
} slot;

typedef struct story {
    const story_opts *opts;
    ledger *books;
    stage *stage;
    size_t nodes;
    size_t slots_count;
    const kind_pair *pairs[PAIRS];
    slot slots[STAGE_SLOTS_MAX];
    actor actors[ACTORS];
    char names[ACCOUNTS_MAX][16]; /* identities, by account */
    uint64_t received;            /* by anybody */
    unsigned step;
} story;

/* A line of the trace, if there is one. */
void cast_tell(const story *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

const char *cast_type(const actor *a);
sennit_sock_stats cast_stats(const actor *a);

/* Its counters hold; not in the middle of a message. */
void cast_check_law(const story *s, const actor *a);

/* Tells the model what the monitors say. */
void cast_read_events(story *s);

/* Lets everybody go on for `ns`, and reads what the monitors say meanwhile. */
void cast_pass_time(story *s, uint64_t ns);

/* Its connections of one slot take no more messages: it unbinds or disconnects. */
void cast_peers_leave(story *s, actor *a, size_t at);

#endif /* SENNIT_TEST_CAST_H */
