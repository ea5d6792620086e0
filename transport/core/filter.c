/* SPDX-License-Identifier: MIT */
#include "core/filter.h"

#include <arpa/inet.h>

/* An IPv4 peer is known as one however it came, so its network is one as well. */
static void
unmap(sni_network *network)
{
    static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

    if (!network->v6 || network->bits < 96 || memcmp(network->ip, mapped, 12) != 0)
        return;
    network->v6 = false;
    network->bits -= 96;
    memmove(network->ip, network->ip + 12, 4);
}

bool
sni_network_parse(const char *text, sni_network *out)
{
    const char *slash = strchr(text, '/');
    size_t size = slash != NULL ? (size_t)(slash - text) : strlen(text);
    sni_network network = { .v6 = strchr(text, ':') != NULL };
    char ip[INET6_ADDRSTRLEN];
    unsigned max = network.v6 ? 128 : 32;

    if (size >= sizeof ip)
        return false;
    memcpy(ip, text, size);
    ip[size] = '\0';
    if (inet_pton(network.v6 ? AF_INET6 : AF_INET, ip, network.ip) != 1)
        return false;
    network.bits = max;
    if (slash != NULL) {
        size_t digits = strspn(slash + 1, "0123456789");

        if (digits == 0 || digits > 3 || slash[1 + digits] != '\0')
            return false;
        network.bits = 0;
        for (const char *at = slash + 1; *at != '\0'; at++)
            network.bits = network.bits * 10 + (unsigned)(*at - '0');
    }
    if (network.bits > max)
        return false;
    unmap(&network);
    *out = network;
    return true;
}

static bool
contains(const sni_network *network, const sni_address *address)
{
    size_t octets = network->bits / 8;
    unsigned rest = network->bits % 8;

    if (address->kind != (network->v6 ? SNI_ADDRESS_TCP6 : SNI_ADDRESS_TCP4) ||
        memcmp(network->ip, address->ip, octets) != 0)
        return false;
    return rest == 0 || (network->ip[octets] ^ address->ip[octets]) >> (8 - rest) == 0;
}

static bool
is_one_of(int64_t wanted, int64_t id)
{
    return wanted == -1 || wanted == id;
}

bool
sni_filter_admits(const sennit_sock_opts *opts, const sni_peer_name *peer,
                  const char **why)
{
    bool ipc = peer->address.kind == SNI_ADDRESS_IPC;
    size_t count = ipc ? opts->ipc_accept_count : opts->tcp_accept_count;

    for (size_t i = 0; i < count; i++) {
        const sennit_ipc_filter *filter = ipc ? &opts->ipc_accept[i] : NULL;
        sni_network network;

        if (ipc ? is_one_of(filter->uid, peer->uid) &&
                      is_one_of(filter->gid, peer->gid) &&
                      is_one_of(filter->pid, peer->pid)
                : sni_network_parse(opts->tcp_accept[i], &network) &&
                      contains(&network, &peer->address))
            return true;
    }
    *why = ipc ? "refused: it matches none of ipc_accept"
               : "refused: its address is in none of tcp_accept";
    return count == 0;
}
