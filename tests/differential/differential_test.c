/* SPDX-License-Identifier: MIT */
/* One stream of octets, cut at random, into our engine and into libzmq: both take it or
 * both refuse it, and both hand out the same messages. Where we refuse on purpose what
 * libzmq takes, the reason is in the table below, and until then both agree.
 *
 * Other seeds than those of the suite: test_differential FROM COUNT. */
#include "sennit_test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <zmq.h>

#include "rig.h"
#include "stream.h"

#define FRAME_MAX     65536
#define DEADLINE_MS   10000
#define SWALLOWED_MS  20
#define DEFAULT_SEEDS 300

/* What only we refuse (transport/README.md, "Where it differs from libzmq"). */
static const char *const stricter[] = {
    "malformed frame head",
    "empty command",
    "command without a name",
    "command whose name is longer than its body",
    "PING without a time-to-live",
    "PING with a context over 16 octets",
    "PONG with a context over 16 octets",
    "not a command during the handshake",
    "metadata property name with an illegal octet",
    "metadata property without a name",
    "metadata property that is cut short",
    "metadata property value longer than the command",
    "Socket-Type given twice",
    "Identity given twice",
};

typedef struct kind {
    sennit_sock_type ours;
    int theirs;
    const char *peer;
    bool named; /* messages come behind an identity */
} kind;

static const kind kinds[] = {
    { SENNIT_PULL, ZMQ_PULL, "PUSH", false },
    { SENNIT_ROUTER, ZMQ_ROUTER, "DEALER", true },
    { SENNIT_DEALER, ZMQ_DEALER, "DEALER", false },
    { SENNIT_PAIR, ZMQ_PAIR, "PAIR", false },
};

static uint64_t seed;
static unsigned took;
static unsigned refused;
static unsigned purposely; /* refused by us only */

/* ---- ours -------------------------------------------------------------- */

typedef struct verdict {
    char *messages; /* as the rig notes them; the caller frees it */
    const char *reason;
    bool refused;
    bool ponged;
} verdict;

/* The PONG that answers the PING behind the stream. */
static bool
has_pong(const uint8_t *octets, size_t size, const uint8_t context[8])
{
    static const uint8_t pong[] = { 4, 'P', 'O', 'N', 'G' };

    for (size_t i = 0; i + sizeof pong + 8 <= size; i++)
        if (memcmp(octets + i, pong, sizeof pong) == 0 &&
            memcmp(octets + i + sizeof pong, context, 8) == 0)
            return true;
    return false;
}

/* From the first message on: the handshake's note is ours alone. */
static char *
messages_of(const test_rig *rig)
{
    const char *text = rig->events == NULL ? "" : rig->events;
    const char *first = strstr(text, "MSG ");

    return strdup(first != NULL ? first : "");
}

static verdict
ask_ours(const kind *k, const stream *s, const uint8_t context[8], test_rng *rng)
{
    const stream_part *parts[] = { &s->greeting, &s->ready, &s->traffic };
    test_rig_opts opts = TEST_RIG_DEFAULT(k->ours);
    test_alloc alloc;
    test_rig rig;
    verdict v;

    opts.frame_max_bytes = FRAME_MAX;
    test_alloc_init(&alloc);
    assert_true(test_rig_init(&rig, &alloc, &opts));
    for (int i = 0; i < 3; i++)
        test_rig_feed_chopped(&rig, (sennit_bytes){ parts[i]->octets, parts[i]->size },
                              64, rng);
    v.reason = test_rig_reason(&rig);
    v.refused = *v.reason != '\0';
    v.ponged = has_pong(rig.output, rig.output_size, context);
    v.messages = messages_of(&rig);
    test_rig_fini(&rig);
    assert_int_equal(alloc.live_blocks, 0);
    return v;
}

/* ---- libzmq's ---------------------------------------------------------- */

static void *context_of_zmq;

typedef struct wire_peer {
    int fd;
    uint8_t received[4096];
    size_t size;
    bool closed;
} wire_peer;

