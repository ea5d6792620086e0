/* SPDX-License-Identifier: MIT */
/* A queue that is stuck is seen by what waits in it, not by what has passed: the totals
 * of the proxy alone would look like those of one that has nothing to do. */
#include "proxy_stats.h"

#include <stdio.h>
#include <stdlib.h>

#define SIDES_MAX 4

/* The peers of one side, the fullest first. Zeroed storage is none. */
typedef struct peer_list {
    sennit_peer *peers;
    size_t count;
} peer_list;

static uint64_t
waiting(const sennit_peer *peer)
{
    return peer->queued_bytes + peer->unread_bytes;
}

static int
by_waiting(const void *a, const void *b)
{
    uint64_t left = waiting(a), right = waiting(b);

    return (left < right) - (left > right);
}

/* Gives: false without memory. peer_list_free() is due either way. */
static bool
peer_list_read(peer_list *self, const sennit_sock *sock)
{
    self->count = sennit_sock_get_peers(sock, NULL, 0);
    self->peers = calloc(self->count + 1, sizeof *self->peers);
    if (!self->peers)
        return false;
    (void)sennit_sock_get_peers(sock, self->peers, self->count);
    qsort(self->peers, self->count, sizeof *self->peers, by_waiting);
    return true;
}

static size_t
peer_list_lines(const peer_list *self)
{
    return self->count > PROXY_PEERS_MAX ? PROXY_PEERS_MAX + 1 : self->count;
}

static void
peer_list_free(peer_list *self)
{
    free(self->peers);
}

/* ---- As JSON; NULL without memory -------------------------------------- */

static json_t *
number(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *
count_json(const sennit_proxy_count *count)
{
    return json_pack("{s:o,s:o,s:o}", "msgs", number(count->msgs), "frames",
                     number(count->frames), "bytes", number(count->bytes));
}

static json_t *
totals_json(const sennit_proxy *proxy)
{
    sennit_proxy_stats stats;

    sennit_proxy_get_stats(proxy, &stats);
    return json_pack(
        "{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:b}", "front_received",
        count_json(&stats.front_received), "front_sent", count_json(&stats.front_sent),
        "back_received", count_json(&stats.back_received), "back_sent",
        count_json(&stats.back_sent), "dropped_msgs", number(stats.dropped_msgs),
        "captured_msgs", number(stats.captured_msgs), "missed_msgs",
        number(stats.missed_msgs), "paused", stats.paused);
}

static json_t *
dropped_json(const sennit_sock_stats *stats)
{
    return json_pack(
        "{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "no_peer",
        number(stats->dropped_no_peer_msgs), "hwm", number(stats->dropped_hwm_msgs),
        "disconnect", number(stats->dropped_disconnect_msgs), "memory",
        number(stats->dropped_memory_msgs), "malformed",
        number(stats->dropped_malformed_msgs), "filtered",
        number(stats->dropped_filtered_msgs), "unread",
        number(stats->dropped_unread_msgs), "slow", number(stats->dropped_slow_msgs),
        "conflated", number(stats->dropped_conflated_msgs), "expired",
        number(stats->dropped_expired_msgs));
}

static json_t *
side_json(const proxy_told *side, const peer_list *list)
{
    unsigned ready = sennit_sock_ready(side->sock);
    uint64_t unread_msgs = 0, unread_bytes = 0;
    sennit_sock_stats stats;

    sennit_sock_get_stats(side->sock, &stats);
    for (size_t i = 0; i < list->count; i++) {
        unread_msgs += list->peers[i].unread_msgs;
        unread_bytes += list->peers[i].unread_bytes;
    }
    return json_pack(
        "{s:s,s:O,s:o,s:o,s:b,s:b,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "type",
        sennit_sock_type_name(sennit_sock_get_type(side->sock)), "endpoints",
        side->endpoints, "connections", number(stats.connections), "peers",
        number(list->count), "readable", (ready & SENNIT_READABLE) != 0, "writable",
        (ready & SENNIT_WRITABLE) != 0, "queued_msgs", number(stats.queued_msgs),
        "queued_bytes", number(stats.queued_bytes), "unread_msgs", number(unread_msgs),
        "unread_bytes", number(unread_bytes), "dropped", dropped_json(&stats),
        "handshakes_failed", number(stats.handshakes_failed), "reconnects",
        number(stats.reconnects));
}

static json_t *
peer_json(const char *side, const sennit_peer *peer)
{
    char identity[2 * SENNIT_IDENTITY_MAX + 1] = "";

    for (size_t i = 0; i < peer->identity_size; i++)
        snprintf(identity + 2 * i, 3, "%02x", peer->identity[i]);
    return json_pack("{s:s,s:o,s:o,s:s,s:s,s:b,s:o,s:o,s:o,s:o}", "side", side, "peer",
                     number(peer->number), "endpoint", proxy_stats_text(peer->endpoint),
                     "address", peer->address, "identity", identity, "ready", peer->ready,
                     "queued_msgs", number(peer->queued_msgs), "queued_bytes",
                     number(peer->queued_bytes), "unread_msgs", number(peer->unread_msgs),
                     "unread_bytes", number(peer->unread_bytes));
}

/* ---- Lines ------------------------------------------------------------- */

/* Takes: `line`, which may be NULL. */
static bool
print(json_t *line)
{
    bool ok = line && json_dumpf(line, stdout, JSON_COMPACT) == 0 && putchar('\n') != EOF;

    json_decref(line);
    return ok;
}

static bool
print_peers(const char *side, const peer_list *list)
{
    bool ok = true;

    for (size_t i = 0; ok && i < list->count && i < PROXY_PEERS_MAX; i++)
        ok = print(peer_json(side, &list->peers[i]));
    if (ok && list->count > PROXY_PEERS_MAX)
        ok = print(json_pack("{s:s,s:o}", "side", side, "more_peers",
                             number(list->count - PROXY_PEERS_MAX)));
    return ok;
}

/* ---- Public ------------------------------------------------------------ */

json_t *
proxy_stats_text(const char *text)
{
    json_t *string = json_string(text);
    char ascii[512];
    size_t size = 0;

    if (string)
        return string;
    for (; text[size] && size < sizeof ascii - 1; size++)
        ascii[size] = (unsigned char)text[size] < 0x80 ? text[size] : '?';
    return json_stringn(ascii, size);
}

bool
proxy_stats_print(const sennit_proxy *proxy, const proxy_told *sides, size_t count,
                  bool peers)
{
    peer_list lists[SIDES_MAX] = { { NULL, 0 } };
    json_t *totals = totals_json(proxy);
    size_t lines = 0;
    bool ok = totals != NULL;

    for (size_t i = 0; ok && i < count; i++) {
        if (!sides[i].sock)
            continue;
        ok = peer_list_read(&lists[i], sides[i].sock) &&
             json_object_set_new(totals, sides[i].name,
                                 side_json(&sides[i], &lists[i])) == 0;
        lines += peer_list_lines(&lists[i]);
    }
    ok = ok && json_object_set_new(totals, "peer_lines", number(peers ? lines : 0)) == 0;
    ok = ok && print(json_incref(totals));
    for (size_t i = 0; ok && peers && i < count; i++)
        ok = print_peers(sides[i].name, &lists[i]);
    for (size_t i = 0; i < count; i++)
        peer_list_free(&lists[i]);
    json_decref(totals);
    return fflush(stdout) == 0 && ok;
}
