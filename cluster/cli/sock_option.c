/* SPDX-License-Identifier: MIT */
/* One row per field of sennit_sock_opts. Without one: identity_size and other counts,
 * which follow from what they count, and the lists (properties, tcp_accept,
 * ipc_accept), which one assignment cannot write. */
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
    FIELD_IDENTITY,
    FIELD_TEXT,
    FIELD_BYTES,
    FIELD_CHOICE, /* an enumeration, by the names in choices */
} field_kind;

/* Names of enumerations by value, first to last. */
static const char *const verbose_choices[] = { "first", "verbose", "verboser", NULL };
static const char *const manual_choices[] = { "automatic", "manual", "last_value", NULL };
static const char *const slow_choices[] = { "drop_new",   "drop_old", "conflate",
                                            "disconnect", "block",    NULL };

typedef struct field {
    const char *name;
    field_kind kind;
    size_t offset;
    const char *const *choices;
} field;

#define TYPES_COUNT (SENNIT_STREAM + 1)

#define FIELD(kind, name)                                                                \
    {                                                                                    \
#name, FIELD_##kind, offsetof(sennit_sock_opts, name), NULL                      \
    }
#define CHOICE(name, choices)                                                            \
    {                                                                                    \
#name, FIELD_CHOICE, offsetof(sennit_sock_opts, name), choices                   \
    }

/* In the order of the header. */
static const field fields[] = {
    FIELD(INT, send_hwm_msgs),
    FIELD(INT, recv_hwm_msgs),
    FIELD(U64, send_hwm_bytes),
    FIELD(U64, recv_hwm_bytes),
    FIELD(BOOL, conflate),
    FIELD(INT, send_age_max_ms),
    FIELD(INT, send_timeout_ms),
    FIELD(INT, recv_timeout_ms),
    FIELD(INT, linger_ms),
    FIELD(U32, send_batch_bytes),
    FIELD(U32, recv_batch_bytes),
    FIELD(BOOL, immediate),
    FIELD(INT, reconnect_min_ms),
    FIELD(INT, reconnect_max_ms),
    FIELD(U32, reconnect_stop),
    FIELD(INT, connect_timeout_ms),
    FIELD(INT, handshake_timeout_ms),
    FIELD(U32, handshakes_max),
    FIELD(INT, backlog),
    FIELD(INT, heartbeat_interval_ms),
    FIELD(INT, heartbeat_timeout_ms),
    FIELD(INT, heartbeat_ttl_ms),
    FIELD(U64, recv_frame_max_bytes),
    FIELD(U64, recv_message_max_bytes),
    FIELD(U32, recv_message_max_parts),
    FIELD(BOOL, zmtp_unversioned),
    FIELD(BOOL, ipv6),
    FIELD(INT, tcp_keepalive),
    FIELD(INT, tcp_keepalive_count),
    FIELD(INT, tcp_keepalive_idle_s),
    FIELD(INT, tcp_keepalive_interval_s),
    FIELD(INT, tcp_user_timeout_ms),
    FIELD(BOOL, tcp_reuse_port),
    FIELD(INT, tos),
    FIELD(INT, priority),
    FIELD(INT, busy_poll_us),
    FIELD(INT, kernel_send_bytes),
    FIELD(INT, kernel_recv_bytes),
    FIELD(TEXT, bind_device),
    FIELD(TEXT, socks_proxy),
    FIELD(TEXT, socks_username),
    FIELD(TEXT, socks_password),
    FIELD(INT, ipc_mode),
    FIELD(IDENTITY, identity),
    FIELD(BYTES, hello),
    FIELD(BYTES, disconnected),
    FIELD(BYTES, hiccup),
    FIELD(BOOL, router_mandatory),
    FIELD(BOOL, router_handover),
    FIELD(U32, router_notify),
    FIELD(BOOL, probe_router),
    FIELD(BOOL, req_correlate),
    FIELD(BOOL, req_relaxed),
    CHOICE(xpub_verbose, verbose_choices),
    CHOICE(xpub_manual, manual_choices),
    FIELD(BYTES, xpub_welcome),
    CHOICE(slow_subscriber, slow_choices),
    FIELD(BOOL, invert_matching),
    FIELD(BOOL, only_first_subscribe),
    FIELD(BOOL, xsub_verbose_unsubscribe),
    FIELD(BOOL, stream_notify),
    FIELD(U32, events),
    FIELD(U32, events_max),
};

#define FIELDS_COUNT (sizeof fields / sizeof *fields)

static bool
set_int(void *at, const char *value, char *why, size_t why_size)
{
    uint64_t number;

    if (strcmp(value, "-1") == 0) {
        *(int *)at = -1; /* sennit_sock_open() knows where that is allowed */
        return true;
    }
    if (!cli_parse_number(value, 0, INT_MAX, &number)) {
        snprintf(why, why_size, "write a number from 0 to %d, or -1", INT_MAX);
        return false;
    }
    *(int *)at = (int)number;
    return true;
}

