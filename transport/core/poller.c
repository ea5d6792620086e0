/* SPDX-License-Identifier: MIT */
/* A wait turns the owned loops of its sockets, looks at the sockets, and if none is ready
 * has poll(2) wait for the loops' descriptors and the foreign ones together. So a loop
 * costs one descriptor, however many of its sockets are here, and what is foreign is
 * looked at in every wait, also when sockets are always ready. Hosted loops turn by
 * themselves: they say what their sockets are ready for (core/tap.h), and ring the bell
 * that every poller has.
 *
 * poll(2), and not an epoll instance of its own: it says of each descriptor that it was
 * closed, takes regular files, and finds all that is ready at once. Its cost grows with
 * the foreign descriptors; the sockets' are the loops' business.
 *
 * Memory is made sure of when something is added: a wait asks for none. */
#include "sennit/poller.h"

#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/limits.h"
#include "base/timers.h"
#include "core/sock.h"
#include "core/tap.h"
#include "io/poll.h"

#define SOCK_BITS       (SENNIT_READABLE | SENNIT_WRITABLE | SENNIT_EVENTS)
#define FD_BITS         (SENNIT_READABLE | SENNIT_WRITABLE | SENNIT_URGENT)
#define WRONG_SOCK_BITS "interest has bits other than SENNIT_READABLE, _WRITABLE, _EVENTS"
#define WRONG_FD_BITS   "interest has bits other than SENNIT_READABLE, _WRITABLE, _URGENT"
#define SLOT_NONE       UINT32_MAX

typedef enum item_kind { ITEM_SOCK, ITEM_FD, ITEM_TIMER } item_kind;

typedef struct item {
    sennit_poller *poller;
    item_kind kind;
    uint32_t slot;
    void *key;
    unsigned interest;
    unsigned got; /* descriptors: in this wait, then 0; sockets: SENNIT_GONE */

    sennit_sock *sock; /* NULL: gone */
    sni_link of_sock;  /* of an owned loop: in the socket's */
    sni_tap *tap;      /* of a hosted loop, which other threads may close at any time: so
                          the socket itself is not looked at */

    int fd;

    sennit_timer timer;
    sennit_time interval_ns;
    uint64_t due_count; /* and not told */
} item;

/* A place of the table. Its generation tells an id from those that had it before. */
typedef struct slot {
    item *item; /* NULL: free */
    uint32_t generation;
    uint32_t next_free;
} slot;

/* A loop that has sockets here. */
typedef struct driven {
    sennit_loop *loop;
    size_t socks;
    sennit_time at; /* in this wait: when it has something to do */
} driven;

struct sennit_poller {
    sennit_allocator alloc;
    pthread_t owner;
    unsigned forks;
    unsigned waits; /* inside each other, through callbacks */
    const char *why;
    sni_tap_bell *bell;
    atomic_bool woken; /* by sennit_poller_wake() */
    sni_timers timers;

    slot *slots;
    size_t slots_capacity;
    uint32_t slots_count;
    uint32_t first_free;
    uint32_t next; /* where the next wait begins to tell */
    size_t items;

    driven *loops;
    size_t loops_capacity;
    size_t loops_count;

    sni_polled *polled; /* room for the bell, all loops and all slots */
    size_t polled_capacity;
};

/* ---- calls that fail --------------------------------------------------- */

static sennit_err
fail(sennit_poller *poller, sennit_err err, const char *why)
{
    poller->why = why != NULL ? why : sennit_err_text(err);
    return err;
}

static sennit_err
enter(sennit_poller *poller)
{
    if (poller == NULL)
        return SENNIT_EINVAL;
    if (sni_forked_since(poller->forks))
        return fail(poller, SENNIT_ESTATE,
                    "the poller belongs to the parent process: after fork open one of "
                    "your own");
    return pthread_equal(poller->owner, pthread_self()) ? SENNIT_OK : SENNIT_ETHREAD;
}

/* ---- items ------------------------------------------------------------- */

static uint64_t
id_of(const sennit_poller *poller, const item *it)
{
    return (uint64_t)poller->slots[it->slot].generation << 32 | (it->slot + 1u);
}

static item *
find(const sennit_poller *poller, uint64_t id)
{
    uint32_t at = (uint32_t)id - 1u;

    return at < poller->slots_count && poller->slots[at].generation == id >> 32
               ? poller->slots[at].item
               : NULL;
}

