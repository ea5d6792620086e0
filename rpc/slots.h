/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_RPC_SLOTS_H
#define SENNIT_RPC_SLOTS_H

#include "sennit/sennit.h"

/* Storage for things that are named by (index, 40-bit generation), rule R1. The
 * name of one that was given back is never valid again but by guessing 40 random
 * bits. Slots live in slabs, so their addresses are stable.
 *
 * Law: a slot's `id` is 0 exactly while it is free. */
typedef struct sni_slot {
    uint64_t id; /* generation << SNI_SLOT_BITS | index */
    uint32_t index;
    uint32_t next_free; /* index + 1; 0: none */
} sni_slot;

typedef struct sni_slots {
    const sennit_allocator *alloc;
    uint8_t **slabs;
    size_t slabs_count;
    size_t slabs_capacity;
    size_t slot_size; /* of the struct that begins with a sni_slot */
    size_t max;
    size_t used;
    uint32_t first_free; /* index + 1; 0: none */
} sni_slots;

void sni_slots_init(sni_slots *slots, const sennit_allocator *alloc, size_t slot_size,
                    size_t max);
void sni_slots_fini(sni_slots *slots);

/* Takes a free slot, zeroed but for its name, made with `generation` (its low 40
 * bits; 0 becomes 1). Errors: ENOMEM, EAGAIN (`max` are in use). */
sennit_err sni_slots_take(sni_slots *slots, uint64_t generation, void *out);

/* Gives back `slot` (a pointer to the struct). */
void sni_slots_give(sni_slots *slots, void *slot);

/* The slot named `id`, or NULL. */
void *sni_slots_find(const sni_slots *slots, uint64_t id);

/* The slot at `index` if it is in use, or NULL; NULL and `*end` past the last. */
void *sni_slots_at(const sni_slots *slots, size_t index, bool *end);

#endif /* SENNIT_RPC_SLOTS_H */
