/* SPDX-License-Identifier: MIT */
/* Every option: its first valid and first invalid value, at open and later, and the
 * sentence that says what was wrong. What an option does is told by the suite of what
 * it does; here is what only options have in common. */
#include "net.h"

#include <limits.h>
#include <stddef.h>

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

static const row rows[] = {
    ROW(PUSH, int, send_hwm_msgs, 0, -1, "is negative; 0 means no limit"),
    ROW(PULL, int, recv_hwm_msgs, 0, -1, "is negative; 0 means no limit"),
    ROW(PUSH, int, send_hwm_msgs, INT_MAX, INT_MIN, "is negative; 0 means no limit"),
    ROW(PUSH, int, send_timeout_ms, -1, -2,
        "is below -1; -1 means for ever, 0 not at all"),
    ROW(PULL, int, recv_timeout_ms, -1, -2,
        "is below -1; -1 means for ever, 0 not at all"),
    ROW(PUSH, int, linger_ms, -1, -2, "is below -1; -1 means for ever, 0 not at all"),
    ROW(PUSH, int, reconnect_min_ms, 1, 0, "is not 1 or more, or -1 for never again"),
    ROW(PUSH, int, reconnect_max_ms, 1, 0, "is below reconnect_min_ms; raise it"),
    ROW(PUSH, int, connect_timeout_ms, 0, -1,
        "is negative; 0 means the operating system's own"),
    ROW(PUSH, int, handshake_timeout_ms, 0, -1, "is negative; 0 means none"),
    ROW(PUSH, int, backlog, 0, -1, "is negative; give listen(2) a number"),
    ANY(PULL, uint64_t, recv_frame_max_bytes, UINT64_MAX),
    ANY(PULL, uint64_t, recv_message_max_bytes, UINT64_MAX),
    ANY(PULL, uint32_t, recv_message_max_parts, UINT32_MAX),
    ANY(ROUTER, bool, router_mandatory, true),
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
#define OWNED(c_type, field, value, types)                                               \
    {                                                                                    \
#field, offsetof(sennit_sock_opts, field), sizeof(c_type),                       \
            &(const c_type){ value }, types                                              \
    }

static const owner owners[] = {
    OWNED(bool, router_mandatory, true, TYPE(ROUTER)),
};

static void
an_option_of_other_types_is_refused_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof owners / sizeof owners[0]; i++) {
        const owner *what = &owners[i];

        for (unsigned type = SENNIT_PAIR; type <= SENNIT_PUSH; type++) {
            sennit_sock_opts opts = net_opts();
            bool has = what->types & (1u << type);
            sennit_sock *sock;
            sennit_err err;

            net_open(&n);
            memcpy((char *)&opts + what->offset, what->value, what->size);
            err = sennit_sock_open(&sock, n.loop, (sennit_sock_type)type, &opts);
            if (err != (has ? SENNIT_OK : SENNIT_EINVAL) ||
                (!has && strncmp(sennit_loop_why(n.loop), what->field,
                                 strcspn(what->field, ".")) != 0))
                fail_msg("%s of a %s: %s, %s", what->field,
                         sennit_sock_type_name((sennit_sock_type)type),
                         sennit_err_name(err), sennit_loop_why(n.loop));
            net_close(&n);
        }
    }
}

/* ---- what they point to ------------------------------------------------ */

/* Borrowed for the call only. */
static void
options_are_copied_with_all_they_point_to(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock_opts now;
    sennit_sock *sock;

    (void)state;
    net_open(&n);
    opts.identity_size = 2;
    memcpy(opts.identity, "me", 2);
    assert_int_equal(sennit_sock_open(&sock, n.loop, SENNIT_DEALER, &opts), SENNIT_OK);
    memset(&opts, 0xff, sizeof opts);
    sennit_sock_get_opts(sock, &now);
    assert_int_equal(now.identity_size, 2);
    assert_memory_equal(now.identity, "me", 2);
    net_close(&n);
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

#define COUNT(of) (sizeof(of) / sizeof(of)[0])

int
main(void)
{
    static const struct CMUnitTest others[] = {
        cmocka_unit_test(an_option_of_other_types_is_refused_by_name),
        cmocka_unit_test(options_are_copied_with_all_they_point_to),
        cmocka_unit_test(what_is_fixed_at_open_cannot_change),
        cmocka_unit_test(a_type_that_is_not_there_is_not_opened),
        cmocka_unit_test(a_send_mark_that_is_moved_counts_at_once),
        cmocka_unit_test(a_receive_mark_that_is_raised_counts_at_once),
        cmocka_unit_test(the_last_linger_that_was_set_counts),
        cmocka_unit_test(a_timeout_that_is_set_later_counts_for_the_next_call),
        cmocka_unit_test(only_events_that_were_asked_for_are_told),
    };
    static struct CMUnitTest tests[COUNT(rows) + COUNT(others)];

    for (size_t i = 0; i < COUNT(rows); i++) {
        const row *what = &rows[i];
        void *state;

        memcpy(&state, &what, sizeof state); /* cmocka's state is not const */
        tests[i] = (struct CMUnitTest){ what->field, check_value, NULL, NULL, state };
    }
    memcpy(tests + COUNT(rows), others, sizeof others);
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
