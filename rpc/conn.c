/* SPDX-License-Identifier: MIT */
/* The outgoing half of a connection: records gather in `out` until the frame is
 * flushed or full. A frame the socket does not take is sealed: it keeps its bytes
 * and waits in a list, whose length the queue's bound limits. */
#include "rpc/bus.h"

#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "rpc/limits.h"

typedef struct carried carried;

struct sni_sealed {
    sni_sealed *next;
    uint32_t records;
    size_t size;
    carried *carried; /* NULL: the frame is a copy */
    sennit_msg frame;
};

/* Bytes of one connection that its socket has and has not let go of. A socket bounds
 * what it holds for a peer in frames only; with this it is bounded in bytes, whether
 * it is a DEALER's one peer or one of a ROUTER's many. Outlives the connection while
 * frames are out; those may be let go of on another thread (inproc). */
struct sni_flight {
    const sennit_allocator *alloc;
    atomic_size_t bytes;
    atomic_uint refs; /* the connection, and each frame that carries its storage */
};

/* A frame that carries its storage. */
struct carried {
    sni_flight *flight;
    size_t size;
    bool handed; /* it is counted in flight */
};

static void
flight_unref(sni_flight *flight)
{
    if (atomic_fetch_sub(&flight->refs, 1) == 1)
        sni_release(flight->alloc, flight);
}

sennit_err
sni_conn_new(sennit_bus *bus, sni_linked *linked, uint32_t number, sni_conn **out)
{
    sni_conn *conn = sni_acquire_zero(bus->alloc, sizeof *conn);

    if (conn == NULL)
        return SENNIT_ENOMEM;
    conn->flight = sni_acquire_zero(bus->alloc, sizeof *conn->flight);
    if (conn->flight == NULL) {
        sni_release(bus->alloc, conn);
        return SENNIT_ENOMEM;
    }
    conn->flight->alloc = bus->alloc;
    atomic_init(&conn->flight->bytes, 0);
    atomic_init(&conn->flight->refs, 1);
    conn->bus = bus;
    conn->linked = linked;
    conn->number = number;
    conn->numbered = linked != NULL;
    conn->frame_max = linked != NULL ? SNI_PEER_FRAME_MIN : bus->opts.frame_max_bytes;
    sennit_msg_init(&conn->identity);
    sennit_buf_init(&conn->out, bus->alloc);
    sni_link_init(&conn->dirty);
    sni_link_init(&conn->doomed);
    sni_link_init(&conn->in_node);
    sni_link_init(&conn->announced);
    sni_trie_init(&conn->announced_key, bus->alloc);
    sni_link_init(&conn->calls);
    sni_link_init(&conn->inbounds);
    sni_list_push(&bus->conns, &conn->link);
    *out = conn;
    return SENNIT_OK;
}

void
sni_conn_free(sni_conn *conn)
{
    SNI_ASSERT(sni_list_empty(&conn->calls));
    SNI_ASSERT(sni_list_empty(&conn->inbounds));
    SNI_ASSERT(conn->node == NULL);
    sni_conn_reset_out(conn);
    sni_link_remove(&conn->link);
    sni_link_remove(&conn->dirty);
    sni_link_remove(&conn->doomed);
    sennit_buf_fini(&conn->out);
    sennit_msg_fini(&conn->identity);
    sni_peer_forget_announced(conn);
    sni_trie_fini(&conn->announced_key);
    flight_unref(conn->flight);
    sni_release(conn->bus->alloc, conn);
}

static void
sealed_free(sni_conn *conn, sni_sealed *sealed)
{
    sennit_msg_fini(&sealed->frame);
    sni_release(conn->bus->alloc, sealed);
}

void
sni_conn_reset_out(sni_conn *conn)
{
    while (conn->sealed_first != NULL) {
        sni_sealed *first = conn->sealed_first;

        conn->bus->stats.records_dropped_total += first->records;
        conn->sealed_first = first->next;
        sealed_free(conn, first);
    }
    conn->sealed_last = NULL;
    conn->sealed_bytes = 0;
    conn->bus->stats.records_dropped_total += conn->out_records;
    conn->out_records = 0;
    sennit_buf_clear(&conn->out);
    conn->frames_handed = conn->frames_begun;
    conn->send_sequence = 0;
}

size_t
sni_conn_queued_bytes(const sni_conn *conn)
{
    return conn->sealed_bytes + conn->out.size;
}

void
sni_conn_doom(sni_conn *conn, const char *reason)
{
    if (sni_link_linked(&conn->doomed))
        return;
    conn->doom_reason = reason;
    conn->doom_kind = SENNIT_KIND_PEER_LOST;
    sni_list_push(&conn->bus->doomed, &conn->doomed);
}

/* ---- Gathering -------------------------------------------------------- */

