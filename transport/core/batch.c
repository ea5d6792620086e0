/* SPDX-License-Identifier: MIT */
/* Many frames in one call: what a call costs is paid once, and what is sent leaves as one
 * batch. */
#include "core/sock.h"

#include "base/assert.h"
#include "base/limits.h"

/* ---- several messages ---------------------------------------------------- */

static sennit_err
wrong(sennit_sock *sock, const char *why)
{
    return sni_loop_fail(sock->loop, SENNIT_EINVAL, why);
}

static sennit_err
check(sennit_sock *sock, const sennit_msg *msgs, size_t count, unsigned flags,
      const size_t *done)
{
    if (msgs == NULL && count > 0)
        return wrong(sock, "msgs is NULL, and count is not 0");
    if (done == NULL)
        return wrong(sock, "there is no place for the number of frames");
    if ((flags & ~SENNIT_DONTWAIT) != 0)
        return wrong(sock, "flags has bits beside SENNIT_DONTWAIT, the only one here");
    return SENNIT_OK;
}

/* The call ends with `done` frames: an error that came behind them is for the next. */
static sennit_err
finish(size_t done, size_t *out, sennit_err err)
{
    if (done == 0 && err != SENNIT_OK)
        return err;
    *out = done;
    return SENNIT_OK;
}

static sennit_err
send_many(sennit_sock *sock, sennit_msg *msgs, size_t count, unsigned flags, size_t *sent)
{
    sni_waiting wait = { false, 0 };
    sennit_err err = check(sock, msgs, count, flags, sent);
    size_t done = 0;

    if (err)
        return err;
    if (count > 0 && sennit_msg_more(&msgs[count - 1]))
        return wrong(sock, "the last frame says that another one follows");
    while (done < count && err == SENNIT_OK) {
        sni_msg *msg = sni_msg_of(&msgs[done]);

        err = sni_sock_push(sock, msg, msg->more);
        if (err == SENNIT_OK)
            done++;
        else if (done == 0 && err == SENNIT_EAGAIN)
            err = sni_sock_try_again(sock, &wait, flags, sock->opts.send_timeout_ms);
        else if (done == 0)
            err = sni_sock_refused(sock, err, true);
    }
    if (done > 0)
        sni_sock_sent(sock);
    return finish(done, sent, err);
}

sennit_err
sennit_sock_send_many(sennit_sock *sock, sennit_msg *msgs, size_t count, unsigned flags,
                      size_t *sent)
{
    sennit_err err = sni_sock_enter(sock);

    return err ? err : sni_sock_leave(sock, send_many(sock, msgs, count, flags, sent));
}

static sennit_err
receive_many(sennit_sock *sock, sennit_msg *msgs, size_t count, unsigned flags,
             size_t *received)
{
    sni_waiting wait = { false, 0 };
    sennit_err err = check(sock, msgs, count, flags, received);
    size_t done = 0;
    sni_msg taken;

    sennit_msg_init(sni_msg_public(&taken));
    while (done < count && err == SENNIT_OK) {
        err = sni_sock_pull(sock, &taken);
        if (err == SENNIT_OK) {
            sennit_msg_fini(&msgs[done]);
            *sni_msg_of(&msgs[done++]) = taken;
            sni_loop_taken(sock->loop);
            sennit_msg_init(sni_msg_public(&taken));
        } else if (err != SENNIT_EAGAIN) {
            err = done > 0 ? err : sni_sock_refused(sock, err, false);
        } else {
            sni_sock_found_nothing(sock);
            if (done == 0)
                err = sni_sock_try_again(sock, &wait, flags, sock->opts.recv_timeout_ms);
        }
    }
    if (done > 0)
        sni_sock_received(sock);
    return finish(done, received, err);
}

sennit_err
sennit_sock_recv_many(sennit_sock *sock, sennit_msg *msgs, size_t count, unsigned flags,
                      size_t *received)
{
    sennit_err err = sni_sock_enter(sock);

    return err ? err
               : sni_sock_leave(sock, receive_many(sock, msgs, count, flags, received));
}

/* ---- one frame of several pieces ----------------------------------------- */

/* What the pieces make together; false: there is no such piece, or more than memory can
 * hold. */
static bool
measure(const sennit_bytes *parts, size_t count, size_t *size)
{
    *size = 0;
    for (size_t i = 0; i < count; i++) {
        if ((parts[i].data == NULL && parts[i].size > 0) || *size + parts[i].size < *size)
            return false;
        *size += parts[i].size;
    }
    return true;
}

static void
collect(uint8_t *to, const sennit_bytes *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (parts[i].size > 0)
            sni_body_copy(to, parts[i].data, parts[i].size);
        to += parts[i].size;
    }
}

static sennit_err
send_parts(sennit_sock *sock, const sennit_bytes *parts, size_t count, unsigned flags)
{
    uint8_t small[SNI_COPY_MAX_BYTES];
    size_t size;
    sennit_msg msg;
    sennit_err err;

    if ((parts == NULL && count > 0) || !measure(parts, count, &size))
        return wrong(sock, parts == NULL
                               ? "parts is NULL, and count is not 0"
                               : "a part is of more than 0 octets, and its data "
                                 "NULL, or all are too much for memory");
    if (size < sizeof small) {
        collect(small, parts, count);
        return sni_sock_send_bytes(sock, small, size, flags);
    }
    err = sni_msg_init_size(sni_msg_of(&msg), size, &sock->loop->bodies);
    if (err)
        return sni_loop_fail(sock->loop, err, NULL);
    collect(sennit_msg_data(&msg), parts, count);
    err = sni_sock_send_frame(sock, &msg, flags);
    sennit_msg_fini(&msg);
    return err;
}

sennit_err
sennit_sock_send_parts(sennit_sock *sock, const sennit_bytes *parts, size_t count,
                       unsigned flags)
{
    sennit_err err = sni_sock_enter(sock);

    return err ? err : sni_sock_leave(sock, send_parts(sock, parts, count, flags));
}