static void
read_some(wire_peer *peer, int timeout_ms)
{
    struct pollfd wait = { peer->fd, POLLIN, 0 };
    uint8_t sink[4096];
    ssize_t n;

    if (peer->closed || poll(&wait, 1, timeout_ms) <= 0)
        return;
    n = recv(peer->fd, sink, sizeof sink, MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0) {
        peer->closed = true;
        return;
    }
    if ((size_t)n > sizeof peer->received - peer->size)
        n = (ssize_t)(sizeof peer->received - peer->size);
    memcpy(peer->received + peer->size, sink, (size_t)n);
    peer->size += (size_t)n;
}

static void
write_chopped(wire_peer *peer, const stream_part *part, test_rng *rng)
{
    for (size_t at = 0; at < part->size && !peer->closed;) {
        size_t piece = 1 + (size_t)test_rng_below(rng, 64);
        ssize_t n;

        if (piece > part->size - at)
            piece = part->size - at;
        n = send(peer->fd, part->octets + at, piece, MSG_NOSIGNAL);
        if (n < 0)
            return; /* it had enough: the next read tells */
        at += (size_t)n;
    }
}

/* Its greeting and READY, or its refusal. */
static void
await_handshake(wire_peer *peer)
{
    for (int waited = 0; waited < DEADLINE_MS && !peer->closed; waited += 100) {
        if (peer->size > 66 && peer->size >= 66u + peer->received[65])
            return;
        read_some(peer, 100);
    }
    if (!peer->closed)
        fail_msg("seed %llu: libzmq neither shook hands nor refused",
                 (unsigned long long)seed);
}

static int
connect_abstract(const char *name)
{
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    size_t size = strlen(name);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    memcpy(un.sun_path + 1, name, size);
    assert_true(fd >= 0);
    assert_int_equal(
        connect(fd, (struct sockaddr *)&un,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + size)),
        0);
    return fd;
}

static void *
open_theirs(int type, char name[64])
{
    void *sock = zmq_socket(context_of_zmq, type);
    int64_t frame_max = FRAME_MAX;
    int zero = 0;
    char endpoint[80];

    assert_non_null(sock);
    assert_int_equal(zmq_setsockopt(sock, ZMQ_MAXMSGSIZE, &frame_max, sizeof frame_max),
                     0);
    assert_int_equal(zmq_setsockopt(sock, ZMQ_LINGER, &zero, sizeof zero), 0);
    snprintf(name, 64, "sennit-differential-%d-%llu", (int)getpid(),
             (unsigned long long)seed);
    snprintf(endpoint, sizeof endpoint, "ipc://@%s", name);
    assert_int_equal(zmq_bind(sock, endpoint), 0);
    return sock;
}

/* One whole message; false when none came in time. */
static bool
note_message(void *sock, const kind *k, test_rig *notes, int timeout_ms)
{
    zmq_pollitem_t item = { sock, 0, ZMQ_POLLIN, 0 };
    bool name = k->named;
    int more = 1;

    if (zmq_poll(&item, 1, timeout_ms) <= 0)
        return false;
    while (more) {
        zmq_msg_t msg;

        assert_int_equal(zmq_msg_init(&msg), 0);
        assert_true(zmq_msg_recv(&msg, sock, 0) >= 0);
        more = zmq_msg_more(&msg);
        if (!name)
            test_rig_note_frame(
                notes, (sennit_bytes){ zmq_msg_data(&msg), zmq_msg_size(&msg) }, more);
        name = false;
        zmq_msg_close(&msg);
    }
    return true;
}

