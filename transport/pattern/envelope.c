/* SPDX-License-Identifier: MIT */
/* The frames in front of a body, ended by an empty one (RFC 28): what a REQ puts there,
 * and what a REP keeps to answer with. */
#include "pattern/pattern.h"

#include "base/alloc.h"

void
sni_envelope_forget(sni_pattern *pattern)
{
    for (size_t i = 0; i < pattern->envelope_count; i++)
        sennit_msg_fini(sni_msg_public(&pattern->envelope[i]));
    pattern->envelope_count = 0;
    pattern->envelope_sent = 0;
}

sennit_err
sni_envelope_reserve(sni_pattern *pattern)
{
    return sni_grow(pattern->alloc, &pattern->envelope, &pattern->envelope_capacity,
                    pattern->envelope_count + 1, sizeof *pattern->envelope)
               ? SENNIT_OK
               : SENNIT_ENOMEM;
}

sennit_err
sni_envelope_add(sni_pattern *pattern, sni_msg *msg)
{
    sennit_err err = sni_envelope_reserve(pattern);

    if (err)
        return err;
    pattern->envelope[pattern->envelope_count++] = *msg;
    sennit_msg_init(sni_msg_public(msg));
    return SENNIT_OK;
}

bool
sni_envelope_whole(const sni_pattern *pattern)
{
    return pattern->envelope_count > 0 &&
           sni_msg_size_of(&pattern->envelope[pattern->envelope_count - 1]) == 0;
}

sennit_err
sni_envelope_push(sni_pattern *pattern, sni_peer *peer)
{
    while (pattern->envelope_sent < pattern->envelope_count) {
        sennit_err err =
            pattern->port->push(peer, &pattern->envelope[pattern->envelope_sent], true);

        if (err)
            return err;
        pattern->envelope_sent++;
    }
    return SENNIT_OK;
}
