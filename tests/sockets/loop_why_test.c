/* SPDX-License-Identifier: MIT */
/* Every call that fails says why, by sennit_loop_why(): what it says is its own, and not
 * what an earlier failure has left there. */
#include "net.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sennit/proxy.h"

#define BYTES(text) ((sennit_bytes){ (const uint8_t *)(text), sizeof(text) - 1 })

/* What each row starts with. */
typedef struct bench {
    net n;
    sennit_context *context; /* of the loop; one socket at a time */
    sennit_sock *sock;       /* of the row's type, NULL without one */
    sennit_err came;         /* what a call said whose reason was looked at in time */
} bench;

/* Another failure before it, whose reason must not be taken for that of the row's. */
static const char *
leave_a_reason(bench *b)
{
    sennit_sock *sock;

    assert_int_equal(sennit_sock_open(&sock, b->n.loop, SENNIT_STREAM + 1, NULL),
                     SENNIT_ENOTSUP);
    return sennit_loop_why(b->n.loop);
}

/* The next call finds no memory at all. */
#define WITHOUT_MEMORY(b, call)                                                          \
    ((b)->n.alloc.limit_bytes = 1, (b)->came = (call), (b)->n.alloc.limit_bytes = 0,     \
     (b)->came)

/* ---- sockets and their options --------------------------------------- */

static sennit_err
open_with_bad_option(bench *b)
{
    sennit_sock_opts opts = net_opts();

    opts.backlog = -1;
    return sennit_sock_open(&b->sock, b->n.loop, SENNIT_PUSH, &opts);
}

static sennit_err
open_draft(bench *b)
{
    return sennit_sock_open(&b->sock, b->n.loop, (sennit_sock_type)20, NULL);
}

static sennit_err
open_no_type(bench *b)
{
    return sennit_sock_open(&b->sock, b->n.loop, (sennit_sock_type)21, NULL);
}

static sennit_err
open_one_too_many(bench *b)
{
    sennit_sock *second;

    (void)net_sock(&b->n, SENNIT_PULL, NULL);
    return sennit_sock_open(&second, b->n.loop, SENNIT_PUSH, NULL);
}

static sennit_err
open_after_shutdown(bench *b)
{
    sennit_sock *sock;

    sennit_context_shutdown(b->context);
    return sennit_sock_open(&sock, b->n.loop, SENNIT_PUSH, NULL);
}

static sennit_err
open_without_memory(bench *b)
{
    sennit_sock *sock;

    return WITHOUT_MEMORY(b, sennit_sock_open(&sock, b->n.loop, SENNIT_PUSH, NULL));
}

static sennit_err
set_bad_option(bench *b)
{
    sennit_sock_opts opts = net_opts();

    opts.linger_ms = -2;
    return sennit_sock_set_opts(b->sock, &opts);
}

static sennit_err
set_what_inproc_does_not_obey(bench *b)
{
    sennit_sock_opts opts = net_opts();

    opts.send_age_max_ms = 1;
    assert_int_equal(sennit_sock_bind(b->sock, "inproc://here"), SENNIT_OK);
    return sennit_sock_set_opts(b->sock, &opts);
}

static sennit_err
set_without_memory(bench *b)
{
    sennit_sock_opts opts = net_opts();

    opts.bind_device = "lo";
    return WITHOUT_MEMORY(b, sennit_sock_set_opts(b->sock, &opts));
}

/* ---- endpoints ------------------------------------------------------- */

static sennit_err
bind_nothing(bench *b)
{
    return sennit_sock_bind(b->sock, NULL);
}

static sennit_err
bind_without_port(bench *b)
{
    return sennit_sock_bind(b->sock, "tcp://127.0.0.1");
}

static sennit_err
bind_udp(bench *b)
{
    return sennit_sock_bind(b->sock, "udp://127.0.0.1:1");
}

static sennit_err
bind_no_interface(bench *b)
{
    return sennit_sock_bind(b->sock, "tcp://nosuch0:*");
}

static sennit_err
bind_twice_by_tcp(bench *b)
{
    net_bind(b->sock, TCP);
    return sennit_sock_bind(b->sock, sennit_sock_last_endpoint(b->sock));
}

static sennit_err
bind_twice_by_ipc(bench *b)
{
    net_bind(b->sock, IPC);
    return sennit_sock_bind(b->sock, sennit_sock_last_endpoint(b->sock));
}

static sennit_err
bind_twice_by_inproc(bench *b)
{
    assert_int_equal(sennit_sock_bind(b->sock, "inproc://here"), SENNIT_OK);
    return sennit_sock_bind(b->sock, "inproc://here");
}

/* An address for documentation (RFC 5737) is nobody's. */
static sennit_err
bind_foreign_address(bench *b)
{
    return sennit_sock_bind(b->sock, "tcp://192.0.2.1:*");
}

