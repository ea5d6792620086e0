/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_RPC_LIMITS_H
#define SENNIT_RPC_LIMITS_H

/* Every bound of the rpc layer that is not an option, with what happens there. */

/* First chunk of an arena; following ones double up to the second number. A chunk
 * larger than that is not kept by a reset. */
#define SNI_ARENA_CHUNK_BYTES     1024u
#define SNI_ARENA_CHUNK_MAX_BYTES (256u * 1024u)

/* Smallest allocation of a growing output. */
#define SNI_BUF_BYTES 256u

/* A connection's records are handed to its socket when they have gathered to
 * this (T6b); a frame is never cut below one record. */
#define SNI_FRAME_FLUSH_BYTES (64u * 1024u)

/* A send that follows a flush of its connection within this time is gathered
 * instead of being flushed on its own. */
#define SNI_FLUSH_GAP_NS (20u * 1000u)

/* A frame of up to so many bytes is copied into its message; a larger one is handed
 * over and the next one starts with new storage. */
#define SNI_FRAME_COPY_MAX_BYTES 4096u

/* Smallest frame limit a peer may name, and what a HELLO keeps to. A smaller one is
 * a protocol error. */
#define SNI_PEER_FRAME_MIN 1024u

/* Frames a socket holds for one peer beyond what the kernel took. Few, because
 * records that wait here gather into fuller frames. Larger ones than are copied are
 * also bounded in bytes, by peer_queue_max_bytes. */
#define SNI_SOCK_HWM_MSGS 64

/* Events the PUB socket holds for one guest that reads slower than we publish; more
 * are dropped for that guest and counted by the socket. */
#define SNI_EVENTS_HWM_MSGS 65536

/* Frames read from one socket, mailbox items handled, and as many outcomes again
 * told, before the other sockets, the flush and the rest of the loop get their turn. */
#define SNI_TURN_FRAMES 256u
#define SNI_TURN_ITEMS  256u

/* Records read from one socket, and addresses announced in them, before the same; the
 * frame that reaches it is still read to its end. */
#define SNI_TURN_RECORDS 4096u

/* Items of one mailbox handled in a row, so that a busy consumer does not starve
 * its neighbours. */
#define SNI_CONSUMER_BURST 16u

/* Mail of up to so many bytes, address and all, is stored in pieces of this size, of
 * which a bus keeps so many for the next burst. */
#define SNI_MAIL_POOL_BYTES 512u
#define SNI_MAIL_POOL_MAX   1024u

/* A body of up to so many bytes is copied into its mail; a larger one shares the frame
 * it came in, if it is at least half of that. So mail holds at most twice the bytes
 * a mailbox counts it as. */
#define SNI_MAIL_COPY_MAX_BYTES 4096u

/* Consumed addresses a peer may announce. One more is a protocol error. */
#define SNI_PEER_ADDRESSES_MAX (64u * 1024u)

/* Turns a node has at one address however many of its consumers are there. More are
 * counted, so that the last one to go is noticed. */
#define SNI_PEER_SHARES_MAX 256u

/* Elements of a record's header. More is a protocol error. */
#define SNI_HEADER_ELEMENTS_MAX 32u

/* Nesting of a header: the array, the headers map or a list in it. Deeper is a
 * protocol error. */
#define SNI_HEADER_DEPTH_MAX 4u

/* A peer's endpoint text in HELLO. Longer is a protocol error. */
#define SNI_ENDPOINT_MAX 255u

/* A link that was up is opened again after a random share of the reconnect delay,
 * which doubles with each loss and starts over once the link has been up for: */
#define SNI_LINK_STABLE_NS (UINT64_C(5) * 1000u * 1000u * 1000u)

/* A link that is connected and not up after this is connected anew. */
#define SNI_LINK_CHECK_NS (UINT64_C(2) * 1000u * 1000u * 1000u)

/* What the router or a shortage of memory held back is tried again after this. */
#define SNI_RETRY_NS (UINT64_C(1000) * 1000u)

/* Dead letters that wait to be told. More are counted only. */
#define SNI_DEAD_TOLD_MAX 256u

/* First bytes of the body shown in a dead letter. */
#define SNI_DEAD_HEAD_BYTES 64u

/* Slots per slab of calls; a power of two. */
#define SNI_SLAB_SLOTS 64u

/* Bits of a call id that name the slot; the 40 above them are the generation. */
#define SNI_SLOT_BITS 24u

#endif /* SENNIT_RPC_LIMITS_H */
