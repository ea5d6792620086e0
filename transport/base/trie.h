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
} sni_trie;

void sni_trie_init(sni_trie *trie, const sennit_allocator *alloc);
void sni_trie_fini(sni_trie *trie);

/* Adds one to `owner`'s count at `key`; tells the new count. Errors: ENOMEM (the
 * trie is as before). */
sennit_err sni_trie_add(sni_trie *trie, sennit_bytes key, void *owner, uint32_t *count);

/* Takes one (or, with `all`, everything) off `owner`'s count at `key`; tells what
 * is left. Errors: ENOENT. */
sennit_err sni_trie_remove(sni_trie *trie, sennit_bytes key, void *owner, bool all,
                           uint32_t *left);

/* Removes `owner` from every key. Walks the whole tree. */
void sni_trie_forget(sni_trie *trie, void *owner);

/* Calls `fn` for each owner of each key that is a prefix of `subject` (an owner of
 * several such keys comes several times). Returns whether there was any.
 * With NULL `fn` it stops at the first. */
bool sni_trie_match(const sni_trie *trie, sennit_bytes subject,
                    void (*fn)(void *owner, void *arg), void *arg);

/* The first owner of exactly `key`, or NULL. */
void *sni_trie_find(const sni_trie *trie, sennit_bytes key);

/* Calls `fn` with each key, in byte order, until it fails; returns its error.
 * Errors: ENOMEM besides. */
sennit_err sni_trie_each(const sni_trie *trie,
                         sennit_err (*fn)(sennit_bytes key, void *arg), void *arg);

#endif /* SENNIT_BASE_TRIE_H */
