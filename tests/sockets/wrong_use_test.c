/* SPDX-License-Identifier: MIT */
/* What a program may do wrong: a handle, message or pointer that is NULL is refused by
 * every public call, never followed; calls that have no result to refuse by say on stderr
 * what was wrong before they end the program. */
#include "net.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sennit/poller.h"
#include "sennit/proxy.h"
#include "sennit/runtime.h"
#include "sennit/z85.h"
#include "suite.h"

typedef struct bench {
    net n;
    sennit_sock *push; /* connected to ... */
    sennit_sock *pull;
    sennit_sock *sub;
    sennit_sock *router;
    sennit_sock *spare;
    sennit_proxy *proxy;
    sennit_poller *poller;
    uint64_t polled; /* `pull`, there */
    sennit_runtime *runtime;
    sennit_timer timer;
    sennit_msg msg;
    char octets[64];
} bench;

static bench b;

#define NO_BYTES ((sennit_bytes){ NULL, 5 })
#define A_NAME   ((sennit_bytes){ (const uint8_t *)"me", 2 })
#define A_SOCK   (&(sennit_sock *){ NULL })
#define A_LOOP   (&(sennit_loop *){ NULL })
#define A_PROXY  (&(sennit_proxy *){ NULL })
#define A_READY  (&(sennit_poller_event){ 0 })
#define A_SIZE   (&(size_t){ 0 })
#define A_VALUE  (&(sennit_bytes){ NULL, 0 })
#define AN_EVENT (&(sennit_event){ .kind = SENNIT_EVENT_READY })
#define A_TYPE   (&(sennit_sock_type){ SENNIT_PAIR })
#define ENDPOINT "tcp://127.0.0.1:1"
#define L        b.n.loop
#define ODD_BIT  (1u << 7)

static void
nothing(void *arg)
{
    (void)arg;
}

/* ---- calls that refuse --------------------------------------------------- */

