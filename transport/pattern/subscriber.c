/* SPDX-License-Identifier: MIT */
/* What the subscribers of a PUB or XPUB said (RFC 29). A peer's topics are a set (libzmq
 * sends n subscribes and one cancel, so counting them would leak); how often it said so
 * is kept for VERBOSER, which takes back as many as it told.
 *
 * Law: a notice is made before the topics change, so that want of memory changes
 * nothing. Only a peer that leaves cannot be refused: what could not be told of its
 * topics stays in the trie, matches nobody, and is told before the next fetch. */
#include "pattern/notices.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "pattern/pattern.h"

/* So many unread notices are looked through for what comes to nothing, before there is
 * room for more. */
#define CANCEL_FROM 1024u

/* As much as a frame takes at most in a window beside its body: frames without one count
 * too. */
#define FRAME_HEAD_BYTES 9u

static void
count_topics(sni_pattern *pattern)
{
    pattern->stats->subscriptions = pattern->topics.entries;
    pattern->stats->topics = pattern->topics.keys;
}

static bool
manual(const sni_pattern *pattern)
{
    return pattern->opts->xpub_manual != SENNIT_XPUB_AUTOMATIC;
}

bool
sni_subscription_read(sennit_bytes frame, bool *on, sennit_bytes *topic)
{
    if (frame.size == 0 || frame.data[0] > 1)
        return false;
    *on = frame.data[0] == 1;
    *topic = sni_bytes(frame.data + 1, frame.size - 1);
    return true;
}

/* ---- a subscriber -------------------------------------------------------- */

/* Of this connection; NULL: no memory. */
static sni_subscriber *
subscriber_of(const sni_pattern *pattern, sni_peer *peer)
{
    sni_subscriber *subscriber = peer->subscriber;

    if (subscriber != NULL)
        return subscriber;
    subscriber = sni_acquire_zero(pattern->alloc, sizeof *subscriber);
    if (subscriber == NULL)
        return NULL;
    subscriber->peer = peer;
    subscriber->number = peer->number;
    sni_link_init(&subscriber->gone);
    sni_msgq_init(&subscriber->open, pattern->alloc);
    peer->subscriber = subscriber;
    return subscriber;
}

static void
subscriber_free(const sni_pattern *pattern, sni_subscriber *subscriber)
{
    sni_link_remove(&subscriber->gone);
    sni_msgq_fini(&subscriber->open);
    sni_release(pattern->alloc, subscriber->topics.nodes);
    sni_release(pattern->alloc, subscriber->asked.nodes);
    sni_release(pattern->alloc, subscriber->given.nodes);
    sni_release(pattern->alloc, subscriber);
}

/* Frees it when its connection is gone and nothing is left of it. */
static void
drop_if_done(sni_pattern *pattern, sni_subscriber *subscriber)
{
    if (subscriber != NULL && subscriber->peer == NULL && !subscriber->owes &&
        subscriber->notices == 0 && subscriber->messages == 0 &&
        pattern->last != subscriber)
        subscriber_free(pattern, subscriber);
}

/* What it has unread here is not more than others leave in their window: kept apart it
 * would have no bound but its number. */
static bool
over_mark(const sni_pattern *pattern, const sni_subscriber *subscriber)
{
    size_t msgs = (size_t)pattern->opts->recv_hwm_msgs;
    uint64_t bytes = pattern->opts->recv_hwm_bytes;

    return (msgs > 0 && subscriber->messages >= msgs) ||
           (bytes > 0 && subscriber->bytes >= bytes) ||
           subscriber->bytes + subscriber->frames * FRAME_HEAD_BYTES >= SNI_RECV_BYTES;
}

static void
count_notices(sni_subscriber *subscriber)
{
    sni_peer *peer = subscriber->peer;

    if (peer == NULL)
        return;
    peer->notices = (uint32_t)(subscriber->notices + subscriber->messages);
    peer->notice_bytes = subscriber->notice_bytes + subscriber->bytes;
}

