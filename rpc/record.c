/* SPDX-License-Identifier: MIT */
#include "rpc/record.h"

#include <string.h>

#include "rpc/address.h"
#include "rpc/limits.h"
#include "rpc/unpack.h"

static const char bad_header[] = "a record's header must be an array of 1 to 32 elements";
static const char bad_address[] = "a record's address is malformed";

/* ---- Reading ---------------------------------------------------------- */

void
sni_frame_init(sni_frame *frame, sennit_bytes bytes)
{
    sennit_unpack in;
    sennit_pack_type type;

    memset(frame, 0, sizeof *frame);
    frame->bytes = bytes;
    frame->reason = "";
    sennit_unpack_init(&in, bytes);
    type = sennit_unpack_peek(&in);
    if (type != SENNIT_PACK_UINT && type != SENNIT_PACK_INT)
        return;
    frame->sequence = sennit_unpack_uint(&in, UINT64_MAX);
    if (in.err)
        return; /* the first read meets the same bytes and says so */
    frame->numbered = true;
    frame->at = (size_t)(in.at - in.begin);
}

/* How many elements of the header are left to read; reading one takes it off. */
typedef struct elements {
    sennit_unpack in;
    size_t left;
} elements;

/* Whether there is another element that is not nil; steps over a nil. */
static bool
present(elements *from)
{
    if (from->left == 0)
        return false;
    from->left--;
    return !sennit_unpack_nil(&from->in);
}

static uint64_t
uint_or(elements *from, uint64_t otherwise, uint64_t max)
{
    return present(from) ? sennit_unpack_uint(&from->in, max) : otherwise;
}

static sennit_str
str_or_empty(elements *from)
{
    return present(from) ? sennit_unpack_str(&from->in) : (sennit_str){ "", 0 };
}

/* H1: a map of str to str or bin, no larger than the limit. */
static sennit_bytes
read_headers(elements *from)
{
    sennit_bytes raw = { NULL, 0 };
    sennit_unpack in;

    if (!present(from))
        return raw;
    in = from->in;
    raw = sennit_unpack_raw(&from->in);
    if (from->in.err)
        return raw;
    if (raw.size > SENNIT_HEADERS_MAX) {
        sennit_unpack_fail(&from->in, SENNIT_EPROTO, "headers are larger than 8 KiB");
        return raw;
    }
    for (size_t pairs = sennit_unpack_map(&in); pairs > 0 && !in.err; pairs--) {
        (void)sennit_unpack_str(&in);
        if (sennit_unpack_peek(&in) == SENNIT_PACK_STR)
            (void)sennit_unpack_str(&in);
        else
            (void)sennit_unpack_bin(&in);
    }
    if (in.err)
        sennit_unpack_fail(&from->in, SENNIT_EPROTO,
                           "headers must map str to str or bin");
    return raw;
}

static void
read_address(elements *from, sni_record *out)
{
    out->address = str_or_empty(from);
    if (!from->in.err && sni_address_form_of(out->address) != SNI_ADDRESS_EXACT)
        sennit_unpack_fail(&from->in, SENNIT_EPROTO, bad_address);
}

static void
read_error(elements *from, sni_record *out)
{
    out->kind = (uint32_t)uint_or(from, SENNIT_KIND_RECIPIENT_FAILURE, UINT32_MAX);
    out->ran = (sennit_ran)uint_or(from, SENNIT_RAN_MAYBE, SENNIT_RAN_YES);
    if (present(from))
        out->code = (int32_t)sennit_unpack_int(&from->in, INT32_MIN, INT32_MAX);
    out->message = str_or_empty(from);
    out->detail_id = (uint32_t)uint_or(from, 0, UINT32_MAX);
    if (out->kind == SENNIT_KIND_NONE)
        sennit_unpack_fail(&from->in, SENNIT_EPROTO, "an ERR record says success");
}

