/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_ENGINE_HANDSHAKE_H
#define SENNIT_ENGINE_HANDSHAKE_H

#include "engine/engine.h"
#include "engine/lane.h"
#include "wire/frame.h"

/* What two peers tell each other before the first message, in every version of ZMTP:
 * a greeting, then one hello each (READY; before 3.0 a frame with the identity). Our
 * octets go onto the control lane as soon as the peer's allow it. */
typedef struct sni_handshake {
    const sennit_allocator *alloc;
    uint8_t *own;  /* our identity, then our properties; NULL: neither, or told */
    uint8_t *said; /* the peer's; NULL: neither */
    uint32_t own_size;
    uint32_t said_size;
    uint8_t own_identity_size;
    uint8_t identity_size;
    uint8_t type;     /* ours */
    int8_t peer_type; /* -1: unknown */
    uint8_t major;    /* of the peer, once its greeting is here; 0: it speaks no ZMTP */
    uint8_t minor;
    uint8_t greeting_sent;   /* octets */
    bool hello_sent;         /* ours is on the control lane or through it */
    bool identity_announced; /* our signature is the head of our identity frame */
    bool unversioned;        /* such peers are taken */
} sni_handshake;

/* Why a connection cannot go on. */
typedef struct sni_fault {
    sennit_err err;
    const char *reason;
} sni_fault;

/* Errors: ENOMEM; fini is due all the same. */
sennit_err sni_handshake_init(sni_handshake *shake, const sni_engine_cfg *cfg,
                              sni_lane *lane);
void sni_handshake_fini(sni_handshake *shake);

/* Sends our hello, once. Errors: ENOMEM. */
sennit_err sni_handshake_tell(sni_handshake *shake, sni_lane *lane);

/* The peer's greeting, then its hello. `*used` octets of `in` are read on DONE; MORE asks
 * for a longer prefix; BAD gives the fault. */
sni_parse sni_handshake_greeting(sni_handshake *shake, sni_lane *lane, sennit_bytes in,
                                 size_t *used, sni_fault *fault);
sni_parse sni_handshake_hello(sni_handshake *shake, sennit_bytes in, size_t *used,
                              sni_fault *fault);

/* What the peer said, borrowed: its identity, and its other properties, encoded. */
sennit_bytes sni_handshake_identity(const sni_handshake *shake);
sennit_bytes sni_handshake_properties(const sni_handshake *shake);

#endif /* SENNIT_ENGINE_HANDSHAKE_H */
