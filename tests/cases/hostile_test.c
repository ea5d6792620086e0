/* SPDX-License-Identifier: MIT */
/* Cases D21 and D22: lengths that lie, and lengths that are merely large. */
#include "net.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static net n;

/* ---- D21 --------------------------------------------------------------- */

typedef struct lie {
    const char *name;
    const char *octets;
    size_t size;
    bool before_ready; /* instead of READY; else after it */
} lie;

#define LIE(name, octets, before)                                                        \
    {                                                                                    \
        name, octets, sizeof(octets) - 1, before                                         \
    }

static const lie lies[] = {
    LIE("a frame of 2^64-1", "\x02\xff\xff\xff\xff\xff\xff\xff\xff", false),
    LIE("a frame of 2^63", "\x02\x80\0\0\0\0\0\0\0", false),
    LIE("a frame of 2^63-1", "\x02\x7f\xff\xff\xff\xff\xff\xff\xff", false),
    LIE("a frame of 2^32 over the limit", "\x02\0\0\0\1\0\0\0\0", false),
    LIE("a command of 2^64-1", "\x06\xff\xff\xff\xff\xff\xff\xff\xff", false),
    LIE("a reserved flag", "\x08\x01x", false),
    LIE("the highest reserved flag", "\x80\x01x", false),
    LIE("a command with more", "\x05\x05\x04PING", false),
    LIE("a command name longer than its command", "\x04\x03\x09SU", false),
    LIE("an empty command", "\x04\0", false),
    LIE("a frame of 2^64-1 instead of READY", "\x02\xff\xff\xff\xff\xff\xff\xff\xff",
        true),
    LIE("a READY of 2^63", "\x06\x80\0\0\0\0\0\0\0", true),
    LIE("a READY whose value is past its end",
        "\x04\x17\x05READY\x0bSocket-Type\xff\xff\xff\xff\x04", true),
    LIE("a READY whose name is past its end", "\x04\x07\x05READY\xff", true),
    LIE("a message instead of READY", "\0\x01x", true),
};

static void
told(const lie *l, sennit_sock *pull, sennit_sock *good, const char *endpoint)
{
    size_t peak = n.alloc.live_bytes;
    sennit_event event;
    int fd = raw_connect(endpoint);

    n.alloc.peak_bytes = peak;
    if (l->before_ready)
        raw_write(&n, fd, raw_greeting, 64);
    else
        raw_handshake(&n, fd, "PUSH", NULL);
    raw_write(&n, fd, l->octets, l->size);
    raw_until_closed(&n, fd);
    close(fd);
    event = net_event(&n, pull,
                      l->before_ready ? SENNIT_EVENT_HANDSHAKE_FAILED
                                      : SENNIT_EVENT_DISCONNECTED);
    if (event.err != SENNIT_EPROTO || *event.reason == '\0')
        fail_msg("%s: %s, \"%s\"", l->name, sennit_err_name(event.err), event.reason);
    if (n.alloc.peak_bytes > peak + (8u << 20))
        fail_msg("%s: took %zu bytes", l->name, n.alloc.peak_bytes - peak);
    net_send(good, "undisturbed");
    assert_string_equal(net_recv(pull), "undisturbed");
}

static void
D21_a_length_that_lies_costs_its_peer_the_connection_and_nobody_else(void **state)
{
    sennit_sock *pull;
    sennit_sock *good;
    const char *endpoint;

    (void)state;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    good = net_sock(&n, SENNIT_PUSH, NULL);
    net_join(&n, pull, good, TCP);
    endpoint = sennit_sock_last_endpoint(pull);
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++)
        told(&lies[i], pull, good, endpoint);
    assert_int_equal(net_stats(pull).connections, 1);
    net_close(&n);
}

static void
D21_a_frame_cut_by_the_end_never_was(void **state)
{
    sennit_sock *pull;
    int fd;

    (void)state;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    fd = raw_connect(net_bind(pull, TCP));
    raw_handshake(&n, fd, "PUSH", NULL);
    raw_write(&n, fd, "\0\x09half", 6);
    close(fd);
    (void)net_event(&n, pull, SENNIT_EVENT_DISCONNECTED);
    assert_string_equal(net_recv_flags(pull, SENNIT_DONTWAIT), "EAGAIN");
    net_close(&n);
}

static void
D21_exactly_the_limit_is_taken_and_one_byte_more_is_not(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *pull;
    sennit_sock *push;
    sennit_msg msg;
    char *body = calloc(1, (1 << 20) + 1);

    (void)state;
    net_open(&n);
    opts.recv_frame_max_bytes = 1 << 20;
    pull = net_sock(&n, SENNIT_PULL, &opts);
    push = net_sock(&n, SENNIT_PUSH, NULL);
    net_join(&n, pull, push, TCP);
    assert_int_equal(sennit_sock_send_bytes(push, body, 1 << 20, 0), SENNIT_OK);
    sennit_msg_init(&msg);
    assert_int_equal(sennit_sock_recv(pull, &msg, 0), SENNIT_OK);
    assert_int_equal(sennit_msg_size(&msg), 1 << 20);
    sennit_msg_fini(&msg);
    assert_int_equal(sennit_sock_send_bytes(push, body, (1 << 20) + 1, 0), SENNIT_OK);
    assert_int_equal(net_event(&n, pull, SENNIT_EVENT_DISCONNECTED).err, SENNIT_EPROTO);
    free(body);
    net_close(&n);
}

