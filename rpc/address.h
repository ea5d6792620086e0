/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_RPC_ADDRESS_H
#define SENNIT_RPC_ADDRESS_H

#include "sennit/rpc.h"

/* Addresses are dotted tokens. What nodes tell each other that they consume is one
 * of three forms, told apart by the text alone:
 *
 *   pkg.install        this address
 *   pkg.*  pkg.>       events whose address matches (D10)
 *   shop.Pricing/1.    all methods of one service (the trailing dot) */
typedef enum sni_address_form {
    SNI_ADDRESS_BAD,
    SNI_ADDRESS_EXACT,
    SNI_ADDRESS_PATTERN,
    SNI_ADDRESS_SERVICE,
} sni_address_form;

/* Which form `text` has. BAD: empty, longer than SENNIT_ADDRESS_MAX (+ the dot of
 * a service), not UTF-8, spaces or control characters, an empty token, `*` or `>`
 * within a token, `>` before the end. */
sni_address_form sni_address_form_of(sennit_str text);

/* Whether `address` matches `pattern` (both well-formed). */
bool sni_address_matches(sennit_str pattern, sennit_str address);

/* "shop.Pricing/1." of "shop.Pricing/1.get", and "get" in `*method`. False when
 * there is no dot. */
bool sni_address_split(sennit_str address, sennit_str *service, sennit_str *method);

/* Whether it is one the bus keeps for itself ("$sennit..."). */
bool sni_address_reserved(sennit_str address);

/* Where a node sends changes of what it consumes: [added[], removed[]]. */
#define SNI_ADDRESS_CONSUMERS "$sennit.consumers"

#endif /* SENNIT_RPC_ADDRESS_H */
