/* SPDX-License-Identifier: MIT */
/* Cases D43, D44 and D45: what goes wrong with io_uring, and what it costs then. Rings
 * are made as small and as moody as they can be; sandboxes and limits are real, each in a
 * process of its own. */
#include "net.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/random.h"
#include "core/loop.h"
#include "io/uring.h"

/* ---- a loop with such a ring, and its peers in another ------------------- */

typedef struct world {
    net here;        /* with the ring */
    net there;       /* epoll */
    sni_pool *small; /* of 4 KiB, for the ring's buffers */
    sni_uring_opts opts;
    sni_uring_stats stats;
} world;

static world w;

static sennit_err
open_ring(sni_io **out, const sennit_allocator *alloc, sni_pool *recv_blocks, void *arg)
{
    const char *why = "";
    sennit_err err =
        sni_io_uring_open(out, alloc, arg != NULL ? arg : recv_blocks, &w.opts, &why);

    if (err)
        print_error("no io_uring: %s\n", why != NULL ? why : "out of memory");
    return err;
}

/* `buffer_bytes` 0: as always. */
static void
open_world(sni_uring_opts opts, size_t buffer_bytes)
{
    sennit_loop_opts epoll = SENNIT_LOOP_OPTS_DEFAULT;
    const sennit_allocator *alloc = &w.here.alloc.allocator;

    memset(&w, 0, sizeof w);
    w.opts = opts;
    w.opts.stats = &w.stats;
    test_alloc_init(&w.here.alloc);
    if (buffer_bytes > 0)
        w.small = sni_pool_new(alloc, buffer_bytes, opts.buffers);
    assert_int_equal(sni_loop_open_with(&w.here.loop, alloc, open_ring, w.small),
                     SENNIT_OK);
    assert_string_equal(sennit_loop_backend(w.here.loop), "uring");
    test_alloc_init(&w.there.alloc);
    epoll.backend = SENNIT_BACKEND_EPOLL;
    epoll.allocator = &w.there.alloc.allocator;
    assert_int_equal(sennit_loop_open(&w.there.loop, &epoll), SENNIT_OK);
}

static void
close_world(void)
{
    sennit_loop_close(w.there.loop);
    assert_int_equal(w.there.alloc.live_blocks, 0);
    sennit_loop_close(w.here.loop);
    sni_pool_free(w.small);
    assert_int_equal(w.here.alloc.live_blocks, 0);
}

/* Both loops turn. An interrupted turn is one that was made to be. */
static void
turn_both(void)
{
    sennit_err err = sennit_loop_turn(w.here.loop, 1);

    if (err != SENNIT_EINTR)
        assert_int_equal(err, SENNIT_OK);
    assert_int_equal(sennit_loop_turn(w.there.loop, 0), SENNIT_OK);
}

#define BOTH_UNTIL(condition)                                                            \
    for (sennit_time began_ = sennit_loop_now(w.here.loop); !(condition);) {             \
        turn_both();                                                                     \
        if (sennit_loop_now(w.here.loop) - began_ > UINT64_C(60) * 1000000000u)          \
            fail_msg("not within a minute: %s", #condition);                             \
    }

static int
count_of(int quick, int full)
{
    const char *cases = getenv("SENNIT_CASES");

    return cases != NULL && strcmp(cases, "full") == 0 ? full : quick;
}

/* ---- D43: buffers used up, requests that end ----------------------------- */

#define HUGE_BYTES  (10u << 20)
#define LARGE_BYTES (10u << 10)

/* The octets of sender `number`, the first four of which are that. */
static void
send_octets(sennit_sock *push, uint32_t number, size_t size)
{
    uint64_t state = number;
    sennit_msg msg;
    uint8_t *data;

    assert_int_equal(sennit_msg_init_size(&msg, size), SENNIT_OK);
    data = sennit_msg_data(&msg);
    memcpy(data, &number, sizeof number);
    for (size_t i = sizeof number; i < size; i++)
        data[i] = (uint8_t)sni_random_next(&state);
    assert_int_equal(sennit_sock_send(push, &msg, 0), SENNIT_OK);
}

/* Returns whose they are. */
static uint32_t
check_octets(sennit_msg *msg, uint32_t senders)
{
    const uint8_t *data = sennit_msg_data(msg);
    uint64_t state;
    uint32_t number;

    assert_true(sennit_msg_size(msg) == LARGE_BYTES ||
                sennit_msg_size(msg) == HUGE_BYTES);
    memcpy(&number, data, sizeof number);
    assert_in_range(number, 0, senders);
    assert_int_equal(sennit_msg_size(msg), number == senders ? HUGE_BYTES : LARGE_BYTES);
    state = number;
    for (size_t i = sizeof number; i < sennit_msg_size(msg); i++)
        if (data[i] != (uint8_t)sni_random_next(&state))
            fail_msg("octet %zu of sender %u is another", i, number);
    return number;
}

static uint64_t
cpu_ns(void)
{
    struct timespec used;

    assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used), 0);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