static void
release_frame(void *data, void *arg)
{
    carried *frame = arg;
    sni_flight *flight = frame->flight;

    if (frame->handed)
        atomic_fetch_sub(&flight->bytes, frame->size);
    sni_release(flight->alloc, data);
    sni_release(flight->alloc, frame);
    flight_unref(flight);
}

/* Makes a message of the frame being gathered that takes its storage along. */
static sennit_err
carry(sni_conn *conn, sni_sealed *sealed)
{
    const sennit_allocator *alloc = conn->bus->alloc;
    carried *frame = sni_acquire(alloc, sizeof *frame);
    sennit_err err;

    if (frame == NULL)
        return SENNIT_ENOMEM;
    *frame = (carried){ conn->flight, conn->out.size, false };
    err = sennit_msg_init_user(&sealed->frame, conn->out.data, conn->out.size,
                               release_frame, frame);
    if (err) {
        sni_release(alloc, frame);
        return err;
    }
    atomic_fetch_add(&conn->flight->refs, 1);
    sealed->carried = frame;
    sennit_buf_init(&conn->out, alloc);
    return SENNIT_OK;
}

/* Closes the frame being gathered and puts it in the list. Without memory it stays
 * open and grows. */
static sennit_err
seal(sni_conn *conn)
{
    const sennit_allocator *alloc = conn->bus->alloc;
    sni_sealed *sealed = sni_acquire_zero(alloc, sizeof *sealed);
    sennit_err err;

    if (sealed == NULL)
        return SENNIT_ENOMEM;
    sealed->records = conn->out_records;
    sealed->size = conn->out.size;
    if (conn->out.size <= SNI_FRAME_COPY_MAX_BYTES)
        err = sennit_msg_init_copy(&sealed->frame, conn->out.data, conn->out.size);
    else
        err = carry(conn, sealed);
    if (err) {
        sni_release(alloc, sealed);
        return err;
    }
    sennit_buf_clear(&conn->out);
    conn->out_records = 0;
    conn->sealed_bytes += sealed->size;
    if (conn->sealed_last != NULL)
        conn->sealed_last->next = sealed;
    else
        conn->sealed_first = sealed;
    conn->sealed_last = sealed;
    return SENNIT_OK;
}

/* Makes room for a record of at most `size` bytes and begins a frame if none is
 * open. `*begun` tells whether it did, for undo. */
static sennit_err
open_record(sni_conn *conn, size_t size, bool control, bool *begun)
{
    size_t limit = conn->bus->opts.peer_queue_max_bytes;
    size_t queued = sni_conn_queued_bytes(conn);

    if (sni_link_linked(&conn->doomed))
        return SENNIT_ECONNRESET;
    if (size > conn->frame_max)
        return SENNIT_EMSGSIZE;
    if (control && queued > limit * 2 + SNI_FRAME_FLUSH_BYTES) {
        sni_conn_doom(conn, "it does not read what it asked for");
        return SENNIT_ECONNRESET;
    }
    if (!control && queued > 0 && (size > limit || queued > limit - size))
        return SENNIT_EAGAIN;
    if (conn->out.size > 0 && (conn->out.size >= SNI_FRAME_FLUSH_BYTES ||
                               conn->out.size + size > conn->frame_max)) {
        sennit_err err = seal(conn);

        if (err && conn->out.size + size > conn->frame_max)
            return err;
    }
    *begun = conn->out.size == 0;
    if (*begun) {
        conn->frames_begun++;
        if (conn->numbered)
            sennit_pack_uint(&conn->out, ++conn->send_sequence);
    }
    return SENNIT_OK;
}

/* Counts the record that was written behind `mark`, or takes it back. */
static sennit_err
close_record(sni_conn *conn, size_t mark, bool begun)
{
    sennit_bus *bus = conn->bus;
    sennit_err err = conn->out.err;

    if (err) {
        conn->out.err = SENNIT_OK;
        conn->out.size = begun ? 0 : mark;
        if (begun) {
            conn->frames_begun--;
            conn->send_sequence -= conn->numbered ? 1 : 0;
        }
        return err;
    }
    conn->out_records++;
    bus->stats.records_sent_total++;
    if (!sni_link_linked(&conn->dirty))
        sni_list_push(&bus->dirty, &conn->dirty);
    /* T6b. A frame that is full need not wait for the end of the turn. */
    if (conn->out.size >= SNI_FRAME_FLUSH_BYTES && !conn->blocked)
        sni_conn_flush(conn);
    return SENNIT_OK;
}

