/* SPDX-License-Identifier: MIT */
#include "ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire.h"
#include "wrong.h"

/* ---- bodies ------------------------------------------------------------ */

const char *const prefixes[PREFIXES] = { "", "a", "b", "aa", "ab", "ba", "bb" };

unsigned
prefixes_of(const char topic[4])
{
    unsigned bits = 0;

    for (unsigned i = 0; i < PREFIXES; i++)
        if (strncmp(topic, prefixes[i], strlen(prefixes[i])) == 0)
            bits |= 1u << i;
    return bits;
}

#define SHIFTS 1021u

/* Where the filler of a frame begins in the endless pattern. */
static const uint8_t *
filler(const body_head *head)
{
    static uint8_t pattern[BODY_MAX + SHIFTS];

    if (pattern[1] == 0)
        for (size_t i = 0; i < sizeof pattern; i++)
            pattern[i] = (uint8_t)((i * 2654435761u) >> 13 | 1u);
    return pattern + (head->sender * 131u + head->number * 7u + head->part) % SHIFTS;
}

void
body_fill(uint8_t *body, const body_head *head)
{
    memcpy(body, head, sizeof *head);
    memcpy(body + sizeof *head, filler(head), head->size - sizeof *head);
}

bool
body_holds(const uint8_t *body, size_t size, body_head *head)
{
    if (size < sizeof *head)
        return false;
    memcpy(head, body, sizeof *head);
    return head->magic == BODY_MAGIC && head->size == size && size <= BODY_MAX &&
           memcmp(body + sizeof *head, filler(head), size - sizeof *head) == 0;
}

/* ---- what is known ----------------------------------------------------- */

typedef struct copy {
    struct copy *next; /* of the same message */
    uint32_t receiver;
    uint32_t connection; /* 0: inproc */
    unsigned side;       /* of its sender */
    uint32_t place;      /* in the order it was written on it */
    uint32_t operation;  /* that took its last octet */
    uint64_t taken_at;
    bool taken;
    bool received;
    uint32_t sender;
    uint32_t number;
} copy;

typedef struct entry {
    uint32_t sender;
    uint32_t number;
    uint32_t addressee;
    uint32_t owed; /* exact publications: copies it has to account for */
    char topic[4];
    bool accepted;
    bool refused;
    uint64_t at; /* when send was called */
    copy *copies;
} entry;

typedef struct account {
    const kind *kind;
    const sennit_sock *sock;
    entry *entries;
    size_t count;
    size_t capacity;
    unsigned subscriptions; /* of a subscriber */
    bool closed;
    bool drained;
    bool inproc;
    bool blind;
    bool cut; /* one of its connections ended */
    uint64_t accepted;
    uint64_t left; /* waiting when it was closed */
    uint64_t written_at_close;
    uint64_t written;         /* copies, on connections */
    uint64_t inproc_received; /* of those it sent */
    uint64_t owed;            /* exact publications: sum of their copies */
    uint64_t unmatched;       /* exact publications nobody subscribed to */
    uint64_t taken;           /* by it */
    uint64_t taken_at_close;
    uint64_t received;
    uint64_t received_inproc;
} account;

typedef struct half {
    uint32_t account;
    uint32_t peer;
    bool gone;
    bool refused;            /* it never became a peer */
    bool leaving;            /* it takes no more */
    unsigned subscriptions;  /* in force at a publisher, for this peer */
    uint32_t operations;     /* that brought octets in */
    uint32_t received_place; /* the newest the application got */
    wire_reader out;
    wire_reader in;
    bool out_found; /* the message being written has told its number */
    bool in_found;
    body_head out_head;
    body_head in_head;
    copy **sent; /* out of this half, in order */
    size_t sent_count;
    size_t sent_capacity;
    size_t taken_count; /* of these, by the other half */
} half;

typedef struct connection {
    half halves[2];
} connection;

/* Order within an inproc peer of a receiver. */
typedef struct inproc_order {
    uint32_t receiver;
    uint32_t peer;
    uint32_t sender;
    uint32_t newest;
} inproc_order;

struct ledger {
    bool exact;
    uint64_t clock;    /* a number for each thing that happens */
    bool inproc_loses; /* an inproc peer may have thrown away what it had not read */
    account *accounts;
    size_t accounts_count;
    size_t accounts_capacity;
    connection **connections;
    size_t connections_count;
    size_t connections_capacity;
    inproc_order *orders;
    size_t orders_count;
    size_t orders_capacity;
};