/* The list of consumed addresses, each well-formed. */
static sennit_bytes
read_consumed(elements *from)
{
    sennit_bytes raw = { NULL, 0 };
    sennit_unpack in;
    size_t count;

    if (!present(from))
        return raw;
    in = from->in;
    raw = sennit_unpack_raw(&from->in);
    count = sennit_unpack_array(&in);
    if (count > SNI_PEER_ADDRESSES_MAX)
        sennit_unpack_fail(&in, SENNIT_EPROTO, "too many consumed addresses");
    for (; count > 0 && !in.err; count--) {
        sennit_str address = sennit_unpack_str(&in);

        if (!in.err && sni_address_form_of(address) == SNI_ADDRESS_BAD)
            sennit_unpack_fail(&in, SENNIT_EPROTO, "a consumed address is malformed");
    }
    if (in.err)
        sennit_unpack_fail(&from->in, SENNIT_EPROTO, in.reason);
    return raw;
}

static void
read_hello(elements *from, sni_record *out)
{
    sni_hello *hello = &out->hello;
    sennit_bytes node =
        present(from) ? sennit_unpack_bin(&from->in) : (sennit_bytes){ NULL, 0 };

    if (!from->in.err && node.size != SENNIT_NODE_ID_SIZE)
        sennit_unpack_fail(&from->in, SENNIT_EPROTO, "a node id must have 16 bytes");
    if (!from->in.err)
        memcpy(hello->node, node.data, SENNIT_NODE_ID_SIZE);
    hello->incarnation = uint_or(from, 0, UINT64_MAX);
    hello->proto_min = uint_or(from, 1, UINT64_MAX);
    hello->proto_max = uint_or(from, 1, UINT64_MAX);
    hello->features = uint_or(from, 0, UINT64_MAX);
    hello->max_frame = uint_or(from, UINT64_MAX, UINT64_MAX);
    hello->advertised = str_or_empty(from);
    hello->events = str_or_empty(from);
    hello->consumed = read_consumed(from);
    if (hello->advertised.size > SNI_ENDPOINT_MAX ||
        hello->events.size > SNI_ENDPOINT_MAX)
        sennit_unpack_fail(&from->in, SENNIT_EPROTO, "an endpoint in HELLO is too long");
}

/* What follows the type, by type. */
static void
read_elements(elements *from, uint64_t type, sni_record *out)
{
    out->type = (sni_record_type)type;
    out->id = uint_or(from, 0, UINT64_MAX);
    switch (out->type) {
    case SNI_RECORD_HELLO:
        read_hello(from, out);
        break;
    case SNI_RECORD_REQ:
    case SNI_RECORD_SEND:
    case SNI_RECORD_PUB:
        if (out->type == SNI_RECORD_REQ && out->id == 0 && !from->in.err)
            sennit_unpack_fail(&from->in, SENNIT_EPROTO,
                               "a request's id must not be 0"); /* ERR 0 is for all */
        read_address(from, out);
        out->budget_us = uint_or(from, 0, UINT64_MAX);
        out->headers = read_headers(from);
        break;
    case SNI_RECORD_ERR:
        read_error(from, out);
        break;
    case SNI_RECORD_WHO:
    case SNI_RECORD_RES:
    case SNI_RECORD_CANCEL:
    case SNI_RECORD_PING:
    case SNI_RECORD_PONG:
    case SNI_RECORD_GOAWAY:
        break;
    }
}

/* NULL for the types of read_elements(), else what to say about it. */
static const char *
type_problem(uint64_t type)
{
    switch (type) {
    case 8:
        return "DATA records (streams) are not built yet";
    case 9:
        return "END records (streams) are not built yet";
    case 10:
        return "CREDIT records (streams) are not built yet";
    case 14:
        return "WATCH records (monitors) are not built yet";
    case 15:
        return "DOWN records (monitors) are not built yet";
    default:
        return type <= SNI_RECORD_GOAWAY ? NULL : "unknown record type";
    }
}

