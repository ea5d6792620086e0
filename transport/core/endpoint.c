/* SPDX-License-Identifier: MIT */
#include "core/endpoint.h"

#include <arpa/inet.h>

static bool
starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static sennit_err
parse_port(const char *text, bool listening, uint16_t *out)
{
    uint32_t port = 0;

    if (strcmp(text, "*") == 0) {
        *out = 0;
        return listening ? SENNIT_OK : SENNIT_EINVAL;
    }
    if (*text == '\0' || strlen(text) > 5)
        return SENNIT_EINVAL;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9')
            return SENNIT_EINVAL;
        port = port * 10 + (uint32_t)(*text - '0');
    }
    if (port > 65535 || (port == 0 && !listening))
        return SENNIT_EINVAL;
    *out = (uint16_t)port;
    return SENNIT_OK;
}

static sennit_err
parse_zone(const char *text, uint32_t *scope)
{
    uint32_t value = 0;

    if (*text == '\0')
        return SENNIT_EINVAL;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9')
            return SENNIT_ENOTSUP; /* interface names are not built yet */
        value = value * 10 + (uint32_t)(*text - '0');
        if (value > 0xffffff)
            return SENNIT_EINVAL;
    }
    *scope = value;
    return SENNIT_OK;
}

/* What may be a host or interface name: not built yet, as opposed to nonsense. */
static sennit_err
name_or_nonsense(const char *host)
{
    if (*host == '\0')
        return SENNIT_EINVAL;
    for (; *host != '\0'; host++) {
        char c = *host;
        bool legal = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                     (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_' ||
                     c == ';' || c == ':';

        if (!legal)
            return SENNIT_EINVAL;
    }
    return SENNIT_ENOTSUP;
}

static sennit_err
parse_ip6(char *host, sni_address *out)
{
    char *zone = strchr(host, '%');
    sennit_err err = SENNIT_OK;

    out->kind = SNI_ADDRESS_TCP6;
    if (zone != NULL) {
        *zone = '\0';
        err = parse_zone(zone + 1, &out->scope);
    }
    if (inet_pton(AF_INET6, host, out->ip) != 1)
        return SENNIT_EINVAL;
    return err;
}

static sennit_err
parse_host(char *host, bool listening, sni_address *out)
{
    static const uint8_t loopback[4] = { 127, 0, 0, 1 };
    size_t size = strlen(host);

    if (host[0] == '[') {
        if (host[size - 1] != ']' || size < 3)
            return SENNIT_EINVAL;
        host[size - 1] = '\0';
        return parse_ip6(host + 1, out);
    }
    out->kind = SNI_ADDRESS_TCP4;
    if (strcmp(host, "*") == 0)
        return listening ? SENNIT_OK : SENNIT_EINVAL;
    /* RFC 6761 fixes what this name means, so nobody needs to be asked. */
    if (strcmp(host, "localhost") == 0) {
        memcpy(out->ip, loopback, sizeof loopback);
        return SENNIT_OK;
    }
    if (inet_pton(AF_INET, host, out->ip) == 1)
        return SENNIT_OK;
    return name_or_nonsense(host);
}

static sennit_err
parse_tcp(const char *text, bool listening, sni_address *out)
{
    char host[SNI_ENDPOINT_TEXT_MAX];
    const char *colon = strrchr(text, ':');
    size_t host_size;
    sennit_err err;

    if (colon == NULL)
        return SENNIT_EINVAL;
    host_size = (size_t)(colon - text);
    if (host_size == 0)
        return SENNIT_EINVAL;
    if (host_size >= sizeof host)
        return SENNIT_ENAMETOOLONG;
    memcpy(host, text, host_size);
    host[host_size] = '\0';
    err = parse_host(host, listening, out);
    if (err)
        return err;
    return parse_port(colon + 1, listening, &out->port);
}

static sennit_err
parse_ipc(const char *text, bool listening, sni_address *out)
{
    size_t size;

    out->kind = SNI_ADDRESS_IPC;
    if (strcmp(text, "*") == 0) {
        out->wildcard = true;
        return listening ? SENNIT_OK : SENNIT_EINVAL;
    }
    if (*text == '@') {
        out->abstract = true;
        text++;
    }
    size = strlen(text);
    if (size == 0)
        return SENNIT_EINVAL;
    if (size > SNI_IPC_PATH_MAX - (out->abstract ? 1 : 0))
        return SENNIT_ENAMETOOLONG;
    memcpy(out->path, text, size + 1);
    out->path_size = (uint8_t)size;
    return SENNIT_OK;
}

sennit_err
sni_endpoint_parse(const char *text, bool listening, sni_endpoint *out)
{
    static const char *const absent[] = { "udp://",  "ws://",   "wss://",
                                          "tipc://", "pgm://",  "epgm://",
                                          "norm://", "vmci://", "vsock://" };
    sni_endpoint parsed = { .kind = SNI_ENDPOINT_STREAM };
    sennit_err err = SENNIT_EINVAL;

    if (starts_with(text, "tcp://")) {
        err = parse_tcp(text + 6, listening, &parsed.address);
    } else if (starts_with(text, "ipc://")) {
        err = parse_ipc(text + 6, listening, &parsed.address);
    } else if (starts_with(text, "inproc://")) {
        const char *name = text + 9;

        parsed.kind = SNI_ENDPOINT_INPROC;
        err = *name == '\0'                        ? SENNIT_EINVAL
              : strlen(name) > SNI_INPROC_NAME_MAX ? SENNIT_ENAMETOOLONG
                                                   : SENNIT_OK;
        if (err == SENNIT_OK)
            memcpy(parsed.name, name, strlen(name) + 1);
    } else {
        for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++)
            if (starts_with(text, absent[i]))
                err = SENNIT_ENOTSUP;
    }
    if (err == SENNIT_OK)
        *out = parsed;
    return err;
}
