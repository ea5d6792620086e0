/* SPDX-License-Identifier: MIT */
/* Deadlines, all of them:
 *   handshake  open .. READY, in every version, from the configuration
 *   heartbeat  see heartbeat.h
 *
 * Order on the wire: what is left of a frame that was begun, then control (it is
 * never behind data that could wait), then data. */
#include "engine/engine.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/limits.h"
#include "engine/handshake.h"
#include "engine/heartbeat.h"
#include "engine/inbound.h"
#include "engine/lane.h"
#include "engine/reframe.h"
#include "wire/frame_v1.h"
#include "wire/metadata.h"

/* PONGs that may wait for a peer that sends PINGs and does not read. One receive
 * may be full of PINGs, and is answered before anything of it can be written. Our own
 * subscriptions have no such bound: they are the application's, and live in its trie
 * as well. */
#define PONGS_MAX_BYTES (2 * SNI_RECV_BYTES)

typedef enum engine_state { GREETING, HANDSHAKE, TRAFFIC, BROKEN } engine_state;

static const uint8_t next_states[] = {
    [GREETING] = 1u << HANDSHAKE | 1u << TRAFFIC | 1u << BROKEN,
    [HANDSHAKE] = 1u << TRAFFIC | 1u << BROKEN,
    [TRAFFIC] = 1u << BROKEN,
    [BROKEN] = 0,
};

struct sni_engine {
    const sennit_allocator *alloc;
    sni_outq *outq; /* borrowed; NULL: none yet */
    engine_state state;
    sennit_err err;
    const char *reason;

    uint16_t heartbeat_ttl_ds; /* of our PINGs */
    bool admits;               /* our hello waits for sni_engine_admit() */
    bool muted;                /* no PING is answered or due */
    bool ready_pending;        /* READY is the next event, ... */
    bool everything_pending;   /* ... then a subscription to everything */
    sni_inbound in;

    sni_lane lane;
    size_t batch_lead;    /* of the last output: data bytes before control */
    sni_reframe *reframe; /* NULL: the queue's frames go out as they are */

    sni_heartbeat heart;
    sennit_time handshake_deadline;
    sni_handshake shake;
};

/* ---- state ------------------------------------------------------------- */

static void
enter(sni_engine *engine, engine_state state)
{
    SNI_ASSERT(next_states[engine->state] & (1u << state));
    engine->state = state;
}

static sennit_err
fail(sni_engine *engine, sennit_err err, const char *reason)
{
    if (engine->state != BROKEN) {
        enter(engine, BROKEN);
        engine->err = err;
        engine->reason = reason;
    }
    return engine->err;
}

static sennit_err
broken_no_memory(sni_engine *engine)
{
    return fail(engine, SENNIT_ENOMEM, "out of memory");
}

/* ---- opening and closing ----------------------------------------------- */

static void
enter_traffic(sni_engine *engine, sennit_time now)
{
    enter(engine, TRAFFIC);
    engine->handshake_deadline = SENNIT_NEVER;
    engine->ready_pending = true;
    /* Before 3.1 a PING is an unknown command at best. */
    if (engine->shake.major == 3 && engine->shake.minor > 0)
        sni_heartbeat_start(&engine->heart, now);
}

static sennit_err
begin(sni_engine *engine, const sni_engine_cfg *cfg, sennit_time now)
{
    if (cfg->raw) {
        enter_traffic(engine, now);
        return SENNIT_OK;
    }
    if (cfg->handshake_timeout > 0)
        engine->handshake_deadline = now + cfg->handshake_timeout;
    return sni_handshake_init(&engine->shake, cfg, &engine->lane);
}

