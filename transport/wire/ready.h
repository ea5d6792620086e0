/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_WIRE_READY_H
#define SENNIT_WIRE_READY_H

#include "wire/frame.h"

/* READY, the whole of the NULL mechanism's handshake (RFC 37, "The NULL Security
 * Mechanism"): both peers send theirs without waiting for the other's. */
typedef struct sni_ready {
    sennit_bytes identity;  /* 0..255 octets; borrowed from the command */
    int type;               /* the peer's sennit_sock_type; -1: it sent none */
    size_t properties_size; /* octets of the other properties, as they stand */
    const char *problem;    /* static text when reading failed */
} sni_ready;

/* Largest READY we write without further properties: both ours and a full identity. */
#define SNI_READY_MAX                                                                    \
    (SNI_FRAME_HEAD_MAX + 6u + 5u + 11u + 6u + 5u + 8u + SENNIT_IDENTITY_MAX)

/* Writes the command frame of a socket of this type; returns its size. */
size_t sni_ready_write(uint8_t *out, sennit_sock_type type, sennit_bytes identity);

/* The same with encoded properties behind them. SNI_READY_MAX counts a full identity: of
 * `out` no more is written than that less what this one is shorter, and the properties.
 */
size_t sni_ready_write_with(uint8_t *out, sennit_sock_type type, sennit_bytes identity,
                            sennit_bytes properties);

/* Checks the metadata of a peer's READY against our own type. Stricter than
 * libzmq where it is only sloppy: duplicate properties, illegal names, an
 * identity over 255 octets are refused. An identity may begin with 0, which RFC 23 keeps
 * for those that are made up: peers of libzmq send binary ones. A missing Socket-Type
 * is accepted, as libzmq does. Returns false and the problem. */
bool sni_ready_read(sennit_bytes metadata, sennit_sock_type ours, sni_ready *ready);

/* Copies the properties of checked metadata that are neither Socket-Type nor Identity
 * to `out`: sni_ready's properties_size octets. */
void sni_ready_copy_properties(sennit_bytes metadata, uint8_t *out);

#endif /* SENNIT_WIRE_READY_H */
