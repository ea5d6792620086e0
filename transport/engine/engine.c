/* SPDX-License-Identifier: MIT */
/* Deadlines, all of them:
 *   handshake   open .. READY, from the configuration
 *   peer's TTL  armed by a PING that carries one, cleared by any received byte
 *
 * Order on the wire: what is left of a frame that was begun, then control (it is
 * never behind data that could wait), then data. */
#include "engine/engine.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/limits.h"
#include "engine/window.h"
#include "wire/command.h"
#include "wire/greeting.h"
#include "wire/ready.h"

#define MECHANISM "NULL"

/* PONGs that may wait for a peer that sends PINGs and does not read. One receive
 * may be full of PINGs, and is answered before anything of it can be written. Our own
 * subscriptions have no such bound: they are the application's, and live in its trie
 * as well. */
#define PONGS_MAX_BYTES (2 * SNI_RECV_BYTES)

/* Octets of a command around the longest topic: the name and its length. */
#define SUBSCRIBE_SIZE 10u

/* Bodies up to this size are copied out of a window that holds little else, so
 * that a small message kept by the application does not keep a large block. */
#define SPARSE_BODY_MAX   4096u
#define SPARSE_WINDOW_MAX (16u * 1024u)

typedef enum engine_state { GREETING, HANDSHAKE, TRAFFIC, BROKEN } engine_state;

static const uint8_t next_states[] = {
    [GREETING] = 1u << HANDSHAKE | 1u << BROKEN,
    [HANDSHAKE] = 1u << TRAFFIC | 1u << BROKEN,
    [TRAFFIC] = 1u << BROKEN,
    [BROKEN] = 0,
};

/* The control lane: bytes that go out before any data. There are two, because
 * the one being sent must not move while the kernel may read it: what is added
 * meanwhile waits in the second. */
typedef struct control_lane {
    uint8_t *data;
    size_t written;
    size_t filled;
    size_t capacity;
    size_t pongs; /* octets of PONGs ever put on it */
} control_lane;   /* law: written <= filled <= capacity */

struct sni_engine {
    sni_engine_cfg cfg;
    engine_state state;
    sennit_err err;
    const char *reason;

    sni_window window;
    bool ready_pending;     /* READY is the next event */
    bool ready_sent;        /* ours is on the control lane or through it */
    size_t unread;          /* whole messages in [parsed, scanned) */
    uint64_t message_bytes; /* of the message being scanned */
    uint32_t message_parts;

    control_lane control;
    control_lane control_next;
    size_t greeting_sent; /* octets of our greeting put on the control lane */
    size_t batch_lead;    /* of the last output: data bytes before control, ... */
    size_t batch_control; /* ... control bytes */

    uint8_t peer_minor;
    uint8_t identity[SENNIT_IDENTITY_MAX];
    uint8_t identity_size;
    uint8_t own_identity[SENNIT_IDENTITY_MAX];