static sennit_err
bind_where_no_directory_is(bench *b)
{
    return sennit_sock_bind(b->sock, "ipc://no-such-directory/file");
}

static sennit_err
bind_what_is_no_socket(bench *b)
{
    char endpoint[64] = "ipc://sennit-why-XXXXXX";
    int fd = mkstemp(endpoint + 6);
    sennit_err err;

    assert_true(fd >= 0);
    close(fd);
    err = sennit_sock_bind(b->sock, endpoint);
    assert_int_equal(unlink(endpoint + 6), 0);
    return err;
}

static sennit_err
bind_long_path(bench *b)
{
    char endpoint[200] = "ipc://";

    memset(endpoint + 6, 'p', 150);
    return sennit_sock_bind(b->sock, endpoint);
}

static sennit_err
bind_inproc_with_age(bench *b)
{
    sennit_sock_opts opts = net_opts();

    opts.send_age_max_ms = 1;
    assert_int_equal(sennit_sock_set_opts(b->sock, &opts), SENNIT_OK);
    (void)leave_a_reason(b);
    return sennit_sock_bind(b->sock, "inproc://here");
}

static sennit_err
bind_without_memory(bench *b)
{
    return WITHOUT_MEMORY(b, sennit_sock_bind(b->sock, "tcp://127.0.0.1:*"));
}

static sennit_err
bind_after_shutdown(bench *b)
{
    sennit_context_shutdown(b->context);
    return sennit_sock_bind(b->sock, "tcp://127.0.0.1:*");
}

static sennit_err
bind_no_descriptor(bench *b)
{
    return sennit_sock_bind_fd(b->sock, -1);
}

static sennit_err
connect_to_every_port(bench *b)
{
    return sennit_sock_connect(b->sock, "tcp://127.0.0.1:*");
}

static sennit_err
connect_from_no_interface(bench *b)
{
    return sennit_sock_connect(b->sock, "tcp://nosuch0;127.0.0.1:1");
}

static sennit_err
connect_without_memory(bench *b)
{
    return WITHOUT_MEMORY(b, sennit_sock_connect(b->sock, "tcp://127.0.0.1:1"));
}

static sennit_err
connect_after_shutdown(bench *b)
{
    sennit_context_shutdown(b->context);
    return sennit_sock_connect(b->sock, "tcp://127.0.0.1:1");
}

static sennit_err
connect_to_another_type(bench *b)
{
    assert_int_equal(sennit_sock_bind(b->sock, "inproc://here"), SENNIT_OK);
    return sennit_sock_connect(net_sock(&b->n, SENNIT_PUB, NULL), "inproc://here");
}

static sennit_err
connect_a_third_pair(bench *b)
{
    assert_int_equal(sennit_sock_bind(b->sock, "inproc://here"), SENNIT_OK);
    net_connect(net_sock(&b->n, SENNIT_PAIR, NULL), "inproc://here");
    return sennit_sock_connect(net_sock(&b->n, SENNIT_PAIR, NULL), "inproc://here");
}

static sennit_err
connect_under_no_name(bench *b)
{
    return sennit_sock_connect_as(b->sock, "tcp://127.0.0.1:1", BYTES(""));
}

static sennit_err
connect_a_pair_by_name(bench *b)
{
    return sennit_sock_connect_as(b->sock, "tcp://127.0.0.1:1", BYTES("you"));
}

static sennit_err
connect_under_a_taken_name(bench *b)
{
    assert_int_equal(sennit_sock_connect_as(b->sock, "tcp://127.0.0.1:1", BYTES("you")),
                     SENNIT_OK);
    return sennit_sock_connect_as(b->sock, "tcp://127.0.0.1:2", BYTES("you"));
}

static sennit_err
unbind_nothing(bench *b)
{
    return sennit_sock_unbind(b->sock, NULL);
}

static sennit_err
unbind_what_is_not_bound(bench *b)
{
    return sennit_sock_unbind(b->sock, "tcp://127.0.0.1:1");
}

static sennit_err
unbind_a_name_that_is_not_bound(bench *b)
{
    return sennit_sock_unbind(b->sock, "inproc://here");
}

static sennit_err
disconnect_nothing(bench *b)
{
    return sennit_sock_disconnect(b->sock, NULL);
}

static sennit_err
disconnect_what_is_not_connected(bench *b)
{
    return sennit_sock_disconnect(b->sock, "tcp://127.0.0.1:1");
}

static sennit_err
disconnect_a_name_that_is_not_connected(bench *b)
{
    return sennit_sock_disconnect(b->sock, "inproc://here");
}

/* ---- subscriptions --------------------------------------------------- */

static sennit_err
subscribe(bench *b)
{
    return sennit_sock_subscribe(b->sock, BYTES("a"));
}

static sennit_err
unsubscribe(bench *b)
{
    return sennit_sock_unsubscribe(b->sock, BYTES("a"));
}

