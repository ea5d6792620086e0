/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_IO_HELD_H
#define SENNIT_IO_HELD_H

#include "base/alloc.h"
#include "base/list.h"

/* Connections that were accepted and nobody has asked for, in the order in which they
 * came. The room for them is there from the beginning, so that nobody is turned away for
 * want of memory. */
typedef struct sni_held {
    sni_link link; /* of all listeners */
    int listener;
    unsigned first;
    unsigned count;
    unsigned room;
    int fds[];
} sni_held;

/* Linked into `all`. NULL: no memory. */
sni_held *sni_held_new(const sennit_allocator *alloc, sni_link *all, int listener,
                       unsigned room);

/* Closes what is held, and takes it off the list. `shared`: as sni_stream_close(). */
void sni_held_close(sni_held *held, bool shared);

/* Whether one of `all` is of that listener. */
bool sni_held_listens(sni_link *all, int listener);

/* Holds one more; without room it is closed. */
void sni_held_push(sni_held *held, int fd);

/* The one that came first; there is one. */
int sni_held_first(const sni_held *held);
void sni_held_pop(sni_held *held);

/* Whether it is so much that nothing more should be accepted; the rest of the room is for
 * what comes until the kernel has heard of that. */
bool sni_held_is_much(const sni_held *held);

#endif /* SENNIT_IO_HELD_H */
