/* SPDX-License-Identifier: MIT */
#include "engine/heartbeat.h"

#define ANEW              UINT64_C(0) /* a time that is always past */
#define DECISECONDS(time) ((sennit_time)(time)*100000000u)

void
sni_heartbeat_init(sni_heartbeat *heart, sennit_time interval, sennit_time timeout)
{
    *heart = (sni_heartbeat){ .interval = interval,
                              .timeout = timeout,
                              .ping_due = SENNIT_NEVER,
                              .pong_by = SENNIT_NEVER,
                              .ttl_by = SENNIT_NEVER };
}

/* Never before: a time beyond the end of time is that end. */
static sennit_time
after(sennit_time now, sennit_time delay)
{
    return delay < SENNIT_NEVER - now ? now + delay : SENNIT_NEVER;
}

void
sni_heartbeat_start(sni_heartbeat *heart, sennit_time now)
{
    if (heart->interval > 0)
        heart->ping_due = after(now, heart->interval);
}

void
sni_heartbeat_pinged(sni_heartbeat *heart, uint16_t ttl_ds, sennit_time now)
{
    heart->ttl_ds = ttl_ds;
    heart->ttl_by = ttl_ds > 0 ? after(now, DECISECONDS(ttl_ds)) : SENNIT_NEVER;
}

static void
begin_anew(sennit_time *deadline)
{
    if (*deadline != SENNIT_NEVER)
        *deadline = ANEW;
}

/* Who does not read answers no PING, and lives by its own: twice as often, so that one is
 * with a peer of the same interval before that gives up. */
static sennit_time
due(const sni_heartbeat *heart, bool hearing)
{
    if (hearing || heart->ping_due == SENNIT_NEVER)
        return heart->ping_due;
    return heart->ping_due - heart->interval / 2;
}

sennit_time
sni_heartbeat_deadline(sni_heartbeat *heart, bool hearing)
{
    sennit_time earliest = due(heart, hearing);

    if (!hearing) {
        begin_anew(&heart->pong_by);
        begin_anew(&heart->ttl_by);
        return earliest;
    }
    if (heart->pong_by < earliest)
        earliest = heart->pong_by;
    return heart->ttl_by < earliest ? heart->ttl_by : earliest;
}

const char *
sni_heartbeat_tick(sni_heartbeat *heart, sennit_time now, bool hearing)
{
    if (!hearing) {
        begin_anew(&heart->pong_by);
        begin_anew(&heart->ttl_by);
        return NULL;
    }
    if (heart->pong_by == ANEW)
        heart->pong_by = after(now, heart->timeout);
    if (heart->ttl_by == ANEW)
        heart->ttl_by = after(now, DECISECONDS(heart->ttl_ds));
    if (now >= heart->pong_by)
        return "nothing received within heartbeat_timeout of our PING";
    return now >= heart->ttl_by ? "nothing received within the peer's PING TTL" : NULL;
}

bool
sni_heartbeat_takes_ping(sni_heartbeat *heart, sennit_time now, bool hearing)
{
    if (now < due(heart, hearing))
        return false;
    heart->ping_due = after(now, heart->interval);
    return heart->ping_left == 0;
}

void
sni_heartbeat_queued(sni_heartbeat *heart, size_t size)
{
    heart->ping_left = (uint32_t)size;
}

void
sni_heartbeat_wrote(sni_heartbeat *heart, size_t size)
{
    if (heart->ping_left == 0)
        return;
    heart->ping_left -= size < heart->ping_left ? (uint32_t)size : heart->ping_left;
    /* One that runs is for an earlier PING. */
    if (heart->ping_left == 0 && heart->timeout > 0 && heart->pong_by == SENNIT_NEVER)
        heart->pong_by = ANEW;
}