static void *
grown(void *array, size_t *capacity, size_t wanted, size_t size)
{
    size_t bigger = *capacity == 0 ? 16 : *capacity;

    if (wanted <= *capacity)
        return array;
    while (bigger < wanted)
        bigger *= 2;
    array = realloc(array, bigger * size);
    if (array == NULL)
        wrong("no memory for the books");
    memset((uint8_t *)array + *capacity * size, 0, (bigger - *capacity) * size);
    *capacity = bigger;
    return array;
}

ledger *
ledger_new(bool exact)
{
    ledger *books = calloc(1, sizeof *books);

    if (books == NULL)
        wrong("no memory for the books");
    books->exact = exact;
    return books;
}

void
ledger_free(ledger *books)
{
    for (size_t i = 0; i < books->accounts_count; i++) {
        for (size_t k = 0; k < books->accounts[i].count; k++) {
            copy *next;

            for (copy *c = books->accounts[i].entries[k].copies; c != NULL; c = next) {
                next = c->next;
                free(c);
            }
        }
        free(books->accounts[i].entries);
    }
    for (size_t i = 0; i < books->connections_count; i++) {
        if (books->connections[i] == NULL)
            continue;
        free(books->connections[i]->halves[0].sent);
        free(books->connections[i]->halves[1].sent);
        free(books->connections[i]);
    }
    free(books->accounts);
    free(books->connections);
    free(books->orders);
    free(books);
}

static account *
account_of(const ledger *books, uint32_t number)
{
    if (number == 0 || number > books->accounts_count)
        wrong("there is no socket %u", number);
    return &books->accounts[number - 1];
}

static const char *
name_of(const ledger *books, uint32_t number)
{
    return sennit_sock_type_name(account_of(books, number)->kind->type);
}

uint32_t
ledger_open(ledger *books, const kind *k)
{
    books->accounts = grown(books->accounts, &books->accounts_capacity,
                            books->accounts_count + 1, sizeof *books->accounts);
    books->accounts[books->accounts_count++] = (account){ .kind = k };
    return (uint32_t)books->accounts_count;
}

void
ledger_name(ledger *books, uint32_t number, const sennit_sock *sock)
{
    account_of(books, number)->sock = sock;
}

void
ledger_close(ledger *books, uint32_t number, uint64_t left, bool drained)
{
    account *a = account_of(books, number);

    a->closed = true;
    a->drained = drained;
    a->left = left;
    a->written_at_close = a->written;
    a->taken_at_close = a->taken;
    books->inproc_loses |= a->inproc && !drained;
}

void
ledger_went_inproc(ledger *books, uint32_t number)
{
    account *a = account_of(books, number);

    a->inproc = true;
    books->inproc_loses |= a->kind->may_discard;
}

void
ledger_subscribes(ledger *books, uint32_t number, unsigned bits)
{
    account_of(books, number)->subscriptions = bits;
}

void
ledger_blind(ledger *books, uint32_t number)
{
    account_of(books, number)->blind = true;
}

uint32_t
ledger_account(const ledger *books, const sennit_sock *sock)
{
    for (size_t i = books->accounts_count; i > 0; i--)
        if (books->accounts[i - 1].sock == sock)
            return (uint32_t)i;
    wrong("a connection of a socket that was never opened");
}

const kind *
ledger_kind(const ledger *books, uint32_t number)
{
    return account_of(books, number)->kind;
}

static entry *
entry_of(const ledger *books, uint32_t sender, uint32_t number)
{
    account *a;

    if (sender == 0 || sender > books->accounts_count)
        wrong("a message of nobody (%u) appeared", sender);
    a = account_of(books, sender);
    if (number == 0 || number > a->count)
        wrong("message %u of socket %u appeared, which was never sent", number, sender);
    return &a->entries[number - 1];
}

static half *
half_of(const ledger *books, uint32_t number, uint32_t peer)
{
    for (size_t i = 0; i < books->connections_count; i++)
        for (unsigned side = 0; books->connections[i] != NULL && side < 2; side++) {
            half *h = &books->connections[i]->halves[side];

            if (h->account == number && h->peer == peer)
                return h;
        }
    return NULL; /* nothing passed it yet */
}

