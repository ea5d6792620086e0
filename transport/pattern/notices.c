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

static bool
cancel_out(const sni_notice *begin, const sni_notice *end)
{
    return begin != NULL && begin->kind == SNI_NOTICE_SUBSCRIBED &&
           end->kind == SNI_NOTICE_UNSUBSCRIBED && begin->paired && end->paired &&
           begin->times == 1 && end->times == 1;
}

/* Leaves 0 times of those that come to nothing. */
static void
mark_cancelled(sni_notices *notices)
{
    sni_trie newest; /* topic -> the last notice of it that stays */
    uint32_t count;
    sennit_err err = SENNIT_OK;

    sni_trie_init(&newest, notices->alloc);
    for (size_t i = 0; i < notices->count && err == SENNIT_OK; i++) {
        sni_notice *notice = slot(notices, i);
        sni_notice *before;

        if (notice->kind == SNI_NOTICE_MESSAGE)
            continue;
        before = sni_trie_find(&newest, topic_of(notice));
        if (before != NULL)
            (void)sni_trie_remove(&newest, topic_of(notice), before, NULL, true, &count);
        if (cancel_out(before, notice)) {
            before->times = 0;
            notice->times = 0;
        } else {
            err = sni_trie_add(&newest, topic_of(notice), notice, NULL, &count);
        }
    }
    sni_trie_fini(&newest);
}

void
sni_notices_cancel(sni_notices *notices,
                   void (*dropped)(const sni_notice *notice, void *arg), void *arg)
{
    size_t kept = 0;

    mark_cancelled(notices);
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

bool
sni_notices_pop(sni_notices *notices, sni_notice *out)
{
    sni_notice *oldest;

    if (notices->count == 0)
        return false;
    oldest = slot(notices, 0);
    *out = *oldest;
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
