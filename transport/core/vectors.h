/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CORE_VECTORS_H
#define SENNIT_CORE_VECTORS_H

#include "base/limits.h"
#include "sennit/sennit.h"

/* Room for the views of a large send, which must stay until the kernel is done with it.
 * That is at once in nearly all cases, so a loop lends it: a connection that is idle, or
 * sends little, keeps none. */
typedef struct sni_vector {
    sennit_bytes parts[SNI_SEND_PARTS];
    struct sni_vector *next; /* of those not lent */
} sni_vector;

typedef struct sni_vectors {
    const sennit_allocator *alloc;
    sni_vector *first;
    unsigned count;
} sni_vectors;

void sni_vectors_init(sni_vectors *vectors, const sennit_allocator *alloc);

/* All that were lent are back. */
void sni_vectors_fini(sni_vectors *vectors);

/* Lends one; NULL: there is no memory. */
sni_vector *sni_vectors_take(sni_vectors *vectors);

/* It is back; NULL is a no-op. */
void sni_vectors_give(sni_vectors *vectors, sni_vector *vector);

#endif /* SENNIT_CORE_VECTORS_H */
