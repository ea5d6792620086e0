/* SPDX-License-Identifier: MIT */
#include "rpc/address.h"

#include <string.h>

/* One token, [at, end): 1 exact, 2 `*`, 3 `>`, 0 not allowed. */
static int
token_form(const char *at, const char *end)
{
    if (at == end)
        return 0;
    if (end - at == 1 && *at == '*')
        return 2;
    if (end - at == 1 && *at == '>')
        return 3;
    for (; at != end; at++) {
        unsigned char byte = (unsigned char)*at;

        if (byte <= 0x20 || byte == 0x7f || byte == '*' || byte == '>')
            return 0;
    }
    return 1;
}

static const char *
token_end(const char *at, const char *end)
{
    const char *dot = memchr(at, '.', (size_t)(end - at));

    return dot != NULL ? dot : end;
}

sni_address_form
sni_address_form_of(sennit_str text)
{
    sni_address_form form = SNI_ADDRESS_EXACT;
    const char *at = text.data;
    const char *end;

    if (text.size == 0)
        return SNI_ADDRESS_BAD;
    if (text.data[text.size - 1] == '.') {
        form = SNI_ADDRESS_SERVICE;
        text.size--;
    }
    if (text.size == 0 || text.size > SENNIT_ADDRESS_MAX || !sennit_str_is_utf8(text))
        return SNI_ADDRESS_BAD;
    for (end = text.data + text.size;;) {
        const char *stop = token_end(at, end);
        int token = token_form(at, stop);

        if (token == 0 || (token == 3 && stop != end))
            return SNI_ADDRESS_BAD;
        if (token > 1 && form == SNI_ADDRESS_SERVICE)
            return SNI_ADDRESS_BAD;
        if (token > 1)
            form = SNI_ADDRESS_PATTERN;
        if (stop == end)
            return form;
        at = stop + 1;
    }
}

bool
sni_address_matches(sennit_str pattern, sennit_str address)
{
    const char *p = pattern.data;
    const char *p_end = p + pattern.size;
    const char *a = address.data;
    const char *a_end = a + address.size;

    for (;;) {
        const char *p_stop = token_end(p, p_end);
        const char *a_stop = token_end(a, a_end);
        size_t size = (size_t)(p_stop - p);

        if (size == 1 && *p == '>')
            return true;
        if (!(size == 1 && *p == '*') &&
            (size != (size_t)(a_stop - a) || memcmp(p, a, size) != 0))
            return false;
        if (p_stop == p_end || a_stop == a_end)
            return p_stop == p_end && a_stop == a_end;
        p = p_stop + 1;
        a = a_stop + 1;
    }
}

bool
sni_address_split(sennit_str address, sennit_str *service, sennit_str *method)
{
    size_t at = address.size;

    while (at > 0 && address.data[at - 1] != '.')
        at--;
    if (at == 0)
        return false;
    *service = (sennit_str){ address.data, at };
    *method = (sennit_str){ address.data + at, address.size - at };
    return true;
}

bool
sni_address_reserved(sennit_str address)
{
    return address.size >= 7 && memcmp(address.data, "$sennit", 7) == 0;
}
