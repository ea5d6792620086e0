/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CORE_SOCKS_H
#define SENNIT_CORE_SOCKS_H

#include "io/address.h"

/* One SOCKS5 CONNECT (RFC 1928, user and password by RFC 1929) as a pure state machine:
 * octets in, octets out, no I/O. What follows the proxy's last octet is the peer's, so it
 * says how much to receive, and never more is wanted than the proxy owes. */

/* The longest thing said: user and password. And the longest answer. */
#define SNI_SOCKS_OUT_MAX 513u
#define SNI_SOCKS_IN_MAX  262u

typedef enum sni_socks_state {
    SNI_SOCKS_METHOD,  /* awaits the method it chose */
    SNI_SOCKS_ACCOUNT, /* awaits what it says of user and password */
    SNI_SOCKS_REPLY,   /* awaits the head of its reply */
    SNI_SOCKS_BOUND,   /* awaits the rest of it, an address nobody needs */
    SNI_SOCKS_DONE,    /* through: what comes now is the peer's */
    SNI_SOCKS_BROKEN   /* final, remembers why */
} sni_socks_state;

typedef struct sni_socks {
    sni_socks_state state;
    uint8_t account[SNI_SOCKS_OUT_MAX]; /* user and password as they are sent */
    size_t account_size;                /* 0: without */
    const char *name;                   /* borrowed; "": `address` instead */
    sni_address address;
    uint8_t out[SNI_SOCKS_OUT_MAX];
    size_t out_size;
    size_t out_sent;
    uint8_t in[SNI_SOCKS_IN_MAX];
    size_t in_size;
    size_t in_wanted;
    sennit_err err; /* BROKEN */
    const char *reason;
} sni_socks;

/* Asks for a connection to `name` and the port of `address`, or to `address` if the name
 * is "". `name` stays until it is through. `user` NULL: without an account. */
void sni_socks_open(sni_socks *socks, const char *name, const sni_address *address,
                    const char *user, const char *password);

/* What is to be sent now, before anything is received; and how much of it was. */
sennit_bytes sni_socks_output(const sni_socks *socks);
void sni_socks_wrote(sni_socks *socks, size_t size);

/* Octets it can take now; 0: none (there is output first, or it is through). */
size_t sni_socks_wanted(const sni_socks *socks);

/* At most that many. `in` empty: the proxy has closed the connection.
 * Errors: EPROTO, EACCES (account or rules), EHOSTUNREACH, ECONNREFUSED, ETIMEDOUT,
 *         ENOTSUP, ECONNRESET, EIO, as socks->reason says. */
sennit_err sni_socks_feed(sni_socks *socks, sennit_bytes in);

#endif /* SENNIT_CORE_SOCKS_H */
