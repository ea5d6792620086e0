/* SPDX-License-Identifier: MIT */
#ifndef PKGLOG_LOGLINE_H
#define PKGLOG_LOGLINE_H

/* One line of a Debian package log, as dpkg(1) writes it under --log:
 *
 *   DATE TIME startup TYPE COMMAND
 *   DATE TIME status STATE PACKAGE VERSION
 *   DATE TIME ACTION PACKAGE OLD NEW      install upgrade configure trigproc
 *                                         disappear remove purge
 *   DATE TIME conffile FILE DECISION
 */

#include <sennit/pack.h>

/* Longer lines are refused. dpkg's own are below 200 bytes. */
#define LOGLINE_MAX_BYTES 4096u

/* Views into the line. What a line of this action does not have is empty; so is a
 * version written as <none>. */
typedef struct logline {
    int64_t at_s; /* seconds since 1970 of the log's own clock, which names no zone */
    sennit_str action;
    sennit_str package;
    sennit_str architecture;
    sennit_str old_version;
    sennit_str new_version;
    sennit_str detail; /* status: the state; startup: type and command; conffile: file
                        * and decision */
} logline;

/* Reads one line, given without its newline.
 * Gives: NULL and `*out`, or why it is not such a line (static text; `*out` is
 *        untouched). */
const char *logline_parse(sennit_str line, logline *out);

#endif /* PKGLOG_LOGLINE_H */
