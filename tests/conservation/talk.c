/* SPDX-License-Identifier: MIT */
#include "talk.h"

#include <stdio.h>
#include <string.h>

#include "wrong.h"

/* A frame leaves; false when the first one is refused. */
bool
talk_send_frame(story *s, actor *a, const void *data, size_t size, unsigned flags,
                bool first)
{
    sennit_err err = sennit_sock_send_bytes(a->sock, data, size, flags);

    if (err == SENNIT_OK)
        return true;
    if (first && (err == SENNIT_EAGAIN || err == SENNIT_EHOSTUNREACH ||
                  (err == SENNIT_EINTR && !(flags & SENNIT_DONTWAIT))))
        return false;
    wrong("step %u: socket %u (%s) could not send%s: %s", s->step, a->account,
          cast_type(a), first ? "" : " the rest of a message", sennit_err_name(err));
}

/* Whom a ROUTER writes to: who wrote last, any other by name, or nobody. */
static size_t
choose_peer(story *s, actor *a, test_rng *rng, uint8_t *name, uint32_t *addressee)
{
    actor *other = &s->actors[test_rng_below(rng, ACTORS)];

    *addressee = 0;
    if (a->from_size > 0 && test_rng_chance(rng, 40)) {
        memcpy(name, a->from, a->from_size);
        *addressee = a->from_account;
        return a->from_size;
    }
    for (unsigned i = 0; i < ACTORS; i++, other++) {
        if (other == s->actors + ACTORS)
            other = s->actors;
        if (other->kind != NULL && other != a && other->identity[0] != '\0') {
            *addressee = other->account;
            memcpy(name, other->identity, strlen(other->identity));
            return strlen(other->identity);
        }
    }
    memcpy(name, "nobody", 6);
    return 6;
}

static uint32_t
choose_size(test_rng *rng)
{
    unsigned dice = (unsigned)test_rng_below(rng, 100);
    uint32_t most = dice < 60 ? 64 : dice < 90 ? 400 : dice < 98 ? 5000 : BODY_MAX;

    return (uint32_t)sizeof(body_head) +
           (uint32_t)test_rng_below(rng, most - sizeof(body_head));
}

bool
talk_may_send(const actor *a)
{
    if (!a->kind->sends)
        return false;
    if (a->kind->type == SENNIT_REP)
        return a->owes;
    return !a->kind->turns || !a->awaits;
}

bool
talk_send(story *s, actor *a, test_rng *rng, unsigned flags, bool slowly)
{
    static uint8_t body[BODY_MAX];
    body_head head = { .magic = BODY_MAGIC, .sender = a->account };
    uint32_t addressee = 0;
    uint8_t name[256];
    size_t name_size = 0;
    bool first = true;
    bool refused = false;

    head.parts = test_rng_chance(rng, 70) ? 1 : (uint16_t)(1 + test_rng_below(rng, 4));
    head.last_is_empty = head.parts > 1 && test_rng_chance(rng, 20);
    memcpy(head.topic, "ab--", 4);
    head.topic[0] = (char)('a' + test_rng_below(rng, 2));
    head.topic[1] = (char)('a' + test_rng_below(rng, 2));
    head.to_sender = a->owes ? a->to_sender : 0;
    head.to_number = a->owes ? a->to_number : 0;
    if (a->kind->addresses)
        name_size = choose_peer(s, a, rng, name, &addressee);
    cast_read_events(s); /* sending may have let the loop see who is gone */
    head.number = ledger_compose(s->books, a->account, addressee, head.topic);
    if (a->kind->addresses) {
        refused = !talk_send_frame(s, a, name, name_size, flags | SENNIT_MORE, true);
        first = false;
    }
    if (!refused && a->kind->delimits && test_rng_chance(rng, 85)) {
        refused = !talk_send_frame(s, a, "", 0, flags | SENNIT_MORE, first);
        first = false;
    }
    for (uint16_t part = 0; part < head.parts && !refused; part++) {
        bool last = part + 1 == head.parts;

        head.part = part;
        head.size = choose_size(rng);
        body_fill(body, &head);
        refused = !talk_send_frame(s, a, body, last && head.last_is_empty ? 0 : head.size,
                                   flags | (last ? 0u : SENNIT_MORE), first);
        first = false;
        if (!refused && !last && slowly)
            cast_pass_time(s, test_rng_below(rng, 20 * MS));
    }
    cast_tell(s, "  %u (%s) %s message %u, %u parts, topic %.2s%s", a->account,
              cast_type(a), refused ? "could not send" : "sent", head.number, head.parts,
              head.topic, addressee != 0 ? ", addressed" : "");
    ledger_accepted(s->books, a->account, !refused);
    if (refused)
        return false;
    a->awaits = a->kind->type == SENNIT_REQ;
    a->asked = head.number;
    a->owes = false;
    return true;
}

bool
talk_may_receive(const actor *a)
{
    if (!a->kind->receives)
        return false;
    if (a->kind->type == SENNIT_REP)
        return !a->owes;
    return !a->kind->turns || a->awaits;
}

/* The next frame of a message whose first one is here. */
static void
recv_rest(story *s, actor *a, sennit_msg *msg)
{
    uint32_t peer = sennit_msg_peer(msg);
    sennit_err err;

    if (!sennit_msg_more(msg))
        wrong("step %u: socket %u (%s) received a message that ends too soon", s->step,
              a->account, cast_type(a));
    err = sennit_sock_recv(a->sock, msg, SENNIT_DONTWAIT);
    if (err)
        wrong("step %u: socket %u (%s) did not get the rest of a message: %s", s->step,
              a->account, cast_type(a), sennit_err_name(err));
    if (sennit_msg_peer(msg) != peer)
        wrong("step %u: socket %u (%s) received a message from peers %u and %u", s->step,
              a->account, cast_type(a), peer, sennit_msg_peer(msg));
}

