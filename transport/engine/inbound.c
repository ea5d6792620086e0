/* SPDX-License-Identifier: MIT */
#include "engine/inbound.h"

#include "base/assert.h"
#include "base/limits.h"
#include "base/rare.h"
#include "wire/frame_v1.h"

/* Octets of a command around the longest topic: the name and its length. */
#define SUBSCRIBE_SIZE 10u

/* Bodies up to this size are copied out of a window that holds little else, so
 * that a small message kept by the application does not keep a large block. */
#define SPARSE_BODY_MAX   4096u
#define SPARSE_WINDOW_MAX 4096u

static uint64_t
smaller(uint64_t limit, uint64_t than)
{
    return limit > 0 && limit < than ? limit : than;
}

void
sni_inbound_init(sni_inbound *in, const sni_engine_cfg *cfg)
{
    *in = (sni_inbound){
        .alloc = cfg->alloc,
        .windows = cfg->windows,
        .bodies = cfg->bodies,
        .frame_max_bytes = cfg->frame_max_bytes,
        .message_max_bytes = cfg->message_max_bytes,
        .message_max_parts = cfg->message_max_parts,
        .peer = cfg->peer,
        .publisher = cfg->publisher,
        .raw = cfg->raw,
        .quick_max = (uint32_t)smaller(cfg->frame_max_bytes,
                                       smaller(cfg->message_max_bytes, UINT32_MAX)),
    };
}

void
sni_inbound_fini(sni_inbound *in)
{
    sni_window_release(&in->window);
}

void
sni_inbound_set_version(sni_inbound *in, uint8_t major)
{
    in->v1 = major == 1;
    in->has_commands = major >= 3;
}

void
sni_inbound_consume(sni_inbound *in, size_t size)
{
    in->window.scanned += size;
    in->window.parsed = in->window.scanned;
    sni_window_release_if_empty(&in->window);
}

/* ---- frames ------------------------------------------------------------ */

/* A head as libzmq's wire bug has it, see sni_command_misframed(). */
static sni_parse
tolerate(const sni_inbound *in, sennit_bytes bytes, sni_frame_head *head, size_t *used)
{
    sni_parse meant;

    if (!in->publisher || !in->has_commands)
        return SNI_PARSE_DONE;
    meant = sni_command_misframed(bytes, head, used);
    return meant == SNI_PARSE_BAD ? SNI_PARSE_DONE : meant;
}

/* The head of the next frame, in the peer's form. */
static inline sni_parse
read_head(const sni_inbound *in, sennit_bytes bytes, sni_frame_head *head, size_t *used)
{
    sni_parse parse;

    if (in->v1)
        return sni_frame_v1_head_read(bytes, head, used);
    parse = sni_frame_head_read(bytes, head, used);
    if (parse == SNI_PARSE_DONE && head->command && head->body_size == 0)
        return tolerate(in, bytes, head, used);
    return parse;
}

static const char *
check_limits(const sni_inbound *in, const sni_frame_head *head)
{
    if (in->frame_max_bytes > 0 && head->body_size > in->frame_max_bytes)
        return "frame larger than recv_frame_max_bytes";
    if (head->command && !in->has_commands)
        return "command from a peer whose version has none";
    if (head->command && head->body_size > SNI_TOPIC_MAX_BYTES + SUBSCRIBE_SIZE)
        return "command too large";
    if (head->command && in->message_parts == 0)
        return NULL;
    /* Commands inside a message stay in its window until it is whole. */
    if (in->message_max_bytes > 0 &&
        (head->body_size > in->message_max_bytes ||
         in->message_bytes > in->message_max_bytes - head->body_size))
        return "message larger than recv_message_max_bytes";
    if (!head->command && in->message_max_parts > 0 &&
        in->message_parts >= in->message_max_parts)
        return "message with more frames than recv_message_max_parts";
    return NULL;
}

/* ---- scanning ---------------------------------------------------------- */

