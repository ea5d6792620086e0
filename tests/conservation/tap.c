/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "wrong.h"

#define COUPLES_MAX 16u
#define HELD_MAX    (32u * 1024u)

/* Octets from one side that the other has not taken yet. */
typedef struct stream {
    uint8_t held[HELD_MAX];
    size_t begin;
    size_t end;
    bool over; /* its side has finished */
    bool shut; /* and the other was told */
} stream;

typedef struct couple {
    int fds[2]; /* [0] connected to us, [1] is ours; -1: not in use */
    uint32_t number;
    stream streams[2]; /* from that side */
} couple;

struct tap {
    int listener;
    char endpoint[128];
    char target[128];
    char path[108];
    tap_fn *fn;
    void *arg;
    couple couples[COUPLES_MAX];
};

typedef union address {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_un un;
} address;

static socklen_t
parse(const char *endpoint, address *out)
{
    const char *port;

    memset(out, 0, sizeof *out);
    if (strncmp(endpoint, "ipc://", 6) == 0) {
        out->un.sun_family = AF_UNIX;
        snprintf(out->un.sun_path, sizeof out->un.sun_path, "%s", endpoint + 6);
        return sizeof out->un;
    }
    port = strrchr(endpoint, ':');
    out->in.sin_family = AF_INET;
    out->in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    out->in.sin_port = htons((uint16_t)strtoul(port + 1, NULL, 10));
    return sizeof out->in;
}