static sennit_err
subscribe_by_hand_to_nobody(bench *b)
{
    sennit_sock_opts opts = net_opts();

    opts.xpub_manual = SENNIT_XPUB_MANUAL;
    assert_int_equal(sennit_sock_set_opts(b->sock, &opts), SENNIT_OK);
    return subscribe(b);
}

static sennit_err
subscribe_to_too_much(bench *b)
{
    static uint8_t topic[1024 * 1024 + 1];

    return sennit_sock_subscribe(b->sock, (sennit_bytes){ topic, sizeof topic });
}

static sennit_err
subscribe_without_memory(bench *b)
{
    return WITHOUT_MEMORY(b, subscribe(b));
}

/* ---- messages -------------------------------------------------------- */

static sennit_err
send_one(bench *b)
{
    return sennit_sock_send_bytes(b->sock, "x", 1, 0);
}

static sennit_err
recv_one(bench *b)
{
    char body[8];
    size_t size;

    return sennit_sock_recv_bytes(b->sock, body, sizeof body, &size, 0);
}

static sennit_err
send_twice(bench *b)
{
    assert_int_equal(sennit_sock_connect(b->sock, "tcp://127.0.0.1:1"), SENNIT_OK);
    assert_int_equal(send_one(b), SENNIT_OK);
    return send_one(b);
}

static sennit_err
send_a_part_with_conflate(bench *b)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *sock;

    opts.conflate = true;
    sock = net_sock(&b->n, SENNIT_PUSH, &opts);
    return sennit_sock_send_bytes(sock, "x", 1, SENNIT_MORE);
}

static sennit_err
send_to_nobody(bench *b)
{
    sennit_sock_opts opts = net_opts();

    opts.router_mandatory = true;
    assert_int_equal(sennit_sock_set_opts(b->sock, &opts), SENNIT_OK);
    return send_one(b);
}

static sennit_err
send_after_shutdown(bench *b)
{
    sennit_context_shutdown(b->context);
    return send_one(b);
}

static sennit_err
send_at_once_after_shutdown(bench *b)
{
    sennit_context_shutdown(b->context);
    return sennit_sock_send_bytes(b->sock, "x", 1, SENNIT_DONTWAIT);
}

static sennit_err
recv_after_shutdown(bench *b)
{
    sennit_context_shutdown(b->context);
    return recv_one(b);
}

static sennit_err
send_without_memory(bench *b)
{
    assert_int_equal(sennit_sock_connect(b->sock, "tcp://127.0.0.1:1"), SENNIT_OK);
    return WITHOUT_MEMORY(b, send_one(b));
}

static sennit_err
recv_the_answer_of_one_who_left(bench *b)
{
    sennit_sock *rep = net_sock(&b->n, SENNIT_REP, NULL);
    char body[8];
    size_t size;

    net_join(&b->n, rep, b->sock, TCP);
    assert_int_equal(send_one(b), SENNIT_OK);
    assert_int_equal(sennit_sock_recv_bytes(rep, body, sizeof body, &size, 0), SENNIT_OK);
    sennit_sock_close(rep);
    return recv_one(b);
}

static void
close_it(void *arg)
{
    sennit_sock_close(arg);
}

static sennit_err
recv_on_one_that_is_closed(bench *b)
{
    assert_int_equal(sennit_loop_post(b->n.loop, close_it, b->sock), SENNIT_OK);
    return recv_one(b);
}

/* The handle is still there while a call further out waits on it. */
static void
close_and_use(void *arg)
{
    bench *b = arg;

    sennit_sock_close(b->sock);
    (void)leave_a_reason(b);
    b->came = sennit_sock_bind(b->sock, "tcp://127.0.0.1:*");
    assert_non_null(strstr(sennit_loop_why(b->n.loop), "closed"));
}

static sennit_err
bind_one_that_is_closed(bench *b)
{
    assert_int_equal(sennit_loop_post(b->n.loop, close_and_use, b), SENNIT_OK);
    assert_int_equal(recv_one(b), SENNIT_ECLOSED);
    return b->came;
}

/* ---- loop, timers, peers --------------------------------------------- */

static sennit_err
turn_after_shutdown(bench *b)
{
    sennit_context_shutdown(b->context);
    return sennit_loop_turn(b->n.loop, 1);
}

static void
turn_deeper(void *arg)
{
    bench *b = arg;
    sennit_err err;

    if (b->came != SENNIT_OK)
        return; /* the last is run when the loop closes */
    assert_int_equal(sennit_loop_post(b->n.loop, turn_deeper, b), SENNIT_OK);
    err = sennit_loop_turn(b->n.loop, 0);
    if (err == SENNIT_OK)
        return;
    b->came = err;
    assert_non_null(strstr(sennit_loop_why(b->n.loop), "nested"));
}

