/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_BASE_LIMITS_H
#define SENNIT_BASE_LIMITS_H

/* Every bound of the transport, with what happens there. */

/* Gathered output is handed to the kernel when a connection has this much.
 * 32-64 KiB is the flat top of throughput over loopback (reference: limits B). */
#define SNI_BATCH_BYTES (64u * 1024u)

/* Bodies shorter than this are copied into the batch, longer ones are gathered
 * by reference: the crossover of copy and iovec. */
#define SNI_COPY_MAX_BYTES 4096u

/* Messages that one body is gathered from by reference. More are copied together. */
#define SNI_GATHER_PARTS_MAX 256u

/* Storage taken per chunk of gathered output. */
#define SNI_CHUNK_BYTES (64u * 1024u)

/* The first chunk of a queue that was empty. */
#define SNI_CHUNK_SMALL_BYTES 4096u

/* What a loop keeps of the rings of queues that are empty. More are given back to the
 * allocator. */
#define SNI_RINGS_KEPT 256u

/* What may wait to be sent to one peer before a send waits, unless the application says
 * otherwise: a thousand messages of 1 MiB are no queue that anybody wants. */
#define SNI_SEND_HWM_BYTES (16u * 1024u * 1024u)

/* Smallest and largest receive that is offered to the kernel. A window grows
 * beyond this only for a frame that is known to be larger. */
#define SNI_RECV_BYTES (128u * 1024u)

/* Bodies that are copied out of a window, sent from plain memory or larger than a window
 * lie in recycled blocks of this size, twice it, and so on up to the largest. Larger ones
 * have memory of their own. */
#define SNI_BODY_BYTES     256u
#define SNI_BODY_BYTES_MAX (1024u * 1024u)

/* What a loop keeps of each of these sizes: what may wait for one peer, so that a queue
 * that fills and drains takes no fresh pages. More is given back to the allocator. */
#define SNI_BODIES_KEPT_BYTES SNI_SEND_HWM_BYTES

/* Less room than this at the end of a window, and it moves to a fresh block
 * before the next receive. */
#define SNI_RECV_MIN_BYTES (16u * 1024u)

/* A frame's window never grows to more than this many times what has been
 * received of it, so that a hostile length costs its sender as much as us. */
#define SNI_RECV_GROWTH 4u

/* Bytes offered to the kernel in one send, as far as vectors can tell. */
#define SNI_SEND_BYTES (1024u * 1024u)

/* Vectors of one send. More stay for the next one. */
#define SNI_SEND_PARTS 64u

/* Vectors that a connection has room for itself. For more it borrows from its loop, and
 * when there is no memory for that it sends no more at a time. */
#define SNI_SEND_PARTS_FEW 3u

/* What a loop keeps to lend for that. More are given back to the allocator. */
#define SNI_VECTORS_KEPT 64u

/* Octets of one handshake command (READY, ERROR). More closes the connection. */
#define SNI_HANDSHAKE_COMMAND_MAX_BYTES (64u * 1024u)

/* Properties of one READY. More closes the connection. */
#define SNI_METADATA_PROPERTIES_MAX 64u

/* Our own properties together, so that a READY of ours is never refused for its size. */
#define SNI_PROPERTIES_MAX_BYTES (32u * 1024u)

/* A subscription's prefix. Longer ones close the connection, or are refused by
 * sennit_sock_subscribe(). */
#define SNI_TOPIC_MAX_BYTES (1024u * 1024u)

/* Subscriptions one peer may hold. More close its connection. */
#define SNI_TOPICS_PER_PEER_MAX (1024u * 1024u)

/* Octets of the topics one peer may hold, and as many of its subscriptions that the
 * application has not read. More close its connection: with SNI_TOPICS_PER_PEER_MAX of
 * the longest, one peer could have us keep a TiB. */
#define SNI_TOPIC_BYTES_PER_PEER_MAX (64u * 1024u * 1024u)

/* What the unread messages of an XPUB's peers that are gone may cost together, beside
 * what the last of them left. More drops the oldest of them, down to three quarters: an
 * application that does not read does not grow with its visitors. */
#define SNI_LEFT_BYTES_MAX (64u * 1024u * 1024u)

