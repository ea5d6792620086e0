/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_RPC_REQUEST_H
#define SENNIT_RPC_REQUEST_H

#include "sennit/rpc.h"

/* sennit_bus_call() with a method's own default timeout (0: none). */
sennit_err sni_request_call(sennit_bus *bus, const char *address, sennit_bytes body,
                            const sennit_call_opts *opts, int method_timeout_ms,
                            sennit_arena *arena, sennit_bytes *reply,
                            sennit_error *error);

#endif /* SENNIT_RPC_REQUEST_H */