/* Steps over messages of one frame each, which are nearly all there are. */
static inline void
scan_quick(sni_inbound *in)
{
    sni_window *window = &in->window;
    const uint8_t *from = window->home->data + window->scanned;
    const uint8_t *end = window->home->data + window->filled;
    const uint8_t *at = from;
    size_t count = 0;

    while (end - at >= 2) {
        size_t head = 2;
        uint64_t size = at[1];

        if (at[0] == SNI_FRAME_LONG && end - at >= (ptrdiff_t)SNI_FRAME_HEAD_MAX) {
            head = SNI_FRAME_HEAD_MAX;
            size = sni_get_u64(at + 1);
        } else if (at[0] != 0) {
            break;
        }
        if (size > in->quick_max || (size_t)(end - at) - head < size)
            break;
        at += head + (size_t)size;
        count++;
    }
    window->scanned += (size_t)(at - from);
    in->unread += count;
}

/* Takes commands that were looked at out of the end of [parsed, scanned): nobody
 * asks for them, so an application that does not ask for messages either would
 * collect them for ever. At most the beginning of one frame moves. */
static void
cut_out(sni_window *window, const sni_scan *scan)
{
    size_t begun = window->filled - window->scanned;

    if (scan->commands_to == 0 || scan->commands_to != window->scanned)
        return;
    memmove(window->home->data + scan->commands_from,
            window->home->data + window->scanned, begun);
    window->scanned = scan->commands_from;
    window->filled = scan->commands_from + begun;
    sni_window_release_if_empty(window);
}

static sni_scan_result
scan_command(sni_inbound *in, sni_scan *scan, sennit_bytes body, size_t size)
{
    size_t from = in->window.scanned;

    scan->problem = sni_command_read(body, &scan->command);
    if (scan->problem != NULL)
        return SNI_SCAN_BAD;
    if (in->message_parts > 0) {
        in->message_bytes += body.size;
    } else if (!in->publisher) {
        if (scan->commands_to != from)
            scan->commands_from = from;
        scan->commands_to = from + size;
    }
    in->window.scanned += size;
    scan->last = in->window.scanned == in->window.filled;
    return SNI_SCAN_COMMAND;
}

static void
scan_data(sni_inbound *in, const sni_frame_head *head, size_t size)
{
    if (head->more) {
        in->message_bytes += head->body_size;
        in->message_parts++;
    } else {
        in->message_bytes = 0;
        in->message_parts = 0;
        in->unread++;
    }
    in->window.scanned += size;
}

/* A peer that has sent so much once may have as much kept for it at once again. */
static inline void
prove(sni_inbound *in)
{
    size_t whole = in->window.scanned - in->window.parsed;

    if (whole > in->proven && whole <= UINT32_MAX)
        in->proven = (uint32_t)whole;
}

sni_scan_result
sni_inbound_scan(sni_inbound *in, sni_scan *scan)
{
    sni_window *window = &in->window;

    if (in->raw) {
        /* Without frames, what is there is the message. */
        window->scanned = window->filled;
        in->unread = window->scanned > window->parsed;
        return SNI_SCAN_DONE;
    }
    for (;;) {
        sennit_bytes bytes;
        sni_frame_head head;
        size_t used;
        sni_parse parse;

        if (in->message_parts == 0 && !in->v1 && window->home != NULL)
            scan_quick(in);
        bytes = sni_window_unscanned(window);
        parse = read_head(in, bytes, &head, &used);
        if (parse == SNI_PARSE_MORE)
            break;
        scan->problem =
            parse == SNI_PARSE_BAD ? "malformed frame head" : check_limits(in, &head);
        if (scan->problem != NULL)
            return SNI_SCAN_BAD;
        if (bytes.size - used < head.body_size)
            break;
        if (head.command)
            return scan_command(in, scan,
                                sni_bytes(bytes.data + used, (size_t)head.body_size),
                                used + (size_t)head.body_size);
        scan_data(in, &head, used + (size_t)head.body_size);
    }
    prove(in);
    cut_out(window, scan);
    return SNI_SCAN_DONE;
}

bool
sni_inbound_inside(const sni_inbound *in)
{
    return in->window.filled > in->window.scanned || in->message_parts > 0;
}

/* ---- handing out ------------------------------------------------------- */

/* Whether a frame is SUBSCRIBE or CANCEL. What messages say of subscriptions is read by
 * the pattern, which knows where a message begins. */