void
ledger_peer_gone(ledger *books, uint32_t number, uint32_t peer, bool refused)
{
    half *h = half_of(books, number, peer);

    if (h == NULL)
        return;
    h->gone = true;
    h->refused = refused;
}

void
ledger_peer_leaves(ledger *books, uint32_t number, uint32_t peer)
{
    half *h = half_of(books, number, peer);

    if (h != NULL)
        h->leaving = true;
}

/* ---- sending ----------------------------------------------------------- */

/* How many peers have subscribed to it, as the publisher has been told. */
static uint32_t
subscribers(const ledger *books, uint32_t publisher, const char topic[4])
{
    unsigned bits = prefixes_of(topic);
    uint32_t count = 0;

    for (size_t i = 0; i < books->connections_count; i++)
        for (unsigned side = 0; books->connections[i] != NULL && side < 2; side++) {
            const half *h = &books->connections[i]->halves[side];

            count += h->account == publisher && !h->gone && !h->leaving &&
                     (h->subscriptions & bits);
        }
    return count;
}

static bool
knows_subscribers(const ledger *books, const account *a)
{
    return books->exact && a->kind->fans && !a->blind && !a->inproc;
}

uint32_t
ledger_compose(ledger *books, uint32_t number, uint32_t addressee, const char topic[4])
{
    account *a = account_of(books, number);
    entry *e;

    a->entries = grown(a->entries, &a->capacity, a->count + 1, sizeof *a->entries);
    e = &a->entries[a->count++];
    *e = (entry){ .sender = number, .number = (uint32_t)a->count };
    e->addressee = addressee;
    e->at = ++books->clock;
    memcpy(e->topic, topic, sizeof e->topic);
    if (knows_subscribers(books, a))
        e->owed = subscribers(books, number, topic);
    return e->number;
}

void
ledger_accepted(ledger *books, uint32_t number, bool accepted)
{
    account *a = account_of(books, number);
    entry *e = &a->entries[a->count - 1];

    e->accepted = accepted;
    e->refused = !accepted;
    if (!accepted) {
        if (e->copies != NULL)
            wrong("message %u of socket %u (%s) was written, but send had refused it",
                  e->number, number, name_of(books, number));
        return;
    }
    a->accepted++;
    a->owed += e->owed;
    a->unmatched += e->owed == 0;
}

/* ---- the wires --------------------------------------------------------- */

static copy *
add_copy(entry *e, uint32_t receiver, uint32_t connection_number)
{
    copy *c = calloc(1, sizeof *c);

    if (c == NULL)
        wrong("no memory for the books");
    *c = (copy){ .next = e->copies, .receiver = receiver };
    c->connection = connection_number;
    c->sender = e->sender;
    c->number = e->number;
    e->copies = c;
    return c;
}

typedef struct passing {
    ledger *books;
    uint32_t connection;
    half *near;
    half *far;
    unsigned side; /* of near */
    bool outward;
} passing;

static void
written(const passing *p, const body_head *head)
{
    ledger *books = p->books;
    account *sender = account_of(books, p->near->account);
    half *near = p->near;
    entry *e;
    copy *c;

    if (head->sender != near->account)
        wrong("message %u of socket %u was written by socket %u (%s)", head->number,
              head->sender, near->account, name_of(books, near->account));
    e = entry_of(books, head->sender, head->number);
    if (e->refused)
        wrong("message %u of socket %u (%s) was written, but send had refused it",
              e->number, e->sender, name_of(books, e->sender));
    for (c = e->copies; c != NULL; c = c->next)
        if (!sender->kind->fans || c->connection == p->connection)
            wrong("message %u of socket %u (%s) was written twice, on connections %u "
                  "and %u",
                  e->number, e->sender, name_of(books, e->sender), c->connection,
                  p->connection);
    if (e->addressee != 0 && p->far->account != 0 && p->far->account != e->addressee)
        wrong("message %u of socket %u is for socket %u and was written to socket %u",
              e->number, e->sender, e->addressee, p->far->account);
    c = add_copy(e, p->far->account, p->connection);
    c->side = p->side;
    near->sent =
        grown(near->sent, &near->sent_capacity, near->sent_count + 1, sizeof *near->sent);
    near->sent[near->sent_count++] = c;
    c->place = (uint32_t)near->sent_count;
    if (near->sent_count > 1) {
        const copy *before = near->sent[near->sent_count - 2];

        if (before->number >= e->number)
            wrong("message %u of socket %u (%s) was written after number %u on the same "
                  "connection",
                  e->number, e->sender, name_of(books, e->sender), before->number);
    }
    sender->written++;
}

