/* SPDX-License-Identifier: MIT */
#include "fake.h"

#include <stdio.h>

static fake *
fake_of(sni_pattern *pattern)
{
    return SNI_OWNER_OF(pattern, fake, pattern);
}

static fake_peer *
peer_of(sni_peer *peer)
{
    return (fake_peer *)(void *)peer;
}

static bool
fails(unsigned *before, unsigned *failing)
{
    if (*failing == 0)
        return false;
    if (*before > 0) {
        (*before)--;
        return false;
    }
    (*failing)--;
    return true;
}

/* Appends what a frame holds; returns the new length. */
static size_t
render(char *to, size_t used, size_t size, sennit_bytes body)
{
    for (size_t i = 0; i < body.size; i++) {
        uint8_t c = body.data[i];

        assert_true(used + 4 < size);
        if (i == 0 && c < 2)
            used += (size_t)snprintf(to + used, size - used, "%c", c == 1 ? '+' : '-');
        else if (c >= ' ' && c < 0x7f)
            used += (size_t)snprintf(to + used, size - used, "%c", c);
        else
            used += (size_t)snprintf(to + used, size - used, "\\%02x", c);
    }
    return used;
}

/* The other way round, for the first octet. */
static void
make_frame(sennit_msg *msg, const char *text, size_t size)
{
    assert_int_equal(sennit_msg_init_copy(msg, text, size), SENNIT_OK);
    if (size > 0 && (text[0] == '+' || text[0] == '-'))
        *(uint8_t *)sennit_msg_data(msg) = text[0] == '+';
}

static void
write_down(fake_peer *to, const sni_msg *msg, bool more)
{
    sennit_bytes body = sennit_msg_bytes((const sennit_msg *)(const void *)msg);
    size_t used = render(to->out, strlen(to->out), sizeof to->out - 2, body);

    snprintf(to->out + used, sizeof to->out - used, "%c", more ? '|' : ';');
    if (more)
        return;
    to->queued++;
    if (to->hwm > 0 && to->queued >= to->hwm)
        to->peer.writable = false;
}

static sennit_err
push(sni_peer *peer, sni_msg *msg, bool more)
{
    fake *f = fake_of(peer->pattern);

    if (fails(&f->pushes_before, &f->pushes_failing))
        return SENNIT_ENOMEM;
    write_down(peer_of(peer), msg, more);
    sennit_msg_fini(sni_msg_public(msg));
    return SENNIT_OK;
}

static size_t
fan(sni_pattern *pattern, sni_peer **peers, size_t count, sni_msg *msg, bool more)
{
    (void)pattern;
    for (size_t i = 0; i < count; i++)
        if (peers[i] != NULL)
            write_down(peer_of(peers[i]), msg, more);
    sennit_msg_fini(sni_msg_public(msg));
    return count;
}

static sennit_err
pull(sni_peer *peer, sni_msg *msg)
{
    fake *f = fake_of(peer->pattern);
    fake_peer *from = peer_of(peer);
    fake_frame *frame = &from->in[from->in_first];

    if (from->in_count == 0)
        return SENNIT_EAGAIN;
    if (fails(&f->pulls_before, &f->pulls_failing))
        return SENNIT_ENOMEM;
    make_frame(sni_msg_public(msg), frame->text, strlen(frame->text));
    msg->more = frame->more;
    msg->peer = peer->number;
    from->in_first++;
    from->in_count--;
    peer->unread -= !frame->more;
    return SENNIT_OK;
}

static sennit_err
subscribe(sni_peer *peer, bool on, sennit_bytes topic)
{
    fake *f = fake_of(peer->pattern);
    fake_peer *to = peer_of(peer);
    size_t used = strlen(to->told);

    if (fails(&f->tells_before, &f->tells_failing))
        return SENNIT_ENOMEM;
    snprintf(to->told + used, sizeof to->told - used, "%c%.*s", on ? '+' : '-',
             (int)topic.size, topic.size > 0 ? (const char *)topic.data : "");
    return SENNIT_OK;
}

static sennit_err
greet(sni_peer *peer, sennit_bytes body)
{
    fake_peer *to = peer_of(peer);
    size_t used;

    if (fails(&fake_of(peer->pattern)->pushes_before,
              &fake_of(peer->pattern)->pushes_failing))
        return SENNIT_ENOMEM;
    used = render(to->greeted, strlen(to->greeted), sizeof to->greeted - 2, body);
    snprintf(to->greeted + used, sizeof to->greeted - used, ";");
    return SENNIT_OK;
}