/* ---- D22 --------------------------------------------------------------- */

/* Untouched pages: they cost nothing, and read as zeros. */
static void *
zeros(uint64_t size)
{
    void *memory = mmap(NULL, (size_t)size, PROT_READ,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    assert_ptr_not_equal(memory, MAP_FAILED);
    return memory;
}

static uint64_t released;

static void
unmap(void *data, void *arg)
{
    released = *(uint64_t *)arg;
    assert_int_equal(munmap(data, (size_t)released), 0);
}

/* Its head says its size and every octet of it arrives at a raw peer. */
static void
send_large(uint64_t size)
{
    sennit_sock *push;
    sennit_msg msg;
    static uint8_t piece[1 << 20];
    uint8_t head[9];
    uint64_t left = size;
    uint64_t told_size = 0;
    const char *endpoint;
    int fd;

    net_open(&n);
    released = 0;
    push = net_sock(&n, SENNIT_PUSH, NULL);
    endpoint = net_bind(push, TCP);
    fd = raw_connect(endpoint);
    raw_handshake(&n, fd, "PULL", NULL);
    (void)net_event(&n, push, SENNIT_EVENT_READY);
    assert_int_equal(sennit_msg_init_user(&msg, zeros(size), (size_t)size, unmap, &size),
                     SENNIT_OK);
    assert_int_equal(sennit_sock_send(push, &msg, 0), SENNIT_OK);
    raw_read(&n, fd, head, sizeof head);
    assert_int_equal(head[0], 2);
    for (int i = 1; i < 9; i++)
        told_size = told_size << 8 | head[i];
    assert_true(told_size == size);
    while (left > 0) {
        size_t part = left < sizeof piece ? (size_t)left : sizeof piece;

        raw_read(&n, fd, piece, part);
        assert_int_equal(piece[0] | piece[part - 1], 0);
        left -= part;
    }
    assert_int_equal(net_stats(push).delivered_msgs, 1);
    assert_true(released == size);
    /* And the stream goes on behind it. */
    net_send(push, "next");
    raw_read(&n, fd, piece, 6);
    assert_memory_equal(piece, "\0\x04next", 6);
    close(fd);
    net_close(&n);
}

static bool
full_counts(void)
{
    const char *wanted = getenv("SENNIT_CASES");

    return wanted != NULL && strcmp(wanted, "full") == 0;
}

static void
D22_frames_around_two_and_four_gibibytes_are_sent_whole(void **state)
{
    (void)state;
    send_large((UINT64_C(1) << 31) + 1);
    if (full_counts())
        send_large((UINT64_C(1) << 32) + 1);
}

/* Through both ends. The receiver holds all of it, so the large sizes are for machines
 * with memory to spare: SENNIT_CASES=full. */
static void
receive_large(uint64_t size, transport via)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *push;
    sennit_sock *pull;
    uint8_t *memory = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    sennit_msg msg;

    assert_ptr_not_equal(memory, MAP_FAILED);
    net_open(&n);
    opts.recv_frame_max_bytes = 0;
    opts.recv_message_max_bytes = 0;
    push = net_sock(&n, SENNIT_PUSH, &opts);
    pull = net_sock(&n, SENNIT_PULL, &opts);
    net_join(&n, push, pull, via);
    /* Marks all over it: an octet out of place would be seen. */
    for (uint64_t i = 0; i < size; i += 4096)
        memcpy(memory + i, &i, i + 8 <= size ? 8 : 1);
    assert_int_equal(sennit_msg_init_user(&msg, memory, (size_t)size, unmap, &size),
                     SENNIT_OK);
    assert_int_equal(sennit_sock_send(push, &msg, 0), SENNIT_OK);
    assert_int_equal(sennit_sock_recv(pull, &msg, 0), SENNIT_OK);
    assert_true(sennit_msg_size(&msg) == size);
    for (uint64_t i = 0; i + 8 <= size; i += 4096)
        assert_memory_equal((uint8_t *)sennit_msg_data(&msg) + i, &i, 8);
    sennit_msg_fini(&msg);
    net_close(&n);
}

static void
D22_large_frames_arrive_as_they_were(void **state)
{
    static const uint64_t small[] = { (1u << 26) + 1 };
    static const uint64_t full[] = { (UINT64_C(1) << 31) - 1, UINT64_C(1) << 31,
                                     (UINT64_C(1) << 31) + 1, (UINT64_C(1) << 32) + 1 };
    bool all = full_counts();

    (void)state;
    for (transport via = TCP; via <= INPROC; via++)
        for (size_t i = 0; i < (all ? 4u : 1u); i++)
            receive_large(all ? full[i] : small[i], via);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(
        D21_a_length_that_lies_costs_its_peer_the_connection_and_nobody_else),
    cmocka_unit_test(D21_a_frame_cut_by_the_end_never_was),
    cmocka_unit_test(D21_exactly_the_limit_is_taken_and_one_byte_more_is_not),
    cmocka_unit_test(D22_frames_around_two_and_four_gibibytes_are_sent_whole),
    cmocka_unit_test(D22_large_frames_arrive_as_they_were),
};

SENNIT_TEST_MAIN(tests)
