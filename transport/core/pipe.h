/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CORE_PIPE_H
#define SENNIT_CORE_PIPE_H

#include "base/msgq.h"
#include "core/retry.h"
#include "engine/outq.h"
#include "pattern/pattern.h"

/* What a peer's numbers are made of; sennit_peer says what they mean. */
typedef struct sni_counts {
    uint64_t sent_bytes;
    uint64_t delivered_msgs;
    uint64_t received_msgs;
    uint64_t received_bytes;
    uint64_t dropped_hwm_msgs;
    uint64_t dropped_disconnect_msgs;
    uint64_t dropped_memory_msgs;
    uint64_t dropped_slow_msgs;
    uint64_t dropped_expired_msgs;
    uint64_t conflated_out_msgs;
    uint64_t conflated_in_msgs;
    uint64_t reconnects; /* the dialer counts them */
} sni_counts;

/* The two queues between a socket and one peer. A stream pipe writes into the
 * framed outq, which its connections drain one after the other, and reads out of
 * the connection's engine. What an inproc pipe does instead is in core/inproc.h. */
typedef struct sni_pipe {
    sni_peer peer; /* first, so that a policy's peer is its pipe */
    sennit_loop *loop;
    sennit_sock *sock; /* NULL: the far end of an inproc connect before the bind */
    sni_link link;     /* in the socket's pipes */
    sni_link dead;     /* in the loop's list of pipes to free */
    sni_outq outq;
    sni_msgq inq; /* inproc, or what a connection that is gone had received */
    struct sni_session *session; /* stream: the connection, or NULL */
    struct sni_inproc *inproc;   /* inproc: the rest of it; NULL: stream */
    sni_counts counts;
    sni_retry aging; /* runs while something waits that will be too old */
    bool particular; /* conflates or counts the age: looks before each push */
    bool immediate;  /* takes messages only while it has a READY connection, and
                        drops them with it */
    bool leaving;    /* takes no more, but what is queued still leaves */
    bool retired;    /* takes no more; freed when the last message was read */
    bool attached;
} sni_pipe;

extern const sni_port sni_pipe_port;

static inline sni_pipe *
sni_pipe_of(sni_peer *peer)
{
    return (sni_pipe *)(void *)peer;
}

/* A pipe that belongs to `sock` (or to nobody: NULL) and to no pattern yet.
 * Errors: ENOMEM. */
sennit_err sni_pipe_new(sni_pipe **out, sennit_loop *loop, sennit_sock *sock);

/* At once: detaches it and frees everything; what waits in it is counted. */
void sni_pipe_free(sni_pipe *pipe);

/* It takes no more messages; what is queued still leaves, but not one that is not
 * finished. */
void sni_pipe_leave(sni_pipe *pipe);

/* Lets the pattern use it. Errors: as sni_pattern_attach. */
sennit_err sni_pipe_attach(sni_pipe *pipe);

/* It takes no more messages; when those received are read it is freed. */
void sni_pipe_retire(sni_pipe *pipe);

/* Its connection is gone: the message that was begun on it is dropped and counted (at
 * its end, if that is still to come), the others wait for the next connection. */
void sni_pipe_restart_output(sni_pipe *pipe);

/* Messages for it were dropped because a connection is gone. */
void sni_pipe_count_disconnect(sni_pipe *pipe, uint64_t msgs);

/* Tells the monitor of its socket. */
void sni_pipe_tell(sni_pipe *pipe, sennit_event_kind kind, sennit_bytes topic);

/* The bind or connect it belongs to, cut to `size`. */
void sni_pipe_endpoint(const sni_pipe *pipe, char *text, size_t size);

/* Drops and counts what waits to be sent. */
void sni_pipe_drop_output(sni_pipe *pipe);

/* The socket's options have changed, which counts for its pipes at once. */
void sni_pipe_apply_opts(sni_pipe *pipe);

/* Bytes of the outq were written, and with them the ends of `ended` messages. */
void sni_pipe_wrote(sni_pipe *pipe, size_t ended);

/* Bytes received and not handed out. */
size_t sni_pipe_unread_bytes(const sni_pipe *pipe);

/* The mark in bytes of what may wait to be sent to an inproc peer, or 0. */
uint64_t sni_pipe_send_mark(const sni_pipe *pipe);

/* The options of the socket are others than before. */
void sni_pipe_set_marks(sennit_sock *sock);

/* Whether as much waits as the marks allow. */
bool sni_pipe_full(const sni_pipe *pipe);

/* Queues drained or high-water mark crossed: keeps peer->writable true. */
void sni_pipe_update_writable(sni_pipe *pipe);

/* The engine or the inq has other messages than before. */
void sni_pipe_update_unread(sni_pipe *pipe);

/* Whether something still waits to leave through it. */
bool sni_pipe_has_output(const sni_pipe *pipe);

#endif /* SENNIT_CORE_PIPE_H */
