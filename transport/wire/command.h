/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_WIRE_COMMAND_H
#define SENNIT_WIRE_COMMAND_H

#include "wire/frame.h"

/* ZMTP 3.x commands (RFC 37, "Commands"): name-length, name, data, as the body of
 * a frame with the COMMAND flag. */
typedef enum sni_command_kind {
    SNI_COMMAND_UNKNOWN, /* to be ignored in traffic */
    SNI_COMMAND_READY,
    SNI_COMMAND_ERROR,
    SNI_COMMAND_PING,
    SNI_COMMAND_PONG,
    SNI_COMMAND_SUBSCRIBE,
    SNI_COMMAND_CANCEL,
} sni_command_kind;

typedef struct sni_command {
    sni_command_kind kind;
    sennit_bytes data; /* READY: metadata; ERROR: reason; PING, PONG: context;
                          SUBSCRIBE, CANCEL: topic. Borrowed from the body. */
    uint16_t ttl_ds;   /* PING: deciseconds, 0: none */
} sni_command;

#define SNI_PING_CONTEXT_MAX 16u

/* Splits the body of a command frame.
 *
 * Returns NULL and `*command`, or static text that says what is wrong: an empty
 * name, a name longer than the body, a PING or PONG of a wrong size, an ERROR
 * whose reason does not fit. Names are case-sensitive, as libzmq's. */
const char *sni_command_read(sennit_bytes body, sni_command *command);

/* Looks for a wire bug of libzmq up to 4.3.4 at the front of `in`, which is a command
 * frame of no octets when taken literally: SUBSCRIBE of 246 to 255 octets and CANCEL of
 * 249 to 255 have a size of 8 octets without the flag that says so.
 *
 * Returns DONE with the head that was meant, MORE when it may still be one, BAD when it
 * is none (both are left untouched). */
sni_parse sni_command_misframed(sennit_bytes in, sni_frame_head *head, size_t *used);

/* Writes frame head, name and data of one command at `out`; returns the size.
 * `out` has room for SNI_FRAME_HEAD_MAX + 1 + strlen(name) + data.size. */
size_t sni_command_write(uint8_t *out, const char *name, sennit_bytes data);

#endif /* SENNIT_WIRE_COMMAND_H */
