/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_WIRE_SOCKTYPE_H
#define SENNIT_WIRE_SOCKTYPE_H

#include "base/bytes.h"

/* Whether a peer that announces `peer` (the value of Socket-Type) may talk to a
 * socket of type `ours`. Exact, upper-case names, as libzmq (RFC 37, "Socket Type
 * property"; RFCs 28-31). */
bool sni_socktype_accepts(sennit_sock_type ours, sennit_bytes peer);

/* Whether READY of this type carries an Identity (REQ, DEALER, ROUTER). */
bool sni_socktype_has_identity(sennit_sock_type type);

#endif /* SENNIT_WIRE_SOCKTYPE_H */
