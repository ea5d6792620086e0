/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_WIRE_METADATA_H
#define SENNIT_WIRE_METADATA_H

#include "wire/frame.h"

/* Connection metadata (RFC 37, "Metadata"): name-length(1) name value-length(4)
 * value, repeated. */
typedef struct sni_property {
    sennit_bytes name;
    sennit_bytes value;
} sni_property;

/* Takes the next property off the front of `*rest`.
 *
 * Returns DONE, MORE when nothing is left, or BAD with `*problem`: a name of 0
 * octets or with one that RFC 37 does not allow, a length that does not fit. */
sni_parse sni_property_read(sennit_bytes *rest, sni_property *property,
                            const char **problem);

/* Octets a property takes. */
size_t sni_property_size(const sni_property *property);

/* The first property called `name`, letters compared without case, in metadata that was
 * checked; false: there is none. */
bool sni_property_find(sennit_bytes metadata, sennit_bytes name, sennit_bytes *value);

/* Whether a property is called `name`; letters compare without case (RFC 37). */
bool sni_property_is(const sni_property *property, const char *name);

/* Writes one property at `out`; returns its size: 5 + strlen(name) + value.size. */
size_t sni_property_write(uint8_t *out, const char *name, sennit_bytes value);

#endif /* SENNIT_WIRE_METADATA_H */