/* For a third of a second. */
static bool
is_idle(void)
{
    sennit_time began = sennit_loop_now(w.here.loop);
    uint64_t used = cpu_ns();
    sennit_time took;

    do {
        assert_int_equal(sennit_loop_turn(w.here.loop, 100), SENNIT_OK);
        took = sennit_loop_now(w.here.loop) - began;
    } while (took < UINT64_C(300) * 1000000u);
    return cpu_ns() - used < took / 10;
}

static void
D43_a_with_four_buffers_of_4_KiB_everybody_is_received_whole(void **state)
{
    const int senders = count_of(100, 1000);
    sennit_sock_opts opts = net_opts();
    sennit_sock *pull;
    char endpoint[64];
    bool *seen = calloc((size_t)senders + 1, sizeof *seen);
    int received = 0;

    (void)state;
    open_world((sni_uring_opts){ .buffers = 4 }, 4096);
    opts.recv_hwm_msgs = 1;
    opts.backlog = 1000;
    pull = net_sock(&w.here, SENNIT_PULL, &opts);
    snprintf(endpoint, sizeof endpoint, "%s", net_bind(pull, TCP));
    for (int i = 0; i <= senders; i++) {
        sennit_sock *push = net_sock(&w.there, SENNIT_PUSH, NULL);

        net_connect(push, endpoint);
        send_octets(push, (uint32_t)i, i == senders ? HUGE_BYTES : LARGE_BYTES);
    }
    BOTH_UNTIL(net_stats(pull).connections == (uint64_t)senders + 1);
    /* The application does not read: once all is full it costs nothing until it does. */
    BOTH_UNTIL(is_idle());
    while (received <= senders) {
        sennit_msg msg = { 0 };
        uint32_t number;

        BOTH_UNTIL(sennit_sock_recv(pull, &msg, SENNIT_DONTWAIT) == SENNIT_OK);
        number = check_octets(&msg, (uint32_t)senders);
        assert_false(seen[number]);
        seen[number] = true;
        received++;
        sennit_msg_fini(&msg);
    }
    assert_true(w.stats.no_buffer > 0);
    close_world();
    free(seen);
}

static void
D43_b_accepting_that_ends_is_begun_again(void **state)
{
    enum { PEERS = 50 };
    sennit_sock *pull;
    char endpoint[64];

    (void)state;
    open_world((sni_uring_opts){ .ends_multishot = true }, 0);
    pull = net_sock(&w.here, SENNIT_PULL, NULL);
    snprintf(endpoint, sizeof endpoint, "%s", net_bind(pull, TCP));
    for (unsigned i = 1; i <= PEERS; i++) {
        net_connect(net_sock(&w.there, SENNIT_PUSH, NULL), endpoint);
        BOTH_UNTIL(net_stats(pull).connections == i);
    }
    assert_true(w.stats.ended >= PEERS - 1);
    close_world();
}

