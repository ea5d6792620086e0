/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CORE_ENDPOINT_H
#define SENNIT_CORE_ENDPOINT_H

#include "io/io.h"

typedef enum sni_endpoint_kind {
    SNI_ENDPOINT_STREAM,
    SNI_ENDPOINT_INPROC
} sni_endpoint_kind;

#define SNI_INPROC_NAME_MAX 255u

/* A network interface's name, without NUL (IFNAMSIZ). */
#define SNI_INTERFACE_MAX 15u

/* One side of an endpoint: an address, or what somebody has to be asked for. */
typedef struct sni_host {
    sni_address address;              /* complete if `known` and there is no zone */
    bool known;                       /* numeric, `localhost` or a path */
    bool any;                         /* `*`: no address at all, `address` has the port */
    char name[SNI_HOST_MAX + 1];      /* as written, if it is a name; "" otherwise */
    char zone[SNI_INTERFACE_MAX + 1]; /* the interface of which address.scope is the
                                         number; "": it is there already */
} sni_host;

typedef struct sni_endpoint {
    sni_endpoint_kind kind;
    sni_host host;                      /* STREAM */
    bool has_source;                    /* connect only */
    sni_host source;                    /* never `localhost` by name only: known */
    char name[SNI_INPROC_NAME_MAX + 1]; /* INPROC: what follows inproc:// */
} sni_endpoint;

/* Parses the endpoint text of sennit_sock_bind() (`listening`) or _connect(); the
 * grammar is documented there. Pure: looks nothing up.
 * Gives:  on failure `*why`, static text.
 * Errors: EINVAL, ENOTSUP, ENAMETOOLONG. */
sennit_err sni_endpoint_parse(const char *text, bool listening, sni_endpoint *out,
                              const char **why);

/* Parses HOST:PORT of a proxy. Same results. */
sennit_err sni_endpoint_parse_proxy(const char *text, sni_host *out, const char **why);

/* The address that `host`, of a bind or the source of a connect, means on this machine:
 * asks for interfaces, never for host names. `ipv4` and `ipv6` say which families will
 * do. Errors: ENODEV, EADDRNOTAVAIL (no address of that family), ENOMEM, EMFILE. */
sennit_err sni_host_here(const sni_host *host, sni_io *io, bool ipv4, bool ipv6,
                         sni_address *out, const char **why);

#endif /* SENNIT_CORE_ENDPOINT_H */
