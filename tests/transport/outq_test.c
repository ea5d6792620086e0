/* SPDX-License-Identifier: MIT */
/* The model of an outq is the list of messages pushed and the bytes they are on
 * the wire: whatever was written, what remains must be whole messages from it. */
#include "sennit_test.h"

#include <stdio.h>

#include "base/limits.h"
#include "engine/outq.h"
#include "fail_alloc.h"
#include "rng.h"
#include "suite.h"
#include "wire/frame.h"

#define MESSAGES_MAX 64
#define WIRE_MAX     (512 * 1024)

typedef struct fixture {
    test_alloc alloc;
    sni_chunk_pools pools;
    sni_rings rings;
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
    f->pools.rings = &f->rings;
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
    sni_rings_fini(&f->rings, &f->alloc.allocator);
    wires_used[f->wire == wires[1]] = false;
    assert_int_equal(f->alloc.live_blocks, 0);
}

/* Some sizes are gathered from parts that are referred to, copied, empty and inline. */
static void
make(sennit_msg *msg, const uint8_t *data, size_t size)
{
    size_t cuts[] = { 0, 10, 10, size / 2, size / 2 + 7, size - size / 3, size };
    sennit_msg parts[6];

    if (size < SNI_COPY_MAX_BYTES || size % 4 != 3) {
        assert_int_equal(sennit_msg_init_copy(msg, data, size), SENNIT_OK);
        return;
    }
    for (int i = 0; i < 6; i++)
        assert_int_equal(
            sennit_msg_init_copy(&parts[i], data + cuts[i], cuts[i + 1] - cuts[i]),
            SENNIT_OK);
    assert_int_equal(sennit_msg_init_gather(msg, parts, 6), SENNIT_OK);
}

#define GATHERED_SMALL 4099u  /* all of it is copied */
#define GATHERED_LARGE 24003u /* head and 10 octets, 11991, 7, 4000, 8001 ... */