/* Room for one item more, and for what a wait needs of it. */
static bool
make_room(sennit_poller *poller)
{
    size_t count = poller->slots_count + (poller->first_free == SLOT_NONE);

    return count <= SNI_POLLER_ITEMS_MAX &&
           sni_grow(&poller->alloc, &poller->slots, &poller->slots_capacity, count,
                    sizeof *poller->slots) &&
           sni_grow(&poller->alloc, &poller->loops, &poller->loops_capacity,
                    poller->loops_count + 1, sizeof *poller->loops) &&
           sni_grow(&poller->alloc, &poller->polled, &poller->polled_capacity,
                    1 + poller->loops_count + 1 + count, sizeof *poller->polled);
}

static void
take_slot(sennit_poller *poller, item *it)
{
    if (poller->first_free != SLOT_NONE) {
        it->slot = poller->first_free;
        poller->first_free = poller->slots[it->slot].next_free;
    } else {
        it->slot = poller->slots_count++;
        poller->slots[it->slot].generation = 0;
    }
    poller->slots[it->slot].item = it;
    poller->items++;
}

/* A new one that is in the table. */
static item *
new_item(sennit_poller *poller, item_kind kind, unsigned interest, void *key)
{
    item *it = make_room(poller) ? sni_acquire_zero(&poller->alloc, sizeof *it) : NULL;

    if (it == NULL)
        return NULL;
    it->poller = poller;
    it->kind = kind;
    it->interest = interest;
    it->key = key;
    it->fd = -1;
    sni_link_init(&it->of_sock);
    take_slot(poller, it);
    return it;
}

/* The loop has a socket more here. */
static void
drive(sennit_poller *poller, sennit_loop *loop)
{
    size_t i = 0;

    while (i < poller->loops_count && poller->loops[i].loop != loop)
        i++;
    if (i == poller->loops_count)
        poller->loops[poller->loops_count++] = (driven){ loop, 0, 0 };
    poller->loops[i].socks++;
}

static void
drive_less(sennit_poller *poller, const sennit_loop *loop)
{
    size_t i = 0;

    while (poller->loops[i].loop != loop)
        i++;
    if (--poller->loops[i].socks == 0)
        poller->loops[i] = poller->loops[--poller->loops_count];
}

static void
forget_sock(item *it)
{
    if (it->tap != NULL)
        sni_tap_drop(it->tap);
    else if (it->sock != NULL)
        drive_less(it->poller, it->sock->loop);
    sni_link_remove(&it->of_sock);
    it->tap = NULL;
    it->sock = NULL;
}

static void
free_item(item *it)
{
    sennit_poller *poller = it->poller;
    slot *s = &poller->slots[it->slot];

    forget_sock(it);
    sni_timers_stop(&poller->timers, &it->timer);
    s->item = NULL;
    s->generation++;
    s->next_free = poller->first_free;
    poller->first_free = it->slot;
    poller->items--;
    sni_release(&poller->alloc, it);
}

void
sni_poller_lost(sni_link *pollers)
{
    sni_link *link;

    while ((link = sni_list_first(pollers)) != NULL) {
        item *it = SNI_OWNER_OF(link, item, of_sock);

        forget_sock(it);
        it->got = SENNIT_GONE;
    }
}

/* ---- opening and closing ----------------------------------------------- */

sennit_err
sennit_poller_open(sennit_poller **out, const sennit_allocator *allocator)
{
    const sennit_allocator *alloc = allocator != NULL ? allocator : &sni_alloc_default;
    sennit_poller *poller;
    sennit_err err;

    if (out == NULL || alloc->acquire == NULL || alloc->resize == NULL ||
        alloc->release == NULL)
        return SENNIT_EINVAL;
    err = sni_forks_watch();
    if (err)
        return err;
    poller = sni_acquire_zero(alloc, sizeof *poller);
    if (poller == NULL)
        return SENNIT_ENOMEM;
    poller->alloc = *alloc;
    poller->owner = pthread_self();
    poller->forks = sni_forks;
    poller->why = "";
    poller->first_free = SLOT_NONE;
    sni_timers_init(&poller->timers, &poller->alloc);
    atomic_init(&poller->woken, false);
    err = sni_tap_bell_new(&poller->bell);
    if (err == SENNIT_OK && !make_room(poller)) {
        sni_tap_bell_unref(poller->bell);
        err = SENNIT_ENOMEM;
    }
    if (err) {
        sni_release(&poller->alloc, poller->slots);
        sni_release(&poller->alloc, poller->loops);
        sni_release(alloc, poller);
        return err;
    }
    *out = poller;
    return SENNIT_OK;
}

