/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_PATTERN_NOTICES_H
#define SENNIT_PATTERN_NOTICES_H

#include "base/list.h"
#include "base/msgq.h"
#include "base/trie.h"

/* One connection of a subscriber. It outlives the connection while the application has
 * not read all of it, or could not be told all of it. */
typedef struct sni_subscriber {
    struct sni_peer *peer; /* NULL: the connection is gone */
    sni_link gone;         /* in the pattern's, then */
    uint32_t number;
    bool in_message;      /* more frames of the one in `open` follow */
    bool owes;            /* gone, and not all of its topics could be told */
    sni_trie_keys topics; /* what it gets */
    sni_trie_keys asked;  /* XPUB, manual: what it asked for */
    sni_trie_keys given;  /* ... and what the application gave it, which it gets too */
    sni_msgq open;        /* frames of a message that is not whole yet */
    size_t topic_bytes;   /* of `topics` */
    size_t asked_bytes;   /* of `asked` */
    size_t notices;       /* unread subscriptions */
    size_t notice_bytes;  /* ... and theirs */
    size_t messages;      /* unread messages */
    size_t frames;        /* ... theirs */
    size_t bytes;         /* ... and the bodies of these */
} sni_subscriber;

/* What an XPUB receives: one frame, from whom, and whether it is one of a message of his
 * or says that a subscription began or ended. */
typedef enum sni_notice_kind {
    SNI_NOTICE_MESSAGE,
    SNI_NOTICE_SUBSCRIBED,
    SNI_NOTICE_UNSUBSCRIBED,
} sni_notice_kind;

/* `own` and `whole` say what ends what, which verbosity decides: a beginning and an end
 * belong together when both are equal in these. */
typedef struct sni_notice {
    sni_msg msg;
    sni_subscriber *from;
    struct sni_notice *before; /* while cancelling: the beginning before this one */
    sni_notice_kind kind;
    uint32_t times; /* it is received so often */
    bool own;       /* it is about the topic of this subscriber, and not of all */
    bool whole;     /* the end is told once for all beginnings, not for each of them */
    bool first;     /* a beginning: before it there was none, or all had ended */
} sni_notice;

/* First in, first out, in a ring that doubles. */
typedef struct sni_notices {
    const sennit_allocator *alloc;
    sni_notice *ring;
    size_t capacity; /* 0 or a power of two */
    size_t first;
    size_t count;
    bool inside; /* the oldest is the rest of a message whose beginning was taken */
} sni_notices;

void sni_notices_init(sni_notices *notices, const sennit_allocator *alloc);
void sni_notices_fini(sni_notices *notices);

/* Room for `count` more, whose push cannot fail then. Errors: ENOMEM. */
sennit_err sni_notices_reserve(sni_notices *notices, size_t count);

/* Appends one, for which there is room. Takes: its message. */
void sni_notices_push(sni_notices *notices, sni_notice *notice);

/* Takes out what comes to nothing: a subscription that began and ended unread, and of one
 * topic of all the beginnings of subscribers that are gone, when there is another to tell
 * of it. Tells `dropped` of each before it is gone. Without memory it takes out less. */
void sni_notices_cancel(sni_notices *notices,
                        void (*dropped)(const sni_notice *notice, void *arg), void *arg);

/* What an unread frame costs. */
static inline size_t
sni_notice_cost(size_t frames, size_t bytes)
{
    return frames * sizeof(sni_notice) + bytes;
}

/* Takes out the oldest messages of subscribers that are gone, until they were worth
 * `cost` or there is none. Tells `dropped` of each frame before it is gone. */
void sni_notices_shed(sni_notices *notices, size_t cost,
                      void (*dropped)(const sni_notice *notice, void *arg), void *arg);

/* Takes the oldest, or one of the times it is to be received: `out->times` is what was
 * left with this one. False: there is none. */
bool sni_notices_pop(sni_notices *notices, sni_notice *out);

#endif /* SENNIT_PATTERN_NOTICES_H */
