/* SPDX-License-Identifier: MIT */
/* The context's lock guards its two lists, of names and of connects that wait, and
 * nothing else: what is in them belongs to the loop that put it there, and is not taken
 * out by another. A bind tells the loops of those who wait; each looks for itself, in
 * its own thread, and finds what there is then. */
#include "core/inproc.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/gather.h"
#include "base/limits.h"
#include "base/pause.h"
#include "core/couple.h"
#include "core/fresh.h"
#include "core/sock.h"
#include "wire/metadata.h"
#include "wire/socktype.h"

typedef struct inproc_name {
    sni_link link;
    sennit_sock *sock; /* for other loops: its type, its loop and that loop's inbox */
    char name[];
} inproc_name;

static void
lock(sennit_loop *loop)
{
    sni_lock_take(&loop->context->lock);
}

static void
unlock(sennit_loop *loop)
{
    sni_lock_release(&loop->context->lock);
}

/* Under the lock. */
static inproc_name *
find_name(sennit_loop *loop, const char *name)
{
    const sni_link *names = &loop->context->names;

    for (sni_link *link = names->next; link != names; link = link->next) {
        inproc_name *entry = SNI_OWNER_OF(link, inproc_name, link);

        if (strcmp(entry->name, name) == 0)
            return entry;
    }
    return NULL;
}

static void
tell(sennit_sock *sock, sennit_event_kind kind, const char *name, uint32_t number,
     sennit_err err, const char *reason, sennit_bytes identity)
{
    char endpoint[SNI_INPROC_NAME_MAX + 10] = "inproc://";

    memcpy(endpoint + 9, name, strlen(name) + 1);
    sni_sock_event(sock, kind, endpoint, number, err, reason, 0, identity);
}

void
sni_inproc_tell(sni_pipe *pipe, sennit_event_kind kind, sennit_err err,
                const char *reason)
{
    tell(pipe->sock, kind, pipe->inproc->name, pipe->peer.number, err, reason,
         sennit_msg_bytes(&pipe->peer.identity));
}

/* Of the name, whoever comes by it. */
static void
tell_name(sennit_sock *sock, sennit_event_kind kind, const char *name)
{
    tell(sock, kind, name, 0, SENNIT_OK, "", sni_bytes(NULL, 0));
}

static bool
goes_with(sennit_sock_type type, sennit_sock_type other)
{
    const char *name = sennit_sock_type_name(other);

    return sni_socktype_accepts(type, sni_bytes(name, strlen(name)));
}

/* What `sock` would say in READY. The peer may read it in another thread. */
static sni_block *
new_card(const sennit_sock *sock)
{
    const char *type = sennit_sock_type_name(sock->type);
    sennit_bytes properties = sock->opts_owned.metadata;
    sennit_bytes identity = sni_bytes(sock->opts.identity, sock->opts.identity_size);
    sni_property of_type = { sni_bytes("Socket-Type", 11),
                             sni_bytes(type, strlen(type)) };
    sni_property of_name = { sni_bytes("Identity", 8), { NULL, 0 } };
    sni_block *card;
    uint8_t *at;

    if (sni_socktype_has_identity(sock->type))
        of_name.value = identity;
    card = sni_block_new(sock->loop->context->alloc, sni_property_size(&of_type) +
                                                         sni_property_size(&of_name) +
                                                         properties.size);
    if (card == NULL)
        return NULL;
    at = card->data;
    at += sni_property_write(at, "Socket-Type", of_type.value);
    at += sni_property_write(at, "Identity", of_name.value);
    sni_bytes_put(at, properties);
    return card;
}

/* A pipe that says nothing to anybody when it is freed. */
static sennit_err
new_end(sni_pipe **out, sennit_loop *loop, sennit_sock *sock, const char *name)
{
    size_t size = strlen(name) + 1;
    sni_inproc *end = sni_acquire_zero(&loop->allocator, sizeof *end + size);
    sennit_err err;

    if (end == NULL)
        return SENNIT_ENOMEM;
    err = sni_pipe_new(out, loop, sock);
    if (err) {
        sni_release(&loop->allocator, end);
        return err;
    }
    end->pipe = *out;
    end->err = SENNIT_ECONNRESET;
    end->reason = "closed by peer";
    sni_link_init(&end->waiting);
    sni_link_init(&end->ending);
    sni_link_init(&end->drained);
    memcpy(end->name, name, size);
    (*out)->inproc = end;
    if (sock == NULL)
        return SENNIT_OK;
    (*out)->peer.number = ++sock->next_number;
    end->card = new_card(sock);
    if (end->card != NULL)
        return SENNIT_OK;
    sni_pipe_free(*out);
    return SENNIT_ENOMEM;
}

/* ---- within a loop ----------------------------------------------------- */

/* `pipe` hears that its mate is there. */
static sennit_err
meet(sni_pipe *pipe)
{
    const sennit_sock_opts *theirs = &pipe->inproc->mate->sock->opts;

    return sni_pattern_connected(&pipe->sock->pattern, &pipe->peer,
                                 sni_bytes(theirs->identity, theirs->identity_size));
}

static void
say_ready(sni_pipe *pipe)
{
    pipe->inproc->met = true;
    pipe->inproc->ready_at = sni_loop_now(pipe->loop);
    pipe->sock->stats.connections++;
    sni_inproc_tell(pipe, SENNIT_EVENT_READY, SENNIT_OK, "");
}

/* The far end becomes the binder's. Errors: ENOMEM. */
static sennit_err
settle_in(sennit_sock *binder, sni_pipe *far)
{
    sni_block_unref(far->inproc->card); /* of one that refused it */
    far->inproc->card = new_card(binder);
    if (far->inproc->card == NULL)
        return SENNIT_ENOMEM;
    far->sock = binder;
    far->peer.number = ++binder->next_number;
    far->peer.accepted = true;
    sni_list_push(&binder->pipes, &far->link);
    return SENNIT_OK;
}