static void
taken(const passing *p, const body_head *head)
{
    half *far = p->far;
    copy *c = NULL;

    if (far->taken_count < far->sent_count)
        c = far->sent[far->taken_count];
    if (c == NULL || c->sender != head->sender || c->number != head->number)
        wrong("connection %u brought message %u of socket %u, but what was written on it "
              "next is %u",
              p->connection, head->number, head->sender, c ? c->number : 0);
    far->taken_count++;
    c->taken = true;
    c->taken_at = ++p->books->clock;
    c->receiver = p->near->account;
    c->operation = p->near->operations;
    account_of(p->books, p->near->account)->taken++;
}

/* A command; only those that subscribe count. */
static void
commanded(const passing *p, const wire_frame *frame)
{
    static const struct {
        const char *name;
        bool on;
    } commands[] = { { "\x09SUBSCRIBE", true },
                     { "\x06"
                       "CANCEL",
                       false } };

    for (size_t i = 0; i < 2; i++) {
        size_t length = strlen(commands[i].name);
        const char *topic = (const char *)frame->kept + length;

        if (frame->size < length || memcmp(frame->kept, commands[i].name, length) != 0)
            continue;
        for (unsigned k = 0; k < PREFIXES; k++) {
            size_t size = strlen(prefixes[k]);

            if (frame->size - length != size || memcmp(topic, prefixes[k], size) != 0)
                continue;
            if (commands[i].on)
                p->near->subscriptions |= 1u << k;
            else
                p->near->subscriptions &= ~(1u << k);
        }
    }
}

static void
frame_passed(void *arg, const wire_frame *frame)
{
    passing *p = arg;
    bool *found = p->outward ? &p->near->out_found : &p->near->in_found;
    body_head *head = p->outward ? &p->near->out_head : &p->near->in_head;

    if (frame->command) {
        if (!p->outward)
            commanded(p, frame);
        return;
    }
    if (!*found && frame->kept_size >= sizeof *head) {
        memcpy(head, frame->kept, sizeof *head);
        *found = head->magic == BODY_MAGIC;
    }
    if (frame->more)
        return;
    if (!*found)
        wrong("a message without a number was written on connection %u", p->connection);
    *found = false;
    if (p->outward)
        written(p, head);
    else
        taken(p, head);
}

static connection *
connection_of(ledger *books, uint32_t number)
{
    connection *made;

    books->connections = grown(books->connections, &books->connections_capacity, number,
                               sizeof *books->connections);
    if (books->connections_count < number)
        books->connections_count = number;
    if (books->connections[number - 1] != NULL)
        return books->connections[number - 1];
    made = calloc(1, sizeof *made);
    if (made == NULL)
        wrong("no memory for the books");
    for (unsigned side = 0; side < 2; side++) {
        wire_reader_init(&made->halves[side].out);
        wire_reader_init(&made->halves[side].in);
    }
    books->connections[number - 1] = made;
    return made;
}

void
ledger_passed(ledger *books, const ledger_octets *octets)
{
    connection *c = connection_of(books, octets->connection);
    half *near = &c->halves[octets->side];
    passing p = { books,        octets->connection, near, &c->halves[1 - octets->side],
                  octets->side, octets->outward };

    near->account = octets->account;
    near->peer = octets->peer;
    if (!octets->outward)
        near->operations += octets->begins;
    wire_reader_feed(octets->outward ? &near->out : &near->in, octets->data, octets->size,
                     frame_passed, &p);
}

void
ledger_connection_over(ledger *books, uint32_t number)
{
    connection *c = connection_of(books, number);

    for (unsigned side = 0; side < 2; side++) {
        c->halves[side].gone = true;
        if (c->halves[side].account != 0)
            account_of(books, c->halves[side].account)->cut = true;
    }
}

/* ---- receiving --------------------------------------------------------- */

