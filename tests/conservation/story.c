/* SPDX-License-Identifier: MIT */
#include "story.h"

#include <string.h>

#include "acts.h"
#include "rest.h"
#include "wrong.h"

static void
invent_scene(story *s, test_rng *rng)
{
    s->nodes = 1 + test_rng_below(rng, 3);
    s->slots_count = 2 + test_rng_below(rng, STAGE_SLOTS_MAX - 1);
    for (unsigned i = 0; i < PAIRS; i++)
        s->pairs[i] = &kind_pairs[test_rng_below(rng, kind_pairs_count)];
    if (test_rng_chance(rng, 60))
        s->pairs[1] = s->pairs[2] = s->pairs[0];
    for (size_t i = 0; i < s->slots_count; i++) {
        slot *sl = &s->slots[i];

        sl->pair = s->pairs[test_rng_below(rng, PAIRS)];
        sl->transport = test_rng_chance(rng, 75)   ? STAGE_TCP
                        : test_rng_chance(rng, 40) ? STAGE_IPC
                                                   : STAGE_INPROC;
        sl->node = test_rng_below(rng, s->nodes);
    }
}

static void
close_all(story *s)
{
    for (actor *a = s->actors; a < s->actors + ACTORS; a++)
        if (a->kind != NULL)
            acts_close(s, a, false);
    for (unsigned i = 0; i < 100 && stage_leftover(s->stage)[0] != '\0'; i++)
        stage_run(s->stage, 100 * MS);
    if (stage_leftover(s->stage)[0] != '\0')
        wrong("%s is still there 10 s after everything was closed",
              stage_leftover(s->stage));
    ledger_balance_closed(s->books);
}

unsigned
story_steps(uint64_t seed)
{
    test_rng rng = { seed ^ 0x57e95 };

    return 80 + (unsigned)test_rng_below(&rng, 500);
}

ledger_totals
story_play(const story_opts *opts)
{
    static story s;
    test_rng rng = { opts->seed };
    unsigned steps = story_steps(opts->seed);
    ledger_totals totals;

    memset(&s, 0, sizeof s);
    s.opts = opts;
    invent_scene(&s, &rng);
    s.books = ledger_new(stage_exact);
    s.stage = stage_open(s.books, opts->seed, s.nodes);
    for (s.step = 0; s.step < steps; s.step++) {
        step st = { .what = acts_invent(&rng, s.step < 40) };

        st.a = (uint32_t)test_rng_next(&rng);
        st.b = (uint32_t)test_rng_next(&rng);
        st.c = (uint32_t)test_rng_next(&rng);
        if (opts->steps > 0 && s.step >= opts->steps)
            break;
        if (opts->skip == NULL || !opts->skip[s.step])
            acts_play(&s, &st);
    }
    cast_tell(&s, "the end");
    stage_trouble(s.stage, 0);
    for (size_t i = 0; i < s.nodes; i++)
        stage_pause(s.stage, i, false);
    cast_pass_time(&s, HOLD_MAX); /* a held network may still owe a SUBSCRIBE */
    rest_settle(&s);
    rest_balance(&s);
    rest_probe_publications(&s);
    rest_probe_others(&s);
    rest_balance(&s);
    totals = ledger_sum(s.books);
    close_all(&s);
    stage_close(s.stage);
    ledger_free(s.books);
    return totals;
}
