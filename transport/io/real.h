/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_IO_REAL_H
#define SENNIT_IO_REAL_H

#include "io/op_queue.h"
#include "io/stream.h"

/* What the backends over the system have in common: everything but how they wait for it.
 * Such a backend embeds sni_real as its first member, and its struct sni_file begins
 * with an sni_real_file. Functions that are named as a member of sni_io_ops are that
 * member. */

typedef struct sni_real_file {
    int fd;
    sni_remote peer;          /* of a listener: the kind */
    sni_address *to;          /* what is dialed, behind the file; NULL: it was accepted,
                                 or listens */
    sni_listening *listening; /* of a listener */
    sni_op *in;               /* parked ACCEPT or RECV */
    sni_op *out;              /* parked CONNECT or SEND */
    sni_op *watch;            /* parked HANGUP */
} sni_real_file;

typedef struct sni_real {
    sni_io io;
    size_t file_bytes; /* of the backend's struct sni_file */
    /* Makes what is the backend's in a new file, which is all 0. NULL: that will do. */
    void (*init)(sni_file *file);
    /* Tells of a new file that listens, or was accepted. NULL: nobody need know. */
    sennit_err (*begin)(struct sni_real *real, sni_file *file);
    int wake_fd; /* an eventfd: the backend waits for it too, and calls sni_real_woken()
                  */
    sni_op_queue done;
    sni_block *spare;              /* where what is received at once goes */
    struct sni_resolver *resolver; /* made for the first look-up */
    uint64_t random_state;
    unsigned forks; /* when it was opened */
} sni_real;

static inline sni_real *
sni_real_of(sni_io *io)
{
    return (sni_real *)io;
}

static inline sni_real_file *
sni_real_file_of(sni_file *file)
{
    return (sni_real_file *)file;
}

/* Whose `io` to `begin` are set. Errors: EMFILE, ENOMEM. */
sennit_err sni_real_init(sni_real *real);
void sni_real_fini(sni_real *real);

/* ---- files ------------------------------------------------------------- */

sennit_err sni_real_listen(sni_io *io, const sni_address *address,
                           const sennit_sock_opts *opts, sni_file **out,
                           sni_address *bound);
sennit_err sni_real_adopt(sni_io *io, int fd, sni_file **out, sni_address *bound);
sennit_err sni_real_dial(sni_io *io, const sni_address *address,
                         const sni_address *source, const sennit_sock_opts *opts,
                         sni_file **out);

/* A file for what was accepted. Takes: `fd` on success. Errors: ENOMEM, those of `begin`.
 */
sennit_err sni_real_accepted(sni_real *real, int fd, const sni_address *peer,
                             sni_file **out);

/* Closes the descriptor, and frees the file. The kernel has forgotten it then, as far as
 * the backend is concerned. */
void sni_real_shut(sni_real *real, sni_file *file);
void sni_real_free(sni_real *real, sni_file *file);

void sni_real_finish(sni_io *io, sni_file *file);
bool sni_real_undelivered(sni_io *io, const sni_file *file);
void sni_real_peer_name(sni_io *io, const sni_file *file, sni_peer_name *out);
sennit_err sni_real_interface_address(sni_io *io, const char *name, bool ipv4, bool ipv6,
                                      sni_address *out);
sennit_err sni_real_interface_scope(sni_io *io, const char *name, uint32_t *out);

/* ---- operations -------------------------------------------------------- */

/* Whether `op` begins a new life: its results are cleared. False: this is a forked child,
 * and it is ECLOSED. */
bool sni_real_begin(sni_real *real, sni_op *op);

/* Where `op` waits in its file; NULL: a RESOLVE, which has none. */
sni_op **sni_real_park(const sni_op *op);

/* Sets the result. Returns true: it is done. */
static inline bool
sni_op_done(sni_op *op, sennit_err err)
{
    op->err = err;
    return true;
}

/* RECV, without waiting. EAGAIN: nothing is there and `op` is as it was, else it is done
 * with that. `*drained`: there was less than room for, so nothing was left. */
sennit_err sni_real_recv(sni_real *real, sni_op *op, bool *drained);

/* A CONNECT whose file is connected. Returns true: it is done. */
bool sni_real_connected(sni_op *op);

/* RESOLVE: as submit and retract. */
bool sni_real_look_up(sni_real *real, sni_op *op);
bool sni_real_forget(sni_real *real, sni_op *op);

/* ---- waiting ----------------------------------------------------------- */

/* Takes the wake away and queues look-ups that are done. */
void sni_real_woken(sni_real *real);

/* Queues look-ups that are done. */
void sni_real_collect_lookups(sni_real *real);

/* Gives back what is queued; what is left then ends the next wait. */
int sni_real_collect(sni_real *real, sni_op **out, int max);

/* Until then, in milliseconds, rounded up: waking a moment early would spin. At most an
 * hour; -1: for ever. */
int sni_real_timeout_ms(sni_io *io, sennit_time until);

/* For a wait until `until` that looks before it sleeps: whether it looks once more.
 * `*end` begins as 0. */
bool sni_real_spins(sni_io *io, sennit_time *end, sennit_time until);

/* A thread that has closed an io_uring may be interrupted once, some milliseconds later,
 * without a signal: epoll_wait(2) ends then, ppoll(2) does not. Whether that was done in
 * this process. Thread: any. */
void sni_real_ring_closed(void);
bool sni_real_is_interrupted(void);

/* By the backend's descriptor. */
bool sni_real_wait(sni_io *io, int bell, sennit_time until);

void sni_real_wake(sni_io *io);
sennit_time sni_real_now(sni_io *io);
sennit_time sni_real_now_coarse(sni_io *io);
uint64_t sni_real_random(sni_io *io);
bool sni_real_inherited(sni_io *io);

#endif /* SENNIT_IO_REAL_H */