/* X(id, what sennit_loop_why() has in it then, NULL: there is no loop to ask, call). */
#define REFUSALS(X)                                                                      \
    X(msg_size, NULL, sennit_msg_init_size(NULL, 5))                                     \
    X(msg_copy_1, NULL, sennit_msg_init_copy(NULL, "x", 1))                              \
    X(msg_copy_2, NULL, sennit_msg_init_copy(&b.msg, NULL, 5))                           \
    X(msg_copy_3, NULL, sennit_msg_init_copy(&b.msg, NULL, 5000))                        \
    X(msg_user_1, NULL, sennit_msg_init_user(NULL, b.octets, 1, NULL, NULL))             \
    X(msg_user_2, NULL, sennit_msg_init_user(&b.msg, NULL, 5, NULL, NULL))               \
    X(context_open, NULL, sennit_context_open(NULL, NULL))                               \
    X(loop_open, NULL, sennit_loop_open(NULL, NULL))                                     \
    X(turn, NULL, sennit_loop_turn(NULL, -1))                                            \
    X(run, NULL, sennit_loop_run(NULL))                                                  \
    X(post_1, NULL, sennit_loop_post(NULL, nothing, NULL))                               \
    X(post_2, NULL, sennit_loop_post(L, NULL, NULL))                                     \
    X(timer_1, NULL, sennit_timer_start(NULL, &b.timer, 1, nothing, NULL))               \
    X(timer_2, "timer", sennit_timer_start(L, NULL, 1, nothing, NULL))                   \
    X(timer_3, "fn", sennit_timer_start(L, &b.timer, 1, NULL, NULL))                     \
    X(type_1, NULL, sennit_sock_type_parse(NULL, A_TYPE))                                \
    X(type_2, NULL, sennit_sock_type_parse("PUB", NULL))                                 \
    X(open_1, "out", sennit_sock_open(NULL, L, SENNIT_PUB, NULL))                        \
    X(open_2, NULL, sennit_sock_open(A_SOCK, NULL, SENNIT_PUB, NULL))                    \
    X(set_1, NULL, sennit_sock_set_opts(NULL, &(sennit_sock_opts){ .backlog = 1 }))      \
    X(set_2, "opts", sennit_sock_set_opts(b.push, NULL))                                 \
    X(bind_1, NULL, sennit_sock_bind(NULL, "tcp://127.0.0.1:*"))                         \
    X(bind_2, "endpoint", sennit_sock_bind(b.push, NULL))                                \
    X(bind_fd, NULL, sennit_sock_bind_fd(NULL, 0))                                       \
    X(connect_1, NULL, sennit_sock_connect(NULL, ENDPOINT))                              \
    X(connect_2, "endpoint", sennit_sock_connect(b.push, NULL))                          \
    X(connect_as_1, NULL, sennit_sock_connect_as(NULL, ENDPOINT, A_NAME))                \
    X(connect_as_2, "endpoint", sennit_sock_connect_as(b.router, NULL, A_NAME))          \
    X(connect_as_3, "identity", sennit_sock_connect_as(b.router, ENDPOINT, NO_BYTES))    \
    X(unbind_1, NULL, sennit_sock_unbind(NULL, ENDPOINT))                                \
    X(unbind_2, "endpoint", sennit_sock_unbind(b.push, NULL))                            \
    X(disconnect_1, NULL, sennit_sock_disconnect(NULL, ENDPOINT))                        \
    X(disconnect_2, "endpoint", sennit_sock_disconnect(b.push, NULL))                    \
    X(subscribe_1, NULL, sennit_sock_subscribe(NULL, A_NAME))                            \
    X(subscribe_2, "prefix", sennit_sock_subscribe(b.sub, NO_BYTES))                     \
    X(unsubscribe_1, NULL, sennit_sock_unsubscribe(NULL, A_NAME))                        \
    X(unsubscribe_2, "prefix", sennit_sock_unsubscribe(b.sub, NO_BYTES))                 \
    X(send_1, NULL, sennit_sock_send(NULL, &b.msg, 0))                                   \
    X(send_2, NULL, sennit_sock_send(NULL, NULL, 0))                                     \
    X(send_3, "msg", sennit_sock_send(b.spare, NULL, 0))                                 \
    X(send_4, "flags", sennit_sock_send(b.spare, &b.msg, ODD_BIT))                       \
    X(recv_1, NULL, sennit_sock_recv(NULL, &b.msg, 0))                                   \
    X(recv_2, "msg", sennit_sock_recv(b.spare, NULL, 0))                                 \
    X(recv_3, "flags", sennit_sock_recv(b.spare, &b.msg, ODD_BIT))                       \
    X(recv_4, "flags", sennit_sock_recv(b.spare, &b.msg, SENNIT_MORE))                   \
    X(send_bytes_1, NULL, sennit_sock_send_bytes(NULL, "x", 1, 0))                       \
    X(send_bytes_2, NULL, sennit_sock_send_bytes(NULL, NULL, 1, 0))                      \
    X(send_bytes_3, "data", sennit_sock_send_bytes(b.spare, NULL, 1, 0))                 \
    X(send_bytes_4, "data", sennit_sock_send_bytes(b.spare, NULL, 100, 0))               \
    X(send_bytes_5, "flags", sennit_sock_send_bytes(b.spare, "x", 1, 0xff00))            \
    X(send_many_1, NULL, sennit_sock_send_many(NULL, &b.msg, 1, 0, A_SIZE))              \
    X(send_many_2, "msgs", sennit_sock_send_many(b.push, NULL, 1, 0, A_SIZE))            \
    X(send_many_3, "place", sennit_sock_send_many(b.push, &b.msg, 1, 0, NULL))           \
    X(send_many_4, "flags",                                                              \
      sennit_sock_send_many(b.push, &b.msg, 1, SENNIT_MORE, A_SIZE))                     \
    X(recv_many_1, NULL, sennit_sock_recv_many(NULL, &b.msg, 1, 0, A_SIZE))              \
    X(recv_many_2, "msgs", sennit_sock_recv_many(b.pull, NULL, 1, 0, A_SIZE))            \
    X(recv_many_3, "place", sennit_sock_recv_many(b.pull, &b.msg, 1, 0, NULL))           \
    X(recv_many_4, "flags", sennit_sock_recv_many(b.pull, &b.msg, 1, ODD_BIT, A_SIZE))   \
    X(send_parts_1, NULL, sennit_sock_send_parts(NULL, A_VALUE, 1, 0))                   \
    X(send_parts_2, "parts", sennit_sock_send_parts(b.push, NULL, 1, 0))                 \
    X(send_parts_3, "part", sennit_sock_send_parts(b.push, &NO_BYTES, 1, 0))             \
    X(send_parts_4, "flags", sennit_sock_send_parts(b.push, A_VALUE, 1, ODD_BIT))        \
    X(gather_1, NULL, sennit_msg_init_gather(NULL, &b.msg, 1))                           \
    X(gather_2, NULL, sennit_msg_init_gather(&b.msg, NULL, 1))                           \
    X(msg_init_1, NULL, sennit_loop_msg_init_size(NULL, &b.msg, 1))                      \
    X(msg_init_2, "msg", sennit_loop_msg_init_size(L, NULL, 1))                          \
    X(recv_bytes_1, NULL, sennit_sock_recv_bytes(NULL, b.octets, 1, A_SIZE, 0))          \
    X(recv_bytes_2, "data", sennit_sock_recv_bytes(b.spare, NULL, 1, A_SIZE, 0))         \
    X(recv_bytes_3, "flags", sennit_sock_recv_bytes(b.spare, b.octets, 1, A_SIZE, 2))    \
    X(event_1, NULL, sennit_sock_next_event(NULL, AN_EVENT))                             \
    X(event_2, "out", sennit_sock_next_event(b.push, NULL))                              \
    X(fd_1, NULL, sennit_sock_fd(NULL, SENNIT_READABLE, &(int){ 0 }))                    \
    X(fd_2, "fd", sennit_sock_fd(b.push, SENNIT_READABLE, NULL))                         \
    X(property_1, NULL, sennit_sock_peer_property(NULL, 1, "Identity", A_VALUE))         \
    X(property_2, "name", sennit_sock_peer_property(b.push, 1, NULL, A_VALUE))           \
    X(property_3, "value", sennit_sock_peer_property(b.push, 1, "Identity", NULL))       \
    X(end_peer, NULL, sennit_sock_disconnect_peer(NULL, 1))                              \
    X(wait_1, NULL, sennit_sock_wait_connections(NULL, 1, -1))                           \
    X(wait_2, NULL, sennit_sock_wait_subscriptions(NULL, 1, -1))                         \
    X(proxy_1, "front", sennit_proxy_open(A_PROXY, NULL, b.spare, NULL))                 \
    X(proxy_2, "back", sennit_proxy_open(A_PROXY, b.spare, NULL, NULL))                  \
    X(proxy_3, "out", sennit_proxy_open(NULL, b.spare, b.spare, NULL))                   \
    X(steer_1, NULL, sennit_proxy_steer(NULL, b.spare))                                  \
    X(steer_2, "control", sennit_proxy_steer(b.proxy, NULL))                             \
    X(proxy_run, NULL, sennit_proxy_run(NULL))                                           \
    X(poller_open, NULL, sennit_poller_open(NULL, NULL))                                 \
    X(poller_sock_1, NULL, sennit_poller_add_sock(NULL, b.pull, 1, NULL, NULL))          \
    X(poller_sock_2, NULL, sennit_poller_add_sock(b.poller, NULL, 1, NULL, NULL))        \
    X(poller_fd_1, NULL, sennit_poller_add_fd(NULL, 0, SENNIT_READABLE, NULL, NULL))     \
    X(poller_fd_2, NULL, sennit_poller_add_fd(b.poller, -1, 1, NULL, NULL))              \
    X(poller_timer, NULL, sennit_poller_add_timer(NULL, 1, 0, NULL, NULL))               \
    X(poller_change_1, NULL, sennit_poller_change(NULL, 1, 0))                           \
    X(poller_change_2, NULL, sennit_poller_change(b.poller, b.polled, ODD_BIT))          \
    X(poller_restart, NULL, sennit_poller_restart(NULL, 1, 0, 0))                        \
    X(poller_remove, NULL, sennit_poller_remove(NULL, 1))                                \
    X(poller_wait_1, NULL, sennit_poller_wait(NULL, A_READY, 1, -1, A_SIZE))             \
    X(poller_wait_2, NULL, sennit_poller_wait(b.poller, NULL, 1, -1, A_SIZE))            \
    X(poller_wait_3, NULL, sennit_poller_wait(b.poller, A_READY, 0, -1, A_SIZE))         \
    X(poller_wait_4, NULL, sennit_poller_wait(b.poller, A_READY, 1, -1, NULL))           \
    X(runtime_open, NULL, sennit_runtime_open(NULL, NULL, NULL))                         \
    X(runtime_post_1, NULL, sennit_runtime_post(NULL, 0, nothing, NULL))                 \
    X(runtime_post_2, NULL, sennit_runtime_post(b.runtime, 0, NULL, NULL))               \
    X(runtime_post_3, NULL, sennit_runtime_post(b.runtime, 1, nothing, NULL))            \
    X(runtime_wait, NULL, sennit_runtime_wait(NULL))                                     \
    X(z85_1, NULL, sennit_z85_encode(A_NAME, NULL, 64))                                  \
    X(z85_2, NULL, sennit_z85_encode((sennit_bytes){ NULL, 4 }, b.octets, 64))           \
    X(z85_3, NULL, sennit_z85_decode(NULL, 5, (uint8_t *)b.octets, 64, A_SIZE))          \
    X(z85_4, NULL, sennit_z85_decode("00000", 5, NULL, 64, A_SIZE))                      \
    X(z85_5, NULL, sennit_z85_decode("00000", 5, (uint8_t *)b.octets, 64, NULL))

