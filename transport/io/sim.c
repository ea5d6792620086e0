/* SPDX-License-Identifier: MIT */
/* What would be the kernel's lives in the world: ends of connections with their
 * octets under way, and listening names. What would be the process's lives in the
 * backend: files, which cost the loop's memory as they do in the other backends.
 *
 * An operation that cannot be done when it is submitted is parked in its file; a
 * reap tries the parked ones again. Nothing is moved but by submit, cancel, close
 * and reap, so a run depends on the seed and the calls alone. */
#include "io/sim.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/list.h"
#include "base/random.h"
#include "io/op_queue.h"

/* Octets under way; they arrive together. */
typedef struct sim_packet {
    struct sim_packet *next;
    sennit_time at;
    size_t begin;
    size_t end;
    uint8_t data[];
} sim_packet;

/* One end of a connection, as the kernel sees it. */
typedef struct sim_end {
    sni_link link;        /* in the world, or in a listener's backlog */
    struct sim_end *peer; /* NULL: the other end is closed */
    uint32_t connection;  /* its number, the same at both ends */
    unsigned side;        /* 0: connected, 1: was accepted */
    sim_packet *first;    /* towards this end */
    sim_packet **last;
    size_t bytes;         /* in these */
    sennit_time last_at;  /* arrival of the newest; later ones are not earlier */
    sennit_time eof_at;   /* end of stream behind all octets; SENNIT_NEVER: none */
    sennit_time reset_at; /* reset, octets or not */
} sim_end;

typedef struct sim_listener {
    sni_link link;
    sni_link backlog; /* ends of connections nobody has accepted */
    unsigned waiting;
    unsigned backlog_max;
    char name[SNI_ENDPOINT_TEXT_MAX];
    sni_address address;
} sim_listener;

typedef struct sim_park {
    sni_op *op;
    sennit_time not_before; /* a late completion, a connect under way */
} sim_park;

typedef struct sim_io {
    sni_io io;
    sni_sim *sim;
    sni_link link; /* in the world */
    sni_link files;
    unsigned files_count;
    sni_op_queue done; /* to be given back */
    sni_op *lookups;   /* RESOLVE operations under way */
    atomic_bool woken;
    bool killed;
} sim_io;

struct sni_file {
    sim_io *owner;
    sni_link link;
    sni_address address;
    sim_listener *listener; /* of a listening file */
    sim_end *end;           /* of a connected one */
    sim_park in;            /* ACCEPT or RECV */
    sim_park out;           /* CONNECT or SEND */
    sim_park watch;         /* HANGUP */
};

struct sni_sim {
    sni_sim_opts opts;
    uint64_t random_state;
    sennit_time now;
    uint64_t activity;
    uint64_t hits[SNI_SIM_FAULTS_COUNT];
    sni_link ios;
    sni_link listeners;
    sni_link ends;
    uint32_t connections_made;
    sennit_time held_until; /* nothing arrives before */
    sni_sim_tap tap;
    sennit_resolver names;
    uint16_t next_port;
    unsigned next_path;
    sni_sim_others others;
    bool others_run; /* they are running now: no loop lets them run inside that */
};

/* ---- the world --------------------------------------------------------- */

static noreturn void
give_up(const char *why)
{
    fprintf(stderr, "sennit simulator: %s\n", why);
    abort();
}

static void *
world_acquire(size_t size)
{
    void *memory = sni_acquire_zero(&sni_alloc_default, size);

    if (memory == NULL)
        give_up("out of memory");
    return memory;
}

static void
world_release(void *memory)
{
    sni_release(&sni_alloc_default, memory);
}

static uint64_t
draw(sni_sim *sim)
{
    return sni_random_next(&sim->random_state);
}

static bool
strikes(sni_sim *sim, sni_sim_fault fault)
{
    bool hit = sim->opts.faults_ppm[fault] > 0 &&
               draw(sim) % 1000000u < sim->opts.faults_ppm[fault];

    sim->hits[fault] += hit;
    return hit;
}

static sennit_time
latency(sni_sim *sim)
{
    sennit_time spread = sim->opts.latency_max - sim->opts.latency_min;

    return sim->opts.latency_min + (spread == 0 ? 0 : draw(sim) % (spread + 1));
}

