/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_ENGINE_LANE_H
#define SENNIT_ENGINE_LANE_H

#include "base/bytes.h"

/* The control lane of a connection: bytes that go out before any data. There are two
 * runs, because the one being sent must not move while the kernel may read it: what is
 * added meanwhile waits in the second. An idle peer keeps no buffer. */
typedef struct sni_lane_run {
    uint8_t *data;
    uint32_t written;
    uint32_t filled;
    uint32_t capacity;
    uint32_t pongs; /* octets of PONGs ever put on it */
} sni_lane_run;     /* law: written <= filled <= capacity */

typedef struct sni_lane {
    const sennit_allocator *alloc;
    sni_lane_run first;
    sni_lane_run second;
    size_t lent; /* octets of the first that were handed out to be written */
} sni_lane;

void sni_lane_init(sni_lane *lane, const sennit_allocator *alloc);
void sni_lane_fini(sni_lane *lane);

static inline size_t
sni_lane_waiting(const sni_lane *lane)
{
    return (size_t)lane->first.filled - lane->first.written + lane->second.filled;
}

/* Octets of PONGs that wait: as many as were put there, but no more than wait. */
size_t sni_lane_pongs_waiting(const sni_lane *lane);

/* Room for `size` bytes at the end; they count once commit says so, which may say less.
 * NULL: no memory, or 2 GiB wait already. */
uint8_t *sni_lane_reserve(sni_lane *lane, size_t size);
void sni_lane_commit(sni_lane *lane, size_t size);

/* Errors of all three: ENOMEM. */
sennit_err sni_lane_put(sni_lane *lane, sennit_bytes bytes);
sennit_err sni_lane_put_command(sni_lane *lane, const char *name, sennit_bytes data);
sennit_err sni_lane_put_pong(sni_lane *lane, sennit_bytes context);

/* What is to be written next; it does not move until wrote(). */
sennit_bytes sni_lane_lend(sni_lane *lane);

/* `size` bytes of what was lent were written. */
void sni_lane_wrote(sni_lane *lane, size_t size);

#endif /* SENNIT_ENGINE_LANE_H */