static bool
set_bool(void *at, const char *value, char *why, size_t why_size)
{
    bool yes = strcmp(value, "1") == 0 || strcmp(value, "true") == 0;

    if (!yes && strcmp(value, "0") != 0 && strcmp(value, "false") != 0) {
        snprintf(why, why_size, "write true or false");
        return false;
    }
    *(bool *)at = yes;
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
set_choice(void *at, const char *const *choices, const char *value, char *why,
           size_t why_size)
{
    size_t used = (size_t)snprintf(why, why_size, "write one of");

    for (int i = 0; choices[i] != NULL; i++) {
        if (strcmp(value, choices[i]) == 0) {
            memcpy(at, &i, sizeof i); /* an enumeration has the size of an int here */
            return true;
        }
        if (used < why_size)
            used += (size_t)snprintf(why + used, why_size - used, "%s %s",
                                     i > 0 ? "," : "", choices[i]);
    }
    return false;
}

static bool
set_field(sennit_sock_opts *opts, const field *row, const char *value, char *why,
          size_t why_size)
{
    void *at = (char *)opts + row->offset;
    uint64_t number;

    switch (row->kind) {
    case FIELD_INT:
        return set_int(at, value, why, why_size);
    case FIELD_BOOL:
        return set_bool(at, value, why, why_size);
    case FIELD_IDENTITY:
        return set_identity(opts, value, why, why_size);
    case FIELD_CHOICE:
        return set_choice(at, row->choices, value, why, why_size);
    case FIELD_TEXT:
        *(const char **)at = value;
        return true;
    case FIELD_BYTES:
        *(sennit_bytes *)at = (sennit_bytes){ (const uint8_t *)value, strlen(value) };
        return true;
    case FIELD_U32:
        if (!cli_parse_number(value, 0, UINT32_MAX, &number))
            break;
        *(uint32_t *)at = (uint32_t)number;
        return true;
    case FIELD_U64:
        if (!cli_parse_number(value, 0, UINT64_MAX, &number))
            break;
        *(uint64_t *)at = number;
        return true;
    }
    snprintf(why, why_size, "write a number; 0 means no limit");
    return false;
}

_Static_assert(sizeof(sennit_slow_policy) == sizeof(int) &&
                   sizeof(sennit_xpub_manual) == sizeof(int) &&
                   sizeof(sennit_xpub_verbose) == sizeof(int) &&
                   sizeof(unsigned) == sizeof(uint32_t),
               "fields are set through these types");

bool
cli_sock_type_read(const char *where, const char *name, sennit_sock_type *out)
{
    sennit_err err = sennit_sock_type_parse(name, out);
    const char *known[TYPES_COUNT], *near;
    char list[128] = "";
    size_t used = 0;

    if (!err)
        return true;
    for (int i = 0; i < TYPES_COUNT; i++) {
        known[i] = sennit_sock_type_name((sennit_sock_type)i);
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? " " : "",
                                 known[i]);
    }
    near = sni_idl_suggest(name, known, TYPES_COUNT);
    if (err != SENNIT_ENOENT)
        cli_say("%s: socket type %s is not built yet; built are %s", where, name, list);
    else if (near)
        cli_say("%s: no socket type %s; did you mean %s?", where, name, near);
    else
        cli_say("%s: no socket type %s; known are %s", where, name, list);
    return false;
}

bool
cli_sock_option_set(sennit_sock_opts *opts, const char *assignment, char *why,
                    size_t why_size)
{
    const char *equals = strchr(assignment, '=');
    size_t name_size = equals ? (size_t)(equals - assignment) : strlen(assignment);
    const char *names[FIELDS_COUNT];
    const char *near;
    char name[64];

    snprintf(name, sizeof name, "%.*s", (int)(name_size < 63 ? name_size : 63),
             assignment);
    for (size_t i = 0; i < FIELDS_COUNT; i++) {
        names[i] = fields[i].name;
        if (strcmp(name, fields[i].name) != 0)
            continue;
        if (equals)
            return set_field(opts, &fields[i], equals + 1, why, why_size);
        snprintf(why, why_size, "write %s=VALUE", name);
        return false;
    }
    near = sni_idl_suggest(name, names, FIELDS_COUNT);
    if (near)
        snprintf(why, why_size, "unknown name; did you mean %s=VALUE?", near);
    else
        snprintf(why, why_size,
                 "unknown name; they are the fields of sennit_sock_opts, and --help "
                 "lists them");
    return false;
}

void
cli_sock_option_names(char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < FIELDS_COUNT && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "",
                                 fields[i].name);
}