sni_sim *
sni_sim_new(const sni_sim_opts *opts)
{
    sni_sim *sim = world_acquire(sizeof *sim);

    SNI_ASSERT(opts->latency_min <= opts->latency_max);
    SNI_ASSERT(opts->buffer_bytes > 0);
    sim->opts = *opts;
    sim->random_state = opts->seed;
    sim->now = UINT64_C(1000000000);
    sim->next_port = 49152;
    sni_link_init(&sim->ios);
    sni_link_init(&sim->listeners);
    sni_link_init(&sim->ends);
    return sim;
}

void
sni_sim_free(sni_sim *sim)
{
    if (sim == NULL)
        return;
    if (!sni_list_empty(&sim->ios))
        give_up("a world was freed before its backends");
    SNI_ASSERT(sni_list_empty(&sim->listeners));
    SNI_ASSERT(sni_list_empty(&sim->ends));
    world_release(sim);
}

void
sni_sim_set_others(sni_sim *sim, const sni_sim_others *others)
{
    sim->others = *others;
}

void
sni_sim_set_tap(sni_sim *sim, const sni_sim_tap *tap)
{
    sim->tap = *tap;
}

void
sni_sim_set_names(sni_sim *sim, const sennit_resolver *names)
{
    sim->names = *names;
}

sennit_time
sni_sim_now(const sni_sim *sim)
{
    return sim->now;
}

void
sni_sim_advance(sni_sim *sim, sennit_time by)
{
    sim->now += by;
}

uint64_t
sni_sim_activity(const sni_sim *sim)
{
    return sim->activity;
}

void
sni_sim_set_fault(sni_sim *sim, sni_sim_fault fault, uint32_t ppm)
{
    sim->opts.faults_ppm[fault] = ppm;
}

uint64_t
sni_sim_fault_hits(const sni_sim *sim, sni_sim_fault fault)
{
    return sim->hits[fault];
}

/* ---- connections ------------------------------------------------------- */

static sim_end *
end_new(sni_sim *sim)
{
    sim_end *end = world_acquire(sizeof *end);

    end->last = &end->first;
    end->eof_at = SENNIT_NEVER;
    end->reset_at = SENNIT_NEVER;
    sni_link_init(&end->link);
    sni_list_push(&sim->ends, &end->link);
    return end;
}

static void
drop_packets(sim_end *end)
{
    while (end->first != NULL) {
        sim_packet *packet = end->first;

        end->first = packet->next;
        world_release(packet);
    }
    end->last = &end->first;
    end->bytes = 0;
}

/* Arrival at `end` of something sent now; never before what was sent earlier. */
static sennit_time
arrival(sni_sim *sim, sim_end *end)
{
    sennit_time at = sim->now + latency(sim);

    if (at < sim->held_until)
        at = sim->held_until;
    if (at < end->last_at)
        at = end->last_at;
    end->last_at = at;
    return at;
}

/* Closing with unread octets resets the peer, as TCP does; else it sees the end. */
static void
end_part(sni_sim *sim, sim_end *end)
{
    sim_end *peer = end->peer;

    if (peer != NULL) {
        if (end->first != NULL)
            peer->reset_at = sim->now + latency(sim);
        else
            peer->eof_at = arrival(sim, peer);
        peer->peer = NULL;
        end->peer = NULL;
    }
    drop_packets(end);
}

static void
end_free(sim_end *end)
{
    sni_link_remove(&end->link);
    world_release(end);
}

static void
end_close(sni_sim *sim, sim_end *end)
{
    end_part(sim, end);
    end_free(end);
}

static void
end_reset(sim_end *end, sennit_time now)
{
    if (end->reset_at > now)
        end->reset_at = now;
    drop_packets(end);
}

void
sni_sim_reset_all(sni_sim *sim)
{
    for (sni_link *link = sim->ends.next; link != &sim->ends; link = link->next)
        end_reset(SNI_OWNER_OF(link, sim_end, link), sim->now);
    sim->activity++;
}

void
sni_sim_reset_one(sni_sim *sim, uint32_t connection)
{
    for (sni_link *link = sim->ends.next; link != &sim->ends; link = link->next) {
        sim_end *end = SNI_OWNER_OF(link, sim_end, link);

        if (end->connection == connection)
            end_reset(end, sim->now);
    }
    sim->activity++;
}

uint32_t
sni_sim_connections_made(const sni_sim *sim)
{
    return sim->connections_made;
}

