/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_TEST_KINDS_H
#define SENNIT_TEST_KINDS_H

#include <stdbool.h>

#include "sennit/sennit.h"

/* What the model has to know of a socket type. A new type is a row in kinds.c, and a
 * row in `pairs` for each type it binds for. */
typedef struct kind {
    sennit_sock_type type;
    bool sends;
    bool receives;
    bool fans;    /* a copy for every peer that subscribed to it */
    bool noticed; /* receives what its peers subscribe to, and here nothing else */
    bool subscribes;
    bool filters;     /* throws away what it did not subscribe to */
    bool addresses;   /* the first frame names the peer */
    bool turns;       /* sends and receives in turn */
    bool delimits;    /* its peers may want an empty frame before the body */
    bool one_peer;    /* refuses a second one */
    bool may_discard; /* may count received messages as malformed or filtered */
} kind;

const kind *kind_of(sennit_sock_type type);

/* Who binds, and who connects to it. */
typedef struct kind_pair {
    sennit_sock_type binder;
    sennit_sock_type connecter;
} kind_pair;

extern const kind_pair kind_pairs[];
extern const unsigned kind_pairs_count;

#endif /* SENNIT_TEST_KINDS_H */