static bool
subscription(const sni_frame_head *head, const uint8_t *body, sni_engine_event *event)
{
    sni_command command;

    if (!head->command ||
        sni_command_read(sni_bytes(body, (size_t)head->body_size), &command) != NULL)
        return false;
    if (command.kind != SNI_COMMAND_SUBSCRIBE && command.kind != SNI_COMMAND_CANCEL)
        return false;
    event->kind =
        command.kind == SNI_COMMAND_SUBSCRIBE ? SNI_ENGINE_SUBSCRIBE : SNI_ENGINE_CANCEL;
    event->topic = command.data;
    return true;
}

/* Makes a message of a body in the window; false when a copy found no memory. */
static inline bool
take_body(sni_inbound *in, uint8_t *body, size_t size, bool more, sni_msg *msg)
{
    sni_window *window = &in->window;

    if (size <= SENNIT_MSG_INLINE_MAX) {
        sni_msg_init_small(msg, body, size, more, in->peer);
        return true;
    }
    if (size <= SPARSE_BODY_MAX && window->filled < SPARSE_WINDOW_MAX) {
        if (sni_msg_init_copy(msg, sni_bytes(body, size), in->bodies) != SENNIT_OK)
            return false;
        msg->more = more;
        msg->peer = in->peer;
        return true;
    }
    sni_msg_init_view(msg, body, size, sni_window_lend(window), more, in->peer);
    return true;
}

static bool
next_raw(sni_inbound *in, sni_engine_event *event)
{
    sni_window *window = &in->window;
    size_t size = (size_t)smaller(in->frame_max_bytes, window->scanned - window->parsed);

    if (in->unread == 0 ||
        !take_body(in, window->home->data + window->parsed, size, false, &event->msg))
        return false;
    window->parsed += size;
    in->unread = window->scanned > window->parsed;
    event->kind = SNI_ENGINE_MESSAGE;
    sni_window_release_if_empty(window);
    return true;
}

/* The head of a frame that was scanned; returns its size. */
static inline size_t
scanned_head(const sni_inbound *in, sni_frame_head *head)
{
    const sni_window *window = &in->window;
    const uint8_t *at = window->home->data + window->parsed;
    size_t used = 0;
    sni_parse parse;

    if (at[0] <= (SNI_FRAME_MORE | SNI_FRAME_LONG) && !in->v1) {
        bool is_long = at[0] & SNI_FRAME_LONG;

        *head = (sni_frame_head){ at[0] & SNI_FRAME_MORE, false,
                                  is_long ? sni_get_u64(at + 1) : at[1] };
        return is_long ? SNI_FRAME_HEAD_MAX : 2;
    }
    parse = read_head(in, sni_bytes(at, window->scanned - window->parsed), head, &used);
    SNI_ASSERT(parse == SNI_PARSE_DONE);
    return used;
}

bool
sni_inbound_next(sni_inbound *in, sni_engine_event *event)
{
    sni_window *window = &in->window;
    const bool publisher = in->publisher;

    if (in->raw)
        return next_raw(in, event);
    /* A publisher's subscriptions may stand behind the last whole message. */
    while (in->unread > 0 || (publisher && window->parsed < window->scanned)) {
        sni_frame_head head;
        size_t used = scanned_head(in, &head);
        size_t size = used + (size_t)head.body_size;
        uint8_t *body = window->home->data + window->parsed + used;

        if (in->unread == 0 && !head.command)
            return false;
        if (publisher && subscription(&head, body, event)) {
            window->parsed += size;
            return true;
        }
        if (!head.command &&
            !take_body(in, body, (size_t)head.body_size, head.more, &event->msg))
            return false;
        window->parsed += size;
        if (head.command)
            continue;
        if (!head.more)
            in->unread--;
        event->kind = SNI_ENGINE_MESSAGE;
        sni_window_release_if_empty(window);
        return true;
    }
    sni_window_release_if_empty(window);
    return false;
}