void
sni_sim_hold(sni_sim *sim, sennit_time until)
{
    sim->held_until = until;
    for (sni_link *link = sim->ends.next; link != &sim->ends; link = link->next) {
        sim_end *end = SNI_OWNER_OF(link, sim_end, link);

        for (sim_packet *packet = end->first; packet != NULL; packet = packet->next)
            if (packet->at > sim->now && packet->at < until)
                packet->at = until;
        if (end->eof_at > sim->now && end->eof_at < until)
            end->eof_at = until;
        if (end->reset_at > sim->now && end->reset_at < until)
            end->reset_at = until;
    }
}

unsigned
sni_sim_connections(const sni_sim *sim)
{
    unsigned count = 0;

    for (sni_link *link = sim->ends.next; link != &sim->ends; link = link->next) {
        const sim_end *end = SNI_OWNER_OF(link, sim_end, link);

        count += end->peer != NULL && end->reset_at > sim->now;
    }
    return count / 2;
}

static sim_listener *
find_listener(const sni_sim *sim, const char *name)
{
    for (sni_link *link = sim->listeners.next; link != &sim->listeners;
         link = link->next) {
        sim_listener *listener = SNI_OWNER_OF(link, sim_listener, link);

        if (strcmp(listener->name, name) == 0)
            return listener;
    }
    return NULL;
}

/* Who answers at `address`: a listener of that name, or of all addresses. */
static sim_listener *
find_answering(const sni_sim *sim, const sni_address *address)
{
    char name[SNI_ENDPOINT_TEXT_MAX];
    sni_address any = { .kind = address->kind, .port = address->port };
    sim_listener *listener;

    sni_address_text(address, name);
    listener = find_listener(sim, name);
    if (listener != NULL || address->kind == SNI_ADDRESS_IPC)
        return listener;
    sni_address_text(&any, name);
    listener = find_listener(sim, name);
    if (listener != NULL || address->kind == SNI_ADDRESS_TCP6)
        return listener;
    any.kind = SNI_ADDRESS_TCP6;
    sni_address_text(&any, name);
    listener = find_listener(sim, name);
    return listener != NULL && listener->address.dual ? listener : NULL;
}

/* ---- files ------------------------------------------------------------- */

static sim_io *
sim_of(sni_io *io)
{
    return (sim_io *)io;
}

static sennit_err
file_new(sim_io *owner, const sni_address *address, sni_file **out)
{
    sni_file *file;

    if (owner->sim->opts.files_max > 0 &&
        owner->files_count >= owner->sim->opts.files_max)
        return SENNIT_EMFILE;
    file = sni_acquire_zero(owner->io.alloc, sizeof *file);
    if (file == NULL)
        return SENNIT_ENOMEM;
    file->owner = owner;
    file->address = *address;
    sni_link_init(&file->link);
    sni_list_push(&owner->files, &file->link);
    owner->files_count++;
    *out = file;
    return SENNIT_OK;
}

static void
file_free(sni_file *file)
{
    file->owner->files_count--;
    sni_link_remove(&file->link);
    sni_release(file->owner->io.alloc, file);
}

/* The port or path that the system would choose. */
static void
choose_name(sni_sim *sim, sni_address *address)
{
    if (address->wildcard) {
        int size =
            snprintf(address->path, sizeof address->path, "/sim/%u", ++sim->next_path);

        address->path_size = (uint8_t)size;
    } else if (address->kind != SNI_ADDRESS_IPC && address->port == 0) {
        address->port = sim->next_port++;
    }
}

static sennit_err
sim_listen(sni_io *io, const sni_address *address, const sennit_sock_opts *opts,
           sni_file **out, sni_address *bound)
{
    sni_sim *sim = sim_of(io)->sim;
    sni_address chosen = *address;
    char name[SNI_ENDPOINT_TEXT_MAX];
    sim_listener *listener;
    sennit_err err;

    choose_name(sim, &chosen);
    sni_address_text(&chosen, name);
    if (find_listener(sim, name) != NULL)
        return SENNIT_EADDRINUSE;
    err = file_new(sim_of(io), &chosen, out);
    if (err)
        return err;
    listener = world_acquire(sizeof *listener);
    listener->address = chosen;
    listener->backlog_max = (unsigned)opts->backlog < sim->opts.backlog_max
                                ? (unsigned)opts->backlog
                                : sim->opts.backlog_max;
    memcpy(listener->name, name, sizeof name);
    sni_link_init(&listener->backlog);
    sni_link_init(&listener->link);
    sni_list_push(&sim->listeners, &listener->link);
    (*out)->listener = listener;
    *bound = chosen;
    return SENNIT_OK;
}

