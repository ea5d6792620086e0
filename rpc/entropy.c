/* SPDX-License-Identifier: MIT */
/* The one place of this layer that asks the system for random bytes. */
#define _DEFAULT_SOURCE
#include "rpc/bus.h"

#include <unistd.h>

/* What getentropy() gives in one call at most. */
#define ENTROPY_STEP 256u

sennit_err
sni_entropy(void *out, size_t size)
{
    uint8_t *at = out;

    while (size > 0) {
        size_t step = size < ENTROPY_STEP ? size : ENTROPY_STEP;

        if (getentropy(at, step) != 0)
            return SENNIT_EIO;
        at += step;
        size -= step;
    }
    return SENNIT_OK;
}