/* Half a message, and then the end. */
static void
D43_c_a_peer_that_goes_in_the_middle_of_a_buffer_is_closed_once(void **state)
{
    static const uint8_t half[] = { 0, 100, 'h', 'a', 'l', 'f' };
    sennit_sock *pull;
    char endpoint[64];
    size_t bytes = 0;

    (void)state;
    open_world((sni_uring_opts){ .buffers = 4 }, 4096);
    pull = net_sock(&w.here, SENNIT_PULL, NULL);
    snprintf(endpoint, sizeof endpoint, "%s", net_bind(pull, TCP));
    for (unsigned i = 0; i < 20; i++) {
        unsigned ends = 0;
        sennit_event event;
        int fd = raw_connect(endpoint);

        raw_handshake(&w.here, fd, "PUSH", "");
        BOTH_UNTIL(net_stats(pull).connections == 1);
        raw_write(&w.here, fd, half, sizeof half);
        close(fd);
        BOTH_UNTIL(net_stats(pull).connections == 0);
        while (sennit_sock_next_event(pull, &event) == SENNIT_OK)
            ends += event.kind == SENNIT_EVENT_DISCONNECTED;
        assert_int_equal(ends, 1);
        assert_string_equal(net_recv_flags(pull, SENNIT_DONTWAIT), "EAGAIN");
        /* No buffer was lost. */
        if (i == 9)
            bytes = w.here.alloc.live_bytes;
    }
    assert_int_equal(w.here.alloc.live_bytes, bytes);
    close_world();
}

/* ---- D44: queues that are full ------------------------------------------- */

/* Now and then the kernel takes nothing. */
static int
moody(void *arg)
{
    static const int moods[] = { EBUSY, EAGAIN, EINTR };
    uint64_t drawn = sni_random_next(arg);

    return drawn % 4 == 0 ? moods[drawn / 4 % 3] : 0;
}

static int
refuse_while(void *arg)
{
    return *(const bool *)arg ? EAGAIN : 0;
}

static sni_file *
listen_on(sni_io *io, sni_address *bound)
{
    const sennit_sock_opts opts = SENNIT_SOCK_OPTS_DEFAULT;
    const sni_address any = { .kind = SNI_ADDRESS_TCP4, .ip = { 127, 0, 0, 1 } };
    sni_file *listener = NULL;

    assert_int_equal(io->ops->listen(io, &any, &opts, &listener, bound), SENNIT_OK);
    return listener;
}

/* What is opened next gets this. */
static int
next_descriptor(void)
{
    int fd = dup(STDIN_FILENO);

    assert_true(fd >= 0);
    close(fd);
    return fd;
}

/* A listener ends while the kernel has not taken its request to accept, and another gets
 * its descriptor: whoever is in line there is accepted there. */
static void
D44_what_the_kernel_has_not_taken_is_not_for_the_descriptors_next_owner(void **state)
{
    bool refuses = true;
    sni_uring_opts opts = { .enter = refuse_while, .arg = &refuses };
    sni_op accept = { .kind = SNI_OP_ACCEPT };
    sni_op connect = { .kind = SNI_OP_CONNECT };
    test_alloc alloc;
    sni_pool *blocks;
    sni_address bound;
    sni_op *done[2];
    sennit_time until;
    const char *why;
    sni_io *io;
    int fd;

    (void)state;
    test_alloc_init(&alloc);
    blocks = sni_pool_new(&alloc.allocator, SNI_RECV_BYTES, 8);
    assert_int_equal(sni_io_uring_open(&io, &alloc.allocator, blocks, &opts, &why),
                     SENNIT_OK);
    fd = next_descriptor();
    accept.file = listen_on(io, &bound);
    assert_false(io->ops->submit(io, &accept));
    assert_int_equal(io->ops->reap(io, done, 2, 0), 0);
    assert_true(io->ops->retract(io, &accept));
    io->ops->close(io, accept.file);
    assert_int_equal(next_descriptor(), fd);
    accept.file = listen_on(io, &bound);
    assert_int_equal(io->ops->dial(io, &bound, NULL, NULL, &connect.file), SENNIT_OK);
    refuses = io->ops->submit(io, &connect) && connect.err != SENNIT_OK;
    assert_false(refuses);
    until = io->ops->now(io) + UINT64_C(20) * 1000000000u;
    assert_in_range(io->ops->reap(io, done, 2, 0), 0, 1);
    assert_false(io->ops->submit(io, &accept));
    while (accept.accepted == NULL && io->ops->now(io) < until)
        assert_in_range(io->ops->reap(io, done, 2, until), 0, 2);
    assert_non_null(accept.accepted);
    io->ops->close(io, accept.accepted);
    io->ops->close(io, accept.file);
    io->ops->close(io, connect.file);
    io->ops->fini(io);
    sni_pool_free(blocks);
    assert_int_equal(alloc.live_blocks, 0);
}