/* No descriptor comes from outside. */
static sennit_err
sim_adopt(sni_io *io, int fd, sni_file **out, sni_address *bound)
{
    (void)fd;
    (void)out;
    (void)bound;
    io->why = "the simulator has no descriptors";
    return SENNIT_EINVAL;
}

/* There is no kernel that would have options. */
static sennit_err
sim_dial(sni_io *io, const sni_address *address, const sni_address *source,
         const sennit_sock_opts *opts, sni_file **out)
{
    (void)source;
    (void)opts;
    if (strikes(sim_of(io)->sim, SNI_SIM_DIAL_EMFILE))
        return SENNIT_EMFILE;
    return file_new(sim_of(io), address, out);
}

/* It answers no more. */
static void
listener_part(sni_sim *sim, sim_listener *listener)
{
    sni_link *link;

    while ((link = sni_list_first(&listener->backlog)) != NULL) {
        sim_end *end = SNI_OWNER_OF(link, sim_end, link);

        if (end->peer != NULL)
            end_reset(end->peer, sim->now);
        end_close(sim, end);
    }
    sni_link_remove(&listener->link);
}

void
sni_sim_kill(sni_io *io)
{
    sim_io *sio = sim_of(io);
    sni_sim *sim = sio->sim;

    sio->killed = true;
    for (sni_link *link = sio->files.next; link != &sio->files; link = link->next) {
        sni_file *file = SNI_OWNER_OF(link, sni_file, link);

        if (file->listener != NULL)
            listener_part(sim, file->listener);
        if (file->end != NULL) {
            end_part(sim, file->end);
            end_reset(file->end, sim->now);
        }
    }
    sim->activity++;
}

static void
sim_close(sni_io *io, sni_file *file)
{
    sni_sim *sim = sim_of(io)->sim;

    SNI_ASSERT(file->in.op == NULL);
    SNI_ASSERT(file->out.op == NULL);
    SNI_ASSERT(file->watch.op == NULL);
    if (file->listener != NULL) {
        listener_part(sim, file->listener);
        world_release(file->listener);
    }
    if (file->end != NULL)
        end_close(sim, file->end);
    file_free(file);
}

/* ---- operations -------------------------------------------------------- */

static bool
done(sni_op *op, sennit_err err)
{
    op->err = err;
    return true;
}

static bool
try_accept(sim_io *sio, sni_op *op)
{
    sim_listener *listener = op->file->listener;
    sni_link *link = sni_list_first(&listener->backlog);
    sennit_err err;
    sim_end *end;

    if (link == NULL)
        return false;
    if (strikes(sio->sim, SNI_SIM_ACCEPT_EMFILE))
        return done(op, SENNIT_EMFILE);
    err = file_new(sio, &listener->address, &op->accepted);
    if (err == SENNIT_EMFILE)
        return done(op, err);
    end = SNI_OWNER_OF(link, sim_end, link);
    sni_link_remove(link);
    sni_list_push(&sio->sim->ends, link);
    listener->waiting--;
    if (err) {
        end_close(sio->sim, end);
        return done(op, err);
    }
    op->accepted->address.wildcard = false;
    op->accepted->end = end;
    return done(op, SENNIT_OK);
}

static bool
try_connect(sim_io *sio, sni_op *op)
{
    sni_sim *sim = sio->sim;
    sim_listener *listener = find_answering(sim, &op->file->address);
    sim_end *ours;
    sim_end *theirs;

    if (sio->killed || listener == NULL || listener->waiting >= listener->backlog_max ||
        strikes(sim, SNI_SIM_REFUSE))
        return done(op, SENNIT_ECONNREFUSED);
    ours = end_new(sim);
    theirs = end_new(sim);
    ours->peer = theirs;
    theirs->peer = ours;
    ours->connection = theirs->connection = ++sim->connections_made;
    theirs->side = 1;
    sni_link_remove(&theirs->link);
    sni_list_push(&listener->backlog, &theirs->link);
    listener->waiting++;
    op->file->end = ours;
    return done(op, SENNIT_OK);
}