static sennit_err
turn_too_deep(bench *b)
{
    assert_int_equal(sennit_loop_post(b->n.loop, turn_deeper, b), SENNIT_OK);
    assert_int_equal(sennit_loop_turn(b->n.loop, 0), SENNIT_OK);
    return b->came;
}

static void
not_now(void *arg)
{
    (void)arg;
}

static sennit_err
start_without_memory(bench *b)
{
    static sennit_timer timer;

    memset(&timer, 0, sizeof timer);
    return WITHOUT_MEMORY(b, sennit_timer_start(b->n.loop, &timer, 1, not_now, NULL));
}

static sennit_err
end_a_stranger(bench *b)
{
    return sennit_sock_disconnect_peer(b->sock, 7);
}

static sennit_err
ask_a_stranger(bench *b)
{
    sennit_bytes value;

    return sennit_sock_peer_property(b->sock, 7, "Identity", &value);
}

static sennit_err
ask_a_peer(bench *b, transport via)
{
    sennit_sock *pull = net_sock(&b->n, SENNIT_PULL, NULL);
    sennit_bytes value;
    sennit_peer peer;

    net_join(&b->n, pull, b->sock, via);
    assert_int_equal(sennit_sock_get_peers(b->sock, &peer, 1), 1);
    return sennit_sock_peer_property(b->sock, peer.number, "X-Nothing", &value);
}

static sennit_err
ask_for_what_was_not_told(bench *b)
{
    return ask_a_peer(b, TCP);
}

static sennit_err
ask_for_what_was_not_told_by_inproc(bench *b)
{
    return ask_a_peer(b, INPROC);
}

static sennit_err
wait_for_subscribers(bench *b)
{
    return sennit_sock_wait_subscriptions(b->sock, 1, 0);
}

static sennit_err
wait_after_shutdown(bench *b)
{
    sennit_context_shutdown(b->context);
    return sennit_sock_wait_connections(b->sock, 1, -1);
}

/* ---- what would block ------------------------------------------------ */

static sennit_err
send_at_once(bench *b)
{
    return sennit_sock_send_bytes(b->sock, "x", 1, SENNIT_DONTWAIT);
}

static sennit_err
recv_at_once(bench *b)
{
    char body[8];

    return sennit_sock_recv_bytes(b->sock, body, sizeof body, NULL, SENNIT_DONTWAIT);
}

static sennit_err
recv_for_a_moment(bench *b)
{
    sennit_sock_opts opts = net_opts();

    opts.recv_timeout_ms = 1;
    assert_int_equal(sennit_sock_set_opts(b->sock, &opts), SENNIT_OK);
    return recv_one(b);
}

static sennit_err
ask_for_no_event(bench *b)
{
    sennit_event event;

    return sennit_sock_next_event(b->sock, &event);
}

static sennit_err
wait_for_nobody(bench *b)
{
    return sennit_sock_wait_connections(b->sock, 1, 0);
}

/* ---- proxies --------------------------------------------------------- */

static sennit_err
join(bench *b, sennit_sock_type front, sennit_sock_type back)
{
    sennit_proxy *proxy;

    return sennit_proxy_open(&proxy, net_sock(&b->n, front, NULL),
                             net_sock(&b->n, back, NULL), NULL);
}

static sennit_err
join_two_pulls(bench *b)
{
    return join(b, SENNIT_PULL, SENNIT_PULL);
}

static sennit_err
join_a_stream(bench *b)
{
    return join(b, SENNIT_STREAM, SENNIT_DEALER);
}

static sennit_err
join_a_req_with_itself(bench *b)
{
    sennit_proxy *proxy;

    return sennit_proxy_open(&proxy, b->sock, b->sock, NULL);
}

static sennit_err
join_over_two_loops(bench *b)
{
    sennit_proxy *proxy;
    sennit_err err;
    net other;

    net_open(&other);
    err = sennit_proxy_open(&proxy, b->sock, net_sock(&other, SENNIT_DEALER, NULL), NULL);
    net_close(&other);
    return err;
}

static sennit_err
join_without_memory(bench *b)
{
    sennit_sock *push = net_sock(&b->n, SENNIT_PUSH, NULL);
    sennit_proxy *proxy;

    return WITHOUT_MEMORY(b, sennit_proxy_open(&proxy, b->sock, push, NULL));
}

static sennit_err
capture_by_a_pull(bench *b)
{
    sennit_sock *dealer = net_sock(&b->n, SENNIT_DEALER, NULL);
    sennit_proxy *proxy;

    return sennit_proxy_open(&proxy, b->sock, dealer, net_sock(&b->n, SENNIT_PULL, NULL));
}

static sennit_err
capture_by_the_front(bench *b)
{
    sennit_sock *back = net_sock(&b->n, SENNIT_DEALER, NULL);
    sennit_proxy *proxy;

    return sennit_proxy_open(&proxy, b->sock, back, b->sock);
}

