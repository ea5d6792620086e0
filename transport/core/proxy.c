/* SPDX-License-Identifier: MIT */
/* Each way is a small machine that moves whole messages frame by frame until it has to
 * wait: for input, for room, or (out of memory; a ROUTER whose one peer is full) for a
 * little time. Readiness is level-triggered, so the proxy always asks for exactly what
 * its ways wait for, and for nothing else: that is why it neither spins nor stalls.
 *
 * A message is received only when it may leave at once, so that what waits is in the
 * sockets' queues. Nothing here but the public interface of sockets and loops, and
 * core/sock.h for how a call fails and whose a socket is. */
#include "sennit/proxy.h"

#include <string.h>

#include "core/sock.h"

/* Moved one way before the other, and the rest of the loop, get their turn: messages,
 * and frames, so that many large envelopes count for what they are. */
#define BURST_MSGS   256
#define BURST_FRAMES 1024

/* Commands obeyed in a row; a flood of them must not stop the forwarding. */
#define COMMANDS_IN_A_ROW 8

/* What has no event of its own is tried again after this. */
#define RETRY_NS (2u * 1000u * 1000u)

#define STATISTICS_FRAMES 8

typedef enum waiting { WAITS_FOR_INPUT, WAITS_FOR_ROOM, WAITS_FOR_TIME } waiting;

typedef struct way {
    sennit_sock *in;
    sennit_sock *out;
    sennit_proxy_count *received;
    sennit_proxy_count *sent;
    sennit_msg frame; /* received and not sent yet, if `holds` */
    bool holds;
    bool copied;   /* the capture has it, or does without */
    bool inside;   /* frames of this message are through */
    bool drops;    /* nobody takes this message: its frames are discarded */
    bool captures; /* the capture gets this message */
    waiting waits;

    /* A REP that is its own back may answer only what it has wholly received. */
    bool gathers;
    bool whole;
    sennit_msg *frames;
    size_t frames_capacity;
    size_t frames_count;
    size_t frames_sent;
} way;

typedef enum command {
    COMMAND_OTHER,
    COMMAND_PAUSE,
    COMMAND_RESUME,
    COMMAND_TERMINATE,
    COMMAND_STATISTICS,
} command;

struct sennit_proxy {
    const sennit_allocator *alloc;
    sennit_loop *loop;
    sennit_sock *front;
    sennit_sock *back;
    sennit_sock *capture;
    sennit_sock *control;
    unsigned front_interest; /* what on_ready is set to */
    unsigned back_interest;
    way ways[2];
    size_t ways_count;
    const way *capturing; /* whose message the capture is in the middle of */
    sennit_timer retry;
    bool paused;
    bool ended;
    sennit_err why;

    bool control_inside; /* of a message of many frames, which is no command */
    bool control_retries;
    uint64_t reply[STATISTICS_FRAMES];
    size_t reply_size;  /* of each frame: a number, or nothing */
    size_t reply_count; /* frames; 0: no reply is due */
    size_t reply_sent;

    sennit_proxy_stats stats;
};

/* ---- ending ------------------------------------------------------------ */

/* A socket is of one proxy at a time. */
static void
claim(sennit_proxy *proxy, sennit_proxy *whose)
{
    proxy->front->proxy = whose;
    proxy->back->proxy = whose;
    if (proxy->capture != NULL)
        proxy->capture->proxy = whose;
    if (proxy->control != NULL)
        proxy->control->proxy = whose;
}

static void
end(sennit_proxy *proxy, sennit_err why)
{
    if (proxy->ended)
        return;
    claim(proxy, NULL);
    proxy->ended = true;
    proxy->why = why;
    sennit_timer_stop(proxy->loop, &proxy->retry);
    sennit_sock_on_ready(proxy->front, 0, NULL, NULL);
    sennit_sock_on_ready(proxy->back, 0, NULL, NULL);
    if (proxy->control != NULL)
        sennit_sock_on_ready(proxy->control, 0, NULL, NULL);
    for (size_t i = 0; i < proxy->ways_count; i++) {
        way *w = &proxy->ways[i];

        sennit_msg_fini(&w->frame);
        for (size_t k = w->frames_sent; k < w->frames_count; k++)
            sennit_msg_fini(&w->frames[k]);
        proxy->alloc->release(proxy->alloc->arg, w->frames);
        w->frames = NULL;
    }
}

