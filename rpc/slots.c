/* SPDX-License-Identifier: MIT */
#include "rpc/slots.h"

#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "rpc/limits.h"

#define INDEX_MASK      ((UINT64_C(1) << SNI_SLOT_BITS) - 1)
#define GENERATION_MASK ((UINT64_C(1) << 40) - 1)

_Static_assert(SNI_SLOT_BITS + 40 == 64, "a call id is an index and 40 random bits");

static sni_slot *
slot_at(const sni_slots *slots, size_t index)
{
    uint8_t *slab = slots->slabs[index / SNI_SLAB_SLOTS];

    return (sni_slot *)(void *)(slab + index % SNI_SLAB_SLOTS * slots->slot_size);
}

void
sni_slots_init(sni_slots *slots, const sennit_allocator *alloc, size_t slot_size,
               size_t max)
{
    memset(slots, 0, sizeof *slots);
    slots->alloc = alloc;
    slots->slot_size = slot_size;
    slots->max = max;
}

void
sni_slots_fini(sni_slots *slots)
{
    for (size_t i = 0; i < slots->slabs_count; i++)
        sni_release(slots->alloc, slots->slabs[i]);
    sni_release(slots->alloc, slots->slabs);
    slots->slabs = NULL;
    slots->slabs_count = 0;
    slots->slabs_capacity = 0;
}

static sennit_err
add_slab(sni_slots *slots)
{
    size_t first = slots->slabs_count * SNI_SLAB_SLOTS;
    uint8_t *slab;

    if (!sni_grow(slots->alloc, &slots->slabs, &slots->slabs_capacity,
                  slots->slabs_count + 1, sizeof *slots->slabs))
        return SENNIT_ENOMEM;
    slab = sni_acquire_zero(slots->alloc, SNI_SLAB_SLOTS * slots->slot_size);
    if (slab == NULL)
        return SENNIT_ENOMEM;
    slots->slabs[slots->slabs_count++] = slab;
    /* Chained so that the lowest index is used first. */
    for (size_t i = SNI_SLAB_SLOTS; i-- > 0;) {
        sni_slot *slot = slot_at(slots, first + i);

        slot->index = (uint32_t)(first + i);
        slot->next_free = slots->first_free;
        slots->first_free = slot->index + 1;
    }
    return SENNIT_OK;
}

sennit_err
sni_slots_take(sni_slots *slots, uint64_t generation, void *out)
{
    sni_slot *slot;
    uint32_t index;
    sennit_err err;

    if (slots->used >= slots->max)
        return SENNIT_EAGAIN;
    if (slots->first_free == 0) {
        err = add_slab(slots);
        if (err)
            return err;
    }
    slot = slot_at(slots, slots->first_free - 1);
    index = slot->index;
    slots->first_free = slot->next_free;
    memset(slot, 0, slots->slot_size);
    generation &= GENERATION_MASK;
    if (generation == 0)
        generation = 1;
    slot->index = index;
    slot->id = generation << SNI_SLOT_BITS | index;
    slots->used++;
    memcpy(out, &slot, sizeof slot);
    return SENNIT_OK;
}

void
sni_slots_give(sni_slots *slots, void *freed)
{
    sni_slot *slot = freed;

    SNI_ASSERT(slot->id != 0);
    slot->id = 0;
    slot->next_free = slots->first_free;
    slots->first_free = slot->index + 1;
    slots->used--;
}

void *
sni_slots_find(const sni_slots *slots, uint64_t id)
{
    size_t index = id & INDEX_MASK;
    sni_slot *slot;

    if (id == 0 || index >= slots->slabs_count * SNI_SLAB_SLOTS)
        return NULL;
    slot = slot_at(slots, index);
    return slot->id == id ? slot : NULL;
}

void *
sni_slots_at(const sni_slots *slots, size_t index, bool *end)
{
    sni_slot *slot;

    *end = index >= slots->slabs_count * SNI_SLAB_SLOTS;
    if (*end)
        return NULL;
    slot = slot_at(slots, index);
    return slot->id != 0 ? slot : NULL;
}
