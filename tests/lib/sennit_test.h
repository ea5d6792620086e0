/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_TEST_H
#define SENNIT_TEST_H

/* What every cmocka suite includes, in the order cmocka wants it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* cmocka's group runner returns the number of failures, which wraps at 256. */
#define SENNIT_TEST_MAIN(tests)                                                          \
    int main(void)                                                                       \
    {                                                                                    \
        return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;                   \
    }

#endif /* SENNIT_TEST_H */
