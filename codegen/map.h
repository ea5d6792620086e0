/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CODEGEN_MAP_H
#define SENNIT_CODEGEN_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"

/* Names or numbers to pointers, in an arena. Zero it before first use. Entries
 * are never removed. Keys are borrowed; values are given back as they were put in,
 * and whoever put in something constant takes it out as such. */
typedef struct sni_idl_entry {
    const char *name; /* NULL: the key is the number */
    uint64_t number;
    void *value; /* NULL: free place */
} sni_idl_entry;

typedef struct sni_idl_map {
    sni_idl_entry *entries;
    size_t count;
    size_t capacity; /* 0 or a power of two; law: count * 4 <= capacity * 3 */
} sni_idl_map;

/* The value of a key, or NULL. */
void *sni_idl_map_get(const sni_idl_map *map, const char *name);
void *sni_idl_map_get_number(const sni_idl_map *map, uint64_t number);

/* Adds a key that is not there yet. `value` is not NULL. */
void sni_idl_map_add(sni_idl_map *map, sni_idl_arena *arena, const char *name,
                     const void *value);
void sni_idl_map_add_number(sni_idl_map *map, sni_idl_arena *arena, uint64_t number,
                            const void *value);

#endif /* SENNIT_CODEGEN_MAP_H */