sennit_err
sni_engine_open(sni_engine **out, const sni_engine_cfg *cfg, sennit_time now)
{
    sni_engine *engine = sni_acquire_zero(cfg->alloc, sizeof *engine);
    sennit_err err;

    if (engine == NULL)
        return SENNIT_ENOMEM;
    engine->alloc = cfg->alloc;
    engine->outq = cfg->outq;
    engine->admits = cfg->admits;
    engine->heartbeat_ttl_ds = cfg->heartbeat_ttl_ds;
    engine->reason = "";
    engine->handshake_deadline = SENNIT_NEVER;
    sni_inbound_init(&engine->in, cfg);
    sni_lane_init(&engine->lane, cfg->alloc);
    sni_heartbeat_init(&engine->heart, cfg->heartbeat_interval, cfg->heartbeat_timeout);
    engine->shake = (sni_handshake){ .alloc = cfg->alloc, .peer_type = -1 };
    err = begin(engine, cfg, now);
    if (err) {
        sni_engine_free(engine);
        return err;
    }
    *out = engine;
    return SENNIT_OK;
}

sennit_err
sni_engine_admit(sni_engine *engine)
{
    return engine->in.raw ? SENNIT_OK : sni_handshake_tell(&engine->shake, &engine->lane);
}

void
sni_engine_set_outq(sni_engine *engine, sni_outq *outq)
{
    engine->outq = outq;
}

void
sni_engine_free(sni_engine *engine)
{
    if (engine == NULL)
        return;
    sni_inbound_fini(&engine->in);
    sni_reframe_free(engine->reframe, engine->alloc);
    sni_handshake_fini(&engine->shake);
    sni_lane_fini(&engine->lane);
    sni_release(engine->alloc, engine);
}

/* ---- receiving: handshake ---------------------------------------------- */

/* Ends a step: DONE when it moved on, MORE when it needs bytes, BAD when the engine is
 * BROKEN. */
static sni_parse
stepped(sni_engine *engine, sni_parse parse, size_t used, const sni_fault *fault)
{
    if (parse == SNI_PARSE_DONE)
        sni_inbound_consume(&engine->in, used);
    else if (parse == SNI_PARSE_BAD)
        fail(engine, fault->err, fault->reason);
    return parse;
}

static sni_parse
step_greeting(sni_engine *engine)
{
    sni_handshake *shake = &engine->shake;
    sni_fault fault = { SENNIT_ENOMEM, "out of memory" };
    size_t used = 0;
    sni_parse parse = sni_handshake_greeting(
        shake, &engine->lane, sni_window_unscanned(&engine->in.window), &used, &fault);

    if (parse != SNI_PARSE_DONE)
        return stepped(engine, parse, used, &fault);
    sni_inbound_set_version(&engine->in, shake->major);
    if (shake->major == 1)
        engine->reframe = sni_reframe_new(engine->alloc);
    /* NULL is symmetric: our hello does not wait for the peer's, unless we admit. */
    if ((shake->major == 1 && engine->reframe == NULL) ||
        (!engine->admits && sni_engine_admit(engine) != SENNIT_OK))
        return stepped(engine, SNI_PARSE_BAD, 0, &fault);
    enter(engine, HANDSHAKE);
    return stepped(engine, SNI_PARSE_DONE, used, NULL);
}

static sni_parse
step_handshake(sni_engine *engine, sennit_time now)
{
    sni_fault fault;
    size_t used = 0;
    sni_parse parse = sni_handshake_hello(
        &engine->shake, sni_window_unscanned(&engine->in.window), &used, &fault);

    if (parse == SNI_PARSE_DONE) {
        enter_traffic(engine, now);
        /* An unversioned subscriber filters for itself, and expects everything. */
        engine->everything_pending =
            engine->shake.identity_announced && engine->in.publisher;
    }
    return stepped(engine, parse, used, &fault);
}

/* ---- receiving: traffic ------------------------------------------------ */

static sennit_err
answer_ping(sni_engine *engine, const sni_scan *scan, sennit_time now)
{
    if (engine->muted)
        return SENNIT_OK;
    if (sni_lane_pongs_waiting(&engine->lane) > PONGS_MAX_BYTES)
        return fail(engine, SENNIT_EPROTO,
                    "peer sends PINGs and does not read the answers");
    /* What came behind it in the same receive shows a living peer. */
    if (scan->last)
        sni_heartbeat_pinged(&engine->heart, scan->command.ttl_ds, now);
    /* A peer that could not wait for our READY is not answered before it. */
    if (!engine->shake.hello_sent)
        return SENNIT_OK;
    if (sni_lane_put_pong(&engine->lane, scan->command.data) != SENNIT_OK)
        return broken_no_memory(engine);
    return SENNIT_OK;
}

