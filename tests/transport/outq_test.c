/* SPDX-License-Identifier: MIT */
/* The model of an outq is the list of messages pushed and the bytes they are on
 * the wire: whatever was written, what remains must be whole messages from it. */
#include "sennit_test.h"

#include <stdio.h>

#include "base/limits.h"
#include "engine/outq.h"
#include "fail_alloc.h"
#include "rng.h"
#include "wire/frame.h"

#define MESSAGES_MAX 64
#define WIRE_MAX     (512 * 1024)

typedef struct fixture {
    test_alloc alloc;
    sni_chunk_pools pools;
    sni_outq queue;
    uint8_t *wire; /* all bytes of all kept frames, in order */
    size_t wire_size;
    size_t msg_end[MESSAGES_MAX]; /* where each message ends in it */
    bool finished[MESSAGES_MAX];
    size_t msgs; /* begun */
    bool open;
} fixture;

static uint8_t body[70000];

/* Two fixtures live at a time at most. */
static uint8_t wires[2][WIRE_MAX];
static bool wires_used[2];

static bool
fixture_try(fixture *f)
{
    f->pools.small = sni_pool_new(&f->alloc.allocator, SNI_CHUNK_SMALL_BYTES, 8);
    f->pools.large = sni_pool_new(&f->alloc.allocator, SNI_CHUNK_BYTES, 8);
    sni_outq_init(&f->queue, &f->alloc.allocator, &f->pools);
    return f->pools.small != NULL && f->pools.large != NULL;
}

static void
fixture_init(fixture *f)
{
    memset(f, 0, sizeof *f);
    test_alloc_init(&f->alloc);
    assert_true(fixture_try(f));
    f->wire = wires[wires_used[0]];
    wires_used[wires_used[0]] = true;
}

static void
fixture_fini(fixture *f)
{
    sni_outq_fini(&f->queue);
    sni_pool_free(f->pools.small);
    sni_pool_free(f->pools.large);
    wires_used[f->wire == wires[1]] = false;
    assert_int_equal(f->alloc.live_blocks, 0);
}

static bool
push(fixture *f, size_t size, bool more)
{
    sennit_msg msg;
    bool kept = false;

    assert_int_equal(sennit_msg_init_copy(&msg, body + size % 251, size), SENNIT_OK);
    assert_int_equal(sni_outq_push(&f->queue, sni_msg_of(&msg), more, &kept), SENNIT_OK);
    assert_int_equal(sennit_msg_size(&msg), size);
    if (kept) {
        if (!f->open)
            f->msgs++;
        f->wire_size += sni_frame_head_write(f->wire + f->wire_size, more, false, size);
        memcpy(f->wire + f->wire_size, body + size % 251, size);
        f->wire_size += size;
        assert_true(f->wire_size <= WIRE_MAX);
        f->msg_end[f->msgs - 1] = f->wire_size;
        f->finished[f->msgs - 1] = !more;
        f->open = more;
    }
    sennit_msg_fini(&msg);
    return kept;
}

/* All bytes that wait are exactly wire[from ..). */
static void
check_waiting(const fixture *f, size_t from, const char *where)
{
    sennit_bytes parts[64];
    size_t count = sni_outq_parts(&f->queue, 0, parts, 64, SIZE_MAX);
    size_t at = from;

    if (f->queue.bytes != f->wire_size - from)
        fail_msg("%s: %zu bytes wait instead of %zu", where, f->queue.bytes,
                 f->wire_size - from);
    for (size_t i = 0; i < count; i++) {
        if (at + parts[i].size > f->wire_size ||
            memcmp(f->wire + at, parts[i].data, parts[i].size) != 0)
            fail_msg("%s: what waits differs in part %zu", where, i);
        at += parts[i].size;
    }
    if (at != f->wire_size)
        fail_msg("%s: the parts end %zu bytes early", where, f->wire_size - at);
}

static size_t
msgs_ended_by(const fixture *f, size_t written)
{
    size_t count = 0;

    for (size_t i = 0; i < f->msgs; i++)
        count += f->finished[i] && f->msg_end[i] <= written;
    return count;
}

static size_t
msgs_finished(const fixture *f)
{
    size_t count = 0;

    for (size_t i = 0; i < f->msgs; i++)
        count += f->finished[i];
    return count;
}