/* What fails beside a proxy from the bench's PULL to a PUSH. */
static sennit_err
beside_a_proxy(bench *b, sennit_err (*call)(bench *b, sennit_proxy *proxy))
{
    sennit_sock *push = net_sock(&b->n, SENNIT_PUSH, NULL);
    sennit_proxy *proxy;
    sennit_err err;

    assert_int_equal(sennit_proxy_open(&proxy, b->sock, push, NULL), SENNIT_OK);
    err = call(b, proxy);
    sennit_proxy_close(proxy);
    return err;
}

static sennit_err
a_second(bench *b, sennit_proxy *proxy)
{
    (void)proxy;
    return sennit_proxy_open(&proxy, b->sock, net_sock(&b->n, SENNIT_PUSH, NULL), NULL);
}

static sennit_err
join_what_is_joined(bench *b)
{
    return beside_a_proxy(b, a_second);
}

static sennit_err
a_capture(bench *b, sennit_proxy *proxy)
{
    sennit_sock *control = net_sock(&b->n, SENNIT_DEALER, NULL);
    sennit_sock *front = net_sock(&b->n, SENNIT_PULL, NULL);

    assert_int_equal(sennit_proxy_steer(proxy, control), SENNIT_OK);
    return sennit_proxy_open(&proxy, front, net_sock(&b->n, SENNIT_PUSH, NULL), control);
}

static sennit_err
capture_by_what_is_joined(bench *b)
{
    return beside_a_proxy(b, a_capture);
}

static sennit_err
by_a_pub(bench *b, sennit_proxy *proxy)
{
    return sennit_proxy_steer(proxy, net_sock(&b->n, SENNIT_PUB, NULL));
}

static sennit_err
steer_by_a_pub(bench *b)
{
    return beside_a_proxy(b, by_a_pub);
}

static sennit_err
by_the_front(bench *b, sennit_proxy *proxy)
{
    return sennit_proxy_steer(proxy, b->sock);
}

static sennit_err
steer_by_the_front(bench *b)
{
    return beside_a_proxy(b, by_the_front);
}

static sennit_err
by_a_second(bench *b, sennit_proxy *proxy)
{
    assert_int_equal(sennit_proxy_steer(proxy, net_sock(&b->n, SENNIT_PULL, NULL)),
                     SENNIT_OK);
    return sennit_proxy_steer(proxy, net_sock(&b->n, SENNIT_PULL, NULL));
}

static sennit_err
steer_twice(bench *b)
{
    return beside_a_proxy(b, by_a_second);
}

static sennit_err
when_it_has_ended(bench *b, sennit_proxy *proxy)
{
    sennit_proxy_stop(proxy);
    return sennit_proxy_steer(proxy, net_sock(&b->n, SENNIT_PULL, NULL));
}

static sennit_err
steer_what_has_ended(bench *b)
{
    return beside_a_proxy(b, when_it_has_ended);
}

/* ---- the table ------------------------------------------------------- */

#define NONE (-1)

typedef struct why_row {
    const char *name;
    int type; /* of the bench's socket */
    sennit_err (*call)(bench *b);
    sennit_err err;
    const char *why; /* what the reason has in it */
} why_row;