/* Sets what is wrong with the record at `at`. */
static sni_frame_next
bad(sni_frame *frame, const char *reason, size_t at)
{
    frame->reason = reason;
    frame->offset = at;
    return SNI_FRAME_BAD;
}

/* Header and body of the next record as checked spans. */
static const char *
read_spans(sni_frame *frame, sennit_bytes *header, sennit_bytes *body, size_t *used,
           size_t *offset)
{
    sennit_bytes rest = { frame->bytes.data + frame->at, frame->bytes.size - frame->at };
    const char *reason = NULL;
    size_t size = 0;
    sennit_unpack in;

    *offset = 0;
    if (sni_unpack_check_front(rest, SNI_HEADER_DEPTH_MAX, SENNIT_CHECK_UTF8, &size,
                               &reason, offset) != SENNIT_OK)
        return reason;
    sennit_unpack_init(&in, rest);
    if (sennit_unpack_peek(&in) != SENNIT_PACK_ARRAY)
        return bad_header;
    *header = (sennit_bytes){ rest.data, size };
    *offset = size;
    if (size == rest.size)
        return "a record has no body";
    sennit_unpack_init(&in, (sennit_bytes){ rest.data + size, rest.size - size });
    *body = sennit_unpack_bin(&in);
    if (in.err)
        return "a record's body must be a bin that lies whole in its frame";
    *used = size + (size_t)(in.at - in.begin);
    return NULL;
}

sni_frame_next
sni_frame_read(sni_frame *frame, sni_record *out)
{
    while (frame->at < frame->bytes.size) {
        sennit_bytes header;
        sennit_bytes body;
        elements from;
        size_t used = 0;
        size_t offset = 0;
        uint64_t type;
        const char *reason = read_spans(frame, &header, &body, &used, &offset);

        if (reason != NULL)
            return bad(frame, reason, frame->at + offset);
        sennit_unpack_init(&from.in, header);
        from.left = sennit_unpack_array(&from.in);
        if (from.in.err || from.left == 0 || from.left > SNI_HEADER_ELEMENTS_MAX)
            return bad(frame, bad_header, frame->at);
        type = uint_or(&from, UINT64_MAX, UINT64_MAX);
        if (from.in.err)
            return bad(frame, "a record's type must be an integer", frame->at);
        reason = type_problem(type);
        if (reason != NULL && type != UINT64_MAX && (type & SNI_RECORD_OPTIONAL) != 0) {
            frame->at += used;
            frame->records++;
            continue;
        }
        if (reason != NULL)
            return bad(frame, reason, frame->at);
        memset(out, 0, sizeof *out);
        out->body = body;
        read_elements(&from, type, out);
        if (from.in.err)
            return bad(frame, from.in.reason, frame->at + from.in.offset);
        frame->at += used;
        frame->records++;
        return SNI_FRAME_RECORD;
    }
    if (frame->records == 0)
        return bad(frame, "a frame has no records", frame->at);
    return SNI_FRAME_END;
}

bool
sni_headers_find(sennit_bytes headers, sennit_str key, sennit_bytes *value)
{
    sennit_unpack in;

    sennit_unpack_init(&in, headers);
    for (size_t pairs = sennit_unpack_map(&in); pairs > 0 && !in.err; pairs--) {
        bool found = sennit_str_equal(sennit_unpack_str(&in), key);

        if (sennit_unpack_peek(&in) == SENNIT_PACK_STR) {
            sennit_str text = sennit_unpack_str(&in);

            *value =
                found ? (sennit_bytes){ (const uint8_t *)text.data, text.size } : *value;
        } else {
            sennit_bytes bytes = sennit_unpack_bin(&in);

            *value = found ? bytes : *value;
        }
        if (found)
            return !in.err;
    }
    return false;
}

/* ---- Writing ---------------------------------------------------------- */

static void
write_map_or_nil(sennit_buf *out, sennit_bytes headers)
{
    if (headers.size > 0)
        sennit_pack_raw(out, headers);
    else
        sennit_pack_nil(out);
}