/* A queue as it occurs: small and large frames, multipart, empty frames, a body
 * by reference in the middle and at the end of a message, chunk changes. */
static const struct shape {
    const char *name;
    struct {
        uint32_t size;
        bool more;
    } frames[12];
    size_t count;
} shapes[] = {
    { "one empty frame", { { 0, false } }, 1 },
    { "three small messages", { { 3, false }, { 0, false }, { 55, false } }, 3 },
    { "a small multipart message between two others",
      { { 5, false }, { 1, true }, { 0, true }, { 7, false }, { 9, false } },
      5 },
    { "long frames that are copied",
      { { 300, false }, { 256, true }, { 255, false } },
      3 },
    { "a referenced body between small messages",
      { { 4, false }, { 4096, false }, { 4, false } },
      3 },
    { "a referenced body inside a multipart message",
      { { 4, false }, { 10, true }, { 4096, true }, { 20, false }, { 2, false } },
      5 },
    { "two referenced bodies in a row, first inside, then ending a message",
      { { 4096, true }, { 4100, false }, { 1, false } },
      3 },
    { "frames that cross from chunk to chunk",
      { { 4000, false }, { 4000, true }, { 4000, true }, { 4000, false }, { 80, false } },
      5 },
    { "an unfinished message of small frames",
      { { 6, false }, { 3, true }, { 4, true } },
      3 },
    { "an unfinished message that ends in a referenced body",
      { { 6, false }, { 3, true }, { 4096, true } },
      3 },
    { "nothing but an unfinished message", { { 3, true }, { 0, true } }, 2 },
};

static void
fill(fixture *f, const struct shape *shape)
{
    for (size_t i = 0; i < shape->count; i++)
        assert_true(push(f, shape->frames[i].size, shape->frames[i].more));
}

/* Splits that matter: all of a small queue; of a large one all near its seams. */
static bool
interesting(const fixture *f, size_t written)
{
    if (f->wire_size < 2000 || written % 997 == 0 || written + 40 > f->wire_size)
        return true;
    for (size_t i = 0; i < f->msgs; i++)
        if (written + 12 >= f->msg_end[i] && written <= f->msg_end[i] + 12)
            return true;
    for (size_t seam = 4080; seam < f->wire_size; seam += 4000)
        if (written + 40 >= seam && written <= seam + 60)
            return true;
    return written < 40;
}

/* Calls `check` on a fresh queue of the shape, `written` bytes gone, for each
 * split worth trying. */
static void
for_each_split(const struct shape *shape,
               void (*check)(fixture *f, const char *name, size_t written))
{
    fixture whole;

    fixture_init(&whole);
    fill(&whole, shape);
    for (size_t written = 0; written <= whole.wire_size; written++) {
        fixture f;

        if (!interesting(&whole, written))
            continue;
        fixture_init(&f);
        fill(&f, shape);
        check(&f, shape->name, written);
        fixture_fini(&f);
    }
    fixture_fini(&whole);
}

static void
check_rest(fixture *f, const char *name, size_t written)
{
    size_t ended;

    check_waiting(f, 0, name);
    assert_int_equal(f->queue.msgs, msgs_finished(f));
    ended = sni_outq_wrote(&f->queue, written);
    check_waiting(f, written, name);
    /* Also those that end inside a chunk that is not through yet. */
    assert_int_equal(ended, msgs_ended_by(f, written));
    assert_int_equal(f->queue.msgs, msgs_finished(f) - ended);
    ended += sni_outq_wrote(&f->queue, f->wire_size - written);
    assert_int_equal(ended, msgs_finished(f));
    assert_int_equal(f->queue.bytes, 0);
    assert_int_equal(f->queue.msgs, 0);
    assert_int_equal(f->queue.count, 0);
}

static void
every_written_count_leaves_exactly_the_rest(void **state)
{
    for_each_split(*state, check_rest);
}

/* Where frame boundaries lie, read from the wire. */
static size_t
boundary_after(const fixture *f, size_t written)
{
    size_t at = 0;

    while (at < written) {
        sni_frame_head head;
        size_t used;

        assert_int_equal(
            sni_frame_head_read(sni_bytes(f->wire + at, f->wire_size - at), &head, &used),
            SNI_PARSE_DONE);
        at += used + (size_t)head.body_size;
    }
    return at - written;
}

