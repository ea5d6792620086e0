/* SPDX-License-Identifier: MIT */
/* What every generated client, server and event does, once: encode, call,
 * decode. The generated functions add the types. */
#include <sennit/codec.h>

#include <stdio.h>
#include <string.h>

/* An empty msgpack map: a body that carries nothing. */
static const uint8_t nothing[] = { 0x80 };

/* Encodes into the bus's scratch output. */
static sennit_err
encode_body(sennit_bus *bus, const sennit_codec *codec, const void *value,
            sennit_bytes *out, sennit_error *error)
{
    *out = (sennit_bytes){ nothing, sizeof(nothing) };
    if (!codec)
        return SENNIT_OK;
    sennit_buf *buf = sennit_bus_scratch(bus);
    sennit_err err = sennit_codec_encode(codec, value, buf, error);
    if (!err)
        *out = sennit_buf_bytes(buf);
    return err;
}

/* ---- Callers ---------------------------------------------------------- */

sennit_err
sennit_codec_result(const sennit_codec *codec, void *value, sennit_bytes body,
                    sennit_arena *arena, sennit_error *error)
{
    if (!codec)
        return SENNIT_OK;
    sennit_err err = sennit_codec_view(codec, value, body, arena, error);
    if (err)
        error->ran = SENNIT_RAN_YES;
    return err;
}

sennit_err
sennit_codec_call(const sennit_client *client, const char *method, int method_timeout_ms,
                  const sennit_codec *in_codec, const void *in,
                  const sennit_call_opts *opts, const sennit_codec *out_codec, void *out,
                  sennit_arena *arena, sennit_error *error)
{
    sennit_bytes body;
    sennit_bytes reply;
    sennit_err err = encode_body(client->bus, in_codec, in, &body, error);
    if (err)
        return err;
    err = sennit_client_call(client, method, method_timeout_ms, body, opts, arena, &reply,
                             error);
    if (err)
        return err;
    return sennit_codec_result(out_codec, out, reply, arena, error);
}

sennit_err
sennit_codec_request(const sennit_client *client, const char *method,
                     int method_timeout_ms, const sennit_codec *in_codec, const void *in,
                     const sennit_call_opts *opts, sennit_call *call,
                     sennit_result_thunk *thunk, sennit_any_fn *fn, void *arg)
{
    sennit_bytes body;
    sennit_err err = encode_body(client->bus, in_codec, in, &body, NULL);
    if (err)
        return err;
    return sennit_client_request(client, method, method_timeout_ms, body, opts, call,
                                 thunk, fn, arg);
}

sennit_err
sennit_codec_send(const sennit_client *client, const char *method,
                  const sennit_codec *in_codec, const void *in,
                  const sennit_call_opts *opts)
{
    sennit_bytes body;
    sennit_err err = encode_body(client->bus, in_codec, in, &body, NULL);
    return err ? err : sennit_client_send(client, method, body, opts);
}

void *
sennit_codec_detail(const sennit_codec *codec, uint32_t detail_id,
                    const sennit_error *error, sennit_arena *arena)
{
    if (!error || error->detail_id != detail_id)
        return NULL;
    void *value = sennit_arena_alloc(arena, codec->size);
    if (!value || sennit_codec_decode(codec, value, error->detail, arena, NULL))
        return NULL;
    return value;
}

/* ---- Methods ---------------------------------------------------------- */

bool
sennit_codec_args(const sennit_codec *codec, void *value, sennit_ctx *ctx,
                  sennit_bytes body)
{
    sennit_error error;
    if (!sennit_codec_view(codec, value, body, sennit_ctx_arena(ctx), &error))
        return true;
    sennit_reply_refuse(sennit_ctx_reply(ctx), error.kind, "%s", error.message);
    return false;
}

void
sennit_codec_unimplemented(sennit_ctx *ctx)
{
    sennit_str address = sennit_ctx_address(ctx);
    sennit_reply_refuse(sennit_ctx_reply(ctx), SENNIT_KIND_UNIMPLEMENTED,
                        "the server does not implement %.*s", (int)address.size,
                        address.data);
}

void
sennit_codec_oneway_done(sennit_ctx *ctx)
{
    if (sennit_ctx_wants_reply(ctx))
        sennit_reply_ok(sennit_ctx_reply(ctx),
                        (sennit_bytes){ nothing, sizeof(nothing) });
}

sennit_err
sennit_codec_reply(sennit_reply reply, const sennit_codec *codec, const void *value)
{
    sennit_bytes body;
    if (!reply.id)
        return SENNIT_ESTATE;
    sennit_err err = encode_body(reply.bus, codec, value, &body, NULL);
    return err ? err : sennit_reply_ok(reply, body);
}

sennit_err
sennit_codec_reply_error(sennit_reply reply, int32_t code, uint32_t detail_id,
                         const char *name, const sennit_codec *codec, const void *value)
{
    sennit_bytes body;
    if (!reply.id)
        return SENNIT_ESTATE;
    sennit_err err = encode_body(reply.bus, codec, value, &body, NULL);
    return err ? err : sennit_reply_error(reply, code, detail_id, body, name);
}

sennit_err
sennit_codec_reply_fail(sennit_reply reply, sennit_kind kind, const char *format,
                        va_list args)
{
    char message[SENNIT_ERROR_MESSAGE_MAX + 1];
    vsnprintf(message, sizeof(message), format, args);
    return sennit_reply_fail(reply, kind, "%s", message);
}

/* ---- Events ----------------------------------------------------------- */

sennit_err
sennit_codec_publish(sennit_bus *bus, const char *address, const sennit_codec *codec,
                     const void *value, const sennit_call_opts *opts, size_t *nodes)
{
    sennit_bytes body;
    sennit_err err = encode_body(bus, codec, value, &body, NULL);
    return err ? err : sennit_bus_publish(bus, address, body, opts, nodes);
}

bool
sennit_codec_event(const sennit_codec *codec, void *value, sennit_ctx *ctx,
                   sennit_bytes body)
{
    return !sennit_codec_view(codec, value, body, sennit_ctx_arena(ctx), NULL);
}
