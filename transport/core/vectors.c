/* SPDX-License-Identifier: MIT */
#include "core/vectors.h"

#include "base/alloc.h"

void
sni_vectors_init(sni_vectors *vectors, const sennit_allocator *alloc)
{
    *vectors = (sni_vectors){ .alloc = alloc };
}

void
sni_vectors_fini(sni_vectors *vectors)
{
    while (vectors->first != NULL) {
        sni_vector *vector = vectors->first;

        vectors->first = vector->next;
        sni_release(vectors->alloc, vector);
    }
    vectors->count = 0;
}

sni_vector *
sni_vectors_take(sni_vectors *vectors)
{
    sni_vector *vector = vectors->first;

    if (vector == NULL)
        return sni_acquire(vectors->alloc, sizeof *vector);
    vectors->first = vector->next;
    vectors->count--;
    return vector;
}

void
sni_vectors_give(sni_vectors *vectors, sni_vector *vector)
{
    if (vector == NULL)
        return;
    if (vectors->count >= SNI_VECTORS_KEPT) {
        sni_release(vectors->alloc, vector);
        return;
    }
    vector->next = vectors->first;
    vectors->first = vector;
    vectors->count++;
}
