/* SPDX-License-Identifier: MIT */
/* One row per field of sennit_sock_opts. identity_size has none: it follows from
 * the identity. */
#include "sock_option.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "suggest.h"
#include "usage.h"

typedef enum field_kind {
    FIELD_INT,
    FIELD_U32,
    FIELD_U64,
    FIELD_BOOL,
    FIELD_IDENTITY
} field_kind;

static const char *const names[] = {
    "send_hwm_msgs",
    "recv_hwm_msgs",
    "send_timeout_ms",
    "recv_timeout_ms",
    "linger_ms",
    "reconnect_min_ms",
    "reconnect_max_ms",
    "connect_timeout_ms",
    "handshake_timeout_ms",
    "backlog",
    "recv_frame_max_bytes",
    "recv_message_max_bytes",
    "recv_message_max_parts",
    "router_mandatory",
    "identity",
};

#define NAMES_COUNT (sizeof names / sizeof *names)

#define FIELD(kind, name)                                                                \
    {                                                                                    \
        kind, offsetof(sennit_sock_opts, name)                                           \
    }
static const struct {
    field_kind kind;
    size_t offset;
} fields[NAMES_COUNT] = {
    FIELD(FIELD_INT, send_hwm_msgs),
    FIELD(FIELD_INT, recv_hwm_msgs),
    FIELD(FIELD_INT, send_timeout_ms),
    FIELD(FIELD_INT, recv_timeout_ms),
    FIELD(FIELD_INT, linger_ms),
    FIELD(FIELD_INT, reconnect_min_ms),
    FIELD(FIELD_INT, reconnect_max_ms),
    FIELD(FIELD_INT, connect_timeout_ms),
    FIELD(FIELD_INT, handshake_timeout_ms),
    FIELD(FIELD_INT, backlog),
    FIELD(FIELD_U64, recv_frame_max_bytes),
    FIELD(FIELD_U64, recv_message_max_bytes),
    FIELD(FIELD_U32, recv_message_max_parts),
    FIELD(FIELD_BOOL, router_mandatory),
    FIELD(FIELD_IDENTITY, identity),
};

static bool
set_int(void *field, const char *value, char *why, size_t why_size)
{
    uint64_t number;

    if (strcmp(value, "-1") == 0) {
        *(int *)field = -1; /* sennit_sock_open() knows where that is allowed */
        return true;
    }
    if (!cli_parse_number(value, 0, INT_MAX, &number)) {
        snprintf(why, why_size, "write a number from 0 to %d, or -1", INT_MAX);
        return false;
    }
    *(int *)field = (int)number;
    return true;
}

static bool
set_bool(void *field, const char *value, char *why, size_t why_size)
{
    bool yes = strcmp(value, "1") == 0 || strcmp(value, "true") == 0;

    if (!yes && strcmp(value, "0") != 0 && strcmp(value, "false") != 0) {
        snprintf(why, why_size, "write true or false");
        return false;
    }
    *(bool *)field = yes;
    return true;
}

static bool
set_identity(sennit_sock_opts *opts, const char *value, char *why, size_t why_size)
{
    size_t size = strlen(value);

    if (size == 0 || size > SENNIT_IDENTITY_MAX) {
        snprintf(why, why_size, "an identity has 1 to %d bytes", SENNIT_IDENTITY_MAX);
        return false;
    }
    memcpy(opts->identity, value, size);
    opts->identity_size = (uint8_t)size;
    return true;
}

static bool
set_field(sennit_sock_opts *opts, size_t index, const char *value, char *why,
          size_t why_size)
{
    void *field = (char *)opts + fields[index].offset;
    uint64_t number;

    switch (fields[index].kind) {
    case FIELD_INT:
        return set_int(field, value, why, why_size);
    case FIELD_BOOL:
        return set_bool(field, value, why, why_size);
    case FIELD_IDENTITY:
        return set_identity(opts, value, why, why_size);
    case FIELD_U32:
        if (!cli_parse_number(value, 0, UINT32_MAX, &number))
            break;
        *(uint32_t *)field = (uint32_t)number;
        return true;
    case FIELD_U64:
        if (!cli_parse_number(value, 0, UINT64_MAX, &number))
            break;
        *(uint64_t *)field = number;
        return true;
    }
    snprintf(why, why_size, "write a number; 0 means no limit");
    return false;
}

bool
cli_sock_option_set(sennit_sock_opts *opts, const char *assignment, char *why,
                    size_t why_size)
{
    const char *equals = strchr(assignment, '='), *near;
    size_t name_size = equals ? (size_t)(equals - assignment) : strlen(assignment);
    char name[64], list[512];

    snprintf(name, sizeof name, "%.*s", (int)(name_size < 63 ? name_size : 63),
             assignment);
    for (size_t i = 0; i < NAMES_COUNT; i++)
        if (strcmp(name, names[i]) == 0) {
            if (equals)
                return set_field(opts, i, equals + 1, why, why_size);
            snprintf(why, why_size, "write %s=VALUE", name);
            return false;
        }
    near = sni_idl_suggest(name, names, NAMES_COUNT);
    if (near) {
        snprintf(why, why_size, "unknown name; did you mean %s=VALUE?", near);
        return false;
    }
    cli_sock_option_names(list, sizeof list);
    snprintf(why, why_size, "unknown name; known are %s", list);
    return false;
}

void
cli_sock_option_names(char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < NAMES_COUNT && used < size; i++)
        used +=
            (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", names[i]);
}