void
sni_proxy_lost(sennit_proxy *proxy)
{
    end(proxy, SENNIT_ECLOSED);
}

/* What no later attempt could change. */
static bool
is_final(sennit_err err)
{
    return err == SENNIT_ETERM || err == SENNIT_ECLOSED || err == SENNIT_ETHREAD;
}

/* ---- one way ----------------------------------------------------------- */

/* True when a frame is held now. */
static bool
take(sennit_proxy *proxy, way *w)
{
    sennit_err err;

    if (!w->inside && !w->gathers && !(sennit_sock_ready(w->out) & SENNIT_WRITABLE)) {
        w->waits =
            sennit_sock_ready(w->in) & SENNIT_READABLE ? WAITS_FOR_ROOM : WAITS_FOR_INPUT;
        return false;
    }
    err = sennit_sock_recv(w->in, &w->frame, SENNIT_DONTWAIT);
    switch (err) {
    case SENNIT_OK:
        break;
    case SENNIT_ENOMEM:
        w->waits = WAITS_FOR_TIME;
        return false;
    case SENNIT_EAGAIN:
    case SENNIT_ESTATE:     /* REP, REQ: not its turn */
    case SENNIT_ECONNRESET: /* REQ: that reply will not come */
        w->waits = WAITS_FOR_INPUT;
        return false;
    default:
        end(proxy, err);
        return false;
    }
    w->holds = true;
    w->copied = proxy->capture == NULL;
    w->received->frames++;
    w->received->bytes += sennit_msg_size(&w->frame);
    w->received->msgs += !sennit_msg_more(&w->frame);
    return true;
}

/* The capture gets whole messages or none, one after the other. False: it is in the
 * middle of this one and there is no memory to go on. */
static bool
capture(sennit_proxy *proxy, way *w)
{
    bool more = sennit_msg_more(&w->frame);
    sennit_msg copy;
    sennit_err err = SENNIT_OK;

    if (!w->inside)
        w->captures = proxy->capturing == NULL;
    if (w->captures) {
        sennit_msg_init(&copy);
        sennit_msg_copy(&copy, &w->frame);
        err = sennit_sock_send(proxy->capture, &copy,
                               SENNIT_DONTWAIT | (more ? SENNIT_MORE : 0));
        sennit_msg_fini(&copy);
    }
    if (err && w->inside) {
        if (err != SENNIT_ENOMEM)
            end(proxy, err);
        w->waits = WAITS_FOR_TIME;
        return false;
    }
    if (err)
        w->captures = false;
    if (w->captures)
        proxy->capturing = more ? w : NULL;
    if (!more) {
        proxy->stats.captured_msgs += w->captures;
        proxy->stats.missed_msgs += !w->captures;
    }
    w->copied = true;
    return true;
}

/* A frame could not be sent. True: it never can, so its message is dropped. */
static bool
is_undeliverable(sennit_proxy *proxy, way *w, sennit_err err)
{
    if (err == SENNIT_EAGAIN || err == SENNIT_ENOMEM) {
        bool room = sennit_sock_ready(w->out) & SENNIT_WRITABLE;

        /* A ROUTER with router_mandatory has room, but not for this one. */
        w->waits = room || err == SENNIT_ENOMEM ? WAITS_FOR_TIME : WAITS_FOR_ROOM;
        return false;
    }
    /* Half a message is out: the next one must not look like its end. */
    if (is_final(err) || w->inside) {
        end(proxy, err);
        return false;
    }
    return true;
}

static void
count_sent(way *w, size_t size, bool more)
{
    w->sent->frames++;
    w->sent->bytes += size;
    w->sent->msgs += !more;
}

