/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_TEST_WRONG_H
#define SENNIT_TEST_WRONG_H

#include <stdnoreturn.h>

/* The books do not balance, or the library broke a promise: says so, with the seed and
 * how to run it again, and ends the process. Every story runs in one of its own. */
noreturn void wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif /* SENNIT_TEST_WRONG_H */
