/* SPDX-License-Identifier: MIT */
#include "io/address.h"

#include <arpa/inet.h>
#include <stdio.h>

void
sni_address_text(const sni_address *address, char out[SNI_ENDPOINT_TEXT_MAX])
{
    char ip[INET6_ADDRSTRLEN] = "";

    switch (address->kind) {
    case SNI_ADDRESS_TCP4:
        inet_ntop(AF_INET, address->ip, ip, sizeof ip);
        snprintf(out, SNI_ENDPOINT_TEXT_MAX, "tcp://%s:%u", ip, (unsigned)address->port);
        break;
    case SNI_ADDRESS_TCP6:
        inet_ntop(AF_INET6, address->ip, ip, sizeof ip);
        if (address->scope != 0)
            snprintf(out, SNI_ENDPOINT_TEXT_MAX, "tcp://[%s%%%u]:%u", ip,
                     (unsigned)address->scope, (unsigned)address->port);
        else
            snprintf(out, SNI_ENDPOINT_TEXT_MAX, "tcp://[%s]:%u", ip,
                     (unsigned)address->port);
        break;
    case SNI_ADDRESS_IPC:
        snprintf(out, SNI_ENDPOINT_TEXT_MAX, "ipc://%s%.*s", address->abstract ? "@" : "",
                 (int)address->path_size, address->path);
        break;
    }
}