/* Reads the parts of the body, the first of which is in `msg`. */
static void
recv_parts(story *s, actor *a, sennit_msg *msg, body_head *first)
{
    for (uint16_t part = 0;; part++) {
        body_head head;
        bool last;

        if (part > 0 && part + 1 == first->parts && first->last_is_empty) {
            if (sennit_msg_size(msg) > 0 || sennit_msg_more(msg))
                wrong(
                    "step %u: message %u of socket %u does not end with its empty frame",
                    s->step, first->number, first->sender);
            return;
        }
        if (!body_holds(sennit_msg_data(msg), sennit_msg_size(msg), &head))
            wrong("step %u: socket %u (%s) received a frame of %zu octets that nobody "
                  "sent",
                  s->step, a->account, cast_type(a), sennit_msg_size(msg));
        if (part == 0)
            *first = head;
        last = part + 1 == head.parts;
        if (head.sender != first->sender || head.number != first->number ||
            head.part != part || last == sennit_msg_more(msg))
            wrong("step %u: socket %u (%s) received part %u of message %u of socket %u "
                  "as part %u of message %u of socket %u, which has %u",
                  s->step, a->account, cast_type(a), head.part, head.number, head.sender,
                  part, first->number, first->sender, first->parts);
        if (last)
            return;
        recv_rest(s, a, msg);
    }
}

/* A ROUTER names who sent a message. */
static void
check_label(story *s, actor *a, const body_head *head)
{
    const char *name = s->names[head->sender];

    a->from_account = head->sender;
    if (name[0] != '\0' &&
        (a->from_size != strlen(name) || memcmp(a->from, name, a->from_size) != 0))
        wrong("step %u: socket %u (ROUTER) received a message of socket %u as one of "
              "'%.*s'",
              s->step, a->account, head->sender, (int)a->from_size,
              (const char *)a->from);
}

/* An XPUB is told of a topic that begins or ends. */
static void
check_notice(story *s, actor *a, sennit_msg *msg)
{
    const uint8_t *data = sennit_msg_data(msg);

    if (sennit_msg_size(msg) == 0 || data[0] > 1 || sennit_msg_more(msg))
        wrong("step %u: socket %u (XPUB) received what is no notice", s->step,
              a->account);
    cast_tell(s, "  %u (XPUB) is told of %s '%.*s'", a->account,
              data[0] ? "a topic" : "the end of", (int)(sennit_msg_size(msg) - 1),
              (const char *)data + 1);
    sennit_msg_fini(msg);
}

/* False when there is none. */
bool
talk_receive(story *s, actor *a, unsigned flags)
{
    body_head head = { .sender = 0 };
    uint32_t peer;
    sennit_msg msg;
    sennit_err err;

    sennit_msg_init(&msg);
    err = sennit_sock_recv(a->sock, &msg, flags);
    if (err == SENNIT_ECONNRESET && a->kind->type == SENNIT_REQ) {
        cast_tell(s, "  %u (REQ) hears that its request is lost", a->account);
        a->awaits = false;
        return false;
    }
    if (err == SENNIT_EAGAIN || (err == SENNIT_EINTR && !(flags & SENNIT_DONTWAIT)))
        return false;
    if (err)
        wrong("step %u: socket %u (%s) could not receive: %s", s->step, a->account,
              cast_type(a), sennit_err_name(err));
    peer = sennit_msg_peer(&msg);
    if (a->kind->noticed) {
        check_notice(s, a, &msg);
        return true;
    }
    if (a->kind->addresses) {
        a->from_size = sennit_msg_size(&msg);
        memcpy(a->from, sennit_msg_data(&msg), a->from_size);
        recv_rest(s, a, &msg);
    }
    if (a->kind->delimits && sennit_msg_size(&msg) == 0)
        recv_rest(s, a, &msg);
    recv_parts(s, a, &msg, &head);
    sennit_msg_fini(&msg);
    cast_tell(s, "  %u (%s) received message %u of %u from peer %u", a->account,
              cast_type(a), head.number, head.sender, peer);
    ledger_received(s->books, a->account, peer, &head);
    s->received++;
    if (a->kind->addresses)
        check_label(s, a, &head);
    if (a->kind->type == SENNIT_REQ) {
        a->awaits = false;
        if (ledger_kind(s->books, head.sender)->type == SENNIT_REP &&
            (head.to_sender != a->account || head.to_number != a->asked))
            wrong("step %u: socket %u asked %u and got the answer to %u of socket %u",
                  s->step, a->account, a->asked, head.to_number, head.to_sender);
    }
    if (a->kind->type == SENNIT_REP) {
        a->owes = true;
        a->to_sender = head.sender;
        a->to_number = head.number;
    }
    return true;
}

/* Receives what is there; a replier answers. True: it can read no more. */
bool
talk_drain(story *s, actor *a, test_rng *rng)
{
    for (;;) {
        if (a->kind->type == SENNIT_REP && a->owes)
            (void)talk_send(s, a, rng, SENNIT_DONTWAIT, false);
        if (!talk_may_receive(a))
            return false;
        if (!talk_receive(s, a, SENNIT_DONTWAIT))
            return talk_may_receive(a);
    }
}
