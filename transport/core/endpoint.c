/* SPDX-License-Identifier: MIT */
#include "core/endpoint.h"

#include <arpa/inet.h>

/* A stretch of the text that is being parsed. */
typedef struct span {
    const char *at;
    size_t size;
} span;

/* Where the text is wrong, for sennit_loop_why(). */
static sennit_err
refuse(const char **why, sennit_err err, const char *text)
{
    *why = text;
    return err;
}

static bool
starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool
is(span s, const char *text)
{
    return s.size == strlen(text) && memcmp(s.at, text, s.size) == 0;
}

static bool
has(span s, char c)
{
    return s.size > 0 && memchr(s.at, c, s.size) != NULL;
}

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool
is_name_char(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.';
}

/* Decimal digits and nothing else, up to `max`. */
static bool
read_number(span s, uint32_t max, uint32_t *out)
{
    uint64_t value = 0;

    if (s.size == 0 || s.size > 10)
        return false;
    for (size_t i = 0; i < s.size; i++) {
        if (!is_digit(s.at[i]))
            return false;
        value = value * 10 + (uint64_t)(s.at[i] - '0');
    }
    if (value > max)
        return false;
    *out = (uint32_t)value;
    return true;
}

/* Copies it as text; false when it is too long. */
static bool
copy_text(char *to, size_t capacity, span s)
{
    if (s.size >= capacity)
        return false;
    memcpy(to, s.at, s.size);
    to[s.size] = '\0';
    return true;
}

/* ---- hosts ------------------------------------------------------------- */

/* `chooses`: 0 and `*` let the system choose. */
static sennit_err
parse_port(span s, bool chooses, uint16_t *out, const char **why)
{
    uint32_t port;

    if (is(s, "*") && chooses) {
        *out = 0;
        return SENNIT_OK;
    }
    if (is(s, "*"))
        return refuse(why, SENNIT_EINVAL, "`*` is no port to connect to");
    if (!read_number(s, 65535, &port))
        return refuse(why, SENNIT_EINVAL, "the port is not a number up to 65535");
    if (port == 0 && !chooses)
        return refuse(why, SENNIT_EINVAL, "0 is no port to connect to");
    *out = (uint16_t)port;
    return SENNIT_OK;
}

static sennit_err
parse_zone(span s, sni_host *out, const char **why)
{
    if (s.size > 0 && is_digit(s.at[0])) {
        if (!read_number(s, 0x7fffffff, &out->address.scope) || out->address.scope == 0)
            return refuse(why, SENNIT_EINVAL,
                          "the zone is not the number of an interface");
        return SENNIT_OK;
    }
    for (size_t i = 0; i < s.size; i++) {
        if (!is_name_char(s.at[i]) && s.at[i] != '@')
            return refuse(why, SENNIT_EINVAL, "the zone is not the name of an interface");
    }
    if (s.size == 0)
        return refuse(why, SENNIT_EINVAL, "there is no zone behind the %");
    if (!copy_text(out->zone, sizeof out->zone, s))
        return refuse(why, SENNIT_EINVAL,
                      "the zone is longer than a name of an interface");
    return SENNIT_OK;
}

static sennit_err
parse_ip6(span s, sni_host *out, const char **why)
{
    const char *percent = memchr(s.at, '%', s.size);
    span number = { s.at, percent != NULL ? (size_t)(percent - s.at) : s.size };
    char text[INET6_ADDRSTRLEN];

    out->address.kind = SNI_ADDRESS_TCP6;
    out->known = true;
    if (!copy_text(text, sizeof text, number) ||
        inet_pton(AF_INET6, text, out->address.ip) != 1)
        return refuse(why, SENNIT_EINVAL, "what is in brackets is not an IPv6 address");
    if (percent == NULL)
        return SENNIT_OK;
    return parse_zone((span){ percent + 1, s.size - number.size - 1 }, out, why);
}

