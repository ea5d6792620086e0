/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_TEST_FAKE_H
#define SENNIT_TEST_FAKE_H

#include "sennit_test.h"

#include "fail_alloc.h"
#include "pattern/pattern.h"

/* A policy over peers that are only text: what they are sent is written down, what
 * they "sent" is scripted. Messages are written as frames joined by '|'; in what was
 * pushed each whole message ends with ';', so "a|b;c;" is two messages and "a|" the
 * beginning of one. A '+' in front of a frame is an octet 01, a '-' an octet 00; what
 * else cannot be printed is written in hexadecimal, as in "\\0a". */
#define FAKE_PEERS_MAX  8
#define FAKE_FRAMES_MAX 256

typedef struct fake_frame {
    char text[200];
    bool more;
} fake_frame;

typedef struct fake_peer {
    sni_peer peer; /* first */
    fake_frame in[FAKE_FRAMES_MAX];
    size_t in_first;
    size_t in_count;
    size_t hwm; /* whole messages until it is not writable; 0: no limit */
    size_t queued;
    size_t droppable; /* so many messages can make room */
    char out[8192];
    char greeted[64]; /* what a new connection begins with: "a;b;" */
    char told[512];   /* subscriptions: "+a-b" */
    unsigned missed;
    unsigned resumed;
    const char *ended; /* why its connection was ended, or NULL */
    bool flushed;      /* ... after what was queued had left */
    sennit_err ended_err;
} fake_peer;

typedef struct fake {
    sni_pattern pattern;
    sennit_sock_stats stats;
    sennit_sock_opts opts;
    test_alloc alloc;
    fake_peer peers[FAKE_PEERS_MAX];
    uint64_t random;         /* what the port's random gives */
    unsigned pushes_failing; /* the next so many pushes find no memory */
    unsigned pushes_before;  /* ... after so many that do */
    unsigned pulls_failing;  /* the same for pulls */
    unsigned pulls_before;
    unsigned tells_failing; /* and for subscribe */
    unsigned tells_before;
    unsigned noticed;
    char events[1024]; /* of topics: "0+a" peer 0 subscribed to a, "1-b" */
    uint64_t fail_at;  /* this allocation of what is opened next fails; 0: none */
    bool patient;      /* calls that found no memory are made again */
    char received[4096];
} fake;

void fake_open(fake *f, sennit_sock_type type, bool mandatory);

/* Detaches every peer and checks that nothing is left live. */
void fake_close(fake *f);

/* Peer `i` is attached, and connected under `identity` ("": none). */
sni_peer *fake_join(fake *f, int i, const char *identity);
void fake_leave(fake *f, int i);

/* Its connection breaks, or is made again. */
void fake_lose(fake *f, int i);
void fake_return(fake *f, int i, const char *identity);

/* The peer "sent" whole messages: "a|b;c". */
void fake_offer(fake *f, int i, const char *messages);

/* The same to a publisher, which takes what it is sent at once. */
void fake_say(fake *f, int i, const char *messages);

/* The peer sent SUBSCRIBE or CANCEL. */
void fake_hear(fake *f, int i, bool on, const char *topic);

/* The peer took `count` messages off its queue. */
void fake_drain(fake *f, int i, size_t count);

/* Sends one frame, or the frames of one message. */
sennit_err fake_send_frame(fake *f, const char *text, bool more);
void fake_send(fake *f, const char *message);

/* Receives one whole message as text, valid until the next call. "EAGAIN" and other
 * errors come back as their names. */
const char *fake_recv(fake *f);

/* Everything that can be received, message by message: "a|b;c;", valid until the next
 * call. */
const char *fake_recv_all(fake *f);

const char *fake_out(fake *f, int i);

/* Runs `scenario`, which opens and closes `f`, with the first, second, ... allocation
 * failing, until none did. Calls that find no memory are made again, so it always ends
 * the same. */
void fake_every_failure(fake *f, void (*scenario)(void));

#endif /* SENNIT_TEST_FAKE_H */
