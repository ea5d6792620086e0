/* SPDX-License-Identifier: MIT */
#include "map.h"

#include <string.h>

/* FNV-1a for names, a multiplication for numbers. Schemas are the user's own
 * files; somebody who floods the table slows down their own build. */
static size_t
hash(const char *name, uint64_t number)
{
    uint64_t h = UINT64_C(14695981039346656037);
    if (!name)
        h = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
    for (; name && *name; name++)
        h = (h ^ (unsigned char)*name) * UINT64_C(1099511628211);
    return (size_t)(h ^ h >> 32);
}

/* The entry of a key, or the free place where it would go. */
static sni_idl_entry *
find(const sni_idl_map *map, const char *name, uint64_t number)
{
    size_t mask = map->capacity - 1;
    size_t at = hash(name, number) & mask;
    for (;; at = (at + 1) & mask) {
        sni_idl_entry *entry = &map->entries[at];
        if (!entry->value)
            return entry;
        bool same = name ? entry->name && !strcmp(entry->name, name)
                         : !entry->name && entry->number == number;
        if (same)
            return entry;
    }
}

static void *
get(const sni_idl_map *map, const char *name, uint64_t number)
{
    return map->capacity ? find(map, name, number)->value : NULL;
}

static void
grow(sni_idl_map *map, sni_idl_arena *arena)
{
    sni_idl_map wider = { .capacity = map->capacity ? map->capacity * 2 : 16 };
    wider.entries = SNI_IDL_NEW_ARRAY(arena, sni_idl_entry, wider.capacity);
    for (size_t i = 0; i < map->capacity; i++) {
        const sni_idl_entry *entry = &map->entries[i];
        if (entry->value)
            *find(&wider, entry->name, entry->number) = *entry;
    }
    wider.count = map->count;
    *map = wider;
}

static void
add(sni_idl_map *map, sni_idl_arena *arena, const char *name, uint64_t number,
    const void *value)
{
    if ((map->count + 1) * 4 > map->capacity * 3)
        grow(map, arena);
    *find(map, name, number) = (sni_idl_entry){ name, number, (void *)(uintptr_t)value };
    map->count++;
}

void *
sni_idl_map_get(const sni_idl_map *map, const char *name)
{
    return get(map, name, 0);
}

void *
sni_idl_map_get_number(const sni_idl_map *map, uint64_t number)
{
    return get(map, NULL, number);
}

void
sni_idl_map_add(sni_idl_map *map, sni_idl_arena *arena, const char *name,
                const void *value)
{
    add(map, arena, name, 0, value);
}

void
sni_idl_map_add_number(sni_idl_map *map, sni_idl_arena *arena, uint64_t number,
                       const void *value)
{
    add(map, arena, NULL, number, value);
}