/* What was sent before there was anybody, without our greetings. */
static uint64_t
waited(const sni_pipe *near)
{
    return near->inproc->mate->inq.msgs - near->inproc->greeted;
}

void
sni_inproc_count_delivered(sni_pipe *pipe, uint64_t msgs)
{
    pipe->counts.delivered_msgs += msgs;
    pipe->sock->stats.delivered_msgs += msgs;
}

void
sni_inproc_count_received(sni_pipe *pipe, const sni_msg *msg)
{
    pipe->counts.received_bytes += sni_msg_size_of(msg);
    pipe->counts.received_msgs += !msg->more;
}

/* Gives the far end to the binder and introduces both. */
static sennit_err
join(sennit_sock *binder, sni_pipe *near)
{
    sni_pipe *far = near->inproc->mate;
    uint64_t early = waited(near);
    sennit_err err;

    if (!goes_with(binder->type, near->sock->type))
        return SENNIT_EPROTO;
    err = settle_in(binder, far);
    if (err)
        return err;
    err = sni_pipe_attach(far);
    if (err == SENNIT_OK)
        err = meet(far);
    if (err == SENNIT_OK)
        err = meet(near);
    if (err) {
        /* Not even for a moment: nobody was told of this connection. */
        if (far->peer.connected)
            sni_pattern_disconnected(&binder->pattern, &far->peer, true);
        if (far->attached)
            sni_pattern_detach(&binder->pattern, &far->peer);
        far->attached = false;
        sni_link_remove(&far->link);
        far->sock = NULL;
        /* Nor is it to be greeted by it. */
        sni_msgq_fini(&near->inq);
        far->inproc->greeted = 0;
        return err;
    }
    if (near->inproc->couple != NULL)
        sni_couple_leave(near);
    sni_inproc_count_delivered(near, early);
    say_ready(far);
    say_ready(near);
    sni_inproc_arrived(far);
    sni_inproc_arrived(near);
    sni_pipe_update_writable(near);
    sni_pipe_update_writable(far);
    return SENNIT_OK;
}

static void hear_the_rest(sni_pipe *pipe);

/* The other end takes no more and reads what it has. */
static void
part_mate(sni_pipe *pipe)
{
    sni_pipe *mate = pipe->inproc->mate;

    pipe->inproc->mate = NULL;
    mate->inproc->mate = NULL;
    sni_msgq_rollback(&pipe->inq);
    sni_msgq_rollback(&mate->inq);
    if (mate->sock != NULL) {
        hear_the_rest(mate);
        sni_pipe_retire(mate);
    }
}

/* A connect that waits: what it has sent is lost, and its place with it. */
static void
give_up_place(sni_pipe *near)
{
    sni_pipe *far = near->inproc->mate;

    lock(near->loop);
    sni_link_remove(&near->inproc->waiting);
    unlock(near->loop);
    if (far == NULL)
        return;
    sni_pipe_count_disconnect(near, waited(near));
    near->inproc->mate = NULL;
    far->inproc->mate = NULL;
    sni_pipe_free(far);
}

/* Ends it from this side. */
static void
part(sni_pipe *pipe, sennit_err err, const char *reason)
{
    sni_inproc *end = pipe->inproc;

    if (end->connecter && !end->met)
        give_up_place(pipe);
    if (end->couple != NULL)
        sni_couple_part(pipe, err, reason);
    else if (end->mate != NULL)
        part_mate(pipe);
}

/* ---- asking and accepting ---------------------------------------------- */

/* Nobody was told of the connection yet. */
static void
fail(sni_pipe *near, sennit_err err, const char *reason)
{
    near->sock->stats.handshakes_failed++;
    sni_inproc_tell(near, SENNIT_EVENT_HANDSHAKE_FAILED, err, reason);
    part(near, err, reason);
    sni_pipe_retire(near);
}

/* Whether the message being sent is still without its end. */
static bool
in_the_middle(const sni_pipe *near)
{
    const sni_pipe *far = near->inproc->mate;

    return far != NULL && far->inq.count > far->inq.readable;
}

/* What it has waited with goes over to the couple. */
static void
ask(sni_pipe *near, sni_inbox *inbox)
{
    sni_pipe *far = near->inproc->mate;

    sni_couple_ask(near->inproc->couple, inbox, far != NULL ? &far->inq : NULL);
    near->inproc->mate = NULL;
    if (far == NULL)
        return;
    far->inproc->mate = NULL;
    sni_pipe_free(far);
}

/* Goes to whoever has bound the name, else waits for somebody to. A couple that has been
 * asked for already stays one, even if now the binder is in this loop.
 * Errors: as sni_inproc_connect. */
static sennit_err
seek(sni_pipe *near)
{
    sni_inproc *end = near->inproc;
    sennit_loop *loop = near->loop;
    sennit_err err = SENNIT_OK;
    sennit_sock *binder = NULL;
    inproc_name *entry;
    bool direct;

    lock(loop);
    entry = find_name(loop, end->name);
    direct = entry != NULL && entry->sock->loop == loop && end->mate != NULL;
    /* Half a message cannot be handed over. */
    end->due = entry != NULL && !direct && in_the_middle(near);
    if (entry == NULL || end->due) {
        if (!sni_link_linked(&end->waiting))
            sni_list_push(&loop->context->waiting, &end->waiting);
    } else {
        sni_link_remove(&end->waiting);
        if (!goes_with(entry->sock->type, near->sock->type))
            err = SENNIT_EPROTO;
        else if (direct)
            binder = entry->sock;
        else
            ask(near, entry->sock->loop->inbox);
    }
    unlock(loop);
    return binder != NULL ? join(binder, near) : err;
}

/* Whether it has sent something whole that nobody has yet. */
static bool
has_waited(const sni_pipe *near)
{
    return near->inproc->mate != NULL ? waited(near) > 0 : near->inproc->early_msgs > 0;
}