/* Moves what has arrived, at most `room`; returns how much. */
static size_t
take_packets(sni_sim *sim, sim_end *end, uint8_t *into, size_t room)
{
    size_t taken = 0;

    while (taken < room && end->first != NULL && end->first->at <= sim->now) {
        sim_packet *packet = end->first;
        size_t size = packet->end - packet->begin;

        if (size > room - taken)
            size = room - taken;
        memcpy(into + taken, packet->data + packet->begin, size);
        packet->begin += size;
        taken += size;
        if (packet->begin < packet->end)
            break;
        end->first = packet->next;
        if (end->first == NULL)
            end->last = &end->first;
        world_release(packet);
    }
    end->bytes -= taken;
    return taken;
}

static void
tell_tap(sni_sim *sim, const sim_end *end, const sni_op *op)
{
    if (sim->tap.passed != NULL)
        sim->tap.passed(sim->tap.arg, end->connection, end->side, op);
}

static bool
try_recv(sim_io *sio, sni_op *op)
{
    sni_sim *sim = sio->sim;
    sim_end *end = op->file->end;
    bool arrived = end->first != NULL && end->first->at <= sim->now;
    bool over = end->first == NULL && end->eof_at <= sim->now;
    size_t room;

    if (end->reset_at <= sim->now)
        return done(op, SENNIT_ECONNRESET);
    if (!arrived && !over)
        return false;
    if (strikes(sim, SNI_SIM_RESET)) {
        end_reset(end, sim->now);
        if (end->peer != NULL)
            end_reset(end->peer, sim->now);
        return done(op, SENNIT_ECONNRESET);
    }
    if (over)
        return done(op, SENNIT_OK);
    if (op->home == NULL) {
        op->home = sni_pool_take(sio->io.recv_blocks);
        if (op->home == NULL)
            return done(op, SENNIT_ENOMEM);
        op->into = op->home->data;
        op->room = op->home->capacity;
    }
    room = op->room;
    if (room > 1 && strikes(sim, SNI_SIM_SHORT_RECV))
        room = 1 + (size_t)(draw(sim) % (room < 64 ? room : 64));
    op->size = take_packets(sim, end, op->into, room);
    tell_tap(sim, end, op);
    return done(op, SENNIT_OK);
}

/* Puts the first `size` octets of the parts on their way. */
static void
send_packet(sni_sim *sim, sim_end *peer, const sni_op *op, size_t size)
{
    sim_packet *packet = world_acquire(sizeof *packet + size);
    size_t at = 0;

    for (size_t i = 0; i < op->parts_count && at < size; i++) {
        size_t part = op->parts[i].size < size - at ? op->parts[i].size : size - at;

        sni_bytes_put(packet->data + at, sni_bytes(op->parts[i].data, part));
        at += part;
    }
    packet->end = size;
    packet->at = arrival(sim, peer);
    *peer->last = packet;
    peer->last = &packet->next;
    peer->bytes += size;
}

static bool
try_send(sim_io *sio, sni_op *op)
{
    sni_sim *sim = sio->sim;
    sim_end *end = op->file->end;
    size_t size = 0;
    size_t room;

    if (end->reset_at <= sim->now)
        return done(op, SENNIT_ECONNRESET);
    for (size_t i = 0; i < op->parts_count; i++)
        size += op->parts[i].size;
    SNI_ASSERT(size > 0);
    if (end->peer == NULL) {
        /* The kernel takes it, the peer's answers with a reset. */
        end->reset_at = sim->now + 2 * latency(sim);
        op->size = size;
        tell_tap(sim, end, op);
        return done(op, SENNIT_OK);
    }
    room = sim->opts.buffer_bytes - end->peer->bytes;
    if (room == 0)
        return false;
    if (strikes(sim, SNI_SIM_RESET)) {
        end_reset(end, sim->now);
        end_reset(end->peer, sim->now);
        return done(op, SENNIT_ECONNRESET);
    }
    if (size > room)
        size = room;
    if (size > 1 && strikes(sim, SNI_SIM_SHORT_SEND))
        size = 1 + (size_t)(draw(sim) % (size < 64 ? size : 64));
    send_packet(sim, end->peer, op, size);
    op->size = size;
    tell_tap(sim, end, op);
    return done(op, SENNIT_OK);
}

static bool
try_hangup(const sni_sim *sim, sni_op *op)
{
    const sim_end *end = op->file->end;

    return (end->eof_at <= sim->now || end->reset_at <= sim->now) && done(op, SENNIT_OK);
}

