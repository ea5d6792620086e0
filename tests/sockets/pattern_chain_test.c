/* SPDX-License-Identifier: MIT */
/* Chains of forwarders over fake peers (D36): an XPUB at the origin, forwarders of an
 * XSUB and an XPUB each, subscribers at the end that come, go and vanish at random.
 * However long the chain, the origin knows exactly what is wanted. */
#include <stdio.h>

#include "fake.h"
#include "rng.h"

#define FORWARDERS  2
#define SUBSCRIBERS 4
#define STEPS       400

static const char *const topics[] = { "", "n", "n.1", "n.10", "m" };
#define TOPICS (sizeof topics / sizeof topics[0])

/* Of stage 0, the origin, only the XPUB is used; its peer 0 is the XSUB of stage 1. */
typedef struct stage {
    fake xsub;
    fake xpub;
} stage;

static stage stages[FORWARDERS + 1];

typedef struct chain {
    uint64_t seed;
    int step;
    bool wanted[SUBSCRIBERS][TOPICS];
    int told[TOPICS];   /* additions less removals at the origin */
    uint64_t additions; /* at the origin */
    uint64_t removals;
} chain;

#define CHECK(c, condition, what)                                                        \
    do {                                                                                 \
        if (!(condition))                                                                \
            fail_msg("seed %llu step %d: %s", (unsigned long long)(c)->seed, (c)->step,  \
                     what);                                                              \
    } while (0)

/* What the XSUB of a stage told its publisher is heard there. */
static void
carry_up(int at)
{
    char *told = stages[at].xsub.peers[0].told;
    char topic[16];

    for (char *from = told; *from != '\0';) {
        size_t size = strcspn(from + 1, "+-");

        snprintf(topic, sizeof topic, "%.*s", (int)size, from + 1);
        fake_hear(&stages[at - 1].xpub, 0, *from == '+', topic);
        from += 1 + size;
    }
    told[0] = '\0';
}

static size_t
topic_index(const char *topic)
{
    for (size_t t = 0; t < TOPICS; t++)
        if (strcmp(topics[t], topic) == 0)
            return t;
    fail_msg("nobody asked for '%s'", topic);
    return 0;
}

/* Forwards until nothing is left; what the origin receives is counted. */
static void
forward(chain *c)
{
    for (int at = FORWARDERS; at > 0; at--) {
        const char *got = fake_recv(&stages[at].xpub);

        while (strcmp(got, "EAGAIN") != 0) {
            fake_send(&stages[at].xsub, got);
            carry_up(at);
            got = fake_recv(&stages[at].xpub);
        }
    }
    for (const char *got = fake_recv(&stages[0].xpub); strcmp(got, "EAGAIN") != 0;
         got = fake_recv(&stages[0].xpub)) {
        c->told[topic_index(got + 1)] += got[0] == '+' ? 1 : -1;
        c->additions += got[0] == '+';
        c->removals += got[0] == '-';
    }
}

static void
check(chain *c, bool each_once)
{
    uint64_t pairs = 0;
    uint64_t distinct = 0;

    for (size_t t = 0; t < TOPICS; t++) {
        int wanted = 0;

        for (int i = 0; i < SUBSCRIBERS; i++)
            wanted += c->wanted[i][t];
        pairs += (uint64_t)wanted;
        distinct += wanted > 0;
        CHECK(c, (c->told[t] > 0) == (wanted > 0), "the origin was told otherwise");
        CHECK(c, !each_once || c->told[t] <= 1, "the origin was told twice");
    }
    CHECK(c, stages[FORWARDERS].xpub.stats.subscriptions == pairs,
          "subscriptions are not counted exactly");
    for (int at = 0; at <= FORWARDERS; at++)
        CHECK(c, stages[at].xpub.stats.topics == distinct,
              "topics are not counted exactly");
    for (int at = 1; at <= FORWARDERS; at++)
        CHECK(c, stages[at].xsub.stats.topics == distinct,
              "prefixes are not counted exactly");
}