/* Drops what was sent of a message without its end. */
static void
drop_begun(sni_pipe *near)
{
    if (near->inproc->mate != NULL)
        sni_msgq_rollback(&near->inproc->mate->inq);
    else if (near->inproc->couple != NULL)
        sni_couple_rollback(near);
}

/* It is to end: whether a binder in another loop was asked for what it has sent, or could
 * be even now. Nobody keeps what waits for a name that may never be bound. */
static bool
asks_at_last(sni_pipe *near)
{
    const sni_inproc *end = near->inproc;

    if (!end->connecter || end->met || end->parted || end->couple == NULL ||
        !has_waited(near) || near->sock->opts.linger_ms == 0)
        return false;
    drop_begun(near);
    /* Somebody may have bound the name since this loop has looked. One of this loop would
     * have met it at once. */
    if (sni_couple_stage(end->couple) == SNI_ALONE && seek(near) != SENNIT_OK)
        return false;
    return sni_couple_stage(end->couple) != SNI_ALONE && !sni_couple_ended(end->couple);
}

/* Its application has closed it: what it has sent is left to the binder, who takes it
 * when it looks. Nobody waits for that. */
static void
bequeath(sni_pipe *near)
{
    sni_couple *couple = near->inproc->couple;

    if (asks_at_last(near) && !sni_couple_advance(couple, SNI_ASKED, SNI_MET))
        (void)sni_couple_advance(couple, SNI_ACCEPTED, SNI_MET);
}

static void
seek_again(sni_pipe *near)
{
    sennit_err err = seek(near);

    if (err)
        fail(near, err, "the bound socket refused the peer");
    else if (near->inproc->goes && sni_couple_stage(near->inproc->couple) == SNI_ALONE)
        fail(near, SENNIT_ECONNREFUSED, "nobody has bound the name any more");
}

/* The binder's pipe of a couple. */
static sennit_err
take_in(sennit_sock *sock, sni_couple *couple, sni_pipe **out)
{
    const sni_half *other = &couple->halves[SNI_CONNECTER];
    sni_pipe *pipe;
    sennit_err err;

    if (!goes_with(sock->type, other->type))
        return SENNIT_EPROTO;
    err = new_end(&pipe, sock->loop, sock, couple->name);
    if (err)
        return err;
    sni_couple_enter(couple, pipe);
    pipe->peer.accepted = true;
    err = sni_pipe_attach(pipe);
    if (err == SENNIT_OK)
        err = sni_pattern_connected(&sock->pattern, &pipe->peer,
                                    sni_bytes(other->identity, other->identity_size));
    if (err) {
        sni_couple_leave(pipe);
        sni_pipe_free(pipe);
        return err;
    }
    *out = pipe;
    return SENNIT_OK;
}

static sennit_sock *
bound_here(sennit_loop *loop, const char *name)
{
    const inproc_name *entry;
    sennit_sock *sock = NULL;

    lock(loop);
    entry = find_name(loop, name);
    if (entry != NULL && entry->sock->loop == loop)
        sock = entry->sock;
    unlock(loop);
    return sock;
}

/* The connecter has gone, and has no more ear for what becomes of what it has left: so it
 * is told and counted here. */
static void
turn_away(sennit_sock *sock, sni_couple *couple)
{
    sni_half *half = &couple->halves[SNI_BINDER];

    sock->stats.dropped_unread_msgs += half->early.msgs + sni_channel_look(&half->in);
    sock->stats.handshakes_failed++;
    tell(sock, SENNIT_EVENT_HANDSHAKE_FAILED, couple->name, 0, half->err,
         "the bound socket refused the peer", sni_bytes(NULL, 0));
}

/* Another loop asks for a name of this one. Gives: the pipe, if they have met already. */
static sni_pipe *
accept(sennit_loop *loop, sni_couple *couple)
{
    sennit_sock *sock = bound_here(loop, couple->name);
    sni_pipe *pipe;
    sennit_err err;

    if (sock == NULL) {
        /* Not any more: it may be bound elsewhere, or again. */
        if (sni_couple_advance(couple, SNI_ASKED, SNI_ALONE))
            sni_couple_ring(couple, SNI_CONNECTER);
        return NULL;
    }
    err = take_in(sock, couple, &pipe);
    if (err) {
        if (!sni_couple_refuse(couple, err))
            turn_away(sock, couple);
        return NULL;
    }
    if (sni_couple_advance(couple, SNI_ASKED, SNI_ACCEPTED)) {
        sni_couple_ring(couple, SNI_CONNECTER);
        return NULL;
    }
    if (sni_couple_stage(couple) == SNI_MET) {
        sni_couple_met(pipe);
        return pipe;
    }
    /* It was given up meanwhile. */
    sni_couple_leave(pipe);
    sni_pipe_free(pipe);
    return NULL;
}

/* The connecter has gone before it was answered, and left what it had sent. Gives: as
 * accept(). */
static sni_pipe *
inherit(sennit_loop *loop, sni_couple *couple)
{
    sennit_sock *sock = bound_here(loop, couple->name);
    sni_half *half = &couple->halves[SNI_BINDER];
    sni_pipe *pipe;

    if (sock == NULL)
        return NULL;
    half->err = take_in(sock, couple, &pipe);
    if (half->err) {
        turn_away(sock, couple);
        return NULL;
    }
    sni_couple_met(pipe);
    return pipe;
}

/* The binder has accepted. */
static void
meet_couple(sni_pipe *near)
{
    sni_couple *couple = near->inproc->couple;
    const sni_half *other = &couple->halves[SNI_BINDER];
    sennit_err err =
        sni_pattern_connected(&near->sock->pattern, &near->peer,
                              sni_bytes(other->identity, other->identity_size));

    if (err) {
        fail(near, err, "the connecting socket refused the peer");
    } else if (sni_couple_advance(couple, SNI_ACCEPTED, SNI_MET)) {
        sni_couple_met(near);
        sni_couple_ring(couple, SNI_BINDER);
        if (near->inproc->goes)
            sni_inproc_end(near, SENNIT_ECONNRESET, "closed by peer");
    } else {
        /* The binder went away in between: nobody was told. */
        sni_pattern_disconnected(&near->sock->pattern, &near->peer, true);
    }
}

