/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_RPC_RECORD_H
#define SENNIT_RPC_RECORD_H

#include "sennit/rpc.h"

/* Records in frames (T4), pure: bytes in, values out.
 *
 *   frame  = [ sequence ] record { record }
 *   record = header body
 *   header = array [ type, id, address, budget_us, headers, ... ]
 *   body   = bin
 *
 * Elements at the end of a header that are nil or absent have their defaults; more
 * elements than are known are skipped. The sequence is a msgpack integer; frames
 * of guests have none. */

typedef enum sni_record_type {
    SNI_RECORD_HELLO = 0,
    SNI_RECORD_WHO = 1,
    SNI_RECORD_REQ = 2,
    SNI_RECORD_RES = 3,
    SNI_RECORD_ERR = 4,
    SNI_RECORD_SEND = 5,
    SNI_RECORD_PUB = 6,
    SNI_RECORD_CANCEL = 7,
    SNI_RECORD_PING = 11,
    SNI_RECORD_PONG = 12,
    SNI_RECORD_GOAWAY = 13,
} sni_record_type;

/* A type with this bit is skipped by those who do not know it (T5). */
#define SNI_RECORD_OPTIONAL 0x80u

#define SNI_PROTOCOL_VERSION 1u

typedef struct sni_hello {
    uint8_t node[SENNIT_NODE_ID_SIZE];
    uint64_t incarnation;
    uint64_t proto_min;
    uint64_t proto_max;
    uint64_t features; /* none are defined yet: 0 is sent, anything is accepted */
    uint64_t max_frame;
    sennit_str advertised;
    sennit_str events;
    sennit_bytes consumed; /* msgpack array of str, checked */
} sni_hello;

typedef struct sni_record {
    sni_record_type type;
    uint64_t id;          /* REQ RES ERR CANCEL PING PONG */
    sennit_str address;   /* REQ SEND PUB */
    uint64_t budget_us;   /* REQ; 0: none */
    sennit_bytes headers; /* REQ SEND PUB: msgpack map, checked; empty: none */
    uint32_t kind;        /* ERR ... */
    sennit_ran ran;
    int32_t code;
    sennit_str message;
    uint32_t detail_id;
    sni_hello hello; /* HELLO */
    sennit_bytes body;
} sni_record;

/* ---- Reading ---------------------------------------------------------- */

typedef struct sni_frame {
    sennit_bytes bytes;
    size_t at;
    size_t records; /* read so far, skipped ones included */
    bool numbered;
    uint64_t sequence;
    const char *reason; /* after BAD: static text */
    size_t offset;      /* after BAD: where */
} sni_frame;

typedef enum sni_frame_next {
    SNI_FRAME_RECORD, /* `*out` is set; views point into the frame */
    SNI_FRAME_END,
    SNI_FRAME_BAD,
} sni_frame_next;

/* Reads the sequence number. Gives BAD in the first sni_frame_read() when the frame
 * is empty or starts with anything else that is wrong. */
void sni_frame_init(sni_frame *frame, sennit_bytes bytes);

/* Takes the next record; those of unknown optional types are stepped over. Checks
 * all of it before any of it is given. */
sni_frame_next sni_frame_read(sni_frame *frame, sni_record *out);

/* Looks `key` up in checked headers. */
bool sni_headers_find(sennit_bytes headers, sennit_str key, sennit_bytes *value);

/* ---- Writing ---------------------------------------------------------- */

/* Each appends one record; failures stick in `out`. */
void sni_record_write(sennit_buf *out, const sni_record *record);

/* Bytes an encoded record takes at most, besides address, headers, message and
 * body. */
#define SNI_RECORD_OVERHEAD 64u

/* Encodes headers as a map. Errors: EINVAL (no key, a key that is not lower case
 * or is reserved or not UTF-8), EMSGSIZE (over SENNIT_HEADERS_MAX), ENOMEM. */
sennit_err sni_headers_write(sennit_buf *out, const sennit_header *headers, size_t count);

#endif /* SENNIT_RPC_RECORD_H */