/* ---- subscriptions ------------------------------------------------------- */

/* A frame of an unread message is not here any more. */
static void
one_frame_less(sni_pattern *pattern, sni_subscriber *from, const sni_msg *msg)
{
    size_t size = sni_msg_size_of(msg);

    from->frames--;
    from->bytes -= size;
    if (from->peer == NULL)
        pattern->left -= sni_notice_cost(1, size);
}

/* It was taken out unread. */
static void
one_less(const sni_notice *notice, void *arg)
{
    sni_pattern *pattern = arg;
    sni_subscriber *from = notice->from;

    if (notice->kind == SNI_NOTICE_MESSAGE) {
        one_frame_less(pattern, from, &notice->msg);
        from->messages -= !notice->msg.more;
        pattern->stats->dropped_unread_msgs += !notice->msg.more;
    } else {
        from->notices--;
        from->notice_bytes -= sni_msg_size_of(&notice->msg);
    }
    count_notices(from);
    drop_if_done(pattern, from);
}

/* Room for more notices. An application that does not read is told of what is, not of
 * all that was: else every subscriber that came and went would stay in memory.
 * Errors: ENOMEM. */
static sennit_err
make_room(sni_pattern *pattern, size_t needed)
{
    sni_notices *notices = &pattern->notices;
    size_t room = notices->capacity - notices->count;

    if (room < needed && notices->count >= CANCEL_FROM) {
        sni_notices_cancel(notices, one_less, pattern);
        room = notices->capacity - notices->count;
        /* So that the next time is not soon. */
        if (notices->count > notices->capacity / 2 && room >= needed)
            needed = room + 1;
    }
    return sni_notices_reserve(notices, needed);
}

/* Makes what is received of a subscription, and room for it. PUB receives nothing.
 * Errors: ENOMEM. */
static sennit_err
prepare(sni_pattern *pattern, bool on, sennit_bytes topic, sni_msg *msg)
{
    uint8_t *data;
    sennit_err err;

    sennit_msg_init(sni_msg_public(msg));
    if (pattern->type != SENNIT_XPUB)
        return SENNIT_OK;
    err = make_room(pattern, 1);
    if (err == SENNIT_OK)
        err = sni_pattern_message(pattern, msg, topic.size + 1);
    if (err)
        return err;
    data = sennit_msg_data(sni_msg_public(msg));
    data[0] = on;
    sni_bytes_put(data + 1, topic);
    return SENNIT_OK;
}

/* What the application hears of a subscription. */
typedef struct telling {
    uint32_t times; /* so often */
    bool first;     /* as in sni_notice */
} telling;

/* Has what was prepared received. */
static void
notify(sni_pattern *pattern, sni_subscriber *from, bool on, telling tell, sni_msg *msg)
{
    sennit_xpub_verbose verbose = pattern->opts->xpub_verbose;
    sni_notice notice = {
        .msg = *msg,
        .from = from,
        .kind = on ? SNI_NOTICE_SUBSCRIBED : SNI_NOTICE_UNSUBSCRIBED,
        .times = tell.times,
        .own = manual(pattern) || verbose == SENNIT_XPUB_VERBOSER,
        .whole = manual(pattern) ? verbose != SENNIT_XPUB_VERBOSER
                                 : verbose == SENNIT_XPUB_VERBOSE,
        .first = tell.first,
    };

    if (tell.times == 0 || pattern->type != SENNIT_XPUB) {
        sennit_msg_fini(sni_msg_public(msg));
        return;
    }
    notice.msg.peer = from->number;
    from->notices++;
    from->notice_bytes += sni_msg_size_of(&notice.msg);
    sni_notices_push(&pattern->notices, &notice);
    count_notices(from);
    pattern->port->noticed(pattern);
}

static void
tell_monitor(const sni_subscriber *of, sennit_event_kind kind, sennit_bytes topic)
{
    if (of->peer != NULL)
        of->peer->pattern->port->event(of->peer, kind, topic);
}

