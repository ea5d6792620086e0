/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_IO_OP_QUEUE_H
#define SENNIT_IO_OP_QUEUE_H

#include "io/io.h"

/* Operations that are done and wait for the next reap() to give them back, in that
 * order. They are linked by themselves, so this never needs memory. */
typedef struct sni_op_queue {
    sni_op *first;
    sni_op **last;
} sni_op_queue;

static inline void
sni_op_queue_init(sni_op_queue *queue)
{
    queue->first = NULL;
    queue->last = &queue->first;
}

static inline bool
sni_op_queue_empty(const sni_op_queue *queue)
{
    return queue->first == NULL;
}

static inline void
sni_op_queue_push(sni_op_queue *queue, sni_op *op)
{
    op->next_ = NULL;
    *queue->last = op;
    queue->last = &op->next_;
}

/* Moves up to `max` to `out`; returns their number. */
static inline int
sni_op_queue_take(sni_op_queue *queue, sni_op **out, int max)
{
    int n = 0;

    while (n < max && queue->first != NULL) {
        out[n++] = queue->first;
        queue->first = queue->first->next_;
    }
    if (queue->first == NULL)
        queue->last = &queue->first;
    return n;
}

#endif /* SENNIT_IO_OP_QUEUE_H */