/* Puts the held frame to the others of its message; false without memory. */
static bool
gather(sennit_proxy *proxy, way *w)
{
    const sennit_allocator *alloc = proxy->alloc;

    if (w->frames_count == w->frames_capacity) {
        size_t capacity = w->frames_capacity == 0 ? 8 : 2 * w->frames_capacity;
        sennit_msg *frames =
            alloc->resize(alloc->arg, w->frames, capacity * sizeof *frames);

        if (frames == NULL) {
            w->waits = WAITS_FOR_TIME;
            return false;
        }
        w->frames = frames;
        w->frames_capacity = capacity;
    }
    w->inside = sennit_msg_more(&w->frame);
    w->whole = !w->inside;
    sennit_msg_init(&w->frames[w->frames_count]);
    sennit_msg_move(&w->frames[w->frames_count++], &w->frame);
    w->holds = false;
    return true;
}

/* Sends what was gathered, back to where it came from. */
static bool
answer(sennit_proxy *proxy, way *w)
{
    while (w->frames_sent < w->frames_count) {
        sennit_msg *frame = &w->frames[w->frames_sent];
        size_t size = sennit_msg_size(frame);
        bool more = w->frames_sent + 1 < w->frames_count;
        sennit_err err =
            sennit_sock_send(w->out, frame, SENNIT_DONTWAIT | (more ? SENNIT_MORE : 0));

        if (err) {
            if (err != SENNIT_ENOMEM && err != SENNIT_EAGAIN)
                end(proxy, err);
            w->waits = WAITS_FOR_TIME;
            return false;
        }
        count_sent(w, size, more);
        w->frames_sent++;
    }
    w->frames_count = 0;
    w->frames_sent = 0;
    w->whole = false;
    return true;
}

/* Moves one frame; false when the way has to wait. */
static bool
move(sennit_proxy *proxy, way *w)
{
    size_t size;
    bool more;

    if (w->whole)
        return answer(proxy, w);
    if (!w->holds && !take(proxy, w))
        return false;
    if (!w->copied && !capture(proxy, w))
        return false;
    if (w->gathers)
        return gather(proxy, w) && (w->inside || answer(proxy, w));
    size = sennit_msg_size(&w->frame);
    more = sennit_msg_more(&w->frame);
    if (!w->drops) {
        sennit_err err = sennit_sock_send(w->out, &w->frame,
                                          SENNIT_DONTWAIT | (more ? SENNIT_MORE : 0));

        if (err && !is_undeliverable(proxy, w, err))
            return false;
        w->drops = err != SENNIT_OK;
    }
    if (w->drops) {
        sennit_msg_fini(&w->frame);
        proxy->stats.dropped_msgs += !more;
    } else {
        count_sent(w, size, more);
    }
    w->holds = false;
    w->inside = more;
    w->drops = w->drops && more;
    return true;
}

static void
pump(sennit_proxy *proxy, way *w)
{
    size_t frames = 0;
    size_t msgs = 0;

    while (msgs < BURST_MSGS && frames < BURST_FRAMES) {
        do {
            if (!move(proxy, w))
                return;
            frames++;
        } while (w->inside);
        msgs++;
    }
    w->waits = WAITS_FOR_INPUT; /* of which there is some: the next turn comes at once */
}

/* ---- the turn ---------------------------------------------------------- */

static void on_sock(sennit_sock *sock, unsigned ready, void *arg);
static void on_retry(void *arg);

static void
ask(sennit_proxy *proxy, sennit_sock *sock, unsigned *interest, unsigned wanted)
{
    if (*interest == wanted)
        return;
    *interest = wanted;
    sennit_sock_on_ready(sock, wanted, on_sock, proxy);
}

static bool
is_at_rest(const sennit_proxy *proxy, const way *w)
{
    return proxy->paused && !w->inside && !w->holds && !w->whole;
}

