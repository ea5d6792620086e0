/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_ENGINE_REFRAME_H
#define SENNIT_ENGINE_REFRAME_H

#include "engine/outq.h"

/* Frames of a queue on their way to a peer that does not take them as they are: today
 * one of ZMTP 1.0, whose heads are others. The queue keeps ZMTP 3 frames, and loses them
 * only as they leave, so what is not written goes out whole on the next connection, to
 * a peer of any version. A mechanism that encrypts will make its frames here.
 *
 * Heads are written into scratch, bodies are the queue's own views. */
typedef struct sni_reframe sni_reframe;

/* NULL: no memory. */
sni_reframe *sni_reframe_new(const sennit_allocator *alloc);

/* NULL is a no-op. */
void sni_reframe_free(sni_reframe *reframe, const sennit_allocator *alloc);

/* Views of what is to be written; 0 when there is nothing. `rest_only`: of the frame that
 * was begun, so that something else can follow it. As with sni_outq_parts(), they stay
 * until wrote(). */
size_t sni_reframe_output(sni_reframe *reframe, sni_outq *outq, bool rest_only,
                          sennit_bytes *parts, size_t parts_max);

/* `size` bytes of the last output were written; the queue loses the frames they are
 * made of. A frame of which any byte was written counts there as begun. Returns how many
 * messages ended. */
size_t sni_reframe_wrote(sni_reframe *reframe, sni_outq *outq, size_t size);

#endif /* SENNIT_ENGINE_REFRAME_H */
