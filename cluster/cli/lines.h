/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CLI_LINES_H
#define SENNIT_CLI_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include <sennit/sennit.h>

/* Lines of a descriptor that is read only when it is ready, so that the loop can
 * go on meanwhile. Zeroed storage (with `fd`) is ready for use. */
typedef struct cli_lines {
    int fd;
    char *data;
    size_t taken;    /* [0, taken)         lines already given out    */
    size_t filled;   /* [taken, filled)    read and not yet given out */
    size_t capacity; /* [filled, capacity) room for the next read     */
    bool ended;      /* the descriptor gives no more                  */
} cli_lines;         /* law: taken <= filled <= capacity              */

/* A longer line is refused rather than held in memory. */
#define CLI_LINE_MAX (UINT64_C(1) << 28)

/* Takes the next line without its newline; a last line may lack one.
 * Gives: true and a view valid until the next call; false when no whole line is
 * there yet (`ended` tells whether one can still come). */
bool cli_lines_next(cli_lines *self, sennit_bytes *line);

/* Reads once. Call it when the descriptor is ready: it blocks otherwise.
 * Errors: ENOMEM, EMSGSIZE (line too long), EIO. */
sennit_err cli_lines_read(cli_lines *self);

void cli_lines_fini(cli_lines *self);

#endif /* SENNIT_CLI_LINES_H */
