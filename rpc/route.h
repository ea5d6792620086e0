/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_RPC_ROUTE_H
#define SENNIT_RPC_ROUTE_H

#include "sennit/pack.h"

/* Who consumes which address: the one table that every message asks. It knows two
 * sorts of targets, consumers of this bus and connections to other nodes, and
 * nothing about either. A node with three consumers of an address is three entries,
 * so that the turn goes round consumers, not nodes (D4).
 *
 * Keys have the forms of rpc/address.h. Targets are compared by pointer. */

typedef struct sni_targets {
    void **all;
    size_t count;
    size_t capacity;
} sni_targets;

/* Law: next < locals.count + remotes.count, or 0; next_local alike. */
typedef struct sni_route {
    sni_targets locals;
    sni_targets remotes;
    size_t next;       /* whose turn it is among all: locals first, then remotes */
    size_t next_local; /* whose turn it is when a peer has chosen this node */
    uint64_t start;    /* a random number: where the first turn begins */
    bool started;
    size_t index;         /* among all routes */
    size_t pattern_index; /* among those that are patterns */
    size_t size;
    char address[]; /* the key */
} sni_route;

typedef struct sni_routes sni_routes;

sennit_err sni_routes_new(sni_routes **out, const sennit_allocator *alloc);
void sni_routes_free(sni_routes *routes);

/* Adds one entry. `start` is a random number: where the turn of a new route begins,
 * so that a thousand clients do not all begin at the same server. Errors: ENOMEM. */
sennit_err sni_routes_add(sni_routes *routes, sennit_str key, bool local, void *target,
                          uint64_t start);

/* Removes one entry of `target`. Nobody's turn comes twice or is left out by it.
 * Returns false when there was none. */
bool sni_routes_remove(sni_routes *routes, sennit_str key, bool local, void *target);

/* The route with exactly this key, or NULL. */
sni_route *sni_routes_find(const sni_routes *routes, sennit_str key);

/* The route that takes sends and requests for `address`: its own, or its service's.
 * `*method` is then the method's name, else empty. NULL when there is none. */
sni_route *sni_routes_resolve(const sni_routes *routes, sennit_str address,
                              sennit_str *method);

/* Calls `fn` with every target that hears an event of `address`, by its address or
 * by a pattern; a target with several entries comes several times. */
void sni_routes_hear(const sni_routes *routes, sennit_str address,
                     void (*fn)(void *target, bool local, void *arg), void *arg);

/* Whose turn it is: takes the next entry of all, or of the locals. `*local` says
 * which sort it is. NULL when there is none. */
void *sni_route_take(sni_route *route, bool *local);
void *sni_route_take_local(sni_route *route);

#endif /* SENNIT_RPC_ROUTE_H */