static bool
try_op(sim_io *sio, sni_op *op)
{
    switch ((sni_op_kind)op->kind) {
    case SNI_OP_ACCEPT:
        return try_accept(sio, op);
    case SNI_OP_CONNECT:
        return try_connect(sio, op);
    case SNI_OP_RECV:
        return try_recv(sio, op);
    case SNI_OP_SEND:
        return try_send(sio, op);
    case SNI_OP_HANGUP:
        return try_hangup(sio->sim, op);
    case SNI_OP_RESOLVE:
        break;
    }
    return done(op, SENNIT_EINVAL);
}

static sim_park *
park_of(const sni_op *op)
{
    switch ((sni_op_kind)op->kind) {
    case SNI_OP_ACCEPT:
    case SNI_OP_RECV:
        return &op->file->in;
    case SNI_OP_CONNECT:
    case SNI_OP_SEND:
        return &op->file->out;
    case SNI_OP_HANGUP:
        return &op->file->watch;
    case SNI_OP_RESOLVE:
        break;
    }
    return NULL;
}

/* The world's names, asked when the answer arrives. */
static void
resolve(const sni_sim *sim, sni_op *op)
{
    sni_lookup *lookup = op->lookup;

    lookup->found_count = 0;
    op->err = SENNIT_ENODEV;
    if (sim->names.resolve != NULL)
        op->err = sim->names.resolve(sim->names.arg, lookup->host, lookup->ipv6,
                                     lookup->found, &lookup->found_count);
    if (op->err == SENNIT_OK && lookup->found_count == 0)
        op->err = SENNIT_ENODEV;
    if (op->err)
        op->why = "the host was not found";
}

static bool
submit_lookup(sim_io *sio, sni_op *op)
{
    op->lookup->at_ = sio->sim->now + latency(sio->sim);
    if (op->lookup->at_ < sio->sim->held_until)
        op->lookup->at_ = sio->sim->held_until;
    op->next_ = sio->lookups;
    sio->lookups = op;
    op->pending = true;
    return false;
}

/* False: it is not under way. */
static bool
take_lookup(sim_io *sio, sni_op *op)
{
    sni_op **at = &sio->lookups;

    while (*at != NULL && *at != op)
        at = &(*at)->next_;
    if (*at == NULL)
        return false;
    *at = op->next_;
    return true;
}

static bool
sim_submit(sni_io *io, sni_op *op)
{
    sim_io *sio = sim_of(io);
    sim_park *park = park_of(op);
    bool late =
        op->kind == SNI_OP_CONNECT || (park != NULL && strikes(sio->sim, SNI_SIM_LATE));

    SNI_ASSERT(!op->pending);
    op->err = SENNIT_OK;
    op->why = NULL;
    op->size = 0;
    op->accepted = NULL;
    sio->sim->activity++;
    if (park == NULL)
        return submit_lookup(sio, op);
    SNI_ASSERT(park->op == NULL);
    SNI_ASSERT(op->file->owner == sio);
    if (!late && try_op(sio, op))
        return true;
    op->pending = true;
    *park = (sim_park){ op, late ? sio->sim->now + latency(sio->sim) : 0 };
    if (op->kind == SNI_OP_CONNECT && park->not_before < sio->sim->held_until)
        park->not_before = sio->sim->held_until;
    return false;
}

static int
sim_submit_sends(sni_io *io, sni_op **sends, int count)
{
    int done = 0;

    for (int i = 0; i < count; i++) {
        sni_op *op = sends[i];

        if (!io->ops->submit(io, op))
            continue;
        op->pending = true;
        sends[i] = sends[done];
        sends[done++] = op;
    }
    return done;
}

static void
give_back(sim_io *sio, sni_op *op)
{
    sni_op_queue_push(&sio->done, op);
    sio->sim->activity++;
}

static void
sim_cancel(sni_io *io, sni_op *op)
{
    sim_park *park = park_of(op);

    if (!op->pending)
        return;
    if (park == NULL && take_lookup(sim_of(io), op)) {
        op->err = SENNIT_ECLOSED;
        give_back(sim_of(io), op);
        return;
    }
    if (park == NULL || park->op != op)
        return; /* on its way back already */
    park->op = NULL;
    if (!strikes(sim_of(io)->sim, SNI_SIM_DONE_ANYWAY) || !try_op(sim_of(io), op))
        op->err = SENNIT_ECLOSED;
    give_back(sim_of(io), op);
}