void
sennit_poller_close(sennit_poller *poller)
{
    sennit_allocator alloc;

    if (poller == NULL)
        return;
    if (!sni_forked_since(poller->forks) && !pthread_equal(poller->owner, pthread_self()))
        sni_misuse("sennit_poller_close",
                   "called on another thread than the one that opened the poller: wake "
                   "it here (sennit_poller_wake()) and close it there");
    if (poller->waits > 0)
        sni_misuse("sennit_poller_close",
                   "called in a callback that runs in its own wait: wake it there "
                   "(sennit_poller_wake()) and close it behind sennit_poller_wait()");
    for (uint32_t i = 0; i < poller->slots_count; i++)
        if (poller->slots[i].item != NULL)
            free_item(poller->slots[i].item);
    sni_tap_bell_unref(poller->bell);
    sni_timers_fini(&poller->timers);
    alloc = poller->alloc;
    sni_release(&alloc, poller->slots);
    sni_release(&alloc, poller->loops);
    sni_release(&alloc, poller->polled);
    sni_release(&alloc, poller);
}

const char *
sennit_poller_why(const sennit_poller *poller)
{
    return poller == NULL ? "the poller is NULL" : poller->why;
}

/* ---- adding and removing ----------------------------------------------- */

static void
tell_id(const item *it, uint64_t *id)
{
    if (id != NULL)
        *id = id_of(it->poller, it);
}

/* It begins to hear of the socket, whose loop the call is inside. */
static sennit_err
hear_of(item *it, sennit_sock *sock)
{
    sennit_err err = SENNIT_OK;

    it->sock = sock;
    if (sock->loop->drive != NULL) {
        err = sni_tap_open(&it->tap, sock, it->poller->bell);
        if (err)
            it->sock = NULL;
    } else {
        sni_list_push(&sock->pollers, &it->of_sock);
        drive(it->poller, sock->loop);
    }
    return err;
}

static sennit_err
add_sock(sennit_poller *poller, sennit_sock *sock, unsigned interest, void *key,
         uint64_t *id)
{
    item *it;
    sennit_err err;

    if (interest & ~SOCK_BITS)
        return fail(poller, SENNIT_EINVAL, WRONG_SOCK_BITS);
    it = new_item(poller, ITEM_SOCK, interest, key);
    if (it == NULL)
        return fail(poller, SENNIT_ENOMEM, NULL);
    err = hear_of(it, sock);
    if (err) {
        free_item(it);
        return fail(poller, err, NULL);
    }
    tell_id(it, id);
    return SENNIT_OK;
}

sennit_err
sennit_poller_add_sock(sennit_poller *poller, sennit_sock *sock, unsigned interest,
                       void *key, uint64_t *id)
{
    sennit_err err = enter(poller);

    if (err)
        return err;
    if (sock == NULL)
        return fail(poller, SENNIT_EINVAL, "sock is NULL");
    err = sni_sock_enter(sock);
    if (err)
        return fail(poller, err,
                    err == SENNIT_ETHREAD
                        ? "the socket's loop is another thread's: open a poller there"
                        : sennit_loop_why(sock->loop));
    return sni_sock_leave(sock, add_sock(poller, sock, interest, key, id));
}

sennit_err
sennit_poller_add_fd(sennit_poller *poller, int fd, unsigned interest, void *key,
                     uint64_t *id)
{
    sennit_err err = enter(poller);
    sni_polled polled = sni_polled_ask(fd, SENNIT_READABLE);
    item *it;

    if (err)
        return err;
    if (fd < 0)
        return fail(poller, SENNIT_EINVAL, "fd is negative");
    if (interest & ~FD_BITS)
        return fail(poller, SENNIT_EINVAL, WRONG_FD_BITS);
    if (sni_poll(&polled, 1, 0) == SENNIT_OK && (sni_polled_got(&polled) & SENNIT_GONE))
        return fail(poller, SENNIT_EINVAL, "fd is not open");
    it = new_item(poller, ITEM_FD, interest, key);
    if (it == NULL)
        return fail(poller, SENNIT_ENOMEM, NULL);
    it->fd = fd;
    tell_id(it, id);
    return SENNIT_OK;
}

