/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CODEGEN_JSON_H
#define SENNIT_CODEGEN_JSON_H

/* Message bodies as JSON and back, by schema:
 *
 *   struct     object, fields by name; "#9": field 9, which the schema does not
 *              have, as base64 of its msgpack
 *   integers   numbers; beyond 2^53 decimal strings (both are read for any)
 *   f32 f64    numbers; "NaN", "Infinity", "-Infinity"
 *   enum       its name; numbers for values it does not have
 *   flags      a list of names, or a number
 *   bytes      base64
 *   time       RFC 3339, "2026-11-30T12:00:00.25Z"
 *   duration   whole number and unit, "250ms"
 *   absent     left out; null is read as left out
 *
 * Reading what was written gives the same bytes, for canonical bodies. */

#include <jansson.h>
#include <sennit/pack.h>

#include "idl.h"

typedef struct sni_idl_json_error {
    char text[320]; /* begins with the path, "Quote.levels[3].size: ..." */
} sni_idl_json_error;

/* Appends the body that `json` (borrowed) stands for, in canonical form.
 * Errors: EINVAL (`*error` says where and why), ENOMEM, EMSGSIZE. `out` is then as
 *         long as before. */
sennit_err sni_idl_json_to_body(const sni_idl_struct *structure, const json_t *json,
                                sennit_buf *out,
                                sni_idl_json_error *error) SENNIT_MUST_CHECK;

/* Gives:  in `*out` an object that the caller owns (json_decref). Fields that are
 *         not optional are all in it, defaults included, by ascending number.
 * Errors: EPROTO (`*error` says where and why), ENOMEM. */
sennit_err sni_idl_body_to_json(const sni_idl_struct *structure, sennit_bytes body,
                                json_t **out,
                                sni_idl_json_error *error) SENNIT_MUST_CHECK;

#endif /* SENNIT_CODEGEN_JSON_H */
