/* SPDX-License-Identifier: MIT */
/* Law: in_size <= in_wanted <= SNI_SOCKS_IN_MAX; a step is taken when they are equal. */
#include "core/socks.h"

#include "base/assert.h"

enum {
    VERSION = 5,
    ACCOUNT_VERSION = 1,
    NO_ACCOUNT = 0,
    BY_ACCOUNT = 2,
    NO_METHOD = 0xff,
    CONNECT = 1,
    IPV4 = 1,
    NAME = 3,
    IPV6 = 4,
};

static void
put(sni_socks *socks, const void *data, size_t size)
{
    SNI_ASSERT(size <= sizeof socks->out - socks->out_size);
    memcpy(socks->out + socks->out_size, data, size);
    socks->out_size += size;
}

static void
put_octet(sni_socks *socks, unsigned value)
{
    uint8_t octet = (uint8_t)value;

    put(socks, &octet, 1);
}

/* RFC 1929: a version, and two texts with their sizes. */
static size_t
write_account(uint8_t *out, const char *user, const char *password)
{
    size_t user_size = strlen(user);
    size_t password_size = strlen(password);

    SNI_ASSERT(user_size <= 255);
    SNI_ASSERT(password_size <= 255);
    *out++ = ACCOUNT_VERSION;
    *out++ = (uint8_t)user_size;
    memcpy(out, user, user_size);
    out += user_size;
    *out++ = (uint8_t)password_size;
    memcpy(out, password, password_size);
    return 3 + user_size + password_size;
}

/* Something is said, and an answer of `wanted` octets is awaited. */
static void
say(sni_socks *socks, sni_socks_state state, size_t wanted)
{
    socks->state = state;
    socks->out_sent = 0;
    socks->in_size = 0;
    socks->in_wanted = wanted;
}

static sennit_err
fail(sni_socks *socks, sennit_err err, const char *reason)
{
    socks->state = SNI_SOCKS_BROKEN;
    socks->out_size = 0;
    socks->out_sent = 0;
    socks->in_wanted = 0;
    socks->in_size = 0;
    socks->err = err;
    socks->reason = reason;
    return err;
}

/* ---- what is said ------------------------------------------------------ */

static void
say_methods(sni_socks *socks)
{
    socks->out_size = 0;
    put_octet(socks, VERSION);
    put_octet(socks, socks->account_size > 0 ? 2 : 1);
    put_octet(socks, NO_ACCOUNT);
    if (socks->account_size > 0)
        put_octet(socks, BY_ACCOUNT);
    say(socks, SNI_SOCKS_METHOD, 2);
}

static void
say_account(sni_socks *socks)
{
    socks->out_size = 0;
    put(socks, socks->account, socks->account_size);
    say(socks, SNI_SOCKS_ACCOUNT, 2);
}

static void
say_request(sni_socks *socks)
{
    bool v6 = socks->address.kind == SNI_ADDRESS_TCP6;

    socks->out_size = 0;
    put_octet(socks, VERSION);
    put_octet(socks, CONNECT);
    put_octet(socks, 0);
    if (socks->name[0] != '\0') {
        put_octet(socks, NAME);
        put_octet(socks, (unsigned)strlen(socks->name));
        put(socks, socks->name, strlen(socks->name));
    } else {
        put_octet(socks, v6 ? IPV6 : IPV4);
        put(socks, socks->address.ip, v6 ? 16 : 4);
    }
    put_octet(socks, socks->address.port >> 8);
    put_octet(socks, socks->address.port & 0xff);
    /* The head, and one octet of the address: a name's tells how long it is. */
    say(socks, SNI_SOCKS_REPLY, 5);
}

/* ---- what is heard ----------------------------------------------------- */

static sennit_err
heard_method(sni_socks *socks)
{
    if (socks->in[0] != VERSION)
        return fail(socks, SENNIT_EPROTO, "the proxy does not speak SOCKS5");
    if (socks->in[1] == NO_METHOD)
        return fail(socks, SENNIT_EACCES,
                    socks->account_size > 0
                        ? "the proxy accepts no method we have"
                        : "the proxy wants an account: socks_username");
    if (socks->in[1] == BY_ACCOUNT && socks->account_size > 0)
        say_account(socks);
    else if (socks->in[1] == NO_ACCOUNT)
        say_request(socks);
    else
        return fail(socks, SENNIT_EPROTO, "the proxy chose a method it was not offered");
    return SENNIT_OK;
}

