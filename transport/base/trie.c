/* SPDX-License-Identifier: MIT */
/* Law: no node but the root is without owners and without at least two children
 * (it would be merged or removed), so nodes <= 2 * keys + 1. An edge is the bytes
 * between a node and its parent; children are sorted by their edge's first byte. */
#include "base/trie.h"

#include "base/alloc.h"
#include "base/assert.h"

/* From this capacity on the entries of a node are found through places that follow
 * them in their array, twice as many as entries: ten thousand subscribers to one
 * topic would else compare half of that square. A place holds 1 + the index of the
 * entry whose owner hashes there or shortly before, or 0. Owners are addresses of
 * ours, so no peer can choose them to collide. */
#define PLACES_FROM 64u

typedef struct trie_entry {
    void *owner;
    uint32_t count;
    uint32_t listed; /* 1 + its node's place in the owner's keys; 0: in none */
} trie_entry;

_Static_assert(sizeof(trie_entry) == 16, "an entry fits four to a cache line");

/* Most edges are short and most keys have one owner: they lie in the node itself. */
#define NEAR_BYTES sizeof(uint8_t *)

struct sni_trie_node {
    sni_trie_node *parent;
    sni_trie_node **children;
    union {
        uint8_t near[NEAR_BYTES];
        uint8_t *far; /* when edge_size is over NEAR_BYTES */
    } edge;
    union {
        trie_entry one;
        trie_entry *many; /* when entries_capacity is not 0 */
    } entries;
    uint32_t edge_size;
    uint16_t children_count; /* at most one for each octet */
    uint16_t children_capacity;
    uint32_t entries_count;
    uint32_t entries_capacity; /* 0 or a power of two */
};

_Static_assert(sizeof(sni_trie_node) <= 7 * sizeof(void *), "topics come in millions");

void
sni_trie_init(sni_trie *trie, const sennit_allocator *alloc)
{
    *trie = (sni_trie){ .alloc = alloc };
}

/* ---- edges -------------------------------------------------------------- */

static const uint8_t *
edge_of(const sni_trie_node *node)
{
    return node->edge_size <= NEAR_BYTES ? node->edge.near : node->edge.far;
}

static sennit_bytes
edge_bytes(const sni_trie_node *node)
{
    return sni_bytes(edge_of(node), node->edge_size);
}

static void
edge_free(const sni_trie *trie, sni_trie_node *node)
{
    if (node->edge_size > NEAR_BYTES)
        sni_release(trie->alloc, node->edge.far);
    node->edge_size = 0;
}

/* Puts `front` before it. False: there is no memory, and it is as it was. */
static bool
edge_lengthen(const sni_trie *trie, sni_trie_node *node, sennit_bytes front)
{
    size_t size = front.size + node->edge_size;
    uint8_t near[NEAR_BYTES] = { 0 };
    uint8_t *edge = size <= NEAR_BYTES ? near : sni_acquire(trie->alloc, size);

    if (edge == NULL)
        return false;
    SNI_ASSERT(size <= UINT32_MAX);
    sni_bytes_put(edge, front);
    sni_bytes_put(edge + front.size, edge_bytes(node));
    edge_free(trie, node);
    if (size <= NEAR_BYTES)
        memcpy(node->edge.near, near, sizeof near);
    else
        node->edge.far = edge;
    node->edge_size = (uint32_t)size;
    return true;
}

/* Takes `size` octets off its front. */
static void
edge_shorten(const sni_trie *trie, sni_trie_node *node, size_t size)
{
    uint8_t *far = node->edge_size > NEAR_BYTES ? node->edge.far : NULL;
    uint8_t *from = far != NULL ? far : node->edge.near;

    node->edge_size -= (uint32_t)size;
    if (node->edge_size > NEAR_BYTES) {
        memmove(far, far + size, node->edge_size);
        return;
    }
    memmove(node->edge.near, from + size, node->edge_size);
    sni_release(trie->alloc, far);
}

/* ---- nodes -------------------------------------------------------------- */

static sni_trie_node *
node_new(const sni_trie *trie, sni_trie_node *parent, sennit_bytes edge)
{
    sni_trie_node *node = sni_acquire_zero(trie->alloc, sizeof *node);

    if (node == NULL)
        return NULL;
    if (!edge_lengthen(trie, node, edge)) {
        sni_release(trie->alloc, node);
        return NULL;
    }
    node->parent = parent;
    return node;
}

