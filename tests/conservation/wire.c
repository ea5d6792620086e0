/* SPDX-License-Identifier: MIT */
#include "wire.h"

#include <string.h>

#include "wrong.h"

#define GREETING_SIZE 64
#define FLAG_MORE     1u
#define FLAG_LONG     2u
#define FLAG_COMMAND  4u

void
wire_reader_init(wire_reader *reader)
{
    memset(reader, 0, sizeof *reader);
    reader->to_skip = GREETING_SIZE;
}

static size_t
smaller(uint64_t a, size_t b)
{
    return a < b ? (size_t)a : b;
}

/* Collects the octets of a frame head; returns how many it took. */
static size_t
feed_head(wire_reader *reader, const uint8_t *data, size_t size)
{
    size_t taken = 0;
    uint64_t body = 0;
    size_t wanted;

    if (reader->head_size == 0)
        reader->head[reader->head_size++] = data[taken++];
    if (reader->head[0] & ~(FLAG_MORE | FLAG_LONG | FLAG_COMMAND))
        wrong("a frame with the flags %02x was written", reader->head[0]);
    wanted = reader->head[0] & FLAG_LONG ? 9 : 2;
    while (taken < size && reader->head_size < wanted)
        reader->head[reader->head_size++] = data[taken++];
    if (reader->head_size < wanted)
        return taken;
    for (size_t i = 1; i < wanted; i++)
        body = body << 8 | reader->head[i];
    reader->frame.more = reader->head[0] & FLAG_MORE;
    reader->frame.command = reader->head[0] & FLAG_COMMAND;
    reader->frame.size = body;
    reader->frame.kept_size = 0;
    reader->to_skip = body > WIRE_KEPT ? body - WIRE_KEPT : 0;
    reader->in_body = true;
    reader->head_size = 0;
    return taken;
}

void
wire_reader_feed(wire_reader *reader, const uint8_t *data, size_t size,
                 void (*done)(void *arg, const wire_frame *frame), void *arg)
{
    size_t at = 0;

    if (!reader->greeted) {
        at = smaller(reader->to_skip, size);
        reader->to_skip -= at;
        reader->greeted = reader->to_skip == 0;
    }
    while (at < size) {
        wire_frame *frame = &reader->frame;
        size_t part;

        if (!reader->in_body) {
            at += feed_head(reader, data + at, size - at);
            if (!reader->in_body || (frame->size > 0 && at == size))
                continue;
        }
        part = smaller(smaller(frame->size, WIRE_KEPT) - frame->kept_size, size - at);
        if (part > 0)
            memcpy(frame->kept + frame->kept_size, data + at, part);
        frame->kept_size += part;
        at += part;
        part = smaller(reader->to_skip, size - at);
        reader->to_skip -= part;
        at += part;
        if (reader->to_skip > 0 || frame->kept_size < smaller(frame->size, WIRE_KEPT))
            return;
        reader->in_body = false;
        done(arg, frame);
    }
}