static sennit_err
parse_name(span s, sni_host *out, const char **why)
{
    static const uint8_t loopback[4] = { 127, 0, 0, 1 };
    bool numeric = true;

    for (size_t i = 0; i < s.size; i++) {
        if (!is_name_char(s.at[i]))
            return refuse(why, SENNIT_EINVAL,
                          "the host has a character that no name or address has");
        numeric = numeric && (is_digit(s.at[i]) || s.at[i] == '.');
    }
    if (numeric)
        return refuse(why, SENNIT_EINVAL, "the host is not an IPv4 address");
    if (!copy_text(out->name, sizeof out->name, s))
        return refuse(why, SENNIT_ENAMETOOLONG,
                      "the host name is longer than 253 octets");
    /* RFC 6761 fixes what this name means, so nobody needs to be asked. */
    out->known = is(s, "localhost");
    if (out->known)
        memcpy(out->address.ip, loopback, sizeof loopback);
    return SENNIT_OK;
}

static sennit_err
parse_host(span s, bool here, sni_host *out, const char **why)
{
    char text[INET_ADDRSTRLEN];

    out->address.kind = SNI_ADDRESS_TCP4;
    if (s.size == 0)
        return refuse(why, SENNIT_EINVAL, "there is no host before the port");
    if (s.at[0] == '[') {
        if (s.size < 3 || s.at[s.size - 1] != ']')
            return refuse(why, SENNIT_EINVAL, "the brackets are not [an IPv6 address]");
        return parse_ip6((span){ s.at + 1, s.size - 2 }, out, why);
    }
    /* libzmq takes them without brackets, too: the last colon is the port's. */
    if (has(s, ':'))
        return parse_ip6(s, out, why);
    if (is(s, "*")) {
        out->any = here;
        return here ? SENNIT_OK
                    : refuse(why, SENNIT_EINVAL, "`*` is no host to connect to");
    }
    if (copy_text(text, sizeof text, s) &&
        inet_pton(AF_INET, text, out->address.ip) == 1) {
        out->known = true;
        return SENNIT_OK;
    }
    return parse_name(s, out, why);
}

/* `here`: an address of this machine, whose port the system may choose. */
static sennit_err
parse_host_port(span s, bool here, sni_host *out, const char **why)
{
    size_t colon = s.size;
    sennit_err err;

    while (colon > 0 && s.at[colon - 1] != ':')
        colon--;
    if (colon == 0)
        return refuse(why, SENNIT_EINVAL, "there is no :PORT");
    err = parse_host((span){ s.at, colon - 1 }, here, out, why);
    if (err)
        return err;
    return parse_port((span){ s.at + colon, s.size - colon }, here, &out->address.port,
                      why);
}

/* ADDRESS or ADDRESS:PORT. */
static sennit_err
parse_source(span s, sni_host *out, const char **why)
{
    bool bracketed = s.size > 0 && s.at[0] == '[';
    bool has_port = bracketed ? s.at[s.size - 1] != ']' : has(s, ':');

    if (s.size == 0)
        return refuse(why, SENNIT_EINVAL, "there is no source before the ;");
    return has_port ? parse_host_port(s, true, out, why) : parse_host(s, true, out, why);
}

/* ---- transports -------------------------------------------------------- */

static sennit_err
parse_tcp(const char *text, bool listening, sni_endpoint *out, const char **why)
{
    const char *semicolon = strchr(text, ';');
    span host = { text, strlen(text) };
    sennit_err err = SENNIT_OK;

    if (semicolon != NULL) {
        span source = { text, (size_t)(semicolon - text) };

        if (listening)
            return refuse(why, SENNIT_EINVAL, "only a connect has a source before a ;");
        host = (span){ semicolon + 1, host.size - source.size - 1 };
        out->has_source = true;
        err = parse_source(source, &out->source, why);
    }
    return err ? err : parse_host_port(host, listening, &out->host, why);
}

static sennit_err
parse_ipc(const char *text, bool listening, sni_endpoint *out, const char **why)
{
    sni_address *address = &out->host.address;
    size_t size;

    address->kind = SNI_ADDRESS_IPC;
    out->host.known = true;
    if (strcmp(text, "*") == 0) {
        address->wildcard = true;
        return listening ? SENNIT_OK
                         : refuse(why, SENNIT_EINVAL, "`*` is no path to connect to");
    }
    if (*text == '@') {
        address->abstract = true;
        text++;
    }
    size = strlen(text);
    if (size == 0)
        return refuse(why, SENNIT_EINVAL, "there is no path behind ipc://");
    if (size > SNI_IPC_PATH_MAX - (address->abstract ? 1 : 0))
        return refuse(why, SENNIT_ENAMETOOLONG,
                      "the path of a unix socket has 107 octets at most");
    memcpy(address->path, text, size + 1);
    address->path_size = (uint8_t)size;
    return SENNIT_OK;
}

