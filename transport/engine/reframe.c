/* SPDX-License-Identifier: MIT */
#include "engine/reframe.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/limits.h"
#include "wire/frame_v1.h"

/* Frames of one output. */
#define FRAMES_MAX 16u

typedef struct frame {
    uint64_t body_size;
    uint8_t head[SNI_FRAME_V1_HEAD_MAX];
    uint8_t head_size;
    uint8_t queued_head_size; /* of the same frame in the queue */
} frame;

struct sni_reframe {
    frame frames[FRAMES_MAX]; /* of the last output; the first may be begun */
    size_t count;
    uint64_t written; /* of the first frame, head included */
};

sni_reframe *
sni_reframe_new(const sennit_allocator *alloc)
{
    return sni_acquire_zero(alloc, sizeof(sni_reframe));
}

void
sni_reframe_free(sni_reframe *reframe, const sennit_allocator *alloc)
{
    sni_release(alloc, reframe);
}

/* What the queue has lost when `written` octets of the new form are out. While a head
 * is under way that is one octet, so that the queue knows the frame as begun. */
static uint64_t
lost(const frame *f, uint64_t written)
{
    if (written < f->head_size)
        return written > 0;
    return f->queued_head_size + (written - f->head_size);
}

/* A place in the views of a queue. */
typedef struct cursor {
    const sennit_bytes *views;
    size_t views_count;
    size_t at;     /* the view */
    size_t offset; /* in it */
} cursor;

/* The next bytes of the queue, up to `max` and in one piece; 0 at the end. */
static sennit_bytes
step(cursor *from, uint64_t max)
{
    sennit_bytes view;
    size_t size;

    if (from->at == from->views_count)
        return sni_bytes(NULL, 0);
    view = from->views[from->at];
    size = view.size - from->offset < max ? view.size - from->offset : (size_t)max;
    view = sni_bytes(view.data + from->offset, size);
    from->offset += size;
    if (from->offset == from->views[from->at].size) {
        from->at++;
        from->offset = 0;
    }
    return view;
}

/* Reads the next frame's head; false at the end of the views. Heads are whole. */
static bool
read_head(cursor *from, frame *f)
{
    sni_frame_head head;
    size_t used = 0;
    sennit_bytes view;
    sni_parse parse;

    if (from->at == from->views_count)
        return false;
    view = from->views[from->at];
    parse = sni_frame_head_read(
        sni_bytes(view.data + from->offset, view.size - from->offset), &head, &used);
    SNI_ASSERT(parse == SNI_PARSE_DONE);
    (void)step(from, used);
    f->body_size = head.body_size;
    f->queued_head_size = (uint8_t)used;
    f->head_size = (uint8_t)sni_frame_v1_head_write(f->head, head.more, head.body_size);
    return true;
}

/* Adds views of a frame from octet `written` on; false when not all of it is there. */
static bool
add_frame(const frame *f, uint64_t written, cursor *from, sennit_bytes *parts,
          size_t parts_max, size_t *count)
{
    uint64_t left = f->body_size;

    if (written < f->head_size)
        parts[(*count)++] = sni_bytes(f->head + written, f->head_size - (size_t)written);
    else
        left -= written - f->head_size;
    while (left > 0 && *count < parts_max) {
        sennit_bytes piece = step(from, left);

        if (piece.size == 0)
            return false;
        parts[(*count)++] = piece;
        left -= piece.size;
    }
    return left == 0;
}

size_t
sni_reframe_output(sni_reframe *reframe, sni_outq *outq, bool rest_only,
                   sennit_bytes *parts, size_t parts_max)
{
    sennit_bytes views[SNI_SEND_PARTS];
    cursor from = { views, 0, 0, 0 };
    size_t count = 0;
    bool whole = true;

    if (rest_only && reframe->written == 0)
        return 0;
    from.views_count = sni_outq_parts(outq, 0, views, SNI_SEND_PARTS, SNI_SEND_BYTES);
    if (reframe->written > 0) {
        const frame *begun = &reframe->frames[0];

        if (reframe->written < begun->head_size)
            (void)step(&from, begun->queued_head_size - 1u);
        whole = add_frame(begun, reframe->written, &from, parts, parts_max, &count);
    }
    reframe->count = reframe->written > 0;
    while (!rest_only && whole && reframe->count < FRAMES_MAX && count < parts_max &&
           read_head(&from, &reframe->frames[reframe->count]))
        whole = add_frame(&reframe->frames[reframe->count++], 0, &from, parts, parts_max,
                          &count);
    return count;
}

size_t
sni_reframe_wrote(sni_reframe *reframe, sni_outq *outq, size_t size)
{
    uint64_t gone = 0;
    size_t at = 0;

    while (size > 0) {
        const frame *f = &reframe->frames[at];
        uint64_t left = f->head_size + f->body_size - reframe->written;
        size_t here = size < left ? size : (size_t)left;

        SNI_ASSERT(at < reframe->count);
        gone += lost(f, reframe->written + here) - lost(f, reframe->written);
        reframe->written += here;
        size -= here;
        if (here == left) {
            reframe->written = 0;
            at++;
        }
    }
    if (reframe->written > 0)
        reframe->frames[0] = reframe->frames[at];
    return sni_outq_wrote(outq, (size_t)gone);
}
