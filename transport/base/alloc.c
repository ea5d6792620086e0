/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *
default_acquire(void *arg, size_t size)
{
    (void)arg;
    return malloc(size);
}

static void *
default_resize(void *arg, void *memory, size_t size)
{
    (void)arg;
    return realloc(memory, size);
}

static void
default_release(void *arg, void *memory)
{
    (void)arg;
    free(memory);
}

const sennit_allocator sni_alloc_default = {
    default_acquire,
    default_resize,
    default_release,
    NULL,
};

void *
sni_acquire(const sennit_allocator *alloc, size_t size)
{
    return alloc->acquire(alloc->arg, size);
}

void *
sni_acquire_zero(const sennit_allocator *alloc, size_t size)
{
    void *memory = sni_acquire(alloc, size);

    if (memory != NULL)
        memset(memory, 0, size);
    return memory;
}

void
sni_release(const sennit_allocator *alloc, void *memory)
{
    if (memory != NULL)
        alloc->release(alloc->arg, memory);
}

static bool
grow_from(const sennit_allocator *alloc, void *array, size_t *capacity, size_t first,
          size_t needed, size_t element_size)
{
    void *old;
    void *grown;
    size_t wanted = *capacity == 0 ? first : *capacity;

    if (needed <= *capacity)
        return true;
    while (wanted < needed) {
        if (wanted > SIZE_MAX / 2)
            return false;
        wanted *= 2;
    }
    if (wanted > SIZE_MAX / element_size)
        return false;
    /* `array` points at a pointer of any object type; memcpy keeps that legal. */
    memcpy(&old, array, sizeof old);
    grown = alloc->resize(alloc->arg, old, wanted * element_size);
    if (grown == NULL)
        return false;
    memcpy(array, &grown, sizeof grown);
    *capacity = wanted;
    return true;
}

bool
sni_grow(const sennit_allocator *alloc, void *array, size_t *capacity, size_t needed,
         size_t element_size)
{
    return grow_from(alloc, array, capacity, 8, needed, element_size);
}

bool
sni_grow_small(const sennit_allocator *alloc, void *array, size_t *capacity,
               size_t needed, size_t element_size)
{
    return grow_from(alloc, array, capacity, 1, needed, element_size);
}
