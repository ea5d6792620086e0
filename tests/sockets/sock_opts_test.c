/* SPDX-License-Identifier: MIT */
/* Every option: its first valid and first invalid value, at open and later, and the
 * sentence that says what was wrong. What an option does is told by the suite of what
 * it does; here is what only options have in common. */
#include "net.h"

#include <limits.h>
#include <stddef.h>

#include "suite.h"

static net n;

/* ---- values ------------------------------------------------------------ */

typedef struct row {
    const char *field;
    sennit_sock_type type; /* one that has it */
    size_t offset;
    size_t size;
    const void *good;
    const void *bad; /* NULL: every value is good */
    const char *why;
} row;

#define ROW(type, c_type, field, good, bad, why)                                         \
    {                                                                                    \
#field, SENNIT_##type, offsetof(sennit_sock_opts, field), sizeof(c_type),        \
            &(const c_type){ good }, &(const c_type){ bad }, #field " " why              \
    }
#define ANY(type, c_type, field, good)                                                   \
    {                                                                                    \
#field, SENNIT_##type, offsetof(sennit_sock_opts, field), sizeof(c_type),        \
            &(const c_type){ good }, NULL, NULL                                          \
    }

#define NO_LIMIT "is negative; 0 means no limit"
#define FOR_EVER "is below -1; -1 means for ever, 0 not at all"
#define SYSTEMS  "is below -1; -1 means the system's own"

