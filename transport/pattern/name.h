/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_PATTERN_NAME_H
#define SENNIT_PATTERN_NAME_H

#include "base/list.h"
#include "base/msg.h"

/* A connection of a peer as the application knows it (ROUTER, STREAM; DEALER, which
 * knows no names but hears of losses). It outlives the connection: what came over it is
 * read under its name, however late, and what is to be told of its end is told behind
 * that. Made when the connection is, so that no ending needs memory. */
typedef struct sni_name {
    sni_link link;       /* in its peer's names, once the connection is gone */
    sni_link due;        /* in the pattern's, while it has something to tell */
    sennit_msg identity; /* empty: DEALER */
    size_t unread;       /* messages still to be read under it, once it is gone */
    uint32_t number;
    uint8_t tell;       /* SNI_TELL_ bits, lowest first */
    uint8_t tell_later; /* behind the unread ones */
    bool succeeded;     /* its identity is another connection's now */
    bool ended;         /* the connection is gone and has nothing unread */
} sni_name;

enum {                                  /* what is received of a name */
       SNI_TELL_CONNECTED = 1u << 0,    /* [identity, empty] */
       SNI_TELL_DISCONNECTED = 1u << 1, /* [identity, empty] */
       SNI_TELL_LOST = 1u << 2, /* [identity, opts->disconnected]; DEALER: opts->hiccup */
};

struct sni_pattern;
struct sni_peer;

/* Claims the name a peer has by sennit_sock_connect_as(), if any: `attach`.
 * Errors: EEXIST, ENOMEM. */
sennit_err sni_name_assign(struct sni_pattern *pattern, struct sni_peer *peer);

/* A connection is made, of a peer that calls itself `identity` (empty: it gets a name of
 * 5 octets, 00 and a counter). With `take`, a name in use is taken from its owner, whose
 * connection then ends, unless the name was given to the owner here: by us or by the
 * application. Errors: EEXIST, ENOMEM. */
sennit_err sni_name_open(struct sni_pattern *pattern, struct sni_peer *peer,
                         sennit_bytes identity, bool take);

/* The same for those who know no names. Errors: ENOMEM. */
sennit_err sni_name_open_unnamed(struct sni_pattern *pattern, struct sni_peer *peer);

/* What is told before anything that comes over it: SNI_TELL_ bits. */
void sni_name_announce(struct sni_pattern *pattern, struct sni_peer *peer, unsigned tell);

/* The connection is gone; `tell` is told when all that came over it has been read. */
void sni_name_close(struct sni_pattern *pattern, struct sni_peer *peer, unsigned tell);

/* Another connection took its identity: `tell` is told before anything of that one, even
 * if some of what came over this one is unread; to those who keep the living by identity
 * the newcomer would else be dead. */
void sni_name_succeed(struct sni_pattern *pattern, struct sni_peer *peer, unsigned tell);

/* A whole message of the peer was pulled. */
void sni_name_read(struct sni_peer *peer);

/* The peer goes for good, with what is unread. */
void sni_name_detach(struct sni_pattern *pattern, struct sni_peer *peer);

/* Who is addressed by `identity`, or NULL. */
struct sni_peer *sni_name_find(const struct sni_pattern *pattern, sennit_bytes identity);

/* `fetch` of those who know names: what is due, then [identity, message], in turn. */
sennit_err sni_name_fetch(struct sni_pattern *pattern, sni_msg *msg);

/* The next frame of what is due. Errors: EAGAIN (nothing), ENOMEM. */
sennit_err sni_name_tell(struct sni_pattern *pattern, sni_msg *msg);

/* Frees what is due and was not fetched. */
void sni_name_fini(struct sni_pattern *pattern);

#endif /* SENNIT_PATTERN_NAME_H */