/* Nearly all: a short frame of data. Its receiver does not pay for the others. */
static inline bool
take_quick(sni_inbound *in, sni_msg *msg)
{
    sni_window *window = &in->window;
    uint8_t *at;
    size_t size;

    if (in->unread == 0 || in->raw || in->v1)
        return false;
    at = window->home->data + window->parsed;
    size = at[1];
    if (at[0] > SNI_FRAME_MORE ||
        !take_body(in, at + SNI_FRAME_HEAD_SHORT, size, at[0] == SNI_FRAME_MORE, msg))
        return false;
    window->parsed += SNI_FRAME_HEAD_SHORT + size;
    in->unread -= !msg->more;
    sni_window_release_if_empty(window);
    return true;
}

SNI_RARE static bool
take_any(sni_inbound *in, sni_msg *msg)
{
    sni_engine_event event;

    if (!sni_inbound_next(in, &event))
        return false;
    SNI_ASSERT(event.kind == SNI_ENGINE_MESSAGE);
    *msg = event.msg;
    return true;
}

bool
sni_inbound_take(sni_inbound *in, sni_msg *msg)
{
    return take_quick(in, msg) || take_any(in, msg);
}

/* ---- room -------------------------------------------------------------- */

/* How many bytes more may be waiting. A raw stream has no frame that asks for more. */
static size_t
allowance(const sni_inbound *in)
{
    size_t waiting = in->window.filled - in->window.parsed;

    if (!in->raw)
        return SIZE_MAX;
    return waiting < SNI_RECV_BYTES ? SNI_RECV_BYTES - waiting : 0;
}

/* Whether it is in a block that was made for a large frame. */
static bool
is_large(const sni_window *window)
{
    return window->home != NULL && window->home->capacity > SNI_RECV_BYTES;
}

/* Room that the next receive should have. */
static size_t
room_wanted(const sni_inbound *in)
{
    const sni_window *window = &in->window;
    sennit_bytes bytes = sni_window_unscanned(window);
    size_t wanted = SNI_RECV_MIN_BYTES;
    sni_frame_head head;
    size_t used;

    if (read_head(in, bytes, &head, &used) == SNI_PARSE_DONE) {
        uint64_t missing = used + head.body_size - bytes.size;
        size_t earned = SNI_RECV_BYTES + SNI_RECV_GROWTH * bytes.size;

        if (earned < in->proven)
            earned = in->proven;

        wanted = missing < earned ? (size_t)missing : earned;
        /* The last octets of a frame whose block is as large as the frame. */
        if (missing > sni_window_room(window) && wanted < SNI_RECV_MIN_BYTES)
            wanted = SNI_RECV_MIN_BYTES;
    }
    /* Frames that wait for the rest of their message move along: by doubling, so
     * that each octet moves a few times and not once per receive. */
    if (wanted > sni_window_room(window) && wanted < window->scanned - window->parsed)
        wanted = window->scanned - window->parsed;
    return wanted;
}

sennit_err
sni_inbound_sink(sni_inbound *in, sni_engine_room *room)
{
    sni_window *window = &in->window;
    size_t limit = in->raw ? allowance(in) : SIZE_MAX;
    size_t wanted;
    size_t size;

    *room = (sni_engine_room){ NULL, 0, NULL };
    if (window->home == NULL || limit == 0)
        return SENNIT_OK;
    wanted = in->raw ? (size_t)smaller(limit, SNI_RECV_MIN_BYTES) : room_wanted(in);
    size = sni_window_room(window);
    if (size < wanted && size < SNI_RECV_BYTES / 2) {
        sennit_err err = sni_window_reserve(window, in->bodies, in->windows, wanted);

        if (err)
            return err;
        size = sni_window_room(window);
    }
    /* What follows a large frame goes into a block of its own. */
    if (is_large(window) && size > wanted)
        size = wanted;
    *room = (sni_engine_room){ window->home->data + window->filled,
                               size < limit ? size : limit, window->home };
    return SENNIT_OK;
}

size_t
sni_inbound_spare(const sni_inbound *in)
{
    const sni_window *window = &in->window;
    size_t room = sni_window_room(window);

    /* What follows a large frame that was not read yet would take it along to a block of
     * twice the size. */
    if (is_large(window) && window->scanned == window->filled)
        return 0;
    return room < allowance(in) ? room : allowance(in);
}