/* ---- waiting ----------------------------------------------------------- */

static void
retry(sim_io *sio, sim_park *park)
{
    sni_op *op = park->op;

    if (op == NULL || park->not_before > sio->sim->now || !try_op(sio, op))
        return;
    park->op = NULL;
    give_back(sio, op);
}

static void
answer_lookups(sim_io *sio)
{
    sni_op *op = sio->lookups;

    while (op != NULL) {
        sni_op *next = op->next_;

        if (op->lookup->at_ <= sio->sim->now) {
            (void)take_lookup(sio, op);
            resolve(sio->sim, op);
            give_back(sio, op);
        }
        op = next;
    }
}

static void
retry_all(sim_io *sio)
{
    for (sni_link *link = sio->files.next; link != &sio->files; link = link->next) {
        sni_file *file = SNI_OWNER_OF(link, sni_file, link);

        retry(sio, &file->in);
        retry(sio, &file->out);
        retry(sio, &file->watch);
    }
    answer_lookups(sio);
}

static void
earlier(sennit_time *next, sennit_time at, sennit_time now)
{
    /* What is due already is not ahead. */
    if (at > now && at < *next)
        *next = at;
}

/* When a parked operation may become possible, as far as time alone does it. */
static void
next_of_file(const sni_file *file, sennit_time now, sennit_time *next)
{
    const sim_end *end = file->end;

    if (file->in.op != NULL)
        earlier(next, file->in.not_before, now);
    if (file->out.op != NULL)
        earlier(next, file->out.not_before, now);
    if (file->watch.op != NULL)
        earlier(next, file->watch.not_before, now);
    if (end == NULL ||
        (file->in.op == NULL && file->out.op == NULL && file->watch.op == NULL))
        return;
    earlier(next, end->reset_at, now);
    if (file->in.op != NULL && end->first != NULL)
        earlier(next, end->first->at, now);
    if (file->watch.op != NULL || (file->in.op != NULL && end->first == NULL))
        earlier(next, end->eof_at, now);
}

sennit_time
sni_sim_next(const sni_sim *sim)
{
    sennit_time next = SENNIT_NEVER;

    for (sni_link *l = sim->ios.next; l != &sim->ios; l = l->next) {
        const sim_io *sio = SNI_OWNER_OF(l, sim_io, link);

        for (const sni_op *op = sio->lookups; op != NULL; op = op->next_)
            earlier(&next, op->lookup->at_, sim->now);
        for (sni_link *f = sio->files.next; f != &sio->files; f = f->next)
            next_of_file(SNI_OWNER_OF(f, sni_file, link), sim->now, &next);
    }
    return next;
}

/* Lets the others in the world go on; true when one of them moved. */
static bool
run_others(sni_sim *sim)
{
    uint64_t before = sim->activity;

    if (sim->others.run == NULL || sim->others_run)
        return false;
    sim->others_run = true;
    sim->others.run(sim->others.arg);
    sim->others_run = false;
    return sim->activity != before;
}

/* Nobody can move: the clock jumps to what happens next, at most to `until`. */
static void
jump(sni_sim *sim, sennit_time until)
{
    sennit_time next = sni_sim_next(sim);

    if (sim->others.next != NULL) {
        sennit_time timer = sim->others.next(sim->others.arg);

        if (timer < next)
            next = timer;
    }
    if (until < next)
        next = until;
    if (next == SENNIT_NEVER)
        give_up("the world is stuck: everybody waits and nothing will happen");
    if (next > sim->now)
        sim->now = next;
}

static int
sim_reap(sni_io *io, sni_op **out, int max, sennit_time until)
{
    sim_io *sio = sim_of(io);
    sni_sim *sim = sio->sim;
    int count;

    if (until > sim->now && strikes(sim, SNI_SIM_INTERRUPT))
        return -1;
    if (until > sim->now && strikes(sim, SNI_SIM_SPURIOUS))
        return 0;
    for (;;) {
        retry_all(sio);
        if (!sni_op_queue_empty(&sio->done) || until <= sim->now ||
            atomic_exchange(&sio->woken, false))
            break;
        if (!run_others(sim))
            jump(sim, until);
    }
    count = sni_op_queue_take(&sio->done, out, max);
    sim->activity += (uint64_t)count;
    return count;
}

static void
sim_wake(sni_io *io)
{
    atomic_store(&sim_of(io)->woken, true);
}

