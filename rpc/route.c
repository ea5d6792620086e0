/* SPDX-License-Identifier: MIT */
/* Routes by key in a trie (no hashing, so no peer can provoke collisions), and the
 * patterns among them also in an array, which every event walks: its cost is the
 * number of different patterns in use, not of consumers. */
#include "rpc/route.h"

#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/trie.h"
#include "rpc/address.h"

struct sni_routes {
    const sennit_allocator *alloc;
    sni_trie by_key; /* owner: the sni_route */
    sni_route **all;
    size_t count;
    size_t capacity;
    sni_route **patterns;
    size_t patterns_count;
    size_t patterns_capacity;
};

static sennit_str
key_of(const sni_route *route)
{
    return (sennit_str){ route->address, route->size };
}

static sennit_bytes
bytes_of(sennit_str text)
{
    return (sennit_bytes){ (const uint8_t *)text.data, text.size };
}

static bool
is_pattern(const sni_route *route)
{
    return sni_address_form_of(key_of(route)) == SNI_ADDRESS_PATTERN;
}

sennit_err
sni_routes_new(sni_routes **out, const sennit_allocator *alloc)
{
    sni_routes *routes = sni_acquire_zero(alloc, sizeof *routes);

    if (routes == NULL)
        return SENNIT_ENOMEM;
    routes->alloc = alloc;
    sni_trie_init(&routes->by_key, alloc);
    *out = routes;
    return SENNIT_OK;
}

static void
route_free(sni_routes *routes, sni_route *route)
{
    sni_release(routes->alloc, route->locals.all);
    sni_release(routes->alloc, route->remotes.all);
    sni_release(routes->alloc, route);
}

void
sni_routes_free(sni_routes *routes)
{
    if (routes == NULL)
        return;
    for (size_t i = 0; i < routes->count; i++)
        route_free(routes, routes->all[i]);
    sni_trie_fini(&routes->by_key);
    sni_release(routes->alloc, routes->all);
    sni_release(routes->alloc, routes->patterns);
    sni_release(routes->alloc, routes);
}

static sennit_err
route_add(sni_routes *routes, sennit_str key, sni_route **out)
{
    sni_route *route;
    uint32_t entries;
    sennit_err err;

    if (!sni_grow(routes->alloc, &routes->all, &routes->capacity, routes->count + 1,
                  sizeof *routes->all) ||
        !sni_grow(routes->alloc, &routes->patterns, &routes->patterns_capacity,
                  routes->patterns_count + 1, sizeof *routes->patterns))
        return SENNIT_ENOMEM;
    route = sni_acquire_zero(routes->alloc, sizeof *route + key.size);
    if (route == NULL)
        return SENNIT_ENOMEM;
    route->size = key.size;
    memcpy(route->address, key.data, key.size);
    err = sni_trie_add(&routes->by_key, bytes_of(key), route, NULL, &entries);
    if (err)
        goto fail_route;
    route->index = routes->count;
    routes->all[routes->count++] = route;
    if (is_pattern(route)) {
        route->pattern_index = routes->patterns_count;
        routes->patterns[routes->patterns_count++] = route;
    }
    *out = route;
    return SENNIT_OK;

fail_route:
    route_free(routes, route);
    return err;
}

static void
route_drop_if_empty(sni_routes *routes, sni_route *route)
{
    sni_route *last;
    uint32_t entries;

    if (route->locals.count + route->remotes.count > 0)
        return;
    (void)sni_trie_remove(&routes->by_key, bytes_of(key_of(route)), route, NULL, true,
                          &entries);
    /* The last one takes the place of the one that goes. */
    if (is_pattern(route)) {
        last = routes->patterns[--routes->patterns_count];
        routes->patterns[route->pattern_index] = last;
        last->pattern_index = route->pattern_index;
    }
    last = routes->all[--routes->count];
    routes->all[route->index] = last;
    last->index = route->index;
    route_free(routes, route);
}