static void
check_boundary(fixture *f, const char *name, size_t written)
{
    sni_outq_wrote(&f->queue, written);
    if (sni_outq_to_boundary(&f->queue) != boundary_after(f, written))
        fail_msg("%s, %zu written: the boundary is %zu away, not %zu", name, written,
                 boundary_after(f, written), sni_outq_to_boundary(&f->queue));
}

static void
the_next_frame_boundary_is_known_after_every_written_count(void **state)
{
    for_each_split(*state, check_boundary);
}

/* The message that was begun, if any: it is dropped, everything after stays. */
static void
check_restart(fixture *f, const char *name, size_t written)
{
    size_t begin = 0;
    size_t resume = f->wire_size; /* where the first message not begun starts */
    bool begun = false;
    bool begun_unfinished = false;
    size_t msgs_left = 0;
    size_t ended;
    size_t dropped;
    char where[128];

    for (size_t i = 0; i < f->msgs; i++) {
        if (begin >= written) {
            resume = begin;
            break;
        }
        if (written < f->msg_end[i] || !f->finished[i]) {
            begun = true;
            begun_unfinished = !f->finished[i];
        }
        begin = f->msg_end[i];
    }
    for (size_t i = 0; i < f->msgs; i++)
        msgs_left += f->finished[i] && (i == 0 ? 0 : f->msg_end[i - 1]) >= resume;
    snprintf(where, sizeof where, "%s, %zu written", name, written);
    ended = sni_outq_wrote(&f->queue, written);
    dropped = sni_outq_restart(&f->queue);
    if (dropped != begun)
        fail_msg("%s: %zu messages dropped instead of %d", where, dropped, begun);
    check_waiting(f, resume, where);
    if (f->queue.msgs != msgs_left)
        fail_msg("%s: %zu messages counted instead of %zu", where, f->queue.msgs,
                 msgs_left);
    /* The law: all that were finished are written, dropped or still waiting. */
    if (ended + (begun && !begun_unfinished) + msgs_left != msgs_finished(f))
        fail_msg("%s: a message is missing from the account", where);
    assert_int_equal(sni_outq_to_boundary(&f->queue), 0);
    assert_int_equal(sni_outq_restart(&f->queue), 0);
    check_waiting(f, resume, where);
    if (begun_unfinished) {
        /* The application goes on with a message whose beginning is lost. */
        size_t kept_size = f->wire_size;

        assert_false(push(f, 10, true));
        assert_int_equal(sni_outq_restart(&f->queue), 0);
        assert_false(push(f, 5000, false));
        assert_int_equal(f->wire_size, kept_size);
        f->open = false;
    }
    if (!f->open) {
        assert_true(push(f, 12, true));
        f->open = true;
    }
    assert_true(push(f, 4096, false));
    check_waiting(f, resume, where);
    assert_int_equal(f->queue.msgs, msgs_left + 1);
}

static void
a_lost_connection_drops_only_the_message_it_had_begun(void **state)
{
    for_each_split(*state, check_restart);
}

static void
random_queues_survive_random_losses(void **state)
{
    static const size_t sizes[] = { 0, 1, 20, 255, 256, 1000, 4095, 4096, 9000 };

    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        test_rng rng = { seed };
        fixture f;
        char name[40];
        size_t frames = 1 + test_rng_below(&rng, 20);

        snprintf(name, sizeof name, "seed %llu", (unsigned long long)seed);
        fixture_init(&f);
        for (size_t i = 0; i < frames; i++)
            push(&f, sizes[test_rng_below(&rng, 9)], test_rng_chance(&rng, 40));
        check_restart(&f, name, test_rng_below(&rng, f.wire_size + 1));
        fixture_fini(&f);
    }
}

