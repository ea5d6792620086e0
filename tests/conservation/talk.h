/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_TEST_TALK_H
#define SENNIT_TEST_TALK_H

#include "cast.h"
#include "rng.h"

/* Sending and receiving numbered messages, each frame of which can be checked. */
/* Whether its turn allows it, for those who have turns. */
bool talk_may_send(const actor *a);
bool talk_may_receive(const actor *a);

/* One frame; false when the first one of a message is refused. */
bool talk_send_frame(story *s, actor *a, const void *data, size_t size, unsigned flags,
                     bool first);

/* One message; false when it is refused. `slowly`: time passes between its frames. */
bool talk_send(story *s, actor *a, test_rng *rng, unsigned flags, bool slowly);

/* One message; false when there is none. */
bool talk_receive(story *s, actor *a, unsigned flags);

/* All that is there; a replier answers. True: it has read everything. */
bool talk_drain(story *s, actor *a, test_rng *rng);

#endif /* SENNIT_TEST_TALK_H */