static const row rows[] = {
    ROW(PUSH, int, send_hwm_msgs, 0, -1, NO_LIMIT),
    ROW(PULL, int, recv_hwm_msgs, 0, -1, NO_LIMIT),
    ROW(PUSH, int, send_hwm_msgs, INT_MAX, INT_MIN, NO_LIMIT),
    ANY(PUSH, uint64_t, send_hwm_bytes, UINT64_MAX),
    ANY(PULL, uint64_t, recv_hwm_bytes, UINT64_MAX),
    ROW(PUSH, int, send_age_max_ms, INT_MAX, -1, NO_LIMIT),
    ROW(PUSH, int, send_timeout_ms, -1, -2, FOR_EVER),
    ROW(PULL, int, recv_timeout_ms, -1, -2, FOR_EVER),
    ROW(PUSH, int, linger_ms, -1, -2, FOR_EVER),
    ROW(PUSH, uint32_t, send_batch_bytes, 1024, 1023, "is not from 1024 to 1048576"),
    ROW(PUSH, uint32_t, send_batch_bytes, 1048576, 1048577,
        "is not from 1024 to 1048576"),
    ROW(PULL, uint32_t, recv_batch_bytes, 1024, 1023, "is not from 1024 to 131072"),
    ROW(PULL, uint32_t, recv_batch_bytes, 131072, UINT32_MAX,
        "is not from 1024 to 131072"),
    ANY(PUSH, bool, immediate, true),
    ROW(PUSH, int, reconnect_min_ms, 1, 0, "is not 1 or more, or -1 for never again"),
    ROW(PUSH, int, reconnect_min_ms, -1, -2, "is not 1 or more, or -1 for never again"),
    ROW(PUSH, int, reconnect_max_ms, 1, 0, "is below reconnect_min_ms; raise it"),
    ROW(PUSH, unsigned, reconnect_stop, 7, 8, "has an unknown bit; use SENNIT_STOP_..."),
    ROW(PUSH, int, connect_timeout_ms, 0, -1,
        "is negative; 0 means the operating system's own"),
    ROW(PUSH, int, handshake_timeout_ms, 0, -1, "is negative; 0 means none"),
    ANY(PULL, uint32_t, handshakes_max, 1),
    ROW(PUSH, int, backlog, 0, -1, "is negative; give listen(2) a number"),
    ROW(PUSH, int, heartbeat_interval_ms, INT_MAX, -1, "is negative; 0 means no PINGs"),
    ROW(PUSH, int, heartbeat_timeout_ms, 0, -2,
        "is below -1; -1 means the interval, 0 never"),
    ROW(PUSH, int, heartbeat_ttl_ms, 65500, 65600, "is not from 0 to 65500"),
    ROW(PUSH, int, heartbeat_ttl_ms, 100, 150, "goes in steps of 100"),
    ANY(PULL, uint64_t, recv_frame_max_bytes, UINT64_MAX),
    ANY(PULL, uint64_t, recv_message_max_bytes, UINT64_MAX),
    ANY(PULL, uint32_t, recv_message_max_parts, UINT32_MAX),
    ANY(PULL, bool, zmtp_unversioned, true),
    ANY(PULL, bool, ipv6, true),
    ROW(PUSH, int, tcp_keepalive, 1, 2, "is not -1 (the system's), 0 (off) or 1 (on)"),
    ROW(PUSH, int, tcp_keepalive_count, 1, -2, SYSTEMS),
    ROW(PUSH, int, tcp_keepalive_count, -1, 0, "is 0; -1 means the system's own"),
    ROW(PUSH, int, tcp_keepalive_idle_s, 1, 0, "is 0; -1 means the system's own"),
    ROW(PUSH, int, tcp_keepalive_interval_s, 1, 0, "is 0; -1 means the system's own"),
    ROW(PUSH, int, tcp_user_timeout_ms, INT_MAX, -1,
        "is negative; 0 means the system's own"),
    ANY(PULL, bool, tcp_reuse_port, true),
    ROW(PUSH, int, tos, 255, 256, "is not from 0 to 255, or -1 for the system's own"),
    ROW(PUSH, int, priority, 0, -2, SYSTEMS),
    ROW(PUSH, int, busy_poll_us, 0, -2, SYSTEMS),
    ROW(PUSH, int, kernel_send_bytes, 0, -2, SYSTEMS),
    ROW(PUSH, int, kernel_recv_bytes, 0, -2, SYSTEMS),
    ROW(PULL, int, ipc_mode, 0777, 01000,
        "is not from 0 to 0777, or -1 for what the umask leaves"),
    ANY(ROUTER, bool, router_mandatory, true),
    ANY(ROUTER, bool, router_handover, true),
    ROW(ROUTER, unsigned, router_notify, 3, 4,
        "has an unknown bit; use SENNIT_NOTIFY_..."),
    ANY(REQ, bool, probe_router, true),
    ANY(REQ, bool, req_correlate, true),
    ANY(REQ, bool, req_relaxed, true),
    ROW(XPUB, sennit_xpub_verbose, xpub_verbose, SENNIT_XPUB_VERBOSER, 3,
        "is none of the sennit_xpub_verbose values"),
    ROW(XPUB, sennit_xpub_manual, xpub_manual, SENNIT_XPUB_LAST_VALUE, 3,
        "is none of the sennit_xpub_manual values"),
    ROW(PUB, sennit_slow_policy, slow_subscriber, SENNIT_SLOW_BLOCK, 5,
        "is none of the sennit_slow_policy values"),
    ANY(SUB, bool, invert_matching, true),
    ANY(XPUB, bool, only_first_subscribe, true),
    ANY(XSUB, bool, only_first_subscribe, true),
    ANY(XSUB, bool, xsub_verbose_unsubscribe, true),
    ANY(PUSH, uint32_t, events, UINT32_MAX),
};

static void
put(sennit_sock_opts *opts, const row *what, const void *value)
{
    memcpy((char *)opts + what->offset, value, what->size);
}

static sennit_sock_opts
shortest_opts(void)
{
    sennit_sock_opts opts = net_opts();

    opts.reconnect_min_ms = 1;
    opts.reconnect_max_ms = 1;
    return opts;
}