static sennit_time
later(sennit_time at, sennit_time delay_ns)
{
    return delay_ns > SENNIT_NEVER - at ? SENNIT_NEVER : at + delay_ns;
}

/* Timers are told by waits, and nothing is called. */
static void
no_call(void *arg)
{
    (void)arg;
}

static sennit_err
start_timer(item *it, sennit_time delay_ns, sennit_time interval_ns)
{
    sennit_err err = sni_timers_start(&it->poller->timers, &it->timer,
                                      later(sni_poll_now(), delay_ns), no_call, NULL);

    if (err)
        return fail(it->poller, err, NULL);
    it->interval_ns = interval_ns;
    it->due_count = 0;
    return SENNIT_OK;
}

sennit_err
sennit_poller_add_timer(sennit_poller *poller, sennit_time delay_ns,
                        sennit_time interval_ns, void *key, uint64_t *id)
{
    sennit_err err = enter(poller);
    item *it;

    if (err)
        return err;
    it = new_item(poller, ITEM_TIMER, SENNIT_DUE, key);
    if (it == NULL)
        return fail(poller, SENNIT_ENOMEM, NULL);
    err = start_timer(it, delay_ns, interval_ns);
    if (err) {
        free_item(it);
        return err;
    }
    tell_id(it, id);
    return SENNIT_OK;
}

/* The item of a call. Errors: as enter, ENOENT. */
static sennit_err
enter_item(sennit_poller *poller, uint64_t id, item **out)
{
    sennit_err err = enter(poller);

    if (err)
        return err;
    *out = find(poller, id);
    return *out != NULL
               ? SENNIT_OK
               : fail(poller, SENNIT_ENOENT,
                      "nothing has this id: it was removed, or told as gone or due");
}

sennit_err
sennit_poller_change(sennit_poller *poller, uint64_t id, unsigned interest)
{
    item *it;
    sennit_err err = enter_item(poller, id, &it);

    if (err)
        return err;
    switch (it->kind) {
    case ITEM_SOCK:
        if (interest & ~SOCK_BITS)
            return fail(poller, SENNIT_EINVAL, WRONG_SOCK_BITS);
        break;
    case ITEM_FD:
        if (interest & ~FD_BITS)
            return fail(poller, SENNIT_EINVAL, WRONG_FD_BITS);
        break;
    case ITEM_TIMER:
        return fail(poller, SENNIT_ENOTSUP,
                    "this id is a timer's: use sennit_poller_restart()");
    }
    it->interest = interest;
    return SENNIT_OK;
}

sennit_err
sennit_poller_restart(sennit_poller *poller, uint64_t id, sennit_time delay_ns,
                      sennit_time interval_ns)
{
    item *it;
    sennit_err err = enter_item(poller, id, &it);

    if (err)
        return err;
    if (it->kind != ITEM_TIMER)
        return fail(poller, SENNIT_ENOTSUP,
                    "this id is no timer's: use sennit_poller_change()");
    return start_timer(it, delay_ns, interval_ns);
}

sennit_err
sennit_poller_remove(sennit_poller *poller, uint64_t id)
{
    item *it;
    sennit_err err = enter_item(poller, id, &it);

    if (err)
        return err;
    free_item(it);
    return SENNIT_OK;
}

size_t
sennit_poller_count(const sennit_poller *poller)
{
    return poller == NULL ? 0 : poller->items;
}

/* ---- what is ready ----------------------------------------------------- */

/* Timers that are due by now are so until they are told. A step that it has missed
 * counts. */
static void
expire(sennit_poller *poller)
{
    sennit_time now = poller->timers.count > 0 ? sni_poll_now() : 0;
    sennit_timer *timer;

    while ((timer = sni_timers_pop(&poller->timers, now)) != NULL) {
        item *it = SNI_OWNER_OF(timer, item, timer);
        uint64_t times = 1;

        if (it->interval_ns > 0) {
            times += (now - timer->at_) / it->interval_ns;
            /* There was room for it a moment ago. */
            (void)sni_timers_start(&poller->timers, timer,
                                   later(timer->at_, times * it->interval_ns), no_call,
                                   NULL);
        }
        it->due_count += times;
    }
}

