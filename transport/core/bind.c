/* SPDX-License-Identifier: MIT */
/* Where a socket has its peers from: binds and connects, and their undoing. */
#include "core/sock.h"

#include <stdio.h>

#include "core/dialer.h"
#include "core/inproc.h"
#include "core/listener.h"

static void
set_last_endpoint(sennit_sock *sock, const char *endpoint)
{
    snprintf(sock->last_endpoint, sizeof sock->last_endpoint, "%s", endpoint);
}

/* Errors: ETERM. */
static sennit_err
admit(const sennit_sock *sock)
{
    return sni_loop_terminated(sock->loop) ? SENNIT_ETERM : SENNIT_OK;
}

/* As sni_endpoint_parse, for this socket. */
static sennit_err
parse_for(const sennit_sock *sock, const char *endpoint, bool listening,
          sni_endpoint *parsed, const char **why)
{
    sennit_err err = sni_endpoint_parse(endpoint, listening, parsed, why);

    if (err == SENNIT_OK && parsed->kind == SNI_ENDPOINT_INPROC &&
        sock->type == SENNIT_STREAM) {
        *why = "a STREAM has peers by tcp and ipc only";
        return SENNIT_ENOTSUP;
    }
    return err;
}

static sennit_err
bind_failed(sennit_sock *sock, const char *endpoint, sennit_err err, const char *why)
{
    (void)sni_loop_fail(sock->loop, err, why);
    sni_sock_event(sock, SENNIT_EVENT_BIND_FAILED, endpoint != NULL ? endpoint : "", 0,
                   err, sennit_loop_why(sock->loop), 0, sni_bytes(NULL, 0));
    return err;
}

static sennit_err
connect_failed(sennit_sock *sock, sennit_err err, const char *why)
{
    if (err == SENNIT_EPROTO)
        why = "the name is bound by a socket of a type that does not go with this one";
    else if (err == SENNIT_EEXIST)
        why = sock->type == SENNIT_PAIR ? "a PAIR has one peer at a time"
                                        : "a peer of that identity is there already";
    return sni_loop_fail(sock->loop, err, why);
}

static sennit_err
bind_to(sennit_sock *sock, const char *endpoint)
{
    sni_endpoint parsed;
    const char *why = NULL;
    sennit_err err = admit(sock);

    if (err == SENNIT_OK)
        err = parse_for(sock, endpoint, true, &parsed, &why);
    if (err == SENNIT_OK && parsed.kind == SNI_ENDPOINT_STREAM) {
        err = sni_listener_open(sock, &parsed.host, endpoint, &why);
    } else if (err == SENNIT_OK) {
        err = sni_inproc_bind(sock, parsed.name, &why);
        if (err == SENNIT_OK)
            set_last_endpoint(sock, endpoint);
    }
    return err ? bind_failed(sock, endpoint, err, why) : SENNIT_OK;
}

sennit_err
sennit_sock_bind(sennit_sock *sock, const char *endpoint)
{
    sennit_err err = sni_sock_enter(sock);

    return err ? err : sni_sock_leave(sock, bind_to(sock, endpoint));
}

static sennit_err
bind_fd(sennit_sock *sock, int fd)
{
    const char *why = NULL;
    sennit_err err = admit(sock);

    if (err == SENNIT_OK)
        err = sni_listener_adopt(sock, fd, &why);
    return err ? bind_failed(sock, NULL, err, why) : SENNIT_OK;
}

sennit_err
sennit_sock_bind_fd(sennit_sock *sock, int fd)
{
    sennit_err err = sni_sock_enter(sock);

    return err ? err : sni_sock_leave(sock, bind_fd(sock, fd));
}

static sni_dialer *
find_dialer(sennit_sock *sock, const char *endpoint)
{
    for (sni_link *link = sock->dialers.next; link != &sock->dialers; link = link->next) {
        sni_dialer *dialer = SNI_OWNER_OF(link, sni_dialer, link);

        if (!dialer->closing && strcmp(dialer->endpoint, endpoint) == 0)
            return dialer;
    }
    return NULL;
}

static bool
connects_once(sennit_sock_type type)
{
    return type == SENNIT_REQ || type == SENNIT_DEALER || type == SENNIT_PUB ||
           type == SENNIT_SUB;
}

static sennit_err
connect_to(sennit_sock *sock, const char *endpoint)
{
    sni_endpoint parsed;
    const char *why = NULL;
    sennit_err err = admit(sock);

    if (err == SENNIT_OK)
        err = parse_for(sock, endpoint, false, &parsed, &why);
    if (err)
        return sni_loop_fail(sock->loop, err, why);
    if (parsed.kind == SNI_ENDPOINT_INPROC) {
        if (!connects_once(sock->type) || !sni_inproc_connected(sock, parsed.name))
            err = sni_inproc_connect(sock, parsed.name, &why);
    } else if (!connects_once(sock->type) || find_dialer(sock, endpoint) == NULL) {
        err = sni_dialer_open(sock, &parsed, endpoint, &why);
    }
    if (err)
        return connect_failed(sock, err, why);
    set_last_endpoint(sock, endpoint);
    return SENNIT_OK;
}