static void
check_value(void **state)
{
    const row *what = *state;
    sennit_sock_opts opts = shortest_opts();
    sennit_sock_opts now;
    sennit_sock *sock;

    net_open(&n);
    if (what->bad != NULL) {
        put(&opts, what, what->bad);
        assert_int_equal(sennit_sock_open(&sock, n.loop, what->type, &opts),
                         SENNIT_EINVAL);
        assert_string_equal(sennit_loop_why(n.loop), what->why);
    }
    /* At open. */
    put(&opts, what, what->good);
    assert_int_equal(sennit_sock_open(&sock, n.loop, what->type, &opts), SENNIT_OK);
    sennit_sock_get_opts(sock, &now);
    assert_memory_equal((char *)&now + what->offset, what->good, what->size);
    /* Later; a refused change changes nothing. */
    opts = shortest_opts();
    assert_int_equal(sennit_sock_open(&sock, n.loop, what->type, &opts), SENNIT_OK);
    put(&opts, what, what->good);
    assert_int_equal(sennit_sock_set_opts(sock, &opts), SENNIT_OK);
    sennit_sock_get_opts(sock, &now);
    assert_memory_equal((char *)&now + what->offset, what->good, what->size);
    if (what->bad != NULL) {
        put(&opts, what, what->bad);
        assert_int_equal(sennit_sock_set_opts(sock, &opts), SENNIT_EINVAL);
        assert_string_equal(sennit_loop_why(n.loop), what->why);
        sennit_sock_get_opts(sock, &now);
        assert_memory_equal((char *)&now + what->offset, what->good, what->size);
    }
    net_close(&n);
}

/* ---- whose options ----------------------------------------------------- */

typedef struct owner {
    const char *field;
    size_t offset;
    size_t size;
    const void *value;
    unsigned types;
} owner;

#define TYPE(name) (1u << SENNIT_##name)
#define ZMTP       (~TYPE(STREAM))
#define OWNED_BYTES(field, types)                                                        \
    {                                                                                    \
#field, offsetof(sennit_sock_opts, field), sizeof(sennit_bytes), &word, types    \
    }
#define OWNED(c_type, field, value, types)                                               \
    {                                                                                    \
#field, offsetof(sennit_sock_opts, field), sizeof(c_type),                       \
            &(const c_type){ value }, types                                              \
    }
#define WORD                                                                             \
    {                                                                                    \
        (const uint8_t *)"word", 4                                                       \
    }

static const sennit_bytes word = WORD;
static const sennit_property property = { "X-Name", WORD };

static const owner owners[] = {
    OWNED(bool, conflate, true,
          TYPE(PUSH) | TYPE(PULL) | TYPE(PUB) | TYPE(SUB) | TYPE(DEALER)),
    OWNED_BYTES(hello, TYPE(DEALER) | TYPE(ROUTER)),
    OWNED_BYTES(disconnected, TYPE(ROUTER)),
    OWNED_BYTES(hiccup, TYPE(DEALER)),
    OWNED(bool, router_mandatory, true, TYPE(ROUTER)),
    OWNED(bool, router_handover, true, TYPE(ROUTER)),
    OWNED(unsigned, router_notify, 1, TYPE(ROUTER)),
    OWNED(bool, probe_router, true, TYPE(ROUTER) | TYPE(DEALER) | TYPE(REQ)),
    OWNED(bool, req_correlate, true, TYPE(REQ)),
    OWNED(bool, req_relaxed, true, TYPE(REQ)),
    OWNED(sennit_xpub_verbose, xpub_verbose, SENNIT_XPUB_VERBOSE, TYPE(XPUB)),
    OWNED(sennit_xpub_manual, xpub_manual, SENNIT_XPUB_MANUAL, TYPE(XPUB)),
    OWNED_BYTES(xpub_welcome, TYPE(XPUB)),
    OWNED(sennit_slow_policy, slow_subscriber, SENNIT_SLOW_BLOCK, TYPE(PUB) | TYPE(XPUB)),
    OWNED(bool, invert_matching, true, TYPE(PUB) | TYPE(XPUB) | TYPE(SUB)),
    OWNED(bool, xsub_verbose_unsubscribe, true, TYPE(XSUB)),
    OWNED(bool, stream_notify, false, TYPE(STREAM)),
    OWNED(int, heartbeat_interval_ms, 1, ZMTP),
    OWNED(int, heartbeat_timeout_ms, 1, ZMTP),
    OWNED(int, heartbeat_ttl_ms, 100, ZMTP),
    OWNED(bool, zmtp_unversioned, true, ZMTP),
    OWNED(uint32_t, recv_message_max_parts, 1, ZMTP),
};