/* Asks for what the ways wait for. */
static void
settle(sennit_proxy *proxy)
{
    unsigned front = 0;
    unsigned back = 0;
    bool time = proxy->control_retries;

    if (proxy->ended)
        return;
    for (size_t i = 0; i < proxy->ways_count; i++)
        time = time || (proxy->ways[i].waits == WAITS_FOR_TIME &&
                        !is_at_rest(proxy, &proxy->ways[i]));
    /* Without memory for a timer, whatever happens next is the time. */
    if (time && sennit_timer_start(proxy->loop, &proxy->retry, RETRY_NS, on_retry,
                                   proxy) != SENNIT_OK)
        front = SENNIT_READABLE | SENNIT_WRITABLE;
    for (size_t i = 0; i < proxy->ways_count; i++) {
        const way *w = &proxy->ways[i];

        if (is_at_rest(proxy, w))
            continue;
        if (w->waits == WAITS_FOR_INPUT)
            *(w->in == proxy->front ? &front : &back) |= SENNIT_READABLE;
        if (w->waits == WAITS_FOR_ROOM)
            *(w->out == proxy->front ? &front : &back) |= SENNIT_WRITABLE;
    }
    ask(proxy, proxy->front, &proxy->front_interest, front);
    if (proxy->back != proxy->front)
        ask(proxy, proxy->back, &proxy->back_interest, back);
}

static void
drive(sennit_proxy *proxy)
{
    for (size_t i = 0; i < proxy->ways_count && !proxy->ended; i++)
        if (!is_at_rest(proxy, &proxy->ways[i]))
            pump(proxy, &proxy->ways[i]);
    settle(proxy);
}

static void
on_sock(sennit_sock *sock, unsigned ready, void *arg)
{
    (void)sock;
    (void)ready;
    drive(arg);
}

/* ---- control ----------------------------------------------------------- */

static bool
is_text(const sennit_msg *msg, const char *text)
{
    sennit_bytes bytes = sennit_msg_bytes(msg);

    return bytes.size == strlen(text) && memcmp(bytes.data, text, bytes.size) == 0;
}

static command
command_of(const sennit_msg *msg)
{
    if (is_text(msg, "PAUSE"))
        return COMMAND_PAUSE;
    if (is_text(msg, "RESUME"))
        return COMMAND_RESUME;
    if (is_text(msg, "TERMINATE"))
        return COMMAND_TERMINATE;
    if (is_text(msg, "STATISTICS"))
        return COMMAND_STATISTICS;
    return COMMAND_OTHER;
}

/* False: there is no memory, and it is tried again. */
static bool
reply(sennit_proxy *proxy)
{
    bool rep = sennit_sock_get_type(proxy->control) == SENNIT_REP;

    while (proxy->reply_sent < proxy->reply_count) {
        bool more = proxy->reply_sent + 1 < proxy->reply_count;
        sennit_err err = sennit_sock_send_bytes(
            proxy->control, &proxy->reply[proxy->reply_sent], proxy->reply_size,
            SENNIT_DONTWAIT | (more ? SENNIT_MORE : 0));

        /* Begun must be finished, and a REP hears nothing before it has answered. */
        if (err && !is_final(err) && (rep || proxy->reply_sent > 0)) {
            proxy->control_retries = true;
            return false;
        }
        if (err)
            break; /* nobody listens */
        proxy->reply_sent++;
    }
    proxy->reply_count = 0;
    return true;
}

