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
    bool dual;         /* TCP6 listen on [::]: IPv4 as well, or alone where IPv6 is not */
    bool abstract;     /* IPC: Linux abstract name */
    bool wildcard;     /* IPC listen: the library chose `path` and owns its directory */
    uint8_t path_size; /* IPC: without NUL */
    char path[SNI_IPC_PATH_MAX + 1];
} sni_address;

/* Who is at the other end of a connection: an address without a path, which only those
 * who connect need, so that a connection keeps no room for one. */
typedef struct sni_remote {
    sni_address_kind kind;
    uint8_t ip[16];
    uint32_t scope;
    uint16_t port;
} sni_remote;

/* A host or interface name, without NUL (RFC 1035). */
#define SNI_HOST_MAX 253u

/* Big enough for every endpoint text, NUL included: a source, a host name and ports. */
#define SNI_ENDPOINT_TEXT_MAX 384u

/* "1.2.3.4:5", "[fe80::1%2]:5", NUL included. */
#define SNI_PEER_TEXT_MAX 64u

/* Writes `address` as an endpoint: "tcp://127.0.0.1:5555", "tcp://[::1]:5555",
 * "ipc:///tmp/x", "ipc://@name". */
void sni_address_text(const sni_address *address, char out[SNI_ENDPOINT_TEXT_MAX]);

/* The same without the transport, as a monitor tells it; "" for IPC. */
void sni_address_peer_text(const sni_address *address, char out[SNI_PEER_TEXT_MAX]);

sni_remote sni_remote_of(const sni_address *address);

/* An IPC one has nothing but the kind. */
sni_address sni_remote_address(const sni_remote *remote);

/* The address of a resolver's answer, and a port. */
sni_address sni_address_of_ip(const sennit_ip *ip, uint16_t port);

#endif /* SENNIT_IO_ADDRESS_H */