/* The other half has ended it. */
static void
over(sni_pipe *pipe)
{
    sni_inproc *end = pipe->inproc;
    const sni_half *other = end->theirs;

    if (end->connecter && !end->met) {
        fail(pipe, other->err, other->reason);
        return;
    }
    end->err = other->err;
    end->reason = other->reason;
    sni_couple_part(pipe, SENNIT_OK, "");
    hear_the_rest(pipe);
    sni_pipe_retire(pipe);
}

/* A note of that half came: what is there to do? */
static void
look(sennit_loop *loop, sni_couple *couple, unsigned side)
{
    /* In this order: once it has ended the stage is its last. What changes after a look
     * comes with another note. */
    bool ended = sni_couple_ended(couple);
    sni_stage stage = sni_couple_stage(couple);
    sni_pipe *pipe = couple->halves[side].pipe;

    if (pipe == NULL) {
        /* A couple that was given back is another loop's by now: what is in it then is
         * not ours to read. */
        if (side == SNI_BINDER && stage == SNI_ASKED && !ended)
            pipe = accept(loop, couple);
        else if (side == SNI_BINDER && stage == SNI_MET &&
                 couple->halves[SNI_BINDER].card == NULL &&
                 couple->halves[SNI_BINDER].err == SENNIT_OK)
            pipe = inherit(loop, couple);
        if (pipe == NULL)
            return;
        ended = sni_couple_ended(couple);
    }
    if (pipe->inproc->parted)
        return;
    if (side == SNI_CONNECTER && stage == SNI_ALONE && !ended)
        seek_again(pipe);
    else if (side == SNI_CONNECTER && stage == SNI_ACCEPTED && !ended)
        meet_couple(pipe);
    else if (stage == SNI_MET && !pipe->inproc->met)
        sni_couple_met(pipe);
    else if (pipe->inproc->met)
        sni_couple_look(pipe);
    /* Not before it has heard what the other one said last. */
    if (ended && !pipe->inproc->behind)
        over(pipe);
}

void
sni_inproc_look(sennit_loop *loop, sni_note *note)
{
    sni_half *half = SNI_OWNER_OF(note, sni_half, note);
    sni_couple *couple = half->couple;

    look(loop, couple, half == &couple->halves[SNI_BINDER]);
    sni_couple_unref(couple);
}

bool
sni_inproc_bury(sennit_loop *loop)
{
    bool any = !sni_list_empty(&loop->ending_inproc);
    sni_link *link;

    while ((link = sni_list_first(&loop->ending_inproc)) != NULL) {
        sni_inproc *end = SNI_OWNER_OF(link, sni_inproc, ending);

        sni_link_remove(link);
        part(end->pipe, end->err ? end->err : SENNIT_ECONNRESET, end->reason);
        sni_pipe_retire(end->pipe);
    }
    return any;
}

/* ---- endpoints --------------------------------------------------------- */

const char *
sni_inproc_refuses(const sennit_loop *loop, const sennit_sock_opts *opts)
{
    if (opts->send_age_max_ms > 0)
        return "send_age_max_ms is not built for inproc: use tcp or ipc";
    /* What another thread has been handed cannot be taken back. */
    if (loop->inbox == NULL)
        return NULL;
    if (opts->conflate)
        return "conflate is not built for inproc between loops: "
               "use tcp, ipc, or a loop without a context";
    if (opts->slow_subscriber == SENNIT_SLOW_DROP_OLD ||
        opts->slow_subscriber == SENNIT_SLOW_CONFLATE)
        return "slow_subscriber: DROP_OLD and CONFLATE are not built for inproc between "
               "loops: use tcp, ipc, or a loop without a context";
    return NULL;
}

static sennit_err
check_opts(const sennit_sock *sock, const char **why)
{
    *why = sni_inproc_refuses(sock->loop, &sock->opts);
    return *why == NULL ? SENNIT_OK : SENNIT_ENOTSUP;
}

bool
sni_inproc_used(const sennit_sock *sock)
{
    const sni_link *names = &sock->loop->context->names;
    bool used = false;

    for (const sni_link *link = sock->pipes.next; link != &sock->pipes;
         link = link->next) {
        if (SNI_CONST_OWNER_OF(link, sni_pipe, link)->inproc != NULL)
            return true;
    }
    lock(sock->loop);
    for (const sni_link *link = names->next; link != names && !used; link = link->next)
        used = SNI_CONST_OWNER_OF(link, inproc_name, link)->sock == sock;
    unlock(sock->loop);
    return used;
}

/* Tells those who wait for the name; those of this loop are moved to `mine`. */
static void
call_waiting(sennit_loop *loop, const char *name, sni_link *mine)
{
    sni_link *waiting = &loop->context->waiting;
    sni_link *next;

    for (sni_link *link = waiting->next; link != waiting; link = next) {
        sni_inproc *end = SNI_OWNER_OF(link, sni_inproc, waiting);

        next = link->next;
        if (strcmp(end->name, name) != 0)
            continue;
        if (end->pipe->loop != loop) {
            sni_couple_ring(end->couple, SNI_CONNECTER);
        } else {
            sni_link_remove(link);
            sni_list_push(mine, link);
        }
    }
}

sennit_err
sni_inproc_bind(sennit_sock *sock, const char *name, const char **why)
{
    sennit_loop *loop = sock->loop;
    size_t size = strlen(name) + 1;
    sennit_err err = check_opts(sock, why);
    inproc_name *entry;
    sni_link mine;
    sni_link *link;
    bool taken;

    if (err)
        return err;
    entry = sni_acquire(&loop->allocator, sizeof *entry + size);
    if (entry == NULL)
        return SENNIT_ENOMEM;
    entry->sock = sock;
    memcpy(entry->name, name, size);
    sni_link_init(&entry->link);
    sni_link_init(&mine);
    lock(loop);
    taken = find_name(loop, name) != NULL;
    if (!taken) {
        sni_list_push(&loop->context->names, &entry->link);
        call_waiting(loop, name, &mine);
    }
    unlock(loop);
    if (taken) {
        sni_release(&loop->allocator, entry);
        return SENNIT_EADDRINUSE;
    }
    tell_name(sock, SENNIT_EVENT_LISTENING, name);
    while ((link = sni_list_first(&mine)) != NULL) {
        sni_link_remove(link);
        seek_again(SNI_OWNER_OF(link, sni_inproc, waiting)->pipe);
    }
    return SENNIT_OK;
}