/* The peer gets a topic. */
static sennit_err
add_topic(sni_pattern *pattern, sni_subscriber *to, sennit_bytes topic, telling *tell)
{
    size_t topics = pattern->topics.keys;
    uint32_t count;
    sennit_err err = sni_trie_add(&pattern->topics, topic, to, &to->topics, &count);

    if (err)
        return err;
    tell->first = pattern->topics.keys > topics;
    tell->times = tell->first || pattern->opts->xpub_verbose != SENNIT_XPUB_FIRST;
    count_topics(pattern);
    if (count > 1)
        return SENNIT_OK;
    to->peer->topics++;
    to->topic_bytes += topic.size;
    tell_monitor(to, SENNIT_EVENT_SUBSCRIBED, topic);
    return SENNIT_OK;
}

/* The peer gets it no more. Errors: ENOENT. */
static sennit_err
remove_topic(sni_pattern *pattern, sni_subscriber *from, sennit_bytes topic,
             telling *tell)
{
    size_t topics = pattern->topics.keys;
    bool each = pattern->opts->xpub_verbose == SENNIT_XPUB_VERBOSER;
    uint32_t told = each ? sni_trie_count(&pattern->topics, topic, from) : 1;
    uint32_t left;
    sennit_err err =
        sni_trie_remove(&pattern->topics, topic, from, &from->topics, true, &left);

    if (err)
        return err;
    tell->times = each || pattern->topics.keys < topics ? told : 0;
    count_topics(pattern);
    from->peer->topics--;
    from->topic_bytes -= topic.size;
    tell_monitor(from, SENNIT_EVENT_UNSUBSCRIBED, topic);
    return SENNIT_OK;
}

/* Whether the application gave it that, which is then not for the peer to give back. */
static bool
was_given(const sni_pattern *pattern, const sni_subscriber *to, sennit_bytes topic)
{
    return sni_trie_count(&pattern->given, topic, to) > 0;
}

/* Errors: ENOENT. */
static sennit_err
take_from(sni_pattern *pattern, sni_subscriber *from, sennit_bytes topic)
{
    telling untold;
    uint32_t left;

    (void)sni_trie_remove(&pattern->given, topic, from, &from->given, true, &left);
    return remove_topic(pattern, from, topic, &untold);
}

static sennit_err
give_to(sni_pattern *pattern, sni_subscriber *to, sennit_bytes topic)
{
    telling untold;
    uint32_t count;
    sennit_err err = sni_trie_add(&pattern->given, topic, to, &to->given, &count);

    if (err)
        return err;
    err = add_topic(pattern, to, topic, &untold);
    if (err)
        (void)sni_trie_remove(&pattern->given, topic, to, &to->given, false, &count);
    return err;
}

/* In manual mode what a peer asks for is kept, so that its end is told, and passed on. */
static sennit_err
ask(sni_pattern *pattern, sni_subscriber *from, sennit_bytes topic, telling *tell)
{
    uint32_t count;
    sennit_err err = sni_trie_add(&pattern->asked, topic, from, &from->asked, &count);

    if (err)
        return err;
    tell->times = 1;
    tell->first = count == 1;
    from->asked_bytes += tell->first ? topic.size : 0;
    return SENNIT_OK;
}

/* Errors: ENOENT. */
static sennit_err
ask_no_more(sni_pattern *pattern, sni_subscriber *from, sennit_bytes topic, telling *tell)
{
    bool each = pattern->opts->xpub_verbose == SENNIT_XPUB_VERBOSER;
    uint32_t asked = sni_trie_count(&pattern->asked, topic, from);
    uint32_t left;
    sennit_err err =
        sni_trie_remove(&pattern->asked, topic, from, &from->asked, true, &left);

    if (err)
        return err;
    tell->times = each ? asked : 1;
    from->asked_bytes -= topic.size;
    return SENNIT_OK;
}