static const why_row rows[] = {
    { "open with a bad option", NONE, open_with_bad_option, SENNIT_EINVAL, "backlog" },
    { "open a draft type", NONE, open_draft, SENNIT_ENOTSUP, "CHANNEL" },
    { "open no type", NONE, open_no_type, SENNIT_ENOTSUP, "built" },
    { "open one too many", NONE, open_one_too_many, SENNIT_EMFILE, "sockets_max" },
    { "open after a shutdown", NONE, open_after_shutdown, SENNIT_ETERM, "shut down" },
    { "open without memory", NONE, open_without_memory, SENNIT_ENOMEM, "memory" },
    { "set a bad option", SENNIT_PUSH, set_bad_option, SENNIT_EINVAL, "linger_ms" },
    { "set what inproc does not obey", SENNIT_PUSH, set_what_inproc_does_not_obey,
      SENNIT_ENOTSUP, "send_age_max_ms" },
    { "set without memory", SENNIT_PUSH, set_without_memory, SENNIT_ENOMEM, "memory" },

    { "bind nothing", SENNIT_PUSH, bind_nothing, SENNIT_EINVAL, "NULL" },
    { "bind without a port", SENNIT_PUSH, bind_without_port, SENNIT_EINVAL, "PORT" },
    { "bind udp", SENNIT_PUSH, bind_udp, SENNIT_ENOTSUP, "udp" },
    { "bind an interface that is not there", SENNIT_PUSH, bind_no_interface,
      SENNIT_ENODEV, "interface" },
    { "bind twice by tcp", SENNIT_PUSH, bind_twice_by_tcp, SENNIT_EADDRINUSE, "in use" },
    { "bind twice by ipc", SENNIT_PUSH, bind_twice_by_ipc, SENNIT_EADDRINUSE, "listens" },
    { "bind what is no socket", SENNIT_PUSH, bind_what_is_no_socket, SENNIT_EADDRINUSE,
      "no socket" },
    { "bind twice by inproc", SENNIT_PUSH, bind_twice_by_inproc, SENNIT_EADDRINUSE,
      "in use" },
    { "bind another's address", SENNIT_PUSH, bind_foreign_address, SENNIT_EADDRNOTAVAIL,
      "available" },
    { "bind where no directory is", SENNIT_PUSH, bind_where_no_directory_is,
      SENNIT_ENOENT, "directory" },
    { "bind a path that is too long", SENNIT_PUSH, bind_long_path, SENNIT_ENAMETOOLONG,
      "path" },
    { "bind inproc with an age", SENNIT_PUSH, bind_inproc_with_age, SENNIT_ENOTSUP,
      "send_age_max_ms" },
    { "bind without memory", SENNIT_PUSH, bind_without_memory, SENNIT_ENOMEM, "memory" },
    { "bind after a shutdown", SENNIT_PUSH, bind_after_shutdown, SENNIT_ETERM,
      "shut down" },
    { "bind no descriptor", SENNIT_PUSH, bind_no_descriptor, SENNIT_EINVAL, "fd" },
    { "bind on a closed socket", SENNIT_PULL, bind_one_that_is_closed, SENNIT_ECLOSED,
      "closed" },

    { "connect to every port", SENNIT_PUSH, connect_to_every_port, SENNIT_EINVAL,
      "port" },
    { "connect from no interface", SENNIT_PUSH, connect_from_no_interface, SENNIT_ENODEV,
      "interface" },
    { "connect without memory", SENNIT_PUSH, connect_without_memory, SENNIT_ENOMEM,
      "memory" },
    { "connect after a shutdown", SENNIT_PUSH, connect_after_shutdown, SENNIT_ETERM,
      "shut down" },
    { "connect to another type", SENNIT_PULL, connect_to_another_type, SENNIT_EPROTO,
      "type" },
    { "connect a third PAIR", SENNIT_PAIR, connect_a_third_pair, SENNIT_EEXIST, "PAIR" },
    { "connect under no name", SENNIT_ROUTER, connect_under_no_name, SENNIT_EINVAL,
      "identity" },
    { "connect a PAIR by name", SENNIT_PAIR, connect_a_pair_by_name, SENNIT_ENOTSUP,
      "identity" },
    { "connect under a taken name", SENNIT_ROUTER, connect_under_a_taken_name,
      SENNIT_EEXIST, "identity" },

    { "unbind nothing", SENNIT_PUSH, unbind_nothing, SENNIT_EINVAL, "NULL" },
    { "unbind what is not bound", SENNIT_PUSH, unbind_what_is_not_bound, SENNIT_ENOENT,
      "bound" },
    { "unbind a name that is not bound", SENNIT_PUSH, unbind_a_name_that_is_not_bound,
      SENNIT_ENOENT, "bound" },
    { "disconnect nothing", SENNIT_PUSH, disconnect_nothing, SENNIT_EINVAL, "NULL" },
    { "disconnect what is not connected", SENNIT_PUSH, disconnect_what_is_not_connected,
      SENNIT_ENOENT, "connected" },
    { "disconnect a name that is not connected", SENNIT_PUSH,
      disconnect_a_name_that_is_not_connected, SENNIT_ENOENT, "connected" },

    { "subscribe a PUSH", SENNIT_PUSH, subscribe, SENNIT_ENOTSUP, "SUB" },
    { "subscribe for nobody", SENNIT_XPUB, subscribe_by_hand_to_nobody, SENNIT_ESTATE,
      "subscription" },
    { "subscribe to too much", SENNIT_SUB, subscribe_to_too_much, SENNIT_EMSGSIZE,
      "1 MiB" },
    { "subscribe without memory", SENNIT_SUB, subscribe_without_memory, SENNIT_ENOMEM,
      "memory" },
    { "unsubscribe from nothing", SENNIT_SUB, unsubscribe, SENNIT_ENOENT, "subscribed" },

    { "send by a PULL", SENNIT_PULL, send_one, SENNIT_ENOTSUP, "does not send" },
    { "send a part with conflate", NONE, send_a_part_with_conflate, SENNIT_ENOTSUP,
      "conflate" },
    { "send a second request", SENNIT_REQ, send_twice, SENNIT_ESTATE, "req_relaxed" },
    { "send by a REP that was not asked", SENNIT_REP, send_one, SENNIT_ESTATE,
      "request" },
    { "send to nobody", SENNIT_ROUTER, send_to_nobody, SENNIT_EHOSTUNREACH, "identity" },
    { "send after a shutdown", SENNIT_PUSH, send_after_shutdown, SENNIT_ETERM,
      "shut down" },
    { "send at once after a shutdown", SENNIT_PUSH, send_at_once_after_shutdown,
      SENNIT_ETERM, "shut down" },
    { "send without memory", SENNIT_PUSH, send_without_memory, SENNIT_ENOMEM, "memory" },
    { "receive by a PUSH", SENNIT_PUSH, recv_one, SENNIT_ENOTSUP, "does not receive" },
    { "receive before a request", SENNIT_REQ, recv_one, SENNIT_ESTATE, "request" },
    { "receive after a shutdown", SENNIT_PULL, recv_after_shutdown, SENNIT_ETERM,
      "shut down" },
    { "receive from one who left", SENNIT_REQ, recv_the_answer_of_one_who_left,
      SENNIT_ECONNRESET, "connection" },
    { "receive on one that is closed", SENNIT_PULL, recv_on_one_that_is_closed,
      SENNIT_ECLOSED, "closed" },

    { "turn after a shutdown", NONE, turn_after_shutdown, SENNIT_ETERM, "shut down" },
    { "turn too deep", NONE, turn_too_deep, SENNIT_ESTATE, "nested" },
    { "start a timer without memory", NONE, start_without_memory, SENNIT_ENOMEM,
      "memory" },
    { "end a stranger", SENNIT_PUSH, end_a_stranger, SENNIT_ENOENT, "number" },
    { "ask a stranger", SENNIT_PUSH, ask_a_stranger, SENNIT_ENOENT, "number" },
    { "ask for what was not told", SENNIT_PUSH, ask_for_what_was_not_told, SENNIT_ENOENT,
      "property" },
    { "ask for what was not told by inproc", SENNIT_PUSH,
      ask_for_what_was_not_told_by_inproc, SENNIT_ENOENT, "property" },
    { "wait for a PUSH's subscribers", SENNIT_PUSH, wait_for_subscribers, SENNIT_ENOTSUP,
      "PUB" },
    { "wait after a shutdown", SENNIT_PUSH, wait_after_shutdown, SENNIT_ETERM,
      "shut down" },

    { "send at once to nobody", SENNIT_PUSH, send_at_once, SENNIT_EAGAIN, "block" },
    { "receive at once from nobody", SENNIT_PULL, recv_at_once, SENNIT_EAGAIN, "block" },
    { "receive from nobody for a moment", SENNIT_PULL, recv_for_a_moment, SENNIT_EAGAIN,
      "time" },
    { "ask for no event", SENNIT_PULL, ask_for_no_event, SENNIT_EAGAIN, "event" },
    { "wait for nobody", SENNIT_PULL, wait_for_nobody, SENNIT_EAGAIN, "time" },

    { "join two PULLs", NONE, join_two_pulls, SENNIT_ENOTSUP, "send" },
    { "join a STREAM", NONE, join_a_stream, SENNIT_ENOTSUP, "STREAM" },
    { "join a REQ with itself", SENNIT_REQ, join_a_req_with_itself, SENNIT_ENOTSUP,
      "REQ" },
    { "join sockets of two loops", SENNIT_ROUTER, join_over_two_loops, SENNIT_EINVAL,
      "loops" },
    { "join without memory", SENNIT_PULL, join_without_memory, SENNIT_ENOMEM, "memory" },
    { "join what is joined already", SENNIT_PULL, join_what_is_joined, SENNIT_EEXIST,
      "another proxy" },
    { "capture by a PULL", SENNIT_ROUTER, capture_by_a_pull, SENNIT_ENOTSUP, "PUSH" },
    { "capture by the front", SENNIT_DEALER, capture_by_the_front, SENNIT_EEXIST,
      "front" },
    { "capture by what another proxy obeys", SENNIT_PULL, capture_by_what_is_joined,
      SENNIT_EEXIST, "another proxy" },
    { "steer by a PUB", SENNIT_PULL, steer_by_a_pub, SENNIT_ENOTSUP, "REP" },
    { "steer by the front", SENNIT_PULL, steer_by_the_front, SENNIT_EEXIST, "proxy" },
    { "steer twice", SENNIT_PULL, steer_twice, SENNIT_ESTATE, "already" },
    { "steer what has ended", SENNIT_PULL, steer_what_has_ended, SENNIT_ESTATE, "ended" },
};

