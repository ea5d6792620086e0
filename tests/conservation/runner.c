/* SPDX-License-Identifier: MIT */
#include "runner.h"

#include "sennit_test.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "story.h"
#include "wrong.h"

#define JOBS            2u
#define SEED_SECONDS    60u
#define WRONG_STATUS    3
#define SHRINK_RUNS_MAX 4000u

static uint64_t current_seed;
static bool quiet;
static const char **law; /* where the broken law is noted, by its text; or NULL */

void
wrong(const char *format, ...)
{
    va_list args;

    if (law != NULL)
        *law = format;
    if (!quiet) {
        fprintf(stderr, "seed %llu: ", (unsigned long long)current_seed);
        va_start(args, format);
        vfprintf(stderr, format, args);
        va_end(args);
        fputc('\n', stderr);
    }
    _exit(WRONG_STATUS);
}

/* What a worker tells; it lies in memory that both processes see. */
typedef struct report {
    uint64_t seed; /* being played */
    uint64_t played;
    ledger_totals totals;
} report;

static void
play_one(uint64_t seed, report *r)
{
    story_opts opts = { .seed = seed };
    ledger_totals totals;

    current_seed = seed;
    r->seed = seed;
    alarm(SEED_SECONDS);
    totals = story_play(&opts);
    r->played++;
    r->totals.messages += totals.messages;
    r->totals.received += totals.received;
    r->totals.exact_publications += totals.exact_publications;
}

static const char *
how_it_ended(int status)
{
    if (WIFSIGNALED(status))
        return WTERMSIG(status) == SIGALRM ? "did not end" : "crashed";
    return "failed";
}

static double
seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int
play_many(const char *program, uint64_t from, uint64_t count)
{
    size_t size = JOBS * sizeof(report);
    report *reports =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    report sum = { 0 };
    double started = seconds();
    pid_t jobs[JOBS];
    int failed = 0;

    if (reports == MAP_FAILED)
        return 1;
    for (unsigned k = 0; k < JOBS; k++) {
        jobs[k] = fork();
        if (jobs[k] < 0)
            return 1;
        if (jobs[k] > 0)
            continue;
        for (uint64_t i = k; i < count; i += JOBS)
            play_one(from + i, &reports[k]);
        exit(0);
    }
    for (unsigned k = 0; k < JOBS; k++) {
        int status;

        while (waitpid(jobs[k], &status, 0) < 0 && errno == EINTR)
            continue;
        if (status != 0) {
            failed = 1;
            fprintf(stderr, "seed %llu %s; again: %s --seed %llu --trace\n",
                    (unsigned long long)reports[k].seed, how_it_ended(status), program,
                    (unsigned long long)reports[k].seed);
        }
        sum.played += reports[k].played;
        sum.totals.messages += reports[k].totals.messages;
        sum.totals.received += reports[k].totals.received;
        sum.totals.exact_publications += reports[k].totals.exact_publications;
    }
    printf("%llu seeds in %.1f s: %llu messages sent, %llu received, %llu publications "
           "whose subscribers were known exactly\n",
           (unsigned long long)sum.played, seconds() - started,
           (unsigned long long)sum.totals.messages,
           (unsigned long long)sum.totals.received,
           (unsigned long long)sum.totals.exact_publications);
    munmap(reports, size);
    if (!failed && (sum.totals.received < count * 10 || sum.played != count)) {
        fprintf(stderr, "too little happened to call it a test\n");
        failed = 1;
    }
    return failed;
}

/* ---- shrinking --------------------------------------------------------- */

static bool
still_fails(const story_opts *opts, bool silent)
{
    pid_t child = fork();
    int status = 0;

    if (child == 0) {
        quiet = silent;
        current_seed = opts->seed;
        if (silent && freopen("/dev/null", "w", stderr) == NULL)
            _exit(0);
        alarm(SEED_SECONDS);
        (void)story_play(opts);
        _exit(0);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return child > 0 && status != 0;
}

/* Whether what fails is still the same. */
static bool
same_failure(const story_opts *opts, const char *which)
{
    *law = NULL;
    return still_fails(opts, true) && *law == which;
}

static int
shrink(uint64_t seed)
{
    static bool skip[STORY_STEPS_MAX];
    story_opts opts = { .seed = seed, .skip = skip };
    unsigned steps = story_steps(seed);
    unsigned runs = 0;
    unsigned left = 0;
    const char *which;

    law = mmap(NULL, sizeof(char *), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
               -1, 0);
    if (law == MAP_FAILED || !still_fails(&opts, true)) {
        fprintf(stderr, "seed %llu does not fail\n", (unsigned long long)seed);
        return 1;
    }
    which = *law;
    for (unsigned piece = steps / 2; piece >= 1; piece /= 2) {
        bool any = true;

        while (any && runs < SHRINK_RUNS_MAX) {
            any = false;
            for (unsigned at = 0; at < steps; at += piece) {
                bool before[STORY_STEPS_MAX];
                bool changes = false;

                memcpy(before, skip, sizeof before);
                for (unsigned i = at; i < at + piece && i < steps; i++) {
                    changes = changes || !skip[i];
                    skip[i] = true;
                }
                if (!changes)
                    continue;
                runs++;
                if (same_failure(&opts, which))
                    any = true;
                else
                    memcpy(skip, before, sizeof before);
            }
        }
    }
    for (unsigned i = 0; i < steps; i++)
        left += !skip[i];
    fprintf(stderr, "%u of %u steps are enough:\n", left, steps);
    opts.trace = true;
    (void)still_fails(&opts, false);
    return 0;
}

/* ---- commands ---------------------------------------------------------- */

/* Runs this program again, with `--seeds`. */
static void
every_message_is_received_counted_or_queued(void **state)
{
    const unsigned *seeds_count = *state;
    char count[32];
    pid_t child;
    int status = 0;

    snprintf(count, sizeof count, "%u", *seeds_count);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        execl("/proc/self/exe", "test_conservation", "--seeds", "1", count, (char *)NULL);
        _exit(127);
    }
    while (waitpid(child, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    assert_int_equal(status, 0);
}

static int
run_suite(unsigned seeds_count)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(every_message_is_received_counted_or_queued,
                                  &seeds_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}

int
runner_main(int argc, char **argv, unsigned seeds_count)
{
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;

    if (argc < 2)
        return run_suite(seeds_count);
    if (argc == 4 && strcmp(argv[1], "--seeds") == 0)
        return play_many(argv[0], seed, strtoull(argv[3], NULL, 10));
    if (argc == 3 && strcmp(argv[1], "--shrink") == 0)
        return shrink(seed);
    if (argc >= 3 && strcmp(argv[1], "--seed") == 0) {
        story_opts opts = { .seed = seed,
                            .trace = argc == 4 && strcmp(argv[3], "--trace") == 0 };

        current_seed = seed;
        (void)story_play(&opts);
        return 0;
    }
    fprintf(stderr,
            "usage: %s [--seeds FROM COUNT | --seed SEED [--trace] | --shrink SEED]\n",
            argv[0]);
    return 2;
}
