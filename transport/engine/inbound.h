/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_ENGINE_INBOUND_H
#define SENNIT_ENGINE_INBOUND_H

#include "engine/engine.h"
#include "engine/window.h"
#include "wire/command.h"

/* The receiving half of a connection in traffic: received bytes, looked at once as they
 * come (frames, limits, commands), and handed out frame by frame as they are asked for.
 * Before that, the bytes of the handshake. */
typedef struct sni_inbound {
    /* Of the engine's configuration, which is not kept: idle connections are many. */
    const sennit_allocator *alloc;
    sni_pool *windows;
    sni_bodies *bodies;
    uint64_t frame_max_bytes;
    uint64_t message_max_bytes;
    uint32_t message_max_parts;
    uint32_t quick_max; /* a frame that is the first and last of its message and no
                           larger breaks no limit */
    uint32_t peer;
    bool publisher;
    bool raw;
    bool v1;           /* frames of ZMTP 1.0 */
    bool has_commands; /* ZMTP 3 */

    sni_window window;
    size_t unread;          /* whole messages in [parsed, scanned) */
    uint64_t message_bytes; /* of the message being scanned */
    uint32_t message_parts;
    uint32_t proven; /* octets of whole frames that were here at a time, at most */
} sni_inbound;

void sni_inbound_init(sni_inbound *in, const sni_engine_cfg *cfg);
void sni_inbound_fini(sni_inbound *in);

/* The peer's major version, before the first frame of traffic. */
void sni_inbound_set_version(sni_inbound *in, uint8_t major);

/* Bytes of the handshake were read. */
void sni_inbound_consume(sni_inbound *in, size_t size);

/* One pass over what was fed. */
typedef struct sni_scan {
    size_t commands_from; /* the last run of commands between messages ... */
    size_t commands_to;   /* ... that nobody will ask for */
    sni_command command;  /* COMMAND: it, borrowed until the next call */
    bool last;            /* and whether nothing came behind it */
    const char *problem;  /* BAD */
} sni_scan;

typedef enum sni_scan_result {
    SNI_SCAN_DONE,    /* all whole frames are looked at */
    SNI_SCAN_COMMAND, /* one to obey; then scan again */
    SNI_SCAN_BAD,
} sni_scan_result;

/* Looks at the frames that have become whole. `scan` begins as { 0 }. */
sni_scan_result sni_inbound_scan(sni_inbound *in, sni_scan *scan);

/* Whether the end of the stream would be in the middle of something. */
bool sni_inbound_inside(const sni_inbound *in);

/* MESSAGE, SUBSCRIBE and CANCEL; false when there is none, or no memory for one. */
bool sni_inbound_next(sni_inbound *in, sni_engine_event *event);

/* Takes the next frame of a message into the EMPTY `msg`; not of a publisher's. */
bool sni_inbound_take(sni_inbound *in, sni_msg *msg);

/* As sni_engine_sink() and sni_engine_spare(). Errors: ENOMEM. */
sennit_err sni_inbound_sink(sni_inbound *in, sni_engine_room *room);
size_t sni_inbound_spare(const sni_inbound *in);

#endif /* SENNIT_ENGINE_INBOUND_H */
