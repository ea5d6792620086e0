/* SPDX-License-Identifier: MIT */
/* What strangers may send: that one connection is closed, the monitor says why, memory
 * stays bounded, and another connection of the same socket never notices. */
#include "net.h"

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "suite.h"

static net n;

#define MEMORY_MAX (4u << 20)

typedef struct bad_row {
    const char *name;
    const char *bytes; /* what is sent from the first octet on ... */
    size_t size;
    const char *after; /* ... or, with `bytes` NULL, behind a proper handshake */
    size_t after_size;
    const char *greeted; /* ... or behind a proper greeting */
    size_t greeted_size;
    sennit_event_kind kind;
    sennit_err err;
    const char *reason;
} bad_row;

#define RAW(text)     .bytes = "" text, .size = sizeof(text) - 1, BEFORE_READY
#define GREETED(text) .greeted = "" text, .greeted_size = sizeof(text) - 1, BEFORE_READY
#define BEFORE_READY  .kind = SENNIT_EVENT_HANDSHAKE_FAILED
#define TRAFFIC(text)                                                                    \
    .after = "" text, .after_size = sizeof(text) - 1, .kind = SENNIT_EVENT_DISCONNECTED

#define SIGNATURE "\xff\0\0\0\0\0\0\0\1\x7f"
#define ZEROS16   "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"