sennit_err
sennit_sock_connect(sennit_sock *sock, const char *endpoint)
{
    sennit_err err = sni_sock_enter(sock);

    return err ? err : sni_sock_leave(sock, connect_to(sock, endpoint));
}

static sennit_err
connect_as(sennit_sock *sock, const char *endpoint, sennit_bytes identity)
{
    sennit_err err;

    if (sock->type != SENNIT_ROUTER && sock->type != SENNIT_STREAM)
        return sni_loop_fail(sock->loop, SENNIT_ENOTSUP,
                             "only ROUTER and STREAM know peers by an identity");
    if (identity.data == NULL && identity.size > 0)
        return sni_loop_fail(sock->loop, SENNIT_EINVAL,
                             "identity is of more than 0 octets, and its data NULL");
    if (identity.size == 0 || identity.size > SENNIT_IDENTITY_MAX)
        return sni_loop_fail(sock->loop, SENNIT_EINVAL,
                             "identity is not of 1 to 255 octets");
    sock->assigned = identity;
    err = connect_to(sock, endpoint);
    sock->assigned = sni_bytes(NULL, 0);
    return err;
}

sennit_err
sennit_sock_connect_as(sennit_sock *sock, const char *endpoint, sennit_bytes identity)
{
    sennit_err err = sni_sock_enter(sock);

    return err ? err : sni_sock_leave(sock, connect_as(sock, endpoint, identity));
}

static sennit_err
not_there(sennit_sock *sock, const char *why)
{
    return sni_loop_fail(sock->loop, SENNIT_ENOENT, why);
}

static sni_listener *
find_listener(sennit_sock *sock, const char *endpoint)
{
    for (sni_link *link = sock->listeners.next; link != &sock->listeners;
         link = link->next) {
        sni_listener *listener = SNI_OWNER_OF(link, sni_listener, link);

        if (!listener->closing && (strcmp(listener->endpoint, endpoint) == 0 ||
                                   strcmp(listener->requested, endpoint) == 0))
            return listener;
    }
    return NULL;
}

/* The name of an inproc endpoint. False: it is none. */
static bool
is_inproc(const char *endpoint, bool listening, sni_endpoint *parsed)
{
    const char *why;

    return sni_endpoint_parse(endpoint, listening, parsed, &why) == SENNIT_OK &&
           parsed->kind == SNI_ENDPOINT_INPROC;
}

static sennit_err
unbind_from(sennit_sock *sock, const char *endpoint)
{
    static const char why[] = "this socket has not bound that endpoint";
    sni_endpoint parsed;
    sni_listener *listener;
    sni_link *next;

    if (endpoint == NULL)
        return sni_loop_fail(sock->loop, SENNIT_EINVAL, "the endpoint is NULL");
    if (is_inproc(endpoint, true, &parsed)) {
        sennit_err err = sni_inproc_unbind(sock, parsed.name);

        return err ? not_there(sock, why) : SENNIT_OK;
    }
    listener = find_listener(sock, endpoint);
    if (listener == NULL)
        return not_there(sock, why);
    for (sni_link *link = sock->sessions.next; link != &sock->sessions; link = next) {
        sni_session *session = SNI_OWNER_OF(link, sni_session, link);

        next = link->next;
        if (session->listener == listener)
            sni_session_linger(session);
    }
    sni_listener_close(listener);
    return SENNIT_OK;
}

sennit_err
sennit_sock_unbind(sennit_sock *sock, const char *endpoint)
{
    sennit_err err = sni_sock_enter(sock);

    return err ? err : sni_sock_leave(sock, unbind_from(sock, endpoint));
}

static sennit_err
disconnect_from(sennit_sock *sock, const char *endpoint)
{
    static const char why[] = "this socket has not connected to that endpoint";
    sni_endpoint parsed;
    sni_dialer *dialer;

    if (endpoint == NULL)
        return sni_loop_fail(sock->loop, SENNIT_EINVAL, "the endpoint is NULL");
    if (is_inproc(endpoint, false, &parsed)) {
        sennit_err err = sni_inproc_disconnect(sock, parsed.name);

        return err ? not_there(sock, why) : SENNIT_OK;
    }
    dialer = find_dialer(sock, endpoint);
    if (dialer == NULL)
        return not_there(sock, why);
    sni_dialer_close(dialer);
    return SENNIT_OK;
}

sennit_err
sennit_sock_disconnect(sennit_sock *sock, const char *endpoint)
{
    sennit_err err = sni_sock_enter(sock);

    return err ? err : sni_sock_leave(sock, disconnect_from(sock, endpoint));
}
