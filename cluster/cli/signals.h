/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CLI_SIGNALS_H
#define SENNIT_CLI_SIGNALS_H

#include <stddef.h>

/* Gives: a descriptor that reads those `signals` (signalfd_siginfo), which no longer do
 * anything by themselves; -1 after a line on stderr that names `command`. One that was
 * ignored when the program began stays so, as under nohup(1). */
int cli_open_signals(const char *command, const int *signals, size_t count);

/* Ends the program by the default action of the signal that asked for it, so that whoever
 * waits for it sees that it did as it was told.
 * Gives: the exit code for where there is no such action: process 1 of a container. */
int cli_end_by_signal(int number);

#endif /* SENNIT_CLI_SIGNALS_H */
