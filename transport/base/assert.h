/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_BASE_ASSERT_H
#define SENNIT_BASE_ASSERT_H

#include <stdnoreturn.h>

/* Asserts are about our own bugs: always on, one cheap condition each. Bad
 * input, a bad peer and lack of memory are results, never asserts. */
#define SNI_ASSERT(condition)                                                            \
    ((condition) ? (void)0 : sni_assert_failed(#condition, __FILE__, __LINE__))

/* Walks whole structures; Debug builds only. */
#ifdef NDEBUG
#define SNI_ASSERT_SLOW(condition) ((void)0)
#else
#define SNI_ASSERT_SLOW(condition) SNI_ASSERT(condition)
#endif

/* Says on stderr what did not hold, and aborts. */
noreturn void sni_assert_failed(const char *condition, const char *file, int line);

/* The application has called `call`, which has no result to refuse by, where going on
 * would break its memory. Says on stderr what was wrong and what to do, and aborts. */
noreturn void sni_misuse(const char *call, const char *what);

#endif /* SENNIT_BASE_ASSERT_H */