    sennit_time handshake_deadline;
    sennit_time ttl_deadline;
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

/* ---- control lane ------------------------------------------------------ */

static size_t
control_waiting(const sni_engine *engine)
{
    return engine->control.filled - engine->control.written + engine->control_next.filled;
}

/* Octets of PONGs that wait: as many as were put there, but no more than wait. */
static size_t
pongs_waiting(const sni_engine *engine)
{
    const control_lane *lane = &engine->control;
    size_t waiting = lane->filled - lane->written;

    return (lane->pongs < waiting ? lane->pongs : waiting) + engine->control_next.pongs;
}

/* Where the next command goes. */
static control_lane *
control_tail(sni_engine *engine)
{
    bool behind = engine->batch_control > 0 || engine->control_next.filled > 0;

    return behind ? &engine->control_next : &engine->control;
}

/* Room for `size` bytes at the end of the lane; they count once control_commit()
 * says so. NULL: no memory. */
static uint8_t *
control_reserve(sni_engine *engine, size_t size)
{
    control_lane *lane = control_tail(engine);

    /* A peer that is always a little late never lets the lane become empty. */
    if (lane->written > lane->filled / 2) {
        lane->filled -= lane->written;
        memmove(lane->data, lane->data + lane->written, lane->filled);
        lane->written = 0;
    }
    if (!sni_grow(engine->cfg.alloc, &lane->data, &lane->capacity, lane->filled + size,
                  1))
        return NULL;
    return lane->data + lane->filled;
}

static void
control_commit(sni_engine *engine, size_t size)
{
    control_tail(engine)->filled += size;
}

/* The lane is through: an idle peer keeps no buffer. */
static void
control_advance(sni_engine *engine)
{
    sni_release(engine->cfg.alloc, engine->control.data);
    engine->control = engine->control_next;
    engine->control_next = (control_lane){ NULL, 0, 0, 0, 0 };
}

/* Puts our greeting on the lane up to octet `upto`. */
static sennit_err
send_greeting(sni_engine *engine, size_t upto)
{
    uint8_t greeting[SNI_GREETING_SIZE];
    size_t size = upto - engine->greeting_sent;
    uint8_t *out;

    if (upto <= engine->greeting_sent)
        return SENNIT_OK;
    out = control_reserve(engine, size);
    if (out == NULL)
        return broken_no_memory(engine);
    sni_greeting_write(greeting, MECHANISM);
    memcpy(out, greeting + engine->greeting_sent, size);
    control_commit(engine, size);
    engine->greeting_sent = upto;
    return SENNIT_OK;
}

static sennit_err
send_command(sni_engine *engine, const char *name, sennit_bytes data)
{
    uint8_t *out =
        control_reserve(engine, SNI_FRAME_HEAD_MAX + 1 + strlen(name) + data.size);

    if (out == NULL)
        return SENNIT_ENOMEM;
    control_commit(engine, sni_command_write(out, name, data));
    return SENNIT_OK;
}

/* ZMTP 3.0 form of a subscription: a message of 01 or 00 and the topic. */
static sennit_err
send_subscription_message(sni_engine *engine, uint8_t first, sennit_bytes topic)
{
    uint8_t *out = control_reserve(engine, SNI_FRAME_HEAD_MAX + 1 + topic.size);
    size_t used;

    if (out == NULL)
        return SENNIT_ENOMEM;
    used = sni_frame_head_write(out, false, false, 1 + topic.size);
    out[used++] = first;
    sni_bytes_put(out + used, topic);
    control_commit(engine, used + topic.size);
    return SENNIT_OK;
}

sennit_err
sni_engine_admit(sni_engine *engine)
{
    uint8_t *out;

    if (engine->ready_sent)
        return SENNIT_OK;
    out = control_reserve(engine, SNI_READY_MAX);
    if (out == NULL)
        return SENNIT_ENOMEM;
    control_commit(engine, sni_ready_write(out, engine->cfg.type, engine->cfg.identity));
    engine->ready_sent = true;
    return SENNIT_OK;
}

sennit_err
sni_engine_send(sni_engine *engine, sni_engine_event_kind kind, sennit_bytes topic)
{
    bool subscribe = kind == SNI_ENGINE_SUBSCRIBE;

    SNI_ASSERT(engine->state == TRAFFIC);
    /* Nothing goes out before READY; a socket that subscribes has admitted. */
    if (sni_engine_admit(engine) != SENNIT_OK)
        return SENNIT_ENOMEM;
    if (engine->peer_minor == 0)
        return send_subscription_message(engine, subscribe, topic);
    return send_command(engine, subscribe ? "SUBSCRIBE" : "CANCEL", topic);
}

/* ---- opening and closing ----------------------------------------------- */

sennit_err
sni_engine_open(sni_engine **out, const sni_engine_cfg *cfg, sennit_time now)
{
    sni_engine *engine = sni_acquire_zero(cfg->alloc, sizeof *engine);
    sennit_err err;

    if (engine == NULL)
        return SENNIT_ENOMEM;
    engine->cfg = *cfg;
    engine->reason = "";
    sni_bytes_put(engine->own_identity, cfg->identity);
    engine->cfg.identity = sni_bytes(engine->own_identity, cfg->identity.size);
    engine->handshake_deadline =
        cfg->handshake_timeout == 0 ? SENNIT_NEVER : now + cfg->handshake_timeout;
    engine->ttl_deadline = SENNIT_NEVER;
    err = send_greeting(engine, SNI_GREETING_SIGNATURE);
    if (err) {
        sni_engine_free(engine);
        return err;
    }
    *out = engine;
    return SENNIT_OK;
}

void
sni_engine_set_outq(sni_engine *engine, sni_outq *outq)
{
    engine->cfg.outq = outq;
}

void
sni_engine_free(sni_engine *engine)
{
    if (engine == NULL)
        return;
    sni_block_unref(engine->window.home);
    sni_release(engine->cfg.alloc, engine->control.data);
    sni_release(engine->cfg.alloc, engine->control_next.data);
    sni_release(engine->cfg.alloc, engine);
}

/* ---- receiving: handshake ---------------------------------------------- */

static void
consume(sni_engine *engine, size_t size)
{
    engine->window.scanned += size;
    engine->window.parsed = engine->window.scanned;
    sni_window_release_if_empty(&engine->window);
}

/* Each step returns DONE when it moved on, MORE when it needs bytes, BAD when the
 * engine is BROKEN. */
static sni_parse
step_greeting(sni_engine *engine)
{
    sni_greeting greeting = { 0, "" };
    size_t reply;
    sni_parse parse = sni_greeting_read(sni_window_unscanned(&engine->window), MECHANISM,
                                        &greeting, &reply);

    /* Also to a peer that is refused: it can tell what we are, and how its octets
     * were cut up makes no difference. */
    if (send_greeting(engine, reply) != SENNIT_OK)
        return SNI_PARSE_BAD;
    if (parse == SNI_PARSE_BAD) {
        fail(engine, SENNIT_EPROTO, greeting.problem);
        return SNI_PARSE_BAD;
    }
    if (parse == SNI_PARSE_MORE)
        return SNI_PARSE_MORE;
    /* NULL is symmetric: our READY does not wait for the peer's, unless we admit. */
    if (!engine->cfg.admits && sni_engine_admit(engine) != SENNIT_OK) {
        broken_no_memory(engine);
        return SNI_PARSE_BAD;
    }
    engine->peer_minor = greeting.minor;
    consume(engine, SNI_GREETING_SIZE);
    enter(engine, HANDSHAKE);
    return SNI_PARSE_DONE;
}

static sni_parse
accept_ready(sni_engine *engine, sennit_bytes metadata)
{
    sni_ready ready;

    if (!sni_ready_read(metadata, engine->cfg.type, &ready)) {
        fail(engine, SENNIT_EPROTO, ready.problem);
        return SNI_PARSE_BAD;
    }
    sni_bytes_put(engine->identity, ready.identity);
    engine->identity_size = (uint8_t)ready.identity.size;
    engine->handshake_deadline = SENNIT_NEVER;
    engine->ready_pending = true;
    enter(engine, TRAFFIC);
    return SNI_PARSE_DONE;
}

static sni_parse
step_handshake(sni_engine *engine)
{
    sennit_bytes in = sni_window_unscanned(&engine->window);
    sni_frame_head head;
    sni_command command;
    size_t used;
    const char *problem;
    sni_parse parse = sni_frame_head_read(in, &head, &used);

    if (parse == SNI_PARSE_MORE)
        return SNI_PARSE_MORE;
    if (parse == SNI_PARSE_BAD || !head.command) {
        fail(engine, SENNIT_EPROTO, "not a command during the handshake");
        return SNI_PARSE_BAD;
    }
    if (head.body_size > SNI_HANDSHAKE_COMMAND_MAX_BYTES) {
        fail(engine, SENNIT_EPROTO, "handshake command too large");
        return SNI_PARSE_BAD;
    }
    if (in.size - used < head.body_size)
        return SNI_PARSE_MORE;
    problem =
        sni_command_read(sni_bytes(in.data + used, (size_t)head.body_size), &command);
    if (problem == NULL && command.kind == SNI_COMMAND_READY) {
        if (accept_ready(engine, command.data) == SNI_PARSE_DONE)
            consume(engine, used + (size_t)head.body_size);
        return engine->state == BROKEN ? SNI_PARSE_BAD : SNI_PARSE_DONE;
    }
    if (problem == NULL && command.kind == SNI_COMMAND_ERROR)
        fail(engine, SENNIT_EACCES, "peer refused the connection with ERROR");
    else
        fail(engine, SENNIT_EPROTO,
             problem != NULL ? problem : "unexpected command during the handshake");
    return SNI_PARSE_BAD;
}

/* ---- receiving: traffic ------------------------------------------------ */

static const char *
check_limits(sni_engine *engine, const sni_frame_head *head)
{
    const sni_engine_cfg *cfg = &engine->cfg;

    if (cfg->frame_max_bytes > 0 && head->body_size > cfg->frame_max_bytes)
        return "frame larger than recv_frame_max_bytes";
    if (head->command && head->body_size > SNI_TOPIC_MAX_BYTES + SUBSCRIBE_SIZE)
        return "command too large";
    if (head->command && engine->message_parts == 0)
        return NULL;
    /* Commands inside a message stay in its window until it is whole. */
    if (cfg->message_max_bytes > 0 &&
        (head->body_size > cfg->message_max_bytes ||
         engine->message_bytes > cfg->message_max_bytes - head->body_size))
        return "message larger than recv_message_max_bytes";
    if (!head->command && cfg->message_max_parts > 0 &&
        engine->message_parts >= cfg->message_max_parts)
        return "message with more frames than recv_message_max_parts";
    return NULL;
}

static sennit_err
answer_ping(sni_engine *engine, const sni_command *ping, sennit_time now)
{
    control_lane *lane = control_tail(engine);
    size_t before = control_waiting(engine);

    if (pongs_waiting(engine) > PONGS_MAX_BYTES)
        return fail(engine, SENNIT_EPROTO,
                    "peer sends PINGs and does not read the answers");
    if (ping->ttl_ds > 0)
        engine->ttl_deadline = now + (sennit_time)ping->ttl_ds * 100000000u;
    /* A peer that could not wait for our READY is not answered before it. */
    if (!engine->ready_sent)
        return SENNIT_OK;
    if (send_command(engine, "PONG", ping->data) != SENNIT_OK)
        return broken_no_memory(engine);
    lane->pongs += control_waiting(engine) - before;
    return SENNIT_OK;
}

static sennit_err
scan_command(sni_engine *engine, sennit_bytes body, sennit_time now)
{
    sni_command command;
    const char *problem = sni_command_read(body, &command);

    if (problem != NULL)
        return fail(engine, SENNIT_EPROTO, problem);
    if (engine->message_parts > 0)
        engine->message_bytes += body.size;
    return command.kind == SNI_COMMAND_PING ? answer_ping(engine, &command, now)
                                            : SENNIT_OK;
}

/* Takes commands that were looked at out of the end of [parsed, scanned): nobody
 * asks for them, so an application that does not ask for messages either would
 * collect them for ever. At most the beginning of one frame moves. */
static void
cut_out(sni_window *window, size_t from)
{
    size_t begun = window->filled - window->scanned;

    memmove(window->home->data + from, window->home->data + window->scanned, begun);
    window->scanned = from;
    window->filled = from + begun;
    sni_window_release_if_empty(window);
}

/* Looks at the frames that have become whole. */
static sennit_err
scan(sni_engine *engine, sennit_time now)
{
    sni_window *window = &engine->window;
    size_t commands_from = 0; /* the last run of commands between messages ... */
    size_t commands_to = 0;   /* ... that nobody will ask for */

    for (;;) {
        sennit_bytes in = sni_window_unscanned(window);
        sni_frame_head head;
        size_t used;
        const char *problem;
        sni_parse parse = sni_frame_head_read(in, &head, &used);

        /* Also what came behind a PING in the same receive shows a living peer. */
        if (in.size > 0)
            engine->ttl_deadline = SENNIT_NEVER;
        if (parse == SNI_PARSE_MORE)
            break;
        if (parse == SNI_PARSE_BAD)
            return fail(engine, SENNIT_EPROTO, "malformed frame head");
        problem = check_limits(engine, &head);
        if (problem != NULL)
            return fail(engine, SENNIT_EPROTO, problem);
        if (in.size - used < head.body_size)
            break;
        if (head.command) {
            sennit_err err = scan_command(
                engine, sni_bytes(in.data + used, (size_t)head.body_size), now);

            if (err)
                return err;
            if (engine->message_parts == 0 && !engine->cfg.publisher) {
                if (commands_to != window->scanned)
                    commands_from = window->scanned;
                commands_to = window->scanned + used + (size_t)head.body_size;
            }
        } else if (head.more) {
            engine->message_bytes += head.body_size;
            engine->message_parts++;
        } else {
            engine->message_bytes = 0;
            engine->message_parts = 0;
            engine->unread++;
        }
        window->scanned += used + (size_t)head.body_size;
    }
    if (commands_to > 0 && commands_to == window->scanned)
        cut_out(window, commands_from);
    return SENNIT_OK;
}

static sennit_err
end_of_stream(sni_engine *engine)
{
    bool inside =
        engine->window.filled > engine->window.scanned || engine->message_parts > 0;

    if (engine->state != TRAFFIC)
        return fail(engine, SENNIT_ECONNRESET, "closed by peer during the handshake");
    return fail(engine, SENNIT_ECONNRESET,
                inside ? "closed by peer in the middle of a message" : "closed by peer");
}

sennit_err
sni_engine_feed(sni_engine *engine, sennit_bytes in, sni_block *home, sennit_time now)
{
    sni_parse parse = SNI_PARSE_DONE;

    if (engine->state == BROKEN)
        return engine->err;
    if (in.size == 0)
        return end_of_stream(engine);
    if (sni_window_add(&engine->window, engine->cfg.alloc, engine->cfg.windows, in,
                       home) != SENNIT_OK)
        return broken_no_memory(engine);
    while (parse == SNI_PARSE_DONE) {
        switch (engine->state) {
        case GREETING:
            parse = step_greeting(engine);
            break;
        case HANDSHAKE:
            parse = step_handshake(engine);
            break;
        case TRAFFIC:
            return scan(engine, now);
        case BROKEN:
            return engine->err;
        }
    }
    return engine->err;
}

bool
sni_engine_sink(sni_engine *engine, sni_engine_room *room)
{
    sni_window *window = &engine->window;
    sennit_bytes in = sni_window_unscanned(window);
    size_t wanted = SNI_RECV_MIN_BYTES;
    sni_frame_head head;
    size_t used;

    if (window->home == NULL || engine->state == BROKEN)
        return false;
    if (engine->state == TRAFFIC &&
        sni_frame_head_read(in, &head, &used) == SNI_PARSE_DONE) {
        uint64_t missing = used + head.body_size - in.size;
        size_t earned = SNI_RECV_BYTES + SNI_RECV_GROWTH * in.size;

        wanted = missing < earned ? (size_t)missing : earned;
        /* The last octets of a frame whose block is as large as the frame. */
        if (missing > sni_window_room(window) && wanted < SNI_RECV_MIN_BYTES)
            wanted = SNI_RECV_MIN_BYTES;
    }
    /* Frames that wait for the rest of their message move along: by doubling, so
     * that each octet moves a few times and not once per receive. */
    if (wanted > sni_window_room(window) && wanted < window->scanned - window->parsed)
        wanted = window->scanned - window->parsed;
    if (sni_window_room(window) < wanted &&
        sni_window_room(window) < SNI_RECV_BYTES / 2 &&
        sni_window_reserve(window, engine->cfg.alloc, engine->cfg.windows, wanted) !=
            SENNIT_OK) {
        broken_no_memory(engine);
        return false;
    }
    *room = (sni_engine_room){ window->home->data + window->filled,
                               sni_window_room(window), window->home };
    return true;
}

size_t
sni_engine_spare(const sni_engine *engine)
{
    return sni_window_room(&engine->window);
}

/* ---- handing out ------------------------------------------------------- */

/* Whether a frame means SUBSCRIBE or CANCEL to a publisher. */
static bool
subscription(const sni_engine *engine, const sni_frame_head *head, uint8_t *body,
             sni_engine_event *event)
{
    sni_command command;

    if (!engine->cfg.publisher)
        return false;
    if (head->command) {
        if (sni_command_read(sni_bytes(body, (size_t)head->body_size), &command) != NULL)
            return false;
        if (command.kind != SNI_COMMAND_SUBSCRIBE && command.kind != SNI_COMMAND_CANCEL)
            return false;
        event->kind = command.kind == SNI_COMMAND_SUBSCRIBE ? SNI_ENGINE_SUBSCRIBE
                                                            : SNI_ENGINE_CANCEL;
        event->topic = command.data;
        return true;
    }
    if (head->body_size == 0 || body[0] > 1)
        return false;
    event->kind = body[0] == 1 ? SNI_ENGINE_SUBSCRIBE : SNI_ENGINE_CANCEL;
    event->topic = sni_bytes(body + 1, (size_t)head->body_size - 1);
    return true;
}

/* Makes a message of a body in the window; false when a copy found no memory. */
static bool
take_body(sni_engine *engine, uint8_t *body, size_t size, bool more, sni_msg *msg)
{
    sni_window *window = &engine->window;

    if (size > SENNIT_MSG_INLINE_MAX && size <= SPARSE_BODY_MAX &&
        window->filled < SPARSE_WINDOW_MAX) {
        sni_block *own = size <= SNI_BODY_BYTES && engine->cfg.bodies != NULL
                             ? sni_pool_take(engine->cfg.bodies)
                             : sni_block_new(engine->cfg.alloc, size);

        if (own == NULL)
            return false;
        memcpy(own->data, body, size);
        sni_msg_init_view(msg, own->data, size, own, more, engine->cfg.peer);
        sni_block_unref(own);
        return true;
    }
    sni_msg_init_view(msg, body, size, window->home, more, engine->cfg.peer);
    return true;
}

bool
sni_engine_next(sni_engine *engine, sni_engine_event *event)
{
    sni_window *window = &engine->window;

    if (engine->ready_pending) {
        engine->ready_pending = false;
        event->kind = SNI_ENGINE_READY;
        return true;
    }
    sni_window_release_if_empty(window);
    /* A publisher's subscriptions may stand behind the last whole message. */
    while (engine->unread > 0 ||
           (engine->cfg.publisher && window->parsed < window->scanned)) {
        sni_frame_head head;
        size_t used = 0;
        sni_parse parse =
            sni_frame_head_read(sni_bytes(window->home->data + window->parsed,
                                          window->scanned - window->parsed),
                                &head, &used);
        uint8_t *body = window->home->data + window->parsed + used;

        SNI_ASSERT(parse == SNI_PARSE_DONE);
        if (engine->unread == 0 && !head.command)
            return false;
        if (subscription(engine, &head, body, event)) {
            window->parsed += used + (size_t)head.body_size;
            if (!head.command && !head.more)
                engine->unread--;
            return true;
        }
        if (!head.command &&
            !take_body(engine, body, (size_t)head.body_size, head.more, &event->msg))
            return false;
        window->parsed += used + (size_t)head.body_size;
        if (head.command)
            continue;
        if (!head.more)
            engine->unread--;
        event->kind = SNI_ENGINE_MESSAGE;
        sni_window_release_if_empty(window);
        return true;
    }
    sni_window_release_if_empty(window);
    return false;
}

size_t
sni_engine_unread(const sni_engine *engine)
{
    return engine->unread;
}

/* ---- sending ----------------------------------------------------------- */

size_t
sni_engine_output(sni_engine *engine, sennit_bytes *parts, size_t parts_max)
{
    const control_lane *lane = &engine->control;
    sni_outq *outq = engine->state == TRAFFIC ? engine->cfg.outq : NULL;
    size_t count = 0;

    engine->batch_lead = 0;
    engine->batch_control = lane->filled - lane->written;
    /* A frame that was begun will not be finished, so nothing may follow it. */
    if (engine->state == BROKEN && engine->cfg.outq != NULL &&
        sni_outq_to_boundary(engine->cfg.outq) > 0) {
        engine->batch_control = 0;
        return 0;
    }
    if (engine->batch_control == 0) {
        return outq == NULL ? 0
                            : sni_outq_parts(outq, 0, parts, parts_max, SNI_SEND_BYTES);
    }
    if (outq != NULL)
        engine->batch_lead = sni_outq_to_boundary(outq);
    if (engine->batch_lead > 0) {
        /* At most two views: the rest of a segment and the body behind it. */
        count = sni_outq_parts(outq, 0, parts, 2, engine->batch_lead);
        if (parts[0].size >= engine->batch_lead)
            count = 1;
        parts[count - 1].size = engine->batch_lead - (count == 2 ? parts[0].size : 0);
    }
    parts[count++] = sni_bytes(lane->data + lane->written, engine->batch_control);
    if (outq != NULL)
        count += sni_outq_parts(outq, engine->batch_lead, parts + count,
                                parts_max - count, SNI_SEND_BYTES);
    return count;
}

size_t
sni_engine_wrote(sni_engine *engine, size_t size)
{
    size_t lead = size < engine->batch_lead ? size : engine->batch_lead;
    size_t control;
    size_t ended = 0;

    if (lead > 0)
        ended += sni_outq_wrote(engine->cfg.outq, lead);
    size -= lead;
    control = size < engine->batch_control ? size : engine->batch_control;
    engine->control.written += control;
    size -= control;
    if (size > 0)
        ended += sni_outq_wrote(engine->cfg.outq, size);
    engine->batch_lead = 0;
    engine->batch_control = 0;
    SNI_ASSERT(engine->control.written <= engine->control.filled);
    if (engine->control.written == engine->control.filled && engine->control.filled > 0)
        control_advance(engine);
    return ended;
}

/* ---- time and the rest ------------------------------------------------- */

sennit_time
sni_engine_deadline(const sni_engine *engine, bool hearing)
{
    sennit_time ttl = hearing ? engine->ttl_deadline : SENNIT_NEVER;

    if (engine->state == BROKEN)
        return SENNIT_NEVER;
    return engine->handshake_deadline < ttl ? engine->handshake_deadline : ttl;
}

sennit_err
sni_engine_tick(sni_engine *engine, sennit_time now, bool hearing)
{
    if (engine->state == BROKEN)
        return engine->err;
    if (now >= engine->handshake_deadline)
        return fail(engine, SENNIT_ETIMEDOUT, "handshake not finished in time");
    if (hearing && now >= engine->ttl_deadline)
        return fail(engine, SENNIT_ETIMEDOUT,
                    "nothing received within the peer's PING TTL");
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
    return sni_bytes(engine->identity, engine->identity_size);
}

bool
sni_engine_control_waiting(const sni_engine *engine)
{
    return control_waiting(engine) > 0;
}

bool
sni_engine_in_traffic(const sni_engine *engine)
{
    return engine->state == TRAFFIC;
}
