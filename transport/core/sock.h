/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CORE_SOCK_H
#define SENNIT_CORE_SOCK_H

#include "core/endpoint.h"
#include "core/events.h"
#include "core/loop.h"
#include "core/opts.h"
#include "core/pipe.h"
#include "core/watch.h"

/* What may wait in the queue of one of its stream pipes; SIZE_MAX: no limit. */
typedef struct sni_marks {
    size_t msgs;
    size_t bytes;
} sni_marks;

struct sennit_sock {
    sennit_loop *loop;
    sennit_sock_type type;
    sennit_sock_opts opts; /* what they point to is in ... */
    sni_opts_owned opts_owned;
    sni_marks marks; /* as the options are now */
    sni_pattern pattern;
    sennit_sock_stats stats;
    sni_events events;
    sni_link link; /* in the loop */
    sni_link touched;
    sni_link pipes;
    sni_link sessions;
    sni_link dialers;
    sni_link listeners;
    sni_chunk chunk; /* PUB: where publications are encoded, once */
    uint32_t next_number;
    sennit_bytes assigned;      /* what the peer of the next connect is to be known by */
    bool receiving;             /* in the middle of a message */
    bool closed;                /* by the application; freed when nothing of it is left */
    bool in_call;               /* its on_ready callback is running */
    sni_watch *watch;           /* its descriptor; NULL: nobody asked for one */
    struct sennit_proxy *proxy; /* whose socket it is until one of both ends */
    sni_link pollers;           /* their items of it; of a hosted loop: */
    sni_link taps;              /* ... what they hear of it */
    sni_link stale;             /* in the loop: that, or `watch`, may not be true */
    unsigned calls;             /* blocking calls that wait on it */
    uintptr_t sender;   /* of a hosted loop: the thread that is in the middle of */
    uintptr_t receiver; /* ... a message; 0: none is */
    sennit_sock_fn *on_ready;
    void *on_ready_arg;
    unsigned interest;
    char last_endpoint[SNI_ENDPOINT_TEXT_MAX];
};

/* Errors: ECLOSED. */
static inline sennit_err
sni_sock_open_still(const sennit_sock *sock)
{
    return sock->closed ? sni_loop_fail(sock->loop, SENNIT_ECLOSED,
                                        "the socket was closed while a call waited on it")
                        : SENNIT_OK;
}

/* Ends what sni_sock_enter() has begun; returns `err`. The socket may be gone after. */
static inline sennit_err
sni_sock_leave(const sennit_sock *sock, sennit_err err)
{
    sni_loop_leave(sock->loop);
    return err;
}

/* Whether a call may go on; on success it is inside until sni_sock_leave().
 * Errors: EINVAL (NULL), ETHREAD, ESTATE (inherited), ECLOSED. */
static inline sennit_err
sni_sock_enter(const sennit_sock *sock)
{
    sennit_err err = sock == NULL ? SENNIT_EINVAL : sni_loop_admit(sock->loop);

    if (err == SENNIT_OK && sock->closed)
        return sni_sock_leave(sock, sni_sock_open_still(sock));
    return err;
}

/* As sennit_sock_ready(), of what is here now. */
unsigned sni_sock_look(sennit_sock *sock);

/* Something about it changed that its callback, or who waits for it, may want to know. */
void sni_sock_changed(sennit_sock *sock);

/* The place of a new monitor event that has its kind, time and endpoint; NULL when
 * nobody wants it or there is no memory. Valid until the next event. */
sennit_event *sni_sock_new_event(sennit_sock *sock, sennit_event_kind kind,
                                 const char *endpoint);

/* The same with what most events have; `number` 0: no connection yet. */
void sni_sock_event(sennit_sock *sock, sennit_event_kind kind, const char *endpoint,
                    uint32_t number, sennit_err err, const char *reason,
                    uint32_t delay_ms, sennit_bytes identity);

/* How long a call has tried already. */
typedef struct sni_waiting {
    bool served;       /* without waiting: what happened meanwhile was looked at */
    sennit_time until; /* 0: it has not waited yet */
} sni_waiting;

/* A call found nothing to do. OK: it tries again. Errors: EAGAIN (it would have to
 * wait and must not, or the time is up), and those of the turn. */
sennit_err sni_sock_try_again(sennit_sock *sock, sni_waiting *wait, unsigned flags,
                              int timeout_ms);

/* Sends or takes one frame without waiting, and counts it. `msg` is taken, or was empty
 * and is filled. Errors: EAGAIN, and those of the policy, of which sni_sock_refused()
 * then says why. */
sennit_err sni_sock_push(sennit_sock *sock, sni_msg *msg, bool more);
sennit_err sni_sock_pull(sennit_sock *sock, sni_msg *msg);
sennit_err sni_sock_refused(sennit_sock *sock, sennit_err err, bool sending);

/* As sennit_sock_send() and sennit_sock_send_bytes(), inside. */
sennit_err sni_sock_send_frame(sennit_sock *sock, sennit_msg *msg, unsigned flags);
sennit_err sni_sock_send_bytes(sennit_sock *sock, const void *data, size_t size,
                               unsigned flags);

/* After a pull that said EAGAIN. */
void sni_sock_found_nothing(sennit_sock *sock);

/* Whole messages went through: tells who wants to know, and has what was sent leave in
 * its time. */
void sni_sock_sent(sennit_sock *sock);
void sni_sock_received(sennit_sock *sock);

/* Turns the loop until `*reached` is `count` or more. Errors: as of
 * sennit_sock_wait_connections(). */
sennit_err sni_sock_wait(sennit_sock *sock, const uint64_t *reached, uint64_t count,
                         int timeout_ms);

/* A socket of the proxy is being closed, which ends it. */
void sni_proxy_lost(struct sennit_proxy *proxy);

/* The socket of these items is being closed. */
void sni_poller_lost(sni_link *pollers);

/* Closes it, or hastens that: what is queued is dropped. */
void sni_sock_abandon(sennit_sock *sock);

/* Calls the application if there is something it asked for. */
void sni_sock_call(sennit_sock *sock);

/* Frees it if it is closed and nothing of it is left; true when it did. */
bool sni_sock_bury(sennit_sock *sock);

#endif /* SENNIT_CORE_SOCK_H */
