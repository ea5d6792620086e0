/* SPDX-License-Identifier: MIT */
#include "engine/handshake.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/limits.h"
#include "wire/command.h"
#include "wire/frame_v1.h"
#include "wire/greeting.h"
#include "wire/ready.h"

#define MECHANISM "NULL"

/* ---- ours -------------------------------------------------------------- */

static sennit_bytes
own_identity(const sni_handshake *shake)
{
    return sni_bytes(shake->own, shake->own_identity_size);
}

/* Puts our greeting on the lane up to octet `upto`. */
static sennit_err
send_greeting(sni_handshake *shake, sni_lane *lane, size_t upto)
{
    uint8_t greeting[SNI_GREETING_SIZE];
    size_t sent = shake->greeting_sent;

    if (upto <= sent)
        return SENNIT_OK;
    sni_greeting_write_identity(greeting, MECHANISM, shake->own_identity_size);
    if (upto == SNI_GREETING_LEGACY_SIZE)
        greeting[SNI_GREETING_LEGACY_SIZE - 1] = shake->type;
    if (sni_lane_put(lane, sni_bytes(greeting + sent, upto - sent)) != SENNIT_OK)
        return SENNIT_ENOMEM;
    shake->greeting_sent = (uint8_t)upto;
    return SENNIT_OK;
}

sennit_err
sni_handshake_init(sni_handshake *shake, const sni_engine_cfg *cfg, sni_lane *lane)
{
    size_t own_size = cfg->identity.size + cfg->properties.size;

    *shake = (sni_handshake){ .alloc = cfg->alloc,
                              .own_size = (uint32_t)own_size,
                              .own_identity_size = (uint8_t)cfg->identity.size,
                              .type = (uint8_t)cfg->type,
                              .peer_type = -1,
                              .unversioned = cfg->unversioned };
    SNI_ASSERT(cfg->identity.size <= SENNIT_IDENTITY_MAX);
    SNI_ASSERT(own_size <= UINT32_MAX);
    if (own_size > 0) {
        shake->own = sni_acquire(cfg->alloc, own_size);
        if (shake->own == NULL)
            return SENNIT_ENOMEM;
        sni_bytes_put(shake->own, cfg->identity);
        sni_bytes_put(shake->own + cfg->identity.size, cfg->properties);
    }
    return send_greeting(shake, lane, SNI_GREETING_SIGNATURE);
}

void
sni_handshake_fini(sni_handshake *shake)
{
    sni_release(shake->alloc, shake->own);
    sni_release(shake->alloc, shake->said);
}

static sennit_err
tell_ready(sni_handshake *shake, sni_lane *lane)
{
    sennit_bytes properties =
        sni_bytes(shake->own == NULL ? NULL : shake->own + shake->own_identity_size,
                  shake->own_size - shake->own_identity_size);
    uint8_t *out = sni_lane_reserve(lane, SNI_READY_MAX - SENNIT_IDENTITY_MAX +
                                              shake->own_identity_size + properties.size);

    if (out == NULL)
        return SENNIT_ENOMEM;
    sni_lane_commit(lane, sni_ready_write_with(out, (sennit_sock_type)shake->type,
                                               own_identity(shake), properties));
    return SENNIT_OK;
}

static sennit_err
tell_identity(sni_handshake *shake, sni_lane *lane)
{
    sennit_bytes identity = own_identity(shake);
    uint8_t *out = sni_lane_reserve(lane, SNI_FRAME_V1_HEAD_MAX + SENNIT_IDENTITY_MAX);
    size_t used = 0;

    if (out == NULL)
        return SENNIT_ENOMEM;
    if (shake->major == 2)
        used = sni_frame_head_write(out, false, false, identity.size);
    else if (!shake->identity_announced)
        used = sni_frame_v1_head_write(out, false, identity.size);
    sni_bytes_put(out + used, identity);
    sni_lane_commit(lane, used + identity.size);
    return SENNIT_OK;
}

sennit_err
sni_handshake_tell(sni_handshake *shake, sni_lane *lane)
{
    sennit_err err;

    if (shake->hello_sent)
        return SENNIT_OK;
    err = shake->major >= 3 ? tell_ready(shake, lane) : tell_identity(shake, lane);
    if (err)
        return err;
    shake->hello_sent = true;
    sni_release(shake->alloc, shake->own);
    shake->own = NULL;
    shake->own_size = 0;
    return SENNIT_OK;
}

/* ---- the peer's -------------------------------------------------------- */

static sni_parse
bad(sni_fault *fault, sennit_err err, const char *reason)
{
    *fault = (sni_fault){ err, reason };
    return SNI_PARSE_BAD;
}

static sni_parse
no_memory(sni_fault *fault)
{
    return bad(fault, SENNIT_ENOMEM, "out of memory");
}

sni_parse
sni_handshake_greeting(sni_handshake *shake, sni_lane *lane, sennit_bytes in,
                       size_t *used, sni_fault *fault)
{
    sni_greeting greeting = { 0, 0, 0, 0, "" };
    size_t reply;
    sni_parse parse =
        sni_greeting_read(in, MECHANISM, shake->unversioned, &greeting, &reply);

    /* Also to a peer that is refused: it can tell what we are, and how its octets
     * were cut up makes no difference. */
    if (send_greeting(shake, lane, reply) != SENNIT_OK)
        return no_memory(fault);
    if (parse == SNI_PARSE_BAD)
        return bad(fault, SENNIT_EPROTO, greeting.problem);
    if (parse == SNI_PARSE_MORE)
        return SNI_PARSE_MORE;
    shake->major = greeting.major;
    shake->minor = greeting.minor;
    shake->identity_announced = greeting.size == 0;
    if (greeting.size == SNI_GREETING_LEGACY_SIZE) {
        if (!sni_socktype_accepts_number((sennit_sock_type)shake->type, greeting.type))
            return bad(fault, SENNIT_EPROTO, "socket types do not go together");
        shake->peer_type = (int8_t)greeting.type;
    }
    *used = greeting.size;
    return SNI_PARSE_DONE;
}

