/* SPDX-License-Identifier: MIT */
/* Checked by tables: ranges of numbers, and which types have which option. What is left
 * is text and bytes. */
#include "core/opts.h"

#include <limits.h>
#include <stddef.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "core/dialer.h"
#include "core/endpoint.h"
#include "core/filter.h"
#include "core/inproc.h"
#include "core/listener.h"
#include "core/sock.h"
#include "wire/metadata.h"

static const sennit_sock_opts defaults = SENNIT_SOCK_OPTS_DEFAULT;

/* ---- ranges ------------------------------------------------------------ */

typedef struct range {
    size_t offset; /* of an int, an enum or an unsigned that is no larger */
    int min;
    int max;
    const char *why;
} range;

_Static_assert(sizeof(sennit_xpub_verbose) == sizeof(int) &&
                   sizeof(sennit_xpub_manual) == sizeof(int) &&
                   sizeof(sennit_slow_policy) == sizeof(int),
               "enums are read like numbers");

#define RANGE(field, min, max, why)                                                      \
    {                                                                                    \
        offsetof(sennit_sock_opts, field), min, max, #field " " why                      \
    }

#define NO_LIMIT "is negative; 0 means no limit"
#define FOR_EVER "is below -1; -1 means for ever, 0 not at all"
#define SYSTEMS  "is below -1; -1 means the system's own"

static const range ranges[] = {
    RANGE(send_hwm_msgs, 0, INT_MAX, NO_LIMIT),
    RANGE(recv_hwm_msgs, 0, INT_MAX, NO_LIMIT),
    RANGE(send_age_max_ms, 0, INT_MAX, NO_LIMIT),
    RANGE(send_timeout_ms, -1, INT_MAX, FOR_EVER),
    RANGE(recv_timeout_ms, -1, INT_MAX, FOR_EVER),
    RANGE(linger_ms, -1, INT_MAX, FOR_EVER),
    RANGE(send_batch_bytes, 1 << 10, 1 << 20, "is not from 1024 to 1048576"),
    RANGE(recv_batch_bytes, 1 << 10, 128 << 10, "is not from 1024 to 131072"),
    RANGE(reconnect_stop, 0, 7, "has an unknown bit; use SENNIT_STOP_..."),
    RANGE(connect_timeout_ms, 0, INT_MAX,
          "is negative; 0 means the operating system's own"),
    RANGE(handshake_timeout_ms, 0, INT_MAX, "is negative; 0 means none"),
    RANGE(backlog, 0, INT_MAX, "is negative; give listen(2) a number"),
    RANGE(heartbeat_interval_ms, 0, INT_MAX, "is negative; 0 means no PINGs"),
    RANGE(heartbeat_timeout_ms, -1, INT_MAX,
          "is below -1; -1 means the interval, 0 never"),
    RANGE(heartbeat_ttl_ms, 0, 65500, "is not from 0 to 65500"),
    RANGE(tcp_keepalive, -1, 1, "is not -1 (the system's), 0 (off) or 1 (on)"),
    RANGE(tcp_keepalive_count, -1, INT_MAX, SYSTEMS),
    RANGE(tcp_keepalive_idle_s, -1, INT_MAX, SYSTEMS),
    RANGE(tcp_keepalive_interval_s, -1, INT_MAX, SYSTEMS),
    RANGE(tcp_user_timeout_ms, 0, INT_MAX, "is negative; 0 means the system's own"),
    RANGE(tos, -1, 255, "is not from 0 to 255, or -1 for the system's own"),
    RANGE(priority, -1, INT_MAX, SYSTEMS),
    RANGE(busy_poll_us, -1, INT_MAX, SYSTEMS),
    RANGE(kernel_send_bytes, -1, INT_MAX, SYSTEMS),
    RANGE(kernel_recv_bytes, -1, INT_MAX, SYSTEMS),
    RANGE(ipc_mode, -1, 0777, "is not from 0 to 0777, or -1 for what the umask leaves"),
    RANGE(router_notify, 0, 3, "has an unknown bit; use SENNIT_NOTIFY_..."),
    RANGE(xpub_verbose, SENNIT_XPUB_FIRST, SENNIT_XPUB_VERBOSER,
          "is none of the sennit_xpub_verbose values"),
    RANGE(xpub_manual, SENNIT_XPUB_AUTOMATIC, SENNIT_XPUB_LAST_VALUE,
          "is none of the sennit_xpub_manual values"),
    RANGE(slow_subscriber, SENNIT_SLOW_DROP_NEW, SENNIT_SLOW_BLOCK,
          "is none of the sennit_slow_policy values"),
    RANGE(events_max, 1, 65536, "is not from 1 to 65536"),
};

