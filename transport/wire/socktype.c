/* SPDX-License-Identifier: MIT */
#include "wire/socktype.h"

#include <strings.h>

typedef struct socktype_row {
    const char *name;
    const char *accepts[3]; /* names of peers, NULL when fewer */
    bool identity;
} socktype_row;

static const socktype_row rows[] = {
    [SENNIT_PAIR] = { "PAIR", { "PAIR", NULL, NULL }, false },
    [SENNIT_PUB] = { "PUB", { "SUB", "XSUB", NULL }, false },
    [SENNIT_SUB] = { "SUB", { "PUB", "XPUB", NULL }, false },
    [SENNIT_REQ] = { "REQ", { "REP", "ROUTER", NULL }, true },
    [SENNIT_REP] = { "REP", { "REQ", "DEALER", NULL }, false },
    [SENNIT_DEALER] = { "DEALER", { "REP", "DEALER", "ROUTER" }, true },
    [SENNIT_ROUTER] = { "ROUTER", { "REQ", "DEALER", "ROUTER" }, true },
    [SENNIT_PULL] = { "PULL", { "PUSH", NULL, NULL }, false },
    [SENNIT_PUSH] = { "PUSH", { "PULL", NULL, NULL }, false },
    [SENNIT_XPUB] = { "XPUB", { "SUB", "XSUB", NULL }, false },
    [SENNIT_XSUB] = { "XSUB", { "PUB", "XPUB", NULL }, false },
    /* It speaks no ZMTP, so no peer announces it. */
    [SENNIT_STREAM] = { "STREAM", { NULL, NULL, NULL }, false },
};

/* Types of libzmq that exist and are not built here yet, from its first number on. */
#define ABSENT(X)                                                                        \
    X(SERVER) X(CLIENT) X(RADIO) X(DISH) X(GATHER) X(SCATTER) X(DGRAM) X(PEER) X(CHANNEL)

#define FIRST_ABSENT ((size_t)SENNIT_STREAM + 1)

static const struct {
    const char *name;
    const char *why_not;
} absent[] = {
#define X(name) { #name, "type is libzmq's draft " #name ", which is not built" },
    ABSENT(X)
#undef X
};

#define ROWS_COUNT (sizeof rows / sizeof rows[0])

bool
sni_socktype_accepts(sennit_sock_type ours, sennit_bytes peer)
{
    for (int i = 0; i < 3 && rows[ours].accepts[i] != NULL; i++) {
        const char *name = rows[ours].accepts[i];

        if (sni_bytes_equal(peer, sni_bytes(name, strlen(name))))
            return true;
    }
    return false;
}

bool
sni_socktype_accepts_number(sennit_sock_type ours, unsigned peer)
{
    return peer < ROWS_COUNT &&
           sni_socktype_accepts(ours,
                                sni_bytes(rows[peer].name, strlen(rows[peer].name)));
}

int
sni_socktype_of(sennit_bytes name)
{
    for (size_t i = 0; i < ROWS_COUNT; i++)
        if (sni_bytes_equal(name, sni_bytes(rows[i].name, strlen(rows[i].name))))
            return (int)i;
    return -1;
}

const char *
sni_socktype_why_not(sennit_sock_type type)
{
    size_t at = (size_t)type - FIRST_ABSENT;

    return at < sizeof absent / sizeof absent[0]
               ? absent[at].why_not
               : "type is none of those that are built: PAIR to STREAM";
}

bool
sni_socktype_has_identity(sennit_sock_type type)
{
    return rows[type].identity;
}

const char *
sennit_sock_type_name(sennit_sock_type type)
{
    return (size_t)type < ROWS_COUNT ? rows[type].name : "?";
}

sennit_err
sennit_sock_type_parse(const char *name, sennit_sock_type *out)
{
    if (name == NULL || out == NULL)
        return SENNIT_EINVAL;
    for (size_t i = 0; i < ROWS_COUNT; i++) {
        if (strcasecmp(name, rows[i].name) == 0) {
            *out = (sennit_sock_type)i;
            return SENNIT_OK;
        }
    }
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++)
        if (strcasecmp(name, absent[i].name) == 0)
            return SENNIT_ENOTSUP;
    return SENNIT_ENOENT;
}
