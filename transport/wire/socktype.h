/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_WIRE_SOCKTYPE_H
#define SENNIT_WIRE_SOCKTYPE_H

#include "base/bytes.h"

/* Whether a peer that announces `peer` (the value of Socket-Type) may talk to a
 * socket of type `ours`. Exact, upper-case names, as libzmq (RFC 37, "Socket Type
 * property"; RFCs 28-31). */
bool sni_socktype_accepts(sennit_sock_type ours, sennit_bytes peer);

/* The same for a type told as its number, as ZMTP 2.0 does. */
bool sni_socktype_accepts_number(sennit_sock_type ours, unsigned peer);

/* The type of this name, exact and in upper case; -1: none that is built. */
int sni_socktype_of(sennit_bytes name);

/* Why there is no socket of this number, by the name that libzmq has for it. Static. */
const char *sni_socktype_why_not(sennit_sock_type type);

/* Whether READY of this type carries an Identity (REQ, DEALER, ROUTER). */
bool sni_socktype_has_identity(sennit_sock_type type);

#endif /* SENNIT_WIRE_SOCKTYPE_H */
