/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_TEST_REST_H
#define SENNIT_TEST_REST_H

#include "cast.h"

/* The world comes to rest, and everything must be where it belongs. */
/* Lets all that can happen happen: what is here is received, who can connect does. */
void rest_settle(story *s);

/* Every account agrees with its socket's counters. */
void rest_balance(const story *s);

/* Everything that is subscribed to is in force: each publication reaches exactly those
 * who asked for it. */
void rest_probe_publications(story *s);

/* All others send once more over what is connected now. */
void rest_probe_others(story *s);

#endif /* SENNIT_TEST_REST_H */