static sennit_err
scan_traffic(sni_engine *engine, sennit_time now)
{
    sni_scan scan = { 0 };
    sni_scan_result result;

    sni_heartbeat_heard(&engine->heart);
    while ((result = sni_inbound_scan(&engine->in, &scan)) == SNI_SCAN_COMMAND) {
        if (scan.command.kind == SNI_COMMAND_PING &&
            answer_ping(engine, &scan, now) != SENNIT_OK)
            return engine->err;
    }
    return result == SNI_SCAN_BAD ? fail(engine, SENNIT_EPROTO, scan.problem) : SENNIT_OK;
}

static sennit_err
end_of_stream(sni_engine *engine)
{
    if (engine->state != TRAFFIC)
        return fail(engine, SENNIT_ECONNRESET,
                    "closed by peer during the handshake: another socket type, an "
                    "identity in use or a filter, perhaps; its events say");
    return fail(engine, SENNIT_ECONNRESET,
                sni_inbound_inside(&engine->in)
                    ? "closed by peer in the middle of a message"
                    : "closed by peer");
}

sennit_err
sni_engine_feed(sni_engine *engine, sennit_bytes in, sni_block *home, sennit_time now)
{
    sni_parse parse = SNI_PARSE_DONE;

    if (engine->state == BROKEN)
        return engine->err;
    if (in.size == 0)
        return end_of_stream(engine);
    if (sni_window_add(&engine->in.window, engine->in.bodies, engine->in.windows, in,
                       home) != SENNIT_OK)
        return broken_no_memory(engine);
    while (parse == SNI_PARSE_DONE) {
        switch (engine->state) {
        case GREETING:
            parse = step_greeting(engine);
            break;
        case HANDSHAKE:
            parse = step_handshake(engine, now);
            break;
        case TRAFFIC:
            return scan_traffic(engine, now);
        case BROKEN:
            return engine->err;
        }
    }
    /* Many may be connecting at a time, and wait for the other half of a greeting. */
    sni_window_settle(&engine->in.window, engine->in.bodies);
    return engine->err;
}

bool
sni_engine_sink(sni_engine *engine, sni_engine_room *room)
{
    /* What is left of a handshake lies in a small block. */
    if (engine->in.window.home == NULL || engine->state != TRAFFIC)
        return false;
    if (sni_inbound_sink(&engine->in, room) != SENNIT_OK)
        broken_no_memory(engine);
    return room->home != NULL;
}

size_t
sni_engine_spare(const sni_engine *engine)
{
    return sni_inbound_spare(&engine->in);
}

/* ---- handing out ------------------------------------------------------- */

static bool
next_pending(sni_engine *engine, sni_engine_event *event)
{
    if (engine->ready_pending) {
        engine->ready_pending = false;
        event->kind = SNI_ENGINE_READY;
        return true;
    }
    engine->everything_pending = false;
    event->kind = SNI_ENGINE_SUBSCRIBE;
    event->topic = sni_bytes(NULL, 0);
    return true;
}

bool
sni_engine_next(sni_engine *engine, sni_engine_event *event)
{
    if (engine->ready_pending || engine->everything_pending)
        return next_pending(engine, event);
    return sni_inbound_next(&engine->in, event);
}

bool
sni_engine_take(sni_engine *engine, sni_msg *msg)
{
    SNI_ASSERT(!engine->ready_pending && !engine->everything_pending);
    return sni_inbound_take(&engine->in, msg);
}

size_t
sni_engine_unread(const sni_engine *engine)
{
    return engine->in.unread;
}

size_t
sni_engine_unread_bytes(const sni_engine *engine)
{
    return engine->in.window.filled - engine->in.window.parsed;
}

/* ---- sending ----------------------------------------------------------- */