#define X(id, why, call)                                                                 \
    static sennit_err refused_##id(void)                                                 \
    {                                                                                    \
        return call;                                                                     \
    }
REFUSALS(X)
#undef X

typedef struct refusal {
    const char *name; /* the call as it is written */
    sennit_err (*call)(void);
    const char *why;
} refusal;

static const refusal refusals[] = {
#define X(id, why, call) { #call, refused_##id, why },
    REFUSALS(X)
#undef X
};

/* ---- calls that have nothing to refuse by ------------------------------- */

static bool
msg_is_left_alone(void)
{
    sennit_msg_move(NULL, &b.msg);
    sennit_msg_move(&b.msg, NULL);
    sennit_msg_copy(NULL, &b.msg);
    sennit_msg_copy(&b.msg, NULL);
    return sennit_msg_size(&b.msg) == 4 &&
           memcmp(sennit_msg_data(&b.msg), "kept", 4) == 0;
}

static bool
opts_are_zero(void)
{
    sennit_sock_opts out = SENNIT_SOCK_OPTS_DEFAULT;

    sennit_sock_get_opts(NULL, &out);
    return out.backlog == 0 && out.send_hwm_msgs == 0 && out.events == 0;
}

static bool
stats_are_zero(void)
{
    sennit_sock_stats out = { .sent_msgs = 7, .reconnects = 7 };

    sennit_sock_get_stats(NULL, &out);
    return out.sent_msgs == 0 && out.reconnects == 0;
}

