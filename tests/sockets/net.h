/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_TEST_NET_H
#define SENNIT_TEST_NET_H

#include "sennit_test.h"

#include <stdbool.h>

#include "fail_alloc.h"
#include "sennit/sennit.h"

/* Sockets of one loop in one thread, driven by the test. Nothing here sleeps: the
 * loop is turned until what is expected has happened, and DEADLINE_MS only says when
 * it counts as not happening. */
#define DEADLINE_MS 20000

typedef struct net {
    test_alloc alloc; /* of the loop */
    sennit_loop *loop;
} net;

typedef enum transport { TCP, IPC, INPROC } transport;

#define TRANSPORTS 3

extern const char *const transport_names[TRANSPORTS];

/* Short reconnects, no linger, DEADLINE_MS as every timeout. */
sennit_sock_opts net_opts(void);

void net_open(net *n);

/* Closes the loop and checks that it gave all memory back. */
void net_close(net *n);

/* A socket with net_opts(), or with `opts`. */
sennit_sock *net_sock(net *n, sennit_sock_type type, const sennit_sock_opts *opts);

/* A socket with net_opts() and this identity. */
sennit_sock *net_named(net *n, sennit_sock_type type, const char *identity);

/* A text as octets. */
sennit_bytes net_bytes(const char *text);

void net_subscribe(sennit_sock *sock, const char *topic);

/* What to bind for an endpoint that nobody has; the text is valid until the next call. */
const char *net_fresh(transport via);

/* Binds to a fresh endpoint and tells it; the text is valid until the next call. */
const char *net_bind(sennit_sock *sock, transport via);

/* Where nobody listens until somebody does: a port just given back, a fresh path, a
 * fresh name. */
const char *net_vacant(transport via);

void net_connect(sennit_sock *sock, const char *endpoint);

/* `binder` bound and `connecter` connected, both READY. */
void net_join(net *n, sennit_sock *binder, sennit_sock *connecter, transport via);

/* Turns the loop once, for at most a little while; fails the test once `started`
 * (a sennit_time) is DEADLINE_MS ago. */
void net_turn(net *n, sennit_time started, const char *awaited);

#define NET_UNTIL(n, condition)                                                          \
    for (sennit_time started_ = sennit_loop_now((n)->loop); !(condition);)               \
    net_turn(n, started_, #condition)

/* NET_UNTIL with a body, which runs after each turn. */
#define NET_DOING(n, condition)                                                          \
    for (sennit_time started_ = sennit_loop_now((n)->loop);                              \
         !(condition) && (net_turn(n, started_, #condition), true);)

/* The next event of that kind, others are skipped. */
sennit_event net_event(net *n, sennit_sock *sock, sennit_event_kind kind);

/* Whether one is there already, others before it are skipped. */
bool net_has_event(sennit_sock *sock, sennit_event_kind kind, sennit_event *out);

sennit_sock_stats net_stats(const sennit_sock *sock);

/* What is known of its one peer. */
sennit_peer net_only_peer(const sennit_sock *sock);

/* Sends and receives messages written as frames joined by '|'. */
sennit_err net_try_send(sennit_sock *sock, const char *message, unsigned flags);
void net_send(sennit_sock *sock, const char *message);

/* Whole message as text, or the name of the error; valid until the next call. */
const char *net_recv_flags(sennit_sock *sock, unsigned flags);
const char *net_recv(sennit_sock *sock);

/* Accepted messages are delivered, queued or in exactly one counter. Not for PUB,
 * which counts copies. */
void net_check_law(const sennit_sock *sock);

/* Raw peers: plain descriptors that speak as the test says. */
int raw_connect(const char *endpoint);
int raw_listen(char endpoint[64]);
int raw_accept(net *n, int listener);
void raw_write(net *n, int fd, const void *data, size_t size);

/* Reads exactly `size` bytes while the loop turns. */
void raw_read(net *n, int fd, void *data, size_t size);

/* Reads away everything until the other end closes or resets. */
void raw_until_closed(net *n, int fd);

/* Greeting and READY of a NULL peer; what the other end sends is read away. */
void raw_handshake(net *n, int fd, const char *type, const char *identity);
size_t raw_ready(uint8_t *out, const char *type, const char *identity);
extern const uint8_t raw_greeting[64];

/* Open descriptors of this process. */
unsigned open_descriptors(void);

#endif /* SENNIT_TEST_NET_H */