static sennit_time
sim_now(sni_io *io)
{
    return sim_of(io)->sim->now;
}

static uint64_t
sim_random(sni_io *io)
{
    return draw(sim_of(io)->sim);
}

static int
sim_descriptor(const sni_io *io)
{
    (void)io;
    return -1;
}

static void
sim_fini(sni_io *io)
{
    sim_io *sio = sim_of(io);

    if (!sni_list_empty(&sio->files))
        give_up("a backend was closed before its files");
    sni_link_remove(&sio->link);
    sni_release(io->alloc, sio);
}

/* Never, as a kernel that has the operation: so the slow way is always tried. */
static bool
sim_retract(sni_io *io, sni_op *op)
{
    (void)io;
    (void)op;
    return false;
}

static void
sim_finish(sni_io *io, sni_file *file)
{
    sni_sim *sim = sim_of(io)->sim;

    if (file->end != NULL && file->end->peer != NULL &&
        file->end->peer->eof_at == SENNIT_NEVER)
        file->end->peer->eof_at = arrival(sim, file->end->peer);
    sim->activity++;
}

/* A reset loses here what the peer has not read. */
static bool
sim_undelivered(sni_io *io, const sni_file *file)
{
    (void)io;
    return file->end != NULL && file->end->peer != NULL && file->end->peer->bytes > 0;
}

/* Of a killed process nothing lingers. */
static bool
sim_inherited(sni_io *io)
{
    return sim_of(io)->killed;
}

/* Everybody has the same credentials, and one interface. */
static void
sim_peer_name(sni_io *io, const sni_file *file, sni_peer_name *out)
{
    (void)io;
    *out = (sni_peer_name){ .address = file->address, .uid = -1, .gid = -1, .pid = -1 };
    sni_address_peer_text(&file->address, out->text);
    if (file->address.kind != SNI_ADDRESS_IPC)
        return;
    out->address = (sni_address){ .kind = SNI_ADDRESS_IPC };
    out->uid = out->gid = 0;
    out->pid = 1;
}

static sennit_err
sim_interface_address(sni_io *io, const char *name, bool ipv4, bool ipv6,
                      sni_address *out)
{
    (void)io;
    if (strcmp(name, "lo") != 0 || (!ipv4 && !ipv6))
        return SENNIT_ENODEV;
    *out = (sni_address){ .kind = ipv4 ? SNI_ADDRESS_TCP4 : SNI_ADDRESS_TCP6 };
    if (ipv4)
        memcpy(out->ip, (const uint8_t[]){ 127, 0, 0, 1 }, 4);
    else
        out->ip[15] = 1;
    return SENNIT_OK;
}

static sennit_err
sim_interface_scope(sni_io *io, const char *name, uint32_t *out)
{
    (void)io;
    if (strcmp(name, "lo") != 0)
        return SENNIT_ENODEV;
    *out = 1;
    return SENNIT_OK;
}

static const sni_io_ops sim_ops = {
    .name = "sim",
    .listen = sim_listen,
    .adopt = sim_adopt,
    .dial = sim_dial,
    .peer_name = sim_peer_name,
    .interface_address = sim_interface_address,
    .interface_scope = sim_interface_scope,
    .close = sim_close,
    .submit = sim_submit,
    .submit_sends = sim_submit_sends,
    .cancel = sim_cancel,
    .retract = sim_retract,
    .finish = sim_finish,
    .undelivered = sim_undelivered,
    .reap = sim_reap,
    .wake = sim_wake,
    .now = sim_now,
    .now_coarse = sim_now,
    .inherited = sim_inherited,
    .random = sim_random,
    .descriptor = sim_descriptor,
    .fini = sim_fini,
};

sennit_err
sni_io_sim_open(sni_io **out, const sennit_allocator *alloc, sni_pool *recv_blocks,
                sni_sim *sim)
{
    sim_io *sio = sni_acquire_zero(alloc, sizeof *sio);

    if (sio == NULL)
        return SENNIT_ENOMEM;
    sio->io = (sni_io){ .ops = &sim_ops, .alloc = alloc, .recv_blocks = recv_blocks };
    sio->sim = sim;
    sni_op_queue_init(&sio->done);
    atomic_init(&sio->woken, false);
    sni_link_init(&sio->files);
    sni_link_init(&sio->link);
    sni_list_push(&sim->ios, &sio->link);
    *out = &sio->io;
    return SENNIT_OK;
}