static void
open_bench(bench *b, int type, uint32_t sockets_max)
{
    sennit_context_opts context_opts = { .sockets_max = sockets_max };
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;

    memset(b, 0, sizeof *b);
    assert_int_equal(sennit_context_open(&b->context, &context_opts), SENNIT_OK);
    test_alloc_init(&b->n.alloc);
    opts.allocator = &b->n.alloc.allocator;
    opts.context = b->context;
    assert_int_equal(sennit_loop_open(&b->n.loop, &opts), SENNIT_OK);
    assert_string_equal(sennit_loop_why(b->n.loop), "");
    b->sock = type == NONE ? NULL : net_sock(&b->n, (sennit_sock_type)type, NULL);
}

static void
close_bench(bench *b)
{
    net_close(&b->n);
    assert_int_equal(sennit_context_close(b->context), SENNIT_OK);
}

static void
says_why(void **state)
{
    const why_row *row = *state;
    const char *before;
    const char *why;
    sennit_err err;
    bench b;

    open_bench(&b, row->type, row->call == open_one_too_many);
    before = leave_a_reason(&b);
    err = row->call(&b);
    why = sennit_loop_why(b.n.loop);
    if (err != row->err)
        fail_msg("%s instead of %s: %s", sennit_err_name(err), sennit_err_name(row->err),
                 why);
    assert_string_not_equal(why, before);
    assert_string_not_equal(why, "");
    if (strstr(why, row->why) == NULL)
        fail_msg("\"%s\" does not tell of \"%s\"", why, row->why);
    close_bench(&b);
}

