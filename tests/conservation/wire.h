/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_TEST_WIRE_H
#define SENNIT_TEST_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads one direction of a ZMTP 3 connection with a parser of its own, so that what the
 * model believes was written does not come from the library under test. */

/* Octets kept of each frame's body: enough for a command's topic and a body's head. */
#define WIRE_KEPT 64

typedef struct wire_frame {
    bool more;
    bool command;
    uint64_t size;
    size_t kept_size;
    uint8_t kept[WIRE_KEPT];
} wire_frame;

typedef struct wire_reader {
    uint64_t to_skip; /* of the greeting, or of a body beyond what is kept */
    uint8_t head[9];
    size_t head_size;
    bool in_body;
    bool greeted;
    wire_frame frame;
} wire_reader;

void wire_reader_init(wire_reader *reader);

/* Takes octets; `done(arg, frame)` is called at the last octet of each frame. */
void wire_reader_feed(wire_reader *reader, const uint8_t *data, size_t size,
                      void (*done)(void *arg, const wire_frame *frame), void *arg);

#endif /* SENNIT_TEST_WIRE_H */