static const bad_row rows[] = {
    { "an HTTP request", RAW("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
      .err = SENNIT_EPROTO },
    { "a TLS hello", RAW("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
      .err = SENNIT_EPROTO },
    { "an SSH banner", RAW("SSH-2.0-OpenSSH_9.2\r\n"), .err = SENNIT_EPROTO },
    { "a signature with a wrong end", RAW("\xff\0\0\0\0\0\0\0\1\x7e"),
      .err = SENNIT_EPROTO },
    { "a greeting of a ZMTP 2.0 REQ", RAW(SIGNATURE "\x01\x03\x00\x00"),
      .err = SENNIT_EPROTO },
    { "a greeting with a mechanism we do not have",
      RAW(SIGNATURE "\x03\x01"
                    "CURVE" ZEROS16 ZEROS16 ZEROS16),
      .err = SENNIT_EPROTO },
    { "a message instead of READY", GREETED("\x00\x05hello"), .err = SENNIT_EPROTO,
      .reason = "not a command during the handshake" },
    { "reserved flags instead of READY", GREETED("\xf8\x05hello"), .err = SENNIT_EPROTO },
    { "a command that is not READY", GREETED("\x04\x05\x04PONG"), .err = SENNIT_EPROTO },
    { "an empty command", GREETED("\x04\x00"), .err = SENNIT_EPROTO },
    { "a READY of 2^62 octets", GREETED("\x06\x40\0\0\0\0\0\0\0"), .err = SENNIT_EPROTO,
      .reason = "handshake command too large" },
    { "a READY of 2^63 octets", GREETED("\x06\x80\0\0\0\0\0\0\0"), .err = SENNIT_EPROTO },
    { "a READY whose property claims 4 GiB",
      GREETED("\x04\x16\x05READY\x0bSocket-Type\xff\xff\xff\xff"), .err = SENNIT_EPROTO },
    { "a READY whose property name is cut", GREETED("\x04\x09\x05READY\x0bSo"),
      .err = SENNIT_EPROTO },
    { "a READY whose property name is empty",
      GREETED("\x04\x0b\x05READY\x00\x00\x00\x00\x00"), .err = SENNIT_EPROTO },
    { "a READY with a type that does not exist",
      GREETED("\x04\x19\x05READY\x0bSocket-Type\x00\x00\x00\x03XXX"),
      .err = SENNIT_EPROTO, .reason = "socket types do not go together" },
    { "a READY with the type twice",
      GREETED("\x04\x2e\x05READY\x0bSocket-Type\x00\x00\x00\x04PUSH"
              "\x0bSocket-Type\x00\x00\x00\x04PUSH"),
      .err = SENNIT_EPROTO, .reason = "Socket-Type given twice" },
    { "an ERROR during the handshake",
      GREETED("\x04\x0a\x05"
              "ERROR\x03"
              "bad"),
      .err = SENNIT_EACCES, .reason = "peer refused the connection with ERROR" },
    { "a frame of 2^63 octets", TRAFFIC("\x02\x80\0\0\0\0\0\0\0"), .err = SENNIT_EPROTO },
    { "a frame of 2^64 - 1 octets", TRAFFIC("\x02\xff\xff\xff\xff\xff\xff\xff\xff"),
      .err = SENNIT_EPROTO },
    { "a frame of 2^63 - 1 octets", TRAFFIC("\x02\x7f\xff\xff\xff\xff\xff\xff\xff"),
      .err = SENNIT_EPROTO, .reason = "frame larger than recv_frame_max_bytes" },
    { "a frame of one octet too many", TRAFFIC("\x02\0\0\0\0\0\x01\0\x01"),
      .err = SENNIT_EPROTO, .reason = "frame larger than recv_frame_max_bytes" },
    { "a frame with reserved flags", TRAFFIC("\x08\x01x"), .err = SENNIT_EPROTO,
      .reason = "malformed frame head" },
    { "a command with MORE", TRAFFIC("\x05\x01x"), .err = SENNIT_EPROTO },
    { "an empty command in traffic", TRAFFIC("\x04\x00"), .err = SENNIT_EPROTO },
    { "a command whose name is cut", TRAFFIC("\x04\x03\x09PI"), .err = SENNIT_EPROTO },
    { "a PING that is too short", TRAFFIC("\x04\x06\x04PING\x00"), .err = SENNIT_EPROTO },
    { "a command of 16 MiB", TRAFFIC("\x06\0\0\0\0\x01\0\0\0"), .err = SENNIT_EPROTO },
};

#define ROWS (sizeof rows / sizeof rows[0])

/* A PULL with a live PUSH peer beside the stranger. */
typedef struct scene {
    sennit_sock *pull;
    sennit_sock *push;
    char endpoint[128];
} scene;

static scene s;

static void
still_works(void)
{
    net_send(s.push, "still|here");
    assert_string_equal(net_recv(s.pull), "still|here");
    assert_int_equal(net_stats(s.push).connections, 1);
    assert_int_equal(net_stats(s.push).reconnects, 0);
}

static void
open_scene(transport via, int handshake_timeout_ms)
{
    sennit_sock_opts opts = net_opts();
    sennit_event event;

    opts.handshake_timeout_ms = handshake_timeout_ms;
    opts.recv_frame_max_bytes = 65536;
    opts.recv_message_max_bytes = 128 * 1024;
    opts.recv_message_max_parts = 100;
    net_open(&n);
    s.pull = net_sock(&n, SENNIT_PULL, &opts);
    s.push = net_sock(&n, SENNIT_PUSH, NULL);
    net_join(&n, s.pull, s.push, via);
    snprintf(s.endpoint, sizeof s.endpoint, "%s", sennit_sock_last_endpoint(s.pull));
    still_works();
    while (sennit_sock_next_event(s.pull, &event) == SENNIT_OK)
        continue;
    n.alloc.peak_bytes = n.alloc.live_bytes;
}

static void
close_scene(void)
{
    still_works();
    assert_int_equal(net_stats(s.pull).connections, 1);
    assert_true(n.alloc.peak_bytes < MEMORY_MAX);
    net_close(&n);
}

static int
stranger(const bad_row *row)
{
    int fd = raw_connect(s.endpoint);

    if (row->after != NULL)
        raw_handshake(&n, fd, "PUSH", NULL);
    else if (row->greeted != NULL)
        raw_write(&n, fd, raw_greeting, sizeof raw_greeting);
    return fd;
}

static void
is_refused(void **state)
{
    const bad_row *row = *state;
    const char *bytes = row->after != NULL     ? row->after
                        : row->greeted != NULL ? row->greeted
                                               : row->bytes;
    size_t size = row->after_size + row->greeted_size + row->size;

    for (int via = 0; via < INPROC; via++) {
        for (int slowly = 0; slowly < 2; slowly++) {
            sennit_event event;
            int fd;

            open_scene((transport)via, 0);
            fd = stranger(row);
            for (size_t i = 0; slowly && i < size; i++) {
                raw_write(&n, fd, bytes + i, 1);
                assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
            }
            if (!slowly)
                raw_write(&n, fd, bytes, size);
            event = net_event(&n, s.pull, row->kind);
            assert_int_equal(event.err, row->err);
            assert_true(event.reason[0] != '\0');
            if (row->reason != NULL)
                assert_string_equal(event.reason, row->reason);
            assert_string_equal(event.endpoint, s.endpoint);
            raw_until_closed(&n, fd);
            close(fd);
            assert_int_equal(net_stats(s.pull).handshakes_failed,
                             row->kind == SENNIT_EVENT_HANDSHAKE_FAILED);
            close_scene();
        }
    }
}

/* Every prefix of a proper greeting and READY, and then silence. */
static void
half_a_handshake_ends_with_its_time(void **state)
{
    uint8_t bytes[64 + 256];
    size_t size = 64 + raw_ready(bytes + 64, "PUSH", "me");
    int fds[64 + 256];

    (void)state;
    memcpy(bytes, raw_greeting, 64);
    open_scene(TCP, 100);
    for (size_t i = 0; i < size; i++) {
        fds[i] = raw_connect(s.endpoint);
        raw_write(&n, fds[i], bytes, i);
    }
    while (net_stats(s.pull).handshakes_failed < size) {
        sennit_event event = net_event(&n, s.pull, SENNIT_EVENT_HANDSHAKE_FAILED);

        assert_int_equal(event.err, SENNIT_ETIMEDOUT);
        assert_string_equal(event.reason, "handshake not finished in time");
    }
    for (size_t i = 0; i < size; i++) {
        raw_until_closed(&n, fds[i]);
        close(fds[i]);
    }
    assert_int_equal(net_stats(s.pull).handshakes_failed, size);
    still_works();
    net_close(&n);
}

static void
a_connection_that_ends_in_the_handshake_says_so(void **state)
{
    sennit_event event;
    int fd;

    (void)state;
    open_scene(TCP, 0);
    fd = raw_connect(s.endpoint);
    raw_write(&n, fd, raw_greeting, 30);
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    event = net_event(&n, s.pull, SENNIT_EVENT_HANDSHAKE_FAILED);
    assert_int_equal(event.err, SENNIT_ECONNRESET);
    assert_string_equal(event.reason,
                        "closed by peer during the handshake: another socket type, an "
                        "identity in use or a filter, perhaps; its events say");
    close(fd);
    close_scene();
}

/* Whoever makes us answer and does not read is closed before the answers pile up. */
static void
a_flood_of_pings_that_nobody_reads_the_answers_of_is_ended(void **state)
{
    static uint8_t pings[23 * 1000];
    bool ended = false;

    (void)state;
    for (size_t i = 0; i < 1000; i++)
        memcpy(pings + 23 * i, "\x04\x15\x04PING\x00\x00sixteen octets!!", 23);
    open_scene(TCP, 0);
    {
        sennit_time started = sennit_loop_now(n.loop);
        sennit_event event;
        int fd = raw_connect(s.endpoint);
        size_t at = 0;

        raw_handshake(&n, fd, "PUSH", NULL);
        while (!ended) {
            ssize_t sent = send(fd, pings + at, sizeof pings - at, MSG_NOSIGNAL);

            if (sent > 0)
                at = (at + (size_t)sent) % sizeof pings;
            else
                net_turn(&n, started, "the end of the flood");
            ended = net_has_event(s.pull, SENNIT_EVENT_DISCONNECTED, &event);
        }
        assert_int_equal(event.err, SENNIT_EPROTO);
        assert_string_equal(event.reason,
                            "peer sends PINGs and does not read the answers");
        close(fd);
    }
    close_scene();
}

static void
a_message_of_endless_frames_is_ended_at_the_bounds(void **state)
{
    static const struct {
        const char *frame;
        size_t size;
        const char *reason;
    } floods[] = {
        { "\x01\x00", 2, "message with more frames than recv_message_max_parts" },
        { "\x01\xc8"
          "______________________________________________________________________________"
          "__"
          "______________________________________________________________________________"
          "__"
          "________________________________________",
          202, "message with more frames than recv_message_max_parts" },
    };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        sennit_event event;
        int fd;

        open_scene(TCP, 0);
        fd = raw_connect(s.endpoint);
        raw_handshake(&n, fd, "PUSH", NULL);
        for (int k = 0; k < 101; k++)
            raw_write(&n, fd, floods[i].frame, floods[i].size);
        event = net_event(&n, s.pull, SENNIT_EVENT_DISCONNECTED);
        assert_int_equal(event.err, SENNIT_EPROTO);
        assert_string_equal(event.reason, floods[i].reason);
        close(fd);
        close_scene();
    }
}

static void
a_message_of_too_many_bytes_is_ended_at_the_bound(void **state)
{
    static uint8_t frame[9 + 65536];
    sennit_event event;
    int fd;

    (void)state;
    memcpy(frame, "\x03\0\0\0\0\0\x01\0\0", 9);
    open_scene(TCP, 0);
    fd = raw_connect(s.endpoint);
    raw_handshake(&n, fd, "PUSH", NULL);
    for (int k = 0; k < 3; k++)
        raw_write(&n, fd, frame, sizeof frame);
    event = net_event(&n, s.pull, SENNIT_EVENT_DISCONNECTED);
    assert_string_equal(event.reason, "message larger than recv_message_max_bytes");
    close(fd);
    close_scene();
}

/* A length is believed only as far as bytes have come. */
static void
a_frame_that_promises_a_gigabyte_costs_what_it_has_sent(void **state)
{
    sennit_sock *pull;
    int fds[20];

    (void)state;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    net_bind(pull, TCP);
    for (int i = 0; i < 20; i++) {
        fds[i] = raw_connect(sennit_sock_last_endpoint(pull));
        raw_handshake(&n, fds[i], "PUSH", NULL);
        raw_write(&n, fds[i], "\x02\0\0\0\0\x3f\xff\xff\xff and so on", 18);
    }
    for (int i = 0; i < 50; i++)
        assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
    /* One receive block each, and what an empty loop keeps. */
    assert_true(n.alloc.peak_bytes < 20u * 300u * 1024u);
    for (int i = 0; i < 20; i++)
        close(fds[i]);
    NET_UNTIL(&n, net_stats(pull).connections == 0);
    net_close(&n);
}

/* Random octets in place of each part of a connection, by seed. */
static void
random_octets_end_a_connection_and_nothing_else(void **state)
{
    uint8_t bytes[300];

    (void)state;
    open_scene(TCP, 50);
    for (uint32_t seed = 1; seed <= 150; seed++) {
        uint32_t x = seed;
        int fd = raw_connect(s.endpoint);

        for (size_t i = 0; i < sizeof bytes; i++) {
            x = x * 1664525u + 1013904223u;
            bytes[i] = (uint8_t)(x >> 24);
        }
        if (seed % 3 > 0)
            raw_write(&n, fd, raw_greeting, sizeof raw_greeting);
        if (seed % 3 > 1) {
            uint8_t ready[256];

            raw_write(&n, fd, ready, raw_ready(ready, "PUSH", NULL));
        }
        raw_write(&n, fd, bytes, sizeof bytes);
        close(fd);
        if (seed % 10 == 0)
            assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
    }
    /* Some of it may have been messages by chance: read them away. */
    NET_UNTIL(&n, net_stats(s.pull).connections == 1);
    while (strcmp(net_recv_flags(s.pull, SENNIT_DONTWAIT), "EAGAIN") != 0)
        continue;
    close_scene();
}

int
main(void)
{
    static const struct CMUnitTest fixed[] = {
        cmocka_unit_test(half_a_handshake_ends_with_its_time),
        cmocka_unit_test(a_connection_that_ends_in_the_handshake_says_so),
        cmocka_unit_test(a_flood_of_pings_that_nobody_reads_the_answers_of_is_ended),
        cmocka_unit_test(a_message_of_endless_frames_is_ended_at_the_bounds),
        cmocka_unit_test(a_message_of_too_many_bytes_is_ended_at_the_bound),
        cmocka_unit_test(a_frame_that_promises_a_gigabyte_costs_what_it_has_sent),
        cmocka_unit_test(random_octets_end_a_connection_and_nothing_else),
    };
    static test_suite suite;

    TEST_SUITE_ROWS(&suite, "that one connection is ended by ", rows, is_refused);
    TEST_SUITE_ADD(&suite, fixed);
    return test_suite_run(&suite);
}