/* A pipe and its place until somebody binds, and a couple if that may be in another
 * loop. */
static sennit_err
new_near(sni_pipe **out, sennit_sock *sock, const char *name)
{
    sennit_loop *loop = sock->loop;
    sni_couple *couple;
    sni_pipe *near;
    sni_pipe *far;
    sennit_err err = new_end(&near, loop, sock, name);

    if (err)
        return err;
    near->inproc->connecter = true;
    err = new_end(&far, loop, NULL, name);
    if (err)
        goto fail_near;
    /* It may be handed over, to be freed in another thread. */
    sni_msgq_init(&far->inq, loop->context->alloc);
    near->inproc->mate = far;
    far->inproc->mate = near;
    if (loop->inbox != NULL)
        err = sni_couple_new(&couple, near, name);
    if (err)
        goto fail_near;
    *out = near;
    return SENNIT_OK;

fail_near:
    sni_pipe_free(near);
    return err;
}

sennit_err
sni_inproc_connect(sennit_sock *sock, const char *name, const char **why)
{
    sennit_err err = check_opts(sock, why);
    sni_pipe *near;

    if (err == SENNIT_OK)
        err = new_near(&near, sock, name);
    if (err)
        return err;
    err = sni_pipe_attach(near);
    if (err == SENNIT_OK)
        err = seek(near);
    if (err)
        sni_pipe_free(near);
    return err;
}

bool
sni_inproc_connected(const sennit_sock *sock, const char *name)
{
    for (const sni_link *link = sock->pipes.next; link != &sock->pipes;
         link = link->next) {
        const sni_pipe *pipe = SNI_CONST_OWNER_OF(link, sni_pipe, link);

        if (pipe->inproc != NULL && pipe->inproc->connecter && !pipe->retired &&
            !pipe->inproc->goes && strcmp(pipe->inproc->name, name) == 0)
            return true;
    }
    return false;
}

/* Ends it. What a binder has been asked for goes first. */
static void
cut_one(sni_pipe *pipe)
{
    if (asks_at_last(pipe)) {
        pipe->inproc->goes = true;
        sni_pipe_leave(pipe);
        return;
    }
    part(pipe, SENNIT_ECONNRESET, "closed by peer");
    sni_pipe_retire(pipe);
}

/* Cuts the pipes of `sock` at one side of a name. */
static bool
cut(sennit_sock *sock, const char *name, bool connecter)
{
    bool any = false;
    sni_link *next;

    for (sni_link *link = sock->pipes.next; link != &sock->pipes; link = next) {
        sni_pipe *pipe = SNI_OWNER_OF(link, sni_pipe, link);

        next = link->next;
        if (pipe->inproc == NULL || pipe->retired || pipe->inproc->goes ||
            pipe->inproc->connecter != connecter || strcmp(pipe->inproc->name, name) != 0)
            continue;
        any = true;
        cut_one(pipe);
    }
    return any;
}

/* Gives up one name of the socket, or all (NULL); false: it had none. */
static bool
unname(sennit_sock *sock, const char *name)
{
    sni_link *names = &sock->loop->context->names;
    bool any = false;
    sni_link *next;

    lock(sock->loop);
    for (sni_link *link = names->next; link != names; link = next) {
        inproc_name *entry = SNI_OWNER_OF(link, inproc_name, link);

        next = link->next;
        if (entry->sock != sock || (name != NULL && strcmp(entry->name, name) != 0))
            continue;
        sni_link_remove(link);
        sni_release(&sock->loop->allocator, entry);
        any = true;
    }
    unlock(sock->loop);
    return any;
}

sennit_err
sni_inproc_unbind(sennit_sock *sock, const char *name)
{
    if (!unname(sock, name))
        return SENNIT_ENOENT;
    tell_name(sock, SENNIT_EVENT_UNBOUND, name);
    (void)cut(sock, name, false);
    return SENNIT_OK;
}

sennit_err
sni_inproc_disconnect(sennit_sock *sock, const char *name)
{
    return cut(sock, name, true) ? SENNIT_OK : SENNIT_ENOENT;
}

void
sni_inproc_forget(sennit_sock *sock)
{
    (void)unname(sock, NULL);
}

/* ---- for pipes --------------------------------------------------------- */

static bool
is_control(const sni_msg *msg)
{
    return msg->peer == SNI_FRAME_SUBSCRIBE || msg->peer == SNI_FRAME_CANCEL;
}

static sennit_err
next_frame(sni_pipe *pipe, sni_msg *msg)
{
    sni_pipe *mate = pipe->inproc->mate;

    if (!sni_msgq_pop(&pipe->inq, msg))
        return SENNIT_EAGAIN;
    if (is_control(msg)) {
        pipe->inproc->control_msgs--;
        pipe->inproc->control_bytes -= sni_msg_size_of(msg);
    }
    if (!msg->more && mate != NULL && mate->inproc->met)
        sni_pipe_update_writable(mate);
    return SENNIT_OK;
}

/* Nothing more will come. */
static bool
is_alone(const sni_pipe *pipe)
{
    const sni_inproc *end = pipe->inproc;

    return end->mate == NULL && (end->couple == NULL || end->parted);
}

bool
sni_inproc_hears(const sni_pipe *pipe)
{
    return (!pipe->peer.paused || is_alone(pipe)) &&
           !sni_link_linked(&pipe->inproc->ending);
}