static void
obey(sennit_proxy *proxy, command what)
{
    const sennit_proxy_count *counts[] = {
        &proxy->stats.front_received,
        &proxy->stats.front_sent,
        &proxy->stats.back_received,
        &proxy->stats.back_sent,
    };
    sennit_sock_type type = sennit_sock_get_type(proxy->control);

    proxy->reply_sent = 0;
    proxy->reply_size = 0;
    proxy->reply_count = type == SENNIT_REP;
    switch (what) {
    case COMMAND_OTHER:
        break;
    case COMMAND_PAUSE:
        sennit_proxy_pause(proxy);
        break;
    case COMMAND_RESUME:
        sennit_proxy_resume(proxy);
        break;
    case COMMAND_TERMINATE:
        (void)reply(proxy);
        sennit_sock_flush(proxy->control); /* the loop may not turn again */
        end(proxy, SENNIT_OK);
        return;
    case COMMAND_STATISTICS:
        if (type == SENNIT_PULL || type == SENNIT_SUB)
            break;
        for (size_t i = 0; i < 4; i++) {
            proxy->reply[2 * i] = counts[i]->frames;
            proxy->reply[2 * i + 1] = counts[i]->bytes;
        }
        proxy->reply_size = sizeof proxy->reply[0];
        proxy->reply_count = STATISTICS_FRAMES;
        break;
    }
    (void)reply(proxy);
}

/* Takes one frame of a command; false when there is nothing to do now. */
static bool
listen(sennit_proxy *proxy)
{
    command what = COMMAND_OTHER;
    sennit_msg frame;
    sennit_err err;
    bool more;

    if (proxy->reply_count > 0 && !reply(proxy))
        return false;
    sennit_msg_init(&frame);
    err = sennit_sock_recv(proxy->control, &frame, SENNIT_DONTWAIT);
    if (err) {
        proxy->control_retries = err == SENNIT_ENOMEM;
        if (is_final(err))
            end(proxy, err);
        return false;
    }
    more = sennit_msg_more(&frame);
    if (!more && !proxy->control_inside)
        what = command_of(&frame);
    sennit_msg_fini(&frame);
    proxy->control_inside = more;
    if (!more)
        obey(proxy, what);
    return !proxy->ended;
}

static void
on_control(sennit_sock *sock, unsigned ready, void *arg)
{
    sennit_proxy *proxy = arg;

    (void)sock;
    (void)ready;
    proxy->control_retries = false;
    for (int i = 0; i < COMMANDS_IN_A_ROW && listen(proxy); i++)
        ;
    settle(proxy);
}

static void
on_retry(void *arg)
{
    sennit_proxy *proxy = arg;

    if (proxy->control_retries)
        on_control(proxy->control, 0, proxy);
    if (!proxy->ended)
        drive(proxy);
}

/* ---- opening ----------------------------------------------------------- */

static bool
receives(sennit_sock_type type)
{
    return type != SENNIT_PUB && type != SENNIT_PUSH;
}

static bool
sends(sennit_sock_type type)
{
    return type != SENNIT_SUB && type != SENNIT_PULL;
}

static bool
may_pass(const sennit_sock *in, const sennit_sock *out)
{
    return receives(sennit_sock_get_type(in)) && sends(sennit_sock_get_type(out));
}

/* It sends to whoever is there, without an envelope and without a turn. */
static bool
may_capture(sennit_sock_type type)
{
    return type == SENNIT_DEALER || type == SENNIT_PAIR || type == SENNIT_PUB ||
           type == SENNIT_PUSH || type == SENNIT_XPUB;
}

static bool
may_control(sennit_sock_type type)
{
    return type == SENNIT_REP || type == SENNIT_PAIR || type == SENNIT_DEALER ||
           type == SENNIT_PULL || type == SENNIT_SUB;
}

/* Whether the two may be joined; why not. */
static sennit_err
check_ends(const sennit_sock *front, const sennit_sock *back, const char **why)
{
    *why = "front and back are sockets of different loops";
    if (sennit_sock_get_loop(back) != sennit_sock_get_loop(front))
        return SENNIT_EINVAL;
    *why = "a STREAM's identities mean nothing to another socket";
    if (sennit_sock_get_type(front) == SENNIT_STREAM ||
        sennit_sock_get_type(back) == SENNIT_STREAM)
        return SENNIT_ENOTSUP;
    *why = "what neither front nor back receives the other cannot send";
    if (!may_pass(front, back) && !may_pass(back, front))
        return SENNIT_ENOTSUP;
    *why = "a REQ that is front and back would have to send first";
    if (front == back && sennit_sock_get_type(front) == SENNIT_REQ)
        return SENNIT_ENOTSUP;
    return SENNIT_OK;
}

