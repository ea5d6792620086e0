/* SPDX-License-Identifier: MIT */
#include "engine/lane.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "wire/command.h"

/* What is left of a greeting, and READY behind it. */
#define RUN_BYTES_MIN 128u

void
sni_lane_init(sni_lane *lane, const sennit_allocator *alloc)
{
    *lane = (sni_lane){ .alloc = alloc };
}

void
sni_lane_fini(sni_lane *lane)
{
    sni_release(lane->alloc, lane->first.data);
    sni_release(lane->alloc, lane->second.data);
    sni_lane_init(lane, lane->alloc);
}

size_t
sni_lane_pongs_waiting(const sni_lane *lane)
{
    uint32_t waiting = lane->first.filled - lane->first.written;

    return (size_t)(lane->first.pongs < waiting ? lane->first.pongs : waiting) +
           lane->second.pongs;
}

/* Where the next bytes go. */
static sni_lane_run *
tail(sni_lane *lane)
{
    return lane->lent > 0 || lane->second.filled > 0 ? &lane->second : &lane->first;
}

uint8_t *
sni_lane_reserve(sni_lane *lane, size_t size)
{
    sni_lane_run *run = tail(lane);
    size_t capacity;
    size_t needed;

    /* A peer that is always a little late never lets the lane become empty. */
    if (run->written > run->filled / 2) {
        run->filled -= run->written;
        memmove(run->data, run->data + run->written, run->filled);
        run->written = 0;
    }
    if (size > UINT32_MAX / 2 - run->filled)
        return NULL;
    needed = run->filled + size;
    capacity = run->capacity;
    if (!sni_grow(lane->alloc, &run->data, &capacity,
                  needed > RUN_BYTES_MIN ? needed : RUN_BYTES_MIN, 1))
        return NULL;
    run->capacity = (uint32_t)capacity;
    return run->data + run->filled;
}

void
sni_lane_commit(sni_lane *lane, size_t size)
{
    tail(lane)->filled += (uint32_t)size;
}

sennit_err
sni_lane_put(sni_lane *lane, sennit_bytes bytes)
{
    uint8_t *out;

    if (bytes.size == 0)
        return SENNIT_OK;
    out = sni_lane_reserve(lane, bytes.size);
    if (out == NULL)
        return SENNIT_ENOMEM;
    memcpy(out, bytes.data, bytes.size);
    sni_lane_commit(lane, bytes.size);
    return SENNIT_OK;
}

sennit_err
sni_lane_put_command(sni_lane *lane, const char *name, sennit_bytes data)
{
    uint8_t *out =
        sni_lane_reserve(lane, SNI_FRAME_HEAD_MAX + 1 + strlen(name) + data.size);

    if (out == NULL)
        return SENNIT_ENOMEM;
    sni_lane_commit(lane, sni_command_write(out, name, data));
    return SENNIT_OK;
}

sennit_err
sni_lane_put_pong(sni_lane *lane, sennit_bytes context)
{
    sni_lane_run *run = tail(lane);
    size_t before = sni_lane_waiting(lane);

    if (sni_lane_put_command(lane, "PONG", context) != SENNIT_OK)
        return SENNIT_ENOMEM;
    run->pongs += (uint32_t)(sni_lane_waiting(lane) - before);
    return SENNIT_OK;
}

sennit_bytes
sni_lane_lend(sni_lane *lane)
{
    lane->lent = lane->first.filled - lane->first.written;
    return lane->lent == 0
               ? sni_bytes(NULL, 0)
               : sni_bytes(lane->first.data + lane->first.written, lane->lent);
}

void
sni_lane_wrote(sni_lane *lane, size_t size)
{
    SNI_ASSERT(size <= lane->lent);
    lane->first.written += (uint32_t)size;
    lane->lent = 0;
    if (lane->first.written < lane->first.filled || lane->first.filled == 0)
        return;
    sni_release(lane->alloc, lane->first.data);
    lane->first = lane->second;
    lane->second = (sni_lane_run){ NULL, 0, 0, 0, 0 };
}
