/* SPDX-License-Identifier: MIT */
#include "wire/ready.h"

#include "base/assert.h"
#include "base/limits.h"
#include "wire/metadata.h"
#include "wire/socktype.h"

#define READY "\5READY"

size_t
sni_ready_write_with(uint8_t *out, sennit_sock_type type, sennit_bytes identity,
                     sennit_bytes properties)
{
    uint8_t ours[SNI_READY_MAX];
    const char *name = sennit_sock_type_name(type);
    size_t ours_size;
    size_t used;

    SNI_ASSERT(identity.size <= SENNIT_IDENTITY_MAX);
    memcpy(ours, READY, strlen(READY));
    ours_size = strlen(READY);
    ours_size += sni_property_write(ours + ours_size, "Socket-Type",
                                    sni_bytes(name, strlen(name)));
    if (sni_socktype_has_identity(type))
        ours_size += sni_property_write(ours + ours_size, "Identity", identity);
    used = sni_frame_head_write(out, false, true, ours_size + properties.size);
    memcpy(out + used, ours, ours_size);
    used += ours_size;
    sni_bytes_put(out + used, properties);
    return used + properties.size;
}

size_t
sni_ready_write(uint8_t *out, sennit_sock_type type, sennit_bytes identity)
{
    return sni_ready_write_with(out, type, identity, sni_bytes(NULL, 0));
}

static bool
refuse(sni_ready *ready, const char *problem)
{
    ready->problem = problem;
    return false;
}

bool
sni_ready_read(sennit_bytes metadata, sennit_sock_type ours, sni_ready *ready)
{
    sni_property property;
    bool identity_seen = false;
    unsigned count = 0;
    sni_parse parse;

    *ready = (sni_ready){ { NULL, 0 }, -1, 0, "" };
    while ((parse = sni_property_read(&metadata, &property, &ready->problem)) ==
           SNI_PARSE_DONE) {
        if (++count > SNI_METADATA_PROPERTIES_MAX)
            return refuse(ready, "too many metadata properties");
        if (sni_property_is(&property, "Socket-Type")) {
            if (ready->type >= 0)
                return refuse(ready, "Socket-Type given twice");
            ready->type = sni_socktype_of(property.value);
            if (!sni_socktype_accepts(ours, property.value))
                return refuse(ready, "socket types do not go together");
        } else if (sni_property_is(&property, "Identity")) {
            if (identity_seen)
                return refuse(ready, "Identity given twice");
            if (property.value.size > SENNIT_IDENTITY_MAX)
                return refuse(ready, "identity over 255 octets");
            identity_seen = true;
            ready->identity = property.value;
        } else {
            ready->properties_size += sni_property_size(&property);
        }
    }
    return parse == SNI_PARSE_MORE;
}

void
sni_ready_copy_properties(sennit_bytes metadata, uint8_t *out)
{
    sni_property property;
    const char *problem;

    while (sni_property_read(&metadata, &property, &problem) == SNI_PARSE_DONE) {
        if (sni_property_is(&property, "Socket-Type") ||
            sni_property_is(&property, "Identity"))
            continue;
        /* It stands in one piece, its name's length first. */
        memcpy(out, property.name.data - 1, sni_property_size(&property));
        out += sni_property_size(&property);
    }
}