static sennit_err
check_capture(const sennit_sock *front, const sennit_sock *back,
              const sennit_sock *captures, const char **why)
{
    if (captures == NULL)
        return SENNIT_OK;
    *why = "capture is a socket of another loop";
    if (sennit_sock_get_loop(captures) != sennit_sock_get_loop(front))
        return SENNIT_EINVAL;
    *why = "capture is the front or the back";
    if (captures == front || captures == back)
        return SENNIT_EEXIST;
    *why = "capture is a socket of another proxy that has not ended";
    if (captures->proxy != NULL)
        return SENNIT_EEXIST;
    *why = "capture is none of DEALER, PAIR, PUB, PUSH and XPUB";
    return may_capture(sennit_sock_get_type(captures)) ? SENNIT_OK : SENNIT_ENOTSUP;
}

static void
add_way(sennit_proxy *proxy, sennit_sock *in, sennit_sock *out,
        sennit_proxy_count *received, sennit_proxy_count *sent)
{
    way *w = &proxy->ways[proxy->ways_count];

    if (!may_pass(in, out))
        return;
    *w = (way){
        .in = in,
        .out = out,
        .received = received,
        .sent = sent,
        .gathers = in == out && sennit_sock_get_type(in) == SENNIT_REP,
    };
    sennit_msg_init(&w->frame);
    proxy->ways_count++;
}

static sennit_err
open_proxy(sennit_proxy **out, sennit_sock *front, sennit_sock *back,
           sennit_sock *captures)
{
    const sennit_allocator *alloc;
    const char *why = NULL;
    sennit_proxy *proxy;
    sennit_err err;

    if (back == NULL || out == NULL)
        return sni_loop_fail(front->loop, SENNIT_EINVAL,
                             back == NULL ? "back is NULL" : "out is NULL");
    if (front->loop->drive != NULL)
        return sni_loop_fail(front->loop, SENNIT_ENOTSUP,
                             "a proxy is for the sockets of a loop that its thread owns, "
                             "not of a hosted one");
    err = check_ends(front, back, &why);
    if (err == SENNIT_OK)
        err = check_capture(front, back, captures, &why);
    if (err == SENNIT_OK && (front->proxy != NULL || back->proxy != NULL)) {
        why = "front or back is a socket of another proxy that has not ended";
        err = SENNIT_EEXIST;
    }
    if (err)
        return sni_loop_fail(front->loop, err, why);
    alloc = sennit_loop_allocator(sennit_sock_get_loop(front));
    proxy = alloc->acquire(alloc->arg, sizeof *proxy);
    if (proxy == NULL)
        return sni_loop_fail(front->loop, SENNIT_ENOMEM, NULL);
    *proxy = (sennit_proxy){
        .alloc = alloc,
        .loop = sennit_sock_get_loop(front),
        .front = front,
        .back = back,
        .capture = captures,
    };
    /* So that there is a place for it when memory is short. */
    err = sennit_timer_start(proxy->loop, &proxy->retry, RETRY_NS, on_retry, proxy);
    if (err) {
        alloc->release(alloc->arg, proxy);
        return err;
    }
    sennit_timer_stop(proxy->loop, &proxy->retry);
    add_way(proxy, front, back, &proxy->stats.front_received, &proxy->stats.back_sent);
    if (back != front)
        add_way(proxy, back, front, &proxy->stats.back_received,
                &proxy->stats.front_sent);
    claim(proxy, proxy);
    settle(proxy);
    *out = proxy;
    return SENNIT_OK;
}

sennit_err
sennit_proxy_open(sennit_proxy **out, sennit_sock *front, sennit_sock *back,
                  sennit_sock *captures)
{
    sennit_err err = sni_sock_enter(front);

    if (front == NULL && sni_sock_enter(back) == SENNIT_OK)
        return sni_sock_leave(back, sni_loop_fail(back->loop, err, "front is NULL"));
    return err ? err : sni_sock_leave(front, open_proxy(out, front, back, captures));
}