static void
D44_with_eight_places_and_a_busy_kernel_everybody_gets_an_echo(void **state)
{
    const int peers = count_of(300, 3000);
    uint64_t seed = 44;
    sennit_sock_opts opts = net_opts();
    sennit_sock **dealers = calloc((size_t)peers, sizeof(sennit_sock *));
    sennit_sock *router;
    char endpoint[64];
    int answered = 0;

    (void)state;
    open_world(
        (sni_uring_opts){
            .entries = 8, .completions = 16, .buffers = 4, .enter = moody, .arg = &seed },
        4096);
    opts.backlog = 3000;
    router = net_sock(&w.here, SENNIT_ROUTER, &opts);
    snprintf(endpoint, sizeof endpoint, "%s", net_bind(router, TCP));
    for (int i = 0; i < peers; i++) {
        dealers[i] = net_sock(&w.there, SENNIT_DEALER, NULL);
        net_connect(dealers[i], endpoint);
    }
    BOTH_UNTIL(net_stats(router).connections == (uint64_t)peers);
    for (int i = 0; i < peers; i++) {
        char text[16];

        snprintf(text, sizeof text, "echo %d", i);
        net_send(dealers[i], text);
    }
    for (int i = 0; i < peers; i++) {
        sennit_msg frame = { 0 };
        bool more;

        do {
            BOTH_UNTIL(sennit_sock_recv(router, &frame, SENNIT_DONTWAIT) == SENNIT_OK);
            more = sennit_msg_more(&frame);
            assert_int_equal(sennit_sock_send(router, &frame, more ? SENNIT_MORE : 0),
                             SENNIT_OK);
        } while (more);
    }
    while (answered < peers) {
        char text[16];

        snprintf(text, sizeof text, "echo %d", answered);
        BOTH_UNTIL(sennit_sock_ready(dealers[answered]) & SENNIT_READABLE);
        assert_string_equal(net_recv_flags(dealers[answered], SENNIT_DONTWAIT), text);
        answered++;
    }
    assert_true(w.stats.overflows > 0);
    assert_true(w.stats.refused > 0);
    close_world();
    free(dealers);
}

/* A publication is handed over for all at once: what the kernel refuses goes later. */
static void
D44_with_four_places_and_a_busy_kernel_every_subscriber_hears_everything(void **state)
{
    enum { SUBSCRIBERS = 100, PUBLICATIONS = 20 };
    uint64_t seed = 45;
    sennit_sock_opts opts = net_opts();
    sennit_sock *subs[SUBSCRIBERS];
    sennit_sock *pub;
    char endpoint[64];

    (void)state;
    open_world(
        (sni_uring_opts){
            .entries = 4, .completions = 8, .buffers = 4, .enter = moody, .arg = &seed },
        4096);
    opts.backlog = SUBSCRIBERS;
    pub = net_sock(&w.here, SENNIT_PUB, &opts);
    snprintf(endpoint, sizeof endpoint, "%s", net_bind(pub, TCP));
    for (int i = 0; i < SUBSCRIBERS; i++) {
        subs[i] = net_sock(&w.there, SENNIT_SUB, NULL);
        assert_int_equal(sennit_sock_subscribe(subs[i], sni_bytes(NULL, 0)), SENNIT_OK);
        net_connect(subs[i], endpoint);
    }
    BOTH_UNTIL(net_stats(pub).subscriptions == SUBSCRIBERS);
    for (int k = 0; k < PUBLICATIONS; k++) {
        char text[16];

        snprintf(text, sizeof text, "news %d", k);
        net_send(pub, text);
        if (k % 3 == 0)
            sennit_sock_flush(pub);
        else if (k % 3 == 1)
            turn_both();
    }
    for (int i = 0; i < SUBSCRIBERS; i++) {
        for (int k = 0; k < PUBLICATIONS; k++) {
            char text[16];

            snprintf(text, sizeof text, "news %d", k);
            BOTH_UNTIL(sennit_sock_ready(subs[i]) & SENNIT_READABLE);
            assert_string_equal(net_recv_flags(subs[i], SENNIT_DONTWAIT), text);
        }
    }
    assert_true(w.stats.refused > 0);
    close_world();
}

