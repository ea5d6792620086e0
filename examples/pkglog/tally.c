/* SPDX-License-Identifier: MIT */
/* A hash table with linear probing; law: 2 * count <= capacity, a power of two. Texts
 * live in one arena. */
#include "tally.h"

#include <stdlib.h>
#include <string.h>

#define CAPACITY_MIN 64u

struct tally {
    tally_entry **slots;
    size_t capacity;
    size_t count;
    sennit_arena *arena;
};

/* FNV-1a. */
static uint64_t
hash(sennit_str name)
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < name.size; i++)
        h = (h ^ (uint8_t)name.data[i]) * UINT64_C(1099511628211);
    return h;
}

/* The slot that holds `name`, or the free one it belongs into. */
static tally_entry **
slot_of(tally_entry **slots, size_t capacity, sennit_str name)
{
    size_t at = (size_t)hash(name) & (capacity - 1);
    while (slots[at] && !sennit_str_equal(slots[at]->name, name))
        at = (at + 1) & (capacity - 1);
    return &slots[at];
}

static sennit_err
grow(tally *counts)
{
    size_t capacity = counts->capacity ? 2 * counts->capacity : CAPACITY_MIN;
    tally_entry **slots = calloc(capacity, sizeof(tally_entry *));
    if (!slots)
        return SENNIT_ENOMEM;
    for (size_t i = 0; i < counts->capacity; i++)
        if (counts->slots[i])
            *slot_of(slots, capacity, counts->slots[i]->name) = counts->slots[i];
    free(counts->slots);
    counts->slots = slots;
    counts->capacity = capacity;
    return SENNIT_OK;
}

static sennit_err
new_entry(tally *counts, sennit_str name, tally_entry **out)
{
    sennit_err err;
    tally_entry *entry = sennit_arena_array(counts->arena, 1, sizeof *entry);
    if (!entry)
        return SENNIT_ENOMEM;
    err = sennit_arena_copy_str(counts->arena, name, &entry->name);
    if (err)
        return err;
    if (2 * (counts->count + 1) > counts->capacity) {
        err = grow(counts);
        if (err)
            return err;
    }
    *slot_of(counts->slots, counts->capacity, name) = entry;
    counts->count++;
    *out = entry;
    return SENNIT_OK;
}

static sennit_err
keep_step(tally *counts, tally_entry *entry, const tally_step *step)
{
    tally_step copy = { .at_ns = step->at_ns };
    sennit_err err = sennit_arena_copy_str(counts->arena, step->action, &copy.action);
    if (!err)
        err = sennit_arena_copy_str(counts->arena, step->old_version, &copy.old_version);
    if (!err)
        err = sennit_arena_copy_str(counts->arena, step->new_version, &copy.new_version);
    if (err)
        return err;
    if (entry->steps_count == entry->steps_capacity) {
        size_t capacity = entry->steps_capacity ? 2 * entry->steps_capacity : 4;
        tally_step *steps = realloc(entry->steps, capacity * sizeof *steps);
        if (!steps)
            return SENNIT_ENOMEM;
        entry->steps = steps;
        entry->steps_capacity = capacity;
    }
    entry->steps[entry->steps_count++] = copy;
    return SENNIT_OK;
}

sennit_err
tally_new(tally **out)
{
    sennit_err err = SENNIT_ENOMEM;
    tally *made = calloc(1, sizeof *made);
    if (!made)
        return err;
    err = sennit_arena_new(&made->arena, NULL);
    if (err)
        goto fail_tally;
    err = grow(made);
    if (err)
        goto fail_arena;
    *out = made;
    return SENNIT_OK;

fail_arena:
    sennit_arena_free(made->arena);
fail_tally:
    free(made);
    return err;
}

void
tally_free(tally *counts)
{
    if (!counts)
        return;
    for (size_t i = 0; i < counts->capacity; i++)
        if (counts->slots[i])
            free(counts->slots[i]->steps);
    free(counts->slots);
    sennit_arena_free(counts->arena);
    free(counts);
}

sennit_err
tally_add(tally *counts, sennit_str name, const tally_step *step)
{
    sennit_err err = SENNIT_OK;
    tally_entry *entry = *slot_of(counts->slots, counts->capacity, name);
    if (!entry)
        err = new_entry(counts, name, &entry);
    if (!err && step)
        err = keep_step(counts, entry, step);
    if (!err)
        entry->count++;
    return err;
}

size_t
tally_size(const tally *counts)
{
    return counts->count;
}

const tally_entry *
tally_find(const tally *counts, sennit_str name)
{
    return *slot_of(counts->slots, counts->capacity, name);
}

static int
by_name(const void *a, const void *b)
{
    const tally_entry *const *x = a, *const *y = b;
    sennit_str p = (*x)->name, q = (*y)->name;
    size_t shared = p.size < q.size ? p.size : q.size;
    int order = shared ? memcmp(p.data, q.data, shared) : 0;
    return order ? order : (p.size > q.size) - (p.size < q.size);
}

static int
by_count(const void *a, const void *b)
{
    const tally_entry *const *x = a, *const *y = b;
    if ((*x)->count != (*y)->count)
        return (*x)->count < (*y)->count ? 1 : -1;
    return by_name(a, b);
}

sennit_err
tally_list(const tally *counts, tally_order order, sennit_arena *arena,
           const tally_entry ***out)
{
    const tally_entry **list = sennit_arena_array(arena, counts->count, sizeof *list);
    size_t filled = 0;
    if (!list)
        return SENNIT_ENOMEM;
    for (size_t i = 0; i < counts->capacity; i++)
        if (counts->slots[i])
            list[filled++] = counts->slots[i];
    if (filled)
        qsort(list, filled, sizeof *list, order == TALLY_BY_NAME ? by_name : by_count);
    *out = list;
    return SENNIT_OK;
}