/* What one peer receives of one sender comes in the order it was sent. */
static void
check_order(ledger *books, const entry *e, uint32_t receiver, uint32_t peer)
{
    inproc_order *order = NULL;

    for (size_t i = 0; i < books->orders_count && order == NULL; i++)
        if (books->orders[i].receiver == receiver && books->orders[i].peer == peer &&
            books->orders[i].sender == e->sender)
            order = &books->orders[i];
    if (order == NULL) {
        books->orders = grown(books->orders, &books->orders_capacity,
                              books->orders_count + 1, sizeof *books->orders);
        order = &books->orders[books->orders_count++];
        *order = (inproc_order){ receiver, peer, e->sender, 0 };
    }
    if (order->newest >= e->number)
        wrong("message %u of socket %u (%s) was received by socket %u after number %u",
              e->number, e->sender, name_of(books, e->sender), receiver, order->newest);
    order->newest = e->number;
}

static void
received_inproc(ledger *books, entry *e, uint32_t receiver, uint32_t peer)
{
    for (copy *c = e->copies; c != NULL; c = c->next)
        if (!account_of(books, e->sender)->kind->fans)
            wrong("message %u of socket %u (%s) was received by socket %u (%s), but it "
                  "went to socket %u over connection %u",
                  e->number, e->sender, name_of(books, e->sender), receiver,
                  name_of(books, receiver), c->receiver, c->connection);
    add_copy(e, receiver, 0)->received = true;
    account_of(books, e->sender)->inproc_received++;
    account_of(books, receiver)->received_inproc++;
    check_order(books, e, receiver, peer);
}

/* Which of its copies a receiver got through `peer`. */
static copy *
find_copy(const ledger *books, const entry *e, uint32_t receiver, uint32_t peer,
          half **near)
{
    bool both_inproc =
        account_of(books, receiver)->inproc && account_of(books, e->sender)->inproc;
    copy *any = NULL;

    for (copy *c = e->copies; c != NULL; c = c->next) {
        if (c->connection == 0 || c->receiver != receiver)
            continue;
        *near = &books->connections[c->connection - 1]->halves[1 - c->side];
        if (books->exact ? (*near)->peer == peer : c->taken && !c->received)
            return c;
        any = c;
    }
    return books->exact || both_inproc ? NULL : any;
}

void
ledger_received(ledger *books, uint32_t number, uint32_t peer, const body_head *head)
{
    entry *e = entry_of(books, head->sender, head->number);
    account *a = account_of(books, number);
    copy *found;
    half *near = NULL;

    if (e->refused)
        wrong("message %u of socket %u (%s) was received, but send had refused it",
              e->number, e->sender, name_of(books, e->sender));
    if (e->addressee != 0 && e->addressee != number)
        wrong("message %u of socket %u is for socket %u and socket %u received it",
              e->number, e->sender, e->addressee, number);
    if (a->kind->filters && !(a->subscriptions & prefixes_of(e->topic)))
        wrong("socket %u received message %u of socket %u, topic %.4s, to which it does "
              "not subscribe",
              number, e->number, e->sender, e->topic);
    a->received++;
    found = find_copy(books, e, number, peer, &near);
    if (found == NULL) {
        if (!a->inproc || !account_of(books, e->sender)->inproc)
            wrong("socket %u (%s) received message %u of socket %u (%s) through peer %u, "
                  "to which it was never written",
                  number, name_of(books, number), e->number, e->sender,
                  name_of(books, e->sender), peer);
        received_inproc(books, e, number, peer);
        return;
    }
    if (found->received)
        wrong("socket %u (%s) received message %u of socket %u (%s) twice", number,
              name_of(books, number), e->number, e->sender, name_of(books, e->sender));
    if (!found->taken)
        wrong("socket %u (%s) received message %u of socket %u (%s) before it arrived",
              number, name_of(books, number), e->number, e->sender,
              name_of(books, e->sender));
    if (books->exact && a->kind->type == SENNIT_REQ &&
        found->taken_at < a->entries[a->count - 1].at)
        wrong("socket %u (REQ) received message %u of socket %u, which was there before "
              "it asked",
              number, e->number, e->sender);
    found->received = true;
    if (!books->exact)
        check_order(books, e, number, peer);
    if (!books->exact && account_of(books, e->sender)->kind->fans)
        return; /* two connections of a pair may be taken for each other */
    if (found->place <= near->received_place)
        wrong("socket %u (%s) received message %u of socket %u out of order", number,
              name_of(books, number), e->number, e->sender);
    if (found->place > near->received_place + 1 && !a->kind->may_discard)
        wrong("socket %u (%s) received message %u of socket %u, but not the one before "
              "it on connection %u",
              number, name_of(books, number), e->number, e->sender, found->connection);
    near->received_place = found->place;
}

/* ---- balancing --------------------------------------------------------- */

