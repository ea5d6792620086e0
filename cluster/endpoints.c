/* SPDX-License-Identifier: MIT */
#include "endpoints.h"

#include <stdio.h>
#include <string.h>

static size_t
count_entries(const char *list)
{
    size_t count = 1;

    for (const char *at = list; *at != '\0'; at++)
        count += *at == ',';
    return count;
}

static sennit_err
check_entry(const sni_endpoints *before, const char *entry,
            sennit_cluster_problem *problem)
{
    if (*entry == '\0') {
        (void)snprintf(problem->text, sizeof problem->text,
                       "entry %zu of static: is empty; write "
                       "static:tcp://ADDRESS:PORT,tcp://ADDRESS:PORT",
                       before->count + 1);
        return SENNIT_EINVAL;
    }
    for (size_t i = 0; i < before->count; i++) {
        if (strcmp(before->all[i], entry) == 0) {
            (void)snprintf(problem->text, sizeof problem->text,
                           "entries %zu and %zu of static: are both '%.100s'", i + 1,
                           before->count + 1, entry);
            return SENNIT_EINVAL;
        }
    }
    return SENNIT_OK;
}

sennit_err
sni_endpoints_new(sni_endpoints **out, const sennit_allocator *alloc, const char *list,
                  sennit_cluster_problem *problem)
{
    size_t entries = count_entries(list);
    size_t text_size = strlen(list) + 1;
    size_t head_size = sizeof(sni_endpoints) + entries * sizeof(const char *);
    sni_endpoints *endpoints = alloc->acquire(alloc->arg, head_size + text_size);
    char *at;

    if (endpoints == NULL)
        return SENNIT_ENOMEM;
    endpoints->count = 0;
    at = (char *)endpoints + head_size;
    memcpy(at, list, text_size);
    for (size_t i = 0; i < entries; i++) {
        char *end = at + strcspn(at, ",");
        sennit_err err;

        *end = '\0';
        err = check_entry(endpoints, at, problem);
        if (err) {
            sni_endpoints_free(endpoints, alloc);
            return err;
        }
        endpoints->all[endpoints->count++] = at;
        at = end + 1;
    }
    *out = endpoints;
    return SENNIT_OK;
}

void
sni_endpoints_free(sni_endpoints *endpoints, const sennit_allocator *alloc)
{
    if (endpoints != NULL)
        alloc->release(alloc->arg, endpoints);
}
