/* SPDX-License-Identifier: MIT */
#include "rest.h"

#include <string.h>

#include "talk.h"
#include "wrong.h"

/* Links that must come up: [0]; and those that need not, because a second peer of its
 * kind may be refused: [1]. */
static void
links_of(const story *s, const actor *a, unsigned links[2])
{
    links[0] = links[1] = 0;
    for (size_t at = 0; at < s->slots_count; at++) {
        const actor *binder = s->slots[at].binder;

        for (const actor *b = s->actors; b < s->actors + ACTORS; b++) {
            bool unsure;

            if (b->kind == NULL || !b->dials[at] || binder == NULL ||
                (a != b && a != binder))
                continue;
            unsure = s->slots[at].transport == STAGE_INPROC || a->kind->one_peer ||
                     ((binder->kind->addresses || b->kind->addresses) &&
                      (binder->identity[0] != '\0' || b->identity[0] != '\0'));
            links[unsure]++;
        }
    }
}

/* A REQ reads only what it waits for. */
static bool
meets_requester(const slot *sl)
{
    return sl->pair->binder == SENNIT_REQ || sl->pair->connecter == SENNIT_REQ;
}

/* Whether all it dials is there and reads, so that nothing has a reason to wait. */
static bool
has_company(const story *s, const actor *a)
{
    for (size_t at = 0; at < s->slots_count; at++)
        if ((a->dials[at] &&
             (s->slots[at].binder == NULL || s->slots[at].transport == STAGE_INPROC)) ||
            ((a->dials[at] || a->binds[at]) && meets_requester(&s->slots[at])))
            return false;
    return true;
}

/* What keeps the world from being quiet; "" when nothing does. */
static const char *
restless(const story *s, const actor **who)
{
    for (const actor *a = s->actors; a < s->actors + ACTORS; a++) {
        sennit_sock_stats stats;
        unsigned links[2];

        if (a->kind == NULL)
            continue;
        *who = a;
        stats = cast_stats(a);
        links_of(s, a, links);
        if (stats.connections < links[0])
            return "is not connected to all its peers";
        if (links[1] == 0 && !a->inproc && a->kind->type != SENNIT_REQ &&
            stats.connections > links[0])
            return "has more connections than peers";
        if (links[1] == 0 && has_company(s, a) && stats.queued_msgs > 0)
            return "has messages that do not leave";
    }
    return ledger_under_way(s->books) > 0 ? "(all): messages are under way" : "";
}

static uint64_t
queued_bytes(const story *s)
{
    uint64_t sum = 0;

    for (const actor *a = s->actors; a < s->actors + ACTORS; a++)
        if (a->kind != NULL)
            sum += cast_stats(a).queued_bytes;
    return sum;
}

void
rest_settle(story *s)
{
    const actor *who = s->actors;
    const char *why = "";
    unsigned calm = 0;
    test_rng rng = { s->opts->seed };

    for (unsigned turn = 0; turn < 600 && calm < 3; turn++) {
        uint64_t before = s->received;
        uint64_t queued = queued_bytes(s); /* a large message takes its time */

        cast_pass_time(s, turn < 100 ? 20 * MS : 100 * MS);
        for (actor *a = s->actors; a < s->actors + ACTORS; a++)
            if (a->kind != NULL && a->kind->receives)
                (void)talk_drain(s, a, &rng);
        why = restless(s, &who);
        calm = why[0] == '\0' && s->received == before && queued == queued_bytes(s)
                   ? calm + 1
                   : 0;
    }
    if (calm < 3)
        wrong("the world does not come to rest: socket %u (%s) %s", who->account,
              who->kind == NULL ? "?" : cast_type(who), why);
}

void
rest_balance(const story *s)
{
    for (const actor *a = s->actors; a < s->actors + ACTORS; a++) {
        sennit_sock_stats stats;

        if (a->kind == NULL)
            continue;
        stats = cast_stats(a);
        ledger_balance(s->books, a->account, &stats);
    }
}

/* How many copies of a publication go from `pub` to `sub`: one over each link. */
static unsigned
copies_due(const story *s, const actor *pub, const actor *sub, const char topic[4])
{
    unsigned bits = prefixes_of(topic);
    unsigned links = 0;
    bool wanted = false;

    for (unsigned i = 0; i < PREFIXES; i++)
        wanted = wanted || (sub->subscribed[i] > 0 && (bits & 1u << i));
    for (size_t at = 0; at < s->slots_count; at++) {
        const actor *binder = s->slots[at].binder;

        links += (binder == pub && sub->dials[at]) || (binder == sub && pub->dials[at]);
    }
    return wanted ? links : 0;
}

void
rest_probe_publications(story *s)
{
    static const char topics[4][5] = { "aa--", "ab--", "ba--", "bb--" };

    for (actor *a = s->actors; a < s->actors + ACTORS; a++) {
        for (unsigned i = 0; a->kind != NULL && a->kind->fans && i < 4; i++) {
            body_head head = { .magic = BODY_MAGIC, .sender = a->account, .parts = 1 };
            uint8_t body[sizeof head];

            memcpy(head.topic, topics[i], 4);
            head.size = sizeof head;
            head.number = ledger_compose(s->books, a->account, 0, head.topic);
            body_fill(body, &head);
            if (!talk_send_frame(s, a, body, sizeof body, SENNIT_DONTWAIT, true))
                wrong("socket %u (%s) refuses a publication at rest", a->account,
                      cast_type(a));
            ledger_accepted(s->books, a->account, true);
            cast_tell(s, "probe %u: message %u, topic %.2s", a->account, head.number,
                      head.topic);
            rest_settle(s);
            for (actor *b = s->actors; b < s->actors + ACTORS; b++) {
                unsigned times;
                unsigned due;

                /* An inproc connection that was ended does not come back. */
                if (b->kind == NULL || !b->kind->subscribes ||
                    (a->ends_slow && a->inproc && b->inproc))
                    continue;
                times =
                    ledger_times_received(s->books, a->account, head.number, b->account);
                due = copies_due(s, a, b, head.topic);
                if (times != due)
                    wrong("socket %u (%s) received publication %u of socket %u, topic "
                          "%.2s, %u times instead of %u",
                          b->account, cast_type(b), head.number, a->account, head.topic,
                          times, due);
            }
        }
    }
}

void
rest_probe_others(story *s)
{
    test_rng rng = { s->opts->seed + 1 };

    for (actor *a = s->actors; a < s->actors + ACTORS; a++)
        for (unsigned i = 0; i < 3; i++)
            if (a->kind != NULL && !a->kind->fans && talk_may_send(a))
                (void)talk_send(s, a, &rng, SENNIT_DONTWAIT, false);
    rest_settle(s);
}