uint64_t
ledger_under_way(const ledger *books)
{
    uint64_t count = 0;

    for (size_t i = 0; i < books->connections_count; i++)
        for (unsigned side = 0; books->connections[i] != NULL && side < 2; side++) {
            const half *from = &books->connections[i]->halves[side];
            const half *to = &books->connections[i]->halves[1 - side];
            const account *a;

            if (from->gone || to->gone || to->account == 0 || from->account == 0)
                continue;
            a = account_of(books, to->account);
            if (a->closed || account_of(books, from->account)->closed ||
                a->kind->type == SENNIT_REQ) /* reads only what it waits for */
                continue;
            count += from->sent_count - from->taken_count;
            if (!a->kind->may_discard &&
                (books->exact || !account_of(books, from->account)->kind->fans))
                count += from->taken_count - to->received_place;
        }
    return count;
}

unsigned
ledger_times_received(const ledger *books, uint32_t sender, uint32_t number,
                      uint32_t receiver)
{
    unsigned times = 0;

    for (const copy *c = entry_of(books, sender, number)->copies; c != NULL; c = c->next)
        times += c->received && c->receiver == receiver;
    return times;
}

/* Every counter of what was accepted and will not leave. */
static uint64_t
dropped(const sennit_sock_stats *stats)
{
    return stats->dropped_no_peer_msgs + stats->dropped_hwm_msgs +
           stats->dropped_disconnect_msgs + stats->dropped_memory_msgs +
           stats->dropped_slow_msgs + stats->dropped_conflated_msgs +
           stats->dropped_expired_msgs;
}

void
ledger_check_law(const ledger *books, uint32_t number, const sennit_sock_stats *stats)
{
    const account *a = account_of(books, number);
    uint64_t known = stats->delivered_msgs + stats->queued_msgs + dropped(stats);

    if (stats->sent_msgs != a->accepted)
        wrong("socket %u (%s) counts %llu messages as sent, send took %llu", number,
              name_of(books, number), (unsigned long long)stats->sent_msgs,
              (unsigned long long)a->accepted);
    if (!a->kind->noticed && stats->received_msgs != a->received)
        wrong("socket %u (%s) counts %llu messages as received, recv gave %llu", number,
              name_of(books, number), (unsigned long long)stats->received_msgs,
              (unsigned long long)a->received);
    if (!a->kind->sends)
        return;
    if (a->kind->fans && !knows_subscribers(books, a)) {
        if (known < a->accepted)
            wrong("socket %u (%s) accepted %llu messages and accounts for %llu copies",
                  number, name_of(books, number), (unsigned long long)a->accepted,
                  (unsigned long long)known);
        return;
    }
    if (a->kind->fans && stats->dropped_no_peer_msgs != a->unmatched)
        wrong("socket %u (%s) says that %llu messages had no subscriber, there were %llu",
              number, name_of(books, number),
              (unsigned long long)stats->dropped_no_peer_msgs,
              (unsigned long long)a->unmatched);
    if (known != (a->kind->fans ? a->owed + a->unmatched : a->accepted))
        wrong("socket %u (%s): %llu delivered + %llu queued + %llu without peer + %llu "
              "high-water mark + %llu disconnected + %llu other drops is not %llu "
              "accepted",
              number, name_of(books, number), (unsigned long long)stats->delivered_msgs,
              (unsigned long long)stats->queued_msgs,
              (unsigned long long)stats->dropped_no_peer_msgs,
              (unsigned long long)stats->dropped_hwm_msgs,
              (unsigned long long)stats->dropped_disconnect_msgs,
              (unsigned long long)(dropped(stats) - stats->dropped_no_peer_msgs -
                                   stats->dropped_hwm_msgs -
                                   stats->dropped_disconnect_msgs),
              (unsigned long long)(a->kind->fans ? a->owed + a->unmatched : a->accepted));
}

