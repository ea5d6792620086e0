/* SPDX-License-Identifier: MIT */
/* libFuzzer target: what the transport reads besides the wire of ZMTP. The first octet
 * says what the rest is: an endpoint, a proxy's address, a network, Z85, or the answers
 * of a SOCKS proxy (cut by the second octet). */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "core/endpoint.h"
#include "core/filter.h"
#include "core/socks.h"
#include "sennit/z85.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
endpoint(const char *text, bool listening)
{
    sni_endpoint parsed;
    const char *why = NULL;
    sennit_err err = sni_endpoint_parse(text, listening, &parsed, &why);

    /* A refusal says why, and nothing else is refused with. */
    SNI_ASSERT(err == SENNIT_OK || (why != NULL && *why != '\0'));
    SNI_ASSERT(err == SENNIT_OK || err == SENNIT_EINVAL || err == SENNIT_ENOTSUP ||
               err == SENNIT_ENAMETOOLONG);
}

static void
proxy(const char *text)
{
    sni_host host;
    const char *why = NULL;
    sennit_err err = sni_endpoint_parse_proxy(text, &host, &why);

    SNI_ASSERT(err == SENNIT_OK || (why != NULL && *why != '\0'));
}

static void
network(const char *text)
{
    sni_network parsed;

    if (sni_network_parse(text, &parsed))
        SNI_ASSERT(parsed.bits <= (parsed.v6 ? 128u : 32u));
}

/* What can be read is written back as it was. */
static void
z85(const char *text, size_t size)
{
    uint8_t *octets = malloc(size + 1);
    char *again = malloc(size + 1);
    size_t used;

    if (octets != NULL && again != NULL &&
        sennit_z85_decode(text, size, octets, size, &used) == SENNIT_OK) {
        sennit_err err =
            sennit_z85_encode((sennit_bytes){ octets, used }, again, size + 1);

        SNI_ASSERT(err == SENNIT_OK);
        SNI_ASSERT(memcmp(text, again, size) == 0);
    }
    free(octets);
    free(again);
}

static void
socks(const uint8_t *data, size_t size)
{
    static const sni_address address = { .kind = SNI_ADDRESS_TCP4, .port = 1 };
    bool account = size > 0 && (data[0] & 1) != 0;
    size_t piece = size > 0 ? 1 + (size_t)(data[0] >> 4) : 1;
    size_t at = size > 0 ? 1 : 0;
    sni_socks s;

    sni_socks_open(&s, "host.example", &address, account ? "user" : NULL,
                   account ? "password" : NULL);
    while (s.state != SNI_SOCKS_DONE && s.state != SNI_SOCKS_BROKEN) {
        sennit_bytes out = sni_socks_output(&s);
        size_t wanted = sni_socks_wanted(&s);

        SNI_ASSERT(out.size > 0 || wanted > 0);
        if (out.size > 0) {
            sni_socks_wrote(&s, out.size < piece ? out.size : piece);
            continue;
        }
        if (wanted > piece)
            wanted = piece;
        if (wanted > size - at)
            wanted = size - at;
        (void)sni_socks_feed(&s, (sennit_bytes){ data + at, wanted });
        at += wanted;
    }
    SNI_ASSERT(s.state == SNI_SOCKS_DONE || *s.reason != '\0');
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text;

    if (size == 0)
        return 0;
    if (data[0] % 6 == 5) {
        socks(data + 1, size - 1);
        return 0;
    }
    text = malloc(size);
    if (text == NULL)
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    switch (data[0] % 6) {
    case 0:
    case 1:
        endpoint(text, data[0] % 6 == 0);
        break;
    case 2:
        proxy(text);
        break;
    case 3:
        network(text);
        break;
    default:
        z85(text, size - 1);
        break;
    }
    free(text);
    return 0;
}
