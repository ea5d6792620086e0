/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_TEST_TAP_H
#define SENNIT_TEST_TAP_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Stands between a socket that connects and whoever is bound where it wants to go: it
 * passes octets on, tells what passed, and can cut. Nothing in it waits. */
typedef struct tap tap;

/* Hears of it: `side` 0 is the one that connected; `outward`: read from that side, else
 * written to it. `size` 0: the connection is over. */
typedef void tap_fn(void *arg, const tap *r, uint32_t connection, unsigned side,
                    bool outward, const uint8_t *data, size_t size);

/* Listens at an address of its own, of tcp or ipc (in `folder`, named by `id`). */
tap *tap_open(bool ipc, const char *folder, unsigned id, tap_fn *fn, void *arg);
void tap_close(tap *r);

const char *tap_endpoint(const tap *r);

/* Where to; NULL: nobody is there, who comes is sent away. */
void tap_aim(tap *r, const char *endpoint);

/* Moves what can be moved, at most `piece` octets at a time; returns how many.
 * `*connections` is the number of the newest connection of all. */
size_t tap_pump(tap *r, size_t piece, uint32_t *connections);

/* Resets the `which`th of its connections; false when there is none. */
bool tap_cut(tap *r, uint32_t which);

/* Adds its descriptors; returns how many. */
size_t tap_poll(const tap *r, struct pollfd *fds, size_t fds_max);

unsigned tap_connections(const tap *r);

#endif /* SENNIT_TEST_TAP_H */