static void
an_option_of_other_types_is_refused_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof owners / sizeof owners[0]; i++) {
        const owner *what = &owners[i];

        for (unsigned type = SENNIT_PAIR; type <= SENNIT_STREAM; type++) {
            sennit_sock_opts opts = net_opts();
            bool has = what->types & (1u << type);
            sennit_sock *sock;
            sennit_err err;

            net_open(&n);
            memcpy((char *)&opts + what->offset, what->value, what->size);
            err = sennit_sock_open(&sock, n.loop, (sennit_sock_type)type, &opts);
            if (err != (has ? SENNIT_OK : SENNIT_EINVAL) ||
                (!has &&
                 strncmp(sennit_loop_why(n.loop), what->field, strlen(what->field)) != 0))
                fail_msg("%s of a %s: %s, %s", what->field,
                         sennit_sock_type_name((sennit_sock_type)type),
                         sennit_err_name(err), sennit_loop_why(n.loop));
            net_close(&n);
        }
    }
}

/* ---- what they point to ------------------------------------------------ */

static void
is_refused(sennit_sock_type type, const sennit_sock_opts *opts, const char *why)
{
    sennit_sock *sock;

    assert_int_equal(sennit_sock_open(&sock, n.loop, type, opts), SENNIT_EINVAL);
    assert_string_equal(sennit_loop_why(n.loop), why);
}

static void
octets_have_data_unless_there_are_none(void **state)
{
    static const struct {
        sennit_sock_type type;
        size_t offset;
        const char *why;
    } fields[] = {
#define FIELD(type, field)                                                               \
    { SENNIT_##type, offsetof(sennit_sock_opts, field),                                  \
      #field " has no data while its size is not 0" }
        FIELD(DEALER, hello),
        FIELD(ROUTER, disconnected),
        FIELD(DEALER, hiccup),
        FIELD(XPUB, xpub_welcome),
#undef FIELD
    };
    static const sennit_bytes nowhere = { NULL, 1 };

    (void)state;
    net_open(&n);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        sennit_sock_opts opts = net_opts();

        memcpy((char *)&opts + fields[i].offset, &nowhere, sizeof nowhere);
        is_refused(fields[i].type, &opts, fields[i].why);
    }
    net_close(&n);
}

static void
a_name_of_a_device_has_1_to_15_octets(void **state)
{
    static const char *const names[] = { "", "sixteen-octets--" };

    (void)state;
    net_open(&n);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        sennit_sock_opts opts = net_opts();

        opts.bind_device = names[i];
        is_refused(SENNIT_PULL, &opts,
                   "bind_device is not the name of a device, of 1 to 15 octets");
    }
    net_close(&n);
}

static void
what_a_socks_proxy_is_told_is_looked_at(void **state)
{
    char long_name[300] = { 0 };
    const struct {
        const char *proxy;
        const char *username;
        const char *password;
        const char *why;
    } logins[] = {
        { "nowhere", NULL, NULL, "socks_proxy is not HOST:PORT" },
        { "proxy:1080", "me", NULL,
          "socks_username and socks_password go together: give both or none" },
        { "proxy:1080", "", "x", "socks_username is not of 1 to 255 octets" },
        { "proxy:1080", "x", long_name, "socks_password is not of 1 to 255 octets" },
    };

    (void)state;
    memset(long_name, 'n', sizeof long_name - 1);
    net_open(&n);
    for (size_t i = 0; i < sizeof logins / sizeof logins[0]; i++) {
        sennit_sock_opts opts = net_opts();

        opts.socks_proxy = logins[i].proxy;
        opts.socks_username = logins[i].username;
        opts.socks_password = logins[i].password;
        is_refused(SENNIT_PUSH, &opts, logins[i].why);
    }
    net_close(&n);
}