/* It may have asked in manual mode and end it in another, or have got before manual mode
 * was set what it gives back now.
 * Errors: ENOENT (a cancel of what is not there). */
static sennit_err
cancel(sni_pattern *pattern, sni_subscriber *from, sennit_bytes topic, telling *tell)
{
    sennit_err err = ask_no_more(pattern, from, topic, tell);

    if (err == SENNIT_ENOENT && !was_given(pattern, from, topic))
        return remove_topic(pattern, from, topic, tell);
    if (err == SENNIT_OK && !manual(pattern))
        (void)take_from(pattern, from, topic);
    return err;
}

/* Errors: ENOENT (a cancel of what is not there). */
static sennit_err
change(sni_pattern *pattern, sni_subscriber *from, bool on, sennit_bytes topic,
       telling *tell)
{
    if (!on)
        return cancel(pattern, from, topic, tell);
    return manual(pattern) ? ask(pattern, from, topic, tell)
                           : add_topic(pattern, from, topic, tell);
}

static bool
holds_too_much(const sni_pattern *pattern, const sni_subscriber *from)
{
    size_t topics = manual(pattern) ? from->asked.count : from->peer->topics;
    size_t bytes = manual(pattern) ? from->asked_bytes : from->topic_bytes;

    return topics > SNI_TOPICS_PER_PEER_MAX || bytes > SNI_TOPIC_BYTES_PER_PEER_MAX;
}

/* It asks for more than it may: it goes, and its reason is told. */
static sennit_err
refuse(sni_peer *peer, const char *reason)
{
    peer->pattern->port->disconnect(peer, false, SENNIT_EMSGSIZE, reason);
    return SENNIT_OK;
}

sennit_err
sni_subscriber_hear(sni_pattern *pattern, sni_peer *peer, bool on, sennit_bytes topic)
{
    sni_subscriber *from;
    telling tell = { 0, false };
    sni_msg msg;
    sennit_err err;

    if (topic.size > SNI_TOPIC_MAX_BYTES)
        return refuse(peer, "subscription longer than 1 MiB");
    from = subscriber_of(pattern, peer);
    if (from == NULL)
        return SENNIT_ENOMEM;
    if (from->notices >= SNI_TOPICS_PER_PEER_MAX ||
        from->notice_bytes > SNI_TOPIC_BYTES_PER_PEER_MAX)
        return refuse(peer, "more subscriptions than the application reads");
    err = prepare(pattern, on, topic, &msg);
    if (err == SENNIT_OK)
        err = change(pattern, from, on, topic, &tell);
    if (err)
        tell.times = 0;
    notify(pattern, from, on, tell, &msg);
    if (err == SENNIT_ENOENT)
        return SENNIT_OK;
    if (err || !on)
        return err;
    return holds_too_much(pattern, from)
               ? refuse(peer, "more subscriptions than a peer may hold")
               : SENNIT_OK;
}

/* ---- messages ------------------------------------------------------------ */

/* The message ends with the frame that was kept last: what followed were subscriptions,
 * which are received by themselves. */
static sennit_err
end_message(sni_pattern *pattern, sni_subscriber *from)
{
    sni_notice notice = { .from = from, .kind = SNI_NOTICE_MESSAGE, .times = 1 };
    size_t frames = from->open.count;

    if (frames == 0)
        return SENNIT_OK;
    if (make_room(pattern, frames) != SENNIT_OK)
        return SENNIT_ENOMEM;
    from->frames += frames;
    from->bytes += from->open.bytes;
    from->messages++;
    while (sni_msgq_pop(&from->open, &notice.msg)) {
        notice.msg.more = --frames > 0;
        sni_notices_push(&pattern->notices, &notice);
    }
    count_notices(from);
    if (over_mark(pattern, from))
        from->peer->paused = true;
    pattern->port->noticed(pattern);
    return SENNIT_OK;
}

