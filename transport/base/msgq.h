/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_BASE_MSGQ_H
#define SENNIT_BASE_MSGQ_H

#include "base/msg.h"

/* Frames of whole messages, first in first out, in a ring that doubles. Frames of
 * a message that is not finished yet are in it but cannot be popped, and can be
 * taken back with sni_msgq_rollback(). Law: readable <= count <= capacity, which is 0
 * or a power of two. */
typedef struct sni_msgq {
    const sennit_allocator *alloc;
    sni_msg *ring;
    size_t capacity;
    size_t first;
    size_t count;    /* frames in the ring */
    size_t readable; /* of these, frames of finished messages */
    size_t msgs;     /* finished messages */
    size_t bytes;    /* bodies of all frames in the ring */
} sni_msgq;

void sni_msgq_init(sni_msgq *queue, const sennit_allocator *alloc);
void sni_msgq_fini(sni_msgq *queue);

/* Appends a frame. Takes: `msg` on success. Errors: ENOMEM. */
sennit_err sni_msgq_push(sni_msgq *queue, sni_msg *msg, bool more);

/* Puts a message of one frame before the one whose first frame is at position `at` of
 * the queue, or at its end. Takes: `msg` on success. Errors: ENOMEM. */
sennit_err sni_msgq_insert(sni_msgq *queue, size_t at, sni_msg *msg);

/* Room for one more frame: the next push cannot fail. Errors: ENOMEM. */
sennit_err sni_msgq_reserve(sni_msgq *queue);

/* Takes the oldest frame of a finished message into the EMPTY `msg`. */
bool sni_msgq_pop(sni_msgq *queue, sni_msg *msg);

/* Drops the frames of the unfinished message, if any. */
void sni_msgq_rollback(sni_msgq *queue);

/* The frame at a position, counted from the front. */
const sni_msg *sni_msgq_at(const sni_msgq *queue, size_t at);

/* Where the message behind the finished one begins that the frame at `at` belongs to. */
size_t sni_msgq_behind(const sni_msgq *queue, size_t at);

/* Drops the finished message that begins at `at`. */
void sni_msgq_drop(sni_msgq *queue, size_t at);

#endif /* SENNIT_BASE_MSGQ_H */