static const char *
out_of_range(const sennit_sock_opts *opts)
{
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        int value;

        memcpy(&value, (const char *)opts + ranges[i].offset, sizeof value);
        if (value < ranges[i].min || value > ranges[i].max)
            return ranges[i].why;
    }
    return NULL;
}

/* ---- who has what ------------------------------------------------------ */

/* A field that only some types have; others must leave it at its default. */
typedef struct field {
    size_t offset;
    size_t size;
    unsigned types;
    const char *why;
} field;

#define TYPE(name) (1u << SENNIT_##name)
#define ZMTP       (~TYPE(STREAM))
#define FIELD(member, types, why)                                                        \
    {                                                                                    \
        offsetof(sennit_sock_opts, member), sizeof defaults.member, types, why           \
    }
#define ONLY(name, types, whose)                                                         \
    FIELD(name, types, #name " is an option of " whose " only")
#define ONLY_BYTES(name, types, whose)                                                   \
    FIELD(name.size, types, #name " is an option of " whose " only")
#define ZMTP_ONLY(member, name)                                                          \
    FIELD(member, ZMTP, name " is nothing for a STREAM, which speaks no ZMTP")

static const field owners[] = {
    ONLY(conflate, TYPE(PUSH) | TYPE(PULL) | TYPE(PUB) | TYPE(SUB) | TYPE(DEALER),
         "PUSH, PULL, PUB, SUB and DEALER"),
    ONLY_BYTES(hello, TYPE(DEALER) | TYPE(ROUTER), "DEALER and ROUTER"),
    ONLY_BYTES(disconnected, TYPE(ROUTER), "ROUTER"),
    ONLY_BYTES(hiccup, TYPE(DEALER), "DEALER"),
    ONLY(router_mandatory, TYPE(ROUTER), "ROUTER"),
    ONLY(router_handover, TYPE(ROUTER), "ROUTER"),
    ONLY(router_notify, TYPE(ROUTER), "ROUTER"),
    ONLY(probe_router, TYPE(ROUTER) | TYPE(DEALER) | TYPE(REQ), "ROUTER, DEALER and REQ"),
    ONLY(req_correlate, TYPE(REQ), "REQ"),
    ONLY(req_relaxed, TYPE(REQ), "REQ"),
    ONLY(xpub_verbose, TYPE(XPUB), "XPUB"),
    ONLY(xpub_manual, TYPE(XPUB), "XPUB"),
    ONLY_BYTES(xpub_welcome, TYPE(XPUB), "XPUB"),
    ONLY(slow_subscriber, TYPE(PUB) | TYPE(XPUB), "PUB and XPUB"),
    ONLY(invert_matching, TYPE(PUB) | TYPE(XPUB) | TYPE(SUB), "PUB, XPUB and SUB"),
    ONLY(only_first_subscribe, TYPE(XPUB) | TYPE(XSUB), "XPUB and XSUB"),
    ONLY(xsub_verbose_unsubscribe, TYPE(XSUB), "XSUB"),
    ONLY(stream_notify, TYPE(STREAM), "STREAM"),
    ZMTP_ONLY(identity_size, "identity"),
    ZMTP_ONLY(properties_count, "properties"),
    ZMTP_ONLY(heartbeat_interval_ms, "heartbeat_interval_ms"),
    ZMTP_ONLY(heartbeat_timeout_ms, "heartbeat_timeout_ms"),
    ZMTP_ONLY(heartbeat_ttl_ms, "heartbeat_ttl_ms"),
    ZMTP_ONLY(zmtp_unversioned, "zmtp_unversioned"),
    ZMTP_ONLY(recv_message_max_parts, "recv_message_max_parts"),
};

#define FIXED(name) FIELD(name, 0, #name " cannot change once the socket is open")
static const field fixed[] = {
    FIXED(conflate),
    FIXED(stream_notify),
    FIXED(events_max),
};

/* The first field of the table in which two sets of options differ, or NULL. */
static const char *
differs(const field *table, size_t count, unsigned type, const sennit_sock_opts *a,
        const sennit_sock_opts *b)
{
    for (size_t i = 0; i < count; i++) {
        const field *row = &table[i];

        if (!(row->types & type) && memcmp((const char *)a + row->offset,
                                           (const char *)b + row->offset, row->size) != 0)
            return row->why;
    }
    return NULL;
}

#define DIFFERS(table, type, a, b)                                                       \
    differs(table, sizeof(table) / sizeof(table)[0], type, a, b)

/* ---- text and bytes ---------------------------------------------------- */

static const char *
wrong_reconnect(const sennit_sock_opts *opts)
{
    if (opts->reconnect_min_ms < 1 && opts->reconnect_min_ms != -1)
        return "reconnect_min_ms is not 1 or more, or -1 for never again";
    if (opts->reconnect_max_ms < opts->reconnect_min_ms || opts->reconnect_max_ms < 1)
        return "reconnect_max_ms is below reconnect_min_ms; raise it";
    if (opts->heartbeat_ttl_ms % 100 != 0)
        return "heartbeat_ttl_ms goes in steps of 100";
    return NULL;
}

static const char *
wrong_keepalive(const sennit_sock_opts *opts)
{
    if (opts->tcp_keepalive_count == 0)
        return "tcp_keepalive_count is 0; -1 means the system's own";
    if (opts->tcp_keepalive_idle_s == 0)
        return "tcp_keepalive_idle_s is 0; -1 means the system's own";
    if (opts->tcp_keepalive_interval_s == 0)
        return "tcp_keepalive_interval_s is 0; -1 means the system's own";
    return NULL;
}

static bool
longer_than(const char *text, size_t max)
{
    return text != NULL && strlen(text) > max;
}

static const char *
wrong_socks(const sennit_sock_opts *opts)
{
    const char *user = opts->socks_username;
    const char *password = opts->socks_password;
    const char *why;
    sni_host proxy;

    if (opts->socks_proxy != NULL &&
        sni_endpoint_parse_proxy(opts->socks_proxy, &proxy, &why) != SENNIT_OK)
        return "socks_proxy is not HOST:PORT";
    if (longer_than(opts->socks_proxy, SNI_ENDPOINT_TEXT_MAX - 1))
        return "socks_proxy is too long";
    if ((user == NULL) != (password == NULL))
        return "socks_username and socks_password go together: give both or none";
    if (user != NULL && (*user == '\0' || strlen(user) > 255))
        return "socks_username is not of 1 to 255 octets";
    if (password != NULL && (*password == '\0' || strlen(password) > 255))
        return "socks_password is not of 1 to 255 octets";
    return NULL;
}

static const char *
wrong_filters(const sennit_sock_opts *opts)
{
    sni_network network;

    if (opts->bind_device != NULL &&
        (*opts->bind_device == '\0' || longer_than(opts->bind_device, 15)))
        return "bind_device is not the name of a device, of 1 to 15 octets";
    if (opts->tcp_accept == NULL && opts->tcp_accept_count > 0)
        return "tcp_accept is NULL while tcp_accept_count is not 0";
    for (size_t i = 0; i < opts->tcp_accept_count; i++) {
        if (opts->tcp_accept[i] == NULL)
            return "tcp_accept has an entry that is NULL";
        if (!sni_network_parse(opts->tcp_accept[i], &network))
            return "tcp_accept has an entry that is no ADDRESS or ADDRESS/BITS";
    }
    if (opts->ipc_accept == NULL && opts->ipc_accept_count > 0)
        return "ipc_accept is NULL while ipc_accept_count is not 0";
    for (size_t i = 0; i < opts->ipc_accept_count; i++) {
        const sennit_ipc_filter *filter = &opts->ipc_accept[i];

        if (filter->uid < -1 || filter->gid < -1 || filter->pid < -1)
            return "ipc_accept has an id below -1; -1 means any";
    }
    return NULL;
}

static bool
same_property(const sennit_property *a, const sennit_property *b)
{
    sni_property property = { sni_bytes(a->name, strlen(a->name)), { NULL, 0 } };

    return sni_property_is(&property, b->name);
}

static const char *
wrong_property(const sennit_property *property)
{
    uint8_t encoded[5 + 255];
    sennit_bytes rest;
    sni_property read;
    const char *problem;

    if (property->name == NULL || strlen(property->name) < 3 ||
        strlen(property->name) > 255 || property->name[0] != 'X' ||
        property->name[1] != '-')
        return "properties has a name that is not X-..., of 3 to 255 octets";
    rest = sni_bytes(encoded,
                     sni_property_write(encoded, property->name, sni_bytes(NULL, 0)));
    if (sni_property_read(&rest, &read, &problem) != SNI_PARSE_DONE)
        return "properties has a name of other octets than letters, digits and -_.+";
    if (property->value.data == NULL && property->value.size > 0)
        return "properties has a value that is NULL while its size is not 0";
    return NULL;
}

static const char *
wrong_properties(const sennit_sock_opts *opts)
{
    size_t left = SNI_PROPERTIES_MAX_BYTES;

    if (opts->properties == NULL && opts->properties_count > 0)
        return "properties is NULL while properties_count is not 0";
    if (opts->properties_count > SNI_METADATA_PROPERTIES_MAX - 2)
        return "properties_count is over 62, beside Socket-Type and Identity";
    for (size_t i = 0; i < opts->properties_count; i++) {
        const sennit_property *property = &opts->properties[i];
        const char *why = wrong_property(property);
        size_t head = why == NULL ? 5 + strlen(property->name) : 0;

        if (why != NULL)
            return why;
        for (size_t k = 0; k < i; k++) {
            if (same_property(property, &opts->properties[k]))
                return "properties has a name twice";
        }
        if (head > left || property->value.size > left - head)
            return "properties is more than 32 KiB together";
        left -= head + property->value.size;
    }
    return NULL;
}

static const char *
wrong_bytes(const sennit_sock_opts *opts)
{
    if (opts->hello.data == NULL && opts->hello.size > 0)
        return "hello has no data while its size is not 0";
    if (opts->disconnected.data == NULL && opts->disconnected.size > 0)
        return "disconnected has no data while its size is not 0";
    if (opts->hiccup.data == NULL && opts->hiccup.size > 0)
        return "hiccup has no data while its size is not 0";
    if (opts->xpub_welcome.data == NULL && opts->xpub_welcome.size > 0)
        return "xpub_welcome has no data while its size is not 0";
    if (opts->conflate && opts->slow_subscriber != SENNIT_SLOW_DROP_NEW)
        return "slow_subscriber does nothing with conflate, where there is always room";
    return NULL;
}

sennit_err
sni_opts_check(sennit_sock_type type, const sennit_sock_opts *opts, const char **why)
{
    static const char *(*const checks[])(const sennit_sock_opts *opts) = {
        out_of_range,  wrong_reconnect,  wrong_keepalive, wrong_socks,
        wrong_filters, wrong_properties, wrong_bytes,
    };
    const char *problem = NULL;

    for (size_t i = 0; i < sizeof checks / sizeof checks[0] && problem == NULL; i++)
        problem = checks[i](opts);
    if (problem == NULL)
        problem = DIFFERS(owners, 1u << type, opts, &defaults);
    if (problem != NULL) {
        *why = problem;
        return SENNIT_EINVAL;
    }
    return SENNIT_OK;
}

sennit_err
sni_opts_check_change(const sennit_sock_opts *opts, const sennit_sock_opts *wanted,
                      const char **why)
{
    const char *problem = DIFFERS(fixed, 0, opts, wanted);

    if (problem == NULL)
        return SENNIT_OK;
    *why = problem;
    return SENNIT_EINVAL;
}

/* ---- copying ----------------------------------------------------------- */

/* One block, filled from the front; first without memory, to learn the size. */
typedef struct store {
    uint8_t *memory;
    size_t used;
} store;

/* A place for `size` bytes, aligned for anything; NULL while measuring. */
static void *
place(store *into, size_t size)
{
    size_t at = into->used;

    into->used += (size + 15) / 16 * 16;
    return into->memory == NULL ? NULL : into->memory + at;
}

static void *
keep(store *into, const void *data, size_t size)
{
    void *copy;

    if (size == 0)
        return NULL;
    copy = place(into, size);
    if (copy != NULL)
        memcpy(copy, data, size);
    return copy;
}

static const char *
keep_text(store *into, const char *text)
{
    return text == NULL ? NULL : keep(into, text, strlen(text) + 1);
}

static sennit_bytes
keep_bytes(store *into, sennit_bytes bytes)
{
    return sni_bytes(keep(into, bytes.data, bytes.size), bytes.size);
}

static void
keep_properties(store *into, const sennit_sock_opts *from, sennit_sock_opts *to,
                sennit_bytes *metadata)
{
    sennit_property *own =
        keep(into, from->properties, from->properties_count * sizeof *own);
    size_t size = 0;
    uint8_t *encoded;

    for (size_t i = 0; i < from->properties_count; i++) {
        const char *name = keep_text(into, from->properties[i].name);
        sennit_bytes value = keep_bytes(into, from->properties[i].value);

        if (own != NULL)
            own[i] = (sennit_property){ name, value };
        size += 5 + strlen(from->properties[i].name) + value.size;
    }
    to->properties = own;
    encoded = size > 0 ? place(into, size) : NULL;
    *metadata = sni_bytes(encoded, encoded == NULL ? 0 : size);
    if (encoded == NULL)
        return;
    for (size_t i = 0; i < from->properties_count; i++)
        encoded += sni_property_write(encoded, own[i].name, own[i].value);
}

static void
keep_all(store *into, const sennit_sock_opts *from, sennit_sock_opts *to,
         sennit_bytes *metadata)
{
    const char **networks = from->tcp_accept_count == 0
                                ? NULL
                                : place(into, from->tcp_accept_count * sizeof *networks);

    *to = *from;
    for (size_t i = 0; i < from->tcp_accept_count; i++) {
        const char *network = keep_text(into, from->tcp_accept[i]);

        if (networks != NULL)
            networks[i] = network;
    }
    to->tcp_accept = networks;
    to->bind_device = keep_text(into, from->bind_device);
    to->socks_proxy = keep_text(into, from->socks_proxy);
    to->socks_username = keep_text(into, from->socks_username);
    to->socks_password = keep_text(into, from->socks_password);
    to->ipc_accept =
        keep(into, from->ipc_accept, from->ipc_accept_count * sizeof *from->ipc_accept);
    to->hello = keep_bytes(into, from->hello);
    to->disconnected = keep_bytes(into, from->disconnected);
    to->hiccup = keep_bytes(into, from->hiccup);
    to->xpub_welcome = keep_bytes(into, from->xpub_welcome);
    keep_properties(into, from, to, metadata);
}

sennit_err
sni_opts_copy(const sennit_allocator *alloc, const sennit_sock_opts *from,
              sennit_sock_opts *to, sni_opts_owned *owned)
{
    store into = { NULL, 0 };
    sni_opts_owned copy = { NULL, { NULL, 0 } };
    sennit_sock_opts copied;

    keep_all(&into, from, &copied, &copy.metadata);
    if (into.used > 0) {
        copy.memory = sni_acquire(alloc, into.used);
        if (copy.memory == NULL)
            return SENNIT_ENOMEM;
        into = (store){ copy.memory, 0 };
        keep_all(&into, from, &copied, &copy.metadata);
    }
    *to = copied;
    *owned = copy;
    return SENNIT_OK;
}

void
sni_opts_fini(const sennit_allocator *alloc, sni_opts_owned *owned)
{
    sni_release(alloc, owned->memory);
    *owned = (sni_opts_owned){ NULL, { NULL, 0 } };
}

/* ---- of a socket ------------------------------------------------------- */

/* What counts at once, and nobody looks at it by himself. */
static void
apply(sennit_sock *sock)
{
    sni_link *next;

    sni_pipe_set_marks(sock);
    for (sni_link *link = sock->pipes.next; link != &sock->pipes; link = next) {
        next = link->next;
        sni_pipe_apply_opts(SNI_OWNER_OF(link, sni_pipe, link));
    }
    for (sni_link *link = sock->dialers.next; link != &sock->dialers; link = next) {
        next = link->next;
        sni_dialer_opts_changed(SNI_OWNER_OF(link, sni_dialer, link));
    }
    for (sni_link *link = sock->listeners.next; link != &sock->listeners; link = next) {
        next = link->next;
        sni_listener_opts_changed(SNI_OWNER_OF(link, sni_listener, link));
    }
    sni_sock_changed(sock);
}

void
sennit_sock_get_opts(const sennit_sock *sock, sennit_sock_opts *out)
{
    if (out == NULL)
        return;
    *out = (sennit_sock_opts){ 0 };
    if (sock == NULL)
        return;
    sni_loop_look(sock->loop);
    *out = sock->opts;
    sni_loop_leave(sock->loop);
}

static sennit_err
set_opts(sennit_sock *sock, const sennit_sock_opts *opts)
{
    const sennit_allocator *alloc = &sock->loop->allocator;
    const char *why = "";
    sennit_sock_opts wanted;
    sni_opts_owned owned;
    sennit_err err;

    if (opts == NULL)
        return sni_loop_fail(sock->loop, SENNIT_EINVAL, "opts is NULL");
    err = sni_opts_check(sock->type, opts, &why);
    if (err == SENNIT_OK)
        err = sni_opts_check_change(&sock->opts, opts, &why);
    if (err)
        return sni_loop_fail(sock->loop, err, why);
    why = sni_inproc_refuses(sock->loop, opts);
    if (why != NULL && sni_inproc_used(sock))
        return sni_loop_fail(sock->loop, SENNIT_ENOTSUP, why);
    err = sni_opts_copy(alloc, opts, &wanted, &owned);
    if (err)
        return sni_loop_fail(sock->loop, err, NULL);
    sni_opts_fini(alloc, &sock->opts_owned);
    sock->opts = wanted;
    sock->opts_owned = owned;
    apply(sock);
    return SENNIT_OK;
}

sennit_err
sennit_sock_set_opts(sennit_sock *sock, const sennit_sock_opts *opts)
{
    sennit_err err = sni_sock_enter(sock);

    return err ? err : sni_sock_leave(sock, set_opts(sock, opts));
}
