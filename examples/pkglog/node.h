/* SPDX-License-Identifier: MIT */
#ifndef PKGLOG_NODE_H
#define PKGLOG_NODE_H

/* What each of the programs is: a loop with a bus on it, and a name to complain
 * under. */

#include <sennit/rpc.h>

typedef struct node {
    const char *program;
    sennit_loop *loop;
    sennit_bus *bus;
    sennit_arena *arena; /* for results of calls */
} node;

/* Opens all of it. A failure is reported; the node may be closed either way. */
sennit_err node_open(node *node, const char *program);
void node_close(node *node);

/* Prints "PROGRAM: TEXT" on standard error. */
void node_say(const node *node, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Reads a whole decimal number up to `max`. False: not one. */
bool node_parse_number(const char *text, uint64_t max, uint64_t *out);

#endif /* PKGLOG_NODE_H */
