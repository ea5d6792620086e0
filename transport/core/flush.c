/* SPDX-License-Identifier: MIT */
/* What a send came to may change what others have to send, or end them. So nobody is
 * remembered meanwhile but those whose send is under way, which stay for that. */
#include "core/flush.h"

#include "core/session.h"

/* The next that has something, from `link` on; NULL: none. */
static sni_session *
next_dirty(sennit_loop *loop, sni_link *link, const sennit_sock *sock)
{
    for (; link != &loop->dirty; link = link->next) {
        sni_session *session = SNI_OWNER_OF(link, sni_session, dirty);

        if (sock == NULL || session->sock == sock)
            return session;
    }
    return NULL;
}

static void
flush_each(sennit_loop *loop, const sennit_sock *sock, bool fairly)
{
    sni_session *session;

    while ((session = next_dirty(loop, loop->dirty.next, sock)) != NULL) {
        if (fairly)
            sni_session_output(session);
        else
            sni_session_flush(session);
    }
}

static int
gather(sennit_loop *loop, const sennit_sock *sock, sni_op **sends)
{
    sni_link *link = loop->dirty.next;
    sni_session *session;
    int count = 0;

    while (count < (int)SNI_SENDS_TOGETHER &&
           (session = next_dirty(loop, link, sock)) != NULL) {
        link = session->dirty.next;
        if (sni_session_gather(session))
            sends[count++] = &session->send;
    }
    return count;
}

void
sni_flush(sennit_loop *loop, const sennit_sock *sock, bool fairly)
{
    const sni_io_ops *ops = loop->io->ops;
    sni_op *sends[SNI_SENDS_TOGETHER];
    int count;
    int done;

    if (ops->submit_sends == NULL) {
        flush_each(loop, sock, fairly);
        return;
    }
    while ((count = gather(loop, sock, sends)) > 0) {
        done = ops->submit_sends(loop->io, sends, count);
        for (int i = 0; i < count; i++)
            sni_session_gathered(sends[i]->owner, i < done, fairly);
    }
}