/* One message of one frame, whose body is `body` behind `first` (which may be empty). */
static sennit_err
send_message(sni_engine *engine, sennit_bytes first, sennit_bytes body)
{
    size_t size = first.size + body.size;
    uint8_t *out = sni_lane_reserve(&engine->lane, SNI_FRAME_V1_HEAD_MAX + size);
    size_t used;

    if (out == NULL)
        return SENNIT_ENOMEM;
    used = engine->in.v1 ? sni_frame_v1_head_write(out, false, size)
                         : sni_frame_head_write(out, false, false, size);
    sni_bytes_put(out + used, first);
    sni_bytes_put(out + used + first.size, body);
    sni_lane_commit(&engine->lane, used + size);
    return SENNIT_OK;
}

sennit_err
sni_engine_send(sni_engine *engine, sni_engine_event_kind kind, sennit_bytes topic)
{
    bool subscribe = kind == SNI_ENGINE_SUBSCRIBE;
    uint8_t first = subscribe;

    SNI_ASSERT(engine->state == TRAFFIC);
    SNI_ASSERT(!engine->in.raw);
    /* Nothing goes out before READY; a socket that subscribes has admitted. */
    if (sni_engine_admit(engine) != SENNIT_OK)
        return SENNIT_ENOMEM;
    if (engine->shake.major == 3 && engine->shake.minor > 0)
        return sni_lane_put_command(&engine->lane, subscribe ? "SUBSCRIBE" : "CANCEL",
                                    topic);
    return send_message(engine, sni_bytes(&first, 1), topic);
}

sennit_err
sni_engine_greet(sni_engine *engine, sennit_bytes body)
{
    SNI_ASSERT(engine->state == TRAFFIC);
    SNI_ASSERT(!engine->in.raw);
    if (sni_engine_admit(engine) != SENNIT_OK)
        return SENNIT_ENOMEM;
    return send_message(engine, sni_bytes(NULL, 0), body);
}

/* Puts `control` among the parts, behind the first `lead` bytes of them. There is room
 * for SPLICED_MAX parts more. */
#define SPLICED_MAX 2u

static size_t
splice(sennit_bytes *parts, size_t count, size_t lead, sennit_bytes control)
{
    size_t at = 0;
    size_t split;

    while (lead > 0 && parts[at].size <= lead)
        lead -= parts[at++].size;
    SNI_ASSERT(at < count || lead == 0);
    split = lead > 0 ? 2 : 1;
    memmove(parts + at + split, parts + at, (count - at) * sizeof *parts);
    if (lead > 0) {
        parts[at] = sni_bytes(parts[at + split].data, lead);
        parts[at + split] =
            sni_bytes(parts[at + split].data + lead, parts[at + split].size - lead);
        at++;
    }
    parts[at] = control;
    return count + split;
}

/* Control goes by itself, between two frames. */
static size_t
output_reframed(sni_engine *engine, sennit_bytes *parts, size_t parts_max)
{
    sni_outq *outq = engine->state == TRAFFIC ? engine->outq : NULL;
    bool control = sni_lane_waiting(&engine->lane) > 0;
    size_t count = outq == NULL ? 0
                                : sni_reframe_output(engine->reframe, outq, control,
                                                     parts, parts_max);

    if (count > 0 || !control)
        return count;
    parts[0] = sni_lane_lend(&engine->lane);
    return 1;
}

size_t
sni_engine_output(sni_engine *engine, sennit_bytes *parts, size_t parts_max)
{
    sni_outq *outq = engine->state == TRAFFIC ? engine->outq : NULL;
    sennit_bytes control;
    size_t count;

    engine->batch_lead = 0;
    engine->lane.lent = 0;
    /* A frame that was begun will not be finished, so nothing may follow it. */
    if (engine->state == BROKEN && !engine->in.raw && engine->outq != NULL &&
        sni_outq_to_boundary(engine->outq) > 0)
        return 0;
    if (engine->reframe != NULL)
        return output_reframed(engine, parts, parts_max);
    if (sni_lane_waiting(&engine->lane) == 0)
        return outq == NULL ? 0
                            : sni_outq_parts(outq, 0, parts, parts_max, SNI_SEND_BYTES);
    control = sni_lane_lend(&engine->lane);
    if (outq == NULL) {
        parts[0] = control;
        return 1;
    }
    engine->batch_lead = sni_outq_to_boundary(outq);
    count = sni_outq_parts(outq, 0, parts, parts_max - SPLICED_MAX, SNI_SEND_BYTES);
    return splice(parts, count, engine->batch_lead, control);
}

