/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_IO_STREAM_H
#define SENNIT_IO_STREAM_H

#include <sys/types.h>

#include "io/io.h"

/* The system's stream sockets, the same for every backend that is not the simulator:
 * making them, setting what was asked for, naming who is at the other end. Every
 * descriptor is non-blocking and close-on-exec. Where an option fails `*why` says
 * which; else it is untouched. */

sennit_err sni_err_of_errno(int error);

/* Where somebody listens. */
typedef struct sni_listening {
    int fd;
    sni_address address; /* as bound */
    bool adopted;        /* others may have it too, a supervisor: they go on listening */
    bool owns_path;      /* IPC: the path is ours to remove, as long as it is this file */
    int base;            /* sni_ipc_path_base() of that */
    dev_t dev;
    ino_t ino;
} sni_listening;

/* Errors: as listen of sni_io_ops. */
sennit_err sni_stream_listen(sni_listening *out, const sni_address *wanted,
                             const sennit_sock_opts *opts, const char **why);

/* Takes `fd` on success. Errors: EINVAL, EIO. */
sennit_err sni_stream_adopt(sni_listening *out, int fd, const char **why);

/* Closes it, for everybody unless it is adopted. `shared`: another process goes on
 * listening, nothing is removed. */
void sni_stream_unlisten(sni_listening *listening, bool shared);

/* Ends a connection or a listening for everybody, also for a child that was forked and
 * holds a copy of the descriptor; only the copy when this process is that child
 * (`shared`). */
void sni_stream_close(int fd, bool shared);

/* A socket to connect with. Errors: as dial of sni_io_ops. */
sennit_err sni_stream_dial(int *out, const sni_address *address,
                           const sni_address *source, const sennit_sock_opts *opts,
                           const char **why);

/* Begins to connect; `*under_way`: it is not done yet. Errors: as connect(2); EAGAIN (an
 * ipc listener whose backlog is full: nothing would tell when it is not). */
sennit_err sni_stream_connect(int fd, const sni_address *address, bool *under_way);

/* How a connect that was under way ended, once the socket is writable. Errors: as
 * connect(2). */
sennit_err sni_stream_connect_result(int fd);

/* Whether a connected TCP socket is its own peer: a port that the system chooses may be
 * the very one that is called, and two ends that call each other meet. */
bool sni_stream_is_own(int fd);

/* The next connection, with what was asked for set; `*peer` is who it is. Connections
 * that are gone already are passed over.
 * Errors: EAGAIN (none), EMFILE, ENOMEM, EIO, those of an option. */
sennit_err sni_stream_accept(int *out, int listener, const sennit_sock_opts *opts,
                             sni_address *peer, const char **why);

/* Whether what accept(2) failed with concerns that one connection, and others may follow.
 */
bool sni_stream_accept_goes_on(int error);

/* The rest of sni_stream_accept() for what was accepted in another way; `*peer` comes
 * with the kind of the listener's address. `fd` stays open on failure. Errors: EAGAIN (it
 * is gone already), those of an option. */
sennit_err sni_stream_accepted(int fd, const sennit_sock_opts *opts, sni_address *peer,
                               const char **why);

/* Receives up to `room`, or writes up to SNI_SEND_PARTS parts; `*size` octets of them.
 * Errors: EAGAIN (would wait); ECONNRESET and others (the connection is broken). */
sennit_err sni_stream_recv(int fd, void *into, size_t room, size_t *size);
sennit_err sni_stream_send(int fd, const sennit_bytes *parts, size_t count, size_t *size);

/* As of sni_io_ops. */
bool sni_stream_undelivered(int fd, const sni_remote *peer);
void sni_stream_peer_name(int fd, const sni_remote *peer, sni_peer_name *out);

/* As of sni_io_ops. */
sennit_err sni_interface_address(const char *name, bool ipv4, bool ipv6,
                                 sni_address *out);
sennit_err sni_interface_scope(const char *name, uint32_t *out);

#endif /* SENNIT_IO_STREAM_H */