static sennit_err
check_control(const sennit_proxy *proxy, const sennit_sock *control, const char **why)
{
    *why = "the proxy has ended";
    if (proxy->ended)
        return SENNIT_ESTATE;
    *why = "the proxy obeys a socket already";
    if (proxy->control != NULL)
        return SENNIT_ESTATE;
    *why = "control is NULL";
    if (control == NULL)
        return SENNIT_EINVAL;
    *why = "control is a socket of another loop";
    if (sennit_sock_get_loop(control) != proxy->loop)
        return SENNIT_EINVAL;
    *why = "control is a socket of a proxy already";
    if (control->proxy != NULL)
        return SENNIT_EEXIST;
    *why = "control is none of REP, PAIR, DEALER, PULL and SUB";
    return may_control(sennit_sock_get_type(control)) ? SENNIT_OK : SENNIT_ENOTSUP;
}

static sennit_err
steer(sennit_proxy *proxy, sennit_sock *control)
{
    const char *why = NULL;
    sennit_err err = check_control(proxy, control, &why);

    if (err)
        return sni_loop_fail(proxy->loop, err, why);
    proxy->control = control;
    control->proxy = proxy;
    sennit_sock_on_ready(control, SENNIT_READABLE, on_control, proxy);
    return SENNIT_OK;
}

sennit_err
sennit_proxy_steer(sennit_proxy *proxy, sennit_sock *control)
{
    sennit_err err = sni_loop_enter(proxy == NULL ? NULL : proxy->loop);

    if (err)
        return err;
    err = steer(proxy, control);
    sni_loop_leave(proxy->loop);
    return err;
}

void
sennit_proxy_pause(sennit_proxy *proxy)
{
    if (proxy == NULL)
        return;
    sni_loop_insist(proxy->loop, "sennit_proxy_pause");
    proxy->paused = true;
    settle(proxy);
    sni_loop_leave(proxy->loop);
}

void
sennit_proxy_resume(sennit_proxy *proxy)
{
    if (proxy == NULL)
        return;
    sni_loop_insist(proxy->loop, "sennit_proxy_resume");
    proxy->paused = false;
    settle(proxy);
    sni_loop_leave(proxy->loop);
}

void
sennit_proxy_stop(sennit_proxy *proxy)
{
    if (proxy == NULL)
        return;
    sni_loop_insist(proxy->loop, "sennit_proxy_stop");
    end(proxy, SENNIT_OK);
    sni_loop_leave(proxy->loop);
}

bool
sennit_proxy_ended(const sennit_proxy *proxy, sennit_err *why)
{
    bool ended = proxy == NULL || proxy->ended;

    if (ended && why != NULL)
        *why = proxy == NULL ? SENNIT_EINVAL : proxy->why;
    return ended;
}

sennit_err
sennit_proxy_run(sennit_proxy *proxy)
{
    if (proxy == NULL)
        return SENNIT_EINVAL;
    while (!proxy->ended) {
        sennit_err err = sennit_loop_turn(proxy->loop, -1);

        if (err == SENNIT_ETERM)
            end(proxy, err);
        else if (err && !proxy->ended)
            return err;
    }
    return proxy->why;
}

void
sennit_proxy_get_stats(const sennit_proxy *proxy, sennit_proxy_stats *out)
{
    if (out == NULL)
        return;
    *out = proxy == NULL ? (sennit_proxy_stats){ 0 } : proxy->stats;
    out->paused = proxy != NULL && proxy->paused;
}

void
sennit_proxy_close(sennit_proxy *proxy)
{
    sennit_loop *loop;

    if (proxy == NULL)
        return;
    loop = proxy->loop;
    sni_loop_insist(loop, "sennit_proxy_close");
    end(proxy, SENNIT_OK);
    proxy->alloc->release(proxy->alloc->arg, proxy);
    sni_loop_leave(loop);
}
