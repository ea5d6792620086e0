/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_IO_ADDRESS_H
#define SENNIT_IO_ADDRESS_H

#include "base/bytes.h"

#define SNI_IPC_PATH_MAX 107u

typedef enum sni_address_kind {
    SNI_ADDRESS_TCP4,
    SNI_ADDRESS_TCP6,
    SNI_ADDRESS_IPC
} sni_address_kind;

/* Where a stream listens or goes: resolved, so that no backend ever looks up a
 * name. */
typedef struct sni_address {
    sni_address_kind kind;
    uint8_t ip[16];    /* TCP4: the first four, network order */
    uint16_t port;     /* 0 when listening: the system chooses */
    uint32_t scope;    /* TCP6 link-local zone, or 0 */
    bool abstract;     /* IPC: Linux abstract name */
    bool wildcard;     /* IPC listen: the library chose `path` and owns its directory */
    uint8_t path_size; /* IPC: without NUL */
    char path[SNI_IPC_PATH_MAX + 1];
} sni_address;

/* Big enough for every endpoint text, NUL included. */
#define SNI_ENDPOINT_TEXT_MAX 128u

/* Writes `address` as an endpoint: "tcp://127.0.0.1:5555", "tcp://[::1]:5555",
 * "ipc:///tmp/x", "ipc://@name". */
void sni_address_text(const sni_address *address, char out[SNI_ENDPOINT_TEXT_MAX]);

#endif /* SENNIT_IO_ADDRESS_H */