/* Bytes leave in many writes while frames are added, as on a busy connection. */
static void
writes_and_pushes_may_alternate(void **state)
{
    static const size_t sizes[] = { 0, 1, 20, 255, 256, 1000, 4095, 4096, 9000 };

    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        test_rng rng = { seed };
        fixture f;
        char name[40];
        size_t written = 0;
        size_t ended = 0;

        snprintf(name, sizeof name, "seed %llu", (unsigned long long)seed);
        fixture_init(&f);
        for (int step = 0; step < 40; step++) {
            size_t size = test_rng_below(&rng, f.queue.bytes + 1);

            push(&f, sizes[test_rng_below(&rng, 9)], test_rng_chance(&rng, 30));
            ended += sni_outq_wrote(&f.queue, size);
            written += size;
            check_waiting(&f, written, name);
            if (sni_outq_to_boundary(&f.queue) != boundary_after(&f, written))
                fail_msg("%s step %d: boundary differs", name, step);
            if (ended + f.queue.msgs != msgs_finished(&f))
                fail_msg("%s step %d: a message is missing", name, step);
        }
        fixture_fini(&f);
    }
}

/* ---- taking back ---------------------------------------------------- */

static size_t
open_begin(const fixture *f)
{
    return f->msgs < 2 ? 0 : f->msg_end[f->msgs - 2];
}

static void
an_unfinished_message_can_be_taken_back_unless_it_is_on_its_way(void **state)
{
    static const size_t sizes[] = { 0, 1, 20, 255, 256, 1000, 4095, 4096, 9000 };

    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        test_rng rng = { seed };
        fixture f;
        char name[40];
        size_t written = 0;

        snprintf(name, sizeof name, "seed %llu", (unsigned long long)seed);
        fixture_init(&f);
        for (int step = 0; step < 30; step++) {
            push(&f, sizes[test_rng_below(&rng, 9)], test_rng_chance(&rng, 60));
            if (test_rng_chance(&rng, 30)) {
                size_t size = test_rng_below(&rng, f.queue.bytes + 1);

                sni_outq_wrote(&f.queue, size);
                written += size;
            }
            if (f.open && test_rng_chance(&rng, 30)) {
                bool begun = written > open_begin(&f);
                bool more = test_rng_chance(&rng, 50);

                if (sni_outq_abandon(&f.queue, more) == begun)
                    fail_msg(
                        "%s step %d: taken back although it was begun, or not although "
                        "it was not",
                        name, step);
                if (begun)
                    break; /* only the end of the connection helps now */
                f.wire_size = open_begin(&f);
                f.msgs--;
                f.open = false;
                if (more)
                    assert_false(push(&f, 10, false));
            }
            check_waiting(&f, written, name);
            if (f.queue.msgs != msgs_finished(&f) - msgs_ended_by(&f, written))
                fail_msg("%s step %d: counts differ", name, step);
        }
        fixture_fini(&f);
    }
}

static void
a_message_dropped_with_its_connection_leaves_nothing_to_take_back(void **state)
{
    fixture f;

    (void)state;
    fixture_init(&f);
    push(&f, 100, true);
    sni_outq_wrote(&f.queue, 50);
    assert_int_equal(sni_outq_restart(&f.queue), 1);
    assert_false(push(&f, 1, false));
    f.open = false;
    f.wire_size = 0;
    f.msgs = 0;
    push(&f, 20, true);
    /* Only the twenty, not the hundred of before. */
    assert_true(sni_outq_abandon(&f.queue, false));
    f.wire_size = 0;
    check_waiting(&f, 0, "after");
    fixture_fini(&f);
}

/* ---- parts ---------------------------------------------------------- */

static void
parts_may_be_skipped_and_bounded(void **state)
{
    fixture f;
    sennit_bytes parts[8];
    size_t count;

    (void)state;
    fixture_init(&f);
    push(&f, 10, false);
    push(&f, 5000, false);
    push(&f, 20, false);
    for (size_t skip = 0; skip <= f.wire_size; skip++) {
        size_t at = skip;

        count = sni_outq_parts(&f.queue, skip, parts, 8, SIZE_MAX);
        for (size_t i = 0; i < count; i++) {
            assert_true(parts[i].size > 0);
            assert_memory_equal(parts[i].data, f.wire + at, parts[i].size);
            at += parts[i].size;
        }
        assert_int_equal(at, f.wire_size);
    }
    assert_int_equal(sni_outq_parts(&f.queue, 0, parts, 2, SIZE_MAX), 2);
    assert_int_equal(sni_outq_parts(&f.queue, 0, parts, 8, 1), 1);
    fixture_fini(&f);
}