sennit_err
sni_conn_write(sni_conn *conn, const sni_record *record, bool control)
{
    size_t size = SNI_RECORD_OVERHEAD + record->address.size + record->headers.size +
                  record->message.size + record->body.size;
    size_t mark;
    bool begun;
    sennit_err err;

    if (record->type == SNI_RECORD_HELLO)
        size += record->hello.advertised.size + record->hello.events.size +
                record->hello.consumed.size + SENNIT_NODE_ID_SIZE;
    err = open_record(conn, size, control, &begun);
    if (err)
        return err;
    mark = conn->out.size;
    sni_record_write(&conn->out, record);
    return close_record(conn, mark, begun);
}

sennit_err
sni_conn_write_raw(sni_conn *conn, sennit_bytes encoded)
{
    size_t mark;
    bool begun;
    sennit_err err = open_record(conn, encoded.size, false, &begun);

    if (err)
        return err;
    mark = conn->out.size;
    sennit_pack_raw(&conn->out, encoded);
    return close_record(conn, mark, begun);
}

/* ---- Flushing --------------------------------------------------------- */

static unsigned
bucket_of(uint32_t records)
{
    unsigned bucket = 0;

    while (bucket < SENNIT_FLUSH_BUCKETS - 1 && records > (UINT32_C(1) << bucket))
        bucket++;
    return bucket;
}

/* Offers one frame to the socket. On success it is gone. */
static sennit_err
hand_over(sni_conn *conn, sennit_msg *frame, uint32_t records)
{
    sennit_bus *bus = conn->bus;
    sennit_err err = conn->linked != NULL
                         ? sennit_sock_send(conn->linked->sock, frame, SENNIT_DONTWAIT)
                         : sni_router_send(conn, frame);

    switch (err) {
    case SENNIT_OK:
        conn->frames_handed++;
        bus->stats.frames_sent_total++;
        bus->stats.records_per_flush[bucket_of(records)]++;
        break;
    case SENNIT_EAGAIN:
        conn->blocked = true;
        break;
    case SENNIT_ENOMEM:
    case SENNIT_EINTR:
        break; /* tried again by the pump */
    default:
        sni_conn_doom(conn, err == SENNIT_EHOSTUNREACH || err == SENNIT_ECLOSED
                                ? "the connection is gone"
                                : sennit_err_text(err));
        break;
    }
    return err;
}

/* The same for one in the list. EAGAIN also while the socket holds too much for this
 * peer; it will not say when that changes, so the pump tries again. */
static sennit_err
hand_over_first(sni_conn *conn)
{
    sni_sealed *first = conn->sealed_first;
    carried *frame = first->carried;
    size_t out = atomic_load(&conn->flight->bytes);
    sennit_err err;

    if (frame == NULL)
        return hand_over(conn, &first->frame, first->records);
    if (out > 0 && out + frame->size > conn->bus->opts.peer_queue_max_bytes)
        return SENNIT_EAGAIN;
    frame->handed = true;
    atomic_fetch_add(&conn->flight->bytes, frame->size);
    err = hand_over(conn, &first->frame, first->records);
    if (err) {
        frame->handed = false;
        atomic_fetch_sub(&conn->flight->bytes, first->size);
    }
    return err;
}

static sennit_err
hand_over_sealed(sni_conn *conn)
{
    while (conn->sealed_first != NULL) {
        sni_sealed *first = conn->sealed_first;
        sennit_err err = hand_over_first(conn);

        if (err)
            return err;
        conn->sealed_bytes -= first->size;
        conn->sealed_first = first->next;
        if (conn->sealed_first == NULL)
            conn->sealed_last = NULL;
        sealed_free(conn, first);
    }
    return SENNIT_OK;
}

/* The frame being gathered, by the short way when it is small. */
static sennit_err
hand_over_open(sni_conn *conn)
{
    sennit_msg frame;
    sennit_err err;

    if (conn->out.size == 0)
        return SENNIT_OK;
    if (conn->out.size > SNI_FRAME_COPY_MAX_BYTES) {
        err = seal(conn);
        return err ? err : hand_over_sealed(conn);
    }
    err = sennit_msg_init_copy(&frame, conn->out.data, conn->out.size);
    if (err)
        return err;
    err = hand_over(conn, &frame, conn->out_records);
    if (!err) {
        sennit_buf_clear(&conn->out);
        conn->out_records = 0;
    }
    sennit_msg_fini(&frame);
    return err;
}

void
sni_conn_flush(sni_conn *conn)
{
    bool was_blocked = conn->blocked;
    sennit_err err;

    if (sni_link_linked(&conn->doomed))
        return;
    conn->blocked = false;
    err = hand_over_sealed(conn);
    if (!err)
        err = hand_over_open(conn);
    if (!err) {
        sni_link_remove(&conn->dirty);
        conn->flushed_at = sennit_loop_now(conn->bus->loop);
    }
    if (conn->linked != NULL && conn->blocked != was_blocked)
        sni_link_watch(conn->linked);
}
