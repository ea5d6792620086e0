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

static void
write_down(fake_peer *to, const sni_msg *msg, bool more)
{
    sennit_bytes body = sennit_msg_bytes((const sennit_msg *)(const void *)msg);
    size_t used = strlen(to->out);

    assert_true(used + body.size + 2 < sizeof to->out);
    snprintf(to->out + used, sizeof to->out - used, "%.*s%c", (int)body.size,
             body.size > 0 ? (const char *)body.data : "", more ? '|' : ';');
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

static void
fan(sni_pattern *pattern, sni_peer **peers, size_t count, sni_msg *msg, bool more)
{
    (void)pattern;
    for (size_t i = 0; i < count; i++)
        if (peers[i] != NULL)
            write_down(peer_of(peers[i]), msg, more);
    sennit_msg_fini(sni_msg_public(msg));
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
    assert_int_equal(
        sennit_msg_init_copy(sni_msg_public(msg), frame->text, strlen(frame->text)),
        SENNIT_OK);
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

    if (f->tells_failing > 0) {
        f->tells_failing--;
        return SENNIT_ENOMEM;
    }
    snprintf(to->told + used, sizeof to->told - used, "%c%.*s", on ? '+' : '-',
             (int)topic.size, topic.size > 0 ? (const char *)topic.data : "");
    return SENNIT_OK;
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
    .random = scripted_random,
};

void
fake_open(fake *f, sennit_sock_type type, bool mandatory)
{
    uint64_t random = f->random;

    memset(f, 0, sizeof *f);
    f->random = random;
    f->opts = (sennit_sock_opts)SENNIT_SOCK_OPTS_DEFAULT;
    f->opts.router_mandatory = mandatory;
    test_alloc_init(&f->alloc);
    for (int i = 0; i < FAKE_PEERS_MAX; i++)
        sni_peer_init(&f->peers[i].peer);
    sni_pattern_init(&f->pattern, type, &port, &f->alloc.allocator, &f->stats, &f->opts);
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

    peer->number = (uint32_t)i + 1;
    assert_int_equal(sni_pattern_attach(&f->pattern, peer), SENNIT_OK);
    assert_int_equal(
        sni_pattern_connected(&f->pattern, peer, sni_bytes(identity, strlen(identity))),
        SENNIT_OK);
    return peer;
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

    assert_int_equal(sennit_msg_init_copy(&msg, text, strlen(text)), SENNIT_OK);
    err = sni_pattern_send(&f->pattern, sni_msg_of(&msg), more);
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
        err = sni_pattern_recv(&f->pattern, &msg);
        if (err)
            return sennit_err_name(err);
        body = sennit_msg_bytes(sni_msg_public(&msg));
        more = msg.more;
        used += (size_t)snprintf(
            f->received + used, sizeof f->received - used, "%.*s%s", (int)body.size,
            body.size > 0 ? (const char *)body.data : "", more ? "|" : "");
        assert_true(used < sizeof f->received);
        sennit_msg_fini(sni_msg_public(&msg));
    } while (more);
    return f->received;
}

const char *
fake_out(fake *f, int i)
{
    return f->peers[i].out;
}