/* Keeps the peer's identity, and room for `properties_size` octets behind it. */
static bool
keep(sni_handshake *shake, sennit_bytes identity, size_t properties_size)
{
    if (identity.size + properties_size == 0)
        return true;
    shake->said = sni_acquire(shake->alloc, identity.size + properties_size);
    if (shake->said == NULL)
        return false;
    sni_bytes_put(shake->said, identity);
    shake->identity_size = (uint8_t)identity.size;
    shake->said_size = (uint32_t)(identity.size + properties_size);
    return true;
}

static sni_parse
take_ready(sni_handshake *shake, sennit_bytes metadata, sni_fault *fault)
{
    sni_ready ready;

    if (!sni_ready_read(metadata, (sennit_sock_type)shake->type, &ready))
        return bad(fault, SENNIT_EPROTO, ready.problem);
    if (!keep(shake, ready.identity, ready.properties_size))
        return no_memory(fault);
    if (ready.properties_size > 0)
        sni_ready_copy_properties(metadata, shake->said + shake->identity_size);
    shake->peer_type = (int8_t)ready.type;
    return SNI_PARSE_DONE;
}

/* What a peer says in ERROR is its own text: only codes that are known are repeated. */
static const char *
why_refused(sennit_bytes code)
{
    if (sni_bytes_equal(code, SNI_BYTES_OF("300")))
        return "peer refused the connection with ERROR 300: try again later";
    if (sni_bytes_equal(code, SNI_BYTES_OF("400")))
        return "peer refused the connection with ERROR 400: not authenticated";
    if (sni_bytes_equal(code, SNI_BYTES_OF("500")))
        return "peer refused the connection with ERROR 500: its authentication failed";
    return "peer refused the connection with ERROR";
}

static sni_parse
hear_command(sni_handshake *shake, sennit_bytes in, size_t *used, sni_fault *fault)
{
    sni_frame_head head;
    sni_command command;
    const char *problem;
    sni_parse parse = sni_frame_head_read(in, &head, used);

    if (parse == SNI_PARSE_MORE)
        return SNI_PARSE_MORE;
    if (parse == SNI_PARSE_BAD || !head.command)
        return bad(fault, SENNIT_EPROTO, "not a command during the handshake");
    if (head.body_size > SNI_HANDSHAKE_COMMAND_MAX_BYTES)
        return bad(fault, SENNIT_EPROTO, "handshake command too large");
    if (in.size - *used < head.body_size)
        return SNI_PARSE_MORE;
    problem =
        sni_command_read(sni_bytes(in.data + *used, (size_t)head.body_size), &command);
    *used += (size_t)head.body_size;
    if (problem != NULL)
        return bad(fault, SENNIT_EPROTO, problem);
    if (command.kind == SNI_COMMAND_READY)
        return take_ready(shake, command.data, fault);
    if (command.kind == SNI_COMMAND_ERROR)
        return bad(fault, SENNIT_EACCES, why_refused(command.data));
    return bad(fault, SENNIT_EPROTO, "unexpected command during the handshake");
}

/* Strict, because anything that is not ZMTP at all comes here as a 1.0 peer. */
static sni_parse
hear_identity(sni_handshake *shake, sennit_bytes in, size_t *used, sni_fault *fault)
{
    bool v1 = shake->major == 1;
    sni_frame_head head;
    sennit_bytes identity;
    sni_parse parse = v1 ? sni_frame_v1_head_read(in, &head, used)
                         : sni_frame_head_read(in, &head, used);

    if (parse == SNI_PARSE_MORE)
        return SNI_PARSE_MORE;
    /* The flags are the last octet of a 1.0 head, the first of another. */
    if (parse == SNI_PARSE_BAD || head.command || head.more ||
        (v1 && in.data[*used - 1] != 0))
        return bad(fault, SENNIT_EPROTO, "not an identity frame (maybe no ZMTP at all)");
    if (head.body_size > SENNIT_IDENTITY_MAX)
        return bad(fault, SENNIT_EPROTO, "identity over 255 octets");
    if (in.size - *used < head.body_size)
        return SNI_PARSE_MORE;
    identity = sni_bytes(in.data + *used, (size_t)head.body_size);
    if (!keep(shake, identity, 0))
        return no_memory(fault);
    *used += identity.size;
    return SNI_PARSE_DONE;
}

sni_parse
sni_handshake_hello(sni_handshake *shake, sennit_bytes in, size_t *used, sni_fault *fault)
{
    return shake->major >= 3 ? hear_command(shake, in, used, fault)
                             : hear_identity(shake, in, used, fault);
}

sennit_bytes
sni_handshake_identity(const sni_handshake *shake)
{
    return sni_bytes(shake->said, shake->identity_size);
}

sennit_bytes
sni_handshake_properties(const sni_handshake *shake)
{
    return sni_bytes(shake->said == NULL ? NULL : shake->said + shake->identity_size,
                     shake->said_size - shake->identity_size);
}