static void
filters_of_accepted_peers_are_looked_at(void **state)
{
    static const sennit_ipc_filter below = { -2, -1, -1 };
    static const char *const network = "10.0.0.0/33";
    static const char *const none = NULL;
    static const struct {
        const char *const *tcp;
        size_t tcp_count;
        const sennit_ipc_filter *ipc;
        size_t ipc_count;
        const char *why;
    } filters[] = {
        { NULL, 1, NULL, 0, "tcp_accept is NULL while tcp_accept_count is not 0" },
        { &none, 1, NULL, 0, "tcp_accept has an entry that is NULL" },
        { &network, 1, NULL, 0,
          "tcp_accept has an entry that is no ADDRESS or ADDRESS/BITS" },
        { NULL, 0, NULL, 1, "ipc_accept is NULL while ipc_accept_count is not 0" },
        { NULL, 0, &below, 1, "ipc_accept has an id below -1; -1 means any" },
    };

    (void)state;
    net_open(&n);
    for (size_t i = 0; i < sizeof filters / sizeof filters[0]; i++) {
        sennit_sock_opts opts = net_opts();

        opts.tcp_accept = filters[i].tcp;
        opts.tcp_accept_count = filters[i].tcp_count;
        opts.ipc_accept = filters[i].ipc;
        opts.ipc_accept_count = filters[i].ipc_count;
        is_refused(SENNIT_PULL, &opts, filters[i].why);
    }
    net_close(&n);
}

static void
properties_are_looked_at(void **state)
{
    static const char no_name[] =
        "properties has a name that is not X-..., of 3 to 255 octets";
    static const sennit_property low = { "x-low", WORD }, bare = { "X-", WORD },
                                 space = { "X- ", WORD }, nameless = { NULL, WORD },
                                 nothing = { "X-Size", { NULL, 1 } };
    static const sennit_property twice[] = { { "X-a", WORD }, { "x-A", WORD } };
    static const sennit_property two[] = { { "X-a", WORD }, { "X-A", WORD } };
    static const struct {
        const sennit_property *properties;
        size_t count;
        const char *why;
    } lists[] = {
        { NULL, 1, "properties is NULL while properties_count is not 0" },
        { &low, 1, no_name },
        { &bare, 1, no_name },
        { &space, 1,
          "properties has a name of other octets than letters, digits and -_.+" },
        { &nameless, 1, no_name },
        { &nothing, 1, "properties has a value that is NULL while its size is not 0" },
        { twice, 2, no_name },
        { two, 2, "properties has a name twice" },
        { two, 63, "properties_count is over 62, beside Socket-Type and Identity" },
    };

    (void)state;
    net_open(&n);
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        sennit_sock_opts opts = net_opts();

        opts.properties = lists[i].properties;
        opts.properties_count = lists[i].count;
        is_refused(SENNIT_PUSH, &opts, lists[i].why);
    }
    net_close(&n);
}

static void
options_that_contradict_each_other_or_the_type_are_refused(void **state)
{
    sennit_sock_opts opts = net_opts();

    (void)state;
    net_open(&n);
    opts.identity_size = 1;
    opts.identity[0] = 'i';
    is_refused(SENNIT_STREAM, &opts,
               "identity is nothing for a STREAM, which speaks no ZMTP");
    opts = net_opts();
    opts.properties = &property;
    opts.properties_count = 1;
    is_refused(SENNIT_STREAM, &opts,
               "properties is nothing for a STREAM, which speaks no ZMTP");
    opts = net_opts();
    opts.conflate = true;
    opts.slow_subscriber = SENNIT_SLOW_DROP_OLD;
    is_refused(SENNIT_PUB, &opts,
               "slow_subscriber does nothing with conflate, where there is always room");
    net_close(&n);
}

static void
properties_have_a_size_together(void **state)
{
    static uint8_t value[32 << 10];
    sennit_property large = { "X-Large", { value, sizeof value - 12 } };
    sennit_sock_opts opts = net_opts();
    sennit_sock *sock;

    (void)state;
    opts.properties = &large;
    opts.properties_count = 1;
    net_open(&n);
    assert_int_equal(sennit_sock_open(&sock, n.loop, SENNIT_PUSH, &opts), SENNIT_OK);
    large.value.size++;
    assert_int_equal(sennit_sock_open(&sock, n.loop, SENNIT_PUSH, &opts), SENNIT_EINVAL);
    assert_string_equal(sennit_loop_why(n.loop),
                        "properties is more than 32 KiB together");
    net_close(&n);
}