/* Frames are kept one by one; which is the last of its message shows later. */
static sennit_err
keep_frame(sni_subscriber *from, sni_msg *msg)
{
    sennit_err err = sni_msg_own(msg, NULL);

    return err ? err : sni_msgq_push(&from->open, msg, false);
}

sennit_err
sni_subscriber_take(sni_pattern *pattern, sni_peer *peer, sni_msg *msg)
{
    sni_subscriber *from = subscriber_of(pattern, peer);
    bool more = msg->more;
    sennit_bytes topic;
    sennit_err err = SENNIT_OK;
    bool on;

    if (from == NULL)
        return SENNIT_ENOMEM;
    if (!(from->in_message && pattern->opts->only_first_subscribe) &&
        sni_subscription_read(sennit_msg_bytes(sni_msg_public(msg)), &on, &topic))
        err = sni_subscriber_hear(pattern, peer, on, topic);
    else if (pattern->type == SENNIT_XPUB)
        err = keep_frame(from, msg);
    if (err)
        return err;
    sennit_msg_fini(sni_msg_public(msg));
    from->in_message = more;
    return more ? SENNIT_OK : end_message(pattern, from);
}

/* ---- leaving ------------------------------------------------------------- */

typedef struct leaver {
    sni_pattern *pattern;
    sni_subscriber *from;
} leaver;

static sennit_err
leave_topic(const sni_trie_parting *parting, void *arg)
{
    const leaver *l = arg;
    bool each = l->pattern->opts->xpub_verbose == SENNIT_XPUB_VERBOSER;
    telling tell = { each ? parting->count : parting->last, false };
    sni_msg msg;
    sennit_err err;

    /* The application did not hear of it from the peer, and knows it. */
    if (!was_given(l->pattern, l->from, parting->key)) {
        err = prepare(l->pattern, false, parting->key, &msg);
        if (err)
            return err;
        notify(l->pattern, l->from, false, tell, &msg);
    }
    tell_monitor(l->from, SENNIT_EVENT_UNSUBSCRIBED, parting->key);
    return SENNIT_OK;
}

/* The end of what it asked for in manual mode; each of that was told. */
static sennit_err
leave_asked(const sni_trie_parting *parting, void *arg)
{
    const leaver *l = arg;
    bool each = l->pattern->opts->xpub_verbose == SENNIT_XPUB_VERBOSER;
    telling tell = { each ? parting->count : 1, false };
    sni_msg msg;
    sennit_err err = prepare(l->pattern, false, parting->key, &msg);

    if (err == SENNIT_OK)
        notify(l->pattern, l->from, false, tell, &msg);
    return err;
}

/* Takes a subscriber out of its topics, where the last call stopped. Only its own cost
 * anything. Errors: ENOMEM (to tell of one). */
static sennit_err
leave_topics(sni_pattern *pattern, sni_subscriber *from)
{
    leaver l = { .pattern = pattern, .from = from };
    bool watched = pattern->opts->events & 1u << SENNIT_EVENT_UNSUBSCRIBED;
    bool told = pattern->type == SENNIT_XPUB;
    sennit_err err =
        sni_trie_forget(&pattern->asked, from, &from->asked, leave_asked, &l);

    if (err == SENNIT_OK)
        err = sni_trie_forget(&pattern->topics, from, &from->topics,
                              told || watched ? leave_topic : NULL, &l);
    if (err == SENNIT_OK)
        (void)sni_trie_forget(&pattern->given, from, &from->given, NULL, NULL);
    count_topics(pattern);
    return err;
}

/* What those leave who go unread is not more, with every visit: the oldest of it makes
 * room for what this one leaves, which all stays. */
static void
leave_messages(sni_pattern *pattern, const sni_subscriber *from)
{
    size_t left = sni_notice_cost(from->frames, from->bytes);

    if (pattern->left + left > SNI_LEFT_BYTES_MAX)
        /* So that the next time is not soon. */
        sni_notices_shed(&pattern->notices,
                         pattern->left + left - SNI_LEFT_BYTES_MAX / 4 * 3, one_less,
                         pattern);
    pattern->left += left;
}