size_t
sni_engine_output_bound(const sni_engine *engine)
{
    size_t control = sni_lane_waiting(&engine->lane) > 0 ? SPLICED_MAX : 0;

    if (engine->outq == NULL || engine->state != TRAFFIC)
        return control;
    /* Its heads are views of their own. */
    if (engine->reframe != NULL)
        return SIZE_MAX;
    return engine->outq->count + control;
}

size_t
sni_engine_wrote(sni_engine *engine, size_t size)
{
    size_t lead = size < engine->batch_lead ? size : engine->batch_lead;
    size_t lent = engine->lane.lent;
    size_t control = size - lead < lent ? size - lead : lent;
    sni_outq *outq = engine->outq;

    engine->batch_lead = 0;
    if (lent > 0) {
        sni_lane_wrote(&engine->lane, control);
        sni_heartbeat_wrote(&engine->heart, control);
    }
    if (outq == NULL)
        return 0;
    if (engine->reframe != NULL)
        return lent > 0 ? 0 : sni_reframe_wrote(engine->reframe, outq, size);
    return sni_outq_wrote(outq, size - control);
}

/* ---- time and the rest ------------------------------------------------- */

void
sni_engine_mute(sni_engine *engine)
{
    engine->muted = true;
}

sennit_time
sni_engine_deadline(sni_engine *engine, bool hearing)
{
    sennit_time heart;

    if (engine->state == BROKEN || engine->muted)
        return SENNIT_NEVER;
    heart = sni_heartbeat_deadline(&engine->heart, hearing);
    return engine->handshake_deadline < heart ? engine->handshake_deadline : heart;
}

/* No memory for a PING is not the peer's fault, and another will be due. */
static void
ping(sni_engine *engine)
{
    uint8_t ttl[2] = { (uint8_t)(engine->heartbeat_ttl_ds >> 8),
                       (uint8_t)engine->heartbeat_ttl_ds };

    if (sni_lane_put_command(&engine->lane, "PING", sni_bytes(ttl, sizeof ttl)) ==
        SENNIT_OK)
        sni_heartbeat_queued(&engine->heart, sni_lane_waiting(&engine->lane));
}

sennit_err
sni_engine_tick(sni_engine *engine, sennit_time now, bool hearing)
{
    const char *reason;

    if (engine->state == BROKEN)
        return engine->err;
    if (now >= engine->handshake_deadline)
        return fail(engine, SENNIT_ETIMEDOUT, "handshake not finished in time");
    reason = sni_heartbeat_tick(&engine->heart, now, hearing);
    if (reason != NULL)
        return fail(engine, SENNIT_ETIMEDOUT, reason);
    if (sni_heartbeat_takes_ping(&engine->heart, now, hearing) &&
        engine->shake.hello_sent)
        ping(engine);
    return SENNIT_OK;
}

sennit_err
sni_engine_why(const sni_engine *engine, const char **reason)
{
    *reason = engine->reason;
    return engine->err;
}

sennit_bytes
sni_engine_identity(const sni_engine *engine)
{
    return sni_handshake_identity(&engine->shake);
}

sni_engine_peer
sni_engine_peer_of(const sni_engine *engine)
{
    const sni_handshake *shake = &engine->shake;

    return (sni_engine_peer){ shake->peer_type, shake->major, shake->minor };
}

bool
sni_engine_property(const sni_engine *engine, sennit_bytes name, sennit_bytes *value)
{
    return sni_property_find(sni_handshake_properties(&engine->shake), name, value);
}

bool
sni_engine_control_waiting(const sni_engine *engine)
{
    return sni_lane_waiting(&engine->lane) > 0;
}

bool
sni_engine_in_traffic(const sni_engine *engine)
{
    return engine->state == TRAFFIC;
}