static bool
push(fixture *f, size_t size, bool more)
{
    sennit_msg msg;
    bool kept = false;

    make(&msg, body + size % 251, size);
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

/* What waits, without lending it. */
static size_t
look(const sni_outq *queue, sennit_bytes *parts, size_t parts_max)
{
    sni_outq looked_at = *queue;

    return sni_outq_parts(&looked_at, 0, parts, parts_max, SIZE_MAX);
}

/* All bytes that wait are exactly wire[from ..). */
static void
check_waiting(const fixture *f, size_t from, const char *where)
{
    sennit_bytes parts[64];
    size_t count = look(&f->queue, parts, 64);
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
    { "a gathered body between small messages",
      { { 4, false }, { GATHERED_LARGE, false }, { 4, false } },
      3 },
    { "gathered bodies inside a multipart message",
      { { 4, false },
        { 10, true },
        { GATHERED_LARGE, true },
        { GATHERED_SMALL, true },
        { GATHERED_LARGE, false },
        { 2, false } },
      6 },
    { "an unfinished message that ends in a gathered body",
      { { 6, false }, { 3, true }, { GATHERED_LARGE, true } },
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
        sni_frame_head head = { 0 };
        size_t used = 0;

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
    static const size_t sizes[] = {
        0, 1, 20, 255, 256, 1000, 4095, 4096, 9000, GATHERED_SMALL, GATHERED_LARGE
    };

    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        test_rng rng = { seed };
        fixture f;
        char name[40];
        size_t frames = 1 + test_rng_below(&rng, 20);

        snprintf(name, sizeof name, "seed %llu", (unsigned long long)seed);
        fixture_init(&f);
        for (size_t i = 0; i < frames; i++)
            push(&f, sizes[test_rng_below(&rng, 11)], test_rng_chance(&rng, 40));
        check_restart(&f, name, test_rng_below(&rng, f.wire_size + 1));
        fixture_fini(&f);
    }
}

/* Bytes leave in many writes while frames are added, as on a busy connection. */
static void
writes_and_pushes_may_alternate(void **state)
{
    static const size_t sizes[] = {
        0, 1, 20, 255, 256, 1000, 4095, 4096, 9000, GATHERED_SMALL, GATHERED_LARGE
    };

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

            push(&f, sizes[test_rng_below(&rng, 11)], test_rng_chance(&rng, 30));
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
    static const size_t sizes[] = {
        0, 1, 20, 255, 256, 1000, 4095, 4096, 9000, GATHERED_SMALL, GATHERED_LARGE
    };

    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        test_rng rng = { seed };
        fixture f;
        char name[40];
        size_t written = 0;

        snprintf(name, sizeof name, "seed %llu", (unsigned long long)seed);
        fixture_init(&f);
        for (int step = 0; step < 30; step++) {
            push(&f, sizes[test_rng_below(&rng, 11)], test_rng_chance(&rng, 60));
            if (test_rng_chance(&rng, 30)) {
                size_t size = test_rng_below(&rng, f.queue.bytes + 1);

                sni_outq_wrote(&f.queue, size);
                written += size;
            }
            if (f.open && test_rng_chance(&rng, 30)) {
                bool begun = written > open_begin(&f);

                if (sni_outq_abandon(&f.queue) == begun)
                    fail_msg(
                        "%s step %d: taken back although it was begun, or not although "
                        "it was not",
                        name, step);
                if (begun)
                    break; /* only the end of the connection helps now */
                f.wire_size = open_begin(&f);
                f.msgs--;
                f.open = false;
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
    assert_true(sni_outq_abandon(&f.queue));
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

/* ---- against a model ------------------------------------------------- */

/* The plain model: messages in order, the bytes they are, and how far the first is
 * written. What the kernel holds is kept with a copy of it. */
#define MODEL_MSGS_MAX   256
#define MODEL_FRAMES_MAX 8
#define MODEL_VIEWS_MAX  16

typedef struct model_msg {
    uint8_t *wire;
    size_t size;
    size_t topic_at; /* of the first frame's body */
    size_t topic_size;
    size_t frame_end[MODEL_FRAMES_MAX];
    size_t frames;
    sennit_time at;
    bool finished;
} model_msg;

typedef struct model {
    fixture f;
    sni_outq *queue;
    model_msg msgs[MODEL_MSGS_MAX];
    size_t count;
    size_t written; /* of the first */
    size_t lent;
    sennit_bytes views[MODEL_VIEWS_MAX];
    uint8_t *copies[MODEL_VIEWS_MAX];
    size_t views_count;
    sni_chunk chunk; /* of shared frames */
    bool open;
    bool swallow;
    bool doomed;
    /* The account: pushed == ended + dropped + waiting, in finished messages. */
    size_t finished;
    size_t ended;
    size_t dropped;
    char where[96];
} model;

static void
model_init(model *m, bool raw, sennit_time grain)
{
    memset(m, 0, sizeof *m);
    fixture_init(&m->f);
    m->queue = &m->f.queue;
    m->queue->raw = raw;
    m->queue->grain = grain;
    m->queue->now = 1;
}

static void
model_take_back_views(model *m)
{
    for (size_t i = 0; i < m->views_count; i++)
        free(m->copies[i]);
    m->views_count = 0;
    m->lent = 0;
}

static void
model_fini(model *m)
{
    model_take_back_views(m);
    for (size_t i = 0; i < m->count; i++)
        free(m->msgs[i].wire);
    sni_chunk_fini(&m->chunk);
    fixture_fini(&m->f);
}

static void
model_remove(model *m, size_t i)
{
    free(m->msgs[i].wire);
    memmove(&m->msgs[i], &m->msgs[i + 1], (m->count - i - 1) * sizeof m->msgs[0]);
    m->count--;
}

static size_t
model_bytes(const model *m)
{
    size_t bytes = 0;

    for (size_t i = 0; i < m->count; i++)
        bytes += m->msgs[i].size;
    return bytes - m->written;
}

static size_t
model_finished(const model *m)
{
    size_t msgs = 0;

    for (size_t i = 0; i < m->count; i++)
        msgs += m->msgs[i].finished;
    return msgs;
}

/* Whether message `i` is whole, and nothing of it is written or lent. */
static bool
model_loose(const model *m, size_t i)
{
    size_t begin = 0;

    for (size_t k = 0; k < i; k++)
        begin += m->msgs[k].size;
    return m->msgs[i].finished && (i > 0 || m->written == 0) &&
           (begin >= m->lent + m->written);
}

/* The first loose message, or `count`. */
static size_t
model_first_loose(const model *m)
{
    for (size_t i = 0; i < m->count; i++)
        if (model_loose(m, i))
            return i;
    return m->count;
}

static void
model_push(model *m, size_t size, size_t salt, bool more, bool shared)
{
    sennit_msg msg;
    sni_encoded encoded;
    bool kept;
    model_msg *to;

    assert_true(m->count < MODEL_MSGS_MAX);
    make(&msg, body + salt, size);
    if (shared && !m->queue->raw) {
        assert_int_equal(
            sni_chunk_encode(&m->chunk, &m->f.pools, sni_msg_of(&msg), more, &encoded),
            SENNIT_OK);
        assert_int_equal(sni_outq_push_encoded(m->queue, &encoded, &kept), SENNIT_OK);
    } else {
        assert_int_equal(sni_outq_push(m->queue, sni_msg_of(&msg), more, &kept),
                         SENNIT_OK);
    }
    sennit_msg_fini(&msg);
    if (kept == m->swallow)
        fail_msg("%s: kept is %d", m->where, kept);
    if (m->swallow) {
        m->swallow = more || m->doomed;
        m->open = more;
        return;
    }
    if (!m->open)
        m->msgs[m->count++] = (model_msg){ .finished = false };
    to = &m->msgs[m->count - 1];
    assert_true(to->frames < MODEL_FRAMES_MAX);
    to->wire = realloc(to->wire, to->size + SNI_FRAME_HEAD_MAX + size + 1);
    assert_non_null(to->wire);
    /* A raw queue does not know of frames before the first byte. */
    if (to->size == 0) {
        to->at = m->queue->now;
        to->frames = 0;
    }
    if (!m->queue->raw)
        to->size += sni_frame_head_write(to->wire + to->size, more, false, size);
    if (to->frames == 0) {
        to->topic_at = to->size;
        to->topic_size = size;
    }
    memcpy(to->wire + to->size, body + salt, size);
    to->size += size;
    to->frame_end[to->frames++] = to->size;
    to->finished = !more;
    m->open = more;
    m->finished += !more;
    /* Without a byte left there is nothing to wait for. */
    if (!more && to->size == (m->count == 1 ? m->written : 0)) {
        m->ended++;
        if (m->count == 1)
            m->written = 0;
        model_remove(m, m->count - 1);
    }
}

static void
model_parts(model *m, size_t skip, size_t parts_max, size_t bytes_max)
{
    sennit_bytes parts[MODEL_VIEWS_MAX];
    size_t bytes = model_bytes(m);
    size_t count = sni_outq_parts(m->queue, skip, parts, parts_max, bytes_max);

    /* The views of one batch are made by calls with a growing skip. */
    if (skip == 0)
        model_take_back_views(m);
    m->lent = skip;
    for (size_t i = 0; i < count; i++) {
        assert_true(parts[i].size > 0);
        m->lent += parts[i].size;
        assert_true(m->views_count < MODEL_VIEWS_MAX);
        m->views[m->views_count] = parts[i];
        m->copies[m->views_count] = malloc(parts[i].size);
        assert_non_null(m->copies[m->views_count]);
        memcpy(m->copies[m->views_count++], parts[i].data, parts[i].size);
    }
    m->lent = m->lent < bytes ? m->lent : bytes;
    if (bytes > skip && bytes_max > 0 && parts_max > 0)
        assert_true(count > 0);
}

/* As the engine with something on its control lane: the rest of a frame first. */
static void
model_batch(model *m)
{
    size_t lead = sni_outq_to_boundary(m->queue);

    if (lead > 0)
        model_parts(m, 0, 2, lead);
    else
        model_take_back_views(m);
    model_parts(m, lead, 6, 8000);
}

static void
model_wrote(model *m, size_t size)
{
    size_t ended = 0;

    model_take_back_views(m);
    m->written += size;
    while (m->count > 0 && m->msgs[0].finished && m->written >= m->msgs[0].size) {
        m->written -= m->msgs[0].size;
        model_remove(m, 0);
        ended++;
    }
    if (sni_outq_wrote(m->queue, size) != ended)
        fail_msg("%s: not %zu messages ended", m->where, ended);
    m->ended += ended;
}

static void
model_drop_oldest(model *m)
{
    size_t i = model_first_loose(m);

    if (sni_outq_drop_oldest(m->queue) != (i < m->count))
        fail_msg("%s: dropped although it may not, or not although it may", m->where);
    if (i < m->count) {
        model_remove(m, i);
        m->dropped++;
    }
}

static void
model_drop_topic(model *m, sennit_bytes topic)
{
    size_t i = 0;

    while (i < m->count &&
           !(model_loose(m, i) && m->msgs[i].topic_size == topic.size &&
             memcmp(m->msgs[i].wire + m->msgs[i].topic_at, topic.data, topic.size) == 0))
        i++;
    if (sni_outq_drop_topic(m->queue, topic) != (i < m->count))
        fail_msg("%s: dropped although it may not, or not although it may", m->where);
    if (i < m->count) {
        model_remove(m, i);
        m->dropped++;
    }
}

static void
model_drop_before(model *m, sennit_time before)
{
    sennit_time grain = m->queue->grain;
    sennit_time oldest = sni_outq_oldest_at(m->queue);
    size_t first = model_first_loose(m);
    size_t dropped;

    if ((oldest == SENNIT_NEVER) != (first == m->count))
        fail_msg("%s: there is an oldest, or none", m->where);
    if (first < m->count &&
        (oldest > m->msgs[first].at || m->msgs[first].at - oldest > grain))
        fail_msg("%s: the oldest is of another time", m->where);
    dropped = sni_outq_drop_before(m->queue, before);
    assert_true((dropped > 0) == (oldest < before));
    for (size_t i = 0; i < dropped; i++) {
        assert_true(first < m->count);
        assert_true(model_loose(m, first));
        if (m->msgs[first].at >= before + grain)
            fail_msg("%s: one too young was dropped", m->where);
        model_remove(m, first);
        m->dropped++;
    }
    if (first < m->count && model_loose(m, first) && m->msgs[first].at < before)
        fail_msg("%s: one too old was left", m->where);
}

static void
model_abandon(model *m)
{
    size_t open = m->count;
    size_t begin = 0;
    bool held;

    if (m->open && !m->swallow)
        open--;
    for (size_t i = 0; i < open; i++)
        begin += m->msgs[i].size;
    held = open < m->count && m->msgs[open].size > 0 && (begin < m->lent + m->written);
    if (sni_outq_abandon(m->queue) == held)
        fail_msg("%s: taken back although it was begun, or not although it was not",
                 m->where);
    if (held)
        m->doomed = true;
    else if (open < m->count)
        model_remove(m, open);
    m->open = false;
    m->swallow = m->doomed;
}

static void
model_restart(model *m)
{
    size_t dropped = 0;
    bool doomed = m->doomed;

    model_take_back_views(m);
    m->doomed = false;
    if (doomed)
        m->swallow = m->open;
    if (m->count > 0 && m->written > 0) {
        if (m->msgs[0].finished)
            m->dropped++;
        else
            m->swallow = m->open;
        dropped = m->msgs[0].finished || !doomed;
        model_remove(m, 0);
        m->written = 0;
    }
    if (doomed && m->count > 0 && !m->msgs[m->count - 1].finished)
        model_remove(m, m->count - 1);
    if (sni_outq_restart(m->queue) != dropped)
        fail_msg("%s: restart did not drop %zu", m->where, dropped);
}

static void
model_check(const model *m)
{
    sennit_bytes parts[MODEL_MSGS_MAX * 2];
    size_t count = look(m->queue, parts, MODEL_MSGS_MAX * 2);
    size_t part = 0;
    size_t used = 0;
    size_t boundary = 0;
    const sni_outq *queue = m->queue;

    if (queue->bytes != model_bytes(m))
        fail_msg("%s: %zu bytes wait, not %zu", m->where, queue->bytes, model_bytes(m));
    if (queue->msgs != model_finished(m))
        fail_msg("%s: %zu messages wait, not %zu", m->where, queue->msgs,
                 model_finished(m));
    if (m->finished != m->ended + m->dropped + queue->msgs)
        fail_msg("%s: a message is missing from the account", m->where);
    if (queue->lent != m->lent)
        fail_msg("%s: %zu bytes are lent, not %zu", m->where, queue->lent, m->lent);
    if (queue->open != m->open || queue->swallow != m->swallow)
        fail_msg("%s: open %d, swallow %d", m->where, queue->open, queue->swallow);
    if (queue->open_bytes != (m->count > 0 && !m->msgs[m->count - 1].finished
                                  ? m->msgs[m->count - 1].size
                                  : 0))
        fail_msg("%s: %zu bytes are open", m->where, queue->open_bytes);
    for (size_t i = 0; i < m->count; i++) {
        for (size_t at = i == 0 ? m->written : 0; at < m->msgs[i].size;) {
            size_t size = m->msgs[i].size - at;

            if (part == count)
                fail_msg("%s: the parts end early", m->where);
            if (size > parts[part].size - used)
                size = parts[part].size - used;
            if (memcmp(m->msgs[i].wire + at, parts[part].data + used, size) != 0)
                fail_msg("%s: what waits differs in message %zu", m->where, i);
            at += size;
            used += size;
            if (used == parts[part].size) {
                part++;
                used = 0;
            }
        }
    }
    if (part != count)
        fail_msg("%s: there are parts too many", m->where);
    for (size_t i = 0; m->count > 0 && i < m->msgs[0].frames; i++)
        if (m->msgs[0].frame_end[i] >= m->written && m->written > 0) {
            boundary = m->msgs[0].frame_end[i] - m->written;
            break;
        }
    if (queue->bytes > 0 && sni_outq_to_boundary(queue) != boundary)
        fail_msg("%s: the boundary is not %zu away", m->where, boundary);
    for (size_t i = 0; i < m->views_count; i++)
        if (memcmp(m->views[i].data, m->copies[i], m->views[i].size) != 0)
            fail_msg("%s: what the kernel holds has changed", m->where);
    if (m->count == 0 && queue->bytes == 0)
        assert_null(queue->chunk.block);
}

static void
random_step(model *m, test_rng *rng)
{
    static const size_t sizes[] = { 0,
                                    0,
                                    1,
                                    1,
                                    2,
                                    20,
                                    254,
                                    256,
                                    1000,
                                    4095,
                                    4096,
                                    9000,
                                    GATHERED_SMALL,
                                    GATHERED_LARGE };
    size_t size = sizes[test_rng_below(rng, 14)];
    size_t salt = test_rng_below(rng, 3);
    size_t limit = m->lent > 0 ? m->lent : m->queue->bytes;
    bool room = m->count < MODEL_MSGS_MAX - 1 &&
                (!m->open || m->count == 0 ||
                 m->msgs[m->count - 1].frames < MODEL_FRAMES_MAX - 1);

    m->queue->now += test_rng_below(rng, 3) * 5;
    switch (test_rng_below(rng, 20)) {
    case 0:
    case 1:
        model_drop_oldest(m);
        break;
    case 2:
    case 3:
        model_drop_topic(m, sni_bytes(body + salt, size));
        break;
    case 4:
        model_drop_before(m, m->queue->now - test_rng_below(rng, m->queue->now));
        break;
    case 5:
        if (m->open)
            model_abandon(m);
        break;
    case 6:
        if (test_rng_chance(rng, 30))
            model_restart(m);
        break;
    case 7:
    case 8:
        model_parts(m, 0, 1 + test_rng_below(rng, 8), 1 + test_rng_below(rng, 20000));
        break;
    case 9:
        model_batch(m);
        break;
    case 10:
    case 11:
        model_wrote(m, test_rng_below(rng, limit + 1));
        break;
    case 12:
        model_wrote(m, limit);
        break;
    default:
        if (room)
            model_push(m, size, salt, test_rng_chance(rng, 40), test_rng_chance(rng, 30));
        else if (m->open)
            model_push(m, size, salt, false, false);
        break;
    }
}

static void
messages_are_whole_or_not_there_whatever_happens(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 1500; seed++) {
        static const sennit_time grains[] = { 0, 1, 20 };
        test_rng rng = { seed };
        model m;

        model_init(&m, seed % 4 == 0, grains[seed % 3]);
        for (int step = 0; step < 120; step++) {
            snprintf(m.where, sizeof m.where, "seed %llu step %d",
                     (unsigned long long)seed, step);
            random_step(&m, &rng);
            model_check(&m);
        }
        model_fini(&m);
    }
}

/* All orders of the calls that a queue can get, so many in a row. */
static const char calls[] = "pmeMbwWrodta";

static void
call(model *m, char name)
{
    size_t limit = m->lent > 0 ? m->lent : m->queue->bytes;

    switch (name) {
    case 'p':
        model_push(m, 1, 0, false, false);
        break;
    case 'm':
        model_push(m, 1, 1, true, false);
        break;
    case 'e':
        model_push(m, 1, 1, false, true);
        break;
    case 'M':
        model_push(m, 4096, 0, true, false);
        break;
    case 'b':
        model_batch(m);
        break;
    case 'w':
        model_wrote(m, limit < 4 ? limit : 4);
        break;
    case 'W':
        model_wrote(m, limit);
        break;
    case 'r':
        model_restart(m);
        break;
    case 'o':
        model_drop_oldest(m);
        break;
    case 'd':
        model_drop_topic(m, sni_bytes(body + 1, 1));
        break;
    case 't':
        model_drop_before(m, m->queue->now);
        break;
    default: /* a */
        if (m->open)
            model_abandon(m);
        break;
    }
}

static void
every_order_of_calls_keeps_the_account(void **state)
{
    enum { CALLS = sizeof calls - 1, LENGTH = 4 };
    static const char *const begins[] = { "", "pme", "pbpp", "mMbe" };
    bool raw = *state != NULL;
    size_t orders = 1;

    for (int i = 0; i < LENGTH; i++)
        orders *= CALLS;
    for (size_t order = 0; order < orders * 4; order++) {
        const char *begin = begins[order / orders];
        size_t rest = order % orders;
        size_t length = strlen(begin);
        model m;

        model_init(&m, raw, 0);
        memcpy(m.where, begin, length);
        for (int i = 0; i < LENGTH; i++) {
            m.where[length + (size_t)i] = calls[rest % CALLS];
            rest /= CALLS;
        }
        for (const char *at = m.where; *at != '\0'; at++) {
            m.queue->now++;
            call(&m, *at);
            model_check(&m);
        }
        model_fini(&m);
    }
}

/* ---- dropping ------------------------------------------------------- */

static void
the_oldest_goes_first_and_never_the_one_that_is_lent(void **state)
{
    fixture f;
    sennit_bytes parts[4];

    (void)state;
    fixture_init(&f);
    push(&f, 10, false);
    assert_int_equal(sni_outq_parts(&f.queue, 0, parts, 4, SIZE_MAX), 1);
    assert_false(sni_outq_drop_oldest(&f.queue));
    push(&f, 20, false);
    push(&f, 30, false);
    assert_true(sni_outq_drop_oldest(&f.queue));
    assert_int_equal(f.queue.msgs, 2);
    assert_int_equal(f.queue.bytes, 12 + 32);
    /* The kernel took half of the first: it is begun. */
    assert_int_equal(sni_outq_wrote(&f.queue, 6), 0);
    assert_true(sni_outq_drop_oldest(&f.queue));
    assert_false(sni_outq_drop_oldest(&f.queue));
    assert_int_equal(sni_outq_wrote(&f.queue, 6), 1);
    assert_int_equal(f.queue.bytes, 0);
    fixture_fini(&f);
}

static void
a_message_is_cut_out_of_a_burst_without_memory(void **state)
{
    model m;

    (void)state;
    model_init(&m, false, 1000);
    for (size_t i = 0; i < 40; i++)
        model_push(&m, 1, i, false, false);
    for (size_t i = 0; i < 19; i++) {
        /* Every other one: each cut leaves a piece more. */
        model_push(&m, i % 3 == 0 ? 1 : 5000, 100, false, false);
        m.f.alloc.fail_at = m.f.alloc.requests + 1;
        m.f.alloc.fail_count = UINT64_MAX;
        model_drop_topic(&m, sni_bytes(body + 2 * i + 1, 1));
        m.f.alloc.fail_at = 0;
        model_check(&m);
    }
    assert_int_equal(m.dropped, 19);
    assert_int_equal(m.f.alloc.failed, 0);
    model_fini(&m);
}

/* The model of a push under drop-oldest: a queue that is always full. */
static void
drop_scenario(test_alloc *alloc, void *arg)
{
    sni_chunk_pools pools = { .rings = NULL };
    sni_outq queue;
    size_t lost = 0;
    bool ok;

    (void)arg;
    pools.small = sni_pool_new(&alloc->allocator, SNI_CHUNK_SMALL_BYTES, 2);
    pools.large = sni_pool_new(&alloc->allocator, SNI_CHUNK_BYTES, 2);
    sni_outq_init(&queue, &alloc->allocator, &pools);
    ok = pools.small != NULL && pools.large != NULL;
    for (size_t i = 0; ok && i < 120; i++) {
        sennit_msg msg;
        sennit_bytes parts[4];
        bool kept;

        assert_int_equal(sennit_msg_init_copy(&msg, body + i, i % 7 == 0 ? 5000 : 100),
                         SENNIT_OK);
        if (sni_outq_push(&queue, sni_msg_of(&msg), false, &kept) != SENNIT_OK) {
            assert_true(alloc->failed > 0);
            lost++;
        }
        sennit_msg_fini(&msg);
        if (i == 30)
            sni_outq_parts(&queue, 0, parts, 4, SIZE_MAX);
        if (queue.msgs > 50) {
            uint64_t failed = alloc->failed;

            if (i % 3 == 0 && !sni_outq_drop_topic(&queue, sni_bytes(body + i - 20, 100)))
                assert_true(sni_outq_drop_oldest(&queue) || alloc->failed > failed);
            else if (i % 3 != 0)
                assert_true(sni_outq_drop_oldest(&queue) || alloc->failed > failed);
        }
        assert_true(queue.msgs <= 51);
    }
    assert_true(lost <= 1);
    sni_outq_fini(&queue);
    sni_pool_free(pools.small);
    sni_pool_free(pools.large);
}

static void
dropping_survives_every_failed_allocation(void **state)
{
    (void)state;
    assert_true(test_alloc_every_failure(drop_scenario, NULL) >= 6);
}

static void
an_abandoned_message_goes_with_its_connection_and_nothing_stands_behind_it(void **state)
{
    fixture f;
    sennit_bytes parts[4];

    (void)state;
    fixture_init(&f);
    push(&f, 10, false);
    push(&f, 20, true);
    sni_outq_parts(&f.queue, 0, parts, 4, SIZE_MAX);
    assert_false(sni_outq_abandon(&f.queue));
    f.open = false;
    assert_false(push(&f, 30, false));
    /* The send was retracted: of the first message nothing was written, so it stays. */
    assert_int_equal(sni_outq_restart(&f.queue), 0);
    assert_int_equal(f.queue.msgs, 1);
    assert_int_equal(f.queue.bytes, 12);
    f.wire_size = 12;
    f.msgs = 1;
    assert_true(push(&f, 40, false));
    check_waiting(&f, 0, "after");
    fixture_fini(&f);
}

static void
a_raw_queue_holds_bodies_only(void **state)
{
    static const size_t sizes[] = { 3, 0, 200, 5000, 4 };
    fixture f;
    sennit_bytes parts[8];
    size_t at = 0;

    (void)state;
    fixture_init(&f);
    f.queue.raw = true;
    for (size_t i = 0; i < 5; i++) {
        sennit_msg msg;
        bool kept;

        assert_int_equal(sennit_msg_init_copy(&msg, body, sizes[i]), SENNIT_OK);
        assert_int_equal(sni_outq_push(&f.queue, sni_msg_of(&msg), false, &kept),
                         SENNIT_OK);
        assert_true(kept);
        sennit_msg_fini(&msg);
    }
    assert_int_equal(f.queue.msgs, 4);
    assert_int_equal(f.queue.bytes, 5207);
    /* Two small ones are one vector. */
    assert_int_equal(sni_outq_parts(&f.queue, 0, parts, 8, SIZE_MAX), 3);
    for (size_t i = 0; i < 3; i++) {
        static const size_t vectors[] = { 203, 5000, 4 };

        assert_int_equal(parts[i].size, vectors[i]);
        at += parts[i].size;
    }
    assert_memory_equal(parts[0].data, body, 3);
    assert_memory_equal(parts[0].data + 3, body, 200);
    assert_int_equal(sni_outq_wrote(&f.queue, 100), 1);
    assert_int_equal(sni_outq_restart(&f.queue), 1);
    assert_int_equal(f.queue.bytes, 5004);
    assert_true(sni_outq_drop_topic(&f.queue, sni_bytes(body, 4)));
    assert_int_equal(sni_outq_wrote(&f.queue, 5000), 1);
    assert_int_equal(at, 5207);
    sni_outq_fini(&f.queue);
    assert_true(f.queue.raw);
    fixture_fini(&f);
}

/* ---- memory --------------------------------------------------------- */

static void
outq_scenario(test_alloc *alloc, void *arg)
{
    static const struct {
        size_t size;
        bool more;
    } frames[] = { { 10, false },   { 3000, true },
                   { 3000, true },  { 4096, false },
                   { 4097, true },  { 5000, true },
                   { 5001, true },  { 5002, true },
                   { 5003, false }, { GATHERED_LARGE, false },
                   { 1, false } };
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

        make(&msg, body, frames[i].size);
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
        assert_int_equal(f.queue.msgs, 5);
        assert_int_equal(sni_outq_wrote(&f.queue, size), 5);
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
    static const struct CMUnitTest fixed[] = {
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
        cmocka_unit_test(messages_are_whole_or_not_there_whatever_happens),
        { "every order of calls keeps the account",
          every_order_of_calls_keeps_the_account, NULL, NULL, NULL },
        { "every order of calls keeps the account of a raw queue",
          every_order_of_calls_keeps_the_account, NULL, NULL, (void *)1 },
        cmocka_unit_test(the_oldest_goes_first_and_never_the_one_that_is_lent),
        cmocka_unit_test(a_message_is_cut_out_of_a_burst_without_memory),
        cmocka_unit_test(dropping_survives_every_failed_allocation),
        cmocka_unit_test(
            an_abandoned_message_goes_with_its_connection_and_nothing_stands_behind_it),
        cmocka_unit_test(a_raw_queue_holds_bodies_only),
    };
    static test_suite suite;

    for (size_t i = 0; i < sizeof body; i++)
        body[i] = (uint8_t)(i * 31 + i / 256);
    TEST_SUITE_ROWS(&suite, "every written count leaves exactly the rest: ", shapes,
                    every_written_count_leaves_exactly_the_rest);
    TEST_SUITE_ROWS(
        &suite, "the next frame boundary is known after every written count: ", shapes,
        the_next_frame_boundary_is_known_after_every_written_count);
    TEST_SUITE_ROWS(&suite,
                    "a lost connection drops only the message it had begun: ", shapes,
                    a_lost_connection_drops_only_the_message_it_had_begun);
    TEST_SUITE_ADD(&suite, fixed);
    return test_suite_run(&suite);
}