sennit_err
sni_inproc_hear(sni_pipe *pipe, sennit_err (*next)(sni_pipe *pipe, sni_msg *msg))
{
    sni_pattern *pattern = &pipe->sock->pattern;
    sennit_err err = SENNIT_OK;

    while (err == SENNIT_OK && sni_inproc_hears(pipe)) {
        sni_msg msg;
        uint32_t kind;

        sennit_msg_init(sni_msg_public(&msg));
        err = next(pipe, &msg);
        if (err)
            break;
        kind = msg.peer;
        msg.peer = pipe->peer.number;
        if (kind == SNI_FRAME_DATA || kind == SNI_FRAME_GREETING)
            err = pattern->ops->take(pattern, &pipe->peer, &msg);
        else
            err = sni_pattern_subscription(pattern, &pipe->peer,
                                           kind == SNI_FRAME_SUBSCRIBE,
                                           sennit_msg_bytes(sni_msg_public(&msg)));
        sennit_msg_fini(sni_msg_public(&msg));
    }
    return err == SENNIT_EAGAIN ? SENNIT_OK : err;
}

/* The peer of a publisher has gone, and nobody would come for what it has sent: marks or
 * not, it is heard now. */
static void
hear_the_rest(sni_pipe *pipe)
{
    sennit_err err;

    if (pipe->sock->pattern.ops->take == NULL || !pipe->peer.connected ||
        pipe->sock->closed)
        return;
    err = sni_inproc_hear(pipe,
                          pipe->inproc->couple != NULL ? sni_couple_next : next_frame);
    if (err == SENNIT_OK)
        return;
    /* The end is told with this, rather than with what the other one said. */
    pipe->inproc->err = err;
    pipe->inproc->reason = "no memory for what the peer had sent";
}

/* What a publisher has not heard by then is never read. */
static void
forget_the_rest(sni_pipe *pipe)
{
    if (pipe->sock->pattern.ops->take == NULL)
        return;
    sni_msgq_fini(&pipe->inq);
    pipe->inproc->control_msgs = 0;
    pipe->inproc->control_bytes = 0;
    if (pipe->inproc->couple != NULL)
        sni_couple_discard(pipe);
}

/* Whether the application is in the middle of a message from it. */
static bool
is_reading(const sni_pipe *pipe)
{
    return pipe->sock != NULL && pipe->sock->pattern.reading == &pipe->peer;
}

/* The mate has put whole messages into the inq. */
void
sni_inproc_arrived(sni_pipe *pipe)
{
    sennit_err err;

    if (pipe->sock->pattern.ops->take != NULL) {
        err = sni_inproc_hear(pipe, next_frame);
        if (err)
            sni_inproc_end(pipe, err, "no memory for a subscription");
    } else if (pipe->sock->opts.conflate && !is_reading(pipe)) {
        sni_fresh_input(pipe);
    }
    sni_pipe_update_unread(pipe);
}

/* Greetings and subscriptions are not for us to take back. */
static size_t
skip_fixed(const sni_msgq *queue, size_t at)
{
    while (at < queue->readable && sni_msgq_at(queue, at)->peer != SNI_FRAME_DATA)
        at++;
    return at;
}

/* The first message in the inq of which nothing is read. */
static size_t
first_loose(const sni_pipe *pipe)
{
    const sni_msgq *queue = &pipe->inq;
    size_t at = 0;

    if (queue->readable > 0 && is_reading(pipe))
        at = sni_msgq_behind(queue, 0);
    return skip_fixed(queue, at);
}

static bool
begins_with(const sni_msgq *queue, size_t at, sennit_bytes topic)
{
    const sni_msg *first = sni_msgq_at(queue, at);

    return sni_bytes_equal(sennit_msg_bytes((const sennit_msg *)(const void *)first),
                           topic);
}

bool
sni_inproc_take_back(sni_pipe *pipe, const sennit_bytes *topic)
{
    sni_pipe *mate = pipe->inproc->mate;
    sni_msgq *queue;
    size_t at;

    if (mate == NULL)
        return false;
    queue = &mate->inq;
    at = first_loose(mate);
    while (topic != NULL && at < queue->readable && !begins_with(queue, at, *topic))
        at = skip_fixed(queue, sni_msgq_behind(queue, at));
    if (at >= queue->readable)
        return false;
    sni_msgq_drop(queue, at);
    if (!pipe->inproc->met)
        return true;
    pipe->counts.delivered_msgs--;
    pipe->sock->stats.delivered_msgs--;
    sni_pipe_update_unread(mate);
    if (mate->peer.unread == 0)
        sni_link_remove(&mate->peer.in);
    return true;
}

/* conflate: of what the peer has not begun to read. */
static void
keep_newest(sni_pipe *pipe)
{
    const sni_pipe *mate = pipe->inproc->mate;
    size_t at = first_loose(mate);

    while (at < mate->inq.readable &&
           skip_fixed(&mate->inq, sni_msgq_behind(&mate->inq, at)) < mate->inq.readable &&
           sni_inproc_take_back(pipe, NULL)) {
        pipe->counts.conflated_out_msgs++;
        pipe->sock->stats.dropped_conflated_msgs++;
    }
}

static sennit_err
push_mate(sni_pipe *pipe, sni_msg *msg, bool more)
{
    sni_pipe *mate = pipe->inproc->mate;
    sennit_err err = sni_msgq_push(&mate->inq, msg, more);

    if (err || more)
        return err;
    if (pipe->inproc->met)
        sni_inproc_count_delivered(pipe, 1);
    if (pipe->sock->opts.conflate)
        keep_newest(pipe);
    if (pipe->inproc->met)
        sni_inproc_arrived(mate);
    sni_pipe_update_writable(pipe);
    /* Not here and now: the pattern is in the middle of it. */
    if (pipe->inproc->due)
        sni_couple_ring(pipe->inproc->couple, SNI_CONNECTER);
    return SENNIT_OK;
}

