/* SPDX-License-Identifier: MIT */
/* Who may touch what: a half's facts and its pipe belong to its loop. Its channel and its
 * note are made for two threads. Everything else is passed on by the state: what was
 * written before a stage was reached is seen by whoever sees that stage.
 *
 * The state decides races: a half that ends the couple learns from the word it replaced
 * how far the other one had come, so each message is counted as delivered or as dropped
 * by exactly one rule. */
#include "core/couple.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/limits.h"
#include "base/rare.h"
#include "core/sock.h"
#include "io/fence.h"

#define ENDED 8u /* beside the stage */

/* Messages a publisher hears before others have their turn. */
#define HEARD_IN_A_ROW 256u

static sni_half *
ours(const sni_pipe *pipe)
{
    return pipe->inproc->ours;
}

static sni_half *
theirs(const sni_pipe *pipe)
{
    return pipe->inproc->theirs;
}

/* ---- the couple -------------------------------------------------------- */

static void
set_marks(sni_half *half, const sennit_sock_opts *opts)
{
    atomic_store_explicit(&half->recv_hwm_msgs, opts->recv_hwm_msgs,
                          memory_order_relaxed);
    atomic_store_explicit(&half->recv_hwm_bytes, opts->recv_hwm_bytes,
                          memory_order_relaxed);
}

/* The pipe takes its place in the couple, with what the other one has to know. */
static void
take_place(sni_couple *couple, unsigned side, sni_pipe *pipe)
{
    const sennit_sock *sock = pipe->sock;
    sni_half *half = &couple->halves[side];

    half->pipe = pipe;
    sni_block_unref(half->card); /* of a binder that was asked before, and refused */
    half->card = sni_block_ref(pipe->inproc->card);
    half->type = sock->type;
    half->identity_size = sock->opts.identity_size;
    memcpy(half->identity, sock->opts.identity, sock->opts.identity_size);
    set_marks(half, &sock->opts);
    pipe->inproc->couple = couple;
    pipe->inproc->side = side;
    pipe->inproc->ours = half;
    pipe->inproc->theirs = &couple->halves[!side];
}

sennit_err
sni_couple_new(sni_couple **out, sni_pipe *pipe, const char *name)
{
    const sennit_allocator *alloc = pipe->loop->context->alloc;
    size_t size = strlen(name) + 1;
    sni_couple *couple = sni_acquire_zero(alloc, sizeof *couple + size);

    if (couple == NULL)
        return SENNIT_ENOMEM;
    couple->alloc = alloc;
    atomic_init(&couple->refs, 1);
    atomic_init(&couple->state, SNI_ALONE);
    for (int side = 0; side < 2; side++) {
        sni_half *half = &couple->halves[side];

        half->couple = couple;
        half->reason = "";
        sni_note_init(&half->note, sni_inproc_look);
        sni_channel_init(&half->in, alloc);
        sni_channel_relax(&half->in, pipe->loop->context->fences ? sni_fence_all : NULL);
        sni_msgq_init(&half->early, alloc);
        atomic_init(&half->recv_hwm_msgs, 0);
        atomic_init(&half->recv_hwm_bytes, 0);
    }
    memcpy(couple->name, name, size);
    couple->halves[SNI_CONNECTER].inbox = sni_inbox_ref(pipe->loop->inbox);
    take_place(couple, SNI_CONNECTER, pipe);
    *out = couple;
    return SENNIT_OK;
}

void
sni_couple_ref(sni_couple *couple)
{
    atomic_fetch_add_explicit(&couple->refs, 1, memory_order_relaxed);
}

