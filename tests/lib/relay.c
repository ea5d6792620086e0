/* SPDX-License-Identifier: MIT */
/* One thread, one poll(2), one buffer per direction. Orders come through a pipe and are
 * confirmed through another, so that the test knows when they are carried out. */
#include "relay.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PAIRS_MAX 256
#define BUFFER    65536

typedef struct half {
    int fd;
    size_t first; /* bytes read from it that still have to be written to the other */
    size_t last;
    bool ended; /* it has closed its direction */
    char data[BUFFER];
} half;

typedef struct pair {
    half *side[2]; /* the client's, the target's; NULL: free */
} pair;

struct relay {
    pthread_t thread;
    int listener;
    int orders[2];
    int answers[2];
    bool still;
    struct sockaddr_in target;
    char endpoint[64];
    atomic_uint accepted;
    atomic_ulong bytes;
    pair pairs[PAIRS_MAX];
};

static void
end_pair(pair *p, bool reset)
{
    struct linger hard = { 1, 0 };

    for (int i = 0; i < 2; i++) {
        if (p->side[i] == NULL)
            continue;
        if (reset)
            (void)setsockopt(p->side[i]->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
        close(p->side[i]->fd);
        free(p->side[i]);
        p->side[i] = NULL;
    }
}

static half *
half_new(int fd)
{
    half *h = calloc(1, sizeof *h);
    int on = 1;

    if (h == NULL)
        abort();
    h->fd = fd;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    return h;
}

static void
take_connection(relay *r)
{
    int fd = accept(r->listener, NULL, NULL);
    int onward = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct linger hard = { 1, 0 };

    if (fd < 0 || onward < 0)
        abort();
    atomic_fetch_add(&r->accepted, 1);
    if (connect(onward, (struct sockaddr *)&r->target, sizeof r->target) != 0) {
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
        close(fd);
        close(onward);
        return;
    }
    for (size_t i = 0; i < PAIRS_MAX; i++) {
        if (r->pairs[i].side[0] == NULL) {
            r->pairs[i].side[0] = half_new(fd);
            r->pairs[i].side[1] = half_new(onward);
            return;
        }
    }
    abort(); /* a test with more connections than the relay was made for */
}

/* Moves what can be moved from one side to the other; false when the pair is over. */
static bool
move(relay *r, half *from, half *to, bool onward)
{
    ssize_t n;

    if (from->first == from->last && !from->ended) {
        n = read(from->fd, from->data, sizeof from->data);
        if (n < 0)
            return true;
        from->first = 0;
        from->last = (size_t)n;
        if (n == 0) {
            from->ended = true;
            (void)shutdown(to->fd, SHUT_WR);
        }
    }
    if (from->first < from->last) {
        n = send(to->fd, from->data + from->first, from->last - from->first,
                 MSG_NOSIGNAL);
        if (n > 0) {
            from->first += (size_t)n;
            if (onward)
                atomic_fetch_add(&r->bytes, (unsigned long)n);
        }
    }
    return !(from->ended && to->ended);
}

static void
obey(relay *r, char order)
{
    switch (order) {
    case 'c':
        for (size_t i = 0; i < PAIRS_MAX; i++)
            end_pair(&r->pairs[i], true);
        break;
    case 's':
    case 'g':
        r->still = order == 's';
        break;
    default:
        break;
    }
    if (write(r->answers[1], &order, 1) != 1)
        abort();
}

static void *
run(void *arg)
{
    relay *r = arg;
    char order = 0;

    while (order != 'q') {
        struct pollfd fds[2 + 2 * PAIRS_MAX] = { { r->orders[0], POLLIN, 0 },
                                                 { r->listener, POLLIN, 0 } };
        nfds_t count = r->still ? 1 : 2;
        pair *of[2 + 2 * PAIRS_MAX] = { NULL };

        for (size_t i = 0; i < PAIRS_MAX && !r->still; i++) {
            for (int side = 0; side < 2 && r->pairs[i].side[0] != NULL; side++) {
                half *mine = r->pairs[i].side[side];
                half *other = r->pairs[i].side[!side];
                short wants = 0;

                if (mine->first == mine->last && !mine->ended)
                    wants |= POLLIN;
                if (other->first < other->last)
                    wants |= POLLOUT;
                of[count] = &r->pairs[i];
                fds[count++] = (struct pollfd){ mine->fd, wants, 0 };
            }
        }
        if (poll(fds, count, -1) < 0)
            continue;
        if (fds[0].revents != 0) {
            if (read(r->orders[0], &order, 1) == 1)
                obey(r, order);
            continue;
        }
        for (nfds_t i = 2; i < count; i++) {
            pair *p = of[i];

            if (fds[i].revents == 0 || p->side[0] == NULL)
                continue;
            if ((fds[i].revents & (POLLERR | POLLNVAL)) != 0)
                end_pair(p, true);
            else if (!move(r, p->side[0], p->side[1], true) ||
                     !move(r, p->side[1], p->side[0], false))
                end_pair(p, false);
        }
        if (count > 1 && fds[1].revents != 0)
            take_connection(r);
    }
    return NULL;
}

static void
order(relay *r, char what)
{
    char answer;

    assert_int_equal(write(r->orders[1], &what, 1), 1);
    assert_int_equal(read(r->answers[0], &answer, 1), 1);
    assert_int_equal(answer, what);
}

relay *
relay_open(const char *target)
{
    relay *r = calloc(1, sizeof *r);
    struct sockaddr_in at = { .sin_family = AF_INET };
    socklen_t size = sizeof at;
    unsigned port;

    assert_non_null(r);
    assert_int_equal(sscanf(target, "tcp://127.0.0.1:%u", &port), 1);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    r->target = at;
    r->target.sin_port = htons((uint16_t)port);
    r->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(r->listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(r->listener, 64), 0);
    assert_int_equal(getsockname(r->listener, (struct sockaddr *)&at, &size), 0);
    snprintf(r->endpoint, sizeof r->endpoint, "tcp://127.0.0.1:%u", ntohs(at.sin_port));
    assert_int_equal(pipe(r->orders), 0);
    assert_int_equal(pipe(r->answers), 0);
    assert_int_equal(pthread_create(&r->thread, NULL, run, r), 0);
    return r;
}

void
relay_close(relay *r)
{
    order(r, 'q');
    assert_int_equal(pthread_join(r->thread, NULL), 0);
    for (size_t i = 0; i < PAIRS_MAX; i++)
        end_pair(&r->pairs[i], false);
    for (int i = 0; i < 2; i++) {
        close(r->orders[i]);
        close(r->answers[i]);
    }
    close(r->listener);
    free(r);
}

const char *
relay_endpoint(const relay *r)
{
    return r->endpoint;
}

void
relay_cut(relay *r)
{
    order(r, 'c');
}

void
relay_stall(relay *r, bool still)
{
    order(r, still ? 's' : 'g');
}

unsigned
relay_accepted(const relay *r)
{
    return atomic_load(&r->accepted);
}

unsigned long
relay_bytes(const relay *r)
{
    return atomic_load(&r->bytes);
}
