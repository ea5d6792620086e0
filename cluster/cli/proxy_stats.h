/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CLI_PROXY_STATS_H
#define SENNIT_CLI_PROXY_STATS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include <sennit/proxy.h>
#include <sennit/sennit.h>

/* What `sennit proxy` tells of itself: lines of JSON on stdout. */

/* The most peers of a side that get a line: those with most in their queues. */
#define PROXY_PEERS_MAX 100

/* One of its sockets. */
typedef struct proxy_told {
    const char *name;
    sennit_sock *sock; /* NULL: not there */
    json_t *endpoints; /* an array of strings; borrowed */
} proxy_told;

/* A string of JSON, which is UTF-8; of a text that is not, '?' for each octet that is not
 * ASCII. Gives: ownership; NULL without memory. */
json_t *proxy_stats_text(const char *text);

/* Prints a line with the totals of the proxy and of each side; with `peers` also one for
 * each peer, as many as the first line's "peer_lines" says. Flushes.
 * Gives: false without memory, or when stdout takes no more. */
bool proxy_stats_print(const sennit_proxy *proxy, const proxy_told *sides, size_t count,
                       bool peers);

#endif /* SENNIT_CLI_PROXY_STATS_H */