static bool
proxy_stats_are_zero(void)
{
    sennit_proxy_stats out = { .dropped_msgs = 7, .paused = true };

    sennit_proxy_get_stats(NULL, &out);
    return out.dropped_msgs == 0 && !out.paused;
}

static bool
proxy_has_ended(void)
{
    sennit_err why = SENNIT_OK;

    return sennit_proxy_ended(NULL, &why) && why == SENNIT_EINVAL &&
           sennit_proxy_ended(NULL, NULL);
}

static bool
is_received_without_its_size(void)
{
    net_send(b.push, "x");
    return sennit_sock_recv_bytes(b.pull, b.octets, 1, NULL, 0) == SENNIT_OK &&
           b.octets[0] == 'x';
}

/* X(id, what holds; it would not return if it followed the NULL). */
#define ANSWERS(X)                                                                       \
    X(version, sennit_version()[0] != '\0')                                              \
    X(text, strcmp(sennit_err_text((sennit_err)-1), "unknown error") == 0)               \
    X(name, strcmp(sennit_err_name((sennit_err)-1), "?") == 0)                           \
    X(msg_init, (sennit_msg_init(NULL), true))                                           \
    X(msg_fini, (sennit_msg_fini(NULL), true))                                           \
    X(msg_move, msg_is_left_alone())                                                     \
    X(msg_data, sennit_msg_data(NULL) == NULL)                                           \
    X(msg_size, sennit_msg_size(NULL) == 0)                                              \
    X(msg_bytes, sennit_msg_bytes(NULL).size == 0)                                       \
    X(msg_more, !sennit_msg_more(NULL))                                                  \
    X(msg_set_more, (sennit_msg_set_more(NULL, true), true))                             \
    X(msg_peer, sennit_msg_peer(NULL) == 0)                                              \
    X(shutdown, (sennit_context_shutdown(NULL), true))                                   \
    X(context_close, sennit_context_close(NULL) == SENNIT_OK)                            \
    X(loop_close, (sennit_loop_close(NULL), true))                                       \
    X(loop_why, strstr(sennit_loop_why(NULL), "NULL") != NULL)                           \
    X(backend, strcmp(sennit_loop_backend(NULL), "") == 0)                               \
    X(notice, strcmp(sennit_loop_notice(NULL), "") == 0)                                 \
    X(probe, sennit_backend_probe((sennit_backend)9, NULL) == SENNIT_EINVAL)             \
    X(now, sennit_loop_now(NULL) == 0)                                                   \
    X(allocator, sennit_loop_allocator(NULL) == NULL)                                    \
    X(stop, (sennit_loop_stop(NULL), true))                                              \
    X(loop_fd, sennit_loop_fd(NULL) == -1)                                               \
    X(timeout, sennit_loop_timeout_ms(NULL) == -1)                                       \
    X(timer_stop_1, (sennit_timer_stop(NULL, &b.timer), true))                           \
    X(timer_stop_2, (sennit_timer_stop(L, NULL), true))                                  \
    X(type_name, strcmp(sennit_sock_type_name((sennit_sock_type)-1), "?") == 0)          \
    X(get_opts_1, opts_are_zero())                                                       \
    X(get_opts_2, (sennit_sock_get_opts(b.push, NULL), true))                            \
    X(sock_close, (sennit_sock_close(NULL), true))                                       \
    X(last, strcmp(sennit_sock_last_endpoint(NULL), "") == 0)                            \
    X(flush, (sennit_sock_flush(NULL), true))                                            \
    X(ready, sennit_sock_ready(NULL) == 0)                                               \
    X(on_ready, (sennit_sock_on_ready(NULL, SENNIT_READABLE, NULL, NULL), true))         \
    X(get_type, sennit_sock_get_type(NULL) == (sennit_sock_type)-1)                      \
    X(get_loop, sennit_sock_get_loop(NULL) == NULL)                                      \
    X(event_name, strcmp(sennit_event_name((sennit_event_kind)-1), "?") == 0)            \
    X(get_stats_1, stats_are_zero())                                                     \
    X(get_stats_2, (sennit_sock_get_stats(b.push, NULL), true))                          \
    X(get_peers_1, sennit_sock_get_peers(NULL, NULL, 0) == 0)                            \
    X(get_peers_2, sennit_sock_get_peers(b.push, NULL, 9) == 1)                          \
    X(recv_bytes, is_received_without_its_size())                                        \
    X(pause, (sennit_proxy_pause(NULL), true))                                           \
    X(resume, (sennit_proxy_resume(NULL), true))                                         \
    X(proxy_stop, (sennit_proxy_stop(NULL), true))                                       \
    X(ended, proxy_has_ended())                                                          \
    X(proxy_stats_1, proxy_stats_are_zero())                                             \
    X(proxy_stats_2, (sennit_proxy_get_stats(b.proxy, NULL), true))                      \
    X(proxy_close, (sennit_proxy_close(NULL), true))                                     \
    X(poller_why, strstr(sennit_poller_why(NULL), "NULL") != NULL)                       \
    X(poller_count, sennit_poller_count(NULL) == 0)                                      \
    X(poller_wake, (sennit_poller_wake(NULL), true))                                     \
    X(poller_close, (sennit_poller_close(NULL), true))                                   \
    X(runtime_count, sennit_runtime_count(NULL) == 0)                                    \
    X(runtime_loop_1, sennit_runtime_loop(NULL, 0) == NULL)                              \
    X(runtime_loop_2, sennit_runtime_loop(b.runtime, 1) == NULL)                         \
    X(runtime_here, sennit_runtime_here(NULL) == -1)                                     \
    X(runtime_context, sennit_runtime_context(NULL) == NULL)                             \
    X(runtime_stop, (sennit_runtime_stop(NULL), true))                                   \
    X(runtime_close, sennit_runtime_close(NULL) == SENNIT_OK)