static verdict
ask_theirs(const kind *k, const stream *s, const uint8_t context[8], const verdict *ours,
           test_rng *rng)
{
    char name[64];
    void *sock = open_theirs(k->theirs, name);
    wire_peer peer = { .fd = connect_abstract(name) };
    test_rig notes = { 0 };
    verdict v = { .reason = "" };
    int patience = ours->refused || ours->ponged ? DEADLINE_MS : SWALLOWED_MS;
    bool complete;

    write_chopped(&peer, &s->greeting, rng);
    await_handshake(&peer);
    write_chopped(&peer, &s->ready, rng);
    write_chopped(&peer, &s->traffic, rng);
    for (int waited = 0; waited < patience && !peer.closed && !v.ponged; waited += 5) {
        read_some(&peer, 5);
        v.ponged = has_pong(peer.received, peer.size, context);
    }
    v.refused = peer.closed;
    /* What it took before is still handed out. */
    do {
        complete = notes.events != NULL && strcmp(notes.events, ours->messages) == 0;
        if (*ours->messages == '\0')
            complete = true;
    } while (note_message(sock, k, &notes, complete ? 0 : 200));
    v.messages = messages_of(&notes);
    free(notes.events);
    close(peer.fd);
    zmq_close(sock);
    return v;
}

/* ---- comparing --------------------------------------------------------- */

static bool
on_purpose(const char *reason)
{
    for (size_t i = 0; i < sizeof stricter / sizeof stricter[0]; i++)
        if (strcmp(stricter[i], reason) == 0)
            return true;
    return false;
}

static void
compare(const kind *k)
{
    uint8_t context[8];
    uint8_t ping[17] = { 4, 15, 4, 'P', 'I', 'N', 'G', 0, 0 };
    test_rng rng = { seed };
    stream s;
    verdict ours;
    verdict theirs;

    stream_make(&s, k->peer, &rng);
    memcpy(context, &seed, sizeof context);
    memcpy(ping + 9, context, sizeof context);
    if (s.traffic.size + sizeof ping <= STREAM_PART_MAX) {
        memcpy(s.traffic.octets + s.traffic.size, ping, sizeof ping);
        s.traffic.size += sizeof ping;
    }
    ours = ask_ours(k, &s, context, &rng);
    theirs = ask_theirs(k, &s, context, &ours, &rng);
    took += !ours.refused;
    refused += ours.refused && theirs.refused;
    purposely += ours.refused && !theirs.refused;
    if (on_purpose(ours.reason)) {
        if (strncmp(theirs.messages, ours.messages, strlen(ours.messages)) != 0)
            fail_msg("seed %llu (%s): before \"%s\" ours gave\n  %s\ntheirs\n  %s",
                     (unsigned long long)seed, k->peer, ours.reason, ours.messages,
                     theirs.messages);
    } else if (ours.refused != theirs.refused || ours.ponged != theirs.ponged ||
               strcmp(ours.messages, theirs.messages) != 0) {
        fail_msg("seed %llu (%s): ours %s%s \"%s\"\n  %s\ntheirs %s%s\n  %s",
                 (unsigned long long)seed, k->peer, ours.refused ? "refused" : "took",
                 ours.ponged ? " and answered" : "", ours.reason, ours.messages,
                 theirs.refused ? "refused" : "took",
                 theirs.ponged ? " and answered" : "", theirs.messages);
    }
    free(ours.messages);
    free(theirs.messages);
}

static uint64_t seeds_from = 1;
static uint64_t seeds_count = DEFAULT_SEEDS;

static void
the_same_octets_mean_the_same_to_libzmq(void **state)
{
    (void)state;
    context_of_zmq = zmq_ctx_new();
    assert_non_null(context_of_zmq);
    for (uint64_t i = 0; i < seeds_count; i++) {
        seed = seeds_from + i;
        compare(&kinds[seed % (sizeof kinds / sizeof kinds[0])]);
    }
    assert_int_equal(zmq_ctx_term(context_of_zmq), 0);
    print_message("both took %u, both refused %u, only we refused %u\n", took, refused,
                  purposely);
    /* A comparison of nothing would agree too. */
    assert_true(took > seeds_count / 4);
    assert_true(refused > seeds_count / 50);
}

int
main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_octets_mean_the_same_to_libzmq),
    };

    if (argc == 3) {
        seeds_from = strtoull(argv[1], NULL, 10);
        seeds_count = strtoull(argv[2], NULL, 10);
    }
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
