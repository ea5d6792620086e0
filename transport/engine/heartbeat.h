/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_ENGINE_HEARTBEAT_H
#define SENNIT_ENGINE_HEARTBEAT_H

#include "base/bytes.h"

/* When a connection says that it lives, and until when it must hear from its peer.
 * Three times, each SENNIT_NEVER when it does not run:
 *   ping_due  an interval after READY, then an interval after each PING; half of it while
 *             we do not hear
 *   pong_by   from the moment our PING is written until any byte comes
 *   ttl_by    from a PING of the peer that has a time to live until any byte comes
 *
 * Silence counts only while we could hear. The two deadlines begin anew (their whole
 * time from the next tick) when a connection hears again: by then a peer that was held
 * up has had no time to answer. That, and a PING that was written at a time nobody
 * told, is the state ANEW, which asks for a tick at once. */
typedef struct sni_heartbeat {
    sennit_time interval; /* 0: no PINGs */
    sennit_time timeout;  /* 0: none */
    sennit_time ping_due;
    sennit_time pong_by;
    sennit_time ttl_by;
    uint32_t ping_left; /* octets of the control lane up to the end of our PING; 0: none
                         waits there */
    uint16_t ttl_ds;    /* of the PING that set ttl_by */
} sni_heartbeat;

void sni_heartbeat_init(sni_heartbeat *heart, sennit_time interval, sennit_time timeout);

/* The handshake is done with a peer that knows PING. */
void sni_heartbeat_start(sni_heartbeat *heart, sennit_time now);

/* Bytes came. */
static inline void
sni_heartbeat_heard(sni_heartbeat *heart)
{
    heart->pong_by = SENNIT_NEVER;
    heart->ttl_by = SENNIT_NEVER;
}

/* The last bytes that came are a PING with this time to live. */
void sni_heartbeat_pinged(sni_heartbeat *heart, uint16_t ttl_ds, sennit_time now);

/* When to tick; `hearing` as for sni_engine_deadline(). */
sennit_time sni_heartbeat_deadline(sni_heartbeat *heart, bool hearing);

/* Time passes. Returns why the connection is dead, or NULL. */
const char *sni_heartbeat_tick(sni_heartbeat *heart, sennit_time now, bool hearing);

/* Whether a PING is to be queued now; if so, the next is due an interval later. False
 * while one waits to be written: they do not pile up behind a peer that reads nothing. */
bool sni_heartbeat_takes_ping(sni_heartbeat *heart, sennit_time now, bool hearing);

/* It was queued: its last octet is the `size`th that waits on the control lane. */
void sni_heartbeat_queued(sni_heartbeat *heart, size_t size);

/* So many octets of the control lane were written. */
void sni_heartbeat_wrote(sni_heartbeat *heart, size_t size);

#endif /* SENNIT_ENGINE_HEARTBEAT_H */