/* Borrowed for the call only. */
static void
options_are_copied_with_all_they_point_to(void **state)
{
    char device[] = "lo";
    char proxy[] = "proxy:1080";
    char user[] = "user";
    char password[] = "password";
    char network[] = "10.0.0.0/8";
    const char *networks[] = { network };
    sennit_ipc_filter filter = { 1, 2, 3 };
    char name[] = "X-Name";
    uint8_t body[] = "body";
    sennit_property own = { name, { body, 4 } };
    sennit_sock_opts opts = net_opts();
    sennit_sock_opts now;
    sennit_sock *sock;

    (void)state;
    net_open(&n);
    opts.identity_size = 2;
    memcpy(opts.identity, "me", 2);
    opts.bind_device = device;
    opts.socks_proxy = proxy;
    opts.socks_username = user;
    opts.socks_password = password;
    opts.tcp_accept = networks;
    opts.tcp_accept_count = 1;
    opts.ipc_accept = &filter;
    opts.ipc_accept_count = 1;
    opts.properties = &own;
    opts.properties_count = 1;
    opts.hello = (sennit_bytes){ body, 4 };
    opts.hiccup = (sennit_bytes){ body, 4 };
    assert_int_equal(sennit_sock_open(&sock, n.loop, SENNIT_DEALER, &opts), SENNIT_OK);
    memset(device, 'x', 2);
    memset(proxy, 'x', sizeof proxy - 1);
    memset(user, 'x', 4);
    memset(password, 'x', 8);
    memset(network, 'x', sizeof network - 1);
    memset(&filter, 0xff, sizeof filter);
    memset(name, 'x', 6);
    memset(body, 'x', 4);
    memset(networks, 0xff, sizeof networks);
    memset(&own, 0xff, sizeof own);
    memset(&opts, 0xff, sizeof opts);
    sennit_sock_get_opts(sock, &now);
    assert_int_equal(now.identity_size, 2);
    assert_memory_equal(now.identity, "me", 2);
    assert_string_equal(now.bind_device, "lo");
    assert_string_equal(now.socks_proxy, "proxy:1080");
    assert_string_equal(now.socks_username, "user");
    assert_string_equal(now.socks_password, "password");
    assert_string_equal(now.tcp_accept[0], "10.0.0.0/8");
    assert_int_equal(now.ipc_accept[0].pid, 3);
    assert_string_equal(now.properties[0].name, "X-Name");
    assert_memory_equal(now.properties[0].value.data, "body", 4);
    assert_memory_equal(now.hello.data, "body", 4);
    assert_memory_equal(now.hiccup.data, "body", 4);
    /* Get, change, set: what was got is the socket's own, and may be given back. */
    now.hiccup = (sennit_bytes){ NULL, 0 };
    assert_int_equal(sennit_sock_set_opts(sock, &now), SENNIT_OK);
    sennit_sock_get_opts(sock, &now);
    assert_int_equal(now.hiccup.size, 0);
    assert_memory_equal(now.hello.data, "body", 4);
    assert_string_equal(now.tcp_accept[0], "10.0.0.0/8");
    net_close(&n);
}

static void
change_opts(test_alloc *alloc, void *arg)
{
    sennit_loop_opts loop_opts = SENNIT_LOOP_OPTS_DEFAULT;
    sennit_sock_opts opts = net_opts();
    sennit_sock_opts now;
    sennit_loop *loop = NULL;
    sennit_sock *sock = NULL;
    sennit_err err;

    (void)arg;
    loop_opts.allocator = &alloc->allocator;
    opts.properties = &property;
    opts.properties_count = 1;
    opts.hello = (sennit_bytes)WORD;
    err = sennit_loop_open(&loop, &loop_opts);
    if (err == SENNIT_OK)
        err = sennit_sock_open(&sock, loop, SENNIT_DEALER, &opts);
    if (err == SENNIT_OK) {
        opts.hello = (sennit_bytes){ NULL, 0 };
        opts.send_hwm_msgs = 7;
        err = sennit_sock_set_opts(sock, &opts);
        sennit_sock_get_opts(sock, &now);
        /* All of it, or nothing. */
        assert_int_equal(now.send_hwm_msgs, err ? 1000 : 7);
        assert_int_equal(now.hello.size, err ? 4 : 0);
        assert_string_equal(now.properties[0].name, "X-Name");
    }
    if (err)
        assert_int_equal(err, SENNIT_ENOMEM);
    assert_true(err == SENNIT_OK || alloc->failed > 0);
    sennit_loop_close(loop);
}

