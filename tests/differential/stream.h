/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_TEST_STREAM_H
#define SENNIT_TEST_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "rng.h"

/* What a peer might send, mostly right and sometimes not: a greeting, what ends the
 * handshake, and traffic. In three parts, because libzmq breaks a connection on which
 * anything comes before its own READY has left. */
#define STREAM_PART_MAX 8192

typedef struct stream_part {
    uint8_t octets[STREAM_PART_MAX];
    size_t size;
} stream_part;

typedef struct stream {
    stream_part greeting;
    stream_part ready; /* READY, or the identity of an old version */
    stream_part traffic;
} stream;

/* A stream for a peer of type `peer_type` ("PUSH"). */
void stream_make(stream *s, const char *peer_type, test_rng *rng);

#endif /* SENNIT_TEST_STREAM_H */
