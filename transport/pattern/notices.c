/* SPDX-License-Identifier: MIT */
#include "pattern/notices.h"

#include "base/alloc.h"
#include "base/assert.h"

/* A ring larger than this is given back when it is empty: a million subscriptions come
 * once. */
#define KEEP_MAX 1024u

static sni_notice *
slot(sni_notices *notices, size_t position)
{
    return &notices->ring[(notices->first + position) & (notices->capacity - 1)];
}

void
sni_notices_init(sni_notices *notices, const sennit_allocator *alloc)
{
    *notices = (sni_notices){ .alloc = alloc };
}

void
sni_notices_fini(sni_notices *notices)
{
    for (size_t i = 0; i < notices->count; i++)
        sennit_msg_fini(sni_msg_public(&slot(notices, i)->msg));
    sni_release(notices->alloc, notices->ring);
    sni_notices_init(notices, notices->alloc);
}

sennit_err
sni_notices_reserve(sni_notices *notices, size_t count)
{
    size_t old = notices->capacity;

    if (count <= old - notices->count)
        return SENNIT_OK;
    if (!sni_grow(notices->alloc, &notices->ring, &notices->capacity,
                  notices->count + count, sizeof *notices->ring))
        return SENNIT_ENOMEM;
    /* The part that had wrapped around moves behind the old end. */
    if (notices->first + notices->count > old) {
        size_t wrapped = notices->first + notices->count - old;

        memcpy(notices->ring + old, notices->ring, wrapped * sizeof *notices->ring);
    }
    return SENNIT_OK;
}

void
sni_notices_push(sni_notices *notices, sni_notice *notice)
{
    SNI_ASSERT(notices->count < notices->capacity);
    *slot(notices, notices->count++) = *notice;
    sennit_msg_init(sni_msg_public(&notice->msg));
}

static sennit_bytes
topic_of(sni_notice *notice)
{
    sennit_bytes body = sennit_msg_bytes(sni_msg_public(&notice->msg));

    return sni_bytes(body.data + 1, body.size - 1);
}

/* ---- what comes to nothing ----------------------------------------------- */

/* The newest beginning of each topic that is unread and goes on; behind it, by `before`,
 * the older ones. */
typedef struct beginnings {
    sni_trie newest;
    uint8_t *key;
    size_t capacity;
} beginnings;

/* Whose topic, and which. NULL data: no memory. */
static sennit_bytes
key_of(beginnings *all, sni_notice *notice)
{
    const sni_subscriber *whose = notice->own ? notice->from : NULL;
    sennit_bytes topic = topic_of(notice);
    size_t size = sizeof whose + topic.size;

    if (!sni_grow(all->newest.alloc, &all->key, &all->capacity, size, 1))
        return sni_bytes(NULL, 0);
    memcpy(all->key, &whose, sizeof whose);
    sni_bytes_put(all->key + sizeof whose, topic);
    return sni_bytes(all->key, size);
}

/* `now` takes the place of `before`; either may be NULL. Errors: ENOMEM. */
static sennit_err
replace(beginnings *all, sennit_bytes key, sni_notice *before, sni_notice *now)
{
    uint32_t count;

    if (before != NULL)
        (void)sni_trie_remove(&all->newest, key, before, NULL, true, &count);
    return now == NULL ? SENNIT_OK : sni_trie_add(&all->newest, key, now, NULL, &count);
}

/* One more of those that began before it. Where the end is told once for all, nobody
 * misses one that has gone, if there is another to tell of the topic.
 * Gives: the newest now. */
static sni_notice *
began(sni_notice *notice, sni_notice *before)
{
    bool shared = notice->whole && !notice->own;

    notice->before = before;
    if (shared && before != NULL && before->from->peer == NULL) {
        before->times = 0;
        notice->before = before->before;
        notice->first = notice->first || before->first;
    }
    if (!shared || notice->first || notice->from->peer != NULL)
        return notice;
    notice->times = 0;
    return notice->before;
}

/* The end of all that began: of which nothing was told when the first of them, and so
 * every one, is unread. */