tap *
tap_open(bool ipc, const char *folder, unsigned id, tap_fn *fn, void *arg)
{
    tap *r = calloc(1, sizeof *r);
    address at;
    socklen_t size;

    if (r == NULL)
        wrong("no memory for a tap");
    r->fn = fn;
    r->arg = arg;
    for (unsigned i = 0; i < COUPLES_MAX; i++)
        r->couples[i].fds[0] = r->couples[i].fds[1] = -1;
    if (ipc) {
        snprintf(r->path, sizeof r->path, "%s/r%u", folder, id);
        snprintf(r->endpoint, sizeof r->endpoint, "ipc://%s", r->path);
    } else {
        snprintf(r->endpoint, sizeof r->endpoint, "tcp://127.0.0.1:0");
    }
    size = parse(r->endpoint, &at);
    r->listener = socket(at.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (r->listener < 0 || bind(r->listener, &at.any, size) != 0 ||
        listen(r->listener, 16) != 0 || getsockname(r->listener, &at.any, &size) != 0)
        wrong("a tap could not listen: %s", strerror(errno));
    if (!ipc)
        snprintf(r->endpoint, sizeof r->endpoint, "tcp://127.0.0.1:%u",
                 ntohs(at.in.sin_port));
    return r;
}

static void
over(tap *r, couple *c, bool reset)
{
    struct linger now = { 1, 0 };

    for (unsigned side = 0; side < 2; side++) {
        if (reset)
            (void)setsockopt(c->fds[side], SOL_SOCKET, SO_LINGER, &now, sizeof now);
        close(c->fds[side]);
        c->fds[side] = -1;
    }
    r->fn(r->arg, r, c->number, 0, false, NULL, 0);
}

void
tap_close(tap *r)
{
    if (r == NULL)
        return;
    for (unsigned i = 0; i < COUPLES_MAX; i++)
        if (r->couples[i].fds[0] >= 0)
            over(r, &r->couples[i], true);
    close(r->listener);
    if (r->path[0] != '\0')
        unlink(r->path);
    free(r);
}

const char *
tap_endpoint(const tap *r)
{
    return r->endpoint;
}

void
tap_aim(tap *r, const char *endpoint)
{
    snprintf(r->target, sizeof r->target, "%s", endpoint == NULL ? "" : endpoint);
}

/* A connection to the target, begun; -1: there is none to be had. */
static int
dial(const tap *r)
{
    address at;
    socklen_t size;
    int fd;

    if (r->target[0] == '\0')
        return -1;
    size = parse(r->target, &at);
    fd = socket(at.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        wrong("a tap has no descriptor: %s", strerror(errno));
    if (connect(fd, &at.any, size) == 0 || errno == EINPROGRESS)
        return fd;
    close(fd);
    return -1;
}

/* Octets of one turn must not wait for the acknowledgement of another's. */
static void
hurry(int fd)
{
    int on = 1;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static void
welcome(tap *r, uint32_t *connections)
{
    for (unsigned i = 0; i < COUPLES_MAX; i++) {
        couple *c = &r->couples[i];

        if (c->fds[0] >= 0)
            continue;
        c->fds[0] = accept4(r->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (c->fds[0] < 0)
            return;
        c->fds[1] = dial(r);
        if (c->fds[1] < 0) {
            close(c->fds[0]);
            c->fds[0] = -1;
            continue;
        }
        hurry(c->fds[0]);
        hurry(c->fds[1]);
        c->number = ++*connections;
        for (unsigned side = 0; side < 2; side++) {
            stream *st = &c->streams[side];

            st->begin = st->end = 0;
            st->over = st->shut = false;
        }
    }
}

/* One direction; false when the connection is broken. */
static bool
pass(tap *r, couple *c, unsigned from, size_t piece, size_t *moved)
{
    stream *s = &c->streams[from];
    ssize_t size;

    if (s->begin == s->end)
        s->begin = s->end = 0;
    if (!s->over && s->end < HELD_MAX) {
        size_t room = HELD_MAX - s->end < piece ? HELD_MAX - s->end : piece;

        size = recv(c->fds[from], s->held + s->end, room, 0);
        if (size < 0 && errno != EAGAIN && errno != EINTR)
            return errno == ENOTCONN; /* ours, which is still connecting */
        if (size > 0)
            r->fn(r->arg, r, c->number, from, true, s->held + s->end, (size_t)size);
        s->over = size == 0;
        s->end += size > 0 ? (size_t)size : 0;
        *moved += size > 0 ? (size_t)size : 0;
    }
    if (s->begin < s->end) {
        size_t wanted = s->end - s->begin < piece ? s->end - s->begin : piece;

        size = send(c->fds[1 - from], s->held + s->begin, wanted, MSG_NOSIGNAL);
        if (size < 0 && errno != EAGAIN && errno != EINTR && errno != ENOTCONN)
            return false;
        if (size > 0)
            r->fn(r->arg, r, c->number, 1 - from, false, s->held + s->begin,
                  (size_t)size);
        s->begin += size > 0 ? (size_t)size : 0;
        *moved += size > 0 ? (size_t)size : 0;
    }
    if (s->over && s->begin == s->end && !s->shut) {
        (void)shutdown(c->fds[1 - from], SHUT_WR);
        s->shut = true;
    }
    return true;
}

size_t
tap_pump(tap *r, size_t piece, uint32_t *connections)
{
    size_t moved = 0;

    welcome(r, connections);
    for (unsigned i = 0; i < COUPLES_MAX; i++) {
        couple *c = &r->couples[i];

        if (c->fds[0] < 0)
            continue;
        if (!pass(r, c, 0, piece, &moved) || !pass(r, c, 1, piece, &moved))
            over(r, c, true);
        else if (c->streams[0].shut && c->streams[1].shut)
            over(r, c, false);
    }
    return moved;
}

bool
tap_cut(tap *r, uint32_t which)
{
    for (unsigned i = 0; i < COUPLES_MAX; i++) {
        couple *c = &r->couples[(which + i) % COUPLES_MAX];

        if (c->fds[0] < 0)
            continue;
        over(r, c, true);
        return true;
    }
    return false;
}

size_t
tap_poll(const tap *r, struct pollfd *fds, size_t fds_max)
{
    size_t count = 0;

    if (count < fds_max)
        fds[count++] = (struct pollfd){ .fd = r->listener, .events = POLLIN };
    for (unsigned i = 0; i < COUPLES_MAX; i++) {
        const couple *c = &r->couples[i];

        for (unsigned side = 0; c->fds[0] >= 0 && side < 2; side++) {
            const stream *in = &c->streams[side];
            const stream *out = &c->streams[1 - side];
            short events = 0;

            if (!in->over && in->end < HELD_MAX)
                events |= POLLIN;
            if (out->begin < out->end)
                events |= POLLOUT;
            if (events != 0 && count < fds_max)
                fds[count++] = (struct pollfd){ .fd = c->fds[side], .events = events };
        }
    }
    return count;
}

unsigned
tap_connections(const tap *r)
{
    unsigned count = 0;

    for (unsigned i = 0; i < COUPLES_MAX; i++)
        count += r->couples[i].fds[0] >= 0;
    return count;
}