void
sni_subscriber_part(sni_pattern *pattern, sni_peer *peer)
{
    sni_subscriber *from = peer->subscriber;

    if (from == NULL)
        return;
    leave_messages(pattern, from);
    from->owes = leave_topics(pattern, from) != SENNIT_OK;
    pattern->owing += from->owes;
    from->peer = NULL;
    peer->subscriber = NULL;
    peer->topics = 0;
    peer->notices = 0;
    peer->notice_bytes = 0;
    peer->paused = false;
    sni_msgq_fini(&from->open);
    sni_list_push(&pattern->gone, &from->gone);
    drop_if_done(pattern, from);
}

/* Errors: ENOMEM (still). */
static sennit_err
pay_what_is_owed(sni_pattern *pattern)
{
    sni_link *next;

    for (sni_link *link = pattern->gone.next; link != &pattern->gone; link = next) {
        sni_subscriber *from = SNI_OWNER_OF(link, sni_subscriber, gone);
        sennit_err err = from->owes ? leave_topics(pattern, from) : SENNIT_OK;

        if (err)
            return err;
        next = link->next;
        pattern->owing -= from->owes;
        from->owes = false;
        drop_if_done(pattern, from);
    }
    return SENNIT_OK;
}

void
sni_subscriber_fini(sni_pattern *pattern)
{
    sni_notices_fini(&pattern->notices);
    while (sni_list_first(&pattern->gone) != NULL)
        subscriber_free(
            pattern, SNI_OWNER_OF(sni_list_first(&pattern->gone), sni_subscriber, gone));
}

/* ---- for the application ------------------------------------------------- */

sennit_err
sni_subscriber_fetch(sni_pattern *pattern, sni_msg *msg)
{
    sni_notice *notice = &pattern->fetched;

    if (pattern->owing > 0) {
        sennit_err err = pay_what_is_owed(pattern);

        if (err)
            return err;
    }
    if (!sni_notices_pop(&pattern->notices, notice))
        return SENNIT_EAGAIN;
    *msg = notice->msg;
    if (notice->kind == SNI_NOTICE_MESSAGE)
        one_frame_less(pattern, notice->from, msg);
    else if (notice->times == 1)
        notice->from->notice_bytes -= sni_msg_size_of(msg);
    return SENNIT_OK;
}

void
sni_subscriber_took(sni_pattern *pattern, bool more)
{
    const sni_notice *notice = &pattern->fetched;
    sni_subscriber *from = notice->from;
    sni_subscriber *before = pattern->last;

    if (notice->kind == SNI_NOTICE_MESSAGE)
        from->messages -= !more;
    else
        from->notices -= notice->times == 1;
    count_notices(from);
    if (from->peer != NULL && from->peer->paused && !over_mark(pattern, from)) {
        from->peer->paused = false;
        pattern->port->resume(from->peer);
    }
    if (notice->kind != SNI_NOTICE_MESSAGE && manual(pattern)) {
        pattern->last = from;
        pattern->only_last = pattern->opts->xpub_manual == SENNIT_XPUB_LAST_VALUE &&
                             notice->kind == SNI_NOTICE_SUBSCRIBED && from->peer != NULL;
        if (before != from)
            drop_if_done(pattern, before);
    }
    drop_if_done(pattern, from);
}

sennit_err
sni_subscriber_give(sni_pattern *pattern, bool on, sennit_bytes topic)
{
    if (!manual(pattern))
        return SENNIT_ENOTSUP;
    if (topic.size > SNI_TOPIC_MAX_BYTES)
        return SENNIT_EMSGSIZE;
    if (pattern->last == NULL)
        return SENNIT_ESTATE;
    if (pattern->last->peer == NULL)
        return SENNIT_ENOENT;
    return on ? give_to(pattern, pattern->last, topic)
              : take_from(pattern, pattern->last, topic);
}