static void
a_burst_of_small_messages_is_one_part(void **state)
{
    fixture f;
    sennit_bytes parts[8];

    (void)state;
    fixture_init(&f);
    for (int i = 0; i < 50; i++)
        push(&f, 40, false);
    assert_int_equal(sni_outq_parts(&f.queue, 0, parts, 8, SIZE_MAX), 1);
    assert_int_equal(f.queue.count, 1);
    fixture_fini(&f);
}

static void
large_bodies_are_not_copied(void **state)
{
    fixture f;
    sennit_msg msg;
    sennit_bytes parts[8];
    bool kept;

    (void)state;
    fixture_init(&f);
    assert_int_equal(sennit_msg_init_copy(&msg, body, 50000), SENNIT_OK);
    assert_int_equal(sni_outq_push(&f.queue, sni_msg_of(&msg), false, &kept), SENNIT_OK);
    assert_int_equal(sni_outq_parts(&f.queue, 0, parts, 8, SIZE_MAX), 2);
    assert_ptr_equal(parts[1].data, sennit_msg_data(&msg));
    sennit_msg_fini(&msg);
    /* The queue holds the body now. */
    sni_outq_parts(&f.queue, 0, parts, 8, SIZE_MAX);
    assert_memory_equal(parts[1].data, body, 50000);
    fixture_fini(&f);
}

static void
an_emptied_queue_holds_no_chunk(void **state)
{
    fixture f;
    size_t idle;

    (void)state;
    fixture_init(&f);
    push(&f, 40, false);
    assert_non_null(f.queue.chunk.block);
    sni_outq_wrote(&f.queue, f.wire_size);
    assert_null(f.queue.chunk.block);
    idle = f.alloc.live_bytes;
    assert_true(idle < 2 * SNI_CHUNK_SMALL_BYTES);
    fixture_fini(&f);
}

static void
one_encoding_serves_many_queues(void **state)
{
    enum { QUEUES = 5 };
    fixture f;
    sni_outq others[QUEUES];
    sni_chunk chunk = { NULL, 0 };
    static const size_t sizes[] = { 0, 100, 4096, 3 };

    (void)state;
    fixture_init(&f);
    for (int q = 0; q < QUEUES; q++)
        sni_outq_init(&others[q], &f.alloc.allocator, &f.pools);
    for (size_t i = 0; i < 4; i++) {
        sennit_msg msg;
        sni_encoded encoded;
        bool kept;

        push(&f, sizes[i], i % 2 == 0);
        assert_int_equal(sennit_msg_init_copy(&msg, body + sizes[i] % 251, sizes[i]),
                         SENNIT_OK);
        assert_int_equal(
            sni_chunk_encode(&chunk, &f.pools, sni_msg_of(&msg), i % 2 == 0, &encoded),
            SENNIT_OK);
        for (int q = 0; q < QUEUES; q++) {
            assert_int_equal(sni_outq_push_encoded(&others[q], &encoded, &kept),
                             SENNIT_OK);
            assert_true(kept);
        }
        sennit_msg_fini(&msg);
    }
    sni_chunk_fini(&chunk);
    for (int q = 0; q < QUEUES; q++) {
        sni_outq mine = f.queue;

        f.queue = others[q];
        check_waiting(&f, 0, "shared");
        assert_int_equal(sni_outq_wrote(&f.queue, f.wire_size), 2);
        sni_outq_fini(&f.queue);
        f.queue = mine;
    }
    fixture_fini(&f);
}

/* ---- memory --------------------------------------------------------- */