#define X(id, holds)                                                                     \
    static bool answered_##id(void)                                                      \
    {                                                                                    \
        return holds;                                                                    \
    }
ANSWERS(X)
#undef X

typedef struct answer {
    const char *name;
    bool (*holds)(void);
} answer;

static const answer answers[] = {
#define X(id, holds) { #holds, answered_##id },
    ANSWERS(X)
#undef X
};

/* ---- the table ----------------------------------------------------------- */

static void
open_bench(void)
{
    sennit_runtime_opts one = SENNIT_RUNTIME_OPTS_DEFAULT;

    one.loops = 1;
    memset(&b, 0, sizeof b);
    net_open(&b.n);
    b.pull = net_sock(&b.n, SENNIT_PULL, NULL);
    b.push = net_sock(&b.n, SENNIT_PUSH, NULL);
    b.sub = net_sock(&b.n, SENNIT_SUB, NULL);
    b.router = net_sock(&b.n, SENNIT_ROUTER, NULL);
    b.spare = net_sock(&b.n, SENNIT_PAIR, NULL);
    net_join(&b.n, b.pull, b.push, INPROC);
    assert_int_equal(sennit_proxy_open(&b.proxy, net_sock(&b.n, SENNIT_ROUTER, NULL),
                                       net_sock(&b.n, SENNIT_DEALER, NULL), NULL),
                     SENNIT_OK);
    assert_int_equal(sennit_runtime_open(&b.runtime, &one, NULL), SENNIT_OK);
    assert_int_equal(sennit_poller_open(&b.poller, NULL), SENNIT_OK);
    assert_int_equal(sennit_poller_add_sock(b.poller, b.pull, 0, NULL, &b.polled),
                     SENNIT_OK);
    assert_int_equal(sennit_msg_init_copy(&b.msg, "kept", 4), SENNIT_OK);
}