/* Whether the peer has read all it was sent. */
static bool
is_drained(const sni_pipe *pipe)
{
    const sni_inproc *end = pipe->inproc;

    return end->mate != NULL ? end->mate->inq.count == 0 : sni_couple_drained(pipe);
}

/* It may go to another thread. */
static sennit_err
own(sni_pipe *pipe, sni_msg *msg)
{
    sennit_err err = sni_msg_own(msg, &pipe->loop->bodies);

    if (err == SENNIT_OK)
        sni_msg_flatten(msg);
    return err;
}

sennit_err
sni_inproc_push(sni_pipe *pipe, sni_msg *msg, bool more)
{
    sni_inproc *end = pipe->inproc;
    size_t size;
    sennit_err err;

    /* One that goes may be in the middle of a publication: the rest follows what was
     * dropped of it. */
    if (end->goes || (end->mate == NULL && (end->couple == NULL || end->parted))) {
        sennit_msg_fini(sni_msg_public(msg));
        sni_pipe_count_disconnect(pipe, !more);
        return SENNIT_OK;
    }
    size = sni_msg_size_of(msg);
    /* A channel copies a small body from wherever it is. */
    if (end->mate != NULL || size > SNI_CHANNEL_COPY_MAX) {
        err = own(pipe, msg);
        if (err)
            return err;
    }
    if (pipe->peer.slow && is_drained(pipe))
        pipe->peer.slow = false;
    msg->peer = SNI_FRAME_DATA;
    err =
        end->mate != NULL ? push_mate(pipe, msg, more) : sni_couple_push(pipe, msg, more);
    if (err)
        return err;
    pipe->counts.sent_bytes += size;
    end->begun = more;
    end->torn = end->torn && more;
    return SENNIT_OK;
}

sennit_err
sni_inproc_pull(sni_pipe *pipe, sni_msg *msg)
{
    if (pipe->inproc->couple != NULL)
        return sni_couple_pull(pipe, msg);
    if (next_frame(pipe, msg) != SENNIT_OK)
        return SENNIT_EAGAIN;
    msg->peer = pipe->peer.number;
    sni_inproc_count_received(pipe, msg);
    if (msg->more)
        return SENNIT_OK;
    if (pipe->sock->opts.conflate) {
        sni_fresh_input(pipe);
        if (pipe->inproc->mate != NULL)
            sni_pipe_update_writable(pipe->inproc->mate);
    }
    sni_pipe_update_unread(pipe);
    return SENNIT_OK;
}

/* Behind messages that wait to be heard; else at once. */
static sennit_err
subscribe_mate(sni_pipe *mate, sni_msg *msg)
{
    if (!mate->attached)
        return SENNIT_OK;
    if (mate->inq.count > 0) {
        size_t size = sni_msg_size_of(msg);
        sennit_err err = sni_msg_own(msg, &mate->loop->bodies);

        if (err == SENNIT_OK)
            err = sni_msgq_push(&mate->inq, msg, false);
        mate->inproc->control_msgs += err == SENNIT_OK;
        mate->inproc->control_bytes += err ? 0 : size;
        return err;
    }
    return sni_pattern_subscription(&mate->sock->pattern, &mate->peer,
                                    msg->peer == SNI_FRAME_SUBSCRIBE,
                                    sennit_msg_bytes(sni_msg_public(msg)));
}

sennit_err
sni_inproc_subscribe(sni_pipe *pipe, bool on, sennit_bytes topic)
{
    sni_inproc *end = pipe->inproc;
    sennit_msg msg;
    sennit_err err = SENNIT_OK;

    if (end->mate == NULL && (end->couple == NULL || end->parted))
        return SENNIT_OK;
    if (end->mate != NULL)
        sni_msg_borrow(sni_msg_of(&msg), topic.data, topic.size);
    else
        err = sennit_msg_init_copy(&msg, topic.data, topic.size);
    if (err)
        return err;
    sni_msg_of(&msg)->peer = on ? SNI_FRAME_SUBSCRIBE : SNI_FRAME_CANCEL;
    err = end->mate != NULL ? subscribe_mate(end->mate, sni_msg_of(&msg))
                            : sni_couple_push(pipe, sni_msg_of(&msg), false);
    end->torn = end->torn || (end->begun && err == SENNIT_OK);
    sennit_msg_fini(&msg);
    return err;
}

sennit_err
sni_inproc_greet(sni_pipe *pipe, sennit_bytes body)
{
    sni_inproc *end = pipe->inproc;
    sennit_msg msg;
    sennit_err err = sennit_msg_init_copy(&msg, body.data, body.size);

    if (err)
        return err;
    sni_msg_of(&msg)->peer = end->mate == NULL ? SNI_FRAME_DATA : SNI_FRAME_GREETING;
    if (end->mate == NULL)
        err = sni_couple_greet(pipe, sni_msg_of(&msg));
    else
        err = sni_msgq_insert(&end->mate->inq, end->greeted, sni_msg_of(&msg));
    end->greeted += err == SENNIT_OK;
    sennit_msg_fini(&msg);
    return err;
}

void
sni_inproc_resume(sni_pipe *pipe)
{
    if (pipe->inproc->couple == NULL)
        sni_inproc_arrived(pipe);
    else if (pipe->inproc->met)
        sni_couple_look(pipe);
}

void
sni_inproc_abandon(sni_pipe *pipe)
{
    sni_inproc *end = pipe->inproc;

    drop_begun(pipe);
    /* The message that kept it is not in the middle any more. */
    if (end->due)
        sni_couple_ring(end->couple, SNI_CONNECTER);
    end->begun = false;
    if (!end->torn)
        return;
    /* What is sent next would be taken for the rest of it. */
    end->torn = false;
    sni_pipe_leave(pipe);
    sni_inproc_end(pipe, SENNIT_ENOMEM, "no memory to queue a publication");
}

void
sni_inproc_end(sni_pipe *pipe, sennit_err err, const char *reason)
{
    sni_inproc *end = pipe->inproc;

    if (pipe->retired || sni_link_linked(&end->ending))
        return;
    end->err = err;
    end->reason = reason;
    sni_list_push(&pipe->loop->ending_inproc, &end->ending);
}