static sennit_err
heard_account(sni_socks *socks)
{
    if (socks->in[0] != ACCOUNT_VERSION)
        return fail(socks, SENNIT_EPROTO, "the proxy's answer to the account is none");
    if (socks->in[1] != 0)
        return fail(socks, SENNIT_EACCES, "the proxy refused socks_username");
    say_request(socks);
    return SENNIT_OK;
}

static sennit_err
refused(sni_socks *socks, uint8_t code)
{
    static const struct {
        sennit_err err;
        const char *reason;
    } codes[] = {
        { SENNIT_OK, NULL },
        { SENNIT_EIO, "the proxy failed" },
        { SENNIT_EACCES, "the proxy's rules do not allow this connection" },
        { SENNIT_EHOSTUNREACH, "the proxy cannot reach the network" },
        { SENNIT_EHOSTUNREACH, "the proxy cannot reach the host" },
        { SENNIT_ECONNREFUSED, "the host refused the proxy's connection" },
        { SENNIT_ETIMEDOUT, "the host is too far from the proxy (TTL)" },
        { SENNIT_ENOTSUP, "the proxy does not do CONNECT" },
        { SENNIT_ENOTSUP, "the proxy does not do addresses of this kind" },
    };

    if (code >= sizeof codes / sizeof codes[0])
        return fail(socks, SENNIT_EPROTO, "the proxy's reply code is none of SOCKS5");
    return fail(socks, codes[code].err, codes[code].reason);
}

static sennit_err
heard_reply(sni_socks *socks)
{
    size_t rest;

    if (socks->in[0] != VERSION)
        return fail(socks, SENNIT_EPROTO, "the proxy's reply is not of SOCKS5");
    if (socks->in[1] != 0)
        return refused(socks, socks->in[1]);
    switch (socks->in[3]) {
    case IPV4:
        rest = 4;
        break;
    case IPV6:
        rest = 16;
        break;
    case NAME:
        rest = 1u + socks->in[4];
        break;
    default:
        return fail(socks, SENNIT_EPROTO, "the proxy's reply has an address of no kind");
    }
    /* One octet of the address is here; the port follows. */
    socks->state = SNI_SOCKS_BOUND;
    socks->in_wanted = 4 + rest + 2;
    return SENNIT_OK;
}

/* ---- in and out -------------------------------------------------------- */

void
sni_socks_open(sni_socks *socks, const char *name, const sni_address *address,
               const char *user, const char *password)
{
    memset(socks, 0, sizeof *socks);
    socks->name = name;
    socks->address = *address;
    if (user != NULL)
        socks->account_size = write_account(socks->account, user, password);
    socks->reason = "";
    say_methods(socks);
}

sennit_bytes
sni_socks_output(const sni_socks *socks)
{
    return (sennit_bytes){ socks->out + socks->out_sent,
                           socks->out_size - socks->out_sent };
}

void
sni_socks_wrote(sni_socks *socks, size_t size)
{
    SNI_ASSERT(size <= socks->out_size - socks->out_sent);
    socks->out_sent += size;
}

size_t
sni_socks_wanted(const sni_socks *socks)
{
    return socks->out_sent < socks->out_size ? 0 : socks->in_wanted - socks->in_size;
}

sennit_err
sni_socks_feed(sni_socks *socks, sennit_bytes in)
{
    SNI_ASSERT(in.size <= sni_socks_wanted(socks));
    if (in.size == 0)
        return fail(socks, SENNIT_ECONNRESET, "the proxy closed the connection");
    memcpy(socks->in + socks->in_size, in.data, in.size);
    socks->in_size += in.size;
    if (socks->in_size < socks->in_wanted)
        return SENNIT_OK;
    switch (socks->state) {
    case SNI_SOCKS_METHOD:
        return heard_method(socks);
    case SNI_SOCKS_ACCOUNT:
        return heard_account(socks);
    case SNI_SOCKS_REPLY:
        return heard_reply(socks);
    case SNI_SOCKS_BOUND:
        socks->state = SNI_SOCKS_DONE;
        socks->in_wanted = socks->in_size = 0;
        return SENNIT_OK;
    case SNI_SOCKS_DONE:
    case SNI_SOCKS_BROKEN:
        break;
    }
    return socks->err;
}