static void
close_bench(void)
{
    sennit_msg_fini(&b.msg);
    sennit_proxy_close(b.proxy);
    sennit_poller_close(b.poller);
    assert_int_equal(sennit_runtime_close(b.runtime), SENNIT_OK);
    net_close(&b.n);
}

static void
is_refused(void **state)
{
    const refusal *row = *state;
    const char *why;

    open_bench();
    assert_int_equal(row->call(), SENNIT_EINVAL);
    why = sennit_loop_why(L);
    if (row->why != NULL && strstr(why, row->why) == NULL)
        fail_msg("\"%s\" does not tell of \"%s\"", why, row->why);
    /* And nothing has become of the rest. */
    net_send(b.push, "still|here");
    assert_string_equal(net_recv(b.pull), "still|here");
    close_bench();
}

static void
is_answered(void **state)
{
    const answer *row = *state;

    open_bench();
    assert_true(row->holds());
    close_bench();
}

static bool
is_in_the_table(const char *function)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        if (strncmp(refusals[i].name, function, strlen(function)) == 0)
            return true;
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++)
        if (strstr(answers[i].name, function) != NULL)
            return true;
    /* By functions of their names. */
    return strcmp(function, "sennit_msg_move(") == 0 ||
           strcmp(function, "sennit_msg_copy(") == 0 ||
           strcmp(function, "sennit_proxy_ended(") == 0;
}

/* Whatever a public header declares: sennit_name( behind SENNIT_API. */
static unsigned
check_header(const char *path)
{
    static char text[1 << 17];
    FILE *file = fopen(path, "r");
    unsigned count = 0;
    size_t size;

    assert_non_null(file);
    size = fread(text, 1, sizeof text - 1, file);
    assert_int_equal(fclose(file), 0);
    assert_true(size < sizeof text - 1);
    text[size] = '\0';
    for (char *at = text; (at = strstr(at, "\nSENNIT_API ")) != NULL; at++, count++) {
        const char *end = strchr(at, '(');
        const char *begin = end;
        char function[80];

        assert_non_null(end);
        while (begin[-1] == '_' || (begin[-1] >= '0' && begin[-1] <= '9') ||
               (begin[-1] >= 'a' && begin[-1] <= 'z'))
            begin--;
        snprintf(function, sizeof function, "%.*s(", (int)(end - begin), begin);
        if (!is_in_the_table(function))
            fail_msg("%s) is in no row", function);
    }
    return count;
}