/* What is taken in of a peer that reads no more, whatever the marks are. */
#define SNI_UNHEARD_BYTES_MAX (32u * 1024u * 1024u)

/* Completions handled before timers and callbacks get their turn. */
#define SNI_TURN_COMPLETIONS 256

/* Turns of one loop inside each other: callbacks that block, in which others
 * block. More is refused, because it would end in the stack. */
#define SNI_TURNS_NESTED_MAX 8

/* A connection that its socket ends, and goes on without, is read until its peer has
 * closed too, at most this long. */
#define SNI_FINISH_NS (UINT64_C(1000) * 1000u * 1000u)

/* Whether what was sent before a close has arrived is looked at that soon, and then after
 * twice the time, and so on up to the larger one. */
#define SNI_FINISH_LOOK_NS     (UINT64_C(1000) * 1000u)
#define SNI_FINISH_LOOK_MAX_NS (UINT64_C(100) * 1000u * 1000u)

/* Receives of one connection in a row before others get their turn. */
#define SNI_RECVS_IN_A_ROW 8

/* Sends of one connection in a row before others get their turn: with a peer that reads
 * as fast as we write, this would never end. */
#define SNI_SENDS_IN_A_ROW 8

/* Sends of as many connections that are handed to the kernel in one call, where the
 * backend can; it takes 64 octets of each loop for each. */
#define SNI_SENDS_TOGETHER 64u

/* How exactly messages are stamped for send_age_max_ms; they are dropped that late. */
#define SNI_AGE_GRAIN_NS (5u * 1000u * 1000u)

/* Connections taken from one listener in a row, so that a flood of strangers
 * does not starve those already here. */
#define SNI_ACCEPTS_PER_TURN 64

/* What could not be done for want of memory is tried again after this. */
#define SNI_MEMORY_RETRY_NS (10u * 1000u * 1000u)

/* Delay before accepting again after the system ran out of descriptors. */
#define SNI_ACCEPT_RETRY_NS (100u * 1000u * 1000u)

/* Sends that follow a flush within this time are gathered. */
#define SNI_GATHER_NS (20u * 1000u)

/* The longest that a wait may spin. */
#define SNI_SPIN_MAX_US 1000u

/* How often the thread of a hosted loop looks while callers come and go: what they have
 * gathered waits no longer for somebody to send it. */
#define SNI_HOST_TICK_NS (500u * 1000u)

/* Turns that a thread makes of a hosted loop before it waits, at most that long, for
 * those who want to come in: a peer that floods would keep them out. */
#define SNI_TURNS_ALONE_MAX 8u

/* The longest that a burst is gathered before it is flushed. */
#define SNI_GATHER_MAX_NS (160u * 1000u)

/* Or this many times what the flush before it took, if that is longer, up to this. */
#define SNI_GATHER_FLUSHES     3u
#define SNI_GATHER_SLOW_MAX_NS (500u * 1000u)

/* Frames that one receive throws away (filtered, malformed), or reads of one
 * envelope. Then it says that nothing is there yet, so that a peer that floods what
 * nobody asked for does not hold up timers, deadlines and other sockets. */
#define SNI_FETCH_FRAMES_MAX 256u

/* Messages read from another loop before that loop is told, so that it may send more.
 * With small marks sooner. */
#define SNI_INPROC_ACK_MSGS 64u

/* A loop that has read all that other loops have sent, and would wait, looks again for so
 * long, or so often, with so many pauses of the processor in between. Less than a sleep
 * and a wake cost both threads. */
#define SNI_INPROC_LINGER_NS     4000u
#define SNI_INPROC_LINGER_LOOKS  64u
#define SNI_INPROC_LINGER_PAUSES 8u

/* Calls from one loop of a runtime that another one runs before the rest of that loop has
 * its turn. */
#define SNI_RING_CALLS_IN_A_ROW 256u

/* Loops of one runtime: each has a ring from each. More are refused. */
#define SNI_RUNTIME_LOOPS_MAX 256u

/* What one poller waits for. More is refused as if there was no memory. */
#define SNI_POLLER_ITEMS_MAX (1u << 24)

#endif /* SENNIT_BASE_LIMITS_H */