static void
outq_scenario(test_alloc *alloc, void *arg)
{
    static const struct {
        size_t size;
        bool more;
    } frames[] = { { 10, false },   { 3000, true }, { 3000, true }, { 4096, false },
                   { 4097, true },  { 5000, true }, { 5001, true }, { 5002, true },
                   { 5003, false }, { 1, false } };
    fixture f;
    size_t size = 0;
    bool ok;

    (void)arg;
    memset(&f, 0, sizeof f);
    f.alloc = *alloc;
    f.alloc.allocator.arg = alloc;
    alloc->allocator.arg = alloc;
    f.pools.small = sni_pool_new(&alloc->allocator, SNI_CHUNK_SMALL_BYTES, 2);
    f.pools.large = sni_pool_new(&alloc->allocator, SNI_CHUNK_BYTES, 2);
    sni_outq_init(&f.queue, &alloc->allocator, &f.pools);
    ok = f.pools.small != NULL && f.pools.large != NULL;
    for (size_t i = 0; ok && i < sizeof frames / sizeof frames[0]; i++) {
        sennit_msg msg;
        bool kept;
        sennit_err err;
        uint64_t failed = alloc->failed;

        assert_int_equal(sennit_msg_init_copy(&msg, body, frames[i].size), SENNIT_OK);
        err = sni_outq_push(&f.queue, sni_msg_of(&msg), frames[i].more, &kept);
        if (err == SENNIT_ENOMEM) {
            assert_true(alloc->failed > failed);
            assert_int_equal(f.queue.bytes, size);
            err = sni_outq_push(&f.queue, sni_msg_of(&msg), frames[i].more, &kept);
        }
        assert_int_equal(err, SENNIT_OK);
        size += frames[i].size + (frames[i].size > 255 ? 9 : 2);
        assert_int_equal(f.queue.bytes, size);
        sennit_msg_fini(&msg);
    }
    if (ok) {
        assert_int_equal(f.queue.msgs, 4);
        assert_int_equal(sni_outq_wrote(&f.queue, size), 4);
    }
    sni_outq_fini(&f.queue);
    sni_pool_free(f.pools.small);
    sni_pool_free(f.pools.large);
}

static void
a_queue_survives_every_failed_allocation(void **state)
{
    (void)state;
    assert_true(test_alloc_every_failure(outq_scenario, NULL) >= 6);
}

static void
a_warm_queue_allocates_nothing(void **state)
{
    fixture f;
    uint64_t warm = 0;

    (void)state;
    fixture_init(&f);
    for (int i = 0; i < 1000; i++) {
        f.wire_size = 0;
        f.msgs = 0;
        push(&f, 64, false);
        sni_outq_wrote(&f.queue, f.wire_size);
        if (i == 10)
            warm = f.alloc.requests;
    }
    assert_int_equal(f.alloc.requests, warm);
    fixture_fini(&f);
}

int
main(void)
{
    enum { SHAPES = sizeof shapes / sizeof shapes[0] };
    static const struct {
        const char *name;
        CMUnitTestFunction fn;
    } by_shape[] = {
        { "every written count leaves exactly the rest",
          every_written_count_leaves_exactly_the_rest },
        { "the next frame boundary is known after every written count",
          the_next_frame_boundary_is_known_after_every_written_count },
        { "a lost connection drops only the message it had begun",
          a_lost_connection_drops_only_the_message_it_had_begun },
    };
    const struct CMUnitTest single[] = {
        cmocka_unit_test(random_queues_survive_random_losses),
        cmocka_unit_test(writes_and_pushes_may_alternate),
        cmocka_unit_test(an_unfinished_message_can_be_taken_back_unless_it_is_on_its_way),
        cmocka_unit_test(
            a_message_dropped_with_its_connection_leaves_nothing_to_take_back),
        cmocka_unit_test(parts_may_be_skipped_and_bounded),
        cmocka_unit_test(a_burst_of_small_messages_is_one_part),
        cmocka_unit_test(large_bodies_are_not_copied),
        cmocka_unit_test(an_emptied_queue_holds_no_chunk),
        cmocka_unit_test(one_encoding_serves_many_queues),
        cmocka_unit_test(a_queue_survives_every_failed_allocation),
        cmocka_unit_test(a_warm_queue_allocates_nothing),
    };
    static char names[3 * SHAPES][160];
    struct CMUnitTest rows[3 * SHAPES];
    int failed;

    for (size_t i = 0; i < sizeof body; i++)
        body[i] = (uint8_t)(i * 31 + i / 256);
    for (size_t i = 0; i < 3 * SHAPES; i++) {
        snprintf(names[i], sizeof names[i], "%s: %s", by_shape[i / SHAPES].name,
                 shapes[i % SHAPES].name);
        rows[i] = (struct CMUnitTest){
            .name = names[i],
            .test_func = by_shape[i / SHAPES].fn,
            .initial_state = (void *)(uintptr_t)&shapes[i % SHAPES],
        };
    }
    failed = cmocka_run_group_tests(rows, NULL, NULL);
    failed += cmocka_run_group_tests(single, NULL, NULL);
    return failed == 0 ? 0 : 1;
}