static void
the_table_has_every_public_call(void **state)
{
    (void)state;
    assert_true(check_header(HEADERS "sennit.h") > 60);
    assert_true(check_header(HEADERS "proxy.h") > 8);
    assert_int_equal(check_header(HEADERS "poller.h"), 12);
    assert_int_equal(check_header(HEADERS "runtime.h"), 9);
    assert_int_equal(check_header(HEADERS "z85.h"), 2);
}

/* ---- calls that end the program ------------------------------------------- */

/* In a process of its own, which must end by abort() and say `says`. */
typedef struct misuse {
    const char *name;
    void *(*call)(void *arg);    /* in another thread than the loop's, or ... */
    void (*callback)(void *arg); /* ... in a callback */
    const char *says;
} misuse;

#define ELSEWHERE(id, call)                                                              \
    static void *id(void *arg)                                                           \
    {                                                                                    \
        (void)arg;                                                                       \
        call;                                                                            \
        return NULL;                                                                     \
    }
ELSEWHERE(loop_close_elsewhere, sennit_loop_close(L))
ELSEWHERE(sock_close_elsewhere, sennit_sock_close(b.push))
ELSEWHERE(timer_stop_elsewhere, sennit_timer_stop(L, &b.timer))
ELSEWHERE(flush_elsewhere, sennit_sock_flush(b.push))
ELSEWHERE(on_ready_elsewhere, sennit_sock_on_ready(b.push, 0, NULL, NULL))
ELSEWHERE(pause_elsewhere, sennit_proxy_pause(b.proxy))
ELSEWHERE(resume_elsewhere, sennit_proxy_resume(b.proxy))
ELSEWHERE(stop_elsewhere, sennit_proxy_stop(b.proxy))
ELSEWHERE(proxy_close_elsewhere, sennit_proxy_close(b.proxy))
ELSEWHERE(poller_close_elsewhere, sennit_poller_close(b.poller))

static void
close_runtime(void *arg)
{
    (void)sennit_runtime_close(arg);
}

static void *
runtime_close_inside(void *arg)
{
    (void)arg;
    if (sennit_runtime_post(b.runtime, 0, close_runtime, b.runtime) == SENNIT_OK)
        (void)sennit_runtime_wait(b.runtime);
    return NULL;
}

static void
close_poller(void *arg)
{
    (void)arg;
    sennit_poller_close(b.poller);
}

/* A wait inside a callback, with a callback inside. */
static void
wait_to_close(void *arg)
{
    size_t count;

    if (sennit_loop_post(arg, close_poller, NULL) == SENNIT_OK &&
        sennit_poller_wait(b.poller, A_READY, 1, 0, &count) == SENNIT_OK)
        sennit_loop_stop(arg);
}

static void
close_loop(void *arg)
{
    sennit_loop_close(arg);
}

#define THREAD_SAYS(call) "sennit: " call "() must not be called on another thread"

static const misuse misuses[] = {
    { "sennit_loop_close() elsewhere", loop_close_elsewhere, NULL,
      THREAD_SAYS("sennit_loop_close") },
    { "sennit_sock_close() elsewhere", sock_close_elsewhere, NULL,
      THREAD_SAYS("sennit_sock_close") },
    { "sennit_timer_stop() elsewhere", timer_stop_elsewhere, NULL,
      THREAD_SAYS("sennit_timer_stop") },
    { "sennit_sock_flush() elsewhere", flush_elsewhere, NULL,
      THREAD_SAYS("sennit_sock_flush") },
    { "sennit_sock_on_ready() elsewhere", on_ready_elsewhere, NULL,
      THREAD_SAYS("sennit_sock_on_ready") },
    { "sennit_proxy_pause() elsewhere", pause_elsewhere, NULL,
      THREAD_SAYS("sennit_proxy_pause") },
    { "sennit_proxy_resume() elsewhere", resume_elsewhere, NULL,
      THREAD_SAYS("sennit_proxy_resume") },
    { "sennit_proxy_stop() elsewhere", stop_elsewhere, NULL,
      THREAD_SAYS("sennit_proxy_stop") },
    { "sennit_proxy_close() elsewhere", proxy_close_elsewhere, NULL,
      THREAD_SAYS("sennit_proxy_close") },
    { "sennit_poller_close() elsewhere", poller_close_elsewhere, NULL,
      THREAD_SAYS("sennit_poller_close") },
    { "sennit_poller_close() in its own wait", NULL, wait_to_close,
      "sennit: sennit_poller_close() must not be called in a callback" },
    { "sennit_runtime_close() on a thread of its own", runtime_close_inside, NULL,
      "sennit: sennit_runtime_close() must not be called on a thread of the runtime" },
    { "sennit_loop_close() in a callback", NULL, close_loop,
      "sennit: sennit_loop_close() must not be called in a callback" },
};