/* ---- D45: missing, forbidden, out of memory ------------------------------ */

/* In a child, which tells by its status: an assert would end in the parent's test. */
#define CHECK(condition)                                                                 \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);              \
            _exit(1);                                                                    \
        }                                                                                \
    } while (0)

static void
in_child(void (*fn)(const void *arg), const void *arg)
{
    int status;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        fn(arg);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* `call` ends in `error`, without being made. */
static void
forbid(unsigned call, int error)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = { sizeof code / sizeof code[0], code };

    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

typedef struct hindrance {
    const char *name;
    unsigned call;  /* that ends ... */
    int error;      /* ... in this; 0: no memory may be locked */
    sennit_err err; /* what asking for it then is */
    const char *named;
} hindrance;

static const hindrance hindrances[] = {
    { "forbidden", __NR_io_uring_setup, EPERM, SENNIT_EACCES, "seccomp" },
    { "forbidden to enter", __NR_io_uring_enter, EPERM, SENNIT_EACCES, "seccomp" },
    { "forbidden to register", __NR_io_uring_register, EPERM, SENNIT_EACCES, "seccomp" },
    { "unknown", __NR_io_uring_setup, ENOSYS, SENNIT_ENOTSUP, "no io_uring" },
    { "unknown to enter", __NR_io_uring_enter, ENOSYS, SENNIT_ENOTSUP, "no io_uring" },
    { "out of memory", __NR_io_uring_setup, ENOMEM, SENNIT_ENOMEM, "RLIMIT_MEMLOCK" },
    { "out of locked memory", 0, 0, SENNIT_ENOMEM, "RLIMIT_MEMLOCK" },
};

static void
hinder(const hindrance *what)
{
    const struct rlimit none = { 0, 0 };

    if (what->error != 0) {
        forbid(what->call, what->error);
        return;
    }
    CHECK(setrlimit(RLIMIT_MEMLOCK, &none) == 0);
    /* The administrator may lock what he likes. */
    CHECK(getuid() != 0 || setuid(65534) == 0);
}

static unsigned notices;

static void
count_notice(void *arg, const char *sentence)
{
    CHECK(strstr(sentence, arg) != NULL);
    notices++;
}

/* A message from one socket to another. */
static void
smoke(sennit_loop *loop)
{
    const sennit_sock_opts opts = net_opts();
    sennit_sock *pull;
    sennit_sock *push;
    sennit_msg msg = { 0 };

    CHECK(sennit_sock_open(&pull, loop, SENNIT_PULL, &opts) == SENNIT_OK);
    CHECK(sennit_sock_open(&push, loop, SENNIT_PUSH, &opts) == SENNIT_OK);
    CHECK(sennit_sock_bind(pull, "tcp://127.0.0.1:*") == SENNIT_OK);
    CHECK(sennit_sock_connect(push, sennit_sock_last_endpoint(pull)) == SENNIT_OK);
    CHECK(sennit_msg_init_copy(&msg, "smoke", 5) == SENNIT_OK);
    CHECK(sennit_sock_send(push, &msg, 0) == SENNIT_OK);
    CHECK(sennit_sock_recv(pull, &msg, 0) == SENNIT_OK);
    CHECK(sennit_msg_size(&msg) == 5 && memcmp(sennit_msg_data(&msg), "smoke", 5) == 0);
    sennit_msg_fini(&msg);
}

static void
fall_back(const void *arg)
{
    const hindrance *what = arg;
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;
    sennit_loop *loop;
    const char *why;

    hinder(what);
    CHECK(setenv("SENNIT_BACKEND", "uring", 1) == 0);
    opts.notice = count_notice;
    opts.notice_arg = (void *)(uintptr_t)what->named;
    CHECK(sennit_loop_open(&loop, &opts) == SENNIT_OK);
    CHECK(notices == 1);
    CHECK(strcmp(sennit_loop_backend(loop), "epoll") == 0);
    CHECK(strstr(sennit_loop_notice(loop), what->named) != NULL);
    smoke(loop);
    sennit_loop_close(loop);
    CHECK(notices == 1);
    CHECK(sennit_backend_probe(SENNIT_BACKEND_AUTO, &why) == SENNIT_OK);
    CHECK(strstr(why, what->named) != NULL);
}

static void
force(const void *arg)
{
    const hindrance *what = arg;
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;
    sennit_loop *loop = NULL;
    const char *why;

    hinder(what);
    opts.backend = SENNIT_BACKEND_URING;
    CHECK(sennit_loop_open(&loop, &opts) == what->err);
    CHECK(loop == NULL);
    CHECK(sennit_backend_probe(SENNIT_BACKEND_URING, &why) == what->err);
    CHECK(strstr(why, what->named) != NULL);
    CHECK(sennit_backend_probe(SENNIT_BACKEND_EPOLL, &why) == SENNIT_OK);
    CHECK(strcmp(why, "") == 0);
}

static void
D45_a_what_cannot_be_had_is_done_without_and_said_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof hindrances / sizeof hindrances[0]; i++) {
        print_message("  %s\n", hindrances[i].name);
        in_child(fall_back, &hindrances[i]);
    }
}