static void
node_free(const sni_trie *trie, sni_trie_node *node)
{
    edge_free(trie, node);
    sni_release(trie->alloc, node->children);
    if (node->entries_capacity > 0)
        sni_release(trie->alloc, node->entries.many);
    sni_release(trie->alloc, node);
}

/* Where a child whose edge begins with `byte` is or belongs. */
static size_t
child_place(const sni_trie_node *node, uint8_t byte)
{
    size_t low = 0;
    size_t high = node->children_count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (edge_of(node->children[middle])[0] < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static sni_trie_node *
child_of(const sni_trie_node *node, uint8_t byte)
{
    size_t place = child_place(node, byte);

    if (place == node->children_count || edge_of(node->children[place])[0] != byte)
        return NULL;
    return node->children[place];
}

static bool
children_grow(const sni_trie *trie, sni_trie_node *node, size_t needed)
{
    size_t capacity = node->children_capacity;

    if (!sni_grow_small(trie->alloc, &node->children, &capacity, needed,
                        sizeof(sni_trie_node *)))
        return false;
    node->children_capacity = (uint16_t)capacity;
    return true;
}

static bool
child_insert(const sni_trie *trie, sni_trie_node *node, sni_trie_node *child)
{
    size_t place = child_place(node, edge_of(child)[0]);

    if (!children_grow(trie, node, node->children_count + 1u))
        return false;
    memmove(node->children + place + 1, node->children + place,
            (node->children_count - place) * sizeof(sni_trie_node *));
    node->children[place] = child;
    node->children_count++;
    return true;
}

static void
child_remove(sni_trie_node *node, const sni_trie_node *child)
{
    size_t place = child_place(node, edge_of(child)[0]);

    SNI_ASSERT(node->children[place] == child);
    node->children_count--;
    memmove(node->children + place, node->children + place + 1,
            (node->children_count - place) * sizeof(sni_trie_node *));
}

static size_t
common_size(const sni_trie_node *node, sennit_bytes key)
{
    const uint8_t *edge = edge_of(node);
    size_t n = 0;

    while (n < node->edge_size && n < key.size && edge[n] == key.data[n])
        n++;
    return n;
}

/* Puts a node between `node` and its parent, `keep` bytes down the edge. */
static sni_trie_node *
split(const sni_trie *trie, sni_trie_node *node, size_t keep)
{
    sni_trie_node *parent = node->parent;
    sni_trie_node *middle = node_new(trie, parent, sni_bytes(edge_of(node), keep));

    if (middle == NULL)
        return NULL;
    if (!children_grow(trie, middle, 2)) {
        node_free(trie, middle);
        return NULL;
    }
    parent->children[child_place(parent, edge_of(node)[0])] = middle;
    edge_shorten(trie, node, keep);
    node->parent = middle;
    middle->children[middle->children_count++] = node;
    return middle;
}

/* Folds a node that carries nothing into its only child, or removes it; goes up
 * as long as that leaves a parent with nothing to do. Cannot fail: a merge that
 * finds no memory leaves a harmless extra node. */
static void
tidy(sni_trie *trie, sni_trie_node *node)
{
    while (node != trie->root && node->entries_count == 0 && node->children_count == 0) {
        sni_trie_node *parent = node->parent;

        child_remove(parent, node);
        node_free(trie, node);
        node = parent;
    }
    if (node != trie->root && node->entries_count == 0 && node->children_count == 1) {
        sni_trie_node *child = node->children[0];

        if (!edge_lengthen(trie, child, edge_bytes(node)))
            return;
        child->parent = node->parent;
        node->parent->children[child_place(node->parent, edge_of(node)[0])] = child;
        node_free(trie, node);
    }
}

/* The node of `key`, made if need be. */
static sni_trie_node *
reach(sni_trie *trie, sennit_bytes key)
{
    sni_trie_node *node;

    if (trie->root == NULL)
        trie->root = node_new(trie, NULL, sni_bytes(NULL, 0));
    node = trie->root;
    while (node != NULL && key.size > 0) {
        sni_trie_node *child = child_of(node, key.data[0]);
        size_t common;

        if (child == NULL) {
            child = node_new(trie, node, key);
            if (child != NULL && !child_insert(trie, node, child)) {
                node_free(trie, child);
                child = NULL;
            }
            return child;
        }
        common = common_size(child, key);
        node = common < child->edge_size ? split(trie, child, common) : child;
        key = sni_bytes(key.data + common, key.size - common);
    }
    return node;
}

/* ---- entries of a node -------------------------------------------------- */

static trie_entry *
entries_of(sni_trie_node *node)
{
    return node->entries_capacity == 0 ? &node->entries.one : node->entries.many;
}

static uint32_t *
places_of(const sni_trie_node *node)
{
    return (uint32_t *)(void *)(node->entries.many + node->entries_capacity);
}

static size_t
places_mask(const sni_trie_node *node)
{
    return 2 * (size_t)node->entries_capacity - 1;
}

/* Where `owner` would like to be. */
static size_t
home_of(const sni_trie_node *node, const void *owner)
{
    uint64_t hash = (uint64_t)(uintptr_t)owner * UINT64_C(0x9e3779b97f4a7c15);

    return (size_t)(hash >> 32) & places_mask(node);
}

/* The place of `owner`, or the free one where it belongs. */
static size_t
place_of(const sni_trie_node *node, const void *owner)
{
    const uint32_t *places = places_of(node);
    size_t at = home_of(node, owner);

    while (places[at] != 0 && node->entries.many[places[at] - 1].owner != owner)
        at = (at + 1) & places_mask(node);
    return at;
}

/* Empties a place, and moves up whoever had to go further because of it. */
static void
place_clear(sni_trie_node *node, size_t hole)
{
    uint32_t *places = places_of(node);
    size_t mask = places_mask(node);

    for (size_t at = (hole + 1) & mask; places[at] != 0; at = (at + 1) & mask) {
        size_t home = home_of(node, node->entries.many[places[at] - 1].owner);

        if (((at - home) & mask) >= ((at - hole) & mask)) {
            places[hole] = places[at];
            hole = at;
        }
    }
    places[hole] = 0;
}

static trie_entry *
entry_of(sni_trie_node *node, const void *owner)
{
    trie_entry *entries = entries_of(node);

    if (node->entries_capacity >= PLACES_FROM) {
        uint32_t place = places_of(node)[place_of(node, owner)];

        return place == 0 ? NULL : &entries[place - 1];
    }
    for (size_t i = 0; i < node->entries_count; i++)
        if (entries[i].owner == owner)
            return &entries[i];
    return NULL;
}

static bool
entries_grow(const sni_trie *trie, sni_trie_node *node)
{
    trie_entry *many = node->entries_capacity == 0 ? NULL : node->entries.many;
    size_t capacity = node->entries_capacity;
    size_t places_size = 2 * capacity >= PLACES_FROM ? 2 * sizeof(uint32_t) : 0;

    if (node->entries_count == 0 || node->entries_count < node->entries_capacity)
        return true;
    if (!sni_grow_small(trie->alloc, &many, &capacity, node->entries_count + 1u,
                        sizeof *many + places_size))
        return false;
    if (node->entries_capacity == 0)
        many[0] = node->entries.one;
    node->entries.many = many;
    node->entries_capacity = (uint32_t)capacity;
    if (node->entries_capacity < PLACES_FROM)
        return true;
    memset(places_of(node), 0, 2 * capacity * sizeof(uint32_t));
    for (size_t i = 0; i < node->entries_count; i++)
        places_of(node)[place_of(node, many[i].owner)] = (uint32_t)i + 1;
    return true;
}

/* A new owner, with a count of 0; NULL: no memory. */
static trie_entry *
entry_add(sni_trie *trie, sni_trie_node *node, void *owner)
{
    trie_entry *entry;

    if (!entries_grow(trie, node))
        return NULL;
    if (node->entries_capacity >= PLACES_FROM)
        places_of(node)[place_of(node, owner)] = node->entries_count + 1;
    entry = &entries_of(node)[node->entries_count++];
    *entry = (trie_entry){ owner, 0, 0 };
    trie->entries++;
    if (node->entries_count == 1)
        trie->keys++;
    return entry;
}

/* The last entry takes the place of the removed one. */
static void
entry_remove(sni_trie *trie, sni_trie_node *node, trie_entry *entry)
{
    trie_entry *entries = entries_of(node);
    trie_entry *last = &entries[node->entries_count - 1];

    if (node->entries_capacity >= PLACES_FROM) {
        place_clear(node, place_of(node, entry->owner));
        if (entry != last)
            places_of(node)[place_of(node, last->owner)] =
                (uint32_t)(entry - entries) + 1;
    }
    *entry = *last;
    node->entries_count--;
    trie->entries--;
    if (node->entries_count == 0)
        trie->keys--;
}

/* ---- the keys of an owner ----------------------------------------------- */

static bool
list_grow(const sni_trie *trie, sni_trie_keys *keys)
{
    size_t capacity = keys->capacity;

    if (!sni_grow_small(trie->alloc, &keys->nodes, &capacity, keys->count + 1u,
                        sizeof(sni_trie_node *)))
        return false;
    SNI_ASSERT(capacity <= UINT32_MAX);
    keys->capacity = (uint32_t)capacity;
    return true;
}

static void
list_add(sni_trie_keys *keys, sni_trie_node *node, trie_entry *entry)
{
    keys->nodes[keys->count++] = node;
    entry->listed = keys->count;
}

static void
list_trim(const sni_trie *trie, sni_trie_keys *keys)
{
    if (keys == NULL || keys->count > 0)
        return;
    sni_release(trie->alloc, keys->nodes);
    *keys = (sni_trie_keys){ 0 };
}

/* The last one takes its place. */
static void
list_remove(const sni_trie *trie, sni_trie_keys *keys, const trie_entry *entry)
{
    sni_trie_node *last = keys->nodes[--keys->count];

    if (entry->listed <= keys->count) {
        keys->nodes[entry->listed - 1] = last;
        entry_of(last, entry->owner)->listed = entry->listed;
    }
    list_trim(trie, keys);
}

/* ---- keys --------------------------------------------------------------- */

sennit_err
sni_trie_add(sni_trie *trie, sennit_bytes key, void *owner, sni_trie_keys *keys,
             uint32_t *count)
{
    sni_trie_node *node;
    trie_entry *entry = NULL;
    bool room = keys == NULL || list_grow(trie, keys);

    node = room ? reach(trie, key) : NULL;
    entry = node == NULL ? NULL : entry_of(node, owner);
    if (entry == NULL && node != NULL) {
        entry = entry_add(trie, node, owner);
        if (entry == NULL)
            tidy(trie, node);
        else if (keys != NULL)
            list_add(keys, node, entry);
    }
    if (entry == NULL) {
        list_trim(trie, keys);
        return SENNIT_ENOMEM;
    }
    entry->count += entry->count < UINT32_MAX;
    *count = entry->count;
    return SENNIT_OK;
}

static sni_trie_node *
find_node(const sni_trie *trie, sennit_bytes key)
{
    sni_trie_node *node = trie->root;

    while (node != NULL && key.size > 0) {
        sni_trie_node *child = child_of(node, key.data[0]);

        if (child == NULL || common_size(child, key) < child->edge_size)
            return NULL;
        key = sni_bytes(key.data + child->edge_size, key.size - child->edge_size);
        node = child;
    }
    return node;
}

/* Takes `owner` out of a node, which may end the node. */
static void
part(sni_trie *trie, sni_trie_node *node, trie_entry *entry, sni_trie_keys *keys)
{
    if (entry->listed > 0)
        list_remove(trie, keys, entry);
    entry_remove(trie, node, entry);
    tidy(trie, node);
}

sennit_err
sni_trie_remove(sni_trie *trie, sennit_bytes key, void *owner, sni_trie_keys *keys,
                bool all, uint32_t *left)
{
    sni_trie_node *node = find_node(trie, key);
    trie_entry *entry = node == NULL ? NULL : entry_of(node, owner);

    if (entry == NULL)
        return SENNIT_ENOENT;
    *left = all ? 0 : entry->count - 1;
    if (*left > 0)
        entry->count = *left;
    else
        part(trie, node, entry, keys);
    return SENNIT_OK;
}

/* The node after `node` in a depth-first walk, parents first. */
static sni_trie_node *
walk_next(sni_trie_node *node)
{
    if (node->children_count > 0)
        return node->children[0];
    while (node->parent != NULL) {
        sni_trie_node *parent = node->parent;
        size_t place = child_place(parent, edge_of(node)[0]) + 1;

        if (place < parent->children_count)
            return parent->children[place];
        node = parent;
    }
    return NULL;
}

/* The deepest first descendant: where a children-before-parents walk begins. */
static sni_trie_node *
leftmost(sni_trie_node *node)
{
    while (node->children_count > 0)
        node = node->children[0];
    return node;
}

/* Length of the key of `node`. */
static size_t
key_size(const sni_trie_node *node)
{
    size_t size = 0;

    for (; node != NULL; node = node->parent)
        size += node->edge_size;
    return size;
}

/* Writes the key of `node`, from its end. */
static sennit_bytes
key_of(sni_trie *trie, const sni_trie_node *node, uint8_t *storage, size_t size)
{
    size_t at = size;

    for (; node != NULL; node = node->parent) {
        at -= node->edge_size;
        sni_bytes_put(storage + at, edge_bytes(node));
        trie->visits++;
    }
    return sni_bytes(storage, size);
}

sennit_err
sni_trie_forget(sni_trie *trie, void *owner, sni_trie_keys *keys,
                sennit_err (*fn)(const sni_trie_parting *parting, void *arg), void *arg)
{
    uint8_t *storage = NULL;
    size_t capacity = 0;
    sennit_err err = SENNIT_OK;

    while (keys->count > 0) {
        sni_trie_node *node = keys->nodes[keys->count - 1];
        trie_entry *entry = entry_of(node, owner);
        size_t size = fn == NULL ? 0 : key_size(node);

        trie->visits++;
        if (fn != NULL && !sni_grow(trie->alloc, &storage, &capacity, size + 1, 1))
            err = SENNIT_ENOMEM;
        else if (fn != NULL)
            err = fn(&(sni_trie_parting){ .key = key_of(trie, node, storage, size),
                                          .count = entry->count,
                                          .last = node->entries_count == 1 },
                     arg);
        if (err)
            break;
        part(trie, node, entry, keys);
    }
    sni_release(trie->alloc, storage);
    return err;
}

bool
sni_trie_match(sni_trie *trie, sennit_bytes subject, void (*fn)(void *owner, void *arg),
               void *arg)
{
    sni_trie_node *node = trie->root;
    bool any = false;

    while (node != NULL) {
        trie->visits++;
        if (node->entries_count > 0) {
            any = true;
            if (fn == NULL)
                return true;
            for (size_t i = 0; i < node->entries_count; i++)
                fn(entries_of(node)[i].owner, arg);
        }
        if (subject.size == 0)
            break;
        node = child_of(node, subject.data[0]);
        if (node == NULL || common_size(node, subject) < node->edge_size)
            break;
        subject =
            sni_bytes(subject.data + node->edge_size, subject.size - node->edge_size);
    }
    return any;
}

uint32_t
sni_trie_count(const sni_trie *trie, sennit_bytes key, const void *owner)
{
    sni_trie_node *node = find_node(trie, key);
    const trie_entry *entry = node == NULL ? NULL : entry_of(node, owner);

    return entry == NULL ? 0 : entry->count;
}

void *
sni_trie_find(const sni_trie *trie, sennit_bytes key)
{
    sni_trie_node *node = find_node(trie, key);

    return node == NULL || node->entries_count == 0 ? NULL : entries_of(node)->owner;
}

sennit_err
sni_trie_each(const sni_trie *trie, sennit_err (*fn)(sennit_bytes key, void *arg),
              void *arg)
{
    uint8_t *key = NULL;
    size_t capacity = 0;
    sennit_err err = SENNIT_OK;

    for (sni_trie_node *node = trie->root; node != NULL && err == SENNIT_OK;
         node = walk_next(node)) {
        size_t size = key_size(node);

        if (!sni_grow(trie->alloc, &key, &capacity, size + 1, 1)) {
            err = SENNIT_ENOMEM;
            break;
        }
        /* The walk goes down edge by edge, so the parent's part is in place. */
        sni_bytes_put(key + size - node->edge_size, edge_bytes(node));
        if (node->entries_count > 0)
            err = fn(sni_bytes(key, size), arg);
    }
    sni_release(trie->alloc, key);
    return err;
}

void
sni_trie_fini(sni_trie *trie)
{
    sni_trie_node *node = trie->root == NULL ? NULL : leftmost(trie->root);

    while (node != NULL) {
        sni_trie_node *parent = node->parent;
        sni_trie_node *next = parent;

        if (parent != NULL) {
            child_remove(parent, node);
            if (parent->children_count > 0)
                next = leftmost(parent->children[0]);
        }
        node_free(trie, node);
        node = next;
    }
    sni_trie_init(trie, trie->alloc);
}
