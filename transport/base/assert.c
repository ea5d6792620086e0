/* SPDX-License-Identifier: MIT */
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

void
sni_assert_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "sennit: internal error: %s does not hold (%s:%d)\n", condition, file,
            line);
    abort();
}

void
sni_misuse(const char *call, const char *what)
{
    fprintf(stderr, "sennit: %s() must not be %s\n", call, what);
    abort();
}