static void
without_memory_options_stay_as_they_were(void **state)
{
    (void)state;
    assert_true(test_alloc_every_failure(change_opts, NULL) > 3);
}

static void
what_is_fixed_at_open_cannot_change(void **state)
{
    sennit_sock *sock;
    sennit_sock_opts opts;

    (void)state;
    net_open(&n);
    sock = net_sock(&n, SENNIT_PUSH, NULL);
    sennit_sock_get_opts(sock, &opts);
    opts.events_max = 65;
    assert_int_equal(sennit_sock_set_opts(sock, &opts), SENNIT_EINVAL);
    assert_string_equal(sennit_loop_why(n.loop),
                        "events_max cannot change once the socket is open");
    sennit_sock_get_opts(sock, &opts);
    opts.conflate = true;
    assert_int_equal(sennit_sock_set_opts(sock, &opts), SENNIT_EINVAL);
    assert_string_equal(sennit_loop_why(n.loop),
                        "conflate cannot change once the socket is open");
    sock = net_sock(&n, SENNIT_STREAM, NULL);
    sennit_sock_get_opts(sock, &opts);
    opts.stream_notify = false;
    assert_int_equal(sennit_sock_set_opts(sock, &opts), SENNIT_EINVAL);
    assert_string_equal(sennit_loop_why(n.loop),
                        "stream_notify cannot change once the socket is open");
    net_close(&n);
}

static void
a_type_that_is_not_there_is_not_opened(void **state)
{
    sennit_sock *sock;

    (void)state;
    net_open(&n);
    assert_int_equal(sennit_sock_open(&sock, n.loop, (sennit_sock_type)12, NULL),
                     SENNIT_ENOTSUP);
    assert_int_equal(sennit_sock_open(&sock, n.loop, (sennit_sock_type)-1, NULL),
                     SENNIT_ENOTSUP);
    assert_string_not_equal(sennit_loop_why(n.loop), "");
    net_close(&n);
}

/* ---- what they do ------------------------------------------------------ */

/* How many messages a PUSH takes before it would block. */
static unsigned
takes(sennit_sock *push)
{
    unsigned count = 0;

    while (net_try_send(push, "x", SENNIT_DONTWAIT) == SENNIT_OK)
        count++;
    return count;
}

static void
a_send_mark_that_is_moved_counts_at_once(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock_opts opts = net_opts();
        sennit_sock *push;

        opts.send_hwm_msgs = 3;
        net_open(&n);
        push = net_sock(&n, SENNIT_PUSH, &opts);
        net_connect(push, net_vacant((transport)via));
        assert_int_equal(takes(push), 3);
        opts.send_hwm_msgs = 10;
        assert_int_equal(sennit_sock_set_opts(push, &opts), SENNIT_OK);
        assert_int_equal(takes(push), 7);
        opts.send_hwm_msgs = 5;
        assert_int_equal(sennit_sock_set_opts(push, &opts), SENNIT_OK);
        assert_int_equal(takes(push), 0);
        net_check_law(push);
        net_close(&n);
    }
}

static void
a_receive_mark_that_is_raised_counts_at_once(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *push;
    sennit_sock *pull;

    (void)state;
    opts.recv_hwm_msgs = 2;
    opts.send_hwm_msgs = 2;
    net_open(&n);
    push = net_sock(&n, SENNIT_PUSH, &opts);
    pull = net_sock(&n, SENNIT_PULL, &opts);
    net_join(&n, pull, push, INPROC);
    assert_int_equal(takes(push), 4);
    opts.recv_hwm_msgs = 10;
    assert_int_equal(sennit_sock_set_opts(pull, &opts), SENNIT_OK);
    assert_int_equal(takes(push), 8);
    net_close(&n);
}

