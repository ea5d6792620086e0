/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CLUSTER_ENDPOINTS_H
#define SENNIT_CLUSTER_ENDPOINTS_H

#include "sennit/cluster.h"

/* A list of endpoints, in one allocation. */
typedef struct sni_endpoints {
    size_t count;
    const char *all[];
} sni_endpoints;

/* Reads "ENDPOINT[,ENDPOINT]...". Checks that no entry is empty or there twice; what
 * an endpoint is, the bus knows.
 * Errors: EINVAL with `*problem` set, ENOMEM. */
sennit_err sni_endpoints_new(sni_endpoints **out, const sennit_allocator *alloc,
                             const char *list, sennit_cluster_problem *problem);
void sni_endpoints_free(sni_endpoints *endpoints, const sennit_allocator *alloc);

#endif /* SENNIT_CLUSTER_ENDPOINTS_H */
