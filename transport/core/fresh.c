/* SPDX-License-Identifier: MIT */
#include "core/fresh.h"

#include "base/limits.h"
#include "core/dialer.h"
#include "core/session.h"
#include "core/sock.h"

/* ---- only the newest ---------------------------------------------------- */

static void
count_conflated_in(sni_pipe *pipe)
{
    pipe->counts.conflated_in_msgs++;
    pipe->sock->stats.dropped_conflated_msgs++;
}

static void
drop_oldest_input(sni_pipe *pipe)
{
    bool more = true;
    sni_msg msg;

    while (more) {
        sennit_msg_init(sni_msg_public(&msg));
        more = sni_msgq_pop(&pipe->inq, &msg) && msg.more;
        sennit_msg_fini(sni_msg_public(&msg));
    }
    count_conflated_in(pipe);
}

/* What was only looked at, to know that something is readable. */
static void
drop_held(sni_pipe *pipe)
{
    sni_pattern *pattern = &pipe->sock->pattern;

    if (!pattern->has_held || pattern->held.more || pipe->sock->receiving ||
        pattern->held.peer != pipe->peer.number)
        return;
    sennit_msg_fini(sni_msg_public(&pattern->held));
    pattern->has_held = false;
    count_conflated_in(pipe);
}

void
sni_fresh_input(sni_pipe *pipe)
{
    /* Without memory the rest stays where it is, and is moved with what comes next. */
    if (pipe->session != NULL)
        (void)sni_session_save_input(pipe->session);
    while (pipe->inq.msgs > 1)
        drop_oldest_input(pipe);
    if (pipe->inq.msgs > 0)
        drop_held(pipe);
}

static void
conflate_output(sni_pipe *pipe)
{
    while (sni_outq_drop_oldest(&pipe->outq)) {
        pipe->counts.conflated_out_msgs++;
        pipe->sock->stats.dropped_conflated_msgs++;
    }
}

/* ---- not too old ------------------------------------------------------- */

/* Stamps are as exact as this; the age limit is a little above it, never below. */
static sennit_time
age_grain(sennit_time age_max)
{
    return age_max / 16 < SNI_AGE_GRAIN_NS ? age_max / 16 : SNI_AGE_GRAIN_NS;
}

static void watch_age(sni_pipe *pipe, sennit_time not_before);

/* Nobody closes only in order that it may leave any more. */
static void
emptied(sni_pipe *pipe)
{
    if (pipe->session != NULL)
        sni_session_output(pipe->session);
    else
        sni_dialer_emptied(pipe);
}

static void
on_aged(void *arg)
{
    sni_pipe *pipe = arg;
    sennit_time age_max = (sennit_time)pipe->sock->opts.send_age_max_ms * 1000000u;
    sennit_time now = sni_loop_now(pipe->loop);
    sennit_time limit = age_max + pipe->outq.grain;
    sennit_time before = now > limit ? now - limit : 0;
    size_t dropped;

    if (sni_outq_oldest_unbegun_at(&pipe->outq) < before && pipe->session != NULL)
        (void)sni_session_take_back_output(pipe->session);
    dropped = sni_outq_drop_before(&pipe->outq, before);
    pipe->counts.dropped_expired_msgs += dropped;
    pipe->sock->stats.dropped_expired_msgs += dropped;
    if (dropped > 0)
        sni_pipe_update_writable(pipe);
    /* Dropping may have found no memory to cut a segment in two, or the kernel does not
     * give back what it has. */
    watch_age(pipe, now + SNI_MEMORY_RETRY_NS);
    if (dropped > 0 && pipe->leaving && !sni_pipe_has_output(pipe))
        emptied(pipe);
}

/* A timer runs only while there is something that may become too old. */
static void
watch_age(sni_pipe *pipe, sennit_time not_before)
{
    sennit_time age_max = (sennit_time)pipe->sock->opts.send_age_max_ms * 1000000u;
    sennit_time at;

    if (age_max == 0 || sni_retry_runs(&pipe->aging))
        return;
    at = sni_outq_oldest_unbegun_at(&pipe->outq);
    if (at == SENNIT_NEVER)
        return;
    at += age_max + pipe->outq.grain + 1;
    sni_retry_start(pipe->loop, &pipe->aging, at > not_before ? at : not_before, on_aged,
                    pipe);
}

static void
keep_time(sni_pipe *pipe)
{
    sennit_time age_max = (sennit_time)pipe->sock->opts.send_age_max_ms * 1000000u;

    pipe->outq.now = age_max > 0 ? sni_loop_now(pipe->loop) : 0;
    pipe->outq.grain = age_grain(age_max);
}

/* What waited before anybody kept time is as old as the option. */
static void
begin_to_keep_time(sni_pipe *pipe)
{
    sni_outq *queue = &pipe->outq;

    for (size_t i = 0; i < queue->count; i++) {
        sni_segment *segment = &queue->ring[(queue->first + i) % queue->capacity];

        if (segment->at == 0)
            segment->at = queue->now;
    }
    watch_age(pipe, 0);
}

void
sni_fresh_prepare(sni_pipe *pipe)
{
    if (pipe->sock->opts.conflate)
        conflate_output(pipe);
    keep_time(pipe);
}

void
sni_fresh_watch(sni_pipe *pipe)
{
    watch_age(pipe, 0);
}

void
sni_fresh_begin(sni_pipe *pipe)
{
    pipe->particular = pipe->sock->opts.conflate || pipe->sock->opts.send_age_max_ms > 0;
    sni_retry_stop(pipe->loop, &pipe->aging);
    keep_time(pipe);
    if (pipe->outq.count > 0)
        begin_to_keep_time(pipe);
}
