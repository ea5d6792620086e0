/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CLI_CAT_RUN_H
#define SENNIT_CLI_CAT_RUN_H

#include <sennit/sennit.h>

#include "cat_args.h"

/* Sends and receives on an open socket as `args` asks, until the run is over, and
 * says on stderr why it ended when it was not finished. `signal_fd` is a signalfd
 * whose signals end it.
 * Gives: the exit code. */
int cat_run_socket(const cat_args *args, sennit_loop *loop, sennit_sock *sock,
                   int signal_fd);

#endif /* SENNIT_CLI_CAT_RUN_H */
