/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_RPC_UNPACK_H
#define SENNIT_RPC_UNPACK_H

#include "sennit/pack.h"

/* sennit_unpack_check() for the first of several values: tells in `*used` where
 * it ends, or in `*reason` and `*offset` what is wrong with it.
 *
 * Takes: depth_max up to SENNIT_UNPACK_DEPTH_MAX. Errors: EPROTO. */
sennit_err sni_unpack_check_front(sennit_bytes in, unsigned depth_max, unsigned flags,
                                  size_t *used, const char **reason, size_t *offset);

#endif /* SENNIT_RPC_UNPACK_H */
