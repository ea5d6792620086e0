/* SPDX-License-Identifier: MIT */
#include "io/address.h"

#include <arpa/inet.h>
#include <stdio.h>

void
sni_address_peer_text(const sni_address *address, char out[SNI_PEER_TEXT_MAX])
{
    char ip[INET6_ADDRSTRLEN] = "";

    out[0] = '\0';
    switch (address->kind) {
    case SNI_ADDRESS_TCP4:
        inet_ntop(AF_INET, address->ip, ip, sizeof ip);
        snprintf(out, SNI_PEER_TEXT_MAX, "%s:%u", ip, (unsigned)address->port);
        break;
    case SNI_ADDRESS_TCP6:
        inet_ntop(AF_INET6, address->ip, ip, sizeof ip);
        if (address->scope != 0)
            snprintf(out, SNI_PEER_TEXT_MAX, "[%s%%%u]:%u", ip, (unsigned)address->scope,
                     (unsigned)address->port);
        else
            snprintf(out, SNI_PEER_TEXT_MAX, "[%s]:%u", ip, (unsigned)address->port);
        break;
    case SNI_ADDRESS_IPC:
        break;
    }
}

void
sni_address_text(const sni_address *address, char out[SNI_ENDPOINT_TEXT_MAX])
{
    char peer[SNI_PEER_TEXT_MAX];

    sni_address_peer_text(address, peer);
    if (address->kind == SNI_ADDRESS_IPC)
        snprintf(out, SNI_ENDPOINT_TEXT_MAX, "ipc://%s%.*s", address->abstract ? "@" : "",
                 (int)address->path_size, address->path);
    else
        snprintf(out, SNI_ENDPOINT_TEXT_MAX, "tcp://%s", peer);
}

sni_remote
sni_remote_of(const sni_address *address)
{
    sni_remote remote = { .kind = address->kind };

    if (address->kind == SNI_ADDRESS_IPC)
        return remote;
    memcpy(remote.ip, address->ip, sizeof remote.ip);
    remote.scope = address->scope;
    remote.port = address->port;
    return remote;
}

sni_address
sni_remote_address(const sni_remote *remote)
{
    sni_address address = { .kind = remote->kind,
                            .scope = remote->scope,
                            .port = remote->port };

    memcpy(address.ip, remote->ip, sizeof address.ip);
    return address;
}

sni_address
sni_address_of_ip(const sennit_ip *ip, uint16_t port)
{
    sni_address address = {
        .kind = ip->v6 ? SNI_ADDRESS_TCP6 : SNI_ADDRESS_TCP4,
        .port = port,
        .scope = ip->v6 ? ip->scope : 0,
    };

    memcpy(address.ip, ip->octets, ip->v6 ? 16 : 4);
    return address;
}