/* A peer may have the sum of both marks waiting (0: no limit), and before the bind our
 * own (as libzmq). */
bool
sni_inproc_full(const sni_pipe *pipe)
{
    const sni_inproc *end = pipe->inproc;
    const sennit_sock_opts *opts = &pipe->sock->opts;
    const sni_msgq *queue;
    size_t msgs = (size_t)opts->send_hwm_msgs;
    size_t bytes = (size_t)sni_pipe_send_mark(pipe);

    if (end->mate == NULL)
        return end->couple == NULL || end->parted || sni_couple_full(pipe);
    /* The newest takes the place of the others, unless one is half read there. */
    if (opts->conflate || (end->mate->sock != NULL && end->mate->sock->opts.conflate &&
                           !is_reading(end->mate)))
        return false;
    queue = &end->mate->inq;
    if (end->mate->sock != NULL) {
        const sennit_sock_opts *theirs = &end->mate->sock->opts;

        msgs = msgs && theirs->recv_hwm_msgs ? msgs + (size_t)theirs->recv_hwm_msgs : 0;
        bytes = bytes && theirs->recv_hwm_bytes ? bytes + theirs->recv_hwm_bytes : 0;
    }
    return (msgs != 0 && queue->msgs - end->mate->inproc->control_msgs >= msgs) ||
           (bytes != 0 && queue->bytes - end->mate->inproc->control_bytes >= bytes);
}

size_t
sni_inproc_unread(const sni_pipe *pipe)
{
    const sni_inproc *end = pipe->inproc;

    return end->couple == NULL || !end->met ? 0 : sni_couple_unread(pipe);
}

void
sni_inproc_marks_moved(sni_pipe *pipe)
{
    const sni_inproc *end = pipe->inproc;

    if (end->couple != NULL)
        sni_couple_tell_marks(pipe);
    else if (end->mate != NULL && end->mate->sock != NULL)
        sni_pipe_update_writable(end->mate);
}

sennit_bytes
sni_inproc_peer_metadata(const sni_pipe *pipe)
{
    const sni_inproc *end = pipe->inproc;
    const sni_block *card = NULL;

    if (end->met && end->mate != NULL)
        card = end->mate->inproc->card;
    else if (end->met && end->couple != NULL)
        card = end->theirs->card;
    return card == NULL ? sni_bytes(NULL, 0) : sni_bytes(card->data, card->capacity);
}

void
sni_inproc_add_queued(const sni_pipe *pipe, sennit_sock_stats *out)
{
    const sni_inproc *end = pipe->inproc;

    if (end == NULL || end->met)
        return;
    out->queued_msgs += end->early_msgs;
    out->queued_bytes += end->early_bytes;
    if (end->mate == NULL)
        return;
    out->queued_msgs += end->mate->inq.msgs;
    out->queued_bytes += end->mate->inq.bytes;
}

void
sni_inproc_lost(sni_pipe *pipe)
{
    sni_inproc *end = pipe->inproc;

    if (end == NULL || !pipe->attached || !pipe->peer.connected)
        return;
    forget_the_rest(pipe);
    sni_pattern_disconnected(&pipe->sock->pattern, &pipe->peer, false);
    if (!end->met)
        return;
    pipe->sock->stats.connections--;
    sni_inproc_tell(pipe, SENNIT_EVENT_DISCONNECTED, end->err, end->reason);
}

void
sni_inproc_leave(sni_pipe *pipe)
{
    bequeath(pipe);
    sni_pipe_free(pipe);
}

void
sni_inproc_drained(sni_pipe *pipe)
{
    if (!sni_link_linked(&pipe->inproc->drained))
        sni_list_push(&pipe->loop->drained, &pipe->inproc->drained);
}

/* Whether one has got something. */
static bool
look_ahead(const sennit_loop *loop)
{
    for (const sni_link *link = loop->drained.next; link != &loop->drained;
         link = link->next)
        if (sni_couple_look_ahead(SNI_CONST_OWNER_OF(link, sni_inproc, drained)->pipe))
            return true;
    return false;
}

/* Less often than the other thread writes, so that it keeps what it writes to. */
static void
linger(sennit_loop *loop)
{
    sennit_time until = sni_loop_now(loop) + SNI_INPROC_LINGER_NS;
    bool found = false;

    for (unsigned looks = 0; looks < SNI_INPROC_LINGER_LOOKS && !found; looks++) {
        for (unsigned i = 0; i < SNI_INPROC_LINGER_PAUSES; i++)
            sni_pause();
        found = look_ahead(loop);
        if (sni_loop_now(loop) >= until)
            return;
    }
}

bool
sni_inproc_doze(sennit_loop *loop, bool lingers)
{
    bool more = false;
    sni_link drained;
    sni_link *link;

    if (sni_list_empty(&loop->drained))
        return false;
    if (lingers && loop->drive == NULL && loop->context->crosses)
        linger(loop);
    sni_list_take(&drained, &loop->drained);
    while ((link = sni_list_first(&drained)) != NULL) {
        sni_pipe *pipe = SNI_OWNER_OF(link, sni_inproc, drained)->pipe;

        sni_link_remove(link);
        if (sni_couple_settle(pipe))
            continue;
        more = true;
        sni_pipe_update_unread(pipe);
    }
    return more;
}

void
sni_inproc_free(sni_pipe *pipe)
{
    sni_inproc *end = pipe->inproc;

    if (end == NULL)
        return;
    part(pipe, SENNIT_ECONNRESET, "closed by peer");
    if (end->couple != NULL) {
        sni_couple_discard(pipe);
        sni_couple_leave(pipe);
    }
    sni_link_remove(&end->ending);
    sni_link_remove(&end->drained);
    sni_block_unref(end->card);
    sni_release(&pipe->loop->allocator, end);
    pipe->inproc = NULL;
}
