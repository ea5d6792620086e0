/* SPDX-License-Identifier: MIT */
#include "fail_alloc.h"

#include "sennit_test.h"

#define SEAL_LIVE UINT64_C(0x5e4417a110ca7ed0)
#define SEAL_DEAD UINT64_C(0xdeadb10cdeadb10c)

typedef struct block_head {
    uint64_t seal;
    size_t size;
} block_head;

_Static_assert(sizeof(block_head) == 16, "what follows keeps malloc's alignment");

/* Large blocks are kept for the next request of the same size: fresh pages are what
 * these tests would spend most of their time on. Their memory is poisoned while
 * they lie here, so a sanitizer still sees who uses what was given back. */
#define KEPT_MAX      32
#define KEPT_SIZE_MIN (16u * 1024u)

static block_head *kept[KEPT_MAX];

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, size)   ((void)(at), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#endif

/* tests/valgrind needs the same to be told, or it takes what lies in `kept` for live, and
 * what was spoiled for written. The requests do nothing outside valgrind. */
#if defined(__has_include)
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#endif
#endif
#ifndef VALGRIND_MAKE_MEM_UNDEFINED
#define VALGRIND_MAKE_MEM_NOACCESS(at, size)  ((void)(at), (void)(size))
#define VALGRIND_MAKE_MEM_UNDEFINED(at, size) ((void)(at), (void)(size))
#endif

static block_head *
take_memory(size_t size)
{
    for (size_t i = 0; size >= KEPT_SIZE_MIN && i < KEPT_MAX; i++) {
        block_head *head = kept[i];

        if (head == NULL || head->size != size)
            continue;
        kept[i] = NULL;
        ASAN_UNPOISON_MEMORY_REGION(head + 1, size);
        VALGRIND_MAKE_MEM_UNDEFINED(head + 1, size);
        return head;
    }
    return malloc(sizeof(block_head) + size);
}

static void
give_memory(block_head *head)
{
    for (size_t i = 0; head->size >= KEPT_SIZE_MIN && i < KEPT_MAX; i++) {
        if (kept[i] != NULL)
            continue;
        kept[i] = head;
        ASAN_POISON_MEMORY_REGION(head + 1, head->size);
        VALGRIND_MAKE_MEM_NOACCESS(head + 1, head->size);
        return;
    }
    free(head);
}

static bool
refuses(test_alloc *alloc, size_t grows_by)
{
    bool fails = false;

    alloc->requests++;
    if (alloc->fail_at != 0 && alloc->requests >= alloc->fail_at &&
        alloc->requests - alloc->fail_at < alloc->fail_count)
        fails = true;
    if (alloc->limit_bytes != 0 && alloc->live_bytes + grows_by > alloc->limit_bytes)
        fails = true;
    alloc->failed += fails;
    return fails;
}

static void
count(test_alloc *alloc, size_t size)
{
    alloc->live_bytes += size;
    if (alloc->live_bytes > alloc->peak_bytes)
        alloc->peak_bytes = alloc->live_bytes;
}

/* Nobody may rely on zeros. Only the beginning of large blocks, for speed. */
static void
spoil(void *memory, size_t size)
{
    memset(memory, 0xa5, size < 4096 ? size : 4096);
    VALGRIND_MAKE_MEM_UNDEFINED(memory, size);
}

static void *
acquire(void *arg, size_t size)
{
    test_alloc *alloc = arg;
    block_head *head;

    if (refuses(alloc, size))
        return NULL;
    head = take_memory(size);
    if (head == NULL)
        return NULL;
    *head = (block_head){ SEAL_LIVE, size };
    spoil(head + 1, size);
    alloc->live_blocks++;
    count(alloc, size);
    return head + 1;
}

static void
release(void *arg, void *memory)
{
    test_alloc *alloc = arg;
    block_head *head;

    if (memory == NULL)
        return;
    head = (block_head *)memory - 1;
    if (head->seal != SEAL_LIVE)
        fail_msg("release of memory that is not ours or was released before");
    head->seal = SEAL_DEAD;
    alloc->live_blocks--;
    alloc->live_bytes -= head->size;
    give_memory(head);
}

/* Always moves, so that a pointer kept across a resize is stale. */
static void *
resize(void *arg, void *memory, size_t size)
{
    test_alloc *alloc = arg;
    block_head *old = memory == NULL ? NULL : (block_head *)memory - 1;
    size_t old_size = old == NULL ? 0 : old->size;
    block_head *head;

    if (refuses(alloc, size > old_size ? size - old_size : 0))
        return NULL;
    if (old != NULL && old->seal != SEAL_LIVE)
        fail_msg("resize of memory that is not ours or was released before");
    head = take_memory(size);
    if (head == NULL)
        return NULL;
    *head = (block_head){ SEAL_LIVE, size };
    spoil(head + 1, size);
    if (old != NULL)
        memcpy(head + 1, memory, size < old_size ? size : old_size);
    alloc->live_blocks++;
    count(alloc, size);
    release(alloc, memory);
    return head + 1;
}

void
test_alloc_init(test_alloc *alloc)
{
    *alloc = (test_alloc){ .allocator = { acquire, resize, release, alloc } };
}

void
test_alloc_fail_at(test_alloc *alloc, uint64_t k)
{
    alloc->fail_at = alloc->requests + k;
    alloc->fail_count = 1;
    alloc->failed = 0;
}

uint64_t
test_alloc_every_failure(void (*scenario)(test_alloc *alloc, void *arg), void *arg)
{
    for (uint64_t k = 1;; k++) {
        test_alloc alloc;

        test_alloc_init(&alloc);
        test_alloc_fail_at(&alloc, k);
        scenario(&alloc, arg);
        if (alloc.live_blocks != 0)
            fail_msg("request %llu failed: %zu blocks (%zu bytes) were left live",
                     (unsigned long long)k, alloc.live_blocks, alloc.live_bytes);
        if (alloc.failed == 0)
            return k;
    }
}