/* [type, id, address, budget_us, headers], shortened from the right. */
static void
write_addressed(sennit_buf *out, const sni_record *record)
{
    size_t count = record->headers.size > 0 ? 5 : record->budget_us > 0 ? 4 : 3;

    sennit_pack_array(out, count);
    sennit_pack_uint(out, record->type);
    sennit_pack_uint(out, record->id);
    sennit_pack_str(out, record->address);
    if (count == 4)
        sennit_pack_uint(out, record->budget_us);
    if (count == 5) {
        if (record->budget_us > 0)
            sennit_pack_uint(out, record->budget_us);
        else
            sennit_pack_nil(out);
        write_map_or_nil(out, record->headers);
    }
}

static void
write_error(sennit_buf *out, const sni_record *record)
{
    sennit_pack_array(out, record->detail_id != 0 ? 7 : 6);
    sennit_pack_uint(out, record->type);
    sennit_pack_uint(out, record->id);
    sennit_pack_uint(out, record->kind);
    sennit_pack_uint(out, record->ran);
    sennit_pack_int(out, record->code);
    sennit_pack_str(out, record->message);
    if (record->detail_id != 0)
        sennit_pack_uint(out, record->detail_id);
}

static void
write_hello(sennit_buf *out, const sni_hello *hello)
{
    sennit_pack_array(out, 11);
    sennit_pack_uint(out, SNI_RECORD_HELLO);
    sennit_pack_uint(out, 0);
    sennit_pack_bin(out, (sennit_bytes){ hello->node, SENNIT_NODE_ID_SIZE });
    sennit_pack_uint(out, hello->incarnation);
    sennit_pack_uint(out, hello->proto_min);
    sennit_pack_uint(out, hello->proto_max);
    sennit_pack_uint(out, hello->features);
    sennit_pack_uint(out, hello->max_frame);
    sennit_pack_str(out, hello->advertised);
    sennit_pack_str(out, hello->events);
    if (hello->consumed.size > 0)
        sennit_pack_raw(out, hello->consumed);
    else
        sennit_pack_array(out, 0);
}

void
sni_record_write(sennit_buf *out, const sni_record *record)
{
    switch (record->type) {
    case SNI_RECORD_HELLO:
        write_hello(out, &record->hello);
        break;
    case SNI_RECORD_REQ:
    case SNI_RECORD_SEND:
    case SNI_RECORD_PUB:
        write_addressed(out, record);
        break;
    case SNI_RECORD_ERR:
        write_error(out, record);
        break;
    case SNI_RECORD_WHO:
    case SNI_RECORD_GOAWAY:
        sennit_pack_array(out, 1);
        sennit_pack_uint(out, record->type);
        break;
    case SNI_RECORD_RES:
    case SNI_RECORD_CANCEL:
    case SNI_RECORD_PING:
    case SNI_RECORD_PONG:
        sennit_pack_array(out, 2);
        sennit_pack_uint(out, record->type);
        sennit_pack_uint(out, record->id);
        break;
    }
    sennit_pack_bin(out, record->body);
}

static bool
key_is_fine(sennit_str key)
{
    if (key.size == 0 || !sennit_str_is_utf8(key))
        return false;
    if (key.size >= 7 && memcmp(key.data, "sennit-", 7) == 0)
        return false;
    for (size_t i = 0; i < key.size; i++) {
        if (key.data[i] >= 'A' && key.data[i] <= 'Z')
            return false;
    }
    return true;
}

sennit_err
sni_headers_write(sennit_buf *out, const sennit_header *headers, size_t count)
{
    size_t start = out->size;

    sennit_pack_map(out, count);
    for (size_t i = 0; i < count; i++) {
        if (!key_is_fine(headers[i].key))
            return SENNIT_EINVAL;
        sennit_pack_str(out, headers[i].key);
        sennit_pack_bin(out, headers[i].value);
        if (out->size - start > SENNIT_HEADERS_MAX)
            return SENNIT_EMSGSIZE;
    }
    return out->err;
}
