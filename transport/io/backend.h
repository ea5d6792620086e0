/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_IO_BACKEND_H
#define SENNIT_IO_BACKEND_H

#include "io/io.h"

/* Which of the system's ways a loop takes. AUTO is what the environment variable
 * SENNIT_BACKEND names, or epoll. Where AUTO cannot have io_uring it has epoll, and says
 * so once; who asks for io_uring by name has that or nothing. */

/* Opens one. `*why` is a sentence: of a failure what failed, else why AUTO did not get
 * what was asked for, or NULL. Errors: EINVAL (`wanted`, or what SENNIT_BACKEND says, is
 * none), ENOTSUP (not built, or the kernel has none), EACCES (forbidden), ENOMEM, EMFILE.
 */
sennit_err sni_backend_open(sni_io **out, const sennit_allocator *alloc,
                            sni_pool *recv_blocks, sennit_backend wanted,
                            const char **why);

#endif /* SENNIT_IO_BACKEND_H */