/* What was written for it: delivered, each exactly once. */
static void
balance_sender(const ledger *books, uint32_t number, const sennit_sock_stats *stats)
{
    const account *a = account_of(books, number);
    uint64_t elsewhere;

    if (!books->exact) {
        if (stats->delivered_msgs < a->written + a->inproc_received)
            wrong("socket %u (%s) counts %llu messages as delivered, %llu passed by",
                  number, name_of(books, number),
                  (unsigned long long)stats->delivered_msgs,
                  (unsigned long long)(a->written + a->inproc_received));
        if (!a->cut && !a->inproc && stats->delivered_msgs > a->written)
            wrong("socket %u (%s) counts %llu messages as delivered, and %llu passed by "
                  "on connections that hold",
                  number, name_of(books, number),
                  (unsigned long long)stats->delivered_msgs,
                  (unsigned long long)a->written);
        return;
    }
    elsewhere = stats->delivered_msgs - a->written;
    if (stats->delivered_msgs < a->written || (!a->inproc && elsewhere > 0))
        wrong("socket %u (%s) counts %llu messages as delivered, %llu were written",
              number, name_of(books, number), (unsigned long long)stats->delivered_msgs,
              (unsigned long long)a->written);
    if (elsewhere < a->inproc_received ||
        (!books->inproc_loses && !a->kind->fans && elsewhere > a->inproc_received))
        wrong("socket %u (%s) counts %llu messages as delivered to inproc peers, %llu "
              "were received",
              number, name_of(books, number), (unsigned long long)elsewhere,
              (unsigned long long)a->inproc_received);
}

typedef struct missing {
    const copy *first;
    uint64_t all;
    uint64_t at_end; /* in the last operation of a connection that is gone */
} missing;

static void
find_missing(const ledger *books, uint32_t number, missing *m)
{
    for (size_t i = 0; i < books->connections_count; i++)
        for (unsigned side = 0; books->connections[i] != NULL && side < 2; side++) {
            const half *from = &books->connections[i]->halves[side];
            const half *to = &books->connections[i]->halves[1 - side];

            for (size_t k = 0; to->account == number && k < from->taken_count; k++) {
                const copy *c = from->sent[k];

                if (c->received)
                    continue;
                m->all++;
                if (to->gone && (to->refused || c->operation == to->operations))
                    m->at_end++;
                else if (m->first == NULL)
                    m->first = c;
            }
        }
}

/* What it took from its connections was received, or thrown away and counted; but the
 * last it took from a connection that is gone may be lost with it. */
static void
balance_receiver(const ledger *books, uint32_t number, const sennit_sock_stats *stats)
{
    const account *a = account_of(books, number);
    uint64_t discarded = stats->dropped_filtered_msgs + stats->dropped_malformed_msgs;
    missing m = { NULL, 0, 0 };

    if (!a->kind->receives || !books->exact)
        return;
    find_missing(books, number, &m);
    if (!a->kind->may_discard && discarded > 0)
        wrong("socket %u (%s) threw %llu messages away", number, name_of(books, number),
              (unsigned long long)discarded);
    /* A REQ reads only what it waits for; inproc is thrown away without a trace here. */
    if (m.all > discarded + m.at_end && a->kind->type != SENNIT_REQ)
        wrong("socket %u (%s) took %llu messages it did not hand out, and counts %llu as "
              "thrown away; one is message %u of socket %u, on connection %u",
              number, name_of(books, number), (unsigned long long)m.all,
              (unsigned long long)discarded, m.first->number, m.first->sender,
              m.first->connection);
    if (m.all < discarded && !a->inproc)
        wrong("socket %u (%s) counts %llu messages as thrown away, it took %llu it did "
              "not hand out",
              number, name_of(books, number), (unsigned long long)discarded,
              (unsigned long long)m.all);
}

void
ledger_balance(const ledger *books, uint32_t number, const sennit_sock_stats *stats)
{
    ledger_check_law(books, number, stats);
    balance_sender(books, number, stats);
    balance_receiver(books, number, stats);
}

void
ledger_balance_closed(const ledger *books)
{
    for (uint32_t i = 1; books->exact && i <= books->accounts_count; i++) {
        const account *a = account_of(books, i);

        if (a->closed && a->written > a->written_at_close + a->left)
            wrong("socket %u (%s) wrote %llu messages after it was closed with %llu "
                  "queued",
                  i, name_of(books, i),
                  (unsigned long long)(a->written - a->written_at_close),
                  (unsigned long long)a->left);
    }
}

ledger_totals
ledger_sum(const ledger *books)
{
    ledger_totals sum = { 0, 0, 0 };

    for (size_t i = 0; i < books->accounts_count; i++) {
        const account *a = &books->accounts[i];

        sum.messages += a->accepted;
        sum.received += a->received;
        if (knows_subscribers(books, a))
            sum.exact_publications += a->accepted;
    }
    return sum;
}
