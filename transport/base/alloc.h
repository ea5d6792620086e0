/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_BASE_ALLOC_H
#define SENNIT_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

#include "sennit/sennit.h"

/* malloc's family as a sennit_allocator. */
extern const sennit_allocator sni_alloc_default;

/* `size` bytes, or NULL. `size` 0 gives a unique pointer or NULL. */
void *sni_acquire(const sennit_allocator *alloc, size_t size);

/* The same, all zero. */
void *sni_acquire_zero(const sennit_allocator *alloc, size_t size);

/* NULL is a no-op. */
void sni_release(const sennit_allocator *alloc, void *memory);

/* Makes room for at least `needed` elements of `element_size` in the array
 * `*array` of capacity `*capacity`, by doubling. On failure both are untouched
 * and the result is false. */
bool sni_grow(const sennit_allocator *alloc, void *array, size_t *capacity, size_t needed,
              size_t element_size);

/* The same for arrays of which there are many, most of one or two elements: begins
 * with what is needed instead of with room to spare. */
bool sni_grow_small(const sennit_allocator *alloc, void *array, size_t *capacity,
                    size_t needed, size_t element_size);

#endif /* SENNIT_BASE_ALLOC_H */