static sennit_err
parse_inproc(const char *name, sni_endpoint *out, const char **why)
{
    out->kind = SNI_ENDPOINT_INPROC;
    if (*name == '\0')
        return refuse(why, SENNIT_EINVAL, "there is no name behind inproc://");
    if (strlen(name) > SNI_INPROC_NAME_MAX)
        return refuse(why, SENNIT_ENAMETOOLONG, "an inproc name has 255 octets at most");
    memcpy(out->name, name, strlen(name) + 1);
    return SENNIT_OK;
}

static sennit_err
parse_other(const char *text, const char **why)
{
    static const struct {
        const char *prefix;
        const char *why;
    } absent[] = {
        { "udp://", "udp is not built" },     { "ws://", "ws is not built" },
        { "wss://", "wss is not built" },     { "tipc://", "tipc is not built" },
        { "pgm://", "pgm is not built" },     { "epgm://", "epgm is not built" },
        { "norm://", "norm is not built" },   { "vmci://", "vmci is not built" },
        { "vsock://", "vsock is not built" }, { "gssapi://", "gssapi is not built" },
    };

    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++) {
        if (starts_with(text, absent[i].prefix))
            return refuse(why, SENNIT_ENOTSUP, absent[i].why);
    }
    return refuse(why, SENNIT_EINVAL,
                  "the endpoint does not begin with tcp://, ipc:// or inproc://");
}

sennit_err
sni_endpoint_parse(const char *text, bool listening, sni_endpoint *out, const char **why)
{
    sni_endpoint parsed = { .kind = SNI_ENDPOINT_STREAM };
    sennit_err err;

    if (text == NULL)
        return refuse(why, SENNIT_EINVAL, "the endpoint is NULL");
    if (strlen(text) >= SNI_ENDPOINT_TEXT_MAX)
        return refuse(why, SENNIT_ENAMETOOLONG, "the endpoint is too long");
    if (starts_with(text, "tcp://"))
        err = parse_tcp(text + 6, listening, &parsed, why);
    else if (starts_with(text, "ipc://"))
        err = parse_ipc(text + 6, listening, &parsed, why);
    else if (starts_with(text, "inproc://"))
        err = parse_inproc(text + 9, &parsed, why);
    else
        err = parse_other(text, why);
    if (err == SENNIT_OK)
        *out = parsed;
    return err;
}

sennit_err
sni_endpoint_parse_proxy(const char *text, sni_host *out, const char **why)
{
    sni_host parsed = { .known = false };
    sennit_err err = parse_host_port((span){ text, strlen(text) }, false, &parsed, why);

    if (err == SENNIT_OK)
        *out = parsed;
    return err;
}

/* ---- this machine ------------------------------------------------------ */

static bool
is_any6(const sni_address *address)
{
    static const uint8_t any[16];

    return address->kind == SNI_ADDRESS_TCP6 && memcmp(address->ip, any, sizeof any) == 0;
}

static sennit_err
any_address(const sni_host *host, bool ipv4, bool ipv6, sni_address *out)
{
    *out = (sni_address){
        .kind = ipv6 ? SNI_ADDRESS_TCP6 : SNI_ADDRESS_TCP4,
        .port = host->address.port,
        .dual = ipv6 && ipv4,
    };
    return SENNIT_OK;
}

sennit_err
sni_host_here(const sni_host *host, sni_io *io, bool ipv4, bool ipv6, sni_address *out,
              const char **why)
{
    sni_address address = host->address;
    sennit_err err = SENNIT_OK;

    /* [::] is how `*` is told when IPv6 is on: bound again it means the same. */
    if (host->any || (ipv4 && ipv6 && is_any6(&address) && host->known))
        return any_address(host, ipv4, ipv6, out);
    if (!host->known) {
        err = io->ops->interface_address(io, host->name, ipv4, ipv6, &address);
        address.port = host->address.port;
    } else if (host->zone[0] != '\0') {
        err = io->ops->interface_scope(io, host->zone, &address.scope);
    }
    if (err == SENNIT_ENODEV)
        return refuse(why, err,
                      host->known
                          ? "there is no interface of the zone's name"
                          : "no interface has this name and such an address; host "
                            "names are looked up for connects only");
    if (err == SENNIT_OK)
        *out = address;
    return err;
}