static bool
make_room(sni_peer *peer, const sni_msg *first)
{
    fake_peer *of = peer_of(peer);

    (void)first;
    assert_false(peer->writable);
    if (of->droppable == 0)
        return false;
    of->droppable--;
    of->queued--;
    peer->writable = true;
    fake_of(peer->pattern)->stats.dropped_slow_msgs++;
    sni_pattern_writable(peer);
    return true;
}

static void
missed(sni_peer *peer)
{
    peer_of(peer)->missed++;
    peer->slow = true;
    fake_of(peer->pattern)->stats.dropped_hwm_msgs++;
}

static void
disconnect(sni_peer *peer, bool flush, sennit_err err, const char *reason)
{
    fake_peer *of = peer_of(peer);

    if (of->ended != NULL)
        return; /* the first reason counts */
    of->ended = reason;
    of->ended_err = err;
    of->flushed = flush;
}

static void
resume(sni_peer *peer)
{
    assert_false(peer->paused);
    peer_of(peer)->resumed++;
}

static void
noticed(sni_pattern *pattern)
{
    fake_of(pattern)->noticed++;
}

static void
event(sni_peer *peer, sennit_event_kind kind, sennit_bytes topic)
{
    fake *f = fake_of(peer->pattern);
    size_t used = strlen(f->events);

    if (!(f->opts.events & 1u << kind) || used + topic.size + 3 >= sizeof f->events)
        return;
    snprintf(f->events + used, sizeof f->events - used, "%d%c%.*s",
             (int)(peer_of(peer) - f->peers), kind == SENNIT_EVENT_SUBSCRIBED ? '+' : '-',
             (int)topic.size, topic.size > 0 ? (const char *)topic.data : "");
}

static uint64_t
scripted_random(sni_pattern *pattern)
{
    return fake_of(pattern)->random;
}

static const sni_port port = {
    .push = push,
    .fan = fan,
    .pull = pull,
    .subscribe = subscribe,
    .greet = greet,
    .make_room = make_room,
    .missed = missed,
    .disconnect = disconnect,
    .resume = resume,
    .noticed = noticed,
    .event = event,
    .random = scripted_random,
};

void
fake_open(fake *f, sennit_sock_type type, bool mandatory)
{
    uint64_t random = f->random;
    uint64_t fail_at = f->fail_at;

    memset(f, 0, sizeof *f);
    f->random = random;
    f->fail_at = fail_at;
    f->patient = fail_at > 0;
    f->opts = (sennit_sock_opts)SENNIT_SOCK_OPTS_DEFAULT;
    f->opts.router_mandatory = mandatory;
    test_alloc_init(&f->alloc);
    for (int i = 0; i < FAKE_PEERS_MAX; i++)
        sni_peer_init(&f->peers[i].peer);
    sni_pattern_init(&f->pattern, type, &port, &f->alloc.allocator, &f->stats, &f->opts);
    if (fail_at > 0)
        test_alloc_fail_at(&f->alloc, fail_at);
}

/* Whether a call is to be made again. */
static bool
again(const fake *f, sennit_err err)
{
    return f->patient && err == SENNIT_ENOMEM;
}

void
fake_close(fake *f)
{
    for (int i = 0; i < FAKE_PEERS_MAX; i++)
        if (f->peers[i].peer.pattern != NULL)
            fake_leave(f, i);
    sni_pattern_fini(&f->pattern);
    assert_int_equal(f->alloc.live_blocks, 0);
}

sni_peer *
fake_join(fake *f, int i, const char *identity)
{
    sni_peer *peer = &f->peers[i].peer;
    sennit_err err;

    peer->number = (uint32_t)i + 1;
    do {
        err = sni_pattern_attach(&f->pattern, peer);
    } while (again(f, err));
    assert_int_equal(err, SENNIT_OK);
    fake_return(f, i, identity);
    return peer;
}

void
fake_return(fake *f, int i, const char *identity)
{
    sennit_bytes bytes = sni_bytes(identity, strlen(identity));
    sennit_err err;

    f->peers[i].ended = NULL;
    do {
        f->peers[i].greeted[0] = '\0';
        err = sni_pattern_connected(&f->pattern, &f->peers[i].peer, bytes);
    } while (again(f, err));
    assert_int_equal(err, SENNIT_OK);
}

void
fake_lose(fake *f, int i)
{
    sni_pattern_disconnected(&f->pattern, &f->peers[i].peer, f->peers[i].queued == 0);
}

void
fake_leave(fake *f, int i)
{
    fake_peer *gone = &f->peers[i];

    sni_pattern_detach(&f->pattern, &gone->peer);
    sennit_msg_fini(&gone->peer.identity);
    sni_peer_init(&gone->peer);
    gone->in_count = 0;
    gone->in_first = 0;
    gone->queued = 0;
}