static unsigned
ready_of(const item *it)
{
    unsigned got = it->tap != NULL ? sni_tap_ready(it->tap) : it->got;

    if (got & SENNIT_GONE)
        return SENNIT_GONE;
    switch (it->kind) {
    case ITEM_SOCK:
        if (it->interest != 0 && it->tap == NULL)
            got = sni_sock_look(it->sock);
        return got & it->interest;
    case ITEM_FD:
        return it->interest == 0 ? 0 : got & (it->interest | SENNIT_FAILED);
    case ITEM_TIMER:
        return it->due_count > 0 ? SENNIT_DUE : 0;
    }
    return 0;
}

static bool
is_any_ready(const sennit_poller *poller)
{
    for (uint32_t i = 0; i < poller->slots_count; i++)
        if (poller->slots[i].item != NULL && ready_of(poller->slots[i].item) != 0)
            return true;
    return false;
}

/* Some are gone with that. */
static void
tell(item *it, unsigned ready, sennit_poller_event *out)
{
    *out = (sennit_poller_event){ .id = id_of(it->poller, it),
                                  .key = it->key,
                                  .sock = ready == SENNIT_GONE ? NULL : it->sock,
                                  .fd = it->fd,
                                  .ready = ready,
                                  .due_count = it->due_count };
    it->due_count = 0;
    if (ready == SENNIT_GONE || (it->kind == ITEM_TIMER && it->interval_ns == 0))
        free_item(it);
}

/* Begins one further each time, or where there was no room. */
static size_t
tell_some(sennit_poller *poller, sennit_poller_event *out, size_t max)
{
    uint32_t count = poller->slots_count;
    uint32_t begin = poller->next;
    size_t told = 0;

    if (count == 0)
        return 0;
    poller->next = (begin + 1) % count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = (begin + i) % count;
        item *it = poller->slots[at].item;
        unsigned ready = it != NULL ? ready_of(it) : 0;

        if (ready == 0)
            continue;
        if (told == max) {
            poller->next = at;
            break;
        }
        tell(it, ready, &out[told++]);
    }
    return told;
}

/* What descriptors have got is looked up anew by the next wait. */
static size_t
tell_all(sennit_poller *poller, sennit_poller_event *out, size_t max)
{
    size_t told = tell_some(poller, out, max);

    for (uint32_t i = 0; i < poller->slots_count; i++)
        if (poller->slots[i].item != NULL && poller->slots[i].item->kind == ITEM_FD)
            poller->slots[i].item->got = 0;
    return told;
}

/* ---- waiting ----------------------------------------------------------- */

/* Those that have something to do by `now`. Callbacks may add and remove meanwhile. */
static sennit_err
turn_loops(sennit_poller *poller, sennit_time now)
{
    for (size_t i = 0; i < poller->loops_count; i++) {
        sennit_loop *loop = poller->loops[i].loop;
        sennit_err err =
            poller->loops[i].at <= now ? sennit_loop_turn(loop, 0) : SENNIT_OK;

        if (err != SENNIT_OK && err != SENNIT_EINTR)
            return fail(poller, err, sennit_loop_why(loop));
    }
    return SENNIT_OK;
}

static bool
is_terminated(const sennit_poller *poller)
{
    for (size_t i = 0; i < poller->loops_count; i++)
        if (sni_loop_terminated(poller->loops[i].loop))
            return true;
    for (uint32_t i = 0; i < poller->slots_count; i++) {
        const item *it = poller->slots[i].item;

        if (it != NULL && it->tap != NULL && (sni_tap_ready(it->tap) & SNI_TAP_SHUT))
            return true;
    }
    return false;
}

/* When somebody has something to do that no descriptor tells. */
static sennit_time
next_time(sennit_poller *poller, sennit_time until)
{
    sennit_time next = sni_timers_next(&poller->timers);

    if (until < next)
        next = until;
    for (size_t i = 0; i < poller->loops_count; i++) {
        driven *d = &poller->loops[i];
        int ms = sennit_loop_timeout_ms(d->loop);

        d->at = SENNIT_NEVER;
        if (ms >= 0)
            d->at = ms == 0 ? 0 : sni_poll_now() + (sennit_time)ms * 1000000u;
        if (d->at < next)
            next = d->at;
    }
    return next;
}

