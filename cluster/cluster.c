/* SPDX-License-Identifier: MIT */
/* A directory becomes links of a bus. There is one directory, a list; the others
 * will feed the same two calls, link and unlink. */
#include "sennit/cluster.h"

#include <stdio.h>
#include <string.h>

#include "endpoints.h"

struct sennit_cluster {
    sennit_bus *bus;
    const sennit_allocator *alloc;
    sni_endpoints *endpoints;
    bool *ours; /* whether the link to endpoints->all[i] was made by us */
};

typedef struct scheme {
    const char *prefix;
    const char *missing; /* NULL: built */
} scheme;

static const scheme schemes[] = {
    { "static:", NULL },
    { "zk://", "the ZooKeeper directory (zk://) is not built yet; name the nodes with "
               "static:ENDPOINT,ENDPOINT" },
    { "embedded:", "the embedded directory (embedded:) is not built yet; name the nodes "
                   "with static:ENDPOINT,ENDPOINT" },
};

/* What follows "static:", or why not. */
static sennit_err
find_list(const char *directory, const char **list, sennit_cluster_problem *problem)
{
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        size_t size = strlen(schemes[i].prefix);

        if (strncmp(directory, schemes[i].prefix, size) != 0)
            continue;
        if (schemes[i].missing != NULL) {
            (void)snprintf(problem->text, sizeof problem->text, "%s", schemes[i].missing);
            return SENNIT_ENOTSUP;
        }
        *list = directory + size;
        return SENNIT_OK;
    }
    (void)snprintf(problem->text, sizeof problem->text,
                   "'%.100s' is no directory; write static:ENDPOINT[,ENDPOINT]...",
                   directory);
    return SENNIT_EINVAL;
}

static void
unlink_ours(sennit_cluster *cluster)
{
    for (size_t i = 0; i < cluster->endpoints->count; i++) {
        if (cluster->ours[i])
            (void)sennit_bus_unlink(cluster->bus, cluster->endpoints->all[i]);
    }
}

static sennit_err
link_all(sennit_cluster *cluster, sennit_cluster_problem *problem)
{
    for (size_t i = 0; i < cluster->endpoints->count; i++) {
        const char *endpoint = cluster->endpoints->all[i];
        sennit_err err = sennit_bus_link(cluster->bus, endpoint);

        if (err && err != SENNIT_EEXIST) {
            (void)snprintf(
                problem->text, sizeof problem->text,
                "entry %zu of static:, '%.100s': %s; write tcp://ADDRESS:PORT, "
                "ipc://PATH or inproc://NAME",
                i + 1, endpoint, sennit_err_text(err));
            return err;
        }
        cluster->ours[i] = !err;
    }
    return SENNIT_OK;
}

/* Errors: ENOMEM, EINVAL. */
static sennit_err
cluster_new(sennit_cluster **out, sennit_bus *bus, const char *list,
            sennit_cluster_problem *problem)
{
    const sennit_allocator *alloc = sennit_loop_allocator(sennit_bus_loop(bus));
    sni_endpoints *endpoints;
    sennit_cluster *cluster;
    sennit_err err = sni_endpoints_new(&endpoints, alloc, list, problem);

    if (err)
        return err;
    cluster =
        alloc->acquire(alloc->arg, sizeof *cluster + endpoints->count * sizeof(bool));
    if (cluster == NULL) {
        sni_endpoints_free(endpoints, alloc);
        return SENNIT_ENOMEM;
    }
    cluster->bus = bus;
    cluster->alloc = alloc;
    cluster->endpoints = endpoints;
    cluster->ours = (bool *)(cluster + 1);
    memset(cluster->ours, 0, endpoints->count * sizeof(bool));
    *out = cluster;
    return SENNIT_OK;
}

static void
cluster_free(sennit_cluster *cluster)
{
    const sennit_allocator *alloc = cluster->alloc;

    sni_endpoints_free(cluster->endpoints, alloc);
    alloc->release(alloc->arg, cluster);
}

sennit_err
sennit_cluster_open(sennit_cluster **out, sennit_bus *bus, const char *directory,
                    sennit_cluster_problem *problem)
{
    sennit_cluster_problem ignored;
    sennit_cluster *cluster;
    const char *list;
    sennit_err err;

    if (problem == NULL)
        problem = &ignored;
    (void)snprintf(problem->text, sizeof problem->text, "out of memory");
    err = find_list(directory, &list, problem);
    if (err)
        return err;
    err = cluster_new(&cluster, bus, list, problem);
    if (err)
        return err;
    err = link_all(cluster, problem);
    if (err) {
        unlink_ours(cluster);
        cluster_free(cluster);
        return err;
    }
    problem->text[0] = '\0';
    *out = cluster;
    return SENNIT_OK;
}

void
sennit_cluster_close(sennit_cluster *cluster)
{
    if (cluster == NULL)
        return;
    unlink_ours(cluster);
    cluster_free(cluster);
}

size_t
sennit_cluster_size(const sennit_cluster *cluster)
{
    return cluster->endpoints->count;
}

const char *
sennit_cluster_endpoint(const sennit_cluster *cluster, size_t index)
{
    return index < cluster->endpoints->count ? cluster->endpoints->all[index] : NULL;
}