_Noreturn static void
misuse_it(const misuse *row, int out)
{
    pthread_t thread;

    (void)setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    (void)dup2(out, STDERR_FILENO);
    open_bench();
    if (row->call != NULL && pthread_create(&thread, NULL, row->call, NULL) == 0)
        (void)pthread_join(thread, NULL);
    if (row->callback != NULL && sennit_loop_post(L, row->callback, L) == SENNIT_OK)
        (void)sennit_loop_turn(L, 0);
    _exit(0);
}

static void
ends_the_program_and_says_why(void **state)
{
    const misuse *row = *state;
    char said[1024];
    size_t size = 0;
    ssize_t more;
    int status;
    int fds[2];
    pid_t child;

    assert_int_equal(pipe(fds), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        misuse_it(row, fds[1]);
    close(fds[1]);
    while (size < sizeof said - 1 &&
           (more = read(fds[0], said + size, sizeof said - 1 - size)) > 0)
        size += (size_t)more;
    close(fds[0]);
    said[size] = '\0';
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    if (strstr(said, row->says) == NULL || strstr(said, "internal error") != NULL)
        fail_msg("said \"%s\" and not \"%s\"", said, row->says);
}

/* Whoever forked it: the child's copies are nobody else's. */
static void *
close_in_a_forked_child(void *arg)
{
    pid_t child = fork();
    int status;

    (void)arg;
    if (child == 0) {
        sennit_sock_close(b.push);
        sennit_loop_close(L);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return NULL;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? &b : NULL;
}

static void
a_child_that_another_thread_forked_may_close_its_copies(void **state)
{
    pthread_t thread;
    void *well;

    (void)state;
    open_bench();
    assert_int_equal(pthread_create(&thread, NULL, close_in_a_forked_child, NULL), 0);
    assert_int_equal(pthread_join(thread, &well), 0);
    assert_ptr_equal(well, &b);
    close_bench();
}

/* ---- stopping from elsewhere ---------------------------------------------- */

static void *
stop_loop(void *arg)
{
    sennit_loop_stop(arg);
    return NULL;
}

static void
another_thread_may_stop_a_loop_that_waits(void **state)
{
    (void)state;
    net_open(&b.n);
    for (int i = 0; i < 100; i++) {
        pthread_t thread;

        /* Before the run, in its begin or while it waits: none is lost. */
        assert_int_equal(pthread_create(&thread, NULL, stop_loop, L), 0);
        assert_int_equal(sennit_loop_run(L), SENNIT_OK);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    net_close(&b.n);
}

int
main(void)
{
    static const struct CMUnitTest fixed[] = {
        cmocka_unit_test(the_table_has_every_public_call),
        cmocka_unit_test(a_child_that_another_thread_forked_may_close_its_copies),
        cmocka_unit_test(another_thread_may_stop_a_loop_that_waits),
    };
    static test_suite suite;

    TEST_SUITE_ROWS(&suite, "refused: ", refusals, is_refused);
    TEST_SUITE_ROWS(&suite, "holds: ", answers, is_answered);
    TEST_SUITE_ROWS(&suite, "ends the program: ", misuses, ends_the_program_and_says_why);
    TEST_SUITE_ADD(&suite, fixed);
    return test_suite_run(&suite);
}
