/* SPDX-License-Identifier: MIT */
#include "wire/ready.h"

#include "base/assert.h"
#include "base/limits.h"
#include "wire/command.h"
#include "wire/metadata.h"
#include "wire/socktype.h"

size_t
sni_ready_write(uint8_t *out, sennit_sock_type type, sennit_bytes identity)
{
    uint8_t metadata[SNI_READY_MAX];
    const char *name = sennit_sock_type_name(type);
    size_t used;

    SNI_ASSERT(identity.size <= SENNIT_IDENTITY_MAX);
    used = sni_property_write(metadata, "Socket-Type", sni_bytes(name, strlen(name)));
    if (sni_socktype_has_identity(type))
        used += sni_property_write(metadata + used, "Identity", identity);
    return sni_command_write(out, "READY", sni_bytes(metadata, used));
}

static bool
refuse(sni_ready *ready, const char *problem)
{
    ready->problem = problem;
    return false;
}

static bool
check_identity(sni_ready *ready, sennit_bytes value)
{
    if (value.size > SENNIT_IDENTITY_MAX)
        return refuse(ready, "identity over 255 octets");
    if (value.size > 0 && value.data[0] == 0)
        return refuse(ready, "identity beginning with a zero octet");
    ready->identity = value;
    return true;
}

bool
sni_ready_read(sennit_bytes metadata, sennit_sock_type ours, sni_ready *ready)
{
    sni_property property;
    bool type_seen = false;
    bool identity_seen = false;
    unsigned count = 0;
    sni_parse parse;

    *ready = (sni_ready){ { NULL, 0 }, "" };
    while ((parse = sni_property_read(&metadata, &property, &ready->problem)) ==
           SNI_PARSE_DONE) {
        if (++count > SNI_METADATA_PROPERTIES_MAX)
            return refuse(ready, "too many metadata properties");
        if (sni_property_is(&property, "Socket-Type")) {
            if (type_seen)
                return refuse(ready, "Socket-Type given twice");
            type_seen = true;
            if (!sni_socktype_accepts(ours, property.value))
                return refuse(ready, "socket types do not go together");
        } else if (sni_property_is(&property, "Identity")) {
            if (identity_seen)
                return refuse(ready, "Identity given twice");
            identity_seen = true;
            if (!check_identity(ready, property.value))
                return false;
        }
    }
    return parse == SNI_PARSE_MORE;
}
