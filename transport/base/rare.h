/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_BASE_RARE_H
#define SENNIT_BASE_RARE_H

/* Of a function that few messages pass: it stays out of those that all pass, which then
 * save no registers for it. What that gives is counted by tests/budget. */
#define SNI_RARE __attribute__((cold, noinline))

#endif /* SENNIT_BASE_RARE_H */
