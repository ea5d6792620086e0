/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_TEST_ACTS_H
#define SENNIT_TEST_ACTS_H

#include "cast.h"
#include "rng.h"

/* What may happen in a story. */
typedef enum act {
    OPEN,
    BIND,
    CONNECT,
    SUBSCRIBE,
    SEND,
    RECEIVE,
    DRAIN,
    RUN,
    SEND_SLOWLY,
    AWAIT,
    FLUSH,
    UNSUBSCRIBE,
    DISCONNECT,
    UNBIND,
    CLOSE,
    CUT,
    CUT_ALL,
    HOLD,
    PAUSE,
    RESUME,
    KILL,
    TROUBLE,
    ACTS
} act;

typedef struct step {
    act what;
    uint32_t a;
    uint32_t b;
    uint32_t c;
} step;

/* Draws one; `setting`: while the scene is set. */
act acts_invent(test_rng *rng, bool setting);

void acts_play(story *s, const step *st);

/* Closes its socket. */
void acts_close(story *s, actor *a, bool drained);

#endif /* SENNIT_TEST_ACTS_H */