void
fake_offer(fake *f, int i, const char *messages)
{
    fake_peer *from = &f->peers[i];
    const char *at = messages;

    if (from->in_count == 0)
        from->in_first = 0;
    for (;;) {
        size_t size = strcspn(at, "|;");
        fake_frame *frame = &from->in[from->in_first + from->in_count++];

        assert_true(from->in_first + from->in_count <= FAKE_FRAMES_MAX);
        assert_true(size < sizeof frame->text);
        snprintf(frame->text, sizeof frame->text, "%.*s", (int)size, at);
        frame->more = at[size] == '|';
        from->peer.unread += !frame->more;
        if (at[size] == '\0')
            break;
        at += size + 1;
    }
    sni_pattern_readable(&from->peer);
}

void
fake_hear(fake *f, int i, bool on, const char *topic)
{
    sennit_err err;

    do {
        err = sni_pattern_subscription(&f->pattern, &f->peers[i].peer, on,
                                       sni_bytes(topic, strlen(topic)));
    } while (again(f, err));
    assert_int_equal(err, SENNIT_OK);
}

void
fake_say(fake *f, int i, const char *messages)
{
    const char *at = messages;

    for (;;) {
        size_t size = strcspn(at, "|;");
        sennit_msg msg;
        sennit_err err;

        make_frame(&msg, at, size);
        sni_msg_of(&msg)->more = at[size] == '|';
        sni_msg_of(&msg)->peer = f->peers[i].peer.number;
        do {
            err = f->pattern.ops->take(&f->pattern, &f->peers[i].peer, sni_msg_of(&msg));
        } while (again(f, err));
        assert_int_equal(err, SENNIT_OK);
        sennit_msg_fini(&msg);
        if (at[size] == '\0')
            return;
        at += size + 1;
    }
}

void
fake_drain(fake *f, int i, size_t count)
{
    fake_peer *peer = &f->peers[i];

    assert_true(count <= peer->queued);
    peer->queued -= count;
    if (peer->peer.writable)
        return;
    peer->peer.writable = true;
    sni_pattern_writable(&peer->peer);
}

sennit_err
fake_send_frame(fake *f, const char *text, bool more)
{
    sennit_msg msg;
    sennit_err err;

    make_frame(&msg, text, strlen(text));
    do {
        err = sni_pattern_send(&f->pattern, sni_msg_of(&msg), more);
    } while (again(f, err));
    /* Moved on success, untouched on failure. */
    assert_int_equal(sennit_msg_size(&msg), err ? strlen(text) : 0);
    sennit_msg_fini(&msg);
    return err;
}

void
fake_send(fake *f, const char *message)
{
    char text[200];
    const char *at = message;

    for (;;) {
        size_t size = strcspn(at, "|");

        snprintf(text, sizeof text, "%.*s", (int)size, at);
        assert_int_equal(fake_send_frame(f, text, at[size] == '|'), SENNIT_OK);
        if (at[size] == '\0')
            return;
        at += size + 1;
    }
}

const char *
fake_recv(fake *f)
{
    size_t used = 0;
    bool more;
    sni_msg msg;

    f->received[0] = '\0';
    do {
        sennit_err err;
        sennit_bytes body;

        sennit_msg_init(sni_msg_public(&msg));
        do {
            err = sni_pattern_recv(&f->pattern, &msg);
        } while (again(f, err));
        if (err)
            return sennit_err_name(err);
        body = sennit_msg_bytes(sni_msg_public(&msg));
        more = msg.more;
        used = render(f->received, used, sizeof f->received - 2, body);
        used += (size_t)snprintf(f->received + used, sizeof f->received - used, "%s",
                                 more ? "|" : "");
        sennit_msg_fini(sni_msg_public(&msg));
    } while (more);
    return f->received;
}

const char *
fake_recv_all(fake *f)
{
    static char all[8192];
    size_t used = 0;
    const char *got = fake_recv(f);

    all[0] = '\0';
    while (strcmp(got, "EAGAIN") != 0) {
        used += (size_t)snprintf(all + used, sizeof all - used, "%s;", got);
        assert_true(used < sizeof all);
        got = fake_recv(f);
    }
    return all;
}

const char *
fake_out(fake *f, int i)
{
    return f->peers[i].out;
}

void
fake_every_failure(fake *f, void (*scenario)(void))
{
    uint64_t k = 0;

    do {
        f->fail_at = ++k;
        scenario();
    } while (f->alloc.failed > 0);
    f->fail_at = 0;
    assert_true(k > 1);
}
