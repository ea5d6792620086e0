/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CLUSTER_H
#define SENNIT_CLUSTER_H

/* Nodes that find each other: a directory says which nodes exist, and every one of
 * them gets a link of the bus. What a node consumes, nodes tell each other over
 * those links (sennit/rpc.h); no directory knows an address. */

#include <sennit/rpc.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sennit_cluster sennit_cluster;

/* What was wrong with a directory, for people: names the entry and what to write
 * instead. */
#define SENNIT_CLUSTER_PROBLEM_MAX 255
typedef struct sennit_cluster_problem {
    char text[SENNIT_CLUSTER_PROBLEM_MAX + 1];
} sennit_cluster_problem;

/* Joins the nodes that `directory` names:
 *   static:ENDPOINT[,ENDPOINT]...  this list, which may include our own endpoint:
 *                                  one file can serve all nodes
 *   zk://...                       not built yet: ENOTSUP
 *   embedded:...                   not built yet: ENOTSUP
 * Takes:  `bus` must outlive the cluster. Links the bus has already are left as
 *         they are. All or nothing: after an error no link was added.
 * Gives:  on failure `*problem` (may be NULL).
 * Blocks: no; sennit_bus_wait_ready() waits for the links.
 * Errors: EINVAL (no directory, or an entry that is malformed, empty or there
 *         twice), ENOTSUP (a directory or transport that is not built), ENOMEM,
 *         ECLOSED, ENAMETOOLONG. */
SENNIT_API sennit_err
sennit_cluster_open(sennit_cluster **out, sennit_bus *bus, const char *directory,
                    sennit_cluster_problem *problem) SENNIT_MUST_CHECK;

/* Ends the links it made. NULL is a no-op. */
SENNIT_API void sennit_cluster_close(sennit_cluster *cluster);

/* How many nodes the directory names, and their endpoints (NULL past the last). */
SENNIT_API size_t sennit_cluster_size(const sennit_cluster *cluster);
SENNIT_API const char *sennit_cluster_endpoint(const sennit_cluster *cluster,
                                               size_t index);

#ifdef __cplusplus
}
#endif

#endif /* SENNIT_CLUSTER_H */