static sni_notice *
ended_all(sni_notice *notice, sni_notice *before)
{
    bool untold = false;

    for (; before != NULL; before = before->before) {
        before->times = 0;
        untold = before->first;
    }
    if (untold)
        notice->times = 0;
    return NULL;
}

/* The end of as many as it says, the newest first. Gives: the newest that goes on. */
static sni_notice *
ended_some(sni_notice *notice, sni_notice *before)
{
    for (; before != NULL && notice->times > 0; before = before->before) {
        before->times = 0;
        notice->times--;
    }
    return before;
}

/* Leaves 0 times of what comes to nothing. */
static sennit_err
settle(beginnings *all, sni_notice *notice)
{
    sennit_bytes key = key_of(all, notice);
    sni_notice *before;
    sni_notice *now = NULL;

    if (key.data == NULL)
        return SENNIT_ENOMEM;
    before = sni_trie_find(&all->newest, key);
    /* Verbosity has changed in between: these do not answer each other. */
    if (before != NULL && before->whole != notice->whole) {
        (void)replace(all, key, before, NULL);
        before = NULL;
    }
    if (notice->kind == SNI_NOTICE_SUBSCRIBED)
        now = began(notice, before);
    else if (notice->whole)
        now = ended_all(notice, before);
    else
        now = ended_some(notice, before);
    return now == before ? SENNIT_OK : replace(all, key, before, now);
}

/* Takes out those that are to be received 0 times. */
static void
sweep(sni_notices *notices, void (*dropped)(const sni_notice *notice, void *arg),
      void *arg)
{
    size_t kept = 0;

    for (size_t i = 0; i < notices->count; i++) {
        sni_notice *notice = slot(notices, i);

        if (notice->times > 0) {
            *slot(notices, kept++) = *notice;
            continue;
        }
        dropped(notice, arg);
        sennit_msg_fini(sni_msg_public(&notice->msg));
    }
    notices->count = kept;
}

void
sni_notices_cancel(sni_notices *notices,
                   void (*dropped)(const sni_notice *notice, void *arg), void *arg)
{
    beginnings all = { .key = NULL };
    sennit_err err = SENNIT_OK;

    sni_trie_init(&all.newest, notices->alloc);
    for (size_t i = 0; i < notices->count && err == SENNIT_OK; i++)
        if (slot(notices, i)->kind != SNI_NOTICE_MESSAGE)
            err = settle(&all, slot(notices, i));
    sni_trie_fini(&all.newest);
    sni_release(notices->alloc, all.key);
    sweep(notices, dropped, arg);
}

void
sni_notices_shed(sni_notices *notices, size_t cost,
                 void (*dropped)(const sni_notice *notice, void *arg), void *arg)
{
    bool begins = !notices->inside; /* what is half read stays */
    bool chosen = false;
    size_t shed = 0;

    for (size_t i = 0; i < notices->count && (shed < cost || !begins); i++) {
        sni_notice *notice = slot(notices, i);

        if (notice->kind != SNI_NOTICE_MESSAGE)
            continue;
        if (begins)
            chosen = notice->from->peer == NULL;
        begins = !notice->msg.more;
        if (!chosen)
            continue;
        notice->times = 0;
        shed += sni_notice_cost(1, sni_msg_size_of(&notice->msg));
    }
    sweep(notices, dropped, arg);
}

bool
sni_notices_pop(sni_notices *notices, sni_notice *out)
{
    sni_notice *oldest;

    if (notices->count == 0)
        return false;
    oldest = slot(notices, 0);
    *out = *oldest;
    notices->inside = out->kind == SNI_NOTICE_MESSAGE && out->msg.more;
    if (oldest->times-- > 1) {
        sennit_msg_init(sni_msg_public(&out->msg));
        sennit_msg_copy(sni_msg_public(&out->msg), sni_msg_public(&oldest->msg));
        out->msg.peer = oldest->msg.peer;
        return true;
    }
    notices->first = (notices->first + 1) & (notices->capacity - 1);
    notices->count--;
    if (notices->count == 0 && notices->capacity > KEEP_MAX)
        sni_notices_fini(notices);
    return true;
}
