/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_BASE_TRIE_H
#define SENNIT_BASE_TRIE_H

#include "base/bytes.h"

/* A compressed radix tree from byte strings to sets of counted owners. Serves
 * publishers (topic -> peers), subscribers (topic -> how often) and routers
 * (identity -> peer). Cost of a match is the length of what is matched, whatever
 * the number of keys; no hashing, so no peer can provoke collisions; no
 * recursion, so no key is long enough to overflow the stack. */
typedef struct sni_trie_node sni_trie_node;

typedef struct sni_trie {
    const sennit_allocator *alloc;
    sni_trie_node *root; /* NULL while nothing was ever added */
    size_t keys;         /* keys with at least one owner */
    size_t entries;      /* (key, owner) pairs */
    uint64_t visits;     /* nodes looked at so far: what match and forget cost */
} sni_trie;

/* The keys of one owner, so that it leaves at the cost of its own and not of all.
 * Zero it first; what it holds is given back when the last key is gone. */
typedef struct sni_trie_keys {
    sni_trie_node **nodes; /* a node with an owner never moves */
    uint32_t count;
    uint32_t capacity;
} sni_trie_keys;

void sni_trie_init(sni_trie *trie, const sennit_allocator *alloc);
void sni_trie_fini(sni_trie *trie);

/* Adds one to `owner`'s count at `key`; tells the new count. `keys` lists the owner's
 * keys, the same one in every call for it, or is NULL: nobody will forget() it.
 * Errors: ENOMEM (the trie is as before). */
sennit_err sni_trie_add(sni_trie *trie, sennit_bytes key, void *owner,
                        sni_trie_keys *keys, uint32_t *count);

/* Takes one (or, with `all`, everything) off `owner`'s count at `key`; tells what
 * is left. Errors: ENOENT. */
sennit_err sni_trie_remove(sni_trie *trie, sennit_bytes key, void *owner,
                           sni_trie_keys *keys, bool all, uint32_t *left);

/* What forget() tells of a key just before its owner leaves it. */
typedef struct sni_trie_parting {
    sennit_bytes key;
    uint32_t count; /* the owner's */
    bool last;      /* nobody else has it */
} sni_trie_parting;

/* Removes `owner` from all its keys, newest first; tells `fn` (which may be NULL) of
 * each until it fails, which leaves that one and the rest: another call goes on there.
 * Errors: those of fn; ENOMEM (room for a key, only with fn). */
sennit_err sni_trie_forget(sni_trie *trie, void *owner, sni_trie_keys *keys,
                           sennit_err (*fn)(const sni_trie_parting *parting, void *arg),
                           void *arg);

/* Calls `fn` for each owner of each key that is a prefix of `subject` (an owner of
 * several such keys comes several times). Returns whether there was any.
 * With NULL `fn` it stops at the first. */
bool sni_trie_match(sni_trie *trie, sennit_bytes subject,
                    void (*fn)(void *owner, void *arg), void *arg);

/* `owner`'s count at `key`; 0: it is not there. */
uint32_t sni_trie_count(const sni_trie *trie, sennit_bytes key, const void *owner);

/* The first owner of exactly `key`, or NULL. */
void *sni_trie_find(const sni_trie *trie, sennit_bytes key);

/* Calls `fn` with each key, in byte order, until it fails; returns its error.
 * Errors: ENOMEM besides. */
sennit_err sni_trie_each(const sni_trie *trie,
                         sennit_err (*fn)(sennit_bytes key, void *arg), void *arg);

#endif /* SENNIT_BASE_TRIE_H */