static void
an_age_limit_is_refused_where_nobody_would_obey_it(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *push;

    (void)state;
    net_open(&n);
    push = net_sock(&n, SENNIT_PUSH, &opts);
    net_connect(push, net_vacant(INPROC));
    opts.send_age_max_ms = 1;
    assert_int_equal(sennit_sock_set_opts(push, &opts), SENNIT_ENOTSUP);
    assert_string_equal(sennit_loop_why(n.loop),
                        "send_age_max_ms is not built for inproc: use tcp or ipc");
    net_close(&n);
}

static void
the_last_linger_that_was_set_counts(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *push;
    sennit_time started;
    net clock;

    (void)state;
    opts.linger_ms = -1;
    net_open(&n);
    net_open(&clock);
    push = net_sock(&n, SENNIT_PUSH, &opts);
    net_connect(push, net_vacant(TCP));
    net_send(push, "never to arrive");
    opts.linger_ms = 50;
    assert_int_equal(sennit_sock_set_opts(push, &opts), SENNIT_OK);
    started = sennit_loop_now(clock.loop);
    sennit_sock_close(push);
    net_close(&n);
    assert_in_range((sennit_loop_now(clock.loop) - started) / 1000000u, 50, 5000);
    net_close(&clock);
}

static void
a_timeout_that_is_set_later_counts_for_the_next_call(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *pair;

    (void)state;
    opts.recv_timeout_ms = -1;
    opts.send_timeout_ms = -1;
    net_open(&n);
    pair = net_sock(&n, SENNIT_PAIR, &opts);
    opts.recv_timeout_ms = 0;
    opts.send_timeout_ms = 0;
    assert_int_equal(sennit_sock_set_opts(pair, &opts), SENNIT_OK);
    assert_string_equal(net_recv(pair), "EAGAIN");
    assert_int_equal(net_try_send(pair, "x", 0), SENNIT_EAGAIN);
    net_close(&n);
}

static void
only_events_that_were_asked_for_are_told(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *push;
    sennit_event event;

    (void)state;
    opts.events = 0;
    net_open(&n);
    push = net_sock(&n, SENNIT_PUSH, &opts);
    (void)net_bind(push, TCP);
    assert_int_equal(sennit_sock_next_event(push, &event), SENNIT_EAGAIN);
    opts.events = 1u << SENNIT_EVENT_LISTENING;
    assert_int_equal(sennit_sock_set_opts(push, &opts), SENNIT_OK);
    (void)net_bind(push, TCP);
    assert_int_equal(sennit_sock_next_event(push, &event), SENNIT_OK);
    assert_int_equal(event.kind, SENNIT_EVENT_LISTENING);
    assert_int_equal(event.lost, 0);
    net_close(&n);
}

int
main(void)
{
    static const struct CMUnitTest fixed[] = {
        cmocka_unit_test(an_option_of_other_types_is_refused_by_name),
        cmocka_unit_test(octets_have_data_unless_there_are_none),
        cmocka_unit_test(a_name_of_a_device_has_1_to_15_octets),
        cmocka_unit_test(what_a_socks_proxy_is_told_is_looked_at),
        cmocka_unit_test(filters_of_accepted_peers_are_looked_at),
        cmocka_unit_test(properties_are_looked_at),
        cmocka_unit_test(options_that_contradict_each_other_or_the_type_are_refused),
        cmocka_unit_test(properties_have_a_size_together),
        cmocka_unit_test(options_are_copied_with_all_they_point_to),
        cmocka_unit_test(without_memory_options_stay_as_they_were),
        cmocka_unit_test(what_is_fixed_at_open_cannot_change),
        cmocka_unit_test(a_type_that_is_not_there_is_not_opened),
        cmocka_unit_test(a_send_mark_that_is_moved_counts_at_once),
        cmocka_unit_test(a_receive_mark_that_is_raised_counts_at_once),
        cmocka_unit_test(an_age_limit_is_refused_where_nobody_would_obey_it),
        cmocka_unit_test(the_last_linger_that_was_set_counts),
        cmocka_unit_test(a_timeout_that_is_set_later_counts_for_the_next_call),
        cmocka_unit_test(only_events_that_were_asked_for_are_told),
    };
    static test_suite suite;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        test_suite_row(&suite, "", rows[i].field, check_value, &rows[i]);
    TEST_SUITE_ADD(&suite, fixed);
    return test_suite_run(&suite);
}