sennit_err
sni_routes_add(sni_routes *routes, sennit_str key, bool local, void *target,
               uint64_t start)
{
    sni_route *route = sni_routes_find(routes, key);
    sni_targets *targets;
    sennit_err err;

    if (route == NULL) {
        err = route_add(routes, key, &route);
        if (err)
            return err;
        route->start = start;
    }
    targets = local ? &route->locals : &route->remotes;
    if (!sni_grow(routes->alloc, &targets->all, &targets->capacity, targets->count + 1,
                  sizeof *targets->all)) {
        route_drop_if_empty(routes, route);
        return SENNIT_ENOMEM;
    }
    /* A local entry comes in before all remotes: whose turn it is stays the same. */
    if (local && route->remotes.count > 0 && route->next >= route->locals.count)
        route->next++;
    targets->all[targets->count++] = target;
    return SENNIT_OK;
}

/* Keeps `*next` naming the same entry after the one at `removed` of `count` went. */
static void
next_after_removal(size_t *next, size_t removed, size_t count)
{
    if (removed < *next)
        (*next)--;
    if (*next >= count - 1)
        *next = 0;
}

/* Where `target` is, or the count. Found from the back: what came last goes first when
 * somebody takes back many, and little has to move. */
static size_t
find_target(const sni_targets *targets, const void *target)
{
    for (size_t at = targets->count; at > 0; at--) {
        if (targets->all[at - 1] == target)
            return at - 1;
    }
    return targets->count;
}

bool
sni_routes_remove(sni_routes *routes, sennit_str key, bool local, void *target)
{
    sni_route *route = sni_routes_find(routes, key);
    sni_targets *targets;
    size_t at;

    if (route == NULL)
        return false;
    targets = local ? &route->locals : &route->remotes;
    at = find_target(targets, target);
    if (at == targets->count)
        return false;
    next_after_removal(&route->next, local ? at : route->locals.count + at,
                       route->locals.count + route->remotes.count);
    if (local)
        next_after_removal(&route->next_local, at, route->locals.count);
    targets->count--;
    memmove(targets->all + at, targets->all + at + 1,
            (targets->count - at) * sizeof *targets->all);
    route_drop_if_empty(routes, route);
    return true;
}

sni_route *
sni_routes_find(const sni_routes *routes, sennit_str key)
{
    return sni_trie_find(&routes->by_key, bytes_of(key));
}

sni_route *
sni_routes_resolve(const sni_routes *routes, sennit_str address, sennit_str *method)
{
    sni_route *route = sni_routes_find(routes, address);
    sennit_str service;

    *method = (sennit_str){ "", 0 };
    if (route != NULL && !is_pattern(route))
        return route;
    if (!sni_address_split(address, &service, method))
        return NULL;
    return sni_routes_find(routes, service);
}

static void
hear_route(const sni_route *route, void (*fn)(void *target, bool local, void *arg),
           void *arg)
{
    for (size_t i = 0; i < route->locals.count; i++)
        fn(route->locals.all[i], true, arg);
    for (size_t i = 0; i < route->remotes.count; i++)
        fn(route->remotes.all[i], false, arg);
}

void
sni_routes_hear(const sni_routes *routes, sennit_str address,
                void (*fn)(void *target, bool local, void *arg), void *arg)
{
    const sni_route *exact = sni_routes_find(routes, address);

    if (exact != NULL)
        hear_route(exact, fn, arg);
    for (size_t i = 0; i < routes->patterns_count; i++) {
        if (sni_address_matches(key_of(routes->patterns[i]), address))
            hear_route(routes->patterns[i], fn, arg);
    }
}

void *
sni_route_take(sni_route *route, bool *local)
{
    size_t total = route->locals.count + route->remotes.count;
    size_t at;

    if (total == 0)
        return NULL;
    if (!route->started) {
        route->started = true;
        route->next = (size_t)(route->start % total);
    }
    at = route->next;
    SNI_ASSERT(at < total);
    route->next = at + 1 < total ? at + 1 : 0;
    *local = at < route->locals.count;
    return *local ? route->locals.all[at] : route->remotes.all[at - route->locals.count];
}

void *
sni_route_take_local(sni_route *route)
{
    size_t at = route->next_local;

    if (route->locals.count == 0)
        return NULL;
    SNI_ASSERT(at < route->locals.count);
    route->next_local = at + 1 < route->locals.count ? at + 1 : 0;
    return route->locals.all[at];
}