void
sni_couple_unref(sni_couple *couple)
{
    if (atomic_fetch_sub_explicit(&couple->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (int side = 0; side < 2; side++) {
        sni_half *half = &couple->halves[side];

        sni_channel_fini(&half->in);
        sni_msgq_fini(&half->early);
        sni_inbox_unref(half->inbox);
        sni_block_unref(half->card);
    }
    sni_release(couple->alloc, couple);
}

void
sni_couple_ring(sni_couple *couple, unsigned side)
{
    sni_half *half = &couple->halves[side];

    sni_couple_ref(couple);
    if (!sni_inbox_post(half->inbox, &half->note))
        sni_couple_unref(couple);
}

static unsigned
state_of(const sni_couple *couple)
{
    return atomic_load_explicit(&couple->state, memory_order_acquire);
}

sni_stage
sni_couple_stage(const sni_couple *couple)
{
    return (sni_stage)(state_of(couple) & ~ENDED);
}

bool
sni_couple_ended(const sni_couple *couple)
{
    return state_of(couple) & ENDED;
}

bool
sni_couple_advance(sni_couple *couple, sni_stage from, sni_stage to)
{
    unsigned expected = from;

    return atomic_compare_exchange_strong_explicit(
        &couple->state, &expected, to, memory_order_acq_rel, memory_order_relaxed);
}

void
sni_couple_ask(sni_couple *couple, sni_inbox *inbox, sni_msgq *early)
{
    sni_half *binder = &couple->halves[SNI_BINDER];
    sni_inproc *end = couple->halves[SNI_CONNECTER].pipe->inproc;

    if (early != NULL) {
        end->early_msgs = early->msgs;
        end->early_bytes = early->bytes;
        sni_channel_sent(&binder->in, early->msgs, early->bytes);
        binder->early = *early;
        sni_msgq_init(early, early->alloc);
    }
    /* Nobody has looked at the half of one who was asked before and did not answer. */
    sni_inbox_unref(binder->inbox);
    binder->inbox = sni_inbox_ref(inbox);
    (void)sni_couple_advance(couple, SNI_ALONE, SNI_ASKED);
    sni_couple_ring(couple, SNI_BINDER);
}

bool
sni_couple_refuse(sni_couple *couple, sennit_err err)
{
    unsigned before;

    couple->halves[SNI_BINDER].err = err;
    couple->halves[SNI_BINDER].reason = "the bound socket refused the peer";
    before = atomic_fetch_or_explicit(&couple->state, ENDED, memory_order_acq_rel);
    sni_couple_ring(couple, SNI_CONNECTER);
    return (before & ~ENDED) != SNI_MET;
}

/* ---- an end, by its pipe ----------------------------------------------- */

void
sni_couple_enter(sni_couple *couple, sni_pipe *pipe)
{
    sni_couple_ref(couple);
    take_place(couple, SNI_BINDER, pipe);
}

void
sni_couple_leave(sni_pipe *pipe)
{
    sni_couple *couple = pipe->inproc->couple;

    ours(pipe)->pipe = NULL;
    pipe->inproc->couple = NULL;
    pipe->inproc->ours = NULL;
    pipe->inproc->theirs = NULL;
    sni_couple_unref(couple);
}

void
sni_couple_met(sni_pipe *pipe)
{
    sni_inproc *end = pipe->inproc;
    sni_half *half = ours(pipe);

    end->met = true;
    end->room_until = 0;
    end->ready_at = sni_loop_now(pipe->loop);
    sni_msgq_fini(&pipe->inq);
    pipe->inq = half->early;
    sni_msgq_init(&half->early, half->early.alloc);
    sni_inproc_count_delivered(pipe, end->early_msgs);
    end->early_msgs = 0;
    end->early_bytes = 0;
    pipe->sock->stats.connections++;
    sni_inproc_tell(pipe, SENNIT_EVENT_READY, SENNIT_OK, "");
    sni_couple_look(pipe);
}

/* How many messages are read before the sender hears of it: few enough that it never
 * waits for what has long been read, many enough that it costs nothing. */
static uint64_t
ack_step(const sennit_sock_opts *opts)
{
    uint64_t step = (uint64_t)opts->recv_hwm_msgs / 8;

    if (opts->recv_hwm_bytes != 0)
        return 1;
    if (opts->recv_hwm_msgs == 0 || step > SNI_INPROC_ACK_MSGS)
        return SNI_INPROC_ACK_MSGS;
    return step > 0 ? step : 1;
}

static void
ack(sni_pipe *pipe, uint64_t msgs, uint64_t bytes, uint64_t step)
{
    if (sni_channel_ack(&ours(pipe)->in, msgs, bytes, step))
        sni_couple_ring(pipe->inproc->couple, !pipe->inproc->side);
}

/* By what is left of it in the inq, then from the other thread. */
static inline sennit_err
next_frame(sni_pipe *pipe, sni_msg *msg)
{
    if (pipe->inq.readable > 0 && sni_msgq_pop(&pipe->inq, msg))
        return SENNIT_OK;
    return sni_channel_pull(&ours(pipe)->in, msg, &pipe->loop->bodies);
}

sennit_err
sni_couple_next(sni_pipe *pipe, sni_msg *msg)
{
    sni_inproc *end = pipe->inproc;
    sennit_err err = next_frame(pipe, msg);

    if (err || msg->peer != SNI_FRAME_DATA)
        return err;
    end->read_bytes += sni_msg_size_of(msg);
    if (!msg->more) {
        ack(pipe, 1, end->read_bytes, ack_step(&pipe->sock->opts));
        end->read_bytes = 0;
    }
    return SENNIT_OK;
}

/* True when there is nothing left, and the next message will ring. */
static bool
settle(sni_pipe *pipe)
{
    if (pipe->inq.msgs > 0 || sni_channel_unread(&ours(pipe)->in) > 0)
        return false;
    ack(pipe, 0, 0, 0);
    if (sni_channel_look(&ours(pipe)->in) == 0 && sni_channel_sleep(&ours(pipe)->in))
        return true;
    /* It may not sleep, and there is nothing to pull either: its fence was refused. */
    if (sni_channel_unread(&ours(pipe)->in) == 0)
        sni_couple_ring(pipe->inproc->couple, pipe->inproc->side);
    return false;
}

/* Whole messages only: they must not be mixed with another peer's. */
static sennit_err
next_heard(sni_pipe *pipe, sni_msg *msg)
{
    sni_inproc *end = pipe->inproc;
    sennit_err err;

    if (end->heard == HEARD_IN_A_ROW)
        return SENNIT_EAGAIN;
    err = sni_couple_next(pipe, msg);
    end->heard += err == SENNIT_OK && !msg->more;
    return err;
}

/* However fast the other thread is, others have their turn too. */
static void
hear(sni_pipe *pipe)
{
    sni_inproc *end = pipe->inproc;
    sennit_err err;

    end->heard = 0;
    (void)sni_channel_look(&ours(pipe)->in);
    err = sni_inproc_hear(pipe, next_heard);
    end->behind = err == SENNIT_OK && sni_inproc_hears(pipe) && !settle(pipe);
    if (err)
        sni_inproc_end(pipe, err, "no memory for a subscription");
    else if (end->behind)
        sni_couple_ring(end->couple, end->side);
}

void
sni_couple_look(sni_pipe *pipe)
{
    SNI_ASSERT(pipe->inproc->met);
    pipe->inproc->room_until = 0; /* their marks may have moved */
    if (pipe->sock->pattern.ops->take != NULL)
        hear(pipe);
    else if (sni_channel_look(&ours(pipe)->in) == 0)
        (void)settle(pipe);
    sni_pipe_update_unread(pipe);
    sni_pipe_update_writable(pipe);
}

void
sni_couple_part(sni_pipe *pipe, sennit_err err, const char *reason)
{
    sni_inproc *end = pipe->inproc;
    sni_couple *couple = end->couple;
    unsigned before;

    if (end->parted)
        return;
    end->parted = true;
    ours(pipe)->err = err;
    ours(pipe)->reason = reason;
    before = atomic_fetch_or_explicit(&couple->state, ENDED, memory_order_acq_rel);
    sni_channel_rollback(&theirs(pipe)->in);
    (void)sni_channel_close(&ours(pipe)->in);
    /* Once they met the other one reads it, whether or not we have heard of that. */
    if ((before & ~ENDED) == SNI_MET)
        sni_inproc_count_delivered(pipe, end->early_msgs);
    else
        sni_pipe_count_disconnect(pipe, end->early_msgs);
    end->early_msgs = 0;
    end->early_bytes = 0;
    /* A binder that was only asked finds out when it looks. */
    if (!(before & ENDED) && (end->side == SNI_BINDER || before >= SNI_ACCEPTED))
        sni_couple_ring(couple, !end->side);
}

void
sni_couple_tell_marks(sni_pipe *pipe)
{
    set_marks(ours(pipe), &pipe->sock->opts);
    pipe->inproc->room_until = 0;
    if (pipe->inproc->met && !pipe->inproc->parted)
        sni_couple_ring(pipe->inproc->couple, !pipe->inproc->side);
}

/* ---- the port ---------------------------------------------------------- */

/* The last frame is in. */
static void
publish(sni_pipe *pipe)
{
    sni_inproc *end = pipe->inproc;
    uint64_t size = end->written_bytes;

    end->written_bytes = 0;
    sni_channel_sent(&theirs(pipe)->in, 1, size);
    switch (sni_channel_publish(&theirs(pipe)->in)) {
    case SNI_CHANNEL_CLOSED:
        sni_pipe_count_disconnect(pipe, 1);
        return;
    case SNI_CHANNEL_WAKE:
        sni_couple_ring(end->couple, !end->side);
        break;
    case SNI_CHANNEL_QUEUED:
        break;
    }
    if (end->met) {
        sni_inproc_count_delivered(pipe, 1);
    } else {
        end->early_msgs++;
        end->early_bytes += size;
    }
}

sennit_err
sni_couple_push(sni_pipe *pipe, sni_msg *msg, bool more)
{
    sni_inproc *end = pipe->inproc;
    sni_channel *out = &theirs(pipe)->in;
    size_t size = sni_msg_size_of(msg);
    bool data = msg->peer == SNI_FRAME_DATA;
    sennit_err err = sni_channel_push(out, msg, more);

    if (err)
        return err;
    if (!data) {
        if (sni_channel_publish(out) == SNI_CHANNEL_WAKE)
            sni_couple_ring(end->couple, !end->side);
        return SENNIT_OK;
    }
    end->written_bytes += size;
    if (more)
        return SENNIT_OK;
    publish(pipe);
    if (sni_couple_full(pipe))
        sni_pipe_update_writable(pipe);
    return SENNIT_OK;
}

/* What it knew of is read. */
SNI_RARE static void
used_up(sni_pipe *pipe)
{
    sni_inproc_drained(pipe);
    sni_pipe_update_unread(pipe);
}

sennit_err
sni_couple_pull(sni_pipe *pipe, sni_msg *msg)
{
    sennit_err err = sni_couple_next(pipe, msg);

    if (err)
        return err;
    msg->peer = pipe->peer.number;
    sni_inproc_count_received(pipe, msg);
    if (msg->more)
        return SENNIT_OK;
    pipe->peer.unread = pipe->inq.msgs + sni_channel_unread(&ours(pipe)->in);
    if (pipe->peer.unread == 0)
        used_up(pipe);
    return SENNIT_OK;
}

bool
sni_couple_look_ahead(const sni_pipe *pipe)
{
    return pipe->inq.msgs > 0 || sni_channel_look(&ours(pipe)->in) > 0;
}

bool
sni_couple_settle(sni_pipe *pipe)
{
    return settle(pipe);
}

sennit_err
sni_couple_greet(sni_pipe *pipe, sni_msg *msg)
{
    sni_half *half = theirs(pipe);
    size_t size = sni_msg_size_of(msg);
    sennit_err err = sni_msgq_insert(&half->early, pipe->inproc->greeted, msg);

    if (err)
        return err;
    sni_channel_sent(&half->in, 1, size);
    return SENNIT_OK;
}

void
sni_couple_rollback(sni_pipe *pipe)
{
    sni_channel_rollback(&theirs(pipe)->in);
    pipe->inproc->written_bytes = 0;
}

/* 0 is no limit. */
static uint64_t
sum(uint64_t our_mark, uint64_t their_mark)
{
    return our_mark == 0 || their_mark == 0 ? 0 : our_mark + their_mark;
}

SNI_RARE static bool
look_for_room(const sni_pipe *pipe)
{
    const sennit_sock_opts *opts = &pipe->sock->opts;
    sni_half *half = theirs(pipe);
    uint64_t msgs = (uint64_t)opts->send_hwm_msgs;
    uint64_t bytes = sni_pipe_send_mark(pipe);
    bool full;

    if (pipe->inproc->met) {
        msgs = sum(msgs, (uint64_t)atomic_load_explicit(&half->recv_hwm_msgs,
                                                        memory_order_relaxed));
        bytes =
            sum(bytes, atomic_load_explicit(&half->recv_hwm_bytes, memory_order_relaxed));
    }
    full = sni_channel_full(&half->in, msgs, bytes);
    pipe->inproc->room_until = bytes == 0 ? sni_channel_room_until(&half->in, msgs) : 0;
    return full;
}

bool
sni_couple_full(const sni_pipe *pipe)
{
    return theirs(pipe)->in.sent >= pipe->inproc->room_until && look_for_room(pipe);
}

bool
sni_couple_drained(const sni_pipe *pipe)
{
    return sni_channel_drained(&theirs(pipe)->in);
}

size_t
sni_couple_unread(const sni_pipe *pipe)
{
    return (size_t)sni_channel_unread(&ours(pipe)->in);
}

void
sni_couple_discard(sni_pipe *pipe)
{
    sni_channel_discard(&ours(pipe)->in);
}