/* The bell first, then the loops, then the descriptors in the order of their slots. */
static sennit_err
look(sennit_poller *poller, sennit_time until, bool *woken)
{
    sni_polled *polled = poller->polled;
    size_t count = 0;
    sennit_err err;

    polled[count++] = sni_polled_ask(poller->bell->waker.bell, SENNIT_READABLE);
    for (size_t i = 0; i < poller->loops_count; i++)
        polled[count++] =
            sni_polled_ask(sennit_loop_fd(poller->loops[i].loop), SENNIT_READABLE);
    for (uint32_t i = 0; i < poller->slots_count; i++) {
        const item *it = poller->slots[i].item;

        if (it != NULL && it->kind == ITEM_FD && it->interest != 0)
            polled[count++] = sni_polled_ask(it->fd, it->interest);
    }
    err = sni_poll(polled, count, until);
    (void)sni_waker_hear(&poller->bell->waker, sni_polled_got(&polled[0]) != 0);
    *woken = atomic_exchange_explicit(&poller->woken, false, memory_order_acq_rel);
    count = 1;
    for (size_t i = 0; i < poller->loops_count; i++)
        if (sni_polled_got(&polled[count++]) != 0)
            poller->loops[i].at = 0;
    for (uint32_t i = 0; i < poller->slots_count; i++) {
        item *it = poller->slots[i].item;

        if (it != NULL && it->kind == ITEM_FD)
            it->got = it->interest != 0 ? sni_polled_got(&polled[count++]) : 0;
    }
    return err;
}

/* Turns the loops that have something to do as it is: what was sent leaves before a
 * wait. */
static sennit_err
turn_due(sennit_poller *poller)
{
    (void)next_time(poller, 0);
    return turn_loops(poller, sni_poll_now());
}

/* Turns, looks, turns again for what the loops have got meanwhile, and tells. A loop that
 * has nothing to do is not turned: that would be a system call in every wait. */
static sennit_err
wait_once(sennit_poller *poller, sennit_poller_event *out, size_t max, sennit_time until,
          size_t *told, bool *woken)
{
    sennit_err err = turn_due(poller);
    sennit_err looked;

    if (err)
        return err;
    expire(poller);
    /* A look at a socket may stop at its bound: its loop has something to do then. */
    if (is_any_ready(poller))
        until = 0;
    looked = look(poller, next_time(poller, until), woken);
    err = turn_loops(poller, sni_poll_now());
    if (err)
        return err;
    expire(poller);
    *told = tell_all(poller, out, max);
    if (looked && *told == 0 && !*woken)
        return fail(poller, looked,
                    looked == SENNIT_EINTR ? "a signal arrived"
                    : looked == SENNIT_EMFILE
                        ? "more descriptors than the process may have open"
                        : NULL);
    return SENNIT_OK;
}

static sennit_err
wait_until(sennit_poller *poller, sennit_poller_event *out, size_t max, sennit_time until,
           size_t *count)
{
    for (;;) {
        size_t told = 0;
        bool woken = false;
        sennit_err err;

        if (until > 0 && is_terminated(poller))
            return fail(poller, SENNIT_ETERM, NULL);
        err = wait_once(poller, out, max, until, &told, &woken);
        if (err)
            return err;
        if (told > 0 || woken) {
            *count = told;
            return SENNIT_OK;
        }
        if (until == 0 || (until != SENNIT_NEVER && sni_poll_now() >= until))
            return fail(poller, SENNIT_EAGAIN, "nothing is ready");
    }
}

sennit_err
sennit_poller_wait(sennit_poller *poller, sennit_poller_event *out, size_t max,
                   int timeout_ms, size_t *count)
{
    sennit_time until = 0;
    sennit_err err = enter(poller);

    if (err)
        return err;
    if (out == NULL || max == 0 || count == NULL)
        return fail(poller, SENNIT_EINVAL,
                    out == NULL ? "out is NULL"
                    : max == 0  ? "max is 0"
                                : "count is NULL");
    if (timeout_ms < 0)
        until = SENNIT_NEVER;
    else if (timeout_ms > 0)
        until = sni_poll_now() + (sennit_time)timeout_ms * 1000000u;
    poller->waits++;
    err = wait_until(poller, out, max, until, count);
    poller->waits--;
    return err;
}

void
sennit_poller_wake(sennit_poller *poller)
{
    if (poller == NULL)
        return;
    atomic_store_explicit(&poller->woken, true, memory_order_release);
    sni_waker_wake(&poller->bell->waker);
}