/* Everybody gets what is wanted of him, and nothing else leaves the origin. */
static void
publish(chain *c, const char *message)
{
    fake *last = &stages[FORWARDERS].xpub;
    fake *first = &stages[0].xpub;
    bool anybody = false;

    fake_send(last, message);
    fake_send(first, message);
    for (int i = 0; i < SUBSCRIBERS; i++) {
        bool wanted = false;

        for (size_t t = 0; t < TOPICS; t++)
            wanted = wanted || (c->wanted[i][t] &&
                                strncmp(message, topics[t], strlen(topics[t])) == 0);
        CHECK(c, (fake_out(last, i)[0] != '\0') == wanted, "a subscriber got otherwise");
        last->peers[i].out[0] = '\0';
        anybody = anybody || wanted;
    }
    CHECK(c, (fake_out(first, 0)[0] != '\0') == anybody, "the origin sent otherwise");
    first->peers[0].out[0] = '\0';
}

static void
vanish(chain *c, int i)
{
    fake_lose(&stages[FORWARDERS].xpub, i);
    fake_return(&stages[FORWARDERS].xpub, i, "");
    memset(c->wanted[i], 0, sizeof c->wanted[i]);
}

/* A subscriber of libzmq: says each subscribe, and one cancel. */
static void
step(chain *c, test_rng *rng)
{
    int i = (int)test_rng_below(rng, SUBSCRIBERS);
    size_t t = test_rng_below(rng, TOPICS);
    uint64_t dice = test_rng_below(rng, 100);

    if (dice < 50) {
        fake_hear(&stages[FORWARDERS].xpub, i, true, topics[t]);
        c->wanted[i][t] = true;
    } else if (dice < 85) {
        fake_hear(&stages[FORWARDERS].xpub, i, false, topics[t]);
        c->wanted[i][t] = false;
    } else if (dice < 95) {
        vanish(c, i);
    } else {
        /* A forwarder loses its way up and finds it again. */
        int at = 1 + (int)test_rng_below(rng, FORWARDERS);

        forward(c);
        fake_lose(&stages[at - 1].xpub, 0);
        fake_lose(&stages[at].xsub, 0);
        fake_return(&stages[at - 1].xpub, 0, "");
        fake_return(&stages[at].xsub, 0, "");
        carry_up(at);
    }
}

static void
open_chain(sennit_xpub_verbose verbose)
{
    for (int at = 0; at <= FORWARDERS; at++) {
        fake_open(&stages[at].xpub, SENNIT_XPUB, false);
        stages[at].xpub.opts.xpub_verbose = verbose;
        if (at > 0)
            fake_open(&stages[at].xsub, SENNIT_XSUB, false);
    }
    for (int at = 1; at <= FORWARDERS; at++) {
        fake_join(&stages[at - 1].xpub, 0, "");
        fake_join(&stages[at].xsub, 0, "");
    }
    for (int i = 0; i < SUBSCRIBERS; i++)
        fake_join(&stages[FORWARDERS].xpub, i, "");
}

static void
close_chain(void)
{
    for (int at = 0; at <= FORWARDERS; at++) {
        fake_close(&stages[at].xpub);
        if (at > 0)
            fake_close(&stages[at].xsub);
    }
}

static void
run(uint64_t seed, sennit_xpub_verbose verbose)
{
    chain c = { .seed = seed };
    test_rng rng = { seed };

    open_chain(verbose);
    for (c.step = 0; c.step < STEPS; c.step++) {
        step(&c, &rng);
        if (test_rng_chance(&rng, 60))
            continue; /* what is not forwarded yet may be overtaken by its contrary */
        forward(&c);
        check(&c, verbose == SENNIT_XPUB_FIRST);
        publish(&c, topics[test_rng_below(&rng, TOPICS)]);
    }
    for (int i = 0; i < SUBSCRIBERS; i++)
        vanish(&c, i);
    forward(&c);
    check(&c, true);
    if (verbose != SENNIT_XPUB_VERBOSE)
        CHECK(&c, c.additions == c.removals, "not as many removals as additions");
    CHECK(&c, c.additions > 0, "nothing happened");
    CHECK(&c, stages[0].xpub.stats.subscriptions == 0, "something is left");
    close_chain();
}

static void
the_origin_of_a_chain_hears_of_the_first_and_the_last(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++)
        run(seed, SENNIT_XPUB_FIRST);
}

static void
a_verbose_chain_ends_each_topic_when_the_last_one_goes(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++)
        run(seed, SENNIT_XPUB_VERBOSER);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_origin_of_a_chain_hears_of_the_first_and_the_last),
        cmocka_unit_test(a_verbose_chain_ends_each_topic_when_the_last_one_goes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
