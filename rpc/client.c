/* SPDX-License-Identifier: MIT */
/* What generated clients call: the bus functions at "<service>.<method>". */
#include "sennit/rpc.h"

#include <stdio.h>
#include <string.h>

#include "rpc/request.h"

void
sennit_client_init(sennit_client *client, sennit_bus *bus, const char *service)
{
    memset(client, 0, sizeof *client);
    client->bus = bus;
    client->service = service;
}

/* Errors: EINVAL (longer than an address may be). */
static sennit_err
method_address(const sennit_client *client, const char *method,
               char out[static SENNIT_ADDRESS_MAX + 1])
{
    int size = snprintf(out, SENNIT_ADDRESS_MAX + 1, "%s.%s", client->service, method);

    return size > 0 && size <= SENNIT_ADDRESS_MAX ? SENNIT_OK : SENNIT_EINVAL;
}

static const sennit_call_opts *
opts_or_own(const sennit_client *client, const sennit_call_opts *opts)
{
    return opts != NULL ? opts : &client->opts;
}

sennit_err
sennit_client_call(const sennit_client *client, const char *method, int method_timeout_ms,
                   sennit_bytes body, const sennit_call_opts *opts, sennit_arena *arena,
                   sennit_bytes *reply, sennit_error *error)
{
    char address[SENNIT_ADDRESS_MAX + 1];
    sennit_err err = method_address(client, method, address);

    if (err) {
        sennit_error_set(error, SENNIT_KIND_BAD_MESSAGE, SENNIT_RAN_NEVER,
                         "%.80s.%.80s: longer than an address may be", client->service,
                         method);
        return err;
    }
    return sni_request_call(client->bus, address, body, opts_or_own(client, opts),
                            method_timeout_ms, arena, reply, error);
}

sennit_err
sennit_client_request(const sennit_client *client, const char *method,
                      int method_timeout_ms, sennit_bytes body,
                      const sennit_call_opts *opts, sennit_call *call,
                      sennit_result_thunk *thunk, sennit_any_fn *fn, void *arg)
{
    char address[SENNIT_ADDRESS_MAX + 1];
    sennit_err err = method_address(client, method, address);

    if (err)
        return err;
    return sennit_bus_request_typed(client->bus, address, body, opts_or_own(client, opts),
                                    method_timeout_ms, call, thunk, fn, arg);
}

sennit_err
sennit_client_send(const sennit_client *client, const char *method, sennit_bytes body,
                   const sennit_call_opts *opts)
{
    char address[SENNIT_ADDRESS_MAX + 1];
    sennit_err err = method_address(client, method, address);

    if (err)
        return err;
    return sennit_bus_send(client->bus, address, body, opts_or_own(client, opts));
}