/* ---- what is no failure ---------------------------------------------- */

static void
success_leaves_the_reason(void **state)
{
    const char *before;
    bench b;

    (void)state;
    open_bench(&b, SENNIT_PULL, 0);
    before = leave_a_reason(&b);
    net_bind(b.sock, TCP);
    assert_int_equal(sennit_loop_turn(b.n.loop, 0), SENNIT_OK);
    assert_ptr_equal(sennit_loop_why(b.n.loop), before);
    close_bench(&b);
}

/* Everything that can be called in a thread that does not own the loop, where it must not
 * be written to. */
static void *
call_from_elsewhere(void *arg)
{
    bench *b = arg;
    sennit_sock_opts opts;
    sennit_sock *sock;
    sennit_msg msg;
    static sennit_timer timer;
    uint8_t body[100] = { 0 };
    unsigned refused = 0;

    sennit_msg_init(&msg);
    sennit_sock_get_opts(b->sock, &opts);
#define REFUSED(call) refused += (call) != SENNIT_ETHREAD
    REFUSED(sennit_sock_open(&sock, b->n.loop, SENNIT_PUSH, NULL));
    REFUSED(sennit_sock_set_opts(b->sock, &opts));
    REFUSED(sennit_sock_bind(b->sock, NULL));
    REFUSED(sennit_sock_bind_fd(b->sock, -1));
    REFUSED(sennit_sock_connect(b->sock, NULL));
    REFUSED(sennit_sock_connect_as(b->sock, NULL, BYTES("")));
    REFUSED(sennit_sock_unbind(b->sock, NULL));
    REFUSED(sennit_sock_disconnect(b->sock, NULL));
    REFUSED(sennit_sock_disconnect_peer(b->sock, 7));
    REFUSED(sennit_sock_subscribe(b->sock, BYTES("a")));
    REFUSED(sennit_sock_unsubscribe(b->sock, BYTES("a")));
    REFUSED(sennit_sock_send(b->sock, &msg, 0));
    REFUSED(sennit_sock_send_bytes(b->sock, body, sizeof body, SENNIT_MORE));
    REFUSED(sennit_sock_recv(b->sock, &msg, 0));
    REFUSED(sennit_sock_wait_connections(b->sock, 1, -1));
    REFUSED(sennit_sock_wait_subscriptions(b->sock, 1, -1));
    REFUSED(sennit_loop_turn(b->n.loop, -1));
    REFUSED(sennit_loop_run(b->n.loop));
    REFUSED(sennit_timer_start(b->n.loop, &timer, 1, not_now, NULL));
#undef REFUSED
    b->came = refused == 0 ? SENNIT_ETHREAD : SENNIT_OK;
    return NULL;
}

static void
another_thread_leaves_the_reason(void **state)
{
    const char *before;
    pthread_t thread;
    bench b;

    (void)state;
    open_bench(&b, SENNIT_PUSH, 0);
    before = leave_a_reason(&b);
    assert_int_equal(pthread_create(&thread, NULL, call_from_elsewhere, &b), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(b.came, SENNIT_ETHREAD);
    assert_ptr_equal(sennit_loop_why(b.n.loop), before);
    close_bench(&b);
}

#define ROWS (sizeof rows / sizeof rows[0])

int
main(void)
{
    struct CMUnitTest table[ROWS];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(success_leaves_the_reason),
        cmocka_unit_test(another_thread_leaves_the_reason),
    };
    int failures;

    for (size_t i = 0; i < ROWS; i++) {
        const why_row *row = &rows[i];

        table[i] = (struct CMUnitTest){ .name = row->name, .test_func = says_why };
        /* cmocka's state is not const; the rows are only read. */
        memcpy(&table[i].initial_state, &row, sizeof row);
    }
    failures = cmocka_run_group_tests_name("every call that fails", table, NULL, NULL);
    failures += cmocka_run_group_tests(tests, NULL, NULL);
    return failures == 0 ? 0 : 1;
}