static void
D45_b_who_insists_gets_the_true_error(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof hindrances / sizeof hindrances[0]; i++) {
        print_message("  %s\n", hindrances[i].name);
        in_child(force, &hindrances[i]);
    }
}

static void
D45_b_a_kernel_that_lacks_something_is_told_from_one_that_forbids(void **state)
{
    static const sni_uring_opts lacking[] = { { .no_features = true },
                                              { .no_groups = true },
                                              { .setup_error = EINVAL } };
    test_alloc alloc;
    sni_pool *blocks;

    (void)state;
    test_alloc_init(&alloc);
    blocks = sni_pool_new(&alloc.allocator, SNI_RECV_BYTES, 1);
    for (size_t i = 0; i < sizeof lacking / sizeof lacking[0]; i++) {
        const char *why = NULL;
        sni_io *io = NULL;

        assert_int_equal(
            sni_io_uring_open(&io, &alloc.allocator, blocks, &lacking[i], &why),
            SENNIT_ENOTSUP);
        assert_null(io);
        assert_non_null(strstr(why, "too old"));
    }
    sni_pool_free(blocks);
    assert_int_equal(alloc.live_blocks, 0);
}

static void
misnamed(const void *arg)
{
    sennit_loop *loop = NULL;
    const char *why;

    (void)arg;
    CHECK(setenv("SENNIT_BACKEND", "kqueue", 1) == 0);
    CHECK(sennit_loop_open(&loop, NULL) == SENNIT_EINVAL);
    CHECK(sennit_backend_probe(SENNIT_BACKEND_AUTO, &why) == SENNIT_EINVAL);
    CHECK(strstr(why, "SENNIT_BACKEND") != NULL);
}

static void
named(const void *arg)
{
    sennit_loop *loop;

    CHECK(setenv("SENNIT_BACKEND", arg, 1) == 0);
    CHECK(sennit_loop_open(&loop, NULL) == SENNIT_OK);
    CHECK(strcmp(sennit_loop_backend(loop), arg) == 0);
    CHECK(strcmp(sennit_loop_notice(loop), "") == 0);
    smoke(loop);
    sennit_loop_close(loop);
}

static void
the_environment_names_the_backend_of_who_leaves_it_open(void **state)
{
    (void)state;
    in_child(named, "epoll");
    in_child(named, "uring");
    in_child(misnamed, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(D43_a_with_four_buffers_of_4_KiB_everybody_is_received_whole),
        cmocka_unit_test(D43_b_accepting_that_ends_is_begun_again),
        cmocka_unit_test(D43_c_a_peer_that_goes_in_the_middle_of_a_buffer_is_closed_once),
        cmocka_unit_test(
            D44_what_the_kernel_has_not_taken_is_not_for_the_descriptors_next_owner),
        cmocka_unit_test(D44_with_eight_places_and_a_busy_kernel_everybody_gets_an_echo),
        cmocka_unit_test(
            D44_with_four_places_and_a_busy_kernel_every_subscriber_hears_everything),
        cmocka_unit_test(D45_a_what_cannot_be_had_is_done_without_and_said_once),
        cmocka_unit_test(D45_b_who_insists_gets_the_true_error),
        cmocka_unit_test(
            D45_b_a_kernel_that_lacks_something_is_told_from_one_that_forbids),
        cmocka_unit_test(the_environment_names_the_backend_of_who_leaves_it_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
