/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CLI_SIGNALS_H
#define SENNIT_CLI_SIGNALS_H

#include <stddef.h>

/* Gives: a descriptor that reads those `signals` (signalfd_siginfo), which no longer do
 * anything by themselves; -1 after a line on stderr that names `command`. */
int cli_open_signals(const char *command, const int *signals, size_t count);

#endif /* SENNIT_CLI_SIGNALS_H */
