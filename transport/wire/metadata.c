/* SPDX-License-Identifier: MIT */
#include "wire/metadata.h"

#include <strings.h>

static bool
name_octet_legal(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '-' || c == '_' || c == '.' || c == '+';
}

sni_parse
sni_property_read(sennit_bytes *rest, sni_property *property, const char **problem)
{
    size_t name_size;
    size_t value_size;

    if (rest->size == 0)
        return SNI_PARSE_MORE;
    name_size = rest->data[0];
    if (name_size == 0) {
        *problem = "metadata property without a name";
        return SNI_PARSE_BAD;
    }
    if (rest->size < 1 + name_size + 4) {
        *problem = "metadata property that is cut short";
        return SNI_PARSE_BAD;
    }
    for (size_t i = 0; i < name_size; i++) {
        if (!name_octet_legal(rest->data[1 + i])) {
            *problem = "metadata property name with an illegal octet";
            return SNI_PARSE_BAD;
        }
    }
    value_size = sni_get_u32(rest->data + 1 + name_size);
    if (value_size > rest->size - (1 + name_size + 4)) {
        *problem = "metadata property value longer than the command";
        return SNI_PARSE_BAD;
    }
    property->name = sni_bytes(rest->data + 1, name_size);
    property->value = sni_bytes(rest->data + 1 + name_size + 4, value_size);
    *rest = sni_bytes(property->value.data + value_size,
                      rest->size - (1 + name_size + 4) - value_size);
    return SNI_PARSE_DONE;
}

size_t
sni_property_size(const sni_property *property)
{
    return 1 + property->name.size + 4 + property->value.size;
}

static bool
names_equal(sennit_bytes a, sennit_bytes b)
{
    return a.size == b.size &&
           strncasecmp((const char *)a.data, (const char *)b.data, a.size) == 0;
}

bool
sni_property_find(sennit_bytes metadata, sennit_bytes name, sennit_bytes *value)
{
    sni_property property;
    const char *problem;

    while (sni_property_read(&metadata, &property, &problem) == SNI_PARSE_DONE) {
        if (names_equal(property.name, name)) {
            *value = property.value;
            return true;
        }
    }
    return false;
}

bool
sni_property_is(const sni_property *property, const char *name)
{
    return names_equal(property->name, sni_bytes(name, strlen(name)));
}

size_t
sni_property_write(uint8_t *out, const char *name, sennit_bytes value)
{
    size_t name_size = strlen(name);

    out[0] = (uint8_t)name_size;
    memcpy(out + 1, name, name_size);
    sni_put_u32(out + 1 + name_size, (uint32_t)value.size);
    sni_bytes_put(out + 5 + name_size, value);
    return 5 + name_size + value.size;
}
