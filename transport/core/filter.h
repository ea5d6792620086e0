/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CORE_FILTER_H
#define SENNIT_CORE_FILTER_H

#include "io/io.h"

/* Who may connect: tcp_accept by address, ipc_accept by credentials. */

typedef struct sni_network {
    bool v6;
    uint8_t ip[16];
    unsigned bits; /* of the address that count */
} sni_network;

/* "10.0.0.0/8", "192.168.1.7", "fe80::/10". Bits behind the prefix do not matter.
 * False: it is none. */
bool sni_network_parse(const char *text, sni_network *out);

/* Whether a peer matches what the options accept; if not, `*why` says of which kind the
 * refusal is. */
bool sni_filter_admits(const sennit_sock_opts *opts, const sni_peer_name *peer,
                       const char **why);

#endif /* SENNIT_CORE_FILTER_H */
