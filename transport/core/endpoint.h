/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CORE_ENDPOINT_H
#define SENNIT_CORE_ENDPOINT_H

#include "io/address.h"

typedef enum sni_endpoint_kind {
    SNI_ENDPOINT_STREAM,
    SNI_ENDPOINT_INPROC
} sni_endpoint_kind;

#define SNI_INPROC_NAME_MAX 255u

typedef struct sni_endpoint {
    sni_endpoint_kind kind;
    sni_address address;                /* STREAM */
    char name[SNI_INPROC_NAME_MAX + 1]; /* INPROC: what follows inproc:// */
} sni_endpoint;

/* Parses the endpoint text of sennit_sock_bind() (`listening`) or _connect(); the
 * grammar and the errors are documented there. Pure: looks nothing up. */
sennit_err sni_endpoint_parse(const char *text, bool listening, sni_endpoint *out);

#endif /* SENNIT_CORE_ENDPOINT_H */
