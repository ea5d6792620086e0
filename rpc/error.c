/* SPDX-License-Identifier: MIT */
#include "sennit/rpc.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *
sennit_kind_text(sennit_kind kind)
{
    switch (kind) {
#define X(name, value, text)                                                             \
    case SENNIT_KIND_##name:                                                             \
        return text;
        SENNIT_KIND_TABLE(X)
#undef X
    }
    return "a failure this build does not know";
}

const char *
sennit_kind_name(sennit_kind kind)
{
    switch (kind) {
#define X(name, value, text)                                                             \
    case SENNIT_KIND_##name:                                                             \
        return #name;
        SENNIT_KIND_TABLE(X)
#undef X
    }
    return "?";
}

sennit_err
sennit_kind_err(sennit_kind kind)
{
    switch (kind) {
    case SENNIT_KIND_NONE:
        return SENNIT_OK;
    case SENNIT_KIND_NO_HANDLERS:
        return SENNIT_ENOENT;
    case SENNIT_KIND_TIMEOUT:
        return SENNIT_ETIMEDOUT;
    case SENNIT_KIND_CANCELLED:
        return SENNIT_EINTR;
    case SENNIT_KIND_NOT_SENT:
        return SENNIT_EHOSTUNREACH;
    case SENNIT_KIND_PEER_LOST:
        return SENNIT_ECONNRESET;
    case SENNIT_KIND_OVERLOADED:
    case SENNIT_KIND_DRAINING:
        return SENNIT_EAGAIN;
    case SENNIT_KIND_UNIMPLEMENTED:
        return SENNIT_ENOTSUP;
    case SENNIT_KIND_BAD_MESSAGE:
        return SENNIT_EINVAL;
    case SENNIT_KIND_TOO_LARGE:
        return SENNIT_EMSGSIZE;
    case SENNIT_KIND_CLOSED:
        return SENNIT_ECLOSED;
    case SENNIT_KIND_PROTOCOL:
        return SENNIT_EPROTO;
    case SENNIT_KIND_NO_MEMORY:
        return SENNIT_ENOMEM;
    case SENNIT_KIND_RECIPIENT_FAILURE:
    case SENNIT_KIND_NO_REPLY:
        break;
    }
    return SENNIT_EIO;
}

const char *
sennit_ran_name(sennit_ran ran)
{
    switch (ran) {
    case SENNIT_RAN_NEVER:
        return "never";
    case SENNIT_RAN_MAYBE:
        return "maybe";
    case SENNIT_RAN_YES:
        return "yes";
    }
    return "?";
}

bool
sennit_error_safe_to_retry(const sennit_error *error, bool idempotent)
{
    return error->ran == SENNIT_RAN_NEVER ||
           (error->ran == SENNIT_RAN_MAYBE && idempotent);
}

void
sennit_error_set(sennit_error *error, sennit_kind kind, sennit_ran ran,
                 const char *format, ...)
{
    va_list args;

    memset(error, 0, sizeof *error);
    error->kind = kind;
    error->ran = ran;
    va_start(args, format);
    (void)vsnprintf(error->message, sizeof error->message, format, args);
    va_end(args);
}

const char *
sennit_dead_reason_text(sennit_dead_reason reason)
{
    switch (reason) {
#define X(name, value, text)                                                             \
    case SENNIT_DEAD_##name:                                                             \
        return text;
        SENNIT_DEAD_TABLE(X)
#undef X
    case SENNIT_DEAD_COUNT:
        break;
    }
    return "?";
}
