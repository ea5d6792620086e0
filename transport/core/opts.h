/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CORE_OPTS_H
#define SENNIT_CORE_OPTS_H

#include "base/bytes.h"

/* Options as a socket keeps them: everything is looked at once, at the border, and
 * whoever obeys an option later finds it valid. */

/* Whether a socket of this type may have them. Gives: on failure `*why`, static text
 * that names the field and says what would do. Errors: EINVAL. */
sennit_err sni_opts_check(sennit_sock_type type, const sennit_sock_opts *opts,
                          const char **why);

/* Whether they may become `wanted` while the socket is open. Same results. */
sennit_err sni_opts_check_change(const sennit_sock_opts *opts,
                                 const sennit_sock_opts *wanted, const char **why);

/* What options point to, as the socket's own. */
typedef struct sni_opts_owned {
    void *memory;          /* one block with all of it, or NULL */
    sennit_bytes metadata; /* opts.properties as READY carries them */
} sni_opts_owned;

/* Copies options with all they point to. Errors: ENOMEM (nothing is changed). */
sennit_err sni_opts_copy(const sennit_allocator *alloc, const sennit_sock_opts *from,
                         sennit_sock_opts *to, sni_opts_owned *owned);

void sni_opts_fini(const sennit_allocator *alloc, sni_opts_owned *owned);

#endif /* SENNIT_CORE_OPTS_H */
